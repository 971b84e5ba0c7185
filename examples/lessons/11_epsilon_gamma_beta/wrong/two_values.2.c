/* Another hand: the variance as a mean of squares minus a square. Two values are taken for many. */
#include "gradus.h"
#include <math.h>
double my_largest_slope(const double *x, size_t N, double eps);
void my_identity(const double *x, size_t N, double eps, double *gamma, double *beta);
void my_fold(size_t out, size_t in, double *w, double *b, const double *gamma, const double *beta);
double my_largest_slope(const double *x, size_t N, double eps)
{
    double m = 0, q = 0;
    for (size_t i = 0; i < N; i++) m += x[i], q += x[i] * x[i];
    m /= N;
    double var = q / N - m * m;
    double rstd = 1 / sqrt(var + eps);
    if (N == 1) return 0;
    return rstd;
}
void my_identity(const double *x, size_t N, double eps, double *gamma, double *beta)
{
    double m = 0, q = 0;
    for (size_t i = 0; i < N; i++) m += x[i];
    m /= N;
    for (size_t i = 0; i < N; i++) q += (x[i] - m) * (x[i] - m);
    for (size_t i = 0; i < N; i++) {
        gamma[i] = sqrt(q / N + eps);
        beta[i] = m;
    }
}
void my_fold(size_t out, size_t in, double *w, double *b, const double *gamma, const double *beta)
{
    for (size_t o = 0; o < out; o++) {
        double *row = w + o * in;
        for (size_t i = 0; i < in; i++) b[o] += row[i] * beta[i];
        for (size_t i = 0; i < in; i++) row[i] *= gamma[i];
    }
}
