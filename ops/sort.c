/* ops/sort.c - argsort by merging, and with gather sort and topk.
 *
 *     y[i] = x[ids[i]]        dx[ids[i]] += dy[i]
 * Runs of 1, 2, 4 .. values are merged in pairs. The left one goes first among equals, so that equal values keep their order. topk keeps only
 * the first k values of each run: this takes n log k comparisons. */
#include "ops/index.h"
#include "ops/ops.h"

typedef struct { gr_real value; int id; } sort_item;
typedef struct { const gr_real *x; int *ids; size_t n, inner, keep; bool descending; sort_item *room; } sort_call;

/* Whether b must stand before a, which comes first in x. A NaN is larger than every number. */
static inline bool sort_swaps(gr_real a, gr_real b, bool descending)
{
    const gr_real low = descending ? a : b, high = descending ? b : a;
    return low < high || (high != high && low == low);
}

/* The first `keep` items of two sorted runs. */
static void sort_merge(sort_item *to, size_t keep, const sort_item *a, const sort_item *a_end, const sort_item *b, const sort_item *b_end, bool descending)
{
    for (; keep && (a < a_end || b < b_end); keep--) *to++ = a == a_end || (b < b_end && sort_swaps(a->value, b->value, descending)) ? *b++ : *a++;
}

static size_t sort_least(size_t a, size_t b) { return a < b ? a : b; }

/* Sort row number `row` of x [outer, n, inner], and store the first ids. */
static void sort_task(void *argument, size_t row, int thread)
{
    const sort_call *c = argument;
    const size_t n = c->n, keep = c->keep, outer = row / c->inner, column = row % c->inner;
    const gr_real *x = c->x + outer * n * c->inner + column;
    sort_item *a = c->room + (size_t)thread * 2 * n, *b = a + n, *other;
    for (size_t i = 0; i < n; i++) a[i] = (sort_item){ x[i * c->inner], (int)i };
    for (size_t w = 1; w < n; w *= 2, other = a, a = b, b = other)
        for (size_t i = 0; i < n; i += 2 * w) {
            const size_t middle = sort_least(i + w, n), end = sort_least(middle + w, n);
            sort_merge(b + i, keep, a + i, a + i + sort_least(keep, middle - i), a + middle, a + middle + sort_least(keep, end - middle), c->descending);
        }
    for (size_t i = 0; i < keep; i++) c->ids[(outer * keep + i) * c->inner + column] = a[i].id;
}

/* The ids of the first *k values along the axis; of all if k is NULL. */
static gr_ints *sorted_ids(gr_tape *t, const gr_op *op, gr_tensor *x, int axis, const size_t *k, bool descending)
{
    if (!gr_ready(t, op, x) || (axis = gr_axis(t, op, x, axis)) < 0 || !index_fits_int(t, op, x, axis)) return NULL;
    gr_shape shape = gr_shape_of(x);
    sort_call c = { x->data, NULL, shape.dim[axis], 1, k ? *k : shape.dim[axis], descending, NULL };
    if (c.keep > c.n) return gr_fail(t, op, "x is %s, so k must be 0 .. %zu; got %zu", gr_shape_text(t, x), c.n, c.keep);
    shape.dim[axis] = c.keep;
    gr_ints *ids = gr_ints_new(t, NULL, shape);
    const gr_mark mark = gr_tape_mark(t);
    for (int a = axis + 1; a < x->rank; a++) c.inner *= x->dim[a];
    if (x->len) c.room = gr_save(t, (size_t)gr_tape_threads(t) * 2 * c.n * sizeof *c.room);
    if (gr_failed(t)) return NULL;
    c.ids = ids->data;
    if (x->len) gr_parallel(t, x->len / c.n, 40 * (double)x->len, sort_task, &c);
    gr_tape_rewind(t, mark);
    gr_record(t, op, NULL, 0, GR_OUT(NULL), GR_IN(x));
    return gr_failed(t) ? NULL : ids;
}

static gr_sort_out sorted(gr_tape *t, const gr_op *op, gr_tensor *x, int axis, const size_t *k, bool descending)
{
    gr_ints *ids = sorted_ids(t, op, x, axis, k, descending);
    gr_tensor *values = ids ? gr_gather(t, x, axis, ids) : NULL;
    return (gr_sort_out){ values, values ? ids : NULL };
}

gr_ints *gr_argsort(gr_tape *t, gr_tensor *x, int axis, bool descending)
{
    static const gr_op op = { .name = "argsort" };
    return sorted_ids(t, &op, x, axis, NULL, descending);
}
gr_sort_out gr_sort(gr_tape *t, gr_tensor *x, int axis, bool descending)
{
    static const gr_op op = { .name = "sort" };
    return sorted(t, &op, x, axis, NULL, descending);
}
gr_sort_out gr_topk(gr_tape *t, gr_tensor *x, int axis, size_t k, bool largest)
{
    static const gr_op op = { .name = "topk" };
    return sorted(t, &op, x, axis, &k, largest);
}
