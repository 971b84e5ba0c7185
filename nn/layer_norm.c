/* nn/layer_norm.c - zero mean and unit variance over the last axes, then scale and shift */
#include "core/op.h"
#include "nn/internal.h"
#include "nn/nn.h"
#include <string.h>

static gr_tensor *layer_norm_module_forward(gr_tape *t, const gr_module *m, gr_tensor *x)
{
    return gr_layer_norm_forward(t, (gr_layer_norm_module *)m, x);
}

gr_layer_norm_module *gr_layer_norm_new(gr_tape *t, gr_module *parent, const char *name, gr_shape shape,
                                        const gr_layer_norm_config *config)
{
    const gr_layer_norm_config c = config ? *config : (gr_layer_norm_config){ 0 };
    gr_layer_norm_module *l = gr_module_make(t, parent, name, "LayerNorm", sizeof *l);
    if (!l) return NULL;
    gr__sizes_are_positive(t, &l->module, shape);
    if (!(c.eps >= 0) && c.eps != GR_NONE) gr_fail(t, NULL, "%s: eps must not be negative; got %g", l->module.path, c.eps);
    l->shape = shape, l->eps = c.eps == GR_NONE ? 0 : c.eps == 0 ? 1e-5 : c.eps;
    if (!c.no_affine) l->weight = gr_param(t, &l->module, "weight", shape, gr_init_constant(1));
    if (!c.no_affine && !c.no_bias) l->bias = gr_param(t, &l->module, "bias", shape, gr_init_constant(0));
    if (l->weight) l->module.multiply_adds = l->weight->len;
    l->module.forward = layer_norm_module_forward;
    return gr_module_ready(t, &l->module) ? l : NULL;
}

gr_tensor *gr_layer_norm_forward(gr_tape *t, const gr_layer_norm_module *l, gr_tensor *x)
{
    static const gr_op op = { .name = "layer_norm" };
    if (!l) return gr_fail(t, &op, "the module is NULL");
    if (!gr_ready(t, &op, x)) return NULL;
    GR_WITHIN(t, &l->module);
    const int k = l->shape.rank;
    if (x->rank < k || memcmp(x->dim + x->rank - k, l->shape.dim, (size_t)k * sizeof *x->dim) != 0)
        return gr_fail(t, &op, "x is %s, but %s normalizes last axes of %s", gr_shape_text(t, x), l->module.path, gr_shape_name(t, l->shape));
    return gr_layer_norm(t, x, k, l->weight, l->bias, l->eps);
}
