/* examples/dive/padding.c - the records of figure "padding" (padding.h). The words keep their bits, and only the padding grows, so padding is the
 * cause of every change. */
#include "core/op.h"
#include "examples/dive/padding.h"
#include "examples/kit/names.h"
#include "gradus.h"
#include <math.h>

const padding_way padding_ways[WAYS] = {
    { "none", GR_NORM_NONE, PLOT_INK_NONE },
    { "BN", GR_NORM_BATCH, PLOT_INK_BN },
    { "BN with lengths", GR_NORM_BATCH, PLOT_INK_GN },
    { "LN", GR_NORM_LAYER, PLOT_INK_LN },
};

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
    gr_module *const root = gr_module_new(t), *const norm = gr_norm_new(t, root, "norm", padding_ways[way].norm, FEATURES, NULL);
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

enum { CONTEXT = 3, EMBEDDING = 12, HIDDEN = 48 };
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
    s->norm[0] = gr_norm_new(t, arm->net, "norm1", padding_ways[arm->kind].norm, CONTEXT * EMBEDDING, NULL);
    s->fc[0] = gr_linear_new(t, arm->net, "fc1", CONTEXT * EMBEDDING, HIDDEN, NULL);
    s->norm[1] = gr_norm_new(t, arm->net, "norm2", padding_ways[arm->kind].norm, HIDDEN, NULL);
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
        for (int w = 0; w < WAYS; w++) kit_arms_add(&a, padding_ways[w].name, w), a.arm[w].model = &speller_of[w];
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
