/* tests/campaign/api_nets.h - networks of api_sequences.c: random layers, an optimizer and a schedule, made and freed at any time. */
#ifndef GR_API_NETS_H
#define GR_API_NETS_H
#include "tests/campaign/api_ops.h"

enum { WIDTH = 6, MOST_LAYERS = 4, LAYER_KINDS = 9 };
static const char *const kind_name[LAYER_KINDS] = { "Linear", "norm", "LSTM", "GRU", "RNN", "Transformer", "Dropout", "Embedding", "convolution" };

typedef struct { size_t kind; void *body; } layer;
typedef struct {
    gr_tape *t;
    int tape;
    gr_module *root;
    gr_optim *optim;
    layer layer[MOST_LAYERS];
    size_t layers;
    gr_tensor *kept; /* the output from which a loss is computed */
} net;

static void *make_layer(gr_tape *t, gr_module *root, size_t kind, gr_stream *s)
{
    static const unsigned lstm_norms[] = { 0, GR_LSTM_LN_X, GR_LSTM_LN_BA2016, GR_LSTM_LN_SUM | GR_LSTM_LN_PER_GATE, GR_LSTM_BN };
    const unsigned norm = lstm_norms[gr_stream_below(s, COUNT(lstm_norms))];
    const gr_recurrent_config recurrent = { .norm = kind == 2 ? norm : kind == 3 ? norm & GR_GRU_LN_BA2016 : norm & GR_RNN_LN_X,
                                            .bn_steps = kind == 2 && norm == GR_LSTM_BN ? 3 : 0, .layers = 1 + gr_stream_below(s, 2),
                                            .bidirectional = gr_stream_below(s, 4) == 0, .dropout = draw_bool(s) ? 0.3 : 0 };
    const gr_transformer_config transformer = { .feedforward = 7, .norm_first = draw_bool(s), .causal = draw_bool(s), .final_norm = draw_bool(s),
                                                .norm = draw_bool(s) ? GR_NORM_BATCH : GR_NORM_RMS, .dropout = draw_bool(s) ? 0.2 : 0 };
    switch (kind) {
    case 0: return gr_linear_new(t, root, NULL, WIDTH, WIDTH, &(gr_linear_config){ .no_bias = draw_bool(s) });
    case 1: return gr_norm_new(t, root, NULL, (gr_norm_kind)gr_stream_below(s, 5), WIDTH, NULL);
    case 2: return gr_lstm_new(t, root, NULL, WIDTH, WIDTH, &recurrent);
    case 3: return gr_gru_new(t, root, NULL, WIDTH, WIDTH, &recurrent);
    case 4: return gr_rnn_new(t, root, NULL, WIDTH, WIDTH, &recurrent);
    case 5: return gr_transformer_new(t, root, NULL, WIDTH, 2, 1, &transformer);
    case 6: return gr_dropout_new(t, root, NULL, 0.3);
    case 7: return gr_embedding_new(t, root, NULL, 5, WIDTH, NULL);
    default: return gr_conv2d_new(t, root, NULL, WIDTH, WIDTH, 2, NULL);
    }
}

/* The input has a fitting shape of random sizes; once in a while it is `other`, which need not fit. */
static gr_tensor *run_layer(gr_tape *t, const layer *l, gr_stream *s, gr_tensor *other)
{
    static const size_t batches[] = { 1, 2, 3, 4, 17, 33, 2, 5, 0 };
    const size_t B = batches[gr_stream_below(s, COUNT(batches))], T = 1 + gr_stream_below(s, 5);
    const bool sequence = l->kind >= 2 && l->kind <= 5;
    const gr_shape shape = l->kind == 8 ? GR_SHAPE(B, WIDTH, 4, 5) : sequence ? GR_SHAPE(T, B ? B : 1, WIDTH) : GR_SHAPE(B, WIDTH);
    gr_tensor *const x = gr_stream_below(s, 24) ? normal(t, shape) : other;
    const gr_ints *lengths = NULL;
    if (sequence && draw_bool(s)) {
        gr_ints *const drawn = draw_ints(t, s, GR_SHAPE(l->kind == 5 ? T : shape.dim[1]), l->kind == 5 ? shape.dim[1] : T);
        for (size_t i = 0; drawn && i < drawn->len; i++) drawn->data[i]++;
        lengths = drawn;
    }
    switch (l->kind) {
    case 2: return gr_lstm_forward(t, l->body, x, &(gr_lstm_input){ .lengths = lengths }).y;
    case 3: return gr_gru_forward(t, l->body, x, &(gr_recurrent_input){ .lengths = lengths }).y;
    case 4: return gr_rnn_forward(t, l->body, x, &(gr_recurrent_input){ .lengths = lengths }).y;
    case 5: return gr_transformer_forward(t, l->body, x, &(gr_attention_input){ .lengths = lengths });
    case 6: return gr_dropout_forward(t, l->body, x);
    case 7: return gr_embedding_forward(t, l->body, draw_ints(t, s, GR_SHAPE(B, 2), 5));
    default: return gr_forward(t, l->body, x);
    }
}

static void net_free(net *n)
{
    gr_optim_free(n->optim), gr_module_free(n->root);
    n->optim = NULL, n->root = NULL;
}

static void net_make(net *n, gr_tape *t, int tape, gr_stream *s)
{
    *n = (net){ .t = t, .tape = tape, .root = gr_module_new(t) };
    n->layers = 1 + gr_stream_below(s, MOST_LAYERS);
    for (size_t i = 0; i < n->layers; i++) {
        n->layer[i].kind = i ? gr_stream_below(s, LAYER_KINDS) : 0; /* the first has parameters */
        n->layer[i].body = make_layer(t, n->root, n->layer[i].kind, s);
    }
    const size_t rule = gr_stream_below(s, 3);
    const gr_adam_config adam = { .lr = 0.01, .refuse_nonfinite = draw_bool(s) };
    if (rule == 0) n->optim = gr_sgd_new(t, n->root, &(gr_sgd_config){ .lr = 0.1, .momentum = 0.9, .nesterov = draw_bool(s) });
    else n->optim = rule == 1 ? gr_adam_new(t, n->root, &adam) : gr_adamw_new(t, n->root, &adam);
    const gr_schedule schedules[] = { gr_schedule_constant(), gr_schedule_step(2, 0.5), gr_schedule_cosine(5, 0.1),
                                      gr_schedule_warmup(3, gr_schedule_linear(4, 0)), gr_schedule_plateau(0.5, 1) };
    gr_optim_schedule(t, n->optim, schedules[gr_stream_below(s, COUNT(schedules))]);
    demand(!gr_failed(t), "making a network: %s", gr_message(t));
}
#endif
