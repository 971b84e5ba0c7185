/* examples/dive/further.c - figure "further": four statements that need a setting of their own.
 *
 * Records: "sigmoid/ARM/accuracy" [seeds]: in percent, of an MLP of eight sigmoid layers; "small/ARM/error", "/gap" [seeds]: test error in percent,
 * and test error minus error on the 500 training images, in points; "border" and "variance" [seeds]: how often a unit of the first convolution is
 * active at the border over how often in the centre, and the variance of its input in the centre over that at the border; "changes/CURVE" [seeds]:
 * mean |r| over pairs of units of the change of the second layer's summed inputs when the first layer takes a step. */
#include "core/op.h"
#include "examples/dive/numbers.h"
#include "examples/dive/probe.h"
#include "examples/dive/seeds.h"
#include "gradus.h"
#include <math.h>

enum { SMALL_ARMS = 4, CURVES = 3, SMALL = 500, BORDER = 3, CENTRE = 10, STEP = 100 };
static const char *const small_name[SMALL_ARMS] = { "none", "BN", "dropout", "BN and dropout" };
static const char *const curve_name[CURVES] = { "ReLU", "tanh", "linear" };

static gr_tensor *linear(gr_tape *t, gr_tensor *x) { return gr_scale(t, x, 1); }

static size_t sigmoid_steps(const dive *d) { return dive_pick(d, 3, 1800, 4000); }
static size_t small_steps(const dive *d) { return dive_pick(d, 3, 400, 2000); }
static dive_spec sigmoid_spec(const dive *d)
{
    return (dive_spec){ .arch = DIVE_MLP, .hidden = dive_pick(d, 8, 64, 100), .depth = 8, .curve = gr_sigmoid, .lr = 0.3, .sgd = true };
}
static dive_spec small_spec(const dive *d) { return (dive_spec){ .arch = DIVE_MLP, .hidden = dive_pick(d, 8, 128, 256) }; }
static size_t border_steps(const dive *d) { return dive_pick(d, 3, DIVE_STEPS, 600); }
static dive_spec cnn_spec(void) { return (dive_spec){ .arch = DIVE_CNN, .hidden = 8, .bare = true }; }

/* ==== Measuring ==== */

typedef struct {
    dive *d;
    size_t seed;
    double *out[CURVES]; /* of the changes */
    double *border, *variance, *before[CURVES];
} job;

static void nothing(dive_probe *p, kit_arm *arm, size_t number, size_t frame) { (void)p, (void)arm, (void)number, (void)frame; }

/* Share of active units, and variance over the images, at places y, x of the first convolution where `wanted`. */
static void at_places(const gr_tensor *a, bool centre, double *active, double *variance)
{
    const size_t N = a->dim[0], C = a->dim[1], middle = (KIT_SIDE - CENTRE) / 2;
    double places = 0;
    *active = *variance = 0;
    for (size_t i = 0; i < C * KIT_SIDE * KIT_SIDE; i++) {
        const size_t y = i / KIT_SIDE % KIT_SIDE, x = i % KIT_SIDE;
        const size_t edge = fmin(fmin((double)y, (double)(KIT_SIDE - 1 - y)), fmin((double)x, (double)(KIT_SIDE - 1 - x)));
        if (centre ? edge < middle : edge >= BORDER) continue;
        double sum = 0, squares = 0;
        for (size_t n = 0; n < N; n++) {
            const double v = (double)a->data[n * C * KIT_SIDE * KIT_SIDE + i];
            sum += v / (double)N, squares += v * v / (double)N, *active += (v > 0) / (double)N;
        }
        *variance += squares - sum * sum, places++;
    }
    *active /= places, *variance /= places;
}

static void see_border(dive_probe *p, kit_arm *arm, size_t number, size_t frame)
{
    const job *const j = p->user;
    const dive_model *const m = arm->model;
    double active[2], variance[2];
    (void)number, (void)frame;
    const gr_tensor *const a =
        gr_conv_forward(arm->tape, m->conv[0], gr_input(arm->tape, p->images.pixels, GR_SHAPE(p->images.n, 1, KIT_SIDE, KIT_SIDE)));
    if (!a) return;
    at_places(a, false, &active[0], &variance[0]), at_places(a, true, &active[1], &variance[1]);
    j->border[j->seed] = active[0] / active[1], j->variance[j->seed] = variance[1] / variance[0];
}

/* At frame 0 keep the first layer's outputs; at frame 1, after a step, correlate the changes that they make in the second layer's summed inputs. */
static void see_change(dive_probe *p, kit_arm *arm, size_t number, size_t frame)
{
    job *const j = p->user;
    gr_tape *const t = arm->tape, *const memory = frame ? t : j->d->r->tape;
    const dive_model *const m = arm->model;
    const size_t H = m->spec.hidden, n = m->raw[0]->len / H;
    double *const h = dive_doubles(memory, m->spec.curve(t, m->raw[0])), *const old = j->before[number];
    j->before[number] = h;
    double *const change = frame ? gr_save_zeros(t, n * H * sizeof *change) : NULL, *const r = frame ? gr_save(t, H * H * sizeof *r) : NULL;
    if (!h || !old || !change || !r) return;
    const gr_real *const w = m->in[1]->weight->data;
    for (size_t i = 0; i < n * H; i++)
        for (size_t k = 0; k < H; k++) change[i] += (double)w[i % H * H + k] * (h[i / H * H + k] - old[i / H * H + k]);
    dive_correlate(t, change, n, H, r);
    j->out[number][j->seed] = dive_mean_abs_r(r, H);
}

static const dive_spec *spec_of_curve(size_t k)
{
    static dive_spec spec[CURVES] = { { .arch = DIVE_MLP, .hidden = 64, .lr = 0.1, .sgd = true },
                                      { .arch = DIVE_MLP, .hidden = 64, .lr = 0.1, .sgd = true, .curve = gr_tanh },
                                      { .arch = DIVE_MLP, .hidden = 64, .lr = 0.1, .sgd = true, .curve = linear } };
    return &spec[k];
}

static void add_curves(kit_arms *a)
{
    for (size_t k = 0; k < CURVES; k++) kit_arms_add(a, curve_name[k], GR_NORM_NONE), a->arm[k].user = (void *)(uintptr_t)spec_of_curve(k);
}
static void add_none(kit_arms *a) { kit_arms_add(a, "none", GR_NORM_NONE); }
static void add_two(kit_arms *a) { kit_arms_add(a, "none", GR_NORM_NONE), kit_arms_add(a, "BN", GR_NORM_BATCH); }

static dive_probe probe(job *j, const dive_spec *spec, const char *title, size_t steps, double from, double to)
{
    const double seeds = (double)j->d->seeds, k = (double)j->seed;
    return (dive_probe){ .d = j->d,
                         .title = title,
                         .spec = spec,
                         .steps = steps,
                         .batch = 32,
                         .samples = dive_pick(j->d, 20, 200, 200),
                         .seed = j->seed,
                         .from = from + (to - from) * k / seeds,
                         .to = from + (to - from) * (k + 1) / seeds,
                         .see = nothing,
                         .user = j };
}

/* ---- A small training set ---- */

typedef struct {
    double *error, *gap;
} fit;

static bool go_on(kit_arms *a, size_t step, bool evaluated)
{
    const job *const j = a->user;
    return evaluated || dive_tick(j->d, 0.5 + 0.4 * ((double)j->seed + (double)step / (double)a->steps) / (double)j->d->seeds,
                                  "small set, step %zu", step);
}

/* The error in percent on the training images, in evaluation mode. */
static double training_error(dive *d, kit_arm *arm)
{
    kit_score score = { 0 };
    kit_batches all = kit_batches_new(d->r->tape, &d->data.train, 50, false);
    gr_tape_set_training(arm->tape, false), gr_tape_set_recording(arm->tape, false);
    for (size_t k = 0; k < d->data.train.images.n / 50 && !gr_failed(d->r->tape) && !gr_failed(arm->tape); k++) {
        const kit_batch b = kit_next(&all);
        gr_tape_reset(arm->tape);
        dive_loss(arm, &b, &score);
    }
    kit_batches_free(d->r->tape, &all);
    return 100 - kit_accuracy(&score);
}

static bool fit_small(job *j, const fit *out)
{
    dive few = *j->d;
    dive_spec spec[SMALL_ARMS];
    dive_batches b;
    if (few.data.train.images.n > SMALL) few.data.train.images.n = few.data.train.labels.n = SMALL;
    kit_arms a = { .title = "small", .steps = small_steps(&few), .every = small_steps(&few), .watch = go_on };
    const dive_spec common = small_spec(&few);
    if (!dive_batches_open(&few, &b, &a, &common, 50, j->seed)) return false;
    if (a.source.test > dive_pick(&few, 1, 10, 50)) a.source.test = dive_pick(&few, 1, 10, 50);
    for (size_t i = 0; i < SMALL_ARMS; i++) {
        spec[i] = common, spec[i].dropout = i >= 2 ? 0.5 : 0;
        kit_arms_add(&a, small_name[i], i % 2 ? GR_NORM_BATCH : GR_NORM_NONE), a.arm[i].user = &spec[i];
    }
    a.user = j;
    const bool done = kit_arms_run(few.r, &a) && !kit_interrupted();
    for (size_t i = 0; done && i < SMALL_ARMS; i++) {
        if (a.arm[i].diverged) continue;
        out[i].error[j->seed] = 100 - kit_accuracy(&a.arm[i].tested);
        out[i].gap[j->seed] = out[i].error[j->seed] - training_error(&few, &a.arm[i]);
    }
    dive_arms_free(&a), dive_batches_free(&few, &b);
    return done;
}

void dive_further_measure(dive *d)
{
    const gr_shape shape = GR_SHAPE(d->seeds);
    const dive_spec deep = sigmoid_spec(d), cnn = cnn_spec();
    const size_t few = dive_pick(d, 3, STEP, STEP);
    double *accuracy[2] = { dive_blank(d, d->seeds), dive_blank(d, d->seeds) };
    job j = { .d = d, .border = dive_blank(d, d->seeds), .variance = dive_blank(d, d->seeds) };
    fit small[SMALL_ARMS];
    for (size_t k = 0; k < CURVES; k++) j.out[k] = dive_blank(d, d->seeds);
    for (size_t i = 0; i < SMALL_ARMS; i++) small[i] = (fit){ dive_blank(d, d->seeds), dive_blank(d, d->seeds) };
    for (; j.seed < d->seeds && !gr_failed(d->r->tape); j.seed++) {
        dive_probe p = probe(&j, &deep, "eight sigmoids", sigmoid_steps(d), 0, 0.5);
        p.add = add_two;
        if (!dive_probe_run(&p)) return;
        accuracy[0][j.seed] = p.accuracy[0], accuracy[1][j.seed] = p.accuracy[1];
        p = probe(&j, &cnn, "border", border_steps(d), 0.5, 0.5), p.add = add_none, p.see = see_border;
        p.frames = 1, p.at[0] = p.steps;
        if (!dive_probe_run(&p)) return;
        p = probe(&j, spec_of_curve(0), "changes", few + 1, 0.5, 0.5), p.add = add_curves, p.see = see_change;
        p.frames = 2, p.at[0] = few, p.at[1] = few + 1;
        if (!dive_probe_run(&p) || !fit_small(&j, small)) return;
    }
    dive_put(d, shape, accuracy[0], "sigmoid/none/accuracy"), dive_put(d, shape, accuracy[1], "sigmoid/BN/accuracy");
    dive_put(d, shape, j.border, "border"), dive_put(d, shape, j.variance, "variance");
    for (size_t k = 0; k < CURVES; k++) dive_put(d, shape, j.out[k], "changes/%s", curve_name[k]);
    for (size_t i = 0; i < SMALL_ARMS; i++)
        dive_put(d, shape, small[i].error, "small/%s/error", small_name[i]),
            dive_put(d, shape, small[i].gap, "small/%s/gap", small_name[i]);
}

/* ==== The figure ==== */

#define GET(...) plot_runs_get(&d->runs, "further", __VA_ARGS__)

/* The mean error in percent on the 500 training images. */
static double fitted(const dive *d, size_t arm)
{
    return dive_mean(GET("small/%s/error", small_name[arm])) - dive_mean(GET("small/%s/gap", small_name[arm]));
}

void dive_further_draw(const dive *d, plot_figure *f)
{
    static const char *const head[] = { "setting", "network", "result" };
    const char *text[8][3];
    size_t n = 0;
    for (size_t i = 0; i < 2; i++, n++)
        text[n][0] = "eight sigmoid layers", text[n][1] = i ? "BN" : "none",
        text[n][2] = plot_figure_text(f, "accuracy %.1f %%", dive_mean(GET("sigmoid/%s/accuracy", i ? "BN" : "none")));
    for (size_t i = 0; i < SMALL_ARMS; i++, n++)
        text[n][0] = "500 training images", text[n][1] = small_name[i],
        text[n][2] = plot_figure_text(f, "test error %.1f %%, error on the training images %.1f %%",
                                      dive_mean(GET("small/%s/error", small_name[i])), fitted(d, i));
    text[n][0] = "first convolution", text[n][1] = "none";
    text[n++][2] = plot_figure_text(f, "border units are active %.2f times as often, and the variance in the centre is %.1f times as large",
                                    dive_mean(GET("border")), dive_mean(GET("variance")));
    text[n][0] = "changes by a step of the first layer", text[n][1] = "ReLU, tanh, linear";
    text[n++][2] = plot_figure_text(f, "mean |r| %.2f, %.2f, %.2f", dive_mean(GET("changes/ReLU")), dive_mean(GET("changes/tanh")),
                                    dive_mean(GET("changes/linear")));
    f->title = "Further statements", f->columns = 1;
    plot_panel *const p = plot_panel_new(f, &(plot_panel){ .title = "Settings of their own", .note = "means over the seeds" });
    plot_table_set(p, &(plot_table){ .rows = n, .columns = 3, .head = head, .text = text[0], .verdict = -1 });
    plot_figure_says(f, PLOT_SAY_QUESTION,
                     "Does BatchNorm train saturating units, does it regularize, and why are the borders of images a problem for LayerNorm?");
    plot_figure_says(f, PLOT_SAY_NUMBER, "Accuracy of an MLP of eight sigmoid layers: %.1f %% without a norm, %.1f %% with BatchNorm",
                     dive_mean(GET("sigmoid/none/accuracy")), dive_mean(GET("sigmoid/BN/accuracy")));
    plot_figure_says(f, PLOT_SAY_CAPTION,
                     "The small set has %d training images. The border is the outer %d pixels of the image, "
                     "the centre its "
                     "middle %d by %d. The last line takes a step of the first layer after %d steps, and correlates the changes that it "
                     "makes in the summed "
                     "inputs of two units of the second layer, over %zu images. Means of %s.",
                     (int)SMALL, (int)BORDER, (int)CENTRE, (int)CENTRE, (int)STEP, dive_pick(d, 20, 200, 200),
                     dive_count(f->t, d->seeds, "seed", "seeds"));
    const dive_spec deep = sigmoid_spec(d), small = small_spec(d), cnn = cnn_spec();
    plot_figure_says(f, PLOT_SAY_SETTINGS,
                     "%s. Eight sigmoid layers: %s, %zu steps. Small set, dropout 0.5: %s, %zu steps. Border: %s, %zu steps. Changes: "
                     "784-64-64-10, no norm, SGD, learning rate 0.1, %d steps, batch 32.",
                     d->preprocessing, dive_spec_text(f, &deep, 32), sigmoid_steps(d), dive_spec_text(f, &small, 50), small_steps(d),
                     dive_spec_text(f, &cnn, 32), border_steps(d), (int)STEP);
}

/* ==== Claims ==== */

static void claim_sigmoids(const dive *d, dive_claims *c)
{
    gr_tape *const t = c->f->t;
    const size_t n = d->seeds;
    const dive_pair stuck = dive_compare(GET("sigmoid/none/accuracy"), dive_constant(t, n, 15), (dive_scale){ .worst = 10 }),
                    learns = dive_compare(dive_constant(t, n, 90), GET("sigmoid/BN/accuracy"), (dive_scale){ .worst = 10 });
    const dive_verdict v[] = { dive_is_below(&stuck), dive_is_below(&learns) };
    dive_claim_add(
        c, &(dive_claim){ .statement = "With BatchNorm a deep network of sigmoids trains; without a norm it stays at chance",
                          .source = "Ioffe, Szegedy 2015, section 4.2.2 (BN5)",
                          .measured = plot_figure_text(c->f, "eight layers, %zu steps: accuracy %.1f %% without a norm, %.1f %% with BN",
                                                       sigmoid_steps(d), stuck.a, learns.b),
                          .control = "at most 15 %; at least 90 %",
                          .interval = plot_figure_text(c->f, "none minus 15 %s; 90 minus BN %s", dive_interval(c->f, &stuck, 1),
                                                       dive_interval(c->f, &learns, 1)),
                          .seeds = d->seeds,
                          .too_short = dive_too_short(
                              c->f, (dive_budget){ d->seeds, sigmoid_steps(d), DIVE_STEPS, 100 - learns.b, 45, "error in percent" }),
                          .verdict = dive_together(v, 2),
                          .why = plot_figure_text(c->f, "at chance without a norm: %s; 90 %% with BN: %s", dive_verdict_name[v[0]],
                                                  dive_verdict_name[v[1]]) });
}

static void claim_regularizes(const dive *d, dive_claims *c)
{
    plot_figure *const f = c->f;
    const dive_pair error = dive_compare(GET("small/BN/error"), GET("small/none/error"), (dive_scale){ .grid = 0.05, .worst = 90 }),
                    extra =
                        dive_compare(GET("small/BN/error"), GET("small/BN and dropout/error"), (dive_scale){ .grid = 0.05, .worst = 90 });
    const dive_verdict v[] = { dive_is_below(&error), dive_is_at_most(&extra, 0.5) };
    dive_claim_add(
        c,
        &(dive_claim){
            .statement = "BatchNorm regularizes: of networks that fit 500 images its test error is lower, and dropout gains nothing more",
            .source = "Ioffe, Szegedy 2015, section 3.4 (BN7; the bound of 0.5 points is ours)",
            .measured = plot_figure_text(f,
                                         "test error %.2f %% with BN, %.2f %% without, %.2f %% with BN and dropout, %.2f %% with dropout; "
                                         "error on the training images %.1f, %.1f, %.1f, %.1f %%",
                                         error.a, error.b, extra.b, dive_mean(GET("small/dropout/error")), fitted(d, 1), fitted(d, 0),
                                         fitted(d, 3), fitted(d, 2)),
            .control = "no norm; BN with dropout 0.5",
            .interval = plot_figure_text(f, "BN minus none %s; BN minus both %s", dive_interval(f, &error, 2), dive_interval(f, &extra, 2)),
            .seeds = d->seeds,
            .too_short = dive_too_short(f, (dive_budget){ d->seeds, small_steps(d), DIVE_STEPS, extra.a, 45, "error in percent" }),
            .verdict = dive_together(v, 2),
            .why = plot_figure_text(f, "lower error: %s; dropout gains at most 0.5 points: %s", dive_verdict_name[v[0]],
                                    dive_verdict_name[v[1]]) });
}

static void claim_places(const dive *d, dive_claims *c)
{
    const dive_pair variance = dive_compare(dive_constant(c->f->t, d->seeds, 2), GET("variance"), (dive_scale){ .grid = 0 }),
                    active = dive_compare(GET("border"), dive_constant(c->f->t, d->seeds, 0.5), (dive_scale){ .grid = 0 });
    const dive_verdict v[] = { dive_is_below(&variance), dive_is_below(&active) };
    dive_claim_add(
        c,
        &(dive_claim){ .statement = "In a convolutional network units at the border are rarely active and have other statistics: they are "
                                    "active at most half as often as in the centre, and their inputs have at most half the variance",
                       .source = "Ba et al. 2016, section 6.7, a conjecture (LN16; the bounds are ours)",
                       .measured = plot_figure_text(
                           c->f, "variance in the centre %.1f times that at the border; border units are active %.2f times as often",
                           variance.b, active.a),
                       .control = "after training without a norm",
                       .interval = plot_figure_text(c->f, "active, minus 0.5 %s; 2 minus the ratio of the variances %s",
                                                    dive_interval(c->f, &active, 2), dive_interval(c->f, &variance, 1)),
                       .seeds = d->seeds,
                       .too_short = dive_too_short(c->f, (dive_budget){ d->seeds, border_steps(d), DIVE_STEPS, 0, 0, "" }),
                       .verdict = dive_together(v, 2),
                       .why = plot_figure_text(c->f, "active at most half as often: %s; at most half the variance: %s",
                                               dive_verdict_name[v[1]], dive_verdict_name[v[0]]) });
}

static void claim_changes(const dive *d, dive_claims *c)
{
    const plot_record *const relu = GET("changes/ReLU");
    const dive_pair some = dive_compare(dive_constant(c->f->t, d->seeds, 0.2), relu, (dive_scale){ .grid = 0 }),
                    tanh = dive_compare(GET("changes/tanh"), relu, (dive_scale){ .grid = 0 }),
                    linear = dive_compare(GET("changes/linear"), relu, (dive_scale){ .grid = 0 });
    const dive_verdict v[] = { dive_is_below(&some), dive_is_below(&tanh), dive_is_below(&linear) };
    dive_claim_add(
        c, &(dive_claim){
               .statement = "A step of one layer makes correlated changes in the summed inputs of the next, most of all with ReLU",
               .source = "Ba et al. 2016, section 3 (the bound of 0.2 is ours)",
               .measured = plot_figure_text(c->f, "mean |r| of the changes of two units %.3f with ReLU, %.3f with tanh, %.3f linear",
                                            tanh.b, tanh.a, linear.a),
               .control = "0.2 or more; tanh; linear units",
               .interval = plot_figure_text(c->f, "0.2 minus ReLU %s; tanh minus ReLU %s; linear minus ReLU %s",
                                            dive_interval(c->f, &some, 3), dive_interval(c->f, &tanh, 3), dive_interval(c->f, &linear, 3)),
               .seeds = d->seeds,
               .too_short = dive_too_short(c->f, (dive_budget){ .seeds = d->seeds }),
               .verdict = dive_together(v, 3),
               .why = plot_figure_text(c->f, "correlated with ReLU: %s; more than with tanh: %s; more than with linear units: %s",
                                       dive_verdict_name[v[0]], dive_verdict_name[v[1]], dive_verdict_name[v[2]]) });
}

void dive_further_claims(const dive *d, dive_claims *c)
{
    claim_sigmoids(d, c), claim_regularizes(d, c), claim_places(d, c), claim_changes(d, c);
}
