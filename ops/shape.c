/* ops/shape.c - operators that move values and compute nothing.
 *
 *     y[i] = x[map(i)]        dx[map(i)] += dy[i]
 * The map is a list of axes with sizes and steps (permute, transpose, flip, narrow, select, slice_step), the place of a part in the whole (cat,
 * stack, split, pad), or a broadcast (expand). Only expand repeats a value of x, so its gradient is a sum (ops/broadcast.h).
 * Shapes: what ops/ops.h says of each.   Kinks: none.   Saved: the map.   Source: none. */
#include "ops/broadcast.h"
#include "ops/ops.h"
#include "ops/strided.h"

typedef struct { gr__layout map; size_t first, first_y; } shape_saved; /* where in x and in y the map begins */

static void shape_node(gr_tape *t, const gr_node *n)
{
    const shape_saved *s = n->saved;
    bool fresh = false;
    const bool all = gr__sizes(s->map.dim, 0, s->map.rank) == n->in[0]->len; /* dx has no values that come from nowhere in y */
    gr_real *const dx = all ? gr__grad_to_fill(t, n->in[0], &fresh) : gr_grad(t, n->in[0]);
    if (dx) gr__strided_back(t, s->map, dx + s->first, gr_grad(t, n->out[0]) + s->first_y, fresh);
}

static const int own_order[GR_MAX_RANK] = { 0, 1, 2, 3, 4, 5, 6, 7 };
static shape_saved map_of(const gr_tensor *x, const int *order) { return (shape_saved){ .map = gr__layout_of(gr_shape_of(x), order) }; }

static gr_tensor *moved(gr_tape *t, const gr_op *op, gr_tensor *x, shape_saved s)
{
    gr_shape shape = { .rank = s.map.rank };
    memcpy(shape.dim, s.map.dim, sizeof shape.dim);
    gr__layout_pack(&s.map);
    gr_tensor *y = gr__empty(t, op, shape);
    if (!y) return NULL;
    gr__strided_copy(t, s.map, y->data, x->data + s.first);
    return gr_record(t, op, &s, sizeof s, GR_OUT(y), GR_IN(x));
}

/* ---- Permute, transpose, flip ---- */

static const gr_op permute_op = { .name = "permute", .backward = shape_node };
static const gr_op transpose_op = { .name = "transpose", .backward = shape_node };
static const gr_op flip_op = { .name = "flip", .backward = shape_node };

gr_tensor *gr_permute(gr_tape *t, gr_tensor *x, gr_axes order)
{
    bool marked[GR_MAX_RANK];
    if (!gr_ready(t, &permute_op, x)) return NULL;
    if (order.count != x->rank) return gr_fail(t, &permute_op, "x is %s, so the order must name %d axes; got %d", gr_shape_text(t, x), x->rank, order.count);
    if (!gr__axes_marked(t, &permute_op, x, order, marked)) return NULL;
    for (int k = 0; k < x->rank; k++) order.axis[k] = gr_axis(t, &permute_op, x, order.axis[k]);
    return moved(t, &permute_op, x, map_of(x, order.axis));
}

gr_tensor *gr_transpose(gr_tape *t, gr_tensor *x, int a, int b)
{
    int order[GR_MAX_RANK];
    if (!gr_ready(t, &transpose_op, x) || (a = gr_axis(t, &transpose_op, x, a)) < 0 || (b = gr_axis(t, &transpose_op, x, b)) < 0) return NULL;
    memcpy(order, own_order, sizeof order);
    order[a] = b, order[b] = a;
    return moved(t, &transpose_op, x, map_of(x, order));
}

gr_tensor *gr_flip(gr_tape *t, gr_tensor *x, gr_axes axes)
{
    bool marked[GR_MAX_RANK];
    if (!gr_ready(t, &flip_op, x) || !gr__axes_marked(t, &flip_op, x, axes, marked)) return NULL;
    shape_saved s = map_of(x, own_order);
    for (int k = 0; k < x->rank; k++) {
        if (!marked[k] || !x->len) continue;
        s.first += (x->dim[k] - 1) * (size_t)s.map.x[k];
        s.map.x[k] = -s.map.x[k];
    }
    return moved(t, &flip_op, x, s);
}

/* ---- Parts: narrow, select, split ---- */

static const gr_op narrow_op = { .name = "narrow", .backward = shape_node };
static const gr_op select_op = { .name = "select", .backward = shape_node };
static const gr_op slice_step_op = { .name = "slice_step", .backward = shape_node };
static const gr_op split_op = { .name = "split", .backward = shape_node };

/* The indices start, start + step .. along an axis, count of them. */
static gr_tensor *part(gr_tape *t, const gr_op *op, gr_tensor *x, int axis, size_t start, size_t count, size_t step, bool drop_axis)
{
    shape_saved s = map_of(x, own_order);
    s.map.dim[axis] = count, s.first = start * (size_t)s.map.x[axis];
    if (count > 1) s.map.x[axis] *= (ptrdiff_t)step;
    s.map.rank -= drop_axis;
    for (int k = axis; k < s.map.rank && drop_axis; k++) s.map.dim[k] = s.map.dim[k + 1], s.map.x[k] = s.map.x[k + 1];
    return moved(t, op, x, s);
}

gr_tensor *gr_narrow(gr_tape *t, gr_tensor *x, int axis, ptrdiff_t start, size_t count)
{
    if (!gr_ready(t, &narrow_op, x) || (axis = gr_axis(t, &narrow_op, x, axis)) < 0) return NULL;
    const ptrdiff_t n = (ptrdiff_t)x->dim[axis], first = start < 0 ? start + n : start;
    if (first < 0 || first > n || count > (size_t)(n - first))
        return gr_fail(t, &narrow_op, "x is %s, so axis %d has no %zu indices from %td on", gr_shape_text(t, x), axis, count, start);
    return part(t, &narrow_op, x, axis, (size_t)first, count, 1, false);
}

gr_tensor *gr_select(gr_tape *t, gr_tensor *x, int axis, ptrdiff_t index)
{
    if (!gr_ready(t, &select_op, x) || (axis = gr_axis(t, &select_op, x, axis)) < 0) return NULL;
    const ptrdiff_t n = (ptrdiff_t)x->dim[axis];
    if (index < -n || index >= n)
        return n ? gr_fail(t, &select_op, "x is %s, so an index of axis %d must be in %td .. %td; got %td", gr_shape_text(t, x), axis, -n, n - 1, index)
                 : gr_fail(t, &select_op, "x is %s, and axis %d is empty", gr_shape_text(t, x), axis);
    return part(t, &select_op, x, axis, (size_t)(index < 0 ? index + n : index), 1, 1, true);
}

/* A start or a stop as an index 0 .. n. */
static size_t slice_end(ptrdiff_t i, ptrdiff_t n) { return (size_t)(i < -n ? 0 : i < 0 ? i + n : i < n ? i : n); }

gr_tensor *gr_slice_step(gr_tape *t, gr_tensor *x, int axis, ptrdiff_t start, ptrdiff_t stop, ptrdiff_t step)
{
    if (!gr_ready(t, &slice_step_op, x) || (axis = gr_axis(t, &slice_step_op, x, axis)) < 0) return NULL;
    if (step < 1) return gr_fail(t, &slice_step_op, "step must be 1 or more; got %td. gr_flip reverses an axis", step);
    const size_t first = slice_end(start, (ptrdiff_t)x->dim[axis]), end = slice_end(stop, (ptrdiff_t)x->dim[axis]);
    return part(t, &slice_step_op, x, axis, first, end > first ? gr_chunks(end - first, (size_t)step) : 0, (size_t)step, false);
}

bool gr_split(gr_tape *t, gr_tensor *x, int axis, const size_t *sizes, size_t n, gr_tensor **out)
{
    size_t sum = 0, at = 0, i = 0;
    for (size_t k = 0; out && k < n; k++) out[k] = NULL;
    if (!gr_ready(t, &split_op, x) || (axis = gr_axis(t, &split_op, x, axis)) < 0) return false;
    if (n && !sizes) return gr_fail(t, &split_op, "the list of sizes is NULL");
    if (n && !out) return gr_fail(t, &split_op, "the list for the results is NULL");
    for (size_t k = 0; k < n; k++) gr_size_add(sum, sizes[k], &sum);
    if (sum != x->dim[axis])
        return gr_fail(t, &split_op, "x is %s, so the sizes on axis %d must add up to %zu; got %zu", gr_shape_text(t, x), axis, x->dim[axis], sum);
    for (; i < n && (out[i] = part(t, &split_op, x, axis, at, sizes[i], 1, false)); i++) at += sizes[i];
    if (i < n) while (i) out[--i] = NULL;
    return !gr_failed(t);
}

/* ---- Joining: cat and stack. A row is what one index of the axes before the joined one selects: a row of y is the rows of the inputs side by
 * side. ---- */

enum { JOIN_BLOCK = 65536 };
static gr__layout join_layout(size_t rows, size_t width, size_t y_width)
{
    return (gr__layout){ .rank = 2, .dim = { rows, width }, .y = { (ptrdiff_t)y_width, 1 }, .x = { (ptrdiff_t)width, 1 } };
}

/* How many rows are moved at a time, so that y or dy is walked in its order. */
static size_t join_rows(size_t whole, size_t left) { return whole >= JOIN_BLOCK ? 1 : JOIN_BLOCK / whole < left ? JOIN_BLOCK / whole : left; }

typedef struct { gr_real *dx; bool fresh; } join_part;
static size_t join_scratch(const gr_node *n) { return n->ins * sizeof(join_part); }
static void join_node(gr_tape *t, const gr_node *n)
{
    const size_t rows = *(const size_t *)n->saved, whole = rows ? n->out[0]->len / rows : 0;
    const gr_real *dy = gr_grad(t, n->out[0]);
    join_part *const part = (join_part *)(void *)gr_scratch(t);
    bool apart = true; /* no gradient is a part of another one, which a later block would write over */
    for (unsigned i = 0; i < n->ins && rows; i++)
        part[i].dx = gr__grad_to_fill(t, n->in[i], &part[i].fresh), apart = apart && (part[i].fresh || !part[i].dx);
    for (size_t row = 0, m; row < rows; row += m) {
        m = apart ? join_rows(whole, rows - row) : rows;
        const gr_real *from = dy + row * whole;
        for (size_t i = 0, width; i < n->ins; i++, from += width) {
            width = n->in[i]->len / rows;
            if (part[i].dx) gr__strided_back(t, join_layout(m, width, whole), part[i].dx + row * width, from, part[i].fresh);
        }
    }
}
static const gr_op cat_op = { .name = "cat", .backward = join_node, .scratch = join_scratch };
static const gr_op stack_op = { .name = "stack", .backward = join_node, .scratch = join_scratch };

static gr_tensor *join(gr_tape *t, const gr_op *op, gr_tensor *const *x, size_t n, int axis, gr_shape shape)
{
    gr_tensor *y = gr__empty(t, op, shape);
    if (!y) return NULL;
    const size_t rows = y->len ? gr__sizes(shape.dim, 0, axis) : 0, whole = rows ? y->len / rows : 0;
    for (size_t row = 0, m; row < rows; row += m) {
        m = join_rows(whole, rows - row);
        gr_real *to = y->data + row * whole;
        for (size_t i = 0, width; i < n; i++, to += width) {
            width = x[i]->len / rows;
            gr__strided_copy(t, join_layout(m, width, whole), to, x[i]->data + row * width);
        }
    }
    return gr_record(t, op, &rows, sizeof rows, GR_OUT(y), x, n);
}

gr_tensor *gr_cat(gr_tape *t, gr_tensor *const *x, size_t n, int axis)
{
    if (!n) return gr_fail(t, &cat_op, "there is nothing to join: n is 0");
    if (!gr_ready_list(t, &cat_op, x, n) || (axis = gr_axis(t, &cat_op, x[0], axis)) < 0) return NULL;
    gr_shape shape = gr_shape_of(x[0]);
    for (size_t i = 1; i < n; i++) {
        gr_shape other = gr_shape_of(x[i]);
        if (other.rank == shape.rank) gr_size_add(shape.dim[axis], other.dim[axis], &shape.dim[axis]), other.dim[axis] = x[0]->dim[axis];
        if (other.rank != shape.rank || memcmp(other.dim, x[0]->dim, (size_t)shape.rank * sizeof *other.dim))
            return gr_fail(t, &cat_op, "x[%zu] is %s and x[0] is %s: all sizes except that of axis %d must be equal", i,
                           gr_shape_text(t, x[i]), gr_shape_text(t, x[0]), axis);
    }
    return join(t, &cat_op, x, n, axis, shape);
}

gr_tensor *gr_stack(gr_tape *t, gr_tensor *const *x, size_t n, int axis)
{
    if (!n) return gr_fail(t, &stack_op, "there is nothing to join: n is 0");
    if (!gr_ready_list(t, &stack_op, x, n)) return NULL;
    const int rank = x[0]->rank + 1;
    if (axis < -rank || axis >= rank)
        return gr_fail(t, &stack_op, "x[0] is %s, so the new axis must be in %d .. %d; got %d", gr_shape_text(t, x[0]), -rank, rank - 1, axis);
    if (axis < 0) axis += rank;
    for (size_t i = 1; i < n; i++)
        if (!gr_same_shape(x[0], x[i]))
            return gr_fail(t, &stack_op, "x[%zu] is %s and x[0] is %s: the shapes must be equal", i, gr_shape_text(t, x[i]), gr_shape_text(t, x[0]));
    if (rank > GR_MAX_RANK) return gr_fail(t, &stack_op, "x[0] is %s, so the result would have more than %d axes", gr_shape_text(t, x[0]), GR_MAX_RANK);
    gr_shape shape = { .rank = rank };
    for (int k = 0; k < rank; k++) shape.dim[k] = k < axis ? x[0]->dim[k] : k == axis ? n : x[0]->dim[k - 1];
    return join(t, &stack_op, x, n, axis, shape);
}

/* ---- Pad ---- */

static const gr_op pad_op = { .name = "pad", .backward = shape_node };

static size_t above_0(ptrdiff_t i) { return i > 0 ? (size_t)i : 0; }

gr_tensor *gr_pad(gr_tape *t, gr_tensor *x, const int *sizes, size_t n, double value)
{
    if (!gr_ready(t, &pad_op, x)) return NULL;
    if (n % 2 || n / 2 > (size_t)x->rank)
        return gr_fail(t, &pad_op, "x is %s, so sizes must be pairs, for %d axes at most; got n = %zu", gr_shape_text(t, x), x->rank, n);
    if (n && !sizes) return gr_fail(t, &pad_op, "the list of sizes is NULL");
    gr_shape shape = gr_shape_of(x);
    shape_saved s = map_of(x, own_order);
    size_t stride = 1; /* of y */
    for (size_t i = 0, k = (size_t)x->rank; k-- > 0; i += 2) {
        const ptrdiff_t before = i < n ? sizes[i] : 0, after = i < n ? sizes[i + 1] : 0;
        const size_t cut = above_0(-before) + above_0(-after);
        if (cut > x->dim[k]) return gr_fail(t, &pad_op, "x is %s, so axis %zu has no %zu indices to remove", gr_shape_text(t, x), k, cut);
        s.first += above_0(-before) * (size_t)s.map.x[k], s.first_y += above_0(before) * stride;
        s.map.dim[k] = x->dim[k] - cut, s.map.y[k] = (ptrdiff_t)stride;
        shape.dim[k] = s.map.dim[k] + above_0(before) + above_0(after);
        stride *= shape.dim[k];
    }
    gr_tensor *y = gr_full(t, shape, value);
    if (!y) return NULL;
    if (x->len && y->len) gr__strided_copy(t, s.map, y->data + s.first_y, x->data + s.first);
    return gr_record(t, &pad_op, &s, sizeof s, GR_OUT(y), GR_IN(x));
}

/* ---- Expand ---- */

static void expand_node(gr_tape *t, const gr_node *n)
{
    gr_real *dx = gr_grad(t, n->in[0]);
    const gr__runs runs = gr__runs_in(gr_shape_of(n->out[0]), gr_shape_of(n->in[0]));
    if (dx) gr__runs_sum(t, &runs, gr_grad(t, n->out[0]), dx);
}
static const gr_op expand_op = { .name = "expand", .backward = expand_node };

gr_tensor *gr_expand(gr_tape *t, gr_tensor *x, gr_shape shape)
{
    if (!gr_ready(t, &expand_op, x)) return NULL;
    bool fits = shape.rank >= x->rank && shape.rank <= GR_MAX_RANK;
    for (int k = 1; k <= x->rank && fits; k++)
        fits = x->dim[x->rank - k] == 1 || x->dim[x->rank - k] == shape.dim[shape.rank - k];
    if (!fits) return gr_fail(t, &expand_op, "x is %s, which does not broadcast to %s", gr_shape_text(t, x), gr_shape_name(t, shape));
    gr_tensor *y = gr__empty(t, &expand_op, shape);
    if (!y) return NULL;
    gr__layout l = gr__layout_of(shape, own_order);
    const gr__layout from = gr__layout_of(gr_shape_of(x), own_order);
    memset(l.x, 0, sizeof l.x); /* along an axis that x lacks, every index shows the same value */
    for (int k = 1; k <= x->rank; k++)
        if (x->dim[x->rank - k] > 1) l.x[shape.rank - k] = from.x[x->rank - k];
    gr__strided_copy(t, l, y->data, x->data);
    return gr_record(t, &expand_op, NULL, 0, GR_OUT(y), GR_IN(x));
}
