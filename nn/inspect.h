/* nn/inspect.h - seeing inside normalizations: which values share a mean, what their gradient is made of, whether BatchNorms are well.
 * Everything here is for small shapes and few calls: plain loops in double. */
#ifndef GR_NN_INSPECT_H
#define GR_NN_INSPECT_H
#include "nn/nn.h"

/* Print which values of an x of that shape share a mean and a variance in m, a norm. Up to rank 4 there is a picture, in which equal letters
 * share; long axes are abbreviated:
 *     gn (GroupNorm) on [2, 4, 3]: 4 means and 4 variances, each over 6 values
 *     one for each index of axis 0 and each of 2 parts of axis 1
 *     weight [4], bias [4]: a value for each index of axis 1
 *     axis 0 down, axis 1 across, axis 2 within a block:
 *         AAA AAA BBB BBB
 *         CCC CCC DDD DDD
 * out NULL prints nothing. Fails, and returns false, if m is no norm (gr_norm_of) or does not take an x of that shape. */
GR_API bool gr_print_norm(gr_tape *t, const gr_module *m, gr_shape x, FILE *out);

/* The gradient of a norm with respect to x is a sum of three terms:
 *     dx = rstd g  -  rstd mean(g)  -  rstd xhat mean(g xhat),    g = gamma dy
 * direct is what the layer would pass on if its statistics were constants; mean flows through the mean (0 in an RMSNorm); variance flows
 * through the variance. The statistics are those of x, in a BatchNorm those of training. */
typedef struct {
    gr_tensor *direct, *mean, *variance, *dx; /* the three terms with their signs, and their sum: shaped as x, owned by the tape, not recorded */
    double direct_norm, mean_norm, variance_norm, dx_norm; /* their Euclidean norms */
} gr_norm_terms;

/* The terms for m, a norm, at x. dy holds x->len values, the gradient with respect to the norm's output (gr_grad of that output).
 * Fails, and returns NULL and 0 in all fields, if m is no norm, x does not fit it, dy is NULL, or memory runs out. */
GR_API gr_norm_terms gr_norm_gradient(gr_tape *t, const gr_module *m, const gr_tensor *x, const gr_real *dy);

/* Compare each BatchNorm under root with the batch that it was given since the last reset, after gr_tape_set_tracing(t, true). A line each:
 *     values     how many values each mean is over; padding counts as real
 *     updates    how often the running statistics were updated
 *     mean off   the batch mean minus the running mean, in running standard deviations: the largest over the channels
 *     sd from,   the batch's standard deviation divided by the running one: the smallest and the largest over the channels
 *     sd to
 *     gap        root mean square of xhat in training minus xhat in evaluation
 * Returns how many are not well: never updated, fewer than 16 values, a channel with a variance below eps, a mean off by more than
 * 1, a deviation off by a factor of more than 2, or not run. out NULL prints nothing. */
GR_API size_t gr_print_batch_norms(gr_tape *t, const gr_module *root, FILE *out);

#endif
