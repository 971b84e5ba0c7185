/* optim/step.c - a step of any optimizer: its rule moves all chunks of its parameters, in one parallel region. */
#include "core/kernel.h"
#include "optim/internal.h"

typedef struct { gr_tape *t; gr_optim *o; double lr; } optim_work;

static void optim_step_chunk(void *argument, size_t i, int thread UNUSED)
{
    const optim_work *const w = argument;
    gr_optim *const o = w->o;
    const optim_chunk *const c = &o->chunk[i];
    const optim_entry *const e = &o->entry[c->entry];
    const gr_real *const dx = gr_grad(w->t, e->x);
    if (!dx) return;
    gr_optim_part p = { .t = w->t, .settings = o->settings, .lr = w->lr * e->lr_scale, .weight_decay = e->weight_decay, .step = o->step[c->entry],
                        .n = c->range.count, .x = e->x->data + c->range.first, .dx = dx + c->range.first };
    memcpy(p.power, o->power + 2 * c->entry, sizeof p.power);
    for (int k = 0; k < GR_OPTIM_STATES; k++) p.state[k] = o->state[k] ? o->state[k] + e->offset + c->range.first : NULL;
    o->rule->move(&p);
}

/* Otherwise the error: which parameters have a gradient and no optimizer. */
static bool optim_misses_none(gr_tape *t, const gr_optim *o)
{
    enum { NAMED = 3 };
    char names[400] = "";
    size_t missed = 0, length = 0;
    for (const gr_module *m = o->module; m; m = gr_module_next(o->module, m)) /* every step does this: a call for each slot would show */
        for (gr_slot *s = m->slots; s; s = s->next) {
            if (s->kind != GR_PARAMETER || gr__held_owner(s)->optimizers || !gr__slot_stands(o->module, s) || !gr_grad(t, s->tensor)) continue;
            if (missed++ >= NAMED) continue;
            const int n = snprintf(names + length, sizeof names - length, "%s%.100s", length ? ", " : "", s->path);
            if (n > 0) length += (size_t)n;
        }
    return !missed || gr_fail_as(t, GR_MISUSE, "optim_step", "a gradient reached parameters that were made after this optimizer: %s%s; make the "
                                                             "optimizer last", names, missed > NAMED ? ", .." : "");
}

static bool optim_was_reached(gr_tape *t, const gr_optim *o)
{
    const char *wanting = NULL;
    for (size_t i = 0; i < o->entries; i++) {
        if (gr_grad(t, o->entry[i].x)) return true;
        if (!wanting && !o->entry[i].held.slot->frozen) wanting = o->entry[i].held.slot->path;
    }
    if (wanting)
        return gr_fail(t, NULL, "optim_step: no gradient reached any parameter of this optimizer (%s, ...): gr_backward was not called since "
                       "gr_optim_zero_grad, or the loss does not depend on this module; gr_print_audit says which", wanting);
    return gr_fail(t, NULL, "optim_step: all %zu parameters are frozen", o->entries);
}

bool gr_optim_step(gr_tape *t, gr_optim *o)
{
    if (!gr__optim_is(t, o, "optim_step") || !optim_misses_none(t, o) || !optim_was_reached(t, o)) return false;
    if (o->refuse_nonfinite && !gr__optim_gradients_are_finite(t, o)) return false;
    const double lr = gr_optim_lr(o);
    if (!(lr >= 0 && lr < HUGE_VAL)) return gr_fail(t, NULL, "optim_step: the learning rate must be 0 or more, and finite; got %g", lr);
    for (size_t i = 0; i < o->entries; i++) {
        if (!gr_grad(t, o->entry[i].x)) continue;
        gr__was_written(o->entry[i].x);
        const bool first = !o->step[i]++;
        for (size_t k = 2 * i; k < 2 * i + 2; k++) o->power[k] = o->beta[k % 2] * (first ? 1 : o->power[k]);
    }
    gr_parallel(t, o->chunks, (double)o->state_len * 0.3, optim_step_chunk, &(optim_work){ t, o, lr });
    o->count.steps++;
    gr__undo_forget(t);
    return true;
}
