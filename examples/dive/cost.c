/* examples/dive/cost.c - what LayerNorm costs, in the six ways in which it is written, and RMSNorm beside it: time forward and backward over
 * sizes; error of output and gradient where the mean is many deviations.
 *
 * Records: `seconds/WAY/forward`, `/backward`, `ratio/WAY/forward`, `/backward` [sizes], which are times and differ from run to run;
 * `values` [sizes]; `error/WAY/y`, `/dx` [8], at means of 1 to 1e6 deviations, and of equal values. */
#include "examples/dive/dive.h"
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
static const plot_ink way_ink[NORMS_TIMED] = { PLOT_INK_LN,    PLOT_INK_NONE,  PLOT_INK_RAMP4, PLOT_INK_RAMP2,
                                               PLOT_INK_RAMP1, PLOT_INK_RAMP0, PLOT_INK_RMS };

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

/* The geometric mean of the ratio to the fused operator, over sizes. */
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
                                         .y = { "nanoseconds a value", .log = true } });
    for (int way = 0; way < NORMS_TIMED; way++) {
        double x[SIZES], y[SIZES];
        for (size_t k = 0; k < n; k++)
            x[k] = (double)k, y[k] = 1e9 * at(d, k, "seconds", way, pass_name[pass]) / (double)(size_of[k].rows * size_of[k].N);
        plot_series_add(p,
                        &(plot_series){ .name = norms_way_name[way], .ink = way_ink[way], .mark = PLOT_LINE_DOTS, .n = n, .x = x, .y = y });
    }
}

static void draw_errors(const dive *d, plot_figure *f, const char *what, const char *title, const char *label)
{
    plot_panel *const p = plot_panel_new(f, &(plot_panel){ .title = title,
                                                           .note = "what is not finite, or 0, has no dot",
                                                           .x = { "mean in deviations", .tick = ratio_name, .ticks = RATIOS },
                                                           .y = { label, .log = true } });
    for (int way = 0; way < NORMS_WAYS; way++) {
        double x[RATIOS], y[RATIOS];
        for (size_t k = 0; k < RATIOS; k++) {
            const double v = at(d, k, "error", way, what);
            x[k] = (double)k, y[k] = v > 0 ? v : (double)NAN;
        }
        plot_series_add(
            p, &(plot_series){ .name = norms_way_name[way], .ink = way_ink[way], .mark = PLOT_LINE_DOTS, .n = RATIOS, .x = x, .y = y });
    }
}

void dive_cost_draw(const dive *d, plot_figure *f)
{
    if (!f) return;
    f->title = "What LayerNorm costs, and how exact it is";
    draw_times(d, f, 0), draw_times(d, f, 1);
    draw_errors(d, f, "y", "Error of the output", "|y - exact|");
    draw_errors(d, f, "dx", "Error of the gradient", "|dx - exact|");
    plot_figure_says(f, PLOT_SAY_QUESTION,
                     "One operator or several, one pass over the values or more: what does it save, and what does it cost in digits?");
    plot_figure_says(f, PLOT_SAY_NUMBER,
                     "%.1f and %.1f times the time of the fused operator, forward and backward: LayerNorm composed of plain operators",
                     mean_ratio(d, NORMS_WAY_COMPOSED, 0), mean_ratio(d, NORMS_WAY_COMPOSED, 1));
    const double one = at(d, 4, "error", NORMS_WAY_ONE_PASS, "y"), fused = at(d, 4, "error", NORMS_WAY_FUSED, "y");
    const char *const lost = isfinite(one) ? plot_figure_text(f, "off by %.2g", one) : "not a number, for the variance is below 0";
    plot_figure_says(
        f, PLOT_SAY_CAPTION,
        "Means over sizes, in times of the fused operator, forward and backward: one-pass %.2f and %.2f, two-pass %.2f and %.2f, Welford "
        "%.2f and %.2f, residual %.2f and %.2f; RMSNorm, which leaves the mean where it is, %.2f and %.2f. All but composed share the "
        "idiom of the library's kernels, its chunks, threads and instruction set; only the statistics differ. Errors: 64 x 512 values of "
        "deviation 1, epsilon 1e-5, against one more precision. At a mean of 10,000 deviations y is %s with the variance as mean(x^2) - "
        "mean(x)^2, and off by %.2g with the fused one. Times hold for this machine alone.",
        mean_ratio(d, NORMS_WAY_ONE_PASS, 0), mean_ratio(d, NORMS_WAY_ONE_PASS, 1), mean_ratio(d, NORMS_WAY_TWO_PASS, 0),
        mean_ratio(d, NORMS_WAY_TWO_PASS, 1), mean_ratio(d, NORMS_WAY_WELFORD, 0), mean_ratio(d, NORMS_WAY_WELFORD, 1),
        mean_ratio(d, NORMS_WAY_RESIDUAL, 0), mean_ratio(d, NORMS_WAY_RESIDUAL, 1), mean_ratio(d, NORMS_WAY_RMS, 0),
        mean_ratio(d, NORMS_WAY_RMS, 1), lost, fused);
}

/* Forward and backward together: of RMSNorm's time what LayerNorm's is more, from the least size to the most, in percent of LayerNorm's. */
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
    dive_claim_add(c, &(dive_claim){ .statement = "RMSNorm takes 7 to 64 % less time than LayerNorm",
                                     .source = "Zhang, Sennrich 2019, abstract: of whole models (RM4)",
                                     .measured = plot_figure_text(c->f, "forward and backward take %.0f to %.0f %% less over %zu size%s",
                                                                  least, most, sizes(d), sizes(d) == 1 ? "" : "s"),
                                     .control = "the fused LayerNorm in the same rounds",
                                     .verdict = least >= 7 ? DIVE_PASS
                                                : most > 0 ? DIVE_DIFFERS
                                                           : DIVE_FAIL,
                                     .why = "less than 7 % at some size: where memory is the limit both walk over the same values" });
}

void dive_cost_claims(const dive *d, dive_claims *c)
{
    const double unit = sizeof(gr_real) == sizeof(float) ? 0x1p-24 : 0x1p-53, one = at(d, 4, "error", NORMS_WAY_ONE_PASS, "y");
    double most = 0;
    for (size_t k = 0; k < RATIOS; k++)
        most = fmax(most, fmax(at(d, k, "error", NORMS_WAY_FUSED, "y"), at(d, k, "error", NORMS_WAY_FUSED, "dx")));
    dive_claim_exact(c, most <= 64 * unit, "With two passes and the mean's rest, a mean of a million deviations costs no digits",
                     "the library's definition of LayerNorm", plot_figure_text(c->f, "y and dx are off by %.2g at most", most),
                     plot_figure_text(c->f, "mean(x^2) - mean(x)^2 at 10,000 deviations: %s",
                                      isfinite(one) ? plot_figure_text(c->f, "%.2g", one) : "below 0, no number"),
                     "more than 64 roundings");
    const double forward = mean_ratio(d, NORMS_WAY_COMPOSED, 0), backward = mean_ratio(d, NORMS_WAY_COMPOSED, 1);
    dive_claim_add(c, &(dive_claim){ .statement = "One fused operator is faster than LayerNorm composed of plain ones",
                                     .source = "often said",
                                     .measured = plot_figure_text(c->f, "%.1f times as fast forward, %.1f backward, mean over %zu size%s",
                                                                  forward, backward, sizes(d), sizes(d) == 1 ? "" : "s"),
                                     .control = "composed, on the same threads",
                                     .why = "composed was not slower on this machine",
                                     .verdict = forward > 1 && backward > 1 ? DIVE_PASS : DIVE_DIFFERS });
    claim_rms(d, c);
}
