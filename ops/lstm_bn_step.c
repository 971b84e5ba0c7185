/* ops/lstm_bn_step.c - one time step of an LSTM with batch norms, on some units and all rows; the maths is in ops/lstm_bn.c. */
#include "ops/cell_norm.h"
#include "ops/lstm_bn.h"
#include "ops/lstm_cell.h"

#define LSTM_BN_EACH_LIVE(r) \
    for (size_t r = 0; r < s->R; r++) \
        if (!gr__past_end(s->lengths, r, s->time))

/* A norm n has W columns: 4H or H. Its moments are three rows of W values, mean, rstd and variance, and the step has N of the columns. */

INLINE gr_real lstm_bn_xhat(const gr__cell_norm *n, size_t W, const gr_real *x, size_t j) { return (x[j] - n->moments[j]) * n->moments[W + j]; }

/* The statistics of the columns, in two passes: the first estimates the mean, the second corrects it (ops/layer_norm.md). The first pass subtracts
 * the first row, so that equal values have variance 0. */
INLINE void lstm_bn_moments(const gr__cell *s, const gr__cell_norm *n, size_t W, size_t N)
{
    gr_real first[4 * LSTM_BN_UNITS], e[4 * LSTM_BN_UNITS] = { 0 }, q[4 * LSTM_BN_UNITS] = { 0 };
    gr_real *restrict mean = n->moments, *restrict rstd = n->moments + W, *restrict var = n->moments + 2 * W;
    const gr_real per = s->live ? 1 / (gr_real)s->live : 0;
    size_t one = 0;
    while (s->live && gr__past_end(s->lengths, one, s->time)) one++;
    for (size_t j = 0; j < N; j++) first[j] = n->x[one * W + j];
    LSTM_BN_EACH_LIVE(r) {
        const gr_real *restrict x = n->x + r * W;
        for (size_t j = 0; j < N; j++) e[j] += x[j] - first[j];
    }
    for (size_t j = 0; j < N; j++) mean[j] = first[j] + e[j] * per, e[j] = 0;
    LSTM_BN_EACH_LIVE(r) {
        const gr_real *restrict x = n->x + r * W;
        for (size_t j = 0; j < N; j++) e[j] += x[j] - mean[j], q[j] += r_square(x[j] - mean[j]);
    }
    for (size_t j = 0; j < N; j++) {
        const gr_real d = e[j] * per;
        mean[j] += d, var[j] = r_max(0, q[j] * per - d * d), rstd[j] = r_rstd(var[j] + s->eps);
    }
    int far = 0;
    for (size_t j = 0; j < N; j++) far |= far_from_1(rstd[j]);
    for (size_t j = 0; far && j < N; j++) {
        const gr__far_column_of c = { n->x + j, s->R, W, s->live, s->time, s->lengths };
        if (far_from_1(rstd[j])) gr__far_column(&c, s->eps, mean + j, rstd + j, var + j);
    }
}

KERNEL(void, lstm_bn_forward, const gr__cell *s)
{
    const size_t u = s->units, N = 4 * u, H = s->H;
    const gr__cell_norm *x = &s->ln_x, *w = &s->ln_h, *n = &s->ln_c;
    const gr_real *restrict bias = s->bias;
    if (s->of_batch) lstm_bn_moments(s, x, 4 * H, N), lstm_bn_moments(s, w, 4 * H, N);
    for (size_t r = 0; r < s->R; r++) {
        gr_real *restrict a = s->gates + r * 4 * H, *restrict c = n->x + r * H;
        const gr_real *restrict wx = x->x + r * 4 * H, *restrict wh = w->x + r * 4 * H, *restrict c_prev = s->c_prev + r * H;
        if (gr__past_end(s->lengths, r, s->time)) {
            memcpy(c, c_prev, u * sizeof *c);
            memcpy(s->h + r * H, s->h_prev + r * H, u * sizeof *c);
            continue;
        }
        for (size_t j = 0; j < N; j++)
            a[j] = x->gain[j] * lstm_bn_xhat(x, 4 * H, wx, j) + w->gain[j] * lstm_bn_xhat(w, 4 * H, wh, j) + bias[j];
        lstm_gates(u, a);
        lstm_cell(u, c, c_prev, a);
    }
    if (s->of_batch) lstm_bn_moments(s, n, H, u);
    LSTM_BN_EACH_LIVE(r) {
        gr_real *restrict tanh_c = s->more + r * H;
        const gr_real *restrict c = n->x + r * H;
        for (size_t j = 0; j < u; j++) tanh_c[j] = n->gain[j] * lstm_bn_xhat(n, H, c, j) + n->shift[j];
        lstm_output(u, s->h + r * H, tanh_c, s->gates + r * 4 * H + 3 * u);
    }
}

/* Replace x by its gradient, given dy; add to dgain and dshift. */
INLINE void lstm_bn_norm_backward(const gr__cell *s, const gr__cell_norm *n, size_t W, size_t N, const gr_real *dy)
{
    gr_real e[4 * LSTM_BN_UNITS] = { 0 }, q[4 * LSTM_BN_UNITS] = { 0 };
    const gr_real *restrict rstd = n->moments + W, *restrict gain = n->gain;
    LSTM_BN_EACH_LIVE(r) {
        const gr_real *restrict x = n->x + r * W, *restrict d = dy + r * W;
        for (size_t j = 0; j < N; j++) e[j] += d[j], q[j] += d[j] * lstm_bn_xhat(n, W, x, j);
    }
    for (size_t j = 0; j < N; j++) n->dgain[j] += q[j];
    for (size_t j = 0; n->dshift && j < N; j++) n->dshift[j] += e[j];
    const gr_real per = s->of_batch && s->live ? 1 / (gr_real)s->live : 0;
    for (size_t j = 0; j < N; j++) e[j] *= per, q[j] *= per;
    for (size_t r = 0; r < s->R; r++) {
        gr_real *restrict x = n->x + r * W;
        const gr_real *restrict d = dy + r * W;
        if (gr__past_end(s->lengths, r, s->time)) memset(x, 0, N * sizeof *x);
        else
            for (size_t j = 0; j < N; j++) x[j] = r_flush(rstd[j] * gain[j] * (d[j] - e[j] - lstm_bn_xhat(n, W, x, j) * q[j]));
    }
}

KERNEL(void, lstm_bn_backward, const gr__cell *s)
{
    const size_t u = s->units, H = s->H;
    LSTM_BN_EACH_LIVE(r) {
        gr_real o[LSTM_BN_UNITS], *da_o = s->gates + r * 4 * H + 3 * u;
        const gr_real *dy = s->dy + r * s->dy_row;
        cell_square(s->dh_squares, u, s->dh + r * H, dy);
        memcpy(o, da_o, u * sizeof *o); /* the gradients are written over the gates */
        lstm_output_backward(u, s->dh + r * H, da_o, o, s->more + r * H, dy);
    }
    lstm_bn_norm_backward(s, &s->ln_c, H, u, s->dh);
    LSTM_BN_EACH_LIVE(r) {
        gr_real gates[3 * LSTM_BN_UNITS], *da = s->gates + r * 4 * H, *dc = s->dc + r * H;
        cell_square(s->dc_squares, u, dc, s->ln_c.x + r * H);
        memcpy(gates, da, 3 * u * sizeof *gates);
        lstm_cell_backward(u, dc, da, gates, s->c_prev + r * H, s->ln_c.x + r * H);
        memset(s->dh + r * H, 0, u * sizeof *dc); /* h_prev gets its gradient through W h alone */
        cell_add(4 * u, s->dbias, da);
    }
    lstm_bn_norm_backward(s, &s->ln_x, 4 * H, 4 * u, s->gates);
    lstm_bn_norm_backward(s, &s->ln_h, 4 * H, 4 * u, s->gates);
}

#if GR_HOST
void gr__lstm_bn_forward(int isa, const gr__cell *s) { lstm_bn_forward[isa](s); }
void gr__lstm_bn_backward(int isa, const gr__cell *s) { lstm_bn_backward[isa](s); }
#endif
