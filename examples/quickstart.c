/* examples/quickstart.c - a network of two layers learns the exclusive or.
 *
 * Shows: a tape, modules, one tape reset per step, backward, Adam, one check for errors at the end.
 * Run:   examples/quickstart            (at once; the last loss is below 1e-4)
 *        examples/quickstart --check    (exit 1 unless it is)
 */
#include "gradus.h"
#include <string.h> /* for --check */

int main(int argc, char **argv)
{
    const bool check = argc > 1 && strcmp(argv[1], "--check") == 0;
    if (argc > 1 + check) return fprintf(stderr, "quickstart: \"%s\" is not --check, the only flag\n", argv[1 + check]), 2;
    const gr_real xs[] = { 0, 0, 0, 1, 1, 0, 1, 1 }, ys[] = { 0, 1, 1, 0 };
    gr_tape *t = gr_tape_new(42, NULL);                        /* the context: seed, memory, first error */
    gr_module *net = gr_module_new(t);                         /* owns what is made under it */
    gr_linear_module *fc1 = gr_linear_new(t, net, "fc1", 2, 16, NULL);
    gr_linear_module *fc2 = gr_linear_new(t, net, "fc2", 16, 1, NULL);
    gr_optim *adam = gr_adam_new(t, net, &(gr_adam_config){ .lr = 0.01 });
    double last = 0;                                           /* for --check */
    for (int step = 0; step <= 1000; step++) {
        gr_tape_reset(t);                                      /* the last step's tensors die */
        gr_tensor *x = gr_input(t, xs, GR_SHAPE(4, 2));
        gr_tensor *y = gr_input(t, ys, GR_SHAPE(4, 1));
        gr_tensor *h = gr_tanh(t, gr_linear_forward(t, fc1, x));
        gr_tensor *loss = gr_mse(t, gr_linear_forward(t, fc2, h), y, GR_REDUCE_MEAN);
        gr_optim_zero_grad(adam);
        gr_backward(t, loss);
        gr_optim_step(t, adam);                                /* does nothing on a tape in error */
        if (step % 100 == 0) printf("step %4d  loss %.6f\n", step, gr_item(loss));
        last = gr_item(loss);                                  /* for --check */
    }
    const bool failed = gr_failed(t);                          /* the first error since gr_tape_new, if there was one */
    if (failed) fprintf(stderr, "%s\n", gr_message(t));
    gr_optim_free(adam), gr_module_free(net), gr_tape_free(t);
    if (fflush(stdout) != 0 || ferror(stdout)) return perror("stdout"), 1; /* a full disk fails --check too */
    if (check) return failed || !(last < 1e-4);                /* for --check */
    return failed;
}
