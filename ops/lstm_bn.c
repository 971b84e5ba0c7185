/* ops/lstm_bn.c - an LSTM whose batch norms have separate statistics for each time step, all steps in one node.
 * ops/lstm.c says what each file does.                                                      Cooijmans et al. 2016, eq. 6-8
 *
 * Shapes: those of ops/lstm.c; running statistics [steps, 4H], and [steps, H] for BN_c.
 *     a = BN_x(W x) + BN_h(W h) + b                                       four blocks of H: a_i a_f a_g a_o
 *     i = sigmoid(a_i),  f = sigmoid(a_f),  g = tanh(a_g),  o = sigmoid(a_o)
 *     c = f c_prev + i g,   h = o tanh(BN_c(c))
 *     BN(z) = gain xhat + shift,  xhat = (z - mean) rstd,  rstd = 1 / sqrt(var + eps), where only BN_c has a shift
 *
 * In training mean and var are those of a column over the n rows (sequences) that have not ended by this step; in evaluation they are the
 * running statistics. Backward is that of ops/lstm.c, except for
 *     dz = rstd gain (dy - sum(dy) / n - xhat sum(dy xhat) / n)           in evaluation: rstd gain dy
 *     dgain = sum(dy xhat),  dshift = sum(dy)                             sums over rows, one after the other
 *
 * Kinks: where var + eps is 0, rstd is 0 by definition. A step with one row returns the shift and passes no gradient.
 *
 * The rows of a step depend on each other through the statistics, but its columns do not. So a chunk of work is some units with all rows. It
 * computes the four columns of each unit (its part of W h by gemm), their statistics, the gates, the cell, its statistics, and h. W x is one
 * gemm over all steps. A step is one parallel region, forward and backward. In backward the region begins with the gradient of h for the
 * chunk's units, which comes from the gradient of W h of the later step. Rows of 4H are stored with chunks outermost, then gates, then units
 * (lstm_bn_together), so that the columns of a chunk are neighbours.
 *
 * Saved: x and h in the order of the steps, W x, W h, i f g o, c, tanh(BN_c(c)), and mean and rstd of all columns of all steps. Backward
 * writes gradients over values that it no longer needs, since a tape is walked once. */
#include "core/gemm.h"
#include "core/kernel.h"
#include "ops/lstm_bn.h"

static size_t lstm_bn_chunks(size_t H) { return gr_chunks(H, LSTM_BN_UNITS); }
static size_t lstm_bn_units(size_t H, size_t chunk) { return gr_chunk(chunk, LSTM_BN_UNITS, H).count; }

/* n is the row, in our order, at which a gate of a chunk begins. Set *row to this row in PyTorch's tensors, and return how many rows from n on
 * are neighbours there, too. W is the number of rows: 4H, or H in the cell's norm, whose rows both orders have at the same place. */
static size_t lstm_bn_together(size_t H, size_t W, size_t n, size_t *row)
{
    const size_t chunk = n / (4 * LSTM_BN_UNITS), u = lstm_bn_units(H, chunk);
    *row = W == H ? 0 : n % (4 * LSTM_BN_UNITS) / u * H + chunk * LSTM_BN_UNITS;
    return W == H ? H : u;
}

/* Add `from` to `to`, both [W, width]: from PyTorch's order to ours, or back. `to` may be NULL. */
static void lstm_bn_reorder(size_t H, size_t W, size_t width, gr_real *to, const gr_real *from, bool back)
{
    for (size_t n = 0, row, run; to && n < W; n += run) {
        run = lstm_bn_together(H, W, n, &row);
        gr__sequence_add(to + (back ? row : n) * width, from + (back ? n : row) * width, run * width);
    }
}

static size_t lstm_bn_live(const gr__sequence *s, size_t time)
{
    size_t live = 0;
    for (size_t r = 0; r < s->B; r++) live += !gr__past_end(s->lengths, r, time);
    return live;
}

/* ---- Forward and backward, step by step ---- */

typedef struct {
    gr_tape *t;
    const gr__sequence *s;
    size_t k, live;
    const gr_real *packed; /* W_hh, for each chunk */
    size_t packed_of_chunk;
    gr_real *dh, *dc, *sums; /* sums: of the gradients of the inputs (gr__sequence_partial), in our order; NULL in forward */
    const gr_real *dy;
} lstm_bn_job;

static gr__cell_norm lstm_bn_norm_at(const lstm_bn_job *f, int norm, gr_real *x, size_t at)
{
    const gr__sequence *s = f->s;
    const size_t W = norm == SEQ_NORM_C ? s->H : s->G, gain = gr__sequence_partial(s, SEQ_LN_IH + 2 * norm) + at;
    gr__cell_norm n = { .x = x + at, .moments = s->moments[norm] + f->k * 3 * W + at, .gain = s->weights + gain };
    if (f->sums) n.dgain = f->sums + gain;
    return n;
}

/* Our part of step k: the units of a chunk, and all rows. */
static gr__cell lstm_bn_step_of(const lstm_bn_job *f, size_t chunk)
{
    const gr__sequence *s = f->s;
    const size_t H = s->H, j = chunk * LSTM_BN_UNITS, at = f->k * s->B * s->G;
    const size_t bias = gr__sequence_partial(s, SEQ_B_IH) + 4 * j, shift = gr__sequence_partial(s, SEQ_LN_C_SHIFT) + j;
    gr__cell p = { 0 };
    gr__sequence_step(s, (gr_range){ 0, s->B }, f->k, &p);
    p.units = lstm_bn_units(H, chunk), p.live = f->live, p.of_batch = s->of_batch;
    p.ln_x = lstm_bn_norm_at(f, SEQ_NORM_X, s->normed[SEQ_NORM_X] + at, 4 * j);
    p.ln_h = lstm_bn_norm_at(f, SEQ_NORM_H, s->normed[SEQ_NORM_H] + at, 4 * j), p.ln_c = lstm_bn_norm_at(f, SEQ_NORM_C, p.c, j);
    p.bias = s->weights + bias, p.ln_c.shift = s->weights + shift;
    p.gates += 4 * j, p.h_prev += j, p.c_prev += j, p.h += j, p.c += j, p.more += j;
    if (!f->sums) return p;
    p.dh = f->dh + j, p.dc = f->dc + j, p.dbias = f->sums + bias, p.ln_c.dshift = f->sums + shift;
    p.dy = f->dy + p.time * s->of_time * H + j, p.dy_row = s->of_row * H;
    if (s->squares) p.dh_squares = s->squares + 2 * chunk * s->T + p.time, p.dc_squares = p.dh_squares + s->T;
    return p;
}

static void lstm_bn_forward_chunk(void *argument, size_t chunk, int thread)
{
    const lstm_bn_job *f = argument;
    const gr__sequence *s = f->s;
    const gr__cell p = lstm_bn_step_of(f, chunk);
    const size_t H = s->H, K = f->k || s->in[SEQ_H0] ? H : 0; /* in step 0 without h0 the product has no terms */
    gr__gemm_serial_packed(gr_isa(f->t), s->B, 4 * p.units, K, (gr_mat){ s->h + f->k * s->B * H, H, 1 }, f->packed + chunk * f->packed_of_chunk,
                           p.ln_h.x, 4 * H, (gr_start){ NULL, 0 }, NULL, gr__work(f->t, thread));
    gr__lstm_bn_forward(gr_isa(f->t), &p);
}

/* dh += d(W h) W_hh for the columns of the chunk, with d(W h) of step k. */
static void lstm_bn_through(const lstm_bn_job *f, size_t chunk, size_t k, int thread)
{
    const gr__sequence *s = f->s;
    const size_t H = s->H, G = 4 * H;
    gr_real *dh = f->dh + chunk * LSTM_BN_UNITS;
    gr__gemm_serial_packed(gr_isa(f->t), s->B, lstm_bn_units(H, chunk), G, (gr_mat){ s->normed[SEQ_NORM_H] + k * s->B * G, G, 1 },
                           f->packed + chunk * f->packed_of_chunk, dh, H, (gr_start){ dh, H }, NULL, gr__work(f->t, thread));
}

static void lstm_bn_backward_chunk(void *argument, size_t chunk, int thread)
{
    const lstm_bn_job *f = argument;
    if (f->k + 1 < f->s->T) lstm_bn_through(f, chunk, f->k + 1, thread);
    const gr__cell p = lstm_bn_step_of(f, chunk);
    gr__lstm_bn_backward(gr_isa(f->t), &p);
}

static void lstm_bn_first_chunk(void *argument, size_t chunk, int thread) { lstm_bn_through(argument, chunk, 0, thread); }

static double lstm_bn_nanoseconds(const gr__sequence *s) /* about the time of a step forward */
{
    return (double)s->B * (double)s->H * (0.08 * (double)s->H + 8);
}

/* ---- Backward ---- */

typedef struct { size_t dh, dc, sums, packed_of_chunk, total; } lstm_bn_plan;

static lstm_bn_plan lstm_bn_plan_of(const gr__sequence *s)
{
    const size_t H = s->H, G = 4 * H;
    lstm_bn_plan p = { .packed_of_chunk = gr__gemm_packed_len(LSTM_BN_UNITS, G) };
    p.dh = lstm_bn_chunks(H) * p.packed_of_chunk, p.dc = p.dh + s->B * H, p.sums = p.dc + s->B * H;
    p.total = p.sums + gr__sequence_partials(s);
    return p;
}

static size_t lstm_bn_scratch(const gr_node *n) { return lstm_bn_plan_of(n->saved).total * sizeof(gr_real); }

static void lstm_bn_node(gr_tape *t, const gr_node *n)
{
    const gr__sequence *s = n->saved;
    const size_t H = s->H, G = 4 * H, I = s->I, state = s->B * H, chunks = lstm_bn_chunks(H);
    const lstm_bn_plan p = lstm_bn_plan_of(s);
    gr_real *scratch = gr_scratch(t), *dx = gr_grad(t, n->in[SEQ_X]);
    lstm_bn_job f = { .t = t, .s = s, .packed = scratch, .packed_of_chunk = p.packed_of_chunk, .dh = scratch + p.dh, .dc = scratch + p.dc };
    const gr_real *w_ih = s->weights + gr__sequence_partial(s, SEQ_W_IH), *w_hh = s->weights + gr__sequence_partial(s, SEQ_W_HH);
    if (!s->B) {
        gr__sequence_norms(s);
        return;
    }
    f.sums = memset(scratch + p.sums, 0, gr__sequence_partials(s) * sizeof *f.sums), f.dy = gr_grad(t, n->out[0]);
    memcpy(f.dh, gr_grad(t, n->out[1]), state * sizeof *f.dh);
    memcpy(f.dc, gr_grad(t, n->out[2]), state * sizeof *f.dc);
    for (size_t c = 0; c < chunks; c++)
        gr__gemm_pack(gr_isa(t), lstm_bn_units(H, c), G, (gr_mat){ w_hh + c * LSTM_BN_UNITS, H, 1 }, scratch + c * p.packed_of_chunk);
    for (f.k = s->T; f.k-- > 0;) {
        const size_t time = gr__sequence_time(s, f.k);
        f.live = lstm_bn_live(s, time);
        gr_parallel(t, chunks, 2 * lstm_bn_nanoseconds(s), lstm_bn_backward_chunk, &f);
        gr_real *dx_row = dx ? dx + time * s->of_time * I : NULL;
        if (dx)
            gr__gemm(t, s->B, I, G, (gr_mat){ s->normed[SEQ_NORM_X] + f.k * s->B * G, G, 1 }, (gr_mat){ w_ih, I, 1 }, dx_row,
                     s->of_row * I, (gr_start){ dx_row, s->of_row * I });
    }
    gr__sequence_norms(s);
    if (s->T && gr_grad(t, n->in[SEQ_H0])) gr_parallel(t, chunks, lstm_bn_nanoseconds(s), lstm_bn_first_chunk, &f);
    gr__sequence_add(gr_grad(t, n->in[SEQ_H0]), f.dh, state);
    gr__sequence_add(gr_grad(t, n->in[SEQ_C0]), f.dc, state);
    const size_t first = n->in[SEQ_H0] ? 0 : s->B; /* without h0, h is 0 in the rows of step 0 */
    const gr_mat dwx = { s->normed[SEQ_NORM_X], 1, G }, dwh = { s->normed[SEQ_NORM_H] + first * G, 1, G };
    gr_real *dw_ih = f.sums + gr__sequence_partial(s, SEQ_W_IH), *dw_hh = f.sums + gr__sequence_partial(s, SEQ_W_HH);
    if (gr_grad(t, n->in[SEQ_W_IH])) gr__gemm(t, G, I, s->T * s->B, dwx, (gr_mat){ s->x, I, 1 }, dw_ih, I, (gr_start){ dw_ih, I });
    if (gr_grad(t, n->in[SEQ_W_HH])) gr__gemm(t, G, H, s->T * s->B - first, dwh, (gr_mat){ s->h + first * H, H, 1 }, dw_hh, H, (gr_start){ dw_hh, H });
    for (int i = SEQ_W_IH; i <= SEQ_LN_C_SHIFT; i++) {
        const gr_tensor *w = n->in[i];
        if (w) lstm_bn_reorder(H, w->dim[0], w->len / w->dim[0], gr_grad(t, w), f.sums + gr__sequence_partial(s, i), true);
    }
}

static const gr_op lstm_bn_op = { .name = "lstm_bn", .backward = lstm_bn_node, .scratch = lstm_bn_scratch };

/* ---- Forward ---- */

/* For evaluation: copy the running statistics to the places where the steps read theirs. */
static void lstm_bn_recall(const gr__sequence *s, int norm)
{
    const gr_tensor *mean = s->bn[norm].running_mean, *var = s->bn[norm].running_var;
    const size_t W = mean->dim[1], steps = mean->dim[0];
    for (size_t k = 0; k < s->T; k++) {
        const size_t time = gr__sequence_time(s, k), row = (time < steps ? time : steps - 1) * W;
        gr_real *stat = memset(s->moments[norm] + k * 3 * W, 0, 2 * W * sizeof *stat);
        lstm_bn_reorder(s->H, W, 1, stat, mean->data + row, false), lstm_bn_reorder(s->H, W, 1, stat + W, var->data + row, false);
        for (size_t n = W; n < 2 * W; n++) stat[n] = r_rstd(stat[n] + s->eps);
    }
}

/* running = (1 - momentum) running + momentum new. Returns false, and changes nothing, if the undo log gets no memory. */
static bool lstm_bn_remember(gr_tape *t, const gr__sequence *s, int norm)
{
    gr_tensor *mean = s->bn[norm].running_mean, *var = s->bn[norm].running_var;
    const size_t W = mean->dim[1], steps = mean->dim[0] < s->T ? mean->dim[0] : s->T, bytes = steps * W * sizeof *mean->data;
    if (!gr_undo_note(t, mean->data, bytes) || !gr_undo_note(t, var->data, bytes)) return false;
    for (size_t time = 0; time < steps; time++) {
        const size_t live = lstm_bn_live(s, time);
        const gr_real *stat = s->moments[norm] + gr__sequence_time(s, time) * 3 * W, keep = (gr_real)(1 - s->momentum);
        const gr_real m = (gr_real)s->momentum, v = live > 1 ? m * ((gr_real)live / (gr_real)(live - 1)) : 0;
        for (size_t n = 0, to, run; live > 1 && n < W; n += run) {
            run = lstm_bn_together(s->H, W, n, &to), to += time * W;
            for (size_t i = 0; i < run; i++) {
                mean->data[to + i] = r_flush(keep * mean->data[to + i] + m * stat[n + i]);
                var->data[to + i] = r_flush(keep * var->data[to + i] + v * stat[2 * W + n + i]);
            }
        }
    }
    return true;
}

/* Bring the weights into our order; both biases become one sum. Copy x in the order of the steps; fill in the first state. */
static void lstm_bn_prepare(const gr__sequence *s)
{
    for (int i = SEQ_W_IH; i <= SEQ_LN_C_SHIFT; i++) {
        const gr_tensor *w = s->in[i];
        if (w) lstm_bn_reorder(s->H, w->dim[0], w->len / w->dim[0], s->weights + gr__sequence_partial(s, i), w->data, false);
    }
    for (size_t k = 0; k < s->T; k++) gr__sequence_read(s, (gr_range){ 0, s->B }, k);
    gr__sequence_start(s, (gr_range){ 0, s->B });
}

static void lstm_bn_run(gr_tape *t, const gr__sequence *s)
{
    const size_t H = s->H, G = 4 * H, I = s->I, chunks = lstm_bn_chunks(H);
    lstm_bn_job f = { .t = t, .s = s, .packed_of_chunk = gr__gemm_packed_len(4 * LSTM_BN_UNITS, H) };
    gr_real *packed = gr_save_reals(t, chunks * f.packed_of_chunk);
    if (!packed || !s->B) return;
    const gr_real *w_ih = s->weights + gr__sequence_partial(s, SEQ_W_IH), *w_hh = s->weights + gr__sequence_partial(s, SEQ_W_HH);
    f.packed = packed;
    lstm_bn_prepare(s);
    for (size_t c = 0; c < chunks; c++)
        gr__gemm_pack(gr_isa(t), 4 * lstm_bn_units(H, c), H, (gr_mat){ w_hh + c * 4 * LSTM_BN_UNITS * H, 1, H }, packed + c * f.packed_of_chunk);
    gr__gemm(t, s->T * s->B, G, I, (gr_mat){ s->x, I, 1 }, (gr_mat){ w_ih, 1, I }, s->normed[SEQ_NORM_X], G, (gr_start){ NULL, 0 });
    for (int n = 0; n < SEQ_NORMS; n++)
        if (!s->of_batch && s->moments[n]) lstm_bn_recall(s, n);
    for (f.k = 0; f.k < s->T; f.k++) {
        f.live = lstm_bn_live(s, gr__sequence_time(s, f.k));
        gr_parallel(t, chunks, lstm_bn_nanoseconds(s), lstm_bn_forward_chunk, &f);
        gr__sequence_write(s, (gr_range){ 0, s->B }, f.k);
    }
    gr__sequence_finish(s, (gr_range){ 0, s->B });
    for (int n = 0; n < SEQ_NORMS; n++)
        if (s->of_batch && s->momentum > 0 && s->moments[n] && !lstm_bn_remember(t, s, n)) return;
}

void gr__lstm_bn_begin(gr_tape *t, gr__sequence *s)
{
    s->op = &lstm_bn_op, s->run = lstm_bn_run, s->parts = s->B ? lstm_bn_chunks(s->H) : 0, s->kept = s->T ? s->T : 1;
    s->of_batch = gr_tape_training(t);
    for (int n = 0; n < SEQ_NORMS; n++) {
        if (n == SEQ_NORM_SUM) continue;
        if (n != SEQ_NORM_C) s->normed[n] = gr__sequence_save(t, s, s->T, s->G);
        s->moments[n] = gr_save_reals(t, s->B ? 3 * s->T * (n == SEQ_NORM_C ? s->H : s->G) : 0);
    }
    s->weights = gr_save_zeros(t, gr__sequence_partials(s) * sizeof(gr_real));
}
