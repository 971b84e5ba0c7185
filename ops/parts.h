/* ops/parts.h - the last step of a sum over rows. Each chunk of rows sums into a part of its own, and the parts are added in the order of the
 * chunks, so that the bits do not depend on the number of threads. */
#ifndef GR_PARTS_H
#define GR_PARTS_H
#include "core/library.h"

/* For i < n: sum[i] += part[i], then sum[i] += part[stride + i], and so on for all `parts` parts. */
void gr__add_parts(gr_tape *t, gr_real *sum, const gr_real *part, size_t parts, size_t stride, size_t n);

#endif
