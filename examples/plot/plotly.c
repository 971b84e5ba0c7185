/* examples/plot/plotly.c - a figure in Plotly's JSON: data, a layout with a grid of panels, frames. For plotly.js 4 and plotly.py 6 and 7. */
#include "examples/plot/draw.h"
#include "examples/kit/json.h"
#include "core/tape.h"
#include <math.h>
#include <stdarg.h>
#include <string.h>

/* Writes an object or array, with commas between its members. */
typedef struct {
    FILE *out;
    const plot_figure *f;
    bool begun;
} writer;

static void __attribute__((format(GR_PRINTF, 2, 3))) put(writer *w, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vfprintf(w->out, format, arguments);
    va_end(arguments);
}

static void comma(writer *w)
{
    if (w->begun) fputs(",\n", w->out);
    w->begun = true;
}

/* A value that has no place on a log axis becomes a gap. */
static void numbers(writer *w, const char *key, const double *v, size_t n, const plot_scale *s)
{
    put(w, ",\"%s\":[", key);
    for (size_t i = 0; i < n; i++) {
        if (i) fputc(',', w->out);
        kit_json_number(w->out, s->log && v[i] <= 0 ? (double)NAN : v[i], s->digits);
    }
    fputs(n ? "]" : "null]", w->out); /* Plotly would drop an empty trace, and the numbers of later traces would change */
}

static void rounded(writer *w, const char *key, const double *v, size_t n, double step)
{
    put(w, ",\"%s\":[", key);
    for (size_t i = 0; i < n; i++) {
        if (i) fputc(',', w->out);
        kit_json_rounded(w->out, v[i], step);
    }
    fputc(']', w->out);
}

static void text(writer *w, const char *key, const char *value) { put(w, ",\"%s\":", key), kit_json_text(w->out, value ? value : ""); }

/* "x", "x2", "x3": the axis of panel k. */
typedef struct { char word[16]; } axis_name;
static axis_name nth(const char *word, size_t k)
{
    axis_name name;
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

static void newest(writer *w, const view *v)
{
    const size_t before = v->n ? v->n - 1 : 0;
    numbers(w, "x", v->x + before, v->n - before, &v->on_x), numbers(w, "y", v->y + before, v->n - before, &v->on_y);
}

static void look(writer *w, const plot_series *s)
{
    const plot_look *const ink = &plot_looks[s->ink];
    const char *const width = s->ghost ? "1.2" : s->ink == PLOT_INK_QUIET ? "1.4" : "2.2";
    static const char *const mode[] = { [PLOT_LINE] = "lines", [PLOT_DOTS] = "markers", [PLOT_LINE_DOTS] = "lines+markers" };
    if (s->mark == PLOT_BARS) {
        put(w, ",\"opacity\":0.6,\"marker\":{\"color\":\"%s\",\"line\":{\"width\":0}}", ink->hex);
        return;
    }
    put(w, ",\"mode\":\"%s\"", mode[s->mark]);
    if (s->mark != PLOT_DOTS)
        put(w, ",\"line\":{\"color\":\"%s\",\"width\":%s,\"dash\":\"%s\"}", ink->hex, width, s->ghost ? "solid" : ink->dash);
    if (s->ghost) put(w, ",\"opacity\":0.45,\"hoverinfo\":\"skip\"");
    if (s->mark != PLOT_LINE) put(w, ",\"marker\":{\"color\":\"%s\",\"size\":6}", ink->hex);
}

static void series_data(writer *w, const plot_panel *p, size_t k, const plot_series *s, bool first)
{
    const view v = view_of(p, s, plot_last_frame(w->f));
    const axis_name x = nth("x", k), y = nth("y", k);
    for (int side = 0; v.low && side < 2; side++) { /* the whole band; it is the same in all frames unless it moves */
        comma(w), put(w, "{\"type\":\"scatter\",\"mode\":\"lines\",\"xaxis\":\"%s\",\"yaxis\":\"%s\"", x.word, y.word);
        numbers(w, "x", s->x, s->n, &v.on_x), numbers(w, "y", side ? v.high : v.low, s->n, &v.on_y);
        put(w, ",\"line\":{\"width\":0},\"hoverinfo\":\"skip\",\"showlegend\":false");
        put(w, side ? ",\"fill\":\"tonexty\",\"fillcolor\":\"%s29\"}" : "}", plot_looks[s->ink].hex);
    }
    comma(w), put(w, "{\"type\":\"%s\",\"xaxis\":\"%s\",\"yaxis\":\"%s\"", s->mark == PLOT_BARS ? "bar" : "scatter", x.word, y.word);
    numbers(w, "x", v.x, v.n, &v.on_x), numbers(w, "y", v.y, v.n, &v.on_y), look(w, s);
    if (s->name) text(w, "name", s->name), text(w, "legendgroup", s->name);
    put(w, ",\"showlegend\":%s}", s->name && first ? "true" : "false");
    if (!s->reveal || s->mark != PLOT_LINE) return;
    comma(w), put(w, "{\"type\":\"scatter\",\"mode\":\"markers\",\"xaxis\":\"%s\",\"yaxis\":\"%s\"", x.word, y.word);
    newest(w, &v);
    put(w, ",\"marker\":{\"color\":\"%s\",\"size\":8},\"hoverinfo\":\"skip\",\"showlegend\":false}", plot_looks[s->ink].hex);
}

/* The moving traces of a series, as data of a frame. */
static void series_frame(writer *w, const plot_panel *p, const plot_series *s, size_t frame)
{
    const view v = view_of(p, s, frame);
    const char *const type = s->mark == PLOT_BARS ? "bar" : "scatter";
    for (int side = 0; v.low && s->moves && side < 2; side++)
        comma(w), put(w, "{\"type\":\"scatter\""), numbers(w, "y", side ? v.high : v.low, s->n, &v.on_y), fputc('}', w->out);
    if (!s->moves && !s->reveal) return;
    comma(w), put(w, "{\"type\":\"%s\"", type);
    if (s->reveal) numbers(w, "x", v.x, v.n, &v.on_x);
    numbers(w, "y", v.y, v.n, &v.on_y), fputc('}', w->out);
    if (!s->reveal || s->mark != PLOT_LINE) return;
    comma(w), put(w, "{\"type\":\"scatter\""), newest(w, &v), fputc('}', w->out);
}

/* Write the numbers of the traces that move; *next is the number of the series' first trace. */
static void series_traces(writer *w, const plot_series *s, size_t *next)
{
    const bool band = s->low && s->high && s->x && s->y && s->n, head = s->reveal && s->mark == PLOT_LINE;
    for (int i = 0; i < (band ? 2 : 0) + 1 + head; i++, ++*next)
        if (i < (band ? 2 : 0) ? s->moves : s->moves || s->reveal) put(w, "%s%zu", w->begun ? "," : "", *next), w->begun = true;
}

/* ---- Maps, clouds, tables ---- */

static void colours(writer *w, const char *const *hex, size_t n, bool steps)
{
    put(w, ",\"colorscale\":[");
    for (size_t i = 0; i < n; i++) {
        if (steps)
            put(w, "%s[%.4g,\"%s\"],[%.4g,\"%s\"]", i ? "," : "", (double)i / (double)n, hex[i], (double)(i + 1) / (double)n, hex[i]);
        else put(w, "%s[%.4g,\"%s\"]", i ? "," : "", (double)i / (double)(n - 1), hex[i]);
    }
    put(w, "]");
}

static void map_values(writer *w, const plot_panel *p, size_t frame)
{
    const plot_map *const m = p->map;
    const double *const v = plot_frame_row(m->values, m->moves, frame, m->rows * m->columns), range = m->high / 2 - m->low / 2;
    const double step = range / (plot_map_digits(p) < 0 ? 100 : 10000); /* the cells' numbers must round as in the drawing */
    comma(w), put(w, "{\"type\":\"heatmap\",\"z\":[");
    for (size_t i = 0; i < m->rows * m->columns; i++) {
        fputs(i % m->columns ? "," : i ? "],[" : "[", w->out);
        kit_json_rounded(w->out, v[i], step);
    }
    fputs(m->rows && m->columns ? "]]" : "]", w->out);
}

static void map_data(writer *w, const plot_panel *p, size_t k)
{
    const plot_map *const m = p->map;
    map_values(w, p, plot_last_frame(w->f));
    put(w, ",\"xaxis\":\"%s\",\"yaxis\":\"%s\",\"zmin\":", nth("x", k).word, nth("y", k).word), kit_json_number(w->out, m->low, 6);
    put(w, ",\"zmax\":"), kit_json_number(w->out, m->high, 6);
    colours(w, m->diverging ? plot_diverging : plot_sequential, PLOT_LEVELS, false);
    const bool shown = plot_key_is_new(w->f, k);
    if (plot_map_digits(p) >= 0) put(w, ",\"texttemplate\":\"%%{z:.%df}\"", plot_map_digits(p));
    put(w, ",\"showscale\":%s,\"hovertemplate\":\"%%{x}, %%{y}: %%{z}\\u003cextra>\\u003c/extra>\"", shown ? "true" : "false");
    if (shown)
        put(w, ",\"colorbar\":{\"orientation\":\"h\",\"thickness\":10,\"len\":0.3,\"x\":1,\"xanchor\":\"right\",\"y\":1,\"yanchor\":"
               "\"top\",\"title\":{\"side\":\"top\""),
            text(w, "text", m->means), put(w, "}}");
    put(w, "}");
}

static void cloud_values(writer *w, const plot_cloud *c, size_t frame)
{
    comma(w), put(w, "{\"type\":\"scatter3d\"");
    rounded(w, "x", plot_frame_row(c->x, c->moves, frame, c->n), c->n, c->reach / 400);
    rounded(w, "y", plot_frame_row(c->y, c->moves, frame, c->n), c->n, c->reach / 400);
    rounded(w, "z", plot_frame_row(c->z, c->moves, frame, c->n), c->n, c->reach / 400);
}

static void circles(writer *w, const plot_cloud *c, const char *scene)
{
    comma(w), put(w, "{\"type\":\"scatter3d\",\"scene\":\"%s\",\"mode\":\"lines\"", scene);
    for (int axis = 0; axis < 3; axis++) {
        put(w, ",\"%c\":[", 'x' + axis);
        for (int without = 0; without < 3; without++)
            for (int i = 0; i <= 36; i++) {
                const double a = i * 0.17453292519943295;
                const double v = without == axis ? 0 : (without + 1) % 3 == axis ? c->circles * cos(a) : c->circles * sin(a);
                kit_json_rounded(w->out, v, c->circles / 100), fputs(i < 36 ? "," : without < 2 ? ",null," : "", w->out);
            }
        put(w, "]");
    }
    put(w, ",\"line\":{\"color\":\"" PLOT_SOFT "\",\"width\":1},\"opacity\":0.5,\"hoverinfo\":\"skip\",\"showlegend\":false}");
}

static void cloud_data(writer *w, const plot_panel *p, size_t k)
{
    const plot_cloud *const c = p->cloud;
    const axis_name scene = nth("scene", k);
    const bool coloured = c->group && c->groups;
    const size_t groups = coloured ? c->groups < PLOT_GROUPS ? c->groups : PLOT_GROUPS : 1;
    cloud_values(w, c, plot_last_frame(w->f));
    put(w,
        ",\"scene\":\"%s\",\"mode\":\"markers\",\"marker\":{\"size\":3.2,\"opacity\":0.9,\"line\":{\"width\":0},\"cmin\":-0.5,\"cmax\":%zu."
        "5,\"showscale\":false,\"color\":[",
        scene.word, groups - 1);
    for (size_t i = 0; i < c->n; i++) put(w, "%s%d", i ? "," : "", coloured ? c->group[i] % PLOT_GROUPS : 0);
    put(w, "]"), colours(w, plot_groups, groups, true);
    put(w, "},\"showlegend\":false,\"hovertemplate\":");
    kit_json_text(w->out, plot_say(w->f->t, "(%%{x:.2f}, %%{y:.2f}, %%{z:.2f})%s%s%s<extra></extra>", coloured ? "<br>" : "",
                                   coloured && c->means ? c->means : "", coloured ? " %{marker.color}" : ""));
    put(w, "}");
    if (c->circles > 0) circles(w, c, scene.word);
}

static void table_data(writer *w, const plot_panel *p, size_t k, const plot_places *at, double h)
{
    const plot_table *const t = p->table;
    const plot_frame f = plot_frame_of(p);
    comma(w), put(w, "{\"type\":\"table\",\"domain\":{\"x\":[%.5f,%.5f],\"y\":[%.5f,%.5f]},\"header\":{\"align\":\"left\",\"values\":[",
                  at->at[k].x / at->w, (at->at[k].x + f.w) / at->w, fmax(0, 1 - (at->at[k].y + f.h) / h), 1 - at->at[k].y / h);
    for (size_t c = 0; c < t->columns; c++) fputs(c ? "," : "", w->out), kit_json_text(w->out, t->head[c]);
    put(w, "]},\"cells\":{\"align\":\"left\",\"values\":[");
    for (size_t c = 0; c < t->columns; c++) {
        fputs(c ? ",[" : "[", w->out);
        for (size_t r = 0; r < t->rows; r++) fputs(r ? "," : "", w->out), kit_json_text(w->out, t->text[r * t->columns + c]);
        fputc(']', w->out);
    }
    put(w, "]}}");
}

/* ---- Layout ---- */

static void axis(writer *w, const plot_panel *p, size_t k, bool vertical, double from, double to)
{
    const plot_scale s = vertical ? plot_scale_y(p) : plot_scale_x(p);
    const char *const label = vertical ? p->y.label : p->x.label;
    const bool bare = p->map && plot_frame_of(p).l == 0;
    put(w, ",\n\"%s\":{\"anchor\":\"%s\",\"domain\":[%.5f,%.5f],\"range\":[", nth(vertical ? "yaxis" : "xaxis", k).word,
        nth(vertical ? "x" : "y", k).word, from, to);
    kit_json_number(w->out, s.low, 7), fputc(',', w->out), kit_json_number(w->out, s.high, 7), fputc(']', w->out);
    put(w, ",\"type\":\"%s\",\"fixedrange\":true", s.log ? "log" : "linear");
    if (bare) {
        put(w, ",\"visible\":false}");
        return;
    }
    put(w, ",\"zeroline\":false,\"ticks\":\"\",%s,\"linecolor\":\"" PLOT_RULE "\",\"automargin\":true,\"title\":{\"standoff\":6",
        p->map ? "\"showgrid\":false" : "\"gridcolor\":\"" PLOT_RULE "\"");
    text(w, "text", label), put(w, "},\"tickangle\":%d,\"tickvals\":[", s.slant ? -38 : 0);
    for (size_t i = 0; i < s.n; i++) fputs(i ? "," : "", w->out), kit_json_number(w->out, s.at[i], 7);
    put(w, "],\"ticktext\":[");
    for (size_t i = 0; i < s.n; i++) fputs(i ? "," : "", w->out), kit_json_text(w->out, plot_scale_label(&s, i));
    put(w, "]}");
}

static void scene(writer *w, const plot_panel *p, size_t k, double x0, double x1, double y0, double y1)
{
    put(w, ",\n\"%s\":{\"domain\":{\"x\":[%.5f,%.5f],\"y\":[%.5f,%.5f]}", nth("scene", k).word, x0, x1, y0, y1);
    for (int i = 0; i < 3; i++) {
        put(w, ",\"%caxis\":{\"range\":[", 'x' + i), kit_json_number(w->out, -p->cloud->reach, 6), fputc(',', w->out),
            kit_json_number(w->out, p->cloud->reach, 6);
        put(w, "],\"nticks\":5,\"gridcolor\":\"" PLOT_RULE "\",\"zerolinecolor\":\"" PLOT_SOFT "\",\"linecolor\":\"" PLOT_RULE
               "\",\"showbackground\":false,"
               "\"showspikes\":false,\"title\":{\"text\":");
        kit_json_text(w->out, p->cloud->axis[i] ? p->cloud->axis[i] : ""), put(w, "}}");
    }
    put(w, ",\"aspectmode\":\"cube\",\"dragmode\":\"orbit\",\"camera\":{\"eye\":{\"x\":1.64,\"y\":-1.58,\"z\":0.96},\"center\":{\"x\":0,"
           "\"y\":0,\"z\":-0.16}}}");
}

static void titles(writer *w, const plot_places *at, double h)
{
    put(w, ",\n\"annotations\":[");
    for (size_t k = 0; k < w->f->n; k++) {
        const plot_panel *const p = w->f->panel[k];
        put(w,
            "%s{\"showarrow\":false,\"xref\":\"paper\",\"yref\":\"paper\",\"xanchor\":\"left\",\"yanchor\":\"bottom\",\"x\":%.5f,\"y\":%."
            "5f,\"text\":",
            k ? "," : "", at->at[k].x / at->w, 1 - (at->at[k].y - 2) / h);
        kit_json_text(w->out, plot_say(w->f->t, "<b>%s</b> %s", p->title ? p->title : "", p->note ? p->note : "")), put(w, "}");
    }
    put(w, "]");
}

/* Controls for readers of the JSON alone; a page makes its own. */
static void controls(writer *w)
{
    const plot_figure *const f = w->f;
    put(w, ",\n\"sliders\":[{\"active\":%zu,\"currentvalue\":{\"prefix\":", f->frames - 1);
    kit_json_text(w->out, plot_say(f->t, "%s ", f->unit ? f->unit : "")), put(w, "},\"x\":0.2,\"len\":0.8,\"y\":0,\"pad\":{\"t\":36},\"steps\":[");
    for (size_t k = 0; k < f->frames; k++)
        put(w,
            "%s{\"method\":\"animate\",\"label\":\"%s\",\"args\":[[\"%s\"],{\"mode\":\"immediate\",\"transition\":{\"duration\":0},"
            "\"frame\":{\"duration\":0,\"redraw\":true}}]}",
            k ? "," : "", f->frame[k], f->frame[k]);
    put(w, "]}],\n\"updatemenus\":[{\"type\":\"buttons\",\"direction\":\"left\",\"showactive\":false,\"x\":0,\"y\":0,\"xanchor\":\"left\","
           "\"yanchor\":\"top\",\"pad\":{\"t\":48},"
           "\"buttons\":[{\"label\":\"Play\",\"method\":\"animate\",\"args\":[null,{\"mode\":\"immediate\",\"fromcurrent\":true,"
           "\"transition\":{\"duration\":0},"
           "\"frame\":{\"duration\":140,\"redraw\":true}}]},{\"label\":\"Pause\",\"method\":\"animate\",\"args\":[[null],{\"mode\":"
           "\"immediate\","
           "\"transition\":{\"duration\":0},\"frame\":{\"duration\":0,\"redraw\":false}}]}]}]");
}

static void layout(writer *w, const plot_places *at, double h, bool names)
{
    const plot_figure *const f = w->f;
    bool flat = false, bars = false;
    for (size_t k = 0; k < f->n; k++) flat |= !f->panel[k]->cloud, bars |= f->panel[k]->n && f->panel[k]->series[0]->mark == PLOT_BARS;
    put(w, "],\n\"layout\":{\"width\":%.0f,\"height\":%.0f,\"margin\":{\"l\":20,\"r\":20,\"t\":20,\"b\":%d}", at->w + 40,
        h + 40 + (f->frames ? 90 : 0), f->frames ? 110 : 20);
    put(w, ",\"title\":{\"x\":0,\"xref\":\"paper\",\"y\":1,\"yref\":\"paper\",\"yanchor\":\"top\""), text(w, "text", f->title);
    put(w,
        "},\"paper_bgcolor\":\"" PLOT_PAPER "\"%s,\"font\":{\"color\":\"" PLOT_SOFT
        "\",\"size\":12,\"family\":\"Helvetica Neue, Segoe UI, Roboto, Arial, Liberation Sans, sans-serif\"}",
        flat ? ",\"plot_bgcolor\":\"" PLOT_PAPER "\"" : "");
    if (names) put(w, ",\"legend\":{\"orientation\":\"h\",\"x\":0,\"y\":%.5f,\"yanchor\":\"top\"}", 1 - 30 / h);
    put(w, ",\"hovermode\":\"closest\",\"dragmode\":false,\"uirevision\":\"keep\"%s", bars ? ",\"barmode\":\"overlay\",\"bargap\":0" : "");
    put(w, ",\"hoverlabel\":{\"bgcolor\":\"" PLOT_PAPER "\",\"bordercolor\":\"" PLOT_RULE "\",\"font\":{\"color\":\"" PLOT_TEXT_INK "\"}}");
    for (size_t k = 0; k < f->n; k++) {
        const plot_panel *const p = f->panel[k];
        const plot_frame s = plot_frame_of(p);
        const double x0 = (at->at[k].x + s.l) / at->w, x1 = (at->at[k].x + s.w - s.r) / at->w;
        const double y0 = fmax(0, 1 - (at->at[k].y + s.h - s.b) / h), y1 = 1 - (at->at[k].y + s.t) / h;
        if (p->cloud) scene(w, p, k, x0, x1, y0, y1);
        else if (!p->table) axis(w, p, k, false, x0, x1), axis(w, p, k, true, y0, y1);
    }
    titles(w, at, h);
    if (f->frames) controls(w);
    put(w, "}");
}

/* ---- Frames ---- */

static void frame(writer *w, size_t at)
{
    const plot_figure *const f = w->f;
    size_t next = 0;
    put(w, "{\"name\":\"%s\",\"traces\":[", f->frame[at]);
    w->begun = false;
    for (size_t k = 0; k < f->n; k++) {
        const plot_panel *const p = f->panel[k];
        for (size_t i = 0; i < p->n; i++) series_traces(w, p->series[i], &next);
        if ((p->map && p->map->moves) || (p->cloud && p->cloud->moves)) put(w, "%s%zu", w->begun ? "," : "", next), w->begun = true;
        next += (p->map || p->cloud || p->table) + (p->cloud && p->cloud->circles > 0);
    }
    put(w, "],\"data\":[");
    w->begun = false;
    for (size_t k = 0; k < f->n; k++) {
        const plot_panel *const p = f->panel[k];
        for (size_t i = 0; i < p->n; i++) series_frame(w, p, p->series[i], at);
        if (p->map && p->map->moves) map_values(w, p, at), put(w, "}");
        if (p->cloud && p->cloud->moves) cloud_values(w, p->cloud, at), put(w, "}");
    }
    put(w, "]}");
}

void plot_figure_json(FILE *out, const plot_figure *f)
{
    const plot_series *known[64];
    if (!f || gr_failed(f->t)) return;
    writer w = { out, f, false };
    const size_t names = plot_key(f, known, 64);
    const plot_places at = plot_places_of(f, 64);
    put(&w, "{\"data\":[");
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
    layout(&w, &at, at.h, names > 0);
    put(&w, ",\n\"frames\":[");
    for (size_t k = 0; k < f->frames; k++) fputs(k ? ",\n" : "", out), frame(&w, k);
    put(&w, "]}\n");
}
