/* tests/test_versions.c - gr_backward refuses a graph whose parameters changed since the forward used them. */
#include "gradus.h"
#include "core/internal.h"
#include "tests/test.h"
#include <unistd.h>

static void assert_error(gr_tape *t, const char *message)
{
    assert_message(t, message);
    assert_int_equal(gr_error_code(t), GR_MISUSE);
    gr_tape_recover(t);
}

TEST(a_parameter_that_changed_since_the_forward_is_an_error)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *net = gr_module_new(t);
    gr_linear_module *fc = gr_linear_new(t, net, "fc", 2, 3, NULL);
    gr_optim *sgd = gr_sgd_new(t, net, NULL);
    const char *const message = "backward: fc.weight [3, 2] changed after linear in fc used it, so its gradient would be wrong; call "
                                "gr_optim_step, gr_state_load and gr_detach_keep after gr_backward";
    char path[64];
    snprintf(path, sizeof path, "/tmp/gradus-versions-%ld", (long)getpid());
    assert_true(gr_state_save(t, net, path, NULL));
    for (int way = 0; way < 4; way++) {
        gr_tape_reset(t);
        gr_tensor *loss = gr_mean(t, gr_linear_forward(t, fc, gr_ones(t, GR_SHAPE(4, 2))), GR_ALL_AXES, false);
        if (way == 0) assert_true(gr_param_init(t, &fc->module, "weight", gr_init_uniform(-1, 1)));
        if (way == 1) assert_true(gr_param_init(t, &fc->module, "weight", gr_init_orthogonal(1)));
        if (way == 3) assert_true(gr_state_load(t, net, path, NULL));
        if (way == 2) {
            gr_tape *other = gr_tape_new(1, NULL);
            assert_true(gr_backward(other, gr_mean(other, gr_linear_forward(other, fc, gr_ones(other, GR_SHAPE(4, 2))), GR_ALL_AXES, false)));
            assert_true(gr_optim_step(other, sgd));
            gr_tape_free(other);
        }
        assert_false(gr_backward(t, loss));
        assert_error(t, message);
        loss = gr_mean(t, gr_linear_forward(t, fc, gr_ones(t, GR_SHAPE(4, 2))), GR_ALL_AXES, false);
        assert_true(gr_backward(t, loss));
    }
    assert_int_equal(unlink(path), 0);
    gr_optim_free(sgd), gr_module_free(net), gr_tape_free(t);
}

TEST(a_kept_state_that_changed_since_the_forward_is_an_error)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *net = gr_module_new(t);
    gr_tensor *x = gr_want_grad(t, gr_ones(t, GR_SHAPE(2)));
    gr_tensor *kept = gr_detach_keep(t, net, "h", x), *y = gr_sum(t, gr_mul(t, x, kept), GR_ALL_AXES, false);
    gr_detach_keep(t, net, "h", gr_zeros(t, GR_SHAPE(2)));
    assert_false(gr_backward(t, y));
    assert_error(t, "backward: h [2] changed after mul used it, so its gradient would be wrong; call gr_optim_step, gr_state_load and gr_detach_keep after gr_backward");
    gr_module_free(net), gr_tape_free(t);
}

TEST(anomaly_mode_sees_a_change_made_by_hand)
{
    for (int anomaly = 0; anomaly < 2; anomaly++) {
        gr_tape *t = gr_tape_new(1, NULL);
        gr_module *net = gr_module_new(t);
        gr_tensor *w = gr_param(t, net, "w", GR_SHAPE(2), gr_init_constant(1));
        gr_tape_set_anomaly(t, anomaly);
        gr_tensor *y = gr_sum(t, gr_mul(t, w, w), GR_ALL_AXES, false);
        w->data[1] = 99;
        assert_int_equal(gr_backward(t, y), !anomaly);
        if (anomaly)
            assert_error(t, "backward: w [2] changed after mul used it, so its gradient would be wrong; call gr_optim_step, gr_state_load and gr_detach_keep after gr_backward");
        gr_module_free(net), gr_tape_free(t);
    }
}

/* The memory of a dead tensor may look like a tensor of this tape, with a number that the tape has not given out yet. */
TEST(a_number_that_was_never_given_out_is_refused)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor later = *gr_ones(t, GR_SHAPE(2));
    later.stamp = 0xbf700006;
    assert_null(gr_neg(t, &later));
    assert_int_equal(gr_error_code(t), GR_MISUSE);
    gr_tape_recover(t);
    later.stamp = t->births + 1;
    assert_null(gr_neg(t, &later));
    gr_tape_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_number_that_was_never_given_out_is_refused),
        cmocka_unit_test(a_parameter_that_changed_since_the_forward_is_an_error),
        cmocka_unit_test(a_kept_state_that_changed_since_the_forward_is_an_error),
        cmocka_unit_test(anomaly_mode_sees_a_change_made_by_hand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
