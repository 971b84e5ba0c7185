/* examples/plot/svg.c - SVG drawings of clouds, tables, panels and whole figures. */
#include "examples/plot/svg.h"
#include "core/op.h"
#include "examples/kit/json.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- A cloud, seen from a fixed direction; near points cover far ones ---- */

static const double right[3] = { 0.6946, 0.7194, 0 }, up[3] = { -0.2802, 0.2705, 0.9211 }, eye[3] = { 0.6626, -0.6398, 0.3895 };
typedef struct {
    double depth, x, y;
    size_t i;
} point;

static double along(const double axis[3], const double v[3]) { return axis[0] * v[0] + axis[1] * v[1] + axis[2] * v[2]; }

static int by_depth(const void *a, const void *b)
{
    const point *const p = a, *const q = b;
    return p->depth != q->depth ? p->depth < q->depth ? -1 : 1 : p->i < q->i ? -1 : 1;
}

/* Axes and circles are drawn below the points, words above them. */
static void cloud_axes(FILE *out, const plot_cloud *c, double w, double h, double k, bool words)
{
    for (int i = 0; i < 3; i++) {
        double v[3] = { 0, 0, 0 };
        v[i] = c->reach;
        const double x = k * along(right, v), y = k * along(up, v);
        if (!words) {
            fprintf(out, "<path class=\"g\" d=\"M%.1f %.1fL%.1f %.1f\"/>", w / 2 - x, h / 2 + y, w / 2 + x, h / 2 - y);
            continue;
        }
        const double half = 4 + 3.5 * (double)plot_characters(c->axis[i]); /* the word's width */
        fprintf(out, "<text class=\"mid over\" x=\"%.1f\" y=\"%.1f\">", fmax(half, fmin(w - half, w / 2 + x * 1.1)),
                h / 2 - y * 1.1 + (i == 2 ? -4 : 10));
        kit_markup(out, c->axis[i]), fputs("</text>", out);
    }
}

static void cloud_circles(FILE *out, const plot_cloud *c, double w, double h, double k)
{
    for (int without = 0; without < 3; without++) {
        fputs("<path class=\"ghost ring\" d=\"M", out);
        for (int i = 0; i <= 36; i++) {
            double v[3] = { 0, 0, 0 };
            v[(without + 1) % 3] = c->circles * cos(i * 0.17453292519943295),
                              v[(without + 2) % 3] = c->circles * sin(i * 0.17453292519943295);
            fprintf(out, "%s%.1f %.1f", i ? "L" : "", w / 2 + k * along(right, v), h / 2 - k * along(up, v));
        }
        fputs("\"/>", out);
    }
}

void plot_svg_cloud(FILE *out, const plot_panel *p)
{
    const plot_cloud *const c = p->cloud;
    const plot_frame f = plot_frame_of(p);
    const double k = fmin(f.w, f.h) * 0.42 / c->reach;
    const size_t frame = plot_last_frame(p->figure);
    const double *const at[3] = { plot_frame_row(c->x, c->moves, frame, c->n), plot_frame_row(c->y, c->moves, frame, c->n),
                                  plot_frame_row(c->z, c->moves, frame, c->n) };
    point *const points = gr_save(p->figure->t, (c->n + 1) * sizeof *points);
    size_t n = 0;
    for (size_t i = 0; points && i < c->n; i++) {
        const double v[3] = { at[0][i], at[1][i], at[2][i] };
        const point q = { along(eye, v), f.w / 2 + k * along(right, v), f.h / 2 - k * along(up, v), i };
        if (isfinite(q.depth) && fabs(q.x) < 1e6 && fabs(q.y) < 1e6) points[n++] = q;
    }
    if (!points) return;
    qsort(points, n, sizeof *points, by_depth);
    cloud_axes(out, c, f.w, f.h, k, false);
    if (c->circles > 0) cloud_circles(out, c, f.w, f.h, k);
    for (size_t i = 0; i < n; i++)
        fprintf(out, "<circle class=\"k%d\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"/>", c->group ? abs(c->group[points[i].i] % PLOT_GROUPS) : 0,
                points[i].x, points[i].y, fmax(2, fmin(4.4, 3.2 + points[i].depth / c->reach * 0.7)));
    cloud_axes(out, c, f.w, f.h, k, true);
}

/* ---- Lines of text ---- */

/* Write the first n bytes of text, a line: at most 187 characters, which is the widest drawing. */
static void put_line(FILE *out, const char *text, size_t n)
{
    char line[1024];
    snprintf(line, sizeof line, "%.*s", (int)n, text);
    kit_markup(out, line);
}

static void table(FILE *out, const plot_panel *p)
{
    const plot_table *const t = p->table;
    const double w = plot_panel_width(p);
    size_t characters[PLOT_COLUMNS];
    double y = 0;
    plot_table_columns(t, w, characters);
    for (size_t r = 0; r <= t->rows; r++) {
        double x = 0;
        for (size_t c = 0; c < t->columns; c++) {
            const char *text = r ? t->text[(r - 1) * t->columns + c] : t->head[c];
            const plot_verdict *const verdict = r ? plot_verdict_of(t, r - 1, c) : NULL;
            for (size_t line = 1; *text; line++) {
                while (*text == ' ') text++;
                const size_t n = plot_line(text, characters[c] - 2);
                fprintf(out, "<text class=\"cell %s\" x=\"%.1f\" y=\"%.1f\">", r ? verdict ? verdict->css : "" : "strong", x,
                        y + (double)line * PLOT_LINE_HEIGHT);
                if (verdict) fprintf(out, "%s ", verdict->sign);
                put_line(out, text, n), fputs("</text>", out);
                text += n;
            }
            x += (double)characters[c] * 6.6;
        }
        y += (double)plot_table_lines(t, r, characters) * PLOT_LINE_HEIGHT + 7;
        fprintf(out, "<path class=\"g\" d=\"M0 %.1fH%.0f\"/>", y - 1, w);
    }
}

/* ---- A panel, a figure ---- */

void plot_svg_body(FILE *out, const plot_panel *p)
{
    size_t k = 0;
    while (p->figure->panel[k] != p) k++;
    const plot_prefix part = plot_prefix_of(p->figure, k);
    fputs("<title>", out), kit_markup(out, part.part), fputs(part.colon, out);
    kit_markup(out, p->title ? p->title : p->figure->title), fputs("</title><desc>", out);
    plot_panel_describe(out, p), fputs("</desc>", out);
    if (p->table) table(out, p);
    else if (p->cloud) plot_svg_cloud(out, p);
    else plot_svg_chart(out, p);
}

void plot_panel_svg(FILE *out, const plot_panel *p)
{
    if (!p) return;
    const plot_frame f = plot_frame_of(p);
    fprintf(out, "<svg viewBox=\"0 0 %.0f %.0f\" role=\"img\">", f.w, f.h), plot_svg_body(out, p), fputs("</svg>", out);
}

/* Draw text below y in lines of at most `most` characters. Returns the y of the last line. */
static double lines(FILE *out, const char *class, const char *text, size_t most, double y, double height)
{
    while (text && *text) {
        while (*text == ' ') text++;
        const size_t n = plot_line(text, most);
        fprintf(out, "<text class=\"%s\" x=\"0\" y=\"%.1f\">", class, y += height), put_line(out, text, n), fputs("</text>\n", out);
        text += n;
    }
    return y;
}

/* Draw the key of a part below y, w wide. Returns the y of its end. */
static double key(FILE *out, const plot_figure *f, size_t part, double y, double w)
{
    const plot_series *entry[64];
    const size_t from = f->part[part].from, to = plot_part_end(f, part), n = plot_key(f, from, to, entry, 64);
    double x = 0;
    for (size_t i = 0; i < n; i++) {
        const double wide = 52 + 7 * (double)plot_characters(entry[i]->name);
        if (x > 0 && x + wide > w) x = 0, y += 20;
        const char *const ink = plot_looks[entry[i]->ink].css;
        if (entry[i]->mark == PLOT_DOTS) fprintf(out, "<circle class=\"dot %s\" cx=\"%.0f\" cy=\"%.1f\" r=\"3.4\"/>", ink, x + 15, y + 14);
        else fprintf(out, "<path class=\"curve %s\" d=\"M%.0f %.1fh30\"/>", ink, x, y + 14);
        fprintf(out, "<text x=\"%.0f\" y=\"%.1f\">", x + 37, y + 18.5), kit_markup(out, entry[i]->name), fputs("</text>", out);
        x += wide;
    }
    for (size_t k = from; k < to; k++) {
        const plot_map *const m = f->panel[k]->map;
        const plot_cloud *const c = f->panel[k]->cloud;
        if (!plot_key_is_new(f, from, k)) continue;
        const char *const means = m ? m->means : c->means;
        const double wide = 40 + 7 * (double)plot_characters(means) + (m ? 220 : 26 * (double)c->groups);
        if (x > 0 && x + wide > w) x = 0, y += 20;
        fprintf(out, "<text x=\"%.0f\" y=\"%.1f\">", x, y + 18.5), kit_markup(out, means);
        double at = x + 10 + 7 * (double)plot_characters(means);
        if (m) {
            fprintf(out, "</text><text class=\"end\" x=\"%.0f\" y=\"%.1f\">%.3g</text>", at + 34, y + 18.5, m->low);
            for (int i = 0; i < PLOT_LEVELS; i++)
                fprintf(out, "<path class=\"%c%d\" d=\"M%.0f %.1fh12v10h-12z\"/>", m->diverging ? 'q' : 's', i, at + 40 + 12 * i, y + 9);
            fprintf(out, "<text x=\"%.0f\" y=\"%.1f\">%.3g</text>", at + 154, y + 18.5, m->high);
        } else {
            fputs("</text>", out);
            for (size_t g = 0; g < c->groups && g < PLOT_GROUPS; g++, at += 26)
                fprintf(out, "<circle class=\"k%zu\" cx=\"%.0f\" cy=\"%.1f\" r=\"5\"/><text x=\"%.0f\" y=\"%.1f\">%zu</text>", g, at,
                        y + 14, at + 8, y + 18.5, g);
        }
        x += wide;
    }
    return x > 0 ? y + 28 : y;
}

/* Draw a heading whose last line is at y. */
static void head(FILE *out, const plot_panel *p, double x, double y, bool note_below)
{
    fprintf(out, "<text class=\"head\" x=\"%.1f\" y=\"%.1f\">", x, note_below ? y - PLOT_LINE_HEIGHT : y), kit_markup(out, p->title);
    if (p->note && note_below) fprintf(out, "<tspan class=\"note\" x=\"%.1f\" dy=\"%d\">", x, PLOT_LINE_HEIGHT);
    else if (p->note) fputs(" <tspan class=\"note\">", out);
    if (p->note) kit_markup(out, p->note), fputs("</tspan>", out);
    fputs("</text>\n", out);
}

/* Draw a part below y: its heading, key and panels. Returns the y of its end. */
static double part(FILE *out, const plot_figure *f, size_t i, double y)
{
    const size_t from = f->part[i].from, to = plot_part_end(f, i), most = (size_t)(plot_figure_width(f) / 6.6);
    if (f->part[i].title) y = lines(out, "part", f->part[i].title, most, i ? y + 18 : y + 8, 22);
    y = lines(out, "soft", f->part[i].about, most, y, 18);
    const plot_places places = plot_places_of(f, from, to, key(out, f, i, y + 6, plot_figure_width(f)));
    for (size_t k = from; k < to; k++) {
        const plot_frame p = plot_frame_of(f->panel[k]);
        head(out, f->panel[k], places.at[k].x, places.at[k].y - 8, places.notes_below);
        fprintf(out, "<svg x=\"%.1f\" y=\"%.1f\" width=\"%.0f\" height=\"%.0f\">", places.at[k].x, places.at[k].y, p.w, p.h);
        plot_svg_body(out, f->panel[k]);
        fputs("</svg>\n", out);
    }
    return places.h;
}

/* The height is known only at the end, so everything is written twice, first to /dev/null. */
static double whole(FILE *out, const plot_figure *f)
{
    const size_t most = (size_t)(plot_figure_width(f) / 6.6);
    double y = lines(out, "title", f->title, most * 2 / 3, 0, 25);
    y = lines(out, "said", f->says[PLOT_SAY_NUMBER], most, y + 3, 18);
    for (size_t i = 0; i < f->parts; i++) y = part(out, f, i, y);
    y = lines(out, "soft", f->says[PLOT_SAY_CAPTION], most, y + 12, 18);
    return lines(out, "soft", f->says[PLOT_SAY_SETTINGS], most, y + 8, 18);
}

void plot_figure_svg(FILE *out, const plot_figure *f)
{
    if (!f || gr_failed(f->t)) return;
    FILE *const nowhere = fopen("/dev/null", "we");
    if (!nowhere) {
        gr_fail_as(f->t, GR_IO_FAILED, "", "/dev/null: cannot be opened: %s", strerror(errno));
        return;
    }
    const double h = whole(nowhere, f), w = plot_figure_width(f);
    fclose(nowhere);
    fprintf(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"-16 -4 %.0f %.0f\" role=\"img\">\n<title>", w + 32, h + 22),
        kit_markup(out, f->title);
    fputs("</title><desc>", out), kit_markup(out, f->says[PLOT_SAY_CAPTION]), fputs("</desc>\n<style>\n", out);
    for (const char *const *line = plot_figure_css; *line; line++) fputs(*line, out);
    fprintf(out, "</style>\n<path class=\"paper\" d=\"M-16 -4h%.0fv%.0fh-%.0fz\"/>\n", w + 32, h + 22, w + 32);
    whole(out, f);
    fputs("</svg>\n", out);
}
