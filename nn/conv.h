/* nn/conv.h - the modules of convolution and pooling. All have a forward, so they stand in a Sequential:
 *     gr_conv2d_new(t, net, NULL, 1, 16, 3, &(gr_conv_config){ .padding = 1 });
 *     gr_activation_new(t, net, NULL, "ReLU", gr_relu);
 *     gr_max_pool2d_new(t, net, NULL, &(gr_pool_config){ .kernel = 2 });
 *     gr_flatten_new(t, net, NULL);                                                                                        */
#ifndef GR_NN_CONV_H
#define GR_NN_CONV_H
#include "nn/module.h"
#include "ops/conv.h"
GR_BEGIN

typedef struct {
    gr_module module;
    gr_tensor *weight; /* [out, in / groups, kernel] or [.., kernel, kernel_w]   both uniform within 1 / sqrt(in / groups * kernel ..) */
    gr_tensor *bias;   /* [out], or NULL */
    gr_conv_config config;
    int axes;          /* 1 or 2 */
} gr_conv_module;

/* Convolution: see gr_conv1d and gr_conv2d, whose settings config has; with kernel_w and no_bias. The summary's multiply-adds are
 * those of one place of the output, since the size of x is not known here. */
GR_API gr_conv_module *gr_conv1d_new(gr_tape *t, gr_module *parent, const char *name, size_t in, size_t out, size_t kernel,
                                     const gr_conv_config *config);
GR_API gr_conv_module *gr_conv2d_new(gr_tape *t, gr_module *parent, const char *name, size_t in, size_t out, size_t kernel,
                                     const gr_conv_config *config);
GR_API gr_tensor *gr_conv_forward(gr_tape *t, const gr_conv_module *c, gr_tensor *x);

/* Pooling: see gr_max_pool1d and the others. gr_adaptive_avg_pool2d_new(t, net, NULL, 1, 1) is global pooling. Called by gr_forward. */
GR_API gr_module *gr_max_pool1d_new(gr_tape *t, gr_module *parent, const char *name, const gr_pool_config *config);
GR_API gr_module *gr_max_pool2d_new(gr_tape *t, gr_module *parent, const char *name, const gr_pool_config *config);
GR_API gr_module *gr_avg_pool1d_new(gr_tape *t, gr_module *parent, const char *name, const gr_pool_config *config);
GR_API gr_module *gr_avg_pool2d_new(gr_tape *t, gr_module *parent, const char *name, const gr_pool_config *config);
GR_API gr_module *gr_adaptive_max_pool1d_new(gr_tape *t, gr_module *parent, const char *name, size_t length);
GR_API gr_module *gr_adaptive_max_pool2d_new(gr_tape *t, gr_module *parent, const char *name, size_t height, size_t width);
GR_API gr_module *gr_adaptive_avg_pool1d_new(gr_tape *t, gr_module *parent, const char *name, size_t length);
GR_API gr_module *gr_adaptive_avg_pool2d_new(gr_tape *t, gr_module *parent, const char *name, size_t height, size_t width);

/* All axes but the first into one: [N, C, H, W] to [N, C H W]. Called by gr_forward. */
GR_API gr_module *gr_flatten_new(gr_tape *t, gr_module *parent, const char *name);

GR_END
#endif
