/* ops/strided.h - copies between two arrangements of the same elements in memory. */
#ifndef GR_STRIDED_H
#define GR_STRIDED_H
#include "core/library.h"

/* Element (i0, i1 ..) of [dim0, dim1 ..] is at y[i0 y0 + i1 y1 ..] and at x[i0 x0 + i1 x1 ..]. Strides may be negative; those of x may be 0. */
typedef struct { int rank; size_t dim[GR_MAX_RANK]; ptrdiff_t y[GR_MAX_RANK], x[GR_MAX_RANK]; } gr__layout;

/* A contiguous y that has x's axes in this order. */
gr__layout gr__layout_of(gr_shape x, const int *order);
/* Make y contiguous again, after sizes have changed. */
void gr__layout_pack(gr__layout *l);

/* y = x for every element; and its backward, dx += dy, or with fresh dx = 0 + dy. Each element of y, and in backward of dx, must be met once only. */
void gr__strided_copy(gr_tape *t, gr__layout l, gr_real *y, const gr_real *x);
void gr__strided_back(gr_tape *t, gr__layout l, gr_real *dx, const gr_real *dy, bool fresh);

/* For each axis of x, marked[axis] says whether axes names it; GR_ALL_AXES names all. Fails, and returns false, if x has no such axis, or if one
 * is named twice. */
bool gr__axes_marked(gr_tape *t, const gr_op *op, const gr_tensor *x, gr_axes axes, bool marked[GR_MAX_RANK]);

#endif
