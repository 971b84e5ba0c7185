/* ops/attention.c - scaled dot-product attention, for each sample and head.    Vaswani et al. 2017, eq. 1. Derivation: ops/attention.md
 *
 *     s = q k'    p = softmax(scale s) over the keys that the query sees, 0 for the others    y = p v          ' is the transpose
 * Shapes: q [Tq, d]   k [Tk, d]   v [Tk, e]   s, p [Tq, Tk]   y [Tq, e]
 * Backward:
 *     dv = p' dy    dp = dy v'    ds = scale p (dp - sum over keys of p dp)    dq = ds k    dk = ds' q
 * With dropout, and m its mask of 0 and 1, m p / (1 - rate) replaces p in y and dv, and m dp / (1 - rate) replaces dp in ds.
 *
 * Kinks: a query that sees no key has p = 0, so y = 0 and ds = 0. A term with p = 0 or ds = 0 adds nothing, even if k or v is NaN there: the matrix
 * product guarantees this when k and v are finite, and attention_add when they are not.
 * Queries are computed in blocks, and for each block only the keys up to the last one that it sees. Each block adds to dk and dv in order, so
 * the size of a block does not change a bit.
 * Saved: p, negative where it was dropped. To compute p again would cost a matrix product and an exp for each value. */
#include "ops/attention_packed.h"
#include "core/gemm.h"
#include "ops/dropout.h"
#include "ops/index.h"
#include "ops/softmax.h"

/* Of n keys, how many from the first on the query at position i can see at most. */
INLINE size_t attention_seen(size_t n, size_t i, bool causal) { return causal && i + 1 < n ? i + 1 : n; }

/* p [rows, n]: scores become probabilities, in place. Row 0 is the query at position `first`; rows are p_row and mask_row apart. */
KERNEL(void, attention_softmax, gr_real *restrict p, const gr_real *restrict mask, size_t rows, size_t n, size_t first, size_t p_row,
       size_t mask_row, bool causal, gr_real scale)
{
    for (size_t r = 0; r < rows; r++, p += p_row, mask += mask_row) {
        const size_t seen = attention_seen(n, first + r, causal);
        if (mask)
            for (size_t j = 0; j < seen; j++) p[j] = mask[j] != 0 ? p[j] : -(gr_real)INFINITY;
        const gr_real max = softmax_max(p, seen), shift = max > -(gr_real)INFINITY ? -max * scale : 0;
        const gr_real rounding = r_abs(shift) > R(0x1p20) ? r_fma(max, scale, shift) : 0; /* of shift; it matters only where that is huge */
        for (size_t j = 0; j < seen; j++) p[j] = r_exp_low(r_fma(p[j], scale, shift) - rounding);
        const gr_real sum = SUM(j, seen, p[j]), per = sum == 0 ? 0 : 1 / sum;
        for (size_t j = 0; j < seen; j++) p[j] *= per;
        for (size_t j = seen; j < n; j++) p[j] = 0;
    }
}

/* A row, which begins with element number `first`: kept = m p / (1 - rate), and p becomes negative where it is dropped. */
KERNEL(void, attention_drop, gr_real *restrict p, gr_real *restrict kept, const dropout_mask *m, size_t first, size_t n)
{
    dropout_apply(kept, p, m, first, n, false);
    for (size_t j = 0; j < n; j++) p[j] = kept[j] == 0 ? -p[j] : p[j];
}

/* ds [rows, n]: dp becomes ds, in place. With dropout, p becomes m p / (1 - rate). */
KERNEL(void, attention_backward, gr_real *restrict ds, gr_real *restrict p, size_t rows, size_t n, size_t first, size_t row, bool causal,
       bool drops, gr_real keep, gr_real scale)
{
    for (size_t r = 0; r < rows; r++, ds += row, p += row) {
        const size_t seen = attention_seen(n, first + r, causal);
        for (size_t j = 0; j < seen; j++) ds[j] = p[j] > 0 ? ds[j] * keep : p[j] <= 0 ? 0 : p[j];
        const gr_real sum = SUM(j, seen, r_abs(p[j]) * ds[j]);
        for (size_t j = 0; j < seen; j++) ds[j] = p[j] == 0 ? 0 : r_abs(p[j]) * (ds[j] - sum) * scale;
        for (size_t j = seen; j < n; j++) ds[j] = 0;
        if (drops)
            for (size_t j = 0; j < seen; j++) p[j] = p[j] > 0 ? p[j] * keep : p[j] <= 0 ? 0 : p[j];
    }
}

/* y [rows, m] += p [rows, n] x [n, m] in the order of the matrix product, but without the terms in which p is 0. */
KERNEL(void, attention_add, gr_real *restrict y, size_t y_row, const gr_real *restrict p, size_t p_row, const gr_real *restrict x, size_t x_row,
       size_t rows, size_t n, size_t m)
{
    for (size_t r = 0; r < rows; r++)
        for (size_t j = 0; j < n; j++) {
            const gr_real a = p[r * p_row + j];
            if (a == 0) continue;
            for (size_t c = 0; c < m; c++) y[r * y_row + c] = r_fma(a, x[j * x_row + c], y[r * y_row + c]);
        }
}

/* Whether all of x [rows, n] is finite. */
KERNEL(bool, attention_finite, const gr_real *restrict x, size_t rows, size_t n, size_t row)
{
    int bad = 0;
    for (size_t r = 0; r < rows; r++, x += row)
        for (size_t i = 0; i < n; i++) bad |= !(r_abs(x[i]) < (gr_real)INFINITY);
    return !bad;
}

#if GR_HOST
enum { ATTENTION_ROWS = 64 };

typedef struct {
    size_t B, heads, Tq, Tk, d, e;
    size_t q_row, k_row, v_row, y_row; /* values from one row to the next */
    size_t k_at, v_at;                 /* where k and v begin in their tensor, which they may share with q */
    const int *lengths, *starts;
    const gr_real *mask;
    size_t mask_sample, mask_row;
    gr_real scale;
    bool causal, drops;
    dropout_mask dropout;              /* its scale is 1 / (1 - rate), or 1 without dropout */
    gr_real *p;                        /* [B, heads, p_head]: the blocks of a head one after the other (attention_at); NULL: not kept */
    size_t p_head, threads;
} attention_saved;

typedef struct {
    gr_tape *t;
    const attention_saved *s;
    const gr_real *q, *k, *v, *dy;
    gr_real *y, *dq, *dk, *dv, *scratch; /* scratch [threads, ATTENTION_ROWS, Tk] */
} attention_run;

/* Head h of sample b: the first elements in q, k, v and y; and a block of its queries. */
typedef struct { size_t b, q, k, v, y, keys, start; bool masked; } attention_head;
typedef struct { size_t rows, n, columns; gr_real *p, *scratch; } attention_block;

/* How many columns p has for the queries i .. i + rows-1: none of them sees more keys, whatever the lengths are. */
static size_t attention_columns(const attention_saved *s, size_t i, size_t rows) { return attention_seen(s->Tk, i + rows - 1, s->causal && !s->starts); }

/* Where the p of the queries from i on begins in its head. */
static size_t attention_at(const attention_saved *s, size_t i)
{
    size_t at = 0;
    for (size_t k = 0, rows; k < i; k += rows)
        rows = gr_chunk(k / ATTENTION_ROWS, ATTENTION_ROWS, s->Tq).count, at += rows * attention_columns(s, k, rows);
    return at;
}

static attention_head attention_head_of(const attention_saved *s, size_t chunk)
{
    const size_t b = chunk / s->heads, h = chunk % s->heads;
    return (attention_head){ .b = b, .q = b * s->Tq * s->q_row + h * s->d, .k = b * s->Tk * s->k_row + h * s->d,
                             .v = b * s->Tk * s->v_row + h * s->e, .y = b * s->Tq * s->y_row + h * s->e,
                             .keys = s->lengths ? (size_t)s->lengths[b] : s->Tk, .start = s->starts ? (size_t)s->starts[b] : 0,
                             .masked = s->causal || s->mask };
}

static attention_block attention_block_of(const attention_run *a, const attention_head *h, size_t chunk, size_t i, int thread)
{
    const attention_saved *s = a->s;
    attention_block k = { .rows = s->Tq - i < ATTENTION_ROWS ? s->Tq - i : ATTENTION_ROWS };
    k.n = attention_seen(h->keys, h->start + i + k.rows - 1, s->causal);
    k.scratch = a->scratch ? a->scratch + (size_t)thread * ATTENTION_ROWS * s->Tk : NULL;
    k.p = s->p ? s->p + chunk * s->p_head + attention_at(s, i) : k.scratch, k.columns = attention_columns(s, i, k.rows);
    return k;
}

/* C [M, N] = A B, or C += A B; the rows of C are ldc apart. If B is not finite, the terms in which A is 0 are left out. */
static void attention_product(const attention_run *a, int thread, bool finite, size_t M, size_t N, size_t K, gr_mat A, gr_mat B, gr_real *C,
                              size_t ldc, bool add)
{
    if (finite) {
        gr__gemm_serial(gr_isa(a->t), M, N, K, A, B, C, ldc, (gr_start){ add ? C : NULL, ldc }, gr__work(a->t, thread));
        return;
    }
    for (size_t r = 0; r < M && !add; r++) memset(C + r * ldc, 0, N * sizeof *C);
    attention_add[gr_isa(a->t)](C, ldc, A.data, A.row, B.data, B.row, M, K, N);
}

static void attention_chunk(void *argument, size_t chunk, int thread)
{
    const attention_run *a = argument;
    const attention_saved *s = a->s;
    const int isa = gr_isa(a->t);
    const attention_head h = attention_head_of(s, chunk);
    const gr_real *const v = a->v + h.v;
    const bool finite = !h.masked || attention_finite[isa](v, h.keys, s->e, s->v_row);
    for (size_t i = 0; i < s->Tq; i += ATTENTION_ROWS) {
        const attention_block k = attention_block_of(a, &h, chunk, i, thread);
        const gr_real *mask = s->mask ? s->mask + h.b * s->mask_sample + i * s->mask_row : NULL, *const weight = s->drops ? k.scratch : k.p;
        gr_real *y = a->y + h.y + i * s->y_row;
        attention_product(a, thread, true, k.rows, k.n, s->d, (gr_mat){ a->q + h.q + i * s->q_row, s->q_row, 1 },
                          (gr_mat){ a->k + h.k, 1, s->k_row }, k.p, k.columns, false);
        attention_softmax[isa](k.p, mask, k.rows, k.n, h.start + i, k.columns, s->mask_row, s->causal, s->scale);
        for (size_t r = 0; r < k.rows && s->drops; r++)
            attention_drop[isa](k.p + r * k.columns, k.scratch + r * k.columns, &s->dropout, (chunk * s->Tq + i + r) * s->Tk, k.n);
        attention_product(a, thread, finite, k.rows, s->e, k.n, (gr_mat){ weight, k.columns, 1 }, (gr_mat){ v, s->v_row, 1 }, y, s->y_row, false);
    }
}

static void attention_chunk_back(void *argument, size_t chunk, int thread)
{
    const attention_run *a = argument;
    const attention_saved *s = a->s;
    const int isa = gr_isa(a->t);
    const attention_head h = attention_head_of(s, chunk);
    const gr_real *const key = a->k + h.k;
    const bool finite = !h.masked || !a->dq || attention_finite[isa](key, h.keys, s->d, s->k_row);
    for (size_t i = 0; i < s->Tq; i += ATTENTION_ROWS) {
        const attention_block k = attention_block_of(a, &h, chunk, i, thread);
        const gr_mat dy = { a->dy + h.y + i * s->y_row, s->y_row, 1 }, q = { a->q + h.q + i * s->q_row, s->q_row, 1 };
        gr_real *ds = k.scratch, *dq = a->dq ? a->dq + h.q + i * s->q_row : NULL;
        attention_product(a, thread, true, k.rows, k.n, s->e, dy, (gr_mat){ a->v + h.v, 1, s->v_row }, ds, k.columns, false);
        attention_backward[isa](ds, k.p, k.rows, k.n, h.start + i, k.columns, s->causal, s->drops, s->dropout.scale, s->scale);
        if (a->dv) attention_product(a, thread, true, k.n, s->e, k.rows, (gr_mat){ k.p, 1, k.columns }, dy, a->dv + h.v, s->v_row, true);
        if (a->dk) attention_product(a, thread, true, k.n, s->d, k.rows, (gr_mat){ ds, 1, k.columns }, q, a->dk + h.k, s->k_row, true);
        if (dq) attention_product(a, thread, finite, k.rows, s->d, k.n, (gr_mat){ ds, k.columns, 1 }, (gr_mat){ key, s->k_row, 1 }, dq, s->q_row, true);
    }
}

static double attention_work(const attention_saved *s) /* nanoseconds of forward */
{
    return (double)(s->B * s->heads) * (double)s->Tq * (double)s->Tk * (0.6 + (double)(s->d + s->e) / 50);
}

/* in: q, k and v, or the one tensor that holds them all. */
static attention_run attention_run_of(gr_tape *t, const attention_saved *s, gr_tensor *const *in, size_t ins)
{
    const gr_tensor *k = in[ins > 1 ? 1 : 0], *v = in[ins > 1 ? 2 : 0];
    return (attention_run){ .t = t, .s = s, .q = in[0]->data, .k = k->data + s->k_at, .v = v->data + s->v_at };
}

/* Whether a and b share a part of their values, and so of their gradients, but not all. */
static bool attention_overlap(const gr_tensor *a, const gr_tensor *b)
{
    return (a->data != b->data || a->len != b->len) && a->data < b->data + b->len && b->data < a->data + a->len;
}

static void attention_node(gr_tape *t, const gr_node *n)
{
    const attention_saved *s = n->saved;
    bool overlap = false; /* then different samples add to one gradient, which one thread must do */
    for (unsigned i = 0; i < n->ins; i++)
        for (unsigned j = 0; j < i; j++) overlap |= attention_overlap(n->in[i], n->in[j]);
    attention_run a = attention_run_of(t, s, n->in, n->ins);
    gr_real *dk = gr_grad(t, n->in[n->ins > 1 ? 1 : 0]), *dv = gr_grad(t, n->in[n->ins > 1 ? 2 : 0]);
    a.dq = gr_grad(t, n->in[0]), a.dk = dk ? dk + s->k_at : NULL, a.dv = dv ? dv + s->v_at : NULL;
    a.dy = gr_grad(t, n->out[0]), a.scratch = gr_scratch(t);
    gr_parallel(t, s->B * s->heads, overlap ? 0 : 2.5 * attention_work(s), attention_chunk_back, &a);
}

static size_t attention_scratch(const gr_node *n)
{
    const attention_saved *s = n->saved;
    return s->threads * ATTENTION_ROWS * s->Tk * sizeof(gr_real);
}

static const gr_op attention_op = { .name = "attention", .backward = attention_node, .scratch = attention_scratch };

static bool attention_understand(gr_tape *t, attention_saved *s, const gr_attention_config *o, gr_tensor *const *in, size_t ins)
{
    const gr_tensor *m = o->mask;
    if (!gr_alive(t, &attention_op, "mask", m)) return false;
    const gr_tensor *k = in[ins == 1 ? 0 : 1];
    const char *name = ins == 1 ? "qkv" : "k";
    if (!index_counts_fit(t, &attention_op, "starts", o->starts, name, k, s->B, s->Tk)) return false;
    if (o->starts && !o->causal) return gr_fail(t, &attention_op, "starts is for causal attention, and causal is not set");
    if (!index_counts_fit(t, &attention_op, "lengths", o->lengths, name, k, s->B, s->Tk)) return false;
    const bool of_keys = m && m->rank == 2 && m->dim[0] == s->B && m->dim[1] == s->Tk;
    const bool of_pairs = m && m->rank == 3 && (m->dim[0] == s->B || m->dim[0] == 1) && m->dim[1] == s->Tq && m->dim[2] == s->Tk;
    if (m && !of_keys && !of_pairs)
        return gr_fail(t, &attention_op, "mask must be %s, %s or %s; got %s", gr_shape_name(t, GR_SHAPE(s->B, s->Tk)),
                       gr_shape_name(t, GR_SHAPE(s->B, s->Tq, s->Tk)), gr_shape_name(t, GR_SHAPE(1, s->Tq, s->Tk)), gr_shape_text(t, m));
    s->scale = (gr_real)(o->scale == 0 ? s->d ? 1 / __builtin_sqrt((double)s->d) : 1 : o->scale);
    if (!(s->scale > 0 && s->scale < R(INFINITY)))
        return gr_fail(t, &attention_op, "scale must be above 0 and finite, or 0 for the default; got %g", o->scale);
    if (!(o->dropout >= 0 && o->dropout <= 1)) return gr_fail(t, &attention_op, "dropout must be in 0 .. 1; got %g", o->dropout);
    if (o->dropout > 0 && !o->stream) return gr_fail(t, &attention_op, "dropout is %g, so stream must not be NULL", o->dropout);
    s->lengths = o->lengths ? o->lengths->data : NULL, s->starts = o->starts ? o->starts->data : NULL;
    s->causal = o->causal, s->mask = m ? m->data : NULL;
    s->mask_row = of_pairs ? s->Tk : 0, s->mask_sample = of_keys ? s->Tk : of_pairs && m->dim[0] == s->B ? s->Tq * s->Tk : 0;
    return true;
}

static gr_tensor *attention_make(gr_tape *t, attention_saved *s, const gr_attention_config *o, gr_tensor *const *in, size_t ins)
{
    if (!attention_understand(t, s, o, in, ins)) return NULL;
    const bool records = gr_will_record(t, in, ins), drops = dropout_below(t, o->dropout);
    s->threads = (size_t)gr_tape_threads(t), s->drops = drops, s->dropout.scale = 1, s->y_row = s->heads * s->e;
    gr_tensor *y = gr__empty(t, &attention_op, GR_SHAPE(s->B, s->Tq, s->y_row));
    gr_stream *draws = drops ? gr_tape_stream(t, o->stream) : NULL;
    if (!y || gr_failed(t)) return NULL;
    if (!y->len) s->B = s->Tq = s->Tk = 0; /* nothing to compute, and no gradient */
    s->p_head = attention_at(s, s->Tq);
    if (drops) s->dropout = dropout_take(t, draws, o->dropout, s->B * s->heads * s->Tq * s->Tk);
    attention_run a = attention_run_of(t, s, in, ins);
    gr_mark mark = gr_tape_mark(t); /* what comes after it lasts as long as this call */
    const gr_tensor *p = records || drops ? gr__empty(t, &attention_op, GR_SHAPE(s->B, s->heads, s->p_head)) : NULL;
    if (records) mark = gr_tape_mark(t);
    if (!records || drops) a.scratch = gr_save_reals(t, s->threads * ATTENTION_ROWS * s->Tk);
    if (gr_failed(t)) return NULL;
    s->p = p ? p->data : NULL, a.y = y->data;
    gr_parallel(t, s->B * s->heads, attention_work(s), attention_chunk, &a);
    gr_tape_rewind(t, mark);
    return gr_record(t, &attention_op, s, sizeof *s, GR_OUT(y), in, ins);
}

gr_tensor *gr_attention(gr_tape *t, gr_tensor *q, gr_tensor *k, gr_tensor *v, const gr_attention_config *config)
{
    if (!gr_ready(t, &attention_op, q, k, v)) return NULL;
    const gr_attention_config o = config ? *config : (gr_attention_config){ 0 };
    const size_t heads = o.heads ? o.heads : 1;
    if (q->rank != 3 || q->dim[2] % heads)
        return gr_fail(t, &attention_op, "heads is %zu, so q must be [B, Tq, %zu * d]; got %s", heads, heads, gr_shape_text(t, q));
    if (k->rank != 3 || k->dim[0] != q->dim[0] || k->dim[2] != q->dim[2])
        return gr_fail(t, &attention_op, "q is %s, so k must be [%zu, Tk, %zu]; got %s", gr_shape_text(t, q), q->dim[0], q->dim[2], gr_shape_text(t, k));
    if (v->rank != 3 || v->dim[0] != k->dim[0] || v->dim[1] != k->dim[1] || v->dim[2] % heads)
        return gr_fail(t, &attention_op, "heads is %zu and k is %s, so v must be [%zu, %zu, %zu * e]; got %s", heads, gr_shape_text(t, k), k->dim[0],
                       k->dim[1], heads, gr_shape_text(t, v));
    attention_saved s = { .B = q->dim[0], .heads = heads, .Tq = q->dim[1], .Tk = k->dim[1], .d = q->dim[2] / heads, .e = v->dim[2] / heads,
                          .q_row = q->dim[2], .k_row = k->dim[2], .v_row = v->dim[2] };
    return attention_make(t, &s, &o, GR_IN(q, k, v));
}

gr_tensor *gr__attention_packed(gr_tape *t, gr_tensor *qkv, const gr_attention_config *config)
{
    if (!gr_ready(t, &attention_op, qkv)) return NULL;
    const gr_attention_config o = config ? *config : (gr_attention_config){ 0 };
    const size_t heads = o.heads ? o.heads : 1;
    if (qkv->rank != 3 || qkv->dim[2] % 3 || qkv->dim[2] / 3 % heads)
        return gr_fail(t, &attention_op, "heads is %zu, so qkv must be [B, T, 3 * %zu * d]; got %s", heads, heads, gr_shape_text(t, qkv));
    const size_t row = qkv->dim[2], size = row / 3, d = size / heads, T = qkv->dim[1];
    attention_saved s = { .B = qkv->dim[0], .heads = heads, .Tq = T, .Tk = T, .d = d, .e = d, .q_row = row, .k_row = row, .v_row = row,
                          .k_at = size, .v_at = 2 * size };
    return attention_make(t, &s, &o, GR_IN(qkv));
}
#endif
