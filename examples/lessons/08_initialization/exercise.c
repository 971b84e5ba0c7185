/* exercise.c - first weights that keep the mean square. Write the three parts marked TODO; everything else is there.
 * Check it as often as you like:   make grade N=8                                                                     */
#include "gradus.h"
#include <math.h>

double my_std(size_t out, size_t in, bool relu, bool backward);
void my_uniform(double std, const double *u, size_t n, gr_real *w);
void my_fit(gr_real *w, size_t out, size_t in, bool relu, const gr_real *x, size_t rows);

/* The standard deviation of the weights of a layer with `in` inputs and `out` outputs. With backward false, the mean square of y is that of x; with
 * backward true, that of dx is that of dy. With relu, a ReLU follows the layer, and sets one half of the mean square to 0. */
double my_std(size_t out, size_t in, bool relu, bool backward)
{
    /* TODO 1. Choose the fan, and the factor for the ReLU. The formulas of the page give a variance; the function returns its root. */
    (void)out, (void)in, (void)relu, (void)backward; /* remove this line */
    return 0;                                        /* remove this line */
}

/* Write n weights that are spread evenly from -a to a and have this standard deviation. u has n random numbers, spread evenly from 0 to 1. */
void my_uniform(double std, const double *u, size_t n, gr_real *w)
{
    /* TODO 2. Find a first: a number that is spread evenly from -a to a has the variance a^2 / 3. Then turn each u[i] into w[i]. */
    (void)std, (void)u, (void)n, (void)w; /* remove this line */
}

/* Multiply all weights w [out, in] by the one positive factor with which this batch x [rows, in] gets a y [rows, out] of mean square 1. y is W x, with
 * relu max(W x, 0). */
void my_fit(gr_real *w, size_t out, size_t in, bool relu, const gr_real *x, size_t rows)
{
    /* TODO 3. Find the mean of y^2 over all rows and outputs, and from it the factor. Output o of row r is the sum over i of w[o * in + i] times
     * x[r * in + i]. */
    (void)w, (void)out, (void)in, (void)relu, (void)x, (void)rows; /* remove this line */
}
