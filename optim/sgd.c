/* optim/sgd.c - stochastic gradient descent, with momentum.
 *
 *     g = dx + decay x
 *     b = mu b + gain g                  mu = momentum, gain = 1 - dampening; at the first step mu = 0, gain = 1
 *     x = x - lr (look g + ahead b)      momentum: look 0, ahead 1; Nesterov's: look 1, ahead momentum; none: sgd_plain    */
#include "core/kernel.h"
#include "optim/internal.h"

KERNEL(void, sgd_plain, gr_real *restrict x, const gr_real *restrict dx, gr_real *restrict unused, gr_real *restrict unused2, size_t n,
       const gr_real *c)
{
    const gr_real decay = c[0], lr = c[1];
    (void)unused, (void)unused2;
    for (size_t i = 0; i < n; i++) x[i] -= lr * (dx[i] + decay * x[i]);
}

KERNEL(void, sgd_momentum, gr_real *restrict x, const gr_real *restrict dx, gr_real *restrict b, gr_real *restrict unused, size_t n,
       const gr_real *c)
{
    const gr_real decay = c[0], lr = c[1], mu = c[2], gain = c[3], look = c[4], ahead = c[5];
    (void)unused;
    for (size_t i = 0; i < n; i++) {
        const gr_real g = r_flush(dx[i] + decay * x[i]);
        b[i] = r_flush(mu * b[i] + gain * g);
        x[i] -= lr * (look * g + ahead * b[i]);
    }
}

#if GR_HOST
static void sgd_constants(gr_optim *o, size_t entry, double lr)
{
    const bool first = !o->step[entry]++;
    const double mu = first ? 0 : o->momentum, gain = first ? 1 : 1 - o->dampening;
    const double c[] = { o->entry[entry].weight_decay, lr, mu, gain, o->nesterov, o->nesterov ? o->momentum : 1 };
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) o->entry[entry].constants[i] = (gr_real)c[i];
}

static const optim_rule sgd_plain_rule = { "sgd", { NULL, NULL }, sgd_constants, sgd_plain, false };
static const optim_rule sgd_momentum_rule = { "sgd with momentum", { "momentum_buffer", NULL }, sgd_constants, sgd_momentum, false };

gr_optim *gr_sgd_new(gr_tape *t, gr_module *m, const gr_sgd_config *config)
{
    const gr_sgd_config c = config ? *config : (gr_sgd_config){ 0 };
    if (!(c.momentum >= 0)) return gr_fail(t, NULL, "sgd: momentum must be 0 or more; got %g", c.momentum);
    if (!(c.dampening >= 0 && c.dampening <= 1)) return gr_fail(t, NULL, "sgd: dampening must be in [0, 1]; got %g", c.dampening);
    if (c.nesterov && !(c.momentum > 0 && c.dampening == 0))
        return gr_fail(t, NULL, "sgd: nesterov needs a momentum and no dampening; got %g and %g", c.momentum, c.dampening);
    gr_optim *o = gr__optim_new(t, m, c.momentum > 0 ? &sgd_momentum_rule : &sgd_plain_rule);
    if (!o) return NULL;
    o->momentum = c.momentum, o->dampening = c.dampening, o->nesterov = c.nesterov, o->refuse_nonfinite = c.refuse_nonfinite;
    return gr__optim_ready(t, o, c.lr, gr__setting(c.weight_decay, 0), c.decay_all);
}
#endif
