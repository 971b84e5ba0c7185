/* answers/online.c - examples/broken/online.c without its fault; --fixed runs it.
 * With one signal in a step, its own mean and variance are removed, and with them its size. A BatchNorm needs a batch. */
#define FIXED
#include "examples/broken/frame.h"

enum { N = 32, L = 12, C = 16, KINDS = 4, SIGNALS = 9600 }; /* signals in a step, their length, features, kinds */

typedef struct {
    gr_module *net;
    gr_linear_module *fc, *head;
    gr_norm *bn;
} model;

/* Signals [n, L, 1]. Kinds 0 and 1 are symmetric noise, kinds 2 and 3 have pulses upwards; kinds 1 and 3 are three times as large. */
static gr_tensor *signals(gr_tape *t, size_t n, const char *stream, gr_ints **kind)
{
    gr_stream *const s = gr_tape_stream(t, stream);
    gr_tensor *const x = gr_empty(t, GR_SHAPE(n, L, 1));
    *kind = gr_ints_new(t, NULL, GR_SHAPE(n));
    for (size_t i = 0; i < n && x && *kind; i++) {
        const int k = (*kind)->data[i] = (int)gr_stream_below(s, KINDS);
        for (size_t l = 0; l < L; l++) {
            const double z = gr_stream_normal(s, 0, 1);
            x->data[i * L + l] = (gr_real)((k % 2 ? 3 : 1) * (k / 2 ? z * z - 1 : z));
        }
    }
    return x;
}

static gr_tensor *forward(gr_tape *t, const model *m, gr_tensor *x)
{
    gr_tensor *const h = gr_relu(t, gr_norm_forward(t, m->bn, gr_linear_forward(t, m->fc, x), NULL));
    return gr_linear_forward(t, m->head, gr_mean(t, h, GR_AXES(1), false));
}

static void run(gr_tape *t, model *m)
{
    m->net = gr_module_new(t);
    m->fc = gr_linear_new(t, m->net, "fc", 1, C, NULL);
    m->bn = gr_batch_norm_new(t, m->net, "bn", C, &(gr_norm_config){ .axis = -1 });
    m->head = gr_linear_new(t, m->net, "head", C, KINDS, NULL);
    gr_optim *const adam = gr_adam_new(t, m->net, &(gr_adam_config){ .lr = 0.003 });
    double mean = 0;
    for (int step = 1; step <= SIGNALS / N; step++) {
        gr_ints *kind;
        gr_tape_reset(t);
        gr_tensor *const x = signals(t, N, "training", &kind), *const loss = gr_cross_entropy(t, forward(t, m, x), kind, NULL);
        gr_optim_zero_grad(adam), gr_backward(t, loss), gr_optim_step(t, adam);
        mean += gr_item(loss) * N / (SIGNALS / 6);
        if (step % (SIGNALS / 6 / N) == 0) printf("%5d signals  loss %.3f\n", step * N, mean), mean = 0;
    }
    gr_optim_free(adam);
}

void train(gr_tape *t)
{
    model m;
    run(t, &m);
    gr_tape_reset(t), gr_tape_set_training(t, false);
    gr_ints *kind;
    gr_tensor *const x = signals(t, 1000, "test", &kind);
    const gr_ints *const said = gr_argmax(t, forward(t, &m, x), 1, false);
    double wrong = 0;
    for (size_t i = 0; i < 1000 && said; i++) wrong += said->data[i] != kind->data[i];
    printf("test: %.1f %% wrong\n", wrong / 10);
    gr_module_free(m.net);
}

#include "examples/broken/answers/online.h"
