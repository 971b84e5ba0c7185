/* examples/dive/recurrent.c - figure "recurrent": an LSTM on characters with recurrent BatchNorm, with one set of statistics for all time steps,
 * and with LayerNorm; and with --full an LSTM that reads 196 pixels in order and permuted, with the optimizer of Cooijmans et al. 2016.
 *
 * Records: "text/ARM/tested" [seeds]: the test loss over windows of 32 characters; "text/ARM/late", "/long" [seeds]: the loss at the characters 17 to
 * 32, and 33 to 64 of windows that are twice as long; "text/settled" [seeds]: the largest relative change of the running variances of W h from a step
 * to the next, after step 20; "pixels/ORDER/ARM/error" [seeds]: test error in percent. */
#include "core/op.h"
#include "examples/dive/models.h"
#include "examples/dive/seeds.h"
#include "gradus.h"
#include <math.h>
#include <string.h>

enum { NONE, BN, SHARED, LN, ARMS, ORDERS = 2, PIXEL_ARMS = 2, T = 32, TESTS = 8 };
static const char *const arm_name[ARMS] = { "none", "BN", "BN, shared", "LN" }, *const order_name[ORDERS] = { "in order", "permuted" };

static dive_spec text_spec(const dive *d)
{
    return (dive_spec){ .arch = DIVE_TRANSFORMER, .hidden = dive_pick(d, 8, 48, 128), .lr = 3e-3 };
}
static size_t text_steps(const dive *d) { return dive_pick(d, 3, 300, 1500); }
static dive_spec pixel_spec(bool permuted)
{
    return (dive_spec){ .arch = DIVE_LSTM, .hidden = 64, .pooled = 2, .lr = 1e-3, .rmsprop = true, .permuted = permuted };
}
enum { PIXEL_STEPS = 1000, BATCH = 16, PIXEL_BATCH = 64, PIXEL_TESTS = 10 };

/* ==== The LSTM on characters ==== */

static void build(kit_arm *arm)
{
    gr_tape *const t = arm->tape;
    const dive_spec *const s = arm->user;
    dive_model *const m = gr_failed(t) ? NULL : gr_memory_new(gr_tape_allocator(t), sizeof *m);
    static const unsigned norm[ARMS] = { 0, GR_LSTM_BN, GR_LSTM_BN, GR_LSTM_LN_BA2016 };
    arm->model = m;
    if (!m) {
        gr_fail_as(t, GR_NO_MEMORY, "", "no memory for a model");
        return;
    }
    const gr_lstm_config c = { .norm = norm[arm->kind], .bn_steps = arm->kind == BN ? T : 1, .batch_first = true, .forget_bias = 1 };
    m->spec = *s;
    m->token = gr_embedding_new(t, arm->net, "token", s->text->letters, s->hidden, NULL);
    m->lstm = gr_lstm_new(t, arm->net, "lstm", s->hidden, s->hidden, &c);
    m->out = gr_linear_new(t, arm->net, "out", s->hidden, s->text->letters, NULL);
    if (!gr_failed(t)) arm->optim = gr_adam_new(t, arm->net, &(gr_adam_config){ .lr = s->lr });
}

/* The loss at n characters of each window, beginning with number `from`. */
static gr_tensor *loss_between(kit_arm *arm, const kit_text *b, size_t from, size_t n, kit_score *score)
{
    gr_tape *const t = arm->tape;
    const dive_model *const m = arm->model;
    if (gr_failed(t)) return NULL;
    gr_tensor *const x = gr_embedding_forward(t, m->token, gr_ints_new(t, b->in, GR_SHAPE(b->B, b->T)));
    gr_tensor *const y = gr_narrow(t, gr_lstm_forward(t, m->lstm, x, NULL).y, 1, (ptrdiff_t)from, n);
    const gr_ints *const next = gr_ints_new(t, NULL, GR_SHAPE(b->B, n));
    if (!y || !next) return NULL;
    for (size_t i = 0; i < b->B * n; i++) next->data[i] = b->next[i / n * b->T + from + i % n];
    return kit_classify(t, gr_reshape(t, gr_linear_forward(t, m->out, y), GR_SHAPE(b->B * n, GR_INFER)), next->data, score);
}

static gr_tensor *loss(kit_arm *arm, const void *batch, kit_score *score)
{
    return loss_between(arm, batch, 0, ((const kit_text *)batch)->T, score);
}

/* ==== Measuring ==== */

typedef struct {
    dive *d;
    double from, to; /* this training's part of the figure's progress */
} job;

static bool watch(kit_arms *a, size_t step, bool evaluated)
{
    const job *const j = a->user;
    return evaluated || dive_tick(j->d, j->from + (j->to - j->from) * (double)step / (double)a->steps, "%s, step %zu", a->title, step);
}

/* What is measured of the characters, for each arm. */
typedef struct {
    double *tested, *late, *twice;
} outcome;

/* The largest relative change of the mean running variance of W h from a time step to the next, after step 20. */
static double settled(const kit_arm *arm)
{
    const gr_tensor *const v = ((const dive_model *)arm->model)->lstm->recurrent.weights->bn_hh.running_var;
    const size_t n = v->dim[1];
    double last = 0, most = 0;
    for (size_t step = 20; step < v->dim[0]; step++) {
        double sum = 0;
        for (size_t i = 0; i < n; i++) sum += (double)v->data[step * n + i];
        if (step > 20) most = fmax(most, fabs(sum / last - 1));
        last = sum;
    }
    return most;
}

/* The losses at the characters 17 to 32, and 33 to 64, of windows that are twice as long as those of the training. */
static void read_on(dive *d, gr_tape *tape, kit_arm *arm, const outcome *out, size_t seed)
{
    kit_text text = kit_text_of(d->r->tape, d->text, &d->read, BATCH, 2 * T);
    text.tape = tape;
    const kit_source source = kit_text_source(&text);
    kit_score late = { 0 }, twice = { 0 };
    gr_tape_set_training(arm->tape, false), gr_tape_set_recording(arm->tape, false);
    for (size_t k = 0; k < TESTS && k < source.test && !gr_failed(tape) && !gr_failed(arm->tape); k++) {
        size_t n;
        const void *const batch = source.batch(source.data, false, k, &n);
        gr_tape_reset(arm->tape);
        loss_between(arm, batch, T / 2, T / 2, &late), loss_between(arm, batch, T, T, &twice);
    }
    out->late[seed] = kit_loss(&late), out->twice[seed] = kit_loss(&twice);
    text.tape = d->r->tape, kit_text_free(&text);
}

static bool train_text(dive *d, size_t seed, const outcome *out, double *steady, double to)
{
    dive_batches b;
    const dive_spec spec = text_spec(d);
    job j = { d, to * (double)seed / (double)d->seeds, to * (double)(seed + 1) / (double)d->seeds };
    kit_arms a = { .title = "characters", .steps = text_steps(d), .every = text_steps(d), .watch = watch };
    if (!dive_batches_open(d, &b, &a, &spec, BATCH, seed)) return false;
    a.build = build, a.loss = loss;
    if (a.source.test > TESTS) a.source.test = TESTS;
    for (int i = 0; i < ARMS; i++) kit_arms_add(&a, arm_name[i], i), a.arm[i].user = &b.spec;
    a.user = &j;
    const bool done = kit_arms_run(d->r, &a) && !kit_interrupted();
    for (size_t i = 0; done && i < ARMS; i++) {
        if (a.arm[i].diverged) continue;
        out[i].tested[seed] = kit_loss(&a.arm[i].tested);
        read_on(d, b.tape, &a.arm[i], &out[i], seed);
        if (i == BN) steady[seed] = settled(&a.arm[i]);
    }
    dive_arms_free(&a), dive_batches_free(d, &b);
    return done;
}

static bool train_pixels(dive *d, size_t order, size_t seed, double *error[PIXEL_ARMS])
{
    dive_batches b;
    const dive_spec spec = pixel_spec(order == 1);
    const double share = 0.8 / (double)(ORDERS * d->seeds), from = 0.2 + share * (double)(order * d->seeds + seed);
    job j = { d, from, from + share };
    kit_arms a = { .title = order_name[order], .steps = PIXEL_STEPS, .every = PIXEL_STEPS, .watch = watch };
    if (!dive_batches_open(d, &b, &a, &spec, PIXEL_BATCH, seed)) return false;
    if (a.source.test > PIXEL_TESTS) a.source.test = PIXEL_TESTS;
    kit_arms_add(&a, "none", GR_NORM_NONE), kit_arms_add(&a, "BN", GR_NORM_BATCH);
    a.user = &j;
    const bool done = kit_arms_run(d->r, &a) && !kit_interrupted();
    for (size_t i = 0; done && i < PIXEL_ARMS; i++)
        if (!a.arm[i].diverged) error[i][seed] = 100 - kit_accuracy(&a.arm[i].tested);
    dive_arms_free(&a), dive_batches_free(d, &b);
    return done;
}

void dive_recurrent_measure(dive *d)
{
    const gr_shape shape = GR_SHAPE(d->seeds);
    outcome out[ARMS];
    double *const steady = dive_blank(d, d->seeds);
    for (size_t i = 0; i < ARMS; i++) out[i] = (outcome){ dive_blank(d, d->seeds), dive_blank(d, d->seeds), dive_blank(d, d->seeds) };
    for (size_t seed = 0; seed < d->seeds; seed++)
        if (gr_failed(d->r->tape) || !train_text(d, seed, out, steady, d->mode == DIVE_FULL ? 0.2 : 1)) return;
    for (size_t i = 0; i < ARMS; i++) {
        dive_put(d, shape, out[i].tested, "text/%s/tested", arm_name[i]), dive_put(d, shape, out[i].late, "text/%s/late", arm_name[i]);
        dive_put(d, shape, out[i].twice, "text/%s/long", arm_name[i]);
    }
    dive_put(d, shape, steady, "text/settled");
    for (size_t order = 0; order < ORDERS && d->mode == DIVE_FULL; order++) {
        double *error[PIXEL_ARMS] = { dive_blank(d, d->seeds), dive_blank(d, d->seeds) };
        for (size_t seed = 0; seed < d->seeds; seed++)
            if (gr_failed(d->r->tape) || !train_pixels(d, order, seed, error)) return;
        for (size_t i = 0; i < PIXEL_ARMS; i++) dive_put(d, shape, error[i], "pixels/%s/%s/error", order_name[order], arm_name[i]);
    }
}

/* ==== The figure ==== */

static const plot_record *get(const dive *d, size_t arm, const char *what)
{
    return plot_runs_get(&d->runs, "recurrent", "text/%s/%s", arm_name[arm], what);
}

void dive_recurrent_draw(const dive *d, plot_figure *f)
{
    static const char *const place[] = { "17 to 32", "33 to 64" };
    static const plot_ink ink[ARMS] = { PLOT_INK_NONE, PLOT_INK_BN, PLOT_INK_RMS, PLOT_INK_LN };
    static const double x[] = { 0, 1 };
    f->title = "Recurrent norms on characters";
    plot_panel *const p = plot_panel_new(f, &(plot_panel){ .title = "Sequences that are twice as long as in training",
                                                           .x = { .label = "characters of the window", .tick = place, .ticks = 2 },
                                                           .y = { .label = "test loss, nats per character", .log = true } });
    for (size_t i = 0; i < ARMS; i++) {
        const double y[] = { dive_mean(get(d, i, "late")), dive_mean(get(d, i, "long")) };
        plot_series_add(p, &(plot_series){ .name = arm_name[i], .ink = ink[i], .mark = PLOT_LINE_DOTS, .n = 2, .x = x, .y = y });
    }
    plot_figure_says(f, PLOT_SAY_QUESTION,
                     "Does recurrent BatchNorm need statistics for each time step, and can it read on when the sequence is longer?");
    plot_figure_says(f, PLOT_SAY_NUMBER,
                     "Test loss of windows of %d characters: %.3f without a norm, %.3f with recurrent BatchNorm, %.3f with shared statistics, %.3f with "
                     "LayerNorm",
                     (int)T, dive_mean(get(d, NONE, "tested")), dive_mean(get(d, BN, "tested")), dive_mean(get(d, SHARED, "tested")),
                     dive_mean(get(d, LN, "tested")));
    plot_figure_says(f, PLOT_SAY_CAPTION,
                     "An LSTM reads windows of %d characters in training. The points are its test losses in two parts of windows of %d characters. "
                     "BatchNorm has running statistics for each of the %d time steps, and after them uses those of the last; BN, shared has "
                     "one set for all steps. Means of %s.",
                     (int)T, (int)(2 * T), (int)T, dive_count(f->t, d->seeds, "seed", "seeds"));
    plot_figure_says(
        f, PLOT_SAY_SETTINGS,
        "Text: %s. LSTM of %zu units, embedding of the same size, Adam, learning rate %g constant, clip 1, batch %d, %zu steps.",
        d->text ? "a file" : "made-up sentences", text_spec(d).hidden, text_spec(d).lr, (int)BATCH, text_steps(d));
}

/* ==== Claims ==== */

static const char *too_short(const dive *d, plot_figure *f)
{
    double best = HUGE_VAL;
    for (size_t i = 0; i < ARMS; i++) best = fmin(best, dive_mean(get(d, i, "tested")));
    return dive_too_short(f, (dive_budget){ d->seeds, text_steps(d), DIVE_STEPS, best, DIVE_READING, "test loss" });
}

/* Two arms or two places, and the statement that a is below b, or above it by at most `most`. */
typedef struct {
    const plot_record *a, *b;
    double most;
} comparison;

static void claim(const dive *d, dive_claims *c, comparison x, dive_claim claim)
{
    const dive_pair p = dive_compare(x.a, x.b, (dive_scale){ .grid = 0.001, .worst = 4 });
    claim.measured = plot_figure_text(c->f, "test loss %s against %s", dive_number(c->f->t, p.a, 3), dive_number(c->f->t, p.b, 3));
    claim.interval = dive_interval(c->f, &p, 3), claim.seeds = p.seeds, claim.too_short = too_short(d, c->f);
    if (!claim.why) claim.why = dive_why(c->f, &p, "lower", "higher");
    claim.verdict = x.most > 0 ? dive_is_at_most(&p, x.most) : dive_is_below(&p);
    dive_claim_add(c, &claim);
}

static void claim_pixels(const dive *d, dive_claims *c)
{
    plot_figure *const f = c->f;
    dive_pair p[ORDERS];
    dive_claim claim = { .statement = "Recurrent BatchNorm on pixels: as good as no norm in order, better by 2 points on permuted pixels",
                         .source = "Cooijmans et al. 2016, table 1: 98.9 to 99.0 %, 90.2 to 95.4 % (RB1)",
                         .control = "196 pixels, LSTM of 64 units, RMSprop 0.001 with momentum 0.9, clip 1; 0.3 points, 2 points",
                         .too_short = "it is measured with --full only",
                         .measured = "not measured",
                         .interval = "" };
    for (size_t k = 0; k < ORDERS; k++)
        p[k] = dive_compare(plot_runs_get(&d->runs, "recurrent", "pixels/%s/BN/error", order_name[k]),
                            plot_runs_get(&d->runs, "recurrent", "pixels/%s/none/error", order_name[k]),
                            (dive_scale){ .grid = 0.05, .worst = 90 });
    if (p[0].seeds) {
        const dive_verdict v[] = { dive_is_at_most(&p[0], 0.3), dive_is_at_most(&p[1], -2) };
        claim.measured =
            plot_figure_text(f, "test error in percent, BN against none: in order %.2f against %.2f; permuted %.2f against %.2f", p[0].a,
                             p[0].b, p[1].a, p[1].b);
        claim.interval = plot_figure_text(f, "in order %s; permuted %s", dive_interval(f, &p[0], 2), dive_interval(f, &p[1], 2));
        claim.too_short =
            dive_too_short(f, (dive_budget){ p[0].seeds, PIXEL_STEPS, DIVE_LSTM_STEPS, fmin(p[0].a, p[1].a), 45, "error in percent" });
        claim.seeds = p[0].seeds, claim.verdict = dive_together(v, 2);
        claim.why = plot_figure_text(f, "in order: %s; permuted: %s", dive_verdict_name[v[0]], dive_verdict_name[v[1]]);
    }
    dive_claim_add(c, &claim);
}

void dive_recurrent_claims(const dive *d, dive_claims *c)
{
    plot_figure *const f = c->f;
    const double change = dive_mean(plot_runs_get(&d->runs, "recurrent", "text/settled"));
    claim_pixels(d, c);
    claim(d, c, (comparison){ .a = get(d, BN, "tested"), .b = get(d, SHARED, "tested") },
          (dive_claim){ .statement = "Recurrent BatchNorm needs statistics for each time step: shared statistics are worse",
                        .source = "Cooijmans et al. 2016, section 3 (RB5)",
                        .control = "shared statistics, the same batches" });
    claim(
        d, c, (comparison){ .a = get(d, BN, "long"), .b = get(d, BN, "late"), .most = 0.05 },
        (dive_claim){ .statement = "Recurrent BatchNorm reads sequences that are twice as long, with the statistics of the last time step",
                      .source = "Cooijmans et al. 2016, section 3 and appendix A (RB6; the bound of 0.05 nats is ours)",
                      .control = plot_figure_text(f,
                                                  "characters 33 to 64 against 17 to 32; LN %.3f against %.3f; after step 20 the running "
                                                  "variance changes by at most %.1f %% per step",
                                                  dive_mean(get(d, LN, "long")), dive_mean(get(d, LN, "late")), 100 * change),
                      .why = "the loss beyond the training's length is higher" });
    claim(d, c, (comparison){ .a = get(d, BN, "tested"), .b = get(d, NONE, "tested") },
          (dive_claim){ .statement = "An LSTM on characters is better with recurrent BatchNorm than without a norm",
                        .source = "Cooijmans et al. 2016, tables 2 and 3 (RB9, on a small text)",
                        .control = "no norm, the same batches" });
    claim(d, c, (comparison){ .a = get(d, LN, "tested"), .b = get(d, NONE, "tested") },
          (dive_claim){ .statement = "An LSTM on characters is better with LayerNorm than without a norm",
                        .source = "Ba et al. 2016, section 6.3 (LN13, the mechanism on a small text)",
                        .control = "no norm, the same batches" });
}
