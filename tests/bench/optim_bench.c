/* tests/bench/optim_bench.c - a step over a million parameters: milliseconds of the fastest step, in one tensor and in 50, and how much longer
 * it takes when all parameters have been dead (gradient 0) for 2,000 steps.
 *
 *     optim_bench [THREADS] */
#include "gradus.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PARAMETERS = 1000000, STEPS = 200, DEAD = 2000 };

typedef gr_optim *maker(gr_tape *t, gr_module *m);
static gr_optim *sgd(gr_tape *t, gr_module *m) { return gr_sgd_new(t, m, NULL); }
static gr_optim *momentum(gr_tape *t, gr_module *m) { return gr_sgd_new(t, m, &(gr_sgd_config){ .momentum = 0.9 }); }
static gr_optim *adam(gr_tape *t, gr_module *m) { return gr_adam_new(t, m, NULL); }
static gr_optim *adamw(gr_tape *t, gr_module *m) { return gr_adamw_new(t, m, NULL); }
static gr_optim *rmsprop(gr_tape *t, gr_module *m) { return gr_rmsprop_new(t, m, NULL); }
static gr_optim *centered(gr_tape *t, gr_module *m) { return gr_rmsprop_new(t, m, &(gr_rmsprop_config){ .momentum = 0.9, .centered = true }); }
static gr_optim *adagrad(gr_tape *t, gr_module *m) { return gr_adagrad_new(t, m, NULL); }

typedef bool action(gr_tape *t, gr_optim *o);
static bool clip(gr_tape *t, gr_optim *o) { return gr_clip_grad_norm(t, o, 1e-3) > 0; }

static double fastest(gr_tape *t, gr_optim *o, action *f, int steps)
{
    double best = HUGE_VAL;
    for (int i = 0; i < steps; i++) {
        struct timespec a, b;
        clock_gettime(CLOCK_MONOTONIC, &a);
        f(t, o);
        clock_gettime(CLOCK_MONOTONIC, &b);
        if (i >= steps - STEPS) best = fmin(best, 1e3 * (double)(b.tv_sec - a.tv_sec) + 1e-6 * (double)(b.tv_nsec - a.tv_nsec));
    }
    return best;
}

/* The time of a step in milliseconds, with the parameters in this number of tensors; in *dead that with every gradient 0, unless dead is
 * NULL. */
static double measure(const char *name, maker *make, action *f, int threads, size_t tensors, double *dead)
{
    gr_tape *t = gr_tape_new(1, (&(gr_tape_config){ .threads = threads }));
    gr_module *net = gr_module_new(t);
    gr_tensor *loss = gr_scalar(t, 0);
    for (size_t i = 0; i < tensors; i++) {
        char path[24];
        snprintf(path, sizeof path, "w%zu", i);
        gr_tensor *w = gr_param(t, net, path, GR_SHAPE(PARAMETERS / tensors), gr_init_uniform(-1, 1));
        loss = gr_add(t, loss, gr_mean(t, gr_square(t, w), GR_ALL_AXES, false));
    }
    gr_optim *o = make(t, net);
    gr_backward(t, loss);
    const double alive = fastest(t, o, f, STEPS);
    for (gr_slot *s = gr_slot_first(net); dead && s; s = gr_slot_next(net, s)) memset(gr_grad(t, s->tensor), 0, s->tensor->len * sizeof(gr_real));
    if (dead) *dead = fastest(t, o, f, DEAD + STEPS) / alive;
    if (gr_failed(t)) fprintf(stderr, "%s: %s\n", name, gr_message(t));
    gr_optim_free(o);
    gr_module_free(net);
    gr_tape_free(t);
    return alive;
}

int main(int argc, char **argv)
{
    static const struct { const char *name; maker *make; action *f; } c[] = {
        { "sgd", sgd, gr_optim_step }, { "momentum", momentum, gr_optim_step }, { "adam", adam, gr_optim_step }, { "adamw", adamw, gr_optim_step },
        { "rmsprop", rmsprop, gr_optim_step }, { "centered", centered, gr_optim_step }, { "adagrad", adagrad, gr_optim_step },
        { "clip", sgd, clip },
    };
    const int threads = argc > 1 ? atoi(argv[1]) : 1;
    printf("%-10s %10s %10s %12s\n", "", "1 tensor", "50", "dead/alive");
    for (size_t k = 0; k < sizeof c / sizeof *c; k++) {
        double dead = NAN;
        const double many = measure(c[k].name, c[k].make, c[k].f, threads, 50, NULL);
        const double one = measure(c[k].name, c[k].make, c[k].f, threads, 1, c[k].f == clip ? NULL : &dead);
        printf("%-10s %7.3f ms %7.3f ms", c[k].name, one, many);
        if (c[k].f != clip) printf(" %12.2f", dead);
        putchar('\n');
    }
    return 0;
}
