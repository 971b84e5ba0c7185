/* tests/test_batch_norm_running.c - the running statistics of batch_norm: their updates, and that a failed step leaves them unchanged. */
#include "tests/failing.h"

TEST(running_statistics_are_exponential_averages)
{
    gr_tape *t = gr_tape_new(1, NULL);
    const struct { double momentum; bool cumulative; double weight; } cases[] = {
        { 0, false, 0.1 }, { 0.25, false, 0.25 }, { 1, false, 1 }, { GR_NONE, false, 0 }, { 0, true, 0 }, { 0.25, true, 0 },
    };
    for (size_t k = 0; k < COUNT(cases); k++) {
        gr_tensor *mean = gr_zeros(t, GR_SHAPE(1)), *var = gr_ones(t, GR_SHAPE(1));
        int64_t batches = 0;
        double want_mean = 0, want_var = 1;
        for (int step = 1; step <= 4; step++) {
            const gr_real a = (gr_real)step, x[] = { a, 3 * a };
            const double w = cases[k].cumulative ? 1.0 / step : cases[k].weight;
            gr_batch_norm(t, gr_input(t, x, GR_SHAPE(2, 1)), 1, NULL, NULL,
                          &(gr_batch_norm_config){ mean, var, &batches, cases[k].momentum, cases[k].cumulative });
            want_mean += w * (2 * (double)a - want_mean), want_var += w * (2 * (double)(a * a) - want_var);
        }
        assert_ok(t);
        assert_int_equal(batches, 4);
        assert_true(fabs((double)mean->data[0] - want_mean) < 1e-5 && fabs((double)var->data[0] - want_var) < 1e-5);
    }
    gr_tape_free(t);
}

TEST(evaluation_uses_the_running_statistics_and_keeps_them)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tape_set_training(t, false);
    gr_tensor *mean = gr_full(t, GR_SHAPE(1), 2), *var = gr_full(t, GR_SHAPE(1), 4), *x = gr_input(t, (gr_real[]){ 6 }, GR_SHAPE(1, 1));
    int64_t batches = 3;
    const gr_batch_norm_config o = { mean, var, &batches, .eps = GR_NONE };
    assert_values(gr_batch_norm(t, x, 1, NULL, NULL, &o), 0, 2); /* one value is enough here */
    assert_true(mean->data[0] == 2 && var->data[0] == 4 && batches == 3);
    var->data[0] = 0;
    assert_values(gr_batch_norm(t, x, 1, NULL, gr_full(t, GR_SHAPE(1), 7), &o), 0, 7);
    gr_tape_free(t);
}

/* In evaluation mode a sample does not affect the others, so a NaN in one sample or in its cotangent stays there. */
TEST(evaluation_keeps_a_nan_in_its_sample)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tape_set_training(t, false);
    for (int columns = 0; columns < 2; columns++) {
        gr_tape_reset(t);
        gr_tensor *x = gr_want_grad(t, gr_ones(t, columns ? GR_SHAPE(3, 40) : GR_SHAPE(3, 2, 20))), *dy = gr_ones(t, gr_shape_of(x));
        const gr_shape C = GR_SHAPE(x->dim[1]);
        x->data[45] = (gr_real)NAN, dy->data[50] = (gr_real)INFINITY;
        gr_tensor *y = gr_batch_norm(t, x, 1, NULL, NULL, &(gr_batch_norm_config){ gr_zeros(t, C), gr_ones(t, C) });
        assert_true(gr_backward_from(t, y, dy->data));
        for (size_t i = 0; i < x->len; i++) assert_true((isfinite(y->data[i]) && isfinite(gr_grad(t, x)[i])) || i / 40 == 1);
    }
    gr_tape_free(t);
}

/* A mask of ones takes another path: with it a channel is computed for all samples, and not sample by sample. */
TEST(evaluation_has_the_same_bits_with_a_mask_of_ones)
{
    enum { N = 5, C = 3, L = 515 };
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tape_set_training(t, false);
    const gr_tensor *from = gr_randn(t, GR_SHAPE(N, C, L), 1, 2, "x"), *dy = gr_randn(t, GR_SHAPE(N, C, L), 0, 1, "dy");
    gr_tensor *x[2], *gamma[2], *beta[2], *y[2];
    for (int k = 0; k < 2; k++) {
        x[k] = gr_want_grad(t, gr_input(t, from->data, gr_shape_of(from)));
        gamma[k] = gr_want_grad(t, gr_input(t, (gr_real[]){ 2, -1, 0.5 }, GR_SHAPE(C)));
        beta[k] = gr_want_grad(t, gr_input(t, (gr_real[]){ 0.3, 1, -4 }, GR_SHAPE(C)));
        y[k] = gr_batch_norm(t, x[k], 1, gamma[k], beta[k],
                             &(gr_batch_norm_config){ gr_input(t, (gr_real[]){ 1, 0, -2 }, GR_SHAPE(C)),
                                                      gr_input(t, (gr_real[]){ 4, 1, 0.25 }, GR_SHAPE(C)), .mask = k ? gr_ones(t, GR_SHAPE(N, L)) : NULL, .eps = GR_NONE });
    }
    assert_same_bits(y[0]->data, y[1]->data, N * C * L);
    for (size_t at = 2 * L; at < 3 * L; at++) assert_true(fabs((double)(y[0]->data[at] - (from->data[at] - 2))) < 1e-5); /* 0.5 (x + 2) / 0.5 - 4 */
    assert_true(gr_backward(t, gr_sum(t, gr_mul(t, gr_add(t, y[0], y[1]), gr_input(t, dy->data, gr_shape_of(dy))), GR_ALL_AXES, false)));
    assert_same_bits(gr_grad(t, x[0]), gr_grad(t, x[1]), N * C * L);
    assert_same_bits(gr_grad(t, gamma[0]), gr_grad(t, gamma[1]), C);
    assert_same_bits(gr_grad(t, beta[0]), gr_grad(t, beta[1]), C);
    gr_tape_free(t);
}

TEST(statistics_that_decay_become_0)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *mean = gr_full(t, GR_SHAPE(1), 1), *var = gr_full(t, GR_SHAPE(1), 1), *x = gr_zeros(t, GR_SHAPE(3, 1));
    for (int step = 0; step < 800 && !gr_failed(t); step++) {
        gr_batch_norm(t, x, 1, NULL, NULL, &(gr_batch_norm_config){ mean, var });
        assert_true(mean->data[0] == 0 || (double)mean->data[0] >= 0x1p-100);
        assert_true(var->data[0] == 0 || (double)var->data[0] >= 0x1p-100);
    }
    assert_ok(t);
    assert_true(mean->data[0] == 0 && var->data[0] == 0);
    gr_tape_free(t);
}

TEST(recover_restores_the_running_statistics)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *net = gr_module_new(t);
    gr_tensor *mean = gr_buffer(t, net, "mean", GR_SHAPE(3), 0.5), *var = gr_buffer(t, net, "var", GR_SHAPE(3), 2);
    int64_t *batches = gr_counter(t, net, "batches");
    gr_real first[3] = { 0 };
    for (int turn = 0; turn < 2; turn++) {
        gr_tensor *x = gr_randn(t, GR_SHAPE(4, 3), 0, 1, "x");
        gr_batch_norm(t, x, 1, NULL, NULL, &(gr_batch_norm_config){ mean, var, batches });
        if (!turn) memcpy(first, var->data, sizeof first);
        else assert_same_bits(var->data, first, 3);
        assert_int_equal(*batches, 1);
        gr_add(t, x, gr_zeros(t, GR_SHAPE(2))); /* fails */
        gr_tape_recover(t);
        assert_int_equal(*batches, 0);
        for (size_t c = 0; c < 3; c++) assert_true(mean->data[c] == (gr_real)0.5 && var->data[c] == 2);
    }
    gr_module_free(net), gr_tape_free(t);
}

/* Every allocation of a step fails in turn. After gr_tape_recover the buffers of the module are as before the step. */
TEST(a_failed_step_leaves_the_running_statistics_unchanged)
{
    for (size_t at = 1;; at++) {
        failing_memory memory = { 0 };
        const gr_allocator allocator = { failing_alloc, failing_release, &memory };
        gr_tape *t = gr_tape_new(7, (&(gr_tape_config){ .allocator = &allocator })), *outer = gr_tape_new(1, NULL);
        gr_module *net = gr_module_new(outer);
        gr_tensor *mean = gr_buffer(outer, net, "mean", GR_SHAPE(3), 0.5), *var = gr_buffer(outer, net, "var", GR_SHAPE(3), 2);
        int64_t batches = 4;
        memory.fail_at = memory.calls + at;
        gr_tensor *x = gr_want_grad(t, gr_rand(t, GR_SHAPE(4000, 3), -1, 1, "x"));
        gr_tensor *y = gr_batch_norm(t, x, 1, NULL, NULL, &(gr_batch_norm_config){ mean, var, &batches });
        const bool failed = memory.calls >= memory.fail_at;
        if (failed) assert_null(y);
        if (failed) gr_tape_recover(t);
        for (size_t c = 0; c < 3; c++) assert_true((mean->data[c] == (gr_real)0.5 && var->data[c] == 2) == failed);
        assert_int_equal(batches, failed ? 4 : 5);
        gr_tape_free(t), gr_module_free(net), gr_tape_free(outer);
        if (!failed) break;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(running_statistics_are_exponential_averages),
        cmocka_unit_test(evaluation_uses_the_running_statistics_and_keeps_them),
        cmocka_unit_test(evaluation_keeps_a_nan_in_its_sample),
        cmocka_unit_test(evaluation_has_the_same_bits_with_a_mask_of_ones),
        cmocka_unit_test(statistics_that_decay_become_0),
        cmocka_unit_test(recover_restores_the_running_statistics),
        cmocka_unit_test(a_failed_step_leaves_the_running_statistics_unchanged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
