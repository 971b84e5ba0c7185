/* tests/bench/norms_bench.c - microseconds, on one thread, of the normalizations in training mode.
 *
 *     norms_bench [PART_OF_A_NAME]
 *
 * A line has the name, the shape, forward, and forward and backward: the fastest of many steps. tests/bench/compare_norms.py compares it
 * with PyTorch. */
#include "gradus.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef gr_tensor *norms_function(gr_tape *t, gr_tensor *x, gr_tensor *gamma, gr_tensor *beta);
#define CASE(name, call) \
    static gr_tensor *name##_case(gr_tape *t, gr_tensor *x, gr_tensor *gamma, gr_tensor *beta) { return (void)beta, call; }
CASE(batch, gr_batch_norm(t, x, 1, gamma, beta, NULL))
CASE(batch_last, gr_batch_norm(t, x, -1, gamma, beta, NULL))
CASE(group, gr_group_norm(t, x, 8, gamma, beta, 1e-5))
CASE(group_1, gr_group_norm(t, x, 1, gamma, beta, 1e-5))
CASE(instance, gr_instance_norm(t, x, 1, gamma, beta, 1e-5))
CASE(channel, gr_norm_axes(t, x, GR_AXES(1), GR_AXES(1), gamma, beta, 1e-5))
CASE(layer, gr_layer_norm(t, x, 1, gamma, beta, 1e-5))
CASE(rms, gr_rms_norm(t, x, 1, gamma, 1e-5))

#define ROW(name, ...) { #name, name##_case, { GR_COUNT(__VA_ARGS__), { __VA_ARGS__ } } }
static const struct { const char *name; norms_function *f; gr_shape shape; } cases[] = {
    ROW(batch, 64, 32, 28, 28), ROW(batch, 128, 16, 14, 14), ROW(batch, 128, 64, 7, 7), ROW(batch, 64, 64, 30), ROW(batch, 128, 1000),
    ROW(batch, 4, 1000), ROW(batch_last, 64, 28, 128),
    ROW(group, 64, 32, 28, 28), ROW(group, 64, 64, 7, 7), ROW(group_1, 64, 32, 28, 28), ROW(group, 256, 512),
    ROW(instance, 64, 32, 28, 28), ROW(channel, 64, 32, 28, 28), ROW(channel, 32, 96, 14, 14),
    ROW(layer, 1792, 64), ROW(layer, 1792, 128), ROW(layer, 448, 512), ROW(layer, 224, 1024), ROW(layer, 56, 4096),
    ROW(rms, 1792, 64), ROW(rms, 1792, 128), ROW(rms, 448, 512), ROW(rms, 224, 1024), ROW(rms, 56, 4096),
};

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* One value from y, whose gradient is dy. Writing dy is not part of the norm, so its time is measured separately. */
static gr_real *dy;
static double putting;
static void cotangent_backward(gr_tape *t, const gr_node *n)
{
    const double start = seconds();
    memcpy(gr_grad(t, n->in[0]), dy, n->in[0]->len * sizeof *dy);
    putting = seconds() - start;
}
static gr_tensor *cotangent(gr_tape *t, gr_tensor *y)
{
    static const gr_op op = { .name = "cotangent", .backward = cotangent_backward };
    return gr_record(t, &op, NULL, 0, GR_OUT(gr_zeros(t, GR_SCALAR)), GR_IN(y));
}

static bool measure(gr_tape *t, norms_function *f, gr_shape shape, double best[2])
{
    const bool last = f == batch_last_case || f == layer_case || f == rms_case;
    size_t len = 1, channels = shape.dim[last ? shape.rank - 1 : 1];
    for (int i = 0; i < shape.rank; i++) len *= shape.dim[i];
    gr_real *values = malloc(len * sizeof *values);
    dy = malloc(len * sizeof *dy);
    for (size_t i = 0; values && dy && i < len; i++) values[i] = (gr_real)(i * 7919 % 65536) / 32768, dy[i] = (gr_real)(i * 104729 % 65536) / 65536;
    for (int back = 0; values && dy && back < 2; back++) {
        best[back] = 1;
        const double end = seconds() + 0.15;
        for (int step = 0; step < 20 || seconds() < end; step++) {
            gr_tape_reset(t);
            gr_tensor *x = gr_want_grad(t, gr_input(t, values, shape)), *gamma = gr_want_grad(t, gr_ones(t, GR_SHAPE(channels)));
            gr_tensor *beta = gr_want_grad(t, gr_zeros(t, GR_SHAPE(channels)));
            const double start = seconds();
            gr_tensor *y = f(t, x, gamma, beta);
            putting = 0;
            if (back) gr_backward(t, cotangent(t, y));
            const double took = seconds() - start - putting;
            if (took < best[back]) best[back] = took;
        }
    }
    free(values), free(dy);
    return !gr_failed(t);
}

int main(int argc, char **argv)
{
    gr_tape *t = gr_tape_new(1, NULL);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        double best[2] = { 0, 0 };
        if (argc > 1 && !strstr(cases[k].name, argv[1])) continue;
        if (!measure(t, cases[k].f, cases[k].shape, best)) break;
        printf("%s ", cases[k].name);
        for (int i = 0; i < cases[k].shape.rank; i++) printf(i ? "x%zu" : "%zu", cases[k].shape.dim[i]);
        printf(" %.2f %.2f\n", best[0] * 1e6, best[1] * 1e6);
    }
    if (gr_failed(t)) fprintf(stderr, "%s\n", gr_message(t));
    const int code = gr_failed(t);
    gr_tape_free(t);
    return code;
}
