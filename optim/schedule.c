/* optim/schedule.c - the scale of the learning rate as a function of the steps done. Plain double arithmetic gives the same values everywhere. */
#include "core/library.h"
#include "optim/optim.h"
#include <math.h>

gr_schedule gr_schedule_constant(void) { return (gr_schedule){ .kind = GR_SCHEDULE_CONSTANT, .factor = 1 }; }
gr_schedule gr_schedule_step(size_t every, double factor) { return (gr_schedule){ .kind = GR_SCHEDULE_STEP, .steps = every, .factor = factor }; }
gr_schedule gr_schedule_exponential(double factor) { return gr_schedule_step(1, factor); }
gr_schedule gr_schedule_cosine(size_t steps, double end) { return (gr_schedule){ .kind = GR_SCHEDULE_COSINE, .steps = steps, .factor = end }; }
gr_schedule gr_schedule_linear(size_t steps, double end) { return (gr_schedule){ .kind = GR_SCHEDULE_LINEAR, .steps = steps, .factor = end }; }
gr_schedule gr_schedule_plateau(double factor, size_t patience) { return (gr_schedule){ .kind = GR_SCHEDULE_PLATEAU, .steps = patience, .factor = factor }; }
gr_schedule gr_schedule_multi_step(const size_t *milestone, size_t n, double factor)
{
    gr_schedule s = { .kind = GR_SCHEDULE_MULTI_STEP, .steps = milestone ? n : n ? SIZE_MAX : 0, .factor = factor };
    for (size_t i = 0; s.steps <= GR_MILESTONES && i < n; i++) s.milestone[i] = milestone[i];
    return s;
}
gr_schedule gr_schedule_one_cycle(size_t steps, double pct_start, double div_factor, double final_div_factor)
{
    return (gr_schedule){ .kind = GR_SCHEDULE_ONE_CYCLE, .steps = steps, .factor = 1, .pct_start = gr__setting(pct_start, 0.3),
                          .div_factor = gr__setting(div_factor, 25), .final_div_factor = gr__setting(final_div_factor, 1e4) };
}
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

/* Half a cosine: from at part 0, to at part 1 and behind it. */
static double cosine_between(double from, double to, double part) { return part < 1 ? to + (from - to) * (1 + gr__cosine_of_turn(part / 2)) / 2 : to; }

static double multi_step_scale(const gr_schedule *s, size_t step)
{
    size_t reached = 0;
    if (s->steps > GR_MILESTONES) return (double)NAN;
    for (size_t i = 0; i < s->steps; i++) reached += s->milestone[i] <= step;
    return whole_power(s->factor, reached);
}

static double one_cycle_scale(const gr_schedule *s, double step)
{
    const double top = s->pct_start * (double)s->steps - 1, start = 1 / s->div_factor; /* top: the step with scale 1, maybe a fraction */
    if (step <= top) return cosine_between(start, 1, top > 0 ? step / top : 1);
    return cosine_between(1, start / s->final_div_factor, (step - top) / ((double)s->steps - 1 - top));
}

double gr_schedule_scale(gr_schedule s, size_t step)
{
    if (step < s.warmup) return (double)(step + 1) / (double)s.warmup;
    step -= s.warmup;
    const double part = step < s.steps ? (double)step / (double)s.steps : 1;
    switch (s.kind) {
    case GR_SCHEDULE_STEP: return s.steps ? whole_power(s.factor, step / s.steps) : 1;
    case GR_SCHEDULE_COSINE: return cosine_between(1, s.factor, part);
    case GR_SCHEDULE_LINEAR: return part < 1 ? 1 + (s.factor - 1) * part : s.factor;
    case GR_SCHEDULE_MULTI_STEP: return multi_step_scale(&s, step);
    case GR_SCHEDULE_ONE_CYCLE: return one_cycle_scale(&s, (double)step);
    default: return 1;
    }
}
