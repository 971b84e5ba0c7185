/* ops/attention.h - attention. */
#ifndef GR_ATTENTION_H
#define GR_ATTENTION_H
#include "core/tensor.h"
GR_BEGIN

typedef struct {
    size_t heads;           /* 0: 1 */
    bool causal;            /* query i sees keys 0 .. i only */
    const gr_ints *lengths; /* [B], each 0 .. Tk: how many keys of a sample are real; NULL: all */
    const gr_tensor *mask;  /* 0 where a key may not be seen: [B, Tk] for all queries, or [B, Tq, Tk], or [1, Tq, Tk]; NULL: all may */
    double scale;           /* above 0; 0: 1 / sqrt(d) */
    double dropout;         /* in training, each probability becomes 0 with this one, else p / (1 - dropout) */
    const char *stream;     /* of the tape, for dropout's B heads Tq Tk draws */
} gr_attention_config;

/* Scaled dot-product attention, for each sample and head:
 *     y = softmax(scale q k^T) v          the softmax over the keys that a query may see      Vaswani et al. 2017, eq. 1
 *
 *   q       [B, Tq, heads d]   head h has columns h d .. (h + 1) d - 1, as nn.MultiheadAttention cuts them: nothing is permuted
 *   k       [B, Tk, heads d]
 *   v       [B, Tk, heads e]
 *   return  [B, Tq, heads e]
 *
 * Gradients reach q, k and v. A key may be seen when causal, lengths and mask all let it be. A query that may see none gives 0 and passes
 * no gradient (in PyTorch NaN). A key of probability 0, unseen ones first of all, adds nothing, whatever k and v hold there, NaN
 * included. A sample has the same bits alone, in any batch, and with any padding beyond its length. config may be NULL.
 * What is kept for backward is B heads Tq Tk probabilities. */
GR_API gr_tensor *gr_attention(gr_tape *t, gr_tensor *q, gr_tensor *k, gr_tensor *v, const gr_attention_config *config);

/* Self-attention of q, k and v that lie side by side, as one product makes them.
 *   qkv  [B, T, 3 heads d]     return  [B, T, heads d]                                                                      */
GR_API gr_tensor *gr_attention_packed(gr_tape *t, gr_tensor *qkv, const gr_attention_config *config);

GR_END
#endif
