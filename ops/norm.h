/* ops/norm.h - normalization. Each operator shifts and scales the values that share a statistic to mean 0 and variance 1, then multiplies by
 * gamma and adds beta:
 *     y = gamma * (x - mean) / sqrt(var + eps) + beta
 * var is the biased variance (divide by the number of values). The operators differ in which values share a mean. For x [N, C, H, W] there is
 * one mean for each
 *     batch norm      c               over N, H, W          (of [N, C]: over N)
 *     instance norm   n, c            over H, W
 *     group norm      n, group        over the group's C / groups channels and H, W
 *     layer norm      n               over C, H, W          (gr_layer_norm, or group norm with one group and a gain for each channel)
 *     channel norm    n, h, w         over C                (gr_norm_axes)
 * RMS norm has no mean.
 *
 * These rules hold for all of them. gamma and beta may be NULL, which stands for 1 and 0; an eps of 0 means the default, and GR_NONE means no
 * epsilon. Gradients reach x, gamma and beta. Equal values give exactly beta. Every finite x is normalized, even if its variance is larger than
 * the largest number. Where var + eps is 0, 1 / sqrt(var + eps) is 0 by definition. The result has the shape of x, and the tape owns it. An
 * operator fails if gamma or beta does not hold as many values as it says below, or if eps is negative or NaN. */
#ifndef GR_NORM_H
#define GR_NORM_H
#include "core/tensor.h"

/* The default of eps is PyTorch's: 1e-5, and in RMS norm the distance from 1 to the next gr_real. */
#define GR_NORM_EPS 1e-5
#ifdef GR_REAL_DOUBLE
#define GR_RMS_NORM_EPS 2.220446049250313e-16
#else
#define GR_RMS_NORM_EPS 1.1920928955078125e-7
#endif

/* Give each row, which is made of the trailing axes of x, zero mean and unit variance, then scale and shift:
 *     y = gamma * (x - mean) / sqrt(var + eps) + beta
 * var is the biased variance (divide by N). eps sits inside the root, as in PyTorch.      Ba, Kiros, Hinton 2016, eq. 15-16
 *
 *   x         [.., n1, .., nk]   rows of N = n1 * .. * nk values
 *   trailing  k, 1 or more: the number of trailing axes that are normalized. PyTorch's normalized_shape is (n1, .., nk)
 *   gamma     N values           scale, or NULL for 1
 *   beta      N values           shift, or NULL for 0
 *   eps       default 1e-5; GR_NONE means no epsilon
 *   return    the shape of x
 *
 * Equal values (so also N = 1) give exactly beta, for any eps, and a gradient of x that is finite. Fails if trailing is not in 1 .. the
 * rank of x. */
GR_API gr_tensor *gr_layer_norm(gr_tape *t, gr_tensor *x, int trailing, gr_tensor *gamma, gr_tensor *beta, double eps);

/* y = gamma * x / sqrt(mean(x^2) + eps), over the trailing axes.                                      Zhang, Sennrich 2019, eq. 4
 *   x  [.., n1, .., nk]   trailing  k   gamma  n1 * .. * nk values   eps  default GR_RMS_NORM_EPS; GR_NONE means no epsilon
 * Fails if trailing is not in 1 .. the rank of x. */
GR_API gr_tensor *gr_rms_norm(gr_tape *t, gr_tensor *x, int trailing, gr_tensor *gamma, double eps);

typedef struct {
    gr_tensor *running_mean, *running_var; /* [C], both or neither: training moves them, evaluation normalizes by them */
    int64_t *batches;         /* counts how often training has moved them; or NULL */
    double momentum;          /* the weight of the new batch; default 0.1; GR_NONE means 0 */
    bool cumulative;          /* the running statistics are the average over all batches so far, as with PyTorch's momentum=None: the weight is
                                 1 / batches instead of momentum. Needs batches */
    double eps;               /* default 1e-5; GR_NONE means no epsilon */
    const gr_ints *lengths;   /* [N]: for x [N, C, L] or [N, L, C], how many of the L positions of each sample are real, not padding; NULL
                                 means all */
    const gr_tensor *mask;    /* x without its channel axis: 0 where x is padding; NULL means no padding */
} gr_batch_norm_config;

/* One mean and variance for each channel, over all other axes without padding.                            Ioffe, Szegedy 2015
 * Training normalizes by the statistics of the batch, and moves the running statistics:
 *     running = (1 - momentum) running + momentum (the batch's mean, or its unbiased variance)
 * A running value below 2^-100 becomes 0; a variance larger than the largest number becomes infinity, and stays so. Evaluation normalizes by
 * the running statistics and does not move them. Without running statistics the statistics are always the batch's.
 *
 *   x      [N, C], [N, C, L], [N, C, H, W] ..: axis 1; or [.., C]: axis -1
 *   gamma, beta  C values
 *   config may be NULL, which means all defaults
 *   return the shape of x; 0 where x is padding
 *
 * Padding cannot change a bit of the result, whatever it holds (a NaN, say) and however long it is. The gradient of padding is 0.
 *
 * Fails if x has fewer than 2 axes or lacks this axis; if only one of the running statistics is given, or they do not hold C values; if
 * momentum is outside 0 .. 1; if cumulative is set and batches is NULL while running statistics are given; if lengths or mask do not fit x;
 * and, where the statistics are the batch's, if a channel has fewer than 2 real values, because one value has no variance. */
GR_API gr_tensor *gr_batch_norm(gr_tape *t, gr_tensor *x, int axis, gr_tensor *gamma, gr_tensor *beta, const gr_batch_norm_config *config);

/* Statistics of each sample and group. The C channels are cut into groups in order.                  Wu, He 2018
 *   x  [N, C] or [N, C, d1 ..]   gamma, beta  C values   eps  default 1e-5; GR_NONE means no epsilon
 * Fails if x has fewer than 2 axes or C is not a multiple of groups. */
GR_API gr_tensor *gr_group_norm(gr_tape *t, gr_tensor *x, size_t groups, gr_tensor *gamma, gr_tensor *beta, double eps);

/* Statistics of each sample and channel, over all other axes.                                        Ulyanov, Vedaldi, Lempitsky 2016
 *   x  [N, C, d1 ..] with axis 1, or [N, d1 .., C] with axis -1   gamma, beta  C values   eps  default 1e-5; GR_NONE means no epsilon
 * Fails if x has fewer than 3 axes, if axis is neither 1 nor the last, or if each channel of a sample has only one value. */
GR_API gr_tensor *gr_instance_norm(gr_tape *t, gr_tensor *x, int axis, gr_tensor *gamma, gr_tensor *beta, double eps);

/* Statistics over the axes `over`. gamma and beta have one value for each index of the axes `affine`, in the order of x's axes. For example
 * gr_norm_axes(t, x, GR_AXES(1), GR_AXES(1), gamma, beta, 1e-6) is the channel norm of images.
 *   eps  default 1e-5; GR_NONE means no epsilon
 * Fails if x lacks one of the axes, or if an axis is named twice. */
GR_API gr_tensor *gr_norm_axes(gr_tape *t, gr_tensor *x, gr_axes over, gr_axes affine, gr_tensor *gamma, gr_tensor *beta, double eps);

#endif
