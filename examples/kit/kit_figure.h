/* examples/kit/kit_figure.h - a figure: panels of curves, maps, clouds of points and tables, with frames that a reader can play.
 *
 * It is described once and written three times: as a Plotly figure (data, layout, frames), as a drawing (SVG) of its last frame, and as a
 * part of a page. All of it lives on the tape that kit_figure_new was given, until reset; what is passed in is copied. When memory runs
 * out the tape is in error, what is returned is NULL, and calls with that do nothing.
 *
 *     kit_figure *f = kit_figure_new(t, "loss", "Training loss");
 *     kit_figure_frames(f, "step", steps, 20);
 *     kit_panel *p = kit_panel_new(f, &(kit_panel){ .title = "MLP", .x = { "step" }, .y = { "loss", .log = true } });
 *     kit_series_add(p, &(kit_series){ .name = "LayerNorm", .ink = KIT_INK_LN, .n = 20, .x = steps, .y = loss, .reveal = true });
 *     kit_figure_says(f, KIT_SAY_CAPTION, "LayerNorm is at %.2f after %g steps, the plain network at %.2f.", ..);                   */
#ifndef KIT_FIGURE_H
#define KIT_FIGURE_H
#include "core/tensor.h"
#include <stdio.h>

/* Colours, always with a dash of their own: those of the three arms that all comparisons have, in this order; two further norms; an ordered
 * family (gamma 0.1, 0.5, ..), dark to light; quiet grey for what is given. */
typedef enum {
    KIT_INK_NONE, KIT_INK_BN, KIT_INK_LN, KIT_INK_GN, KIT_INK_RMS,
    KIT_INK_RAMP0, KIT_INK_RAMP1, KIT_INK_RAMP2, KIT_INK_RAMP3, KIT_INK_RAMP4,
    KIT_INK_QUIET, KIT_INKS,
} kit_ink;

/* What frames do to an array of a series, map or cloud: it is the same in all of them, or there is one after the other. */
typedef enum { KIT_LINE, KIT_DOTS, KIT_LINE_DOTS, KIT_BARS /* a histogram: x are the middles, equally far apart */ } kit_mark;

typedef struct {
    const char *name;              /* for the key, which shows each name once; NULL: not in it */
    kit_ink ink;
    kit_mark mark;
    size_t n;                      /* points */
    const double *x, *y;           /* [n], and [n], or [frames, n] with moves. What is not finite is a gap */
    const double *low, *high;      /* a band around y, shaped like it; NULL: none */
    bool moves;                    /* y, low and high have a row for each frame */
    bool reveal;                   /* y has a point for each frame, and frame k shows the first k + 1 */
    bool ghost;                    /* thin and pale: what a moving curve began as */
} kit_series;

typedef struct {
    const char *label;
    bool log;
    double low, high;              /* the range; both 0: that of the data, in all frames */
    const char *const *tick;       /* words at 0, 1, .. ticks-1 instead of numbers */
    size_t ticks;
} kit_axis;

/* values [rows, columns], or [frames, rows, columns] with moves, from low to high. */
typedef struct {
    size_t rows, columns;
    const double *values;
    bool moves, diverging;         /* diverging: the middle of low and high is neutral */
    double low, high;
    const char *means;             /* what the colour is: "correlation" */
} kit_map;

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
} kit_cloud;

/* Texts, [rows, columns]. verdict: the column whose word PASS, FAIL or DIFFERS gets a colour and a sign; -1: none. */
typedef struct {
    size_t rows, columns;
    const char *const *head, *const *text;
    int verdict;
} kit_table;

typedef struct kit_figure kit_figure;
typedef struct kit_panel {
    const char *title, *note;      /* note: small, after the title; may be NULL */
    kit_axis x, y;
    double aspect;                 /* width over height; 0: 1.6, of maps and clouds 1 */
    /* The rest is the kit's. */
    kit_figure *figure;
    kit_series *series[24];
    size_t n;                      /* series */
    kit_map *map;
    kit_cloud *cloud;
    kit_table *table;
} kit_panel;

typedef enum {
    KIT_SAY_QUESTION, /* one sentence under the title: what is asked */
    KIT_SAY_CAPTION,  /* what to look for, and what is seen */
    KIT_SAY_SETTINGS, /* with which settings it was measured: preprocessing, learning rate, biases */
    KIT_SAY_NUMBER,   /* the number that sums it up, with what it is: "0.31, 0.28, 0.12 mean |r|: none, BN, LN" */
    KIT_SAYS,
} kit_saying;

enum { KIT_PANELS = 24 };
struct kit_figure {
    gr_tape *t;
    const char *name, *title, *says[KIT_SAYS];
    const char *unit;              /* what frames are named by: "step" */
    const char **frame;            /* [frames] names */
    size_t frames;                 /* 0: it does not move */
    size_t columns;                /* panels beside each other on a wide page: 2 at first */
    kit_panel *panel[KIT_PANELS];
    size_t n;                      /* panels */
};

/* An empty figure. name is its file's: letters and _. Strings that are not passed to kit_figure_says are not copied and stay valid: literals. */
kit_figure *kit_figure_new(gr_tape *t, const char *name, const char *title);
/* It moves: frames have the numbers at[n], such as training steps, as names. Before any series that moves. */
void kit_figure_frames(kit_figure *f, const char *unit, const double *at, size_t n);
void kit_figure_says(kit_figure *f, kit_saying what, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* A panel with title, note, axes and aspect of p. It holds any number of series, 24 at most, or one map, cloud or table. */
kit_panel *kit_panel_new(kit_figure *f, const kit_panel *p);
void kit_series_add(kit_panel *p, const kit_series *s);
void kit_map_set(kit_panel *p, const kit_map *m);
void kit_cloud_set(kit_panel *p, const kit_cloud *c);
void kit_table_set(kit_panel *p, const kit_table *table);

/* For strings that are made up: printf into memory of the tape, or of the figure's. "" when there is none. */
const char *kit_say(gr_tape *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
const char *kit_figure_text(kit_figure *f, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* As one Plotly figure, panel k on axes xk, yk or scene k, which plotly.io.read_json takes: JSON in ASCII with `<` escaped, numbers to 4 digits. */
void kit_figure_json(FILE *out, const kit_figure *f);
/* As a drawing that stands alone, with its own style for light and dark. */
void kit_figure_svg(FILE *out, const kit_figure *f);
/* One panel's drawing for a page, whose style it uses. */
void kit_panel_svg(FILE *out, const kit_panel *p);

#endif
