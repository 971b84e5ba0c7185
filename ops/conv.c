/* ops/conv.c - convolution over one axis or two. One axis is two, of which the first has size 1.
 *
 *     y[n][o][i][j] = bias[o] + sum over c, a, b of weight[o][c][a][b] x[n][c][i sh + a dh - ph][j sw + b dw - pw]
 * within each group of channels. As matrices, for each sample, group and tile of output rows:
 *     forward     y  [O, P] = [bias, weight] [O, 1 + K]  col [1 + K, P]      K = C kH kW values that an output sees, P outputs of a tile
 *     backward    [dbias, dweight]' += col dy'                              col's first row is ones
 *                 dx shifted by (a, b)  += weight[.][.][a][b]' dy           for each (a, b) of the kernel
 * First the part of x that a tile sees is laid out with its zeros, one plane for each remainder of a position by the strides: in
 * those planes every kernel position (a, b) is a shift, whatever the stride. A row of col is a plane shifted; so is what weight' dy
 * adds to, where dy's rows are spread to the planes' width, zeros between them.
 * A group of one channel in and one out (depthwise) is summed kernel position by kernel position; its dweight are dot products in lanes.
 * Tiles are as large as the cache likes, a function of one sample's shape. A sample's y and dx are its own; dweight is summed
 * over chunks of samples, and the chunks in order.
 * Saved: the plan. col is made again. */
#include "core/gemm.h"
#include "core/kernel.h"
#include "ops/conv.h"
#include "ops/conv_planes.h"

/* part[0] += part[1], part[2] .. in this order. */
KERNEL(void, conv_sum, gr_real *restrict sum, size_t parts, size_t stride, size_t n)
{
    for (size_t k = 1; k < parts; k++)
        for (size_t i = 0; i < n; i++) sum[i] += sum[k * stride + i];
}

#if GR_HOST
enum { CONV_TILE = 65536, CONV_PARTS = 32, CONV_FEW_PARTS = 4, CONV_PARTS_VALUES = 1 << 22, CONV_COLUMNS = 1024, CONV_LINE = 16 };

static size_t conv_min(size_t a, size_t b) { return a < b ? a : b; }
static size_t conv_round(size_t n) { return gr_chunks(n, CONV_LINE) * CONV_LINE; }
/* SIZE_MAX when that is too large: then memory is out. */
static size_t conv_times(size_t a, size_t b) { return gr_size_mul(a, b, &a), a; }

static size_t conv_planes_len(const gr__conv_plan *p) { return conv_round(conv_times(p->C, p->planes)); }
static size_t conv_weight_len(const gr__conv_plan *p) { return conv_times(conv_times(p->G, p->O), p->K1); }
static size_t conv_spread_line(const gr__conv_plan *p) { return conv_round(p->tile[0] * p->plane[1]); }
/* Of one thread: the planes, then col or the spread dy. */
static size_t conv_scratch_len(const gr__conv_plan *p)
{
    const size_t col = conv_times(p->K1, p->line), spread = conv_times(p->O, conv_spread_line(p)), larger = col > spread ? col : spread;
    size_t len;
    return gr_size_add(conv_planes_len(p), conv_round(conv_min(larger, SIZE_MAX / 2)), &len) && larger <= SIZE_MAX / 2 ? len : SIZE_MAX;
}
static size_t conv_chunks(const gr__conv_plan *p) { return p->P && p->O ? gr_chunks(p->N, p->chunk) : 0; }

static gr__conv_tile conv_tile_of(const gr__conv_plan *p, size_t i)
{
    gr__conv_tile c = { .at = { i / p->tiles[1] * p->tile[0], i % p->tiles[1] * p->tile[1] } };
    for (int k = 0; k < 2; k++) c.n[k] = conv_min(p->tile[k], p->out[k] - c.at[k]);
    return c;
}

/* Of a line that holds the rows of a tile, as far apart as those of the planes. */
static size_t conv_reach(const gr__conv_plan *p, const gr__conv_tile *tile) { return (tile->n[0] - 1) * p->plane[1] + tile->n[1]; }

/* One channel in and one out has loops of its own, since a matrix of one row is none. */
static bool conv_is_deep(const gr__conv_plan *p) { return p->C == 1 && p->O == 1; }

/* ---- Forward ---- */

typedef struct {
    gr_tape *t;
    const gr__conv_plan *p;
    const gr_real *x, *weight, *dy;    /* weight: rows of bias and weight; in backward [G, kH kW, C, O] */
    gr_real *y, *dx, *part, *scratch;  /* part: of [dbias, dweight]', [chunks, G, K1, O] */
    size_t scratch_len;
    int isa;
} conv_run;

static void conv_forward_tile(void *argument, size_t task, int thread)
{
    const conv_run *c = argument;
    const gr__conv_plan *p = c->p;
    const size_t tiles = p->tiles[0] * p->tiles[1], sample = task / tiles;
    const gr__conv_tile tile = conv_tile_of(p, task % tiles);
    gr_real *planes = c->scratch + (size_t)thread * c->scratch_len, *col = planes + conv_planes_len(p);
    for (size_t g = 0; g < p->G; g++) {
        const size_t group = sample * p->G + g;
        const gr_real *weight = c->weight + g * p->O * p->K1;
        gr_real *y = c->y + group * p->O * p->P + tile.at[0] * p->out[1] + tile.at[1];
        gr__conv_fill(c->isa, planes, c->x + group * p->C * p->H[0] * p->H[1], p, &tile);
        if (conv_is_deep(p)) {
            gr__conv_deep_forward(c->isa, y, col, planes, weight, p, &tile);
            continue;
        }
        gr__conv_columns(c->isa, col, planes, p, &tile);
        gr__gemm_serial(c->isa, p->O, tile.n[0] * tile.n[1], p->K1, (gr_mat){ weight, p->K1, 1 }, (gr_mat){ col, p->line, 1 }, y, p->P,
                        (gr_start){ NULL, 0 }, gr__work(c->t, thread));
    }
}

/* ---- Backward ---- */

static void conv_dweight(const conv_run *c, size_t chunk, int thread)
{
    const gr__conv_plan *p = c->p;
    const gr_range samples = gr_chunk(chunk, p->chunk, p->N);
    const size_t tiles = p->tiles[0] * p->tiles[1], from = samples.first * tiles, to = from + samples.count * tiles;
    gr_real *planes = c->scratch + (size_t)thread * c->scratch_len, *col = planes + conv_planes_len(p);
    for (size_t i = from; i < to; i++)
        for (size_t g = 0; g < p->G; g++) {
            const gr__conv_tile tile = conv_tile_of(p, i % tiles);
            const size_t group = i / tiles * p->G + g;
            const gr_real *dy = c->dy + group * p->O * p->P + tile.at[0] * p->out[1] + tile.at[1];
            gr_real *part = c->part + (chunk * p->G + g) * p->K1 * p->O;
            gr__conv_fill(c->isa, planes, c->x + group * p->C * p->H[0] * p->H[1], p, &tile);
            if (conv_is_deep(p)) {
                gr__conv_spread(c->isa, col, dy, p, &tile, 0);
                gr__conv_deep_dw(c->isa, part, col, planes, p, conv_reach(p, &tile), i > from);
                continue;
            }
            gr__conv_columns(c->isa, col, planes, p, &tile);
            gr__gemm_serial(c->isa, p->K1, p->O, tile.n[0] * tile.n[1], (gr_mat){ col, p->line, 1 }, (gr_mat){ dy, 1, p->P }, part, p->O,
                            (gr_start){ i == from ? NULL : part, p->O }, gr__work(c->t, thread));
        }
}

static void conv_dx(const conv_run *c, size_t chunk, int thread)
{
    const gr__conv_plan *p = c->p;
    const gr_range samples = gr_chunk(chunk, p->chunk, p->N);
    const size_t tiles = p->tiles[0] * p->tiles[1], from = samples.first * tiles, to = from + samples.count * tiles;
    const size_t kernel = p->kernel[0] * p->kernel[1], line = conv_spread_line(p);
    gr_real *planes = c->scratch + (size_t)thread * c->scratch_len, *spread = planes + conv_planes_len(p);
    for (size_t i = from; i < to; i++)
        for (size_t g = 0; g < p->G; g++) {
            const gr__conv_tile tile = conv_tile_of(p, i % tiles);
            const size_t group = i / tiles * p->G + g, n = conv_reach(p, &tile);
            memset(planes, 0, p->C * p->planes * sizeof *planes);
            gr__conv_spread(c->isa, spread, c->dy + group * p->O * p->P + tile.at[0] * p->out[1] + tile.at[1], p, &tile, line);
            if (conv_is_deep(p)) gr__conv_deep_dx(c->isa, planes, spread, c->weight + g * kernel, p, n);
            for (size_t k = 0; k < kernel && !conv_is_deep(p); k++) {
                gr_real *shifted = planes + gr__conv_shift(p, k / p->kernel[1], k % p->kernel[1]);
                gr__gemm_serial(c->isa, p->C, n, p->O, (gr_mat){ c->weight + (g * kernel + k) * p->C * p->O, p->O, 1 },
                                (gr_mat){ spread, line, 1 }, shifted, p->planes, (gr_start){ shifted, p->planes }, gr__work(c->t, thread));
            }
            gr__conv_unfill(c->isa, c->dx + group * p->C * p->H[0] * p->H[1], planes, p, &tile);
        }
}

/* Tasks 2i and 2i + 1 are chunk i's: so two threads share even one sample. */
static void conv_backward_task(void *argument, size_t task, int thread)
{
    const conv_run *c = argument;
    if (task % 2 && c->dx) conv_dx(c, task / 2, thread);
    if (task % 2 == 0 && c->part) conv_dweight(c, task / 2, thread);
}

static void conv_columns_of_parts(void *argument, size_t block, int thread)
{
    const conv_run *c = argument;
    const size_t len = conv_weight_len(c->p);
    const gr_range columns = gr_chunk(block, CONV_COLUMNS, len);
    (void)thread;
    conv_sum[c->isa](c->part + columns.first, conv_chunks(c->p), len, columns.count);
}

/* weight[g O + o][c][k] to [g][k][c][o]. */
static void conv_turn(const gr__conv_plan *p, const gr_real *weight, gr_real *turned)
{
    const size_t kernel = p->kernel[0] * p->kernel[1];
    for (size_t g = 0; g < p->G; g++)
        for (size_t o = 0; o < p->O; o++)
            for (size_t c = 0; c < p->C; c++)
                for (size_t k = 0; k < kernel; k++) turned[((g * kernel + k) * p->C + c) * p->O + o] = *weight++;
}

static void conv_add_dweight(const gr__conv_plan *p, const gr_real *sum, gr_real *dweight, gr_real *dbias)
{
    for (size_t g = 0; g < p->G; g++, sum += p->K1 * p->O)
        for (size_t o = 0; o < p->O; o++) {
            if (dbias) *dbias++ += sum[o];
            for (size_t k = p->bias; dweight && k < p->K1; k++) *dweight++ += sum[k * p->O + o];
        }
}

static void conv_node(gr_tape *t, const gr_node *n)
{
    const gr__conv_plan *p = n->saved;
    const size_t chunks = conv_chunks(p), len = conv_weight_len(p);
    gr_real *dweight = gr_grad(t, n->in[1]), *dbias = gr_grad(t, n->in[2]), *turned = gr_scratch(t);
    if (!chunks) return;
    conv_run c = { .t = t, .p = p, .x = n->in[0]->data, .weight = turned, .dy = gr_grad(t, n->out[0]), .dx = gr_grad(t, n->in[0]) };
    c.isa = gr_isa(t), c.scratch_len = conv_scratch_len(p), c.scratch = turned + conv_round(len);
    if (dweight || dbias) c.part = c.scratch + p->threads * c.scratch_len;
    if (c.dx) conv_turn(p, n->in[1]->data, turned);
    gr_parallel(t, 2 * chunks, (double)p->N * (double)p->P * (double)len / 25, conv_backward_task, &c);
    if (!c.part) return;
    gr_parallel(t, gr_chunks(len, CONV_COLUMNS), 0.1 * (double)chunks * (double)len, conv_columns_of_parts, &c);
    conv_add_dweight(p, c.part, dweight, dbias);
}

static size_t conv_scratch(const gr_node *n)
{
    const gr__conv_plan *p = n->saved;
    const size_t len = conv_weight_len(p), parts = conv_times(conv_chunks(p), len), threads = conv_times(p->threads, conv_scratch_len(p));
    size_t sum;
    if (!gr_size_add(conv_round(len), threads, &sum) || !gr_size_add(sum, parts, &sum)) return SIZE_MAX;
    return conv_chunks(p) ? conv_times(sum, sizeof(gr_real)) : 0;
}

static const gr_op conv1d_op = { .name = "conv1d", .backward = conv_node, .scratch = conv_scratch };
static const gr_op conv2d_op = { .name = "conv2d", .backward = conv_node, .scratch = conv_scratch };

/* ---- The public functions ---- */

static bool conv_settings(gr_tape *t, const gr_op *op, const gr_conv_config *c, bool two, gr__conv_plan *p)
{
    const int padding_w = two && c->padding_w != GR_NONE ? c->padding_w : 0;
    const struct { const char *name; int value, least; } s[] = {
        { "stride", c->stride, 1 },      { "padding", c->padding, 0 }, { "dilation", c->dilation, 1 }, { "stride_w", two ? c->stride_w : 0, 1 },
        { "padding_w", padding_w, 0 },   { "dilation_w", two ? c->dilation_w : 0, 1 }, { "groups", c->groups, 1 },
    };
    for (size_t i = 0; i < sizeof s / sizeof *s; i++)
        if (s[i].value < 0) return gr_fail(t, op, "%s must be %d or more; got %d", s[i].name, s[i].least, s[i].value);
    for (int k = 0; k < 2; k++) {
        const bool w = k == 1 && two;
        const int stride = w && c->stride_w ? c->stride_w : c->stride, dilation = w && c->dilation_w ? c->dilation_w : c->dilation;
        p->stride[k] = stride ? (size_t)stride : 1, p->dilation[k] = dilation ? (size_t)dilation : 1;
        p->padding[k] = (size_t)(w && c->padding_w ? padding_w : c->padding);
        if (k == 0 && !two) p->stride[0] = p->dilation[0] = 1, p->padding[0] = 0;
    }
    p->G = c->groups ? (size_t)c->groups : 1;
    return true;
}

static bool conv_shapes(gr_tape *t, const gr_op *op, const gr_tensor *x, const gr_tensor *w, const gr_tensor *bias, int axes, gr__conv_plan *p)
{
    const size_t channels = x->dim[1], outputs = w->dim[0], G = p->G;
    if (w->rank != axes + 2)
        return gr_fail(t, op, "weight must be [O, C / groups, %s]; got %s", axes == 2 ? "kH, kW" : "kL", gr_shape_text(t, w));
    if (channels % G) return gr_fail(t, op, "x is %s: its %zu channels do not fall into %zu groups", gr_shape_text(t, x), channels, G);
    if (w->dim[1] != channels / G)
        return gr_fail(t, op, "weight is %s and groups is %zu, so x must be [N, %zu, %s]; got %s", gr_shape_text(t, w), G, conv_times(w->dim[1], G),
                       axes == 2 ? "H, W" : "L", gr_shape_text(t, x));
    if (outputs % G) return gr_fail(t, op, "weight is %s: its %zu outputs do not fall into %zu groups", gr_shape_text(t, w), outputs, G);
    if (bias && (bias->rank != 1 || bias->len != outputs))
        return gr_fail(t, op, "weight is %s, so bias must be [%zu]; got %s", gr_shape_text(t, w), outputs, gr_shape_text(t, bias));
    p->N = x->dim[0], p->C = channels / G, p->O = outputs / G, p->bias = bias != NULL;
    p->H[0] = p->kernel[0] = p->out[0] = 1;
    for (int k = 2 - axes; k < 2; k++) {
        size_t padded;
        p->H[k] = x->dim[k + axes], p->kernel[k] = w->dim[k + axes];
        if (!p->kernel[k]) return gr_fail(t, op, "weight is %s: a kernel of size 0", gr_shape_text(t, w));
        const size_t reach = conv_times(p->kernel[k] - 1, p->dilation[k]);
        if (!gr_size_add(p->H[k], 2 * p->padding[k], &padded) || reach >= padded)
            return gr_fail(t, op, "x is %s, so with padding %zu axis %d has %zu values; a kernel of %zu with dilation %zu needs %zu",
                           gr_shape_text(t, x), p->padding[k], k + axes, padded, p->kernel[k], p->dilation[k], reach + (reach < SIZE_MAX));
        p->out[k] = (padded - reach - 1) / p->stride[k] + 1;
    }
    return true;
}

/* Tiles of whole rows; where one row is too much for the cache already, of parts of it. */
static void conv_cut(gr__conv_plan *p)
{
    p->K1 = conv_times(p->C, conv_times(p->kernel[0], p->kernel[1])) + p->bias;
    const size_t row = conv_times(p->K1 ? p->K1 : 1, p->out[1]), all = conv_times(row, p->out[0]);
    p->tiles[0] = conv_min(gr_chunks(all, CONV_TILE), p->out[0]), p->tile[0] = gr_chunks(p->out[0], p->tiles[0]);
    p->tiles[1] = p->tile[0] > 1 ? 1 : conv_min(gr_chunks(row, CONV_TILE), gr_chunks(p->out[1], CONV_LINE));
    p->tile[1] = gr_chunks(p->out[1], p->tiles[1]);
    for (int k = 0; k < 2; k++) {
        p->tiles[k] = gr_chunks(p->out[k], p->tile[k]);
        p->plane[k] = p->tile[k] + (p->kernel[k] - 1) * p->dilation[k] / p->stride[k];
    }
    p->planes = conv_times(conv_times(p->plane[0], p->plane[1]), conv_times(p->stride[0], p->stride[1]));
    p->P = conv_times(p->out[0], p->out[1]);
    p->line = conv_round(p->tile[0] * p->tile[1]);
    p->line += p->line % 1024 ? 0 : CONV_LINE; /* rows 4 KiB apart would share a few sets of the cache */
    const size_t len = conv_weight_len(p), parts = len ? CONV_PARTS_VALUES / len : CONV_PARTS;
    p->chunk = gr_chunks(p->N + !p->N, parts > CONV_PARTS ? CONV_PARTS : parts < CONV_FEW_PARTS ? CONV_FEW_PARTS : parts);
}

/* weight with its bias in front of each row: [O, 1 + K]. */
static const gr_real *conv_rows(gr_tape *t, const gr__conv_plan *p, const gr_tensor *weight, const gr_tensor *bias)
{
    if (!bias) return weight->data;
    gr_real *rows = gr_save_reals(t, conv_weight_len(p));
    for (size_t o = 0, K = p->K1 - 1; rows && o < bias->len; o++) {
        rows[o * p->K1] = bias->data[o];
        memcpy(rows + o * p->K1 + 1, weight->data + o * K, K * sizeof *rows);
    }
    return rows;
}

static gr_tensor *conv(gr_tape *t, const gr_op *op, int axes, gr_tensor *x, gr_tensor *weight, gr_tensor *bias, const gr_conv_config *config)
{
    gr__conv_plan plan = { .threads = (size_t)gr_tape_threads(t) }, *const p = &plan;
    if (!gr_ready(t, op, x, weight) || !gr_alive(t, op, "bias", bias)) return NULL;
    if (x->rank != axes + 2) return gr_fail(t, op, "x must be %s; got %s", axes == 2 ? "[N, C, H, W]" : "[N, C, L]", gr_shape_text(t, x));
    if (!conv_settings(t, op, config ? config : &(gr_conv_config){ 0 }, axes == 2, p)) return NULL;
    if (!conv_shapes(t, op, x, weight, bias, axes, p)) return NULL;
    conv_cut(p);
    gr_shape shape = { .rank = axes + 2, .dim = { p->N, p->G * p->O } };
    for (int k = 2 - axes; k < 2; k++) shape.dim[k + axes] = p->out[k];
    gr_tensor *y = gr_empty(t, shape);
    if (!y) return NULL;
    if (y->len) {
        conv_run c = { .t = t, .p = p, .x = x->data, .weight = conv_rows(t, p, weight, bias), .y = y->data, .isa = gr_isa(t) };
        c.scratch_len = conv_scratch_len(p), c.scratch = gr_save_reals(t, conv_times(p->threads, c.scratch_len));
        if (!c.weight || !c.scratch) return NULL;
        gr_parallel(t, p->N * p->tiles[0] * p->tiles[1], (double)p->N * (double)p->P * (double)conv_weight_len(p) / 50, conv_forward_tile, &c);
    }
    return gr_record(t, op, p, sizeof *p, GR_OUT(y), GR_IN(x, weight, bias));
}

gr_tensor *gr_conv1d(gr_tape *t, gr_tensor *x, gr_tensor *weight, gr_tensor *bias, const gr_conv_config *config)
{
    return conv(t, &conv1d_op, 1, x, weight, bias, config);
}
gr_tensor *gr_conv2d(gr_tape *t, gr_tensor *x, gr_tensor *weight, gr_tensor *bias, const gr_conv_config *config)
{
    return conv(t, &conv2d_op, 2, x, weight, bias, config);
}
#endif
