/* examples/plot/draw.h - what the drawings of a figure share, so that they agree: palette, axes, places. For the kit's own files. */
#ifndef PLOT_DRAW_H
#define PLOT_DRAW_H
#include "examples/plot/figure.h"

enum { PLOT_LEVELS = 9, PLOT_GROUPS = 10, PLOT_TICKS = 32 };

/* The light palette. figure.css has the same colours as variables, which page.js finds by them, and their dark twins. */
typedef struct { const char *css, *hex, *dash; } plot_look; /* its class there; its colour; Plotly's word for its dash */
extern const plot_look plot_looks[PLOT_INKS];
extern const char *const plot_diverging[PLOT_LEVELS], *const plot_sequential[PLOT_LEVELS], *const plot_groups[PLOT_GROUPS];
#define PLOT_PAPER "#ffffff"
#define PLOT_TEXT_INK "#1c1d20"
#define PLOT_SOFT "#5b5e66"
#define PLOT_RULE "#dcdcd8"

/* An axis as it is drawn: from low to high (their log10 when log), with n ticks. */
typedef struct {
    bool log, slant;               /* slant: its words are too long to stand beside each other */
    double low, high;
    int digits;                    /* that numbers need to be told apart on it */
    size_t n;
    double at[PLOT_TICKS];         /* values */
    char label[PLOT_TICKS][48];    /* UTF-8 */
    const char *const *words;      /* instead of labels: that of tick i is words[i * every] */
    size_t every;
} plot_scale;

plot_scale plot_scale_x(const plot_panel *p);
plot_scale plot_scale_y(const plot_panel *p);
const char *plot_scale_label(const plot_scale *s, size_t i);
/* Where v is, 0 at low to 1 at high and not far beyond; NaN when it has no place: not finite, or not above 0 on a log axis. */
double plot_scale_place(const plot_scale *s, double v);

/* Number of the level that v has in a map, 0 .. PLOT_LEVELS-1; -1 when not finite. */
int plot_level(const plot_map *m, double v);

/* The rows that a series, map or cloud has for its frames: that of frame k, of n values each. */
static inline const double *plot_frame_row(const double *values, bool moves, size_t k, size_t n) { return values + (moves ? k * n : 0); }
static inline size_t plot_last_frame(const plot_figure *f) { return f->frames ? f->frames - 1 : 0; }
bool plot_panel_moves(const plot_panel *p);

/* The size of a panel's own drawing, and the space in it around what the axes enclose. */
typedef struct { double w, h, l, t, r, b; } plot_frame;
plot_frame plot_frame_of(const plot_panel *p);
double plot_panel_width(const plot_panel *p);
/* Where panels are in a drawing of the whole figure, w wide and h high from top on: as many beside each other as the figure says, a table alone,
 * each under a heading PLOT_HEAD high. */
enum { PLOT_HEAD = 26, PLOT_GAP = 24 };
typedef struct { double w, h; struct { double x, y; } at[PLOT_PANELS]; } plot_places;
plot_places plot_places_of(const plot_figure *f, double top);
size_t plot_columns(const plot_figure *f); /* that are used */

/* Bytes of the first line of text when at most so many characters go on one: up to a space, if there is one. */
size_t plot_line(const char *text, size_t most);
size_t plot_characters(const char *text);
/* A table as lines: the characters of each column, for a drawing w wide, and the lines of a row (row 0: the head). */
enum { PLOT_COLUMNS = 12, PLOT_LINE_HEIGHT = 17 };
void plot_table_columns(const plot_table *table, double w, size_t characters[PLOT_COLUMNS]);
size_t plot_table_lines(const plot_table *table, size_t row, const size_t characters[PLOT_COLUMNS]);
/* What a cell of the body is when it holds a verdict: its class in figure.css and its sign; NULL when it holds none. */
typedef struct { const char *word, *css, *sign; } plot_verdict;
const plot_verdict *plot_verdict_of(const plot_table *table, size_t row, size_t column);

/* One sentence or two on what a panel shows, for those who do not see it. Texts are escaped. */
void plot_panel_describe(FILE *out, const plot_panel *p);
/* The key: each name once, at most that many. Returns how many there are. */
size_t plot_key(const plot_figure *f, const plot_series **entry, size_t most);
/* Whether no panel before k has a map or cloud whose colours mean the same: then the key explains those of panel k. */
bool plot_key_is_new(const plot_figure *f, size_t k);

/* figure.css, page.css and page.js, line by line, NULL at the end: the Makefile makes them. */
extern const char *const plot_figure_css[], *const plot_page_css[], *const plot_page_js[];

#endif
