/* exercise.c - a derivative by nudging. Write the three parts marked TODO; everything else is there.
 * Check it as often as you like:   make grade N=1                                                                     */
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
    /* TODO 1. Divide the difference of the two values of f by the distance between the two points. */
    (void)f, (void)x, (void)h; /* remove this line */
    return 0;                  /* remove this line */
}

/* A step h for a central difference at x. */
double my_step(double x)
{
    /* TODO 2. h is 1e-5 if x lies between -1 and 1; if |x| > 1, it is 1e-5 * |x|. It is never 0 or negative. */
    (void)x;  /* remove this line */
    return 0; /* remove this line */
}

/* The derivatives of f with respect to each of the n weights w. */
void my_gradient(loss *f, double *w, size_t n, double *gradient)
{
    /* TODO 3. Write the derivative with respect to w[i] into gradient[i]. Nudge one weight at a time, by my_step of that weight,
     * and use f(w, n); my_slope does not fit, because it takes a function of one number. In the end w holds exactly what it held before. */
    (void)f, (void)w, (void)n, (void)gradient; /* remove this line */
}
