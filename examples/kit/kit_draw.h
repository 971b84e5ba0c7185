/* examples/kit/kit_draw.h - what the drawings of a figure share, so that they agree: palette, axes, places. For the kit's own files. */
#ifndef KIT_DRAW_H
#define KIT_DRAW_H
#include "examples/kit/kit_figure.h"

enum { KIT_LEVELS = 9, KIT_GROUPS = 10, KIT_TICKS = 32 };

/* The light palette. figure.css has the same colours as variables, which page.js finds by them, and their dark twins. */
typedef struct { const char *css, *hex, *dash; } kit_look; /* its class there; its colour; Plotly's word for its dash */
extern const kit_look kit_looks[KIT_INKS];
extern const char *const kit_diverging[KIT_LEVELS], *const kit_sequential[KIT_LEVELS], *const kit_groups[KIT_GROUPS];
#define KIT_PAPER "#ffffff"
#define KIT_TEXT_INK "#1c1d20"
#define KIT_SOFT "#5b5e66"
#define KIT_RULE "#dcdcd8"

/* An axis as it is drawn: from low to high (their log10 when log), with n ticks. */
typedef struct {
    bool log, slant;               /* slant: its words are too long to stand beside each other */
    double low, high;
    int digits;                    /* that numbers need to be told apart on it */
    size_t n;
    double at[KIT_TICKS];          /* values */
    char label[KIT_TICKS][48];     /* UTF-8 */
    const char *const *words;      /* instead of labels: that of tick i is words[i * every] */
    size_t every;
} kit_scale;

kit_scale kit_scale_x(const kit_panel *p);
kit_scale kit_scale_y(const kit_panel *p);
const char *kit_scale_label(const kit_scale *s, size_t i);
/* Where v is, 0 at low to 1 at high and not far beyond; NaN when it has no place: not finite, or not above 0 on a log axis. */
double kit_scale_place(const kit_scale *s, double v);

/* Number of the level that v has in a map, 0 .. KIT_LEVELS-1; -1 when not finite. */
int kit_level(const kit_map *m, double v);

/* The rows that a series, map or cloud has for its frames: that of frame k, of n values each. */
static inline const double *kit_frame_row(const double *values, bool moves, size_t k, size_t n) { return values + (moves ? k * n : 0); }
static inline size_t kit_last_frame(const kit_figure *f) { return f->frames ? f->frames - 1 : 0; }
bool kit_panel_moves(const kit_panel *p);

/* The size of a panel's own drawing, and the space in it around what the axes enclose. */
typedef struct { double w, h, l, t, r, b; } kit_frame;
kit_frame kit_frame_of(const kit_panel *p);
double kit_panel_width(const kit_panel *p);
/* Where panels are in a drawing of the whole figure, w wide and h high from top on: as many beside each other as the figure says, a table alone,
 * each under a heading KIT_HEAD high. */
enum { KIT_HEAD = 26, KIT_GAP = 24 };
typedef struct { double w, h; struct { double x, y; } at[KIT_PANELS]; } kit_places;
kit_places kit_places_of(const kit_figure *f, double top);
size_t kit_columns(const kit_figure *f); /* that are used */

/* Bytes of the first line of text when at most so many characters go on one: up to a space, if there is one. */
size_t kit_line(const char *text, size_t most);
size_t kit_characters(const char *text);
/* A table as lines: the characters of each column, for a drawing w wide, and the lines of a row (row 0: the head). */
enum { KIT_COLUMNS = 12, KIT_LINE_HEIGHT = 17 };
void kit_table_columns(const kit_table *table, double w, size_t characters[KIT_COLUMNS]);
size_t kit_table_lines(const kit_table *table, size_t row, const size_t characters[KIT_COLUMNS]);
/* What a cell of the body is when it holds a verdict: its class in figure.css and its sign; NULL when it holds none. */
typedef struct { const char *word, *css, *sign; } kit_verdict;
const kit_verdict *kit_verdict_of(const kit_table *table, size_t row, size_t column);

/* One sentence or two on what a panel shows, for those who do not see it. Texts are escaped. */
void kit_panel_describe(FILE *out, const kit_panel *p);
/* The key: each name once, at most that many. Returns how many there are. */
size_t kit_key(const kit_figure *f, const kit_series **entry, size_t most);
/* Whether no panel before k has a map or cloud whose colours mean the same: then the key explains those of panel k. */
bool kit_key_is_new(const kit_figure *f, size_t k);

/* figure.css, page.css and page.js, line by line, NULL at the end: the Makefile makes them. */
extern const char *const kit_figure_css[], *const kit_page_css[], *const kit_page_js[];

#endif
