/* answers/floor.c - examples/broken/floor.c without its fault; --fixed runs it.
 * Both draws use the stream (seed, "normal") from its beginning, so the noise is x / 2. Each use of random numbers needs a stream of its own. */
#define FIXED
#include "examples/broken/frame.h"

enum { N = 2048, H = 32, STEPS = 1500 };

typedef struct {
    gr_module *net;
    gr_linear_module *fc1, *fc2;
} model;

static void draw(uint64_t seed, const char *name, double std, gr_real *to)
{
    gr_stream s = gr_stream_new(seed, name);
    for (size_t i = 0; i < N; i++) to[i] = (gr_real)gr_stream_normal(&s, 0, std);
}

static void measure(uint64_t seed, gr_real *x, gr_real *y)
{
    static gr_real noise[N];
    draw(seed, "x", 1, x);
    draw(seed, "noise", 0.5, noise);
    for (size_t i = 0; i < N; i++) y[i] = x[i] * x[i] / 2 + noise[i];
}

static gr_tensor *loss_of(gr_tape *t, const model *m, const gr_real *x, const gr_real *y)
{
    gr_tensor *const h = gr_tanh(t, gr_linear_forward(t, m->fc1, gr_input(t, x, GR_SHAPE(N, 1))));
    return gr_mse(t, gr_linear_forward(t, m->fc2, h), gr_input(t, y, GR_SHAPE(N, 1)), GR_REDUCE_MEAN);
}

void train(gr_tape *t)
{
    static gr_real x[N], y[N], test_x[N], test_y[N];
    model m = { .net = gr_module_new(t) };
    m.fc1 = gr_linear_new(t, m.net, "fc1", 1, H, NULL);
    m.fc2 = gr_linear_new(t, m.net, "fc2", H, 1, NULL);
    gr_optim *const adam = gr_adam_new(t, m.net, &(gr_adam_config){ .lr = 0.01 });
    measure(gr_tape_seed(t), x, y);
    measure(gr_tape_seed(t) + 1, test_x, test_y);
    for (int step = 1; step <= STEPS; step++) {
        gr_tape_reset(t);
        gr_tensor *const loss = loss_of(t, &m, x, y);
        gr_optim_zero_grad(adam), gr_backward(t, loss), gr_optim_step(t, adam);
        if (step % 300 == 0) printf("step %4d  training %.4f  test %.4f\n", step, gr_item(loss), gr_item(loss_of(t, &m, test_x, test_y)));
    }
    gr_optim_free(adam), gr_module_free(m.net);
}

#include "examples/broken/answers/floor.h"
