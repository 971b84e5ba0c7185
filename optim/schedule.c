/* optim/schedule.c - the learning rate as a function of the steps done, in plain double arithmetic: the same on every machine. */
#include "core/kernel.h"
#include "core/op.h"
#include "optim/internal.h"

gr_schedule gr_schedule_constant(void) { return (gr_schedule){ GR_SCHEDULE_CONSTANT, 0, 1, 0 }; }
gr_schedule gr_schedule_step(size_t every, double factor) { return (gr_schedule){ GR_SCHEDULE_STEP, every, factor, 0 }; }
gr_schedule gr_schedule_cosine(size_t steps, double end) { return (gr_schedule){ GR_SCHEDULE_COSINE, steps, end, 0 }; }
gr_schedule gr_schedule_linear(size_t steps, double end) { return (gr_schedule){ GR_SCHEDULE_LINEAR, steps, end, 0 }; }
gr_schedule gr_schedule_plateau(double factor, size_t patience) { return (gr_schedule){ GR_SCHEDULE_PLATEAU, patience, factor, 0 }; }
gr_schedule gr_schedule_warmup(size_t steps, gr_schedule then)
{
    then.warmup = steps;
    return then;
}

static double whole_power(double x, size_t n) /* by squaring */
{
    double power = 1;
    for (; n; n >>= 1, x *= x)
        if (n & 1) power *= x;
    return power;
}

double gr_schedule_scale(gr_schedule s, size_t step)
{
    if (step < s.warmup) return (double)(step + 1) / (double)s.warmup;
    step -= s.warmup;
    const double part = step < s.steps ? (double)step / (double)s.steps : 1;
    switch (s.kind) {
    case GR_SCHEDULE_STEP: return s.steps ? whole_power(s.factor, step / s.steps) : 1;
    case GR_SCHEDULE_COSINE: return part < 1 ? s.factor + (1 - s.factor) * (1 + gr__cosine_of_turn(part / 2)) / 2 : s.factor;
    case GR_SCHEDULE_LINEAR: return part < 1 ? 1 + (s.factor - 1) * part : s.factor;
    default: return 1;
    }
}

bool gr_optim_schedule(gr_tape *t, gr_optim *o, gr_schedule s)
{
    if (!gr__optim_is(t, o, "optim_schedule")) return false;
    if (!(s.factor >= 0)) return gr_fail(t, NULL, "optim_schedule: the factor must be 0 or more; got %g", s.factor);
    if (s.kind == GR_SCHEDULE_STEP && !s.steps) return gr_fail(t, NULL, "optim_schedule: the period must be 1 step or more");
    o->schedule = s;
    return true;
}

void gr_optim_observe(gr_optim *o, double loss)
{
    if (!o || o->schedule.kind != GR_SCHEDULE_PLATEAU) return;
    const double best = o->rate.best, margin = best < HUGE_VAL ? 1e-4 * (best < 0 ? -best : best) : 0;
    if (loss < best - margin) {
        o->rate.best = loss, o->count.bad = 0;
        return;
    }
    if ((size_t)++o->count.bad <= o->schedule.steps) return;
    o->rate.plateau_scale *= o->schedule.factor, o->count.bad = 0;
}

double gr_optim_lr(const gr_optim *o)
{
    return o ? o->rate.lr * o->rate.plateau_scale * gr_schedule_scale(o->schedule, (size_t)o->count.steps) : (double)NAN;
}
void gr_optim_set_lr(gr_optim *o, double lr) { if (o) o->rate.lr = lr; }
size_t gr_optim_steps(const gr_optim *o) { return o ? (size_t)o->count.steps : 0; }
