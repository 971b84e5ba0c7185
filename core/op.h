/* core/op.h - how to write an operator. The library's own operators use this header, and yours can use it too. ops/layer_norm.c is an
 * example to read.
 *
 *     static void double_backward(gr_tape *t, const gr_node *n)
 *     {
 *         const gr_real *dy = gr_grad(t, n->out[0]);
 *         gr_real *dx = gr_grad(t, n->in[0]);                 // NULL when nothing wants it
 *         for (size_t i = 0; dx && i < n->in[0]->len; i++) dx[i] += 2 * dy[i];
 *     }
 *     static const gr_op double_op = { .name = "double", .backward = double_backward };
 *
 *     gr_tensor *my_double(gr_tape *t, gr_tensor *x)
 *     {
 *         if (!gr_ready(t, &double_op, x)) return NULL;       // check,
 *         gr_tensor *y = gr_empty_like(t, x);                 // allocate,
 *         if (!y) return NULL;
 *         for (size_t i = 0; i < x->len; i++) y->data[i] = 2 * x->data[i];     // compute,
 *         return gr_record(t, &double_op, NULL, 0, GR_OUT(y), GR_IN(x));       // record
 *     }
 *
 * A program may give the descriptor any name. Each operator of the library has a `static const gr_op NAME_op`: `make test` looks for these
 * symbols, and fails for an operator whose gradient no test has checked. */
#ifndef GR_OP_H
#define GR_OP_H
#include "core/tensor.h"

typedef struct gr_node gr_node;

typedef struct gr_op {
    const char *name;                                  /* the name in messages: "layer_norm" */
    void (*backward)(gr_tape *t, const gr_node *node); /* adds to gr_grad of the inputs; it cannot fail and allocates nothing. The first
                                                          gr_grad of a gradient clears it: call gr_grad before gr_parallel, not in its
                                                          tasks. NULL means that no gradient passes: gr_record then records nothing */
    size_t (*scratch)(const gr_node *node);            /* how many bytes backward needs from gr_scratch; NULL means none */
} gr_op;

struct gr_node { /* a recorded operator; backward reads saved, in, out, ins and outs */
    const gr_op *op;
    gr_node *prev;          /* the operator recorded before this one */
    void *saved;            /* a copy of the bytes that gr_record was given */
    gr_tensor **in, **out;  /* as given to gr_record; in[i] may be NULL */
    unsigned ins, outs;
    const char *place;      /* the path of the module in which it ran; NULL outside of modules */
    uint64_t *versions;     /* versions of the parameters among the inputs, so that gr_backward detects a change; NULL without parameters */
    bool by_contents;       /* anomaly mode: hashes of the values follow the versions */
};

/* GR_IN(a, b) is two arguments: an array of these tensors, and its length. GR_OUT is the same. */
#ifdef __cplusplus
typedef struct { gr_tensor *list[8]; } gr_list_;
#define GR_IN(...) gr_list_{ { __VA_ARGS__ } }.list, GR_COUNT(__VA_ARGS__)
#else
#define GR_IN(...) (gr_tensor *const[]){ __VA_ARGS__ }, sizeof((gr_tensor *const[]){ __VA_ARGS__ }) / sizeof(gr_tensor *)
#endif
#define GR_OUT GR_IN

/* True when t is not in error, no tensor of the list is NULL, and all are alive: made on t since its last gr_tape_reset, or of a module.
 * Otherwise false, and the tape gets an error that says what is wrong. Do not list inputs that may be NULL: check those with
 * gr_alive, and integers with gr_ints_alive; name is the argument's name in the message. */
#define gr_ready(t, op, ...) gr_ready_list(t, op, GR_IN(__VA_ARGS__))
GR_API bool gr_ready_list(gr_tape *t, const gr_op *op, gr_tensor *const *x, size_t n);
GR_API bool gr_alive(gr_tape *t, const gr_op *op, const char *name, const gr_tensor *x);
GR_API bool gr_ints_alive(gr_tape *t, const gr_op *op, const char *name, const gr_ints *x);

/* Set the tape's error to "name: message", or "name in module: message" inside GR_WITHIN, with code GR_MISUSE, unless the tape has an error.
 * The format is printf's. Always returns NULL. op may be NULL: then the message stands alone. */
GR_API void *gr_fail(gr_tape *t, const gr_op *op, const char *format, ...) __attribute__((format(GR_PRINTF, 3, 4)));
/* The same with a code and a name of your choice; "" means no name. */
GR_API void *gr_fail_as(gr_tape *t, gr_error code, const char *name, const char *format, ...) __attribute__((format(GR_PRINTF, 4, 5)));

/* Memory owned by the tape until the next reset: not cleared, and aligned to 64 bytes (to 16 when it is smaller than 64 bytes). NULL when there
 * is not enough, which is also the tape's error. gr_empty_like makes a tensor of x's shape, whose values the caller fills in. It fails if x is NULL. */
GR_API void *gr_save(gr_tape *t, size_t bytes);
GR_API gr_real *gr_save_reals(gr_tape *t, size_t n);
GR_API void *gr_save_zeros(gr_tape *t, size_t bytes);
GR_API gr_tensor *gr_empty_like(gr_tape *t, const gr_tensor *x);

/* Put the operator on the tape, and copy the saved_bytes bytes at saved, a struct with what backward needs. When recording is off, or no
 * input wants a gradient, nothing is recorded. Returns out[0], or NULL on an error. Fails if an input is dead, or if there is not enough memory. */
GR_API gr_tensor *gr_record(gr_tape *t, const gr_op *op, const void *saved, size_t saved_bytes, gr_tensor *const *out, size_t outs,
                            gr_tensor *const *in, size_t ins);

/* Whether gr_record would record: an operator can ask before it computes what only its backward needs. */
GR_API bool gr_will_record(const gr_tape *t, gr_tensor *const *in, size_t ins);

/* For backward: the bytes that op->scratch asked for, aligned to 64 and not cleared. All operators share them, so they do not outlive the call. */
GR_API void *gr_scratch(gr_tape *t);

/* Call it before you change bytes at p that are not on the tape: gr_tape_recover restores them. False when there is not enough memory: then do not
 * change them. */
GR_API bool gr_undo_note(gr_tape *t, void *p, size_t bytes);
/* Reserve count random numbers of a stream: returns the counter and moves it by count. gr_tape_recover moves it back. */
GR_API uint64_t gr_stream_take(gr_tape *t, gr_stream *s, uint64_t count);

/* ---- Running kernels ---- */

GR_API int gr_isa(const gr_tape *t);           /* the index of the instruction set in a kernel's table */
/* Run f on chunks 0 .. chunks-1, on the tape's threads. work is the estimated time in nanoseconds of all chunks on one thread: below
 * 5000, or 50000 if the other threads must be woken, the caller's thread runs them all. The chunks must depend on shapes alone, so that the
 * number of threads cannot change a result; which thread runs a chunk is not fixed. */
GR_API void gr_parallel(gr_tape *t, size_t chunks, double work, gr_task *f, void *argument);
/* For n rows in chunks of `most` rows, the last chunk possibly smaller: the number of chunks, and the rows of chunk i. */
typedef struct { size_t first, count; } gr_range;
static inline size_t gr_chunks(size_t n, size_t most) { return n / most + (n % most != 0); }
static inline gr_range gr_chunk(size_t i, size_t most, size_t n)
{
    const gr_range r = { i * most, n - i * most < most ? n - i * most : most };
    return r;
}

/* The axis as a number 0 .. rank-1: a negative axis counts from the end. Fails, and returns -1, if x has no such axis. */
GR_API int gr_axis(gr_tape *t, const gr_op *op, const gr_tensor *x, int axis);

#endif
