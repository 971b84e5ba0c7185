/* tests/bench/models.c - the networks: recurrent classifiers, multilayer perceptrons, convolutional networks, a character GPT, and optimizers
 * alone. Their parameters have the names of the networks in peers/torch_models.py. */
#include "tests/bench/bench.h"
#include <stdio.h>
#include <string.h>

enum { CLASSES = 10 };

static gr_tensor *input(bench_work *w, int i) { return gr_input(w->t, w->in[i].data, w->in[i].shape); }
static gr_ints *ints(bench_work *w, int i) { return gr_ints_new(w->t, w->in[i].data, w->in[i].shape); }

/* The last part of a step: the loss of the logits z, backward, and the optimizer; clip 0 does not clip. An inference ends with z. */
static bool finish(bench_work *w, gr_tensor *z, int labels, double clip)
{
    w->y = z;
    if (!bench_trains(w)) return z;
    gr_tensor *loss = gr_cross_entropy(w->t, z, ints(w, labels), NULL);
    gr_optim_zero_grad(w->optim);
    gr_backward(w->t, loss);
    if (clip > 0) gr_clip_grad_norm(w->t, w->optim, clip);
    gr_optim_step(w->t, w->optim);
    w->loss = gr_item(loss);
    return !gr_failed(w->t);
}

/* ---- Recurrent classifiers: sizes batch time in hidden norm ---- */

enum { BATCH, TIME, IN, HIDDEN, NORM };

static bool recurrent_step(bench_work *w)
{
    gr_tape_reset(w->t);
    const gr_recurrent_out s = gr_recurrent_forward(w->t, w->part[0], input(w, 0), NULL);
    return finish(w, gr_linear_forward(w->t, w->part[1], gr_select(w->t, s.h, 0, -1)), 1, 1);
}

static bool recurrent(bench_work *w, gr_recurrent_kind kind, unsigned norm, double gates)
{
    const size_t *s = w->size;
    const gr_recurrent_config config = { .norm = s[NORM] ? norm : 0, .batch_first = true };
    w->part[0] = gr_recurrent_new(w->t, w->net, "rnn", kind, s[IN], s[HIDDEN], &config);
    w->part[1] = gr_linear_new(w->t, w->net, "fc", s[HIDDEN], CLASSES, NULL);
    w->step = recurrent_step;
    /* forward and dW have both products, and only h needs a gradient */
    const double x = (double)s[IN], h = (double)s[HIDDEN], products = bench_trains(w) ? 2 * (x + h) + h : x + h;
    w->flop = 2 * (double)(s[BATCH] * s[TIME]) * gates * h * products;
    return bench_values(w, "x", GR_SHAPE(s[BATCH], s[TIME], s[IN])) == 0 && bench_ints(w, "labels", GR_SHAPE(s[BATCH]), CLASSES) == 1;
}
static bool lstm(bench_work *w) { return recurrent(w, GR_LSTM, GR_LSTM_LN_BA2016, 4); }
static bool gru(bench_work *w) { return recurrent(w, GR_GRU, GR_GRU_LN_BA2016, 3); }
static bool rnn(bench_work *w) { return recurrent(w, GR_RNN, GR_RNN_LN_SUM, 1); }

/* ---- Sequential networks ---- */

static bool sequential_step(bench_work *w)
{
    gr_tape_reset(w->t);
    return finish(w, gr_forward(w->t, w->part[0], input(w, 0)), 1, 0);
}

/* A layer on n images or rows whose products take this many multiply-adds each. The first layer needs no gradient of its input. */
static void layer(bench_work *w, size_t n, size_t products, bool first)
{
    w->flop += 2 * (double)n * (double)products * (!bench_trains(w) ? 1 : first ? 2 : 3);
}

static void linear(bench_work *w, gr_module *net, size_t in, size_t out, bool first)
{
    gr_linear_new(w->t, net, NULL, in, out, NULL);
    layer(w, w->size[BATCH], in * out, first);
}

enum { NORM_BATCH = 1, NORM_LAYER, NORM_GROUP };

static bool mlp(bench_work *w) /* batch in width layers norm */
{
    const size_t *s = w->size;
    size_t in = s[1];
    gr_module *net = w->part[0] = gr_sequential_new(w->t, w->net, "net");
    for (size_t k = 0; k < s[3]; k++) {
        linear(w, net, in, s[2], k == 0);
        in = s[2];
        if (s[4] == NORM_BATCH) gr_batch_norm_new(w->t, net, NULL, in, NULL);
        if (s[4] == NORM_LAYER) gr_layer_norm_new(w->t, net, NULL, GR_SHAPE(in), NULL);
        gr_activation_new(w->t, net, NULL, "ReLU", gr_relu);
    }
    linear(w, net, in, CLASSES, false);
    w->step = sequential_step;
    return bench_values(w, "x", GR_SHAPE(s[0], s[1])) == 0 && bench_ints(w, "labels", GR_SHAPE(s[0]), CLASSES) == 1;
}

/* The network with each BatchNorm inside the convolution before it, as frozen inference in PyTorch. */
static bool fused_step(bench_work *w)
{
    gr_tape_reset(w->t);
    gr_tensor *x = input(w, 0);
    const gr_module *fused = w->fused->child;
    for (const gr_module *m = ((gr_module *)w->part[0])->child; m; m = m->next) {
        const bool normed = gr_norm_of(m->next);
        x = gr_forward(w->t, normed ? fused : m, x);
        if (normed) m = m->next, fused = fused->next;
    }
    return finish(w, x, 1, 0);
}

/* Two 3x3 convolutions, with a pooling after the second; padded, also after the first. */
static bool cnn(bench_work *w) /* batch first second padding norm */
{
    const size_t *s = w->size;
    size_t in = 1, side = 28;
    gr_module *net = w->part[0] = gr_sequential_new(w->t, w->net, "net");
    const bool fuses = s[4] == NORM_BATCH && !bench_trains(w);
    if (fuses) w->fused = gr_module_new(w->t);
    for (int k = 0; k < 2; k++) {
        const size_t out = s[1 + k];
        const gr_conv_module *conv = gr_conv2d_new(w->t, net, NULL, in, out, 3, &(gr_conv_config){ .padding = (int)s[3] });
        side += 2 * s[3] - 2;
        layer(w, s[0], side * side * out * in * 9, k == 0);
        const gr_norm *bn = s[4] == NORM_BATCH ? gr_batch_norm_new(w->t, net, NULL, out, NULL) : NULL;
        if (fuses) gr_fuse_conv_bn_eval(w->t, w->fused, NULL, conv, bn);
        if (s[4] == NORM_LAYER) gr_layer_norm_new(w->t, net, NULL, GR_SHAPE(out, side, side), NULL);
        if (s[4] == NORM_GROUP) gr_group_norm_new(w->t, net, NULL, 8, out, NULL);
        gr_activation_new(w->t, net, NULL, "ReLU", gr_relu);
        if (s[3] || k) gr_max_pool2d_new(w->t, net, NULL, &(gr_pool_config){ .kernel = 2 }), side /= 2;
        in = out;
    }
    gr_flatten_new(w->t, net, NULL);
    linear(w, net, in * side * side, 128, false);
    gr_activation_new(w->t, net, NULL, "ReLU", gr_relu);
    linear(w, net, 128, CLASSES, false);
    w->step = fuses ? fused_step : sequential_step;
    return bench_values(w, "x", GR_SHAPE(s[0], 1, 28, 28)) == 0 && bench_ints(w, "labels", GR_SHAPE(s[0]), CLASSES) == 1;
}

/* ---- A causal model of characters: pre-norm, GELU ---- */

enum { LETTERS = 65 };

static bool gpt_step(bench_work *w)
{
    gr_tape_reset(w->t);
    gr_tensor *x = gr_positions_forward(w->t, w->part[1], gr_embedding_forward(w->t, w->part[0], ints(w, 0)));
    gr_tensor *z = gr_linear_forward(w->t, w->part[3], gr_transformer_forward(w->t, w->part[2], x, NULL));
    return finish(w, gr_reshape(w->t, z, GR_SHAPE(w->size[0] * w->size[1], LETTERS)), 1, 0);
}

static bool gpt(bench_work *w) /* batch time size heads layers */
{
    const size_t *s = w->size, rows = s[0] * s[1];
    w->part[0] = gr_embedding_new(w->t, w->net, "token", LETTERS, s[2], NULL);
    w->part[1] = gr_positions_new(w->t, w->net, "position", s[1], s[2]);
    w->part[2] = gr_transformer_new(w->t, w->net, "body", s[2], s[3], s[4], &(gr_transformer_config){ .norm_first = true, .causal = true,
                                    .activation = gr_gelu, .final_norm = true });
    w->part[3] = gr_linear_new(w->t, w->net, "head", s[2], LETTERS, NULL);
    w->step = gpt_step;
    /* q, k, v, out: 4 size^2; the feed-forward network: 8 size^2; causal attention needs half of 2 size time */
    layer(w, rows, s[4] * (12 * s[2] * s[2] + s[2] * s[1]) + s[2] * LETTERS, false);
    return bench_ints(w, "ids", GR_SHAPE(s[0], s[1]), LETTERS) == 0 && bench_ints(w, "labels", GR_SHAPE(rows), LETTERS) == 1;
}

/* ---- Optimizers alone: sizes parameters tensors dead ---- */

enum { DEAD_STEPS = 1000 }; /* steps without a gradient, after which moments that are not flushed to 0 are subnormal */

static bool optim_step(bench_work *w) { return gr_optim_step(w->t, w->optim); }

static bool parameters(bench_work *w)
{
    gr_tensor *loss = gr_scalar(w->t, 0);
    char name[24];
    for (size_t i = 0; i < w->size[1]; i++) {
        snprintf(name, sizeof name, "w%zu", i);
        gr_tensor *p = gr_param(w->t, w->net, name, GR_SHAPE(w->size[0] / w->size[1]), gr_init_uniform(-1, 1));
        loss = gr_add(w->t, loss, gr_sum(w->t, gr_square(w->t, p), GR_ALL_AXES, false)); /* the gradient is 2 p */
    }
    w->step = optim_step;
    return gr_backward(w->t, loss);
}

/* floats: how many values a step reads and writes for each parameter. Dead parameters have had one step with a gradient. */
static bool settle(bench_work *w, gr_optim *optim, double floats)
{
    w->optim = optim, w->bytes = floats * sizeof(gr_real) * (double)w->size[0], w->held = w->bytes * (floats + 1) / 2 / floats;
    if (!w->size[2]) return optim;
    gr_optim_step(w->t, optim);
    for (gr_slot *s = gr_slot_first(w->net); s; s = gr_slot_next(w->net, s))
        memset(gr_grad(w->t, s->tensor), 0, s->tensor->len * sizeof(gr_real));
    for (int i = 0; i < DEAD_STEPS; i++) gr_optim_step(w->t, optim);
    return optim;
}
static bool adam(bench_work *w) { return parameters(w) && settle(w, gr_adam_new(w->t, w->net, NULL), 7); }
static bool adamw(bench_work *w) { return parameters(w) && settle(w, gr_adamw_new(w->t, w->net, NULL), 7); }
static bool sgd(bench_work *w) { return parameters(w) && settle(w, gr_sgd_new(w->t, w->net, NULL), 3); }
static bool momentum(bench_work *w)
{
    return parameters(w) && settle(w, gr_sgd_new(w->t, w->net, &(gr_sgd_config){ .momentum = 0.9 }), 5);
}
static bool rmsprop(bench_work *w) { return parameters(w) && settle(w, gr_rmsprop_new(w->t, w->net, NULL), 5); }
static bool adagrad(bench_work *w) { return parameters(w) && settle(w, gr_adagrad_new(w->t, w->net, NULL), 5); }

#define RECURRENT "batch time in hidden norm?"
#define OPTIMIZER "parameters tensors dead?"
const bench_kind bench_models[] = {
    { "lstm", RECURRENT, lstm }, { "gru", RECURRENT, gru }, { "rnn", RECURRENT, rnn }, { "mlp", "batch in width layers norm?", mlp },
    { "cnn", "batch first second padding? norm?", cnn }, { "gpt", "batch time size heads layers", gpt }, { "adam", OPTIMIZER, adam },
    { "adamw", OPTIMIZER, adamw }, { "sgd", OPTIMIZER, sgd }, { "momentum", OPTIMIZER, momentum }, { "rmsprop", OPTIMIZER, rmsprop },
    { "adagrad", OPTIMIZER, adagrad }, { NULL },
};
