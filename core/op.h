/* core/op.h - how an operator is made. The library's own operators use this header, and so can yours: ops/layer_norm.c is the
 * example to read.
 *
 *     static void double_backward(gr_tape *t, const gr_node *n)
 *     {
 *         const gr_real *dy = gr_grad(t, n->out[0]);
 *         gr_real *dx = gr_grad(t, n->in[0]);                 // NULL when nobody asked
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
 * The descriptor is `static const gr_op NAME_op`: by that symbol `make test` finds operators whose gradient nobody checked. */
#ifndef GR_OP_H
#define GR_OP_H
#include "core/tensor.h"
GR_BEGIN

typedef struct gr_node gr_node;

typedef struct gr_op {
    const char *name;                                  /* as messages say it: "layer_norm" */
    void (*backward)(gr_tape *t, const gr_node *node); /* adds to gr_grad of the inputs; cannot fail, allocates nothing. NULL:
                                                          no gradient passes, and gr_record records nothing */
    size_t (*scratch)(const gr_node *node);            /* bytes that backward wants from gr_scratch; NULL: none */
} gr_op;

struct gr_node {
    const gr_op *op;
    gr_node *prev;          /* recorded before this one */
    void *saved;            /* the copy of what gr_record was given */
    gr_tensor **in, **out;  /* as given; in[i] may be NULL */
    unsigned ins, outs;
    const char *place;      /* path of the module in which it was recorded; NULL outside of all */
    uint64_t *versions;     /* of the inputs that outlive the tape, so that gr_backward sees a change; NULL when there are none */
    bool by_contents;       /* anomaly mode: behind them, hashes of their values */
};

#ifdef __cplusplus
#define GR_IN(...) (gr_tensor *const *)std::initializer_list<gr_tensor *>{ __VA_ARGS__ }.begin(), GR_COUNT(__VA_ARGS__)
#else
#define GR_IN(...) (gr_tensor *const[]){ __VA_ARGS__ }, sizeof((gr_tensor *const[]){ __VA_ARGS__ }) / sizeof(gr_tensor *)
#endif
#define GR_OUT GR_IN

/* True when t is not in error, no tensor of the list is NULL, and all are alive: made on t, after its last gr_tape_reset, or of a module.
 * Otherwise what is wrong becomes the tape's error. Do not list inputs that may be NULL: gr_alive checks those, and gr_ints_alive
 * integers; name is the argument's name in the message. gr_record checks all inputs of a node once more. */
#define gr_ready(t, op, ...) gr_ready_list(t, op, GR_IN(__VA_ARGS__))
GR_API bool gr_ready_list(gr_tape *t, const gr_op *op, gr_tensor *const *x, size_t n);
GR_API bool gr_alive(gr_tape *t, const gr_op *op, const char *name, const gr_tensor *x);
GR_API bool gr_ints_alive(gr_tape *t, const gr_op *op, const char *name, const gr_ints *x);

/* Keep the first error: "name: message" with printf's conversions, code GR_MISUSE. Always returns NULL. op may be NULL. */
GR_API void *gr_fail(gr_tape *t, const gr_op *op, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* The same with another code and any name in front ("" for none). */
GR_API void *gr_fail_as(gr_tape *t, gr_error code, const char *name, const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Memory of the tape, aligned to 64 bytes, not cleared; NULL when out of memory (the tape says so). Dies at reset. */
GR_API void *gr_save(gr_tape *t, size_t bytes);
GR_API gr_real *gr_save_reals(gr_tape *t, size_t n);
GR_API void *gr_save_zeros(gr_tape *t, size_t bytes);
GR_API gr_tensor *gr_empty_like(gr_tape *t, const gr_tensor *x);

/* Put the operator on the tape: saved_bytes bytes at saved are copied (a struct with what backward needs). When recording is off, or no
 * input wants a gradient, nothing is recorded. Returns out[0], or NULL when out of memory. */
GR_API gr_tensor *gr_record(gr_tape *t, const gr_op *op, const void *saved, size_t saved_bytes, gr_tensor *const *out, size_t outs,
                            gr_tensor *const *in, size_t ins);

/* Whether gr_record would record: lets an operator skip what only its backward needs. */
GR_API bool gr_will_record(const gr_tape *t, gr_tensor *const *in, size_t ins);

/* In backward: the bytes that op->scratch asked for, aligned to 64, not cleared, shared by all nodes. */
GR_API void *gr_scratch(gr_tape *t);

/* Note that bytes at p are about to change: gr_tape_recover puts them back. False when out of memory: then do not change. */
GR_API bool gr_undo_note(gr_tape *t, void *p, size_t bytes);
/* Draw numbers n .. n + count - 1 of a tape's stream: returns n, moves the counter, notes it for recover. */
GR_API uint64_t gr_stream_take(gr_tape *t, gr_stream *s, uint64_t count);

/* ---- Running kernels ---- */

GR_API int gr_isa(const gr_tape *t);           /* the index into a kernel's table */
/* Chunks 0 .. chunks-1 over the tape's threads. work is the whole region's estimated time in nanoseconds on one thread: below
 * about 5 us it runs in place. What a chunk is must depend on shapes only. */
GR_API void gr_parallel(gr_tape *t, size_t chunks, double work, gr_task *f, void *argument);
/* n rows in chunks of `most`, the last of which may be smaller: how many chunks there are, and the rows of chunk i. */
typedef struct { size_t first, count; } gr_range;
static inline size_t gr_chunks(size_t n, size_t most) { return n / most + (n % most != 0); }
static inline gr_range gr_chunk(size_t i, size_t most, size_t n)
{
    const gr_range r = { i * most, n - i * most < most ? n - i * most : most };
    return r;
}

/* axis in -rank .. rank-1 to 0 .. rank-1; -1 and an error naming op when it is none. */
GR_API int gr_axis(gr_tape *t, const gr_op *op, const gr_tensor *x, int axis);

GR_END
#endif
