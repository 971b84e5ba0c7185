/* ops/composed_lstm.c - the LSTM of ops/lstm.c and ops/lstm_bn.c from plain operators, a few nodes for each step. */
#include "core/op.h"
#include "ops/composed.h"

/* LN of a [B, 4H] or [B, H], if norm has the bit; in groups of N values. */
static gr_tensor *lstm_twin_norm(gr_tape *t, gr_tensor *a, const gr_lstm_weights *w, unsigned bit, gr_lstm_ln ln, size_t N, double eps)
{
    if (!a || !(w->norm & bit)) return a;
    gr_tensor *groups = gr_reshape(t, a, GR_SHAPE(a->dim[0], a->dim[1] / N, N));
    gr_tensor *xhat = gr_reshape(t, gr_layer_norm(t, groups, 1, NULL, NULL, eps), gr_shape_of(a));
    return gr_add(t, gr_mul(t, xhat, ln.weight), ln.bias);
}

/* [B, 1]: 1 where time is before the sequence's end, else 0 */
static gr_tensor *lstm_twin_real(gr_tape *t, const gr_ints *lengths, size_t time)
{
    gr_tensor *m = gr_zeros(t, GR_SHAPE(lengths->len, 1));
    for (size_t b = 0; m && b < lengths->len; b++) m->data[b] = (size_t)lengths->data[b] > time;
    return m;
}

/* BN of a [B, N] over the rows whose mark is 1; in evaluation, by the buffers. */
static gr_tensor *lstm_twin_bn(gr_tape *t, gr_tensor *a, gr_lstm_bn bn, gr_tensor *real, size_t time, double eps)
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
} lstm_twin_state;

static lstm_twin_state lstm_twin_step(gr_tape *t, gr_tensor *x, lstm_twin_state s, const gr_lstm_weights *w, gr_tensor *real, size_t time,
                                      double eps)
{
    const bool bn = w->norm == GR_LSTM_BN;
    const size_t H = w->w_hh->dim[1], N = w->norm & GR_LSTM_LN_PER_GATE ? H : 4 * H;
    gr_tensor *wx = lstm_twin_norm(t, gr_linear_op(t, x, w->w_ih, NULL), w, GR_LSTM_LN_X, w->ln_ih, N, eps);
    gr_tensor *wh = lstm_twin_norm(t, gr_linear_op(t, s.h, w->w_hh, NULL), w, GR_LSTM_LN_H, w->ln_hh, N, eps);
    if (bn) wx = lstm_twin_bn(t, wx, w->bn_ih, real, time, eps), wh = lstm_twin_bn(t, wh, w->bn_hh, real, time, eps);
    gr_tensor *a = lstm_twin_norm(t, gr_add(t, wx, wh), w, GR_LSTM_LN_SUM, w->ln_sum, N, eps);
    if (w->b_ih) a = gr_add(t, a, w->b_ih);
    if (w->b_hh) a = gr_add(t, a, w->b_hh);
    gr_tensor *i = gr_sigmoid(t, gr_narrow(t, a, 1, 0, H)), *f = gr_sigmoid(t, gr_narrow(t, a, 1, H, H));
    gr_tensor *g = gr_tanh(t, gr_narrow(t, a, 1, 2 * H, H)), *o = gr_sigmoid(t, gr_narrow(t, a, 1, 3 * H, H));
    gr_tensor *c = gr_add(t, gr_mul(t, f, s.c), gr_mul(t, i, g));
    gr_tensor *n = bn ? lstm_twin_bn(t, c, w->bn_c, real, time, eps) : lstm_twin_norm(t, c, w, GR_LSTM_LN_C, w->ln_c, H, eps);
    gr_tensor *h = gr_mul(t, o, gr_tanh(t, n));
    return (lstm_twin_state){ h, c };
}

gr_lstm_out gr_lstm_composed(gr_tape *t, gr_tensor *x, const gr_lstm_weights *w, const gr_lstm_options *options)
{
    const gr_lstm_options o = options ? *options : (gr_lstm_options){ 0 };
    const gr_lstm_out failed = { NULL, NULL, NULL };
    if (!gr_ready(t, NULL, x, w->w_ih, w->w_hh)) return failed;
    const size_t T = x->dim[o.batch_first], B = x->dim[!o.batch_first], H = w->w_hh->dim[1];
    const double eps = o.eps == GR_NONE ? 0 : o.eps ? o.eps : 1e-5;
    gr_tensor *zeros = gr_zeros(t, GR_SHAPE(B, H)), **h = gr_save(t, (T + 1) * sizeof *h);
    lstm_twin_state s = { o.h0 ? o.h0 : zeros, o.c0 ? o.c0 : zeros };
    for (size_t k = 0; k < T && !gr_failed(t); k++) {
        const size_t time = o.reverse ? T - 1 - k : k;
        gr_tensor *real = o.lengths ? lstm_twin_real(t, o.lengths, time) : gr_scalar(t, 1);
        const lstm_twin_state next = lstm_twin_step(t, gr_select(t, x, o.batch_first, (ptrdiff_t)time), s, w, real, time, eps);
        s = (lstm_twin_state){ gr_where(t, real, next.h, s.h), gr_where(t, real, next.c, s.c) };
        h[time] = gr_where(t, real, next.h, zeros);
    }
    gr_tensor *y = T ? gr_stack(t, h, T, o.batch_first) : gr_zeros(t, o.batch_first ? GR_SHAPE(B, T, H) : GR_SHAPE(T, B, H));
    return gr_failed(t) ? failed : (gr_lstm_out){ y, s.h, s.c };
}
