/* ops/conv.c - convolution and transposed convolution over one axis or two. One axis is treated as two, of which the first has size 1.
 *
 * Within each group of channels, with strides sh, sw, dilations dh, dw and padding ph, pw:
 *     y[n][o][i][j] = bias[o] + sum over c, a, b of weight[o][c][a][b] x[n][c][i sh + a dh - ph][j sw + b dw - pw]
 * Backward, where each sum runs over all n, o, i, j that read the value:
 *     dx[n][c][i sh + a dh - ph][j sw + b dw - pw] += weight[o][c][a][b] dy[n][o][i][j]
 *     dweight[o][c][a][b] += dy[n][o][i][j] x[n][c][i sh + a dh - ph][j sw + b dw - pw]          dbias[o] += dy[n][o][i][j]
 *
 * As matrix products (core/gemm.h), for each sample, group and tile of outputs:
 *     forward     y [O, P] = [bias, weight] [O, 1 + K]  col [1 + K, P]      K = C kH kW values that an output sees, P outputs of the tile
 *     backward    [dbias, dweight]' += col dy'                              the first row of col is ones
 *                 dx shifted by (a, b)  += weight[.][.][a][b]' dy           for each (a, b) of the kernel
 * ops/conv_planes.h copies the part of x that a tile sees into planes, in which every kernel position (a, b) is a shift. A row of col is such a
 * shifted plane. For dx the rows of dy are spread to the width of the planes, and each product adds to the shifted planes.
 * A group of one channel in and one out (depthwise) needs no matrix: its kernels add up one kernel position after the other.
 *
 * The size of a tile depends on the shape of one sample only, and was chosen so that a tile stays in the cache. So a sample's y and dx do not
 * depend on the batch. dweight is summed over chunks of samples, and then over the chunks in order.
 * Saved: the plan. Backward computes col again.
 *
 * A transposed convolution is the gradient of a convolution with respect to its x, as an operator of its own. Its x takes the place of dy, and
 * its result that of dx. So its plan is the plan of that convolution: C and H are sizes of the result, and O and out are sizes of its x.
 *     forward     y = dx of that convolution, + bias[c] everywhere
 *     backward    dx += that convolution of dy          dweight: that of the convolution, with x and dy exchanged          dbias[c] += dy */
#include "core/gemm.h"
#include "ops/broadcast.h"
#include "ops/conv_planes.h"
#include "ops/parts.h"
#include "ops/strided.h"
#include "ops/window.h"

enum { CONV_TILE = 65536, CONV_PARTS = 32, CONV_FEW_PARTS = 4, CONV_PARTS_VALUES = 1 << 22, CONV_LINE = 16 };

/* Sizes that do not fit become SIZE_MAX, which no allocation gives. */
static size_t conv_times(size_t a, size_t b) { return gr_size_mul(a, b, &a), a; }
static size_t conv_plus(size_t a, size_t b) { return gr_size_add(a, b, &a), a; }
static size_t conv_round(size_t n) { return conv_times(gr_chunks(n, CONV_LINE), CONV_LINE); }
static size_t conv_min(size_t a, size_t b) { return a < b ? a : b; }

static size_t conv_planes_len(const gr__conv_plan *p) { return conv_round(conv_times(p->C, p->planes)); }
static size_t conv_weight_len(const gr__conv_plan *p) { return conv_times(conv_times(p->G, p->O), p->K1); }
static size_t conv_spread_line(const gr__conv_plan *p) { return conv_round(p->tile[0] * p->plane[1]); }
/* The scratch of one thread: the planes, then col or the spread dy. */
static size_t conv_scratch_len(const gr__conv_plan *p)
{
    const size_t col = conv_times(p->K1, p->line), spread = conv_times(p->O, conv_spread_line(p));
    return conv_plus(conv_planes_len(p), conv_round(col > spread ? col : spread));
}
static size_t conv_chunks(const gr__conv_plan *p) { return p->P && p->O ? gr_chunks(p->N, p->chunk) : 0; }

/* Tile number i, counted over all samples, in group g: its outputs, and where its group begins in x and its first output lies in y. */
typedef struct { gr__conv_tile tile; size_t x, y; } conv_place;
static conv_place conv_place_of(const gr__conv_plan *p, size_t i, size_t g)
{
    const size_t tiles = p->tiles[0] * p->tiles[1], number = i % tiles, group = i / tiles * p->G + g;
    conv_place c = { .tile.at = { number / p->tiles[1] * p->tile[0], number % p->tiles[1] * p->tile[1] } };
    for (int k = 0; k < 2; k++) c.tile.n[k] = conv_min(p->tile[k], p->out[k] - c.tile.at[k]);
    c.x = group * p->C * p->H[0] * p->H[1], c.y = group * p->O * p->P + c.tile.at[0] * p->out[1] + c.tile.at[1];
    return c;
}

/* The tiles of chunk number `chunk` of samples. */
static gr_range conv_tiles(const gr__conv_plan *p, size_t chunk)
{
    const size_t tiles = p->tiles[0] * p->tiles[1];
    const gr_range samples = gr_chunk(chunk, p->chunk, p->N);
    return (gr_range){ samples.first * tiles, samples.count * tiles };
}

/* The length of a line that holds the rows of a tile, as far apart as those of the planes. */
static size_t conv_reach(const gr__conv_plan *p, const gr__conv_tile *tile) { return (tile->n[0] - 1) * p->plane[1] + tile->n[1]; }

/* A group of one channel in and one out has kernels of its own: a matrix product with one row would be slow. */
static bool conv_is_deep(const gr__conv_plan *p) { return p->C == 1 && p->O == 1; }

typedef struct {
    gr_tape *t;
    const gr__conv_plan *p;
    gr__conv_kernels k;
    const gr_real *x, *weight, *dy;    /* weight: rows of bias and weight; in backward [G, kH kW, C, O] */
    gr_real *y, *dx, *part, *scratch;  /* part: of [dbias, dweight]', [chunks, G, K1, O] */
    size_t scratch_len;
    int isa;
} conv_run;

static conv_run conv_run_of(gr_tape *t, const gr__conv_plan *p, gr_real *scratch)
{
    const int isa = gr_isa(t);
    return (conv_run){ .t = t, .p = p, .k = gr__conv_kernels_of(isa), .scratch = scratch, .scratch_len = conv_scratch_len(p), .isa = isa };
}

/* ---- Forward; in the backward of a transposed convolution, y is its dx, to which this adds ---- */

static void conv_forward_tile(void *argument, size_t i, int thread)
{
    const conv_run *c = argument;
    const gr__conv_plan *p = c->p;
    gr_real *planes = c->scratch + (size_t)thread * c->scratch_len, *col = planes + conv_planes_len(p);
    for (size_t g = 0; g < p->G; g++) {
        const conv_place at = conv_place_of(p, i, g);
        const gr_real *weight = c->weight + g * p->O * p->K1;
        c->k.fill(planes, c->x + at.x, p, &at.tile);
        if (conv_is_deep(p)) {
            c->k.deep_forward(c->y + at.y, col, planes, weight, p, &at.tile, p->transposed);
            continue;
        }
        c->k.columns(col, planes, p, &at.tile);
        gr__gemm_serial(c->isa, p->O, at.tile.n[0] * at.tile.n[1], p->K1, (gr_mat){ weight, p->K1, 1 }, (gr_mat){ col, p->line, 1 }, c->y + at.y,
                        p->P, (gr_start){ p->transposed ? c->y + at.y : NULL, p->P }, gr__work(c->t, thread));
    }
}

/* ---- Backward ---- */

static void conv_dweight(const conv_run *c, size_t chunk, int thread)
{
    const gr__conv_plan *p = c->p;
    const gr_range tiles = conv_tiles(p, chunk);
    gr_real *planes = c->scratch + (size_t)thread * c->scratch_len, *col = planes + conv_planes_len(p);
    for (size_t i = tiles.first; i < tiles.first + tiles.count; i++)
        for (size_t g = 0; g < p->G; g++) {
            const conv_place at = conv_place_of(p, i, g);
            const gr_real *dy = c->dy + at.y;
            gr_real *part = c->part + (chunk * p->G + g) * p->K1 * p->O;
            c->k.fill(planes, c->x + at.x, p, &at.tile);
            if (conv_is_deep(p)) {
                c->k.spread(col, dy, p, &at.tile, 0);
                c->k.deep_dw(part, col, planes, p, conv_reach(p, &at.tile), i > tiles.first);
                continue;
            }
            c->k.columns(col, planes, p, &at.tile);
            gr__gemm_serial(c->isa, p->K1, p->O, at.tile.n[0] * at.tile.n[1], (gr_mat){ col, p->line, 1 }, (gr_mat){ dy, 1, p->P }, part, p->O,
                            (gr_start){ i > tiles.first ? part : NULL, p->O }, gr__work(c->t, thread));
        }
}

static void conv_dx(const conv_run *c, size_t chunk, int thread)
{
    const gr__conv_plan *p = c->p;
    const gr_range tiles = conv_tiles(p, chunk);
    const size_t kernel = p->kernel[0] * p->kernel[1], line = conv_spread_line(p);
    gr_real *planes = c->scratch + (size_t)thread * c->scratch_len, *spread = planes + conv_planes_len(p);
    for (size_t i = tiles.first; i < tiles.first + tiles.count; i++)
        for (size_t g = 0; g < p->G; g++) {
            const conv_place at = conv_place_of(p, i, g);
            const size_t n = conv_reach(p, &at.tile);
            memset(planes, 0, p->C * p->planes * sizeof *planes);
            c->k.spread(spread, c->dy + at.y, p, &at.tile, line);
            if (conv_is_deep(p)) c->k.deep_dx(planes, spread, c->weight + g * kernel, p, n);
            for (size_t k = 0; k < kernel && !conv_is_deep(p); k++) {
                gr_real *shifted = planes + conv_shift(p, k / p->kernel[1], k % p->kernel[1]);
                gr__gemm_serial(c->isa, p->C, n, p->O, (gr_mat){ c->weight + (g * kernel + k) * p->C * p->O, p->O, 1 },
                                (gr_mat){ spread, line, 1 }, shifted, p->planes, (gr_start){ shifted, p->planes }, gr__work(c->t, thread));
            }
            c->k.unfill(c->dx + at.x, planes, p, &at.tile);
        }
}

/* Tasks 2i and 2i + 1 belong to chunk i, so that two threads can share even one sample. */
static void conv_backward_task(void *argument, size_t task, int thread)
{
    const conv_run *c = argument;
    const gr_range tiles = conv_tiles(c->p, task / 2);
    if (task % 2 == 0 && c->part) conv_dweight(c, task / 2, thread);
    if (task % 2 && c->dx) conv_dx(c, task / 2, thread);
    for (size_t i = 0; task % 2 && c->y && i < tiles.count; i++) conv_forward_tile(argument, tiles.first + i, thread);
}

static void conv_add_dweight(const gr__conv_plan *p, const gr_real *sum, gr_real *dweight, gr_real *dbias)
{
    for (size_t g = 0; g < p->G; g++, sum += p->K1 * p->O)
        for (size_t o = 0; o < p->O; o++) {
            if (dbias) *dbias++ += sum[o];
            for (size_t k = p->bias; dweight && k < p->K1; k++) *dweight++ += sum[k * p->O + o];
        }
}

/* The shape to which a bias of n values broadcasts in a tensor with `dims` axes behind the channels. */
static gr_shape conv_along_channels(size_t n, int dims) { return (gr_shape){ .rank = dims + 1, .dim = { n, 1, 1 } }; }

/* [kH kW, C, O] in each group, for conv_dx. */
static void conv_turn(gr_tape *t, const gr__conv_plan *p, gr_real *turned, const gr_tensor *weight)
{
    gr__strided_copy(t, gr__layout_of(GR_SHAPE(p->G, p->O, p->C, p->kernel[0] * p->kernel[1]), (int[]){ 0, 3, 2, 1 }), turned, weight->data);
}

static double conv_work(const gr__conv_plan *p) { return (double)p->N * (double)p->P * (double)conv_weight_len(p) / 50; }

static void conv_node(gr_tape *t, const gr_node *n)
{
    const gr__conv_plan *p = n->saved;
    const size_t chunks = conv_chunks(p), len = conv_weight_len(p);
    gr_real *dx = gr_grad(t, n->in[0]), *dweight = gr_grad(t, n->in[1]), *dbias = gr_grad(t, n->in[2]), *dy = gr_grad(t, n->out[0]);
    gr_real *turned = gr_scratch(t);
    if (p->transposed && dbias) {
        const gr__runs runs = gr__runs_in(gr_shape_of(n->out[0]), conv_along_channels(n->in[2]->len, n->out[0]->rank - 2));
        gr__runs_sum(t, &runs, dy, dbias), dbias = NULL;
    }
    if (!chunks) return;
    conv_run c = conv_run_of(t, p, turned + conv_round(len));
    if (p->transposed) c.x = dy, c.dy = n->in[0]->data, c.y = dx, c.weight = n->in[1]->data;
    else c.x = n->in[0]->data, c.dy = dy, c.dx = dx, c.weight = turned;
    if (c.dx) conv_turn(t, p, turned, n->in[1]);
    if (dweight || dbias) c.part = c.scratch + p->threads * c.scratch_len;
    gr_parallel(t, 2 * chunks, 2 * conv_work(p), conv_backward_task, &c);
    if (!c.part) return;
    gr__add_parts(t, c.part, c.part + len, chunks - 1, len, len);
    conv_add_dweight(p, c.part, dweight, dbias);
}

static size_t conv_scratch(const gr_node *n)
{
    const gr__conv_plan *p = n->saved;
    const size_t len = conv_weight_len(p), threads = conv_times(p->threads, conv_scratch_len(p)), parts = conv_times(conv_chunks(p), len);
    return conv_chunks(p) ? conv_times(conv_plus(conv_plus(conv_round(len), threads), parts), sizeof(gr_real)) : 0;
}

/* ---- The public functions ---- */

bool gr__window_fits(gr_tape *t, const char *name, const window_value *s, int n, bool two)
{
    for (int i = 0; i < n; i++) {
        const bool of_w = i % 2, none = of_w && !s[i].least && s[i].value == GR_NONE;
        if (of_w && !two && s[i].value) return gr_fail_as(t, GR_MISUSE, name, "%s is for two axes, and here is one; got %d", s[i].name, s[i].value);
        if (s[i].value < 0 && !none) return gr_fail_as(t, GR_MISUSE, name, "%s must be %d or more; got %d", s[i].name, s[i].least, s[i].value);
    }
    return true;
}

bool gr__conv_fits(gr_tape *t, const char *name, const gr_conv_config *c, bool two, bool transposed)
{
    const window_value s[] = {
        { "stride", c->stride, 1 }, { "stride_w", c->stride_w, 1 }, { "padding", c->padding, 0 }, { "padding_w", c->padding_w, 0 },
        { "dilation", c->dilation, 1 }, { "dilation_w", c->dilation_w, 1 }, { "groups", c->groups, 1 }, { "kernel_w", c->kernel_w, 1 },
        { "output_padding", c->output_padding, 0 }, { "output_padding_w", c->output_padding_w, 0 },
    };
    if (!gr__window_fits(t, name, s, 10, two)) return false;
    for (int k = 0; k <= two; k++) {
        const size_t extra = window_setting(c->output_padding, k ? c->output_padding_w : 0, 0), stride = window_setting(c->stride, k ? c->stride_w : 0, 1);
        const size_t dilation = window_setting(c->dilation, k ? c->dilation_w : 0, 1);
        if (extra && !transposed) return gr_fail_as(t, GR_MISUSE, name, "output_padding is for a transposed convolution; got %zu", extra);
        if (extra >= stride && extra >= dilation)
            return gr_fail_as(t, GR_MISUSE, name, "output_padding must be smaller than the stride or the dilation; got %zu with stride %zu and dilation %zu",
                              extra, stride, dilation);
    }
    return true;
}

/* The settings, and the sizes of the channels, the groups and the kernel. */
static bool conv_shapes(gr_tape *t, const gr_op *op, const gr_tensor *x, const gr_tensor *w, const gr_tensor *bias, int dims, const gr_conv_config *c,
                        gr__conv_plan *p)
{
    const size_t channels = x->dim[1], G = p->G = c->groups ? (size_t)c->groups : 1;
    for (int k = 0; k < 2; k++) {
        p->stride[k] = window_setting(c->stride, k ? c->stride_w : 0, 1);
        p->padding[k] = window_setting(c->padding, k ? c->padding_w : 0, 0);
        p->dilation[k] = window_setting(c->dilation, k ? c->dilation_w : 0, 1);
        p->extra[k] = window_setting(c->output_padding, k ? c->output_padding_w : 0, 0);
    }
    if (dims == 1) p->stride[0] = p->dilation[0] = 1, p->padding[0] = 0; /* one axis is W */
    if (w->rank != dims + 2)
        return gr_fail(t, op, "weight must be [%s, %s]; got %s", p->transposed ? "C, O / groups" : "O, C / groups", dims == 2 ? "kH, kW" : "kL",
                       gr_shape_text(t, w));
    const size_t wide = conv_times(w->dim[1], G), needed = p->transposed ? w->dim[0] : wide, outputs = p->transposed ? wide : w->dim[0];
    if (channels % G) return gr_fail(t, op, "x is %s: its %zu channels cannot be divided into %zu groups", gr_shape_text(t, x), channels, G);
    if (channels != needed)
        return gr_fail(t, op, "weight is %s and groups is %zu, so x must be [N, %zu, %s]; got %s", gr_shape_text(t, w), G, needed,
                       dims == 2 ? "H, W" : "L", gr_shape_text(t, x));
    if (outputs % G) return gr_fail(t, op, "weight is %s: its %zu outputs cannot be divided into %zu groups", gr_shape_text(t, w), outputs, G);
    if (bias && (bias->rank != 1 || bias->len != outputs))
        return gr_fail(t, op, "weight is %s and groups is %zu, so bias must be [%zu]; got %s", gr_shape_text(t, w), G, outputs, gr_shape_text(t, bias));
    p->N = x->dim[0], p->C = (p->transposed ? outputs : channels) / G, p->O = (p->transposed ? channels : outputs) / G;
    p->bias = bias && !p->transposed, p->H[0] = p->kernel[0] = p->out[0] = 1;
    for (int k = 2 - dims; k < 2; k++)
        if (!(p->kernel[k] = w->dim[k + dims])) return gr_fail(t, op, "weight is %s: the kernel has size 0", gr_shape_text(t, w));
    return true;
}

/* The size of the outputs along each axis, from that of x. */
static bool conv_sizes(gr_tape *t, const gr_op *op, const gr_tensor *x, int dims, gr__conv_plan *p)
{
    for (int k = 2 - dims; k < 2; k++) {
        size_t padded;
        const size_t reach = conv_times(p->kernel[k] - 1, p->dilation[k]);
        p->H[k] = x->dim[k + dims];
        if (!gr_size_add(p->H[k], 2 * p->padding[k], &padded) || reach >= padded)
            return gr_fail(t, op, "x is %s, so with padding %zu axis %d has %zu values; a kernel of %zu with dilation %zu needs %zu",
                           gr_shape_text(t, x), p->padding[k], k + dims, padded, p->kernel[k], p->dilation[k], reach + (reach < SIZE_MAX));
        p->out[k] = (padded - reach - 1) / p->stride[k] + 1;
    }
    return true;
}

/* The same for a transposed convolution: the size of the result, which is H of the plan. */
static bool conv_transpose_sizes(gr_tape *t, const gr_op *op, const gr_tensor *x, int dims, gr__conv_plan *p)
{
    for (int k = 2 - dims; k < 2; k++) {
        const size_t n = p->out[k] = x->dim[k + dims], stride = p->stride[k], dilation = p->dilation[k], cut = 2 * p->padding[k];
        if (!n) return gr_fail(t, op, "x is %s: axis %d is empty", gr_shape_text(t, x), k + dims);
        const size_t whole = conv_plus(conv_plus(conv_times(n - 1, stride), conv_times(p->kernel[k] - 1, dilation)), p->extra[k] + 1);
        if (whole <= cut)
            return gr_fail(t, op, "x is %s: padding %zu takes %zu values from axis %d of the result, which has %zu", gr_shape_text(t, x),
                           p->padding[k], cut, k + dims, whole);
        p->H[k] = whole - cut;
    }
    return true;
}

/* Choose the tiles: several whole rows of outputs or, when one row is too large for the cache, a part of a row. */
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

/* The rows of weight, each with its bias in front: [O, 1 + K]. */
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

static bool conv_forward(gr_tape *t, const gr__conv_plan *p, const gr_tensor *x, const gr_tensor *weight, const gr_tensor *bias, gr_real *y)
{
    conv_run c = conv_run_of(t, p, gr_save_reals(t, conv_times(p->threads, conv_scratch_len(p))));
    c.x = x->data, c.y = y, c.weight = conv_rows(t, p, weight, bias);
    if (!c.weight || !c.scratch) return false;
    gr_parallel(t, p->N * p->tiles[0] * p->tiles[1], conv_work(p), conv_forward_tile, &c);
    return true;
}

static bool conv_transpose_forward(gr_tape *t, const gr__conv_plan *p, const gr_tensor *x, const gr_tensor *weight, const gr_tensor *bias, gr_real *y)
{
    const size_t size = p->H[0] * p->H[1];
    gr_real *turned = gr_save_reals(t, conv_weight_len(p));
    conv_run c = conv_run_of(t, p, gr_save_reals(t, conv_times(p->threads, conv_scratch_len(p))));
    if (!turned || !c.scratch) return false;
    for (size_t n = 0; n < p->N; n++)
        for (size_t o = 0; o < p->G * p->C; o++)
            for (size_t i = 0; i < size; i++) *y++ = bias ? bias->data[o] : 0;
    c.dy = x->data, c.dx = y - p->N * p->G * p->C * size, c.weight = turned;
    conv_turn(t, p, turned, weight);
    gr_parallel(t, 2 * conv_chunks(p), conv_work(p), conv_backward_task, &c);
    return true;
}

static gr_tensor *conv(gr_tape *t, const gr_op *op, int dims, bool transposed, gr_tensor *x, gr_tensor *weight, gr_tensor *bias,
                       const gr_conv_config *config)
{
    const gr_conv_config c = config ? *config : (gr_conv_config){ 0 };
    gr__conv_plan plan = { .threads = (size_t)gr_tape_threads(t), .transposed = transposed }, *const p = &plan;
    if (!gr_ready(t, op, x, weight) || !gr_alive(t, op, "bias", bias)) return NULL;
    if (x->rank != dims + 2) return gr_fail(t, op, "x must be %s; got %s", dims == 2 ? "[N, C, H, W]" : "[N, C, L]", gr_shape_text(t, x));
    if (c.kernel_w || c.no_bias)
        return gr_fail(t, op, "kernel_w and no_bias are for a module; here weight has the width of the kernel, and a bias of NULL is none");
    if (!gr__conv_fits(t, op->name, &c, dims == 2, transposed) || !conv_shapes(t, op, x, weight, bias, dims, &c, p)) return NULL;
    if (!(transposed ? conv_transpose_sizes : conv_sizes)(t, op, x, dims, p)) return NULL;
    conv_cut(p);
    gr_shape shape = { .rank = dims + 2, .dim = { p->N, p->G * (transposed ? p->C : p->O) } };
    for (int k = 2 - dims; k < 2; k++) shape.dim[k + dims] = transposed ? p->H[k] : p->out[k];
    gr_tensor *y = gr__empty(t, op, shape);
    const gr_mark mark = gr_tape_mark(t);
    if (!y || (y->len && !(transposed ? conv_transpose_forward : conv_forward)(t, p, x, weight, bias, y->data))) return NULL;
    gr_tape_rewind(t, mark);
    return gr_record(t, op, p, sizeof *p, GR_OUT(y), GR_IN(x, weight, bias));
}

#define CONV(called, dims, transposed) \
    static const gr_op called##_op = { .name = #called, .backward = conv_node, .scratch = conv_scratch }; \
    gr_tensor *gr_##called(gr_tape *t, gr_tensor *x, gr_tensor *weight, gr_tensor *bias, const gr_conv_config *config) \
    { \
        return conv(t, &called##_op, dims, transposed, x, weight, bias, config); \
    }
CONV(conv1d, 1, false)
CONV(conv2d, 2, false)
CONV(conv_transpose1d, 1, true)
CONV(conv_transpose2d, 2, true)
#undef CONV
