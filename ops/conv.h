/* ops/conv.h - convolution and pooling, over one axis (x [N, C, L]) and over two (x [N, C, H, W]). N may be 0. */
#ifndef GR_CONV_H
#define GR_CONV_H
#include "core/tensor.h"
GR_BEGIN

/* ==== Convolution ==== */

typedef struct {
    int stride, padding, dilation;       /* 0: 1, 0, 1; of conv2d along both axes */
    int stride_w, padding_w, dilation_w; /* conv2d: along W, where that differs; padding_w GR_NONE: 0 */
    int groups;                          /* 0: 1 */
    int kernel_w;                        /* of a module of two axes: the kernel's width, where it is not its height */
    bool no_bias;                        /* of a module */
} gr_conv_config;

/* Slide a kernel over x, zeros around it (a cross-correlation, as everywhere in deep learning): for output o of a group
 *     y[n][o][i][j] = bias[o] + sum over c, a, b of weight[o][c][a][b] x[n][c][i stride + a dilation - padding][j stride + ...]
 * Channels fall into groups: those of group k see the inputs C / groups * k on. groups = C is a depthwise convolution.
 *
 *   x       [N, C, H, W], or [N, C, L]
 *   weight  [O, C / groups, kH, kW], or [O, C / groups, kL]; C and O are multiples of groups
 *   bias    [O], or NULL
 *   config  NULL: all defaults
 *   return  [N, O, oH, oW], or [N, O, oL]; oH = (H + 2 padding - dilation (kH - 1) - 1) / stride + 1, rounded down
 *
 * Gradients reach x, weight and bias. A kernel that is larger than the padded input is an error.      LeCun et al. 1989 */
GR_API gr_tensor *gr_conv1d(gr_tape *t, gr_tensor *x, gr_tensor *weight, gr_tensor *bias, const gr_conv_config *config);
GR_API gr_tensor *gr_conv2d(gr_tape *t, gr_tensor *x, gr_tensor *weight, gr_tensor *bias, const gr_conv_config *config);

/* ==== Pooling ==== */

typedef struct {
    int kernel, stride, padding;       /* kernel: 1 or more; stride 0: the kernel; padding: at most half the kernel */
    int kernel_w, stride_w, padding_w; /* over two axes: along W, where that differs; padding_w GR_NONE: 0 */
    bool exclude_padding;              /* avg_pool: divide by the values that are no padding (PyTorch's count_include_pad = False) */
} gr_pool_config;

/* The largest value of each window; padding counts for nothing. The gradient goes to it, the first of equals. A NaN wins. */
GR_API gr_tensor *gr_max_pool1d(gr_tape *t, gr_tensor *x, const gr_pool_config *config);
GR_API gr_tensor *gr_max_pool2d(gr_tape *t, gr_tensor *x, const gr_pool_config *config);

/* The mean of each window. Padding counts as zeros unless config says otherwise. */
GR_API gr_tensor *gr_avg_pool1d(gr_tape *t, gr_tensor *x, const gr_pool_config *config);
GR_API gr_tensor *gr_avg_pool2d(gr_tape *t, gr_tensor *x, const gr_pool_config *config);

/* As many windows as asked for, evenly: window i of n covers i H / n, rounded down, to (i + 1) H / n, rounded up. One window is
 * the whole axis: gr_adaptive_avg_pool2d(t, x, 1, 1) is global pooling. */
GR_API gr_tensor *gr_adaptive_max_pool1d(gr_tape *t, gr_tensor *x, size_t length);
GR_API gr_tensor *gr_adaptive_max_pool2d(gr_tape *t, gr_tensor *x, size_t height, size_t width);
GR_API gr_tensor *gr_adaptive_avg_pool1d(gr_tape *t, gr_tensor *x, size_t length);
GR_API gr_tensor *gr_adaptive_avg_pool2d(gr_tape *t, gr_tensor *x, size_t height, size_t width);

GR_END
#endif
