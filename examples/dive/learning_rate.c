/* examples/dive/learning_rate.c - figure "learning_rate": the learning rates, and the scales of the initial weights, that train.
 *
 * A sweep trains one network with eight values of one setting, in lockstep on the same batches, once for each arm and seed. Records:
 * "SWEEP/values" [8]; "SWEEP/ARM/loss" [seeds, 8]: the mean training loss of the last fifth of the steps, NaN if it became NaN or infinite. A
 * value trains if this loss is below half of ln 10, the loss of guessing, in every seed. */
#include "examples/dive/models.h"
#include "examples/dive/seeds.h"
#include <math.h>

enum { LSTM_ADAM, LSTM_SGD, MLP_ADAM, MLP_SGD, MLP_SCALE, SCALE_SGD, SWEEPS };
enum { VALUES = KIT_ARMS };
typedef struct {
    const char *name, *title, *note, *axis;
    dive_spec spec;
    bool scale; /* the setting is the scale of the initial weights, not the learning rate */
    double value[VALUES];
} sweep;

static sweep sweep_of(const dive *d, size_t k)
{
    const dive_spec mlp = { .arch = DIVE_MLP, .hidden = dive_pick(d, 8, 64, 128) },
                    lstm = { .arch = DIVE_LSTM, .hidden = dive_pick(d, 8, 32, 64) };
    const sweep all[SWEEPS] = {
        { "lstm_adam", "LSTM, Adam", "learning rate", "learning rate", lstm, false, { 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1, 3 } },
        { "lstm_sgd", "LSTM, SGD", "learning rate", "learning rate", lstm, false, { 0.03, 0.1, 0.3, 1, 3, 10, 30, 100 } },
        { "mlp_adam", "MLP, Adam", "learning rate", "learning rate", mlp, false, { 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1 } },
        { "mlp_sgd", "MLP, SGD", "learning rate", "learning rate", mlp, false, { 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30 } },
        { "mlp_scale",
          "MLP, Adam 0.001",
          "initial weights",
          "initial weights, times He's",
          mlp,
          true,
          { 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30 } },
        { "mlp_scale_sgd",
          "MLP, SGD 0.1",
          "initial weights",
          "initial weights, times He's",
          mlp,
          true,
          { 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30 } },
    };
    sweep s = all[k];
    s.spec.sgd = k == LSTM_SGD || k == MLP_SGD || k == SCALE_SGD;
    if (k == SCALE_SGD) s.spec.lr = 0.1;
    return s;
}
static size_t steps_of(const dive *d, const sweep *s)
{
    return s->spec.arch == DIVE_LSTM ? dive_pick(d, 5, 100, 700) : dive_pick(d, 5, 200, 800);
}
/* The short runs of the LSTM give no verdict, and its curves need one seed. */
static size_t seeds_of(const dive *d, const sweep *s)
{
    return s->spec.arch == DIVE_LSTM && d->mode == DIVE_QUICK && d->seeds > 1 ? 1 : d->seeds;
}
static size_t batch_of(const dive *d) { return dive_pick(d, 16, 32, 64); }

/* ---- Measuring ---- */

typedef struct {
    dive *d;
    const sweep *s;
    size_t number, all;
} job;

static bool watch(kit_arms *a, size_t step, bool evaluated)
{
    const job *const j = a->user;
    const double share = ((double)j->number + (double)step / (double)a->steps) / (double)j->all;
    return evaluated || dive_tick(j->d, share, "%s, %s, step %zu", j->s->title, a->title, step);
}

/* Train with the eight values, one norm and one seed; the result is loss [VALUES]. */
static bool train(dive *d, job *j, size_t arm, size_t seed, double *loss)
{
    dive_batches b;
    dive_spec spec[VALUES];
    char name[VALUES][24];
    const size_t steps = steps_of(d, j->s);
    kit_arms a = { .title = dive_arm_name[arm], .steps = steps, .every = steps - steps / 5, .watch = watch };
    if (!dive_batches_open(d, &b, &a, &j->s->spec, batch_of(d), seed)) return false;
    a.source.test = 0;
    for (size_t i = 0; i < VALUES; i++) {
        spec[i] = j->s->spec;
        *(j->s->scale ? &spec[i].scale : &spec[i].lr) = j->s->value[i];
        snprintf(name[i], sizeof name[i], "%g", j->s->value[i]);
        kit_arms_add(&a, name[i], (int)dive_arm_norm[arm]), a.arm[i].user = &spec[i];
    }
    a.user = j;
    const bool done = kit_arms_run(d->r, &a) && !kit_interrupted();
    for (size_t i = 0; i < VALUES; i++) loss[i] = a.arm[i].diverged ? (double)NAN : kit_loss(&a.arm[i].recent);
    dive_arms_free(&a), dive_batches_free(d, &b);
    return done;
}

void dive_learning_rate_measure(dive *d)
{
    job j = { .d = d };
    for (size_t k = 0; k < SWEEPS; k++) {
        const sweep s = sweep_of(d, k);
        j.all += DIVE_ARMS * seeds_of(d, &s);
    }
    for (size_t k = 0; k < SWEEPS; k++) {
        const sweep s = sweep_of(d, k);
        const size_t seeds = seeds_of(d, &s);
        j.s = &s;
        dive_put(d, GR_SHAPE(VALUES), s.value, "%s/values", s.name);
        for (size_t arm = 0; arm < DIVE_ARMS; arm++) {
            double *const loss = dive_blank(d, seeds * VALUES);
            for (size_t seed = 0; seed < seeds; seed++, j.number++)
                if (!loss || !train(d, &j, arm, seed, loss + seed * VALUES)) return;
            dive_put(d, GR_SHAPE(seeds, VALUES), loss, "%s/%s/loss", s.name, dive_arm_name[arm]);
        }
    }
}

/* ---- Which values train ---- */

/* The smallest and largest value that trains in every seed, for each arm; NaN if none trains. */
typedef struct {
    double least[DIVE_ARMS], largest[DIVE_ARMS];
} span;

static const plot_record *get(const dive *d, const sweep *s, size_t arm)
{
    return plot_runs_get(&d->runs, "learning_rate", "%s/%s/loss", s->name, dive_arm_name[arm]);
}

static bool trains_in(const plot_record *r, size_t seed, size_t value) { return r->values[seed * VALUES + value] < DIVE_GUESSING / 2; }

static bool trains(const plot_record *r, size_t value)
{
    const size_t seeds = r ? r->n / VALUES : 0;
    for (size_t k = 0; k < seeds; k++)
        if (!trains_in(r, k, value)) return false;
    return seeds > 0;
}

static span span_of(const dive *d, const sweep *s)
{
    span x;
    for (size_t arm = 0; arm < DIVE_ARMS; arm++) {
        const plot_record *const r = get(d, s, arm);
        x.least[arm] = x.largest[arm] = NAN;
        for (size_t i = 0; i < VALUES; i++)
            if (trains(r, i)) x.largest[arm] = s->value[i], x.least[arm] = isnan(x.least[arm]) ? s->value[i] : x.least[arm];
    }
    return x;
}

static const char *number(plot_figure *f, double x) { return isnan(x) ? "no value" : plot_figure_text(f, "%g", x); }

/* "0.01 to 0.3" */
static const char *span_text(plot_figure *f, const span *x, size_t arm)
{
    return isnan(x->least[arm]) ? "no value" : dive_range(f->t, x->least[arm], x->largest[arm], -6);
}

static const char *spans_text(plot_figure *f, const span *x)
{
    return plot_figure_text(f, "none %s, BN %s, LN %s", span_text(f, x, 0), span_text(f, x, 1), span_text(f, x, 2));
}

/* "LSTM, Adam: no value without a norm, 0.03 to 0.1 with BN, 0.03 with LN"; "LSTM, SGD: no rate trains in 100 steps". */
static const char *trains_text(const dive *d, plot_figure *f, const sweep *s, const span *x)
{
    bool some = false;
    for (size_t arm = 0; arm < DIVE_ARMS; arm++) some |= !isnan(x->least[arm]);
    return some ? plot_figure_text(f, "%s: %s without a norm, %s with BN, %s with LN", s->title, span_text(f, x, 0), span_text(f, x, 1),
                                   span_text(f, x, 2))
                : plot_figure_text(f, "%s: no %s trains in %zu steps", s->title, s->scale ? "scale" : "rate", steps_of(d, s));
}

/* ---- Drawing ---- */

void dive_learning_rate_draw(const dive *d, plot_figure *f)
{
    const char *seen[SWEEPS], *settings[SWEEPS];
    span x[SWEEPS];
    f->title = "Learning rates and initial weights that train", f->columns = 3;
    for (size_t k = 0; k < SWEEPS; k++) {
        const sweep s = sweep_of(d, k);
        const double ends[] = { s.value[0], s.value[VALUES - 1] }, level[] = { DIVE_GUESSING / 2, DIVE_GUESSING / 2 };
        x[k] = span_of(d, &s);
        plot_panel *const p = plot_panel_new(f, &(plot_panel){ .title = s.title,
                                                               .note = s.note,
                                                               .x = { .label = s.axis, .log = true },
                                                               .y = { .label = "final training loss", .log = true } });
        for (size_t arm = 0; arm < DIVE_ARMS; arm++) {
            const dive_band y = dive_over_seeds(f->t, get(d, &s, arm));
            for (size_t i = 0; i < y.n; i++)
                if (y.high[i] > 2 * DIVE_GUESSING) y.mean[i] = y.low[i] = y.high[i] = NAN;
            plot_series_add(p, &(plot_series){ .name = dive_arm_name[arm],
                                               .ink = (plot_ink)(PLOT_INK_NONE + arm),
                                               .mark = PLOT_LINE_DOTS,
                                               .n = y.n,
                                               .x = s.value,
                                               .y = y.mean,
                                               .low = y.low,
                                               .high = y.high });
        }
        plot_series_add(p, &(plot_series){ .name = "trains below", .ink = PLOT_INK_QUIET, .n = 2, .x = ends, .y = level });
        dive_spec shown = s.spec;
        if (!s.scale) shown.lr = NAN;
        seen[k] = trains_text(d, f, &s, &x[k]);
        settings[k] = plot_figure_text(f, "%s: %s, %zu steps%s", s.title, dive_spec_text(f, &shown, batch_of(d)), steps_of(d, &s),
                                       s.spec.arch == DIVE_LSTM ? ", clip 1" : "");
    }
    plot_figure_says(f, PLOT_SAY_QUESTION, "Do networks with a norm train with larger learning rates, and with worse initial weights?");
    const double *const largest = x[MLP_SGD].largest;
    const sweep lstm = sweep_of(d, LSTM_ADAM);
    const char *const one_seed = seeds_of(d, &lstm) < d->seeds ? ", and the LSTM has one seed" : "";
    plot_figure_says(f, PLOT_SAY_NUMBER,
                     "Largest learning rate that trains the MLP with SGD: %s without a norm, %s with BatchNorm, %s with LayerNorm",
                     number(f, largest[0]), number(f, largest[1]), number(f, largest[2]));
    plot_figure_says(
        f, PLOT_SAY_CAPTION,
        "Each point is a separate network; lines are means and bands are ranges over %s%s. The final loss is the mean "
        "training loss of the last fifth of the steps. A gap means that in some seed the loss became NaN or infinite, or "
        "ended above %.1f, which is twice the loss of guessing. A value trains if the final loss is below %.2f (grey) in every "
        "seed. These values train. %s. %s. %s. %s. %s. %s.",
        dive_count(f->t, d->seeds, "seed", "seeds"), one_seed, 2 * DIVE_GUESSING, DIVE_GUESSING / 2, seen[0], seen[1], seen[2], seen[3],
        seen[4], seen[5]);
    plot_figure_says(f, PLOT_SAY_SETTINGS, "%s. %s. %s. %s. %s. %s. %s.", d->preprocessing, settings[0], settings[1], settings[2],
                     settings[3], settings[4], settings[5]);
}

/* ---- Claims ---- */

enum { MOST = 100 };

/* A number of each arm in each seed: log10 of the largest value that trains, or of the largest over the smallest; without a value that trains,
 * log10 of the smallest value of the sweep, or 0. The record's values are at v. */
static plot_record logs(const dive *d, const sweep *s, size_t arm, bool width, double v[MOST])
{
    const plot_record *const r = get(d, s, arm);
    plot_record out = { .n = r ? r->n / VALUES : 0, .values = v };
    if (out.n > MOST) out.n = MOST;
    for (size_t k = 0; k < out.n; k++) {
        double least = 0, largest = 0;
        for (size_t i = 0; i < VALUES; i++)
            if (trains_in(r, k, i)) largest = s->value[i], least = least > 0 ? least : largest;
        v[k] = width ? (largest > 0 ? log10(largest / least) : 0) : log10(largest > 0 ? largest : s->value[0]);
    }
    return out;
}

/* no norm minus the arm, in decades, so that the norm is better where the pair is below. Half a step of the sweep is a tie. */
static dive_pair decades(const dive *d, size_t sweep_number, size_t arm, bool width)
{
    const sweep s = sweep_of(d, sweep_number);
    double v[2][MOST];
    const plot_record none = logs(d, &s, 0, width, v[0]), norm = logs(d, &s, arm, width, v[1]);
    return dive_compare(&none, &norm, (dive_scale){ .grid = 0.24 });
}

/* Some arm trains with some value in every seed. */
static const char *too_short(const dive *d, plot_figure *f, size_t sweep_number)
{
    const sweep s = sweep_of(d, sweep_number);
    double best = HUGE_VAL;
    for (size_t arm = 0; arm < DIVE_ARMS; arm++) {
        const dive_band y = dive_over_seeds(f->t, get(d, &s, arm));
        for (size_t i = 0; i < y.n; i++) best = fmin(best, y.high[i]);
    }
    const size_t least = s.spec.arch == DIVE_LSTM ? DIVE_LSTM_STEPS : DIVE_STEPS;
    return dive_too_short(f, (dive_budget){ seeds_of(d, &s), steps_of(d, &s), least, best, DIVE_GUESSING / 2, "training loss" });
}

/* Judge a statement in n sweeps. */
static void claim_sweeps(const dive *d, dive_claims *c, size_t arm, bool width, const size_t *sweeps, size_t n, dive_claim claim)
{
    plot_figure *const f = c->f;
    dive_verdict v[SWEEPS];
    claim.measured = claim.interval = claim.why = "", claim.seeds = d->seeds;
    for (size_t k = 0; k < n; k++) {
        const sweep s = sweep_of(d, sweeps[k]);
        const span x = span_of(d, &s);
        const dive_pair p = decades(d, sweeps[k], arm, width);
        const char *const before = k ? "; " : "", *const lacks = too_short(d, f, sweeps[k]);
        v[k] = lacks ? DIVE_SHORT : dive_is_below(&p);
        claim.measured =
            plot_figure_text(f, "%s%s%s: %s against %s", claim.measured, before, s.title, span_text(f, &x, arm), span_text(f, &x, 0));
        claim.interval = plot_figure_text(f, "%s%s%s %s", claim.interval, before, s.title, dive_interval(f, &p, 2));
        claim.why = plot_figure_text(f, "%s%s%s: %s%s%s", claim.why, before, s.title, dive_verdict_name[v[k]], lacks ? ", " : "",
                                     lacks ? lacks : "");
    }
    claim.interval = plot_figure_text(f, "decades, no norm minus the norm: %s", claim.interval);
    claim.control = "no norm, with the same steps, batches and weights; neighbouring values differ by a factor of about 3; "
                    "\xc2\xb1 0.00 means that the difference is the same in all seeds";
    claim.verdict = dive_together(v, n);
    dive_claim_add(c, &claim);
}

/* In how many seeds no value trains. */
static size_t seeds_without(const dive *d, const sweep *s, size_t arm)
{
    const plot_record *const r = get(d, s, arm);
    size_t without = 0;
    for (size_t k = 0; r && k < r->n / VALUES; k++) {
        size_t values = 0;
        for (size_t i = 0; i < VALUES; i++) values += trains_in(r, k, i);
        without += !values;
    }
    return without;
}

/* The largest rate with BatchNorm over that without a norm. The smallest rate bounds it where none trains without a norm. */
static const char *ratio_text(const dive *d, plot_figure *f, const sweep *s, const dive_pair *p)
{
    if (seeds_without(d, s, 1)) return "no ratio, because in a seed no rate trains with BN";
    return plot_figure_text(f, "ratio of the largest %s%.1f, geometric mean over the seeds", seeds_without(d, s, 0) ? "at least " : "",
                            pow(10, -p->difference));
}

/* The largest step between neighbouring values of a sweep, in decades: by so much the largest value that trains may be above the one found. */
static double step_of(const sweep *s)
{
    double step = 0;
    for (size_t i = 1; i < VALUES; i++) step = fmax(step, log10(s->value[i] / s->value[i - 1]));
    return step;
}

static void claim_five(const dive *d, dive_claims *c)
{
    const sweep s = sweep_of(d, MLP_SGD);
    const double step = step_of(&s);
    const span x = span_of(d, &s);
    const dive_pair p = decades(d, MLP_SGD, 1, false);
    const dive_verdict larger = dive_is_below(&p);
    dive_claim_add(
        c, &(dive_claim){
               .statement = "With BatchNorm a network trains at learning rates that are at least 5 times as large",
               .source = "Ioffe, Szegedy 2015, section 4.2.2 (BN3)",
               .measured = plot_figure_text(c->f, "MLP, SGD: %s; %s", spans_text(c->f, &x), ratio_text(d, c->f, &s, &p)),
               .control = "no norm, with the same steps, batches and weights; neighbouring rates differ by a factor of about 3, so "
                          "that a ratio may be larger or smaller by this factor",
               .interval =
                   plot_figure_text(c->f, "decades, no norm minus BN: %s, where the step of the rates adds \xc2\xb1 %.2f; 5 times is %.2f",
                                    dive_interval(c->f, &p, 2), step, -log10(5)),
               .seeds = d->seeds,
               .too_short = too_short(d, c->f, MLP_SGD),
               .why = larger == DIVE_PASS ? plot_figure_text(c->f,
                                                             "the largest rate is larger, but not shown to be 5 times as large: "
                                                             "the ratio is between %.1f and %.0f",
                                                             pow(10, -p.difference - p.half - step), pow(10, -p.difference + p.half + step))
                                          : dive_why(c->f, &p, "larger", "smaller"),
               .verdict = larger == DIVE_PASS && -p.difference - p.half - step < log10(5) ? DIVE_DIFFERS : larger });
}

void dive_learning_rate_claims(const dive *d, dive_claims *c)
{
    static const size_t rates[] = { LSTM_ADAM, LSTM_SGD, MLP_ADAM, MLP_SGD }, scales[] = { MLP_SCALE, SCALE_SGD };
    claim_sweeps(d, c, 2, false, rates, 4, (dive_claim){ .statement = "LayerNorm allows higher learning rates", .source = "often said" });
    claim_sweeps(d, c, 1, false, rates, 4,
                 (dive_claim){ .statement = "BatchNorm allows higher learning rates", .source = "Ioffe, Szegedy 2015, section 3.3" });
    claim_five(d, c);
    claim_sweeps(d, c, 2, true, scales, 2,
                 (dive_claim){ .statement = "LayerNorm is robust to the scale of the initial weights", .source = "often said" });
    claim_sweeps(
        d, c, 1, true, scales, 2,
        (dive_claim){ .statement = "BatchNorm needs less careful initialization", .source = "Ioffe, Szegedy 2015, abstract (BN6)" });
}
