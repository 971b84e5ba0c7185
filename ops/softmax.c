/* ops/softmax.c - softmax and log_softmax along an axis of x.
 *
 * softmax:
 *     y_i = exp(x_i - m) / s,   m = max x,   s = sum over j of exp(x_j - m)
 *     dx  = y * (dy - sum(y * dy))
 * log_softmax:
 *     y_i = (x_i - m) - log s
 *     dx  = dy - exp(y) * sum(dy)
 * Saved: nothing but y. Along the last axis C values are neighbours, a row; along another axis 16 fibres that lie side by side are computed
 * at once, a tile. Both give the same bits: ops/softmax.h. */
#include "ops/softmax.h"
#include "ops/ops.h"

/* ---- A row of C values ---- */

INLINE void softmax_row(gr_real *restrict y, const gr_real *restrict x, size_t C)
{
    const gr_real m = softmax_max(x, C), per = 1 / softmax_sum(y, x, m, C); /* y is exp(x - m) now */
    for (size_t i = 0; i < C; i++) y[i] *= per;
}

INLINE void softmax_row_backward(gr_real *restrict dx, const gr_real *restrict dy, const gr_real *restrict y, size_t C)
{
    const gr_real sum = SUM(i, C, y[i] * dy[i]);
    for (size_t i = 0; i < C; i++) dx[i] += y[i] * (dy[i] - sum);
}

INLINE void log_softmax_row(gr_real *restrict y, const gr_real *restrict x, size_t C)
{
    const gr_real m = softmax_max(x, C), log_s = r_log(softmax_sum(NULL, x, m, C));
    for (size_t i = 0; i < C; i++) y[i] = x[i] - m - log_s;
}

INLINE void log_softmax_row_backward(gr_real *restrict dx, const gr_real *restrict dy, const gr_real *restrict y, size_t C)
{
    const gr_real sum = SUM(i, C, dy[i]);
    for (size_t i = 0; i < C; i++) dx[i] += dy[i] - r_exp(y[i]) * sum;
}

/* ---- The same for a tile of n fibres: value c of fibre j is at i = c * inner + j ---- */

#define TILE_EACH(c, j, i) \
    for (size_t c = 0; c < C; c++) \
        for (size_t j = 0, i = c * inner; j < n; j++, i++)

INLINE void softmax_of_tile(gr_real *restrict y, const gr_real *restrict x, size_t C, size_t inner, size_t n)
{
    r_lanes m, s;
    softmax_tile(&m, &s, y, x, C, inner, n);
    for (int j = 0; j < 16; j++) s.v[j] = 1 / s.v[j];
    TILE_EACH(c, j, i) y[i] *= s.v[j];
}

INLINE void softmax_of_tile_backward(gr_real *restrict dx, const gr_real *restrict dy, const gr_real *restrict y, size_t C, size_t inner, size_t n)
{
    r_lanes s[16] = { { { 0 } } };
    TILE_EACH(c, j, i) s[c % 16].v[j] += y[i] * dy[i];
    const r_lanes sum = softmax_tree(s);
    TILE_EACH(c, j, i) dx[i] += y[i] * (dy[i] - sum.v[j]);
}

INLINE void log_softmax_of_tile(gr_real *restrict y, const gr_real *restrict x, size_t C, size_t inner, size_t n)
{
    r_lanes m, s;
    softmax_tile(&m, &s, NULL, x, C, inner, n);
    for (int j = 0; j < 16; j++) s.v[j] = r_log(s.v[j]);
    TILE_EACH(c, j, i) y[i] = x[i] - m.v[j] - s.v[j];
}

INLINE void log_softmax_of_tile_backward(gr_real *restrict dx, const gr_real *restrict dy, const gr_real *restrict y, size_t C, size_t inner,
                                         size_t n)
{
    r_lanes s[16] = { { { 0 } } };
    TILE_EACH(c, j, i) s[c % 16].v[j] += dy[i];
    const r_lanes sum = softmax_tree(s);
    TILE_EACH(c, j, i) dx[i] += dy[i] - r_exp(y[i]) * sum.v[j];
}
#undef TILE_EACH

/* ---- Groups from `group` on, to `end`: rows where the axis is the last, else tiles ---- */

KERNEL(void, softmax_forward, gr_real *restrict y, const gr_real *restrict x, const softmax_axis *a, size_t group, size_t end)
{
    for (; group < end; group++) {
        size_t n;
        const size_t at = softmax_group(a, group, &n);
        if (a->inner == 1) softmax_row(y + at, x + at, a->C);
        else softmax_of_tile(y + at, x + at, a->C, a->inner, n);
    }
}

KERNEL(void, softmax_backward, gr_real *restrict dx, const gr_real *restrict dy, const gr_real *restrict y, const softmax_axis *a,
       size_t group, size_t end)
{
    for (; group < end; group++) {
        size_t n;
        const size_t at = softmax_group(a, group, &n);
        if (a->inner == 1) softmax_row_backward(dx + at, dy + at, y + at, a->C);
        else softmax_of_tile_backward(dx + at, dy + at, y + at, a->C, a->inner, n);
    }
}

KERNEL(void, log_softmax_forward, gr_real *restrict y, const gr_real *restrict x, const softmax_axis *a, size_t group, size_t end)
{
    for (; group < end; group++) {
        size_t n;
        const size_t at = softmax_group(a, group, &n);
        if (a->inner == 1) log_softmax_row(y + at, x + at, a->C);
        else log_softmax_of_tile(y + at, x + at, a->C, a->inner, n);
    }
}

KERNEL(void, log_softmax_backward, gr_real *restrict dx, const gr_real *restrict dy, const gr_real *restrict y, const softmax_axis *a,
       size_t group, size_t end)
{
    for (; group < end; group++) {
        size_t n;
        const size_t at = softmax_group(a, group, &n);
        if (a->inner == 1) log_softmax_row_backward(dx + at, dy + at, y + at, a->C);
        else log_softmax_of_tile_backward(dx + at, dy + at, y + at, a->C, a->inner, n);
    }
}

#if GR_HOST
typedef void softmax_forward_kernel(gr_real *y, const gr_real *x, const softmax_axis *a, size_t group, size_t end);
typedef void softmax_backward_kernel(gr_real *dx, const gr_real *dy, const gr_real *y, const softmax_axis *a, size_t group, size_t end);
typedef struct {
    softmax_forward_kernel *forward;
    softmax_backward_kernel *backward;
    const softmax_axis *axis;
    gr_real *y, *dx;
    const gr_real *x, *dy;
} softmax_run;

static void softmax_chunk(void *argument, size_t chunk, int thread)
{
    const softmax_run *r = argument;
    const gr_range g = gr_chunk(chunk, r->axis->chunk, r->axis->groups);
    (void)thread;
    if (r->forward) r->forward(r->y, r->x, r->axis, g.first, g.first + g.count);
    else r->backward(r->dx, r->dy, r->y, r->axis, g.first, g.first + g.count);
}

static void softmax_back(gr_tape *t, const gr_node *n, softmax_backward_kernel *f, double work)
{
    softmax_run r = { .backward = f, .axis = n->saved, .y = n->out[0]->data, .dx = gr_grad(t, n->in[0]), .dy = gr_grad(t, n->out[0]) };
    if (r.dx) gr_parallel(t, softmax_chunks(r.axis), work * (double)n->out[0]->len, softmax_chunk, &r);
}

static void softmax_node(gr_tape *t, const gr_node *n) { softmax_back(t, n, softmax_backward[gr_isa(t)], 0.3); }
static void log_softmax_node(gr_tape *t, const gr_node *n) { softmax_back(t, n, log_softmax_backward[gr_isa(t)], 0.8); }
static const gr_op softmax_op = { .name = "softmax", .backward = softmax_node };
static const gr_op log_softmax_op = { .name = "log_softmax", .backward = log_softmax_node };

static gr_tensor *softmax_make(gr_tape *t, const gr_op *op, softmax_forward_kernel *f, gr_tensor *x, int axis)
{
    if (!gr_ready(t, op, x) || (axis = gr_axis(t, op, x, axis)) < 0) return NULL;
    gr_tensor *y = gr_empty_like(t, x);
    if (!y) return NULL;
    const softmax_axis a = softmax_axis_of(x, axis);
    softmax_run r = { .forward = f, .axis = &a, .y = y->data, .x = x->data };
    gr_parallel(t, softmax_chunks(&a), 0.9 * (double)x->len, softmax_chunk, &r);
    return gr_record(t, op, &a, sizeof a, GR_OUT(y), GR_IN(x));
}

gr_tensor *gr_softmax(gr_tape *t, gr_tensor *x, int axis) { return softmax_make(t, &softmax_op, softmax_forward[gr_isa(t)], x, axis); }
gr_tensor *gr_log_softmax(gr_tape *t, gr_tensor *x, int axis) { return softmax_make(t, &log_softmax_op, log_softmax_forward[gr_isa(t)], x, axis); }
#endif
