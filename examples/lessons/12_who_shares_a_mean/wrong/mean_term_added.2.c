/* Another hand: the backward of LayerNorm, from lesson 10. */
#include "gradus.h"
#include <math.h>
size_t my_group(gr_norm_kind kind, size_t i, size_t C, size_t L, size_t groups);
gr_tensor *my_rms_norm(gr_tape *t, gr_tensor *x, gr_tensor *gamma, double eps);
size_t my_group(gr_norm_kind kind, size_t i, size_t C, size_t L, size_t groups)
{
    size_t n = i / (C * L), c = (i - n * C * L) / L;
    if (kind == GR_NORM_BATCH) return c;
    if (kind == GR_NORM_LAYER) return n;
    if (kind == GR_NORM_INSTANCE) return n * C + c;
    size_t per = C / groups;
    return n * groups + c / per;
}
typedef struct {
    gr_real *rstd;
    size_t rows, N;
} saved;
static void my_backward(gr_tape *t, const gr_node *n)
{
    const saved *s = n->saved;
    const size_t rows = s->rows, N = s->N;
    const gr_real *x = n->in[0]->data, *gamma = n->in[1]->data, *dy = gr_grad(t, n->out[0]);
    gr_real *dx = gr_grad(t, n->in[0]), *dgamma = gr_grad(t, n->in[1]);
    for (size_t r = 0; r < rows; r++) {
        double m = 0, mg = 0;
        for (size_t i = 0; i < N; i++) mg += gamma[i] * dy[r * N + i] / N;
        for (size_t i = 0; i < N; i++) m += gamma[i] * dy[r * N + i] * x[r * N + i] * s->rstd[r];
        m = m / N;
        for (size_t i = 0; i < N; i++) {
            double h = x[r * N + i] * s->rstd[r];
            if (dgamma) dgamma[i] += dy[r * N + i] * h;
            if (dx) dx[r * N + i] += (gamma[i] * dy[r * N + i] - mg - h * m) * s->rstd[r];
        }
    }
}
static const gr_op my_op = { .name = "my_rms_norm", .backward = my_backward };
gr_tensor *my_rms_norm(gr_tape *t, gr_tensor *x, gr_tensor *gamma, double eps)
{
    if (!gr_ready(t, &my_op, x, gamma)) return NULL;
    const size_t rows = x->dim[0], N = x->dim[1];
    const saved s = { gr_save_reals(t, rows), rows, N };
    gr_tensor *y = gr_zeros(t, GR_SHAPE(rows, N));
    if (!y || !s.rstd) return NULL;
    for (size_t r = 0; r < rows; r++) {
        double ms = 0;
        for (size_t i = 0; i < N; i++) ms += pow(x->data[r * N + i], 2);
        s.rstd[r] = 1 / sqrt(ms / N + eps);
        for (size_t i = 0; i < N; i++) y->data[r * N + i] = x->data[r * N + i] * s.rstd[r] * gamma->data[i];
    }
    return gr_record(t, &my_op, &s, sizeof s, GR_OUT(y), GR_IN(x, gamma));
}
