/* answers/exam.c - examples/broken/exam.c without its fault; --fixed runs it.
 * The test runs in training mode: BatchNorm takes the statistics of the test batch and keeps them, and dropout drops. */
#define FIXED
#include "examples/broken/frame.h"

enum { N = 50, I = 8, H = 64, C = 10, STEPS = 600 };

typedef struct {
    gr_module *net;
    gr_linear_module *fc1, *fc2;
    gr_norm *bn;
    gr_dropout_module *drop;
} model;

static gr_tensor *forward(gr_tape *t, const model *m, gr_tensor *x)
{
    gr_tensor *const h = gr_relu(t, gr_norm_forward(t, m->bn, gr_linear_forward(t, m->fc1, x), NULL));
    return gr_linear_forward(t, m->fc2, gr_dropout_forward(t, m->drop, h));
}

/* N points, drawn from s: all of one kind, or of random kinds if kind is -1. */
static gr_tensor *points(gr_tape *t, int kind, gr_stream *s, gr_ints **kinds)
{
    gr_stream center = gr_stream_new(7, "centers");
    gr_tensor *const x = gr_empty(t, GR_SHAPE(N, I));
    *kinds = gr_ints_new(t, NULL, GR_SHAPE(N));
    for (size_t n = 0; n < N && x && *kinds; n++) {
        const int k = (*kinds)->data[n] = kind < 0 ? (int)gr_stream_below(s, C) : kind;
        center.counter = (uint64_t)k * 4 * I;
        for (size_t i = 0; i < I; i++) x->data[n * I + i] = (gr_real)(gr_stream_normal(&center, 0, 1) + gr_stream_normal(s, 0, 0.5));
    }
    return x;
}

/* Errors in percent over N test points of each kind. */
static double test(gr_tape *t, const model *m)
{
    gr_stream s = gr_stream_new(gr_tape_seed(t), "test"); /* the same points in each test */
    double wrong = 0;
    gr_tape_set_training(t, false), gr_tape_set_recording(t, false);
    for (int kind = 0; kind < C; kind++) {
        gr_ints *kinds;
        gr_tape_reset(t);
        const gr_ints *const said = gr_argmax(t, forward(t, m, points(t, kind, &s, &kinds)), 1, false);
        for (size_t n = 0; n < N && said; n++) wrong += said->data[n] != kind;
    }
    gr_tape_set_training(t, true), gr_tape_set_recording(t, true);
    return 100 * wrong / (N * C);
}

static void run(gr_tape *t, model *m)
{
    m->net = gr_module_new(t);
    m->fc1 = gr_linear_new(t, m->net, "fc1", I, H, NULL);
    m->bn = gr_batch_norm_new(t, m->net, "bn", H, NULL);
    m->drop = gr_dropout_new(t, m->net, "drop", 0.3);
    m->fc2 = gr_linear_new(t, m->net, "fc2", H, C, NULL);
    gr_optim *const adam = gr_adam_new(t, m->net, &(gr_adam_config){ .lr = 0.003 });
    for (int step = 1; step <= STEPS; step++) {
        gr_ints *kinds;
        gr_tape_reset(t);
        gr_tensor *const x = points(t, -1, gr_tape_stream(t, "training"), &kinds), *const loss =
                                                                                       gr_cross_entropy(t, forward(t, m, x), kinds, NULL);
        gr_optim_zero_grad(adam), gr_backward(t, loss), gr_optim_step(t, adam);
        if (step % 200 == 0) printf("step %4d  loss %.3f\n", step, gr_item(loss)), printf("    test: %.1f %% wrong\n", test(t, m));
    }
    gr_optim_free(adam);
}

void train(gr_tape *t)
{
    model m;
    run(t, &m);
    gr_tape_reset(t), gr_module_free(m.net);
}

#include "examples/broken/answers/exam.h"
