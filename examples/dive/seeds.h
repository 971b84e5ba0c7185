/* examples/dive/seeds.h - what a comparison over seeds says: bands for the pictures, pairs of arms for the claims.
 *
 * A record of it has a row for each seed: a curve [seeds, n], or a number [seeds]. NaN is what was never reached, or an arm that diverged. */
#ifndef DIVE_SEEDS_H
#define DIVE_SEEDS_H
#include "examples/dive/dive.h"

/* n NaNs in memory of the program, for measure to fill in; NULL, with an error, when there is none. */
double *dive_blank(dive *d, size_t n);

/* Over the rows of r: mean, least and largest of each column, [n], on t; gaps where a row has one. Of NULL, nothing: n is 0. */
typedef struct { size_t n; double *mean, *low, *high; } dive_band;
dive_band dive_over_seeds(gr_tape *t, const plot_record *r);

/* Seed by seed: a against b. What is NaN is beyond all numbers; of both, neither is below. */
typedef struct {
    double a, b;             /* means; NaN when one is */
    size_t seeds, below;     /* with both; in which a is below b */
} dive_pair;
dive_pair dive_compare(const plot_record *a, const plot_record *b);
/* That a is below b: PASS when it is so in every seed, FAIL when in none, else DIFFERS. */
dive_verdict dive_is_below(const dive_pair *p);

/* The verdict of statements taken together: PASS when all do, FAIL when none does, else DIFFERS. */
dive_verdict dive_together(const dive_verdict *v, size_t n);

/* "0.25", or "never" for NaN, with that many digits after the point; text [bytes]. */
const char *dive_number(char *text, size_t bytes, double x, int digits);

#endif
