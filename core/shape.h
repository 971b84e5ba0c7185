/* core/shape.h - shapes, and sets of axes. */
#ifndef GR_SHAPE_H
#define GR_SHAPE_H
#include "core/real.h"
#include <stddef.h>

enum { GR_MAX_RANK = 8 };

/* A shape: GR_SHAPE(64, 28, 28), or GR_SCALAR for one value without axes. Sizes may be 0. */
typedef struct { int rank; size_t dim[GR_MAX_RANK]; } gr_shape;
#define GR_INFER ((size_t)-1) /* gr_reshape computes this size */
/* A set of axes: GR_AXES(0, -1), or GR_ALL_AXES for all. The order matters in gr_permute only. Negative axes count from the end. */
typedef struct { int count, axis[GR_MAX_RANK]; } gr_axes;

#define GR_COUNT_(a, b, c, d, e, f, g, h, n, ...) n
#define GR_COUNT(...) GR_COUNT_(__VA_ARGS__, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#ifdef __cplusplus
#define GR_OF(type) type
#else
#define GR_OF(type) (type)
#endif
#define GR_SHAPE(...) (GR_OF(gr_shape){ GR_COUNT(__VA_ARGS__), { __VA_ARGS__ } })
#define GR_SCALAR (GR_OF(gr_shape){ 0, { 0 } })
#define GR_AXES(...) (GR_OF(gr_axes){ GR_COUNT(__VA_ARGS__), { __VA_ARGS__ } })
#define GR_ALL_AXES (GR_OF(gr_axes){ 0, { 0 } })

#endif
