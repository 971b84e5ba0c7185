/* The means in backward are those of a row. */
#include "gradus.h"
#include <math.h>

typedef struct {
    gr_real *mean, *var; /* [C]: the running statistics */
    double momentum;     /* the weight of a new batch in them */
} running;
gr_tensor *my_batch_norm(gr_tape *t, gr_tensor *x, gr_tensor *gamma, gr_tensor *beta, const running *run, double eps);
typedef struct {
    gr_real *mean, *rstd; /* [C] */
    size_t rows, C;
    bool training;
} saved;
static void my_backward(gr_tape *t, const gr_node *n)
{
    const saved *s = n->saved;
    const size_t rows = s->rows, C = s->C;
    const gr_real *x = n->in[0]->data, *gamma = n->in[1]->data, *dy = gr_grad(t, n->out[0]);
    gr_real *dx = gr_grad(t, n->in[0]), *dgamma = gr_grad(t, n->in[1]), *dbeta = gr_grad(t, n->in[2]);
    for (size_t r = 0; r < rows; r++) {
        gr_real g = 0, gx = 0;
        for (size_t c = 0; c < C; c++)
            g += gamma[c] * dy[r * C + c] / C, gx += gamma[c] * dy[r * C + c] * (x[r * C + c] - s->mean[c]) * s->rstd[c] / C;
        for (size_t c = 0; c < C; c++) {
            const gr_real xhat = (x[r * C + c] - s->mean[c]) * s->rstd[c];
            if (dbeta) dbeta[c] += dy[r * C + c];
            if (dgamma) dgamma[c] += dy[r * C + c] * xhat;
            if (dx) dx[r * C + c] += s->rstd[c] * (gamma[c] * dy[r * C + c] - g - xhat * gx);
        }
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
        gr_real mean = s.training ? 0 : run->mean[c], var = s.training ? 0 : run->var[c];
        if (s.training) {
            for (size_t r = 0; r < rows; r++) mean += x->data[r * C + c] / rows;
            for (size_t r = 0; r < rows; r++) var += (x->data[r * C + c] - mean) * (x->data[r * C + c] - mean) / rows;
            run->mean[c] = (1 - run->momentum) * run->mean[c] + run->momentum * mean;
            run->var[c] = (1 - run->momentum) * run->var[c] + run->momentum * var * rows / (rows - 1);
        }
        s.mean[c] = mean, s.rstd[c] = 1 / sqrt(var + eps);
        for (size_t r = 0; r < rows; r++) y->data[r * C + c] = gamma->data[c] * ((x->data[r * C + c] - mean) * s.rstd[c]) + beta->data[c];
    }
    return gr_record(t, &my_op, &s, sizeof s, GR_OUT(y), GR_IN(x, gamma, beta));
}