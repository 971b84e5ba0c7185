/* nn/norms.h - the modules of normalization beside LayerNorm (nn/nn.h), and gr_norm_new, which makes any by its kind. Names are PyTorch's:
 * weight (ones), bias (zeros), running_mean (zeros), running_var (ones), num_batches_tracked. */
#ifndef GR_NORMS_H
#define GR_NORMS_H
#include "nn/module.h"
#include "ops/ops.h"
GR_BEGIN

/* ==== BatchNorm ==== */

typedef struct {
    bool no_affine;      /* neither weight nor bias */
    bool no_running;     /* the batch's statistics in evaluation mode, too */
    bool features_last;  /* x is [.., C], not [N, C, ..] */
    int dims;            /* 1: a BatchNorm1d, for x of rank 2 or 3; 2: a BatchNorm2d, for rank 4; 0: a BatchNorm, for any */
    double momentum;     /* 0: 0.1; GR_NONE: the average over all batches so far */
    double eps;          /* 0: 1e-5; GR_NONE: none */
} gr_batch_norm_config;
typedef struct {
    gr_module module;
    gr_tensor *weight, *bias;              /* [C], or NULL */
    gr_tensor *running_mean, *running_var; /* [C], or NULL */
    int64_t *batches;                      /* num_batches_tracked, or NULL */
    size_t features;
    bool features_last;
    int dims;
    double momentum, eps;
} gr_batch_norm_module;

/* Which values are real, where x is padded: both as in gr_batch_norm_settings; either may be NULL. */
typedef struct {
    const gr_ints *lengths;  /* [N]: of x [N, C, L], or [N, L, C] with features_last */
    const gr_tensor *mask;   /* x without its channel axis, 0 or 1 */
} gr_batch_norm_input;

/* See gr_batch_norm.   x [N, C], [N, C, L], [N, C, H, W]; or [.., C] with features_last.   input NULL: all is real */
GR_API gr_batch_norm_module *gr_batch_norm_new(gr_tape *t, gr_module *parent, const char *name, size_t features,
                                               const gr_batch_norm_config *config);
GR_API gr_tensor *gr_batch_norm_forward(gr_tape *t, const gr_batch_norm_module *b, gr_tensor *x, const gr_batch_norm_input *input);

/* ==== GroupNorm ==== */

typedef struct {
    bool no_affine;
    bool features_last;  /* x is [.., C]: each row of C values by itself, in groups */
    double eps;          /* 0: 1e-5; GR_NONE: none */
} gr_group_norm_config;
typedef struct {
    gr_module module;
    gr_tensor *weight, *bias; /* [C], or NULL */
    size_t groups, features;
    bool features_last;
    double eps;
} gr_group_norm_module;

/* See gr_group_norm.   x [N, C, ..]; or [.., C] with features_last */
GR_API gr_group_norm_module *gr_group_norm_new(gr_tape *t, gr_module *parent, const char *name, size_t groups, size_t features,
                                               const gr_group_norm_config *config);
GR_API gr_tensor *gr_group_norm_forward(gr_tape *t, const gr_group_norm_module *g, gr_tensor *x);

/* ==== InstanceNorm ==== */

typedef struct {
    bool affine;         /* with weight and bias; off by default, as in PyTorch */
    bool features_last;  /* x is [N, .., C], not [N, C, ..] */
    int dims;            /* 1: an InstanceNorm1d, for x of rank 3; 2: an InstanceNorm2d, for rank 4; 0: an InstanceNorm, for any */
    double eps;          /* 0: 1e-5; GR_NONE: none */
} gr_instance_norm_config;
typedef struct {
    gr_module module;
    gr_tensor *weight, *bias; /* [C], or NULL */
    size_t features;
    bool features_last;
    int dims;
    double eps;
} gr_instance_norm_module;

/* See gr_instance_norm.   x [N, C, L], [N, C, H, W]; or [N, L, C] .. with features_last */
GR_API gr_instance_norm_module *gr_instance_norm_new(gr_tape *t, gr_module *parent, const char *name, size_t features,
                                                     const gr_instance_norm_config *config);
GR_API gr_tensor *gr_instance_norm_forward(gr_tape *t, const gr_instance_norm_module *i, gr_tensor *x);

/* ==== RMSNorm ==== */

typedef struct {
    bool no_affine;  /* no weight */
    double eps;      /* 0: PyTorch's, the distance from 1 to the next gr_real (1.19e-7 in float); GR_NONE: none */
} gr_rms_norm_config;
typedef struct {
    gr_module module;
    gr_shape shape;    /* of the last axes, those that share a scale */
    gr_tensor *weight; /* that shape; or NULL */
    double eps;
} gr_rms_norm_module;

/* See gr_rms_norm.   x [.., shape] */
GR_API gr_rms_norm_module *gr_rms_norm_new(gr_tape *t, gr_module *parent, const char *name, gr_shape shape, const gr_rms_norm_config *config);
GR_API gr_tensor *gr_rms_norm_forward(gr_tape *t, const gr_rms_norm_module *r, gr_tensor *x);

/* ==== Any norm, by its kind ==== */

typedef enum { GR_NORM_NONE, GR_NORM_BATCH, GR_NORM_LAYER, GR_NORM_RMS, GR_NORM_GROUP, GR_NORM_INSTANCE } gr_norm_kind;
typedef struct {
    bool channels_first;  /* x is [N, C, ..], not [.., C] */
    size_t groups;        /* of GROUP; 0: the largest of 32, 16, .. 1 that divides features and leaves 2 channels or more to each */
    double eps, momentum; /* 0: the norm's default; GR_NONE as there */
} gr_norm_config;

/* A module of that kind, with all parameters that it can have, for x [.., C] or, with channels_first, [N, C, ..]; call it by gr_forward.
 * NONE is an Identity. LAYER with channels_first is a GroupNorm with one group: a mean over C, H, W, a gain for each channel. RMS with
 * channels_first is an error. config may be NULL. */
GR_API gr_module *gr_norm_new(gr_tape *t, gr_module *parent, const char *name, gr_norm_kind kind, size_t features,
                              const gr_norm_config *config);

GR_END
#endif
