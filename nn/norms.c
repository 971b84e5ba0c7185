/* nn/norms.c - LayerNorm, RMSNorm, BatchNorm, GroupNorm, InstanceNorm. A kind is a line of the table norm_kinds and a case in
 * gr_norm_forward. */
#include "nn/internal.h"
#include "ops/norm_groups.h"

/* ---- The kinds ---- */

/* names: PyTorch's, with dims 0, 1 and 2. shares: what shares a statistic when the features are on axis 1. A kind that subtracts no mean has no
 * bias. */
static const struct {
    const char *article, *names[3];
    gr_op op; /* its name in messages */
    gr__norm_shares shares;
    double eps;
    bool no_mean;
} norm_kinds[] = {
    [GR_NORM_LAYER] = { "a", { "LayerNorm" }, { .name = "layer_norm" }, GR__NORM_OF_ROWS, GR_NORM_EPS, false },
    [GR_NORM_RMS] = { "an", { "RMSNorm" }, { .name = "rms_norm" }, GR__NORM_OF_ROWS, GR_RMS_NORM_EPS, .no_mean = true },
    [GR_NORM_BATCH] = { "a", { "BatchNorm", "BatchNorm1d", "BatchNorm2d" }, { .name = "batch_norm" }, GR__NORM_OF_FEATURES, GR_NORM_EPS, false },
    [GR_NORM_GROUP] = { "a", { "GroupNorm" }, { .name = "group_norm" }, GR__NORM_OF_SAMPLES, GR_NORM_EPS, false },
    [GR_NORM_INSTANCE] = { "an", { "InstanceNorm", "InstanceNorm1d", "InstanceNorm2d" }, { .name = "instance_norm" }, GR__NORM_OF_SAMPLES, GR_NORM_EPS, false },
};

gr__norm_shares gr__norm_shares_of(const gr_norm *n)
{
    return n->kind == GR_NORM_GROUP && n->axis == -1 ? GR__NORM_OF_POSITIONS : norm_kinds[n->kind].shares;
}

bool gr__norm_has_mean(const gr_norm *n) { return !norm_kinds[n->kind].no_mean; }

/* ---- Forward ---- */

bool gr__norm_fits(gr_tape *t, const gr_op *op, const gr_norm *n, gr_shape x)
{
    const int k = n->shape.rank, axis = n->axis == 1 ? 1 : x.rank - 1;
    if (x.rank < 0 || x.rank > GR_MAX_RANK) return gr_fail(t, op, "x is %s", gr_shape_name(t, x));
    if (norm_kinds[n->kind].shares == GR__NORM_OF_ROWS) {
        if (x.rank >= k && !memcmp(x.dim + x.rank - k, n->shape.dim, (size_t)k * sizeof *x.dim)) return true;
        return gr_fail(t, op, "x is %s, and its last axes must be %s", gr_shape_name(t, x), gr_shape_name(t, n->shape));
    }
    if (axis < 0 || axis >= x.rank || x.dim[axis] != n->shape.dim[0])
        return gr_fail(t, op, "x is %s, and its %s axis must hold %zu features%s", gr_shape_name(t, x), n->axis == 1 ? "second" : "last",
                       n->shape.dim[0], n->axis == 1 ? "; for x [.., C] make it with .axis = -1" : "");
    const bool rank2 = n->kind == GR_NORM_BATCH && n->dims == 1 && x.rank == 2; /* a BatchNorm1d takes samples without further axes too */
    if (!n->dims || x.rank == n->dims + 2 || rank2) return true;
    return gr_fail(t, op, "x is %s, and %s %s takes rank %s", gr_shape_name(t, x), norm_kinds[n->kind].article, n->module.kind,
                   n->dims == 2 ? "4" : n->kind == GR_NORM_BATCH ? "2 or 3" : "3");
}

static gr_tensor *norms_batch(gr_tape *t, const gr_norm *n, gr_tensor *x, double eps, const gr_norm_input *input)
{
    const gr_batch_norm_config c = {
        .running_mean = n->running_mean, .running_var = n->running_var, .batches = n->batches, .momentum = n->momentum, .cumulative = n->cumulative,
        .eps = eps, .lengths = input ? input->lengths : NULL, .mask = input ? input->mask : NULL };
    return gr_batch_norm(t, x, n->axis, n->weight, n->bias, &c);
}

static gr_tensor *norms_group(gr_tape *t, const gr_norm *n, gr_tensor *x, double eps)
{
    if (n->axis == 1) return gr_group_norm(t, x, n->groups, n->weight, n->bias, eps);
    gr_tensor *rows = gr_reshape(t, x, GR_SHAPE(x->len / n->shape.dim[0], n->shape.dim[0]));
    return gr_reshape(t, gr_group_norm(t, rows, n->groups, n->weight, n->bias, eps), gr_shape_of(x));
}

gr_tensor *gr_norm_forward(gr_tape *t, const gr_norm *n, gr_tensor *x, const gr_norm_input *input)
{
    static const gr_op norm = { .name = "norm" };
    if (!n) return gr_fail(t, &norm, "the module is NULL");
    const gr_op *const op = &norm_kinds[n->kind].op;
    GR_WITHIN(t, &n->module);
    if (!gr_ready(t, op, x) || !gr__norm_fits(t, op, n, gr_shape_of(x))) return NULL;
    if (input && (input->lengths || input->mask) && n->kind != GR_NORM_BATCH)
        return gr_fail(t, op, "lengths and a mask are for a BatchNorm; this is %s %s", norm_kinds[n->kind].article, n->module.kind);
    const double eps = n->eps == 0 ? GR_NONE : n->eps; /* an operator takes 0 as the default */
    switch (n->kind) {
    case GR_NORM_LAYER: return gr_layer_norm(t, x, n->shape.rank, n->weight, n->bias, eps);
    case GR_NORM_RMS: return gr_rms_norm(t, x, n->shape.rank, n->weight, eps);
    case GR_NORM_BATCH: return norms_batch(t, n, x, eps, input);
    case GR_NORM_GROUP: return norms_group(t, n, x, eps);
    case GR_NORM_INSTANCE: return gr_instance_norm(t, x, n->axis, n->weight, n->bias, eps);
    case GR_NORM_NONE: break; /* gr_norm_new makes no gr_norm then */
    }
    return NULL;
}

static gr_tensor *norm_module_forward(gr_tape *t, const gr_module *m, gr_tensor *x) { return gr_norm_forward(t, (const gr_norm *)m, x, NULL); }

gr_norm *gr_norm_of(const gr_module *m) { return m && m->forward == norm_module_forward ? (gr_norm *)m : NULL; }

/* ---- Constructors ---- */

/* Only the first error stays. After it gr_param makes nothing, and gr_module_ready frees n. */
static void norms_check(gr_tape *t, const gr_norm *n, const gr_norm_config *c)
{
    const char *const path = n->module.path, *const article = norm_kinds[n->kind].article, *const kind = n->module.kind;
    const gr_op op = { .name = path }; /* errors begin with it */
    const gr_shape s = n->shape;
    if (norm_kinds[n->kind].shares != GR__NORM_OF_ROWS) gr__size_is_positive(t, &n->module, "features", s.dim[0]);
    else if (n->axis == 1) gr_fail(t, NULL, "%s: %s %s normalizes the last axes; got axis 1", path, article, kind);
    else if (s.rank < 1 || s.rank > GR_MAX_RANK)
        gr_fail(t, NULL, "%s: %s %s has 1 to %d axes; got %s", path, article, kind, GR_MAX_RANK, gr_shape_name(t, s));
    else
        for (int k = 0; k < s.rank; k++)
            if (!s.dim[k]) gr_fail(t, NULL, "%s: the sizes of %s %s must be 1 or more; got %s", path, article, kind, gr_shape_name(t, s));
    if (c->axis < -1 || c->axis > 1) gr_fail(t, NULL, "%s: axis must be 1, -1, or 0 for the default; got %d", path, c->axis);
    if (c->dims < 0 || c->dims > 2) gr_fail(t, NULL, "%s: dims must be 1, 2, or 0 for any; got %d", path, c->dims);
    if (gr__norm_check_eps(t, &op, c->eps)) gr__norm_check_momentum(t, &op, c->momentum);
    if (!n->groups || s.dim[0] % n->groups) gr_fail(t, NULL, "%s: %zu features cannot make %zu groups", path, s.dim[0], n->groups);
}

/* groups: of a GroupNorm; the other kinds ignore it. */
static gr_norm *norms_make(gr_tape *t, gr_module *parent, const char *name, gr_norm_kind kind, gr_shape shape, size_t groups, const gr_norm_config *config)
{
    const gr_norm_config c = config ? *config : (gr_norm_config){ 0 };
    const int dims = norm_kinds[kind].names[1] && c.dims >= 0 && c.dims <= 2 ? c.dims : 0;
    gr_norm *n = gr_module_make(t, parent, name, norm_kinds[kind].names[dims], sizeof *n);
    if (!n) return NULL;
    gr_module *const m = &n->module;
    m->is_norm = true, m->forward = norm_module_forward;
    const bool rows = norm_kinds[kind].shares == GR__NORM_OF_ROWS;
    n->kind = kind, n->shape = shape, n->dims = dims, n->momentum = c.momentum, n->cumulative = c.cumulative;
    n->axis = c.axis ? c.axis : rows ? -1 : 1, n->groups = kind == GR_NORM_GROUP ? groups : rows ? 1 : shape.dim[0];
    n->eps = gr__setting(c.eps, norm_kinds[kind].eps);
    norms_check(t, n, &c);
    const bool affine = kind == GR_NORM_INSTANCE ? c.affine : !c.no_affine;
    if (affine) n->weight = gr_param(t, m, "weight", shape, gr_init_constant(1));
    if (affine && !c.no_bias && gr__norm_has_mean(n)) n->bias = gr_param(t, m, "bias", shape, gr_init_constant(0));
    if (n->weight) m->multiply_adds = n->weight->len;
    if (kind == GR_NORM_BATCH && !c.no_running) {
        n->running_mean = gr_buffer(t, m, "running_mean", shape, 0), n->running_var = gr_buffer(t, m, "running_var", shape, 1);
        n->batches = gr_counter(t, m, "num_batches_tracked");
    }
    return gr_module_ready(t, m) ? n : NULL;
}

#define NORM(called, kind, sizes, shape) \
    gr_norm *gr_##called##_new(gr_tape *t, gr_module *parent, const char *name, sizes, const gr_norm_config *config) \
    { \
        return norms_make(t, parent, name, kind, shape, 0, config); \
    }
NORM(layer_norm, GR_NORM_LAYER, gr_shape shape, shape) NORM(rms_norm, GR_NORM_RMS, gr_shape shape, shape)
NORM(batch_norm, GR_NORM_BATCH, size_t features, GR_SHAPE(features))
NORM(instance_norm, GR_NORM_INSTANCE, size_t features, GR_SHAPE(features))
#undef NORM

gr_norm *gr_group_norm_new(gr_tape *t, gr_module *parent, const char *name, size_t groups, size_t features, const gr_norm_config *config)
{
    return norms_make(t, parent, name, GR_NORM_GROUP, GR_SHAPE(features), groups, config);
}

/* ---- Any norm, by its kind ---- */

static gr_tensor *norms_identity(gr_tape *t, gr_tensor *x) { return gr_failed(t) ? NULL : x; }

static size_t norms_default_groups(size_t features)
{
    for (size_t g = 32; g > 1; g /= 2)
        if (features % g == 0 && features / g > 1) return g;
    return 1;
}

gr_module *gr_norm_new(gr_tape *t, gr_module *parent, const char *name, gr_norm_kind kind, size_t features, const gr_norm_config *config)
{
    gr_norm_config c = config ? *config : (gr_norm_config){ 0 };
    if (kind == GR_NORM_NONE) return gr_activation_new(t, parent, name, "Identity", norms_identity);
    if ((size_t)kind >= sizeof norm_kinds / sizeof *norm_kinds)
        return gr_fail(t, NULL, "%s: the kind must be one of gr_norm_kind; got %d", name ? name : "norm", (int)kind);
    size_t groups = c.groups ? c.groups : norms_default_groups(features);
    c.affine = !c.no_affine, c.axis = c.axis ? c.axis : -1;
    if (kind == GR_NORM_LAYER && c.axis == 1) kind = GR_NORM_GROUP, groups = 1;
    gr_norm *n = norms_make(t, parent, name, kind, GR_SHAPE(features), groups, &c);
    return n ? &n->module : NULL;
}
