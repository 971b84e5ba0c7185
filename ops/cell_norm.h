/* ops/cell_norm.h - what the kernels of LSTM, GRU and RNN share: layer norms of a row, the sum of W x and W h, and sequences that have ended. */
#ifndef GR_CELL_NORM_H
#define GR_CELL_NORM_H
#include "core/maths.h"
#include "ops/cell.h"
#include "ops/norm_far.h"

/* Mean and rstd of N values x, given their first mean m and the sums d of x - m and dd of (x - m)^2. d, which is 0 except for rounding,
 * corrects both. */
INLINE void cell_moments(gr_real *restrict moments, const gr_real *restrict x, size_t N, gr_real eps, gr_real m, gr_real d, gr_real dd)
{
    const gr_real n = (gr_real)N;
    moments[0] = m + d / n;
    moments[1] = r_rstd(r_max(0, (dd - d * d / n) / n) + eps);
    if (far_from_1(moments[1])) gr__far_cell(moments, x, N, eps);
}

/* y = LN(x), or y += LN(x), for group k of row r: N values from `at` on. A row has G values and `groups` groups. */
INLINE void cell_norm(const gr__cell_norm *n, size_t r, size_t G, size_t groups, size_t k, size_t at, size_t N, gr_real eps, gr_real *restrict y, bool add)
{
    const gr_real *restrict x = n->x + r * G + at, *restrict gain = n->gain + at, *restrict shift = n->shift + at;
    gr_real *moments = n->moments + (r * groups + k) * 2;
    const gr_real m = SUM(i, N, x[i]) / (gr_real)N;
    gr_real d, dd;
    SUM2(i, N, d, x[i] - m, dd, r_square(x[i] - m));
    cell_moments(moments, x, N, eps, m, d, dd);
    const gr_real mean = moments[0], rstd = moments[1];
    if (add)
        for (size_t i = 0; i < N; i++) y[i] += gain[i] * ((x[i] - mean) * rstd) + shift[i];
    else
        for (size_t i = 0; i < N; i++) y[i] = gain[i] * ((x[i] - mean) * rstd) + shift[i];
}

/* Turn d, the gradient of y, into that of x; add to dgain and dshift. */
INLINE void cell_norm_backward(const gr__cell_norm *n, size_t r, size_t G, size_t groups, size_t k, size_t at, size_t N, gr_real *restrict d)
{
    gr_real *restrict dgain = n->dgain + at, *restrict dshift = n->dshift;
    const gr_real *restrict x = n->x + r * G + at, *restrict gain = n->gain + at, *moments = n->moments + (r * groups + k) * 2;
    const gr_real mean = moments[0], rstd = moments[1];
    for (size_t i = 0; dshift && i < N; i++) dshift[at + i] += d[i];
    gr_real e, ex;
    SUM2(i, N, e, gain[i] * d[i], ex, gain[i] * d[i] * ((x[i] - mean) * rstd));
    e /= (gr_real)N, ex /= (gr_real)N;
    for (size_t i = 0; i < N; i++) {
        const gr_real xhat = (x[i] - mean) * rstd;
        dgain[i] += d[i] * xhat;
        d[i] = r_flush(rstd * (gain[i] * d[i] - e - xhat * ex));
    }
}

/* y = LN_x(x) + LN_h(h): cell_norm for both. The sums of x and of h are taken in the same pass, so that they hide each other's latency. */
INLINE void cell_norm_two(const gr__cell *s, size_t r, size_t k, size_t at, size_t N, gr_real *restrict y)
{
    const gr__cell_norm *nx = &s->ln_x, *nh = &s->ln_h;
    const size_t row = r * s->G + at, moments = (r * s->groups + k) * 2;
    const gr_real *restrict x = nx->x + row, *restrict gain_x = nx->gain + at, *restrict shift_x = nx->shift + at;
    const gr_real *restrict h = nh->x + row, *restrict gain_h = nh->gain + at, *restrict shift_h = nh->shift + at;
    gr_real *of_x = nx->moments + moments, *of_h = nh->moments + moments, mx, mh, dx, dh, ddx, ddh;
    SUM2(i, N, mx, x[i], mh, h[i]);
    mx /= (gr_real)N, mh /= (gr_real)N;
    SUM2(i, N, dx, x[i] - mx, ddx, r_square(x[i] - mx));
    SUM2(i, N, dh, h[i] - mh, ddh, r_square(h[i] - mh));
    cell_moments(of_x, x, N, s->eps, mx, dx, ddx);
    cell_moments(of_h, h, N, s->eps, mh, dh, ddh);
    const gr_real mean_x = of_x[0], rstd_x = of_x[1], mean_h = of_h[0], rstd_h = of_h[1];
    for (size_t i = 0; i < N; i++)
        y[i] = (gain_x[i] * ((x[i] - mean_x) * rstd_x) + shift_x[i]) + (gain_h[i] * ((h[i] - mean_h) * rstd_h) + shift_h[i]);
}

/* The same for all groups of a row. */
INLINE void cell_norm_row(const gr__cell *s, const gr__cell_norm *n, size_t r, gr_real *restrict y, bool add)
{
    for (size_t k = 0, at = 0, N = s->first; k < s->groups; k++, at += N, N = s->rest)
        cell_norm(n, r, s->G, s->groups, k, at, N, s->eps, y + at, add);
}
INLINE void cell_norm_row_backward(const gr__cell *s, const gr__cell_norm *n, size_t r, gr_real *restrict d)
{
    for (size_t k = 0, at = 0, N = s->first; k < s->groups; k++, at += N, N = s->rest)
        cell_norm_backward(n, r, s->G, s->groups, k, at, N, d + at);
}

INLINE void cell_add(size_t n, gr_real *restrict y, const gr_real *restrict x) { for (size_t i = 0; i < n; i++) y[i] += x[i]; }

/* Row r of the gates becomes LN_sum(LN_x(W x) + LN_h(W h)) + b. */
INLINE gr_real *cell_sums(const gr__cell *s, size_t r)
{
    gr_real *a = s->gates + r * s->G, *sum = s->ln_sum.x ? s->ln_sum.x + r * s->G : a;
    for (size_t k = 0, at = 0, N = s->first; s->ln_x.x && s->ln_h.x && k < s->groups; k++, at += N, N = s->rest)
        cell_norm_two(s, r, k, at, N, sum + at);
    if (s->ln_x.x && !s->ln_h.x) cell_norm_row(s, &s->ln_x, r, sum, true);
    if (s->ln_h.x && !s->ln_x.x) cell_norm_row(s, &s->ln_h, r, sum, true);
    if (s->ln_sum.x) cell_norm_row(s, &s->ln_sum, r, a, false);
    if (s->bias) cell_add(s->G, a, s->bias);
    return a;
}

/* Turn da, in row r of dwh, into the gradients of W x and W h. */
INLINE void cell_sums_backward(const gr__cell *s, size_t r)
{
    gr_real *dwx = s->dwx + r * s->G, *dwh = s->dwh + r * s->G;
    cell_add(s->G, s->dbias, dwh);
    if (s->ln_sum.x) cell_norm_row_backward(s, &s->ln_sum, r, dwh);
    if (dwx != dwh) memcpy(dwx, dwh, s->G * sizeof *dwx);
    if (s->ln_x.x) cell_norm_row_backward(s, &s->ln_x, r, dwx);
    if (s->ln_h.x) cell_norm_row_backward(s, &s->ln_h, r, dwh);
}

/* Whether the sequence of row r has ended. Then it keeps its state. */
INLINE bool cell_has_ended(const gr__cell *s, size_t r)
{
    const size_t H = s->H;
    if (!gr__past_end(s->lengths, r, s->time)) return false;
    memcpy(s->h + r * H, s->h_prev + r * H, H * sizeof *s->h);
    if (s->c) memcpy(s->c + r * H, s->c_prev + r * H, H * sizeof *s->c);
    return true;
}

/* The same in backward. Then W x and W h get no gradient from it, and dh and dc stay as they are. */
INLINE bool cell_has_ended_backward(const gr__cell *s, size_t r)
{
    if (!gr__past_end(s->lengths, r, s->time)) return false;
    memset(s->dwx + r * s->G, 0, s->G * sizeof *s->dwx);
    memset(s->dwh + r * s->G, 0, s->G * sizeof *s->dwh);
    return true;
}

/* Add the sum of squares of a + b, the gradient that reaches a state from two sides. In double the squares neither overflow nor underflow. */
INLINE void cell_square(double *sum, size_t H, const gr_real *restrict a, const gr_real *restrict b)
{
    double s = 0;
    for (size_t j = 0; sum && j < H; j++) s += (double)r_flush(a[j] + b[j]) * (double)r_flush(a[j] + b[j]);
    if (sum) *sum += s;
}

#endif
