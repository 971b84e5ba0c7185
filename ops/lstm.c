/* ops/lstm.c - an LSTM over whole sequences, all steps in one node. The maths of a step is in ops/lstm_cell.c; here are time and gemm.
 *
 * Forward, a step: W x and W h by gemm (what is not normalized in one chain, which starts at the bias), then the cell. The weights
 * are packed once for all steps. Backward walks the steps the other way, with one gemm each for the gradient of the h before; that
 * of a weight is one gemm over all steps at the end.
 *
 * The batch is cut into S = min(8, ceil(B / 8)) shards, and a thread takes a shard through all its steps. What shards add to the
 * gradients of the weights are partial sums, added in the order of the shards; everything else is a row's own business. So no bit
 * depends on the threads, nor what a sequence gives on the rest of the batch.
 *
 * Steps are counted as they are walked: step k is time k, or T-1-k in reverse. A sequence that is past its end at that time keeps its
 * state: in reverse that is so before its first real step. Thus both directions are the same code.
 *
 * Saved when recording: x as it is walked (zeros past the ends), h, and what ops/lstm_cell.c names. Backward leaves the gradients of
 * W x and W h in the place of what it no longer needs: a tape is walked once. */
#include "core/gemm.h"
#include "ops/lstm_cell.h"
#include "ops/lstm_check.h"
#include <string.h>

static size_t lstm_begin(const gr__lstm *s, size_t shard) { return shard * s->B / s->shards; } /* its first sequence */
static size_t lstm_rows(const gr__lstm *s, size_t shard) { return lstm_begin(s, shard + 1) - lstm_begin(s, shard); }

/* The row at which number k of a shard begins, where `kept` numbers are kept. */
static size_t lstm_at(const gr__lstm *s, size_t shard, size_t k, size_t kept)
{
    return lstm_begin(s, shard) * kept + k % kept * lstm_rows(s, shard);
}

/* The norm of rows that begin at number `at` of x; of all rows these are from number `row` on. */
static gr__lstm_norm lstm_norm_at(const gr__lstm *s, int norm, gr_real *x, size_t at, size_t row)
{
    if (!gr__lstm_has(s, norm)) return (gr__lstm_norm){ .x = NULL };
    const size_t groups = norm == LSTM_NORM_C ? 1 : s->groups;
    return (gr__lstm_norm){ .x = x + at,
                            .moments = s->moments[norm] + row * groups * 2,
                            .gain = s->in[LSTM_LN_IH + 2 * norm]->data,
                            .shift = s->in[LSTM_LN_IH + 2 * norm + 1]->data };
}

static gr__lstm_rows lstm_step(const gr__lstm *s, size_t shard, size_t k)
{
    const size_t H = s->H, row = lstm_at(s, shard, k, s->kept), at = row * 4 * H;
    const size_t now = lstm_at(s, shard, k, s->kept + 1) * H, next = lstm_at(s, shard, k + 1, s->kept + 1) * H;
    return (gr__lstm_rows){
        .R = lstm_rows(s, shard),
        .H = H,
        .groups = s->groups,
        .eps = s->eps,
        .time = s->reverse ? s->T - 1 - k : k,
        .lengths = s->lengths ? s->lengths + lstm_begin(s, shard) : NULL,
        .ln_x = lstm_norm_at(s, LSTM_NORM_X, s->normed[LSTM_NORM_X], at, row),
        .ln_h = lstm_norm_at(s, LSTM_NORM_H, s->normed[LSTM_NORM_H], at, row),
        .ln_sum = lstm_norm_at(s, LSTM_NORM_SUM, s->normed[LSTM_NORM_SUM], at, row),
        .ln_c = lstm_norm_at(s, LSTM_NORM_C, s->c, next, row),
        .gates = s->gates + at,
        .tanh_c = s->tanh_c + row * H,
        .h_prev = s->h + now,
        .c_prev = s->c + now,
        .h = s->h + next,
        .c = s->c + next,
    };
}

static bool lstm_past_end(const gr__lstm_rows *step, size_t r) { return step->lengths && (size_t)step->lengths[r] <= step->time; }

/* ---- Forward ---- */

typedef struct {
    gr_tape *t;
    const gr__lstm *s;
    gr_real *w_ih, *w_hh;             /* transposed and packed */
    const gr_real *chain_bias, *bias; /* b_ih + b_hh: where the chains start, or for the cell to add */
} lstm_forward_job;

/* W x and W h of step k, each to its norm, or to the sum of what has none. Where the first h is 0, W h is too: a product over nothing. */
static void lstm_products(const lstm_forward_job *f, const gr__lstm_rows *step, size_t k, const gr_real *x, void *work)
{
    const gr__lstm *s = f->s;
    const size_t G = 4 * s->H, K = k || s->in[LSTM_H0] ? s->H : 0;
    gr_real *sum = step->ln_sum.x ? step->ln_sum.x : step->gates;
    gr_real *wx = step->ln_x.x ? step->ln_x.x : sum, *wh = step->ln_h.x ? step->ln_h.x : sum;
    gr_start start = { f->chain_bias, 0 };
    const gr_start zero = { NULL, 0 };
    gr__gemm_serial_packed(gr_isa(f->t), step->R, G, s->I, (gr_mat){ x, s->I, 1 }, f->w_ih, wx, G, wx == sum ? start : zero, work);
    if (wx == sum) start = (gr_start){ sum, G };
    gr__gemm_serial_packed(gr_isa(f->t), step->R, G, K, (gr_mat){ step->h_prev, s->H, 1 }, f->w_hh, wh, G, wh == sum ? start : zero, work);
}

/* number 0 of a state: h0 or c0, or zeros; and the last to h_n or c_n */
static void lstm_state_in(const gr__lstm *s, size_t shard, gr_real *state, const gr_tensor *initial)
{
    const size_t n = lstm_rows(s, shard) * s->H;
    gr_real *first = state + lstm_at(s, shard, 0, s->kept + 1) * s->H;
    if (initial) memcpy(first, initial->data + lstm_begin(s, shard) * s->H, n * sizeof *first);
    else memset(first, 0, n * sizeof *first);
}
static void lstm_state_out(const gr__lstm *s, size_t shard, const gr_real *state, gr_tensor *final)
{
    memcpy(final->data + lstm_begin(s, shard) * s->H, state + lstm_at(s, shard, s->T, s->kept + 1) * s->H,
           lstm_rows(s, shard) * s->H * sizeof *state);
}

static void lstm_forward_shard(void *argument, size_t shard, int thread)
{
    const lstm_forward_job *f = argument;
    const gr__lstm *s = f->s;
    const size_t I = s->I, H = s->H, b = lstm_begin(s, shard);
    lstm_state_in(s, shard, s->h, s->in[LSTM_H0]);
    lstm_state_in(s, shard, s->c, s->in[LSTM_C0]);
    for (size_t k = 0; k < s->T; k++) {
        gr__lstm_rows step = lstm_step(s, shard, k);
        gr_real *x = s->x + lstm_at(s, shard, k, s->kept) * I;
        for (size_t r = 0; r < step.R; r++) {
            const size_t row = step.time * s->of_time + (b + r) * s->of_row;
            if (lstm_past_end(&step, r)) memset(x + r * I, 0, I * sizeof *x);
            else memcpy(x + r * I, s->in[LSTM_X]->data + row * I, I * sizeof *x);
        }
        lstm_products(f, &step, k, x, gr__work(f->t, thread));
        step.bias = f->bias;
        gr__lstm_rows_forward(gr_isa(f->t), &step);
        for (size_t r = 0; r < step.R; r++) {
            gr_real *y = s->y->data + (step.time * s->of_time + (b + r) * s->of_row) * H;
            if (lstm_past_end(&step, r)) memset(y, 0, H * sizeof *y);
            else memcpy(y, step.h + r * H, H * sizeof *y);
        }
    }
    lstm_state_out(s, shard, s->h, s->h_n);
    lstm_state_out(s, shard, s->c, s->c_n);
}

static double lstm_nanoseconds(const gr__lstm *s) /* of forward, about */
{
    return (double)s->T * (double)s->B * (double)s->H * (0.08 * (double)(s->I + s->H) + 5);
}

/* ---- Backward ---- */

/* What backward wants as scratch: places, in values. A shard's partial sums lie together. */
typedef struct {
    size_t dh, dc, w_ih, w_hh, partials, partials_of_shard, total;
} lstm_scratch_plan;

static lstm_scratch_plan lstm_plan(const gr__lstm *s)
{
    const size_t G = 4 * s->H, I = s->I, H = s->H;
    lstm_scratch_plan p = { .w_ih = 0, .w_hh = gr__gemm_packed_len(I, G), .partials_of_shard = G * (I + H) + 5 * G + 2 * H };
    p.dh = p.w_hh + gr__gemm_packed_len(H, G), p.dc = p.dh + s->B * H, p.partials = p.dc + s->B * H;
    p.total = p.partials + s->shards * p.partials_of_shard;
    return p;
}

static size_t lstm_scratch(const gr_node *n) { return lstm_plan(n->saved).total * sizeof(gr_real); }

/* Where among a shard's partial sums that of an input's gradient is. All shifts but that of the cell's norm add up the same rows
 * as the bias does, or, before a norm of the sum, the same among themselves. */
static size_t lstm_partial(const gr__lstm *s, int input)
{
    const size_t G = 4 * s->H, vectors = G * (s->I + s->H);
    switch (input) {
    case LSTM_W_IH: return 0;
    case LSTM_W_HH: return G * s->I;
    case LSTM_LN_IH: return vectors + G;
    case LSTM_LN_HH: return vectors + 2 * G;
    case LSTM_LN_SUM: return vectors + 3 * G;
    case LSTM_LN_IH_SHIFT:
    case LSTM_LN_HH_SHIFT: return gr__lstm_has(s, LSTM_NORM_SUM) ? vectors + 4 * G : vectors;
    case LSTM_LN_C: return vectors + 5 * G;
    case LSTM_LN_C_SHIFT: return vectors + 5 * G + s->H;
    default: return vectors; /* the biases and the shift of LN_sum */
    }
}

typedef struct {
    gr_tape *t;
    const gr_node *n;
    const gr__lstm *s;
    lstm_scratch_plan plan;
    gr_real *scratch;
} lstm_backward_job;

static void lstm_connect(const gr__lstm *s, gr__lstm_rows *step, gr_real *partials)
{
    gr__lstm_norm *norm[LSTM_NORMS] = { &step->ln_x, &step->ln_h, &step->ln_sum, &step->ln_c };
    for (int n = 0; n < LSTM_NORMS; n++) norm[n]->dgain = partials + lstm_partial(s, LSTM_LN_IH + 2 * n);
    step->dbias = partials + lstm_partial(s, LSTM_B_IH);
    step->ln_c.dshift = partials + lstm_partial(s, LSTM_LN_C_SHIFT);
    if (gr__lstm_has(s, LSTM_NORM_SUM)) (step->ln_x.x ? &step->ln_x : &step->ln_h)->dshift = partials + lstm_partial(s, LSTM_LN_IH_SHIFT);
}

/* dW = the sum over all rows from a step on of dA^T x:   dA [rows, 4H]   x [rows, N]   dW [4H, N] */
static void lstm_weight_gradient(const lstm_backward_job *f, size_t shard, size_t from, const gr_real *dA, const gr_real *x, size_t N,
                                 gr_real *dW, void *work)
{
    const size_t G = 4 * f->s->H, R = lstm_rows(f->s, shard), rows = (f->s->T - from) * R;
    gr__gemm_serial(gr_isa(f->t), G, N, rows, (gr_mat){ dA + from * R * G, 1, G }, (gr_mat){ x + from * R * N, N, 1 }, dW, N,
                    (gr_start){ NULL, 0 }, work);
}

static void lstm_backward_shard(void *argument, size_t shard, int thread)
{
    const lstm_backward_job *f = argument;
    const gr__lstm *s = f->s;
    const size_t I = s->I, H = s->H, G = 4 * H, b = lstm_begin(s, shard), n = lstm_rows(s, shard) * H;
    const int isa = gr_isa(f->t);
    void *work = gr__work(f->t, thread);
    gr_tensor *const *in = f->n->in, *const *out = f->n->out;
    gr_real *dh = f->scratch + f->plan.dh + b * H, *dc = f->scratch + f->plan.dc + b * H, *dx = gr_grad(f->t, in[LSTM_X]);
    gr_real *partials = f->scratch + f->plan.partials + shard * f->plan.partials_of_shard;
    const gr_real *dy = gr_grad(f->t, out[0]);
    memcpy(dh, gr_grad(f->t, out[1]) + b * H, n * sizeof *dh);
    memcpy(dc, gr_grad(f->t, out[2]) + b * H, n * sizeof *dc);
    memset(partials + G * (I + H), 0, (5 * G + 2 * H) * sizeof *partials);

    gr_real *dwx = s->gates, *dwh = s->gates;
    for (size_t k = s->T; k-- > 0;) {
        gr__lstm_rows step = lstm_step(s, shard, k);
        const size_t row = step.time * s->of_time + b * s->of_row;
        lstm_connect(s, &step, partials);
        step.dh = dh, step.dc = dc, step.dy = dy + row * H, step.dy_row = s->of_row * H;
        gr__lstm_rows_backward(isa, &step);
        gr_real *sum = step.ln_sum.x ? step.ln_sum.x : step.gates;
        dwx = step.ln_x.x ? step.ln_x.x : sum, dwh = step.ln_h.x ? step.ln_h.x : sum;
        if (k || gr_grad(f->t, in[LSTM_H0]))
            gr__gemm_serial_packed(isa, step.R, H, G, (gr_mat){ dwh, G, 1 }, f->scratch + f->plan.w_hh, dh, H, (gr_start){ dh, H }, work);
        gr_real *dx_row = dx ? dx + row * I : NULL;
        if (dx)
            gr__gemm_serial_packed(isa, step.R, I, G, (gr_mat){ dwx, G, 1 }, f->scratch + f->plan.w_ih, dx_row, s->of_row * I,
                                   (gr_start){ dx_row, s->of_row * I }, work);
    }
    /* the loop ended at step 0, where the shard's rows begin; a first h of 0 adds nothing */
    gr_real *x = s->x + lstm_at(s, shard, 0, s->kept) * I, *h = s->h + lstm_at(s, shard, 0, s->kept + 1) * H;
    if (gr_grad(f->t, in[LSTM_W_IH])) lstm_weight_gradient(f, shard, 0, dwx, x, I, partials + lstm_partial(s, LSTM_W_IH), work);
    if (gr_grad(f->t, in[LSTM_W_HH]))
        lstm_weight_gradient(f, shard, s->T && !in[LSTM_H0], dwh, h, H, partials + lstm_partial(s, LSTM_W_HH), work);
    if (gr_grad(f->t, in[LSTM_H0])) gr__lstm_add_partials(isa, gr_grad(f->t, in[LSTM_H0]) + b * H, dh, 1, 0, n);
    if (gr_grad(f->t, in[LSTM_C0])) gr__lstm_add_partials(isa, gr_grad(f->t, in[LSTM_C0]) + b * H, dc, 1, 0, n);
}

enum { LSTM_CHUNK = 16384 };
typedef struct {
    int isa;
    gr_real *to;
    const gr_real *from;
    size_t shards, stride, n;
} lstm_sum_job;

static void lstm_sum_chunk(void *argument, size_t chunk, int thread)
{
    const lstm_sum_job *j = argument;
    const size_t at = chunk * LSTM_CHUNK;
    (void)thread;
    gr__lstm_add_partials(j->isa, j->to + at, j->from + at, j->shards, j->stride, j->n - at < LSTM_CHUNK ? j->n - at : LSTM_CHUNK);
}

static void lstm_backward(gr_tape *t, const gr_node *n)
{
    const gr__lstm *s = n->saved;
    const size_t G = 4 * s->H;
    lstm_backward_job f = { t, n, s, lstm_plan(s), gr_scratch(t) };
    if (!s->B) return;
    if (gr_grad(t, n->in[LSTM_X])) gr__gemm_pack(gr_isa(t), s->I, G, (gr_mat){ s->in[LSTM_W_IH]->data, s->I, 1 }, f.scratch + f.plan.w_ih);
    gr__gemm_pack(gr_isa(t), s->H, G, (gr_mat){ s->in[LSTM_W_HH]->data, s->H, 1 }, f.scratch + f.plan.w_hh);
    gr_parallel(t, s->shards, 2 * lstm_nanoseconds(s), lstm_backward_shard, &f);
    for (int input = LSTM_W_IH; input <= LSTM_LN_C_SHIFT; input++) {
        gr_real *to = gr_grad(t, n->in[input]);
        if (!to) continue;
        const size_t len = n->in[input]->len;
        gr_parallel(t, (len + LSTM_CHUNK - 1) / LSTM_CHUNK, 0.1 * (double)(len * s->shards), lstm_sum_chunk,
                    &(lstm_sum_job){ gr_isa(t), to, f.scratch + f.plan.partials + lstm_partial(s, input), s->shards,
                                     f.plan.partials_of_shard, len });
    }
}

static const gr_op lstm_op = { .name = "lstm", .backward = lstm_backward, .scratch = lstm_scratch };

/* ---- The public function ---- */

static gr_real *lstm_save(gr_tape *t, const gr__lstm *s, size_t steps, size_t width)
{
    size_t rows, n;
    if (gr_failed(t)) return NULL;
    if (gr_size_mul(steps, s->B, &rows) && gr_size_mul(rows, width, &n)) return gr_save_reals(t, n);
    return gr_fail_as(t, GR_NO_MEMORY, "lstm", "out of memory: %zu steps of %zu sequences of %zu values", steps, s->B, width);
}

static void lstm_save_steps(gr_tape *t, gr__lstm *s)
{
    const size_t H = s->H, G = 4 * H;
    s->x = lstm_save(t, s, s->kept, s->I);
    s->gates = lstm_save(t, s, s->kept, G), s->tanh_c = lstm_save(t, s, s->kept, H);
    s->h = lstm_save(t, s, s->kept + 1, H), s->c = lstm_save(t, s, s->kept + 1, H);
    for (int n = 0; n < LSTM_NORMS; n++) {
        if (!gr__lstm_has(s, n)) continue;
        s->moments[n] = lstm_save(t, s, s->kept, 2 * (n == LSTM_NORM_C ? 1 : s->groups));
        if (n != LSTM_NORM_C) s->normed[n] = lstm_save(t, s, s->kept, G);
    }
}

/* Pack the weights, add the biases, run. */
static void lstm_forward(gr_tape *t, const gr__lstm *s)
{
    const size_t G = 4 * s->H;
    lstm_forward_job f = {
        t, s, gr_save_reals(t, gr__gemm_packed_len(G, s->I)), gr_save_reals(t, gr__gemm_packed_len(G, s->H)), NULL, NULL
    };
    gr_real *bias = s->in[LSTM_B_IH] || s->in[LSTM_B_HH] ? gr_save_zeros(t, G * sizeof *bias) : NULL;
    if (gr_failed(t)) return;
    gr__gemm_pack(gr_isa(t), G, s->I, (gr_mat){ s->in[LSTM_W_IH]->data, 1, s->I }, f.w_ih);
    gr__gemm_pack(gr_isa(t), G, s->H, (gr_mat){ s->in[LSTM_W_HH]->data, 1, s->H }, f.w_hh);
    for (int i = LSTM_B_IH; i <= LSTM_B_HH; i++)
        if (s->in[i]) gr__lstm_add_partials(gr_isa(t), bias, s->in[i]->data, 1, 0, G);
    const bool in_cell = gr__lstm_has(s, LSTM_NORM_SUM) || (gr__lstm_has(s, LSTM_NORM_X) && gr__lstm_has(s, LSTM_NORM_H));
    *(in_cell ? &f.bias : &f.chain_bias) = bias;
    gr_parallel(t, s->shards, lstm_nanoseconds(s), lstm_forward_shard, &f);
}

gr_lstm_out gr_lstm_sequence(gr_tape *t, gr_tensor *x, const gr_lstm_weights *w, const gr_lstm_options *options)
{
    const gr_lstm_out failed = { NULL, NULL, NULL };
    const gr_lstm_options o = options ? *options : (gr_lstm_options){ 0 };
    if (!w) return gr_ready(t, &lstm_op, x) ? (gr_fail(t, &lstm_op, "weights is NULL"), failed) : failed;
    gr__lstm s = { .norm = w->norm,
                   .in = { x, w->w_ih, w->w_hh, w->b_ih, w->b_hh, w->ln_ih.weight, w->ln_ih.bias, w->ln_hh.weight, w->ln_hh.bias,
                           w->ln_sum.weight, w->ln_sum.bias, w->ln_c.weight, w->ln_c.bias, o.h0, o.c0 } };
    s.bn[LSTM_NORM_X] = w->bn_ih, s.bn[LSTM_NORM_H] = w->bn_hh, s.bn[LSTM_NORM_C] = w->bn_c;
    if (!gr__lstm_understand(t, &lstm_op, &s, &o)) return failed;
    if (s.norm == GR_LSTM_BN) return gr__lstm_bn(t, &s, o.batch_first);

    const bool recording = gr_will_record(t, s.in, LSTM_INPUTS);
    s.kept = recording && s.T ? s.T : 1;
    s.y = gr_empty(t, o.batch_first ? GR_SHAPE(s.B, s.T, s.H) : GR_SHAPE(s.T, s.B, s.H));
    s.h_n = gr_empty(t, GR_SHAPE(s.B, s.H)), s.c_n = gr_empty(t, GR_SHAPE(s.B, s.H));
    gr_mark mark = gr_tape_mark(t);
    lstm_save_steps(t, &s);
    if (recording) mark = gr_tape_mark(t);
    if (!gr_failed(t)) lstm_forward(t, &s);
    gr_tape_rewind(t, mark);
    return gr_record(t, &lstm_op, &s, sizeof s, GR_OUT(s.y, s.h_n, s.c_n), s.in, LSTM_INPUTS) ? (gr_lstm_out){ s.y, s.h_n, s.c_n } : failed;
}
