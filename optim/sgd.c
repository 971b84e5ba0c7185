/* optim/sgd.c - stochastic gradient descent, with momentum.
 *
 *     g = dx + decay x
 *     b = mu b + gain g                  mu = momentum, gain = 1 - dampening; at the first step mu = 0, gain = 1
 *     x = x - lr b                       Nesterov's: x - lr (g + momentum b), with dampening 0; without momentum, x - lr g: sgd_plain */
#include "core/kernel.h"
#include "optim/internal.h"

KERNEL(void, sgd_plain, gr_real *restrict x, const gr_real *restrict dx, size_t n, gr_real decay, gr_real lr)
{
    for (size_t i = 0; i < n; i++) x[i] -= lr * (dx[i] + decay * x[i]);
}

KERNEL(void, sgd_momentum, gr_real *restrict x, const gr_real *restrict dx, gr_real *restrict b, size_t n, gr_real decay, gr_real lr, gr_real mu, gr_real gain,
       gr_real nesterov)
{
    for (size_t i = 0; i < n; i++) {
        const gr_real g = r_flush(dx[i] + decay * x[i]);
        b[i] = r_flush(mu * b[i] + gain * g);
        x[i] -= lr * (nesterov > 0 ? g + nesterov * b[i] : b[i]);
    }
}

#if GR_HOST
static void sgd_plain_move(const gr_optim_part *p) { sgd_plain[gr_isa(p->t)](p->x, p->dx, p->n, (gr_real)p->weight_decay, (gr_real)p->lr); }

static void sgd_momentum_move(const gr_optim_part *p)
{
    const gr_sgd_config *const s = p->settings;
    const double mu = p->step == 1 ? 0 : s->momentum, gain = p->step == 1 ? 1 : 1 - s->dampening;
    sgd_momentum[gr_isa(p->t)](p->x, p->dx, p->state[0], p->n, (gr_real)p->weight_decay, (gr_real)p->lr, (gr_real)mu, (gr_real)gain,
                               s->nesterov ? (gr_real)s->momentum : 0);
}

static const gr_optim_rule sgd_plain_rule = { "sgd", { NULL }, sgd_plain_move };
static const gr_optim_rule sgd_momentum_rule = { "sgd with momentum", { "momentum_buffer" }, sgd_momentum_move };

gr_optim *gr_sgd_new(gr_tape *t, gr_module *m, const gr_sgd_config *config)
{
    const gr_sgd_config c = config ? *config : (gr_sgd_config){ 0 };
    if (!(c.momentum >= 0)) return gr_fail(t, NULL, "sgd: momentum must be 0 or more; got %g", c.momentum);
    if (!(c.dampening >= 0 && c.dampening <= 1)) return gr_fail(t, NULL, "sgd: dampening must be in [0, 1]; got %g", c.dampening);
    if (c.nesterov && !(c.momentum > 0 && c.dampening == 0))
        return gr_fail(t, NULL, "sgd: nesterov needs a momentum and no dampening; got %g and %g", c.momentum, c.dampening);
    return gr_optim_new(t, m, c.momentum > 0 ? &sgd_momentum_rule : &sgd_plain_rule,
                        &(gr_optim_config){ c.lr, c.weight_decay, c.decay_all, c.refuse_nonfinite, { 0 }, &c, sizeof c });
}
#endif
