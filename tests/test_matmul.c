/* tests/test_matmul.c - matmul over matrices, batches and vectors; linear. */
#include "examples/composed/composed.h"
#include "tests/test.h"

typedef struct {
    bool ta, tb;
} flags;

static gr_tensor *matmul(gr_tape *t, gr_tensor *const *in, void *argument)
{
    const flags *f = argument;
    return gr_matmul_t(t, in[0], f->ta, in[1], f->tb);
}
static gr_tensor *linear(gr_tape *t, gr_tensor *const *in, void *bias) { return gr_linear(t, in[0], in[1], bias ? in[2] : NULL); }
static gr_tensor *linear_twin(gr_tape *t, gr_tensor *const *in, void *bias)
{
    return composed_linear(t, in[0], in[1], bias ? in[2] : NULL);
}

/* The shapes of a and b are those without transposition; a flag swaps the last two axes. */
static gr_shape stored(gr_shape s, bool transposed)
{
    if (!transposed || s.rank < 2) return s;
    const size_t last = s.dim[s.rank - 1];
    s.dim[s.rank - 1] = s.dim[s.rank - 2], s.dim[s.rank - 2] = last;
    return s;
}

TEST(products_match_hand_computed_ones)
{
    gr_tape *t = gr_tape_new(1, NULL);
    const gr_real six[] = { 1, 2, 3, 4, 5, 6 }, other[] = { 1, -1, 0, 2, 3, 1 };
    gr_tensor *a = gr_input(t, six, GR_SHAPE(2, 3)), *b = gr_input(t, other, GR_SHAPE(3, 2));
    assert_values(gr_matmul(t, a, b), 0, 10, 6, 22, 12);
    assert_values(gr_matmul_t(t, a, true, b, true), 0, -3, 8, 7, -3, 10, 11, -3, 12, 15);
    assert_values(gr_matmul(t, gr_input(t, six, GR_SHAPE(3)), b), 0, 10, 6);
    assert_values(gr_matmul(t, a, gr_input(t, other, GR_SHAPE(3))), 0, -1, -1);
    assert_values(gr_linear(t, a, gr_input(t, other, GR_SHAPE(2, 3)), gr_input(t, six, GR_SHAPE(2))), 0, 0, 13, 0, 31);
    assert_values(gr_linear(t, gr_input(t, six, GR_SHAPE(3)), gr_input(t, other, GR_SHAPE(2, 3)), NULL), 0, -1, 11);
    gr_tensor *number = gr_matmul(t, gr_input(t, six, GR_SHAPE(3)), gr_input(t, other, GR_SHAPE(3)));
    assert_values(number, 0, -1);
    assert_int_equal(number->rank, 0);
    gr_tape_free(t);
}

TEST(shapes_are_pytorchs)
{
    const struct {
        gr_shape a, b, c;
    } cases[] = {
        { GR_SHAPE(2, 3), GR_SHAPE(3, 4), GR_SHAPE(2, 4) },
        { GR_SHAPE(3), GR_SHAPE(5, 3, 4), GR_SHAPE(5, 4) },
        { GR_SHAPE(5, 2, 3), GR_SHAPE(3), GR_SHAPE(5, 2) },
        { GR_SHAPE(7, 1, 2, 3), GR_SHAPE(5, 3, 4), GR_SHAPE(7, 5, 2, 4) },
        { GR_SHAPE(0, 3), GR_SHAPE(3, 4), GR_SHAPE(0, 4) },
        { GR_SHAPE(2, 0), GR_SHAPE(0, 4), GR_SHAPE(2, 4) },
        { GR_SHAPE(0, 2, 3), GR_SHAPE(1, 3, 4), GR_SHAPE(0, 2, 4) },
        { GR_SHAPE(1, 1, 1, 1, 1, 1, 2, 3), GR_SHAPE(3, 4), GR_SHAPE(1, 1, 1, 1, 1, 1, 2, 4) },
    };
    gr_tape *t = gr_tape_new(1, NULL);
    for (size_t i = 0; i < COUNT(cases); i++)
        for (int f = 0; f < 4; f++) {
            gr_tensor *a = gr_ones(t, stored(cases[i].a, f & 1)), *b = gr_ones(t, stored(cases[i].b, f & 2));
            gr_want_grad(t, a), gr_want_grad(t, b);
            gr_tensor *c = gr_matmul_t(t, a, f & 1, b, f & 2),
                      *want = gr_full(t, cases[i].c, (double)gr_size(a, f & 1 && a->rank > 1 ? -2 : -1));
            assert_tensors_close(c, want, 0);
            assert_true(gr_backward_from(t, c, want->data));
            gr_tape_reset(t);
        }
    gr_tape_free(t);
}

TEST(gradients_match_finite_differences)
{
    const struct {
        gr_shape a, b;
    } cases[] = {
        { GR_SHAPE(1, 1), GR_SHAPE(1, 1) },
        { GR_SHAPE(2, 3), GR_SHAPE(3, 4) },
        { GR_SHAPE(17, 9), GR_SHAPE(9, 19) },
        { GR_SHAPE(5), GR_SHAPE(5) },
        { GR_SHAPE(5), GR_SHAPE(5, 3) },
        { GR_SHAPE(3, 5), GR_SHAPE(5) },
        { GR_SHAPE(5), GR_SHAPE(2, 5, 3) },
        { GR_SHAPE(2, 3, 5), GR_SHAPE(5) },
        { GR_SHAPE(2, 3, 4), GR_SHAPE(4, 5) },
        { GR_SHAPE(3, 4), GR_SHAPE(2, 4, 5) },
        { GR_SHAPE(3, 2, 4), GR_SHAPE(3, 4, 2) },
        { GR_SHAPE(3, 1, 2, 4), GR_SHAPE(2, 4, 3) },
        { GR_SHAPE(2, 1, 3, 2), GR_SHAPE(1, 3, 2, 1) },
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        for (int f = 0; f < 4; f++) {
            flags flag = { f & 1, f & 2 };
            const gr_gradcheck_input in[] = { { .shape = stored(cases[i].a, flag.ta) }, { .shape = stored(cases[i].b, flag.tb) } };
            assert_true(test_gradcheck("matmul", matmul, &flag, in, 2, &(gr_gradcheck_config){ .seed = i + 1 }, stdout));
        }
    const gr_gradcheck_input frozen[] = { { .shape = GR_SHAPE(2, 3), .no_grad = true }, { .shape = GR_SHAPE(3, 2) } };
    assert_true(test_gradcheck("matmul, a frozen", matmul, &(flags){ 0 }, frozen, 2, NULL, stdout));
}

TEST(gradients_of_linear_match_finite_differences)
{
    const struct {
        gr_shape x;
        size_t I, O;
    } cases[] = {
        { GR_SHAPE(1), 1, 1 },     { GR_SHAPE(4), 4, 3 },       { GR_SHAPE(2, 3), 3, 17 },
        { GR_SHAPE(33, 5), 5, 2 }, { GR_SHAPE(2, 3, 7), 7, 5 }, { GR_SHAPE(2, 1, 3, 2), 2, 1 },
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        for (size_t inputs = 2; inputs <= 3; inputs++) {
            bool bias = inputs == 3;
            const gr_gradcheck_input in[] = { { .shape = cases[i].x },
                                              { .shape = GR_SHAPE(cases[i].O, cases[i].I) },
                                              { .shape = GR_SHAPE(cases[i].O) } };
            assert_true(test_gradcheck("linear", linear, bias ? &bias : NULL, in, inputs, NULL, stdout));
        }
}

/* Copy y and the gradients of in[0 .. n-1] of f to one array. The cotangent is always the same. */
static size_t values_and_gradients(gr_gradcheck_function *f, void *argument, const gr_shape *shape, size_t n, gr_real *out)
{
    gr_tape *t = gr_tape_new(3, NULL);
    gr_tensor *in[3];
    for (size_t k = 0; k < n; k++) in[k] = gr_want_grad(t, gr_randn(t, shape[k], 0, 1, "in"));
    gr_tensor *y = f(t, in, argument);
    assert_non_null(y);
    assert_true(gr_backward_from(t, y, gr_randn(t, gr_shape_of(y), 0, 1, "dy")->data));
    size_t at = 0;
    memcpy(out, y->data, y->len * sizeof *out), at += y->len;
    for (size_t k = 0; k < n; k++) memcpy(out + at, gr_grad(t, in[k]), in[k]->len * sizeof *out), at += in[k]->len;
    gr_tape_free(t);
    return at;
}

TEST(linear_agrees_with_its_composed_twin)
{
    const gr_shape shape[] = { GR_SHAPE(7, 5, 19), GR_SHAPE(33, 19), GR_SHAPE(33) };
    gr_real fused[4096], twin[4096];
    for (size_t n = 2; n <= 3; n++) {
        bool bias = n == 3;
        const size_t count = values_and_gradients(linear, bias ? &bias : NULL, shape, n, fused);
        assert_int_equal(values_and_gradients(linear_twin, bias ? &bias : NULL, shape, n, twin), count);
        assert_close(fused, twin, count, sizeof(gr_real) == 4 ? 2e-6 : 1e-14);
    }
}

TEST(bits_do_not_depend_on_threads_or_instruction_set)
{
    bool bias = true;
    const gr_gradcheck_input lin[] = { { .shape = GR_SHAPE(7, 41, 90) }, { .shape = GR_SHAPE(77, 90) }, { .shape = GR_SHAPE(77) } };
    assert_bits_stay(linear, &bias, lin, 3);
    const gr_gradcheck_input batch[] = { { .shape = GR_SHAPE(5, 1, 37, 50) }, { .shape = GR_SHAPE(3, 50, 41) } };
    assert_bits_stay(matmul, &(flags){ 0 }, batch, 2);
    const gr_gradcheck_input turned[] = { { .shape = GR_SHAPE(3, 50, 37) }, { .shape = GR_SHAPE(41, 50) } };
    assert_bits_stay(matmul, (&(flags){ true, true }), turned, 2);
}

TEST(a_sample_has_the_same_bits_in_any_batch)
{
#ifdef GR_OPENBLAS
    printf("not run: a sample's bits in any batch, OpenBLAS does not promise them\n");
    return;
#endif
    enum { B = 67, I = 93, O = 41 };
    gr_tape *t = gr_tape_new(5, NULL);
    gr_tensor *x = gr_randn(t, GR_SHAPE(B, I), 0, 1, "x"), *w = gr_randn(t, GR_SHAPE(O, I), 0, 1, "w"),
              *b = gr_randn(t, GR_SHAPE(O), 0, 1, "b");
    gr_tensor *all = gr_linear(t, x, w, b), *product = gr_matmul_t(t, x, false, w, true);
    gr_tensor *groups = gr_matmul_t(t, gr_reshape(t, x, GR_SHAPE(B, 1, I)), false, gr_reshape(t, w, GR_SHAPE(1, O, I)), true);
    for (size_t first = 0; first < B; first++) {
        const size_t rows = first + 5 < B ? 1 + first % 5 : 1;
        gr_tensor *some = gr_slice(t, x, first, rows);
        assert_same_bits(gr_linear(t, some, w, b)->data, all->data + first * O, rows * O);
        assert_same_bits(gr_matmul_t(t, some, false, w, true)->data, product->data + first * O, rows * O);
    }
    assert_same_bits(groups->data, product->data, product->len);
    gr_tape_free(t);
}

TEST(shapes_that_do_not_fit_are_named)
{
    gr_tape *t = gr_tape_new(1, NULL);
#define NEW(...) gr_zeros(t, GR_SHAPE(__VA_ARGS__))
    assert_fails(t, gr_matmul(t, NEW(2, 3), NEW(4, 5)), "matmul: a is [2, 3] and b is [4, 5]: a row of a holds 3 values, a column of b 4");
    assert_fails(t, gr_matmul_t(t, NEW(2, 3), true, NEW(2, 5), true),
                 "matmul: a is [2, 3] transposed and b is [2, 5] transposed: a row of a holds 2 values, a column of b 5");
    assert_fails(t, gr_matmul(t, NEW(3), NEW(4)), "matmul: a is [3] and b is [4]: a row of a holds 3 values, a column of b 4");
    assert_fails(t, gr_matmul(t, gr_scalar(t, 1), NEW(4)), "matmul: a must be a vector or a matrix; got []");
    assert_fails(t, gr_matmul(t, NEW(4), gr_scalar(t, 1)), "matmul: b must be a vector or a matrix; got []");
    assert_fails(t, gr_matmul(t, NEW(2, 3, 4), NEW(3, 4, 5)),
                 "matmul: a is [2, 3, 4] and b is [3, 4, 5]: the axes before the matrices do not broadcast: "
                 "counted from the last, sizes must be equal or 1");
    assert_fails(t, gr_matmul(t, NULL, NEW(4)), "matmul: input 1 is NULL");
    assert_fails(t, gr_linear(t, gr_scalar(t, 1), NEW(4, 3), NULL), "linear: x must have at least one axis; got []");
    assert_fails(t, gr_linear(t, NEW(2, 3), NEW(4, 5), NULL), "linear: w is [4, 5], so x must be [.., 5]; got [2, 3]");
    assert_fails(t, gr_linear(t, NEW(2, 3), NEW(3), NULL), "linear: w must be [O, I]; got [3]");
    assert_fails(t, gr_linear(t, NEW(2, 3), NEW(4, 3), NEW(3)), "linear: w is [4, 3], so b must be [4]; got [3]");
    assert_fails(t, gr_linear(t, NEW(2, 3), NEW(4, 3), NEW(1, 4)), "linear: w is [4, 3], so b must be [4]; got [1, 4]");
    gr_tape_free(t);
}

TEST(linear_of_no_rows_no_inputs_and_no_outputs_is_accepted)
{
    const gr_shape shapes[][3] = { { GR_SHAPE(0, 3), GR_SHAPE(2, 3), GR_SHAPE(2) },
                                   { GR_SHAPE(4, 0), GR_SHAPE(2, 0), GR_SHAPE(2) },
                                   { GR_SHAPE(4, 3), GR_SHAPE(0, 3), GR_SHAPE(0) } };
    bool bias = true;
    gr_real got[64];
    for (size_t i = 0; i < COUNT(shapes); i++) {
        const gr_gradcheck_input in[] = { { .shape = shapes[i][0] }, { .shape = shapes[i][1] }, { .shape = shapes[i][2] } };
        values_and_gradients(linear, &bias, shapes[i], 3, got);
        assert_true(test_gradcheck("linear of nothing", linear, &bias, in, 3, NULL, stdout));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_match_hand_computed_ones),
        cmocka_unit_test(shapes_are_pytorchs),
        cmocka_unit_test(gradients_match_finite_differences),
        cmocka_unit_test(gradients_of_linear_match_finite_differences),
        cmocka_unit_test(linear_agrees_with_its_composed_twin),
        cmocka_unit_test(bits_do_not_depend_on_threads_or_instruction_set),
        cmocka_unit_test(a_sample_has_the_same_bits_in_any_batch),
        cmocka_unit_test(shapes_that_do_not_fit_are_named),
        cmocka_unit_test(linear_of_no_rows_no_inputs_and_no_outputs_is_accepted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
