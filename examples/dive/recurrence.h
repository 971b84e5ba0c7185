/* examples/dive/recurrence.h - a recurrence left to itself: h = f(W h) and h = f(LN(W h)) from a random state on, W random, of a given spectral
 * radius. Does the size of what enters f grow, shrink, or stay? (Ba, Kiros, Hinton 2016, section 3.1) */
#ifndef DIVE_RECURRENCE_H
#define DIVE_RECURRENCE_H
#include "examples/dive/dive.h"

/* A part of the figure hidden_dynamics. Records: "recurrence/steps" [n]; "recurrence/F/none|LN" [radii, n]: the size of what enters f at
 * those steps, sqrt(mean of its squares), over that at step 1; "recurrence/F/LN_raw": of W h before the norm; of each, under "most" and
 * "least", the extremes over all steps [radii]. What left the floats' range is NaN, and 1e38 as an extreme. */
void dive_recurrence_measure(dive *d, double from, double to);
void dive_recurrence_draw(const dive *d, plot_figure *f);
void dive_recurrence_claims(const dive *d, dive_claims *c);

#endif
