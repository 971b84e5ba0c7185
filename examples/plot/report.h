/* examples/plot/report.h - the report of one training run, for --report FILE: a page with the curves of the values that the run noted.
 *
 *     plot_report r = plot_report_new(path, steps);
 *     each step:  plot_report_note(&r, PLOT_REPORT_LOSS, "training", step, gr_item(loss)), plot_report_weights(&r, step, net);
 *     each test:  plot_report_test_begin(&r, step), then for each batch plot_report_test_batch(&r, logits, batch);
 *     at the end: plot_report_write(t, &r, &flags, argc, argv, data);
 *     plot_report_free(&r);                                                                                                  */
#ifndef PLOT_REPORT_H
#define PLOT_REPORT_H
#include "examples/kit/data.h"
#include "examples/kit/flags.h"
#include "examples/plot/figure.h"
#include "nn/nn.h"

/* The panels, in this order. */
typedef enum {
    PLOT_REPORT_LOSS, PLOT_REPORT_ACCURACY, PLOT_REPORT_RATE, PLOT_REPORT_GRADIENT, PLOT_REPORT_WEIGHTS, PLOT_REPORT_PREACTIVATIONS, PLOT_REPORT_PANELS,
} plot_report_panel;

enum { PLOT_REPORT_POINTS = 300, PLOT_REPORT_DIGITS = 10, PLOT_REPORT_WORST = 10 };
typedef struct plot_report_curve {
    struct plot_report_curve *next;
    const char *name;
    size_t n[PLOT_REPORT_POINTS];
    double step[PLOT_REPORT_POINTS], value[PLOT_REPORT_POINTS], seconds[PLOT_REPORT_POINTS]; /* sums over the n notes of a point */
} plot_report_curve;

/* The last test: how often each digit was read as each, and the images with the largest loss, the largest first. */
typedef struct {
    size_t step, n, count[PLOT_REPORT_DIGITS][PLOT_REPORT_DIGITS]; /* n images; count[label][answer] */
    size_t worsts;
    struct { double loss, share; size_t number; int label, answer; double pixel[KIT_PIXELS]; } worst[PLOT_REPORT_WORST]; /* share: probability of the answer */
} plot_report_test;

typedef struct {
    const char *path;              /* NULL notes nothing and writes nothing */
    gr_tape *t;                    /* the report's own tape, never reset */
    size_t steps, every;           /* steps of the run; steps that share a point */
    plot_report_curve *curve[PLOT_REPORT_PANELS];
    plot_report_test *test;
    const char *plotly, *with;     /* the text of plotly.min.js; the path of the earlier run's log; or NULL */
    double began;                  /* kit_seconds */
} plot_report;

/* A report of a run of `steps` steps. plot_report_write returns the errors of all these functions. */
plot_report plot_report_new(const char *path, size_t steps);
void plot_report_free(plot_report *r);

/* Note the value of the curve `name` at a step (1, 2, ..). name is copied. */
void plot_report_note(plot_report *r, plot_report_panel panel, const char *name, size_t step, double value);

/* Note the norm of each matrix under net; note the 15th, 50th and 85th percentile of W h of an LSTM's last layer, where y [B, T, H] holds its
 * hidden states and h is the state at the last time step but one. Both do it once for each point. */
void plot_report_weights(plot_report *r, size_t step, const gr_module *net);
void plot_report_recurrence(plot_report *r, size_t step, gr_tape *t, const gr_lstm *lstm, gr_tensor *y);

/* Forget the test before; then add each batch of a test. The batches come in the order of the test set. */
void plot_report_test_begin(plot_report *r, size_t step);
void plot_report_test_batch(plot_report *r, const gr_tensor *logits, kit_batch b);
/* The figures of the last test, or NULL when there was none. They are for plot_report_write. */
plot_figure *plot_report_confusion(const plot_report *r);
plot_figure *plot_report_worst(const plot_report *r);

/* Put the plotly.min.js at `plotly` into the page, and the curves of an earlier run beside this one's, from the file `with` that --log wrote.
 * Either may be NULL. Call it before the first note. Returns false after an error, which is on t. */
bool plot_report_add(gr_tape *t, plot_report *r, const char *plotly, const char *with);

/* Write the page. argv is the command line, data the name of the training data. Returns false after an error, which is on t. */
bool plot_report_write(gr_tape *t, plot_report *r, const kit_flags *flags, int argc, char **argv, const char *data);

#endif
