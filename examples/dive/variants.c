/* examples/dive/variants.c - figure "variants": LayerNorm with a part left out or changed, in an MLP, a CNN and a Transformer.
 *
 * no backward: mean and deviation are constants in backward, without gain and bias (DetachNorm of Xu et al. 2019); plain: no gain and bias;
 * AdaNorm: (1 - xhat / 10) xhat, where the first factor is a constant in backward; RMSNorm: also without a gain.
 * Records: "NET/ARM/error", "/tested" [seeds]: test error in percent, and test loss. */
#include "core/op.h"
#include "examples/dive/loss.h"
#include "examples/dive/seeds.h"
#include "gradus.h"
#include <math.h>

enum { NETS = 3, ARMS = 6 };
enum { NONE, FULL, PLAIN, DETACHED, ADA, RMS };
static const char *const arm_name[ARMS] = { "none", "LN", "plain", "no backward", "AdaNorm", "RMSNorm" };
static const dive_arch arch_of[NETS] = { DIVE_MLP, DIVE_CNN, DIVE_TRANSFORMER };

static dive_spec spec_of(const dive *d, size_t net)
{
    if (arch_of[net] == DIVE_TRANSFORMER) return loss_spec(d, DIVE_TRANSFORMER);
    return (dive_spec){ .arch = arch_of[net],
                        .hidden = net == 0 ? dive_pick(d, 8, 64, 128) : dive_pick(d, 4, 4, 8),
                        .depth = net == 0 ? 4 : 2 };
}
static size_t steps_of(const dive *d, size_t net)
{
    return net == 0 ? dive_pick(d, 3, 300, 1500) : net == 1 ? dive_pick(d, 3, 240, 1000) : loss_steps(d, DIVE_TRANSFORMER);
}
static size_t batch_of(const dive *d, size_t net) { return net == 2 ? loss_batch(d, DIVE_TRANSFORMER) : dive_pick(d, 8, 32, 64); }
static size_t tests_of(const dive *d, size_t net) { return net == 2 ? loss_tests(d) : dive_pick(d, 1, 5, 50); } /* test batches */

/* ==== The changed norms ==== */

typedef struct {
    gr_module module;
    int arm;
} variant;

/* Normalize the features of a row, or channels and pixels of an image. */
static gr_tensor *variant_forward(gr_tape *t, const gr_module *m, gr_tensor *x)
{
    const int arm = ((const variant *)m)->arm, axes = x && x->rank == 4 ? 3 : 1;
    if (arm == PLAIN || !x) return gr_layer_norm(t, x, axes, NULL, NULL, 1e-5);
    if (arm == RMS) return gr_rms_norm(t, x, axes, NULL, 1e-5);
    if (arm == ADA) {
        gr_tensor *const y = gr_layer_norm(t, x, axes, NULL, NULL, 1e-5);
        return gr_mul(t, y, gr_detach(t, gr_add_scalar(t, gr_scale(t, y, -0.1), 1)));
    }
    const gr_axes over = axes == 3 ? GR_AXES(1, 2, 3) : GR_AXES(-1);
    gr_tensor *const mean = gr_detach(t, gr_mean(t, x, over, true)), *const var = gr_detach(t, gr_var(t, x, over, 0, true));
    return gr_div(t, gr_sub(t, x, mean), gr_sqrt(t, gr_add_scalar(t, var, 1e-5)));
}

static gr_module *variant_new(kit_arm *arm, const char *name)
{
    variant *const v = gr_module_make(arm->tape, arm->net, name, "Variant", sizeof *v);
    if (!v) return NULL;
    v->arm = arm->kind, v->module.forward = variant_forward;
    return &v->module;
}

/* Build the network with LayerNorm or no norm, and put the changed norm in the place of LayerNorm. */
static void build(kit_arm *arm)
{
    const int kind = arm->kind;
    char name[32];
    arm->kind = kind == NONE ? GR_NORM_NONE : GR_NORM_LAYER;
    dive_build(arm);
    arm->kind = kind;
    dive_model *const m = arm->model;
    if (gr_failed(arm->tape) || kind == NONE || kind == FULL) return;
    for (size_t k = 0; k < DIVE_DEPTH; k++) {
        snprintf(name, sizeof name, "variant%zu", k);
        if (m->norm[k] && !(m->spec.arch == DIVE_MLP && k == m->spec.depth)) m->norm[k] = variant_new(arm, name);
    }
    for (size_t k = 0; m->body && k < m->body->layers; k++) {
        snprintf(name, sizeof name, "first%zu", k), m->body->layer[k]->norm1 = variant_new(arm, name);
        snprintf(name, sizeof name, "second%zu", k), m->body->layer[k]->norm2 = variant_new(arm, name);
    }
    if (m->body && m->body->norm) m->body->norm = variant_new(arm, "last");
}

/* ==== Measuring ==== */

typedef struct {
    dive *d;
    size_t net, seed;
} job;

static bool watch(kit_arms *a, size_t step, bool evaluated)
{
    const job *const j = a->user;
    const double share = ((double)(j->net * j->d->seeds + j->seed) + (double)step / (double)a->steps) / (double)(NETS * j->d->seeds);
    return evaluated || dive_tick(j->d, share, "%s, seed %zu, step %zu", dive_arch_name[arch_of[j->net]], j->seed + 1, step);
}

/* The last value of a seed in a record [seeds, frames] of the figure loss; NaN when it has not trained this arm. */
static double from_loss(const dive *d, size_t arm, const char *what, size_t seed)
{
    const plot_record *const r = plot_runs_done(&d->runs, "loss", d->settings)
                                     ? plot_runs_get(&d->runs, "loss", "%s/%s/%s", dive_arch_name[DIVE_TRANSFORMER], arm_name[arm], what)
                                     : NULL;
    const size_t frames = r && r->shape.rank == 2 ? r->shape.dim[1] : 0;
    return frames ? r->values[(seed + 1) * frames - 1] : (double)NAN;
}

static bool train(dive *d, job *j, double *error[ARMS], double *tested[ARMS])
{
    dive_batches b;
    const dive_spec spec = spec_of(d, j->net);
    kit_arms a = { .title = "variants", .steps = steps_of(d, j->net), .every = steps_of(d, j->net), .watch = watch };
    if (!dive_batches_open(d, &b, &a, &spec, batch_of(d, j->net), j->seed)) return false;
    a.build = build;
    if (a.source.test > tests_of(d, j->net)) a.source.test = tests_of(d, j->net);
    for (int i = 0; i < ARMS; i++) {
        const double known = arch_of[j->net] == DIVE_TRANSFORMER ? from_loss(d, (size_t)i, "test", j->seed) : (double)NAN;
        if (isnan(known)) kit_arms_add(&a, arm_name[i], i), a.arm[a.n - 1].user = &b.spec;
        else tested[i][j->seed] = known, error[i][j->seed] = from_loss(d, (size_t)i, "wrong", j->seed);
    }
    a.user = j;
    const bool done = kit_arms_run(d->r, &a) && !kit_interrupted();
    for (size_t i = 0; done && i < a.n; i++)
        if (!a.arm[i].diverged)
            error[a.arm[i].kind][j->seed] = 100 - kit_accuracy(&a.arm[i].tested),
            tested[a.arm[i].kind][j->seed] = kit_loss(&a.arm[i].tested);
    dive_arms_free(&a), dive_batches_free(d, &b);
    return done;
}

void dive_variants_measure(dive *d)
{
    job j = { .d = d };
    for (; j.net < NETS; j.net++) {
        double *error[ARMS], *tested[ARMS];
        for (size_t i = 0; i < ARMS; i++) {
            error[i] = dive_blank(d, d->seeds), tested[i] = dive_blank(d, d->seeds);
            if (!error[i] || !tested[i]) return;
        }
        for (j.seed = 0; j.seed < d->seeds; j.seed++)
            if (!train(d, &j, error, tested)) return;
        for (size_t i = 0; i < ARMS; i++) {
            const char *const net = dive_arch_name[arch_of[j.net]];
            dive_put(d, GR_SHAPE(d->seeds), error[i], "%s/%s/error", net, arm_name[i]);
            dive_put(d, GR_SHAPE(d->seeds), tested[i], "%s/%s/tested", net, arm_name[i]);
        }
    }
}

/* ==== The figure ==== */

static const plot_record *get(const dive *d, size_t net, size_t arm, const char *what)
{
    return plot_runs_get(&d->runs, "variants", "%s/%s/%s", dive_arch_name[arch_of[net]], arm_name[arm], what);
}

static void draw_net(const dive *d, plot_figure *f, size_t net)
{
    double x[ARMS], y[ARMS], low[ARMS], high[ARMS];
    for (size_t i = 0; i < ARMS; i++) {
        const plot_record *const r = get(d, net, i, "tested");
        x[i] = (double)i, y[i] = dive_mean(r), low[i] = HUGE_VAL, high[i] = -HUGE_VAL;
        for (size_t k = 0; r && k < r->n; k++) low[i] = fmin(low[i], r->values[k]), high[i] = fmax(high[i], r->values[k]);
    }
    plot_panel *const p = plot_panel_new(f, &(plot_panel){ .title = dive_arch_name[arch_of[net]],
                                                           .note = plot_figure_text(f, "%zu steps", steps_of(d, net)),
                                                           .x = { .label = "norm", .tick = arm_name, .ticks = ARMS },
                                                           .y = { .label = "test loss" } });
    static const plot_ink ink[ARMS] = { PLOT_INK_NONE, PLOT_INK_LN, PLOT_INK_RAMP0, PLOT_INK_RAMP3, PLOT_INK_RAMP4, PLOT_INK_RMS };
    for (size_t i = 0; i < ARMS; i++) {
        const double at[] = { x[i], x[i] }, ends[] = { low[i], high[i] };
        plot_series_add(p, &(plot_series){ .ink = ink[i], .n = 2, .x = at, .y = ends });
        plot_series_add(p, &(plot_series){ .ink = ink[i], .mark = PLOT_DOTS, .n = 1, .x = &x[i], .y = &y[i] });
    }
}

void dive_variants_draw(const dive *d, plot_figure *f)
{
    const char *settings = "";
    f->title = "LayerNorm with a part left out", f->columns = 3;
    for (size_t net = 0; net < NETS; net++) {
        const dive_spec s = spec_of(d, net);
        draw_net(d, f, net);
        settings = plot_figure_text(f, "%s %s: %s, %zu steps.", settings, dive_arch_name[arch_of[net]],
                                    dive_spec_text(f, &s, batch_of(d, net)), steps_of(d, net));
    }
    plot_figure_says(f, PLOT_SAY_QUESTION,
                     "Which part of LayerNorm helps: the normalized values, the gradient through the statistics, or gain and bias?");
    plot_figure_says(f, PLOT_SAY_NUMBER,
                     "Test loss of the Transformer: %.3f without a norm, %.3f with LayerNorm, %.3f without gain and bias, %.3f if backward also "
                     "takes the statistics for constants",
                     dive_mean(get(d, 2, NONE, "tested")), dive_mean(get(d, 2, FULL, "tested")), dive_mean(get(d, 2, PLAIN, "tested")),
                     dive_mean(get(d, 2, DETACHED, "tested")));
    plot_figure_says(
        f, PLOT_SAY_CAPTION,
        "Each point is the mean of %s, and the line through it is their range. Plain: no gain and bias. No backward: the same, and backward takes "
        "mean and deviation for constants. AdaNorm: the normalized value times 1 minus a tenth of it, where backward takes this factor "
        "for a constant. RMSNorm does not subtract the mean, and has no gain either.",
        dive_count(f->t, d->seeds, "seed", "seeds"));
    plot_figure_says(f, PLOT_SAY_SETTINGS, "%s.%s", d->preprocessing, settings);
}

/* ==== Claims ==== */

static const char *too_short(const dive *d, plot_figure *f, size_t net)
{
    const bool text = arch_of[net] == DIVE_TRANSFORMER;
    double best = HUGE_VAL;
    for (size_t i = 0; i < ARMS; i++) best = fmin(best, dive_mean(get(d, net, i, text ? "tested" : "error")));
    return dive_too_short(f, (dive_budget){ d->seeds, steps_of(d, net), DIVE_STEPS, best, text ? DIVE_READING : 45,
                                            text ? "test loss" : "error in percent" });
}

/* How two arms are compared. */
typedef struct {
    size_t a, b;
    const char *what;
    double within;    /* for a statement that a is not worse: the bound; 0: a is below b */
    bool only_counts; /* the statement is that a is below b in at least half of the networks */
} comparison;

static void claim(const dive *d, dive_claims *c, comparison x, dive_claim claim)
{
    plot_figure *const f = c->f;
    dive_verdict v[NETS];
    size_t holds = 0, may = 0;
    claim.measured = claim.interval = claim.why = "", claim.seeds = d->seeds;
    const int digits = x.what[0] == 'e' ? 2 : 3;
    const char *const below = x.within > 0 ? "below the other" : "lower";
    for (size_t net = 0; net < NETS; net++) {
        const char *const lacks = too_short(d, f, net), *const name = dive_arch_name[arch_of[net]], *const before = net ? "; " : "";
        const dive_pair p = dive_compare(
            get(d, net, x.a, x.what), get(d, net, x.b, x.what),
            (dive_scale){ .grid = digits == 2 ? 100 / (double)(tests_of(d, net) * 200) : 0.001, .worst = digits == 2 ? 90 : 5 });
        v[net] = lacks ? DIVE_SHORT : x.within > 0 ? dive_is_at_most(&p, x.within) : dive_is_below(&p);
        holds += v[net] == DIVE_PASS, may += v[net] == DIVE_PASS || v[net] == DIVE_DIFFERS;
        claim.measured = plot_figure_text(f, "%s%s%s %s against %s", claim.measured, before, name, dive_number(f->t, p.a, digits),
                                          dive_number(f->t, p.b, digits));
        claim.interval = plot_figure_text(f, "%s%s%s %s", claim.interval, before, name, dive_interval(f, &p, digits));
        claim.why = plot_figure_text(f, "%s%s%s: %s%s%s", claim.why, before, name, dive_verdict_text(f, v[net], &p, below),
                                     lacks ? ", " : "", lacks ? lacks : "");
    }
    claim.verdict = dive_together(v, NETS);
    if (x.only_counts && claim.verdict != DIVE_SHORT)
        claim.verdict = 2 * holds >= NETS ? DIVE_PASS : 2 * may < NETS ? DIVE_FAIL : DIVE_DIFFERS;
    dive_claim_add(c, &claim);
}

void dive_variants_claims(const dive *d, dive_claims *c)
{
    static const char *const same = "the same batches, weights and learning rate";
    claim(
        d, c, (comparison){ .a = PLAIN, .b = DETACHED, .what = "tested" },
        (dive_claim){ .statement = "The gradient through mean and deviation helps: with constant statistics in backward the loss is higher",
                      .source = "Xu et al. 2019, section 3 (XU2)",
                      .control = "test loss against DetachNorm, both without gain and bias" });
    claim(d, c, (comparison){ .a = NONE, .b = DETACHED, .what = "tested" },
          (dive_claim){ .statement =
                            "Normalizing forward is not what helps: with constant statistics in backward LayerNorm is worse than no norm",
                        .source = "Xu et al. 2019, section 3 (XU2)",
                        .control = "test loss of no norm against DetachNorm" });
    claim(d, c, (comparison){ .a = PLAIN, .b = FULL, .what = "tested", .only_counts = true },
          (dive_claim){ .statement = "LayerNorm without gain and bias is better in half of the networks",
                        .source = "Xu et al. 2019: 4 of 8 data sets (XU3)",
                        .control = same });
    claim(d, c, (comparison){ .a = ADA, .b = FULL, .what = "tested" },
          (dive_claim){
              .statement = "AdaNorm is better than LayerNorm", .source = "Xu et al. 2019: 7 of 8 data sets (XU4)", .control = same });
    claim(d, c, (comparison){ .a = RMS, .b = PLAIN, .what = "error", .within = 0.3 },
          (dive_claim){ .statement = "RMSNorm is as good as LayerNorm: its test error is at most 0.3 points higher",
                        .source = "Zhang, Sennrich 2019 (RM3; the bound is ours)",
                        .control = "both without gain and bias" });
}
