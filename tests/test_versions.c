/* tests/test_versions.c - no gradient is wrong or lacks a part without an error: parameters that changed or were thawed since the forward used them,
 * and gr_want_grad after the first use. */
#include "core/internal.h"
#include "tests/failing.h"

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
                                "gr_optim_step, gr_state_load, gr_module_copy, gr_module_lerp and gr_detach_keep after gr_backward";
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
    assert_error(t, "backward: h [2] changed after mul used it, so its gradient would be wrong; call gr_optim_step, gr_state_load, "
                    "gr_module_copy, gr_module_lerp and gr_detach_keep after gr_backward");
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
            assert_error(t, "backward: w [2] changed after mul used it, so its gradient would be wrong; call gr_optim_step, gr_state_load, "
                    "gr_module_copy, gr_module_lerp and gr_detach_keep after gr_backward");
        gr_module_free(net), gr_tape_free(t);
    }
}

/* ---- gr_want_grad ---- */

static void tanh_of_input(gr_tape *t, gr_tensor *const *in, gr_tensor **out, void *other)
{
    out[0] = gr_tanh(t, other ? *(gr_tensor **)other : in[0]);
}

#define LATE(shape, op) "gr_want_grad: x " shape " was already used by " op ", so its gradient would lack that part; call gr_want_grad before the first operator that reads it"
TEST(a_gradient_that_is_asked_for_after_the_first_use_is_an_error)
{
    static const char *const messages[] = { LATE("[2, 2]", "mul"), LATE("[2, 2]", "sigmoid"), LATE("[4]", "neg"), LATE("[4]", "relu"),
                                            LATE("[2, 2]", "recompute"), LATE("[2, 2]", "tanh") };
    gr_tape *t = gr_tape_new(1, NULL);
    for (size_t way = 0; way < COUNT(messages); way++) {
        gr_tensor *x = gr_ones(t, GR_SHAPE(2, 2)), *out, *inner = x, *w = gr_want_grad(t, gr_ones(t, GR_SHAPE(2, 2)));
        gr_tensor *view = gr_flatten(t, x, 0), *other = gr_flatten(t, x, 0);
        if (way == 0) gr_mul(t, w, x); /* recorded */
        if (way == 1) gr_sigmoid(t, x); /* not recorded */
        if (way == 2) gr_neg(t, x), inner = view;
        if (way == 3) gr_relu(t, other), inner = view;
        if (way == 4) gr_recompute(t, tanh_of_input, NULL, 0, GR_IN(x), &out, 1);
        if (way == 5) gr_recompute(t, tanh_of_input, &x, sizeof x, GR_IN(w), &out, 1); /* not among its inputs */
        assert_ok(t);
        assert_null(gr_want_grad(t, inner));
        assert_error(t, messages[way]);
    }
    gr_tape_free(t);
}

TEST(what_passes_no_gradient_is_no_use)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *x = gr_full(t, GR_SHAPE(2, 2), 3), *view = gr_slice(t, x, 1, 1);
    gr_detach(t, x), gr_gt(t, x, x), gr_argmax(t, x, 0, false);
    gr_tape_set_recording(t, false);
    gr_tanh(t, x);
    gr_tape_set_recording(t, true);
    assert_ptr_equal(gr_want_grad(t, x), x);
    gr_tensor *y = gr_sum(t, gr_square(t, view), GR_ALL_AXES, false); /* a view that is older than the wish */
    assert_ptr_equal(gr_want_grad(t, x), x);
    assert_ptr_equal(gr_want_grad(t, view), view);
    assert_true(gr_backward(t, y));
    assert_close(gr_grad(t, x), ((gr_real[]){ 0, 0, 6, 6 }), 4, 0);
    assert_close(gr_grad(t, view), ((gr_real[]){ 6, 6 }), 2, 0);
    assert_close(gr_grad(t, gr_slice(t, x, 0, 2)), ((gr_real[]){ 0, 0, 6, 6 }), 4, 0);
    assert_null(gr_grad(t, gr_detach(t, x)));
    gr_tape_free(t);
}

static void product_with_a_wish(gr_tape *t, gr_tensor *const *in, gr_tensor **out, void *argument)
{
    (void)argument;
    out[0] = gr_mul(t, in[0], gr_want_grad(t, in[1]));
}
/* Neither a use of the input before the segment nor the segment itself counts. */
TEST(a_segment_may_want_the_gradient_of_its_own_input)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *x = gr_full(t, GR_SHAPE(2), 3), *w = gr_want_grad(t, gr_ones(t, GR_SHAPE(2))), *y;
    gr_neg(t, x);
    assert_true(gr_recompute(t, product_with_a_wish, NULL, 0, GR_IN(w, x), &y, 1));
    assert_true(gr_backward(t, gr_sum(t, y, GR_ALL_AXES, false)));
    assert_close(gr_grad(t, w), ((gr_real[]){ 3, 3 }), 2, 0);
    gr_tape_free(t);
}

TEST(the_wish_for_a_view_is_one_for_its_base)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *x = gr_full(t, GR_SHAPE(2, 2), 3), *row = gr_want_grad(t, gr_slice(t, x, 1, 1));
    assert_true(gr_backward(t, gr_sum(t, gr_add(t, gr_square(t, x), gr_square(t, row)), GR_ALL_AXES, false)));
    assert_close(gr_grad(t, row), ((gr_real[]){ 18, 18 }), 2, 0); /* 6 by x, and 6 in each row of the sum */
    assert_close(gr_grad(t, x), ((gr_real[]){ 6, 6, 18, 18 }), 4, 0);
    gr_tape_free(t);
}

/* ---- Frozen parameters ---- */

typedef struct { gr_tape *t; gr_module *net; gr_linear_module *fc; gr_tensor *v; } model;
static model model_start(gr_tape *t)
{
    gr_module *net = gr_module_new(t);
    const model m = { t, net, gr_linear_new(t, net, "fc", 2, 2, &(gr_linear_config){ .no_bias = true }), gr_param(t, net, "v", GR_SHAPE(2), gr_init_constant(1)) };
    return m;
}
static void model_end(const model *m) { gr_module_free(m->net), gr_tape_free(m->t); }
static gr_tensor *ones(const model *m) { return gr_ones(m->t, GR_SHAPE(1, 2)); }
static gr_tensor *total(const model *m, gr_tensor *x) { return gr_sum(m->t, gr_mul(m->t, x, m->v), GR_ALL_AXES, false); }
static void linear_of_input(gr_tape *t, gr_tensor *const *in, gr_tensor **out, void *fc) { out[0] = gr_linear_forward(t, fc, in[0]); }

#define THAWED(use) "backward: fc.weight [2, 2] was thawed after " use " used it, so its gradient would lack that part; call gr_requires_grad before the forward or after gr_backward"
TEST(a_parameter_that_was_thawed_since_the_forward_is_an_error)
{
    static const char *const messages[] = { THAWED("linear in fc"), THAWED("linear in fc"), THAWED("linear in fc"), THAWED("recompute"), THAWED("square"), THAWED("mul") };
    model m = model_start(gr_tape_new(1, NULL));
    gr_tape *const t = m.t;
    for (size_t way = 0; way < COUNT(messages); way++) {
        gr_tensor *x = way == 1 ? gr_want_grad(t, ones(&m)) : ones(&m), *y = x, *out;
        gr_requires_grad(&m.fc->module, false);
        if (way < 2) y = gr_linear_forward(t, m.fc, x); /* not recorded; recorded for x */
        if (way == 2 && gr_recompute(t, linear_of_input, m.fc, 0, GR_IN(x), &out, 1)) y = out;
        if (way == 3 && gr_recompute(t, tanh_of_input, NULL, 0, GR_IN(m.fc->weight), &out, 1)) y = out;
        if (way == 4) y = gr_square(t, gr_slice(t, m.fc->weight, 0, 1)); /* a view */
        if (way == 5) y = gr_mul(t, m.fc->weight, m.v); /* recorded for v */
        gr_requires_grad(&m.fc->module, true);
        y = gr_linear_forward(t, m.fc, y); /* this part would be all */
        assert_false(gr_backward(t, total(&m, y)));
        assert_error(t, messages[way]);
        assert_null(gr_grad(t, m.v));
    }
    model_end(&m);
}

TEST(a_thaw_is_no_error_where_no_gradient_is_lost)
{
    model m = model_start(gr_tape_new(1, NULL));
    gr_tape *const t = m.t;
    for (int way = 0; way < 4; way++) {
        gr_tape_reset(t);
        gr_requires_grad(&m.fc->module, false);
        const gr_mark mark = gr_tape_mark(t);
        gr_tape_set_recording(t, way != 1);
        gr_tensor *x = gr_linear_forward(t, m.fc, ones(&m));
        gr_tape_set_recording(t, true);
        if (way == 0) gr_tape_reset(t), x = ones(&m);
        if (way == 2) gr_tape_rewind(t, mark), x = ones(&m);
        if (way < 3) gr_requires_grad(&m.fc->module, true);
        gr_module_zero_grad(m.net);
        assert_true(gr_backward(t, total(&m, gr_linear_forward(t, m.fc, x))));
        gr_requires_grad(&m.fc->module, true); /* way 3: after the backward */
        assert_int_equal(gr_grad(t, m.fc->weight) != NULL, way < 3);
    }
    assert_ok(t);
    model_end(&m);
}

/* All of the step that backward reaches through other parameters keeps its gradient. */
TEST(a_parameter_that_was_frozen_since_the_forward_gets_no_gradient)
{
    model m = model_start(gr_tape_new(1, NULL));
    for (int view = 0; view < 2; view++) {
        gr_tape_reset(m.t), gr_module_zero_grad(m.net), gr_requires_grad(m.net, true);
        gr_tensor *w = view ? gr_slice(m.t, m.fc->weight, 0, 2) : m.fc->weight, *loss = total(&m, gr_linear(m.t, ones(&m), w, NULL));
        gr_requires_grad(&m.fc->module, false);
        assert_true(gr_backward(m.t, loss));
        assert_null(gr_grad(m.t, m.fc->weight));
        const gr_real *const x = m.fc->weight->data;
        assert_close(gr_grad(m.t, m.v), ((gr_real[]){ x[0] + x[1], x[2] + x[3] }), 2, 1e-6);
    }
    model_end(&m);
}

TEST(a_note_of_a_frozen_parameter_may_run_out_of_memory)
{
    size_t failures = 0;
    for (size_t most = 64; most < 6000; most += 16) {
        model m = model_start(gr_tape_new(1, &(gr_tape_config){ .max_bytes = most }));
        gr_requires_grad(&m.fc->module, false);
        const bool well = gr_backward(m.t, total(&m, gr_linear_forward(m.t, m.fc, gr_linear_forward(m.t, m.fc, ones(&m)))));
        assert_int_equal(gr_error_code(m.t), well ? GR_OK : GR_NO_MEMORY);
        failures += !well;
        model_end(&m);
    }
    assert_in_range(failures, 50, 300);
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

/* A matrix product without rows reaches w and adds nothing: the gradient of w is 0. A step that does not want it leaves it so. */
TEST(a_gradient_of_zeros_survives_steps_in_which_it_is_frozen)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *net = gr_module_new(t), *a = gr_module_make(t, net, "a", "A", sizeof(gr_module));
    gr_tensor *w = gr_param(t, a, "w", GR_SHAPE(4, 4), (gr_init){ 0 }), *v = gr_param(t, net, "v", GR_SHAPE(4), (gr_init){ 0 });
    for (int k = 0; k < 2; k++) {
        gr_tensor *nothing = gr_sum(t, gr_matmul(t, gr_zeros(t, GR_SHAPE(0, 4)), w), GR_ALL_AXES, false);
        gr_backward(t, gr_add(t, nothing, gr_sum(t, v, GR_ALL_AXES, false)));
        for (size_t i = 0; i < w->len; i++) w->grad[i] = NAN; /* the memory of a gradient that is not cleared yet may hold anything */
        gr_tape_reset(t);
        gr_requires_grad(a, false);
        gr_backward(t, gr_sum(t, k ? gr_layer_norm(t, w, 1, v, NULL, 0) : gr_mul(t, w, v), GR_ALL_AXES, false));
        assert_ok(t);
        gr_tape_reset(t);
        gr_requires_grad(a, true);
        const gr_real *const dw = gr_grad(t, w);
        for (size_t i = 0; i < w->len; i++) assert_true(dw && dw[i] == 0);
        gr_module_zero_grad(net);
    }
    gr_module_free(net);
    gr_tape_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_number_that_was_never_given_out_is_refused),
        cmocka_unit_test(a_parameter_that_changed_since_the_forward_is_an_error),
        cmocka_unit_test(a_kept_state_that_changed_since_the_forward_is_an_error),
        cmocka_unit_test(anomaly_mode_sees_a_change_made_by_hand),
        cmocka_unit_test(a_gradient_that_is_asked_for_after_the_first_use_is_an_error),
        cmocka_unit_test(what_passes_no_gradient_is_no_use),
        cmocka_unit_test(a_segment_may_want_the_gradient_of_its_own_input),
        cmocka_unit_test(the_wish_for_a_view_is_one_for_its_base),
        cmocka_unit_test(a_parameter_that_was_thawed_since_the_forward_is_an_error),
        cmocka_unit_test(a_thaw_is_no_error_where_no_gradient_is_lost),
        cmocka_unit_test(a_parameter_that_was_frozen_since_the_forward_gets_no_gradient),
        cmocka_unit_test(a_note_of_a_frozen_parameter_may_run_out_of_memory),
        cmocka_unit_test(a_gradient_of_zeros_survives_steps_in_which_it_is_frozen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
