/* nn/nn.h - the modules. These rules hold for every constructor and every forward:
 *
 *   - A constructor makes the module under a parent, with a name: gr_linear_new(t, net, "fc1", 784, 64, NULL). gr_module_free of the root frees it.
 *   - A config of NULL means the defaults, and so does each field that is 0. Names, shapes and first values of
 *     parameters are PyTorch's where PyTorch has the module.
 *   - A constructor fails, returns NULL and leaves nothing behind, if the parent is NULL, the name is not allowed (see gr_module_make), a size is 0
 *     (PyTorch accepts some sizes of 0), a field of the config is out of range, or memory runs out.
 *   - A forward returns a tensor that the tape owns. It fails, and returns NULL, if the module or x is NULL, or x does not have the shape given here.
 *   - Every module struct begins with its gr_module: &fc1->module. Read the fields; the library writes them. */
#ifndef GR_NN_H
#define GR_NN_H
#include "nn/conv.h" /* Conv1d, Conv2d, pooling, Flatten */
#include "nn/module.h"
#include "nn/norms.h"  /* LayerNorm, RMSNorm, BatchNorm, GroupNorm, InstanceNorm */
#include "nn/recurrent.h" /* LSTM, GRU, RNN */
#include "nn/transformer.h" /* multi-head attention, Transformer layers, positions */
#include "ops/ops.h"

/* ==== Linear ==== */

typedef struct {
    bool no_bias;
    gr_tensor *weight; /* a parameter [out, in] of the same tree, which the layer shares (gr_tie): an Embedding's table, for an output layer */
} gr_linear_config;
typedef struct {
    gr_module module;
    gr_tensor *weight; /* [out, in]   first values: uniform in +-1 / sqrt(in), of bias too */
    gr_tensor *bias;   /* [out], or NULL with no_bias */
} gr_linear_module;

/* y = x weight^T + bias.   x [.., in]   return [.., out] */
GR_API gr_linear_module *gr_linear_new(gr_tape *t, gr_module *parent, const char *name, size_t in, size_t out, const gr_linear_config *config);
GR_API gr_tensor *gr_linear_forward(gr_tape *t, const gr_linear_module *l, gr_tensor *x);

/* ==== Embedding ==== */

typedef struct {
    bool padded;    /* true: id `padding` stands for padding, so its row starts as zeros and gets no gradient */
    size_t padding; /* 0 .. count-1; an error unless padded is set */
} gr_embedding_config;
typedef struct {
    gr_module module;
    gr_tensor *weight; /* [count, size]   first values: normal, mean 0, standard deviation 1 */
    int padding;       /* GR_NONE without padding */
} gr_embedding_module;

/* Copy the row of the table weight for each id.   ids, of any shape, each 0 .. count-1   return [ids.., size]
 * Also fails if an id is out of range. */
GR_API gr_embedding_module *gr_embedding_new(gr_tape *t, gr_module *parent, const char *name, size_t count, size_t size, const gr_embedding_config *config);
GR_API gr_tensor *gr_embedding_forward(gr_tape *t, const gr_embedding_module *e, const gr_ints *ids);

/* ==== Dropout ==== */

typedef struct {
    gr_module module;
    double p;     /* the probability, in [0, 1] */
    char *stream; /* "drop2/mask": the random stream that its masks come from */
    bool channels; /* of gr_dropout2d_new */
} gr_dropout_module;

/* In training, each value becomes 0 with probability p, else x / (1 - p). In evaluation mode the result is x. gr_dropout2d_new does this to whole
 * channels of x [N, C, ..]. gr_dropout_forward runs both. */
GR_API gr_dropout_module *gr_dropout_new(gr_tape *t, gr_module *parent, const char *name, double p);
GR_API gr_dropout_module *gr_dropout2d_new(gr_tape *t, gr_module *parent, const char *name, double p);
GR_API gr_tensor *gr_dropout_forward(gr_tape *t, const gr_dropout_module *d, gr_tensor *x);

/* ==== Sequential ==== */

/* A module that runs the modules under it one after the other, in order of creation; gr_forward runs it. Each must have a forward from one tensor
 * to one tensor. With NULL for their names they are called "0", "1", ..., as in PyTorch:
 *     gr_module *net = gr_sequential_new(t, root, "net");
 *     gr_linear_new(t, net, NULL, 784, 64, NULL);
 *     gr_activation_new(t, net, NULL, "ReLU", gr_relu);
 *     gr_linear_new(t, net, NULL, 64, 10, NULL);
 *     gr_tensor *y = gr_forward(t, net, x);                                                                              */
GR_API gr_module *gr_sequential_new(gr_tape *t, gr_module *parent, const char *name);

/* y = x + f(x), where f runs the modules under it one after the other. Fails if f(x) has another shape than x.        He et al. 2016 */
GR_API gr_module *gr_residual_new(gr_tape *t, gr_module *parent, const char *name);

/* An operator on one tensor as a module without parameters to train: gr_forward calls f, with the numbers given here. gr_print_summary shows kind,
 * which must outlive the module (a literal). Fails if f is NULL. The compiler checks that f takes these numbers:
 *     gr_activation_new(t, net, NULL, "ReLU", gr_relu);
 *     gr_activation_1_new(t, net, NULL, "LeakyReLU", gr_leaky_relu, 0.01);
 *     gr_activation_2_new(t, net, NULL, "Hardtanh", gr_hardtanh, -1, 1);
 *     gr_activation_axis_new(t, net, NULL, "Softmax", gr_softmax, -1);                                                   */
typedef gr_tensor *gr_function(gr_tape *t, gr_tensor *x);
typedef gr_tensor *gr_function_1(gr_tape *t, gr_tensor *x, double p);
typedef gr_tensor *gr_function_2(gr_tape *t, gr_tensor *x, double p, double q);
typedef gr_tensor *gr_function_axis(gr_tape *t, gr_tensor *x, int axis);
GR_API gr_module *gr_activation_new(gr_tape *t, gr_module *parent, const char *name, const char *kind, gr_function *f);
GR_API gr_module *gr_activation_1_new(gr_tape *t, gr_module *parent, const char *name, const char *kind, gr_function_1 *f, double p);
GR_API gr_module *gr_activation_2_new(gr_tape *t, gr_module *parent, const char *name, const char *kind, gr_function_2 *f, double p, double q);
GR_API gr_module *gr_activation_axis_new(gr_tape *t, gr_module *parent, const char *name, const char *kind, gr_function_axis *f, int axis);

typedef struct {
    gr_module module;
    gr_tensor *weight; /* [count]   first values: 0.25; as it has rank 1, weight decay spares it (PyTorch's does not) */
} gr_prelu_module;

/* x where x > 0, and weight x elsewhere. count is 1, or the size of axis 1 of x. gr_forward(t, &p->module, x) runs it. */
GR_API gr_prelu_module *gr_prelu_new(gr_tape *t, gr_module *parent, const char *name, size_t count);

/* ==== state_dict ==== */

/* Write all parameters, buffers and counters under m to a safetensors file. Their names are their paths below m. Tied parameters are written
 * once, under the name that was registered first. The file is replaced as a whole or not at all.
 * notes: pairs of strings for the file's metadata (key, value, key, value, ... NULL), or NULL. The library adds "format" and "checksum", so that
 * gr_state_load can refuse a damaged file (see gr_safetensors_open). Fails if m is NULL, the file cannot be written, or memory runs out. */
GR_API bool gr_state_save(gr_tape *t, const gr_module *m, const char *path, const char *const *notes);

typedef struct { const char **name; size_t count; } gr_state_names;
typedef struct {
    gr_state_names loaded;    /* paths of parameters, buffers and counters below the module: these have the values of the file, */
    gr_state_names missing;   /* the file does not have these, */
    gr_state_names misfit;    /* and it has these with another shape or type, or tied to a parameter for which it has other values */
    gr_state_names left_over; /* names of the file that belong to nothing in the module */
} gr_state_report;
typedef struct {
    bool partial;            /* load what fits by name, shape and type; the rest keeps its values. An error only if nothing fits */
    const char *strip;       /* "module.": the names of the file lose this prefix; a name without it is left over */
    const char *add;         /* "encoder.": then they get this prefix */
    gr_state_report *report; /* gets the names after a success. t owns the lists until gr_tape_reset; the paths are m's */
} gr_state_config;

/* Read a safetensors file into m: one of gr_state_save, or of Python's safetensors.torch.save_file(net.state_dict(), path). Files of torch.save are
 * refused. All names, shapes and types are checked before anything changes: if some are missing, left over or different, one error lists them all.
 * Floating-point types are converted. Of several tied names one is enough. A file that gradus wrote must have its checksum; a file from PyTorch has
 * none. gr_state_load reads the weights of a checkpoint, too. config may be NULL; with its field partial only files that are damaged or of which nothing
 * fits are errors. A load cannot be undone: a later gr_tape_recover undoes nothing from before it. */
GR_API bool gr_state_load(gr_tape *t, gr_module *m, const char *path, const gr_state_config *config);
/* The same for a file whose length bytes lie in memory. Messages call it "memory". */
GR_API bool gr_state_load_memory(gr_tape *t, gr_module *m, const void *bytes, size_t length, const gr_state_config *config);

#endif
