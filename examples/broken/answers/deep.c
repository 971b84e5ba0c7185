/* answers/deep.c - examples/broken/deep.c without its fault; --fixed runs it.
 * Post-norm needs a warm-up: otherwise the first steps of Adam, which have its full learning rate, ruin the layers. */
#define FIXED
#include "examples/broken/frame.h"

enum { N = 16, T = 8, WORDS = 8, D = 32, LAYERS = 8, STEPS = 200 };

typedef struct {
    gr_module *net;
    gr_embedding_module *words;
    gr_transformer *body;
    gr_linear_module *head;
    gr_optim *adam;
} model;

static model build(gr_tape *t)
{
    model m = { .net = gr_module_new(t) };
    m.words = gr_embedding_new(t, m.net, "words", WORDS, D, NULL);
    m.body = gr_transformer_new(t, m.net, "body", D, 4, LAYERS, &(gr_transformer_config){ .feedforward = 2 * D, .causal = true });
    m.head = gr_linear_new(t, m.net, "head", D, 1, NULL);
    m.adam = gr_adam_new(t, m.net, &(gr_adam_config){ .lr = 0.006 });
    gr_optim_schedule(t, m.adam, gr_schedule_warmup(100, gr_schedule_constant()));
    return m;
}

static gr_tensor *loss_of(gr_tape *t, const model *m)
{
    gr_stream *const s = gr_tape_stream(t, "texts");
    gr_ints *const text = gr_ints_new(t, NULL, GR_SHAPE(N, T));
    gr_tensor *const before = gr_zeros(t, GR_SHAPE(N, T, 1));
    for (size_t n = 0; n < N && text && before; n++)
        for (size_t i = 0; i < T; i++) {
            text->data[n * T + i] = (int)gr_stream_below(s, WORDS);
            for (size_t j = 0; j < i; j++)
                if (text->data[n * T + j] == text->data[n * T + i]) before->data[n * T + i] = 1;
        }
    gr_tensor *const x = gr_add_positions(t, gr_embedding_forward(t, m->words, text));
    return gr_bce_with_logits(t, gr_linear_forward(t, m->head, gr_transformer_forward(t, m->body, x, NULL)), before, NULL, GR_REDUCE_MEAN);
}

static void run(gr_tape *t, model *m, int steps)
{
    double mean = 0;
    for (int step = 1; step <= steps; step++) {
        gr_tape_reset(t);
        gr_tensor *const loss = loss_of(t, m);
        gr_optim_zero_grad(m->adam), gr_backward(t, loss), gr_optim_step(t, m->adam);
        mean += gr_item(loss) / 50;
        if (step % 50 == 0) printf("step %4d  loss %.3f\n", step, mean), mean = 0;
    }
}

void train(gr_tape *t)
{
    model m = build(t);
    run(t, &m, STEPS);
    gr_optim_free(m.adam), gr_module_free(m.net);
}

#include "examples/broken/answers/deep.h"
