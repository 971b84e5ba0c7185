/* ops/loss.c - losses of x against a target of the same shape, element by element, and the cosine similarity. Each of the former is one line:
 *
 *     LOSS(name, loss, d loss / dx, d loss / dy)      in terms of x, the target y, and w, a weight that repeats along the last axis
 *
 * w is delta in huber (Huber 1964) and pos_weight in bce_with_logits; the others do not use it.
 * Shapes: x and y alike; the loss has one value, or that shape.   Kinks: at that of l1 the derivative is 0; huber has none; in kl_div y log y is 0
 * at y = 0. kl_div_log takes log y in place of y.
 * bce_with_logits: with s(x) the sigmoid, -log s(x) = softplus(-x) and -log(1 - s(x)) = softplus(x), which neither overflow nor cancel.
 * Saved: w. Backward reads x and y. */
/* clang-format off */
#define LOSSES \
    LOSS(mse, r_square(x - y), 2 * (x - y), 2 * (y - x)) \
    LOSS(l1, r_abs(x - y), (gr_real)(x > y) - (gr_real)(x < y), (gr_real)(y > x) - (gr_real)(y < x)) \
    LOSS(huber, r_abs(x - y) <= w ? r_square(x - y) / 2 : w * (r_abs(x - y) - w / 2), r_min(w, r_max(-w, x - y)), r_min(w, r_max(-w, y - x))) \
    LOSS(bce_with_logits, w * y * r_softplus(-x) + (1 - y) * r_softplus(x), (1 - y) * r_sigmoid(x) - w * y * r_sigmoid(-x), \
         w * r_softplus(-x) - r_softplus(x)) \
    LOSS(kl_div, y == 0 ? -y * x : y * (r_log(y) - x), -y, r_log(y) - x + 1) \
    LOSS(kl_div_log, r_exp(y) * (y - x), -r_exp(y), r_exp(y) * (y - x + 1))
/* clang-format on */
#include "core/maths.h"
#include "ops/norm_groups.h"

/* clang-format off */
/* For n elements: their losses, or the sum of these. In backward g is the gradient of each loss; if g is NULL, it is scale for all of them. dx
 * or dy may be NULL. */
#define XS_YS_WS const gr_real *restrict xs, const gr_real *restrict ys, const gr_real *restrict ws, size_t n
#define XYW const gr_real x = xs[i], y = ys[i], w = ws[i]; (void)x, (void)y, (void)w
#define LOSS(op, loss, by_x, by_y) \
    KERNEL(void, op##_each, gr_real *restrict out, XS_YS_WS) \
    { \
        for (size_t i = 0; i < n; i++) { XYW; out[i] = (loss); } \
    } \
    KERNEL(gr_real, op##_sum, XS_YS_WS) { return SUM(i, n, __extension__({ XYW; (loss); })); } \
    KERNEL(void, op##_backward, gr_real *restrict dx, gr_real *restrict dy, const gr_real *restrict g, gr_real scale, XS_YS_WS) \
    { \
        for (size_t i = 0; dx && i < n; i++) { XYW; dx[i] += (g ? g[i] : scale) * (by_x); } \
        for (size_t i = 0; dy && i < n; i++) { XYW; dy[i] += (g ? g[i] : scale) * (by_y); } \
    }
LOSSES
#undef LOSS
#undef XYW
/* clang-format on */

KERNEL(gr_real, loss_add, const gr_real *restrict sum, size_t n) { return SUM(i, n, sum[i]); }

#if GR_HOST
/* The kernels of one loss, for one instruction set. */
typedef struct {
    void (*each)(gr_real *restrict out, XS_YS_WS);
    gr_real (*sum)(XS_YS_WS);
    void (*backward)(gr_real *restrict dx, gr_real *restrict dy, const gr_real *restrict g, gr_real scale, XS_YS_WS);
} loss_kernels;

typedef struct {
    loss_kernels k;
    const gr_real *w; /* the weights of one chunk; every chunk has the same */
    size_t chunk;     /* elements to a chunk: a multiple of the length after which w repeats */
    bool each;        /* GR_REDUCE_NONE */
    gr_real divisor;  /* of the sum */
} loss_saved;

typedef struct {
    const loss_saved *s;
    const gr_real *x, *y, *g;
    gr_real *each, *sums, *dx, *dy, scale;
    size_t len;
    bool fresh; /* dx or dy is not cleared yet */
} loss_run;

static void loss_chunk(void *argument, gr_range part)
{
    const loss_run *r = argument;
    const loss_saved *s = r->s;
    const size_t i = part.first, n = part.count;
    if (r->each) s->k.each(r->each + i, r->x + i, r->y + i, s->w, n);
    else if (r->sums) r->sums[i / s->chunk] = s->k.sum(r->x + i, r->y + i, s->w, n);
    const gr_real *const g = r->g ? r->g + i : NULL;
    if (r->fresh) memset((r->dx ? r->dx : r->dy) + i, 0, n * sizeof *r->dx);
    if (r->dx) s->k.backward(r->dx + i, NULL, g, r->scale, r->x + i, r->y + i, s->w, n);
    if (r->dy) s->k.backward(NULL, r->dy + i, g, r->scale, r->x + i, r->y + i, s->w, n);
}

static void loss_all(gr_tape *t, loss_run *r) { gr__parallel_rows(t, r->len, r->s->chunk, (double)r->len, loss_chunk, r); }

static void loss_node(gr_tape *t, const gr_node *n)
{
    const loss_saved *s = n->saved;
    const gr_tensor *x = n->in[0], *y = n->in[1];
    const gr_real *g = gr_grad(t, n->out[0]);
    loss_run r = { .s = s, .x = x->data, .y = y->data, .len = x->len };
    if (s->each) r.g = g;
    else r.scale = g[0] / s->divisor;
    /* One gradient after the other: x and y may share it, as one tensor or as slices that overlap. */
    if ((r.dx = gr__grad_to_fill(t, x, &r.fresh))) loss_all(t, &r);
    r.dx = NULL;
    if ((r.dy = gr__grad_to_fill(t, y, &r.fresh))) loss_all(t, &r);
}

/* Repeat w until it fills a chunk. A chunk is a multiple of its length, so that every chunk starts with w[0]. */
static const gr_real *loss_weights(gr_tape *t, const gr_real *w, size_t n, size_t *chunk)
{
    enum { LOSS_CHUNK = 4096 };
    *chunk = n < LOSS_CHUNK ? LOSS_CHUNK / n * n : n;
    gr_real *all = gr_save_reals(t, *chunk);
    for (size_t i = 0, k = 0; all && i < *chunk; i++, k = k + 1 < n ? k + 1 : 0) all[i] = w[k];
    return all;
}

static gr_tensor *loss_make(gr_tape *t, const gr_op *op, loss_kernels k, gr_tensor *x, gr_tensor *target, const gr_real *w, size_t n, gr_reduction reduction)
{
    if (!gr_same_shape(x, target))
        return gr_fail(t, op, "x is %s, so target must be %s; got %s", gr_shape_text(t, x), gr_shape_text(t, x), gr_shape_text(t, target));
    if (reduction > GR_REDUCE_BATCHMEAN)
        return gr_fail(t, op, "reduction must be GR_REDUCE_MEAN, GR_REDUCE_SUM, GR_REDUCE_NONE or GR_REDUCE_BATCHMEAN; got %d", (int)reduction);
    loss_saved s = { .k = k, .each = reduction == GR_REDUCE_NONE, .divisor = 1 };
    if (reduction == GR_REDUCE_MEAN) s.divisor = (gr_real)x->len;
    if (reduction == GR_REDUCE_BATCHMEAN && x->rank) s.divisor = (gr_real)x->dim[0];
    s.w = loss_weights(t, w, n, &s.chunk);
    gr_tensor *out = gr__empty(t, op, s.each ? gr_shape_of(x) : GR_SCALAR);
    if (!out) return NULL;

    loss_run r = { .s = &s, .x = x->data, .y = target->data, .len = x->len };
    const gr_mark mark = gr_tape_mark(t);
    const size_t chunks = gr_chunks(r.len, s.chunk);
    if (s.each) r.each = out->data;
    else if (!(r.sums = gr_save_reals(t, chunks))) return NULL;
    loss_all(t, &r);
    if (r.sums) out->data[0] = loss_add[gr_isa(t)](r.sums, chunks) / s.divisor;
    gr_tape_rewind(t, mark);
    return gr_record(t, op, &s, sizeof s, GR_OUT(out), GR_IN(x, target));
}

#define LOSS_KERNELS(op, t) (loss_kernels){ op##_each[gr_isa(t)], op##_sum[gr_isa(t)], op##_backward[gr_isa(t)] }
#define LOSS(op, ...) static const gr_op op##_op = { .name = #op, .backward = loss_node };
LOSSES
#undef LOSS

#define LOSS_WITHOUT_WEIGHT(op) \
    gr_tensor *gr_##op(gr_tape *t, gr_tensor *x, gr_tensor *target, gr_reduction reduction) \
    { \
        if (!gr_ready(t, &op##_op, x, target)) return NULL; \
        return loss_make(t, &op##_op, LOSS_KERNELS(op, t), x, target, &(gr_real){ 1 }, 1, reduction); \
    }
LOSS_WITHOUT_WEIGHT(mse) LOSS_WITHOUT_WEIGHT(l1)

gr_tensor *gr_kl_div(gr_tape *t, gr_tensor *x, gr_tensor *target, bool log_target, gr_reduction reduction)
{
    const gr_op *const op = log_target ? &kl_div_log_op : &kl_div_op;
    if (!gr_ready(t, op, x, target)) return NULL;
    return loss_make(t, op, log_target ? LOSS_KERNELS(kl_div_log, t) : LOSS_KERNELS(kl_div, t), x, target, &(gr_real){ 1 }, 1, reduction);
}

gr_tensor *gr_huber(gr_tape *t, gr_tensor *x, gr_tensor *target, double delta, gr_reduction reduction)
{
    if (!gr_ready(t, &huber_op, x, target)) return NULL;
    if (!((gr_real)delta > 0)) return gr_fail(t, &huber_op, "delta must be above 0; got %g", delta);
    return loss_make(t, &huber_op, LOSS_KERNELS(huber, t), x, target, &(gr_real){ (gr_real)delta }, 1, reduction);
}

gr_tensor *gr_bce_with_logits(gr_tape *t, gr_tensor *x, gr_tensor *target, const gr_tensor *pos_weight, gr_reduction reduction)
{
    if (!gr_ready(t, &bce_with_logits_op, x, target) || !gr_alive(t, &bce_with_logits_op, "pos_weight", pos_weight)) return NULL;
    const size_t last = x->rank ? x->dim[x->rank - 1] : 1;
    if (pos_weight && pos_weight->len != 1 && pos_weight->len != last)
        return gr_fail(t, &bce_with_logits_op, "x is %s, so pos_weight must hold 1 or %zu values; got %s", gr_shape_text(t, x), last,
                       gr_shape_text(t, pos_weight));
    const bool weighted = pos_weight && pos_weight->len;
    return loss_make(t, &bce_with_logits_op, LOSS_KERNELS(bce_with_logits, t), x, target, weighted ? pos_weight->data : &(gr_real){ 1 },
                     weighted ? pos_weight->len : 1, reduction);
}

/* ---- Composed of other operators ---- */

gr_tensor *gr_normalize(gr_tape *t, gr_tensor *x, double p, int axis, double eps)
{
    static const gr_op op = { .name = "normalize" }; /* for messages: the operators below are recorded */
    if (!gr__norm_check_eps(t, &op, eps)) return NULL;
    gr_tensor *const norm = gr_vector_norm(t, x, p, GR_AXES(axis), true);
    return gr_div(t, x, gr_clamp(t, norm, gr__setting(eps, 1e-12), (double)INFINITY));
}

gr_tensor *gr_std(gr_tape *t, gr_tensor *x, gr_axes axes, double correction, bool keepdim)
{
    gr_tensor *const v = gr_var(t, x, axes, correction, keepdim);
    return v ? gr_sqrt(t, gr_masked_fill(t, v, gr_eq(t, v, gr_scalar(t, 0)), 0)) : NULL; /* at 0 the root would pass an infinite gradient */
}

gr_tensor *gr_cosine_similarity(gr_tape *t, gr_tensor *a, gr_tensor *b, int axis, double eps)
{
    static const gr_op op = { .name = "cosine_similarity" };
    if (!gr_ready(t, &op, a, b) || (axis = gr_axis(t, &op, a, axis)) < 0) return NULL;
    if (a->rank != b->rank || a->dim[axis] != b->dim[axis])
        return gr_fail(t, &op, "a is %s, so b must have rank %d and size %zu along axis %d; got %s", gr_shape_text(t, a), a->rank, a->dim[axis], axis,
                       gr_shape_text(t, b));
    if (!gr__norm_check_eps(t, &op, eps)) return NULL;
    if (eps == 0) eps = 1e-8;
    return gr_sum(t, gr_mul(t, gr_normalize(t, a, 2, axis, eps), gr_normalize(t, b, 2, axis, eps)), GR_AXES(axis), false);
}
#endif
