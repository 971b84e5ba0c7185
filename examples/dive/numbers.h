/* examples/dive/numbers.h - the numerics of what is seen inside networks: correlations, ranks, axes, percentiles. All in double, by plain
 * loops in one order, so that the bits do not depend on threads. Scratch comes from the tape, until its reset; when there is none the tape
 * is in error, and results are NaN or NULL. Matrices are row-major; samples are rows, units columns. */
#ifndef DIVE_NUMBERS_H
#define DIVE_NUMBERS_H
#include "core/tensor.h"

/* The values of x as doubles; NULL for NULL. The columns first .. first+count-1 of x [.., H]: [.., count]. */
double *dive_doubles(gr_tape *t, const gr_tensor *x);
double *dive_columns(gr_tape *t, const gr_tensor *x, size_t first, size_t count);

/* Pearson's correlations r [H, H] of the columns of x [n, H]. A column of equal values has none: its row and column are NaN, also on the
 * diagonal, which else is 1. Returns how many columns are so. */
size_t dive_correlate(gr_tape *t, const double *x, size_t n, size_t H, double *r);
/* Over pairs of different columns that have one; NaN without any. */
double dive_mean_abs_r(const double *r, size_t H);
double dive_mean_r(const double *r, size_t H);
/* exp(-sum p log p), p the eigenvalues of r over their sum (Roy, Vetterli 2007): 1 when all columns are one, H when none has to do with
 * another. Over the columns that have an r; NaN without any. */
double dive_effective_rank(gr_tape *t, const double *r, size_t H);

/* Eigenvalues, falling, and of each the vector of length 1 in a row of vectors [n, n] (or NULL), its largest component positive, of the
 * symmetric a [n, n], which is lost. By Jacobi's rotations. */
bool dive_eigen(gr_tape *t, double *a, size_t n, double *values, double *vectors);

/* Principal axes of x [n, H]: its mean [H], the first k axes [k, H], and the share of the variance along each [k]. */
bool dive_principal(gr_tape *t, const double *x, size_t n, size_t H, size_t k, double *mean, double *axes, double *share);
/* y [n, k]: where x lies along them. */
void dive_project(const double *x, size_t n, size_t H, const double *mean, const double *axes, size_t k, double *y);

/* The p-th percentile of x [n], which are finite, between two values linearly (NumPy's default). Reorders x. NaN for n = 0. */
double dive_percentile(double *x, size_t n, double p);

/* The coordinates y [H-1] of x [H] in Helmert's basis of what is orthogonal to (1, .., 1): lengths and angles stay, x's mean is gone. */
void dive_helmert(const double *x, size_t H, double *y);

/* Mean and biased variance of x [n]. */
typedef struct { double mean, var; } dive_moments;
dive_moments dive_moments_of(const double *x, size_t n);
/* y = (x - mean) / sqrt(var + eps) for each row of x [n, H]; y may be x. */
void dive_normalize_rows(const double *x, size_t n, size_t H, double eps, double *y);

/* The mean of tanh'(x) over x ~ N(0, s^2), by Simpson's rule. */
double dive_tanh_slope(double s);

/* The exponent a of y = c x^a, by least squares of the logarithms. */
double dive_exponent(const double *x, const double *y, size_t n);

#endif
