/* examples/deep_dive.c - the deep dive: what normalization does, in figures and numbers.
 *
 * The program trains small networks without a norm, with BatchNorm and with LayerNorm, measures their insides, and writes into a folder
 *     report.html         the page: one file that opens from disk; Plotly plays and turns its figures
 *     figures/NAME.json   each figure for Plotly
 *     figures/NAME.svg    each figure as a still drawing
 *     runs.jsonl          every number behind the figures, which are drawn from this file alone
 * Run:   examples/deep_dive                             all figures, two minutes; drawn digits if there is no MNIST
 *        examples/deep_dive --full --data data/mnist    five seeds, long runs: about two hours on two cores
 *        examples/deep_dive --only epsilon,claims       some figures; a figure that is in runs.jsonl is not measured again
 *        examples/deep_dive --list                      the names of the figures
 * The same seed gives the same figures, to the byte, for any number of threads; only times differ. Ctrl-C loses only the figure that is
 * being measured: the page has the figures before it, and the next run continues with it.
 * Exit:  0, or 1 --check missed its target; 2 wrong flag, path or file; 3 out of memory or disk full; 130 interrupted.
 */
#include "examples/dive/seeds.h"
#include "examples/kit/file.h"
#include "examples/kit/output.h"
#include "examples/dive/twelve.h"
#include "examples/kit/text.h"
#include "core/op.h"
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static kit_options o = { .seed = 42 };
static struct {
    const char *text, *out, *only, *plotly;
    uint64_t seeds;
    bool quick, full, list;
} own;

static const kit_flag flag[] = {
    KIT_FLAG_DIGITS(o),
    { "text", KIT_TEXT, &own.text, "FILE|DIR",
      "a text, or a folder with tinyshakespeare.txt; default: data/tinyshakespeare.txt if it exists, else made-up sentences", 0, 0 },
    { "out", KIT_TEXT, &own.out, "DIR", "the folder to write into; default: deep_dive, or with only --check a temporary one", 0, 0 },
    { "quick", KIT_SWITCH, &own.quick, NULL, "small runs with 3 seeds, minutes; this is the default", 0, 0 },
    { "full", KIT_SWITCH, &own.full, NULL,
      "long runs with 5 seeds, about two hours on two cores; without --data and --text, $GRADUS_DATA/mnist and $GRADUS_DATA/text serve",
      0, 0 },
    { "only", KIT_TEXT, &own.only, "NAME,..", "measure only these figures", 0, 0 },
    { "list", KIT_SWITCH, &own.list, NULL, "print each figure's name, its seconds with --quick and its content, and end", 0, 0 },
    { "seeds", KIT_COUNT, &own.seeds, "N", "repetitions, with the seeds from --seed on; 0 means the mode's number", 0, 100 },
    { "plotly", KIT_TEXT, &own.plotly, "FILE", "write this plotly.min.js into the page; default: the page loads it from its CDN", 0, 0 },
    KIT_FLAGS_RUN(o, "exit 1 unless all mathematical statements hold; uses tiny runs unless --quick or --full is given"),
};
static const kit_flags flags = { "deep_dive", "what normalization does, in figures and numbers", flag, sizeof flag / sizeof *flag };

/* ---- Which figures ---- */

static void print_list(void)
{
    for (size_t i = 0; i < dive_figures_n; i++)
        printf("%-16s %4.0f s  %s\n", dive_figures[i].name, dive_figures[i].seconds, dive_figures[i].what);
}

/* Whether name is in --only, or there is no --only. */
static bool wanted(const char *name)
{
    const size_t n = strlen(name);
    for (const char *p = own.only; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL)
        if (strncmp(p, name, n) == 0 && (p[n] == ',' || !p[n])) return true;
    return !own.only;
}

static bool only_is_known(gr_tape *t)
{
    if (gr_failed(t)) return false;
    for (const char *p = own.only; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL) {
        const size_t n = strcspn(p, ",");
        const char *all = "";
        bool known = false;
        for (size_t i = 0; i < dive_figures_n; i++) {
            known |= strlen(dive_figures[i].name) == n && strncmp(p, dive_figures[i].name, n) == 0;
            all = plot_say(t, "%s%s%s", all, i ? ", " : "", dive_figures[i].name);
        }
        if (!known) return gr_fail_as(t, GR_MISUSE, "", "--only: there is no figure \"%.*s\"; there are %s", (int)n, p, all);
    }
    return true;
}

/* ---- The folder ---- */

enum { PATH = 4096 };

/* Write the path of a file in the folder into path, and return it. */
static const char *in_out(char path[PATH], const char *format, ...) __attribute__((format(GR_PRINTF, 2, 3)));
static const char *in_out(char path[PATH], const char *format, ...)
{
    va_list list;
    const int n = snprintf(path, PATH, "%s/", own.out);
    va_start(list, format);
    if (n >= 0 && n < PATH) vsnprintf(path + n, (size_t)(PATH - n), format, list);
    va_end(list);
    return path;
}

/* Call f with the path of each file that this program makes. */
static void each_file(void (*f)(gr_tape *t, const char *path), gr_tape *t)
{
    char path[PATH];
    for (size_t i = 0; i < dive_figures_n; i++) {
        f(t, in_out(path, "figures/%s.json", dive_figures[i].name));
        f(t, in_out(path, "figures/%s.svg", dive_figures[i].name));
    }
    f(t, in_out(path, "runs.jsonl")), f(t, in_out(path, "report.html"));
}
static void try_file(gr_tape *t, const char *path) { kit_can_write(t, "out", path); }
static void remove_file(gr_tape *t, const char *path) { (void)t, unlink(path); }

/* Make the folder path and its parent folders. */
static bool make_folder(gr_tape *t, const char *path)
{
    char part[PATH];
    struct stat st;
    if (gr_failed(t)) return false;
    int error = snprintf(part, sizeof part, "%s", path) < (int)sizeof part ? 0 : ENAMETOOLONG;
    for (char *p = part + 1; !error && p[-1]; p++)
        if (*p == '/' || !*p) {
            const char end = *p;
            *p = 0;
            const int failed = mkdir(part, 0777) ? errno : 0; /* saved because stat sets errno too */
            if (failed && (stat(part, &st) != 0 || !S_ISDIR(st.st_mode))) error = failed == EEXIST ? ENOTDIR : failed;
            *p = end;
        }
    return !error || gr_fail_as(t, GR_IO_FAILED, "", "--out %s: cannot make this folder: %s", path, strerror(error));
}

/* Make the folder, and check that all files can be written there. Returns whether the folder is temporary. */
static bool open_folder(gr_tape *t)
{
    static char passing[PATH];
    char path[PATH];
    const char *const place = getenv("TMPDIR");
    if (gr_failed(t)) return false;
    const bool passes = o.check && !own.out && !own.quick && !own.full;
    if (passes) {
        snprintf(passing, sizeof passing, "%s/gradus-deep_dive-XXXXXX", place ? place : "/tmp");
        if (!mkdtemp(passing)) return gr_fail_as(t, GR_IO_FAILED, "", "%s: cannot make this folder: %s", passing, strerror(errno));
        own.out = passing;
    }
    if (!own.out) own.out = "deep_dive";
    if (strlen(own.out) > PATH - 64) return gr_fail_as(t, GR_IO_FAILED, "", "--out: a path of %zu characters is too long", strlen(own.out));
    make_folder(t, own.out), make_folder(t, in_out(path, "figures"));
    each_file(try_file, t);
    return passes;
}

static void remove_folder(void)
{
    char path[PATH];
    each_file(remove_file, NULL);
    rmdir(in_out(path, "figures")), rmdir(own.out);
}

/* ---- The settings that the numbers depend on ---- */

static const char *const mode_name[] = { "tiny", "quick", "full" };

static uint64_t hash_of(const kit_data *d)
{
    const kit_idx *const part[] = { &d->train.images, &d->train.labels, &d->test.images, &d->test.labels };
    uint64_t hash = KIT_HASH;
    for (size_t i = 0; i < 4; i++) hash = kit_hash(hash, part[i]->data, part[i]->n * part[i]->item);
    return hash;
}

/* Make a text of the bytes, to find out whether they are usable, and return its description. */
static const char *text_name(gr_tape *t, const char *path, const kit_bytes *bytes)
{
    kit_text text = kit_text_of(t, path, bytes, 1, 64);
    const char *name = "";
    if (!gr_failed(t)) {
        const uint64_t hash = kit_hash(kit_hash(KIT_HASH, text.id, text.n * sizeof *text.id), text.letter, text.letters);
        name = plot_say(t, "%s, %zu characters, hash %016llx", path ? "text" : "made-up sentences", text.n, (unsigned long long)hash);
    }
    kit_text_free(&text);
    return name;
}

static const char *data_name(gr_tape *t, const kit_data *data)
{
    const char *const what = !data->dir ? "drawn digits" : data->train.images.n == 60000 ? "MNIST" : "images in the format of MNIST";
    return plot_say(t, "%s, %zu training and %zu test images, hash %016llx", what, data->train.images.n, data->test.images.n,
                    (unsigned long long)hash_of(data));
}

static const char *settings_of(const dive *d, const char *data, const char *text)
{
    return plot_say(d->r->tape, "%s; seed %llu, %zu in all; %s; %s; gradus %s, %s, matrix products: %s", mode_name[d->mode],
                    (unsigned long long)o.seed, d->seeds, data, text, GR_VERSION_TEXT,
                    sizeof(gr_real) == sizeof(float) ? "float" : "double", KIT_BLAS);
}

/* What a run reads without --data or --text: `here`, if it exists; with --full also `there` in $GRADUS_DATA. NULL means neither. */
static const char *usual(gr_tape *t, const char *here, const char *there)
{
    const char *const place = own.full ? getenv("GRADUS_DATA") : NULL;
    if (access(here, R_OK) == 0) return here;
    const char *const path = place ? plot_say(t, "%s/%s", place, there) : "";
    return access(path, R_OK) == 0 ? path : NULL;
}

static void open_data(dive *d, const char **data, const char **text)
{
    gr_tape *const t = d->r->tape;
    const bool none = o.data && strcmp(o.data, "none") == 0;
    d->mode = own.full ? DIVE_FULL : own.quick || !o.check ? DIVE_QUICK : DIVE_TINY;
    d->seeds = own.seeds ? own.seeds : dive_pick(d, 1, DIVE_SEEDS, 5);
    d->plotly = own.plotly ? plot_plotly_read(t, own.plotly) : NULL;
    d->data = gr_failed(t) ? (kit_data){ 0 } : kit_data_open(t, o.data ? o.data : usual(t, "data/mnist", "mnist"));
    d->text = own.text ? own.text : none ? NULL : usual(t, "data/tinyshakespeare.txt", "text/tinyshakespeare.txt");
    d->preprocessing = !d->data.dir                      ? "Drawn digits, 28 x 28, pixels 0 to 1"
                       : d->data.train.images.n == 60000 ? "MNIST, 28 x 28, pixels 0 to 1"
                                                         : "Digits in the format of MNIST, 28 x 28, pixels 0 to 1";
    d->read = d->text && !gr_failed(t) ? kit_text_read(t, d->text) : (kit_bytes){ 0 };
    *text = gr_failed(t) ? "" : text_name(t, d->text, &d->read);
    *data = gr_failed(t) ? "" : data_name(t, &d->data);
    d->settings = settings_of(d, *data, *text);
}

/* ---- Measuring ---- */

static void measure(dive *d, const dive_figure *f)
{
    gr_tape *const t = d->r->tape;
    const double began = kit_seconds();
    d->figure = f->name;
    plot_runs_drop(&d->runs, f->name);
    dive_tick(d, 0, "begins");
    f->measure(d);
    if (!o.quiet && isatty(STDERR_FILENO)) fputs("\r\033[K", stderr);
    if (gr_failed(t) || kit_interrupted()) return;
    const double seconds = kit_seconds() - began;
    plot_runs_end(&d->runs, f->name, d->settings, seconds);
    kit_log_write(t, &d->r->log, "figure", { "name", .text = f->name }, { "seconds", seconds });
    if (!o.quiet) printf("%-16s %7.1f s\n", f->name, seconds), fflush(stdout);
}

static void measure_all(dive *d)
{
    bool todo[64] = { false };
    d->progress.began = kit_seconds();
    for (size_t i = 0; i < dive_figures_n; i++) {
        todo[i] = wanted(dive_figures[i].name) && !dive_is_done(d, &dive_figures[i]);
        if (todo[i]) d->progress.total += dive_figures[i].seconds;
        else if (!o.quiet && wanted(dive_figures[i].name)) printf("%-16s  measured before\n", dive_figures[i].name);
    }
    for (size_t i = 0; i < dive_figures_n && !gr_failed(d->r->tape) && !kit_interrupted(); i++) {
        if (!todo[i]) continue;
        d->progress.weight = dive_figures[i].seconds;
        measure(d, &dive_figures[i]);
        d->progress.before += dive_figures[i].seconds;
    }
}

/* ---- The page ---- */

static void write_figure(gr_tape *t, const plot_figure *f)
{
    static void (*const writer[])(FILE * out, const plot_figure *f) = { plot_figure_json, plot_figure_svg };
    static const char *const ending[] = { "json", "svg" };
    char path[PATH];
    for (size_t k = 0; k < 2; k++) {
        kit_file file = kit_file_begin(t, in_out(path, "figures/%s.%s", f->name, ending[k]));
        if (file.out) writer[k](file.out, f);
        kit_file_end(t, &file);
    }
}

static void write_page(dive *d, plot_figure *const *figure, size_t n, const char *skipped, const char *const text[3])
{
    gr_tape *const t = d->r->tape;
    char cpu[128], path[PATH];
    const char *times = "";
    double sum = 0;
    for (const plot_done *p = d->runs.done; p; p = p->next)
        if (strcmp(p->settings, d->settings) == 0)
            times = plot_say(t, "%s%s%s %.1f", times, *times ? ", " : "", p->figure, p->seconds), sum += p->seconds;
    const char *const fact[][2] = {
        { "Command", text[0] },
        { "Images", text[1] },
        { "Text", text[2] },
        { "Seeds", plot_say(t, d->seeds > 1 ? "%zu, beginning with %llu" : "%zu: %llu", d->seeds, (unsigned long long)o.seed) },
        { "Program", plot_say(t, "gradus %s, %s, matrix products: %s", GR_VERSION_TEXT,
                              sizeof(gr_real) == sizeof(float) ? "float" : "double", KIT_BLAS) },
        { "Machine", plot_say(t, "%s, %s, %s", kit_cpu(cpu, sizeof cpu), gr_tape_isa(t),
                              dive_count(t, (size_t)gr_tape_threads(t), "thread", "threads")) },
        { "Seconds", plot_say(t, "%.1f in all: %s", sum, times) },
        { "Numbers", "runs.jsonl, beside this page, has every number behind the figures; the folder figures has each figure for Plotly and "
                     "as a drawing" },
    };
    const plot_page page = {
        .title = "What normalization does",
        .lead = plot_say(
            t,
            "Which claims about normalization hold? Small networks without a norm, with BatchNorm and with LayerNorm train on the same "
            "batches from the same initial weights, and this page shows what happens inside them. It is for people who train networks or "
            "teach how to. %s The command at the end of the page measured every number. Each claim has a verdict. PASS: it holds here. "
            "FAIL: it "
            "does not. DIFFERS: only a part of it holds, or less than it states, or the seeds do not decide. EQUAL: the two networks that "
            "it "
            "compares differ by less than the evaluation can show. TOO SHORT: these runs cannot tell. In all figures none, BN and LN are "
            "no "
            "norm, BatchNorm and LayerNorm, and have the same colours.",
            d->mode == DIVE_FULL    ? "These are the long runs."
            : d->mode == DIVE_QUICK ? "These are short runs of small networks; --full makes long ones."
                                    : "These are the tiny runs of a self-test, in which only the mathematical statements mean anything."),
        .plotly = d->plotly,
        .fact = fact,
        .facts = sizeof fact / sizeof *fact,
        .skipped = skipped,
        .section = &dive_twelve,
    };
    plot_page_write(t, in_out(path, "report.html"), &page, figure, n);
}

/* Draw all complete figures, and write the page. */
static void draw_all(dive *d, const char *const text[3])
{
    gr_tape *const t = d->r->tape;
    plot_figure *figure[64];
    const char *skipped = NULL;
    size_t n = 0;
    for (size_t i = 0; i < dive_figures_n && !gr_failed(t); i++) {
        const dive_figure *const f = &dive_figures[i];
        if (dive_is_done(d, f)) {
            figure[n] = plot_figure_new(t, f->name, f->what);
            if (figure[n]) f->draw(d, figure[n]);
            if (figure[n] && f->draw == dive_claims_draw) dive_link_claims(d, figure[n]);
            if (!gr_failed(t)) write_figure(t, figure[n++]);
        } else skipped = plot_say(t, "%s%s%s", skipped ? skipped : "Not measured with these settings: ", skipped ? ", " : "", f->name);
    }
    if (n) write_page(d, figure, n, skipped, text);
}

static void check(dive *d)
{
    dive_claims c = { .f = plot_figure_new(d->r->tape, "check", "") };
    dive_collect(d, &c);
    for (size_t i = 0; i < c.n; i++)
        if (c.claim[i]->exact)
            kit_run_need(d->r, c.claim[i]->verdict == DIVE_PASS, "%s: %s; %s", c.claim[i]->statement, c.claim[i]->measured,
                         c.claim[i]->why);
}

int main(int argc, char **argv)
{
    kit_run r;
    dive d = { .r = &r };
    char path[PATH];
    const char *text[3] = { "", "", "" };
    int code = kit_run_start(&r, &flags, &o, argc, argv);
    if (code != KIT_GO_ON) return code;
    if (own.list) return print_list(), kit_run_end(&r);
    gr_tape *const t = r.tape;
    if (own.quick && own.full) gr_fail_as(t, GR_MISUSE, "", "--quick and --full exclude each other");
    if (only_is_known(t)) open_data(&d, &text[1], &text[2]);
    const bool passing = open_folder(t);
    if (!gr_failed(t)) d.runs = plot_runs_open(t, plot_say(t, "%s", in_out(path, "runs.jsonl")));
    text[0] = plot_command(t, flags.name, argc, argv);
    if (kit_run_begin(&r, plot_say(t, "%s: %s\n%s", mode_name[d.mode], text[1], text[2]))) {
        measure_all(&d);
        draw_all(&d, text);
        if (o.check && !kit_interrupted()) check(&d);
        if (!o.quiet && !gr_failed(t) && !passing) printf("%s/report.html\n", own.out);
    }
    kit_data_free(t, &d.data), kit_bytes_free(t, &d.read);
    code = kit_run_end(&r);
    if (passing) remove_folder();
    return code;
}
