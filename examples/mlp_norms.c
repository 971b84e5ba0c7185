/* examples/mlp_norms.c - a network with two hidden layers learns digits without a norm, with BatchNorm and with LayerNorm, at two batch sizes.
 *
 * Shows: Figure 6 of the LayerNorm paper (Ba, Kiros, Hinton 2016), and a control that the figure lacks. In the figure BatchNorm also
 *        normalizes the logits and LayerNorm does not, so it compares two placements as well as two norms. The arm "BN hidden" has BatchNorm
 *        where LayerNorm is.
 * Run:   examples/mlp_norms                                    256 units, drawn digits
 *        examples/mlp_norms --paper --epochs 0.6 --small-epochs 0.2 --data data/mnist
 *                                                              784-1000-1000-10 on 55,000 images of MNIST, the size of the paper's
 * See:   "What to see" at the end, which is computed from the run. With He's initial weights and Adam the network without a norm is well
 *        conditioned, and on MNIST LayerNorm gains nothing over it. LayerNorm's lead in the figure comes from BatchNorm on the logits, and
 *        from the batches of 4. At batch 128, the training loss of BN hidden is lower than that of BN all; at batch 4, both fall far behind,
 *        and LayerNorm does not. (The paper divides the variance by N - 1 at batch 4, this program by N.)
 * Exit:  0, or 1 --check missed its target; 2 wrong flag, path or file; 3 out of memory or disk full; 130 interrupted.
 */
#include "examples/kit/kit.h"
#include "gradus.h"
#include <math.h>

static kit_options o = { .batch = 128, .epochs = 2, .lr = 1e-3, .seed = 42 };
static struct {
    uint64_t hidden, small_batch, cases;
    double small_epochs;
} own = { .hidden = 256, .small_batch = 4, .small_epochs = 0.3 };

static const char *paper[] = { "--hidden", "1000", "--cases", "55000", NULL };
static const kit_flag flag[] = {
    KIT_FLAG_DIGITS(o),
    { "paper", KIT_SHORT, paper, NULL, "the paper's size, short for", 0, 0 },
    { "hidden", KIT_COUNT, &own.hidden, "N", "units of each hidden layer", 1, 1 << 16 },
    { "cases", KIT_COUNT, &own.cases, "N", "train on the first N images; 0 means all", 0, 1e9 },
    KIT_FLAGS_TRAINING(o),
    { "small-batch", KIT_COUNT, &own.small_batch, "N", "train again with this batch size; 0 means do not", 0, 1 << 20 },
    { "small-epochs", KIT_NUMBER, &own.small_epochs, "X", "epochs of the run with the small batch", 1e-6, 1e6 },
    KIT_FLAGS_RUN(o, "exit 1 unless BatchNorm on the logits is behind in training loss at 128, and both BatchNorm arms at 4"),
};
static const kit_flags flags = { "mlp_norms", "an MLP on digits without a norm, with BatchNorm and with LayerNorm", flag,
                                 sizeof flag / sizeof *flag };

enum { NONE, BATCH_ALL, BATCH_HIDDEN, LAYER_HIDDEN, ARMS };
static const struct {
    const char *name;
    gr_norm_kind hidden, logits;
} arm_of[ARMS] = {
    { "none", GR_NORM_NONE, GR_NORM_NONE },
    { "BN all", GR_NORM_BATCH, GR_NORM_BATCH },
    { "BN hidden", GR_NORM_BATCH, GR_NORM_NONE },
    { "LN hidden", GR_NORM_LAYER, GR_NORM_NONE },
};

static void layer(kit_arm *arm, gr_module *net, const char *name, size_t in, size_t out, const char *norm_name, gr_norm_kind norm)
{
    gr_tape *const t = arm->tape;
    gr_linear_module *l = gr_linear_new(t, net, name, in, out, NULL);
    if (!l) return;
    gr_param_init(t, &l->module, "weight", gr_init_kaiming_normal(GR_GAIN_RELU, GR_FAN_IN));
    gr_param_init(t, &l->module, "bias", gr_init_constant(0));
    gr_norm_new(t, net, norm_name, norm, out, NULL);
}

static void build(kit_arm *arm)
{
    gr_tape *const t = arm->tape;
    gr_module *net = gr_sequential_new(t, arm->net, "mlp");
    layer(arm, net, "fc1", KIT_PIXELS, own.hidden, "norm1", arm_of[arm->kind].hidden);
    gr_activation_new(t, net, "relu1", "ReLU", gr_relu);
    layer(arm, net, "fc2", own.hidden, own.hidden, "norm2", arm_of[arm->kind].hidden);
    gr_activation_new(t, net, "relu2", "ReLU", gr_relu);
    layer(arm, net, "fc3", own.hidden, 10, "norm3", arm_of[arm->kind].logits);
    arm->model = net;
    arm->optim = gr_adam_new(t, arm->net, &(gr_adam_config){ .lr = o.lr });
}

static gr_tensor *loss(kit_arm *arm, const void *batch, kit_score *score)
{
    const kit_batch *const b = batch;
    gr_tensor *x = gr_input(arm->tape, b->pixels, GR_SHAPE(b->n, KIT_PIXELS));
    return kit_classify(arm->tape, gr_forward(arm->tape, arm->model, x), b->labels, score);
}

enum { LARGE, SMALL, BATCHES };
typedef struct {
    char title[32];
    kit_arms a; /* after compare its scores alone are valid */
} outcome;

/* Train the four arms with this batch size, and print their table. */
static void compare(kit_run *r, const kit_data *d, size_t batch, double epochs, bool first, outcome *got)
{
    kit_images images = kit_images_new(r->tape, d, batch);
    snprintf(got->title, sizeof got->title, "batch %zu", images.train.batch);
    kit_arms a = { .title = got->title, .source = kit_images_source(&images), .build = build, .loss = loss, .mark = { 90, 95, 97 } };
    for (int i = 0; i < ARMS; i++) kit_arms_add(&a, arm_of[i].name, i);
    a.steps = kit_steps(&o, epochs, a.source.train);
    if (first && !o.quiet) kit_arms_legend(&a);
    if (kit_arms_run(r, &a)) putchar('\n'), kit_arms_table(stdout, &a), fflush(stdout);
    got->a = a;
    kit_arms_free(&a), kit_images_free(&images);
}

/* What the norm of the logits, which the paper's figure has with BatchNorm alone, does to the training loss. */
static void conclude_logits(const kit_arms *a)
{
    const double all = kit_loss(&a->arm[BATCH_ALL].whole), hidden = kit_loss(&a->arm[BATCH_HIDDEN].whole);
    if (a->arm[BATCH_ALL].diverged || a->arm[BATCH_HIDDEN].diverged) return;
    kit_conclude_say("%s: BN all is BN hidden with one more BatchNorm, that of the logits, which changes the training loss by %+.0f %%.", a->title,
                     100 * (all / hidden - 1));
}

static void conclude(const outcome *got, size_t n)
{
    bool sees[BATCHES] = { false };
    kit_conclude();
    for (size_t k = 0; k < n; k++) {
        const kit_arms *const a = &got[k].a;
        sees[k] = kit_conclude_arms(a, log(10));
        if (!sees[k]) continue;
        kit_conclude_pair(a, LAYER_HIDDEN, NONE), kit_conclude_pair(a, LAYER_HIDDEN, BATCH_HIDDEN), kit_conclude_pair(a, BATCH_HIDDEN, BATCH_ALL);
        kit_conclude_training(a), conclude_logits(a);
    }
    if (sees[LARGE] && sees[SMALL]) kit_conclude_change(&got[LARGE].a, &got[SMALL].a);
    kit_conclude_seed(&o);
}

static void run(kit_run *r, const kit_data *d)
{
    outcome got[BATCHES];
    double large[ARMS], small[ARMS];
    compare(r, d, o.batch, o.epochs, true, &got[LARGE]);
    for (int i = 0; i < ARMS; i++) large[i] = kit_loss(&got[LARGE].a.arm[i].whole);
    kit_run_need(r, large[BATCH_HIDDEN] < large[BATCH_ALL],
                 "batch %llu: the training loss of BN hidden, %.4f, is not below that of BN all, %.4f", (unsigned long long)o.batch,
                 large[BATCH_HIDDEN], large[BATCH_ALL]);
    if (own.small_batch && !gr_failed(r->tape) && !kit_interrupted()) compare(r, d, own.small_batch, own.small_epochs, false, &got[SMALL]);
    if (gr_failed(r->tape) || kit_interrupted()) return;
    if (!o.quiet) conclude(got, own.small_batch ? BATCHES : 1);
    if (!own.small_batch) return;
    for (int i = 0; i < ARMS; i++) small[i] = kit_loss(&got[SMALL].a.arm[i].whole);
    for (int i = BATCH_ALL; i <= BATCH_HIDDEN; i++)
        kit_run_need(r, small[LAYER_HIDDEN] < 0.8 * small[i],
                     "batch %llu: the training loss of LN hidden, %.4f, is not below 0.8 of %s, %.4f", (unsigned long long)own.small_batch,
                     small[LAYER_HIDDEN], arm_of[i].name, small[i]);
}

int main(int argc, char **argv)
{
    kit_run r;
    char text[4400], data[4200];
    const int code = kit_run_start(&r, &flags, &o, argc, argv);
    if (code != KIT_GO_ON) return code;
    kit_data all = kit_data_open(r.tape, o.data), d = all; /* d is the part that is used */
    if (own.cases && own.cases < d.train.images.n) d.train.images.n = d.train.labels.n = own.cases;
    kit_images_have_two(r.tape, &d, own.cases ? "--batch and --cases" : "--batch", o.batch);
    if (own.small_batch) kit_images_have_two(r.tape, &d, own.cases ? "--small-batch and --cases" : "--small-batch", own.small_batch);
    snprintf(text, sizeof text,
             "%s\n784-%llu-%llu-10, ReLU, weights as He et al., biases 0, Adam, lr %g constant, pixels 0 to 1\nnorm before ReLU",
             kit_data_name(&d, data, sizeof data), (unsigned long long)own.hidden, (unsigned long long)own.hidden, o.lr);
    if (kit_run_begin(&r, text)) run(&r, &d);
    kit_data_free(r.tape, &all);
    return kit_run_end(&r);
}
