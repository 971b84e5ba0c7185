/* answers/lookup.c - examples/broken/lookup.c without its fault; --fixed runs it.
 * The product of q and k is a sum over D numbers, so its size grows with sqrt(D), which is 16. Large numbers make the softmax sure of one place. */
#define FIXED
#include "examples/broken/frame.h"

enum { N = 16, T = 6, V = 12, D = 256, STEPS = 300 }; /* sequences, places, values, size of the vectors */

typedef struct {
    gr_module *net;
    gr_embedding_module *keys, *values;
    gr_linear_module *q, *k, *v, *head;
    gr_tensor *p; /* of this step: the weights of attention, [N, 1, T] */
} model;

static gr_tensor *attention(gr_tape *t, gr_tensor *q, gr_tensor *k, gr_tensor *v, gr_tensor **p)
{
    *p = gr_softmax(t, gr_scale(t, gr_matmul_t(t, q, false, k, true), 1.0 / 16), -1);
    return gr_matmul(t, *p, v);
}

/* The keys of a sequence are different numbers; it asks for that of a random place. */
static gr_tensor *loss_of(gr_tape *t, model *m)
{
    gr_stream *const s = gr_tape_stream(t, "sequences");
    gr_ints *const key = gr_ints_new(t, NULL, GR_SHAPE(N, T)), *const value = gr_ints_new(t, NULL, GR_SHAPE(N, T));
    gr_ints *const asked = gr_ints_new(t, NULL, GR_SHAPE(N, 1)), *const answer = gr_ints_new(t, NULL, GR_SHAPE(N));
    for (size_t n = 0; n < N && key && value && asked && answer; n++) {
        size_t order[V];
        gr_stream_permutation(s, order, V);
        for (size_t i = 0; i < T; i++) key->data[n * T + i] = (int)order[i], value->data[n * T + i] = (int)gr_stream_below(s, V);
        const size_t place = gr_stream_below(s, T);
        asked->data[n] = key->data[n * T + place], answer->data[n] = value->data[n * T + place];
    }
    gr_tensor *const pairs = gr_add(t, gr_embedding_forward(t, m->keys, key), gr_embedding_forward(t, m->values, value));
    gr_tensor *const q = gr_linear_forward(t, m->q, gr_embedding_forward(t, m->keys, asked)), *const k = gr_linear_forward(t, m->k, pairs);
    gr_tensor *const v = gr_linear_forward(t, m->v, pairs), *const found = attention(t, q, k, v, &m->p);
    return gr_cross_entropy(t, gr_flatten(t, gr_linear_forward(t, m->head, gr_select(t, found, 1, 0)), 1), answer, NULL);
}

static model build(gr_tape *t)
{
    model m = { .net = gr_module_new(t) };
    m.keys = gr_embedding_new(t, m.net, "keys", V, D, NULL);
    m.values = gr_embedding_new(t, m.net, "values", V, D, NULL);
    m.q = gr_linear_new(t, m.net, "q", D, D, NULL), m.k = gr_linear_new(t, m.net, "k", D, D, NULL),
    m.v = gr_linear_new(t, m.net, "v", D, D, NULL);
    m.head = gr_linear_new(t, m.net, "head", D, V, NULL);
    return m;
}

void train(gr_tape *t)
{
    model m = build(t);
    gr_optim *const adam = gr_adam_new(t, m.net, &(gr_adam_config){ .lr = 0.002 });
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

#include "examples/broken/answers/lookup.h"
