/* nn/lstm.h - LSTM layers, with layer norms where they are wanted, or batch norms. */
#ifndef GR_NN_LSTM_H
#define GR_NN_LSTM_H
#include "nn/module.h"
#include "ops/ops.h"
GR_BEGIN

typedef struct {
    unsigned norm;         /* GR_LSTM_LN_..., as GR_LSTM_LN_BA2016, or GR_LSTM_BN; 0: none */
    size_t bn_steps;       /* with GR_LSTM_BN: time steps that have statistics of their own, about the length of training sequences */
    double momentum;       /* of its running statistics: the weight of a new batch; 0: 0.1, GR_NONE: they stay */
    double h0_noise;       /* with it, in training: standard deviation of the noise in h0; 0: 0.1, GR_NONE: none */
    size_t layers;         /* 0: 1 */
    bool bidirectional;
    bool batch_first;      /* x and y are [B, T, ..] */
    bool no_bias;          /* not with norms: see below */
    double dropout;        /* in training, of what each layer but the last gives, with this probability */
    double forget_bias;    /* added to the forget gate's initial bias; 1 lets a young network remember */
    double eps;            /* of the norms; 0: 1e-5, GR_NONE: none */
} gr_lstm_config;

/* Parameters of layer k, with the suffix "_reverse" for the second direction:
 *     weight_ih_lk [4H, I or D H]   weight_hh_lk [4H, H]   the gates i, f, g, o in blocks of H rows, as in PyTorch
 *     bias_ih_lk, bias_hh_lk [4H]   without norms, as in PyTorch;   bias_lk [4H] with norms: the paper's one b
 *     ln_ih_lk.weight and .bias [4H], ln_hh_lk, ln_sum_lk, ln_c_lk ([H]): the norms that there are
 *     bn_ih_lk.weight [4H], bn_hh_lk.weight [4H], bn_c_lk.weight and .bias [H]: with GR_LSTM_BN, and of each the buffers
 *     .running_mean and .running_var [bn_steps, 4H or H]; gains start at 0.1, since from 1 the tanh lets little gradient pass
 * Weights and biases start uniform within 1 / sqrt(H), gains at 1, shifts at 0. The shifts of ln_ih and ln_hh do what bias does already: they
 * are the paper's, and stay. Biases must not start all equal under a norm: on rows of zeros (the first of a drawn digit) the
 * cell would stay 0 for ever, and each such step multiply the gradient by 1 / sqrt(eps), twice. So no_bias with norms is an error. */
typedef struct {
    gr_module module;
    size_t input, hidden, layers, directions;
    gr_lstm_config config;
    gr_lstm_weights *weights;  /* [layers * directions]; they are the tree's */
    char *stream, *noise;      /* "lstm/dropout", "lstm/h0" */
} gr_lstm;

GR_API gr_lstm *gr_lstm_new(gr_tape *t, gr_module *parent, const char *name, size_t input, size_t hidden, const gr_lstm_config *config);

typedef struct {
    gr_tensor *h0, *c0;     /* [layers D, B, H]: the state before the first step; NULL: zeros */
    const gr_ints *lengths; /* [B]: how many steps of each sequence are real; NULL: all */
} gr_lstm_input;

/* x [T, B, I], D directions; y [T, B, D H]: the last layer's h at each step, forward and reverse side by side; h, c [layers D, B, H]: the last state of each
 * layer and direction, which lie as in PyTorch. gr_select(t, s.h, 0, -1) is the last layer's. See gr_lstm_sequence. input may be NULL. */
GR_API gr_lstm_out gr_lstm_forward(gr_tape *t, const gr_lstm *l, gr_tensor *x, const gr_lstm_input *input);

GR_END
#endif
