/* exercise.c - epsilon, gamma, beta. Write the three parts marked TODO; everything else is there.
 * Check it as often as you like:   make grade N=11                                                                    */
#include "gradus.h"
#include <math.h>

double my_largest_slope(const double *x, size_t N, double eps);
void my_identity(const double *x, size_t N, double eps, double *gamma, double *beta);
void my_fold(size_t out, size_t in, double *w, double *b, const double *gamma, const double *beta);

/* How far xhat moves at most when the row x of N values moves by a small step, divided by the length of that step. */
double my_largest_slope(const double *x, size_t N, double eps)
{
    /* TODO 1. Find the variance of the row. Which directions are there for 1, for 2, and for 3 or more values? */
    (void)x, (void)N, (void)eps; /* remove this line */
    return 0;                    /* remove this line */
}

/* The gamma and beta [N] with which LayerNorm gives the row x back. */
void my_identity(const double *x, size_t N, double eps, double *gamma, double *beta)
{
    /* TODO 2. All gamma[i] are one number, and all beta[i] another. */
    (void)x, (void)N, (void)eps, (void)gamma, (void)beta; /* remove this line */
}

/* Change w [out, in] and b [out] so that w xhat + b is what w (gamma * xhat + beta) + b was. */
void my_fold(size_t out, size_t in, double *w, double *b, const double *gamma, const double *beta)
{
    /* TODO 3. Weight i of output o is w[o * in + i]; it multiplies value i of the row. */
    (void)out, (void)in, (void)w, (void)b, (void)gamma, (void)beta; /* remove this line */
}
