/* nn/recurrent.h - LSTM, GRU and plain RNN layers, with layer norms where they are wanted; the LSTM also with batch norms. */
#ifndef GR_NN_RECURRENT_H
#define GR_NN_RECURRENT_H
#include "nn/module.h"
#include "ops/ops.h"
GR_BEGIN

typedef struct {
    unsigned norm;         /* GR_LSTM_LN_..., as GR_LSTM_LN_BA2016, or GR_LSTM_BN; GR_GRU_LN_...; GR_RNN_LN_...; 0: none */
    size_t layers;         /* 0: 1 */
    bool bidirectional;
    bool batch_first;      /* x and y are [B, T, ..] */
    bool no_bias;          /* not with norms: see below */
    bool relu;             /* of an RNN: relu in the place of tanh */
    double dropout;        /* in training, of what each layer but the last gives, with this probability */
    double forget_bias;    /* of an LSTM: added to the forget gate's initial bias; 1 lets a young network remember */
    double eps;            /* of the norms; 0: 1e-5, GR_NONE: none */
    size_t bn_steps;       /* with GR_LSTM_BN: time steps that have statistics of their own, about the length of training sequences */
    double momentum;       /* of its running statistics: the weight of a new batch; 0: 0.1, GR_NONE: they stay */
    double h0_noise;       /* with it, in training: standard deviation of the noise in h0; 0: 0.1, GR_NONE: none */
} gr_recurrent_config;

/* G is 4H in an LSTM, 3H in a GRU, H in an RNN. Parameters of layer k, with the suffix "_reverse" for the second direction:
 *     weight_ih_lk [G, I or D H]   weight_hh_lk [G, H]   the gates i, f, g, o or r, z, n in blocks of H rows, as in PyTorch
 *     bias_ih_lk, bias_hh_lk [G]   without norms, as in PyTorch;   bias_lk [G] with norms: the paper's one b
 *     ln_ih_lk.weight and .bias [G], ln_hh_lk, ln_sum_lk, ln_c_lk ([H]): the norms that there are
 *     bn_ih_lk.weight [4H], bn_hh_lk.weight [4H], bn_c_lk.weight and .bias [H]: with GR_LSTM_BN, and of each the buffers
 *     .running_mean and .running_var [bn_steps, 4H or H]; gains start at 0.1, since from 1 the tanh lets little gradient pass
 * Weights and biases start uniform within 1 / sqrt(H), gains at 1, shifts at 0. The shifts of ln_ih and ln_hh do what bias does already (but
 * for n in a GRU): they are the paper's, and stay. Biases must not start all equal under a norm: on rows of zeros (the first of a drawn
 * digit) the state would stay 0 for ever, and each such step multiply the gradient by 1 / sqrt(eps), in an LSTM twice. So no_bias with
 * norms is an error. */
typedef enum { GR_LSTM, GR_GRU, GR_RNN } gr_recurrent_kind;
typedef struct {
    gr_module module;
    gr_recurrent_kind kind;
    size_t input, hidden, layers, directions;
    gr_recurrent_config config;
    gr_recurrent_weights *weights; /* [layers * directions]; they are the tree's */
    char *stream, *noise;          /* "lstm/dropout", "lstm/h0" */
} gr_recurrent;

/* One type for each kind, so that a compiler sees a GRU where an LSTM is wanted. &lstm->recurrent has the fields above. */
typedef struct { union { gr_module module; gr_recurrent recurrent; }; } gr_lstm;
typedef struct { union { gr_module module; gr_recurrent recurrent; }; } gr_gru;
typedef struct { union { gr_module module; gr_recurrent recurrent; }; } gr_rnn;
typedef gr_recurrent_config gr_lstm_config, gr_gru_config, gr_rnn_config;
GR_API gr_lstm *gr_lstm_new(gr_tape *t, gr_module *parent, const char *name, size_t input, size_t hidden, const gr_lstm_config *config);
GR_API gr_gru *gr_gru_new(gr_tape *t, gr_module *parent, const char *name, size_t input, size_t hidden, const gr_gru_config *config);
GR_API gr_rnn *gr_rnn_new(gr_tape *t, gr_module *parent, const char *name, size_t input, size_t hidden, const gr_rnn_config *config);
/* Any of them, for programs that choose the kind when they run; gr_recurrent_forward calls it. */
GR_API gr_recurrent *gr_recurrent_new(gr_tape *t, gr_module *parent, const char *name, gr_recurrent_kind kind, size_t input, size_t hidden,
                                      const gr_recurrent_config *config);

typedef struct {
    gr_tensor *h0, *c0;     /* [layers D, B, H]: the state before the first step; NULL: zeros. c0: of an LSTM */
    const gr_ints *lengths; /* [B]: how many steps of each sequence are real; NULL: all */
    bool grad_norms;        /* dh_norm and dc_norm are wanted */
} gr_recurrent_input;
typedef gr_recurrent_input gr_lstm_input;

/* x [T, B, I], D directions; y [T, B, D H]: the last layer's h at each step, forward and reverse side by side; h, c [layers D, B, H]: the last
 * state of each layer and direction, which lie as in PyTorch (c: of an LSTM, else NULL). gr_select(t, s.h, 0, -1) is the last layer's.
 * See gr_lstm_sequence, gr_gru_sequence, gr_rnn_sequence. input may be NULL.
 *
 * How far back does the gradient reach? With grad_norms, dh_norm [layers D, T] holds after gr_backward, until reset, the norm of the loss's
 * gradient with respect to h at each time, dc_norm that of the cell (of an LSTM, else NULL): so dh_norm[k * T + time] of layer and
 * direction k. What no gradient reached is 0. */
GR_API gr_recurrent_out gr_lstm_forward(gr_tape *t, const gr_lstm *l, gr_tensor *x, const gr_recurrent_input *input);
GR_API gr_recurrent_out gr_gru_forward(gr_tape *t, const gr_gru *l, gr_tensor *x, const gr_recurrent_input *input);
GR_API gr_recurrent_out gr_rnn_forward(gr_tape *t, const gr_rnn *l, gr_tensor *x, const gr_recurrent_input *input);
GR_API gr_recurrent_out gr_recurrent_forward(gr_tape *t, const gr_recurrent *l, gr_tensor *x, const gr_recurrent_input *input);

GR_END
#endif
