/* tests/bench/conv_bench.c - milliseconds of convolutions and of a CNN's training step; tests/bench/compare_conv.py compares them with
 * PyTorch's.
 *
 *     conv_bench [THREADS [PART_OF_A_NAME]]      runs each cell when a line is read from stdin, with --turns as the third argument
 *
 * A line has the name, the batch, forward, and forward and backward (or the step twice): the fastest of many. */
#include "gradus.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct { const char *name; size_t C, H, O, kernel; gr_conv_config c; } layer; /* kernel 0 means the step of the CNN */
static const layer layers[] = {
    { "first3x3", 1, 28, 16, 3, { .padding = 1 } },
    { "second3x3", 16, 14, 32, 3, { .padding = 1 } },
    { "first5x5", 1, 28, 16, 5, { .padding = 2 } },
    { "second5x5", 16, 14, 32, 5, { .padding = 2 } },
    { "wide3x3", 64, 14, 64, 3, { .padding = 1 } },
    { "stride2", 32, 14, 64, 3, { .padding = 1, .stride = 2 } },
    { "depthwise", 32, 14, 32, 3, { .padding = 1, .groups = 32 } },
    { "pointwise", 64, 14, 64, 1, { 0 } },
    { "step", 0, 0, 0, 0, { 0 } },
};
static const size_t batches[] = { 1, 4, 32, 128 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static gr_module *cnn(gr_tape *t)
{
    gr_module *root = gr_module_new(t), *net = gr_sequential_new(t, root, "net");
    for (int k = 0; k < 2; k++) {
        gr_conv2d_new(t, net, NULL, k ? 16 : 1, k ? 32 : 16, 3, &(gr_conv_config){ .padding = 1 });
        gr_activation_new(t, net, NULL, "ReLU", gr_relu);
        gr_max_pool2d_new(t, net, NULL, &(gr_pool_config){ .kernel = 2 });
    }
    gr_flatten_new(t, net, NULL);
    gr_linear_new(t, net, NULL, 32 * 7 * 7, 128, NULL);
    gr_activation_new(t, net, NULL, "ReLU", gr_relu);
    gr_linear_new(t, net, NULL, 128, 10, NULL);
    return root;
}

static void train(gr_tape *t, gr_module *root, gr_optim *adam, const gr_tensor *images, const int *labels)
{
    gr_tape_reset(t);
    gr_tensor *x = gr_input(t, images->data, gr_shape_of(images));
    gr_tensor *loss = gr_cross_entropy(t, gr_forward(t, root->child, x), gr_ints_new(t, labels, GR_SHAPE(images->dim[0])), NULL);
    gr_optim_zero_grad(adam);
    gr_backward(t, loss);
    gr_optim_step(t, adam);
}

/* x and the weight want gradients, but not an x of one channel, because that is the network's input. */
static void convolve(gr_tape *t, const layer *l, gr_tensor *x, gr_tensor *w, gr_tensor *b, gr_real **dy, bool back)
{
    gr_tape_reset(t);
    gr_tensor *in = l->C == 1 ? gr_detach(t, x) : gr_want_grad(t, gr_detach(t, x));
    gr_tensor *y = gr_conv2d(t, in, gr_want_grad(t, gr_detach(t, w)), gr_want_grad(t, gr_detach(t, b)), &l->c);
    if (!y) return;
    if (!*dy) {
        *dy = malloc(y->len * sizeof **dy);
        for (size_t i = 0; i < y->len; i++) (*dy)[i] = (gr_real)(i % 7) / 7 - (gr_real)0.4;
    }
    if (back) gr_backward_from(t, y, *dy);
}

static void measure(const layer *l, size_t N, int threads)
{
    gr_tape *t = gr_tape_new(1, (&(gr_tape_config){ .threads = threads }));
    gr_module *root = cnn(t), *data = gr_module_new(t); /* data: its tensors outlive a step */
    gr_optim *adam = gr_adam_new(t, root, NULL);
    const size_t groups = l->c.groups ? (size_t)l->c.groups : 1;
    gr_tensor *x = gr_param(t, data, "x", l->kernel ? GR_SHAPE(N, l->C, l->H, l->H) : GR_SHAPE(N, 1, 28, 28), gr_init_uniform(0, 1));
    gr_tensor *w = gr_param(t, data, "w", GR_SHAPE(l->O, l->C / groups, l->kernel, l->kernel), gr_init_uniform(-1, 1));
    gr_tensor *b = gr_param(t, data, "b", GR_SHAPE(l->O), gr_init_uniform(-1, 1));
    gr_real *dy = NULL;
    int *labels = calloc(N, sizeof *labels);
    double best[2] = { HUGE_VAL, HUGE_VAL };
    for (int back = 0; back < 2; back++) {
        const double end = now() + 150;
        for (int i = 0; i < 12 || now() < end; i++) {
            const double start = now();
            if (l->kernel) convolve(t, l, x, w, b, &dy, back);
            else train(t, root, adam, x, labels);
            best[back] = fmin(best[back], now() - start);
        }
    }
    if (gr_failed(t)) fprintf(stderr, "%s\n", gr_message(t));
    printf("%s %zu %.4f %.4f\n", l->name, N, best[0], best[1]), fflush(stdout);
    free(dy), free(labels);
    gr_optim_free(adam), gr_module_free(root), gr_module_free(data), gr_tape_free(t);
}

int main(int argc, char **argv)
{
    const int threads = argc > 1 ? atoi(argv[1]) : 1;
    const bool turns = argc > 3 && !strcmp(argv[3], "--turns");
    for (size_t k = 0; k < sizeof layers / sizeof *layers; k++)
        for (size_t n = 0; n < sizeof batches / sizeof *batches; n++) {
            if (argc > 2 && !strstr(layers[k].name, argv[2])) continue;
            if (turns && getchar() == EOF) return 0;
            measure(&layers[k], batches[n], threads);
        }
    return 0;
}
