/* exercise.c - one attention head, forward and backward, and a block. Write the three parts marked TODO; everything else is there.
 * Check it as often as you like:   make grade N=15                                                                    */
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
    /* TODO 1. For each query i: the scores of the keys j = 0 .. i, their softmax (with the largest score subtracted), and the sum of weight times
     * value. Write p and y, and a weight of 0 for the keys that query i must not see. */
    (void)T, (void)d, (void)q, (void)k, (void)v, (void)p, (void)y; /* remove this line */
}

/* Given dy [T, d], add the gradients of q, k and v to dq, dk and dv. p is what forward wrote. */
void my_attention_backward(int T, int d, const double *q, const double *k, const double *v, const double *p, const double *dy, double *dq,
                           double *dk, double *dv)
{
    /* TODO 2. For each query i: dp of the keys that it sees, their mean with the weights p, and ds. Then add to the three gradients. */
    (void)T, (void)d, (void)q, (void)k, (void)v, (void)p, (void)dy, (void)dq, (void)dk, (void)dv; /* remove this line */
}

/* f with a residual path and a LayerNorm: pre-norm or post-norm. The norm is gr_layer_norm(t, .., 1, NULL, NULL, 0). */
gr_tensor *my_block(gr_tape *t, gr_tensor *x, bool pre_norm, part *f)
{
    /* TODO 3. One line for pre-norm, and one for post-norm. Call f(t, ..). */
    (void)t, (void)x, (void)pre_norm, (void)f; /* remove this line */
    return NULL;                               /* remove this line */
}
