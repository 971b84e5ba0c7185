/* lesson.c - five norms, one formula: which values share a mean and a variance.
 *
 * Shows: the means of eight values in three norms, by hand; the pictures of five norms; what each of them does not notice; RMSNorm, which has
 *        no mean, forward and backward by hand; what LayerNorm and RMSNorm do with an offset.
 * Run:   make lesson N=12        expected.txt is its output; make quiz N=12 prints the answers to the quiz                                */
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

/* x [2, 4, 2]: two samples, four channels, two positions. The first sample is the one of the page. */
enum { SAMPLES = 2, CHANNELS = 4, POSITIONS = 2, LEN = SAMPLES * CHANNELS * POSITIONS, ONE = LEN / SAMPLES };
static const double x[LEN] = { 1, 3, 5, 7, 0, 2, 8, 10, 4, 1, 0, 3, 9, 2, 6, 5 };

static void means(void)
{
    double channel[4], two[2], all;
    for (int c = 0; c < 4; c++) channel[c] = sum(x + 2 * c, 2) / 2;
    two[0] = sum(x, 4) / 4, two[1] = sum(x + 4, 4) / 4, all = sum(x, 8) / 8;
    printf("1. By hand: one sample with four channels, two values each\n\n");
    row("channels 0 and 1", x, 4), row("channels 2 and 3", x + 4, 4);
    printf("\n   the means\n\n");
    row("InstanceNorm: for each channel", channel, 4), row("GroupNorm: for each of 2 groups", two, 2),
        number("LayerNorm: one for all", all);
}

static const char *const names[] = { "BatchNorm", "InstanceNorm", "GroupNorm, 2 groups", "LayerNorm", "RMSNorm" };

/* Norm number k for x [2, 4, 2], without gamma and beta. */
static gr_module *make(gr_tape *t, gr_module *net, int k)
{
    static const gr_norm_kind kinds[] = { GR_NORM_BATCH, GR_NORM_INSTANCE, GR_NORM_GROUP, GR_NORM_LAYER };
    const gr_norm_config config = { .axis = 1, .groups = 2, .no_affine = true, .no_running = true, .eps = GR_NONE },
                         plain = { .no_affine = true };
    if (k < 4) return gr_norm_new(t, net, "norm", kinds[k], CHANNELS, &config);
    return &gr_rms_norm_new(t, net, "norm", GR_SHAPE(CHANNELS, POSITIONS), &plain)->module;
}

static void pictures(void)
{
    printf("\n2. The pictures of [2, 4, 2]: equal letters share a mean and a variance\n");
    for (int k = 0; k < 5; k++) {
        gr_tape *t = gr_tape_new(1, NULL);
        gr_module *net = gr_module_new(t), *norm = make(t, net, k);
        printf("\n   %s%s\n\n", names[k], k == 3 ? ": gradus makes it as a GroupNorm with one group" : "");
        gr_print_norm(t, norm, GR_SHAPE(SAMPLES, CHANNELS, POSITIONS), stdout);
        gr_module_free(net), gr_tape_free(t);
    }
}

/* The outputs of the first sample. */
static void run(int k, const double *values, double *y)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *net = gr_module_new(t), *norm = make(t, net, k);
    memcpy(y, gr_forward(t, norm, gr_input(t, values, GR_SHAPE(SAMPLES, CHANNELS, POSITIONS)))->data, ONE * sizeof *y);
    gr_module_free(net), gr_tape_free(t);
}

/* How much the outputs of the first sample move at most for each of five changes of x. */
static void what_moves(void)
{
    printf("\n3. How much the outputs of sample 0 change at most\n\n");
    printf("  %-36s%11s%11s%11s%11s%11s\n", "", "all + 10", "all * 10", "ch. 0 + 10", "ch. 0 * 10", "sample 1");
    for (int k = 0; k < 5; k++) {
        double most[5] = { 0 };
        for (int change = 0; change < 5; change++) {
            double other[LEN], y[ONE], moved[ONE];
            for (int i = 0; i < LEN; i++) {
                const bool first_channel = i % ONE < POSITIONS, second_sample = i >= ONE;
                other[i] = x[i];
                if (change == 0 || (change == 2 && first_channel)) other[i] += 10;
                if (change == 1 || (change == 3 && first_channel) || (change == 4 && second_sample)) other[i] *= 10;
            }
            run(k, x, y), run(k, other, moved);
            for (int i = 0; i < ONE; i++) most[change] = fmax(most[change], fabs(moved[i] - y[i]));
        }
        row(names[k], most, 5);
    }
}

/* y and dx of one row: k 0 is a LayerNorm, k 1 an RMSNorm. */
static void one_row(int k, const double *v, size_t n, const double *dy, double *y, double *dx)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *in = gr_want_grad(t, gr_input(t, v, GR_SHAPE(n)));
    gr_tensor *out = k ? gr_rms_norm(t, in, 1, NULL, GR_NONE) : gr_layer_norm(t, in, 1, NULL, NULL, GR_NONE);
    gr_backward_from(t, out, dy);
    memcpy(y, out->data, n * sizeof *y), memcpy(dx, gr_grad(t, in), n * sizeof *dx);
    gr_tape_free(t);
}

static void rms(void)
{
    const double v[2] = { 3, 4 }, g[2] = { 1, 0 };
    double square[2], xhat[2], direct[2], second[2], dx[2];
    for (int i = 0; i < 2; i++) square[i] = v[i] * v[i];
    const double ms = sum(square, 2) / 2, rstd = 1 / sqrt(ms);
    for (int i = 0; i < 2; i++) xhat[i] = v[i] * rstd;
    const double mean_gx = (g[0] * xhat[0] + g[1] * xhat[1]) / 2;
    for (int i = 0; i < 2; i++) direct[i] = rstd * g[i], second[i] = -rstd * xhat[i] * mean_gx, dx[i] = direct[i] + second[i];
    printf("\n4. RMSNorm by hand: x = (3, 4), gamma = 1, eps = 0, and a loss that is y_0\n\n");
    row("x", v, 2), row("x^2", square, 2), number("their mean", ms), number("its root, the RMS", sqrt(ms)), row("xhat = x / RMS", xhat, 2);
    row("g = dy", g, 2), number("mean(g * xhat)", mean_gx), row("direct term    g / RMS", direct, 2);
    row("second term    -xhat * .. / RMS", second, 2), row("dx, their sum", dx, 2);
    number("sum of dx", sum(dx, 2)), number("sum of dx * xhat", dx[0] * xhat[0] + dx[1] * xhat[1]);
}

static void compared(void)
{
    const double row0[3] = { 1, 2, 4 }, shifted[3] = { 11, 12, 14 }, g[3] = { 1, 0, 0 };
    double y[3], dx[3];
    printf("\n5. LayerNorm and RMSNorm of a row, eps = 0\n\n");
    for (int k = 0; k < 2; k++) {
        printf("%s   %s\n\n", k ? "\n" : "", k ? "RMSNorm" : "LayerNorm");
        one_row(k, row0, 3, g, y, dx), row("y of (1, 2, 4)", y, 3), number("mean of y", sum(y, 3) / 3);
        row("dx of a loss that is y_0", dx, 3), number("sum of dx", sum(dx, 3));
        one_row(k, shifted, 3, g, y, dx), row("y of (11, 12, 14)", y, 3);
    }
}

/* The answers to the quiz and to Try: do both first. */
static void quiz(void)
{
    double y[3], dx[3];
    printf("1. One mean for each of 8 samples and 32 groups, over 64 / 32 channels times 10 positions.\n");
    row("means, values of each", (double[]){ 8 * 32, 2 * 10 }, 2);
    printf("2. One group: LayerNorm over channels and positions. 64 groups: InstanceNorm. BatchNorm is no GroupNorm: it joins samples.\n");
    printf("3. The RMS is 5 / sqrt(2), as for (3, 4): x / RMS keeps the sign.\n");
    one_row(1, (const double[]){ -3, 4 }, 2, (const double[]){ 1, 0 }, y, dx), row("RMSNorm of (-3, 4)", y, 2);
    printf("4. If the mean of the row is 0, var is the mean of x^2.\n");
    one_row(0, (const double[]){ -3, 1, 2 }, 3, (const double[]){ 1, 0, 0 }, y, dx), row("LayerNorm of (-3, 1, 2)", y, 3);
    one_row(1, (const double[]){ -3, 1, 2 }, 3, (const double[]){ 1, 0, 0 }, y, dx), row("RMSNorm of (-3, 1, 2)", y, 3);
    printf("5. RMSNorm makes it nearly 1 or -1, for any x far from 0; LayerNorm makes it 0, because x - mean is 0.\n");
    one_row(1, (const double[]){ 7 }, 1, (const double[]){ 1 }, y, dx), row("RMSNorm of (7): y, dx", (double[]){ y[0], dx[0] }, 2);
    printf("Try 1. With 4 groups, GroupNorm has the picture of InstanceNorm: each group has one channel.\n");
    printf("Try 2. InstanceNorm takes each mean over one value, so x - mean is 0, and xhat is 0, too: gradus defines 1 / sqrt(0) as 0.\n"
           "  RMSNorm refuses: it was made for rows of [4, 2].\n");
    printf("Try 3. The y of LayerNorm. A row whose mean is 0 has the same RMS as deviation.\n");
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "--quiz")) return quiz(), 0;
    means(), pictures(), what_moves(), rms(), compared();
}
