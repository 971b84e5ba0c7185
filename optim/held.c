/* optim/held.c - the parameters that an optimizer holds, those of them that were freed, and those that its module got later. */
#include "optim/internal.h"

/* The slot that counts the optimizers for all slots that share its tensor. */
static gr_slot *held_owner(gr_slot *s) { return s->tied ? s->tied : s; }

void gr__optim_hold(optim_entry *e, gr_slot *s)
{
    e->held = (gr__hold){ s->holds, s }, s->holds = &e->held;
    held_owner(s)->optimizers++;
}

void gr__optim_release(optim_entry *e)
{
    gr_slot *const s = e->held.slot;
    gr__hold **link = s ? &s->holds : NULL;
    while (link && *link != &e->held) link = &(*link)->next;
    if (link) *link = e->held.next, held_owner(s)->optimizers--;
}

bool gr__optim_holds(const gr_optim *o, const gr_tensor *x)
{
    for (size_t i = 0; i < o->entries; i++)
        if (o->entry[i].held.slot && o->entry[i].x == x) return true;
    return false;
}

size_t gr__optim_lost(const gr_optim *o)
{
    size_t lost = 0;
    for (size_t i = 0; i < o->entries; i++) lost += !o->entry[i].held.slot;
    return lost;
}

bool gr__optim_is(gr_tape *t, const gr_optim *o, const char *who)
{
    if (gr_failed(t)) return false;
    if (!o) return gr_fail_as(t, GR_MISUSE, who, "the optimizer is NULL");
    const size_t lost = gr__optim_lost(o);
    return !lost || gr_fail_as(t, GR_MISUSE, who, "a module was freed while this optimizer held %zu of its parameters: make a new optimizer", lost);
}

bool gr__optim_misses_none(gr_tape *t, const gr_optim *o)
{
    enum { NAMED = 3 };
    char names[400] = "";
    size_t missed = 0, length = 0;
    for (gr_slot *s = gr_slot_first(o->module); s; s = gr_slot_next(o->module, s)) {
        if (s->kind != GR_PARAMETER || held_owner(s)->optimizers || !gr__slot_stands(o->module, s) || !gr_grad(t, s->tensor)) continue;
        if (missed++ >= NAMED) continue;
        const int n = snprintf(names + length, sizeof names - length, "%s%.100s", length ? ", " : "", s->path);
        if (n > 0) length += (size_t)n;
    }
    return !missed || gr_fail_as(t, GR_MISUSE, "optim_step", "a gradient reached parameters that were made after this optimizer: %s%s; make the "
                                                             "optimizer last", names, missed > NAMED ? ", .." : "");
}
