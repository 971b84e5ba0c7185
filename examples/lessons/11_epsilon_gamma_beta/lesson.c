/* lesson.c - what the three small parts of a LayerNorm do: eps, gamma and beta.
 *
 * Shows: a row that eps decides, by hand; how steep LayerNorm is, and that eps limits it; rows that are multiples of each other; a deviation that
 *        is rounded too early; gamma and beta that give one row back; a padded row;
 *        gamma and beta inside the next linear layer.
 * Run:   make lesson N=11        expected.txt is its output; make quiz N=11 prints the answers to the quiz                                */
#include "gradus.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static void row(const char *label, const double *v, size_t n)
{
    printf("  %-36s", label);
    for (size_t i = 0; i < n; i++) printf("%12.5f", fabs(v[i]) < 5e-6 ? 0 : v[i]);
    printf("\n");
}
static void number(const char *label, double v) { row(label, &v, 1); }
static void small(const char *label, double v) { printf("  %-36s%12.3g\n", label, v); }
static double sum(const double *v, size_t n) { return n ? v[0] + sum(v + 1, n - 1) : 0; }

static double variance(const double *v, size_t n)
{
    double squares = 0;
    for (size_t i = 0; i < n; i++) squares += pow(v[i] - sum(v, n) / (double)n, 2);
    return squares / (double)n;
}

enum { N = 4 };
static const double tiny[N] = { 0.001, 0, 0, 0 };

/* y = LayerNorm of one row. gamma and beta may be NULL. eps 0 means none. */
static void norm(const double *x, size_t n, double eps, const double *gamma, const double *beta, double *y)
{
    gr_tape *t = gr_tape_new(1, NULL);
    const gr_shape shape = GR_SHAPE(n);
    gr_tensor *g = gamma ? gr_input(t, gamma, shape) : NULL, *b = beta ? gr_input(t, beta, shape) : NULL;
    memcpy(y, gr_layer_norm(t, gr_input(t, x, shape), 1, g, b, eps > 0 ? eps : GR_NONE)->data, n * sizeof *y);
    gr_tape_free(t);
}

static void by_hand(void)
{
    double d[N], square[N], xhat[N], without[N];
    const double mean = sum(tiny, N) / N, eps = 1e-5;
    for (int i = 0; i < N; i++) d[i] = tiny[i] - mean, square[i] = d[i] * d[i];
    const double var = sum(square, N) / N;
    for (int i = 0; i < N; i++) xhat[i] = d[i] / sqrt(var + eps), without[i] = d[i] / sqrt(var);
    printf("1. By hand: a row with small values, eps = 1e-5\n\n");
    row("x", tiny, N), number("mean", mean), row("x - mean", d, N), small("var", var), small("var + eps", var + eps);
    number("its root", sqrt(var + eps)), row("xhat = (x - mean) / root", xhat, N);
    number("its variance: var / (var + eps)", var / (var + eps)), row("xhat with eps = 0", without, N);
}

/* How far xhat moves, divided by how far x moves, in the direction v: by a nudge of 1e-7. */
static double slope(const double *x, const double *v, size_t n, double eps)
{
    double more[8] = { 0 }, fewer[8] = { 0 }, left[8], right[8], moved = 0, length = 0;
    for (size_t i = 0; i < n; i++) more[i] = x[i] + 1e-7 * v[i], fewer[i] = x[i] - 1e-7 * v[i];
    norm(more, n, eps, NULL, NULL, right), norm(fewer, n, eps, NULL, NULL, left);
    for (size_t i = 0; i < n; i++) moved += pow((right[i] - left[i]) / 2e-7, 2), length += v[i] * v[i];
    return sqrt(moved / length);
}

static void slopes(void)
{
    const double x[N] = { 1, 2, 4, 5 }, all[N] = { 1, 1, 1, 1 }, along[N] = { -2, -1, 1, 2 }, across[N] = { 1, -2, 2, -1 };
    const double eps = 0.1, inside = variance(x, N) + eps;
    printf("\n2. How steep is LayerNorm at (1, 2, 4, 5)? Its variance is 2.5. eps = %g\n\n", eps);
    number("all values move by the same", slope(x, all, N, eps)), number("along x - mean = (-2, -1, 1, 2)", slope(x, along, N, eps));
    number("across both: (1, -2, 2, -1)", slope(x, across, N, eps)), number("1 / sqrt(var + eps)", 1 / sqrt(inside));
    number("the same * eps / (var + eps)", 1 / sqrt(inside) * eps / inside);
}

static void limit(void)
{
    const double across[N] = { 1, -2, 2, -1 }, scale[4] = { 1, 0.01, 0.0001, 0 };
    double with[4], without[4];
    for (int k = 0; k < 4; k++) {
        double x[N];
        for (int i = 0; i < N; i++) x[i] = scale[k] * ((const double[N]){ 1, 2, 4, 5 })[i];
        with[k] = slope(x, across, N, 1e-5), without[k] = 1 / (scale[k] * sqrt(2.5));
    }
    printf("\n3. The largest slope, for rows that become small\n\n");
    printf("  %-36s%12g%12g%12g%12g\n", "(1, 2, 4, 5) times", scale[0], scale[1], scale[2], scale[3]);
    row("eps = 1e-5", with, 4), row("eps = 0, by 1 / sqrt(var)", without, 4);
    number("1 / sqrt(1e-5)", 1 / sqrt(1e-5));
}

static void multiples(void)
{
    double y[3];
    printf("\n4. Rows that are multiples of each other, plus a number\n\n");
    norm((double[]){ 1, 2, 4 }, 3, 0, NULL, NULL, y), row("(1, 2, 4), eps = 0", y, 3);
    norm((double[]){ 100, 200, 400 }, 3, 0, NULL, NULL, y), row("(100, 200, 400), eps = 0", y, 3);
    norm((double[]){ 12, 14, 18 }, 3, 0, NULL, NULL, y), row("(12, 14, 18), eps = 0", y, 3);
    norm((double[]){ 0.001, 0.002, 0.004 }, 3, 0, NULL, NULL, y), row("(0.001, 0.002, 0.004), eps = 0", y, 3);
    norm((double[]){ 0.001, 0.002, 0.004 }, 3, 1e-5, NULL, NULL, y), row("(0.001, 0.002, 0.004), eps = 1e-5", y, 3);
}

static void rounded(void)
{
    printf("\n5. x = (1, 2, 3), eps = 0: the last xhat is 1 / sqrt(2/3)\n\n");
    number("sqrt(2/3)", sqrt(2. / 3)), number("1 / sqrt(2/3)", 1 / sqrt(2. / 3)), number("1 / 0.82", 1 / 0.82),
        number("1 / 0.81", 1 / 0.81);
}

static void identity(void)
{
    const double x[N] = { 1, 2, 4, 5 }, other[N] = { 1, 2, 3, 10 }, half[N] = { 2, 2.5, 3.5, 4 };
    double y[N], gamma[N], beta[N];
    const double sigma = sqrt(2.5 + 1e-5);
    for (int i = 0; i < N; i++) gamma[i] = sigma, beta[i] = 3;
    printf("\n6. gamma = sqrt(var + eps) and beta = mean of the row (1, 2, 4, 5)\n\n");
    number("gamma", sigma), number("beta", 3), norm(x, N, 1e-5, gamma, beta, y), row("(1, 2, 4, 5) becomes", y, N);
    norm(other, N, 1e-5, gamma, beta, y), row("other", other, N), row("other becomes", y, N);
    norm(half, N, 1e-5, gamma, beta, y), row("(2, 2.5, 3.5, 4) becomes", y, N);
}

static void padded(void)
{
    const double gamma[N] = { 2, 1, 0.5, 0 }, beta[N] = { 0.5, -1, 2, 3 };
    double y[N];
    printf("\n7. gamma = (2, 1, 0.5, 0), beta = (0.5, -1, 2, 3), eps = 1e-5\n\n");
    norm((double[N]){ 1, 2, 4, 5 }, N, 1e-5, gamma, beta, y), row("(1, 2, 4, 5) becomes", y, N);
    norm((double[N]){ 5, 4, 2, 1 }, N, 1e-5, gamma, beta, y), row("(5, 4, 2, 1) becomes", y, N);
    norm((double[N]){ 0 }, N, 1e-5, gamma, beta, y), row("padding (0, 0, 0, 0) becomes", y, N);
}

static void folded(void)
{
    const double w[3] = { 1, 2, -1 }, gamma[3] = { 3, 0.5, 2 }, beta[3] = { 1, -1, 2 }, b = 0.25, x[3] = { 1, 2, 4 };
    double w_gamma[3], w_beta[3], y[2];
    for (int i = 0; i < 3; i++) w_gamma[i] = w[i] * gamma[i], w_beta[i] = w[i] * beta[i];
    const double folded_b = b + sum(w_beta, 3);
    for (int k = 0; k < 2; k++) {
        gr_tape *t = gr_tape_new(1, NULL);
        gr_tensor *g = k ? NULL : gr_input(t, gamma, GR_SHAPE(3)), *shift = k ? NULL : gr_input(t, beta, GR_SHAPE(3));
        gr_tensor *h = gr_layer_norm(t, gr_input(t, x, GR_SHAPE(1, 3)), 1, g, shift, GR_NONE);
        y[k] = gr_item(gr_linear(t, h, gr_input(t, k ? w_gamma : w, GR_SHAPE(1, 3)), gr_input(t, k ? &folded_b : &b, GR_SHAPE(1))));
        gr_tape_free(t);
    }
    printf("\n8. A linear layer behind the norm: w (gamma xhat + beta) + b, for x = (1, 2, 4)\n\n");
    row("w", w, 3), row("gamma", gamma, 3), row("beta", beta, 3), number("b", b), row("w * gamma", w_gamma, 3);
    number("b + sum of w * beta", folded_b), number("y, with gamma, beta, w, b", y[0]), number("y, without gamma and beta", y[1]);
}

/* The answers to the quiz: answer it first. */
static void quiz(void)
{
    double y[N], gamma[N] = { 3, 3, 3, 3 }, beta[N] = { 1, 1, 1, 1 };
    printf("1. var = eps makes the root sqrt(2) times as large, so that xhat has the variance 1/2.\n");
    norm((const double[N]){ 1, 2, 4, 5 }, N, 2.5, NULL, NULL, y), number("(1, 2, 4, 5), eps = 2.5: variance of xhat", variance(y, N));
    printf("2. No. A row of padding has var = 0, and the largest slope 1 / sqrt(eps).\n");
    number("eps = 1e-5", 1 / sqrt(1e-5)), number("eps = 1e-8", 1 / sqrt(1e-8));
    printf("3. Two values are -1 and 1 up to eps. The only way to move xhat is along it: 1 / sqrt(var + eps) * eps / (var + eps).\n");
    number("(3, 5), eps = 1", slope((const double[]){ 3, 5 }, (const double[]){ 1, -1 }, 2, 1));
    printf("4. The mean of y is beta's and its deviation gamma's, because xhat has the mean 0 and the deviation 1.\n");
    norm((const double[N]){ 1, 2, 4, 5 }, N, 0, gamma, beta, y), row("y", y, N);
    number("mean", sum(y, N) / N), number("deviation", sqrt(variance(y, N)));
    printf("5. gamma = sqrt(var) = 2 and beta = 7. (1, 9) has the same xhat, and so it becomes (5, 9) too.\n");
    norm((const double[]){ 5, 9 }, 2, 0, (const double[]){ 2, 2 }, (const double[]){ 7, 7 }, y), row("(5, 9) becomes", y, 2);
    norm((const double[]){ 1, 9 }, 2, 0, (const double[]){ 2, 2 }, (const double[]){ 7, 7 }, y), row("(1, 9) becomes", y, 2);
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "--quiz")) return quiz(), 0;
    by_hand(), slopes(), limit(), multiples(), rounded(), identity(), padded(), folded();
}
