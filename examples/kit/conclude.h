/* examples/kit/conclude.h - what a comparison tells its reader: a legend above its first table, and "What to see" at its end.
 *
 * The sentences are computed from the numbers of the run, by these rules:
 *   accuracies  Two of them differ if they are further apart than the noise: two standard errors, which come from the numbers of test samples.
 *               Otherwise they cannot be told apart, and a sentence that names one of them as the best or the worst names the other, too.
 *   losses      differ if one is KIT_SURE_LOSS times the other. They have no count of samples from which a noise would follow.
 *   times       differ if one is KIT_SURE_TIME times the other: equal runs on a machine that does other work differ by as much.
 *   marks       An arm is later than another if it reaches a mark more than one evaluation after it.
 *   ties        Numbers that print alike are equal: a sentence that names one of them as the largest or the smallest names all.
 * No rule knows how much another seed would change, so the conclusion names the seed.
 *
 *     if (!o.quiet) kit_arms_legend(&a);
 *     ..
 *     kit_conclude();
 *     if (kit_conclude_arms(&a, log(10))) kit_conclude_pair(&a, BATCH, LAYER);
 *     kit_conclude_seed(&o);                                                                                              */
#ifndef KIT_CONCLUDE_H
#define KIT_CONCLUDE_H
#include "examples/kit/arms.h"
#include "examples/kit/words.h"

#define KIT_SURE_LOSS 1.01
#define KIT_SURE_TIME 1.25

/* Print the heading; then each call prints a paragraph to stdout, with a dash before it. */
void kit_conclude(void);
void kit_conclude_say(const char *format, ...) __attribute__((format(GR_PRINTF, 1, 2)));
/* Name the seed, and say that one seed proves little. */
void kit_conclude_seed(const kit_options *o);

/* The index of the largest of n values; NaN is never the largest. Returns n if there is none. names gets the names of all values that print like it
 * with this number of significant digits. */
size_t kit_largest(kit_list *names, const double *value, const char *const *name, size_t n, int digits);

/* The part of a difference of two accuracies, in points, that is noise: two standard errors for the numbers of test samples. A success and a
 * failure are added to each, so that no accuracy has an error of 0 (Agresti, Coull 1998). */
double kit_noise(const kit_score *a, const kit_score *b);

/* ---- Arms. What follows reads names, scores, steps and marks only, so that it works on a copy that was made before kit_arms_free. ---- */

/* The arm in a sentence: its name, or "the arm without a norm" for an arm that tables call "none". */
const char *kit_arm_name(const kit_arm *arm);

/* Print what the columns, the marks and the progress line of a comparison show. */
void kit_arms_legend(const kit_arms *a);

/* Say which arms diverged, which have the highest and the lowest accuracy, and which are the first and the later ones at the highest mark that two
 * or more reached. guess is the loss of equal probabilities. Returns false when there is nothing to compare, and says that too: fewer than two arms
 * ended, or no arm's test loss is below 0.9 guess. */
bool kit_conclude_arms(const kit_arms *a, double guess);

/* Say which of two arms has the higher accuracy, or that the two cannot be told apart. It says nothing of an arm that diverged, and nothing that
 * kit_conclude_arms said: of two arms that it named together, or as the best and the worst. */
void kit_conclude_pair(const kit_arms *a, size_t i, size_t j);

/* Say the training losses of all arms, the lowest first. */
void kit_conclude_training(const kit_arms *a);

/* Say which arms have a gap of at least `least`, above 0 or below. */
void kit_conclude_gap(const kit_arms *a, double least);

/* Say how the accuracies change from one comparison to another of the same arms. */
void kit_conclude_change(const kit_arms *from, const kit_arms *to);

#endif
