/* nn/kept.c - states of a module that outlive gr_tape_reset.
 *
 * A slot with count 0 has memory but keeps nothing. After gr_forget a new state may have another shape. The undo log and the graph of the
 * running step may still point to the old memory, so it is not freed then: the slot owns one version for each shape, its tensor is the
 * version in use, and gr_tape_recover puts the old pointer back. An unused version is freed when memory of a new shape is needed in a
 * later step, provided that only one tape has used it. */
#include "nn/internal.h"

gr_tensor *gr__kept_memory(gr_tape *t, gr_slot *s, gr_shape shape)
{
    gr_tensor *x = NULL;
    for (gr__version *v = s->versions; v; v = v->next) { /* t uses the version of this shape, and the one that it replaces */
        const bool fits = gr__shapes_are_equal(gr_shape_of(v->tensor), shape);
        if (fits) x = v->tensor;
        if (!fits && v->tensor != s->tensor) continue;
        if (v->tape != t) v->tape = NULL;
        v->resets = gr__tape_resets(t);
    }
    if (x) return x;
    for (gr__version **link = &s->versions, *v; (v = *link);) /* free those to which no undo log or graph of a running step can point */
        if (v->tape != t || v->resets == gr__tape_resets(t)) link = &v->next;
        else *link = v->next, gr__version_free(s, v);
    x = gr__slot_tensor(t, s, shape);
    gr__version *const v = x ? gr_memory_new(&s->owner->memory, sizeof *v) : NULL;
    if (!v) return gr__tensor_free_home(x), gr_fail_as(t, GR_NO_MEMORY, "", "out of memory: making %s", s->path);
    *v = (gr__version){ s->versions, x, t, gr__tape_resets(t) };
    s->versions = v;
    return x;
}

gr_tensor *gr_kept(const gr_module *m, const char *name)
{
    const gr_slot *const s = gr__slot_called(m, name, GR_KEPT);
    return s && s->count ? s->tensor : NULL;
}

gr_tensor *gr_detach_keep(gr_tape *t, gr_module *m, const char *name, const gr_tensor *x)
{
    static const gr_op op = { .name = "detach_keep" };
    if (!gr_ready(t, &op, (gr_tensor *)x)) return NULL;
    const gr_tensor *const old = gr_kept(m, name);
    if (old && !gr_same_shape(old, x)) return gr_fail(t, &op, "%s was kept as %s; got %s", old->path, gr_shape_text(t, old), gr_shape_text(t, x));
    gr_slot *s = gr__slot_called(m, name, GR_KEPT);
    if (!s) s = gr__slot_append(t, m, name, GR_KEPT);
    gr_tensor *const kept = s ? gr__kept_memory(t, s, gr_shape_of(x)) : NULL;
    if (!kept) return s && !s->tensor ? gr__slot_remove(s) : NULL;
    if (!s->tensor) s->tensor = kept;
    if (s->tensor != kept && !gr_undo_note(t, &s->tensor, sizeof s->tensor)) return NULL;
    if (!gr_undo_note(t, &s->count, sizeof s->count) || !gr_undo_note(t, kept->data, kept->len * sizeof(gr_real))) return NULL;
    memcpy(kept->data, x->data, kept->len * sizeof(gr_real));
    gr__was_written(kept);
    s->tensor = kept, s->count = 1;
    return gr_record(t, &op, NULL, 0, GR_OUT(kept), GR_IN((gr_tensor *)x));
}

gr_tensor *gr_carried(gr_tape *t, const gr_module *m, const char *name)
{
    if (gr_failed(t)) return NULL;
    if (!m || !name) return gr_fail_as(t, GR_MISUSE, "carried", "the %s is NULL", m ? "name" : "module");
    const gr_tensor *const kept = gr_kept(m, name);
    return kept ? gr_input(t, kept->data, gr_shape_of(kept)) : NULL;
}

bool gr_forget(gr_tape *t, gr_module *m)
{
    if (gr_failed(t)) return false;
    for (gr_slot *s = gr_slot_first(m); s; s = gr_slot_next(m, s)) {
        if (s->kind != GR_KEPT || !s->count) continue;
        if (!gr_undo_note(t, &s->count, sizeof s->count)) return false;
        s->count = 0;
    }
    return true;
}
