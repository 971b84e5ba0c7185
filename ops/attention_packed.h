/* ops/attention_packed.h - self-attention of q, k and v that lie side by side, as one linear layer computes them. For nn/attention.c. */
#ifndef GR_ATTENTION_PACKED_H
#define GR_ATTENTION_PACKED_H
#include "ops/attention.h"

/* gr_attention of the three parts of qkv [B, T, 3 heads d]; the result is [B, T, heads d]. */
gr_tensor *gr__attention_packed(gr_tape *t, gr_tensor *qkv, const gr_attention_config *config);

#endif
