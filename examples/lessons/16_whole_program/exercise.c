/* exercise.c - the parts of a training loop that a test can trust. Write the four parts marked TODO; everything else is there.
 * Check it as often as you like:   make grade N=16                                                                    */
#include "gradus.h"

/* A run. The grader makes it, and has the same lines, so do not change them. */
typedef struct { const gr_real *x; const int *label; size_t n; } samples;
typedef struct {
    gr_tape *t;
    gr_module *net;
    gr_linear_module *fc1, *fc2;
    gr_norm *norm;
    gr_optim *adam;
    samples train, valid;
    gr_batches *order, *valid_order; /* batches of train, shuffled, and of valid, not shuffled */
    double best;                     /* the smallest validation loss so far */
} run;

/* The grader's: forward, and the mean loss of the samples of s that ids names. */
gr_tensor *loss_of(run *r, const samples *s, const gr_ints *ids);

double my_step(run *r);
double my_validate(run *r);
bool my_save(run *r, const char *path);
bool my_load(run *r, const char *path);
bool my_train(run *r, int64_t steps, int64_t every, const char *best_path);

/* Train one step with the next batch of r->order. Returns its loss, a number: gr_item. */
double my_step(run *r)
{
    /* TODO 1. The steps of lesson 7, with a batch: gr_batches_next gives the numbers of its samples, and loss_of the loss. */
    return (void)r, 0; /* remove this line */
}

/* The mean loss of all samples of r->valid, in evaluation mode, without recording. The run then goes on as if nothing had happened. */
double my_validate(run *r)
{
    /* TODO 2. r->valid_order gives r->valid_order->per_epoch batches. A batch has ids->len samples; the last one is smaller. */
    return (void)r, 0; /* remove this line */
}

/* Write everything that the run needs to go on; read it into a new run, which is made in the same way. Both return false after an error. */
bool my_save(run *r, const char *path)
{
    /* TODO 3. */
    return (void)r, (void)path, false; /* remove this line */
}
bool my_load(run *r, const char *path)
{
    /* TODO 3, too. */
    return (void)r, (void)path, false; /* remove this line */
}

/* Train until r->order->taken is steps; a resumed run does the rest only. Whenever r->order->taken has become a multiple of every, validate. If the
 * loss is below r->best, keep it there, and write the network to best_path: gr_state_save(t, net, path, NULL). Stop at once after an error:
 * gr_failed(r->t), or a save that returns false. Returns whether there was none. */
bool my_train(run *r, int64_t steps, int64_t every, const char *best_path)
{
    /* TODO 4. */
    return (void)r, (void)steps, (void)every, (void)best_path, false; /* remove this line */
}
