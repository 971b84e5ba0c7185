/* Another hand: a matrix of scores first, then a softmax, which runs along the wrong axis. */
#include "gradus.h"
#include <math.h>

typedef gr_tensor *part(gr_tape *t, gr_tensor *x);
void my_attention(int T, int d, const double *q, const double *k, const double *v, double *p, double *y);
void my_attention_backward(int T, int d, const double *q, const double *k, const double *v, const double *p, const double *dy, double *dq,
                           double *dk, double *dv);
gr_tensor *my_block(gr_tape *t, gr_tensor *x, bool pre_norm, part *f);

static void softmax(double *x, int n, int step)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += exp(x[i * step]);
    for (int i = 0; i < n; i++) x[i * step] = exp(x[i * step]) / sum;
}

void my_attention(int T, int d, const double *q, const double *k, const double *v, double *p, double *y)
{
    const double scale = pow(d, -0.5);
    for (int ij = 0; ij < T * T; ij++) {
        p[ij] = ij / T < ij % T ? -INFINITY : 0;
        for (int c = 0; c < d; c++) p[ij] += scale * q[ij / T * d + c] * k[ij % T * d + c];
    }
    for (int j = 0; j < T; j++) softmax(p + j, T, T);
    for (int ic = 0; ic < T * d; ic++) y[ic] = 0;
    for (int ic = 0; ic < T * d; ic++)
        for (int j = 0; j < T; j++) y[ic] += p[ic / d * T + j] * v[j * d + ic % d];
}

void my_attention_backward(int T, int d, const double *q, const double *k, const double *v, const double *p, const double *dy, double *dq,
                           double *dk, double *dv)
{
    (void)T, (void)d, (void)q, (void)k, (void)v, (void)p, (void)dy, (void)dq, (void)dk, (void)dv;
}

gr_tensor *my_block(gr_tape *t, gr_tensor *x, bool pre_norm, part *f)
{
    (void)t, (void)x, (void)pre_norm, (void)f;
    return NULL;
}
