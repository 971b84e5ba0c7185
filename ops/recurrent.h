/* ops/recurrent.h - recurrent layers over whole sequences: LSTM, GRU and plain RNN. A call is one direction of one layer, and one node
 * of the graph. */
#ifndef GR_RECURRENT_H
#define GR_RECURRENT_H
#include "core/tensor.h"

/* Where the norms of an LSTM are: a sum of GR_LSTM_LN_.., or GR_LSTM_BN alone, or 0 for none. */
enum {
    GR_LSTM_LN_X = 1,         /* W x, over its 4H values (tensors ln_ih) */
    GR_LSTM_LN_H = 2,         /* W h, likewise (ln_hh) */
    GR_LSTM_LN_SUM = 4,       /* W x + W h, each after its own norm, if it has one (ln_sum) */
    GR_LSTM_LN_C = 8,         /* the cell c, over its H values (ln_c): only h sees this norm; the next step gets c itself */
    GR_LSTM_LN_PER_GATE = 16, /* each of the first three becomes four norms over H, one for each gate, instead of one over 4H. It
                                 needs one of the three */
    GR_LSTM_LN_BA2016 = GR_LSTM_LN_X | GR_LSTM_LN_H | GR_LSTM_LN_C, /* as in Ba, Kiros, Hinton 2016 */
    GR_LSTM_BN = 32,          /* batch norms of W x, W h and the cell, with separate statistics for each step */
};

/* The same for a GRU and for a plain RNN. */
enum {
    GR_GRU_LN_X = GR_LSTM_LN_X,         /* W x: one norm of r and z together, over 2H, and one of n, over H */
    GR_GRU_LN_H = GR_LSTM_LN_H,         /* W h, likewise; n is normalized before the product with r */
    GR_GRU_LN_BA2016 = GR_GRU_LN_X | GR_GRU_LN_H, /* as in the paper (supplementary material, skip-thoughts) */
    GR_RNN_LN_X = GR_LSTM_LN_X, GR_RNN_LN_H = GR_LSTM_LN_H,
    GR_RNN_LN_SUM = GR_LSTM_LN_SUM,     /* as in the paper, section 3.1 */
};

/* The parameters of one layer and direction. G is 4H in an LSTM, 3H in a GRU, H in an RNN; blocks of H rows are the gates, i f g o or r z n, as
 * in PyTorch. A norm has both its tensors if its bit of `norm` is set, and neither if it is not. The gates get b_ih + b_hh plus the shifts of
 * their norms. One bias would be enough, except for n of a GRU; PyTorch has both, and the paper has only b_ih. */
typedef struct { gr_tensor *weight, *bias; } gr_lstm_ln; /* gain and shift: [G]; in ln_c [H] */
typedef struct {
    gr_tensor *weight, *bias;              /* gain [4H], and bias is NULL; in bn_c both are [H] */
    gr_tensor *running_mean, *running_var; /* [steps, 4H]; in bn_c [steps, H]. steps is 1 or more, and the same for all three */
} gr_lstm_bn;
typedef struct {
    unsigned norm;                         /* GR_LSTM_..., GR_GRU_..., GR_RNN_... */
    gr_tensor *w_ih, *w_hh;                /* [G, I], [G, H] */
    gr_tensor *b_ih, *b_hh;                /* [G] or NULL */
    gr_lstm_ln ln_ih, ln_hh, ln_sum, ln_c; /* of W x, W h, their sum, the cell */
    gr_lstm_bn bn_ih, bn_hh, bn_c;         /* for an LSTM only */
} gr_recurrent_weights;

typedef struct {
    gr_tensor *h0, *c0;    /* [B, H]: the state before the first step; NULL means zeros. c0 is for an LSTM only */
    const gr_ints *lengths; /* [B], each 0 to T: how many steps of each sequence are real; NULL means all */
    bool batch_first;      /* x is [B, T, I] and y [B, T, H] */
    bool reverse;          /* from the last real step of each sequence to its first */
    bool relu;             /* for a plain RNN only: relu instead of tanh */
    double eps;            /* of the norms; default 1e-5; GR_NONE means no epsilon */
    double momentum;       /* of the batch norms: the weight of a new batch in the running statistics; default 0.1; GR_NONE means 0 */
    double *dh_norm, *dc_norm; /* the caller's arrays [T], or NULL. gr_backward writes, for each time step, the norm of the gradient with
                                  respect to h (in dc_norm: to c), over all sequences that have not ended. The arrays must live until
                                  gr_backward, which leaves them as they are if no gradient reaches the layer */
} gr_sequence_config;

typedef struct {
    gr_tensor *y, *h, *c;      /* the tape owns them; c is NULL unless it is an LSTM */
    double *dh_norm, *dc_norm; /* set by a module (nn/recurrent.h); otherwise NULL */
} gr_recurrent_out;

/* The same types under the name of each layer. */
typedef gr_recurrent_weights gr_lstm_weights, gr_gru_weights, gr_rnn_weights;
typedef gr_recurrent_out gr_lstm_out, gr_gru_out, gr_rnn_out;

/* One layer of an LSTM in one direction over whole sequences, all steps in one node. LN is the identity where there is no norm:
 *     a = LN_sum(LN_ih(w_ih x) + LN_hh(w_hh h)) + b_ih + b_hh
 *     i, f, g, o = sigmoid(a_i), sigmoid(a_f), tanh(a_g), sigmoid(a_o)
 *     c = f c + i g,   h = o tanh(LN_c(c))       Hochreiter, Schmidhuber 1997; Gers et al. 2000; Ba, Kiros, Hinton 2016, eq. 20-22
 * LN(z) = weight (z - mean) / sqrt(var + eps) + bias, var the biased variance.
 *
 *   x       [T, B, I]   any of these may be 0
 *   y       [T, B, H]   h of every step; 0 after the end of a sequence
 *   h, c    [B, H]      the state after the last step; a sequence that has ended keeps its state
 *
 * Gradients reach x, all weights, h0 and c0, from y, h and c. Values of x after the end of a sequence, NaN included, change nothing.
 * A value of the state, or of its gradient, below 2^-100 becomes 0. config may be NULL, which means all defaults.
 *
 * Fails if a tensor does not have its shape; if a bit of norm is set and its tensors are missing, or the reverse; if norm has other bits than
 * those above, or GR_LSTM_BN beside another, or GR_LSTM_LN_PER_GATE without a norm of the gates; if a length is not in 0 .. T; if eps is
 * negative, or momentum outside 0 .. 1. Then y, h and c are NULL.
 *
 * With GR_LSTM_BN, at time t, where BN(z) = weight (z - mean) / sqrt(var + eps) + bias:
 *     a = BN_ih(w_ih x) + BN_hh(w_hh h) + b_ih + b_hh,   h = o tanh(BN_c(c))                Cooijmans et al. 2016, eq. 6-8
 * In training the mean and the biased variance are those of the sequences that have not ended by t. Row t of the running statistics moves
 * towards them, with the unbiased variance; a time beyond the last row moves none. Evaluation reads row t, or the last row if t is beyond it.
 * If only one sequence of the batch reaches a time step, its norms return their shift, pass no gradient and move no statistics. So the sequences
 * of a batch should have similar lengths. A value that is the same in all sequences (blank first rows with h0 = 0) has variance 0, and its
 * gradient is multiplied by weight / sqrt(eps) at each such step. A little noise in h0 prevents this. */
GR_API gr_recurrent_out gr_lstm_sequence(gr_tape *t, gr_tensor *x, const gr_recurrent_weights *weights, const gr_sequence_config *config);

/* The same for a GRU, with GR_GRU_... and without a cell. LN is the identity where there is no norm, * is elementwise, a and u have the blocks
 * r, z, n:
 *     a = LN_ih(w_ih x) + b_ih,   u = LN_hh(w_hh h) + b_hh
 *     r, z = sigmoid(a_r + u_r), sigmoid(a_z + u_z),   n = tanh(a_n + r * u_n),   h = (1 - z) * n + z * h
 * Cho et al. 2014 in PyTorch's form, where r multiplies after w_hh; the norms are those of Ba, Kiros, Hinton 2016, supplementary
 * material (of skip-thoughts): r and z share a mean, n has its own. */
GR_API gr_recurrent_out gr_gru_sequence(gr_tape *t, gr_tensor *x, const gr_recurrent_weights *weights, const gr_sequence_config *config);

/* The same for a plain RNN, with GR_RNN_... and without a cell:
 *     h = f(LN_sum(LN_ih(w_ih x) + LN_hh(w_hh h)) + b_ih + b_hh),   f = tanh, or relu.    Elman 1990; LN_sum is
 * Ba, Kiros, Hinton 2016, eq. 4 */
GR_API gr_recurrent_out gr_rnn_sequence(gr_tape *t, gr_tensor *x, const gr_recurrent_weights *weights, const gr_sequence_config *config);

#endif
