/* core/gradcheck.h - is a gradient right? Finite differences against backward, with a random cotangent. */
#ifndef GR_GRADCHECK_H
#define GR_GRADCHECK_H
#include "core/tensor.h"
#include <stdio.h>
GR_BEGIN

/* The function under test: in[0 .. n-1] to one tensor, of any shape. Deterministic: it is called many times. */
typedef gr_tensor *gr_gradcheck_function(gr_tape *t, gr_tensor *const *in, void *argument);

typedef struct {
    gr_shape shape;
    double low, high;       /* values are drawn from [low, high); both 0: [-2, 2) */
    double kink;            /* with has_kink: no value comes within ten steps of it */
    bool has_kink;
    bool distinct;          /* values ten steps apart, from low up as far as it takes, for max and min */
    bool no_grad;           /* an input whose gradient is not asked for */
    const gr_real *values;  /* given values instead of random ones */
} gr_gradcheck_input;

typedef struct {
    uint64_t seed;          /* of the values and the cotangent; 0 is 1 */
    double tolerance;       /* relative; 0: 1e-7 in the double library, 1e-3 in the float library */
    int threads;            /* of the tape; 0: 1 */
    bool eval;              /* check in evaluation mode */
    const char *isa;        /* NULL: the tape's default */
} gr_gradcheck_config;

/* Compare backward with finite differences of f. Gradients start at random values, not 0, so that a backward that assigns instead of adding
 * fails. In the double library every element, by the four-point stencil with h = 1e-3 max(1, |x|):
 *     (f(x - 2h) - 8 f(x - h) + 8 f(x + h) - f(x + 2h)) / 12h,    |a - n| <= tol max(|a|, |n|) + 1e-2 tol max|w|
 * In the float library the derivative along a random direction for each input, h = 0.02 and a floor of tol max|w|. Returns true when all agree; otherwise, and on
 * an error of f, prints one line to out (NULL: nowhere): the worst element with both numbers. Appends the names of the operators that it
 * saw to the file $GRADUS_CHECKED, when that is set. config may be NULL. */
GR_API bool gr_gradcheck(const char *name, gr_gradcheck_function *f, void *argument, const gr_gradcheck_input *in, size_t n,
                         const gr_gradcheck_config *config, FILE *out);

GR_END
#endif
