/* ops/rnn.c - a plain recurrent net over whole sequences, with layer norms: one time step, forward and backward. ops/lstm.c says what
 * each file does.
 *
 *     h = f(LN_sum(LN_x(W x) + LN_h(W h)) + b),   f = tanh or relu        Elman 1990; LN_sum: Ba, Kiros, Hinton 2016, eq. 4
 *
 * Backward: da = dh f', with f' = 1 - h^2 for tanh, and for relu 1 where h > 0; then as in ops/lstm.c.
 * Shapes: x [T, B, I]; weights [H, I] and [H, H]; biases [H]; y [T, B, H].   Kinks: the derivative of relu at 0 is 0.
 * Saved: h, and for each norm its argument, mean and rstd. A value of the state or of its gradient below 2^-100 becomes 0. A row whose
 * sequence has ended keeps its state, and its gradient goes on to the step before. */
#include "ops/cell_norm.h"
#include "ops/sequence.h"

INLINE void rnn_step(size_t H, gr_real *restrict h, const gr_real *restrict a, bool relu)
{
    if (relu)
        for (size_t j = 0; j < H; j++) h[j] = a[j] <= 0 ? 0 : r_flush(a[j]);
    else
        for (size_t j = 0; j < H; j++) h[j] = r_flush(r_tanh(a[j]));
}

KERNEL(void, rnn_forward, const gr__cell *s)
{
    const size_t H = s->H;
    for (size_t r = 0; r < s->R; r++)
        if (!cell_has_ended(s, r)) rnn_step(H, s->h + r * H, cell_sums(s, r), s->relu);
}

INLINE void rnn_step_backward(size_t H, gr_real *restrict da, const gr_real *restrict h, const gr_real *restrict dh, const gr_real *restrict dy, bool relu)
{
    if (relu)
        for (size_t j = 0; j < H; j++) da[j] = h[j] > 0 ? r_flush(dh[j] + dy[j]) : 0;
    else
        for (size_t j = 0; j < H; j++) da[j] = r_flush((dh[j] + dy[j]) * (1 - h[j] * h[j]));
}

KERNEL(void, rnn_backward, const gr__cell *s)
{
    const size_t H = s->H;
    for (size_t r = 0; r < s->R; r++) {
        gr_real *dh = s->dh + r * H;
        const gr_real *dy = s->dy + r * s->dy_row;
        if (cell_has_ended_backward(s, r)) continue;
        cell_square(s->dh_squares, H, dh, dy);
        rnn_step_backward(H, s->dwh + r * H, s->h + r * H, dh, dy, s->relu);
        memset(dh, 0, H * sizeof *dh);
        cell_sums_backward(s, r);
    }
}

#if GR_HOST
SEQUENCE_KIND(rnn, .prefix = "GR_RNN", .gates = 1, .norms = GR_RNN_LN_X | GR_RNN_LN_H | GR_RNN_LN_SUM, .nanoseconds = 2)
#endif
