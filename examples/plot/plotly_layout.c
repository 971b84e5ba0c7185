/* examples/plot/plotly_layout.c - the layout of a figure in Plotly's JSON: axes and scenes in a grid, titles, controls. */
#include "examples/plot/plotly.h"
#include "examples/kit/json.h"
#include <math.h>

static void ticks(plot_writer *w, const plot_scale *s)
{
    plot_json_put(w, ",\"tickvals\":[");
    for (size_t i = 0; i < s->n; i++) fputs(i ? "," : "", w->out), kit_json_number(w->out, s->at[i], 7);
    plot_json_put(w, "],\"ticktext\":[");
    for (size_t i = 0; i < s->n; i++) fputs(i ? "," : "", w->out), kit_json_text(w->out, plot_scale_label(s, i));
    plot_json_put(w, "]");
}

static void axis(plot_writer *w, const plot_panel *p, size_t k, bool vertical, double from, double to)
{
    const plot_scale s = vertical ? plot_scale_y(p) : plot_scale_x(p);
    const char *const label = vertical ? p->y.label : p->x.label;
    const bool bare = p->map && plot_frame_of(p).l == 0;
    plot_json_put(w, ",\n\"%s\":{\"anchor\":\"%s\",\"domain\":[%.5f,%.5f],\"range\":[", plot_nth(vertical ? "yaxis" : "xaxis", k).word,
        plot_nth(vertical ? "x" : "y", k).word, from, to);
    kit_json_number(w->out, s.low, 7), fputc(',', w->out), kit_json_number(w->out, s.high, 7), fputc(']', w->out);
    plot_json_put(w, ",\"type\":\"%s\",\"fixedrange\":true", s.log ? "log" : "linear");
    if (bare) {
        plot_json_put(w, ",\"visible\":false}");
        return;
    }
    plot_json_put(w, ",\"zeroline\":false,\"ticks\":\"\",%s,\"linecolor\":\"" PLOT_RULE "\",\"automargin\":true,\"title\":{\"standoff\":6",
        p->map ? "\"showgrid\":false" : "\"gridcolor\":\"" PLOT_RULE "\"");
    plot_json_text(w, "text", label), plot_json_put(w, "},\"tickangle\":%d", s.slant ? -38 : 0), ticks(w, &s), plot_json_put(w, "}");
}

/* The axes x2, which a page puts in the place of the axes x. */
static void second_axes(plot_writer *w)
{
    bool some = false;
    for (size_t k = 0; k < w->f->n; k++) {
        const plot_panel *const p = w->f->panel[k];
        if (!p->x2.label) continue;
        const plot_scale s = plot_scale_x2(p);
        plot_json_put(w, some ? "," : ",\n\"meta\":{"), plot_json_put(w, "\"%s\":{\"type\":\"%s\"", plot_nth("xaxis", k).word, s.log ? "log" : "linear");
        plot_json_text(w, "title", p->x2.label), plot_json_put(w, ",\"range\":["), kit_json_number(w->out, s.low, 7), fputc(',', w->out);
        kit_json_number(w->out, s.high, 7), plot_json_put(w, "]"), ticks(w, &s), plot_json_put(w, "}");
        some = true;
    }
    if (some) plot_json_put(w, "}");
}

static void scene(plot_writer *w, const plot_panel *p, size_t k, double x0, double x1, double y0, double y1)
{
    plot_json_put(w, ",\n\"%s\":{\"domain\":{\"x\":[%.5f,%.5f],\"y\":[%.5f,%.5f]}", plot_nth("scene", k).word, x0, x1, y0, y1);
    for (int i = 0; i < 3; i++) {
        plot_json_put(w, ",\"%caxis\":{\"range\":[", 'x' + i), kit_json_number(w->out, -p->cloud->reach, 6), fputc(',', w->out),
            kit_json_number(w->out, p->cloud->reach, 6);
        plot_json_put(w, "],\"nticks\":5,\"gridcolor\":\"" PLOT_RULE "\",\"zerolinecolor\":\"" PLOT_SOFT "\",\"linecolor\":\"" PLOT_RULE
               "\",\"showbackground\":false,"
               "\"showspikes\":false,\"title\":{\"text\":");
        kit_json_text(w->out, p->cloud->axis[i] ? p->cloud->axis[i] : ""), plot_json_put(w, "}}");
    }
    plot_json_put(w, ",\"aspectmode\":\"cube\",\"dragmode\":\"orbit\",\"camera\":{\"eye\":{\"x\":1.64,\"y\":-1.58,\"z\":0.96},\"center\":{\"x\":0,"
           "\"y\":0,\"z\":-0.16}}}");
}

static void titles(plot_writer *w, const plot_places *at, double h)
{
    plot_json_put(w, ",\n\"annotations\":[");
    for (size_t k = 0; k < w->f->n; k++) {
        const plot_panel *const p = w->f->panel[k];
        const plot_prefix part = plot_prefix_of(w->f, k);
        plot_json_put(w,
            "%s{\"showarrow\":false,\"xref\":\"paper\",\"yref\":\"paper\",\"xanchor\":\"left\",\"yanchor\":\"bottom\",\"x\":%.5f,\"y\":%."
            "5f,\"text\":",
            k ? "," : "", at->at[k].x / at->w, 1 - (at->at[k].y - 2) / h);
        kit_json_text(w->out, plot_say(w->f->t, "<b>%s%s%s</b>%s%s", part.part, part.colon, p->title ? p->title : "",
                                       at->notes_below ? "<br>" : " ", p->note ? p->note : ""));
        plot_json_put(w, "}");
    }
    plot_json_put(w, "]");
}

/* Controls for readers of the JSON alone; a page makes its own. */
static void controls(plot_writer *w)
{
    const plot_figure *const f = w->f;
    plot_json_put(w, ",\n\"sliders\":[{\"active\":%zu,\"currentvalue\":{\"prefix\":", f->frames - 1);
    kit_json_text(w->out, plot_say(f->t, "%s ", f->unit ? f->unit : "")), plot_json_put(w, "},\"x\":0.2,\"len\":0.8,\"y\":0,\"pad\":{\"t\":36},\"steps\":[");
    for (size_t k = 0; k < f->frames; k++)
        plot_json_put(w,
            "%s{\"method\":\"animate\",\"label\":\"%s\",\"args\":[[\"%s\"],{\"mode\":\"immediate\",\"transition\":{\"duration\":0},"
            "\"frame\":{\"duration\":0,\"redraw\":true}}]}",
            k ? "," : "", f->frame[k], f->frame[k]);
    plot_json_put(w, "]}],\n\"updatemenus\":[{\"type\":\"buttons\",\"direction\":\"left\",\"showactive\":false,\"x\":0,\"y\":0,\"xanchor\":\"left\","
           "\"yanchor\":\"top\",\"pad\":{\"t\":48},"
           "\"buttons\":[{\"label\":\"Play\",\"method\":\"animate\",\"args\":[null,{\"mode\":\"immediate\",\"fromcurrent\":true,"
           "\"transition\":{\"duration\":0},"
           "\"frame\":{\"duration\":140,\"redraw\":true}}]},{\"label\":\"Pause\",\"method\":\"animate\",\"args\":[[null],{\"mode\":"
           "\"immediate\","
           "\"transition\":{\"duration\":0},\"frame\":{\"duration\":0,\"redraw\":false}}]}]}]");
}

void plot_json_layout(plot_writer *w, const plot_places *at, double h, bool names)
{
    const plot_figure *const f = w->f;
    bool flat = false, bars = false;
    for (size_t k = 0; k < f->n; k++) flat |= !f->panel[k]->cloud, bars |= f->panel[k]->n && f->panel[k]->series[0]->mark == PLOT_BARS;
    plot_json_put(w, "],\n\"layout\":{\"width\":%.0f,\"height\":%.0f,\"margin\":{\"l\":20,\"r\":20,\"t\":20,\"b\":%d}", at->w + 40,
        h + 40 + (f->frames ? 90 : 0), f->frames ? 110 : 20);
    plot_json_put(w, ",\"title\":{\"x\":0,\"xref\":\"paper\",\"y\":1,\"yref\":\"paper\",\"yanchor\":\"top\""), plot_json_text(w, "text", f->title);
    plot_json_put(w,
        "},\"paper_bgcolor\":\"" PLOT_PAPER "\"%s,\"font\":{\"color\":\"" PLOT_SOFT
        "\",\"size\":12,\"family\":\"Helvetica Neue, Segoe UI, Roboto, Arial, Liberation Sans, sans-serif\"}",
        flat ? ",\"plot_bgcolor\":\"" PLOT_PAPER "\"" : "");
    if (names) plot_json_put(w, ",\"legend\":{\"orientation\":\"h\",\"x\":0,\"y\":%.5f,\"yanchor\":\"top\"}", 1 - 30 / h);
    plot_json_put(w, ",\"hovermode\":\"closest\",\"dragmode\":false,\"uirevision\":\"keep\"%s", bars ? ",\"barmode\":\"overlay\",\"bargap\":0" : "");
    plot_json_put(w, ",\"hoverlabel\":{\"bgcolor\":\"" PLOT_PAPER "\",\"bordercolor\":\"" PLOT_RULE "\",\"font\":{\"color\":\"" PLOT_TEXT_INK "\"}}");
    for (size_t k = 0; k < f->n; k++) {
        const plot_panel *const p = f->panel[k];
        const plot_frame s = plot_frame_of(p);
        const double x0 = (at->at[k].x + s.l) / at->w, x1 = (at->at[k].x + s.w - s.r) / at->w;
        const double y0 = fmax(0, 1 - (at->at[k].y + s.h - s.b) / h), y1 = 1 - (at->at[k].y + s.t) / h;
        if (p->cloud) scene(w, p, k, x0, x1, y0, y1);
        else if (!p->table) axis(w, p, k, false, x0, x1), axis(w, p, k, true, y0, y1);
    }
    titles(w, at, h), second_axes(w);
    if (f->frames) controls(w);
    plot_json_put(w, "}");
}
