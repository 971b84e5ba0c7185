/* core/tape.h - the tape: the context of every call. It owns the tensors that operators return, records the operators for backward, and
 * holds the mode, the first error, the random streams and the threads. Only one thread may use a tape at a time. */
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

#define GR_VERSION 100 /* 0.1.0: major * 10000 + minor * 100 + patch */
#define GR_VERSION_TEXT "0.1.0"

typedef struct gr_tape gr_tape;
typedef struct gr_tensor gr_tensor;

/* In a config, a field of 0 means the default. Where 0 is a meaningful value too, GR_NONE asks for it. */
#define GR_NONE (-1)

/* ---- Life ---- */

typedef struct {
    int threads;                   /* how many threads compute, the caller's included: 1 to 256; 0 means 1. Results have the same bits for any
                                      number. core/pool.h says what happens after fork(). */
    gr_pool *pool;                 /* a pool that several tapes share, all used by one thread; `threads` is then ignored. Free the pool after
                                      all its tapes */
    const gr_allocator *allocator; /* where all memory comes from; NULL means malloc */
    const char *isa;               /* "scalar", "avx2", "avx512" or "neon"; NULL means $GRADUS_ISA, or else the best of this CPU */
    size_t max_bytes;              /* an allocation fails when gr_tape_bytes would exceed this; default: no limit */
} gr_tape_config;

/* Make a tape, which the caller frees with gr_tape_free. Every random number depends on seed. Recording is on, and the mode is training.
 * config may be NULL. Returns NULL when there is not enough memory, or when the header does not match the library (float or double,
 * version); every other function accepts a NULL tape and treats it as one in error. The new tape is in error when this CPU or build lacks
 * the instruction set, or when threads is not 0 .. 256.
 * gr_tape_free also frees all tensors of the tape. Using one of them afterwards is undefined, also on another tape. Modules and optimizers
 * may be freed before or after the tape. */
GR_API gr_tape *gr_tape_new_checked(uint64_t seed, const gr_tape_config *config, size_t real_bytes, int version);
static inline gr_tape *gr_tape_new(uint64_t seed, const gr_tape_config *config)
{
    return gr_tape_new_checked(seed, config, sizeof(gr_real), GR_VERSION);
}
GR_API void gr_tape_free(gr_tape *t);

/* End the step: every tensor and gr_ints made on t since the last reset dies, and the next step uses its memory again. Using a dead one is an error.
 * The error goes unnoticed if a new one already has the same address; anomaly mode prevents that for one step. gr_detach_keep and gr_carried
 * (nn/module.h) keep a state over a reset. The error, the mode and the random streams stay. gr_tape_recover cannot undo what came before. */
GR_API void gr_tape_reset(gr_tape *t);

/* Reset after an error: every tensor made on t since the last reset dies, as in gr_tape_reset. gr_tape_recover also restores all state that
 * operators changed outside the tape since the last reset (random streams, running statistics), and clears the error. Another attempt then
 * gives the same bits as if nothing had happened, unless the gradients of several backwards are summed: gr_tape_recover does not take back
 * what a backward added to the gradient of an earlier one. Then call gr_optim_zero_grad and repeat all backwards since the last one. The
 * changed objects must still exist: call gr_tape_reset, which forgets the changes, before you free a module in the middle of a step. */
GR_API void gr_tape_recover(gr_tape *t);

/* gr_tape_mark marks a place on the tape, and gr_tape_rewind returns to it: what was made after the mark dies. A loop that generates a
 * sequence step by step then needs no more memory than one step. gr_tape_rewind restores no state outside the tape: random streams, running
 * statistics and a gr_attention_cache keep what came after the mark. It fails if the mark is of another tape, if gr_tape_reset or
 * gr_backward was called since, if an earlier gr_tape_rewind returned to a place before the mark, or if there is not enough memory. */
typedef struct { /* a program neither reads nor writes the fields */
    const gr_tape *tape;
    void *block, *node, *undo, *trace, *frozen;
    size_t used, epoch, nodes;
    uint64_t newest;
} gr_mark;
GR_API gr_mark gr_tape_mark(const gr_tape *t);
GR_API void gr_tape_rewind(gr_tape *t, gr_mark mark);

/* ---- Mode: the tape has it, not each module ---- */

GR_API void gr_tape_set_training(gr_tape *t, bool training);   /* training: dropout drops, BatchNorm uses the batch */
GR_API bool gr_tape_training(const gr_tape *t);
GR_API void gr_tape_set_recording(gr_tape *t, bool recording); /* off: operators only compute, no gradient will flow */
GR_API bool gr_tape_recording(const gr_tape *t);

/* ---- Finding faults. Both modes are off on a new tape, and then cost nothing. ---- */

/* Anomaly mode: the first NaN or infinity that an operator computes becomes the tape's error, GR_NOT_FINITE. The message names the
 * operator, its module, the place of the value, and the inputs with their shapes and ranges:
 *     anomaly: forward of log in head made -inf at [0, 1] of output 1 [2, 3], 1 of 6 values; input 1 [2, 3] is within [0, 3], there 0
 * "there 0" is the value of the input at the same place [0, 1]; only an input with the shape of the output has one.
 * Forward reports every NaN; it reports an infinity only if no input had one, so that a mask of -inf may pass through gr_where,
 * gr_add and gr_softmax. Backward requires that every gradient is finite: gr_backward stops at the first one that is not, and
 * the gradients are then incomplete.
 * In this mode, gr_tape_reset fills the memory of the step with NaN and leaves it unused during the next step; after gr_tape_rewind, that
 * memory is not used until the next reset. So gradus finds a dead tensor even where a new one would have taken its place. The tape needs up to twice
 * the memory, and more in loops that rewind. gr_backward also finds parameters whose data a program changed since the forward used them. */
GR_API void gr_tape_set_anomaly(gr_tape *t, bool on);
/* Tracing: keep a list of all operators that run, also of those that backward does not need, until the next reset. Turn it on before a
 * forward: gr_audit can then say why no gradient reached a parameter. */
GR_API void gr_tape_set_tracing(gr_tape *t, bool on);
/* Set the path of the module that runs, which messages name; path is borrowed, and NULL means none. Returns the previous path. GR_WITHIN calls it. */
GR_API const char *gr_tape_set_place(gr_tape *t, const char *path);

/* ---- Errors: the first one stays until gr_tape_recover ---- */

GR_API bool gr_failed(const gr_tape *t);            /* true for NULL */
GR_API gr_error gr_error_code(const gr_tape *t);    /* GR_OK when there is no error; GR_NO_MEMORY for NULL */
/* The message of the error, owned by t; "" when there is none. When t is NULL, the message says why gr_tape_new can fail. Control characters
 * in text from files, paths and names are escaped: \x1b, \u202e. */
GR_API const char *gr_message(const gr_tape *t);

/* ---- Backward ---- */

/* Backward: add d loss / d x to the gradient of every x on which loss depends. loss holds one value. A first sweep over the tape finds what a
 * gradient reaches and allocates all gradients; the second computes them.
 * Fails before the second sweep, and adds nothing to any gradient, if loss is NULL, dead or does not hold one value, if it was made with recording off or depends
 * on nothing that wants a gradient, if gr_backward was already called since the last reset, if there is not enough memory, or if a parameter
 * changed since the forward used it (by gr_optim_step or gr_state_load; anomaly mode also sees changes made directly to its data), or was thawed
 * since (gr_requires_grad).
 * Fails in the second sweep, and leaves the gradients incomplete, if anomaly mode finds a gradient that is not finite, or if the second run of a
 * segment fails or gives other values (core/recompute.h).
 * On any error, and on a tape already in error, it returns false. */
GR_API bool gr_backward(gr_tape *t, gr_tensor *loss);

/* The same for a tensor y of any shape. dy is the gradient of the loss with respect to y: y->len values, which are copied. */
GR_API bool gr_backward_from(gr_tape *t, gr_tensor *y, const gr_real *dy);

/* The gradient of x: x->len values, or NULL when no backward has reached x. x may be an input, a parameter or an intermediate result (inside a
 * Transformer, one that gr_want_grad asked for); the gradient of a view is a part of its base's. It lives until the next reset; a parameter's lives
 * until gr_optim_zero_grad or the end of the module. When x is NULL it returns NULL, which is no error. Fails if x is dead or of another tape. */
GR_API gr_real *gr_grad(gr_tape *t, const gr_tensor *x);

/* Ask for the gradient of an input of this step, before any operator uses it. Every parameter wants one anyway. A view and its base want one
 * together, also a view that was made earlier. Returns x, or NULL when x is NULL or on an error. Fails if x is dead, or if an operator has already used
 * x, its base or another view of it with recording on (even if gr_tape_rewind took that back): the gradient would lack that part. */
GR_API gr_tensor *gr_want_grad(gr_tape *t, gr_tensor *x);

/* ---- What the tape holds ---- */

GR_API uint64_t gr_tape_seed(const gr_tape *t);
GR_API const gr_allocator *gr_tape_allocator(const gr_tape *t);
GR_API int gr_tape_threads(const gr_tape *t);
GR_API const char *gr_tape_isa(const gr_tape *t);
GR_API size_t gr_tape_bytes(const gr_tape *t);   /* bytes that it holds for tensors, gradients and what operators save */
GR_API size_t gr_tape_nodes(const gr_tape *t);   /* how many operators it recorded since the last reset */

/* The random stream of that name, owned by t until gr_tape_free. The first call makes it, with counter 0 and a key from the seed and the name.
 * gr_tape_recover restores the counter if an operator drew from the stream through gr_stream_take. Fails if name is NULL. */
GR_API gr_stream *gr_tape_stream(gr_tape *t, const char *name);
/* Set the counters of all random streams of t to n; a stream that is made later also starts at n. A program that computes the shards of a batch in several
 * processes calls this before each shard, with an n that depends on the step and the shard alone, such as (step * shards + shard) << 32.
 * Then dropout draws the same masks whichever process computes the shard. A loaded checkpoint sets all counters again, and n to 0.
 * Does nothing for NULL. */
GR_API void gr_tape_seek_streams(gr_tape *t, uint64_t n);

#endif
