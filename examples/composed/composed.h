/* examples/composed/composed.h - the twins: fused operators written with plain operators, as a lesson would write them. A twin is the
 * specification of its fused operator: the tests compare their results and gradients, and fused_and_composed compares their nodes, bytes and
 * times. The twins use the public interface alone. A twin checks only what its plain operators check, so give it arguments that the fused
 * operator has accepted. */
#ifndef COMPOSED_H
#define COMPOSED_H
#include "gradus.h"

/* gr_linear: a matrix product, then an addition. */
gr_tensor *composed_linear(gr_tape *t, gr_tensor *x, gr_tensor *w, gr_tensor *b);

/* gr_softmax and gr_log_softmax: subtract the largest value, exp, sum, then a division or a logarithm. */
gr_tensor *composed_softmax(gr_tape *t, gr_tensor *x, int axis);
gr_tensor *composed_log_softmax(gr_tape *t, gr_tensor *x, int axis);

/* gr_cross_entropy: log_softmax, gather the values of the targets, weight them, average. In this twin the logits of an ignored sample must
 * be finite. */
gr_tensor *composed_cross_entropy(gr_tape *t, gr_tensor *logits, const gr_ints *target, const gr_cross_entropy_config *config);

/* gr_attention: move the heads to an axis of their own, scores, where, softmax, dropout, product. In this twin k and v must be finite. */
gr_tensor *composed_attention(gr_tape *t, gr_tensor *q, gr_tensor *k, gr_tensor *v, const gr_attention_config *config);

/* gr_conv2d: pad x with zeros, unfold it into the values that each output sees, multiply by the weight. Pooling: unfold, then max or mean. */
gr_tensor *composed_conv2d(gr_tape *t, gr_tensor *x, gr_tensor *weight, gr_tensor *bias, const gr_conv_config *config);
gr_tensor *composed_max_pool2d(gr_tape *t, gr_tensor *x, const gr_pool_config *config);
gr_tensor *composed_avg_pool2d(gr_tape *t, gr_tensor *x, const gr_pool_config *config);

/* gr_norm_axes: x - mean, its mean square, a root, a division, a product, a sum. The next three are the same over other axes;
 * composed_rms_norm is the same without a mean. In these twins a constant row needs an eps above 0. */
gr_tensor *composed_norm_axes(gr_tape *t, gr_tensor *x, gr_axes over, gr_axes affine, gr_tensor *gamma, gr_tensor *beta, double eps);
gr_tensor *composed_layer_norm(gr_tape *t, gr_tensor *x, int trailing, gr_tensor *gamma, gr_tensor *beta, double eps);
gr_tensor *composed_group_norm(gr_tape *t, gr_tensor *x, size_t groups, gr_tensor *gamma, gr_tensor *beta, double eps);
gr_tensor *composed_instance_norm(gr_tape *t, gr_tensor *x, int axis, gr_tensor *gamma, gr_tensor *beta, double eps);
gr_tensor *composed_rms_norm(gr_tape *t, gr_tensor *x, int trailing, gr_tensor *gamma, double eps);

/* gr_batch_norm: sums over the real positions, divided by how many these are. */
gr_tensor *composed_batch_norm(gr_tape *t, gr_tensor *x, int axis, gr_tensor *gamma, gr_tensor *beta, const gr_batch_norm_config *config);

/* gr_lstm_sequence, gr_gru_sequence and gr_rnn_sequence: a few dozen operators for each time step. The running statistics of batch norms do not
 * change. */
gr_recurrent_out composed_lstm(gr_tape *t, gr_tensor *x, const gr_recurrent_weights *weights, const gr_sequence_config *config);
gr_recurrent_out composed_gru(gr_tape *t, gr_tensor *x, const gr_recurrent_weights *weights, const gr_sequence_config *config);
gr_recurrent_out composed_rnn(gr_tape *t, gr_tensor *x, const gr_recurrent_weights *weights, const gr_sequence_config *config);

#endif
