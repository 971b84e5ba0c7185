/* optim/audit.c - what a backward did for a parameter. */
#include "optim/audit.h"
#include "optim/internal.h"

gr_audit_entry gr_audit(gr_tape *t, const gr_slot *s, const gr_optim *o)
{
    gr_audit_entry e = { .kind = GR_AUDIT_NOT_REACHED, .not_held = o };
    if (!s || !s->tensor) return e;
    const gr_tensor *const x = s->tensor;
    for (size_t i = 0; o && i < o->entries; i++)
        if (o->entry[i].held.slot && o->entry[i].x == x) e.not_held = false;
    const gr_real *const dx = gr_grad(t, x);
    double square = 0;
    for (size_t i = 0; dx && i < x->len; i++) square += (double)dx[i] * (double)dx[i], e.zeros += dx[i] == 0;
    e.norm = __builtin_sqrt(square);
    if (s->frozen) e.kind = GR_AUDIT_FROZEN;
    else if (dx) e.kind = x->len && e.zeros == x->len ? GR_AUDIT_ZERO : GR_AUDIT_REACHED;
    else e.cut = gr__cut_of(t, s->tensor);
    return e;
}
