/* optim/checkpoint.c - all that a run goes on from, in one safetensors file. The module's part is its state_dict; the rest has names
 * with a '/', which no module's name holds:
 *
 *     optim/exp_avg/<path> ...     the optimizer's state, shaped as the parameter; optim/step [n], optim/power [n, 2] of each
 *     optim/rate, optim/count      base learning rate, plateau scale and best loss; steps done and bad reports
 *     kept/<path>                  what gr_detach_keep keeps
 *     stream/<name> [2]            key and counter of a random stream
 *     value/<name>                 the program's
 *
 * Notes: format, the seed, the optimizer's rule, the number of all tensors, the checksum. Every name of the file must be one of these,
 * and the number must be right, so that nothing is lost or ignored in silence. */
#include "optim/internal.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(gr_stream) == 2 * sizeof(int64_t), "a stream is saved as two integers");

/* ---- The list of what is written, made twice: first to count items and text ---- */

typedef struct {
    gr_safetensors_item *item;
    char *text;
    size_t items, text_bytes;
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

/* All but the module's state_dict. m NULL: only what a file must hold to be loaded, the optimizer's part and the program's. */
static void list_all(checkpoint_list *l, const gr_tape *t, const gr_module *m, const gr_optim *o, const gr_checkpoint_value *values, size_t n)
{
    const char *name = NULL;
    gr_stream *stream;
    l->items = l->text_bytes = 0;
    if (o) list_optim(l, o);
    for (size_t i = 0; i < n; i++) list_add(l, "value/", values[i].name, values[i].dtype, GR_SHAPE(values[i].n), values[i].data);
    for (const gr_slot *s = gr_slot_first(m); s; s = gr_slot_next(m, s))
        if (s->kind == GR_KEPT && s->count) list_add(l, "kept/", gr__slot_key(m, s), GR_REAL_DTYPE, gr_shape_of(s->tensor), s->tensor->data);
    for (size_t i = 0; m && (stream = gr__tape_stream_at(t, i, &name)); i++) list_add(l, "stream/", name, GR_I64, GR_SHAPE(2), stream);
}

/* The list with room in front for extra items. */
static bool list_make(checkpoint_list *l, gr_tape *t, const gr_module *m, const gr_optim *o, const gr_checkpoint_value *values, size_t n,
                      size_t extra)
{
    *l = (checkpoint_list){ 0 };
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
    if (!values && n) return gr_fail_as(t, GR_MISUSE, who, "values is NULL, but n is %zu", n);
    for (size_t i = 0; i < n; i++)
        if (!values[i].name || !values[i].data || (unsigned)values[i].dtype >= GR_DTYPES)
            return gr_fail_as(t, GR_MISUSE, who, "value %zu needs a name, a type and data", i);
    return true;
}

bool gr_checkpoint_save(gr_tape *t, const gr_module *m, const gr_optim *o, const char *path, const gr_checkpoint_value *values, size_t n)
{
    checkpoint_list l;
    if (!checkpoint_arguments(t, "checkpoint_save", path, m, o, values, n)) return false;
    const size_t weights = gr__state_items(m, NULL);
    if (!list_make(&l, t, m, o, values, n, weights)) return false;
    gr__state_items(m, l.item - weights);
    char seed[24], tensors[24];
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)gr_tape_seed(t));
    snprintf(tensors, sizeof tensors, "%zu", weights + l.items);
    const char *const notes[] = { "format", GR__CHECKPOINT, "seed", seed, "optimizer", o ? o->rule->name : "none", "tensors", tensors, "checksum", "", NULL };
    const bool saved = gr_safetensors_write(t, path, l.item - weights, weights + l.items, notes);
    list_free(&l, t, weights);
    return saved;
}

/* ---- Loading: all checks, then what may run out of memory, then what cannot fail ---- */

/* A kept state or a random stream of the file, and where it goes. */
typedef struct {
    const gr_safetensors_entry *e;
    gr__named *module;   /* of a kept state: where a slot is to be made, and */
    gr_slot *slot;       /* the slot, and */
    gr_tensor *kept;     /* the memory */
    gr_stream *stream;
} checkpoint_place;

typedef struct {
    gr_tape *t;
    const gr_safetensors *f;
    const char *path;
    gr_module *m;
    gr_optim *o;
    checkpoint_list demanded; /* sorted by name */
    gr__names names;          /* of m */
    checkpoint_place *place;  /* places of them; there is room for as many as the file has entries */
    size_t places;
} checkpoint_reader;

static bool begins(const char *name, const char *prefix) { return !strncmp(name, prefix, strlen(prefix)); }

static bool checkpoint_notes_fit(gr_tape *t, const gr_safetensors *f, const char *path, const gr_optim *o)
{
    const char *const format = gr_safetensors_note_of(f, "format"), *const seed = gr_safetensors_note_of(f, "seed");
    const char *const rule = gr_safetensors_note_of(f, "optimizer"), *const tensors = gr_safetensors_note_of(f, "tensors");
    char own[24], count[24];
    snprintf(own, sizeof own, "%llu", (unsigned long long)gr_tape_seed(t));
    snprintf(count, sizeof count, "%zu", f->count);
    if (!format || strcmp(format, GR__CHECKPOINT) != 0 || !seed || !rule || !tensors || !gr_safetensors_note_of(f, "checksum"))
        return gr_fail_as(t, GR_BAD_FILE, path, "is no '%s'; gr_state_load reads files of weights alone", GR__CHECKPOINT);
    if (strcmp(seed, own) != 0) return gr_fail_as(t, GR_BAD_FILE, path, "belongs to a tape of seed %s; this one's is %s", seed, own);
    if (o && strcmp(rule, o->rule->name) != 0) return gr_fail_as(t, GR_BAD_FILE, path, "was made with optimizer %s; this one is %s", rule, o->rule->name);
    if (strcmp(tensors, count) != 0) return gr_fail_as(t, GR_BAD_FILE, path, "holds %s tensors and should hold %s", count, tensors);
    return true;
}

static bool entry_is(const checkpoint_reader *r, const gr_safetensors_entry *e, gr_dtype dtype, gr_shape shape)
{
    if (e->dtype == dtype && e->shape.rank == shape.rank && !memcmp(e->shape.dim, shape.dim, (size_t)shape.rank * sizeof *shape.dim)) return true;
    return gr_fail_as(r->t, GR_BAD_FILE, r->path, "%s is %s %s and should be %s %s", e->name, gr_dtype_name(e->dtype), gr_shape_name(r->t, e->shape),
                      gr_dtype_name(dtype), gr_shape_name(r->t, shape));
}

static int item_by_its_name(const void *a, const void *b)
{
    return strcmp(((const gr_safetensors_item *)a)->name, ((const gr_safetensors_item *)b)->name);
}

static bool demanded_is_there(const checkpoint_reader *r)
{
    for (size_t i = 0; i < r->demanded.items; i++) {
        const gr_safetensors_item *const item = &r->demanded.item[i];
        const gr_safetensors_entry *const e = gr_safetensors_find(r->f, item->name);
        if (!e) return gr_fail_as(r->t, GR_BAD_FILE, r->path, "%s is missing", item->name);
        if (!entry_is(r, e, item->dtype, item->shape)) return false;
    }
    return true;
}

static bool is_demanded(const checkpoint_reader *r, const char *name)
{
    const gr_safetensors_item key = { .name = name };
    return bsearch(&key, r->demanded.item, r->demanded.items, sizeof key, item_by_its_name);
}

/* kept/<path of the module>.<name>: the module must be there, and under that name a kept state or nothing. */
static bool kept_fits(checkpoint_reader *r, const gr_safetensors_entry *e, checkpoint_place *p)
{
    const char *const key = e->name + strlen("kept/"), *const dot = strrchr(key, '.'), *const name = dot ? dot + 1 : key;
    p->module = gr__names_find(&r->names, key, dot ? (size_t)(dot - key) : 0);
    if (!p->module || !p->module->module) return gr_fail_as(r->t, GR_BAD_FILE, r->path, "%s: there is no such module", e->name);
    if (!*name || strchr(key, '/')) return gr_fail_as(r->t, GR_BAD_FILE, r->path, "%s is no name of a kept state", e->name);
    const gr__named *const other = gr__names_find(&r->names, key, strlen(key));
    if (other && (!other->slot || other->slot->kind != GR_KEPT))
        return gr_fail_as(r->t, GR_BAD_FILE, r->path, "%s: the module has something else of that name", e->name);
    size_t len;
    if (!gr__shape_len(e->shape, &len))
        return gr_fail_as(r->t, GR_BAD_FILE, r->path, "%s: %s is no shape that fits this machine", e->name, gr_shape_name(r->t, e->shape));
    p->slot = other ? other->slot : NULL;
    return entry_is(r, e, GR_REAL_DTYPE, e->shape);
}

static bool stream_fits(const checkpoint_reader *r, const gr_safetensors_entry *e)
{
    const uint64_t key = gr_stream_new(gr_tape_seed(r->t), e->name + strlen("stream/")).key;
    if (!entry_is(r, e, GR_I64, GR_SHAPE(2))) return false;
    return !memcmp(e->data, &key, sizeof key) || gr_fail_as(r->t, GR_BAD_FILE, r->path, "%s has another key than this tape's", e->name);
}

/* Every entry of the file is something that is known. Values for which the program did not ask, and without an optimizer its part, are
 * left alone. Entries without a '/' are the module's: gr__state_check has seen them. */
static bool all_is_known(checkpoint_reader *r)
{
    for (size_t i = 0; i < r->f->count; i++) {
        const gr_safetensors_entry *const e = &r->f->entry[i];
        checkpoint_place *const p = &r->place[r->places];
        const bool kept = begins(e->name, "kept/"), stream = begins(e->name, "stream/");
        if (kept ? !kept_fits(r, e, p) : stream && !stream_fits(r, e)) return false;
        if (kept || stream) p->e = e, r->places++;
        else if (strchr(e->name, '/') && !begins(e->name, "value/") && !(begins(e->name, "optim/") && (!r->o || is_demanded(r, e->name))))
            return gr_fail_as(r->t, GR_BAD_FILE, r->path, "%s is nothing that a checkpoint holds", e->name);
    }
    return true;
}

/* Slots that were made for the file and are not filled. */
static void unfilled_remove(gr_module *m)
{
    for (gr_module *each = m; each; each = gr_module_next(m, each))
        for (gr_slot **link = &each->slots, *s; (s = *link);) {
            if (s->kind != GR_KEPT || s->tensor) link = &s->next;
            else *link = s->next, gr__slot_free(s);
        }
}

static bool place_make(checkpoint_reader *r, checkpoint_place *p)
{
    const char *const dot = strrchr(p->e->name, '.');
    if (!p->module) {
        p->stream = gr_tape_stream(r->t, p->e->name + strlen("stream/"));
        return p->stream;
    }
    if (!p->slot) {
        p->slot = *p->module->end = gr__slot_new(r->t, p->module->module, dot ? dot + 1 : p->e->name + strlen("kept/"), GR_KEPT);
        if (!p->slot) return false;
        p->module->end = &p->slot->next;
    }
    p->kept = gr__kept_memory(r->t, p->slot, p->e->shape);
    return p->kept;
}

/* Memory for what is not here yet; when there is not enough, none of it stays. */
static bool places_make(checkpoint_reader *r)
{
    const size_t streams = gr__tape_streams(r->t);
    size_t made = 0;
    while (made < r->places && place_make(r, &r->place[made])) made++;
    if (made == r->places) return true;
    gr__tape_streams_cut(r->t, streams);
    unfilled_remove(r->m);
    return false;
}

/* What the file does not hold was not in use yet: streams go back to their beginning, kept states to nothing. */
static void checkpoint_fill(const checkpoint_reader *r)
{
    gr_stream *stream;
    gr__state_fill(r->f, r->m);
    for (size_t i = 0; i < r->demanded.items; i++) {
        const gr_safetensors_entry *const e = gr_safetensors_find(r->f, r->demanded.item[i].name);
        memcpy((void *)r->demanded.item[i].data, e->data, e->bytes);
    }
    for (size_t i = 0; (stream = gr__tape_stream_at(r->t, i, NULL)); i++) stream->counter = 0;
    for (gr_slot *s = gr_slot_first(r->m); s; s = gr_slot_next(r->m, s))
        if (s->kind == GR_KEPT) s->count = 0;
    for (size_t i = 0; i < r->places; i++) {
        const checkpoint_place *const p = &r->place[i];
        if (p->stream) memcpy(p->stream, p->e->data, sizeof *p->stream);
        else {
            gr__kept_use(r->t, p->slot, p->kept);
            memcpy(p->kept->data, p->e->data, p->e->bytes);
            gr__was_written(p->kept);
            p->slot->count = 1;
        }
    }
    gr__undo_forget(r->t);
}

static bool checkpoint_read(checkpoint_reader *r)
{
    gr__sort(r->demanded.item, r->demanded.items, sizeof *r->demanded.item, item_by_its_name);
    if (!gr__state_check(r->t, r->f, r->m, &r->names, r->path, true, true) || !demanded_is_there(r)) return false;
    const size_t bytes = r->f->count * sizeof *r->place;
    r->place = gr_memory_new(gr_tape_allocator(r->t), bytes);
    if (!r->place) return gr_fail_as(r->t, GR_NO_MEMORY, "", "out of memory: reading '%s'", r->path);
    const bool fits = all_is_known(r) && places_make(r);
    if (fits) checkpoint_fill(r);
    gr_memory_free(gr_tape_allocator(r->t), r->place, bytes);
    return fits;
}

bool gr_checkpoint_load(gr_tape *t, gr_module *m, gr_optim *o, const char *path, const gr_checkpoint_value *values, size_t n)
{
    if (!checkpoint_arguments(t, "checkpoint_load", path, m, o, values, n)) return false;
    gr_safetensors *const f = gr_safetensors_open(t, path);
    checkpoint_reader r = { .t = t, .f = f, .path = path, .m = m, .o = o };
    bool good = f && checkpoint_notes_fit(t, f, path, o) && list_make(&r.demanded, t, NULL, o, values, n, 0);
    if (good) {
        good = gr__names_make(t, &r.names, m);
        if (good) good = checkpoint_read(&r), gr__names_free(t, &r.names);
        list_free(&r.demanded, t, 0);
    }
    gr_safetensors_free(f);
    return good;
}
