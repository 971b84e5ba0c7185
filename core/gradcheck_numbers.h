/* core/gradcheck_numbers.h - the two gradients of a check; for core/gradcheck.c. */
#ifndef GR_GRADCHECK_NUMBERS_H
#define GR_GRADCHECK_NUMBERS_H
#include "core/gradcheck.h"

enum { GR__IN_DOUBLE = sizeof(gr_real) == 8 };

/* One input of the function under test: a leaf of the graph that keeps its gradient, as a parameter does. */
typedef struct {
    gr_tensor *x;
    gr_real *values, *start; /* what x holds when nothing is moved; what its gradient held before the first backward */
    double *direction;  /* along which it is moved */
    double *backward, *differences, *again; /* what the first backward added; finite differences; what the newest backward added */
    bool listed;        /* by an operator on the tape; or it is the function's result itself */
    gr_gradcheck_result found;
} gr__leaf;

typedef struct {
    FILE *out;
    const char *name;
    gr_gradcheck_function *f;
    void *argument;
    const gr_gradcheck_input *spec;
    size_t n;
    gr_tape *t, *store; /* f runs on t; what the check itself needs is on store, which is never reset */
    gr_stream random;
    gr__leaf *leaves;
    gr_tensor **in;
    bool recorded;      /* f's result is on the tape, and has this shape, with outs values */
    gr_shape result;
    size_t outs;
    gr_real *w, *part;  /* [outs]: the cotangent; another one, for a pattern */
    double tolerance, floor;
} gr__check;

/* Make leaf k from its description. False when there is not enough memory. */
bool gr__gradient_leaf(gr__check *c, size_t k);
/* Run f and backward. Gradients begin `shift` above their starts. If `alone` is not NULL, no other gradient is wanted. False when f or backward fails. */
bool gr__gradient_backward(gr__check *c, double shift, const gr__leaf *alone);
/* The finite difference with respect to element i of leaf k, for the cotangent w. */
double gr__gradient_difference(gr__check *c, size_t k, size_t i, const gr_real *w);
/* |a - d| as a multiple of what is allowed. */
double gr__gradient_excess(const gr__check *c, double a, double d);
/* The worst of n pairs, with this pattern if it is not allowed. A NaN is the worst of all. */
gr_gradcheck_result gr__gradient_worst(const gr__check *c, gr_gradcheck_pattern pattern, const double *a, const double *d, size_t n);
/* Compare the gradients of leaf k after the first backward. The double library compares every element. The float library does so only if the
 * derivative along a random direction is wrong, or when the caller wants the numbers. */
void gr__gradient_check(gr__check *c, size_t k);

#endif
