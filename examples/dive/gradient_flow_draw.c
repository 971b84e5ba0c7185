/* examples/dive/gradient_flow_draw.c - the figure and the claims of gradient_flow. */
#include "core/op.h"
#include "examples/dive/gradient_flow.h"
#include "examples/dive/numbers.h"
#include "examples/dive/seeds.h"
#include <math.h>
#include <string.h>

/* ==== Reading the records ==== */

typedef struct {
    size_t frames, places;
    double *g;
} flow; /* g [frames, places], or NULL without a record */

/* The geometric mean over the seeds, because gradients range over decades. */
static flow flow_of(const dive *d, gr_tape *t, size_t net, const char *arm, const char *what)
{
    const size_t seeds = (size_t)plot_runs_value(&d->runs, "gradient_flow", "seeds");
    const char *const name = net == FLOW_POST && !strcmp(arm, "none") ? flow_nets[FLOW_PRE].name : flow_nets[net].name;
    flow f = { .g = NULL };
    for (size_t s = 0; s < seeds; s++) {
        const plot_record *const r = plot_runs_get(&d->runs, "gradient_flow", "%s/%s/%zu/%s", name, arm, s, what);
        if (!r || r->shape.rank != 2) return (flow){ .g = NULL };
        if (!s) f = (flow){ r->shape.dim[0], r->shape.dim[1], gr_save_zeros(t, r->n * sizeof *f.g) };
        if (!f.g || r->n != f.frames * f.places) return (flow){ .g = NULL };
        for (size_t i = 0; i < r->n; i++) f.g[i] += log(r->values[i]) / (double)seeds;
    }
    for (size_t i = 0; f.g && i < f.frames * f.places; i++) f.g[i] = exp(f.g[i]);
    return f;
}

/* flow_decades of a frame, or of the last frame if the number is too large. */
static double decades(const flow *f, size_t frame)
{
    if (!f->g) return (double)NAN;
    const size_t k = frame < f->frames ? frame : f->frames - 1;
    return flow_decades(f->g + k * f->places, f->places);
}

/* Rounded to one decimal, without -0.0. */
static double tenths(double x) { return floor(10 * x + 0.5) / 10; }

static const char *decades_text(plot_figure *f, double x) { return isnan(x) ? "diverged" : plot_figure_text(f, "%+.1f", tenths(x)); }

/* The mean |decades| over all frames; NaN if a seed diverged. */
static double unevenness(const flow *f)
{
    double sum = 0;
    for (size_t k = 0; f->g && k < f->frames; k++) sum += fabs(decades(f, k)) / (double)f->frames;
    return f->g ? sum : (double)NAN;
}

static double start_value(const dive *d, size_t i, const char *name)
{
    const plot_record *const r = plot_runs_get(&d->runs, "gradient_flow", "start/%s", name);
    return r && i < r->n ? r->values[i] : (double)NAN;
}

static double growth(const dive *d, size_t batch, size_t arm)
{
    const plot_record *const r = plot_runs_get(&d->runs, "gradient_flow", "start/layers");
    return r ? flow_growth(r->values + (batch * DIVE_ARMS + arm) * FLOW_LAYERS, FLOW_LAYERS, 5) : (double)NAN;
}

/* ==== Panels that move ==== */

enum { MOVING = 8, LAST = FLOW_FRAMES /* see decades */ };
static const struct {
    size_t net;
    const char *what, *title, *note, *x, *y;
} moving[MOVING] = {
    { FLOW_MLP, "grad", "MLP of 20 layers, He's weights", NULL, "layer, from the input", "|dL/d(W x + b)|" },
    { FLOW_SMALL, "grad", "The same, weights too small", "0.41 times He's: PyTorch's default", "layer, from the input", "|dL/d(W x + b)|" },
    { FLOW_PRE, "grad", "Transformer of 12 blocks, pre-norm", NULL, "block, from the input", "|dL/dW2|" },
    { FLOW_POST, "grad", "The same, post-norm", "none: see pre-norm", "block, from the input", "|dL/dW2|" },
    { FLOW_ROWS, "dh", "LSTM over 28 rows: hidden state", NULL, "row", "|dL/dh_t|" },
    { FLOW_ROWS, "dc", "LSTM over 28 rows: cell state", NULL, "row", "|dL/dc_t|" },
    { FLOW_PIXELS, "dh", "LSTM over 196 pixels: hidden state", NULL, "pixel", "|dL/dh_t|" },
    { FLOW_PIXELS, "dc", "LSTM over 196 pixels: cell state", NULL, "pixel", "|dL/dc_t|" },
};

/* Add a moving line and the ghost of its first frame. Long sequences show every second step, the last one included. */
static void add_flow(plot_panel *p, const flow *f, const char *name, plot_ink ink)
{
    gr_tape *const t = p ? p->figure->t : NULL;
    const size_t by = f->places > 100 ? 2 : 1, n = f->places / by;
    double *const x = f->g ? gr_save(t, n * sizeof *x) : NULL, *const y = x ? gr_save(t, f->frames * n * sizeof *y) : NULL;
    if (!y) return;
    for (size_t k = 0; k < n; k++) x[k] = (double)(by * (k + 1));
    for (size_t i = 0; i < f->frames * n; i++) y[i] = f->g[i / n * f->places + by * (i % n + 1) - 1];
    plot_series_add(p, &(plot_series){ .ink = ink, .n = n, .x = x, .y = y, .ghost = true });
    plot_series_add(
        p, &(plot_series){ .name = name, .ink = ink, .mark = n < 30 ? PLOT_LINE_DOTS : PLOT_LINE, .n = n, .x = x, .y = y, .moves = true });
}

static void draw_moving(const dive *d, plot_figure *f)
{
    for (size_t m = 0; m < MOVING; m++) {
        const flow none = flow_of(d, f->t, moving[m].net, dive_arm_name[0], moving[m].what);
        const char *const note = moving[m].note ? moving[m].note : isnan(decades(&none, LAST)) ? "without a norm it diverges" : NULL;
        plot_panel *const p = plot_panel_new(
            f, &(plot_panel){ .title = moving[m].title, .note = note, .x = { moving[m].x }, .y = { moving[m].y, .log = true } });
        for (size_t i = moving[m].net == FLOW_POST; i < DIVE_ARMS; i++) {
            const flow w = flow_of(d, f->t, moving[m].net, dive_arm_name[i], moving[m].what);
            add_flow(p, &w, dive_arm_name[i], (plot_ink)(PLOT_INK_NONE + i));
        }
        if (moving[m].net != FLOW_POST) continue;
        const flow w = flow_of(d, f->t, FLOW_POST, FLOW_WARM, "grad");
        add_flow(p, &w, FLOW_WARM, PLOT_INK_GN);
    }
}

static void draw_table(const dive *d, plot_figure *f)
{
    static const char *const head[1 + DIVE_ARMS] = { "log10(first / last)", "none", "BN", "LN" };
    const char *text[MOVING][1 + DIVE_ARMS];
    for (size_t m = 0; m < MOVING; m++) {
        text[m][0] = plot_figure_text(f, "%s, %s", flow_nets[moving[m].net].title, moving[m].y);
        for (size_t i = 0; i < DIVE_ARMS; i++) {
            const flow w = flow_of(d, f->t, moving[m].net, dive_arm_name[i], moving[m].what);
            text[m][1 + i] = plot_figure_text(f, "%s, then %s", decades_text(f, decades(&w, 0)), decades_text(f, decades(&w, LAST)));
        }
    }
    plot_panel *const p = plot_panel_new(
        f, &(plot_panel){ .title = "From the last layer or step to the first",
                          .note = "before training, then at the end; above 0 the gradient explodes on its way back, below 0 it vanishes" });
    plot_table_set(p, &(plot_table){ .rows = MOVING, .columns = 1 + DIVE_ARMS, .head = head, .text = text[0], .verdict = -1 });
}

/* ==== Panels before training ==== */

/* Add row `row` of a record [.., n] against x, or against 1 .. n. */
static void add_row(plot_panel *p, const plot_record *r, size_t row, size_t n, const double *x, const char *name, plot_ink ink)
{
    double *const count = p ? gr_save(p->figure->t, n * sizeof *count) : NULL;
    if (!count || !r || r->n < (row + 1) * n) return;
    for (size_t k = 0; k < n; k++) count[k] = (double)(k + 1);
    plot_series_add(
        p,
        &(plot_series){
            .name = name, .ink = ink, .mark = n < 30 ? PLOT_LINE_DOTS : PLOT_LINE, .n = n, .x = x ? x : count, .y = r->values + row * n });
}

static void draw_start(const dive *d, plot_figure *f)
{
    const plot_runs *const r = &d->runs;
    const char *const figure = f->name;
    plot_panel *p =
        plot_panel_new(f, &(plot_panel){ .title = "Before training: 30 layers",
                                         .x = { "layer, from the input" },
                                         .y = { "|dL/d(W x + b)|", .log = true },
                                         .note = plot_figure_text(f, "BN: squared norm times %.2f per layer", growth(d, 1, 1)) });
    for (size_t i = 0; i < DIVE_ARMS; i++)
        add_row(p, plot_runs_get(r, figure, "start/layers"), DIVE_ARMS + i, FLOW_LAYERS, NULL, dive_arm_name[i],
                (plot_ink)(PLOT_INK_NONE + i));

    static const struct {
        const char *kind, *name;
        plot_ink ink;
    } kind[3] = { { "none", "none", PLOT_INK_NONE }, { "pre", "LN, pre-norm", PLOT_INK_LN }, { "post", "LN, post-norm", PLOT_INK_RMS } };
    const plot_record *const depths = plot_runs_get(r, figure, "start/depths");
    p = plot_panel_new(f, &(plot_panel){ .title = "Before training: 2 to 31 blocks",
                                         .x = { "blocks", .log = true },
                                         .y = { "|dL/dW2| of the last block", .log = true } });
    for (size_t i = 0; i < 3 && depths; i++)
        add_row(p, plot_runs_get(r, figure, "start/last/%s", kind[i].kind), 0, depths->n, depths->values, kind[i].name, kind[i].ink);

    for (size_t a = 1; a < DIVE_ARMS; a++) {
        p = plot_panel_new(f, &(plot_panel){ .title = plot_figure_text(f, "Before training: gamma in the %s-LSTM", dive_arm_name[a]),
                                             .x = { "pixel" },
                                             .y = { "|dL/dh_t|", .log = true } });
        for (size_t i = 0; i < FLOW_GAINS; i++)
            add_row(p, plot_runs_get(r, figure, "start/gain/%s", dive_arm_name[a]), i, FLOW_PLACES, NULL,
                    plot_figure_text(f, "gamma %g", flow_gains[i]), (plot_ink)(PLOT_INK_RAMP0 + i));
    }
    p = plot_panel_new(f, &(plot_panel){ .title = "Before training: blank rows in the BN-LSTM",
                                         .note = plot_figure_text(f, "rows 1 to %d are blank", FLOW_BLANK),
                                         .x = { "row" },
                                         .y = { "|dL/dh_t|", .log = true } });
    add_row(p, plot_runs_get(r, figure, "start/noise"), 0, KIT_SIDE, NULL, "BN, from noise", PLOT_INK_BN);
    add_row(p, plot_runs_get(r, figure, "start/noise"), 1, KIT_SIDE, NULL, "BN, from zeros", PLOT_INK_QUIET);
}

void dive_gradient_flow_draw(const dive *d, plot_figure *f)
{
    const plot_record *const frames = plot_runs_get(&d->runs, f->name, "frames");
    f->title = "Gradient flow over layers and time";
    if (frames) plot_figure_frames(f, "step", frames->values, frames->n);
    plot_figure_says(f, PLOT_SAY_QUESTION, "The loss is at the last layer and time step: how much of its gradient reaches the first?");
    draw_moving(d, f), draw_start(d, f), draw_table(d, f);
    double first[DIVE_ARMS], last[DIVE_ARMS], small[DIVE_ARMS], depth[DIVE_ARMS];
    for (size_t i = 0; i < DIVE_ARMS; i++) {
        const flow w = flow_of(d, f->t, FLOW_PIXELS, dive_arm_name[i], "dh"), s = flow_of(d, f->t, FLOW_SMALL, dive_arm_name[i], "grad"),
                   m = flow_of(d, f->t, FLOW_MLP, dive_arm_name[i], "grad");
        first[i] = tenths(decades(&w, 0)), last[i] = tenths(decades(&w, LAST)), small[i] = tenths(decades(&s, 0)),
        depth[i] = tenths(decades(&m, 0));
    }
    plot_figure_says(f, PLOT_SAY_NUMBER,
                     "Before training, over 196 time steps back, the gradient changes by a factor of 10^%.1f without a norm, 10^%.1f with "
                     "BatchNorm and 10^%.1f with LayerNorm",
                     first[0], first[1], first[2]);
    const flow cold = flow_of(d, f->t, FLOW_POST, "LN", "grad"), warm = flow_of(d, f->t, FLOW_POST, FLOW_WARM, "grad");
    plot_figure_says(
        f, PLOT_SAY_CAPTION,
        "A level line means that the gradient keeps its size; pale lines show it before training. All changes are in decades, on the way "
        "from the last layer or step back to the first. Over 196 pixels the gradient of the LSTM without a norm changes by %+.1f decades "
        "before training and %+.1f at the end, with BatchNorm %+.1f and %+.1f, with LayerNorm %+.1f and %+.1f. He's weights fit an MLP "
        "without a norm: over 20 layers it has %+.1f decades, with BatchNorm %+.1f, with LayerNorm %+.1f; with weights that are too small "
        "%+.1f, %+.1f and %+.1f. Post-norm with LayerNorm ends at %+.1f, and at %+.1f with a warm-up of %zu steps. The other panels are "
        "before training: BatchNorm multiplies the squared gradient by %.2f per layer, LayerNorm by %.2f; over time the change depends on "
        "gamma; if the first %d rows are blank and the initial state is zero, BatchNorm makes the gradient %.1g times as large at the "
        "first row as at the fifth, and %.1f times if the initial state is noise. A frame is a mean over three batches.",
        first[0], last[0], first[1], last[1], first[2], last[2], depth[0], depth[1], depth[2], small[0], small[1], small[2],
        tenths(decades(&cold, LAST)), tenths(decades(&warm, LAST)), flow_warm_steps(d), growth(d, 1, 1), growth(d, 1, 2), FLOW_BLANK,
        start_value(d, KIT_SIDE, "noise") / start_value(d, KIT_SIDE + FLOW_BLANK, "noise"),
        start_value(d, 0, "noise") / start_value(d, FLOW_BLANK, "noise"));
    plot_figure_says(
        f, PLOT_SAY_SETTINGS,
        "%s. Adam, learning rate 0.001. LSTM over rows: 48 units, batch 64; over pixels: 32 units, batch 32; both with uniform weights and "
        "biases, forget bias +1, clip 1. MLP: 64 units, biases 0, batch 64. Transformer on characters of %s: size 32, matrices from "
        "N(0, 2 / (in + out)) as in Xiong et al. 2020, batch 12. Before training: MLP of %zu units, batch %zu; Transformers of size %zu, "
        "batch 8, means over seeds; gammas: LSTM of 32 units over 196 pixels; blank rows: LSTM of 48 units over 28 rows.",
        d->preprocessing, d->text ? "a text" : "made-up sentences", flow_start_units(d), flow_batches[1], flow_start_size(d));
}

/* ==== Claims ==== */

static const char *const OFTEN_SAID = "often said: smoother gradients over layers and time";

/* Whether the gradient is more even with LN than without a norm, before training and on average during it. */
static void claim_even(const dive *d, dive_claims *c, const size_t *panels, size_t n, const char *statement, const char *why)
{
    gr_tape *const t = c->f->t;
    dive_verdict each[2 * MOVING];
    const char *measured = "decades for none, BN and LN before training (mean |decades| during training):";
    for (size_t k = 0; k < n; k++) {
        double start[DIVE_ARMS], through[DIVE_ARMS];
        for (size_t i = 0; i < DIVE_ARMS; i++) {
            const flow w = flow_of(d, t, moving[panels[k]].net, dive_arm_name[i], moving[panels[k]].what);
            start[i] = decades(&w, 0), through[i] = unevenness(&w);
        }
        each[2 * k] = fabs(start[2]) < fabs(start[0]) ? DIVE_PASS : DIVE_FAIL,
                 each[2 * k + 1] = !(through[2] >= through[0]) ? DIVE_PASS : DIVE_FAIL;
        const char *size[DIVE_ARMS];
        for (size_t i = 0; i < DIVE_ARMS; i++) size[i] = isnan(through[i]) ? "diverged" : plot_figure_text(c->f, "%.1f", through[i]);
        measured = plot_figure_text(c->f, "%s%s %s %+.1f, %+.1f, %+.1f (%s, %s, %s)", measured, k ? ";" : "",
                                    flow_nets[moving[panels[k]].net].title, tenths(start[0]), tenths(start[1]), tenths(start[2]), size[0],
                                    size[1], size[2]);
    }
    dive_claim_add(c, &(dive_claim){ .statement = statement,
                                     .source = OFTEN_SAID,
                                     .measured = measured,
                                     .control = "no norm, with the same batches",
                                     .why = why,
                                     .verdict = dive_together(each, 2 * n) });
}

static void claim_start(const dive *d, dive_claims *c)
{
    const double bn = growth(d, 1, 1), wide = growth(d, 2, 1), ln = growth(d, 1, 2), none = growth(d, 1, 0);
    const bool explodes = bn > 1.3 && bn < 1.55 && wide > 1.3 && wide<1.55, even = ln> 0.9 && ln < 1.05;
    dive_claim_add(c, &(dive_claim){ .statement = "BatchNorm makes gradients explode with depth before training: the squared norm grows by "
                                                  "pi / (pi - 1) = 1.47 per layer; LayerNorm does not",
                                     .source = "Yang et al. 2019 (CC3)",
                                     .measured = plot_figure_text(
                                         c->f, "BN %.2f at batch %zu, %.2f at %zu, %.2f at %zu; LN %.2f, none %.2f at %zu", growth(d, 0, 1),
                                         flow_batches[0], bn, flow_batches[1], wide, flow_batches[2], ln, none, flow_batches[1]),
                                     .control = "the middle 20 of 30 layers, He's weights",
                                     .verdict = dive_both(explodes, even),
                                     .why = "a factor is outside 1.3 to 1.55 (BN) or 0.9 to 1.05 (LN)" });

    const plot_record *const depths = plot_runs_get(&d->runs, "gradient_flow", "start/depths"),
                             *const pre = plot_runs_get(&d->runs, "gradient_flow", "start/last/pre"),
                             *const post = plot_runs_get(&d->runs, "gradient_flow", "start/last/post");
    if (!depths || !pre || !post) return;
    const double a = dive_exponent(depths->values, pre->values, depths->n), b = dive_exponent(depths->values, post->values, depths->n);
    const bool falls = fabs(a + 0.5) <= 0.1, stays = fabs(b) <= 0.12;
    dive_claim_add(
        c,
        &(dive_claim){
            .statement =
                "Also in a Transformer on characters, before training, the last block's gradient falls as 1 / sqrt(blocks) with pre-norm "
                "and is constant with post-norm",
            .source = "Xiong et al. 2020, theorem 1 (PL5)",
            .measured = plot_figure_text(c->f, "exponents %.2f and %+.2f over %g to %g blocks of size %zu", a, b, depths->values[0],
                                         depths->values[depths->n - 1], flow_start_size(d)),
            .control = "-0.5 within 0.1, 0 within 0.12",
            .verdict = dive_both(falls, stays),
            .why = "it holds in the theorem's own setting (see below); this network has positions, causal attention with unequal weights, "
                   "and GELU" });
}

static void claim_blocks(const dive *d, dive_claims *c)
{
    const size_t n = dive_pick(d, 8, 16, 16);
    const plot_record *const r = plot_runs_get(&d->runs, "gradient_flow", "start/blocks/%zu", n);
    if (!r) return;
    const double pre = r->values[2 * n - 1] / r->values[n], post = r->values[3 * n - 1] / r->values[2 * n];
    const bool grows = post >= 2, flat = pre <= 1.5 && pre >= 1 / 1.5;
    dive_claim_add(
        c, &(dive_claim){
               .statement = "Before training gradients grow from the first block to the last in post-norm, and are level in pre-norm",
               .source = "Xiong et al. 2020, figure 3 (PL6)",
               .measured =
                   plot_figure_text(c->f, "gradient of the last over the first of %zu blocks of size %zu: %.2f post-norm, %.2f pre-norm", n,
                                    flow_start_size(d), post, pre),
               .control = "2 or more; 1 within a factor of 1.5",
               .verdict = dive_both(grows, flat),
               .why = plot_figure_text(c->f,
                                       "it does not hold in the theorems' setting either: %.2f and %.2f over %d blocks; the paper saw it "
                                       "in an encoder and decoder for translation",
                                       start_value(d, 3, "theorem") / start_value(d, 2, "theorem"),
                                       start_value(d, 1, "theorem") / start_value(d, 0, "theorem"), FLOW_THEOREM) });
}

static void claim_gains(const dive *d, dive_claims *c)
{
    enum { BACK = 100 };
    const double small =
        start_value(d, 2 * FLOW_PLACES + FLOW_PLACES - 1 - BACK, "gain/BN") / start_value(d, 3 * FLOW_PLACES - 1, "gain/BN");
    const double one = start_value(d, 4 * FLOW_PLACES + FLOW_PLACES - 1 - BACK, "gain/BN") / start_value(d, 5 * FLOW_PLACES - 1, "gain/BN");
    const bool keeps = small >= 0.1 && small <= 10, kills = one < 1e-3;
    dive_claim_add(
        c, &(dive_claim){
               .statement = "Recurrent BatchNorm: gamma 0.1 keeps the gradient over 100 steps, gamma 1 makes it vanish",
               .source = "Cooijmans et al. 2016, figure 1a (RB2)",
               .measured = plot_figure_text(
                   c->f, "100 steps back the gradient is %.2g times that at the last step with gamma 0.1, %.2g times with 1", small, one),
               .control = plot_figure_text(c->f, "within a factor of 10; below 0.001. An RNN of tanh(BN(W h)) without input: %.2g and %.2g",
                                           start_value(d, 2, "rnn"), start_value(d, 4, "rnn")),
               .verdict = dive_both(keeps, kills),
               .why = "with gamma 1 the gradient grows on its way back, as it does through the layers of a deep network with BatchNorm; "
                      "the paper's figure shows a tanh RNN with input" });
    const double noise = start_value(d, 0, "noise") / start_value(d, FLOW_BLANK, "noise");
    const double zeros = start_value(d, KIT_SIDE, "noise") / start_value(d, KIT_SIDE + FLOW_BLANK, "noise");
    const bool bursts = zeros >= 100, calm = noise <= 2;
    dive_claim_add(
        c,
        &(dive_claim){
            .statement =
                "Recurrent BatchNorm: blank first rows have no variance and make the gradient explode; a noisy initial state prevents it",
            .source = "Cooijmans et al. 2016, section 3 (RB7)",
            .measured = plot_figure_text(
                c->f, "over %d blank rows the gradient grows %.2g times with an initial state of zeros, %.2g times with noise of 0.1",
                FLOW_BLANK, zeros, noise),
            .control = "100 or more; 2 or less",
            .verdict = dive_both(bursts, calm),
            .why = bursts ? "noise prevents most of it" : "it does not explode here" });
}

static void claim_trained(const dive *d, dive_claims *c)
{
    const plot_runs *const r = &d->runs;
    const char *const f = "gradient_flow";
    const dive_pair p = dive_compare(plot_runs_get(r, f, "pixels/LN/tested"), plot_runs_get(r, f, "pixels/BN/tested"));
    const double ln = plot_runs_value(r, f, "pixels/LN/accuracy"), bn = plot_runs_value(r, f, "pixels/BN/accuracy");
    const bool learned = fmax(ln, bn) > 30;
    const plot_record *const frames = plot_runs_get(r, f, "frames");
    dive_claim_add(c,
                   &(dive_claim){ .statement = "LayerNorm is better than BatchNorm on long sequences",
                                  .source = "often said",
                                  .measured = plot_figure_text(
                                      c->f, "196 pixels, %g steps: test loss LN %.3f, BN %.3f, none %.3f; accuracy %.1f, %.1f, %.1f %%",
                                      frames ? frames->values[frames->n - 1] + 1 : 0, p.a, p.b, plot_runs_value(r, f, "pixels/none/tested"),
                                      ln, bn, plot_runs_value(r, f, "pixels/none/accuracy")),
                                  .control = "BN has separate statistics for each time step",
                                  .verdict = learned ? dive_is_below(&p) : DIVE_DIFFERS,
                                  .why = learned ? "the gradient of recurrent BatchNorm is as good, and its loss is lower"
                                                 : "neither has learned much after these few steps" });

    const double cold = plot_runs_value(r, f, "post/LN/tested"), warm = plot_runs_value(r, f, "post/" FLOW_WARM "/tested"),
                 pre = plot_runs_value(r, f, "pre/LN/tested");
    const bool worse = !(cold <= 1.2 * pre), mended = !(warm - pre >= (cold - pre) / 2);
    dive_claim_add(
        c, &(dive_claim){ .statement = "Post-norm needs a warm-up of the learning rate, pre-norm does not",
                          .source = "Xiong et al. 2020 (PL7)",
                          .measured = plot_figure_text(
                              c->f, "test loss without warm-up: pre-norm %.2f, post-norm %.2f; post-norm with a warm-up of %zu steps %.2f",
                              pre, cold, flow_warm_steps(d), warm),
                          .control = "the same batches and weights; worse by 20 %, and the warm-up removes half of that",
                          .verdict = dive_both(worse, mended),
                          .why = worse ? "post-norm is worse, but this warm-up removes less than half of the difference"
                                       : "post-norm is not 20 % worse without a warm-up" });
}

void dive_gradient_flow_claims(const dive *d, dive_claims *c)
{
    static const size_t layers[] = { 0, 1, 2 }, times[] = { 4, 6 };
    claim_even(d, c, layers, 3, "With LayerNorm the gradient is more even over the layers",
               "where the initial weights already keep the gradient level, a norm cannot improve it");
    claim_even(d, c, times, 2, "With LayerNorm the gradient is more even over time",
               "the LSTM without a norm also learns to keep its gradient");
    claim_start(d, c), claim_blocks(d, c), claim_gains(d, c), claim_trained(d, c);
}
