/* examples/dive/batch_size.c - figure "batch_size": norms at batch sizes from 1 to 128.
 *
 * A smaller batch takes more steps over fewer samples: sqrt(128 / batch) times the steps, as in examples/cnn_norms, so that each batch size
 * trains long enough to compare.
 *
 * BatchNorm takes its statistics from the batch. At batch 1 a hidden unit has one value, whose variance is 0, so that its output would be beta for
 * every input, and the module refuses; after a convolution a channel still has height times width values. After training, the test set is
 * evaluated twice in batches of the same size: in evaluation mode and in training mode; the gap is the difference. Records: "batches" [n];
 * "NET/ARM/error", "/shown", "/tested" [seeds, n]: test error in percent in evaluation mode and in training mode, and the test loss in evaluation
 * mode; "NET/ARM/area" [seeds, n]: the mean training loss over all steps. NaN means impossible or diverged. */
#include "core/op.h"
#include "examples/dive/batch_size.h"
#include <math.h>

const size_t batch_at[BATCHES] = { 1, 2, 4, 8, 32, 128 };

batch_net batch_net_of(const dive *d, size_t k)
{
    const batch_arm cnn[BATCH_ARMS] = { { "none", GR_NORM_NONE, PLOT_INK_NONE, false },
                                        { "BN", GR_NORM_BATCH, PLOT_INK_BN, false },
                                        { "LN", GR_NORM_LAYER, PLOT_INK_LN, false },
                                        { "GN", GR_NORM_GROUP, PLOT_INK_GN, false } };
    const dive_spec conv = { .arch = DIVE_CNN, .hidden = dive_pick(d, 4, 4, 8) };
    batch_net all[BATCH_NETS] = {
        { "cnn", "CNN, norms in all layers", conv, true, { cnn[0], cnn[1], cnn[2], cnn[3] } },
        { "convs", "CNN, norms after convolutions", conv, false, { cnn[0], cnn[1], cnn[2], cnn[3] } },
        { "mlp",
          "MLP",
          { .arch = DIVE_MLP, .hidden = dive_pick(d, 16, 64, 128) },
          true,
          { cnn[0], cnn[1], cnn[2], { "BN, logits too", GR_NORM_BATCH, PLOT_INK_RMS, true } } },
    };
    all[BATCH_CONVS].spec.convs = true;
    return all[k];
}

/* Smaller batches take more steps for the same samples, so the learning rate is proportional to the root of the batch size. */
double batch_lr(size_t batch) { return 1e-3 * sqrt((double)batch / 4); }
size_t batch_steps(const dive *d, size_t batch) { return (size_t)((double)dive_pick(d, 1, DIVE_STEPS, 600) * sqrt(128 / (double)batch)); }
size_t batch_tested(const dive *d) { return dive_pick(d, 128, 512, 5120); }

static bool is_impossible(const batch_net *n, const batch_arm *arm, size_t batch)
{
    return batch == 1 && arm->norm == GR_NORM_BATCH && n->hidden;
}

/* ---- Measuring ---- */

typedef struct {
    double *error, *shown, *tested, *area;
} outcome;
typedef struct {
    dive *d;
    batch_net net;
    outcome arm[BATCH_ARMS];
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
    for (size_t k = 0; k < batch_tested(d) / batch && !gr_failed(arm->tape) && !gr_failed(b->tape); k++) {
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
    dive_spec spec[BATCH_ARMS];
    const outcome *of[BATCH_ARMS];
    char title[32];
    const size_t batch = batch_at[size], steps = batch_steps(d, batch);
    snprintf(title, sizeof title, "batch %zu", batch);
    kit_arms a = { .title = title, .steps = steps, .every = steps, .watch = watch };
    if (!dive_batches_open(d, &b, &a, &j->net.spec, batch, seed)) return false;
    a.source.test = 0; /* note() tests */
    for (size_t i = 0; i < BATCH_ARMS; i++) {
        const batch_arm *const arm = &j->net.arm[i];
        if (is_impossible(&j->net, arm, batch)) continue;
        spec[i] = j->net.spec, spec[i].logits = arm->logits, spec[i].lr = batch_lr(batch);
        of[a.n] = &j->arm[i];
        kit_arms_add(&a, arm->name, (int)arm->norm), a.arm[a.n - 1].user = &spec[i];
    }
    a.user = j;
    const bool done = kit_arms_run(d->r, &a) && !kit_interrupted();
    for (size_t i = 0; done && i < a.n; i++) note(j, &b, &a.arm[i], of[i], batch, seed * BATCHES + size);
    dive_arms_free(&a), dive_batches_free(d, &b);
    return done && !gr_failed(d->r->tape);
}

/* Only --full trains all networks with all batches. The others are those of the claims, and batches of 1. */
static bool is_wanted(const dive *d, size_t k, size_t batch)
{
    if (d->mode == DIVE_FULL) return true;
    return batch < 4 || (batch == 4 && k == BATCH_MLP) || batch == 32 || (batch == 128 && k != BATCH_CONVS);
}

void batch_measure(dive *d, bool (*wanted)(const dive *d, size_t net, size_t batch))
{
    job j = { .d = d, .all = BATCH_NETS * d->seeds * BATCHES };
    const gr_shape shape = GR_SHAPE(d->seeds, BATCHES);
    double batches[BATCHES];
    for (size_t i = 0; i < BATCHES; i++) batches[i] = (double)batch_at[i];
    dive_put(d, GR_SHAPE(BATCHES), batches, "batches");
    for (size_t k = 0; k < BATCH_NETS; k++) {
        const size_t n = d->seeds * BATCHES;
        j.net = batch_net_of(d, k);
        for (size_t i = 0; i < BATCH_ARMS; i++)
            j.arm[i] = (outcome){ dive_blank(d, n), dive_blank(d, n), dive_blank(d, n), dive_blank(d, n) };
        for (size_t seed = 0; seed < d->seeds; seed++)
            for (size_t size = 0; size < BATCHES; size++, j.number++)
                if (gr_failed(d->r->tape) || (wanted(d, k, batch_at[size]) && !train(d, &j, size, seed))) return;
        for (size_t i = 0; i < BATCH_ARMS; i++) {
            const char *const name = j.net.name, *const arm = j.net.arm[i].name;
            dive_put(d, shape, j.arm[i].error, "%s/%s/error", name, arm), dive_put(d, shape, j.arm[i].shown, "%s/%s/shown", name, arm);
            dive_put(d, shape, j.arm[i].tested, "%s/%s/tested", name, arm), dive_put(d, shape, j.arm[i].area, "%s/%s/area", name, arm);
        }
    }
}

void dive_batch_size_measure(dive *d) { batch_measure(d, is_wanted); }

/* ---- Drawing ---- */

const plot_record *batch_get(const dive *d, const batch_net *n, size_t arm, const char *what)
{
    return plot_runs_get(&d->runs, "batch_size", "%s/%s/%s", n->name, n->arm[arm].name, what);
}

static const char *const place_name[BATCHES] = { "1", "2", "4", "8", "32", "128" };

/* The axis of a network has the batch sizes at which it trained. */
typedef struct {
    size_t n, size[BATCHES];
    const char *tick[BATCHES];
} axis_sizes;

static axis_sizes sizes_of(const dive *d, size_t k)
{
    axis_sizes s = { 0 };
    for (size_t size = 0; size < BATCHES; size++)
        if (is_wanted(d, k, batch_at[size])) s.tick[s.n] = place_name[size], s.size[s.n++] = size;
    return s;
}

const plot_record *batch_difference(gr_tape *t, const plot_record *a, const plot_record *b)
{
    plot_record *const r = a && b && a->n == b->n ? gr_save(t, sizeof *r) : NULL;
    if (!r) return NULL;
    *r = *a, r->values = gr_save(t, r->n * sizeof *r->values);
    for (size_t i = 0; r->values && i < r->n; i++) r->values[i] = a->values[i] - b->values[i];
    return r->values ? r : NULL;
}

static void add_band(plot_panel *p, const batch_arm *arm, const plot_record *r, const axis_sizes *s)
{
    static const double places[BATCHES] = { 0, 1, 2, 3, 4, 5 };
    double mean[BATCHES], low[BATCHES], high[BATCHES];
    if (!p) return;
    const dive_band y = dive_over_seeds(p->figure->t, r);
    for (size_t k = 0; y.n == BATCHES && k < s->n; k++)
        mean[k] = y.mean[s->size[k]], low[k] = y.low[s->size[k]], high[k] = y.high[s->size[k]];
    plot_series_add(p, &(plot_series){ .name = arm->name,
                                       .ink = arm->ink,
                                       .mark = PLOT_LINE_DOTS,
                                       .n = y.n == BATCHES ? s->n : 0,
                                       .x = places,
                                       .y = mean,
                                       .low = low,
                                       .high = high });
}

static double mean_at(const plot_record *r, size_t size)
{
    double sum = 0;
    for (size_t k = size; r && k < r->n; k += BATCHES) sum += r->values[k];
    return r && r->n ? sum / (double)(r->n / BATCHES) : (double)NAN;
}

void dive_batch_size_draw(const dive *d, plot_figure *f)
{
    const char *words[BATCH_NETS];
    f->title = "Small and large batches", f->columns = BATCH_NETS, f->abreast = true;
    for (size_t k = 0; k < BATCH_NETS; k++) {
        const batch_net n = batch_net_of(d, k);
        const axis_sizes sizes = sizes_of(d, k);
        const plot_axis x = { .label = "batch", .tick = sizes.tick, .ticks = sizes.n };
        plot_part_begin(f, n.title, NULL, false);
        plot_panel *const error = plot_panel_new(
            f,
            &(plot_panel){ .title = "Test error", .note = "in evaluation mode", .x = x, .y = { .label = "test error, %", .log = true } });
        plot_panel *const gap = plot_panel_new(
            f, &(plot_panel){
                   .title = "Difference", .note = "training minus evaluation mode", .x = x, .y = { .label = "difference in points" } });
        for (size_t i = 0; i < BATCH_ARMS; i++) {
            add_band(error, &n.arm[i], batch_get(d, &n, i, "error"), &sizes);
            add_band(gap, &n.arm[i], batch_difference(f->t, batch_get(d, &n, i, "shown"), batch_get(d, &n, i, "error")), &sizes);
        }
        words[k] = dive_spec_text(f, &(dive_spec){ .arch = n.spec.arch, .hidden = n.spec.hidden, .convs = n.spec.convs, .lr = NAN }, 0);
    }
    const batch_net cnn = batch_net_of(d, BATCH_CNN), convs = batch_net_of(d, BATCH_CONVS);
    plot_figure_says(f, PLOT_SAY_QUESTION, "Which norm depends on the batch size, and what does it lose when the batch is small?");
    plot_figure_says(
        f, PLOT_SAY_NUMBER,
        "Test error of the CNN at batch 2: %.1f %% with BatchNorm in all layers (LayerNorm %.1f %%, GroupNorm %.1f %%), but %.1f %% with "
        "BatchNorm only after the convolutions (%.1f %%, %.1f %%)",
        mean_at(batch_get(d, &cnn, 1, "error"), B2), mean_at(batch_get(d, &cnn, 2, "error"), B2),
        mean_at(batch_get(d, &cnn, 3, "error"), B2), mean_at(batch_get(d, &convs, 1, "error"), B2),
        mean_at(batch_get(d, &convs, 2, "error"), B2), mean_at(batch_get(d, &convs, 3, "error"), B2));
    plot_figure_says(
        f, PLOT_SAY_CAPTION,
        "Networks train in batches of 1 to 128 for %zu to %zu steps: sqrt(128 / batch) times those at batch 128, with the constant "
        "learning "
        "rate 0.001 sqrt(batch / 4). Curves are means and bands are ranges over %s. The differences show how much the test "
        "error "
        "changes when the network runs in training mode, with batches of the training size: only BatchNorm changes. After few steps its "
        "running statistics still lag behind, which increases its error in evaluation mode. At batch 1 BatchNorm has no point where it "
        "normalizes a hidden unit: the variance of one value is 0, the output would be beta for every input, and the module refuses. After "
        "a "
        "convolution a channel of one image still has height times width values, so BatchNorm works there. GroupNorm (GN) normalizes "
        "groups of channels or units of one image. The test "
        "uses %zu images.",
        batch_steps(d, 1), batch_steps(d, 128), dive_count(f->t, d->seeds, "seed", "seeds"), batch_tested(d));
    plot_figure_says(f, PLOT_SAY_SETTINGS, "%s. CNN: %s; a second CNN has norms only after the convolutions. MLP: %s.", d->preprocessing,
                     words[BATCH_CNN], words[BATCH_MLP]);
}
