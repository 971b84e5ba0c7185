/* nn/init.h - how a parameter gets its first values. A gr_init is a rule, passed by value; gr_param draws the values with it from the random
 * stream "<path>/init". Make rules with the functions below, and read their fields if you like. */
#ifndef GR_INIT_H
#define GR_INIT_H
#include "core/tensor.h"

typedef enum {
    GR_INIT_CONSTANT,        /* a */
    GR_INIT_UNIFORM,         /* from [a, b) */
    GR_INIT_NORMAL,          /* mean a, standard deviation b */
    GR_INIT_ORTHOGONAL,      /* gain a, as in all that follow */
    GR_INIT_XAVIER_UNIFORM, GR_INIT_XAVIER_NORMAL, GR_INIT_KAIMING_UNIFORM, GR_INIT_KAIMING_NORMAL } gr_init_kind;
typedef enum { GR_FAN_IN, GR_FAN_OUT } gr_fan;
typedef struct { gr_init_kind kind; double a, b; gr_fan fan; } gr_init;

GR_API gr_init gr_init_constant(double value);           /* value everywhere */
GR_API gr_init gr_init_uniform(double low, double high); /* from [low, high) */
GR_API gr_init gr_init_normal(double mean, double std);  /* from the normal distribution */

/* The rules below need a tensor of rank 2 or more. A weight [out, in, k, ..] has fan_in = in * k * .. and fan_out = out * k * .. */

/* A matrix [dim 0, all other axes] whose rows are orthonormal, or its columns if it has fewer columns than rows; times gain.
 * Saxe, McClelland, Ganguli 2014 */
GR_API gr_init gr_init_orthogonal(double gain);

/* std = gain sqrt(2 / (fan_in + fan_out)): on average over forward and backward the layer keeps the variance of what flows through it.
 * The uniform rule draws from [-sqrt(3) std, sqrt(3) std).                                                Glorot, Bengio 2010 */
GR_API gr_init gr_init_xavier_uniform(double gain);
GR_API gr_init gr_init_xavier_normal(double gain);

/* std = gain / sqrt(fan): the layer keeps the variance in the forward (GR_FAN_IN) or in the backward (GR_FAN_OUT).   He et al. 2015 */
GR_API gr_init gr_init_kaiming_uniform(double gain, gr_fan fan);
GR_API gr_init gr_init_kaiming_normal(double gain, gr_fan fan);

/* The gain that suits an activation, as in PyTorch. */
#define GR_GAIN_LINEAR 1.0
#define GR_GAIN_TANH (5.0 / 3)
#define GR_GAIN_RELU 1.4142135623730951
#define GR_GAIN_SELU 0.75

#endif
