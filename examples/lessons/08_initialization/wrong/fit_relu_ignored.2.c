/* Another hand: rows of y in an array. relu is looked at, but in the wrong place: y is already in the sum. */
#include <stdlib.h>
#include "gradus.h"
#include <math.h>
double my_std(size_t out, size_t in, bool relu, bool backward);
void my_uniform(double std, const double *u, size_t n, gr_real *w);
void my_fit(gr_real *w, size_t out, size_t in, bool relu, const gr_real *x, size_t rows);
double my_std(size_t out, size_t in, bool relu, bool backward)
{
    double variance;
    if (backward) variance = 1.0 / out;
    else variance = 1.0 / in;
    if (relu) variance = variance * 2;
    return sqrt(variance);
}
void my_uniform(double std, const double *u, size_t n, gr_real *w)
{
    double a = sqrt(3 * std * std);
    while (n--) *w++ = -a + 2 * a * *u++;
}
void my_fit(gr_real *w, size_t out, size_t in, bool relu, const gr_real *x, size_t rows)
{
    double total = 0;
    double *y = malloc(sizeof(double) * out);
    for (size_t r = 0; r < rows; r++) {
        for (size_t o = 0; o < out; o++) {
            y[o] = 0;
            for (size_t i = 0; i < in; i++) y[o] += x[r * in + i] * w[o * in + i];
        }
        for (size_t o = 0; o < out; o++) {
            total += pow(y[o], 2) / out;
            if (relu) y[o] = fmax(y[o], 0);
        }
    }
    total /= rows;
    free(y);
    for (size_t i = 0; i < in * out; i++) w[i] = w[i] / sqrt(total);
}
