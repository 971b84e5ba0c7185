/* core/tensor.h - tensors: contiguous, row-major, rank 0 to 8; and integers. */
#ifndef GR_TENSOR_H
#define GR_TENSOR_H
#include "core/shape.h"
#include "core/tape.h"

/* A program may read the fields that have no note "library". It may write data[] and no other field: the data of a tensor on the tape between
 * making it and its first use; the data of a parameter or buffer before the first forward and between gr_optim_step and the next forward, never
 * between a forward and its gr_backward: the gradient would be wrong. Only anomaly mode detects that, for parameters. The library need not be told. */
struct gr_tensor {
    gr_real *data;             /* row-major values */
    size_t len;                /* how many values: the product of the sizes, 1 for rank 0 */
    size_t dim[GR_MAX_RANK];
    int rank;
    unsigned flags;            /* library */
    gr_real *grad;             /* library; gr_grad returns it */
    gr_tensor *base;           /* of a view: the tensor whose data and gradient it shares; else NULL */
    const gr_allocator *home;  /* of a parameter or buffer, which outlives the tape: where its memory comes from; else NULL */
    const char *path;          /* of a parameter or buffer: "fc1.weight"; else NULL */
    gr_tape *tape;             /* its owner; NULL for a parameter or buffer */
    uint64_t stamp;            /* library; the number of the tensor on its tape, or how often the values of a parameter changed */
    const struct gr_op *used;  /* library; of a tensor on the tape: an operator that used it while it wanted no gradient; else NULL */
};

/* Integers: labels, tokens, lengths. A program may read all fields, and may make a gr_ints of its own, with flags 0, tape NULL and stamp 0. */
typedef struct { int *data; size_t len, dim[GR_MAX_RANK]; int rank; unsigned flags; gr_tape *tape; uint64_t stamp; } gr_ints;

/* ---- Making tensors. t owns them until gr_tape_reset(t). Each function fails if the rank is not 0 .. 8 or the shape is too large for the memory. ---- */

GR_API gr_tensor *gr_input(gr_tape *t, const gr_real *values, gr_shape shape); /* copies the values; fails if values is NULL */
GR_API gr_tensor *gr_empty(gr_tape *t, gr_shape shape);                       /* the caller fills data[] */
GR_API gr_tensor *gr_zeros(gr_tape *t, gr_shape shape);
GR_API gr_tensor *gr_ones(gr_tape *t, gr_shape shape);
GR_API gr_tensor *gr_full(gr_tape *t, gr_shape shape, double value);
GR_API gr_tensor *gr_scalar(gr_tape *t, double value);                        /* rank 0; broadcasts against anything */
GR_API gr_tensor *gr_arange(gr_tape *t, size_t n);                            /* [n]: 0, 1 .. n-1 */
/* Random values from the tape's stream of that name: uniform in [low, high), and normal. They fail if stream is NULL. */
GR_API gr_tensor *gr_rand(gr_tape *t, gr_shape shape, double low, double high, const char *stream);
GR_API gr_tensor *gr_randn(gr_tape *t, gr_shape shape, double mean, double std, const char *stream);
GR_API gr_ints *gr_ints_new(gr_tape *t, const int *values, gr_shape shape);   /* copies the values; NULL means zeros */

/* ---- Views: nothing is copied, and the result shares values and gradient with x ---- */

GR_API gr_tensor *gr_reshape(gr_tape *t, gr_tensor *x, gr_shape shape); /* one size may be GR_INFER; fails if the number of values differs */
GR_API gr_tensor *gr_flatten(gr_tape *t, gr_tensor *x, int first);      /* joins axis `first` and all later axes into one; fails if there is no such axis */
/* Entries start .. start + count-1 of the leading axis; a negative start counts from the end. Fails if x has fewer entries. */
GR_API gr_tensor *gr_slice(gr_tape *t, gr_tensor *x, ptrdiff_t start, size_t count);

/* The same for integers, but these copy. */
GR_API gr_ints *gr_ints_reshape(gr_tape *t, const gr_ints *x, gr_shape shape);
GR_API gr_ints *gr_ints_slice(gr_tape *t, const gr_ints *x, ptrdiff_t start, size_t count);

/* The same values, but no gradient passes. A later change of x also changes the result. */
GR_API gr_tensor *gr_detach(gr_tape *t, gr_tensor *x);

/* ---- Reading ---- */

/* The only value of x. It is NaN when x is NULL, dead or does not hold one value; the last two are errors on x's tape, unless x is a
 * parameter, or is dead and anomaly mode has overwritten it. */
GR_API double gr_item(const gr_tensor *x);
GR_API size_t gr_size(const gr_tensor *x, int axis); /* negative axes count from the end; 0 when there is no such axis */
GR_API gr_shape gr_shape_of(const gr_tensor *x);     /* rank 0 for NULL */
/* For operators of your own: whether a and b have the same shape; false when one of them is NULL. */
GR_API bool gr_same_shape(const gr_tensor *a, const gr_tensor *b);
/* For messages: the shape as text, "[64, 28]", "[]", or "NULL" when x is NULL; "rank 9" when the rank is not 0 .. 8. t owns the text until reset. */
GR_API const char *gr_shape_text(gr_tape *t, const gr_tensor *x);
GR_API const char *gr_shape_name(gr_tape *t, gr_shape shape);

#endif
