/* examples/plot/figure.h - a figure: panels of curves, maps, clouds of points and tables, with frames that a reader can play.
 *
 * A program describes a figure once. The figure is then written as a Plotly figure (data, layout, frames), as a drawing of its last frame
 * (SVG), and as a part of a page. The tape that plot_figure_new takes owns the figure until gr_tape_reset. Arrays are copied; for strings,
 * see plot_figure_new. When memory runs out, the tape is in error, the functions return NULL, and calls with a NULL figure or panel do nothing.
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

/* Colours, each with its own dash pattern: the three arms of every comparison, in this order; two more norms; a ramp from dark to light for
 * ordered settings (gamma 0.1, 0.5, ..); grey for reference lines. */
typedef enum {
    PLOT_INK_NONE, PLOT_INK_BN, PLOT_INK_LN, PLOT_INK_GN, PLOT_INK_RMS,
    PLOT_INK_RAMP0, PLOT_INK_RAMP1, PLOT_INK_RAMP2, PLOT_INK_RAMP3, PLOT_INK_RAMP4,
    PLOT_INK_QUIET, PLOT_INKS,
} plot_ink;

/* PLOT_BARS is a histogram: x holds the middles of its bars, at equal distances. */
typedef enum { PLOT_LINE, PLOT_DOTS, PLOT_LINE_DOTS, PLOT_BARS } plot_mark;

/* A curve. Without `moves` the arrays of a series, map or cloud are the same in all frames; with `moves` they hold the frames one after the
 * other. */
typedef struct {
    const char *name;              /* its name in the key, which shows each name once; NULL keeps the series out of the key */
    plot_ink ink;
    plot_mark mark;
    size_t n;                      /* points */
    const double *x, *y;           /* x [n]; y [n], or [frames, n] with moves. NaN and infinity leave a gap */
    const double *x2;              /* [n] x on the panel's axis x2; NULL means none */
    const double *low, *high;      /* a band around y, with the shape of y; NULL means no band */
    bool moves;                    /* y, low and high have a row for each frame */
    bool reveal;                   /* y has one point per frame; frame k shows the first k + 1 points */
    bool ghost;                    /* thin and pale, for the first frame of a curve that moves */
} plot_series;

typedef struct {
    const char *label;
    bool log;
    double low, high;              /* the range; both 0 mean the range of the data over all frames */
    const char *const *tick;       /* words at 0, 1, .. ticks-1 instead of numbers */
    size_t ticks;
} plot_axis;

/* A map of colours: values [rows, columns], or [frames, rows, columns] with moves. The colours reach from low to high. */
typedef struct {
    size_t rows, columns;
    const double *values;
    bool moves, diverging;         /* diverging: the middle between low and high has a neutral colour */
    double low, high;
    const char *means;             /* what the colour shows: "correlation" */
} plot_map;

/* Points in space: x, y, z [n], or [frames, n] with moves. Each axis reaches from -reach to reach. */
typedef struct {
    size_t n;
    const double *x, *y, *z;
    bool moves;
    double reach;                  /* default: the range of the data */
    const int *group;              /* [n] colours, 0 .. groups-1; NULL gives all points one colour */
    size_t groups;
    const char *axis[3], *means;   /* what the axes and the colours show */
    double circles;                /* radius of three great circles; 0 draws none */
} plot_cloud;

/* Texts [rows, columns], of up to PLOT_COLUMNS columns. In the column `verdict` the words PASS, FAIL and DIFFERS get a colour and a sign; -1 means no such column. */
enum { PLOT_COLUMNS = 12 };
typedef struct {
    size_t rows, columns;
    const char *const *head, *const *text;
    int verdict;
    const char *const *link;       /* [rows] the name of the figure that the row is about, or NULL; NULL means none in all rows */
} plot_table;

typedef struct plot_figure plot_figure;
typedef struct plot_panel {
    const char *title, *note;      /* the note stands after the title in small letters; may be NULL */
    plot_axis x, y;
    plot_axis x2;                  /* another axis for the same points, such as seconds instead of steps, which the reader of a page can choose; its label
                                    * names it, and NULL means none. Drawings show x */
    double aspect;                 /* width over height; default 1.6, for maps and clouds 1 */
    /* The functions below fill in the rest. */
    plot_figure *figure;
    plot_series *series[24];
    size_t n;                      /* series */
    plot_map *map;
    plot_cloud *cloud;
    plot_table *table;
} plot_panel;

typedef enum {
    PLOT_SAY_QUESTION, /* one sentence under the title: the question that the figure answers */
    PLOT_SAY_CAPTION, /* what to look at, and what it shows */
    PLOT_SAY_SETTINGS, /* the settings of the measurement: preprocessing, learning rate, biases */
    PLOT_SAY_NUMBER,  /* the result in one line that compares: "Mean |r| after training: 0.12 with LayerNorm, 0.31 without a norm" */
    PLOT_SAYS,
} plot_saying;

/* A part of a figure: some of its panels with a key of their own, and with a heading in a page and in a drawing. */
enum { PLOT_PANELS = 24, PLOT_PARTS = 4 };
typedef struct {
    const char *title, *about;     /* the heading, and a sentence under it or NULL; a figure's first part may have neither */
    bool folded;                   /* a page with scripts shows the heading and the sentence alone until the reader opens the part */
    size_t from;                   /* its first panel; the part ends where the next one begins */
} plot_part;

struct plot_figure {
    gr_tape *t;
    const char *name, *title, *says[PLOT_SAYS];
    const char *unit;              /* what the frames' names count: "step" */
    const char **frame;            /* [frames] names */
    size_t frames;                 /* 0 means that the figure does not move */
    size_t columns;                /* panels side by side on a wide page; default 2 */
    plot_panel *panel[PLOT_PANELS];
    size_t n;                      /* panels */
    plot_part part[PLOT_PARTS];
    size_t parts;
    bool abreast;                  /* a wide page shows the parts side by side, and the panels of each below one another */
};

/* An empty figure. name is the name of its file: letters and _. Only plot_figure_says and tables copy strings. All other strings must live as
 * long as the figure, as literals and the results of plot_figure_text do. */
plot_figure *plot_figure_new(gr_tape *t, const char *name, const char *title);
/* Make the figure move: it has n frames, named by the numbers at[], such as training steps. Call this before adding anything that moves. */
void plot_figure_frames(plot_figure *f, const char *unit, const double *at, size_t n);
void plot_figure_says(plot_figure *f, plot_saying what, const char *format, ...) __attribute__((format(GR_PRINTF, 3, 4)));

/* Begin a part: it has the panels that are added from now on. Panels before the first call are a part without a heading. */
void plot_part_begin(plot_figure *f, const char *title, const char *about, bool folded);
/* The number of panels before the end of part i. */
size_t plot_part_end(const plot_figure *f, size_t i);

/* Add a panel with the title, note, axes and aspect of p. It holds up to 24 series, or one map, cloud or table. */
plot_panel *plot_panel_new(plot_figure *f, const plot_panel *p);
void plot_series_add(plot_panel *p, const plot_series *s);
void plot_map_set(plot_panel *p, const plot_map *m);
void plot_cloud_set(plot_panel *p, const plot_cloud *c);
void plot_table_set(plot_panel *p, const plot_table *table);

/* Print into memory of the tape, or of the figure's tape. Returns "" when the tape is in error or out of memory. */
const char *plot_say(gr_tape *t, const char *format, ...) __attribute__((format(GR_PRINTF, 2, 3)));
const char *plot_figure_text(plot_figure *f, const char *format, ...) __attribute__((format(GR_PRINTF, 2, 3)));

/* Write one Plotly figure, in which panel k has the axes xk and yk, or scene k. The JSON is ASCII, escapes `<`, and can be read by
 * plotly.io.read_json. Its numbers have 4 digits. */
void plot_figure_json(FILE *out, const plot_figure *f);
/* Write a complete SVG file with its own style for light and dark. */
void plot_figure_svg(FILE *out, const plot_figure *f);
/* Write the drawing of one panel for a page; it uses the page's style. */
void plot_panel_svg(FILE *out, const plot_panel *p);

#endif
