/* lesson.c - BatchNorm: samples that share a mean and a variance in training, and constants in evaluation.
 *
 * Shows: one column by hand, in training and in evaluation; one sample in several batches; the gradient that reaches the other samples; a batch
 *        of one; padding; a network that is evaluated in four ways.
 * Run:   make lesson N=9         expected.txt is its output; make quiz N=9 prints the answers to the quiz                                 */
#include "gradus.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static void row(const char *label, const double *v, size_t n)
{
    printf("  %-36s", label);
    for (size_t i = 0; i < n; i++) printf("%11.5f", fabs(v[i]) < 5e-6 ? 0 : v[i]);
    printf("\n");
}
static void number(const char *label, double v) { row(label, &v, 1); }
static double sum(const double *v, size_t n) { return n ? v[0] + sum(v + 1, n - 1) : 0; }

enum { N = 3 };
static const double x[N] = { 1, 2, 4 };

static void by_hand(void)
{
    double d[N], square[N], xhat[N], evaluated[N];
    const double mean = sum(x, N) / N;
    for (int r = 0; r < N; r++) d[r] = x[r] - mean, square[r] = d[r] * d[r];
    const double var = sum(square, N) / N, unbiased = sum(square, N) / (N - 1), running_mean = 0.9 * 0 + 0.1 * mean,
                 running_var = 0.9 * 1 + 0.1 * unbiased;
    for (int r = 0; r < N; r++) xhat[r] = d[r] / sqrt(var), evaluated[r] = (x[r] - running_mean) / sqrt(running_var);
    printf("1. By hand: three samples, one feature; gamma = 1, beta = 0, eps = 0\n\n");
    row("x", x, N), number("mean", mean), row("x - mean", d, N), row("(x - mean)^2", square, N), number("var, their mean", var);
    row("xhat = (x - mean) / sqrt(var)", xhat, N);
    printf("\n   the running statistics start at 0 and 1; momentum = 0.1\n\n");
    number("running mean: 0.9 * 0 + 0.1 * mean", running_mean), number("unbiased variance: the sum / (N - 1)", unbiased);
    number("running variance: 0.9 * 1 + 0.1 * it", running_var);
    printf("\n   in evaluation\n\n");
    row("xhat by the running statistics", evaluated, N);
}

/* The column v of n samples through BatchNorm, and the gradient of v for the gradient dy of y. With running statistics in evaluation. */
static void norm(const double *v, size_t n, const double *dy, bool evaluate, double *y, double *dx)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *in = gr_want_grad(t, gr_input(t, v, GR_SHAPE(n, 1)));
    gr_tensor *mean = gr_full(t, GR_SHAPE(1), 7. / 30), *var = gr_full(t, GR_SHAPE(1), 34. / 30);
    gr_tape_set_training(t, !evaluate);
    gr_tensor *out =
        gr_batch_norm(t, in, -1, NULL, NULL, &(gr_batch_norm_config){ .running_mean = mean, .running_var = var, .eps = GR_NONE });
    if (out) {
        gr_backward_from(t, out, dy);
        memcpy(y, out->data, n * sizeof *y), memcpy(dx, gr_grad(t, in), n * sizeof *dx);
    } else printf("  %s\n", gr_message(t));
    gr_tape_free(t);
}

static const double first[N] = { 1, 0, 0 };

static void in_other_batches(void)
{
    double y[N], dx[N];
    printf("\n2. The sample 1 in three batches: the outputs of the batch\n\n");
    norm(x, N, first, false, y, dx), row("training, 1 beside 2 and 4", y, N);
    norm((double[]){ 1, 2, 40 }, N, first, false, y, dx), row("training, 1 beside 2 and 40", y, N);
    norm((double[]){ 1, -5, -9 }, N, first, false, y, dx), row("training, 1 beside -5 and -9", y, N);
    norm(x, N, first, true, y, dx), row("evaluation, 1 beside 2 and 4", y, N);
    norm((double[]){ 1, 2, 40 }, N, first, true, y, dx), row("evaluation, 1 beside 2 and 40", y, N);
}

static void gradients(void)
{
    const double dy[N] = { 1, 0, 0 }; /* the loss is the sum of dy * y */
    double y[N], dx[N], other[N], unused[N], slope[N] = { 0 };
    printf("\n3. The loss is y_0, the output of the first sample: the gradient of each sample\n\n");
    norm(x, N, dy, false, y, dx);
    for (int r = 0; r < N; r++) {
        double nudged[N];
        memcpy(nudged, x, sizeof nudged), nudged[r] += 1e-6;
        norm(nudged, N, dy, false, other, unused);
        for (int k = 0; k < N; k++) slope[r] += dy[k] * (other[k] - y[k]) / 1e-6;
    }
    row("training: slopes, by nudges", slope, N);
    row("training: dx", dx, N);
    norm(x, N, dy, true, y, dx), row("evaluation: dx", dx, N);
}

static void small_batches(void)
{
    double y[N], dx[N];
    printf("\n4. Small batches\n\n");
    norm((double[]){ 3, 8 }, 2, first, false, y, dx), row("a batch of two, 3 and 8: y", y, 2), row("dx", dx, 2);
    norm(x, 1, first, true, y, dx), row("a batch of one, in evaluation: y", y, 1);
    printf("  a batch of one, in training:\n"), norm(x, 1, first, false, y, dx);
}

static void padding(void)
{
    const double padded[5] = { 1, 2, 4, 0, 0 }, real[5] = { 1, 1, 1, 0, 0 };
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *in = gr_input(t, padded, GR_SHAPE(5, 1)), *mask = gr_input(t, real, GR_SHAPE(5));
    gr_tensor *plain = gr_batch_norm(t, in, -1, NULL, NULL, &(gr_batch_norm_config){ .eps = GR_NONE }),
              *masked = gr_batch_norm(t, in, -1, NULL, NULL, &(gr_batch_norm_config){ .mask = mask, .eps = GR_NONE });
    printf("\n5. The column (1, 2, 4) with two rows of padding; eps = 0\n\n");
    number("the mean of all five", sum(padded, 5) / 5), row("y, the padding counts", plain->data, 5),
        row("y, with a mask", masked->data, 5);
    gr_tape_free(t);
}

/* ---- A network ---- */

enum { WIDTH = 16, TEST = 256 };
typedef struct {
    gr_linear_module *fc1, *fc2, *fc3;
    gr_norm *n1, *n2;
} network;

/* BATCH_ALONE normalizes by the statistics of the batch, and moves no running statistics. */
typedef enum { EVALUATE, BATCH_ALONE, TRAIN } mode;

static gr_tensor *hidden(gr_tape *t, const gr_linear_module *fc, const gr_norm *n, gr_tensor *x_in, mode how)
{
    gr_tensor *h = gr_linear_forward(t, fc, x_in);
    gr_tape_set_training(t, how != EVALUATE);
    return gr_tanh(t, how == BATCH_ALONE ? gr_batch_norm(t, h, -1, n->weight, n->bias, NULL) : gr_norm_forward(t, n, h, NULL));
}
/* The mean square of what the network gets wrong in sin(3a) b. */
static gr_tensor *loss_of(gr_tape *t, const network *n, gr_tensor *ab, mode how)
{
    gr_tensor *target = gr_empty(t, GR_SHAPE(ab->dim[0], 1));
    for (size_t i = 0; i < target->len; i++) target->data[i] = sin(3 * ab->data[2 * i]) * ab->data[2 * i + 1];
    gr_tensor *h = hidden(t, n->fc2, n->n2, hidden(t, n->fc1, n->n1, ab, how), how);
    return gr_mse(t, gr_linear_forward(t, n->fc3, h), target, GR_REDUCE_MEAN);
}

/* The loss on the test data, given to the network in batches of this size; batch 0: in evaluation. */
static double test(gr_tape *t, const network *n, const double *ab, size_t batch)
{
    const size_t size = batch ? batch : TEST;
    double loss = 0;
    for (size_t at = 0; at < TEST; at += size) {
        gr_tape_reset(t);
        gr_tensor *in = gr_input(t, ab + 2 * at, GR_SHAPE(size, 2));
        loss += gr_item(loss_of(t, n, in, batch ? BATCH_ALONE : EVALUATE)) * (double)size / TEST;
    }
    return loss;
}

static void learn(void)
{
    enum { SEEDS = 3, BATCH = 32, STEPS = 400, MARKS = 4, WAYS = 4 };
    const int mark[MARKS] = { 1, 10, 100, 400 };
    const size_t batch[WAYS] = { 0, TEST, 8, 2 };
    const char *const way[WAYS] = { "evaluation", "the batch's, 256 at once", "the batch's, 8 at a time", "the batch's, 2 at a time" };
    double loss[WAYS][MARKS] = { 0 }, ab[2 * TEST];
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        gr_tape *t = gr_tape_new(seed, NULL);
        gr_module *net = gr_module_new(t);
        const network n = { gr_linear_new(t, net, "fc1", 2, WIDTH, NULL), gr_linear_new(t, net, "fc2", WIDTH, WIDTH, NULL),
                            gr_linear_new(t, net, "fc3", WIDTH, 1, NULL), gr_batch_norm_new(t, net, "n1", WIDTH, NULL),
                            gr_batch_norm_new(t, net, "n2", WIDTH, NULL) };
        gr_optim *adam = gr_adam_new(t, net, &(gr_adam_config){ .lr = 0.01 });
        memcpy(ab, gr_rand(t, GR_SHAPE(TEST, 2), -1, 1, "test")->data, sizeof ab);
        for (int step = 1, k = 0; step <= STEPS; step++) {
            gr_tape_reset(t);
            gr_tensor *l = loss_of(t, &n, gr_rand(t, GR_SHAPE(BATCH, 2), -1, 1, "data"), TRAIN);
            gr_optim_zero_grad(adam), gr_backward(t, l), gr_optim_step(t, adam);
            if (step != mark[k]) continue;
            for (int w = 0; w < WAYS; w++) loss[w][k] += test(t, &n, ab, batch[w]) / SEEDS;
            k++;
        }
        gr_optim_free(adam), gr_module_free(net), gr_tape_free(t);
    }
    printf("\n6. A network with two BatchNorms learns sin(3a) b: its loss on test data after 1, 10, 100, 400 steps\n\n");
    for (int w = 0; w < WAYS; w++) row(way[w], loss[w], MARKS);
}

/* The answers to the quiz: answer it first. */
static void quiz(void)
{
    double y[N], dx[N];
    printf("1. The column (1, 2, 3): mean 2, variance 2/3, unbiased variance 1.\n");
    norm((double[]){ 1, 2, 3 }, N, first, false, y, dx), row("xhat", y, N);
    row("running mean, running variance", (double[]){ 0.9 * 0 + 0.1 * 2, 0.9 * 1 + 0.1 * 1 }, 2);
    printf("2. The distance to the target shrinks by 0.9 in each step.\n");
    number("running mean after two batches", 0.9 * 0.2 + 0.1 * 2), number("after ten", 2 * (1 - pow(0.9, 10)));
    printf("3. Any two different values become -1 and 1. No nudge of x moves them, so dx is 0 when eps is 0.\n");
    norm((double[]){ 10, -4 }, 2, first, false, y, dx), row("y", y, 2), row("dx", dx, 2);
    printf("4. In evaluation the statistics are constants: dx is gamma * dy / sqrt(running_var + eps).\n");
    number("dx for gamma 2, dy 1, variance 4, eps 0", 2 / sqrt(4));
    printf("5. In training the mean of the column takes it away: y does not change, and the gradient of the bias is the sum of dx, which is 0.\n");
    norm(x, N, first, false, y, dx), number("sum of dx", sum(dx, N));
    printf("6. It normalizes by the mean of all rows, padding included, so that the output of a sentence depends on how much padding it has.\n");
    row("mean without and with the padding", (double[]){ 7. / 3, 7. / 5 }, 2);
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "--quiz")) return quiz(), 0;
    by_hand(), in_other_batches(), gradients(), small_batches(), padding(), learn();
}
