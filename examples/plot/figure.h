/* examples/plot/figure.h - a figure: panels of curves, maps, clouds of points and tables, with frames that a reader can play.
 *
 * It is described once and written three times: as a Plotly figure (data, layout, frames), as a drawing (SVG) of its last frame, and as a
 * part of a page. All of it lives on the tape that plot_figure_new was given, until reset; what is passed in is copied. When memory runs
 * out the tape is in error, what is returned is NULL, and calls with that do nothing.
 *
 *     plot_figure *f = plot_figure_new(t, "loss", "Training loss");
 *     plot_figure_frames(f, "step", steps, 20);
 *     plot_panel *p = plot_panel_new(f, &(plot_panel){ .title = "MLP", .x = { "step" }, .y = { "loss", .log = true } });
 *     plot_series_add(p, &(plot_series){ .name = "LayerNorm", .ink = PLOT_INK_LN, .n = 20, .x = steps, .y = loss, .reveal = true });
 *     plot_figure_says(f, PLOT_SAY_CAPTION, "LayerNorm is at %.2f after %g steps, the plain network at %.2f.", ..);                   */
#ifndef PLOT_FIGURE_H
#define PLOT_FIGURE_H
#include "core/tensor.h"
#include <stdio.h>

/* Colours, always with a dash of their own: those of the three arms that all comparisons have, in this order; two further norms; an ordered
 * family (gamma 0.1, 0.5, ..), dark to light; quiet grey for what is given. */
typedef enum {
    PLOT_INK_NONE, PLOT_INK_BN, PLOT_INK_LN, PLOT_INK_GN, PLOT_INK_RMS,
    PLOT_INK_RAMP0, PLOT_INK_RAMP1, PLOT_INK_RAMP2, PLOT_INK_RAMP3, PLOT_INK_RAMP4,
    PLOT_INK_QUIET, PLOT_INKS,
} plot_ink;

/* What frames do to an array of a series, map or cloud: it is the same in all of them, or there is one after the other. */
typedef enum { PLOT_LINE, PLOT_DOTS, PLOT_LINE_DOTS, PLOT_BARS /* a histogram: x are the middles, equally far apart */ } plot_mark;

typedef struct {
    const char *name;              /* for the key, which shows each name once; NULL: not in it */
    plot_ink ink;
    plot_mark mark;
    size_t n;                      /* points */
    const double *x, *y;           /* [n], and [n], or [frames, n] with moves. What is not finite is a gap */
    const double *low, *high;      /* a band around y, shaped like it; NULL: none */
    bool moves;                    /* y, low and high have a row for each frame */
    bool reveal;                   /* y has a point for each frame, and frame k shows the first k + 1 */
    bool ghost;                    /* thin and pale: what a moving curve began as */
} plot_series;

typedef struct {
    const char *label;
    bool log;
    double low, high;              /* the range; both 0: that of the data, in all frames */
    const char *const *tick;       /* words at 0, 1, .. ticks-1 instead of numbers */
    size_t ticks;
} plot_axis;

/* values [rows, columns], or [frames, rows, columns] with moves, from low to high. */
typedef struct {
    size_t rows, columns;
    const double *values;
    bool moves, diverging;         /* diverging: the middle of low and high is neutral */
    double low, high;
    const char *means;             /* what the colour is: "correlation" */
} plot_map;

/* Points in space, [n] each, or [frames, n] with moves, which share their axes' range, -reach to reach; group: 0 .. groups-1, for the colour. */
typedef struct {
    size_t n;
    const double *x, *y, *z;
    bool moves;
    double reach;                  /* 0: that of the data */
    const int *group;
    size_t groups;
    const char *axis[3], *means;   /* what the axes and the colour are */
    double circles;                /* three great circles of that radius are drawn; 0: none */
} plot_cloud;

/* Texts, [rows, columns]. verdict: the column whose word PASS, FAIL or DIFFERS gets a colour and a sign; -1: none. */
typedef struct {
    size_t rows, columns;
    const char *const *head, *const *text;
    int verdict;
} plot_table;

typedef struct plot_figure plot_figure;
typedef struct plot_panel {
    const char *title, *note;      /* note: small, after the title; may be NULL */
    plot_axis x, y;
    double aspect;                 /* width over height; 0: 1.6, of maps and clouds 1 */
    /* The rest is the kit's. */
    plot_figure *figure;
    plot_series *series[24];
    size_t n;                      /* series */
    plot_map *map;
    plot_cloud *cloud;
    plot_table *table;
} plot_panel;

typedef enum {
    PLOT_SAY_QUESTION, /* one sentence under the title: what is asked */
    PLOT_SAY_CAPTION, /* what to look for, and what is seen */
    PLOT_SAY_SETTINGS, /* with which settings it was measured: preprocessing, learning rate, biases */
    PLOT_SAY_NUMBER,  /* the number that sums it up, with what it is: "0.31, 0.28, 0.12 mean |r|: none, BN, LN" */
    PLOT_SAYS,
} plot_saying;

enum { PLOT_PANELS = 24 };
struct plot_figure {
    gr_tape *t;
    const char *name, *title, *says[PLOT_SAYS];
    const char *unit;              /* what frames are named by: "step" */
    const char **frame;            /* [frames] names */
    size_t frames;                 /* 0: it does not move */
    size_t columns;                /* panels beside each other on a wide page: 2 at first */
    plot_panel *panel[PLOT_PANELS];
    size_t n;                      /* panels */
};

/* An empty figure. name is its file's: letters and _. Strings that are not passed to plot_figure_says are not copied and stay valid: literals. */
plot_figure *plot_figure_new(gr_tape *t, const char *name, const char *title);
/* It moves: frames have the numbers at[n], such as training steps, as names. Before any series that moves. */
void plot_figure_frames(plot_figure *f, const char *unit, const double *at, size_t n);
void plot_figure_says(plot_figure *f, plot_saying what, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* A panel with title, note, axes and aspect of p. It holds any number of series, 24 at most, or one map, cloud or table. */
plot_panel *plot_panel_new(plot_figure *f, const plot_panel *p);
void plot_series_add(plot_panel *p, const plot_series *s);
void plot_map_set(plot_panel *p, const plot_map *m);
void plot_cloud_set(plot_panel *p, const plot_cloud *c);
void plot_table_set(plot_panel *p, const plot_table *table);

/* For strings that are made up: printf into memory of the tape, or of the figure's. "" when there is none. */
const char *plot_say(gr_tape *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
const char *plot_figure_text(plot_figure *f, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* As one Plotly figure, panel k on axes xk, yk or scene k, which plotly.io.read_json takes: JSON in ASCII with `<` escaped, numbers to 4 digits. */
void plot_figure_json(FILE *out, const plot_figure *f);
/* As a drawing that stands alone, with its own style for light and dark. */
void plot_figure_svg(FILE *out, const plot_figure *f);
/* One panel's drawing for a page, whose style it uses. */
void plot_panel_svg(FILE *out, const plot_panel *p);

#endif
