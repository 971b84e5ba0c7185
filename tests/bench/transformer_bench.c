/* tests/bench/transformer_bench.c - milliseconds of a training step of a causal character model: 2 pre-norm layers of 128, 4 heads, GELU,
 * 65 characters, without the optimizer's step and with Adam's.
 *
 *     transformer_bench [BATCH [T [THREADS [SECONDS [DROPOUT]]]]]
 *
 * Prints the times of forward, of forward and backward, and of a whole step: the fastest of those within SECONDS.
 * tests/bench/compare_transformer.py compares it with PyTorch. */
#include "gradus.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { SIZE = 128, HEADS = 4, LAYERS = 2, V = 65 };

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
    const size_t B = argc > 1 ? (size_t)atoi(argv[1]) : 32, T = argc > 2 ? (size_t)atoi(argv[2]) : 64;
    const double limit = argc > 4 ? atof(argv[4]) : 3, drop = argc > 5 ? atof(argv[5]) : 0;
    gr_tape *t = gr_tape_new(1, (&(gr_tape_config){ .threads = argc > 3 ? atoi(argv[3]) : 1 }));
    gr_module *net = gr_module_new(t);
    gr_embedding_module *token = gr_embedding_new(t, net, "token", V, SIZE, NULL);
    gr_positions *position = gr_positions_new(t, net, "position", T, SIZE);
    gr_transformer *body = gr_transformer_new(t, net, "body", SIZE, HEADS, LAYERS, &(gr_transformer_config){ .norm_first = true,
                                              .causal = true, .activation = gr_gelu, .final_norm = true, .dropout = drop });
    gr_linear_module *head = gr_linear_new(t, net, "head", SIZE, V, NULL);
    gr_optim *adam = gr_adam_new(t, net, &(gr_adam_config){ .lr = 1e-3 });
    gr_ints *all = gr_ints_new(t, NULL, GR_SHAPE(B, T + 1));
    int *ids = malloc(2 * B * T * sizeof *ids);
    double best[3] = { 1e9, 1e9, 1e9 };
    if (!all || !ids) return 1;
    for (size_t i = 0; i < 2 * B * T; i++) ids[i] = (int)(i * 7919 % V);
    for (const double start = seconds(); seconds() - start < limit && !gr_failed(t);) {
        gr_tape_reset(t);
        const double begin = seconds();
        gr_tensor *x = gr_positions_forward(t, position, gr_embedding_forward(t, token, gr_ints_new(t, ids, GR_SHAPE(B, T))));
        gr_tensor *z = gr_linear_forward(t, head, gr_transformer_forward(t, body, x, NULL));
        gr_tensor *loss = gr_cross_entropy(t, gr_reshape(t, z, GR_SHAPE(B * T, V)), gr_ints_new(t, ids + B * T, GR_SHAPE(B * T)), NULL);
        const double forward = seconds();
        gr_optim_zero_grad(adam);
        gr_backward(t, loss);
        const double back = seconds();
        gr_optim_step(t, adam);
        const double took[3] = { forward - begin, back - begin, seconds() - begin };
        for (int i = 0; i < 3; i++) best[i] = took[i] < best[i] ? took[i] : best[i];
    }
    if (gr_failed(t)) fprintf(stderr, "%s\n", gr_message(t));
    else printf("%.3f %.3f %.3f\n", best[0] * 1e3, best[1] * 1e3, best[2] * 1e3);
    const int code = gr_failed(t);
    free(ids), gr_optim_free(adam), gr_module_free(net), gr_tape_free(t);
    return code;
}
