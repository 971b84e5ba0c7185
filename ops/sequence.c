/* ops/sequence.c - a recurrent layer over whole sequences, all steps in one node: the loop over time and the matrix products. The maths of a step is in
 * ops/lstm.c, ops/gru.c and ops/rnn.c; ops/lstm.c says what each file does.
 *
 * A step forward computes W x and W h by gemm and then calls the kernel of the cell. Without norms both products are one chain of sums that starts at
 * the bias, except in a GRU, which keeps W h apart. The weights are packed once for all steps. Backward goes through the steps from the last to the
 * first, each with one gemm for the gradient of h_prev, and one for that of x if x has a gradient. It writes the gradients of W x and W h for a few
 * steps (a block) into one half of a ring. Then the gradient of a weight is increased by one gemm over the rows of the block: by threads beside the
 * steps of the next block, so that they meet less often, but by one thread, or where L2 does not hold the weights, before the next block.
 *
 * The batch is cut into S = min(8, ceil(B / 8)) shards. A task takes a group of neighbouring rows, which share the products of a step, through all
 * steps forward, and a group of neighbouring shards through a block of steps backward. The gradients of biases, gains and shifts are sums over the
 * shards, added in the order of the shards; the block is a function of B and H, and all other values belong to one row. So no bit depends on the groups
 * or the number of threads, and the result for a sequence does not depend on the rest of the batch.
 *
 * Step k is time k, or T-1-k in reverse. A sequence that has ended by that time keeps its state; in reverse such steps come first. So both directions
 * are the same code. Saved when recording: x in the order of the steps (zeros after the ends), h, and what the cells name. */
#include "core/gemm.h"
#include "ops/sequence.h"
#include "ops/parts.h"

enum {
    SEQ_NEAR = 1 << 18,  /* when all steps have no more gate values, everything saved stays in L2 */
    SEQ_FAR = 1 << 15,   /* when the rows of a task have more gate values in a step, L2 cannot hold the next step, too */
    SEQ_GROUP = 1 << 14, /* gate values of a group in a step: more rows make a product faster, until L2 cannot hold them */
    SEQ_WIDE = 256,      /* from this many gate values of a row on, a forward task of 4 rows is worth a thread */
    SEQ_LARGE = 1 << 20, /* from this many weights on, which L2 does not hold, a thread has one group and reads them once in a step */
    SEQ_AT_ONCE = 16,    /* rows of W x that a product computes at least: one row reads all of W (measured: RNN and LSTM of one sequence 1.04 to 1.1) */
    SEQ_BLOCK = 64,      /* rows of a block, at least; H rows make the ring about as large as the gradient of W_hh */
};

/* How many groups of neighbouring sequences, which is the number of tasks: at most `most`. */
static size_t sequence_groups(gr_tape *t, const gr__sequence *s, size_t most)
{
    const size_t threads = (size_t)gr_tape_threads(t), groups = s->G * s->H < SEQ_LARGE ? gr_chunks(s->B * s->G, SEQ_GROUP) : 1;
    return groups > most || threads > most ? most : groups > threads ? groups : threads;
}

/* The sequences of parts i .. end-1 of `parts`. */
static gr_range sequence_rows(const gr__sequence *s, size_t parts, size_t i, size_t end)
{
    return (gr_range){ i * s->B / parts, end * s->B / parts - i * s->B / parts };
}

/* The row at which entry k of some sequences begins; each has `kept` entries, and entry k takes the place k % kept. */
static size_t sequence_at(const gr__sequence *s, gr_range rows, size_t k, size_t kept) { return k % kept * s->B + rows.first; }

/* The norm of the rows that begin at x[at]; `row` is the index of the first of them. */
static void sequence_norm_at(const gr__sequence *s, int norm, gr_real *x, size_t at, size_t row, gr__cell_norm *to)
{
    if (!gr__sequence_has(s, norm)) return;
    const size_t groups = norm == SEQ_NORM_C ? 1 : s->groups;
    gr_tensor *const *const in = s->in + SEQ_LN_IH + 2 * norm; /* gain and shift */
    to->x = x + at, to->moments = s->moments[norm] + row * groups * 2, to->gain = in[0]->data, to->shift = in[1]->data;
}

void gr__sequence_step(const gr__sequence *s, gr_range rows, size_t k, gr__cell *p)
{
    const size_t H = s->H, row = sequence_at(s, rows, k, s->kept), at = row * s->G;
    const size_t now = sequence_at(s, rows, k, s->kept + 1) * H, next = sequence_at(s, rows, k + 1, s->kept + 1) * H;
    p->R = rows.count, p->H = H, p->G = s->G, p->groups = s->groups, p->first = s->first, p->rest = s->rest, p->eps = s->eps, p->relu = s->relu;
    p->time = gr__sequence_time(s, k), p->lengths = s->lengths ? s->lengths + rows.first : NULL;
    sequence_norm_at(s, SEQ_NORM_X, s->normed[SEQ_NORM_X], at, row, &p->ln_x), sequence_norm_at(s, SEQ_NORM_H, s->normed[SEQ_NORM_H], at, row, &p->ln_h);
    sequence_norm_at(s, SEQ_NORM_SUM, s->normed[SEQ_NORM_SUM], at, row, &p->ln_sum), sequence_norm_at(s, SEQ_NORM_C, s->c, next, row, &p->ln_c);
    p->gates = s->gates + at, p->wh = s->kind->apart ? s->normed[SEQ_NORM_H] + at : NULL, p->more = s->more + row * H;
    p->h_prev = s->h + now, p->h = s->h + next;
    if (s->kind->has_c) p->c_prev = s->c + now, p->c = s->c + next;
}

/* List what step k of some sequences reads and writes, so that a product of the step before prefetches it. */
typedef gr__fetch sequence_fetch[10];
static void sequence_ahead(const gr__sequence *s, gr_range rows, size_t k, sequence_fetch list)
{
    list[0] = (gr__fetch){ 0 };
    if (s->kept * s->B * s->G <= SEQ_NEAR || rows.count * s->G >= SEQ_FAR) return;
    gr__cell p = { 0 };
    gr__sequence_step(s, rows, k, &p);
    const gr_real *const place[] = { p.gates, p.wh, p.ln_x.x, p.ln_h.x, p.ln_sum.x, p.more, p.h, p.c, p.c_prev };
    size_t n = 0;
    for (size_t i = 0; i < 9; i++)
        if (place[i]) list[n++] = (gr__fetch){ (uintptr_t)place[i], rows.count * (i < 5 ? s->G : s->H) * sizeof(gr_real) };
    list[n] = (gr__fetch){ 0 };
}

/* ---- Forward ---- */

typedef struct {
    gr_tape *t;
    const gr__sequence *s;
    size_t groups;
    gr_real *w_ih, *w_hh;             /* transposed and packed */
    const gr_real *chain_x, *chain_h; /* biases at which the sums of the products start: of W x (or W x + W h), and of W h kept apart; or NULL */
    const gr_real *bias, *bias_h;     /* biases that the cell adds after the norms; or NULL */
} sequence_forward_job;

/* Where W x and W h are written: to the argument of their norm, to W h's own place, or else to the sum. */
static gr_real *sequence_wx(const gr__cell *p) { return p->ln_x.x ? p->ln_x.x : p->ln_sum.x ? p->ln_sum.x : p->gates; }
static gr_real *sequence_wh(const gr__cell *p) { return p->wh ? p->wh : p->ln_h.x ? p->ln_h.x : p->ln_sum.x ? p->ln_sum.x : p->gates; }

/* W x of `steps` steps from step k on, whose x these are, and W h of step k. In step 0 without h0 the product W h has no terms, because h is 0. */
static void sequence_products(const sequence_forward_job *f, const gr__cell *step, size_t k, size_t steps, const gr_real *x, gr__fetch *fetch, void *work)
{
    const gr__sequence *s = f->s;
    const size_t G = s->G, K = k || s->in[SEQ_H0] ? s->H : 0;
    gr_real *sum = step->ln_sum.x ? step->ln_sum.x : step->gates, *wx = sequence_wx(step), *wh = sequence_wh(step);
    const gr_start bias = { f->chain_x, 0 }, apart = { f->chain_h, 0 };
    const gr_mat X = { x, s->I, 1 }, h = { step->h_prev, s->H, 1 };
    gr__gemm_serial_packed(gr_isa(f->t), steps * step->R, G, s->I, X, f->w_ih, wx, G, wx == sum ? bias : (gr_start){ 0 }, NULL, work);
    gr__gemm_serial_packed(gr_isa(f->t), step->R, G, K, h, f->w_hh, wh, G, wh != sum ? apart : wx == sum ? (gr_start){ sum, G } : bias, fetch, work);
}

void gr__sequence_start(const gr__sequence *s, gr_range rows)
{
    for (int i = 0; i <= s->kind->has_c; i++) {
        gr_real *state = (i ? s->c : s->h) + rows.first * s->H;
        if (s->in[SEQ_H0 + i]) memcpy(state, s->in[SEQ_H0 + i]->data + rows.first * s->H, rows.count * s->H * sizeof *state);
        else memset(state, 0, rows.count * s->H * sizeof *state);
    }
}
void gr__sequence_finish(const gr__sequence *s, gr_range rows)
{
    const size_t first = rows.first * s->H, last = sequence_at(s, rows, s->T, s->kept + 1) * s->H, bytes = rows.count * s->H * sizeof(gr_real);
    memcpy(s->h_n->data + first, s->h + last, bytes);
    if (s->c) memcpy(s->c_n->data + first, s->c + last, bytes);
}

gr_real *gr__sequence_read(const gr__sequence *s, gr_range rows, size_t k)
{
    const size_t I = s->I, time = gr__sequence_time(s, k);
    gr_real *const x = s->x + sequence_at(s, rows, k, s->kept) * I, *to = x;
    for (size_t r = rows.first; r < rows.first + rows.count; r++, to += I)
        if (gr__past_end(s->lengths, r, time)) memset(to, 0, I * sizeof *to);
        else memcpy(to, s->in[SEQ_X]->data + (time * s->of_time + r * s->of_row) * I, I * sizeof *to);
    return x;
}
void gr__sequence_write(const gr__sequence *s, gr_range rows, size_t k)
{
    const size_t H = s->H, time = gr__sequence_time(s, k);
    const gr_real *h = s->h + sequence_at(s, rows, k + 1, s->kept + 1) * H;
    for (size_t r = rows.first; r < rows.first + rows.count; r++, h += H) {
        gr_real *y = s->y->data + (time * s->of_time + r * s->of_row) * H;
        if (gr__past_end(s->lengths, r, time)) memset(y, 0, H * sizeof *y);
        else memcpy(y, h, H * sizeof *y);
    }
}

static void sequence_forward_group(void *argument, size_t group, int thread)
{
    const sequence_forward_job *f = argument;
    const gr__sequence *s = f->s;
    const gr_range rows = sequence_rows(s, f->groups, group, group + 1);
    gr__cell step = { .bias = f->bias, .bias_h = f->bias_h };
    const size_t most = s->kept == s->T && rows.count == s->B && s->B ? gr_chunks(SEQ_AT_ONCE, s->B) : 1; /* steps whose rows lie together */
    gr_real *x = NULL;
    gr__sequence_start(s, rows);
    for (size_t k = 0; k < s->T; k++) {
        const size_t steps = k % most ? 0 : s->T - k < most ? s->T - k : most;
        sequence_fetch fetch;
        for (size_t i = steps; i-- > 0;) x = gr__sequence_read(s, rows, k + i);
        gr__sequence_step(s, rows, k, &step);
        sequence_ahead(s, rows, k + 1, fetch);
        sequence_products(f, &step, k, steps, x, fetch, gr__work(f->t, thread));
        s->kind->forward[gr_isa(f->t)](&step);
        gr__sequence_write(s, rows, k);
    }
    gr__sequence_finish(s, rows);
}

static double sequence_nanoseconds(const gr__sequence *s) /* about the time of forward */
{
    return (double)s->T * (double)s->B * (double)s->H * (0.02 * (double)s->kind->gates * (double)(s->I + s->H) + s->kind->nanoseconds);
}

/* ---- Backward ---- */

/* Where backward's arrays begin in its scratch, counted in values. w_ih is at 0. The ring has room for the gradients of W x in two blocks of `steps` steps;
 * those of W h begin `apart` later, or are the same. The partial sums of a shard lie together. */
typedef struct { size_t steps, block, w_hh, ring, apart, dh, dc, partials, total; } sequence_scratch_plan;

static sequence_scratch_plan sequence_plan(const gr__sequence *s)
{
    const size_t G = s->G, I = s->I, H = s->H, B = s->B, steps = B ? gr_chunks(H > SEQ_BLOCK ? H : SEQ_BLOCK, B) : 1;
    const bool two = gr__sequence_has(s, SEQ_NORM_X) || gr__sequence_has(s, SEQ_NORM_H) || s->kind->apart;
    sequence_scratch_plan p = { .steps = steps < s->T ? steps : s->T, .w_hh = gr__gemm_packed_len(I, G) };
    p.block = p.steps * B * G, p.apart = two ? 2 * p.block : 0, p.ring = p.w_hh + gr__gemm_packed_len(H, G), p.dh = p.ring + 2 * p.block + p.apart;
    p.dc = p.dh + B * H, p.partials = p.dc + B * H, p.total = p.partials + s->shards * gr__sequence_partial(s, SEQ_W_IH);
    return p;
}

size_t gr__sequence_partials(const gr__sequence *s) { return gr__sequence_partial(s, SEQ_W_HH) + s->G * s->H; }
size_t gr__sequence_scratch(const gr_node *n) { return sequence_plan(n->saved).total * sizeof(gr_real); }

/* Where the gradient of an input is among a shard's partial sums. Several gradients are the same sum, so they share a place: every shift
 * equals dbias, except that of the cell's norm, those of W x and W h before a norm of the sum (which equal each other), and bias and
 * shift of W h where the kind keeps it apart. */
size_t gr__sequence_partial(const gr__sequence *s, int input)
{
    const size_t G = s->G, other = 4 * G;
    const bool apart = s->kind->apart, sum = gr__sequence_has(s, SEQ_NORM_SUM);
    switch (input) {
    case SEQ_W_IH: return 5 * G + 2 * s->H; /* these values come before: those that are summed for each shard */
    case SEQ_W_HH: return 5 * G + 2 * s->H + G * s->I;
    case SEQ_B_HH: return apart ? other : 0;
    case SEQ_LN_IH: return G;
    case SEQ_LN_HH: return 2 * G;
    case SEQ_LN_SUM: return 3 * G;
    case SEQ_LN_IH_SHIFT: return sum ? other : 0;
    case SEQ_LN_HH_SHIFT: return sum || apart ? other : 0;
    case SEQ_LN_C: return 5 * G;
    case SEQ_LN_C_SHIFT: return 5 * G + s->H;
    default: return 0; /* b_ih and the shift of LN_sum */
    }
}

typedef struct {
    gr_tape *t;
    const gr_node *n;
    const gr__sequence *s;
    sequence_scratch_plan plan;
    gr_real *scratch, *ring; /* ring: the half for this block, steps from .. to-1 */
    size_t groups, from, to;
    size_t parts;            /* into how many tasks a product of `weight` is cut */
    gr__product weight[2];   /* what a block that is done adds to the gradients of W_hh and W_ih; no rows: nothing is left to add */
} sequence_backward_job;

/* The gradients of W x in step k, from a row on. */
static gr_real *sequence_dwx(const sequence_backward_job *f, size_t k, size_t row) { return f->ring + ((k - f->from) * f->s->B + row) * f->s->G; }

static void sequence_step_backward(const sequence_backward_job *f, size_t shard, size_t k, gr__cell *step)
{
    const gr__sequence *s = f->s;
    const gr_range rows = sequence_rows(s, s->shards, shard, shard + 1);
    gr_real *const partials = f->scratch + f->plan.partials + shard * gr__sequence_partial(s, SEQ_W_IH);
    gr__cell_norm *const norm[SEQ_NORMS] = { &step->ln_x, &step->ln_h, &step->ln_sum, &step->ln_c };
    gr__sequence_step(s, rows, k, step);
    for (int n = 0; n < SEQ_NORMS; n++) norm[n]->dgain = partials + gr__sequence_partial(s, SEQ_LN_IH + 2 * n);
    step->dbias = partials + gr__sequence_partial(s, SEQ_B_IH), step->dbias_h = partials + gr__sequence_partial(s, SEQ_B_HH);
    step->ln_c.dshift = partials + gr__sequence_partial(s, SEQ_LN_C_SHIFT);
    if (step->ln_sum.x) (step->ln_x.x ? &step->ln_x : &step->ln_h)->dshift = partials + gr__sequence_partial(s, SEQ_LN_IH_SHIFT);
    step->dwx = sequence_dwx(f, k, rows.first), step->dwh = step->dwx + f->plan.apart;
    step->dh = f->scratch + f->plan.dh + rows.first * s->H, step->dc = f->scratch + f->plan.dc + rows.first * s->H;
    step->dy = gr_grad(f->t, f->n->out[0]) + (step->time * s->of_time + rows.first * s->of_row) * s->H, step->dy_row = s->of_row * s->H;
    if (s->squares) step->dh_squares = s->squares + 2 * shard * s->T + step->time, step->dc_squares = step->dh_squares + s->T;
    s->kind->backward[gr_isa(f->t)](step);
}

static void sequence_backward_group(const sequence_backward_job *f, size_t group, int thread)
{
    const gr__sequence *s = f->s;
    const size_t I = s->I, H = s->H, G = s->G, shard = group * s->shards / f->groups, end = (group + 1) * s->shards / f->groups;
    const gr_range rows = sequence_rows(s, s->shards, shard, end);
    const int isa = gr_isa(f->t);
    void *work = gr__work(f->t, thread);
    gr_real *dh = f->scratch + f->plan.dh + rows.first * H, *dx = gr_grad(f->t, f->n->in[SEQ_X]);
    gr__cell step = { 0 };
    for (size_t k = f->to; k-- > f->from;) {
        const gr_mat dwx = { sequence_dwx(f, k, rows.first), G, 1 }, dwh = { dwx.data + f->plan.apart, G, 1 };
        sequence_fetch fetch;
        for (size_t i = shard; i < end; i++) sequence_step_backward(f, i, k, &step);
        sequence_ahead(s, rows, k ? k - 1 : 0, fetch);
        if (k || gr_grad(f->t, f->n->in[SEQ_H0]))
            gr__gemm_serial_packed(isa, rows.count, H, G, dwh, f->scratch + f->plan.w_hh, dh, H, (gr_start){ dh, H }, fetch, work);
        const gr_start to = { dx ? dx + (gr__sequence_time(s, k) * s->of_time + rows.first * s->of_row) * I : NULL, s->of_row * I };
        if (dx) gr__gemm_serial_packed(isa, rows.count, I, G, dwx, f->scratch, (gr_real *)to.data, to.row, to, NULL, work);
    }
}

/* For each group of sequences: its steps of the block, and its part of each product of `weight`. */
static void sequence_backward_task(void *argument, size_t task, int thread)
{
    const sequence_backward_job *f = argument;
    if (task % 3 == 0) sequence_backward_group(f, task / 3, thread);
    else gr__gemm_part(f->t, &f->weight[task % 3 - 1], task / 3, f->parts, thread);
}

/* dW += dA^T x, over steps from .. to-1 of a block that is done; no product if there are no steps.   dA [rows, G], from step `from` on   x [all rows, N] */
static gr__product sequence_weight(const sequence_backward_job *f, int input, size_t from, const gr_real *dA, const gr_real *x, size_t N)
{
    const size_t G = f->s->G, B = f->s->B;
    gr_real *dW = gr_grad(f->t, f->n->in[input]);
    return !dW || from >= f->to ? (gr__product){ 0 }
                                : (gr__product){ G, N, (f->to - from) * B, { dA, 1, G }, { x + from * B * N, N, 1 }, dW, N, { dW, N } };
}

void gr__sequence_backward(gr_tape *t, const gr_node *n)
{
    const gr__sequence *s = n->saved;
    const size_t G = s->G, I = s->I, H = s->H, state = s->B * H;
    const sequence_scratch_plan plan = sequence_plan(s);
    gr_real *scratch = gr_scratch(t), *const ring = scratch + plan.ring;
    const size_t groups = sequence_groups(t, s, s->shards);
    sequence_backward_job f = { t, n, s, plan, scratch, ring, groups, 0, s->T, gr_tape_threads(t) > 1 ? groups : 1, { { 0 }, { 0 } } };
    for (unsigned i = 0; i < n->ins; i++) gr_grad(t, n->in[i]); /* the tasks find them cleared */
    for (unsigned i = 0; i < n->outs; i++) gr_grad(t, n->out[i]);
    gr_real *dh = f.scratch + f.plan.dh, *dc = f.scratch + f.plan.dc;
    memcpy(dh, gr_grad(t, n->out[1]), state * sizeof *dh);
    if (s->c) memcpy(dc, gr_grad(t, n->out[2]), state * sizeof *dc);
    memset(f.scratch + f.plan.partials, 0, (f.plan.total - f.plan.partials) * sizeof *dh);
    if (gr_grad(t, n->in[SEQ_X])) gr__gemm_pack(gr_isa(t), I, G, (gr_mat){ s->in[SEQ_W_IH]->data, I, 1 }, f.scratch);
    gr__gemm_pack(gr_isa(t), H, G, (gr_mat){ s->in[SEQ_W_HH]->data, H, 1 }, f.scratch + f.plan.w_hh);
    const bool beside = gr_tape_threads(t) > 1 && G * H < SEQ_LARGE;
    while (s->B && f.to) {
        f.from = f.to > f.plan.steps ? f.to - f.plan.steps : 0;
        const double work = 2 * sequence_nanoseconds(s) * (double)(f.to - f.from) / (double)s->T;
        gr_parallel(t, 3 * f.groups, work, sequence_backward_task, &f);
        const size_t first = f.from || n->in[SEQ_H0] ? f.from : 1; /* without h0, h is 0 in step 0 */
        f.weight[0] = sequence_weight(&f, SEQ_W_HH, first, sequence_dwx(&f, first, 0) + f.plan.apart, s->h, H);
        f.weight[1] = sequence_weight(&f, SEQ_W_IH, f.from, f.ring, s->x, I);
        f.to = f.from;
        if (beside && f.to) {
            f.ring = f.ring == ring ? ring + f.plan.block : ring;
            continue;
        }
        gr_parallel(t, 3 * f.groups, work, sequence_backward_task, &f); /* no steps: the products alone */
        f.weight[0] = f.weight[1] = (gr__product){ 0 };
    }
    gr__sequence_norms(s);
    for (int input = SEQ_B_IH; input <= SEQ_LN_C_SHIFT; input++) {
        const gr_real *const partial = f.scratch + f.plan.partials + gr__sequence_partial(s, input);
        gr_real *const to = gr_grad(t, n->in[input]);
        if (to) gr__add_parts(t, to, partial, s->shards, gr__sequence_partial(s, SEQ_W_IH), n->in[input]->len);
    }
    gr__sequence_add(gr_grad(t, n->in[SEQ_H0]), dh, state);
    gr__sequence_add(gr_grad(t, n->in[SEQ_C0]), dc, state);
}

/* ---- The operator ---- */

gr_real *gr__sequence_save(gr_tape *t, const gr__sequence *s, size_t steps, size_t width)
{
    size_t n;
    gr_size_mul(steps, s->B, &n), gr_size_mul(n, width, &n), gr_size_mul(n, sizeof(gr_real), &n);
    return gr__save(t, s->kind->op->name, n);
}

void gr__sequence_norms(const gr__sequence *s)
{
    double *const norm[] = { s->dh_norm, s->dc_norm };
    for (size_t i = 0; s->squares && i < 2; i++)
        for (size_t time = 0; norm[i] && time < s->T; time++) {
            double sum = 0;
            for (size_t p = 0; p < s->parts; p++) sum += s->squares[(2 * p + i) * s->T + time];
            norm[i][time] = __builtin_sqrt(sum);
        }
}

static void sequence_save_steps(gr_tape *t, gr__sequence *s)
{
    const size_t H = s->H, G = s->G;
    s->x = gr__sequence_save(t, s, s->kept, s->I);
    s->gates = gr__sequence_save(t, s, s->kept, G), s->more = gr__sequence_save(t, s, s->kept, H);
    s->h = gr__sequence_save(t, s, s->kept + 1, H);
    if (s->kind->has_c) s->c = gr__sequence_save(t, s, s->kept + 1, H);
    if (s->dh_norm || s->dc_norm) s->squares = gr_save_zeros(t, 2 * s->parts * s->T * sizeof *s->squares);
    for (int n = 0; n < SEQ_NORMS; n++) {
        const bool has = gr__sequence_has(s, n);
        if (has) s->moments[n] = gr__sequence_save(t, s, s->kept, 2 * (n == SEQ_NORM_C ? 1 : s->groups));
        if ((has && n != SEQ_NORM_C) || (n == SEQ_NORM_H && s->kind->apart)) s->normed[n] = gr__sequence_save(t, s, s->kept, G);
    }
}

/* Pack the weights, decide where the biases are added, and run the shards. */
static void sequence_forward(gr_tape *t, const gr__sequence *s)
{
    const size_t G = s->G;
    sequence_forward_job f = {
        .t = t, .s = s, .groups = sequence_groups(t, s, s->B > 32 || s->G < SEQ_WIDE ? s->shards : gr_chunks(s->B, 4)),
        .w_ih = gr_save_reals(t, gr__gemm_packed_len(G, s->I)), .w_hh = gr_save_reals(t, gr__gemm_packed_len(G, s->H)) };
    const gr_tensor *b_ih = s->in[SEQ_B_IH], *b_hh = s->in[SEQ_B_HH];
    const bool x = gr__sequence_has(s, SEQ_NORM_X), h = gr__sequence_has(s, SEQ_NORM_H), apart = s->kind->apart;
    gr_real *bias = !apart && (b_ih || b_hh) ? gr_save_zeros(t, G * sizeof *bias) : NULL;
    if (gr_failed(t)) return;
    gr__gemm_pack(gr_isa(t), G, s->I, (gr_mat){ s->in[SEQ_W_IH]->data, 1, s->I }, f.w_ih);
    gr__gemm_pack(gr_isa(t), G, s->H, (gr_mat){ s->in[SEQ_W_HH]->data, 1, s->H }, f.w_hh);
    for (int i = SEQ_B_IH; bias && i <= SEQ_B_HH; i++)
        if (s->in[i]) gr__sequence_add(bias, s->in[i]->data, G);
    if (apart && b_ih) *(x ? &f.bias : &f.chain_x) = b_ih->data;
    if (apart && b_hh) *(h ? &f.bias_h : &f.chain_h) = b_hh->data;
    if (!apart) *(gr__sequence_has(s, SEQ_NORM_SUM) || (x && h) ? &f.bias : &f.chain_x) = bias;
    gr_parallel(t, f.groups, sequence_nanoseconds(s), sequence_forward_group, &f);
}

gr_recurrent_out gr__sequence_run(gr_tape *t, const gr__kind *kind, gr_tensor *x, const gr_recurrent_weights *w, const gr_sequence_config *config)
{
    const gr_recurrent_out failed = { 0 };
    gr__sequence s;
    if (!gr__sequence_understand(t, &s, kind, x, w, config)) return failed;
    const bool recording = gr_will_record(t, s.in, SEQ_INPUTS);
    s.op = kind->op, s.run = sequence_forward, s.parts = s.shards, s.kept = recording && s.T ? s.T : 1;
    s.y = gr__empty(t, kind->op, s.batch_first ? GR_SHAPE(s.B, s.T, s.H) : GR_SHAPE(s.T, s.B, s.H));
    s.h_n = gr__empty(t, kind->op, GR_SHAPE(s.B, s.H)), s.c_n = kind->has_c ? gr__empty(t, kind->op, GR_SHAPE(s.B, s.H)) : NULL;
    gr_mark mark = gr_tape_mark(t);
    if (s.norm == GR_LSTM_BN) kind->batch_norms(t, &s);
    sequence_save_steps(t, &s);
    if (recording) mark = gr_tape_mark(t);
    if (!gr_failed(t)) s.run(t, &s);
    gr_tape_rewind(t, mark);
    const gr_recurrent_out out = { .y = s.y, .h = s.h_n, .c = s.c_n };
    return gr_record(t, s.op, &s, sizeof s, (gr_tensor *[]){ s.y, s.h_n, s.c_n }, kind->has_c ? 3 : 2, s.in, SEQ_INPUTS) ? out : failed;
}
