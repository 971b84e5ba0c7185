/* ops/composed.h - the twins: fused operators written with plain operators, as a lesson would write them. A twin is the specification of its
 * fused operator, and the speed table compares the two. The tests compare their results and gradients. A twin checks only what its plain
 * operators check, so give it arguments that the fused operator has accepted. */
#ifndef GR_COMPOSED_H
#define GR_COMPOSED_H
#include "ops/ops.h"
GR_BEGIN

/* gr_linear: a matrix product, then an addition. */
GR_API gr_tensor *gr_linear_composed(gr_tape *t, gr_tensor *x, gr_tensor *w, gr_tensor *b);

/* gr_softmax and gr_log_softmax: subtract the largest value, exp, sum, then a division or a logarithm. */
GR_API gr_tensor *gr_softmax_composed(gr_tape *t, gr_tensor *x, int axis);
GR_API gr_tensor *gr_log_softmax_composed(gr_tape *t, gr_tensor *x, int axis);

/* gr_cross_entropy: log_softmax, gather the values of the targets, weight them, average. In this twin the logits of an ignored sample must
 * be finite. */
GR_API gr_tensor *gr_cross_entropy_composed(gr_tape *t, gr_tensor *logits, const gr_ints *target, const gr_cross_entropy_config *config);

/* gr_attention: move the heads to an axis of their own, scores, where, softmax, dropout, product. In this twin k and v must be finite. */
GR_API gr_tensor *gr_attention_composed(gr_tape *t, gr_tensor *q, gr_tensor *k, gr_tensor *v, const gr_attention_config *config);

/* gr_conv2d: pad x with zeros, unfold it into the values that each output sees, multiply by the weight. Pooling: unfold, then max or mean. */
GR_API gr_tensor *gr_conv2d_composed(gr_tape *t, gr_tensor *x, gr_tensor *weight, gr_tensor *bias, const gr_conv_config *config);
GR_API gr_tensor *gr_max_pool2d_composed(gr_tape *t, gr_tensor *x, const gr_pool_config *config);
GR_API gr_tensor *gr_avg_pool2d_composed(gr_tape *t, gr_tensor *x, const gr_pool_config *config);

/* gr_norm_axes: x - mean, its mean square, a root, a division, a product, a sum. The next three are the same over other axes;
 * gr_rms_norm_composed is the same without a mean. eps must be above 0. */
GR_API gr_tensor *gr_norm_axes_composed(gr_tape *t, gr_tensor *x, gr_axes over, gr_axes affine, gr_tensor *gamma, gr_tensor *beta, double eps);
GR_API gr_tensor *gr_layer_norm_composed(gr_tape *t, gr_tensor *x, int trailing, gr_tensor *gamma, gr_tensor *beta, double eps);
GR_API gr_tensor *gr_group_norm_composed(gr_tape *t, gr_tensor *x, size_t groups, gr_tensor *gamma, gr_tensor *beta, double eps);
GR_API gr_tensor *gr_instance_norm_composed(gr_tape *t, gr_tensor *x, int axis, gr_tensor *gamma, gr_tensor *beta, double eps);
GR_API gr_tensor *gr_rms_norm_composed(gr_tape *t, gr_tensor *x, int trailing, gr_tensor *gamma, double eps);

/* gr_batch_norm: sums over the real positions, divided by how many these are. */
GR_API gr_tensor *gr_batch_norm_composed(gr_tape *t, gr_tensor *x, int axis, gr_tensor *gamma, gr_tensor *beta,
                                         const gr_batch_norm_config *config);

/* gr_lstm_sequence, gr_gru_sequence and gr_rnn_sequence, a few dozen operators for each time step. The running statistics of batch norms do not change. */
GR_API gr_recurrent_out gr_lstm_composed(gr_tape *t, gr_tensor *x, const gr_recurrent_weights *weights, const gr_sequence_config *config);
GR_API gr_recurrent_out gr_gru_composed(gr_tape *t, gr_tensor *x, const gr_recurrent_weights *weights, const gr_sequence_config *config);
GR_API gr_recurrent_out gr_rnn_composed(gr_tape *t, gr_tensor *x, const gr_recurrent_weights *weights, const gr_sequence_config *config);

GR_END
#endif
