/* ops/norm_far.c - norms of values whose squares leave the range of gr_real. The maths and the names are in ops/norm_far.h and
 * ops/norm_groups.h. */
#include "ops/norm_far.h"
#include "core/maths.h"

/* Values that share a mean: for each run x[at + i step], i < n. If lengths is given, the values are rows of a batch, and only those count whose
 * sequence is longer than time. */
typedef struct {
    const gr_real *x;
    const gr__norm_run *run;
    size_t runs, step, count; /* count: how many values count */
    const int *lengths;       /* [rows], or NULL */
    size_t time;
} far_values;

typedef struct { double scale, mean, rstd, var; } far_moments; /* of scale * x; scale is 0 when a value is not finite */

#define FAR_EACH(v, k, i) \
    for (size_t k = 0; k < (v)->runs; k++) \
        for (size_t i = (v)->run[k].at, last_ = i + (v)->run[k].n * (v)->step; i < last_; i += (v)->step) \
            if (!(v)->lengths || (size_t)(v)->lengths[i / (v)->step] > (v)->time)

/* The power of two that brings `most` into [1, 2); 1 for 0. */
static double far_scale(double most)
{
    uint64_t u;
    memcpy(&u, &most, sizeof u);
    const uint64_t e = u >> 52 < 1 ? 1 : u >> 52 > 2045 ? 2045 : u >> 52;
    double s;
    u = (2046 - e) << 52;
    memcpy(&s, &u, sizeof s);
    return most > 0 ? s : 1;
}

/* centred false: mean is 0, and var the mean of the squares. */
static far_moments far_moments_of(const far_values *v, gr_real eps, bool centred)
{
    double most = 0, m = 0, d = 0, dd = 0;
    size_t first = SIZE_MAX;
    bool finite = v->count > 0;
    FAR_EACH(v, k, i) {
        const double a = (double)r_abs(v->x[i]);
        most = a > most ? a : most, finite = finite && a < (double)INFINITY, first = i < first ? i : first;
    }
    if (!finite) return (far_moments){ 0 };
    const double S = far_scale(most), x0 = S * (double)v->x[first], n = (double)v->count;
    if (centred) FAR_EACH(v, k, i) m += S * (double)v->x[i] - x0;
    m = centred ? x0 + m / n : 0;
    FAR_EACH(v, k, i) {
        const double z = S * (double)v->x[i] - m;
        d += centred ? z : 0, dd += z * z;
    }
    const double e = d / n, q = dd / n - e * e, var = q > 0 ? q : 0, root = var + (double)eps * S * S;
    return (far_moments){ S, m + e, root == 0 ? 0 : 1 / __builtin_sqrt(root), var };
}

static double far_xhat(const far_moments *f, gr_real x) { return (f->scale * (double)x - f->mean) * f->rstd; }

/* ---- Rows ---- */

/* N values, step apart */
static far_moments far_row(const gr_real *x, size_t N, size_t step, gr_real eps, bool centred)
{
    return far_moments_of(&(far_values){ .x = x, .run = &(gr__norm_run){ 0, N }, .runs = 1, .step = step, .count = N }, eps, centred);
}

bool gr__far_row(gr_real *y, const gr_real *x, const gr_real *gamma, const gr_real *beta, size_t N, gr_real eps, bool rms)
{
    const far_moments f = far_row(x, N, 1, eps, !rms);
    if (f.scale == 0) return false;
    for (size_t i = 0; i < N; i++) y[i] = gamma[i] * (gr_real)far_xhat(&f, x[i]) + (beta ? beta[i] : 0);
    return true;
}

void gr__far_row_backward(gr_real *dx, gr_real *dgamma, const gr_real *dy, const gr_real *x, const gr_real *gamma, size_t N, gr_real eps, bool rms)
{
    const far_moments f = far_row(x, N, 1, eps, !rms);
    double g = 0, gx = 0;
    if (f.scale == 0) return;
    for (size_t i = 0; i < N; i++) {
        const double d = (double)gamma[i] * (double)dy[i];
        g += rms ? 0 : d, gx += d * far_xhat(&f, x[i]);
    }
    g /= (double)N, gx /= (double)N;
    for (size_t i = 0; i < N; i++) {
        const double d = (double)gamma[i] * (double)dy[i], xhat = far_xhat(&f, x[i]);
        if (dx) dx[i] += (gr_real)(f.scale * (f.rstd * (d - g - xhat * gx)));
        if (dgamma) dgamma[i] += dy[i] * (gr_real)xhat;
    }
}

gr_real gr__far_var(gr_real y, const gr_real *x, size_t N, size_t step, double correction)
{
    const far_moments f = far_row(x, N, step, 0, true);
    return f.scale > 0 ? (gr_real)(f.var * ((double)N / ((double)N - correction)) / f.scale / f.scale) : y;
}

void gr__far_var_backward(gr_real *dx, const gr_real *x, size_t N, size_t step, double factor)
{
    const far_moments f = far_row(x, N, step, 0, true);
    for (size_t i = 0; i < N * step; i += step) dx[i] += f.scale > 0 ? (gr_real)(factor * (f.scale * (double)x[i] - f.mean) / f.scale) : (gr_real)NAN;
}

gr_real gr__far_norm_2(gr_real y, const gr_real *x, size_t N)
{
    const far_moments f = far_row(x, N, 1, 0, false);
    return f.scale > 0 ? (gr_real)(__builtin_sqrt(f.var * (double)N) / f.scale) : y;
}

/* ---- Recurrent cells ---- */

void gr__far_cell(gr_real *moments, const gr_real *x, size_t N, gr_real eps)
{
    const far_moments f = far_row(x, N, 1, eps, true);
    if (f.scale > 0) moments[0] = (gr_real)(f.mean / f.scale), moments[1] = (gr_real)(f.rstd * f.scale);
}

void gr__far_column(const gr__far_column_of *c, gr_real eps, gr_real *mean, gr_real *rstd, gr_real *var)
{
    const far_values v = { c->x, &(gr__norm_run){ 0, c->B }, 1, c->stride, c->live, c->lengths, c->time };
    const far_moments f = far_moments_of(&v, eps, true);
    if (f.scale > 0) *mean = (gr_real)(f.mean / f.scale), *rstd = (gr_real)(f.rstd * f.scale), *var = (gr_real)(f.var / f.scale / f.scale);
}

/* ---- Groups ---- */

typedef struct {
    size_t place; /* where the group begins in x */
    far_values v;
    far_moments f;
} far_group;

static far_group far_group_of(const gr__norm_groups *s, const gr_real *x, size_t g)
{
    const size_t place = g / s->K * (s->R * s->K * s->I) + g % s->K * s->I;
    const far_values v = { .x = x + place, .run = s->run, .runs = s->runs, .step = s->I == 1 ? s->K : 1, .count = s->count };
    return (far_group){ place, v, far_moments_of(&v, s->eps, true) };
}

/* Which gamma a value has: that of its group, of its run (in planes) or of its row (in columns). */
static size_t far_group_affine(const gr__norm_groups *s, size_t g, size_t run, size_t row)
{
    return g % s->of_groups * s->per_group + (s->per_group == 1 ? 0 : s->I == 1 ? row : run);
}

void gr__far_group_stat(const gr__norm_groups *s, const gr_real *x, size_t g)
{
    const size_t G = s->groups;
    const far_moments f = far_group_of(s, x, g).f;
    if (f.scale == 0) return;
    s->stat[g] = s->stat[G + g] = s->stat[2 * G + g] = 0;
    s->stat[3 * G + g] = (gr_real)(f.var / f.scale / f.scale);
}

gr_real gr__far_group_mean(const gr__norm_groups *s, const gr_real *x, size_t g)
{
    const far_moments f = s->stat[2 * s->groups + g] == 0 ? far_group_of(s, x, g).f : (far_moments){ 0 };
    return f.scale > 0 ? (gr_real)(f.mean / f.scale) : s->stat[g] + s->stat[s->groups + g];
}

void gr__far_group(const gr__norm_groups *s, gr_real *y, const gr_real *x, size_t g)
{
    const far_group q = far_group_of(s, x, g);
    size_t row = 0;
    if (q.f.scale == 0) return;
    FAR_EACH(&q.v, k, i) {
        const size_t j = far_group_affine(s, g, k, row++);
        y[q.place + i] = (s->gamma ? s->gamma[j] : 1) * (gr_real)far_xhat(&q.f, q.v.x[i]) + (s->beta ? s->beta[j] : 0);
    }
}

void gr__far_group_backward(const gr__norm_groups *s, gr_real *dx, gr_real *sums, gr_real *rows, const gr_real *dy, const gr_real *x, size_t g)
{
    const bool by_run = s->per_group > 1 && s->I > 1, by_row = s->per_group > 1 && s->I == 1;
    const size_t half = s->groups * (by_run ? s->per_group : 1);
    double mean = 0, slope = 0, s1 = 0, s2 = 0;
    size_t row = 0;
    const far_group q = far_group_of(s, x, g);
    if (q.f.scale == 0) return;
    FAR_EACH(&q.v, k, i) {
        const size_t to = by_run ? g * s->per_group + k : g;
        const double gamma = s->gamma ? (double)s->gamma[far_group_affine(s, g, k, row)] : 1;
        const double d = (double)dy[q.place + i], xhat = far_xhat(&q.f, q.v.x[i]), w = by_row ? gamma * d : d;
        if (by_run && i == q.v.run[k].at) s1 = s2 = 0;
        mean += gamma * d, slope += gamma * d * xhat, s1 += w, s2 += w * xhat;
        sums[to] = (gr_real)s1, sums[half + to] = (gr_real)s2;
        if (rows) rows[s->per_group + row] += (gr_real)(d * xhat); /* the kernel has added dy to rows[row] */
        row++;
    }
    mean /= (double)s->count, slope /= (double)s->count, row = 0;
    if (!dx) return;
    FAR_EACH(&q.v, k, i) {
        const double gamma = s->gamma ? (double)s->gamma[far_group_affine(s, g, k, row++)] : 1;
        const double d = gamma * (double)dy[q.place + i] - mean - far_xhat(&q.f, q.v.x[i]) * slope;
        dx[q.place + i] += (gr_real)(q.f.scale * (q.f.rstd * d));
    }
}
