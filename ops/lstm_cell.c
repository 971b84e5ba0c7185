/* ops/lstm_cell.c - one time step of an LSTM, with layer norms where they are wanted.
 *
 * Of each row, W x and W h [4H] are there; LN is y = gain xhat + shift, xhat = (x - mean) rstd, and the identity where there is no norm:
 *
 *     s = LN_x(W x) + LN_h(W h),   a = LN_sum(s) + b                      four blocks of H: a_i a_f a_g a_o
 *     i = sigmoid(a_i),  f = sigmoid(a_f),  g = tanh(a_g),  o = sigmoid(a_o)
 *     c = f c_prev + i g                                                  Ba, Kiros, Hinton 2016, eq. 20-22, of whose norms
 *     h = o tanh(LN_c(c))                                                 LN_sum is not one
 *
 * Backward, with dh and dc holding what later steps and the output asked for, n = LN_c(c):
 *     do = dh tanh(n),   dn = dh o (1 - tanh(n)^2),   dc += the gradient of LN_c at dn
 *     da_i = dc g i (1 - i),  da_f = dc c_prev f (1 - f),  da_g = dc i (1 - g^2),  da_o = do o (1 - o),   dc_prev = dc f
 *     ds = the gradient of LN_sum at da;   d(W x), d(W h) = those of LN_x, LN_h at ds;   db = da, summed over rows
 * where the gradient of LN at dy is   rstd (e - mean(e) - xhat mean(e xhat)),   e = gain dy.
 *
 * Saved: i f g o, c, tanh(n), and of each norm its argument with mean and rstd; xhat is recomputed. What falls below 2^-100 in the
 * state or in its gradient becomes 0 (r_flush). A row past its end keeps its state, and passes its gradient on. */
#include "core/maths.h"
#include "ops/lstm_cell.h"
#include <stdbool.h>

/* Mean and rstd of N values. The second pass, over x - m, corrects both moments by its own sum d (0, but for rounding). Where
 * var + eps is 0, rstd is 0 by definition. */
INLINE void lstm_moments(gr_real *restrict moments, const gr_real *restrict x, size_t N, gr_real eps)
{
    const gr_real n = (gr_real)N, m = SUM(i, N, x[i]) / n;
    gr_real d, dd;
    SUM2(i, N, d, x[i] - m, dd, r_square(x[i] - m));
    const gr_real v = r_max(0, (dd - d * d / n) / n) + eps;
    moments[0] = m + d / n;
    moments[1] = v == 0 ? 0 : 1 / r_sqrt(v);
}

/* y = LN(row r), or y += LN(row r). */
INLINE void lstm_norm(const gr__lstm_norm *n, size_t r, size_t groups, size_t N, gr_real eps, gr_real *restrict y, bool add)
{
    const gr_real *restrict x = n->x + r * groups * N, *restrict gain = n->gain, *restrict shift = n->shift;
    gr_real *moments = n->moments + r * groups * 2;
    for (size_t k = 0; k < groups; k++, x += N, y += N, gain += N, shift += N, moments += 2) {
        lstm_moments(moments, x, N, eps);
        const gr_real mean = moments[0], rstd = moments[1];
        if (add)
            for (size_t i = 0; i < N; i++) y[i] += gain[i] * ((x[i] - mean) * rstd) + shift[i];
        else
            for (size_t i = 0; i < N; i++) y[i] = gain[i] * ((x[i] - mean) * rstd) + shift[i];
    }
}

/* x = the gradient of x; dgain and dshift grow. */
INLINE void lstm_norm_backward(const gr__lstm_norm *n, size_t r, size_t groups, size_t N, const gr_real *restrict dy)
{
    gr_real *restrict x = n->x + r * groups * N, *restrict dgain = n->dgain, *restrict dshift = n->dshift;
    const gr_real *restrict gain = n->gain, *moments = n->moments + r * groups * 2;
    for (size_t i = 0; dshift && i < groups * N; i++) dshift[i] += dy[i];
    for (size_t k = 0; k < groups; k++, x += N, dy += N, gain += N, dgain += N, moments += 2) {
        const gr_real mean = moments[0], rstd = moments[1];
        gr_real e, ex;
        SUM2(i, N, e, gain[i] * dy[i], ex, gain[i] * dy[i] * ((x[i] - mean) * rstd));
        e /= (gr_real)N, ex /= (gr_real)N;
        for (size_t i = 0; i < N; i++) {
            const gr_real xhat = (x[i] - mean) * rstd;
            dgain[i] += dy[i] * xhat;
            x[i] = r_flush(rstd * (gain[i] * dy[i] - e - xhat * ex));
        }
    }
}

INLINE void lstm_add(size_t n, gr_real *restrict y, const gr_real *restrict x)
{
    for (size_t i = 0; i < n; i++) y[i] += x[i];
}

/* a [4H] becomes i, f, g, o. */
INLINE void lstm_gates(size_t H, gr_real *restrict a)
{
    for (size_t j = 0; j < 2 * H; j++) a[j] = r_sigmoid(a[j]);
    for (size_t j = 2 * H; j < 3 * H; j++) a[j] = r_tanh(a[j]);
    for (size_t j = 3 * H; j < 4 * H; j++) a[j] = r_sigmoid(a[j]);
}

INLINE void lstm_cell(size_t H, gr_real *restrict c, const gr_real *restrict c_prev, const gr_real *restrict gates)
{
    const gr_real *i = gates, *f = gates + H, *g = gates + 2 * H;
    for (size_t j = 0; j < H; j++) c[j] = r_flush(f[j] * c_prev[j] + i[j] * g[j]);
}

/* tanh_c comes with LN_c(c). */
INLINE void lstm_output(size_t H, gr_real *restrict h, gr_real *restrict tanh_c, const gr_real *restrict o)
{
    for (size_t j = 0; j < H; j++) tanh_c[j] = r_tanh(tanh_c[j]);
    for (size_t j = 0; j < H; j++) h[j] = r_flush(o[j] * tanh_c[j]);
}

KERNEL(void, lstm_rows_forward, const gr__lstm_rows *s)
{
    const size_t H = s->H, N = 4 * H / s->groups;
    for (size_t r = 0; r < s->R; r++) {
        gr_real *c = s->c + r * H, *h = s->h + r * H, *tanh_c = s->tanh_c + r * H, *a = s->gates + r * 4 * H;
        if (s->lengths && (size_t)s->lengths[r] <= s->time) {
            memcpy(c, s->c_prev + r * H, H * sizeof *c);
            memcpy(h, s->h_prev + r * H, H * sizeof *h);
            continue;
        }
        gr_real *sum = s->ln_sum.x ? s->ln_sum.x + r * 4 * H : a;
        if (s->ln_x.x) lstm_norm(&s->ln_x, r, s->groups, N, s->eps, sum, !s->ln_h.x);
        if (s->ln_h.x) lstm_norm(&s->ln_h, r, s->groups, N, s->eps, sum, true);
        if (s->ln_sum.x) lstm_norm(&s->ln_sum, r, s->groups, N, s->eps, a, false);
        if (s->bias) lstm_add(4 * H, a, s->bias);
        lstm_gates(H, a);
        lstm_cell(H, c, s->c_prev + r * H, a);
        if (s->ln_c.x) lstm_norm(&s->ln_c, r, 1, H, s->eps, tanh_c, false);
        else memcpy(tanh_c, c, H * sizeof *c);
        lstm_output(H, h, tanh_c, a + 3 * H);
    }
}

/* dh + dy becomes the gradient of LN_c(c), o that of a_o. */
INLINE void lstm_output_backward(size_t H, gr_real *restrict dh, gr_real *restrict o, const gr_real *restrict tanh_c,
                                 const gr_real *restrict dy)
{
    for (size_t j = 0; j < H; j++) {
        const gr_real d = r_flush(dh[j] + dy[j]), O = o[j];
        o[j] = r_flush(d * tanh_c[j] * O * (1 - O));
        dh[j] = d * O * (1 - tanh_c[j] * tanh_c[j]);
    }
}

/* dc + dn becomes the gradient of c_prev, i f g those of a_i a_f a_g; dh becomes 0: its way goes on through the gates. */
INLINE void lstm_cell_backward(size_t H, gr_real *restrict dc, gr_real *restrict gates, const gr_real *restrict c_prev,
                               const gr_real *restrict dn)
{
    gr_real *i = gates, *f = gates + H, *g = gates + 2 * H;
    for (size_t j = 0; j < H; j++) {
        const gr_real d = r_flush(dc[j] + dn[j]), I = i[j], F = f[j], G = g[j];
        i[j] = r_flush(d * G * I * (1 - I));
        f[j] = r_flush(d * c_prev[j] * F * (1 - F));
        g[j] = r_flush(d * I * (1 - G * G));
        dc[j] = d * F;
    }
}

KERNEL(void, lstm_rows_backward, const gr__lstm_rows *s)
{
    const size_t H = s->H, N = 4 * H / s->groups;
    for (size_t r = 0; r < s->R; r++) {
        gr_real *da = s->gates + r * 4 * H, *dh = s->dh + r * H;
        if (s->lengths && (size_t)s->lengths[r] <= s->time) {
            memset(da, 0, 4 * H * sizeof *da);
            if (s->ln_x.x) memset(s->ln_x.x + r * 4 * H, 0, 4 * H * sizeof *da);
            if (s->ln_h.x) memset(s->ln_h.x + r * 4 * H, 0, 4 * H * sizeof *da);
            if (s->ln_sum.x) memset(s->ln_sum.x + r * 4 * H, 0, 4 * H * sizeof *da);
            continue;
        }
        lstm_output_backward(H, dh, da + 3 * H, s->tanh_c + r * H, s->dy + r * s->dy_row);
        if (s->ln_c.x) lstm_norm_backward(&s->ln_c, r, 1, H, dh);
        lstm_cell_backward(H, s->dc + r * H, da, s->c_prev + r * H, s->ln_c.x ? s->ln_c.x + r * H : dh);
        memset(dh, 0, H * sizeof *dh);
        lstm_add(4 * H, s->dbias, da);
        if (s->ln_sum.x) lstm_norm_backward(&s->ln_sum, r, s->groups, N, da);
        const gr_real *ds = s->ln_sum.x ? s->ln_sum.x + r * 4 * H : da;
        if (s->ln_x.x) lstm_norm_backward(&s->ln_x, r, s->groups, N, ds);
        if (s->ln_h.x) lstm_norm_backward(&s->ln_h, r, s->groups, N, ds);
    }
}

KERNEL(void, lstm_add_partials, gr_real *restrict y, const gr_real *restrict x, size_t S, size_t stride, size_t n)
{
    enum { BLOCK = 1024 }; /* of y stays in the first cache */
    for (size_t at = 0; at < n; at += BLOCK)
        for (size_t s = 0; s < S; s++) lstm_add(n - at < BLOCK ? n - at : BLOCK, y + at, x + s * stride + at);
}

#if GR_HOST
void gr__lstm_rows_forward(int isa, const gr__lstm_rows *s) { lstm_rows_forward[isa](s); }
void gr__lstm_rows_backward(int isa, const gr__lstm_rows *s) { lstm_rows_backward[isa](s); }
void gr__lstm_add_partials(int isa, gr_real *y, const gr_real *x, size_t S, size_t stride, size_t n)
{
    lstm_add_partials[isa](y, x, S, stride, n);
}
#endif
