/* ops/scan.c - cumsum, along the last axis of n values; another axis changes places with the last one before and after.
 *
 *     y[i] = x[0] + .. + x[i]        dx[i] += dy[i] + .. + dy[n-1]
 * One running sum in double goes through a row, so that a value of a long row is as accurate as the first. Nothing is saved. */
#include "core/op.h"
#include "ops/ops.h"

enum { SCAN_CHUNK = 16384 }; /* values */

typedef struct { gr_real *to; const gr_real *from; size_t rows, n; bool back; } scan_call;

static size_t scan_rows(const scan_call *c) { return c->n && c->n < SCAN_CHUNK ? SCAN_CHUNK / c->n : 1; }

static void scan_task(void *argument, size_t chunk, int thread)
{
    const scan_call *c = argument;
    const gr_range rows = gr_chunk(chunk, scan_rows(c), c->rows);
    (void)thread;
    for (size_t at = rows.first * c->n; at < (rows.first + rows.count) * c->n; at += c->n) {
        double sum = 0;
        for (size_t i = 0; i < c->n && !c->back; i++) c->to[at + i] = (gr_real)(sum += (double)c->from[at + i]);
        for (size_t i = c->n; i-- > 0 && c->back;) c->to[at + i] += (gr_real)(sum += (double)c->from[at + i]);
    }
}

static void scan(gr_tape *t, const gr_tensor *x, gr_real *to, const gr_real *from, bool back)
{
    const size_t n = x->dim[x->rank - 1];
    scan_call c = { to, from, x->len ? x->len / n : 0, n, back };
    gr_parallel(t, gr_chunks(c.rows, scan_rows(&c)), 1.5 * (double)x->len, scan_task, &c);
}

static void cumsum_node(gr_tape *t, const gr_node *n)
{
    gr_real *dx = gr_grad(t, n->in[0]);
    if (dx) scan(t, n->in[0], dx, gr_grad(t, n->out[0]), true);
}
static const gr_op cumsum_op = { .name = "cumsum", .backward = cumsum_node };

gr_tensor *gr_cumsum(gr_tape *t, gr_tensor *x, int axis)
{
    if (!gr_ready(t, &cumsum_op, x) || (axis = gr_axis(t, &cumsum_op, x, axis)) < 0) return NULL;
    if (axis < x->rank - 1) return gr_transpose(t, gr_cumsum(t, gr_transpose(t, x, axis, -1), -1), axis, -1);
    gr_tensor *y = gr_empty_like(t, x);
    if (!y) return NULL;
    scan(t, x, y->data, x->data, false);
    return gr_record(t, &cumsum_op, NULL, 0, GR_OUT(y), GR_IN(x));
}
