/* ops/norm_far.c - norms of values whose squares leave the range of gr_real. The maths and the names: ops/norm_far.h, ops/norm_groups.h */
#include "ops/norm_far.h"
#include "core/maths.h"

#define FAR_EACH(v, k, i) \
    for (size_t k = 0; k < (v)->runs; k++) \
        for (size_t i = (v)->run[k].at, last_ = i + (v)->run[k].n * (v)->step; i < last_; i += (v)->step)

double gr__far_scale(double most)
{
    uint64_t u;
    memcpy(&u, &most, sizeof u);
    const uint64_t e = u >> 52 < 1 ? 1 : u >> 52 > 2045 ? 2045 : u >> 52;
    double s;
    u = (2046 - e) << 52;
    memcpy(&s, &u, sizeof s);
    return most > 0 ? s : 1;
}

gr__far_moments gr__far_finish(double scale, double m, double d, double dd, double n, double eps)
{
    const double e = d / n, q = dd / n - e * e, var = q > 0 ? q : 0, v = var + eps * scale * scale;
    return (gr__far_moments){ scale, m + e, v == 0 ? 0 : 1 / __builtin_sqrt(v), var };
}

bool gr__far_moments_of(gr__far_moments *f, const gr__far_values *v, gr_real eps, bool centred)
{
    double most = 0, m = 0, d = 0, dd = 0;
    *f = (gr__far_moments){ 0 };
    bool finite = v->count > 0;
    FAR_EACH(v, k, i)
    {
        const double a = (double)r_abs(v->x[i]);
        most = a > most ? a : most, finite = finite && a < (double)INFINITY;
    }
    if (!finite) return false;
    const double S = gr__far_scale(most), first = S * (double)v->x[v->run->at], n = (double)v->count;
    if (centred) FAR_EACH(v, k, i) m += S * (double)v->x[i] - first;
    m = centred ? first + m / n : 0;
    FAR_EACH(v, k, i)
    {
        const double z = S * (double)v->x[i] - m;
        d += centred ? z : 0, dd += z * z;
    }
    *f = gr__far_finish(S, m, d, dd, n, (double)eps);
    return true;
}

static double far_xhat(const gr__far_moments *f, gr_real x) { return (f->scale * (double)x - f->mean) * f->rstd; }

/* ---- Rows ---- */

bool gr__far_row(gr_real *y, const gr_real *x, const gr_real *gamma, const gr_real *beta, size_t N, gr_real eps, bool rms)
{
    const gr__far_values v = { x, &(gr__norm_run){ 0, N }, 1, 1, N };
    gr__far_moments f;
    if (!gr__far_moments_of(&f, &v, eps, !rms)) return false;
    for (size_t i = 0; i < N; i++) y[i] = gamma[i] * (gr_real)far_xhat(&f, x[i]) + (beta ? beta[i] : 0);
    return true;
}

void gr__far_row_backward(gr_real *dx, gr_real *dgamma, const gr_real *dy, const gr_real *x, const gr_real *gamma, size_t N, gr_real eps, bool rms)
{
    const gr__far_values v = { x, &(gr__norm_run){ 0, N }, 1, 1, N };
    gr__far_moments f;
    double g = 0, gx = 0;
    if (!gr__far_moments_of(&f, &v, eps, !rms)) return;
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

static bool far_row_moments(gr__far_moments *f, const gr_real *x, size_t N, bool centred)
{
    return gr__far_moments_of(f, &(gr__far_values){ x, &(gr__norm_run){ 0, N }, 1, 1, N }, 0, centred);
}

void gr__far_var(gr_real *y, const gr_real *x, size_t N, double correction)
{
    gr__far_moments f;
    if (far_row_moments(&f, x, N, true)) *y = (gr_real)(f.var * ((double)N / ((double)N - correction)) / f.scale / f.scale);
}

void gr__far_var_backward(gr_real *dx, const gr_real *x, size_t N, double factor)
{
    gr__far_moments f;
    const bool finite = far_row_moments(&f, x, N, true);
    for (size_t i = 0; i < N; i++) dx[i] += finite ? (gr_real)(factor * (f.scale * (double)x[i] - f.mean) / f.scale) : (gr_real)NAN;
}

void gr__far_norm_2(gr_real *y, const gr_real *x, size_t N)
{
    gr__far_moments f;
    if (far_row_moments(&f, x, N, false)) *y = (gr_real)(__builtin_sqrt(f.var * (double)N) / f.scale);
}

/* ---- Recurrent cells ---- */

void gr__far_cell(gr_real *moments, const gr_real *x, size_t N, gr_real eps)
{
    gr__far_moments f;
    if (!gr__far_moments_of(&f, &(gr__far_values){ x, &(gr__norm_run){ 0, N }, 1, 1, N }, eps, true)) return;
    moments[0] = (gr_real)(f.mean / f.scale), moments[1] = (gr_real)(f.rstd * f.scale);
}

void gr__far_column_moments(const gr__far_column *c, gr_real eps, gr_real *mean, gr_real *rstd, gr_real *var)
{
    double most = 0, m = 0, d = 0, dd = 0;
    size_t first = 0;
    if (!c->live) return;
    for (size_t r = 0; r < c->B; r++) {
        const double a = (double)r_abs(c->x[r * c->stride]);
        if (c->lengths && (size_t)c->lengths[r] <= c->time) continue;
        if (!(a < (double)INFINITY)) return;
        most = a > most ? a : most, first = r;
    }
    const double S = gr__far_scale(most), n = (double)c->live;
    m = S * (double)c->x[first * c->stride];
    for (int pass = 0; pass < 2; pass++) {
        m += d / n, d = dd = 0;
        for (size_t r = 0; r < c->B; r++) {
            if (c->lengths && (size_t)c->lengths[r] <= c->time) continue;
            const double z = S * (double)c->x[r * c->stride] - m;
            d += z, dd += z * z;
        }
    }
    const gr__far_moments f = gr__far_finish(S, m, d, dd, n, (double)eps);
    *mean = (gr_real)(f.mean / S), *rstd = (gr_real)(f.rstd * S), *var = (gr_real)(f.var / S / S);
}

/* ---- Groups ---- */

static gr__far_values far_group_values(const gr__norm_groups *s, const gr_real *x, size_t g, size_t *place)
{
    *place = g / s->K * (s->R * s->K * s->I) + g % s->K * s->I;
    return (gr__far_values){ x + *place, s->run, s->runs, s->I == 1 ? s->K : 1, s->count };
}

/* The gamma of a value: its group's, its run's (planes) or its row's (columns). */
static size_t far_group_affine(const gr__norm_groups *s, size_t g, size_t run, size_t row)
{
    return g % s->of_groups * s->per_group + (s->per_group == 1 ? 0 : s->I == 1 ? row : run);
}

void gr__far_group_stat(const gr__norm_groups *s, const gr_real *x, size_t g)
{
    const size_t G = s->groups;
    size_t place;
    const gr__far_values v = far_group_values(s, x, g, &place);
    gr__far_moments f;
    if (!gr__far_moments_of(&f, &v, s->eps, true)) return;
    s->stat[g] = s->stat[G + g] = s->stat[2 * G + g] = 0;
    s->stat[3 * G + g] = (gr_real)(f.var / f.scale / f.scale);
}

gr_real gr__far_group_mean(const gr__norm_groups *s, const gr_real *x, size_t g)
{
    size_t place;
    const gr__far_values v = far_group_values(s, x, g, &place);
    gr__far_moments f;
    const bool far = s->stat[2 * s->groups + g] == 0 && gr__far_moments_of(&f, &v, s->eps, true);
    return far ? (gr_real)(f.mean / f.scale) : s->stat[g] + s->stat[s->groups + g];
}

void gr__far_group(const gr__norm_groups *s, gr_real *y, const gr_real *x, size_t g)
{
    size_t place, row = 0;
    const gr__far_values v = far_group_values(s, x, g, &place);
    gr__far_moments f;
    if (!gr__far_moments_of(&f, &v, s->eps, true)) return;
    FAR_EACH(&v, k, i)
    {
        const size_t j = far_group_affine(s, g, k, row++);
        y[place + i] = (s->gamma ? s->gamma[j] : 1) * (gr_real)far_xhat(&f, v.x[i]) + (s->beta ? s->beta[j] : 0);
    }
}

void gr__far_group_backward(const gr__norm_groups *s, gr_real *dx, gr_real *sums, gr_real *rows, const gr_real *dy, const gr_real *x, size_t g)
{
    const bool by_run = s->per_group > 1 && s->I > 1, by_row = s->per_group > 1 && s->I == 1;
    const size_t half = s->groups * (by_run ? s->per_group : 1);
    double mean = 0, slope = 0, s1 = 0, s2 = 0;
    size_t place, row = 0;
    const gr__far_values v = far_group_values(s, x, g, &place);
    gr__far_moments f;
    if (!gr__far_moments_of(&f, &v, s->eps, true)) return;
    FAR_EACH(&v, k, i)
    {
        const size_t to = by_run ? g * s->per_group + k : g;
        const double gamma = s->gamma ? (double)s->gamma[far_group_affine(s, g, k, row)] : 1;
        const double d = (double)dy[place + i], xhat = far_xhat(&f, v.x[i]), w = by_row ? gamma * d : d;
        if (by_run && i == v.run[k].at) s1 = s2 = 0;
        mean += gamma * d, slope += gamma * d * xhat, s1 += w, s2 += w * xhat;
        sums[to] = (gr_real)s1, sums[half + to] = (gr_real)s2;
        if (rows) rows[s->per_group + row] += (gr_real)(d * xhat); /* the kernel has added dy to rows[row] */
        row++;
    }
    mean /= (double)s->count, slope /= (double)s->count, row = 0;
    if (!dx) return;
    FAR_EACH(&v, k, i)
    {
        const double gamma = s->gamma ? (double)s->gamma[far_group_affine(s, g, k, row++)] : 1;
        dx[place + i] += (gr_real)(f.scale * (f.rstd * (gamma * (double)dy[place + i] - mean - far_xhat(&f, v.x[i]) * slope)));
    }
}
