/* nn/embedding.c - a table with a row for each id */
#include "nn/internal.h"
#include <limits.h>

gr_embedding_module *gr_embedding_new(gr_tape *t, gr_module *parent, const char *name, size_t count, size_t size, const gr_embedding_config *config)
{
    gr_embedding_module *e = gr_module_make(t, parent, name, "Embedding", sizeof *e);
    if (!e) return NULL;
    const bool padded = config && config->padded;
    if (count > INT_MAX) gr_fail(t, NULL, "%s: an Embedding holds at most %d rows; got %zu", e->module.path, INT_MAX, count);
    if (gr__size_is_positive(t, &e->module, "count", count)) gr__size_is_positive(t, &e->module, "size", size);
    if (config && config->padding && !padded) gr_fail(t, NULL, "%s: padding is %zu, but padded is false", e->module.path, config->padding);
    if (padded && config->padding >= count)
        gr_fail(t, NULL, "%s: padding must be 0 .. %zu; got %zu", e->module.path, count ? count - 1 : 0, config->padding);
    e->padding = padded ? (int)config->padding : GR_NONE;
    e->weight = gr_param(t, &e->module, "weight", GR_SHAPE(count, size), gr_init_normal(0, 1));
    if (e->weight && padded) memset(e->weight->data + config->padding * size, 0, size * sizeof(gr_real));
    return gr_module_ready(t, &e->module) ? e : NULL;
}

gr_tensor *gr_embedding_forward(gr_tape *t, const gr_embedding_module *e, const gr_ints *ids)
{
    if (!e) return gr_fail_as(t, GR_MISUSE, "embedding", "the module is NULL");
    GR_WITHIN(t, &e->module);
    return gr_embedding(t, e->weight, ids, e->padding);
}
