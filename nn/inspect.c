/* nn/inspect.c - the statistics of a norm module as a map over x, and what follows from it. */
#include "nn/inspect.h"
#include "nn/internal.h"
#include <math.h>
#include <string.h>

/* ---- The map ---- */

static const gr_op norm_map = { .name = "norm_map" };

/* The last axes, of n's shape. */
static bool map_rows(gr_tape *t, const gr_norm *n, gr_norm_map *map)
{
    const gr_shape shape = n->shape;
    const int lead = map->x.rank - shape.rank;
    if (lead < 0 || memcmp(map->x.dim + lead, shape.dim, (size_t)shape.rank * sizeof *shape.dim) != 0)
        return gr_fail(t, &norm_map, "x is %s, but %s normalizes last axes of %s", gr_shape_name(t, map->x), n->module.path,
                       gr_shape_name(t, shape));
    for (int k = 0; k < map->x.rank; k++) map->parts[k] = k < lead ? map->x.dim[k] : 1;
    map->gain_axis = lead, map->gain_axes = shape.rank;
    return true;
}

/* Groups of features; and each index of the first axis as well, or of all other axes. */
static bool map_features(gr_tape *t, const gr_norm *n, gr__norm_shares shares, gr_norm_map *map)
{
    const int axis = n->axis == 1 ? 1 : map->x.rank - 1;
    if (map->x.rank < 2 || map->x.dim[axis] != n->shape.dim[0])
        return gr_fail(t, &norm_map, "x is %s, but %s normalizes %zu features on its %s axis", gr_shape_name(t, map->x), n->module.path,
                       n->shape.dim[0], n->axis == 1 ? "second" : "last");
    for (int k = 0; k < map->x.rank; k++)
        map->parts[k] = shares == GR__NORM_OF_POSITIONS || (shares == GR__NORM_OF_SAMPLES && !k) ? map->x.dim[k] : 1;
    map->parts[axis] = n->groups;
    map->gain_axis = axis, map->gain_axes = 1;
    return true;
}

static bool map_axes(gr_tape *t, const gr_module *m, gr_norm_map *map)
{
    const gr_norm *const n = gr_norm_of(m);
    if (!n) return gr_fail(t, &norm_map, "%s (%s) is no norm", m->parent ? m->path : "the root", m->kind);
    map->weight = n->weight, map->eps = n->eps, map->has_mean = n->kind != GR_NORM_RMS;
    const gr__norm_shares shares = gr__norm_shares_of(n);
    return shares == GR__NORM_OF_ROWS ? map_rows(t, n, map) : map_features(t, n, shares, map);
}

bool gr_norm_map_of(gr_tape *t, const gr_module *m, gr_shape x, gr_norm_map *map)
{
    if (gr_failed(t)) return false;
    if (!m) return gr_fail(t, &norm_map, "the module is NULL");
    if (!map) return gr_fail(t, &norm_map, "the map is NULL");
    *map = (gr_norm_map){ 0 };
    if (x.rank < 1 || x.rank > GR_MAX_RANK) return gr_fail(t, &norm_map, "x is %s", gr_shape_name(t, x));
    *map = (gr_norm_map){ .x = x, .statistics = 1, .values = 1 };
    if (!map_axes(t, m, map)) return *map = (gr_norm_map){ 0 }, false;
    for (int k = 0; k < x.rank; k++) map->statistics *= map->parts[k], map->values *= map->parts[k] ? x.dim[k] / map->parts[k] : 0;
    return true;
}

size_t gr_norm_statistic(const gr_norm_map *map, size_t i)
{
    size_t at = 0, weight = 1;
    if (!map || !map->statistics || !map->values) return 0;
    for (int k = map->x.rank; k-- > 0;) {
        const size_t n = map->x.dim[k];
        at += weight * (i % n / (n / map->parts[k]));
        weight *= map->parts[k], i /= n;
    }
    return at;
}

static size_t gain_of(const gr_norm_map *map, size_t i)
{
    size_t n = 1;
    for (int k = map->x.rank; k-- > map->gain_axis + map->gain_axes;) i /= map->x.dim[k];
    for (int k = 0; k < map->gain_axes; k++) n *= map->x.dim[map->gain_axis + k];
    return i % n;
}

/* ---- Statistics and sums over those who share ---- */

typedef struct {
    double n, mean, var, rstd, g, gx;
} norm_sums; /* var: of an RMSNorm, the mean square */

/* real NULL: all are. */
static norm_sums *sums_of(gr_tape *t, const gr_norm_map *map, const gr_tensor *x, const bool *real)
{
    norm_sums *const s = gr_save_zeros(t, map->statistics * sizeof *s);
    for (int pass = 0; s && pass < 2; pass++) {
        for (size_t i = 0; i < x->len; i++) {
            norm_sums *const a = s + gr_norm_statistic(map, i);
            const double d = (double)x->data[i] - a->mean;
            if (real && !real[i]) continue;
            if (pass) a->var += d * d;
            else a->n++, a->g += (double)x->data[i];
        }
        for (size_t k = 0; k < map->statistics; k++) {
            if (!pass && map->has_mean && s[k].n > 0) s[k].mean = s[k].g / s[k].n;
            if (pass && s[k].n > 0) s[k].var /= s[k].n;
            const double v = s[k].var + map->eps;
            s[k].g = 0, s[k].rstd = v > 0 ? 1 / sqrt(v) : 0;
        }
    }
    return s;
}

gr_norm_terms gr_norm_gradient(gr_tape *t, const gr_module *m, const gr_tensor *x, const gr_real *dy)
{
    static const gr_op op = { .name = "norm_gradient" };
    const gr_norm_terms failed = { 0 };
    gr_norm_map map;
    if (!gr_ready(t, &op, (gr_tensor *)x) || !gr_norm_map_of(t, m, gr_shape_of(x), &map)) return failed;
    if (!dy) return gr_fail(t, &op, "dy is NULL"), failed;
    norm_sums *const sums = sums_of(t, &map, x, NULL);
    gr_norm_terms y = { gr_empty_like(t, x), gr_empty_like(t, x), gr_empty_like(t, x), gr_empty_like(t, x), 0, 0, 0, 0 };
    if (gr_failed(t)) return failed;
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < x->len; i++) {
            norm_sums *const s = sums + gr_norm_statistic(&map, i);
            const double g = (double)dy[i] * (map.weight ? (double)map.weight->data[gain_of(&map, i)] : 1);
            const double xhat = ((double)x->data[i] - s->mean) * s->rstd;
            if (!pass) {
                s->g += map.has_mean ? g / s->n : 0, s->gx += g * xhat / s->n;
                continue;
            }
            const double a = s->rstd * g, b = -s->rstd * s->g, c = -s->rstd * xhat * s->gx;
            y.direct->data[i] = (gr_real)a, y.mean->data[i] = (gr_real)b, y.variance->data[i] = (gr_real)c;
            y.dx->data[i] = (gr_real)(a + b + c);
            y.direct_norm += a * a, y.mean_norm += b * b, y.variance_norm += c * c, y.dx_norm += (a + b + c) * (a + b + c);
        }
    y.direct_norm = sqrt(y.direct_norm), y.mean_norm = sqrt(y.mean_norm), y.variance_norm = sqrt(y.variance_norm);
    y.dx_norm = sqrt(y.dx_norm);
    return y;
}

/* ---- BatchNorm ---- */

/* Of each element of x, whether it is real; NULL when all are, or on an error. */
static const bool *real_of(gr_tape *t, const gr_op *op, const gr_tensor *x, int axis, const gr_norm_input *input)
{
    if (!input || (!input->lengths && !input->mask) || !x->len) return NULL;
    const size_t positions = x->len / x->dim[axis];
    if (!gr_alive(t, op, "mask", input->mask) || !gr_ints_alive(t, op, "lengths", input->lengths)) return NULL;
    if ((input->mask && input->mask->len != positions) || (input->lengths && (x->rank != 3 || input->lengths->len != x->dim[0])))
        return gr_fail(t, op, "x is %s, so mask must hold %zu values, and lengths, of 3 axes only, %zu", gr_shape_text(t, x), positions, x->dim[0]);
    bool *const real = gr_save(t, x->len * sizeof *real);
    size_t inner = 1;
    for (int k = axis + 1; k < x->rank; k++) inner *= x->dim[k];
    for (size_t i = 0; real && i < x->len; i++) {
        const size_t position = i / (inner * x->dim[axis]) * inner + i % inner, L = x->len / x->dim[axis] / x->dim[0];
        real[i] = (!input->mask || input->mask->data[position] != 0) &&
                  (!input->lengths || position % L < (size_t)input->lengths->data[position / L]);
    }
    return real;
}

gr_batch_norm_health gr_batch_norm_check(gr_tape *t, const gr_norm *b, const gr_tensor *x, const gr_norm_input *input)
{
    static const gr_op op = { .name = "batch_norm_check" };
    const gr_batch_norm_health failed = { 0 };
    gr_norm_map map;
    if (gr_failed(t)) return failed;
    if (!b) return gr_fail(t, &op, "the module is NULL"), failed;
    if (b->kind != GR_NORM_BATCH) return gr_fail(t, &op, "%s (%s) is no BatchNorm", b->module.path, b->module.kind), failed;
    if (!gr_ready(t, &op, (gr_tensor *)x) || !gr_norm_map_of(t, &b->module, gr_shape_of(x), &map)) return failed;
    const bool *const real = real_of(t, &op, x, map.gain_axis, input);
    const norm_sums *const sums = sums_of(t, &map, x, real);
    if (gr_failed(t)) return failed;
    gr_batch_norm_health h = { (size_t)(map.statistics ? sums->n : 0), b->batches ? *b->batches : -1, 0, HUGE_VAL, 0, 0, 0 };
    for (size_t c = 0; c < map.statistics; c++) {
        h.constant += sums[c].var < b->eps;
        if (!b->running_mean) continue;
        const double running = sqrt((double)b->running_var->data[c] + b->eps), ratio = sqrt(sums[c].var + b->eps) / running;
        const double off = fabs(sums[c].mean - (double)b->running_mean->data[c]) / running;
        if (!(off <= h.mean_off)) h.mean_off = off;
        if (!(ratio >= h.sd_low)) h.sd_low = ratio;
        if (!(ratio <= h.sd_high)) h.sd_high = ratio;
    }
    double squares = 0, count = 0;
    for (size_t i = 0; b->running_mean && i < x->len; i++) {
        const size_t c = gr_norm_statistic(&map, i);
        if (real && !real[i]) continue;
        const double trained = ((double)x->data[i] - sums[c].mean) * sums[c].rstd;
        const double gap =
            trained - ((double)x->data[i] - (double)b->running_mean->data[c]) / sqrt((double)b->running_var->data[c] + b->eps);
        squares += gap * gap, count++;
    }
    h.gap = count > 0 ? sqrt(squares / count) : 0;
    if (!b->running_mean) h.mean_off = h.sd_low = h.sd_high = h.gap = (double)NAN;
    return h;
}
