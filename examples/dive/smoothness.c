/* examples/dive/smoothness.c - figure "smoothness": why does BatchNorm help? How much the loss varies along the gradient, and what happens when
 * noise after BatchNorm shifts the distribution of the hidden units in every step (Santurkar et al. 2018).
 *
 * Records: "steps" [looks]; "ARM/range" [seeds, looks]: the largest minus the smallest loss of the training batch at half, one, two and four
 * learning rates along the gradient; "ARM/error", "ARM/area" [seeds]: test error in percent, mean training loss; "ARM/shift" [seeds]: how far the
 * mean of a pre-activation of the last hidden layer moves from one training batch to the next, mean over units and steps. */
#include "core/op.h"
#include "examples/dive/models.h"
#include "examples/dive/numbers.h"
#include "examples/dive/seeds.h"
#include "gradus.h"
#include <math.h>
#include <string.h>

enum { NONE, BN, NOISY, LN, ARMS, SIZES = 4, LOOKS = 20, DEPTH = 4 };
static const char *const arm_name[ARMS] = { "none", "BN", "BN, then noise", "LN" };
static const plot_ink arm_ink[ARMS] = { PLOT_INK_NONE, PLOT_INK_BN, PLOT_INK_RMS, PLOT_INK_LN };
static const double size_of[SIZES] = { 0.5, 1, 2, 4 }, noise = 0.3;

static dive_spec spec_of(const dive *d)
{
    return (dive_spec){ .arch = DIVE_MLP, .hidden = dive_pick(d, 8, 64, 128), .depth = DEPTH, .lr = 0.1, .sgd = true };
}
static size_t looks_of(const dive *d) { return dive_pick(d, 2, LOOKS, LOOKS); }
static size_t steps_of(const dive *d) { return dive_pick(d, 4, 400, 2000); }
enum { BATCH = 64 };

/* ==== Noise after BatchNorm ==== */

typedef struct {
    gr_module module;
    const gr_module *norm;
} noisy;

/* Each unit gets a new scale and shift in every step. */
static gr_tensor *noisy_forward(gr_tape *t, const gr_module *m, gr_tensor *x)
{
    gr_tensor *const y = gr_forward(t, ((const noisy *)m)->norm, x);
    if (!y || !gr_tape_training(t)) return y;
    const gr_shape units = GR_SHAPE(gr_size(y, -1));
    return gr_add(t, gr_mul(t, y, gr_randn(t, units, 1, noise, "smoothness/scale")), gr_randn(t, units, 0, noise, "smoothness/shift"));
}

static void build(kit_arm *arm)
{
    static const gr_norm_kind norm[ARMS] = { GR_NORM_NONE, GR_NORM_BATCH, GR_NORM_BATCH, GR_NORM_LAYER };
    const int kind = arm->kind;
    arm->kind = (int)norm[kind];
    dive_build(arm);
    arm->kind = kind;
    dive_model *const m = arm->model;
    for (size_t k = 0; kind == NOISY && k < DEPTH && !gr_failed(arm->tape); k++) {
        char name[16];
        snprintf(name, sizeof name, "noisy%zu", k);
        noisy *const n = gr_module_make(arm->tape, arm->net, name, "Noisy", sizeof *n);
        if (n) n->norm = m->norm[k], n->module.forward = noisy_forward, m->norm[k] = &n->module;
    }
}

/* ==== Measuring ==== */

typedef struct {
    dive_spec spec; /* first, because dive_build takes it for the arm's spec */
    dive *d;
    size_t seed, looks, look;
    const void *batch;                             /* the last training batch */
    double *range[ARMS], shift[ARMS], *mean[ARMS]; /* range [looks]; mean [units] of the last step */
    size_t shifts;
} job;

static gr_tensor *loss_of(kit_arm *arm, const void *batch, kit_score *score)
{
    job *const j = arm->user;
    if (gr_tape_recording(arm->tape)) j->batch = batch;
    return dive_loss(arm, batch, score);
}

/* Write w - size * g into the parameters. */
static void move(kit_arm *arm, const double *w, const double *g, double size)
{
    size_t at = 0;
    for (gr_slot *p = gr_slot_first(arm->net); p; p = gr_slot_next(arm->net, p))
        for (size_t i = 0; p->kind == GR_PARAMETER && i < p->tensor->len; i++, at++) p->tensor->data[i] = (gr_real)(w[at] - size * g[at]);
}

/* The loss of the last batch, as in training, without a trace in the arm. */
static double loss_at(kit_arm *arm, const void *batch)
{
    kit_score score = { 0 };
    gr_tape_reset(arm->tape), gr_tape_set_recording(arm->tape, false);
    dive_loss(arm, batch, &score);
    gr_tape_recover(arm->tape), gr_tape_set_recording(arm->tape, true);
    return kit_loss(&score);
}

static double range_along_gradient(const job *j, kit_arm *arm)
{
    gr_tape *const t = arm->tape, *const memory = j->d->r->tape;
    const gr_mark mark = gr_tape_mark(memory);
    kit_score score = { 0 };
    size_t n = 0, at = 0;
    gr_tape_reset(t);
    if (!gr_backward(t, dive_loss(arm, j->batch, &score))) return (double)NAN;
    for (gr_slot *p = gr_slot_first(arm->net); p; p = gr_slot_next(arm->net, p)) n += p->kind == GR_PARAMETER ? p->tensor->len : 0;
    double *const w = gr_save(memory, n * sizeof *w), *const g = gr_save(memory, n * sizeof *g), low = HUGE_VAL, high = -HUGE_VAL;
    for (gr_slot *p = gr_slot_first(arm->net); p && w && g; p = gr_slot_next(arm->net, p)) {
        const gr_real *const gradient = p->kind == GR_PARAMETER ? gr_grad(t, p->tensor) : NULL;
        for (size_t i = 0; p->kind == GR_PARAMETER && i < p->tensor->len; i++, at++)
            w[at] = (double)p->tensor->data[i], g[at] = gradient ? (double)gradient[i] : 0;
    }
    gr_tape_recover(t), gr_optim_zero_grad(arm->optim);
    for (size_t k = 0; k < SIZES && w && g; k++) {
        move(arm, w, g, size_of[k] * 0.1);
        const double x = loss_at(arm, j->batch);
        low = fmin(low, x), high = fmax(high, x);
    }
    if (w && g) move(arm, w, g, 0);
    gr_tape_reset(t), gr_tape_rewind(memory, mark);
    return high - low;
}

/* How far the means of the units moved since the last step. */
static void note_shift(job *j, size_t i, const gr_tensor *pre, bool first)
{
    const size_t H = gr_size(pre, -1), n = pre->len / H;
    for (size_t u = 0; u < H; u++) {
        double mean = 0;
        for (size_t k = 0; k < n; k++) mean += (double)pre->data[k * H + u] / (double)n;
        if (!first) j->shift[i] += fabs(mean - j->mean[i][u]) / (double)H;
        j->mean[i][u] = mean;
    }
}

static bool watch(kit_arms *a, size_t step, bool evaluated)
{
    job *const j = a->arm[0].user;
    const size_t every = a->steps / j->looks;
    for (size_t i = 0; !evaluated && i < a->n; i++)
        if (!a->arm[i].diverged) note_shift(j, i, ((const dive_model *)a->arm[i].model)->pre[DEPTH - 1], step == 1);
    j->shifts += !evaluated && step > 1;
    if (!evaluated && step % every == 0 && j->look < j->looks) {
        for (size_t i = 0; i < a->n; i++)
            if (!a->arm[i].diverged) j->range[i][j->look] = range_along_gradient(j, &a->arm[i]);
        j->look++;
    }
    const double share = ((double)j->seed + (double)step / (double)a->steps) / (double)j->d->seeds;
    return evaluated || dive_tick(j->d, share, "seed %zu, step %zu", j->seed + 1, step);
}

/* What is measured for each arm. */
typedef struct {
    double *range, *error, *area, *shift;
} outcome;

static bool train(dive *d, size_t seed, const outcome *out)
{
    dive_batches b;
    const dive_spec spec = spec_of(d);
    job j = { .spec = spec, .d = d, .seed = seed, .looks = looks_of(d) };
    kit_arms a = { .title = "smoothness", .steps = steps_of(d), .every = steps_of(d), .watch = watch };
    if (!dive_batches_open(d, &b, &a, &spec, BATCH, seed)) return false;
    a.build = build, a.loss = loss_of, a.user = &j;
    if (a.source.test > dive_pick(d, 1, 5, 50)) a.source.test = dive_pick(d, 1, 5, 50);
    for (size_t i = 0; i < ARMS; i++) {
        kit_arms_add(&a, arm_name[i], (int)i);
        j.range[i] = out[i].range + seed * j.looks, j.mean[i] = dive_blank(d, spec.hidden);
    }
    const bool done = !gr_failed(d->r->tape) && kit_arms_run(d->r, &a) && !kit_interrupted();
    for (size_t i = 0; done && i < ARMS; i++) {
        if (a.arm[i].diverged) continue;
        out[i].error[seed] = 100 - kit_accuracy(&a.arm[i].tested), out[i].area[seed] = kit_loss(&a.arm[i].whole);
        out[i].shift[seed] = j.shift[i] / (double)j.shifts;
    }
    dive_arms_free(&a), dive_batches_free(d, &b);
    return done;
}

void dive_smoothness_measure(dive *d)
{
    outcome out[ARMS];
    double at[LOOKS];
    const size_t looks = looks_of(d);
    for (size_t k = 0; k < looks; k++) at[k] = (double)((k + 1) * (steps_of(d) / looks));
    for (size_t i = 0; i < ARMS; i++)
        out[i] = (outcome){ dive_blank(d, d->seeds * looks), dive_blank(d, d->seeds), dive_blank(d, d->seeds), dive_blank(d, d->seeds) };
    for (size_t seed = 0; seed < d->seeds; seed++)
        if (gr_failed(d->r->tape) || !train(d, seed, out)) return;
    dive_put(d, GR_SHAPE(looks), at, "steps");
    for (size_t i = 0; i < ARMS; i++) {
        dive_put(d, GR_SHAPE(d->seeds, looks), out[i].range, "%s/range", arm_name[i]);
        dive_put(d, GR_SHAPE(d->seeds), out[i].error, "%s/error", arm_name[i]),
            dive_put(d, GR_SHAPE(d->seeds), out[i].area, "%s/area", arm_name[i]);
        dive_put(d, GR_SHAPE(d->seeds), out[i].shift, "%s/shift", arm_name[i]);
    }
}

/* ==== The figure ==== */

static const plot_record *get(const dive *d, size_t arm, const char *what)
{
    return plot_runs_get(&d->runs, "smoothness", "%s/%s", arm_name[arm], what);
}

void dive_smoothness_draw(const dive *d, plot_figure *f)
{
    static const char *const head[] = { "norm", "test error, %", "mean training loss", "shift per step" };
    const plot_record *const steps = plot_runs_get(&d->runs, "smoothness", "steps");
    const dive_spec s = spec_of(d);
    const char *text[ARMS][4];
    f->title = "Why BatchNorm helps: the loss along the gradient, and noise after BatchNorm";
    if (!steps) return;
    plot_panel *const p = plot_panel_new(f, &(plot_panel){ .title = "Variation of the loss along the gradient",
                                                           .x = { .label = "step" },
                                                           .y = { .label = "largest minus smallest loss", .log = true } });
    for (size_t i = 0; i < ARMS; i++) {
        const dive_band y = dive_over_seeds(f->t, get(d, i, "range"));
        plot_series_add(
            p, &(plot_series){
                   .name = arm_name[i], .ink = arm_ink[i], .n = y.n, .x = steps->values, .y = y.mean, .low = y.low, .high = y.high });
        text[i][0] = arm_name[i], text[i][1] = plot_figure_text(f, "%.2f", dive_mean(get(d, i, "error")));
        text[i][2] = plot_figure_text(f, "%.3f", dive_mean(get(d, i, "area"))),
        text[i][3] = plot_figure_text(f, "%.3f", dive_mean(get(d, i, "shift")));
    }
    plot_panel *const table = plot_panel_new(f, &(plot_panel){ .title = "Noise after BatchNorm", .note = "means over the seeds" });
    plot_table_set(table, &(plot_table){ .rows = ARMS, .columns = 4, .head = head, .text = text[0], .verdict = -1 });
    plot_figure_says(f, PLOT_SAY_QUESTION,
                     "Does BatchNorm help because the distribution of hidden units shifts less, or because the loss is smoother?");
    plot_figure_says(f, PLOT_SAY_NUMBER, "Test error: %.2f %% without a norm, %.2f %% with BatchNorm, %.2f %% with noise after BatchNorm",
                     dive_mean(get(d, NONE, "error")), dive_mean(get(d, BN, "error")), dive_mean(get(d, NOISY, "error")));
    plot_figure_says(
        f, PLOT_SAY_CAPTION,
        "At %zu steps of each training the loss of the training batch is measured at half, one, two and four times the learning rate along "
        "the gradient; the curve is the largest minus the smallest of these losses. Noise after BatchNorm gives each unit a new scale and "
        "shift in every training step, with a deviation of %g, so that its distribution never settles. The shift is the distance that the "
        "mean of a pre-activation of the last hidden layer moves from one batch to the next. Lines are means and bands are ranges over %s.",
        looks_of(d), noise, dive_count(f->t, d->seeds, "seed", "seeds"));
    plot_figure_says(f, PLOT_SAY_SETTINGS, "%s; %s; %zu steps.", d->preprocessing, dive_spec_text(f, &s, BATCH), steps_of(d));
}

/* ==== Claims ==== */

static const char *too_short(const dive *d, plot_figure *f)
{
    double best = HUGE_VAL;
    for (size_t i = 0; i < ARMS; i++) best = fmin(best, dive_mean(get(d, i, "error")));
    return dive_too_short(f, (dive_budget){ d->seeds, steps_of(d), DIVE_STEPS, best, 45, "error in percent" });
}

/* The share of the looks in which the range of the arm is below that of no norm, in each seed. */
static const plot_record *share_below(const dive *d, gr_tape *t, size_t arm)
{
    const plot_record *const a = get(d, arm, "range"), *const b = get(d, NONE, "range");
    plot_record *const r = a && b ? gr_save(t, sizeof *r) : NULL;
    const size_t looks = looks_of(d), seeds = a ? a->n / looks : 0;
    if (!r) return NULL;
    *r = (plot_record){ .n = seeds, .shape = GR_SHAPE(seeds), .values = gr_save_zeros(t, seeds * sizeof *r->values) };
    for (size_t k = 0; r->values && k < seeds * looks; k++) r->values[k / looks] += (double)(a->values[k] < b->values[k]) / (double)looks;
    return r->values ? r : NULL;
}

static void claim_smooth(const dive *d, dive_claims *c)
{
    plot_figure *const f = c->f;
    const plot_record *const bn = share_below(d, f->t, BN), *const ln = share_below(d, f->t, LN);
    const dive_pair p = dive_compare(dive_constant(f->t, d->seeds, 0.9), bn, (dive_scale){ .grid = 0 });
    const dive_verdict v = dive_is_below(&p);
    dive_claim_add(c,
                   &(dive_claim){ .statement = "With BatchNorm the loss varies less along the gradient, in at least 90 % of the steps",
                                  .source = "Santurkar et al. 2018 (CC2; the bound is ours)",
                                  .measured = plot_figure_text(
                                      f, "the range is smaller than without a norm in %.0f %% of %zu steps in each of %s; mean range %.3f against %.3f",
                                      100 * p.b, looks_of(d), dive_count(f->t, p.seeds, "seed", "seeds"),
                                      dive_mean(get(d, BN, "range")), dive_mean(get(d, NONE, "range"))),
                                  .control = plot_figure_text(f, "no norm, with the same batches and learning rate; LN: smaller in %.0f %%",
                                                              100 * dive_mean(ln)),
                                  .interval = plot_figure_text(f, "90 %% minus the share %s", dive_interval(f, &p, 2)),
                                  .seeds = d->seeds,
                                  .too_short = too_short(d, f),
                                  .verdict = v == DIVE_FAIL && p.b >= 0.5 ? DIVE_DIFFERS : v,
                                  .why = p.b >= 0.5 ? "in most steps, but not in 90 %"
                                                    : "not in most steps: at this learning rate the loss without a norm varies little" });
}

static void claim_noise(const dive *d, dive_claims *c)
{
    plot_figure *const f = c->f;
    const dive_pair near = dive_compare(get(d, NOISY, "error"), get(d, BN, "error"), (dive_scale){ .grid = 0.1, .worst = 90 }),
                    faster = dive_compare(get(d, NOISY, "area"), get(d, NONE, "area"), (dive_scale){ .worst = DIVE_GUESSING }),
                    shift = dive_compare(get(d, NONE, "shift"), get(d, NOISY, "shift"), (dive_scale){ .grid = 0 });
    const dive_verdict v[] = { dive_is_at_most(&near, 1), dive_is_below(&faster), dive_is_below(&shift) };
    dive_claim_add(
        c,
        &(dive_claim){
            .statement =
                "BatchNorm does not help by less shift: with noise after it the shift is larger than without a norm, and it trains as well",
            .source = "Santurkar et al. 2018 (CC1)",
            .measured = plot_figure_text(
                f, "test error with noise %.2f %%, BN %.2f %%; training loss with noise %.3f, none %.3f; shift with noise %.3f, none %.3f",
                near.a, near.b, faster.a, faster.b, shift.b, shift.a),
            .control = "at most 1 point more than BN; below no norm; above no norm",
            .interval = plot_figure_text(f, "error %s; loss %s; shift, none minus noise %s", dive_interval(f, &near, 2),
                                         dive_interval(f, &faster, 3), dive_interval(f, &shift, 3)),
            .seeds = d->seeds,
            .too_short = too_short(d, f),
            .verdict = dive_together(v, 3),
            .why = plot_figure_text(f, "as good as BN: %s; faster than no norm: %s; more shift than no norm: %s", dive_verdict_name[v[0]],
                                    dive_verdict_name[v[1]], dive_verdict_name[v[2]]) });
}

void dive_smoothness_claims(const dive *d, dive_claims *c) { claim_smooth(d, c), claim_noise(d, c); }
