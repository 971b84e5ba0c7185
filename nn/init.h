/* nn/init.h - how a parameter gets its first values. A rule is a small value; gr_param draws with it from the stream
 * "<path>/init". */
#ifndef GR_INIT_H
#define GR_INIT_H
#include "core/tensor.h"
GR_BEGIN

typedef enum {
    GR_INIT_CONSTANT,        /* a */
    GR_INIT_UNIFORM,         /* from [a, b) */
    GR_INIT_NORMAL,          /* mean a, standard deviation b */
    GR_INIT_ORTHOGONAL,      /* gain a */
    GR_INIT_XAVIER_UNIFORM,  /* gain a; the rest have one too */
    GR_INIT_XAVIER_NORMAL,
    GR_INIT_KAIMING_UNIFORM,
    GR_INIT_KAIMING_NORMAL,
} gr_init_kind;
typedef enum { GR_FAN_IN, GR_FAN_OUT } gr_fan;
typedef struct { gr_init_kind kind; double a, b; gr_fan fan; } gr_init;

GR_API gr_init gr_init_constant(double value);
GR_API gr_init gr_init_uniform(double low, double high);
GR_API gr_init gr_init_normal(double mean, double std);

/* Rows or columns, whichever are fewer, are orthonormal, times gain. Rank 2 or more, taken as [dim 0, rest].
 * Saxe, McClelland, Ganguli 2014 */
GR_API gr_init gr_init_orthogonal(double gain);

/* The variance of what flows through the layer is kept, forward and backward on average: std = gain sqrt(2 / (fan_in + fan_out)).
 * Uniform: within sqrt(3) std. Rank 2 or more: a weight [out, in, ...] has fan_in = in times the rest.    Glorot, Bengio 2010 */
GR_API gr_init gr_init_xavier_uniform(double gain);
GR_API gr_init gr_init_xavier_normal(double gain);

/* It is kept forward (GR_FAN_IN) or backward (GR_FAN_OUT): std = gain / sqrt(fan).                       He et al. 2015 */
GR_API gr_init gr_init_kaiming_uniform(double gain, gr_fan fan);
GR_API gr_init gr_init_kaiming_normal(double gain, gr_fan fan);

/* The gains that go with an activation, as in PyTorch. */
#define GR_GAIN_LINEAR 1.0
#define GR_GAIN_TANH (5.0 / 3)
#define GR_GAIN_RELU 1.4142135623730951
#define GR_GAIN_SELU 0.75

GR_END
#endif
