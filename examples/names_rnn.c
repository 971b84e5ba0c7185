/* examples/names_rnn.c - a recurrent network learns to spell names, and padding changes the statistics of BatchNorm.
 *
 * Names have different lengths, so a batch of names is padded. If BatchNorm includes the padding in its statistics (the arm "BN poisoned"),
 * its output for a name depends on how much padding the batch has. If it takes the sequence lengths, it uses the real characters only ("BN
 * masked"). LayerNorm normalizes each character alone, so padding cannot affect it.
 *
 * Shows: sequence lengths, gr_norm_forward with lengths, running statistics, a loss over real positions, sampling.
 * Run:   examples/names_rnn                               names of four invented languages
 *        examples/names_rnn --data names.txt --cell gru   one name per line, any bytes
 * See:   the table at the end: the log-probability of one name in the same batch with more and more padding. In training it changes with
 *        the poisoned BatchNorm. All arms still learn about equally well: the poisoned predictions depend on the padding, but this noise can
 *        even help training. In evaluation BatchNorm uses running statistics, and nothing changes; but the poisoned running variance is too
 *        small, because the padding is counted in it.
 * Exit:  0, or 1 --check missed its target; 2 wrong flag, path or file; 3 out of memory or disk full; 130 interrupted.
 */
#include "examples/kit/kit.h"
#include "gradus.h"
#include <math.h>
#include <string.h>

static kit_options o = { .batch = 64, .epochs = 2, .lr = 5e-3, .seed = 42 };
static struct {
    uint64_t hidden, embedding, samples;
    int cell;
} own = { .hidden = 64, .embedding = 24, .samples = 8 };

static const kit_flag flag[] = {
    { "data", KIT_TEXT, &o.data, "FILE|none", "names, one per line; default none: 8,000 names of four invented languages", 0, 0 },
    { "cell", KIT_CHOICE, &own.cell, "lstm|gru|rnn", "type of the recurrent layer", 0, 0 },
    { "hidden", KIT_COUNT, &own.hidden, "N", "size of the hidden state", 1, 1 << 14 },
    { "embedding", KIT_COUNT, &own.embedding, "N", "size of a character's embedding", 1, 1 << 14 },
    { "samples", KIT_COUNT, &own.samples, "N", "names to sample at the end", 0, 1000 },
    KIT_FLAGS_TRAINING(o),
    KIT_FLAGS_RUN(o, "exit 1 unless padding changes only the poisoned BatchNorm, and all arms learn"),
};
static const kit_flags flags = { "names_rnn", "a recurrent network spells names: masked BatchNorm, poisoned BatchNorm, LayerNorm", flag,
                                 sizeof flag / sizeof *flag };

static const char *const cell_name[] = { [GR_LSTM] = "lstm", [GR_GRU] = "gru", [GR_RNN] = "rnn" }; /* in the order of --cell */

enum { NONE, POISONED, MASKED, LAYER, ARMS };
static const struct {
    const char *name;
    gr_norm_kind norm;
} arm_of[ARMS] = {
    { "none", GR_NORM_NONE },
    { "BN poisoned", GR_NORM_BATCH },
    { "BN masked", GR_NORM_BATCH },
    { "LN", GR_NORM_LAYER },
};

typedef struct {
    gr_embedding_module *embedding;
    gr_module *norm_in, *norm_out;
    gr_recurrent *rnn;
    gr_linear_module *fc;
} speller;

static void build(kit_arm *arm)
{
    const kit_names *const c = arm->user;
    gr_tape *const t = arm->tape;
    speller *const s = arm->model;
    const gr_recurrent_config config = { .batch_first = true, .forget_bias = own.cell == 0 };
    s->embedding = gr_embedding_new(t, arm->net, "embedding", c->letters + 1, own.embedding,
                                    &(gr_embedding_config){ .padded = true, .padding = c->letters });
    s->norm_in = gr_norm_new(t, arm->net, "norm_in", arm_of[arm->kind].norm, own.embedding, NULL);
    s->rnn = gr_recurrent_new(t, arm->net, cell_name[own.cell], (gr_recurrent_kind)own.cell, own.embedding, own.hidden, &config);
    s->norm_out = gr_norm_new(t, arm->net, "norm_out", arm_of[arm->kind].norm, own.hidden, NULL);
    s->fc = gr_linear_new(t, arm->net, "fc", own.hidden, c->letters, NULL);
    arm->optim = gr_adam_new(t, arm->net, &(gr_adam_config){ .lr = o.lr });
}

static gr_tensor *normalize(const kit_arm *arm, gr_module *norm, gr_tensor *x, const gr_ints *lengths)
{
    if (arm->kind != MASKED) return gr_forward(arm->tape, norm, x);
    return gr_norm_forward(arm->tape, gr_norm_of(norm), x, &(gr_norm_input){ .lengths = lengths });
}

/* Logits [B, T, letters] of the next character. */
static gr_tensor *forward(const kit_arm *arm, const kit_names *c)
{
    gr_tape *const t = arm->tape;
    const speller *const s = arm->model;
    const gr_ints *const lengths = gr_ints_new(t, c->length, GR_SHAPE(c->B));
    gr_tensor *x = gr_embedding_forward(t, s->embedding, gr_ints_new(t, c->in, GR_SHAPE(c->B, c->T)));
    x = normalize(arm, s->norm_in, x, lengths);
    x = gr_recurrent_forward(t, s->rnn, x, &(gr_recurrent_input){ .lengths = lengths }).y;
    return gr_linear_forward(t, s->fc, normalize(arm, s->norm_out, x, lengths));
}

/* Cross-entropy over the real positions. The target -100 marks padding, which the loss ignores. */
static gr_tensor *loss_of(kit_arm *arm, const void *batch, kit_score *score)
{
    const kit_names *const c = batch;
    gr_tape *const t = arm->tape;
    gr_tensor *z = gr_reshape(t, forward(arm, c), GR_SHAPE(c->B * c->T, c->letters));
    gr_tensor *loss = gr_cross_entropy(t, z, gr_ints_new(t, c->target, GR_SHAPE(c->B * c->T)), NULL);
    if (!loss) return NULL;
    kit_score real = { .images = 0 };
    for (size_t i = 0; i < c->B * c->T; i++) {
        const gr_real *const row = z->data + i * c->letters;
        size_t best = 0;
        for (size_t k = 1; k < c->letters; k++)
            if (row[k] > row[best]) best = k;
        real.images += c->target[i] >= 0, real.hits += c->target[i] == (int)best;
    }
    real.loss = gr_item(loss) * (double)real.images;
    kit_score_sum(score, &real);
    return loss;
}

/* ==== What padding does ==== */

enum { MATES = 7, ROWS = 7 };
static const struct {
    const char *what;
    bool training, alone, other;
    size_t extra;
} row_of[ROWS] = {
    { "training, among 7 others", true, false, false, 0 },
    { "          with 3 more padding", true, false, false, 3 },
    { "          with 12 more padding", true, false, false, KIT_NAMES_EXTRA },
    { "          one other name replaced", true, false, true, 0 },
    { "evaluation, alone", false, true, false, 0 },
    { "          among the 7 others", false, false, false, 0 },
    { "          with 12 more padding", false, false, false, KIT_NAMES_EXTRA },
};

/* The log-probability that this arm gives to the first name of the test set. */
static double log_probability(kit_run *r, kit_arm *arm, kit_names *c, size_t row)
{
    gr_tape *const t = arm->tape;
    int which[1 + MATES];
    double sum = 0;
    for (size_t i = 0; i <= MATES; i++) which[i] = (int)(c->train + i);
    if (row_of[row].other) which[MATES] = (int)(c->train + MATES + 1);
    kit_names_put(c, which, row_of[row].alone ? 1 : 1 + MATES, row_of[row].extra);
    gr_tape_set_training(t, row_of[row].training), gr_tape_set_recording(t, false);
    gr_tape_reset(t);
    const gr_tensor *const logp = gr_log_softmax(t, forward(arm, c), -1);
    for (size_t k = 0; logp && k < (size_t)c->length[0]; k++) sum += (double)logp->data[k * c->letters + (size_t)c->target[k]];
    kit_run_fail(r, arm->name, t);
    gr_tape_recover(t); /* restores the running statistics, which the forward in training mode changed */
    gr_tape_set_training(t, true), gr_tape_set_recording(t, true);
    return sum;
}

static void print_name(const kit_names *c, const kit_name *w)
{
    for (size_t k = 0; k < w->length; k++) putchar(c->letter[w->id[k]]);
}

/* The running variance of norm_in, divided by the variance of the real characters' embeddings; the mean over the features. */
static double variance_kept(const kit_arm *arm, const kit_names *c)
{
    const speller *const s = arm->model;
    const gr_norm *const norm = gr_norm_of(s->norm_in);
    size_t count[256] = { 0 }, all = 0;
    double ratio = 0;
    for (size_t i = 0; i < c->train; i++) {
        for (size_t k = 0; k < c->name[i].length; k++) count[c->name[i].id[k]]++;
        count[0]++, all += 1 + (size_t)c->name[i].length;
    }
    for (size_t f = 0; f < own.embedding; f++) {
        double mean = 0, var = 0;
        const gr_real *const e = s->embedding->weight->data + f;
        for (size_t v = 0; v < c->letters; v++) mean += (double)count[v] * (double)e[v * own.embedding] / (double)all;
        for (size_t v = 0; v < c->letters; v++) var += (double)count[v] * pow((double)e[v * own.embedding] - mean, 2) / (double)all;
        ratio += (double)norm->running_var->data[f] / var / (double)own.embedding;
    }
    return ratio;
}

/* Print and log how padding changes a log-probability. Fills p for the conclusion. */
static void show_padding(kit_run *r, kit_arms *a, kit_names *c, double p[ROWS][ARMS])
{
    const uint64_t before = kit_fingerprint(a->arm[POISONED].net);
    size_t real = 0, all = 0;
    for (size_t b = 0; b < 20; b++) {
        size_t n;
        a->source.batch(c, true, b, &n);
        for (size_t i = 0; i < n; i++) real += (size_t)c->length[i];
        all += n * c->T;
    }
    printf("%.0f %% of a training batch is padding. The log-probability that an arm gives to \"", 100 * (1 - (double)real / (double)all));
    print_name(c, &c->name[c->train]);
    printf("\":\n%-38s", "");
    for (size_t i = 0; i < ARMS; i++) printf("%14s", a->arm[i].name);
    for (size_t k = 0; k < ROWS; k++) {
        printf("\n%-38s", row_of[k].what);
        for (size_t i = 0; i < ARMS && !gr_failed(r->tape); i++) printf("%14.6f", p[k][i] = log_probability(r, &a->arm[i], c, k));
        kit_log_write(r->tape, &r->log, "padding", { "row", .text = row_of[k].what }, { "none", p[k][NONE] },
                      { "poisoned", p[k][POISONED] }, { "masked", p[k][MASKED] }, { "layer", p[k][LAYER] });
    }
    const double poisoned = variance_kept(&a->arm[POISONED], c), masked = variance_kept(&a->arm[MASKED], c);
    printf("\n\nThe running variance of the embeddings, divided by the variance of the real characters:\n%s %.2f, %s %.2f\n",
           a->arm[POISONED].name, poisoned, a->arm[MASKED].name, masked);
    kit_run_need(r, poisoned < 0.8 && masked > 0.9 && masked < 1.1,
                 "the running variances are %.2f and %.2f times the real characters' variance", poisoned, masked);
    kit_run_need(r, kit_fingerprint(a->arm[POISONED].net) == before, "the forward in training mode changed the running statistics");
    for (size_t k = 1; k < ROWS; k++) {
        kit_run_need(r, p[k][NONE] == p[0][NONE] && p[k][LAYER] == p[0][LAYER], "\"%s\" changes an arm without batch statistics",
                     row_of[k].what);
        if (k != 3 && k != 4) kit_run_need(r, p[k][MASKED] == p[k - 1][MASKED], "\"%s\" changes BN masked", row_of[k].what);
        if (k > 4) kit_run_need(r, p[k][POISONED] == p[k - 1][POISONED], "\"%s\" changes BN poisoned in evaluation", row_of[k].what);
    }
    const double moved = fabs(p[2][POISONED] - p[0][POISONED]);
    kit_run_need(r, moved > 0.05, "padding changes BN poisoned by only %g", moved);
    kit_run_need(r, p[3][MASKED] != p[0][MASKED], "BN masked does not change when another name in the batch is replaced");
}

/* Sample a name from the arm, one character at a time, and print it. */
static void sample(kit_run *r, kit_arm *arm, kit_names *c, size_t number)
{
    gr_tape *const t = arm->tape;
    gr_stream s = gr_stream_new(o.seed, "samples");
    s.counter = (uint64_t)number << 20;
    gr_tape_set_training(t, false), gr_tape_set_recording(t, false);
    c->B = 1, c->in[0] = 0;
    for (c->T = 1; c->T <= KIT_NAMES_LONGEST; c->T++) {
        c->length[0] = (int)c->T;
        gr_tape_reset(t);
        const gr_tensor *const p = gr_softmax(t, forward(arm, c), -1);
        kit_run_fail(r, arm->name, t);
        if (!p) return;
        const size_t next = kit_draw(&s, p->data + (c->T - 1) * c->letters, c->letters);
        if (next == 0) break;
        putchar(c->letter[next]);
        c->in[c->T] = (int)next;
    }
    putchar(number + 1 == own.samples || number % 3 == 2 ? '\n' : ' '); /* three names, of at most KIT_NAMES_LONGEST characters, in a line */
}

/* The largest change of an arm's log-probability between the rows `from` and `to`, which differ only in padding. */
static double moved_by_padding(double p[ROWS][ARMS], size_t arm, size_t from, size_t to)
{
    double most = 0;
    for (size_t k = from + 1; k <= to; k++) most = kit_larger(most, fabs(p[k][arm] - p[from][arm]));
    return most;
}

static void conclude(const kit_arms *a, double p[ROWS][ARMS], const kit_names *c)
{
    kit_list kept = { 0 };
    kit_conclude();
    if (kit_conclude_arms(a, log((double)c->letters))) kit_conclude_pair(a, POISONED, MASKED), kit_conclude_pair(a, MASKED, LAYER);
    for (size_t i = NONE; i < ARMS; i++) {
        const double training = moved_by_padding(p, i, 0, 2), evaluation = moved_by_padding(p, i, 5, 6);
        if (a->arm[i].diverged) continue;
        if (training > 0 || evaluation > 0)
            kit_conclude_say("%s: more padding changes the log-probability of the name by up to %.2g in training and %.2g in evaluation.",
                             kit_arm_name(&a->arm[i]), training, evaluation);
        else kit_list_add(&kept, "%s", kit_arm_name(&a->arm[i]));
    }
    if (kept.n) kit_conclude_say("Padding changes no bit of the log-probability of the name for %s.", kept.text);
    if (!a->arm[MASKED].diverged && !a->arm[LAYER].diverged)
        kit_conclude_say("In training another name in the batch changes the log-probability by %.2g with BN masked, whose statistics include all names "
                         "of the batch, and by %.2g with LN.",
                         fabs(p[3][MASKED] - p[0][MASKED]), fabs(p[3][LAYER] - p[0][LAYER]));
    kit_conclude_seed(&o);
}

static void run(kit_run *r, kit_names *c)
{
    speller spellers[ARMS];
    double p[ROWS][ARMS] = { { 0 } };
    kit_arms a = {
        .title = "names", .build = build, .loss = loss_of, .user = c, .mark = { 2, 1.5, 1.45 }, .marks_are_losses = true, .clip = 1
    };
    a.source = kit_names_source(c), a.source.scored = "characters";
    for (int i = 0; i < ARMS; i++) kit_arms_add(&a, arm_of[i].name, i), a.arm[i].model = &spellers[i];
    if (!o.quiet) kit_arms_legend(&a);
    if (kit_arms_run(r, &a) && !kit_interrupted()) {
        size_t best = 0;
        putchar('\n'), kit_arms_table(stdout, &a), putchar('\n');
        for (size_t i = 0; i < ARMS; i++) {
            kit_run_need(r, kit_loss(&a.arm[i].tested) < 0.75 * log((double)c->letters), "%s: the test loss is %.4f", a.arm[i].name,
                         kit_loss(&a.arm[i].tested));
            if (kit_loss(&a.arm[i].tested) < kit_loss(&a.arm[best].tested)) best = i;
        }
        show_padding(r, &a, c, p);
        if (own.samples && !gr_failed(r->tape)) printf("\nsampled from %s:\n", a.arm[best].name);
        for (size_t i = 0; i < own.samples && !gr_failed(r->tape); i++) sample(r, &a.arm[best], c, i);
        if (!o.quiet && !gr_failed(r->tape) && !kit_interrupted()) conclude(&a, p, c);
    }
    kit_arms_free(&a);
}

int main(int argc, char **argv)
{
    kit_run r;
    char text[4400];
    const int code = kit_run_start(&r, &flags, &o, argc, argv);
    if (code != KIT_GO_ON) return code;
    const char *const data = o.data && strcmp(o.data, "none") ? o.data : NULL;
    kit_names c = kit_names_open(r.tape, data, o.batch);
    snprintf(
        text, sizeof text,
        "%zu names to train on, %zu to test, %zu characters: %s\nembedding %llu - norm - %s %llu - norm - linear, weights as in PyTorch%s\n"
        "Adam, lr %g constant, clip 1",
        c.train, c.n - c.train, c.letters - 1, data ? data : "four invented languages", (unsigned long long)own.embedding,
        cell_name[own.cell], (unsigned long long)own.hidden, own.cell == 0 ? ", forget bias +1" : "", o.lr);
    if (kit_run_begin(&r, text)) run(&r, &c);
    kit_names_free(&c);
    return kit_run_end(&r);
}
