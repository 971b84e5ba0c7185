/* examples/tagger.c - a tagger reads sequences of many lengths in both directions: which characters stand inside a pair of brackets?
 *
 *     a(bc)d(e   gets the tags   .####...    because the last bracket is never closed: an answer needs what comes before and after
 *
 * Shows: batches padded to their longest sequence, lengths in the LSTM, targets of -100 that the loss ignores, a bidirectional LSTM.
 * Run:   examples/tagger              (two seconds)
 *        examples/tagger --one-way    (it cannot know whether a bracket will be closed)
 * See:   the test accuracy for each character, and that padding changes no bit of an answer.
 * Exit:  0, or 1 --check missed its target; 2 wrong flag or path; 3 out of memory or disk full; 130 interrupted. */
#include "examples/kit/kit.h"
#include "gradus.h"
#include <string.h>

enum { LETTERS = 10, OPEN = 8, CLOSE = 9, PAD = LETTERS, SHORTEST = 4, LONGEST = 24, HIDDEN = 32, BATCH = 64, TESTS = 500 };
static kit_options o = { .steps = 200, .seed = 42 };
static bool one_way;
static const kit_flag flag[] = {
    { "one-way", KIT_SWITCH, &one_way, NULL, "read from left to right only", 0, 0 },
    { "steps", KIT_COUNT, &o.steps, "N", "training steps of 64 sequences", 1, 1e9 },
    KIT_FLAGS_RUN(o, "exit 1 unless 99 % of the characters are right and padding changes no bit"),
};
static const kit_flags flags = { "tagger", "a bidirectional LSTM tags characters in padded batches", flag, sizeof flag / sizeof *flag };

typedef struct { int length, letter[LONGEST], tag[LONGEST]; } sequence;

static sequence draw(gr_stream *s)
{
    sequence q = { .length = SHORTEST + (int)gr_stream_below(s, LONGEST - SHORTEST + 1) };
    for (int i = 0, open = LONGEST; i < q.length; i++) { /* open: where a bracket was opened, or LONGEST */
        q.letter[i] = gr_stream_below(s, 3) ? (int)gr_stream_below(s, OPEN) : OPEN + (int)gr_stream_below(s, 2);
        if (q.letter[i] == OPEN && open > i) open = i;
        for (; q.letter[i] == CLOSE && open < LONGEST; open++) q.tag[open] = open <= i; /* a closed pair; then open is LONGEST */
    }
    return q;
}

/* A batch of n sequences, padded to T: letters [n, T], targets [n T] with -100 at padding, lengths [n]. T 0 means the length of the longest. */
typedef struct { gr_ints *letters, *target, *lengths; } batch;

static batch batch_of(gr_tape *t, const sequence *q, size_t n, size_t T)
{
    for (size_t i = 0; i < n && T < LONGEST; i++) T = (size_t)q[i].length > T ? (size_t)q[i].length : T;
    batch b = { gr_ints_new(t, NULL, GR_SHAPE(n, T)), gr_ints_new(t, NULL, GR_SHAPE(n * T)), gr_ints_new(t, NULL, GR_SHAPE(n)) };
    for (size_t i = 0; !gr_failed(t) && i < n * T; i++) {
        const sequence *const row = &q[i / T];
        const bool real = i % T < (size_t)row->length;
        b.letters->data[i] = real ? row->letter[i % T] : PAD, b.target->data[i] = real ? row->tag[i % T] : -100;
        b.lengths->data[i / T] = row->length;
    }
    return b;
}

typedef struct { gr_module *net; gr_embedding_module *letter; gr_lstm *lstm; gr_linear_module *head; gr_optim *adam; } tagger;

static tagger tagger_new(gr_tape *t)
{
    tagger m = { .net = gr_module_new(t) };
    const gr_lstm_config config = { .norm = GR_LSTM_LN_BA2016, .batch_first = true, .bidirectional = !one_way, .forget_bias = 1 };
    m.letter = gr_embedding_new(t, m.net, "letter", LETTERS + 1, HIDDEN, &(gr_embedding_config){ .padded = true, .padding = PAD });
    m.lstm = gr_lstm_new(t, m.net, "lstm", HIDDEN, HIDDEN, &config);
    m.head = gr_linear_new(t, m.net, "head", one_way ? HIDDEN : 2 * HIDDEN, 2, NULL);
    m.adam = gr_adam_new(t, m.net, &(gr_adam_config){ .lr = 5e-3 });
    return m;
}

/* Logits [n T, 2]. */
static gr_tensor *forward(gr_tape *t, const tagger *m, const batch *b)
{
    gr_tensor *y = gr_lstm_forward(t, m->lstm, gr_embedding_forward(t, m->letter, b->letters), &(gr_lstm_input){ .lengths = b->lengths }).y;
    return gr_reshape(t, gr_linear_forward(t, m->head, y), GR_SHAPE(GR_INFER, 2));
}

static sequence q[TESTS]; /* the batch, then the test set */

static void train(kit_run *r, const tagger *m)
{
    gr_tape *const t = r->tape;
    for (size_t step = 1; step <= o.steps && !kit_interrupted() && !gr_failed(t); step++) {
        gr_tape_reset(t);
        for (size_t i = 0; i < BATCH; i++) q[i] = draw(gr_tape_stream(t, "train"));
        const batch b = batch_of(t, q, BATCH, 0);
        gr_tensor *loss = gr_cross_entropy(t, forward(t, m, &b), b.target, NULL);
        gr_optim_zero_grad(m->adam), gr_backward(t, loss), gr_optim_step(t, m->adam);
        kit_log_write(t, &r->log, "step", { "step", (double)step }, { "loss", gr_item(loss) });
    }
}

/* Tag new sequences, in one padded batch and each alone, and compare. */
static void test(kit_run *r, const tagger *m)
{
    gr_tape *const t = r->tape;
    size_t letters = 0, right = 0, differ = 0;
    gr_tape_reset(t), gr_tape_set_recording(t, false), gr_tape_set_training(t, false);
    for (size_t i = 0; i < TESTS; i++) q[i] = draw(gr_tape_stream(t, "test"));
    const batch all = batch_of(t, q, TESTS, LONGEST);
    const gr_tensor *const z = forward(t, m, &all);
    for (size_t i = 0; i < TESTS && !gr_failed(t); i++) {
        const size_t n = (size_t)q[i].length;
        const gr_real *const row = z->data + i * LONGEST * 2;
        for (size_t k = 0; k < n; k++) letters++, right += (row[2 * k + 1] > row[2 * k]) == q[i].tag[k];
        const batch one = batch_of(t, &q[i], 1, 0);
        const gr_tensor *const alone = forward(t, m, &one);
        differ += alone && memcmp(alone->data, row, n * 2 * sizeof *row) != 0;
    }
    if (gr_failed(t)) return;
    const double percent = 100 * (double)right / (double)letters;
    printf("%.2f %% of %zu characters are right; padding changed %zu of %d answers\n", percent, letters, differ, TESTS);
    const bool same = !differ || strcmp(KIT_BLAS, "own"); /* a library for BLAS promises no bits */
    kit_run_need(r, percent > 99 && same, "%.2f %% is not more than 99 %%, or padding changed %zu answers", percent, differ);
}

int main(int argc, char **argv)
{
    kit_run r;
    const int code = kit_run_start(&r, &flags, &o, argc, argv);
    if (code != KIT_GO_ON) return code;
    if (kit_run_begin(&r, "letters and brackets, 4 to 24 in a sequence")) {
        const tagger m = tagger_new(r.tape);
        train(&r, &m);
        if (!kit_interrupted()) test(&r, &m);
        gr_optim_free(m.adam), gr_module_free(m.net);
    }
    return kit_run_end(&r);
}
