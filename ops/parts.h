/* ops/parts.h - a sum over rows is made of parts, one for each chunk of rows, which are added in the order of the chunks: so its bits do
 * not depend on the threads. */
#ifndef GR_PARTS_H
#define GR_PARTS_H
#include "core/op.h"

/* sum[i] += part[i] + part[stride + i] + .., for i < n and in this order; parts of them. */
void gr__add_parts(gr_tape *t, gr_real *sum, const gr_real *part, size_t parts, size_t stride, size_t n);

#endif
