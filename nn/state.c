/* nn/state.c - state_dict: all that a module saves, by name. */
#include "nn/internal.h"
#include "nn/nn.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static bool is_saved(const gr_module *m, const gr_slot *s) { return s->kind != GR_KEPT && gr__slot_stands(m, s); }

/* ---- Saving ---- */

size_t gr__state_items(const gr_module *m, gr_safetensors_item *items)
{
    size_t n = 0;
    for (const gr_slot *s = gr_slot_first(m); s; s = gr_slot_next(m, s)) {
        if (!is_saved(m, s)) continue;
        if (items && s->tensor) items[n] = (gr_safetensors_item){ gr__slot_key(m, s), GR_REAL_DTYPE, gr_shape_of(s->tensor), s->tensor->data };
        else if (items) items[n] = (gr_safetensors_item){ gr__slot_key(m, s), GR_I64, GR_SCALAR, &s->count };
        n++;
    }
    return n;
}

/* The library's notes before the caller's. */
static bool state_write(gr_tape *t, const char *path, const gr_safetensors_item *items, size_t n, const char *const *notes)
{
    const char *const own[] = { "format", GR__STATE, "checksum", "" };
    size_t count = 0;
    while (notes && notes[count]) count++;
    const size_t bytes = sizeof own + (count + 1) * sizeof *notes;
    const char **const all = gr_memory_new(gr_tape_allocator(t), bytes);
    if (!all) return gr_fail_as(t, GR_NO_MEMORY, "", "out of memory: saving %zu tensors", n);
    memcpy(all, own, sizeof own);
    if (count) memcpy(all + sizeof own / sizeof *own, notes, count * sizeof *notes);
    const bool written = gr_safetensors_write(t, path, items, n, all);
    gr_memory_free(gr_tape_allocator(t), all, bytes);
    return written;
}

bool gr_state_save(gr_tape *t, const gr_module *m, const char *path, const char *const *notes)
{
    if (gr_failed(t)) return false;
    if (!m) return gr_fail(t, NULL, "state_save: the module is NULL");
    const gr_allocator *const memory = gr_tape_allocator(t);
    const size_t n = gr__state_items(m, NULL), bytes = n * sizeof(gr_safetensors_item);
    gr_safetensors_item *const items = gr_memory_new(memory, bytes);
    if (!items) return gr_fail_as(t, GR_NO_MEMORY, "", "out of memory: saving %zu tensors", n);
    gr__state_items(m, items);
    const bool saved = state_write(t, path, items, n, notes);
    gr_memory_free(memory, items, bytes);
    return saved;
}

/* ---- The report of what does not fit: the first lines of it, and how many more ---- */

typedef struct { char text[640]; size_t length, more; } state_report;

__attribute__((format(printf, 2, 3))) static void report_line(state_report *r, const char *format, ...)
{
    const size_t room = sizeof r->text - r->length;
    va_list arguments;
    va_start(arguments, format);
    const int n = r->more ? -1 : vsnprintf(r->text + r->length, room, format, arguments);
    va_end(arguments);
    if (n >= 0 && (size_t)n < room) r->length += (size_t)n;
    else r->text[r->length] = 0, r->more++;
}

static const char *report_separator(const state_report *r) { return r->length ? "; " : ""; }

/* ---- Loading ---- */

static bool any_is_tied(const gr_module *m)
{
    const gr_slot *s = gr_slot_first(m);
    while (s && !s->tied) s = gr_slot_next(m, s);
    return s;
}

/* The entry that fills s: under its own name, or when that is missing, under one tied to it. ties: any_is_tied. */
static const gr_safetensors_entry *entry_for(const gr_safetensors *f, const gr_module *m, const gr_slot *s, bool ties)
{
    const gr_safetensors_entry *e = gr_safetensors_find(f, gr__slot_key(m, s));
    for (const gr_slot *other = ties ? gr_slot_first(m) : NULL; !e && s->tensor && other; other = gr_slot_next(m, other))
        if (other->tensor == s->tensor) e = gr_safetensors_find(f, gr__slot_key(m, other));
    return e;
}

static void check_entry(gr_tape *t, state_report *r, const gr_safetensors_entry *e, const gr_slot *s, bool exact)
{
    const gr_shape wanted = s->tensor ? gr_shape_of(s->tensor) : GR_SCALAR;
    const bool whole = e->dtype == GR_I64 || e->dtype == GR_I32;
    const bool type_fits = s->tensor ? !whole && (!exact || e->dtype == GR_REAL_DTYPE) : whole;
    if (type_fits && e->shape.rank == wanted.rank && !memcmp(e->shape.dim, wanted.dim, (size_t)wanted.rank * sizeof *wanted.dim)) return;
    report_line(r, "%s%s is %s %s and should be %s %s", report_separator(r), e->name, gr_dtype_name(e->dtype), gr_shape_name(t, e->shape),
                gr_dtype_name(s->tensor ? GR_REAL_DTYPE : GR_I64), gr_shape_name(t, wanted));
}

static void check_slot(gr_tape *t, state_report *r, const gr_safetensors *f, const gr_module *m, const gr_slot *s, bool exact, bool ties)
{
    const gr_safetensors_entry *const e = gr_safetensors_find(f, gr__slot_key(m, s)), *const filling = entry_for(f, m, s, ties);
    if (e) check_entry(t, r, e, s, exact);
    else if (!filling && is_saved(m, s))
        report_line(r, "%s%s %s is missing", report_separator(r), gr__slot_key(m, s), s->tensor ? gr_shape_text(t, s->tensor) : "(a counter)");
    if (!e || is_saved(m, s)) return;
    const gr_slot *first = gr_slot_first(m);
    while (!is_saved(m, first) || first->tensor != s->tensor) first = gr_slot_next(m, first);
    const gr_safetensors_entry *const other = entry_for(f, m, first, ties);
    if (other->dtype != e->dtype || other->bytes != e->bytes || memcmp(other->data, e->data, e->bytes) != 0)
        report_line(r, "%s%s and %s are tied, but differ", report_separator(r), other->name, e->name);
}

bool gr__state_check(gr_tape *t, const gr_safetensors *f, const gr_module *m, const gr__names *names, const char *path, bool exact, bool others)
{
    state_report r = { .length = 0 };
    const bool ties = any_is_tied(m);
    for (const gr_slot *s = gr_slot_first(m); s; s = gr_slot_next(m, s))
        if (s->kind != GR_KEPT) check_slot(t, &r, f, m, s, exact, ties);
    for (size_t i = 0; i < f->count; i++) {
        const char *const name = f->entry[i].name;
        if (others && strchr(name, '/')) continue;
        const gr__named *const own = gr__names_find(names, name, strlen(name));
        if (!own || !own->slot || own->slot->kind == GR_KEPT)
            report_line(&r, "%s%s %s is left over", report_separator(&r), name, r.more ? "" : gr_shape_name(t, f->entry[i].shape));
    }
    if (!r.length && !r.more) return !gr_failed(t);
    if (!r.more) return gr_fail_as(t, GR_BAD_FILE, path, "does not fit the module: %s", r.text);
    return gr_fail_as(t, GR_BAD_FILE, path, "does not fit the module: %s; and %zu more", r.text, r.more);
}

void gr__state_fill(const gr_safetensors *f, gr_module *m)
{
    const bool ties = any_is_tied(m);
    for (gr_slot *s = gr_slot_first(m); s; s = gr_slot_next(m, s)) {
        if (!is_saved(m, s)) continue;
        const gr_safetensors_entry *const e = entry_for(f, m, s, ties);
        if (s->tensor) gr_safetensors_reals(e, s->tensor->data), gr__was_written(s->tensor);
        else gr_safetensors_integers(e, &s->count);
    }
}

bool gr_state_load(gr_tape *t, gr_module *m, const char *path)
{
    if (gr_failed(t)) return false;
    if (!m) return gr_fail(t, NULL, "state_load: the module is NULL");
    gr_safetensors *const f = gr_safetensors_open(t, path);
    if (!f) return false;
    const char *const format = gr_safetensors_note_of(f, "format");
    gr__names names;
    bool fits = gr__names_make(t, &names, m);
    if (fits) {
        fits = gr__state_check(t, f, m, &names, path, false, format && !strcmp(format, GR__CHECKPOINT));
        gr__names_free(t, &names);
    }
    if (fits) gr__state_fill(f, m), gr__undo_forget(t);
    gr_safetensors_free(f);
    return fits;
}
