/* nn/attention.c - multi-head attention: one matrix projects query, key and value, gr_attention follows, and a second matrix projects the result */
#include "nn/internal.h"
#include "ops/attention_packed.h"
#include "ops/index.h"
#include <limits.h>

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
    if (!(c.dropout >= 0 && c.dropout <= 1)) gr_fail(t, NULL, "%s: the probability of dropout must be in [0, 1]; got %g", self->path, c.dropout);
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

/* ---- Keys and values of earlier positions ---- */

/* A cache is a module without parameters, alone under a root, with an entry for each attention. */
typedef struct {
    gr_module module;
    const gr_multihead_attention *of;
    gr_tensor *keys, *values; /* [batch, most, size] */
    int *count;               /* [batch] */
    const char *path;         /* of's, copied, because of may be freed before the cache */
} cache_entry;

gr_attention_cache *gr_attention_cache_new(gr_tape *t, const gr_module *m, size_t batch, size_t most)
{
    static const gr_op op = { .name = "attention_cache" };
    size_t bytes, whole; /* of an entry: whole has its path, too */
    if (!m) return gr_fail(t, &op, "the module is NULL");
    if (!batch || !most || most > INT_MAX || !gr_size_mul(batch, sizeof(int), &bytes) || !gr_size_add(bytes, sizeof(cache_entry), &bytes))
        return gr_fail(t, &op, "batch and most must be 1 or more, and most at most %d; got %zu and %zu", INT_MAX, batch, most);
    gr_module *root = gr_module_new(t);
    gr_attention_cache *c = gr_module_make(t, root, "cache", "AttentionCache", sizeof *c);
    for (const gr_module *at = m; at && !gr_failed(t); at = gr_module_next(m, at)) {
        const gr_multihead_attention *of = (const gr_multihead_attention *)at;
        if (at->forward != multihead_module_forward || !of->causal) continue;
        if (!gr_size_add(bytes, strlen(at->path) + 1, &whole)) whole = SIZE_MAX;
        cache_entry *e = gr_module_make(t, &c->module, NULL, "AttentionCacheEntry", whole);
        if (!e) break;
        e->of = of, e->count = (int *)(e + 1), e->path = strcpy((char *)e + bytes, at->path);
        e->keys = gr_buffer(t, &e->module, "keys", GR_SHAPE(batch, most, of->size), 0);
        e->values = gr_buffer(t, &e->module, "values", GR_SHAPE(batch, most, of->size), 0);
        /* a step reaches the last entry last, so its count is the number of positions that all entries hold */
        c->batch = batch, c->most = most, c->count = (gr_ints){ .data = e->count, .len = batch, .dim = { batch }, .rank = 1 };
    }
    if (c && !c->most) gr_fail(t, &op, "'%s' has no causal MultiheadAttention", m->path);
    return gr_module_ready(t, root) ? c : NULL;
}

void gr_attention_cache_free(gr_attention_cache *c) { gr_module_free(c ? c->module.parent : NULL); }

bool gr_attention_cache_crop(gr_tape *t, gr_attention_cache *c, size_t n)
{
    if (!c) return gr_fail_as(t, GR_MISUSE, "attention_cache_crop", "the cache is NULL");
    if (gr_failed(t)) return false;
    for (cache_entry *e = (cache_entry *)c->module.child; e; e = (cache_entry *)e->module.next)
        for (size_t b = 0; b < c->batch; b++)
            if ((size_t)e->count[b] > n) e->count[b] = (int)n;
    gr__undo_forget(t); /* an older count would include positions that the next forward overwrites */
    return true;
}

/* Whether e may add positions to the cache, so that it holds ends[b] of sequence b. In each step one entry is the first, and the others add as many
 * positions as it did. */
static bool cache_is_in_step(gr_tape *t, const gr_attention_cache *c, const cache_entry *e, const int *ends)
{
    const bool first = !c->first || c->first == &e->module;
    const int *const own = first ? e->count : ends;
    for (const cache_entry *o = (cache_entry *)c->module.child; o; o = (cache_entry *)o->module.next)
        for (size_t b = 0; b < c->batch && (first || c->first == &o->module); b++)
            if (o->count[b] != own[b])
                return gr_fail(t, &multihead, "sequence %zu %s %d positions here, and %d in %s: in each step every attention of the cache must run once, "
                               "with the same lengths", b, first ? "has" : "would have", own[b], o->count[b], o->path);
    return true;
}

/* Append the keys and values of x to the cache, and let x attend to all that it holds. */
static gr_tensor *multihead_cached(gr_tape *t, const gr_multihead_attention *m, gr_tensor *x, const gr_attention_input *in)
{
    const size_t B = x->dim[0], T = x->dim[1], n = m->size, most = in->cache->most;
    cache_entry *e = (cache_entry *)in->cache->module.child;
    while (e && (e->of != m || e->keys->dim[2] != n)) e = (cache_entry *)e->module.next;
    if (!e) return gr_fail(t, &multihead, "the cache was made for another module, or this attention is not causal");
    if (gr_tape_training(t) || gr_tape_recording(t))
        return gr_fail(t, &multihead, "a cache needs gr_tape_set_training(t, false) and gr_tape_set_recording(t, false)");
    if (B != in->cache->batch) return gr_fail(t, &multihead, "the cache is for %zu sequences; query is %s", in->cache->batch, gr_shape_text(t, x));
    if (in->mask) return gr_fail(t, &multihead, "a cache takes no mask; got %s", gr_shape_text(t, in->mask));
    if (!index_counts_fit(t, &multihead, "lengths", in->lengths, "query", x, B, T)) return NULL;
    gr_tensor *all = gr_linear(t, x, m->in_proj_weight, m->in_proj_bias), *q = gr_narrow(t, all, -1, 0, n);
    const gr_ints *starts = gr_ints_new(t, e->count, GR_SHAPE(B)), *ends = gr_ints_new(t, e->count, GR_SHAPE(B));
    for (size_t b = 0; b < B && ends; b++) {
        const size_t more = in->lengths ? (size_t)in->lengths->data[b] : T, from = (size_t)e->count[b];
        if (more > most - from)
            return gr_fail(t, &multihead, "the cache has room for %zu positions; sequence %zu has %zu, and %zu more were given", most, b, from, more);
        ends->data[b] += (int)more;
        for (size_t i = 0; i < more; i++) {
            const gr_real *key = all->data + (b * T + i) * 3 * n + n;
            const size_t to = (b * most + from + i) * n;
            memcpy(e->keys->data + to, key, n * sizeof *key), memcpy(e->values->data + to, key + n, n * sizeof *key);
        }
    }
    if (!ends || !cache_is_in_step(t, in->cache, e, ends->data) || !gr_undo_note(t, e->count, B * sizeof *e->count)) return NULL;
    if (!in->cache->first && gr_undo_note(t, &in->cache->first, sizeof in->cache->first)) in->cache->first = &e->module;
    memcpy(e->count, ends->data, B * sizeof *e->count);
    return gr_attention(t, q, e->keys, e->values, &(gr_attention_config){ .heads = m->heads, .causal = true, .starts = starts, .lengths = ends });
}

/* ---- Forward ---- */

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
    const gr_attention_config o = { m->heads, m->causal, NULL, in.lengths, in.mask, 0, m->dropout, m->stream };
    gr_tensor *y;
    if (in.memory) return gr_fail(t, &multihead, "a memory is for a decoder: pass it as key");
    if (in.cache) {
        if (key != query || value != query) return gr_fail(t, &multihead, "a cache is for self-attention: key and value must be NULL");
        y = multihead_cached(t, m, query, &in);
    } else if (key == query && value == query) {
        y = gr__attention_packed(t, gr_linear(t, query, m->in_proj_weight, m->in_proj_bias), &o);
    } else {
        gr_tensor *q = multihead_project(t, m, query, 0), *k = multihead_project(t, m, key, 1), *v = multihead_project(t, m, value, 2);
        y = gr_attention(t, q, k, v, &o);
    }
    return gr_linear(t, y, m->out_weight, m->out_bias);
}
