/* core/gradcheck.h - is a gradient right? Compare backward with finite differences; if they differ, say what kind of mistake explains it.
 *
 *     // The function under test: your operator, which has two inputs here.
 *     static gr_tensor *checked(gr_tape *t, gr_tensor *const *in, void *argument)
 *     {
 *         (void)argument;                                  // what gr_gradcheck was given: NULL here
 *         return gr_div(t, in[0], in[1]);
 *     }
 *
 *     bool gradients_are_right(void)
 *     {
 *         const gr_gradcheck_input in[] = { { .shape = GR_SHAPE(3, 4) }, { .shape = GR_SHAPE(4), .low = 0.5, .high = 2 } };
 *         return gr_gradcheck("div", checked, NULL, in, 2, &(gr_gradcheck_config){ .alone = true }, stderr);
 *     }
 *
 * On success it prints nothing. */
#ifndef GR_GRADCHECK_H
#define GR_GRADCHECK_H
#include "core/tensor.h"
#include <stdio.h>

/* The function under test: it computes one tensor, of any shape, from in[0 .. n-1]. It is called many times and must be deterministic;
 * random numbers of the tape are the same at each call. */
typedef gr_tensor *gr_gradcheck_function(gr_tape *t, gr_tensor *const *in, void *argument);

/* What is wrong with a, which backward added to the gradient of an input; d is the right one, and w the upstream gradient, that of f's result:
 *   LOST          where a is wrong, what the gradient held before backward is gone
 *   ZERO          a = 0
 *   CONSTANT      a - d is constant along axis[0] to axis[1] of the input, taken as one axis, and d is not
 *   UPSTREAM      a = w, summed over leading axes if the input has fewer values than the result
 *   NO_UPSTREAM   a is d for w = 1
 *   FACTOR        a = factor d. If N = factor or N = 1 / factor is the size of some axes, as for a mean, the message names them. An input of one
 *                 value needs such a factor or -1
 *   TRANSPOSED    a is d with axis[0] and axis[1] of the input exchanged
 *   NOT_SUMMED    a is d for a loss that sees only entry 0 of axis[0] to axis[1] of the result, taken as one axis
 *   ALONE         a is right when the other gradients are wanted, and wrong when they are not (gr_gradcheck_config.alone)
 * A pattern must explain every element within the tolerance, and ten times as well as a = d does. The first of the list that does so counts. */
#define GR_GRADCHECK_PATTERNS(P) \
    P(RIGHT, "right") \
    P(NOT_RECORDED, "no recorded operator has this input: gr_record needs every input, and its gr_op a .backward") \
    P(LOST, "backward assigned with = in place of +=, and so lost what the gradient held before") \
    P(ZERO, "backward added nothing") \
    P(CONSTANT, "the error is constant along an axis, as if the term of a mean were missing") \
    P(UPSTREAM, "backward added the upstream gradient alone: it must multiply it by the derivative") \
    P(NO_UPSTREAM, "backward added the derivative alone: it must multiply it by the upstream gradient") \
    P(FACTOR, "every value is the right one times a factor") \
    P(TRANSPOSED, "the values are right, but transposed") \
    P(NOT_SUMMED, "backward added only the first entry of a broadcast axis, not the sum along it") \
    P(ALONE, "wrong when no other gradient is wanted: backward must work where gr_grad returns NULL, and gr_record needs every input") \
    P(UNKNOWN, "no known mistake explains every value")
#define GR_GRADCHECK_PATTERN_(name, text) GR_GRADCHECK_##name,
typedef enum { GR_GRADCHECK_PATTERNS(GR_GRADCHECK_PATTERN_) } gr_gradcheck_pattern;
GR_API const char *gr_gradcheck_text(gr_gradcheck_pattern pattern); /* the text in the list; "" for no such pattern */

typedef struct {
    gr_gradcheck_pattern pattern;
    size_t element;                       /* the worst one; SIZE_MAX means the derivative along a random direction, in the float library */
    size_t wrong;                         /* how many elements differ by more than is allowed; 1 along a random direction */
    double backward, differences, excess; /* a, d (of ALONE, a with the other gradients), and |a - d| as a multiple of what is allowed */
    double factor;                        /* of FACTOR */
    int axis[2];                          /* of TRANSPOSED, CONSTANT and NOT_SUMMED */
} gr_gradcheck_result;

typedef struct {
    gr_shape shape;
    double low, high; /* random values from [low, high); low must be below high; 0 and 0 mean -2 and 2 */
    double kink;      /* when has_kink is true, all values stay at least ten steps away from kink: 0 for relu */
    bool has_kink;
    bool distinct;         /* values from low upwards that are at least ten steps apart, for max and min */
    bool no_grad;          /* do not check the gradient of this input */
    const gr_real *values; /* these values instead of random ones; NULL means random values */
    const gr_real *start;  /* what the gradient holds before backward; NULL means random values from [-1, 1). Zeros hide an = in place of += */
    /* Filled in, unless f fails or no_grad is true; each may be NULL. The arrays are the caller's, with a number for each value. */
    gr_gradcheck_result *result;
    double *first, *backward, *differences; /* what the gradient held before backward, what backward added, and d */
} gr_gradcheck_input;

typedef struct {
    uint64_t seed;    /* for the random values; default 1 */
    double tolerance; /* relative; default 1e-7 in the double library and 1e-3 in the float library */
    int threads;      /* of the tape; default 1 */
    bool eval;        /* true checks in evaluation mode; default training mode */
    const char *isa;  /* NULL means the tape's default */
    bool alone; /* also check each gradient while no other one is wanted, so that gr_grad returns NULL for the other inputs */
    const gr_allocator *allocator; /* where all memory comes from; NULL means malloc */
} gr_gradcheck_config;

/* Compare the gradient a of backward with finite differences d. The loss is the sum of w_i f_i(x) with random weights w. Gradients start at random
 * values, not at 0, so that a backward that assigns instead of adding fails. The double library compares every element, with the four-point
 * stencil and h = 1e-3 max(1, |x|):
 *     d = (L(x - 2h) - 8 L(x - h) + 8 L(x + h) - L(x + 2h)) / 12h,    |a - d| <= tol max(|a|, |d|) + 1e-2 tol max|w|
 * The float library compares the derivative along a random direction for each input, with h = 0.02 max(1, |x|) and tol max|w| as the last term;
 * it computes every element only if the two differ, or when `differences` asks for them.
 * Returns true when all inputs agree. For each input that does not, it prints one line to out, with the worst element, how many elements differ, both
 * numbers and the pattern:
 *     cube: input 1, element 3 (12 of 12 values differ): backward gives 0.5, finite differences -0.5 (9.9e+06 times the tolerance); every value
 *     is the right one times a factor: -1
 * For LOST, the numbers are what the gradient holds after backward, what it should hold, and what it held before. An input that no recorded operator
 * has fails even if its gradient is right, because gr_record drops an operator if none of the inputs that it was given wants a gradient.
 * To find the pattern, it runs backward once more from other gradients. Messages count inputs from 1, as those of operators do, and elements
 * and axes from 0. An error of f is printed, too, and so is that the result depends on no input whose gradient is checked, that low is not below
 * high, or that 1,000 draws gave no value ten steps from the kink. out NULL means no printing; config may be NULL. */
GR_API bool gr_gradcheck(const char *name, gr_gradcheck_function *f, void *argument, const gr_gradcheck_input *in, size_t n,
                         const gr_gradcheck_config *config, FILE *out);

#endif
