/* examples/dive/gradient_start.c - gradients before the first step: over the layers of a deep MLP, over the blocks of Transformers of growing
 * depth, and over time, for some gammas and for input rows without variance.
 *
 * Records: start/layers [batches, arms, layers]; start/depths [n] and start/last/KIND [n]: the second matrix of the last block;
 * start/blocks/DEPTH [none, pre, post; blocks]; start/gain/ARM [gains, 196]: the LSTM's hidden state; start/noise [noise, zeros; 28]: the same
 * where the first rows are blank; start/theorem [pre, post; first and last of 12 blocks]: in the setting of the theorems; start/rnn [gains]: the
 * gradient at the first of 100 steps of an RNN, divided by that at the last. */
#include "core/op.h"
#include "examples/dive/exact.h"
#include "examples/dive/gradient_flow.h"
#include "gradus.h"
#include <math.h>
#include <string.h>

const size_t flow_batches[FLOW_BATCHES] = { 8, 64, 256 }, flow_depths[FLOW_DEPTHS] = { 2, 4, 8, 16, 31 };
const double flow_gains[FLOW_GAINS] = { 0.01, 0.05, 0.1, 0.5, 1 };

typedef struct {
    dive *d;
    gr_tensor *(*loss)(kit_arm *, const void *, kit_score *); /* NULL means dive_loss */
    double *out;                                              /* [arms, places]; results are added to it */
    size_t places;
} looking;

/* Read the gradients after the first step, whose graph was made with the initial weights. */
static bool look(kit_arms *a, size_t step, bool evaluated)
{
    const looking *const l = a->user;
    double g[2][FLOW_PLACES];
    (void)step;
    for (size_t i = 0; !evaluated && i < a->n; i++) {
        if (!a->arm[i].diverged) flow_gradients(&a->arm[i], g);
        for (size_t k = 0; k < l->places; k++) l->out[i * l->places + k] += a->arm[i].diverged ? (double)NAN : g[0][k];
    }
    return true;
}

/* The loss on images whose first rows are blank, as in MNIST, so that all cases are equal there. */
static gr_tensor *blank_loss(kit_arm *arm, const void *batch, kit_score *score)
{
    kit_batch b = *(const kit_batch *)batch;
    gr_tensor *const x = gr_input(arm->tape, b.pixels, GR_SHAPE(b.n, KIT_PIXELS));
    for (size_t i = 0; x && i < b.n; i++) memset(x->data + i * KIT_PIXELS, 0, FLOW_BLANK * KIT_SIDE * sizeof *x->data);
    if (x) b.pixels = x->data;
    return dive_loss(arm, &b, score);
}

/* The same with zeros instead of noise as the initial state. */
static gr_tensor *zeros_loss(kit_arm *arm, const void *batch, kit_score *score)
{
    dive_model *const m = arm->model;
    kit_score noise = { 0 };
    if (!blank_loss(arm, batch, &noise)) return NULL; /* makes m->x, the input of the LSTM */
    m->state = gr_lstm_forward(arm->tape, m->lstm, m->x, &(gr_lstm_input){ .grad_norms = true });
    gr_tensor *const logits = gr_linear_forward(arm->tape, m->out, gr_select(arm->tape, m->state.h, 0, -1));
    return kit_classify(arm->tape, logits, ((const kit_batch *)batch)->labels, score);
}

/* Add the gradients of n arms on the first batch of the k-th seed to l->out. All arms read the same batch. */
typedef struct {
    const char *name;
    gr_norm_kind norm;
    dive_spec spec;
} looked_arm;
static void see(looking *l, const looked_arm *arm, size_t n, size_t batch, size_t k)
{
    dive_batches b;
    dive_spec spec[KIT_ARMS];
    kit_arms a = { .title = "before training" };
    if (!dive_batches_open(l->d, &b, &a, &arm->spec, batch, k)) return;
    a.build = flow_build, a.watch = look, a.user = l, a.steps = a.every = 1, a.source.test = 0, a.clip = 0;
    if (l->loss) a.loss = l->loss;
    for (size_t i = 0; i < n; i++) {
        spec[i] = arm[i].spec, spec[i].text = b.spec.text;
        kit_arms_add(&a, arm[i].name, (int)arm[i].norm), a.arm[i].user = &spec[i];
    }
    kit_arms_run(l->d->r, &a);
    dive_arms_free(&a), dive_batches_free(l->d, &b);
}

static void measure_layers(dive *d)
{
    double out[FLOW_BATCHES][DIVE_ARMS][FLOW_LAYERS] = { { { 0 } } };
    looked_arm arm[DIVE_ARMS];
    for (int i = 0; i < DIVE_ARMS; i++)
        arm[i] =
            (looked_arm){ dive_arm_name[i], dive_arm_norm[i], { .arch = DIVE_MLP, .hidden = flow_start_units(d), .depth = FLOW_LAYERS } };
    for (size_t b = 0; b < FLOW_BATCHES; b++) see(&(looking){ d, NULL, out[b][0], FLOW_LAYERS }, arm, DIVE_ARMS, flow_batches[b], 0);
    dive_put(d, GR_SHAPE(FLOW_BATCHES, DIVE_ARMS, FLOW_LAYERS), out[0][0], "start/layers");
}

/* Takes means over some seeds, because the gradient of a single network varies by tens of percent. */
static void measure_blocks(dive *d)
{
    enum { KINDS = 3 };
    double last[KINDS][FLOW_DEPTHS] = { { 0 } }, at[FLOW_DEPTHS];
    const size_t seeds = dive_pick(d, 1, 3, 5), depths = dive_pick(d, 3, FLOW_DEPTHS, FLOW_DEPTHS);
    for (size_t k = 0; k < depths; k++) {
        double out[KINDS][DIVE_DEPTH] = { { 0 } };
        const size_t n = flow_depths[k];
        const dive_spec pre = { .arch = DIVE_TRANSFORMER, .hidden = flow_start_size(d), .depth = n };
        looked_arm arm[KINDS] = { { "none", GR_NORM_NONE, pre }, { "pre", GR_NORM_LAYER, pre }, { "post", GR_NORM_LAYER, pre } };
        arm[2].spec.post = true;
        for (size_t s = 0; s < seeds; s++) see(&(looking){ d, NULL, out[0], n }, arm, KINDS, 8, s);
        for (size_t i = 0; i < KINDS; i++) {
            double *const row = out[0] + i * n;
            for (size_t j = 0; j < n; j++) row[j] /= (double)seeds;
            last[i][k] = row[n - 1];
        }
        at[k] = (double)n;
        dive_put(d, GR_SHAPE(KINDS, n), out[0], "start/blocks/%zu", n);
    }
    dive_put(d, GR_SHAPE(depths), at, "start/depths");
    for (size_t i = 0; i < KINDS; i++) dive_put(d, GR_SHAPE(depths), last[i], "start/last/%s", i == 0 ? "none" : i == 1 ? "pre" : "post");
}

static void measure_gains(dive *d, int which)
{
    double out[FLOW_GAINS][FLOW_PLACES] = { { 0 } };
    looked_arm arm[FLOW_GAINS];
    for (size_t i = 0; i < FLOW_GAINS; i++)
        arm[i] = (looked_arm){ dive_arm_name[which],
                               dive_arm_norm[which],
                               { .arch = DIVE_LSTM, .hidden = 32, .pooled = 2, .gain = flow_gains[i] } };
    see(&(looking){ d, NULL, out[0], FLOW_PLACES }, arm, FLOW_GAINS, 32, 0);
    dive_put(d, GR_SHAPE(FLOW_GAINS, FLOW_PLACES), out[0], "start/gain/%s", dive_arm_name[which]);
}

static void measure_theorem(dive *d)
{
    double ends[2][2] = { { 0 } };
    gr_tape *const t = dive_tape(d, dive_seed(d, 0));
    for (size_t draw = 0; draw < dive_pick(d, 2, 24, 24); draw++)
        for (int post = 0; post < 2; post++)
            for (int end = 0; end < 2; end++) ends[post][end] += dive_theorem_gradient(t, FLOW_THEOREM, end ? FLOW_THEOREM - 1 : 0, post);
    dive_put(d, GR_SHAPE(2, 2), ends[0], "start/theorem");
    dive_tape_free(d, t);
}

/* An RNN h = tanh(BN(W h)) without input, from a noisy state: how much of a random gradient at the last step reaches the first. */
static void measure_rnn(dive *d)
{
    enum { STEPS = 100, B = 64, H = 100 };
    double back[FLOW_GAINS] = { 0 };
    gr_tape *const t = dive_tape(d, dive_seed(d, 0));
    for (size_t i = 0; i < FLOW_GAINS && !gr_failed(t); i++) {
        gr_tape_reset(t);
        gr_tensor *const w = gr_randn(t, GR_SHAPE(H, H), 0, 1 / sqrt(H), "w"), *const gamma = gr_full(t, GR_SHAPE(H), flow_gains[i]);
        gr_tensor *const first = gr_want_grad(t, gr_randn(t, GR_SHAPE(B, H), 0, 0.1, "h0")), *h = first;
        for (size_t k = 0; k < STEPS; k++) h = gr_tanh(t, gr_batch_norm(t, gr_linear(t, h, w, NULL), -1, gamma, NULL, NULL));
        const gr_tensor *const dh = gr_randn(t, GR_SHAPE(B, H), 0, 1, "dh");
        if (dh && gr_backward_from(t, h, dh->data)) back[i] = flow_norm(t, first) / sqrt((double)(B * H));
    }
    dive_put(d, GR_SHAPE(FLOW_GAINS), back, "start/rnn");
    dive_tape_free(d, t);
}

static void measure_noise(dive *d)
{
    double out[2][KIT_SIDE] = { { 0 } };
    const looked_arm arm = { "BN", GR_NORM_BATCH, { .arch = DIVE_LSTM, .hidden = 48 } };
    see(&(looking){ d, blank_loss, out[0], KIT_SIDE }, &arm, 1, 64, 0);
    see(&(looking){ d, zeros_loss, out[1], KIT_SIDE }, &arm, 1, 64, 0);
    dive_put(d, GR_SHAPE(2, KIT_SIDE), out[0], "start/noise");
}

void flow_start(dive *d, double begun, double share)
{
    const bool go_on = dive_tick(d, begun, "before training");
    if (go_on) measure_layers(d);
    if (go_on && dive_tick(d, begun + 0.3 * share, "before training")) measure_blocks(d);
    for (int i = 1; i < DIVE_ARMS && go_on && dive_tick(d, begun + (0.5 + 0.2 * i) * share, "before training"); i++) measure_gains(d, i);
    if (go_on) measure_theorem(d), measure_rnn(d), measure_noise(d);
}
