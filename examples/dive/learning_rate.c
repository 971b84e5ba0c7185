/* examples/dive/learning_rate.c - figure "learning_rate": the learning rates, and the scales of the initial weights, that train.
 *
 * A sweep trains one network with eight values of one setting, in lockstep on the same batches, once for each arm and seed. Records:
 * "SWEEP/values" [8]; "SWEEP/ARM/loss" [seeds, 8]: the mean training loss of the last fifth of the steps, NaN if it became NaN or infinite. A
 * value trains if this loss is below half of ln 10, the loss of guessing, in every seed. */
#include "examples/dive/models.h"
#include "examples/dive/seeds.h"
#include <math.h>

enum { LSTM_ADAM, MLP_ADAM, MLP_SGD, MLP_SCALE, SWEEPS };
enum { VALUES = KIT_ARMS };
typedef struct {
    const char *name, *title, *note, *axis;
    dive_spec spec;
    bool scale; /* the setting is the scale of the initial weights, not the learning rate */
    double value[VALUES];
} sweep;

static const double guessing = 2.302585092994046; /* ln 10 */

static sweep sweep_of(const dive *d, size_t k)
{
    const dive_spec mlp = { .arch = DIVE_MLP, .hidden = dive_pick(d, 8, 64, 128) },
                    lstm = { .arch = DIVE_LSTM, .hidden = dive_pick(d, 8, 32, 64) };
    const sweep all[SWEEPS] = {
        { "lstm_adam", "LSTM, Adam", "learning rate", "learning rate", lstm, false, { 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1, 3 } },
        { "mlp_adam", "MLP, Adam", "learning rate", "learning rate", mlp, false, { 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1 } },
        { "mlp_sgd", "MLP, SGD", "learning rate", "learning rate", mlp, false, { 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30 } },
        { "mlp_scale",
          "MLP, Adam 0.001",
          "initial weights",
          "initial weights, times He's",
          mlp,
          true,
          { 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30 } },
    };
    sweep s = all[k];
    s.spec.sgd = k == MLP_SGD;
    return s;
}
static size_t steps_of(const dive *d, const sweep *s)
{
    return s->spec.arch == DIVE_LSTM ? dive_pick(d, 5, 200, 400) : dive_pick(d, 5, 250, 800);
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
    a.source.test = 1;
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
    job j = { .d = d, .all = SWEEPS * DIVE_ARMS * d->seeds };
    for (size_t k = 0; k < SWEEPS; k++) {
        const sweep s = sweep_of(d, k);
        j.s = &s;
        dive_put(d, GR_SHAPE(VALUES), s.value, "%s/values", s.name);
        for (size_t arm = 0; arm < DIVE_ARMS; arm++) {
            double *const loss = dive_blank(d, d->seeds * VALUES);
            for (size_t seed = 0; seed < d->seeds; seed++, j.number++)
                if (!loss || !train(d, &j, arm, seed, loss + seed * VALUES)) return;
            dive_put(d, GR_SHAPE(d->seeds, VALUES), loss, "%s/%s/loss", s.name, dive_arm_name[arm]);
        }
    }
}

/* ---- Which values train ---- */

/* The smallest and largest value that trains, for each arm; NaN if none trains. */
typedef struct {
    double least[DIVE_ARMS], largest[DIVE_ARMS];
} span;

static const plot_record *get(const dive *d, const sweep *s, size_t arm)
{
    return plot_runs_get(&d->runs, "learning_rate", "%s/%s/loss", s->name, dive_arm_name[arm]);
}

static bool trains(const plot_record *r, size_t value)
{
    const size_t seeds = r ? r->n / VALUES : 0;
    for (size_t k = 0; k < seeds; k++)
        if (!(r->values[k * VALUES + value] < guessing / 2)) return false;
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
    return isnan(x->least[arm]) ? "no value" : plot_figure_text(f, "%g to %g", x->least[arm], x->largest[arm]);
}

static const char *spans_text(plot_figure *f, const span *x)
{
    return plot_figure_text(f, "none %s, BN %s, LN %s", span_text(f, x, 0), span_text(f, x, 1), span_text(f, x, 2));
}

/* ---- Drawing ---- */

void dive_learning_rate_draw(const dive *d, plot_figure *f)
{
    const char *seen[SWEEPS], *settings[SWEEPS];
    span x[SWEEPS];
    f->title = "Learning rates and initial weights that train";
    for (size_t k = 0; k < SWEEPS; k++) {
        const sweep s = sweep_of(d, k);
        const double ends[] = { s.value[0], s.value[VALUES - 1] }, level[] = { guessing / 2, guessing / 2 };
        x[k] = span_of(d, &s);
        plot_panel *const p = plot_panel_new(f, &(plot_panel){ .title = s.title,
                                                               .note = s.note,
                                                               .x = { .label = s.axis, .log = true },
                                                               .y = { .label = "final training loss", .log = true } });
        for (size_t arm = 0; arm < DIVE_ARMS; arm++) {
            const dive_band y = dive_over_seeds(f->t, get(d, &s, arm));
            for (size_t i = 0; i < y.n; i++)
                if (y.high[i] > 2 * guessing) y.mean[i] = y.low[i] = y.high[i] = NAN;
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
        seen[k] = plot_figure_text(f, "%s trains with %s", s.title, spans_text(f, &x[k]));
        settings[k] = plot_figure_text(f, "%s: %s, %zu steps%s", s.title, dive_spec_text(f, &shown, batch_of(d)), steps_of(d, &s),
                                       s.spec.arch == DIVE_LSTM ? ", clip 1" : "");
    }
    plot_figure_says(f, PLOT_SAY_QUESTION, "Do networks with a norm train with larger learning rates, and with worse initial weights?");
    const double *const largest = x[MLP_SGD].largest;
    plot_figure_says(f, PLOT_SAY_NUMBER,
                     "Largest learning rate that trains the MLP with SGD: %s without a norm, %s with BatchNorm, %s with LayerNorm",
                     number(f, largest[0]), number(f, largest[1]), number(f, largest[2]));
    plot_figure_says(
        f, PLOT_SAY_CAPTION,
        "Each point is a separate network; lines are means and bands are ranges over %zu seeds. The final loss is the mean "
        "training loss of the last fifth of the steps. A gap means that in some seed the loss became NaN or infinite, or "
        "ended above %.1f, which is twice the loss of guessing. A value trains if the final loss is below %.2f (grey) in every "
        "seed. %s. %s. %s. %s.",
        d->seeds, 2 * guessing, guessing / 2, seen[0], seen[1], seen[2], seen[3]);
    plot_figure_says(f, PLOT_SAY_SETTINGS, "%s. %s. %s. %s. %s.", d->preprocessing, settings[0], settings[1], settings[2], settings[3]);
}

/* ---- Claims ---- */

/* Compare the largest value that trains with that of no norm, and the ratio of the largest to the smallest. */
static double reach(const span *x, size_t arm)
{
    return isnan(x->largest[arm]) ? 0 : isnan(x->largest[0]) ? HUGE_VAL : x->largest[arm] / x->largest[0];
}
static double width(const span *x, size_t arm) { return isnan(x->largest[arm]) ? 0 : x->largest[arm] / x->least[arm]; }

static dive_verdict more(double a, double b) { return a > b * (1 + 1e-9) ? DIVE_PASS : a < b * (1 - 1e-9) ? DIVE_FAIL : DIVE_DIFFERS; }

static void claim_rates(const dive *d, dive_claims *c, size_t arm, dive_claim claim)
{
    dive_verdict v[MLP_SCALE];
    const char *text[MLP_SCALE];
    for (size_t k = 0; k < MLP_SCALE; k++) {
        const sweep s = sweep_of(d, k);
        const span x = span_of(d, &s);
        v[k] = more(reach(&x, arm), 1);
        text[k] = plot_figure_text(c->f, "%s: %s against %s", s.title, span_text(c->f, &x, arm), span_text(c->f, &x, 0));
    }
    claim.measured =
        plot_figure_text(c->f, "learning rates that train, with the norm against no norm: %s; %s; %s", text[0], text[1], text[2]);
    claim.control = "no norm, with the same steps, batches and weights; neighbouring rates differ by a factor of about 3";
    claim.verdict = dive_together(v, MLP_SCALE);
    claim.why = "the largest rate is not larger everywhere: Adam's steps do not grow with the gradient, so that large rates train without "
                "a norm too";
    dive_claim_add(c, &claim);
}

static void claim_five(const dive *d, dive_claims *c)
{
    const sweep s = sweep_of(d, MLP_SGD);
    const span x = span_of(d, &s);
    const double ratio = reach(&x, 1);
    dive_claim_add(
        c, &(dive_claim){
               .statement = "With BatchNorm a network trains at learning rates that are at least 5 times as large",
               .source = "Ioffe, Szegedy 2015, section 4.2.2 (BN3)",
               .measured = plot_figure_text(c->f, "MLP, SGD: largest rate %s, ratio %g", spans_text(c->f, &x), ratio),
               .control = "no norm, with the same steps, batches and weights; neighbouring rates differ by a factor of about 3",
               .why = plot_figure_text(c->f, "%s",
                                       ratio > 1 ? "larger, but less than 5 times"
                                                 : "this network is shallow and has He's weights: rates as large train it without a norm"),
               .verdict = ratio >= 5  ? DIVE_PASS
                          : ratio > 1 ? DIVE_DIFFERS
                                      : DIVE_FAIL });
}

static void claim_scale(const dive *d, dive_claims *c, size_t arm, const char *statement, const char *source)
{
    const sweep s = sweep_of(d, MLP_SCALE);
    const span x = span_of(d, &s);
    dive_claim_add(
        c, &(dive_claim){
               .statement = statement,
               .source = source,
               .measured = plot_figure_text(c->f, "trains with weights of %s times He's; without a norm %s", span_text(c->f, &x, arm),
                                            span_text(c->f, &x, 0)),
               .control = "no norm, with the same steps, batches and learning rate",
               .why = "the range of scales is not wider than without a norm: Adam's steps do not depend on the size of the gradient",
               .verdict = more(width(&x, arm), width(&x, 0)) });
}

void dive_learning_rate_claims(const dive *d, dive_claims *c)
{
    claim_rates(d, c, 2, (dive_claim){ .statement = "LayerNorm allows higher learning rates", .source = "often said" });
    claim_rates(d, c, 1,
                (dive_claim){ .statement = "BatchNorm allows higher learning rates", .source = "Ioffe, Szegedy 2015, section 3.3" });
    claim_five(d, c);
    claim_scale(d, c, 2, "LayerNorm is robust to the scale of the initial weights", "often said");
    claim_scale(d, c, 1, "BatchNorm needs less careful initialization", "Ioffe, Szegedy 2015, abstract (BN6)");
}
