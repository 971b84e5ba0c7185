/* ops/scan.c - cumsum along an axis of n values; x is seen as [before, n, after].
 *
 *     y[i] = x[0] + .. + x[i]        dx[i] += dy[i] + .. + dy[n-1]
 * The running sums are in double, so that the last value of a long axis is as accurate as the first.
 * Shapes: y as x.   Kinks: none.   Saved: the axis.   Source: none. */
#include "core/library.h"
#include "ops/ops.h"

/* Add to y the sums of x along the axis; from its end if back is true. */
static void cumsum_add(const gr_tensor *shape, int axis, gr_real *y, const gr_real *x, bool back)
{
    const size_t n = shape->dim[axis], after = gr__sizes(shape->dim, axis + 1, shape->rank);
    for (size_t block = 0; block < shape->len; block += n * after)
        for (size_t column = block; column < block + after; column++) {
            double sum = 0;
            for (size_t i = 0; i < n; i++) {
                const size_t at = column + (back ? n - 1 - i : i) * after;
                y[at] += (gr_real)(sum += (double)x[at]);
            }
        }
}

static void cumsum_node(gr_tape *t, const gr_node *n)
{
    gr_real *dx = gr_grad(t, n->in[0]);
    if (dx) cumsum_add(n->in[0], *(const int *)n->saved, dx, gr_grad(t, n->out[0]), true);
}
static const gr_op cumsum_op = { .name = "cumsum", .backward = cumsum_node };

gr_tensor *gr_cumsum(gr_tape *t, gr_tensor *x, int axis)
{
    if (!gr_ready(t, &cumsum_op, x) || (axis = gr_axis(t, &cumsum_op, x, axis)) < 0) return NULL;
    gr_tensor *y = gr_zeros(t, gr_shape_of(x));
    if (!y) return NULL;
    cumsum_add(x, axis, y->data, x->data, false);
    return gr_record(t, &cumsum_op, &axis, sizeof axis, GR_OUT(y), GR_IN(x));
}
