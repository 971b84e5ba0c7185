/* Another hand: one batch of all samples, a struct for the values, a loop with a break. r->best is compared, and stays. */
#include "gradus.h"

typedef struct { const gr_real *x; const int *label; size_t n; } samples;
typedef struct {
    gr_tape *t;
    gr_module *net;
    gr_linear_module *fc1, *fc2;
    gr_norm *norm;
    gr_optim *adam;
    samples train, valid;
    gr_batches *order, *valid_order;
    double best;
} run;

gr_tensor *loss_of(run *r, const samples *s, const gr_ints *ids);

double my_step(run *r)
{
    const gr_ints *ids = gr_batches_next(r->order);
    gr_tape_reset(r->t), gr_optim_zero_grad(r->adam);
    gr_tensor *loss = loss_of(r, &r->train, ids);
    if (!gr_backward(r->t, loss) || !gr_optim_step(r->t, r->adam)) return 0.0 / 0.0;
    return gr_item(loss);
}

double my_validate(run *r)
{
    gr_tape_reset(r->t);
    gr_ints *all = gr_ints_new(r->t, NULL, GR_SHAPE(r->valid.n));
    for (size_t i = 0; i < r->valid.n; i++) all->data[i] = (int)i;
    gr_tape_set_recording(r->t, false);
    gr_tape_set_training(r->t, false);
    const double loss = gr_item(loss_of(r, &r->valid, all));
    gr_tape_set_training(r->t, true);
    gr_tape_set_recording(r->t, true);
    return loss;
}

static bool checkpoint(run *r, const char *path, bool load)
{
    const gr_checkpoint_value v[2] = { { "b", GR_F64, 1, &r->best }, { "t", GR_I64, 1, &r->order->taken } };
    return (load ? gr_checkpoint_load(r->t, r->net, r->adam, path, v, 2) : gr_checkpoint_save(r->t, r->net, r->adam, path, v, 2));
}
bool my_save(run *r, const char *path) { return checkpoint(r, path, false); }
bool my_load(run *r, const char *path) { return checkpoint(r, path, true); }

bool my_train(run *r, int64_t steps, int64_t every, const char *best_path)
{
    for (int64_t k = r->order->taken + 1; k <= steps; k++) {
        my_step(r);
        if (gr_failed(r->t)) return false;
        if (k % every == 0 && my_validate(r) < r->best) gr_state_save(r->t, r->net, best_path, NULL);
    }
    return true;
}
