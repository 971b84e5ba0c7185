/* core/library.h - functions of core for ops, nn and optim. They are hidden in the shared library; core/op.h has those that programs may call too. */
#ifndef GR_LIBRARY_H
#define GR_LIBRARY_H
#include "core/base.h"
#include "core/op.h"
#include "core/trace.h"

/* The value of a config's field: x, but `otherwise` when x is 0, and 0 when x is GR_NONE. */
static inline double gr__setting(double x, double otherwise) { return x == GR_NONE ? 0 : x == 0 ? otherwise : x; }

static inline bool gr__shapes_are_equal(gr_shape a, gr_shape b) { return a.rank == b.rank && !memcmp(a.dim, b.dim, (size_t)a.rank * sizeof *a.dim); }

/* The product of the sizes of axes first .. end-1. */
static inline size_t gr__sizes(const size_t *dim, int first, int end)
{
    size_t n = 1;
    for (int k = first; k < end; k++) n *= dim[k];
    return n;
}

static inline gr_shape gr__ints_shape(const gr_ints *x)
{
    gr_shape shape = { .rank = x->rank };
    memcpy(shape.dim, x->dim, sizeof shape.dim);
    return shape;
}

/* True when t is not in error, and x is not NULL and alive; else the error names x. */
static inline bool gr__ints_ready(gr_tape *t, const gr_op *op, const char *name, const gr_ints *x)
{
    return (x || gr_fail(t, op, "%s is NULL", name)) && gr_ints_alive(t, op, name, x);
}

/* gr_empty and gr_save for the operator op, or the function who, which the error names. */
gr_tensor *gr__empty(gr_tape *t, const gr_op *op, gr_shape shape);
void *gr__save(gr_tape *t, const char *who, size_t bytes);

/* ---- The tape ---- */

gr__failure *gr__tape_failure(gr_tape *t); /* the tape's error, which functions of core/io take; NULL for NULL */
/* y, the result of a module: no program sees the other tensors that operators made since start. Backward then uses the memory of their gradients again. */
gr_tensor *gr__inner(gr_tape *t, gr_mark start, gr_tensor *y);
void gr__undo_forget(gr_tape *t);          /* gr_tape_recover will not undo what was noted so far */
size_t gr__tape_resets(const gr_tape *t);  /* how many steps have ended */

/* Inside gr_parallel: GR__WORK_BYTES bytes of scratch memory for a thread (0 .. threads-1), enough for a matrix product (core/gemm.c). gr_tape_new
 * allocates it, so that no kernel can run out of memory. */
enum { GR__WORK_BYTES = 7 << 19 };
void *gr__work(gr_tape *t, int thread);

/* ---- Threads ---- */

int gr__pool_threads(const gr_pool *p); /* 1 for NULL, and in a forked child */
double gr__pool_least(gr_pool *p); /* the nanoseconds of work from which on threads pay: more when they must be woken first */
/* Run f on chunks 0 .. chunks-1, and return when all are done. f must not call gr__pool_run. When p is NULL, the caller's thread runs all chunks in order. */
void gr__pool_run(gr_pool *p, size_t chunks, gr_task *f, void *argument);
/* gr_parallel for n rows: run f on chunks of `most` of them, the last possibly smaller. */
typedef void gr__rows_task(void *argument, gr_range rows);
void gr__parallel_rows(gr_tape *t, size_t n, size_t most, double work, gr__rows_task *f, void *argument);

/* ---- Random streams ---- */

gr_stream gr__stream_of(uint64_t seed, const char *path, const char *end); /* gr_stream_new with the name path + end */
double gr__cosine_of_turn(double u); /* cos(2 pi u) for u in [0, 1), the same on every machine */
/* Stream i of t in the order of names, and its name when name is not NULL; NULL when t has at most i streams. */
gr_stream *gr__tape_stream_at(const gr_tape *t, size_t i, const char **name);
/* How many streams t has, and remove all but the first `count` that were made. No pointer to a removed one may be left. */
size_t gr__tape_streams(const gr_tape *t);
void gr__tape_streams_cut(gr_tape *t, size_t count);

/* ---- Tracing, while gr_tape_set_tracing is on ---- */

/* Follow x through the traced operators to the one that lets no gradient pass on the way to the loss. Works on a tape in error. */
gr_cut gr__cut_of(gr_tape *t, gr_tensor *x);
/* The first input of the last operator of that name that was traced in the module of that path; NULL when there is none. */
gr_tensor *gr__traced_input(const gr_tape *t, const char *op, const char *place);

/* ---- Tensors that outlive tapes, for modules ---- */

bool gr__shape_len(gr_shape shape, size_t *len); /* the product of the sizes; false when the rank is wrong or it overflows */
/* A tensor of zeros in the memory of home, which must outlive it; NULL when there is not enough. gr__wants_grad says whether it wants a gradient. */
gr_tensor *gr__tensor_new_home(const gr_allocator *home, gr_shape shape);
void gr__tensor_free_home(gr_tensor *x);        /* with its gradient; NULL is fine */
void gr__wants_grad(gr_tensor *x, bool wanted);
void gr__was_written(gr_tensor *x);             /* tell that its values changed: gr_backward then fails if a recorded operator used the old ones */
/* gr_grad for an operator that adds to every value of the gradient of x: if *fresh becomes true, the gradient is 0, but its memory is not
 * cleared. The operator then clears each part just before it adds to it, while the part is in the cache. */
gr_real *gr__grad_to_fill(gr_tape *t, const gr_tensor *x, bool *fresh);
void gr__grad_clear(gr_tensor *x);              /* the next backward starts from 0 */
/* Make room for the gradient of x, and note for gr_tape_recover whether x has one; then gr__grad_put cannot fail. False when there is not enough memory. */
bool gr__grad_prepare(gr_tape *t, gr_tensor *x, const char *who);
void gr__grad_put(gr_tensor *x, const gr_real *dx); /* the gradient becomes dx; dx NULL means that x has none */

void gr__print_shape(FILE *out, const gr_tensor *x); /* core/print.c */

#endif
