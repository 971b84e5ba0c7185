/* tests/test_anomaly.c - anomaly mode names the first operator that makes a value that is not finite, in forward and in backward. */
#include "tests/test.h"

static gr_tape *watching(void)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tape_set_anomaly(t, true);
    return t;
}

/* ---- Forward ---- */

TEST(the_operator_that_made_an_infinity_is_named)
{
    gr_tape *t = watching();
    gr_tensor *x = gr_input(t, (gr_real[]){ 1, 0, 3, 2, 0.5, 1 }, GR_SHAPE(2, 3));
    assert_null(gr_exp(t, gr_log(t, gr_scale(t, x, 2))));
    assert_int_equal(gr_error_code(t), GR_NOT_FINITE);
    assert_message(
        t, "anomaly: forward of log made -inf at [0, 1] of output 1 [2, 3], 1 of 6 values; input 1 [2, 3] is within [0, 6], there 0");
    gr_tape_free(t);
}

TEST(the_module_and_its_parameters_are_named)
{
    gr_tape *t = watching();
    gr_module *net = gr_module_new(t), *block = gr_sequential_new(t, net, "block");
    gr_linear_module *fc = gr_linear_new(t, block, "fc", 2, 2, NULL);
    memcpy(fc->weight->data, (gr_real[]){ 1, 2, 3, (gr_real)NAN }, 4 * sizeof(gr_real));
    memset(fc->bias->data, 0, 2 * sizeof(gr_real));
    assert_null(gr_forward(t, block, gr_ones(t, GR_SHAPE(3, 2))));
    assert_message(
        t, "anomaly: forward of linear in block.fc made NaN at [0, 1] of output 1 [3, 2], 3 of 6 values; input 1 [3, 2] is within [1, 1], "
           "there 1; input 2 block.fc.weight [2, 2] was not finite before: NaN at [1, 1]; input 3 block.fc.bias [2] is within [0, 0]");
    gr_module_free(net);
    gr_tape_free(t);
}

TEST(overflow_and_bad_data_are_told_apart)
{
    const gr_real huge = sizeof(gr_real) == 4 ? (gr_real)1e30 : (gr_real)1e300;
    gr_tape *t = watching();
    gr_tensor *x = gr_full(t, GR_SHAPE(2), (double)huge);
    assert_fails(t, gr_mul(t, x, x), sizeof(gr_real) == 4
                          ? "anomaly: forward of mul made inf at [0] of output 1 [2], 2 of 2 values; input 1 [2] is within [1e+30, "
                            "1e+30], there 1e+30; input 2 [2] is within [1e+30, 1e+30], there 1e+30"
                          : "anomaly: forward of mul made inf at [0] of output 1 [2], 2 of 2 values; input 1 [2] is within [1e+300, "
                            "1e+300], there 1e+300; input 2 [2] is within [1e+300, 1e+300], there 1e+300");
    assert_fails(t, gr_neg(t, gr_input(t, (gr_real[]){ 1, (gr_real)NAN }, GR_SHAPE(2))),
                 "anomaly: forward of neg made NaN at [1] of output 1 [2], 1 of 2 values; input 1 [2] was not finite before: NaN at [1], there NaN");
    assert_fails(t, gr_sqrt(t, gr_scalar(t, -1)),
                 "anomaly: forward of sqrt made NaN at [] of output 1 [], 1 of 1 values; input 1 [] is within [-1, -1]");
    gr_tape_free(t);
}

TEST(infinite_inputs_are_allowed_until_they_make_a_nan)
{
    gr_tape *t = watching();
    gr_tensor *x = gr_want_grad(t, gr_input(t, (gr_real[]){ 1, 2, 3, 4 }, GR_SHAPE(2, 2)));
    gr_tensor *mask = gr_input(t, (gr_real[]){ 1, 0, 1, 1 }, GR_SHAPE(2, 2)), *low = gr_scalar(t, -HUGE_VAL);
    gr_tensor *y = gr_softmax(t, gr_where(t, mask, x, low), -1);
    gr_tensor *added = gr_softmax(t, gr_add(t, x, gr_where(t, mask, gr_scalar(t, 0), low)), -1);
    assert_ok(t);
    assert_true(gr_backward_from(t, gr_mul(t, y, added), (gr_real[]){ 1, 2, 3, 4 }));
    assert_values(y, 1e-6, 1, 0, (gr_real)0.26894142, (gr_real)0.73105858);
    gr_tape_reset(t);
    assert_non_null(gr_exp(t, gr_full(t, GR_SHAPE(3), -HUGE_VAL)));
    assert_null(gr_sub(t, gr_scalar(t, HUGE_VAL), gr_scalar(t, HUGE_VAL)));
    assert_message(
        t,
        "anomaly: forward of sub made NaN at [] of output 1 [], 1 of 1 values; input 1 [] was not finite before: inf at []; input 2 [] was "
        "not finite before: inf at []");
    gr_tape_free(t);
}

TEST(anomaly_mode_works_without_recording_and_ends_when_turned_off)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *zero = gr_zeros(t, GR_SHAPE(1));
    assert_non_null(gr_log(t, zero));
    gr_tape_set_anomaly(t, true), gr_tape_set_recording(t, false);
    assert_null(gr_log(t, zero));
    assert_int_equal(gr_error_code(t), GR_NOT_FINITE);
    gr_tape_recover(t);
    gr_tape_set_anomaly(t, false);
    assert_non_null(gr_log(t, gr_zeros(t, GR_SHAPE(1))));
    gr_tape_free(t);
    gr_tape_set_anomaly(NULL, true), gr_tape_set_tracing(NULL, true);
    assert_null(gr_tape_set_place(NULL, "x"));
}

/* ---- Backward ---- */

TEST(the_backward_that_made_an_infinity_is_named)
{
    gr_tape *t = watching();
    gr_module *net = gr_module_new(t), *root = gr_activation_new(t, net, "root", "Root", gr_sqrt);
    gr_tensor *x = gr_want_grad(t, gr_input(t, (gr_real[]){ 4, 0, 1, 9 }, GR_SHAPE(4)));
    gr_tensor *y = gr_sum(t, gr_forward(t, root, gr_scale(t, x, 1)), GR_ALL_AXES, false);
    assert_ok(t);
    assert_false(gr_backward(t, y));
    assert_int_equal(gr_error_code(t), GR_NOT_FINITE);
    assert_message(
        t, "anomaly: backward of sqrt in root made inf at [1] of the gradient of input 1 [4], 1 of 4 values; input 1 [4] is within [0, 9], "
           "there 0; the gradient of output 1 [4] is within [1, 1], there 1");
    assert_values(x, 0, 4, 0, 1, 9);
    gr_module_free(net);
    gr_tape_free(t);
}

/* A trap of gr_where: backward also runs through the branch that is not taken, and 0 times its infinite derivative is NaN. */
TEST(the_nan_from_the_branch_not_taken_is_found)
{
    gr_tape *t = watching();
    gr_tensor *x = gr_want_grad(t, gr_input(t, (gr_real[]){ 0, 4 }, GR_SHAPE(2)));
    gr_tensor *y = gr_where(t, gr_gt(t, x, gr_scalar(t, 0)), gr_sqrt(t, x), gr_scalar(t, 0));
    assert_false(gr_backward_from(t, y, (gr_real[]){ 1, 1 }));
    assert_message(
        t,
        "anomaly: backward of sqrt made NaN at [0] of the gradient of input 1 [2], 1 of 2 values; input 1 [2] is within [0, 4], there 0; "
        "the gradient of output 1 [2] is within [0, 1], there 0");
    gr_tape_free(t);
}

TEST(values_that_were_bad_before_backward_are_named)
{
    gr_tape *t = watching();
    gr_module *net = gr_module_new(t);
    gr_tensor *w = gr_param(t, net, "w", GR_SHAPE(2), gr_init_constant(1));
    assert_fails(t, gr_backward_from(t, gr_scale(t, w, 2), (gr_real[]){ 1, (gr_real)HUGE_VAL }),
                 "anomaly: backward starts from dy [2], which holds inf at [1]");
    gr_tape_set_anomaly(t, false);
    assert_true(gr_backward_from(t, gr_scale(t, w, 2), (gr_real[]){ 1, (gr_real)NAN }));
    gr_tape_reset(t), gr_tape_set_anomaly(t, true);
    assert_false(gr_backward_from(t, gr_scale(t, w, 2), (gr_real[]){ 1, 1 }));
    assert_message(t, "anomaly: backward adds to the gradient of w [2], which holds NaN at [1]");
    gr_module_free(net);
    gr_tape_free(t);
}

/* ---- A step ---- */

TEST(a_step_in_error_moves_no_weight_and_recovers)
{
    gr_tape *t = watching();
    gr_module *net = gr_module_new(t);
    gr_linear_module *fc = gr_linear_new(t, net, "fc", 2, 1, NULL);
    gr_optim *sgd = gr_sgd_new(t, net, NULL);
    const gr_real first = fc->weight->data[0];
    for (int bad = 1; bad >= 0; bad--) {
        gr_tape_reset(t);
        gr_tensor *y = gr_linear_forward(t, fc, gr_input(t, (gr_real[]){ 1, bad ? (gr_real)NAN : 1 }, GR_SHAPE(1, 2)));
        gr_optim_zero_grad(sgd);
        gr_backward(t, gr_sum(t, gr_square(t, y), GR_ALL_AXES, false));
        assert_true(gr_optim_step(t, sgd) == !bad);
        assert_true((fc->weight->data[0] == first) == bad);
        if (bad)
            assert_string_equal(gr_message(t),
                                "anomaly: forward of linear in fc made NaN at [0, 0] of output 1 [1, 1], 1 of 1 values; input 1 "
                                "[1, 2] was not finite before: NaN at [0, 1]; input 2 fc.weight [1, 2] is within [-0.2916, 0.3684]; input "
                                "3 fc.bias [1] is within [-0.6162, -0.6162]"),
                gr_tape_recover(t);
    }
    gr_optim_free(sgd), gr_module_free(net);
    gr_tape_free(t);
}

/* Fifteen inputs with long paths need more room than a message has. */
TEST(a_long_message_is_cut)
{
    char name[200];
    gr_tape *t = watching();
    gr_module *net = gr_module_new(t);
    memset(name, 'm', sizeof name), name[sizeof name - 1] = 0;
    gr_lstm *lstm = gr_lstm_new(t, net, name, 2, 3, &(gr_lstm_config){ .norm = GR_LSTM_LN_BA2016 });
    lstm->recurrent.weights->w_hh->data[4] = (gr_real)NAN;
    assert_null(gr_lstm_forward(t, lstm, gr_ones(t, GR_SHAPE(2, 1, 2)), NULL).y);
    assert_int_equal(strncmp(gr_message(t), "anomaly: forward of lstm in mmm", 31), 0);
    assert_int_equal(strlen(gr_message(t)), 908);
    gr_module_free(net);
    gr_tape_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_operator_that_made_an_infinity_is_named),
        cmocka_unit_test(the_module_and_its_parameters_are_named),
        cmocka_unit_test(overflow_and_bad_data_are_told_apart),
        cmocka_unit_test(infinite_inputs_are_allowed_until_they_make_a_nan),
        cmocka_unit_test(anomaly_mode_works_without_recording_and_ends_when_turned_off),
        cmocka_unit_test(the_backward_that_made_an_infinity_is_named),
        cmocka_unit_test(the_nan_from_the_branch_not_taken_is_found),
        cmocka_unit_test(values_that_were_bad_before_backward_are_named),
        cmocka_unit_test(a_step_in_error_moves_no_weight_and_recovers),
        cmocka_unit_test(a_long_message_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
