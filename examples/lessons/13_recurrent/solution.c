/* solution.c - the exercise, solved. Read it after yours passes. */
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
    for (int t = 1; t <= T; t++) h[t] = tanh(p->w * h[t - 1] + p->u * x[t] + p->b);
}

/* dy[t] is how far the loss moves when h[t] moves and the later states stay, for t = 1 .. T; dy[0] is not used. Add the gradients of w, u and b to
 * grad->w, grad->u and grad->b, and those of x[1] .. x[T] to dx[1] .. dx[T]. Return the gradient of h[0]. */
double my_backward(const unit *p, int T, const double *x, const double *h, const double *dy, unit *grad, double *dx)
{
    double dh = 0;
    for (int t = T; t >= 1; t--) {
        dh += dy[t];
        const double da = dh * (1 - h[t] * h[t]);
        grad->w += da * h[t - 1];
        grad->u += da * x[t];
        grad->b += da;
        dx[t] += da * p->u;
        dh = da * p->w;
    }
    return dh;
}
