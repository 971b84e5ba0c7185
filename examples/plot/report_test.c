/* examples/plot/report_test.c - the last test of a run: the confusion matrix and the worst images; and curves of an earlier run. */
#include "core/op.h"
#include "examples/kit/file.h"
#include "examples/plot/page.h"
#include "examples/plot/report.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DIGITS = PLOT_REPORT_DIGITS, WORST = PLOT_REPORT_WORST };

void plot_report_test_begin(plot_report *r, size_t step)
{
    if (r->test) *r->test = (plot_report_test){ .step = step };
}

/* Insert an image among the worst, which stay in order. Of equal losses the first image comes first. */
static void insert(plot_report_test *test, double loss, double share, int label, int answer, const gr_real *pixels)
{
    size_t at = test->worsts;
    while (at > 0 && loss > test->worst[at - 1].loss) at--;
    if (at == WORST) return;
    if (test->worsts < WORST) test->worsts++;
    memmove(test->worst + at + 1, test->worst + at, (test->worsts - 1 - at) * sizeof *test->worst);
    test->worst[at].loss = loss, test->worst[at].share = share, test->worst[at].number = test->n;
    test->worst[at].label = label, test->worst[at].answer = answer;
    for (size_t i = 0; i < KIT_PIXELS; i++) test->worst[at].pixel[i] = (double)pixels[i];
}

void plot_report_test_batch(plot_report *r, const gr_tensor *logits, kit_batch b)
{
    plot_report_test *const test = r->test;
    if (!test || !logits || gr_size(logits, 1) != DIGITS) return;
    for (size_t i = 0; i < b.n; i++, test->n++) {
        const gr_real *const z = logits->data + i * DIGITS;
        int best = 0;
        double sum = 0;
        for (int k = 1; k < DIGITS; k++)
            if (z[k] > z[best]) best = k;
        for (int k = 0; k < DIGITS; k++) sum += exp((double)z[k] - (double)z[best]);
        test->count[b.labels[i]][best]++;
        insert(test, log(sum) + (double)z[best] - (double)z[b.labels[i]], 1 / sum, b.labels[i], best, b.pixels + i * KIT_PIXELS);
    }
}

/* ---- Figures ---- */

static size_t errors(const plot_report_test *test)
{
    size_t right = 0;
    for (int k = 0; k < DIGITS; k++) right += test->count[k][k];
    return test->n - right;
}

plot_figure *plot_report_confusion(const plot_report *r)
{
    const plot_report_test *const test = r->test;
    plot_figure *const f = plot_figure_new(r->t, "confusion", "Confusion matrix");
    const char *head[DIGITS + 2] = { "digit" }, *text[DIGITS * (DIGITS + 2)];
    int from = 0, to = 1; /* the most frequent error */
    for (int i = 0; i < DIGITS; i++) {
        size_t all = 0;
        const char **const row = text + i * (DIGITS + 2);
        row[0] = head[i + 1] = plot_say(r->t, "%d", i);
        for (int k = 0; k < DIGITS; k++) {
            all += test->count[i][k], row[k + 1] = test->count[i][k] ? plot_say(r->t, "%zu", test->count[i][k]) : "";
            if (k != i && test->count[i][k] > test->count[from][to]) from = i, to = k;
        }
        row[DIGITS + 1] = all ? plot_say(r->t, "%.1f", 100.0 * (double)test->count[i][i] / (double)all) : "";
    }
    head[DIGITS + 1] = "right, %";
    plot_panel *const p = plot_panel_new(f, &(plot_panel){ .note = "rows: the digit; columns: what the network read" });
    plot_table_set(p, &(plot_table){ .rows = DIGITS, .columns = DIGITS + 2, .head = head, .text = text, .verdict = -1 });
    if (errors(test))
        plot_figure_says(f, PLOT_SAY_NUMBER, "%zu of %zu test images are read wrongly; the most frequent error is %d for %d, %zu time%s", errors(test), test->n,
                         to, from, test->count[from][to], test->count[from][to] == 1 ? "" : "s");
    else plot_figure_says(f, PLOT_SAY_NUMBER, "All %zu test images are read correctly", test->n);
    plot_figure_says(f, PLOT_SAY_CAPTION, "The answers on the test set after step %zu. An empty cell is 0.", test->step);
    return f;
}

plot_figure *plot_report_worst(const plot_report *r)
{
    const plot_report_test *const test = r->test;
    plot_figure *const f = plot_figure_new(r->t, "worst", "The worst images");
    double low = HUGE_VAL, high = -HUGE_VAL;
    if (!f) return NULL;
    f->columns = 5;
    for (size_t i = 0; i < test->worsts * KIT_PIXELS; i++) {
        const double v = test->worst[i / KIT_PIXELS].pixel[i % KIT_PIXELS];
        low = fmin(low, v), high = fmax(high, v);
    }
    for (size_t i = 0; i < test->worsts; i++) {
        plot_panel *const p = plot_panel_new(f, &(plot_panel){
            .title = plot_say(r->t, "%d, read as %d", test->worst[i].label, test->worst[i].answer),
            .note = plot_say(r->t, "loss %.2f, image %zu", test->worst[i].loss, test->worst[i].number) });
        plot_map_set(p, &(plot_map){ .rows = KIT_SIDE, .columns = KIT_SIDE, .values = test->worst[i].pixel, .low = low, .high = high > low ? high : low + 1,
                                     .means = "pixel" });
    }
    plot_figure_says(f, PLOT_SAY_NUMBER, "Largest loss of a test image: %.2f; the network gives %.1f %% to %d, and the label is %d", test->worst[0].loss,
                     100 * test->worst[0].share, test->worst[0].answer, test->worst[0].label);
    plot_figure_says(f, PLOT_SAY_CAPTION, "The %zu test images with the largest loss after step %zu: the label, what the network read, the loss, and the number of the "
                     "image in the test set, from 0.", test->worsts, test->step);
    return f;
}

/* ---- An earlier run ---- */

enum { LARGEST = 1 << 28 };

/* The number after "key": in a record, which ends at its line's end; NaN when the record does not have it. */
static double number(const char *record, const char *key)
{
    char name[40];
    const int n = snprintf(name, sizeof name, "\"%s\": ", key);
    const char *const end = record + strcspn(record, "\n"), *const at = strstr(record, name);
    return at && at < end && strncmp(at + n, "null", 4) ? strtod(at + n, NULL) : (double)NAN;
}

static bool is(const char *record, const char *kind)
{
    return strncmp(record, "{\"kind\": \"", 10) == 0 && strncmp(record + 10, kind, strlen(kind)) == 0 && record[10 + strlen(kind)] == '"';
}

static void note_record(plot_report *r, const char *record)
{
    const double step = number(record, "step");
    if (!(step >= 1)) return;
    const size_t at = (size_t)step;
    if (is(record, "step")) {
        plot_report_note(r, PLOT_REPORT_LOSS, "earlier training", at, number(record, "loss"));
        plot_report_note(r, PLOT_REPORT_RATE, "earlier", at, number(record, "lr"));
        plot_report_note(r, PLOT_REPORT_GRADIENT, "earlier", at, number(record, "grad_norm"));
    } else if (is(record, "eval") || is(record, "epoch")) {
        plot_report_note(r, PLOT_REPORT_LOSS, "earlier test", at, number(record, "test_loss"));
        plot_report_note(r, PLOT_REPORT_ACCURACY, "earlier test", at, number(record, "test_accuracy"));
    }
}

/* The line of a log after this one. */
static const char *next(const char *record)
{
    record += strcspn(record, "\n");
    return record + (*record == '\n');
}

static void add_earlier(gr_tape *t, plot_report *r, const char *path)
{
    kit_bytes log = kit_file_read(t, path, LARGEST);
    double last = 0;
    size_t line = 1;
    for (const char *p = log.data; p && *p && !gr_failed(t); p = next(p), line++) {
        if (strncmp(p, "{\"kind\": \"", 10) != 0) gr_fail_as(t, GR_BAD_FILE, "", "%s: line %zu is not a record that --log wrote", path, line);
        else if (is(p, "step") || is(p, "epoch")) last = fmax(last, number(p, "step"));
    }
    if (!gr_failed(t) && !(last >= 1)) gr_fail_as(t, GR_BAD_FILE, "", "%s: has no training step; --with takes a file that --log wrote", path);
    if (!gr_failed(t)) {
        r->with = plot_say(r->t, "%s", path);
        if (last < 0x1p53 && (size_t)last > r->steps) r->steps = (size_t)last, r->every = r->steps / PLOT_REPORT_POINTS + 1;
        for (const char *p = log.data; *p; p = next(p)) note_record(r, p);
    }
    kit_bytes_free(t, &log);
}

bool plot_report_add(gr_tape *t, plot_report *r, const char *plotly, const char *with)
{
    if (!r->path || gr_failed(t)) return !gr_failed(t);
    if (plotly) r->plotly = plot_plotly_read(r->t, plotly);
    if (gr_failed(r->t)) gr_fail_as(t, gr_error_code(r->t), "", "%s", r->t ? gr_message(r->t) : "out of memory");
    if (with && !gr_failed(t)) add_earlier(t, r, with);
    return !gr_failed(t);
}
