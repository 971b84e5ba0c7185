/* examples/plot/runs.h - runs.jsonl: all numbers behind the figures. The figures are drawn from this file alone.
 *
 * The file has one JSON object per line. An array, with numbers as %.9g, and null for NaN and infinity:
 *     {"figure": "loss", "name": "mlp/LN/42/test_loss", "shape": [20], "values": [2.3, 1.9, ..]}
 * After the arrays of a figure, a line says that the figure is complete, and how it was measured:
 *     {"figure": "loss", "done": {"settings": "quick, seeds 42 43, drawn digits, ..", "seconds": 41.2, .., "threads": 2, "hash": ..}}
 * The whole file is replaced after each figure, so that an interrupted run loses only the figure that it was measuring. */
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

typedef struct plot_done {         /* a complete figure */
    struct plot_done *next;
    const char *figure, *settings;
    double seconds;
    const char *program, *cpu;     /* the program's version; the machine */
    double threads;
    const char *hash;              /* of the figure's arrays */
} plot_done;

typedef struct {
    gr_tape *t;                    /* owns the records */
    const char *path;
    plot_record *first, **last;
    plot_done *done, **last_done;
} plot_runs;

/* Read path if it exists. A line that is not a record is an error on t that names the line. The caller must not reset t while r is in use. */
plot_runs plot_runs_open(gr_tape *t, const char *path);

/* Returns the record of a figure that is complete and was measured with these settings, or NULL. The hash is checked, so draw functions need
 * not check the arrays. */
const plot_done *plot_runs_done(const plot_runs *r, const char *figure, const char *settings);

/* Remove a figure before it is measured again. */
void plot_runs_drop(plot_runs *r, const char *figure);

/* Add an array; name and the arguments after it are a printf format. */
void plot_runs_put(plot_runs *r, const char *figure, gr_shape shape, const double *values, const char *name, ...) __attribute__((format(GR_PRINTF, 5, 6)));
/* Mark a figure as complete, and write the file. Returns false after an error, which is on t. */
bool plot_runs_end(plot_runs *r, const char *figure, const char *settings, double seconds);

/* The array of that name, or NULL. plot_runs_value returns the array's first value, or NaN if there is none. */
const plot_record *plot_runs_get(const plot_runs *r, const char *figure, const char *name, ...) __attribute__((format(GR_PRINTF, 3, 4)));
double plot_runs_value(const plot_runs *r, const char *figure, const char *name, ...) __attribute__((format(GR_PRINTF, 3, 4)));

#endif
