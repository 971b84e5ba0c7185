/* ops/softmax.c - softmax and log_softmax along an axis of x, which has C values.                  Derivation: ops/derivations.md
 *
 * With m = max x and s = sum over j of exp(x_j - m):
 *     softmax        y_i = exp(x_i - m) / s           dx_i = y_i (dy_i - sum over j of y_j dy_j)
 *     log_softmax    y_i = (x_i - m) - log s          dx_i = dy_i - exp(y_i) sum over j of dy_j
 *
 * Shapes: y as x.   Kinks: where all x of a fibre are -inf, y is NaN.   Source: none.
 * Saved: the sizes; backward reads y. Along the last axis the C values are neighbours in memory, a row. Along another axis a tile of 16 fibres
 * is computed at once, with the same bits (ops/softmax.h). */
#include "ops/softmax.h"
#include "ops/ops.h"

/* `log` is a constant in every call: one function has the maths of both operators. */

/* ---- n rows of C values ---- */

/* How many rows are computed at a time: 16, whose logarithms are one vector, if L1 holds them. */
INLINE size_t softmax_at_once(size_t C, size_t rows) { return size_min(rows, C <= 128 ? 16 : C <= SOFTMAX_LONG ? SOFTMAX_ROWS : 1); }
INLINE void softmax_of_rows(gr_real *restrict y, const gr_real *restrict x, size_t C, size_t n, bool log)
{
    r_lanes m, s = { { 0 } };
    softmax_rows(m.v, s.v, log ? NULL : y, x, C, n); /* y is exp(x - m) now, or as it was */
    KEEP_LOOP for (size_t j = 0; j < 16; j++) s.v[j] = log ? r_log(s.v[j]) : 1 / s.v[j];
    for (size_t j = 0; j < n; j++, x += C, y += C) {
        const gr_real mj = m.v[j], sj = s.v[j];
        for (size_t i = 0; i < C; i++) y[i] = log ? x[i] - mj - sj : y[i] * sj;
    }
}

/* dx is cleared by chunks of a few rows, so it is fetched from further on (measured: 1.1 to 1.2 times as fast as without). */
INLINE void softmax_row_backward(gr_real *restrict dx, const gr_real *restrict dy, const gr_real *restrict y, size_t C, bool far, bool log)
{
    for (size_t i = 0; far && i < C; i += 16) R_FETCH(y, R_AHEAD + i), R_FETCH(dy, R_AHEAD + i), R_FETCH_TO(dx, 6 * R_AHEAD + i);
    const gr_real sum = SUM(i, C, log ? dy[i] : y[i] * dy[i]);
    for (size_t i = 0; i < C; i++) dx[i] += log ? dy[i] - r_exp_low(y[i]) * sum : y[i] * (dy[i] - sum);
}

/* ---- A tile of n fibres: value c of fibre j is at i = c * inner + j ---- */

#define TILE_EACH(c, j, i) \
    for (size_t c = 0; c < C; c++) \
        for (size_t j = 0, i = c * inner; j < n; j++, i++)

INLINE void softmax_of_tile(gr_real *restrict y, const gr_real *restrict x, size_t C, size_t inner, size_t n, bool log)
{
    r_lanes m, s;
    softmax_tile(&m, &s, log ? NULL : y, x, C, inner, n);
    for (int j = 0; j < 16; j++) s.v[j] = log ? r_log(s.v[j]) : 1 / s.v[j];
    TILE_EACH(c, j, i) y[i] = log ? x[i] - m.v[j] - s.v[j] : y[i] * s.v[j];
}

INLINE void softmax_tile_backward(gr_real *restrict dx, const gr_real *restrict dy, const gr_real *restrict y, size_t C, size_t inner, size_t n, bool log)
{
    r_lanes s[16] = { { { 0 } } };
    TILE_EACH(c, j, i) s[c % 16].v[j] += log ? dy[i] : y[i] * dy[i];
    const r_lanes sum = softmax_tree(s);
    TILE_EACH(c, j, i) dx[i] += log ? dy[i] - r_exp_low(y[i]) * sum.v[j] : y[i] * (dy[i] - sum.v[j]);
}
#undef TILE_EACH

/* ---- The groups from `group` up to `end`. A group begins at `at`: it is a row, or a tile of n fibres ---- */

#define SOFTMAX_KERNELS(op, log) \
    KERNEL(void, op##_forward, gr_real *restrict y, const gr_real *restrict x, const softmax_axis *a, size_t group, size_t end) \
    { \
        for (size_t n, at; group < end; group += a->inner == 1 ? n : 1) { \
            at = softmax_group(a, group, &n); \
            if (a->inner == 1) n = softmax_at_once(a->C, end - group), softmax_of_rows(y + at, x + at, a->C, n, log); \
            else softmax_of_tile(y + at, x + at, a->C, a->inner, n, log); \
        } \
    } \
    KERNEL(void, op##_backward, gr_real *restrict dx, const gr_real *restrict dy, const gr_real *restrict y, const softmax_axis *a, \
           size_t group, size_t end) \
    { \
        for (size_t n, at; group < end; group++) { \
            at = softmax_group(a, group, &n); \
            if (a->inner == 1) softmax_row_backward(dx + at, dy + at, y + at, a->C, a->groups * a->C >= R_FAR, log); \
            else softmax_tile_backward(dx + at, dy + at, y + at, a->C, a->inner, n, log); \
        } \
    }
SOFTMAX_KERNELS(softmax, false) SOFTMAX_KERNELS(log_softmax, true)

#if GR_HOST
typedef struct { softmax_axis axis; bool log; } softmax_saved;
typedef struct {
    const softmax_saved *s;
    gr_real *y, *dx; /* dx NULL: forward */
    bool fresh;      /* dx is not cleared yet */
    const gr_real *x, *dy;
    int isa;
} softmax_run;

static void softmax_chunk(void *argument, gr_range g)
{
    const softmax_run *r = argument;
    const softmax_axis *a = &r->s->axis;
    if (r->fresh) memset(r->dx + g.first * a->C, 0, g.count * a->C * sizeof *r->dx);
    if (r->dx) (r->s->log ? log_softmax_backward : softmax_backward)[r->isa](r->dx, r->dy, r->y, a, g.first, g.first + g.count);
    else (r->s->log ? log_softmax_forward : softmax_forward)[r->isa](r->y, r->x, a, g.first, g.first + g.count);
}

static void softmax_node(gr_tape *t, const gr_node *n)
{
    const softmax_saved *s = n->saved;
    const gr_tensor *y = n->out[0];
    softmax_run r = { .s = s, .y = y->data, .dy = gr_grad(t, y), .isa = gr_isa(t) };
    r.dx = s->axis.inner == 1 ? gr__grad_to_fill(t, n->in[0], &r.fresh) : gr_grad(t, n->in[0]); /* the groups are rows: each has its own values */
    if (r.dx) gr__parallel_rows(t, s->axis.groups, s->axis.chunk, (s->log ? 0.8 : 0.3) * (double)y->len, softmax_chunk, &r);
}
static const gr_op softmax_op = { .name = "softmax", .backward = softmax_node };
static const gr_op log_softmax_op = { .name = "log_softmax", .backward = softmax_node };

static gr_tensor *softmax_make(gr_tape *t, const gr_op *op, gr_tensor *x, int axis)
{
    if (!gr_ready(t, op, x) || (axis = gr_axis(t, op, x, axis)) < 0) return NULL;
    gr_tensor *y = gr__empty(t, op, gr_shape_of(x));
    if (!y) return NULL;
    const softmax_saved s = { softmax_axis_of(x, axis), op == &log_softmax_op };
    softmax_run r = { .s = &s, .y = y->data, .x = x->data, .isa = gr_isa(t) };
    gr__parallel_rows(t, s.axis.groups, s.axis.chunk, 0.9 * (double)x->len, softmax_chunk, &r);
    return gr_record(t, op, &s, sizeof s, GR_OUT(y), GR_IN(x));
}

gr_tensor *gr_softmax(gr_tape *t, gr_tensor *x, int axis) { return softmax_make(t, &softmax_op, x, axis); }
gr_tensor *gr_log_softmax(gr_tape *t, gr_tensor *x, int axis) { return softmax_make(t, &log_softmax_op, x, axis); }
#endif
