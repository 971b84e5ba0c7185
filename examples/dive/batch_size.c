/* examples/dive/batch_size.c - figure "batch_size": norms at batch sizes from 1 to 128, with the same number of training samples.
 *
 * BatchNorm takes its statistics from the batch. At batch 1 a hidden unit has one value and no variance, so the module refuses; after a
 * convolution a channel still has height times width values. After training, the test set is evaluated twice in batches of the same size: in
 * evaluation mode and in training mode; the gap is the difference. Records: "batches" [n]; "NET/ARM/error", "/shown", "/tested" [seeds, n]: test
 * error in percent in evaluation mode and in training mode, and the test loss in evaluation mode; "NET/ARM/area" [seeds, n]: the mean training
 * loss over all steps. NaN means impossible or diverged. */
#include "core/op.h"
#include "examples/dive/models.h"
#include "examples/dive/seeds.h"
#include <math.h>

enum { BATCHES = 6, NETS = 3, ARMS = 4 };
static const size_t batch_at[BATCHES] = { 1, 2, 4, 8, 32, 128 };
enum { B1, B2, B4, B8, B32, B128 };

typedef struct {
    const char *name;
    gr_norm_kind norm;
    plot_ink ink;
    bool logits;
} net_arm;
typedef struct {
    const char *name, *title;
    dive_spec spec;
    bool hidden; /* there is a norm in a hidden layer, where BatchNorm has no statistics at batch 1 */
    net_arm arm[ARMS];
} net;
enum { CNN, CONVS, MLP };

static net net_of(const dive *d, size_t k)
{
    const net_arm cnn[ARMS] = { { "none", GR_NORM_NONE, PLOT_INK_NONE, false },
                                { "BN", GR_NORM_BATCH, PLOT_INK_BN, false },
                                { "LN", GR_NORM_LAYER, PLOT_INK_LN, false },
                                { "GN", GR_NORM_GROUP, PLOT_INK_GN, false } };
    const dive_spec conv = { .arch = DIVE_CNN, .hidden = dive_pick(d, 4, 4, 8) };
    net all[NETS] = {
        { "cnn", "CNN, norms in all layers", conv, true, { cnn[0], cnn[1], cnn[2], cnn[3] } },
        { "convs", "CNN, norms after convolutions", conv, false, { cnn[0], cnn[1], cnn[2], cnn[3] } },
        { "mlp",
          "MLP",
          { .arch = DIVE_MLP, .hidden = dive_pick(d, 16, 64, 128) },
          true,
          { cnn[0], cnn[1], cnn[2], { "BN, logits too", GR_NORM_BATCH, PLOT_INK_RMS, true } } },
    };
    all[CONVS].spec.convs = true;
    return all[k];
}

/* Smaller batches take more steps for the same samples, so the learning rate is proportional to the root of the batch size. */
static double lr_of(size_t batch) { return 1e-3 * sqrt((double)batch / 4); }
static size_t samples_of(const dive *d) { return dive_pick(d, 128, 3072, 19968); }
static size_t tested_of(const dive *d) { return dive_pick(d, 128, 512, 5120); }

static bool is_impossible(const net *n, const net_arm *arm, size_t batch) { return batch == 1 && arm->norm == GR_NORM_BATCH && n->hidden; }

/* ---- Measuring ---- */

typedef struct {
    double *error, *shown, *tested, *area;
} outcome;
typedef struct {
    dive *d;
    net net;
    outcome arm[ARMS];
    size_t number, all;
} job;

static bool watch(kit_arms *a, size_t step, bool evaluated)
{
    const job *const j = a->user;
    const double share = ((double)j->number + (double)step / (double)a->steps) / (double)j->all;
    return evaluated || dive_tick(j->d, share, "%s, %s, step %zu", j->net.title, a->title, step);
}

/* Evaluate the test images in batches of that size, in training mode or in evaluation mode. */
static kit_score show(dive *d, dive_batches *b, kit_arm *arm, size_t batch, bool training)
{
    kit_score score = { 0 };
    kit_batches images = kit_batches_new(b->tape, &d->data.test, batch, false);
    gr_tape_set_training(arm->tape, training), gr_tape_set_recording(arm->tape, false);
    for (size_t k = 0; k < tested_of(d) / batch && !gr_failed(arm->tape) && !gr_failed(b->tape); k++) {
        const kit_batch x = kit_next(&images);
        gr_tape_reset(arm->tape);
        dive_loss(arm, &x, &score);
    }
    gr_tape_set_training(arm->tape, true), gr_tape_set_recording(arm->tape, true);
    kit_batches_free(b->tape, &images);
    return score;
}

static void note(const job *j, dive_batches *b, kit_arm *arm, const outcome *o, size_t batch, size_t at)
{
    if (arm->diverged) return;
    const kit_score tested = show(j->d, b, arm, batch, false), shown = show(j->d, b, arm, batch, true);
    o->error[at] = 100 - kit_accuracy(&tested), o->shown[at] = 100 - kit_accuracy(&shown);
    o->tested[at] = kit_loss(&tested), o->area[at] = kit_loss(&arm->whole);
    if (gr_failed(arm->tape) && !gr_failed(j->d->r->tape))
        gr_fail_as(j->d->r->tape, gr_error_code(arm->tape), "", "%s: %s", arm->name, gr_message(arm->tape));
}

static bool train(dive *d, job *j, size_t size, size_t seed)
{
    dive_batches b;
    dive_spec spec[ARMS];
    const outcome *of[ARMS];
    char title[32];
    const size_t batch = batch_at[size], steps = samples_of(d) / batch;
    snprintf(title, sizeof title, "batch %zu", batch);
    kit_arms a = { .title = title, .steps = steps, .every = steps, .watch = watch };
    if (!dive_batches_open(d, &b, &a, &j->net.spec, batch, seed)) return false;
    a.source.test = 1;
    for (size_t i = 0; i < ARMS; i++) {
        const net_arm *const arm = &j->net.arm[i];
        if (is_impossible(&j->net, arm, batch)) continue;
        spec[i] = j->net.spec, spec[i].logits = arm->logits, spec[i].lr = lr_of(batch);
        of[a.n] = &j->arm[i];
        kit_arms_add(&a, arm->name, (int)arm->norm), a.arm[a.n - 1].user = &spec[i];
    }
    a.user = j;
    const bool done = kit_arms_run(d->r, &a) && !kit_interrupted();
    for (size_t i = 0; done && i < a.n; i++) note(j, &b, &a.arm[i], of[i], batch, seed * BATCHES + size);
    dive_arms_free(&a), dive_batches_free(d, &b);
    return done && !gr_failed(d->r->tape);
}

void dive_batch_size_measure(dive *d)
{
    job j = { .d = d, .all = NETS * d->seeds * BATCHES };
    const gr_shape shape = GR_SHAPE(d->seeds, BATCHES);
    double batches[BATCHES];
    for (size_t i = 0; i < BATCHES; i++) batches[i] = (double)batch_at[i];
    dive_put(d, GR_SHAPE(BATCHES), batches, "batches");
    for (size_t k = 0; k < NETS; k++) {
        const size_t n = d->seeds * BATCHES;
        j.net = net_of(d, k);
        for (size_t i = 0; i < ARMS; i++) j.arm[i] = (outcome){ dive_blank(d, n), dive_blank(d, n), dive_blank(d, n), dive_blank(d, n) };
        for (size_t seed = 0; seed < d->seeds; seed++)
            for (size_t size = 0; size < BATCHES; size++, j.number++)
                if (gr_failed(d->r->tape) || !train(d, &j, size, seed)) return;
        for (size_t i = 0; i < ARMS; i++) {
            const char *const name = j.net.name, *const arm = j.net.arm[i].name;
            dive_put(d, shape, j.arm[i].error, "%s/%s/error", name, arm), dive_put(d, shape, j.arm[i].shown, "%s/%s/shown", name, arm);
            dive_put(d, shape, j.arm[i].tested, "%s/%s/tested", name, arm), dive_put(d, shape, j.arm[i].area, "%s/%s/area", name, arm);
        }
    }
}

/* ---- Drawing ---- */

static const plot_record *get(const dive *d, const net *n, size_t arm, const char *what)
{
    return plot_runs_get(&d->runs, "batch_size", "%s/%s/%s", n->name, n->arm[arm].name, what);
}

static const double places[BATCHES] = { 0, 1, 2, 3, 4, 5 };
static const char *const place_name[BATCHES] = { "1", "2", "4", "8", "32", "128" };

/* a - b, [seeds, n], of two records of one shape; NULL when one is missing. */
static const plot_record *difference(gr_tape *t, const plot_record *a, const plot_record *b)
{
    plot_record *const r = a && b && a->n == b->n ? gr_save(t, sizeof *r) : NULL;
    if (!r) return NULL;
    *r = *a, r->values = gr_save(t, r->n * sizeof *r->values);
    for (size_t i = 0; r->values && i < r->n; i++) r->values[i] = a->values[i] - b->values[i];
    return r->values ? r : NULL;
}

static void add_band(plot_panel *p, const net_arm *arm, const plot_record *r)
{
    if (!p) return;
    const dive_band y = dive_over_seeds(p->figure->t, r);
    plot_series_add(
        p,
        &(plot_series){
            .name = arm->name, .ink = arm->ink, .mark = PLOT_LINE_DOTS, .n = y.n, .x = places, .y = y.mean, .low = y.low, .high = y.high });
}

static double mean_at(const plot_record *r, size_t size)
{
    double sum = 0;
    for (size_t k = size; r && k < r->n; k += BATCHES) sum += r->values[k];
    return r && r->n ? sum / (double)(r->n / BATCHES) : (double)NAN;
}

void dive_batch_size_draw(const dive *d, plot_figure *f)
{
    const plot_axis x = { .label = "batch", .tick = place_name, .ticks = BATCHES };
    const char *words[NETS];
    f->title = "Small and large batches";
    for (size_t k = 0; k < NETS; k++) {
        const net n = net_of(d, k);
        plot_panel *const error = plot_panel_new(
            f, &(plot_panel){ .title = n.title, .note = "in evaluation mode", .x = x, .y = { .label = "test error, %", .log = true } });
        plot_panel *const gap = plot_panel_new(f, &(plot_panel){ .title = n.title,
                                                                 .note = "training mode minus evaluation mode",
                                                                 .x = x,
                                                                 .y = { .label = "test error, difference in points" } });
        for (size_t i = 0; i < ARMS; i++) {
            add_band(error, &n.arm[i], get(d, &n, i, "error"));
            add_band(gap, &n.arm[i], difference(f->t, get(d, &n, i, "shown"), get(d, &n, i, "error")));
        }
        words[k] = dive_spec_text(f, &(dive_spec){ .arch = n.spec.arch, .hidden = n.spec.hidden, .convs = n.spec.convs, .lr = NAN }, 0);
    }
    const net cnn = net_of(d, CNN);
    plot_figure_says(f, PLOT_SAY_QUESTION, "Which norm depends on the batch size, and what does it lose when the batch is small?");
    plot_figure_says(f, PLOT_SAY_NUMBER,
                     "Test error of the CNN at batch 2: %.1f %% with BatchNorm, %.1f %% with LayerNorm, %.1f %% with GroupNorm",
                     mean_at(get(d, &cnn, 1, "error"), B2), mean_at(get(d, &cnn, 2, "error"), B2), mean_at(get(d, &cnn, 3, "error"), B2));
    plot_figure_says(
        f, PLOT_SAY_CAPTION,
        "All networks train on %zu samples, in batches of 1 to 128 (%zu to %zu steps), with the constant learning rate "
        "0.001 sqrt(batch / 4). Curves are means and bands are ranges over %zu seeds. The panels on the right show how much the test error "
        "changes when the network runs in training mode, with batches of the training size: only BatchNorm changes. After few steps its "
        "running statistics still lag behind, which increases its error in evaluation mode. At batch 1 BatchNorm has no point where it "
        "normalizes a hidden unit: one value has no variance, and the module refuses. After a convolution a channel of one image still has "
        "height times width values, so BatchNorm works there. GroupNorm (GN) normalizes groups of channels or units of one image. The test "
        "uses %zu images.",
        samples_of(d), samples_of(d), samples_of(d) / 128, d->seeds, tested_of(d));
    plot_figure_says(f, PLOT_SAY_SETTINGS, "%s. CNN: %s; a second CNN has norms only after the convolutions. MLP: %s.", d->preprocessing,
                     words[CNN], words[MLP]);
}

/* ---- Claims ---- */

/* The values of a record at one batch size, [seeds]. */
static const plot_record *at(gr_tape *t, const plot_record *r, size_t size)
{
    plot_record *const c = r ? gr_save(t, sizeof *c) : NULL;
    if (!c) return NULL;
    *c = *r, c->n = r->n / BATCHES, c->shape = GR_SHAPE(c->n), c->values = gr_save(t, c->n * sizeof *c->values);
    for (size_t k = 0; c->values && k < c->n; k++) c->values[k] = r->values[k * BATCHES + size];
    return c->values ? c : NULL;
}

/* Compare `what` of arm a with that of arm b, in a net at a batch size. */
static dive_pair compare(const dive *d, dive_claims *c, size_t k, size_t a, size_t b, const char *what, size_t size)
{
    const net n = net_of(d, k);
    gr_tape *const t = c->f->t;
    return dive_compare(at(t, get(d, &n, a, what), size), at(t, get(d, &n, b, what), size));
}

static const char *pair_text(plot_figure *f, const char *where, const dive_pair *p)
{
    return plot_figure_text(f, "%s %.2f against %.2f (below in %zu of %zu seeds)", where, p->a, p->b, p->below, p->seeds);
}

static void add(dive_claims *c, dive_claim claim, dive_verdict v, const char *why)
{
    claim.verdict = v, claim.why = why;
    dive_claim_add(c, &claim);
}

static const char *const errors = "test error in percent at batch";

/* LayerNorm and GroupNorm compute the same in both modes; BatchNorm does not. */
static void claim_modes(const dive *d, dive_claims *c)
{
    double largest[ARMS] = { 0 };
    for (size_t k = 0; k < NETS; k++) {
        const net n = net_of(d, k);
        for (size_t i = 0; i < ARMS; i++) {
            const plot_record *const r = difference(c->f->t, get(d, &n, i, "shown"), get(d, &n, i, "error"));
            double *const to = &largest[n.arm[i].norm == GR_NORM_BATCH ? 1 : i];
            for (size_t j = 0; r && j < r->n; j++) *to = fmax(*to, fabs(r->values[j]));
        }
    }
    add(c,
        (dive_claim){ .statement = "LayerNorm computes the same in training and evaluation mode",
                      .source = "often said; Ba et al. 2016, abstract",
                      .measured =
                          plot_figure_text(c->f,
                                           "largest difference of the test error between the modes, over all networks and batch sizes: "
                                           "LN %g points, GN %g points",
                                           largest[2], largest[3]),
                      .control = plot_figure_text(c->f, "BatchNorm: %.1f points", largest[1]),
                      .exact = true },
        !(largest[2] > 0) ? DIVE_PASS : DIVE_FAIL, "the modes differ");
}

static void claim_small(const dive *d, dive_claims *c)
{
    plot_figure *const f = c->f;
    const char *const small = plot_figure_text(f, "%s 2", errors), *const mixed = "not in every network and seed: see the figure";
    const dive_pair none[] = { compare(d, c, CNN, 0, 1, "error", B2), compare(d, c, MLP, 0, 1, "error", B2) };
    const dive_verdict unstable[] = { dive_is_below(&none[0]), dive_is_below(&none[1]) };
    add(c,
        (dive_claim){ .statement = "BatchNorm is unstable at small batches",
                      .source = "often said; Wu, He 2018",
                      .measured = plot_figure_text(f, "%s, no norm against BN: %s; %s", small, pair_text(f, "CNN", &none[0]),
                                                   pair_text(f, "MLP", &none[1])),
                      .control = "no norm, with the same samples and learning rate" },
        dive_together(unstable, 2), mixed);
    const dive_pair ln[] = { compare(d, c, CNN, 2, 1, "error", B2), compare(d, c, CONVS, 2, 1, "error", B2),
                             compare(d, c, MLP, 2, 1, "error", B2) };
    const dive_verdict better[] = { dive_is_below(&ln[0]), dive_is_below(&ln[1]), dive_is_below(&ln[2]) };
    add(c,
        (dive_claim){ .statement = "LayerNorm is better than BatchNorm at small batches",
                      .source = "often said; Ba et al. 2016",
                      .measured =
                          plot_figure_text(f, "%s, LN against BN: %s; %s; %s", small, pair_text(f, "CNN", &ln[0]),
                                           pair_text(f, "CNN with norms after convolutions only", &ln[1]), pair_text(f, "MLP", &ln[2])),
                      .control = "the same placement, samples and learning rate" },
        dive_together(better, 3), "after a convolution BatchNorm has many values even from two images; in a hidden layer it has two");
    const dive_pair one = compare(d, c, CONVS, 2, 1, "error", B1);
    add(c,
        (dive_claim){ .statement = "LayerNorm is better than BatchNorm online, at batch 1",
                      .source = "often said; Ba et al. 2016",
                      .measured = plot_figure_text(
                          f, "BatchNorm is impossible in hidden layers; with norms only after convolutions, %s 1, LN against BN: %s",
                          errors, pair_text(f, "CNN", &one)),
                      .control = "the same placement, samples and learning rate" },
        dive_is_below(&one) == DIVE_PASS ? DIVE_PASS : DIVE_DIFFERS,
        "in a hidden layer BatchNorm is impossible at batch 1; after a convolution it is an instance norm, which works here");
}

static void claim_large(const dive *d, dive_claims *c)
{
    plot_figure *const f = c->f;
    const dive_pair p[] = { compare(d, c, CNN, 1, 2, "area", B128), compare(d, c, CNN, 1, 2, "error", B128) };
    const dive_verdict v[] = { dive_is_below(&p[0]), dive_is_below(&p[1]) };
    add(c,
        (dive_claim){ .statement = "BatchNorm is better for convolutional networks with large batches",
                      .source = "often said; Ba et al. 2016, section 6.7",
                      .measured =
                          plot_figure_text(f, "batch 128, BN against LN: %s; %s", pair_text(f, "training loss over all steps", &p[0]),
                                           pair_text(f, "test error in percent", &p[1])),
                      .control = "the same placement, samples and learning rate" },
        dive_together(v, 2),
        "after few steps the running statistics lag behind, so that the test error in evaluation mode is above that in training mode");
}

/* The error at batch 2 minus the error at batch 32. */
static void claim_penalty(const dive *d, dive_claims *c)
{
    const net n = net_of(d, CNN);
    const plot_record *const bn = get(d, &n, 1, "error"), *const gn = get(d, &n, 3, "error");
    const double loss_bn = mean_at(bn, B2) - mean_at(bn, B32), loss_gn = mean_at(gn, B2) - mean_at(gn, B32);
    const bool holds = loss_bn > 0 && loss_bn >= 3 * loss_gn;
    add(c,
        (dive_claim){
            .statement = "A batch of 2 costs BatchNorm at least three times as much as GroupNorm",
            .source = "Wu, He 2018: 10.6 points on ImageNet (CC4; the bound of three times is ours)",
            .measured = plot_figure_text(c->f, "test error at batch 2 minus that at batch 32: BN %+.2f, GN %+.2f points", loss_bn, loss_gn),
            .control = "GroupNorm in the same CNN with the same samples" },
        holds               ? DIVE_PASS
        : loss_bn > loss_gn ? DIVE_DIFFERS
                            : DIVE_FAIL,
        "BatchNorm loses less than three times as much");
}

/* Figure 6 of the LayerNorm paper. */
static void claim_figure_six(const dive *d, dive_claims *c)
{
    plot_figure *const f = c->f;
    const dive_pair large = compare(d, c, MLP, 2, 3, "area", B128), control = compare(d, c, MLP, 2, 1, "area", B128);
    const dive_pair small[] = { compare(d, c, MLP, 2, 3, "area", B4), compare(d, c, MLP, 2, 1, "area", B4) };
    const dive_verdict v[] = { dive_is_below(&small[0]), dive_is_below(&small[1]) };
    add(c,
        (dive_claim){ .statement = "MLP at batch 128: LayerNorm (hidden layers) trains faster than BatchNorm (all layers)",
                      .source = "Ba et al. 2016, figure 6 left (LN7)",
                      .measured = plot_figure_text(f, "training loss over all steps, LN against BN: %s",
                                                   pair_text(f, "BN on the logits too", &large)),
                      .control = plot_figure_text(f, "the same placement, which the paper lacks: %s",
                                                  pair_text(f, "BN in hidden layers", &control)) },
        dive_is_below(&large),
        plot_figure_text(f, "the order depends on the data, the learning rate (here %.1e) and the number of steps (here %zu)", lr_of(128),
                         samples_of(d) / 128));
    add(c,
        (dive_claim){ .statement = "MLP at batch 4: BatchNorm degrades, LayerNorm does not",
                      .source = "Ba et al. 2016, figure 6 right (LN8; there with the unbiased variance)",
                      .measured =
                          plot_figure_text(f, "training loss over all steps, LN against BN: %s; %s",
                                           pair_text(f, "BN on the logits too", &small[0]), pair_text(f, "BN in hidden layers", &small[1])),
                      .control = plot_figure_text(f, "batch 128: %.2f against %.2f and %.2f", large.a, large.b, control.b) },
        dive_together(v, 2), "not in all seeds");
}

void dive_batch_size_claims(const dive *d, dive_claims *c)
{
    claim_modes(d, c);
    claim_small(d, c);
    claim_large(d, c);
    claim_penalty(d, c);
    claim_figure_six(d, c);
}
