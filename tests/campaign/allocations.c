/* tests/campaign/allocations.c - fail every allocation in turn, alone and with all later ones, in a program of each family: architectures
 * with every placement of norms, optimizers and schedules, files, recomputation, anomaly mode, tracing and audit, looking inside norms.
 * Each program ends with GR_NO_MEMORY or with success and leaks nothing. After gr_tape_recover, when memory is back, it gives the bits of
 * an undisturbed run.
 *
 *     make allocations [ARGS="PART OF A NAME"] */
#include "tests/models.h"
#include <unistd.h>

static const char *only = ""; /* of the names */
static char file_name[64];
static size_t programs, allocations;

/* ---- Families that are not in `make test` ---- */

static void *build_norm(gr_tape *t, gr_module *net, unsigned variant)
{
    gr_module *const m = gr_sequential_new(t, net, "mlp"), *const inner = gr_residual_new(t, m, NULL);
    gr_linear_new(t, inner, NULL, C, C, NULL);
    gr_norm_new(t, inner, NULL, (gr_norm_kind)variant, C, NULL);
    gr_activation_new(t, inner, NULL, "SiLU", gr_silu);
    gr_linear_new(t, m, NULL, C, CLASSES, NULL);
    return m;
}

static void *build_cnn1d(gr_tape *t, gr_module *net, unsigned variant)
{
    gr_module *const m = gr_sequential_new(t, net, "cnn");
    const gr_norm_config first = { .axis = 1 };
    gr_conv1d_new(t, m, NULL, T, 4, 3, &(gr_conv_config){ .padding = 1, .stride = 2 });
    gr_norm_new(t, m, NULL, (gr_norm_kind)variant, 4, &first);
    gr_avg_pool1d_new(t, m, NULL, &(gr_pool_config){ .kernel = 2 });
    gr_adaptive_max_pool1d_new(t, m, NULL, 1);
    gr_flatten_new(t, m, NULL);
    gr_linear_new(t, m, NULL, 4, CLASSES, NULL);
    return m;
}

static void *build_rnn(gr_tape *t, gr_module *net, unsigned variant)
{
    return gr_rnn_new(t, net, "rnn", C, CLASSES, &(gr_rnn_config){ .norm = variant, .relu = variant == 0, .bidirectional = true, .batch_first = true });
}
static gr_tensor *last_of_rnn(gr_tape *t, void *body, gr_tensor *x)
{
    return gr_select(t, gr_rnn_forward(t, body, x, &(gr_recurrent_input){ .lengths = models_lengths(t), .grad_norms = true }).h, 0, -1);
}

/* Embedded tokens, positions and attention. */
typedef struct { gr_embedding_module *tokens; gr_positions *positions; gr_multihead_attention *attention; gr_linear_module *out; } reader;
static void *build_reader(gr_tape *t, gr_module *net, unsigned variant)
{
    static reader kept;
    (void)variant;
    kept.tokens = gr_embedding_new(t, net, "tokens", 9, C, &(gr_embedding_config){ .padded = true });
    kept.positions = gr_positions_new(t, net, "positions", T, C);
    kept.attention = gr_multihead_attention_new(t, net, "attention", C, 2, &(gr_multihead_attention_config){ .causal = true, .dropout = 0.25 });
    kept.out = gr_linear_new(t, net, "out", C, CLASSES, NULL);
    gr_tie(t, net, "tied", kept.out ? kept.out->weight : NULL);
    return &kept;
}
static gr_tensor *read_tokens(gr_tape *t, void *body, gr_tensor *x)
{
    const reader *const r = body;
    int ids[B * T];
    for (int i = 0; i < B * T; i++) ids[i] = i % 9;
    gr_tensor *const h = gr_positions_forward(t, r->positions, gr_embedding_forward(t, r->tokens, gr_ints_new(t, ids, GR_SHAPE(B, T))));
    gr_tensor *const mask = gr_gt(t, gr_mean(t, gr_square(t, x), GR_AXES(-1), false), gr_scalar(t, -1));
    gr_tensor *const y = gr_multihead_attention_forward(t, r->attention, h, NULL, NULL, &(gr_attention_input){ .lengths = models_lengths(t), .mask = mask });
    return gr_linear_forward(t, r->out, gr_mean(t, y, GR_AXES(1), false));
}

/* ---- Other ways to go forward ---- */

static void nested(gr_tape *t, gr_tensor *const *in, gr_tensor **out, void *argument) { out[0] = models_again(t, argument, gr_dropout(t, in[0], 0.25, "nested")); }
static gr_tensor *twice_again(gr_tape *t, void *body, gr_tensor *x)
{
    gr_tensor *y = NULL;
    gr_recompute(t, nested, body, 0, GR_IN(x), &y, 1);
    return y;
}

/* A mark before each of three operators; the last operator is kept. */
static gr_tensor *rewound(gr_tape *t, void *body, gr_tensor *x)
{
    for (int i = 0; i < 12; i++) {
        const gr_mark mark = gr_tape_mark(t);
        gr_tanh(t, models_through(t, body, x));
        gr_tape_rewind(t, mark);
        gr_scalar(t, i);
    }
    return models_through(t, body, x);
}

/* ---- Stages ---- */

static bool forget(run *r) { return gr_forget(r->t, r->net); }
static bool save_state(run *r) { return gr_state_save(r->t, r->net, file_name, NULL); }
static bool load_state(run *r) { return gr_state_load(r->t, r->net, file_name, NULL); }
static bool load_part(run *r)
{
    gr_state_report report;
    const gr_state_config config = { .partial = true, .report = &report };
    return gr_state_load(r->t, r->net, file_name, &config) && !report.missing.count;
}

static bool save_checkpoint(run *r)
{
    double value[2] = { 1, 2 };
    return gr_checkpoint_save(r->t, r->net, r->optim, file_name, &(gr_checkpoint_value){ "value", GR_F64, 2, value }, 1);
}
static bool load_checkpoint(run *r)
{
    double value[2] = { 0 };
    return gr_checkpoint_load(r->t, r->net, r->optim, file_name, &(gr_checkpoint_value){ "value", GR_F64, 2, value }, 1) && value[1] == 2;
}

static bool watched_step(run *r)
{
    gr_tape_set_anomaly(r->t, true), gr_tape_set_tracing(r->t, true);
    return models_step(r);
}
static bool audit(run *r)
{
    gr_print_audit(r->t, r->net, r->optim, NULL), gr_print_batch_norms(r->t, r->net, NULL);
    for (gr_module *m = r->net; m; m = gr_module_next(r->net, m))
        if (!strcmp(m->kind, "LayerNorm")) {
            gr_tensor *const x = gr_randn(r->t, GR_SHAPE(3, 7), 0, 1, "audit");
            if (!x || !gr_print_norm(r->t, m, gr_shape_of(x), NULL)) return false;
            gr_norm_gradient(r->t, m, x, x->data);
        }
    return !gr_failed(r->t);
}

static bool init_again(run *r)
{
    for (gr_module *m = r->net; m; m = gr_module_next(r->net, m))
        if (!strcmp(m->kind, "Linear") && !gr_param_init(r->t, m, "weight", gr_init_orthogonal(1))) return false;
    return true;
}

static bool new_schedule(run *r)
{
    gr_optim_set_group(r->t, r->optim, r->net, (gr_optim_group){ .lr_scale = 0.5, .weight_decay = 0.1 });
    return gr_optim_schedule(r->t, r->optim, gr_schedule_warmup(2, gr_schedule_cosine(5, 0.1)));
}

static gr_optim *sgd(gr_tape *t, gr_module *net) { return gr_sgd_new(t, net, &(gr_sgd_config){ .lr = 0.1, .momentum = 0.9, .nesterov = true, .weight_decay = 0.01 }); }
static gr_optim *adamw(gr_tape *t, gr_module *net) { return gr_adamw_new(t, net, &(gr_adam_config){ .lr = 0.01, .refuse_nonfinite = true }); }

#define ROWS { 2, { B, C } }
#define SEQUENCES { 3, { B, T, C } }
#define STEP models_step
static const model families[] = {
    { "MLP, BatchNorm, residual", ROWS, build_norm, models_through, GR_NORM_BATCH },
    { "MLP, LayerNorm, residual", ROWS, build_norm, models_through, GR_NORM_LAYER },
    { "MLP, GroupNorm, residual", ROWS, build_norm, models_through, GR_NORM_GROUP },
    { "MLP, no norm, residual", ROWS, build_norm, models_through, GR_NORM_NONE },
    { "CNN over one axis, InstanceNorm", SEQUENCES, build_cnn1d, models_through, GR_NORM_INSTANCE },
    { "CNN over one axis, LayerNorm", SEQUENCES, build_cnn1d, models_through, GR_NORM_LAYER },
    { "RNN, relu, two directions", SEQUENCES, build_rnn, last_of_rnn, 0 },
    { "RNN, LayerNorm of the sum, two directions", SEQUENCES, build_rnn, last_of_rnn, GR_RNN_LN_SUM },
    { "GRU, no norm", SEQUENCES, models_gru, models_last_of_gru, 0 },
    { "GRU, LayerNorm of W x", SEQUENCES, models_gru, models_last_of_gru, GR_GRU_LN_X },
    { "GRU, LayerNorm of W h", SEQUENCES, models_gru, models_last_of_gru, GR_GRU_LN_H },
    { "Transformer, pre-norm, RMSNorm", SEQUENCES, models_transformer, models_first_position, MODELS_PRE_NORM | GR_NORM_RMS },
    { "Transformer, pre-norm, BatchNorm", SEQUENCES, models_transformer, models_first_position, MODELS_PRE_NORM | GR_NORM_BATCH },
    { "Transformer, post-norm, LayerNorm", SEQUENCES, models_transformer, models_first_position, GR_NORM_LAYER },
    { "embedding, positions, attention, mask, tied", SEQUENCES, build_reader, read_tokens, 0 },
    { "recompute", ROWS, models_mlp, models_again, 0 },
    { "recompute in recompute", ROWS, models_mlp, twice_again, 0 },
    { "state carried and forgotten", SEQUENCES, models_lstm, models_carried, GR_LSTM_LN_BA2016, .stages = { STEP, STEP, forget, STEP } },
    { "mark and rewind", ROWS, models_mlp, rewound, 0 },
    { "SGD, groups, schedule", ROWS, models_mlp, models_through, 0, sgd, { STEP, new_schedule, STEP, STEP } },
    { "AdamW, groups, schedule", ROWS, models_mlp, models_through, 0, adamw, { STEP, new_schedule, STEP, STEP } },
    { "initialized again", ROWS, models_mlp, models_through, 0, .stages = { STEP, init_again, STEP } },
    { "state saved and loaded", ROWS, models_mlp, models_through, 0, .stages = { STEP, save_state, STEP, load_state, load_part, STEP } },
    { "checkpoint saved and loaded", SEQUENCES, models_lstm, models_carried, GR_LSTM_BN, .stages = { STEP, save_checkpoint, STEP, load_checkpoint, STEP } },
    { "anomaly mode, tracing, audit", ROWS, models_mlp, models_through, 0, .stages = { watched_step, audit, STEP, audit } },
    { "recompute under anomaly mode and tracing", ROWS, models_mlp, models_again, 0, .stages = { watched_step, audit, STEP } },
};

static void fail_if_wanted(const model *m)
{
    if (!strstr(m->name, only)) return;
    programs++, allocations += models_fail_all(m);
}

TEST(a_program_of_each_family_survives_failing_allocations)
{
    for (size_t k = 0; k < COUNT(models); k++) fail_if_wanted(&models[k]);
    for (size_t k = 0; k < COUNT(families); k++) fail_if_wanted(&families[k]);
}

TEST(every_placement_of_norms_in_an_lstm_survives_failing_allocations)
{
    for (unsigned norm = 0; norm < GR_LSTM_BN; norm++) {
        char name[64];
        if (norm == GR_LSTM_LN_PER_GATE || norm == (GR_LSTM_LN_PER_GATE | GR_LSTM_LN_C)) continue; /* no norm of the gates */
        snprintf(name, sizeof name, "LSTM, norms %u", norm);
        fail_if_wanted(&(model){ name, SEQUENCES, models_lstm, models_last_of_lstm, norm });
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(a_program_of_each_family_survives_failing_allocations), cmocka_unit_test(every_placement_of_norms_in_an_lstm_survives_failing_allocations) };
    if (argc > 1) only = argv[1];
    snprintf(file_name, sizeof file_name, "/tmp/gradus-allocations-%ld", (long)getpid());
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(file_name);
    printf("allocations: %zu programs, %zu allocations failed in turn, each alone and with all after it%s\n", programs, allocations,
           failed ? ": FAILED" : "; same bits after recovery");
    return failed || !programs;
}
