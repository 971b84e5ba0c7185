/* ops/scan.c - cumsum, along the last axis of n values; another axis changes places with the last one before and after.
 *
 *     y[i] = x[0] + .. + x[i]        dx[i] += dy[i] + .. + dy[n-1]
 * One running sum in double goes through a row, so that a value of a long row is as accurate as the first. Nothing is saved. */
#include "core/op.h"
#include "ops/ops.h"

static void cumsum_node(gr_tape *t, const gr_node *node)
{
    const gr_tensor *x = node->in[0];
    const size_t n = x->dim[x->rank - 1];
    const gr_real *dy = gr_grad(t, node->out[0]);
    gr_real *dx = gr_grad(t, x);
    for (size_t row = 0; dx && row < x->len; row += n) {
        double sum = 0;
        for (size_t i = row + n; i-- > row;) dx[i] += (gr_real)(sum += (double)dy[i]);
    }
}
static const gr_op cumsum_op = { .name = "cumsum", .backward = cumsum_node };

gr_tensor *gr_cumsum(gr_tape *t, gr_tensor *x, int axis)
{
    if (!gr_ready(t, &cumsum_op, x) || (axis = gr_axis(t, &cumsum_op, x, axis)) < 0) return NULL;
    if (axis < x->rank - 1) return gr_transpose(t, gr_cumsum(t, gr_transpose(t, x, axis, -1), -1), axis, -1);
    gr_tensor *y = gr_empty_like(t, x);
    if (!y) return NULL;
    const size_t n = x->dim[axis];
    for (size_t row = 0; row < x->len; row += n) {
        double sum = 0;
        for (size_t i = row; i < row + n; i++) y->data[i] = (gr_real)(sum += (double)x->data[i]);
    }
    return gr_record(t, &cumsum_op, NULL, 0, GR_OUT(y), GR_IN(x));
}
