/* examples/composed/recurrent.c - LSTM, GRU and plain RNN from plain operators, the twins of the fused ones: first one step of an LSTM
 * with layer norms, as a lecture shows it; then norms in other places, batch norms, GRU and RNN; last the loop over time with lengths. */
#include "examples/composed/composed.h"

/* ---- One step of an LSTM with layer norms ----
 *
 *     a = LN(w_ih x) + LN(w_hh h) + b_ih + b_hh       [B, 4H]: four blocks of H columns, a_i a_f a_g a_o, in PyTorch's order
 *     c = sigmoid(a_f) c + sigmoid(a_i) tanh(a_g)     [B, H]
 *     h = sigmoid(a_o) tanh(LN(c))                    [B, H]     Hochreiter, Schmidhuber 1997; Ba, Kiros, Hinton 2016, eq. 20-22
 *
 * for B sequences with I inputs and H units:   x [B, I]   h, c [B, H]   w_ih [4H, I]   w_hh [4H, H]   b_ih, b_hh [4H], b_hh may be NULL */
typedef struct { gr_tensor *h, *c; } state;

/* LN(z) = gain (z - mean) / sqrt(var + eps) + shift, mean and variance over the last axis.   z [B, N]   gain, shift [N] */
static gr_tensor *layer_norm(gr_tape *t, gr_tensor *z, gr_tensor *gain, gr_tensor *shift, double eps)
{
    gr_tensor *d = gr_sub(t, z, gr_mean(t, z, GR_AXES(-1), true));
    gr_tensor *var = gr_mean(t, gr_square(t, d), GR_AXES(-1), true);        /* [B, 1] */
    gr_tensor *xhat = gr_div(t, d, gr_sqrt(t, gr_add_scalar(t, var, eps))); /* [B, N] */
    return gr_add(t, gr_mul(t, gain, xhat), shift);
}

static gr_tensor *block(gr_tape *t, gr_tensor *a, size_t k, size_t H) { return gr_narrow(t, a, 1, k * H, H); }

/* The cell after this step, from a [B, 4H] and the cell before it; *o is the output gate. */
static gr_tensor *cell(gr_tape *t, gr_tensor *a, gr_tensor *c, size_t H, gr_tensor **o)
{
    gr_tensor *i = gr_sigmoid(t, block(t, a, 0, H));
    gr_tensor *f = gr_sigmoid(t, block(t, a, 1, H));
    gr_tensor *g = gr_tanh(t, block(t, a, 2, H));
    *o = gr_sigmoid(t, block(t, a, 3, H));
    return gr_add(t, gr_mul(t, f, c), gr_mul(t, i, g));
}

static state lstm_ba2016(gr_tape *t, const gr_lstm_weights *w, gr_tensor *x, state s, double eps)
{
    gr_tensor *wx = gr_matmul_t(t, x, false, w->w_ih, true);   /* [B, 4H] */
    gr_tensor *wh = gr_matmul_t(t, s.h, false, w->w_hh, true); /* [B, 4H] */
    gr_tensor *a = gr_add(t, layer_norm(t, wx, w->ln_ih.weight, w->ln_ih.bias, eps),
                          layer_norm(t, wh, w->ln_hh.weight, w->ln_hh.bias, eps));
    a = gr_add(t, a, w->b_ih);
    if (w->b_hh) a = gr_add(t, a, w->b_hh);
    gr_tensor *o, *c = cell(t, a, s.c, w->w_hh->dim[1], &o);
    return (state){ gr_mul(t, o, gr_tanh(t, layer_norm(t, c, w->ln_c.weight, w->ln_c.bias, eps))), c };
}

/* ---- Norms in any place ---- */

/* What a step is given beside its state. */
typedef struct {
    const gr_recurrent_weights *w;
    gr_tensor *x, *real; /* [B, I]; [B, 1]: 1 where a sequence has this step, else 0; NULL: all have it */
    size_t H, time;
    double eps;
    bool relu;
} step;

/* BN of z [B, N] over the rows that have this step; in evaluation, by the running statistics. */
static gr_tensor *batch_norm(gr_tape *t, const step *p, gr_tensor *z, gr_lstm_bn bn)
{
    gr_batch_norm_config o = { .mask = p->real, .eps = p->eps > 0 ? p->eps : GR_NONE };
    const size_t last = bn.running_mean->dim[0] - 1;
    const ptrdiff_t row = (ptrdiff_t)(p->time < last ? p->time : last);
    if (!gr_tape_training(t)) o.running_mean = gr_select(t, bn.running_mean, 0, row), o.running_var = gr_select(t, bn.running_var, 0, row);
    return composed_batch_norm(t, z, 1, bn.weight, bn.bias, &o);
}

/* The norm of z [B, N], where the weights have one: of each row, or of each of its gates. */
static gr_tensor *norm(gr_tape *t, const step *p, gr_tensor *z, gr_lstm_ln ln, gr_lstm_bn bn)
{
    if (z && bn.weight) return batch_norm(t, p, z, bn);
    if (!z || !ln.weight) return z;
    const size_t B = z->dim[0], N = p->w->norm & GR_LSTM_LN_PER_GATE ? p->H : z->dim[1], gates = z->dim[1] / N;
    gr_tensor *y = layer_norm(t, gr_reshape(t, z, GR_SHAPE(B, gates, N)), gr_reshape(t, ln.weight, GR_SHAPE(gates, N)),
                              gr_reshape(t, ln.bias, GR_SHAPE(gates, N)), p->eps);
    return gr_reshape(t, y, gr_shape_of(z));
}

static gr_tensor *biased(gr_tape *t, gr_tensor *a, gr_tensor *b) { return b ? gr_add(t, a, b) : a; }

/* a = LN(LN(w_ih x) + LN(w_hh h)) + b_ih + b_hh */
static gr_tensor *sums(gr_tape *t, const step *p, gr_tensor *h)
{
    const gr_recurrent_weights *w = p->w;
    gr_tensor *wx = norm(t, p, gr_matmul_t(t, p->x, false, w->w_ih, true), w->ln_ih, w->bn_ih);
    gr_tensor *wh = norm(t, p, gr_matmul_t(t, h, false, w->w_hh, true), w->ln_hh, w->bn_hh);
    gr_tensor *a = norm(t, p, gr_add(t, wx, wh), w->ln_sum, (gr_lstm_bn){ 0 });
    return biased(t, biased(t, a, w->b_ih), w->b_hh);
}

static state lstm(gr_tape *t, const step *p, state s)
{
    if (p->w->norm == GR_LSTM_LN_BA2016 && p->w->b_ih) return lstm_ba2016(t, p->w, p->x, s, p->eps);
    gr_tensor *o, *c = cell(t, sums(t, p, s.h), s.c, p->H, &o);
    return (state){ gr_mul(t, o, gr_tanh(t, norm(t, p, c, p->w->ln_c, p->w->bn_c))), c };
}

/* LN of r and z together, over 2H values, and of n. */
static gr_tensor *gru_norm(gr_tape *t, gr_tensor *a, gr_lstm_ln ln, size_t H, double eps)
{
    if (!ln.weight) return a;
    gr_tensor *part[2];
    for (size_t k = 0, first = 0, N = 2 * H; k < 2; k++, first += N, N = H)
        part[k] = layer_norm(t, gr_narrow(t, a, 1, first, N), gr_slice(t, ln.weight, first, N), gr_slice(t, ln.bias, first, N), eps);
    return gr_cat(t, part, 2, 1);
}

static state gru(gr_tape *t, const step *p, state s)
{
    const gr_recurrent_weights *w = p->w;
    const size_t H = p->H;
    gr_tensor *a = biased(t, gru_norm(t, gr_matmul_t(t, p->x, false, w->w_ih, true), w->ln_ih, H, p->eps), w->b_ih);
    gr_tensor *u = biased(t, gru_norm(t, gr_matmul_t(t, s.h, false, w->w_hh, true), w->ln_hh, H, p->eps), w->b_hh);
    gr_tensor *r = gr_sigmoid(t, gr_add(t, block(t, a, 0, H), block(t, u, 0, H)));
    gr_tensor *z = gr_sigmoid(t, gr_add(t, block(t, a, 1, H), block(t, u, 1, H)));
    gr_tensor *n = gr_tanh(t, gr_add(t, block(t, a, 2, H), gr_mul(t, r, block(t, u, 2, H))));
    gr_tensor *h = gr_add(t, gr_mul(t, gr_sub(t, gr_scalar(t, 1), z), n), gr_mul(t, z, s.h));
    return (state){ h, s.c };
}

static state rnn(gr_tape *t, const step *p, state s)
{
    gr_tensor *a = sums(t, p, s.h);
    return (state){ p->relu ? gr_relu(t, a) : gr_tanh(t, a), s.c };
}

/* ---- The loop over time ---- */

/* [B, 1]: 1 where time is before the sequence's end, else 0. */
static gr_tensor *real_at(gr_tape *t, const gr_ints *lengths, size_t time)
{
    gr_tensor *m = gr_zeros(t, GR_SHAPE(lengths->len, 1));
    for (size_t b = 0; m && b < lengths->len; b++) m->data[b] = (size_t)lengths->data[b] > time;
    return m;
}

typedef state layer(gr_tape *t, const step *p, state s);

static gr_recurrent_out run(gr_tape *t, gr_tensor *x, const gr_recurrent_weights *w, const gr_sequence_config *config, layer *f)
{
    const gr_sequence_config o = config ? *config : (gr_sequence_config){ 0 };
    const gr_recurrent_out failed = { 0 };
    if (!gr_ready(t, NULL, x, w->w_ih, w->w_hh)) return failed;
    const size_t T = x->dim[o.batch_first], B = x->dim[!o.batch_first], H = w->w_hh->dim[1];
    step p = { .w = w, .H = H, .eps = o.eps == GR_NONE ? 0 : o.eps > 0 ? o.eps : GR_NORM_EPS, .relu = o.relu };
    gr_tensor *zeros = gr_zeros(t, GR_SHAPE(B, H)), **h = gr_save(t, (T + 1) * sizeof *h);
    state s = { o.h0 ? o.h0 : zeros, o.c0 ? o.c0 : zeros };
    for (size_t k = 0; k < T && !gr_failed(t); k++) {
        p.time = o.reverse ? T - 1 - k : k;
        p.x = gr_select(t, x, o.batch_first, (ptrdiff_t)p.time);
        p.real = o.lengths ? real_at(t, o.lengths, p.time) : NULL;
        const state next = f(t, &p, s);
        h[p.time] = p.real ? gr_where(t, p.real, next.h, zeros) : next.h;
        s = p.real ? (state){ gr_where(t, p.real, next.h, s.h), gr_where(t, p.real, next.c, s.c) } : next;
    }
    gr_tensor *y = T ? gr_stack(t, h, T, o.batch_first) : gr_zeros(t, o.batch_first ? GR_SHAPE(B, T, H) : GR_SHAPE(T, B, H));
    return gr_failed(t) ? failed : (gr_recurrent_out){ .y = y, .h = s.h, .c = f == lstm ? s.c : NULL };
}

gr_recurrent_out composed_lstm(gr_tape *t, gr_tensor *x, const gr_recurrent_weights *w, const gr_sequence_config *config)
{
    return run(t, x, w, config, lstm);
}
gr_recurrent_out composed_gru(gr_tape *t, gr_tensor *x, const gr_recurrent_weights *w, const gr_sequence_config *config)
{
    return run(t, x, w, config, gru);
}
gr_recurrent_out composed_rnn(gr_tape *t, gr_tensor *x, const gr_recurrent_weights *w, const gr_sequence_config *config)
{
    return run(t, x, w, config, rnn);
}
