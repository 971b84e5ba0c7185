/* nn/transformer.h - multi-head attention, Transformer layers and stacks of them, positions. Sequences are [B, T, size]. Names and first values
 * are PyTorch's, so that a state_dict can be exchanged in both directions. The rules at the top of nn/nn.h hold here too. */
#ifndef GR_TRANSFORMER_H
#define GR_TRANSFORMER_H
#include "nn/norms.h"

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

/* The keys and values of the positions so far, with which a network that writes a sequence computes each position once. The cache serves all
 * causal self-attention under a module m, for `batch` sequences of at most `most` positions:
 *
 *     gr_attention_cache *cache = gr_attention_cache_new(t, net, batch, most);
 *     gr_tape_set_training(t, false), gr_tape_set_recording(t, false);
 *     ...                                                          // in each step, x [batch, T, size] has the embedded new tokens alone
 *     x = gr_positions_forward_from(t, positions, x, &cache->count);
 *     y = gr_transformer_forward(t, body, x, &(gr_attention_input){ .cache = cache });
 *
 * The T new positions follow the earlier ones, and y has the bits that a forward of the whole sequence gives there (but not with InstanceNorm,
 * which mixes positions). A step may have any T: first a whole prompt, then single tokens. If the new tokens differ in number, lengths says how
 * many each sequence has; the others are padding, which the cache does not keep. Each attention must run once in a step,
 * with the same lengths as the one that began the first step and so begins every step; otherwise it fails, at the latest in the next step.
 * After a change of the weights, begin again with gr_attention_cache_crop(t, cache, 0): the cache holds what the old weights gave.
 * The cache outlives gr_tape_reset. gr_tape_recover takes an unfinished step back, but gr_tape_rewind does not. The caller frees it with
 * gr_attention_cache_free: not between a forward with it and the next gr_tape_reset. m must outlive its use. Two threads may share m, but not a cache.
 * Fails if m is NULL or has no causal attention, if batch or most is 0, if most is above 2^31 - 1, or if memory runs out. */
typedef struct {
    gr_module module;
    size_t batch, most;
    gr_ints count; /* [batch]: how many positions of each sequence it holds, so where the next one begins */
    gr_module *first; /* library */
} gr_attention_cache;
GR_API gr_attention_cache *gr_attention_cache_new(gr_tape *t, const gr_module *m, size_t batch, size_t most);
GR_API void gr_attention_cache_free(gr_attention_cache *c);
/* Keep only the first n positions of each sequence: 0 begins new sequences, and the length of a prompt begins another answer to it. Call it between
 * steps: after it, the rest of a step fails. A crop cannot
 * be undone: a later gr_tape_recover undoes nothing from before it. False if c is NULL, which is an error, or on a tape already in error. */
GR_API bool gr_attention_cache_crop(gr_tape *t, gr_attention_cache *c, size_t n);

/* Which keys a query may see. NULL means all keys. PyTorch's key_padding_mask is the opposite of mask: true there means hidden. */
typedef struct {
    const gr_ints *lengths; /* [B]: how many keys of each sequence are real; with a cache, how many of the new ones */
    const gr_tensor *mask;  /* [B, Tk], [B, Tq, Tk] or [1, Tq, Tk]: 1 for a key that may be seen, 0 for a hidden one; none with a cache */
    gr_attention_cache *cache; /* the earlier positions, which come before those of the query; needs evaluation mode and recording off */
    gr_tensor *memory;      /* [B, S, size], for a Transformer decoder, which needs it: what it attends to, such as the result of an encoder */
    const gr_ints *memory_lengths; /* lengths and mask of the memory, with Tk = S */
    const gr_tensor *memory_mask;
} gr_attention_input;

/* Project query, key and value, apply gr_attention, and project the result.   query [B, Tq, size]   key, value [B, Tk, size]
 * return [B, Tq, size]. key NULL means the query (self-attention: one matrix product makes all three projections), value NULL the key. input may
 * be NULL. Queries that are padding give values too: leave them out of a mean over T. gr_forward runs self-attention without an input. */
GR_API gr_tensor *gr_multihead_attention_forward(gr_tape *t, const gr_multihead_attention *m, gr_tensor *query, gr_tensor *key,
                                                 gr_tensor *value, const gr_attention_input *input);

/* ==== Transformer ==== */

typedef struct {
    size_t feedforward;  /* units between linear1 and linear2; default 4 size */
    gr_tensor *(*activation)(gr_tape *t, gr_tensor *x); /* default gr_relu. The gradients of what it gets and makes are kept only if it calls
                            gr_want_grad for them */
    bool norm_first;     /* pre-norm; the default is post-norm, as in the paper */
    bool causal;         /* position i sees only positions 0 .. i; not of the memory */
    bool decoder;        /* the layer attends to a memory too: nn.TransformerDecoderLayer, nn.TransformerDecoder */
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
    gr_multihead_attention *multihead_attn; /* to the memory; NULL unless it is a decoder, and so are the next two */
    gr_module *norm3, *dropout3;
    gr_transformer_config config;
} gr_transformer_layer;

/* nn.TransformerEncoderLayer.                       Vaswani et al. 2017; pre-norm: Xiong et al. 2020
 *     pre-norm   x = x + dropout1(self_attn(norm1(x))),   y = x + dropout2(linear2(dropout(activation(linear1(norm2(x))))))
 *     post-norm  x = norm1(x + ..),   y = norm2(x + ..)
 * nn.TransformerDecoderLayer has a third part between these two, x + dropout2(multihead_attn(norm2(x), memory)) or norm2(x + ..), and then uses
 * norm3 and dropout3 for the last part. Nearly every decoder is causal. With a cache, it projects the memory anew in each step.
 * x, y [B, T, size]. input may be NULL. The statistics of a BatchNorm are over the real positions alone (lengths, or a mask of rank 2); they include
 * later positions even when causal is set. gr_forward runs a layer without an input, so no decoder. */
GR_API gr_transformer_layer *gr_transformer_layer_new(gr_tape *t, gr_module *parent, const char *name, size_t size, size_t heads,
                                                      const gr_transformer_config *config);
GR_API gr_tensor *gr_transformer_layer_forward(gr_tape *t, const gr_transformer_layer *l, gr_tensor *x, const gr_attention_input *input);

typedef struct {
    gr_module module;
    size_t layers;
    gr_transformer_layer **layer; /* [layers]: "layers.0" .. */
    gr_module *norm;              /* "norm"; NULL without final_norm */
} gr_transformer;

/* nn.TransformerEncoder and nn.TransformerDecoder: the layers one after the other, then the final norm if there is one. x and the result are [B, T, size]; input may be NULL. */
GR_API gr_transformer *gr_transformer_new(gr_tape *t, gr_module *parent, const char *name, size_t size, size_t heads, size_t layers,
                                          const gr_transformer_config *config);
GR_API gr_tensor *gr_transformer_forward(gr_tape *t, const gr_transformer *m, gr_tensor *x, const gr_attention_input *input);

/* ==== Positions ==== */

/* x plus waves of wavelengths from 2 pi to 10000 * 2 pi. At position p of x [.., T, size] it adds                Vaswani et al. 2017, 3.5
 *     sin(p / 10000^(2i / size)) in column 2i,   cos(p / 10000^(2i / size)) in column 2i + 1
 * As a module of a Sequential: gr_activation_new(t, net, "pos", "Positions", gr_add_positions). Fails if x has less than 2 axes. */
GR_API gr_tensor *gr_add_positions(gr_tape *t, gr_tensor *x);
/* The same for x [B, T, size] whose sequence b begins at position starts[b]. starts [B], 0 or more, or NULL for 0. */
GR_API gr_tensor *gr_add_positions_from(gr_tape *t, gr_tensor *x, const gr_ints *starts);

typedef struct {
    gr_module module;
    gr_tensor *weight; /* [count, size]: a row for each position   first values: normal, mean 0, standard deviation 1 */
} gr_positions;

/* Learned positions: x [.., T, size] plus the first T rows of weight. gr_forward runs it, too. Fails if T is more than count. */
GR_API gr_positions *gr_positions_new(gr_tape *t, gr_module *parent, const char *name, size_t count, size_t size);
GR_API gr_tensor *gr_positions_forward(gr_tape *t, const gr_positions *m, gr_tensor *x);
/* The same for x [B, T, size] whose sequence b begins at position starts[b]. starts [B], values 0 .. count - T, or NULL for 0. */
GR_API gr_tensor *gr_positions_forward_from(gr_tape *t, const gr_positions *m, gr_tensor *x, const gr_ints *starts);

#endif
