/* nn/inspect.c - which values of x share a statistic of a norm, and what follows from it. */
#include "nn/inspect.h"
#include "core/locale.h"
#include "nn/internal.h"
#include <math.h>

/* ---- The map ---- */

/* Axis k of x is cut into parts[k] equal parts: 1 when all indices of the axis share, its size when none do. Values in the same part along
 * every axis share a statistic. */
typedef struct {
    const gr_norm *norm;
    gr_shape x;
    size_t parts[GR_MAX_RANK];
    size_t statistics, values;   /* how many statistics there are, and over how many values each goes */
    int gain_axis, gain_axes;    /* weight and bias have a value for each index of these axes: the first, and how many */
} norm_map;

/* False, with an error, if m is no norm or does not take an x of that shape. */
static bool map_make(gr_tape *t, const gr_op *op, const gr_module *m, gr_shape x, norm_map *map)
{
    if (gr_failed(t)) return false;
    if (!m) return gr_fail(t, op, "the module is NULL");
    const gr_norm *const n = gr_norm_of(m);
    if (!n) return gr_fail(t, op, "%s (%s) is not a norm", m->parent ? m->path : "the root", m->kind);
    GR_WITHIN(t, m);
    if (!gr__norm_fits(t, op, n, x)) return false;
    const gr__norm_shares shares = gr__norm_shares_of(n);
    const bool rows = shares == GR__NORM_OF_ROWS;
    const int axes = rows ? n->shape.rank : 1, axis = n->axis == 1 ? 1 : x.rank - axes;
    *map = (norm_map){ .norm = n, .x = x, .statistics = 1, .values = 1, .gain_axis = axis, .gain_axes = axes };
    for (int k = 0; k < x.rank; k++) {
        const bool own = rows ? k < axis : shares == GR__NORM_OF_POSITIONS || (shares == GR__NORM_OF_SAMPLES && !k);
        map->parts[k] = !rows && k == axis ? n->groups : own ? x.dim[k] : 1;
        map->statistics *= map->parts[k], map->values *= map->parts[k] ? x.dim[k] / map->parts[k] : 0;
    }
    return true;
}

/* The statistic that element i of x belongs to: 0 .. statistics-1. */
static size_t statistic_of(const norm_map *map, size_t i)
{
    size_t at = 0, weight = 1;
    for (int k = map->x.rank; k-- > 0;) {
        const size_t n = map->x.dim[k];
        at += weight * (i % n / (n / map->parts[k]));
        weight *= map->parts[k], i /= n;
    }
    return at;
}

static double gain_of(const norm_map *map, size_t i)
{
    const gr_tensor *const weight = map->norm->weight;
    for (int k = map->x.rank; k-- > map->gain_axis + map->gain_axes;) i /= map->x.dim[k];
    return weight ? (double)weight->data[i % weight->len] : 1;
}

/* ---- The picture ---- */

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-";
enum { LETTERS = sizeof letters - 1 };
typedef struct { const norm_map *map; size_t statistic[LETTERS], known; } picture;

/* The index at place k of an axis, of which at most `most` places are shown: the last but one stands for those left out. */
static const size_t GAP = SIZE_MAX;
static size_t index_shown(size_t k, size_t size, size_t most) { return size <= most || k + 2 < most ? k : k + 2 == most ? GAP : size - 1; }

/* The letter for the statistic of element i. Letters are assigned in the order in which statistics appear. */
static char letter_of(picture *p, size_t i)
{
    const size_t s = statistic_of(p->map, i);
    size_t k = 0;
    while (k < p->known && p->statistic[k] != s) k++;
    if (k == LETTERS) return '*';
    if (k == p->known) p->statistic[p->known++] = s;
    return letters[k];
}

static void print_picture(FILE *out, const norm_map *map)
{
    const int rank = map->x.rank;
    const size_t *const n = map->x.dim, most = rank < 3 ? 8 : 4, down = rank > 1 ? n[0] : 1, across = n[rank > 1];
    const size_t height = rank > 3 ? n[2] : 1, width = rank > 2 ? n[rank - 1] : 1; /* of a block */
    picture p = { .map = map };
    fputs(rank > 1 ? "axis 0 down, axis 1 across" : "axis 0 across", out);
    if (rank == 3) fputs(", axis 2 within a block", out);
    if (rank == 4) fputs(", axes 2 and 3 within a block", out);
    fputs(":\n", out);
    for (size_t a = 0; a < down && a < most; a++) {
        const size_t i = index_shown(a, down, most);
        if (i == GAP) fputs(rank == 4 ? "    ..\n\n" : "    ..\n", out);
        for (size_t c = 0; i != GAP && c < height && c < most; c++) {
            const size_t k = index_shown(c, height, most);
            fputs("   ", out);
            for (size_t b = 0; b < across && b < most; b++) {
                const size_t j = index_shown(b, across, most);
                fputs(j == GAP || k == GAP ? " .." : " ", out);
                for (size_t d = 0; j != GAP && k != GAP && d < width && d < most; d++) {
                    const size_t l = index_shown(d, width, most);
                    if (l == GAP) fputs("..", out);
                    else fputc(letter_of(&p, ((i * across + j) * height + k) * width + l), out);
                }
            }
            fputc('\n', out);
        }
        if (rank == 4 && i != GAP && a + 1 < down && a + 1 < most) fputc('\n', out);
    }
}

static void print_shares(FILE *out, const norm_map *map)
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

static void print_affine(FILE *out, const norm_map *map)
{
    int shown = 0;
    for (const gr_slot *s = map->norm->module.slots; s; s = s->next) {
        if (!s->tensor || s->kind == GR_KEPT) continue;
        fprintf(out, "%s%s ", shown++ ? ", " : "", s->name), gr__print_shape(out, s->tensor);
    }
    if (!shown) fputs("no parameters", out);
    else fprintf(out, ": a value for each index of %s %d", map->gain_axes > 1 ? "axes" : "axis", map->gain_axis);
    for (int k = 1; shown && k < map->gain_axes; k++) fprintf(out, ", %d", map->gain_axis + k);
    fputc('\n', out);
}

bool gr_print_norm(gr_tape *t, const gr_module *m, gr_shape x, FILE *out)
{
    static const gr_op op = { .name = "print_norm" };
    norm_map map;
    if (!map_make(t, &op, m, x, &map)) return false;
    if (!out) return true;
    fprintf(out, "%s (%s) on %s: ", m->path, m->kind, gr_shape_name(t, x));
    if (gr__norm_has_mean(map.norm)) fprintf(out, "%zu means and %zu variances", map.statistics, map.statistics);
    else fprintf(out, "%zu mean squares", map.statistics);
    fprintf(out, ", each over %zu values\n", map.values);
    print_shares(out, &map);
    print_affine(out, &map);
    if (map.norm->running_mean) fputs("in evaluation mode it uses running_mean and running_var instead\n", out);
    if (x.rank < 5) print_picture(out, &map);
    return true;
}

/* ---- Statistics ---- */

typedef struct {
    double mean, var, rstd, g, gx; /* var: in an RMSNorm the mean square. g and gx: the means of g and of g xhat */
} norm_sums;

static norm_sums *sums_of(gr_tape *t, const norm_map *map, const gr_tensor *x)
{
    const double n = map->values ? (double)map->values : 1;
    norm_sums *const s = gr_save_zeros(t, map->statistics * sizeof *s);
    if (!s) return NULL;
    for (size_t i = 0; gr__norm_has_mean(map->norm) && i < x->len; i++) s[statistic_of(map, i)].mean += (double)x->data[i];
    for (size_t k = 0; k < map->statistics; k++) s[k].mean /= n;
    for (size_t i = 0; i < x->len; i++) {
        norm_sums *const a = s + statistic_of(map, i);
        const double d = (double)x->data[i] - a->mean;
        a->var += d * d;
    }
    for (size_t k = 0; k < map->statistics; k++) {
        s[k].var /= n;
        const double v = s[k].var + map->norm->eps;
        s[k].rstd = v > 0 ? 1 / sqrt(v) : 0;
    }
    return s;
}

/* ---- The gradient's terms ---- */

gr_norm_terms gr_norm_gradient(gr_tape *t, const gr_module *m, const gr_tensor *x, const gr_real *dy)
{
    static const gr_op op = { .name = "norm_gradient" };
    const gr_norm_terms failed = { 0 };
    norm_map map;
    if (!gr_ready(t, &op, (gr_tensor *)x) || !map_make(t, &op, m, gr_shape_of(x), &map)) return failed;
    if (!dy) return gr_fail(t, &op, "dy is NULL"), failed;
    norm_sums *const sums = sums_of(t, &map, x);
    gr_norm_terms y = { gr_empty_like(t, x), gr_empty_like(t, x), gr_empty_like(t, x), gr_empty_like(t, x), 0, 0, 0, 0 };
    if (gr_failed(t)) return failed;
    for (size_t i = 0; i < x->len; i++) {
        norm_sums *const s = sums + statistic_of(&map, i);
        const double g = (double)dy[i] * gain_of(&map, i), xhat = ((double)x->data[i] - s->mean) * s->rstd;
        if (gr__norm_has_mean(map.norm)) s->g += g / (double)map.values;
        s->gx += g * xhat / (double)map.values;
    }
    for (size_t i = 0; i < x->len; i++) {
        const norm_sums *const s = sums + statistic_of(&map, i);
        const double g = (double)dy[i] * gain_of(&map, i), xhat = ((double)x->data[i] - s->mean) * s->rstd;
        const double a = s->rstd * g, b = -s->rstd * s->g, c = -s->rstd * xhat * s->gx;
        y.direct->data[i] = (gr_real)a, y.mean->data[i] = (gr_real)b, y.variance->data[i] = (gr_real)c;
        y.dx->data[i] = (gr_real)(a + b + c);
        y.direct_norm += a * a, y.mean_norm += b * b, y.variance_norm += c * c, y.dx_norm += (a + b + c) * (a + b + c);
    }
    y.direct_norm = sqrt(y.direct_norm), y.mean_norm = sqrt(y.mean_norm), y.variance_norm = sqrt(y.variance_norm), y.dx_norm = sqrt(y.dx_norm);
    return y;
}

/* ---- BatchNorms: are they healthy? ---- */

/* What a line of gr_print_batch_norms shows. */
typedef struct { size_t values, constant; double mean_off, sd_low, sd_high, gap; } health;

static health health_of(const gr_norm *b, const norm_map *map, const norm_sums *sums)
{
    health h = { .values = map->values, .sd_low = HUGE_VAL };
    for (size_t c = 0; c < map->statistics; c++) {
        h.constant += sums[c].var < b->eps;
        if (!b->running_mean) continue;
        const double running = sqrt((double)b->running_var->data[c] + b->eps), ratio = sqrt(sums[c].var + b->eps) / running;
        const double off = fabs(sums[c].mean - (double)b->running_mean->data[c]) / running, slope = sums[c].rstd - 1 / running;
        if (!(off <= h.mean_off)) h.mean_off = off;
        if (!(ratio >= h.sd_low)) h.sd_low = ratio;
        if (!(ratio <= h.sd_high)) h.sd_high = ratio;
        h.gap += slope * slope * sums[c].var + off * off; /* xhat differs by (x - mean) slope +- off, and the mean of x - mean is 0 */
    }
    h.gap = h.values ? sqrt(h.gap / (double)map->statistics) : 0;
    return h;
}

static void complain(FILE *out, bool *well, bool ill, const char *what)
{
    if (ill && out) fprintf(out, "%s%s", *well ? "  " : "; ", what);
    *well = *well && !ill;
}

/* Whether b is well on x. */
static bool print_health(gr_tape *t, const gr_norm *b, const gr_tensor *x, FILE *out)
{
    static const gr_op op = { .name = "print_batch_norms" };
    norm_map map;
    const norm_sums *const sums = map_make(t, &op, &b->module, gr_shape_of(x), &map) ? sums_of(t, &map, x) : NULL;
    if (!sums) return false;
    GR__C_LOCALE;
    const health h = health_of(b, &map, sums);
    const bool updated = b->batches && *b->batches;
    bool well = true;
    if (out && b->batches)
        fprintf(out, "  %8zu  %8lld  %8.3g  %8.3g  %8.3g  %8.3g", h.values, (long long)*b->batches, h.mean_off, h.sd_low, h.sd_high, h.gap);
    else if (out) fprintf(out, "  %8zu  %8s  %8s  %8s  %8s  %8s", h.values, "-", "-", "-", "-", "-");
    complain(out, &well, b->batches && !updated, "never updated: evaluation uses mean 0 and variance 1");
    complain(out, &well, h.values < 16, "few values");
    complain(out, &well, h.constant, "constant channels");
    complain(out, &well, updated && !(h.mean_off <= 1), "the batch's mean is far from the running one");
    complain(out, &well, updated && !(h.sd_low >= 0.5 && h.sd_high <= 2), "the batch's deviation is far from the running one");
    if (out) fputs(well ? "  well\n" : "\n", out);
    return well;
}

size_t gr_print_batch_norms(gr_tape *t, const gr_module *root, FILE *out)
{
    int width = 9;
    size_t unwell = 0;
    for (const gr_module *m = root; m; m = gr_module_next(root, m)) gr__widen(&width, m->path);
    if (out) fprintf(out, "%-*s  %8s  %8s  %8s  %8s  %8s  %8s\n", width, "BatchNorm", "values", "updates", "mean off", "sd from", "sd to", "gap");
    for (const gr_module *m = root; m && !gr_failed(t); m = gr_module_next(root, m)) {
        const gr_norm *const b = gr_norm_of(m);
        if (!b || b->kind != GR_NORM_BATCH) continue;
        const gr_tensor *const x = gr__traced_input(t, "batch_norm", m->path);
        if (out) fprintf(out, "%-*s", width, m->path);
        if (!x && out) fputs("  did not run while gr_tape_set_tracing was on\n", out);
        const gr_mark mark = gr_tape_mark(t);
        unwell += !x || !print_health(t, b, x, out);
        gr_tape_rewind(t, mark);
    }
    return unwell;
}
