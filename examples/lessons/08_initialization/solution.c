/* solution.c - the exercise, solved. Read it after yours passes. */
#include "gradus.h"
#include <math.h>

double my_std(size_t out, size_t in, bool relu, bool backward);
void my_uniform(double std, const double *u, size_t n, gr_real *w);
void my_fit(gr_real *w, size_t out, size_t in, bool relu, const gr_real *x, size_t rows);

/* The standard deviation of the weights of a layer with `in` inputs and `out` outputs. With backward false, the mean square of y is that of x; with
 * backward true, that of dx is that of dy. With relu, a ReLU follows the layer, and sets one half of the mean square to 0. */
double my_std(size_t out, size_t in, bool relu, bool backward)
{
    const double fan = (double)(backward ? out : in);
    return sqrt((relu ? 2 : 1) / fan);
}

/* Write n weights that are spread evenly from -a to a and have this standard deviation. u has n random numbers, spread evenly from 0 to 1. */
void my_uniform(double std, const double *u, size_t n, gr_real *w)
{
    const double a = sqrt(3) * std;
    for (size_t i = 0; i < n; i++) w[i] = a * (2 * u[i] - 1);
}

/* Multiply all weights w [out, in] by the one positive factor with which this batch x [rows, in] gets a y [rows, out] of mean square 1. y is W x, with
 * relu max(W x, 0). */
void my_fit(gr_real *w, size_t out, size_t in, bool relu, const gr_real *x, size_t rows)
{
    double sum = 0;
    for (size_t r = 0; r < rows; r++)
        for (size_t o = 0; o < out; o++) {
            double y = 0;
            for (size_t i = 0; i < in; i++) y += w[o * in + i] * x[r * in + i];
            if (relu && y < 0) y = 0;
            sum += y * y;
        }
    const double factor = 1 / sqrt(sum / (double)(rows * out));
    for (size_t k = 0; k < out * in; k++) w[k] *= factor;
}
