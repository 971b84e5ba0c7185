/* ops/norm.h - the normalizations beside gr_layer_norm (ops/ops.h). Each gives the elements that share a statistic zero mean and unit
 * variance, then scales and shifts:
 *     y = gamma * (x - mean) / sqrt(var + eps) + beta
 * var is the biased variance (divide by the number of values). They differ in who shares: of x [N, C, H, W], one mean for each
 *     batch norm      c               over N, H, W          (of [N, C]: over N)
 *     instance norm   n, c            over H, W
 *     group norm      n, group        over the group's C / groups channels and H, W
 *     layer norm      n               over C, H, W          (gr_layer_norm, or group norm with one group and a gain per channel)
 *     channel norm    n, h, w         over C                (gr_norm_axes)
 * RMS norm has no mean. gamma and beta may be NULL, for 1 and 0. Gradients reach x, gamma and beta. Equal values give exactly beta. Any finite
 * x is normalized, also where its variance is beyond the largest number.
 * Where var + eps is 0, 1 / sqrt(var + eps) is 0 by definition. */
#ifndef GR_NORM_H
#define GR_NORM_H
#include "ops/ops.h"
GR_BEGIN

typedef struct {
    gr_tensor *running_mean, *running_var; /* [C], both or neither: training moves them, evaluation normalizes by them */
    int64_t *batches;         /* how often they were moved, with both; NULL: nobody counts */
    double momentum;          /* the weight of the new batch; 0: 0.1; GR_NONE: 1 / batches, the average of all (needs batches) */
    double eps;               /* 0: 1e-5; GR_NONE: none */
    const gr_ints *lengths;   /* [N]: of x [N, C, L] or [N, L, C], how many of the L positions of each sample are real; NULL: all */
    const gr_tensor *mask;    /* x without its channel axis: not 0 where x is real; NULL: everywhere */
} gr_batch_norm_config;

/* One mean and variance for each channel, over all else that is real. In training those of the batch, and
 *     running = (1 - momentum) running + momentum (the batch's mean, or its unbiased variance)
 * where a value below 2^-100 becomes 0, and a variance beyond the largest number infinity, which then stays. In evaluation mode the running ones are used, and nothing moves; without running
 * statistics those of the batch, always.                                                           Ioffe, Szegedy 2015
 *
 *   x      [N, C], [N, C, L], [N, C, H, W] ..: axis 1; or [.., C]: axis -1
 *   gamma, beta  C values
 *   return the shape of x; 0 where x is not real
 *
 * What x holds where it is not real, NaN included, does not matter to a bit, nor how much of it there is: sums run over the real
 * positions in order, with channels first in 16 lanes from each sample's start and samples added in order. Gradients are 0 there.
 * One value for each channel has no variance: an error. config may be NULL. */
GR_API gr_tensor *gr_batch_norm(gr_tape *t, gr_tensor *x, int axis, gr_tensor *gamma, gr_tensor *beta, const gr_batch_norm_config *config);

/* Statistics of each sample and each of the groups, into which the C channels are cut in order.                  Wu, He 2018
 *   x  [N, C] or [N, C, d1 ..]   C a multiple of groups   gamma, beta  C values   eps  0 or more */
GR_API gr_tensor *gr_group_norm(gr_tape *t, gr_tensor *x, size_t groups, gr_tensor *gamma, gr_tensor *beta, double eps);

/* Statistics of each sample and channel, over all other axes, which hold more than one value.      Ulyanov, Vedaldi, Lempitsky 2016
 *   x  [N, C, d1 ..], axis 1, or [N, d1 .., C], axis -1   gamma, beta  C values   eps  0 or more */
GR_API gr_tensor *gr_instance_norm(gr_tape *t, gr_tensor *x, int axis, gr_tensor *gamma, gr_tensor *beta, double eps);

/* Statistics over the given axes; gamma and beta have one value for each index of the affine axes, in the order of x's axes. The channel
 * norm of images is gr_norm_axes(t, x, GR_AXES(1), GR_AXES(1), gamma, beta, 1e-6).   eps  0 or more */
GR_API gr_tensor *gr_norm_axes(gr_tape *t, gr_tensor *x, gr_axes over, gr_axes affine, gr_tensor *gamma, gr_tensor *beta, double eps);

/* y = gamma * x / sqrt(mean(x^2) + eps), over the last axes.                                         Zhang, Sennrich 2019
 *   x  [.., n1, .., nk], k = axes   gamma  n1 * .. * nk values   eps  0 or more */
GR_API gr_tensor *gr_rms_norm(gr_tape *t, gr_tensor *x, int axes, gr_tensor *gamma, double eps);

GR_END
#endif
