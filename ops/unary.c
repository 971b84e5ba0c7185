/* ops/unary.c - elementwise operators of one input: all that is not in ops/unary.def. The output has x's shape; where the
 * derivative is simpler in terms of the output y, it is: nothing else is saved. */
#include "core/maths.h"
#include "ops/broadcast.h"
#include "ops/ops.h"

/* Hendrycks and Gimpel 2016: x (1 + tanh(u)) / 2 with u = sqrt(2 / pi) (x + 0.044715 x^3); (1 + tanh(u)) / 2 = sigmoid(2u). */
#define TWO_U R(1.5957691216057307118)
INLINE gr_real gelu_tanh_gate(gr_real x) { return r_sigmoid(TWO_U * (x + R(0.044715) * (x * x * x))); }
INLINE gr_real gelu_tanh_of(gr_real x) { return x * gelu_tanh_gate(x); }
INLINE gr_real gelu_tanh_slope(gr_real x)
{
    const gr_real s = gelu_tanh_gate(x), z = r_max(-64, r_min(64, x)); /* beyond, s is 0 or 1; z * z does not overflow */
    return s + z * (s * (1 - s)) * (TWO_U * (1 + R(0.134145) * (z * z)));
}

#define UNARY(op, y_of_x, dx_of_xy, ...) UNARY_KERNELS(op, (void)p, y_of_x, dx_of_xy)
#define UNARY_1(op, a, y_of_x, dx_of_xy, ...) UNARY_KERNELS(op, const gr_real a = p[0], y_of_x, dx_of_xy)
#define UNARY_2(op, a, b, y_of_x, dx_of_xy, ...) \
    UNARY_KERNELS(op, const gr_real a = p[0]; const gr_real b = p[1], y_of_x, dx_of_xy)

/* forward: in = { x }.  backward: out = x's gradient, in = { dy, x, y } */
#define UNARY_KERNELS(op, parameters, y_of_x, dx_of_xy) \
    KERNEL(void, op##_forward, gr_real *restrict out, const gr_real *const *in, size_t n, const gr_real *p) \
    { \
        const gr_real *in_x = in[0]; \
        parameters; \
        for (size_t i = 0; i < n; i++) { \
            const gr_real x = in_x[i]; \
            out[i] = (y_of_x); \
        } \
    } \
    KERNEL(void, op##_backward, gr_real *restrict out, const gr_real *const *in, size_t n, const gr_real *p) \
    { \
        const gr_real *in_dy = in[0], *in_x = in[1], *in_y = in[2]; \
        parameters; \
        for (size_t i = 0; i < n; i++) { \
            const gr_real dy = in_dy[i], x = in_x[i], y = in_y[i]; \
            (void)x, (void)y; \
            out[i] += (dx_of_xy); \
        } \
    }

/* The second loops, for elements far out, are rarely needed. */
#define UNARY_FAR(op, y_of_x, dx_of_xy, y_far, dx_far, ...) \
    KERNEL(void, op##_forward, gr_real *restrict out, const gr_real *const *in, size_t n, const gr_real *p) \
    { \
        const gr_real *in_x = in[0]; \
        int far = 0; \
        (void)p; \
        for (size_t i = 0; i < n; i++) { \
            const gr_real x = in_x[i]; \
            out[i] = (y_of_x); \
            far |= r_abs(x) > R_SIN_LIMIT; \
        } \
        for (size_t i = 0; far && i < n; i++) { \
            const gr_real x = in_x[i]; \
            out[i] = r_abs(x) > R_SIN_LIMIT ? (y_far) : out[i]; \
        } \
    } \
    KERNEL(void, op##_backward, gr_real *restrict out, const gr_real *const *in, size_t n, const gr_real *p) \
    { \
        const gr_real *in_dy = in[0], *in_x = in[1]; \
        int far = 0; \
        (void)p; \
        for (size_t i = 0; i < n; i++) { \
            const gr_real dy = in_dy[i], x = in_x[i]; \
            out[i] += r_abs(x) > R_SIN_LIMIT ? 0 : (dx_of_xy); \
            far |= r_abs(x) > R_SIN_LIMIT; \
        } \
        for (size_t i = 0; far && i < n; i++) { \
            const gr_real dy = in_dy[i], x = in_x[i]; \
            out[i] += r_abs(x) > R_SIN_LIMIT ? (dx_far) : 0; \
        } \
    }
#include "ops/unary.def"
#undef UNARY
#undef UNARY_1
#undef UNARY_2
#undef UNARY_FAR

#if GR_HOST
#define UNARY(op, ...) UNARY_OP(op, (gr_tape *t, gr_tensor *x), NULL, 0)
#define UNARY_FAR UNARY
#define UNARY_1(op, a, ...) UNARY_OP(op, (gr_tape *t, gr_tensor *x, double a), (const gr_real[]){ (gr_real)a }, 1)
#define UNARY_2(op, a, b, ...) \
    UNARY_OP(op, (gr_tape *t, gr_tensor *x, double a, double b), ((const gr_real[]){ (gr_real)a, (gr_real)b }), 2)
#define UNARY_OP(op, arguments, p, ps) \
    static void op##_node(gr_tape *t, const gr_node *n) \
    { \
        gr__map_backward(t, n, 0, op##_backward, GR_IN(n->in[0], n->out[0])); \
    } \
    static const gr_op op##_op = { .name = #op, .backward = op##_node }; \
    gr_tensor *gr_##op arguments { return gr__map_op(t, &op##_op, op##_forward, GR_IN(x), p, ps); }
#include "ops/unary.def"
#undef UNARY
#undef UNARY_1
#undef UNARY_2
#undef UNARY_FAR
#endif
