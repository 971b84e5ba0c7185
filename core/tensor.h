/* core/tensor.h - tensors: contiguous, row-major, rank 0 to 8; and integers. */
#ifndef GR_TENSOR_H
#define GR_TENSOR_H
#include "core/shape.h"
#include "core/tape.h"
GR_BEGIN

/* Read the fields, leave the writing to the library; only data may be filled, between making a tensor and its first use. */
struct gr_tensor {
    gr_real *data;             /* row-major values */
    size_t len;                /* how many: the product of the sizes, 1 for rank 0 */
    size_t dim[GR_MAX_RANK];
    int rank;
    unsigned flags;            /* the library's */
    gr_real *grad;             /* the library's: read it with gr_grad */
    gr_tensor *base;           /* of a view: the tensor that owns the data and the gradient; else NULL */
    const gr_allocator *home;  /* of a tensor that outlives the tape (parameters, buffers): its memory; else NULL */
    const char *path;          /* of a parameter or buffer: "fc1.weight"; else NULL */
    gr_tape *tape;             /* that owns it; NULL when it outlives the tape */
    uint64_t stamp;            /* the library's: which tensor of its tape it is; of one that outlives the tape: how often its values changed */
};

/* Integers: labels, tokens, lengths. tape and stamp as above; a gr_ints of your own leaves both 0. */
typedef struct { int *data; size_t len, dim[GR_MAX_RANK]; int rank; gr_tape *tape; uint64_t stamp; } gr_ints;

/* ---- Making: owned by t, dead at gr_tape_reset(t). Errors: rank above 8, too large, out of memory. ---- */

GR_API gr_tensor *gr_input(gr_tape *t, const gr_real *values, gr_shape shape); /* copies the values */
GR_API gr_tensor *gr_empty(gr_tape *t, gr_shape shape);                       /* values to be filled in by the caller */
GR_API gr_tensor *gr_zeros(gr_tape *t, gr_shape shape);
GR_API gr_tensor *gr_ones(gr_tape *t, gr_shape shape);
GR_API gr_tensor *gr_full(gr_tape *t, gr_shape shape, double value);
GR_API gr_tensor *gr_scalar(gr_tape *t, double value);                        /* rank 0; broadcasts against anything */
GR_API gr_tensor *gr_arange(gr_tape *t, size_t n);                            /* [n]: 0, 1 .. n-1 */
GR_API gr_tensor *gr_rand(gr_tape *t, gr_shape shape, double low, double high, const char *stream);
GR_API gr_tensor *gr_randn(gr_tape *t, gr_shape shape, double mean, double std, const char *stream);
GR_API gr_ints *gr_ints_new(gr_tape *t, const int *values, gr_shape shape);   /* copies the values; NULL values: zeros */

/* ---- Views: no copy; x and the result share values and gradient ---- */

GR_API gr_tensor *gr_reshape(gr_tape *t, gr_tensor *x, gr_shape shape); /* one size may be GR_INFER */
GR_API gr_tensor *gr_flatten(gr_tape *t, gr_tensor *x, int first);      /* axes first .. last into one */
GR_API gr_tensor *gr_slice(gr_tape *t, gr_tensor *x, ptrdiff_t start, size_t count); /* of the leading axis; a start below 0 counts from the end */

/* The same values, but no gradient passes. */
GR_API gr_tensor *gr_detach(gr_tape *t, gr_tensor *x);

/* ---- Reading ---- */

GR_API double gr_item(const gr_tensor *x);              /* the one value of x; NaN for NULL. NaN and an error on its tape when it holds not one value,
                                                        or is dead; a parameter or buffer has no tape: NaN alone */
GR_API size_t gr_size(const gr_tensor *x, int axis);    /* negative axes count from the end; 0 when there is no such axis */
GR_API gr_shape gr_shape_of(const gr_tensor *x);
GR_API bool gr_same_shape(const gr_tensor *a, const gr_tensor *b);
GR_API const char *gr_shape_text(gr_tape *t, const gr_tensor *x);    /* "[64, 28]", "[]", "NULL"; owned by t */
GR_API const char *gr_shape_name(gr_tape *t, gr_shape shape);        /* the same of a shape; "rank 9" when it is none */

GR_END
#endif
