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
 * Tiles are as large as the cache likes, a function of one sample's shape. A sample's y and dx are its own; dweight is summed
 * over chunks of samples, and the chunks in order.
 * Saved: the plan. col is made again. */
#include "core/gemm.h"
#include "core/kernel.h"
#include "ops/conv.h"

/* All sizes are of one group, and along H and W. */
typedef struct {
    size_t N, G, C, O, H[2], kernel[2], out[2];   /* H: of the input */
    size_t stride[2], padding[2], dilation[2];
    size_t tile[2], tiles[2];                     /* outputs of a tile, and how many tiles; H is cut first */
    size_t plane[2], planes, K1, P, line;         /* a plane's sizes; values of a channel's planes; rows of col, with the ones; outputs of
                                                     a sample; reals from one row of col to the next */
    bool bias;
    size_t threads, chunk; /* chunk: samples to a part of dweight */
} conv_plan;

/* The outputs of a tile. */
typedef struct { size_t at[2], n[2]; } conv_tile;
/* Where kernel position (a, b) of an output is in its channel's planes, counted from the output's own place. */
INLINE size_t conv_shift(const conv_plan *p, size_t a, size_t b)
{
    const size_t i = a * p->dilation[0], j = b * p->dilation[1], s = p->stride[0], r = p->stride[1];
    return ((i % s * r + j % r) * p->plane[0] + i / s) * p->plane[1] + j / r;
}

INLINE void conv_copy(gr_real *restrict y, const gr_real *restrict x, size_t n) /* the last step overlaps the one before */
{
#define STEPS(m) \
    { \
        for (size_t i = 0; i + m <= n; i += m) memcpy(y + i, x + i, m * sizeof *y); \
        if (n % m) memcpy(y + n - m, x + n - m, m * sizeof *y); \
    }
    if (n >= 16) STEPS(16)
    else if (n >= 8) STEPS(8)
    else if (n >= 4) STEPS(4)
    else for (size_t i = 0; i < n; i++) y[i] = x[i];
#undef STEPS
}

/* Row i of plane (r, q) holds x's row (at + i) stride + r - padding; of its places j = first .. end - 1 are inside x. */
typedef struct { ptrdiff_t row, start; size_t first, end; } conv_row;
INLINE conv_row conv_row_of(const conv_plan *p, const conv_tile *tile, size_t r, size_t q, size_t i)
{
    const ptrdiff_t s = (ptrdiff_t)p->stride[1], W = (ptrdiff_t)p->H[1];
    conv_row c = { .row = (ptrdiff_t)((tile->at[0] + i) * p->stride[0] + r) - (ptrdiff_t)p->padding[0],
                   .start = (ptrdiff_t)(tile->at[1] * p->stride[1] + q) - (ptrdiff_t)p->padding[1] };
    const ptrdiff_t first = c.start < 0 ? (-c.start + s - 1) / s : 0, end = c.start < W ? (W - c.start + s - 1) / s : 0;
    const size_t width = p->plane[1];
    c.first = (size_t)first < width ? (size_t)first : width, c.end = (size_t)end < width ? (size_t)end : width;
    if (c.end < c.first || c.row < 0 || c.row >= (ptrdiff_t)p->H[0]) c.row = -1, c.end = c.first;
    return c;
}

/* scalar kernel conv_fill: it copies. */
KERNEL(void, conv_fill, gr_real *restrict to, const gr_real *restrict x, const conv_plan *p, const conv_tile *tile)
{
    const size_t width = p->plane[1], s = p->stride[1];
    for (size_t c = 0; c < p->C; c++, x += p->H[0] * p->H[1])
        for (size_t r = 0; r < p->stride[0]; r++)
            for (size_t q = 0; q < s; q++)
                for (size_t i = 0; i < p->plane[0]; i++, to += width) {
                    const conv_row w = conv_row_of(p, tile, r, q, i);
                    const gr_real *from = x + w.row * (ptrdiff_t)p->H[1] + w.start;
                    for (size_t j = 0; j < w.first; j++) to[j] = 0;
                    if (s == 1) conv_copy(to + w.first, from + w.first, w.end - w.first);
                    else for (size_t j = w.first; j < w.end; j++) to[j] = from[j * s];
                    for (size_t j = w.end; j < width; j++) to[j] = 0;
                }
}

/* The reverse: what the planes hold is added to dx. */
KERNEL(void, conv_unfill, gr_real *restrict dx, const gr_real *restrict from, const conv_plan *p, const conv_tile *tile)
{
    const size_t s = p->stride[1];
    for (size_t c = 0; c < p->C; c++, dx += p->H[0] * p->H[1])
        for (size_t r = 0; r < p->stride[0]; r++)
            for (size_t q = 0; q < s; q++)
                for (size_t i = 0; i < p->plane[0]; i++, from += p->plane[1]) {
                    const conv_row w = conv_row_of(p, tile, r, q, i);
                    gr_real *to = dx + w.row * (ptrdiff_t)p->H[1] + w.start;
                    if (s == 1) for (size_t j = w.first; j < w.end; j++) to[j] += from[j];
                    else for (size_t j = w.first; j < w.end; j++) to[j * s] += from[j];
                }
}

/* scalar kernel conv_columns: it copies. */
KERNEL(void, conv_columns, gr_real *restrict col, const gr_real *restrict from, const conv_plan *p, const conv_tile *tile)
{
    const size_t rows = tile->n[0], n = tile->n[1], width = p->plane[1];
    if (p->bias) {
        for (size_t i = 0; i < rows * n; i++) col[i] = 1;
        col += p->line;
    }
    for (size_t c = 0; c < p->C; c++, from += p->planes)
        for (size_t a = 0; a < p->kernel[0]; a++)
            for (size_t b = 0; b < p->kernel[1]; b++, col += p->line) {
                const gr_real *x = from + conv_shift(p, a, b);
                for (size_t i = 0; i < rows; i++) conv_copy(col + i * n, x + i * width, n);
            }
}

/* scalar kernel conv_spread: it copies. Rows of dy as far apart as those of the planes. */
KERNEL(void, conv_spread, gr_real *restrict to, const gr_real *restrict dy, const conv_plan *p, const conv_tile *tile, size_t line)
{
    const size_t n = tile->n[1], width = p->plane[1];
    for (size_t o = 0; o < p->O; o++, to += line, dy += p->P)
        for (size_t i = 0; i < tile->n[0]; i++) {
            conv_copy(to + i * width, dy + i * p->out[1], n);
            for (size_t j = n; i + 1 < tile->n[0] && j < width; j++) to[i * width + j] = 0;
        }
}

/* part[0] += part[1], part[2] .. in this order. */
KERNEL(void, conv_sum, gr_real *restrict sum, size_t parts, size_t stride, size_t n)
{
    for (size_t k = 1; k < parts; k++)
        for (size_t i = 0; i < n; i++) sum[i] += sum[k * stride + i];
}

#if GR_HOST
enum { CONV_TILE = 65536, CONV_PARTS = 32, CONV_FEW_PARTS = 4, CONV_PARTS_VALUES = 1 << 22, CONV_COLUMNS = 1024, CONV_LINE = 16 };

static size_t conv_min(size_t a, size_t b) { return a < b ? a : b; }
static size_t conv_over(size_t a, size_t b) { return a / b + (a % b != 0); }
static size_t conv_round(size_t n) { return conv_over(n, CONV_LINE) * CONV_LINE; }
/* SIZE_MAX when that is too large: then memory is out. */
static size_t conv_times(size_t a, size_t b) { return gr_size_mul(a, b, &a), a; }

static size_t conv_planes_len(const conv_plan *p) { return conv_round(conv_times(p->C, p->planes)); }
static size_t conv_weight_len(const conv_plan *p) { return conv_times(conv_times(p->G, p->O), p->K1); }
static size_t conv_spread_line(const conv_plan *p) { return conv_round(p->tile[0] * p->plane[1]); }
/* Of one thread: the planes, then col or the spread dy. */
static size_t conv_scratch_len(const conv_plan *p)
{
    const size_t col = conv_times(p->K1, p->line), spread = conv_times(p->O, conv_spread_line(p)), larger = col > spread ? col : spread;
    size_t len;
    return gr_size_add(conv_planes_len(p), conv_round(conv_min(larger, SIZE_MAX / 2)), &len) && larger <= SIZE_MAX / 2 ? len : SIZE_MAX;
}
static size_t conv_chunks(const conv_plan *p) { return p->P && p->O ? conv_over(p->N, p->chunk) : 0; }

static conv_tile conv_tile_of(const conv_plan *p, size_t i)
{
    conv_tile c = { .at = { i / p->tiles[1] * p->tile[0], i % p->tiles[1] * p->tile[1] } };
    for (int k = 0; k < 2; k++) c.n[k] = conv_min(p->tile[k], p->out[k] - c.at[k]);
    return c;
}

/* ---- Forward ---- */

typedef struct {
    gr_tape *t;
    const conv_plan *p;
    const gr_real *x, *weight, *dy;    /* weight: rows of bias and weight; in backward [G, kH kW, C, O] */
    gr_real *y, *dx, *part, *scratch;  /* part: of [dbias, dweight]', [chunks, G, K1, O] */
    size_t scratch_len;
    int isa;
} conv_run;

static void conv_forward_tile(void *argument, size_t task, int thread)
{
    const conv_run *c = argument;
    const conv_plan *p = c->p;
    const size_t tiles = p->tiles[0] * p->tiles[1], sample = task / tiles;
    const conv_tile tile = conv_tile_of(p, task % tiles);
    gr_real *planes = c->scratch + (size_t)thread * c->scratch_len, *col = planes + conv_planes_len(p);
    for (size_t g = 0; g < p->G; g++) {
        const size_t group = sample * p->G + g;
        conv_fill[c->isa](planes, c->x + group * p->C * p->H[0] * p->H[1], p, &tile);
        conv_columns[c->isa](col, planes, p, &tile);
        gr__gemm_serial(c->isa, p->O, tile.n[0] * tile.n[1], p->K1, (gr_mat){ c->weight + g * p->O * p->K1, p->K1, 1 },
                        (gr_mat){ col, p->line, 1 }, c->y + group * p->O * p->P + tile.at[0] * p->out[1] + tile.at[1], p->P,
                        (gr_start){ NULL, 0 }, gr__work(c->t, thread));
    }
}

/* ---- Backward ---- */

static void conv_dweight(const conv_run *c, size_t chunk, int thread)
{
    const conv_plan *p = c->p;
    const size_t tiles = p->tiles[0] * p->tiles[1], first = chunk * p->chunk, end = conv_min(first + p->chunk, p->N);
    gr_real *planes = c->scratch + (size_t)thread * c->scratch_len, *col = planes + conv_planes_len(p);
    for (size_t i = first * tiles; i < end * tiles; i++)
        for (size_t g = 0; g < p->G; g++) {
            const conv_tile tile = conv_tile_of(p, i % tiles);
            const size_t group = i / tiles * p->G + g;
            const gr_real *dy = c->dy + group * p->O * p->P + tile.at[0] * p->out[1] + tile.at[1];
            gr_real *part = c->part + (chunk * p->G + g) * p->K1 * p->O;
            conv_fill[c->isa](planes, c->x + group * p->C * p->H[0] * p->H[1], p, &tile);
            conv_columns[c->isa](col, planes, p, &tile);
            gr__gemm_serial(c->isa, p->K1, p->O, tile.n[0] * tile.n[1], (gr_mat){ col, p->line, 1 }, (gr_mat){ dy, 1, p->P }, part, p->O,
                            (gr_start){ i == first * tiles ? NULL : part, p->O }, gr__work(c->t, thread));
        }
}

static void conv_dx(const conv_run *c, size_t chunk, int thread)
{
    const conv_plan *p = c->p;
    const size_t tiles = p->tiles[0] * p->tiles[1], first = chunk * p->chunk, end = conv_min(first + p->chunk, p->N);
    const size_t kernel = p->kernel[0] * p->kernel[1], line = conv_spread_line(p);
    gr_real *planes = c->scratch + (size_t)thread * c->scratch_len, *spread = planes + conv_planes_len(p);
    for (size_t i = first * tiles; i < end * tiles; i++)
        for (size_t g = 0; g < p->G; g++) {
            const conv_tile tile = conv_tile_of(p, i % tiles);
            const size_t group = i / tiles * p->G + g, n = (tile.n[0] - 1) * p->plane[1] + tile.n[1];
            memset(planes, 0, p->C * p->planes * sizeof *planes);
            conv_spread[c->isa](spread, c->dy + group * p->O * p->P + tile.at[0] * p->out[1] + tile.at[1], p, &tile, line);
            for (size_t k = 0; k < kernel; k++) {
                gr_real *shifted = planes + conv_shift(p, k / p->kernel[1], k % p->kernel[1]);
                gr__gemm_serial(c->isa, p->C, n, p->O, (gr_mat){ c->weight + (g * kernel + k) * p->C * p->O, p->O, 1 },
                                (gr_mat){ spread, line, 1 }, shifted, p->planes, (gr_start){ shifted, p->planes }, gr__work(c->t, thread));
            }
            conv_unfill[c->isa](c->dx + group * p->C * p->H[0] * p->H[1], planes, p, &tile);
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
    const size_t len = conv_weight_len(c->p), i = block * CONV_COLUMNS;
    (void)thread;
    conv_sum[c->isa](c->part + i, conv_chunks(c->p), len, conv_min(CONV_COLUMNS, len - i));
}

/* weight[g O + o][c][k] to [g][k][c][o]. */
static void conv_turn(const conv_plan *p, const gr_real *weight, gr_real *turned)
{
    const size_t kernel = p->kernel[0] * p->kernel[1];
    for (size_t g = 0; g < p->G; g++)
        for (size_t o = 0; o < p->O; o++)
            for (size_t c = 0; c < p->C; c++)
                for (size_t k = 0; k < kernel; k++) turned[((g * kernel + k) * p->C + c) * p->O + o] = *weight++;
}

static void conv_add_dweight(const conv_plan *p, const gr_real *sum, gr_real *dweight, gr_real *dbias)
{
    for (size_t g = 0; g < p->G; g++, sum += p->K1 * p->O)
        for (size_t o = 0; o < p->O; o++) {
            if (dbias) *dbias++ += sum[o];
            for (size_t k = p->bias; dweight && k < p->K1; k++) *dweight++ += sum[k * p->O + o];
        }
}

static void conv_node(gr_tape *t, const gr_node *n)
{
    const conv_plan *p = n->saved;
    const size_t chunks = conv_chunks(p), len = conv_weight_len(p);
    gr_real *dweight = gr_grad(t, n->in[1]), *dbias = gr_grad(t, n->in[2]), *turned = gr_scratch(t);
    if (!chunks) return;
    conv_run c = { .t = t, .p = p, .x = n->in[0]->data, .weight = turned, .dy = gr_grad(t, n->out[0]), .dx = gr_grad(t, n->in[0]) };
    c.isa = gr_isa(t), c.scratch_len = conv_scratch_len(p), c.scratch = turned + conv_round(len);
    if (dweight || dbias) c.part = c.scratch + p->threads * c.scratch_len;
    if (c.dx) conv_turn(p, n->in[1]->data, turned);
    gr_parallel(t, 2 * chunks, (double)p->N * (double)p->P * (double)len / 25, conv_backward_task, &c);
    if (!c.part) return;
    gr_parallel(t, conv_over(len, CONV_COLUMNS), 0.1 * (double)chunks * (double)len, conv_columns_of_parts, &c);
    conv_add_dweight(p, c.part, dweight, dbias);
}

static size_t conv_scratch(const gr_node *n)
{
    const conv_plan *p = n->saved;
    const size_t len = conv_weight_len(p), parts = conv_times(conv_chunks(p), len), threads = conv_times(p->threads, conv_scratch_len(p));
    size_t sum;
    if (!gr_size_add(conv_round(len), threads, &sum) || !gr_size_add(sum, parts, &sum)) return SIZE_MAX;
    return conv_chunks(p) ? conv_times(sum, sizeof(gr_real)) : 0;
}

static const gr_op conv1d_op = { .name = "conv1d", .backward = conv_node, .scratch = conv_scratch };
static const gr_op conv2d_op = { .name = "conv2d", .backward = conv_node, .scratch = conv_scratch };

/* ---- The public functions ---- */

static bool conv_settings(gr_tape *t, const gr_op *op, const gr_conv_config *c, bool two, conv_plan *p)
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

static bool conv_shapes(gr_tape *t, const gr_op *op, const gr_tensor *x, const gr_tensor *w, const gr_tensor *bias, int axes, conv_plan *p)
{
    const size_t channels = x->dim[1], outputs = w->dim[0], G = p->G;
    if (channels % G) return gr_fail(t, op, "x is %s: its %zu channels do not fall into %zu groups", gr_shape_text(t, x), channels, G);
    if (w->rank != axes + 2 || w->dim[1] != channels / G)
        return gr_fail(t, op, "x is %s and groups is %zu, so weight must be [O, %zu, %s]; got %s", gr_shape_text(t, x), G, channels / G,
                       axes == 2 ? "kH, kW" : "kL", gr_shape_text(t, w));
    if (outputs % G) return gr_fail(t, op, "weight is %s: its %zu outputs do not fall into %zu groups", gr_shape_text(t, w), outputs, G);
    if (bias && (bias->rank != 1 || bias->len != outputs))
        return gr_fail(t, op, "weight is %s, so bias must be [%zu]; got %s", gr_shape_text(t, w), outputs, gr_shape_text(t, bias));
    p->N = x->dim[0], p->C = channels / G, p->O = outputs / G, p->bias = bias != NULL;
    p->H[0] = p->kernel[0] = p->out[0] = 1;
    for (int k = 2 - axes; k < 2; k++) {
        size_t reach, padded;
        p->H[k] = x->dim[k + axes], p->kernel[k] = w->dim[k + axes];
        if (!p->kernel[k]) return gr_fail(t, op, "weight is %s: a kernel of size 0", gr_shape_text(t, w));
        if (!gr_size_mul(p->kernel[k] - 1, p->dilation[k], &reach) || !gr_size_add(p->H[k], 2 * p->padding[k], &padded) || reach >= padded)
            return gr_fail(t, op, "x is %s, so with padding %zu axis %d has %zu values; a kernel of %zu with dilation %zu needs %zu",
                           gr_shape_text(t, x), p->padding[k], k + axes, padded, p->kernel[k], p->dilation[k], reach + 1);
        p->out[k] = (padded - reach - 1) / p->stride[k] + 1;
    }
    return true;
}

/* Tiles of whole rows; where one row is too much for the cache already, of parts of it. */
static void conv_cut(conv_plan *p)
{
    p->K1 = conv_times(p->C, conv_times(p->kernel[0], p->kernel[1])) + p->bias;
    const size_t row = conv_times(p->K1 ? p->K1 : 1, p->out[1]), all = conv_times(row, p->out[0]);
    p->tiles[0] = conv_min(conv_over(all, CONV_TILE), p->out[0]), p->tile[0] = conv_over(p->out[0], p->tiles[0]);
    p->tiles[1] = p->tile[0] > 1 ? 1 : conv_min(conv_over(row, CONV_TILE), conv_over(p->out[1], CONV_LINE));
    p->tile[1] = conv_over(p->out[1], p->tiles[1]);
    for (int k = 0; k < 2; k++) {
        p->tiles[k] = conv_over(p->out[k], p->tile[k]);
        p->plane[k] = p->tile[k] + (p->kernel[k] - 1) * p->dilation[k] / p->stride[k];
    }
    p->planes = conv_times(conv_times(p->plane[0], p->plane[1]), conv_times(p->stride[0], p->stride[1]));
    p->P = conv_times(p->out[0], p->out[1]);
    p->line = conv_round(p->tile[0] * p->tile[1]);
    p->line += p->line % 1024 ? 0 : CONV_LINE; /* rows 4 KiB apart would share a few sets of the cache */
    const size_t len = conv_weight_len(p), parts = len ? CONV_PARTS_VALUES / len : CONV_PARTS;
    p->chunk = conv_over(p->N + !p->N, parts > CONV_PARTS ? CONV_PARTS : parts < CONV_FEW_PARTS ? CONV_FEW_PARTS : parts);
}

/* weight with its bias in front of each row: [O, 1 + K]. */
static const gr_real *conv_rows(gr_tape *t, const conv_plan *p, const gr_tensor *weight, const gr_tensor *bias)
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
    conv_plan plan = { .threads = (size_t)gr_tape_threads(t) }, *const p = &plan;
    if (!gr_ready(t, op, x, weight)) return NULL;
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
