/* examples/norms/invariance.h - which changes of its weights and inputs leave a normalized layer's output the same: Table 1 of the LayerNorm
 * paper (Ba, Kiros, Hinton 2016), with a row for RMSNorm (Zhang, Sennrich 2019). The layer is y = norm(X W^T) with random X and W, and six
 * transformations change W or X. */
#ifndef NORMS_INVARIANCE_H
#define NORMS_INVARIANCE_H
#include "core/tensor.h"

enum { NORMS_METHODS = 4, NORMS_CHANGES = 6, NORMS_CASES = 24, NORMS_INPUTS = 12, NORMS_UNITS = 16 };
extern const char *const norms_method_name[NORMS_METHODS]; /* batch norm, weight norm, layer norm, RMS norm */
extern const char *const norms_change_name[NORMS_CHANGES];
bool norms_invariant(size_t method, size_t change);    /* whether theory says that y stays the same */

typedef struct { gr_real x[NORMS_CASES * NORMS_INPUTS], w[NORMS_UNITS * NORMS_INPUTS]; } norms_layer;
typedef struct { gr_real y[NORMS_CASES * NORMS_UNITS], dx[NORMS_CASES * NORMS_INPUTS], dw[NORMS_UNITS * NORMS_INPUTS]; } norms_answer;
typedef struct {
    uint64_t seed;
    double eps;
    size_t method;
    norms_layer layer;
    norms_answer before; /* without a transformation */
} norms_invariance;

/* Draw random values, and calculate the layer once with a method. Errors are set on t. Each call of these functions resets t. */
void norms_invariance_begin(gr_tape *t, norms_invariance *v, size_t method, uint64_t seed, double eps);

/* output: the largest change of y, relative to its largest value. gradient: the change of the other matrix's gradient (dX if W was
 * transformed, dW if X was). along: the largest cosine between the gradient of the transformed matrix and a direction of the transformation;
 * it is 0 where y does not change, because the loss is constant in that direction. */
typedef struct { double output, gradient, along; } norms_moved;
norms_moved norms_invariance_move(gr_tape *t, const norms_invariance *v, size_t change);
/* Whether m agrees with theory: a yes allows only rounding, and a no requires a large change. Without the second part, a function that
 * returned a constant would pass. */
bool norms_invariance_ok(size_t method, size_t change, const norms_moved *m);

/* How far the gradient with twice the weights is from half the gradient before, relative to it. It is 0 for an invariant layer, so that a
 * step turns weights that are twice as large by a quarter of the angle. */
double norms_invariance_half(gr_tape *t, const norms_invariance *v);
bool norms_invariance_half_ok(double off);

#endif
