/* examples/composed/norms.c - the twins of the normalizations. The norm over any axes comes first, because layer, group and instance norm are
 * cases of it; then RMS norm and batch norm. */
#include "examples/composed/composed.h"

/* A setting of a norm: 0 means the default, and GR_NONE means 0. */
static double setting(double x, double usual) { return x == GR_NONE ? 0 : x == 0 ? usual : x; }

/* The last `count` axes. */
static gr_axes last_axes(int count)
{
    gr_axes last = { .count = count };
    for (int i = 0; i < count && i < GR_MAX_RANK; i++) last.axis[i] = i - count;
    return last;
}

/* The axes of x from first on, except `axis`. */
static gr_axes axes_without(const gr_tensor *x, int first, int axis)
{
    gr_axes over = { 0 };
    for (int i = first; i < x->rank; i++)
        if (i != (axis + x->rank) % x->rank) over.axis[over.count++] = i;
    return over;
}

/* The shape of x, but with size 1 for all axes that `axes` has (has true) or lacks (has false). */
static gr_shape shape_with_ones(const gr_tensor *x, gr_axes axes, bool has)
{
    gr_shape shape = gr_shape_of(x);
    for (int i = 0; i < x->rank; i++) {
        bool found = !axes.count;
        for (int k = 0; k < axes.count; k++) found |= (axes.axis[k] + x->rank) % x->rank == i;
        if (found == has) shape.dim[i] = 1;
    }
    return shape;
}

/* gamma y + beta. Both may be NULL; they get `shape`, which broadcasts to that of y. */
static gr_tensor *scale_and_shift(gr_tape *t, gr_tensor *y, gr_tensor *gamma, gr_tensor *beta, gr_shape shape)
{
    if (gamma) y = gr_mul(t, y, gr_reshape(t, gamma, shape));
    return beta ? gr_add(t, y, gr_reshape(t, beta, shape)) : y;
}

gr_tensor *composed_norm_axes(gr_tape *t, gr_tensor *x, gr_axes over, gr_axes affine, gr_tensor *gamma, gr_tensor *beta, double eps)
{
    if (gr_failed(t) || !x) return NULL;
    gr_tensor *d = gr_sub(t, x, gr_mean(t, x, over, true));
    gr_tensor *var = gr_mean(t, gr_square(t, d), over, true);
    gr_tensor *y = gr_div(t, d, gr_sqrt(t, gr_add_scalar(t, var, setting(eps, GR_NORM_EPS))));
    return scale_and_shift(t, y, gamma, beta, shape_with_ones(x, affine, false));
}

gr_tensor *composed_layer_norm(gr_tape *t, gr_tensor *x, int trailing, gr_tensor *gamma, gr_tensor *beta, double eps)
{
    return composed_norm_axes(t, x, last_axes(trailing), last_axes(trailing), gamma, beta, eps);
}

gr_tensor *composed_group_norm(gr_tape *t, gr_tensor *x, size_t groups, gr_tensor *gamma, gr_tensor *beta, double eps)
{
    if (gr_failed(t) || !x || x->rank < 2) return NULL;
    gr_tensor *rows = gr_reshape(t, x, GR_SHAPE(x->dim[0], groups, GR_INFER));
    gr_tensor *y = composed_norm_axes(t, rows, GR_AXES(2), GR_AXES(2), NULL, NULL, eps);
    return scale_and_shift(t, gr_reshape(t, y, gr_shape_of(x)), gamma, beta, shape_with_ones(x, GR_AXES(1), false));
}

gr_tensor *composed_instance_norm(gr_tape *t, gr_tensor *x, int axis, gr_tensor *gamma, gr_tensor *beta, double eps)
{
    if (gr_failed(t) || !x || x->rank < 3) return NULL;
    return composed_norm_axes(t, x, axes_without(x, 1, axis), GR_AXES(axis), gamma, beta, eps);
}

gr_tensor *composed_rms_norm(gr_tape *t, gr_tensor *x, int trailing, gr_tensor *gamma, double eps)
{
    if (gr_failed(t) || !x) return NULL;
    gr_tensor *rms = gr_sqrt(t, gr_add_scalar(t, gr_mean(t, gr_square(t, x), last_axes(trailing), true), setting(eps, GR_RMS_NORM_EPS)));
    return scale_and_shift(t, gr_div(t, x, rms), gamma, NULL, shape_with_ones(x, last_axes(trailing), false));
}

/* ---- Batch norm ---- */

/* 1 where x is real, 0 where it is padding; the channel axis has size 1. */
static gr_tensor *real_values(gr_tape *t, const gr_tensor *x, int axis, const gr_batch_norm_config *o)
{
    gr_tensor *real = gr_ones(t, shape_with_ones(x, GR_AXES(axis), true));
    for (size_t p = 0; real && p < real->len; p++) {
        const size_t L = x->dim[x->rank - 1 - (axis == x->rank - 1)]; /* the size of the last axis that is not the channel axis */
        if (o->lengths && p % L >= (size_t)o->lengths->data[p / L]) real->data[p] = 0;
        if (o->mask && o->mask->data[p] == 0) real->data[p] = 0;
    }
    return real;
}

/* to = (1 - momentum) to + momentum from */
static void move(gr_tape *t, gr_tensor *to, const gr_tensor *from, double momentum)
{
    if (!gr_undo_note(t, to->data, to->len * sizeof *to->data)) return;
    for (size_t c = 0; c < to->len; c++) to->data[c] = (gr_real)((1 - momentum) * (double)to->data[c] + momentum * (double)from->data[c]);
}

gr_tensor *composed_batch_norm(gr_tape *t, gr_tensor *x, int axis, gr_tensor *gamma, gr_tensor *beta, const gr_batch_norm_config *config)
{
    const gr_batch_norm_config o = config ? *config : (gr_batch_norm_config){ 0 };
    if (gr_failed(t) || !x || x->rank < 2) return NULL;
    axis = (axis + x->rank) % x->rank;
    const gr_axes over = axes_without(x, 0, axis);
    const gr_shape channels = shape_with_ones(x, GR_AXES(axis), false);
    gr_tensor *real = real_values(t, x, axis, &o), *none = gr_scalar(t, 0), *n = gr_sum(t, real, GR_ALL_AXES, false);
    n = gr_maximum(t, n, gr_scalar(t, 1)); /* a step of an LSTM may have no real row */
    gr_tensor *mean, *var;
    if (o.running_mean && !gr_tape_training(t)) {
        mean = gr_reshape(t, gr_detach(t, o.running_mean), channels), var = gr_reshape(t, gr_detach(t, o.running_var), channels);
    } else {
        mean = gr_div(t, gr_sum(t, gr_where(t, real, x, none), over, true), n);
        gr_tensor *d = gr_where(t, real, gr_sub(t, x, mean), none);
        var = gr_div(t, gr_sum(t, gr_square(t, d), over, true), n);
    }
    gr_tensor *root = gr_sqrt(t, gr_add_scalar(t, var, setting(o.eps, GR_NORM_EPS)));
    gr_tensor *y = gr_div(t, gr_where(t, real, gr_sub(t, x, mean), none), root);
    y = gr_where(t, real, scale_and_shift(t, y, gamma, beta, channels), none);
    if (!y || !o.running_mean || !gr_tape_training(t)) return y;

    gr_tensor *unbiased = gr_mul(t, gr_detach(t, var), gr_div(t, n, gr_add_scalar(t, n, -1)));
    if (!unbiased) return NULL;
    if (o.batches && gr_undo_note(t, o.batches, sizeof *o.batches)) ++*o.batches;
    const double momentum = o.cumulative ? 1 / (double)*o.batches : setting(o.momentum, 0.1);
    move(t, o.running_mean, mean, momentum), move(t, o.running_var, unbiased, momentum);
    return y;
}
