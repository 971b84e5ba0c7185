/* answers/export.c - examples/broken/export.c without its fault; --fixed runs it.
 * A norm divides by N, not by N - 1. In PyTorch, x.var() divides by N - 1 unless you say otherwise. */
#define FIXED
#include "examples/broken/frame.h"

enum { N = 64, I = 4, H = 4, STEPS = 1500 };

typedef struct {
    gr_module *net;
    gr_linear_module *fc1, *fc2, *head;
    gr_tensor *gain1, *bias1, *gain2, *bias2;
} model;

static gr_tensor *norm(gr_tape *t, gr_tensor *x, gr_tensor *gain, gr_tensor *bias)
{
    gr_tensor *const centred = gr_sub(t, x, gr_mean(t, x, GR_AXES(-1), true));
    gr_tensor *const var = gr_var(t, x, GR_AXES(-1), 0, true);
    gr_tensor *const xhat = gr_div(t, centred, gr_sqrt(t, gr_add(t, var, gr_scalar(t, 1e-5))));
    return gr_add(t, gr_mul(t, xhat, gain), bias);
}

static gr_tensor *library_norm(gr_tape *t, gr_tensor *x, gr_tensor *gain, gr_tensor *bias)
{
    return gr_layer_norm(t, x, 1, gain, bias, 1e-5);
}

static gr_tensor *loss_of(gr_tape *t, const model *m, gr_tensor *(*normalize)(gr_tape *, gr_tensor *, gr_tensor *, gr_tensor *))
{
    gr_tensor *const x = gr_randn(t, GR_SHAPE(N, I), 0, 1, "x");
    gr_tensor *h = gr_tanh(t, normalize(t, gr_linear_forward(t, m->fc1, x), m->gain1, m->bias1));
    h = gr_tanh(t, normalize(t, gr_linear_forward(t, m->fc2, h), m->gain2, m->bias2));
    return gr_mse(t, gr_linear_forward(t, m->head, h), gr_narrow(t, x, 1, 0, 1), GR_REDUCE_MEAN);
}

void train(gr_tape *t)
{
    model m = { .net = gr_module_new(t) };
    m.fc1 = gr_linear_new(t, m.net, "fc1", I, H, NULL);
    m.fc2 = gr_linear_new(t, m.net, "fc2", H, H, NULL);
    m.head = gr_linear_new(t, m.net, "head", H, 1, NULL);
    m.gain1 = gr_param(t, m.net, "gain1", GR_SHAPE(H), gr_init_constant(1)),
    m.bias1 = gr_param(t, m.net, "bias1", GR_SHAPE(H), gr_init_constant(0));
    m.gain2 = gr_param(t, m.net, "gain2", GR_SHAPE(H), gr_init_constant(1)),
    m.bias2 = gr_param(t, m.net, "bias2", GR_SHAPE(H), gr_init_constant(0));
    gr_optim *const adam = gr_adam_new(t, m.net, &(gr_adam_config){ .lr = 0.01 });
    double mean = 0, exported = 0;
    for (int step = 1; step <= STEPS; step++) {
        gr_tape_reset(t);
        gr_tensor *const loss = loss_of(t, &m, norm);
        gr_optim_zero_grad(adam), gr_backward(t, loss), gr_optim_step(t, adam);
        mean += gr_item(loss) / 100;
        if (step % 100 == 0) {
            if (step % 300 == 0) printf("step %4d  loss %.4f\n", step, mean);
            mean = 0;
        }
    }
    for (int batch = 0; batch < 10; batch++) gr_tape_reset(t), exported += gr_item(loss_of(t, &m, library_norm)) / 10;
    printf("the same weights with gr_layer_norm: loss %.4f\n", exported);
    gr_optim_free(adam), gr_module_free(m.net);
}

#include "examples/broken/answers/export.h"
