/* nn/norms.h - the modules of normalization. All kinds share one struct, one config and one forward. Each kind has PyTorch's constructor, and
 * gr_norm_new makes any kind. The names are PyTorch's: weight (starts at 1), bias (0), running_mean (0), running_var (1) and
 * num_batches_tracked (0). The rules at the top of nn/nn.h hold here too. */
#ifndef GR_NORMS_H
#define GR_NORMS_H
#include "nn/module.h"
#include "ops/ops.h"

typedef enum { GR_NORM_NONE, GR_NORM_BATCH, GR_NORM_LAYER, GR_NORM_RMS, GR_NORM_GROUP, GR_NORM_INSTANCE } gr_norm_kind;

/* Each kind ignores the fields that are for other kinds, but all fields must be in range. */
typedef struct {
    bool no_affine;   /* no weight and no bias */
    bool no_bias;     /* a weight but no bias */
    bool affine;      /* InstanceNorm: with weight and bias. Its constructor makes none by default, as in PyTorch; gr_norm_new makes them unless
                         no_affine is set */
    bool no_running;  /* BatchNorm: no running statistics, so that evaluation uses batch statistics too */
    int axis;         /* BatchNorm, GroupNorm, InstanceNorm: the axis of the features: 1 for x [N, C, ..], -1 for x [.., C]. Default 1, but -1 in
                         gr_norm_new. LayerNorm and RMSNorm always normalize the last axes, and refuse 1 */
    int dims;         /* BatchNorm, InstanceNorm: 1 makes a BatchNorm1d, which takes rank 2 or 3 (an InstanceNorm1d: 3); 2 makes a BatchNorm2d, which
                         takes rank 4. The default takes any rank */
    size_t groups;    /* GroupNorm made by gr_norm_new: default the largest of 32, 16, 8, 4, 2 that divides the features and leaves at least 2 to each
                         group, else 1 */
    double momentum;  /* BatchNorm: the weight of a new batch in the running statistics; default 0.1; GR_NONE means 0 */
    bool cumulative;  /* BatchNorm: the running statistics are the average over all batches so far, as with PyTorch's momentum=None; momentum has
                         no effect */
    double eps;       /* default 1e-5, in an RMSNorm the distance from 1 to the next gr_real, as in PyTorch; GR_NONE means no epsilon */
} gr_norm_config;

typedef struct {
    gr_module module;
    gr_norm_kind kind;
    gr_shape shape;                        /* of weight and bias: [features]; in LayerNorm and RMSNorm the sizes of the axes that are normalized */
    size_t groups;                         /* each group of features has statistics of its own: features in a BatchNorm or InstanceNorm, 1 in a LayerNorm */
    int axis, dims;
    double momentum, eps;
    bool cumulative;
    gr_tensor *weight, *bias;              /* NULL when the norm has none */
    gr_tensor *running_mean, *running_var; /* [features] in a BatchNorm with running statistics, else NULL */
    int64_t *batches;                      /* num_batches_tracked, likewise */
} gr_norm;

/* Normalize the last axes of x together. shape is their sizes: GR_SHAPE(64) normalizes each row of 64 values. */
GR_API gr_norm *gr_layer_norm_new(gr_tape *t, gr_module *parent, const char *name, gr_shape shape, const gr_norm_config *config);
GR_API gr_norm *gr_rms_norm_new(gr_tape *t, gr_module *parent, const char *name, gr_shape shape, const gr_norm_config *config);

/* Normalize each feature, over the batch and all other axes, or in an InstanceNorm each feature of each sample. features is the size of their axis. */
GR_API gr_norm *gr_batch_norm_new(gr_tape *t, gr_module *parent, const char *name, size_t features, const gr_norm_config *config);
GR_API gr_norm *gr_instance_norm_new(gr_tape *t, gr_module *parent, const char *name, size_t features, const gr_norm_config *config);

/* Normalize groups of features of each sample. features must be a multiple of groups. With axis -1 each row of features is normalized by itself. */
GR_API gr_norm *gr_group_norm_new(gr_tape *t, gr_module *parent, const char *name, size_t groups, size_t features, const gr_norm_config *config);

/* Make a norm of any kind, for programs that choose the kind when they run; gr_forward runs it. The features are the last axis of x unless the
 * config has axis 1, because LayerNorm and RMSNorm have them there. GR_NORM_NONE makes an Identity. GR_NORM_LAYER with axis 1 makes a GroupNorm
 * with one group: one mean over C, H and W, and a weight for each channel. Fails if kind is none of the kinds, or for GR_NORM_RMS with axis 1. */
GR_API gr_module *gr_norm_new(gr_tape *t, gr_module *parent, const char *name, gr_norm_kind kind, size_t features, const gr_norm_config *config);

/* For a BatchNorm on a padded x: which values are real. Only real values enter the statistics. NULL means that all are real. */
typedef struct {
    const gr_ints *lengths;  /* [N]: how many of the L positions of each sequence are real, for x [N, C, L], or [N, L, C] with axis -1 */
    const gr_tensor *mask;   /* shaped as x without its channel axis: 1 for real, 0 for padding */
} gr_norm_input;

/* Normalize x: see gr_layer_norm, gr_rms_norm, gr_batch_norm, gr_group_norm and gr_instance_norm. Returns a tensor shaped as x. input may be NULL.
 * Fails if x does not have the sizes that n was made for, or if input has lengths or a mask and n is no BatchNorm. */
GR_API gr_tensor *gr_norm_forward(gr_tape *t, const gr_norm *n, gr_tensor *x, const gr_norm_input *input);

/* Return m as a norm, or NULL unless one of the constructors above made it. */
GR_API gr_norm *gr_norm_of(const gr_module *m);

#endif
