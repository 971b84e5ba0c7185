/* examples/kit/kit_hand.h - LayerNorm of one vector by hand, in double, and the lines that show it, each checked against the library. */
#ifndef KIT_HAND_H
#define KIT_HAND_H
#include "examples/kit/kit_paper.h"

enum { KIT_HAND = 64 }; /* the longest vector */

typedef struct {
    size_t N;
    const double *x, *gamma, *beta, *dy; /* gamma and beta NULL: 1 and 0; dy NULL: no backward */
    double eps;
} kit_given;

typedef struct {
    double sum, mean, squares, var, sigma, rstd, d[KIT_HAND], square[KIT_HAND], xhat[KIT_HAND], y[KIT_HAND];
    double g[KIT_HAND], gx[KIT_HAND], mean_g, mean_gx, term[3][KIT_HAND], dx[KIT_HAND], dgamma[KIT_HAND];
    double of_d, of_var, of_sigma, of_dx; /* how large what was added up is: see kit_paper_line */
} kit_row;

kit_row kit_hand(const kit_given *a);

/* The formula from x to y, and from dy to dx, dgamma and dbeta, in lines. The tape is reset first. seed: of the finite differences, which
 * only a vector of ordinary size is put to. */
void kit_hand_forward(kit_paper *p, const kit_given *a);
void kit_hand_backward(kit_paper *p, const kit_given *a, uint64_t seed);

/* Some x of that shape, KIT_HAND values at most, and for each value the letter of the mean that it shares when the last axes are normalized;
 * then xhat, and the means. */
void kit_hand_shape(kit_paper *p, gr_shape shape, int axes);

/* v as a tensor; NULL for NULL. The values of x, NULL of none. */
gr_tensor *kit_put(gr_tape *t, const double *v, gr_shape shape);
const gr_real *kit_of(const gr_tensor *x);

#endif
