/* nn/conv.h - the modules of convolution, pooling and interpolation. gr_forward runs each of them, so they work in a Sequential. The rules at the top of nn/nn.h
 * hold here too.
 *     gr_conv2d_new(t, net, NULL, 1, 16, 3, &(gr_conv_config){ .padding = 1 });
 *     gr_activation_new(t, net, NULL, "ReLU", gr_relu);
 *     gr_max_pool2d_new(t, net, NULL, &(gr_pool_config){ .kernel = 2 });
 *     gr_flatten_new(t, net, NULL);                                                                                        */
#ifndef GR_NN_CONV_H
#define GR_NN_CONV_H
#include "nn/norms.h"
#include "ops/conv.h"

typedef struct {
    gr_module module;
    gr_tensor *weight; /* [out, in / groups, kernel], over two axes [out, in / groups, kernel, kernel_w]; if transposed: [in, out / groups, ..]
                          first values: uniform in +-1 / sqrt(size of axis 1 * kernel * ..), of bias too */
    gr_tensor *bias;   /* [out], or NULL with no_bias */
    gr_conv_config config;
    int dims;          /* 1 or 2 */
    bool transposed;   /* of gr_conv_transpose1d_new or gr_conv_transpose2d_new */
} gr_conv_module;

/* Convolution: see gr_conv1d and gr_conv2d for the formula and the config. kernel_w: default kernel. in and out must be multiples of groups. The
 * multiply-adds in gr_print_summary are those of one position of the output, because a module does not know the size of x. */
GR_API gr_conv_module *gr_conv1d_new(gr_tape *t, gr_module *parent, const char *name, size_t in, size_t out, size_t kernel, const gr_conv_config *config);
GR_API gr_conv_module *gr_conv2d_new(gr_tape *t, gr_module *parent, const char *name, size_t in, size_t out, size_t kernel, const gr_conv_config *config);
/* Transposed convolution: see gr_conv_transpose1d. Here gr_print_summary shows the multiply-adds of one position of the input. */
GR_API gr_conv_module *gr_conv_transpose1d_new(gr_tape *t, gr_module *parent, const char *name, size_t in, size_t out, size_t kernel,
                                               const gr_conv_config *config);
GR_API gr_conv_module *gr_conv_transpose2d_new(gr_tape *t, gr_module *parent, const char *name, size_t in, size_t out, size_t kernel,
                                               const gr_conv_config *config);
GR_API gr_tensor *gr_conv_forward(gr_tape *t, const gr_conv_module *c, gr_tensor *x);

/* For inference: make one convolution that computes bn(conv(x)) as in evaluation mode, up to rounding:
 *     s = gamma / sqrt(running_var + eps)        weight[o] = s[o] conv's weight[o]        bias = (conv's bias - running_mean) s + beta
 * Call it instead of the two, in training mode as well. It is an ordinary module with values of its own: conv and bn stay as they are, may be freed, and
 * what they learn later does not reach it. Parent must not be the Sequential that runs conv and bn, which would run it as well: build a second one, and
 * gr_module_copy the other layers. Its weights are in files like any others; to load them without conv and bn, make a convolution with conv's config,
 * but with a bias. Fails if conv is not a Conv1d or Conv2d, or if bn is not a BatchNorm that takes its output, over the channels, on axis 1 and with
 * running statistics. (PyTorch: torch.nn.utils.fusion.fuse_conv_bn_eval.) */
GR_API gr_conv_module *gr_fuse_conv_bn_eval(gr_tape *t, gr_module *parent, const char *name, const gr_conv_module *conv, const gr_norm *bn);

/* Pooling: see gr_max_pool1d and the others. The kernel of config must be 1 or more. gr_forward runs them. */
GR_API gr_module *gr_max_pool1d_new(gr_tape *t, gr_module *parent, const char *name, const gr_pool_config *config);
GR_API gr_module *gr_max_pool2d_new(gr_tape *t, gr_module *parent, const char *name, const gr_pool_config *config);
GR_API gr_module *gr_avg_pool1d_new(gr_tape *t, gr_module *parent, const char *name, const gr_pool_config *config);
GR_API gr_module *gr_avg_pool2d_new(gr_tape *t, gr_module *parent, const char *name, const gr_pool_config *config);
/* The arguments are the sizes of the output: gr_adaptive_avg_pool2d_new(t, net, NULL, 1, 1) is global average pooling. */
GR_API gr_module *gr_adaptive_max_pool1d_new(gr_tape *t, gr_module *parent, const char *name, size_t length);
GR_API gr_module *gr_adaptive_max_pool2d_new(gr_tape *t, gr_module *parent, const char *name, size_t height, size_t width);
GR_API gr_module *gr_adaptive_avg_pool1d_new(gr_tape *t, gr_module *parent, const char *name, size_t length);
GR_API gr_module *gr_adaptive_avg_pool2d_new(gr_tape *t, gr_module *parent, const char *name, size_t height, size_t width);

/* Interpolation: see gr_interpolate. gr_forward runs it. */
GR_API gr_module *gr_upsample_new(gr_tape *t, gr_module *parent, const char *name, const gr_interpolate_config *config);

/* Join all axes but the first: [N, C, H, W] becomes [N, C H W]. gr_forward runs it. */
GR_API gr_module *gr_flatten_new(gr_tape *t, gr_module *parent, const char *name);

#endif
