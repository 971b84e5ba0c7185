/* ops/dropout.c - dropout, "inverted", so that evaluation needs no scaling.                          Srivastava et al. 2014
 *
 *     y = m x / (1 - p)        dx = m dy / (1 - p)        m is 0 with probability p, and 1 otherwise
 * Element i is dropped when draw number counter + i of the stream is below p 2^32. A draw is a function of the stream's key and its number only
 * (core/random.h). So the mask depends neither on threads nor on the instruction set, and backward computes it again.
 * Shapes: y as x.   Kinks: none.   Saved: key and counter. */
#include "ops/dropout.h"
#include "ops/ops.h"

KERNEL(void, dropout_masked, gr_real *restrict y, const gr_real *restrict x, const dropout_mask *m, size_t first, size_t n, bool add)
{
    if (add) dropout_apply(y, x, m, first, n, true); /* a constant in each call, so that neither loop asks for it */
    else dropout_apply(y, x, m, first, n, false);
}

#if GR_HOST
enum { DROPOUT_CHUNK = 16384 };

typedef struct { const dropout_mask *m; gr_real *to; const gr_real *from; bool add; int isa; } dropout_run;

static void dropout_chunk(void *argument, gr_range c)
{
    const dropout_run *r = argument;
    dropout_masked[r->isa](r->to + c.first, r->from + c.first, r->m, c.first, c.count, r->add);
}

static void dropout_all(gr_tape *t, dropout_run r, size_t n) { gr__parallel_rows(t, n, DROPOUT_CHUNK, (double)n, dropout_chunk, &r); }

static void dropout_node(gr_tape *t, const gr_node *n)
{
    bool fresh;
    gr_real *const dx = gr__grad_to_fill(t, n->in[0], &fresh);
    if (dx) dropout_all(t, (dropout_run){ .m = n->saved, .to = dx, .from = gr_grad(t, n->out[0]), .add = !fresh, .isa = gr_isa(t) }, n->in[0]->len);
}

static const gr_op dropout_op = { .name = "dropout", .backward = dropout_node };

static bool dropout_fits(gr_tape *t, const gr_op *op, gr_tensor *x, double p, const char *stream)
{
    if (!gr_ready(t, op, x)) return false;
    if (!(p >= 0 && p <= 1)) return gr_fail(t, op, "p must be in 0 .. 1; got %g", p);
    return stream || gr_fail(t, op, "stream is NULL");
}

gr_tensor *gr_dropout(gr_tape *t, gr_tensor *x, double p, const char *stream)
{
    if (!dropout_fits(t, &dropout_op, x, p, stream)) return NULL;
    if (!dropout_below(t, p)) return x;

    gr_tensor *y = gr__empty(t, &dropout_op, gr_shape_of(x));
    gr_stream *draws = gr_tape_stream(t, stream);
    if (!y || !draws) return NULL;
    const dropout_mask m = dropout_take(t, draws, p, x->len);
    dropout_all(t, (dropout_run){ .m = &m, .to = y->data, .from = x->data, .isa = gr_isa(t) }, x->len);
    return gr_record(t, &dropout_op, &m, sizeof m, GR_OUT(y), GR_IN(x));
}

/* The mask is gr_dropout of ones, one for each channel of each sample. */
gr_tensor *gr_dropout2d(gr_tape *t, gr_tensor *x, double p, const char *stream)
{
    const gr_op named = { .name = "dropout2d" };
    if (!dropout_fits(t, &named, x, p, stream)) return NULL;
    if (x->rank < 2) return gr_fail(t, &named, "x must be [N, C, ..]; got %s", gr_shape_text(t, x));
    if (!dropout_below(t, p)) return x;
    gr_shape mask = gr_shape_of(x);
    for (int k = 2; k < x->rank; k++) mask.dim[k] = 1;
    return gr_mul(t, x, gr_dropout(t, gr_ones(t, mask), p, stream));
}
#endif
