/* answers/blobs.c - examples/broken/blobs.c without its fault; --fixed runs it.
 * Logits need no norm. After one, each row has mean 0 and variance 1, so the softmax can never be sure. */
#define FIXED
#include "examples/broken/frame.h"

enum { N = 64, I = 2, H = 16, C = 3, LAYERS = 3, STEPS = 600 };

typedef struct {
    gr_module *net;
    gr_linear_module *fc[LAYERS];
    gr_norm *ln[LAYERS];
    gr_tensor *before, *after; /* of the last layer: what its norm takes and returns */
} model;

static model build(gr_tape *t)
{
    static const char *const fc[LAYERS] = { "fc1", "fc2", "fc3" }, *const ln[LAYERS] = { "ln1", "ln2", "ln3" };
    model m = { .net = gr_module_new(t) };
    for (int l = 0; l < LAYERS; l++) {
        const size_t size = l < LAYERS - 1 ? H : C;
        m.fc[l] = gr_linear_new(t, m.net, fc[l], l ? H : I, size, NULL);
        m.ln[l] = gr_layer_norm_new(t, m.net, ln[l], GR_SHAPE(size), &(gr_norm_config){ .no_affine = true });
    }
    return m;
}

static gr_tensor *forward(gr_tape *t, model *m, gr_tensor *x)
{
    for (int l = 0; l < LAYERS; l++) {
        m->before = gr_linear_forward(t, m->fc[l], x);
        x = m->after = l < LAYERS - 1 ? gr_norm_forward(t, m->ln[l], m->before, NULL) : m->before;
        if (l < LAYERS - 1) x = gr_relu(t, x);
    }
    return x;
}

static gr_tensor *batch(gr_tape *t, gr_ints **cloud)
{
    static const double center[C][I] = { { 0, 3 }, { 3, -2 }, { -3, -2 } };
    gr_tensor *const x = gr_randn(t, GR_SHAPE(N, I), 0, 0.5, "points");
    *cloud = gr_ints_new(t, NULL, GR_SHAPE(N));
    for (size_t n = 0; n < N && x && *cloud; n++) {
        const int c = (*cloud)->data[n] = (int)gr_stream_below(gr_tape_stream(t, "clouds"), C);
        for (size_t i = 0; i < I; i++) x->data[n * I + i] += (gr_real)center[c][i];
    }
    return x;
}

static void run(gr_tape *t, model *m)
{
    gr_optim *const adam = gr_adam_new(t, m->net, &(gr_adam_config){ .lr = 0.01 });
    for (int step = 1; step <= STEPS; step++) {
        gr_ints *cloud;
        gr_tape_reset(t);
        gr_tensor *const x = batch(t, &cloud), *const logits = forward(t, m, x), *const loss = gr_cross_entropy(t, logits, cloud, NULL);
        gr_optim_zero_grad(adam), gr_backward(t, loss), gr_optim_step(t, adam);
        const gr_ints *const said = gr_argmax(t, logits, 1, false);
        size_t wrong = 0;
        for (size_t n = 0; n < N && said; n++) wrong += said->data[n] != cloud->data[n];
        if (step % 100 == 0) printf("step %4d  loss %.4f, %zu of %d wrong\n", step, gr_item(loss), wrong, N);
    }
    gr_optim_free(adam);
}

void train(gr_tape *t)
{
    model m = build(t);
    run(t, &m);
    gr_tape_reset(t), gr_module_free(m.net);
}

#include "examples/broken/answers/blobs.h"
