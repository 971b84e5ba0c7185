/* nn/transformer.h - multi-head attention, Transformer layers and stacks of them, positions. Sequences are [B, T, size]. Names and first values
 * are PyTorch's, so that a state_dict can be exchanged in both directions. The rules at the top of nn/nn.h hold here too. */
#ifndef GR_TRANSFORMER_H
#define GR_TRANSFORMER_H
#include "nn/norms.h"
GR_BEGIN

/* ==== Multi-head attention ==== */

typedef struct {
    bool no_bias;
    bool causal;     /* query i sees only keys 0 .. i */
    double dropout;  /* in training, the probability of dropout of the attention probabilities; default 0 */
} gr_multihead_attention_config;
typedef struct {
    gr_module module;
    gr_tensor *in_proj_weight; /* [3 size, size]: the projections of query, key and value; starts Xavier uniform */
    gr_tensor *in_proj_bias;   /* [3 size], starts at 0; NULL with no_bias */
    gr_tensor *out_weight;     /* out_proj.weight [size, size], starts uniform in +-1 / sqrt(size) */
    gr_tensor *out_bias;       /* out_proj.bias [size], starts at 0; NULL with no_bias */
    size_t size, heads;
    bool causal;
    double dropout;
    char *stream;              /* the random stream of the dropout: "<path>/mask" */
} gr_multihead_attention;

/* size must be a multiple of heads. */
GR_API gr_multihead_attention *gr_multihead_attention_new(gr_tape *t, gr_module *parent, const char *name, size_t size, size_t heads,
                                                          const gr_multihead_attention_config *config);

/* Which keys a query may see. NULL means all keys. PyTorch's key_padding_mask is the opposite of mask: true there means hidden. */
typedef struct {
    const gr_ints *lengths; /* [B]: how many keys of each sequence are real */
    const gr_tensor *mask;  /* [B, Tk], [B, Tq, Tk] or [1, Tq, Tk]: 1 for a key that may be seen, 0 for a hidden one */
} gr_attention_input;

/* Project query, key and value, apply gr_attention, and project the result.   query [B, Tq, size]   key, value [B, Tk, size]
 * return [B, Tq, size]. key NULL means the query (self-attention: one matrix product makes all three projections), value NULL the key. input may
 * be NULL. Queries that are padding give values too: leave them out of a mean over T. gr_forward runs self-attention without an input. */
GR_API gr_tensor *gr_multihead_attention_forward(gr_tape *t, const gr_multihead_attention *m, gr_tensor *query, gr_tensor *key,
                                                 gr_tensor *value, const gr_attention_input *input);

/* ==== Transformer ==== */

typedef struct {
    size_t feedforward;  /* units between linear1 and linear2; default 4 size */
    gr_tensor *(*activation)(gr_tape *t, gr_tensor *x); /* default gr_relu */
    bool norm_first;     /* pre-norm; the default is post-norm, as in the paper */
    bool causal;         /* position i sees only positions 0 .. i */
    gr_norm_kind norm;   /* default GR_NORM_LAYER */
    bool no_norm;        /* no norms at all */
    bool final_norm;     /* in a stack: one more norm after the last layer. Pre-norm needs it, because its sum grows from layer to layer */
    double dropout;      /* the probability of dropout in the attention probabilities, in the outputs of attention and linear2, and after the
                            activation; default 0 */
} gr_transformer_config;
typedef struct {
    gr_module module;
    gr_multihead_attention *self_attn;
    gr_module *linear1, *dropout, *linear2, *norm1, *norm2, *dropout1, *dropout2;
    gr_transformer_config config;
} gr_transformer_layer;

/* nn.TransformerEncoderLayer.                       Vaswani et al. 2017; pre-norm: Xiong et al. 2020
 *     pre-norm   x = x + dropout1(self_attn(norm1(x))),   y = x + dropout2(linear2(dropout(activation(linear1(norm2(x))))))
 *     post-norm  x = norm1(x + ..),   y = norm2(x + ..)
 * x, y [B, T, size]. input may be NULL. The statistics of a BatchNorm are over the real positions alone (lengths, or a mask of rank 2); they include
 * later positions even when causal is set. gr_forward runs a layer without an input. */
GR_API gr_transformer_layer *gr_transformer_layer_new(gr_tape *t, gr_module *parent, const char *name, size_t size, size_t heads,
                                                      const gr_transformer_config *config);
GR_API gr_tensor *gr_transformer_layer_forward(gr_tape *t, const gr_transformer_layer *l, gr_tensor *x, const gr_attention_input *input);

typedef struct {
    gr_module module;
    size_t layers;
    gr_transformer_layer **layer; /* [layers]: "layers.0" .. */
    gr_module *norm;              /* "norm"; NULL without final_norm */
} gr_transformer;

/* nn.TransformerEncoder: the layers one after the other, then the final norm if there is one. x and the result are [B, T, size]; input may be NULL. */
GR_API gr_transformer *gr_transformer_new(gr_tape *t, gr_module *parent, const char *name, size_t size, size_t heads, size_t layers,
                                          const gr_transformer_config *config);
GR_API gr_tensor *gr_transformer_forward(gr_tape *t, const gr_transformer *m, gr_tensor *x, const gr_attention_input *input);

/* ==== Positions ==== */

/* x plus waves of wavelengths from 2 pi to 10000 * 2 pi. At position p of x [.., T, size] it adds                Vaswani et al. 2017, 3.5
 *     sin(p / 10000^(2i / size)) in column 2i,   cos(p / 10000^(2i / size)) in column 2i + 1
 * As a module of a Sequential: gr_activation_new(t, net, "pos", "Positions", gr_add_positions). Fails if x has less than 2 axes. */
GR_API gr_tensor *gr_add_positions(gr_tape *t, gr_tensor *x);

typedef struct {
    gr_module module;
    gr_tensor *weight; /* [count, size]: a row for each position   first values: normal, mean 0, standard deviation 1 */
} gr_positions;

/* Learned positions: x [.., T, size] plus the first T rows of weight. gr_forward runs it, too. Fails if T is more than count. */
GR_API gr_positions *gr_positions_new(gr_tape *t, gr_module *parent, const char *name, size_t count, size_t size);
GR_API gr_tensor *gr_positions_forward(gr_tape *t, const gr_positions *m, gr_tensor *x);

GR_END
#endif
