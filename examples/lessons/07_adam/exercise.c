/* exercise.c - momentum and Adam for one vector. Write the two parts marked TODO; everything else is there.
 * Check it as often as you like:   make grade N=7                                                                     */
#include "gradus.h"
#include <math.h>

void my_momentum(double *x, const double *g, double *b, size_t n, double lr, double mu);
void my_adam(double *x, const double *g, double *m, double *v, int *k, size_t n, double lr, double beta1, double beta2, double eps);

/* One step of descent with momentum: move the n values of x. g is the gradient, and b is kept from step to step. It is 0 before the first one. */
void my_momentum(double *x, const double *g, double *b, size_t n, double lr, double mu)
{
    /* TODO 1. For each value i: a new b[i], and then x[i]. */
    (void)x, (void)g, (void)b, (void)n, (void)lr, (void)mu; /* remove this line */
}

/* One step of Adam: move the n values of x. m, v and *k are kept from step to step; they are 0 before the first one. *k counts the steps. */
void my_adam(double *x, const double *g, double *m, double *v, int *k, size_t n, double lr, double beta1, double beta2, double eps)
{
    /* TODO 2. Count the step. Then, for each value i: new m[i] and v[i], both corrected, and x[i]. pow(a, b) is a to the power of b. */
    (void)x, (void)g, (void)m, (void)v, (void)k, (void)n, (void)lr, (void)beta1, (void)beta2, (void)eps; /* remove this line */
}
