/* examples/broken/gains.c - a network of residual blocks with norms learns a function, with weight decay against overfitting. */
#include "examples/broken/frame.h"

enum { N = 64, I = 8, H = 32, BLOCKS = 3, STEPS = 1000 };

typedef struct {
    gr_module *net;
    gr_linear_module *in, *fc[BLOCKS], *head;
    gr_norm *ln[BLOCKS], *last;
    gr_optim *adam;
} model;

static model build(gr_tape *t)
{
    static const char *const fc[BLOCKS] = { "fc1", "fc2", "fc3" }, *const ln[BLOCKS] = { "ln1", "ln2", "ln3" };
    model m = { .net = gr_module_new(t) };
    m.in = gr_linear_new(t, m.net, "in", I, H, NULL);
    for (int b = 0; b < BLOCKS; b++) {
        m.ln[b] = gr_layer_norm_new(t, m.net, ln[b], GR_SHAPE(H), NULL);
        m.fc[b] = gr_linear_new(t, m.net, fc[b], H, H, NULL);
    }
    m.last = gr_layer_norm_new(t, m.net, "last", GR_SHAPE(H), NULL);
    m.head = gr_linear_new(t, m.net, "head", H, 1, NULL);
    m.adam = gr_adamw_new(t, m.net, &(gr_adam_config){ .lr = LR, .weight_decay = WD, .decay_all = true });
    return m;
}

static gr_tensor *loss_of(gr_tape *t, const model *m)
{
    gr_tensor *const x = gr_randn(t, GR_SHAPE(N, I), 0, 1, "x"), *h = gr_linear_forward(t, m->in, x);
    for (int b = 0; b < BLOCKS; b++) h = gr_tanh(t, gr_norm_forward(t, m->ln[b], gr_linear_forward(t, m->fc[b], h), NULL));
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

#include "examples/broken/answers/gains.h" /* find, which --find runs: read it afterwards */
