/* nn/conv.c - convolution, transposed convolution, pooling, interpolation, flatten */
#include "nn/internal.h"
#include "ops/window.h"

static gr_tensor *conv_module_forward(gr_tape *t, const gr_module *m, gr_tensor *x) { return gr_conv_forward(t, (gr_conv_module *)m, x); }

static gr_conv_module *conv_new(gr_tape *t, gr_module *parent, const char *name, int dims, bool transposed, size_t in, size_t out,
                                size_t kernel, const gr_conv_config *config)
{
    const char *const kind = transposed ? dims == 1 ? "ConvTranspose1d" : "ConvTranspose2d" : dims == 1 ? "Conv1d" : "Conv2d";
    gr_conv_module *m = gr_module_make(t, parent, name, kind, sizeof *m);
    if (!m) return NULL;
    const gr_conv_config c = m->config = config ? *config : (gr_conv_config){ 0 };
    const char *path = m->module.path;
    const size_t groups = c.groups > 0 ? (size_t)c.groups : 1;
    if (gr__size_is_positive(t, &m->module, "in", in)) gr__size_is_positive(t, &m->module, "out", out);
    gr__conv_fits(t, path, &c, dims == 2, transposed);
    if (!kernel) gr_fail(t, NULL, "%s: the kernel must be 1 or more; got 0", path);
    if (in % groups || out % groups) gr_fail(t, NULL, "%s: %zu channels in and %zu out do not fall into %zu groups", path, in, out, groups);
    gr_shape shape = GR_SHAPE(transposed ? in : out, (transposed ? out : in) / groups, kernel, c.kernel_w > 0 ? (size_t)c.kernel_w : kernel);
    shape.rank = dims + 2, m->dims = dims, m->transposed = transposed;
    size_t fan = 1;
    for (int i = 1; i < shape.rank; i++) gr_size_mul(fan, shape.dim[i], &fan);
    const double bound = fan ? 1 / __builtin_sqrt((double)fan) : 0; /* PyTorch's default */
    m->weight = gr_param(t, &m->module, "weight", shape, gr_init_uniform(-bound, bound));
    if (!c.no_bias) m->bias = gr_param(t, &m->module, "bias", GR_SHAPE(out), gr_init_uniform(-bound, bound));
    m->module.multiply_adds = fan * shape.dim[0], m->module.forward = conv_module_forward;
    return gr_module_ready(t, &m->module) ? m : NULL;
}

#define CONV(name, dims, transposed) \
    gr_conv_module *gr_##name##_new(gr_tape *t, gr_module *parent, const char *called, size_t in, size_t out, size_t kernel, \
                                    const gr_conv_config *config) \
    { \
        return conv_new(t, parent, called, dims, transposed, in, out, kernel, config); \
    }
CONV(conv1d, 1, false) CONV(conv2d, 2, false) CONV(conv_transpose1d, 1, true) CONV(conv_transpose2d, 2, true)
#undef CONV

gr_tensor *gr_conv_forward(gr_tape *t, const gr_conv_module *c, gr_tensor *x)
{
    if (!c) return gr_fail_as(t, GR_MISUSE, "conv", "the module is NULL");
    GR_WITHIN(t, &c->module);
    gr_conv_config config = c->config;
    config.kernel_w = 0, config.no_bias = false; /* they are only of modules */
    if (c->transposed) return (c->dims == 1 ? gr_conv_transpose1d : gr_conv_transpose2d)(t, x, c->weight, c->bias, &config);
    return (c->dims == 1 ? gr_conv1d : gr_conv2d)(t, x, c->weight, c->bias, &config);
}

gr_conv_module *gr_fuse_conv_bn_eval(gr_tape *t, gr_module *parent, const char *name, const gr_conv_module *conv, const gr_norm *bn)
{
    static const gr_op op = { .name = "fuse_conv_bn_eval" };
    if (!conv || !bn) return gr_fail(t, &op, "%s is NULL", conv ? "bn" : "conv");
    if (conv->module.forward != conv_module_forward || conv->transposed || !gr_norm_of(&bn->module) || bn->kind != GR_NORM_BATCH)
        return gr_fail(t, &op, "conv must be a Conv1d or Conv2d, and bn a BatchNorm; got %s and %s", conv->module.kind, bn->module.kind);
    const gr_shape w = gr_shape_of(conv->weight), along = { w.rank, { w.dim[0], 1, 1, 1 } };
    if (bn->axis != 1 || (bn->dims && bn->dims != conv->dims) || !bn->running_mean || bn->shape.dim[0] != w.dim[0])
        return gr_fail(t, &op, "bn must normalize the %zu channels of a %s's output, on axis 1 and with running statistics; got a %s of %zu features on "
                       "axis %d%s", w.dim[0], conv->module.kind, bn->module.kind, bn->shape.dim[0], bn->axis, bn->running_mean ? "" : ", without running statistics");
    gr_conv_config c = conv->config;
    c.no_bias = false;
    gr_conv_module *m = conv_new(t, parent, name, conv->dims, false, w.dim[1] * (c.groups > 0 ? (size_t)c.groups : 1), w.dim[0], w.dim[2], &c);
    const gr_mark mark = gr_tape_mark(t);
    gr_tensor *s = gr_rsqrt(t, gr_add(t, bn->running_var, gr_scalar(t, bn->eps)));
    if (bn->weight) s = gr_mul(t, s, bn->weight);
    gr_tensor *bias = gr_mul(t, conv->bias ? gr_sub(t, conv->bias, bn->running_mean) : gr_neg(t, bn->running_mean), s);
    if (bn->bias) bias = gr_add(t, bias, bn->bias);
    const gr_tensor *weight = gr_mul(t, conv->weight, gr_reshape(t, s, along));
    if (weight && bias) memcpy(m->weight->data, weight->data, weight->len * sizeof(gr_real)), memcpy(m->bias->data, bias->data, bias->len * sizeof(gr_real));
    gr_tape_rewind(t, mark);
    return m && gr_module_ready(t, &m->module) ? m : NULL;
}

/* ---- Pooling ---- */

typedef gr_tensor *pool_function(gr_tape *t, gr_tensor *x, const gr_pool_config *config);
typedef struct {
    gr_module module;
    pool_function *slide;
    gr_pool_config config;
    gr_tensor *(*adapt1)(gr_tape *t, gr_tensor *x, size_t length);
    gr_tensor *(*adapt2)(gr_tape *t, gr_tensor *x, size_t height, size_t width);
    size_t height, width;
} pool_module;

static gr_tensor *pool_module_forward(gr_tape *t, const gr_module *m, gr_tensor *x)
{
    const pool_module *p = (pool_module *)m;
    return p->slide ? p->slide(t, x, &p->config) : p->adapt1 ? p->adapt1(t, x, p->width) : p->adapt2(t, x, p->height, p->width);
}

static gr_module *pool_new(gr_tape *t, gr_module *parent, const char *name, const char *kind, const gr_pool_config *config, pool_module made)
{
    pool_module *p = gr_module_make(t, parent, name, kind, sizeof *p);
    if (!p) return NULL;
    made.module = p->module;
    *p = made;
    p->module.forward = pool_module_forward;
    if (p->slide && (!config || config->kernel < 1))
        gr_fail(t, NULL, "%s: the kernel of %s must be 1 or more; got %d", p->module.path, kind, config ? config->kernel : 0);
    if (!p->slide && (!p->width || !p->height)) gr_fail(t, NULL, "%s: the output size of %s must not be 0", p->module.path, kind);
    if (config) p->config = *config;
    return gr_module_ready(t, &p->module) ? &p->module : NULL;
}

#define SLIDE(name, kind) \
    gr_module *gr_##name##_new(gr_tape *t, gr_module *parent, const char *called, const gr_pool_config *config) \
    { \
        return pool_new(t, parent, called, kind, config, (pool_module){ .slide = gr_##name }); \
    }
SLIDE(max_pool1d, "MaxPool1d") SLIDE(max_pool2d, "MaxPool2d") SLIDE(avg_pool1d, "AvgPool1d") SLIDE(avg_pool2d, "AvgPool2d")
#undef SLIDE

#define ADAPT(name, kind) \
    gr_module *gr_##name##1d_new(gr_tape *t, gr_module *parent, const char *called, size_t length) \
    { \
        return pool_new(t, parent, called, kind "1d", NULL, (pool_module){ .adapt1 = gr_##name##1d, .height = 1, .width = length }); \
    } \
    gr_module *gr_##name##2d_new(gr_tape *t, gr_module *parent, const char *called, size_t height, size_t width) \
    { \
        return pool_new(t, parent, called, kind "2d", NULL, (pool_module){ .adapt2 = gr_##name##2d, .height = height, .width = width }); \
    }
ADAPT(adaptive_max_pool, "AdaptiveMaxPool") ADAPT(adaptive_avg_pool, "AdaptiveAvgPool")
#undef ADAPT

/* ---- Interpolation and flatten ---- */

typedef struct { gr_module module; gr_interpolate_config config; } upsample_module;

static gr_tensor *upsample_forward(gr_tape *t, const gr_module *m, gr_tensor *x) { return gr_interpolate(t, x, &((upsample_module *)m)->config); }

gr_module *gr_upsample_new(gr_tape *t, gr_module *parent, const char *name, const gr_interpolate_config *config)
{
    upsample_module *u = gr_module_make(t, parent, name, "Upsample", sizeof *u);
    if (!u) return NULL;
    if (gr__interpolate_fits(t, u->module.path, config)) u->config = *config;
    u->module.forward = upsample_forward;
    return gr_module_ready(t, &u->module) ? &u->module : NULL;
}

static gr_tensor *flatten_rest(gr_tape *t, gr_tensor *x) { return gr_flatten(t, x, 1); }
gr_module *gr_flatten_new(gr_tape *t, gr_module *parent, const char *name) { return gr_activation_new(t, parent, name, "Flatten", flatten_rest); }
