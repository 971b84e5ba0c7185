/* tests/test_audit.c - tracing and the audit, which says for every parameter whether it learns, and if not, why. */
#include "core/library.h"
#include "tests/failing.h"

typedef struct {
    gr_tape *t;
    gr_module *net;
    gr_linear_module *used, *frozen, *far, *off, *unused, *astray, *guess, *kept;
    gr_optim *sgd;
} zoo;

static gr_linear_module *layer(zoo *z, const char *name)
{
    return gr_linear_new(z->t, z->net, name, 2, 2, &(gr_linear_config){ .no_bias = true });
}

static zoo zoo_new(void)
{
    zoo z = { .t = gr_tape_new(3, NULL) };
    z.net = gr_module_new(z.t);
    z.used = gr_linear_new(z.t, z.net, "used", 2, 2, NULL);
    z.frozen = layer(&z, "frozen"), z.far = layer(&z, "far"), z.off = layer(&z, "off"), z.unused = layer(&z, "unused");
    z.sgd = gr_sgd_new(z.t, z.net, NULL);
    z.astray = layer(&z, "astray"), z.guess = layer(&z, "guess"), z.kept = layer(&z, "kept");
    gr_requires_grad(&z.frozen->module, false);
    assert_ok(z.t);
    return z;
}

static void zoo_free(zoo z) { gr_optim_free(z.sgd), gr_module_free(z.net), gr_tape_free(z.t); }

/* The name of each layer says what happens to it. */
static gr_tensor *zoo_forward(zoo *z)
{
    gr_tape *t = z->t;
    gr_tensor *x = gr_input(t, (gr_real[]){ 3, 0 }, GR_SHAPE(1, 2)), *y = gr_linear_forward(t, z->used, x);
    y = gr_add(t, y, gr_linear_forward(t, z->frozen, x));
    y = gr_add(t, y, gr_reshape(t, gr_detach(t, gr_reshape(t, gr_tanh(t, gr_linear_forward(t, z->far, x)), GR_SHAPE(2))), GR_SHAPE(1, 2)));
    gr_tape_set_recording(t, false);
    gr_tensor *h = gr_linear_forward(t, z->off, x);
    gr_tape_set_recording(t, true);
    y = gr_add(t, y, h);
    gr_exp(t, gr_relu(t, gr_linear_forward(t, z->astray, x)));
    gr_tensor *guess = gr_linear_forward(t, z->guess, x);
    y = gr_add(t, y, gr_gt(t, guess, gr_scalar(t, 0)));
    gr_argmax(t, guess, -1, false);
    return gr_add(t, y, gr_detach_keep(t, z->net, "state", gr_linear_forward(t, z->kept, x)));
}

static size_t audit_text(zoo *z, const gr_module *m, const gr_optim *o, char *text, size_t room)
{
    FILE *f = tmpfile();
    const size_t idle = gr_print_audit(z->t, m, o, f);
    assert_int_equal(gr_print_audit(z->t, m, o, NULL), idle);
    rewind(f);
    text[fread(text, 1, room - 1, f)] = 0;
    fclose(f);
    return idle;
}

TEST(the_audit_says_why_a_parameter_does_not_learn)
{
    char text[2000];
    zoo z = zoo_new();
    gr_tape_set_tracing(z.t, true);
    gr_tensor *y = zoo_forward(&z);
    assert_true(gr_backward_from(z.t, y, (gr_real[]){ 2, 0 }));
    assert_int_equal(audit_text(&z, z.net, z.sgd, text, sizeof text), 6);
    assert_string_equal(text,
                        "used.weight    norm 6, zeros 3 of 4\n"
                        "used.bias      norm 2, zeros 1 of 2\n"
                        "frozen.weight  frozen\n"
                        "far.weight     not reached: detach lets no gradient pass\n"
                        "off.weight     not reached: recording was off while linear in off ran\n"
                        "unused.weight  not reached: unused in this forward\n"
                        "astray.weight  not reached: its path ends at exp and does not reach the loss; the optimizer does not hold it\n"
                        "guess.weight   not reached: gt lets no gradient pass; the optimizer does not hold it\n"
                        "kept.weight    not reached: detach_keep lets no gradient pass; the optimizer does not hold it\n"
                        "2 of 9 parameters learn, 1 frozen\n");
    memset(gr_grad(z.t, z.used->bias), 0, 2 * sizeof(gr_real));
    assert_int_equal(audit_text(&z, &z.used->module, NULL, text, sizeof text), 1);
    assert_string_equal(text, "used.weight  norm 6, zeros 3 of 4\n"
                              "used.bias    the gradient is 0 in all 2 values\n"
                              "1 of 2 parameters learn, 0 frozen\n");
    gr_optim_zero_grad(z.sgd);
    assert_int_equal(gr_audit(z.t, gr_slot_find(z.net, "used.bias"), NULL).cut.kind, GR_CUT_NONE);
    assert_int_equal(audit_text(&z, &z.used->module, NULL, text, sizeof text), 2);
    assert_string_equal(text, "used.weight  not reached: backward failed, or the gradient was cleared since\n"
                              "used.bias    not reached: backward failed, or the gradient was cleared since\n"
                              "0 of 2 parameters learn, 0 frozen\n");
    zoo_free(z);
}

TEST(a_parameter_without_values_is_reached)
{
    char text[200];
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *net = gr_module_new(t);
    gr_tensor *none = gr_param(t, net, "none", GR_SHAPE(0, 2), gr_init_constant(1));
    assert_true(gr_backward(t, gr_sum(t, none, GR_ALL_AXES, false)));
    const gr_audit_entry e = gr_audit(t, gr_slot_find(net, "none"), NULL);
    assert_true(e.kind == GR_AUDIT_REACHED && e.norm == 0 && e.zeros == 0);
    assert_int_equal(audit_text(&(zoo){ .t = t }, net, NULL, text, sizeof text), 0);
    assert_string_equal(text, "none  norm 0, zeros 0 of 0\n1 of 1 parameters learn, 0 frozen\n");
    gr_module_free(net), gr_tape_free(t);
}

TEST(a_parameter_that_only_argmax_uses_is_astray)
{
    zoo z = zoo_new();
    gr_tape_set_tracing(z.t, true);
    gr_tensor *x = gr_ones(z.t, GR_SHAPE(1, 2)), *loss = gr_sum(z.t, gr_linear_forward(z.t, z.used, x), GR_ALL_AXES, false);
    gr_argmax(z.t, gr_linear_forward(z.t, z.guess, x), -1, false);
    assert_true(gr_backward(z.t, loss));
    const gr_cut cut = gr__cut_of(z.t, z.guess->weight);
    assert_int_equal(cut.kind, GR_CUT_ASTRAY);
    assert_string_equal(cut.op, "argmax");
    assert_null(cut.place);
    zoo_free(z);
}

TEST(an_operator_is_placed_in_its_innermost_module)
{
    zoo z = zoo_new();
    gr_module *block = gr_sequential_new(z.t, z.net, "block");
    gr_linear_module *fc = gr_linear_new(z.t, block, NULL, 2, 2, NULL);
    gr_activation_new(z.t, block, NULL, "Detach", gr_detach);
    gr_tape_set_tracing(z.t, true);
    gr_tensor *x = gr_ones(z.t, GR_SHAPE(1, 2));
    gr_tensor *y = gr_add(z.t, gr_forward(z.t, block, x), gr_linear_forward(z.t, z.used, x));
    assert_true(gr_backward(z.t, gr_sum(z.t, y, GR_ALL_AXES, false)));
    const gr_cut cut = gr__cut_of(z.t, fc->weight);
    assert_int_equal(cut.kind, GR_CUT_BY_OP);
    assert_string_equal(cut.op, "detach");
    assert_string_equal(cut.place, "block.1");
    assert_null(gr_tape_set_place(z.t, NULL));
    zoo_free(z);
}

TEST(without_tracing_the_audit_says_how_to_turn_it_on)
{
    char text[1000];
    zoo z = zoo_new();
    assert_true(gr_backward_from(z.t, zoo_forward(&z), (gr_real[]){ 2, 0 }));
    audit_text(&z, &z.far->module, NULL, text, sizeof text);
    assert_string_equal(text, "far.weight  not reached: gr_tape_set_tracing(t, true) before the forward will tell why\n"
                              "0 of 1 parameters learn, 0 frozen\n");

    gr_tape_reset(z.t); /* tracing began after the operators: it cannot know what ran before */
    gr_tensor *y = zoo_forward(&z);
    gr_tape_set_tracing(z.t, true);
    assert_true(gr_backward_from(z.t, gr_neg(z.t, y), (gr_real[]){ 2, 0 }));
    audit_text(&z, &z.far->module, NULL, text, sizeof text);
    assert_string_equal(text, "far.weight  not reached: gr_tape_set_tracing(t, true) before the forward will tell why\n"
                              "0 of 1 parameters learn, 0 frozen\n");
    gr_tape_reset(z.t); /* from the next step on tracing knows all operators */
    assert_true(gr_backward_from(z.t, zoo_forward(&z), (gr_real[]){ 2, 0 }));
    audit_text(&z, &z.far->module, NULL, text, sizeof text);
    assert_null(strstr(text, "will tell why"));
    zoo_free(z);
}

TEST(the_audit_works_after_a_failed_backward_and_without_one)
{
    char text[1000];
    zoo z = zoo_new();
    gr_tape_set_tracing(z.t, true);
    gr_tensor *x = gr_ones(z.t, GR_SHAPE(1, 2));
    gr_tensor *loss = gr_sum(z.t, gr_detach(z.t, gr_linear_forward(z.t, z.far, x)), GR_ALL_AXES, false);
    audit_text(&z, &z.far->module, NULL, text, sizeof text);
    assert_string_equal(text, "far.weight  not reached: there was no backward\n0 of 1 parameters learn, 0 frozen\n");
    assert_false(gr_backward(z.t, loss));
    audit_text(&z, &z.far->module, z.sgd, text, sizeof text);
    assert_string_equal(text, "far.weight  not reached: detach lets no gradient pass\n0 of 1 parameters learn, 0 frozen\n");
    zoo_free(z);
}

/* The loss of the failed backward died with the rewind, and anomaly mode has overwritten it. */
TEST(the_audit_works_when_the_loss_is_dead)
{
    char text[1000];
    zoo z = zoo_new();
    gr_tape_set_tracing(z.t, true), gr_tape_set_anomaly(z.t, true);
    gr_tensor *y = gr_linear_forward(z.t, z.far, gr_ones(z.t, GR_SHAPE(1, 2)));
    const gr_mark mark = gr_tape_mark(z.t);
    assert_false(gr_backward_from(z.t, gr_detach(z.t, y), (gr_real[]){ 1, 1 }));
    gr_tape_rewind(z.t, mark);
    audit_text(&z, &z.far->module, NULL, text, sizeof text);
    assert_string_equal(text, "far.weight  not reached: there was no backward\n0 of 1 parameters learn, 0 frozen\n");
    zoo_free(z);
}

/* Going back to a mark also removes the trace of the operators after it. Tracing does not change the bits of a result. */
TEST(tracing_changes_no_bit_and_follows_marks)
{
    gr_real dw[2][4];
    for (int tracing = 0; tracing < 2; tracing++) {
        zoo z = zoo_new();
        gr_tape_set_tracing(z.t, tracing);
        const gr_mark mark = gr_tape_mark(z.t);
        for (int i = 0; i < 2; i++) {
            gr_linear_forward(z.t, z.unused, gr_ones(z.t, GR_SHAPE(1, 2)));
            gr_tape_rewind(z.t, mark);
        }
        gr_backward_from(z.t, zoo_forward(&z), (gr_real[]){ 2, 1 });
        assert_ok(z.t);
        memcpy(dw[tracing], gr_grad(z.t, z.used->weight), sizeof *dw);
        assert_int_equal(gr__cut_of(z.t, z.unused->weight).kind, tracing ? GR_CUT_UNUSED : GR_CUT_UNKNOWN);
        gr_tape_reset(z.t);
        assert_int_equal(gr__cut_of(z.t, z.unused->weight).kind, GR_CUT_UNKNOWN);
        zoo_free(z);
    }
    assert_same_bits(dw[0], dw[1], 4);
    assert_int_equal(gr__cut_of(NULL, NULL).kind, GR_CUT_UNKNOWN);
    assert_int_equal(gr_audit(NULL, NULL, NULL).kind, GR_AUDIT_NOT_REACHED);
    assert_int_equal(gr_print_audit(NULL, NULL, NULL, NULL), 0);
}

static bool traced_step(gr_tape *t, void *argument)
{
    (void)argument;
    gr_module *net = gr_module_new(t);
    gr_linear_module *fc = gr_linear_new(t, net, "fc", 2000, 20, NULL);
    gr_tape_set_tracing(t, true);
    gr_tensor *y = gr_linear_forward(t, fc, gr_rand(t, GR_SHAPE(40, 2000), 0, 1, "x"));
    for (int i = 0; i < 4000; i++) y = gr_detach(t, y);
    gr_backward(t, gr_sum(t, gr_linear_forward(t, fc, gr_matmul(t, y, gr_ones(t, GR_SHAPE(20, 2000)))), GR_ALL_AXES, false));
    const bool good = !gr_failed(t);
    gr_print_audit(t, net, NULL, NULL);
    gr_module_free(net);
    return good;
}
TEST(every_allocation_may_fail)
{
    fail_every_allocation(traced_step, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_audit_says_why_a_parameter_does_not_learn),
        cmocka_unit_test(a_parameter_without_values_is_reached),
        cmocka_unit_test(a_parameter_that_only_argmax_uses_is_astray),
        cmocka_unit_test(an_operator_is_placed_in_its_innermost_module),
        cmocka_unit_test(without_tracing_the_audit_says_how_to_turn_it_on),
        cmocka_unit_test(the_audit_works_after_a_failed_backward_and_without_one),
        cmocka_unit_test(the_audit_works_when_the_loss_is_dead),
        cmocka_unit_test(tracing_changes_no_bit_and_follows_marks),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
