/* solution.c - the exercise, solved. Read it after yours passes. */
#include "gradus.h"

gr_tensor *my_linear(gr_tape *t, gr_tensor *x, gr_tensor *w, gr_tensor *b);

/* Given dy = dL/dy, add dL/dx, dL/dW and dL/db to dx, dw and db. */
static void my_backward(gr_tape *t, const gr_node *n)
{
    const size_t rows = n->in[0]->dim[0], I = n->in[0]->dim[1], O = n->in[1]->dim[0];
    const gr_real *x = n->in[0]->data, *w = n->in[1]->data, *dy = gr_grad(t, n->out[0]);
    gr_real *dx = gr_grad(t, n->in[0]), *dw = gr_grad(t, n->in[1]), *db = gr_grad(t, n->in[2]);

    for (size_t r = 0; r < rows; r++)
        for (size_t o = 0; o < O; o++) {
            const gr_real g = dy[r * O + o];
            if (db) db[o] += g;
            for (size_t i = 0; i < I; i++) {
                if (dw) dw[o * I + i] += g * x[r * I + i];
                if (dx) dx[r * I + i] += g * w[o * I + i];
            }
        }
}

static const gr_op my_op = { .name = "my_linear", .backward = my_backward };

/* y = x W^T + b.   x [rows, I]   W [O, I]   b [O]   y [rows, O] */
gr_tensor *my_linear(gr_tape *t, gr_tensor *x, gr_tensor *w, gr_tensor *b)
{
    if (!gr_ready(t, &my_op, x, w, b)) return NULL;
    const size_t rows = x->dim[0], I = x->dim[1], O = w->dim[0];
    gr_tensor *y = gr_zeros(t, GR_SHAPE(rows, O));
    if (!y) return NULL;

    for (size_t r = 0; r < rows; r++)
        for (size_t o = 0; o < O; o++) {
            gr_real sum = b->data[o];
            for (size_t i = 0; i < I; i++) sum += x->data[r * I + i] * w->data[o * I + i];
            y->data[r * O + o] = sum;
        }

    return gr_record(t, &my_op, NULL, 0, GR_OUT(y), GR_IN(x, w, b));
}
