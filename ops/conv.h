/* ops/conv.h - convolution, pooling and interpolation, over one axis (x [N, C, L]) and over two (x [N, C, H, W]). N may be 0. Over one axis a
 * setting along W is an error. */
#ifndef GR_CONV_H
#define GR_CONV_H
#include "core/tensor.h"

/* ==== Convolution ==== */

typedef struct {
    int stride, padding, dilation;       /* default 1, 0, 1; in conv2d along both axes */
    int stride_w, padding_w, dilation_w; /* only over two axes: along W; default as along H; padding_w GR_NONE means 0 */
    int groups;                          /* default 1 */
    int kernel_w;                        /* only gr_conv2d_new and gr_conv_transpose2d_new: the width of the kernel; default its height */
    bool no_bias;                        /* only modules: an operator refuses kernel_w and no_bias */
    int output_padding;                  /* only transposed convolution; default 0; smaller than the stride or the dilation */
    int output_padding_w;                /* only gr_conv_transpose2d: along W; default as along H; GR_NONE means 0 */
} gr_conv_config;

/* Slide a kernel over x, which is padded with zeros. As everywhere in deep learning, this is a cross-correlation:
 *     y[n][o][i][j] = bias[o] + sum over c, a, b of weight[o][c][a][b] x[n][c][i stride + a dilation - padding][j stride + ...]
 * The channels are divided into groups of equal size: the outputs of a group see only the inputs of that group, which c counts from 0. With
 * groups = C this is a depthwise convolution.
 *
 *   x       [N, C, H, W], or [N, C, L]
 *   weight  [O, C / groups, kH, kW], or [O, C / groups, kL]; C and O are multiples of groups
 *   bias    [O], or NULL for 0
 *   config  NULL means all defaults
 *   return  [N, O, oH, oW], or [N, O, oL]; oH = (H + 2 padding - dilation (kH - 1) - 1) / stride + 1, rounded down
 *
 * Gradients reach x, weight and bias. Fails if a shape does not fit, or if the kernel is larger than the padded input.   LeCun et al. 1989
 * 3 x 3 kernels with stride 1, dilation 1, one group, C and O of 16 or more and a padding of at most 2 are computed by Winograd's F(2 x 2, 3 x 3).
 * On average its errors of y and dx are smaller than those of plain sums; a single one may be larger. It differs from plain sums in four points:
 *   - A NaN in x or dy reaches the same values of y and dx, but in dweight it may reach all nine places of the kernels that see it.
 *   - A NaN or an infinity in weight reaches all values of its channels of y and dx. Plain sums leave out rows of padding, but not columns: with
 *     them it does not reach a value whose factor for this place lies in a row of padding.
 *   - An infinite sum may become NaN.
 *   - A place of the kernel that sees only padding may get a rounding error in dweight instead of 0. */
GR_API gr_tensor *gr_conv1d(gr_tape *t, gr_tensor *x, gr_tensor *weight, gr_tensor *bias, const gr_conv_config *config);
GR_API gr_tensor *gr_conv2d(gr_tape *t, gr_tensor *x, gr_tensor *weight, gr_tensor *bias, const gr_conv_config *config);

/* Transposed convolution: the gradient of a convolution with respect to its x, as an operator of its own. It makes large images from small ones:
 * each x adds a copy of the kernel, times x, to the result, and these copies are `stride` apart:
 *     y[n][o][i stride + a dilation - padding][j stride + ...] += x[n][c][i][j] weight[c][o][a][b],     and then bias[o] everywhere
 * The result begins as bias. In each group of channels, o counts from 0 in weight.
 *
 *   x       [N, C, H, W], or [N, C, L]
 *   weight  [C, O / groups, kH, kW], or [C, O / groups, kL]; C and O are multiples of groups
 *   bias    [O], or NULL for 0
 *   config  NULL means all defaults
 *   return  [N, O, oH, oW], or [N, O, oL]; oH = (H - 1) stride - 2 padding + dilation (kH - 1) + output_padding + 1
 *
 * A convolution with a stride makes one size from several; output_padding says which of them comes back. It adds no zeros. Gradients reach x,
 * weight and bias. Fails if a shape does not fit, if an axis of x has size 0, or if the padding leaves nothing. Winograd's algorithm computes the
 * same kernels as above, with y and dx exchanged.   Zeiler et al. 2010 */
GR_API gr_tensor *gr_conv_transpose1d(gr_tape *t, gr_tensor *x, gr_tensor *weight, gr_tensor *bias, const gr_conv_config *config);
GR_API gr_tensor *gr_conv_transpose2d(gr_tape *t, gr_tensor *x, gr_tensor *weight, gr_tensor *bias, const gr_conv_config *config);

/* ==== Pooling ==== */

typedef struct {
    int kernel, stride, padding;       /* kernel: 1 or more, no default; stride: default the kernel; padding: at most half the kernel */
    int kernel_w, stride_w, padding_w; /* only over two axes: along W; default as along H; but without any stride, stride_w is the width of the
                                          kernel; padding_w GR_NONE means 0 */
    bool exclude_padding;              /* only avg_pool: padding does not count in the mean (PyTorch's count_include_pad = False) */
} gr_pool_config;

/* The largest value of each window, or NaN if it holds one; padding is ignored. The gradient goes to the first of equal largest values. Fails
 * if config is NULL, or if the kernel is larger than the padded input; so does avg_pool. */
GR_API gr_tensor *gr_max_pool1d(gr_tape *t, gr_tensor *x, const gr_pool_config *config);
GR_API gr_tensor *gr_max_pool2d(gr_tape *t, gr_tensor *x, const gr_pool_config *config);

/* The mean of each window. Padding counts as zeros unless config says otherwise. */
GR_API gr_tensor *gr_avg_pool1d(gr_tape *t, gr_tensor *x, const gr_pool_config *config);
GR_API gr_tensor *gr_avg_pool2d(gr_tape *t, gr_tensor *x, const gr_pool_config *config);

/* Pooling with a given number of windows along each axis: window i of n goes from i H / n, rounded down, up to (i + 1) H / n, rounded up, which
 * it does not include. One window is the whole axis: gr_adaptive_avg_pool2d(t, x, 1, 1) is global pooling. Fails if a number is 0. */
GR_API gr_tensor *gr_adaptive_max_pool1d(gr_tape *t, gr_tensor *x, size_t length);
GR_API gr_tensor *gr_adaptive_max_pool2d(gr_tape *t, gr_tensor *x, size_t height, size_t width);
GR_API gr_tensor *gr_adaptive_avg_pool1d(gr_tape *t, gr_tensor *x, size_t length);
GR_API gr_tensor *gr_adaptive_avg_pool2d(gr_tape *t, gr_tensor *x, size_t height, size_t width);

/* ==== Interpolation ==== */

typedef enum { GR_INTERPOLATE_NEAREST, GR_INTERPOLATE_LINEAR } gr_interpolate_mode;
typedef struct {
    size_t size, size_w;                 /* the size of the result; size_w: only over two axes, along W; default as along H */
    double scale_factor, scale_factor_w; /* or its size divided by that of x, which is rounded down; .._w: as size_w */
    gr_interpolate_mode mode;            /* default GR_INTERPOLATE_NEAREST */
    bool align_corners;                  /* only linear: the first and the last values of x and of the result lie on each other */
} gr_interpolate_config;

/* Give the axes behind the channels other sizes. Output i of an axis lies at position p of x, where r = 1 / scale_factor, or the size of x
 * divided by that of the result:
 *     nearest   y[i] = x[i r, rounded down]
 *     linear    y[i] = (1 - f) x[floor(p)] + f x[floor(p) + 1], where p = (i + 1/2) r - 1/2, at least 0, and f = p - floor(p); behind the last
 *               x, y is that x. With align_corners, p = i (size of x - 1) / (size of the result - 1). Over two axes this is bilinear.
 *
 *   x       [N, C, H, W], or [N, C, L]
 *   config  has a size or a scale_factor
 *   return  [N, C, H', W'], or [N, C, L']
 *
 * These are PyTorch's rules; PyTorch does not round i r in one way on all its paths. Fails if config is NULL or has neither or both of size and
 * scale_factor, if an axis of x has size 0, or if a scale_factor leaves nothing of it. */
GR_API gr_tensor *gr_interpolate(gr_tape *t, gr_tensor *x, const gr_interpolate_config *config);

#endif
