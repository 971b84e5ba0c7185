/* answers/gains.c - examples/broken/gains.c without its fault; --fixed runs it.
 * Weight decay pulls the gains of the norms to 0, too. Without decay_all, gradus exempts norms and biases. */
#define FIXED
#include "examples/broken/frame.h"

enum { N = 64, I = 8, H = 32, LAYERS = 3, STEPS = 1000 };

typedef struct {
    gr_module *net;
    gr_linear_module *fc[LAYERS], *head;
    gr_norm *ln[LAYERS];
    gr_optim *adam;
} model;

static model build(gr_tape *t)
{
    static const char *const fc[LAYERS] = { "fc1", "fc2", "fc3" }, *const ln[LAYERS] = { "ln1", "ln2", "ln3" };
    model m = { .net = gr_module_new(t) };
    for (int l = 0; l < LAYERS; l++) {
        m.ln[l] = gr_layer_norm_new(t, m.net, ln[l], GR_SHAPE(H), NULL);
        m.fc[l] = gr_linear_new(t, m.net, fc[l], l ? H : I, H, NULL);
    }
    m.head = gr_linear_new(t, m.net, "head", H, 1, NULL);
    m.adam = gr_adamw_new(t, m.net, &(gr_adam_config){ .lr = 0.003, .weight_decay = 1 });
    return m;
}

static gr_tensor *loss_of(gr_tape *t, const model *m)
{
    gr_tensor *const x = gr_randn(t, GR_SHAPE(N, I), 0, 1, "x"), *h = x;
    for (int l = 0; l < LAYERS; l++) h = gr_tanh(t, gr_norm_forward(t, m->ln[l], gr_linear_forward(t, m->fc[l], h), NULL));
    gr_tensor *const target = gr_mul(t, gr_narrow(t, x, 1, 0, 1), gr_narrow(t, x, 1, 1, 1));
    return gr_mse(t, gr_linear_forward(t, m->head, h), target, GR_REDUCE_MEAN);
}

static void run(gr_tape *t, model *m)
{
    double mean = 0;
    for (int step = 1; step <= STEPS; step++) {
        gr_tape_reset(t);
        gr_tensor *const loss = loss_of(t, m);
        gr_optim_zero_grad(m->adam), gr_backward(t, loss), gr_optim_step(t, m->adam);
        mean += gr_item(loss) / 200;
        if (step % 200 == 0) printf("step %4d  loss %.3f\n", step, mean), mean = 0;
    }
}

void train(gr_tape *t)
{
    model m = build(t);
    run(t, &m);
    gr_optim_free(m.adam), gr_module_free(m.net);
}

#include "examples/broken/answers/gains.h"
