/* examples/kit/kit_invariance.h - what a normalized layer does not notice: Table 1 of the LayerNorm paper (Ba, Kiros, Hinton 2016), and RMSNorm's
 * row (Zhang, Sennrich 2019). y = norm(X W^T) of random X and W; six transformations of W or X. */
#ifndef KIT_INVARIANCE_H
#define KIT_INVARIANCE_H
#include "core/tensor.h"

enum { KIT_METHODS = 4, KIT_CHANGES = 6, KIT_CASES = 24, KIT_INPUTS = 12, KIT_UNITS = 16 };
extern const char *const kit_method_name[KIT_METHODS]; /* batch norm, weight norm, layer norm, RMS norm */
extern const char *const kit_change_name[KIT_CHANGES];
bool kit_invariant(size_t method, size_t change);      /* whether y stays, by theory */

typedef struct { gr_real x[KIT_CASES * KIT_INPUTS], w[KIT_UNITS * KIT_INPUTS]; } kit_layer;
typedef struct { gr_real y[KIT_CASES * KIT_UNITS], dx[KIT_CASES * KIT_INPUTS], dw[KIT_UNITS * KIT_INPUTS]; } kit_answer;
typedef struct {
    uint64_t seed;
    double eps;
    size_t method;
    kit_layer layer;
    kit_answer before; /* nothing transformed */
} kit_invariance;

/* A method on random values, solved once. Errors are t's, which is reset by each call. */
void kit_invariance_begin(gr_tape *t, kit_invariance *v, size_t method, uint64_t seed, double eps);

/* output: how far y moved, relative to its largest value; gradient: how far the other gradient moved, dX if W was transformed, else dW;
 * along: the largest cosine between the gradient and a direction of the transformation: where y does not notice, no step is taken. */
typedef struct { double output, gradient, along; } kit_moved;
kit_moved kit_invariance_move(gr_tape *t, const kit_invariance *v, size_t change);
/* As theory says: a yes is rounding, and a no is large, since a norm that did nothing would pass the first alone. */
bool kit_invariance_ok(size_t method, size_t change, const kit_moved *m);

/* With twice the weights, how far twice the gradient is from the one before. So a step turns weights twice as large a quarter as far. */
double kit_invariance_half(gr_tape *t, const kit_invariance *v);
bool kit_invariance_half_ok(double off);

#endif
