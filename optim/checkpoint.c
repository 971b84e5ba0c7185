/* optim/checkpoint.c - everything that a run needs to go on, in one safetensors file. The module's part is its state_dict. The other names have
 * a '/', which no name of a module can have:
 *
 *     optim/exp_avg/<path> ..      a state of the optimizer, shaped as the parameter
 *     optim/step [n]               how many steps moved each of the n parameters
 *     optim/power [n, 2]           beta[0]^step, beta[1]^step
 *     optim/rate [3]               base learning rate, plateau scale, best loss
 *     optim/count [2]              steps done, reports in a row that were not better
 *     kept/<path>                  what gr_detach_keep keeps
 *     stream/<name> [2]            key and counter of a random stream
 *     value/<name>                 a value of the program
 *
 * The notes are format, seed, optimizer (the rule), tensors (how many there are) and checksum. Every name in the file must be one of these, and the
 * number must be right, so that nothing is lost or ignored silently. */
#include "optim/internal.h"

_Static_assert(sizeof(gr_stream) == 2 * sizeof(int64_t), "a stream is saved as two integers");

/* ---- The list of what is written; its memory is the tape's ---- */

typedef struct { gr_tape *t; gr_safetensors_item *item; size_t items; } checkpoint_list;

static void list_add(checkpoint_list *l, const char *kind, const char *name, gr_dtype dtype, gr_shape shape, const void *data)
{
    const char *const full = gr__joined(l->t, kind, name);
    if (full) l->item[l->items++] = (gr_safetensors_item){ full, dtype, shape, data };
}

static void list_optim(checkpoint_list *l, const gr_optim *o)
{
    for (int k = 0; k < GR_OPTIM_STATES; k++) {
        const char *const folder = o->state[k] ? gr__joined(l->t, "optim/", o->rule->state[k]) : NULL;
        const char *const kind = folder ? gr__joined(l->t, folder, "/") : NULL;
        for (size_t i = 0; kind && i < o->entries; i++) {
            const optim_entry *const e = &o->entry[i];
            list_add(l, kind, e->held.slot->path, GR_REAL_DTYPE, gr_shape_of(e->x), o->state[k] + e->offset);
        }
    }
    list_add(l, "optim/", "step", GR_I64, GR_SHAPE(o->entries), o->step);
    list_add(l, "optim/", "power", GR_F64, GR_SHAPE(o->entries, 2), o->power);
    list_add(l, "optim/", "rate", GR_F64, GR_SHAPE(sizeof o->rate / sizeof(double)), &o->rate);
    list_add(l, "optim/", "count", GR_I64, GR_SHAPE(sizeof o->count / sizeof(int64_t)), &o->count);
}

/* The optimizer's part and the program's: what a file must hold to be loaded. */
static void list_demanded(checkpoint_list *l, const gr_optim *o, const gr_checkpoint_value *values, size_t n)
{
    if (o) list_optim(l, o);
    for (size_t i = 0; i < n; i++) list_add(l, "value/", values[i].name, values[i].dtype, GR_SHAPE(values[i].n), values[i].data);
}

static size_t demanded_items(const gr_optim *o, size_t n) { return n + (o ? GR_OPTIM_STATES * o->entries + 4 : 0); }

/* ---- Saving ---- */

static bool checkpoint_arguments(gr_tape *t, const char *who, const char *path, const gr_module *m, const gr_optim *o, const gr_checkpoint_value *values, size_t n)
{
    if (gr_failed(t)) return false;
    if (!path || !m) return gr_fail_as(t, GR_MISUSE, who, "the %s is NULL", path ? "module" : "path");
    if (o && !gr__optim_is(t, o, who)) return false;
    const gr_module *held = m;
    while (o && held && held != o->module) held = gr_module_next(m, held);
    if (!held) return gr_fail_as(t, GR_MISUSE, who, "the optimizer holds parameters of a module that is not in m");
    if (!values && n) return gr_fail_as(t, GR_MISUSE, who, "values is NULL, but n is %zu", n);
    for (size_t i = 0; i < n; i++)
        if (!values[i].name || !values[i].data || (unsigned)values[i].dtype >= GR_DTYPES)
            return gr_fail_as(t, GR_MISUSE, who, "value %zu needs a name, a type and data", i);
    return true;
}

bool gr_checkpoint_save(gr_tape *t, const gr_module *m, const gr_optim *o, const char *path, const gr_checkpoint_value *values, size_t n)
{
    if (!checkpoint_arguments(t, "checkpoint_save", path, m, o, values, n)) return false;
    const gr_mark mark = gr_tape_mark(t);
    checkpoint_list l = { .t = t };
    l.item = gr__state_items(t, m, demanded_items(o, n) + gr__tape_streams(t), &l.items); /* it has room for the kept states, too */
    list_demanded(&l, o, values, n);
    for (const gr_slot *s = gr_slot_first(m); s; s = gr_slot_next(m, s))
        if (s->kind == GR_KEPT && s->count) list_add(&l, "kept/", gr__slot_key(m, s), GR_REAL_DTYPE, gr_shape_of(s->tensor), s->tensor->data);
    const char *name = NULL;
    gr_stream *stream;
    for (size_t i = 0; (stream = gr__tape_stream_at(t, i, &name)); i++) list_add(&l, "stream/", name, GR_I64, GR_SHAPE(2), stream);
    char seed[24], tensors[24];
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)gr_tape_seed(t));
    snprintf(tensors, sizeof tensors, "%zu", l.items);
    const char *const notes[] = { "format", GR__CHECKPOINT, "seed", seed, "optimizer", o ? o->rule->name : "none", "tensors", tensors, "checksum", "", NULL };
    const bool saved = !gr_failed(t) && gr_safetensors_write(t, path, l.item, l.items, notes);
    gr_tape_rewind(t, mark);
    return saved;
}

/* ---- Loading: all checks, then what may run out of memory, then what cannot fail ---- */

/* What an entry of the file is for. */
typedef struct {
    void *to;          /* where its bytes go: to a value of the optimizer or the program, to a stream, or to a kept state; else NULL */
    gr_slot *slot;     /* of a kept state, */
    gr_module *module; /* or the module in which its slot is to be made, */
    const char *name;  /* with this name, */
    gr_tensor *kept;   /* and the memory of the state */
} checkpoint_place;

typedef struct {
    gr_tape *t;
    const gr_safetensors *f;
    const char *path;
    gr_module *m;
    gr_optim *o;
    checkpoint_list demanded;
    checkpoint_place *place;  /* one for each entry of the file */
    const gr__state_pair *weights;
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
        return gr_fail_as(t, GR_BAD_FILE, path, "is not a '%s'; gr_state_load reads files that hold only weights", GR__CHECKPOINT);
    if (strcmp(seed, own) != 0) return gr_fail_as(t, GR_BAD_FILE, path, "belongs to a tape with seed %s; this tape has seed %s", seed, own);
    if (o && strcmp(rule, o->rule->name) != 0) return gr_fail_as(t, GR_BAD_FILE, path, "was made with optimizer %s; this one is %s", rule, o->rule->name);
    if (strcmp(tensors, count) != 0) return gr_fail_as(t, GR_BAD_FILE, path, "holds %s tensors and should hold %s", count, tensors);
    return true;
}

static bool entry_is(const checkpoint_reader *r, const gr_safetensors_entry *e, gr_dtype dtype, gr_shape shape)
{
    if (e->dtype == dtype && gr__shapes_are_equal(e->shape, shape)) return true;
    return gr_fail_as(r->t, GR_BAD_FILE, r->path, "%s is %s %s and should be %s %s", e->name, gr_dtype_name(e->dtype), gr_shape_name(r->t, e->shape),
                      gr_dtype_name(dtype), gr_shape_name(r->t, shape));
}

static bool demanded_is_there(checkpoint_reader *r)
{
    for (size_t i = 0; i < r->demanded.items; i++) {
        const gr_safetensors_item *const item = &r->demanded.item[i];
        const gr_safetensors_entry *const e = gr_safetensors_find(r->f, item->name);
        if (!e) return gr_fail_as(r->t, GR_BAD_FILE, r->path, "%s is missing", item->name);
        if (!entry_is(r, e, item->dtype, item->shape)) return false;
        r->place[e - r->f->entry].to = (void *)item->data;
    }
    return true;
}

/* Find the entries of the kept states that the module has. */
static bool kept_slots_find(const checkpoint_reader *r)
{
    for (gr_slot *s = gr_slot_first(r->m); s; s = gr_slot_next(r->m, s)) {
        const gr_safetensors_entry *const e = s->kind == GR_KEPT ? gr_safetensors_find(r->f, gr__joined(r->t, "kept/", gr__slot_key(r->m, s))) : NULL;
        if (e) r->place[e - r->f->entry].slot = s;
    }
    return !gr_failed(r->t);
}

/* The module under m in which a slot of that path would be; NULL when there is none. *name: the end of the path, the slot's name. */
static gr_module *module_of(gr_module *m, const char *path, const char **name)
{
    for (const char *dot; m && (dot = strchr(path, '.')); path = dot + 1) {
        const size_t length = (size_t)(dot - path);
        m = m->child;
        while (m && (strncmp(m->name, path, length) || m->name[length])) m = m->next;
    }
    *name = path;
    return m;
}

/* kept/<path of the module>.<name>: unless there is such a state, the module must be there, and nothing may have that name yet. */
static bool kept_fits(const checkpoint_reader *r, const gr_safetensors_entry *e, checkpoint_place *p)
{
    size_t len;
    const char *const key = e->name + strlen("kept/");
    if (!p->slot) {
        p->module = module_of(r->m, key, &p->name);
        if (!p->module) return gr_fail_as(r->t, GR_BAD_FILE, r->path, "%s: there is no such module", e->name);
        if (!*p->name || strchr(key, '/')) return gr_fail_as(r->t, GR_BAD_FILE, r->path, "%s is not the name of a kept state", e->name);
        if (gr__name_is_taken(p->module, p->name)) return gr_fail_as(r->t, GR_BAD_FILE, r->path, "%s: the module has something else of that name", e->name);
    }
    if (!gr__shape_len(e->shape, &len))
        return gr_fail_as(r->t, GR_BAD_FILE, r->path, "%s: %s is not a shape that fits this machine", e->name, gr_shape_name(r->t, e->shape));
    return entry_is(r, e, GR_REAL_DTYPE, e->shape);
}

static bool stream_fits(const checkpoint_reader *r, const gr_safetensors_entry *e)
{
    const uint64_t key = gr_stream_new(gr_tape_seed(r->t), e->name + strlen("stream/")).key;
    if (!entry_is(r, e, GR_I64, GR_SHAPE(2))) return false;
    return !memcmp(e->data, &key, sizeof key) || gr_fail_as(r->t, GR_BAD_FILE, r->path, "%s has a key that differs from this tape's", e->name);
}

/* Whether every entry of the file is known. Values that the program did not ask for are ignored, and without an optimizer its part is too.
 * Entries without a '/' belong to the module: gr__state_match has checked them. */
static bool all_is_known(const checkpoint_reader *r)
{
    for (size_t i = 0; i < r->f->count; i++) {
        const gr_safetensors_entry *const e = &r->f->entry[i];
        if (begins(e->name, "kept/")) {
            if (!kept_fits(r, e, &r->place[i])) return false;
        } else if (begins(e->name, "stream/")) {
            if (!stream_fits(r, e)) return false;
        } else if (strchr(e->name, '/') && !r->place[i].to && !begins(e->name, "value/") && (r->o || !begins(e->name, "optim/")))
            return gr_fail_as(r->t, GR_BAD_FILE, r->path, "%s does not belong in a checkpoint", e->name);
    }
    return true;
}

/* Make what the entries need and is not here yet: slots, their memory, streams. When out of memory, remove it again. */
static bool places_make(const checkpoint_reader *r)
{
    const size_t streams = gr__tape_streams(r->t);
    for (size_t i = 0; i < r->f->count && !gr_failed(r->t); i++) {
        checkpoint_place *const p = &r->place[i];
        const char *const name = r->f->entry[i].name;
        if (begins(name, "stream/")) p->to = gr_tape_stream(r->t, name + strlen("stream/"));
        if (p->module) p->slot = gr__slot_new(r->t, p->module, p->name, GR_KEPT);
        if (p->slot && (p->kept = gr__kept_memory(r->t, p->slot, r->f->entry[i].shape))) p->to = p->kept->data;
    }
    if (!gr_failed(r->t)) return true;
    gr__tape_streams_cut(r->t, streams);
    for (const checkpoint_place *p = r->place; p < r->place + r->f->count; p++)
        if (p->module && p->slot) gr__slot_remove(p->slot);
    return false;
}

/* A stream or kept state that the file does not hold was not in use when it was saved: the stream begins anew, the state is forgotten. */
static void checkpoint_fill(const checkpoint_reader *r)
{
    gr__state_fill(r->weights);
    gr_tape_seek_streams(r->t, 0);
    for (gr_slot *s = gr_slot_first(r->m); s; s = gr_slot_next(r->m, s))
        if (s->kind == GR_KEPT) s->count = 0;
    for (size_t i = 0; i < r->f->count; i++) {
        const checkpoint_place *const p = &r->place[i];
        if (!p->to) continue; /* filled by gr__state_fill, or ignored */
        memcpy(p->to, r->f->entry[i].data, r->f->entry[i].bytes);
        if (p->kept) p->slot->tensor = p->kept, p->slot->count = 1, gr__was_written(p->kept);
    }
    gr__undo_forget(r->t);
}

static bool checkpoint_read(checkpoint_reader *r, const gr_checkpoint_value *values, size_t n)
{
    r->demanded = (checkpoint_list){ .t = r->t, .item = gr_save(r->t, demanded_items(r->o, n) * sizeof *r->demanded.item) };
    r->place = gr_save_zeros(r->t, r->f->count * sizeof *r->place);
    list_demanded(&r->demanded, r->o, values, n);
    if (gr_failed(r->t)) return false;
    r->weights = gr__state_match(r->t, r->f, r->m, r->path, true, NULL);
    if (!r->weights || !demanded_is_there(r)) return false;
    if (!kept_slots_find(r) || !all_is_known(r) || !places_make(r)) return false;
    checkpoint_fill(r);
    return true;
}

bool gr_checkpoint_load(gr_tape *t, gr_module *m, gr_optim *o, const char *path, const gr_checkpoint_value *values, size_t n)
{
    if (!checkpoint_arguments(t, "checkpoint_load", path, m, o, values, n)) return false;
    gr_safetensors *const f = gr_safetensors_open(t, path);
    const gr_mark mark = gr_tape_mark(t);
    checkpoint_reader r = { .t = t, .f = f, .path = path, .m = m, .o = o };
    const bool good = f && checkpoint_notes_fit(t, f, path, o) && checkpoint_read(&r, values, n);
    gr_tape_rewind(t, mark);
    gr_safetensors_free(f);
    return good;
}
