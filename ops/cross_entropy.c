/* ops/cross_entropy.c - the loss of logits x (cross_entropy), or of log-probabilities (nll), against class numbers.      Derivation: ops/derivations.md
 *
 * Shapes: x [N, C] or [N, C, ..], k [N] or [N, ..], w [C]; the loss has one value, or that of k.   Smoothing: Szegedy et al. 2016
 * For a sample with target k and C classes, class weights w and label smoothing e, with m = max x and s = sum over c of exp(x_c - m):
 *     p_c  = exp(x_c - m) / s             -log p_c = log s + (m - x_c)
 *     loss = a (-log p_k) + b * sum over c of w_c (-log p_c)                 with a = (1 - e) w_k and b = e / C
 * Without weights and smoothing this is loss = -log p_k. Backward, with g the gradient of this loss:
 *     dx_c = g (a + b * sum of w) p_c - g b w_c, and for c = k also minus g a
 * Without weights and smoothing this is dx = g (p - 1 at the target). A mean divides by the sum of w_k over the samples that are not ignored.
 * Kinks: an ignored sample has loss 0 and gradient 0, whatever its x holds.
 *     nll: loss = -w_k x_k, and dx_k = -g w_k
 * Saved: m and s of each sample. Backward computes the probabilities again. */
#include "ops/index.h"
#include "ops/ops.h"
#include "ops/softmax.h"

typedef struct {
    softmax_axis axis;
    const gr_real *weight;   /* [C] */
    gr_real smooth, weights; /* e; the sum of w */
    const int *target;
    int ignore[2];
    size_t samples;
    gr_real *max, *sum; /* m and s of each sample */
    gr_real total;      /* what a mean divides by */
    gr_reduction reduction;
} cross_entropy_saved;

typedef struct {
    const cross_entropy_saved *s;
    const gr_real *x, *g;
    gr_real *loss, *dx, scale; /* scale g[i], or scale g[0] where the losses were reduced, is the gradient of sample i's loss */
    int isa;
    bool fresh; /* dx is not cleared yet */
} cross_entropy_run;

INLINE int cross_entropy_ignores(const cross_entropy_saved *s, size_t sample)
{
    return s->target[sample] == s->ignore[0] || s->target[sample] == s->ignore[1];
}

/* A block is a tile, which is one group, or up to 16 rows, which are a group each (ops/softmax.h). For the block that begins at `group`, and
 * ends before group `end`: n is how many samples it has, sample is the first, and the result is where its first logit lies. */
INLINE size_t cross_entropy_block(const softmax_axis *a, size_t group, size_t end, size_t *n, size_t *sample)
{
    const size_t tiles = (a->inner + 15) / 16;
    if (a->inner > 1) return *sample = group / tiles * a->inner + group % tiles * 16, softmax_group(a, group, n);
    *n = end - group < 16 ? end - group : 16;
    return *sample = group, group * a->C;
}

/* Sum over c of w_c (m - x_c), for each sample of a block. */
INLINE r_lanes cross_entropy_smooth(const gr_real *x, const gr_real *w, r_lanes m, size_t C, size_t inner, size_t n)
{
    r_lanes s[16] = { { { 0 } } };
    if (inner == 1) {
        for (size_t j = 0; j < n; j++, x += C) s[0].v[j] = SUM(c, C, w[c] * (m.v[j] - x[c]));
        return s[0];
    }
    for (size_t c = 0; c < C; c++, x += inner)
        for (size_t j = 0; j < n; j++) s[c % 16].v[j] += w[c] * (m.v[j] - x[j]);
    return softmax_tree(s);
}

KERNEL(void, cross_entropy_forward, const cross_entropy_run *r, size_t group, size_t end)
{
    const cross_entropy_saved *const s = r->s;
    const size_t C = s->axis.C, inner = s->axis.inner;
    size_t n, i;
    const gr_real *const x = r->x + cross_entropy_block(&s->axis, group, end, &n, &i);
    r_lanes m = { { 0 } }, sum = { { 0 } }, log_sum, smooth = { { 0 } };
    if (inner > 1) softmax_tile(&m, &sum, NULL, x, C, inner, n);
    else softmax_rows(m.v, sum.v, NULL, x, C, n);
    for (int j = 0; j < 16; j++) log_sum.v[j] = r_log(sum.v[j]);
    if (s->smooth > 0) smooth = cross_entropy_smooth(x, s->weight, m, C, inner, n);

    for (size_t j = 0; j < n; j++, i++) {
        s->max[i] = m.v[j], s->sum[i] = sum.v[j], r->loss[i] = 0;
        if (cross_entropy_ignores(s, i)) continue;
        const size_t k = (size_t)s->target[i];
        const gr_real minus_log_p = log_sum.v[j] + (m.v[j] - x[inner > 1 ? k * inner + j : j * C + k]);
        r->loss[i] = (1 - s->smooth) * s->weight[k] * minus_log_p;
        if (s->smooth > 0) r->loss[i] += s->smooth / (gr_real)C * (s->weights * log_sum.v[j] + smooth.v[j]);
    }
}

INLINE gr_real cross_entropy_dx(gr_real x, gr_real m, gr_real p, gr_real q, gr_real w) { return (p == 0 ? 0 : p * r_exp_low(x - m)) - q * w; }

KERNEL(void, cross_entropy_backward, const cross_entropy_run *r, size_t group, size_t end)
{
    const cross_entropy_saved *const s = r->s;
    const size_t C = s->axis.C, inner = s->axis.inner;
    const gr_real *restrict w = s->weight;
    size_t n, i;
    const size_t at = cross_entropy_block(&s->axis, group, end, &n, &i);
    const gr_real *restrict x = r->x + at;
    gr_real *restrict dx = r->dx + at;
    r_lanes m = { { 0 } }, p = m, q = m, a = m; /* dx_c += p exp(x_c - m) - q w_c, and for the target also minus a */
    for (size_t j = 0; j < n; j++) {
        if (cross_entropy_ignores(s, i + j)) continue;
        const gr_real g = r->scale * (s->reduction == GR_REDUCE_NONE ? r->g[i + j] : r->g[0]), b = s->smooth / (gr_real)C;
        m.v[j] = s->max[i + j], a.v[j] = g * ((1 - s->smooth) * w[s->target[i + j]]), q.v[j] = g * b;
        p.v[j] = (a.v[j] + q.v[j] * s->weights) / s->sum[i + j];
    }
    if (inner > 1)
        for (size_t c = 0; c < C; c++)
            for (size_t j = 0; j < n; j++) dx[c * inner + j] += cross_entropy_dx(x[c * inner + j], m.v[j], p.v[j], q.v[j], w[c]);
    else
        for (size_t j = 0; j < n; j++) {
            const gr_real mj = m.v[j], pj = p.v[j], qj = q.v[j];
            for (size_t c = 0; c < C; c++) dx[j * C + c] += cross_entropy_dx(x[j * C + c], mj, pj, qj, w[c]);
        }
    for (size_t j = 0; j < n; j++)
        if (!cross_entropy_ignores(s, i + j)) dx[inner > 1 ? (size_t)s->target[i + j] * inner + j : j * C + (size_t)s->target[i + j]] -= a.v[j];
}

KERNEL(gr_real, cross_entropy_sum, const gr_real *restrict loss, size_t n) { return SUM(i, n, loss[i]); }

#if GR_HOST
/* ---- What cross_entropy and nll share: checks, and the reduction ---- */

static gr_shape cross_entropy_shape(const gr_tensor *x) /* of the targets: x without its classes */
{
    gr_shape shape = gr_shape_of(x);
    shape.rank--;
    for (int i = 1; i < shape.rank; i++) shape.dim[i] = x->dim[i + 1];
    return shape;
}

/* Fill s, except max and sum. Returns false, with the error on the tape, when the arguments do not fit. */
static bool cross_entropy_check(gr_tape *t, const gr_op *op, const char *name, const gr_tensor *x, const gr_ints *target,
                                const gr_cross_entropy_config *config, cross_entropy_saved *s)
{
    const gr_cross_entropy_config c = config ? *config : (gr_cross_entropy_config){ 0 };
    if (!gr__ints_ready(t, op, "target", target) || !gr_alive(t, op, "weight", c.weight)) return false;
    if (!x->rank) return gr_fail(t, op, "%s is [], but needs an axis of classes: [N, C], [N, C, d1 ..] or [C]", name);
    const gr_shape want = cross_entropy_shape(x), got = gr__ints_shape(target);
    if (x->rank > 2 && got.rank == want.rank && !memcmp(got.dim, x->dim, (size_t)got.rank * sizeof *got.dim) && x->dim[1] != x->dim[got.rank])
        return gr_fail(t, op, "%s is %s, so axis 1 has the classes; if it is the last axis, reshape to %s, and target to [%zu]", name, gr_shape_text(t, x),
                       gr_shape_name(t, GR_SHAPE(target->len, x->dim[got.rank])), target->len);
    if (got.rank != want.rank || memcmp(got.dim, want.dim, (size_t)want.rank * sizeof *want.dim))
        return gr_fail(t, op, "%s is %s, so target must be %s; got %s", name, gr_shape_text(t, x), gr_shape_name(t, want), gr_shape_name(t, got));
    s->axis = softmax_axis_of(x, x->rank > 1);
    if (s->axis.inner == 1 && s->axis.chunk < 16) s->axis.chunk = 16; /* a whole block of rows */
    if (c.weight && c.weight->len != s->axis.C)
        return gr_fail(t, op, "%s is %s, so weight must hold %zu values; got %s", name, gr_shape_text(t, x), s->axis.C, gr_shape_text(t, c.weight));
    if (!(c.label_smoothing >= 0 && c.label_smoothing <= 1)) return gr_fail(t, op, "label_smoothing must be in 0 .. 1; got %g", c.label_smoothing);
    if (c.reduction > GR_REDUCE_NONE) return gr_fail(t, op, "reduction must be GR_REDUCE_MEAN, GR_REDUCE_SUM or GR_REDUCE_NONE; got %d", (int)c.reduction);
    s->target = target->data, s->smooth = (gr_real)c.label_smoothing, s->reduction = c.reduction;
    s->ignore[0] = c.ignore_index ? c.ignore_index : -100, s->ignore[1] = c.ignore_class_0 ? 0 : s->ignore[0];
    for (size_t i = 0; i < target->len; i++)
        if ((target->data[i] < 0 || (size_t)target->data[i] >= s->axis.C) && !cross_entropy_ignores(s, i))
            return gr_fail(t, op, "target%s is %d; it must be 0 .. %lld, or ignore_index (%d)", index_place(t, target, i), target->data[i],
                           (long long)s->axis.C - 1, s->ignore[0]);

    const size_t C = target->len ? s->axis.C : 0; /* without samples no weight is read */
    gr_real *w = gr_save_reals(t, C);
    if (!w) return false;
    double weights = 0;
    for (size_t k = 0; k < C; k++) weights += (double)(w[k] = c.weight ? c.weight->data[k] : 1);
    double total = 0;
    for (size_t i = 0; i < target->len; i++)
        if (!cross_entropy_ignores(s, i)) total += (double)w[target->data[i]];
    s->weight = w, s->weights = (gr_real)weights, s->total = (gr_real)total, s->samples = target->len;
    return true;
}

/* What the gradient of the result is multiplied by. */
static gr_real cross_entropy_scale(const cross_entropy_saved *s) { return s->reduction == GR_REDUCE_MEAN ? 1 / s->total : 1; }

/* ---- cross_entropy ---- */

static void cross_entropy_chunk(void *argument, gr_range groups)
{
    const cross_entropy_run *r = argument;
    const softmax_axis *a = &r->s->axis;
    if (r->fresh) memset(r->dx + groups.first * a->C, 0, groups.count * a->C * sizeof *r->dx);
    for (size_t g = groups.first, end = g + groups.count; g < end; g += a->inner > 1 ? 1 : 16)
        (r->dx ? cross_entropy_backward : cross_entropy_forward)[r->isa](r, g, end);
}

static void cross_entropy_node(gr_tape *t, const gr_node *n)
{
    const cross_entropy_saved *s = n->saved;
    const gr_tensor *x = n->in[0];
    cross_entropy_run r = { .s = s, .x = x->data, .g = gr_grad(t, n->out[0]), .scale = cross_entropy_scale(s), .isa = gr_isa(t) };
    r.dx = s->axis.inner == 1 ? gr__grad_to_fill(t, x, &r.fresh) : gr_grad(t, x);
    if (r.dx) gr__parallel_rows(t, s->axis.groups, s->axis.chunk, 0.7 * (double)x->len, cross_entropy_chunk, &r);
}
static const gr_op cross_entropy_op = { .name = "cross_entropy", .backward = cross_entropy_node };

/* ---- nll ---- */

static size_t nll_place(const cross_entropy_saved *s, size_t sample) /* of the target's value in x */
{
    const size_t inner = s->axis.inner;
    return (sample / inner * s->axis.C + (size_t)s->target[sample]) * inner + sample % inner;
}

static void nll_node(gr_tape *t, const gr_node *n)
{
    const cross_entropy_saved *s = n->saved;
    const gr_real *g = gr_grad(t, n->out[0]), scale = cross_entropy_scale(s);
    gr_real *dx = gr_grad(t, n->in[0]);
    for (size_t i = 0; dx && i < s->samples; i++)
        if (!cross_entropy_ignores(s, i)) dx[nll_place(s, i)] -= scale * (s->reduction == GR_REDUCE_NONE ? g[i] : g[0]) * s->weight[s->target[i]];
}
static const gr_op nll_op = { .name = "nll", .backward = nll_node };

static void nll_values(const cross_entropy_saved *s, const gr_tensor *x, gr_real *loss)
{
    for (size_t i = 0; i < s->samples; i++) loss[i] = cross_entropy_ignores(s, i) ? 0 : -s->weight[s->target[i]] * x->data[nll_place(s, i)];
}

/* ---- The public functions ---- */

static gr_tensor *cross_entropy_make(gr_tape *t, const gr_op *op, const char *name, gr_tensor *x, const gr_ints *target, const gr_cross_entropy_config *config)
{
    const bool nll = op == &nll_op;
    cross_entropy_saved s = { 0 };
    if (!gr_ready(t, op, x) || !cross_entropy_check(t, op, name, x, target, config, &s)) return NULL;
    if (nll && s.smooth > 0) return gr_fail(t, op, "only cross_entropy takes label_smoothing; got %g", config->label_smoothing);
    if (!nll) s.max = gr_save_reals(t, s.samples), s.sum = gr_save_reals(t, s.samples);
    gr_tensor *y = gr__empty(t, op, s.reduction == GR_REDUCE_NONE ? cross_entropy_shape(x) : GR_SCALAR);
    const gr_mark mark = gr_tape_mark(t);
    gr_real *loss = y && s.reduction == GR_REDUCE_NONE ? y->data : gr_save_reals(t, s.samples);
    if (!loss) return NULL;

    cross_entropy_run r = { .s = &s, .x = x->data, .loss = loss, .isa = gr_isa(t) };
    if (nll) nll_values(&s, x, loss);
    else if (x->len) gr__parallel_rows(t, s.axis.groups, s.axis.chunk, 1.0 * (double)x->len, cross_entropy_chunk, &r);
    else memset(loss, 0, s.samples * sizeof *loss); /* without classes every sample is ignored */
    if (s.reduction != GR_REDUCE_NONE) y->data[0] = cross_entropy_sum[gr_isa(t)](loss, s.samples);
    if (s.reduction == GR_REDUCE_MEAN) y->data[0] /= s.total;
    gr_tape_rewind(t, mark);
    return gr_record(t, op, &s, sizeof s, GR_OUT(y), GR_IN(x));
}

gr_tensor *gr_cross_entropy(gr_tape *t, gr_tensor *logits, const gr_ints *target, const gr_cross_entropy_config *config)
{
    return cross_entropy_make(t, &cross_entropy_op, "logits", logits, target, config);
}
gr_tensor *gr_nll(gr_tape *t, gr_tensor *logp, const gr_ints *target, const gr_cross_entropy_config *config)
{
    return cross_entropy_make(t, &nll_op, "logp", logp, target, config);
}
#endif
