/* tests/models.h - small training programs of every architecture, divided into stages. A failed allocation makes one stage fail with an
 * error. After gr_tape_recover the stage is run again, and the program must end with the same weights, running statistics and streams as if
 * nothing had happened. Nothing may leak. test_failures_models.c runs some of the models, tests/campaign/allocations.c all. */
#ifndef GR_MODELS_H
#define GR_MODELS_H
#include "core/library.h"
#include "tests/failing.h"

enum { B = 6, T = 5, C = 8, CLASSES = 3, MOST_STAGES = 8 };

/* build makes the modules of a model under net; forward returns the logits [B, CLASSES] of an input of shape x. */
typedef struct run run;
typedef bool stage(run *r);
typedef struct {
    const char *name;
    gr_shape x;
    void *(*build)(gr_tape *t, gr_module *net, unsigned variant);
    gr_tensor *(*forward)(gr_tape *t, void *body, gr_tensor *x);
    unsigned variant;                                                           /* for build */
    gr_optim *(*optim)(gr_tape *t, gr_module *net);                             /* default Adam */
    stage *stages[MOST_STAGES];                                                 /* run after the build; default two training steps */
} model;

struct run {
    const model *m;
    gr_tape *t;
    gr_module *net;
    void *body;
    gr_optim *optim;
};

static inline bool models_build(run *r)
{
    r->net = gr_module_new(r->t);
    r->body = r->m->build(r->t, r->net, r->m->variant);
    r->optim = r->m->optim ? r->m->optim(r->t, r->net) : gr_adam_new(r->t, r->net, &(gr_adam_config){ .lr = 0.01 });
    if (!gr_failed(r->t)) return true;
    gr_optim_free(r->optim), gr_module_free(r->net);
    r->optim = NULL, r->net = NULL;
    return false;
}

static inline bool models_step(run *r)
{
    gr_tape *const t = r->t;
    gr_tape_reset(t);
    gr_tensor *const z = r->m->forward(t, r->body, gr_randn(t, r->m->x, 0, 1, "data"));
    gr_tensor *const loss = gr_cross_entropy(t, z, gr_ints_new(t, (int[B]){ 0, 1, 2, 0, 1, 2 }, GR_SHAPE(B)), NULL);
    gr_optim_zero_grad(r->optim);
    gr_backward(t, loss);
    gr_clip_grad_norm(t, r->optim, 1);
    return gr_optim_step(t, r->optim);
}

static inline uint64_t models_fingerprint(const run *r)
{
    uint64_t hash = 0xcbf29ce484222325u;
    const gr_stream *stream;
    for (const gr_slot *s = gr_slot_first(r->net); s; s = gr_slot_next(r->net, s))
        if (s->tensor) hash = hash_reals(hash, s->tensor->data, s->tensor->len);
        else hash = (hash ^ (uint64_t)s->count) * 0x100000001b3u;
    for (size_t i = 0; (stream = gr__tape_stream_at(r->t, i, NULL)); i++) hash = hash + (stream->key ^ stream->counter) * (stream->counter ? 3 : 0);
    return hash;
}

/* Train m while allocation `at` fails. With for_ever all later allocations fail too, until a stage has reported the error. A stage that
 * fails is run once more. Returns the number of allocations. */
static inline size_t models_train(const model *m, size_t at, bool for_ever, uint64_t *hash)
{
    failing_memory memory = { .fail_at = at, .for_ever = for_ever };
    const gr_tape_config config = { .threads = 2, .allocator = &(gr_allocator){ failing_alloc, failing_release, &memory } };
    run r = { .m = m, .t = gr_tape_new(3, &config) };
    if (gr_failed(r.t)) gr_tape_free(r.t), memory.fail_at = 0, r.t = gr_tape_new(3, &config);
    for (int i = -1; i < MOST_STAGES; i++) {
        stage *const now = i < 0 ? models_build : m->stages[0] ? m->stages[i] : i < 2 ? models_step : NULL;
        if (!now) break;
        if (now(&r)) continue;
        if (!at) fail_msg("%s: %s", m->name, gr_message(r.t));
        if (gr_error_code(r.t) != GR_NO_MEMORY) fail_msg("%s, allocation %zu, stage %d: %s", m->name, at, i + 1, gr_message(r.t));
        if (for_ever) memory.fail_at = 0;
        gr_tape_recover(r.t);
        if (!now(&r)) fail_msg("%s, allocation %zu, stage %d, again: %s", m->name, at, i + 1, gr_message(r.t));
    }
    *hash = models_fingerprint(&r);
    gr_optim_free(r.optim), gr_module_free(r.net), gr_tape_free(r.t);
    if (memory.live) fail_msg("%s, allocation %zu: %zu pieces of memory are leaked", m->name, at, memory.live);
    return memory.calls;
}

/* Fail every allocation of m in turn, alone and with all later ones. Returns the number of allocations. */
static inline size_t models_fail_all(const model *m)
{
    uint64_t want, got;
    const size_t calls = models_train(m, 0, false, &want);
    assert_true(calls > 20);
    for (size_t at = 1; at <= calls; at++)
        for (int for_ever = 0; for_ever < 2; for_ever++) {
            models_train(m, at, for_ever, &got);
            if (got != want) fail_msg("%s: after allocation %zu%s failed, the retry gave other bits", m->name, at, for_ever ? " and on" : "");
        }
    print_message("%s: %zu allocations failed in turn\n", m->name, calls);
    return calls;
}

/* ---- The models ---- */

static inline gr_tensor *models_through(gr_tape *t, void *body, gr_tensor *x) { return gr_forward(t, body, x); }
static inline void models_segment(gr_tape *t, gr_tensor *const *in, gr_tensor **out, void *argument) { out[0] = models_through(t, argument, in[0]); }
static inline gr_tensor *models_again(gr_tape *t, void *body, gr_tensor *x)
{
    gr_tensor *y = NULL;
    gr_recompute(t, models_segment, body, 0, GR_IN(x), &y, 1);
    return y;
}
static inline const gr_ints *models_lengths(gr_tape *t) { return gr_ints_new(t, (int[B]){ T, 1, 3, T, 2, 4 }, GR_SHAPE(B)); }

static inline void *models_mlp(gr_tape *t, gr_module *net, unsigned variant)
{
    (void)variant;
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

static inline void *models_cnn(gr_tape *t, gr_module *net, unsigned variant)
{
    (void)variant;
    gr_module *const m = gr_sequential_new(t, net, "cnn");
    const gr_norm_config first = { .axis = 1 };
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

/* variant is the set of norms. */
static inline void *models_lstm(gr_tape *t, gr_module *net, unsigned variant)
{
    const gr_lstm_config config = { .norm = variant, .bn_steps = variant == GR_LSTM_BN ? T : 0, .batch_first = true };
    return gr_lstm_new(t, net, "lstm", C, CLASSES, &config);
}
static inline void *models_gru(gr_tape *t, gr_module *net, unsigned variant)
{
    return gr_gru_new(t, net, "gru", C, CLASSES, &(gr_gru_config){ .norm = variant, .layers = 2, .dropout = 0.5, .batch_first = true });
}
static inline gr_tensor *models_last_of_lstm(gr_tape *t, void *body, gr_tensor *x)
{
    return gr_select(t, gr_lstm_forward(t, body, x, &(gr_lstm_input){ .lengths = models_lengths(t) }).h, 0, -1);
}
/* The state at the end of a step is the first state of the next. */
static inline gr_tensor *models_carried(gr_tape *t, void *body, gr_tensor *x)
{
    gr_lstm *const l = body;
    const gr_lstm_input from = { .h0 = gr_carried(t, &l->module, "h"), .c0 = gr_carried(t, &l->module, "c") };
    const gr_recurrent_out s = gr_lstm_forward(t, l, x, &from);
    gr_detach_keep(t, &l->module, "h", s.h), gr_detach_keep(t, &l->module, "c", s.c);
    return gr_select(t, s.h, 0, -1);
}
static inline gr_tensor *models_last_of_gru(gr_tape *t, void *body, gr_tensor *x)
{
    return gr_select(t, gr_gru_forward(t, body, x, &(gr_recurrent_input){ .lengths = models_lengths(t) }).h, 0, -1);
}

/* variant is the kind of norm, plus MODELS_PRE_NORM for pre-norm. */
enum { MODELS_PRE_NORM = 16 };
static inline void *models_transformer(gr_tape *t, gr_module *net, unsigned variant)
{
    const bool first = variant & MODELS_PRE_NORM;
    const gr_transformer_config config = { .feedforward = 9, .activation = first ? gr_gelu : NULL, .norm_first = first, .causal = first, .final_norm = first,
                                           .norm = (gr_norm_kind)(variant & 15), .dropout = first ? 0.25 : 0 };
    return gr_transformer_new(t, net, "body", C, 2, 2, &config);
}
static inline gr_tensor *models_first_position(gr_tape *t, void *body, gr_tensor *x)
{
    gr_tensor *const y = gr_transformer_forward(t, body, gr_add_positions(t, x), &(gr_attention_input){ .lengths = models_lengths(t) });
    return gr_narrow(t, gr_select(t, y, 1, 0), -1, 0, CLASSES);
}

static const model models[] = {
    { "MLP: BatchNorm, dropout, LayerNorm, RMSNorm", { 2, { B, C } }, models_mlp, models_through, 0 },
    { "CNN: BatchNorm, GroupNorm", { 4, { B, 1, 8, 8 } }, models_cnn, models_through, 0 },
    { "LSTM: recurrent BatchNorm, lengths", { 3, { B, T, C } }, models_lstm, models_last_of_lstm, GR_LSTM_BN },
    { "GRU: two layers, LayerNorm, dropout, lengths", { 3, { B, T, C } }, models_gru, models_last_of_gru, GR_GRU_LN_BA2016 },
    { "Transformer: causal, pre-norm, dropout, lengths", { 3, { B, T, C } }, models_transformer, models_first_position, MODELS_PRE_NORM },
    { "Transformer: post-norm, BatchNorm, lengths", { 3, { B, T, C } }, models_transformer, models_first_position, GR_NORM_BATCH },
};
#endif
