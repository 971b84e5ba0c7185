/* tests/test_softmax.c - softmax and log_softmax: gradients, their twins, extremes, bits on every axis, messages. */
#include "examples/composed/composed.h"
#include "tests/compare.h"
#include <stdio.h>

enum { IN_DOUBLE = sizeof(gr_real) == 8 };

#define ALONG(name, op) \
    static gr_tensor *name(gr_tape *t, gr_tensor *const *in, void *axis) { return op(t, in[0], *(int *)axis); }
ALONG(softmax, gr_softmax)
ALONG(log_softmax, gr_log_softmax)
ALONG(softmax_twin, composed_softmax)
ALONG(log_softmax_twin, composed_log_softmax)

static const struct {
    const char *name;
    gr_gradcheck_function *f, *twin;
} ops[] = {
    { "softmax", softmax, softmax_twin },
    { "log_softmax", log_softmax, log_softmax_twin },
};
static const gr_shape shapes[] = {
    { 1, { 1 } },     { 1, { 2 } },     { 1, { 16 } },      { 1, { 37 } },       { 2, { 3, 5 } },
    { 2, { 17, 4 } }, { 2, { 5, 33 } }, { 3, { 2, 3, 5 } }, { 3, { 3, 18, 2 } }, { 4, { 2, 3, 2, 4 } },
};

TEST(gradients_match_finite_differences_on_every_axis)
{
    for (size_t k = 0; k < COUNT(ops); k++)
        for (size_t s = 0; s < COUNT(shapes); s++)
            for (int axis = -1; axis < shapes[s].rank; axis++)
                if (!test_gradcheck(ops[k].name, ops[k].f, &axis, &(gr_gradcheck_input){ .shape = shapes[s] }, 1, NULL, stderr))
                    fail_msg("%s, shape %zu, axis %d", ops[k].name, s, axis);
}

TEST(agree_with_their_composed_twins)
{
    for (size_t k = 0; k < COUNT(ops); k++)
        for (size_t s = 0; s < COUNT(shapes); s++)
            for (int axis = 0; axis < shapes[s].rank; axis++)
                assert_agree(ops[k].f, ops[k].twin, &axis, &(gr_gradcheck_input){ .shape = shapes[s] }, 1, IN_DOUBLE ? 1e-14 : 5e-6);
}

TEST(values_match_hand_computed_ones)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *x = gr_input(t, (gr_real[]){ 1, 2, 3 }, GR_SHAPE(3));
    assert_values(gr_softmax(t, x, 0), 3e-7, 0.09003057, 0.24472847, 0.66524096);
    assert_values(gr_log_softmax(t, x, 0), 3e-7, -2.40760596, -1.40760596, -0.40760596);
    gr_tensor *one = gr_input(t, (gr_real[]){ -5, 1e30 }, GR_SHAPE(2, 1));
    assert_values(gr_softmax(t, one, 1), 0, 1, 1);
    assert_values(gr_log_softmax(t, one, 1), 0, 0, 0);
    gr_tape_free(t);
}

TEST(probabilities_add_up_to_1)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *y = gr_softmax(t, gr_rand(t, GR_SHAPE(40, 999), -80, 80, "x"), 1);
    for (size_t r = 0; r < 40; r++) {
        double sum = 0;
        for (size_t i = 0; i < 999; i++) sum += (double)y->data[999 * r + i];
        assert_true(fabs(sum - 1) < (IN_DOUBLE ? 1e-14 : 1e-6));
    }
    gr_tape_free(t);
}

/* ---- Extremes ---- */

TEST(huge_logits_do_not_overflow_and_minus_infinity_has_probability_0)
{
    const gr_real inf = (gr_real)INFINITY, x[] = { 1e30, -inf, 1e30, -1e30 };
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *row = gr_want_grad(t, gr_input(t, x, GR_SHAPE(4))), *column = gr_want_grad(t, gr_input(t, x, GR_SHAPE(4, 1, 1)));
    gr_tensor *wide = gr_expand(t, column, GR_SHAPE(4, 1, 3)); /* the same along an axis that is not the last */
    assert_values(gr_softmax(t, row, 0), 0, 0.5, 0, 0.5, 0);
    assert_values(gr_softmax(t, wide, 0), 0, 0.5, 0.5, 0.5, 0, 0, 0, 0.5, 0.5, 0.5, 0, 0, 0);
    gr_tensor *y = gr_log_softmax(t, row, 0);
    assert_close(y->data, ((gr_real[]){ -0.69314718, -inf, -0.69314718, -2e30 }), 4, 1e-7);
    assert_true(gr_backward_from(t, y, (gr_real[]){ 1, 0, 0, 0 }));
    assert_close(gr_grad(t, row), ((gr_real[]){ 0.5, 0, -0.5, 0 }), 4, 1e-6);
    gr_tape_free(t);
}

/* As a mask has them. The values before them get the bits that they have alone. */
TEST(values_far_below_the_maximum_count_as_nothing)
{
    enum { SEEN = 37, ALL = 61 };
    const gr_real far[] = { (gr_real)-INFINITY, (gr_real)-1e30, -1000000000, -12345, -900 };
    for (size_t k = 0; k < COUNT(ops); k++)
        for (size_t f = 0; f < COUNT(far); f++)
            for (int axis = 0; axis < 2; axis++) {
                gr_tape *t = gr_tape_new(1, NULL);
                gr_tensor *x = gr_rand(t, axis ? GR_SHAPE(5, ALL) : GR_SHAPE(ALL, 5), -3, 3, "x"), *dy = gr_rand(t, gr_shape_of(x), -1, 1, "dy");
                for (size_t i = 0; i < x->len; i++)
                    if ((axis ? i % ALL : i / 5) >= SEEN) x->data[i] = far[f], dy->data[i] = 0;
                gr_tensor *seen = gr_narrow(t, x, axis, 0, SEEN);
                gr_tensor *whole = gr_want_grad(t, gr_input(t, x->data, gr_shape_of(x)));
                gr_tensor *y = ops[k].f(t, &whole, &axis), *alone = ops[k].f(t, &seen, &axis);
                assert_same_bits(gr_narrow(t, y, axis, 0, SEEN)->data, alone->data, alone->len);
                gr_tensor *rest = gr_narrow(t, y, axis, SEEN, ALL - SEEN);
                for (size_t i = 0; i < rest->len; i++) assert_true(k ? rest->data[i] <= far[f] + 3 : rest->data[i] == 0);
                assert_true(gr_backward_from(t, y, dy->data));
                gr_tensor *dx = gr_input(t, gr_grad(t, whole), gr_shape_of(x));
                for (size_t i = 0; i < x->len; i++) assert_true((axis ? i % ALL : i / 5) < SEEN || dx->data[i] == 0);
                gr_tape_free(t);
            }
}

TEST(minus_infinity_alone_or_a_nan_gives_nan_in_its_own_row_only)
{
    const gr_real inf = (gr_real)INFINITY, x[] = { -inf, -inf, 0, 0, (gr_real)NAN, 0, inf, 0 };
    gr_tape *t = gr_tape_new(1, NULL);
    for (size_t k = 0; k < COUNT(ops); k++)
        for (int axis = 0; axis < 2; axis++) { /* rows of the matrix, then columns of its transpose */
            gr_tensor *m = gr_input(t, x, GR_SHAPE(4, 2)), *y = axis ? m : gr_transpose(t, m, 0, 1);
            y = ops[k].f(t, &y, &axis);
            if (!axis) y = gr_transpose(t, y, 0, 1);
            const gr_real half = k ? (gr_real)-0.69314718 : (gr_real)0.5;
            assert_ok(t);
            for (size_t i = 0; i < 8; i++)
                if (i != 2 && i != 3 && i != 7) assert_true(isnan(y->data[i]));
            assert_close(y->data + 2, ((gr_real[]){ half, half }), 2, 1e-7);
        }
    gr_tape_free(t);
}

/* ---- Bits ---- */

TEST(bits_do_not_depend_on_threads_or_instruction_set)
{
    const gr_shape large[] = { GR_SHAPE(700, 10), GR_SHAPE(33, 1000), GR_SHAPE(19, 67, 35) };
    for (size_t k = 0; k < COUNT(ops); k++)
        for (size_t s = 0; s < COUNT(large); s++)
            for (int axis = 0; axis < large[s].rank; axis++)
                assert_bits_stay(ops[k].f, &axis, &(gr_gradcheck_input){ .shape = large[s] }, 1);
}

TEST(a_sample_has_the_same_bits_alone_and_in_a_batch)
{
    for (size_t k = 0; k < COUNT(ops); k++) {
        assert_alone_as_in_batch(ops[k].f, &(int){ 1 }, &(gr_gradcheck_input){ .shape = GR_SHAPE(5, 37) }, 1, 0);
        assert_alone_as_in_batch(ops[k].f, &(int){ 0 }, &(gr_gradcheck_input){ .shape = GR_SHAPE(37, 21) }, 1, 1); /* alone, it is a single row */
        assert_alone_as_in_batch(ops[k].f, &(int){ 1 }, &(gr_gradcheck_input){ .shape = GR_SHAPE(3, 20, 19) }, 1, 2);
    }
}

TEST(a_row_has_the_bits_of_a_column_however_far_its_values_are_apart)
{
    const double apart[] = { 40, 86, 88, 300 };
    for (size_t k = 0; k < COUNT(ops); k++)
        for (size_t a = 0; a < COUNT(apart); a++)
            for (size_t C = 1; C < 700; C += C < 40 ? 3 : 300) {
                gr_tape *t = gr_tape_new(1, NULL);
                gr_tensor *values = gr_rand(t, GR_SHAPE(6, C), -apart[a], 0, "x"), *dy = gr_rand(t, GR_SHAPE(6, C), -1, 1, "dy");
                gr_tensor *x = gr_want_grad(t, gr_input(t, values->data, GR_SHAPE(6, C))), *turned = gr_want_grad(t, gr_transpose(t, values, 0, 1));
                gr_tensor *row = ops[k].f(t, &x, &(int){ 1 }), *column = gr_transpose(t, ops[k].f(t, &turned, &(int){ 0 }), 0, 1);
                assert_same_bits(row->data, column->data, row->len);
                assert_true(gr_backward(t, gr_sum(t, gr_mul(t, gr_add(t, row, column), dy), GR_ALL_AXES, false)));
                assert_same_bits(gr_grad(t, x), gr_transpose(t, gr_input(t, gr_grad(t, turned), GR_SHAPE(C, 6)), 0, 1)->data, x->len);
                gr_tape_free(t);
            }
}

/* ---- Edges ---- */

TEST(a_tensor_of_size_0_is_accepted)
{
    const gr_shape empty[] = { GR_SHAPE(0), GR_SHAPE(0, 3), GR_SHAPE(3, 0), GR_SHAPE(2, 0, 4) };
    for (size_t k = 0; k < COUNT(ops); k++)
        for (size_t s = 0; s < COUNT(empty); s++)
            for (int axis = 0; axis < empty[s].rank; axis++) {
                compared c = compare_start(ops[k].f, &axis, &(gr_gradcheck_input){ .shape = empty[s] }, 1);
                assert_true(gr_same_shape(c.y, c.x[0]));
                compare_backward(&c, &(gr_real){ 1 });
                gr_tape_free(c.t);
            }
}

TEST(out_of_memory_is_an_error_anywhere)
{
    for (size_t k = 0; k < COUNT(ops); k++)
        assert_survives_failing_memory(ops[k].f, &(int){ 0 }, &(gr_gradcheck_input){ .shape = GR_SHAPE(300, 1000) }, 1);
}

TEST(an_axis_that_x_lacks_is_named)
{
    char message[100];
    gr_tape *t = gr_tape_new(1, NULL);
    for (size_t k = 0; k < COUNT(ops); k++) {
        gr_tape_recover(t);
        gr_tensor *x = gr_zeros(t, GR_SHAPE(2, 3)), *none = NULL;
        assert_null(ops[k].f(t, &x, &(int){ 2 }));
        snprintf(message, sizeof message, "%s: x is [2, 3], so an axis must be in -2 .. 1; got 2", ops[k].name);
        assert_message(t, message);
        gr_tape_recover(t);
        assert_null(ops[k].f(t, &none, &(int){ 0 }));
        snprintf(message, sizeof message, "%s: input 1 is NULL", ops[k].name);
        assert_message(t, message);
        gr_tape_recover(t);
        x = gr_zeros(t, GR_SCALAR);
        assert_null(ops[k].f(t, &x, &(int){ 0 }));
        snprintf(message, sizeof message, "%s: x is [] and has no axis; got axis 0", ops[k].name);
        assert_message(t, message);
    }
    gr_tape_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_match_finite_differences_on_every_axis),
        cmocka_unit_test(agree_with_their_composed_twins),
        cmocka_unit_test(values_match_hand_computed_ones),
        cmocka_unit_test(probabilities_add_up_to_1),
        cmocka_unit_test(huge_logits_do_not_overflow_and_minus_infinity_has_probability_0),
        cmocka_unit_test(values_far_below_the_maximum_count_as_nothing),
        cmocka_unit_test(minus_infinity_alone_or_a_nan_gives_nan_in_its_own_row_only),
        cmocka_unit_test(bits_do_not_depend_on_threads_or_instruction_set),
        cmocka_unit_test(a_sample_has_the_same_bits_alone_and_in_a_batch),
        cmocka_unit_test(a_row_has_the_bits_of_a_column_however_far_its_values_are_apart),
        cmocka_unit_test(a_tensor_of_size_0_is_accepted),
        cmocka_unit_test(out_of_memory_is_an_error_anywhere),
        cmocka_unit_test(an_axis_that_x_lacks_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
