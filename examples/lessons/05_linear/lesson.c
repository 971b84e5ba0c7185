/* lesson.c - backward of a product of two matrices, and which of them is transposed.
 *
 * Shows: a linear layer by hand, forward and backward; the same by nudges and by autograd; that the gradient of the weights is a sum over rows; the
 *        eight products that could be a gradient, and which of them the shapes refuse; a network with a wrong transpose in backward, which learns.
 * Run:   make lesson N=5         expected.txt is its output; make quiz N=5 prints the answers to the quiz                                 */
#include "gradus.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static void row(const char *label, const double *v, size_t n)
{
    printf("  %-34s", label);
    for (size_t i = 0; i < n; i++) printf("%9.3f", fabs(v[i]) < 5e-4 ? 0 : v[i]);
    printf("\n");
}

static const double x[2] = { 1, 2 }, w[4] = { 1, 1, 0, 1 }, dy[2] = { 1, 0 };

/* ---- One layer with two inputs and two outputs ---- */

static void by_hand(void)
{
    const double *w0 = w, *w1 = w + 2; /* the rows of W */
    const double y[2] = { w0[0] * x[0] + w0[1] * x[1], w1[0] * x[0] + w1[1] * x[1] };
    const double dx[2] = { dy[0] * w0[0] + dy[1] * w1[0], dy[0] * w0[1] + dy[1] * w1[1] };
    const double dw[4] = { dy[0] * x[0], dy[0] * x[1], dy[1] * x[0], dy[1] * x[1] };
    printf("1. By hand: x = (1, 2), W has the rows (1, 1) and (0, 1), b = 0, and the loss is y_0\n\n");
    row("row 0 of W: makes y_0", w0, 2), row("row 1 of W: makes y_1", w1, 2), row("x", x, 2), row("y", y, 2);
    row("dy", dy, 2), row("dx = dy_0 row 0 + dy_1 row 1", dx, 2);
    row("dW, row 0 = dy_0 x", dw, 2), row("dW, row 1 = dy_1 x", dw + 2, 2), row("db = dy", dy, 2);
}

/* y = in W^T + b by gr_linear, and the gradients for dy; in is [rows, n], weight [n, n], and b is 0. */
static void linear(const double *in, size_t rows, const double *weight, size_t n, const double *from, double *out, double *dx, double *dw,
                   double *db)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *a = gr_want_grad(t, gr_input(t, in, GR_SHAPE(rows, n))), *m = gr_want_grad(t, gr_input(t, weight, GR_SHAPE(n, n)));
    gr_tensor *bias = gr_want_grad(t, gr_zeros(t, GR_SHAPE(n))), *y = gr_linear(t, a, m, bias);
    gr_backward_from(t, y, from);
    memcpy(out, y->data, y->len * sizeof *out), memcpy(dx, gr_grad(t, a), a->len * sizeof *dx);
    memcpy(dw, gr_grad(t, m), m->len * sizeof *dw), memcpy(db, gr_grad(t, bias), n * sizeof *db);
    gr_tape_free(t);
}

/* The loss dy_0 y_0 + dy_1 y_1 after value number k of x and W, in this order, has moved by h. */
static double loss_at(int k, double h)
{
    double v[6] = { x[0], x[1], w[0], w[1], w[2], w[3] };
    v[k] += h;
    return dy[0] * (v[2] * v[0] + v[3] * v[1]) + dy[1] * (v[4] * v[0] + v[5] * v[1]);
}

static void two_other_ways(void)
{
    double y[2], dx[2], dw[4], db[2], slope[6];
    for (int k = 0; k < 6; k++) slope[k] = (loss_at(k, 0.5) - loss_at(k, -0.5)) / (2 * 0.5);
    linear(x, 1, w, 2, dy, y, dx, dw, db);
    printf("\n2. Two other ways\n\n");
    row("dx by a nudge of each x", slope, 2), row("dx by autograd", dx, 2);
    row("dW by a nudge of each weight", slope + 2, 4), row("dW by autograd", dw, 4);
}

static void two_rows(void)
{
    const double rows[4] = { 1, 2, 3, 5 }, from[4] = { 1, 0, 2, 3 };
    double y[4], dx[4], dw[4], db[2], first[4], second[4];
    printf("\n3. Two rows: x has the rows (1, 2) and (3, 5), dy has the rows (1, 0) and (2, 3)\n\n");
    linear(rows, 1, w, 2, from, y, dx, first, db), row("dW of row 0 alone", first, 4);
    linear(rows + 2, 1, w, 2, from + 2, y, dx, second, db), row("dW of row 1 alone", second, 4);
    linear(rows, 2, w, 2, from, y, dx, dw, db), row("dW of both", dw, 4), row("db of both", db, 2);
    row("dx, row 0", dx, 2), row("dx, row 1", dx + 2, 2);
}

/* ---- c = a b: which product of dc and b is da? ---- */

static const char *const way[8] = { "dc b", "dc b^T", "dc^T b", "dc^T b^T", "b dc", "b dc^T", "b^T dc", "b^T dc^T" };

/* Product number k of dc and b; the tape is in error if the shapes do not fit. */
static gr_tensor *product(gr_tape *t, gr_tensor *dc, gr_tensor *b, int k)
{
    return k < 4 ? gr_matmul_t(t, dc, k & 2, b, k & 1) : gr_matmul_t(t, b, k & 2, dc, k & 1);
}

static void eight_ways(void)
{
    const double a[4] = { 1, 2, 3, 4 }, b[4] = { 1, 0, 1, 1 }, dc[4] = { 1, 0, 2, 3 };
    printf("\n4. c = a b: eight products of dc and b. Which one is da?\n\n");
    printf("  %-18s%-20s%s\n\n", "", "a [2, 3], b [3, 4]", "a [2, 2], b [2, 2]");
    for (int k = 0; k < 8; k++) {
        gr_tape *t = gr_tape_new(1, NULL);
        gr_tensor *p = gr_want_grad(t, gr_input(t, a, GR_SHAPE(2, 2))), *q = gr_input(t, b, GR_SHAPE(2, 2));
        gr_backward_from(t, gr_matmul(t, p, q), dc);
        const double *right = gr_grad(t, p), *square = product(t, gr_input(t, dc, GR_SHAPE(2, 2)), q, k)->data;
        const gr_tensor *other = product(t, gr_zeros(t, GR_SHAPE(2, 4)), gr_zeros(t, GR_SHAPE(3, 4)), k);
        printf("  %-18s%-20s", way[k], gr_failed(t) ? "refused" : gr_shape_text(t, other));
        printf("%g %g, %g %g%s\n", square[0], square[1], square[2], square[3], memcmp(square, right, sizeof a) ? "" : "   this is da");
        gr_tape_free(t);
    }
}

/* ---- A network whose backward has a wrong transpose ---- */

enum { H = 16, BATCH = 64, STEPS = 1000, MARKS = 4 };

/* y = x W^T + b. With wrong, dx is dy W^T in place of dy W: z adds nothing to y, and x gets its gradient through z alone. */
static gr_tensor *layer(gr_tape *t, gr_tensor *in, gr_tensor *weight, gr_tensor *bias, bool wrong)
{
    if (!wrong) return gr_linear(t, in, weight, bias);
    gr_tensor *z = gr_matmul(t, in, gr_detach(t, weight));
    return gr_add(t, gr_linear(t, gr_detach(t, in), weight, bias), gr_sub(t, z, gr_detach(t, z)));
}

/* The loss after 0, 100, 300, 1000 steps of a network with layers 2, 16, 16, 16, 1 that learns sin(3a) b. */
static void learn(bool wrong, uint64_t seed, double *at)
{
    const int mark[MARKS] = { 0, 100, 300, 1000 };
    const size_t width[5] = { 2, H, H, H, 1 };
    double weight[4][H * H], bias[4][H] = { { 0 } }, ab[2 * BATCH], target[BATCH];
    gr_tape *t = gr_tape_new(seed, NULL);
    for (int k = 0; k < 4; k++) {
        const double bound = 1 / sqrt((double)width[k]);
        memcpy(weight[k], gr_rand(t, GR_SHAPE(width[k + 1], width[k]), -bound, bound, "weights")->data,
               width[k + 1] * width[k] * sizeof(double));
    }
    memcpy(ab, gr_rand(t, GR_SHAPE(BATCH, 2), -1, 1, "data")->data, sizeof ab);
    for (int i = 0; i < BATCH; i++) target[i] = sin(3 * ab[2 * i]) * ab[2 * i + 1];
    for (int step = 0, k = 0; step <= STEPS; step++) {
        gr_tape_reset(t);
        gr_tensor *h = gr_input(t, ab, GR_SHAPE(BATCH, 2)), *m[4], *b[4];
        for (int i = 0; i < 4; i++) {
            m[i] = gr_want_grad(t, gr_input(t, weight[i], GR_SHAPE(width[i + 1], width[i])));
            b[i] = gr_want_grad(t, gr_input(t, bias[i], GR_SHAPE(width[i + 1])));
            h = layer(t, h, m[i], b[i], wrong && (i == 1 || i == 2)); /* the square ones: the others would be refused */
            if (i < 3) h = gr_tanh(t, h);
        }
        gr_tensor *loss = gr_mean(t, gr_square(t, gr_sub(t, h, gr_input(t, target, GR_SHAPE(BATCH, 1)))), GR_ALL_AXES, false);
        gr_backward(t, loss);
        for (int i = 0; i < 4; i++) { /* each weight follows its slope (lesson 1) */
            for (size_t j = 0; j < m[i]->len; j++) weight[i][j] -= 0.1 * gr_grad(t, m[i])[j];
            for (size_t j = 0; j < b[i]->len; j++) bias[i][j] -= 0.1 * gr_grad(t, b[i])[j];
        }
        if (step == mark[k]) at[k++] += gr_item(loss);
    }
    gr_tape_free(t);
}

static void networks(void)
{
    enum { SEEDS = 5 };
    printf("\n5. A network with a wrong transpose: its loss after 0, 100, 300, 1000 steps, the mean over five seeds\n\n");
    for (int wrong = 0; wrong < 2; wrong++) {
        double at[MARKS] = { 0 };
        for (uint64_t seed = 1; seed <= SEEDS; seed++) learn(wrong, seed, at);
        for (int k = 0; k < MARKS; k++) at[k] /= SEEDS;
        row(wrong ? "dx = dy W^T in two layers" : "dx = dy W", at, MARKS);
    }
}

/* The answers to the quiz: answer it first. */
static void quiz(void)
{
    const double ones[4] = { 1, 1, 1, 1 }, none[2] = { 0, 0 }, same[4] = { 1, 2, 1, 2 };
    double y[4], dx[4], dw[4], db[2];
    printf("1. dy = (0, 1): the loss looks at y_1, so only row 1 of W matters and gets a gradient.\n");
    linear(x, 1, w, 2, (const double[]){ 0, 1 }, y, dx, dw, db), row("dx", dx, 2), row("dW, row 0", dw, 2), row("dW, row 1", dw + 2, 2);
    printf("2. Each value of a product is a sum over the axis that its factors share: 64 x 5 sums of 3, 64 x 3 sums of 5, 5 x 3 sums of "
           "64.\n");
    printf("  %-34s%9d%9d%9d\n", "multiplications for y, dx, dW", 64 * 5 * 3, 64 * 3 * 5, 5 * 3 * 64);
    printf("3. x = (0, 0): the weights get no gradient, because no nudge of a weight moves y. dx does not depend on x.\n");
    linear(none, 1, w, 2, ones, y, dx, dw, db), row("dx", dx, 2), row("dW", dw, 4), row("db", db, 2);
    printf("4. Equal rows of W with equal dy get equal gradients. They stay equal for ever, so weights must start at different values.\n");
    linear(x, 1, same, 2, ones, y, dx, dw, db), row("y", y, 2), row("dW, row 0", dw, 2), row("dW, row 1", dw + 2, 2);
    printf("5. c = a a: a has two uses. The sum is dc a^T + a^T dc.\n");
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *a = gr_want_grad(t, gr_input(t, w, GR_SHAPE(2, 2))), *c = gr_matmul(t, a, a);
    gr_backward_from(t, c, ones);
    row("c", c->data, 4), row("da", gr_grad(t, a), 4);
    gr_tape_free(t);
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "--quiz")) return quiz(), 0;
    by_hand(), two_other_ways(), two_rows(), eight_ways(), networks();
}
