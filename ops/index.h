/* ops/index.h - what operators that take or return integers share: the place of one of them in a message, the checks of ids and lengths. */
#ifndef GR_INDEX_H
#define GR_INDEX_H
#include "core/library.h"

/* The indices of element number i, as text: "[2, 0]". */
static inline const char *index_place(gr_tape *t, const gr_ints *k, size_t i)
{
    gr_shape at = { .rank = k->rank };
    for (size_t axis = (size_t)at.rank; axis-- > 0; i /= k->dim[axis]) at.dim[axis] = i % k->dim[axis];
    return gr_shape_name(t, at);
}

/* True if all ids are indices of this axis of x. Otherwise fails; the message calls x `name`. */
static inline bool index_below(gr_tape *t, const gr_op *op, const gr_ints *ids, const char *name, const gr_tensor *x, int axis)
{
    size_t i = 0;
    while (i < ids->len && ids->data[i] >= 0 && (size_t)ids->data[i] < x->dim[axis]) i++;
    return i == ids->len || gr_fail(t, op, "ids%s is %d, but %s is %s: on axis %d it must be 0 .. %lld", index_place(t, ids, i), ids->data[i], name,
                                    gr_shape_text(t, x), axis, (long long)x->dim[axis] - 1);
}

/* The indices of an axis are ints. */
static inline bool index_fits_int(gr_tape *t, const gr_op *op, const gr_tensor *x, int axis)
{
    const int k = axis < 0 ? axis + x->rank : axis;
    return x->dim[k] <= INT32_MAX || gr_fail(t, op, "x is %s: an index of axis %d does not fit into an int", gr_shape_text(t, x), k);
}

/* True if k is NULL, or holds a number in 0 .. most for each of N sequences. Otherwise fails, with the shape of x; the message calls k `what`
 * and x `name`. */
static inline bool index_counts_fit(gr_tape *t, const gr_op *op, const char *what, const gr_ints *k, const char *name, const gr_tensor *x, size_t N,
                                    size_t most)
{
    if (!k) return true;
    if (!gr_ints_alive(t, op, what, k)) return false;
    if (k->rank != 1 || k->len != N)
        return gr_fail(t, op, "%s is %s, so %s must be [%zu]; got %s", name, gr_shape_text(t, x), what, N, gr_shape_name(t, gr__ints_shape(k)));
    for (size_t n = 0; n < N; n++)
        if (k->data[n] < 0 || (size_t)k->data[n] > most)
            return gr_fail(t, op, "%s is %s, so %s[%zu] must be in 0 .. %zu; got %d", name, gr_shape_text(t, x), what, n, most, k->data[n]);
    return true;
}
#endif
