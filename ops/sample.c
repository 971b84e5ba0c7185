/* ops/sample.c - draw indices with given probabilities p, row by row.
 *
 *     sum[i] = p[0] + .. + p[i]        u uniform in [0, sum[V-1])        the index is the first i with sum[i] > u
 * Sums are in double. Without replacement, the p of an index that was drawn becomes 0. No gradient passes. */
#include "ops/index.h"
#include "ops/ops.h"
#include <math.h>

/* Copy a row of V probabilities. Fails unless `needed` of them are above 0, none is below 0, and V times the largest is finite. */
static bool sample_row(gr_tape *t, const gr_op *op, const gr_tensor *x, size_t row, double *p, size_t V, size_t needed)
{
    size_t positive = 0;
    for (size_t i = 0; i < V; i++) {
        p[i] = (double)x->data[row * V + i], positive += p[i] > 0;
        if (!(p[i] >= 0 && p[i] * (double)V < (double)INFINITY))
            return gr_fail(t, op, "probabilities is %s: value %zu of row %zu must be 0 or more, and finite; got %g", gr_shape_text(t, x), i, row,
                           p[i] == p[i] ? p[i] : (double)NAN); /* the sign of a NaN differs between machines */
    }
    return positive >= needed ||
           gr_fail(t, op, "probabilities is %s: row %zu must have %zu values above 0; got %zu", gr_shape_text(t, x), row, needed, positive);
}

gr_ints *gr_multinomial(gr_tape *t, const gr_tensor *probabilities, size_t n, bool replacement, const char *stream)
{
    static const gr_op op = { .name = "multinomial" };
    gr_tensor *const x = (gr_tensor *)probabilities;
    if (!gr_ready(t, &op, x) || gr_axis(t, &op, x, -1) < 0 || !index_fits_int(t, &op, x, -1)) return NULL;
    if (!n) return gr_fail(t, &op, "n must be 1 or more; got 0");
    if (!stream) return gr_fail(t, &op, "stream is NULL");
    gr_shape shape = gr_shape_of(x);
    const size_t V = shape.dim[shape.rank - 1];
    shape.dim[shape.rank - 1] = n;
    gr_ints *ids = gr_ints_new(t, NULL, shape);
    double *p = gr_save(t, (ids && ids->len ? 2 * V : 0) * sizeof *p);
    gr_stream *const s = gr_tape_stream(t, stream);
    if (!ids || !p || !s) return NULL;
    double *const sum = p + V;
    gr_stream draws = *s; /* the stream itself moves when nothing can fail any more */
    for (size_t k = 0; k < ids->len; k++) {
        if (k % n == 0 && !sample_row(t, &op, x, k / n, p, V, replacement ? 1 : n)) return NULL;
        if (k % n == 0 || !replacement)
            for (size_t i = 0; i < V; i++) sum[i] = p[i] + (i ? sum[i - 1] : 0);
        const double u = gr_stream_uniform(&draws, 0, sum[V - 1]);
        size_t low = 0, high = V - 1; /* the index is in low .. high */
        while (low < high) {
            const size_t middle = low + (high - low) / 2;
            if (sum[middle] > u) high = middle;
            else low = middle + 1;
        }
        if (!replacement) p[low] = 0;
        ids->data[k] = (int)low;
    }
    gr_stream_take(t, s, 2 * ids->len);
    gr_record(t, &op, NULL, 0, GR_OUT(NULL), GR_IN(x));
    return gr_failed(t) ? NULL : ids;
}

gr_ints *gr_categorical(gr_tape *t, gr_tensor *logits, const char *stream)
{
    gr_ints *ids = gr_multinomial(t, gr_softmax(t, gr_detach(t, logits), -1), 1, true, stream);
    if (ids) ids->rank--; /* the axis of one index */
    return ids;
}
