/* core/recompute.h - save memory at the cost of time: a part of the forward keeps only its outputs, and backward runs it again. */
#ifndef GR_RECOMPUTE_H
#define GR_RECOMPUTE_H
#include "core/tensor.h"

/* A segment of the forward: it computes out[] from in[] with operators of t. It may also use parameters and other tensors of t. It must compute the same
 * results whenever it gets the same inputs, and must not call gr_tape_reset, gr_tape_recover or gr_backward. */
typedef void gr_segment(gr_tape *t, gr_tensor *const *in, gr_tensor **out, void *argument);

/* Run f, keep only its outputs out[0 .. outs-1], and free its intermediate results. gr_backward runs f again, and then backward through
 * the operators that this second run recorded. The bits are the same as without gr_recompute. It takes the time of a second forward, and needs the
 * memory of one segment instead of all. transformer_norms does so for each layer:
 *
 *     gr_tensor *y;
 *     gr_recompute(t, run_layer, layer, 0, GR_IN(x), &y, 1);      // run_layer: out[0] = gr_transformer_layer_forward(t, layer, in[0], ..)
 *
 *   argument        the last argument of f. argument_bytes bytes of it are copied; when argument_bytes is 0, the pointer itself
 *                   is kept, and what it points to must live until backward
 *   in, ins         in[i] may be NULL; then f gets NULL
 *   out, outs       the outputs of f, owned by t; out is not the array in
 *   return          false on an error
 *
 * The second run draws the same random numbers, and running statistics do not move twice: for its duration, everything passed to gr_undo_note
 * has the values from before the first run; then it has its present values again. The forward already allocates the memory of the second run, and all
 * segments share it. Segments may be nested seven deep. Below that, while recording is off, and while tracing, gr_recompute
 * only calls f. When a gradient reaches one output, everything that f uses gets a gradient, perhaps of zeros.        Chen et al. 2016, arXiv:1604.06174
 * Fails if an input is dead, if f leaves an output NULL or fails, or, in gr_backward, if the second run gives other values. */
GR_API bool gr_recompute(gr_tape *t, gr_segment *f, void *argument, size_t argument_bytes, gr_tensor *const *in, size_t ins, gr_tensor **out, size_t outs);

#endif
