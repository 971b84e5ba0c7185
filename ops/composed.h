/* ops/composed.h - the twins: fused operators written from plain ones, as a lesson would write them. A twin is the
 * specification of its fused operator, and the other side of the speed table; both agree forward and backward. */
#ifndef GR_COMPOSED_H
#define GR_COMPOSED_H
#include "ops/ops.h"
GR_BEGIN

GR_END
#endif
