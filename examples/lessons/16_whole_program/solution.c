/* solution.c - the exercise, solved. Read it after yours passes. */
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
    gr_tape_reset(r->t);
    gr_tensor *loss = loss_of(r, &r->train, gr_batches_next(r->order));
    gr_optim_zero_grad(r->adam);
    gr_backward(r->t, loss);
    gr_optim_step(r->t, r->adam);
    return gr_item(loss);
}

/* The mean loss of all samples of r->valid, in evaluation mode, without recording. The run then goes on as if nothing had happened. */
double my_validate(run *r)
{
    double sum = 0;
    gr_tape_set_training(r->t, false), gr_tape_set_recording(r->t, false);
    for (size_t k = 0; k < r->valid_order->per_epoch; k++) {
        const gr_ints *ids = gr_batches_next(r->valid_order);
        gr_tape_reset(r->t);
        sum += gr_item(loss_of(r, &r->valid, ids)) * (double)ids->len;
    }
    gr_tape_set_training(r->t, true), gr_tape_set_recording(r->t, true);
    return sum / (double)r->valid.n;
}

/* Write everything that the run needs to go on; read it into a new run, which is made in the same way. Both return false after an error. */
bool my_save(run *r, const char *path)
{
    const gr_checkpoint_value own[] = { { "taken", GR_I64, 1, &r->order->taken }, { "best", GR_F64, 1, &r->best } };
    return gr_checkpoint_save(r->t, r->net, r->adam, path, own, 2);
}
bool my_load(run *r, const char *path)
{
    const gr_checkpoint_value own[] = { { "taken", GR_I64, 1, &r->order->taken }, { "best", GR_F64, 1, &r->best } };
    return gr_checkpoint_load(r->t, r->net, r->adam, path, own, 2);
}

/* Train until r->order->taken is steps; a resumed run does the rest only. Whenever r->order->taken has become a multiple of every, validate. If the
 * loss is below r->best, keep it there, and write the network to best_path: gr_state_save(t, net, path, NULL). Stop at once after an error:
 * gr_failed(r->t), or a save that returns false. Returns whether there was none. */
bool my_train(run *r, int64_t steps, int64_t every, const char *best_path)
{
    while (r->order->taken < steps && !gr_failed(r->t)) {
        my_step(r);
        if (r->order->taken % every) continue;
        const double loss = my_validate(r);
        if (loss < r->best) r->best = loss, gr_state_save(r->t, r->net, best_path, NULL);
    }
    return !gr_failed(r->t);
}
