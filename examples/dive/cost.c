/* examples/dive/cost.c - six ways to write LayerNorm, and RMSNorm: the time of forward and backward for several sizes, and the error of output
 * and gradient where the mean is many deviations.
 *
 * Records: `seconds/WAY/forward`, `/backward`, `ratio/WAY/forward`, `/backward` [sizes], which are times and differ from run to run;
 * `values` [sizes]; `error/WAY/y`, `/dx` [8], for means of 1 to 1e6 deviations, and for equal values. */
#include "examples/dive/seeds.h"
#include "examples/norms/norm.h"
#include <math.h>

static const struct {
    const char *name;
    size_t rows, N;
} size_of[] = { { "64 × 128", 64, 128 },     { "128 × 512", 128, 512 }, { "512 × 768", 512, 768 },   { "1792 × 512", 1792, 512 },
                { "256 × 4096", 256, 4096 }, { "8192 × 64", 8192, 64 }, { "16384 × 16", 16384, 16 }, { "32 × 65536", 32, 65536 } };
enum { SIZES = sizeof size_of / sizeof *size_of, RATIOS = 8 };
static const char *const pass_name[] = { "forward", "backward" };
static const char *const ratio_name[RATIOS] = { "1", "10", "100", "1000", "10⁴", "10⁵", "10⁶", "equal" };
static const plot_ink way_ink[NORMS_TIMED] = { PLOT_INK_LN, PLOT_INK_NONE,  PLOT_INK_RAMP4, PLOT_INK_RAMP3,
                                               PLOT_INK_GN, PLOT_INK_RAMP0, PLOT_INK_RMS };

/* ---- Measuring ---- */

static void measure_times(dive *d, gr_tape *t)
{
    double seconds[NORMS_TIMED][2][SIZES], ratio[NORMS_TIMED][2][SIZES], values[SIZES];
    const size_t n = dive_pick(d, 1, 5, SIZES);
    for (size_t k = 0; k < n; k++) {
        norms_way_time time[NORMS_TIMED];
        if (!dive_tick(d, 0.9 * (double)k / (double)n, "%s", size_of[k].name)) return;
        if (!norms_way_times(t, size_of[k].rows, size_of[k].N, dive_pick(d, 1, 3, 15), time)) return;
        values[k] = (double)(size_of[k].rows * size_of[k].N);
        for (int way = 0; way < NORMS_TIMED; way++)
            for (int p = 0; p < 2; p++) seconds[way][p][k] = time[way].seconds[p], ratio[way][p][k] = time[way].ratio[p];
    }
    dive_put(d, GR_SHAPE(n), values, "values");
    for (int way = 0; way < NORMS_TIMED; way++)
        for (int p = 0; p < 2; p++) {
            dive_put(d, GR_SHAPE(n), seconds[way][p], "seconds/%s/%s", norms_way_name[way], pass_name[p]);
            dive_put(d, GR_SHAPE(n), ratio[way][p], "ratio/%s/%s", norms_way_name[way], pass_name[p]);
        }
}

static void measure_errors(dive *d, gr_tape *t)
{
    double y[NORMS_WAYS][RATIOS], dx[NORMS_WAYS][RATIOS];
    norms_rows b;
    if (!norms_rows_new(t, &b, 64, 512)) return;
    for (int k = 0; k < RATIOS && !gr_failed(t); k++) {
        norms_rows_fill(t, &b, k < 7 ? pow(10, k) : 0.1, k < 7);
        for (int way = 0; way < NORMS_WAYS; way++) {
            const norms_error e = norms_way_error(t, (norms_way)way, &b, 1e-5);
            y[way][k] = e.y, dx[way][k] = e.dx;
        }
    }
    for (int way = 0; way < NORMS_WAYS && !gr_failed(t); way++) {
        dive_put(d, GR_SHAPE(RATIOS), y[way], "error/%s/y", norms_way_name[way]);
        dive_put(d, GR_SHAPE(RATIOS), dx[way], "error/%s/dx", norms_way_name[way]);
    }
    norms_rows_free(t, &b);
}

void dive_cost_measure(dive *d)
{
    gr_tape *const t = dive_tape(d, dive_seed(d, 0));
    measure_times(d, t);
    if (dive_tick(d, 0.9, "errors")) measure_errors(d, t);
    dive_tape_free(d, t);
}

/* ---- The figure ---- */

static double at(const dive *d, size_t k, const char *kind, int way, const char *what)
{
    const plot_record *const p = plot_runs_get(&d->runs, "cost", "%s/%s/%s", kind, norms_way_name[way], what);
    return p && k < p->n ? p->values[k] : (double)NAN;
}

static size_t sizes(const dive *d)
{
    const plot_record *const p = plot_runs_get(&d->runs, "cost", "values");
    return p && p->n <= SIZES ? p->n : 0;
}

/* The geometric mean over sizes of the ratio to the fused operator's time. */
static double mean_ratio(const dive *d, int way, int pass)
{
    double sum = 0;
    const size_t n = sizes(d);
    for (size_t k = 0; k < n; k++) sum += log(at(d, k, "ratio", way, pass_name[pass]));
    return n ? exp(sum / (double)n) : (double)NAN;
}

static void draw_times(const dive *d, plot_figure *f, int pass)
{
    static const char *const title[] = { "Time, forward", "Time, backward" };
    static const char *name[SIZES];
    const size_t n = sizes(d);
    for (size_t k = 0; k < SIZES; k++) name[k] = size_of[k].name;
    plot_panel *const p =
        plot_panel_new(f, &(plot_panel){ .title = title[pass],
                                         .note = "differs from run to run",
                                         .x = { "rows × values", .low = -0.3, .high = (double)n - 0.7, .tick = name, .ticks = n },
                                         .y = { "nanoseconds per value", .log = true },
                                         .aspect = 1.1 });
    for (int way = 0; way < NORMS_TIMED; way++) {
        double x[SIZES], y[SIZES];
        for (size_t k = 0; k < n; k++)
            x[k] = (double)k, y[k] = 1e9 * at(d, k, "seconds", way, pass_name[pass]) / (double)(size_of[k].rows * size_of[k].N);
        plot_series_add(p, &(plot_series){ .name = norms_way_name[way], .ink = way_ink[way], .mark = PLOT_DOTS, .n = n, .x = x, .y = y });
    }
}

static void draw_errors(const dive *d, plot_figure *f, const char *what, const char *title, const char *label)
{
    plot_panel *const p = plot_panel_new(f, &(plot_panel){ .title = title,
                                                           .note = "an error of 0, NaN or infinity has no dot",
                                                           .x = { "mean in deviations", .tick = ratio_name, .ticks = RATIOS },
                                                           .y = { label, .log = true },
                                                           .aspect = 1.1 });
    for (int way = 0; way < NORMS_WAYS; way++) {
        double x[RATIOS + 1], y[RATIOS + 1];
        for (size_t k = 0; k < RATIOS; k++) {
            const bool equal = k == RATIOS - 1; /* a gap before it, because it is no number */
            const double v = at(d, k, "error", way, what);
            x[k + equal] = (double)k, y[k + equal] = v > 0 ? v : (double)NAN;
        }
        x[RATIOS - 1] = RATIOS - 1.5, y[RATIOS - 1] = (double)NAN;
        plot_series_add(
            p, &(plot_series){ .name = norms_way_name[way], .ink = way_ink[way], .mark = PLOT_LINE_DOTS, .n = RATIOS + 1, .x = x, .y = y });
    }
}

void dive_cost_draw(const dive *d, plot_figure *f)
{
    f->title = "Time and error of LayerNorm", f->columns = 4;
    draw_times(d, f, 0), draw_times(d, f, 1);
    draw_errors(d, f, "y", "Error of the output", "|y - exact|");
    draw_errors(d, f, "dx", "Error of the gradient", "|dx - exact|");
    plot_figure_says(f, PLOT_SAY_QUESTION,
                     "How much time does a fused operator save, and how many digits does a single pass over the values cost?");
    plot_figure_says(f, PLOT_SAY_NUMBER,
                     "LayerNorm composed of plain operators takes %.1f times as long as the fused operator forward, %.1f times backward, geometric mean over "
                     "sizes",
                     mean_ratio(d, NORMS_WAY_COMPOSED, 0), mean_ratio(d, NORMS_WAY_COMPOSED, 1));
    const double one = at(d, 4, "error", NORMS_WAY_ONE_PASS, "y"), fused = at(d, 4, "error", NORMS_WAY_FUSED, "y");
    const char *const lost = isfinite(one) ? plot_figure_text(f, "%.2g", one) : "NaN, because that variance comes out negative";
    plot_figure_says(
        f, PLOT_SAY_CAPTION,
        "Time as a multiple of the fused operator's, forward and backward, geometric mean over sizes: one-pass %.2f and %.2f, two-pass %.2f and "
        "%.2f, Welford %.2f and %.2f, residual %.2f and %.2f; RMSNorm, which does not subtract the mean, %.2f and %.2f. All ways except "
        "composed use kernels, chunks, threads and instruction set like the library's, so that only the statistics differ. The errors are "
        "those of 64 x 512 values of deviation 1 with epsilon 1e-5, compared with a higher precision. At a mean of 10,000 deviations the "
        "error of y is %.2g with the fused operator; with the variance as mean(x^2) - mean(x)^2 it is %s. The times hold only for this "
        "machine.",
        mean_ratio(d, NORMS_WAY_ONE_PASS, 0), mean_ratio(d, NORMS_WAY_ONE_PASS, 1), mean_ratio(d, NORMS_WAY_TWO_PASS, 0),
        mean_ratio(d, NORMS_WAY_TWO_PASS, 1), mean_ratio(d, NORMS_WAY_WELFORD, 0), mean_ratio(d, NORMS_WAY_WELFORD, 1),
        mean_ratio(d, NORMS_WAY_RESIDUAL, 0), mean_ratio(d, NORMS_WAY_RESIDUAL, 1), mean_ratio(d, NORMS_WAY_RMS, 0),
        mean_ratio(d, NORMS_WAY_RMS, 1), fused, lost);
}

/* "7 to 22 % less time", or "14 % more to 22 % less time". */
static const char *saved_text(gr_tape *t, double least, double most)
{
    if (most < 0) return plot_say(t, "%s %% more time", dive_range(t, -most, -least, 0));
    return least < 0 ? plot_say(t, "%.0f %% more to %.0f %% less time", -least, most) : plot_say(t, "%s %% less time", dive_range(t, least, most, 0));
}

/* How much less time RMSNorm takes than LayerNorm, forward and backward together, in percent: the least and the most over the sizes. */
static void claim_rms(const dive *d, dive_claims *c)
{
    double least = HUGE_VAL, most = -HUGE_VAL;
    for (size_t k = 0; k < sizes(d); k++) {
        double sum[2] = { 0 };
        for (int p = 0; p < 2; p++)
            sum[0] += at(d, k, "seconds", NORMS_WAY_FUSED, pass_name[p]), sum[1] += at(d, k, "seconds", NORMS_WAY_RMS, pass_name[p]);
        const double saved = 100 * (1 - sum[1] / sum[0]);
        least = fmin(least, saved), most = fmax(most, saved);
    }
    dive_claim_add(
        c, &(dive_claim){ .statement = "RMSNorm takes 7 to 64 % less time than LayerNorm",
                          .source = "Zhang, Sennrich 2019, abstract: for whole models (RM4)",
                          .measured = plot_figure_text(c->f, "forward and backward together take %s over %s", saved_text(c->f->t, least, most),
                                                       dive_count(c->f->t, sizes(d), "size", "sizes")),
                          .control = "the fused LayerNorm in the same rounds; 7 % or more at every size",
                          .interval = "times on this machine",
                          .verdict = least >= 7 ? DIVE_PASS
                                     : most > 0 ? DIVE_DIFFERS
                                                : DIVE_FAIL,
                          .why = "it saves less than 7 % at some size: where memory is the limit, both read the same values" });
}

void dive_cost_claims(const dive *d, dive_claims *c)
{
    const double unit = sizeof(gr_real) == sizeof(float) ? 0x1p-24 : 0x1p-53, one = at(d, 4, "error", NORMS_WAY_ONE_PASS, "y");
    double most = 0;
    for (size_t k = 0; k < RATIOS; k++)
        most = fmax(most, fmax(at(d, k, "error", NORMS_WAY_FUSED, "y"), at(d, k, "error", NORMS_WAY_FUSED, "dx")));
    dive_claim_exact(c, most <= 64 * unit, "With two passes and a mean in two parts, a mean of a million deviations costs no digits",
                     "the library's definition of LayerNorm", plot_figure_text(c->f, "error of y and dx at most %.2g", most),
                     plot_figure_text(c->f, "mean(x^2) - mean(x)^2 at 10,000 deviations: %s",
                                      isfinite(one) ? plot_figure_text(c->f, "%.2g", one) : "the variance is negative"),
                     "more than 64 roundings");
    const double forward = mean_ratio(d, NORMS_WAY_COMPOSED, 0), backward = mean_ratio(d, NORMS_WAY_COMPOSED, 1);
    dive_claim_add(c, &(dive_claim){ .statement = "A fused LayerNorm is faster than one composed of plain operators",
                                     .source = "often said",
                                     .measured = plot_figure_text(c->f, "%.1f times as fast forward, %.1f times backward, geometric mean over %s",
                                                                  forward, backward, dive_count(c->f->t, sizes(d), "size", "sizes")),
                                     .control = "the composed LayerNorm on the same threads; above 1 in both",
                                     .interval = "times on this machine",
                                     .why = "the composed LayerNorm was not slower on this machine",
                                     .verdict = forward > 1 && backward > 1 ? DIVE_PASS : DIVE_DIFFERS });
    claim_rms(d, c);
}
