/* optim/schedule.c - the scale of the learning rate as a function of the steps done. Plain double arithmetic gives the same values everywhere. */
#include "core/library.h"
#include "optim/optim.h"

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
