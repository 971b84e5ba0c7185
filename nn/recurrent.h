/* nn/recurrent.h - LSTM, GRU and plain RNN layers, with optional layer norms; the LSTM also with batch norms. The rules at the top of nn/nn.h
 * hold here too. */
#ifndef GR_NN_RECURRENT_H
#define GR_NN_RECURRENT_H
#include "nn/module.h"
#include "ops/ops.h"

typedef struct {
    unsigned norm;         /* default 0, no norms; LSTM: GR_LSTM_LN_.. (GR_LSTM_LN_BA2016 is the paper's) or GR_LSTM_BN; GRU: GR_GRU_LN_..; RNN:
                              GR_RNN_LN_.. */
    size_t layers;         /* default 1 */
    bool bidirectional;
    bool batch_first;      /* x and y are [B, T, ..] instead of [T, B, ..] */
    bool no_bias;          /* an error together with norms: see below */
    bool relu;             /* RNN: relu instead of tanh */
    double dropout;        /* in training, the probability of dropout between layers; default 0. The output of the last layer has none, so with
                              one layer nothing is dropped */
    double forget_bias;    /* LSTM: added to the first bias of the forget gate; default 0. With 1 an untrained network already remembers */
    double eps;            /* the epsilon of the norms; default 1e-5; GR_NONE means no epsilon */
    size_t bn_steps;       /* for GR_LSTM_BN: how many time steps have statistics of their own; choose about the length of the training
                              sequences. An error in a GRU or an RNN */
    double momentum;       /* for GR_LSTM_BN: the weight of a new batch in the running statistics; default 0.1; GR_NONE means 0: they never
                              change */
    double h0_noise;       /* for GR_LSTM_BN, in training: the standard deviation of the noise in h0; default 0.1; GR_NONE means no noise.
                              An error in a GRU or an RNN */
} gr_recurrent_config;

/* The parameters of layer k. I is the size of the input, H that of the hidden state, D the number of directions; G is 4H in an LSTM, 3H in a
 * GRU, H in an RNN. Names in the reverse direction end in "_reverse".
 *     weight_ih_lk [G, I] (from layer 1 on [G, D H]), weight_hh_lk [G, H]: the gates i, f, g, o or r, z, n in blocks of H rows, as in PyTorch
 *     bias_ih_lk [G], bias_hh_lk [G]: without norms, as in PyTorch
 *     bias_lk [G]: with norms there is one bias, as in the papers
 *     ln_ih_lk, ln_hh_lk, ln_sum_lk, ln_c_lk: the layer norms that norm asks for, each with .weight and .bias [G] (ln_c: [H])
 *     bn_ih_lk.weight [G], bn_hh_lk.weight [G], bn_c_lk.weight [H], bn_c_lk.bias [H]: with GR_LSTM_BN; each bn also has the buffers .running_mean
 *     and .running_var [bn_steps, G or H]
 * Weights and biases start uniform in +-1 / sqrt(H). The weights of layer norms start at 1, those of batch norms at 0.1, because with 1 the
 * tanh saturates and little gradient passes. The biases of norms start at 0; those of ln_ih and ln_hh repeat what bias_lk does (except for
 * gate n of a GRU), but the paper has them. With input size 1, a norm of W x, as in GR_LSTM_LN_BA2016, keeps only the sign of x; use
 * GR_LSTM_LN_SUM there. no_bias with norms is an error, because biases under a norm must not start all equal: on rows of zeros (the first rows
 * of a drawn digit) the state would stay 0, and each such step would multiply the gradient by 1 / sqrt(eps), in an LSTM twice. */
typedef enum { GR_LSTM, GR_GRU, GR_RNN } gr_recurrent_kind;
typedef struct {
    gr_module module;
    gr_recurrent_kind kind;
    size_t input, hidden, layers, directions;
    gr_recurrent_config config;
    gr_recurrent_weights *weights; /* [layers * directions]; the tree owns the tensors */
    char *stream, *noise;          /* random streams: "lstm/dropout" and "lstm/h0" */
} gr_recurrent;

/* Each kind has its own type, so that a GRU does not compile where an LSTM is wanted. lstm->recurrent has the fields above. */
typedef struct { union { gr_module module; gr_recurrent recurrent; }; } gr_lstm;
typedef struct { union { gr_module module; gr_recurrent recurrent; }; } gr_gru;
typedef struct { union { gr_module module; gr_recurrent recurrent; }; } gr_rnn;
typedef gr_recurrent_config gr_lstm_config, gr_gru_config, gr_rnn_config;
GR_API gr_lstm *gr_lstm_new(gr_tape *t, gr_module *parent, const char *name, size_t input, size_t hidden, const gr_lstm_config *config);
GR_API gr_gru *gr_gru_new(gr_tape *t, gr_module *parent, const char *name, size_t input, size_t hidden, const gr_gru_config *config);
GR_API gr_rnn *gr_rnn_new(gr_tape *t, gr_module *parent, const char *name, size_t input, size_t hidden, const gr_rnn_config *config);
/* Make a layer of any kind, for programs that choose the kind when they run; gr_recurrent_forward runs it. */
GR_API gr_recurrent *gr_recurrent_new(gr_tape *t, gr_module *parent, const char *name, gr_recurrent_kind kind, size_t input, size_t hidden,
                                      const gr_recurrent_config *config);

typedef struct {
    gr_tensor *h0, *c0;     /* [layers D, B, H]: the state before the first step; NULL means zeros. Only an LSTM has c0 */
    const gr_ints *lengths; /* [B]: how many steps of each sequence are real; NULL means all */
    bool grad_norms;        /* fill dh_norm and dc_norm */
} gr_recurrent_input;
typedef gr_recurrent_input gr_lstm_input, gr_gru_input, gr_rnn_input; /* as gr_lstm_out, gr_gru_out and gr_rnn_out are gr_recurrent_out */

/* Run the layers over x [T, B, I] (with batch_first [B, T, I]); see gr_lstm_sequence, gr_gru_sequence and gr_rnn_sequence. input may be NULL.
 *     y     [T, B, D H]         h of the last layer at each step; with two directions forward and reverse side by side
 *     h, c  [layers D, B, H]    the last state of each layer and direction, in PyTorch's order; c is NULL unless the layer is an LSTM.
 *                               gr_select(t, s.h, 0, -1) is the state of the last layer. With two directions it is the reverse one, and
 *                               gr_select(t, s.h, 0, -2) is the forward one
 * The tape owns them. Fails, and returns NULL in all fields, if x, h0, c0 or lengths do not have these shapes.
 *
 * How far back does the gradient reach? With grad_norms, after gr_backward and until gr_tape_reset,
 * dh_norm[(layer * D + direction) * T + time] is the norm of the gradient of the loss with respect to h of this layer and direction (1 is
 * reverse) at this time, and dc_norm that with respect to c (NULL unless the layer is an LSTM). It is 0 where no gradient came. */
GR_API gr_recurrent_out gr_lstm_forward(gr_tape *t, const gr_lstm *l, gr_tensor *x, const gr_recurrent_input *input);
GR_API gr_recurrent_out gr_gru_forward(gr_tape *t, const gr_gru *l, gr_tensor *x, const gr_recurrent_input *input);
GR_API gr_recurrent_out gr_rnn_forward(gr_tape *t, const gr_rnn *l, gr_tensor *x, const gr_recurrent_input *input);
GR_API gr_recurrent_out gr_recurrent_forward(gr_tape *t, const gr_recurrent *l, gr_tensor *x, const gr_recurrent_input *input);

#endif
