/* ops/embedding.c - integers pick the rows of a table. ops/pick.c picks along any axis.
 *
 *     y[i] = weight[ids[i]]        dweight[ids[i]] += dy[i]
 * Backward adds in the order of the ids: each thread takes some of the columns, so that this order does not depend on the number of threads.
 * Shapes: weight [V, D], ids [..], y [.., D].   Kinks: the row `padding` gets no gradient.   Saved: the address of the ids.   Source: none. */
#include "core/kernel.h"
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
enum { EMBEDDING_VALUES = 16384, EMBEDDING_COLUMNS = 64 }; /* the size of a chunk: about this many values in forward, this many columns in backward */

typedef struct { const int *ids; size_t n, D; int padding; } embedding_saved;
typedef struct { const embedding_saved *s; gr_real *to; const gr_real *from; int isa; } embedding_run;

static void embedding_rows(void *argument, gr_range rows)
{
    const embedding_run *r = argument;
    const size_t D = r->s->D;
    for (size_t i = rows.first; i < rows.first + rows.count; i++) memcpy(r->to + i * D, r->from + (size_t)r->s->ids[i] * D, D * sizeof(gr_real));
}

static void embedding_columns(void *argument, gr_range c)
{
    const embedding_run *r = argument;
    embedding_backward[r->isa](r->to, r->from, r->s->ids, r->s->n, r->s->padding, r->s->D, c.first, c.count);
}

static void embedding_node(gr_tape *t, const gr_node *n)
{
    const embedding_saved *s = n->saved;
    embedding_run r = { s, gr_grad(t, n->in[0]), gr_grad(t, n->out[0]), gr_isa(t) };
    if (r.to && s->n) gr__parallel_rows(t, s->D, EMBEDDING_COLUMNS, 0.2 * (double)(s->n * s->D), embedding_columns, &r);
}

static const gr_op embedding_op = { .name = "embedding", .backward = embedding_node };

gr_tensor *gr_embedding(gr_tape *t, gr_tensor *weight, const gr_ints *ids, int padding)
{
    if (!gr_ready(t, &embedding_op, weight)) return NULL;
    if (weight->rank != 2) return gr_fail(t, &embedding_op, "weight must be [V, D]; got %s", gr_shape_text(t, weight));
    if (!gr__ints_ready(t, &embedding_op, "ids", ids)) return NULL;
    if (ids->rank == GR_MAX_RANK)
        return gr_fail(t, &embedding_op, "ids is %s, so the result would have more than %d axes", gr_shape_name(t, gr__ints_shape(ids)), GR_MAX_RANK);
    const size_t V = weight->dim[0], D = weight->dim[1];
    if (!index_below(t, &embedding_op, ids, "weight", weight, 0)) return NULL;
    if (padding != GR_NONE && (padding < 0 || (size_t)padding >= V))
        return gr_fail(t, &embedding_op, "padding must be 0 .. %lld, or GR_NONE; got %d", (long long)V - 1, padding);

    gr_shape shape = gr__ints_shape(ids);
    shape.dim[shape.rank++] = D;
    gr_tensor *y = gr__empty(t, &embedding_op, shape);
    if (!y) return NULL;
    const embedding_saved s = { ids->data, ids->len, D, padding };
    embedding_run r = { &s, y->data, weight->data, gr_isa(t) };
    gr__parallel_rows(t, s.n, D && D < EMBEDDING_VALUES ? EMBEDDING_VALUES / D : 1, 0.1 * (double)y->len, embedding_rows, &r);
    return gr_record(t, &embedding_op, &s, sizeof s, GR_OUT(y), GR_IN(weight));
}
#endif
