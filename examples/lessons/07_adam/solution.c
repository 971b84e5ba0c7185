/* solution.c - the exercise, solved. Read it after yours passes. */
#include "gradus.h"
#include <math.h>

void my_momentum(double *x, const double *g, double *b, size_t n, double lr, double mu);
void my_adam(double *x, const double *g, double *m, double *v, int *k, size_t n, double lr, double beta1, double beta2, double eps);

/* One step of descent with momentum: move the n values of x. g is the gradient, and b is kept from step to step. It is 0 before the first one. */
void my_momentum(double *x, const double *g, double *b, size_t n, double lr, double mu)
{
    for (size_t i = 0; i < n; i++) {
        b[i] = mu * b[i] + g[i];
        x[i] -= lr * b[i];
    }
}

/* One step of Adam: move the n values of x. m, v and *k are kept from step to step; they are 0 before the first one. *k counts the steps. */
void my_adam(double *x, const double *g, double *m, double *v, int *k, size_t n, double lr, double beta1, double beta2, double eps)
{
    ++*k;
    for (size_t i = 0; i < n; i++) {
        m[i] = beta1 * m[i] + (1 - beta1) * g[i];
        v[i] = beta2 * v[i] + (1 - beta2) * g[i] * g[i];
        const double m_hat = m[i] / (1 - pow(beta1, *k)), v_hat = v[i] / (1 - pow(beta2, *k));
        x[i] -= lr * m_hat / (sqrt(v_hat) + eps);
    }
}
