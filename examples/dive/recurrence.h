/* examples/dive/recurrence.h - a recurrence without input: h = f(W h) and h = f(LN(W h)) from a random state, where W is random with a given
 * spectral radius. Does the size of f's input grow, shrink, or stay the same? (Ba, Kiros, Hinton 2016, section 3.1) */
#ifndef DIVE_RECURRENCE_H
#define DIVE_RECURRENCE_H
#include "examples/dive/dive.h"

/* A part of the figure hidden_dynamics. Records: "recurrence/steps" [n]; "recurrence/F/none|LN" [radii, n]: the root mean square of f's input at
 * those steps, divided by that at step 1; "recurrence/F/LN_raw": the same for W h before the norm; for each of these, "most" and "least"
 * [radii]: the extremes over all steps and seeds. A value outside the range of float is NaN, and 1e38 as an extreme. */
void dive_recurrence_measure(dive *d, double from, double to);
void dive_recurrence_draw(const dive *d, plot_figure *f);
void dive_recurrence_claims(const dive *d, dive_claims *c);

#endif
