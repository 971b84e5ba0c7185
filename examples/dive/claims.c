/* examples/dive/claims.c - the table of all statements from papers or common opinion, with what was measured here and whether they hold.
 *
 * Each figure judges its own statements. This file measures the mathematical statements that belong to no other figure, and shows all.
 * Records: NAME [3], see exact.h. */
#include "examples/dive/exact.h"
#include "examples/dive/seeds.h"

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

/* Whether all values are in their ranges. A NaN is in none. */
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
                                             .interval = e->draws,
                                             .why = "a value is out of its bounds, which is a bug of this program",
                                             .verdict = holds(e, p->values) ? DIVE_PASS : DIVE_FAIL,
                                             .exact = true });
        }
    }
}

/* ---- The figure ---- */

const char *const dive_missing[DIVE_MISSING][3] = {
    { "LN10", "LayerNorm gains more on longer sequences and with smaller batches",
      "its grid of three lengths and three batch sizes is not in the runs" },
    { "LN11", "DRAW on binarized MNIST: 82.36 to 82.09 nats after 200 epochs", "there is no DRAW here" },
    { "LN12", "Order embeddings: recall at 1 rises from 46.6 to 48.5", "it needs images with captions and a trained image network" },
    { "BN1", "Three layers of 100 sigmoids: BatchNorm is ahead after 1,000 and after 50,000 steps",
      "50,000 steps are not in the runs; the figure \"Dynamics of pre-activations\" trains this network for fewer steps at a larger learning rate" },
    { "RB4", "Recurrent BatchNorm with gamma 0.01 or less is unstable",
      "the paper gives no bound to judge; the figure \"Gradient flow over layers and time\" shows gamma 0.01" },
    { "RB8", "Recurrent BatchNorm should not normalize the update of the cell", "the library's LSTM has the paper's placement only" },
};

/* "3 seeds: -0.82 +- 0.30"; "exact", or the number of draws, where the statement is mathematical; only the interval's text where there are no
 * seeds. */
static const char *seeds_text(plot_figure *f, const dive_claim *c)
{
    if (c->exact) return *c->interval ? c->interval : "exact";
    if (!c->seeds) return c->interval;
    return plot_figure_text(f, "%s%s%s", dive_count(f->t, c->seeds, "seed", "seeds"), *c->interval ? ": " : "", c->interval);
}

void dive_claims_draw(const dive *d, plot_figure *f)
{
    enum { COLUMNS = 7 };
    static const char *const head[COLUMNS] = { "Statement", "Source", "Measured here", "Compared with", "Seeds and interval",
                                               "Verdict",   "Why" };
    const char *text[DIVE_CLAIMS + 64][COLUMNS];
    size_t rows = 0, count[DIVE_VERDICTS] = { 0 }, exact = 0, missing = 0;
    dive_claims c = { .f = f };
    dive_collect(d, &c);
    for (size_t i = 0; i < c.n; i++) {
        const dive_claim *const claim = c.claim[i];
        const char *const row[COLUMNS] = { claim->statement,
                                           claim->source,
                                           claim->measured,
                                           claim->control,
                                           seeds_text(f, claim),
                                           dive_verdict_name[claim->verdict],
                                           claim->verdict == DIVE_PASS ? "" : claim->why };
        memcpy(text[rows++], row, sizeof row);
        count[claim->verdict]++, exact += claim->exact;
    }
    for (size_t i = 0; i < dive_figures_n; i++) {
        if (dive_is_done(d, &dive_figures[i])) continue;
        const char *const row[COLUMNS] = {
            plot_figure_text(f, "Statements of the figure %s", dive_figures[i].name), "", "not measured", "", "", "", ""
        };
        memcpy(text[rows++], row, sizeof row), missing++;
    }
    f->title = "Claims about normalization, and which of them hold here", f->columns = 1;
    plot_panel *const p = plot_panel_new(f, &(plot_panel){ .title = "Claims", .note = "FAIL and DIFFERS are results too" });
    plot_table_set(p, &(plot_table){ .rows = rows, .columns = COLUMNS, .head = head, .text = text[0], .verdict = 5 });
    static const char *const missing_head[3] = { "Code", "Claim of a paper", "Why it is not measured" };
    plot_panel *const rest = plot_panel_new(
        f, &(plot_panel){ .title = "Claims that are not measured", .note = "all other claims of the six papers are in the table above" });
    plot_table_set(rest, &(plot_table){ .rows = DIVE_MISSING, .columns = 3, .head = missing_head, .text = dive_missing[0], .verdict = -1 });
    plot_figure_says(f, PLOT_SAY_QUESTION, "Which statements of papers and of common opinion hold for these networks and data?");
    plot_figure_says(f, PLOT_SAY_NUMBER, "%zu of %zu statements hold, %s, %s, %s, and for %zu the runs were too short to tell",
                     count[DIVE_PASS], c.n, dive_count(f->t, count[DIVE_FAIL], "does not hold", "do not hold"),
                     dive_count(f->t, count[DIVE_DIFFERS], "holds only in part or is undecided", "hold only in part or are undecided"),
                     dive_count(f->t, count[DIVE_EQUAL], "is a tie", "are ties"), count[DIVE_SHORT]);
    plot_figure_says(
        f, PLOT_SAY_CAPTION,
        "%zu statements are mathematical and must hold on every machine, apart from rounding; those about an expected value are measured "
        "with the number of random draws that the table gives, and must hold within a bound. The others were "
        "measured in the runs of this page only. Those about networks before training, and those about times, compare a mean with the "
        "bounds in the column Compared with, without an interval. Those about training compare networks. A comparison takes the difference "
        "between two networks in each seed, and the interval of "
        "95 %% of its mean over the seeds (Student's t). PASS: the statement holds, and the interval does not include 0. FAIL: it does not "
        "hold here: an interval is on the other side of 0, and no part of the statement holds. DIFFERS: it holds only in part, by less "
        "than "
        "stated, or the interval includes 0. EQUAL: the difference and its interval are within the step of the evaluation. TOO SHORT: "
        "there is no verdict, because there were fewer seeds or steps than the claim needs, or "
        "the networks had learned too little. The last column says why. Codes such as LN1 number the claims of the papers.%s",
        exact, missing ? " The last rows name the figures that were not measured with these settings." : "");
    plot_figure_says(f, PLOT_SAY_SETTINGS, "%s; at most %s, and each row names its own number; each figure describes its networks.",
                     d->preprocessing, dive_count(f->t, d->seeds, "seed", "seeds"));
}
