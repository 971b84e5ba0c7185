/* nn/nn.h - the modules. Made under a parent with a name (gr_linear_new(t, net, "fc1", ...)), freed with the root. Parameter
 * names, shapes and initial distributions are PyTorch's. Sizes of 0 are errors (PyTorch accepts some of them, with a warning). A config of NULL is all defaults, and so is a field of 0. NULL is
 * returned on an error, and then nothing was made. Each begins with its gr_module: &fc1->module. */
#ifndef GR_NN_H
#define GR_NN_H
#include "nn/conv.h" /* Conv1d, Conv2d, pooling, Flatten */
#include "nn/module.h"
#include "nn/norms.h"  /* LayerNorm, RMSNorm, BatchNorm, GroupNorm, InstanceNorm */
#include "nn/recurrent.h" /* LSTM, GRU, RNN */
#include "nn/transformer.h" /* multi-head attention, Transformer layers, positions */
#include "ops/ops.h"
GR_BEGIN

/* ==== Linear ==== */

typedef struct { bool no_bias; } gr_linear_config;
typedef struct {
    gr_module module;
    gr_tensor *weight; /* [out, in]   both uniform within 1 / sqrt(in) */
    gr_tensor *bias;   /* [out], or NULL */
} gr_linear_module;

/* y = x W^T + b.   x [.., in]   return [.., out] */
GR_API gr_linear_module *gr_linear_new(gr_tape *t, gr_module *parent, const char *name, size_t in, size_t out, const gr_linear_config *config);
GR_API gr_tensor *gr_linear_forward(gr_tape *t, const gr_linear_module *l, gr_tensor *x);

/* ==== Embedding ==== */

typedef struct {
    bool padded;    /* the row of id `padding` is zeros and gets no gradient */
    size_t padding;
} gr_embedding_config;
typedef struct {
    gr_module module;
    gr_tensor *weight; /* [count, size], from N(0, 1) */
    int padding;
} gr_embedding_module;

/* Rows of a table.   ids, any shape, 0 .. count-1   return [ids.., size] */
GR_API gr_embedding_module *gr_embedding_new(gr_tape *t, gr_module *parent, const char *name, size_t count, size_t size,
                                             const gr_embedding_config *config);
GR_API gr_tensor *gr_embedding_forward(gr_tape *t, const gr_embedding_module *e, const gr_ints *ids);

/* ==== Dropout ==== */

typedef struct {
    gr_module module;
    double p;
    char *stream; /* "drop2/mask" */
} gr_dropout_module;

/* In training, zero with probability p, else x / (1 - p); in evaluation mode, x. Its masks are the tape's stream "<path>/mask". */
GR_API gr_dropout_module *gr_dropout_new(gr_tape *t, gr_module *parent, const char *name, double p);
GR_API gr_tensor *gr_dropout_forward(gr_tape *t, const gr_dropout_module *d, gr_tensor *x);

/* ==== Sequential ==== */

/* A module that calls those made under it one after the other, in order of creation. With NULL for names they are "0", "1", ...,
 * as in PyTorch:
 *     gr_module *net = gr_sequential_new(t, root, "net");
 *     gr_linear_new(t, net, NULL, 784, 64, NULL);
 *     gr_activation_new(t, net, NULL, "ReLU", gr_relu);
 *     gr_linear_new(t, net, NULL, 64, 10, NULL);
 *     gr_tensor *y = gr_forward(t, net, x);                                                                              */
GR_API gr_module *gr_sequential_new(gr_tape *t, gr_module *parent, const char *name);

/* y = x + f(x), f the modules made under it, one after the other.                                     He et al. 2016 */
GR_API gr_module *gr_residual_new(gr_tape *t, gr_module *parent, const char *name);

/* An operator of one tensor as a module without parameters. kind is for the summary, and outlives the module (a literal). */
typedef gr_tensor *gr_function(gr_tape *t, gr_tensor *x);
GR_API gr_module *gr_activation_new(gr_tape *t, gr_module *parent, const char *name, const char *kind, gr_function *f);

/* ==== state_dict ==== */

/* Write all parameters, buffers and counters under m to a safetensors file, under their names counted from m. What is tied is
 * written once, under the name that came first. The file is replaced as a whole or not at all. notes: pairs of strings for the
 * file's metadata (key, value, key, value, ... NULL), or NULL. Two more, "format" and "checksum", are the library's: they tell that
 * gradus wrote the file, and let gr_state_load refuse it when a bit has changed (see gr_safetensors_open). */
GR_API bool gr_state_save(gr_tape *t, const gr_module *m, const char *path, const char *const *notes);

/* Read such a file, from here or from PyTorch, into the module. Every name, shape and type is checked first: when something is
 * missing, left over or of another shape, one error lists it all and nothing changes. Floating-point types are converted. Of
 * tied names one must be there; the others may. A file of gradus must have its checksum; one of PyTorch has none, and loads. */
GR_API bool gr_state_load(gr_tape *t, gr_module *m, const char *path);

GR_END
#endif
