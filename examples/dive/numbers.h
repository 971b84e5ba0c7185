/* examples/dive/numbers.h - numerics for the values inside networks: correlations, effective ranks, principal axes, percentiles. All functions
 * compute in double with plain loops in one order, so that the bits do not depend on threads. They take scratch memory from the tape, which
 * owns it until its reset; when there is none, the tape is in error and results are NaN or NULL. Matrices are row-major, with samples as rows
 * and units as columns. */
#ifndef DIVE_NUMBERS_H
#define DIVE_NUMBERS_H
#include "core/tensor.h"

/* The values of x as doubles; only the columns first .. first+count-1 of x [.., H], as [.., count]. Both return NULL for NULL. */
double *dive_doubles(gr_tape *t, const gr_tensor *x);
double *dive_columns(gr_tape *t, const gr_tensor *x, size_t first, size_t count);

/* Pearson's correlations r [H, H] of the columns of x [n, H]. A constant column has no correlation: its row and column in r are NaN, with the
 * diagonal, which is 1 for other columns. Returns the number of constant columns. */
size_t dive_correlate(gr_tape *t, const double *x, size_t n, size_t H, double *r);
/* The mean of |r| and of r over pairs of different columns that are not constant; NaN if there is no pair. */
double dive_mean_abs_r(const double *r, size_t H);
double dive_mean_r(const double *r, size_t H);
/* exp(-sum p log p), where p are the eigenvalues of r divided by their sum (Roy, Vetterli 2007): 1 when all columns are proportional, H when no
 * two columns are correlated. Constant columns are left out; NaN if all are constant. */
double dive_effective_rank(gr_tape *t, const double *r, size_t H);

/* The eigenvalues of the symmetric matrix a [n, n] in falling order, and the eigenvectors as rows of vectors [n, n], which may be NULL. A vector
 * has length 1, and its largest component is positive. Uses Jacobi's rotations, which destroy a. Returns false without memory. */
bool dive_eigen(gr_tape *t, double *a, size_t n, double *values, double *vectors);

/* Principal axes of x [n, H]: the mean of x [H], the first k axes [k, H], and the share of the variance along each axis [k]. Returns false
 * without memory. */
bool dive_principal(gr_tape *t, const double *x, size_t n, size_t H, size_t k, double *mean, double *axes, double *share);
/* The coordinates y [n, k] of x along these axes. */
void dive_project(const double *x, size_t n, size_t H, const double *mean, const double *axes, size_t k, double *y);

/* The p-th percentile of the finite values x [n], with linear interpolation (NumPy's default). Reorders x. NaN for n = 0. */
double dive_percentile(double *x, size_t n, double p);

/* The coordinates y [H-1] of x [H] in Helmert's basis of the space orthogonal to (1, .., 1): the mean of x is removed, and the lengths and
 * angles of the rest stay the same. */
void dive_helmert(const double *x, size_t H, double *y);

/* The mean, and the variance with divisor n, of x [n]. */
typedef struct { double mean, var; } dive_moments;
dive_moments dive_moments_of(const double *x, size_t n);
/* y = (x - mean) / sqrt(var + eps) for each row of x [n, H]; y may be x. */
void dive_normalize_rows(const double *x, size_t n, size_t H, double eps, double *y);

/* The mean of tanh'(x) over x ~ N(0, s^2), by Simpson's rule. */
double dive_tanh_slope(double s);

/* The exponent a of y = c x^a, fitted by least squares of the logarithms. */
double dive_exponent(const double *x, const double *y, size_t n);

#endif
