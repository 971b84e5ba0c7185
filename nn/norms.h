/* nn/norms.h - the modules of normalization. One struct, one config and one forward serve all kinds; each kind has PyTorch's constructor, and
 * gr_norm_new makes any kind. The names are PyTorch's: weight (ones), bias (zeros), running_mean (zeros), running_var (ones),
 * num_batches_tracked. */
#ifndef GR_NORMS_H
#define GR_NORMS_H
#include "nn/module.h"
#include "ops/ops.h"
GR_BEGIN

typedef enum { GR_NORM_NONE, GR_NORM_BATCH, GR_NORM_LAYER, GR_NORM_RMS, GR_NORM_GROUP, GR_NORM_INSTANCE } gr_norm_kind;

/* A kind ignores the fields that it does not have. */
typedef struct {
    bool no_affine;   /* neither weight nor bias */
    bool no_bias;
    bool affine;      /* InstanceNorm: with weight and bias, which its constructor leaves out by default, as PyTorch does */
    bool no_running;  /* BatchNorm: without running statistics, so that evaluation uses those of the batch, too */
    int axis;         /* of the features of BatchNorm, GroupNorm, InstanceNorm: 1, for x [N, C, ..], or -1, for x [.., C]. Default 1; -1 in
                         gr_norm_new */
    int dims;         /* BatchNorm, InstanceNorm: 1 makes a BatchNorm1d, for x of rank 2 or 3 (InstanceNorm1d: 3), 2 a BatchNorm2d, for rank 4.
                         Default: a BatchNorm, for any rank */
    size_t groups;    /* of a GroupNorm by gr_norm_new. Default: the largest of 32, 16, .. 1 that divides the features and leaves 2 or more to
                         each group */
    double momentum;  /* BatchNorm: default 0.1; GR_NONE means the average over all batches so far */
    double eps;       /* default 1e-5, and PyTorch's in an RMSNorm, which is the distance from 1 to the next gr_real; GR_NONE means no epsilon */
} gr_norm_config;

typedef struct {
    gr_module module;
    gr_norm_kind kind;
    gr_shape shape;                        /* of weight and bias: [features]; in LayerNorm and RMSNorm the last axes of x, which share a mean */
    size_t groups;                         /* of the features, each with statistics of its own: in BatchNorm and InstanceNorm as many as features */
    int axis, dims;
    double momentum, eps;
    gr_tensor *weight, *bias;              /* or NULL */
    gr_tensor *running_mean, *running_var; /* [features] in a BatchNorm, or NULL */
    int64_t *batches;                      /* num_batches_tracked, or NULL */
} gr_norm;

GR_API gr_norm *gr_layer_norm_new(gr_tape *t, gr_module *parent, const char *name, gr_shape shape, const gr_norm_config *config);
GR_API gr_norm *gr_rms_norm_new(gr_tape *t, gr_module *parent, const char *name, gr_shape shape, const gr_norm_config *config);
GR_API gr_norm *gr_batch_norm_new(gr_tape *t, gr_module *parent, const char *name, size_t features, const gr_norm_config *config);
GR_API gr_norm *gr_instance_norm_new(gr_tape *t, gr_module *parent, const char *name, size_t features, const gr_norm_config *config);
/* With features on the last axis a GroupNorm normalizes each row of features by itself. */
GR_API gr_norm *gr_group_norm_new(gr_tape *t, gr_module *parent, const char *name, size_t groups, size_t features, const gr_norm_config *config);

/* A module of that kind with weight, and with bias unless it is an RMSNorm; call it by gr_forward. GR_NORM_NONE makes an Identity.
 * GR_NORM_LAYER with axis 1 makes a GroupNorm with one group: a mean over C, H and W, and a gain for each channel. GR_NORM_RMS with axis 1
 * is an error. config may be NULL. */
GR_API gr_module *gr_norm_new(gr_tape *t, gr_module *parent, const char *name, gr_norm_kind kind, size_t features, const gr_norm_config *config);

/* Which values of a padded x a BatchNorm takes for real; both as in gr_batch_norm_config, and either may be NULL. */
typedef struct {
    const gr_ints *lengths;  /* [N], for x [N, C, L], or [N, L, C] with axis -1 */
    const gr_tensor *mask;   /* x without its channel axis, 0 or 1 */
} gr_norm_input;

/* See gr_layer_norm, gr_batch_norm and the others. input NULL: all values are real. */
GR_API gr_tensor *gr_norm_forward(gr_tape *t, const gr_norm *n, gr_tensor *x, const gr_norm_input *input);

/* m as a norm; NULL unless one of the constructors above made it. */
GR_API gr_norm *gr_norm_of(const gr_module *m);

GR_END
#endif
