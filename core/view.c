/* core/view.c - views: reshape, flatten, slice of the leading axis, detach. */
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

gr_tensor *gr_reshape(gr_tape *t, gr_tensor *x, gr_shape shape)
{
    static const gr_op op = { .name = "reshape" };
    if (!gr_ready(t, &op, x)) return NULL;
    const gr_shape asked = shape;
    int inferred = -1;
    size_t known = 1, len;
    for (int i = 0; i < shape.rank && i < GR_MAX_RANK; i++) {
        if (shape.dim[i] != GR_INFER) gr_size_mul(known, shape.dim[i], &known);
        else if (inferred < 0) inferred = i;
        else return gr_fail(t, &op, "at most one size may be GR_INFER; got %s", gr_shape_name(t, asked));
    }
    if (inferred >= 0 && known) shape.dim[inferred] = x->len / known;
    if (!gr__shape_len(shape, &len) || len != x->len)
        return gr_fail(t, &op, "x is %s and holds %zu values, which do not fill %s", gr_shape_text(t, x), x->len, gr_shape_name(t, asked));
    return view(t, x, shape, 0, x->len);
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

gr_tensor *gr_slice(gr_tape *t, gr_tensor *x, ptrdiff_t start, size_t count)
{
    static const gr_op op = { .name = "slice" };
    if (!gr_ready(t, &op, x)) return NULL;
    if (!x->rank) return gr_fail(t, &op, "x is [] and has no leading axis");
    const ptrdiff_t n = (ptrdiff_t)x->dim[0], first = start < 0 ? start + n : start;
    if (first < 0 || first > n || count > (size_t)(n - first))
        return gr_fail(t, &op, "x is %s, so it does not have %zu rows from row %td on", gr_shape_text(t, x), count, start);
    gr_shape shape = gr_shape_of(x);
    shape.dim[0] = count;
    const size_t row = x->dim[0] ? x->len / x->dim[0] : 0;
    return view(t, x, shape, (size_t)first * row, count * row);
}

gr_tensor *gr_detach(gr_tape *t, gr_tensor *x)
{
    static const gr_op op = { .name = "detach" };
    if (!gr_ready(t, &op, x)) return NULL;
    gr_tensor *y = view(t, x, gr_shape_of(x), 0, x->len);
    if (y) y->base = NULL, y->flags = GR__TENSOR;
    return gr_record(t, &op, NULL, 0, GR_OUT(y), GR_IN(x));
}
