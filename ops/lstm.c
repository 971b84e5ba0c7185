/* ops/lstm.c - an LSTM over whole sequences, with layer norms: one time step, forward and backward. Derivation: ops/lstm.md
 *
 * The files of the recurrent layers, in the order to read them (examples/composed/recurrent.c has the same maths from plain operators):
 *     recurrent.h           the public interface: weights, config, the places of the norms
 *     lstm.c  lstm_cell.h   one time step of an LSTM for some sequences; the maths of one cell, without norms
 *     gru.c  rnn.c          one time step of the other layers
 *     cell.h  cell_norm.h   what a step is given; the layer norm of a row, and LN(W x) + LN(W h)
 *     sequence.h            what a whole call is given and what it saves for backward
 *     sequence.c            the loop over time: matrix products, shards of the batch, gradients of the weights
 *     sequence_check.c      checks the arguments
 *     lstm_bn.c             the loop over time of an LSTM with batch norms, which need all sequences of a step at once
 *     lstm_bn_step.c        one time step of it, on some units
 * Who calls whom: gr_lstm_sequence (below) calls gr__sequence_run (sequence.c), which checks the arguments and calls lstm_forward (below) for
 * each time step, through the table in gr__lstm_kind. GRU and RNN do the same. With batch norms it calls lstm_bn.c through that table, which calls
 * lstm_bn_step.c for each time step.
 *
 * Shapes: x [T, B, I]; weights [4H, I] and [4H, H]; biases [4H]; y [T, B, H]; h, c [B, H]; gains and shifts as what they scale.   Kinks: none.
 * Forward, for one row of W x and W h [4H]. LN(x) = gain xhat + shift with xhat = (x - mean) rstd; it is the identity where there is no norm:
 *
 *     s = LN_ih(W x) + LN_hh(W h),   a = LN_sum(s) + b                    four blocks of H: a_i a_f a_g a_o
 *     i = sigmoid(a_i),  f = sigmoid(a_f),  g = tanh(a_g),  o = sigmoid(a_o)
 *     c = f c_prev + i g                                                  Ba, Kiros, Hinton 2016, eq. 20-22;
 *     h = o tanh(LN_c(c))                                                 LN_sum is not in the paper
 *
 * Backward. dh and dc begin as the gradients with respect to h and c from later steps and from the output; n = LN_c(c):
 *     do = dh tanh(n),   dn = dh o (1 - tanh(n)^2),   dc += the gradient of LN_c, given dn
 *     da_i = dc g i (1 - i),  da_f = dc c_prev f (1 - f),  da_g = dc i (1 - g^2),  da_o = do o (1 - o),   dc_prev = dc f
 *     ds = LN_sum's gradient, given da;   d(W x), d(W h) = those of LN_ih and LN_hh, given ds;   db = da, summed over rows
 * The gradient of LN, given dy, is   rstd (e - mean(e) - xhat mean(e xhat)),   e = gain dy.
 *
 * Saved: i f g o, c, tanh(n), and for each norm its argument, mean and rstd; xhat is recomputed. A value of the state or of its gradient
 * below 2^-100 becomes 0 (r_flush). A row whose sequence has ended keeps its state, and its gradient goes on to the step before. */
#include "ops/cell_norm.h"
#include "ops/lstm_bn.h"
#include "ops/lstm_cell.h"

KERNEL(void, lstm_forward, const gr__cell *s)
{
    const size_t H = s->H;
    for (size_t r = 0; r < s->R; r++) {
        gr_real *c = s->c + r * H, *h = s->h + r * H, *tanh_c = s->more + r * H;
        if (cell_has_ended(s, r)) continue;
        gr_real *a = cell_sums(s, r);
        lstm_gates(H, a);
        lstm_cell(H, c, s->c_prev + r * H, a);
        if (s->ln_c.x) cell_norm(&s->ln_c, r, H, 1, 0, 0, H, s->eps, tanh_c, false);
        else memcpy(tanh_c, c, H * sizeof *c);
        lstm_output(H, h, tanh_c, a + 3 * H);
    }
}

KERNEL(void, lstm_backward, const gr__cell *s)
{
    const size_t H = s->H;
    for (size_t r = 0; r < s->R; r++) {
        gr_real *da = s->dwh + r * s->G, *dh = s->dh + r * H, *dc = s->dc + r * H;
        const gr_real *dy = s->dy + r * s->dy_row, *gates = s->gates + r * s->G, *tanh_c = s->more + r * H;
        if (cell_has_ended_backward(s, r)) continue;
        cell_square(s->dh_squares, H, dh, dy); /* for dh_norm */
        lstm_output_backward(H, dh, da + 3 * H, gates + 3 * H, tanh_c, dy); /* dh becomes dn, then the gradient of c through h */
        if (s->ln_c.x) cell_norm_backward(&s->ln_c, r, H, 1, 0, 0, H, dh);
        cell_square(s->dc_squares, H, dc, dh);
        lstm_cell_backward(H, dc, da, gates, s->c_prev + r * H, dh);
        memset(dh, 0, H * sizeof *dh); /* h_prev gets its gradient through W h alone */
        cell_sums_backward(s, r);
    }
}

#if GR_HOST
enum { LSTM_NORMS = 2 * GR_LSTM_BN - 1 }; /* all bits up to GR_LSTM_BN */
SEQUENCE_KIND(lstm, .prefix = "GR_LSTM", .gates = 4, .norms = LSTM_NORMS, .has_c = true, .nanoseconds = 5, .batch_norms = gr__lstm_bn_begin)
#endif
