/* examples/dive/invariance.c - what a normalized layer does not notice: outputs and gradients when weights, inputs or one case are scaled or
 * shifted, with what is left of "nothing" in rounding.
 *
 * Records: `METHOD/CHANGE` [3]: output, gradient, along, see norms/invariance.h; `METHOD/half` [1]. */
#include "examples/norms/invariance.h"
#include "examples/dive/dive.h"
#include <math.h>

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

/* How many of a method's cells are as theory says; largest: of what should be nothing; least: of what should be much. */
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

/* How far half the gradient at twice the weights is off, at most. */
static double half(const dive *d)
{
    double most = 0;
    for (size_t m = 0; m < NORMS_METHODS; m++) most = fmax(most, plot_runs_value(&d->runs, "invariance", "%s/half", norms_method_name[m]));
    return most;
}

/* ---- The figure ---- */

/* A dot a cell; 0 has no place on a log axis and is drawn at the bottom. */
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

static void add_table(const dive *d, plot_figure *f)
{
    enum { COLUMNS = 7 };
    static const char *const head[COLUMNS] = {
        "Norm", "What is changed", "By theory", "Output moves", "Gradient moves", "Along", "Verdict"
    };
    const char *text[NORMS_METHODS * NORMS_CHANGES][COLUMNS];
    for (size_t i = 0; i < NORMS_METHODS * NORMS_CHANGES; i++) {
        const size_t m = i / NORMS_CHANGES, c = i % NORMS_CHANGES;
        const norms_moved v = at(d, m, c);
        text[i][0] = norms_method_name[m], text[i][1] = norms_change_name[c],
        text[i][2] = norms_invariant(m, c) ? "nothing moves" : "moves";
        text[i][3] = plot_figure_text(f, "%.2g", v.output), text[i][4] = plot_figure_text(f, "%.2g", v.gradient);
        text[i][5] = plot_figure_text(f, "%.2g", v.along), text[i][6] = norms_invariance_ok(m, c, &v) ? "PASS" : "FAIL";
    }
    plot_panel *const p =
        plot_panel_new(f, &(plot_panel){ .title = "All 24 cells", .note = "along: the gradient's cosine with the change" });
    plot_table_set(
        p,
        &(plot_table){ .rows = NORMS_METHODS * NORMS_CHANGES, .columns = COLUMNS, .head = head, .text = text[0], .verdict = COLUMNS - 1 });
}

void dive_invariance_draw(const dive *d, plot_figure *f)
{
    static const char *const title[] = { "Output", "Gradient" }, *const label[] = { "largest change of y",
                                                                                    "largest change of the gradient" };
    static const char *const tick[NORMS_CHANGES] = { "W scaled", "W shifted", "a unit scaled", "X scaled", "X shifted", "a case scaled" };
    const double bottom = sizeof(gr_real) == sizeof(float) ? 1e-8 : 1e-17;
    double largest = 0, least = HUGE_VAL;
    size_t good = 0;
    if (!f) return;
    f->title = "What a normalized layer does not notice";
    for (int which = 0; which < 2; which++) {
        plot_panel *const p =
            plot_panel_new(f, &(plot_panel){ .title = title[which],
                                             .note = "relative to the largest; log",
                                             .x = { "", .low = -0.5, .high = NORMS_CHANGES - 0.5, .tick = tick, .ticks = NORMS_CHANGES },
                                             .y = { label[which], .log = true } });
        for (size_t m = 0; m < NORMS_METHODS; m++) add_dots(d, p, m, which, bottom);
    }
    for (size_t m = 0; m < NORMS_METHODS; m++) good += count(d, m, &largest, &least);
    add_table(d, f);
    plot_figure_says(f, PLOT_SAY_QUESTION,
                     "Which changes of its weights and inputs does a layer followed by a norm not notice, forward and backward?");
    plot_figure_says(f, PLOT_SAY_NUMBER,
                     "%zu of %d cells are as theory says: what should not move moves by %.1g at most, what should by %.2g at least", good,
                     NORMS_METHODS * NORMS_CHANGES, largest, least);
    plot_figure_says(
        f, PLOT_SAY_CAPTION,
        "y = norm(X W^T), %d cases of %d normal values (mean 0.5), %d units, weights of mean 0.1, epsilon 0, no gamma and beta. W, one "
        "unit's weights, X or one case are multiplied by 3.7, or the same vector is added to each row of W or X. Dots at the bottom "
        "are rounding, dots at the top are real changes; between them there should be nothing. LayerNorm does not notice a scaled "
        "case, nor that all units shift alike; BatchNorm does not notice that one unit is scaled, nor the shift of the data. Gradient: "
        "of X where W was changed, of W where X was. Where y does not notice a change, the gradient has no part along it, so that "
        "weights only grow; with twice the weights it is half as large, off by %.1g at most (twice is exact in binary).",
        NORMS_CASES, NORMS_INPUTS, NORMS_UNITS, half(d));
}

void dive_invariance_claims(const dive *d, dive_claims *c)
{
    static const char *const statement[NORMS_METHODS] = {
        "BatchNorm does not notice the scale of weights, all or one unit's, nor the data's scale and shift; one case's scale it does",
        "Weight norm does not notice the scale of weights, all or one unit's; the data's it does, against the text of the paper",
        "LayerNorm does not notice the scale and shift of all weights, the scale of the data or of one case; one unit's scale it does",
        "RMSNorm does not notice the scale of all weights, of the data or of one case; shifts it does",
    };
    for (size_t m = 0; m < NORMS_METHODS; m++) {
        double largest = 0, least = HUGE_VAL;
        const size_t good = count(d, m, &largest, &least);
        dive_claim_exact(c, good == NORMS_CHANGES, statement[m],
                         m == 3 ? "Zhang, Sennrich 2019, table 1 (RM1)" : "Ba et al. 2016, table 1 (LN1, LN2)",
                         plot_figure_text(c->f, "%zu of %d cells, output and gradient: %.1g at most, %.2g at least", good, NORMS_CHANGES,
                                          largest, least),
                         "each norm's other cells, which must move by 0.1", "a cell is not as theory says: see the figure invariance");
    }
    dive_claim_exact(c, norms_invariance_half_ok(half(d)), "Twice the weights, half the gradient",
                     "Ba et al. 2016, 5.2.2 (LN5); Ioffe, Szegedy 2015, 3.3 (BN10); Zhang, Sennrich 2019, 4.2 (RM5)",
                     plot_figure_text(c->f, "off by %.1g at most, of four norms", half(d)), "ratio 1/2", "more than rounding");
}
