/* ops/pick.c - integers pick values along an axis: gather, scatter_add, index_select, one_hot.
 *
 *     gather        y[.., i, ..] = x[.., ids[.., i, ..], ..]             dx[.., ids[.., i, ..], ..] += dy[.., i, ..]
 *     scatter_add   y = x; y[.., ids[.., i, ..], ..] += src[.., i, ..]   dx += dy        dsrc[.., i, ..] += dy[.., ids[.., i, ..], ..]
 * Each is the other's backward. Both add in the order of the ids. Saved: the address of the ids.
 * index_select is an embedding whose rows are the indices of the axis. */
#include "ops/index.h"
#include "ops/ops.h"
#include <string.h>

typedef struct {
    const int *ids;
    size_t dim[GR_MAX_RANK], stride[GR_MAX_RANK]; /* the sizes of ids, the strides of the tensor in which they pick */
    int rank, axis;
} pick_saved;

/* A walk over the ids in their order: at is the position on every axis but the picked one, and base its offset in the tensor. */
typedef struct { size_t at[GR_MAX_RANK], base; } pick_walk;

static size_t pick_place(const pick_saved *s, const pick_walk *w, size_t i) { return w->base + (size_t)s->ids[i] * s->stride[s->axis]; }

static void pick_next(const pick_saved *s, pick_walk *w)
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

/* The checks that gather and scatter_add share, and what they save; false on an error. */
static bool pick_ready(gr_tape *t, const gr_op *op, const gr_tensor *x, int axis, const gr_ints *ids, pick_saved *s)
{
    if ((axis = gr_axis(t, op, x, axis)) < 0 || !index_alive(t, op, ids)) return false;
    bool fits = ids->rank == x->rank;
    for (int a = 0; fits && a < x->rank; a++) fits = a == axis || ids->dim[a] <= x->dim[a];
    if (!fits)
        return gr_fail(t, op, "x is %s, so ids must have rank %d and be no larger than x except on axis %d; got %s", gr_shape_text(t, x), x->rank,
                       axis, gr_shape_name(t, index_shape(ids)));
    if (!index_below(t, op, ids, x->dim[axis], "x", x)) return false;
    *s = (pick_saved){ .ids = ids->data, .rank = x->rank, .axis = axis };
    memcpy(s->dim, ids->dim, sizeof s->dim);
    for (size_t a = (size_t)x->rank, stride = 1; a-- > 0; stride *= x->dim[a]) s->stride[a] = stride;
    return true;
}

/* ---- gather ---- */

static void gather_node(gr_tape *t, const gr_node *n)
{
    const gr_real *dy = gr_grad(t, n->out[0]);
    gr_real *dx = gr_grad(t, n->in[0]);
    pick_walk w = { 0 };
    for (size_t i = 0; dx && i < n->out[0]->len; i++, pick_next(n->saved, &w)) dx[pick_place(n->saved, &w, i)] += dy[i];
}
static const gr_op gather_op = { .name = "gather", .backward = gather_node };

gr_tensor *gr_gather(gr_tape *t, gr_tensor *x, int axis, const gr_ints *ids)
{
    pick_saved s;
    if (!gr_ready(t, &gather_op, x) || !pick_ready(t, &gather_op, x, axis, ids, &s)) return NULL;
    gr_tensor *y = gr_empty(t, index_shape(ids));
    if (!y) return NULL;
    pick_walk w = { 0 };
    for (size_t i = 0; i < ids->len; i++, pick_next(&s, &w)) y->data[i] = x->data[pick_place(&s, &w, i)];
    return gr_record(t, &gather_op, &s, sizeof s, GR_OUT(y), GR_IN(x));
}

/* ---- scatter_add ---- */

static void scatter_add_node(gr_tape *t, const gr_node *n)
{
    const gr_real *dy = gr_grad(t, n->out[0]);
    gr_real *dx = gr_grad(t, n->in[0]), *dsrc = gr_grad(t, n->in[1]);
    for (size_t i = 0; dx && i < n->in[0]->len; i++) dx[i] += dy[i];
    pick_walk w = { 0 };
    for (size_t i = 0; dsrc && i < n->in[1]->len; i++, pick_next(n->saved, &w)) dsrc[i] += dy[pick_place(n->saved, &w, i)];
}
static const gr_op scatter_add_op = { .name = "scatter_add", .backward = scatter_add_node };

gr_tensor *gr_scatter_add(gr_tape *t, gr_tensor *x, int axis, const gr_ints *ids, gr_tensor *src)
{
    pick_saved s;
    if (!gr_ready(t, &scatter_add_op, x, src) || !pick_ready(t, &scatter_add_op, x, axis, ids, &s)) return NULL;
    bool fits = src->rank == ids->rank;
    for (int a = 0; fits && a < ids->rank; a++) fits = ids->dim[a] <= src->dim[a];
    if (!fits)
        return gr_fail(t, &scatter_add_op, "ids is %s, so src must have rank %d and be no smaller; got %s", gr_shape_name(t, index_shape(ids)),
                       ids->rank, gr_shape_text(t, src));
    for (int a = 0; a < ids->rank; a++)
        if (src && src->dim[a] > ids->dim[a]) src = gr_narrow(t, src, a, 0, ids->dim[a]); /* of the rest nothing is added */
    gr_tensor *y = gr_empty_like(t, x);
    if (!y || !src) return NULL;
    memcpy(y->data, x->data, x->len * sizeof *y->data);
    pick_walk w = { 0 };
    for (size_t i = 0; i < ids->len; i++, pick_next(&s, &w)) y->data[pick_place(&s, &w, i)] += src->data[i];
    return gr_record(t, &scatter_add_op, &s, sizeof s, GR_OUT(y), GR_IN(x, src));
}

/* ---- index_select, one_hot ---- */

gr_tensor *gr_index_select(gr_tape *t, gr_tensor *x, int axis, const gr_ints *ids)
{
    static const gr_op op = { .name = "index_select" };
    if (!gr_ready(t, &op, x) || (axis = gr_axis(t, &op, x, axis)) < 0 || !index_alive(t, &op, ids)) return NULL;
    if (ids->rank != 1) return gr_fail(t, &op, "ids must have one axis; got %s", gr_shape_name(t, index_shape(ids)));
    if (!index_below(t, &op, ids, x->dim[axis], "x", x)) return NULL;
    gr_shape shape = gr_shape_of(x); /* with the axis in front */
    size_t row = 1;
    shape.dim[axis] = x->dim[0], shape.dim[0] = ids->len;
    for (int k = 1; k < shape.rank; k++) row *= shape.dim[k];
    gr_tensor *table = gr_reshape(t, axis ? gr_transpose(t, x, 0, axis) : x, GR_SHAPE(x->dim[axis], row));
    gr_tensor *y = gr_reshape(t, gr_embedding(t, table, ids, GR_NONE), shape);
    return axis ? gr_transpose(t, y, 0, axis) : y;
}

gr_tensor *gr_one_hot(gr_tape *t, const gr_ints *ids, size_t classes)
{
    static const gr_op op = { .name = "one_hot" };
    if (gr_failed(t) || !index_alive(t, &op, ids)) return NULL;
    if (ids->rank == GR_MAX_RANK)
        return gr_fail(t, &op, "ids is %s, so the result would have more than %d axes", gr_shape_name(t, index_shape(ids)), GR_MAX_RANK);
    if (!index_below(t, &op, ids, classes, NULL, NULL)) return NULL;
    gr_shape shape = index_shape(ids);
    shape.dim[shape.rank++] = classes;
    gr_tensor *y = gr_zeros(t, shape);
    for (size_t i = 0; y && i < ids->len; i++) y->data[i * classes + (size_t)ids->data[i]] = 1;
    return y;
}
