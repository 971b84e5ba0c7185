/* ops/where.c - y = cond ? a : b, element by element; all three broadcast.
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
static const gr_op where_op = { .name = "where", .backward = where_node, .scratch = gr__map_scratch };

gr_tensor *gr_where(gr_tape *t, gr_tensor *cond, gr_tensor *a, gr_tensor *b)
{
    gr_tensor *y = gr__map_values(t, &where_op, where_forward, GR_IN(cond, a, b), NULL);
    return y ? gr_record(t, &where_op, &(where_saved){ cond }, sizeof(where_saved), GR_OUT(y), GR_IN(a, b)) : NULL;
}
#endif
