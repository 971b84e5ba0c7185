/* examples/plot/report.h - the report of one training run, for --report FILE: a page with the curves of the values that the run noted.
 *
 *     plot_report r = plot_report_new(path, steps);
 *     each step:  plot_report_note(&r, PLOT_REPORT_LOSS, "training", step, gr_item(loss)), plot_report_weights(&r, step, net);
 *     at the end: plot_report_write(t, &r, &flags, argc, argv, data);
 *     plot_report_free(&r);                                                                                                  */
#ifndef PLOT_REPORT_H
#define PLOT_REPORT_H
#include "examples/kit/flags.h"
#include "nn/nn.h"

/* The panels, in this order. */
typedef enum { PLOT_REPORT_LOSS, PLOT_REPORT_ACCURACY, PLOT_REPORT_GRADIENT, PLOT_REPORT_WEIGHTS, PLOT_REPORT_PREACTIVATIONS, PLOT_REPORT_PANELS } plot_report_panel;

enum { PLOT_REPORT_POINTS = 300 };
typedef struct plot_report_curve {
    struct plot_report_curve *next;
    const char *name;
    size_t n[PLOT_REPORT_POINTS];
    double step[PLOT_REPORT_POINTS], value[PLOT_REPORT_POINTS]; /* sums over the n notes of a point */
} plot_report_curve;

typedef struct {
    const char *path;              /* NULL notes nothing and writes nothing */
    gr_tape *t;                    /* the report's own tape, never reset */
    size_t steps, every;           /* steps of the run; steps that share a point */
    plot_report_curve *curve[PLOT_REPORT_PANELS];
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

/* Write the page. argv is the command line, data the name of the training data. Returns false after an error, which is on t. */
bool plot_report_write(gr_tape *t, plot_report *r, const kit_flags *flags, int argc, char **argv, const char *data);

#endif
