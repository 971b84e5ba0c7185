/* examples/composed/conv.c - the twins of convolution and pooling. Both unfold x: for each position in the kernel, the values that the outputs
 * see. */
#include "examples/composed/composed.h"
#include <math.h>

typedef struct { size_t kernel[2], stride[2], padding[2], dilation[2], out[2]; } window; /* along H, along W; out: how many outputs */

/* A setting along one axis: of_w, which is 0 for H (GR_NONE means 0); where it is 0, value; where both are 0, otherwise. */
static size_t setting(int value, int of_w, int otherwise)
{
    return of_w == GR_NONE ? 0 : (size_t)(of_w ? of_w : value ? value : otherwise);
}

/* x [N, C, H, W] with `value` around it; the end of each axis gets stride - 1 more, so that the last step has its full stride. */
static gr_tensor *padded_with(gr_tape *t, gr_tensor *x, const window *w, double value)
{
    for (int k = 0; k < 2 && x; k++) {
        gr_shape before = gr_shape_of(x), after = before;
        before.dim[2 + k] = w->padding[k], after.dim[2 + k] = w->padding[k] + w->stride[k] - 1;
        x = gr_cat(t, (gr_tensor *[]){ gr_full(t, before, value), x, gr_full(t, after, value) }, 3, 2 + k);
    }
    return x;
}

/* `out` values of an axis, from start on, stride apart. */
static gr_tensor *strided(gr_tape *t, gr_tensor *x, int axis, size_t start, size_t out, size_t stride)
{
    x = gr_narrow(t, x, axis, start, out * stride);
    if (!x || stride == 1) return x;
    gr_shape shape = gr_shape_of(x);
    for (int k = shape.rank++; k > axis + 1; k--) shape.dim[k] = shape.dim[k - 1];
    shape.dim[axis] = out, shape.dim[axis + 1] = stride;
    return gr_select(t, gr_reshape(t, x, shape), axis + 1, 0);
}

/* [N, C, kH kW, oH, oW] */
static gr_tensor *unfold(gr_tape *t, gr_tensor *x, const window *w, double value)
{
    const size_t n = w->kernel[0] * w->kernel[1];
    gr_tensor *padded = padded_with(t, x, w, value), **seen = gr_save(t, n * sizeof *seen);
    for (size_t k = 0; seen && k < n; k++) {
        gr_tensor *rows = strided(t, padded, 2, k / w->kernel[1] * w->dilation[0], w->out[0], w->stride[0]);
        seen[k] = strided(t, rows, 3, k % w->kernel[1] * w->dilation[1], w->out[1], w->stride[1]);
    }
    return seen ? gr_stack(t, seen, n, 2) : NULL;
}

static void count_outputs(const gr_tensor *x, window *w)
{
    for (int k = 0; k < 2; k++)
        w->out[k] = (x->dim[2 + k] + 2 * w->padding[k] - w->dilation[k] * (w->kernel[k] - 1) - 1) / w->stride[k] + 1;
}

gr_tensor *composed_conv2d(gr_tape *t, gr_tensor *x, gr_tensor *weight, gr_tensor *bias, const gr_conv_config *config)
{
    if (gr_failed(t) || !x || !weight) return NULL;
    const gr_conv_config c = config ? *config : (gr_conv_config){ 0 };
    const size_t N = x->dim[0], G = setting(c.groups, 0, 1), O = weight->dim[0], C = x->dim[1];
    window w = { .kernel = { weight->dim[2], weight->dim[3] },
                 .stride = { setting(c.stride, 0, 1), setting(c.stride, c.stride_w, 1) },
                 .padding = { setting(c.padding, 0, 0), setting(c.padding, c.padding_w, 0) },
                 .dilation = { setting(c.dilation, 0, 1), setting(c.dilation, c.dilation_w, 1) } };
    count_outputs(x, &w);
    const size_t K = C / G * w.kernel[0] * w.kernel[1], P = w.out[0] * w.out[1];
    gr_tensor *col = gr_reshape(t, unfold(t, x, &w, 0), GR_SHAPE(N, G, K, P));
    gr_tensor *y = gr_matmul(t, gr_reshape(t, weight, GR_SHAPE(G, O / G, K)), col);
    y = gr_reshape(t, y, GR_SHAPE(N, O, w.out[0], w.out[1]));
    return bias ? gr_add(t, y, gr_reshape(t, bias, GR_SHAPE(O, 1, 1))) : y;
}

static gr_tensor *values_in_windows(gr_tape *t, gr_tensor *x, const gr_pool_config *c, double value)
{
    if (gr_failed(t) || !x) return NULL;
    window w = { .kernel = { setting(c->kernel, 0, 1), setting(c->kernel, c->kernel_w, 1) },
                 .stride = { setting(c->stride, 0, c->kernel), setting(c->stride, c->stride_w, c->kernel_w ? c->kernel_w : c->kernel) },
                 .padding = { setting(c->padding, 0, 0), setting(c->padding, c->padding_w, 0) },
                 .dilation = { 1, 1 } };
    count_outputs(x, &w);
    return unfold(t, x, &w, value);
}

gr_tensor *composed_max_pool2d(gr_tape *t, gr_tensor *x, const gr_pool_config *config)
{
    return gr_max(t, values_in_windows(t, x, config, -HUGE_VAL), GR_AXES(2), false);
}

gr_tensor *composed_avg_pool2d(gr_tape *t, gr_tensor *x, const gr_pool_config *config)
{
    gr_tensor *seen = values_in_windows(t, x, config, 0);
    if (!seen || !config->exclude_padding) return gr_mean(t, seen, GR_AXES(2), false);
    gr_tensor *count = gr_sum(t, values_in_windows(t, gr_ones(t, gr_shape_of(x)), config, 0), GR_AXES(2), false);
    return gr_div(t, gr_sum(t, seen, GR_AXES(2), false), count);
}
