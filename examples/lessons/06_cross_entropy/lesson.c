/* lesson.c - softmax and cross-entropy, and a gradient that stays where softmax is flat.
 *
 * Shows: three logits by hand; the same gradient by a nudge, from plain operators, and by gr_cross_entropy; a network that is sure and wrong; what
 *        logits of 1000 do to exp; two losses from the same bad start.
 * Run:   make lesson N=6         expected.txt is its output; make quiz N=6 prints the answers to the quiz                                 */
#include "gradus.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { C = 3 };

static void row(const char *label, const double *v, size_t n)
{
    printf("  %-34s", label);
    for (size_t i = 0; i < n; i++) {
        if (isnan(v[i])) printf("  %s", "not a number");
        else printf("%11.5f", fabs(v[i]) < 5e-6 ? 0 : v[i]);
    }
    printf("\n");
}
static void number(const char *label, double v) { row(label, &v, 1); }

/* p, and the loss -log p of the target; as the page writes them, without care for large logits. */
static double softmax(const double *x, int target, double *p)
{
    double sum = 0;
    for (int c = 0; c < C; c++) p[c] = exp(x[c]), sum += p[c];
    for (int c = 0; c < C; c++) p[c] /= sum;
    return -log(p[target]);
}

static void by_hand(void)
{
    const double x[C] = { 0, 0, 0 }, target[C] = { 1, 0, 0 };
    double p[C], e[C], slope[C], product[C], difference[C];
    const double loss = softmax(x, 0, p), outer = -1 / p[0];
    for (int c = 0; c < C; c++) {
        e[c] = exp(x[c]), slope[c] = p[0] * (target[c] - p[c]);
        product[c] = outer * slope[c], difference[c] = p[c] - target[c];
    }
    printf("1. By hand: the logits are (0, 0, 0), and the target is class 0\n\n");
    row("exp(x)", e, C), number("their sum", e[0] + e[1] + e[2]), row("p = exp(x) / sum", p, C), number("loss = -log p_0", loss);
    printf("\n   backward, in two steps of the chain rule, and at once\n\n");
    number("dL/dp_0 = -1 / p_0", outer), row("dp_0/dx", slope, C), row("their product", product, C);
    row("p", p, C), row("target", target, C), row("p - target", difference, C);
}

/* The mean loss and dx of gr_cross_entropy, for x [rows, n]. */
static double cross_entropy(const double *x, size_t rows, size_t n, const int *target, double *dx)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *in = gr_want_grad(t, gr_input(t, x, GR_SHAPE(rows, n)));
    gr_tensor *loss = gr_cross_entropy(t, in, gr_ints_new(t, target, GR_SHAPE(rows)), NULL);
    gr_backward(t, loss);
    const double value = gr_item(loss);
    memcpy(dx, gr_grad(t, in), rows * n * sizeof *dx);
    gr_tape_free(t);
    return value;
}

/* The same from plain operators: p = exp(x) / sum, and then -log p of the target, which a product with a row of 0 and 1 picks. */
static double plain(const double *x, int target, double *dx)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *in = gr_want_grad(t, gr_input(t, x, GR_SHAPE(C))), *e = gr_exp(t, in), *pick = gr_zeros(t, GR_SHAPE(C));
    pick->data[target] = 1;
    gr_tensor *p = gr_div(t, e, gr_sum(t, e, GR_AXES(-1), true));
    gr_tensor *loss = gr_neg(t, gr_log(t, gr_sum(t, gr_mul(t, p, pick), GR_ALL_AXES, false)));
    gr_backward(t, loss);
    const double value = gr_item(loss);
    memcpy(dx, gr_grad(t, in), C * sizeof *dx);
    gr_tape_free(t);
    return value;
}

static void three_other_ways(void)
{
    const double x[C] = { 1, 2, 4 }, h = 1e-5;
    double p[C], slope[C], dx[C];
    printf("\n2. Three other ways: the logits are (1, 2, 4), and the target is class 0\n\n");
    softmax(x, 0, p), row("p", p, C);
    for (int c = 0; c < C; c++) {
        double more[C], fewer[C], unused[C];
        memcpy(more, x, sizeof more), memcpy(fewer, x, sizeof fewer);
        more[c] += h, fewer[c] -= h;
        slope[c] = (softmax(more, 0, unused) - softmax(fewer, 0, unused)) / (2 * h);
    }
    row("a nudge of each logit", slope, C);
    plain(x, 0, dx), row("gr_exp, gr_div, gr_log", dx, C);
    number("gr_cross_entropy: the loss", cross_entropy(x, 1, C, (int[]){ 0 }, dx)), row("gr_cross_entropy: dx", dx, C);
}

static void sure_and_wrong(void)
{
    const double z[] = { 0, 2, 5, 10, 20 };
    printf("\n3. Sure and wrong: the logits are (z, 0, 0), and the target is class 1\n\n");
    printf("  %-10s%12s%16s%16s%16s%27s\n\n", "z", "p_1", "slope of p_1", "-1 / p_1", "their product", "gradient of (p_1 - 1)^2");
    for (int k = 0; k < 5; k++) {
        double p[C];
        softmax((const double[C]){ z[k], 0, 0 }, 1, p);
        const double slope = p[1] * (1 - p[1]);
        printf("  %-10g%12.3e%16.3e%16.3e%16.5f%27.3e\n", z[k], p[1], slope, -1 / p[1], -slope / p[1], 2 * (p[1] - 1) * slope);
    }
}

static void large(void)
{
    const double x[C] = { 1000, 0, 0 }, shifted[C] = { 0, -1000, -1000 };
    double p[C], dx[C];
    printf("\n4. Logits of 1000: (1000, 0, 0), and the target is class 1\n\n");
    number("exp(1000)", exp(1000));
    softmax(x, 1, p), row("p = exp(x) / sum", p, C);
    const double loss = softmax(shifted, 1, p);
    row("p = exp(x - 1000) / sum", p, C), number("-log p_1", loss);
    number("gr_cross_entropy: the loss", cross_entropy(x, 1, C, (int[]){ 1 }, dx)), row("gr_cross_entropy: dx", dx, C);
}

/* ---- Two losses from the same bad start ---- */

enum { POINTS = 60, MARKS = 5 };

/* How many of 60 points, in three clusters, a linear layer gets right after 0, 10, 100, 1000, 3000 steps. Its first weights prefer wrong classes. */
static void learn(bool squared, double *right)
{
    static const double centre[C][2] = { { 1, 0 }, { -0.5, 0.9 }, { -0.5, -0.9 } }, eye[C][C] = { { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 } };
    const int mark[MARKS] = { 0, 10, 100, 1000, 3000 };
    double w[C * 2], point[POINTS * 2], chosen[POINTS * C];
    int target[POINTS];
    gr_tape *t = gr_tape_new(1, NULL);
    const gr_tensor *noise = gr_randn(t, GR_SHAPE(POINTS, 2), 0, 0.2, "data");
    for (int i = 0; i < 2 * POINTS; i++) point[i] = centre[i / 2 % C][i % 2] + noise->data[i];
    for (int i = 0; i < POINTS; i++) target[i] = i % C, memcpy(chosen + i * C, eye[i % C], sizeof eye[0]);
    for (int i = 0; i < 2 * C; i++) w[i] = 10 * centre[(i / 2 + 1) % C][i % 2]; /* the weights of another class */
    for (int step = 0, k = 0; step <= mark[MARKS - 1]; step++) {
        gr_tape_reset(t);
        gr_tensor *weight = gr_want_grad(t, gr_input(t, w, GR_SHAPE(C, 2)));
        gr_tensor *logits = gr_linear(t, gr_input(t, point, GR_SHAPE(POINTS, 2)), weight, NULL), *loss;
        if (squared) {
            gr_tensor *error = gr_sub(t, gr_softmax(t, logits, -1), gr_input(t, chosen, GR_SHAPE(POINTS, C)));
            loss = gr_scale(t, gr_sum(t, gr_square(t, error), GR_ALL_AXES, false), 1.0 / POINTS);
        } else loss = gr_cross_entropy(t, logits, gr_ints_new(t, target, GR_SHAPE(POINTS)), NULL);
        gr_backward(t, loss);
        if (step == mark[k]) {
            const gr_ints *best = gr_argmax(t, logits, -1, false);
            for (int i = 0; i < POINTS; i++) right[k] += best->data[i] == target[i];
            k++;
        }
        for (int i = 0; i < 2 * C; i++) w[i] -= 0.5 * gr_grad(t, weight)[i];
    }
    gr_tape_free(t);
}

static void two_losses(void)
{
    printf("\n5. A layer that begins sure and wrong: how many of 60 points are right after 0, 10, 100, 1000, 3000 steps\n\n");
    for (int squared = 0; squared < 2; squared++) {
        double right[MARKS] = { 0 };
        learn(squared, right);
        printf("  %-34s", squared ? "squared error of p" : "cross-entropy");
        for (int k = 0; k < MARKS; k++) printf("%8g", right[k]);
        printf("\n");
    }
}

/* The answers to the quiz: answer it first. */
static void quiz(void)
{
    double p[C], dx[2 * C];
    printf("1. Logits (2, 2), target 0: p is 1/2 for both.\n");
    number("loss", cross_entropy((const double[]){ 2, 2 }, 1, 2, (int[]){ 0 }, dx)), row("dx", dx, 2);
    printf("2. A constant in all logits multiplies each exp(x) and their sum by the same factor, and p stays.\n");
    softmax((const double[]){ 1, 2, 4 }, 0, p), row("p of (1, 2, 4)", p, C);
    softmax((const double[]){ 101, 102, 104 }, 0, p), row("p of (101, 102, 104)", p, C);
    printf(
        "3. Ten equal logits give p = 1/10. A larger loss means that the network prefers wrong classes before it has learned anything.\n");
    number("log 10", log(10));
    printf("4. The mean over two rows halves each row's gradient.\n");
    number("loss", cross_entropy((const double[]){ 0, 0, 0, 1, 2, 4 }, 2, C, (int[]){ 0, 0 }, dx)), row("dx, row 0", dx, C),
        row("dx, row 1", dx + C, C);
    printf("5. It is 0: p adds up to 1, and so does the target. A constant in all logits does not change the loss.\n");
    number("sum of dx, row 1", dx[C] + dx[C + 1] + dx[C + 2]);
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "--quiz")) return quiz(), 0;
    by_hand(), three_other_ways(), sure_and_wrong(), large(), two_losses();
}
