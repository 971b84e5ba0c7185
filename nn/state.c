/* nn/state.c - state_dict: everything that a module saves, by name. */
#include "core/io/internal.h"
#include "nn/internal.h"
#include "nn/nn.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Saving ---- */

gr_safetensors_item *gr__state_items(gr_tape *t, const gr_module *m, size_t more, size_t *count)
{
    size_t slots = 0, n = 0;
    for (const gr_slot *s = gr_slot_first(m); s; s = gr_slot_next(m, s)) slots++;
    gr_safetensors_item *const items = gr_save(t, (slots + more) * sizeof *items);
    for (const gr_slot *s = items ? gr_slot_first(m) : NULL; s; s = gr_slot_next(m, s)) {
        if (!gr__slot_is_saved(m, s)) continue;
        if (s->tensor) items[n++] = (gr_safetensors_item){ gr__slot_key(m, s), GR_REAL_DTYPE, gr_shape_of(s->tensor), s->tensor->data };
        else items[n++] = (gr_safetensors_item){ gr__slot_key(m, s), GR_I64, GR_SCALAR, &s->count };
    }
    *count = n;
    return items;
}

/* The library's notes before the caller's. */
static const char **state_notes(gr_tape *t, const char *const *notes)
{
    const char *const own[] = { "format", GR__STATE, "checksum", "" };
    size_t count = 0;
    while (notes && notes[count]) count++;
    const char **const all = gr_save_zeros(t, sizeof own + (count + 1) * sizeof *notes);
    if (!all) return NULL;
    memcpy(all, own, sizeof own);
    if (count) memcpy(all + sizeof own / sizeof *own, notes, count * sizeof *notes);
    return all;
}

bool gr_state_save(gr_tape *t, const gr_module *m, const char *path, const char *const *notes)
{
    if (gr_failed(t)) return false;
    if (!m) return gr_fail(t, NULL, "state_save: the module is NULL");
    const gr_mark mark = gr_tape_mark(t);
    size_t n;
    const gr_safetensors_item *const items = gr__state_items(t, m, 0, &n);
    const char *const *const all = state_notes(t, notes);
    const bool saved = all && gr_safetensors_write(t, path, items, n, all);
    gr_tape_rewind(t, mark);
    return saved;
}

/* ---- Loading: the file is compared with the module, and then the values are copied ---- */

typedef struct {
    gr_tape *t;
    const gr_safetensors *f;
    const gr_module *m;
    const char *strip, *add; /* as in gr_state_config, or "" */
    bool partial;
    gr_error code;           /* of the error */
    gr_real weight;          /* below 1: parameters move this part of the way to the values of the file */
    bool exact;              /* the type must be gr_real, without conversion */
    bool others;             /* entries with a '/' in their name belong to a checkpoint; else they are left over */
    bool ties;               /* whether m has tied slots */
    bool *known;             /* of each entry of f, whether a slot has its name */
    gr_state_report found;
    char text[640];          /* the first lines of the error */
    size_t length, more;     /* the bytes of text, and how many more lines there are */
} state_reader;

static state_reader reader_of(gr_tape *t, const gr_safetensors *f, const gr_module *m)
{
    state_reader r = { .t = t, .f = f, .m = m, .strip = "", .add = "", .code = GR_BAD_FILE, .weight = 1 };
    for (const gr_slot *s = gr_slot_first(m); s && !r.ties; s = gr_slot_next(m, s)) r.ties = s->tied;
    return r;
}

__attribute__((format(printf, 2, 3))) static void report_line(state_reader *r, const char *format, ...)
{
    char *const end = r->text + r->length;
    const size_t skip = r->length ? strlen("; ") : 0, left = sizeof r->text - r->length, room = left > skip ? left - skip : 0;
    va_list arguments;
    va_start(arguments, format);
    const int n = r->more || !room ? -1 : vsnprintf(end + skip, room, format, arguments);
    va_end(arguments);
    if (n >= 0 && (size_t)n < room) memcpy(end, "; ", skip), r->length += skip + (size_t)n;
    else *end = 0, r->more++;
}

static void list_name(gr_state_names *list, const char *name) { list->name[list->count++] = name; }

/* The name in the file of a slot: two strings, one after the other. */
typedef struct { const char *strip, *rest; } state_name;
static int state_name_compare(const void *key, const void *entry)
{
    const state_name *const k = key;
    const char *const name = ((const gr_safetensors_entry *)entry)->name;
    const size_t n = strlen(k->strip);
    const int order = strncmp(k->strip, name, n);
    return order ? order : strcmp(k->rest, name + n);
}

/* The entry with the name of s; NULL when there is none. */
static const gr_safetensors_entry *entry_of(const state_reader *r, const gr_slot *s)
{
    const char *const key = gr__slot_key(r->m, s);
    const size_t n = strlen(r->add);
    if (!r->f->count || strncmp(key, r->add, n) != 0) return NULL;
    return bsearch(&(state_name){ r->strip, key + n }, r->f->entry, r->f->count, sizeof *r->f->entry, state_name_compare);
}

/* The entry that fills s: under its own name, or when that is missing, under one tied to it. */
static const gr_safetensors_entry *entry_for(const state_reader *r, const gr_slot *s)
{
    const gr_safetensors_entry *e = entry_of(r, s);
    for (const gr_slot *other = r->ties ? gr_slot_first(r->m) : NULL; !e && s->tensor && other; other = gr_slot_next(r->m, other))
        if (other->tensor == s->tensor) e = entry_of(r, other);
    return e;
}

static gr_shape wanted_shape(const gr_slot *s) { return s->tensor ? gr_shape_of(s->tensor) : GR_SCALAR; }

static bool entry_fits(const state_reader *r, const gr_safetensors_entry *e, const gr_slot *s)
{
    const bool whole = e->dtype == GR_I64 || e->dtype == GR_I32;
    const bool type_fits = s->tensor ? !whole && (!r->exact || e->dtype == GR_REAL_DTYPE) : whole;
    return type_fits && gr__shapes_are_equal(e->shape, wanted_shape(s));
}

/* A slot whose tensor another slot stands for: both entries must be the same. */
static void check_tied(state_reader *r, const gr_safetensors_entry *e, const gr_slot *s)
{
    const gr_slot *first = gr_slot_first(r->m);
    while (!gr__slot_is_saved(r->m, first) || first->tensor != s->tensor) first = gr_slot_next(r->m, first);
    const gr_safetensors_entry *const other = entry_for(r, first);
    if (other->dtype != e->dtype || other->bytes != e->bytes || memcmp(other->data, e->data, e->bytes) != 0)
        report_line(r, "%s and %s are tied, but differ", other->name, e->name);
}

static void check_slot(state_reader *r, const gr_slot *s)
{
    const gr_safetensors_entry *const e = entry_of(r, s);
    if (e) r->known[e - r->f->entry] = true;
    if (e && !r->partial && !entry_fits(r, e, s))
        report_line(r, "%s is %s %s and should be %s %s", e->name, gr_dtype_name(e->dtype), gr_shape_name(r->t, e->shape),
                    gr_dtype_name(s->tensor ? GR_REAL_DTYPE : GR_I64), gr_shape_name(r->t, wanted_shape(s)));
    if (gr__slot_is_saved(r->m, s)) {
        const gr_safetensors_entry *const source = entry_for(r, s);
        list_name(!source ? &r->found.missing : entry_fits(r, source, s) ? &r->found.loaded : &r->found.misfit, gr__slot_key(r->m, s));
        if (!source && !r->partial)
            report_line(r, "%s %s is missing", gr__slot_key(r->m, s), s->tensor ? gr_shape_text(r->t, s->tensor) : "(a counter)");
    } else if (e) check_tied(r, e, s);
}

/* The names of the file die with it. */
static void check_left_over(state_reader *r, const gr_safetensors_entry *e)
{
    const size_t bytes = strlen(e->name) + 1;
    char *const name = gr_save(r->t, bytes);
    if (name) list_name(&r->found.left_over, memcpy(name, e->name, bytes));
    if (!r->partial) report_line(r, "%s %s is left over", e->name, r->more ? "" : gr_shape_name(r->t, e->shape));
}

static bool state_check(state_reader *r, const char *path)
{
    size_t slots = 0;
    for (const gr_slot *s = gr_slot_first(r->m); s; s = gr_slot_next(r->m, s)) slots++;
    r->known = gr_save_zeros(r->t, r->f->count);
    gr_state_names *const list[] = { &r->found.loaded, &r->found.missing, &r->found.misfit, &r->found.left_over };
    for (int k = 0; k < 4; k++) list[k]->name = gr_save(r->t, (k < 3 ? slots : r->f->count) * sizeof(char *));
    if (gr_failed(r->t)) return false;
    for (const gr_slot *s = gr_slot_first(r->m); s; s = gr_slot_next(r->m, s))
        if (s->kind != GR_KEPT) check_slot(r, s);
    for (size_t i = 0; i < r->f->count; i++)
        if (!r->known[i] && !(r->others && strchr(r->f->entry[i].name, '/'))) check_left_over(r, &r->f->entry[i]);
    if (r->partial && !r->found.loaded.count)
        return gr_fail_as(r->t, GR_BAD_FILE, path, "nothing fits the module by name and shape: the file has %s, and the module %s",
                          r->f->count ? r->f->entry->name : "nothing", gr_slot_first(r->m) ? gr__slot_key(r->m, gr_slot_first(r->m)) : "nothing");
    if (!r->length && !r->more) return !gr_failed(r->t);
    if (!r->more) return gr_fail_as(r->t, r->code, path, "does not fit the module: %s", r->text);
    return gr_fail_as(r->t, r->code, path, "does not fit the module: %s; and %zu more", r->text, r->more);
}

/* x = x + weight (y - x). As in torch.lerp, a weight from 0.5 on starts from y, so that the result is close to y near weight 1. */
static void tensor_lerp(gr_tensor *x, const gr_real *y, gr_real weight)
{
    for (size_t i = 0; i < x->len; i++) {
        const gr_real way = y[i] - x->data[i], z = weight < (gr_real)0.5 ? x->data[i] + weight * way : y[i] - way * (1 - weight);
        x->data[i] = z < (gr_real)0x1p-100 && z > -(gr_real)0x1p-100 ? 0 : z;
    }
}

static void state_fill(const state_reader *r)
{
    for (gr_slot *s = gr_slot_first(r->m); s; s = gr_slot_next(r->m, s)) {
        const gr_safetensors_entry *const e = gr__slot_is_saved(r->m, s) ? entry_for(r, s) : NULL;
        if (!e || !entry_fits(r, e, s)) continue;
        if (r->weight < 1 && s->kind == GR_PARAMETER) tensor_lerp(s->tensor, (const gr_real *)e->data, r->weight); /* e is of another module */
        else if (s->tensor) gr_safetensors_reals(e, s->tensor->data);
        else gr_safetensors_integers(e, &s->count);
        if (s->tensor) gr__was_written(s->tensor);
    }
}

bool gr__state_check(gr_tape *t, const gr_safetensors *f, const gr_module *m, const char *path)
{
    state_reader r = reader_of(t, f, m);
    r.exact = r.others = true;
    return state_check(&r, path);
}

void gr__state_fill(const gr_safetensors *f, gr_module *m)
{
    const state_reader r = reader_of(NULL, f, m);
    state_fill(&r);
}

/* Load f into m and free f, which may be NULL after an error. */
static bool state_load(gr_tape *t, gr_module *m, gr_safetensors *f, const char *path, const gr_state_config *config)
{
    if (!f) return false;
    const gr_mark mark = gr_tape_mark(t);
    const char *const format = gr_safetensors_note_of(f, "format");
    const gr_state_config c = config ? *config : (gr_state_config){ 0 };
    state_reader r = reader_of(t, f, m);
    r.others = format && !strcmp(format, GR__CHECKPOINT), r.partial = c.partial;
    if (c.strip) r.strip = c.strip;
    if (c.add) r.add = c.add;
    const bool fits = state_check(&r, path);
    if (fits) state_fill(&r), gr__undo_forget(t);
    if (fits && c.report) *c.report = r.found;
    else gr_tape_rewind(t, mark);
    gr_safetensors_free(f);
    return fits;
}

bool gr_state_load(gr_tape *t, gr_module *m, const char *path, const gr_state_config *config)
{
    if (gr_failed(t)) return false;
    if (!m) return gr_fail(t, NULL, "state_load: the module is NULL");
    return state_load(t, m, gr_safetensors_open(t, path), path, config);
}

bool gr_state_load_memory(gr_tape *t, gr_module *m, const void *bytes, size_t length, const gr_state_config *config)
{
    if (gr_failed(t)) return false;
    if (!m) return gr_fail(t, NULL, "state_load_memory: the module is NULL");
    return state_load(t, m, gr_safetensors_open_memory(t, bytes, length), "memory", config);
}

/* ---- From module to module: the state of one is the file for the other ---- */

static bool module_move(gr_tape *t, const char *who, gr_module *to, const gr_module *from, double weight)
{
    if (gr_failed(t)) return false;
    if (!to || !from) return gr_fail_as(t, GR_MISUSE, who, "the module `%s` is NULL", to ? "from" : "to");
    if (!(weight >= 0 && weight <= 1)) return gr_fail_as(t, GR_MISUSE, who, "the weight must be 0 to 1; got %g", weight);
    if (to == from) return true;
    const gr_mark mark = gr_tape_mark(t);
    gr_safetensors f = { 0 };
    const gr_safetensors_item *const item = gr__state_items(t, from, 0, &f.count);
    f.entry = gr_save_zeros(t, f.count * sizeof *f.entry);
    for (size_t i = 0, len; f.entry && i < f.count; i++) {
        gr__shape_len(item[i].shape, &len);
        f.entry[i] = (gr_safetensors_entry){ item[i].name, item[i].dtype, item[i].shape, len, 0, len * gr_dtype_bytes(item[i].dtype), item[i].data };
    }
    if (f.entry) gr__sort(f.entry, f.count, sizeof *f.entry, gr__by_name);
    state_reader r = reader_of(t, &f, to);
    r.code = GR_MISUSE, r.weight = (gr_real)weight;
    const bool fits = f.entry && state_check(&r, who);
    if (fits) state_fill(&r), gr__undo_forget(t);
    gr_tape_rewind(t, mark);
    return fits;
}

bool gr_module_copy(gr_tape *t, gr_module *to, const gr_module *from) { return module_move(t, "module_copy", to, from, 1); }

bool gr_module_lerp(gr_tape *t, gr_module *to, const gr_module *from, double weight) { return module_move(t, "module_lerp", to, from, weight); }
