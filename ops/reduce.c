/* ops/reduce.c - sum and mean over any axes, and argmax; the reductions that look at a row at a time are in ops/reduce_rows.c.
 *
 *     sum    y = sum of x         dx = dy
 *     mean   y = sum of x / n     dx = dy / n
 * ops/broadcast.c has both: the sum is the one that undoes broadcasting, and its backward is a broadcast. */
#include "core/kernel.h"
#include "ops/reduce.h"

/* out = x's gradient, in = { dy }, p = the factor */
KERNEL(void, sum_backward, gr_real *restrict dx, const gr_real *const *in, size_t n, const gr_real *p)
{
    const gr_real *dy = in[0], factor = p[0];
    for (size_t i = 0; i < n; i++) dx[i] += factor * dy[i];
}

KERNEL(void, argmax_forward, int *restrict y, const gr_real *restrict x, size_t rows, size_t n)
{
    for (size_t r = 0; r < rows; r++, x += n) {
        const gr_real largest = MAX(i, n, x[i]); /* NaN if there is one */
        size_t i = 0;
        while (x[i] < largest || (x[i] == x[i] && largest != largest)) i++;
        y[r] = (int)i;
    }
}

#if GR_HOST
bool gr__reduction_of(gr_tape *t, const gr_op *op, const gr_tensor *x, gr_axes axes, bool keepdim, gr__reduction *r)
{
    bool dropped[GR_MAX_RANK], kept[GR_MAX_RANK];
    *r = (gr__reduction){ .rows = 1, .n = 1, .ones.rank = x->rank };
    if (!gr__axes_marked(t, op, x, axes, dropped)) return false;
    for (int k = 0; k < x->rank; k++) {
        kept[k] = !dropped[k];
        *(kept[k] ? &r->rows : &r->n) *= x->dim[k];
        r->ones.dim[k] = kept[k] ? x->dim[k] : 1;
        if (kept[k] || keepdim) r->shape.dim[r->shape.rank++] = r->ones.dim[k];
    }
    r->runs = gr__runs_of(gr_shape_of(x), kept);
    r->in_rows = r->runs.n < 2 || (r->runs.n == 2 && r->runs.kept[0]);

    ptrdiff_t stride[GR_MAX_RANK];
    size_t s = 1;
    gr__contiguous(gr_shape_of(x), stride);
    r->to_rows.rank = x->rank;
    for (int pass = 0, at = 0; pass < 2; pass++) /* kept axes, then dropped ones */
        for (int k = 0; k < x->rank; k++)
            if (dropped[k] == pass) r->to_rows.dim[at] = x->dim[k], r->to_rows.x[at++] = stride[k];
    for (int k = x->rank - 1; k >= 0; k--) r->to_rows.y[k] = (ptrdiff_t)s, s *= r->to_rows.dim[k];
    return true;
}

size_t gr__reduction_chunk(const gr__reduction *r)
{
    enum { CHUNK = 16384 };
    return r->n && r->n < CHUNK ? CHUNK / r->n : r->n ? 1 : CHUNK;
}

const gr_real *gr__reduction_rows(gr_tape *t, const gr__reduction *r, const gr_tensor *x, gr_real *buffer)
{
    if (r->in_rows) return x->data;
    gr_real *rows = buffer ? buffer : gr_save_reals(t, x->len);
    if (rows) gr__strided_copy(t, r->to_rows, rows, x->data);
    return rows;
}

/* ---- Sum, mean ---- */

typedef struct { gr_shape ones; gr_real factor; } sum_saved;

static void sum_node(gr_tape *t, const gr_node *n)
{
    const sum_saved *s = n->saved;
    const gr_tensor *x = n->in[0];
    gr_tensor dy = { .data = gr_grad(t, n->out[0]), .len = n->out[0]->len, .rank = s->ones.rank };
    memcpy(dy.dim, s->ones.dim, sizeof dy.dim);
    if (gr_grad(t, x)) gr__map_to(t, sum_backward, gr_grad(t, x), gr_shape_of(x), GR_IN(&dy), &s->factor);
}
static const gr_op sum_op = { .name = "sum", .backward = sum_node };
static const gr_op mean_op = { .name = "mean", .backward = sum_node };

static gr_tensor *sum_over(gr_tape *t, const gr_op *op, gr_tensor *x, gr_axes axes, bool keepdim)
{
    gr__reduction r;
    if (!gr_ready(t, op, x) || !gr__reduction_of(t, op, x, axes, keepdim, &r)) return NULL;
    gr_tensor *y = gr_zeros(t, r.shape);
    if (!y) return NULL;
    gr__runs_sum(t, &r.runs, x->data, y->data);
    sum_saved s = { .ones = r.ones, .factor = 1 };
    if (op == &mean_op) {
        for (size_t i = 0; i < y->len; i++) y->data[i] /= (gr_real)r.n;
        s.factor = 1 / (gr_real)r.n;
    }
    return gr_record(t, op, &s, sizeof s, GR_OUT(y), GR_IN(x));
}

gr_tensor *gr_sum(gr_tape *t, gr_tensor *x, gr_axes axes, bool keepdim) { return sum_over(t, &sum_op, x, axes, keepdim); }
gr_tensor *gr_mean(gr_tape *t, gr_tensor *x, gr_axes axes, bool keepdim) { return sum_over(t, &mean_op, x, axes, keepdim); }

/* ---- Argmax ---- */

typedef struct { int isa, *y; const gr_real *x; size_t rows, n, rows_per_chunk; } argmax_call;

static void argmax_task(void *argument, size_t chunk, int thread)
{
    const argmax_call *c = argument;
    const gr_range rows = gr_chunk(chunk, c->rows_per_chunk, c->rows);
    (void)thread;
    argmax_forward[c->isa](c->y + rows.first, c->x + rows.first * c->n, rows.count, c->n);
}

gr_ints *gr_argmax(gr_tape *t, const gr_tensor *x, int axis, bool keepdim)
{
    static const gr_op op = { .name = "argmax" }; /* no gradient passes: it is never recorded */
    gr__reduction r;
    if (!gr_ready(t, &op, (gr_tensor *)x) || !gr__reduction_of(t, &op, x, GR_AXES(axis), keepdim, &r)) return NULL;
    if (!r.n) return gr_fail(t, &op, "x is %s, and a largest of no values does not exist", gr_shape_text(t, x));
    gr_ints *y = gr_ints_new(t, NULL, r.shape);
    const gr_mark mark = gr_tape_mark(t);
    const gr_real *rows = gr__reduction_rows(t, &r, x, NULL);
    if (!y || !rows) return NULL;
    argmax_call c = { gr_isa(t), y->data, rows, r.rows, r.n, gr__reduction_chunk(&r) };
    gr_parallel(t, gr_chunks(r.rows, c.rows_per_chunk), (double)x->len, argmax_task, &c);
    gr_tape_rewind(t, mark);
    gr_record(t, &op, NULL, 0, GR_OUT(NULL), GR_IN((gr_tensor *)x));
    return gr_failed(t) ? NULL : y;
}
#endif
