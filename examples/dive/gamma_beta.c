/* examples/dive/gamma_beta.c - figure "gamma_beta": how the initial gamma and beta of a norm change the training of an LSTM, the distribution
 * of the pre-activations, and the slope of the nonlinearity.
 *
 * Records: "steps" [frames]; "ARM/loss" [seeds, betas, gammas, frames], the training loss since the evaluation before; "ARM/whole"
 * [seeds, betas, gammas], the same over all steps; "bins" [bins], "histogram" [9, bins], "cut" and "saturated" [9], all in percent, of
 * gamma xhat + beta, with all betas of a gamma together; "slope/at" and "slope" [n]: E[tanh'(x)] for x ~ N(0, s^2). */
#include "core/op.h"
#include "examples/dive/models.h"
#include "examples/dive/numbers.h"
#include "examples/dive/seeds.h"
#include "gradus.h"
#include <math.h>

enum { MOST = 100 /* seeds */, BETAS = 3, GAMMAS = 4, SHAPES = 9, BINS = 64, SLOPES = 41 };
static const double beta_of[BETAS] = { -1, 0, 1 }, gamma_of[GAMMAS] = { 0.1, 0.5, 1, 2 };
static const double spread_of = 7; /* histograms reach from -7 to 7 */

/* ==== Measuring ==== */

typedef struct {
    dive *d;
    size_t frames, frame, done, all; /* done and all count trainings */
    double *loss;                    /* [gammas, frames], this training's */
} job;

static bool watch(kit_arms *a, size_t step, bool evaluated)
{
    job *const j = a->user;
    if (evaluated && step && j->frame < j->frames) {
        for (size_t i = 0; i < a->n; i++)
            if (!a->arm[i].diverged) j->loss[i * j->frames + j->frame] = kit_loss(&a->arm[i].recent);
        j->frame++;
    }
    return dive_tick(j->d, ((double)j->done + (double)step / (double)a->steps) / (double)j->all, "LSTM, step %zu", step);
}

static size_t units_of(const dive *d) { return dive_pick(d, 8, 32, 64); }

/* Train the four gammas with one beta on the same batches. */
static bool train(job *j, gr_norm_kind norm, double beta, size_t seed, size_t every, double *whole)
{
    dive *const d = j->d;
    dive_batches b;
    dive_spec spec[GAMMAS];
    kit_arms a = { .title = "gamma", .steps = every * j->frames, .every = every };
    const dive_spec common = { .arch = DIVE_LSTM, .hidden = units_of(d), .lr = 2e-3, .shift = beta };
    if (!dive_batches_open(d, &b, &a, &common, 32, seed)) return false;
    a.watch = watch, a.user = j, a.source.test = 0, j->frame = 0;
    for (size_t i = 0; i < GAMMAS; i++) {
        spec[i] = common, spec[i].gain = gamma_of[i];
        kit_arms_add(&a, "LSTM", (int)norm), a.arm[i].user = &spec[i];
    }
    const bool done = kit_arms_run(d->r, &a) && !kit_interrupted();
    for (size_t i = 0; i < GAMMAS && done; i++)
        if (!a.arm[i].diverged) whole[i] = kit_loss(&a.arm[i].whole);
    dive_arms_free(&a), dive_batches_free(d, &b);
    j->done++;
    return done;
}

static void measure_training(dive *d)
{
    const size_t most = dive_pick(d, 1, 1, DIVE_SEEDS), seeds = d->seeds < most ? d->seeds : most;
    const size_t frames = dive_pick(d, 2, 10, 20), every = dive_pick(d, 2, 20, 60), cell = GAMMAS * frames;
    double at[20];
    job j = { .d = d, .frames = frames, .all = 2 * seeds * BETAS };
    for (size_t k = 0; k < frames; k++) at[k] = (double)((k + 1) * every);
    dive_put(d, GR_SHAPE(frames), at, "steps");
    for (size_t i = 1; i < DIVE_ARMS; i++) {
        double *const loss = dive_blank(d, seeds * BETAS * cell), *const whole = dive_blank(d, seeds * BETAS * GAMMAS);
        for (size_t s = 0; s < seeds; s++)
            for (size_t k = 0; k < BETAS && loss && whole; k++) {
                j.loss = loss + (s * BETAS + k) * cell;
                if (!train(&j, dive_arm_norm[i], beta_of[k], s, every, whole + (s * BETAS + k) * GAMMAS)) return;
            }
        if (!loss || !whole) return;
        dive_put(d, GR_SHAPE(seeds, BETAS, GAMMAS, frames), loss, "%s/loss", dive_arm_name[i]);
        dive_put(d, GR_SHAPE(seeds, BETAS, GAMMAS), whole, "%s/whole", dive_arm_name[i]);
    }
}

/* Measure gamma xhat + beta in the first hidden layer of an MLP on test images, before training. */
static void measure_shapes(dive *d)
{
    enum { CASES = 128, UNITS = 128 };
    gr_tape *const t = dive_tape(d, dive_seed(d, 0));
    gr_module *const root = gr_module_new(t);
    gr_linear_module *const fc = gr_linear_new(t, root, "fc", KIT_PIXELS, UNITS, NULL);
    if (fc) gr_param_init(t, &fc->module, "weight", gr_init_kaiming_normal(GR_GAIN_RELU, GR_FAN_IN));
    kit_batches images = kit_batches_new(t, &d->data.test, CASES, false);
    if (fc && !gr_failed(t)) {
        const kit_batch b = kit_next(&images);
        const gr_tensor *const x =
            gr_layer_norm(t, gr_linear_forward(t, fc, gr_input(t, b.pixels, GR_SHAPE(b.n, KIT_PIXELS))), 1, NULL, NULL, 1e-5);
        double bins[BINS], share[SHAPES][BINS] = { { 0 } }, cut[SHAPES] = { 0 }, saturated[SHAPES] = { 0 };
        const double width = 2 * spread_of / BINS;
        for (size_t k = 0; k < BINS; k++) bins[k] = -spread_of + width * ((double)k + 0.5);
        for (size_t s = 0; s < SHAPES; s++)
            for (size_t i = 0; x && i < x->len; i++) {
                const double y = gamma_of[1 + s / BETAS] * (double)x->data[i] + beta_of[s % BETAS], one = 100 / (double)x->len;
                const double bin = floor((y + spread_of) / width);
                if (bin >= 0 && bin < BINS) share[s][(size_t)bin] += one;
                if (y < 0) cut[s] += one;
                if (fabs(y) > 2) saturated[s] += one;
            }
        dive_put(d, GR_SHAPE(BINS), bins, "bins"), dive_put(d, GR_SHAPE(SHAPES, BINS), share[0], "histogram");
        dive_put(d, GR_SHAPE(SHAPES), cut, "cut"), dive_put(d, GR_SHAPE(SHAPES), saturated, "saturated");
    }
    kit_batches_free(t, &images), gr_module_free(root);
    dive_tape_free(d, t);
}

void dive_gamma_beta_measure(dive *d)
{
    double at[SLOPES], slope[SLOPES];
    for (size_t k = 0; k < SLOPES; k++) at[k] = 0.05 * pow(80, (double)k / (SLOPES - 1)), slope[k] = dive_tanh_slope(at[k]);
    dive_put(d, GR_SHAPE(SLOPES), at, "slope/at"), dive_put(d, GR_SHAPE(SLOPES), slope, "slope");
    const double paper[3] = { 0.1, 0.5, 1 };
    double found[3];
    for (size_t k = 0; k < 3; k++) found[k] = dive_tanh_slope(paper[k]);
    dive_put(d, GR_SHAPE(3), paper, "slope/paper"), dive_put(d, GR_SHAPE(3), found, "slope/found");
    if (dive_tick(d, 0, "shapes")) measure_shapes(d);
    if (!gr_failed(d->r->tape)) measure_training(d);
}

/* ==== Drawing ==== */

static const plot_record *get(const dive *d, const char *name) { return plot_runs_get(&d->runs, "gamma_beta", "%s", name); }

/* The mean over the seeds of entry i of a record [seeds, n]. */
static double mean_at(const plot_record *r, size_t i)
{
    const size_t seeds = r ? r->shape.dim[0] : 0, n = seeds ? r->n / seeds : 0;
    double sum = 0;
    for (size_t s = 0; s < seeds; s++) sum += r->values[s * n + i] / (double)seeds;
    return seeds ? sum : (double)NAN;
}

/* The mean training loss over all steps with a gamma and a beta. */
static double whole(const dive *d, size_t arm, size_t gamma, size_t beta)
{
    return mean_at(plot_runs_get(&d->runs, "gamma_beta", "%s/whole", dive_arm_name[arm]), beta * GAMMAS + gamma);
}

/* The smallest and the largest of these losses over a range of gammas and betas. */
typedef struct {
    double low, high;
} range;
static range range_of(const dive *d, size_t arm, size_t gammas, size_t first_beta, size_t last_beta)
{
    range r = { HUGE_VAL, -HUGE_VAL };
    for (size_t g = 0; g < gammas; g++)
        for (size_t b = first_beta; b <= last_beta; b++) {
            const double x = whole(d, arm, g, b);
            r.low = isnan(x) ? x : fmin(r.low, x), r.high = isnan(x) ? x : fmax(r.high, x);
        }
    return r;
}

/* "0.31 to 0.42"; a network that diverged has no loss. */
static const char *range_text(plot_figure *f, range r, int digits)
{
    return isnan(r.low) ? "no loss, because a network diverged," : dive_range(f->t, r.low, r.high, digits);
}

static void draw_curves(const dive *d, plot_figure *f, size_t arm)
{
    const plot_record *const steps = get(d, "steps"), *const r = plot_runs_get(&d->runs, "gamma_beta", "%s/loss", dive_arm_name[arm]);
    plot_panel *const p = plot_panel_new(
        f, &(plot_panel){
               .title = plot_figure_text(f, "%s-LSTM", dive_arm_name[arm]), .note = "beta 0", .x = { "step" }, .y = { "training loss" } });
    for (size_t g = 0; g < GAMMAS && steps && r && p; g++) {
        double *const y = gr_save(f->t, steps->n * sizeof *y);
        for (size_t k = 0; y && k < steps->n; k++) y[k] = mean_at(r, (GAMMAS + g) * steps->n + k);
        plot_series_add(p, &(plot_series){ .name = plot_figure_text(f, "gamma %g", gamma_of[g]),
                                           .ink = (plot_ink)(PLOT_INK_RAMP0 + g),
                                           .n = steps->n,
                                           .x = steps->values,
                                           .y = y });
    }
}

static void draw_map(const dive *d, plot_figure *f, size_t arm, range both)
{
    static const char *const gammas[GAMMAS] = { "0.1", "0.5", "1", "2" }, *const betas[BETAS] = { "-1", "0", "1" };
    double values[GAMMAS][BETAS];
    for (size_t g = 0; g < GAMMAS; g++)
        for (size_t b = 0; b < BETAS; b++) values[g][b] = whole(d, arm, g, b);
    plot_panel *const p = plot_panel_new(f, &(plot_panel){ .title = plot_figure_text(f, "%s-LSTM", dive_arm_name[arm]),
                                                           .note = "mean training loss",
                                                           .x = { "beta", .tick = betas, .ticks = BETAS },
                                                           .y = { "gamma", .tick = gammas, .ticks = GAMMAS },
                                                           .aspect = 1.6 });
    plot_map_set(p, &(plot_map){ .rows = GAMMAS,
                                 .columns = BETAS,
                                 .values = values[0],
                                 .low = both.low,
                                 .high = both.high,
                                 .means = "mean training loss, nats" });
}

/* Loss against gamma, a band over the betas. */
static void draw_spread(const dive *d, plot_figure *f)
{
    plot_panel *const p = plot_panel_new(
        f, &(plot_panel){
               .title = "By gamma", .note = "beta 0; band: beta -1 to 1", .x = { "gamma", .log = true }, .y = { "mean training loss" } });
    for (size_t i = 1; i < DIVE_ARMS; i++) {
        double y[GAMMAS], low[GAMMAS], high[GAMMAS];
        for (size_t g = 0; g < GAMMAS; g++) {
            y[g] = low[g] = high[g] = whole(d, i, g, 1);
            for (size_t b = 0; b < BETAS; b++) low[g] = fmin(low[g], whole(d, i, g, b)), high[g] = fmax(high[g], whole(d, i, g, b));
        }
        plot_series_add(p, &(plot_series){ .name = dive_arm_name[i],
                                           .ink = (plot_ink)(PLOT_INK_NONE + i),
                                           .mark = PLOT_LINE_DOTS,
                                           .n = GAMMAS,
                                           .x = gamma_of,
                                           .y = y,
                                           .low = low,
                                           .high = high });
    }
}

static void draw_slope(const dive *d, plot_figure *f)
{
    const plot_record *const at = get(d, "slope/at"), *const y = get(d, "slope"), *const paper = get(d, "slope/paper"),
                             *const found = get(d, "slope/found");
    if (!at || !y || !paper || !found) return;
    plot_panel *const p = plot_panel_new(f, &(plot_panel){ .title = "Slope of tanh",
                                                           .x = { "deviation of its input", .log = true },
                                                           .y = { "mean slope", .low = 0, .high = 1 } });
    plot_series_add(p, &(plot_series){ .ink = PLOT_INK_QUIET, .n = at->n, .x = at->values, .y = y->values });
    plot_series_add(p, &(plot_series){ .ink = PLOT_INK_QUIET, .mark = PLOT_DOTS, .n = paper->n, .x = paper->values, .y = found->values });
}

static void draw_shapes(const dive *d, plot_figure *f)
{
    const plot_record *const bins = get(d, "bins"), *const share = get(d, "histogram"), *const cut = get(d, "cut"),
                             *const saturated = get(d, "saturated");
    if (!bins || !share || !cut || !saturated) return;
    for (size_t s = 0; s < SHAPES; s++) {
        const char *const title = plot_figure_text(f, "gamma %g, beta %g", gamma_of[1 + s / BETAS], beta_of[s % BETAS]);
        const char *const note = plot_figure_text(f, "%.0f %% below 0, %.0f %% saturated", cut->values[s], saturated->values[s]);
        plot_panel *const p = plot_panel_new(f, &(plot_panel){ .title = title,
                                                               .note = note,
                                                               .x = { "gamma xhat + beta", .low = -spread_of, .high = spread_of },
                                                               .y = { "% of values", .low = 0, .high = 25 } });
        plot_series_add(
            p, &(plot_series){ .ink = PLOT_INK_LN, .mark = PLOT_BARS, .n = bins->n, .x = bins->values, .y = share->values + s * bins->n });
    }
}

void dive_gamma_beta_draw(const dive *d, plot_figure *f)
{
    const plot_record *const steps = get(d, "steps");
    const range ln = range_of(d, 2, GAMMAS, 0, BETAS - 1), bn = range_of(d, 1, GAMMAS, 0, BETAS - 1), ln0 = range_of(d, 2, 3, 1, 1),
                bn0 = range_of(d, 1, 3, 1, 1);
    const plot_record *const trained = get(d, "LN/whole");
    const char *const seeds = dive_count(f->t, trained ? trained->shape.dim[0] : 0, "seed", "seeds");
    f->title = "Initial gamma and beta";
    f->columns = 3;
    plot_figure_says(f, PLOT_SAY_QUESTION, "A norm learns its gamma and beta: do their initial values matter?");
    draw_curves(d, f, 2), draw_curves(d, f, 1), draw_spread(d, f);
    draw_map(d, f, 2, (range){ fmin(ln.low, bn.low), fmax(ln.high, bn.high) }),
        draw_map(d, f, 1, (range){ fmin(ln.low, bn.low), fmax(ln.high, bn.high) });
    draw_slope(d, f);
    plot_part_begin(f, "Pre-activations after LayerNorm", "What gamma and beta do to the values that ReLU and tanh get.", true);
    draw_shapes(d, f);
    plot_figure_says(
        f, PLOT_SAY_NUMBER,
        "Between gamma 0.1, 0.5 and 1 the mean training loss differs by up to %.2f nats with BatchNorm and %.2f nats with LayerNorm (%s)",
        bn0.high - bn0.low, ln0.high - ln0.low, seeds);
    plot_figure_says(
        f, PLOT_SAY_CAPTION,
        "An LSTM reads digits row by row. Its norms start with four gammas and three betas; beta is added to the bias of its gates and to "
        "beta of the cell's norm. The mean loss over %g steps and %s is %s with LayerNorm and %s with recurrent BatchNorm, and %.2f is the "
        "loss of guessing; in the maps dark means lower. A larger gamma moves the inputs of tanh to where it is flatter: its mean slope is %.2f for inputs "
        "of deviation 0.5 and %.2f for 1. The histograms show the pre-activations after LayerNorm in the first hidden layer of an MLP "
        "with He's weights, for test images. ReLU sets values below 0 to 0; tanh is saturated beyond -2 and 2, where its slope is at "
        "most %.3f.",
        steps ? steps->values[steps->n - 1] : (double)NAN, seeds, range_text(f, ln, 2), range_text(f, bn, 2), DIVE_GUESSING, dive_tanh_slope(0.5),
        dive_tanh_slope(1), 1 - tanh(2) * tanh(2));
    plot_figure_says(
        f, PLOT_SAY_SETTINGS,
        "%s. LSTM of %zu units: Adam, learning rate 0.002, clip 1, batch 32, PyTorch's uniform initial weights and biases, forget bias +1.",
        d->preprocessing, units_of(d));
}

/* ==== Claims ==== */

/* The largest loss over the gammas 0.1 to 2 (or 1) and betas -1 to 1 (or 0) in each seed, minus the smallest or minus that of gamma 1, beta 0. */
static plot_record spread(const dive *d, size_t arm, bool all, bool from_usual, double v[MOST])
{
    const plot_record *const r = plot_runs_get(&d->runs, "gamma_beta", "%s/whole", dive_arm_name[arm]);
    plot_record out = { .n = r ? r->n / (BETAS * GAMMAS) : 0, .values = v };
    if (out.n > MOST) out.n = MOST;
    for (size_t s = 0; s < out.n; s++) {
        const double *const x = r->values + s * BETAS * GAMMAS;
        double low = HUGE_VAL, high = -HUGE_VAL;
        for (size_t i = 0; i < BETAS * GAMMAS; i++) {
            if (!all && (i / GAMMAS != 1 || i % GAMMAS == GAMMAS - 1)) continue;
            low = fmin(low, x[i]), high = isnan(x[i]) ? DIVE_GUESSING : fmax(high, x[i]);
        }
        v[s] = high - (from_usual ? 1.1 * x[GAMMAS + 2] : low);
    }
    return out;
}

static const char *too_short(const dive *d, plot_figure *f, size_t seeds)
{
    const plot_record *const steps = get(d, "steps");
    const double last = steps ? steps->values[steps->n - 1] : 0;
    return dive_too_short(
        f, (dive_budget){ seeds, (size_t)last, DIVE_LSTM_STEPS, range_of(d, 2, GAMMAS, 0, BETAS - 1).low, DIVE_GUESSING / 2, "mean loss" });
}

void dive_gamma_beta_claims(const dive *d, dive_claims *c)
{
    const range ln = range_of(d, 2, 3, 1, 1), bn = range_of(d, 1, 3, 1, 1);
    double v[2][MOST];
    const plot_record of_ln = spread(d, 2, false, false, v[0]), of_bn = spread(d, 1, false, false, v[1]);
    const dive_pair p = dive_compare(&of_ln, &of_bn, (dive_scale){ .grid = 0.01 });
    dive_claim_add(c, &(dive_claim){ .statement = "LayerNorm depends less on its initial gamma than recurrent BatchNorm does",
                                     .source = "Ba et al. 2016, section 6 (LN14)",
                                     .measured = plot_figure_text(c->f, "mean training loss with gamma 0.1, 0.5 and 1: LN %s, BN %s",
                                                                  range_text(c->f, ln, 3), range_text(c->f, bn, 3)),
                                     .control = "the same batches, beta 0; a difference of the ranges of 0.01 is a tie",
                                     .interval = dive_interval(c->f, &p, 3),
                                     .seeds = p.seeds,
                                     .too_short = too_short(d, c->f, p.seeds),
                                     .verdict = dive_is_below(&p),
                                     .why = ln.high <= bn.low ? "its worst loss is not above BatchNorm's best, but its range is not smaller"
                                                              : "its range is not smaller" });
    const range all = range_of(d, 2, GAMMAS, 0, BETAS - 1), other = range_of(d, 1, GAMMAS, 0, BETAS - 1);
    double zero[MOST] = { 0 };
    const plot_record far = spread(d, 2, true, true, v[0]), none = { .n = far.n, .values = zero };
    const dive_pair q = dive_compare(&far, &none, (dive_scale){ .grid = 0.01 });
    dive_claim_add(
        c, &(dive_claim){ .statement = "LayerNorm is robust to the initial gamma and beta",
                          .source = "often said",
                          .measured = plot_figure_text(
                              c->f, "mean training loss %s with gamma 1 and beta 0; %s over gamma 0.1 to 2 and beta -1 to 1 (BN %s)",
                              dive_number(c->f->t, whole(d, 2, 2, 1), 3), range_text(c->f, all, 3), range_text(c->f, other, 3)),
                          .control = "the worst must be within 10 % of gamma 1 and beta 0",
                          .interval = plot_figure_text(c->f, "worst minus 1.1 times usual %s", dive_interval(c->f, &q, 3)),
                          .seeds = q.seeds,
                          .too_short = too_short(d, c->f, q.seeds),
                          .verdict = dive_is_below(&q) == DIVE_FAIL && all.high < other.high ? DIVE_DIFFERS : dive_is_below(&q),
                          .why = all.high < other.high ? "the worst is more than 10 % above, but below that of BatchNorm"
                                                       : "the worst is more than 10 % above" });
}
