/* solution.c - the exercise, solved. Read it after yours passes. */
#include "gradus.h"
#include <math.h>

typedef gr_tensor *part(gr_tape *t, gr_tensor *x); /* a part of a network, such as attention: x and the result have the same shape */

void my_attention(int T, int d, const double *q, const double *k, const double *v, double *p, double *y);
void my_attention_backward(int T, int d, const double *q, const double *k, const double *v, const double *p, const double *dy, double *dq,
                           double *dk, double *dv);
gr_tensor *my_block(gr_tape *t, gr_tensor *x, bool pre_norm, part *f);

/* One causal head. q, k, v and y are [T, d]: value c of token i is q[i * d + c]. p is [T, T]: the weight of key j for query i is p[i * T + j]. */
void my_attention(int T, int d, const double *q, const double *k, const double *v, double *p, double *y)
{
    for (int i = 0; i < T; i++) {
        double largest = -INFINITY, sum = 0;
        for (int j = 0; j <= i; j++) {
            double s = 0;
            for (int c = 0; c < d; c++) s += q[i * d + c] * k[j * d + c];
            p[i * T + j] = s / sqrt(d), largest = fmax(largest, s / sqrt(d));
        }
        for (int j = 0; j <= i; j++) p[i * T + j] = exp(p[i * T + j] - largest), sum += p[i * T + j];
        for (int j = 0; j < T; j++) p[i * T + j] = j <= i ? p[i * T + j] / sum : 0;
        for (int c = 0; c < d; c++) {
            y[i * d + c] = 0;
            for (int j = 0; j <= i; j++) y[i * d + c] += p[i * T + j] * v[j * d + c];
        }
    }
}

/* Given dy [T, d], add the gradients of q, k and v to dq, dk and dv. p is what forward wrote. */
void my_attention_backward(int T, int d, const double *q, const double *k, const double *v, const double *p, const double *dy, double *dq,
                           double *dk, double *dv)
{
    for (int i = 0; i < T; i++) {
        double mean = 0;
        for (int j = 0; j <= i; j++)
            for (int c = 0; c < d; c++) mean += p[i * T + j] * dy[i * d + c] * v[j * d + c];
        for (int j = 0; j <= i; j++) {
            double dp = 0;
            for (int c = 0; c < d; c++) dp += dy[i * d + c] * v[j * d + c];
            const double ds = p[i * T + j] * (dp - mean) / sqrt(d);
            for (int c = 0; c < d; c++) {
                dv[j * d + c] += p[i * T + j] * dy[i * d + c];
                dq[i * d + c] += ds * k[j * d + c];
                dk[j * d + c] += ds * q[i * d + c];
            }
        }
    }
}

/* f with a residual path and a LayerNorm: pre-norm or post-norm. The norm is gr_layer_norm(t, .., 1, NULL, NULL, 0). */
gr_tensor *my_block(gr_tape *t, gr_tensor *x, bool pre_norm, part *f)
{
    if (pre_norm) return gr_add(t, x, f(t, gr_layer_norm(t, x, 1, NULL, NULL, 0)));
    return gr_layer_norm(t, gr_add(t, x, f(t, x)), 1, NULL, NULL, 0);
}
