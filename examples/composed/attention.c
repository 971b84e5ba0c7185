/* examples/composed/attention.c - the twins of the linear layer and of attention. */
#include "examples/composed/composed.h"
#include <math.h>

gr_tensor *composed_linear(gr_tape *t, gr_tensor *x, gr_tensor *w, gr_tensor *b)
{
    gr_tensor *y = gr_matmul_t(t, x, false, w, true);
    return b ? gr_add(t, y, b) : y;
}

/* [B, T, heads d] to [B, heads, T, d]. */
static gr_tensor *split_heads(gr_tape *t, gr_tensor *x, size_t heads)
{
    return gr_permute(t, gr_reshape(t, x, GR_SHAPE(x->dim[0], x->dim[1], heads, x->dim[2] / heads)), GR_AXES(0, 2, 1, 3));
}

/* [B, 1, Tq, Tk]: 1 where query i of sample b may see key j. */
static gr_tensor *keys_seen(gr_tape *t, size_t B, size_t Tq, size_t Tk, const gr_attention_config *o)
{
    gr_tensor *seen = gr_ones(t, GR_SHAPE(B, 1, Tq, Tk));
    const gr_tensor *m = o->mask;
    for (size_t n = 0; seen && n < seen->len; n++) {
        const size_t j = n % Tk, i = n / Tk % Tq, b = n / Tk / Tq;
        const size_t row = m && m->rank == 2 ? b : m && m->dim[0] == 1 ? i : b * Tq + i;
        const bool far = o->lengths && j >= (size_t)o->lengths->data[b];
        const size_t start = o->starts ? (size_t)o->starts->data[b] : 0;
        if ((o->causal && j > start + i) || far || (m && m->data[row * Tk + j] == 0)) seen->data[n] = 0;
    }
    return seen;
}

gr_tensor *composed_attention(gr_tape *t, gr_tensor *q, gr_tensor *k, gr_tensor *v, const gr_attention_config *config)
{
    if (gr_failed(t) || !q || !k || !v) return NULL;
    const gr_attention_config o = config ? *config : (gr_attention_config){ 0 };
    const size_t heads = o.heads ? o.heads : 1, B = q->dim[0], Tq = q->dim[1], Tk = k->dim[1], d = q->dim[2] / heads;
    const double scale = o.scale > 0 ? o.scale : d ? 1 / sqrt((double)d) : 1;
    gr_tensor *seen = keys_seen(t, B, Tq, Tk, &o), *s = gr_matmul_t(t, split_heads(t, q, heads), false, split_heads(t, k, heads), true);
    s = gr_where(t, seen, gr_scale(t, s, scale), gr_scalar(t, -1e30)); /* exp of this is 0, unless no key is seen */
    gr_tensor *p = gr_mul(t, gr_softmax(t, s, -1), seen);
    if (o.dropout > 0) p = gr_dropout(t, p, o.dropout, o.stream);
    gr_tensor *y = gr_permute(t, gr_matmul(t, p, split_heads(t, v, heads)), GR_AXES(0, 2, 1, 3));
    return gr_reshape(t, y, GR_SHAPE(B, Tq, v->dim[2]));
}
