/* optim/optim.c - what all optimizers share: the list of parameters, their groups and the learning rate. A step is in optim/step.c. */
#include "core/kernel.h"
#include "optim/internal.h"

/* ---- What it holds ---- */

static void optim_hold(optim_entry *e, gr_slot *s)
{
    e->held = (gr__hold){ s->holds, s }, s->holds = &e->held;
    gr__held_owner(s)->optimizers++;
}

static void optim_release(optim_entry *e)
{
    gr_slot *const s = e->held.slot;
    gr__hold **link = s ? &s->holds : NULL;
    while (link && *link != &e->held) link = &(*link)->next;
    if (link) *link = e->held.next, gr__held_owner(s)->optimizers--;
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

/* ---- Life ---- */

/* Count the entries, the chunks, the values and the numbers of a state; list the entries and chunks once there is memory for them. */
static void optim_list(gr_optim *o, gr_module *m)
{
    size_t entries = 0, chunks = 0, values = 0, offset = 0;
    for (gr_slot *s = gr_slot_first(m); s; s = gr_slot_next(m, s)) {
        if (s->kind != GR_PARAMETER || !gr__slot_stands(m, s)) continue;
        const size_t len = s->tensor->len, count = gr_chunks(len, OPTIM_CHUNK);
        if (o->entry) o->entry[entries] = (optim_entry){ .x = s->tensor, .offset = offset, .lr_scale = 1 }, optim_hold(&o->entry[entries], s);
        for (size_t k = 0; o->chunk && k < count; k++) o->chunk[chunks + k] = (optim_chunk){ entries, gr_chunk(k, OPTIM_CHUNK, len), 0 };
        entries++, chunks += count, values += len;
        offset += (len + 15) / 16 * 16; /* each parameter begins on a cache line */
    }
    o->entries = entries, o->chunks = chunks, o->values = values, o->state_len = offset;
}

static bool optim_allocate(gr_optim *o, const void *settings)
{
    o->entry = gr_memory_new(&o->memory, o->entries * sizeof *o->entry);
    o->chunk = gr_memory_new(&o->memory, o->chunks * sizeof *o->chunk);
    o->step = gr_memory_new(&o->memory, o->entries * sizeof *o->step);
    o->power = gr_memory_new(&o->memory, o->entries * 2 * sizeof *o->power);
    o->settings = settings ? gr_memory_new(&o->memory, o->settings_size) : NULL;
    bool made = o->entry && o->chunk && o->step && o->power && !settings == !o->settings;
    for (int k = 0; k < GR_OPTIM_STATES; k++) {
        if (!o->rule->state[k]) continue;
        made = (o->state[k] = gr_memory_new(&o->memory, o->state_len * sizeof(gr_real))) && made;
    }
    if (made && settings) memcpy(o->settings, settings, o->settings_size);
    return made;
}

static bool optim_rule_is_good(gr_tape *t, const gr_optim_rule *rule)
{
    const bool named = rule && rule->name && gr__is_name(rule->name, "");
    if (!named || !rule->move)
        return gr_fail(t, NULL, "optim_new: the rule %s", !rule ? "is NULL" : named ? "has no move" : "needs a name, which is UTF-8 text and not empty");
    for (int k = 0; k < GR_OPTIM_STATES; k++) {
        const char *const state = rule->state[k];
        bool good = !state || gr__is_name(state, "/");
        for (int i = 0; state && i < k; i++) good = good && (!rule->state[i] || strcmp(rule->state[i], state) != 0);
        if (!good) return gr_fail(t, NULL, "%s: state %d is called '%s'; a name is UTF-8 text without '/', not empty, and new", rule->name, k, state);
    }
    return true;
}

gr_optim *gr_optim_new(gr_tape *t, gr_module *m, const gr_optim_rule *rule, const gr_optim_config *config)
{
    if (gr_failed(t) || !optim_rule_is_good(t, rule)) return NULL;
    const gr_optim_config c = config ? *config : (gr_optim_config){ 0 };
    const gr_allocator *const memory = gr_tape_allocator(t);
    const double lr = c.lr == 0 ? 1e-3 : c.lr, weight_decay = gr__setting(c.weight_decay, 0);
    if (!m) return gr_fail(t, NULL, "%s: the module is NULL", rule->name);
    if (!c.settings != !c.settings_size)
        return gr_fail(t, NULL, "%s: settings is %s, but settings_size is %zu", rule->name, c.settings ? "given" : "NULL", c.settings_size);
    if (!(lr > 0 && lr < HUGE_VAL)) return gr_fail(t, NULL, "%s: the learning rate must be positive and finite; got %g", rule->name, lr);
    if (!(weight_decay >= 0)) return gr_fail(t, NULL, "%s: weight_decay must be 0 or more; got %g", rule->name, weight_decay);
    for (int k = 0; k < 2; k++)
        if (!(c.beta[k] >= 0 && c.beta[k] < 1)) return gr_fail(t, NULL, "%s: beta%d must be in [0, 1); got %g", rule->name, k + 1, c.beta[k]);
    gr_optim *const o = gr_memory_new(memory, sizeof *o);
    if (!o) return gr_fail_as(t, GR_NO_MEMORY, "", "out of memory: making the optimizer");
    *o = (gr_optim){ .memory = *memory, .rule = rule, .module = m, .settings_size = c.settings_size, .beta = { c.beta[0], c.beta[1] },
                     .weight_decay = weight_decay, .refuse_nonfinite = c.refuse_nonfinite, .rate = { lr, 1, HUGE_VAL } };
    optim_list(o, m);
    if (!o->entries) gr_fail(t, NULL, "%s: the module has no parameters; make the optimizer last", rule->name);
    else if (!optim_allocate(o, c.settings)) gr_fail_as(t, GR_NO_MEMORY, "", "out of memory: making the optimizer of %zu parameters", o->entries);
    if (gr_failed(t)) return gr_optim_free(o), NULL;
    optim_list(o, m);
    for (size_t i = 0; i < o->entries; i++)
        if (c.decay_all || !o->entry[i].held.slot->no_decay) o->entry[i].weight_decay = weight_decay;
    return o;
}

void gr_optim_free(gr_optim *o)
{
    if (!o) return;
    for (size_t i = 0; o->entry && i < o->entries; i++) optim_release(&o->entry[i]);
    gr_memory_free(&o->memory, o->entry, o->entries * sizeof *o->entry);
    gr_memory_free(&o->memory, o->chunk, o->chunks * sizeof *o->chunk);
    gr_memory_free(&o->memory, o->step, o->entries * sizeof *o->step);
    gr_memory_free(&o->memory, o->power, o->entries * 2 * sizeof *o->power);
    gr_memory_free(&o->memory, o->settings, o->settings_size);
    for (int k = 0; k < GR_OPTIM_STATES; k++) gr_memory_free(&o->memory, o->state[k], o->state_len * sizeof(gr_real));
    gr_memory_free(&o->memory, o, sizeof *o);
}

/* ---- Groups ---- */

bool gr_optim_set_group(gr_tape *t, gr_optim *o, const gr_module *m, gr_optim_group group)
{
    if (!gr__optim_is(t, o, "optim_set_group")) return false;
    if (!m) return gr_fail(t, NULL, "optim_set_group: the module is NULL");
    const double scale = gr__setting(group.lr_scale, 1), decay = gr__setting(group.weight_decay, o->weight_decay);
    if (!(scale >= 0 && decay >= 0))
        return gr_fail(t, NULL, "optim_set_group: lr_scale and weight_decay must be 0 or more; got %g and %g", group.lr_scale, group.weight_decay);
    size_t found = 0;
    for (size_t i = 0; i < o->entries; i++) {
        optim_entry *const e = &o->entry[i];
        if (!gr__slot_is_under(m, e->held.slot)) continue;
        e->lr_scale = scale, e->weight_decay = group.decay_all || !e->held.slot->no_decay ? decay : 0;
        found++;
    }
    return found || gr_fail(t, NULL, "optim_set_group: the optimizer has no parameter under %s", *m->path ? m->path : "this root");
}

/* ---- The learning rate ---- */

bool gr_optim_schedule(gr_tape *t, gr_optim *o, gr_schedule s)
{
    if (!gr__optim_is(t, o, "optim_schedule")) return false;
    if (!(s.factor >= 0)) return gr_fail(t, NULL, "optim_schedule: the factor must be 0 or more; got %g", s.factor);
    if (s.kind == GR_SCHEDULE_PLATEAU && s.factor >= 1) return gr_fail(t, NULL, "optim_schedule: the factor of a plateau must be below 1; got %g", s.factor);
    const bool counts = s.kind != GR_SCHEDULE_CONSTANT && s.kind != GR_SCHEDULE_PLATEAU && s.kind != GR_SCHEDULE_MULTI_STEP;
    if (counts && !s.steps) return gr_fail(t, NULL, "optim_schedule: the schedule must have 1 step or more; got 0");
    if (s.kind == GR_SCHEDULE_MULTI_STEP && s.steps > GR_MILESTONES)
        return s.steps == SIZE_MAX ? gr_fail(t, NULL, "optim_schedule: the array of milestones is NULL")
                                   : gr_fail(t, NULL, "optim_schedule: at most %d milestones are possible; got %zu", GR_MILESTONES, s.steps);
    if (s.kind == GR_SCHEDULE_ONE_CYCLE && !(s.pct_start >= 0 && s.pct_start <= 1 && s.div_factor > 0 && s.final_div_factor > 0))
        return gr_fail(t, NULL, "optim_schedule: pct_start must be in [0, 1], div_factor and final_div_factor above 0; got %g, %g and %g", s.pct_start,
                       s.div_factor, s.final_div_factor);
    o->schedule = s;
    return true;
}

void gr_optim_observe(gr_optim *o, double loss)
{
    if (!o || o->schedule.kind != GR_SCHEDULE_PLATEAU) return;
    const double best = o->rate.best, margin = best < HUGE_VAL ? 1e-4 * (best < 0 ? -best : best) : 0;
    if (loss < best - margin) o->rate.best = loss, o->count.bad = 0;
    else if ((size_t)++o->count.bad > o->schedule.steps) o->rate.plateau_scale *= o->schedule.factor, o->count.bad = 0;
}

double gr_optim_lr(const gr_optim *o) { return o ? o->rate.lr * o->rate.plateau_scale * gr_schedule_scale(o->schedule, (size_t)o->count.steps) : (double)NAN; }
void gr_optim_set_lr(gr_optim *o, double lr) { if (o) o->rate.lr = lr; }
size_t gr_optim_steps(const gr_optim *o) { return o ? (size_t)o->count.steps : 0; }

void gr_optim_zero_grad(gr_optim *o)
{
    for (size_t i = 0; o && i < o->entries; i++)
        if (o->entry[i].held.slot) gr__grad_clear(o->entry[i].x);
}
