/* ops/where.c - y = cond ? a : b, element by element; all three broadcast. masked_fill, tril and triu are where with a constant.
 *
 *     da = cond ? dy : 0        db = cond ? 0 : dy        cond gets no gradient
 * A condition is true where it is not 0. Shapes: cond, a and b broadcast to that of y.   Kinks: none.   Saved: cond.   Source: none. */
#include "core/kernel.h"
#include "ops/broadcast.h"
#include "ops/ops.h"

/* forward: in = { cond, a, b }.  backward: out = the gradient of a or of b, in = { dy, cond } */
KERNEL(void, where_forward, gr_real *restrict out, const gr_real *const *in, size_t n, const gr_real *p UNUSED, int how UNUSED)
{
    const gr_real *cond = in[0], *a = in[1], *b = in[2];
    for (size_t i = 0; i < n; i++) {
        const gr_real yes = a[i], no = b[i];
        out[i] = cond[i] != 0 ? yes : no;
    }
}
#define WHERE_BACKWARD(called, gradient) \
    KERNEL(void, called, gr_real *restrict out, const gr_real *const *in, size_t n, const gr_real *p UNUSED, int how) \
    { \
        const gr_real *dy = in[0], *cond = in[1]; \
        for (size_t i = 0; i < n; i++) out[i] = (how & GR__FIRST ? 0 : out[i]) + (gradient); \
    }
WHERE_BACKWARD(where_backward_a, cond[i] != 0 ? dy[i] : 0) WHERE_BACKWARD(where_backward_b, cond[i] != 0 ? 0 : dy[i])

#if GR_HOST
static void where_node(gr_tape *t, const gr_node *n)
{
    gr__map_backward(t, n, 0, where_backward_a, false, n->saved, 1);
    gr__map_backward(t, n, 1, where_backward_b, false, n->saved, 1);
}
static const gr_op where_op = { .name = "where", .backward = where_node, .scratch = gr__map_scratch };

gr_tensor *gr_where(gr_tape *t, gr_tensor *cond, gr_tensor *a, gr_tensor *b)
{
    gr_tensor *y = gr__map_values(t, &where_op, where_forward, GR_IN(cond, a, b), NULL);
    return y ? gr_record(t, &where_op, &cond, sizeof cond, GR_OUT(y), GR_IN(a, b)) : NULL;
}

gr_tensor *gr_masked_fill(gr_tape *t, gr_tensor *x, gr_tensor *mask, double value)
{
    static const gr_op op = { .name = "masked_fill" };
    if (!gr_ready(t, &op, x, mask)) return NULL;
    if (!gr__broadcast(gr_shape_of(x), gr_shape_of(mask), &(gr_shape){ 0 }))
        return gr_fail(t, &op, "x is %s and mask is %s, which do not broadcast", gr_shape_text(t, x), gr_shape_text(t, mask));
    return gr_where(t, mask, gr_scalar(t, value), x);
}

static const gr_op tril_name = { .name = "tril" }, triu_name = { .name = "triu" }; /* for messages: where is recorded */

/* Row i keeps column j if low <= j - i <= high. */
static gr_tensor *triangle(gr_tape *t, const gr_op *op, gr_tensor *x, ptrdiff_t low, ptrdiff_t high)
{
    if (!gr_ready(t, op, x)) return NULL;
    if (x->rank < 2) return gr_fail(t, op, "x must have two axes or more; got %s", gr_shape_text(t, x));
    const size_t rows = x->len ? gr_size(x, -2) : 0, columns = gr_size(x, -1);
    gr_tensor *kept = rows ? gr__empty(t, op, GR_SHAPE(rows, columns)) : gr_scalar(t, 0);
    for (size_t i = 0, at = 0; kept && i < rows; i++)
        for (size_t j = 0; j < columns; j++, at++) kept->data[at] = (ptrdiff_t)(j - i) >= low && (ptrdiff_t)(j - i) <= high;
    return gr_where(t, kept, x, gr_scalar(t, 0));
}
gr_tensor *gr_tril(gr_tape *t, gr_tensor *x, int diagonal) { return triangle(t, &tril_name, x, PTRDIFF_MIN, diagonal); }
gr_tensor *gr_triu(gr_tape *t, gr_tensor *x, int diagonal) { return triangle(t, &triu_name, x, diagonal, PTRDIFF_MAX); }
#endif
