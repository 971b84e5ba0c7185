/* examples/dive/gradient_start.c - gradients before the first step: over the layers of a deep MLP, over the blocks of Transformers of growing
 * depth, and over time, for some gammas and for input rows without variance.
 *
 * Records: start/layers [batches, arms, layers]; start/depths [n] and start/last/KIND [n]: the second matrix of the last block;
 * start/blocks/DEPTH [none, pre, post; blocks]; start/gain/ARM [gains, 196]: the LSTM's hidden state; start/noise [noise, zeros; 28]: the same
 * where the first rows are blank. */
#include "core/op.h"
#include "examples/dive/exact.h"
#include "examples/dive/gradient_flow.h"
#include "gradus.h"
#include <math.h>
#include <string.h>

const size_t flow_batches[FLOW_BATCHES] = { 8, 64, 256 }, flow_depths[FLOW_DEPTHS] = { 2, 4, 8, 16, 31 };
const double flow_gains[FLOW_GAINS] = { 0.01, 0.05, 0.1, 0.5, 1 };

/* Read the gradients after the first step, whose graph was made with the initial weights. */
static bool look(kit_arms *a, size_t step, bool evaluated)
{
    const flow_looking *const l = a->user;
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

void flow_look(flow_looking *l, const flow_looked *arm, size_t n, size_t batch, size_t k)
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
    flow_looked arm[DIVE_ARMS];
    for (int i = 0; i < DIVE_ARMS; i++)
        arm[i] =
            (flow_looked){ dive_arm_name[i], dive_arm_norm[i], { .arch = DIVE_MLP, .hidden = flow_start_units(d), .depth = FLOW_LAYERS } };
    for (size_t b = 0; b < FLOW_BATCHES; b++)
        flow_look(&(flow_looking){ d, NULL, out[b][0], FLOW_LAYERS }, arm, DIVE_ARMS, flow_batches[b], 0);
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
        flow_looked arm[KINDS] = { { "none", GR_NORM_NONE, pre }, { "pre", GR_NORM_LAYER, pre }, { "post", GR_NORM_LAYER, pre } };
        arm[2].spec.post = true;
        for (size_t s = 0; s < seeds; s++) flow_look(&(flow_looking){ d, NULL, out[0], n }, arm, KINDS, 8, s);
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
    flow_looked arm[FLOW_GAINS];
    for (size_t i = 0; i < FLOW_GAINS; i++)
        arm[i] = (flow_looked){ dive_arm_name[which],
                                dive_arm_norm[which],
                                { .arch = DIVE_LSTM, .hidden = 32, .pooled = 2, .gain = flow_gains[i] } };
    flow_look(&(flow_looking){ d, NULL, out[0], FLOW_PLACES }, arm, FLOW_GAINS, 32, 0);
    dive_put(d, GR_SHAPE(FLOW_GAINS, FLOW_PLACES), out[0], "start/gain/%s", dive_arm_name[which]);
}

static void measure_noise(dive *d)
{
    double out[2][KIT_SIDE] = { { 0 } };
    const flow_looked arm = { "BN", GR_NORM_BATCH, { .arch = DIVE_LSTM, .hidden = 48 } };
    flow_look(&(flow_looking){ d, blank_loss, out[0], KIT_SIDE }, &arm, 1, 64, 0);
    flow_look(&(flow_looking){ d, zeros_loss, out[1], KIT_SIDE }, &arm, 1, 64, 0);
    dive_put(d, GR_SHAPE(2, KIT_SIDE), out[0], "start/noise");
}

void flow_start(dive *d, double begun, double share)
{
    const bool go_on = dive_tick(d, begun, "before training");
    if (go_on) measure_layers(d);
    if (go_on && dive_tick(d, begun + 0.3 * share, "before training")) measure_blocks(d);
    for (int i = 1; i < DIVE_ARMS && go_on && dive_tick(d, begun + (0.5 + 0.2 * i) * share, "before training"); i++) measure_gains(d, i);
    if (go_on) measure_noise(d);
    if (go_on && dive_tick(d, begun + 0.9 * share, "before training")) flow_theory(d);
}
