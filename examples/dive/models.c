/* examples/dive/models.c - the four architectures. All arms have the same random streams, so a weight that two arms share starts with the same
 * bits. */
#include "examples/dive/models.h"
#include "core/op.h"
#include <math.h>
#include <string.h>

const char *const dive_arch_name[DIVE_ARCHS] = { "MLP", "LSTM", "CNN", "Transformer" };

enum { CLASSES = 10, HEADS = 4, TEXT_WINDOW = 32 };
static const double H0_NOISE = 0.1; /* the module's default; without noise, blank first rows would have variance 0 */

static dive_spec with_defaults(dive_spec s)
{
    static const size_t hidden[DIVE_ARCHS] = { 128, 64, 16, 32 };
    if (!s.hidden) s.hidden = hidden[s.arch];
    if (!s.depth) s.depth = 2;
    if (!(s.lr > 0)) s.lr = 1e-3;
    if (!(s.scale > 0)) s.scale = 1;
    if (!s.curve) s.curve = gr_relu;
    return s;
}

/* ---- Building ---- */

static gr_linear_module *he_linear(kit_arm *arm, const char *name, size_t in, size_t out)
{
    gr_linear_module *l = gr_linear_new(arm->tape, arm->net, name, in, out, NULL);
    if (!l) return NULL;
    gr_param_init(arm->tape, &l->module, "weight", gr_init_kaiming_normal(GR_GAIN_RELU, GR_FAN_IN));
    gr_param_init(arm->tape, &l->module, "bias", gr_init_constant(0));
    return l;
}

static void build_mlp(kit_arm *arm, dive_model *m)
{
    const dive_spec *const s = &m->spec;
    char name[32];
    for (size_t k = 0; k < s->depth; k++) {
        snprintf(name, sizeof name, "fc%zu", k + 1);
        m->in[k] = he_linear(arm, name, k ? s->hidden : KIT_PIXELS, s->hidden);
        snprintf(name, sizeof name, "norm%zu", k + 1);
        m->norm[k] = gr_norm_new(arm->tape, arm->net, name, (gr_norm_kind)arm->kind, s->hidden, NULL);
    }
    m->out = he_linear(arm, "out", s->hidden, CLASSES);
    if (s->logits) m->norm[s->depth] = gr_norm_new(arm->tape, arm->net, "norm_out", (gr_norm_kind)arm->kind, CLASSES, NULL);
}

static void build_lstm(kit_arm *arm, dive_model *m)
{
    static const unsigned norms[] = { [GR_NORM_NONE] = 0, [GR_NORM_BATCH] = GR_LSTM_BN, [GR_NORM_LAYER] = GR_LSTM_LN_BA2016 };
    const size_t side = m->spec.pooled ? KIT_SIDE / m->spec.pooled : KIT_SIDE, steps = m->spec.pooled ? side * side : side;
    if ((size_t)arm->kind >= sizeof norms / sizeof *norms) {
        gr_fail_as(arm->tape, GR_MISUSE, "", "an LSTM has no norm, batch norm or layer norm; got kind %d", arm->kind);
        return;
    }
    unsigned norm = norms[arm->kind];
    if (m->spec.pooled && norm == GR_LSTM_LN_BA2016) norm = GR_LSTM_LN_SUM | GR_LSTM_LN_C; /* a norm of W x would keep only the sign of a pixel */
    const gr_lstm_config c = { .norm = norm, .bn_steps = steps, .batch_first = true, .forget_bias = 1, .h0_noise = GR_NONE };
    m->lstm = gr_lstm_new(arm->tape, arm->net, "lstm", m->spec.pooled ? 1 : KIT_SIDE, m->spec.hidden, &c);
    m->out = gr_linear_new(arm->tape, arm->net, "out", m->spec.hidden, CLASSES, NULL);
}

static void build_cnn(kit_arm *arm, dive_model *m)
{
    gr_tape *const t = arm->tape;
    const gr_norm_kind norm = (gr_norm_kind)arm->kind;
    const size_t c = m->spec.hidden, groups = c < 8 ? 2 : 4;
    for (size_t k = 0; k < 2; k++) {
        m->conv[k] = gr_conv2d_new(t, arm->net, k ? "conv2" : "conv1", k ? c : 1, (k + 1) * c, 3, &(gr_conv_config){ .padding = 1 });
        m->norm[k] = gr_norm_new(t, arm->net, k ? "norm2" : "norm1", norm, (k + 1) * c,
                                 &(gr_norm_config){ .axis = 1, .groups = groups });
    }
    m->in[0] = gr_linear_new(t, arm->net, "fc1", 2 * c * 7 * 7, 8 * c, NULL);
    m->norm[2] = gr_norm_new(t, arm->net, "norm3", m->spec.convs ? GR_NORM_NONE : norm, 8 * c, &(gr_norm_config){ .groups = groups });
    m->out = gr_linear_new(t, arm->net, "out", 8 * c, CLASSES, NULL);
}

static void build_transformer(kit_arm *arm, dive_model *m)
{
    gr_tape *const t = arm->tape;
    const dive_spec *const s = &m->spec;
    const gr_norm_kind norm = (gr_norm_kind)arm->kind;
    const gr_transformer_config c = {
        .norm = norm, .no_norm = norm == GR_NORM_NONE, .norm_first = !s->post, .final_norm = !s->post, .causal = !s->acausal,
        .activation = s->relu ? gr_relu : gr_gelu
    };
    if (!s->text) {
        gr_fail_as(t, GR_MISUSE, "", "a Transformer needs a text");
        return;
    }
    m->token = gr_embedding_new(t, arm->net, "token", s->text->letters, s->hidden, NULL);
    if (!s->unplaced) m->position = gr_positions_new(t, arm->net, "position", s->text->T, s->hidden);
    m->body = gr_transformer_new(t, arm->net, "body", s->hidden, HEADS, s->depth, &c);
    m->out = gr_linear_new(t, arm->net, "out", s->hidden, s->text->letters, NULL);
}

static void fill(gr_tensor *x, double value)
{
    for (size_t i = 0; x && i < x->len; i++) x->data[i] = (gr_real)value;
}

static void add(gr_tensor *x, double value)
{
    for (size_t i = 0; x && i < x->len; i++) x->data[i] += (gr_real)value;
}

static void multiply(gr_tensor *x, double value)
{
    for (size_t i = 0; x && i < x->len; i++) x->data[i] *= (gr_real)value;
}

/* Set the scale of the initial weights, gamma and beta. The LSTM's gates share one beta, b: the betas of their norms would have the same effect. */
static void set_values(kit_arm *arm, const dive_model *m)
{
    const dive_spec *const s = &m->spec;
    for (gr_slot *p = gr_slot_first(arm->net); p; p = gr_slot_next(arm->net, p)) {
        if (p->kind != GR_PARAMETER) continue;
        if (!p->no_decay && s->scale != 1) multiply(p->tensor, s->scale);
        if (!p->owner->is_norm) continue;
        if (s->gain > 0 && !strcmp(p->name, "weight")) fill(p->tensor, s->gain);
        if (!m->lstm && !strcmp(p->name, "bias")) add(p->tensor, s->shift);
    }
    if (!m->lstm || !m->lstm->recurrent.weights->norm) return;
    const gr_recurrent_weights *const w = m->lstm->recurrent.weights;
    add(w->b_ih, s->shift), add(w->ln_c.bias, s->shift), add(w->bn_c.bias, s->shift);
}

void dive_build(kit_arm *arm)
{
    static void (*const build[DIVE_ARCHS])(kit_arm *, dive_model *) = { build_mlp, build_lstm, build_cnn, build_transformer };
    if (gr_failed(arm->tape)) return;
    dive_model *const m = arm->model = gr_memory_new(gr_tape_allocator(arm->tape), sizeof *m);
    if (!m) {
        gr_fail_as(arm->tape, GR_NO_MEMORY, "", "no memory for a model");
        return;
    }
    m->spec = with_defaults(*(const dive_spec *)arm->user);
    if (m->spec.depth >= DIVE_DEPTH)
        gr_fail_as(arm->tape, GR_MISUSE, "", "a model has up to %d layers; got %zu", DIVE_DEPTH - 1, m->spec.depth);
    else build[m->spec.arch](arm, m);
    if (gr_failed(arm->tape)) return;
    set_values(arm, m);
    arm->optim = m->spec.sgd       ? gr_sgd_new(arm->tape, arm->net, &(gr_sgd_config){ .lr = m->spec.lr })
                 : m->spec.rmsprop ? gr_rmsprop_new(arm->tape, arm->net, &(gr_rmsprop_config){ .lr = m->spec.lr, .momentum = 0.9 })
                             : gr_adam_new(arm->tape, arm->net, &(gr_adam_config){ .lr = m->spec.lr });
    if (m->spec.warmup) gr_optim_schedule(arm->tape, arm->optim, gr_schedule_warmup(m->spec.warmup, gr_schedule_constant()));
}

void dive_arms_add(kit_arms *a)
{
    for (int i = 0; i < DIVE_ARMS; i++) kit_arms_add(a, dive_arm_name[i], (int)dive_arm_norm[i]);
}

void dive_arms_free(kit_arms *a)
{
    for (size_t i = 0; i < a->n; i++)
        if (a->arm[i].model) gr_memory_free(gr_tape_allocator(a->arm[i].tape), a->arm[i].model, sizeof(dive_model));
    kit_arms_free(a);
}

void dive_batches_free(dive *d, dive_batches *b)
{
    if (b->text.tape) b->text.tape = d->r->tape, kit_text_free(&b->text);
    kit_images_free(&b->images);
    if (b->tape) dive_tape_free(d, b->tape);
    *b = (dive_batches){ 0 };
}

bool dive_batches_open(dive *d, dive_batches *b, kit_arms *a, const dive_spec *spec, size_t batch, size_t k)
{
    const bool text = spec->arch == DIVE_TRANSFORMER;
    *b = (dive_batches){ .spec = *spec };
    if (gr_failed(d->r->tape)) return false;
    b->tape = dive_tape(d, dive_seed(d, k));
    if (!b->tape) return dive_tape_free(d, NULL), false;
    if (text) b->text = kit_text_of(d->r->tape, d->text, &d->read, batch, TEXT_WINDOW), b->text.tape = b->tape, b->spec.text = &b->text;
    else b->images = kit_images_new(b->tape, &d->data, batch);
    if (gr_failed(b->tape) || gr_failed(d->r->tape)) return dive_batches_free(d, b), false;
    a->source = text ? kit_text_source(&b->text) : kit_images_source(&b->images);
    a->build = dive_build, a->loss = dive_loss, a->user = &b->spec, a->seed = dive_seed(d, k);
    a->clip = text || spec->arch == DIVE_LSTM ? 1 : 0;
    return true;
}

/* ---- Forward ---- */

enum { DROPOUTS = 2 };
static const char *const dropout_stream[DROPOUTS] = { "mlp/dropout1", "mlp/dropout2" };

static gr_tensor *run_mlp(gr_tape *t, dive_model *m, const kit_batch *b)
{
    gr_tensor *x = gr_input(t, b->pixels, GR_SHAPE(b->n, KIT_PIXELS));
    for (size_t k = 0; k < m->spec.depth; k++) {
        m->raw[k] = gr_linear_forward(t, m->in[k], x);
        m->pre[k] = gr_forward(t, m->norm[k], m->raw[k]);
        x = m->spec.curve(t, m->pre[k]);
        if (m->spec.dropout > 0) x = gr_dropout(t, x, m->spec.dropout, dropout_stream[k % DROPOUTS]);
    }
    x = gr_linear_forward(t, m->out, x);
    return m->spec.logits ? gr_forward(t, m->norm[m->spec.depth], x) : x;
}

/* The steps of x [B, T, 1] in one random order, which does not depend on the seed. */
static gr_tensor *permuted(gr_tape *t, const gr_tensor *x)
{
    enum { MOST = KIT_PIXELS };
    size_t order[MOST];
    gr_stream draws = gr_stream_new(1, "dive/permuted");
    gr_tensor *const y = x ? gr_zeros(t, gr_shape_of(x)) : NULL;
    if (!y) return NULL;
    const size_t n = x->dim[1];
    for (size_t i = 0; i < n; i++) {
        const size_t k = gr_stream_below(&draws, (uint32_t)(i + 1));
        order[i] = order[k], order[k] = i;
    }
    for (size_t i = 0; i < x->len; i++) y->data[i] = x->data[i / n * n + order[i % n]];
    return y;
}

static gr_tensor *run_lstm(gr_tape *t, dive_model *m, const kit_batch *b)
{
    const size_t pooled = m->spec.pooled, side = pooled ? KIT_SIDE / pooled : KIT_SIDE;
    m->x = gr_input(t, b->pixels, GR_SHAPE(b->n, 1, KIT_SIDE, KIT_SIDE));
    if (pooled) m->x = gr_avg_pool2d(t, m->x, &(gr_pool_config){ .kernel = pooled });
    m->x = gr_reshape(t, m->x, pooled ? GR_SHAPE(b->n, side * side, 1) : GR_SHAPE(b->n, side, side));
    if (pooled && m->spec.permuted) m->x = permuted(t, m->x);
    const bool noise = m->lstm->recurrent.config.norm == GR_LSTM_BN && gr_tape_training(t);
    m->h0 = noise ? gr_randn(t, GR_SHAPE(1, b->n, m->spec.hidden), 0, H0_NOISE, "lstm/h0") : NULL;
    m->state = gr_lstm_forward(t, m->lstm, m->x, &(gr_lstm_input){ .h0 = m->h0, .grad_norms = gr_tape_recording(t) });
    return gr_linear_forward(t, m->out, gr_select(t, m->state.h, 0, -1));
}

static gr_tensor *run_cnn(gr_tape *t, dive_model *m, const kit_batch *b)
{
    gr_tensor *x = gr_input(t, b->pixels, GR_SHAPE(b->n, 1, KIT_SIDE, KIT_SIDE));
    for (size_t k = 0; k < 2; k++) {
        x = gr_relu(t, gr_forward(t, m->norm[k], gr_conv_forward(t, m->conv[k], x)));
        x = gr_max_pool2d(t, x, &(gr_pool_config){ .kernel = 2 });
    }
    x = gr_linear_forward(t, m->in[0], gr_flatten(t, x, 1));
    return gr_linear_forward(t, m->out, gr_relu(t, gr_forward(t, m->norm[2], x)));
}

static gr_tensor *run_transformer(gr_tape *t, dive_model *m, const kit_text *b)
{
    gr_tensor *x = gr_embedding_forward(t, m->token, gr_ints_new(t, b->in, GR_SHAPE(b->B, b->T)));
    if (m->position) x = gr_positions_forward(t, m->position, x);
    for (size_t k = 0; k < m->body->layers; k++) x = m->block[k] = gr_transformer_layer_forward(t, m->body->layer[k], x, NULL);
    if (m->body->norm) x = gr_forward(t, m->body->norm, x);
    return gr_reshape(t, gr_linear_forward(t, m->out, x), GR_SHAPE(b->B * b->T, GR_INFER));
}

gr_tensor *dive_logits(kit_arm *arm, const void *batch)
{
    dive_model *const m = arm->model;
    if (gr_failed(arm->tape)) return NULL;
    switch (m->spec.arch) {
    case DIVE_MLP: return run_mlp(arm->tape, m, batch);
    case DIVE_LSTM: return run_lstm(arm->tape, m, batch);
    case DIVE_CNN: return run_cnn(arm->tape, m, batch);
    default: return run_transformer(arm->tape, m, batch);
    }
}

gr_tensor *dive_loss(kit_arm *arm, const void *batch, kit_score *score)
{
    gr_tensor *const logits = dive_logits(arm, batch);
    if (!logits) return NULL;
    const bool text = ((const dive_model *)arm->model)->spec.arch == DIVE_TRANSFORMER;
    return kit_classify(arm->tape, logits, text ? ((const kit_text *)batch)->next : ((const kit_batch *)batch)->labels, score);
}

/* ---- Inside the LSTM ---- */

/* Recurrent BatchNorm of a [B, 4H] at a time step: with batch statistics in training, otherwise with the running statistics of the step. */
static gr_tensor *step_norm(gr_tape *t, gr_tensor *a, const gr_lstm_bn *bn, size_t step)
{
    gr_batch_norm_config o = { 0 };
    if (!gr_tape_training(t)) {
        const size_t last = bn->running_mean->dim[0] - 1;
        o.running_mean = gr_select(t, bn->running_mean, 0, (ptrdiff_t)(step < last ? step : last));
        o.running_var = gr_select(t, bn->running_var, 0, (ptrdiff_t)(step < last ? step : last));
    }
    return gr_batch_norm(t, a, -1, bn->weight, NULL, &o);
}

gr_tensor *dive_lstm_gates(kit_arm *arm, size_t step)
{
    gr_tape *const t = arm->tape;
    const dive_model *const m = arm->model;
    if (gr_failed(t)) return NULL;
    const gr_recurrent_weights *const w = m->lstm->recurrent.weights;
    const bool recording = gr_tape_recording(t);
    gr_tape_set_recording(t, false);
    gr_tensor *wx = gr_linear(t, gr_select(t, m->x, 1, (ptrdiff_t)step), w->w_ih, NULL);
    gr_tensor *h = step ? gr_select(t, m->state.y, 1, (ptrdiff_t)step - 1) : m->h0 ? gr_select(t, m->h0, 0, 0) : NULL;
    gr_tensor *wh = h ? gr_linear(t, h, w->w_hh, NULL) : gr_zeros(t, GR_SHAPE(gr_size(wx, 0), gr_size(wx, 1)));
    if (w->norm & GR_LSTM_LN_X) wx = gr_layer_norm(t, wx, 1, w->ln_ih.weight, w->ln_ih.bias, 1e-5);
    if (w->norm & GR_LSTM_LN_H) wh = gr_layer_norm(t, wh, 1, w->ln_hh.weight, w->ln_hh.bias, 1e-5);
    if (w->norm == GR_LSTM_BN) wx = step_norm(t, wx, &w->bn_ih, step), wh = step_norm(t, wh, &w->bn_hh, step);
    gr_tensor *a = gr_add(t, wx, wh);
    if (w->norm & GR_LSTM_LN_SUM) a = gr_layer_norm(t, a, 1, w->ln_sum.weight, w->ln_sum.bias, 1e-5);
    a = gr_add(t, a, w->b_ih);
    if (w->b_hh) a = gr_add(t, a, w->b_hh);
    gr_tape_set_recording(t, recording);
    return a;
}

/* ---- Description for captions ---- */

static void mlp_text(char *text, size_t bytes, const dive_spec *s)
{
    char layers[48], norm[64] = "no norm";
    const char *const curve = s->curve == gr_relu ? "ReLU" : s->curve == gr_sigmoid ? "sigmoid" : s->curve == gr_tanh ? "tanh" : "nonlinearity";
    if (s->depth == 2) snprintf(layers, sizeof layers, "784-%zu-%zu-10", s->hidden, s->hidden);
    else snprintf(layers, sizeof layers, "784, then %zu layers of %zu, then 10", s->depth, s->hidden);
    if (!s->bare) snprintf(norm, sizeof norm, "norm before %s on the hidden layers%s", curve, s->logits ? " and on the logits" : "");
    snprintf(text, bytes, "%s, %s, %s, He's weights, biases 0", layers, curve, norm);
}

static void lstm_text(char *text, size_t bytes, const dive_spec *s)
{
    char steps[64] = "28 rows of 28 pixels";
    const size_t side = s->pooled ? KIT_SIDE / s->pooled : 0;
    if (side) snprintf(steps, sizeof steps, "%zu pixels, means of %zu by %zu", side * side, s->pooled, s->pooled);
    snprintf(text, bytes,
             "LSTM of %zu units over %s, uniform weights and biases, forget bias +1, LN of %s, BN of W x, W h and the cell as in Cooijmans et "
             "al. (gains 0.1, statistics for each step)",
             s->hidden, steps, side ? DIVE_LN_OF_PIXELS : "W x, W h and the cell as in Ba et al.");
}

static void cnn_text(char *text, size_t bytes, const dive_spec *s)
{
    char norm[128] = "no norm";
    if (!s->bare)
        snprintf(norm, sizeof norm, "norm before ReLU%s, LN over channels and pixels with a gain for each channel",
                 s->convs ? " after the convolutions only" : "");
    snprintf(text, bytes, "conv%zu-pool-conv%zu-pool-fc%zu-fc10, %s, uniform weights and biases", s->hidden, 2 * s->hidden, 8 * s->hidden, norm);
}

static void transformer_text(char *text, size_t bytes, const dive_spec *s)
{
    snprintf(text, bytes,
             "causal Transformer on characters, %zu blocks of %zu, %d heads, %s, GELU, windows of %d, PyTorch's initial values", s->depth,
             s->hidden, HEADS, s->post ? "post-norm" : "pre-norm", TEXT_WINDOW);
}

const char *dive_spec_text(plot_figure *f, const dive_spec *spec, size_t batch)
{
    static void (*const write[DIVE_ARCHS])(char *, size_t, const dive_spec *) = { mlp_text, lstm_text, cnn_text, transformer_text };
    char text[400];
    const dive_spec s = with_defaults(*spec);
    write[s.arch](text, sizeof text, &s);
    const char *const optimizer = s.sgd ? "SGD" : s.rmsprop ? "RMSprop" : "Adam";
    if (isnan(spec->lr))
        return batch ? plot_figure_text(f, "%s, %s, batch %zu", text, optimizer, batch) : plot_figure_text(f, "%s, %s", text, optimizer);
    return plot_figure_text(f, "%s, %s, learning rate %g constant, batch %zu", text, optimizer, s.lr, batch);
}
