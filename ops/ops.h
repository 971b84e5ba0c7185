/* ops/ops.h - the operators. Each takes the tape first and returns a tensor that the tape owns until gr_tape_reset. It returns NULL when the
 * tape is in error, and when an argument is wrong: then gr_message says why. Gradients flow to every tensor argument unless the comment says
 * otherwise. A negative axis counts from the end. An operator reads integers and cond where they are: do not change them before gr_backward.
 *
 * This function draws the next token of a text: it divides the logits by a temperature, and draws among the k largest.
 *
 *     #include <math.h>
 *     gr_ints *next_token(gr_tape *t, gr_tensor *logits, double temperature, size_t k) // logits [N, V], return [N]
 *     {
 *         gr_tensor *z = gr_div(t, logits, gr_scalar(t, temperature));
 *         gr_tensor *least = gr_narrow(t, gr_topk(t, z, -1, k, true).values, -1, -1, 1); // the k-th largest of each row
 *         z = gr_masked_fill(t, z, gr_lt(t, z, least), (double)-INFINITY);               // probability 0
 *         return gr_categorical(t, z, "sample");
 *     }
 */
#ifndef GR_OPS_H
#define GR_OPS_H
#include "core/tensor.h"
#include "ops/attention.h" /* attention */
#include "ops/conv.h"      /* convolution, pooling */
#include "ops/recurrent.h" /* LSTM, GRU, plain RNN */

/* ==== Elementwise, one input ==== */

/* All of them, with their formulas; the derivatives are in ops/unary.def. `make check` compares this list with that file.
 *     gr_neg(t, x)                   -x
 *     gr_scale(t, x, factor)         x factor; the gradient reaches x alone, as in gr_add_scalar
 *     gr_add_scalar(t, x, value)     x + value
 *     gr_abs(t, x)                   |x|
 *     gr_sign(t, x)                  1 where x > 0, -1 where x < 0, and 0 elsewhere, also where x is NaN
 *     gr_floor(t, x)                 the largest integer <= x
 *     gr_ceil(t, x)                  the smallest integer >= x
 *     gr_round(t, x)                 the nearest integer; of two, the even one. The gradients of these four are 0, and abs has 0 at 0
 *     gr_clamp(t, x, low, high)      min(high, max(low, x)); the gradient passes where low <= x <= high
 *     gr_square(t, x)                x^2
 *     gr_sqrt(t, x)                  the square root; NaN where x < 0
 *     gr_rsqrt(t, x)                 1 / sqrt(x); NaN where x < 0
 *     gr_exp(t, x)                   e^x
 *     gr_expm1(t, x)                 e^x - 1, accurate for small |x|
 *     gr_log(t, x)                   the natural logarithm; NaN where x < 0
 *     gr_log1p(t, x)                 log(1 + x), accurate for small |x|; NaN where x < -1
 *     gr_sin(t, x)                   sine of x in radians
 *     gr_cos(t, x)                   cosine
 *     gr_tan(t, x)                   tangent
 *     gr_tanh(t, x)                  hyperbolic tangent
 *     gr_erf(t, x)                   error function
 *     gr_sigmoid(t, x)               1 / (1 + e^-x)
 *     gr_hardsigmoid(t, x)           min(6, max(0, x + 3)) / 6
 *     gr_softplus(t, x)              log(1 + e^x)
 *     gr_relu(t, x)                  max(0, x)
 *     gr_leaky_relu(t, x, slope)     x where x > 0, and slope x elsewhere
 *     gr_elu(t, x, alpha)            x where x > 0, and alpha (e^x - 1) elsewhere
 *     gr_selu(t, x)                  1.0507 elu(x, 1.67326); both constants have more digits
 *     gr_hardtanh(t, x, low, high)   as gr_clamp, but the gradient passes where low < x < high. With 0 and 6 it is relu6
 *     gr_silu(t, x)                  x sigmoid(x)
 *     gr_hardswish(t, x)             x hardsigmoid(x)
 *     gr_mish(t, x)                  x tanh(softplus(x))
 *     gr_gelu(t, x)                  x times the normal distribution function: in float within 5e-7 for |x| < 5, and -0 below -5.6
 *     gr_gelu_tanh(t, x)             an approximation of gr_gelu, by tanh                                                */
#define UNARY(name, ...) GR_API gr_tensor *gr_##name(gr_tape *t, gr_tensor *x);
#define UNARY_1(name, a, ...) GR_API gr_tensor *gr_##name(gr_tape *t, gr_tensor *x, double a);
#define UNARY_2(name, a, b, ...) GR_API gr_tensor *gr_##name(gr_tape *t, gr_tensor *x, double a, double b);
#define UNARY_NEAR UNARY /* its prototype is the same; it has other formulas for small |x| */
#include "ops/unary.def"

/* ==== Elementwise, two inputs, broadcasting; comparisons; where ==== */

/* All of them. Comparisons give 1 where they hold and 0 elsewhere, and pass no gradient.
 *     gr_add(t, a, b)       a + b
 *     gr_sub(t, a, b)       a - b
 *     gr_mul(t, a, b)       a b
 *     gr_div(t, a, b)       a / b
 *     gr_maximum(t, a, b)   the larger one, NaN if a or b is NaN; each gets half of the gradient where a = b
 *     gr_minimum(t, a, b)   the smaller one, likewise
 *     gr_pow(t, a, b)       a^b
 *     gr_eq(t, a, b)        a == b
 *     gr_ne(t, a, b)        a != b
 *     gr_lt(t, a, b)        a < b
 *     gr_le(t, a, b)        a <= b
 *     gr_gt(t, a, b)        a > b
 *     gr_ge(t, a, b)        a >= b
 *
 * Shapes broadcast as in NumPy: counted from the last axis, two sizes must be equal, or one of them 1; a missing axis has size 1. So
 * [64, 10] broadcasts with [10], with [64, 1] and with gr_scalar: gr_pow(t, x, gr_scalar(t, 3)). Fails if the shapes do not broadcast. */
#define BINARY(name, ...) GR_API gr_tensor *gr_##name(gr_tape *t, gr_tensor *a, gr_tensor *b);
#define COMPARE BINARY
#include "ops/binary.def"

/* x where x > 0, and weight x elsewhere. weight [1], or [C] for an x of [N, C, ..]. Fails if weight does not fit.        He et al. 2015 */
GR_API gr_tensor *gr_prelu(gr_tape *t, gr_tensor *x, gr_tensor *weight);

/* a where cond is not 0, and b elsewhere. All three broadcast. cond gets no gradient. Fails if the shapes do not broadcast. */
GR_API gr_tensor *gr_where(gr_tape *t, gr_tensor *cond, gr_tensor *a, gr_tensor *b);

/* x, but value where mask is not 0. x and mask broadcast. mask gets no gradient. Fails if the shapes do not broadcast. */
GR_API gr_tensor *gr_masked_fill(gr_tape *t, gr_tensor *x, gr_tensor *mask, double value);

/* ==== Reductions ==== */

/* Reduce x over the given axes. The result lacks these axes or, with keepdim, has them with size 1.
 *     sum, mean, prod     of no values they are 0, NaN and 1
 *     var                 sum of (x - mean)^2 / (n - correction). Pass 1 for PyTorch's default. NaN where n <= correction
 *     std                 the square root of var. Where it is 0, no gradient passes. Fails as var does
 *     max, min            NaN if an x is NaN, and never -0. Equal extremes share the gradient evenly, as in PyTorch's amax
 *     logsumexp           log of the sum of exp(x), without overflow. Where all x are -inf, the result is -inf and no gradient passes
 *                         (in PyTorch the gradient is NaN)
 *     vector_norm         (sum of |x|^p)^(1/p). p may be INFINITY: the largest |x|. Where the norm is 0, no gradient passes
 * Sums are added in blocks: over a million positive values, each of sum, mean, var, logsumexp and vector_norm has a relative error below 4e-7 in float.
 * prod, logsumexp and vector_norm over other axes than the last ones record a gr_permute, too; so do max, min and var over axes between others.
 * Fails if x has no such axis, if an axis is given twice, if max or min has no values, or if p is not above 0. */
GR_API gr_tensor *gr_sum(gr_tape *t, gr_tensor *x, gr_axes axes, bool keepdim);
GR_API gr_tensor *gr_mean(gr_tape *t, gr_tensor *x, gr_axes axes, bool keepdim);
GR_API gr_tensor *gr_prod(gr_tape *t, gr_tensor *x, gr_axes axes, bool keepdim);
GR_API gr_tensor *gr_var(gr_tape *t, gr_tensor *x, gr_axes axes, double correction, bool keepdim);
GR_API gr_tensor *gr_std(gr_tape *t, gr_tensor *x, gr_axes axes, double correction, bool keepdim);
GR_API gr_tensor *gr_max(gr_tape *t, gr_tensor *x, gr_axes axes, bool keepdim);
GR_API gr_tensor *gr_min(gr_tape *t, gr_tensor *x, gr_axes axes, bool keepdim);
GR_API gr_tensor *gr_logsumexp(gr_tape *t, gr_tensor *x, gr_axes axes, bool keepdim);
GR_API gr_tensor *gr_vector_norm(gr_tape *t, gr_tensor *x, double p, gr_axes axes, bool keepdim);
/* x / max(n, eps), where n is the vector_norm along the axis. eps: default 1e-12; GR_NONE means no epsilon. Fails as vector_norm does,
 * and if eps is negative or NaN. */
GR_API gr_tensor *gr_normalize(gr_tape *t, gr_tensor *x, double p, int axis, double eps);

/* The index of the largest (argmin: smallest) value along an axis: the first of equal values, or the first NaN if there is one. Passes no
 * gradient. Fails if x has no such axis, if the axis is empty, or if it has more than 2^31 - 1 values. */
GR_API gr_ints *gr_argmax(gr_tape *t, const gr_tensor *x, int axis, bool keepdim);
GR_API gr_ints *gr_argmin(gr_tape *t, const gr_tensor *x, int axis, bool keepdim);

/* The sums y_i = x_0 + .. + x_i along an axis, added in double. Fails if x has no such axis. */
GR_API gr_tensor *gr_cumsum(gr_tape *t, gr_tensor *x, int axis);

/* ==== Shape ==== */

/* These copy. The views, which do not, are in core/tensor.h: gr_reshape, gr_flatten, gr_slice. Each fails if x has no such axis or index;
 * gr_permute also if order does not name each axis once, and gr_expand if x does not broadcast to shape. */
GR_API gr_tensor *gr_permute(gr_tape *t, gr_tensor *x, gr_axes order);    /* axis k of the result is axis order[k] of x */
GR_API gr_tensor *gr_transpose(gr_tape *t, gr_tensor *x, int a, int b);   /* axes a and b change places */
GR_API gr_tensor *gr_narrow(gr_tape *t, gr_tensor *x, int axis, ptrdiff_t start, size_t count); /* count indices from start on; -1 is the last one */
GR_API gr_tensor *gr_select(gr_tape *t, gr_tensor *x, int axis, ptrdiff_t index); /* drops the axis; -1 is its last index */
GR_API gr_tensor *gr_flip(gr_tape *t, gr_tensor *x, gr_axes axes);        /* in reverse order along these axes */
GR_API gr_tensor *gr_expand(gr_tape *t, gr_tensor *x, gr_shape shape);    /* x broadcast to shape */

/* x[start:stop:step] along an axis, as in Python: a negative start or stop counts from the end, and both are cut to the axis, so that
 * PTRDIFF_MAX as stop means to the end. Fails if x has no such axis, or if step is below 1. */
GR_API gr_tensor *gr_slice_step(gr_tape *t, gr_tensor *x, int axis, ptrdiff_t start, ptrdiff_t stop, ptrdiff_t step);

/* Surround x with a constant. As in PyTorch, sizes holds n numbers, two for each axis, from the last axis backwards: how many indices to add
 * before it and after it. A negative number removes that many. (int[]){ 1, 2, 0, 3 } adds one column before x and two after it, and three rows
 * below. Fails if n is odd or too large for x, or if more is removed than there is. */
GR_API gr_tensor *gr_pad(gr_tape *t, gr_tensor *x, const int *sizes, size_t n, double value);

/* The lower and the upper triangle of the matrices in the last two axes; the rest becomes 0. tril keeps the columns j - i <= diagonal of row i,
 * and triu those with j - i >= diagonal. Fails if x has fewer than two axes. */
GR_API gr_tensor *gr_tril(gr_tape *t, gr_tensor *x, int diagonal);
GR_API gr_tensor *gr_triu(gr_tape *t, gr_tensor *x, int diagonal);

/* gr_cat joins n >= 1 tensors along an axis on which their sizes may differ. gr_stack joins tensors of one shape along a new axis. Fails if n is
 * 0 or the shapes do not fit. */
GR_API gr_tensor *gr_cat(gr_tape *t, gr_tensor *const *x, size_t n, int axis);
GR_API gr_tensor *gr_stack(gr_tape *t, gr_tensor *const *x, size_t n, int axis);

/* The reverse of gr_cat: out[i] gets sizes[i] indices of the axis; the sizes must add up to the size of the axis. On an error it returns false
 * and sets every out[i] to NULL. */
GR_API bool gr_split(gr_tape *t, gr_tensor *x, int axis, const size_t *sizes, size_t n, gr_tensor **out);

/* ==== Products ==== */

/* The matrix product over the last two axes; the axes before them broadcast.
 *     c[i][j] = sum over k of a[i][k] b[k][j]          a [.., M, K]   b [.., K, N]   return [.., M, N]
 * A vector a is a matrix of one row, and a vector b of one column; the result lacks that axis, so that [K] times [K] gives one value.
 * gr_matmul_t uses the transpose of a if ta is true, and that of b if tb is true, without a copy: gr_matmul_t(t, q, false, k, true) is q k^T.
 * A vector ignores ta and tb. Fails if a or b has rank 0, if the two K differ, or if the leading axes do not broadcast. */
GR_API gr_tensor *gr_matmul(gr_tape *t, gr_tensor *a, gr_tensor *b);
GR_API gr_tensor *gr_matmul_t(gr_tape *t, gr_tensor *a, bool ta, gr_tensor *b, bool tb);

/* y = x w^T + b.   x [.., I]   w [O, I]   b [O], or NULL for 0   return [.., O].   Fails if a shape does not fit. */
GR_API gr_tensor *gr_linear(gr_tape *t, gr_tensor *x, gr_tensor *w, gr_tensor *b);

/* ==== Softmax and losses ==== */

/* Along an axis:
 *     softmax      y_i = exp(x_i) / sum over j of exp(x_j)
 *     log_softmax  y_i = x_i - log(sum over j of exp(x_j))
 * Both subtract the largest x first, so that nothing overflows. An x of -inf has probability 0; where all x are -inf, the result is NaN. Fails
 * if x has no such axis. */
GR_API gr_tensor *gr_softmax(gr_tape *t, gr_tensor *x, int axis);
GR_API gr_tensor *gr_log_softmax(gr_tape *t, gr_tensor *x, int axis);

/* A loss returns the mean of the samples' losses or their sum (one value, rank 0), or the loss of each sample. The mean of no samples is NaN.
 * BATCHMEAN is the sum divided by the first size of x; gr_cross_entropy and gr_nll refuse it. */
typedef enum { GR_REDUCE_MEAN, GR_REDUCE_SUM, GR_REDUCE_NONE, GR_REDUCE_BATCHMEAN } gr_reduction;

typedef struct {
    gr_reduction reduction;   /* default GR_REDUCE_MEAN */
    const gr_tensor *weight;  /* [C], the weight of each class; it gets no gradient; default 1 */
    double label_smoothing;   /* e in 0 .. 1; only gr_cross_entropy takes it; default 0 */
    int ignore_index;         /* samples with this target are ignored; default -100, as in PyTorch */
    bool ignore_class_0;      /* samples with target 0 are ignored; an ignore_index of 0 means -100 */
} gr_cross_entropy_config;

/* The loss of logits against class numbers. With p = softmax(logits) over the C classes and w = weight, the loss of a sample is
 *     loss = -(1 - e) w[target] log p[target] - e / C * sum over c of w[c] log p[c]
 * As in PyTorch, the mean divides by the sum of w[target] over the samples that are not ignored.
 *
 *   logits  [N, C] or [N, C, d1 ..], or [C] for one sample
 *   target  the same shape without C: [N], [N, d1 ..] or []; values 0 .. C-1, or ignore_index
 *   config  NULL means all defaults
 *
 * Gradients reach logits. Fails if target or weight does not fit the logits, if a target is neither a class nor ignored, or if a setting is out
 * of range.                                                                        label smoothing: Szegedy et al. 2016, section 7 */
GR_API gr_tensor *gr_cross_entropy(gr_tape *t, gr_tensor *logits, const gr_ints *target, const gr_cross_entropy_config *config);

/* The same loss from log-probabilities, which gr_log_softmax computes: loss = -w[target] logp[target]. Fails with label_smoothing. */
GR_API gr_tensor *gr_nll(gr_tape *t, gr_tensor *logp, const gr_ints *target, const gr_cross_entropy_config *config);

/* Losses element by element. Gradients reach x and target. Fails if x and target differ in shape, or if delta, pos_weight or
 * reduction does not fit.
 *     mse     (x - target)^2
 *     l1      |x - target|, with derivative 0 at 0
 *     huber   d^2 / 2 where |d| <= delta, and delta (|d| - delta / 2) elsewhere, with d = x - target; delta > 0               Huber 1964
 *     bce_with_logits   -(w target log s(x) + (1 - target) log(1 - s(x))), with s the sigmoid and w = pos_weight. pos_weight holds one
 *                       value, or one for each element of the last axis; it gets no gradient; NULL means 1
 *     kl_div  target (log(target) - x), where x is a log-probability, and so is target if log_target is set; 0 at target 0. The Kullback-Leibler
 *             divergence of a batch is its GR_REDUCE_BATCHMEAN */
GR_API gr_tensor *gr_mse(gr_tape *t, gr_tensor *x, gr_tensor *target, gr_reduction reduction);
GR_API gr_tensor *gr_l1(gr_tape *t, gr_tensor *x, gr_tensor *target, gr_reduction reduction);
GR_API gr_tensor *gr_huber(gr_tape *t, gr_tensor *x, gr_tensor *target, double delta, gr_reduction reduction);
GR_API gr_tensor *gr_bce_with_logits(gr_tape *t, gr_tensor *x, gr_tensor *target, const gr_tensor *pos_weight, gr_reduction reduction);
GR_API gr_tensor *gr_kl_div(gr_tape *t, gr_tensor *x, gr_tensor *target, bool log_target, gr_reduction reduction);

/* The cosine of the angle between a and b along an axis, which the result lacks: the sum of a b / (max(|a|, eps) max(|b|, eps)). eps: default 1e-8;
 * GR_NONE means no epsilon. The other axes broadcast. Fails unless a and b have the same rank and the same size along the axis,
 * and if eps is negative or NaN. */
GR_API gr_tensor *gr_cosine_similarity(gr_tape *t, gr_tensor *a, gr_tensor *b, int axis, double eps);

/* ==== Embedding, dropout ==== */

/* Look up rows of a table: y[...] = weight[ids[...]].
 *
 *   weight  [V, D]
 *   ids     any shape, values 0 .. V-1
 *   padding the row with this id gets no gradient. 0 is id 0, not a default: pass GR_NONE for no padding
 *   return  the shape of ids, and then D
 *
 * Fails if an id or padding is not a row of weight, or if the rank of ids is GR_MAX_RANK. */
GR_API gr_tensor *gr_embedding(gr_tape *t, gr_tensor *weight, const gr_ints *ids, int padding);

/* In training, each value becomes 0 with probability p, and x / (1 - p) otherwise. In evaluation mode, or if p is 0, the result is x itself, and
 * nothing is drawn. Otherwise the mask takes x->len draws from the tape's stream of this name. Fails if p is not in 0 .. 1, or if stream is NULL.            Srivastava et al. 2014 */
GR_API gr_tensor *gr_dropout(gr_tape *t, gr_tensor *x, double p, const char *stream);

/* The same for whole channels of x [N, C, ..]: in training, each channel of each sample becomes 0 with probability p, and x / (1 - p) otherwise.
 * The mask takes N C draws; draw n C + c is that of channel c of sample n. Also fails if x has fewer than two axes.     Tompson et al. 2015 */
GR_API gr_tensor *gr_dropout2d(gr_tape *t, gr_tensor *x, double p, const char *stream);

/* ==== Picking by index ==== */

/* Pick values along an axis. For axis 1 of three, y[i][j][k] = x[i][ids[i][j][k]][k]. y has the shape of ids. ids has the rank of x, and is
 * not larger than x along the other axes. A value that is picked twice gets the sum of both gradients. Fails if ids does not fit, or if an id
 * is not an index of the axis. */
GR_API gr_tensor *gr_gather(gr_tape *t, gr_tensor *x, int axis, const gr_ints *ids);

/* The reverse: x, with the values of src added to the places that ids names. For axis 1 of three, y[i][ids[i][j][k]][k] += src[i][j][k], in the
 * order of ids. src must have the shape of ids. ids has the rank of x, and is not larger than x along the other axes. Gradients reach x and
 * src. Fails if ids or src does not fit, or if an id is not an index of the axis. */
GR_API gr_tensor *gr_scatter_add(gr_tape *t, gr_tensor *x, int axis, const gr_ints *ids, gr_tensor *src);

/* The indices ids [n] of an axis, in this order: for axis 1 of three, y[i][j][k] = x[i][ids[j]][k]. Gradients of an index that is picked twice
 * are added. Fails if ids does not have one axis, or if an id is not an index of the axis of x. */
GR_API gr_tensor *gr_index_select(gr_tape *t, gr_tensor *x, int axis, const gr_ints *ids);

/* A last axis of size classes with 1 at the place that an id names, and 0 elsewhere. Fails if an id is not 0 .. classes-1, or if the rank of ids
 * is GR_MAX_RANK. */
GR_API gr_tensor *gr_one_hot(gr_tape *t, const gr_ints *ids, size_t classes);

/* ==== Sorting ==== */

/* Sort along an axis, from the smallest value to the largest, or the reverse if descending is true. Equal values keep their order. As in
 * PyTorch, a NaN is larger than every number. topk returns the k largest values, the largest first, or the k smallest, the smallest first.
 * Gradients reach x through values. Each fails if x has no such axis, if the axis has more than 2^31 - 1 values, or if it has fewer than k. */
typedef struct { gr_tensor *values; gr_ints *ids; } gr_sort_out; /* values[i] is x at index ids[i] of the axis; both are NULL after an error */
GR_API gr_sort_out gr_sort(gr_tape *t, gr_tensor *x, int axis, bool descending);
GR_API gr_sort_out gr_topk(gr_tape *t, gr_tensor *x, int axis, size_t k, bool largest);
GR_API gr_ints *gr_argsort(gr_tape *t, gr_tensor *x, int axis, bool descending); /* the ids of gr_sort alone */

/* ==== Sampling: no gradient passes ==== */

/* Draw n indices of the last axis for each row of probabilities [.., V]; return [.., n]. A row need not add up to 1. An index with probability 0
 * is never drawn. Without replacement, an index is drawn at most once, and each draw is from those that are left. Each index takes one
 * gr_stream_uniform from the tape's stream of this name, row after row: 2 n draws for each row. Fails if a value is negative, infinite or
 * NaN, if a row has no value above 0 (without replacement: fewer than n), if n is 0, or if stream is NULL. */
GR_API gr_ints *gr_multinomial(gr_tape *t, const gr_tensor *probabilities, size_t n, bool replacement, const char *stream);

/* Draw one index of the last axis for each row of logits [.., V]; return [..]. It is gr_multinomial of gr_softmax(logits): an index with logit -inf
 * is never drawn, each row takes 2 draws of the stream, and it fails if a row holds a NaN or inf, or if all its logits are -inf. */
GR_API gr_ints *gr_categorical(gr_tape *t, gr_tensor *logits, const char *stream);

#include "ops/norm.h" /* normalization */

#endif
