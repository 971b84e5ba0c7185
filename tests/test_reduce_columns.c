/* tests/test_reduce_columns.c - reductions over leading axes: the values and gradients of columns have the bits of those of rows. (Not those of sum and
 * mean: columns have another order of additions.) */
#include "tests/test.h"

static gr_tensor *over(gr_tape *t, int k, gr_tensor *x, int axis)
{
    const gr_axes axes = GR_AXES(axis);
    switch (k) {
    case 0: return gr_var(t, x, axes, 1, false);
    case 1: return gr_max(t, x, axes, false);
    case 2: return gr_min(t, x, axes, false);
    case 3: return gr_prod(t, x, axes, false);
    case 4: return gr_logsumexp(t, x, axes, false);
    case 5: return gr_vector_norm(t, x, 1, axes, false);
    case 6: return gr_vector_norm(t, x, 2, axes, false);
    case 7: return gr_vector_norm(t, x, 3, axes, false);
    case 8: return gr_vector_norm(t, x, HUGE_VAL, axes, false);
    }
    return NULL;
}

/* There are more columns than one thread takes, and values that are equal; x is reduced twice, so that a gradient is added to another. */
TEST(columns_have_the_bits_of_rows)
{
    enum { N = 37, WIDTH = 1300 };
    static gr_real v[N * WIDTH], dy[WIDTH];
    for (int i = 0; i < N * WIDTH; i++) v[i] = (gr_real)(i * 7919 % 11 - 5);
    for (int i = 0; i < WIDTH; i++) dy[i] = (gr_real)(i % 19) - 9;
    gr_tape *t = gr_tape_new(1, &(gr_tape_config){ .threads = 3 });
    for (int k = 0; k < 9; k++) {
        gr_tape_reset(t);
        gr_tensor *x = gr_want_grad(t, gr_input(t, v, GR_SHAPE(N, WIDTH))), *rows = gr_want_grad(t, gr_detach(t, gr_transpose(t, x, 0, 1)));
        gr_tensor *y = gr_mul(t, over(t, k, x, 0), over(t, k, x, 0)), *want = gr_mul(t, over(t, k, rows, 1), over(t, k, rows, 1));
        gr_tensor *both = gr_add(t, y, want);
        assert_same_bits(y->data, want->data, WIDTH);
        assert_true(gr_backward_from(t, both, dy));
        assert_same_bits(gr_grad(t, rows), gr_transpose(t, gr_input(t, gr_grad(t, x), GR_SHAPE(N, WIDTH)), 0, 1)->data, N * WIDTH);
    }
    assert_ok(t);
    gr_tape_free(t);
}

/* Columns whose squares or sums leave the range of gr_real, with an infinity or a NaN, and more rows than one block of a sum. */
TEST(columns_that_are_far)
{
    enum { N = 4100, WIDTH = 133 };
    static gr_real v[N * WIDTH], dy[WIDTH];
    const double scale[] = { 1, sizeof(gr_real) == 4 ? 3e37 : 1e307, sizeof(gr_real) == 4 ? 3e18 : 1e153, 1e-19, 1, 1 };
    for (int i = 0; i < N * WIDTH; i++) v[i] = (gr_real)(scale[i % WIDTH % 6] * (((i / WIDTH + 3 * (i % WIDTH)) * 7919 % 1000 - 300) / 100.0));
    for (int i = 4; i + 1 < WIDTH; i += 6) v[7 * WIDTH + i] = (gr_real)HUGE_VAL, v[4099 * WIDTH + i + 1] = (gr_real)NAN;
    for (int i = 0; i < WIDTH; i++) dy[i] = (gr_real)(i % 19) - 9;
    gr_tape *t = gr_tape_new(1, &(gr_tape_config){ .threads = 2 });
    for (int fresh = 0; fresh < 2; fresh++) { /* the first gradient of x, or one that is added to another */
        gr_tape_reset(t);
        gr_tensor *x = gr_want_grad(t, gr_input(t, v, GR_SHAPE(N, WIDTH))), *rows = gr_want_grad(t, gr_detach(t, gr_transpose(t, x, 0, 1)));
        gr_tensor *y = gr_var(t, x, GR_AXES(0), 1, false), *want = gr_var(t, rows, GR_AXES(1), 1, false), *both = gr_add(t, y, want);
        if (!fresh) both = gr_add(t, both, gr_add(t, gr_sum(t, x, GR_AXES(0), false), gr_sum(t, rows, GR_AXES(1), false)));
        assert_same_bits(y->data, want->data, WIDTH);
        assert_true(isfinite(y->data[0]) && isfinite(y->data[2]) && isinf(y->data[1]) && isnan(y->data[4]) && isnan(y->data[5]));
        assert_true(gr_backward_from(t, both, dy));
        assert_same_bits(gr_grad(t, rows), gr_transpose(t, gr_input(t, gr_grad(t, x), GR_SHAPE(N, WIDTH)), 0, 1)->data, N * WIDTH);
    }
    assert_ok(t);
    gr_tape_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(columns_have_the_bits_of_rows), cmocka_unit_test(columns_that_are_far) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
