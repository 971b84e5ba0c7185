/* examples/kit/conclude.h - what a comparison tells its reader: a legend above its first table, and "What to see" at its end.
 *
 * The sentences are computed from the numbers of the run. A difference counts as seen when it is larger than the noise: two standard errors,
 * which come from the number of test samples. They do not know how much another seed would change, so the conclusion names the seed.
 *
 *     if (!o.quiet) kit_wrap(stdout, "Legend: ..", 0);
 *     ..
 *     kit_conclude();
 *     if (kit_conclude_arms(&a, log(10))) kit_conclude_pair(&a, BATCH, LAYER);
 *     kit_conclude_seed(&o);                                                                                              */
#ifndef KIT_CONCLUDE_H
#define KIT_CONCLUDE_H
#include "examples/kit/arms.h"

enum { KIT_COLUMNS = 100 };

/* Print the words of text in lines of at most KIT_COLUMNS columns; each line begins with `indent` spaces. A longer word has its own line. */
void kit_wrap(FILE *out, const char *text, int indent);

/* Print the heading; then each call prints a paragraph to stdout, with a dash before it. */
void kit_conclude(void);
void kit_conclude_say(const char *format, ...) __attribute__((format(GR_PRINTF, 1, 2)));
/* Name the seed, and say that one seed proves little. */
void kit_conclude_seed(const kit_options *o);

/* The index of the smallest of n values; NaN is never the smallest. Returns n if there is none. */
size_t kit_smallest(const double *value, size_t n);

/* The part of a difference of two accuracies, in points, that chance explains: two standard errors for the numbers of test samples. A success
 * and a failure are added to each, so that no accuracy has an error of 0 (Agresti, Coull 1998). */
double kit_noise(const kit_score *a, const kit_score *b);

/* What follows reads names, scores and marks only, so that it works on a copy that was made before kit_arms_free. */

/* Print what the columns, the marks and the progress line of a comparison show. */
void kit_arms_legend(const kit_arms *a);

/* Say which arms diverged, which have the best and the worst accuracy and whether this is more than noise, and which was first at the last mark
 * that any reached. guess is the loss of equal probabilities. Returns false when there is nothing to compare, and says that too: fewer than two
 * arms ended, or no arm's test loss is below 0.9 guess. */
bool kit_conclude_arms(const kit_arms *a, double guess);

/* Say which of two arms has the higher accuracy, or that the two cannot be told apart. It says nothing of an arm that diverged, and nothing that
 * follows from what kit_conclude_arms said: of the best and the worst arm, or when no arms can be told apart. */
void kit_conclude_pair(const kit_arms *a, size_t i, size_t j);

/* Say which arm has the largest gap, if it is above `least`. */
void kit_conclude_gap(const kit_arms *a, double least);

#endif
