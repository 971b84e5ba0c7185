/* core/gradcheck.h - is a gradient right? Compare backward with finite differences. */
#ifndef GR_GRADCHECK_H
#define GR_GRADCHECK_H
#include "core/tensor.h"
#include <stdio.h>

/* The function under test: it computes one tensor, of any shape, from in[0 .. n-1]. It is called many times and must be deterministic. */
typedef gr_tensor *gr_gradcheck_function(gr_tape *t, gr_tensor *const *in, void *argument);

typedef struct {
    gr_shape shape;
    double low, high;       /* random values from [low, high); default [-2, 2) */
    double kink;            /* when has_kink is true, all values stay at least ten steps away from kink */
    bool has_kink;
    bool distinct;          /* values from low upwards that are at least ten steps apart, for max and min */
    bool no_grad;           /* do not check the gradient of this input */
    const gr_real *values;  /* these values instead of random ones; NULL means random values */
} gr_gradcheck_input;

typedef struct {
    uint64_t seed;          /* for the random values; default 1 */
    double tolerance;       /* relative; default 1e-7 in the double library and 1e-3 in the float library */
    int threads;            /* of the tape; default 1 */
    bool eval;              /* true checks in evaluation mode; default training mode */
    const char *isa;        /* NULL means the tape's default */
} gr_gradcheck_config;

/* Compare the gradient a of backward with finite differences d. The loss is the sum of w_i f_i(x) with random weights w. Gradients start at random
 * values, not at 0, so that a backward that assigns instead of adding fails. The double library compares every element, with the four-point
 * stencil and h = 1e-3 max(1, |x|):
 *     d = (L(x - 2h) - 8 L(x - h) + 8 L(x + h) - L(x + 2h)) / 12h,    |a - d| <= tol max(|a|, |d|) + 1e-2 tol max|w|
 * The float library compares the derivative along a random direction for each input, with h = 0.02 max(1, |x|) and tol max|w| as the last term;
 * build with REAL=double to see which element is wrong.
 * Returns true when all inputs agree. For each input that does not, it prints one line to out with both numbers; it also prints an error of f.
 * Messages count inputs from 1, as those of operators do, and elements from 0.
 * out NULL means no printing; config may be NULL. */
GR_API bool gr_gradcheck(const char *name, gr_gradcheck_function *f, void *argument, const gr_gradcheck_input *in, size_t n,
                         const gr_gradcheck_config *config, FILE *out);

#endif
