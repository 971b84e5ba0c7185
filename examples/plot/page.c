/* examples/plot/page.c - the page: one HTML file with style and script, and with every figure as a drawing and as Plotly's JSON. */
#include "examples/plot/page.h"
#include "core/op.h"
#include "examples/plot/draw.h"
#include "examples/kit/file.h"
#include "examples/kit/json.h"
#include "examples/kit/output.h"
#include <math.h>
#include <string.h>

/* The plotly.js of plotly 7.1.0 on PyPI, and its SHA-256. tests/report/check_report.py compares them with the package. */
#define PLOTLY "https://cdn.plot.ly/plotly-4.1.1.min.js"
#define PLOTLY_SHA "sha256-O24V1F27f8pb0glCkelh3cVHLNiHAJ5gCaVtq2aNch8="

enum { LARGEST = 1 << 28 }; /* a plotly.min.js has 5 MB */
enum { SCROLLS = 20, LONG_CAPTION = 300 }; /* a table of more rows scrolls; a caption of more characters is folded */

static void lines(FILE *out, plot_lines line)
{
    for (; *line; line++) fputs(*line, out);
}

/* Write <tag>text</tag>, or nothing if text is NULL. */
static void element(FILE *out, const char *tag, const char *class, const char *text)
{
    if (!text) return;
    fprintf(out, class ? "<%s class=\"%s\">" : "<%s>", tag, class), kit_markup(out, text), fprintf(out, "</%s>\n", tag);
}

/* ---- The key ---- */

static void key(FILE *out, const plot_figure *f, size_t part)
{
    const plot_series *entry[64];
    const size_t from = f->part[part].from, to = plot_part_end(f, part), n = plot_key(f, from, to, entry, 64);
    if (n) fputs("<ul class=\"key\">", out);
    for (size_t i = 0; i < n; i++) {
        const bool bar = entry[i]->mark == PLOT_BARS, dot = entry[i]->mark == PLOT_DOTS;
        const char *const ink = plot_looks[entry[i]->ink].css;
        fputs("<li><svg class=\"line\" viewBox=\"0 0 30 8\" aria-hidden=\"true\">", out);
        if (dot) fprintf(out, "<circle class=\"dot %s\" cx=\"15\" cy=\"4\" r=\"3.4\"/></svg>", ink);
        else fprintf(out, "<path class=\"%s %s\" d=\"%s\"/></svg>", bar ? "bar" : "curve", ink, bar ? "M4 -2h22v12h-22z" : "M0 4H30");
        kit_markup(out, entry[i]->name), fputs("</li>", out);
    }
    if (n) fputs("</ul>\n", out);
    for (size_t k = from; k < to; k++) {
        const plot_map *const m = f->panel[k]->map;
        const plot_cloud *const c = f->panel[k]->cloud;
        if (!plot_key_is_new(f, from, k)) continue;
        fputs("<ul class=\"key\"><li>", out), kit_markup(out, m ? m->means : c->means), fputs("</li>", out);
        if (m) {
            fprintf(out, "<li>%s%.3g <svg class=\"ramp\" viewBox=\"0 0 9 1\" preserveAspectRatio=\"none\" aria-hidden=\"true\">",
                    m->low < 0 ? "\xe2\x88\x92" : "", fabs(m->low));
            for (int i = 0; i < PLOT_LEVELS; i++)
                fprintf(out, "<path class=\"%c%d\" d=\"M%d 0h1v1h-1z\"/>", m->diverging ? 'q' : 's', i, i);
            fprintf(out, "</svg> %.3g</li>", m->high);
        }
        for (size_t g = 0; c && g < c->groups && g < PLOT_GROUPS; g++)
            fprintf(out,
                    "<li><svg class=\"spot\" viewBox=\"0 0 10 10\" aria-hidden=\"true\"><circle class=\"k%zu\" cx=\"5\" cy=\"5\" "
                    "r=\"5\"/></svg>%zu</li>",
                    g, g);
        fputs("</ul>\n", out);
    }
}

/* ---- Tables, and links between their rows and the figures ---- */

typedef struct {
    plot_figure *const *figure;
    size_t n;
} figures;

/* The number of the figure with this name; 0 if the page has none. */
static size_t number_of(const figures *all, const char *name)
{
    for (size_t i = 0; name && i < all->n; i++)
        if (!strcmp(all->figure[i]->name, name)) return i + 1;
    return 0;
}
static const char *link_of(const plot_table *t, size_t r) { return t->link ? t->link[r] : NULL; }

static void cell(FILE *out, const figures *all, const plot_table *t, size_t r, size_t c)
{
    const char *const text = t->text[r * t->columns + c];
    if (c == 0) {
        const size_t number = number_of(all, link_of(t, r));
        fputs("<th scope=\"row\">", out), kit_markup(out, text);
        if (number) fprintf(out, " <a href=\"#%s\">Figure %zu</a>", link_of(t, r), number);
        fputs("</th>", out);
        return;
    }
    const plot_verdict *const verdict = plot_verdict_of(t, r, c);
    if (verdict) fprintf(out, "<td class=\"v %s\">%s %s</td>", verdict->css, verdict->sign, verdict->word);
    else {
        fputs("<td", out);
        if (*text) fputs(" data-l=\"", out), kit_markup(out, t->head[c]), fputs("\"", out);
        fputs(">", out), kit_markup(out, text), fputs("</td>", out);
    }
}

static void table(FILE *out, const figures *all, const plot_panel *p)
{
    const plot_table *const t = p->table;
    fputs("<table>\n", out), element(out, "caption", NULL, p->note), fputs("<thead><tr>", out);
    for (size_t c = 0; c < t->columns; c++) fputs("<th scope=\"col\">", out), kit_markup(out, t->head[c]), fputs("</th>", out);
    fputs("</tr></thead>\n<tbody>\n", out);
    for (size_t r = 0; r < t->rows; r++) {
        fputs("<tr", out);
        if (link_of(t, r)) fprintf(out, " data-figure=\"%s\"", link_of(t, r));
        fputs(">", out);
        for (size_t c = 0; c < t->columns; c++) cell(out, all, t, r, c);
        fputs("</tr>\n", out);
    }
    fputs("</tbody></table>\n", out);
}

/* The link back from the figure f to the rows of a table that are about it, with the number of each verdict. */
static void rows_about(FILE *out, const plot_figure *in, const plot_table *t, const plot_figure *f)
{
    const plot_verdict *seen[8];
    size_t count[8] = { 0 }, rows = 0, n = 0;
    for (size_t r = 0; r < t->rows; r++) {
        if (!link_of(t, r) || strcmp(link_of(t, r), f->name)) continue;
        const plot_verdict *const v = t->verdict < 0 ? NULL : plot_verdict_of(t, r, (size_t)t->verdict);
        size_t i = 0;
        while (i < n && seen[i] != v) i++;
        if (v && i == n && n < 8) seen[n++] = v;
        if (v && i < n) count[i]++;
        rows++;
    }
    if (!rows) return;
    fprintf(out, "<p class=\"back\"><a href=\"#%s\" data-figure=\"%s\">%zu %s about this figure</a>", in->name, f->name, rows,
            rows == 1 ? "statement" : "statements");
    for (size_t i = 0; i < n; i++)
        fprintf(out, "%s %zu <span class=\"%s\">%s</span>", i ? "," : ":", count[i], seen[i]->css, seen[i]->word);
    fputs("</p>\n", out);
}

static void back(FILE *out, const figures *all, const plot_figure *f)
{
    for (size_t i = 0; i < all->n; i++)
        for (size_t k = 0; k < all->figure[i]->n; k++)
            if (all->figure[i]->panel[k]->table) rows_about(out, all->figure[i], all->figure[i]->panel[k]->table, f);
}

/* ---- Panels ----
 * Everything that can be folded is open in the page, and table.js closes it. So nothing is hidden without scripts, nor in print. */

static size_t pictures(const plot_figure *f)
{
    size_t n = 0;
    for (size_t k = 0; k < f->n; k++) n += !f->panel[k]->table;
    return n;
}

/* A table scrolls if it is long, and is folded if there are several pictures beside it. */
static void table_panel(FILE *out, const figures *all, const plot_panel *p)
{
    const bool folds = pictures(p->figure) > 1, scrolls = p->table->rows > SCROLLS;
    if (folds) fputs("<details class=\"fold\" open><summary>", out), element(out, "h3", NULL, p->title), fputs("</summary>\n", out);
    else element(out, "h3", NULL, p->title);
    if (scrolls) fputs("<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"", out), kit_markup(out, p->title), fputs("\">\n", out);
    table(out, all, p);
    if (scrolls) fputs("</div>\n", out);
    if (folds) fputs("</details>\n", out);
}

static void panel(FILE *out, const figures *all, const plot_figure *f, size_t k)
{
    const plot_panel *const p = f->panel[k];
    fprintf(out, "<div class=\"panel%s\">", p->table ? " wide" : p->cloud ? " cloud" : plot_frame_of(p).l > 0 ? " axes" : "");
    if (!p->table && (p->title || p->note)) {
        fputs("<h3>", out), kit_markup(out, p->title);
        if (p->note) fputs(" <small>", out), kit_markup(out, p->note), fputs("</small>", out);
        fputs("</h3>", out);
    }
    if (p->table) table_panel(out, all, p);
    else {
        const plot_frame s = plot_frame_of(p);
        fprintf(out, "<div class=\"box\" style=\"aspect-ratio:%.0f/%.0f\">", s.w, s.h), plot_panel_svg(out, p);
        fprintf(out, "<div class=\"plot\" id=\"plot-%s-%zu\" data-panel=\"%zu\"></div></div>", f->name, k + 1, k + 1);
    }
    fputs("</div>\n", out);
}

/* The panels of a part, below its heading and key. */
static void part(FILE *out, const figures *all, const plot_figure *f, size_t i)
{
    const plot_part *const p = &f->part[i];
    const size_t to = plot_part_end(f, i);
    fputs(p->folded ? "<details class=\"fold part\" open><summary>" : f->abreast ? "<div>\n" : "", out);
    element(out, "h3", p->folded ? NULL : "part", p->title), element(out, p->folded ? "span" : "p", "about", p->about);
    if (p->folded) fputs("</summary>\n", out);
    fputs("<div class=\"controls\">", out), key(out, f, i);
    fprintf(out, "</div>\n<div class=\"grid c%zu%s\" style=\"--columns:%zu\">\n", plot_columns(f), pictures(f) == 1 && f->n > 1 ? " beside" : "",
            f->abreast ? 1 : plot_columns(f));
    const bool apart = pictures(f) > 1; /* then tables stand below the pictures, which a phone shows in a row */
    for (size_t k = p->from; k < to; k++)
        if (!apart || !f->panel[k]->table) panel(out, all, f, k);
    fputs("</div>\n", out);
    for (size_t k = p->from; k < to; k++)
        if (apart && f->panel[k]->table) panel(out, all, f, k);
    fputs(p->folded ? "</details>\n" : f->abreast ? "</div>\n" : "", out);
}

static void caption(FILE *out, const figures *all, size_t number)
{
    const plot_figure *const f = all->figure[number - 1];
    const char *const says = f->says[PLOT_SAY_CAPTION], *const settings = f->says[PLOT_SAY_SETTINGS];
    const bool folds = plot_characters(says) + plot_characters(settings) > LONG_CAPTION;
    if (folds) fprintf(out, "<figcaption><details class=\"fold\" open><summary><b>Figure %zu.</b> How to read it%s</summary><p>", number,
                       settings ? ", and the settings" : "");
    else fprintf(out, "<figcaption><p><b>Figure %zu.</b> ", number);
    kit_markup(out, says), fputs("</p>", out);
    if (settings) fputs("<p><b>Settings.</b> ", out), kit_markup(out, settings), fputs("</p>", out);
    if (folds) fputs("</details>\n", out);
    back(out, all, f);
    fputs("</figcaption>", out);
}

static void figure(FILE *out, const figures *all, size_t number)
{
    const plot_figure *const f = all->figure[number - 1];
    fprintf(out, "<figure class=\"fig\" id=\"%s\"", f->name);
    if (pictures(f))
        fprintf(out, " data-json=\"json-%s\" data-unit=\"", f->name), kit_markup(out, f->unit ? f->unit : ""), fputs("\"", out);
    fputs(">\n", out), element(out, "h2", NULL, f->title), element(out, "p", "ask", f->says[PLOT_SAY_QUESTION]);
    element(out, "p", "said", f->says[PLOT_SAY_NUMBER]);
    if (f->abreast) fprintf(out, "<div class=\"abreast\" style=\"--columns:%zu\">\n", f->parts);
    for (size_t i = 0; i < f->parts; i++) part(out, all, f, i);
    if (f->abreast) fputs("</div>\n", out);
    caption(out, all, number), fputs("</figure>\n", out);
}

/* ---- Plotly ---- */

const char *plot_plotly_read(gr_tape *t, const char *path)
{
    kit_bytes b = kit_file_read(t, path, LARGEST);
    char *const text = b.data ? gr_save(t, b.n + 1) : NULL;
    if (text && (b.n < 17 || !memmem(b.data, b.n < 512 ? b.n : 512, "plotly.js v", 11)))
        gr_fail_as(t, GR_BAD_FILE, "", "%s: is not a plotly.min.js", path);
    else if (text && strlen(b.data) != b.n) gr_fail_as(t, GR_BAD_FILE, "", "%s: holds a byte 0 and cannot be put into a page", path);
    else if (text && strcasestr(b.data, "</script"))
        gr_fail_as(t, GR_BAD_FILE, "", "%s: holds \"</script\" and cannot be put into a page", path);
    if (text && !gr_failed(t)) memcpy(text, b.data, b.n + 1);
    kit_bytes_free(t, &b);
    return gr_failed(t) ? NULL : text;
}

/* ---- The page ---- */

static void begin(FILE *out, const plot_page *page)
{
    fprintf(out,
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\" "
            "content=\"default-src 'none'; "
            "script-src 'unsafe-inline'%s; style-src 'unsafe-inline'; img-src data: blob:\">\n<meta name=\"viewport\" "
            "content=\"width=device-width, initial-scale=1\">\n",
            page->plotly ? "" : " https://cdn.plot.ly");
    element(out, "title", NULL, page->title);
    fputs("<link rel=\"icon\" href=\"data:,\">\n<style>\n", out), lines(out, plot_figure_css), lines(out, plot_page_css);
    if (page->section) lines(out, page->section->css);
    fputs("</style>\n</head>\n", out);
    fputs(page->plotly ? "<body>\n<main>\n" : "<body data-plotly=\"" PLOTLY "\" data-sri=\"" PLOTLY_SHA "\">\n<main>\n", out);
    element(out, "h1", NULL, page->title), element(out, "p", "lead", page->lead);
    fputs("<p class=\"notice\" id=\"notice\" hidden>The figures do not move, because Plotly could not be loaded. The end of the page says "
          "where to get it.</p>\n"
          "<noscript><p class=\"notice\">The figures do not move, because scripts are off.</p></noscript>\n",
          out);
}

static void entry(FILE *out, const char *id, const char *title, const char *about)
{
    fprintf(out, "<li><a href=\"#%s\">", id), kit_markup(out, title), fputs("</a>", out);
    if (about) fputs(" <span>", out), kit_markup(out, about), fputs("</span>", out);
    fputs("</li>\n", out);
}

static void contents(FILE *out, const plot_section *section, plot_figure *const *f, size_t n)
{
    fputs("<nav aria-label=\"Figures\"><ol class=\"contents\">\n", out);
    if (section) entry(out, section->id, section->title, section->about);
    for (size_t i = 0; i < n; i++) entry(out, f[i]->name, f[i]->title, f[i]->says[PLOT_SAY_NUMBER]);
    fputs("</ol></nav>\n", out);
}

static void facts(FILE *out, const plot_page *page)
{
    element(out, "p", "notice", page->skipped);
    fputs("<section><h2>How to make this page again</h2>\n<dl>\n", out);
    for (size_t i = 0; i < page->facts; i++)
        fputs("<dt>", out), kit_markup(out, page->fact[i][0]), fputs("</dt><dd>", out), kit_markup(out, page->fact[i][1]),
            fputs("</dd>\n", out);
    fputs("<dt>Plotly</dt><dd>", out);
    if (page->plotly) fputs("part of this page, which needs no network", out);
    else fputs("loaded from <code>" PLOTLY "</code>; the browser checks its SHA-256.", out);
    if (!page->plotly && !page->has_no_flag)
        fputs(" To make a page that needs no network, pass this file, or <code>package_data/plotly.min.js</code> of PyPI's "
              "<code>plotly</code> package, to <code>--plotly FILE</code>.",
              out);
    fputs("</dd>\n</dl></section>\n</main>\n", out);
}

const char *plot_command(gr_tape *t, const char *name, int argc, char **argv)
{
    const char *all = name;
    for (int i = 1; i < argc; i++) all = plot_say(t, "%s %s", all, argv[i]);
    return all;
}

bool plot_page_write(gr_tape *t, const char *path, const plot_page *page, plot_figure *const *f, size_t n)
{
    const figures all = { f, n };
    kit_file file = kit_file_begin(t, path);
    if (!file.out) return false;
    begin(file.out, page), contents(file.out, page->section, f, n);
    if (page->section) lines(file.out, page->section->html);
    for (size_t i = 0; i < n; i++) figure(file.out, &all, i + 1);
    facts(file.out, page);
    for (size_t i = 0; i < n; i++) {
        if (!pictures(f[i])) continue;
        fprintf(file.out, "<script type=\"application/json\" id=\"json-%s\">", f[i]->name);
        plot_figure_json(file.out, f[i]), fputs("</script>\n", file.out);
    }
    fputs("<script>\n", file.out), lines(file.out, plot_table_js), fputs("</script>\n", file.out); /* first, because it folds */
    if (page->plotly) fputs("<script>", file.out), fputs(page->plotly, file.out), fputs("</script>\n", file.out);
    for (const plot_lines *js = page->section ? page->section->js : NULL; js && *js; js++)
        fputs("<script>\n", file.out), lines(file.out, *js), fputs("</script>\n", file.out);
    fputs("<script>\n", file.out), lines(file.out, plot_page_js), fputs("</script>\n</body>\n</html>\n", file.out);
    return kit_file_end(t, &file);
}
