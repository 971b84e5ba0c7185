/* examples/dive/invariance.c - how far outputs and gradients of a normalized layer change when weights, inputs or one case are scaled or
 * shifted. An invariant layer changes only by rounding.
 *
 * Records: `METHOD/CHANGE` [3]: output, gradient, along, see norms/invariance.h; `METHOD/half` [1]. */
#include "examples/norms/invariance.h"
#include "examples/dive/dive.h"
#include <math.h>
#include <string.h>

static const plot_ink method_ink[NORMS_METHODS] = { PLOT_INK_BN, PLOT_INK_QUIET, PLOT_INK_LN, PLOT_INK_RMS };

void dive_invariance_measure(dive *d)
{
    gr_tape *const t = dive_tape(d, dive_seed(d, 0));
    for (size_t m = 0; m < NORMS_METHODS && !gr_failed(t) && dive_tick(d, (double)m / NORMS_METHODS, "%s", norms_method_name[m]); m++) {
        norms_invariance v;
        norms_invariance_begin(t, &v, m, dive_seed(d, 0), 0);
        for (size_t c = 0; c < NORMS_CHANGES && !gr_failed(t); c++) {
            const norms_moved moved = norms_invariance_move(t, &v, c);
            const double values[] = { moved.output, moved.gradient, moved.along };
            dive_put(d, GR_SHAPE(3), values, "%s/%s", norms_method_name[m], norms_change_name[c]);
        }
        const double off = norms_invariance_half(t, &v);
        dive_put(d, GR_SCALAR, &off, "%s/half", norms_method_name[m]);
    }
    dive_tape_free(d, t);
}

static norms_moved at(const dive *d, size_t m, size_t c)
{
    const plot_record *const p = plot_runs_get(&d->runs, "invariance", "%s/%s", norms_method_name[m], norms_change_name[c]);
    return p && p->n == 3 ? (norms_moved){ p->values[0], p->values[1], p->values[2] }
                          : (norms_moved){ (double)NAN, (double)NAN, (double)NAN };
}

/* How many of a method's cells agree with theory; the largest change where theory says none, and the smallest where it says that there is one. */
static size_t count(const dive *d, size_t m, double *largest, double *least)
{
    size_t good = 0;
    for (size_t c = 0; c < NORMS_CHANGES; c++) {
        const norms_moved v = at(d, m, c);
        good += norms_invariance_ok(m, c, &v);
        if (norms_invariant(m, c)) *largest = fmax(*largest, fmax(v.output, v.gradient));
        else *least = fmin(*least, fmin(v.output, v.gradient));
    }
    return good;
}

/* The largest error of the rule that twice the weights give half the gradient. */
static double half(const dive *d)
{
    double most = 0;
    for (size_t m = 0; m < NORMS_METHODS; m++) most = fmax(most, plot_runs_value(&d->runs, "invariance", "%s/half", norms_method_name[m]));
    return most;
}

/* ---- The figure ---- */

/* Add a dot for each cell. A change of 0 has no place on a log axis and is drawn at the bottom. */
static void add_dots(const dive *d, plot_panel *p, size_t m, int which, double bottom)
{
    double x[NORMS_CHANGES], y[NORMS_CHANGES];
    for (size_t c = 0; c < NORMS_CHANGES; c++) {
        const norms_moved v = at(d, m, c);
        x[c] = (double)c + 0.15 * ((double)m - 1.5);
        y[c] = fmax(which == 0 ? v.output : which == 1 ? v.gradient : v.along, bottom);
    }
    plot_series_add(
        p, &(plot_series){ .name = norms_method_name[m], .ink = method_ink[m], .mark = PLOT_DOTS, .n = NORMS_CHANGES, .x = x, .y = y });
}

static const char *const change_name[NORMS_CHANGES] = {
    "W scaled", "W shifted", "a unit scaled", "X scaled", "X shifted", "a case scaled"
};

/* One digit of v, with a minus at which no line breaks. */
static const char *digit(plot_figure *f, double v)
{
    char text[32];
    snprintf(text, sizeof text, "%.1g", v);
    const char *const e = strstr(text, "e-");
    return e ? plot_figure_text(f, "%.*se\xe2\x88\x92%s", (int)(e - text), text, e + 2) : plot_figure_text(f, "%s", text);
}

/* A row for each norm, a column for each change. */
static void add_table(const dive *d, plot_figure *f)
{
    enum { COLUMNS = NORMS_CHANGES + 2, VERDICT = COLUMNS - 1 };
    const char *head[COLUMNS] = { "Norm", [VERDICT] = "Verdict" }, *text[NORMS_METHODS][COLUMNS];
    for (size_t c = 0; c < NORMS_CHANGES; c++) head[c + 1] = change_name[c];
    for (size_t m = 0; m < NORMS_METHODS; m++) {
        text[m][0] = norms_method_name[m], text[m][VERDICT] = "PASS";
        for (size_t c = 0; c < NORMS_CHANGES; c++) {
            const norms_moved v = at(d, m, c);
            const bool good = norms_invariance_ok(m, c, &v);
            text[m][c + 1] = plot_figure_text(f, "%s%s: %s, %s, %s", good ? "" : "FAIL, ", norms_invariant(m, c) ? "invariant" : "changes",
                                              digit(f, v.output), digit(f, v.gradient), digit(f, v.along));
            if (!good) text[m][VERDICT] = "FAIL";
        }
    }
    plot_panel *const p =
        plot_panel_new(f, &(plot_panel){ .title = "Four norms and six changes",
                                         .note = "what theory says; the change of the output and of the gradient; the cosine "
                                                 "between gradient and change" });
    plot_table_set(p, &(plot_table){ .rows = NORMS_METHODS, .columns = COLUMNS, .head = head, .text = text[0], .verdict = VERDICT });
}

void dive_invariance_draw(const dive *d, plot_figure *f)
{
    static const char *const title[] = { "Output", "Gradient" }, *const label[] = { "largest change of y",
                                                                                    "largest change of the gradient" };
    const double bottom = sizeof(gr_real) == sizeof(float) ? 1e-8 : 1e-17;
    double largest = 0, least = HUGE_VAL;
    size_t good = 0;
    f->title = "Invariances of a normalized layer";
    for (int which = 0; which < 2; which++) {
        plot_panel *const p = plot_panel_new(
            f, &(plot_panel){ .title = title[which],
                              .note = "relative to the largest value",
                              .x = { "", .low = -0.5, .high = NORMS_CHANGES - 0.5, .tick = change_name, .ticks = NORMS_CHANGES },
                              .y = { label[which], .log = true } });
        for (size_t m = 0; m < NORMS_METHODS; m++) add_dots(d, p, m, which, bottom);
    }
    for (size_t m = 0; m < NORMS_METHODS; m++) good += count(d, m, &largest, &least);
    add_table(d, f);
    plot_figure_says(f, PLOT_SAY_QUESTION,
                     "Which changes of weights and inputs leave the output and the gradient of a normalized layer the same?");
    plot_figure_says(f, PLOT_SAY_NUMBER,
                     "%zu of %d cells agree with theory: invariant values change by at most %.1g, the others by at least %.2g", good,
                     NORMS_METHODS * NORMS_CHANGES, largest, least);
    plot_figure_says(
        f, PLOT_SAY_CAPTION,
        "The layer is y = norm(X W^T) with %d cases of %d normal values (mean 0.5), %d units, weights of mean 0.1, epsilon 0, and no "
        "gamma and beta. A scale multiplies W, one unit's weights, X or one case by 3.7; a shift adds the same vector to each row of W or "
        "X. Dots at the bottom are rounding, dots at the top are real changes, and there should be none between them. LayerNorm is "
        "invariant to the scale of a case and to a common shift of all units; BatchNorm is invariant to the scale of one unit and to a "
        "shift of the data. The gradient is that of X where W was changed, and that of W where X was. Where y is invariant to a change of "
        "the weights, the gradient is orthogonal to that change. So a plain gradient step never shortens weights whose scale does not matter. "
        "Twice the weights give half the gradient%s.",
        NORMS_CASES, NORMS_INPUTS, NORMS_UNITS, half(d) > 0 ? plot_figure_text(f, ", with an error of at most %.1g", half(d)) : " exactly");
}

void dive_invariance_claims(const dive *d, dive_claims *c)
{
    static const char *const statement[NORMS_METHODS] = {
        "BatchNorm is invariant to the scale of all weights or of one unit's, and to scale and shift of the data; not to the scale of one "
        "case",
        "Weight norm is invariant to the scale of all weights or of one unit's; not to the scale of the data, contrary to the paper's text",
        "LayerNorm is invariant to scale and shift of all weights, and to the scale of the data or of one case; not to the scale of one "
        "unit",
        "RMSNorm is invariant to the scale of all weights, of the data or of one case; not to shifts",
    };
    for (size_t m = 0; m < NORMS_METHODS; m++) {
        double largest = 0, least = HUGE_VAL;
        const size_t good = count(d, m, &largest, &least);
        dive_claim_exact(
            c, good == NORMS_CHANGES, statement[m], m == 3 ? "Zhang, Sennrich 2019, table 1 (RM1)" : "Ba et al. 2016, table 1 (LN1, LN2)",
            plot_figure_text(c->f, "%zu of %d cells agree; invariant values change by at most %.1g, the others by at least %.2g", good,
                             NORMS_CHANGES, largest, least),
            "the other cells of the norm, which must change by 0.1", "a cell disagrees with theory: see the figure invariance");
    }
    dive_claim_exact(c, norms_invariance_half_ok(half(d)), "Twice the weights give half the gradient",
                     "Ba et al. 2016, 5.2.2 (LN5); Ioffe, Szegedy 2015, 3.3 (BN10); Zhang, Sennrich 2019, 4.2 (RM5)",
                     half(d) > 0 ? plot_figure_text(c->f, "error at most %.1g with four norms", half(d)) : "exactly half with four norms",
                     "ratio 1/2", "larger than rounding");
}
