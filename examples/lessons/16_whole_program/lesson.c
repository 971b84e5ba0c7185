/* lesson.c - a whole program: digits, a network that reads their rows, validation, a checkpoint.
 *
 * Shows: three steps by hand that are interrupted; a run with its validation; what each part of the state is worth when a run is interrupted;
 *        validation in training mode; the best of 200 networks that learned nothing.
 * Run:   make lesson N=16        expected.txt is its output; make quiz N=16 prints the answers to the quiz                                */
#include "gradus.h"
#include <math.h>
#include <string.h>

enum { SIDE = 8, CLASSES = 10, TRAIN = 150, VALID = 100, TEST = 1000, ALL = TRAIN + VALID + TEST, UNITS = 16 };
static void row(const char *label, const double *v, size_t n)
{
    printf("  %-34s", label);
    for (size_t i = 0; i < n; i++) printf("%11.5f", fabs(v[i]) < 5e-6 ? 0 : v[i]);
    printf("\n");
}
/* Three steps by hand. The program ends before step `stop`, counted from 0, and keeps w alone. */
static double w[4], g[3], b[3];
static void by_hand(double mu, int stop, bool cleared)
{
    for (int k = 0; k < 3; k++) {
        g[k] = 2 * (w[k] - 2) + (k && !cleared ? g[k - 1] : 0);
        b[k] = g[k] + (k && k != stop ? mu * b[k - 1] : 0), w[k + 1] = w[k] - 0.1 * b[k];
    }
}
static void card(void)
{
    by_hand(0.9, 3, true);
    printf("1. By hand: three steps for the loss (w - 2)^2 from w = 0, with momentum 0.9 and lr = 0.1\n\n");
    row("w before the step", w, 3), row("g = 2 (w - 2)", g, 3), row("b = 0.9 b + g", b, 3);
    row("w - 0.1 b", w + 1, 3), by_hand(0.9, 2, true);
    printf("\n   interrupted after two steps; the file holds w alone, so b begins at 0 again\n\n");
    row("b", b, 3), row("w - 0.1 b", w + 1, 3), by_hand(0.9, 3, false);
    printf("\n   the gradient is never cleared\n\n");
    row("g = old g + 2 (w - 2)", g, 3), row("w - 0.1 b", w + 1, 3);
}

/* Digits at random places, with a twentieth of the ink missing and noise on the paper: first those for training, then validation
 * (sorted by class, as many files are), then test. */
static gr_real image[ALL][SIDE][SIDE];
static int label[ALL], number[ALL];
static void draw(void)
{
    static const char *const shape =
        "\16\21\23\25\31\21\16\4\14\4\4\4\4\16\16\21\1\2\4\10\37\37\2\4\2\1\21\16\2\6\12\22\37\2\2" /* five bits a row */
        "\37\20\36\1\1\21\16\6\10\20\36\21\21\16\37\1\2\4\10\10\10\16\21\21\16\21\21\16\16\21\21\17\1\2\14";
    gr_stream s = gr_stream_new(1, "digits");
    for (int i = 0; i < ALL; i++) {
        number[i] = i, label[i] = i >= TRAIN && i < TRAIN + VALID ? (i - TRAIN) / 10 : (int)gr_stream_below(&s, CLASSES);
        const int right = (int)gr_stream_below(&s, 4), down = (int)gr_stream_below(&s, 2);
        for (int k = 0; k < SIDE * SIDE; k++) {
            const int y = k / SIDE - down, bit = 4 - k % SIDE + right;
            const bool ink = y >= 0 && y < 7 && bit >= 0 && bit < 5 && shape[7 * label[i] + y] >> bit & 1;
            image[i][k / SIDE][k % SIDE] = (ink && gr_stream_below(&s, 20)) + gr_stream_normal(&s, 0, 0.2);
        }
    }
    printf("\n2. The first five digits: %d %d %d %d %d\n\n", label[0], label[1], label[2], label[3], label[4]);
    for (int k = 0; k < 5 * SIDE * SIDE; k++) {
        const double ink = image[k / SIDE % 5][k / SIDE / 5][k % SIDE];
        printf("%s%c%s", k % SIDE ? "" : "   ", " .+#"[(int)fmin(3, fmax(0, 3.5 * ink))], (k + 1) % (5 * SIDE) ? "" : "  |\n");
    }
}

/* A run: an LSTM reads the eight rows of a digit from top to bottom; BatchNorm, dropout and a linear layer make ten logits of its last state. */
typedef struct {
    gr_tape *t;
    gr_module *net;
    gr_lstm *lstm;
    gr_norm *norm;
    gr_linear_module *out;
    gr_optim *adam;
    gr_batches *order;
} run;
static run start(uint64_t seed)
{
    run r = { .t = gr_tape_new(seed, NULL) };
    r.net = gr_module_new(r.t);
    r.lstm = gr_lstm_new(r.t, r.net, "lstm", SIDE, UNITS, NULL), r.norm = gr_batch_norm_new(r.t, r.net, "norm", UNITS, NULL);
    r.out = gr_linear_new(r.t, r.net, "out", UNITS, CLASSES, NULL), r.adam = gr_adam_new(r.t, r.net, &(gr_adam_config){ .lr = 0.01 });
    r.order = gr_batches_new(r.t, TRAIN, 20, &(gr_batches_config){ .shuffle = "order" });
    return r;
}
static void end(run *r) { gr_batches_free(r->order), gr_optim_free(r->adam), gr_module_free(r->net), gr_tape_free(r->t); }
/* The mean loss of n digits. Adds the number of those that are wrong to *wrong. */
static gr_tensor *look(run *r, const int *ids, size_t n, size_t *wrong)
{
    gr_tape *t = r->t;
    gr_tensor *x = gr_empty(t, GR_SHAPE(SIDE, n, SIDE));
    gr_ints *right = gr_ints_new(t, NULL, GR_SHAPE(n));
    for (size_t k = 0; k < n; k++) {
        for (size_t y = 0; y < SIDE; y++) memcpy(x->data + (y * n + k) * SIDE, image[ids[k]][y], sizeof image[0][0]);
        right->data[k] = label[ids[k]];
    }
    gr_tensor *h = gr_norm_forward(t, r->norm, gr_select(t, gr_lstm_forward(t, r->lstm, x, NULL).h, 0, -1), NULL);
    gr_tensor *logits = gr_linear_forward(t, r->out, gr_dropout(t, h, 0.2, "dropout"));
    const gr_ints *said = gr_argmax(t, logits, -1, false);
    for (size_t k = 0; k < n; k++) *wrong += said->data[k] != right->data[k];
    return gr_cross_entropy(t, logits, right, NULL);
}
static double step(run *r)
{
    const gr_ints *ids = gr_batches_next(r->order);
    gr_tape_reset(r->t);
    gr_tensor *loss = look(r, ids->data, ids->len, &(size_t){ 0 });
    gr_optim_zero_grad(r->adam), gr_backward(r->t, loss), gr_optim_step(r->t, r->adam);
    return gr_item(loss);
}
/* result[0] is the loss of n digits in one batch, result[1] how many of them are wrong, in percent. */
static void evaluate(run *r, int first, size_t n, double *result)
{
    size_t wrong = 0;
    gr_tape_set_training(r->t, false), gr_tape_set_recording(r->t, false), gr_tape_reset(r->t);
    result[0] = gr_item(look(r, number + first, n, &wrong)), result[1] = 100.0 * (double)wrong / (double)n;
    gr_tape_set_training(r->t, true), gr_tape_set_recording(r->t, true);
}
static void curve(void)
{
    printf("\n3. A run: for training, validation and test, the loss and how many digits are wrong, in percent\n\n");
    run r = start(1);
    for (int s = 0; s <= 640; s++) {
        double v[6];
        if (s) step(&r);
        if (s % 40 || (s && 640 % s)) continue;
        evaluate(&r, 0, TRAIN, v), evaluate(&r, TRAIN, VALID, v + 2), evaluate(&r, TRAIN + VALID, TEST, v + 4);
        printf("  step %-12d%10.3f%8.1f%14.3f%8.1f%14.3f%8.1f\n", s, v[0], v[1], v[2], v[3], v[4], v[5]);
    }
    printf("\n4. Then, ten validation digits in a batch, all ten of one class: how many are wrong, in percent\n\n");
    for (int training = 0; training < 2; training++) {
        size_t wrong = 0;
        gr_tape_set_training(r.t, training);
        for (int i = 0; i < VALID; i += 10) gr_tape_reset(r.t), look(&r, number + TRAIN + i, 10, &wrong);
        row(training ? "training mode" : "evaluation mode", (double[]){ 100.0 * (double)wrong / VALID }, 1);
    }
    end(&r);
}
enum { OPTIMIZER = 1, PLACE = 2, STREAMS = 4, STATISTICS = 8, ALL_BUT_WEIGHTS = 15, NOTHING = 16 }; /* what gets lost */
static void interrupt(run *r, int what)
{
    if (what == NOTHING) { /* a new run reads everything from a file */
        const int64_t taken = r->order->taken;
        gr_checkpoint_save(r->t, r->net, r->adam, "lesson16.tmp", NULL, 0), end(r);
        *r = start(1), gr_checkpoint_load(r->t, r->net, r->adam, "lesson16.tmp", NULL, 0), r->order->taken = taken, remove("lesson16.tmp");
    }
    if (what & OPTIMIZER) gr_optim_free(r->adam), r->adam = gr_adam_new(r->t, r->net, &(gr_adam_config){ .lr = 0.01 });
    if (what & PLACE) r->order->taken = 0;
    if (what & STREAMS) gr_tape_seek_streams(r->t, 0);
    for (size_t i = 0; what & STATISTICS && i < UNITS; i++) r->norm->running_mean->data[i] = 0, r->norm->running_var->data[i] = 1;
}
static void interrupted(void)
{
    static const char *const name[] = { "not interrupted",    "nothing is lost",        "the optimizer is lost", "the place in the epoch",
                                        "the random streams", "the running statistics", "all but the weights" };
    static const int lost[] = { 0, NOTHING, OPTIMIZER, PLACE, STREAMS, STATISTICS, ALL_BUT_WEIGHTS };
    gr_real weights[CLASSES * UNITS];
    printf("\n5. Interrupted after 100 steps: losses, validation loss after step 110, and how many of 160 weights differ at the end\n\n");
    printf("  %-24s%11d%11d%11d%12s%10s\n\n", "step", 101, 110, 200, "validation", "weights");
    for (int k = 0; k < 7; k++) {
        run r = start(1);
        double loss[201], v[2], differ = 0;
        for (int s = 1; s <= 200; s++) {
            loss[s] = step(&r);
            if (s == 100) interrupt(&r, lost[k]);
            if (s == 110) evaluate(&r, TRAIN, VALID, v);
        }
        if (k == 0) memcpy(weights, r.out->weight->data, sizeof weights);
        for (int i = 0; i < CLASSES * UNITS; i++) differ += weights[i] != r.out->weight->data[i];
        printf("  %-24s%11.5f%11.5f%11.5f%12.5f%10g\n", name[k], loss[101], loss[110], loss[200], v[0], differ), end(&r);
    }
}
static void luck(void)
{
    double mean = 0, best = 100, of_best[2] = { 0 }, v[2];
    for (uint64_t seed = 1; seed <= 200; seed++) {
        run r = start(seed);
        evaluate(&r, TRAIN, VALID, v), mean += v[1] / 200;
        if (v[1] < best) best = v[1], evaluate(&r, TRAIN + VALID, TEST, of_best);
        end(&r);
    }
    printf("\n6. 200 networks that have learned nothing: digits that are wrong, in percent\n\n");
    row("mean of all, validation", &mean, 1), row("the best one, validation", &best, 1), row("the same one, test", of_best + 1, 1);
}
static void quiz(void) /* the answers to the quiz and to Try: do both first */
{
    printf("1. b begins at 0 again in step 2, so w moves by 0.1 g alone.\n");
    by_hand(0.9, 1, true), row("w after steps 1, 2, 3", w + 1, 3);
    printf("2. Nothing else: plain descent keeps nothing from step to step, and here is no random number.\n");
    by_hand(0, 3, true), row("not interrupted", w + 1, 3), by_hand(0, 2, true), row("interrupted after step 2", w + 1, 3);
    printf("3. (20 * 1 + 20 * 1 + 10 * 4) / 50 = %.1f. The mean of the three batches would be 2.\n", (20 * 1.0 + 20 * 1.0 + 10 * 4.0) / 50);
    printf("4. After %d epochs and %d batches. An epoch has eight batches, and the last one has ten digits.\n", 100 / 8, 100 % 8);
    printf("5. The variance for one digit is 0.1 * 0.9; that of a mean of n is 0.1 * 0.9 / n. In percent, for 100 and 1000:\n");
    row("standard deviation", (double[]){ 100 * sqrt(0.09 / 100), 100 * sqrt(0.09 / 1000) }, 2);
    printf("Try 1. The place in the epoch: step 104 ends an epoch, and without shuffling all epochs are equal.\n");
    printf("Try 2. The optimizer is lost: plain descent keeps nothing from step to step.\n");
    printf("Try 3. All ten are of one class. A network that always says this class has none wrong, and about 90 %% of the test digits.\n");
}
int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "--quiz")) return quiz(), 0;
    card(), draw(), curve(), interrupted(), luck();
}
