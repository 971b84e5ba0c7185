/* ops/layer_norm.c - zero mean and unit variance of each row, then scale and shift.   Ba, Kiros, Hinton 2016. Derivation: ops/layer_norm.md
 *
 * For each row of N values:          xhat = (x - mean(x)) * rstd,   rstd = 1 / sqrt(var(x) + eps)
 *                                    y    = gamma * xhat + beta
 * Backward, with g = gamma * dy:     dx     = rstd * (g - mean(g) - xhat * mean(g * xhat))
 *                                    dgamma = sum over rows of dy * xhat
 *                                    dbeta  = sum over rows of dy
 * The mean is kept in two parts, m + e: m is near the mean, and e = mean(x - m) is what m misses. x - m is exact or nearly so, and
 * (x - m) - e is accurate even if the mean is a hundred thousand standard deviations. The same pass gives the variance,
 * mean((x - m)^2) - e^2. m starts from x[0], so that a row of equal values has e = 0, variance 0 and xhat = 0 exactly.
 * Shapes: x, y [rows, N]; gamma, beta [N].   Kinks: where var + eps is 0, rstd is 0 by definition.
 * A row whose variance is too large or too small for gr_real is computed again, scaled (ops/norm_far.h).
 * Saved: m, e and rstd of each row, or zeros if the row was scaled. xhat is recomputed. ops/norm_rows.c cuts x into chunks of rows,
 * calls these kernels and adds up dgamma and dbeta.
 * KERNEL, INLINE, SUM2 and GR_HOST are in core/kernel.h: a kernel's name is a table, and name[gr_isa(t)] is its code for the processor. */
#include "core/maths.h"
#include "ops/norm_rows.h"

/* ---- One row ---- */

typedef struct { gr_real m, d, dd; } layer_norm_sums; /* m, sum(x - m), sum((x - m)^2) */

INLINE layer_norm_sums layer_norm_sums_of(const gr_real *x, gr_real m, size_t N)
{
    layer_norm_sums s = { .m = m };
    LONG_SUM2(i, N, s.d, x[i] - m, s.dd, r_square(x[i] - m));
    return s;
}

INLINE gr__row_stat layer_norm_statistics(layer_norm_sums s, size_t N, gr_real eps)
{
    const gr_real per = 1 / (gr_real)N, e = s.d * per, var = r_max(0, s.dd * per - e * e);
    return (gr__row_stat){ s.m, e, r_rstd(var + eps) };
}

INLINE gr_real layer_norm_xhat(gr_real x, gr__row_stat s) { return (x - s.m - s.e) * s.rstd; }

INLINE void layer_norm_row(gr_real *restrict y, gr__row_stat s, const gr_real *restrict x, const gr_real *restrict gamma,
                           const gr_real *restrict beta, size_t N)
{
    for (size_t i = 0; i < N; i++) y[i] = gamma[i] * layer_norm_xhat(x[i], s) + beta[i];
}

/* dx, or both of dgamma and dbeta, may be NULL. */
INLINE void layer_norm_row_backward(gr_real *restrict dx, gr_real *restrict dgamma, gr_real *restrict dbeta, const gr_real *restrict dy,
                                    gr__row_stat s, const gr_real *restrict x, const gr_real *restrict gamma, size_t N)
{
    const gr_real per = 1 / (gr_real)N;
    gr_real g = 0, gx = 0; /* mean(g) and mean(g * xhat) */
    if (dx) LONG_SUM2(i, N, g, gamma[i] * dy[i], gx, gamma[i] * dy[i] * layer_norm_xhat(x[i], s));
    g *= per, gx *= per;
    for (size_t i = 0; i < N; i += 16) R_FETCH(x, N + i), R_FETCH(dy, N + i); /* of the next row */
    for (size_t i = 0; i < N; i++) {
        const gr_real xhat = layer_norm_xhat(x[i], s);
        if (dx) dx[i] += s.rstd * (gamma[i] * dy[i] - g - xhat * gx);
        if (dgamma) dgamma[i] += dy[i] * xhat, dbeta[i] += dy[i];
    }
}

/* ---- All rows ---- */

/* m = x[0] + mean(x - x[0]) of two rows at once: while a sum of one row waits for its last addition, the processor adds to the other's. */
INLINE void layer_norm_near_means(gr_real m[2], const gr_real *x0, const gr_real *x1, size_t N)
{
    const gr_real per = 1 / (gr_real)N;
    LONG_SUM2(i, N, m[0], x0[i] - x0[0], m[1], x1[i] - x1[0]);
    m[0] = x0[0] + m[0] * per, m[1] = x1[0] + m[1] * per;
}

/* For each row:  m = a value near mean(x);  sums(x - m);  m, e, rstd from the sums;  y from x, m, e, rstd.
 * Long rows that come from memory are read one after the other, in half to two thirds of the time, and each fetches what is R_AHEAD values further on.
 * Of others four rows, each pass over all of them before the next pass: one row after the other takes up to 1.4 times as long, because the processor
 * waits at the end of each sum. If fewer than four rows are left, the last one stands for those that are missing. Returns a value other than 0 if a row
 * is far (ops/norm_far.h). */
KERNEL(int, layer_norm_forward, gr_real *restrict y, gr__row_stat *restrict stat, const gr_real *restrict x, const gr_real *restrict gamma,
       const gr_real *restrict beta, size_t rows, size_t N, gr_real eps) /* x, y [rows, N] */
{
    int far = 0;
    if (N >= 512 && rows * N >= 1 << 16) {
        for (size_t r = 0; r < rows; r++, x += N, y += N, stat++) {
            *stat = layer_norm_statistics(layer_norm_sums_of(x, x[0] + LONG_SUM(i, N, x[i] - x[0]) * (1 / (gr_real)N), N), N, eps);
            for (size_t i = 0; i < N; i += 16) R_FETCH(x, R_AHEAD + i);
            layer_norm_row(y, *stat, x, gamma, beta, N);
            far |= far_from_1(stat->rstd);
        }
        return far;
    }
    for (size_t r = 0; r < rows; r += 4, x += 4 * N, y += 4 * N, stat += 4) {
        const size_t n = rows - r < 4 ? rows - r : 4;
        const gr_real *const x1 = x + (n > 1) * N, *const x2 = x1 + (n > 2) * N, *const x3 = x2 + (n > 3) * N;
        gr_real m[4];
        layer_norm_near_means(m, x, x1, N), layer_norm_near_means(m + 2, x2, x3, N);
        const layer_norm_sums sums[4] = { layer_norm_sums_of(x, m[0], N), layer_norm_sums_of(x1, m[1], N), layer_norm_sums_of(x2, m[2], N),
                                          layer_norm_sums_of(x3, m[3], N) };
        for (size_t k = 0; k < n; k++) {
            stat[k] = layer_norm_statistics(sums[k], N, eps);
            layer_norm_row(y + k * N, stat[k], x + k * N, gamma, beta, N);
            far |= far_from_1(stat[k].rstd);
        }
    }
    return far;
}

KERNEL(void, layer_norm_backward, gr_real *restrict dx, gr_real *restrict dgamma, gr_real *restrict dbeta, const gr_real *restrict dy,
       const gr__row_stat *restrict stat, const gr_real *restrict x, const gr_real *restrict gamma, size_t rows, size_t N)
{
    for (size_t r = 0; r < rows; r++, x += N, dy += N) {
        if (dx && dgamma) layer_norm_row_backward(dx, dgamma, dbeta, dy, stat[r], x, gamma, N);
        else if (dx) layer_norm_row_backward(dx, NULL, NULL, dy, stat[r], x, gamma, N);
        else if (dgamma) layer_norm_row_backward(NULL, dgamma, dbeta, dy, stat[r], x, gamma, N);
        if (dx) dx += N;
    }
}

#if GR_HOST
static void layer_norm_node(gr_tape *t, const gr_node *n) { gr__norm_rows_back(t, n, layer_norm_backward[gr_isa(t)]); }
static const gr_op layer_norm_op = { .name = "layer_norm", .backward = layer_norm_node, .scratch = gr__norm_rows_scratch };

gr_tensor *gr_layer_norm(gr_tape *t, gr_tensor *x, int trailing, gr_tensor *gamma, gr_tensor *beta, double eps)
{
    const gr_op *const op = &layer_norm_op;
    gr__norm_rows s = { 0 };
    if (!gr__norm_ready(t, op, x, gamma, beta) || !gr__norm_rows_of(t, op, x, trailing, eps, &s)) return NULL;
    if (!gr__norm_check_pair(t, op, x, "gamma and beta", gamma, beta, s.N) || !gr__norm_check_eps(t, op, eps)) return NULL;
    return gr__norm_rows_run(t, op, &s, layer_norm_forward[gr_isa(t)], 0.3 /* ns per value */, x, gamma, beta);
}
#endif
