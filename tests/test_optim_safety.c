/* tests/test_optim_safety.c - optimizers: refused settings and gradients change nothing; dead parameters, bits, memory. */
#include "optim/internal.h"
#include "tests/failing.h"
#include "tests/give.h"
#include "tests/own_rule.h"
#include <fenv.h>
#include <float.h>

static const gr_init one = { GR_INIT_CONSTANT, 1, 0, GR_FAN_IN };

/* ---- Misuse ---- */

TEST(bad_settings_are_refused)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *net = gr_module_new(t);
    gr_param(t, net, "w", GR_SHAPE(2), one);
    const struct { gr_sgd_config config; const char *message; } sgd[] = {
        { { .lr = -1 }, "sgd: the learning rate must be positive and finite; got -1" },
        { { .lr = HUGE_VAL }, "sgd: the learning rate must be positive and finite; got inf" },
        { { .momentum = -1 }, "sgd: momentum must be 0 or more; got -1" },
        { { .dampening = (double)NAN }, "sgd: dampening must be in [0, 1]; got nan" },
        { { .dampening = 1.5, .momentum = 0.5 }, "sgd: dampening must be in [0, 1]; got 1.5" },
        { { .weight_decay = -2 }, "sgd: weight_decay must be 0 or more; got -2" },
        { { .nesterov = true }, "sgd: nesterov needs a momentum and no dampening; got 0 and 0" },
        { { .nesterov = true, .momentum = 0.5, .dampening = 0.5 }, "sgd: nesterov needs a momentum and no dampening; got 0.5 and 0.5" },
    };
    const struct { gr_adam_config config; const char *message; } adam[] = {
        { { .lr = (double)NAN }, "adam: the learning rate must be positive and finite; got nan" },
        { { .beta1 = 1 }, "adam: beta1 must be in [0, 1); got 1" },
        { { .beta2 = -2 }, "adam: beta2 must be in [0, 1); got -2" },
        { { .eps = -2 }, "adam: eps must be 0 or more; got -2" },
    };
    const struct { gr_rmsprop_config config; const char *message; } rmsprop[] = {
        { { .lr = -2 }, "rmsprop: the learning rate must be positive and finite; got -2" },
        { { .lr = GR_NONE }, "rmsprop: the learning rate must be positive and finite; got -1" },
        { { .alpha = 1 }, "rmsprop: alpha must be in [0, 1); got 1" },
        { { .eps = -2 }, "rmsprop: eps and momentum must be 0 or more; got -2 and 0" },
        { { .momentum = (double)NAN }, "rmsprop: eps and momentum must be 0 or more; got 1e-08 and nan" },
        { { .weight_decay = -3, .momentum = 0.5, .centered = true }, "centered rmsprop with momentum: weight_decay must be 0 or more; got -3" },
    };
    const struct { gr_adagrad_config config; const char *message; } adagrad[] = {
        { { .lr_decay = -1 }, "adagrad: lr_decay, initial_accumulator_value and eps must be 0 or more; got -1, 0 and 1e-10" },
        { { .initial_accumulator_value = -2 }, "adagrad: lr_decay, initial_accumulator_value and eps must be 0 or more; got 0, -2 and 1e-10" },
        { { .eps = -2 }, "adagrad: lr_decay, initial_accumulator_value and eps must be 0 or more; got 0, 0 and -2" },
        { { .lr = (double)NAN }, "adagrad: the learning rate must be positive and finite; got nan" },
        { { .lr = GR_NONE }, "adagrad: the learning rate must be positive and finite; got -1" },
    };
    static const gr_optim_rule nameless = { NULL, { NULL }, amsgrad_move }, still = { "still", { NULL }, NULL };
    const struct { const gr_optim_rule *rule; gr_optim_config config; const char *message; } own[] = {
        { NULL, { 0 }, "optim_new: the rule is NULL" },
        { &nameless, { 0 }, "optim_new: the rule needs a name, which is UTF-8 text and not empty" },
        { &still, { 0 }, "optim_new: the rule has no move" },
        { &amsgrad_rule, { .lr = -1 }, "amsgrad: the learning rate must be positive and finite; got -1" },
        { &amsgrad_rule, { .weight_decay = -2 }, "amsgrad: weight_decay must be 0 or more; got -2" },
        { &amsgrad_rule, { .beta = { 1 } }, "amsgrad: beta1 must be in [0, 1); got 1" },
        { &amsgrad_rule, { .beta = { 0, (double)NAN } }, "amsgrad: beta2 must be in [0, 1); got nan" },
        { &amsgrad_rule, { .settings = t }, "amsgrad: settings is given, but settings_size is 0" },
        { &amsgrad_rule, { .settings_size = 8 }, "amsgrad: settings is NULL, but settings_size is 8" },
    };
    for (size_t k = 0; k < COUNT(rmsprop); k++) assert_fails(t, gr_rmsprop_new(t, net, &rmsprop[k].config), rmsprop[k].message);
    for (size_t k = 0; k < COUNT(adagrad); k++) assert_fails(t, gr_adagrad_new(t, net, &adagrad[k].config), adagrad[k].message);
    for (size_t k = 0; k < COUNT(own); k++) assert_fails(t, gr_optim_new(t, net, own[k].rule, &own[k].config), own[k].message);
    assert_fails(t, gr_optim_new(t, NULL, &amsgrad_rule, NULL), "amsgrad: the module is NULL");
    for (size_t k = 0; k < COUNT(sgd); k++) assert_fails(t, gr_sgd_new(t, net, &sgd[k].config), sgd[k].message);
    for (size_t k = 0; k < COUNT(adam); k++) assert_fails(t, gr_adam_new(t, net, &adam[k].config), adam[k].message);
    assert_null(gr_adamw_new(t, NULL, NULL));
    assert_message(t, "adamw: the module is NULL");
    gr_module_free(net);
    gr_tape_free(t);
}

TEST(every_function_takes_null)
{
    gr_tape *t = gr_tape_new(1, NULL);
    assert_null(gr_sgd_new(NULL, NULL, NULL));
    assert_null(gr_adam_new(NULL, NULL, NULL));
    assert_null(gr_rmsprop_new(NULL, NULL, NULL));
    assert_null(gr_adagrad_new(NULL, NULL, NULL));
    assert_null(gr_optim_new(NULL, NULL, NULL, NULL));
    gr_optim_free(NULL), gr_optim_zero_grad(NULL), gr_optim_set_lr(NULL, 1), gr_optim_observe(NULL, 1);
    assert_true(isnan(gr_optim_lr(NULL)));
    assert_int_equal(gr_optim_steps(NULL), 0);
    assert_false(gr_optim_step(NULL, NULL));
    assert_false(gr_optim_schedule(NULL, NULL, gr_schedule_constant()));
    assert_false(gr_optim_set_group(NULL, NULL, NULL, (gr_optim_group){ 0 }));
    assert_true(isnan(gr_clip_grad_norm(NULL, NULL, 1)));
    assert_false(gr_clip_grad_value(NULL, NULL, 1));
    assert_fails(t, gr_optim_step(t, NULL), "optim_step: the optimizer is NULL");
    assert_true(isnan(gr_clip_grad_norm(t, NULL, 1)));
    assert_message(t, "clip_grad_norm: the optimizer is NULL");
    gr_tape_recover(t);
    assert_fails(t, gr_clip_grad_value(t, NULL, 1), "clip_grad_value: the optimizer is NULL");
    gr_tape_free(t);
}

TEST(a_module_without_parameters_has_no_optimizer)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *net = gr_module_new(t);
    gr_buffer(t, net, "buffer", GR_SHAPE(2), 0);
    assert_fails(t, gr_sgd_new(t, net, NULL), "sgd: the module has no parameters; make the optimizer last");
    assert_fails(t, gr_adam_new(t, net, NULL), "adam: the module has no parameters; make the optimizer last");
    assert_fails(t, gr_adamw_new(t, net, NULL), "adamw: the module has no parameters; make the optimizer last");
    gr_module_free(net);
    gr_tape_free(t);
}

/* ---- Errors change nothing ---- */

TEST(a_step_on_a_tape_in_error_changes_nothing)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *net = gr_module_new(t);
    gr_tensor *w = gr_param(t, net, "w", GR_SHAPE(2), one);
    gr_optim *o = gr_adam_new(t, net, NULL);
    give(t, w, (gr_real[]){ 3, 4 });
    gr_fail(t, NULL, "stop");
    assert_false(gr_optim_step(t, o));
    assert_true(isnan(gr_clip_grad_norm(t, o, 1)));
    assert_false(gr_clip_grad_value(t, o, 1));
    assert_message(t, "stop");
    assert_values(w, 0, 1, 1);
    assert_close(gr_grad(t, w), ((gr_real[]){ 3, 4 }), 2, 0);
    assert_int_equal(gr_optim_steps(o), 0);
    gr_optim_free(o);
    gr_module_free(net);
    gr_tape_free(t);
}

TEST(a_careful_step_and_clipping_refuse_gradients_that_are_not_finite)
{
    const gr_real bad[] = { (gr_real)NAN, (gr_real)HUGE_VAL, -(gr_real)HUGE_VAL };
    for (size_t k = 0; k < COUNT(bad); k++) {
        gr_tape *t = gr_tape_new(1, NULL);
        gr_module *net = gr_module_new(t);
        gr_tensor *v = gr_param(t, net, "v", GR_SHAPE(20), one), *w = gr_param(t, net, "w", GR_SHAPE(40), one);
        gr_optim *careful = gr_sgd_new(t, net, &(gr_sgd_config){ .refuse_nonfinite = true }), *plain = gr_sgd_new(t, net, NULL);
        gr_real dx[40] = { 0 };
        dx[37] = bad[k];
        gr_backward(t, gr_add(t, gr_sum(t, v, GR_ALL_AXES, false), gr_sum(t, gr_mul(t, w, gr_input(t, dx, GR_SHAPE(40))), GR_ALL_AXES, false)));
        assert_false(gr_optim_step(t, careful));
        assert_message(t, "optim_step: the gradient of w holds a NaN or an infinity: the step is refused; gr_tape_set_anomaly finds the operator");
        assert_int_equal(gr_error_code(t), GR_NOT_FINITE);
        for (size_t i = 0; i < 20; i++) assert_true(v->data[i] == 1 && w->data[i] == 1);
        gr_tape_recover(t);
        gr_backward(t, gr_add(t, gr_sum(t, v, GR_ALL_AXES, false), gr_sum(t, gr_mul(t, w, gr_input(t, dx, GR_SHAPE(40))), GR_ALL_AXES, false)));
        assert_true(isnan(gr_clip_grad_norm(t, plain, 1)));
        assert_message(t, k ? "clip_grad_norm: the gradient norm is infinite at w: nothing was clipped; gr_tape_set_anomaly finds the operator" : "clip_grad_norm: the gradient norm is NaN at w: nothing was clipped; gr_tape_set_anomaly finds the operator");
        assert_true(gr_grad(t, v)[0] == 1);
        gr_tape_recover(t);
        gr_backward(t, gr_add(t, gr_sum(t, v, GR_ALL_AXES, false), gr_sum(t, gr_mul(t, w, gr_input(t, dx, GR_SHAPE(40))), GR_ALL_AXES, false)));
        assert_true(gr_clip_grad_value(t, plain, 0.5)); /* NaN remains NaN, an infinity does not remain */
        assert_true(k ? gr_grad(t, w)[37] == (bad[k] > 0 ? (gr_real)0.5 : (gr_real)-0.5) : isnan(gr_grad(t, w)[37]));
        assert_true(gr_optim_step(t, plain));
        assert_fails(t, gr_clip_grad_value(t, plain, -1), "clip_grad_value: the largest value must be 0 or more; got -1");
        assert_true(isnan(gr_clip_grad_norm(t, plain, (double)NAN)));
        assert_message(t, "clip_grad_norm: the largest norm must be 0 or more; got nan");
        gr_optim_free(careful), gr_optim_free(plain);
        gr_module_free(net);
        gr_tape_free(t);
    }
}

TEST(a_learning_rate_that_is_negative_or_not_finite_is_refused)
{
    const struct { double lr; const char *message; } bad[] = {
        { -1, "optim_step: the learning rate must be 0 or more, and finite; got -1" },
        { (double)NAN, "optim_step: the learning rate must be 0 or more, and finite; got nan" },
        { HUGE_VAL, "optim_step: the learning rate must be 0 or more, and finite; got inf" },
    };
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *net = gr_module_new(t);
    gr_tensor *w = gr_param(t, net, "w", GR_SHAPE(3), one);
    gr_optim *o = gr_sgd_new(t, net, NULL);
    for (size_t k = 0; k < COUNT(bad); k++) {
        gr_backward(t, gr_sum(t, w, GR_ALL_AXES, false));
        gr_optim_set_lr(o, bad[k].lr);
        assert_fails(t, gr_optim_step(t, o), bad[k].message);
        assert_true(w->data[0] == 1 && gr_optim_steps(o) == 0);
    }
    gr_optim_free(o), gr_module_free(net), gr_tape_free(t);
}

TEST(a_norm_beyond_the_range_of_float_is_right)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *net = gr_module_new(t);
    gr_tensor *w = gr_param(t, net, "w", GR_SHAPE(2), one);
    gr_optim *o = gr_sgd_new(t, net, NULL);
    give(t, w, (gr_real[]){ (gr_real)3e30, (gr_real)4e30 });
    assert_true(fabs(gr_clip_grad_norm(t, o, 1) / 5e30 - 1) < 1e-6);
    assert_close(gr_grad(t, w), ((gr_real[]){ (gr_real)0.6, (gr_real)0.8 }), 2, 1e-6);
    gr_optim_free(o);
    gr_module_free(net);
    gr_tape_free(t);
}

TEST(recover_does_not_undo_a_finished_step)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *net = gr_module_new(t);
    gr_tensor *w = gr_param(t, net, "w", GR_SHAPE(2), one);
    gr_optim *o = gr_sgd_new(t, net, NULL);
    for (int stepped = 0; stepped < 2; stepped++) {
        give(t, w, (gr_real[]){ 1, 1 });
        gr_detach_keep(t, net, "h", w);
        if (stepped) gr_optim_step(t, o);
        gr_fail(t, NULL, "later");
        gr_tape_recover(t);
        assert_int_equal(gr_kept(net, "h") != NULL, stepped);
    }
    gr_optim_free(o);
    gr_module_free(net);
    gr_tape_free(t);
}

/* ---- Dead parameters ---- */

enum { MANY = 1 << 10 };

/* Does the processor set a flag when a result is subnormal? Under valgrind it does not. */
static bool underflow_shows(void)
{
    volatile gr_real x = sizeof(gr_real) == sizeof(float) ? (gr_real)FLT_MIN : (gr_real)DBL_MIN;
    feclearexcept(FE_ALL_EXCEPT);
    x *= (gr_real)0.3;
    return x > 0 && fetestexcept(FE_UNDERFLOW);
}

/* The number of steps in which a result was subnormal. Such an operation takes a hundred times as long. */
static int steps_that_underflow(gr_tape *t, gr_optim *o, int steps)
{
    int count = 0;
    for (int i = 0; i < steps; i++) {
        feclearexcept(FE_ALL_EXCEPT);
        assert_true(gr_optim_step(t, o));
        count += fetestexcept(FE_UNDERFLOW) != 0;
    }
    return count;
}

TEST(dead_parameters_make_no_subnormal_number)
{
    gr_real *live = malloc(MANY * sizeof *live), *dead = calloc(MANY, sizeof *dead);
    if (!underflow_shows()) printf("not run: subnormal intermediate results, this processor does not report them\n");
    for (size_t i = 0; i < MANY; i++) live[i] = (gr_real)0.01 * (gr_real)(i % 7 + 1), dead[i] = i % 2 ? 0 : (gr_real)0x1p-130;
    for (int rule = 0; rule < 4; rule++) {
        gr_tape *t = gr_tape_new(1, NULL);
        gr_module *net = gr_module_new(t);
        gr_tensor *w = gr_param(t, net, "w", GR_SHAPE(MANY), one);
        gr_optim *o = rule == 0   ? gr_sgd_new(t, net, &(gr_sgd_config){ .momentum = 0.9 })
                      : rule == 1 ? gr_adam_new(t, net, &(gr_adam_config){ .beta2 = 0.9 })
                      : rule == 2 ? gr_rmsprop_new(t, net, &(gr_rmsprop_config){ .alpha = 0.9, .momentum = 0.9, .centered = true })
                                  : gr_adagrad_new(t, net, NULL);
        for (int round = 0; round < 2; round++) {
            gr_optim_zero_grad(o);
            give(t, w, live);
            assert_int_equal(steps_that_underflow(t, o, 30), 0);
            gr_optim_zero_grad(o);
            give(t, w, dead);
            assert_int_equal(steps_that_underflow(t, o, 2000), 0); /* 0.9^2000 is 2^-304 */
        }
        const gr_real before = w->data[0];
        gr_optim_step(t, o);
        assert_true(w->data[0] == before);
        for (size_t i = 0; i < MANY; i++)
            for (int k = 0; k < GR_OPTIM_STATES; k++) assert_true(!o->state[k] || o->state[k][i] == 0 || o->state[k][i] >= (gr_real)0x1p-100);
        gr_optim_free(o);
        gr_module_free(net);
        gr_tape_free(t);
    }
    free(live), free(dead);
}

/* Equal gradients: v and a^2 become equal, and their difference is rounding. */
TEST(centered_rmsprop_takes_no_root_of_a_negative_difference)
{
    enum { MEANS = 64 };
    gr_real dx[MEANS];
    for (int i = 0; i < MEANS; i++) dx[i] = (gr_real)(0.01 * (i + 1));
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *net = gr_module_new(t);
    gr_tensor *w = gr_param(t, net, "w", GR_SHAPE(MEANS), one);
    gr_optim *o = gr_rmsprop_new(t, net, &(gr_rmsprop_config){ .alpha = 0.5, .centered = true });
    give(t, w, dx);
    for (int step = 0; step < 200; step++) assert_true(gr_optim_step(t, o));
    for (int i = 0; i < MEANS; i++) assert_true(isfinite(w->data[i]));
    gr_optim_free(o);
    gr_module_free(net);
    gr_tape_free(t);
}

/* ---- Bits and memory ---- */

static gr_tensor *noise(gr_tape *t, gr_shape shape, uint64_t *seed)
{
    gr_tensor *x = gr_empty(t, shape);
    fill_random(seed, x->data, x->len, -1, 1);
    return x;
}

static uint64_t hash_of_training(int threads, const char *isa)
{
    gr_tape *t = gr_tape_new(1, (&(gr_tape_config){ .threads = threads, .isa = isa }));
    gr_module *net = gr_module_new(t);
    gr_tensor *x[] = { gr_param(t, net, "a", GR_SHAPE(211, 173), gr_init_normal(0, 1)), gr_param(t, net, "b", GR_SHAPE(7), gr_init_normal(0, 1)),
                       gr_param(t, net, "c", GR_SHAPE(16384, 2), gr_init_normal(0, 1)) };
    gr_optim *o[] = { gr_adam_new(t, net, &(gr_adam_config){ .lr = 0.1, .weight_decay = 0.1, .refuse_nonfinite = true }), gr_adamw_new(t, net, NULL),
                      gr_sgd_new(t, net, NULL), gr_sgd_new(t, net, &(gr_sgd_config){ .momentum = 0.9, .nesterov = true, .weight_decay = 0.1 }),
                      gr_rmsprop_new(t, net, NULL), gr_rmsprop_new(t, net, &(gr_rmsprop_config){ .momentum = 0.9, .centered = true, .weight_decay = 0.1 }),
                      gr_adagrad_new(t, net, &(gr_adagrad_config){ .lr_decay = 0.1 }), amsgrad_new(t, net, 0.1) };
    uint64_t hash = 0, seed = 1;
    for (int step = 0; step < 3; step++)
        for (size_t k = 0; k < COUNT(o); k++) {
            gr_tape_reset(t);
            gr_optim_zero_grad(o[k]);
            gr_tensor *loss = gr_sum(t, gr_mul(t, x[0], noise(t, gr_shape_of(x[0]), &seed)), GR_ALL_AXES, false);
            loss = gr_add(t, loss, gr_sum(t, gr_mul(t, x[1], x[1]), GR_ALL_AXES, false));
            loss = gr_add(t, loss, gr_sum(t, gr_mul(t, x[2], noise(t, gr_shape_of(x[2]), &seed)), GR_ALL_AXES, false));
            gr_backward(t, loss);
            const gr_real norm[] = { (gr_real)gr_clip_grad_norm(t, o[k], 1) };
            gr_clip_grad_value(t, o[k], 0.01);
            assert_true(gr_optim_step(t, o[k]));
            hash = hash_reals(hash, norm, 1);
        }
    for (size_t k = 0; k < COUNT(x); k++) hash = hash_reals(hash, x[k]->data, x[k]->len);
    for (size_t k = 0; k < COUNT(o); k++) gr_optim_free(o[k]);
    gr_module_free(net);
    gr_tape_free(t);
    return hash;
}

TEST(bits_do_not_depend_on_threads_or_instruction_set)
{
    const char *last = best_isa();
    const uint64_t want = hash_of_training(1, last);
    EACH_ISA(isa)
    {
        if (sizeof(gr_real) == sizeof(double) && strcmp(isa, last)) continue;
        for (int threads = 1; threads <= 4; threads *= 2) assert_true(hash_of_training(threads, isa) == want);
    }
}

typedef struct { gr_optim *(*make)(gr_tape *t, gr_module *net); size_t calls; } trained; /* calls: of the allocator, in the first step */
static gr_optim *make_adamw(gr_tape *t, gr_module *net) { return gr_adamw_new(t, net, NULL); }
static gr_optim *make_rmsprop(gr_tape *t, gr_module *net) { return gr_rmsprop_new(t, net, &(gr_rmsprop_config){ .momentum = 0.9, .centered = true }); }

static bool train(gr_tape *t, void *argument)
{
    trained *const c = argument;
    gr_module *net = gr_module_new(t);
    gr_tensor *w = gr_param(t, net, "w", GR_SHAPE(20000), one);
    gr_optim *o = c->make(t, net);
    bool well = o;
    for (int step = 0; step < 3 && well; step++) {
        gr_tape_reset(t);
        gr_optim_zero_grad(o);
        gr_backward(t, gr_sum(t, gr_mul(t, w, w), GR_ALL_AXES, false));
        gr_clip_grad_norm(t, o, 1);
        well = gr_optim_step(t, o);
        if (step == 0 && well) c->calls = ((failing_memory *)gr_tape_allocator(t)->context)->calls;
    }
    if (well) assert_int_equal(((failing_memory *)gr_tape_allocator(t)->context)->calls, c->calls);
    if (!well && w) assert_true(w->data[0] == 1); /* the first step failed */
    gr_optim_free(o);
    gr_module_free(net);
    return well;
}
TEST(every_allocation_may_fail_and_the_second_step_allocates_nothing)
{
    fail_every_allocation(train, &(trained){ make_adamw, 0 });
    fail_every_allocation(train, &(trained){ make_rmsprop, 0 });
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_settings_are_refused),
        cmocka_unit_test(every_function_takes_null),
        cmocka_unit_test(a_module_without_parameters_has_no_optimizer),
        cmocka_unit_test(a_step_on_a_tape_in_error_changes_nothing),
        cmocka_unit_test(a_careful_step_and_clipping_refuse_gradients_that_are_not_finite),
        cmocka_unit_test(a_learning_rate_that_is_negative_or_not_finite_is_refused),
        cmocka_unit_test(a_norm_beyond_the_range_of_float_is_right),
        cmocka_unit_test(recover_does_not_undo_a_finished_step),
        cmocka_unit_test(dead_parameters_make_no_subnormal_number),
        cmocka_unit_test(centered_rmsprop_takes_no_root_of_a_negative_difference),
        cmocka_unit_test(bits_do_not_depend_on_threads_or_instruction_set),
        cmocka_unit_test(every_allocation_may_fail_and_the_second_step_allocates_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
