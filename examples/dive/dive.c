/* examples/dive/dive.c - the parts that the figures share: sizes by mode, seeds, progress, tapes, claims, the three arms. */
#include "examples/dive/dive.h"
#include "core/op.h"
#include "examples/kit/progress.h"
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

const char *const dive_arm_name[DIVE_ARMS] = { "none", "BN", "LN" };
const gr_norm_kind dive_arm_norm[DIVE_ARMS] = { GR_NORM_NONE, GR_NORM_BATCH, GR_NORM_LAYER };

const char *const dive_verdict_name[DIVE_VERDICTS] = { "PASS", "FAIL", "DIFFERS", "EQUAL", "TOO SHORT" };

#define DIVE_ENTRY(name, seconds, what) { #name, what, seconds, dive_##name##_measure, dive_##name##_draw, dive_##name##_claims },
const dive_figure dive_figures[] = { DIVE_FIGURES(DIVE_ENTRY) };
#undef DIVE_ENTRY
const size_t dive_figures_n = sizeof dive_figures / sizeof *dive_figures;

size_t dive_pick(const dive *d, size_t tiny, size_t quick, size_t full)
{
    return d->mode == DIVE_TINY ? tiny : d->mode == DIVE_QUICK ? quick : full;
}

uint64_t dive_seed(const dive *d, size_t k) { return d->r->o->seed + k; }

bool dive_is_done(const dive *d, const dive_figure *figure) { return plot_runs_done(&d->runs, figure->name, d->settings) != NULL; }

/* Seconds that are left, if the rest is as fast as the part that is done. An initial guess counts as a twentieth of the work, so that the first
 * estimates are not wild. */
static double left(const dive *d, double share, double now)
{
    const double total = d->progress.total, done = d->progress.before + share * d->progress.weight, guess = total / 20;
    const double rate = (now - d->progress.began + guess * (double)dive_pick(d, 1, 1, 20)) / (done + guess);
    return (total - done) * rate;
}

bool dive_tick(dive *d, double share, const char *format, ...)
{
    const double now = kit_seconds();
    if (!d->r->o->quiet && isatty(STDERR_FILENO) && now - d->progress.drawn > 0.1) {
        char text[256], end[64];
        int used = snprintf(text, sizeof text, "%s %3.0f %%  ", d->figure, 100 * share);
        va_list list;
        va_start(list, format);
        vsnprintf(text + used, sizeof text - (size_t)used, format, list);
        va_end(list);
        const double seconds = left(d, share, now);
        snprintf(end, sizeof end, "  %d:%02d left", (int)seconds / 60, (int)seconds % 60);
        kit_progress_line(stderr, text, end);
        d->progress.drawn = now;
    }
    return !kit_interrupted() && !gr_failed(d->r->tape);
}

gr_tape *dive_tape(const dive *d, uint64_t seed) { return gr_tape_new(seed, (&(gr_tape_config){ .pool = d->r->pool })); }

void dive_tape_free(dive *d, gr_tape *t)
{
    if (gr_failed(t))
        gr_fail_as(d->r->tape, t ? gr_error_code(t) : GR_NO_MEMORY, "", "%s: %s", d->figure, t ? gr_message(t) : "out of memory");
    gr_tape_free(t);
}

void dive_claim_add(dive_claims *c, const dive_claim *claim)
{
    gr_tape *const t = c->f->t;
    dive_claim *const p = gr_failed(t) ? NULL : gr_save(t, sizeof *p);
    if (p && c->n == DIVE_CLAIMS) gr_fail_as(t, GR_MISUSE, "", "there are more than %d claims", DIVE_CLAIMS);
    if (!p || gr_failed(t)) return;
    *p = *claim;
    if (p->too_short && !p->exact) p->verdict = DIVE_SHORT, p->why = p->too_short;
    if (p->verdict == DIVE_EQUAL) p->why = "a tie: the difference and its interval are within the step of the evaluation";
    if (p->verdict == DIVE_PASS) p->why = NULL;
    const char **const text[] = { &p->statement, &p->source, &p->measured, &p->control, &p->interval, &p->why, &p->too_short };
    for (size_t i = 0; i < sizeof text / sizeof *text; i++) *text[i] = plot_figure_text(c->f, "%s", *text[i] ? *text[i] : "");
    c->claim[c->n++] = p;
}

void dive_claim_exact(dive_claims *c, bool holds, const char *statement, const char *source, const char *measured, const char *control,
                      const char *why)
{
    dive_claim_add(c, &(dive_claim){ .statement = statement,
                                     .source = source,
                                     .measured = measured,
                                     .control = control,
                                     .why = why,
                                     .verdict = holds ? DIVE_PASS : DIVE_FAIL,
                                     .exact = true });
}

dive_verdict dive_both(bool a, bool b) { return a && b ? DIVE_PASS : a || b ? DIVE_DIFFERS : DIVE_FAIL; }

void dive_collect(const dive *d, dive_claims *c)
{
    for (size_t i = 0; c->f && i < dive_figures_n; i++) {
        const size_t n = c->n;
        if (dive_is_done(d, &dive_figures[i])) dive_figures[i].claims(d, c);
        for (size_t k = n; k < c->n; k++) c->claim[k]->figure = dive_figures[i].name;
    }
    for (size_t i = 1; i < c->n; i++) /* PASS is the first verdict; it becomes the last */
        for (size_t k = i; k > 0 && c->claim[k]->verdict - 1u < c->claim[k - 1]->verdict - 1u; k--) {
            dive_claim *const later = c->claim[k - 1];
            c->claim[k - 1] = c->claim[k], c->claim[k] = later;
        }
}

void dive_link_claims(const dive *d, plot_figure *claims)
{
    dive_claims c = { .f = claims };
    plot_table *const table = claims->n ? claims->panel[0]->table : NULL;
    const char **const link = table ? gr_save_zeros(claims->t, (table->rows + 1) * sizeof *link) : NULL;
    if (!link) return;
    dive_collect(d, &c);
    for (size_t i = 0; i < c.n && i < table->rows; i++) link[i] = strcmp(c.claim[i]->figure, claims->name) ? c.claim[i]->figure : NULL;
    table->link = link;
}
