/* optim/rmsprop.c - RMSprop, plain, centered and with momentum.
 *
 *     g = dx + decay x
 *     v = alpha v + gain g^2                     gain = 1 - alpha
 *     a = a + gain (g - a)                       centered only; then v - a^2, or 0 if rounding makes it negative, stands for v below
 *     b = mu b + g / (sqrt(v) + eps)             without momentum: b = g / (sqrt(v) + eps), which is not kept
 *     x = x - lr b
 *
 * v, a and b below 2^-100 become 0, and so does the square of a g below 2^-58, as in optim/adam.c. An a below 2^-63 counts as 2^-63, so that v - a^2 is
 * no subnormal number where v is 0; the square is less than half a unit in the last place of any v that is not 0. */
#include "core/kernel.h"
#include "optim/internal.h"

/* momentum and centered are constants in each of the four calls below, so that each loop is vectorised. */
INLINE void rmsprop_range(gr_real *restrict x, const gr_real *restrict dx, gr_real *restrict v, gr_real *restrict b, gr_real *restrict a, size_t n,
                          gr_real decay, gr_real alpha, gr_real gain, gr_real eps, gr_real mu, gr_real lr, bool momentum, bool centered)
{
    for (size_t i = 0; i < n; i++) {
        const gr_real g = r_flush(r_fma(decay, x[i], dx[i])), h = r_abs(g) < R(0x1p-58) ? 0 : g, square = gain * h * h;
        gr_real var = v[i] = r_flush(r_fma(alpha, v[i], square));
        if (centered) {
            a[i] = r_flush(r_fma(gain, g - a[i], a[i]));
            const gr_real mean = r_max(R(0x1p-63), r_abs(a[i]));
            var = r_max(0, r_fma(-mean, mean, var));
        }
        gr_real move = g / (r_sqrt(var) + eps);
        if (momentum) b[i] = move = r_flush(r_fma(mu, b[i], move));
        x[i] = r_fma(-lr, move, x[i]);
    }
}

/* b is NULL without momentum, and a unless centered. */
KERNEL(void, rmsprop_step, gr_real *restrict x, const gr_real *restrict dx, gr_real *restrict v, gr_real *restrict b, gr_real *restrict a, size_t n,
       gr_real decay, gr_real alpha, gr_real gain, gr_real eps, gr_real mu, gr_real lr)
{
    if (b && a) rmsprop_range(x, dx, v, b, a, n, decay, alpha, gain, eps, mu, lr, true, true);
    else if (b) rmsprop_range(x, dx, v, b, a, n, decay, alpha, gain, eps, mu, lr, true, false);
    else if (a) rmsprop_range(x, dx, v, b, a, n, decay, alpha, gain, eps, mu, lr, false, true);
    else rmsprop_range(x, dx, v, b, a, n, decay, alpha, gain, eps, mu, lr, false, false);
}

#if GR_HOST
static void rmsprop_move(const gr_optim_part *p)
{
    const gr_rmsprop_config *const s = p->settings;
    rmsprop_step[gr_isa(p->t)](p->x, p->dx, p->state[0], p->state[1], p->state[2], p->n, (gr_real)p->weight_decay, (gr_real)s->alpha,
                               (gr_real)(1 - s->alpha), (gr_real)s->eps, (gr_real)s->momentum, (gr_real)p->lr);
}

static const gr_optim_rule rmsprop_rule[2][2] = { /* [centered][momentum] */
    { { "rmsprop", { "square_avg" }, rmsprop_move }, { "rmsprop with momentum", { "square_avg", "momentum_buffer" }, rmsprop_move } },
    { { "centered rmsprop", { "square_avg", NULL, "grad_avg" }, rmsprop_move },
      { "centered rmsprop with momentum", { "square_avg", "momentum_buffer", "grad_avg" }, rmsprop_move } } };

gr_optim *gr_rmsprop_new(gr_tape *t, gr_module *m, const gr_rmsprop_config *config)
{
    gr_rmsprop_config c = config ? *config : (gr_rmsprop_config){ 0 };
    c.alpha = gr__setting(c.alpha, 0.99), c.eps = gr__setting(c.eps, 1e-8);
    if (!(c.alpha >= 0 && c.alpha < 1)) return gr_fail(t, NULL, "rmsprop: alpha must be in [0, 1); got %g", c.alpha);
    if (!(c.eps >= 0 && c.momentum >= 0)) return gr_fail(t, NULL, "rmsprop: eps and momentum must be 0 or more; got %g and %g", c.eps, c.momentum);
    return gr_optim_new(t, m, &rmsprop_rule[c.centered][c.momentum > 0],
                        &(gr_optim_config){ c.lr == 0 ? 0.01 : c.lr, c.weight_decay, c.decay_all, c.refuse_nonfinite, { 0 }, &c, sizeof c });
}
#endif
