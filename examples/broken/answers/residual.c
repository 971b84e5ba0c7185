/* answers/residual.c - examples/broken/residual.c without its fault; --fixed runs it.
 * A backward adds: h has two uses, and the other one has already put its part there. */
#define FIXED
#include "examples/broken/frame.h"
#include <math.h>

enum { N = 64, I = 4, H = 16, BLOCKS = 8, STEPS = 600 };

/* y = x / (1 + |x|),  dy/dx = 1 / (1 + |x|)^2 */
static void softsign_backward(gr_tape *t, const gr_node *n)
{
    const gr_real *const dy = gr_grad(t, n->out[0]), *const x = n->in[0]->data;
    gr_real *const dx = gr_grad(t, n->in[0]);
    for (size_t i = 0; dx && i < n->in[0]->len; i++) {
        const gr_real d = 1 + (x[i] < 0 ? -x[i] : x[i]);
        dx[i] += dy[i] / (d * d);
    }
}

static const gr_op softsign_op = { .name = "softsign", .backward = softsign_backward };

static gr_tensor *softsign(gr_tape *t, gr_tensor *x)
{
    if (!gr_ready(t, &softsign_op, x)) return NULL;
    gr_tensor *const y = gr_empty_like(t, x);
    if (!y) return NULL;
    for (size_t i = 0; i < x->len; i++) y->data[i] = x->data[i] / (1 + (x->data[i] < 0 ? -x->data[i] : x->data[i]));
    return gr_record(t, &softsign_op, NULL, 0, GR_OUT(y), GR_IN(x));
}

typedef struct {
    gr_module *net;
    gr_linear_module *in, *block[BLOCKS], *head;
} model;

static gr_tensor *loss_of(gr_tape *t, const model *m)
{
    gr_tensor *const x = gr_randn(t, GR_SHAPE(N, I), 0, 1, "x"), *h = gr_linear_forward(t, m->in, x);
    for (int b = 0; b < BLOCKS; b++) h = gr_add(t, h, gr_linear_forward(t, m->block[b], softsign(t, h)));
    gr_tensor *const target = gr_tanh(t, gr_mul(t, gr_narrow(t, x, 1, 0, 1), gr_narrow(t, x, 1, 1, 1)));
    return gr_mse(t, gr_linear_forward(t, m->head, h), target, GR_REDUCE_MEAN);
}

void train(gr_tape *t)
{
    model m = { .net = gr_module_new(t) };
    m.in = gr_linear_new(t, m.net, "in", I, H, NULL);
    gr_module *const blocks = gr_sequential_new(t, m.net, "blocks"); /* only to give them the names 0 to 7 */
    for (int b = 0; b < BLOCKS; b++) m.block[b] = gr_linear_new(t, blocks, NULL, H, H, NULL);
    m.head = gr_linear_new(t, m.net, "head", H, 1, NULL);
    gr_optim *const adam = gr_adam_new(t, m.net, &(gr_adam_config){ .lr = 0.01 });
    double mean = 0;
    for (int step = 1; step <= STEPS; step++) {
        gr_tape_reset(t);
        gr_tensor *const loss = loss_of(t, &m);
        gr_optim_zero_grad(adam), gr_backward(t, loss), gr_optim_step(t, adam);
        mean += gr_item(loss) / 100;
        if (step % 100 == 0) printf("step %4d  loss %.3f\n", step, mean), mean = 0;
    }
    gr_optim_free(adam), gr_module_free(m.net);
}

#include "examples/broken/answers/residual.h"
