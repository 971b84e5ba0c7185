/* examples/plot/report.c - notes of a training run, and the page that shows them. */
#include "examples/plot/report.h"
#include "core/op.h"
#include "examples/kit/program.h"
#include "examples/plot/page.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const struct {
    const char *name, *title, *label;
    bool log;
} panels[PLOT_REPORT_PANELS] = {
    [PLOT_REPORT_LOSS] = { "loss", "Loss", "cross-entropy", true },
    [PLOT_REPORT_ACCURACY] = { "accuracy", "Accuracy", "accuracy, %", false },
    [PLOT_REPORT_RATE] = { "rate", "Learning rate", "learning rate", false },
    [PLOT_REPORT_GRADIENT] = { "gradient", "Gradient", "norm before clipping", true },
    [PLOT_REPORT_WEIGHTS] = { "weights", "Weights", "norm of each matrix", false },
    [PLOT_REPORT_PREACTIVATIONS] = { "preactivations", "Recurrent pre-activations", "W h at the last time step", false },
};

plot_report plot_report_new(const char *path, size_t steps)
{
    plot_report r = { .path = path, .steps = steps, .every = steps / PLOT_REPORT_POINTS + 1, .began = kit_seconds() };
    if (path) r.t = gr_tape_new(0, NULL), r.test = gr_save_zeros(r.t, sizeof *r.test);
    return r;
}

void plot_report_free(plot_report *r)
{
    gr_tape_free(r->t);
    r->t = NULL;
}

static plot_report_curve *curve_of(plot_report *r, plot_report_panel panel, const char *name)
{
    plot_report_curve **at = &r->curve[panel];
    while (*at && strcmp((*at)->name, name)) at = &(*at)->next;
    if (*at) return *at;
    plot_report_curve *const c = gr_save_zeros(r->t, sizeof *c);
    char *const copy = gr_save(r->t, strlen(name) + 1);
    if (!c || !copy) return NULL;
    c->name = strcpy(copy, name);
    return *at = c;
}

static size_t point_of(const plot_report *r, size_t step)
{
    const size_t k = (step ? step - 1 : 0) / r->every;
    return k < PLOT_REPORT_POINTS ? k : PLOT_REPORT_POINTS - 1;
}

void plot_report_note(plot_report *r, plot_report_panel panel, const char *name, size_t step, double value)
{
    plot_report_curve *const c = r->path && isfinite(value) ? curve_of(r, panel, name) : NULL;
    const size_t k = point_of(r, step);
    if (c) c->n[k]++, c->step[k] += (double)step, c->value[k] += value, c->seconds[k] += kit_seconds() - r->began;
}

/* Whether the panel still has no value at the point of this step. */
static bool is_due(const plot_report *r, plot_report_panel panel, size_t step)
{
    return r->path && !(r->curve[panel] && r->curve[panel]->n[point_of(r, step)]);
}

void plot_report_weights(plot_report *r, size_t step, const gr_module *net)
{
    if (!is_due(r, PLOT_REPORT_WEIGHTS, step)) return;
    for (const gr_slot *s = gr_slot_first(net); s; s = gr_slot_next(net, s)) {
        double sum = 0;
        if (!s->tensor || s->tensor->rank < 2) continue;
        for (size_t i = 0; i < s->tensor->len; i++) sum += (double)s->tensor->data[i] * (double)s->tensor->data[i];
        plot_report_note(r, PLOT_REPORT_WEIGHTS, s->path, step, sqrt(sum));
    }
}

static int by_value(const void *a, const void *b)
{
    const gr_real x = *(const gr_real *)a, y = *(const gr_real *)b;
    return (x > y) - (x < y);
}

void plot_report_recurrence(plot_report *r, size_t step, gr_tape *t, const gr_lstm *lstm, gr_tensor *y)
{
    static const struct {
        const char *name;
        double share;
    } line[] = { { "15th percentile", 0.15 }, { "median", 0.5 }, { "85th percentile", 0.85 } };
    if (!is_due(r, PLOT_REPORT_PREACTIVATIONS, step) || gr_failed(t) || gr_size(y, 1) < 2) return;
    const bool recording = gr_tape_recording(t);
    gr_tape_set_recording(t, false);
    gr_tensor *h = gr_select(t, y, 1, (ptrdiff_t)gr_size(y, 1) - 2), *a = gr_linear(t, h, lstm->recurrent.weights[lstm->recurrent.layers - 1].w_hh, NULL);
    gr_tape_set_recording(t, recording);
    if (!a) return;
    qsort(a->data, a->len, sizeof *a->data, by_value);
    for (size_t i = 0; i < 3; i++)
        plot_report_note(r, PLOT_REPORT_PREACTIVATIONS, line[i].name, step,
                         (double)a->data[(size_t)(line[i].share * (double)(a->len - 1))]);
}

/* ---- The page ---- */

static bool is_earlier(const plot_report_curve *c) { return strncmp(c->name, "earlier", 7) == 0; }

static bool has_earlier(const plot_report_curve *c)
{
    while (c && !is_earlier(c)) c = c->next;
    return c;
}

/* Whether a logarithmic axis shows anything of these curves. */
static bool has_positive(const plot_report_curve *c)
{
    for (; c; c = c->next)
        for (size_t k = 0; k < PLOT_REPORT_POINTS; k++)
            if (c->value[k] > 0) return true;
    return false;
}

static void draw(plot_panel *p, const plot_report_curve *c)
{
    for (int i = 0, j = 0; c; c = c->next) {
        const plot_ink ink = is_earlier(c) ? j++ ? PLOT_INK_NONE : PLOT_INK_QUIET : PLOT_INK_RAMP0 + (plot_ink)(i++ % 5);
        double x[PLOT_REPORT_POINTS], seconds[PLOT_REPORT_POINTS], y[PLOT_REPORT_POINTS];
        size_t n = 0;
        for (size_t k = 0; k < PLOT_REPORT_POINTS; k++)
            if (c->n[k])
                x[n] = c->step[k] / (double)c->n[k], seconds[n] = c->seconds[k] / (double)c->n[k], y[n++] = c->value[k] / (double)c->n[k];
        const plot_mark mark = n < PLOT_REPORT_POINTS / 10 ? PLOT_LINE_DOTS : PLOT_LINE;
        plot_series_add(p,
                        &(plot_series){ .name = c->name, .ink = ink, .mark = mark, .n = n, .x = x, .x2 = seconds, .y = y });
    }
}

/* The first and the last value of a curve; NaN when there is none. */
typedef struct { double first, last; } ends;
static ends ends_of(const plot_report_curve *c, const char *name)
{
    ends e = { (double)NAN, (double)NAN };
    for (; c; c = c->next)
        for (size_t k = 0; k < PLOT_REPORT_POINTS && !strcmp(c->name, name); k++) {
            if (!c->n[k]) continue;
            e.last = c->value[k] / (double)c->n[k];
            if (isnan(e.first)) e.first = e.last;
        }
    return e;
}

/* The line under a figure's title, which also stands in the contents. */
static void say_number(const plot_report *r, plot_figure *f, int k)
{
    const plot_report_curve *const curves = r->curve[k], *most = NULL;
    const ends test = ends_of(curves, "test"), rate = ends_of(curves, "learning rate"), norm = ends_of(curves, "norm before clipping"),
               low = ends_of(curves, "15th percentile"), high = ends_of(curves, "85th percentile");
    double change = 0;
    if (k == PLOT_REPORT_LOSS && isfinite(test.last)) plot_figure_says(f, PLOT_SAY_NUMBER, "Loss on the test set at the last evaluation: %.4f", test.last);
    if (k == PLOT_REPORT_ACCURACY && isfinite(test.last))
        plot_figure_says(f, PLOT_SAY_NUMBER, "Accuracy on the test set at the last evaluation: %.2f %%", test.last);
    if (k == PLOT_REPORT_RATE && isfinite(rate.first)) plot_figure_says(f, PLOT_SAY_NUMBER, "Learning rate: %.2g at the start, %.2g at the end", rate.first, rate.last);
    if (k == PLOT_REPORT_GRADIENT && isfinite(norm.first))
        plot_figure_says(f, PLOT_SAY_NUMBER, "Norm of the gradient before clipping: %.2g at the start, %.2g at the end", norm.first, norm.last);
    if (k == PLOT_REPORT_PREACTIVATIONS && isfinite(low.first) && isfinite(high.first))
        plot_figure_says(f, PLOT_SAY_NUMBER, "From the 15th to the 85th percentile: %.2f at the start, %.2f at the end", high.first - low.first, high.last - low.last);
    for (const plot_report_curve *c = curves; k == PLOT_REPORT_WEIGHTS && c; c = c->next) {
        const ends e = ends_of(c, c->name);
        if (!most || fabs(log(e.last / e.first)) > change) most = c, change = fabs(log(e.last / e.first));
    }
    if (!most) return;
    const ends e = ends_of(most, most->name);
    plot_figure_says(f, PLOT_SAY_NUMBER, "The matrix whose norm changes most, %s: %.2f at the start, %.2f at the end", most->name, e.first, e.last);
}

/* How many evaluations a curve has, and whether two of them share a point. */
static size_t evaluations(const plot_report *r, plot_report_panel k, bool *share)
{
    size_t n = 0;
    *share = false;
    for (const plot_report_curve *c = r->curve[k]; c; c = c->next)
        for (size_t i = 0; i < PLOT_REPORT_POINTS && !strcmp(c->name, "test"); i++) n += c->n[i], *share = *share || c->n[i] > 1;
    return n;
}

static const char *caption(const plot_report *r, int k)
{
    const bool tested = k == PLOT_REPORT_LOSS || k == PLOT_REPORT_ACCURACY, measured = k >= PLOT_REPORT_WEIGHTS;
    bool share = false;
    const size_t n = tested ? evaluations(r, (plot_report_panel)k, &share) : 0;
    const char *const points = r->every == 1 ? "is one step" : plot_say(r->t, measured ? "is one measurement in %zu steps" : "is the mean over %zu steps", r->every);
    if (!tested) return plot_say(r->t, "Each point %s.", points);
    const char *const tests = n == 0   ? "There was no evaluation on the test set."
                              : n == 1 ? "The one point on the test set is one evaluation."
                              : share  ? plot_say(r->t, "On the test set each point is the mean of the evaluations in %zu steps.", r->every)
                                       : plot_say(r->t, "On the test set each of the %zu points is one evaluation.", n);
    return plot_say(r->t, "In training each point %s. %s", points, tests);
}

static plot_figure *figure(const plot_report *r, int k)
{
    plot_figure *const f = plot_figure_new(r->t, panels[k].name, panels[k].title);
    const bool alone = !has_earlier(r->curve[k]); /* the log of an earlier run has no seconds */
    draw(plot_panel_new(f, &(plot_panel){ .x = { "step" },
                                          .x2 = { alone ? "seconds, with the tests" : NULL },
                                          .y = { panels[k].label, .log = panels[k].log && has_positive(r->curve[k]) },
                                          .aspect = 2 }),
         r->curve[k]);
    say_number(r, f, k);
    plot_figure_says(f, PLOT_SAY_CAPTION, "%s%s", caption(r, k), has_earlier(r->curve[k]) ? plot_say(r->t, " Earlier: the run of %s.", r->with) : "");
    return f;
}

/* ---- The facts at the end of the page ---- */

/* The flags with their values, also those that the user did not give. */
static const char *flags_text(gr_tape *t, const kit_flags *flags)
{
    const char *all = "";
    char word[64];
    for (size_t i = 0; i < flags->n; i++) {
        const kit_flag *const f = &flags->flag[i];
        const char *const path = f->kind == KIT_TEXT ? *(const char **)f->value : NULL;
        if (f->kind == KIT_SWITCH && *(bool *)f->value) all = plot_say(t, "%s --%s", all, f->name);
        else if (path) all = plot_say(t, "%s --%s %s", all, f->name, path);
        else if (f->kind == KIT_COUNT) all = plot_say(t, "%s --%s %llu", all, f->name, (unsigned long long)*(uint64_t *)f->value);
        else if (f->kind == KIT_NUMBER) all = plot_say(t, "%s --%s %g", all, f->name, *(double *)f->value);
        else if (f->kind == KIT_CHOICE) all = plot_say(t, "%s --%s %s", all, f->name, kit_flags_choice(f, word, sizeof word));
    }
    return all + (*all == ' ');
}

static const char *time_text(const plot_report *r)
{
    char date[64] = "";
    const time_t now = time(NULL);
    const struct tm *const utc = gmtime(&now);
    if (utc) strftime(date, sizeof date, "%Y-%m-%d %H:%M UTC", utc);
    return plot_say(r->t, "%.1f s from the start to the end, tests included; finished %s", kit_seconds() - r->began, date);
}

bool plot_report_write(gr_tape *t, plot_report *r, const kit_flags *flags, int argc, char **argv, const char *data)
{
    char title[128], cpu[128];
    if (!r->path || gr_failed(t)) return !gr_failed(t);
    snprintf(title, sizeof title, "%s: a training run", flags->name);
    const char *const machine = plot_say(r->t, "%s, %s, %d threads", kit_cpu(cpu, sizeof cpu), gr_tape_isa(t), gr_tape_threads(t));
    const char *const fact[][2] = { { "command", plot_command(r->t, flags->name, argc, argv) },
                                    { "data", data },
                                    { "seed", plot_say(r->t, "%llu", (unsigned long long)gr_tape_seed(t)) },
                                    { "flags", flags_text(r->t, flags) },
                                    { "version", plot_say(r->t, "gradus %s, %s", GR_VERSION_TEXT, sizeof(gr_real) == sizeof(float) ? "float" : "double") },
                                    { "machine", machine },
                                    { "time", time_text(r) } };
    plot_figure *f[PLOT_REPORT_PANELS + 2];
    size_t n = 0;
    for (int k = 0; k < PLOT_REPORT_PANELS; k++)
        if (r->curve[k]) f[n++] = figure(r, k);
    if (r->test && r->test->n) f[n++] = plot_report_confusion(r), f[n++] = plot_report_worst(r);
    const plot_page page = { title, flags->about, r->plotly, fact, sizeof fact / sizeof *fact, n ? NULL : "The run took no step, so there are no curves.", false };
    if (!gr_failed(r->t) && plot_page_write(r->t, r->path, &page, f, n)) return true;
    return gr_fail_as(t, r->t ? gr_error_code(r->t) : GR_NO_MEMORY, "", "%s", r->t ? gr_message(r->t) : "out of memory");
}
