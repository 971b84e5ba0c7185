/* core/gradcheck_pattern.h - what core/gradcheck.c, which compares, and core/gradcheck_pattern.c, which explains, know of a check. */
#ifndef GR_GRADCHECK_PATTERN_H
#define GR_GRADCHECK_PATTERN_H
#include "core/gradcheck.h"

enum { GR__SHIFT = 1000 }; /* how much more the gradients hold before the second backward than before the first */

/* One input of the function under test: a leaf of the graph that keeps its gradient, as a parameter does. */
typedef struct {
    gr_tensor *x;
    gr_real *values, *start; /* what x holds when nothing is moved; what its gradient held before the first backward */
    double *direction;  /* along which it is moved */
    double *backward, *differences, *again; /* what the first backward added; finite differences; what the newest backward added */
    bool listed;        /* by an operator on the tape */
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

/* |a - d| as a multiple of what is allowed. */
double gr__gradient_excess(const gr__check *c, double a, double d);
/* The finite difference with respect to element i of leaf k, for the cotangent w. */
double gr__gradient_difference(gr__check *c, size_t k, size_t i, const gr_real *w);
/* Give leaf k, which is wrong, the pattern that explains it. The newest backward was the second. */
void gr__gradient_explain(gr__check *c, size_t k);
/* Make the message about leaf k, which is wrong, the error of c->t. */
void gr__gradient_say(const gr__check *c, size_t k);

#endif
