/* nn/recurrent.c - layers and directions of gr_lstm_sequence, gr_gru_sequence and gr_rnn_sequence */
#include "nn/internal.h"
#include "ops/norm_groups.h"
#include "ops/sequence.h"

/* ---- Parameters ---- */

typedef struct {
    const char *kind, *article; /* "LSTM" */
    const gr__kind *of;         /* what the operator knows about it */
    gr_recurrent_out (*run)(gr_tape *t, gr_tensor *x, const gr_recurrent_weights *w, const gr_sequence_config *o);
} layer_kind;
static const layer_kind layer_kinds[] = {
    [GR_LSTM] = { "LSTM", "an", &gr__lstm_kind, gr_lstm_sequence }, [GR_GRU] = { "GRU", "a", &gr__gru_kind, gr_gru_sequence },
    [GR_RNN] = { "RNN", "an", &gr__rnn_kind, gr_rnn_sequence } };

/* One layer in one direction. */
typedef struct { gr_tape *t; gr_recurrent *l; double bound; char suffix[32], name[64]; } recurrent_maker;

static const char *recurrent_name(recurrent_maker *m, const char *stem)
{
    snprintf(m->name, sizeof m->name, "%s%s", stem, m->suffix);
    return m->name;
}

static gr_tensor *recurrent_param(recurrent_maker *m, const char *stem, gr_shape shape)
{
    return gr_param(m->t, &m->l->module, recurrent_name(m, stem), shape, gr_init_uniform(-m->bound, m->bound));
}

static gr_lstm_ln recurrent_ln(recurrent_maker *m, const char *stem, unsigned bit, size_t size)
{
    const gr_norm_config config = { .eps = m->l->config.eps };
    const bool wanted = m->l->config.norm & bit;
    const gr_norm *ln = wanted ? gr_layer_norm_new(m->t, &m->l->module, recurrent_name(m, stem), GR_SHAPE(size), &config) : NULL;
    return ln ? (gr_lstm_ln){ ln->weight, ln->bias } : (gr_lstm_ln){ NULL, NULL };
}

/* A batch norm with statistics of its own for each time step. */
static gr_lstm_bn recurrent_bn(recurrent_maker *m, const char *stem, size_t size, bool shift)
{
    gr_lstm_bn bn = { 0 };
    if (m->l->config.norm != GR_LSTM_BN) return bn;
    gr_module *module = gr_module_make(m->t, &m->l->module, recurrent_name(m, stem), "RecurrentBatchNorm", sizeof *module);
    if (module) module->is_norm = true;
    const gr_shape shape = GR_SHAPE(size), steps = GR_SHAPE(m->l->config.bn_steps, size);
    bn.weight = gr_param(m->t, module, "weight", shape, gr_init_constant(0.1));
    if (shift) bn.bias = gr_param(m->t, module, "bias", shape, gr_init_constant(0));
    bn.running_mean = gr_buffer(m->t, module, "running_mean", steps, 0), bn.running_var = gr_buffer(m->t, module, "running_var", steps, 1);
    return bn;
}

static gr_recurrent_weights recurrent_weights(recurrent_maker *m, size_t input)
{
    const gr_recurrent_config *c = &m->l->config;
    const size_t H = m->l->hidden, G = layer_kinds[m->l->kind].of->gates * H;
    gr_recurrent_weights w = { .norm = c->norm };
    w.w_ih = recurrent_param(m, "weight_ih", GR_SHAPE(G, input)), w.w_hh = recurrent_param(m, "weight_hh", GR_SHAPE(G, H));
    if (!c->no_bias) w.b_ih = recurrent_param(m, c->norm ? "bias" : "bias_ih", GR_SHAPE(G));
    if (!c->no_bias && !c->norm) w.b_hh = recurrent_param(m, "bias_hh", GR_SHAPE(G));
    w.ln_ih = recurrent_ln(m, "ln_ih", GR_LSTM_LN_X, G), w.ln_hh = recurrent_ln(m, "ln_hh", GR_LSTM_LN_H, G);
    w.ln_sum = recurrent_ln(m, "ln_sum", GR_LSTM_LN_SUM, G), w.ln_c = recurrent_ln(m, "ln_c", GR_LSTM_LN_C, H);
    w.bn_ih = recurrent_bn(m, "bn_ih", G, false), w.bn_hh = recurrent_bn(m, "bn_hh", G, false), w.bn_c = recurrent_bn(m, "bn_c", H, true);
    for (size_t j = H; w.b_ih && m->l->kind == GR_LSTM && j < 2 * H; j++) w.b_ih->data[j] += (gr_real)c->forget_bias;
    return w;
}

static void recurrent_check(gr_tape *t, const gr_recurrent *l)
{
    const gr_recurrent_config *c = &l->config;
    const layer_kind *const kind = &layer_kinds[l->kind];
    const char *path = l->module.path;
    const gr_op op = { .name = path }; /* errors begin with it */
    const char *const of_lstm = c->forget_bias != 0 ? "forget_bias" : c->bn_steps ? "bn_steps" : c->h0_noise != 0 ? "h0_noise" : NULL;
    gr__size_is_positive(t, &l->module, "input", l->input);
    gr__size_is_positive(t, &l->module, "hidden", l->hidden);
    gr__sequence_check_norm(t, &op, kind->of, c->norm);
    if (c->norm && c->no_bias)
        gr_fail(t, NULL, "%s: no_bias is not allowed with norms: all biases would start equal, and the gradient of rows of zeros would explode", path);
    if (c->relu && l->kind != GR_RNN) gr_fail(t, NULL, "%s: relu is for an RNN, not for %s %s", path, kind->article, kind->kind);
    if (of_lstm && l->kind != GR_LSTM) gr_fail(t, NULL, "%s: %s is for an LSTM, not for %s %s", path, of_lstm, kind->article, kind->kind);
    if (c->forget_bias != 0 && c->no_bias) gr_fail(t, NULL, "%s: forget_bias needs a bias; got no_bias", path);
    if (c->norm == GR_LSTM_BN && !c->bn_steps)
        gr_fail(t, NULL, "%s: batch norms need bn_steps, the number of time steps that have statistics of their own", path);
    if (!(c->h0_noise >= 0) && c->h0_noise != GR_NONE) gr_fail(t, NULL, "%s: h0_noise must not be negative; got %g", path, c->h0_noise);
    if (!(c->dropout >= 0 && c->dropout <= 1)) gr_fail(t, NULL, "%s: the probability of dropout must be in [0, 1]; got %g", path, c->dropout);
    if (gr__norm_check_eps(t, &op, c->eps)) gr__norm_check_momentum(t, &op, c->momentum);
}

gr_recurrent *gr_recurrent_new(gr_tape *t, gr_module *parent, const char *name, gr_recurrent_kind which, size_t input, size_t hidden,
                               const gr_recurrent_config *config)
{
    if (gr_failed(t)) return NULL;
    if ((unsigned)which > GR_RNN) return gr_fail(t, NULL, "%s: the kind must be GR_LSTM, GR_GRU or GR_RNN; got %d", name ? name : "recurrent", (int)which);
    const layer_kind *const kind = &layer_kinds[which];
    gr_recurrent_config c = config ? *config : (gr_recurrent_config){ 0 };
    if (!c.layers) c.layers = 1;
    const size_t directions = c.bidirectional ? 2 : 1, room = gr__stream_room(parent, name, "dropout");
    size_t count, bytes;
    if (!gr_size_mul(c.layers, directions, &count) || !gr_size_mul(count, sizeof(gr_recurrent_weights), &bytes) ||
        !gr_size_add(bytes, sizeof(gr_recurrent) + 2 * room, &bytes))
        return gr_fail(t, NULL, "%s: %s %s of %zu layers is too large for this machine", name ? name : kind->of->op->name, kind->article, kind->kind, c.layers);
    gr_recurrent *l = gr_module_make(t, parent, name, kind->kind, bytes);
    if (!l) return NULL;
    l->kind = which, l->input = input, l->hidden = hidden, l->layers = c.layers, l->directions = directions, l->config = c;
    l->weights = (gr_recurrent_weights *)(l + 1), l->stream = gr__stream_name((char *)(l->weights + count), &l->module, "dropout");
    l->noise = gr__stream_name(l->stream + room, &l->module, "h0");
    recurrent_check(t, l);
    for (size_t k = 0; k < count && !gr_failed(t); k++) {
        const size_t layer = k / directions, in = layer ? directions * hidden : input;
        recurrent_maker m = { .t = t, .l = l, .bound = 1 / __builtin_sqrt((double)hidden) };
        snprintf(m.suffix, sizeof m.suffix, "_l%zu%s", layer, k % directions ? "_reverse" : "");
        l->weights[k] = recurrent_weights(&m, in);
        l->module.multiply_adds += kind->of->gates * hidden * (in + hidden);
    }
    return gr_module_ready(t, &l->module) ? l : NULL;
}

/* ---- Forward ---- */

static bool recurrent_check_state(gr_tape *t, const gr_recurrent *l, const gr_op *op, const char *name, const gr_tensor *x, const gr_tensor *state)
{
    const size_t B = x->dim[!l->config.batch_first], n = l->layers * l->directions;
    if (!gr_alive(t, op, name, state)) return false;
    if (!state || (state->rank == 3 && state->dim[0] == n && state->dim[1] == B && state->dim[2] == l->hidden)) return true;
    return gr_fail(t, op, "x is %s, and there are %zu layers of %zu directions and %zu units, so %s must be %s; got %s", gr_shape_text(t, x),
                   l->layers, l->directions, l->hidden, name, gr_shape_name(t, GR_SHAPE(n, B, l->hidden)), gr_shape_text(t, state));
}

/* h0; with batch norms, in training, noise is added. */
static gr_tensor *recurrent_first(gr_tape *t, const gr_recurrent *l, gr_tensor *h0, size_t B)
{
    const double noise = l->config.h0_noise == 0 ? 0.1 : l->config.h0_noise;
    if (l->config.norm != GR_LSTM_BN || noise == GR_NONE || !gr_tape_training(t)) return h0;
    gr_tensor *n = gr_randn(t, GR_SHAPE(l->layers * l->directions, B, l->hidden), 0, noise, l->noise);
    return h0 ? gr_add(t, h0, n) : n;
}

/* The state of layer and direction k, of states [layers D, B, H]. */
static gr_tensor *recurrent_state_of(gr_tape *t, gr_tensor *states, size_t k)
{
    return states ? gr_reshape(t, gr_slice(t, states, k, 1), GR_SHAPE(states->dim[1], states->dim[2])) : NULL;
}

static gr_tensor *recurrent_states(gr_tape *t, gr_tensor *const *state, size_t n)
{
    return n > 1 ? gr_stack(t, state, n, 0) : gr_reshape(t, state[0], GR_SHAPE(1, state[0]->dim[0], state[0]->dim[1]));
}

static double *recurrent_record(gr_tape *t, const gr_op *op, size_t n, size_t T)
{
    size_t count, bytes;
    if (gr_size_mul(n, T, &count) && gr_size_mul(count, sizeof(double), &bytes)) return gr_save_zeros(t, bytes);
    return gr_fail_as(t, GR_NO_MEMORY, op->name, "out of memory: norms of %zu steps", T);
}

static gr_recurrent_out recurrent_forward(gr_tape *t, const gr_recurrent *l, gr_tensor *x, const gr_recurrent_input *input, gr_recurrent_kind which)
{
    const layer_kind *const kind = &layer_kinds[which];
    const gr_op *op = kind->of->op;
    const gr_recurrent_out failed = { 0 };
    if (!l) return gr_fail(t, op, "the module is NULL"), failed;
    GR_WITHIN(t, &l->module);
    if (!gr_ready(t, op, x)) return failed;
    const gr_recurrent_input in = input ? *input : (gr_recurrent_input){ 0 };
    const gr_recurrent_config *c = &l->config;
    const size_t D = l->directions, n = l->layers * D;
    if (x->rank != 3 || x->dim[2] != l->input)
        return gr_fail(t, op, "x must be %s, %zu]; got %s", c->batch_first ? "[B, T" : "[T, B", l->input, gr_shape_text(t, x)), failed;
    if (!recurrent_check_state(t, l, op, "h0", x, in.h0) || !recurrent_check_state(t, l, op, "c0", x, in.c0)) return failed;
    const size_t T = x->dim[c->batch_first];
    const bool lstm = kind->of->has_c;
    gr_recurrent_out out = { 0 };
    if (in.grad_norms) out.dh_norm = recurrent_record(t, op, n, T);
    if (in.grad_norms && lstm) out.dc_norm = recurrent_record(t, op, n, T);
    gr_tensor *h0 = recurrent_first(t, l, in.h0, x->dim[!c->batch_first]);
    gr_tensor **h = gr_save(t, n * sizeof *h), **last_c = gr_save(t, n * sizeof *h);
    for (size_t layer = 0; layer < l->layers && !gr_failed(t); layer++) {
        gr_tensor *y[2] = { NULL, NULL };
        for (size_t d = 0; d < D; d++) {
            const size_t k = layer * D + d;
            const gr_sequence_config o = {
                .h0 = recurrent_state_of(t, h0, k), .c0 = recurrent_state_of(t, in.c0, k), .lengths = in.lengths,
                .batch_first = c->batch_first, .reverse = d, .relu = c->relu, .eps = c->eps, .momentum = c->momentum,
                .dh_norm = out.dh_norm ? out.dh_norm + k * T : NULL, .dc_norm = out.dc_norm ? out.dc_norm + k * T : NULL };
            const gr_recurrent_out s = kind->run(t, x, &l->weights[k], &o);
            y[d] = s.y, h[k] = s.h, last_c[k] = s.c;
        }
        x = D == 2 ? gr_cat(t, y, 2, -1) : y[0];
        if (layer + 1 < l->layers && c->dropout > 0) x = gr_dropout(t, x, c->dropout, l->stream);
    }
    if (gr_failed(t)) return failed;
    out.y = x, out.h = recurrent_states(t, h, n), out.c = lstm ? recurrent_states(t, last_c, n) : NULL;
    return gr_failed(t) ? failed : out;
}

gr_recurrent_out gr_recurrent_forward(gr_tape *t, const gr_recurrent *l, gr_tensor *x, const gr_recurrent_input *input)
{
    if (!l) return gr_fail_as(t, GR_MISUSE, "recurrent", "the module is NULL"), (gr_recurrent_out){ 0 };
    return recurrent_forward(t, l, x, input, l->kind);
}

/* ---- The three types ---- */

#define TYPE(type, kind) \
    type *type##_new(gr_tape *t, gr_module *parent, const char *name, size_t input, size_t hidden, const gr_recurrent_config *config) \
    { \
        return (type *)gr_recurrent_new(t, parent, name, kind, input, hidden, config); \
    } \
    gr_recurrent_out type##_forward(gr_tape *t, const type *l, gr_tensor *x, const gr_recurrent_input *input) \
    { \
        return recurrent_forward(t, l ? &l->recurrent : NULL, x, input, kind); \
    }
TYPE(gr_lstm, GR_LSTM) TYPE(gr_gru, GR_GRU) TYPE(gr_rnn, GR_RNN)
#undef TYPE
