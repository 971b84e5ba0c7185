/* ops/lstm.c - an LSTM over whole sequences, with layer norms where they are wanted: one time step of it. Time and gemm are in
 * ops/sequence.c, batch norms in ops/lstm_bn.c.
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
#include "ops/cell_norm.h"
#include "ops/lstm_bn.h"
#include "ops/sequence.h"

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

KERNEL(void, lstm_forward, const gr__cell *s)
{
    const size_t H = s->H;
    for (size_t r = 0; r < s->R; r++) {
        gr_real *c = s->c + r * H, *h = s->h + r * H, *tanh_c = s->more + r * H;
        if (gr__past_end(s->lengths, r, s->time)) {
            memcpy(c, s->c_prev + r * H, H * sizeof *c);
            memcpy(h, s->h_prev + r * H, H * sizeof *h);
            continue;
        }
        gr_real *a = cell_sums(s, r);
        lstm_gates(H, a);
        lstm_cell(H, c, s->c_prev + r * H, a);
        if (s->ln_c.x) cell_norm(&s->ln_c, r, H, 1, 0, 0, H, s->eps, tanh_c, false);
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

KERNEL(void, lstm_backward, const gr__cell *s)
{
    const size_t H = s->H;
    for (size_t r = 0; r < s->R; r++) {
        gr_real *da = s->gates + r * s->G, *dh = s->dh + r * H, *dc = s->dc + r * H;
        const gr_real *dy = s->dy + r * s->dy_row, *dn = s->ln_c.x ? s->ln_c.x + r * H : dh;
        if (gr__past_end(s->lengths, r, s->time)) {
            cell_no_gradient(s, r);
            continue;
        }
        cell_square(s->dh_squares, H, dh, dy);
        lstm_output_backward(H, dh, da + 3 * H, s->more + r * H, dy);
        if (s->ln_c.x) cell_norm_backward(&s->ln_c, r, H, 1, 0, 0, H, dh);
        cell_square(s->dc_squares, H, dc, dn);
        lstm_cell_backward(H, dc, da, s->c_prev + r * H, dn);
        memset(dh, 0, H * sizeof *dh);
        cell_sums_backward(s, r);
    }
}

#if GR_HOST
static const gr_op lstm_op = { .name = "lstm", .backward = gr__sequence_backward, .scratch = gr__sequence_scratch };
static const gr__kind lstm_kind = { .op = &lstm_op,
                                    .prefix = "GR_LSTM",
                                    .gates = 4,
                                    .norms = 2 * GR_LSTM_BN - 1,
                                    .has_c = true,
                                    .nanoseconds = 5,
                                    .forward = lstm_forward,
                                    .backward = lstm_backward };

gr_recurrent_out gr_lstm_sequence(gr_tape *t, gr_tensor *x, const gr_recurrent_weights *w, const gr_sequence_config *options)
{
    return (w && w->norm == GR_LSTM_BN ? gr__lstm_bn : gr__sequence_run)(t, &lstm_kind, x, w, options);
}
#endif
