/* core/view.c - views: reshape, flatten, slice of the leading axis, detach. The integers' reshape and slice copy. */
#include "core/internal.h"

static gr_tensor *view(gr_tape *t, gr_tensor *x, gr_shape shape, size_t offset, size_t len)
{
    gr_tensor *y = gr_save(t, sizeof *y);
    if (!y) return NULL;
    *y = (gr_tensor){ .data = x->data + offset, .len = len, .rank = shape.rank, .flags = GR__TENSOR | (x->flags & GR__WANTS_GRAD),
                      .base = x->base ? x->base : x, .tape = t, .stamp = gr__stamp(t) };
    memcpy(y->dim, shape.dim, (size_t)shape.rank * sizeof *y->dim);
    return y;
}

/* Compute the size GR_INFER of *shape. Fails unless the values of x fill it. */
static bool view_fills(gr_tape *t, const gr_op *op, const gr_tensor *x, gr_shape *shape)
{
    const gr_shape asked = *shape;
    int inferred = -1;
    size_t known = 1, filled;
    for (int i = 0; i < asked.rank && i < GR_MAX_RANK; i++) {
        if (asked.dim[i] != GR_INFER) gr_size_mul(known, asked.dim[i], &known);
        else if (inferred < 0) inferred = i;
        else return gr_fail(t, op, "at most one size may be GR_INFER; got %s", gr_shape_name(t, asked));
    }
    if (inferred >= 0 && known) shape->dim[inferred] = x->len / known;
    return (gr__shape_len(*shape, &filled) && filled == x->len) ||
           gr_fail(t, op, "x is %s and holds %zu values, which do not fill %s", gr_shape_text(t, x), x->len, gr_shape_name(t, asked));
}

gr_tensor *gr_reshape(gr_tape *t, gr_tensor *x, gr_shape shape)
{
    static const gr_op op = { .name = "reshape" };
    return gr_ready(t, &op, x) && view_fills(t, &op, x, &shape) ? view(t, x, shape, 0, x->len) : NULL;
}

gr_ints *gr_ints_reshape(gr_tape *t, const gr_ints *x, gr_shape shape)
{
    static const gr_op op = { .name = "ints_reshape" };
    if (!x && !gr_failed(t)) return gr_fail(t, &op, "x is NULL");
    if (!gr_ints_alive(t, &op, "x", x)) return NULL;
    const gr_tensor like = gr__like_ints(x);
    return view_fills(t, &op, &like, &shape) ? gr_ints_new(t, x->data, shape) : NULL;
}

gr_tensor *gr_flatten(gr_tape *t, gr_tensor *x, int first)
{
    static const gr_op op = { .name = "flatten" };
    if (!gr_ready(t, &op, x)) return NULL;
    const int axis = x->rank || (first != 0 && first != -1) ? gr_axis(t, &op, x, first) : 0;
    if (axis < 0) return NULL;
    gr_shape shape = { .rank = axis + 1 };
    memcpy(shape.dim, x->dim, (size_t)axis * sizeof *x->dim);
    shape.dim[axis] = 1;
    for (int i = axis; i < x->rank; i++) shape.dim[axis] *= x->dim[i];
    return view(t, x, shape, 0, x->len);
}

/* Make *shape that of the rows start .. start + count-1. Returns the first one, or -1 after an error. */
static ptrdiff_t view_rows(gr_tape *t, const gr_op *op, gr_shape *shape, ptrdiff_t start, size_t count)
{
    if (!shape->rank) return gr_fail(t, op, "x is [] and has no leading axis"), -1;
    const ptrdiff_t n = (ptrdiff_t)shape->dim[0], first = start < 0 ? start + n : start;
    if (first < 0 || first > n || count > (size_t)(n - first))
        return gr_fail(t, op, "x is %s, so it does not have %zu rows from row %td on", gr_shape_name(t, *shape), count, start), -1;
    shape->dim[0] = count;
    return first;
}

gr_tensor *gr_slice(gr_tape *t, gr_tensor *x, ptrdiff_t start, size_t count)
{
    static const gr_op op = { .name = "slice" };
    if (!gr_ready(t, &op, x)) return NULL;
    gr_shape shape = gr_shape_of(x);
    if ((start = view_rows(t, &op, &shape, start, count)) < 0) return NULL;
    const size_t row = x->dim[0] ? x->len / x->dim[0] : 0;
    return view(t, x, shape, (size_t)start * row, count * row);
}

gr_ints *gr_ints_slice(gr_tape *t, const gr_ints *x, ptrdiff_t start, size_t count)
{
    static const gr_op op = { .name = "ints_slice" };
    if (!x && !gr_failed(t)) return gr_fail(t, &op, "x is NULL");
    if (!gr_ints_alive(t, &op, "x", x)) return NULL;
    const gr_tensor like = gr__like_ints(x);
    gr_shape shape = gr_shape_of(&like);
    start = view_rows(t, &op, &shape, start, count);
    return start < 0 ? NULL : gr_ints_new(t, x->data + (x->dim[0] ? (size_t)start * (x->len / x->dim[0]) : 0), shape);
}

gr_tensor *gr_detach(gr_tape *t, gr_tensor *x)
{
    static const gr_op op = { .name = "detach" };
    if (!gr_ready(t, &op, x)) return NULL;
    gr_tensor *y = view(t, x, gr_shape_of(x), 0, x->len);
    if (y) y->base = NULL, y->flags = GR__TENSOR;
    return gr_record(t, &op, NULL, 0, GR_OUT(y), GR_IN(x));
}
