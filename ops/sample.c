/* ops/sample.c - draw indices with given probabilities. With u uniform in [0, sum of a row), the index is the first for which its probability and
 * those before it add up to more than u. Sums are in double and go through a row from its beginning. No gradient passes. */
#include "ops/index.h"
#include "ops/ops.h"
#include <math.h>

/* Copy a row of n probabilities, and check that `needed` of them are above 0, and that none is too large for a sum of n. */
static bool sample_row(gr_tape *t, const gr_op *op, const char *name, const gr_tensor *x, size_t row, double *p, size_t n, size_t needed)
{
    size_t positive = 0;
    for (size_t i = 0; i < n; i++) {
        p[i] = (double)x->data[row * n + i], positive += p[i] > 0;
        if (!(p[i] >= 0 && p[i] * (double)n < (double)INFINITY))
            return gr_fail(t, op, "%s is %s: value %zu of row %zu must be 0 or more, and finite; got %g", name, gr_shape_text(t, x), i, row,
                           p[i] == p[i] ? p[i] : (double)NAN); /* the sign of a NaN differs between machines */
    }
    return positive >= needed ||
           gr_fail(t, op, "%s is %s: row %zu must have %zu values above 0; got %zu", name, gr_shape_text(t, x), row, needed, positive);
}

static gr_ints *sample(gr_tape *t, const gr_op *op, const char *name, gr_tensor *x, size_t n, bool replacement, const char *stream)
{
    if (!gr_ready(t, op, x) || gr_axis(t, op, x, -1) < 0 || !index_fits_int(t, op, x, -1)) return NULL;
    if (!n) return gr_fail(t, op, "n must be 1 or more; got 0");
    if (!stream) return gr_fail(t, op, "stream is NULL");
    const int last = x->rank - 1;
    const size_t V = x->dim[last];
    gr_shape shape = gr_shape_of(x);
    shape.dim[last] = n;
    gr_ints *ids = gr_ints_new(t, NULL, shape);
    double *p = gr_save(t, (ids && ids->len ? V : 0) * sizeof *p);
    gr_stream *const s = gr_tape_stream(t, stream);
    if (!ids || !p || !s) return NULL;
    gr_stream draws = *s; /* the stream itself moves when nothing can fail any more */
    for (size_t k = 0; k < ids->len; k++) {
        if (k % n == 0 && !sample_row(t, op, name, x, k / n, p, V, replacement ? 1 : n)) return NULL;
        double u = 0;
        for (size_t i = 0; i < V; i++) u += p[i];
        u = gr_stream_uniform(&draws, 0, u);
        for (size_t i = 0; i < V && u >= 0; i++)
            if (p[i] > 0) u -= p[i], ids->data[k] = (int)i;
        if (!replacement) p[ids->data[k]] = 0;
    }
    gr_stream_take(t, s, 2 * ids->len);
    gr_record(t, op, NULL, 0, GR_OUT(NULL), GR_IN(x));
    return gr_failed(t) ? NULL : ids;
}

gr_ints *gr_multinomial(gr_tape *t, const gr_tensor *probabilities, size_t n, bool replacement, const char *stream)
{
    static const gr_op op = { .name = "multinomial" };
    return sample(t, &op, "probabilities", (gr_tensor *)probabilities, n, replacement, stream);
}

gr_ints *gr_categorical(gr_tape *t, gr_tensor *logits, const char *stream)
{
    static const gr_op op = { .name = "categorical" };
    gr_ints *ids = gr_ready(t, &op, logits) ? sample(t, &op, "softmax(logits)", gr_softmax(t, gr_detach(t, logits), -1), 1, true, stream) : NULL;
    if (ids) ids->rank--; /* the axis of one index */
    return ids;
}
