/* ops/index.h - what operators that take integers share: their shapes, and messages that name one of them. */
#ifndef GR_INDEX_H
#define GR_INDEX_H
#include "core/op.h"
#include <string.h>

static inline gr_shape index_shape(const gr_ints *k)
{
    gr_shape shape = { .rank = k->rank };
    memcpy(shape.dim, k->dim, sizeof shape.dim);
    return shape;
}

/* Where element number i is: "[2, 0]". */
static inline const char *index_place(gr_tape *t, const gr_ints *k, size_t i)
{
    gr_shape at = { .rank = k->rank };
    for (size_t axis = (size_t)at.rank; axis-- > 0; i /= k->dim[axis]) at.dim[axis] = i % k->dim[axis];
    return gr_shape_name(t, at);
}
#endif
