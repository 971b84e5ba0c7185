/* examples/dive/epsilon.c - the effect of epsilon from 0 to 0.1 on output, gradient and error, for three kinds of rows.
 *
 * Records: eps [13]; for each row `out`, `grad` [13], the largest |y| and |dx|; for each row and way `way/y`, `way/dx` [13], the errors compared
 * with a higher precision. */
#include "examples/dive/dive.h"
#include "examples/norms/norm.h"
#include <math.h>

enum { HARDLY, CONSTANT, ORDINARY, ROWS, EPS = 13 };
static const char *const row_name[ROWS] = { "hardly varies", "constant", "ordinary" };
static const plot_ink row_ink[ROWS] = { PLOT_INK_RAMP0, PLOT_INK_RAMP2, PLOT_INK_RAMP4 };
static const norms_way way_of[] = { NORMS_WAY_FUSED, NORMS_WAY_ONE_PASS };
static const char *const eps_name[EPS] = { "0",    "10⁻¹²", "10⁻¹¹", "10⁻¹⁰", "10⁻⁹", "10⁻⁸", "10⁻⁷",
                                           "10⁻⁶", "10⁻⁵",  "10⁻⁴",  "10⁻³",  "10⁻²", "0.1" };

static double eps_at(size_t k) { return k ? pow(10, (double)k - EPS) : 0; }

/* A row that hardly varies; a constant row of the same size; 64 rows of 64 normal values. */
static void fill(gr_tape *t, norms_rows *b, int row)
{
    static const double hardly[] = { 0.001, 0.001, 0.0011, 0.0009, 0.001 };
    if (!norms_rows_new(t, b, row == ORDINARY ? 64 : 1, row == ORDINARY ? 64 : 5)) return;
    norms_rows_fill(t, b, row == ORDINARY ? 0 : 0.001, row == ORDINARY);
    for (size_t i = 0; row == HARDLY && i < 5; i++) b->x[i] = (gr_real)hardly[i];
}

static double largest(const gr_real *v, size_t n)
{
    double most = 0;
    for (size_t i = 0; i < n; i++) most = isfinite(v[i]) ? fmax(most, fabs((double)v[i])) : (double)NAN;
    return most;
}

static void measure_row(dive *d, gr_tape *t, int row)
{
    double out[EPS], grad[EPS], of_y[EPS], of_dx[EPS];
    norms_rows b;
    fill(t, &b, row);
    for (size_t w = 0; w < sizeof way_of / sizeof *way_of && !gr_failed(t); w++) {
        for (size_t k = 0; k < EPS && !gr_failed(t); k++) {
            const norms_error e = norms_way_error(t, way_of[w], &b, eps_at(k));
            of_y[k] = e.y, of_dx[k] = e.dx;
            if (way_of[w] != NORMS_WAY_FUSED) continue;
            const norms_way_run run = norms_way_once(t, NORMS_WAY_FUSED, &b, eps_at(k));
            if (run.y) out[k] = largest(run.y->data, run.y->len), grad[k] = largest(run.dx, run.y->len);
        }
        if (gr_failed(t)) break;
        dive_put(d, GR_SHAPE(EPS), of_y, "%s/%s/y", row_name[row], norms_way_name[way_of[w]]);
        dive_put(d, GR_SHAPE(EPS), of_dx, "%s/%s/dx", row_name[row], norms_way_name[way_of[w]]);
        if (way_of[w] == NORMS_WAY_FUSED)
            dive_put(d, GR_SHAPE(EPS), out, "%s/out", row_name[row]), dive_put(d, GR_SHAPE(EPS), grad, "%s/grad", row_name[row]);
    }
    norms_rows_free(t, &b);
}

void dive_epsilon_measure(dive *d)
{
    double eps[EPS];
    gr_tape *const t = dive_tape(d, dive_seed(d, 0));
    for (size_t k = 0; k < EPS; k++) eps[k] = eps_at(k);
    dive_put(d, GR_SHAPE(EPS), eps, "eps");
    for (int row = 0; row < ROWS && dive_tick(d, (double)row / ROWS, "%s", row_name[row]); row++) measure_row(d, t, row);
    dive_tape_free(d, t);
}

/* ---- The figure ---- */

static double at(const dive *d, size_t k, int row, const char *what)
{
    const plot_record *const p = plot_runs_get(&d->runs, "epsilon", "%s/%s", row_name[row], what);
    return p && k < p->n ? p->values[k] : (double)NAN;
}

/* Add a curve over epsilon. A value of 0 has no place on a log axis. */
static void add(const dive *d, plot_panel *p, int row, const char *what, const char *name, plot_ink ink)
{
    double x[EPS], y[EPS];
    for (size_t k = 0; k < EPS; k++) {
        const double v = at(d, k, row, what);
        x[k] = (double)k, y[k] = v > 0 ? v : (double)NAN;
    }
    plot_series_add(p, &(plot_series){ .name = name, .ink = ink, .mark = PLOT_LINE_DOTS, .n = EPS, .x = x, .y = y });
}

void dive_epsilon_draw(const dive *d, plot_figure *f)
{
    static const struct {
        const char *title, *note, *what, *y;
        bool errors;
    } panel[] = {
        { "Output", "it is 0 for a constant row", "out", "largest |y|", false },
        { "Gradient", "for random dy of deviation 1", "grad", "largest |dx|", false },
        { "Error of the output", "an error of 0 has no dot", "fused/y", "|y - exact|", true },
        { "Error of the gradient", "relative to the largest |dx|", "fused/dx", "|dx - exact|", true },
    };
    f->title = "The effect of epsilon", f->columns = 4;
    plot_figure_says(f, PLOT_SAY_QUESTION,
                     "When does the epsilon in sqrt(var + epsilon) change the results, and when does it reduce their error?");
    for (size_t i = 0; i < sizeof panel / sizeof *panel; i++) {
        plot_panel *const p = plot_panel_new(f, &(plot_panel){ .title = panel[i].title,
                                                               .note = panel[i].note,
                                                               .x = { "epsilon", .tick = eps_name, .ticks = EPS },
                                                               .y = { panel[i].y, .log = true },
                                                               .aspect = 1.35 });
        for (int row = 0; row < ROWS; row++) add(d, p, row, panel[i].what, row_name[row], row_ink[row]);
        if (panel[i].errors)
            add(d, p, HARDLY, i == 2 ? "one-pass/y" : "one-pass/dx", "hardly varies, variance in one pass", PLOT_INK_QUIET);
    }
    enum { USUAL = 8 }; /* 1e-5 */
    plot_figure_says(f, PLOT_SAY_NUMBER,
                     "Largest output for the row [0.001, 0.001, 0.0011, 0.0009, 0.001]: %.3g with epsilon 1e-5, %.3g with epsilon 0",
                     at(d, USUAL, HARDLY, "out"), at(d, 0, HARDLY, "out"));
    plot_figure_says(
        f, PLOT_SAY_CAPTION,
        "There are three kinds of rows: [0.001, 0.001, 0.0011, 0.0009, 0.001], whose variance is 4e-9; five times 0.001; and 64 rows of "
        "64 normal values. When epsilon is larger than the variance of a row, the row is no longer normalized: with 1e-5 the output of "
        "the first row is %.0f times too small, and that of the normal rows is too small by %.1g parts in a million. "
        "Only 1/sqrt(epsilon) limits the gradient of a "
        "constant row: the largest |dx| is %.3g with 1e-12 and %.3g with 1e-5. With epsilon 0 the library treats such a row as one "
        "without deviation, and |dx| is %g. For the first row and the smallest epsilons the error of y is at most %.2g with the library's "
        "operator, and %.2g with the variance as mean(x^2) - mean(x)^2 (grey). The norm is alone, with gamma 1 and beta 0; %s is compared "
        "with a higher precision.",
        at(d, 0, HARDLY, "out") / at(d, USUAL, HARDLY, "out"), 1e6 * (at(d, 0, ORDINARY, "out") / at(d, USUAL, ORDINARY, "out") - 1),
        at(d, 1, CONSTANT, "grad"), at(d, USUAL, CONSTANT, "grad"), at(d, 0, CONSTANT, "grad"),
        fmax(at(d, 0, HARDLY, "fused/y"), at(d, 1, HARDLY, "fused/y")),
        fmax(at(d, 0, HARDLY, "one-pass/y"), at(d, 1, HARDLY, "one-pass/y")), sizeof(gr_real) == sizeof(float) ? "float" : "double");
}

void dive_epsilon_claims(const dive *d, dive_claims *c)
{
    double most = 0;
    bool finite = true;
    for (size_t k = 0; k < EPS; k++) {
        const double out = at(d, k, CONSTANT, "out"), grad = at(d, k, CONSTANT, "grad");
        most = fmax(most, out), finite &= isfinite(out) && isfinite(grad);
    }
    dive_claim_exact(
        c, most == 0 && finite, "A row of equal values gives beta, and its gradient is finite", "often said; worked example",
        plot_figure_text(c->f, "largest |y| %g, gradients %s, for epsilon 0 and 1e-12 to 0.1", most, finite ? "finite" : "not finite"),
        "beta is 0", "a constant row did not become 0");
    const double shrinks = at(d, 0, HARDLY, "out") / at(d, 8, HARDLY, "out"), theory = sqrt((4e-9 + 1e-5) / 4e-9);
    dive_claim_exact(c, fabs(shrinks / theory - 1) < 1e-3, "Epsilon shrinks rows of small variance by sqrt((var + epsilon) / var)",
                     "formula; [0.001, 0.001, 0.0011, 0.0009, 0.001]",
                     plot_figure_text(c->f, "%.5g times smaller with epsilon 1e-5 than with 0", shrinks),
                     plot_figure_text(c->f, "%.5g by the formula", theory), "the difference is above 1e-3");
}
