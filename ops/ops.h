/* ops/ops.h - the operators. Each takes the tape first, returns a tensor that the tape owns until gr_tape_reset, and returns
 * NULL when an argument is NULL or the tape is in error. Gradients flow to every tensor argument unless said otherwise. Axes
 * may be negative: they count from the end. */
#ifndef GR_OPS_H
#define GR_OPS_H
#include "core/tensor.h"
#include "ops/attention.h" /* attention */
#include "ops/conv.h"      /* convolution, pooling */
#include "ops/recurrent.h" /* LSTM, GRU, plain RNN */
GR_BEGIN

/* ==== Elementwise, one input ==== */

/* gr_neg, gr_exp, gr_tanh .. (t, x): one for each line of ops/unary.def, where formulas and derivatives are. With parameters:
 *     gr_leaky_relu(t, x, slope)     x, or slope x where x <= 0
 *     gr_elu(t, x, alpha)            x, or alpha (exp(x) - 1) where x <= 0
 *     gr_clamp(t, x, low, high)      min(high, max(low, x)); the gradient passes where low <= x <= high
 * gr_gelu is x times the normal distribution function, gr_gelu_tanh its approximation; gr_softplus is log(1 + exp(x)), gr_silu is
 * x sigmoid(x), gr_rsqrt is 1 / sqrt(x). Outside their domain log, sqrt and rsqrt give NaN. */
#define UNARY(name, ...) GR_API gr_tensor *gr_##name(gr_tape *t, gr_tensor *x);
#define UNARY_1(name, a, ...) GR_API gr_tensor *gr_##name(gr_tape *t, gr_tensor *x, double a);
#define UNARY_2(name, a, b, ...) GR_API gr_tensor *gr_##name(gr_tape *t, gr_tensor *x, double a, double b);
#define UNARY_FAR UNARY
#include "ops/unary.def"
#undef UNARY
#undef UNARY_1
#undef UNARY_2
#undef UNARY_FAR

/* ==== Elementwise, two inputs, broadcasting; comparisons; where ==== */

/* gr_add, gr_sub, gr_mul, gr_div, gr_maximum, gr_minimum, gr_pow (t, a, b), and the comparisons gr_eq, gr_ne, gr_lt, gr_le,
 * gr_gt, gr_ge (t, a, b), which give 1 where they hold, else 0, and pass no gradient: the lines of ops/binary.def.
 *
 * Shapes broadcast as NumPy's: counted from the last axis, sizes must be equal or 1, and a missing axis is 1. So [64, 10] goes
 * with [10], with [64, 1] and with gr_scalar: gr_mul(t, x, gr_scalar(t, 0.5)), gr_pow(t, x, gr_scalar(t, 3)). */
#define BINARY(name, ...) GR_API gr_tensor *gr_##name(gr_tape *t, gr_tensor *a, gr_tensor *b);
#define COMPARE BINARY
#include "ops/binary.def"
#undef BINARY
#undef COMPARE

/* a where cond is not 0, else b. All three broadcast; cond gets no gradient. */
GR_API gr_tensor *gr_where(gr_tape *t, gr_tensor *cond, gr_tensor *a, gr_tensor *b);

/* ==== Reductions ==== */

/* Over the given axes of x, which are left out of the result, or with keepdim stay in it with size 1. An axis that x lacks or that is
 * given twice is an error.
 *     sum, mean, prod     over nothing: 0, NaN, 1
 *     var                 sum of (x - mean)^2 / (n - correction); PyTorch's default correction is 1; NaN where n <= correction
 *     max, min            over nothing: an error. A NaN wins. Equal extremes share the gradient evenly, as in PyTorch's amax
 *     logsumexp           log of the sum of exp(x), without overflow; -inf where all x are, and there it passes no gradient (PyTorch: NaN)
 *     vector_norm         (sum of |x|^p)^(1/p), p > 0 or INFINITY. Where the norm is 0 it passes no gradient            */
GR_API gr_tensor *gr_sum(gr_tape *t, gr_tensor *x, gr_axes axes, bool keepdim);
GR_API gr_tensor *gr_mean(gr_tape *t, gr_tensor *x, gr_axes axes, bool keepdim);
GR_API gr_tensor *gr_prod(gr_tape *t, gr_tensor *x, gr_axes axes, bool keepdim);
GR_API gr_tensor *gr_var(gr_tape *t, gr_tensor *x, gr_axes axes, double correction, bool keepdim);
GR_API gr_tensor *gr_max(gr_tape *t, gr_tensor *x, gr_axes axes, bool keepdim);
GR_API gr_tensor *gr_min(gr_tape *t, gr_tensor *x, gr_axes axes, bool keepdim);
GR_API gr_tensor *gr_logsumexp(gr_tape *t, gr_tensor *x, gr_axes axes, bool keepdim);
GR_API gr_tensor *gr_vector_norm(gr_tape *t, gr_tensor *x, double p, gr_axes axes, bool keepdim);

/* Where along one axis the largest value is: the first of equals, the first NaN if there is one. Without gradient. */
GR_API gr_ints *gr_argmax(gr_tape *t, const gr_tensor *x, int axis, bool keepdim);

/* ==== Shape ==== */

/* Views, without a copy, are in core/tensor.h: gr_reshape, gr_flatten, gr_slice. These make a new tensor. */
GR_API gr_tensor *gr_permute(gr_tape *t, gr_tensor *x, gr_axes order);    /* axis k of the result is axis order[k] of x */
GR_API gr_tensor *gr_transpose(gr_tape *t, gr_tensor *x, int a, int b);   /* two axes change places */
GR_API gr_tensor *gr_narrow(gr_tape *t, gr_tensor *x, int axis, ptrdiff_t start, size_t count); /* indices start .. start + count - 1; a start below 0 counts from the end */
GR_API gr_tensor *gr_select(gr_tape *t, gr_tensor *x, int axis, ptrdiff_t index); /* drops the axis; -1 is its last index */
GR_API gr_tensor *gr_flip(gr_tape *t, gr_tensor *x, gr_axes axes);        /* the other way round along these axes */
GR_API gr_tensor *gr_expand(gr_tape *t, gr_tensor *x, gr_shape shape);    /* x broadcast to shape */

/* n >= 1 tensors one after the other, along an axis on which their sizes may differ (cat), or along a new axis (stack: of one shape). */
GR_API gr_tensor *gr_cat(gr_tape *t, gr_tensor *const *x, size_t n, int axis);
GR_API gr_tensor *gr_stack(gr_tape *t, gr_tensor *const *x, size_t n, int axis);

/* The reverse of cat: out[i] gets sizes[i] indices of the axis; the sizes add up to it. False on error, and all out[i] are NULL. */
GR_API bool gr_split(gr_tape *t, gr_tensor *x, int axis, const size_t *sizes, size_t n, gr_tensor **out);

/* ==== Products ==== */

/* The matrix product, over the last two axes; those before broadcast. A vector a is one row, a vector b one column, and the result lacks
 * that axis: [K] [K] gives a number.
 *     a [.., M, K]   b [.., K, N]   return [.., M, N]
 * gr_matmul_t takes a as it is stored or, with ta, as its transpose, and b likewise; for a vector that means nothing. So
 * gr_matmul_t(t, q, false, k, true) is q k^T, and no transposition is ever copied. */
GR_API gr_tensor *gr_matmul(gr_tape *t, gr_tensor *a, gr_tensor *b);
GR_API gr_tensor *gr_matmul_t(gr_tape *t, gr_tensor *a, bool ta, gr_tensor *b, bool tb);

/* y = x w^T + b.   x [.., I]   w [O, I]   b [O], or NULL   return [.., O] */
GR_API gr_tensor *gr_linear(gr_tape *t, gr_tensor *x, gr_tensor *w, gr_tensor *b);

/* ==== Softmax and losses ==== */

/* Along an axis: softmax(x)_i = exp(x_i) / sum over j of exp(x_j), and its logarithm, x_i - log of that sum. The largest x is
 * subtracted first, so nothing overflows; an x of -inf has probability 0. An axis of nothing but -inf gives NaN. */
GR_API gr_tensor *gr_softmax(gr_tape *t, gr_tensor *x, int axis);
GR_API gr_tensor *gr_log_softmax(gr_tape *t, gr_tensor *x, int axis);

/* What a loss returns: the mean or the sum over all samples (rank 0), or each sample's own. The mean of no samples is NaN. */
typedef enum { GR_REDUCE_MEAN, GR_REDUCE_SUM, GR_REDUCE_NONE } gr_reduction;

typedef struct {
    gr_reduction reduction;
    const gr_tensor *weight;  /* [C]: of each class, without gradient; NULL: 1 */
    double label_smoothing;   /* e in [0, 1] (cross_entropy only) */
    int ignore_index;         /* samples with this target count for nothing; 0 means -100, PyTorch's default */
    bool ignore_class_0;      /* samples with target 0 count for nothing */
} gr_cross_entropy_config;

/* Of logits x against class numbers, with p = softmax(x) over the classes c and w = weight, per sample
 *     loss = -(1 - e) w[target] log p[target] - e / C * sum over c of w[c] log p[c]
 * The mean divides by the sum of w[target] over the samples that are not ignored, as in PyTorch.
 *
 *   logits  [N, C] or [N, C, d1 ..], or [C] of one sample
 *   target  the same without C: [N] or [N, d1 ..], or []; 0 .. C-1 or ignore_index; anything else is an error
 *   config  NULL: all defaults                                                                                              */
GR_API gr_tensor *gr_cross_entropy(gr_tape *t, gr_tensor *logits, const gr_ints *target, const gr_cross_entropy_config *config);

/* The same from log-probabilities, such as gr_log_softmax gives over axis 1: loss = -w[target] logp[target]. */
GR_API gr_tensor *gr_nll(gr_tape *t, gr_tensor *logp, const gr_ints *target, const gr_cross_entropy_config *config);

/* Element by element, x and target of one shape; gradients reach both.
 *     mse     (x - target)^2
 *     l1      |x - target|                                      with derivative 0 at 0
 *     huber   d^2 / 2 for |d| <= delta, else delta (|d| - delta / 2), d = x - target       Huber 1964; delta > 0
 *     bce_with_logits   -(w target log s(x) + (1 - target) log(1 - s(x))), s the sigmoid; w = pos_weight, which holds one value or
 *                       one for each element of the last axis, and gets no gradient; NULL: 1                               */
GR_API gr_tensor *gr_mse(gr_tape *t, gr_tensor *x, gr_tensor *target, gr_reduction reduction);
GR_API gr_tensor *gr_l1(gr_tape *t, gr_tensor *x, gr_tensor *target, gr_reduction reduction);
GR_API gr_tensor *gr_huber(gr_tape *t, gr_tensor *x, gr_tensor *target, double delta, gr_reduction reduction);
GR_API gr_tensor *gr_bce_with_logits(gr_tape *t, gr_tensor *x, gr_tensor *target, const gr_tensor *pos_weight, gr_reduction reduction);

/* ==== Embedding, gather, dropout ==== */

/* Rows of a table: y[...] = weight[ids[...]].
 *
 *   weight  [V, D]
 *   ids     any shape, 0 .. V-1
 *   padding an id whose row gets no gradient; GR_NONE: no such id
 *   return  [ids.., D]                                                                                                      */
GR_API gr_tensor *gr_embedding(gr_tape *t, gr_tensor *weight, const gr_ints *ids, int padding);

/* Values picked along an axis: for axis 1 of three, y[i][j][k] = x[i][ids[i][j][k]][k]. ids has the rank of x and is not larger
 * than x on the other axes; y has its shape. Picking a value twice adds both gradients. */
GR_API gr_tensor *gr_gather(gr_tape *t, gr_tensor *x, int axis, const gr_ints *ids);

/* In training, every value becomes 0 with probability p, else x / (1 - p); in evaluation mode, x. The mask is drawn from the
 * tape's stream of that name: x->len draws.                                                      Srivastava et al. 2014 */
GR_API gr_tensor *gr_dropout(gr_tape *t, gr_tensor *x, double p, const char *stream);

#include "ops/norm.h" /* normalization */

GR_END
#endif
