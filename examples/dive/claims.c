/* examples/dive/claims.c - the table: every statement of the papers, and those often made, what was measured here, and whether it holds.
 *
 * Each figure judges its own statements; here those are measured that are mathematics and belong to none, and all are shown.
 * Records: NAME [3], see exact.h. */
#include "examples/dive/exact.h"

enum { LISTS = 3 };
static dive_exact_list list_of(size_t i) { return i == 0 ? dive_exact_layer() : i == 1 ? dive_exact_other() : dive_exact_transformer(); }

void dive_claims_measure(dive *d)
{
    for (size_t i = 0; i < LISTS; i++) {
        const dive_exact_list list = list_of(i);
        for (size_t k = 0; k < list.n && dive_tick(d, ((double)i + (double)k / (double)list.n) / LISTS, "%s", list.exact[k].name); k++) {
            double v[DIVE_VALUES] = { 0 };
            gr_tape *const t = dive_tape(d, dive_seed(d, 0));
            list.exact[k].measure(t, v);
            dive_put(d, GR_SHAPE(DIVE_VALUES), v, "%s", list.exact[k].name);
            dive_tape_free(d, t);
        }
    }
}

/* A value that was not finite is NaN in the record, and lies nowhere. */
static bool holds(const dive_exact *e, const double *v)
{
    const double unit = sizeof(gr_real) == sizeof(float) ? 0x1p-24 : 0x1p-53;
    bool well = true;
    for (int i = 0; i < DIVE_VALUES; i++) {
        const bool asked = e->range[i].low != 0 || e->range[i].high != 0 || i == 0;
        if (asked) well &= v[i] >= e->range[i].low && v[i] <= e->range[i].high * (e->range[i].roundings ? unit : 1);
    }
    return well;
}

void dive_claims_claims(const dive *d, dive_claims *c)
{
    for (size_t i = 0; i < LISTS; i++) {
        const dive_exact_list list = list_of(i);
        for (size_t k = 0; k < list.n; k++) {
            const dive_exact *const e = &list.exact[k];
            const plot_record *const p = plot_runs_get(&d->runs, "claims", "%s", e->name);
            char measured[256];
            if (!p || p->n != DIVE_VALUES) continue;
            snprintf(measured, sizeof measured, e->format, p->values[0], p->values[1], p->values[2]);
            dive_claim_add(c, &(dive_claim){ .statement = e->statement,
                                             .source = e->source,
                                             .measured = measured,
                                             .control = e->control,
                                             .why = "a value is outside of its bounds: a fault here",
                                             .verdict = holds(e, p->values) ? DIVE_PASS : DIVE_FAIL,
                                             .exact = true });
        }
    }
}

/* ---- The figure ---- */

void dive_claims_draw(const dive *d, plot_figure *f)
{
    enum { COLUMNS = 6 };
    static const char *const head[COLUMNS] = { "Statement", "Source", "Measured here", "Held against", "Verdict", "Why" };
    static const char *const word[] = { "PASS", "FAIL", "DIFFERS" };
    const char *text[DIVE_CLAIMS + 64][COLUMNS];
    size_t rows = 0, count[3] = { 0 }, exact = 0, missing = 0;
    dive_claims c = { .f = f };
    if (!f) return;
    dive_collect(d, &c);
    for (size_t i = 0; i < c.n; i++) {
        const dive_claim *const claim = c.claim[i];
        const char *const row[COLUMNS] = { claim->statement, claim->source,        claim->measured,
                                           claim->control,   word[claim->verdict], claim->verdict == DIVE_PASS ? "" : claim->why };
        memcpy(text[rows++], row, sizeof row);
        count[claim->verdict]++, exact += claim->exact;
    }
    for (size_t i = 0; i < dive_figures_n; i++) {
        if (dive_is_done(d, &dive_figures[i])) continue;
        const char *const row[COLUMNS] = {
            plot_figure_text(f, "What the figure %s judges", dive_figures[i].name), "", "not measured", "", "", ""
        };
        memcpy(text[rows++], row, sizeof row), missing++;
    }
    f->title = "What is said of normalization, and what holds here", f->columns = 1;
    plot_panel *const p = plot_panel_new(f, &(plot_panel){ .title = "Claims", .note = "FAIL and DIFFERS are results too" });
    plot_table_set(p, &(plot_table){ .rows = rows, .columns = COLUMNS, .head = head, .text = text[0], .verdict = 4 });
    plot_figure_says(
        f, PLOT_SAY_QUESTION,
        "Which statements of the papers, and which of those often made, hold for these networks, these data and this program?");
    plot_figure_says(f, PLOT_SAY_NUMBER, "%zu of %zu statements hold, %zu do not, %zu differ", count[DIVE_PASS], c.n, count[DIVE_FAIL],
                     count[DIVE_DIFFERS]);
    plot_figure_says(
        f, PLOT_SAY_CAPTION,
        "%zu statements are mathematics, and must hold to rounding, on any machine; the others speak of training, and what was measured "
        "holds for the runs of this page. PASS: as stated. DIFFERS: true only in part, or by less than stated. FAIL: not so "
        "here, and why. Codes such as LN1 number the papers' claims.%s",
        exact, missing ? " Figures that were not measured with these settings are named at the end." : "");
    plot_figure_says(f, PLOT_SAY_SETTINGS, "%s; %zu seed%s; each figure names its own.", d->preprocessing, d->seeds,
                     d->seeds == 1 ? "" : "s");
}
