/* nn/norms.c - BatchNorm, GroupNorm, InstanceNorm, RMSNorm, and any norm by its kind */
#include "core/op.h"
#include "nn/internal.h"
#include "nn/nn.h"
#include <float.h>
#include <string.h>

/* "a BatchNorm", "an InstanceNorm" */
static const char *norms_a(const char *kind) { return *kind == 'I' ? "an" : "a"; }

/* Checks what all have, and registers weight and bias. */
static double norms_make(gr_tape *t, gr_module *m, size_t features, bool affine, double eps, gr_tensor **weight, gr_tensor **bias)
{
    if (!features) gr_fail(t, NULL, "%s: %s %s needs 1 feature or more; got 0", m->path, norms_a(m->kind), m->kind);
    if (!(eps >= 0) && eps != GR_NONE) gr_fail(t, NULL, "%s: eps must not be negative; got %g", m->path, eps);
    if (affine) *weight = gr_param(t, m, "weight", GR_SHAPE(features), gr_init_constant(1));
    if (affine) *bias = gr_param(t, m, "bias", GR_SHAPE(features), gr_init_constant(0));
    m->multiply_adds = affine ? features : 0;
    return eps == GR_NONE ? 0 : eps ? eps : 1e-5;
}

/* Whether x has these features on its axis; else the error. */
static bool norms_fits(gr_tape *t, const gr_op *op, const gr_module *m, const gr_tensor *x, bool last, size_t features)
{
    if (gr_size(x, last ? -1 : 1) == features) return true;
    return gr_fail(t, op, "x is %s, but %s normalizes %zu features on its %s axis", gr_shape_text(t, x), m->path, features,
                   last ? "last" : "second");
}

/* The kind of a BatchNorm or an InstanceNorm with that many axes beside samples and channels. */
static const char *norms_kind(const char *const kinds[3], int dims) { return kinds[dims == 1 || dims == 2 ? dims : 0]; }
static void norms_check_dims(gr_tape *t, const gr_module *m, int dims)
{
    if (dims < 0 || dims > 2) gr_fail(t, NULL, "%s: dims must be 1, 2, or 0 for any; got %d", m->path, dims);
}

/* dims 2: rank 4; 1: rank 3, or also 2; 0: any. */
static bool norms_fits_dims(gr_tape *t, const gr_op *op, const gr_module *m, const gr_tensor *x, int dims, bool also_2)
{
    if (!dims || x->rank == dims + 2 || (dims == 1 && also_2 && x->rank == 2)) return true;
    return gr_fail(t, op, "x is %s, but %s is %s %s, for x of rank %s", gr_shape_text(t, x), m->path, norms_a(m->kind), m->kind,
                   dims == 2 ? "4"
                   : also_2  ? "2 or 3"
                             : "3");
}

/* ---- BatchNorm ---- */

static gr_tensor *batch_norm_module_forward(gr_tape *t, const gr_module *m, gr_tensor *x)
{
    return gr_batch_norm_forward(t, (gr_batch_norm_module *)m, x, NULL);
}

gr_batch_norm_module *gr_batch_norm_new(gr_tape *t, gr_module *parent, const char *name, size_t features,
                                        const gr_batch_norm_config *config)
{
    const gr_batch_norm_config c = config ? *config : (gr_batch_norm_config){ 0 };
    static const char *const kinds[] = { "BatchNorm", "BatchNorm1d", "BatchNorm2d" };
    gr_batch_norm_module *b = gr_module_make(t, parent, name, norms_kind(kinds, c.dims), sizeof *b);
    if (!b) return NULL;
    norms_check_dims(t, &b->module, c.dims);
    b->eps = norms_make(t, &b->module, features, !c.no_affine, c.eps, &b->weight, &b->bias);
    if (c.momentum != GR_NONE && !(c.momentum >= 0 && c.momentum <= 1))
        gr_fail(t, NULL, "%s: momentum must be in 0 .. 1, or GR_NONE; got %g", b->module.path, c.momentum);
    if (!c.no_running) {
        b->running_mean = gr_buffer(t, &b->module, "running_mean", GR_SHAPE(features), 0);
        b->running_var = gr_buffer(t, &b->module, "running_var", GR_SHAPE(features), 1);
        b->batches = gr_counter(t, &b->module, "num_batches_tracked");
    }
    b->features = features, b->features_last = c.features_last, b->dims = c.dims, b->momentum = c.momentum;
    b->module.forward = batch_norm_module_forward;
    return gr_module_ready(t, &b->module) ? b : NULL;
}

gr_tensor *gr_batch_norm_forward(gr_tape *t, const gr_batch_norm_module *b, gr_tensor *x, const gr_batch_norm_input *input)
{
    static const gr_op op = { .name = "batch_norm" };
    if (!b) return gr_fail(t, &op, "the module is NULL");
    if (!gr_ready(t, &op, x) || !norms_fits(t, &op, &b->module, x, b->features_last, b->features)) return NULL;
    if (!norms_fits_dims(t, &op, &b->module, x, b->dims, true)) return NULL;
    GR_WITHIN(t, &b->module);
    const gr_batch_norm_settings o = {
        .running_mean = b->running_mean,
        .running_var = b->running_var,
        .batches = b->batches,
        .momentum = b->momentum,
        .eps = b->eps ? b->eps : GR_NONE,
        .lengths = input ? input->lengths : NULL,
        .mask = input ? input->mask : NULL,
    };
    return gr_batch_norm(t, x, b->features_last ? -1 : 1, b->weight, b->bias, &o);
}

/* ---- GroupNorm ---- */

static gr_tensor *group_norm_module_forward(gr_tape *t, const gr_module *m, gr_tensor *x)
{
    return gr_group_norm_forward(t, (gr_group_norm_module *)m, x);
}

gr_group_norm_module *gr_group_norm_new(gr_tape *t, gr_module *parent, const char *name, size_t groups, size_t features,
                                        const gr_group_norm_config *config)
{
    const gr_group_norm_config c = config ? *config : (gr_group_norm_config){ 0 };
    gr_group_norm_module *g = gr_module_make(t, parent, name, "GroupNorm", sizeof *g);
    if (!g) return NULL;
    g->eps = norms_make(t, &g->module, features, !c.no_affine, c.eps, &g->weight, &g->bias);
    if (!groups || features % groups) gr_fail(t, NULL, "%s: %zu features cannot make %zu groups", g->module.path, features, groups);
    g->groups = groups, g->features = features, g->features_last = c.features_last;
    g->module.forward = group_norm_module_forward;
    return gr_module_ready(t, &g->module) ? g : NULL;
}

gr_tensor *gr_group_norm_forward(gr_tape *t, const gr_group_norm_module *g, gr_tensor *x)
{
    static const gr_op op = { .name = "group_norm" };
    if (!g) return gr_fail(t, &op, "the module is NULL");
    if (!gr_ready(t, &op, x) || !norms_fits(t, &op, &g->module, x, g->features_last, g->features)) return NULL;
    GR_WITHIN(t, &g->module);
    if (!g->features_last) return gr_group_norm(t, x, g->groups, g->weight, g->bias, g->eps);
    gr_tensor *rows = gr_reshape(t, x, GR_SHAPE(x->len / g->features, g->features));
    return gr_reshape(t, gr_group_norm(t, rows, g->groups, g->weight, g->bias, g->eps), gr_shape_of(x));
}

/* ---- InstanceNorm ---- */

static gr_tensor *instance_norm_module_forward(gr_tape *t, const gr_module *m, gr_tensor *x)
{
    return gr_instance_norm_forward(t, (gr_instance_norm_module *)m, x);
}

gr_instance_norm_module *gr_instance_norm_new(gr_tape *t, gr_module *parent, const char *name, size_t features,
                                              const gr_instance_norm_config *config)
{
    const gr_instance_norm_config c = config ? *config : (gr_instance_norm_config){ 0 };
    static const char *const kinds[] = { "InstanceNorm", "InstanceNorm1d", "InstanceNorm2d" };
    gr_instance_norm_module *i = gr_module_make(t, parent, name, norms_kind(kinds, c.dims), sizeof *i);
    if (!i) return NULL;
    norms_check_dims(t, &i->module, c.dims);
    i->eps = norms_make(t, &i->module, features, c.affine, c.eps, &i->weight, &i->bias);
    i->features = features, i->features_last = c.features_last, i->dims = c.dims;
    i->module.forward = instance_norm_module_forward;
    return gr_module_ready(t, &i->module) ? i : NULL;
}

gr_tensor *gr_instance_norm_forward(gr_tape *t, const gr_instance_norm_module *i, gr_tensor *x)
{
    static const gr_op op = { .name = "instance_norm" };
    if (!i) return gr_fail(t, &op, "the module is NULL");
    if (!gr_ready(t, &op, x) || !norms_fits(t, &op, &i->module, x, i->features_last, i->features)) return NULL;
    if (!norms_fits_dims(t, &op, &i->module, x, i->dims, false)) return NULL;
    GR_WITHIN(t, &i->module);
    return gr_instance_norm(t, x, i->features_last ? -1 : 1, i->weight, i->bias, i->eps);
}

/* ---- RMSNorm ---- */

static gr_tensor *rms_norm_module_forward(gr_tape *t, const gr_module *m, gr_tensor *x)
{
    return gr_rms_norm_forward(t, (gr_rms_norm_module *)m, x);
}

gr_rms_norm_module *gr_rms_norm_new(gr_tape *t, gr_module *parent, const char *name, gr_shape shape, const gr_rms_norm_config *config)
{
    const gr_rms_norm_config c = config ? *config : (gr_rms_norm_config){ 0 };
    const double machine = sizeof(gr_real) == sizeof(float) ? (double)FLT_EPSILON : DBL_EPSILON;
    gr_rms_norm_module *r = gr_module_make(t, parent, name, "RMSNorm", sizeof *r);
    if (!r) return NULL;
    gr__sizes_are_positive(t, &r->module, shape);
    if (!(c.eps >= 0) && c.eps != GR_NONE) gr_fail(t, NULL, "%s: eps must not be negative; got %g", r->module.path, c.eps);
    r->shape = shape, r->eps = c.eps == GR_NONE ? 0 : c.eps ? c.eps : machine;
    if (!c.no_affine) r->weight = gr_param(t, &r->module, "weight", shape, gr_init_constant(1));
    if (r->weight) r->module.multiply_adds = r->weight->len;
    r->module.forward = rms_norm_module_forward;
    return gr_module_ready(t, &r->module) ? r : NULL;
}

gr_tensor *gr_rms_norm_forward(gr_tape *t, const gr_rms_norm_module *r, gr_tensor *x)
{
    static const gr_op op = { .name = "rms_norm" };
    if (!r) return gr_fail(t, &op, "the module is NULL");
    if (!gr_ready(t, &op, x)) return NULL;
    GR_WITHIN(t, &r->module);
    const int k = r->shape.rank;
    if (x->rank < k || memcmp(x->dim + x->rank - k, r->shape.dim, (size_t)k * sizeof *x->dim) != 0)
        return gr_fail(t, &op, "x is %s, but %s normalizes last axes of %s", gr_shape_text(t, x), r->module.path,
                       gr_shape_name(t, r->shape));
    return gr_rms_norm(t, x, k, r->weight, r->eps);
}

/* ---- Any ---- */

static gr_tensor *norms_identity(gr_tape *t, gr_tensor *x) { return gr_failed(t) ? NULL : x; }

static size_t norms_groups(size_t features)
{
    for (size_t g = 32; g > 1; g /= 2)
        if (features % g == 0 && features / g > 1) return g;
    return 1;
}

gr_module *gr_norm_new(gr_tape *t, gr_module *parent, const char *name, gr_norm_kind kind, size_t features, const gr_norm_config *config)
{
    const gr_norm_config c = config ? *config : (gr_norm_config){ 0 };
    const bool last = !c.channels_first;
    const gr_group_norm_config group = { .features_last = last, .eps = c.eps };
    switch (kind) {
    case GR_NORM_NONE: return gr_activation_new(t, parent, name, "Identity", norms_identity);
    case GR_NORM_BATCH: {
        gr_batch_norm_module *b = gr_batch_norm_new(t, parent, name, features,
                                                    &(gr_batch_norm_config){ .features_last = last, .momentum = c.momentum, .eps = c.eps });
        return b ? &b->module : NULL;
    }
    case GR_NORM_LAYER: {
        if (last) {
            gr_layer_norm_module *l = gr_layer_norm_new(t, parent, name, GR_SHAPE(features), &(gr_layer_norm_config){ .eps = c.eps });
            return l ? &l->module : NULL;
        }
        gr_group_norm_module *g = gr_group_norm_new(t, parent, name, 1, features, &group);
        return g ? &g->module : NULL;
    }
    case GR_NORM_RMS: {
        if (c.channels_first) return gr_fail(t, NULL, "%s: an RMSNorm is over the last axis; got channels_first", name ? name : "norm");
        gr_rms_norm_module *r = gr_rms_norm_new(t, parent, name, GR_SHAPE(features), &(gr_rms_norm_config){ .eps = c.eps });
        return r ? &r->module : NULL;
    }
    case GR_NORM_GROUP: {
        gr_group_norm_module *g = gr_group_norm_new(t, parent, name, c.groups ? c.groups : norms_groups(features), features, &group);
        return g ? &g->module : NULL;
    }
    case GR_NORM_INSTANCE: {
        gr_instance_norm_module *i = gr_instance_norm_new(
            t, parent, name, features, &(gr_instance_norm_config){ .affine = true, .features_last = last, .eps = c.eps });
        return i ? &i->module : NULL;
    }
    }
    return gr_fail(t, NULL, "%s: kind is %d, which is no gr_norm_kind", name ? name : "norm", (int)kind);
}
