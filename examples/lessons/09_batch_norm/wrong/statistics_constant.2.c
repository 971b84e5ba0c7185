/* Another hand: the running statistics by a difference, one formula for dx in both modes. */
#include "gradus.h"
#include <math.h>
typedef struct {
    gr_real *mean, *var;
    double momentum;
} running;
gr_tensor *my_batch_norm(gr_tape *t, gr_tensor *x, gr_tensor *gamma, gr_tensor *beta, const running *run, double eps);
typedef struct {
    gr_real *mean, *rstd;
    size_t rows, C;
    bool training;
} saved;
static void my_backward(gr_tape *t, const gr_node *n)
{
    const saved *s = n->saved;
    const size_t rows = s->rows, C = s->C;
    const gr_real *x = n->in[0]->data, *gamma = n->in[1]->data, *dy = gr_grad(t, n->out[0]);
    gr_real *dx = gr_grad(t, n->in[0]), *dgamma = gr_grad(t, n->in[1]), *dbeta = gr_grad(t, n->in[2]);
    for (size_t c = 0; c < C; c++) {
        for (size_t r = 0; r < rows; r++) {
            double h = (x[r * C + c] - s->mean[c]) * s->rstd[c];
            if (dgamma) dgamma[c] += dy[r * C + c] * h;
            if (dbeta) dbeta[c] += dy[r * C + c];
        }
        if (dx)
            for (size_t r = 0; r < rows; r++) dx[r * C + c] += s->rstd[c] * gamma[c] * dy[r * C + c];
    }
}
static const gr_op my_op = { .name = "my_batch_norm", .backward = my_backward };
gr_tensor *my_batch_norm(gr_tape *t, gr_tensor *x, gr_tensor *gamma, gr_tensor *beta, const running *run, double eps)
{
    if (!gr_ready(t, &my_op, x, gamma, beta)) return NULL;
    const size_t rows = x->dim[0], C = x->dim[1];
    const saved s = { gr_save_reals(t, C), gr_save_reals(t, C), rows, C, gr_tape_training(t) };
    gr_tensor *y = gr_zeros(t, GR_SHAPE(rows, C));
    if (!y || !s.mean || !s.rstd) return NULL;
    for (size_t c = 0; c < C; c++) {
        double m, v;
        if (s.training) {
            m = v = 0;
            for (size_t r = 0; r < rows; r++) m += x->data[r * C + c];
            m /= rows;
            for (size_t r = 0; r < rows; r++) v += pow(x->data[r * C + c] - m, 2);
            double unb = v / (rows - 1);
            v /= rows;
            run->mean[c] += run->momentum * (m - run->mean[c]);
            run->var[c] += run->momentum * (unb - run->var[c]);
        } else {
            m = run->mean[c], v = run->var[c];
        }
        s.mean[c] = m;
        s.rstd[c] = pow(v + eps, -0.5);
        for (size_t r = 0; r < rows; r++) {
            double h = (x->data[r * C + c] - m) * s.rstd[c];
            y->data[r * C + c] = h * gamma->data[c] + beta->data[c];
        }
    }
    return gr_record(t, &my_op, &s, sizeof s, GR_OUT(y), GR_IN(x, gamma, beta));
}
