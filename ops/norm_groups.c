/* ops/norm_groups.c - the kernels of the norms over groups of axes. The maths and the names are in ops/norm_groups.h. */
#include "ops/norm_groups.h"
#include "core/maths.h"
#include "ops/norm_far.h"
#include "ops/parts.h"

enum { NORM_COLUMNS = 32, NORM_ROWS = 64, NORM_VALUES = 4096 };

/* ---- Planes: a group consists of runs of neighbours. The sums of 64 runs are added to a block's sum, and the blocks' sums to the total ---- */

/* Where group g begins. */
INLINE size_t norm_place(const gr__norm_groups *s, size_t g) { return g / s->K * (s->R * s->K * s->I) + g % s->K * s->I; }

/* Whether ops/norm_far.c computes one of the n groups from g on; hardly ever, so that one loop without a branch asks for all of them. */
INLINE bool norm_far(const gr__norm_groups *s, size_t g, size_t n)
{
    int far = 0;
    for (size_t i = g; i < g + n && !s->fixed; i++) far |= s->stat[2 * s->groups + i] == 0;
    return far;
}

/* Finish the statistics of a group (m, e, rstd, variance) from d = sum(x - m) and dd = sum((x - m)^2); per is 1 / the number of values. */
INLINE void norm_finish(gr_real stat[GR__NORM_STATS], gr_real per, gr_real eps, gr_real m, gr_real d, gr_real dd)
{
    const gr_real e = d * per, var = r_max(0, dd * per - e * e);
    stat[0] = m, stat[1] = e, stat[2] = r_rstd(var + eps), stat[3] = var;
}

/* Sums whose values are in the cache fetch the next group meanwhile. */
INLINE void norm_planes_stat(const gr__norm_groups *s, const gr_real *restrict x, size_t g)
{
    const gr_real *const z = x + norm_place(s, g), z0 = z[s->run->at];
    const gr__norm_run whole = { 0, s->R * s->I }, *const run = s->per_group > 1 && s->K == 1 ? &whole : s->run;
    const size_t runs = run == &whole ? 1 : s->runs, next = norm_place(s, g + 1) - norm_place(s, g);
    gr_real m = 0, d = 0, dd = 0, a = 0, b = 0, p, q;
    for (size_t k = 0; k < runs; k++) {
        a += SUM(i, run[k].n, z[run[k].at + i] - z0);
        if (k % NORM_ROWS == NORM_ROWS - 1) m += a, a = 0;
    }
    m = z0 + (m + a) / (gr_real)s->count, a = 0;
    for (size_t k = 0; k < runs; k++) {
        const gr_real *const u = z + run[k].at;
        SUM2_FETCH(u, next, i, run[k].n, p, u[i] - m, q, r_square(u[i] - m));
        a += p, b += q;
        if (k % NORM_ROWS == NORM_ROWS - 1) d += a, dd += b, a = b = 0;
    }
    gr_real stat[GR__NORM_STATS];
    norm_finish(stat, 1 / (gr_real)s->count, s->eps, m, d + a, dd + b);
    for (size_t i = 0; i < GR__NORM_STATS; i++) s->stat[i * s->groups + g] = stat[i];
    if (far_from_1(stat[2])) gr__far_group_stat(s, x, g);
}

KERNEL(void, norm_planes_forward, const gr__norm_groups *s, gr_real *restrict y, const gr_real *restrict x, size_t g)
{
    if (!s->fixed) norm_planes_stat(s, x, g);
    const size_t place = norm_place(s, g), affine = g % s->of_groups * s->per_group, own = s->fixed ? affine : g;
    const gr_real m = s->stat[own], e = s->stat[s->groups + own], rstd = s->stat[2 * s->groups + own];
    for (size_t k = 0; k < s->runs; k++) {
        const size_t at = place + s->run[k].at, j = affine + (s->per_group > 1 ? k : 0);
        const gr_real gamma = s->gamma ? s->gamma[j] : 1, beta = s->beta ? s->beta[j] : 0;
        for (size_t i = 0, n = s->run[k].n; i < n; i++) y[at + i] = gamma * ((x[at + i] - m - e) * rstd) + beta;
    }
}

/* s1 and s2 of a group: sums [2, groups * per_group] */
INLINE void norm_planes_sums(const gr__norm_groups *s, gr_real *restrict sums, const gr_real *restrict dy, const gr_real *restrict x, size_t g)
{
    const size_t half = s->groups * s->per_group;
    const gr_real m = s->stat[g], e = s->stat[s->groups + g], rstd = s->stat[2 * s->groups + g];
    const size_t place = norm_place(s, g), j = g * s->per_group;
    gr_real s1 = 0, s2 = 0, a = 0, b = 0, p, q;
    for (size_t k = 0; k < s->runs; k++) {
        const gr_real *const z = x + place + s->run[k].at, *const dz = dy + place + s->run[k].at;
        SUM2(i, s->run[k].n, p, dz[i], q, dz[i] * (z[i] - m - e));
        if (s->per_group > 1) sums[j + k] = p, sums[half + j + k] = q * rstd;
        a += p, b += q;
        if (k % NORM_ROWS == NORM_ROWS - 1) s1 += a, s2 += b, a = b = 0;
    }
    if (s->per_group == 1) sums[j] = s1 + a, sums[half + j] = (s2 + b) * rstd;
}

INLINE void norm_planes_dx(const gr__norm_groups *s, gr_real *restrict dx, const gr_real *restrict sums, const gr_real *restrict dy,
                           const gr_real *restrict x, size_t g)
{
    const size_t half = s->groups * s->per_group;
    const gr_real m = s->stat[g], e = s->stat[s->groups + g], rstd = s->stat[2 * s->groups + g], per = s->fixed ? 0 : 1 / (gr_real)s->count;
    const size_t place = norm_place(s, g), affine = g % s->of_groups * s->per_group;
    gr_real mean = 0, slope = 0;
    for (size_t j = 0; j < s->per_group && !s->fixed; j++) {
        const gr_real gamma = s->gamma ? s->gamma[affine + j] : 1;
        mean += gamma * sums[g * s->per_group + j], slope += gamma * sums[half + g * s->per_group + j];
    }
    mean *= per, slope *= per;
    for (size_t k = s->runs; k-- > 0;) { /* backwards: what norm_planes_sums read last is still in the cache */
        const size_t at = place + s->run[k].at;
        const gr_real gamma = s->gamma ? s->gamma[affine + (s->per_group > 1 ? k : 0)] : 1;
        for (size_t i = 0, n = s->run[k].n; i < n; i++)
            dx[at + i] += rstd * (gamma * dy[at + i] - mean - (x[at + i] - m - e) * rstd * slope);
    }
}

KERNEL(void, norm_planes_backward, const gr__norm_groups *s, gr_real *restrict dx, gr_real *restrict sums, const gr_real *restrict dy,
       const gr_real *restrict x, size_t g)
{
    norm_planes_sums(s, sums, dy, x, g);
    if (norm_far(s, g, 1)) gr__far_group_backward(s, dx, sums, NULL, dy, x, g);
    else if (dx) norm_planes_dx(s, dx, sums, dy, x, g);
}

/* ---- Columns: at most NORM_COLUMNS groups at a time, n from group g on; their rows are K apart, and are summed as the runs above ----
 * A gamma belongs to a column or, with per_group > 1, to a row; norm_of_columns and norm_of_row give 1 for the other one (0 for beta). */

/* Row number r begins at `row`. */
#define NORM_EACH_ROW(row, r) \
    for (size_t run_ = 0, row = 0, r = 0; run_ < s->runs; run_++) \
        for (size_t last_ = (row = s->run[run_].at) + s->run[run_].n * s->K; row < last_; row += s->K, r++)
/* Most blocks have NORM_COLUMNS columns. For them n is a constant, so that the loops take half the time. */
#define NORM_BLOCK(f, ...) n == NORM_COLUMNS ? f##_of(__VA_ARGS__, NORM_COLUMNS) : f##_of(__VA_ARGS__, n)

INLINE void norm_fold(gr_real *restrict sum, gr_real *restrict part, size_t n) { for (size_t c = 0; c < n; c++) sum[c] += part[c], part[c] = 0; }

INLINE void norm_of_columns(const gr__norm_groups *s, gr_real *to, const gr_real *from, gr_real otherwise, size_t g, size_t n)
{
    for (size_t c = 0; c < n; c++) to[c] = from && s->per_group == 1 ? from[(g + c) % s->of_groups] : otherwise;
}
INLINE gr_real norm_of_row(const gr__norm_groups *s, const gr_real *from, gr_real otherwise, size_t r)
{
    return from && s->per_group > 1 ? from[r] : otherwise;
}

INLINE void norm_columns_stat_of(const gr__norm_groups *s, const gr_real *restrict x, size_t g, size_t n)
{
    gr_real m[NORM_COLUMNS] = { 0 }, a[NORM_COLUMNS] = { 0 }, b[NORM_COLUMNS] = { 0 }, d[NORM_COLUMNS] = { 0 }, dd[NORM_COLUMNS] = { 0 };
    const gr_real *const z = x + norm_place(s, g), *const z0 = z + s->run->at;
    NORM_EACH_ROW(row, r) {
        for (size_t c = 0; c < n; c++) a[c] += z[row + c] - z0[c];
        if (r % NORM_ROWS == NORM_ROWS - 1) norm_fold(m, a, n);
    }
    norm_fold(m, a, n);
    for (size_t c = 0; c < n; c++) m[c] = z0[c] + m[c] / (gr_real)s->count;
    NORM_EACH_ROW(row, r) {
        for (size_t c = 0; c < n; c++) a[c] += z[row + c] - m[c];
        for (size_t c = 0; c < n; c++) b[c] += r_square(z[row + c] - m[c]);
        if (r % NORM_ROWS == NORM_ROWS - 1) norm_fold(d, a, n), norm_fold(dd, b, n);
    }
    norm_fold(d, a, n), norm_fold(dd, b, n);
    const gr_real per = 1 / (gr_real)s->count, eps = s->eps;
    gr_real rstd[NORM_COLUMNS];
    int far = 0;
    for (size_t c = 0; c < n; c++) {
        gr_real stat[GR__NORM_STATS];
        norm_finish(stat, per, eps, m[c], d[c], dd[c]);
        a[c] = stat[1], rstd[c] = stat[2], b[c] = stat[3];
        far |= far_from_1(rstd[c]);
    }
    const gr_real *const of[GR__NORM_STATS] = { m, a, rstd, b };
    for (size_t k = 0; k < GR__NORM_STATS; k++) memcpy(s->stat + k * s->groups + g, of[k], n * sizeof *m);
    for (size_t c = 0; far && c < n; c++)
        if (far_from_1(rstd[c])) gr__far_group_stat(s, x, g + c);
}

KERNEL(void, norm_columns_stat, const gr__norm_groups *s, const gr_real *restrict x, size_t g, size_t n) { NORM_BLOCK(norm_columns_stat, s, x, g); }

INLINE void norm_columns_forward_of(const gr__norm_groups *s, gr_real *restrict y, const gr_real *restrict x, size_t g, size_t n)
{
    const size_t place = norm_place(s, g);
    const gr_real *const m = s->stat + g, *const e = m + s->groups, *const rstd = e + s->groups;
    gr_real gamma[NORM_COLUMNS], beta[NORM_COLUMNS];
    norm_of_columns(s, gamma, s->gamma, 1, g, n), norm_of_columns(s, beta, s->beta, 0, g, n);
    NORM_EACH_ROW(row, r) {
        const gr_real *const z = x + place + row, w = norm_of_row(s, s->gamma, 1, r), b = norm_of_row(s, s->beta, 0, r);
        gr_real *const to = y + place + row;
        for (size_t c = 0; c < n; c++) to[c] = w * gamma[c] * ((z[c] - m[c] - e[c]) * rstd[c]) + (b + beta[c]);
    }
}
KERNEL(void, norm_columns_forward, const gr__norm_groups *s, gr_real *restrict y, const gr_real *restrict x, size_t g, size_t n)
{
    NORM_BLOCK(norm_columns_forward, s, y, x, g);
}

/* s1 and s2 of the columns: sums [2, groups]; and those of each row over these columns: rows [2, per_group], or NULL. */
INLINE void norm_columns_sums(const gr__norm_groups *s, gr_real *restrict sums, gr_real *restrict rows, const gr_real *restrict dy,
                                 const gr_real *restrict x, size_t g, size_t n)
{
    const size_t place = norm_place(s, g);
    const gr_real *const m = s->stat + g, *const e = m + s->groups, *const rstd = e + s->groups;
    gr_real a[NORM_COLUMNS] = { 0 }, b[NORM_COLUMNS] = { 0 }, *const s1 = sums + g, *const s2 = s1 + s->groups;
    for (size_t c = 0; c < n; c++) s1[c] = s2[c] = 0;
    NORM_EACH_ROW(row, r) {
        const gr_real *const z = x + place + row, *const dz = dy + place + row, w = norm_of_row(s, s->gamma, 1, r);
        for (size_t c = 0; c < n; c++) a[c] += w * dz[c];
        for (size_t c = 0; c < n; c++) b[c] += w * dz[c] * (z[c] - m[c] - e[c]);
        if (rows) SUM2(c, n, rows[r], dz[c], rows[s->per_group + r], dz[c] * ((z[c] - m[c] - e[c]) * rstd[c]));
        if (r % NORM_ROWS == NORM_ROWS - 1) norm_fold(s1, a, n), norm_fold(s2, b, n);
    }
    norm_fold(s1, a, n), norm_fold(s2, b, n);
    for (size_t c = 0; c < n; c++) s2[c] *= rstd[c];
}

INLINE void norm_columns_dx(const gr__norm_groups *s, gr_real *restrict dx, const gr_real *restrict sums, const gr_real *restrict dy,
                            const gr_real *restrict x, size_t g, size_t n)
{
    const size_t place = norm_place(s, g);
    const gr_real *const m = s->stat + g, *const e = m + s->groups, *const rstd = e + s->groups;
    const gr_real per = s->fixed ? 0 : 1 / (gr_real)s->count;
    gr_real gamma[NORM_COLUMNS], mean[NORM_COLUMNS], slope[NORM_COLUMNS];
    norm_of_columns(s, gamma, s->gamma, 1, g, n);
    for (size_t c = 0; c < n; c++) mean[c] = s->fixed ? 0 : gamma[c] * sums[g + c] * per;
    for (size_t c = 0; c < n; c++) slope[c] = s->fixed ? 0 : gamma[c] * sums[s->groups + g + c] * per;
    NORM_EACH_ROW(row, r) {
        const gr_real *const z = x + place + row, *const dz = dy + place + row, w = norm_of_row(s, s->gamma, 1, r);
        gr_real *const to = dx + place + row;
        for (size_t c = 0; c < n; c++) to[c] += rstd[c] * (w * gamma[c] * dz[c] - mean[c] - (z[c] - m[c] - e[c]) * rstd[c] * slope[c]);
    }
}

INLINE void norm_columns_backward_of(const gr__norm_groups *s, gr_real *restrict dx, gr_real *restrict sums, gr_real *restrict rows,
                                     const gr_real *restrict dy, const gr_real *restrict x, size_t g, size_t n)
{
    norm_columns_sums(s, sums, rows, dy, x, g, n);
    for (size_t c = 0; c < n && norm_far(s, g, n); c++)
        if (norm_far(s, g + c, 1)) gr__far_group_backward(s, dx, sums, rows, dy, x, g + c);
    if (dx) norm_columns_dx(s, dx, sums, dy, x, g, n);
}
KERNEL(void, norm_columns_backward, const gr__norm_groups *s, gr_real *restrict dx, gr_real *restrict sums, gr_real *restrict rows,
       const gr_real *restrict dy, const gr_real *restrict x, size_t g, size_t n)
{
    NORM_BLOCK(norm_columns_backward, s, dx, sums, rows, dy, x, g);
}

#if GR_HOST
/* ---- What every norm checks ---- */

bool gr__norm_ready(gr_tape *t, const gr_op *op, gr_tensor *x, const gr_tensor *gamma, const gr_tensor *beta)
{
    return gr_ready(t, op, x) && gr_alive(t, op, "gamma", gamma) && gr_alive(t, op, "beta", beta);
}

bool gr__norm_check_pair(gr_tape *t, const gr_op *op, const gr_tensor *x, const char *names, const gr_tensor *a, const gr_tensor *b, size_t n)
{
    if ((!a || a->len == n) && (!b || b->len == n)) return true;
    return gr_fail(t, op, "x is %s, so %s must hold %zu values; got %s and %s", gr_shape_text(t, x), names, n, gr_shape_text(t, a), gr_shape_text(t, b));
}

bool gr__norm_check_eps(gr_tape *t, const gr_op *op, double eps)
{
    return eps >= 0 || eps == GR_NONE || gr_fail(t, op, "eps must be 0 or more, or GR_NONE; got %g", eps);
}

bool gr__norm_check_momentum(gr_tape *t, const gr_op *op, double momentum)
{
    return (momentum >= 0 && momentum <= 1) || momentum == GR_NONE || gr_fail(t, op, "momentum must be in 0 .. 1, or GR_NONE; got %g", momentum);
}

/* ---- Chunks ---- */

/* A unit of work is one group of planes or one block of columns. A chunk has as many units as hold NORM_VALUES values. */
typedef struct {
    const gr__norm_groups *s;
    const gr_real *x, *dy;
    gr_real *y, *dx, *sums, *rows; /* rows [units, 2, per_group]: of columns with per_group > 1 */
    bool fresh;                    /* dx is not cleared yet */
    size_t blocks, units, per_chunk;
    int isa;
} norm_call;

static norm_call norm_call_of(gr_tape *t, const gr__norm_groups *s, const gr_real *x)
{
    norm_call c = { .s = s, .x = x, .isa = gr_isa(t) };
    c.blocks = s->I == 1 ? gr_chunks(s->K, NORM_COLUMNS) : s->K, c.units = s->P * c.blocks;
    const size_t values = s->R * s->I * (s->I == 1 ? NORM_COLUMNS : 1);
    c.per_chunk = values && values < NORM_VALUES ? gr_chunks(NORM_VALUES, values) : 1;
    return c;
}

/* Which groups a unit consists of. */
static gr_range norm_groups_of(const norm_call *c, size_t unit)
{
    if (c->s->I > 1) return (gr_range){ unit, 1 };
    const gr_range block = gr_chunk(unit % c->blocks, NORM_COLUMNS, c->s->K);
    return (gr_range){ unit / c->blocks * c->s->K + block.first, block.count };
}

/* The statistics of columns are a kernel of their own: in one with what follows them the loops take a seventh longer. */
static void norm_forward_unit(const norm_call *c, size_t unit)
{
    const gr__norm_groups *s = c->s;
    const gr_range g = norm_groups_of(c, unit);
    if (s->I == 1 && !s->fixed) norm_columns_stat[c->isa](s, c->x, g.first, g.count);
    if (s->I == 1) norm_columns_forward[c->isa](s, c->y, c->x, g.first, g.count);
    else norm_planes_forward[c->isa](s, c->y, c->x, unit);
    for (size_t i = g.first; i < g.first + g.count && norm_far(s, g.first, g.count); i++)
        if (norm_far(s, i, 1)) gr__far_group(s, c->y, c->x, i);
}

static void norm_backward_unit(const norm_call *c, size_t unit)
{
    const gr_range g = norm_groups_of(c, unit);
    gr_real *const rows = c->rows ? c->rows + unit * 2 * c->s->per_group : NULL;
    const size_t I = c->s->I;
    for (size_t r = 0; c->fresh && r < c->s->R; r++) memset(c->dx + norm_place(c->s, unit) + r * c->s->K * I, 0, I * sizeof *c->dx);
    if (c->s->I > 1) norm_planes_backward[c->isa](c->s, c->dx, c->sums, c->dy, c->x, unit);
    else norm_columns_backward[c->isa](c->s, c->dx, c->sums, rows, c->dy, c->x, g.first, g.count);
}

static void norm_chunk(void *argument, gr_range units)
{
    const norm_call *c = argument;
    for (size_t u = units.first; u < units.first + units.count; u++) (c->dy ? norm_backward_unit : norm_forward_unit)(c, u);
}

static void norm_run_chunks(gr_tape *t, norm_call *c, double each)
{
    gr__parallel_rows(t, c->units, c->per_chunk, each * (double)(c->s->groups * c->s->count), norm_chunk, c);
}

const gr__norm_run *gr__norm_all(gr_tape *t, gr__norm_groups *s)
{
    if (!s->groups || !s->R || !s->I) s->groups = s->R = 0;
    s->runs = s->I == 1 ? 1 : s->R;
    gr__norm_run *run = gr_save(t, s->runs * sizeof *run);
    for (size_t r = 0; run && r < s->runs; r++) run[r] = (gr__norm_run){ r * s->K * s->I, s->I == 1 ? s->R : s->I };
    s->count = s->R * s->I;
    return s->run = run;
}

void gr__norm_forward(gr_tape *t, const gr__norm_groups *s, const gr_real *x, gr_real *y)
{
    norm_call c = norm_call_of(t, s, x);
    c.y = y;
    if (s->count) norm_run_chunks(t, &c, 0.3);
}

/* Whether gamma belongs to the rows of columns. Then scratch holds the sums of the columns and, for each unit, those of the rows; otherwise
 * it holds the sums for each gamma of each group. */
static bool norm_has_rows(const gr__norm_groups *s) { return s->I == 1 && s->per_group > 1; }

size_t gr__norm_scratch(const gr_node *n)
{
    const gr__norm_groups *s = n->saved;
    const size_t units = s->groups ? s->P * gr_chunks(s->K, NORM_COLUMNS) : 0;
    return 2 * (norm_has_rows(s) ? s->groups + units * s->per_group : s->groups * s->per_group) * sizeof(gr_real);
}

void gr__norm_backward(gr_tape *t, const gr_node *node)
{
    const gr__norm_groups *s = node->saved;
    const bool rows = norm_has_rows(s);
    gr_real *dgamma = gr_grad(t, node->in[1]), *dbeta = gr_grad(t, node->in[2]);
    norm_call c = norm_call_of(t, s, node->in[0]->data);
    c.sums = gr_scratch(t), c.rows = rows && (dgamma || dbeta) ? c.sums + 2 * s->groups : NULL;
    if (!s->count || !s->groups) return;
    c.dy = gr_grad(t, node->out[0]), c.dx = s->I > 1 ? gr__grad_to_fill(t, node->in[0], &c.fresh) : gr_grad(t, node->in[0]);
    norm_run_chunks(t, &c, 0.5);
    const size_t n = s->of_groups * s->per_group, all = s->groups * s->per_group; /* sums [2, all / n, n], or rows [units, 2, n] */
    const size_t parts = rows ? c.units : all / n, stride = rows ? 2 * n : n;
    const gr_real *const s1 = rows ? c.rows : c.sums, *const s2 = s1 + (rows ? n : all);
    if (dbeta) gr__add_parts(t, dbeta, s1, parts, stride, n);
    if (dgamma) gr__add_parts(t, dgamma, s2, parts, stride, n);
}
#endif
