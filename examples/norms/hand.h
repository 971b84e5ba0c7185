/* examples/norms/hand.h - LayerNorm of one vector by hand, in double, and the lines that show it, each checked against the library. */
#ifndef NORMS_HAND_H
#define NORMS_HAND_H
#include "examples/norms/paper.h"

enum { NORMS_HAND = 64 }; /* the longest vector */

typedef struct {
    size_t N;
    const double *x, *gamma, *beta, *dy; /* gamma and beta NULL: 1 and 0; dy NULL: no backward */
    double eps;
} norms_given;

typedef struct {
    double sum, mean, squares, var, sigma, rstd, d[NORMS_HAND], square[NORMS_HAND], xhat[NORMS_HAND], y[NORMS_HAND];
    double g[NORMS_HAND], gx[NORMS_HAND], mean_g, mean_gx, term[3][NORMS_HAND], dx[NORMS_HAND], dgamma[NORMS_HAND];
    double of_d, of_var, of_sigma, of_dx; /* how large what was added up is: see norms_paper_line */
} norms_row;

norms_row norms_hand(const norms_given *a);

/* The formula from x to y, and from dy to dx, dgamma and dbeta, in lines. The tape is reset first. seed: of the finite differences, which
 * only a vector of ordinary size is put to. */
void norms_hand_forward(norms_paper *p, const norms_given *a);
void norms_hand_backward(norms_paper *p, const norms_given *a, uint64_t seed);

/* Some x of that shape, NORMS_HAND values at most, and for each value the letter of the mean that it shares when the last axes are normalized;
 * then xhat, and the means. */
void norms_hand_shape(norms_paper *p, gr_shape shape, int axes);

/* v as a tensor; NULL for NULL. The values of x, NULL of none. */
gr_tensor *norms_put(gr_tape *t, const double *v, gr_shape shape);
const gr_real *norms_values(const gr_tensor *x);

#endif
