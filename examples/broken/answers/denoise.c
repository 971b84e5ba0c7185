/* answers/denoise.c - examples/broken/denoise.c without its fault; --fixed runs it.
 * truth dies at the first gr_tape_reset. The new tensor of the same size that takes its place is the noisy input. */
#define FIXED
#include "examples/broken/frame.h"

enum { N = 32, WINDOW = 5, H = 32, STEPS = 1000 };

static double curve(size_t i) { return (double)(i % 9) / 4 - 1; } /* a saw-tooth from -1 to 1 */

typedef struct {
    gr_module *net;
    gr_linear_module *fc1, *fc2;
} model;

/* The loss against truth [N, 1]. The curve is one value per row; the noise is new in each step. */
static gr_tensor *loss_of(gr_tape *t, const model *m, gr_tensor *truth)
{
    gr_tensor *const noisy = gr_empty(t, GR_SHAPE(N, 1));
    gr_stream *const s = gr_tape_stream(t, "noise");
    for (size_t i = 0; i < N && noisy; i++) noisy->data[i] = (gr_real)(curve(i) + gr_stream_normal(s, 0, 0.5));
    const int around[] = { 0, 0, WINDOW / 2, WINDOW / 2 }; /* rows of zeros before and after */
    gr_tensor *const padded = gr_pad(t, noisy, around, 4, 0), *shifted[WINDOW];
    for (int w = 0; w < WINDOW; w++) shifted[w] = gr_narrow(t, padded, 0, w, N);
    gr_tensor *const h = gr_tanh(t, gr_linear_forward(t, m->fc1, gr_cat(t, shifted, WINDOW, 1)));
    return gr_mse(t, gr_linear_forward(t, m->fc2, h), truth, GR_REDUCE_MEAN);
}

static gr_tensor *true_values(gr_tape *t)
{
    gr_tensor *const truth = gr_empty(t, GR_SHAPE(N, 1));
    for (size_t i = 0; i < N && truth; i++) truth->data[i] = (gr_real)curve(i);
    return truth;
}

static void run(gr_tape *t)
{
    model m = { .net = gr_module_new(t) };
    m.fc1 = gr_linear_new(t, m.net, "fc1", WINDOW, H, NULL);
    m.fc2 = gr_linear_new(t, m.net, "fc2", H, 1, NULL);
    gr_optim *const adam = gr_adam_new(t, m.net, &(gr_adam_config){ .lr = 0.01 });
    for (int step = 1; step <= STEPS && !gr_failed(t); step++) {
        gr_tape_reset(t);
        gr_tensor *const truth = true_values(t), *const loss = loss_of(t, &m, truth);
        gr_optim_zero_grad(adam), gr_backward(t, loss), gr_optim_step(t, adam);
        if (step % 200 == 0 && !gr_failed(t)) printf("step %4d  loss %.4f\n", step, gr_item(loss));
    }
    double error = 0;
    for (int i = 0; i < 100 && !gr_failed(t); i++) {
        gr_tape_reset(t), gr_tape_set_recording(t, false);
        gr_tensor *const right = true_values(t);
        error += gr_item(loss_of(t, &m, right)) / 100;
    }
    if (!gr_failed(t)) printf("test, mean square error: noisy values 0.2500, network %.4f\n", error);
    gr_optim_free(adam), gr_module_free(m.net);
}

void train(gr_tape *t) { run(t); }

#include "examples/broken/answers/denoise.h"
