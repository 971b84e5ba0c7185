/* ops/unary.c - elementwise operators of one input. ops/unary.def has their formulas; here are the loops and the functions.
 * Shapes: y as x.   Saved: nothing but parameters; backward reads x and y.
 * Clevert et al. 2016 (elu); Klambauer et al. 2017 (selu); Elfwing et al. 2018 (silu); Howard et al. 2019 (hardswish) */
#include "core/maths.h"
#include "ops/broadcast.h"
#include "ops/ops.h"

/* Hendrycks and Gimpel 2016: x (1 + tanh(u)) / 2 with u = sqrt(2 / pi) (x + 0.044715 x^3); (1 + tanh(u)) / 2 = sigmoid(2u). */
#define TWO_U R(1.5957691216057307118)
INLINE gr_real gelu_tanh_gate(gr_real x) { return r_sigmoid(TWO_U * (x + R(0.044715) * (x * x * x))); }
INLINE gr_real gelu_tanh_of(gr_real x) { return x * gelu_tanh_gate(x); }
INLINE gr_real gelu_tanh_slope(gr_real x)
{
    const gr_real s = gelu_tanh_gate(x), z = r_max(-64, r_min(64, x)); /* beyond 64, s is 0 or 1; here z * z does not overflow */
    return s + z * (s * (1 - s)) * (TWO_U * (1 + R(0.134145) * (z * z)));
}

/* Misra 2019: mish is x tanh(softplus(x)). */
INLINE gr_real mish_gate(gr_real x) { return r_tanh(r_softplus(x)); }

enum { UNARY_BLOCK = 512 };
#define UNARY(op, y, dx, ...) UNARY_KERNELS(op, (void)p, y, dx, 0, 0, 0, 0)
#define UNARY_1(op, a, y, dx, ...) UNARY_KERNELS(op, const gr_real a = p[0]; (void)a, y, dx, 0, 0, 0, 0)
#define UNARY_2(op, a, b, y, dx, ...) UNARY_KERNELS(op, const gr_real a = p[0]; const gr_real b = p[1], y, dx, 0, 0, 0, 0)
#define UNARY_NEAR(op, y, dx, limit, y_near, dx_limit, dx_near, ...) UNARY_KERNELS(op, (void)p, y, dx, limit, y_near, dx_limit, dx_near)

/* forward: in = { x }.  backward: out = the gradient of x, in = { dy, x, y }.  The second loops are for x beyond a limit, which are rare, or
 * for the second half of a long formula; backward computes the first half of such a formula into a block that stays in L1 (measured: gelu
 * backward is 1.07 times as fast, because one loop needs more registers than there are). Backward selects the sum, not the term: else AVX-512
 * loads dy by a mask, which takes the gradients of gelu and sin 1.6 times as long where dy comes from memory. */
#define UNARY_KERNELS(op, parameters, y_of_x, dx_of_xy, limit, y_near, dx_limit, dx_near) \
    KERNEL(void, op##_forward, gr_real *restrict out, const gr_real *const *in, size_t n, const gr_real *p, int how UNUSED) \
    { \
        const gr_real *in_x = in[0]; \
        r_size largest = 0; parameters; \
        for (size_t i = 0; i < n; i++) { \
            UNUSED const gr_real x = in_x[i], half = 0; \
            out[i] = (limit) == 0 ? (y_of_x) : (y_near); \
            if ((limit) > 0) largest = r_size_most(largest, x); \
        } \
        for (size_t i = 0; ((limit) < 0 || largest > r_size_of(limit)) && i < n; i++) { \
            UNUSED const gr_real x = in_x[i], half = out[i]; \
            out[i] = (limit) < 0 || r_size_of(x) > r_size_of(limit) ? (y_of_x) : half; \
        } \
    } \
    KERNEL(void, op##_backward, gr_real *restrict out, const gr_real *const *in, size_t n, const gr_real *p, int how) \
    { \
        const gr_real *in_dy = in[0], *in_x = in[1], *in_y = in[2]; \
        gr_real halves[(limit) < 0 ? UNARY_BLOCK : 1]; \
        r_size largest = 0; parameters; \
        for (size_t first_ = 0, end_; first_ < n; first_ = end_) { \
            end_ = (limit) < 0 && n - first_ > UNARY_BLOCK ? first_ + UNARY_BLOCK : n; \
            for (size_t i = first_; (limit) < 0 && i < end_; i++) { UNUSED const gr_real x = in_x[i]; halves[i - first_] = (y_near); } \
            for (size_t i = first_; i < end_; i++) { \
                UNUSED const gr_real dy = in_dy[i], x = in_x[i], y = in_y[i], half = (limit) < 0 ? halves[i - first_] : 0; \
                const gr_real from = how & GR__FIRST ? 0 : out[i], dx = (dx_limit) == 0 ? (dx_of_xy) : (dx_near); \
                out[i] = (dx_limit) != 0 && r_size_of(x) > r_size_of(dx_limit) ? from : from + dx; \
                if ((dx_limit) > 0) largest = r_size_most(largest, x); \
            } \
        } \
        for (size_t i = 0; largest > r_size_of(dx_limit) && i < n; i++) { \
            UNUSED const gr_real dy = in_dy[i], x = in_x[i], y = in_y[i], half = (limit) < 0 ? (y_near) : 0; \
            out[i] += r_size_of(x) > r_size_of(dx_limit) ? (dx_of_xy) : 0; \
        } \
    }
#include "ops/unary.def"

#if GR_HOST
#define UNARY(op, ...) UNARY_OP(op, (gr_tape *t, gr_tensor *x), NULL, 0)
#define UNARY_NEAR UNARY
#define UNARY_1(op, a, ...) UNARY_OP(op, (gr_tape *t, gr_tensor *x, double a), (const gr_real[]){ (gr_real)a }, 1)
#define UNARY_2(op, a, b, ...) \
    UNARY_OP(op, (gr_tape *t, gr_tensor *x, double a, double b), ((const gr_real[]){ (gr_real)a, (gr_real)b }), 2)
#define UNARY_OP(op, arguments, p, ps) \
    static void op##_node(gr_tape *t, const gr_node *n) \
    { \
        gr__map_backward(t, n, 0, op##_backward, false, GR_IN(n->in[0], n->out[0])); \
    } \
    static const gr_op op##_op = { .name = #op, .backward = op##_node }; \
    gr_tensor *gr_##op arguments { return gr__map_op(t, &op##_op, op##_forward, GR_IN(x), p, ps); }
#include "ops/unary.def"
#endif
