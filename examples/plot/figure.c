/* examples/plot/figure.c - figures in memory. Everything that is added is checked and copied to the tape. */
#include "examples/plot/figure.h"
#include "core/op.h"
#include <math.h>
#include <stdarg.h>
#include <string.h>

/* A copy of n values of `size` bytes; NULL when values is NULL or there is no memory. */
static void *copied(gr_tape *t, const void *values, size_t n, size_t size)
{
    size_t bytes;
    if (!values) return NULL;
    void *const p =
        gr_size_mul(n, size, &bytes) ? gr_save(t, bytes ? bytes : 1) : gr_fail_as(t, GR_NO_MEMORY, "", "out of memory: %zu values", n);
    return p && bytes ? memcpy(p, values, bytes) : p;
}

static const char *text_of(gr_tape *t, const char *format, va_list arguments)
{
    if (gr_failed(t)) return "";
    va_list again;
    va_copy(again, arguments);
    const int n = vsnprintf(NULL, 0, format, again);
    va_end(again);
    char *const text = n < 0 ? gr_fail(t, NULL, "a text of a figure cannot be printed") : gr_save(t, (size_t)n + 1);
    if (text) vsnprintf(text, (size_t)n + 1, format, arguments);
    return text ? text : "";
}

const char *plot_say(gr_tape *t, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const char *const text = text_of(t, format, arguments);
    va_end(arguments);
    return text;
}

const char *plot_figure_text(plot_figure *f, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const char *const text = text_of(f ? f->t : NULL, format, arguments);
    va_end(arguments);
    return text;
}

void plot_figure_says(plot_figure *f, plot_saying what, const char *format, ...)
{
    va_list arguments;
    if (!f || gr_failed(f->t)) return;
    va_start(arguments, format);
    f->says[what] = text_of(f->t, format, arguments);
    va_end(arguments);
}

plot_figure *plot_figure_new(gr_tape *t, const char *name, const char *title)
{
    plot_figure *const f = gr_save_zeros(t, sizeof *f);
    if (f) f->t = t, f->name = name, f->title = title, f->columns = 2, f->parts = 1;
    return f;
}

void plot_figure_frames(plot_figure *f, const char *unit, const double *at, size_t n)
{
    if (!f || gr_failed(f->t)) return;
    const char **const names = gr_save_zeros(f->t, (n ? n : 1) * sizeof *names);
    for (size_t k = 0; names && k < n; k++) names[k] = plot_figure_text(f, "%.10g", at[k]);
    if (names) f->unit = unit, f->frame = names, f->frames = n;
}

void plot_part_begin(plot_figure *f, const char *title, const char *about, bool folded)
{
    if (!f || gr_failed(f->t)) return;
    if (f->n == 0) f->parts = 0;
    if (f->parts == PLOT_PARTS) gr_fail(f->t, NULL, "figure %s: at most %d parts", f->name, PLOT_PARTS);
    else f->part[f->parts++] = (plot_part){ title, about, folded, f->n };
}

size_t plot_part_end(const plot_figure *f, size_t i) { return i + 1 < f->parts ? f->part[i + 1].from : f->n; }

plot_panel *plot_panel_new(plot_figure *f, const plot_panel *p)
{
    if (!f || gr_failed(f->t)) return NULL;
    if (f->n == PLOT_PANELS) return gr_fail(f->t, NULL, "figure %s: at most %d panels", f->name, PLOT_PANELS);
    plot_panel *const mine = copied(f->t, p, 1, sizeof *p);
    if (!mine) return NULL;
    *mine = (plot_panel){ .title = p->title, .note = p->note, .x = p->x, .y = p->y, .x2 = p->x2, .aspect = p->aspect, .figure = f };
    mine->x.tick = copied(f->t, p->x.tick, p->x.ticks, sizeof *p->x.tick);
    mine->y.tick = copied(f->t, p->y.tick, p->y.ticks, sizeof *p->y.tick);
    if (gr_failed(f->t)) return NULL;
    return f->panel[f->n++] = mine;
}

/* Whether p can take `what`: nothing else is there (a series joins other series), and the figure has frames if it moves. */
static bool takes(const plot_panel *p, const char *what, bool moves)
{
    if (!p || gr_failed(p->figure->t)) return false;
    const plot_figure *const f = p->figure;
    const char *const title = p->title ? p->title : "";
    if (p->map || p->cloud || p->table || (p->n && strcmp(what, "a series")))
        return gr_fail(f->t, NULL, "figure %s, panel %s: holds one thing already", f->name, title);
    if (moves && !f->frames) return gr_fail(f->t, NULL, "figure %s, panel %s: %s moves, and there are no frames", f->name, title, what);
    return true;
}

void plot_series_add(plot_panel *p, const plot_series *s)
{
    if (!takes(p, "a series", s->moves || s->reveal)) return;
    const plot_figure *const f = p->figure;
    gr_tape *const t = f->t;
    const size_t most = sizeof p->series / sizeof *p->series, rows = s->moves ? f->frames : 1;
    if (p->n == most) {
        gr_fail(t, NULL, "figure %s, panel %s: at most %zu series", f->name, p->title ? p->title : "", most);
        return;
    }
    if (s->reveal && (s->moves || s->n != f->frames)) {
        gr_fail(t, NULL, "figure %s, panel %s: a series revealed over %zu frames has as many points; got %zu%s", f->name,
                p->title ? p->title : "", f->frames, s->n, s->moves ? ", which move" : "");
        return;
    }
    plot_series *const mine = copied(t, s, 1, sizeof *s);
    if (!mine) return;
    mine->x = copied(t, s->x, s->n, sizeof *s->x);
    mine->x2 = copied(t, s->x2, s->n, sizeof *s->x2);
    mine->y = copied(t, s->y, rows * s->n, sizeof *s->y);
    mine->low = copied(t, s->low, rows * s->n, sizeof *s->low);
    mine->high = copied(t, s->high, rows * s->n, sizeof *s->high);
    if (!gr_failed(t)) p->series[p->n++] = mine;
}

/* The largest finite |value|, at least `least`; 1 if that is 0. */
static double largest(double least, const double *values, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (isfinite(values[i])) least = fmax(least, fabs(values[i]));
    return least > 0 ? least : 1;
}

void plot_map_set(plot_panel *p, const plot_map *m)
{
    if (!takes(p, "a map", m->moves)) return;
    gr_tape *const t = p->figure->t;
    plot_map *const mine = copied(t, m, 1, sizeof *m);
    if (!mine) return;
    const size_t n = (m->moves ? p->figure->frames : 1) * m->rows * m->columns;
    mine->values = copied(t, m->values, n, sizeof *m->values);
    if (gr_failed(t)) return;
    if (!(isfinite(m->low) && isfinite(m->high) && m->low < m->high)) {
        const double most = largest(0, m->values, n);
        mine->low = -most, mine->high = most;
    }
    p->map = mine;
}

void plot_cloud_set(plot_panel *p, const plot_cloud *c)
{
    if (!takes(p, "a cloud", c->moves)) return;
    gr_tape *const t = p->figure->t;
    const size_t n = (c->moves ? p->figure->frames : 1) * c->n;
    plot_cloud *const mine = copied(t, c, 1, sizeof *c);
    if (!mine) return;
    mine->x = copied(t, c->x, n, sizeof *c->x);
    mine->y = copied(t, c->y, n, sizeof *c->y);
    mine->z = copied(t, c->z, n, sizeof *c->z);
    mine->group = copied(t, c->group, c->n, sizeof *c->group);
    if (gr_failed(t)) return;
    if (!(isfinite(c->reach) && c->reach > 0)) mine->reach = largest(largest(largest(0, c->x, n), c->y, n), c->z, n);
    mine->reach = fmax(1e-100, fmin(1e100, mine->reach)); /* keeps coordinates finite */
    p->cloud = mine;
}

void plot_table_set(plot_panel *p, const plot_table *table)
{
    if (!takes(p, "a table", false)) return;
    plot_figure *const f = p->figure;
    if (table->columns > PLOT_COLUMNS) {
        gr_fail(f->t, NULL, "figure %s, panel %s: at most %d columns", f->name, p->title ? p->title : "", PLOT_COLUMNS);
        return;
    }
    const size_t n = table->rows * table->columns;
    plot_table *const mine = copied(f->t, table, 1, sizeof *table);
    const char **const head = gr_save_zeros(f->t, (table->columns + 1) * sizeof *head);
    const char **const text = gr_save_zeros(f->t, (n + 1) * sizeof *text);
    for (size_t i = 0; head && i < table->columns; i++) head[i] = plot_figure_text(f, "%s", table->head[i] ? table->head[i] : "");
    for (size_t i = 0; text && i < n; i++) text[i] = plot_figure_text(f, "%s", table->text[i] ? table->text[i] : "");
    mine->link = copied(f->t, table->link, table->rows, sizeof *table->link);
    if (gr_failed(f->t)) return;
    mine->head = head, mine->text = text;
    p->table = mine;
}
