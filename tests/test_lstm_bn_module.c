/* tests/test_lstm_bn_module.c - batch norms in gr_lstm: names, first values, noise in h0, state, failing memory, messages. */
#include "tests/failing.h"

/* Rows 0 to 3 of every image are blank. With h0 = 0 the variances there are 0, and each such step multiplies the gradient by 1 /
 * sqrt(eps). */
static double gradient_of_h0_before_blank_rows(double noise)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *net = gr_module_new(t);
    gr_lstm *l = gr_lstm_new(t, net, "l", 4, 16, &(gr_lstm_config){ .norm = GR_LSTM_BN, .bn_steps = 8, .h0_noise = noise });
    gr_tensor *x = gr_randn(t, GR_SHAPE(8, 20, 4), 0, 1, "x"), *h0 = gr_want_grad(t, gr_zeros(t, GR_SHAPE(1, 20, 16)));
    memset(x->data, 0, 4 * 20 * 4 * sizeof *x->data);
    const gr_lstm_out s = gr_lstm_forward(t, l, x, &(gr_lstm_input){ .h0 = h0 });
    assert_true(gr_backward(t, gr_mean(t, gr_square(t, s.h), GR_ALL_AXES, false)));
    double sum = 0;
    for (size_t i = 0; i < h0->len; i++) sum += (double)gr_grad(t, h0)[i] * (double)gr_grad(t, h0)[i];
    gr_module_free(net), gr_tape_free(t);
    return sqrt(sum);
}

TEST(noise_in_h0_keeps_the_gradient_of_blank_rows_small)
{
    const double with = gradient_of_h0_before_blank_rows(0), without = gradient_of_h0_before_blank_rows(GR_NONE);
    print_message("gradient of h0: %.3g with noise, %.3g without\n", with, without);
    assert_true(without > 100 * with);
}

TEST(names_shapes_and_first_values_are_those_documented)
{
    static const struct {
        const char *path;
        size_t rows, columns;
        double value;
    } want[] = {
        { "l.bn_ih_l0.weight", 0, 20, 0.1 },  { "l.bn_ih_l0.running_mean", 7, 20, 0 }, { "l.bn_ih_l0.running_var", 7, 20, 1 },
        { "l.bn_hh_l0.weight", 0, 20, 0.1 },  { "l.bn_hh_l0.running_mean", 7, 20, 0 }, { "l.bn_hh_l0.running_var", 7, 20, 1 },
        { "l.bn_c_l0.weight", 0, 5, 0.1 },    { "l.bn_c_l0.bias", 0, 5, 0 },           { "l.bn_c_l0.running_mean", 7, 5, 0 },
        { "l.bn_c_l0.running_var", 7, 5, 1 },
    };
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *net = gr_module_new(t);
    gr_lstm_new(t, net, "l", 3, 5, &(gr_lstm_config){ .norm = GR_LSTM_BN, .bn_steps = 7 });
    assert_ok(t);
    for (size_t i = 0; i < COUNT(want); i++) {
        const gr_slot *s = gr_slot_find(net, want[i].path);
        assert_non_null(s);
        assert_int_equal(s->tensor->rank, want[i].rows ? 2 : 1);
        assert_int_equal(s->tensor->len, want[i].columns * (want[i].rows ? want[i].rows : 1));
        assert_true(s->tensor->data[0] == (gr_real)want[i].value);
        assert_int_equal(s->kind, want[i].rows ? GR_BUFFER : GR_PARAMETER);
        if (!want[i].rows) assert_true(s->no_decay);
    }
    assert_non_null(gr_slot_find(net, "l.bias_l0"));
    assert_null(gr_slot_find(net, "l.bn_ih_l0.bias"));
    gr_module_free(net), gr_tape_free(t);
}

TEST(noise_is_drawn_from_a_stream_and_in_training_only)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *net = gr_module_new(t);
    gr_lstm *l = gr_lstm_new(t, net, "l", 3, 5, &(gr_lstm_config){ .norm = GR_LSTM_BN, .bn_steps = 2, .layers = 2, .bidirectional = true });
    gr_tensor *x = gr_randn(t, GR_SHAPE(2, 4, 3), 0, 1, "x");
    gr_lstm_forward(t, l, x, NULL);
    assert_int_equal(gr_tape_stream(t, "l/h0")->counter, 4 * 4 * 4 * 5);
    gr_tape_set_training(t, false);
    gr_lstm_forward(t, l, x, NULL);
    assert_int_equal(gr_tape_stream(t, "l/h0")->counter, 4 * 4 * 4 * 5);
    assert_ok(t);
    gr_module_free(net), gr_tape_free(t);
}

static bool steps_of_training(gr_tape *t, void *argument)
{
    (void)argument;
    gr_module *net = gr_module_new(t);
    gr_lstm *l = gr_lstm_new(t, net, "l", 3, 35, &(gr_lstm_config){ .norm = GR_LSTM_BN, .bn_steps = 2 });
    bool good = l;
    for (int step = 0; good && step < 2; step++) {
        gr_tape_reset(t);
        good = gr_backward(t, gr_sum(t, gr_lstm_forward(t, l, gr_ones(t, GR_SHAPE(300, 9, 3)), NULL).y, GR_ALL_AXES, false));
    }
    gr_module_free(net);
    return good;
}
TEST(every_allocation_may_fail) { fail_every_allocation(steps_of_training, NULL); }

TEST(recover_restores_the_buffers)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *net = gr_module_new(t);
    gr_lstm *l = gr_lstm_new(t, net, "l", 3, 5, &(gr_lstm_config){ .norm = GR_LSTM_BN, .bn_steps = 4 });
    gr_tensor *x = gr_randn(t, GR_SHAPE(3, 6, 3), 0, 1, "x");
    gr_lstm_forward(t, l, x, NULL);
    assert_true(l->recurrent.weights->bn_c.running_var->data[0] != 1 && l->recurrent.weights->bn_ih.running_mean->data[0] != 0);
    gr_fail(t, NULL, "on purpose");
    gr_tape_recover(t);
    for (int i = 0; i < 5; i++) assert_true(l->recurrent.weights->bn_c.running_var->data[i] == 1 && l->recurrent.weights->bn_ih.running_mean->data[i] == 0);
    gr_module_free(net), gr_tape_free(t);
}

TEST(bn_steps_and_noise_that_do_not_fit_are_named)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *net = gr_module_new(t);
    assert_fails(t, gr_lstm_new(t, net, "l", 3, 2, &(gr_lstm_config){ .norm = GR_LSTM_BN }),
                 "l: batch norms need bn_steps, the number of time steps that have statistics of their own");
    assert_fails(t, gr_lstm_new(t, net, "l", 3, 2, &(gr_lstm_config){ .norm = GR_LSTM_BN, .bn_steps = 1, .h0_noise = -0.5 }),
                 "l: h0_noise must not be negative; got -0.5");
    assert_fails(t, gr_lstm_new(t, net, "l", 3, 2, &(gr_lstm_config){ .norm = GR_LSTM_BN, .bn_steps = 1, .h0_noise = (double)NAN }),
                 "l: h0_noise must not be negative; got nan");
    gr_module_free(net), gr_tape_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(noise_in_h0_keeps_the_gradient_of_blank_rows_small),
        cmocka_unit_test(names_shapes_and_first_values_are_those_documented),
        cmocka_unit_test(noise_is_drawn_from_a_stream_and_in_training_only),
        cmocka_unit_test(recover_restores_the_buffers),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(bn_steps_and_noise_that_do_not_fit_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
