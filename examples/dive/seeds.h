/* examples/dive/seeds.h - the results of a comparison over seeds: bands for the figures, and pairs of arms for the claims.
 *
 * A record has a row for each seed: a curve [seeds, n] or a number [seeds]. NaN means that a mark was never reached, or that the arm diverged. */
#ifndef DIVE_SEEDS_H
#define DIVE_SEEDS_H
#include "examples/dive/dive.h"

/* n NaNs for measure to fill in. The program's tape owns them. NULL, with an error on that tape, when there is no memory. */
double *dive_blank(dive *d, size_t n);

/* The mean, smallest and largest value of each column of r over the seeds, [n], owned by t; NaN where a seed has NaN. For NULL, n is 0. */
typedef struct { size_t n; double *mean, *low, *high; } dive_band;
dive_band dive_over_seeds(gr_tape *t, const plot_record *r);

/* Compare a with b in each seed. NaN counts as larger than every number; if both are NaN, neither is below. */
typedef struct {
    double a, b;             /* means over the seeds; NaN if a seed has NaN */
    size_t seeds, below;     /* seeds that both have; seeds in which a is below b */
} dive_pair;
dive_pair dive_compare(const plot_record *a, const plot_record *b);
/* Whether a is below b: PASS if it is in every seed, FAIL if in none, else DIFFERS. */
dive_verdict dive_is_below(const dive_pair *p);

/* The verdict of several statements together: PASS if all pass, FAIL if all fail, else DIFFERS. */
dive_verdict dive_together(const dive_verdict *v, size_t n);

/* Print x with `digits` digits after the point into text, or "never" for NaN, and return text. */
const char *dive_number(char *text, size_t bytes, double x, int digits);

#endif
