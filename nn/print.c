/* nn/print.c - a module tree as text, to a FILE of the caller's. */
#include "core/locale.h"
#include "nn/inspect.h"
#include "nn/internal.h"
#include <string.h>

static void print_shape_of(FILE *out, const gr_tensor *x)
{
    char text[GR__SHAPE_ROOM];
    fputs(gr__shape_write(text, x->rank, x->dim), out);
}

static void print_slot(FILE *out, const gr_slot *s)
{
    fprintf(out, "  %s", s->name);
    if (s->tensor) fputc(' ', out), print_shape_of(out, s->tensor);
    if (s->tied) fprintf(out, " (tied to %s)", s->tied->path);
    else if (s->kind == GR_COUNTER) fputs(" (counter)", out);
    else if (s->kind == GR_BUFFER) fputs(" (buffer)", out);
    else if (s->kind == GR_KEPT) fputs(" (kept)", out);
    else if (s->frozen) fputs(" (frozen)", out);
}

void gr__widen(int *width, const char *text)
{
    const size_t length = strlen(text);
    if (length < 60 && (int)length > *width) *width = (int)length;
}

static size_t slot_bytes(const gr_module *m, const gr_slot *s)
{
    if (s->kind == GR_COUNTER) return sizeof s->count;
    return s->kind != GR_KEPT && gr__slot_stands(m, s) ? s->tensor->len * sizeof(gr_real) : 0;
}

static const char *name_in_summary(const gr_module *root, const gr_module *m) { return m == root ? "(root)" : m->path; }

void gr_print_summary(const gr_module *m, FILE *out)
{
    if (!out) return;
    if (!m) {
        fputs("NULL\n", out);
        return;
    }
    struct {
        int name, kind;
    } c = { 6, 6 };
    for (const gr_module *at = m; at; at = gr_module_next(m, at)) gr__widen(&c.name, name_in_summary(m, at)), gr__widen(&c.kind, at->kind);
    fprintf(out, "%-*s  %-*s  %10s  %13s  %10s  tensors\n", c.name, "module", c.kind, "kind", "parameters", "multiply-adds", "bytes");
    size_t work = 0, all_bytes = 0;
    for (const gr_module *at = m; at; at = gr_module_next(m, at)) {
        size_t parameters = 0, bytes = 0;
        for (const gr_slot *s = at->slots; s; s = s->next) {
            if (s->kind == GR_PARAMETER && gr__slot_stands(m, s)) parameters += s->tensor->len;
            bytes += slot_bytes(m, s);
        }
        work += at->multiply_adds, all_bytes += bytes;
        fprintf(out, "%-*s  %-*s  %10zu  %13zu  %10zu", c.name, name_in_summary(m, at), c.kind, at->kind, parameters, at->multiply_adds,
                bytes);
        for (const gr_slot *s = at->slots; s; s = s->next) print_slot(out, s);
        fputc('\n', out);
    }
    fprintf(out, "%-*s  %-*s  %10zu  %13zu  %10zu  multiply-adds are for one row of each module's input\n", c.name, "total", c.kind, "",
            gr_module_parameters(m), work, all_bytes);
}

static void print_rule(FILE *out, gr_init i)
{
    const char *const fan = i.fan == GR_FAN_IN ? "in" : "out";
    switch (i.kind) {
    case GR_INIT_CONSTANT: fprintf(out, "constant %g\n", i.a); break;
    case GR_INIT_UNIFORM: fprintf(out, "uniform in [%g, %g)\n", i.a, i.b); break;
    case GR_INIT_NORMAL: fprintf(out, "normal, mean %g, standard deviation %g\n", i.a, i.b); break;
    case GR_INIT_ORTHOGONAL: fprintf(out, "orthogonal, gain %g\n", i.a); break;
    case GR_INIT_XAVIER_UNIFORM: fprintf(out, "Xavier uniform, gain %g\n", i.a); break;
    case GR_INIT_XAVIER_NORMAL: fprintf(out, "Xavier normal, gain %g\n", i.a); break;
    case GR_INIT_KAIMING_UNIFORM: fprintf(out, "Kaiming uniform, gain %g, fan %s\n", i.a, fan); break;
    case GR_INIT_KAIMING_NORMAL: fprintf(out, "Kaiming normal, gain %g, fan %s\n", i.a, fan); break;
    }
}

static int widest_path(const gr_module *m)
{
    int width = 0;
    for (const gr_slot *s = gr_slot_first(m); s; s = gr_slot_next(m, s))
        if (s->kind == GR_PARAMETER) gr__widen(&width, s->path);
    return width;
}

void gr_print_init(const gr_module *m, FILE *out)
{
    const int width = widest_path(m);
    if (!out) return;
    GR__C_LOCALE;
    for (const gr_slot *s = gr_slot_first(m); s; s = gr_slot_next(m, s)) {
        if (s->kind != GR_PARAMETER) continue;
        fprintf(out, "%-*s  ", width, s->path);
        print_shape_of(out, s->tensor);
        fputs("  ", out);
        if (s->tied) fprintf(out, "tied to %s\n", s->tied->path);
        else print_rule(out, s->init);
    }
}

/* ---- Norms: who shares a mean ---- */

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-";
enum { LETTERS = sizeof letters - 1, GAP = -1, MOST = 9 };
typedef struct {
    int n, at[MOST];
} seen_axis; /* the indices that are shown, GAP for those left out */
typedef struct {
    const gr_norm_map *map;
    size_t statistic[LETTERS];
    size_t known, height, width;
} picture;

static seen_axis look_along(size_t size, size_t most)
{
    seen_axis a = { 0 };
    for (size_t i = 0; i < size; i++) {
        if (size > most && i == most - 2) a.at[a.n++] = GAP, i = size - 1;
        a.at[a.n++] = (int)i;
    }
    return a;
}

/* A statistic's letter: they are given out in the order in which they are met. */
static char letter_of(picture *p, size_t i)
{
    const size_t s = gr_norm_statistic(p->map, i);
    size_t k = 0;
    while (k < p->known && p->statistic[k] != s) k++;
    if (k == LETTERS) return '*';
    if (k == p->known) p->statistic[p->known++] = s;
    return letters[k];
}

static void print_picture(FILE *out, const gr_norm_map *map)
{
    const int rank = map->x.rank;
    const size_t *const n = map->x.dim, most = rank < 3 ? MOST - 1 : 4, down = rank > 1 ? n[0] : 1, across = n[rank > 1];
    picture p = { map, { 0 }, 0, rank > 3 ? n[2] : 1, rank > 2 ? n[rank - 1] : 1 };
    const seen_axis a = look_along(down, most), b = look_along(across, most), c = look_along(p.height, most), d = look_along(p.width, most);
    fputs(rank > 1 ? "axis 0 down, axis 1 across" : "axis 0 across", out);
    if (rank == 3) fputs(", axis 2 within a block", out);
    if (rank == 4) fputs(", axes 2 and 3 within a block", out);
    fputs(":\n", out);
    for (int i = 0; i < a.n; i++) {
        if (a.at[i] == GAP) fputs(rank == 4 ? "    ..\n\n" : "    ..\n", out);
        for (int k = 0; a.at[i] != GAP && k < c.n; k++) {
            fputs("   ", out);
            for (int j = 0; j < b.n; j++) {
                fputs(b.at[j] == GAP || c.at[k] == GAP ? " .." : " ", out);
                for (int l = 0; b.at[j] != GAP && c.at[k] != GAP && l < d.n; l++) {
                    const size_t row = ((size_t)a.at[i] * across + (size_t)b.at[j]) * p.height + (size_t)c.at[k];
                    if (d.at[l] == GAP) fputs("..", out);
                    else fputc(letter_of(&p, row * p.width + (size_t)d.at[l]), out);
                }
            }
            fputc('\n', out);
        }
        if (rank == 4 && a.at[i] != GAP && i + 1 < a.n) fputc('\n', out);
    }
}

static void print_shares(FILE *out, const gr_norm_map *map)
{
    const char *between = "one for ";
    for (int k = 0; k < map->x.rank; k++) {
        if (map->parts[k] == 1 && map->x.dim[k] != 1) continue;
        if (map->parts[k] == map->x.dim[k]) fprintf(out, "%seach index of axis %d", between, k);
        else fprintf(out, "%seach of %zu parts of axis %d", between, map->parts[k], k);
        between = " and ";
    }
    fputs(*between == 'o' ? "one for all\n" : "\n", out);
}

static void print_affine(FILE *out, const gr_module *m, const gr_norm_map *map)
{
    int shown = 0;
    for (const gr_slot *s = m->slots; s; s = s->next) {
        if (!s->tensor || s->kind == GR_KEPT) continue;
        fprintf(out, "%s%s ", shown++ ? ", " : "", s->name), print_shape_of(out, s->tensor);
    }
    if (!shown) fputs("no parameters", out);
    else fprintf(out, ": a value for each index of %s %d", map->gain_axes > 1 ? "axes" : "axis", map->gain_axis);
    for (int k = 1; shown && k < map->gain_axes; k++) fprintf(out, ", %d", map->gain_axis + k);
    fputc('\n', out);
}

bool gr_print_norm(gr_tape *t, const gr_module *m, gr_shape x, FILE *out)
{
    gr_norm_map map;
    if (!gr_norm_map_of(t, m, x, &map)) return false;
    if (!out) return true;
    fprintf(out, "%s (%s) on %s: ", m->path, m->kind, gr_shape_name(t, x));
    if (map.has_mean) fprintf(out, "%zu means and %zu variances", map.statistics, map.statistics);
    else fprintf(out, "%zu mean squares", map.statistics);
    fprintf(out, ", each over %zu values\n", map.values);
    print_shares(out, &map);
    print_affine(out, m, &map);
    if (gr_norm_of(m)->running_mean) fputs("in evaluation mode running_mean and running_var instead\n", out);
    if (x.rank < 5) print_picture(out, &map);
    return true;
}

/* ---- BatchNorms: are they well? ---- */

static void complain(FILE *out, bool *well, bool ill, const char *what)
{
    if (ill && out) fprintf(out, "%s%s", *well ? "  " : "; ", what);
    *well = *well && !ill;
}

static bool print_batch_norm(FILE *out, const gr_batch_norm_health *h)
{
    GR__C_LOCALE;
    bool well = true;
    if (out) {
        fprintf(out, "  %8zu  ", h->values);
        if (h->updates >= 0)
            fprintf(out, "%8lld  %8.3g  %8.3g  %8.3g  %8.3g", (long long)h->updates, h->mean_off, h->sd_low, h->sd_high, h->gap);
        else fprintf(out, "%8s  %8s  %8s  %8s  %8s", "-", "-", "-", "-", "-");
    }
    complain(out, &well, !h->updates, "never updated: evaluation uses mean 0 and variance 1");
    complain(out, &well, h->values < 16, "few values");
    complain(out, &well, h->constant, "constant channels");
    complain(out, &well, h->updates > 0 && !(h->mean_off <= 1), "the batch's mean is far from the running one");
    complain(out, &well, h->updates > 0 && !(h->sd_low >= 0.5 && h->sd_high <= 2), "the batch's deviation is far from the running one");
    if (out) fputs(well ? "  well\n" : "\n", out);
    return well;
}

size_t gr_print_batch_norms(gr_tape *t, const gr_module *root, FILE *out)
{
    int width = 9;
    size_t unwell = 0;
    for (const gr_module *m = root; m; m = gr_module_next(root, m)) gr__widen(&width, m->path);
    if (out)
        fprintf(out, "%-*s  %8s  %8s  %8s  %8s  %8s  %8s\n", width, "BatchNorm", "values", "updates", "mean off", "sd from", "sd to",
                "gap");
    for (const gr_module *m = root; m && !gr_failed(t); m = gr_module_next(root, m)) {
        const gr_norm *const b = gr_norm_of(m);
        if (!b || b->kind != GR_NORM_BATCH) continue;
        gr_tensor *const x = gr__traced_input(t, "batch_norm", m->path);
        if (out) fprintf(out, "%-*s", width, m->path);
        if (!x && out) fputs("  did not run, or gr_tape_set_tracing(t, true) did not come before\n", out);
        const gr_mark mark = gr_tape_mark(t);
        const gr_batch_norm_health h = x ? gr_batch_norm_check(t, b, x, NULL) : (gr_batch_norm_health){ 0 };
        gr_tape_rewind(t, mark);
        unwell += !x || !print_batch_norm(out, &h);
    }
    return unwell;
}
