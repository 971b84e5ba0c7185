/* tests/test_reduce_far.c - reductions of values whose squares or sums overflow gr_real, or whose rounding is too coarse for exp. */
#include "tests/test.h"

#ifdef GR_REAL_DOUBLE
#define TOP 0x1p1022
#define SQUARE 0x1p600 /* its square overflows */
#define SMALL 0x1p-600
#define TINY 0x1p-1070 /* subnormal */
#else
#define TOP 0x1p126f
#define SQUARE 0x1p70f
#define SMALL 0x1p-80f
#define TINY 0x1p-145f
#endif

static gr_real reduced(gr_tape *t, gr_tensor *(*f)(gr_tape *t, gr_tensor *x), const gr_real *x, size_t n, gr_real *dx)
{
    gr_tensor *in = gr_want_grad(t, gr_input(t, x, GR_SHAPE(n))), *y = f(t, in);
    assert_ok(t);
    assert_true(gr_backward(t, y));
    memcpy(dx, gr_grad(t, in), n * sizeof *dx);
    const gr_real value = *y->data;
    gr_tape_reset(t);
    return value;
}
static gr_tensor *var_of(gr_tape *t, gr_tensor *x) { return gr_var(t, x, GR_ALL_AXES, 1, false); }
static gr_tensor *norm_2_of(gr_tape *t, gr_tensor *x) { return gr_vector_norm(t, x, 2, GR_ALL_AXES, false); }
static gr_tensor *norm_3_of(gr_tape *t, gr_tensor *x) { return gr_vector_norm(t, x, 3, GR_ALL_AXES, false); }
static gr_tensor *logsumexp_of(gr_tape *t, gr_tensor *x) { return gr_logsumexp(t, x, GR_ALL_AXES, false); }

TEST(a_norm_scales_with_its_row_at_any_magnitude)
{
    const gr_real units[] = { TOP / 4, SQUARE, SMALL, TINY }, base[] = { 3, -4, 0, 12 };
    gr_tape *t = gr_tape_new(1, NULL);
    for (size_t k = 0; k < COUNT(units); k++) {
        gr_real x[4], dx[4], y;
        for (int i = 0; i < 4; i++) x[i] = base[i] * units[k];
        y = reduced(t, norm_2_of, x, 4, dx);
        assert_true(y == 13 * units[k]);
        assert_close(dx, ((gr_real[]){ 3 / (gr_real)13, -4 / (gr_real)13, 0, 12 / (gr_real)13 }), 4, 1e-6);
        for (int i = 0; i < 4; i++) x[i] = ((const gr_real[]){ 3, -4, 5, 0 })[i] * units[k]; /* 27 + 64 + 125 = 6^3 */
        y = reduced(t, norm_3_of, x, 4, dx) / units[k];
        assert_close(&y, &(gr_real){ 6 }, 1, k < 3 ? 1e-6 : 0.02);
        assert_close(dx, ((gr_real[]){ (gr_real)0.25, -4 / (gr_real)9, 25 / (gr_real)36, 0 }), 4, k < 3 ? 1e-6 : 0.02);
    }
    gr_real dx[2];
    assert_true(reduced(t, norm_2_of, (gr_real[]){ 1, (gr_real)INFINITY }, 2, dx) == (gr_real)INFINITY);
    assert_true(isnan(reduced(t, norm_2_of, (gr_real[]){ 1, (gr_real)NAN }, 2, dx)));
    assert_true(reduced(t, norm_2_of, (gr_real[]){ 0, 0 }, 2, dx) == 0 && dx[0] == 0 && dx[1] == 0);
    gr_tape_free(t);
}

TEST(a_variance_does_not_overflow_before_its_result_does)
{
    gr_real dx[4], y;
    gr_tape *t = gr_tape_new(1, NULL);
    const gr_real same[] = { 3 * TOP, 3 * TOP, 3 * TOP, 3 * TOP };
    assert_true(reduced(t, var_of, same, 4, dx) == 0 && dx[0] == 0 && dx[3] == 0);
    gr_real many[400]; /* the sum of their squares overflows, the variance does not */
    gr_real by_many[400];
    const gr_real a = (gr_real)sqrt((double)TOP);
    for (int i = 0; i < 400; i++) many[i] = i % 2 ? a : -a;
    y = reduced(t, var_of, many, 400, by_many);
    assert_close(&y, &(gr_real){ (gr_real)((double)(a * a) * (400.0 / 399)) }, 1, 1e-6);
    assert_close(by_many, ((gr_real[]){ (gr_real)((double)-a * (2.0 / 399)), (gr_real)((double)a * (2.0 / 399)) }), 2, 1e-6);
    assert_true(reduced(t, var_of, ((const gr_real[]){ 3 * TOP, -3 * TOP, -3 * TOP, -3 * TOP }), 4, dx) == (gr_real)INFINITY);
    assert_close(dx, ((gr_real[]){ 3 * TOP, -TOP, -TOP, -TOP }), 4, 1e-6); /* 2 (x - mean) / 3 with the mean -1.5 TOP */
    gr_tape_free(t);
}

TEST(the_gradient_of_a_large_logsumexp_adds_up_to_1)
{
    const gr_real at[] = { 0, 1000, 0x1p24f, -0x1p24f, 1e10f, TOP, -TOP };
    gr_tape *t = gr_tape_new(1, NULL);
    for (size_t k = 0; k < COUNT(at); k++) {
        gr_real dx[3];
        const gr_real y = reduced(t, logsumexp_of, (const gr_real[]){ at[k], at[k], -3 * TOP }, 3, dx);
        const gr_real want = (gr_real)((double)at[k] + log(2));
        assert_close(&y, &want, 1, 1e-6);
        assert_close(dx, ((gr_real[]){ 0.5, 0.5, 0 }), 3, 4e-5);
    }
    gr_tape_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_norm_scales_with_its_row_at_any_magnitude),
        cmocka_unit_test(a_variance_does_not_overflow_before_its_result_does),
        cmocka_unit_test(the_gradient_of_a_large_logsumexp_adds_up_to_1),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
