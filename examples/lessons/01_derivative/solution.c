/* solution.c - the exercise, solved. Read it after yours passes. */
#include <math.h>
#include <stddef.h>

typedef double function(double x);              /* a function of one number, such as tanh */
typedef double loss(const double *w, size_t n); /* a loss that depends on n weights */

double my_slope(function *f, double x, double h);
double my_step(double x);
void my_gradient(loss *f, double *w, size_t n, double *gradient);

/* The derivative of f at x, by a central difference: from x - h to x + h. */
double my_slope(function *f, double x, double h)
{
    /* The two points are 2h apart. */
    return (f(x + h) - f(x - h)) / (2 * h);
}

/* A step h for a central difference at x. */
double my_step(double x)
{
    /* Numbers have 16 digits, so what is lost by rounding grows with x. */
    return 1e-5 * fmax(1, fabs(x));
}

/* The derivatives of f with respect to each of the n weights w. */
void my_gradient(loss *f, double *w, size_t n, double *gradient)
{
    for (size_t i = 0; i < n; i++) {
        const double before = w[i], h = my_step(before);
        w[i] = before + h;
        const double above = f(w, n);
        w[i] = before - h;
        const double below = f(w, n);
        w[i] = before;
        gradient[i] = (above - below) / (2 * h);
    }
}
