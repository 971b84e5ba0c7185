/* tests/report/demo.c - a report of everything that examples/plot draws, from invented numbers: demo FOLDER [PLOTLY] writes
 * FOLDER/report.html, which contains PLOTLY if that is given, FOLDER/report_cdn.html, which does not, and FOLDER/figures. It serves
 * check_report.py; the folders must exist. */
#include "examples/kit/output.h"
#include "examples/plot/page.h"
#include "examples/kit/program.h"
#include <math.h>
#include <string.h>

enum { STEPS = 31, UNITS = 24, POINTS = 200, LAYERS = 10 };
static const char *const arm[] = { "no norm", "BatchNorm", "LayerNorm" };
static const plot_ink ink[] = { PLOT_INK_NONE, PLOT_INK_BN, PLOT_INK_LN };

static double steps[STEPS];
static gr_stream random_stream;
static double noise(double scale) { return gr_stream_uniform(&random_stream, -scale, scale); }

static plot_figure *loss(gr_tape *t)
{
    plot_figure *const f = plot_figure_new(t, "loss", "Training loss & accuracy");
    const char *const model[] = { "MLP", "LSTM", "CNN", "Transformer" };
    plot_figure_frames(f, "step", steps, STEPS);
    plot_figure_says(f, PLOT_SAY_QUESTION, "Does the network learn faster when a layer is normalized?");
    plot_figure_says(f, PLOT_SAY_NUMBER, "0.31, 0.28, 0.12 training loss of the LSTM after 3,000 steps: none, BN, LN");
    plot_figure_says(
        f, PLOT_SAY_CAPTION,
        "Made-up training loss of four networks: mean of five runs, with the band from the best to the worst. Look at the left edge, where "
        "the curves begin to fall; p < 0.05 & \"quotes\" are here to be escaped.");
    for (int m = 0; m < 4; m++) {
        plot_panel *const p = plot_panel_new(
            f, &(plot_panel){
                   .title = model[m], .note = "10 layers, digits", .x = { "training step" }, .x2 = { "seconds" }, .y = { "training loss", .log = true } });
        for (int a = 0; a < 3; a++) {
            double y[STEPS], low[STEPS], high[STEPS], seconds[STEPS];
            for (int i = 0; i < STEPS; i++) {
                seconds[i] = steps[i] * (a + 1) / 100;
                y[i] = (0.05 + 0.1 * (2 - a) + 2.2 * exp(-steps[i] / (300.0 + 200 * m * (3 - a)))) * exp(noise(0.05));
                low[i] = y[i] * 0.8, high[i] = y[i] * 1.25;
            }
            plot_series_add(
                p,
                &(plot_series){ .name = arm[a], .ink = ink[a], .n = STEPS, .x = steps, .x2 = seconds, .y = y, .low = low, .high = high, .reveal = true });
        }
    }
    return f;
}

static plot_figure *flow(gr_tape *t)
{
    enum { FRAMES = 8 };
    plot_figure *const f = plot_figure_new(t, "gradient_flow", "Gradient flow");
    double at[FRAMES], x[LAYERS], y[FRAMES][LAYERS];
    const char *const word[LAYERS] = { "input", "fc1", "fc2", "fc3", "attention", "feed-forward", "fc6", "fc7", "fc8", "output" };
    for (int k = 0; k < FRAMES; k++) at[k] = 400.0 * k;
    for (int i = 0; i < LAYERS; i++) x[i] = i;
    plot_figure_frames(f, "step", at, FRAMES);
    plot_figure_says(f, PLOT_SAY_NUMBER, "10,000 times less reaches the first layer than the last, without a norm");
    plot_figure_says(f, PLOT_SAY_CAPTION, "Norm of the gradient at each layer. Thin lines are the state before the first step.");
    for (int m = 0; m < 2; m++) {
        plot_panel *const p =
            plot_panel_new(f, &(plot_panel){ .title = m ? "Transformer" : "MLP",
                                             .x = { m ? NULL : "layer, input to output", .tick = m ? word : NULL, .ticks = m ? LAYERS : 0 },
                                             .y = { "gradient norm", .log = true } });
        for (int a = 0; a < 3; a++) {
            for (int k = 0; k < FRAMES; k++)
                for (int i = 0; i < LAYERS; i++)
                    y[k][i] = pow(10, -1 - 0.2 * a - (0.5 - 0.2 * a) * (LAYERS - i) / (1 + 0.2 * k) + noise(0.1));
            plot_series_add(p, &(plot_series){ .ink = ink[a], .n = LAYERS, .x = x, .y = y[0], .ghost = true });
            plot_series_add(
                p,
                &(plot_series){
                    .name = arm[a], .ink = ink[a], .mark = m ? PLOT_LINE_DOTS : PLOT_DOTS, .n = LAYERS, .x = x, .y = y[0], .moves = true });
        }
    }
    return f;
}

static plot_figure *correlation(gr_tape *t)
{
    enum { FRAMES = 4 };
    static double r[FRAMES][UNITS][UNITS], grid[4][6];
    const double at[FRAMES] = { 0, 100, 1000, 3000 };
    const char *const rate[] = { "0.0001", "0.0003", "0.001", "0.003", "0.01", "0.03" }, *const size[] = { "1", "8", "32", "128" };
    plot_figure *const f = plot_figure_new(t, "correlation", "Correlation of hidden units");
    plot_figure_frames(f, "step", at, FRAMES);
    if (f) f->columns = 3;
    plot_figure_says(f, PLOT_SAY_NUMBER, "0.31, 0.12, 0.09 mean |r|: none, BN, LN");
    plot_figure_says(
        f, PLOT_SAY_CAPTION,
        "Pearson correlation of 24 units over 1,000 samples; the last map has words at its axes and a cell that is not a number.");
    for (int a = 0; a < 3; a++) {
        for (int k = 0; k < FRAMES; k++)
            for (int i = 0; i < UNITS; i++)
                for (int j = 0; j <= i; j++)
                    r[k][i][j] = r[k][j][i] = i == j ? 1 : fmax(-1, fmin(1, (i / 6 == j / 6 ? 0.25 * k / (1 + a) : 0) + noise(0.2)));
        plot_panel *const p = plot_panel_new(f, &(plot_panel){ .title = arm[a], .note = "mean |r| 0.12" });
        plot_map_set(p, &(plot_map){ .rows = UNITS,
                                     .columns = UNITS,
                                     .values = r[0][0],
                                     .moves = true,
                                     .diverging = true,
                                     .low = -1,
                                     .high = 1,
                                     .means = "correlation" });
    }
    for (int i = 0; i < 24; i++) grid[i / 6][i % 6] = i == 9 ? (double)NAN : 0.05 * i;
    plot_panel *const p = plot_panel_new(
        f,
        &(plot_panel){ .title = "Loss", .x = { "learning rate", .tick = rate, .ticks = 6 }, .y = { "batch", .tick = size, .ticks = 4 } });
    plot_map_set(p, &(plot_map){ .rows = 4, .columns = 6, .values = grid[0], .low = 0, .high = 1.2, .means = "loss" });
    return f;
}

static plot_figure *sphere(gr_tape *t)
{
    enum { FRAMES = 5 };
    static double v[3][FRAMES][POINTS];
    static int group[POINTS];
    double at[FRAMES];
    plot_figure *const f = plot_figure_new(t, "sphere", "Activations before and after LayerNorm");
    for (int k = 0; k < FRAMES; k++) at[k] = 50.0 * k;
    plot_figure_frames(f, "step", at, FRAMES);
    plot_figure_says(f, PLOT_SAY_NUMBER, "2.000 \xc2\xb1 0.001: the radius after LayerNorm of four units");
    plot_figure_says(f, PLOT_SAY_CAPTION, "Each point is one test image; drag to turn both clouds together, or use the two buttons.");
    for (int after = 0; after < 2; after++) {
        for (int k = 0; k < FRAMES; k++)
            for (int i = 0; i < POINTS; i++) {
                double p[3], length = 0;
                group[i] = i % 10;
                for (int d = 0; d < 3; d++) p[d] = sin(group[i] * (d + 1.7)) * (0.3 + 0.3 * k) + noise(0.8), length += p[d] * p[d];
                for (int d = 0; d < 3; d++) v[d][k][i] = after ? 2 * p[d] / sqrt(length) : p[d] + 0.5;
            }
        plot_panel *const p = plot_panel_new(f, &(plot_panel){ .title = after ? "After LayerNorm" : "Before", .aspect = 1.3 });
        plot_cloud_set(p, &(plot_cloud){ .n = POINTS,
                                         .x = v[0][0],
                                         .y = v[1][0],
                                         .z = v[2][0],
                                         .moves = true,
                                         .reach = 3,
                                         .group = group,
                                         .groups = 10,
                                         .axis = { "h1", "h2", "h3" },
                                         .means = "digit",
                                         .circles = after ? 2 : 0 });
    }
    return f;
}

static plot_figure *histograms(gr_tape *t)
{
    enum { BINS = 40 };
    double x[BINS], y[BINS];
    plot_figure *const f = plot_figure_new(t, "gamma_beta", "Initial \xce\xb3 and \xce\xb2");
    if (f) f->columns = 3;
    plot_figure_says(f, PLOT_SAY_CAPTION, "Histograms of \xce\xb3 x\xcc\x82 + \xce\xb2, and curves of an ordered family.");
    for (int g = 0; g < 3; g++) {
        plot_panel *const p = plot_panel_new(f, &(plot_panel){ .title = plot_figure_text(f, "\xce\xb3 = %g", 0.5 * pow(2, g)),
                                                               .x = { "value", .low = -4, .high = 4 },
                                                               .y = { "share" } });
        for (int i = 0; i < BINS; i++) x[i] = -4 + 8 * (i + 0.5) / BINS, y[i] = exp(-x[i] * x[i] / 2 / pow(4, g - 1)) / pow(2, g - 1) / 10;
        plot_series_add(p, &(plot_series){ .name = "LayerNorm", .ink = PLOT_INK_LN, .mark = PLOT_BARS, .n = BINS, .x = x, .y = y });
    }
    plot_part_begin(f, "A family", "Five curves with a key of their own.", true);
    plot_panel *const p = plot_panel_new(f, &(plot_panel){ .title = "Family", .x = { "x" }, .y = { "y" } });
    for (int k = 0; k < 5; k++) {
        for (int i = 0; i < BINS; i++) y[i] = sin(x[i] + 0.4 * k);
        plot_series_add(
            p, &(plot_series){
                   .name = plot_figure_text(f, "\xce\xb3 %g", 0.1 * (k + 1)), .ink = PLOT_INK_RAMP0 + k, .n = BINS, .x = x, .y = y });
    }
    return f;
}

/* Series of failed runs: each must be drawn or left out, without nan or inf. */
static plot_figure *awkward(gr_tape *t)
{
    enum { N = 6 };
    const double inf = HUGE_VAL, nan = (double)NAN, x[N] = { 1, 2, 3, 4, 5, 6 };
    static const struct {
        const char *title;
        double y[6];
        size_t n;
        bool log;
    } row[] = {
        { "empty", { 0 }, 0, false },
        { "one point", { 3 }, 1, false },
        { "constant", { 0.1, 0.1, 0.1, 0.1, 0.1, 0.1 }, N, false },
        { "constant, log", { 7, 7, 7, 7, 7, 7 }, N, true },
        { "zero", { 0 }, N, false },
        { "zero, log", { 0 }, N, true },
        { "huge", { -1e300, 1e300, 0, 1e299, -1e299, 5e299 }, N, false },
        { "huge, log", { 1e-300, 1e300, 1, 1e10, 1e-10, 1e200 }, N, true },
        { "negative, log", { -1, 2, -3, 40, 5, 6 }, N, true },
        { "tiny", { 1e-12, 3e-12, 2e-12, 1e-12, 0, -1e-12 }, N, false },
        { "nearly constant", { 99.9991, 99.9992, 99.9995, 99.9993, 99.9994, 99.9999 }, N, false },
    };
    plot_figure *const f = plot_figure_new(t, "awkward", "Series that are awkward to draw");
    if (f) f->columns = 4;
    plot_figure_says(f, PLOT_SAY_CAPTION, "Empty, constant, huge, negative and not finite.");
    for (size_t k = 0; k < sizeof row / sizeof *row; k++) {
        plot_panel *const p = plot_panel_new(f, &(plot_panel){ .title = row[k].title, .x = { "x" }, .y = { "y", .log = row[k].log } });
        plot_series_add(p, &(plot_series){ .name = "y",
                                           .ink = PLOT_INK_LN,
                                           .mark = PLOT_LINE_DOTS,
                                           .n = row[k].n,
                                           .x = x,
                                           .y = row[k].y,
                                           .low = row[k].y,
                                           .high = row[k].y });
    }
    const double odd[N] = { nan, 1, inf, 2, -inf, nan }, none[N] = { nan, nan, inf, -inf, nan, nan };
    plot_panel *p = plot_panel_new(f, &(plot_panel){ .title = "not finite", .x = { "x" }, .y = { "y" } });
    plot_series_add(
        p, &(plot_series){ .name = "y", .ink = PLOT_INK_LN, .mark = PLOT_LINE_DOTS, .n = N, .x = x, .y = odd, .low = odd, .high = odd });
    plot_series_add(p, &(plot_series){ .name = "bars", .ink = PLOT_INK_BN, .mark = PLOT_BARS, .n = N, .x = x, .y = odd });
    p = plot_panel_new(f, &(plot_panel){ .title = "nothing finite", .x = { "x" }, .y = { "y" } });
    plot_series_add(p, &(plot_series){ .name = "y", .ink = PLOT_INK_LN, .n = N, .x = none, .y = none });
    return f;
}

static plot_figure *claims(gr_tape *t)
{
    static const char *const head[] = { "Statement", "Source", "Measured", "Control", "Verdict", "Why" };
    static const char *const text[] = {
        "LayerNorm is invariant to scaling of the weights, and the output stays as it was",
        "Ba et al. 2016, table 1",
        "2.4e-7 largest difference",
        "plain: 1.0",
        "PASS",
        "",
        "LayerNorm reaches a higher final accuracy",
        "document 2",
        "98.1 % against 98.4 %",
        "same seeds",
        "FAIL",
        "the network without a norm is wide enough to learn all of it",
        "BatchNorm is unstable at small batches",
        "document 1",
        "61 % at batch 2",
        "94 % at 128",
        "DIFFERS",
        "it learns, but more slowly & with < half the accuracy",
    };
    static const char *const about[] = { "correlation", "loss", "loss" };
    plot_figure *const f = plot_figure_new(t, "claims", "Claims");
    plot_figure_says(f, PLOT_SAY_NUMBER, "1 of 3 claims holds here");
    plot_figure_says(f, PLOT_SAY_CAPTION, "A claim passes when the interval over five seeds excludes equality.");
    plot_panel *const p = plot_panel_new(f, &(plot_panel){ .note = "Every statement, its source, and what was measured." });
    plot_table_set(p, &(plot_table){ .rows = 3, .columns = 6, .head = head, .text = text, .verdict = 4, .link = about });
    return f;
}

static void write_figure(gr_tape *t, const char *folder, const plot_figure *f)
{
    char path[4096];
    for (int svg = 0; svg < 2; svg++) {
        snprintf(path, sizeof path, "%s/figures/%s.%s", folder, f->name, svg ? "svg" : "json");
        kit_file file = kit_file_begin(t, path);
        if (!file.out) return;
        (svg ? plot_figure_svg : plot_figure_json)(file.out, f);
        kit_file_end(t, &file);
    }
}

int main(int argc, char **argv)
{
    static const char *const fact[][2] = { { "command", "demo FOLDER" }, { "data", "made up" }, { "seeds", "7" } };
    plot_figure *(*const make[])(gr_tape *) = { loss, flow, correlation, sphere, histograms, awkward, claims };
    enum { N = sizeof make / sizeof *make };
    if (argc < 2) return fprintf(stderr, "demo FOLDER [PLOTLY]\n"), KIT_BAD_INPUT;
    gr_tape *const t = gr_tape_new(7, NULL);
    plot_figure *f[N];
    char path[4096];
    random_stream = gr_stream_new(7, "demo");
    for (int i = 0; i < STEPS; i++) steps[i] = 100.0 * i;
    for (int i = 0; i < N; i++) f[i] = make[i](t);
    plot_page page = { "Everything that examples/plot draws", "A page of made-up numbers, for tests in a browser.", NULL, fact, 3, NULL };
    for (int i = 0; i < N && !gr_failed(t); i++) write_figure(t, argv[1], f[i]);
    snprintf(path, sizeof path, "%s/report_cdn.html", argv[1]), plot_page_write(t, path, &page, f, N);
    page.plotly = argc > 2 ? plot_plotly_read(t, argv[2]) : NULL;
    snprintf(path, sizeof path, "%s/report.html", argv[1]);
    if (page.plotly) plot_page_write(t, path, &page, f, N);
    const int code = kit_exit_code(t, "demo", true);
    gr_tape_free(t);
    return code;
}
