/* optim/gradients.c - the gradients of all parameters as one array, and back. */
#include "optim/internal.h"

size_t gr_optim_gradient_len(const gr_optim *o) { return o && !gr__optim_lost(o) ? o->values + o->entries : 0; }

bool gr_optim_gradient_get(gr_tape *t, const gr_optim *o, gr_real *v)
{
    if (!gr__optim_is(t, o, "optim_gradient_get")) return false;
    if (!v) return gr_fail_as(t, GR_MISUSE, "optim_gradient_get", "v is NULL");
    gr_real *const flag = v + o->values;
    for (size_t i = 0; i < o->entries; i++) {
        const gr_real *const dx = gr_grad(t, o->entry[i].x);
        const size_t len = o->entry[i].x->len;
        if (dx) memcpy(v, dx, len * sizeof *v);
        else memset(v, 0, len * sizeof *v);
        v += len, flag[i] = dx != NULL;
    }
    return true;
}

bool gr_optim_gradient_set(gr_tape *t, gr_optim *o, const gr_real *v)
{
    static const char who[] = "optim_gradient_set";
    if (!gr__optim_is(t, o, who)) return false;
    if (!v) return gr_fail_as(t, GR_MISUSE, who, "v is NULL");
    const gr_real *const flag = v + o->values;
    for (size_t i = 0; i < o->entries; i++) {
        const gr_slot *const s = o->entry[i].held.slot;
        if (!(flag[i] >= 0)) return gr_fail_as(t, GR_MISUSE, who, "the flag of %s must be 0 or more; got %g", s->path, (double)flag[i]);
        if (flag[i] > 0 && s->frozen)
            return gr_fail_as(t, GR_MISUSE, who, "%s is frozen, so its flag must be 0; got %g: freeze the same parameters for every shard",
                              s->path, (double)flag[i]);
    }
    for (size_t i = 0; i < o->entries; i++)
        if (!gr__grad_prepare(t, o->entry[i].x, who)) return false;
    for (size_t i = 0; i < o->entries; v += o->entry[i].x->len, i++) gr__grad_put(o->entry[i].x, flag[i] > 0 ? v : NULL);
    return true;
}
