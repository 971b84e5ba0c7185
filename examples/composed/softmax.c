/* examples/composed/softmax.c - the twins of softmax, log_softmax and cross entropy. */
#include "examples/composed/composed.h"

/* x - max x. The maximum is detached, because softmax does not change when a constant is added to all of x. */
static gr_tensor *shifted(gr_tape *t, gr_tensor *x, int axis)
{
    return gr_sub(t, x, gr_detach(t, gr_max(t, x, GR_AXES(axis), true)));
}

gr_tensor *composed_softmax(gr_tape *t, gr_tensor *x, int axis)
{
    gr_tensor *e = gr_exp(t, shifted(t, x, axis));
    return gr_div(t, e, gr_sum(t, e, GR_AXES(axis), true));
}

gr_tensor *composed_log_softmax(gr_tape *t, gr_tensor *x, int axis)
{
    gr_tensor *z = shifted(t, x, axis);
    return gr_sub(t, z, gr_log(t, gr_sum(t, gr_exp(t, z), GR_AXES(axis), true)));
}

static bool ignores(const gr_cross_entropy_config *c, int k)
{
    return k == (c->ignore_index ? c->ignore_index : -100) || (c->ignore_class_0 && k == 0);
}

gr_tensor *composed_cross_entropy(gr_tape *t, gr_tensor *logits, const gr_ints *target, const gr_cross_entropy_config *config)
{
    if (gr_failed(t) || !logits || !target) return NULL;
    const gr_cross_entropy_config c = config ? *config : (gr_cross_entropy_config){ 0 };
    const int axis = logits->rank > 1;
    const size_t C = logits->rank ? logits->dim[axis] : 0;
    if (C * target->len != logits->len)
        return gr_fail(t, NULL, "composed_cross_entropy: logits is %s; got %zu targets", gr_shape_text(t, logits), target->len);

    /* The shape of the logits, that of one value for each sample (with an axis for its class), and that of one value for each class. */
    const gr_shape whole = gr_shape_of(logits), classes = { .rank = logits->rank - axis, .dim = { C, 1, 1, 1, 1, 1, 1, 1 } };
    gr_shape samples = whole;
    samples.dim[axis] = 1;

    gr_ints *k = gr_ints_new(t, target->data, samples);
    gr_tensor *counts = gr_ones(t, samples);
    for (size_t i = 0; k && counts && i < k->len; i++)
        if (ignores(&c, k->data[i])) k->data[i] = 0, counts->data[i] = 0;
    gr_tensor *weight = gr_ones(t, classes);
    for (size_t i = 0; weight && c.weight && i < C; i++) weight->data[i] = c.weight->data[i];

    gr_tensor *logp = composed_log_softmax(t, logits, axis);
    gr_tensor *w = gr_mul(t, counts, gr_gather(t, gr_expand(t, weight, whole), axis, k)); /* of each sample's target */
    gr_tensor *hit = gr_mul(t, w, gr_gather(t, logp, axis, k));
    gr_tensor *all = gr_mul(t, counts, gr_sum(t, gr_mul(t, logp, weight), GR_AXES(axis), true));
    gr_tensor *loss = gr_neg(t, gr_add(t, gr_scale(t, hit, 1 - c.label_smoothing), gr_scale(t, all, c.label_smoothing / (double)C)));

    if (c.reduction == GR_REDUCE_SUM) return gr_sum(t, loss, GR_ALL_AXES, false);
    if (c.reduction == GR_REDUCE_MEAN) return gr_div(t, gr_sum(t, loss, GR_ALL_AXES, false), gr_sum(t, w, GR_ALL_AXES, false));
    return gr_sum(t, loss, GR_AXES(axis), false); /* over one class: drops its axis */
}
