/* ops/lstm_bn_step.c - one time step of an LSTM with batch norms, on some units and all rows; the maths is in ops/lstm_bn.c. */
#include "ops/cell_norm.h"
#include "ops/lstm_bn.h"
#include "ops/lstm_cell.h"

/* The statistics of the columns, in two passes: the first estimates the mean, the second corrects it (ops/layer_norm.md). The first pass subtracts
 * the first row, so that equal values have variance 0. */
INLINE void lstm_bn_moments(const gr__lstm_bn_step *s, const gr__lstm_bn_norm *n)
{
    gr_real first[4 * LSTM_BN_UNITS], e[4 * LSTM_BN_UNITS] = { 0 }, q[4 * LSTM_BN_UNITS] = { 0 };
    gr_real *restrict mean = n->mean, *restrict rstd = n->rstd, *restrict var = n->var;
    const gr_real per = s->live ? 1 / (gr_real)s->live : 0;
    size_t r = 0;
    while (s->live && gr__past_end(s->lengths, r, s->time)) r++;
    for (size_t j = 0; j < n->N; j++) first[j] = n->x[r * n->row + j];
    for (r = 0; r < s->B; r++) {
        const gr_real *restrict x = n->x + r * n->row;
        if (gr__past_end(s->lengths, r, s->time)) continue;
        for (size_t j = 0; j < n->N; j++) e[j] += x[j] - first[j];
    }
    for (size_t j = 0; j < n->N; j++) mean[j] = first[j] + e[j] * per, e[j] = 0;
    for (r = 0; r < s->B; r++) {
        const gr_real *restrict x = n->x + r * n->row;
        if (gr__past_end(s->lengths, r, s->time)) continue;
        for (size_t j = 0; j < n->N; j++) e[j] += x[j] - mean[j], q[j] += r_square(x[j] - mean[j]);
    }
    for (size_t j = 0; j < n->N; j++) {
        const gr_real d = e[j] * per, v = r_max(0, q[j] * per - d * d), root = v + s->eps;
        mean[j] += d, var[j] = v;
        rstd[j] = root == 0 ? 0 : 1 / r_sqrt(root);
    }
    int far = 0;
    for (size_t j = 0; j < n->N; j++) far |= far_from_1(rstd[j]);
    for (size_t j = 0; far && j < n->N; j++) {
        const gr__far_column_of c = { n->x + j, s->B, n->row, s->live, s->time, s->lengths };
        if (far_from_1(rstd[j])) gr__far_column(&c, s->eps, mean + j, rstd + j, var + j);
    }
}

KERNEL(void, lstm_bn_forward, const gr__lstm_bn_step *s)
{
    const size_t u = s->u, N = 4 * u, H = s->H;
    const gr__lstm_bn_norm *x = &s->x, *w = &s->h_norm, *n = &s->cell;
    const gr_real *restrict bias = s->bias;
    if (s->of_batch) lstm_bn_moments(s, x), lstm_bn_moments(s, w);
    for (size_t r = 0; r < s->B; r++) {
        gr_real *restrict a = s->gates + r * 4 * H, *restrict c = n->x + r * H;
        const gr_real *restrict wx = x->x + r * x->row, *restrict wh = w->x + r * w->row, *restrict c_prev = s->c_prev + r * H;
        if (gr__past_end(s->lengths, r, s->time)) {
            memcpy(c, c_prev, u * sizeof *c);
            memcpy(s->h + r * H, s->h_prev + r * H, u * sizeof *c);
            continue;
        }
        for (size_t j = 0; j < N; j++)
            a[j] = x->gain[j] * ((wx[j] - x->mean[j]) * x->rstd[j]) + w->gain[j] * ((wh[j] - w->mean[j]) * w->rstd[j]) + bias[j];
        lstm_gates(u, a);
        lstm_cell(u, c, c_prev, a);
    }
    if (s->of_batch) lstm_bn_moments(s, n);
    for (size_t r = 0; r < s->B; r++) {
        gr_real *restrict tanh_c = s->tanh_c + r * H;
        const gr_real *restrict c = n->x + r * H;
        if (gr__past_end(s->lengths, r, s->time)) continue;
        for (size_t j = 0; j < u; j++) tanh_c[j] = n->gain[j] * ((c[j] - n->mean[j]) * n->rstd[j]) + n->shift[j];
        lstm_output(u, s->h + r * H, tanh_c, s->gates + r * 4 * H + 3 * u);
    }
}

/* Replace x by its gradient, given dy in rows of stride dy_row; add to dgain and dshift. */
INLINE void lstm_bn_norm_backward(const gr__lstm_bn_step *s, const gr__lstm_bn_norm *n, const gr_real *dy, size_t dy_row)
{
    gr_real e[4 * LSTM_BN_UNITS] = { 0 }, q[4 * LSTM_BN_UNITS] = { 0 };
    const gr_real *restrict mean = n->mean, *restrict rstd = n->rstd, *restrict gain = n->gain;
    for (size_t r = 0; r < s->B; r++) {
        const gr_real *restrict x = n->x + r * n->row, *restrict d = dy + r * dy_row;
        if (gr__past_end(s->lengths, r, s->time)) continue;
        for (size_t j = 0; j < n->N; j++) e[j] += d[j], q[j] += d[j] * ((x[j] - mean[j]) * rstd[j]);
    }
    for (size_t j = 0; j < n->N; j++) n->dgain[j] += q[j];
    for (size_t j = 0; n->dshift && j < n->N; j++) n->dshift[j] += e[j];
    const gr_real per = s->of_batch && s->live ? 1 / (gr_real)s->live : 0;
    for (size_t j = 0; j < n->N; j++) e[j] *= per, q[j] *= per;
    for (size_t r = 0; r < s->B; r++) {
        gr_real *restrict x = n->x + r * n->row;
        const gr_real *restrict d = dy + r * dy_row;
        if (gr__past_end(s->lengths, r, s->time)) memset(x, 0, n->N * sizeof *x);
        else
            for (size_t j = 0; j < n->N; j++) x[j] = r_flush(rstd[j] * gain[j] * (d[j] - e[j] - (x[j] - mean[j]) * rstd[j] * q[j]));
    }
}

KERNEL(void, lstm_bn_backward, const gr__lstm_bn_step *s)
{
    const size_t u = s->u, H = s->H;
    if (s->dh_squares) *s->dh_squares = *s->dc_squares = 0;
    for (size_t r = 0; r < s->B; r++) {
        const gr_real *dy = s->dy + r * s->dy_row;
        if (gr__past_end(s->lengths, r, s->time)) continue;
        cell_square(s->dh_squares, u, s->dh + r * H, dy);
        lstm_output_backward(u, s->dh + r * H, s->gates + r * 4 * H + 3 * u, s->tanh_c + r * H, dy);
    }
    lstm_bn_norm_backward(s, &s->cell, s->dh, H);
    for (size_t r = 0; r < s->B; r++) {
        gr_real *gates = s->gates + r * 4 * H, *dc = s->dc + r * H;
        if (gr__past_end(s->lengths, r, s->time)) continue;
        cell_square(s->dc_squares, u, dc, s->cell.x + r * H);
        lstm_cell_backward(u, dc, gates, s->c_prev + r * H, s->cell.x + r * H);
        memset(s->dh + r * H, 0, u * sizeof *dc); /* h_prev gets its gradient through W h alone */
        cell_add(4 * u, s->dbias, gates);
    }
    lstm_bn_norm_backward(s, &s->x, s->gates, 4 * H);
    lstm_bn_norm_backward(s, &s->h_norm, s->gates, 4 * H);
}

#if GR_HOST
void gr__lstm_bn_forward(int isa, const gr__lstm_bn_step *s) { lstm_bn_forward[isa](s); }
void gr__lstm_bn_backward(int isa, const gr__lstm_bn_step *s) { lstm_bn_backward[isa](s); }
#endif
