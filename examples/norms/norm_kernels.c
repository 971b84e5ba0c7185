/* examples/norms/norm_kernels.c - other ways to write LayerNorm. The file is compiled for each instruction set, like the library's operators.
 *
 * With xhat = (x - mean) * rstd, g = gamma * dy, d the divisor of the variance (N or N - 1), and slope = rstd if eps is inside the root,
 * 1 / sqrt(var) if it is outside:
 *     dx = rstd * (g - mean(g) - (x - mean) * slope * sum(g * xhat) / d)
 * Forward saves mean, rstd and slope / d of each row. */
#include "core/maths.h"
#include "core/op.h"
#include "examples/norms/norm.h"

typedef struct {
    gr_real mean, squares;
} norm_moments; /* squares is the sum of (x - mean)^2 */

INLINE norm_moments norm_one_pass(const gr_real *restrict x, size_t N)
{
    gr_real s, ss;
    SUM2(i, N, s, x[i], ss, r_square(x[i]));
    const gr_real mean = s / (gr_real)N;
    return (norm_moments){ mean, ss - mean * s };
}

INLINE norm_moments norm_two_pass(const gr_real *restrict x, size_t N)
{
    const gr_real mean = SUM(i, N, x[i]) / (gr_real)N;
    return (norm_moments){ mean, SUM(i, N, r_square(x[i] - mean)) };
}

INLINE norm_moments norm_residual(const gr_real *restrict x, size_t N)
{
    const gr_real m = SUM(i, N, x[i]) / (gr_real)N;
    gr_real d, dd;
    SUM2(i, N, d, x[i] - m, dd, r_square(x[i] - m));
    const gr_real e = d / (gr_real)N;
    return (norm_moments){ m + e, dd - e * d };
}

/* The moments of n + m values, from those of n and of m values. */
INLINE norm_moments norm_merge(norm_moments a, gr_real n, norm_moments b, gr_real m)
{
    const gr_real apart = b.mean - a.mean, part = n + m > 0 ? m / (n + m) : 0;
    return (norm_moments){ a.mean + apart * part, a.squares + b.squares + apart * apart * n * part };
}

INLINE norm_moments norm_welford(const gr_real *restrict x, size_t N)
{
    r_lanes mean = r_lanes_of(0), squares = r_lanes_of(0);
    size_t i = 0;
    for (gr_real n = 1; i + 16 <= N; i += 16, n++) {
        const gr_real per = 1 / n;
        r_lanes apart;
        KEEP_LOOP for (size_t l = 0; l < 16; l++) apart.v[l] = x[i + l] - mean.v[l];
        KEEP_LOOP for (size_t l = 0; l < 16; l++) mean.v[l] += apart.v[l] * per;
        KEEP_LOOP for (size_t l = 0; l < 16; l++) squares.v[l] += apart.v[l] * (x[i + l] - mean.v[l]);
    }
    const size_t left = N - i;
    gr_real n[16];
    norm_moments lane[16];
    for (size_t l = 0; l < 16; l++) {
        lane[l] = (norm_moments){ mean.v[l], squares.v[l] }, n[l] = (gr_real)(i / 16);
        if (l < left) lane[l] = norm_merge(lane[l], n[l], (norm_moments){ x[i + l], 0 }, 1), n[l]++;
    }
    for (size_t w = 8; w; w /= 2)
        for (size_t l = 0; l < w; l++) lane[l] = norm_merge(lane[l], n[l], lane[l + w], n[l + w]), n[l] += n[l + w];
    return lane[0];
}

/* x, y [rows, N]   stat [rows, 3] */
#define NORM_FORWARD(way) \
    KERNEL(void, norms_##way, gr_real *restrict y, gr_real *restrict stat, const gr_real *restrict x, const gr_real *restrict gamma, \
           const gr_real *restrict beta, size_t rows, size_t N, gr_real d, gr_real eps, int outside) \
    { \
        for (size_t r = 0; r < rows; r++, x += N, y += N, stat += 3) { \
            const norm_moments s = norm_##way(x, N); \
            const gr_real var = s.squares / d, mean = s.mean, sigma = outside ? r_sqrt(var) + eps : r_sqrt(var + eps); \
            const gr_real rstd = sigma == 0 ? 0 : 1 / sigma, slope = !outside ? rstd : var > 0 ? 1 / r_sqrt(var) : 0; \
            for (size_t i = 0; i < N; i++) y[i] = gamma[i] * ((x[i] - mean) * rstd) + beta[i]; \
            stat[0] = mean, stat[1] = rstd, stat[2] = d > 0 ? slope / d : 0; \
        } \
    }
NORM_FORWARD(one_pass)
NORM_FORWARD(two_pass)
NORM_FORWARD(welford)
NORM_FORWARD(residual)

/* dx and dgamma, dbeta may be NULL. */
KERNEL(void, norms_layer_norm_backward, gr_real *restrict dx, gr_real *restrict dgamma, gr_real *restrict dbeta, const gr_real *restrict dy,
       const gr_real *restrict stat, const gr_real *restrict x, const gr_real *restrict gamma, size_t rows, size_t N)
{
    for (size_t r = 0; r < rows; r++, x += N, dy += N, stat += 3) {
        const gr_real mean = stat[0], rstd = stat[1], slope = stat[2];
        if (dgamma)
            for (size_t i = 0; i < N; i++) dgamma[i] += dy[i] * ((x[i] - mean) * rstd), dbeta[i] += dy[i];
        if (!dx) continue;
        gr_real g, gx;
        SUM2(i, N, g, gamma[i] * dy[i], gx, gamma[i] * dy[i] * ((x[i] - mean) * rstd));
        g /= (gr_real)N, gx *= slope;
        for (size_t i = 0; i < N; i++) dx[i] += rstd * (gamma[i] * dy[i] - g - (x[i] - mean) * gx);
        dx += N;
    }
}

#if GR_HOST
typedef struct {
    gr_real *stat;
    size_t rows, N, chunk; /* chunk is the number of rows in a chunk */
} norm_saved;

typedef struct {
    const norm_saved *s;
    const norms_layer_norm_kind *kind;
    const gr_real *x, *gamma, *beta, *dy;
    gr_real *y, *dx, *part; /* part [chunks, 2, N], or NULL */
    int isa;
} norm_run;

static void norm_chunk(void *argument, size_t chunk, int thread)
{
    const norm_run *a = argument;
    const norm_saved *s = a->s;
    const gr_range rows = gr_chunk(chunk, s->chunk, s->rows);
    const size_t N = s->N, r = rows.first;
    const gr_real d = (gr_real)(N - a->kind->unbiased), eps = (gr_real)a->kind->eps;
    typedef void kernel(gr_real *restrict, gr_real *restrict, const gr_real *restrict, const gr_real *restrict, const gr_real *restrict,
                        size_t, size_t, gr_real, gr_real, int);
    kernel *const *const ways[] = { norms_one_pass, norms_two_pass, norms_welford, norms_residual };
    (void)thread;
    ways[a->kind->way][a->isa](a->y + r * N, s->stat + 3 * r, a->x + r * N, a->gamma, a->beta, rows.count, N, d, eps, a->kind->outside);
}

static void norm_chunk_back(void *argument, size_t chunk, int thread)
{
    const norm_run *a = argument;
    const norm_saved *s = a->s;
    const gr_range rows = gr_chunk(chunk, s->chunk, s->rows);
    const size_t N = s->N, r = rows.first;
    gr_real *part = a->part ? memset(a->part + chunk * 2 * N, 0, 2 * N * sizeof *part) : NULL;
    (void)thread;
    norms_layer_norm_backward[a->isa](a->dx ? a->dx + r * N : NULL, part, part ? part + N : NULL, a->dy + r * N, s->stat + 3 * r,
                                      a->x + r * N, a->gamma, rows.count, N);
}

static size_t norm_chunks(const norm_saved *s) { return gr_chunks(s->rows, s->chunk); }

static void norm_node(gr_tape *t, const gr_node *n)
{
    const norm_saved *s = n->saved;
    gr_real *const dgamma = gr_grad(t, n->in[1]), *const dbeta = gr_grad(t, n->in[2]);
    norm_run a = {
        .s = s, .x = n->in[0]->data, .gamma = n->in[1]->data, .dy = gr_grad(t, n->out[0]), .dx = gr_grad(t, n->in[0]), .isa = gr_isa(t)
    };
    if (dgamma || dbeta) a.part = gr_scratch(t);
    gr_parallel(t, norm_chunks(s), 0.5 * (double)(s->rows * s->N), norm_chunk_back, &a);
    for (size_t c = 0; a.part && c < norm_chunks(s); c++)
        for (size_t i = 0; i < s->N; i++) {
            if (dgamma) dgamma[i] += a.part[2 * c * s->N + i];
            if (dbeta) dbeta[i] += a.part[(2 * c + 1) * s->N + i];
        }
}

static size_t norm_scratch(const gr_node *n)
{
    const norm_saved *s = n->saved;
    return norm_chunks(s) * 2 * s->N * sizeof(gr_real);
}

static const gr_op norms_layer_norm_op = { .name = "norms_layer_norm", .backward = norm_node, .scratch = norm_scratch };

gr_tensor *norms_layer_norm(gr_tape *t, gr_tensor *x, gr_tensor *gamma, gr_tensor *beta, const norms_layer_norm_kind *kind)
{
    if (!gr_ready(t, &norms_layer_norm_op, x, gamma, beta)) return NULL;
    const size_t N = gr_size(x, -1);
    if (!x->len || gamma->len != N || beta->len != N)
        return gr_fail(t, &norms_layer_norm_op, "x is %s, so gamma and beta must have %zu values; got %s and %s", gr_shape_text(t, x), N,
                       gr_shape_text(t, gamma), gr_shape_text(t, beta));
    norm_saved s = { .rows = x->len / N, .N = N, .chunk = (x->len / N + 31) / 32 };
    if (s.chunk < (4096 + N - 1) / N) s.chunk = (4096 + N - 1) / N;
    s.stat = gr_save_reals(t, 3 * s.rows);
    gr_tensor *y = gr_empty_like(t, x);
    if (!y) return NULL;
    norm_run a = { .s = &s, .kind = kind, .x = x->data, .gamma = gamma->data, .beta = beta->data, .y = y->data, .isa = gr_isa(t) };
    gr_parallel(t, norm_chunks(&s), 0.3 * (double)x->len, norm_chunk, &a);
    return gr_record(t, &norms_layer_norm_op, &s, sizeof s, GR_OUT(y), GR_IN(x, gamma, beta));
}
#endif
