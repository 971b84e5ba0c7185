/* tests/test_module.c - the module tree: names, paths, traversal, initial values, freezing, tying, kept states, failures. */
#include "examples/kit/program.h"
#include "tests/failing.h"

static const gr_init zero = { GR_INIT_CONSTANT, 0, 0, GR_FAN_IN };

static gr_module *child(gr_tape *t, gr_module *parent, const char *name)
{
    gr_module *m = gr_module_make(t, parent, name, "Thing", sizeof *m);
    return gr_module_ready(t, m) ? m : NULL;
}

/* ---- Names ---- */

TEST(paths_are_joined_from_names)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *net = gr_module_new(t), *a = child(t, net, "a"), *b = child(t, a, "b"), *number = child(t, net, NULL);
    gr_tensor *w = gr_param(t, b, "weight", GR_SHAPE(2, 3), zero), *root = gr_param(t, net, "scale", GR_SCALAR, zero);
    assert_ok(t);
    assert_string_equal(net->path, "");
    assert_string_equal(b->path, "a.b");
    assert_string_equal(b->name, "b");
    assert_string_equal(number->path, "1");
    assert_string_equal(w->path, "a.b.weight");
    assert_string_equal(b->slots->name, "weight");
    assert_string_equal(root->path, "scale");
    assert_ptr_equal(gr_slot_find(net, "a.b.weight"), b->slots);
    assert_ptr_equal(gr_slot_find(a, "b.weight"), b->slots);
    assert_null(gr_slot_find(net, "a.b"));
    assert_null(gr_slot_find(net, NULL));
    gr_module_free(net);
    gr_tape_free(t);
}

TEST(a_bad_name_is_an_error_and_leaves_nothing)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *net = gr_module_new(t), *a = child(t, net, "a");
    gr_param(t, a, "w", GR_SHAPE(1), zero);
    const struct { gr_module *parent; const char *name, *message; } c[] = {
        { net, "", "'' under the root: a name is UTF-8 text, not empty, without '.' and '/'" },
        { net, "x.y", "'x.y' under the root: a name is UTF-8 text, not empty, without '.' and '/'" },
        { a, "x\xff", "'x\\xff' under a: a name is UTF-8 text, not empty, without '.' and '/'" },
        { a, "x/y", "'x/y' under a: a name is UTF-8 text, not empty, without '.' and '/'" },
        { net, "a", "'a' under the root: there is one already" },
        { a, "w", "'w' under a: there is one already" },
        { NULL, "b", "'b' (Thing): the parent is NULL" },
    };
    for (size_t i = 0; i < COUNT(c); i++) {
        assert_null(child(t, c[i].parent, c[i].name));
        assert_message(t, c[i].message);
        assert_int_equal(gr_error_code(t), GR_MISUSE);
        gr_tape_recover(t);
    }
    assert_fails(t, gr_param(t, net, "a", GR_SHAPE(1), zero), "'a' under the root: there is one already");
    assert_fails(t, gr_param(t, net, NULL, GR_SHAPE(1), zero), "a name under the root is NULL");
    assert_fails(t, gr_param(t, NULL, "w", GR_SHAPE(1), zero), "'w': the module is NULL");
    assert_fails(t, gr_param(t, net, "w", ((gr_shape){ 9, { 0 } }), zero), "w: rank 9 is not a shape that fits this machine");
    assert_null(gr_param(t, net, "w", GR_SHAPE(SIZE_MAX, 2), zero));
    gr_tape_recover(t);
    assert_null(net->slots);
    assert_ptr_equal(net->child, a);
    assert_null(a->next);
    gr_module_free(net);
    gr_tape_free(t);
}

TEST(every_function_takes_null)
{
    gr_tape *t = gr_tape_new(1, NULL);
    assert_null(gr_module_new(NULL));
    assert_null(gr_module_make(NULL, NULL, "a", "Thing", sizeof(gr_module)));
    assert_false(gr_module_ready(NULL, NULL));
    assert_false(gr_module_ready(t, NULL));
    assert_null(gr_param(NULL, NULL, "a", GR_SCALAR, zero));
    assert_null(gr_buffer(NULL, NULL, "a", GR_SCALAR, 0));
    assert_null(gr_counter(NULL, NULL, "a"));
    assert_null(gr_tie(NULL, NULL, "a", NULL));
    assert_false(gr_param_init(NULL, NULL, "a", zero));
    assert_null(gr_detach_keep(NULL, NULL, "a", NULL));
    assert_null(gr_kept(NULL, NULL));
    assert_null(gr_forward(NULL, NULL, NULL));
    assert_null(gr_slot_first(NULL));
    assert_int_equal(gr_module_parameters(NULL), 0);
    gr_requires_grad(NULL, true);
    gr_module_free(NULL);
    assert_ok(t);
    gr_tape_free(t);
}

/* ---- Traversal ---- */

TEST(traversal_is_depth_first_in_order_of_creation)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *net = gr_module_new(t), *a = child(t, net, "a"), *b = child(t, net, "b"), *aa = child(t, a, "aa");
    child(t, a, "empty");
    gr_param(t, b, "1", GR_SCALAR, zero), gr_param(t, aa, "2", GR_SCALAR, zero), gr_buffer(t, a, "3", GR_SCALAR, 1), gr_counter(t, a, "4");
    gr_param(t, net, "5", GR_SCALAR, zero);
    char seen[64] = "";
    for (gr_slot *s = gr_slot_first(net); s; s = gr_slot_next(net, s)) strcat(strcat(seen, s->path), " ");
    assert_string_equal(seen, "5 a.3 a.4 a.aa.2 b.1 ");
    seen[0] = 0;
    for (gr_slot *s = gr_slot_first(a); s; s = gr_slot_next(a, s)) strcat(strcat(seen, s->path), " ");
    assert_string_equal(seen, "a.3 a.4 a.aa.2 ");
    seen[0] = 0;
    for (gr_module *m = net; m; m = gr_module_next(net, m)) strcat(strcat(seen, m->name), ",");
    assert_string_equal(seen, ",a,aa,empty,b,");
    assert_int_equal(gr_module_parameters(net), 3);
    gr_module_free(a);
    assert_int_equal(gr_module_parameters(net), 2);
    gr_module_free(net);
    gr_tape_free(t);
}

TEST(a_deep_tree_is_freed_without_recursion)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *net = gr_module_new(t), *m = net;
    for (int i = 0; i < 2000; i++) m = child(t, m, "m");
    gr_param(t, m, "w", GR_SHAPE(4), zero);
    assert_ok(t);
    assert_int_equal(gr_module_parameters(net), 4);
    gr_module_free(net);
    gr_tape_free(t);
}

/* ---- Initial values ---- */

static void moments(const gr_tensor *x, double *mean, double *std)
{
    double sum = 0, square = 0;
    for (size_t i = 0; i < x->len; i++) sum += (double)x->data[i];
    *mean = sum / (double)x->len;
    for (size_t i = 0; i < x->len; i++) square += ((double)x->data[i] - *mean) * ((double)x->data[i] - *mean);
    *std = sqrt(square / (double)x->len);
}

TEST(initializers_have_the_variance_of_their_papers)
{
    const double fan_in = 20 * 3, fan_out = 100 * 3;
    const struct { gr_init init; double std, bound; } c[] = {
        { gr_init_uniform(-0.5, 0.5), 1 / sqrt(12), 0.5 },
        { gr_init_normal(0, 0.1), 0.1, 1 },
        { gr_init_xavier_uniform(GR_GAIN_TANH), 5.0 / 3 * sqrt(2 / (fan_in + fan_out)), 5.0 / 3 * sqrt(6 / (fan_in + fan_out)) },
        { gr_init_xavier_normal(1), sqrt(2 / (fan_in + fan_out)), 1 },
        { gr_init_kaiming_uniform(GR_GAIN_RELU, GR_FAN_IN), sqrt(2 / fan_in), sqrt(6 / fan_in) },
        { gr_init_kaiming_normal(GR_GAIN_RELU, GR_FAN_OUT), sqrt(2 / fan_out), 1 },
    };
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *net = gr_module_new(t);
    gr_tensor *w = gr_param(t, net, "w", GR_SHAPE(100, 20, 3), gr_init_constant(7));
    for (size_t i = 0; i < w->len; i++) assert_true(w->data[i] == 7);
    for (size_t k = 0; k < COUNT(c); k++) {
        double mean, std, largest = 0;
        assert_true(gr_param_init(t, net, "w", c[k].init));
        moments(w, &mean, &std);
        for (size_t i = 0; i < w->len; i++) largest = kit_larger(largest, fabs((double)w->data[i]));
        assert_true(fabs(mean) < 0.05 * c[k].std);
        assert_true(fabs(std - c[k].std) < 0.03 * c[k].std);
        assert_true(largest <= c[k].bound * 1.000001 && largest > 2.9 * c[k].std * (c[k].bound < 1 ? 0.59 : 1));
    }
    gr_module_free(net);
    gr_tape_free(t);
}

TEST(orthogonal_init_gives_orthonormal_rows_or_columns)
{
    const struct { size_t rows, columns; } c[] = { { 7, 19 }, { 19, 7 }, { 16, 16 }, { 1, 5 }, { 0, 4 }, { 4, 0 } };
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *net = gr_module_new(t);
    for (size_t k = 0; k < COUNT(c); k++) {
        const size_t R = c[k].rows, C = c[k].columns, n = R < C ? R : C;
        gr_tensor *w = gr_param(t, net, (const char[]){ (char)('a' + k), 0 }, GR_SHAPE(R, C), gr_init_orthogonal(2));
        assert_ok(t);
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++) {
                double sum = 0;
                for (size_t x = 0; x < (R < C ? C : R); x++)
                    sum += R < C ? (double)w->data[i * C + x] * (double)w->data[j * C + x] : (double)w->data[x * C + i] * (double)w->data[x * C + j];
                assert_true(fabs(sum - (i == j ? 4 : 0)) < 1e-5);
            }
    }
    gr_module_free(net);
    gr_tape_free(t);
}

TEST(initializers_with_a_fan_need_two_axes)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *net = gr_module_new(t);
    assert_null(gr_param(t, net, "w", GR_SHAPE(3), gr_init_xavier_normal(1)));
    assert_message(t, "w: an orthogonal, Xavier or Kaiming initialization needs rank 2 or more; got [3]");
    assert_null(net->slots);
    gr_tape_recover(t);
    gr_tensor *w = gr_param(t, net, "w", GR_SHAPE(3), gr_init_constant(2));
    assert_false(gr_param_init(t, net, "w", gr_init_orthogonal(1)));
    assert_values(w, 0, 2, 2, 2);
    assert_int_equal(net->slots->init.kind, GR_INIT_CONSTANT);
    gr_tape_recover(t);
    assert_false(gr_param_init(t, net, "x", gr_init_constant(1)));
    assert_message(t, "the root has no parameter 'x' to initialize");
    gr_tape_recover(t);
    for (int kind = -1; kind <= GR_INIT_KAIMING_NORMAL + 1; kind += GR_INIT_KAIMING_NORMAL + 2) {
        char want[120];
        snprintf(want, sizeof want, "empty: the kind of an initialization must be GR_INIT_CONSTANT .. GR_INIT_KAIMING_NORMAL; got %d", kind);
        assert_null(gr_param(t, net, "empty", GR_SHAPE(0, 3), (gr_init){ .kind = (gr_init_kind)kind }));
        assert_message(t, want);
        gr_tape_recover(t);
    }
    gr_module_free(net);
    gr_tape_free(t);
}

TEST(initial_values_depend_on_path_and_seed_alone)
{
    gr_real w[3][6];
    for (int k = 0; k < 3; k++) {
        gr_tape *t = gr_tape_new(k == 2 ? 6 : 5, NULL);
        gr_module *net = gr_module_new(t);
        if (k == 1) gr_param(t, child(t, net, "before"), "weight", GR_SHAPE(100), gr_init_normal(0, 1));
        gr_module *a = child(t, net, "a");
        if (k == 1) gr_param(t, a, "another", GR_SHAPE(3), gr_init_normal(0, 1));
        memcpy(w[k], gr_param(t, a, "weight", GR_SHAPE(2, 3), gr_init_normal(0, 1))->data, sizeof w[k]);
        gr_module_free(net);
        gr_tape_free(t);
    }
    assert_same_bits(w[0], w[1], 6);
    assert_true(memcmp(w[0], w[2], sizeof w[0]) != 0);
}

/* ---- Frozen, tied, exempt ---- */

TEST(frozen_parameters_get_no_gradient)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *net = gr_module_new(t), *a = child(t, net, "a");
    gr_tensor *w = gr_param(t, a, "w", GR_SHAPE(2), zero), *v = gr_param(t, net, "v", GR_SHAPE(2), zero);
    gr_requires_grad(a, false);
    assert_true(a->slots->frozen && !net->slots->frozen);
    gr_backward(t, gr_sum(t, gr_mul(t, gr_add(t, w, v), gr_add(t, w, v)), GR_ALL_AXES, false));
    assert_ok(t);
    assert_null(gr_grad(t, w));
    assert_non_null(gr_grad(t, v));
    gr_tape_reset(t);
    gr_requires_grad(net, true);
    gr_backward(t, gr_sum(t, gr_mul(t, w, v), GR_ALL_AXES, false));
    assert_non_null(gr_grad(t, w));
    gr_module_free(net);
    gr_tape_free(t);
}

TEST(tied_parameters_are_frozen_together)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *net = gr_module_new(t), *m[] = { child(t, net, "a"), child(t, net, "b"), child(t, net, "c") };
    gr_tensor *w = gr_param(t, m[0], "w", GR_SHAPE(2), zero);
    gr_tie(t, m[1], "w", w), gr_tie(t, m[2], "w", w);
    for (int k = 0; k < 6; k++) { /* by way of each module in turn: frozen, thawed */
        gr_requires_grad(m[k / 2], k % 2);
        for (int i = 0; i < 3; i++) assert_int_equal(m[i]->slots->frozen, k % 2 == 0);
        gr_tape_reset(t);
        gr_tensor *y = gr_sum(t, w, GR_ALL_AXES, false);
        assert_int_equal(gr_will_record(t, GR_IN(y)), k % 2);
    }
    gr_requires_grad(NULL, false);
    gr_module_free(net);
    gr_tape_free(t);
}

TEST(a_tied_parameter_counts_once)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *net = gr_module_new(t), *first = child(t, net, "first"), *second = child(t, net, "second");
    gr_tensor *w = gr_param(t, second, "weight", GR_SHAPE(4), gr_init_constant(3));
    assert_ptr_equal(gr_tie(t, first, "weight", w), w);
    assert_ptr_equal(gr_slot_find(net, "first.weight")->tied, gr_slot_find(net, "second.weight"));
    assert_int_equal(gr_module_parameters(net), 4);
    assert_int_equal(gr_module_parameters(first), 4); /* a module by itself counts the parameters that it uses */
    assert_true(gr_param_init(t, first, "weight", gr_init_constant(5)));
    assert_values(w, 0, 5, 5, 5, 5);
    assert_fails(t, gr_tie(t, first, "other", gr_zeros(t, GR_SHAPE(1))),
                 "'other' under first is to be tied to [1], which is no parameter of this tree");
    assert_null(gr_tie(t, first, "other", NULL));
    assert_message(t, "'other' under first is to be tied, but the tensor is NULL");
    gr_tape_recover(t);
    gr_tape_set_anomaly(t, true); /* which overwrites the tensor when the step ends */
    gr_tensor *const dead = gr_zeros(t, GR_SHAPE(1));
    gr_tape_reset(t);
    assert_fails(t, gr_tie(t, first, "other", dead),
                 "the tensor to tie was made before gr_tape_reset, or after a mark that gr_tape_rewind went back to, which ended it; make inputs again "
                 "in each step; gr_detach_keep before the reset and gr_carried after it keep a state");
    gr_module_free(net);
    gr_tape_free(t);
}

TEST(norms_and_biases_are_exempt_from_weight_decay)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *net = gr_module_new(t), *norm = gr_module_make(t, net, "ln", "Mine", sizeof *norm);
    gr_module *head = gr_module_make(t, net, "head", "NormalHead", sizeof *head); /* its kind begins like that of a norm, but it is none */
    norm->is_norm = true;
    gr_param(t, net, "weight", GR_SHAPE(2, 2), zero), gr_param(t, net, "bias", GR_SHAPE(2, 2), zero), gr_param(t, net, "gain", GR_SHAPE(2), zero);
    gr_param(t, norm, "weight", GR_SHAPE(2, 2), zero), gr_param(t, head, "weight", GR_SHAPE(2, 2), zero);
    char marks[8] = "";
    for (gr_slot *s = gr_slot_first(net); s; s = gr_slot_next(net, s)) strcat(marks, s->no_decay ? "1" : "0");
    assert_string_equal(marks, "01110");
    gr_module_free(net);
    gr_tape_free(t);
}

/* ---- Kept states ---- */

TEST(a_kept_state_outlives_the_reset)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *net = gr_module_new(t), *a = child(t, net, "a");
    assert_null(gr_kept(a, "h"));
    gr_tensor *x = gr_want_grad(t, gr_full(t, GR_SHAPE(2), 3)), *h = gr_detach_keep(t, a, "h", x);
    assert_string_equal(h->path, "a.h");
    gr_tape_reset(t);
    assert_ptr_equal(gr_kept(a, "h"), h);
    assert_values(h, 0, 3, 3);
    assert_false(gr_backward_from(t, gr_mul(t, h, h), (gr_real[]){ 1, 1 })); /* it gets no gradient */
    gr_tape_recover(t);
    assert_ptr_equal(gr_detach_keep(t, a, "h", gr_full(t, GR_SHAPE(2), 4)), h);
    assert_values(h, 0, 4, 4);
    assert_int_equal(gr_module_parameters(net), 0);
    assert_null(gr_detach_keep(t, a, "h", gr_zeros(t, GR_SHAPE(3))));
    assert_message(t, "detach_keep: a.h was kept as [2]; got [3]");
    gr_module_free(net);
    gr_tape_free(t);
}

TEST(recover_restores_a_kept_state)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *net = gr_module_new(t);
    gr_detach_keep(t, net, "h", gr_full(t, GR_SHAPE(2), 3));
    gr_tape_recover(t);
    assert_null(gr_kept(net, "h")); /* as if it had never been kept */
    gr_tensor *h = gr_detach_keep(t, net, "h", gr_full(t, GR_SHAPE(3), 5));
    assert_ok(t);
    gr_tape_reset(t);
    gr_detach_keep(t, net, "h", gr_full(t, GR_SHAPE(3), 9));
    gr_tape_recover(t);
    assert_values(gr_kept(net, "h"), 0, 5, 5, 5);
    assert_ptr_equal(gr_kept(net, "h"), h);
    gr_module_free(net);
    gr_tape_free(t);
}

/* ---- Failures ---- */

static bool build(gr_tape *t, void *unused)
{
    (void)unused;
    gr_module *net = gr_module_new(t), *a = child(t, net, "a"), *b = child(t, a, "b");
    gr_tensor *w = gr_param(t, b, "w", GR_SHAPE(3, 3), gr_init_orthogonal(1));
    gr_buffer(t, a, "mean", GR_SHAPE(3), 0), gr_counter(t, a, "steps"), gr_tie(t, a, "w", w);
    const bool well = gr_detach_keep(t, a, "h", w);
    if (!well && net) /* every registered parameter is complete */
        for (gr_slot *s = gr_slot_first(net); s; s = gr_slot_next(net, s)) assert_true(s->kind == GR_COUNTER || s->tensor);
    gr_module_free(net);
    return well;
}
TEST(every_allocation_may_fail)
{
    fail_every_allocation(build, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_are_joined_from_names),
        cmocka_unit_test(a_bad_name_is_an_error_and_leaves_nothing),
        cmocka_unit_test(every_function_takes_null),
        cmocka_unit_test(traversal_is_depth_first_in_order_of_creation),
        cmocka_unit_test(a_deep_tree_is_freed_without_recursion),
        cmocka_unit_test(initializers_have_the_variance_of_their_papers),
        cmocka_unit_test(orthogonal_init_gives_orthonormal_rows_or_columns),
        cmocka_unit_test(initializers_with_a_fan_need_two_axes),
        cmocka_unit_test(initial_values_depend_on_path_and_seed_alone),
        cmocka_unit_test(frozen_parameters_get_no_gradient),
        cmocka_unit_test(tied_parameters_are_frozen_together),
        cmocka_unit_test(a_tied_parameter_counts_once),
        cmocka_unit_test(norms_and_biases_are_exempt_from_weight_decay),
        cmocka_unit_test(a_kept_state_outlives_the_reset),
        cmocka_unit_test(recover_restores_a_kept_state),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
