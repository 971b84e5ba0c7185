/* tests/test_nn.c - the modules: shapes and initial values as in PyTorch, forward values, gradients, messages, the summary. */
#include "core/library.h"
#include "examples/kit/program.h"
#include "tests/failing.h"

/* ---- Linear ---- */

TEST(linear_starts_as_pytorch_does)
{
    gr_tape *t = gr_tape_new(3, NULL);
    gr_module *net = gr_module_new(t);
    gr_linear_module *l = gr_linear_new(t, net, "fc", 100, 50, NULL), *bare = gr_linear_new(t, net, "bare", 3, 2, &(gr_linear_config){ .no_bias = true });
    assert_ok(t);
    assert_true(l->weight->rank == 2 && l->weight->dim[0] == 50 && l->weight->dim[1] == 100 && l->bias->len == 50);
    assert_null(bare->bias);
    double largest = 0;
    for (size_t i = 0; i < l->weight->len; i++) largest = kit_larger(largest, fabs((double)l->weight->data[i]));
    assert_true(largest <= 0.1 && largest > 0.0995);
    assert_string_equal(l->bias->path, "fc.bias");
    assert_true(gr_slot_find(net, "fc.bias")->no_decay && !gr_slot_find(net, "fc.weight")->no_decay);
    gr_module_free(net);
    gr_tape_free(t);
}

TEST(linear_is_x_times_w_transposed_plus_b)
{
    gr_tape *t = gr_tape_new(3, NULL);
    gr_module *net = gr_module_new(t);
    gr_linear_module *l = gr_linear_new(t, net, "fc", 2, 3, NULL);
    memcpy(l->weight->data, ((gr_real[]){ 1, 2, 3, 4, 5, 6 }), 6 * sizeof(gr_real));
    memcpy(l->bias->data, ((gr_real[]){ 10, 20, 30 }), 3 * sizeof(gr_real));
    gr_tensor *x = gr_input(t, (gr_real[]){ 1, 1, 2, -1 }, GR_SHAPE(1, 2, 2)), *y = gr_linear_forward(t, l, x);
    assert_values(y, 0, 13, 27, 41, 10, 22, 34);
    assert_int_equal(y->rank, 3);
    assert_same_bits(gr_forward(t, &l->module, x)->data, y->data, 6);
    assert_null(gr_linear_forward(t, NULL, x));
    assert_message(t, "linear: the module is NULL");
    gr_module_free(net);
    gr_tape_free(t);
}

static gr_tensor *linear_of(gr_tape *t, gr_tensor *const *in, void *with_bias)
{
    return gr_linear_forward(t, &(gr_linear_module){ .weight = in[1], .bias = with_bias ? in[2] : NULL }, in[0]);
}

/* ---- LayerNorm ---- */

/* The output layer of a language model: its weight is the table of the embedding. */
TEST(linear_shares_a_weight)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *m = gr_module_new(t), *other = gr_module_new(t);
    gr_embedding_module *token = gr_embedding_new(t, m, "token", 5, 3, NULL);
    gr_linear_module *head = gr_linear_new(t, m, "head", 3, 5, &(gr_linear_config){ .weight = token->weight });
    assert_ok(t);
    assert_ptr_equal(head->weight, token->weight);
    assert_int_equal(gr_module_parameters(m), 20); /* the weight counts once */
    assert_ptr_equal(gr_slot_find(m, "head.weight")->tied, gr_slot_find(m, "token.weight"));
    gr_backward(t, gr_sum(t, gr_linear_forward(t, head, gr_ones(t, GR_SHAPE(1, 3))), GR_ALL_AXES, false));
    assert_true(gr_grad(t, token->weight)[0] == 1);
    gr_tensor *const foreign = gr_linear_new(t, other, "fc", 3, 5, NULL)->weight;
    assert_fails(t, gr_linear_new(t, m, "wide", 4, 5, &(gr_linear_config){ .weight = token->weight }), "wide: the weight to share must be [5, 4]; got [5, 3]");
    assert_fails(t, gr_linear_new(t, m, "far", 3, 5, &(gr_linear_config){ .weight = foreign }),
                 "'weight' under far is to be tied to [5, 3], which is no parameter of this tree");
    assert_null(m->child->next->next); /* nothing is left behind */
    gr_module_free(m), gr_module_free(other);
    gr_tape_free(t);
}

TEST(layer_norm_starts_with_ones_and_zeros)
{
    gr_tape *t = gr_tape_new(3, NULL);
    gr_module *net = gr_module_new(t);
    gr_norm *l = gr_layer_norm_new(t, net, "ln", GR_SHAPE(3), NULL);
    gr_norm *plain = gr_layer_norm_new(t, net, "plain", GR_SHAPE(2, 2), &(gr_norm_config){ .no_affine = true, .eps = GR_NONE });
    gr_norm *gain = gr_layer_norm_new(t, net, "gain", GR_SHAPE(2, 2), &(gr_norm_config){ .no_bias = true, .eps = 0.5 });
    assert_ok(t);
    assert_values(l->weight, 0, 1, 1, 1);
    assert_values(l->bias, 0, 0, 0, 0);
    assert_true(l->eps == 1e-5 && plain->eps == 0 && gain->eps == 0.5);
    assert_true(!plain->weight && !plain->bias && gain->weight && !gain->bias);
    gr_tensor *x = gr_input(t, (gr_real[]){ 1, 3, 1, 3, 5, 5, 9, 9 }, GR_SHAPE(2, 2, 2));
    assert_values(gr_norm_forward(t, plain, x, NULL), 1e-6, -1, 1, -1, 1, -1, -1, 1, 1);
    assert_true(gr_slot_find(net, "gain.weight")->no_decay);
    assert_fails(t, gr_norm_forward(t, plain, gr_zeros(t, GR_SHAPE(2, 3)), NULL),
                 "layer_norm in plain: x is [2, 3], and its last axes must be [2, 2]");
    assert_fails(t, gr_layer_norm_new(t, net, "bad", GR_SCALAR, NULL), "bad: a LayerNorm has 1 to 8 axes; got []");
    assert_null(gr_layer_norm_new(t, net, "bad", GR_SHAPE(2), &(gr_norm_config){ .eps = -2 }));
    assert_message(t, "bad: eps must be 0 or more, or GR_NONE; got -2");
    assert_null(gr_slot_find(net, "bad.weight"));
    gr_tape_recover(t);
    assert_null(gr_norm_forward(t, NULL, x, NULL));
    assert_message(t, "norm: the module is NULL");
    gr_module_free(net);
    gr_tape_free(t);
}

static gr_tensor *layer_norm_of(gr_tape *t, gr_tensor *const *in, void *unused)
{
    (void)unused;
    gr_norm l = { .kind = GR_NORM_LAYER, .axis = -1, .shape = gr_shape_of(in[1]), .weight = in[1], .bias = in[2], .eps = 1e-5 };
    return gr_norm_forward(t, &l, in[0], NULL);
}

/* ---- Embedding, Dropout ---- */

TEST(embedding_gives_rows_and_keeps_its_padding)
{
    gr_tape *t = gr_tape_new(3, NULL);
    gr_module *net = gr_module_new(t);
    gr_embedding_module *e = gr_embedding_new(t, net, "e", 4, 2, &(gr_embedding_config){ .padded = true, .padding = 1 });
    gr_embedding_module *plain = gr_embedding_new(t, net, "plain", 400, 25, NULL);
    gr_tensor *y = gr_embedding_forward(t, e, gr_ints_new(t, (int[]){ 3, 1, 3 }, GR_SHAPE(3)));
    assert_ok(t);
    const gr_real *w = e->weight->data;
    assert_values(y, 0, w[6], w[7], 0, 0, w[6], w[7]);
    assert_true(gr_backward_from(t, y, (gr_real[]){ 1, 2, 3, 4, 5, 6 }));
    assert_close(gr_grad(t, e->weight), ((gr_real[]){ 0, 0, 0, 0, 0, 0, 6, 8 }), 8, 0);
    double square = 0;
    for (size_t i = 0; i < plain->weight->len; i++) square += (double)plain->weight->data[i] * (double)plain->weight->data[i];
    assert_true(fabs(square / 10000 - 1) < 0.05);
    gr_tape_reset(t);
    assert_fails(t, gr_embedding_new(t, net, "bad", 4, 2, &(gr_embedding_config){ .padded = true, .padding = 4 }),
                 "bad: padding must be 0 .. 3; got 4");
    assert_fails(t, gr_embedding_new(t, net, "bad", 4, 2, &(gr_embedding_config){ .padding = 3 }), "bad: padding is 3, but padded is false");
    assert_fails(t, gr_embedding_new(t, net, "bad", (size_t)1 << 31, 0, NULL),
                 "bad: an Embedding holds at most 2147483647 rows; got 2147483648");
    assert_null(gr_embedding_forward(t, NULL, NULL));
    assert_message(t, "embedding: the module is NULL");
    gr_module_free(net);
    gr_tape_free(t);
}

static gr_tensor *embedding_of(gr_tape *t, gr_tensor *const *in, void *unused)
{
    (void)unused;
    return gr_embedding_forward(t, &(gr_embedding_module){ .weight = in[0], .padding = GR_NONE }, gr_ints_new(t, (int[]){ 2, 0, 2, 1 }, GR_SHAPE(2, 2)));
}

TEST(dropout_draws_from_its_own_stream)
{
    gr_tape *t = gr_tape_new(3, NULL);
    gr_module *net = gr_module_new(t), *block = gr_sequential_new(t, net, "block");
    gr_dropout_module *d = gr_dropout_new(t, block, "drop", 0.25), *numbered = gr_dropout_new(t, block, NULL, 1);
    assert_string_equal(d->stream, "block.drop/mask");
    assert_string_equal(numbered->stream, "block.1/mask");
    gr_tensor *x = gr_ones(t, GR_SHAPE(10000)), *y = gr_dropout_forward(t, d, x), *again = gr_dropout_forward(t, d, x);
    size_t zeros = 0, moved = 0;
    for (size_t i = 0; i < 10000; i++) {
        assert_true(y->data[i] == 0 || fabs((double)y->data[i] - 1 / 0.75) < 1e-6);
        zeros += y->data[i] == 0, moved += y->data[i] != again->data[i];
    }
    assert_true(zeros > 2300 && zeros < 2700 && moved > 3000);
    const char *name;
    gr__tape_stream_at(t, 0, &name);
    assert_string_equal(name, "block.drop/mask");
    gr_tape_set_training(t, false);
    assert_same_bits(gr_forward(t, &d->module, x)->data, x->data, 10000);
    assert_fails(t, gr_dropout_new(t, net, "bad", 1.5), "bad: the probability must be in [0, 1]; got 1.5");
    assert_null(gr_dropout_new(t, net, "bad", (double)NAN));
    gr_tape_recover(t);
    assert_fails(t, gr_dropout_new(t, NULL, "bad", 0.5), "'bad' (Dropout): the parent is NULL");
    assert_null(gr_dropout_forward(t, NULL, x));
    assert_message(t, "dropout: the module is NULL");
    gr_module_free(net);
    gr_tape_free(t);
}

/* ---- Sequential ---- */

static gr_tensor *without_its_part(gr_tape *t, const gr_module *m, gr_tensor *x) { return (void)m, gr_linear_forward(t, NULL, x); }

TEST(sequential_calls_its_modules_in_order)
{
    gr_tape *t = gr_tape_new(3, NULL);
    gr_module *net = gr_module_new(t), *seq = gr_sequential_new(t, net, "net");
    gr_linear_module *first = gr_linear_new(t, seq, NULL, 2, 5, NULL);
    gr_activation_new(t, seq, NULL, "ReLU", gr_relu);
    gr_linear_module *last = gr_linear_new(t, seq, NULL, 5, 3, NULL);
    assert_ok(t);
    assert_string_equal(last->weight->path, "net.2.weight");
    gr_tensor *x = gr_input(t, (gr_real[]){ 1, -2, 3, 4 }, GR_SHAPE(2, 2));
    gr_tensor *y = gr_linear_forward(t, last, gr_relu(t, gr_linear_forward(t, first, x)));
    assert_same_bits(gr_forward(t, seq, x)->data, y->data, 6);
    assert_ptr_equal(gr_forward(t, gr_sequential_new(t, net, "empty"), x), x);
    assert_fails(t, gr_forward(t, net, x),
                 "forward: the root (Module) does not make one tensor from one tensor; call its own forward function");
    gr_embedding_new(t, seq, NULL, 2, 2, NULL);
    assert_fails(t, gr_forward(t, seq, gr_zeros(t, GR_SHAPE(2, 2))),
                 "forward: net.3 (Embedding) does not make one tensor from one tensor; call its own forward function");
    assert_fails(t, gr_activation_new(t, seq, NULL, "ReLU", NULL), "net.4 (ReLU): the function is NULL");
    gr_module *own = gr_module_make(t, net, "own", "Own", sizeof *own);
    own->forward = without_its_part;
    assert_fails(t, gr_forward(t, own, gr_zeros(t, GR_SHAPE(2, 2))), "linear in own: the module is NULL");
    assert_null(gr_forward(t, NULL, x));
    assert_message(t, "forward: the module is NULL");
    gr_module_free(net);
    gr_tape_free(t);
}

static void assert_prints(void (*print)(const gr_module *, FILE *), const gr_module *m, const char *want)
{
    char text[2000];
    FILE *f = tmpfile();
    print(m, f);
    rewind(f);
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    fclose(f);
    assert_string_equal(text, want);
}

TEST(activations_take_their_numbers)
{
    gr_tape *t = gr_tape_new(3, NULL);
    gr_module *net = gr_module_new(t), *seq = gr_sequential_new(t, net, "net");
    gr_activation_1_new(t, seq, NULL, "LeakyReLU", gr_leaky_relu, 0.25);
    gr_activation_2_new(t, seq, NULL, "Hardtanh", gr_hardtanh, -0.5, 2);
    gr_activation_axis_new(t, seq, NULL, "Softmax", gr_softmax, 0);
    assert_ok(t);
    gr_tensor *x = gr_input(t, (gr_real[]){ 1, -1, 3, 0.5, -4, 1 }, GR_SHAPE(2, 3));
    assert_same_bits(gr_forward(t, seq, x)->data, gr_softmax(t, gr_hardtanh(t, gr_leaky_relu(t, x, 0.25), -0.5, 2), 0)->data, 6);
    assert_prints(gr_print_summary, seq,
                  "module  kind        parameters  multiply-adds       bytes  tensors\n"
                  "net     Sequential           0              0           0\n"
                  "net.0   LeakyReLU            0              0           0\n"
                  "net.1   Hardtanh             0              0           0\n"
                  "net.2   Softmax              0              0           0\n"
                  "total                        0              0           0  multiply-adds are for one row of each module's input\n");
    assert_fails(t, gr_activation_1_new(t, seq, NULL, "ELU", NULL, 1), "net.3 (ELU): the function is NULL");
    assert_fails(t, gr_activation_2_new(t, seq, NULL, "Hardtanh", NULL, -1, 1), "net.3 (Hardtanh): the function is NULL");
    assert_fails(t, gr_activation_axis_new(t, seq, NULL, "Softmax", NULL, 1), "net.3 (Softmax): the function is NULL");
    gr_activation_axis_new(t, seq, NULL, "Softmax", gr_softmax, 5);
    assert_fails(t, gr_forward(t, seq, gr_zeros(t, GR_SHAPE(2, 3))), "softmax in net.3: x is [2, 3], so an axis must be in -2 .. 1; got 5");
    gr_module_free(net);
    gr_tape_free(t);
}

TEST(prelu_starts_as_pytorch_does_and_learns)
{
    gr_tape *t = gr_tape_new(3, NULL);
    gr_module *net = gr_module_new(t);
    gr_prelu_module *one = gr_prelu_new(t, net, "one", 1), *three = gr_prelu_new(t, net, "three", 3);
    assert_ok(t);
    assert_values(one->weight, 0, 0.25);
    assert_values(three->weight, 0, 0.25, 0.25, 0.25);
    assert_string_equal(three->module.kind, "PReLU");
    assert_true(gr_slot_find(net, "three.weight")->no_decay);
    gr_tensor *x = gr_input(t, (gr_real[]){ 1, -2, -4, -8, 3, 2 }, GR_SHAPE(2, 3)), *y = gr_forward(t, &three->module, gr_forward(t, &one->module, x));
    assert_values(y, 0, 1, -0.125, -0.25, -0.5, 3, 2);
    assert_true(gr_backward_from(t, y, (gr_real[]){ 1, 1, 1, 1, 1, 1 }));
    assert_close(gr_grad(t, three->weight), ((gr_real[]){ -2, -0.5, -1 }), 3, 0);
    assert_close(gr_grad(t, one->weight), ((gr_real[]){ -3.5 }), 1, 0);
    assert_fails(t, gr_forward(t, &three->module, gr_zeros(t, GR_SHAPE(2, 2))),
                 "prelu in three: weight must be [1], or [C] for an x of [N, C, ..]; got weight [3] and x [2, 2]");
    assert_fails(t, gr_prelu_new(t, net, "none", 0), "none: count must be 1 or more; got 0");
    gr_module_free(net);
    gr_tape_free(t);
}

TEST(gradients_match_finite_differences)
{
    const gr_gradcheck_input linear[] = { { .shape = GR_SHAPE(3, 17) }, { .shape = GR_SHAPE(5, 17) }, { .shape = GR_SHAPE(5) } };
    const gr_gradcheck_input deep[] = { { .shape = GR_SHAPE(2, 1, 3, 1) }, { .shape = GR_SHAPE(1, 1) }, { .shape = GR_SHAPE(1) } };
    const gr_gradcheck_input norm[] = { { .shape = GR_SHAPE(2, 3, 5) }, { .shape = GR_SHAPE(3, 5) }, { .shape = GR_SHAPE(3, 5) } };
    const gr_gradcheck_input table[] = { { .shape = GR_SHAPE(3, 7) } };
    int yes = 1;
    assert_true(test_gradcheck("Linear", linear_of, &yes, linear, 3, NULL, stderr));
    assert_true(test_gradcheck("Linear without bias", linear_of, NULL, linear, 2, NULL, stderr));
    assert_true(test_gradcheck("Linear of rank 4", linear_of, &yes, deep, 3, NULL, stderr));
    assert_true(test_gradcheck("LayerNorm", layer_norm_of, NULL, norm, 3, NULL, stderr));
    assert_true(test_gradcheck("Embedding", embedding_of, NULL, table, 1, NULL, stderr));
}

/* ---- Print ---- */

static gr_module *tied_net(gr_tape *t)
{
    gr_module *net = gr_module_new(t);
    gr_embedding_module *e = gr_embedding_new(t, net, "embedding", 10, 4, NULL);
    gr_linear_module *fc = gr_linear_new(t, net, "fc", 4, 10, NULL);
    gr_norm *ln = gr_layer_norm_new(t, net, "ln", GR_SHAPE(4), NULL);
    if (!e || !fc || !ln) return net;
    gr_tie(t, &ln->module, "tied", e->weight), gr_buffer(t, &ln->module, "mean", GR_SHAPE(2, 2), 0), gr_counter(t, &ln->module, "steps");
    gr_param_init(t, &fc->module, "weight", gr_init_kaiming_normal(2, GR_FAN_OUT));
    gr_param_init(t, &e->module, "weight", gr_init_orthogonal(1));
    gr_requires_grad(&fc->module, false);
    return net;
}

TEST(the_summary_shows_every_module)
{
    gr_tape *t = gr_tape_new(3, NULL);
    gr_module *net = tied_net(t);
    gr_detach_keep(t, net, "state", gr_zeros(t, GR_SHAPE(2)));
    assert_ok(t);
    const int n = (int)sizeof(gr_real);
    char want[2000];
    snprintf(want, sizeof want,
             "module     kind       parameters  multiply-adds       bytes  tensors\n"
             "(root)     Module              0              0           0  state [2] (kept)\n"
             "embedding  Embedding          40              0  %10d  weight [10, 4]\n"
             "fc         Linear             50             40  %10d  weight [10, 4] (frozen)  bias [10] (frozen)\n"
             "ln         LayerNorm           8              4  %10d  weight [4]  bias [4]  tied [10, 4] (tied to embedding.weight)  mean [2, 2] (buffer)  steps (counter)\n"
             "total                         98             44  %10d  multiply-adds are for one row of each module's input\n",
             40 * n, 50 * n, 12 * n + 8, 102 * n + 8);
    assert_prints(gr_print_summary, net, want);
    assert_prints(gr_print_summary, NULL, "NULL\n");
    assert_prints(gr_print_init, net,
                  "embedding.weight  [10, 4]  orthogonal, gain 1\n"
                  "fc.weight         [10, 4]  Kaiming normal, gain 2, fan out\n"
                  "fc.bias           [10]  uniform in [-0.5, 0.5)\n"
                  "ln.weight         [4]  constant 1\n"
                  "ln.bias           [4]  constant 0\n"
                  "ln.tied           [10, 4]  tied to embedding.weight\n");
    gr_module_free(net);
    gr_tape_free(t);
}

/* ---- Failures ---- */

static bool build_and_run(gr_tape *t, void *unused)
{
    (void)unused;
    gr_module *net = tied_net(t), *seq = gr_sequential_new(t, net, "seq");
    gr_linear_new(t, seq, NULL, 3, 4, NULL), gr_activation_new(t, seq, NULL, "Tanh", gr_tanh), gr_dropout_new(t, seq, NULL, 0.5);
    gr_prelu_new(t, seq, NULL, 4), gr_activation_1_new(t, seq, NULL, "ELU", gr_elu, 1), gr_linear_new(t, seq, NULL, 4, 1, NULL);
    const bool well = gr_backward(t, gr_sum(t, gr_forward(t, seq, gr_ones(t, GR_SHAPE(5, 3))), GR_ALL_AXES, false));
    for (gr_module *m = net; m; m = gr_module_next(net, m)) /* no half-built module is left */
        if (!strcmp(m->kind, "Linear")) assert_true(((gr_linear_module *)m)->weight && ((gr_linear_module *)m)->bias);
    gr_module_free(net);
    return well;
}
TEST(every_allocation_may_fail)
{
    fail_every_allocation(build_and_run, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(linear_starts_as_pytorch_does),
        cmocka_unit_test(linear_is_x_times_w_transposed_plus_b),
        cmocka_unit_test(linear_shares_a_weight),
        cmocka_unit_test(layer_norm_starts_with_ones_and_zeros),
        cmocka_unit_test(embedding_gives_rows_and_keeps_its_padding),
        cmocka_unit_test(dropout_draws_from_its_own_stream),
        cmocka_unit_test(sequential_calls_its_modules_in_order),
        cmocka_unit_test(activations_take_their_numbers),
        cmocka_unit_test(prelu_starts_as_pytorch_does_and_learns),
        cmocka_unit_test(gradients_match_finite_differences),
        cmocka_unit_test(the_summary_shows_every_module),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
