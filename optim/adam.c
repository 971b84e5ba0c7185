/* optim/adam.c - Adam and AdamW.
 *
 *     g = dx + decay x                             Adam's weight decay; AdamW's is keep = 1 - lr weight_decay
 *     m = m + gain1 (g - m)                        gain = 1 - beta
 *     v = beta2 v + gain2 g^2
 *     x = keep x - rate m / (sqrt(v) root + eps)   rate = lr / (1 - beta1^k), root = 1 / sqrt(1 - beta2^k)
 *
 * beta^k is a running product in double. m and v below 2^-100 become 0. The square of a g below 2^-58 becomes 0, because it could be subnormal,
 * and it is less than half a unit in the last place of any v that is not 0. */
#include "core/kernel.h"
#include "optim/internal.h"

/* The constants of a step. */
enum { ADAM_DECAY, ADAM_KEEP, ADAM_GAIN1, ADAM_BETA2, ADAM_GAIN2, ADAM_RATE, ADAM_ROOT, ADAM_EPS };

KERNEL(void, adam_step, gr_real *restrict x, const gr_real *restrict dx, gr_real *restrict m, gr_real *restrict v, size_t n,
       const gr_real *c)
{
    const gr_real decay = c[ADAM_DECAY], keep = c[ADAM_KEEP], gain1 = c[ADAM_GAIN1], beta2 = c[ADAM_BETA2], gain2 = c[ADAM_GAIN2];
    const gr_real rate = c[ADAM_RATE], root = c[ADAM_ROOT], eps = c[ADAM_EPS];
    for (size_t i = 0; i < n; i++) {
        const gr_real g = r_flush(dx[i] + decay * x[i]), square = r_abs(g) < R(0x1p-58) ? 0 : gain2 * g * g;
        m[i] = r_flush(m[i] + gain1 * (g - m[i]));
        v[i] = r_flush(beta2 * v[i] + square);
        x[i] = keep * x[i] - rate * m[i] / (r_sqrt(v[i]) * root + eps);
    }
}

#if GR_HOST
static void adam_constants(gr_optim *o, size_t entry, double lr)
{
    double *const power = o->power + 2 * entry;
    if (!o->step[entry]++) power[0] = power[1] = 1;
    power[0] *= o->beta1, power[1] *= o->beta2;
    const double weight_decay = o->entry[entry].weight_decay;
    const bool decoupled = o->rule->decoupled;
    const double c[OPTIM_CONSTANTS] = {
        [ADAM_DECAY] = decoupled ? 0 : weight_decay,
        [ADAM_KEEP] = decoupled ? 1 - lr * weight_decay : 1,
        [ADAM_GAIN1] = 1 - o->beta1,
        [ADAM_BETA2] = o->beta2,
        [ADAM_GAIN2] = 1 - o->beta2,
        [ADAM_RATE] = lr / (1 - power[0]),
        [ADAM_ROOT] = 1 / __builtin_sqrt(1 - power[1]),
        [ADAM_EPS] = o->eps,
    };
    for (int i = 0; i < OPTIM_CONSTANTS; i++) o->entry[entry].constants[i] = (gr_real)c[i];
}

static const optim_rule adam_rule = { "adam", { "exp_avg", "exp_avg_sq" }, adam_constants, adam_step, false };
static const optim_rule adamw_rule = { "adamw", { "exp_avg", "exp_avg_sq" }, adam_constants, adam_step, true };

static gr_optim *adam_new(gr_tape *t, gr_module *m, const gr_adam_config *config, const optim_rule *rule, double default_decay)
{
    const gr_adam_config c = config ? *config : (gr_adam_config){ 0 };
    const double beta1 = gr__setting(c.beta1, 0.9), beta2 = gr__setting(c.beta2, 0.999), eps = gr__setting(c.eps, 1e-8);
    if (!(beta1 >= 0 && beta1 < 1 && beta2 >= 0 && beta2 < 1))
        return gr_fail(t, NULL, "%s: beta1 and beta2 must be in [0, 1); got %g and %g", rule->name, beta1, beta2);
    if (!(eps >= 0)) return gr_fail(t, NULL, "%s: eps must be 0 or more; got %g", rule->name, eps);
    gr_optim *o = gr__optim_new(t, m, rule);
    if (!o) return NULL;
    o->beta1 = beta1, o->beta2 = beta2, o->eps = eps, o->refuse_nonfinite = c.refuse_nonfinite;
    return gr__optim_ready(t, o, c.lr, gr__setting(c.weight_decay, default_decay), c.decay_all);
}
gr_optim *gr_adam_new(gr_tape *t, gr_module *m, const gr_adam_config *config) { return adam_new(t, m, config, &adam_rule, 0); }
gr_optim *gr_adamw_new(gr_tape *t, gr_module *m, const gr_adam_config *config) { return adam_new(t, m, config, &adamw_rule, 0.01); }
#endif
