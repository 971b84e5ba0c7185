/* examples/cnn_norms.c - a convolutional network learns digits without a norm, with BatchNorm, LayerNorm and GroupNorm, at batches of 2 to 128.
 *
 * Shows: what each norm gains at a large batch, and what BatchNorm loses at a small one (Wu and He 2018). With 2 images the batch statistics
 *        of the last hidden layer come from 2 values, so the network in training differs from the network in the test (the gap).
 * Run:   examples/cnn_norms                                          drawn digits, batches of 2, 16 and 128
 *        examples/cnn_norms --data data/mnist --smallest 128 --epochs 5        MNIST, above 99 % with BatchNorm
 * See:   a table for each batch size, one of all, and what these numbers show. A smaller batch takes more steps over fewer images: sqrt(128 / batch)
 *        times the steps.
 * Exit:  0, or 1 --check missed its target; 2 wrong flag, path or file; 3 out of memory or disk full; 130 interrupted.
 */
#include "examples/kit/kit.h"
#include "gradus.h"
#include <math.h>

static kit_options o = { .batch = 128, .epochs = 1, .lr = 1e-3, .seed = 42 };
static struct { uint64_t smallest, factor; bool residual; } own = { .smallest = 2, .factor = 8 };

static const kit_flag flag[] = {
    KIT_FLAG_DIGITS(o),
    KIT_FLAGS_TRAINING(o),
    { "smallest", KIT_COUNT, &own.smallest, "N", "smallest batch; --batch is the largest", 2, 1 << 20 },
    { "factor", KIT_COUNT, &own.factor, "N", "factor between one batch size and the next", 2, 1 << 20 },
    { "residual", KIT_SWITCH, &own.residual, NULL, "a third convolution, x + f(x), before fc1", 0, 0 },
    KIT_FLAGS_RUN(o, "exit 1 unless BatchNorm beats no norm at the largest batch and falls behind GroupNorm at the smallest"),
};
static const kit_flags flags = { "cnn_norms", "norms in a convolutional network at small and large batches", flag, sizeof flag / sizeof *flag };

enum { NONE, BATCH, LAYER, GROUP, ARMS, SIZES = 20 }; /* SIZES: from 2 to 2^20 by a factor of 2 */
static const struct { const char *name; gr_norm_kind norm; } arm_of[ARMS] = {
    { "none", GR_NORM_NONE }, { "BN", GR_NORM_BATCH }, { "LN", GR_NORM_LAYER }, { "GN", GR_NORM_GROUP },
};

/* x + ReLU(norm(conv(x))) on [B, 32, 7, 7]: the modules made under a residual are its f. */
static void residual(gr_tape *t, gr_module *net, gr_norm_kind norm)
{
    gr_module *block = gr_residual_new(t, net, "block");
    gr_conv2d_new(t, block, "conv", 32, 32, 3, &(gr_conv_config){ .padding = 1 });
    gr_norm_new(t, block, "norm", norm, 32, &(gr_norm_config){ .axis = 1, .groups = 4 });
    gr_activation_new(t, block, "relu", "ReLU", gr_relu);
}

/* conv1 (16) - pool - conv2 (32) - pool - fc1 (128) - fc2, with a norm before each ReLU. */
static void build(kit_arm *arm)
{
    gr_tape *const t = arm->tape;
    const gr_norm_kind norm = arm_of[arm->kind].norm;
    gr_module *net = gr_sequential_new(t, arm->net, "cnn");
    for (int k = 0; k < 2; k++) {
        const size_t out = k ? 32 : 16;
        gr_conv2d_new(t, net, k ? "conv2" : "conv1", k ? 16 : 1, out, 3, &(gr_conv_config){ .padding = 1 });
        gr_norm_new(t, net, k ? "norm2" : "norm1", norm, out, &(gr_norm_config){ .axis = 1, .groups = 4 });
        gr_activation_new(t, net, k ? "relu2" : "relu1", "ReLU", gr_relu);
        gr_max_pool2d_new(t, net, k ? "pool2" : "pool1", &(gr_pool_config){ .kernel = 2 });
    }
    if (own.residual) residual(t, net, norm);
    gr_flatten_new(t, net, "flatten");
    gr_linear_new(t, net, "fc1", 32 * 7 * 7, 128, NULL);
    gr_norm_new(t, net, "norm3", norm, 128, &(gr_norm_config){ .groups = 4 });
    gr_activation_new(t, net, "relu3", "ReLU", gr_relu);
    gr_linear_new(t, net, "fc2", 128, 10, NULL);
    arm->model = net;
    arm->optim = gr_adam_new(t, arm->net, &(gr_adam_config){ .lr = o.lr });
    gr_optim_schedule(t, arm->optim, gr_schedule_cosine(((const kit_arms *)arm->user)->steps, 0));
}

static gr_tensor *loss(kit_arm *arm, const void *batch, kit_score *score)
{
    const kit_batch *const b = batch;
    gr_tensor *x = gr_input(arm->tape, b->pixels, GR_SHAPE(b->n, 1, KIT_SIDE, KIT_SIDE));
    return kit_classify(arm->tape, gr_forward(arm->tape, arm->model, x), b->labels, score);
}

/* Results of a batch size for each arm: test accuracy in percent, test loss, and training loss since the last evaluation but one. Of a only
 * the scores are valid. */
typedef struct { size_t batch; char title[32]; double accuracy[ARMS], tested[ARMS], trained[ARMS]; kit_arms a; } outcome;

static bool compare(kit_run *r, const kit_data *d, size_t batch, bool first, outcome *result)
{
    kit_images images = kit_images_new(r->tape, d, batch);
    snprintf(result->title, sizeof result->title, "batch %zu", batch);
    kit_arms a = { .title = result->title, .source = kit_images_source(&images), .build = build, .loss = loss, .user = &a, .mark = { 90, 95, 97 } };
    for (int i = 0; i < ARMS; i++) kit_arms_add(&a, arm_of[i].name, i);
    a.steps = kit_steps(&o, o.epochs * sqrt((double)batch / (double)o.batch), a.source.train);
    if (!o.eval_every) a.every = (a.steps + 4) / 5;
    if (first && !o.quiet) kit_arms_legend(&a);
    const bool done = kit_arms_run(r, &a);
    if (done) putchar('\n'), kit_arms_table(stdout, &a), fflush(stdout);
    result->batch = batch, result->a = a;
    for (int i = 0; i < ARMS; i++) {
        result->accuracy[i] = kit_accuracy(&a.arm[i].tested);
        result->tested[i] = kit_loss(&a.arm[i].tested), result->trained[i] = kit_loss(&a.arm[i].recent);
    }
    kit_arms_free(&a), kit_images_free(&images);
    return done && !kit_interrupted();
}

static void print_all(const outcome *result, size_t n)
{
    printf("\n%-8s", "batch");
    for (int i = 0; i < ARMS; i++) printf("  %20s", arm_of[i].name);
    for (size_t k = 0; k < n; k++) {
        printf("\n%-8zu", result[k].batch);
        for (int i = 0; i < ARMS; i++) printf("  %8.2f %%  %+8.4f", result[k].accuracy[i], result[k].tested[i] - result[k].trained[i]);
    }
    printf("\ntest accuracy, and the gap: test loss minus the training loss since the evaluation before\n");
}

/* The gap of BN is explained when no other arm has one: while the losses still fall, all arms have one. */
static void conclude_gap(const outcome *result)
{
    const double least = 0.1;
    bool only_bn = true;
    kit_conclude_gap(&result->a, least);
    for (size_t i = 0; i < ARMS; i++)
        only_bn = only_bn && !result->a.arm[i].diverged && (fabs(result->tested[i] - result->trained[i]) >= least) == (i == BATCH);
    if (only_bn)
        kit_conclude_say("%s: in training BN normalizes with the statistics of %zu images, which vary from batch to batch; in the test it uses running "
                         "statistics. So its two losses are those of different networks.", result->title, result->batch);
}

/* Explain what the audit finds with BatchNorm in a batch of 2, where a gradient that is 0 by the formula is 0 in all bits. */
static void conclude_bias(const outcome *result)
{
    kit_conclude_say("%s: the list on stderr that begins with \"BN:\" has a gradient that is 0 in all values. For the bias of a layer before BatchNorm this is "
                     "right: the norm subtracts the mean, and the bias with it, so the bias changes nothing. Other biases "
                     "before a BatchNorm have gradients of rounding errors alone. A layer before BatchNorm needs no bias.", result->title);
}

static void conclude(const outcome *result, size_t n)
{
    bool all = n > 1;
    kit_conclude();
    for (size_t k = n; k-- > 0;) {
        const kit_arms *const a = &result[k].a;
        if (kit_conclude_arms(a, log(10))) {
            kit_conclude_pair(a, BATCH, NONE), kit_conclude_pair(a, BATCH, GROUP), kit_conclude_pair(a, BATCH, LAYER);
            conclude_gap(&result[k]);
        } else all = false;
        if (a->arm[BATCH].idle) conclude_bias(&result[k]);
    }
    if (all) kit_conclude_change(&result[n - 1].a, &result[0].a);
    kit_conclude_seed(&o);
}

/* Write the batch sizes into size, and return how many they are. */
static size_t sizes(size_t size[SIZES])
{
    size_t n = 0;
    for (size_t batch = own.smallest; batch < o.batch; batch *= own.factor) size[n++] = batch;
    size[n++] = o.batch;
    return n;
}

static void run(kit_run *r, const kit_data *d)
{
    outcome all[SIZES];
    size_t size[SIZES];
    const size_t n = sizes(size);
    for (size_t k = 0; k < n; k++)
        if (!compare(r, d, size[k], k == 0, &all[k])) return;
    print_all(all, n);
    if (!o.quiet) conclude(all, n);
    const outcome *const large = &all[n - 1], *const small = &all[0];
    kit_run_need(r, large->tested[BATCH] < large->tested[NONE], "batch %zu: the test loss of BN, %.4f, is not below that of no norm, %.4f",
                 large->batch, large->tested[BATCH], large->tested[NONE]);
    kit_run_need(r, large->batch == small->batch || small->tested[BATCH] > 1.5 * small->tested[GROUP],
                 "batch %zu: the test loss of BN, %.4f, is not above 1.5 times that of GN, %.4f", small->batch, small->tested[BATCH],
                 small->tested[GROUP]);
}

int main(int argc, char **argv)
{
    kit_run r;
    char text[4400], name[4200];
    const int code = kit_run_start(&r, &flags, &o, argc, argv);
    if (code != KIT_GO_ON) return code;
    if (own.smallest > o.batch)
        gr_fail_as(r.tape, GR_MISUSE, "", "--smallest is at most --batch, the largest batch; got %llu and %llu", (unsigned long long)own.smallest,
                   (unsigned long long)o.batch);
    kit_data d = kit_data_open(r.tape, o.data);
    if (!gr_failed(r.tape) && o.batch > d.train.images.n) o.batch = d.train.images.n;
    size_t size[SIZES];
    const size_t n = sizes(size);
    for (size_t k = 0; k < n; k++) kit_images_have_two(r.tape, &d, k + 1 < n ? "--smallest and --factor" : "--batch", size[k]);
    snprintf(text, sizeof text, "%s\nconv16-pool-conv32-pool-fc128-fc10, norm before ReLU, Adam, lr %g, cosine, pixels 0 to 1",
             kit_data_name(&d, name, sizeof name), o.lr);
    if (kit_run_begin(&r, text)) run(&r, &d);
    kit_data_free(r.tape, &d);
    return kit_run_end(&r);
}
