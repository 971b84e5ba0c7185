/* examples/plot/report.c - notes of a training run, and the page that shows them. */
#include "examples/plot/report.h"
#include "core/op.h"
#include "examples/plot/page.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *title, *label;
    bool log;
} panels[PLOT_REPORT_PANELS] = {
    [PLOT_REPORT_LOSS] = { "loss", "Loss", "cross-entropy", true },
    [PLOT_REPORT_ACCURACY] = { "accuracy", "Accuracy", "accuracy, %", false },
    [PLOT_REPORT_GRADIENT] = { "gradient", "Gradient", "norm before clipping", true },
    [PLOT_REPORT_WEIGHTS] = { "weights", "Weights", "norm of each matrix", false },
    [PLOT_REPORT_PREACTIVATIONS] = { "preactivations", "Recurrent pre-activations", "W h at the last time step", false },
};

plot_report plot_report_new(const char *path, size_t steps)
{
    plot_report r = { .path = path, .steps = steps, .every = steps / PLOT_REPORT_POINTS + 1 };
    if (path) r.t = gr_tape_new(0, NULL);
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
    if (c) c->n[k]++, c->step[k] += (double)step, c->value[k] += value;
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

static void draw(plot_panel *p, const plot_report_curve *c)
{
    for (int i = 0; c; c = c->next, i++) {
        double x[PLOT_REPORT_POINTS], y[PLOT_REPORT_POINTS];
        size_t n = 0;
        for (size_t k = 0; k < PLOT_REPORT_POINTS; k++)
            if (c->n[k]) x[n] = c->step[k] / (double)c->n[k], y[n++] = c->value[k] / (double)c->n[k];
        const plot_mark mark = n < PLOT_REPORT_POINTS / 10 ? PLOT_LINE_DOTS : PLOT_LINE;
        plot_series_add(p,
                        &(plot_series){ .name = c->name, .ink = PLOT_INK_RAMP0 + (plot_ink)(i % 5), .mark = mark, .n = n, .x = x, .y = y });
    }
}

static double last_of(const plot_report_curve *c, const char *name)
{
    double last = (double)NAN;
    for (; c; c = c->next)
        for (size_t k = 0; k < PLOT_REPORT_POINTS && !strcmp(c->name, name); k++)
            if (c->n[k]) last = c->value[k] / (double)c->n[k];
    return last;
}

static plot_figure *figure(const plot_report *r, int k)
{
    plot_figure *const f = plot_figure_new(r->t, panels[k].name, panels[k].title);
    const double loss = last_of(r->curve[PLOT_REPORT_LOSS], "test"), accuracy = last_of(r->curve[PLOT_REPORT_ACCURACY], "test");
    draw(plot_panel_new(f, &(plot_panel){ .x = { "step" }, .y = { panels[k].label, .log = panels[k].log }, .aspect = 2 }), r->curve[k]);
    if (k == PLOT_REPORT_LOSS && isfinite(loss)) plot_figure_says(f, PLOT_SAY_NUMBER, "Loss on the test set at the last evaluation: %.4f", loss);
    if (k == PLOT_REPORT_ACCURACY && isfinite(accuracy))
        plot_figure_says(f, PLOT_SAY_NUMBER, "Accuracy on the test set at the last evaluation: %.2f %%", accuracy);
    const char *const how = k >= PLOT_REPORT_WEIGHTS ? "one measurement in" : "the mean over";
    if (r->every == 1)
        plot_figure_says(f, PLOT_SAY_CAPTION, "Each point is one step%s.", k > PLOT_REPORT_ACCURACY ? "" : ", or one evaluation");
    else plot_figure_says(f, PLOT_SAY_CAPTION, "Each point is %s %zu steps.", how, r->every);
    return f;
}

bool plot_report_write(gr_tape *t, plot_report *r, const kit_flags *flags, int argc, char **argv, const char *data)
{
    char title[128];
    if (!r->path || gr_failed(t)) return !gr_failed(t);
    snprintf(title, sizeof title, "%s: a training run", flags->name);
    const char *const fact[][2] = { { "command", plot_command(r->t, flags->name, argc, argv) }, { "data", data } };
    plot_figure *f[PLOT_REPORT_PANELS];
    size_t n = 0;
    for (int k = 0; k < PLOT_REPORT_PANELS; k++)
        if (r->curve[k]) f[n++] = figure(r, k);
    if (!gr_failed(r->t) && plot_page_write(r->t, r->path, &(plot_page){ title, flags->about, NULL, fact, 2, NULL, true }, f, n))
        return true;
    return gr_fail_as(t, r->t ? gr_error_code(r->t) : GR_NO_MEMORY, "", "%s", r->t ? gr_message(r->t) : "out of memory");
}
