/* examples/plot/plotly.c - a figure in Plotly's JSON: data and frames; plotly_layout.c has the layout. For plotly.js 4 and plotly.py 6 and 7. */
#include "examples/plot/plotly.h"
#include "examples/kit/json.h"
#include "core/tape.h"
#include <math.h>
#include <stdarg.h>
#include <string.h>

void plot_json_put(plot_writer *w, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vfprintf(w->out, format, arguments);
    va_end(arguments);
}

static void comma(plot_writer *w)
{
    if (w->begun) fputs(",\n", w->out);
    w->begun = true;
}

/* A value that has no place on a log axis becomes a gap. */
static void numbers(plot_writer *w, const char *key, const double *v, size_t n, const plot_scale *s)
{
    plot_json_put(w, ",\"%s\":[", key);
    for (size_t i = 0; i < n; i++) {
        if (i) fputc(',', w->out);
        kit_json_number(w->out, s->log && v[i] <= 0 ? (double)NAN : v[i], s->digits);
    }
    fputs(n ? "]" : "null]", w->out); /* Plotly would drop an empty trace, and the numbers of later traces would change */
}

static void rounded(plot_writer *w, const char *key, const double *v, size_t n, double step)
{
    plot_json_put(w, ",\"%s\":[", key);
    for (size_t i = 0; i < n; i++) {
        if (i) fputc(',', w->out);
        kit_json_rounded(w->out, v[i], step);
    }
    fputc(']', w->out);
}

void plot_json_text(plot_writer *w, const char *key, const char *value) { plot_json_put(w, ",\"%s\":", key), kit_json_text(w->out, value ? value : ""); }

plot_axis_name plot_nth(const char *word, size_t k)
{
    plot_axis_name name;
    snprintf(name.word, sizeof name.word, k ? "%s%zu" : "%s", word, k + 1);
    return name;
}

/* ---- Series: two traces for a band, one for the curve, one for the newest point of a revealed curve ---- */

typedef struct {
    const double *x, *y, *low, *high;
    size_t n;
    plot_scale on_x, on_y;
} view; /* the part of a series that a frame shows */

static view view_of(const plot_panel *p, const plot_series *s, size_t frame)
{
    view v = { s->x, NULL, NULL, NULL, s->x && s->y ? s->reveal ? frame + 1 : s->n : 0, plot_scale_x(p), plot_scale_y(p) };
    if (v.n) v.y = plot_frame_row(s->y, s->moves, frame, s->n);
    if (v.n && s->low && s->high)
        v.low = plot_frame_row(s->low, s->moves, frame, s->n), v.high = plot_frame_row(s->high, s->moves, frame, s->n);
    return v;
}

static void newest(plot_writer *w, const view *v)
{
    const size_t before = v->n ? v->n - 1 : 0;
    numbers(w, "x", v->x + before, v->n - before, &v->on_x), numbers(w, "y", v->y + before, v->n - before, &v->on_y);
}

static void look(plot_writer *w, const plot_series *s)
{
    const plot_look *const ink = &plot_looks[s->ink];
    const char *const width = s->ghost ? "1.2" : s->ink == PLOT_INK_QUIET ? "1.4" : "2.2";
    static const char *const mode[] = { [PLOT_LINE] = "lines", [PLOT_DOTS] = "markers", [PLOT_LINE_DOTS] = "lines+markers" };
    if (s->mark == PLOT_BARS) {
        plot_json_put(w, ",\"opacity\":0.6,\"marker\":{\"color\":\"%s\",\"line\":{\"width\":0}}", ink->hex);
        return;
    }
    plot_json_put(w, ",\"mode\":\"%s\"", mode[s->mark]);
    if (s->mark != PLOT_DOTS)
        plot_json_put(w, ",\"line\":{\"color\":\"%s\",\"width\":%s,\"dash\":\"%s\"}", ink->hex, width, s->ghost ? "solid" : ink->dash);
    if (s->ghost) plot_json_put(w, ",\"opacity\":0.45,\"hoverinfo\":\"skip\"");
    if (s->mark != PLOT_LINE) plot_json_put(w, ",\"marker\":{\"color\":\"%s\",\"size\":6}", ink->hex);
}

/* The series' x on the panel's other axis, from which a page takes it. reveal: frame k has the points up to k, or point k alone. */
static void second_x(plot_writer *w, const plot_panel *p, const plot_series *s, bool reveal)
{
    if (!p->x2.label || !s->x2) return;
    const plot_scale on = plot_scale_x2(p);
    plot_json_put(w, ",\"meta\":{\"reveal\":%s", reveal ? "true" : "false"), numbers(w, "x2", s->x2, s->n, &on), plot_json_put(w, "}");
}

static void series_data(plot_writer *w, const plot_panel *p, size_t k, const plot_series *s, bool first)
{
    const view v = view_of(p, s, plot_last_frame(w->f));
    const plot_axis_name x = plot_nth("x", k), y = plot_nth("y", k);
    for (int side = 0; v.low && side < 2; side++) { /* the whole band; it is the same in all frames unless it moves */
        comma(w), plot_json_put(w, "{\"type\":\"scatter\",\"mode\":\"lines\",\"xaxis\":\"%s\",\"yaxis\":\"%s\"", x.word, y.word);
        numbers(w, "x", s->x, s->n, &v.on_x), numbers(w, "y", side ? v.high : v.low, s->n, &v.on_y);
        plot_json_put(w, ",\"line\":{\"width\":0},\"hoverinfo\":\"skip\",\"showlegend\":false");
        second_x(w, p, s, false);
        plot_json_put(w, side ? ",\"fill\":\"tonexty\",\"fillcolor\":\"%s29\"}" : "}", plot_looks[s->ink].hex);
    }
    comma(w), plot_json_put(w, "{\"type\":\"%s\",\"xaxis\":\"%s\",\"yaxis\":\"%s\"", s->mark == PLOT_BARS ? "bar" : "scatter", x.word, y.word);
    numbers(w, "x", v.x, v.n, &v.on_x), numbers(w, "y", v.y, v.n, &v.on_y), look(w, s);
    if (s->name) plot_json_text(w, "name", s->name), plot_json_text(w, "legendgroup", s->name);
    second_x(w, p, s, s->reveal), plot_json_put(w, ",\"showlegend\":%s}", s->name && first ? "true" : "false");
    if (!s->reveal || s->mark != PLOT_LINE) return;
    comma(w), plot_json_put(w, "{\"type\":\"scatter\",\"mode\":\"markers\",\"xaxis\":\"%s\",\"yaxis\":\"%s\"", x.word, y.word);
    newest(w, &v), second_x(w, p, s, true);
    plot_json_put(w, ",\"marker\":{\"color\":\"%s\",\"size\":8},\"hoverinfo\":\"skip\",\"showlegend\":false}", plot_looks[s->ink].hex);
}

/* The moving traces of a series, as data of a frame. */
static void series_frame(plot_writer *w, const plot_panel *p, const plot_series *s, size_t frame)
{
    const view v = view_of(p, s, frame);
    const char *const type = s->mark == PLOT_BARS ? "bar" : "scatter";
    for (int side = 0; v.low && s->moves && side < 2; side++)
        comma(w), plot_json_put(w, "{\"type\":\"scatter\""), numbers(w, "y", side ? v.high : v.low, s->n, &v.on_y), fputc('}', w->out);
    if (!s->moves && !s->reveal) return;
    comma(w), plot_json_put(w, "{\"type\":\"%s\"", type);
    if (s->reveal) numbers(w, "x", v.x, v.n, &v.on_x);
    numbers(w, "y", v.y, v.n, &v.on_y), fputc('}', w->out);
    if (!s->reveal || s->mark != PLOT_LINE) return;
    comma(w), plot_json_put(w, "{\"type\":\"scatter\""), newest(w, &v), fputc('}', w->out);
}

/* Write the numbers of the traces that move; *next is the number of the series' first trace. */
static void series_traces(plot_writer *w, const plot_series *s, size_t *next)
{
    const bool band = s->low && s->high && s->x && s->y && s->n, head = s->reveal && s->mark == PLOT_LINE;
    for (int i = 0; i < (band ? 2 : 0) + 1 + head; i++, ++*next)
        if (i < (band ? 2 : 0) ? s->moves : s->moves || s->reveal) plot_json_put(w, "%s%zu", w->begun ? "," : "", *next), w->begun = true;
}

/* ---- Maps, clouds, tables ---- */

static void colours(plot_writer *w, const char *const *hex, size_t n, bool steps)
{
    plot_json_put(w, ",\"colorscale\":[");
    for (size_t i = 0; i < n; i++) {
        if (steps)
            plot_json_put(w, "%s[%.4g,\"%s\"],[%.4g,\"%s\"]", i ? "," : "", (double)i / (double)n, hex[i], (double)(i + 1) / (double)n, hex[i]);
        else plot_json_put(w, "%s[%.4g,\"%s\"]", i ? "," : "", (double)i / (double)(n - 1), hex[i]);
    }
    plot_json_put(w, "]");
}

static void map_values(plot_writer *w, const plot_panel *p, size_t frame)
{
    const plot_map *const m = p->map;
    const double *const v = plot_frame_row(m->values, m->moves, frame, m->rows * m->columns), range = m->high / 2 - m->low / 2;
    const double step = range / (plot_map_digits(p) < 0 ? 100 : 10000); /* the cells' numbers must round as in the drawing */
    comma(w), plot_json_put(w, "{\"type\":\"heatmap\",\"z\":[");
    for (size_t i = 0; i < m->rows * m->columns; i++) {
        fputs(i % m->columns ? "," : i ? "],[" : "[", w->out);
        kit_json_rounded(w->out, v[i], step);
    }
    fputs(m->rows && m->columns ? "]]" : "]", w->out);
}

static void map_data(plot_writer *w, const plot_panel *p, size_t k)
{
    const plot_map *const m = p->map;
    map_values(w, p, plot_last_frame(w->f));
    plot_json_put(w, ",\"xaxis\":\"%s\",\"yaxis\":\"%s\",\"zmin\":", plot_nth("x", k).word, plot_nth("y", k).word), kit_json_number(w->out, m->low, 6);
    plot_json_put(w, ",\"zmax\":"), kit_json_number(w->out, m->high, 6);
    colours(w, m->diverging ? plot_diverging : plot_sequential, PLOT_LEVELS, false);
    const bool shown = plot_key_is_new(w->f, 0, k);
    if (plot_map_digits(p) >= 0) plot_json_put(w, ",\"texttemplate\":\"%%{z:.%df}\"", plot_map_digits(p));
    plot_json_put(w, ",\"showscale\":%s,\"hovertemplate\":\"%%{x}, %%{y}: %%{z}\\u003cextra>\\u003c/extra>\"", shown ? "true" : "false");
    if (shown)
        plot_json_put(w, ",\"colorbar\":{\"orientation\":\"h\",\"thickness\":10,\"len\":0.3,\"x\":1,\"xanchor\":\"right\",\"y\":1,\"yanchor\":"
               "\"top\",\"title\":{\"side\":\"top\""),
            plot_json_text(w, "text", m->means), plot_json_put(w, "}}");
    plot_json_put(w, "}");
}

static void cloud_values(plot_writer *w, const plot_cloud *c, size_t frame)
{
    comma(w), plot_json_put(w, "{\"type\":\"scatter3d\"");
    rounded(w, "x", plot_frame_row(c->x, c->moves, frame, c->n), c->n, c->reach / 400);
    rounded(w, "y", plot_frame_row(c->y, c->moves, frame, c->n), c->n, c->reach / 400);
    rounded(w, "z", plot_frame_row(c->z, c->moves, frame, c->n), c->n, c->reach / 400);
}

static void circles(plot_writer *w, const plot_cloud *c, const char *scene)
{
    comma(w), plot_json_put(w, "{\"type\":\"scatter3d\",\"scene\":\"%s\",\"mode\":\"lines\"", scene);
    for (int axis = 0; axis < 3; axis++) {
        plot_json_put(w, ",\"%c\":[", 'x' + axis);
        for (int without = 0; without < 3; without++)
            for (int i = 0; i <= 36; i++) {
                const double a = i * 0.17453292519943295;
                const double v = without == axis ? 0 : (without + 1) % 3 == axis ? c->circles * cos(a) : c->circles * sin(a);
                kit_json_rounded(w->out, v, c->circles / 100), fputs(i < 36 ? "," : without < 2 ? ",null," : "", w->out);
            }
        plot_json_put(w, "]");
    }
    plot_json_put(w, ",\"line\":{\"color\":\"" PLOT_SOFT "\",\"width\":1},\"opacity\":0.5,\"hoverinfo\":\"skip\",\"showlegend\":false}");
}

static void cloud_data(plot_writer *w, const plot_panel *p, size_t k)
{
    const plot_cloud *const c = p->cloud;
    const plot_axis_name scene = plot_nth("scene", k);
    const bool coloured = c->group && c->groups;
    const size_t groups = coloured ? c->groups < PLOT_GROUPS ? c->groups : PLOT_GROUPS : 1;
    cloud_values(w, c, plot_last_frame(w->f));
    plot_json_put(w,
        ",\"scene\":\"%s\",\"mode\":\"markers\",\"marker\":{\"size\":3.2,\"opacity\":0.9,\"line\":{\"width\":0},\"cmin\":-0.5,\"cmax\":%zu."
        "5,\"showscale\":false,\"color\":[",
        scene.word, groups - 1);
    for (size_t i = 0; i < c->n; i++) plot_json_put(w, "%s%d", i ? "," : "", coloured ? c->group[i] % PLOT_GROUPS : 0);
    plot_json_put(w, "]"), colours(w, plot_groups, groups, true);
    plot_json_put(w, "},\"showlegend\":false,\"hovertemplate\":");
    kit_json_text(w->out, plot_say(w->f->t, "(%%{x:.2f}, %%{y:.2f}, %%{z:.2f})%s%s%s<extra></extra>", coloured ? "<br>" : "",
                                   coloured && c->means ? c->means : "", coloured ? " %{marker.color}" : ""));
    plot_json_put(w, "}");
    if (c->circles > 0) circles(w, c, scene.word);
}

static void table_data(plot_writer *w, const plot_panel *p, size_t k, const plot_places *at, double h)
{
    const plot_table *const t = p->table;
    const plot_frame f = plot_frame_of(p);
    comma(w), plot_json_put(w, "{\"type\":\"table\",\"domain\":{\"x\":[%.5f,%.5f],\"y\":[%.5f,%.5f]},\"header\":{\"align\":\"left\",\"values\":[",
                  at->at[k].x / at->w, (at->at[k].x + f.w) / at->w, fmax(0, 1 - (at->at[k].y + f.h) / h), 1 - at->at[k].y / h);
    for (size_t c = 0; c < t->columns; c++) fputs(c ? "," : "", w->out), kit_json_text(w->out, t->head[c]);
    plot_json_put(w, "]},\"cells\":{\"align\":\"left\",\"values\":[");
    for (size_t c = 0; c < t->columns; c++) {
        fputs(c ? ",[" : "[", w->out);
        for (size_t r = 0; r < t->rows; r++) fputs(r ? "," : "", w->out), kit_json_text(w->out, t->text[r * t->columns + c]);
        fputc(']', w->out);
    }
    plot_json_put(w, "]}}");
}

/* ---- Frames ---- */

static void frame(plot_writer *w, size_t at)
{
    const plot_figure *const f = w->f;
    size_t next = 0;
    plot_json_put(w, "{\"name\":\"%s\",\"traces\":[", f->frame[at]);
    w->begun = false;
    for (size_t k = 0; k < f->n; k++) {
        const plot_panel *const p = f->panel[k];
        for (size_t i = 0; i < p->n; i++) series_traces(w, p->series[i], &next);
        if ((p->map && p->map->moves) || (p->cloud && p->cloud->moves)) plot_json_put(w, "%s%zu", w->begun ? "," : "", next), w->begun = true;
        next += (p->map || p->cloud || p->table) + (p->cloud && p->cloud->circles > 0);
    }
    plot_json_put(w, "],\"data\":[");
    w->begun = false;
    for (size_t k = 0; k < f->n; k++) {
        const plot_panel *const p = f->panel[k];
        for (size_t i = 0; i < p->n; i++) series_frame(w, p, p->series[i], at);
        if (p->map && p->map->moves) map_values(w, p, at), plot_json_put(w, "}");
        if (p->cloud && p->cloud->moves) cloud_values(w, p->cloud, at), plot_json_put(w, "}");
    }
    plot_json_put(w, "]}");
}

void plot_figure_json(FILE *out, const plot_figure *f)
{
    const plot_series *known[64];
    if (!f || gr_failed(f->t)) return;
    plot_writer w = { out, f, false };
    const size_t names = plot_key(f, 0, f->n, known, 64);
    const plot_places at = plot_places_of(f, 0, f->n, 64);
    plot_json_put(&w, "{\"data\":[");
    for (size_t k = 0; k < f->n; k++) {
        const plot_panel *const p = f->panel[k];
        for (size_t i = 0; i < p->n; i++) {
            bool first = false;
            for (size_t e = 0; e < names; e++) first |= known[e] == p->series[i];
            series_data(&w, p, k, p->series[i], first);
        }
        if (p->map) map_data(&w, p, k);
        if (p->cloud) cloud_data(&w, p, k);
        if (p->table) table_data(&w, p, k, &at, at.h);
    }
    plot_json_layout(&w, &at, at.h, names > 0);
    plot_json_put(&w, ",\n\"frames\":[");
    for (size_t k = 0; k < f->frames; k++) fputs(k ? ",\n" : "", out), frame(&w, k);
    plot_json_put(&w, "]}\n");
}
