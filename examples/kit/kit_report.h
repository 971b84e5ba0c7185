/* examples/kit/kit_report.h - the report of one training run, for --report FILE: a page with curves of what the run noted.
 *
 *     kit_report r = kit_report_new(t, path, steps);
 *     each step:  kit_report_note(&r, KIT_REPORT_LOSS, "training", step, gr_item(loss)), kit_report_weights(&r, step, net);
 *     at the end: kit_report_write(t, &r, &flags, argc, argv, data);
 *     kit_report_free(&r);                                                                                                  */
#ifndef KIT_REPORT_H
#define KIT_REPORT_H
#include "examples/kit/kit_flags.h"
#include "nn/nn.h"

/* The panels, in this order. */
typedef enum { KIT_REPORT_LOSS, KIT_REPORT_ACCURACY, KIT_REPORT_GRADIENT, KIT_REPORT_WEIGHTS, KIT_REPORT_PREACTIVATIONS, KIT_REPORT_PANELS } kit_report_panel;

enum { KIT_REPORT_POINTS = 300 };
typedef struct kit_report_curve {
    struct kit_report_curve *next;
    kit_report_panel panel;
    const char *name;
    size_t n[KIT_REPORT_POINTS];
    double step[KIT_REPORT_POINTS], value[KIT_REPORT_POINTS]; /* sums over n */
} kit_report_curve;

typedef struct {
    const char *path;              /* NULL: it notes nothing, and nothing is written */
    gr_tape *t;                    /* its own, never reset */
    size_t steps, every;           /* in all; so many share a point */
    kit_report_curve *curve[KIT_REPORT_PANELS];
} kit_report;

/* For a run of so many steps. Errors of a report come to light in kit_report_write. */
kit_report kit_report_new(const char *path, size_t steps);
void kit_report_free(kit_report *r);

/* At step (1, 2, ..), this curve of this panel has that value. name is copied. */
void kit_report_note(kit_report *r, kit_report_panel panel, const char *name, size_t step, double value);

/* The norm of each matrix under net; and the 15th, 50th and 85th percentile of W h, which an LSTM's last layer sends into its own gates, for
 * its states y [B, T, H] at the last time step but one. Once for each point. */
void kit_report_weights(kit_report *r, size_t step, const gr_module *net);
void kit_report_recurrence(kit_report *r, size_t step, gr_tape *t, const gr_lstm *lstm, gr_tensor *y);

/* Write the page; argv: the command line, data: what it was trained on. False with an error on t. */
bool kit_report_write(gr_tape *t, kit_report *r, const kit_flags *flags, int argc, char **argv, const char *data);

#endif
