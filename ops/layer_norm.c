/* ops/layer_norm.c - zero mean and unit variance over the last axes, then scale and shift.          Derivation: ops/layer_norm.md
 *
 * Per row of N values:               xhat = (x - mean(x)) * rstd,   rstd = 1 / sqrt(var(x) + eps)
 *                                    y    = gamma * xhat + beta
 * Backward, with g = gamma * dy:     dx     = rstd * (g - mean(g) - xhat * mean(g * xhat))
 *                                    dgamma = sum over rows of dy * xhat
 *                                    dbeta  = sum over rows of dy
 * The mean is kept in two parts, m + e: m is near it, and e = mean(x - m) is what m misses. x - m is exact or nearly so, and
 * (x - m) - e is accurate even where the mean is a hundred thousand standard deviations. The variance, mean((x - m)^2) - e^2,
 * takes the same pass. m starts from x[0], so that a row of equal values has e = 0, variance 0 and xhat = 0 exactly. Where
 * var + eps is 0, rstd is 0 by definition. A row whose variance is too large or too small for gr_real is taken again, scaled.
 * Saved: m, e and rstd of each row, 0 where it was scaled. xhat is recomputed. */
#include "core/maths.h"
#include "core/op.h"
#include "ops/norm_far.h"
#include "ops/ops.h"

/* Four rows at a time, so that the sums of one fill the waits of another; where fewer are left, the last one again. Not 0: a row is far. */
KERNEL(int, layer_norm_forward, gr_real *restrict y, gr_real *restrict stat, const gr_real *restrict x, const gr_real *restrict gamma,
       const gr_real *restrict beta, size_t rows, size_t N, gr_real eps) /* x, y [rows, N]   stat [rows, 3] */
{
    const gr_real per = 1 / (gr_real)N;
    int far = 0;
    for (size_t r = 0; r < rows; r += 4, x += 4 * N, y += 4 * N, stat += 12) {
        const size_t left = rows - r;
        const gr_real *const x0 = x, *const x1 = x0 + (left > 1) * N, *const x2 = x1 + (left > 2) * N, *const x3 = x2 + (left > 3) * N;
        gr_real m0, m1, m2, m3, d[4], dd[4];
        SUM2(i, N, m0, x0[i] - x0[0], m1, x1[i] - x1[0]);
        SUM2(i, N, m2, x2[i] - x2[0], m3, x3[i] - x3[0]);
        m0 = x0[0] + m0 * per, m1 = x1[0] + m1 * per, m2 = x2[0] + m2 * per, m3 = x3[0] + m3 * per;
        SUM2(i, N, d[0], x0[i] - m0, dd[0], r_square(x0[i] - m0));
        SUM2(i, N, d[1], x1[i] - m1, dd[1], r_square(x1[i] - m1));
        SUM2(i, N, d[2], x2[i] - m2, dd[2], r_square(x2[i] - m2));
        SUM2(i, N, d[3], x3[i] - m3, dd[3], r_square(x3[i] - m3));
        const gr_real m[4] = { m0, m1, m2, m3 };
        for (size_t k = 0; k < 4 && k < left; k++) {
            const gr_real e = d[k] * per, v = r_max(0, dd[k] * per - e * e) + eps, rstd = v == 0 ? 0 : 1 / r_sqrt(v);
            for (size_t i = 0; i < N; i++) y[k * N + i] = gamma[i] * ((x[k * N + i] - m[k] - e) * rstd) + beta[i];
            stat[3 * k] = m[k], stat[3 * k + 1] = e, stat[3 * k + 2] = rstd;
            far |= far_from_1(rstd);
        }
    }
    return far;
}

/* dx, or both of dgamma and dbeta, may be NULL. */
KERNEL(void, layer_norm_backward, gr_real *restrict dx, gr_real *restrict dgamma, gr_real *restrict dbeta, const gr_real *restrict dy,
       const gr_real *restrict stat, const gr_real *restrict x, const gr_real *restrict gamma, size_t rows, size_t N)
{
#define XHAT(i) ((x[i] - m - e) * rstd)
#define DX(i) (rstd * (gamma[i] * dy[i] - g - XHAT(i) * gx))
    const gr_real per = 1 / (gr_real)N;
    for (size_t r = 0; r < rows; r++, x += N, dy += N, stat += 3) {
        const gr_real m = stat[0], e = stat[1], rstd = stat[2];
        gr_real g = 0, gx = 0;
        if (dx) SUM2(i, N, g, gamma[i] * dy[i], gx, gamma[i] * dy[i] * XHAT(i));
        g *= per, gx *= per;
        if (dx && dgamma)
            for (size_t i = 0; i < N; i++) dx[i] += DX(i), dgamma[i] += dy[i] * XHAT(i), dbeta[i] += dy[i];
        else if (dx)
            for (size_t i = 0; i < N; i++) dx[i] += DX(i);
        else if (dgamma)
            for (size_t i = 0; i < N; i++) dgamma[i] += dy[i] * XHAT(i), dbeta[i] += dy[i];
        if (dx) dx += N;
    }
#undef DX
#undef XHAT
}

/* ---- RMS norm: y = gamma * x * rstd, rstd = 1 / sqrt(mean(x^2) + eps);  dx = rstd * (g - xhat * mean(g * xhat)).  stat [rows] ---- */

KERNEL(int, rms_norm_forward, gr_real *restrict y, gr_real *restrict stat, const gr_real *restrict x, const gr_real *restrict gamma,
       size_t rows, size_t N, gr_real eps)
{
    int far = 0;
    for (size_t r = 0; r < rows; r++, x += N, y += N) {
        const gr_real v = SUM(i, N, r_square(x[i])) / (gr_real)N + eps, rstd = stat[r] = v == 0 ? 0 : 1 / r_sqrt(v);
        far |= far_from_1(rstd);
        for (size_t i = 0; i < N; i++) y[i] = gamma[i] * (x[i] * rstd);
    }
    return far;
}

/* dx or dgamma may be NULL. */
KERNEL(void, rms_norm_backward, gr_real *restrict dx, gr_real *restrict dgamma, const gr_real *restrict dy, const gr_real *restrict stat,
       const gr_real *restrict x, const gr_real *restrict gamma, size_t rows, size_t N)
{
    for (size_t r = 0; r < rows; r++, x += N, dy += N) {
        const gr_real rstd = stat[r], gx = dx ? SUM(i, N, gamma[i] * dy[i] * (x[i] * rstd)) / (gr_real)N : 0;
        if (dx && dgamma)
            for (size_t i = 0; i < N; i++) dx[i] += rstd * (gamma[i] * dy[i] - x[i] * rstd * gx), dgamma[i] += dy[i] * (x[i] * rstd);
        else if (dx)
            for (size_t i = 0; i < N; i++) dx[i] += rstd * (gamma[i] * dy[i] - x[i] * rstd * gx);
        else if (dgamma)
            for (size_t i = 0; i < N; i++) dgamma[i] += dy[i] * (x[i] * rstd);
        if (dx) dx += N;
    }
}

/* sum[i] += part[0][i] + part[1][i] + ..., in this order. */
KERNEL(void, layer_norm_add, gr_real *restrict sum, const gr_real *restrict part, size_t parts, size_t stride, size_t n)
{
    for (size_t p = 0; p < parts; p++, part += stride)
        for (size_t i = 0; i < n; i++) sum[i] += part[i];
}

#if GR_HOST
typedef struct {
    gr_real *stat;
    const gr_real *gamma;  /* the caller's values, or ones */
    size_t rows, N, chunk; /* chunk: rows to a chunk */
    gr_real eps;
    bool rms, *far;        /* [chunks]: whether one has rows that are far (ops/norm_far.h) */
} layer_norm_saved;

/* ---- Forward ---- */

typedef struct {
    const layer_norm_saved *s;
    gr_real *y;
    const gr_real *x, *beta;
    int isa;
} layer_norm_run;

static void layer_norm_chunk(void *argument, size_t chunk, int thread)
{
    const layer_norm_run *a = argument;
    const layer_norm_saved *s = a->s;
    const size_t r = chunk * s->chunk, rows = s->rows - r < s->chunk ? s->rows - r : s->chunk;
    (void)thread;
    if (s->rms) s->far[chunk] = rms_norm_forward[a->isa](a->y + r * s->N, s->stat + r, a->x + r * s->N, s->gamma, rows, s->N, s->eps);
    else
        s->far[chunk] = layer_norm_forward[a->isa](a->y + r * s->N, s->stat + 3 * r, a->x + r * s->N, s->gamma, a->beta, rows, s->N, s->eps);
    for (size_t i = r; s->far[chunk] && i < r + rows; i++) {
        gr_real *const stat = s->stat + i * (s->rms ? 1 : 3), *const rstd = s->rms ? stat : stat + 2;
        if (!far_from_1(*rstd) || !gr__far_row(a->y + i * s->N, a->x + i * s->N, s->gamma, a->beta, s->N, s->eps, s->rms)) continue;
        stat[0] = *rstd = 0;
        if (!s->rms) stat[1] = 0;
    }
}

/* ---- Backward: each chunk of rows adds up its own part of dgamma and dbeta; the parts are added in order ---- */

enum { LAYER_NORM_PARTS = 32, LAYER_NORM_VALUES = 4096, LAYER_NORM_COLUMNS = 1024 };

/* Few parts, since each holds 2N sums; and no chunk smaller than it is worth. */
static size_t layer_norm_chunk_rows(size_t rows, size_t N)
{
    const size_t by_parts = (rows + LAYER_NORM_PARTS - 1) / LAYER_NORM_PARTS, by_values = N ? (LAYER_NORM_VALUES + N - 1) / N : 1;
    return by_parts > by_values ? by_parts : by_values;
}

static size_t layer_norm_chunks(const layer_norm_saved *s) { return s->N ? (s->rows + s->chunk - 1) / s->chunk : 0; }

typedef struct {
    const layer_norm_saved *s;
    gr_real *dx, *dgamma, *dbeta, *part; /* part [chunks, 2, N], or NULL */
    const gr_real *dy, *x;
    int isa;
} layer_norm_back;

static void layer_norm_chunk_back(void *argument, size_t chunk, int thread)
{
    const layer_norm_back *a = argument;
    const layer_norm_saved *s = a->s;
    const size_t N = s->N, r = chunk * s->chunk, rows = s->rows - r < s->chunk ? s->rows - r : s->chunk;
    gr_real *part = a->part ? memset(a->part + chunk * 2 * N, 0, 2 * N * sizeof *part) : NULL;
    (void)thread;
    if (s->rms) rms_norm_backward[a->isa](a->dx ? a->dx + r * N : NULL, part, a->dy + r * N, s->stat + r, a->x + r * N, s->gamma, rows, N);
    else
        layer_norm_backward[a->isa](a->dx ? a->dx + r * N : NULL, part, part ? part + N : NULL, a->dy + r * N, s->stat + 3 * r,
                                    a->x + r * N, s->gamma, rows, N);
    for (size_t i = r; s->far[chunk] && i < r + rows; i++)
        if (s->stat[s->rms ? i : 3 * i + 2] == 0)
            gr__far_row_backward(a->dx ? a->dx + i * N : NULL, part, a->dy + i * N, a->x + i * N, s->gamma, N, s->eps, s->rms);
}

static void layer_norm_columns(void *argument, size_t block, int thread)
{
    const layer_norm_back *a = argument;
    const size_t N = a->s->N, i = block * LAYER_NORM_COLUMNS, n = N - i < LAYER_NORM_COLUMNS ? N - i : LAYER_NORM_COLUMNS;
    (void)thread;
    if (a->dgamma) layer_norm_add[a->isa](a->dgamma + i, a->part + i, layer_norm_chunks(a->s), 2 * N, n);
    if (a->dbeta) layer_norm_add[a->isa](a->dbeta + i, a->part + N + i, layer_norm_chunks(a->s), 2 * N, n);
}

static void layer_norm_node(gr_tape *t, const gr_node *n)
{
    const layer_norm_saved *s = n->saved;
    const size_t chunks = layer_norm_chunks(s);
    layer_norm_back a = { .s = s,
                          .dx = gr_grad(t, n->in[0]),
                          .dgamma = gr_grad(t, n->in[1]),
                          .dy = gr_grad(t, n->out[0]),
                          .x = n->in[0]->data,
                          .isa = gr_isa(t) };
    if (!s->rms) a.dbeta = gr_grad(t, n->in[2]);
    if (a.dgamma || a.dbeta) a.part = gr_scratch(t);
    gr_parallel(t, chunks, 0.5 * (double)(s->rows * s->N), layer_norm_chunk_back, &a);
    if (a.part) gr_parallel(t, (s->N + LAYER_NORM_COLUMNS - 1) / LAYER_NORM_COLUMNS, 0.1 * (double)(chunks * s->N), layer_norm_columns, &a);
}

static size_t layer_norm_scratch(const gr_node *n)
{
    const layer_norm_saved *s = n->saved;
    return n->in[1] || (!s->rms && n->in[2]) ? layer_norm_chunks(s) * 2 * s->N * sizeof(gr_real) : 0;
}

static const gr_op layer_norm_op = { .name = "layer_norm", .backward = layer_norm_node, .scratch = layer_norm_scratch };
static const gr_op rms_norm_op = { .name = "rms_norm", .backward = layer_norm_node, .scratch = layer_norm_scratch };

static const gr_real *layer_norm_values(gr_tape *t, const gr_tensor *given, size_t N, gr_real otherwise)
{
    if (given) return given->data;
    gr_real *v = gr_save_reals(t, N);
    for (size_t i = 0; v && i < N; i++) v[i] = otherwise;
    return v;
}

/* x's sizes; false when there are no such axes. */
static bool layer_norm_sizes(gr_tape *t, const gr_op *op, const gr_tensor *x, int axes, layer_norm_saved *s)
{
    if (!x->rank) return gr_fail(t, op, "x is [], which has no axis to normalize");
    if (axes < 1 || axes > x->rank)
        return gr_fail(t, op, "x is %s, so 1 to %d of its last axes can be normalized; got %d", gr_shape_text(t, x), x->rank, axes);
    s->rows = s->N = 1;
    for (int i = 0; i < x->rank; i++) *(i < x->rank - axes ? &s->rows : &s->N) *= x->dim[i];
    if (!s->N) s->rows = 0;
    s->chunk = layer_norm_chunk_rows(s->rows, s->N);
    return true;
}

gr_tensor *gr_layer_norm(gr_tape *t, gr_tensor *x, int axes, gr_tensor *gamma, gr_tensor *beta, double eps)
{
    layer_norm_saved s = { 0 };
    if (!gr_ready(t, &layer_norm_op, x) || !gr_alive(t, &layer_norm_op, "gamma", gamma) || !gr_alive(t, &layer_norm_op, "beta", beta)) return NULL;
    if (!layer_norm_sizes(t, &layer_norm_op, x, axes, &s)) return NULL;
    if ((gamma && gamma->len != s.N) || (beta && beta->len != s.N))
        return gr_fail(t, &layer_norm_op, "x is %s, so gamma and beta must hold %zu values; got %s and %s", gr_shape_text(t, x), s.N,
                       gr_shape_text(t, gamma), gr_shape_text(t, beta));
    if (!(eps >= 0)) return gr_fail(t, &layer_norm_op, "eps must be 0 or more; got %g", eps);

    s.eps = (gr_real)eps;
    s.stat = gr_save_reals(t, 3 * s.rows), s.far = gr_save(t, layer_norm_chunks(&s) * sizeof *s.far);
    s.gamma = layer_norm_values(t, gamma, s.rows ? s.N : 0, 1);
    const gr_real *shift = layer_norm_values(t, beta, s.rows ? s.N : 0, 0);
    gr_tensor *y = gr_empty_like(t, x);
    if (!y) return NULL;

    layer_norm_run a = { &s, y->data, x->data, shift, gr_isa(t) };
    gr_parallel(t, layer_norm_chunks(&s), 0.3 * (double)x->len, layer_norm_chunk, &a);
    return gr_record(t, &layer_norm_op, &s, sizeof s, GR_OUT(y), GR_IN(x, gamma, beta));
}

gr_tensor *gr_rms_norm(gr_tape *t, gr_tensor *x, int axes, gr_tensor *gamma, double eps)
{
    layer_norm_saved s = { .rms = true };
    if (!gr_ready(t, &rms_norm_op, x) || !gr_alive(t, &rms_norm_op, "gamma", gamma) || !layer_norm_sizes(t, &rms_norm_op, x, axes, &s)) return NULL;
    if (gamma && gamma->len != s.N)
        return gr_fail(t, &rms_norm_op, "x is %s, so gamma must hold %zu values; got %s", gr_shape_text(t, x), s.N,
                       gr_shape_text(t, gamma));
    if (!(eps >= 0)) return gr_fail(t, &rms_norm_op, "eps must be 0 or more; got %g", eps);

    s.eps = (gr_real)eps;
    s.stat = gr_save_reals(t, s.rows), s.far = gr_save(t, layer_norm_chunks(&s) * sizeof *s.far);
    s.gamma = layer_norm_values(t, gamma, s.rows ? s.N : 0, 1);
    gr_tensor *y = gr_empty_like(t, x);
    if (!y) return NULL;

    layer_norm_run a = { &s, y->data, x->data, NULL, gr_isa(t) };
    gr_parallel(t, layer_norm_chunks(&s), 0.2 * (double)x->len, layer_norm_chunk, &a);
    return gr_record(t, &rms_norm_op, &s, sizeof s, GR_OUT(y), GR_IN(x, gamma));
}
#endif
