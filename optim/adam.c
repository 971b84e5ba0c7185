/* optim/adam.c - Adam and AdamW.     Kingma, Ba 2015; Loshchilov, Hutter 2019. Derivation: optim/adam.md
 *
 *     g = dx + decay x                             Adam's weight decay; AdamW's is keep = 1 - lr weight_decay
 *     m = m + gain1 (g - m)                        gain = 1 - beta
 *     v = beta2 v + gain2 g^2
 *     x = keep x - rate m / (sqrt(v) root + eps)   rate = lr / (1 - beta1^k), root = 1 / sqrt(1 - beta2^k)
 *
 * beta^k is a running product in double. m and v below 2^-100 become 0. A g below 2^-58 has the square 0, less than half a unit in the last place of
 * any v that is not 0: it could be subnormal. g becomes 0, not the square: vectors without masks compute both, 9.0 ms for 2.8 in an MLP's late steps. */
#include "core/kernel.h"
#include "optim/internal.h"

KERNEL(void, adam_step, gr_real *restrict x, const gr_real *restrict dx, gr_real *restrict m, gr_real *restrict v, size_t n, gr_real decay, gr_real keep,
       gr_real gain1, gr_real beta2, gr_real gain2, gr_real rate, gr_real root, gr_real eps)
{
    for (size_t i = 0; i < n; i++) {
        const gr_real g = r_flush(r_fma(decay, x[i], dx[i])), h = r_abs(g) < R(0x1p-58) ? 0 : g, square = gain2 * h * h;
        m[i] = r_flush(r_fma(gain1, g - m[i], m[i]));
        v[i] = r_flush(r_fma(beta2, v[i], square));
        x[i] = r_fma(keep, x[i], -rate * m[i] / r_fma(r_sqrt(v[i]), root, eps));
    }
}

#if GR_HOST
typedef struct { double beta1, beta2, eps; bool decoupled; } adam_settings; /* decoupled: AdamW, whose weight decay acts on x, not on the gradient */

static void adam_move(const gr_optim_part *p)
{
    const adam_settings *const s = p->settings;
    const double decay = s->decoupled ? 0 : p->weight_decay, keep = s->decoupled ? 1 - p->lr * p->weight_decay : 1;
    const double rate = p->lr / (1 - p->power[0]), root = 1 / __builtin_sqrt(1 - p->power[1]);
    adam_step[gr_isa(p->t)](p->x, p->dx, p->state[0], p->state[1], p->n, (gr_real)decay, (gr_real)keep, (gr_real)(1 - s->beta1), (gr_real)s->beta2,
                            (gr_real)(1 - s->beta2), (gr_real)rate, (gr_real)root, (gr_real)s->eps);
}

static const gr_optim_rule adam_rule = { "adam", { "exp_avg", "exp_avg_sq" }, adam_move };
static const gr_optim_rule adamw_rule = { "adamw", { "exp_avg", "exp_avg_sq" }, adam_move };

static gr_optim *adam_new(gr_tape *t, gr_module *m, const gr_adam_config *config, const gr_optim_rule *rule, double default_decay)
{
    const gr_adam_config c = config ? *config : (gr_adam_config){ 0 };
    const adam_settings s = { gr__setting(c.beta1, 0.9), gr__setting(c.beta2, 0.999), gr__setting(c.eps, 1e-8), rule == &adamw_rule };
    if (!(s.eps >= 0)) return gr_fail(t, NULL, "%s: eps must be 0 or more; got %g", rule->name, s.eps);
    return gr_optim_new(t, m, rule, &(gr_optim_config){ c.lr, c.weight_decay == 0 ? default_decay : c.weight_decay, c.decay_all, c.refuse_nonfinite,
                                                        { s.beta1, s.beta2 }, &s, sizeof s });
}
gr_optim *gr_adam_new(gr_tape *t, gr_module *m, const gr_adam_config *config) { return adam_new(t, m, config, &adam_rule, 0); }
gr_optim *gr_adamw_new(gr_tape *t, gr_module *m, const gr_adam_config *config) { return adam_new(t, m, config, &adamw_rule, 0.01); }
#endif
