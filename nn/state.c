/* nn/state.c - state_dict: everything that a module saves, by name. */
#include "core/kernel.h"
#include "nn/internal.h"

static bool is_saved(const gr_module *m, const gr_slot *s) { return s->kind != GR_KEPT && gr__slot_stands(m, s); }

const char *gr__joined(gr_tape *t, const char *a, const char *b)
{
    const size_t bytes = strlen(a) + strlen(b) + 1;
    char *const whole = gr_save(t, bytes);
    if (whole) snprintf(whole, bytes, "%s%s", a, b);
    return whole;
}

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

bool gr_state_save(gr_tape *t, const gr_module *m, const char *path, const char *const *notes)
{
    if (gr_failed(t)) return false;
    if (!m) return gr_fail(t, NULL, "state_save: the module is NULL");
    const gr_mark mark = gr_tape_mark(t);
    static const char *const own[] = { "format", GR__STATE, "checksum", "" };
    enum { OWN = sizeof own / sizeof *own };
    size_t n, given = 0;
    while (notes && notes[given]) given++;
    const gr_safetensors_item *const items = gr__state_items(t, m, 0, &n);
    const char **const all = gr_save_zeros(t, (OWN + given + 1) * sizeof *all);
    for (size_t i = 0; all && i < OWN + given; i++) all[i] = i < OWN ? own[i] : notes[i - OWN];
    const bool saved = all && gr_safetensors_write(t, path, items, n, all);
    gr_tape_rewind(t, mark);
    return saved;
}

/* ---- Loading: each slot of the module is paired with its entry of the file; then the values are copied ---- */

typedef struct {
    gr_tape *t;
    const gr_safetensors *f;
    const gr_module *m;
    gr_state_config c;
    bool exact;            /* the type must be gr_real, without conversion */
    gr__state_pair *pair;  /* the slots of m, and the entry of the same name or NULL; the end is a slot NULL */
    bool *known;           /* for each entry of f, whether a slot has its name */
    gr_state_report found;
    char text[640];        /* the first lines of the error */
    size_t length, more;   /* the bytes of text, and how many more lines there are */
} state_reader;

/* Add a name to a list of the report, and a line to the error. */
__attribute__((format(GR_PRINTF, 4, 5))) static void report(state_reader *r, gr_state_names *list, const char *name, const char *format, ...)
{
    list->name[list->count++] = name;
    char *const end = r->text + r->length;
    const size_t skip = r->length ? strlen("; ") : 0, left = sizeof r->text - r->length, room = left > skip ? left - skip : 0;
    va_list arguments;
    va_start(arguments, format);
    const int n = r->more || !room ? -1 : vsnprintf(end + skip, room, format, arguments);
    va_end(arguments);
    if (n >= 0 && (size_t)n < room) memcpy(end, "; ", skip), r->length += skip + (size_t)n;
    else *end = 0, r->more++;
}

static bool pairs_make(state_reader *r)
{
    gr_state_names *const list[] = { &r->found.loaded, &r->found.missing, &r->found.misfit, &r->found.left_over };
    size_t most = r->f->count + 1;
    for (const gr_slot *s = gr_slot_first(r->m); s; s = gr_slot_next(r->m, s)) most++;
    for (int k = 0; k < 4; k++) list[k]->name = gr_save(r->t, most * sizeof(char *));
    gr__state_pair *p = r->pair = gr_save_zeros(r->t, most * sizeof *p);
    r->known = gr_save_zeros(r->t, most);
    for (gr_slot *s = r->known ? gr_slot_first(r->m) : NULL; s; s = gr_slot_next(r->m, s)) {
        if (s->kind == GR_KEPT) continue;
        const char *const key = gr__slot_key(r->m, s);
        const size_t added = strlen(r->c.add);
        *p = (gr__state_pair){ s, strncmp(key, r->c.add, added) ? NULL : gr_safetensors_find(r->f, gr__joined(r->t, r->c.strip, key + added)) };
        if (p->entry) r->known[p->entry - r->f->entry] = true;
        p++;
    }
    return !gr_failed(r->t);
}

/* Tied slots share a tensor. The one that is saved gets the entry of the others, unless it has one of its own. All entries must be the same. */
static void match_tied(state_reader *r, gr__state_pair *p)
{
    const gr_safetensors_entry *const e = p->entry;
    gr__state_pair *saved = r->pair;
    while (saved->slot->tensor != p->slot->tensor || !is_saved(r->m, saved->slot)) saved++;
    if (!saved->entry) saved->entry = e;
    const gr_safetensors_entry *const own = saved->entry;
    p->entry = NULL;
    if (own->dtype == e->dtype && gr__shapes_are_equal(own->shape, e->shape) && !memcmp(own->data, e->data, e->bytes)) return;
    report(r, &r->found.misfit, gr__slot_key(r->m, p->slot), "%s and %s are tied, but differ", own->name, e->name);
}

static void match_saved(state_reader *r, gr__state_pair *p)
{
    const gr_safetensors_entry *const e = p->entry;
    const gr_tensor *const x = p->slot->tensor;
    const char *const key = gr__slot_key(r->m, p->slot);
    const bool whole = e && (e->dtype == GR_I64 || e->dtype == GR_I32);
    const bool type_fits = x ? e && !whole && (!r->exact || e->dtype == GR_REAL_DTYPE) : whole;
    if (!e) report(r, &r->found.missing, key, "%s %s is missing", key, x ? gr_shape_text(r->t, x) : "(a counter)");
    else if (type_fits && gr__shapes_are_equal(e->shape, gr_shape_of(x))) r->found.loaded.name[r->found.loaded.count++] = key;
    else {
        report(r, &r->found.misfit, key, "%s is %s %s and should be %s %s", e->name, gr_dtype_name(e->dtype), gr_shape_name(r->t, e->shape),
               gr_dtype_name(x ? GR_REAL_DTYPE : GR_I64), gr_shape_name(r->t, gr_shape_of(x)));
        p->entry = NULL;
    }
}

const gr__state_pair *gr__state_match(gr_tape *t, const gr_safetensors *f, const gr_module *m, const char *path, bool exact, const gr_state_config *config)
{
    const char *const format = gr_safetensors_note_of(f, "format");
    const bool checkpoint = format && !strcmp(format, GR__CHECKPOINT);
    state_reader r = { .t = t, .f = f, .m = m, .c = config ? *config : (gr_state_config){ 0 }, .exact = exact };
    if (!r.c.strip) r.c.strip = "";
    if (!r.c.add) r.c.add = "";
    if (!pairs_make(&r)) return NULL;
    for (gr__state_pair *p = r.pair; p->slot; p++)
        if (p->entry && !is_saved(m, p->slot)) match_tied(&r, p);
    for (gr__state_pair *p = r.pair; p->slot; p++)
        if (is_saved(m, p->slot)) match_saved(&r, p);
    for (size_t i = 0; i < f->count; i++) {
        const char *const name = f->entry[i].name; /* dies with f */
        if (r.known[i] || (checkpoint && strchr(name, '/'))) continue;
        report(&r, &r.found.left_over, gr__joined(t, name, ""), "%s %s is left over", name, r.more ? "" : gr_shape_name(t, f->entry[i].shape));
    }
    if (!r.found.loaded.count && (r.c.partial || ((*r.c.strip || *r.c.add) && r.length && !r.found.misfit.count)))
        return gr_fail_as(t, GR_BAD_FILE, path, "nothing fits the module by name (strip '%s', add '%s'), shape and type: the file has %s, and the module %s",
                          r.c.strip, r.c.add, f->count ? f->entry->name : "nothing", r.pair->slot ? gr__slot_key(m, r.pair->slot) : "nothing");
    if (!r.c.partial && r.more) return gr_fail_as(t, GR_BAD_FILE, path, "does not fit the module: %s; and %zu more", r.text, r.more);
    if (!r.c.partial && r.length) return gr_fail_as(t, GR_BAD_FILE, path, "does not fit the module: %s", r.text);
    if (r.c.report && !gr_failed(t)) *r.c.report = r.found;
    return gr_failed(t) ? NULL : r.pair;
}

void gr__state_fill(const gr__state_pair *p)
{
    for (; p->slot; p++) {
        if (!p->entry) continue;
        if (!p->slot->tensor) gr_safetensors_integers(p->entry, &p->slot->count);
        else gr_safetensors_reals(p->entry, p->slot->tensor->data), gr__was_written(p->slot->tensor);
    }
}

/* Load f into m and free f, which is NULL after an error. */
static bool state_load(gr_tape *t, gr_module *m, gr_safetensors *f, const char *path, const gr_state_config *config)
{
    if (!f) return false;
    const gr_mark mark = gr_tape_mark(t);
    const gr__state_pair *const pairs = gr__state_match(t, f, m, path, false, config);
    if (pairs) gr__state_fill(pairs), gr__undo_forget(t);
    if (!pairs || !config || !config->report) gr_tape_rewind(t, mark);
    gr_safetensors_free(f);
    return pairs;
}

bool gr_state_load(gr_tape *t, gr_module *m, const char *path, const gr_state_config *config)
{
    if (!m) return gr_fail(t, NULL, "state_load: the module is NULL");
    return state_load(t, m, gr_safetensors_open(t, path), path, config);
}

bool gr_state_load_memory(gr_tape *t, gr_module *m, const void *bytes, size_t length, const gr_state_config *config)
{
    if (!m || !bytes) return gr_fail(t, NULL, m ? "state_load_memory: bytes is NULL" : "state_load_memory: the module is NULL");
    return state_load(t, m, gr_safetensors_open_memory(t, bytes, length), "memory", config);
}

/* ---- From module to module ---- */

/* s, or the next slot after it that is a part of m's state_dict. */
static gr_slot *saved_from(const gr_module *m, gr_slot *s)
{
    while (s && !is_saved(m, s)) s = gr_slot_next(m, s);
    return s;
}

static const char *slot_text(gr_tape *t, const gr_module *m, const gr_slot *s)
{
    return s ? gr__joined(t, gr__joined(t, gr__slot_key(m, s), " "), s->tensor ? gr_shape_text(t, s->tensor) : "(a counter)") : "nothing";
}

/* Whether the state_dicts of both have the same names and shapes, in the same order. */
static bool modules_agree(gr_tape *t, const char *who, const gr_module *to, const gr_module *from)
{
    const gr_slot *a = saved_from(to, gr_slot_first(to)), *b = saved_from(from, gr_slot_first(from));
    while (a && b && !a->tensor == !b->tensor && !strcmp(gr__slot_key(to, a), gr__slot_key(from, b)) &&
           gr__shapes_are_equal(gr_shape_of(a->tensor), gr_shape_of(b->tensor)))
        a = saved_from(to, gr_slot_next(to, a)), b = saved_from(from, gr_slot_next(from, b));
    return (!a && !b) || gr_fail_as(t, GR_MISUSE, who, "`to` has %s where `from` has %s", slot_text(t, to, a), slot_text(t, from, b));
}

/* a + w (b - a). As in torch.lerp, a weight from 0.5 on starts from b, so that the result is close to b near weight 1. */
static gr_real lerp(gr_real a, gr_real b, gr_real w) { return r_flush(w < R(0.5) ? a + w * (b - a) : b - (b - a) * (1 - w)); }

static bool module_move(gr_tape *t, const char *who, gr_module *to, const gr_module *from, double weight)
{
    if (gr_failed(t)) return false;
    if (!to || !from) return gr_fail_as(t, GR_MISUSE, who, "the module `%s` is NULL", to ? "from" : "to");
    if (!(weight >= 0 && weight <= 1)) return gr_fail_as(t, GR_MISUSE, who, "the weight must be 0 to 1; got %g", weight);
    if (!modules_agree(t, who, to, from)) return false;
    gr_slot *a = saved_from(to, gr_slot_first(to)), *b = saved_from(from, gr_slot_first(from));
    for (; a; a = saved_from(to, gr_slot_next(to, a)), b = saved_from(from, gr_slot_next(from, b))) {
        const gr_real w = a->kind == GR_PARAMETER ? (gr_real)weight : 1;
        for (size_t i = 0; a->tensor && i < a->tensor->len; i++) {
            gr_real *const x = a->tensor->data + i, y = b->tensor->data[i];
            *x = w < 1 ? lerp(*x, y, w) : y;
        }
        if (a->tensor) gr__was_written(a->tensor);
        else a->count = b->count;
    }
    gr__undo_forget(t);
    return true;
}

bool gr_module_copy(gr_tape *t, gr_module *to, const gr_module *from) { return module_move(t, "module_copy", to, from, 1); }

bool gr_module_lerp(gr_tape *t, gr_module *to, const gr_module *from, double weight) { return module_move(t, "module_lerp", to, from, weight); }
