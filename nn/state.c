/* nn/state.c - state_dict: everything that a module saves, by name. */
#include "nn/internal.h"
#include "nn/nn.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static bool is_saved(const gr_module *m, const gr_slot *s) { return s->kind != GR_KEPT && gr__slot_stands(m, s); }

/* ---- Saving ---- */

gr_safetensors_item *gr__state_items(gr_tape *t, const gr_module *m, size_t more, size_t *count)
{
    size_t slots = 0, n = 0;
    for (const gr_slot *s = gr_slot_first(m); s; s = gr_slot_next(m, s)) slots++;
    gr_safetensors_item *const items = gr_save(t, (slots + more) * sizeof *items);
    for (const gr_slot *s = items ? gr_slot_first(m) : NULL; s; s = gr_slot_next(m, s)) {
        if (!is_saved(m, s)) continue;
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

/* ---- Loading: the report of what does not fit, that is its first lines, and how many more there are ---- */

typedef struct {
    gr_tape *t;
    const gr_safetensors *f;
    const gr_module *m;
    bool *known;      /* of each entry of f, whether a slot has its name */
    bool exact, ties; /* ties: any_is_tied */
    char text[640];
    size_t length, more;
} state_report;

__attribute__((format(GR_PRINTF, 2, 3))) static void report_line(state_report *r, const char *format, ...)
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

static void check_entry(state_report *r, const gr_safetensors_entry *e, const gr_slot *s)
{
    const gr_shape wanted = s->tensor ? gr_shape_of(s->tensor) : GR_SCALAR;
    const bool whole = e->dtype == GR_I64 || e->dtype == GR_I32;
    const bool type_fits = s->tensor ? !whole && (!r->exact || e->dtype == GR_REAL_DTYPE) : whole;
    if (!type_fits || !gr__shapes_are_equal(e->shape, wanted))
        report_line(r, "%s is %s %s and should be %s %s", e->name, gr_dtype_name(e->dtype), gr_shape_name(r->t, e->shape),
                    gr_dtype_name(s->tensor ? GR_REAL_DTYPE : GR_I64), gr_shape_name(r->t, wanted));
}

static void check_slot(state_report *r, const gr_slot *s)
{
    const gr_safetensors_entry *const e = gr_safetensors_find(r->f, gr__slot_key(r->m, s));
    if (e) r->known[e - r->f->entry] = true, check_entry(r, e, s);
    else if (is_saved(r->m, s) && !entry_for(r->f, r->m, s, r->ties))
        report_line(r, "%s %s is missing", gr__slot_key(r->m, s), s->tensor ? gr_shape_text(r->t, s->tensor) : "(a counter)");
    if (!e || is_saved(r->m, s)) return;
    const gr_slot *first = gr_slot_first(r->m);
    while (!is_saved(r->m, first) || first->tensor != s->tensor) first = gr_slot_next(r->m, first);
    const gr_safetensors_entry *const other = entry_for(r->f, r->m, first, r->ties);
    if (other->dtype != e->dtype || other->bytes != e->bytes || memcmp(other->data, e->data, e->bytes) != 0)
        report_line(r, "%s and %s are tied, but differ", other->name, e->name);
}

bool gr__state_check(gr_tape *t, const gr_safetensors *f, const gr_module *m, const char *path, bool exact, bool others)
{
    state_report r = { .t = t, .f = f, .m = m, .known = gr_save_zeros(t, f->count), .exact = exact, .ties = any_is_tied(m) };
    if (!r.known) return false;
    for (const gr_slot *s = gr_slot_first(m); s; s = gr_slot_next(m, s))
        if (s->kind != GR_KEPT) check_slot(&r, s);
    for (size_t i = 0; i < f->count; i++) {
        const char *const name = f->entry[i].name;
        if (!r.known[i] && !(others && strchr(name, '/')))
            report_line(&r, "%s %s is left over", name, r.more ? "" : gr_shape_name(t, f->entry[i].shape));
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
    const char *const format = gr_safetensors_note_of(f, "format");
    const gr_mark mark = gr_tape_mark(t);
    const bool fits = f && gr__state_check(t, f, m, path, false, format && !strcmp(format, GR__CHECKPOINT));
    if (fits) gr__state_fill(f, m), gr__undo_forget(t);
    gr_tape_rewind(t, mark);
    gr_safetensors_free(f);
    return fits;
}
