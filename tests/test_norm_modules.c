/* tests/test_norm_modules.c - the modules of normalization: initial values, names, gr_norm_new, the summary, state_dict, messages. */
#define FAILING_FILES
#include "tests/failing.h"

static gr_tape *tape;
static gr_module *net;
FIXTURE(start)
{
    tape = gr_tape_new(3, NULL), net = gr_module_new(tape);
    return gr_failed(tape);
}
FIXTURE(finish)
{
    gr_module_free(net), gr_tape_free(tape);
    return 0;
}

static gr_tensor *ramp(gr_shape shape)
{
    gr_tensor *x = gr_empty(tape, shape);
    for (size_t i = 0; x && i < x->len; i++) x->data[i] = (gr_real)(i * i % 19) - (gr_real)(i % 7);
    return x;
}

/* ---- Initial values ---- */

TEST(norm_modules_start_as_pytorch_does)
{
    gr_norm *b = gr_batch_norm_new(tape, net, "bn", 2, NULL);
    gr_norm *g = gr_group_norm_new(tape, net, "gn", 2, 4, NULL);
    gr_norm *i = gr_instance_norm_new(tape, net, "in", 2, NULL);
    gr_norm *r = gr_rms_norm_new(tape, net, "rms", GR_SHAPE(2, 2), NULL);
    assert_ok(tape);
    assert_values(b->weight, 0, 1, 1);
    assert_values(b->bias, 0, 0, 0);
    assert_values(b->running_mean, 0, 0, 0);
    assert_values(b->running_var, 0, 1, 1);
    assert_true(*b->batches == 0 && b->eps == 1e-5);
    assert_values(g->weight, 0, 1, 1, 1, 1);
    assert_values(g->bias, 0, 0, 0, 0, 0);
    assert_true(g->eps == 1e-5 && i->eps == 1e-5 && !i->weight && !i->bias);
    assert_values(r->weight, 0, 1, 1, 1, 1);
    assert_true(r->eps == (sizeof(gr_real) == 4 ? 0x1p-23 : 0x1p-52));
    for (const gr_slot *s = gr_slot_first(net); s; s = gr_slot_next(net, s)) assert_true(s->no_decay || s->kind != GR_PARAMETER);

    b = gr_batch_norm_new(tape, net, "plain", 2, &(gr_norm_config){ .no_affine = true, .no_running = true, .eps = GR_NONE });
    g = gr_group_norm_new(tape, net, "plain_gn", 1, 4, &(gr_norm_config){ .no_affine = true, .eps = 0.5 });
    i = gr_instance_norm_new(tape, net, "affine", 2, &(gr_norm_config){ .affine = true, .eps = GR_NONE });
    r = gr_rms_norm_new(tape, net, "plain_rms", GR_SHAPE(2), &(gr_norm_config){ .no_affine = true, .eps = 0.25 });
    assert_ok(tape);
    assert_true(!b->weight && !b->bias && !b->running_mean && !b->running_var && !b->batches && b->eps == 0);
    assert_true(!g->weight && g->eps == 0.5 && i->weight && i->bias && i->eps == 0 && !r->weight && r->eps == 0.25);
    const gr_slot *s = gr_slot_find(net, "plain");
    assert_null(s);
    const gr_norm_config plain = { .no_affine = true }, no_bias = { .no_bias = true };
    for (gr_norm_kind kind = GR_NORM_BATCH; kind <= GR_NORM_INSTANCE; kind++) {
        const gr_norm *n = gr_norm_of(gr_norm_new(tape, net, NULL, kind, 2, &plain)), *w = gr_norm_of(gr_norm_new(tape, net, NULL, kind, 2, &no_bias));
        assert_true(n && !n->weight && !n->bias && w && w->weight && !w->bias);
    }
}

TEST(a_summary_shows_the_names_of_pytorch)
{
    gr_batch_norm_new(tape, net, "a", 3, &(gr_norm_config){ .dims = 1 });
    gr_batch_norm_new(tape, net, "b", 3, &(gr_norm_config){ .dims = 2, .no_running = true });
    gr_instance_norm_new(tape, net, "c", 3, &(gr_norm_config){ .dims = 2, .affine = true });
    gr_norm_new(tape, net, "d", GR_NORM_NONE, 3, NULL);
    assert_ok(tape);
    const int n = (int)sizeof(gr_real);
    char want[2000], text[2000];
    snprintf(want, sizeof want,
             "module  kind            parameters  multiply-adds       bytes  tensors\n"
             "(root)  Module                   0              0           0\n"
             "a       BatchNorm1d              6              3  %10d  weight [3]  bias [3]  running_mean [3] (buffer)  running_var [3] "
             "(buffer)  num_batches_tracked (counter)\n"
             "b       BatchNorm2d              6              3  %10d  weight [3]  bias [3]\n"
             "c       InstanceNorm2d           6              3  %10d  weight [3]  bias [3]\n"
             "d       Identity                 0              0           0\n"
             "total                           18              9  %10d  multiply-adds are for one row of each module's input\n",
             12 * n + 8, 6 * n, 6 * n, 24 * n + 8);
    FILE *f = tmpfile();
    gr_print_summary(net, f);
    rewind(f);
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    fclose(f);
    assert_string_equal(text, want);
}

/* ---- Any norm by its kind ---- */

TEST(gr_norm_new_gives_the_operator_of_the_kind)
{
    gr_tensor *rows = ramp(GR_SHAPE(5, 3, 8)), *images = ramp(GR_SHAPE(4, 8, 3, 2));
    const gr_norm_config first = { .axis = 1, .groups = 4, .eps = 0.1 }, last = { .groups = 2, .eps = 0.1 };
    const gr_batch_norm_config o = { .eps = 0.1 };
    const struct {
        gr_norm_kind kind;
        const char *name;
        gr_tensor *of_rows, *of_images;
    } kinds[] = {
        { GR_NORM_NONE, "Identity", rows, images },
        { GR_NORM_BATCH, "BatchNorm", gr_batch_norm(tape, rows, -1, NULL, NULL, &o), gr_batch_norm(tape, images, 1, NULL, NULL, &o) },
        { GR_NORM_LAYER, "LayerNorm", gr_layer_norm(tape, rows, 1, NULL, NULL, 0.1), gr_group_norm(tape, images, 1, NULL, NULL, 0.1) },
        { GR_NORM_RMS, "RMSNorm", gr_rms_norm(tape, rows, 1, NULL, 0.1), NULL },
        { GR_NORM_GROUP, "GroupNorm", gr_layer_norm(tape, gr_reshape(tape, rows, GR_SHAPE(5, 3, 2, 4)), 1, NULL, NULL, 0.1),
          gr_group_norm(tape, images, 4, NULL, NULL, 0.1) },
        { GR_NORM_INSTANCE, "InstanceNorm", gr_instance_norm(tape, rows, -1, NULL, NULL, 0.1),
          gr_instance_norm(tape, images, 1, NULL, NULL, 0.1) },
    };
    for (size_t k = 0; k < COUNT(kinds); k++) {
        gr_module *of_rows = gr_norm_new(tape, net, NULL, kinds[k].kind, 8, &last);
        gr_tensor *y = gr_forward(tape, of_rows, rows);
        assert_ok(tape);
        assert_true(gr_same_shape(y, rows));
        assert_string_equal(of_rows->kind, kinds[k].name);
        assert_same_bits(y->data, kinds[k].of_rows->data, y->len);
        assert_int_equal(gr_module_parameters(of_rows), kinds[k].kind == GR_NORM_NONE ? 0 : kinds[k].kind == GR_NORM_RMS ? 8 : 16);
        if (!kinds[k].of_images) continue;
        gr_module *of_images = gr_norm_new(tape, net, NULL, kinds[k].kind, 8, &first);
        y = gr_forward(tape, of_images, images);
        assert_ok(tape);
        assert_same_bits(y->data, kinds[k].of_images->data, y->len);
        assert_int_equal(gr_module_parameters(of_images), kinds[k].kind == GR_NORM_NONE ? 0 : 16);
    }
}

TEST(groups_are_chosen_by_the_number_of_features)
{
    const size_t features[] = { 64, 48, 32, 6, 7, 2, 1 }, want[] = { 32, 16, 16, 2, 1, 1, 1 };
    for (size_t k = 0; k < COUNT(features); k++)
        assert_int_equal(gr_norm_of(gr_norm_new(tape, net, NULL, GR_NORM_GROUP, features[k], NULL))->groups, want[k]);
}

TEST(a_norm_passes_its_config_and_defaults_to_the_operator)
{
    const gr_norm *b = gr_norm_of(gr_norm_new(tape, net, "b", GR_NORM_BATCH, 2, &(gr_norm_config){ .cumulative = true }));
    for (int step = 1; step <= 3; step++) gr_norm_forward(tape, b, gr_full(tape, GR_SHAPE(4, 2), step), NULL);
    assert_ok(tape);
    assert_int_equal(*b->batches, 3);
    assert_values(b->running_mean, 1e-6, 2, 2);
    assert_true(b->axis == -1 && b->eps == 1e-5);
}

/* One config may serve several kinds: each kind reads the fields that it has. */
TEST(a_kind_ignores_the_fields_of_others)
{
    const gr_norm_config c = { .no_bias = true, .affine = true, .no_running = true, .dims = 2, .groups = 3, .momentum = 0.5, .eps = 0.25 };
    const gr_norm *const l = gr_layer_norm_new(tape, net, "l", GR_SHAPE(2, 4), &c), *const b = gr_batch_norm_new(tape, net, "b", 4, &c);
    const gr_norm *const g = gr_group_norm_new(tape, net, "g", 2, 4, &c), *const i = gr_instance_norm_new(tape, net, "i", 4, NULL);
    assert_ok(tape);
    assert_true(l->weight && !l->bias && l->groups == 1 && l->dims == 0 && l->eps == 0.25);
    assert_true(b->weight && !b->bias && !b->running_mean && !b->batches && b->groups == 4 && b->dims == 2 && b->momentum == 0.5);
    assert_true(g->weight && !g->bias && !g->running_mean && g->groups == 2 && g->dims == 0 && g->axis == 1);
    assert_true(!i->weight && !i->bias && i->groups == 4 && i->axis == 1);
}

TEST(only_the_constructors_make_a_norm)
{
    gr_norm *mine = gr_module_make(tape, net, "mine", "LayerNorm", sizeof *mine);
    gr_norm *const l = gr_layer_norm_new(tape, net, "l", GR_SHAPE(2), NULL);
    assert_ok(tape);
    assert_ptr_equal(gr_norm_of(&l->module), l);
    assert_null(gr_norm_of(&mine->module));
    assert_null(gr_norm_of(gr_norm_new(tape, net, "none", GR_NORM_NONE, 2, NULL)));
    assert_null(gr_norm_of(NULL));
}

/* ---- Evaluation, files ---- */

TEST(a_loaded_module_evaluates_to_the_same_bits)
{
    char path[512];
    snprintf(path, sizeof path, "%s", in_folder("bn.safetensors"));
    gr_norm *b = gr_batch_norm_new(tape, net, "bn", 3, NULL);
    for (int step = 0; step < 3; step++) gr_forward(tape, &b->module, ramp(GR_SHAPE(7, 3)));
    gr_tape_set_training(tape, false);
    gr_tensor *x = ramp(GR_SHAPE(2, 3)), *y = gr_forward(tape, &b->module, x);
    assert_true(gr_state_save(tape, net, path, NULL));
    gr_module *other = gr_module_new(tape);
    gr_norm *c = gr_batch_norm_new(tape, other, "bn", 3, NULL);
    assert_true(gr_state_load(tape, other, path, NULL));
    assert_int_equal(*c->batches, 3);
    assert_same_bits(gr_forward(tape, &c->module, x)->data, y->data, y->len);
    gr_module_free(other);
    unlink(path);
}

TEST(lengths_reach_the_module)
{
    gr_norm *b = gr_batch_norm_new(tape, net, "bn", 2, &(gr_norm_config){ .axis = -1 });
    const gr_norm_input input = { .lengths = gr_ints_new(tape, (int[]){ 2, 3 }, GR_SHAPE(2)) };
    gr_tensor *x = ramp(GR_SHAPE(2, 3, 2)), *y = gr_norm_forward(tape, b, x, &input);
    assert_ok(tape);
    assert_same_bits(y->data, gr_batch_norm(tape, x, -1, NULL, NULL, &(gr_batch_norm_config){ .lengths = input.lengths })->data, y->len);
    assert_values(gr_slice(tape, gr_reshape(tape, y, GR_SHAPE(6, 2)), 2, 1), 0, 0, 0);
}

/* ---- Failures ---- */

static bool build_and_run(gr_tape *t, void *unused)
{
    (void)unused;
    gr_module *root = gr_module_new(t), *seq = gr_sequential_new(t, root, "seq");
    for (int kind = GR_NORM_NONE; kind <= GR_NORM_INSTANCE; kind++)
        gr_norm_new(t, seq, NULL, (gr_norm_kind)kind, 4, &(gr_norm_config){ .axis = kind == GR_NORM_RMS ? -1 : 1 });
    const bool well = gr_backward(t, gr_sum(t, gr_forward(t, seq, gr_randn(t, GR_SHAPE(2, 4, 4), 0, 1, "x")), GR_ALL_AXES, false));
    for (gr_module *m = root; m; m = gr_module_next(root, m)) { /* no half-built module is left */
        const gr_norm *const n = gr_norm_of(m);
        if (n) assert_true(n->weight && (n->bias || n->kind == GR_NORM_RMS) && (n->batches || n->kind != GR_NORM_BATCH));
    }
    gr_module_free(root);
    return well;
}
TEST(every_allocation_may_fail)
{
    fail_every_allocation(build_and_run, NULL);
}

TEST(features_groups_and_ranks_that_do_not_fit_are_named)
{
    assert_fails(tape, gr_batch_norm_new(tape, net, "bn", 0, NULL), "bn: features must be 1 or more; got 0");
    assert_fails(tape, gr_batch_norm_new(tape, net, "bn", 2, &(gr_norm_config){ .eps = -2 }), "bn: eps must be 0 or more, or GR_NONE; got -2");
    assert_fails(tape, gr_batch_norm_new(tape, net, "bn", 2, &(gr_norm_config){ .momentum = 2 }),
                 "bn: momentum must be in 0 .. 1, or GR_NONE; got 2");
    assert_fails(tape, gr_batch_norm_new(tape, net, "bn", 2, &(gr_norm_config){ .dims = 3 }), "bn: dims must be 1, 2, or 0 for any; got 3");
    assert_fails(tape, gr_group_norm_new(tape, net, "gn", 2, 0, NULL), "gn: features must be 1 or more; got 0");
    assert_fails(tape, gr_group_norm_new(tape, net, "gn", 3, 4, NULL), "gn: 4 features cannot make 3 groups");
    assert_fails(tape, gr_group_norm_new(tape, net, "gn", 0, 4, NULL), "gn: 4 features cannot make 0 groups");
    assert_fails(tape, gr_group_norm_new(tape, net, "gn", 2, 4, &(gr_norm_config){ .eps = NAN }), "gn: eps must be 0 or more, or GR_NONE; got nan");
    assert_fails(tape, gr_instance_norm_new(tape, net, "in", 0, &(gr_norm_config){ .dims = 1 }),
                 "in: features must be 1 or more; got 0");
    assert_fails(tape, gr_instance_norm_new(tape, net, "in", 2, &(gr_norm_config){ .eps = -2 }), "in: eps must be 0 or more, or GR_NONE; got -2");
    assert_fails(tape, gr_instance_norm_new(tape, net, "in", 2, &(gr_norm_config){ .dims = -1 }),
                 "in: dims must be 1, 2, or 0 for any; got -1");
    assert_fails(tape, gr_rms_norm_new(tape, net, "rms", GR_SCALAR, NULL), "rms: an RMSNorm has 1 to 8 axes; got []");
    assert_fails(tape, gr_rms_norm_new(tape, net, "rms", GR_SHAPE(2), &(gr_norm_config){ .eps = -2 }),
                 "rms: eps must be 0 or more, or GR_NONE; got -2");
    assert_fails(tape, gr_norm_new(tape, net, "n", GR_NORM_RMS, 2, &(gr_norm_config){ .axis = 1 }),
                 "n: an RMSNorm normalizes the last axes; got axis 1");
    assert_fails(tape, gr_norm_new(tape, net, "n", (gr_norm_kind)17, 2, NULL), "n: the kind must be one of gr_norm_kind; got 17");
    assert_fails(tape, gr_layer_norm_new(tape, net, "ln", GR_SHAPE(2), &(gr_norm_config){ .axis = 1 }),
                 "ln: a LayerNorm normalizes the last axes; got axis 1");
    assert_fails(tape, gr_group_norm_new(tape, net, "gn", 2, 4, &(gr_norm_config){ .axis = 2 }),
                 "gn: axis must be 1, -1, or 0 for the default; got 2");
    assert_fails(tape, gr_norm_forward(tape, NULL, ramp(GR_SHAPE(2, 2)), NULL), "norm: the module is NULL");
    assert_null(net->child);
#define X ramp(GR_SHAPE(2, 3, 5))
    gr_norm *b1 = gr_batch_norm_new(tape, net, "b1", 3, &(gr_norm_config){ .dims = 1 });
    gr_norm *b2 = gr_batch_norm_new(tape, net, "b2", 3, &(gr_norm_config){ .dims = 2 });
    gr_norm *i1 = gr_instance_norm_new(tape, net, "i1", 3, &(gr_norm_config){ .dims = 1 });
    gr_norm *last = gr_instance_norm_new(tape, net, "last", 3, &(gr_norm_config){ .axis = -1 });
    gr_norm *g = gr_group_norm_new(tape, net, "g", 2, 4, NULL);
    gr_norm *r = gr_rms_norm_new(tape, net, "r", GR_SHAPE(4, 5), NULL);
    assert_fails(tape, gr_norm_forward(tape, b1, NULL, NULL), "batch_norm in b1: input 1 is NULL");
    assert_fails(tape, gr_norm_forward(tape, b1, ramp(GR_SHAPE(3, 2)), NULL),
                 "batch_norm in b1: x is [3, 2], and its second axis must hold 3 features; for x [.., C] make it with .axis = -1");
    assert_fails(tape, gr_norm_forward(tape, b1, ramp(GR_SHAPE(3)), NULL),
                 "batch_norm in b1: x is [3], and its second axis must hold 3 features; for x [.., C] make it with .axis = -1");
    assert_fails(tape, gr_norm_forward(tape, b1, ramp(GR_SHAPE(2, 3, 2, 2)), NULL),
                 "batch_norm in b1: x is [2, 3, 2, 2], and a BatchNorm1d takes rank 2 or 3");
    assert_fails(tape, gr_norm_forward(tape, b2, X, NULL), "batch_norm in b2: x is [2, 3, 5], and a BatchNorm2d takes rank 4");
    assert_fails(tape, gr_norm_forward(tape, i1, ramp(GR_SHAPE(2, 3)), NULL),
                 "instance_norm in i1: x is [2, 3], and an InstanceNorm1d takes rank 3");
    assert_fails(tape, gr_norm_forward(tape, last, X, NULL),
                 "instance_norm in last: x is [2, 3, 5], and its last axis must hold 3 features");
    assert_fails(tape, gr_norm_forward(tape, g, X, NULL),
                 "group_norm in g: x is [2, 3, 5], and its second axis must hold 4 features; for x [.., C] make it with .axis = -1");
    assert_fails(tape, gr_norm_forward(tape, i1, X, &(gr_norm_input){ .mask = X }),
                 "instance_norm in i1: lengths and a mask are for a BatchNorm; this is an InstanceNorm1d");
    assert_fails(tape, gr_norm_forward(tape, r, X, NULL), "rms_norm in r: x is [2, 3, 5], and its last axes must be [4, 5]");
    assert_non_null(gr_forward(tape, &b1->module, ramp(GR_SHAPE(2, 3))));
}

FIXTURE(start_in_folder) { return start(state) || make_folder(state); }
FIXTURE(finish_in_folder) { return finish(state) || remove_folder(state); }

int main(void)
{
#define ON_A_TAPE(f) cmocka_unit_test_setup_teardown(f, start, finish)
    const struct CMUnitTest tests[] = {
        ON_A_TAPE(norm_modules_start_as_pytorch_does),
        ON_A_TAPE(a_summary_shows_the_names_of_pytorch),
        ON_A_TAPE(gr_norm_new_gives_the_operator_of_the_kind),
        ON_A_TAPE(groups_are_chosen_by_the_number_of_features),
        ON_A_TAPE(a_norm_passes_its_config_and_defaults_to_the_operator),
        ON_A_TAPE(a_kind_ignores_the_fields_of_others),
        ON_A_TAPE(only_the_constructors_make_a_norm),
        cmocka_unit_test_setup_teardown(a_loaded_module_evaluates_to_the_same_bits, start_in_folder, finish_in_folder),
        ON_A_TAPE(lengths_reach_the_module),
        cmocka_unit_test(every_allocation_may_fail),
        ON_A_TAPE(features_groups_and_ranks_that_do_not_fit_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
