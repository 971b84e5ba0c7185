/* nn/linear.c - y = x W^T + b */
#include "nn/internal.h"

static gr_tensor *linear_module_forward(gr_tape *t, const gr_module *m, gr_tensor *x) { return gr_linear_forward(t, (gr_linear_module *)m, x); }

gr_linear_module *gr_linear_new(gr_tape *t, gr_module *parent, const char *name, size_t in, size_t out, const gr_linear_config *config)
{
    gr_linear_module *l = gr_module_make(t, parent, name, "Linear", sizeof *l);
    if (!l) return NULL;
    gr__size_is_positive(t, &l->module, "in", in), gr__size_is_positive(t, &l->module, "out", out);
    const double bound = in ? 1 / __builtin_sqrt((double)in) : 0; /* PyTorch's default */
    gr_tensor *const shared = config ? config->weight : NULL;
    l->weight = shared ? gr_tie(t, &l->module, "weight", shared) : gr_param(t, &l->module, "weight", GR_SHAPE(out, in), gr_init_uniform(-bound, bound));
    if (l->weight && !gr__shapes_are_equal(gr_shape_of(l->weight), GR_SHAPE(out, in)))
        gr_fail(t, NULL, "%s: the weight to share must be [%zu, %zu]; got %s", l->module.path, out, in, gr_shape_text(t, l->weight));
    if (!config || !config->no_bias) l->bias = gr_param(t, &l->module, "bias", GR_SHAPE(out), gr_init_uniform(-bound, bound));
    l->module.multiply_adds = in * out, l->module.forward = linear_module_forward;
    return gr_module_ready(t, &l->module) ? l : NULL;
}

gr_tensor *gr_linear_forward(gr_tape *t, const gr_linear_module *l, gr_tensor *x)
{
    if (!l) return gr_fail_as(t, GR_MISUSE, "linear", "the module is NULL");
    GR_WITHIN(t, &l->module);
    return gr_linear(t, x, l->weight, l->bias);
}
