/* examples/dive/loss.h - the networks of the figure "loss". The figure variants has the same Transformer, and takes the results of two of its arms
 * from there. */
#ifndef DIVE_LOSS_H
#define DIVE_LOSS_H
#include "examples/dive/models.h"

dive_spec loss_spec(const dive *d, size_t arch);
size_t loss_batch(const dive *d, size_t arch);
size_t loss_steps(const dive *d, size_t arch);
size_t loss_tests(const dive *d); /* test batches of an evaluation */

/* Train the architectures first .. end-1, and put their records. */
void loss_measure(dive *d, size_t first, size_t end);

#endif
