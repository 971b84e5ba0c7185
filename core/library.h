/* core/library.h - the functions of core that ops, nn and optim call and programs cannot link. core/op.h is for both. */
#ifndef GR_LIBRARY_H
#define GR_LIBRARY_H
#include "core/base.h"
#include "core/op.h"
#include "core/trace.h"

/* The value of a config's field: x, or `otherwise` where x is 0, or 0 where x is GR_NONE. */
static inline double gr__setting(double x, double otherwise) { return x == GR_NONE ? 0 : x == 0 ? otherwise : x; }

/* ---- The tape ---- */

gr__failure *gr__tape_failure(gr_tape *t); /* the tape's error, for functions of core/io; NULL for NULL */
void gr__undo_forget(gr_tape *t);          /* what was noted so far stays as it is now */
size_t gr__tape_resets(const gr_tape *t);  /* how often gr_tape_reset ended a step */

/* The scratch of a thread (0 .. threads-1) inside gr_parallel: GR__WORK_BYTES bytes, enough for a matrix product (core/gemm.c). gr_tape_new
 * allocates it, so that no kernel can run out of memory. */
enum { GR__WORK_BYTES = 7 << 19 };
void *gr__work(gr_tape *t, int thread);

/* ---- Random streams ---- */

gr_stream gr__stream_of(uint64_t seed, const char *path, const char *end); /* gr_stream_new; the name is path followed by end */
double gr__cosine_of_turn(double u); /* cos(2 pi u) for u in [0, 1), the same on every machine */
/* Stream i of t and its name, in the order of the names, which may be NULL; NULL when t has at most i streams. */
gr_stream *gr__tape_stream_at(const gr_tape *t, size_t i, const char **name);
/* How many random streams t has; and back to those that were made first: the others die, so only their maker may know them. */
size_t gr__tape_streams(const gr_tape *t);
void gr__tape_streams_cut(gr_tape *t, size_t count);

/* ---- Tracing, while gr_tape_set_tracing is on ---- */

/* Follow x through what was traced since the last reset, to the place where the way to the loss is cut. Works on a tape in error. */
gr_cut gr__cut_of(gr_tape *t, gr_tensor *x);
/* The first input of the last operator of that name that was traced in the module of that path; NULL when there is none. */
gr_tensor *gr__traced_input(const gr_tape *t, const char *op, const char *place);

/* ---- Tensors that outlive tapes, for modules ---- */

bool gr__shape_len(gr_shape shape, size_t *len); /* false when the rank is wrong or the product overflows */
/* Zeroed, in the memory of home, which must outlive the tensor; NULL when out of memory. It wants no gradient until told to. */
gr_tensor *gr__tensor_new_home(const gr_allocator *home, gr_shape shape);
void gr__tensor_free_home(gr_tensor *x);        /* with its gradient; NULL is fine */
void gr__wants_grad(gr_tensor *x, bool wanted);
void gr__was_written(gr_tensor *x);             /* its values changed: gr_backward refuses a graph that used them before */
void gr__grad_clear(gr_tensor *x);              /* the next backward starts from 0 */

#endif
