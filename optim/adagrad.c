/* optim/adagrad.c - Adagrad.
 *
 *     g = dx + decay x
 *     s = s + g^2                              s = initial_accumulator_value before the first step
 *     x = x - rate g / (sqrt(s) + eps)         rate = lr / (1 + (k - 1) lr_decay) at step k
 *
 * The square of a g below 2^-58 becomes 0, as in optim/adam.c. s never decays. */
#include "core/kernel.h"
#include "optim/internal.h"

KERNEL(void, adagrad_step, gr_real *restrict x, const gr_real *restrict dx, gr_real *restrict sum, size_t n, gr_real decay, gr_real start, gr_real rate,
       gr_real eps)
{
    for (size_t i = 0; i < n; i++) {
        const gr_real g = r_flush(dx[i] + decay * x[i]), h = r_abs(g) < R(0x1p-58) ? 0 : g, square = h * h;
        sum[i] = start + sum[i] + square;
        x[i] -= rate * g / (r_sqrt(sum[i]) + eps);
    }
}

#if GR_HOST
static void adagrad_move(const gr_optim_part *p)
{
    const gr_adagrad_config *const s = p->settings;
    adagrad_step[gr_isa(p->t)](p->x, p->dx, p->state[0], p->n, (gr_real)p->weight_decay, p->step == 1 ? (gr_real)s->initial_accumulator_value : 0,
                               (gr_real)(p->lr / (1 + (double)(p->step - 1) * s->lr_decay)), (gr_real)s->eps);
}

static const gr_optim_rule adagrad_rule = { "adagrad", { "sum" }, adagrad_move };

gr_optim *gr_adagrad_new(gr_tape *t, gr_module *m, const gr_adagrad_config *config)
{
    gr_adagrad_config c = config ? *config : (gr_adagrad_config){ 0 };
    c.eps = gr__setting(c.eps, 1e-10);
    if (!(c.lr_decay >= 0 && c.initial_accumulator_value >= 0 && c.eps >= 0))
        return gr_fail(t, NULL, "adagrad: lr_decay, initial_accumulator_value and eps must be 0 or more; got %g, %g and %g", c.lr_decay,
                       c.initial_accumulator_value, c.eps);
    return gr_optim_new(t, m, &adagrad_rule,
                        &(gr_optim_config){ c.lr == 0 ? 0.01 : c.lr, c.weight_decay, c.decay_all, c.refuse_nonfinite, { 0 }, &c, sizeof c });
}
#endif
