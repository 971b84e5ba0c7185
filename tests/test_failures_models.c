/* tests/test_failures_models.c - training steps of every architecture, with every allocation failed in turn: once, and from then on for
 * ever. What failed is an error; after gr_tape_recover a retry ends with the same weights, running statistics and streams as if nothing
 * had happened. test_failures.c has the LSTM, with files and threads. */
#include "tests/failing.h"

enum { B = 6, T = 5, C = 8, CLASSES = 3, STEPS = 2 };

/* A model makes its modules under net; forward gives logits [B, CLASSES] of x, of the shape that it says. */
typedef struct {
    const char *name;
    gr_shape x;
    void *(*build)(gr_tape *t, gr_module *net);
    gr_tensor *(*forward)(gr_tape *t, void *body, gr_tensor *x);
} model;

static gr_tensor *through(gr_tape *t, void *body, gr_tensor *x) { return gr_forward(t, body, x); }
static const gr_ints *lengths(gr_tape *t) { return gr_ints_new(t, (int[B]){ T, 1, 3, T, 2, 4 }, GR_SHAPE(B)); }

static void *build_mlp(gr_tape *t, gr_module *net)
{
    gr_module *const m = gr_sequential_new(t, net, "mlp");
    gr_linear_new(t, m, NULL, C, 9, NULL);
    gr_norm_new(t, m, NULL, GR_NORM_BATCH, 9, NULL);
    gr_activation_new(t, m, NULL, "ReLU", gr_relu);
    gr_dropout_new(t, m, NULL, 0.25);
    gr_linear_new(t, m, NULL, 9, 7, NULL);
    gr_norm_new(t, m, NULL, GR_NORM_LAYER, 7, NULL);
    gr_linear_new(t, m, NULL, 7, 6, NULL);
    gr_norm_new(t, m, NULL, GR_NORM_RMS, 6, NULL);
    gr_linear_new(t, m, NULL, 6, CLASSES, NULL);
    return m;
}

static void *build_cnn(gr_tape *t, gr_module *net)
{
    gr_module *const m = gr_sequential_new(t, net, "cnn");
    const gr_norm_config first = { .channels_first = true };
    gr_conv2d_new(t, m, NULL, 1, 4, 3, &(gr_conv_config){ .padding = 1 });
    gr_norm_new(t, m, NULL, GR_NORM_BATCH, 4, &first);
    gr_activation_new(t, m, NULL, "ReLU", gr_relu);
    gr_max_pool2d_new(t, m, NULL, &(gr_pool_config){ .kernel = 2 });
    gr_conv2d_new(t, m, NULL, 4, 4, 3, NULL);
    gr_norm_new(t, m, NULL, GR_NORM_GROUP, 4, &first);
    gr_adaptive_avg_pool2d_new(t, m, NULL, 1, 1);
    gr_flatten_new(t, m, NULL);
    gr_linear_new(t, m, NULL, 4, CLASSES, NULL);
    return m;
}

static void *build_lstm(gr_tape *t, gr_module *net)
{
    return gr_lstm_new(t, net, "lstm", C, CLASSES, &(gr_lstm_config){ .norm = GR_LSTM_BN, .bn_steps = T, .batch_first = true });
}
static void *build_gru(gr_tape *t, gr_module *net)
{
    return gr_gru_new(t, net, "gru", C, CLASSES,
                      &(gr_gru_config){ .norm = GR_GRU_LN_X | GR_GRU_LN_H, .layers = 2, .dropout = 0.5, .batch_first = true });
}
static gr_tensor *last_of_lstm(gr_tape *t, void *body, gr_tensor *x)
{
    return gr_select(t, gr_lstm_forward(t, body, x, &(gr_lstm_input){ .lengths = lengths(t) }).h, 0, -1);
}
static gr_tensor *last_of_gru(gr_tape *t, void *body, gr_tensor *x)
{
    return gr_select(t, gr_gru_forward(t, body, x, &(gr_recurrent_input){ .lengths = lengths(t) }).h, 0, -1);
}

static void *build_pre_norm(gr_tape *t, gr_module *net)
{
    const gr_transformer_config config = {
        .feedforward = 9, .activation = gr_gelu, .norm_first = true, .causal = true, .final_norm = true, .dropout = 0.25
    };
    return gr_transformer_new(t, net, "body", C, 2, 2, &config);
}
static void *build_post_norm(gr_tape *t, gr_module *net)
{
    return gr_transformer_new(t, net, "body", C, 2, 2, &(gr_transformer_config){ .feedforward = 9, .norm = GR_NORM_BATCH });
}
static gr_tensor *first_position(gr_tape *t, void *body, gr_tensor *x)
{
    gr_tensor *const y = gr_transformer_forward(t, body, gr_add_positions(t, x), &(gr_attention_input){ .lengths = lengths(t) });
    return gr_narrow(t, gr_select(t, y, 1, 0), -1, 0, CLASSES);
}

static const model models[] = {
    { "MLP: BatchNorm, dropout, LayerNorm, RMSNorm", { 2, { B, C } }, build_mlp, through },
    { "CNN: BatchNorm, GroupNorm", { 4, { B, 1, 8, 8 } }, build_cnn, through },
    { "LSTM: recurrent BatchNorm, lengths", { 3, { B, T, C } }, build_lstm, last_of_lstm },
    { "GRU: two layers, LayerNorm, dropout, lengths", { 3, { B, T, C } }, build_gru, last_of_gru },
    { "Transformer: causal, pre-norm, dropout, lengths", { 3, { B, T, C } }, build_pre_norm, first_position },
    { "Transformer: post-norm, BatchNorm, lengths", { 3, { B, T, C } }, build_post_norm, first_position },
};

/* ---- Training it ---- */

typedef struct {
    const model *m;
    gr_tape *t;
    gr_module *net;
    void *body;
    gr_optim *adam;
} run;

static bool build(run *r)
{
    r->net = gr_module_new(r->t);
    r->body = r->m->build(r->t, r->net);
    r->adam = gr_adam_new(r->t, r->net, &(gr_adam_config){ .lr = 0.01 });
    if (!gr_failed(r->t)) return true;
    gr_optim_free(r->adam), gr_module_free(r->net);
    r->adam = NULL, r->net = NULL;
    return false;
}

static bool step(run *r)
{
    gr_tape *const t = r->t;
    gr_tape_reset(t);
    gr_tensor *const z = r->m->forward(t, r->body, gr_randn(t, r->m->x, 0, 1, "data"));
    gr_tensor *const loss = gr_cross_entropy(t, z, gr_ints_new(t, (int[B]){ 0, 1, 2, 0, 1, 2 }, GR_SHAPE(B)), NULL);
    gr_optim_zero_grad(r->adam);
    gr_backward(t, loss);
    gr_clip_grad_norm(t, r->adam, 1);
    return gr_optim_step(t, r->adam);
}

static uint64_t fingerprint(const run *r)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (const gr_slot *s = gr_slot_first(r->net); s; s = gr_slot_next(r->net, s))
        if (s->tensor) hash = hash_reals(hash, s->tensor->data, s->tensor->len);
        else hash = (hash ^ (uint64_t)s->count) * 0x100000001b3u;
    return hash;
}

/* With allocation `at` failing, or all from there on until the first that failed has been seen. What fails is tried once more. Returns how
 * many allocations there were. */
static size_t train(const model *m, size_t at, bool for_ever, uint64_t *hash)
{
    failing_memory memory = { .fail_at = at, .for_ever = for_ever };
    const gr_tape_config config = { .threads = 2, .allocator = &(gr_allocator){ failing_alloc, failing_release, &memory } };
    run r = { .m = m, .t = gr_tape_new_with(3, &config) };
    if (gr_failed(r.t)) gr_tape_free(r.t), memory.fail_at = 0, r.t = gr_tape_new_with(3, &config);
    for (int i = 0; i <= STEPS; i++) {
        bool (*const stage)(run *) = i ? step : build;
        if (stage(&r)) continue;
        if (!at) fail_msg("%s: %s", m->name, gr_message(r.t));
        assert_int_equal(gr_error_code(r.t), GR_NO_MEMORY);
        if (for_ever) memory.fail_at = 0;
        gr_tape_recover(r.t);
        if (!stage(&r)) fail_msg("%s, allocation %zu, again: %s", m->name, at, gr_message(r.t));
    }
    *hash = fingerprint(&r);
    gr_optim_free(r.adam), gr_module_free(r.net), gr_tape_free(r.t);
    assert_int_equal(memory.live, 0);
    return memory.calls;
}

static void a_step_that_failed_leaves_no_trace(void **state)
{
    (void)state;
    for (size_t k = 0; k < COUNT(models); k++) {
        uint64_t want, got;
        const size_t calls = train(&models[k], 0, false, &want);
        assert_true(calls > 20);
        for (size_t at = 1; at <= calls; at++)
            for (int for_ever = 0; for_ever < 2; for_ever++) {
                train(&models[k], at, for_ever, &got);
                if (got != want)
                    fail_msg("%s: allocation %zu%s failed, and other bits came out", models[k].name, at, for_ever ? " and on" : "");
            }
        print_message("%s: %zu allocations failed in turn\n", models[k].name, calls);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(a_step_that_failed_leaves_no_trace) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
