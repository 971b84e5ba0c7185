/* examples/own_optimizer.c - an optimizer of your own: Lion (Chen et al. 2023), beside Adam.
 *
 * A rule of 12 lines says how numbers move, given their gradients. Everything else comes from gr_optim_new: a one-cycle schedule, exemption of the
 * biases from weight decay, a parameter group, printing, and checkpoints with the rule's state.
 * Shows: gr_optim_rule, settings of a rule, gr_optim_new, gr_schedule_one_cycle, gr_optim_set_group.
 * Run:   examples/own_optimizer              (at once)
 *        examples/own_optimizer --lr 0.1     a rate that is too high: every step of Lion has this length
 * See:   both learn sin(3 a) b from random points with a mean square error below 0.001. Lion's learning rate is a tenth of Adam's, as its paper advises.
 * Exit:  0, or 1 --check missed its target; 2 a bad flag or path; 3 out of memory or disk full; 130 interrupted. */
#include "examples/kit/kit.h"
#include "gradus.h"

enum { B = 64, H = 64 }; /* points in a batch, hidden units */

static kit_options o = { .steps = 1500, .lr = 5e-3, .seed = 42 };
static const kit_flag flag[] = {
    { "steps", KIT_COUNT, &o.steps, "N", "training steps", 1, 1e6 },
    { "lr", KIT_NUMBER, &o.lr, "X", "the highest learning rate of Lion; Adam's is ten times as high", 1e-12, 1e6 },
    KIT_FLAGS_RUN(o, "exit 1 unless both optimizers learn the function"),
};
static const kit_flags flags = { "own_optimizer", "an optimizer of your own: Lion, beside Adam", flag, sizeof flag / sizeof *flag };

/* ==== The rule: c = beta1 m + (1 - beta1) dx,   x = (1 - lr decay) x - lr sign(c),   m = beta2 m + (1 - beta2) dx ==== */

typedef struct { gr_real beta1, beta2; } lion_settings;

static void lion_move(const gr_optim_part *p)
{
    const lion_settings *s = p->settings;
    const gr_real lr = (gr_real)p->lr, keep = (gr_real)(1 - p->lr * p->weight_decay);
    gr_real *m = p->state[0];
    for (size_t i = 0; i < p->n; i++) {
        const gr_real c = s->beta1 * m[i] + (1 - s->beta1) * p->dx[i];
        p->x[i] = keep * p->x[i] - lr * (gr_real)((c > 0) - (c < 0));
        m[i] = s->beta2 * m[i] + (1 - s->beta2) * p->dx[i];
    }
}
static const gr_optim_rule lion = { "lion", { "exp_avg" }, lion_move };

static gr_optim *lion_new(gr_tape *t, gr_module *net)
{
    const lion_settings s = { (gr_real)0.9, (gr_real)0.99 };
    return gr_optim_new(t, net, &lion, &(gr_optim_config){ .lr = o.lr, .weight_decay = 0.01, .settings = &s, .settings_size = sizeof s });
}
static gr_optim *adam_new(gr_tape *t, gr_module *net) { return gr_adam_new(t, net, &(gr_adam_config){ .lr = 10 * o.lr }); }

/* ==== Training ==== */

typedef struct {
    gr_tape *tape;
    gr_module *net;
    gr_linear_module *fc1, *fc2;
    gr_optim *optim;
} model;

static gr_tensor *loss_of(const model *m, size_t points, const char *stream)
{
    gr_tape *const t = m->tape;
    gr_tensor *const x = gr_rand(t, GR_SHAPE(points, 2), -1, 1, stream), *const a = gr_narrow(t, x, 1, 0, 1), *const b = gr_narrow(t, x, 1, 1, 1);
    gr_tensor *const y = gr_mul(t, gr_sin(t, gr_scale(t, a, 3)), b);
    return gr_mse(t, gr_linear_forward(t, m->fc2, gr_tanh(t, gr_linear_forward(t, m->fc1, x))), y, GR_REDUCE_MEAN);
}

/* Train a network with this optimizer: its loss on points that it was not trained on. Its tape is its own, so that both see the same points. */
static double train(kit_run *r, const char *name, gr_optim *(*make)(gr_tape *t, gr_module *net))
{
    gr_tape *const t = gr_tape_new(o.seed, (&(gr_tape_config){ .pool = r->pool }));
    model m = { .tape = t, .net = gr_module_new(t) };
    m.fc1 = gr_linear_new(t, m.net, "fc1", 2, H, NULL), m.fc2 = gr_linear_new(t, m.net, "fc2", H, 1, NULL);
    m.optim = make(t, m.net);
    gr_optim_schedule(t, m.optim, gr_schedule_one_cycle(o.steps, 0.3, 25, 1e4));
    if (m.fc2) gr_optim_set_group(t, m.optim, &m.fc2->module, (gr_optim_group){ .lr_scale = 0.5 });
    if (!o.quiet) gr_print_optim(m.optim, stdout);
    for (size_t step = 0; step < o.steps && !gr_failed(t) && !kit_interrupted(); step++) {
        gr_tape_reset(t), gr_optim_zero_grad(m.optim);
        gr_backward(t, loss_of(&m, B, "train")), gr_optim_step(t, m.optim);
    }
    gr_tape_reset(t), gr_tape_set_recording(t, false);
    const double loss = gr_item(loss_of(&m, 4096, "test"));
    if (!gr_failed(t)) printf("%s: mean square error %.6f after %zu steps\n", name, loss, gr_optim_steps(m.optim));
    kit_log_write(r->tape, &r->log, "result", { "optimizer", .text = name }, { "loss", loss });
    kit_run_fail(r, name, t);
    gr_optim_free(m.optim), gr_module_free(m.net), gr_tape_free(t);
    return loss;
}

int main(int argc, char **argv)
{
    kit_run r;
    const int code = kit_run_start(&r, &flags, &o, argc, argv);
    if (code != KIT_GO_ON) return code;
    if (kit_run_begin(&r, "random points")) {
        const double own = train(&r, "lion", lion_new), adam = train(&r, "adam", adam_new);
        kit_run_need(&r, own < 2e-3 && adam < 2e-3, "the errors are %g with Lion and %g with Adam, not both below 0.002", own, adam);
    }
    return kit_run_end(&r);
}
