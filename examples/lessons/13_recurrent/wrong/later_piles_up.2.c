/* Another hand: `later` is what comes from the later steps, and every gradient gets its part with +=. */
#include <math.h>

typedef struct { double w, u, b; } unit;

void my_forward(const unit *p, int T, const double *x, double *h)
{
    for (int t = 1; t <= T; t++) h[t] = tanh(p->b + p->u * x[t] + p->w * h[t - 1]);
}

double my_backward(const unit *p, int T, const double *x, const double *h, const double *dy, unit *grad, double *dx)
{
    double later = 0;
    for (int t = T; t > 0; t--) {
        const double slope = 1 - h[t] * h[t], da = dy[t] * slope + later * slope;
        dx[t] += p->u * da, grad->b += da, grad->u += x[t] * da, grad->w += h[t - 1] * da;
        later += p->w * da;
    }
    return later;
}
