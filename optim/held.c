/* optim/held.c - compare the parameters that an optimizer holds with those that its module has now. The tree counts its changes, so that a
 * step walks over the tree only after a change. */
#include "optim/internal.h"

/* The slot that counts the optimizers for all slots that share its tensor. */
static gr_slot *held_owner(gr_slot *s) { return s->tied ? s->tied : s; }

void gr__optim_hold(gr_optim *o, gr_module *m)
{
    for (size_t i = 0; i < o->entries; i++) o->entry[i].number = o->entry[i].slot->number, held_owner(o->entry[i].slot)->optimizers++;
    gr__watch_start(&o->watch, m);
    o->module = m, o->changes = o->watch.root->changes;
}

void gr__optim_release(gr_optim *o)
{
    if (!o->module) return;
    gr__optim_look(o);
    for (size_t i = 0; i < o->entries; i++)
        if (o->entry[i].slot) held_owner(o->entry[i].slot)->optimizers--;
    gr__watch_stop(&o->watch);
}

bool gr__optim_holds(const gr_optim *o, const gr_tensor *x)
{
    for (size_t i = 0; i < o->entries; i++)
        if (o->entry[i].x == x) return true;
    return false;
}

static void held_forget(gr_optim *o, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) o->entry[i].slot = NULL, o->entry[i].x = NULL, o->lost++;
}

static void held_compare(gr_optim *o)
{
    const gr_module *m = o->watch.root; /* then the optimizer's module, if it is still there. A new one at the same address has other numbers */
    while (m && m != o->module) m = gr_module_next(o->watch.root, m);
    size_t at = 0;
    o->lost = 0;
    for (const gr_slot *s = gr_slot_first(m); s; s = gr_slot_next(m, s)) { /* entries have the order of the tree, which never changes */
        size_t k = at;
        while (s->kind == GR_PARAMETER && k < o->entries && o->entry[k].number != s->number) k++;
        if (s->kind != GR_PARAMETER || k == o->entries) continue;
        held_forget(o, at, k);
        at = k + 1;
    }
    held_forget(o, at, o->entries);
    o->late = 0;
    for (const gr_slot *s = gr_slot_first(m); s; s = gr_slot_next(m, s)) o->late += s->kind == GR_PARAMETER && !gr__optim_holds(o, s->tensor);
}

void gr__optim_look(const gr_optim *o)
{
    gr_optim *const self = (gr_optim *)o; /* gr_optim_new made it, so it is not a const object */
    if (!o->module || (o->watch.root && o->watch.root->changes == o->changes)) return;
    held_compare(self);
    if (o->watch.root) self->changes = o->watch.root->changes;
    else self->module = NULL;
}

bool gr__optim_is(gr_tape *t, const gr_optim *o, const char *who)
{
    if (gr_failed(t)) return false;
    if (!o) return gr_fail_as(t, GR_MISUSE, who, "the optimizer is NULL");
    gr__optim_look(o);
    return !o->lost || gr_fail_as(t, GR_MISUSE, who, "a module was freed while this optimizer held %zu of its parameters: make a new optimizer",
                                  o->lost);
}

bool gr__optim_misses_none(gr_tape *t, const gr_optim *o)
{
    enum { NAMED = 3 };
    char names[400] = "";
    size_t missed = 0, length = 0;
    for (gr_slot *s = o->late ? gr_slot_first(o->module) : NULL; s; s = gr_slot_next(o->module, s)) {
        if (s->kind != GR_PARAMETER || !gr__slot_stands(o->module, s) || !gr_grad(t, s->tensor)) continue;
        if (held_owner(s)->optimizers || gr__optim_holds(o, s->tensor)) continue;
        if (missed++ >= NAMED) continue;
        const int n = snprintf(names + length, sizeof names - length, "%s%.100s", length ? ", " : "", s->path);
        if (n > 0) length += (size_t)n;
    }
    return !missed || gr_fail_as(t, GR_MISUSE, "optim_step", "a gradient reached parameters that were made after this optimizer: %s%s; make the "
                                                             "optimizer last", names, missed > NAMED ? ", .." : "");
}
