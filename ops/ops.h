/* ops/ops.h - the operators. Each takes the tape first, returns a tensor that the tape owns until gr_tape_reset, and returns
 * NULL when an argument is NULL or the tape is in error. Gradients flow to every tensor argument unless said otherwise. Axes
 * may be negative: they count from the end. */
#ifndef GR_OPS_H
#define GR_OPS_H
#include "core/tensor.h"
GR_BEGIN

/* ==== Elementwise, one input ==== */

/* ==== Elementwise, two inputs, broadcasting; comparisons; where ==== */

/* ==== Reductions ==== */

/* ==== Shape ==== */

/* ==== Products ==== */

/* ==== Softmax and losses ==== */

/* ==== Embedding, gather, dropout ==== */

/* ==== Normalization ==== */

/* ==== Recurrent ==== */

GR_END
#endif
