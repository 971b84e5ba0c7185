/* nn/transformer.h - attention with heads, Transformer layers and stacks of them, positions. Sequences are [B, T, size]; names and first
 * values are PyTorch's, so that a state_dict goes both ways. */
#ifndef GR_TRANSFORMER_H
#define GR_TRANSFORMER_H
#include "nn/norms.h"
GR_BEGIN

/* ==== Multi-head attention ==== */

typedef struct {
    bool no_bias;
    bool causal;     /* query i sees keys 0 .. i only */
    double dropout;  /* of the probabilities, in training; the stream is "<path>/mask" */
} gr_multihead_attention_config;
typedef struct {
    gr_module module;
    gr_tensor *in_proj_weight; /* [3 size, size]: of query, key and value; Xavier uniform */
    gr_tensor *in_proj_bias;   /* [3 size], zeros; or NULL */
    gr_tensor *out_weight;     /* out_proj.weight [size, size], uniform within 1 / sqrt(size) */
    gr_tensor *out_bias;       /* out_proj.bias [size], zeros; or NULL */
    size_t size, heads;
    bool causal;
    double dropout;
    char *stream;
} gr_multihead_attention;

/* size is a multiple of heads. */
GR_API gr_multihead_attention *gr_multihead_attention_new(gr_tape *t, gr_module *parent, const char *name, size_t size, size_t heads,
                                                          const gr_multihead_attention_config *config);

/* Which keys are real. Both as in gr_attention_config: there 0 is what may not be seen (PyTorch's key_padding_mask is the opposite). */
typedef struct {
    const gr_ints *lengths; /* [B]; NULL: all */
    const gr_tensor *mask;  /* [B, Tk] or [B, Tq, Tk] or [1, Tq, Tk]; NULL: all */
} gr_attention_input;

/* gr_attention of projections, projected again.   query [B, Tq, size]   key, value [B, Tk, size]   return [B, Tq, size]
 * key NULL: the query, self-attention in one product; value NULL: the key. input NULL: all is real. Also called by gr_forward. */
GR_API gr_tensor *gr_multihead_attention_forward(gr_tape *t, const gr_multihead_attention *m, gr_tensor *query, gr_tensor *key,
                                                 gr_tensor *value, const gr_attention_input *input);

/* ==== Transformer ==== */

typedef struct {
    size_t feedforward;  /* units between linear1 and linear2; 0: 4 size */
    gr_tensor *(*activation)(gr_tape *t, gr_tensor *x); /* gr_gelu, ..; NULL: gr_relu */
    bool norm_first;     /* pre-norm; else post-norm, as in the paper */
    bool causal;
    gr_norm_kind norm;   /* NONE: LayerNorm */
    bool no_norm;        /* no norm at all */
    bool final_norm;     /* of a stack: one more after the last layer. Pre-norm needs it: its sum grows from layer to layer */
    double dropout;      /* of probabilities, of what attention and linear2 give, and after the activation */
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
 * x, y [B, T, size]. BatchNorm counts real positions only (lengths, or mask of rank 2), but among them later ones too, also when causal.
 * input NULL: all is real. Also called by gr_forward. */
GR_API gr_transformer_layer *gr_transformer_layer_new(gr_tape *t, gr_module *parent, const char *name, size_t size, size_t heads,
                                                      const gr_transformer_config *config);
GR_API gr_tensor *gr_transformer_layer_forward(gr_tape *t, const gr_transformer_layer *l, gr_tensor *x, const gr_attention_input *input);

typedef struct {
    gr_module module;
    size_t layers;
    gr_transformer_layer **layer; /* [layers]: "layers.0" .. */
    gr_module *norm;              /* "norm", or NULL */
} gr_transformer;

/* nn.TransformerEncoder: layers one after the other, then the final norm if there is one. */
GR_API gr_transformer *gr_transformer_new(gr_tape *t, gr_module *parent, const char *name, size_t size, size_t heads, size_t layers,
                                          const gr_transformer_config *config);
GR_API gr_tensor *gr_transformer_forward(gr_tape *t, const gr_transformer *m, gr_tensor *x, const gr_attention_input *input);

/* ==== Positions ==== */

/* x plus waves of wavelengths 2 pi to 10000 2 pi: to position p of [.., T, size] are added    Vaswani et al. 2017, 3.5
 *     sin(p / 10000^(2i / size)) in column 2i,   cos(p / 10000^(2i / size)) in column 2i + 1
 * It can be a module of a Sequential: gr_activation_new(t, net, "pos", "Positions", gr_add_positions). */
GR_API gr_tensor *gr_add_positions(gr_tape *t, gr_tensor *x);

typedef struct {
    gr_module module;
    gr_tensor *weight; /* [count, size], from N(0, 1): a row for each position, as an Embedding's */
} gr_positions;

/* Learned positions: x [.., T, size] plus the first T rows, T at most count. Also called by gr_forward. */
GR_API gr_positions *gr_positions_new(gr_tape *t, gr_module *parent, const char *name, size_t count, size_t size);
GR_API gr_tensor *gr_positions_forward(gr_tape *t, const gr_positions *m, gr_tensor *x);

GR_END
#endif
