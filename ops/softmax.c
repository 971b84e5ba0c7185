/* ops/softmax.c - softmax and log_softmax along an axis of x.
 *
 *     y_i = exp(x_i - m) / s,   m = max x,   s = sum over j of exp(x_j - m)
 *     dx  = y * (dy - sum(y * dy))
 *
 *     y_i = (x_i - m) - log s
 *     dx  = dy - exp(y) * sum(dy)
 * Saved: nothing but y. The inner axis and the others give the same bits: ops/softmax.h. */
#include "ops/softmax.h"
#include "ops/ops.h"

KERNEL(void, softmax_forward, gr_real *restrict y, const gr_real *restrict x, const softmax_axis *a, size_t group, size_t end)
{
    for (; group < end; group++) {
        size_t n;
        const size_t at = softmax_group(a, group, &n), C = a->C, inner = a->inner;
        if (inner == 1) {
            const gr_real scale = 1 / softmax_sum(y + at, x + at, softmax_max(x + at, C), C);
            for (size_t i = 0; i < C; i++) y[at + i] *= scale;
        } else {
            r_lanes m, s;
            softmax_tile(&m, &s, y + at, x + at, C, inner, n);
            for (int j = 0; j < 16; j++) s.v[j] = 1 / s.v[j];
            for (size_t c = 0; c < C; c++)
                for (size_t j = 0; j < n; j++) y[at + c * inner + j] *= s.v[j];
        }
    }
}

KERNEL(void, softmax_backward, gr_real *restrict dx, const gr_real *restrict dy, const gr_real *restrict y, const softmax_axis *a,
       size_t group, size_t end)
{
    for (; group < end; group++) {
        size_t n;
        const size_t at = softmax_group(a, group, &n), C = a->C, inner = a->inner;
        if (inner == 1) {
            const gr_real sum = SUM(i, C, y[at + i] * dy[at + i]);
            for (size_t i = at; i < at + C; i++) dx[i] += y[i] * (dy[i] - sum);
        } else {
            r_lanes s[16] = { { { 0 } } };
            for (size_t c = 0; c < C; c++)
                for (size_t j = 0, i = at + c * inner; j < n; j++, i++) s[c % 16].v[j] += y[i] * dy[i];
            const r_lanes sum = softmax_tree(s);
            for (size_t c = 0; c < C; c++)
                for (size_t j = 0, i = at + c * inner; j < n; j++, i++) dx[i] += y[i] * (dy[i] - sum.v[j]);
        }
    }
}

KERNEL(void, log_softmax_forward, gr_real *restrict y, const gr_real *restrict x, const softmax_axis *a, size_t group, size_t end)
{
    for (; group < end; group++) {
        size_t n;
        const size_t at = softmax_group(a, group, &n), C = a->C, inner = a->inner;
        if (inner == 1) {
            const gr_real m = softmax_max(x + at, C), log_s = r_log(softmax_sum(NULL, x + at, m, C));
            for (size_t i = at; i < at + C; i++) y[i] = x[i] - m - log_s;
        } else {
            r_lanes m, s;
            softmax_tile(&m, &s, NULL, x + at, C, inner, n);
            for (int j = 0; j < 16; j++) s.v[j] = r_log(s.v[j]);
            for (size_t c = 0; c < C; c++)
                for (size_t j = 0, i = at + c * inner; j < n; j++, i++) y[i] = x[i] - m.v[j] - s.v[j];
        }
    }
}

KERNEL(void, log_softmax_backward, gr_real *restrict dx, const gr_real *restrict dy, const gr_real *restrict y, const softmax_axis *a,
       size_t group, size_t end)
{
    for (; group < end; group++) {
        size_t n;
        const size_t at = softmax_group(a, group, &n), C = a->C, inner = a->inner;
        if (inner == 1) {
            const gr_real sum = SUM(i, C, dy[at + i]);
            for (size_t i = at; i < at + C; i++) dx[i] += dy[i] - r_exp(y[i]) * sum;
        } else {
            r_lanes s[16] = { { { 0 } } };
            for (size_t c = 0; c < C; c++)
                for (size_t j = 0, i = at + c * inner; j < n; j++, i++) s[c % 16].v[j] += dy[i];
            const r_lanes sum = softmax_tree(s);
            for (size_t c = 0; c < C; c++)
                for (size_t j = 0, i = at + c * inner; j < n; j++, i++) dx[i] += dy[i] - r_exp(y[i]) * sum.v[j];
        }
    }
}

#if GR_HOST
typedef struct {
    void (*forward)(gr_real *restrict, const gr_real *restrict, const softmax_axis *, size_t, size_t);
    void (*backward)(gr_real *restrict, const gr_real *restrict, const gr_real *restrict, const softmax_axis *, size_t, size_t);
    const softmax_axis *axis;
    gr_real *y, *dx;
    const gr_real *x, *dy;
} softmax_run;

static void softmax_chunk(void *argument, size_t chunk, int thread)
{
    const softmax_run *r = argument;
    (void)thread;
    if (r->forward) r->forward(r->y, r->x, r->axis, chunk * r->axis->chunk, softmax_end(r->axis, chunk));
    else r->backward(r->dx, r->dy, r->y, r->axis, chunk * r->axis->chunk, softmax_end(r->axis, chunk));
}

static void softmax_node(gr_tape *t, const gr_node *n)
{
    softmax_run r = { .backward = softmax_backward[gr_isa(t)],
                      .axis = n->saved,
                      .y = n->out[0]->data,
                      .dx = gr_grad(t, n->in[0]),
                      .dy = gr_grad(t, n->out[0]) };
    if (r.dx) gr_parallel(t, softmax_chunks(r.axis), 0.3 * (double)n->out[0]->len, softmax_chunk, &r);
}

static void log_softmax_node(gr_tape *t, const gr_node *n)
{
    softmax_run r = { .backward = log_softmax_backward[gr_isa(t)],
                      .axis = n->saved,
                      .y = n->out[0]->data,
                      .dx = gr_grad(t, n->in[0]),
                      .dy = gr_grad(t, n->out[0]) };
    if (r.dx) gr_parallel(t, softmax_chunks(r.axis), 0.8 * (double)n->out[0]->len, softmax_chunk, &r);
}

static const gr_op softmax_op = { .name = "softmax", .backward = softmax_node };
static const gr_op log_softmax_op = { .name = "log_softmax", .backward = log_softmax_node };

static gr_tensor *softmax_make(gr_tape *t, const gr_op *op, softmax_run r, gr_tensor *x, int axis)
{
    if ((axis = gr_axis(t, op, x, axis)) < 0) return NULL;
    gr_tensor *y = gr_empty_like(t, x);
    if (!y) return NULL;
    const softmax_axis a = softmax_axis_of(x, axis);
    r.axis = &a, r.y = y->data, r.x = x->data;
    gr_parallel(t, softmax_chunks(&a), 0.9 * (double)x->len, softmax_chunk, &r);
    return gr_record(t, op, &a, sizeof a, GR_OUT(y), GR_IN(x));
}

gr_tensor *gr_softmax(gr_tape *t, gr_tensor *x, int axis)
{
    if (!gr_ready(t, &softmax_op, x)) return NULL;
    return softmax_make(t, &softmax_op, (softmax_run){ .forward = softmax_forward[gr_isa(t)] }, x, axis);
}

gr_tensor *gr_log_softmax(gr_tape *t, gr_tensor *x, int axis)
{
    if (!gr_ready(t, &log_softmax_op, x)) return NULL;
    return softmax_make(t, &log_softmax_op, (softmax_run){ .forward = log_softmax_forward[gr_isa(t)] }, x, axis);
}
#endif
