/* lesson.c - the gradient of LayerNorm in three terms, by hand and by autograd.
 *
 * Shows: forward and backward of one row; that each term is what flows on one path, which gr_detach cuts; what a nudge of x says; which
 *        tests see that a term is missing; that a network learns with a wrong gradient too.
 * Run:   make lesson N=10        expected.txt is its output; make quiz N=10 prints the answers to the quiz                                */
#include "gradus.h"
#include <math.h>
#include <string.h>

enum { N = 3 };
typedef enum { NONE = 0, MEAN = 1, VARIANCE = 2 } path; /* paths that are cut, and so terms that are missing */

/* Numbers in columns; -0 and what only rounding leaves become 0. */
static void row(const char *label, const double *v, size_t n)
{
    printf("  %-34s", label);
    for (size_t i = 0; i < n; i++) printf("%11.5f", fabs(v[i]) < 5e-6 ? 0 : v[i]);
    printf("\n");
}
static void number(const char *label, double v) { row(label, &v, 1); }
static double sum(const double *v, size_t n) { return n ? v[0] + sum(v + 1, n - 1) : 0; }

/* xhat from plain operators, so that autograd finds the gradient; a cut path is detached: its value stays, no gradient passes. */
static gr_tensor *normalize(gr_tape *t, gr_tensor *x, double eps, path cut)
{
    gr_tensor *mean = gr_mean(t, x, GR_AXES(-1), true);
    gr_tensor *d = gr_sub(t, x, cut & MEAN ? gr_detach(t, mean) : mean);
    gr_tensor *var = gr_mean(t, gr_square(t, d), GR_AXES(-1), true);
    gr_tensor *sigma = gr_sqrt(t, gr_add(t, var, gr_scalar(t, eps)));
    return gr_div(t, d, cut & VARIANCE ? gr_detach(t, sigma) : sigma);
}

/* xhat and dx of one row. */
static void autograd(const double *x, const double *dy, size_t n, double eps, path cut, double *xhat, double *dx)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *in = gr_want_grad(t, gr_input(t, x, GR_SHAPE(n))), *y = normalize(t, in, eps, cut);
    gr_backward_from(t, y, dy);
    memcpy(xhat, y->data, n * sizeof *xhat);
    memcpy(dx, gr_grad(t, in), n * sizeof *dx);
    gr_tape_free(t);
}

static const double x[N] = { 1, 2, 4 }, dy[N] = { 1, 0, 0 };
static const char *const without[] = { "all three terms", "without the mean term", "without the variance term", "the direct term alone" };

static void by_hand(void)
{
    double d[N], square[N], xhat[N], xhat_square[N], g[N], gx[N], term[3][N], dx[N], dot[N];
    const double mean = sum(x, N) / N;
    for (int i = 0; i < N; i++) d[i] = x[i] - mean, square[i] = d[i] * d[i];
    const double var = sum(square, N) / N, rstd = 1 / sqrt(var);
    for (int i = 0; i < N; i++) xhat[i] = d[i] * rstd, xhat_square[i] = xhat[i] * xhat[i], g[i] = dy[i], gx[i] = g[i] * xhat[i];
    const double mean_g = sum(g, N) / N, mean_gx = sum(gx, N) / N;
    for (int i = 0; i < N; i++) {
        term[0][i] = rstd * g[i], term[1][i] = -rstd * mean_g, term[2][i] = -rstd * xhat[i] * mean_gx;
        dx[i] = term[0][i] + term[1][i] + term[2][i], dot[i] = dx[i] * xhat[i];
    }
    printf("1. By hand: x = (1, 2, 4), gamma = 1, beta = 0, eps = 0\n\n");
    row("x", x, N), number("mean", mean), row("x - mean", d, N), row("(x - mean)^2", square, N), number("var", var);
    number("rstd = 1 / sqrt(var)", rstd), row("xhat = (x - mean) * rstd", xhat, N);
    number("its mean", sum(xhat, N) / N), number("its variance", sum(xhat_square, N) / N);
    printf("\n   backward, for this dy\n\n");
    row("g = dy", g, N), number("mean(g)", mean_g), number("mean(g * xhat)", mean_gx);
    row("direct term    rstd * g", term[0], N), row("mean term      -rstd * mean(g)", term[1], N);
    row("variance term  -rstd * xhat * ..", term[2], N), row("dx, their sum", dx, N);
    number("sum of dx", sum(dx, N)), number("sum of dx * xhat", sum(dot, N));
}

static void nudge(void)
{
    const double h = 0.001;
    double before[N], after[N], dx[N], moved[N], slope[N];
    printf("\n2. By a nudge: add 0.001 to one x at a time, and see how far the loss, the sum of dy_i y_i, moves\n\n");
    autograd(x, dy, N, 0, NONE, before, dx);
    for (int j = 0; j < N; j++) {
        double one[N], unused[N], weighted[N];
        memcpy(one, x, sizeof one), one[j] += h;
        autograd(one, dy, N, 0, NONE, after, unused);
        for (int i = 0; i < N; i++) weighted[i] = dy[i] * (after[i] - before[i]);
        moved[j] = sum(weighted, N), slope[j] = moved[j] / h;
    }
    row("the loss moves by", moved, N), row("divided by 0.001", slope, N), row("dx", dx, N);
}

static void cut_paths(void)
{
    double right[N], xhat[N];
    printf("\n3. With a path cut: gr_detach on the mean, on the root, on both\n\n");
    autograd(x, dy, N, 0, NONE, xhat, right);
    for (path cut = 0; cut < 4; cut++) {
        double dx[N], error[N];
        autograd(x, dy, N, 0, cut, xhat, dx);
        for (int i = 0; i < N; i++) error[i] = dx[i] - right[i];
        row(without[cut], dx, N);
        if (cut) row("  error", error, N);
    }
    row("(xhat)", xhat, N);
}

static void tests(void)
{
    const double loss[2][N] = { { 1, 1, 1 }, { 0.5, -1, 2 } };
    double xhat[N], dx[N];
    printf("\n4. What a test sees: dx with terms missing, for two losses\n");
    for (int k = 0; k < 2; k++) {
        printf("\n   %s\n\n", k ? "the loss 0.5 y_0 - y_1 + 2 y_2" : "the loss y_0 + y_1 + y_2");
        for (path cut = 0; cut < 4; cut++) autograd(x, loss[k], N, 0, cut, xhat, dx), row(without[cut], dx, N);
    }
}

/* The mean loss over five seeds after 0, 100, 200 and 400 steps of a network that learns sin(3a) b. */
static void learn(void)
{
    enum { SEEDS = 5, BATCH = 64, STEPS = 400, MARKS = 4 };
    const int mark[MARKS] = { 0, 100, 200, 400 };
    printf("\n5. A network learns with each of them: its loss after 0, 100, 200, 400 steps\n\n");
    for (path cut = 0; cut < 4; cut++) {
        double loss_at[MARKS] = { 0 };
        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
            gr_tape *t = gr_tape_new(seed, NULL);
            gr_module *net = gr_module_new(t);
            gr_linear_module *fc1 = gr_linear_new(t, net, "fc1", 2, 16, NULL), *fc2 = gr_linear_new(t, net, "fc2", 16, 16, NULL),
                             *fc3 = gr_linear_new(t, net, "fc3", 16, 1, NULL);
            gr_optim *adam = gr_adam_new(t, net, &(gr_adam_config){ .lr = 0.01 });
            for (int step = 0, k = 0; step <= STEPS; step++) {
                gr_tape_reset(t);
                gr_tensor *ab = gr_rand(t, GR_SHAPE(BATCH, 2), -1, 1, "data"), *target = gr_empty(t, GR_SHAPE(BATCH, 1));
                for (int i = 0; i < BATCH; i++) target->data[i] = sin(3 * ab->data[2 * i]) * ab->data[2 * i + 1];
                gr_tensor *h = gr_tanh(t, normalize(t, gr_linear_forward(t, fc1, ab), 1e-5, cut));
                h = gr_tanh(t, normalize(t, gr_linear_forward(t, fc2, h), 1e-5, cut));
                gr_tensor *loss = gr_mse(t, gr_linear_forward(t, fc3, h), target, GR_REDUCE_MEAN);
                gr_optim_zero_grad(adam), gr_backward(t, loss), gr_optim_step(t, adam);
                if (step == mark[k]) loss_at[k++] += gr_item(loss) / SEEDS;
            }
            gr_optim_free(adam), gr_module_free(net), gr_tape_free(t);
        }
        printf("  %-34s", without[cut]);
        for (int k = 0; k < MARKS; k++) printf("%11.3f", loss_at[k]);
        printf("\n");
    }
}

/* The answers to the quiz: answer it first. */
static void quiz(void)
{
    double xhat[N], dx[N], other[N], zero[N] = { 0 };
    printf("1. x = (1, 2, 3), dy = (1, 0, 0), eps = 0:\n");
    autograd((const double[]){ 1, 2, 3 }, dy, N, 0, NONE, xhat, dx), row("xhat", xhat, N), row("dx", dx, N);
    printf("2. x = (2, 4, 8) in place of (1, 2, 4), eps = 0: xhat stays, rstd halves, and so does dx.\n");
    autograd((const double[]){ 2, 4, 8 }, dy, N, 0, NONE, xhat, dx), autograd(x, dy, N, 0, NONE, xhat, other);
    row("dx of (1, 2, 4)", other, N), row("dx of (2, 4, 8)", dx, N);
    printf("3. x = (3, 8), dy = (1, 0), eps = 0: y is -1, 1 for any two values, so no nudge moves it.\n");
    autograd((const double[]){ 3, 8 }, dy, 2, 0, NONE, xhat, dx), row("xhat", xhat, 2), row("dx", dx, 2);
    printf("4. x = (5, 5, 5), dy = (1, 0, 0), eps = 1e-5: y is beta; rstd is 1 / sqrt(eps), which multiplies the gradient.\n");
    autograd((const double[]){ 5, 5, 5 }, dy, N, 1e-5, NONE, xhat, dx), row("xhat", xhat, N), row("dx", dx, N);
    printf("5. The loss is sum(y): the variance term. With it or without, dx is 0. The missing mean term shows.\n");
    autograd(x, (const double[]){ 1, 1, 1 }, N, 0, VARIANCE, xhat, dx), row("without the variance term", dx, N);
    autograd(x, (const double[]){ 1, 1, 1 }, N, 0, MEAN, xhat, dx), row("without the mean term", dx, N);
    printf("6. Rows (1, 2, 4) and (4, 2, 1), dy = 1 everywhere: dgamma is the sum of both xhat, dbeta counts the rows.\n");
    autograd((const double[]){ 4, 2, 1 }, zero, N, 0, NONE, other, dx);
    row("dgamma", (const double[]){ xhat[0] + other[0], xhat[1] + other[1], xhat[2] + other[2] }, N);
    row("dbeta", (const double[]){ 2, 2, 2 }, N);
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "--quiz")) return quiz(), 0;
    by_hand(), nudge(), cut_paths(), tests(), learn();
}
