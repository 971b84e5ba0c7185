/* ops/lstm_cell.h - the maths of an LSTM cell: one time step of H units of one sequence, forward and backward. The norms are computed before
 * and between these functions: ops/lstm.c has layer norms, ops/lstm_bn_step.c has batch norms.
 *
 *     i, f, g, o = sigmoid(a_i), sigmoid(a_f), tanh(a_g), sigmoid(a_o)
 *     c = f c_prev + i g,   h = o tanh(n),   n = the norm of c, or c itself
 *
 * The four gates are blocks of H values: i f g o. A value of the state or of its gradient below 2^-100 becomes 0 (r_flush). */
#ifndef GR_LSTM_CELL_H
#define GR_LSTM_CELL_H
#include "core/maths.h"

/* Turn a [4H] into i, f, g, o. */
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

/* h = o tanh(n). tanh_c holds n before, and tanh(n) after. */
INLINE void lstm_output(size_t H, gr_real *restrict h, gr_real *restrict tanh_c, const gr_real *restrict o)
{
    for (size_t j = 0; j < H; j++) tanh_c[j] = r_tanh(tanh_c[j]);
    for (size_t j = 0; j < H; j++) h[j] = r_flush(o[j] * tanh_c[j]);
}

/* da_o is the gradient with respect to a_o. Turn dh into dn, that with respect to n. dh is the gradient of h from later steps, dy that from the
 * output. */
INLINE void lstm_output_backward(size_t H, gr_real *restrict dh, gr_real *restrict da_o, const gr_real *restrict o,
                                 const gr_real *restrict tanh_c, const gr_real *restrict dy)
{
    for (size_t j = 0; j < H; j++) {
        const gr_real d = r_flush(dh[j] + dy[j]), O = o[j];
        da_o[j] = r_flush(d * tanh_c[j] * O * (1 - O));
        dh[j] = d * O * (1 - tanh_c[j] * tanh_c[j]);
    }
}

/* The first three blocks of da are the gradients with respect to a_i, a_f, a_g. Turn dc into that with respect to c_prev. dc is the gradient of c
 * from later steps, dc_through_h that through h. */
INLINE void lstm_cell_backward(size_t H, gr_real *restrict dc, gr_real *restrict da, const gr_real *restrict gates,
                               const gr_real *restrict c_prev, const gr_real *restrict dc_through_h)
{
    const gr_real *i = gates, *f = gates + H, *g = gates + 2 * H;
    for (size_t j = 0; j < H; j++) {
        const gr_real d = r_flush(dc[j] + dc_through_h[j]), I = i[j], F = f[j], G = g[j];
        da[j] = r_flush(d * G * I * (1 - I));
        da[H + j] = r_flush(d * c_prev[j] * F * (1 - F));
        da[2 * H + j] = r_flush(d * I * (1 - G * G));
        dc[j] = d * F;
    }
}

#endif
