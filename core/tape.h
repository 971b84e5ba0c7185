/* core/tape.h - the tape: the context of every call. It owns what operators return, records them for backward, and holds the
 * mode, the first error, the random streams and the threads. One tape belongs to one thread at a time. */
#ifndef GR_TAPE_H
#define GR_TAPE_H
#include "core/error.h"
#include "core/memory.h"
#include "core/pool.h"
#include "core/random.h"
#include "core/real.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
GR_BEGIN

#define GR_VERSION 100 /* 0.1.0: major * 10000 + minor * 100 + patch */
#define GR_VERSION_TEXT "0.1.0"

typedef struct gr_tape gr_tape;
typedef struct gr_tensor gr_tensor;

/* A config is a struct in which a field of 0 means the default. Where 0 is a value too, GR_NONE asks for it. */
#define GR_NONE (-1)

/* ---- Life ---- */

typedef struct {
    int threads;                   /* 0 or 1: the caller's thread alone; n: it and n - 1 workers. The bits are the same. A child of
                                      fork() has the caller's thread alone: see core/pool.h. */
    gr_pool *pool;                 /* threads shared with other tapes of this thread; overrides threads; not owned */
    const gr_allocator *allocator; /* where all memory comes from; NULL: malloc */
    const char *isa;               /* "scalar", "avx2", "avx512", "neon"; NULL: $GRADUS_ISA, else the best of this CPU */
    size_t max_bytes;              /* the most that gr_tape_bytes may reach: beyond it, GR_NO_MEMORY. 0: as much as the system gives */
} gr_tape_config;

/* A new tape. seed is the one number on which every random draw depends. Recording is on, the mode is training.
 * NULL when memory is out or the header is not the library's (float against double, another version); every other call
 * accepts a NULL tape and treats it as one in error. An instruction set that this CPU or build lacks, or threads outside
 * 0 .. 256, is an error on the tape. config may be NULL.
 * gr_tape_free frees the tape with all its tensors: using one of them afterwards, also on another tape, is undefined. Modules and optimizers may be
 * freed before or after it. */
GR_API gr_tape *gr_tape_new_checked(uint64_t seed, const gr_tape_config *config, size_t real_bytes, int version);
static inline gr_tape *gr_tape_new(uint64_t seed, const gr_tape_config *config)
{
    return gr_tape_new_checked(seed, config, sizeof(gr_real), GR_VERSION);
}
GR_API void gr_tape_free(gr_tape *t);

/* End the step: every tensor made on t since the last reset dies, and its memory is used again by the next step. A dead tensor that is
 * given to a function that takes a tape is an error, as long as no new tensor lies in its place; anomaly mode keeps the place free for one more
 * step. gr_detach_keep and gr_carried (nn/module.h) keep a state over a reset. The error, the mode and the random streams stay. What
 * gr_tape_recover would roll back is forgotten. */
GR_API void gr_tape_reset(gr_tape *t);

/* After an error: reset, put back all state that operators changed outside the tape since the last reset (random streams,
 * running statistics), and clear the error. A retry gives the same bits as if nothing had happened. What operators changed
 * must still be alive: call gr_tape_reset, which forgets the changes, before you free a module in the middle of a step. */
GR_API void gr_tape_recover(gr_tape *t);

/* A place on the tape, and the return to it: what was made after the mark dies. For loops that generate step by step
 * without recording more and more. It is an error to return to a mark of another tape, to one from before a gr_tape_reset or
 * gr_backward, or to one that an earlier gr_tape_rewind went past. */
typedef struct {
    const gr_tape *tape;
    size_t block, used, epoch, nodes;
    uint64_t newest;
    void *node, *undo, *trace;
} gr_mark;
GR_API gr_mark gr_tape_mark(const gr_tape *t);
GR_API void gr_tape_rewind(gr_tape *t, gr_mark mark);

/* ---- Mode: it belongs to the pass, not to a module ---- */

GR_API void gr_tape_set_training(gr_tape *t, bool training);   /* training: dropout drops, BatchNorm uses the batch */
GR_API bool gr_tape_training(const gr_tape *t);
GR_API void gr_tape_set_recording(gr_tape *t, bool recording); /* off: operators only compute, no gradient will flow */
GR_API bool gr_tape_recording(const gr_tape *t);

/* ---- Watching, to find faults. Off on a new tape, and then it costs nothing. ---- */

/* Anomaly mode: the first value that an operator makes and that is not finite becomes the tape's error, GR_NOT_FINITE. It names the
 * operator, its module, where the value is, and the inputs with their shapes and ranges:
 *     anomaly: log in head made -inf at [0, 1] of output 1 [2, 3], 1 of 6 values; input 1 [2, 3] is within [0, 3], there 0
 * Forward, a NaN is always named; an infinity when no input holds one, so that a mask of -inf made by gr_full passes through where,
 * add and softmax, and exp(-inf) = 0. Backward, each gradient must be finite; gr_backward stops at the first that is not, and what
 * the gradients hold then is of no use.
 * Dead tensors rest in this mode: gr_tape_reset fills the memory of the step with NaN and leaves it alone for one step, gr_tape_rewind until the
 * next reset. So a stale pointer is seen even where the next step would have put a new tensor in the same place. The tape takes up to twice
 * the memory, and more in loops that rewind. Parameters that were changed by hand since the forward used them are seen, too. */
GR_API void gr_tape_set_anomaly(gr_tape *t, bool on);
/* Keep what becomes of every tensor, also where no gradient will pass, until the next reset: turned on before a forward, it lets
 * gr_audit say why a gradient did not reach a parameter. */
GR_API void gr_tape_set_tracing(gr_tape *t, bool on);
/* The path of the module that runs, for what is said about its operators: returns the one before. See GR_WITHIN. */
GR_API const char *gr_tape_set_place(gr_tape *t, const char *path);

/* ---- Errors: the first one stays until gr_tape_recover ---- */

GR_API bool gr_failed(const gr_tape *t);            /* true for NULL */
GR_API gr_error gr_error_code(const gr_tape *t);
/* "" when there is no error; for NULL: why gr_tape_new can fail; owned by t. Text of files, paths and names that a terminal might obey is
 * escaped: \x1b, \u202e. */
GR_API const char *gr_message(const gr_tape *t);

/* ---- Backward ---- */

/* Fill the gradients of everything that loss (one value) depends on: d loss / d x is added to the gradient of x. A first
 * sweep finds what a gradient reaches and allocates all that is needed; the second computes and cannot fail. Errors: loss
 * holds more than one value, was made with recording off or depends on nothing that wants a gradient, or this tape was
 * already walked since its last reset; or a parameter changed since the forward used it (gr_optim_step, gr_state_load ..; changes made
 * directly to its data are seen in anomaly mode). Returns false, and changes nothing, on an error or on a tape already in error. */
GR_API bool gr_backward(gr_tape *t, gr_tensor *loss);

/* The same from any tensor y, with its cotangent dy (y->len values, copied). */
GR_API bool gr_backward_from(gr_tape *t, gr_tensor *y, const gr_real *dy);

/* The gradient of x: x->len values, or NULL when no backward has reached x. Valid until reset (of parameters: until the
 * optimizer's zero_grad). Of intermediates too; a view's is a part of its base's. A dead x, or one of another tape, is an error. */
GR_API gr_real *gr_grad(gr_tape *t, const gr_tensor *x);

/* Ask for the gradient of an input of this step (parameters want theirs anyway). Returns x. */
GR_API gr_tensor *gr_want_grad(gr_tape *t, gr_tensor *x);

/* ---- What the tape holds ---- */

GR_API uint64_t gr_tape_seed(const gr_tape *t);
GR_API const gr_allocator *gr_tape_allocator(const gr_tape *t);
GR_API int gr_tape_threads(const gr_tape *t);
GR_API const char *gr_tape_isa(const gr_tape *t);
GR_API size_t gr_tape_bytes(const gr_tape *t);   /* bytes of the blocks of its arena, and of those of gr_recompute's segments */
GR_API size_t gr_tape_nodes(const gr_tape *t);   /* recorded operators since the last reset */

/* The random stream of that name, from (seed, name, 0) on when first asked for. It stays until the tape is freed; its counter
 * is rolled back by gr_tape_recover if an operator drew from it through gr_stream_take. NULL on error, and a NULL name is one. */
GR_API gr_stream *gr_tape_stream(gr_tape *t, const char *name);

GR_END
#endif
