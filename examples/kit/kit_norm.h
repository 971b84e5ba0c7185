/* examples/kit/kit_norm.h - LayerNorm over the last axis in the ways in which it is also written, as operators of their own on the tape, with
 * the idiom of the library's kernels, its chunks, threads and backward, so that only the statistics differ. For comparing: the library has
 * the one that is right. */
#ifndef KIT_NORM_H
#define KIT_NORM_H
#include "core/tensor.h"

typedef enum {
    KIT_NORM_ONE_PASS, /* mean(x^2) - mean(x)^2: one walk over x, and nothing left where the mean is large */
    KIT_NORM_TWO_PASS, /* mean((x - mean)^2) */
    KIT_NORM_WELFORD,  /* Welford 1962: both at once, updated value by value; 16 of them side by side, merged as in Chan et al. 1983 */
    KIT_NORM_RESIDUAL, /* two passes, and what the mean's rounding leaves, mean(x - mean), taken out of both */
    KIT_NORM_WAYS,
} kit_norm_way;

typedef struct {
    kit_norm_way way;
    double eps;
    bool outside;  /* sigma = sqrt(var) + eps instead of sqrt(var + eps) */
    bool unbiased; /* the variance divided by N - 1 instead of N */
} kit_norm_kind;

/* y = gamma * (x - mean) / sigma + beta.   x [.., N], not empty   gamma, beta [N]. config is copied. */
gr_tensor *kit_norm(gr_tape *t, gr_tensor *x, gr_tensor *gamma, gr_tensor *beta, const kit_norm_kind *kind);

#endif
