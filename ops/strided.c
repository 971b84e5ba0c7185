/* ops/strided.c - copies between two arrangements of the same elements. Neighbouring axes that can be walked as one in both arrangements are
 * merged. The two innermost loops run along the axis on which y is contiguous and the axis on which x is contiguous, in square tiles, so that
 * neither side leaves the cache. */
#include "ops/strided.h"
#include "core/simd.h"

enum { STRIDED_CHUNK = 16384, STRIDED_STRIP = 4096, TILE = 16 };
typedef struct { size_t n; ptrdiff_t y, x; } span; /* n steps with these strides */
enum { STRIDED_COPY, STRIDED_ADD, STRIDED_CLEAR }; /* kinds: y = x, y += x, y = 0 + x */

#define STRIDED_ROW(n, to, from) \
    do { \
        if (kind == STRIDED_COPY) for (size_t j = 0; j < n; j++) to = from; \
        else if (kind == STRIDED_ADD) for (size_t j = 0; j < n; j++) to += from; \
        else for (size_t j = 0; j < n; j++) to = 0 + from; \
    } while (0)

/* y [TILE, TILE] with rows a.y apart, from x with columns b.x apart. The tile to the right is prefetched: the processor does not foresee steps so wide. */
INLINE void strided_turn(gr_real *restrict y, const gr_real *restrict x, span a, span b, int kind)
{
    for (ptrdiff_t r = 0; r < TILE; r++) R_FETCH(x, (TILE + r) * b.x), R_FETCH_TO(y, TILE + r * a.y);
    for (size_t i = 0; i < TILE; i += V_TURN, y += V_TURN * a.y)
        for (size_t j = 0; j < TILE; j += R_WIDTH) {
            r_vec rows[V_TURN];
            gr_real *to = y + j;
            v_turn(rows, x + (ptrdiff_t)i + (ptrdiff_t)j * b.x, (size_t)b.x, V_TURN);
            for (size_t r = 0; r < V_TURN; r++, to += a.y)
                v_store(to, kind == STRIDED_COPY ? rows[r] : (kind == STRIDED_ADD ? v_load(to) : v_set(0)) + rows[r]);
        }
}

KERNEL(void, strided_move, gr_real *restrict y, const gr_real *restrict x, const span *a, const span *b, int kind)
{
    const bool rows = b->y == 1 && b->x >= -1 && b->x <= 1, turns = b->y == 1 && a->x == 1 && b->x > 0;
    for (size_t j0 = 0; j0 < b->n; j0 += rows ? b->n : TILE)
        for (size_t i0 = 0; i0 < a->n; i0 += rows ? 1 : TILE) {
            const size_t m = rows ? 1 : a->n - i0 < TILE ? a->n - i0 : TILE, n = rows ? b->n : b->n - j0 < TILE ? b->n - j0 : TILE;
            gr_real *restrict to = y + (ptrdiff_t)i0 * a->y + (ptrdiff_t)j0 * b->y;
            const gr_real *restrict from = x + (ptrdiff_t)i0 * a->x + (ptrdiff_t)j0 * b->x;
            if (turns && m == TILE && n == TILE) strided_turn(to, from, *a, *b, kind);
            else if (rows && b->x == 1) STRIDED_ROW(n, to[j], from[j]);
            else if (rows && b->x == 0) STRIDED_ROW(n, to[j], *from);
            else if (rows) STRIDED_ROW(n, to[j], from[-(ptrdiff_t)j]);
            else
                for (size_t i = 0; i < m; i++, to += a->y, from += a->x) STRIDED_ROW(n, to[(ptrdiff_t)j * b->y], from[(ptrdiff_t)j * b->x]);
        }
}

#if GR_HOST
void gr__layout_pack(gr__layout *l)
{
    size_t stride = 1; /* beside an axis of size 0 it may wrap around */
    for (int k = l->rank - 1; k >= 0; k--) l->y[k] = (ptrdiff_t)stride, stride *= l->dim[k];
}

gr__layout gr__layout_of(gr_shape x, const int *order)
{
    gr__layout own = { .rank = x.rank }, l = own;
    memcpy(own.dim, x.dim, sizeof own.dim);
    gr__layout_pack(&own);
    for (int k = 0; k < x.rank; k++) l.dim[k] = x.dim[order[k]], l.x[k] = own.y[order[k]];
    gr__layout_pack(&l);
    return l;
}

bool gr__axes_marked(gr_tape *t, const gr_op *op, const gr_tensor *x, gr_axes axes, bool marked[GR_MAX_RANK])
{
    for (int k = 0; k < GR_MAX_RANK; k++) marked[k] = axes.count == 0 && k < x->rank;
    if (axes.count < 0 || axes.count > GR_MAX_RANK) return gr_fail(t, op, "there can be %d axes at most; got %d", GR_MAX_RANK, axes.count);
    for (int k = 0; k < axes.count; k++) {
        const int axis = gr_axis(t, op, x, axes.axis[k]);
        if (axis < 0) return false;
        if (marked[axis]) return gr_fail(t, op, "axis %d is given twice", axis);
        marked[axis] = true;
    }
    return true;
}

/* ---- The loops ---- */

typedef struct {
    gr__layout l;                   /* the outer axes */
    span a, b;                      /* the two inner ones */
    gr_real *y;
    const gr_real *x;
    int kind, isa;
    size_t strip, strips;           /* axis a is cut into `strips` strips of `strip` steps; the last may be shorter */
} strided_call;

/* A unit is one strip at one outer index. */
static void strided_task(void *argument, gr_range units)
{
    const strided_call *c = argument;
    for (size_t unit = units.first; unit < units.first + units.count; unit++) {
        const gr_range strip = gr_chunk(unit % c->strips, c->strip, c->a.n);
        ptrdiff_t y = (ptrdiff_t)strip.first * c->a.y, x = (ptrdiff_t)strip.first * c->a.x;
        for (size_t k = (size_t)c->l.rank, index = unit / c->strips; k-- > 0; index /= c->l.dim[k]) {
            const ptrdiff_t i = (ptrdiff_t)(index % c->l.dim[k]);
            y += i * c->l.y[k], x += i * c->l.x[k];
        }
        strided_move[c->isa](c->y + y, c->x + x, &(span){ strip.count, c->a.y, c->a.x }, &c->b, c->kind);
    }
}

/* Turn axes around so that y moves forward along each of them. */
static void turn(gr__layout *l, gr_real **y, const gr_real **x)
{
    for (int k = 0; k < l->rank; k++) {
        if (l->y[k] >= 0) continue;
        *y += (ptrdiff_t)(l->dim[k] - 1) * l->y[k], *x += (ptrdiff_t)(l->dim[k] - 1) * l->x[k];
        l->y[k] = -l->y[k], l->x[k] = -l->x[k];
    }
}

/* Drop axes of size 1 and merge neighbours that are one axis on both sides. */
static void merge(gr__layout *l)
{
    int n = 0;
    for (int k = 0; k < l->rank; k++) {
        const ptrdiff_t dim = (ptrdiff_t)l->dim[k];
        if (dim == 1) continue;
        const bool same = n && l->y[n - 1] == dim * l->y[k] && l->x[n - 1] == dim * l->x[k];
        if (same) l->dim[n - 1] *= l->dim[k];
        else l->dim[n++] = l->dim[k];
        l->y[n - 1] = l->y[k], l->x[n - 1] = l->x[k];
    }
    l->rank = n;
}

/* Take an axis out of l: the one along which the stride is 1, or the last one if there is none. */
static span take(gr__layout *l, const ptrdiff_t *strides)
{
    if (!l->rank) return (span){ 1, 1, 1 };
    int k = l->rank - 1;
    for (int i = 0; i < l->rank; i++)
        if (strides[i] == 1) k = i;
    const span s = { l->dim[k], l->y[k], l->x[k] };
    for (l->rank--; k < l->rank; k++) l->dim[k] = l->dim[k + 1], l->y[k] = l->y[k + 1], l->x[k] = l->x[k + 1];
    return s;
}

static void strided_run(gr_tape *t, gr__layout l, gr_real *y, const gr_real *x, int kind)
{
    if (!gr__sizes(l.dim, 0, l.rank)) return;
    turn(&l, &y, &x);
    merge(&l);
    strided_call c = { .y = y, .x = x, .kind = kind, .isa = gr_isa(t) };
    c.b = take(&l, l.y), c.a = take(&l, l.x), c.l = l;
    const size_t outer = gr__sizes(l.dim, 0, l.rank), tiles = (c.b.x == 1 ? STRIDED_CHUNK : STRIDED_STRIP) / TILE / c.b.n;
    /* From memory a line of x comes together with its neighbour: two tiles side by side read both. From a cache one tile is 1.4 times as fast. */
    c.strip = TILE * (tiles > 1 ? tiles : c.a.n < 4 * TILE || outer * c.a.n * c.b.n < R_FAR ? 1 : 2);
    if (c.strip > c.a.n) c.strip = c.a.n;
    c.strips = gr_chunks(c.a.n, c.strip);
    const size_t to_a_chunk = c.strip * c.b.n < STRIDED_CHUNK ? STRIDED_CHUNK / (c.strip * c.b.n) : 1;
    gr__parallel_rows(t, outer * c.strips, to_a_chunk, 0.5 * (double)(outer * c.a.n * c.b.n), strided_task, &c);
}

void gr__strided_copy(gr_tape *t, gr__layout l, gr_real *y, const gr_real *x) { strided_run(t, l, y, x, STRIDED_COPY); }
void gr__strided_back(gr_tape *t, gr__layout l, gr_real *dx, const gr_real *dy, bool fresh)
{
    gr__layout back = l;
    memcpy(back.y, l.x, sizeof back.y), memcpy(back.x, l.y, sizeof back.x);
    strided_run(t, back, dx, dy, fresh ? STRIDED_CLEAR : STRIDED_ADD);
}
#endif
