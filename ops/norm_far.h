/* ops/norm_far.h - mean and variance of values whose squares or sums leave the range of gr_real.
 *
 * A norm computes rstd in gr_real. Where rstd is far from 1, or 0 or NaN, a square or a sum may have overflowed or underflowed: then the
 * row or group is far, and is computed again, in double and with x multiplied by S, a power of two that brings the largest value into [1, 2):
 *     xhat = (S x - mean) rstd          dx = S rstd (g - mean(g) - xhat mean(g xhat))          mean, var, rstd: those of S x
 * The statistics in gr_real of a far row become 0, so that the kernels of backward add 0. Any other row pays for one comparison. A row with an
 * infinity or a NaN keeps what gr_real gave: then these functions return false. They are no kernels: plain double arithmetic has the same
 * bits everywhere. */
#ifndef GR_NORM_FAR_H
#define GR_NORM_FAR_H
#include "ops/norm_groups.h"

typedef struct { const gr_real *x; const gr__norm_run *run; size_t runs, step, count; } gr__far_values; /* x[at + i step], i < n, of each run */
typedef struct { double scale, mean, rstd, var; } gr__far_moments;

double gr__far_scale(double most); /* S where |x| <= most; 1 for zeros */
/* The moments of n values from the sums of d = S x - m and of its square, m near their mean. */
gr__far_moments gr__far_finish(double scale, double m, double d, double dd, double n, double eps);
/* centred false: mean is 0, and var the mean of the squares. */
bool gr__far_moments_of(gr__far_moments *f, const gr__far_values *v, gr_real eps, bool centred);

/* Compute y of a far row of layer or RMS norm; add its gradients to dx and dgamma, either of which may be NULL. */
bool gr__far_row(gr_real *y, const gr_real *x, const gr_real *gamma, const gr_real *beta, size_t N, gr_real eps, bool rms);
void gr__far_row_backward(gr_real *dx, gr_real *dgamma, const gr_real *dy, const gr_real *x, const gr_real *gamma, size_t N, gr_real eps, bool rms);

/* A group of ops/norm_groups.h: its statistics, its mean (also of one that is not far), y, and everything that the kernels of planes or columns
 * do in backward. */
void gr__far_group_stat(const gr__norm_groups *s, const gr_real *x, size_t g);
gr_real gr__far_group_mean(const gr__norm_groups *s, const gr_real *x, size_t g);
void gr__far_group(const gr__norm_groups *s, gr_real *y, const gr_real *x, size_t g);
void gr__far_group_backward(const gr__norm_groups *s, gr_real *dx, gr_real *sums, gr_real *rows, const gr_real *dy, const gr_real *x, size_t g);

/* The norms of the recurrent cells: mean and rstd of a row, and of every live one of B values stride apart (ops/lstm_bn_step.c). They serve as
 * long as x - mean itself does not overflow. */
void gr__far_cell(gr_real *moments, const gr_real *x, size_t N, gr_real eps);
typedef struct { const gr_real *x; size_t B, stride, live, time; const int *lengths; } gr__far_column;
void gr__far_column_moments(const gr__far_column *c, gr_real eps, gr_real *mean, gr_real *rstd, gr_real *var);

/* Rows of ops/reduce.c: the variance, divided by N - correction; dx += factor (x - mean); the root of the sum of squares. Where x is not
 * finite, y stays and dx becomes NaN. */
void gr__far_var(gr_real *y, const gr_real *x, size_t N, double correction);
void gr__far_var_backward(gr_real *dx, const gr_real *x, size_t N, double factor);
void gr__far_norm_2(gr_real *y, const gr_real *x, size_t N);

#endif
