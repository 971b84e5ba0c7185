/* tests/test_loss.c - mse, l1, huber, bce_with_logits, kl_div: gradients with respect to x and the target, PyTorch's values, plain-operator twins,
 * bits. */
#include "tests/compare.h"
#include <stdio.h>

enum { IN_DOUBLE = sizeof(gr_real) == 8 };

static gr_tensor *weight_of(gr_tape *t, const gr_tensor *x) /* pos_weight 0.5, 2, 3.5 .. along the last axis */
{
    gr_tensor *w = gr_empty(t, GR_SHAPE(x->rank ? x->dim[x->rank - 1] : 1));
    for (size_t i = 0; w && i < w->len; i++) w->data[i] = (gr_real)(0.5 + 1.5 * (double)(i % 4));
    return w;
}

#define LOSS(name, call) \
    static gr_tensor *name(gr_tape *t, gr_tensor *const *in, void *argument) \
    { \
        gr_tensor *x = in[0], *y = in[1]; \
        const gr_reduction r = *(gr_reduction *)argument; \
        return call; \
    }
LOSS(mse, gr_mse(t, x, y, r))
LOSS(l1, gr_l1(t, x, y, r))
LOSS(huber, gr_huber(t, x, y, 1.5, r))
LOSS(bce, gr_bce_with_logits(t, x, y, NULL, r))
LOSS(bce_weighted, gr_bce_with_logits(t, x, y, weight_of(t, x), r))
LOSS(kl, gr_kl_div(t, x, y, false, r))
LOSS(kl_log, gr_kl_div(t, x, y, true, r))

/* The same from plain operators. */
static gr_tensor *reduce(gr_tape *t, gr_tensor *x, gr_reduction r)
{
    if (r == GR_REDUCE_BATCHMEAN) return gr_div(t, gr_sum(t, x, GR_ALL_AXES, false), gr_scalar(t, x && x->rank ? (double)x->dim[0] : 1));
    return r == GR_REDUCE_MEAN ? gr_mean(t, x, GR_ALL_AXES, false) : r == GR_REDUCE_SUM ? gr_sum(t, x, GR_ALL_AXES, false) : x;
}
static gr_tensor *plain_huber(gr_tape *t, gr_tensor *d, gr_tensor *delta)
{
    gr_tensor *a = gr_abs(t, d);
    return gr_where(t, gr_le(t, a, delta), gr_scale(t, gr_square(t, d), 0.5), gr_mul(t, delta, gr_sub(t, a, gr_scale(t, delta, 0.5))));
}
static gr_tensor *plain_bce(gr_tape *t, gr_tensor *x, gr_tensor *y, gr_tensor *w)
{
    gr_tensor *one = gr_scalar(t, 1), *s = gr_sigmoid(t, x);
    gr_tensor *hit = gr_mul(t, w, gr_mul(t, y, gr_log(t, s))), *miss = gr_mul(t, gr_sub(t, one, y), gr_log(t, gr_sub(t, one, s)));
    return gr_neg(t, gr_add(t, hit, miss));
}
LOSS(mse_plain, reduce(t, gr_square(t, gr_sub(t, x, y)), r))
LOSS(l1_plain, reduce(t, gr_abs(t, gr_sub(t, x, y)), r))
LOSS(huber_plain, reduce(t, plain_huber(t, gr_sub(t, x, y), gr_scalar(t, 1.5)), r))
LOSS(bce_plain, reduce(t, plain_bce(t, x, y, gr_scalar(t, 1)), r))
LOSS(kl_plain, reduce(t, gr_mul(t, y, gr_sub(t, gr_log(t, y), x)), r))
LOSS(kl_log_plain, reduce(t, gr_mul(t, gr_exp(t, y), gr_sub(t, y, x)), r))
LOSS(bce_weighted_plain, reduce(t, plain_bce(t, x, y, weight_of(t, x)), r))

/* PyTorch's float64 values, and gradients of their sum, for the x and y below and pos_weight 0.5, 2, 3.5. */
static const gr_real xs[] = { 0.5, -1, 2, 3, 0, -4 }, ys[] = { 1, 0.25, 0, 1, 0.5, 0 };
static const gr_real probabilities[] = { 1, 0.25, 0.125, 0.6, 0.5, 2 }, their_logs[] = { 0, -1.5, -0.25, -3, 0.5, -4 };
static const struct {
    const char *name;
    gr_gradcheck_function *f, *plain;
    gr_gradcheck_input in[2]; /* where the kinks are far away */
    gr_real each[6], dx[6], dy[6];
    const gr_real *ys; /* NULL: ys above */
} losses[] = {
    { "mse", mse, mse_plain, { { .low = -2, .high = 2 }, { .low = -2, .high = 2 } },
      { 0.25, 1.5625, 4, 4, 0.25, 16 }, { -1, -2.5, 4, 4, -1, -8 }, { 1, 2.5, -4, -4, 1, 8 } },
    { "l1", l1, l1_plain, { { .low = -2, .high = -0.5 }, { .low = 0.5, .high = 2 } },
      { 0.5, 1.25, 2, 2, 0.5, 4 }, { -1, -1, 1, 1, -1, -1 }, { 1, 1, -1, -1, 1, 1 } },
    { "huber, near", huber, huber_plain, { { .low = -0.5, .high = 0.5 }, { .low = -0.5, .high = 0.5 } },
      { 0.125, 0.78125, 1.875, 1.875, 0.125, 4.875 }, { -0.5, -1.25, 1.5, 1.5, -0.5, -1.5 }, { 0.5, 1.25, -1.5, -1.5, 0.5, 1.5 } },
    { "huber, far", huber, huber_plain, { { .low = 2, .high = 3 }, { .low = -1, .high = 0 } },
      { 0.125, 0.78125, 1.875, 1.875, 0.125, 4.875 }, { -0.5, -1.25, 1.5, 1.5, -0.5, -1.5 }, { 0.5, 1.25, -1.5, -1.5, 0.5, 1.5 } },
    { "bce_with_logits", bce, bce_plain, { { .low = -3, .high = 3 }, { .low = 0, .high = 1 } },
      { 0.474076984, 0.563261688, 2.126928011, 0.048587352, 0.693147181, 0.018149928 },
      { -0.377540669, 0.018941421, 0.880797078, -0.047425873, 0, 0.01798621 }, { -0.5, 1, -2, -3, 0, 4 } },
    { "bce_with_logits, weighted", bce_weighted, bce_weighted_plain, { { .low = -3, .high = 3 }, { .low = 0, .high = 1 } },
      { 0.237038492, 0.891577109, 2.126928011, 0.024293676, 1.039720771, 0.018149928 },
      { -0.188770334, -0.163823223, 0.880797078, -0.023712937, -0.25, 0.01798621 },
      { -0.737038492, 2.313261688, -1.682679972, -3.024293676, 0.693147181, 14.04537482 } },
    { "kl_div", kl, kl_plain, { { .low = -3, .high = 0 }, { .low = 0.1, .high = 1 } },
      { -0.5, -0.09657359028, -0.5099301927, -2.106495374, -0.3465735903, 9.386294361 }, { -1, -0.25, -0.125, -0.6, -0.5, -2 },
      { 0.5, 0.6137056389, -3.079441542, -2.510825624, 0.3068528194, 5.693147181 }, probabilities },
    { "kl_div of log-probabilities", kl_log, kl_log_plain, { { .low = -3, .high = 0 }, { .low = -3, .high = 0 } },
      { -0.5, -0.1115650801, -1.752301762, -0.2987224102, 0.8243606354, 0 },
      { -1, -0.2231301601, -0.7788007831, -0.04978706837, -1.648721271, -0.01831563889 },
      { 0.5, 0.1115650801, -0.9735009788, -0.2489353418, 2.473081906, 0.01831563889 }, their_logs },
};

TEST(gradients_match_finite_differences)
{
    const gr_shape shapes[] = { GR_SCALAR, GR_SHAPE(1), GR_SHAPE(17), GR_SHAPE(3, 5), GR_SHAPE(2, 3, 11), GR_SHAPE(2, 1, 3, 4) };
    for (size_t k = 0; k < COUNT(losses); k++)
        for (size_t s = 0; s < COUNT(shapes); s++)
            for (gr_reduction r = GR_REDUCE_MEAN; r <= GR_REDUCE_BATCHMEAN; r++)
                for (int wanted = 1; wanted < 4; wanted++) {
                    gr_gradcheck_input in[2] = { losses[k].in[0], losses[k].in[1] };
                    in[0].shape = in[1].shape = shapes[s];
                    in[0].no_grad = !(wanted & 1), in[1].no_grad = !(wanted & 2);
                    if (!test_gradcheck(losses[k].name, losses[k].f, &r, in, 2, NULL, stderr)) fail_msg("%s, shape %zu, reduction %d", losses[k].name, s, r);
                }
}

TEST(agree_with_plain_operators)
{
    for (size_t k = 0; k < COUNT(losses); k++)
        for (gr_reduction r = GR_REDUCE_MEAN; r <= GR_REDUCE_BATCHMEAN; r++) {
            gr_gradcheck_input in[2] = { losses[k].in[0], losses[k].in[1] };
            in[0].shape = in[1].shape = GR_SHAPE(130, 33);
            assert_agree(losses[k].f, losses[k].plain, &r, in, 2, IN_DOUBLE ? 1e-13 : 2e-6);
        }
}

TEST(values_and_gradients_are_pytorchs)
{
    for (size_t k = 0; k < COUNT(losses); k++) {
        gr_tape *t = gr_tape_new(1, NULL);
        gr_tensor *in[] = { gr_want_grad(t, gr_input(t, xs, GR_SHAPE(2, 3))), gr_want_grad(t, gr_input(t, losses[k].ys ? losses[k].ys : ys, GR_SHAPE(2, 3))) };
        gr_tensor *each = losses[k].f(t, in, &(gr_reduction){ GR_REDUCE_NONE }), *sum = losses[k].f(t, in, &(gr_reduction){ GR_REDUCE_SUM });
        gr_tensor *mean = losses[k].f(t, in, &(gr_reduction){ GR_REDUCE_MEAN });
        gr_real total = 0;
        for (int i = 0; i < 6; i++) total += losses[k].each[i];
        assert_close(each->data, losses[k].each, 6, 3e-7);
        assert_values(sum, 3e-7, total);
        assert_values(mean, 3e-7, total / 6);
        assert_values(losses[k].f(t, in, &(gr_reduction){ GR_REDUCE_BATCHMEAN }), 3e-7, total / 2); /* 2 rows */
        assert_true(gr_backward(t, sum));
        assert_close(gr_grad(t, in[0]), losses[k].dx, 6, 3e-7);
        assert_close(gr_grad(t, in[1]), losses[k].dy, 6, 3e-7);
        gr_tensor *row[] = { gr_flatten(t, in[0], 0), gr_flatten(t, in[1], 0) };
        if (losses[k].f == kl) assert_values(kl(t, row, &(gr_reduction){ GR_REDUCE_BATCHMEAN }), 3e-7, total / 6); /* rank 1: 6 rows */
        gr_tape_free(t);
    }
}

TEST(the_short_forms_are_means)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *in[] = { gr_input(t, xs, GR_SHAPE(6)), gr_input(t, ys, GR_SHAPE(6)) };
    gr_reduction mean = GR_REDUCE_MEAN;
    assert_same_bits(gr_mse(t, in[0], in[1], GR_REDUCE_MEAN)->data, mse(t, in, &mean)->data, 1);
    assert_same_bits(gr_l1(t, in[0], in[1], GR_REDUCE_MEAN)->data, l1(t, in, &mean)->data, 1);
    assert_same_bits(gr_huber(t, in[0], in[1], 1.5, GR_REDUCE_MEAN)->data, huber(t, in, &mean)->data, 1);
    assert_same_bits(gr_bce_with_logits(t, in[0], in[1], NULL, GR_REDUCE_MEAN)->data, bce(t, in, &mean)->data, 1);
    assert_values(gr_bce_with_logits(t, in[0], in[1], gr_full(t, GR_SHAPE(1), 1), mean), 1e-7, bce(t, in, &mean)->data[0]);
    gr_tape_free(t);
}

LOSS(bce_of_itself, gr_bce_with_logits(t, x, x, weight_of(t, x), ((void)y, r)))
TEST(the_target_may_be_x_itself)
{
    gr_reduction sum = GR_REDUCE_SUM;
    const gr_gradcheck_input in[] = { { .shape = GR_SHAPE(5, 7) }, { .shape = GR_SHAPE(1), .no_grad = true } };
    assert_true(test_gradcheck("bce_with_logits", bce_of_itself, &sum, in, 2, NULL, stderr));
}

TEST(l1_has_gradient_0_at_its_kink_and_bce_takes_large_logits)
{
    gr_reduction sum = GR_REDUCE_SUM, none = GR_REDUCE_NONE;
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *in[] = { gr_want_grad(t, gr_input(t, (gr_real[]){ 2 }, GR_SHAPE(1))), gr_want_grad(t, gr_input(t, (gr_real[]){ 2 }, GR_SHAPE(1))) };
    assert_true(gr_backward(t, l1(t, in, &sum)));
    assert_true(gr_grad(t, in[0])[0] == 0 && gr_grad(t, in[1])[0] == 0);
    gr_tape_reset(t); /* large logits: the loss is not infinite, and not 0 where it is only small */
    gr_tensor *far[] = { gr_want_grad(t, gr_input(t, (gr_real[]){ 1e30, -1e30, -40, 40 }, GR_SHAPE(4))), gr_input(t, (gr_real[]){ 0, 0, 0, 1 }, GR_SHAPE(4)) };
    gr_tensor *loss = bce(t, far, &none);
    assert_close(loss->data, ((gr_real[]){ 1e30, 0 }), 2, 1e-7);
    assert_close(loss->data + 2, ((gr_real[]){ 4.248354e-18, 4.248354e-18 }), 2, 1e-6);
    assert_true(gr_backward_from(t, loss, (gr_real[]){ 1, 1, 1, 1 }));
    assert_close(gr_grad(t, far[0]), ((gr_real[]){ 1, 0 }), 2, 0);
    assert_close(gr_grad(t, far[0]) + 2, ((gr_real[]){ 4.248354e-18, -4.248354e-18 }), 2, 1e-6);
    gr_tape_free(t);
}

TEST(kl_div_is_0_at_a_probability_of_0)
{
    const double inf = HUGE_VAL;
    gr_reduction none = GR_REDUCE_NONE;
    gr_tape *t = gr_tape_new(1, NULL); /* PyTorch's values and gradients, but for dy at 0, where PyTorch has NaN */
    gr_tensor *in[] = { gr_want_grad(t, gr_input(t, (gr_real[]){ -1, -2, -(gr_real)inf, -0.5 }, GR_SHAPE(4))),
                        gr_want_grad(t, gr_input(t, (gr_real[]){ 0, 0.5, 0, -0.5 }, GR_SHAPE(4))) };
    gr_tensor *loss = kl(t, in, &none);
    assert_close(loss->data, ((gr_real[]){ 0, 0.6534264097, (gr_real)NAN, (gr_real)NAN }), 4, 3e-7);
    assert_true(gr_backward_from(t, loss, (gr_real[]){ 1, 1, 1, 1 }));
    assert_close(gr_grad(t, in[0]), ((gr_real[]){ 0, -0.5, 0, 0.5 }), 4, 0);
    assert_true(gr_grad(t, in[1])[0] == -(gr_real)inf);
    assert_close(gr_grad(t, in[1]) + 1, (gr_real[]){ 2.3068528194 }, 1, 3e-7);
    gr_tape_free(t);
}

TEST(bits_do_not_depend_on_threads_or_instruction_set)
{
    const gr_shape large[] = { GR_SHAPE(12007), GR_SHAPE(41, 301), GR_SHAPE(3, 5003) };
    for (size_t k = 0; k < COUNT(losses); k++)
        for (size_t s = 0; s < COUNT(large); s++)
            for (gr_reduction r = GR_REDUCE_MEAN; r <= GR_REDUCE_BATCHMEAN; r++) {
                gr_gradcheck_input in[2] = { losses[k].in[0], losses[k].in[1] };
                in[0].shape = in[1].shape = large[s];
                assert_bits_stay(losses[k].f, &r, in, 2);
            }
}

/* x and the target are slices of one tensor that overlap, and the gradients of both go there, onto that of the square. */
static gr_tensor *of_neighbours(gr_tape *t, gr_tensor *const *in, void *argument)
{
    const size_t n = in[0]->len / 3;
    gr_tensor *x = gr_slice(t, in[0], 0, 2 * n), *y = gr_slice(t, in[0], (ptrdiff_t)n, 2 * n);
    gr_tensor *loss = mse(t, (gr_tensor *[]){ x, y }, argument);
    return gr_add(t, loss, gr_square(t, x));
}
TEST(x_and_the_target_may_overlap)
{
    gr_reduction none = GR_REDUCE_NONE;
    const gr_gradcheck_input small = { .shape = GR_SHAPE(9) }, large = { .shape = GR_SHAPE(60000) };
    assert_true(test_gradcheck("mse of neighbours", of_neighbours, &none, &small, 1, NULL, stderr));
    assert_bits_stay(of_neighbours, &none, &large, 1);
}

TEST(a_sample_has_the_same_bits_alone_and_in_a_batch)
{
    gr_tape *t = gr_tape_new(1, NULL);
    for (size_t k = 0; k < COUNT(losses); k++) {
        gr_tensor *in[] = { gr_rand(t, GR_SHAPE(9, 701), -1, 1, "x"), gr_rand(t, GR_SHAPE(9, 701), 0, 1, "y") };
        gr_tensor *whole = losses[k].f(t, in, &(gr_reduction){ GR_REDUCE_NONE });
        for (size_t i = 0; i < 9; i++) {
            gr_tensor *one[] = { gr_slice(t, in[0], i, 1), gr_slice(t, in[1], i, 1) };
            assert_same_bits(losses[k].f(t, one, &(gr_reduction){ GR_REDUCE_NONE })->data, whole->data + 701 * i, 701);
        }
    }
    gr_tape_free(t);
}

TEST(an_empty_input_has_the_sum_0_and_no_mean)
{
    for (size_t k = 0; k < COUNT(losses); k++)
        for (gr_reduction r = GR_REDUCE_MEAN; r <= GR_REDUCE_BATCHMEAN; r++) {
            compared c = compare_start(losses[k].f, &r, (gr_gradcheck_input[]){ { .shape = GR_SHAPE(2, 0) }, { .shape = GR_SHAPE(2, 0) } }, 2);
            if (r == GR_REDUCE_SUM || r == GR_REDUCE_BATCHMEAN) assert_true(c.y->data[0] == 0);
            if (r == GR_REDUCE_MEAN) assert_true(isnan(c.y->data[0]));
            if (r == GR_REDUCE_NONE) assert_int_equal(c.y->len, 0);
            compare_backward(&c, &(gr_real){ 1 });
            gr_tape_free(c.t);
        }
}

TEST(out_of_memory_is_an_error_anywhere)
{
    const gr_gradcheck_input in[] = { { .shape = GR_SHAPE(200000) }, { .shape = GR_SHAPE(200000) } };
    for (gr_reduction r = GR_REDUCE_MEAN; r <= GR_REDUCE_BATCHMEAN; r++) assert_survives_failing_memory(bce_weighted, &r, in, 2);
}

TEST(targets_and_parameters_that_do_not_fit_are_named)
{
    gr_tape *t = gr_tape_new(1, NULL);
    assert_fails(t, gr_mse(t, gr_zeros(t, GR_SHAPE(2, 3)), gr_zeros(t, GR_SHAPE(3)), GR_REDUCE_MEAN),
                 "mse: x is [2, 3], so target must be [2, 3]; got [3]");
    assert_fails(t, gr_kl_div(t, gr_zeros(t, GR_SHAPE(2, 3)), gr_zeros(t, GR_SHAPE(2)), false, GR_REDUCE_SUM), "kl_div: x is [2, 3], so target must be [2, 3]; got [2]");
    assert_fails(t, gr_kl_div(t, NULL, gr_zeros(t, GR_SHAPE(2)), true, GR_REDUCE_SUM), "kl_div_log: input 1 is NULL");
    assert_fails(t, gr_cross_entropy(t, gr_zeros(t, GR_SHAPE(1, 2)), gr_ints_new(t, (const int[]){ 1 }, GR_SHAPE(1)), &(gr_cross_entropy_config){ .reduction = GR_REDUCE_BATCHMEAN }),
                 "cross_entropy: reduction must be GR_REDUCE_MEAN, GR_REDUCE_SUM or GR_REDUCE_NONE; got 3");
    assert_fails(t, gr_l1(t, gr_zeros(t, GR_SHAPE(2)), NULL, GR_REDUCE_MEAN), "l1: input 2 is NULL");
    assert_fails(t, gr_huber(t, gr_zeros(t, GR_SHAPE(2)), gr_zeros(t, GR_SHAPE(2)), 0, GR_REDUCE_MEAN),
                 "huber: delta must be above 0; got 0");
    if (!IN_DOUBLE)
        assert_fails(t, gr_huber(t, gr_zeros(t, GR_SHAPE(2)), gr_zeros(t, GR_SHAPE(2)), 1e-60, GR_REDUCE_MEAN), "huber: delta must be above 0; got 1e-60");
    assert_fails(t, gr_bce_with_logits(t, gr_zeros(t, GR_SHAPE(4, 2)), gr_zeros(t, GR_SHAPE(4, 2)), gr_ones(t, GR_SHAPE(4)), GR_REDUCE_SUM),
                 "bce_with_logits: x is [4, 2], so pos_weight must hold 1 or 2 values; got [4]");
    assert_fails(t, gr_l1(t, gr_zeros(t, GR_SHAPE(2)), gr_zeros(t, GR_SHAPE(2)), (gr_reduction)7), "l1: reduction must be GR_REDUCE_MEAN, GR_REDUCE_SUM, GR_REDUCE_NONE or GR_REDUCE_BATCHMEAN; got 7");
    gr_tape_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_match_finite_differences),
        cmocka_unit_test(agree_with_plain_operators),
        cmocka_unit_test(values_and_gradients_are_pytorchs),
        cmocka_unit_test(the_short_forms_are_means),
        cmocka_unit_test(the_target_may_be_x_itself),
        cmocka_unit_test(l1_has_gradient_0_at_its_kink_and_bce_takes_large_logits),
        cmocka_unit_test(kl_div_is_0_at_a_probability_of_0),
        cmocka_unit_test(bits_do_not_depend_on_threads_or_instruction_set),
        cmocka_unit_test(x_and_the_target_may_overlap),
        cmocka_unit_test(a_sample_has_the_same_bits_alone_and_in_a_batch),
        cmocka_unit_test(an_empty_input_has_the_sum_0_and_no_mean),
        cmocka_unit_test(out_of_memory_is_an_error_anywhere),
        cmocka_unit_test(targets_and_parameters_that_do_not_fit_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
