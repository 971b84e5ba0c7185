/* answers/heart.c - examples/broken/heart.c without its fault; --fixed runs it.
 * The backward has the direct term alone. x moves the mean and the variance of its row, too. */
#define FIXED
#include "examples/broken/frame.h"
#include <math.h>

enum { N = 64, I = 8, H = 4, LAYERS = 2, STEPS = 2000 };

/* y = (x - mean) / sqrt(var + 1e-5) for each row of x [.., H] */
typedef struct {
    gr_real *xhat, *rstd;
} norm_saved;

static void norm_backward(gr_tape *t, const gr_node *n)
{
    const norm_saved *const s = n->saved;
    const gr_real *const dy = gr_grad(t, n->out[0]);
    gr_real *const dx = gr_grad(t, n->in[0]);
    for (size_t row = 0; dx && row < n->in[0]->len / H; row++) {
        double mean = 0, with_xhat = 0;
        for (size_t i = row * H; i < (row + 1) * H; i++) mean += (double)dy[i] / H, with_xhat += (double)dy[i] * (double)s->xhat[i] / H;
        for (size_t i = row * H; i < (row + 1) * H; i++)
            dx[i] += (gr_real)((double)s->rstd[row] * ((double)dy[i] - mean - (double)s->xhat[i] * with_xhat));
    }
}

static const gr_op norm_op = { .name = "norm", .backward = norm_backward };

static gr_tensor *norm(gr_tape *t, gr_tensor *x)
{
    if (!gr_ready(t, &norm_op, x)) return NULL;
    norm_saved s = { gr_save_reals(t, x->len), gr_save_reals(t, x->len / H) };
    gr_tensor *const y = gr_empty_like(t, x);
    if (!s.xhat || !s.rstd || !y) return NULL;
    for (size_t row = 0; row < x->len / H; row++) {
        const gr_real *const from = x->data + row * H;
        double mean = 0, var = 0;
        for (size_t i = 0; i < H; i++) mean += (double)from[i] / H;
        for (size_t i = 0; i < H; i++) var += ((double)from[i] - mean) * ((double)from[i] - mean) / H;
        s.rstd[row] = (gr_real)(1 / sqrt(var + 1e-5));
        for (size_t i = 0; i < H; i++) s.xhat[row * H + i] = y->data[row * H + i] = (gr_real)(((double)from[i] - mean) / sqrt(var + 1e-5));
    }
    return gr_record(t, &norm_op, &s, sizeof s, GR_OUT(y), GR_IN(x));
}

typedef struct {
    gr_module *net;
    gr_linear_module *fc[LAYERS], *head;
} model;

static gr_tensor *loss_of(gr_tape *t, const model *m)
{
    gr_stream s = gr_stream_new(gr_tape_seed(t), "samples"); /* the same samples in each step */
    gr_tensor *const x = gr_empty(t, GR_SHAPE(N, I)), *h = x;
    for (size_t i = 0; i < N * I && x; i++) x->data[i] = (gr_real)gr_stream_normal(&s, 0, 1);
    for (int l = 0; l < LAYERS; l++) h = gr_tanh(t, norm(t, gr_linear_forward(t, m->fc[l], h)));
    gr_tensor *const a = gr_narrow(t, x, 1, 0, 4), *const b = gr_narrow(t, x, 1, 4, 4); /* the target is tanh(a b) */
    return gr_mse(t, gr_linear_forward(t, m->head, h), gr_tanh(t, gr_sum(t, gr_mul(t, a, b), GR_AXES(1), true)), GR_REDUCE_MEAN);
}

void train(gr_tape *t)
{
    static const char *const name[LAYERS] = { "fc1", "fc2" };
    model m = { .net = gr_module_new(t) };
    for (int l = 0; l < LAYERS; l++) m.fc[l] = gr_linear_new(t, m.net, name[l], l ? H : I, H, NULL);
    m.head = gr_linear_new(t, m.net, "head", H, 1, NULL);
    gr_optim *const adam = gr_adam_new(t, m.net, &(gr_adam_config){ .lr = 0.01 });
    for (int step = 1; step <= STEPS; step++) {
        gr_tape_reset(t);
        gr_tensor *const loss = loss_of(t, &m);
        gr_optim_zero_grad(adam), gr_backward(t, loss), gr_optim_step(t, adam);
        if (step % 400 == 0) printf("step %4d  loss %.3f\n", step, gr_item(loss));
    }
    gr_optim_free(adam), gr_module_free(m.net);
}

#include "examples/broken/answers/heart.h"
