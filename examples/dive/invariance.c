/* examples/dive/invariance.c - what a normalized layer does not notice: outputs and gradients when weights, inputs or one case are scaled or
 * shifted, with what is left of "nothing" in rounding.
 *
 * Records: `METHOD/CHANGE` [3]: output, gradient, along, see kit_invariance.h; `METHOD/half` [1]. */
#include "examples/kit/kit_invariance.h"
#include "examples/dive/dive.h"
#include <math.h>

static const kit_ink method_ink[KIT_METHODS] = { KIT_INK_BN, KIT_INK_QUIET, KIT_INK_LN, KIT_INK_RMS };

void dive_invariance_measure(dive *d)
{
    gr_tape *const t = dive_tape(d, dive_seed(d, 0));
    for (size_t m = 0; m < KIT_METHODS && !gr_failed(t) && dive_tick(d, (double)m / KIT_METHODS, "%s", kit_method_name[m]); m++) {
        kit_invariance v;
        kit_invariance_begin(t, &v, m, dive_seed(d, 0), 0);
        for (size_t c = 0; c < KIT_CHANGES && !gr_failed(t); c++) {
            const kit_moved moved = kit_invariance_move(t, &v, c);
            const double values[] = { moved.output, moved.gradient, moved.along };
            dive_put(d, GR_SHAPE(3), values, "%s/%s", kit_method_name[m], kit_change_name[c]);
        }
        const double off = kit_invariance_half(t, &v);
        dive_put(d, GR_SCALAR, &off, "%s/half", kit_method_name[m]);
    }
    dive_tape_free(d, t);
}

static kit_moved at(const dive *d, size_t m, size_t c)
{
    const kit_record *const p = kit_runs_get(&d->runs, "invariance", "%s/%s", kit_method_name[m], kit_change_name[c]);
    return p && p->n == 3 ? (kit_moved){ p->values[0], p->values[1], p->values[2] } : (kit_moved){ (double)NAN, (double)NAN, (double)NAN };
}

/* How many of a method's cells are as theory says; largest: of what should be nothing; least: of what should be much. */
static size_t count(const dive *d, size_t m, double *largest, double *least)
{
    size_t good = 0;
    for (size_t c = 0; c < KIT_CHANGES; c++) {
        const kit_moved v = at(d, m, c);
        good += kit_invariance_ok(m, c, &v);
        if (kit_invariant(m, c)) *largest = fmax(*largest, fmax(v.output, v.gradient));
        else *least = fmin(*least, fmin(v.output, v.gradient));
    }
    return good;
}

/* How far half the gradient at twice the weights is off, at most. */
static double half(const dive *d)
{
    double most = 0;
    for (size_t m = 0; m < KIT_METHODS; m++) most = fmax(most, kit_runs_value(&d->runs, "invariance", "%s/half", kit_method_name[m]));
    return most;
}

/* ---- The figure ---- */

/* A dot a cell; 0 has no place on a log axis and is drawn at the bottom. */
static void add_dots(const dive *d, kit_panel *p, size_t m, int which, double bottom)
{
    double x[KIT_CHANGES], y[KIT_CHANGES];
    for (size_t c = 0; c < KIT_CHANGES; c++) {
        const kit_moved v = at(d, m, c);
        x[c] = (double)c + 0.15 * ((double)m - 1.5);
        y[c] = fmax(which == 0 ? v.output : which == 1 ? v.gradient : v.along, bottom);
    }
    kit_series_add(p,
                   &(kit_series){ .name = kit_method_name[m], .ink = method_ink[m], .mark = KIT_DOTS, .n = KIT_CHANGES, .x = x, .y = y });
}

static void add_table(const dive *d, kit_figure *f)
{
    enum { COLUMNS = 7 };
    static const char *const head[COLUMNS] = {
        "Norm", "What is changed", "By theory", "Output moves", "Gradient moves", "Along", "Verdict"
    };
    const char *text[KIT_METHODS * KIT_CHANGES][COLUMNS];
    for (size_t i = 0; i < KIT_METHODS * KIT_CHANGES; i++) {
        const size_t m = i / KIT_CHANGES, c = i % KIT_CHANGES;
        const kit_moved v = at(d, m, c);
        text[i][0] = kit_method_name[m], text[i][1] = kit_change_name[c], text[i][2] = kit_invariant(m, c) ? "nothing moves" : "moves";
        text[i][3] = kit_figure_text(f, "%.2g", v.output), text[i][4] = kit_figure_text(f, "%.2g", v.gradient);
        text[i][5] = kit_figure_text(f, "%.2g", v.along), text[i][6] = kit_invariance_ok(m, c, &v) ? "PASS" : "FAIL";
    }
    kit_panel *const p = kit_panel_new(f, &(kit_panel){ .title = "All 24 cells", .note = "along: the gradient's cosine with the change" });
    kit_table_set(
        p, &(kit_table){ .rows = KIT_METHODS * KIT_CHANGES, .columns = COLUMNS, .head = head, .text = text[0], .verdict = COLUMNS - 1 });
}

void dive_invariance_draw(const dive *d, kit_figure *f)
{
    static const char *const title[] = { "Output", "Gradient" }, *const label[] = { "largest change of y",
                                                                                    "largest change of the gradient" };
    static const char *const tick[KIT_CHANGES] = { "W scaled", "W shifted", "a unit scaled", "X scaled", "X shifted", "a case scaled" };
    const double bottom = sizeof(gr_real) == sizeof(float) ? 1e-8 : 1e-17;
    double largest = 0, least = HUGE_VAL;
    size_t good = 0;
    if (!f) return;
    f->title = "What a normalized layer does not notice";
    for (int which = 0; which < 2; which++) {
        kit_panel *const p =
            kit_panel_new(f, &(kit_panel){ .title = title[which],
                                           .note = "relative to the largest; log",
                                           .x = { "", .low = -0.5, .high = KIT_CHANGES - 0.5, .tick = tick, .ticks = KIT_CHANGES },
                                           .y = { label[which], .log = true } });
        for (size_t m = 0; m < KIT_METHODS; m++) add_dots(d, p, m, which, bottom);
    }
    for (size_t m = 0; m < KIT_METHODS; m++) good += count(d, m, &largest, &least);
    add_table(d, f);
    kit_figure_says(f, KIT_SAY_QUESTION,
                    "Which changes of its weights and inputs does a layer followed by a norm not notice, forward and backward?");
    kit_figure_says(f, KIT_SAY_NUMBER,
                    "%zu of %d cells are as theory says: what should not move moves by %.1g at most, what should by %.2g at least", good,
                    KIT_METHODS * KIT_CHANGES, largest, least);
    kit_figure_says(
        f, KIT_SAY_CAPTION,
        "y = norm(X W^T), %d cases of %d normal values (mean 0.5), %d units, weights of mean 0.1, epsilon 0, no gamma and beta. W, one "
        "unit's weights, X or one case are multiplied by 3.7, or the same vector is added to each row of W or X. Dots at the bottom "
        "are rounding, dots at the top are real changes; between them there should be nothing. LayerNorm does not notice a scaled "
        "case, nor that all units shift alike; BatchNorm does not notice that one unit is scaled, nor the shift of the data. Gradient: "
        "of X where W was changed, of W where X was. Where y does not notice a change, the gradient has no part along it, so that "
        "weights only grow; with twice the weights it is half as large, off by %.1g at most (twice is exact in binary).",
        KIT_CASES, KIT_INPUTS, KIT_UNITS, half(d));
}

void dive_invariance_claims(const dive *d, dive_claims *c)
{
    static const char *const statement[KIT_METHODS] = {
        "BatchNorm does not notice the scale of weights, all or one unit's, nor the data's scale and shift; one case's scale it does",
        "Weight norm does not notice the scale of weights, all or one unit's; the data's it does, against the text of the paper",
        "LayerNorm does not notice the scale and shift of all weights, the scale of the data or of one case; one unit's scale it does",
        "RMSNorm does not notice the scale of all weights, of the data or of one case; shifts it does",
    };
    for (size_t m = 0; m < KIT_METHODS; m++) {
        double largest = 0, least = HUGE_VAL;
        const size_t good = count(d, m, &largest, &least);
        dive_claim_exact(
            c, good == KIT_CHANGES, statement[m], m == 3 ? "Zhang, Sennrich 2019, table 1 (RM1)" : "Ba et al. 2016, table 1 (LN1, LN2)",
            kit_figure_text(c->f, "%zu of %d cells, output and gradient: %.1g at most, %.2g at least", good, KIT_CHANGES, largest, least),
            "each norm's other cells, which must move by 0.1", "a cell is not as theory says: see the figure invariance");
    }
    dive_claim_exact(c, kit_invariance_half_ok(half(d)), "Twice the weights, half the gradient",
                     "Ba et al. 2016, 5.2.2 (LN5); Ioffe, Szegedy 2015, 3.3 (BN10); Zhang, Sennrich 2019, 4.2 (RM5)",
                     kit_figure_text(c->f, "off by %.1g at most, of four norms", half(d)), "ratio 1/2", "more than rounding");
}
