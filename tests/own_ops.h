/* tests/own_ops.h - operators written as a user writes them, with core/op.h alone. The tests of the tape use only these. */
#ifndef GR_OWN_OPS_H
#define GR_OWN_OPS_H
#include "core/op.h"

/* y = a x, for x of any shape. */
typedef struct { gr_real a; } scale_saved;
static void scale_backward(gr_tape *t, const gr_node *n)
{
    const scale_saved *s = n->saved;
    const gr_real *dy = gr_grad(t, n->out[0]);
    gr_real *dx = gr_grad(t, n->in[0]);
    for (size_t i = 0; dx && i < n->in[0]->len; i++) dx[i] += s->a * dy[i];
}
static const gr_op scale_op = { .name = "scale", .backward = scale_backward };
static gr_tensor *scale(gr_tape *t, gr_tensor *x, double a)
{
    if (!gr_ready(t, &scale_op, x)) return NULL;
    gr_tensor *y = gr_empty_like(t, x);
    if (!y) return NULL;
    for (size_t i = 0; i < x->len; i++) y->data[i] = (gr_real)a * x->data[i];
    return gr_record(t, &scale_op, &(scale_saved){ (gr_real)a }, sizeof(scale_saved), GR_OUT(y), GR_IN(x));
}

/* y = sum of a[i] b[i], one value. The backward uses scratch memory. */
static size_t inner_scratch(const gr_node *n) { return n->in[0]->len * sizeof(gr_real); }
static void inner_backward(gr_tape *t, const gr_node *n)
{
    const gr_tensor *a = n->in[0], *b = n->in[1];
    const gr_real dy = *gr_grad(t, n->out[0]);
    gr_real *da = gr_grad(t, a), *db = gr_grad(t, b), *scratch = gr_scratch(t);
    for (size_t i = 0; i < a->len; i++) scratch[i] = dy * b->data[i];
    for (size_t i = 0; da && i < a->len; i++) da[i] += scratch[i];
    for (size_t i = 0; db && i < a->len; i++) db[i] += dy * a->data[i];
}
static const gr_op inner_op = { .name = "inner", .backward = inner_backward, .scratch = inner_scratch };
static gr_tensor *inner(gr_tape *t, gr_tensor *a, gr_tensor *b)
{
    if (!gr_ready(t, &inner_op, a, b)) return NULL;
    gr_tensor *y = gr_zeros(t, GR_SCALAR);
    for (size_t i = 0; y && i < a->len; i++) y->data[0] += a->data[i] * b->data[i];
    return gr_record(t, &inner_op, NULL, 0, GR_OUT(y), GR_IN(a, b));
}

static gr_tensor *leaf(gr_tape *t, size_t n, double first)
{
    gr_tensor *x = gr_arange(t, n);
    for (size_t i = 0; x && i < n; i++) x->data[i] += (gr_real)first;
    return gr_want_grad(t, x);
}
#endif
