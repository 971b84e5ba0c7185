/* ops/binary.c - elementwise operators of two inputs. ops/binary.def has their formulas; here are the loops and the functions. ops/broadcast.c
 * broadcasts the inputs, and sums a gradient over the axes that its input lacked.
 *
 *     prelu    y = x where x > 0, and x w elsewhere        dx = dy, and dy w        dw = 0, and dy x        He et al. 2015
 * Shapes: a and b broadcast to that of y.   Saved: nothing; backward reads a, b and y.   Kinks: at 0 prelu has the derivatives of x < 0. */
#include "core/maths.h"
#include "ops/broadcast.h"
#include "ops/ops.h"

/* forward: in = { a, b }.  backward: out = the gradient of a or of b, in = { dy, a, b, y } */
#define BINARY_FORWARD(op, y_of_ab) \
    KERNEL(void, op##_forward, gr_real *restrict out, const gr_real *const *in, size_t n, const gr_real *p UNUSED, int how) \
    { \
        const gr_real *in_a = in[0], *in_b = in[1]; \
        if (how & GR__ONE_A) BINARY_LOOP(*in_a, in_b[i], y_of_ab) \
        else if (how & GR__ONE_B) BINARY_LOOP(in_a[i], *in_b, y_of_ab) \
        else BINARY_LOOP(in_a[i], in_b[i], y_of_ab) \
    }
#define BINARY_LOOP(a_i, b_i, y_of_ab) \
    for (size_t i = 0; i < n; i++) { \
        const gr_real a = a_i, b = b_i; \
        out[i] = (y_of_ab); \
    }
#define BINARY_BACKWARD(op, gradient) \
    KERNEL(void, op, gr_real *restrict out, const gr_real *const *in, size_t n, const gr_real *p UNUSED, int how) \
    { \
        const gr_real *in_dy = in[0], *in_a = in[1], *in_b = in[2], *in_y = in[3]; \
        for (size_t i = 0; i < n; i++) { \
            const gr_real dy = in_dy[i], a = in_a[i], b = in_b[i], y = in_y[i]; \
            (void)a, (void)b, (void)y; \
            out[i] = (how & GR__FIRST ? 0 : out[i]) + (gradient); \
        } \
    }
#define BINARY(op, y_of_ab, da_of_aby, db_of_aby, ...) \
    BINARY_FORWARD(op, y_of_ab) \
    BINARY_BACKWARD(op##_backward_a, da_of_aby) \
    BINARY_BACKWARD(op##_backward_b, db_of_aby)
#define COMPARE(op, holds) BINARY_FORWARD(op, (holds) ? R(1) : R(0))
BINARY(prelu, a > 0 ? a : a * b, a > 0 ? dy : dy * b, a > 0 ? 0 : dy * a, ) /* a is x, b the weight */
#include "ops/binary.def"

#if GR_HOST
#define BINARY_OP(op, da, db) \
    static void op##_node(gr_tape *t, const gr_node *n) \
    { \
        gr__map_backward(t, n, 0, op##_backward_a, !strcmp(#da, "dy"), GR_IN(n->in[0], n->in[1], n->out[0])); \
        gr__map_backward(t, n, 1, op##_backward_b, !strcmp(#db, "dy"), GR_IN(n->in[0], n->in[1], n->out[0])); \
    } \
    static const gr_op op##_op = { .name = #op, .backward = op##_node, .scratch = gr__map_scratch };
#define BINARY(op, y, da, db, ...) \
    BINARY_OP(op, da, db) \
    gr_tensor *gr_##op(gr_tape *t, gr_tensor *a, gr_tensor *b) { return gr__map_op(t, &op##_op, op##_forward, GR_IN(a, b), NULL, 0); }
#define COMPARE(op, ...) \
    gr_tensor *gr_##op(gr_tape *t, gr_tensor *a, gr_tensor *b) \
    { \
        static const gr_op compare = { .name = #op }; /* no gradient passes: it is never recorded */ \
        return gr__map_op(t, &compare, op##_forward, GR_IN(a, b), NULL, 0); \
    }
#include "ops/binary.def"

BINARY_OP(prelu, , )
gr_tensor *gr_prelu(gr_tape *t, gr_tensor *x, gr_tensor *weight)
{
    if (!gr_ready(t, &prelu_op, x, weight)) return NULL;
    const bool one = weight->len == 1;
    if (weight->rank > 1 || (!one && (x->rank < 2 || weight->len != x->dim[1])))
        return gr_fail(t, &prelu_op, "weight must be [1], or [C] for an x of [N, C, ..]; got weight %s and x %s", gr_shape_text(t, weight),
                       gr_shape_text(t, x));
    gr_shape along = { .rank = one ? 0 : x->rank - 1, .dim = { weight->len } }; /* broadcasts along axis 1 */
    for (int i = 1; i < along.rank; i++) along.dim[i] = 1;
    return gr__map_op(t, &prelu_op, prelu_forward, GR_IN(x, gr_reshape(t, weight, along)), NULL, 0);
}
#endif
