/* ops/rms_norm.c - unit mean square of each row, then scale.    Zhang, Sennrich 2019. Derivation: ops/derivations.md
 *
 * For each row of N values:          xhat = x * rstd,   rstd = 1 / sqrt(mean(x^2) + eps)
 *                                    y    = gamma * xhat
 * Backward, with g = gamma * dy:     dx     = rstd * (g - xhat * mean(g * xhat))
 *                                    dgamma = sum over rows of dy * xhat
 * It is layer norm without the mean. A row whose mean square is too large or too small for gr_real is computed again, scaled (ops/norm_far.h).
 * Shapes: x, y [rows, N]; gamma [N].   Kinks: where mean(x^2) + eps is 0, rstd is 0 by definition.
 * Saved: rstd of each row; xhat is recomputed. ops/norm_rows.c cuts x into chunks of rows, calls these kernels and adds up dgamma. */
#include "core/maths.h"
#include "ops/norm_rows.h"

/* x, y [rows, N]; beta is NULL */
KERNEL(int, rms_norm_forward, gr_real *restrict y, gr__row_stat *restrict stat, const gr_real *restrict x, const gr_real *restrict gamma,
       const gr_real *restrict beta UNUSED, size_t rows, size_t N, gr_real eps)
{
    int far = 0;
    for (size_t r = 0; r < rows; r++, x += N, y += N) {
        const gr_real rstd = r_rstd(LONG_SUM(i, N, r_square(x[i])) / (gr_real)N + eps);
        for (size_t i = 0; i < N; i++) y[i] = gamma[i] * (x[i] * rstd);
        stat[r] = (gr__row_stat){ 0, 0, rstd };
        far |= far_from_1(rstd);
    }
    return far;
}

/* dx or dgamma may be NULL. RMS norm has no beta, so dbeta is not touched. One sum serves all three cases, and the loops stand here: inside a
 * function of a row they cost rows of 16 to 128 values 2 to 6 percent on AVX-512. */
KERNEL(void, rms_norm_backward, gr_real *restrict dx, gr_real *restrict dgamma, gr_real *restrict dbeta UNUSED,
       const gr_real *restrict dy, const gr__row_stat *restrict stat, const gr_real *restrict x, const gr_real *restrict gamma, size_t rows, size_t N)
{
    for (size_t r = 0; r < rows; r++, x += N, dy += N) {
        const gr_real rstd = stat[r].rstd, gx = dx ? LONG_SUM(i, N, gamma[i] * dy[i] * (x[i] * rstd)) / (gr_real)N : 0;
        if (dx && dgamma)
            for (size_t i = 0; i < N; i++) dx[i] += rstd * (gamma[i] * dy[i] - x[i] * rstd * gx), dgamma[i] += dy[i] * (x[i] * rstd);
        else if (dx)
            for (size_t i = 0; i < N; i++) dx[i] += rstd * (gamma[i] * dy[i] - x[i] * rstd * gx);
        else if (dgamma)
            for (size_t i = 0; i < N; i++) dgamma[i] += dy[i] * (x[i] * rstd);
        if (dx) dx += N;
    }
}

#if GR_HOST
static void rms_norm_node(gr_tape *t, const gr_node *n) { gr__norm_rows_back(t, n, rms_norm_backward[gr_isa(t)]); }
static const gr_op rms_norm_op = { .name = "rms_norm", .backward = rms_norm_node, .scratch = gr__norm_rows_scratch };

gr_tensor *gr_rms_norm(gr_tape *t, gr_tensor *x, int trailing, gr_tensor *gamma, double eps)
{
    const gr_op *const op = &rms_norm_op;
    gr__norm_rows s = { .rms = true };
    if (!gr_ready(t, op, x) || !gr_alive(t, op, "gamma", gamma) || !gr__norm_rows_of(t, op, x, trailing, eps, &s)) return NULL;
    if (gamma && gamma->len != s.N)
        return gr_fail(t, op, "x is %s, so gamma must hold %zu values; got %s", gr_shape_text(t, x), s.N, gr_shape_text(t, gamma));
    if (!gr__norm_check_eps(t, op, eps)) return NULL;
    return gr__norm_rows_run(t, op, &s, rms_norm_forward[gr_isa(t)], 0.2, x, gamma, NULL);
}
#endif
