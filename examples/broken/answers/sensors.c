/* answers/sensors.c - examples/broken/sensors.c without its fault; --fixed runs it.
 * exp(89) is infinite in float, and infinity / infinity is NaN. log_softmax subtracts the largest logit first. */
#define FIXED
#include "examples/broken/frame.h"
#include <math.h>

enum { N = 32, I = 4, C = 3, STEPS = 500 };

/* A batch: the readings of state c are around center[c]. Now and then a sensor has a glitch: it reads a thousand times too much. */
static gr_tensor *batch(gr_tape *t, gr_tensor **target)
{
    static const double center[C][I] = { { 1, 0, 0, 1 }, { 0, 1, 0, -1 }, { 0, 0, 1, 0 } };
    gr_tensor *const x = gr_randn(t, GR_SHAPE(N, I), 0, 0.5, "readings");
    gr_stream *const s = gr_tape_stream(t, "states");
    gr_ints *const state = gr_ints_new(t, NULL, GR_SHAPE(N));
    for (size_t n = 0; n < N && x && state; n++) {
        state->data[n] = (int)gr_stream_below(s, C);
        for (size_t i = 0; i < I; i++) x->data[n * I + i] += (gr_real)center[state->data[n]][i];
        if (gr_stream_below(s, 5000) == 0) x->data[n * I] *= 1000;
    }
    *target = gr_one_hot(t, state, C);
    return x;
}

static gr_tensor *loss_of(gr_tape *t, const gr_linear_module *fc)
{
    gr_tensor *target, *const x = batch(t, &target);
    gr_tensor *const logp = gr_log_softmax(t, gr_linear_forward(t, fc, x), 1);
    return gr_neg(t, gr_mean(t, gr_sum(t, gr_mul(t, logp, target), GR_AXES(1), false), GR_ALL_AXES, false));
}

static void run(gr_tape *t)
{
    gr_module *const net = gr_module_new(t);
    gr_linear_module *const fc = gr_linear_new(t, net, "fc", I, C, NULL);
    gr_optim *const sgd = gr_sgd_new(t, net, &(gr_sgd_config){ .lr = 0.2 });
    for (int step = 1; step <= STEPS; step++) {
        gr_tape_reset(t);
        gr_tensor *const loss = loss_of(t, fc);
        gr_optim_zero_grad(sgd), gr_backward(t, loss), gr_clip_grad_value(t, sgd, 1), gr_optim_step(t, sgd);
        if (step % 50 == 0 && !gr_failed(t)) printf("step %4d  loss %.3f\n", step, fabs(gr_item(loss))); /* some machines print -nan */
    }
    gr_optim_free(sgd), gr_module_free(net);
}

void train(gr_tape *t) { run(t); }

#include "examples/broken/answers/sensors.h"
