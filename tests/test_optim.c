/* tests/test_optim.c - optimizers against steps recorded from PyTorch; groups, clipping, schedules. */
#include "tests/failing.h"
#include "tests/give.h"
#include "tests/own_rule.h"

enum { N = 37, STEPS = 6 };
static const double close_enough = sizeof(gr_real) == 4 ? 1e-6 : 1e-12;

/* The recorded values with this name, as gr_real. */
static const gr_real *golden(const char *name)
{
    static gr_real x[STEPS * N];
    gr_tape *t = gr_tape_new(1, NULL);
    gr_safetensors *f = gr_safetensors_open(t, "tests/golden/optim.safetensors");
    const gr_safetensors_entry *e = gr_safetensors_find(f, name);
    if (!e || e->len > COUNT(x)) fail_msg("%s: there is no record of %s", gr_message(t), name);
    gr_safetensors_reals(e, x);
    gr_safetensors_free(f);
    gr_tape_free(t);
    return x;
}

static gr_tensor *parameter(gr_tape *t, gr_module *m, const char *name, gr_shape shape, const gr_real *values)
{
    gr_tensor *x = gr_param(t, m, name, shape, gr_init_constant(1));
    if (x && values) memcpy(x->data, values, x->len * sizeof *values);
    return x;
}

/* ---- Against PyTorch ---- */

#define SGD(...) gr_sgd_new(t, net, &(gr_sgd_config){ __VA_ARGS__ })
#define ADAM(...) gr_adam_new(t, net, &(gr_adam_config){ __VA_ARGS__ })
#define ADAMW(...) gr_adamw_new(t, net, &(gr_adam_config){ __VA_ARGS__ })
#define RMSPROP(...) gr_rmsprop_new(t, net, &(gr_rmsprop_config){ __VA_ARGS__ })
#define ADAGRAD(...) gr_adagrad_new(t, net, &(gr_adagrad_config){ __VA_ARGS__ })

static gr_optim *recorded_case(gr_tape *t, gr_module *net, int k, const char **name)
{
    static const char *const names[] = { "sgd", "sgd.decay", "sgd.momentum", "sgd.dampening", "sgd.nesterov", "adam", "adam.decay",
                                         "adam.betas", "adam.no.beta1", "adamw", "adamw.decay", "rmsprop", "rmsprop.momentum",
                                         "rmsprop.centered", "rmsprop.both", "adagrad", "adagrad.all", "amsgrad" };
    if (k == COUNT(names)) return NULL;
    *name = names[k];
    switch (k) {
    case 0: return SGD(.lr = 0.1);
    case 1: return SGD(.lr = 0.1, .weight_decay = 0.05);
    case 2: return SGD(.lr = 0.1, .momentum = 0.9);
    case 3: return SGD(.lr = 0.1, .momentum = 0.9, .dampening = 0.3, .weight_decay = 0.05);
    case 4: return SGD(.lr = 0.1, .momentum = 0.8, .nesterov = true, .weight_decay = 0.05);
    case 5: return gr_adam_new(t, net, NULL);
    case 6: return ADAM(.lr = 0.05, .weight_decay = 0.1);
    case 7: return ADAM(.lr = 0.05, .beta1 = 0.5, .beta2 = 0.9, .eps = 1e-3);
    case 8: return ADAM(.lr = 0.05, .beta1 = GR_NONE, .beta2 = 0.99);
    case 9: return ADAMW(.lr = 0.05);
    case 10: return ADAMW(.lr = 0.05, .weight_decay = 0.3);
    case 11: return gr_rmsprop_new(t, net, NULL);
    case 12: return RMSPROP(.lr = 0.02, .alpha = 0.9, .eps = 1e-3, .momentum = 0.8, .weight_decay = 0.1);
    case 13: return RMSPROP(.lr = 0.02, .centered = true);
    case 14: return RMSPROP(.lr = 0.02, .alpha = 0.8, .momentum = 0.5, .centered = true, .weight_decay = 0.05);
    case 15: return gr_adagrad_new(t, net, NULL);
    case 16: return ADAGRAD(.lr = 0.1, .lr_decay = 0.3, .weight_decay = 0.05, .initial_accumulator_value = 0.2, .eps = 1e-3);
    default: return amsgrad_new(t, net, 0.05);
    }
}

TEST(steps_are_those_of_pytorch)
{
    bool more = true;
    for (int k = 0; more; k++) {
        const char *name = NULL;
        gr_tape *t = gr_tape_new(1, NULL);
        gr_module *net = gr_module_new(t);
        gr_tensor *x = parameter(t, net, "x", GR_SHAPE(N, 1), golden("x"));
        gr_optim *o = recorded_case(t, net, k, &name);
        for (int step = 0; o && step < STEPS; step++) {
            gr_optim_zero_grad(o);
            give(t, x, golden("dx") + step * N);
            assert_true(gr_optim_step(t, o));
            assert_close(x->data, golden(name) + step * N, N, close_enough);
        }
        more = name;
        gr_optim_free(o);
        gr_module_free(net);
        gr_tape_free(t);
    }
}

TEST(clipping_is_that_of_pytorch)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *net = gr_module_new(t);
    gr_tensor *x = parameter(t, net, "x", GR_SHAPE(N, 1), golden("x"));
    gr_optim *o = gr_adam_new(t, net, NULL);
    give(t, x, golden("dx"));
    const double norm = gr_clip_grad_norm(t, o, 1.5);
    assert_true(fabs(norm - (double)*golden("norm")) < 1e-6 * norm);
    assert_close(gr_grad(t, x), golden("clip.norm"), N, close_enough);
    assert_true(fabs(gr_clip_grad_norm(t, o, 1) - 1.5) < 1e-5);
    gr_optim_zero_grad(o);
    give(t, x, golden("dx"));
    assert_true(gr_clip_grad_norm(t, o, HUGE_VAL) == norm && gr_clip_grad_norm(t, o, norm * 1.001) == norm);
    assert_same_bits(gr_grad(t, x), golden("dx"), N);
    assert_true(gr_clip_grad_value(t, o, 0.25));
    assert_close(gr_grad(t, x), golden("clip.value"), N, 0);
    gr_optim_free(o);
    gr_module_free(net);
    gr_tape_free(t);
}

TEST(schedules_are_those_of_pytorch)
{
    const struct { const char *name; gr_schedule schedule; } c[] = {
        { "lr.step", gr_schedule_step(4, 0.3) },
        { "lr.exponential", gr_schedule_exponential(0.8) },
        { "lr.multi.step", gr_schedule_multi_step((const size_t[]){ 11, 3, 4 }, 3, 0.3) },
        { "lr.one.cycle", gr_schedule_one_cycle(14, 0, 0, 0) },
        { "lr.one.cycle.late", gr_schedule_one_cycle(13, 0.77, 10, 50) },
        { "lr.one.cycle.down", gr_schedule_one_cycle(14, GR_NONE, 25, 1e4) },
        { "lr.cosine", gr_schedule_cosine(13, 0.1) },
        { "lr.linear", gr_schedule_linear(10, 0.25) },
        { "lr.plateau", gr_schedule_plateau(0.5, 2) },
    };
    gr_real losses[14], rate[14];
    memcpy(losses, golden("losses"), sizeof losses);
    for (size_t k = 0; k < COUNT(c); k++) {
        gr_tape *t = gr_tape_new(1, NULL);
        gr_module *net = gr_module_new(t);
        gr_tensor *x = parameter(t, net, "x", GR_SHAPE(1), NULL);
        gr_optim *o = SGD(.lr = 0.4);
        assert_true(gr_optim_schedule(t, o, c[k].schedule));
        for (size_t step = 0; step < 14; step++) {
            assert_int_equal(gr_optim_steps(o), step);
            rate[step] = (gr_real)gr_optim_lr(o);
            give(t, x, (gr_real[]){ 1 });
            assert_true(gr_optim_step(t, o));
            gr_optim_observe(o, (double)losses[step]);
        }
        assert_close(rate, golden(c[k].name), strcmp(c[k].name, "lr.one.cycle.late") ? 14 : 13, close_enough); /* its cycle has 13 steps */
        gr_optim_free(o);
        gr_module_free(net);
        gr_tape_free(t);
    }
}

/* ---- Schedules ---- */

TEST(warm_up_rises_to_the_start_of_the_schedule)
{
    const gr_schedule s = gr_schedule_warmup(4, gr_schedule_linear(2, 0));
    const double want[] = { 0.25, 0.5, 0.75, 1, 1, 0.5, 0, 0 };
    for (size_t i = 0; i < COUNT(want); i++) assert_true(gr_schedule_scale(s, i) == want[i]);
    assert_true(gr_schedule_scale(gr_schedule_constant(), 12345) == 1);
    assert_true(gr_schedule_scale(gr_schedule_cosine(0, 0.5), 0) == 0.5); /* a schedule of 0 steps is at its end */
    assert_true(gr_schedule_scale(gr_schedule_cosine(2, 0), 1) == 0.5);
    assert_true(gr_schedule_scale(gr_schedule_step(3, 0.5), 11) == 0.125);
}

TEST(milestones_and_cycles_have_ends)
{
    const size_t twice[] = { 2, 2, 0 };
    const gr_schedule drops = gr_schedule_multi_step(twice, 3, 0.5), cycle = gr_schedule_one_cycle(10, 0, 0, 0);
    assert_true(gr_schedule_scale(drops, 0) == 0.5 && gr_schedule_scale(drops, 1) == 0.5 && gr_schedule_scale(drops, 2) == 0.125);
    assert_true(gr_schedule_scale(gr_schedule_multi_step(NULL, 0, 0.5), 9) == 1);
    assert_true(fabs(gr_schedule_scale(cycle, 0) - 0.04) < 1e-15 && gr_schedule_scale(cycle, 2) == 1); /* 0.3 of 10 steps are steps 0, 1, 2 */
    assert_true(gr_schedule_scale(cycle, 9) == 1. / 25 / 1e4 && gr_schedule_scale(cycle, 99) == 1. / 25 / 1e4);
    assert_true(gr_schedule_scale(gr_schedule_warmup(5, cycle), 7) == 1);
    for (size_t steps = 0; steps < 4; steps++) /* the shortest cycles have an end, and no NaN */
        for (size_t step = 0; step < 5; step++) {
            const double pct_start[] = { GR_NONE, 0.5, 1 };
            for (size_t k = 0; k < COUNT(pct_start); k++) {
                const double scale = gr_schedule_scale(gr_schedule_one_cycle(steps, pct_start[k], 0, 0), step);
                assert_true(scale > 0 && scale <= 1);
                if (step >= steps) assert_true(scale == 1. / 25 / 1e4);
            }
        }
}

TEST(schedules_that_cannot_be_are_refused)
{
    static const size_t many[GR_MILESTONES + 1] = { 1 };
    const struct { gr_schedule schedule; const char *message; } c[] = {
        { gr_schedule_step(0, 0.5), "optim_schedule: the schedule must have 1 step or more; got 0" },
        { gr_schedule_cosine(0, 0), "optim_schedule: the schedule must have 1 step or more; got 0" },
        { gr_schedule_one_cycle(0, 0, 0, 0), "optim_schedule: the schedule must have 1 step or more; got 0" },
        { gr_schedule_linear(3, -1), "optim_schedule: the factor must be 0 or more; got -1" },
        { gr_schedule_exponential((double)NAN), "optim_schedule: the factor must be 0 or more; got nan" },
        { gr_schedule_plateau(1, 2), "optim_schedule: the factor of a plateau must be below 1; got 1" },
        { gr_schedule_multi_step(many, 17, 0.1), "optim_schedule: at most 16 milestones are possible; got 17" },
        { gr_schedule_multi_step(NULL, 2, 0.1), "optim_schedule: the array of milestones is NULL" },
        { gr_schedule_one_cycle(9, 1.5, 0, 0),
          "optim_schedule: pct_start must be in [0, 1], div_factor and final_div_factor above 0; got 1.5, 25 and 10000" },
        { gr_schedule_one_cycle(9, 0, GR_NONE, 0),
          "optim_schedule: pct_start must be in [0, 1], div_factor and final_div_factor above 0; got 0.3, 0 and 10000" },
        { gr_schedule_one_cycle(9, 0, 0, -2),
          "optim_schedule: pct_start must be in [0, 1], div_factor and final_div_factor above 0; got 0.3, 25 and -2" },
    };
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *net = gr_module_new(t);
    parameter(t, net, "x", GR_SHAPE(1), NULL);
    gr_optim *o = SGD(.lr = 0.5);
    for (size_t k = 0; k < COUNT(c); k++) assert_fails(t, gr_optim_schedule(t, o, c[k].schedule), c[k].message);
    assert_true(gr_optim_schedule(t, o, gr_schedule_multi_step(many, 16, 0.1)) && gr_optim_lr(o) == 0.5 * gr_schedule_scale(gr_schedule_multi_step(many, 16, 0.1), 0));
    assert_true(isnan(gr_schedule_scale(gr_schedule_multi_step(many, 17, 0.1), 0)) && isnan(gr_schedule_scale(gr_schedule_multi_step(NULL, 1, 0.1), 0)));
    gr_optim_free(o);
    gr_module_free(net);
    gr_tape_free(t);
}

TEST(the_base_of_the_learning_rate_can_be_set)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *net = gr_module_new(t);
    parameter(t, net, "x", GR_SHAPE(1), NULL);
    gr_optim *o = SGD(.lr = 0.5);
    gr_optim_schedule(t, o, gr_schedule_warmup(2, gr_schedule_constant()));
    assert_true(gr_optim_lr(o) == 0.25);
    gr_optim_set_lr(o, 3);
    assert_true(gr_optim_lr(o) == 1.5);
    gr_optim_free(o);
    gr_module_free(net);
    gr_tape_free(t);
}

/* ---- An optimizer of one's own ---- */

/* What the rule is told about each parameter; the settings are where it says so. */
typedef struct { gr_optim_part seen[4]; size_t count; } seen_parts;
static void seeing_move(const gr_optim_part *p)
{
    seen_parts *const s = *(seen_parts *const *)p->settings;
    s->seen[s->count++] = *p;
    for (size_t i = 0; i < p->n; i++) p->x[i] = 7, p->state[1][i] += 1;
}

TEST(a_rule_is_told_the_settings_of_each_parameter)
{
    static const gr_optim_rule seeing = { "seeing", { NULL, "count" }, seeing_move };
    seen_parts s = { .count = 0 }, *const at = &s;
    gr_tape *t = gr_tape_new(1, (&(gr_tape_config){ .threads = 1 }));
    gr_module *net = gr_module_new(t), *a = gr_module_make(t, net, "a", "Thing", sizeof *a), *b = gr_module_make(t, net, "b", "Thing", sizeof *b);
    gr_tensor *x[] = { parameter(t, net, "bias", GR_SHAPE(3), NULL), parameter(t, a, "y", GR_SHAPE(2, 2), NULL), parameter(t, b, "z", GR_SHAPE(1), NULL) };
    gr_optim *o = gr_optim_new(t, net, &seeing, &(gr_optim_config){ .lr = 0.5, .weight_decay = 0.25, .beta = { 0.5, 0.75 }, .settings = &at, .settings_size = sizeof at });
    gr_optim_set_group(t, o, a, (gr_optim_group){ .lr_scale = 0.5 }), gr_optim_schedule(t, o, gr_schedule_exponential(0.5)), gr_requires_grad(b, false);
    for (int step = 1; step <= 4; step++) { /* z joins in step 4 */
        gr_tape_reset(t), gr_optim_zero_grad(o), gr_requires_grad(b, step == 4);
        s.count = 0;
        gr_backward(t, gr_sum(t, gr_add(t, gr_sum(t, x[0], GR_ALL_AXES, false), gr_mul(t, x[1], x[2])), GR_ALL_AXES, false));
        assert_true(gr_optim_step(t, o));
        assert_int_equal(s.count, step < 4 ? 2 : 3);
        for (size_t k = 0; k < s.count; k++) {
            const gr_optim_part *p = &s.seen[k];
            const int own = k < 2 ? step : 1;
            assert_true(p->t == t && p->x == x[k]->data && p->dx == gr_grad(t, x[k]) && p->n == x[k]->len && p->step == own);
            assert_true(p->lr == pow(0.5, step + (k == 1)) && p->weight_decay == (k == 1 ? 0.25 : 0)); /* a bias does not decay; the group a has half the rate */
            assert_true(p->power[0] == pow(0.5, own) && p->power[1] == pow(0.75, own));
            assert_true(!p->state[0] && !p->state[2] && !p->state[3] && p->state[1][p->n - 1] == (gr_real)own && p->settings != &at);
            assert_true(x[k]->data[0] == 7 && (step == 4 || x[2]->data[0] == 1));
        }
    }
    gr_optim_free(o);
    gr_module_free(net);
    gr_tape_free(t);
}

/* ---- Which parameters move ---- */

TEST(biases_and_norm_gains_do_not_decay)
{
    for (int all = 0; all < 3; all++) { /* 2: nothing decays at all */
        gr_tape *t = gr_tape_new(1, NULL);
        gr_module *net = gr_module_new(t), *norm = gr_module_make(t, net, "ln", "LayerNorm", sizeof *norm);
        norm->is_norm = true;
        gr_tensor *x[] = { parameter(t, net, "weight", GR_SHAPE(1, 1), NULL), parameter(t, net, "bias", GR_SHAPE(1), NULL),
                           parameter(t, norm, "weight", GR_SHAPE(1, 1), NULL) };
        gr_optim *o = SGD(.lr = 0.5, .weight_decay = all < 2 ? 0.5 : GR_NONE, .decay_all = all);
        gr_tensor *sum = gr_add(t, gr_add(t, x[0], x[1]), x[2]);
        gr_backward(t, gr_sum(t, gr_mul(t, sum, gr_zeros(t, GR_SCALAR)), GR_ALL_AXES, false));
        assert_true(gr_optim_step(t, o));
        for (int k = 0; k < 3; k++) assert_true(x[k]->data[0] == (all == 2 || (k && !all) ? 1 : (gr_real)(0.75)));
        gr_optim_free(o);
        gr_module_free(net);
        gr_tape_free(t);
    }
}

TEST(a_group_has_its_own_rate_and_decay)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *net = gr_module_new(t), *a = gr_module_make(t, net, "a", "Thing", sizeof *a), *b = gr_module_make(t, a, "b", "Thing", sizeof *b);
    gr_tensor *x = parameter(t, net, "x", GR_SHAPE(1, 1), NULL), *y = parameter(t, a, "y", GR_SHAPE(1), NULL), *z = parameter(t, b, "z", GR_SHAPE(1, 1), NULL);
    gr_optim *o = SGD(.lr = 0.5, .weight_decay = 0.25);
    assert_true(gr_optim_set_group(t, o, a, (gr_optim_group){ .lr_scale = 0.5, .decay_all = true }));
    assert_true(gr_optim_set_group(t, o, b, (gr_optim_group){ .lr_scale = GR_NONE, .weight_decay = 3 }));
    gr_requires_grad(b, false);
    char text[600];
    FILE *f = tmpfile();
    gr_print_optim(o, f), gr_print_optim(NULL, f);
    rewind(f);
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    fclose(f);
    assert_string_equal(text, "sgd, 3 parameters, step 0\n"
                              "parameter          lr  weight decay  shape\n"
                              "x                 0.5          0.25  [1, 1]\n"
                              "a.y              0.25          0.25  [1]\n"
                              "a.b.z               0             3  [1, 1]  frozen\n"
                              "NULL\n");
    gr_requires_grad(b, true);
    gr_backward(t, gr_sum(t, gr_add(t, gr_add(t, x, y), z), GR_ALL_AXES, false));
    assert_true(gr_optim_step(t, o));
    assert_true(x->data[0] == (gr_real)(0.375) && y->data[0] == (gr_real)(0.6875) && z->data[0] == 1);
    assert_fails(t, gr_optim_set_group(t, o, gr_module_make(t, net, "c", "Thing", sizeof(gr_module)), (gr_optim_group){ 0 }),
                 "optim_set_group: the optimizer has no parameter under c");
    assert_fails(t, gr_optim_set_group(t, o, a, (gr_optim_group){ .lr_scale = -2 }),
                 "optim_set_group: lr_scale and weight_decay must be 0 or more; got -2 and 0");
    assert_false(gr_optim_set_group(t, o, NULL, (gr_optim_group){ 0 }));
    assert_message(t, "optim_set_group: the module is NULL");
    gr_optim_free(o);
    gr_module_free(net);
    gr_tape_free(t);
}

#define NO_GRADIENT                                                                                                           \
    "optim_step: no gradient reached any parameter of this optimizer (x, ...): gr_backward was not called since "             \
    "gr_optim_zero_grad, or the loss does not depend on this module; gr_print_audit says which"
TEST(a_parameter_without_a_gradient_does_not_move)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *net = gr_module_new(t), *a = gr_module_make(t, net, "a", "Thing", sizeof *a);
    gr_tensor *x = parameter(t, net, "x", GR_SHAPE(2), NULL), *y = parameter(t, a, "y", GR_SHAPE(2), NULL), *none = parameter(t, a, "none", GR_SHAPE(0), NULL);
    gr_optim *o = ADAMW(.lr = 0.5, .decay_all = true);
    gr_requires_grad(a, false);
    assert_fails(t, gr_optim_step(t, o), NO_GRADIENT);
    give(t, x, (gr_real[]){ 1, 2 });
    assert_true(gr_optim_step(t, o));
    assert_values(y, 0, 1, 1);
    gr_optim_zero_grad(o);
    assert_fails(t, gr_optim_step(t, o), NO_GRADIENT);
    gr_requires_grad(a, true);
    gr_tensor *both = gr_add(t, gr_sum(t, y, GR_ALL_AXES, false), gr_sum(t, none, GR_ALL_AXES, false));
    assert_true(gr_backward(t, both)); /* after unfreezing, its first step has the bias correction of a first step */
    assert_true(gr_optim_step(t, o));
    assert_values(y, 1e-6, (gr_real)(0.495), (gr_real)(0.495));
    gr_requires_grad(net, false);
    assert_false(gr_optim_step(t, o));
    assert_message(t, "optim_step: all 3 parameters are frozen");
    assert_int_equal(gr_optim_steps(o), 2);
    gr_optim_free(o);
    gr_module_free(net);
    gr_tape_free(t);
}

TEST(a_tied_parameter_moves_once_per_step)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *net = gr_module_new(t), *a = gr_module_make(t, net, "a", "Thing", sizeof *a);
    gr_tensor *x = parameter(t, net, "x", GR_SHAPE(1), NULL);
    gr_tie(t, a, "x", x);
    gr_optim *o = SGD(.lr = 1), *part = gr_sgd_new(t, a, &(gr_sgd_config){ .lr = 1 });
    give(t, x, (gr_real[]){ 3 });
    assert_true(gr_clip_grad_norm(t, o, 100) == 3);
    assert_true(gr_optim_step(t, o) && x->data[0] == -2);
    assert_true(gr_optim_step(t, part) && x->data[0] == -5);
    gr_requires_grad(a, false);
    assert_fails(t, gr_optim_step(t, o), "optim_step: all 1 parameters are frozen");
    assert_false(gr_optim_step(t, part));
    assert_message(t, "optim_step: all 1 parameters are frozen");
    gr_optim_free(o), gr_optim_free(part);
    gr_module_free(net);
    gr_tape_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_are_those_of_pytorch),
        cmocka_unit_test(clipping_is_that_of_pytorch),
        cmocka_unit_test(schedules_are_those_of_pytorch),
        cmocka_unit_test(warm_up_rises_to_the_start_of_the_schedule),
        cmocka_unit_test(milestones_and_cycles_have_ends),
        cmocka_unit_test(schedules_that_cannot_be_are_refused),
        cmocka_unit_test(a_rule_is_told_the_settings_of_each_parameter),
        cmocka_unit_test(the_base_of_the_learning_rate_can_be_set),
        cmocka_unit_test(biases_and_norm_gains_do_not_decay),
        cmocka_unit_test(a_group_has_its_own_rate_and_decay),
        cmocka_unit_test(a_parameter_without_a_gradient_does_not_move),
        cmocka_unit_test(a_tied_parameter_moves_once_per_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
