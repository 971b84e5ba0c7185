/* ops/lstm_bn.c - an LSTM whose batch norms have separate statistics for each time step, all steps in one node.
 * ops/lstm.c says what each file does.                                                      Cooijmans et al. 2016, eq. 6-8
 *
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
 * The rows of a step depend on each other through the statistics, but its columns do not. So a chunk of work is some units with all rows. It
 * computes the four columns of each unit (its part of W h by gemm), their statistics, the gates, the cell, its statistics, and h. W x is one
 * gemm over all steps. A step is one parallel region, forward and backward. In backward the region begins with the gradient of h for the
 * chunk's units, which comes from the gradient of W h of the later step. Rows of 4H are stored with chunks outermost, then gates, then units
 * (lstm_bn_row), so that the columns of a chunk are neighbours.
 *
 * Saved: x and h in the order of the steps, W x, W h, i f g o, c, tanh(BN_c(c)), and mean and rstd of all columns of all steps. Backward
 * writes gradients over values that it no longer needs, since a tape is walked once. */
#include "core/gemm.h"
#include "core/kernel.h"
#include "ops/lstm_bn.h"

typedef struct {
    gr__sequence s;
    bool of_batch;
    gr_real *w_ih, *w_hh, *vectors; /* in the order of lstm_bn_row: [4H, I], [4H, H]; laid out as the sums of backward */
    gr_real *stat[SEQ_NORMS];       /* [T][mean, rstd, var] of 4H or H columns */
} lstm_bn_saved;

static size_t lstm_bn_chunks(size_t H) { return gr_chunks(H, LSTM_BN_UNITS); }
static size_t lstm_bn_units(size_t H, size_t chunk) { return gr_chunk(chunk, LSTM_BN_UNITS, H).count; }

/* The row of PyTorch's weights that is stored as row n of 4H. */
static size_t lstm_bn_row(size_t H, size_t n)
{
    const size_t chunk = n / (4 * LSTM_BN_UNITS), u = lstm_bn_units(H, chunk), i = n % (4 * LSTM_BN_UNITS);
    return i / u * H + chunk * LSTM_BN_UNITS + i % u;
}

/* The same for the columns of a norm, of which there are W = 4H or H: returns how many columns from n on are neighbours in PyTorch's tensors, too,
 * and sets *row to the first of them there. Loops over neighbours vectorise. */
static size_t lstm_bn_together(size_t H, size_t W, size_t n, size_t *row)
{
    *row = W == H ? n : lstm_bn_row(H, n);
    return W == H ? H : lstm_bn_units(H, n / (4 * LSTM_BN_UNITS));
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
    const lstm_bn_saved *b;
    size_t k, live;
    const gr_real *packed; /* W_hh, for each chunk */
    size_t packed_of_chunk;
    gr_real *dh, *dc, *sums; /* sums: of gains of W x and W h, bias [3, 4H], gain and shift of the cell [2, H]; NULL in forward */
    const gr_real *dy;
} lstm_bn_job;

static gr__lstm_bn_norm lstm_bn_norm_at(const lstm_bn_job *f, int norm, gr_real *x, size_t at, size_t u)
{
    const lstm_bn_saved *b = f->b;
    const bool cell = norm == SEQ_NORM_C;
    const size_t H = b->s.H, G = 4 * H, W = cell ? H : G, gain = (cell ? 3 * G : (size_t)norm * G) + at;
    gr_real *stat = b->stat[norm] + f->k * 3 * W + at;
    gr__lstm_bn_norm n = { .x = x + at, .row = W, .N = cell ? u : 4 * u, .mean = stat, .rstd = stat + W, .var = stat + 2 * W };
    n.gain = b->vectors + gain, n.shift = cell ? n.gain + H : NULL;
    if (f->sums) n.dgain = f->sums + gain, n.dshift = cell ? n.dgain + H : NULL;
    return n;
}

static gr__lstm_bn_step lstm_bn_step_of(const lstm_bn_job *f, size_t chunk)
{
    const gr__sequence *s = &f->b->s;
    const size_t H = s->H, G = 4 * H, u = lstm_bn_units(H, chunk), j = chunk * LSTM_BN_UNITS, rows = f->k * s->B;
    const size_t time = gr__sequence_time(s, f->k), now = rows * H + j, next = now + s->B * H;
    gr__lstm_bn_step p = { .B = s->B, .u = u, .H = H, .time = time, .live = f->live, .eps = s->eps, .of_batch = f->b->of_batch };
    p.lengths = s->lengths, p.bias = f->b->vectors + 2 * G + 4 * j, p.gates = s->gates + rows * G + 4 * j;
    p.x = lstm_bn_norm_at(f, SEQ_NORM_X, s->normed[SEQ_NORM_X] + rows * G, 4 * j, u);
    p.h_norm = lstm_bn_norm_at(f, SEQ_NORM_H, s->normed[SEQ_NORM_H] + rows * G, 4 * j, u);
    p.cell = lstm_bn_norm_at(f, SEQ_NORM_C, s->c + (rows + s->B) * H, j, u);
    p.h_prev = s->h + now, p.c_prev = s->c + now, p.h = s->h + next, p.tanh_c = s->more + now;
    if (!f->sums) return p;
    p.dh = f->dh + j, p.dc = f->dc + j, p.dbias = f->sums + 2 * G + 4 * j;
    p.dy = f->dy + time * s->of_time * H + j, p.dy_row = s->of_row * H;
    if (s->squares) p.dh_squares = s->squares + 2 * chunk * s->T + time, p.dc_squares = p.dh_squares + s->T;
    return p;
}

static void lstm_bn_forward_chunk(void *argument, size_t chunk, int thread)
{
    const lstm_bn_job *f = argument;
    const gr__sequence *s = &f->b->s;
    const gr__lstm_bn_step p = lstm_bn_step_of(f, chunk);
    const size_t H = s->H, K = f->k || s->in[SEQ_H0] ? H : 0; /* in step 0 without h0 the product has no terms */
    gr__gemm_serial_packed(gr_isa(f->t), s->B, 4 * p.u, K, (gr_mat){ s->h + f->k * s->B * H, H, 1 }, f->packed + chunk * f->packed_of_chunk,
                           p.h_norm.x, 4 * H, (gr_start){ NULL, 0 }, gr__work(f->t, thread));
    gr__lstm_bn_forward(gr_isa(f->t), &p);
}

/* dh += d(W h) W_hh for the columns of the chunk, with d(W h) of step k. */
static void lstm_bn_through(const lstm_bn_job *f, size_t chunk, size_t k, int thread)
{
    const gr__sequence *s = &f->b->s;
    const size_t H = s->H, G = 4 * H;
    gr_real *dh = f->dh + chunk * LSTM_BN_UNITS;
    gr__gemm_serial_packed(gr_isa(f->t), s->B, lstm_bn_units(H, chunk), G, (gr_mat){ s->normed[SEQ_NORM_H] + k * s->B * G, G, 1 },
                           f->packed + chunk * f->packed_of_chunk, dh, H, (gr_start){ dh, H }, gr__work(f->t, thread));
}

static void lstm_bn_backward_chunk(void *argument, size_t chunk, int thread)
{
    const lstm_bn_job *f = argument;
    if (f->k + 1 < f->b->s.T) lstm_bn_through(f, chunk, f->k + 1, thread);
    const gr__lstm_bn_step p = lstm_bn_step_of(f, chunk);
    gr__lstm_bn_backward(gr_isa(f->t), &p);
}

static void lstm_bn_first_chunk(void *argument, size_t chunk, int thread) { lstm_bn_through(argument, chunk, 0, thread); }

static double lstm_bn_nanoseconds(const gr__sequence *s) /* about the time of a step forward */
{
    return (double)s->B * (double)s->H * (0.08 * (double)s->H + 8);
}

/* Add the rows of `from`, which are `width` wide, to the rows of PyTorch's tensor that they stand for. */
static void lstm_bn_give(gr_tape *t, const lstm_bn_saved *b, const gr_tensor *to, const gr_real *from, size_t width)
{
    gr_real *d = gr_grad(t, to);
    for (size_t n = 0; d && n < b->s.G; n++) gr__sequence_add(d + lstm_bn_row(b->s.H, n) * width, from + n * width, width);
}

/* ---- Backward ---- */

typedef struct {
    size_t dh, dc, sums, dw, packed, packed_of_chunk, total;
} lstm_bn_plan;

static lstm_bn_plan lstm_bn_plan_of(const gr__sequence *s)
{
    const size_t H = s->H, G = 4 * H;
    lstm_bn_plan p = { .packed_of_chunk = gr__gemm_packed_len(LSTM_BN_UNITS, G) };
    p.dh = lstm_bn_chunks(H) * p.packed_of_chunk, p.dc = p.dh + s->B * H, p.sums = p.dc + s->B * H, p.dw = p.sums + 3 * G + 2 * H;
    p.total = p.dw + G * (s->I > H ? s->I : H);
    return p;
}

static size_t lstm_bn_scratch(const gr_node *n) { return lstm_bn_plan_of(&((const lstm_bn_saved *)n->saved)->s).total * sizeof(gr_real); }

/* Add dA^T x, over the steps from `from` on, to the gradient of w:   dA [rows, 4H]   x [rows, N] */
static void lstm_bn_weight_gradient(gr_tape *t, const lstm_bn_saved *b, size_t from, const gr_real *dA, const gr_real *x, size_t N,
                                    const gr_tensor *w, gr_real *dw)
{
    const gr__sequence *s = &b->s;
    const size_t G = s->G, first = from * s->B;
    if (!gr_grad(t, w)) return;
    gr__gemm(t, G, N, (s->T - from) * s->B, (gr_mat){ dA + first * G, 1, G }, (gr_mat){ x + first * N, N, 1 }, dw, N,
             (gr_start){ NULL, 0 });
    lstm_bn_give(t, b, w, dw, N);
}

static void lstm_bn_node(gr_tape *t, const gr_node *n)
{
    const lstm_bn_saved *b = n->saved;
    const gr__sequence *s = &b->s;
    const size_t H = s->H, G = 4 * H, I = s->I, state = s->B * H, chunks = lstm_bn_chunks(H);
    const lstm_bn_plan p = lstm_bn_plan_of(s);
    gr_real *scratch = gr_scratch(t), *sums = scratch + p.sums, *dw = scratch + p.dw, *dx = gr_grad(t, n->in[SEQ_X]);
    lstm_bn_job f = { .t = t, .b = b, .packed = scratch, .packed_of_chunk = p.packed_of_chunk, .dh = scratch + p.dh, .dc = scratch + p.dc };
    if (!s->B) {
        gr__sequence_norms(s, 0);
        return;
    }
    f.sums = memset(sums, 0, (3 * G + 2 * H) * sizeof *sums), f.dy = gr_grad(t, n->out[0]);
    memcpy(f.dh, gr_grad(t, n->out[1]), state * sizeof *f.dh);
    memcpy(f.dc, gr_grad(t, n->out[2]), state * sizeof *f.dc);
    for (size_t c = 0; c < chunks; c++)
        gr__gemm_pack(gr_isa(t), lstm_bn_units(H, c), G, (gr_mat){ b->w_hh + c * LSTM_BN_UNITS, H, 1 }, scratch + c * p.packed_of_chunk);
    for (f.k = s->T; f.k-- > 0;) {
        const size_t time = gr__sequence_time(s, f.k);
        f.live = lstm_bn_live(s, time);
        gr_parallel(t, chunks, 2 * lstm_bn_nanoseconds(s), lstm_bn_backward_chunk, &f);
        gr_real *dx_row = dx ? dx + time * s->of_time * I : NULL;
        if (dx)
            gr__gemm(t, s->B, I, G, (gr_mat){ s->normed[SEQ_NORM_X] + f.k * s->B * G, G, 1 }, (gr_mat){ b->w_ih, I, 1 }, dx_row,
                     s->of_row * I, (gr_start){ dx_row, s->of_row * I });
    }
    gr__sequence_norms(s, chunks);
    if (s->T && gr_grad(t, n->in[SEQ_H0])) gr_parallel(t, chunks, lstm_bn_nanoseconds(s), lstm_bn_first_chunk, &f);
    gr__sequence_add(gr_grad(t, n->in[SEQ_H0]), f.dh, state);
    gr__sequence_add(gr_grad(t, n->in[SEQ_C0]), f.dc, state);
    lstm_bn_weight_gradient(t, b, 0, s->normed[SEQ_NORM_X], s->x, I, n->in[SEQ_W_IH], dw);
    lstm_bn_weight_gradient(t, b, s->T && !n->in[SEQ_H0], s->normed[SEQ_NORM_H], s->h, H, n->in[SEQ_W_HH], dw);
    for (int i = SEQ_B_IH; i <= SEQ_B_HH; i++) lstm_bn_give(t, b, n->in[i], sums + 2 * G, 1);
    lstm_bn_give(t, b, n->in[SEQ_LN_IH], sums, 1), lstm_bn_give(t, b, n->in[SEQ_LN_HH], sums + G, 1);
    gr__sequence_add(gr_grad(t, n->in[SEQ_LN_C]), sums + 3 * G, H);
    gr__sequence_add(gr_grad(t, n->in[SEQ_LN_C_SHIFT]), sums + 3 * G + H, H);
}

static const gr_op lstm_bn_op = { .name = "lstm_bn", .backward = lstm_bn_node, .scratch = lstm_bn_scratch };

/* ---- Forward ---- */

/* For evaluation: copy the running statistics to the places where the steps read theirs. */
static void lstm_bn_recall(const lstm_bn_saved *b, int norm)
{
    const gr__sequence *s = &b->s;
    const gr_tensor *mean = s->bn[norm].running_mean, *var = s->bn[norm].running_var;
    const size_t W = mean->dim[1], steps = mean->dim[0];
    for (size_t k = 0; k < s->T; k++) {
        const size_t time = gr__sequence_time(s, k), row = (time < steps ? time : steps - 1) * W;
        gr_real *stat = b->stat[norm] + k * 3 * W;
        for (size_t n = 0, from, run; n < W; n += run) {
            run = lstm_bn_together(s->H, W, n, &from), from += row;
            for (size_t i = 0; i < run; i++) {
                const gr_real root = var->data[from + i] + s->eps;
                stat[n + i] = mean->data[from + i], stat[W + n + i] = root == 0 ? 0 : 1 / r_sqrt(root);
            }
        }
    }
}

/* running = (1 - momentum) running + momentum new. Returns false, and changes nothing, if the undo log gets no memory. */
static bool lstm_bn_remember(gr_tape *t, const lstm_bn_saved *b, int norm)
{
    const gr__sequence *s = &b->s;
    gr_tensor *mean = s->bn[norm].running_mean, *var = s->bn[norm].running_var;
    const size_t W = mean->dim[1], steps = mean->dim[0] < s->T ? mean->dim[0] : s->T, bytes = steps * W * sizeof *mean->data;
    if (!gr_undo_note(t, mean->data, bytes) || !gr_undo_note(t, var->data, bytes)) return false;
    for (size_t time = 0; time < steps; time++) {
        const size_t live = lstm_bn_live(s, time);
        const gr_real *stat = b->stat[norm] + gr__sequence_time(s, time) * 3 * W, keep = (gr_real)(1 - s->momentum);
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

static bool lstm_bn_allocate(gr_tape *t, lstm_bn_saved *b)
{
    gr__sequence *s = &b->s;
    const size_t H = s->H, G = 4 * H, T = s->T;
    s->x = gr__sequence_save(t, s, T, s->I), s->gates = gr__sequence_save(t, s, T, G), s->more = gr__sequence_save(t, s, T, H);
    s->h = gr__sequence_save(t, s, T + 1, H), s->c = gr__sequence_save(t, s, T + 1, H);
    for (int n = 0; n < SEQ_NORMS; n++) {
        if (n == SEQ_NORM_SUM) continue;
        if (n != SEQ_NORM_C) s->normed[n] = gr__sequence_save(t, s, T, G);
        b->stat[n] = gr_save_reals(t, s->B ? 3 * T * (n == SEQ_NORM_C ? H : G) : 0);
    }
    b->w_ih = gr_save_reals(t, G * s->I), b->w_hh = gr_save_reals(t, G * H);
    b->vectors = gr_save_zeros(t, (3 * G + 2 * H) * sizeof(gr_real));
    return !gr_failed(t);
}

/* Bring weights, gains and biases into the order of lstm_bn_row; copy x in the order of the steps; fill in the first state. */
static void lstm_bn_prepare(const lstm_bn_saved *b)
{
    const gr__sequence *s = &b->s;
    const size_t H = s->H, G = 4 * H, I = s->I;
    for (size_t n = 0; n < G; n++) {
        const size_t row = lstm_bn_row(H, n);
        memcpy(b->w_ih + n * I, s->in[SEQ_W_IH]->data + row * I, I * sizeof(gr_real));
        memcpy(b->w_hh + n * H, s->in[SEQ_W_HH]->data + row * H, H * sizeof(gr_real));
        b->vectors[n] = s->in[SEQ_LN_IH]->data[row], b->vectors[G + n] = s->in[SEQ_LN_HH]->data[row];
        for (int i = SEQ_B_IH; i <= SEQ_B_HH; i++)
            if (s->in[i]) b->vectors[2 * G + n] += s->in[i]->data[row];
    }
    memcpy(b->vectors + 3 * G, s->in[SEQ_LN_C]->data, H * sizeof(gr_real));
    memcpy(b->vectors + 3 * G + H, s->in[SEQ_LN_C_SHIFT]->data, H * sizeof(gr_real));
    for (size_t k = 0; k < s->T; k++) gr__sequence_read(s, gr__sequence_time(s, k), 0, s->B, s->x + k * s->B * I);
    gr__sequence_start(s->h, s->in[SEQ_H0], 0, s->B * H), gr__sequence_start(s->c, s->in[SEQ_C0], 0, s->B * H);
}

static void lstm_bn_run(gr_tape *t, const lstm_bn_saved *b, gr_real *packed)
{
    const gr__sequence *s = &b->s;
    const size_t H = s->H, G = 4 * H, I = s->I, chunks = lstm_bn_chunks(H);
    lstm_bn_job f = { .t = t, .b = b, .packed = packed, .packed_of_chunk = gr__gemm_packed_len(4 * LSTM_BN_UNITS, H) };
    lstm_bn_prepare(b);
    for (size_t c = 0; c < chunks; c++)
        gr__gemm_pack(gr_isa(t), 4 * lstm_bn_units(H, c), H, (gr_mat){ b->w_hh + c * 4 * LSTM_BN_UNITS * H, 1, H },
                      packed + c * f.packed_of_chunk);
    gr__gemm(t, s->T * s->B, G, I, (gr_mat){ s->x, I, 1 }, (gr_mat){ b->w_ih, 1, I }, s->normed[SEQ_NORM_X], G, (gr_start){ NULL, 0 });
    for (int n = 0; n < SEQ_NORMS; n++)
        if (!b->of_batch && b->stat[n]) lstm_bn_recall(b, n);
    for (f.k = 0; f.k < s->T; f.k++) {
        const size_t time = gr__sequence_time(s, f.k);
        f.live = lstm_bn_live(s, time);
        gr_parallel(t, chunks, lstm_bn_nanoseconds(s), lstm_bn_forward_chunk, &f);
        gr__sequence_write(s, time, 0, s->B, s->h + (f.k + 1) * s->B * H);
    }
    memcpy(s->h_n->data, s->h + s->T * s->B * H, s->B * H * sizeof(gr_real));
    memcpy(s->c_n->data, s->c + s->T * s->B * H, s->B * H * sizeof(gr_real));
}

gr_recurrent_out gr__lstm_bn(gr_tape *t, const gr__kind *kind, gr_tensor *x, const gr_recurrent_weights *w,
                             const gr_sequence_config *config)
{
    const gr_recurrent_out failed = { 0 };
    lstm_bn_saved b = { 0 };
    gr__sequence *s = &b.s;
    if (!gr__sequence_understand(t, s, kind, x, w, config)) return failed;
    b.of_batch = gr_tape_training(t);
    gr__sequence_outputs(t, s, s->B ? lstm_bn_chunks(s->H) : 0);
    gr_mark mark = gr_tape_mark(t);
    bool good = lstm_bn_allocate(t, &b);
    if (gr_will_record(t, s->in, SEQ_INPUTS)) mark = gr_tape_mark(t);
    gr_real *packed = good ? gr_save_reals(t, lstm_bn_chunks(s->H) * gr__gemm_packed_len(4 * LSTM_BN_UNITS, s->H)) : NULL;
    if (packed && s->B) lstm_bn_run(t, &b, packed);
    for (int n = 0; packed && s->B && n < SEQ_NORMS && good; n++)
        if (b.of_batch && s->momentum > 0 && b.stat[n]) good = lstm_bn_remember(t, &b, n);
    gr_tape_rewind(t, mark);
    return gr_record(t, &lstm_bn_op, &b, sizeof b, GR_OUT(s->y, s->h_n, s->c_n), s->in, SEQ_INPUTS)
               ? (gr_recurrent_out){ .y = s->y, .h = s->h_n, .c = s->c_n }
               : failed;
}
