/* ops/pick.h - pick values by their indices, sort them, and draw indices at random. This function draws the next token of a text: it divides
 * the logits by a temperature, and draws among the k largest.
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
#ifndef GR_PICK_H
#define GR_PICK_H
#include "core/tensor.h"
GR_BEGIN

/* ==== By index ==== */

/* Pick values along an axis. For axis 1 of three, y[i][j][k] = x[i][ids[i][j][k]][k]. y has the shape of ids. ids has the rank of x, and is
 * not larger than x along the other axes. A value that is picked twice gets the sum of both gradients. Fails if ids does not fit, or if an id
 * is not an index of the axis. */
GR_API gr_tensor *gr_gather(gr_tape *t, gr_tensor *x, int axis, const gr_ints *ids);

/* The reverse: x, with the values of src added to the places that ids names. For axis 1 of three, y[i][ids[i][j][k]][k] += src[i][j][k], in the
 * order of ids. ids has the shape of src and the rank of x, and is not larger than x along the other axes. Gradients reach x and src. Fails if
 * ids does not fit, or if an id is not an index of the axis. */
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
GR_API gr_ints *gr_argsort(gr_tape *t, gr_tensor *x, int axis, bool descending); /* the ids alone */

/* ==== Sampling: no gradient passes ==== */

/* Draw n indices of the last axis for each row of probabilities [.., V]; return [.., n]. A row need not add up to 1. An index with probability 0
 * is never drawn. Without replacement, an index is drawn at most once, and each draw is from those that are left. Each index takes one
 * gr_stream_uniform from the tape's stream of this name, row after row: 2 n draws for each row. Fails if a value is negative, infinite or
 * NaN, if a row has no value above 0 (without replacement: fewer than n), if n is 0, or if stream is NULL. */
GR_API gr_ints *gr_multinomial(gr_tape *t, const gr_tensor *probabilities, size_t n, bool replacement, const char *stream);

/* Draw one index of the last axis for each row of logits [.., V], with the probabilities gr_softmax(logits); return [..]. An index with logit -inf
 * is never drawn. Takes 2 draws of the stream for each row. Fails if a row holds a NaN or inf, or if all its logits are -inf. */
GR_API gr_ints *gr_categorical(gr_tape *t, gr_tensor *logits, const char *stream);

GR_END
#endif
