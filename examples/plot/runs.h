/* examples/plot/runs.h - the numbers behind pictures: runs.jsonl, from which alone they are drawn.
 *
 * A file of records, one JSON object a line. An array:
 *     {"figure": "loss", "name": "mlp/LN/42/test_loss", "shape": [20], "values": [2.3, 1.9, ..]}
 * numbers as %.9g, null where not finite; and, after a figure's arrays, the line that says it is whole, and what it is of:
 *     {"figure": "loss", "done": {"settings": "quick, seeds 42 43, drawn digits, ..", "seconds": 41.2, .., "threads": 2, "hash": ..}}
 * The file is replaced as a whole after each figure, so that an interrupted run loses the figure that it was at. */
#ifndef PLOT_RUNS_H
#define PLOT_RUNS_H
#include "core/tensor.h"

typedef struct plot_record {
    struct plot_record *next;
    const char *figure, *name;
    gr_shape shape;
    size_t n;
    double *values;                /* [n] */
} plot_record;

typedef struct plot_done {         /* a figure that is whole */
    struct plot_done *next;
    const char *figure, *settings;
    double seconds;
    const char *program, *cpu;     /* its version; the machine */
    double threads;
    const char *hash;              /* of its arrays */
} plot_done;

typedef struct {
    gr_tape *t;                    /* holds all of it */
    const char *path;
    plot_record *first, **last;
    plot_done *done, **last_done;
} plot_runs;

/* Read path, when it is there. A line that is no record is an error on t that names it. t is not to be reset while r is in use. */
plot_runs plot_runs_open(gr_tape *t, const char *path);

/* Whether figure is whole, was measured with these settings, and its arrays are those that were written: who draws it need not look. */
const plot_done *plot_runs_done(const plot_runs *r, const char *figure, const char *settings);

/* Forget figure, before it is measured anew. */
void plot_runs_drop(plot_runs *r, const char *figure);

/* Note an array of that shape; name as printf has it. */
void plot_runs_put(plot_runs *r, const char *figure, gr_shape shape, const double *values, const char *name, ...) __attribute__((format(printf, 5, 6)));
/* Figure is whole: say so, and write the file. False with an error on t. */
bool plot_runs_end(plot_runs *r, const char *figure, const char *settings, double seconds);

/* The array of that name, or NULL; plot_runs_value: its first value, NaN when there is none. */
const plot_record *plot_runs_get(const plot_runs *r, const char *figure, const char *name, ...) __attribute__((format(printf, 3, 4)));
double plot_runs_value(const plot_runs *r, const char *figure, const char *name, ...) __attribute__((format(printf, 3, 4)));

#endif
