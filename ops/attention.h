/* ops/attention.h - attention. */
#ifndef GR_ATTENTION_H
#define GR_ATTENTION_H
#include "core/tensor.h"

typedef struct {
    size_t heads;           /* default 1 */
    bool causal;            /* query i sees only keys 0 .. i */
    const gr_ints *starts;  /* with causal, [B], values 0 .. Tk: query i of a sample sees keys 0 .. starts + i; default 0 */
    const gr_ints *lengths; /* [B], values 0 .. Tk: the keys of each sample beyond its length are padding; default: no padding */
    const gr_tensor *mask;  /* 0 where a query must not see a key: [B, Tk] for all queries, [B, Tq, Tk] or [1, Tq, Tk]; default: no mask */
    double scale;           /* above 0; default 1 / sqrt(d) */
    double dropout;         /* in training, each probability p becomes 0 with this probability, and p / (1 - dropout) otherwise; default 0 */
    const char *stream;     /* the tape's stream from which dropout takes B heads Tq Tk draws; needed with dropout */
} gr_attention_config;

/* Scaled dot-product attention, for each sample and head:
 *     y = softmax(scale q k^T) v          the softmax is over the keys that a query sees      Vaswani et al. 2017, eq. 1
 *
 *   q       [B, Tq, heads d]   head h has columns h d .. (h + 1) d - 1, as in PyTorch's nn.MultiheadAttention: nothing is permuted
 *   k       [B, Tk, heads d]
 *   v       [B, Tk, heads e]
 *   config  NULL means all defaults
 *   return  [B, Tq, heads e]
 *
 * Gradients reach q, k and v. A query sees a key when causal, lengths and mask all allow it. A query that sees no key gives 0 and passes no
 * gradient (PyTorch's scaled_dot_product_attention does the same; its nn.MultiheadAttention with need_weights gives NaN). A key of probability 0, so every key that is not seen, adds nothing, even if k or v holds NaN there.
 * A sample gives the same bits alone, in any batch, and with any padding beyond its length. The tape keeps at most B heads Tq Tk probabilities
 * for backward: of causal ones without starts about half. Fails if a shape does not fit, or if a setting is out of range. */
GR_API gr_tensor *gr_attention(gr_tape *t, gr_tensor *q, gr_tensor *k, gr_tensor *v, const gr_attention_config *config);

#endif
