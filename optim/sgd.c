/* optim/sgd.c - stochastic gradient descent, with momentum.
 *
 *     g = dx + decay x
 *     b = mu b + gain g                  mu = momentum, gain = 1 - dampening; at the first step mu = 0, gain = 1
 *     x = x - lr (look g + ahead b)      momentum: look 0, ahead 1; Nesterov's: look 1, ahead momentum; none: sgd_plain    */
#include "core/kernel.h"
#include "optim/internal.h"

KERNEL(void, sgd_plain, gr_real *restrict x, const gr_real *restrict dx, size_t n, gr_real decay, gr_real lr)
{
    for (size_t i = 0; i < n; i++) x[i] -= lr * (dx[i] + decay * x[i]);
}

KERNEL(void, sgd_momentum, gr_real *restrict x, const gr_real *restrict dx, gr_real *restrict b, size_t n, gr_real decay, gr_real lr,
       gr_real mu, gr_real gain, gr_real look, gr_real ahead)
{
    for (size_t i = 0; i < n; i++) {
        const gr_real g = r_flush(dx[i] + decay * x[i]);
        b[i] = r_flush(mu * b[i] + gain * g);
        x[i] -= lr * (look * g + ahead * b[i]);
    }
}

#if GR_HOST
enum { SGD_DECAY, SGD_LR, SGD_MU, SGD_GAIN, SGD_LOOK, SGD_AHEAD };

static void sgd_constants(gr_optim *o, size_t entry, double lr)
{
    gr_real *const c = o->entry[entry].constants;
    const bool first = !o->step[entry]++;
    c[SGD_DECAY] = (gr_real)o->entry[entry].weight_decay;
    c[SGD_LR] = (gr_real)lr;
    c[SGD_MU] = first ? 0 : (gr_real)o->momentum;
    c[SGD_GAIN] = first ? 1 : (gr_real)(1 - o->dampening);
    c[SGD_LOOK] = o->nesterov;
    c[SGD_AHEAD] = o->nesterov ? (gr_real)o->momentum : 1;
}

static void sgd_run(int isa, gr_real *x, const gr_real *dx, gr_real *b, gr_real *unused, size_t n, const gr_real *c)
{
    (void)unused;
    if (!b) sgd_plain[isa](x, dx, n, c[SGD_DECAY], c[SGD_LR]);
    else sgd_momentum[isa](x, dx, b, n, c[SGD_DECAY], c[SGD_LR], c[SGD_MU], c[SGD_GAIN], c[SGD_LOOK], c[SGD_AHEAD]);
}

static const optim_rule sgd_plain_rule = { "sgd", { NULL, NULL }, sgd_constants, sgd_run };
static const optim_rule sgd_momentum_rule = { "sgd with momentum", { "momentum_buffer", NULL }, sgd_constants, sgd_run };

gr_optim *gr_sgd_new(gr_tape *t, gr_module *m, const gr_sgd_config *config)
{
    const gr_sgd_config c = config ? *config : (gr_sgd_config){ 0 };
    if (!gr_failed(t) && !(c.momentum >= 0)) return gr_fail(t, NULL, "sgd: momentum must be 0 or more; got %g", c.momentum);
    if (!gr_failed(t) && c.nesterov && !(c.momentum > 0 && c.dampening == 0))
        return gr_fail(t, NULL, "sgd: nesterov needs a momentum and no dampening; got %g and %g", c.momentum, c.dampening);
    gr_optim *o = gr__optim_new(t, m, c.momentum > 0 ? &sgd_momentum_rule : &sgd_plain_rule);
    if (!o) return NULL;
    o->momentum = c.momentum, o->dampening = c.dampening, o->nesterov = c.nesterov, o->refuse_nonfinite = c.refuse_nonfinite;
    return gr__optim_ready(t, o, c.lr, c.weight_decay, c.decay_all);
}
#endif
