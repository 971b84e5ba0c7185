/* nn/attention.c - multi-head attention: one matrix projects query, key and value, gr_attention follows, and a second matrix projects the result */
#include "nn/internal.h"
#include "nn/nn.h"
#include "ops/attention_packed.h"

static const gr_op multihead = { .name = "multihead_attention" };

static gr_tensor *multihead_module_forward(gr_tape *t, const gr_module *m, gr_tensor *x)
{
    return gr_multihead_attention_forward(t, (gr_multihead_attention *)m, x, NULL, NULL, NULL);
}

gr_multihead_attention *gr_multihead_attention_new(gr_tape *t, gr_module *parent, const char *name, size_t size, size_t heads,
                                                   const gr_multihead_attention_config *config)
{
    const gr_multihead_attention_config c = config ? *config : (gr_multihead_attention_config){ 0 };
    const size_t bytes = sizeof(gr_multihead_attention) + gr__stream_room(parent, name, "mask");
    gr_multihead_attention *m = gr_module_make(t, parent, name, "MultiheadAttention", bytes);
    if (!m) return NULL;
    gr_module *self = &m->module;
    gr__size_is_positive(t, self, "size", size);
    if (!heads || size % heads) gr_fail(t, NULL, "%s: the size must be a multiple of the heads; got %zu and %zu", self->path, size, heads);
    if (!(c.dropout >= 0 && c.dropout <= 1))
        gr_fail(t, NULL, "%s: the probability of dropout must be in [0, 1]; got %g", self->path, c.dropout);
    m->size = size, m->heads = heads, m->causal = c.causal, m->dropout = c.dropout;
    m->stream = gr__stream_name((char *)(m + 1), self, "mask");
    m->in_proj_weight = gr_param(t, self, "in_proj_weight", GR_SHAPE(3 * size, size), gr_init_xavier_uniform(1));
    if (!c.no_bias) m->in_proj_bias = gr_param(t, self, "in_proj_bias", GR_SHAPE(3 * size), gr_init_constant(0));
    gr_linear_module *out = gr_linear_new(t, self, "out_proj", size, size, &(gr_linear_config){ .no_bias = c.no_bias });
    if (out && out->bias) gr_param_init(t, &out->module, "bias", gr_init_constant(0));
    if (out) m->out_weight = out->weight, m->out_bias = out->bias;
    self->multiply_adds = 3 * size * size, self->forward = multihead_module_forward;
    return gr_module_ready(t, self) ? m : NULL;
}

static bool multihead_fits(gr_tape *t, const gr_multihead_attention *m, const char *name, const gr_tensor *x)
{
    if (x->rank == 3 && x->dim[2] == m->size) return true;
    return gr_fail(t, &multihead, "%s must be [B, T, %zu]; got %s", name, m->size, gr_shape_text(t, x));
}

/* x projected by part 0, 1 or 2 of in_proj, which are for query, key and value. */
static gr_tensor *multihead_project(gr_tape *t, const gr_multihead_attention *m, gr_tensor *x, size_t part)
{
    const size_t n = m->size;
    gr_tensor *w = gr_slice(t, m->in_proj_weight, part * n, n), *b = m->in_proj_bias ? gr_slice(t, m->in_proj_bias, part * n, n) : NULL;
    return gr_linear(t, x, w, b);
}

gr_tensor *gr_multihead_attention_forward(gr_tape *t, const gr_multihead_attention *m, gr_tensor *query, gr_tensor *key, gr_tensor *value,
                                          const gr_attention_input *input)
{
    if (!m) return gr_fail(t, &multihead, "the module is NULL");
    GR_WITHIN(t, &m->module);
    if (!gr_ready(t, &multihead, query)) return NULL;
    if (!key) key = query;
    if (!value) value = key;
    if (!gr_alive(t, &multihead, "key", key) || !gr_alive(t, &multihead, "value", value)) return NULL;
    if (!multihead_fits(t, m, "query", query) || !multihead_fits(t, m, "key", key) || !multihead_fits(t, m, "value", value)) return NULL;
    const gr_attention_input in = input ? *input : (gr_attention_input){ 0 };
    const gr_attention_config o = { m->heads, m->causal, in.lengths, in.mask, 0, m->dropout, m->stream };
    gr_tensor *y;
    if (key == query && value == query) {
        y = gr__attention_packed(t, gr_linear(t, query, m->in_proj_weight, m->in_proj_bias), &o);
    } else {
        gr_tensor *q = multihead_project(t, m, query, 0), *k = multihead_project(t, m, key, 1), *v = multihead_project(t, m, value, 2);
        y = gr_attention(t, q, k, v, &o);
    }
    return gr_linear(t, y, m->out_weight, m->out_bias);
}
