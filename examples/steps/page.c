/* examples/steps/page.c - the page of a walk. Without scripts all steps stand one below the other; with scripts a slider chooses one.
 *
 * A value stands in the column after the last of its inputs, and a number in the column before its first use. Columns are ordered by the mean height of
 * the inputs. Edges lead from a value to the nodes that use it. */
#include "examples/steps/page.h"
#include "examples/kit/json.h"
#include <string.h>

static const char style[] =
    ":root { color-scheme: light dark; --paper:#fff; --panel:#f7f7f5; --ink:#1c1d20; --soft:#5b5e66; --rule:#c9c9c4;\n"
    "  --link:#0b5394; --good:#1a7f37; --bad:#b3261e }\n"
    "@media screen and (prefers-color-scheme: dark) { :root { --paper:#15171a; --panel:#1d2024; --ink:#e8e8e4; --soft:#a6a9b0;\n"
    "  --rule:#4a4f57; --link:#8ab8f0; --good:#5bc878; --bad:#ff8a80 } }\n"
    "* { box-sizing: border-box } body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.5 \"Helvetica Neue\", Arial, "
    "sans-serif }\n"
    "main { max-width: 1360px; margin: 0 auto; padding: 24px 20px 64px } h1 { font-size: 1.8rem; margin: 0 0 .3em } h2 { margin: 1.6em 0 "
    ".2em }\n"
    "h3 { font-size: 1rem; margin: .4em 0 } p { max-width: 76ch; margin: 0 0 .8em } code, pre { font: 13px/1.45 ui-monospace, Menlo, "
    "Consolas, monospace }\n"
    "code { overflow-wrap: anywhere } pre { overflow-x: auto; margin: 0; padding: 12px; background: var(--panel); border-radius: 8px }\n"
    ".bar { display: none; align-items: center; gap: 10px; margin: 12px 0; position: sticky; top: 0; padding: 8px 0; background: "
    "var(--paper) }\n"
    ".bar input { flex: 1 1 90px; min-width: 60px; max-width: 560px; height: 24px; accent-color: var(--link) }\n"
    ".bar output { font-variant-numeric: tabular-nums }\n"
    "button { font: inherit; color: var(--ink); background: var(--panel); border: 1px solid var(--rule); border-radius: 6px;\n"
    "  padding: 4px 12px; cursor: pointer }\n"
    ":focus-visible { outline: 2px solid var(--link); outline-offset: 2px } .drawing { overflow-x: auto; margin: 8px 0;\n"
    "  background: linear-gradient(90deg, var(--paper) 40%, transparent) 0 0 / 40px 100% no-repeat local,\n"
    "    linear-gradient(270deg, var(--paper) 40%, transparent) 100% 0 / 40px 100% no-repeat local,\n"
    "    linear-gradient(90deg, var(--rule), transparent) 0 0 / 12px 100% no-repeat,\n"
    "    linear-gradient(270deg, var(--rule), transparent) 100% 0 / 12px 100% no-repeat }\n"
    "@media (max-width: 700px) { pre { white-space: pre-wrap; font-size: 11px } }\n"
    ".js .bar { display: flex } .js .step { display: none } .js .step.now { display: block }\n"
    "svg { display: block } svg text { fill: var(--ink); font: 13px \"Helvetica Neue\", Arial, sans-serif; text-anchor: middle }\n"
    "svg .soft { fill: var(--soft) }\n"
    "rect { fill: var(--panel); stroke: var(--rule); stroke-width: 1.2 } .done rect { stroke: var(--good); stroke-width: 2 }\n"
    ".active rect { stroke: var(--link); stroke-width: 3 } .wrong rect { stroke: var(--bad); stroke-width: 2.5 } svg .wrong .grad { fill: "
    "var(--bad) }\n"
    ".edge { fill: none; stroke: var(--rule); stroke-width: 1.4 } .edge.hot { stroke: var(--link); stroke-width: 2.6 }\n"
    "svg .add { fill: var(--link); font-weight: 600; paint-order: stroke; stroke: var(--paper); stroke-width: 4px }\n";

static const char script[] =
    "'use strict';\ndocument.documentElement.classList.add('js');\n"
    "for (const graph of document.querySelectorAll('section')) {\n"
    "  const steps = graph.querySelectorAll('.step'), range = graph.querySelector('input'), said = graph.querySelector('output');\n"
    "  const [back, next] = graph.querySelectorAll('button');\n"
    "  const show = () => {\n"
    "    steps.forEach((s, i) => s.classList.toggle('now', i + 1 === +range.value));\n"
    "    const drawing = graph.querySelector('.now .drawing'), box = graph.querySelector('.now .active')?.getBBox();\n"
    "    if (box) drawing.scrollLeft = box.x + box.width / 2 - drawing.clientWidth / 2;\n"
    "    said.textContent = `step ${range.value} of ${steps.length}`;\n"
    "    range.setAttribute('aria-valuetext', said.textContent + ', ' + steps[range.value - 1].querySelector('h3').textContent);\n"
    "    back.disabled = +range.value === 1, next.disabled = +range.value === steps.length;\n"
    "  };\n"
    "  range.oninput = show;\n"
    "  back.onclick = () => { range.value = +range.value - 1; show(); };\n"
    "  next.onclick = () => { range.value = +range.value + 1; show(); };\n"
    "  show();\n}\n";

void steps_page_begin(FILE *out)
{
    fprintf(out,
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\" "
            "content=\"default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:\">\n<meta "
            "name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
            "<title>Backward, step by step</title>\n<link rel=\"icon\" href=\"data:,\">\n<style>\n%s</style>\n</head>\n<body>\n<main>\n"
            "<h1>Backward, step by step</h1>\n<p>Each box is a number: what it is, its value, and its gradient. A result without a name has "
            "the number of its node: #5 is the result of node 5. Forward goes from left to right, backward from right to left. The blue box "
            "is the node that is visited, and the blue edges are what it adds to the gradients of its inputs. A green box, with *, has its "
            "whole gradient; a red one has a wrong gradient.</p>\n",
            style);
}

void steps_page_graph(FILE *out, const char *name, const char *text, int steps)
{
    fputs("<section>\n<h2>", out), kit_markup(out, name), fputs("</h2>\n<p><code>", out), kit_markup(out, text);
    fputs("</code></p>\n<div class=\"bar\"><button type=\"button\">Back</button><input type=\"range\" aria-label=\"step of ", out),
        kit_markup(out, name);
    fprintf(out, "\" min=\"1\" max=\"%d\" value=\"1\"><button type=\"button\">Next</button><output aria-live=\"polite\"></output></div>\n",
            steps);
}
void steps_page_step_end(FILE *out) { fputs("</pre></div>\n", out); }
void steps_page_graph_end(FILE *out) { fputs("</section>\n", out); }
void steps_page_end(FILE *out) { fprintf(out, "</main>\n<script>\n%s</script>\n</body>\n</html>\n", script); }

/* ---- The drawing ---- */

enum { HIGH = 62, GAP_X = 84, GAP_Y = 18, EDGE = 10, LANE = 9 };

typedef struct {
    int column[STEPS_VALUES], columns, rows, wide, lanes, lane[STEPS_VALUES];
    double y[STEPS_VALUES];
} layout;

static bool drawn(const steps_value *v) { return v->op || v->wants; }
static int left(const layout *l, int i) { return EDGE + l->column[i] * (l->wide + GAP_X); }

static void choose_columns(const steps_graph *g, layout *l)
{
    for (int i = 0; i < g->n; i++)
        for (int k = 0; k < 2 && g->v[i].op; k++)
            if (g->v[i].in[k] >= 0 && l->column[g->v[i].in[k]] >= l->column[i]) l->column[i] = l->column[g->v[i].in[k]] + 1;
    for (int i = 0; i < g->n; i++) {
        int first = -1;
        for (int u = g->n - 1; u > i && !g->v[i].op; u--)
            if (g->v[u].op && (g->v[u].in[0] == i || g->v[u].in[1] == i) && (first < 0 || l->column[u] <= first)) first = l->column[u] - 1;
        if (first > 0) l->column[i] = first;
        if (l->column[i] >= l->columns) l->columns = l->column[i] + 1;
    }
}

/* Give each value that is used beyond the next column a lane below the boxes. */
static void choose_lanes(const steps_graph *g, layout *l)
{
    for (int i = 0; i < g->n; i++)
        for (int u = 0; u < g->n && drawn(&g->v[i]) && !l->lane[i]; u++)
            if (steps_uses(g, u, i) && l->column[u] > l->column[i] + 1) l->lane[i] = ++l->lanes;
}

/* The height at which a value would like to stand: the mean of its inputs. Numbers stand below, in the order of the text. */
static double wish(const steps_graph *g, const layout *l, int i)
{
    double sum = 0;
    int n = 0;
    for (int k = 0; k < 2 && g->v[i].op; k++)
        if (g->v[i].in[k] >= 0 && drawn(&g->v[g->v[i].in[k]])) sum += l->y[g->v[i].in[k]], n++;
    return n ? sum / n : 1e6 + i;
}

static layout place(const steps_graph *g)
{
    layout l = { .wide = 116 };
    int count[STEPS_VALUES + 1] = { 0 };
    choose_columns(g, &l), choose_lanes(g, &l);
    for (int i = 0; i < g->n; i++) {
        char text[80];
        const int letters = (int)strlen(g->v[i].name) + (g->v[i].op ? 3 + (int)strlen(steps_operation(g, &g->v[i], text, sizeof text)) : 0);
        if (drawn(&g->v[i]))
            l.rows = ++count[l.column[i]] > l.rows ? count[l.column[i]] : l.rows,
            l.wide = letters * 8 + 20 > l.wide ? letters * 8 + 20 : l.wide;
    }
    for (int c = 0; c < l.columns; c++) {
        int order[STEPS_VALUES], n = 0;
        for (int i = 0; i < g->n; i++) {
            int at = n;
            if (l.column[i] != c || !drawn(&g->v[i])) continue;
            for (; at > 0 && wish(g, &l, order[at - 1]) > wish(g, &l, i); at--) order[at] = order[at - 1];
            order[at] = i, n++;
        }
        for (int k = 0; k < n; k++) l.y[order[k]] = EDGE + ((k + 0.5) * l.rows / n - 0.5) * (HIGH + GAP_Y);
    }
    return l;
}

/* The height from which the edge of an input arrives at node i. */
static double arrives(const layout *l, int from, int i)
{
    return l->column[i] > l->column[from] + 1 ? EDGE + l->rows * (HIGH + GAP_Y) + (l->lane[from] - 1) * LANE : l->y[from];
}

/* Draw the edges that end at node i. That of the lower input ends below the other one, so that they do not cross at the node. */
static void draw_edges(FILE *out, const steps_graph *g, const layout *l, const steps_mark *mark, int i, bool active)
{
    for (int k = 0; k < 2; k++) {
        const int from = g->v[i].in[k];
        if (from < 0 || !drawn(&g->v[from])) continue;
        const int other = g->v[i].in[!k];
        const bool hot = active && g->v[from].wants, alone = g->v[i].in[1] < 0;
        const double low = arrives(l, from, i), beside = other >= 0 && drawn(&g->v[other]) ? arrives(l, other, i) : low;
        const bool below = low > beside || (low == beside && k);
        const double x0 = left(l, from) + l->wide, y0 = l->y[from] + HIGH / 2.0, x1 = left(l, i),
                     y1 = l->y[i] + HIGH * (alone   ? 0.5
                                            : below ? 0.7
                                                    : 0.3);
        const double half = GAP_X / 2.0;
        fprintf(out, "<path class=\"edge%s\" d=\"M%.0f %.1fC%.0f %.1f ", hot ? " hot" : "", x0, y0, x0 + half, y0);
        if (l->column[i] > l->column[from] + 1)
            fprintf(out, "%.0f %.1f %.0f %.1fH%.0fC%.0f %.1f ", x0 + half / 2, low, x0 + half, low, x1 - half, x1 - half / 2, low);
        fprintf(out, "%.0f %.1f %.0f %.1f\"/>\n", x1 - half, y1, x1, y1);
        if (hot)
            fprintf(out, "<text class=\"add\" x=\"%.0f\" y=\"%.1f\">+= %.3g</text>\n", x1 - half, y1 + (below || alone ? 18 : -8),
                    mark[i].added[k]);
    }
}

static void draw_value(FILE *out, const steps_graph *g, const layout *l, const steps_mark *m, int i, bool active)
{
    const steps_value *const v = &g->v[i];
    const double x = left(l, i) + l->wide / 2.0, y = l->y[i];
    char text[80];
    fprintf(out, "<g class=\"%s\"><rect x=\"%d\" y=\"%.1f\" width=\"%d\" height=\"%d\" rx=\"7\"/>",
            active        ? "active"
            : m->wrong    ? "wrong"
            : m->complete ? "done"
                          : "",
            left(l, i), y, l->wide, HIGH);
    fprintf(out, "<text class=\"soft\" x=\"%.0f\" y=\"%.1f\">", x, y + 17), kit_markup(out, v->name);
    if (v->op) fputs(" = ", out), kit_markup(out, steps_operation(g, v, text, sizeof text));
    fprintf(out, "</text><text x=\"%.0f\" y=\"%.1f\">%.5g</text>", x, y + 35, v->value);
    if (m->shown)
        fprintf(out, "<text class=\"grad\" x=\"%.0f\" y=\"%.1f\">grad %.5g%s</text>", x, y + 53, m->grad,
                m->wrong      ? ", wrong"
                : m->complete ? " *"
                              : "");
    fputs("</g>\n", out);
}

void steps_page_step(FILE *out, const steps_graph *g, const steps_mark *mark, int active, const char *heading)
{
    const layout l = place(g);
    const int w = 2 * EDGE + l.columns * (l.wide + GAP_X) - GAP_X,
              h = 2 * EDGE + l.rows * (HIGH + GAP_Y) - GAP_Y + (l.lanes ? GAP_Y + l.lanes * LANE : 0);
    fputs("<div class=\"step\"><h3>", out), kit_markup(out, heading);
    fprintf(out, "</h3>\n<div class=\"drawing\" tabindex=\"0\" role=\"group\" aria-label=\"the graph\">");
    fprintf(out, "<svg width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"", w, h, w, h);
    kit_markup(out, heading), fputs("\">\n", out);
    for (int pass = 0; pass < 2; pass++) /* the edges of the active node over the others */
        for (int i = 0; i < g->n; i++)
            if (g->v[i].op && (i == active) == pass) draw_edges(out, g, &l, mark, i, i == active);
    for (int i = 0; i < g->n; i++)
        if (drawn(&g->v[i])) draw_value(out, g, &l, &mark[i], i, i == active);
    fputs("</svg></div>\n<pre>", out);
}
