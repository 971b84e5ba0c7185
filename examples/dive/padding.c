/* examples/dive/padding.c - figure "padding": how padding changes BatchNorm's statistics, with and without lengths, and LayerNorm.
 *
 * The words keep their bits, and only the padding grows, so padding is the cause of every change. Records, where WAYS are none, BN, BN with
 * lengths and LN: "share" [shares]; "mean", "deviation", "out", "alone" [WAYS, shares] of feature one; "lesson" [WAYS, words], "lesson/statistics"
 * [2, 2]; "look/share" [looks], "look" [WAYS, looks], a mean over the seeds, "look/rise" [seeds]: BN's last loss minus its first; "train/share"
 * [paddings], "train" [WAYS, paddings]. */
#include "core/op.h"
#include "examples/dive/seeds.h"
#include "examples/kit/names.h"
#include "gradus.h"
#include <math.h>

enum { NONE, PLAIN, MASKED, LAYER, WAYS };
static const struct {
    const char *name;
    gr_norm_kind norm;
    plot_ink ink;
} way_of[WAYS] = {
    { "none", GR_NORM_NONE, PLOT_INK_NONE },
    { "BN", GR_NORM_BATCH, PLOT_INK_BN },
    { "BN with lengths", GR_NORM_BATCH, PLOT_INK_GN },
    { "LN", GR_NORM_LAYER, PLOT_INK_LN },
};

enum { SHARES = 10, SENTENCES = 32, WORDS = 10, FEATURES = 16, BATCHES = 60, LESSON = 8 };
static const size_t padded_to[SHARES] = { 10, 11, 12, 14, 17, 20, 25, 33, 50, 100 };

/* ==== The statistics ==== */

static gr_tensor *normalize(gr_tape *t, int way, gr_module *norm, gr_tensor *x, const gr_ints *lengths)
{
    if (way != MASKED) return gr_forward(t, norm, x);
    return gr_norm_forward(t, gr_norm_of(norm), x, &(gr_norm_input){ .lengths = lengths });
}

/* Batch `number` of n sentences of ten words, padded with zeros to L positions: feature one from N(2, 1), the others from N(0, 1). */
static gr_tensor *sentences(gr_tape *t, size_t number, size_t n, size_t L)
{
    gr_tensor *const x = gr_zeros(t, GR_SHAPE(n, L, FEATURES));
    gr_stream s = gr_stream_new(gr_tape_seed(t), "padding/words");
    s.counter = (uint64_t)number << 32;
    for (size_t i = 0; x && i < n; i++)
        for (size_t k = 0; k < WORDS * FEATURES; k++)
            x->data[i * L * FEATURES + k] = (gr_real)gr_stream_normal(&s, k % FEATURES ? 0 : 2, 1);
    return x;
}

/* The same length for all sentences. */
static const gr_ints *lengths_of(gr_tape *t, size_t n)
{
    gr_ints *const l = gr_ints_new(t, NULL, GR_SHAPE(n));
    for (size_t i = 0; l && i < n; i++) l->data[i] = WORDS;
    return l;
}

typedef struct {
    double mean, deviation, out, alone;
} seen;

/* Measure one way at one share of padding: the first batch, the running statistics after all batches, and the first sentence alone. */
static seen look(gr_tape *t, int way, size_t L)
{
    seen s = { 0 };
    const double n = (double)(SENTENCES * (way == PLAIN ? L : WORDS)), biased = (n - 1) / n;
    gr_module *const root = gr_module_new(t), *const norm = gr_norm_new(t, root, "norm", way_of[way].norm, FEATURES, NULL);
    gr_norm *const bn = way == LAYER || way == NONE ? NULL : gr_norm_of(norm);
    const size_t batches = bn ? BATCHES : 1; /* without running statistics the others leave nothing */
    gr_tape_set_recording(t, false);
    for (size_t b = 0; b < batches && !gr_failed(t); b++) {
        gr_tape_reset(t);
        gr_tensor *const x = sentences(t, b, SENTENCES, L);
        if (bn) bn->momentum = b ? 0.1 : 1; /* the first batch sets the running statistics, then PyTorch's default */
        const gr_tensor *const y = normalize(t, way, norm, x, lengths_of(t, SENTENCES));
        if (!y || b) continue;
        s.out = (double)y->data[0];
        if (bn) s.mean = (double)bn->running_mean->data[0], s.deviation = sqrt((double)bn->running_var->data[0] * biased);
        if (way == NONE) s.deviation = 1; /* none does not normalize */
        for (size_t f = 0; way == LAYER && f < FEATURES; f++) s.mean += (double)x->data[f] / FEATURES;
        for (size_t f = 0; way == LAYER && f < FEATURES; f++) s.deviation += pow((double)x->data[f] - s.mean, 2) / FEATURES;
        if (way == LAYER) s.deviation = sqrt(s.deviation);
    }
    gr_tape_reset(t), gr_tape_set_training(t, false);
    const gr_tensor *const y = normalize(t, way, norm, sentences(t, 0, 1, WORDS), lengths_of(t, 1));
    if (y) s.alone = (double)y->data[0];
    gr_tape_set_training(t, true), gr_tape_set_recording(t, true);
    gr_module_free(root);
    return s;
}

static void measure_statistics(dive *d, gr_tape *t)
{
    double share[SHARES], mean[WAYS][SHARES] = { { 0 } }, deviation[WAYS][SHARES] = { { 0 } }, out[WAYS][SHARES] = { { 0 } };
    double alone[WAYS][SHARES] = { { 0 } };
    for (size_t k = 0; k < SHARES && dive_tick(d, 0.3 * (double)k / SHARES, "statistics"); k++) {
        share[k] = 100 * (1 - (double)WORDS / (double)padded_to[k]);
        for (int w = NONE; w < WAYS; w++) {
            const seen s = look(t, w, padded_to[k]);
            mean[w][k] = s.mean, deviation[w][k] = s.deviation, out[w][k] = s.out, alone[w][k] = s.alone;
        }
    }
    dive_put(d, GR_SHAPE(SHARES), share, "share");
    dive_put(d, GR_SHAPE(WAYS, SHARES), mean[0], "mean");
    dive_put(d, GR_SHAPE(WAYS, SHARES), deviation[0], "deviation");
    dive_put(d, GR_SHAPE(WAYS, SHARES), out[0], "out");
    dive_put(d, GR_SHAPE(WAYS, SHARES), alone[0], "alone");
}

/* The worked example: sentences of four and three words, from "I" to "powerful", padded to four: 7 words and a row of zeros, 3 features each. */
static void measure_lesson(dive *d, gr_tape *t)
{
    static const gr_real words[LESSON * 3] = { 1, 2, 3, 2, 4, 6, 3, 6, 9, 4, 8, 12, 5, 10, 15, 6, 12, 18, 7, 13, 19, 0, 0, 0 };
    double value[WAYS][LESSON], statistic[2][2];
    gr_tape_reset(t);
    gr_tensor *const x = gr_input(t, words, GR_SHAPE(2, 4, 3));
    for (int w = PLAIN; w <= LAYER; w++) {
        gr_tensor *const mean = gr_zeros(t, GR_SHAPE(3)), *const var = gr_zeros(t, GR_SHAPE(3));
        const gr_ints *const lengths = gr_ints_new(t, (const int[]){ 4, 3 }, GR_SHAPE(2));
        const gr_batch_norm_config o = { .running_mean = mean, .running_var = var, .momentum = 1, .lengths = w == MASKED ? lengths : NULL };
        const gr_tensor *const y = w == LAYER ? gr_layer_norm(t, x, 1, NULL, NULL, 1e-5) : gr_batch_norm(t, x, -1, NULL, NULL, &o);
        if (!y) return;
        for (size_t i = 0; i < LESSON; i++) value[NONE][i] = (double)words[3 * i], value[w][i] = (double)y->data[3 * i];
        const double n = w == PLAIN ? LESSON : LESSON - 1;
        if (w != LAYER) statistic[0][w - PLAIN] = (double)mean->data[0];
        if (w != LAYER) statistic[1][w - PLAIN] = sqrt((double)var->data[0] * (n - 1) / n);
    }
    dive_put(d, GR_SHAPE(WAYS, LESSON), value[0], "lesson");
    dive_put(d, GR_SHAPE(2, 2), statistic[0], "lesson/statistics");
}

/* ==== Training: predict the next letter of a name from the three letters before it ==== */

enum { CONTEXT = 3, EMBEDDING = 12, HIDDEN = 48, BATCH = 64, PADDINGS = 3, LOOKS = 7 };
static const size_t further[PADDINGS] = { 0, 4, KIT_NAMES_EXTRA };

typedef struct {
    dive *d;
    kit_names *names;
    size_t extra;
    int *which;
    double begun, share; /* this training's part of the figure's progress */
} lesson;
typedef struct {
    gr_embedding_module *embedding;
    gr_linear_module *fc[2];
    gr_module *norm[2];
} speller;

static void build(kit_arm *arm)
{
    const lesson *const l = arm->user;
    gr_tape *const t = arm->tape;
    speller *const s = arm->model;
    const size_t letters = l->names->letters;
    s->embedding =
        gr_embedding_new(t, arm->net, "embedding", letters + 1, EMBEDDING, &(gr_embedding_config){ .padded = true, .padding = letters });
    s->norm[0] = gr_norm_new(t, arm->net, "norm1", way_of[arm->kind].norm, CONTEXT * EMBEDDING, NULL);
    s->fc[0] = gr_linear_new(t, arm->net, "fc1", CONTEXT * EMBEDDING, HIDDEN, NULL);
    s->norm[1] = gr_norm_new(t, arm->net, "norm2", way_of[arm->kind].norm, HIDDEN, NULL);
    s->fc[1] = gr_linear_new(t, arm->net, "fc2", HIDDEN, letters, NULL);
    arm->optim = gr_adam_new(t, arm->net, &(gr_adam_config){ .lr = 5e-3 });
}

/* Cross-entropy over the real positions. The target -100 marks padding, which the loss ignores. */
static gr_tensor *loss_of(kit_arm *arm, const void *batch, kit_score *score)
{
    const kit_names *const c = batch;
    gr_tape *const t = arm->tape;
    const speller *const s = arm->model;
    const size_t n = c->B * c->T;
    const gr_ints *const lengths = gr_ints_new(t, c->length, GR_SHAPE(c->B));
    gr_ints *const ids = gr_ints_new(t, NULL, GR_SHAPE(n, CONTEXT));
    for (size_t i = 0; ids && i < n; i++)
        for (size_t k = 0; k < CONTEXT; k++)
            ids->data[i * CONTEXT + k] = c->target[i] < 0 ? (int)c->letters : i % c->T < k ? 0 : c->in[i - k];
    gr_tensor *x = gr_reshape(t, gr_embedding_forward(t, s->embedding, ids), GR_SHAPE(c->B, c->T, CONTEXT * EMBEDDING));
    x = gr_linear_forward(t, s->fc[0], normalize(t, arm->kind, s->norm[0], x, lengths));
    x = gr_linear_forward(t, s->fc[1], gr_relu(t, normalize(t, arm->kind, s->norm[1], x, lengths)));
    gr_tensor *const loss = gr_cross_entropy(t, gr_reshape(t, x, GR_SHAPE(n, c->letters)), gr_ints_new(t, c->target, GR_SHAPE(n)), NULL);
    size_t real = 0;
    for (size_t i = 0; i < n; i++) real += c->target[i] >= 0;
    if (loss) kit_score_sum(score, &(kit_score){ gr_item(loss) * (double)real, 0, real });
    return loss;
}

/* Batches of names in their order, with additional padding. */
static const void *next_names(void *data, bool training, size_t number, size_t *samples)
{
    lesson *const l = data;
    kit_names *const c = l->names;
    const size_t first = training ? number * BATCH : c->train + number * BATCH;
    for (size_t i = 0; i < BATCH; i++) l->which[i] = (int)(training ? (first + i) % c->train : first + i);
    return kit_names_put(c, l->which, *samples = BATCH, l->extra);
}

static bool go_on(kit_arms *a, size_t step, bool evaluated)
{
    const lesson *const l = a->user;
    (void)evaluated;
    return dive_tick(l->d, l->begun + l->share * (double)step / (double)a->steps, "names, %zu more padding", l->extra);
}

/* Add the loss of the trained arms on one batch with more and more padding, divided by the number of seeds, to mean. Batch statistics are used. */
static void measure_looks(lesson *l, kit_arms *a, double *rise, double mean[WAYS][LOOKS], double share[LOOKS])
{
    double loss[WAYS][LOOKS] = { { 0 } };
    for (size_t k = 0; k < LOOKS; k++) {
        size_t samples, real = 0;
        l->extra = k * KIT_NAMES_EXTRA / (LOOKS - 1);
        const kit_names *const c = next_names(l, false, 0, &samples);
        for (size_t i = 0; i < samples; i++) real += (size_t)c->length[i];
        share[k] = 100 * (1 - (double)real / (double)(samples * c->T));
        for (int w = 0; w < WAYS && !gr_failed(l->d->r->tape); w++) {
            kit_score score = { 0 };
            gr_tape *const t = a->arm[w].tape;
            gr_tape_set_recording(t, false), gr_tape_reset(t);
            loss_of(&a->arm[w], c, &score);
            gr_tape_recover(t); /* restores the running statistics */
            gr_tape_set_recording(t, true);
            loss[w][k] = kit_loss(&score), mean[w][k] += loss[w][k] / (double)l->d->seeds;
        }
    }
    *rise = loss[PLAIN][LOOKS - 1] - loss[PLAIN][0];
}

static void measure_training(dive *d)
{
    int which[BATCH];
    kit_names names = kit_names_open(d->r->tape, NULL, BATCH);
    double tested[WAYS][PADDINGS] = { { 0 } }, share[PADDINGS] = { 0 }, look[WAYS][LOOKS] = { { 0 } }, padded[LOOKS] = { 0 };
    double *const rise = dive_blank(d, d->seeds);
    for (size_t k = 0; k < PADDINGS + d->seeds - 1 && !gr_failed(d->r->tape) && !kit_interrupted(); k++) { /* later seeds: p 0 */
        const size_t p = k < PADDINGS ? k : 0, seed = k < PADDINGS ? 0 : k + 1 - PADDINGS;
        speller speller_of[WAYS];
        lesson l = { d, &names, further[p], which, 0.3 + 0.7 * (double)p / PADDINGS, 0.7 / PADDINGS };
        kit_arms a = { .title = "padding", .build = build, .loss = loss_of, .user = &l, .watch = go_on, .clip = 1 };
        a.source = (kit_source){ names.train / BATCH, dive_pick(d, 1, 4, 12), next_names, &l, "names" };
        a.steps = a.every = dive_pick(d, 3, 120, 1500), a.seed = dive_seed(d, seed);
        for (int w = 0; w < WAYS; w++) kit_arms_add(&a, way_of[w].name, w), a.arm[w].model = &speller_of[w];
        if (kit_arms_run(d->r, &a)) {
            size_t real = 0, all = 0, n;
            for (size_t b = 0; b < 20; b++, all += n * names.T)
                for (size_t i = (next_names(&l, true, b, &n), n); i-- > 0;) real += (size_t)names.length[i];
            share[p] = 100 * (1 - (double)real / (double)all);
            for (int w = 0; w < WAYS && !seed; w++) tested[w][p] = a.arm[w].diverged ? (double)NAN : kit_loss(&a.arm[w].tested);
            if (p == 0) measure_looks(&l, &a, &rise[seed], look, padded);
        }
        kit_arms_free(&a);
    }
    kit_names_free(&names);
    dive_put(d, GR_SHAPE(PADDINGS), share, "train/share"), dive_put(d, GR_SHAPE(WAYS, PADDINGS), tested[0], "train");
    dive_put(d, GR_SHAPE(LOOKS), padded, "look/share"), dive_put(d, GR_SHAPE(WAYS, LOOKS), look[0], "look");
    dive_put(d, GR_SHAPE(d->seeds), rise, "look/rise");
}

void dive_padding_measure(dive *d)
{
    gr_tape *const t = dive_tape(d, dive_seed(d, 0));
    measure_statistics(d, t), measure_lesson(d, t);
    dive_tape_free(d, t);
    if (!gr_failed(d->r->tape)) measure_training(d);
}

/* ==== The figure ==== */

/* Add a line for each way: the rows of record [WAYS, n] against x [n]. */
static void lines(const dive *d, plot_panel *p, const char *x, const char *record)
{
    const plot_record *const at = plot_runs_get(&d->runs, "padding", "%s", x), *const r = plot_runs_get(&d->runs, "padding", "%s", record);
    for (size_t w = 0; at && r && r->n == WAYS * at->n && w < WAYS; w++)
        plot_series_add(p, &(plot_series){ way_of[w].name, way_of[w].ink, PLOT_LINE_DOTS, at->n, at->values, r->values + w * at->n });
}

static void draw_lesson(const dive *d, plot_figure *f)
{
    enum { COLUMNS = 5 };
    static const char *const head[COLUMNS] = { "word", "feature one", "BN", "BN with lengths", "LN" };
    static const char *const word[LESSON] = { "1, \"I\"", "2", "3", "4", "5", "6", "7, \"powerful\"", "padding" };
    const char *text[LESSON][COLUMNS];
    const plot_record *const r = plot_runs_get(&d->runs, "padding", "lesson"), *const s =
                                                                                   plot_runs_get(&d->runs, "padding", "lesson/statistics");
    if (!r || !s || r->n < (size_t)WAYS * LESSON || s->n < 4) return;
    for (size_t i = 0; i < LESSON; i++) {
        text[i][0] = word[i], text[i][1] = plot_figure_text(f, "%g", r->values[i]);
        for (size_t w = PLAIN; w < WAYS; w++) text[i][1 + w] = plot_figure_text(f, "%.2f", r->values[w * LESSON + i]);
    }
    const char *const note = plot_figure_text(f, "of four and three words: BN has mean %.2f and deviation %.2f; with lengths %.2f and %.2f",
                                              s->values[0], s->values[2], s->values[1], s->values[3]);
    plot_panel *const p = plot_panel_new(f, &(plot_panel){ .title = "Two sentences, worked example", .note = note });
    plot_table_set(p, &(plot_table){ .rows = LESSON, .columns = COLUMNS, .head = head, .text = text[0], .verdict = -1 });
}

static double value(const dive *d, const char *record, size_t i)
{
    const plot_record *const r = plot_runs_get(&d->runs, "padding", "%s", record);
    return r && i < r->n ? r->values[i] : (double)NAN;
}
static double at_share(const dive *d, const char *record, size_t way, size_t k) { return value(d, record, way * SHARES + k); }

/* The largest distance of a record's line from its first value. */
static double moves(const dive *d, const char *record, size_t way, size_t n)
{
    double most = 0;
    for (size_t k = 0; k < n; k++) most = fmax(most, fabs(value(d, record, way * n + k) - value(d, record, way * n)));
    return most;
}

void dive_padding_draw(const dive *d, plot_figure *f)
{
    static const struct {
        const char *title, *note, *x, *y, *share, *record;
    } panel[] = {
        { "Mean that is subtracted", "from feature one of a word", "padding, %", "mean", "share", "mean" },
        { "Deviation that is divided by", NULL, "padding, %", "deviation", "share", "deviation" },
        { "One real word after the norm", "in training", "padding, %", "feature one, after the norm", "share", "out" },
        { "The same word without padding", "in evaluation", "padding in training, %", "feature one, after the norm", "share", "alone" },
        { "A trained network, the same names", "with batch statistics", "padding, %", "mean loss, nats per letter", "look/share", "look" },
        { "Trained on padded names", "in evaluation", "padding in training, %", "test loss, nats per letter", "train/share", "train" },
    };
    f->title = "Padding changes BatchNorm", f->columns = 3;
    plot_figure_says(f, PLOT_SAY_QUESTION,
                     "Sentences have different lengths, and a batch is padded with zeros: which norms include the zeros in their statistics?");
    for (size_t k = 0; k < sizeof panel / sizeof *panel; k++) {
        plot_panel *const p =
            plot_panel_new(f, &(plot_panel){ .title = panel[k].title, .note = panel[k].note, .x = { panel[k].x }, .y = { panel[k].y } });
        lines(d, p, panel[k].share, panel[k].record);
    }
    draw_lesson(d, f);

    const size_t last = SHARES - 1, far = LOOKS - 1;
    plot_figure_says(f, PLOT_SAY_NUMBER,
                     "With BatchNorm, feature one of the same word goes from %.2f without padding to %.2f with %.0f %%; with lengths it "
                     "changes by %g, with LayerNorm by %g",
                     at_share(d, "out", PLAIN, 0), at_share(d, "out", PLAIN, last), value(d, "share", last),
                     moves(d, "out", MASKED, SHARES), moves(d, "out", LAYER, SHARES));
    plot_figure_says(
        f, PLOT_SAY_CAPTION,
        "A batch has %d sentences of %d words and %d features; feature one comes from N(2, 1), the others from N(0, 1). Then more and "
        "more zeros are added, and the words keep their bits. BatchNorm includes the zeros: it subtracts %.2f with %.0f %% of padding and "
        "%.2f without. In evaluation, with running statistics of %d such batches, its output depends on padding that is no longer there. "
        "With lengths it uses the words only; LayerNorm normalizes each word alone. The last two panels show a network that predicts the "
        "next letter of a made-up name from three letters (Adam, learning rate 0.005, batch %d, PyTorch's initial values). With batch "
        "statistics, as in training, BatchNorm's mean loss of the same names goes from %.3f to %.3f when padding is added. With padding in "
        "training its test loss, in the first seed, differs by at most %.3f. In the worked example a word is (v, 2v, 3v), the last (7, 13, "
        "19). Its three values have equal distances, so LayerNorm gives every word the same output.",
        SENTENCES, WORDS, FEATURES, at_share(d, "mean", PLAIN, last), value(d, "share", last), at_share(d, "mean", PLAIN, 0), BATCHES,
        BATCH, value(d, "look", PLAIN * LOOKS), value(d, "look", PLAIN * LOOKS + far), moves(d, "train", PLAIN, PADDINGS));
}

static const char *const taught = "worked example of padded sentences";

static void claim_lesson(const dive *d, dive_claims *c)
{
    const double mean[2] = { value(d, "lesson/statistics", 0), value(d, "lesson/statistics", 1) };
    const double deviation[2] = { value(d, "lesson/statistics", 2), value(d, "lesson/statistics", 3) };
    const double word = value(d, "lesson", PLAIN * LESSON);
    const bool holds = fabs(mean[0] - 3.5) < 0.005 && fabs(deviation[0] - 2.29) < 0.005 && fabs(word + 1.09) < 0.005 &&
                       fabs(mean[1] - 4) < 0.005 && fabs(deviation[1] - 2) < 0.005;
    dive_claim_exact(c, holds, "Two padded sentences: mean 3.5, deviation 2.29, \"I\" -1.09; with lengths 4 and 2", taught,
                     plot_figure_text(c->f, "mean %.2f, deviation %.2f, \"I\" %.2f; with lengths %.2f and %.2f", mean[0], deviation[0],
                                      word, mean[1], deviation[1]),
                     "the numbers of the worked example", "the numbers differ");
}

static void claim_trained(const dive *d, dive_claims *c)
{
    plot_figure *const f = c->f;
    const dive_pair rise =
        dive_compare(dive_constant(f->t, d->seeds, 0), plot_runs_get(&d->runs, "padding", "look/rise"), (dive_scale){ .grid = 1e-3 });
    dive_claim claim = { .statement = "More padding raises the loss of a trained network with BatchNorm in training mode",
                         .source = taught };
    claim.measured =
        plot_figure_text(f, "mean loss of the same names: %.3f with %.0f %% padding, %.3f with %.0f %%; LN %.3f and %.3f",
                         value(d, "look", PLAIN * LOOKS), value(d, "look/share", 0), value(d, "look", PLAIN * LOOKS + LOOKS - 1),
                         value(d, "look/share", LOOKS - 1), value(d, "look", LAYER * LOOKS), value(d, "look", LAYER * LOOKS + LOOKS - 1));
    claim.control = "the same names with lengths, with LayerNorm and without a norm", claim.why = dive_why(f, &rise, "higher", "lower");
    claim.interval = plot_figure_text(f, "minus the rise %s", dive_interval(f, &rise, 3)), claim.seeds = rise.seeds;
    claim.too_short = dive_too_short(f, (dive_budget){ .seeds = rise.seeds }), claim.verdict = dive_is_below(&rise);
    dive_claim_add(c, &claim);
}

void dive_padding_claims(const dive *d, dive_claims *c)
{
    static const char *const same = "the same words, up to 90 % of padding", *const moved = "it changed";
    plot_figure *const f = c->f;
    const size_t last = SHARES - 1;
    double off = 0;
    for (size_t k = 0; k < SHARES; k++)
        off = fmax(off, fabs(at_share(d, "mean", PLAIN, k) - (1 - value(d, "share", k) / 100) * at_share(d, "mean", MASKED, k)));
    dive_claim_exact(c, off < 1e-5 && moves(d, "out", PLAIN, SHARES) > 0.5, "Padding changes BatchNorm's statistics", taught,
                     plot_figure_text(f, "mean of feature one %.3f to %.3f, one word %.2f to %.2f, from 0 to %.0f %% of padding",
                                      at_share(d, "mean", PLAIN, 0), at_share(d, "mean", PLAIN, last), at_share(d, "out", PLAIN, 0),
                                      at_share(d, "out", PLAIN, last), value(d, "share", last)),
                     "the mean is that of the words, times their share", "the mean is not that of the words, times their share");
    const double out = moves(d, "out", MASKED, SHARES), alone = moves(d, "alone", MASKED, SHARES), layer = moves(d, "out", LAYER, SHARES);
    dive_claim_exact(c, out == 0 && alone == 0, "With lengths, padding does not change BatchNorm", taught,
                     plot_figure_text(f, "with lengths one word changes by %g, with running statistics by %g", out, alone), same, moved);
    dive_claim_exact(c, layer == 0, "Padding does not change LayerNorm", taught, plot_figure_text(f, "one word changes by %g", layer), same,
                     moved);
    claim_lesson(d, c), claim_trained(d, c);
}
