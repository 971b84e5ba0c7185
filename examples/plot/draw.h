/* examples/plot/draw.h - palette, axes and layout, which the SVG, the Plotly figure and the page share so that they agree. Internal to
 * examples/plot. */
#ifndef PLOT_DRAW_H
#define PLOT_DRAW_H
#include "examples/plot/figure.h"

enum { PLOT_LEVELS = 9, PLOT_GROUPS = 10, PLOT_TICKS = 32 };

/* The light palette. figure.css has the same colours as variables, with their dark counterparts; page.js finds a variable by its colour. */
typedef struct { const char *css, *hex, *dash; } plot_look; /* class in figure.css; colour; Plotly's name of the dash */
extern const plot_look plot_looks[PLOT_INKS];
extern const char *const plot_diverging[PLOT_LEVELS], *const plot_sequential[PLOT_LEVELS], *const plot_groups[PLOT_GROUPS];
#define PLOT_PAPER "#ffffff"
#define PLOT_TEXT_INK "#1c1d20"
#define PLOT_SOFT "#5b5e66"
#define PLOT_RULE "#dcdcd8"

/* An axis as it is drawn: from low to high (their log10 on a log axis), with n ticks. */
typedef struct {
    bool log, slant;               /* slant: the labels are slanted because they are too long to stand side by side */
    double low, high;
    int digits;                    /* significant digits that distinguish two points of the axis */
    size_t n;
    double at[PLOT_TICKS];         /* values of the ticks */
    char label[PLOT_TICKS][48];    /* UTF-8 */
    const char *const *words;      /* if set, tick i has the label words[i * every] */
    size_t every;
} plot_scale;

plot_scale plot_scale_x(const plot_panel *p);
plot_scale plot_scale_y(const plot_panel *p);
plot_scale plot_scale_x2(const plot_panel *p);
const char *plot_scale_label(const plot_scale *s, size_t i);
/* The position of v: 0 at low, 1 at high, limited to a little beyond both. NaN when v is not finite, or not above 0 on a log axis. */
double plot_scale_place(const plot_scale *s, double v);

/* The colour level of v in a map, 0 .. PLOT_LEVELS-1; -1 when v is not finite. */
int plot_level(const plot_map *m, double v);
/* How many digits after the point the numbers in the cells of p's map have: enough for a hundred steps between its colours. -1 means no numbers,
 * in maps of many cells or without axes. */
int plot_map_digits(const plot_panel *p);

/* The n values that a series, map or cloud has in frame k. */
static inline const double *plot_frame_row(const double *values, bool moves, size_t k, size_t n) { return values + (moves ? k * n : 0); }
static inline size_t plot_last_frame(const plot_figure *f) { return f->frames ? f->frames - 1 : 0; }

/* The width and height of a panel's drawing, and its margins (left, top, right, bottom) around the area between the axes. */
typedef struct { double w, h, l, t, r, b; } plot_frame;
plot_frame plot_frame_of(const plot_panel *p);
double plot_panel_width(const plot_panel *p);
/* Where the panels from .. to - 1 are in a drawing, which is w wide and h high, below `top`. Each panel has a heading of height PLOT_HEAD above it,
 * or of one line more if the notes stand below the titles, because one of them is too long to stand beside. A table has a row of its own, and a part
 * begins a row. */
enum { PLOT_HEAD = 26, PLOT_GAP = 24 };
typedef struct { double w, h; bool notes_below; struct { double x, y; } at[PLOT_PANELS]; } plot_places;
plot_places plot_places_of(const plot_figure *f, size_t from, size_t to, double top);
double plot_figure_width(const plot_figure *f);
/* The heading of panel k's part and ": ", for a title that stands alone; both are "" when the part has no heading. */
typedef struct { const char *part, *colon; } plot_prefix;
plot_prefix plot_prefix_of(const plot_figure *f, size_t k);
size_t plot_columns(const plot_figure *f); /* how many panels stand side by side */

/* The number of bytes in the first line of text when a line has at most `most` characters; lines break at spaces where possible. */
size_t plot_line(const char *text, size_t most);
size_t plot_characters(const char *text);
/* A table as lines of text: the number of characters in each column of a drawing w wide, and the number of lines in a row (row 0 is the head). */
enum { PLOT_LINE_HEIGHT = 17 };
void plot_table_columns(const plot_table *table, double w, size_t characters[PLOT_COLUMNS]);
size_t plot_table_lines(const plot_table *table, size_t row, const size_t characters[PLOT_COLUMNS]);
/* The verdict in a cell of the table's body, with its class in figure.css and its sign; NULL when the cell has none. */
typedef struct { const char *word, *css, *sign; } plot_verdict;
const plot_verdict *plot_verdict_of(const plot_table *table, size_t row, size_t column);

/* Write one or two sentences about what a panel shows, for readers who cannot see it. Texts are escaped. */
void plot_panel_describe(FILE *out, const plot_panel *p);
/* The entries of the key of the panels from .. to - 1: one series for each name, at most `most`. Returns how many there are. */
size_t plot_key(const plot_figure *f, size_t from, size_t to, const plot_series **entry, size_t most);
/* Whether this key must explain the colours of panel k: it has a map or cloud, and no panel in from .. k - 1 uses the same colours for the same
 * thing. */
bool plot_key_is_new(const plot_figure *f, size_t from, size_t k);

/* The lines of figure.css, page.css, table.js and page.js, each list ended by NULL. The Makefile generates them. */
extern const char *const plot_figure_css[], *const plot_page_css[], *const plot_table_js[], *const plot_page_js[];

#endif
