/* ops/embedding.c - embedding and gather: integers pick the rows of a table, or the values along an axis.
 *
 *     embedding   y[i] = weight[ids[i]]                       dweight[ids[i]] += dy[i]
 *     gather      y[.., i, ..] = x[.., ids[.., i, ..], ..]    dx[.., ids[.., i, ..], ..] += dy[.., i, ..]
 * Both add in the order of the ids. In embedding's backward each thread takes some of the columns, so that this order does not depend on the
 * number of threads.
 * Saved: the address of the ids. */
#include "core/kernel.h"
#include "core/op.h"
#include "ops/index.h"
#include "ops/ops.h"

/* Columns first .. first + count - 1 of dweight [V, D], from dy [n, D]. */
KERNEL(void, embedding_backward, gr_real *restrict dweight, const gr_real *restrict dy, const int *restrict ids, size_t n, int padding,
       size_t D, size_t first, size_t count)
{
    for (size_t i = 0; i < n; i++) {
        if (ids[i] == padding) continue;
        gr_real *restrict to = dweight + (size_t)ids[i] * D + first;
        const gr_real *restrict from = dy + i * D + first;
        for (size_t c = 0; c < count; c++) to[c] += from[c];
    }
}

#if GR_HOST
/* ---- embedding ---- */

enum { EMBEDDING_VALUES = 16384, EMBEDDING_COLUMNS = 64 }; /* the size of a chunk: about this many values in forward, this many columns in backward */

typedef struct { const int *ids; size_t n, D; int padding; } embedding_saved;
typedef struct { const embedding_saved *s; gr_real *to; const gr_real *from; int isa; } embedding_run;

static size_t embedding_rows(size_t D) { return D && D < EMBEDDING_VALUES ? EMBEDDING_VALUES / D : 1; }

static void embedding_chunk(void *argument, size_t chunk, int thread)
{
    const embedding_run *r = argument;
    const embedding_saved *s = r->s;
    const size_t D = s->D;
    const gr_range rows = gr_chunk(chunk, embedding_rows(D), s->n);
    (void)thread;
    for (size_t i = rows.first; i < rows.first + rows.count; i++) memcpy(r->to + i * D, r->from + (size_t)s->ids[i] * D, D * sizeof(gr_real));
}

static void embedding_columns(void *argument, size_t chunk, int thread)
{
    const embedding_run *r = argument;
    const gr_range c = gr_chunk(chunk, EMBEDDING_COLUMNS, r->s->D);
    (void)thread;
    embedding_backward[r->isa](r->to, r->from, r->s->ids, r->s->n, r->s->padding, r->s->D, c.first, c.count);
}

static void embedding_node(gr_tape *t, const gr_node *n)
{
    const embedding_saved *s = n->saved;
    embedding_run r = { s, gr_grad(t, n->in[0]), gr_grad(t, n->out[0]), gr_isa(t) };
    if (r.to) gr_parallel(t, gr_chunks(s->D, EMBEDDING_COLUMNS), 0.2 * (double)(s->n * s->D), embedding_columns, &r);
}

static const gr_op embedding_op = { .name = "embedding", .backward = embedding_node };

gr_tensor *gr_embedding(gr_tape *t, gr_tensor *weight, const gr_ints *ids, int padding)
{
    if (!gr_ready(t, &embedding_op, weight)) return NULL;
    if (weight->rank != 2) return gr_fail(t, &embedding_op, "weight must be [V, D]; got %s", gr_shape_text(t, weight));
    if (!ids) return gr_fail(t, &embedding_op, "ids is NULL");
    if (!gr_ints_alive(t, &embedding_op, "ids", ids)) return NULL;
    if (ids->rank == GR_MAX_RANK)
        return gr_fail(t, &embedding_op, "ids is %s, so the result would have more than %d axes", gr_shape_name(t, index_shape(ids)), GR_MAX_RANK);
    const size_t V = weight->dim[0], D = weight->dim[1];
    for (size_t i = 0; i < ids->len; i++)
        if (ids->data[i] < 0 || (size_t)ids->data[i] >= V)
            return gr_fail(t, &embedding_op, "ids%s is %d, but weight is %s: it must be 0 .. %lld", index_place(t, ids, i), ids->data[i],
                           gr_shape_text(t, weight), (long long)V - 1);
    if (padding != GR_NONE && (padding < 0 || (size_t)padding >= V))
        return gr_fail(t, &embedding_op, "padding must be 0 .. %lld, or GR_NONE; got %d", (long long)V - 1, padding);

    gr_shape shape = index_shape(ids);
    shape.dim[shape.rank++] = D;
    gr_tensor *y = gr_empty(t, shape);
    if (!y) return NULL;
    const embedding_saved s = { ids->data, ids->len, D, padding };
    embedding_run r = { &s, y->data, weight->data, gr_isa(t) };
    gr_parallel(t, gr_chunks(s.n, embedding_rows(D)), 0.1 * (double)y->len, embedding_chunk, &r);
    return gr_record(t, &embedding_op, &s, sizeof s, GR_OUT(y), GR_IN(weight));
}

/* ---- gather ---- */

typedef struct {
    const int *ids;
    size_t dim[GR_MAX_RANK], stride[GR_MAX_RANK];
    int rank, axis;
} gather_saved;

/* A walk over the ids in their order: at is the position on every axis but the gathered one, and base its offset in x. */
typedef struct { size_t at[GR_MAX_RANK], base; } gather_walk;

static size_t gather_offset(const gather_saved *s, const gather_walk *w, size_t i)
{
    return w->base + (size_t)s->ids[i] * s->stride[s->axis];
}

static void gather_next(const gather_saved *s, gather_walk *w)
{
    for (int a = s->rank - 1; a >= 0; a--) {
        const size_t stride = a == s->axis ? 0 : s->stride[a];
        if (++w->at[a] < s->dim[a]) {
            w->base += stride;
            return;
        }
        w->base -= (s->dim[a] - 1) * stride;
        w->at[a] = 0;
    }
}

static void gather_node(gr_tape *t, const gr_node *n)
{
    const gather_saved *s = n->saved;
    const gr_real *dy = gr_grad(t, n->out[0]);
    gr_real *dx = gr_grad(t, n->in[0]);
    gather_walk w = { 0 };
    for (size_t i = 0; dx && i < n->out[0]->len; i++, gather_next(s, &w)) dx[gather_offset(s, &w, i)] += dy[i];
}

static const gr_op gather_op = { .name = "gather", .backward = gather_node };

gr_tensor *gr_gather(gr_tape *t, gr_tensor *x, int axis, const gr_ints *ids)
{
    if (!gr_ready(t, &gather_op, x) || (axis = gr_axis(t, &gather_op, x, axis)) < 0) return NULL;
    if (!ids) return gr_fail(t, &gather_op, "ids is NULL");
    if (!gr_ints_alive(t, &gather_op, "ids", ids)) return NULL;
    bool fits = ids->rank == x->rank;
    for (int a = 0; fits && a < x->rank; a++) fits = a == axis || ids->dim[a] <= x->dim[a];
    if (!fits)
        return gr_fail(t, &gather_op, "x is %s, so ids must have rank %d and be no larger than x except on axis %d; got %s", gr_shape_text(t, x),
                       x->rank, axis, gr_shape_name(t, index_shape(ids)));
    for (size_t i = 0; i < ids->len; i++)
        if (ids->data[i] < 0 || (size_t)ids->data[i] >= x->dim[axis])
            return gr_fail(t, &gather_op, "ids%s is %d, but x is %s: on axis %d it must be 0 .. %lld", index_place(t, ids, i), ids->data[i],
                           gr_shape_text(t, x), axis, (long long)x->dim[axis] - 1);

    gather_saved s = { .ids = ids->data, .rank = x->rank, .axis = axis };
    memcpy(s.dim, ids->dim, sizeof s.dim);
    for (size_t a = (size_t)x->rank, stride = 1; a-- > 0; stride *= x->dim[a]) s.stride[a] = stride;
    gr_tensor *y = gr_empty(t, index_shape(ids));
    if (!y) return NULL;
    gather_walk w = { 0 };
    for (size_t i = 0; i < ids->len; i++, gather_next(&s, &w)) y->data[i] = x->data[gather_offset(&s, &w, i)];
    return gr_record(t, &gather_op, &s, sizeof s, GR_OUT(y), GR_IN(x));
}
#endif
