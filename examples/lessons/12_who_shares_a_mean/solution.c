/* solution.c - the exercise, solved. Read it after yours passes. */
#include "gradus.h"
#include <math.h>

size_t my_group(gr_norm_kind kind, size_t i, size_t C, size_t L, size_t groups);
gr_tensor *my_rms_norm(gr_tape *t, gr_tensor *x, gr_tensor *gamma, double eps);

/* Value i of x [N, C, L] shares its mean with others: return the number of that mean. The means are numbered 0, 1, 2 .. in the order of their first
 * values in memory. Value (n, c, l) is number (n * C + c) * L + l. groups matters only for GR_NORM_GROUP, and C is a multiple of it. */
size_t my_group(gr_norm_kind kind, size_t i, size_t C, size_t L, size_t groups)
{
    const size_t n = i / (C * L), c = i / L % C;
    switch (kind) {
    case GR_NORM_BATCH: return c;
    case GR_NORM_LAYER: return n; /* over C and L */
    case GR_NORM_INSTANCE: return n * C + c;
    default: return n * groups + c / (C / groups); /* GR_NORM_GROUP */
    }
}

/* What forward keeps for backward: 1 / RMS of each row. */
typedef struct {
    gr_real *rstd; /* [rows] */
    size_t rows, N;
} saved;

/* Given dy = dL/dy, add dL/dx and dL/dgamma to dx and dgamma. */
static void my_backward(gr_tape *t, const gr_node *n)
{
    const saved *s = n->saved;
    const size_t rows = s->rows, N = s->N;
    const gr_real *x = n->in[0]->data, *gamma = n->in[1]->data, *dy = gr_grad(t, n->out[0]);
    gr_real *dx = gr_grad(t, n->in[0]), *dgamma = gr_grad(t, n->in[1]);

    for (size_t r = 0; r < rows; r++) {
        const gr_real rstd = s->rstd[r];
        gr_real mean_gx = 0;
        for (size_t i = 0; i < N; i++) mean_gx += gamma[i] * dy[r * N + i] * x[r * N + i] * rstd / N;
        for (size_t i = 0; i < N; i++) {
            const gr_real g = gamma[i] * dy[r * N + i], xhat = x[r * N + i] * rstd;
            if (dx) dx[r * N + i] += rstd * (g - xhat * mean_gx);
            if (dgamma) dgamma[i] += dy[r * N + i] * xhat;
        }
    }
}

static const gr_op my_op = { .name = "my_rms_norm", .backward = my_backward };

/* x [rows, N], gamma [N]. */
gr_tensor *my_rms_norm(gr_tape *t, gr_tensor *x, gr_tensor *gamma, double eps)
{
    if (!gr_ready(t, &my_op, x, gamma)) return NULL;
    const size_t rows = x->dim[0], N = x->dim[1];
    const saved s = { gr_save_reals(t, rows), rows, N };
    gr_tensor *y = gr_zeros(t, GR_SHAPE(rows, N));
    if (!y || !s.rstd) return NULL;

    for (size_t r = 0; r < rows; r++) {
        gr_real ms = 0;
        for (size_t i = 0; i < N; i++) ms += x->data[r * N + i] * x->data[r * N + i] / N;
        s.rstd[r] = 1 / sqrt(ms + eps);
        for (size_t i = 0; i < N; i++) y->data[r * N + i] = gamma->data[i] * (x->data[r * N + i] * s.rstd[r]);
    }

    return gr_record(t, &my_op, &s, sizeof s, GR_OUT(y), GR_IN(x, gamma));
}
