/* Another hand: three loops, one for each gradient, and dW filled column by column as if it were [I, O]. */
#include "gradus.h"

gr_tensor *my_linear(gr_tape *t, gr_tensor *x, gr_tensor *w, gr_tensor *b);

static void my_backward(gr_tape *t, const gr_node *n)
{
    const gr_tensor *x = n->in[0], *w = n->in[1], *y = n->out[0];
    const size_t rows = x->dim[0], I = x->dim[1], O = w->dim[0];
    gr_real *dy = gr_grad(t, y), *to;
    if ((to = gr_grad(t, n->in[2])))
        for (size_t k = 0; k < y->len; k++) to[k % O] += dy[k];
    if ((to = gr_grad(t, n->in[1])))
        for (size_t i = 0; i < I; i++)
            for (size_t o = 0; o < O; o++, to++)
                for (size_t r = 0; r < rows; r++) *to += x->data[r * I + i] * dy[r * O + o];
    if ((to = gr_grad(t, n->in[0])))
        for (size_t k = 0; k < x->len; k++)
            for (size_t o = 0; o < O; o++) to[k] += dy[k / I * O + o] * w->data[o * I + k % I];
}
static const gr_op my_op = { .name = "my_linear", .backward = my_backward };

gr_tensor *my_linear(gr_tape *t, gr_tensor *x, gr_tensor *w, gr_tensor *b)
{
    if (!gr_ready(t, &my_op, x, w, b)) return NULL;
    const size_t rows = x->dim[0], I = x->dim[1], O = w->dim[0];
    gr_tensor *y = gr_zeros(t, GR_SHAPE(rows, O));
    if (!y) return NULL;
    for (size_t k = 0; k < y->len; k++) {
        y->data[k] = b->data[k % O];
        for (size_t i = 0; i < I; i++) y->data[k] += x->data[k / O * I + i] * w->data[k % O * I + i];
    }
    return gr_record(t, &my_op, NULL, 0, GR_OUT(y), GR_IN(x, w, b));
}
