/* exercise.c - backward through time, for one unit. Write the two parts marked TODO; everything else is there.
 * Check it as often as you like:   make grade N=13                                                                    */
#include <math.h>

/* One unit: h[t] = tanh(w h[t-1] + u x[t] + b) for t = 1 .. T. Also the gradients of the three numbers. */
typedef struct {
    double w, u, b;
} unit;

void my_forward(const unit *p, int T, const double *x, double *h);
double my_backward(const unit *p, int T, const double *x, const double *h, const double *dy, unit *grad, double *dx);

/* h[0] is there: compute h[1] .. h[T] from x[1] .. x[T]. x[0] is not used. */
void my_forward(const unit *p, int T, const double *x, double *h)
{
    /* TODO 1. One loop. The numbers of the unit are p->w, p->u and p->b. */
    (void)p, (void)T, (void)x, (void)h; /* remove this line */
}

/* dy[t] is how far the loss moves when h[t] moves and the later states stay, for t = 1 .. T; dy[0] is not used. Add the gradients of w, u and b to
 * grad->w, grad->u and grad->b, and those of x[1] .. x[T] to dx[1] .. dx[T]. Return the gradient of h[0]. */
double my_backward(const unit *p, int T, const double *x, const double *h, const double *dy, unit *grad, double *dx)
{
    /* TODO 2. Keep one number dh, which begins with 0: the part of the gradient of the state that comes from later steps. In each step, find da,
     * the gradient of what is inside the tanh; add what the step gives to the gradients of w, u and b and to dx[t]; and replace
     * dh by what this step hands back to the step before. */
    (void)p, (void)T, (void)x, (void)h, (void)dy, (void)grad, (void)dx; /* remove this line */
    return 0;                                                           /* remove this line */
}
