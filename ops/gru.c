/* ops/gru.c - a GRU over whole sequences, with layer norms: one time step, forward and backward. Derivation: ops/gru.md
 * ops/lstm.c says what each file does.
 *
 * Shapes: x [T, B, I]; weights [3H, I] and [3H, H]; biases [3H]; y [T, B, H]; gains and shifts as what they scale.   Kinks: none.
 * Forward, for one row of W x and W h [3H]. LN is the identity where there is no norm:
 *
 *     a = LN_x(W x) + b,   u = LN_h(W h) + b_h                            three blocks of H: r z n
 *     r = sigmoid(a_r + u_r),  z = sigmoid(a_z + u_z)                     Cho et al. 2014, in the form of cuDNN and PyTorch,
 *     n = tanh(a_n + r u_n)                                               where r comes after the product with W_hn
 *     h = (1 - z) n + z h_prev = n + z (h_prev - n)
 * Each LN is two norms: one of r and z together over 2H, one of n over H     (Ba, Kiros, Hinton 2016, supplement, on skip-thoughts).
 *
 * Backward. dh begins as the gradient with respect to h from later steps and from the output:
 *     da_n = dh (1 - z) (1 - n^2),   da_r = da_n u_n r (1 - r),   da_z = dh (h_prev - n) z (1 - z)
 *     du_r, du_z = da_r, da_z,   du_n = da_n r,   dh_prev = dh z + the gradient through W h
 *     d(W x), d(W h) = the gradients of LN_x, given da, and of LN_h, given du;   db = da, db_h = du, summed over rows
 *
 * Saved: r z n, u_n, and for each norm its argument, mean and rstd. A value of the state or of its gradient below 2^-100 becomes 0. A row
 * whose sequence has ended keeps its state, and its gradient goes on to the step before. */
#include "ops/cell_norm.h"
#include "ops/sequence.h"

/* a [3H] = LN_x(W x) + b; its blocks r and z also get u_r and u_z.   un [H] = u_n */
INLINE void gru_sums(const gr__cell *s, size_t r, gr_real *restrict a, gr_real *restrict un)
{
    const size_t H = s->H;
    const gr_real *restrict u = s->wh + r * 3 * H;
    if (s->ln_x.x) cell_norm_row(s, &s->ln_x, r, a, false);
    if (s->bias) cell_add(3 * H, a, s->bias);
    if (s->ln_h.x) {
        cell_norm(&s->ln_h, r, 3 * H, 2, 0, 0, 2 * H, s->eps, a, true);
        cell_norm(&s->ln_h, r, 3 * H, 2, 1, 2 * H, H, s->eps, un, false);
    } else {
        cell_add(2 * H, a, u);
        memcpy(un, u + 2 * H, H * sizeof *un);
    }
    if (s->bias_h) cell_add(2 * H, a, s->bias_h), cell_add(H, un, s->bias_h + 2 * H);
}

INLINE void gru_step(size_t H, gr_real *restrict h, gr_real *restrict a, const gr_real *restrict un, const gr_real *restrict h_prev)
{
    gr_real *const r = a, *const z = a + H, *const n = a + 2 * H;
    for (size_t j = 0; j < 2 * H; j++) a[j] = r_sigmoid(a[j]);
    for (size_t j = 0; j < H; j++) n[j] = r_tanh(n[j] + r[j] * un[j]);
    for (size_t j = 0; j < H; j++) h[j] = r_flush(n[j] + z[j] * (h_prev[j] - n[j]));
}

KERNEL(void, gru_forward, const gr__cell *s)
{
    const size_t H = s->H;
    for (size_t r = 0; r < s->R; r++) {
        gr_real *h = s->h + r * H, *a = s->gates + r * 3 * H, *un = s->more + r * H;
        if (cell_has_ended(s, r)) continue;
        gru_sums(s, r, a, un);
        gru_step(H, h, a, un, s->h_prev + r * H);
    }
}

/* da and du [3H] are the gradients with respect to a and u. Turn dh into the part of dh_prev that does not pass through W h. */
INLINE void gru_step_backward(size_t H, gr_real *restrict dh, gr_real *restrict da, gr_real *restrict du, const gr_real *restrict gates,
                              const gr_real *restrict un, const gr_real *restrict dy, const gr_real *restrict h_prev)
{
    const gr_real *const r = gates, *const z = gates + H, *const n = gates + 2 * H;
    for (size_t j = 0; j < H; j++) {
        const gr_real d = r_flush(dh[j] + dy[j]), R = r[j], Z = z[j], N = n[j], dn = r_flush(d * (1 - Z) * (1 - N * N));
        du[j] = da[j] = r_flush(dn * un[j] * R * (1 - R));
        du[H + j] = da[H + j] = r_flush(d * (h_prev[j] - N) * Z * (1 - Z));
        da[2 * H + j] = dn;
        du[2 * H + j] = r_flush(dn * R);
        dh[j] = d * Z;
    }
}

KERNEL(void, gru_backward, const gr__cell *s)
{
    const size_t H = s->H;
    for (size_t r = 0; r < s->R; r++) {
        gr_real *da = s->dwx + r * 3 * H, *du = s->dwh + r * 3 * H, *dh = s->dh + r * H;
        const gr_real *dy = s->dy + r * s->dy_row;
        if (cell_has_ended_backward(s, r)) continue;
        cell_square(s->dh_squares, H, dh, dy);
        gru_step_backward(H, dh, da, du, s->gates + r * 3 * H, s->more + r * H, dy, s->h_prev + r * H);
        cell_add(3 * H, s->dbias, da), cell_add(3 * H, s->dbias_h, du);
        if (s->ln_x.x) cell_norm_row_backward(s, &s->ln_x, r, da);
        if (s->ln_h.x) cell_norm_row_backward(s, &s->ln_h, r, du);
    }
}

#if GR_HOST
SEQUENCE_KIND(gru, .prefix = "GR_GRU", .gates = 3, .norms = GR_GRU_LN_BA2016, .apart = true, .nanoseconds = 4)
#endif
