/* tests/test_module_copy.c - copies and averages of modules of the same structure, and gradients that a module forgets. */
#include "tests/failing.h"

/* Parameters, tied ones among them, a buffer, a counter and a kept state. */
typedef struct { gr_module *root; gr_linear_module *fc; gr_embedding_module *token; gr_tensor *mean; int64_t *count; } net;
static net net_new(gr_tape *t, double offset)
{
    net n = { .root = gr_module_new(t) };
    n.token = gr_embedding_new(t, n.root, "token", 3, 2, NULL);
    n.fc = gr_linear_new(t, n.root, "fc", 2, 3, &(gr_linear_config){ .weight = n.token ? n.token->weight : NULL });
    n.mean = gr_buffer(t, n.root, "mean", GR_SHAPE(2), 4 + offset);
    n.count = gr_counter(t, n.root, "count");
    if (gr_failed(t)) return n;
    *n.count = 3 + (int64_t)offset;
    for (size_t i = 0; i < 6; i++) n.token->weight->data[i] = (gr_real)((double)i + offset);
    for (size_t i = 0; i < 3; i++) n.fc->bias->data[i] = (gr_real)(offset * (double)i);
    gr_detach_keep(t, n.root, "h", gr_scalar(t, offset));
    return n;
}

TEST(a_copy_has_the_same_values)
{
    gr_tape *t = gr_tape_new(1, NULL);
    net a = net_new(t, 0), b = net_new(t, 10);
    assert_true(gr_module_copy(t, a.root, b.root));
    assert_values(a.token->weight, 0, 10, 11, 12, 13, 14, 15);
    assert_values(a.fc->bias, 0, 0, 10, 20);
    assert_values(a.mean, 0, 14, 14);
    assert_int_equal(*a.count, 13);
    assert_values(gr_kept(a.root, "h"), 0, 0); /* no part of the state */
    assert_values(b.fc->bias, 0, 0, 10, 20);
    assert_true(gr_module_copy(t, a.root, a.root));
    assert_values(a.fc->bias, 0, 0, 10, 20);
    gr_module_free(a.root), gr_module_free(b.root);
    gr_tape_free(t);
}

TEST(parts_of_trees_are_copied_below_their_own_paths)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *root = gr_module_new(t), *group = gr_sequential_new(t, root, "group");
    gr_linear_module *a = gr_linear_new(t, root, "online", 3, 2, NULL), *b = gr_linear_new(t, group, "target", 3, 2, NULL);
    assert_true(gr_module_copy(t, &b->module, &a->module));
    assert_same_bits(b->weight->data, a->weight->data, 6);
    gr_module_free(root);
    gr_tape_free(t);
}

/* A target network may share a parameter with the network that it follows. Two networks may tie other parameters. */
TEST(ties_within_and_between_the_modules_are_fine)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *root = gr_module_new(t), *a = gr_sequential_new(t, root, "a"), *b = gr_sequential_new(t, root, "b");
    gr_linear_module *fc = gr_linear_new(t, a, "fc", 2, 2, NULL);
    gr_linear_module *shares = gr_linear_new(t, b, "fc", 2, 2, &(gr_linear_config){ .weight = fc->weight });
    const gr_real first = fc->weight->data[0];
    assert_true(gr_module_copy(t, b, a) && gr_module_lerp(t, b, a, 0.5) && fc->weight->data[0] == first);
    assert_same_bits(shares->bias->data, fc->bias->data, 2);
    gr_module *tied = gr_module_new(t), *loose = gr_module_new(t);
    gr_tensor *w = gr_param(t, tied, "w", GR_SHAPE(2), gr_init_constant(1));
    gr_tie(t, tied, "v", w);
    gr_tensor *x = gr_param(t, loose, "w", GR_SHAPE(2), gr_init_constant(2)), *y = gr_param(t, loose, "v", GR_SHAPE(2), gr_init_constant(3));
    assert_fails(t, gr_module_copy(t, tied, loose), "module_copy: `to` has nothing where `from` has v [2]");
    assert_fails(t, gr_module_copy(t, loose, tied), "module_copy: `to` has v [2] where `from` has nothing");
    assert_true(w->data[0] == 1 && x->data[0] == 2 && y->data[0] == 3);
    gr_module_free(root), gr_module_free(tied), gr_module_free(loose);
    gr_tape_free(t);
}

TEST(lerp_moves_parameters_and_copies_the_rest)
{
    gr_tape *t = gr_tape_new(1, NULL);
    net a = net_new(t, 0), b = net_new(t, 8);
    assert_true(gr_module_lerp(t, a.root, b.root, 0.25));
    assert_values(a.token->weight, 0, 2, 3, 4, 5, 6, 7); /* tied: once */
    assert_values(a.fc->bias, 0, 0, 2, 4);
    assert_values(a.mean, 0, 12, 12);
    assert_int_equal(*a.count, 11);
    assert_true(gr_module_lerp(t, a.root, b.root, 0));
    assert_values(a.fc->bias, 0, 0, 2, 4);
    assert_true(gr_module_lerp(t, a.root, b.root, 1));
    assert_same_bits(a.token->weight->data, b.token->weight->data, 6);
    gr_module_free(a.root), gr_module_free(b.root);
    gr_tape_free(t);
}

/* tests/golden/lerp.h has the weight and what PyTorch computes from these values in float and in double. */
TEST(lerp_agrees_with_pytorch)
{
    static const double from[] = { 1.1, -2.3, 1e-29, 1e30, HUGE_VAL }, to[] = { 3.7, 5.9, 2e-29, -1e30, 1 };
    static const struct { double weight; float f[5]; double d[5]; } want[] = {
#include "tests/golden/lerp.h"
    };
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *a = gr_module_new(t), *b = gr_module_new(t);
    gr_tensor *x = gr_param(t, a, "w", GR_SHAPE(5), gr_init_constant(0)), *y = gr_param(t, b, "w", GR_SHAPE(5), gr_init_constant(0));
    for (size_t k = 0; k < COUNT(want); k++) {
        for (size_t i = 0; i < 5; i++) x->data[i] = (gr_real)from[i], y->data[i] = (gr_real)to[i];
        assert_true(gr_module_lerp(t, a, b, want[k].weight));
        for (size_t i = 0; i < 5; i++) {
            const double wanted = sizeof(gr_real) == sizeof(float) ? (double)want[k].f[i] : want[k].d[i], got = (double)x->data[i];
            const double one_rounding = fmax(fabs(from[i]), fabs(to[i])) * (sizeof(gr_real) == sizeof(float) ? 0x1p-23 : 0x1p-52);
            assert_true(got == wanted || (isnan(got) && isnan(wanted)) || fabs(got - wanted) <= one_rounding); /* PyTorch fuses product and sum */
        }
    }
    gr_module_free(a), gr_module_free(b);
    gr_tape_free(t);
}

TEST(a_value_that_decays_becomes_zero)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *a = gr_module_new(t), *b = gr_module_new(t);
    gr_tensor *x = gr_param(t, a, "w", GR_SHAPE(2), gr_init_constant(1));
    gr_param(t, b, "w", GR_SHAPE(2), gr_init_constant(0));
    x->data[1] = -1;
    for (int i = 0; i < 99; i++) assert_true(gr_module_lerp(t, a, b, 0.5));
    assert_true(x->data[0] == (gr_real)0x1p-99 && x->data[1] == -(gr_real)0x1p-99);
    assert_true(gr_module_lerp(t, a, b, 0.5) && x->data[0] == (gr_real)0x1p-100);
    assert_true(gr_module_lerp(t, a, b, 0.5) && x->data[0] == 0 && x->data[1] == 0);
    gr_module_free(a), gr_module_free(b);
    gr_tape_free(t);
}

TEST(other_structures_are_refused_with_the_first_difference)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *a = gr_module_new(t), *b = gr_module_new(t);
    gr_linear_module *fc = gr_linear_new(t, a, "fc", 2, 3, NULL);
    gr_linear_new(t, b, "fc", 2, 3, NULL);
    gr_linear_new(t, a, "out", 3, 3, NULL);
    const gr_real before = fc->weight->data[0];
    assert_fails(t, gr_module_copy(t, a, b), "module_copy: `to` has out.weight [3, 3] where `from` has nothing");
    gr_linear_new(t, b, "out", 3, 2, NULL);
    assert_false(gr_module_lerp(t, b, a, 0.5));
    assert_int_equal(gr_error_code(t), GR_MISUSE);
    assert_fails(t, false, "module_lerp: `to` has out.weight [2, 3] where `from` has out.weight [3, 3]");
    assert_true(fc->weight->data[0] == before); /* nothing changed */
    gr_module *c = gr_module_new(t), *d = gr_module_new(t), *e = gr_module_new(t);
    gr_counter(t, c, "x"), gr_buffer(t, d, "x", GR_SCALAR, 0), gr_counter(t, e, "y");
    assert_fails(t, gr_module_copy(t, c, d), "module_copy: `to` has x (a counter) where `from` has x []");
    assert_fails(t, gr_module_copy(t, d, c), "module_copy: `to` has x [] where `from` has x (a counter)");
    assert_fails(t, gr_module_copy(t, e, c), "module_copy: `to` has y (a counter) where `from` has x (a counter)");
    assert_fails(t, gr_module_copy(t, NULL, a), "module_copy: the module `to` is NULL");
    assert_fails(t, gr_module_lerp(t, a, NULL, 0.5), "module_lerp: the module `from` is NULL");
    assert_fails(t, gr_module_lerp(t, a, a, 1.5), "module_lerp: the weight must be 0 to 1; got 1.5");
    assert_fails(t, gr_module_lerp(t, a, a, -0.5), "module_lerp: the weight must be 0 to 1; got -0.5");
    assert_fails(t, gr_module_lerp(t, a, a, (double)NAN), "module_lerp: the weight must be 0 to 1; got nan");
    assert_true(!gr_module_copy(NULL, a, a) && !gr_module_lerp(NULL, a, a, 0.5));
    gr_module_free(a), gr_module_free(b), gr_module_free(c), gr_module_free(d), gr_module_free(e);
    gr_tape_free(t);
}

TEST(a_copy_between_forward_and_backward_is_an_error)
{
    gr_tape *t = gr_tape_new(1, NULL);
    net a = net_new(t, 0), b = net_new(t, 1);
    gr_tensor *loss = gr_sum(t, gr_square(t, gr_linear_forward(t, a.fc, gr_ones(t, GR_SHAPE(1, 2)))), GR_ALL_AXES, false);
    assert_true(gr_module_lerp(t, a.root, b.root, 0.5));
    assert_false(gr_backward(t, loss));
    assert_non_null(strstr(gr_message(t), "changed after linear"));
    gr_module_free(a.root), gr_module_free(b.root);
    gr_tape_free(t);
}

/* gr_tape_recover must not put back what an operator noted before the copy. */
TEST(recover_does_not_undo_a_copy)
{
    gr_tape *t = gr_tape_new(1, NULL);
    net a = net_new(t, 0), b = net_new(t, 10);
    gr_undo_note(t, a.mean->data, 2 * sizeof(gr_real));
    assert_true(gr_module_copy(t, a.root, b.root));
    gr_tape_recover(t);
    assert_values(a.mean, 0, 14, 14);
    gr_module_free(a.root), gr_module_free(b.root);
    gr_tape_free(t);
}

TEST(a_module_forgets_its_gradients_without_an_optimizer)
{
    gr_tape *t = gr_tape_new(1, NULL);
    net n = net_new(t, 1);
    gr_linear_module *other = gr_linear_new(t, n.root, "other", 2, 1, NULL);
    for (int round = 0; round < 3; round++) {
        gr_tape_reset(t);
        gr_tensor *x = gr_ones(t, GR_SHAPE(1, 2));
        assert_true(gr_backward(t, gr_add(t, gr_sum(t, gr_linear_forward(t, n.fc, x), GR_ALL_AXES, false), gr_linear_forward(t, other, x))));
        assert_true(gr_grad(t, n.fc->bias)[0] == 1);              /* forgotten in each round, */
        assert_true(gr_grad(t, other->bias)[0] == (gr_real)(round + 1)); /* and added up */
        gr_module_zero_grad(&n.fc->module), gr_module_zero_grad(&n.token->module);
        assert_true(!gr_grad(t, n.fc->bias) && !gr_grad(t, n.token->weight) && gr_grad(t, other->bias));
    }
    gr_module_zero_grad(n.root);
    assert_null(gr_grad(t, other->bias));
    gr_module_zero_grad(NULL);
    gr_module_free(n.root);
    gr_tape_free(t);
}

static bool copy_and_lerp(gr_tape *t, void *unused)
{
    (void)unused;
    net a = net_new(t, 0), b = net_new(t, 10);
    const bool well = gr_module_copy(t, a.root, b.root) && gr_module_lerp(t, a.root, b.root, 0.5);
    gr_module_free(a.root), gr_module_free(b.root);
    return well;
}
TEST(every_allocation_may_fail)
{
    fail_every_allocation(copy_and_lerp, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_copy_has_the_same_values),
        cmocka_unit_test(parts_of_trees_are_copied_below_their_own_paths),
        cmocka_unit_test(ties_within_and_between_the_modules_are_fine),
        cmocka_unit_test(lerp_moves_parameters_and_copies_the_rest),
        cmocka_unit_test(lerp_agrees_with_pytorch),
        cmocka_unit_test(a_value_that_decays_becomes_zero),
        cmocka_unit_test(other_structures_are_refused_with_the_first_difference),
        cmocka_unit_test(a_copy_between_forward_and_backward_is_an_error),
        cmocka_unit_test(recover_does_not_undo_a_copy),
        cmocka_unit_test(a_module_forgets_its_gradients_without_an_optimizer),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
