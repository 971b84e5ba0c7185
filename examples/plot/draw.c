/* examples/plot/draw.c - palette, layout and descriptions, which the SVG, the Plotly figure and the page share. */
#include "examples/plot/draw.h"
#include "examples/kit/json.h"
#include <math.h>
#include <string.h>

const plot_look plot_looks[PLOT_INKS] = {
    [PLOT_INK_NONE] = { "none", "#6f6f6f", "dot" },     [PLOT_INK_BN] = { "bn", "#c24e00", "dash" },
    [PLOT_INK_LN] = { "ln", "#0072b2", "solid" },       [PLOT_INK_GN] = { "gn", "#00795a", "dashdot" },
    [PLOT_INK_RMS] = { "rms", "#a8478a", "longdash" },  [PLOT_INK_RAMP0] = { "r0", "#2a1a5e", "solid" },
    [PLOT_INK_RAMP1] = { "r1", "#6b2d90", "longdash" }, [PLOT_INK_RAMP2] = { "r2", "#a8407f", "dash" },
    [PLOT_INK_RAMP3] = { "r3", "#cc5f45", "dashdot" },  [PLOT_INK_RAMP4] = { "r4", "#b58200", "dot" },
    [PLOT_INK_QUIET] = { "quiet", "#85888f", "solid" },
};
const char *const plot_diverging[PLOT_LEVELS] = { "#762a83", "#9970ab", "#c2a5cf", "#e7d4e8", "#f7f7f7",
                                                  "#d9f0d3", "#a6dba0", "#5aae61", "#1b7837" };
const char *const plot_sequential[PLOT_LEVELS] = { "#440154", "#472d7b", "#3b528b", "#2c728e", "#21918c",
                                                   "#28ae80", "#5ec962", "#a0c92f", "#dcc81d" };
const char *const plot_groups[PLOT_GROUPS] = { "#332288", "#88ccee", "#44aa99", "#117733", "#999933",
                                               "#ddcc77", "#cc6677", "#882255", "#aa4499", "#777777" };

int plot_level(const plot_map *m, double v)
{
    if (!isfinite(v)) return -1;
    const double share = m->high > m->low ? (v - m->low) / (m->high - m->low) : 0.5;
    const double level = m->diverging ? round(share * (PLOT_LEVELS - 1)) : floor(share * PLOT_LEVELS);
    return (int)fmax(0, fmin(PLOT_LEVELS - 1, level));
}

int plot_map_digits(const plot_panel *p)
{
    enum { MOST = 60 };
    const plot_map *const m = p->map;
    if (m->rows * m->columns > MOST || !(p->x.tick && p->y.tick)) return -1;
    return (int)fmax(0, fmin(9, ceil(2 - log10(m->high - m->low))));
}

/* ---- Texts ---- */

size_t plot_characters(const char *text)
{
    size_t characters = 0;
    for (size_t n; text && *text; text += n, characters++) kit_utf8(text, &n);
    return characters;
}

size_t plot_line(const char *text, size_t most)
{
    const char *end = text, *space = NULL;
    size_t n;
    for (size_t i = 0; *end; end += n, i++) {
        if (*end == ' ') space = end;
        if (i == most) return (size_t)((space && space > text ? space : end) - text) + (space == text);
        kit_utf8(end, &n);
    }
    return (size_t)(end - text);
}

const plot_verdict *plot_verdict_of(const plot_table *table, size_t row, size_t column)
{
    static const plot_verdict known[] = { { "PASS", "pass", "\xe2\x9c\x93" },
                                          { "FAIL", "fail", "\xe2\x9c\x97" },
                                          { "DIFFERS", "differs", "\xe2\x89\xa0" },
                                          { "EQUAL", "equal", "=" },
                                          { "TOO SHORT", "short", "\xe2\x80\xa6" } };
    for (size_t i = 0; (int)column == table->verdict && i < sizeof known / sizeof *known; i++)
        if (!strcmp(table->text[row * table->columns + column], known[i].word)) return &known[i];
    return NULL;
}

static size_t longest_word(const char *text)
{
    size_t longest = 0;
    for (const char *s = text; *s; s += strcspn(s, " "), s += *s == ' ') longest = strcspn(s, " ") > longest ? strcspn(s, " ") : longest;
    return longest;
}

void plot_table_columns(const plot_table *table, double w, size_t characters[PLOT_COLUMNS])
{
    double least[PLOT_COLUMNS], want[PLOT_COLUMNS], all_least = 0, all = 0;
    for (size_t c = 0; c < table->columns; c++) {
        size_t longest = plot_characters(table->head[c]), word = longest_word(table->head[c]);
        for (size_t r = 0; r < table->rows; r++) {
            const char *const text = table->text[r * table->columns + c];
            const size_t n = plot_characters(text), m = longest_word(text) + (plot_verdict_of(table, r, c) ? 4 : 0);
            longest = n > longest ? n : longest, word = m > word ? m : word;
        }
        least[c] = fmin(16, (double)word) + 3, want[c] = fmax(0, fmin(40, (double)longest) + 2 - least[c]);
        all_least += least[c], all += want[c];
    }
    const double room = fmax(0, w / 6.6 - all_least), share = all > 0 ? fmin(1.6, room / all) : 0;
    for (size_t c = 0; c < table->columns; c++) characters[c] = (size_t)floor(least[c] + want[c] * share);
}

size_t plot_table_lines(const plot_table *table, size_t row, const size_t characters[PLOT_COLUMNS])
{
    size_t most = 1;
    for (size_t c = 0; c < table->columns; c++) {
        const char *text = row ? table->text[(row - 1) * table->columns + c] : table->head[c];
        size_t lines = 0;
        for (; *text; lines++) {
            while (*text == ' ') text++;
            text += plot_line(text, characters[c] - 2);
        }
        most = lines > most ? lines : most;
    }
    return most;
}

/* ---- Layout ---- */

size_t plot_columns(const plot_figure *f)
{
    size_t pictures = 0;
    for (size_t k = 0; k < f->n; k++) pictures += !f->panel[k]->table;
    return f->columns > 1 && pictures > 1 ? f->columns < pictures ? f->columns : pictures : 1;
}

double plot_figure_width(const plot_figure *f)
{
    if (plot_columns(f) > 3) return 1240;
    for (size_t k = 0; k < f->n; k++)
        if (f->panel[k]->table) return 960;
    return plot_columns(f) > 1 ? 960 : 640;
}

double plot_panel_width(const plot_panel *p)
{
    const double columns = (double)plot_columns(p->figure), w = plot_figure_width(p->figure);
    return p->table ? w : columns > 1 ? floor((w - (columns - 1) * PLOT_GAP) / columns) : 640;
}

/* The space that the labels of an axis need. */
static double room_for(const plot_scale *s, bool vertical)
{
    size_t longest = 0;
    for (size_t i = 0; i < s->n; i++) {
        const size_t n = plot_characters(plot_scale_label(s, i));
        longest = n > longest ? n : longest;
    }
    if (vertical) return fmin(130, 14 + 6.6 * (double)longest);
    return s->slant ? fmin(110, 22 + 4.2 * (double)longest) : 22;
}

plot_frame plot_frame_of(const plot_panel *p)
{
    plot_frame f = { .w = plot_panel_width(p) };
    if (p->table) {
        size_t characters[PLOT_COLUMNS];
        plot_table_columns(p->table, f.w, characters);
        for (size_t r = 0; r <= p->table->rows; r++) f.h += (double)plot_table_lines(p->table, r, characters) * PLOT_LINE_HEIGHT + 7;
        return f;
    }
    f.h = floor(f.w / (p->aspect > 0 ? p->aspect : p->map || p->cloud ? 1 : 1.6));
    if (p->cloud || (p->map && !p->x.label && !p->y.label && !p->x.tick && !p->y.tick)) return f;
    const plot_scale x = plot_scale_x(p), y = plot_scale_y(p);
    f.l = room_for(&y, true) + (p->y.label ? 18 : 0), f.r = 18, f.t = 8;
    f.b = room_for(&x, false) + (p->x.label ? 19 : 0);
    return f;
}

plot_prefix plot_prefix_of(const plot_figure *f, size_t k)
{
    const char *title = NULL;
    for (size_t i = 0; i < f->parts; i++)
        if (f->part[i].from <= k) title = f->part[i].title;
    return title ? (plot_prefix){ title, ": " } : (plot_prefix){ "", "" };
}

static bool begins_part(const plot_figure *f, size_t k)
{
    for (size_t i = 0; i < f->parts; i++)
        if (f->part[i].from == k) return true;
    return false;
}

static bool note_fits(const plot_panel *p)
{
    return !p->note || 7.5 * (double)plot_characters(p->title) + 6.2 * (double)plot_characters(p->note) + 10 < plot_panel_width(p);
}

plot_places plot_places_of(const plot_figure *f, size_t from, size_t to, double top)
{
    plot_places all = { .w = plot_figure_width(f) };
    const size_t columns = plot_columns(f);
    double y = top, tallest = 0;
    size_t column = 0;
    for (size_t k = from; k < to; k++) all.notes_below |= !note_fits(f->panel[k]);
    const double head = all.notes_below ? PLOT_HEAD + PLOT_LINE_HEIGHT : PLOT_HEAD;
    for (size_t k = from; k < to; k++) {
        const plot_frame p = plot_frame_of(f->panel[k]);
        if (column && (column == columns || f->panel[k]->table || begins_part(f, k))) y += tallest + PLOT_GAP, tallest = 0, column = 0;
        all.at[k].x = (double)column * (p.w + PLOT_GAP), all.at[k].y = y + head;
        tallest = fmax(tallest, p.h + head);
        column = f->panel[k]->table ? columns : column + 1;
    }
    all.h = y + tallest;
    return all;
}

/* ---- Key and description ---- */

size_t plot_key(const plot_figure *f, size_t from, size_t to, const plot_series **entry, size_t most)
{
    size_t n = 0;
    for (size_t k = from; k < to; k++)
        for (size_t i = 0; i < f->panel[k]->n; i++) {
            const plot_series *const s = f->panel[k]->series[i];
            bool known = !s->name;
            for (size_t e = 0; e < n && !known; e++) known = !strcmp(entry[e]->name, s->name);
            if (!known && n < most) entry[n++] = s;
        }
    return n;
}

static bool same_text(const char *a, const char *b) { return a == b || (a && b && !strcmp(a, b)); }

bool plot_key_is_new(const plot_figure *f, size_t from, size_t k)
{
    const plot_map *const m = f->panel[k]->map;
    const plot_cloud *const c = f->panel[k]->cloud;
    for (size_t i = from; i < k; i++) {
        const plot_map *const n = f->panel[i]->map;
        const plot_cloud *const d = f->panel[i]->cloud;
        if (m && n && m->low == n->low && m->high == n->high && m->diverging == n->diverging && same_text(m->means, n->means)) return false;
        if (c && d && c->groups == d->groups && same_text(c->means, d->means)) return false;
    }
    return m || (c && c->group && c->groups);
}

static double last_value(const plot_panel *p, const plot_series *s)
{
    const double *const y = s->y ? plot_frame_row(s->y, s->moves, plot_last_frame(p->figure), s->n) : NULL;
    for (size_t i = s->n; y && i > 0; i--)
        if (isfinite(y[i - 1])) return y[i - 1];
    return (double)NAN;
}

void plot_panel_describe(FILE *out, const plot_panel *p)
{
    const char *between = " Last values: ";
    if (p->table) fprintf(out, "A table of %zu rows.", p->table->rows);
    if (p->map)
        fprintf(out, "A map of %zu rows and %zu columns. Its colour is ", p->map->rows, p->map->columns), kit_markup(out, p->map->means),
            fprintf(out, ", from %.3g to %.3g.", p->map->low, p->map->high);
    if (p->cloud) {
        fprintf(out, "%zu points in space. Axes: ", p->cloud->n);
        for (int i = 0; i < 3; i++) kit_markup(out, p->cloud->axis[i]), fputs(i < 2 ? ", " : ".", out);
    }
    if (!p->n) return;
    kit_markup(out, p->y.label ? p->y.label : "Values"), fputs(" against ", out), kit_markup(out, p->x.label ? p->x.label : "number"),
        fputc('.', out);
    for (size_t k = 0; k < p->n; k++) {
        const plot_series *const s = p->series[k];
        if (!s->name || s->ghost || s->mark == PLOT_BARS || !isfinite(last_value(p, s))) continue;
        fputs(between, out), kit_markup(out, s->name), fprintf(out, " %.3g", last_value(p, s));
        between = ", ";
    }
    if (*between == ',') fputc('.', out);
}
