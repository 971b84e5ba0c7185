/* ops/pick.c - integers pick values along an axis: gather, scatter_add, index_select, one_hot.
 *
 *     gather        y[.., i, ..] = x[.., ids[.., i, ..], ..]             dx[.., ids[.., i, ..], ..] += dy[.., i, ..]
 *     scatter_add   y = x; y[.., ids[.., i, ..], ..] += src[.., i, ..]   dx += dy        dsrc[.., i, ..] += dy[.., ids[.., i, ..], ..]
 * Shapes: ids and gather's y alike; scatter_add's y as x.   Kinks: none.   Saved: the address of the ids.   Source: none.
 * Each is the other's backward. Both add in the order of the ids.
 * index_select is an embedding whose rows are the indices of axis 0. Along another axis it is gather. */
#include "ops/index.h"
#include "ops/ops.h"
#include "ops/parts.h"

/* ---- gather, scatter_add ---- */

typedef struct {
    const int *ids;
    size_t len, dim[GR_MAX_RANK], stride[GR_MAX_RANK]; /* of ids: how many, sizes; the strides of the tensor in which they pick */
    int rank, axis;
} pick_saved;

typedef enum { PICK_COPY, PICK_ADD, PICK_ADD_BACK } pick_kind; /* y = x, y += x, x += y */

/* For each id in turn: y[i] and the value of x that it picks. */
static void pick(const pick_saved *s, gr_real *y, gr_real *x, pick_kind kind)
{
    const size_t last = (size_t)s->rank - 1, n = s->dim[last], axis = (size_t)s->axis, step = last != axis;
    for (size_t row = 0; row < s->len; row += n) { /* along the last axis */
        gr_real *at = x;
        for (size_t a = last, index = row / n; a-- > 0; index /= s->dim[a])
            if (a != axis) at += index % s->dim[a] * s->stride[a];
        for (size_t i = row; i < row + n; i++, at += step) {
            gr_real *const picked = at + (size_t)s->ids[i] * s->stride[axis];
            if (kind == PICK_COPY) y[i] = *picked;
            else if (kind == PICK_ADD) y[i] += *picked;
            else *picked += y[i];
        }
    }
}

/* The checks that gather and scatter_add share, and what they save; false on an error. */
static bool pick_ready(gr_tape *t, const gr_op *op, const gr_tensor *x, int axis, const gr_ints *ids, pick_saved *s)
{
    if ((axis = gr_axis(t, op, x, axis)) < 0 || !gr__ints_ready(t, op, "ids", ids)) return false;
    bool fits = ids->rank == x->rank;
    for (int a = 0; fits && a < x->rank; a++) fits = a == axis || ids->dim[a] <= x->dim[a];
    if (!fits)
        return gr_fail(t, op, "x is %s, so ids must have rank %d and be no larger than x except on axis %d; got %s", gr_shape_text(t, x), x->rank,
                       axis, gr_shape_name(t, gr__ints_shape(ids)));
    if (!index_below(t, op, ids, "x", x, axis)) return false;
    *s = (pick_saved){ .ids = ids->data, .len = ids->len, .rank = x->rank, .axis = axis };
    memcpy(s->dim, ids->dim, sizeof s->dim);
    for (size_t a = (size_t)x->rank, stride = 1; a-- > 0; stride *= x->dim[a]) s->stride[a] = stride;
    return true;
}

static void gather_node(gr_tape *t, const gr_node *n)
{
    gr_real *dx = gr_grad(t, n->in[0]);
    if (dx) pick(n->saved, gr_grad(t, n->out[0]), dx, PICK_ADD_BACK);
}
static const gr_op gather_op = { .name = "gather", .backward = gather_node };

gr_tensor *gr_gather(gr_tape *t, gr_tensor *x, int axis, const gr_ints *ids)
{
    pick_saved s;
    if (!gr_ready(t, &gather_op, x) || !pick_ready(t, &gather_op, x, axis, ids, &s)) return NULL;
    gr_tensor *y = gr__empty(t, &gather_op, gr__ints_shape(ids));
    if (!y) return NULL;
    pick(&s, y->data, x->data, PICK_COPY);
    return gr_record(t, &gather_op, &s, sizeof s, GR_OUT(y), GR_IN(x));
}

static void scatter_add_node(gr_tape *t, const gr_node *n)
{
    gr_real *dy = gr_grad(t, n->out[0]), *dx = gr_grad(t, n->in[0]), *dsrc = gr_grad(t, n->in[1]);
    if (dx) gr__add_parts(t, dx, dy, 1, 0, n->in[0]->len);
    if (dsrc) pick(n->saved, dsrc, dy, PICK_ADD);
}
static const gr_op scatter_add_op = { .name = "scatter_add", .backward = scatter_add_node };

gr_tensor *gr_scatter_add(gr_tape *t, gr_tensor *x, int axis, const gr_ints *ids, gr_tensor *src)
{
    pick_saved s;
    if (!gr_ready(t, &scatter_add_op, x, src) || !pick_ready(t, &scatter_add_op, x, axis, ids, &s)) return NULL;
    if (!gr__shapes_are_equal(gr_shape_of(src), gr__ints_shape(ids)))
        return gr_fail(t, &scatter_add_op, "ids is %s, so src must have this shape; got %s", gr_shape_name(t, gr__ints_shape(ids)), gr_shape_text(t, src));
    gr_tensor *y = gr_input(t, x->data, gr_shape_of(x));
    if (!y) return NULL;
    pick(&s, src->data, y->data, PICK_ADD_BACK);
    return gr_record(t, &scatter_add_op, &s, sizeof s, GR_OUT(y), GR_IN(x, src));
}

/* ---- index_select, one_hot ---- */

gr_tensor *gr_index_select(gr_tape *t, gr_tensor *x, int axis, const gr_ints *ids)
{
    static const gr_op op = { .name = "index_select" };
    if (!gr_ready(t, &op, x) || (axis = gr_axis(t, &op, x, axis)) < 0 || !gr__ints_ready(t, &op, "ids", ids)) return NULL;
    if (ids->rank != 1) return gr_fail(t, &op, "ids must have one axis; got %s", gr_shape_name(t, gr__ints_shape(ids)));
    if (!index_below(t, &op, ids, "x", x, axis)) return NULL;
    gr_shape shape = gr_shape_of(x);
    const size_t after = gr__sizes(x->dim, axis + 1, x->rank);
    shape.dim[axis] = ids->len;
    if (!axis) return gr_reshape(t, gr_embedding(t, gr_reshape(t, x, GR_SHAPE(x->dim[0], after)), ids, GR_NONE), shape);
    gr_ints *each = gr_ints_new(t, NULL, shape); /* the id of each value of y */
    for (size_t i = 0; each && i < each->len;)
        for (size_t j = 0; j < ids->len; j++)
            for (size_t k = 0; k < after; k++) each->data[i++] = ids->data[j];
    return gr_gather(t, x, axis, each);
}

gr_tensor *gr_one_hot(gr_tape *t, const gr_ints *ids, size_t classes)
{
    static const gr_op op = { .name = "one_hot" };
    if (gr_failed(t) || !gr__ints_ready(t, &op, "ids", ids)) return NULL;
    if (ids->rank == GR_MAX_RANK)
        return gr_fail(t, &op, "ids is %s, so the result would have more than %d axes", gr_shape_name(t, gr__ints_shape(ids)), GR_MAX_RANK);
    gr_shape shape = gr__ints_shape(ids);
    shape.dim[shape.rank++] = classes;
    gr_tensor *y = gr_zeros(t, shape);
    if (!y || !index_below(t, &op, ids, "the result", y, ids->rank)) return NULL;
    for (size_t i = 0; i < ids->len; i++) y->data[i * classes + (size_t)ids->data[i]] = 1;
    return y;
}
