/* examples/dive/padding_draw.c - figure "padding" and its claims, from the records that padding.h lists. */
#include "examples/dive/padding.h"
#include <math.h>

/* Add a line for each way: the rows of record [WAYS, n] against x [n]. */
static void lines(const dive *d, plot_panel *p, const char *x, const char *record)
{
    const plot_record *const at = plot_runs_get(&d->runs, "padding", "%s", x), *const r = plot_runs_get(&d->runs, "padding", "%s", record);
    for (size_t w = 0; at && r && r->n == WAYS * at->n && w < WAYS; w++)
        plot_series_add(
            p, &(plot_series){ padding_ways[w].name, padding_ways[w].ink, PLOT_LINE_DOTS, at->n, at->values, r->values + w * at->n });
}

static void draw_lesson(const dive *d, plot_figure *f)
{
    enum { COLUMNS = 5 };
    static const char *const head[COLUMNS] = { "word", "feature one", "BN", "BN with lengths", "LN" };
    static const char *const word[LESSON] = { "1, \"I\"", "2", "3", "4", "5", "6", "7, \"powerful\"", "padding" };
    const char *text[LESSON][COLUMNS];
    const plot_record *const r = plot_runs_get(&d->runs, "padding", "lesson");
    const plot_record *const s = plot_runs_get(&d->runs, "padding", "lesson/statistics");
    if (!r || !s || r->n < (size_t)WAYS * LESSON || s->n < 4) return;
    for (size_t i = 0; i < LESSON; i++) {
        text[i][0] = word[i], text[i][1] = plot_figure_text(f, "%g", r->values[i]);
        for (size_t w = PLAIN; w < WAYS; w++) text[i][1 + w] = plot_figure_text(f, "%.2f", r->values[w * LESSON + i]);
    }
    const char *const note = plot_figure_text(f, "of four and three words: BN has mean %.2f and deviation %.2f; with lengths %.2f and %.2f",
                                              s->values[0], s->values[2], s->values[1], s->values[3]);
    plot_panel *const p = plot_panel_new(f, &(plot_panel){ .title = "Two sentences, worked example", .note = note });
    plot_table_set(p, &(plot_table){ .rows = LESSON, .columns = COLUMNS, .head = head, .text = text[0], .verdict = -1 });
}

static double value(const dive *d, const char *record, size_t i)
{
    const plot_record *const r = plot_runs_get(&d->runs, "padding", "%s", record);
    return r && i < r->n ? r->values[i] : (double)NAN;
}
static double at_share(const dive *d, const char *record, size_t way, size_t k) { return value(d, record, way * SHARES + k); }

/* The largest distance of a record's line from its first value. */
static double moves(const dive *d, const char *record, size_t way, size_t n)
{
    double most = 0;
    for (size_t k = 0; k < n; k++) most = fmax(most, fabs(value(d, record, way * n + k) - value(d, record, way * n)));
    return most;
}

void dive_padding_draw(const dive *d, plot_figure *f)
{
    static const struct {
        const char *title, *note, *x, *y, *share, *record;
    } panel[] = {
        { "Mean that is subtracted", "from feature one of a word", "padding, %", "mean", "share", "mean" },
        { "Deviation that is divided by", NULL, "padding, %", "deviation", "share", "deviation" },
        { "One real word after the norm", "in training", "padding, %", "feature one, after the norm", "share", "out" },
        { "The same word without padding", "in evaluation", "padding in training, %", "feature one, after the norm", "share", "alone" },
        { "A trained network, the same names", "with batch statistics", "padding, %", "mean loss, nats per letter", "look/share", "look" },
        { "Trained on padded names", "in evaluation", "padding in training, %", "test loss, nats per letter", "train/share", "train" },
    };
    f->title = "Padding changes BatchNorm", f->columns = 3;
    plot_figure_says(
        f, PLOT_SAY_QUESTION,
        "Sentences have different lengths, and a batch is padded with zeros: which norms include the zeros in their statistics?");
    for (size_t k = 0; k < sizeof panel / sizeof *panel; k++) {
        plot_panel *const p =
            plot_panel_new(f, &(plot_panel){ .title = panel[k].title, .note = panel[k].note, .x = { panel[k].x }, .y = { panel[k].y } });
        lines(d, p, panel[k].share, panel[k].record);
    }
    draw_lesson(d, f);

    const size_t last = SHARES - 1, far = LOOKS - 1;
    plot_figure_says(f, PLOT_SAY_NUMBER,
                     "With BatchNorm, feature one of the same word goes from %.2f without padding to %.2f with %.0f %%; with lengths it "
                     "changes by %g, with LayerNorm by %g",
                     at_share(d, "out", PLAIN, 0), at_share(d, "out", PLAIN, last), value(d, "share", last),
                     moves(d, "out", MASKED, SHARES), moves(d, "out", LAYER, SHARES));
    plot_figure_says(
        f, PLOT_SAY_CAPTION,
        "A batch has %d sentences of %d words and %d features; feature one comes from N(2, 1), the others from N(0, 1). Then more and "
        "more zeros are added, and the words keep their bits. BatchNorm includes the zeros: it subtracts %.2f with %.0f %% of padding and "
        "%.2f without. In evaluation, with running statistics of %d such batches, its output depends on padding that is no longer there. "
        "With lengths it uses the words only; LayerNorm normalizes each word alone. The last two panels show a network that predicts the "
        "next letter of a made-up name from three letters (Adam, learning rate 0.005, batch %d, PyTorch's initial values). With batch "
        "statistics, as in training, BatchNorm's mean loss of the same names goes from %.3f to %.3f when padding is added. With padding in "
        "training its test loss, in the first seed, differs by at most %.3f. In the worked example a word is (v, 2v, 3v), the last (7, 13, "
        "19). Its three values have equal distances, so LayerNorm gives every word the same output.",
        SENTENCES, WORDS, FEATURES, at_share(d, "mean", PLAIN, last), value(d, "share", last), at_share(d, "mean", PLAIN, 0), BATCHES,
        BATCH, value(d, "look", PLAIN * LOOKS), value(d, "look", PLAIN * LOOKS + far), moves(d, "train", PLAIN, PADDINGS));
}

static const char *const taught = "worked example of padded sentences";

static void claim_lesson(const dive *d, dive_claims *c)
{
    const double mean[2] = { value(d, "lesson/statistics", 0), value(d, "lesson/statistics", 1) };
    const double deviation[2] = { value(d, "lesson/statistics", 2), value(d, "lesson/statistics", 3) };
    const double word = value(d, "lesson", PLAIN * LESSON);
    const bool holds = fabs(mean[0] - 3.5) < 0.005 && fabs(deviation[0] - 2.29) < 0.005 && fabs(word + 1.09) < 0.005 &&
                       fabs(mean[1] - 4) < 0.005 && fabs(deviation[1] - 2) < 0.005;
    dive_claim_exact(c, holds, "Two padded sentences: mean 3.5, deviation 2.29, \"I\" -1.09; with lengths 4 and 2", taught,
                     plot_figure_text(c->f, "mean %.2f, deviation %.2f, \"I\" %.2f; with lengths %.2f and %.2f", mean[0], deviation[0],
                                      word, mean[1], deviation[1]),
                     "the numbers of the worked example", "the numbers differ");
}

static void claim_trained(const dive *d, dive_claims *c)
{
    plot_figure *const f = c->f;
    const dive_pair rise =
        dive_compare(dive_constant(f->t, d->seeds, 0), plot_runs_get(&d->runs, "padding", "look/rise"), (dive_scale){ .grid = 1e-3 });
    dive_claim claim = { .statement = "More padding raises the loss of a trained network with BatchNorm in training mode",
                         .source = taught };
    claim.measured =
        plot_figure_text(f, "mean loss of the same names: %.3f with %.0f %% padding, %.3f with %.0f %%; LN %.3f and %.3f",
                         value(d, "look", PLAIN * LOOKS), value(d, "look/share", 0), value(d, "look", PLAIN * LOOKS + LOOKS - 1),
                         value(d, "look/share", LOOKS - 1), value(d, "look", LAYER * LOOKS), value(d, "look", LAYER * LOOKS + LOOKS - 1));
    claim.control = "the same names with lengths, with LayerNorm and without a norm", claim.why = dive_why(f, &rise, "higher", "lower");
    claim.interval = plot_figure_text(f, "minus the rise %s", dive_interval(f, &rise, 3)), claim.seeds = rise.seeds;
    claim.too_short = dive_too_short(f, (dive_budget){ .seeds = rise.seeds }), claim.verdict = dive_is_below(&rise);
    dive_claim_add(c, &claim);
}

void dive_padding_claims(const dive *d, dive_claims *c)
{
    static const char *const same = "the same words, up to 90 % of padding", *const moved = "it changed";
    plot_figure *const f = c->f;
    const size_t last = SHARES - 1;
    double off = 0;
    for (size_t k = 0; k < SHARES; k++)
        off = fmax(off, fabs(at_share(d, "mean", PLAIN, k) - (1 - value(d, "share", k) / 100) * at_share(d, "mean", MASKED, k)));
    dive_claim_exact(c, off < 1e-5 && moves(d, "out", PLAIN, SHARES) > 0.5, "Padding changes BatchNorm's statistics", taught,
                     plot_figure_text(f, "mean of feature one %.3f to %.3f, one word %.2f to %.2f, from 0 to %.0f %% of padding",
                                      at_share(d, "mean", PLAIN, 0), at_share(d, "mean", PLAIN, last), at_share(d, "out", PLAIN, 0),
                                      at_share(d, "out", PLAIN, last), value(d, "share", last)),
                     "the mean is that of the words, times their share", "the mean is not that of the words, times their share");
    const double out = moves(d, "out", MASKED, SHARES), alone = moves(d, "alone", MASKED, SHARES), layer = moves(d, "out", LAYER, SHARES);
    dive_claim_exact(c, out == 0 && alone == 0, "With lengths, padding does not change BatchNorm", taught,
                     plot_figure_text(f, "with lengths one word changes by %g, with running statistics by %g", out, alone), same, moved);
    dive_claim_exact(c, layer == 0, "Padding does not change LayerNorm", taught, plot_figure_text(f, "one word changes by %g", layer), same,
                     moved);
    claim_lesson(d, c), claim_trained(d, c);
}
