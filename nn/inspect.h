/* nn/inspect.h - seeing inside normalizations: who shares a mean, what their gradient is made of, whether BatchNorms are well. They are
 * for small shapes and few calls: plain loops in double. */
#ifndef GR_NN_INSPECT_H
#define GR_NN_INSPECT_H
#include "core/trace.h"
#include "nn/nn.h"
GR_BEGIN

/* ==== Who shares a mean? ==== */

/* Axis k of x is cut into parts[k] equal parts (1: all along it share; its size: none do), and elements in the same part along every
 * axis share a statistic. */
typedef struct {
    gr_shape x;
    size_t parts[GR_MAX_RANK];
    size_t statistics, values;   /* how many there are; over how many values each goes */
    bool has_mean;               /* all but RMSNorm */
    int gain_axis, gain_axes;    /* weight and bias have a value for each index of these axes: the first, and how many */
    const gr_tensor *weight;     /* or NULL */
    double eps;
} gr_norm_map;

/* Fill in the map of m, a norm (gr_norm_of), for an x of that shape. False on an error. */
GR_API bool gr_norm_map_of(gr_tape *t, const gr_module *m, gr_shape x, gr_norm_map *map);
GR_API size_t gr_norm_statistic(const gr_norm_map *map, size_t i); /* which one element i of x belongs to: 0 .. statistics-1 */

/* Print it, with a picture up to rank 4 in which equal letters share (long axes are abbreviated):
 *     gn (GroupNorm) on [2, 4, 3]: 4 means and 4 variances, each over 6 values
 *     one for each index of axis 0 and each of 2 parts of axis 1
 *     weight [4], bias [4]: a value for each index of axis 1
 *     axis 0 down, axis 1 across, axis 2 within a block:
 *         AAA AAA BBB BBB
 *         CCC CCC DDD DDD                                                                                                 */
GR_API bool gr_print_norm(gr_tape *t, const gr_module *m, gr_shape x, FILE *out);

/* ==== What its gradient is made of ==== */

/* dx = rstd g  -  rstd mean(g)  -  rstd xhat mean(g xhat),    g = gamma dy,    with the statistics of x (of a BatchNorm: in training).
 * What the layer would pass on if it were fixed; what flows through the mean (RMSNorm: 0); what flows through the variance. */
typedef struct {
    gr_tensor *direct, *mean, *variance, *dx; /* the terms with their signs, and their sum: of x's shape, on the tape, not recorded */
    double direct_norm, mean_norm, variance_norm, dx_norm;
} gr_norm_terms;

/* Of m at x, for the gradient dy (x->len values: gr_grad of the layer's output, say). All NULL and 0 on an error. */
GR_API gr_norm_terms gr_norm_gradient(gr_tape *t, const gr_module *m, const gr_tensor *x, const gr_real *dy);

/* ==== Are the BatchNorms well? ==== */

typedef struct {
    size_t values;           /* over how many the statistics of x go */
    int64_t updates;         /* how often the running ones were moved; -1 when there are none */
    double mean_off;         /* the batch's mean from the running one, in running deviations: the largest over the channels */
    double sd_low, sd_high;  /* the batch's deviation over the running one: smallest and largest */
    double gap;              /* root mean square of xhat in training minus xhat in evaluation, on x */
    size_t constant;         /* channels of x whose variance is below eps */
} gr_batch_norm_health;

/* The health of b, a BatchNorm, on a batch x; input as in gr_norm_forward. mean_off, sd_low, sd_high and gap are NaN
 * without running statistics, all is 0 on an error. */
GR_API gr_batch_norm_health gr_batch_norm_check(gr_tape *t, const gr_norm *b, const gr_tensor *x, const gr_norm_input *input);

/* A line for each BatchNorm under root, on what it was given since the last reset, with gr_tape_set_tracing(t, true) before; what is
 * padded there counts as real. Returns how many are not well: never updated, fewer than 16 values, constant channels, a mean more than a
 * deviation off or a deviation off by more than 2, or not run. out NULL: nowhere. */
GR_API size_t gr_print_batch_norms(gr_tape *t, const gr_module *root, FILE *out);

GR_END
#endif
