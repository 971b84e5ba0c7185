/* tests/own_rule.h - an optimizer rule written as a user writes it, with optim/optim.h alone: AMSGrad (Reddi, Kale, Kumar 2018) as in PyTorch's
 * Adam(amsgrad=True). It leaves out a state on purpose. */
#ifndef GR_OWN_RULE_H
#define GR_OWN_RULE_H
#include "gradus.h"
#include <math.h>

typedef struct { double beta1, beta2, eps; } amsgrad_settings;

static void amsgrad_move(const gr_optim_part *p)
{
    const amsgrad_settings *const s = p->settings;
    gr_real *const m = p->state[0], *const v = p->state[1], *const most = p->state[3];
    const double rate = p->lr / (1 - p->power[0]), root = sqrt(1 - p->power[1]);
    for (size_t i = 0; i < p->n; i++) {
        const double g = (double)p->dx[i] + p->weight_decay * (double)p->x[i];
        m[i] = (gr_real)(s->beta1 * (double)m[i] + (1 - s->beta1) * g);
        v[i] = (gr_real)(s->beta2 * (double)v[i] + (1 - s->beta2) * g * g);
        if (v[i] > most[i]) most[i] = v[i];
        p->x[i] = (gr_real)((double)p->x[i] - rate * (double)m[i] / (sqrt((double)most[i]) / root + s->eps));
    }
}

static const gr_optim_rule amsgrad_rule = { "amsgrad", { "exp_avg", "exp_avg_sq", NULL, "max_exp_avg_sq" }, amsgrad_move };

static inline gr_optim *amsgrad_new(gr_tape *t, gr_module *m, double lr)
{
    const amsgrad_settings s = { 0.9, 0.999, 1e-8 }; /* gr_optim_new copies it */
    return gr_optim_new(t, m, &amsgrad_rule, &(gr_optim_config){ .lr = lr, .beta = { s.beta1, s.beta2 }, .settings = &s, .settings_size = sizeof s });
}
#endif
