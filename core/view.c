/* core/view.c - views: reshape, flatten, slice of the leading axis, detach. The integers' reshape and slice copy. */
#include "core/internal.h"

static gr_tensor *view(gr_tape *t, gr_tensor *x, gr_shape shape, size_t offset)
{
    gr_tensor *y = gr_save(t, sizeof *y);
    if (!y) return NULL;
    *y = (gr_tensor){ .data = x->data + offset, .rank = shape.rank, .flags = GR__TENSOR, .base = gr__owner(x), .tape = t,
                      .stamp = gr__stamp(t) };
    memcpy(y->dim, shape.dim, (size_t)shape.rank * sizeof *y->dim);
    gr__shape_len(shape, &y->len);
    return y;
}

/* Compute the size GR_INFER of *shape. Fails unless it then holds the len values of x, which has the shape own. */
static bool view_fits(gr_tape *t, const gr_op *op, gr_shape own, size_t len, gr_shape *shape)
{
    const gr_shape asked = *shape;
    int inferred = -1;
    size_t known = 1, filled;
    for (int i = 0; i < asked.rank && i < GR_MAX_RANK; i++) {
        if (asked.dim[i] != GR_INFER) gr_size_mul(known, asked.dim[i], &known);
        else if (inferred < 0) inferred = i;
        else return gr_fail(t, op, "at most one size may be GR_INFER; got %s", gr_shape_name(t, asked));
    }
    if (inferred >= 0 && known) shape->dim[inferred] = len / known;
    return (gr__shape_len(*shape, &filled) && filled == len) ||
           gr_fail(t, op, "x is %s and holds %zu values, which do not fill %s", gr_shape_name(t, own), len, gr_shape_name(t, asked));
}

/* Make *shape that of the rows start .. start + count-1. *start becomes the number of the first value. */
static bool view_rows(gr_tape *t, const gr_op *op, gr_shape *shape, size_t len, ptrdiff_t *start, size_t count)
{
    if (!shape->rank) return gr_fail(t, op, "x is [] and has no leading axis");
    const ptrdiff_t n = (ptrdiff_t)shape->dim[0], first = *start < 0 ? *start + n : *start;
    if (first < 0 || first > n || count > (size_t)(n - first))
        return gr_fail(t, op, "x is %s, so it does not have %zu rows from row %td on", gr_shape_name(t, *shape), count, *start);
    shape->dim[0] = count;
    *start = n ? first * ((ptrdiff_t)len / n) : 0;
    return true;
}

gr_tensor *gr_reshape(gr_tape *t, gr_tensor *x, gr_shape shape)
{
    static const gr_op op = { .name = "reshape" };
    return gr_ready(t, &op, x) && view_fits(t, &op, gr_shape_of(x), x->len, &shape) ? view(t, x, shape, 0) : NULL;
}

gr_tensor *gr_slice(gr_tape *t, gr_tensor *x, ptrdiff_t start, size_t count)
{
    static const gr_op op = { .name = "slice" };
    if (!gr_ready(t, &op, x)) return NULL;
    gr_shape shape = gr_shape_of(x);
    return view_rows(t, &op, &shape, x->len, &start, count) ? view(t, x, shape, (size_t)start) : NULL;
}

gr_ints *gr_ints_reshape(gr_tape *t, const gr_ints *x, gr_shape shape)
{
    static const gr_op op = { .name = "ints_reshape" };
    if (!gr__ints_ready(t, &op, "x", x)) return NULL;
    return view_fits(t, &op, gr__ints_shape(x), x->len, &shape) ? gr_ints_new(t, x->data, shape) : NULL;
}

gr_ints *gr_ints_slice(gr_tape *t, const gr_ints *x, ptrdiff_t start, size_t count)
{
    static const gr_op op = { .name = "ints_slice" };
    if (!gr__ints_ready(t, &op, "x", x)) return NULL;
    gr_shape shape = gr__ints_shape(x);
    return view_rows(t, &op, &shape, x->len, &start, count) ? gr_ints_new(t, x->data + start, shape) : NULL;
}

gr_tensor *gr_flatten(gr_tape *t, gr_tensor *x, int first)
{
    static const gr_op op = { .name = "flatten" };
    if (!gr_ready(t, &op, x)) return NULL;
    const int axis = x->rank || (first != 0 && first != -1) ? gr_axis(t, &op, x, first) : 0;
    if (axis < 0) return NULL;
    gr_shape shape = { .rank = axis + 1 };
    memcpy(shape.dim, x->dim, (size_t)axis * sizeof *x->dim);
    shape.dim[axis] = gr__sizes(x->dim, axis, x->rank);
    return view(t, x, shape, 0);
}

gr_tensor *gr_detach(gr_tape *t, gr_tensor *x)
{
    static const gr_op op = { .name = "detach" };
    if (!gr_ready(t, &op, x)) return NULL;
    gr_tensor *y = view(t, x, gr_shape_of(x), 0);
    if (y) y->base = NULL;
    return gr_record(t, &op, NULL, 0, GR_OUT(y), GR_IN(x));
}
