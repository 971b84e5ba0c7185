/* examples/dive/seeds.h - the results of a comparison over seeds: bands for the figures, and pairs of arms with intervals for the claims.
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

enum { DIVE_SEEDS = 3 }; /* the fewest seeds that give a verdict about training */
#define DIVE_GUESSING 2.302585092994046 /* ln 10: the loss of guessing one of ten digits */
#define DIVE_READING 2.0 /* the largest test loss that gives a verdict about text. Tiny Shakespeare's 65 characters alone give 3.3 by how often each occurs. */

typedef struct {
    double grid;   /* a difference of at most this is a tie: the step of the evaluation */
    double worst;  /* what NaN counts as: the steps of the run for a mark, the value of guessing for an error or a loss */
    double factor; /* a is compared with factor * b; default 1 */
} dive_scale;

/* Compare a with b in each seed. */
typedef struct {
    double a, b;             /* means over the seeds; NaN if a seed has NaN */
    double difference, half; /* the mean of a - factor b, and half the width of its interval of 95 % (Student's t); infinite for one seed */
    double grid;
    size_t seeds, below; /* seeds that both have; seeds in which a is below factor b by more than the grid */
} dive_pair;
dive_pair dive_compare(const plot_record *a, const plot_record *b, dive_scale scale);
/* Whether a is below b. TOO SHORT with fewer than DIVE_SEEDS seeds; EQUAL if the whole interval is a tie; PASS or FAIL if the difference is no
 * tie and the interval is on one side of 0; else DIFFERS, because the seeds do not decide. */
dive_verdict dive_is_below(const dive_pair *p);
/* Whether a is above b by at most `most`: PASS or FAIL if the interval is on one side of that bound, else DIFFERS. */
dive_verdict dive_is_at_most(const dive_pair *p, double most);

/* "-0.82 +- 0.30", the difference and its interval, for the column "seeds and interval" of the claims. */
const char *dive_interval(plot_figure *f, const dive_pair *p, int digits);

/* Why dive_is_below(p) is no PASS, with words for "below" and "above" such as "lower" and "higher": "lower in 2 of 3 seeds, but the interval
 * includes 0", "the interval of the difference is on the other side of 0: higher". */
const char *dive_why(plot_figure *f, const dive_pair *p, const char *below, const char *above);
/* The name of v, the verdict about p; where the seeds do not decide, also how many agree: "DIFFERS (lower in 2 of 3 seeds)". */
const char *dive_verdict_text(plot_figure *f, dive_verdict v, const dive_pair *p, const char *below);

/* The verdict of several statements together: TOO SHORT if one is; PASS or EQUAL if all are; FAIL if none is PASS and one is FAIL; else
 * DIFFERS. */
dive_verdict dive_together(const dive_verdict *v, size_t n);
/* The verdict of a statement that includes a weaker one, as "three times as large" includes "larger": DIFFERS when only the weaker holds. */
dive_verdict dive_in_part(dive_verdict all, dive_verdict weaker);

/* What a comparison of trained networks needs before it has a verdict. */
typedef struct {
    size_t seeds;
    size_t steps, least; /* steps of the training, and the fewest that the claim needs */
    double best, must;   /* the best network's loss or error at the end, and the value that it must reach; 0 and 0 mean no such bound */
    const char *unit;    /* of best and must: "loss" */
} dive_budget;
/* "161 steps; this claim needs 700", or NULL when there are enough seeds and steps and the best network has learned enough. */
const char *dive_too_short(plot_figure *f, dive_budget b);
enum { DIVE_LSTM_STEPS = 700, DIVE_STEPS = 150 }; /* the fewest steps for an LSTM on digits, and for other networks */

/* A record [n] of one value, to compare with. t owns it; NULL without memory. */
const plot_record *dive_constant(gr_tape *t, size_t n, double value);
/* The mean of the values of r; NaN if r is NULL or has a NaN. */
double dive_mean(const plot_record *r);

/* Texts, which t owns. */
const char *dive_count(gr_tape *t, size_t n, const char *one, const char *more); /* "1 seed", "3 seeds" */
/* "0.12 to 0.34", or "0.12" where both are printed alike: `digits` digits after the point, or with digits < 0 that many significant ones. */
const char *dive_range(gr_tape *t, double low, double high, int digits);
/* A mean over the seeds, with `digits` digits after the point; NaN is "diverged in a seed". */
const char *dive_number(gr_tape *t, double x, int digits);
/* The mean of r. If it has NaN: `none` when all are NaN, else for example "never in 1 of 3 seeds". */
const char *dive_mean_text(gr_tape *t, const plot_record *r, int digits, const char *none);

#endif
