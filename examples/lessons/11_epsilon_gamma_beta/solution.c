/* solution.c - the exercise, solved. Read it after yours passes. */
#include "gradus.h"
#include <math.h>

double my_largest_slope(const double *x, size_t N, double eps);
void my_identity(const double *x, size_t N, double eps, double *gamma, double *beta);
void my_fold(size_t out, size_t in, double *w, double *b, const double *gamma, const double *beta);

/* How far xhat moves at most when the row x of N values moves by a small step, divided by the length of that step. */
double my_largest_slope(const double *x, size_t N, double eps)
{
    double mean = 0, var = 0;
    for (size_t i = 0; i < N; i++) mean += x[i] / N;
    for (size_t i = 0; i < N; i++) var += (x[i] - mean) * (x[i] - mean) / N;
    if (N == 1) return 0;
    return 1 / sqrt(var + eps) * (N == 2 ? eps / (var + eps) : 1);
}

/* The gamma and beta [N] with which LayerNorm gives the row x back. */
void my_identity(const double *x, size_t N, double eps, double *gamma, double *beta)
{
    double mean = 0, var = 0;
    for (size_t i = 0; i < N; i++) mean += x[i] / N;
    for (size_t i = 0; i < N; i++) var += (x[i] - mean) * (x[i] - mean) / N;
    for (size_t i = 0; i < N; i++) gamma[i] = sqrt(var + eps), beta[i] = mean;
}

/* Change w [out, in] and b [out] so that w xhat + b is what w (gamma * xhat + beta) + b was. */
void my_fold(size_t out, size_t in, double *w, double *b, const double *gamma, const double *beta)
{
    for (size_t o = 0; o < out; o++)
        for (size_t i = 0; i < in; i++) {
            b[o] += w[o * in + i] * beta[i];
            w[o * in + i] *= gamma[i];
        }
}
