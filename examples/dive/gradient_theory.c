/* examples/dive/gradient_theory.c - gradients before training in the settings of two papers, and what changes when a part of the setting does.
 *
 * Records: start/theorem [pre, post; first and last of 12 blocks]: in the setting of the theorems of Xiong et al.; start/part [parts; pre, post]:
 * the exponent of the last block's gradient against the number of blocks, in Transformers on characters with a part as in the theorems;
 * start/rnn [rnns, gains]: the gradient at the first of 100 steps of an RNN, divided by that at the last. */
#include "core/op.h"
#include "examples/dive/exact.h"
#include "examples/dive/gradient_flow.h"
#include "examples/dive/numbers.h"
#include "gradus.h"
#include <math.h>

const char *const flow_part[FLOW_PARTS] = { "no positions", "not causal", "ReLU", "equal attention", "all four" };
const char *const flow_rnn[FLOW_RNNS] = { "random W, pixels", "random W, noise", "identity W, pixels", "identity W, noise" };

static dive_spec part_spec(const dive *d, size_t part, size_t blocks)
{
    const bool all = part == FLOW_PARTS - 1;
    return (dive_spec){ .arch = DIVE_TRANSFORMER,
                        .hidden = flow_start_size(d),
                        .depth = blocks,
                        .unplaced = all || part == 0,
                        .acausal = all || part == 1,
                        .relu = all || part == 2,
                        .equal = all || part == 3 };
}

static void measure_parts(dive *d)
{
    double at[FLOW_DEPTHS], exponent[FLOW_PARTS][2];
    const size_t depths = dive_pick(d, 2, FLOW_DEPTHS, FLOW_DEPTHS);
    for (size_t part = 0; part < FLOW_PARTS && !gr_failed(d->r->tape) && !kit_interrupted(); part++) {
        double last[2][FLOW_DEPTHS];
        for (size_t k = 0; k < depths; k++) {
            double out[2][DIVE_DEPTH] = { { 0 } };
            const size_t n = flow_depths[k];
            flow_looked arm[2] = { { "pre", GR_NORM_LAYER, part_spec(d, part, n) }, { "post", GR_NORM_LAYER, part_spec(d, part, n) } };
            arm[1].spec.post = true;
            for (size_t seed = 0; seed < dive_pick(d, 1, 3, 5); seed++) flow_look(&(flow_looking){ d, NULL, out[0], n }, arm, 2, 8, seed);
            at[k] = (double)n, last[0][k] = out[0][n - 1], last[1][k] = out[0][2 * n - 1];
        }
        for (size_t post = 0; post < 2; post++) exponent[part][post] = dive_exponent(at, last[post], depths);
    }
    dive_put(d, GR_SHAPE(FLOW_PARTS, 2), exponent[0], "start/part");
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

enum { STEPS = 100, B = 64, H = 100 };

static const double noise = 0.02; /* larger noise takes the place of the state, and the gradient vanishes for every gamma */

/* How much of a random gradient at the last of 100 steps reaches the first, in an RNN h = tanh(BN(W h) + a) with one gamma: a is BN(U x) of a
 * pixel x, or noise. */
static double carried_back(gr_tape *t, const gr_real *pixels, bool identity, double gain)
{
    gr_tape_reset(t);
    gr_tensor *const w = identity ? gr_zeros(t, GR_SHAPE(H, H)) : gr_randn(t, GR_SHAPE(H, H), 0, 1 / sqrt(H), "w");
    for (size_t i = 0; identity && w && i < H; i++) w->data[i * H + i] = 1;
    gr_tensor *const gamma = gr_full(t, GR_SHAPE(H), gain), *const u = gr_randn(t, GR_SHAPE(H, 1), 0, 1, "u");
    gr_tensor *const first = gr_want_grad(t, gr_randn(t, GR_SHAPE(B, H), 0, 0.1, "h0")), *h = first;
    for (size_t k = 0; k < STEPS; k++) {
        gr_tensor *x = pixels ? gr_zeros(t, GR_SHAPE(B, 1)) : gr_randn(t, GR_SHAPE(B, H), 0, noise, "x");
        for (size_t i = 0; pixels && x && i < B; i++) x->data[i] = pixels[i * KIT_PIXELS + KIT_PIXELS / 2 - STEPS / 2 + k];
        if (pixels) x = gr_batch_norm(t, gr_linear(t, x, u, NULL), -1, gamma, NULL, NULL);
        h = gr_tanh(t, gr_add(t, gr_batch_norm(t, gr_linear(t, h, w, NULL), -1, gamma, NULL, NULL), x));
    }
    const gr_tensor *const dh = gr_randn(t, GR_SHAPE(B, H), 0, 1, "dh");
    return dh && gr_backward_from(t, h, dh->data) ? flow_norm(t, first) / sqrt((double)(B * H)) : (double)NAN;
}

static void measure_rnn(dive *d)
{
    double back[FLOW_RNNS][FLOW_GAINS];
    gr_tape *const t = dive_tape(d, dive_seed(d, 0)), *const images = dive_tape(d, dive_seed(d, 0));
    kit_batches all = kit_batches_new(images, &d->data.test, B, false);
    const kit_batch b = gr_failed(images) ? (kit_batch){ 0 } : kit_next(&all);
    for (size_t k = 0; k < FLOW_RNNS; k++)
        for (size_t i = 0; i < FLOW_GAINS; i++)
            back[k][i] = b.n == B ? carried_back(t, k % 2 ? NULL : b.pixels, k >= 2, flow_gains[i]) : (double)NAN;
    dive_put(d, GR_SHAPE(FLOW_RNNS, FLOW_GAINS), back[0], "start/rnn");
    kit_batches_free(images, &all);
    dive_tape_free(d, images), dive_tape_free(d, t);
}

void flow_theory(dive *d) { measure_theorem(d), measure_rnn(d), measure_parts(d); }
