/* tests/test_transformer.c - multi-head attention, Transformer layers and stacks of encoders and decoders against PyTorch: values, gradients, its state_dict, three
 * training steps. Recorded in float64 by tests/golden/record_transformer.py; inputs are exact in float. */
#define FAILING_FILES
#include "tests/failing.h"

static gr_safetensors *golden;
static gr_tape *tape;
static const double tolerance = sizeof(gr_real) == 8 ? 1e-12 : 1e-5;

static const gr_safetensors_entry *find(const char *name, const char *what, const char *key)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s%s", name, what, key);
    return gr_safetensors_find(golden, path);
}
static gr_tensor *tensor_of(const char *name, const char *what, const char *key)
{
    const gr_safetensors_entry *e = find(name, what, key);
    gr_tensor *x = e ? gr_empty(tape, e->shape) : NULL;
    if (x) gr_safetensors_reals(e, x->data);
    return x;
}
static gr_ints *ints_of(const char *name, const char *what)
{
    const gr_safetensors_entry *e = find(name, what, "");
    gr_ints *x = e ? gr_ints_new(tape, NULL, e->shape) : NULL;
    int64_t wide[64];
    if (!x || e->len > COUNT(wide)) return NULL;
    gr_safetensors_integers(e, wide);
    for (size_t i = 0; i < e->len; i++) x->data[i] = (int)wide[i];
    return x;
}

/* Load the file's state_dict into m. The names in the file and in m must be the same. */
static void fill(const char *name, const char *what, const gr_module *m)
{
    for (const gr_slot *s = gr_slot_first(m); s; s = gr_slot_next(m, s)) {
        const gr_tensor *from = tensor_of(name, what, s->path + (strncmp(s->path, "m.", 2) ? 0 : 2));
        if (!from) fail_msg("%s: the file has no %s", name, s->path);
        assert_true(gr_same_shape(from, s->tensor));
        memcpy(s->tensor->data, from->data, from->len * sizeof(gr_real));
    }
}

enum { E = 8, HEADS = 2, FF = 12 };

/* ---- Values and gradients ---- */

typedef gr_tensor *case_function(gr_module *m, gr_tensor *x, gr_tensor *memory, const gr_attention_input *input);

static void compare_case(const char *name, gr_module *root, gr_module *m, case_function *call)
{
    assert_ok(tape);
    assert_non_null(m);
    fill(name, "p/", root);
    gr_tensor *x = gr_want_grad(tape, tensor_of(name, "x", "")), *memory = tensor_of(name, "memory", ""), *dy = tensor_of(name, "dy", "");
    if (memory) gr_want_grad(tape, memory);
    gr_tensor *y = call(m, x, memory, &(gr_attention_input){ .lengths = ints_of(name, "lengths"), .memory_lengths = ints_of(name, "memory_lengths"),
                                                             .memory_mask = tensor_of(name, "memory_mask", "") });
    assert_ok(tape);
    print_message("%s\n", name);
    assert_tensors_close(y, tensor_of(name, "y", ""), tolerance);
    assert_true(gr_backward_from(tape, y, dy->data));
    assert_close(gr_grad(tape, x), tensor_of(name, "dx", "")->data, x->len, tolerance);
    if (memory) assert_close(gr_grad(tape, memory), tensor_of(name, "dmemory", "")->data, memory->len, tolerance);
    for (const gr_slot *s = gr_slot_first(root); s; s = gr_slot_next(root, s)) {
        const gr_tensor *want = tensor_of(name, "g/", s->path + 2);
        assert_close(gr_grad(tape, s->tensor), want->data, want->len, tolerance);
    }
    gr_module_free(root);
    gr_tape_reset(tape);
}

static gr_tensor *call_attention(gr_module *m, gr_tensor *x, gr_tensor *memory, const gr_attention_input *input)
{
    return gr_multihead_attention_forward(tape, (gr_multihead_attention *)m, x, memory, NULL, input);
}
static gr_tensor *call_layer(gr_module *m, gr_tensor *x, gr_tensor *memory, const gr_attention_input *input)
{
    gr_attention_input in = *input;
    in.memory = memory;
    return gr_transformer_layer_forward(tape, (gr_transformer_layer *)m, x, &in);
}
static gr_tensor *call_stack(gr_module *m, gr_tensor *x, gr_tensor *memory, const gr_attention_input *input)
{
    gr_attention_input in = *input;
    in.memory = memory;
    return gr_transformer_forward(tape, (gr_transformer *)m, x, &in);
}
static gr_tensor *call_any(gr_module *m, gr_tensor *x, gr_tensor *memory, const gr_attention_input *input)
{
    (void)memory, (void)input;
    return gr_forward(tape, m, x);
}

TEST(multihead_attention_agrees)
{
    const struct { const char *name; gr_multihead_attention_config c; } cases[] = {
        { "mha", { 0 } }, { "mha_causal", { .no_bias = true, .causal = true } }, { "mha_padded", { 0 } }, { "mha_cross", { 0 } }
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        gr_module *root = gr_module_new(tape);
        gr_multihead_attention *m = gr_multihead_attention_new(tape, root, "m", E, HEADS, &cases[i].c);
        compare_case(cases[i].name, root, &m->module, call_attention);
    }
}

TEST(layers_agree)
{
    const struct { const char *name; gr_transformer_config c; } cases[] = {
        { "layer_post_relu", { FF } },
        { "layer_post_gelu", { FF, .activation = gr_gelu } },
        { "layer_post_masked", { FF, .causal = true } },
        { "layer_pre_relu", { FF, .norm_first = true, .norm = GR_NORM_LAYER } },
        { "layer_pre_gelu", { FF, .norm_first = true, .activation = gr_gelu } },
        { "layer_pre_masked", { FF, .norm_first = true, .causal = true } },
        { "decoder_post", { FF, .decoder = true, .causal = true, .activation = gr_gelu } },
        { "decoder_post_masked", { FF, .decoder = true } },
        { "decoder_pre", { FF, .decoder = true, .norm_first = true, .causal = true, .activation = gr_gelu } },
        { "decoder_pre_masked", { FF, .decoder = true, .norm_first = true } },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        gr_module *root = gr_module_new(tape);
        gr_transformer_layer *l = gr_transformer_layer_new(tape, root, "m", E, HEADS, &cases[i].c);
        compare_case(cases[i].name, root, &l->module, call_layer);
    }
}

static const gr_transformer_config stack = { FF, .norm_first = true, .causal = true, .activation = gr_gelu, .final_norm = true };

TEST(stacks_agree)
{
    gr_module *root = gr_module_new(tape);
    compare_case("stack", root, &gr_transformer_new(tape, root, "m", E, HEADS, 2, &stack)->module, call_any);
    const gr_transformer_config decoder = { FF, .decoder = true, .norm_first = true, .causal = true, .final_norm = true };
    root = gr_module_new(tape);
    compare_case("decoder_stack", root, &gr_transformer_new(tape, root, "m", E, HEADS, 2, &decoder)->module, call_stack);
}

/* ---- state_dict: PyTorch's file is read without changes, and writing it again gives the same bytes ---- */

TEST(the_state_dict_of_pytorch_loads)
{
    gr_module *root = gr_module_new(tape);
    gr_transformer *m = gr_transformer_new(tape, root, "m", E, HEADS, 2, &stack);
    assert_true(gr_state_load(tape, &m->module, "tests/golden/transformer_state.safetensors", NULL));
    gr_tensor *x = tensor_of("stack", "x", "");
    assert_tensors_close(gr_transformer_forward(tape, m, x, NULL), tensor_of("stack", "y", ""), tolerance);
    assert_true(gr_state_save(tape, &m->module, in_folder("state"), NULL));
    gr_safetensors *a = gr_safetensors_open(tape, "tests/golden/transformer_state.safetensors"), *b = gr_safetensors_open(tape, in_folder("state"));
    assert_ok(tape);
    for (const gr_slot *s = gr_slot_first(&m->module); s; s = gr_slot_next(&m->module, s)) {
        const gr_safetensors_entry *theirs = gr_safetensors_find(a, s->path + 2), *ours = gr_safetensors_find(b, s->path + 2);
        assert_true(theirs && ours && theirs->len == ours->len && theirs->shape.rank == ours->shape.rank);
        if (sizeof(gr_real) == sizeof(float)) assert_memory_equal(theirs->data, ours->data, ours->bytes);
    }
    gr_safetensors_free(a), gr_safetensors_free(b);
    unlink(in_folder("state"));
    gr_module_free(root);
    gr_tape_reset(tape);
}

/* ---- Three steps of Adam on a causal character model ---- */

TEST(three_training_steps_agree)
{
    enum { STEPS = 3, B = 3, T = 5, V = 7 };
    gr_module *net = gr_module_new(tape);
    gr_embedding_module *token = gr_embedding_new(tape, net, "token", V, E, NULL);
    gr_positions *position = gr_positions_new(tape, net, "position", T, E);
    gr_transformer *body = gr_transformer_new(tape, net, "body", E, HEADS, 2, &stack);
    gr_linear_module *head = gr_linear_new(tape, net, "head", E, V, NULL);
    gr_optim *adam = gr_adam_new(tape, net, &(gr_adam_config){ .lr = 0.01 });
    assert_ok(tape);
    fill("train", "p/", net);
    for (int step = 0; step < STEPS; step++) {
        int in[B * T], next[B * T];
        gr_tape_reset(tape);
        const gr_ints *ids = ints_of("train", "ids");
        assert_non_null(ids);
        for (int i = 0; i < B * T; i++) {
            const int *at = ids->data + (step * B + i / T) * (T + 1) + i % T;
            in[i] = at[0], next[i] = at[1];
        }
        gr_tensor *x = gr_positions_forward(tape, position, gr_embedding_forward(tape, token, gr_ints_new(tape, in, GR_SHAPE(B, T))));
        gr_tensor *z = gr_reshape(tape, gr_linear_forward(tape, head, gr_transformer_forward(tape, body, x, NULL)), GR_SHAPE(B * T, V));
        gr_tensor *loss = gr_cross_entropy(tape, z, gr_ints_new(tape, next, GR_SHAPE(B * T)), NULL);
        gr_optim_zero_grad(adam);
        assert_true(gr_backward(tape, loss) && gr_optim_step(tape, adam));
        assert_close(loss->data, tensor_of("train", "loss", "")->data + step, 1, sizeof(gr_real) == 8 ? 1e-9 : 1e-5);
    }
    for (const gr_slot *s = gr_slot_first(net); s; s = gr_slot_next(net, s)) {
        const gr_tensor *want = tensor_of("train", "after/", s->path);
        const size_t keys = strstr(s->path, "in_proj_bias") && sizeof(gr_real) == 4 ? E : 0; /* its gradient is only rounding, from which Adam makes full steps */
        assert_close(s->tensor->data + 2 * keys, want->data + 2 * keys, want->len - 2 * keys, sizeof(gr_real) == 8 ? 1e-7 : 1e-4);
    }
    gr_optim_free(adam), gr_module_free(net);
    gr_tape_reset(tape);
}

FIXTURE(open_golden)
{
    tape = gr_tape_new(1, NULL);
    golden = gr_safetensors_open(tape, "tests/golden/transformer.safetensors");
    if (!golden) print_error("%s\n", gr_message(tape));
    return !golden || make_folder(state);
}
FIXTURE(close_golden)
{
    gr_safetensors_free(golden);
    gr_tape_free(tape);
    return remove_folder(state);
}

TEST(a_memory_that_does_not_fit_is_named)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *net = gr_module_new(t);
    gr_transformer_layer *d = gr_transformer_layer_new(t, net, "d", 6, 2, &(gr_transformer_config){ .decoder = true });
    const struct { gr_shape memory; int lengths[3]; size_t n; const char *message; } c[] = {
        { { 2, { 2, 5 } }, { 0 }, 0, "transformer in d: x is [2, 2, 6], so memory must be [2, T, 6]; got [2, 5]" },
        { { 3, { 3, 4, 6 } }, { 0 }, 0, "transformer in d: x is [2, 2, 6], so memory must be [2, T, 6]; got [3, 4, 6]" },
        { { 3, { 2, 4, 6 } }, { 4, 5 }, 2, "transformer in d: memory is [2, 4, 6], so memory_lengths[1] must be in 0 .. 4; got 5" },
        { { 3, { 2, 4, 6 } }, { 0 }, 3, "transformer in d: memory is [2, 4, 6], so memory_lengths must be [2]; got [3]" },
    };
    for (size_t k = 0; k < COUNT(c); k++) {
        const gr_ints *const lengths = c[k].n ? gr_ints_new(t, c[k].lengths, GR_SHAPE(c[k].n)) : NULL;
        const gr_attention_input in = { .memory = gr_zeros(t, c[k].memory), .memory_lengths = lengths };
        assert_fails(t, gr_transformer_layer_forward(t, d, gr_zeros(t, GR_SHAPE(2, 2, 6)), &in), c[k].message);
    }
    gr_module_free(net), gr_tape_free(t);
}

/* ---- Gradients inside a stack ---- */

static gr_tensor *seen;
static bool wanted;
static gr_tensor *watched_gelu(gr_tape *t, gr_tensor *x)
{
    seen = wanted ? gr_want_grad(t, x) : x;
    gr_tensor *const y = gr_gelu(t, x);
    if (wanted) gr_want_grad(t, y);
    return y;
}

TEST(a_stack_keeps_only_the_inner_gradients_that_are_wanted)
{
    enum { ROWS = 160, D = 16, F = 4 * D, LAYERS = 4 };
    gr_real dx[2][ROWS * D];
    for (int k = 0; k < 2; k++) {
        /* the values take 21 times x in each layer, and all gradients would take 18 times x */
        gr_tape *t = gr_tape_new(1, &(gr_tape_config){ .max_bytes = k ? 0 : 30 * LAYERS * sizeof *dx });
        gr_module *net = gr_module_new(t);
        const gr_transformer_config c = { .norm_first = true, .activation = watched_gelu };
        gr_transformer *m = gr_transformer_new(t, net, "m", D, 2, LAYERS, &c);
        gr_tensor *x = gr_want_grad(t, gr_randn(t, GR_SHAPE(8, ROWS / 8, D), 0, 1, "x"));
        wanted = k;
        gr_tensor *y = gr_transformer_forward(t, m, x, NULL);
        assert_true(y && gr_backward_from(t, y, y->data));
        memcpy(dx[k], gr_grad(t, x), sizeof dx[k]);
        const gr_real *const dh = gr_grad(t, seen), *const db = gr_grad(t, gr_slot_find(net, "m.layers.3.linear1.bias")->tensor);
        assert_true(gr_grad(t, y) && db && (k ? dh != NULL : dh == NULL));
        for (size_t j = 0; j < F && dh; j++) {
            double sum = 0;
            for (size_t i = 0; i < ROWS; i++) sum += (double)dh[i * F + j];
            assert_true(fabs(sum - (double)db[j]) < 1e-4);
        }
        gr_module_free(net), gr_tape_free(t);
    }
    assert_same_bits(dx[0], dx[1], ROWS * D);
}

static void twice_backward(gr_tape *t, const gr_node *n)
{
    gr_real *const dx = gr_grad(t, n->in[0]);
    for (size_t i = 0; dx && i < n->in[0]->len; i++) dx[i] *= 2;
}
static gr_tensor *twice_in_place(gr_tape *t, gr_tensor *x)
{
    static const gr_op twice = { .name = "twice", .backward = twice_backward };
    for (size_t i = 0; x && i < x->len; i++) x->data[i] *= 2;
    return gr_record(t, &twice, NULL, 0, GR_OUT(x), GR_IN(x));
}
static gr_tensor *twice(gr_tape *t, gr_tensor *x) { return gr_add(t, x, x); }

TEST(an_activation_may_work_in_place)
{
    gr_real dx[2][6 * 8];
    for (int k = 0; k < 2; k++) {
        gr_tape *t = gr_tape_new(1, NULL);
        gr_module *net = gr_module_new(t);
        gr_transformer *m = gr_transformer_new(t, net, "m", 8, 2, 2, &(gr_transformer_config){ .activation = k ? twice : twice_in_place });
        gr_tensor *x = gr_want_grad(t, gr_randn(t, GR_SHAPE(2, 3, 8), 0, 1, "x")), *y = gr_transformer_forward(t, m, x, NULL);
        assert_true(y && gr_backward_from(t, y, x->data));
        memcpy(dx[k], gr_grad(t, x), sizeof dx[k]);
        gr_module_free(net), gr_tape_free(t);
    }
    assert_same_bits(dx[0], dx[1], 6 * 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stack_keeps_only_the_inner_gradients_that_are_wanted),
        cmocka_unit_test(an_activation_may_work_in_place),
        cmocka_unit_test(a_memory_that_does_not_fit_is_named),
        cmocka_unit_test(multihead_attention_agrees),
        cmocka_unit_test(layers_agree),
        cmocka_unit_test(stacks_agree),
        cmocka_unit_test(the_state_dict_of_pytorch_loads),
        cmocka_unit_test(three_training_steps_agree),
    };
    return cmocka_run_group_tests(tests, open_golden, close_golden);
}
