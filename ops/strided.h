/* ops/strided.h - copying between two arrangements of the same elements. */
#ifndef GR_STRIDED_H
#define GR_STRIDED_H
#include "core/op.h"
#include "ops/ops.h"

/* Element (i0, i1 ..) of [dim0, dim1 ..] is at y[sum of i y-stride] and at x[sum of i x-stride]. Strides may be negative. */
typedef struct { int rank; size_t dim[GR_MAX_RANK]; ptrdiff_t y[GR_MAX_RANK], x[GR_MAX_RANK]; } gr__layout;

void gr__contiguous(gr_shape shape, ptrdiff_t *stride);

/* y = x, or y += x, for every element. No element of y may be met twice. */
void gr__strided_copy(gr_tape *t, gr__layout l, gr_real *y, const gr_real *x);
void gr__strided_add(gr_tape *t, gr__layout l, gr_real *y, const gr_real *x);

/* marked[axis] = whether axes names it, for each axis of x; GR_ALL_AXES names all. False on an error: no such axis, or named twice. */
bool gr__axes_marked(gr_tape *t, const gr_op *op, const gr_tensor *x, gr_axes axes, bool marked[GR_MAX_RANK]);

#endif
