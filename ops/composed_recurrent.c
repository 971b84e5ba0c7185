/* ops/composed_recurrent.c - LSTM, GRU and plain RNN from plain operators, a few nodes for each step. */
#include "core/op.h"
#include "ops/composed.h"

/* LN of a [B, 4H] or [B, H], if norm has the bit; in groups of N values. */
static gr_tensor *twin_norm(gr_tape *t, gr_tensor *a, const gr_recurrent_weights *w, unsigned bit, gr_lstm_ln ln, size_t N, double eps)
{
    if (!a || !(w->norm & bit)) return a;
    gr_tensor *groups = gr_reshape(t, a, GR_SHAPE(a->dim[0], a->dim[1] / N, N));
    gr_tensor *xhat = gr_reshape(t, gr_layer_norm(t, groups, 1, NULL, NULL, eps), gr_shape_of(a));
    return gr_add(t, gr_mul(t, xhat, ln.weight), ln.bias);
}

/* [B, 1]: 1 where time is before the sequence's end, else 0 */
static gr_tensor *twin_real(gr_tape *t, const gr_ints *lengths, size_t time)
{
    gr_tensor *m = gr_zeros(t, GR_SHAPE(lengths->len, 1));
    for (size_t b = 0; m && b < lengths->len; b++) m->data[b] = (size_t)lengths->data[b] > time;
    return m;
}

/* BN of a [B, N] over the rows whose mark is 1; in evaluation, by the buffers. */
static gr_tensor *twin_bn(gr_tape *t, gr_tensor *a, gr_lstm_bn bn, gr_tensor *real, size_t time, double eps)
{
    gr_tensor *mean, *var;
    if (gr_tape_training(t)) {
        gr_tensor *n =
            gr_maximum(t, gr_sum(t, gr_add(t, real, gr_zeros(t, GR_SHAPE(gr_size(a, 0), 1))), GR_AXES(0), true), gr_scalar(t, 1));
        mean = gr_div(t, gr_sum(t, gr_mul(t, real, a), GR_AXES(0), true), n);
        var = gr_div(t, gr_sum(t, gr_mul(t, real, gr_square(t, gr_sub(t, a, mean))), GR_AXES(0), true), n);
    } else {
        const size_t last = bn.running_mean->dim[0] - 1, row = time < last ? time : last;
        mean = gr_select(t, bn.running_mean, 0, (ptrdiff_t)row), var = gr_select(t, bn.running_var, 0, (ptrdiff_t)row);
    }
    gr_tensor *y = gr_mul(t, bn.weight, gr_div(t, gr_sub(t, a, mean), gr_sqrt(t, gr_add(t, var, gr_scalar(t, eps)))));
    return bn.bias ? gr_add(t, y, bn.bias) : y;
}

typedef struct {
    gr_tensor *h, *c;
} twin_state;

/* What a step sees: W x and W h, and where it is. */
typedef struct {
    const gr_recurrent_weights *w;
    gr_tensor *wx, *wh, *real;
    size_t H, time;
    double eps;
    bool relu;
} twin_step;
typedef twin_state twin_cell(gr_tape *t, const twin_step *p, twin_state s);

static gr_tensor *twin_block(gr_tape *t, gr_tensor *a, size_t k, size_t H) { return gr_narrow(t, a, 1, k * H, H); }
static gr_tensor *twin_biased(gr_tape *t, gr_tensor *a, gr_tensor *b) { return b ? gr_add(t, a, b) : a; }

/* Norms over groups of N values: LN_sum(LN_x(W x) + LN_h(W h)) + b */
static gr_tensor *twin_sums(gr_tape *t, const twin_step *p, size_t N)
{
    const gr_recurrent_weights *w = p->w;
    gr_tensor *wx = twin_norm(t, p->wx, w, GR_LSTM_LN_X, w->ln_ih, N, p->eps);
    gr_tensor *wh = twin_norm(t, p->wh, w, GR_LSTM_LN_H, w->ln_hh, N, p->eps);
    if (w->norm == GR_LSTM_BN) {
        wx = twin_bn(t, wx, w->bn_ih, p->real, p->time, p->eps);
        wh = twin_bn(t, wh, w->bn_hh, p->real, p->time, p->eps);
    }
    gr_tensor *a = twin_norm(t, gr_add(t, wx, wh), w, GR_LSTM_LN_SUM, w->ln_sum, N, p->eps);
    return twin_biased(t, twin_biased(t, a, w->b_ih), w->b_hh);
}

static twin_state twin_lstm(gr_tape *t, const twin_step *p, twin_state s)
{
    const gr_recurrent_weights *w = p->w;
    const size_t H = p->H;
    gr_tensor *a = twin_sums(t, p, w->norm & GR_LSTM_LN_PER_GATE ? H : 4 * H);
    gr_tensor *i = gr_sigmoid(t, twin_block(t, a, 0, H)), *f = gr_sigmoid(t, twin_block(t, a, 1, H));
    gr_tensor *g = gr_tanh(t, twin_block(t, a, 2, H)), *o = gr_sigmoid(t, twin_block(t, a, 3, H));
    gr_tensor *c = gr_add(t, gr_mul(t, f, s.c), gr_mul(t, i, g));
    gr_tensor *n =
        w->norm == GR_LSTM_BN ? twin_bn(t, c, w->bn_c, p->real, p->time, p->eps) : twin_norm(t, c, w, GR_LSTM_LN_C, w->ln_c, H, p->eps);
    return (twin_state){ gr_mul(t, o, gr_tanh(t, n)), c };
}

/* A norm of r and z together, over 2H values, and one of n. */
static gr_tensor *twin_gru_norm(gr_tape *t, gr_tensor *a, const gr_recurrent_weights *w, unsigned bit, gr_lstm_ln ln, size_t H, double eps)
{
    if (!(w->norm & bit)) return a;
    gr_tensor *part[] = { gr_layer_norm(t, gr_narrow(t, a, 1, 0, 2 * H), 1, NULL, NULL, eps),
                          gr_layer_norm(t, twin_block(t, a, 2, H), 1, NULL, NULL, eps) };
    return gr_add(t, gr_mul(t, gr_cat(t, part, 2, 1), ln.weight), ln.bias);
}

static twin_state twin_gru(gr_tape *t, const twin_step *p, twin_state s)
{
    const gr_recurrent_weights *w = p->w;
    const size_t H = p->H;
    gr_tensor *a = twin_biased(t, twin_gru_norm(t, p->wx, w, GR_GRU_LN_X, w->ln_ih, H, p->eps), w->b_ih);
    gr_tensor *u = twin_biased(t, twin_gru_norm(t, p->wh, w, GR_GRU_LN_H, w->ln_hh, H, p->eps), w->b_hh);
    gr_tensor *r = gr_sigmoid(t, gr_add(t, twin_block(t, a, 0, H), twin_block(t, u, 0, H)));
    gr_tensor *z = gr_sigmoid(t, gr_add(t, twin_block(t, a, 1, H), twin_block(t, u, 1, H)));
    gr_tensor *n = gr_tanh(t, gr_add(t, twin_block(t, a, 2, H), gr_mul(t, r, twin_block(t, u, 2, H))));
    gr_tensor *h = gr_add(t, gr_mul(t, gr_sub(t, gr_scalar(t, 1), z), n), gr_mul(t, z, s.h));
    return (twin_state){ h, s.c };
}

static twin_state twin_rnn(gr_tape *t, const twin_step *p, twin_state s)
{
    gr_tensor *a = twin_sums(t, p, p->H);
    return (twin_state){ p->relu ? gr_relu(t, a) : gr_tanh(t, a), s.c };
}

static gr_recurrent_out twin_run(gr_tape *t, gr_tensor *x, const gr_recurrent_weights *w, const gr_sequence_config *options,
                                 twin_cell *cell)
{
    const gr_sequence_config o = options ? *options : (gr_sequence_config){ 0 };
    const gr_recurrent_out failed = { 0 };
    if (!gr_ready(t, NULL, x, w->w_ih, w->w_hh)) return failed;
    const size_t T = x->dim[o.batch_first], B = x->dim[!o.batch_first], H = w->w_hh->dim[1];
    const double eps = o.eps == GR_NONE ? 0 : o.eps ? o.eps : 1e-5;
    gr_tensor *zeros = gr_zeros(t, GR_SHAPE(B, H)), **h = gr_save(t, (T + 1) * sizeof *h);
    twin_state s = { o.h0 ? o.h0 : zeros, o.c0 ? o.c0 : zeros };
    for (size_t k = 0; k < T && !gr_failed(t); k++) {
        const size_t time = o.reverse ? T - 1 - k : k;
        gr_tensor *real = o.lengths ? twin_real(t, o.lengths, time) : gr_scalar(t, 1);
        const twin_step p = { .w = w,
                              .H = H,
                              .time = time,
                              .eps = eps,
                              .relu = o.relu,
                              .real = real,
                              .wx = gr_linear(t, gr_select(t, x, o.batch_first, (ptrdiff_t)time), w->w_ih, NULL),
                              .wh = gr_linear(t, s.h, w->w_hh, NULL) };
        const twin_state next = cell(t, &p, s);
        s = (twin_state){ gr_where(t, real, next.h, s.h), gr_where(t, real, next.c, s.c) };
        h[time] = gr_where(t, real, next.h, zeros);
    }
    gr_tensor *y = T ? gr_stack(t, h, T, o.batch_first) : gr_zeros(t, o.batch_first ? GR_SHAPE(B, T, H) : GR_SHAPE(T, B, H));
    return gr_failed(t) ? failed : (gr_recurrent_out){ .y = y, .h = s.h, .c = cell == twin_lstm ? s.c : NULL };
}

gr_recurrent_out gr_lstm_composed(gr_tape *t, gr_tensor *x, const gr_recurrent_weights *w, const gr_sequence_config *options)
{
    return twin_run(t, x, w, options, twin_lstm);
}
gr_recurrent_out gr_gru_composed(gr_tape *t, gr_tensor *x, const gr_recurrent_weights *w, const gr_sequence_config *options)
{
    return twin_run(t, x, w, options, twin_gru);
}
gr_recurrent_out gr_rnn_composed(gr_tape *t, gr_tensor *x, const gr_recurrent_weights *w, const gr_sequence_config *options)
{
    return twin_run(t, x, w, options, twin_rnn);
}
