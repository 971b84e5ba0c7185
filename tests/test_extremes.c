/* tests/test_extremes.c - elementwise operators and losses against the same formulas in long double: at 0, at subnormal numbers, at powers
 * of two beyond which a float has no fraction, and near the largest number. */
#include "tests/test.h"
#include <float.h>

#ifdef GR_REAL_DOUBLE
#define LARGEST DBL_MAX
#define EPSILON DBL_EPSILON
#define SMALLEST 0x1p-1074
#else
#define LARGEST FLT_MAX
#define EPSILON ((double)FLT_EPSILON)
#define SMALLEST 0x1p-149
#endif
typedef long double real;

static const double points[] = {
    0, SMALLEST, 0x1p-149, 0x1p-127, 0x1p-126, 1e-38, 1e-30, 0x1p-100, 1e-19, 1e-10, 0x1p-25, 0x1p-24, 0x1.000002p-24, 1e-5, 0.1, 0.5, 1, 2, 3, 5, 7, 9,
    10, 13, 16.5, 18, 20, 31.99999, 50, 80, 88, 89, 100, 104, 1000, 8388607.5, 0x1.fffffep23, 0x1p24, 0x1.000002p24, 1e10, 0x1.fffffffffffffp51, 0x1p53,
    0x1.0000000000001p53, 1e18, 1.8e19, 1.9e19, 1e30, 1e38, 1.8e38, 3e38, FLT_MAX, LARGEST / 3, LARGEST,
};
enum { POINTS = 2 * (int)COUNT(points) };
static gr_real point(size_t i) { return (gr_real)(i % 2 ? -points[i / 2] : points[i / 2]); }

/* ---- One input. The last column: an absolute error of a few EPSILON times this is allowed, because 1 - y and 1 + erf cancel ---- */

static real gate(real x) { return 1 / (1 + expl(-x)); }
static real normal(real x) { return erfcl(-x * 0.70710678118654752440084436210485L) / 2; }
static real density(real x) { return 0.39894228040143267793994605993438L * expl(-x * x / 2); }
static real tanh_u(real x) { return 1.5957691216057307117597842397375L * (x + 0.044715L * x * x * x); }
static real mish_gate(real x) { return tanhl(log1pl(expl(-fabsl(x))) + (x > 0 ? x : 0)); }
static real tanh_slope(real x) { return 1.5957691216057307117597842397375L * (1 + 0.134145L * x * x); }

#define EXTREMES \
    REFERENCE(neg, -x, -1, 0) \
    REFERENCE(scale, (real)(gr_real)0.3 * x, (real)(gr_real)0.3, 0) \
    REFERENCE(add_scalar, x + (real)(gr_real)0.3, 1, 0) \
    REFERENCE(sign, (real)((x > 0) - (x < 0)), 0, 0) \
    REFERENCE(floor, floorl(x), 0, 0) \
    REFERENCE(ceil, ceill(x), 0, 0) \
    REFERENCE(round, rintl(x), 0, 0) \
    REFERENCE(abs, fabsl(x), (real)((x > 0) - (x < 0)), 0) \
    REFERENCE(square, x * x, 2 * x, 0) \
    REFERENCE(sqrt, sqrtl(x), x == 0 ? (real)INFINITY : 1 / (2 * sqrtl(x)), 0) \
    REFERENCE(rsqrt, x == 0 ? 1 / x : 1 / sqrtl(x), x == 0 ? -1 / x : -1 / (2 * x * sqrtl(x)), 0) \
    REFERENCE(exp, expl(x), expl(x), 0) \
    REFERENCE(log, logl(x), 1 / x, 0) \
    REFERENCE(log1p, log1pl(x), 1 / (1 + x), 0) \
    REFERENCE(expm1, expm1l(x), expl(x), 0) \
    REFERENCE(erf, erfl(x), 1.1283791670955125738961589031215L * expl(-x * x), 0) \
    REFERENCE(sin, sinl(x), cosl(x), 1) \
    REFERENCE(cos, cosl(x), -sinl(x), 1) \
    REFERENCE(tan, tanl(x), 1 + tanl(x) * tanl(x), 0) \
    REFERENCE(tanh, tanhl(x), 1 / (coshl(x) * coshl(x)), 1) \
    REFERENCE(sigmoid, gate(x), gate(x) * gate(-x), 1) \
    REFERENCE(softplus, (x > 0 ? x : 0) + log1pl(expl(-fabsl(x))), gate(x), 0) \
    REFERENCE(silu, x * gate(x), gate(x) * (1 + x * gate(-x)), 1) \
    REFERENCE(gelu, x * normal(x), normal(x) + x * density(x), 1) \
    REFERENCE(gelu_tanh, x * gate(tanh_u(x)), gate(tanh_u(x)) + (fabsl(x) > 100 ? 0 : x * gate(tanh_u(x)) * gate(-tanh_u(x)) * tanh_slope(x)), 32) \
    REFERENCE(mish, x * mish_gate(x), mish_gate(x) + (fabsl(x) > 1000 ? 0 : x * gate(x) * (1 - mish_gate(x)) * (1 + mish_gate(x))), 32) \
    REFERENCE(hardsigmoid, x <= -3 ? 0 : x >= 3 ? 1 : (x + 3) / 6, x > -3 && x < 3 ? 1 / 6.0L : 0, 0) \
    REFERENCE(hardswish, x <= -3 ? 0 : x >= 3 ? x : x * (x + 3) / 6, x <= -3 ? 0 : x < 3 ? x / 3 + 0.5L : 1, 0) \
    REFERENCE(selu, 1.05070098735548049341933498529L * (x > 0 ? x : 1.67326324235437728481704299167L * expm1l(x)), \
              1.05070098735548049341933498529L * (x > 0 ? 1 : 1.67326324235437728481704299167L * expl(x)), 0) \
    REFERENCE(relu, x > 0 ? x : 0, (real)(x > 0), 0) \
    REFERENCE(leaky_relu, x > 0 ? x : (real)(gr_real)0.1 * x, x > 0 ? 1 : (real)(gr_real)0.1, 0) \
    REFERENCE(elu, x > 0 ? x : (real)(gr_real)0.7 * expm1l(x), x > 0 ? 1 : (real)(gr_real)0.7 * expl(x), 0) \
    REFERENCE(clamp, x < -1 ? -1 : x > 0.5L ? 0.5L : x, (real)(x >= -1 && x <= 0.5L), 0) \
    REFERENCE(hardtanh, x < -1 ? -1 : x > 0.5L ? 0.5L : x, (real)(x > -1 && x < 0.5L), 0)

#define REFERENCE(op, y, dx, lost) \
    static real op##_y(real x) { return y; } \
    static real op##_dx(real x) { return (void)x, dx; }
EXTREMES
#undef REFERENCE

#define UNARY(op, ...) \
    static gr_tensor *op##_of(gr_tape *t, gr_tensor *x) { return gr_##op(t, x); }
#define UNARY_NEAR UNARY
#define UNARY_1(op, p, y, dx, a, ...) \
    static gr_tensor *op##_of(gr_tape *t, gr_tensor *x) { return gr_##op(t, x, a); }
#define UNARY_2(op, p, q, y, dx, a, b, ...) \
    static gr_tensor *op##_of(gr_tape *t, gr_tensor *x) { return gr_##op(t, x, a, b); }
#include "ops/unary.def"

static const struct { const char *name; gr_tensor *(*f)(gr_tape *, gr_tensor *); } unary[] = {
#define UNARY(op, ...) { #op, op##_of },
#define UNARY_NEAR UNARY
#define UNARY_1 UNARY
#define UNARY_2 UNARY
#include "ops/unary.def"
};

typedef struct { const char *name; real (*y)(real x), (*dx)(real x); double lost; } reference;
#define REFERENCE(op, y, dx, lost) { #op, op##_y, op##_dx, lost },
static const reference references[] = { EXTREMES };
#undef REFERENCE
static const reference *reference_of(const char *name)
{
    for (size_t k = 0; k < COUNT(references); k++)
        if (!strcmp(references[k].name, name)) return &references[k];
    return NULL;
}

/* The terms allow for rounding of the result, for cancellation, and for a subnormal factor. */
static bool right(gr_real got, real want, double lost)
{
    const gr_real as = (gr_real)want;
    if (got == as || (isnan(got) && isnan(as))) return true;
    return fabsl((real)got - want) <= 16 * EPSILON * fabsl(want) + 4 * EPSILON * lost + 128 * SMALLEST;
}

TEST(operators_of_one_input_are_right_at_the_ends_of_the_range)
{
    const double factors[] = { 1, -3, 1e-30, 1e25 };
    gr_tape *t = gr_tape_new(1, NULL);
    gr_real x[POINTS * COUNT(factors)], dy[POINTS * COUNT(factors)];
    const size_t n = COUNT(x);
    int wrong = 0;
    for (size_t i = 0; i < n; i++) x[i] = point(i / COUNT(factors)), dy[i] = (gr_real)factors[i % COUNT(factors)];
    for (size_t k = 0; k < COUNT(unary); k++) {
        const reference *const want = reference_of(unary[k].name);
        if (!want) {
            test_lacks("reference", unary[k].name);
            continue;
        }
        gr_tape_reset(t);
        gr_tensor *in = gr_want_grad(t, gr_input(t, x, GR_SHAPE(n))), *y = unary[k].f(t, in);
        assert_true(gr_backward_from(t, y, dy));
        for (size_t i = 0; i < n; i++) {
            const real v = (real)x[i], g = (real)dy[i], dx = want->dx(v) * g;
            if (!right(y->data[i], want->y(v), want->lost))
                wrong++, print_error("%s(%a) is %g and should be %Lg\n", unary[k].name, (double)x[i], (double)y->data[i], want->y(v));
            const bool range = isinf(y->data[i]) || fabsl(g) * fabsl(want->dx(v)) * EPSILON < SMALLEST || fabsl(g) > 1e20L;
            if (!range && !right(gr_grad(t, in)[i], dx, want->lost * fabs((double)dy[i])))
                wrong++, print_error("%s'(%a) %g is %g and should be %Lg\n", unary[k].name, (double)x[i], (double)dy[i],
                                     (double)gr_grad(t, in)[i], dx);
        }
    }
    gr_tape_free(t);
    assert_int_equal(wrong, 0);
}

/* ---- Two inputs: a over all points, b over all points, or a target in 0 .. 1 ---- */

static gr_tensor *mse_of(gr_tape *t, gr_tensor *a, gr_tensor *b) { return gr_mse(t, a, b, GR_REDUCE_NONE); }
static gr_tensor *l1_of(gr_tape *t, gr_tensor *a, gr_tensor *b) { return gr_l1(t, a, b, GR_REDUCE_NONE); }
static gr_tensor *huber_of(gr_tape *t, gr_tensor *a, gr_tensor *b) { return gr_huber(t, a, b, 1.5, GR_REDUCE_NONE); }
static gr_tensor *bce_of(gr_tape *t, gr_tensor *a, gr_tensor *b)
{
    return gr_bce_with_logits(t, a, b, gr_full(t, GR_SHAPE(1), 2.5), GR_REDUCE_NONE);
}

static real sign(real x) { return (real)((x > 0) - (x < 0)); }
static real soft(real x) { return softplus_y(x); }
static real largest(real a, real b) { return a > b ? a : b; }
static real clip(real x) { return x > 1.5L ? 1.5L : x < -1.5L ? -1.5L : x; }

#define PAIRS \
    PAIR(add, gr_add, a + b, 1, 1) \
    PAIR(sub, gr_sub, a - b, 1, -1) \
    PAIR(mul, gr_mul, a * b, b, a) \
    PAIR(div, gr_div, a / b, 1 / b, b == 0 || a == 0 ? -(a / b) / b : -a / b / b) \
    PAIR(maximum, gr_maximum, largest(a, b), (real)(1 + (a > b) - (a < b)) / 2, (real)(1 + (b > a) - (b < a)) / 2) \
    PAIR(minimum, gr_minimum, -largest(-a, -b), (real)(1 + (a < b) - (a > b)) / 2, (real)(1 + (b < a) - (b > a)) / 2) \
    PAIR(mse, mse_of, (a - b) * (a - b), 2 * (a - b), 2 * (b - a)) \
    PAIR(l1, l1_of, fabsl(a - b), sign(a - b), sign(b - a)) \
    PAIR(huber, huber_of, fabsl(a - b) <= 1.5L ? (a - b) * (a - b) / 2 : 1.5L * (fabsl(a - b) - 0.75L), clip(a - b), clip(b - a)) \
    PAIR(bce, bce_of, 2.5L * b * soft(-a) + (1 - b) * soft(a), (1 - b) * gate(a) - 2.5L * b * gate(-a), 2.5L * soft(-a) - soft(a))

#define PAIR(op, f, y, da, db) \
    static real op##_pair(real a, real b) { return y; } \
    static real op##_pair_a(real a, real b) { return (void)a, (void)b, da; } \
    static real op##_pair_b(real a, real b) { return (void)a, (void)b, db; }
PAIRS
#undef PAIR

typedef real pair_formula(real a, real b);
#define PAIR(op, f, y, da, db) { #op, f, { op##_pair, op##_pair_a, op##_pair_b } },
static const struct { const char *name; gr_tensor *(*f)(gr_tape *, gr_tensor *, gr_tensor *); pair_formula *want[3]; } pairs[] = { PAIRS };
#undef PAIR

TEST(operators_of_two_inputs_are_right_at_the_ends_of_the_range)
{
    static gr_real a[POINTS * POINTS], b[POINTS * POINTS], ones[POINTS * POINTS];
    const gr_real targets[] = { 0, (gr_real)SMALLEST, (gr_real)1e-10, (gr_real)0.1, 0.5, 1 };
    const char *const what[] = { "", ", by a", ", by b" };
    gr_tape *t = gr_tape_new(1, NULL);
    int wrong = 0;
    for (size_t k = 0; k < COUNT(pairs); k++) {
        const bool bce = !strcmp(pairs[k].name, "bce");
        const size_t others = bce ? COUNT(targets) : (size_t)POINTS, n = others * POINTS;
        for (size_t i = 0; i < n; i++) a[i] = point(i / others), b[i] = bce ? targets[i % others] : point(i % others), ones[i] = 1;
        gr_tape_reset(t);
        gr_tensor *x = gr_want_grad(t, gr_input(t, a, GR_SHAPE(n))), *z = gr_want_grad(t, gr_input(t, b, GR_SHAPE(n)));
        gr_tensor *y = pairs[k].f(t, x, z);
        assert_true(gr_backward_from(t, y, ones));
        const gr_real *const got[] = { y->data, gr_grad(t, x), gr_grad(t, z) };
        for (size_t i = 0; i < n; i++)
            for (int j = 0; j < 3; j++) {
                const real want = pairs[k].want[j]((real)a[i], (real)b[i]);
                const bool by_y = !strcmp(pairs[k].name, "div") && j == 2 && fabs((double)y->data[i]) < SMALLEST / EPSILON; /* y / b: y is rounded */
                if (by_y || isinf(y->data[i]) || right(got[j][i], want, bce ? (double)(2 + fabsl(want)) : 0)) continue;
                wrong++, print_error("%s(%a, %a)%s is %g and should be %Lg\n", pairs[k].name, (double)a[i], (double)b[i], what[j],
                                     (double)got[j][i], want);
            }
    }
    gr_tape_free(t);
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operators_of_one_input_are_right_at_the_ends_of_the_range),
        cmocka_unit_test(operators_of_two_inputs_are_right_at_the_ends_of_the_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
