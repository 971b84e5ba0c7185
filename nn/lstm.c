/* nn/lstm.c - layers and directions of gr_lstm_sequence */
#include "core/op.h"
#include "nn/nn.h"
#include <stdio.h>
#include <string.h>

/* ---- Parameters ---- */

enum { LSTM_NAME = 64 };
typedef struct {
    gr_tape *t;
    gr_lstm *l;
    double bound;
    char suffix[LSTM_NAME / 2];
} lstm_maker;

static const char *lstm_name(const lstm_maker *m, char *name, const char *stem)
{
    snprintf(name, LSTM_NAME, "%s%s", stem, m->suffix);
    return name;
}

static gr_tensor *lstm_param(const lstm_maker *m, const char *stem, gr_shape shape)
{
    char name[LSTM_NAME];
    return gr_param(m->t, &m->l->module, lstm_name(m, name, stem), shape, gr_uniform(-m->bound, m->bound));
}

static gr_lstm_ln lstm_ln(const lstm_maker *m, const char *stem, unsigned bit, size_t size)
{
    char name[LSTM_NAME];
    if (!(m->l->config.norm & bit)) return (gr_lstm_ln){ NULL, NULL };
    gr_layer_norm_module *ln = gr_layer_norm_new(m->t, &m->l->module, lstm_name(m, name, stem), GR_SHAPE(size), NULL);
    return ln ? (gr_lstm_ln){ ln->weight, ln->bias } : (gr_lstm_ln){ NULL, NULL };
}

/* A batch norm for each time step. */
static gr_lstm_bn lstm_bn(const lstm_maker *m, const char *stem, size_t size, bool shift)
{
    char name[LSTM_NAME];
    gr_lstm_bn bn = { 0 };
    if (m->l->config.norm != GR_LSTM_BN) return bn;
    gr_module *module = gr_module_make(m->t, &m->l->module, lstm_name(m, name, stem), "RecurrentBatchNorm", sizeof *module);
    const gr_shape shape = GR_SHAPE(size), steps = GR_SHAPE(m->l->config.bn_steps, size);
    bn.weight = gr_param(m->t, module, "weight", shape, gr_constant(0.1));
    if (shift) bn.bias = gr_param(m->t, module, "bias", shape, gr_constant(0));
    bn.running_mean = gr_buffer(m->t, module, "running_mean", steps, 0);
    bn.running_var = gr_buffer(m->t, module, "running_var", steps, 1);
    return bn;
}

static gr_lstm_weights lstm_weights(const lstm_maker *m, size_t input)
{
    const gr_lstm_config *c = &m->l->config;
    const size_t H = m->l->hidden, G = 4 * H;
    gr_lstm_weights w = { .norm = c->norm };
    w.w_ih = lstm_param(m, "weight_ih", GR_SHAPE(G, input));
    w.w_hh = lstm_param(m, "weight_hh", GR_SHAPE(G, H));
    if (!c->no_bias) w.b_ih = lstm_param(m, c->norm ? "bias" : "bias_ih", GR_SHAPE(G));
    if (!c->no_bias && !c->norm) w.b_hh = lstm_param(m, "bias_hh", GR_SHAPE(G));
    w.ln_ih = lstm_ln(m, "ln_ih", GR_LSTM_LN_X, G);
    w.ln_hh = lstm_ln(m, "ln_hh", GR_LSTM_LN_H, G);
    w.ln_sum = lstm_ln(m, "ln_sum", GR_LSTM_LN_SUM, G);
    w.ln_c = lstm_ln(m, "ln_c", GR_LSTM_LN_C, H);
    w.bn_ih = lstm_bn(m, "bn_ih", G, false), w.bn_hh = lstm_bn(m, "bn_hh", G, false), w.bn_c = lstm_bn(m, "bn_c", H, true);
    for (size_t j = H; w.b_ih && j < 2 * H; j++) w.b_ih->data[j] += (gr_real)c->forget_bias;
    return w;
}

gr_lstm *gr_lstm_new(gr_tape *t, gr_module *parent, const char *name, size_t input, size_t hidden, const gr_lstm_config *config)
{
    gr_lstm_config c = config ? *config : (gr_lstm_config){ 0 };
    if (!c.layers) c.layers = 1;
    const size_t directions = c.bidirectional ? 2 : 1;
    const size_t room = (parent ? strlen(parent->path) : 0) + (name ? strlen(name) : LSTM_NAME) + sizeof "./dropout";
    size_t count, bytes;
    if (!gr_size_mul(c.layers, directions, &count) || !gr_size_mul(count, sizeof(gr_lstm_weights), &bytes) ||
        !gr_size_add(bytes, sizeof(gr_lstm) + 2 * room, &bytes))
        return gr_fail(t, NULL, "%s: an LSTM of %zu layers is too large for this machine", name ? name : "lstm", c.layers);
    gr_lstm *l = gr_module_make(t, parent, name, "LSTM", bytes);
    if (!l) return NULL;
    if (!hidden) gr_fail(t, NULL, "%s: an LSTM needs at least one hidden unit", l->module.path);
    if (c.norm && c.no_bias)
        gr_fail(t, NULL, "%s: no_bias with norms would start from all biases equal, where the gradient of empty rows explodes",
                l->module.path);
    if (c.norm == GR_LSTM_BN && !c.bn_steps)
        gr_fail(t, NULL, "%s: batch norms need bn_steps, the number of time steps that have statistics of their own", l->module.path);
    if (c.forget_bias != 0 && c.no_bias) gr_fail(t, NULL, "%s: forget_bias needs a bias; got no_bias", l->module.path);
    if (c.h0_noise < 0 && c.h0_noise != GR_NONE) gr_fail(t, NULL, "%s: h0_noise must not be negative; got %g", l->module.path, c.h0_noise);
    if (!(c.dropout >= 0 && c.dropout <= 1))
        gr_fail(t, NULL, "%s: the probability of dropout must be in [0, 1]; got %g", l->module.path, c.dropout);
    l->input = input, l->hidden = hidden, l->layers = c.layers, l->directions = directions, l->config = c;
    l->weights = (gr_lstm_weights *)(l + 1), l->stream = (char *)(l->weights + count);
    l->noise = l->stream + room;
    snprintf(l->stream, room, "%s/dropout", l->module.path), snprintf(l->noise, room, "%s/h0", l->module.path);
    for (size_t k = 0; k < count && !gr_failed(t); k++) {
        const size_t layer = k / directions, in = layer ? directions * hidden : input;
        lstm_maker m = { .t = t, .l = l, .bound = 1 / __builtin_sqrt((double)hidden) };
        snprintf(m.suffix, sizeof m.suffix, "_l%zu%s", layer, k % directions ? "_reverse" : "");
        l->weights[k] = lstm_weights(&m, in);
        l->module.multiply_adds += 4 * hidden * (in + hidden);
    }
    return gr_module_ready(t, &l->module) ? l : NULL;
}

/* ---- Forward ---- */

static bool lstm_check_state(gr_tape *t, const gr_lstm *l, const gr_op *op, const char *name, const gr_tensor *x, const gr_tensor *state)
{
    const size_t B = x->dim[!l->config.batch_first], n = l->layers * l->directions;
    if (!state || (state->rank == 3 && state->dim[0] == n && state->dim[1] == B && state->dim[2] == l->hidden)) return true;
    return gr_fail(t, op, "x is %s and %s has %zu layers of %zu directions and %zu units, so %s must be %s; got %s", gr_shape_text(t, x),
                   l->module.path, l->layers, l->directions, l->hidden, name, gr_shape_name(t, GR_SHAPE(n, B, l->hidden)),
                   gr_shape_text(t, state));
}

/* h0, in training with batch norms with noise. */
static gr_tensor *lstm_first(gr_tape *t, const gr_lstm *l, gr_tensor *h0, size_t B)
{
    const double noise = l->config.h0_noise == 0 ? 0.1 : l->config.h0_noise;
    if (l->config.norm != GR_LSTM_BN || noise == GR_NONE || !gr_tape_training(t)) return h0;
    gr_tensor *n = gr_randn(t, GR_SHAPE(l->layers * l->directions, B, l->hidden), 0, noise, l->noise);
    return h0 ? gr_add(t, h0, n) : n;
}

/* Number k of the states in [layers D, B, H]. */
static gr_tensor *lstm_state_of(gr_tape *t, gr_tensor *states, size_t k)
{
    return states ? gr_reshape(t, gr_slice(t, states, k, 1), GR_SHAPE(states->dim[1], states->dim[2])) : NULL;
}

static gr_tensor *lstm_states(gr_tape *t, gr_tensor *const *state, size_t n)
{
    if (n > 1 || !state[0]) return gr_stack(t, state, n, 0);
    return gr_reshape(t, state[0], GR_SHAPE(1, state[0]->dim[0], state[0]->dim[1]));
}

gr_lstm_out gr_lstm_forward(gr_tape *t, const gr_lstm *l, gr_tensor *x, const gr_lstm_input *input)
{
    static const gr_op op = { .name = "lstm" };
    const gr_lstm_out failed = { NULL, NULL, NULL };
    if (!l) return gr_fail(t, &op, "the module is NULL"), failed;
    const gr_lstm_input in = input ? *input : (gr_lstm_input){ 0 };
    const gr_lstm_config *c = &l->config;
    const size_t D = l->directions, n = l->layers * D;
    if (!gr_ready(t, &op, x)) return failed;
    GR_WITHIN(t, &l->module);
    if (x->rank != 3 || x->dim[2] != l->input)
        return gr_fail(t, &op, "x must be %s, %zu] for %s; got %s", c->batch_first ? "[B, T" : "[T, B", l->input, l->module.path,
                       gr_shape_text(t, x)),
               failed;
    if (!lstm_check_state(t, l, &op, "h0", x, in.h0) || !lstm_check_state(t, l, &op, "c0", x, in.c0)) return failed;
    gr_tensor *h0 = lstm_first(t, l, in.h0, x->dim[!c->batch_first]);
    gr_tensor **h = gr_save(t, n * sizeof *h), **last_c = gr_save(t, n * sizeof *h);
    for (size_t layer = 0; layer < l->layers && !gr_failed(t); layer++) {
        gr_tensor *y[2] = { NULL, NULL };
        for (size_t d = 0; d < D; d++) {
            const size_t k = layer * D + d;
            const gr_lstm_options o = { .h0 = lstm_state_of(t, h0, k),
                                        .c0 = lstm_state_of(t, in.c0, k),
                                        .lengths = in.lengths,
                                        .batch_first = c->batch_first,
                                        .reverse = d,
                                        .eps = c->eps,
                                        .momentum = c->momentum };
            const gr_lstm_out s = gr_lstm_sequence(t, x, &l->weights[k], &o);
            y[d] = s.y, h[k] = s.h, last_c[k] = s.c;
        }
        x = D == 2 ? gr_cat(t, y, 2, -1) : y[0];
        if (layer + 1 < l->layers && c->dropout > 0) x = gr_dropout(t, x, c->dropout, l->stream);
    }
    if (gr_failed(t)) return failed;
    const gr_lstm_out out = { x, lstm_states(t, h, n), lstm_states(t, last_c, n) };
    return gr_failed(t) ? failed : out;
}
