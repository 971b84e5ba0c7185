/* tests/test_optim_held.c - which parameters an optimizer holds: parameters made after it, of freed modules, and of other optimizers. */
#include "optim/internal.h"
#include "tests/test.h"
#include <stdio.h>

typedef struct { gr_tape *t; gr_module *net; gr_linear_module *fc; gr_optim *sgd; } model;
static model model_of(void)
{
    model m = { .t = gr_tape_new(1, NULL) };
    m.net = gr_module_new(m.t), m.fc = gr_linear_new(m.t, m.net, "fc", 2, 2, NULL), m.sgd = gr_sgd_new(m.t, m.net, NULL);
    return m;
}
static void model_free(model m)
{
    gr_optim_free(m.sgd), gr_module_free(m.net);
    assert_ok(m.t);
    gr_tape_free(m.t);
}
/* Forward, backward and a step through a and b. */
static bool run(model m, gr_linear_module *a, gr_linear_module *b)
{
    gr_tape_recover(m.t);
    gr_optim_zero_grad(m.sgd);
    gr_tensor *y = gr_linear_forward(m.t, a, gr_ones(m.t, GR_SHAPE(1, 2)));
    if (b) y = gr_linear_forward(m.t, b, y);
    return gr_backward(m.t, gr_sum(m.t, y, GR_ALL_AXES, false));
}

TEST(a_parameter_made_after_the_optimizer_is_found)
{
    model m = model_of();
    gr_linear_module *late = gr_linear_new(m.t, m.net, "late", 2, 2, NULL);
    assert_true(run(m, m.fc, NULL)); /* no gradient reaches it */
    assert_true(gr_optim_step(m.t, m.sgd));
    const gr_real before = m.fc->weight->data[0];
    assert_true(run(m, m.fc, late));
    assert_false(gr_optim_step(m.t, m.sgd));
    assert_message(m.t, "optim_step: a gradient reached parameters that were made after this optimizer: late.weight, "
                        "late.bias; make the optimizer last");
    assert_true(m.fc->weight->data[0] == before && gr_optim_steps(m.sgd) == 1);
    assert_true(run(m, late, NULL)); /* also if no gradient reaches the parameters that it holds */
    assert_fails(m.t, gr_optim_step(m.t, m.sgd),
                 "optim_step: a gradient reached parameters that were made after this optimizer: late.weight, "
                 "late.bias; make the optimizer last");
    gr_tape_reset(m.t);
    gr_backward(m.t, gr_sum(m.t, late->weight, GR_ALL_AXES, false));
    assert_fails(m.t, gr_optim_step(m.t, m.sgd),
                 "optim_step: a gradient reached parameters that were made after this optimizer: late.weight; make the optimizer last");
    for (int i = 0; i < 4; i++) {
        char name[16];
        snprintf(name, sizeof name, "p%d", i);
        gr_tensor *x = gr_param(m.t, m.net, name, GR_SHAPE(1), gr_init_constant(1));
        gr_tape_reset(m.t);
        gr_backward(m.t, gr_sum(m.t, x, GR_ALL_AXES, false));
    }
    assert_fails(m.t, gr_optim_step(m.t, m.sgd),
                 "optim_step: a gradient reached parameters that were made after this optimizer: p0, p1, p2, ..; "
                 "make the optimizer last");
    gr_optim_free(m.sgd);
    m.sgd = gr_sgd_new(m.t, m.net, NULL);
    assert_true(run(m, m.fc, late) && gr_optim_step(m.t, m.sgd));
    model_free(m);
}

TEST(other_optimizers_frozen_and_tied_parameters_are_no_error)
{
    model m = model_of();
    gr_linear_module *late = gr_linear_new(m.t, m.net, "late", 2, 2, NULL);
    gr_optim *own = gr_sgd_new(m.t, &late->module, NULL);
    assert_true(run(m, m.fc, late) && gr_optim_step(m.t, m.sgd)); /* another optimizer holds it */
    assert_true(gr_optim_step(m.t, own));
    gr_optim_free(own);
    assert_true(run(m, m.fc, late));
    assert_false(gr_optim_step(m.t, m.sgd));
    gr_tape_recover(m.t);
    gr_requires_grad(&late->module, false);
    assert_true(run(m, m.fc, late) && gr_optim_step(m.t, m.sgd));
    gr_module *copy = gr_module_make(m.t, m.net, "copy", "Copy", sizeof *copy);
    gr_tie(m.t, copy, "weight", m.fc->weight);
    assert_true(run(m, m.fc, NULL) && gr_optim_step(m.t, m.sgd));
    model_free(m);
}

TEST(two_optimizers_over_two_modules_leave_each_other_alone)
{
    model m = model_of();
    gr_optim_free(m.sgd);
    gr_linear_module *critic = gr_linear_new(m.t, m.net, "critic", 2, 2, NULL);
    m.sgd = gr_sgd_new(m.t, &m.fc->module, NULL);
    gr_linear_module *later = gr_linear_new(m.t, m.net, "later", 2, 2, NULL); /* b is outside of fc */
    gr_optim *o = gr_sgd_new(m.t, &critic->module, NULL);
    assert_true(run(m, m.fc, critic) && gr_optim_step(m.t, m.sgd) && gr_optim_step(m.t, o));
    assert_true(run(m, m.fc, later) && gr_optim_step(m.t, m.sgd) && gr_optim_step(m.t, o));
    gr_optim_free(o);
    model_free(m);
}

#define FREED(n) "a module was freed while this optimizer held " n " of its parameters: make a new optimizer"
TEST(a_freed_child_is_an_error)
{
    for (int again = 0; again < 2; again++) {
        model m = model_of();
        gr_linear_module *part = gr_linear_new(m.t, m.net, "part", 2, 2, NULL);
        gr_optim *all = gr_adam_new(m.t, m.net, NULL), *one = gr_sgd_new(m.t, &part->module, NULL);
        gr_module_free(&part->module);
        if (again) gr_linear_new(m.t, m.net, "part", 2, 2, NULL); /* it probably gets the same address */
        gr_optim_zero_grad(all), gr_optim_zero_grad(one);
        assert_true(run(m, m.fc, NULL));
        assert_fails(m.t, gr_optim_step(m.t, all), "optim_step: " FREED("2"));
        assert_true(isnan(gr_clip_grad_norm(m.t, one, 1)));
        assert_message(m.t, "clip_grad_norm: " FREED("2"));
        gr_tape_recover(m.t);
        assert_fails(m.t, gr_optim_set_group(m.t, all, m.net, (gr_optim_group){ 0 }), "optim_set_group: " FREED("2"));
        assert_fails(m.t, gr_checkpoint_save(m.t, m.net, all, "/nowhere/at/all", NULL, 0), "checkpoint_save: " FREED("2"));
        assert_fails(m.t, gr_checkpoint_load(m.t, m.net, all, "/nowhere/at/all", NULL, 0), "checkpoint_load: " FREED("2"));
        assert_true(run(m, m.fc, NULL) && gr_optim_step(m.t, m.sgd)); /* an optimizer that never held it */
        char *text = NULL;
        size_t bytes = 0;
        FILE *f = open_memstream(&text, &bytes);
        gr_print_optim(one, f), fclose(f);
        assert_non_null(strstr(text, "\n(freed)  "));
        free(text);
        assert_true(gr_audit(m.t, gr_slot_find(m.net, "fc.weight"), one).not_held);
        gr_optim_free(all), gr_optim_free(one);
        model_free(m);
    }
}

TEST(a_freed_root_is_an_error)
{
    model m = model_of();
    gr_optim *part = gr_sgd_new(m.t, &m.fc->module, NULL);
    run(m, m.fc, NULL);
    gr_tape_reset(m.t);
    gr_module_free(m.net);
    gr_optim_zero_grad(m.sgd);
    assert_fails(m.t, gr_optim_step(m.t, m.sgd), "optim_step: " FREED("2"));
    assert_fails(m.t, gr_optim_step(m.t, part), "optim_step: " FREED("2"));
    gr_optim_free(part), gr_optim_free(m.sgd);
    m.net = gr_module_new(m.t), m.sgd = NULL;
    model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_parameter_made_after_the_optimizer_is_found),
        cmocka_unit_test(other_optimizers_frozen_and_tied_parameters_are_no_error),
        cmocka_unit_test(two_optimizers_over_two_modules_leave_each_other_alone),
        cmocka_unit_test(a_freed_child_is_an_error),
        cmocka_unit_test(a_freed_root_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
