/* ops/norm_far.h - mean and variance of values whose squares or sums overflow or underflow in gr_real.
 *
 * A norm computes rstd in gr_real. If rstd is very large, very small, 0 or NaN (far_from_1), a square or a sum may have overflowed or
 * underflowed. Then the row or group is called far. It is computed again in double, and x is multiplied by S, the power of two that brings the
 * largest value into [1, 2):
 *     xhat = (S x - mean) rstd          dx = S rstd (g - mean(g) - xhat mean(g xhat))          mean, var, rstd: those of S x
 * The statistics in gr_real of a far row become 0, so that the kernels of backward add 0 to its gradients. All other rows cost one comparison
 * more. A row with an infinity or a NaN keeps what gr_real gave. These functions are no kernels: plain double arithmetic has the same bits on
 * every machine. */
#ifndef GR_NORM_FAR_H
#define GR_NORM_FAR_H
#include "ops/norm_groups.h"

/* Compute y of a far row of layer or RMS norm: false if a value is not finite. Add the row's gradients to dx and dgamma, which may be NULL. */
bool gr__far_row(gr_real *y, const gr_real *x, const gr_real *gamma, const gr_real *beta, size_t N, gr_real eps, bool rms);
void gr__far_row_backward(gr_real *dx, gr_real *dgamma, const gr_real *dy, const gr_real *x, const gr_real *gamma, size_t N, gr_real eps, bool rms);

/* The same for a group of ops/norm_groups.h: its statistics; its mean, whether it is far or not; y; and everything that the kernels of planes
 * or columns do in backward. */
void gr__far_group_stat(const gr__norm_groups *s, const gr_real *x, size_t g);
gr_real gr__far_group_mean(const gr__norm_groups *s, const gr_real *x, size_t g);
void gr__far_group(const gr__norm_groups *s, gr_real *y, const gr_real *x, size_t g);
void gr__far_group_backward(const gr__norm_groups *s, gr_real *dx, gr_real *sums, gr_real *rows, const gr_real *dy, const gr_real *x, size_t g);

/* The norms of the recurrent cells: mean and rstd of a row; and mean, rstd and variance of a column (ops/lstm_bn_step.c): of the `live` ones
 * of B values, `stride` apart, whose sequences have not ended. They serve as long as x - mean itself does not overflow. */
void gr__far_cell(gr_real *moments, const gr_real *x, size_t N, gr_real eps);
typedef struct { const gr_real *x; size_t B, stride, live, time; const int *lengths; } gr__far_column_of;
void gr__far_column(const gr__far_column_of *c, gr_real eps, gr_real *mean, gr_real *rstd, gr_real *var);

/* For ops/reduce.c, of N values, `step` apart: the sum of (x - mean)^2 / (N - correction); dx += factor (x - mean); the root of the sum of squares. If a
 * value is not finite, the result is y, and dx becomes NaN. */
gr_real gr__far_var(gr_real y, const gr_real *x, size_t N, size_t step, double correction);
void gr__far_var_backward(gr_real *dx, const gr_real *x, size_t N, size_t step, double factor);
gr_real gr__far_norm_2(gr_real y, const gr_real *x, size_t N);

#endif
