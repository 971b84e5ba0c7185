/* tests/test_layer_norm.c - layer_norm: gradients, its twin, exact facts, accuracy, bits, messages. */
#include "examples/composed/composed.h"
#include "tests/compare.h"
#include <stdio.h>

enum { IN_DOUBLE = sizeof(gr_real) == 8 };

/* The inputs are x, then gamma and beta if the case has them. */
typedef struct {
    int axes;
    bool gamma, beta;
    double eps;
} norm;
typedef gr_tensor *layer_norm_function(gr_tape *, gr_tensor *, int, gr_tensor *, gr_tensor *, double);

static gr_tensor *call(layer_norm_function *f, gr_tape *t, gr_tensor *const *in, const norm *n)
{
    return f(t, in[0], n->axes, n->gamma ? in[1] : NULL, n->beta ? in[1 + n->gamma] : NULL, n->eps);
}
static gr_tensor *fused(gr_tape *t, gr_tensor *const *in, void *n) { return call(gr_layer_norm, t, in, n); }
static gr_tensor *composed(gr_tape *t, gr_tensor *const *in, void *n) { return call(composed_layer_norm, t, in, n); }

static size_t inputs_of(const norm *n, gr_shape x, gr_gradcheck_input *in)
{
    gr_shape last = { .rank = n->axes };
    for (int i = 0; i < n->axes; i++) last.dim[i] = x.dim[x.rank - n->axes + i];
    for (int i = 0; i < 3; i++) in[i] = (gr_gradcheck_input){ .shape = i ? last : x };
    return 1u + n->gamma + n->beta;
}

static const struct {
    gr_shape x;
    int axes;
} cases[] = {
    { { 1, { 1 } }, 1 },          { { 1, { 5 } }, 1 },          { { 2, { 3, 2 } }, 1 },    { { 2, { 5, 16 } }, 1 },
    { { 2, { 7, 17 } }, 1 },      { { 2, { 3, 5 } }, 2 },       { { 3, { 2, 3, 5 } }, 1 }, { { 3, { 2, 3, 11 } }, 2 },
    { { 4, { 3, 2, 3, 5 } }, 3 }, { { 4, { 2, 1, 3, 4 } }, 1 }, { { 2, { 130, 33 } }, 1 },
};

/* ---- Gradients ---- */

/* eps is 0.1, because with a smaller one rows of a few close values have too much curvature for finite differences. */
TEST(gradient_matches_finite_differences)
{
    for (size_t k = 0; k < COUNT(cases); k++)
        for (int affine = 0; affine < 4; affine++) {
            norm n = { cases[k].axes, affine & 1, affine & 2, 0.1 };
            gr_gradcheck_input in[3];
            const size_t ins = inputs_of(&n, cases[k].x, in);
            if (!test_gradcheck("layer_norm", fused, &n, in, ins, NULL, stderr)) fail_msg("case %zu, affine %d", k, affine);
        }
}

TEST(gradient_is_right_when_only_some_inputs_want_it)
{
    norm n = { 1, true, true, 0.1 };
    for (int wanted = 1; wanted < 8; wanted++) {
        gr_gradcheck_input in[3];
        inputs_of(&n, GR_SHAPE(9, 20), in);
        for (int i = 0; i < 3; i++) in[i].no_grad = !(wanted >> i & 1);
        assert_true(test_gradcheck("layer_norm", fused, &n, in, 3, NULL, stderr));
    }
}

TEST(agrees_with_its_composed_twin)
{
    for (size_t k = 0; k < COUNT(cases); k++)
        for (int affine = 0; affine < 4; affine++) {
            norm n = { cases[k].axes, affine & 1, affine & 2, 1e-3 };
            gr_gradcheck_input in[3];
            const size_t ins = inputs_of(&n, cases[k].x, in);
            assert_agree(fused, composed, &n, in, ins, IN_DOUBLE ? 1e-11 : 2e-5);
        }
}

/* ---- Exact facts ---- */

TEST(values_match_hand_computed_ones)
{
    gr_tape *t = gr_tape_new(1, NULL);
    const gr_real x[] = { 1, 2, 3, 4 }, dy[] = { 1, 0, 0 };
    assert_values(gr_layer_norm(t, gr_input(t, x, GR_SHAPE(3)), 1, NULL, NULL, 1e-12), 1e-6, -1.2247449, 0, 1.2247449);
    assert_values(gr_layer_norm(t, gr_input(t, x, GR_SHAPE(4)), 1, NULL, NULL, 1e-5), 1e-6, -1.3416354, -0.4472118, 0.4472118, 1.3416354);
    gr_tensor *y = gr_want_grad(t, gr_input(t, (gr_real[]){ 1, 2, 4 }, GR_SHAPE(3)));
    assert_true(gr_backward_from(t, gr_layer_norm(t, y, 1, NULL, NULL, GR_NONE), dy));
    assert_close(gr_grad(t, y), ((gr_real[]){ 0.2290810, -0.3436216, 0.1145405 }), 3, 1e-6);
    gr_tape_free(t);
}

TEST(a_row_of_equal_values_gives_beta_and_a_finite_gradient)
{
    const double values[] = { 0, 0.1, -1e4 / 3, 3e38, 1e-40 }, eps[] = { 1e-5, 0 };
    gr_tape *t = gr_tape_new(1, NULL);
    for (size_t v = 0; v < COUNT(values); v++)
        for (size_t e = 0; e < COUNT(eps); e++) {
            gr_tape_reset(t);
            gr_tensor *x = gr_want_grad(t, gr_full(t, GR_SHAPE(3, 37), values[v])),
                      *gamma = gr_want_grad(t, gr_randn(t, GR_SHAPE(37), 0, 1, "g"));
            gr_tensor *beta = gr_want_grad(t, gr_randn(t, GR_SHAPE(37), 0, 1, "b")), *dy = gr_randn(t, GR_SHAPE(3, 37), 0, 1, "dy");
            gr_tensor *y = gr_layer_norm(t, x, 1, gamma, beta, eps[e]);
            for (size_t r = 0; r < 3; r++) assert_same_bits(y->data + 37 * r, beta->data, 37);
            assert_true(gr_backward_from(t, y, dy->data));
            for (size_t i = 0; i < x->len; i++) assert_true(isfinite(gr_grad(t, x)[i]));
            for (size_t i = 0; i < 37; i++) assert_true(gr_grad(t, gamma)[i] == 0);
        }
    gr_tape_free(t);
}

TEST(a_row_of_one_value_gives_beta_and_no_gradient)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *x = gr_want_grad(t, gr_randn(t, GR_SHAPE(9, 1), 5, 3, "x")), *gamma = gr_want_grad(t, gr_full(t, GR_SHAPE(1), 1.7));
    gr_tensor *beta = gr_want_grad(t, gr_full(t, GR_SHAPE(1), 0.3)), *dy = gr_randn(t, GR_SHAPE(9, 1), 0, 1, "dy");
    gr_tensor *y = gr_layer_norm(t, x, 1, gamma, beta, 1e-5);
    for (size_t i = 0; i < 9; i++) assert_true(y->data[i] == beta->data[0]);
    assert_true(gr_backward_from(t, y, dy->data));
    for (size_t i = 0; i < 9; i++) assert_true(gr_grad(t, x)[i] == 0);
    assert_true(gr_grad(t, gamma)[0] == 0);
    assert_true(gr_grad(t, beta)[0] != 0);
    gr_tape_free(t);
}

TEST(a_shift_of_x_changes_nothing_so_its_gradient_sums_to_0)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *x = gr_want_grad(t, gr_randn(t, GR_SHAPE(50, 77), 3, 2, "x")), *gamma = gr_randn(t, GR_SHAPE(77), 0, 1, "g");
    gr_tensor *dy = gr_randn(t, GR_SHAPE(50, 77), 0, 1, "dy");
    assert_true(gr_backward_from(t, gr_layer_norm(t, x, 1, gamma, NULL, 1e-5), dy->data));
    for (size_t r = 0; r < 50; r++) {
        double sum = 0, size = 0;
        for (size_t i = 0; i < 77; i++) sum += (double)gr_grad(t, x)[77 * r + i], size += fabs((double)gr_grad(t, x)[77 * r + i]);
        assert_true(fabs(sum) <= (IN_DOUBLE ? 1e-14 : 1e-6) * size);
    }
    gr_tape_free(t);
}

/* ---- Accuracy far from 0: y and dx of one row in long double, from the same x ---- */

static void exact_row(const gr_real *x, const gr_real *dy, size_t N, double eps, gr_real *y, gr_real *dx)
{
    long double mean = 0, var = 0, g = 0, gx = 0;
    for (size_t i = 0; i < N; i++) mean += (long double)x[i] / N;
    for (size_t i = 0; i < N; i++) var += ((long double)x[i] - mean) * ((long double)x[i] - mean) / N;
    const long double rstd = 1 / sqrtl(var + (long double)eps);
    for (size_t i = 0; i < N; i++) g += (long double)dy[i] / N, gx += (long double)dy[i] * ((long double)x[i] - mean) * rstd / N;
    for (size_t i = 0; i < N; i++) {
        const long double xhat = ((long double)x[i] - mean) * rstd;
        y[i] = (gr_real)xhat, dx[i] = (gr_real)(rstd * ((long double)dy[i] - g - xhat * gx));
    }
}

TEST(a_mean_far_above_the_deviation_costs_no_accuracy)
{
    enum { N = 1024 };
    gr_real want_y[N], want_dx[N];
    const double means[] = { 0, 100, 1e4, 1e5, -1e6 };
    for (size_t m = 0; m < COUNT(means); m++) {
        gr_tape *t = gr_tape_new(1, NULL);
        gr_tensor *x = gr_want_grad(t, gr_randn(t, GR_SHAPE(1, N), means[m], 1, "x")), *dy = gr_randn(t, GR_SHAPE(1, N), 0, 1, "dy");
        gr_tensor *y = gr_layer_norm(t, x, 1, NULL, NULL, 1e-5);
        assert_true(gr_backward_from(t, y, dy->data));
        exact_row(x->data, dy->data, N, 1e-5, want_y, want_dx);
        assert_close(y->data, want_y, N, IN_DOUBLE ? 1e-14 : 5e-7);
        assert_close(gr_grad(t, x), want_dx, N, IN_DOUBLE ? 1e-14 : 1e-6);
        gr_tape_free(t);
    }
}

/* ---- Bits ---- */

TEST(bits_do_not_depend_on_threads_or_instruction_set)
{
    const struct {
        gr_shape x;
        int axes;
    } large[] = { { { 2, { 301, 67 } }, 1 }, { { 3, { 7, 13, 130 } }, 2 }, { { 2, { 65, 128 } }, 1 }, { { 2, { 3, 2050 } }, 1 } };
    for (size_t k = 0; k < COUNT(large); k++)
        for (int affine = 0; affine < 4; affine++) {
            norm n = { large[k].axes, affine & 1, affine & 2, 1e-5 };
            gr_gradcheck_input in[3];
            const size_t ins = inputs_of(&n, large[k].x, in);
            assert_bits_stay(fused, &n, in, ins);
        }
}

TEST(a_row_has_the_same_bits_alone_and_in_a_batch)
{
    norm n = { 1, true, true, 1e-5 };
    gr_gradcheck_input in[3];
    const size_t ins = inputs_of(&n, GR_SHAPE(131, 45), in);
    in[1].no_grad = in[2].no_grad = true;
    assert_alone_as_in_batch(fused, &n, in, ins, 0);
}

/* ---- Edges ---- */

TEST(a_tensor_of_size_0_is_accepted)
{
    const struct {
        gr_shape x;
        int axes;
    } empty[] = { { { 2, { 0, 3 } }, 1 }, { { 2, { 3, 0 } }, 1 }, { { 1, { 0 } }, 1 }, { { 3, { 2, 0, 3 } }, 2 } };
    for (size_t k = 0; k < COUNT(empty); k++) {
        norm n = { empty[k].axes, true, true, 1e-5 };
        gr_gradcheck_input in[3];
        inputs_of(&n, empty[k].x, in);
        compared c = compare_start(fused, &n, in, 3);
        assert_true(gr_same_shape(c.y, c.x[0]));
        compare_backward(&c, &(gr_real){ 1 });
        for (size_t i = 0; i < c.x[1]->len; i++) assert_true(gr_grad(c.t, c.x[1])[i] == 0);
        gr_tape_free(c.t);
    }
}

TEST(out_of_memory_is_an_error_anywhere)
{
    norm n = { 1, true, false, 1e-5 };
    gr_gradcheck_input in[3];
    assert_survives_failing_memory(fused, &n, in, inputs_of(&n, GR_SHAPE(90, 3000), in)); /* large enough to need its own blocks */
}

TEST(a_nan_reaches_its_own_row_only)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *x = gr_randn(t, GR_SHAPE(3, 20), 0, 1, "x");
    x->data[33] = (gr_real)NAN;
    const gr_tensor *y = gr_layer_norm(t, x, 1, NULL, NULL, GR_NONE);
    for (size_t i = 0; i < y->len; i++) assert_true((i / 20 == 1) == !!isnan(y->data[i]));
    gr_tape_free(t);
}

TEST(gamma_beta_axes_and_eps_that_do_not_fit_are_named)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *x = gr_zeros(t, GR_SHAPE(2, 3)), *g = gr_zeros(t, GR_SHAPE(2));
    assert_fails(t, gr_layer_norm(t, gr_layer_norm(t, x, 1, g, g, 1e-5), 1, NULL, NULL, 1e-5),
                 "layer_norm: x is [2, 3], so gamma and beta must hold 3 values; got [2] and [2]");
    x = gr_zeros(t, GR_SHAPE(2, 3)), g = gr_zeros(t, GR_SHAPE(2));
    assert_fails(t, gr_layer_norm(t, x, 2, NULL, g, 1e-5),
                 "layer_norm: x is [2, 3], so gamma and beta must hold 6 values; got NULL and [2]");
    assert_fails(t, gr_layer_norm(t, gr_zeros(t, GR_SHAPE(2, 3)), 3, NULL, NULL, 1e-5),
                 "layer_norm: x is [2, 3], so trailing must be in 1 .. 2; got 3");
    assert_fails(t, gr_layer_norm(t, gr_zeros(t, GR_SHAPE(2, 3)), 0, NULL, NULL, 1e-5),
                 "layer_norm: x is [2, 3], so trailing must be in 1 .. 2; got 0");
    assert_fails(t, gr_layer_norm(t, gr_zeros(t, GR_SCALAR), 1, NULL, NULL, 1e-5), "layer_norm: x is [], which has no axis to normalize");
    assert_fails(t, gr_layer_norm(t, gr_zeros(t, GR_SHAPE(2)), 1, NULL, NULL, -2), "layer_norm: eps must be 0 or more, or GR_NONE; got -2");
    assert_fails(t, gr_layer_norm(t, NULL, 1, NULL, NULL, 1e-5), "layer_norm: input 1 is NULL");
    gr_tape_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradient_matches_finite_differences),
        cmocka_unit_test(gradient_is_right_when_only_some_inputs_want_it),
        cmocka_unit_test(agrees_with_its_composed_twin),
        cmocka_unit_test(values_match_hand_computed_ones),
        cmocka_unit_test(a_row_of_equal_values_gives_beta_and_a_finite_gradient),
        cmocka_unit_test(a_row_of_one_value_gives_beta_and_no_gradient),
        cmocka_unit_test(a_shift_of_x_changes_nothing_so_its_gradient_sums_to_0),
        cmocka_unit_test(a_mean_far_above_the_deviation_costs_no_accuracy),
        cmocka_unit_test(bits_do_not_depend_on_threads_or_instruction_set),
        cmocka_unit_test(a_row_has_the_same_bits_alone_and_in_a_batch),
        cmocka_unit_test(a_tensor_of_size_0_is_accepted),
        cmocka_unit_test(out_of_memory_is_an_error_anywhere),
        cmocka_unit_test(a_nan_reaches_its_own_row_only),
        cmocka_unit_test(gamma_beta_axes_and_eps_that_do_not_fit_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
