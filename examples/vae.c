/* examples/vae.c - a variational autoencoder: a digit becomes a few noisy numbers, and noise becomes new digits.     Kingma, Welling 2014
 *     encoder   mu, logvar = the two halves of E(x),   z = mu + exp(logvar / 2) e  with normal noise e
 *     decoder   logits of the pixels = D(z)
 *     loss      -log p(x | z) + KL,   KL = 1/2 sum of (mu^2 + exp(logvar) - 1 - logvar), the distance from N(mu, exp(logvar)) to N(0, 1)
 * Shows: a loss of two terms, noise from a named stream, gradients that pass the noise, generation without recording.
 * Run:   examples/vae                 (ten seconds; at the end it draws digits from noise)
 * See:   the loss in nats for each image falls; the digits from noise look like digits.
 * Exit:  0, or 1 --check missed its target; 2 wrong flag, path or file; 3 out of memory or disk full; 130 interrupted. */
#include "examples/kit/kit.h"
#include "gradus.h"
#include <math.h>

enum { DRAWN = 4 };
static kit_options o = { .batch = 100, .epochs = 15, .lr = 1e-3, .seed = 42 };
static struct { uint64_t hidden, latent; } own = { 200, 16 };
static const kit_flag flag[] = {
    { "hidden", KIT_COUNT, &own.hidden, "N", "units of the hidden layers", 1, 1 << 14 },
    { "latent", KIT_COUNT, &own.latent, "N", "numbers that describe a digit", 1, 1 << 10 },
    KIT_FLAG_DIGITS(o), KIT_FLAGS_TRAINING(o),
    KIT_FLAGS_RUN(o, "exit 1 unless the test loss ends between 0 and 0.3 of what it was before training"),
};
static const kit_flags flags = { "vae", "a variational autoencoder of digits", flag, sizeof flag / sizeof *flag };

typedef struct { gr_module *encoder, *decoder; gr_optim *adam; } model;

static gr_module *network(gr_tape *t, gr_module *root, const char *name, size_t in, size_t out)
{
    gr_module *net = gr_sequential_new(t, root, name);
    gr_linear_new(t, net, NULL, in, own.hidden, NULL);
    gr_layer_norm_new(t, net, NULL, GR_SHAPE(own.hidden), NULL);
    gr_activation_new(t, net, NULL, "ReLU", gr_relu);
    gr_linear_new(t, net, NULL, own.hidden, out, NULL);
    return net;
}

/* The mean loss of the images of a batch. */
static gr_tensor *loss_of(gr_tape *t, const model *m, const kit_batch *b)
{
    const size_t n = own.latent;
    gr_tensor *x = gr_input(t, b->pixels, GR_SHAPE(b->n, KIT_PIXELS)), *code = gr_forward(t, m->encoder, x);
    gr_tensor *mu = gr_narrow(t, code, 1, 0, n), *logvar = gr_narrow(t, code, 1, (ptrdiff_t)n, n);
    gr_tensor *noise = gr_randn(t, GR_SHAPE(b->n, n), 0, 1, "noise");
    gr_tensor *z = gr_add(t, mu, gr_mul(t, gr_exp(t, gr_scale(t, logvar, 0.5)), noise));
    gr_tensor *pixels = gr_bce_with_logits(t, gr_forward(t, m->decoder, z), x, NULL, GR_REDUCE_SUM);
    gr_tensor *kl = gr_sub(t, gr_add(t, gr_square(t, mu), gr_exp(t, logvar)), gr_add_scalar(t, logvar, 1));
    gr_tensor *sum = gr_add(t, pixels, gr_scale(t, gr_sum(t, kl, GR_AXES(0, 1), false), 0.5));
    return gr_div(t, sum, gr_scalar(t, (double)b->n));
}

/* The mean loss over a set. */
static double evaluate(gr_tape *t, const model *m, const kit_set *set)
{
    double sum = 0;
    kit_batches walk = kit_batches_new(t, set, o.batch, false);
    gr_tape_set_recording(t, false);
    for (size_t k = 0; k < walk.per_epoch && !gr_failed(t); k++) {
        gr_tape_reset(t);
        const kit_batch b = kit_next(&walk);
        sum += gr_item(loss_of(t, m, &b)) * (double)b.n;
    }
    gr_tape_set_recording(t, true);
    kit_batches_free(t, &walk);
    return sum / (double)set->images.n;
}

static void train(kit_run *r, const model *m, const kit_data *d)
{
    gr_tape *const t = r->tape;
    kit_batches walk = kit_batches_new(t, &d->train, o.batch, true);
    const size_t steps = kit_steps(&o, o.epochs, walk.per_epoch), every = o.eval_every ? o.eval_every : (steps + 4) / 5;
    const double before = evaluate(t, m, &d->test);
    double loss = 0, tested = before;
    kit_progress progress = kit_progress_new(o.quiet ? NULL : stderr, 1, steps);
    for (size_t step = 1; step <= steps && !kit_interrupted() && !gr_failed(t); step++) {
        gr_tape_reset(t);
        const kit_batch b = kit_next(&walk);
        gr_tensor *y = loss_of(t, m, &b);
        gr_optim_zero_grad(m->adam), gr_backward(t, y), gr_optim_step(t, m->adam);
        loss = gr_item(y);
        kit_log_write(t, &r->log, "step", { "step", (double)step }, { "loss", loss });
        kit_progress_show(&progress, b.n, "training");
        if (step % every && step < steps) continue;
        tested = evaluate(t, m, &d->test), kit_progress_wipe(&progress);
        if (!gr_failed(t) && (!o.quiet || step == steps)) printf("step %5zu  loss %.1f  test loss %.1f\n", step, loss, tested);
        kit_check_stdout(t), kit_progress_go_on(&progress);
    }
    kit_run_need(r, tested > 0 && tested < 0.3 * before, "the test loss is %.1f, and not between 0 and 0.3 of %.1f", tested, before);
    kit_batches_free(t, &walk);
}

/* Draw digits side by side, from noise alone. A character is as high as two pixels; fmax takes the 0 if the network computes NaN. */
static void draw(gr_tape *t, const model *m)
{
    gr_tape_reset(t), gr_tape_set_recording(t, false);
    const gr_tensor *const y = gr_sigmoid(t, gr_forward(t, m->decoder, gr_randn(t, GR_SHAPE(DRAWN, own.latent), 0, 1, "drawn")));
    for (size_t row = 0; y && row < KIT_SIDE; row += 2, putchar('\n'))
        for (size_t k = 0; k < DRAWN * KIT_SIDE; k++)
            putchar(" .:+#"[(int)(4.99 * fmax((double)y->data[k / KIT_SIDE * KIT_PIXELS + row * KIT_SIDE + k % KIT_SIDE], 0))]);
}

int main(int argc, char **argv)
{
    kit_run r;
    char name[4200];
    const int code = kit_run_start(&r, &flags, &o, argc, argv);
    if (code != KIT_GO_ON) return code;
    kit_data d = kit_data_open(r.tape, o.data);
    if (kit_run_begin(&r, kit_data_name(&d, name, sizeof name))) {
        gr_module *net = gr_module_new(r.tape);
        model m = { network(r.tape, net, "encoder", KIT_PIXELS, 2 * own.latent), network(r.tape, net, "decoder", own.latent, KIT_PIXELS), NULL };
        m.adam = gr_adam_new(r.tape, net, &(gr_adam_config){ .lr = o.lr });
        train(&r, &m, &d);
        if (!o.quiet && !kit_interrupted()) draw(r.tape, &m);
        gr_optim_free(m.adam), gr_module_free(net);
    }
    kit_data_free(r.tape, &d);
    return kit_run_end(&r);
}
