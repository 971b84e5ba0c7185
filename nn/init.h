/* nn/init.h - how a parameter gets its first values. A rule is a small value; gr_param draws with it from the stream "<path>/init". */
#ifndef GR_INIT_H
#define GR_INIT_H
#include "core/tensor.h"
GR_BEGIN

typedef enum { GR_INIT_CONSTANT, GR_INIT_UNIFORM, GR_INIT_NORMAL, GR_INIT_ORTHOGONAL } gr_init_kind;
typedef enum { GR_FAN_IN, GR_FAN_OUT } gr_fan;
typedef struct { gr_init_kind kind; double a, b; } gr_init; /* constant a; uniform [a, b); normal mean a, std b; orthogonal gain a */

GR_API gr_init gr_constant(double value);
GR_API gr_init gr_uniform(double low, double high);
GR_API gr_init gr_normal(double mean, double std);
GR_API gr_init gr_orthogonal(double gain); /* Saxe et al. 2014: rows or columns orthonormal, times gain; rank >= 2, flattened to [dim 0, rest] */

GR_END
#endif
