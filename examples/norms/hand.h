/* examples/norms/hand.h - LayerNorm of one vector, calculated by hand in double and printed line by line. Each line is checked against the
 * library. */
#ifndef NORMS_HAND_H
#define NORMS_HAND_H
#include "examples/norms/paper.h"

enum { NORMS_HAND = 64 }; /* the longest vector */

typedef struct {
    size_t N;
    const double *x, *gamma, *beta, *dy; /* NULL means gamma 1, beta 0, no backward */
    double eps;
} norms_given;

typedef struct {
    double sum, mean, squares, var, sigma, rstd, d[NORMS_HAND], square[NORMS_HAND], xhat[NORMS_HAND], y[NORMS_HAND];
    double g[NORMS_HAND], gx[NORMS_HAND], mean_g, mean_gx, term[3][NORMS_HAND], dx[NORMS_HAND], dgamma[NORMS_HAND];
    double of_d, of_var, of_sigma, of_dx; /* the size of the terms in each sum: the scale for norms_paper_line */
} norms_row;

norms_row norms_hand(const norms_given *a);

/* Print the formula from x to y; from dy to dx, dgamma and dbeta. Both reset the tape first. seed is the seed of the finite differences, which
 * are skipped for vectors that are too large or nearly constant. */
void norms_hand_forward(norms_paper *p, const norms_given *a);
void norms_hand_backward(norms_paper *p, const norms_given *a, uint64_t seed);

/* Print an x of that shape (at most NORMS_HAND values), where values that share a mean have the same letter when the last `axes` axes are
 * normalized; then xhat and the means. */
void norms_hand_shape(norms_paper *p, gr_shape shape, int axes);

/* v as a tensor; the values of a tensor. Both return NULL for NULL. */
gr_tensor *norms_put(gr_tape *t, const double *v, gr_shape shape);
const gr_real *norms_values(const gr_tensor *x);

#endif
