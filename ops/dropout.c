/* ops/dropout.c - y = x / (1 - p) with probability 1 - p, else 0; dx likewise from dy.       Srivastava et al. 2014, "inverted"
 *
 * Element i is dropped when draw number counter + i of the stream is below p 2^32. A draw is a pure function of the stream's key and
 * its number (core/random.h): so the mask depends neither on threads nor on the instruction set, and backward makes it again.
 * Saved: key and counter. */
#include "core/op.h"
#include "ops/dropout.h"
#include "ops/ops.h"

typedef struct {
    uint64_t key, counter;
    uint32_t last;
    gr_real scale;
} dropout_saved; /* a draw up to last drops */

/* Elements first .. first + n - 1: forward sets y, backward adds to dx. */
KERNEL(void, dropout_forward, gr_real *restrict y, const gr_real *restrict x, const dropout_saved *s, size_t first, size_t n)
{
    uint32_t draw[64];
    const gr_real scale = s->scale;
    const uint32_t last = s->last;
    for (uint64_t next = s->counter + first, end = next + n; next < end;) {
        const size_t skip = next % 4, m = end - next < 64 - skip ? (size_t)(end - next) : 64 - skip;
        dropout_draws(draw, s->key, next / 4);
        for (size_t i = 0; i < m; i++) y[i] = draw[skip + i] <= last ? 0 : x[i] * scale;
        next += m, y += m, x += m;
    }
}

KERNEL(void, dropout_backward, gr_real *restrict dx, const gr_real *restrict dy, const dropout_saved *s, size_t first, size_t n)
{
    uint32_t draw[64];
    const gr_real scale = s->scale;
    const uint32_t last = s->last;
    for (uint64_t next = s->counter + first, end = next + n; next < end;) {
        const size_t skip = next % 4, m = end - next < 64 - skip ? (size_t)(end - next) : 64 - skip;
        dropout_draws(draw, s->key, next / 4);
        for (size_t i = 0; i < m; i++) dx[i] += draw[skip + i] <= last ? 0 : dy[i] * scale;
        next += m, dx += m, dy += m;
    }
}

#if GR_HOST
enum { DROPOUT_CHUNK = 16384 };

typedef struct {
    void (*kernel)(gr_real *restrict, const gr_real *restrict, const dropout_saved *, size_t, size_t);
    const dropout_saved *s;
    gr_real *to;
    const gr_real *from;
    size_t len;
} dropout_run;

static void dropout_chunk(void *argument, size_t chunk, int thread)
{
    const dropout_run *r = argument;
    const gr_range c = gr_chunk(chunk, DROPOUT_CHUNK, r->len);
    (void)thread;
    r->kernel(r->to + c.first, r->from + c.first, r->s, c.first, c.count);
}

static void dropout_all(gr_tape *t, dropout_run r)
{
    gr_parallel(t, gr_chunks(r.len, DROPOUT_CHUNK), 1.0 * (double)r.len, dropout_chunk, &r);
}

static void dropout_node(gr_tape *t, const gr_node *n)
{
    gr_real *dx = gr_grad(t, n->in[0]);
    if (dx) dropout_all(t, (dropout_run){ dropout_backward[gr_isa(t)], n->saved, dx, gr_grad(t, n->out[0]), n->in[0]->len });
}

static const gr_op dropout_op = { .name = "dropout", .backward = dropout_node };

gr_tensor *gr_dropout(gr_tape *t, gr_tensor *x, double p, const char *stream)
{
    if (!gr_ready(t, &dropout_op, x)) return NULL;
    if (!(p >= 0 && p <= 1)) return gr_fail(t, &dropout_op, "p must be in 0 .. 1; got %g", p);
    if (!stream) return gr_fail(t, &dropout_op, "stream is NULL");
    const uint64_t below = (uint64_t)(p * 0x1p32 + 0.5); /* so many of 2^32 draws drop */
    if (!gr_tape_training(t) || !below) return x;

    gr_tensor *y = gr_empty_like(t, x);
    gr_stream *draws = gr_tape_stream(t, stream);
    if (!y || !draws) return NULL;
    const dropout_saved s = { draws->key, gr_stream_take(t, draws, x->len), (uint32_t)(below - 1), p < 1 ? (gr_real)(1 / (1 - p)) : 0 };
    dropout_all(t, (dropout_run){ dropout_forward[gr_isa(t)], &s, y->data, x->data, x->len });
    return gr_record(t, &dropout_op, &s, sizeof s, GR_OUT(y), GR_IN(x));
}
#endif
