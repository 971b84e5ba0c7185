/* ops/sort.c - argsort by merging, and with gather sort and topk.
 *
 *     y[i] = x[ids[i]]        dx[ids[i]] += dy[i]
 * Equal values keep their order, because a merge takes them from its left half first. topk of k values sorts whenever it has 2k, keeps the first k,
 * and from then on leaves out what does not come before the last of them. */
#include "ops/index.h"
#include "ops/ops.h"

typedef struct { uint64_t key; int id; } sort_item;
typedef struct { const gr_real *x; int *ids; size_t n, after, keep, room; bool descending; sort_item *items; } sort_call;

/* A number that grows with x, or falls if descending is true. 0 and -0 have the same, and a NaN has the largest. */
static uint64_t sort_key(gr_real x, bool descending)
{
    const double v = (double)x + 0; /* -0 + 0 is 0 */
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    const uint64_t key = v != v ? UINT64_MAX - 1 : bits >> 63 ? ~bits : bits | (uint64_t)1 << 63; /* below 0, larger bits are a smaller number */
    return descending ? ~key : key;
}

/* Sort n items. The first half moves to room, and is merged from there. */
static void sort_items(sort_item *items, size_t n, sort_item *room)
{
    size_t half = n / 2, left = 0, right = half, i = 0;
    if (n < 2) return;
    sort_items(items, half, room);
    sort_items(items + half, n - half, room);
    memcpy(room, items, half * sizeof *room);
    while (left < half && right < n) {
        const sort_item a = room[left], b = items[right];
        const bool second = b.key < a.key;
        items[i++] = second ? b : a; /* no branch, because it would be taken at random */
        left += !second, right += second;
    }
    memcpy(items + i, room + left, (half - left) * sizeof *room);
}

/* Sort row number `row` of x [before, n, after], and store the first ids. */
static void sort_task(void *argument, size_t row, int thread)
{
    const sort_call *c = argument;
    const size_t before = row / c->after, column = row % c->after;
    const gr_real *x = c->x + before * c->n * c->after + column;
    sort_item *const items = c->items + (size_t)thread * 2 * c->room;
    uint64_t limit = UINT64_MAX; /* above every key */
    size_t count = 0;
    for (size_t i = 0; i < c->n; i++) {
        if (count == c->room) sort_items(items, count, items + c->room), count = c->keep, limit = items[c->keep - 1].key;
        items[count] = (sort_item){ sort_key(x[i * c->after], c->descending), (int)i };
        count += items[count].key < limit;
    }
    sort_items(items, count, items + c->room);
    for (size_t i = 0; i < c->keep; i++) c->ids[(before * c->keep + i) * c->after + column] = items[i].id;
}

/* The ids of the first *k values along the axis; of all if k is NULL. */
static gr_ints *sorted_ids(gr_tape *t, const gr_op *op, gr_tensor *x, int axis, const size_t *k, bool descending)
{
    if (!gr_ready(t, op, x) || (axis = gr_axis(t, op, x, axis)) < 0 || !index_fits_int(t, op, x, axis)) return NULL;
    gr_shape shape = gr_shape_of(x);
    const size_t n = shape.dim[axis], keep = k ? *k : n;
    if (keep > n) return gr_fail(t, op, "x is %s, so k must be 0 .. %zu; got %zu", gr_shape_text(t, x), n, keep);
    shape.dim[axis] = keep;
    gr_ints *ids = gr_ints_new(t, NULL, shape);
    const gr_mark mark = gr_tape_mark(t);
    sort_call c = { x->data, ids ? ids->data : NULL, n, gr__sizes(x->dim, axis + 1, x->rank), keep, keep < n / 2 ? 2 * keep : n, descending, NULL };
    if (ids && ids->len) c.items = gr_save(t, (size_t)gr_tape_threads(t) * 2 * c.room * sizeof *c.items);
    if (gr_failed(t)) return NULL;
    if (ids->len) gr_parallel(t, x->len / n, 20 * (double)x->len, sort_task, &c);
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

static const gr_op argsort_name = { .name = "argsort" }, sort_name = { .name = "sort" }, topk_name = { .name = "topk" }; /* for messages */

gr_ints *gr_argsort(gr_tape *t, gr_tensor *x, int axis, bool descending) { return sorted_ids(t, &argsort_name, x, axis, NULL, descending); }
gr_sort_out gr_sort(gr_tape *t, gr_tensor *x, int axis, bool descending) { return sorted(t, &sort_name, x, axis, NULL, descending); }
gr_sort_out gr_topk(gr_tape *t, gr_tensor *x, int axis, size_t k, bool largest) { return sorted(t, &topk_name, x, axis, &k, largest); }
