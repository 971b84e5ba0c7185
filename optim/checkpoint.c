/* optim/checkpoint.c - all that a run goes on from, in one safetensors file. The module's part is its state_dict; the rest has names
 * with a '/', which no module's name holds:
 *
 *     optim/exp_avg/<path> ...     the optimizer's state, shaped as the parameter; optim/step [n], optim/power [n, 2] of each
 *     optim/rate, optim/count      base learning rate, plateau scale and best loss; steps done and bad reports
 *     kept/<path>                  what gr_detach_keep keeps
 *     stream/<name> [2]            key and counter of a random stream
 *     value/<name>                 the program's
 *
 * Notes: format, the seed, the optimizer's rule. */
#include "core/op.h"
#include "nn/internal.h"
#include "optim/internal.h"
#include <stdio.h>
#include <string.h>

_Static_assert(sizeof(gr_stream) == 2 * sizeof(int64_t), "a stream is saved as two integers");

/* ---- The list of what is written, made twice: first to count items and text ---- */

typedef struct {
    gr_safetensors_item *item;
    char *text;
    size_t items, text_bytes;
    bool all_kept; /* also the states that keep nothing yet */
} checkpoint_list;

static void list_add(checkpoint_list *l, const char *kind, const char *name, gr_dtype dtype, gr_shape shape, const void *data)
{
    const size_t bytes = strlen(kind) + strlen(name) + 1;
    if (l->item) {
        char *const full = l->text + l->text_bytes;
        snprintf(full, bytes, "%s%s", kind, name);
        l->item[l->items] = (gr_safetensors_item){ full, dtype, shape, data };
    }
    l->items++, l->text_bytes += bytes;
}

static void list_optim(checkpoint_list *l, const gr_optim *o)
{
    for (int k = 0; k < 2 && o->rule->state[k]; k++) {
        char kind[40];
        snprintf(kind, sizeof kind, "optim/%s/", o->rule->state[k]);
        for (size_t i = 0; i < o->entries; i++) {
            const optim_entry *const e = &o->entry[i];
            list_add(l, kind, e->slot->path, GR_REAL_DTYPE, gr_shape_of(e->x), o->state[k] + e->offset);
        }
    }
    list_add(l, "optim/", "step", GR_I64, GR_SHAPE(o->entries), o->step);
    list_add(l, "optim/", "power", GR_F64, GR_SHAPE(o->entries, 2), o->power);
    list_add(l, "optim/", "rate", GR_F64, GR_SHAPE(sizeof o->rate / sizeof(double)), &o->rate);
    list_add(l, "optim/", "count", GR_I64, GR_SHAPE(sizeof o->count / sizeof(int64_t)), &o->count);
}

/* All but the module's state_dict. What is loaded is found by this list too. */
static void list_all(checkpoint_list *l, const gr_tape *t, const gr_module *m, const gr_optim *o, const gr_checkpoint_value *values, size_t n)
{
    const char *name = NULL;
    gr_stream *stream;
    l->items = l->text_bytes = 0;
    if (o) list_optim(l, o);
    for (const gr_slot *s = gr_slot_first(m); s; s = gr_slot_next(m, s))
        if (s->kind == GR_KEPT && (s->count || l->all_kept)) list_add(l, "kept/", gr__slot_key(m, s), GR_REAL_DTYPE, gr_shape_of(s->tensor), s->tensor->data);
    for (size_t i = 0; (stream = gr_tape_stream_at(t, i, &name)); i++) list_add(l, "stream/", name, GR_I64, GR_SHAPE(2), stream);
    for (size_t i = 0; i < n; i++) list_add(l, "value/", values[i].name, values[i].dtype, GR_SHAPE(values[i].n), values[i].data);
}

/* The list with room in front for extra items. */
static bool list_make(checkpoint_list *l, gr_tape *t, const gr_module *m, const gr_optim *o, const gr_checkpoint_value *values, size_t n,
                      size_t extra, bool all_kept)
{
    *l = (checkpoint_list){ .all_kept = all_kept };
    list_all(l, t, m, o, values, n);
    gr_safetensors_item *const item = gr_memory_new(gr_tape_allocator(t), (extra + l->items) * sizeof *item);
    l->text = gr_memory_new(gr_tape_allocator(t), l->text_bytes);
    if (!item || !l->text) {
        gr_memory_free(gr_tape_allocator(t), item, (extra + l->items) * sizeof *item);
        gr_memory_free(gr_tape_allocator(t), l->text, l->text_bytes);
        return gr_fail_as(t, GR_NO_MEMORY, "", "out of memory: a checkpoint of %zu tensors", extra + l->items);
    }
    l->item = item + extra;
    list_all(l, t, m, o, values, n);
    return true;
}

static void list_free(checkpoint_list *l, gr_tape *t, size_t extra)
{
    gr_memory_free(gr_tape_allocator(t), l->item - extra, (extra + l->items) * sizeof *l->item);
    gr_memory_free(gr_tape_allocator(t), l->text, l->text_bytes);
}

/* ---- Saving ---- */

static bool checkpoint_arguments(gr_tape *t, const char *who, const char *path, const gr_module *m, const gr_optim *o, const gr_checkpoint_value *values, size_t n)
{
    if (gr_failed(t)) return false;
    if (!path || !m) return gr_fail_as(t, GR_MISUSE, who, "the %s is NULL", path ? "module" : "path");
    if (o && !gr__optim_is(t, o, who)) return false;
    for (size_t i = 0; i < n; i++)
        if (!values[i].name || !values[i].data || values[i].dtype >= GR_DTYPES)
            return gr_fail_as(t, GR_MISUSE, who, "value %zu needs a name, a type and data", i);
    return true;
}

bool gr_checkpoint_save(gr_tape *t, const char *path, const gr_module *m, const gr_optim *o, const gr_checkpoint_value *values, size_t n)
{
    checkpoint_list l;
    if (!checkpoint_arguments(t, "checkpoint_save", path, m, o, values, n)) return false;
    const size_t weights = gr__state_items(m, NULL);
    if (!list_make(&l, t, m, o, values, n, weights, false)) return false;
    gr__state_items(m, l.item - weights);
    char seed[24];
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)gr_tape_seed(t));
    const char *const notes[] = { "format", GR__CHECKPOINT, "seed", seed, "optimizer", o ? o->rule->name : "none", NULL };
    const bool saved = gr_safetensors_write(t, path, l.item - weights, weights + l.items, notes);
    list_free(&l, t, weights);
    return saved;
}

/* ---- Loading: all checks, then what may run out of memory, then what cannot fail ---- */

static bool checkpoint_notes_fit(gr_tape *t, const gr_safetensors *f, const char *path, const gr_optim *o)
{
    const char *const format = gr_safetensors_note_of(f, "format"), *const seed = gr_safetensors_note_of(f, "seed");
    const char *const rule = gr_safetensors_note_of(f, "optimizer");
    char own[24];
    snprintf(own, sizeof own, "%llu", (unsigned long long)gr_tape_seed(t));
    if (!format || strcmp(format, GR__CHECKPOINT) != 0 || !seed || !rule)
        return gr_fail_as(t, GR_BAD_FILE, path, "is no '%s'", GR__CHECKPOINT);
    if (strcmp(seed, own) != 0) return gr_fail_as(t, GR_BAD_FILE, path, "belongs to a tape of seed %s; this one's is %s", seed, own);
    if (o && strcmp(rule, o->rule->name) != 0) return gr_fail_as(t, GR_BAD_FILE, path, "was made with optimizer %s; this one is %s", rule, o->rule->name);
    return true;
}

/* Memory for the kept states of the file that are not here yet, and its streams, at their beginning: nobody can tell, if the rest fails. */
static bool checkpoint_make_kept(gr_tape *t, gr_module *m, const gr_safetensors_entry *e, const char *path)
{
    const char *const key = e->name + strlen("kept/"), *const dot = strrchr(key, '.'), *const name = dot ? dot + 1 : key;
    for (gr_module *at = m; at; at = gr_module_next(m, at)) {
        const char *const own = at == m ? "" : m->parent ? at->path + strlen(m->path) + 1 : at->path;
        const size_t length = dot ? (size_t)(dot - key) : 0;
        if (strlen(own) == length && !memcmp(own, key, length)) return gr__keep(t, at, name, e->shape);
    }
    return gr_fail_as(t, GR_BAD_FILE, path, "%s: there is no such module", e->name);
}

static bool checkpoint_make_room(gr_tape *t, gr_module *m, const gr_safetensors *f, const char *path)
{
    for (size_t i = 0; i < f->count; i++) {
        const gr_safetensors_entry *const e = &f->entry[i];
        if (!strncmp(e->name, "kept/", 5) && !checkpoint_make_kept(t, m, e, path)) return false;
        if (!strncmp(e->name, "stream/", 7) && !gr_tape_stream(t, e->name + 7)) return false;
    }
    return true;
}

static bool checkpoint_may_lack(const gr_safetensors_item *item) { return !strncmp(item->name, "stream/", 7) || !strncmp(item->name, "kept/", 5); }

static bool checkpoint_items_fit(gr_tape *t, const gr_safetensors *f, const char *path, const checkpoint_list *l)
{
    for (size_t i = 0; i < l->items; i++) {
        const gr_safetensors_item *const item = &l->item[i];
        const gr_safetensors_entry *const e = gr_safetensors_find(f, item->name);
        if (!e && checkpoint_may_lack(item)) continue;
        if (!e) return gr_fail_as(t, GR_BAD_FILE, path, "%s is missing", item->name);
        if (e->dtype != item->dtype || e->shape.rank != item->shape.rank ||
            memcmp(e->shape.dim, item->shape.dim, (size_t)e->shape.rank * sizeof *e->shape.dim) != 0)
            return gr_fail_as(t, GR_BAD_FILE, path, "%s is %s %s and should be %s %s", item->name, gr_dtype_name(e->dtype),
                              gr_shape_name(t, e->shape), gr_dtype_name(item->dtype), gr_shape_name(t, item->shape));
        if (!strncmp(item->name, "stream/", 7) && memcmp(e->data, &((const gr_stream *)item->data)->key, sizeof(uint64_t)) != 0)
            return gr_fail_as(t, GR_BAD_FILE, path, "%s has another key than this tape's", item->name);
    }
    return true;
}

/* What the file does not hold was not in use yet: streams go back to their beginning, kept states to nothing. */
static void checkpoint_fill(const gr_safetensors *f, const checkpoint_list *l, gr_module *m)
{
    for (size_t i = 0; i < l->items; i++) {
        const gr_safetensors_item *const item = &l->item[i];
        const gr_safetensors_entry *const e = gr_safetensors_find(f, item->name);
        if (e) memcpy((void *)item->data, e->data, e->bytes);
        else if (!strncmp(item->name, "stream/", 7)) ((gr_stream *)item->data)->counter = 0;
        for (gr_slot *s = gr_slot_first(m); s; s = gr_slot_next(m, s))
            if (s->kind == GR_KEPT && s->tensor->data == item->data) s->count = e != NULL;
    }
}

static bool checkpoint_restore(gr_tape *t, const gr_safetensors *f, const char *path, gr_module *m, gr_optim *o,
                               const gr_checkpoint_value *values, size_t n)
{
    checkpoint_list l;
    if (!checkpoint_notes_fit(t, f, path, o) || !gr__state_check(t, f, m, path, true, true)) return false;
    if (!checkpoint_make_room(t, m, f, path) || !list_make(&l, t, m, o, values, n, 0, true)) return false;
    const bool fits = checkpoint_items_fit(t, f, path, &l);
    if (fits) {
        gr__state_fill(f, m);
        checkpoint_fill(f, &l, m);
        gr__undo_forget(t);
    }
    list_free(&l, t, 0);
    return fits;
}

bool gr_checkpoint_load(gr_tape *t, const char *path, gr_module *m, gr_optim *o, const gr_checkpoint_value *values, size_t n)
{
    if (!checkpoint_arguments(t, "checkpoint_load", path, m, o, values, n)) return false;
    gr_safetensors *const f = gr_safetensors_open(t, path);
    const bool restored = f && checkpoint_restore(t, f, path, m, o, values, n);
    gr_safetensors_free(f);
    return restored;
}
