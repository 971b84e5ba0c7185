/* ops/composed.c - the twins of the fused operators, from plain ones. */
#include "ops/composed.h"
#include "core/op.h"

gr_tensor *gr_linear_composed(gr_tape *t, gr_tensor *x, gr_tensor *w, gr_tensor *b)
{
    gr_tensor *y = gr_matmul_t(t, x, false, w, true);
    return b ? gr_add(t, y, b) : y;
}

/* ---- Softmax and cross entropy ---- */

/* x - max x. The maximum is a constant here: softmax does not change when something is added to all of x. */
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

    /* Shapes: of the logits; of one value for each sample, with an axis for its class; and of one value for each class. */
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
    gr_tensor *loss = gr_neg(t, gr_add(t, gr_mul(t, hit, gr_scalar(t, 1 - c.label_smoothing)),
                                       gr_mul(t, all, gr_scalar(t, c.label_smoothing / (double)C))));

    if (c.reduction == GR_REDUCE_SUM) return gr_sum(t, loss, GR_ALL_AXES, false);
    if (c.reduction == GR_REDUCE_MEAN) return gr_div(t, gr_sum(t, loss, GR_ALL_AXES, false), gr_sum(t, w, GR_ALL_AXES, false));
    return gr_sum(t, loss, GR_AXES(axis), false); /* over one class: drops its axis */
}

/* ---- Normalization ---- */

gr_tensor *gr_layer_norm_composed(gr_tape *t, gr_tensor *x, int axes, gr_tensor *gamma, gr_tensor *beta, double eps)
{
    if (gr_failed(t) || !x) return NULL;
    if (axes < 1 || axes > x->rank) return gr_fail(t, NULL, "layer_norm_composed: x is %s, and axes %d", gr_shape_text(t, x), axes);
    gr_axes last = { .count = axes };
    gr_shape shape = { .rank = axes };
    for (int i = 0; i < axes; i++) last.axis[i] = i - axes, shape.dim[i] = x->dim[x->rank - axes + i];

    gr_tensor *d = gr_sub(t, x, gr_mean(t, x, last, true));
    gr_tensor *var = gr_mean(t, gr_square(t, d), last, true);
    gr_tensor *y = gr_div(t, d, gr_sqrt(t, gr_add(t, var, gr_scalar(t, eps))));
    if (gamma) y = gr_mul(t, y, gr_reshape(t, gamma, shape));
    if (beta) y = gr_add(t, y, gr_reshape(t, beta, shape));
    return y;
}
