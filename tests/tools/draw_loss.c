/* tests/tools/draw_loss.c - the picture of the README: the training loss without a norm and with LayerNorm, from two logs of
 * examples/seq_mnist_lstm. It writes the SVG to stdout.
 *
 *     examples/seq_mnist_lstm --data none --steps 400 --norm none --log none.jsonl
 *     examples/seq_mnist_lstm --data none --steps 400 --norm layer --log layer.jsonl
 *     make build/cc/float/tests/tools/draw_loss
 *     build/cc/float/tests/tools/draw_loss none.jsonl layer.jsonl > examples/dive/figures/lstm_loss.svg
 */
#include "examples/plot/figure.h"
#include <string.h>

enum { POINTS = 400, PER_POINT = 5, LAST = 10 }; /* a point is the mean over 5 steps; the headline compares the last 10 points */

/* Read the loss of each step of a log into x (the middle of the steps of a point) and y. Return the number of points. */
static size_t read_log(const char *path, double *x, double *y)
{
    char line[1024];
    size_t steps = 0;
    double sum = 0;
    FILE *const in = fopen(path, "r");
    while (in && fgets(line, sizeof line, in) && steps < POINTS * PER_POINT) {
        const char *const loss = strstr(line, "\"loss\": ");
        double value;
        if (!strstr(line, "{\"kind\": \"step\"") || !loss || sscanf(loss, "\"loss\": %lf", &value) != 1) continue;
        sum += value, steps++;
        if (steps % PER_POINT) continue;
        x[steps / PER_POINT - 1] = (double)steps - (PER_POINT - 1) / 2.0, y[steps / PER_POINT - 1] = sum / PER_POINT, sum = 0;
    }
    if (in) fclose(in);
    return steps / PER_POINT;
}

static double mean_of(const double *y, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += y[i];
    return sum / (double)n;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        plot_ink ink;
    } arm[] = { { "no norm", PLOT_INK_NONE }, { "LayerNorm", PLOT_INK_LN } };
    double x[POINTS], y[POINTS], last[2];
    if (argc != 3) return fprintf(stderr, "draw_loss NONE.jsonl LAYER.jsonl > OUT.svg\n"), 2;
    gr_tape *const t = gr_tape_new(0, NULL);
    plot_figure *const f = plot_figure_new(t, "lstm_loss", "An LSTM reads digits row by row");
    plot_panel *const p = plot_panel_new(f, &(plot_panel){ .x = { "training step" }, .y = { "training loss", .log = true }, .aspect = 2 });
    plot_figure_says(
        f, PLOT_SAY_CAPTION,
        "Drawn digits, batch 64, seed 42: both runs see the same images in the same order. Each point is the mean over %d steps.",
        PER_POINT);
    for (int i = 0; i < 2; i++) {
        const size_t n = read_log(argv[1 + i], x, y);
        if (n < LAST)
            return fprintf(stderr, "draw_loss: %s holds fewer than %d steps\n", argv[1 + i], LAST * PER_POINT), gr_tape_free(t), 1;
        last[i] = mean_of(y + n - LAST, LAST);
        plot_series_add(p, &(plot_series){ .name = arm[i].name, .ink = arm[i].ink, .n = n, .x = x, .y = y });
    }
    plot_figure_says(f, PLOT_SAY_NUMBER, "Mean training loss of the last %d steps: %.2f without a norm, %.2f with LayerNorm",
                     LAST * PER_POINT, last[0], last[1]);
    plot_figure_svg(stdout, f);
    const bool failed = gr_failed(t) || fflush(stdout) != 0;
    if (failed) fprintf(stderr, "draw_loss: %s\n", gr_message(t));
    gr_tape_free(t);
    return failed;
}
