/* tests/test_unary.c - every line of ops/unary.def. */
#include "tests/test.h"

#define NaN ((gr_real)NAN)
#define INF ((gr_real)INFINITY)

/* ---- The operators of ops/unary.def: a function for each, and the gr_gradcheck_input that it needs ---- */

#define UNARY(op, y, dx, low, ...) UNARY_TEST(op, gr_##op(t, in[0]))
#define UNARY_NEAR(op, ...) UNARY(op, __VA_ARGS__)
#define UNARY_1(op, p, y, dx, a, low, ...) UNARY_TEST(op, gr_##op(t, in[0], a))
#define UNARY_2(op, p, q, y, dx, a, b, low, ...) UNARY_TEST(op, gr_##op(t, in[0], a, b))
#define UNARY_TEST(op, call) \
    static gr_tensor *op##_of(gr_tape *t, gr_tensor *const *in, void *argument) { (void)argument; return call; }
#include "ops/unary.def"

#define KINK_AT(x) .kink = x, .has_kink = true
#define UNARY(op, y, dx, least, ...) { #op, op##_of, { .low = least, .high = __VA_ARGS__ } },
#define UNARY_NEAR(op, y, dx, limit, y_near, dx_limit, dx_near, ...) UNARY(op, y, dx, __VA_ARGS__)
#define UNARY_1(op, p, y, dx, a, ...) UNARY(op, y, dx, __VA_ARGS__)
#define UNARY_2(op, p, q, y, dx, a, b, ...) UNARY(op, y, dx, __VA_ARGS__)
static const struct { const char *name; gr_gradcheck_function *f; gr_gradcheck_input in; } ops[] = {
#include "ops/unary.def"
};

static const gr_real specials[] = { NaN, INF, -INF, 0, -0.0, 1, -1, 0x1p-126, -0x1p-127, 0x1p-149, 0x1p127, -0x1p127, 0x1p17,
                                    0x1.000002p17, -3e6, 1e20, 88.7, 89, -87.4, -104, 20, -20, 0.5, -0.5 };

/* ---- The tests ---- */

TEST(gradients_match_finite_differences)
{
    const gr_shape shapes[] = { GR_SCALAR, GR_SHAPE(1), GR_SHAPE(7), GR_SHAPE(3, 5), GR_SHAPE(2, 1, 17), GR_SHAPE(2, 3, 2, 11) };
    for (size_t k = 0; k < COUNT(ops); k++)
        for (size_t s = 0; s < COUNT(shapes); s++) {
            gr_gradcheck_input in = ops[k].in;
            in.shape = shapes[s];
            assert_true(test_gradcheck(ops[k].name, ops[k].f, NULL, &in, 1, NULL, stderr));
        }
}

static gr_tensor *clamp_below(gr_tape *t, gr_tensor *const *in, void *argument)
{
    (void)argument;
    return gr_clamp(t, in[0], -0.5, 9);
}
static gr_tensor *hardtanh_below(gr_tape *t, gr_tensor *const *in, void *argument)
{
    (void)argument;
    return gr_hardtanh(t, in[0], -0.5, 9);
}
TEST(gradients_are_right_at_the_lower_bounds_too)
{
    const gr_gradcheck_input half = { .shape = GR_SHAPE(40), .kink = -0.5, .has_kink = true };
    const gr_gradcheck_input three = { .shape = GR_SHAPE(40), .low = -5, .high = 2, .kink = -3, .has_kink = true };
    assert_true(test_gradcheck("clamp", clamp_below, NULL, &half, 1, NULL, stderr));
    assert_true(test_gradcheck("hardtanh", hardtanh_below, NULL, &half, 1, NULL, stderr));
    assert_true(test_gradcheck("hardsigmoid", hardsigmoid_of, NULL, &three, 1, NULL, stderr));
    assert_true(test_gradcheck("hardswish", hardswish_of, NULL, &three, 1, NULL, stderr));
}

/* Values and derivatives from PyTorch 2 in float64 at special points. test_parity.c has ordinary points of every operator. */
static const struct { const char *name; double p[2]; gr_real x, y, dx; } known[] = {
    { "neg", { 0 }, 1.5, -1.5, -1 },
    { "scale", { 0.25 }, -3, -0.75, 0.25 },
    { "scale", { 0.25 }, NaN, NaN, 0.25 },
    { "scale", { 0 }, INF, NaN, 0 },
    { "add_scalar", { 0.25 }, -3, -2.75, 1 },
    { "add_scalar", { 0.25 }, NaN, NaN, 1 },
    { "sign", { 0 }, 2.5, 1, 0 },
    { "sign", { 0 }, -0x1p-149, -1, 0 },
    { "sign", { 0 }, -0.0, 0, 0 },
    { "sign", { 0 }, NaN, 0, 0 },
    { "floor", { 0 }, -0.5, -1, 0 },
    { "floor", { 0 }, 2.5, 2, 0 },
    { "floor", { 0 }, -0.0, -0.0, 0 },
    { "floor", { 0 }, NaN, NaN, 0 },
    { "ceil", { 0 }, -0.5, -0.0, 0 },
    { "ceil", { 0 }, 2.5, 3, 0 },
    { "ceil", { 0 }, -INF, -INF, 0 },
    { "round", { 0 }, 0.5, 0, 0 },
    { "round", { 0 }, 1.5, 2, 0 },
    { "round", { 0 }, 2.5, 2, 0 },
    { "round", { 0 }, -0.5, -0.0, 0 },
    { "round", { 0 }, 8388607.5, 8388608, 0 },
    { "round", { 0 }, INF, INF, 0 },
    { "abs", { 0 }, -1.5, 1.5, -1 },
    { "abs", { 0 }, 0, 0, 0 },
    { "square", { 0 }, -1.5, 2.25, -3 },
    { "sqrt", { 0 }, 2, 1.4142135623730951, 0.35355339059327373 },
    { "sqrt", { 0 }, 0, 0, INF },
    { "sqrt", { 0 }, -1, NaN, NaN },
    { "rsqrt", { 0 }, 2, 0.7071067811865475, -0.17677669529663684 },
    { "rsqrt", { 0 }, 0, INF, -INF },
    { "rsqrt", { 0 }, INF, 0, 0 },
    { "exp", { 0 }, 1, 2.718281828459045, 2.718281828459045 },
    { "exp", { 0 }, -INF, 0, 0 },
    { "exp", { 0 }, INF, INF, INF },
    { "log", { 0 }, 2, 0.6931471805599453, 0.5 },
    { "log", { 0 }, 0, -INF, INF },
    { "log", { 0 }, -1, NaN, -1 },
    { "log1p", { 0 }, 2.5, 1.252762968495368, 0.2857142857142857 },
    { "log1p", { 0 }, -1e-10, -1e-10, 1.0000000001 },
    { "log1p", { 0 }, -1, -INF, INF },
    { "log1p", { 0 }, -3, NaN, -0.5 },
    { "expm1", { 0 }, 0.5, 0.6487212707001282, 1.6487212707001282 },
    { "expm1", { 0 }, -1e-10, -1e-10, 0.9999999999 },
    { "expm1", { 0 }, -INF, -1, 0 },
    { "erf", { 0 }, 0.5, 0.5204998778130465, 0.8787825789354448 },
    { "erf", { 0 }, -INF, -1, 0 },
    { "sin", { 0 }, 2, 0.9092974268256817, -0.4161468365471424 },
    { "sin", { 0 }, 1000000, -0.34999350217129294, 0.9367521275331447 },
    { "sin", { 0 }, INF, NaN, NaN },
    { "cos", { 0 }, 2, -0.4161468365471424, -0.9092974268256817 },
    { "cos", { 0 }, -1000000, 0.9367521275331447, -0.34999350217129294 },
    { "tan", { 0 }, 1.5, 14.101419947171719, 199.85004452649244 },
    { "tan", { 0 }, -1000000, 0.37362445398759902, 1.1395952326175316 },
    { "tan", { 0 }, -0.0, -0.0, 1 },
    { "tan", { 0 }, INF, NaN, NaN },
    { "tanh", { 0 }, 0.5, 0.46211715726000974, 0.7864477329659274 },
    { "tanh", { 0 }, -30, -1, 0 },
    { "sigmoid", { 0 }, 0.5, 0.6224593312018546, 0.2350037122015945 },
    { "sigmoid", { 0 }, -80, 1.8048513878454153e-35, 1.8048513878454153e-35 },
    { "softplus", { 0 }, 0.5, 0.9740769841801067, 0.6224593312018546 },
    { "softplus", { 0 }, -30, 9.357622968839737e-14, 9.357622968839299e-14 },
    { "softplus", { 0 }, 1000, 1000, 1 },
    { "silu", { 0 }, 0.5, 0.3112296656009273, 0.7399611873026519 },
    { "silu", { 0 }, -3, -0.14227761953270035, -0.08810410601516962 },
    { "silu", { 0 }, 8388607.5, 8388607.5, 1 },
    { "silu", { 0 }, 0x1p24, 0x1p24, 1 },
    { "silu", { 0 }, 0x1p53, 0x1p53, 1 },
    { "gelu", { 0 }, 0.5, 0.34573123063700656, 0.8674951246561629 },
    { "gelu", { 0 }, -1, -0.15865525393145702, -0.08331547058768635 },
    { "gelu_tanh", { 0 }, 0.5, 0.34571400982514394, 0.8673699035346424 },
    { "gelu_tanh", { 0 }, -1, -0.15880800939172324, -0.08296408384578252 },
    { "gelu_tanh", { 0 }, 1e20, 1e20, 1 },
    { "gelu_tanh", { 0 }, -1e20, -0.0, 0 },
    { "mish", { 0 }, 0.5, 0.3752452113048951, 0.8864243753577272 },
    { "mish", { 0 }, -3, -0.1456474612756246, -0.09339311453232084 },
    { "mish", { 0 }, 100, 100, 1 },
    { "mish", { 0 }, INF, INF, NaN },
    { "mish", { 0 }, -INF, NaN, NaN },
    { "hardsigmoid", { 0 }, 1, 0.6666666666666666, 0.16666666666666666 },
    { "hardsigmoid", { 0 }, -3, 0, 0 },
    { "hardsigmoid", { 0 }, 3, 1, 0 },
    { "hardsigmoid", { 0 }, NaN, NaN, 0 },
    { "hardswish", { 0 }, -2.5, -0.20833333333333334, -0.33333333333333337 },
    { "hardswish", { 0 }, -3, -0.0, 0 },
    { "hardswish", { 0 }, 3, 3, 1 },
    { "hardswish", { 0 }, INF, INF, 1 },
    { "hardswish", { 0 }, NaN, NaN, 1 },
    { "selu", { 0 }, 2.5, 2.626752468388701, 1.0507009873554805 },
    { "selu", { 0 }, -2.5, -1.6137857588732425, 0.1443135819741343 },
    { "selu", { 0 }, 0, 0, 1.7580993408473766 },
    { "selu", { 0 }, NaN, NaN, 1.0507009873554805 },
    { "relu", { 0 }, 1.5, 1.5, 1 },
    { "relu", { 0 }, 0, 0, 0 },
    { "relu", { 0 }, -0.0, 0, 0 },
    { "relu", { 0 }, -1, 0, 0 },
    { "relu", { 0 }, NaN, NaN, 1 },
    { "leaky_relu", { 0.25 }, 2, 2, 1 },
    { "leaky_relu", { 0.25 }, 0, 0, 0.25 },
    { "leaky_relu", { 0.25 }, -2, -0.5, 0.25 },
    { "leaky_relu", { 0.25 }, NaN, NaN, 0.25 },
    { "elu", { 0.5 }, 2, 2, 1 },
    { "elu", { 0.5 }, 0, 0, 0.5 },
    { "elu", { 0.5 }, -2, -0.43233235838169365, 0.06766764161830635 },
    { "elu", { 0.5 }, NaN, NaN, 1 },
    { "clamp", { -1, 2 }, -3, -1, 0 },
    { "clamp", { -1, 2 }, -1, -1, 1 },
    { "clamp", { -1, 2 }, 0.5, 0.5, 1 },
    { "clamp", { -1, 2 }, 2, 2, 1 },
    { "clamp", { -1, 2 }, 3, 2, 0 },
    { "clamp", { -1, 2 }, NaN, NaN, 0 },
    { "clamp", { 2, -1 }, 0, -1, 0 },
    { "clamp", { -1, 0x1p30 }, 0x1p24 + 2, 0x1p24 + 2, 1 },
    { "clamp", { -1, 0x1p30 }, 0x1.000002p30, 0x1p30, 0 },
    { "clamp", { -0x1p30, 1 }, -0x1p24 - 2, -0x1p24 - 2, 1 },
    { "clamp", { -0x1p30, 1 }, -0x1.000002p30, -0x1p30, 0 },
    { "clamp", { 0x1p24 + 1, INF }, 0, (gr_real)(0x1p24 + 1), 0 }, /* in float, 2^24, as in PyTorch */
    { "clamp", { 0, INF }, 3e38, (gr_real)3e38, 1 },
    { "hardtanh", { -1, 2.5 }, -1, -1, 0 },
    { "hardtanh", { -1, 2.5 }, 1.5, 1.5, 1 },
    { "hardtanh", { -1, 2.5 }, 2.5, 2.5, 0 },
    { "hardtanh", { 0, 6 }, 7, 6, 0 },
    { "hardtanh", { -1, 2.5 }, NaN, NaN, 0 },
};

static gr_tensor *by_name(gr_tape *t, const char *name, gr_tensor *x, const double *p)
{
#define CALL(op, call) \
    if (!strcmp(name, #op)) return call;
#define UNARY(op, ...) CALL(op, gr_##op(t, x))
#define UNARY_NEAR UNARY
#define UNARY_1(op, ...) CALL(op, gr_##op(t, x, p[0]))
#define UNARY_2(op, ...) CALL(op, gr_##op(t, x, p[0], p[1]))
#include "ops/unary.def"
    return NULL;
}

TEST(values_and_derivatives_are_the_known_ones)
{
    gr_tape *t = gr_tape_new(1, NULL);
    for (size_t k = 0; k < COUNT(known); k++) {
        gr_tape_reset(t);
        const gr_real want[2] = { known[k].y, known[k].dx };
        gr_tensor *x = gr_want_grad(t, gr_scalar(t, (double)known[k].x)), *y = by_name(t, known[k].name, x, known[k].p);
        assert_true(gr_backward(t, y));
        for (int i = 0; i < 2; i++) {
            const gr_real got = i ? *gr_grad(t, x) : *y->data;
            const bool same = (got == want[i] && !signbit(got) == !signbit(want[i])) || (isnan(got) && isnan(want[i]));
            if (!same && !(fabs((double)(got - want[i])) <= 1e-6 * fabs((double)want[i])))
                fail_msg("%s(%g): %s is %.9g and should be %.9g", known[k].name, (double)known[k].x, i ? "the derivative" : "the value",
                         (double)got, (double)want[i]);
        }
    }
    gr_tape_free(t);
}

/* More than two chunks, and a tail for every vector width. */
TEST(bits_do_not_depend_on_threads_or_instruction_set)
{
    for (size_t k = 0; k < COUNT(ops); k++) {
        gr_gradcheck_input in = ops[k].in;
        in.shape = GR_SHAPE(40013);
        assert_bits_stay(ops[k].f, NULL, &in, 1);
        in = (gr_gradcheck_input){ .shape = GR_SHAPE(COUNT(specials)), .values = specials };
        assert_bits_stay(ops[k].f, NULL, &in, 1);
    }
}

TEST(a_value_does_not_depend_on_its_neighbours)
{
    enum { N = 100 };
    gr_tape *t = gr_tape_new(1, NULL);
    for (size_t k = 0; k < COUNT(ops); k++) {
        gr_tape_reset(t);
        gr_tensor *x = gr_rand(t, GR_SHAPE(N), ops[k].in.low, ops[k].in.high, "x");
        const gr_tensor *y = ops[k].f(t, &x, NULL);
        for (size_t first = 0; first < 20; first++) {
            gr_tensor *part = gr_slice(t, x, first, 37);
            assert_same_bits(ops[k].f(t, &part, NULL)->data, y->data + first, 37);
        }
    }
    assert_ok(t);
    gr_tape_free(t);
}

/* More than two blocks of ops/unary.c, and a tail. */
TEST(a_gradient_does_not_depend_on_its_neighbours)
{
    enum { N = 1300, M = 37 };
    gr_real value[N], dy[N], dx[N];
    gr_tape *t = gr_tape_new(1, NULL);
    for (int i = 0; i < N; i++) dy[i] = (gr_real)(i % 7 - 3);
    for (size_t k = 0; k < COUNT(ops); k++) {
        gr_tape_reset(t);
        memcpy(value, gr_rand(t, GR_SHAPE(N), ops[k].in.low, ops[k].in.high, "x")->data, sizeof value);
        gr_tensor *x = gr_want_grad(t, gr_input(t, value, GR_SHAPE(N)));
        assert_true(gr_backward_from(t, ops[k].f(t, &x, NULL), dy));
        memcpy(dx, gr_grad(t, x), sizeof dx);
        for (size_t first = 0; first + M <= N; first += 61) {
            gr_tape_reset(t);
            x = gr_want_grad(t, gr_input(t, value + first, GR_SHAPE(M)));
            assert_true(gr_backward_from(t, ops[k].f(t, &x, NULL), dy + first));
            assert_same_bits(gr_grad(t, x), dx + first, M);
        }
    }
    gr_tape_free(t);
}

TEST(sin_cos_and_tan_of_large_arguments_are_right)
{
    gr_real x[600], y[600], z[600], w[600], dw[600];
    for (int i = 0; i < 600; i++) {
        x[i] = (gr_real)ldexp(i % 3 ? -1 - i / 700.0 : 1 + i / 700.0, i % 120);
        y[i] = (gr_real)sin((double)x[i]), z[i] = (gr_real)cos((double)x[i]);
        w[i] = (gr_real)tan((double)x[i]), dw[i] = (gr_real)(1 + tan((double)x[i]) * tan((double)x[i]));
    }
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *in = gr_want_grad(t, gr_input(t, x, GR_SHAPE(600)));
    assert_close(gr_cos(t, in)->data, z, 600, 2e-7);
    gr_tensor *v = gr_tan(t, in);
    assert_close(v->data, w, 600, 2e-7);
    assert_true(gr_backward(t, gr_sum(t, v, GR_ALL_AXES, false)));
    assert_close(gr_grad(t, in), dw, 600, 1e-6);
    gr_tape_reset(t), in = gr_want_grad(t, gr_input(t, x, GR_SHAPE(600)));
    gr_tensor *s = gr_sin(t, in);
    assert_close(s->data, y, 600, 2e-7);
    assert_true(gr_backward(t, gr_sum(t, s, GR_ALL_AXES, false)));
    assert_close(gr_grad(t, in), z, 600, 2e-7);
    gr_tape_free(t);
}

TEST(empty_inputs_give_empty_results)
{
    gr_tape *t = gr_tape_new(1, NULL);
    for (size_t k = 0; k < COUNT(ops); k++) {
        gr_tape_reset(t);
        gr_tensor *x = gr_want_grad(t, gr_zeros(t, GR_SHAPE(3, 0, 2))), *y = ops[k].f(t, &x, NULL);
        assert_true(gr_same_shape(x, y) && gr_backward_from(t, y, (gr_real[]){ 0 }));
    }
    gr_tape_free(t);
}

TEST(null_is_an_error_that_names_the_operator)
{
    gr_tape *t = gr_tape_new(1, NULL);
    for (size_t k = 0; k < COUNT(ops); k++) {
        char message[64];
        snprintf(message, sizeof message, "%s: input 1 is NULL", ops[k].name);
        assert_null(ops[k].f(t, (gr_tensor *[]){ NULL }, NULL));
        assert_message(t, message);
        assert_null(ops[k].f(t, (gr_tensor *[]){ gr_scalar(NULL, 1) }, NULL));
        gr_tape_recover(t);
    }
    assert_null(gr_exp(NULL, NULL));
    gr_tape_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_match_finite_differences),
        cmocka_unit_test(gradients_are_right_at_the_lower_bounds_too),
        cmocka_unit_test(values_and_derivatives_are_the_known_ones),
        cmocka_unit_test(bits_do_not_depend_on_threads_or_instruction_set),
        cmocka_unit_test(a_value_does_not_depend_on_its_neighbours),
        cmocka_unit_test(a_gradient_does_not_depend_on_its_neighbours),
        cmocka_unit_test(sin_cos_and_tan_of_large_arguments_are_right),
        cmocka_unit_test(empty_inputs_give_empty_results),
        cmocka_unit_test(null_is_an_error_that_names_the_operator),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
