/* examples/dive/gradient_flow_draw.c - the figure gradient_flow. */
#include "core/op.h"
#include "examples/dive/gradient_flow.h"
#include "examples/dive/seeds.h"
#include <math.h>
#include <string.h>

static const char *decades_text(plot_figure *f, double x) { return isnan(x) ? "diverged" : plot_figure_text(f, "%+.1f", flow_tenths(x)); }

/* The seeds of a net and an arm, and those in which the arm diverged. */
typedef struct {
    size_t all, diverged;
} seen;
enum { LAST = FLOW_FRAMES /* the last frame: see flow_row_decades */ };
static seen seeds_of(const dive *d, gr_tape *t, size_t net, size_t arm, const char *what)
{
    seen s = { 0, 0 };
    for (flow_row one; (one = flow_of_seed(d, t, net, dive_arm_name[arm], what, s.all)).g; s.all++) s.diverged += isnan(flow_row_decades(&one, LAST)) != 0;
    return s;
}

/* ==== Panels that move ==== */

enum { MOVING = 8 };
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
static void add_flow(plot_panel *p, const flow_row *f, const char *name, plot_ink ink)
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
        const seen none = seeds_of(d, f->t, moving[m].net, 0, moving[m].what);
        const char *note = moving[m].note;
        if (!note && none.diverged)
            note = plot_figure_text(f, "without a norm %zu of %s diverged", none.diverged, dive_count(f->t, none.all, "seed", "seeds"));
        plot_panel *const p = plot_panel_new(
            f, &(plot_panel){ .title = moving[m].title, .note = note, .x = { moving[m].x }, .y = { moving[m].y, .log = true }, .aspect = 1.35 });
        for (size_t i = moving[m].net == FLOW_POST; i < DIVE_ARMS; i++) {
            const flow_row w = flow_of(d, f->t, moving[m].net, dive_arm_name[i], moving[m].what);
            add_flow(p, &w, dive_arm_name[i], (plot_ink)(PLOT_INK_NONE + i));
        }
        if (moving[m].net != FLOW_POST) continue;
        const flow_row w = flow_of(d, f->t, FLOW_POST, FLOW_WARM, "grad");
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
            const flow_row w = flow_of(d, f->t, moving[m].net, dive_arm_name[i], moving[m].what);
            text[m][1 + i] =
                plot_figure_text(f, "%s, then %s", decades_text(f, flow_row_decades(&w, 0)), decades_text(f, flow_row_decades(&w, LAST)));
            if (moving[m].net == FLOW_POST && !i) text[m][1] = "see pre-norm";
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

/* "none and LN: pre-norm; none has no finite gradient at 31 blocks", or NULL if all gradients are finite. */
static const char *ends_early(const dive *d, plot_figure *f)
{
    const plot_record *const depths = plot_runs_get(&d->runs, f->name, "start/depths"), *const none = plot_runs_get(&d->runs, f->name, "start/last/none");
    for (size_t k = 0; depths && none && k < depths->n && k < none->n; k++)
        if (!isfinite(none->values[k]))
            return plot_figure_text(f, "none and LN: pre-norm; without a norm not finite at %g blocks", depths->values[k]);
    return NULL;
}

static void draw_start(const dive *d, plot_figure *f)
{
    const plot_runs *const r = &d->runs;
    const char *const figure = f->name;
    plot_part_begin(f, "Before training: depth", "The same networks with more layers and blocks.", false);
    plot_panel *p = plot_panel_new(
        f, &(plot_panel){ .title = "30 layers",
                          .x = { "layer, from the input" },
                          .y = { "|dL/d(W x + b)|", .log = true },
                          .aspect = 1.35,
                          .note = plot_figure_text(f, "BN: squared norm times %.2f per layer", flow_start_growth(d, 1, 1)) });
    for (size_t i = 0; i < DIVE_ARMS; i++)
        add_row(p, plot_runs_get(r, figure, "start/layers"), DIVE_ARMS + i, FLOW_LAYERS, NULL, dive_arm_name[i],
                (plot_ink)(PLOT_INK_NONE + i));

    static const struct {
        const char *kind, *name;
        plot_ink ink;
    } kind[3] = { { "none", "none", PLOT_INK_NONE }, { "pre", "LN", PLOT_INK_LN }, { "post", "LN, post-norm", PLOT_INK_RMS } };
    const plot_record *const depths = plot_runs_get(r, figure, "start/depths");
    p = plot_panel_new(f, &(plot_panel){ .title = "2 to 31 blocks",
                                         .note = ends_early(d, f) ? ends_early(d, f) : "none and LN: pre-norm",
                                         .x = { "blocks", .log = true },
                                         .y = { "|dL/dW2|, last block", .log = true },
                                         .aspect = 1.35 });
    for (size_t i = 0; i < 3 && depths; i++)
        add_row(p, plot_runs_get(r, figure, "start/last/%s", kind[i].kind), 0, depths->n, depths->values, kind[i].name, kind[i].ink);

    plot_part_begin(f, "Before training: gamma and blank rows", "What changes the gradient of a recurrent norm over time.", false);
    for (size_t a = 1; a < DIVE_ARMS; a++) {
        p = plot_panel_new(f, &(plot_panel){ .title = plot_figure_text(f, "Gamma in the %s-LSTM", dive_arm_name[a]),
                                             .x = { "pixel" },
                                             .y = { "|dL/dh_t|", .log = true },
                                             .aspect = 1.35 });
        for (size_t i = 0; i < FLOW_GAINS; i++)
            add_row(p, plot_runs_get(r, figure, "start/gain/%s", dive_arm_name[a]), i, FLOW_PLACES, NULL,
                    plot_figure_text(f, "gamma %g", flow_gains[i]), (plot_ink)(PLOT_INK_RAMP0 + i));
    }
    p = plot_panel_new(f, &(plot_panel){ .title = "Blank rows in the BN-LSTM",
                                         .note = plot_figure_text(f, "rows 1 to %d are blank", FLOW_BLANK),
                                         .x = { "row" },
                                         .y = { "|dL/dh_t|", .log = true },
                                         .aspect = 1.35 });
    add_row(p, plot_runs_get(r, figure, "start/noise"), 0, KIT_SIDE, NULL, "BN, from noise", PLOT_INK_BN);
    add_row(p, plot_runs_get(r, figure, "start/noise"), 1, KIT_SIDE, NULL, "BN, from zeros", PLOT_INK_QUIET);
}

void dive_gradient_flow_draw(const dive *d, plot_figure *f)
{
    const plot_record *const frames = plot_runs_get(&d->runs, f->name, "frames");
    f->title = "Gradient flow over layers and time", f->columns = 4;
    plot_part_begin(f, "During training", NULL, false);
    if (frames) plot_figure_frames(f, "step", frames->values, frames->n);
    plot_figure_says(f, PLOT_SAY_QUESTION, "The loss is at the last layer and time step: how much of its gradient reaches the first?");
    draw_moving(d, f), draw_table(d, f), draw_start(d, f);
    double first[DIVE_ARMS], last[DIVE_ARMS], small[DIVE_ARMS], depth[DIVE_ARMS];
    for (size_t i = 0; i < DIVE_ARMS; i++) {
        const flow_row w = flow_of(d, f->t, FLOW_PIXELS, dive_arm_name[i], "dh"),
                       s = flow_of(d, f->t, FLOW_SMALL, dive_arm_name[i], "grad"), m = flow_of(d, f->t, FLOW_MLP, dive_arm_name[i], "grad");
        first[i] = flow_tenths(flow_row_decades(&w, 0)), last[i] = flow_tenths(flow_row_decades(&w, LAST)),
        small[i] = flow_tenths(flow_row_decades(&s, 0)), depth[i] = flow_tenths(flow_row_decades(&m, 0));
    }
    plot_figure_says(f, PLOT_SAY_NUMBER,
                     "Before training, over 196 time steps back, the gradient changes by a factor of 10^%.1f without a norm, 10^%.1f with "
                     "BatchNorm and 10^%.1f with LayerNorm (%s)",
                     first[0], first[1], first[2], dive_count(f->t, seeds_of(d, f->t, FLOW_PIXELS, 2, "dh").all, "seed", "seeds"));
    const flow_row poor = flow_of(d, f->t, FLOW_SMALL, "LN", "grad");
    double low = HUGE_VAL, high = -HUGE_VAL;
    for (size_t k = 0; k < seeds_of(d, f->t, FLOW_SMALL, 2, "grad").all; k++) {
        const flow_row one = flow_of_seed(d, f->t, FLOW_SMALL, "LN", "grad", k);
        low = fmin(low, flow_row_decades(&one, LAST)), high = fmax(high, flow_row_decades(&one, LAST));
    }
    const flow_row cold = flow_of(d, f->t, FLOW_POST, "LN", "grad"), warm = flow_of(d, f->t, FLOW_POST, FLOW_WARM, "grad");
    plot_figure_says(
        f, PLOT_SAY_CAPTION,
        "A level line means that the gradient keeps its size; pale lines show it before training. All changes are in decades, on the way "
        "from the last layer or step back to the first. Over 196 pixels the gradient of the LSTM without a norm changes by %+.1f decades "
        "before training and %+.1f at the end, with BatchNorm %+.1f and %+.1f, with LayerNorm %+.1f and %+.1f. He's weights fit an MLP "
        "without a norm: over 20 layers it has %+.1f decades, with BatchNorm %+.1f, with LayerNorm %+.1f; with weights that are too small "
        "%+.1f, %+.1f and %+.1f, and at the end LayerNorm has %+.1f (%+.1f to %+.1f in the seeds). "
        "Post-norm with LayerNorm ends at %+.1f, and at %+.1f with a warm-up of %zu steps. "
        "The other parts are "
        "before training: BatchNorm multiplies the squared gradient by %.2f per layer, LayerNorm by %.2f; over time the change depends on "
        "gamma; if the first %d rows are blank and the initial state is zero, BatchNorm makes the gradient %.1g times as large at the "
        "first row as at the fifth, and %.1f times if the initial state is noise. A frame is a mean over three batches. A gradient of 0, where units have "
        "died, counts as %g of the last one. Lines are geometric means over the seeds: %zu for MLPs and Transformers without a norm and with LayerNorm, %zu with BatchNorm, and %zu for the LSTMs.",
        first[0], last[0], first[1], last[1], first[2], last[2], depth[0], depth[1], depth[2], small[0], small[1], small[2],
        flow_tenths(flow_row_decades(&poor, LAST)), flow_tenths(low), flow_tenths(high),
        flow_tenths(flow_row_decades(&cold, LAST)), flow_tenths(flow_row_decades(&warm, LAST)), flow_warm_steps(d),
        flow_start_growth(d, 1, 1), flow_start_growth(d, 1, 2), FLOW_BLANK,
        flow_start_value(d, KIT_SIDE, "noise") / flow_start_value(d, KIT_SIDE + FLOW_BLANK, "noise"),
        flow_start_value(d, 0, "noise") / flow_start_value(d, FLOW_BLANK, "noise"), FLOW_VANISHED, seeds_of(d, f->t, FLOW_MLP, 2, "grad").all,
        seeds_of(d, f->t, FLOW_MLP, 1, "grad").all, seeds_of(d, f->t, FLOW_PIXELS, 2, "dh").all);
    plot_figure_says(
        f, PLOT_SAY_SETTINGS,
        "%s. Adam, learning rate 0.001. LSTM over rows: 48 units, batch 64, LN as in Ba et al.; over pixels: 32 units, batch 32, LN "
        "of " DIVE_LN_OF_PIXELS "; both with uniform weights and biases, forget bias +1, clip 1. MLP: 64 units, biases 0, "
        "batch 64. Transformer on characters of %s: size 32, matrices from "
        "N(0, 2 / (in + out)) as in Xiong et al. 2020, batch 8. Before training: MLP of %zu units, batch %zu; Transformers of size %zu, "
        "batch 8, means over seeds; gammas: LSTM of 32 units over 196 pixels; blank rows: LSTM of 48 units over 28 rows.",
        d->preprocessing, d->text ? "a text" : "made-up sentences", flow_start_units(d), flow_batches[1], flow_start_size(d));
}
