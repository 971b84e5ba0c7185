/* ops/composed.c - the twins of the fused operators, written with plain operators. */
#include "ops/composed.h"
#include "core/op.h"

gr_tensor *gr_linear_composed(gr_tape *t, gr_tensor *x, gr_tensor *w, gr_tensor *b)
{
    gr_tensor *y = gr_matmul_t(t, x, false, w, true);
    return b ? gr_add(t, y, b) : y;
}

/* ---- Softmax and cross entropy ---- */

/* x - max x. The maximum is detached, because softmax does not change when a constant is added to all of x. */
static gr_tensor *composed_shifted(gr_tape *t, gr_tensor *x, int axis)
{
    return gr_sub(t, x, gr_detach(t, gr_max(t, x, GR_AXES(axis), true)));
}

gr_tensor *gr_softmax_composed(gr_tape *t, gr_tensor *x, int axis)
{
    gr_tensor *e = gr_exp(t, composed_shifted(t, x, axis));
    return gr_div(t, e, gr_sum(t, e, GR_AXES(axis), true));
}

gr_tensor *gr_log_softmax_composed(gr_tape *t, gr_tensor *x, int axis)
{
    gr_tensor *z = composed_shifted(t, x, axis);
    return gr_sub(t, z, gr_log(t, gr_sum(t, gr_exp(t, z), GR_AXES(axis), true)));
}

static bool composed_ignores(const gr_cross_entropy_config *c, int k)
{
    return k == (c->ignore_index ? c->ignore_index : -100) || (c->ignore_class_0 && k == 0);
}

gr_tensor *gr_cross_entropy_composed(gr_tape *t, gr_tensor *logits, const gr_ints *target, const gr_cross_entropy_config *config)
{
    if (gr_failed(t) || !logits || !target) return NULL;
    const gr_cross_entropy_config c = config ? *config : (gr_cross_entropy_config){ 0 };
    const int axis = logits->rank > 1;
    const size_t C = logits->rank ? logits->dim[axis] : 0;
    if (C * target->len != logits->len)
        return gr_fail(t, NULL, "cross_entropy_composed: logits is %s; got %zu targets", gr_shape_text(t, logits), target->len);

    /* The shape of the logits, that of one value for each sample (with an axis for its class), and that of one value for each class. */
    const gr_shape whole = gr_shape_of(logits), classes = { .rank = logits->rank - axis, .dim = { C, 1, 1, 1, 1, 1, 1, 1 } };
    gr_shape samples = whole;
    samples.dim[axis] = 1;

    gr_ints *k = gr_ints_new(t, target->data, samples);
    gr_tensor *counts = gr_ones(t, samples);
    for (size_t i = 0; k && counts && i < k->len; i++)
        if (composed_ignores(&c, k->data[i])) k->data[i] = 0, counts->data[i] = 0;
    gr_tensor *weight = gr_ones(t, classes);
    for (size_t i = 0; weight && c.weight && i < C; i++) weight->data[i] = c.weight->data[i];

    gr_tensor *logp = gr_log_softmax_composed(t, logits, axis);
    gr_tensor *w = gr_mul(t, counts, gr_gather(t, gr_expand(t, weight, whole), axis, k)); /* of each sample's target */
    gr_tensor *hit = gr_mul(t, w, gr_gather(t, logp, axis, k));
    gr_tensor *all = gr_mul(t, counts, gr_sum(t, gr_mul(t, logp, weight), GR_AXES(axis), true));
    gr_tensor *loss = gr_neg(t, gr_add(t, gr_scale(t, hit, 1 - c.label_smoothing), gr_scale(t, all, c.label_smoothing / (double)C)));

    if (c.reduction == GR_REDUCE_SUM) return gr_sum(t, loss, GR_ALL_AXES, false);
    if (c.reduction == GR_REDUCE_MEAN) return gr_div(t, gr_sum(t, loss, GR_ALL_AXES, false), gr_sum(t, w, GR_ALL_AXES, false));
    return gr_sum(t, loss, GR_AXES(axis), false); /* over one class: drops its axis */
}

/* ---- Attention ---- */

/* [B, T, heads d] to [B, heads, T, d]. */
static gr_tensor *composed_heads(gr_tape *t, gr_tensor *x, size_t heads)
{
    return gr_permute(t, gr_reshape(t, x, GR_SHAPE(x->dim[0], x->dim[1], heads, x->dim[2] / heads)), GR_AXES(0, 2, 1, 3));
}

/* [B, 1, Tq, Tk]: 1 where query i of sample b may see key j. */
static gr_tensor *composed_seen(gr_tape *t, size_t B, size_t Tq, size_t Tk, const gr_attention_config *o)
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

gr_tensor *gr_attention_composed(gr_tape *t, gr_tensor *q, gr_tensor *k, gr_tensor *v, const gr_attention_config *config)
{
    if (gr_failed(t) || !q || !k || !v) return NULL;
    const gr_attention_config o = config ? *config : (gr_attention_config){ 0 };
    const size_t heads = o.heads ? o.heads : 1, B = q->dim[0], Tq = q->dim[1], Tk = k->dim[1], d = q->dim[2] / heads;
    const double scale = o.scale > 0 ? o.scale : d ? 1 / __builtin_sqrt((double)d) : 1;
    gr_tensor *seen = composed_seen(t, B, Tq, Tk, &o), *s = gr_matmul_t(t, composed_heads(t, q, heads), false, composed_heads(t, k, heads), true);
    s = gr_where(t, seen, gr_scale(t, s, scale), gr_scalar(t, -1e30)); /* exp of this is 0, unless no key is seen */
    gr_tensor *p = gr_mul(t, gr_softmax(t, s, -1), seen);
    if (o.dropout > 0) p = gr_dropout(t, p, o.dropout, o.stream);
    gr_tensor *y = gr_permute(t, gr_matmul(t, p, composed_heads(t, v, heads)), GR_AXES(0, 2, 1, 3));
    return gr_reshape(t, y, GR_SHAPE(B, Tq, v->dim[2]));
}
