/* examples/dive/loss.c - figure "loss": the four architectures with the three arms, against steps and against seconds.
 *
 * Records: "share" [frames]: percent of the training; "ARCH/steps" [frames]; "ARCH/ARM/train", "/wrong", "/test" [seeds, frames]: the mean training
 * loss since the evaluation before, the test error in percent and the test loss; "/area", "/error", "/mark" [seeds]: the mean training loss over
 * all steps, the last test error, and the steps to the mark; "seconds/ARCH/ARM" [seeds, frames]: the time in training steps. */
#include "examples/dive/loss.h"
#include "examples/dive/seeds.h"
#include <math.h>
#include <string.h>

dive_spec loss_spec(const dive *d, size_t arch)
{
    const size_t hidden[DIVE_ARCHS] = { dive_pick(d, 16, 128, 256), dive_pick(d, 16, 64, 128), dive_pick(d, 4, 8, 16),
                                        dive_pick(d, 16, 32, 64) };
    static const double lr[DIVE_ARCHS] = { 1e-3, 2e-3, 1e-3, 3e-3 };
    return (dive_spec){ .arch = (dive_arch)arch, .hidden = hidden[arch], .lr = lr[arch] };
}

size_t loss_batch(const dive *d, size_t arch) { return arch == DIVE_TRANSFORMER ? dive_pick(d, 8, 16, 32) : dive_pick(d, 16, 32, 64); }

static const double mark_of[DIVE_ARCHS] = { 90, 90, 90, 40 }; /* test accuracy in percent; in the Transformer, of the characters */
size_t loss_steps(const dive *d, size_t arch)
{
    static const size_t quick[DIVE_ARCHS] = { 350, DIVE_LSTM_STEPS, 350, 238 };
    return dive_pick(d, 4, quick[arch], 1000);
}
static size_t frames_of(const dive *d) { return dive_pick(d, 2, 14, 25); } /* divides the steps */
size_t loss_tests(const dive *d) { return dive_pick(d, 1, 5, 25); }

/* ---- Measuring ---- */

typedef struct {
    double *train, *wrong, *test, *seconds, *area, *error, *mark;
} curves;
typedef struct {
    dive *d;
    curves arm[DIVE_ARMS];
    size_t arch, seed, frames, frame;
} job;

static bool watch(kit_arms *a, size_t step, bool evaluated)
{
    job *const j = a->user;
    const size_t at = j->seed * j->frames + j->frame;
    for (size_t i = 0; evaluated && i < a->n; i++) {
        const kit_arm *const arm = &a->arm[i];
        const curves *const c = &j->arm[i];
        c->seconds[at] = arm->seconds;
        if (arm->diverged) continue;
        if (step) c->train[at] = kit_loss(&arm->recent);
        c->wrong[at] = 100 - kit_accuracy(&arm->tested), c->test[at] = kit_loss(&arm->tested);
    }
    j->frame += evaluated;
    const double share = (double)(j->arch * j->d->seeds + j->seed) + (double)step / (double)a->steps;
    return dive_tick(j->d, share / (double)(DIVE_ARCHS * j->d->seeds), "%s, seed %zu, step %zu", dive_arch_name[j->arch], j->seed + 1,
                     step);
}

/* The step at which the error first reaches the mark, on the line between two evaluations. */
static double step_of_mark(const double *wrong, size_t frames, size_t every, double mark)
{
    for (size_t k = 1; k < frames; k++)
        if (wrong[k] <= mark) return (double)every * ((double)(k - 1) + fmax(0, (wrong[k - 1] - mark) / (wrong[k - 1] - wrong[k])));
    return NAN;
}

static bool train(dive *d, job *j, size_t steps, size_t every)
{
    dive_batches b;
    kit_arms a = { .title = dive_arch_name[j->arch], .steps = steps, .every = every, .watch = watch };
    const dive_spec spec = loss_spec(d, j->arch);
    if (!dive_batches_open(d, &b, &a, &spec, loss_batch(d, j->arch), j->seed)) return false;
    const size_t tests = loss_tests(d);
    if (a.source.test > tests) a.source.test = tests;
    dive_arms_add(&a);
    a.user = j, j->frame = 0;
    const bool done = kit_arms_run(d->r, &a) && !kit_interrupted();
    for (size_t i = 0; done && i < a.n; i++) {
        const curves *const c = &j->arm[i];
        const double *const wrong = c->wrong + j->seed * j->frames;
        c->mark[j->seed] = step_of_mark(wrong, j->frames, every, 100 - mark_of[j->arch]);
        if (!a.arm[i].diverged) c->area[j->seed] = kit_loss(&a.arm[i].whole), c->error[j->seed] = wrong[j->frames - 1];
    }
    dive_arms_free(&a), dive_batches_free(d, &b);
    return done;
}

static void put(dive *d, const job *j)
{
    const gr_shape curve = GR_SHAPE(d->seeds, j->frames), number = GR_SHAPE(d->seeds);
    for (size_t i = 0; i < DIVE_ARMS; i++) {
        const curves *const c = &j->arm[i];
        const char *const arch = dive_arch_name[j->arch], *const arm = dive_arm_name[i];
        dive_put(d, curve, c->train, "%s/%s/train", arch, arm), dive_put(d, curve, c->wrong, "%s/%s/wrong", arch, arm);
        dive_put(d, curve, c->test, "%s/%s/test", arch, arm), dive_put(d, curve, c->seconds, "seconds/%s/%s", arch, arm);
        dive_put(d, number, c->area, "%s/%s/area", arch, arm), dive_put(d, number, c->error, "%s/%s/error", arch, arm);
        dive_put(d, number, c->mark, "%s/%s/mark", arch, arm);
    }
}

void loss_measure(dive *d, size_t first, size_t end)
{
    const size_t frames = frames_of(d);
    double at[32];
    for (size_t k = 0; k <= frames; k++) at[k] = (double)(100 * k) / (double)frames;
    dive_put(d, GR_SHAPE(frames + 1), at, "share");
    for (size_t arch = first; arch < end; arch++) {
        const size_t steps = loss_steps(d, arch), every = steps / frames;
        for (size_t k = 0; k <= frames; k++) at[k] = (double)(k * every);
        dive_put(d, GR_SHAPE(frames + 1), at, "%s/steps", dive_arch_name[arch]);
        job j = { .d = d, .arch = arch, .frames = frames + 1 };
        for (size_t i = 0; i < DIVE_ARMS; i++) {
            const size_t n = d->seeds * (frames + 1);
            j.arm[i] = (curves){ dive_blank(d, n),        dive_blank(d, n),        dive_blank(d, n),       dive_blank(d, n),
                                 dive_blank(d, d->seeds), dive_blank(d, d->seeds), dive_blank(d, d->seeds) };
        }
        for (j.seed = 0; j.seed < d->seeds; j.seed++)
            if (gr_failed(d->r->tape) || !train(d, &j, steps, every)) return;
        put(d, &j);
    }
}

void dive_loss_measure(dive *d) { loss_measure(d, 0, DIVE_ARCHS); }

/* ---- Drawing ---- */

static const plot_record *get(const dive *d, size_t arch, size_t arm, const char *what)
{
    return plot_runs_get(&d->runs, "loss", "%s/%s/%s", dive_arch_name[arch], dive_arm_name[arm], what);
}

static void add_curves(const dive *d, plot_panel *p, size_t arch, const char *what, const plot_record *steps)
{
    for (size_t i = 0; i < DIVE_ARMS && p && steps; i++) {
        const dive_band y = dive_over_seeds(p->figure->t, get(d, arch, i, what));
        const dive_band seconds =
            dive_over_seeds(p->figure->t, plot_runs_get(&d->runs, "loss", "seconds/%s/%s", dive_arch_name[arch], dive_arm_name[i]));
        plot_series_add(p, &(plot_series){ .name = dive_arm_name[i],
                                           .ink = (plot_ink)(PLOT_INK_NONE + i),
                                           .n = y.n,
                                           .x = steps->values,
                                           .x2 = seconds.n == y.n ? seconds.mean : NULL,
                                           .y = y.mean,
                                           .low = y.low,
                                           .high = y.high,
                                           .reveal = true });
    }
}

/* The mean of `what` over the seeds: a mark may never be reached, and a network may diverge. */
static const char *value_text(const dive *d, gr_tape *t, size_t arch, size_t arm, const char *what, int digits)
{
    return dive_mean_text(t, get(d, arch, arm, what), digits, !strcmp(what, "mark") ? "never" : "diverged");
}

/* "410 without a norm, 280 with BN, 205 with LN" */
static const char *three(const dive *d, plot_figure *f, size_t arch, const char *what, int digits)
{
    const char *text[DIVE_ARMS];
    for (size_t i = 0; i < DIVE_ARMS; i++) text[i] = value_text(d, f->t, arch, i, what, digits);
    return plot_figure_text(f, "%s without a norm, %s with BN, %s with LN", text[0], text[1], text[2]);
}

/* The seconds of all training steps, as `three` writes them. */
static const char *all_seconds(const dive *d, plot_figure *f, size_t arch)
{
    double last[DIVE_ARMS];
    for (size_t i = 0; i < DIVE_ARMS; i++) {
        const dive_band x = dive_over_seeds(f->t, plot_runs_get(&d->runs, "loss", "seconds/%s/%s", dive_arch_name[arch], dive_arm_name[i]));
        last[i] = x.n ? x.mean[x.n - 1] : (double)NAN;
    }
    return plot_figure_text(f, "%.2f without a norm, %.2f with BN, %.2f with LN", last[0], last[1], last[2]);
}

void dive_loss_draw(const dive *d, plot_figure *f)
{
    const plot_record *const share = plot_runs_get(&d->runs, "loss", "share");
    f->title = "Loss and accuracy of four architectures";
    f->columns = DIVE_ARCHS;
    if (!share) return;
    double percent[32];
    for (size_t k = 0; k < share->n && k < 32; k++) percent[k] = round(10 * share->values[k]) / 10;
    plot_figure_frames(f, "percent of the training", percent, share->n < 32 ? share->n : 32);
    for (size_t i = 0; i < 2 * DIVE_ARCHS; i++) {
        const size_t arch = i % DIVE_ARCHS;
        const bool tests = i >= DIVE_ARCHS;
        const plot_record *const steps = plot_runs_get(&d->runs, "loss", "%s/steps", dive_arch_name[arch]);
        const char *const wrong = arch == DIVE_TRANSFORMER ? "characters wrong, %" : "test error, %";
        plot_panel *const p = plot_panel_new(f, &(plot_panel){ .title = dive_arch_name[arch],
                                                               .note = tests ? "100 % minus accuracy" : "training loss",
                                                               .x = { .label = "step" },
                                                               .x2 = { .label = "seconds in training steps" },
                                                               .y = { .label = tests ? wrong : "training loss", .log = true },
                                                               .aspect = 1.35 });
        add_curves(d, p, arch, tests ? "wrong" : "train", steps);
    }
    plot_figure_says(f, PLOT_SAY_QUESTION, "Does a norm make training faster, in steps and in seconds, and is the final accuracy better?");
    plot_figure_says(f, PLOT_SAY_NUMBER, "Steps of the LSTM to %g %% test accuracy: %s", mark_of[DIVE_LSTM],
                     three(d, f, DIVE_LSTM, "mark", 0));
    const char *seen[DIVE_ARCHS], *settings[DIVE_ARCHS];
    for (size_t arch = 0; arch < DIVE_ARCHS; arch++) {
        const dive_spec s = loss_spec(d, arch);
        seen[arch] = plot_figure_text(f, "%s: steps to %g %% accuracy %s; final test error in percent %s; seconds in training steps %s",
                                      dive_arch_name[arch], mark_of[arch], three(d, f, arch, "mark", 0), three(d, f, arch, "error", 1),
                                      all_seconds(d, f, arch));
        settings[arch] = plot_figure_text(f, "%s: %s, %zu steps%s", dive_arch_name[arch], dive_spec_text(f, &s, loss_batch(d, arch)),
                                          loss_steps(d, arch), arch == DIVE_LSTM || arch == DIVE_TRANSFORMER ? ", clip 1" : "");
    }
    plot_figure_says(
        f, PLOT_SAY_CAPTION,
        "Lines are means and bands are ranges over %s. The arms train in lockstep on the same batches and differ only in the norm; "
        "a norm also costs time, so compare steps and seconds. The test uses BatchNorm's running statistics, which lag behind at first. A "
        "training loss is the mean since the evaluation before. The test error is measured on %zu test images, for the Transformer on %zu "
        "batches of windows of the text. %s. %s. %s. %s.",
        dive_count(f->t, d->seeds, "seed", "seeds"), loss_tests(d) * 200, loss_tests(d), seen[0], seen[1], seen[2], seen[3]);
    plot_figure_says(f, PLOT_SAY_SETTINGS, "%s; text: %s. %s. %s. %s. %s.", d->preprocessing, d->text ? "a file" : "made-up sentences",
                     settings[0], settings[1], settings[2], settings[3]);
}

/* ---- Claims ---- */

/* Compare `what` of two arms. A mark that was never reached counts as all steps, a network that diverged as one that guesses. */
static dive_pair compare(const dive *d, size_t arch, size_t a, size_t b, const char *what, double factor)
{
    dive_scale scale = { .worst = DIVE_GUESSING, .factor = factor };
    if (!strcmp(what, "mark")) scale.grid = (double)(loss_steps(d, arch) / frames_of(d)), scale.worst = (double)loss_steps(d, arch);
    if (!strcmp(what, "error")) scale.grid = 100.0 / (double)(loss_tests(d) * 200), scale.worst = 90;
    return dive_compare(get(d, arch, a, what), get(d, arch, b, what), scale);
}

/* An architecture gives a verdict when its best arm's final error is at most half of 90 %, the error of guessing a digit; on text, where runs of
 * this length do not come so far, when its final loss is at most DIVE_READING. */
static const char *too_short(const dive *d, plot_figure *f, size_t arch)
{
    const bool text = arch == DIVE_TRANSFORMER;
    double best = HUGE_VAL;
    for (size_t i = 0; i < DIVE_ARMS; i++) {
        const dive_band loss = dive_over_seeds(f->t, get(d, arch, i, "test"));
        best = fmin(best, !text ? dive_mean(get(d, arch, i, "error")) : loss.n ? loss.mean[loss.n - 1] : (double)NAN);
    }
    return dive_too_short(f, (dive_budget){ .seeds = d->seeds,
                                            .steps = loss_steps(d, arch),
                                            .least = arch == DIVE_LSTM ? DIVE_LSTM_STEPS : DIVE_STEPS,
                                            .best = best,
                                            .must = text ? DIVE_READING : 45,
                                            .unit = text ? "test loss" : "test error in percent" });
}

/* Judge a statement for all architectures: `what` of the arm is below that of no norm. */
static void claim_everywhere(const dive *d, dive_claims *c, size_t arm, const char *what, int digits, const char *unit, dive_claim claim)
{
    dive_verdict v[DIVE_ARCHS];
    plot_figure *const f = c->f;
    claim.measured = unit, claim.interval = claim.why = "", claim.seeds = d->seeds;
    for (size_t arch = 0; arch < DIVE_ARCHS; arch++) {
        const dive_pair p = compare(d, arch, arm, 0, what, 1);
        const char *const name = dive_arch_name[arch], *const before = arch ? "; " : "", *const lacks = too_short(d, f, arch);
        v[arch] = lacks ? DIVE_SHORT : dive_is_below(&p);
        claim.measured = plot_figure_text(f, "%s%s %s %s, without %s", claim.measured, arch ? ";" : ":", name,
                                          value_text(d, f->t, arch, arm, what, digits), value_text(d, f->t, arch, 0, what, digits));
        claim.interval = plot_figure_text(f, "%s%s%s %s", claim.interval, before, name, dive_interval(f, &p, digits));
        claim.why = plot_figure_text(f, "%s%s%s: %s%s%s", claim.why, before, name, dive_verdict_text(f, v[arch], &p, "lower"),
                                     lacks ? ", " : "", lacks ? lacks : "");
    }
    claim.verdict = dive_together(v, DIVE_ARCHS);
    dive_claim_add(c, &claim);
}

/* ", ratio 0.52"; where no norm did not reach the mark in a seed, the run's length bounds the ratio; nothing where LayerNorm did not. */
static const char *ratio_text(const dive *d, plot_figure *f, const dive_pair *p)
{
    if (isnan(p->a)) return "";
    if (!isnan(p->b)) return plot_figure_text(f, ", ratio %.2f", p->a / p->b);
    const plot_record *const none = get(d, DIVE_LSTM, 0, "mark");
    double sum = 0;
    for (size_t k = 0; none && k < none->n; k++) sum += isnan(none->values[k]) ? (double)loss_steps(d, DIVE_LSTM) : none->values[k];
    return none ? plot_figure_text(f, ", ratio at most %.2f", p->a * (double)none->n / sum) : "";
}

static void claim_lstm(const dive *d, dive_claims *c)
{
    const dive_pair p = compare(d, DIVE_LSTM, 2, 0, "mark", 1), bound = compare(d, DIVE_LSTM, 2, 0, "mark", 0.65);
    const dive_verdict below = dive_is_below(&p), far = dive_is_below(&bound);
    const char *const ratio = ratio_text(d, c->f, &p);
    dive_claim_add(
        c, &(dive_claim){ .statement = "Recurrent networks gain most: with LayerNorm an LSTM needs at most 0.65 times as many steps",
                          .source = "Ba et al. 2016, section 6 (LN9; the bound of 0.65 is ours)",
                          .measured = plot_figure_text(c->f, "steps to %g %%: %s with LN, %s without a norm%s", mark_of[DIVE_LSTM],
                                                       value_text(d, c->f->t, DIVE_LSTM, 2, "mark", 0),
                                                       value_text(d, c->f->t, DIVE_LSTM, 0, "mark", 0), ratio),
                          .control = "no norm, with the same batches and learning rate, forget bias +1, pixels 0 to 1",
                          .interval = plot_figure_text(c->f, "steps %s; minus 0.65 times the other %s", dive_interval(c->f, &p, 0),
                                                       dive_interval(c->f, &bound, 0)),
                          .too_short = too_short(d, c->f, DIVE_LSTM),
                          .seeds = d->seeds,
                          .why = below == DIVE_PASS ? "it needs fewer steps, but the interval of the ratio is not below 0.65"
                                                    : plot_figure_text(c->f, "%s%s", dive_why(c->f, &p, "fewer steps", "more steps"),
                                                                       far == DIVE_FAIL ? "; more than 0.65 times as many" : ""),
                          .verdict = dive_in_part(far, below) });
}

static void claim_cnn(const dive *d, dive_claims *c)
{
    const dive_pair ln = compare(d, DIVE_CNN, 2, 0, "area", 1), bn = compare(d, DIVE_CNN, 1, 2, "area", 1);
    const dive_verdict v[] = { dive_is_below(&ln), dive_is_below(&bn) };
    dive_claim_add(
        c, &(dive_claim){
               .statement = "In a convolutional network LayerNorm is faster than no norm, and BatchNorm faster than both",
               .source = "Ba et al. 2016, section 6.7, without numbers (LN15)",
               .measured = plot_figure_text(c->f, "training loss over all steps: none %.3f, LN %.3f, BN %.3f", ln.b, ln.a, bn.a),
               .control = plot_figure_text(c->f, "the same steps at batch %zu", loss_batch(d, DIVE_CNN)),
               .interval =
                   plot_figure_text(c->f, "LN minus none %s; BN minus LN %s", dive_interval(c->f, &ln, 3), dive_interval(c->f, &bn, 3)),
               .too_short = too_short(d, c->f, DIVE_CNN),
               .seeds = d->seeds,
               .why = plot_figure_text(c->f, "LN below none: %s; BN below LN: %s", dive_verdict_name[v[0]], dive_verdict_name[v[1]]),
               .verdict = dive_together(v, 2) });
}

void dive_loss_claims(const dive *d, dive_claims *c)
{
    static const char *const control = "no norm, with the same batches, weights and learning rate";
    static const char *const marks = "steps to 90 % test accuracy (Transformer: 40 %)", *const errors = "final test error in percent";
    claim_everywhere(d, c, 2, "mark", 0, marks,
                     (dive_claim){ .statement = "LayerNorm converges faster", .source = "often said; Ba et al. 2016", .control = control });
    claim_everywhere(d, c, 1, "mark", 0, marks,
                     (dive_claim){ .statement = "BatchNorm converges faster",
                                   .source = "Ioffe, Szegedy 2015, section 4 (BN4, with one learning rate)",
                                   .control = control });
    claim_everywhere(d, c, 2, "error", 2, errors,
                     (dive_claim){ .statement = "LayerNorm ends at a higher accuracy", .source = "often said", .control = control });
    claim_everywhere(d, c, 1, "error", 2, errors,
                     (dive_claim){ .statement = "BatchNorm ends at a higher accuracy", .source = "often said", .control = control });
    claim_lstm(d, c);
    claim_cnn(d, c);
}
