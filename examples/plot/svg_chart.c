/* examples/plot/svg_chart.c - SVG drawings of curves, bands, bars and maps between axes. NaN and infinity leave a gap. */
#include "examples/kit/json.h"
#include "examples/plot/svg.h"
#include <math.h>

typedef struct {
    FILE *out;
    plot_frame f;
    plot_scale x, y;
    double w, h;
} chart;

static double across(const chart *c, double v) { return plot_scale_place(&c->x, v) * c->w; }
static double down(const chart *c, double v) { return (1 - plot_scale_place(&c->y, v)) * c->h; }

static void axes(const chart *c, const plot_panel *p)
{
    FILE *const out = c->out;
    const double left = c->f.l, bottom = c->f.h - c->f.b;
    for (size_t i = 0; i < c->y.n; i++) {
        const double at = c->f.t + down(c, c->y.at[i]);
        if (!p->map) fprintf(out, "<path class=\"g\" d=\"M%.1f %.1fh%.1f\"/>", left, at, c->w);
        fprintf(out, "<text class=\"end\" x=\"%.1f\" y=\"%.1f\">", left - 7, at + 4.5), kit_markup(out, plot_scale_label(&c->y, i)),
            fputs("</text>", out);
    }
    for (size_t i = 0; i < c->x.n; i++) {
        const double at = left + across(c, c->x.at[i]);
        if (!p->map) fprintf(out, "<path class=\"g\" d=\"M%.1f %.1fv%.1f\"/>", at, c->f.t, c->h);
        if (c->x.slant) fprintf(out, "<text class=\"end\" transform=\"translate(%.1f %.1f) rotate(-38)\">", at + 4, bottom + 14);
        else fprintf(out, "<text class=\"mid\" x=\"%.1f\" y=\"%.1f\">", at, bottom + 18);
        kit_markup(out, plot_scale_label(&c->x, i)), fputs("</text>", out);
    }
    if (p->x.label)
        fprintf(out, "<text class=\"mid\" x=\"%.1f\" y=\"%.1f\">", left + c->w / 2, c->f.h - 5), kit_markup(out, p->x.label),
            fputs("</text>", out);
    if (!p->y.label) return;
    fprintf(out, "<text class=\"mid\" transform=\"translate(13 %.1f) rotate(-90)\">", c->f.t + c->h / 2), kit_markup(out, p->y.label),
        fputs("</text>", out);
}

/* ---- Series ---- */

static bool has_place(const chart *c, double x, double y)
{
    return isfinite(plot_scale_place(&c->x, x)) && isfinite(plot_scale_place(&c->y, y));
}

static void curve(const chart *c, const plot_series *s, const double *y)
{
    size_t run = 0;
    for (size_t i = 0; i <= s->n; i++) {
        if (i < s->n && has_place(c, s->x[i], y[i])) {
            if (!run) fprintf(c->out, "<path class=\"%s %s\" d=\"M", s->ghost ? "ghost" : "curve", plot_looks[s->ink].css);
            fprintf(c->out, "%s%.1f %.1f", run++ ? "L" : "", across(c, s->x[i]), down(c, y[i]));
        } else if (run) fputs(run == 1 ? "h0\"/>" : "\"/>", c->out), run = 0;
    }
}

static void band(const chart *c, const plot_series *s, const double *low, const double *high)
{
    for (size_t i = 0, end; i < s->n; i = end + 1) {
        for (end = i; end < s->n && has_place(c, s->x[end], low[end]) && has_place(c, s->x[end], high[end]);) end++;
        if (end - i < 2) continue;
        fprintf(c->out, "<path class=\"band %s\" d=\"M", plot_looks[s->ink].css);
        for (size_t k = i; k < end; k++) fprintf(c->out, "%s%.1f %.1f", k > i ? "L" : "", across(c, s->x[k]), down(c, high[k]));
        for (size_t k = end; k-- > i;) fprintf(c->out, "L%.1f %.1f", across(c, s->x[k]), down(c, low[k]));
        fputs("Z\"/>", c->out);
    }
}

static void dots(const chart *c, const plot_series *s, const double *y, size_t from, double radius)
{
    for (size_t i = from; i < s->n; i++)
        if (has_place(c, s->x[i], y[i]))
            fprintf(c->out, "<circle class=\"dot %s\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"/>", plot_looks[s->ink].css, across(c, s->x[i]),
                    down(c, y[i]), radius);
}

static void bars(const chart *c, const plot_series *s, const double *y)
{
    const double zero = c->y.log ? c->h : down(c, 0), wide = s->n > 1 ? across(c, s->x[1]) - across(c, s->x[0]) : c->w / 2;
    fprintf(c->out, "<path class=\"bar %s\" d=\"", plot_looks[s->ink].css);
    for (size_t i = 0; i < s->n && isfinite(wide); i++)
        if (has_place(c, s->x[i], y[i]))
            fprintf(c->out, "M%.1f %.1fV%.1fh%.1fV%.1f", across(c, s->x[i]) - wide / 2, zero, down(c, y[i]), wide, zero);
    fputs("\"/>", c->out);
}

static void series(const chart *c, const plot_panel *p, const plot_series *s)
{
    const size_t k = plot_last_frame(p->figure);
    const double *const y = s->y ? plot_frame_row(s->y, s->moves, k, s->n) : NULL;
    if (!s->x || !y) return;
    if (s->low && s->high) band(c, s, plot_frame_row(s->low, s->moves, k, s->n), plot_frame_row(s->high, s->moves, k, s->n));
    if (s->mark == PLOT_BARS) bars(c, s, y);
    if (s->mark == PLOT_LINE || s->mark == PLOT_LINE_DOTS) curve(c, s, y);
    if (s->mark == PLOT_DOTS || s->mark == PLOT_LINE_DOTS) dots(c, s, y, 0, 3.4);
    else if (s->reveal && s->n) dots(c, s, y, s->n - 1, 4);
}

/* ---- A map: neighbours of one colour in a row are one rectangle; all rectangles of one colour are one path ---- */

static void cells(FILE *out, const plot_panel *p)
{
    const plot_map *const m = p->map;
    const double *const v = plot_frame_row(m->values, m->moves, plot_last_frame(p->figure), m->rows * m->columns);
    for (int level = 0; level < PLOT_LEVELS; level++) {
        bool any = false;
        for (size_t i = 0; i < m->rows; i++)
            for (size_t j = 0, end; j < m->columns; j = end) {
                const int mine = plot_level(m, v[i * m->columns + j]);
                for (end = j + 1; end < m->columns && plot_level(m, v[i * m->columns + end]) == mine;) end++;
                if (mine != level) continue;
                if (!any) fprintf(out, "<path class=\"%c%d\" d=\"", m->diverging ? 'q' : 's', level), any = true;
                fprintf(out, "M%zu %zuh%zuv1h-%zuz", j, i, end - j, end - j);
            }
        if (any) fputs("\"/>", out);
    }
}

static void cell_numbers(const chart *c, const plot_panel *p)
{
    const plot_map *const m = p->map;
    const double *const v = plot_frame_row(m->values, m->moves, plot_last_frame(p->figure), m->rows * m->columns);
    const int digits = plot_map_digits(p);
    for (size_t i = 0; digits >= 0 && i < m->rows * m->columns; i++) {
        const double x = c->f.l + c->w * ((double)(i % m->columns) + 0.5) / (double)m->columns;
        const double y = c->f.t + c->h * ((double)(i / m->columns) + 0.5) / (double)m->rows;
        if (!isfinite(v[i])) continue;
        fprintf(c->out, "<text class=\"mid on-%c%d\" x=\"%.1f\" y=\"%.1f\">%s%.*f</text>", m->diverging ? 'q' : 's', plot_level(m, v[i]), x,
                y + 4.5, v[i] < 0 ? "\xe2\x88\x92" : "", digits, fabs(v[i]));
    }
}

void plot_svg_chart(FILE *out, const plot_panel *p)
{
    chart c = { out, plot_frame_of(p), plot_scale_x(p), plot_scale_y(p), 0, 0 };
    c.w = c.f.w - c.f.l - c.f.r, c.h = c.f.h - c.f.t - c.f.b;
    if (c.f.l > 0) axes(&c, p);
    if (p->map)
        fprintf(out,
                "<svg x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" viewBox=\"0 0 %zu %zu\" preserveAspectRatio=\"none\" "
                "shape-rendering=\"crispEdges\">",
                c.f.l, c.f.t, c.w, c.h, p->map->columns ? p->map->columns : 1, p->map->rows ? p->map->rows : 1);
    else fprintf(out, "<svg x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\">", c.f.l, c.f.t, c.w, c.h);
    if (p->map) cells(out, p);
    for (size_t k = 0; k < p->n; k++) series(&c, p, p->series[k]);
    fputs("</svg>", out);
    if (p->map) cell_numbers(&c, p);
}
