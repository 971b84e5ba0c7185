/* nn/transformer.c - Transformer layers: attention and a feedforward network, each with a residual connection and a norm before or after it */
#include "nn/internal.h"
#include "ops/index.h"

static const gr_op transformer = { .name = "transformer" };

/* ---- A layer ---- */

static gr_tensor *layer_forward(gr_tape *t, const gr_module *m, gr_tensor *x) { return gr_transformer_layer_forward(t, (void *)m, x, NULL); }

static gr_module *transformer_norm_new(gr_tape *t, gr_module *parent, const char *name, size_t size, const gr_transformer_config *c)
{
    const gr_norm_kind kind = c->no_norm ? GR_NORM_NONE : c->norm == GR_NORM_NONE ? GR_NORM_LAYER : c->norm;
    return gr_norm_new(t, parent, name, kind, size, NULL);
}
gr_transformer_layer *gr_transformer_layer_new(gr_tape *t, gr_module *parent, const char *name, size_t size, size_t heads, const gr_transformer_config *config)
{
    const bool decoder = config && config->decoder;
    gr_transformer_layer *l = gr_module_make(t, parent, name, decoder ? "TransformerDecoderLayer" : "TransformerLayer", sizeof *l);
    if (!l) return NULL;
    gr_transformer_config *c = &l->config;
    gr_module *m = &l->module;
    if (config) *c = *config;
    if (!c->feedforward) c->feedforward = 4 * size;
    if (!c->activation) c->activation = gr_relu;
    l->self_attn = gr_multihead_attention_new(t, m, "self_attn", size, heads, &(gr_multihead_attention_config){ .causal = c->causal, .dropout = c->dropout });
    if (decoder)
        l->multihead_attn = gr_multihead_attention_new(t, m, "multihead_attn", size, heads, &(gr_multihead_attention_config){ .dropout = c->dropout });
    l->linear1 = (gr_module *)gr_linear_new(t, m, "linear1", size, c->feedforward, NULL);
    l->dropout = (gr_module *)gr_dropout_new(t, m, "dropout", c->dropout);
    l->linear2 = (gr_module *)gr_linear_new(t, m, "linear2", c->feedforward, size, NULL);
    l->norm1 = transformer_norm_new(t, m, "norm1", size, c), l->norm2 = transformer_norm_new(t, m, "norm2", size, c);
    if (decoder) l->norm3 = transformer_norm_new(t, m, "norm3", size, c);
    l->dropout1 = (gr_module *)gr_dropout_new(t, m, "dropout1", c->dropout);
    l->dropout2 = (gr_module *)gr_dropout_new(t, m, "dropout2", c->dropout);
    if (decoder) l->dropout3 = (gr_module *)gr_dropout_new(t, m, "dropout3", c->dropout);
    m->forward = layer_forward;
    return gr_module_ready(t, m) ? l : NULL;
}

/* The norm m of x, or x itself. Only a BatchNorm mixes positions, so only a BatchNorm must know which are real. */
static gr_tensor *transformer_norm(gr_tape *t, bool wanted, const gr_module *m, gr_tensor *x, const gr_attention_input *in)
{
    const gr_norm *const norm = gr_norm_of(m); /* NULL for an Identity */
    if (!wanted) return x;
    if (!norm || norm->kind != GR_NORM_BATCH || !in) return gr_forward(t, m, x);
    return gr_norm_forward(t, norm, x, &(gr_norm_input){ in->lengths, in->mask && in->mask->rank == 2 ? in->mask : NULL });
}

/* A part f of a layer makes norm(x + dropout(f(x))), or with pre-norm x + dropout(f(norm(x))). */
gr_tensor *gr_transformer_layer_forward(gr_tape *t, const gr_transformer_layer *l, gr_tensor *x, const gr_attention_input *input)
{
    if (!l) return gr_fail(t, &transformer, "the layer is NULL");
    GR_WITHIN(t, &l->module);
    const gr_attention_input in = input ? *input : (gr_attention_input){ 0 };
    if (!gr_ready(t, &transformer, x) || !gr_alive(t, &transformer, "mask", in.mask) || !gr_alive(t, &transformer, "memory", in.memory)) return NULL;
    const size_t size = l->self_attn->size;
    if (x->rank != 3 || x->dim[2] != size) return gr_fail(t, &transformer, "x must be [B, T, %zu]; got %s", size, gr_shape_text(t, x));
    if (!l->multihead_attn != !in.memory)
        return gr_fail(t, &transformer, in.memory ? "only a decoder takes a memory: set decoder in the config" : "a decoder needs a memory in its input");
    if (!in.memory && (in.memory_lengths || in.memory_mask)) return gr_fail(t, &transformer, "memory_lengths and memory_mask need a memory");
    const gr_tensor *const memory = in.memory;
    if (memory && (memory->rank != 3 || memory->dim[0] != x->dim[0] || memory->dim[2] != size))
        return gr_fail(t, &transformer, "x is %s, so memory must be [%zu, T, %zu]; got %s", gr_shape_text(t, x), x->dim[0], size, gr_shape_text(t, memory));
    if (memory && !index_counts_fit(t, &transformer, "memory_lengths", in.memory_lengths, "memory", memory, memory->dim[0], memory->dim[1])) return NULL;
    const gr_attention_input own = { .lengths = in.lengths, .mask = in.mask, .cache = in.cache };
    const gr_attention_input other = { .lengths = in.memory_lengths, .mask = in.memory_mask };
    const gr_mark start = gr_tape_mark(t);
    const bool before = l->config.norm_first;
    gr_tensor *f = gr_multihead_attention_forward(t, l->self_attn, transformer_norm(t, before, l->norm1, x, &own), NULL, NULL, &own);
    x = transformer_norm(t, !before, l->norm1, gr_add(t, x, gr_forward(t, l->dropout1, f)), &own);
    if (in.memory) {
        f = gr_multihead_attention_forward(t, l->multihead_attn, transformer_norm(t, before, l->norm2, x, &own), in.memory, NULL, &other);
        x = transformer_norm(t, !before, l->norm2, gr_add(t, x, gr_forward(t, l->dropout2, f)), &own);
    }
    const gr_module *norm = in.memory ? l->norm3 : l->norm2, *dropout = in.memory ? l->dropout3 : l->dropout2;
    f = gr_forward(t, l->linear1, transformer_norm(t, before, norm, x, &own));
    f = gr_forward(t, l->linear2, gr_forward(t, l->dropout, l->config.activation(t, f)));
    return gr__inner(t, start, transformer_norm(t, !before, norm, gr_add(t, x, gr_forward(t, dropout, f)), &own));
}

/* ---- A stack ---- */

static gr_tensor *stack_forward(gr_tape *t, const gr_module *m, gr_tensor *x) { return gr_transformer_forward(t, (void *)m, x, NULL); }

gr_transformer *gr_transformer_new(gr_tape *t, gr_module *parent, const char *name, size_t size, size_t heads, size_t layers,
                                   const gr_transformer_config *config)
{
    size_t bytes;
    const gr_transformer_config c = config ? *config : (gr_transformer_config){ 0 };
    if (!gr_size_mul(layers, sizeof(gr_transformer_layer *), &bytes) || !gr_size_add(bytes, sizeof(gr_transformer), &bytes))
        return gr_fail(t, NULL, "%s: too many layers: %zu", name ? name : "transformer", layers);
    gr_transformer *m = gr_module_make(t, parent, name, c.decoder ? "TransformerDecoder" : "Transformer", bytes);
    if (!m) return NULL;
    m->layers = layers, m->layer = (gr_transformer_layer **)(m + 1);
    gr_module *list = gr_sequential_new(t, &m->module, "layers");
    for (size_t i = 0; i < layers && !gr_failed(t); i++) m->layer[i] = gr_transformer_layer_new(t, list, NULL, size, heads, &c);
    if (c.final_norm) m->norm = transformer_norm_new(t, &m->module, "norm", size, &c);
    m->module.forward = stack_forward;
    return gr_module_ready(t, &m->module) ? m : NULL;
}

gr_tensor *gr_transformer_forward(gr_tape *t, const gr_transformer *m, gr_tensor *x, const gr_attention_input *input)
{
    if (!m) return gr_fail(t, &transformer, "the module is NULL");
    GR_WITHIN(t, &m->module);
    if (!gr_ready(t, &transformer, x) || (input && !gr_alive(t, &transformer, "mask", input->mask))) return NULL;
    const gr_mark start = gr_tape_mark(t);
    for (size_t i = 0; i < m->layers; i++) x = gr_transformer_layer_forward(t, m->layer[i], x, input);
    return gr__inner(t, start, transformer_norm(t, m->norm, m->norm, x, input));
}
