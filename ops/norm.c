/* ops/norm.c - group norm, instance norm, and the norm over any axes (group_norm, instance_norm, norm_axes). The maths is in ops/norm_groups.h.
 * Shapes: x, y [N, C, ..], and for instance norm also [N, .., C]; gamma and beta [C]. norm_axes takes any.
 *                                                          Wu, He 2018; Ulyanov, Vedaldi, Lempitsky 2016 */
#include "ops/norm_groups.h"
#include "ops/strided.h"

static const gr_op group_norm_op = { .name = "group_norm", .backward = gr__norm_backward, .scratch = gr__norm_scratch };
static const gr_op instance_norm_op = { .name = "instance_norm", .backward = gr__norm_backward, .scratch = gr__norm_scratch };
static const gr_op norm_axes_op = { .name = "norm_axes", .backward = gr__norm_backward, .scratch = gr__norm_scratch };

static gr_tensor *norm_over(gr_tape *t, const gr_op *op, gr__norm_groups s, gr_tensor *x, gr_tensor *gamma, gr_tensor *beta, double eps)
{
    s.groups = s.P * s.K, s.eps = (gr_real)gr__setting(eps, GR_NORM_EPS);
    s.gamma = gamma ? gamma->data : NULL, s.beta = beta ? beta->data : NULL;
    gr__norm_all(t, &s);
    s.stat = gr_save_reals(t, GR__NORM_STATS * s.groups);
    gr_tensor *y = gr__empty(t, op, gr_shape_of(x));
    if (!s.run || !s.stat || !y) return NULL;
    gr__norm_forward(t, &s, x->data, y->data);
    return gr_record(t, op, &s, sizeof s, GR_OUT(y), GR_IN(x, gamma, beta));
}

/* gamma * y + beta, for a gamma that the kernels do not know. Both get `shape`, which broadcasts to that of y. */
static gr_tensor *norm_affine(gr_tape *t, gr_tensor *y, gr_tensor *gamma, gr_tensor *beta, gr_shape shape)
{
    if (gamma) y = gr_mul(t, y, gr_reshape(t, gamma, shape));
    return beta ? gr_add(t, y, gr_reshape(t, beta, shape)) : y;
}

gr_tensor *gr_group_norm(gr_tape *t, gr_tensor *x, size_t groups, gr_tensor *gamma, gr_tensor *beta, double eps)
{
    const gr_op *op = &group_norm_op;
    if (!gr__norm_ready(t, op, x, gamma, beta)) return NULL;
    if (x->rank < 2) return gr_fail(t, op, "x is %s, and must be [N, C] or [N, C, ..]", gr_shape_text(t, x));
    const size_t N = x->dim[0], C = x->dim[1];
    if (!groups || C % groups) return gr_fail(t, op, "x is %s, so its %zu channels cannot make %zu groups", gr_shape_text(t, x), C, groups);
    if (!gr__norm_check_pair(t, op, x, "gamma and beta", gamma, beta, C) || !gr__norm_check_eps(t, op, eps)) return NULL;
    const size_t L = gr__sizes(x->dim, 2, x->rank);
    if (L == 1) { /* a group is a row of C / groups values, each with a gain of its own */
        gr_tensor *rows = gr_layer_norm(t, gr_reshape(t, x, GR_SHAPE(N, groups, C / groups)), 1, NULL, NULL, eps);
        gr_shape last = gr_shape_of(x);
        last.dim[0] = 1;
        return norm_affine(t, gr_reshape(t, rows, gr_shape_of(x)), gamma, beta, last);
    }
    const gr__norm_groups s = { .P = N * groups, .R = C / groups, .K = 1, .I = L, .of_groups = groups, .per_group = C / groups };
    return norm_over(t, op, s, x, gamma, beta, eps);
}

gr_tensor *gr_instance_norm(gr_tape *t, gr_tensor *x, int axis, gr_tensor *gamma, gr_tensor *beta, double eps)
{
    const gr_op *op = &instance_norm_op;
    if (!gr__norm_ready(t, op, x, gamma, beta)) return NULL;
    if (x->rank < 3) return gr_fail(t, op, "x is %s, and must have 3 axes or more: samples, channels, and what is normalized", gr_shape_text(t, x));
    const int at = gr_axis(t, op, x, axis);
    if (at < 0) return NULL;
    if (at != 1 && at != x->rank - 1) return gr_fail(t, op, "x is %s, so axis must be 1 or -1; got %d", gr_shape_text(t, x), axis);
    const size_t N = x->dim[0], C = x->dim[at];
    if (!gr__norm_check_pair(t, op, x, "gamma and beta", gamma, beta, C) || !gr__norm_check_eps(t, op, eps)) return NULL;
    size_t L = 1;
    for (int i = 1; i < x->rank; i++) L *= i == at ? 1 : x->dim[i];
    if (L == 1 && x->len)
        return gr_fail(t, op, "x is %s, so each channel of a sample has 1 value, which has no variance: normalize by gr_layer_norm", gr_shape_text(t, x));
    gr__norm_groups s = { .P = N, .R = L, .K = C, .I = 1, .of_groups = C, .per_group = 1 };
    if (at == 1) s.P = N * C, s.R = 1, s.K = 1, s.I = L;
    return norm_over(t, op, s, x, gamma, beta, eps);
}

/* ---- Any axes ---- */

enum { NORM_P = 1, NORM_R = 2, NORM_K = 4, NORM_I = 8 };

/* See the axes of x as at most four runs P, R, K, I, of which R and I are normalized over and P and K are kept; false if there are more runs.
 * part[axis] becomes NORM_P .. NORM_I, or 0 if the axis has size 1. */
static bool norm_runs_of(const gr_tensor *x, const bool *is_over, gr__norm_groups *s, int part[GR_MAX_RANK])
{
    int turn = 0;
    *s = (gr__norm_groups){ .P = 1, .R = 1, .K = 1, .I = 1, .of_groups = 1, .per_group = 1 };
    for (int i = 0; i < x->rank; i++) {
        part[i] = 0;
        if (x->dim[i] == 1) continue;
        turn += (turn % 2 == 1) != is_over[i];
        if (turn > 3) return false;
        *(size_t *[]){ &s->P, &s->R, &s->K, &s->I }[turn] *= x->dim[i], part[i] = 1 << turn;
    }
    if (turn > 1) return true;
    for (int i = 0; i < x->rank; i++) part[i] = part[i] == NORM_R ? NORM_I : part[i];
    s->I = s->R, s->R = 1;
    return true;
}

/* Whether the kernels know a gamma that has the affine axes; then fill in which of its values belong to which group. */
static bool norm_runs_affine(const gr_tensor *x, const bool *is_affine, const int *part, gr__norm_groups *s)
{
    int whole = 0, lacking = 0;
    for (int i = 0; i < x->rank; i++) *(is_affine[i] ? &whole : &lacking) |= part[i];
    if (whole & lacking || whole & NORM_I) return false;
    if (whole == NORM_R) s->per_group = s->R;
    else if (whole & NORM_R) return false;
    else if (whole & NORM_P && lacking & NORM_K) return false;
    else s->of_groups = (whole & NORM_K ? s->K : 1) * (whole & NORM_P ? s->P : 1);
    return true;
}

gr_tensor *gr_norm_axes(gr_tape *t, gr_tensor *x, gr_axes over, gr_axes affine, gr_tensor *gamma, gr_tensor *beta, double eps)
{
    const gr_op *op = &norm_axes_op;
    bool is_over[GR_MAX_RANK], is_affine[GR_MAX_RANK];
    int part[GR_MAX_RANK];
    if (!gr__norm_ready(t, op, x, gamma, beta) || !gr__axes_marked(t, op, x, over, is_over) || !gr__axes_marked(t, op, x, affine, is_affine)) return NULL;
    gr_shape shape = gr_shape_of(x);
    size_t n = 1;
    for (int i = 0; i < x->rank; i++) n *= shape.dim[i] = is_affine[i] ? x->dim[i] : 1;
    if (!gr__norm_check_pair(t, op, x, "gamma and beta", gamma, beta, n) || !gr__norm_check_eps(t, op, eps)) return NULL;

    gr__norm_groups s;
    gr_tensor *y;
    if (norm_runs_of(x, is_over, &s, part)) {
        if (norm_runs_affine(x, is_affine, part, &s)) return norm_over(t, op, s, x, gamma, beta, eps);
        y = norm_over(t, op, s, x, NULL, NULL, eps);
    } else { /* the kept axes move to the front, so that rows are normalized, and back */
        gr_axes order = { .count = x->rank }, back = order;
        for (int pass = 0, k = 0; pass < 2; pass++)
            for (int i = 0; i < x->rank; i++)
                if (is_over[i] == pass) order.axis[k] = i, back.axis[i] = k++;
        y = gr_permute(t, gr_layer_norm(t, gr_permute(t, x, order), over.count, NULL, NULL, eps), back);
    }
    return norm_affine(t, y, gamma, beta, shape);
}
