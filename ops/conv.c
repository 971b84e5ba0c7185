/* ops/conv.c - convolution and transposed convolution over one axis or two. One axis is treated as two, of which the first has size 1.
 * Derivation: ops/conv.md
 *
 * Within each group of channels, with strides sh, sw, dilations dh, dw and padding ph, pw:
 *     y[n][o][i][j] = bias[o] + sum over c, a, b of weight[o][c][a][b] x[n][c][i sh + a dh - ph][j sw + b dw - pw]
 * Backward, where each sum runs over all n, o, i, j that read the value:
 *     dx[n][c][i sh + a dh - ph][j sw + b dw - pw] += weight[o][c][a][b] dy[n][o][i][j]
 *     dweight[o][c][a][b] += dy[n][o][i][j] x[n][c][i sh + a dh - ph][j sw + b dw - pw]          dbias[o] += dy[n][o][i][j]
 *
 * Shapes: conv1d x [N, C, L], weight [O, C, kL], bias [O], y [N, O, oL]; conv2d x [N, C, H, W], weight [O, C, kH, kW], y [N, O, oH, oW]. With
 * groups C is that of a group. conv_transpose1d and conv_transpose2d have weight [C, O, ..].      Kinks: none.      LeCun et al. 1989, Zeiler et al. 2010
 *
 * Two ways compute this, chosen by the shape: ops/conv_winograd.c and ops/conv_direct.c.
 * A sample's y and dx do not depend on the batch. dweight is summed over chunks of samples, and then over the chunks in order. Saved: the plan.
 *
 * A transposed convolution is the gradient of a convolution with respect to its x, as an operator of its own. Its x takes the place of dy, and
 * its result that of dx. So its plan is the plan of that convolution: C and H are sizes of the result, and O and out are sizes of its x.
 *     forward     y = bias + dx of that convolution
 *     backward    dx += that convolution of dy          dweight: that of the convolution, with x and dy exchanged          dbias[c] += dy */
#include "core/gemm.h"
#include "ops/broadcast.h"
#include "ops/conv_plan.h"
#include "ops/window.h"

/* Parts of dweight: at most 32; fewer, but at least 4, where they would hold more than 2^22 values. */
enum { CONV_PARTS = 32, CONV_FEW_PARTS = 4, CONV_PARTS_VALUES = 1 << 22 };

static const gr__conv_way *conv_choose(const gr__conv_plan *p) { return gr__winograd_fits(p) ? &gr__conv_winograd : &gr__conv_direct; }

static bool conv_is_empty(const gr__conv_plan *p) { return !p->N || !p->out[0] || !p->out[1] || !p->O; }

static void conv_node(gr_tape *t, const gr_node *n)
{
    const gr__conv_plan *p = n->saved;
    const gr_real *x = n->in[0]->data, *dy = gr_grad(t, n->out[0]);
    gr_real *dweight = gr_grad(t, n->in[1]), *dbias = gr_grad(t, n->in[2]), *scratch = gr_scratch(t);
    if (dbias) {
        const gr__runs runs = gr__runs_in(gr_shape_of(n->out[0]), (gr_shape){ .rank = n->out[0]->rank - 1, .dim = { n->in[2]->len, 1, 1 } });
        gr__runs_sum(t, &runs, dy, dbias);
    }
    if (conv_is_empty(p)) return;
    bool fresh;
    gr_real *dx = gr__grad_to_fill(t, n->in[0], &fresh);
    const gr__conv_pass to_dx = { .x = dy, .weight = n->in[1]->data, .y = dx, .scratch = scratch, .back = !p->transposed, .add = !fresh };
    if (dx) conv_choose(p)->convolve(t, p, &to_dx);
    if (dweight) conv_choose(p)->dweight(t, p, p->transposed ? dy : x, p->transposed ? x : dy, dweight, scratch);
}

static size_t conv_scratch(const gr_node *n)
{
    const gr__conv_plan *p = n->saved;
    return conv_is_empty(p) ? 0 : conv_times(conv_choose(p)->len(p, true), sizeof(gr_real));
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
        { "output_padding", c->output_padding, 0 }, { "output_padding_w", c->output_padding_w, 0 } };
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
    p->H[0] = p->kernel[0] = p->out[0] = 1;
    for (int k = 2 - dims; k < 2; k++)
        if (!(p->kernel[k] = w->dim[k + dims])) return gr_fail(t, op, "weight is %s: the kernel has size 0", gr_shape_text(t, w));
    return true;
}

/* The size of x along each axis, and that of the result: out of the plan, or H for a transposed convolution. */
static bool conv_sizes(gr_tape *t, const gr_op *op, const gr_tensor *x, int dims, gr__conv_plan *p)
{
    for (int k = 2 - dims; k < 2; k++) {
        const size_t n = x->dim[k + dims], reach = conv_times(p->kernel[k] - 1, p->dilation[k]), around = 2 * p->padding[k];
        if (p->transposed) {
            if (!n) return gr_fail(t, op, "x is %s: axis %d is empty", gr_shape_text(t, x), k + dims);
            const size_t whole = conv_plus(conv_plus(conv_times(n - 1, p->stride[k]), reach), p->extra[k] + 1);
            if (whole <= around)
                return gr_fail(t, op, "x is %s: padding %zu takes %zu values from axis %d of the result, which has %zu", gr_shape_text(t, x),
                               p->padding[k], around, k + dims, whole);
            p->out[k] = n, p->H[k] = whole - around;
        } else {
            const size_t padded = conv_plus(n, around);
            if (reach >= padded)
                return gr_fail(t, op, "x is %s, so with padding %zu axis %d has %zu values; a kernel of %zu with dilation %zu needs %zu",
                               gr_shape_text(t, x), p->padding[k], k + dims, padded, p->kernel[k], p->dilation[k], reach + (reach < SIZE_MAX));
            p->H[k] = n, p->out[k] = (padded - reach - 1) / p->stride[k] + 1;
        }
    }
    return true;
}

static gr_tensor *conv(gr_tape *t, const gr_op *op, int dims, bool transposed, gr_tensor *x, gr_tensor *weight, gr_tensor *bias, const gr_conv_config *config)
{
    const gr_conv_config c = config ? *config : (gr_conv_config){ 0 };
    gr__conv_plan plan = { .threads = (size_t)gr_tape_threads(t), .transposed = transposed }, *const p = &plan;
    if (!gr_ready(t, op, x, weight) || !gr_alive(t, op, "bias", bias)) return NULL;
    if (x->rank != dims + 2) return gr_fail(t, op, "x must be %s; got %s", dims == 2 ? "[N, C, H, W]" : "[N, C, L]", gr_shape_text(t, x));
    if (c.kernel_w || c.no_bias)
        return gr_fail(t, op, "kernel_w and no_bias are for a module; here weight has the width of the kernel, and a bias of NULL is none");
    if (!gr__conv_fits(t, op->name, &c, dims == 2, transposed)) return NULL;
    if (!conv_shapes(t, op, x, weight, bias, dims, &c, p) || !conv_sizes(t, op, x, dims, p)) return NULL;
    const size_t len = conv_weight_len(p), parts = len ? CONV_PARTS_VALUES / len : CONV_PARTS;
    p->chunk = gr_chunks(p->N + !p->N, parts > CONV_PARTS ? CONV_PARTS : parts < CONV_FEW_PARTS ? CONV_FEW_PARTS : parts);
    gr_shape shape = { .rank = dims + 2, .dim = { p->N, p->G * (transposed ? p->C : p->O) } };
    for (int k = 2 - dims; k < 2; k++) shape.dim[k + dims] = transposed ? p->H[k] : p->out[k];
    gr_tensor *y = gr__empty(t, op, shape);
    const gr_mark mark = gr_tape_mark(t);
    gr_real *const scratch = y && y->len ? gr_save_reals(t, conv_choose(p)->len(p, false)) : NULL;
    if (gr_failed(t)) return NULL;
    if (scratch) conv_choose(p)->convolve(t, p, &(gr__conv_pass){ x->data, weight->data, bias ? bias->data : NULL, y->data, scratch, .back = transposed });
    gr_tape_rewind(t, mark);
    return gr_record(t, op, p, sizeof *p, GR_OUT(y), GR_IN(x, weight, bias));
}

#define CONV(called, dims, transposed) \
    static const gr_op called##_op = { .name = #called, .backward = conv_node, .scratch = conv_scratch }; \
    gr_tensor *gr_##called(gr_tape *t, gr_tensor *x, gr_tensor *weight, gr_tensor *bias, const gr_conv_config *config) \
    { \
        return conv(t, &called##_op, dims, transposed, x, weight, bias, config); \
    }
CONV(conv1d, 1, false) CONV(conv2d, 2, false) CONV(conv_transpose1d, 1, true) CONV(conv_transpose2d, 2, true)
#undef CONV
