/* ops/where.c - y = cond ? a : b, element by element; all three broadcast. masked_fill, tril and triu are this with one constant side.
 *
 *     da = cond ? dy : 0        db = cond ? 0 : dy        cond gets no gradient
 * A condition is true where it is not 0. Saved: cond. */
#include "core/kernel.h"
#include "ops/broadcast.h"
#include "ops/ops.h"

/* forward: in = { cond, a, b }.  backward: out = the gradient of a or of b, in = { dy, cond } */
KERNEL(void, where_forward, gr_real *restrict out, const gr_real *const *in, size_t n, const gr_real *p)
{
    const gr_real *cond = in[0], *a = in[1], *b = in[2];
    (void)p;
    for (size_t i = 0; i < n; i++) {
        const gr_real yes = a[i], no = b[i];
        out[i] = cond[i] != 0 ? yes : no;
    }
}
KERNEL(void, where_backward_a, gr_real *restrict da, const gr_real *const *in, size_t n, const gr_real *p)
{
    const gr_real *dy = in[0], *cond = in[1];
    (void)p;
    for (size_t i = 0; i < n; i++) da[i] += cond[i] != 0 ? dy[i] : 0;
}
KERNEL(void, where_backward_b, gr_real *restrict db, const gr_real *const *in, size_t n, const gr_real *p)
{
    const gr_real *dy = in[0], *cond = in[1];
    (void)p;
    for (size_t i = 0; i < n; i++) db[i] += cond[i] != 0 ? 0 : dy[i];
}

#if GR_HOST
typedef struct { gr_tensor *cond; } where_saved;

static void where_node(gr_tape *t, const gr_node *n)
{
    const where_saved *s = n->saved;
    gr__map_backward(t, n, 0, where_backward_a, GR_IN(s->cond));
    gr__map_backward(t, n, 1, where_backward_b, GR_IN(s->cond));
}
#define WHERE_OP(op) static const gr_op op##_op = { .name = #op, .backward = where_node, .scratch = gr__map_scratch };
WHERE_OP(where) WHERE_OP(masked_fill) WHERE_OP(tril) WHERE_OP(triu)

static gr_tensor *choose(gr_tape *t, const gr_op *op, gr_tensor *cond, gr_tensor *a, gr_tensor *b)
{
    gr_tensor *y = gr__map_values(t, op, where_forward, GR_IN(cond, a, b), NULL);
    return y ? gr_record(t, op, &(where_saved){ cond }, sizeof(where_saved), GR_OUT(y), GR_IN(a, b)) : NULL;
}

gr_tensor *gr_where(gr_tape *t, gr_tensor *cond, gr_tensor *a, gr_tensor *b) { return choose(t, &where_op, cond, a, b); }

gr_tensor *gr_masked_fill(gr_tape *t, gr_tensor *x, gr_tensor *mask, double value)
{
    gr_shape shape;
    if (!gr_ready(t, &masked_fill_op, x, mask)) return NULL;
    if (!gr__broadcast(gr_shape_of(x), gr_shape_of(mask), &shape))
        return gr_fail(t, &masked_fill_op, "x is %s and mask is %s, which do not broadcast", gr_shape_text(t, x), gr_shape_text(t, mask));
    return choose(t, &masked_fill_op, mask, gr_scalar(t, value), x);
}

/* Row i keeps column j if j - i <= diagonal (tril), or if j - i >= diagonal (triu). */
static gr_tensor *triangle(gr_tape *t, const gr_op *op, gr_tensor *x, ptrdiff_t diagonal)
{
    if (!gr_ready(t, op, x)) return NULL;
    if (x->rank < 2) return gr_fail(t, op, "x must have two axes or more; got %s", gr_shape_text(t, x));
    const size_t rows = x->len ? x->dim[x->rank - 2] : 0, columns = x->dim[x->rank - 1];
    gr_tensor *kept = rows ? gr_empty(t, GR_SHAPE(rows, columns)) : gr_scalar(t, 0);
    for (size_t i = 0; kept && i < rows * columns; i++) {
        const ptrdiff_t above = (ptrdiff_t)(i % columns) - (ptrdiff_t)(i / columns);
        kept->data[i] = op == &tril_op ? above <= diagonal : above >= diagonal;
    }
    return choose(t, op, kept, x, gr_scalar(t, 0));
}
gr_tensor *gr_tril(gr_tape *t, gr_tensor *x, int diagonal) { return triangle(t, &tril_op, x, diagonal); }
gr_tensor *gr_triu(gr_tape *t, gr_tensor *x, int diagonal) { return triangle(t, &triu_op, x, diagonal); }
#endif
