/* examples/norms/invariance.h - what a normalized layer does not notice: Table 1 of the LayerNorm paper (Ba, Kiros, Hinton 2016), and RMSNorm's
 * row (Zhang, Sennrich 2019). y = norm(X W^T) of random X and W; six transformations of W or X. */
#ifndef NORMS_INVARIANCE_H
#define NORMS_INVARIANCE_H
#include "core/tensor.h"

enum { NORMS_METHODS = 4, NORMS_CHANGES = 6, NORMS_CASES = 24, NORMS_INPUTS = 12, NORMS_UNITS = 16 };
extern const char *const norms_method_name[NORMS_METHODS]; /* batch norm, weight norm, layer norm, RMS norm */
extern const char *const norms_change_name[NORMS_CHANGES];
bool norms_invariant(size_t method, size_t change);    /* whether y stays, by theory */

typedef struct { gr_real x[NORMS_CASES * NORMS_INPUTS], w[NORMS_UNITS * NORMS_INPUTS]; } norms_layer;
typedef struct { gr_real y[NORMS_CASES * NORMS_UNITS], dx[NORMS_CASES * NORMS_INPUTS], dw[NORMS_UNITS * NORMS_INPUTS]; } norms_answer;
typedef struct {
    uint64_t seed;
    double eps;
    size_t method;
    norms_layer layer;
    norms_answer before; /* nothing transformed */
} norms_invariance;

/* A method on random values, solved once. Errors are t's, which is reset by each call. */
void norms_invariance_begin(gr_tape *t, norms_invariance *v, size_t method, uint64_t seed, double eps);

/* output: how far y moved, relative to its largest value; gradient: how far the other gradient moved, dX if W was transformed, else dW;
 * along: the largest cosine between the gradient and a direction of the transformation: where y does not notice, no step is taken. */
typedef struct { double output, gradient, along; } norms_moved;
norms_moved norms_invariance_move(gr_tape *t, const norms_invariance *v, size_t change);
/* As theory says: a yes is rounding, and a no is large, since a norm that did nothing would pass the first alone. */
bool norms_invariance_ok(size_t method, size_t change, const norms_moved *m);

/* With twice the weights, how far twice the gradient is from the one before. So a step turns weights twice as large a quarter as far. */
double norms_invariance_half(gr_tape *t, const norms_invariance *v);
bool norms_invariance_half_ok(double off);

#endif
