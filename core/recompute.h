/* core/recompute.h - memory for time: a part of the forward that keeps nothing, and is run again when backward comes to it. */
#ifndef GR_RECOMPUTE_H
#define GR_RECOMPUTE_H
#include "core/tensor.h"
GR_BEGIN

/* Fill out[] from in[], with operators of t. It may use parameters and other tensors of t as well; it gives the same whenever it is
 * called with the same inputs, and calls none of gr_tape_reset, gr_tape_recover and gr_backward. */
typedef void gr_segment(gr_tape *t, gr_tensor *const *in, gr_tensor **out, void *argument);

/* Run f, and of all that it makes keep out[0 .. outs-1] alone. When gr_backward comes here, it runs f again and then backward through
 * what that recorded: the same bits as without, for a second forward's time, and the memory of one segment instead of all:
 *
 *     for (size_t s = 0; s < 28; s++)                                             // 784 steps, 28 at a time
 *         gr_recompute(t, run_lstm, lstm, 0, GR_IN(gr_slice(t, x, 28 * s, 28), h, c), (gr_tensor *[]){ h, c } .. );
 *
 *   argument        for f; argument_bytes of it are copied, so that it may be a struct that is gone by then. With 0 the pointer itself
 *                   is kept, and what it points to must live until backward
 *   in, ins         may hold NULL, which f gets as NULL
 *   out, outs       filled in; owned by t
 *   return          false on an error
 *
 * The second run draws the same random numbers and moves no state twice: what operators noted with gr_undo_note is put back to where
 * it was before the first run, and afterwards to where it is now. Forward already allocates what the second run will need, in an
 * arena that all segments share. Segments may hold segments, seven deep; below that, while recording is off, and while tracing, f is
 * simply called. A gradient of zeros reaches all that f uses when one reaches any of out.        Chen et al. 2016, arXiv:1604.06174 */
GR_API bool gr_recompute(gr_tape *t, gr_segment *f, const void *argument, size_t argument_bytes, gr_tensor *const *in, size_t ins,
                         gr_tensor **out, size_t outs);

GR_END
#endif
