/* examples/transfer.c - a network that knows some digits learns others from 40 images.
 *     first       the digits 0 to 5 from thousands of images; the weights go into a file
 *     scratch     the digits 6 to 9 from 40 images, from first values
 *     head only   the same with the body from the file, which is frozen: only the new output layer learns
 *     fine-tuned  then the body learns too, with a tenth of the learning rate
 *     average     an exponential moving average (EMA) of the fine-tuned weights
 * Shows: a partial load with a prefix and a report, freezing, parameter groups, gr_module_copy and gr_module_lerp, batches of sample numbers.
 * Run:   examples/transfer            (a few seconds)
 * See:   with the file the network is right more often, and most often when all of it has learned.
 * Exit:  0, or 1 --check missed its target; 2 wrong flag, path or file; 3 out of memory or disk full; 130 interrupted. */
#include "examples/kit/kit.h"
#include "gradus.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OLD = 6, NEW = 4, FEW = 40, MOST = 6000 }; /* digits of the first task and of the second; images of the second; of the first at most */
static kit_options o = { .batch = 20, .steps = 400, .lr = 2e-3, .seed = 42 };
static const kit_flag flag[] = {
    { "steps", KIT_COUNT, &o.steps, "N", "training steps of each kind", 1, 1 << 20 },
    { "lr", KIT_NUMBER, &o.lr, "X", "learning rate", 1e-12, 1e6 },
    KIT_FLAG_DIGITS(o), KIT_FLAGS_RUN(o, "exit 1 unless the file helps, the frozen body stays, and learning in all layers helps more"),
};
static const kit_flags flags = { "transfer", "a network learns new digits from few images and from the weights of an older network", flag, sizeof flag / sizeof *flag };

/* ---- The digits first .. first + classes-1 of a set: the numbers of at most MOST images ---- */

typedef struct { const kit_set *set; int first; size_t classes, n, number[MOST]; } task;
static task task_of(const kit_set *set, int first, size_t classes, size_t most)
{
    task k = { .set = set, .first = first, .classes = classes };
    for (size_t i = 0; i < set->labels.n && k.n < most; i++)
        if (set->labels.data[i] >= first && set->labels.data[i] < first + (int)classes) k.number[k.n++] = i;
    return k;
}

static gr_tensor *logits_of(gr_tape *t, const gr_module *net, const task *k, const gr_ints *ids, gr_ints **labels)
{
    gr_tensor *const x = gr_empty(t, GR_SHAPE(ids->len, 1, KIT_SIDE, KIT_SIDE));
    *labels = gr_ints_new(t, NULL, GR_SHAPE(ids->len));
    for (size_t i = 0; *labels && i < ids->len; i++) {
        const size_t at = k->number[ids->data[i]];
        for (size_t p = 0; p < KIT_PIXELS; p++) x->data[i * KIT_PIXELS + p] = (gr_real)k->set->images.data[at * KIT_PIXELS + p] / 255;
        (*labels)->data[i] = k->set->labels.data[at] - k->first;
    }
    return gr_forward(t, net, x);
}

/* ---- The network: a body of convolutions, and a head for the classes ---- */

static gr_module *network(gr_tape *t, gr_module *root, const char *name, size_t classes)
{
    gr_module *const net = gr_sequential_new(t, root, name), *const body = gr_sequential_new(t, net, "body");
    const gr_conv_config half = { .stride = 2, .padding = 1 };
    gr_conv2d_new(t, body, NULL, 1, 8, 3, &half), gr_activation_new(t, body, NULL, "ReLU", gr_relu);
    gr_conv2d_new(t, body, NULL, 8, 16, 3, &half), gr_activation_new(t, body, NULL, "ReLU", gr_relu);
    gr_flatten_new(t, body, NULL), gr_linear_new(t, body, NULL, 16 * 49, 64, NULL), gr_activation_new(t, body, NULL, "ReLU", gr_relu);
    gr_linear_new(t, net, "head", 64, classes, NULL);
    return net;
}

/* o.steps steps; ema, if there is one, follows net. */
static void train(gr_tape *t, gr_module *net, gr_optim *adam, const task *k, gr_module *ema)
{
    gr_batches *const walk = gr_batches_new(t, k->n, o.batch, &(gr_batches_config){ .shuffle = "shuffle" });
    for (size_t step = 0; step < o.steps && !gr_failed(t) && !kit_interrupted(); step++) {
        gr_ints *labels;
        gr_tape_reset(t);
        gr_tensor *const logits = logits_of(t, net, k, gr_batches_next(walk), &labels);
        gr_module_zero_grad(net), gr_backward(t, gr_cross_entropy(t, logits, labels, NULL)), gr_optim_step(t, adam);
        if (ema) gr_module_lerp(t, ema, net, 0.02);
    }
    gr_batches_free(walk);
}

static double accuracy(gr_tape *t, const gr_module *net, const task *k)
{
    kit_score score = { 0 };
    gr_batches *const walk = gr_batches_new(t, k->n, 100, NULL);
    gr_tape_set_recording(t, false);
    for (size_t i = 0; walk && i < walk->per_epoch && !gr_failed(t); i++) {
        gr_ints *labels;
        gr_tape_reset(t);
        gr_tensor *const logits = logits_of(t, net, k, gr_batches_next(walk), &labels);
        kit_score_add(&score, gr_cross_entropy(t, logits, labels, NULL), logits, labels->data);
    }
    gr_tape_set_recording(t, true), gr_batches_free(walk);
    return kit_accuracy(&score);
}

static gr_optim *learn(gr_tape *t, gr_module *net, const task *k)
{
    gr_optim *const adam = gr_adam_new(t, net, &(gr_adam_config){ .lr = o.lr });
    train(t, net, adam, k, NULL);
    return adam;
}

static void work(kit_run *r, const kit_data *d, const char *path)
{
    gr_tape *const t = r->tape;
    const task old = task_of(&d->train, 0, OLD, MOST), few = task_of(&d->train, OLD, NEW, FEW), test = task_of(&d->test, OLD, NEW, MOST);
    gr_module *const first = gr_module_new(t), *const second = gr_module_new(t);
    gr_module *const scratch = network(t, second, "scratch", NEW), *const net = network(t, second, "net", NEW), *const ema = network(t, second, "ema", NEW);
    gr_optim_free(learn(t, network(t, first, "model", OLD), &old));
    gr_optim_free(learn(t, scratch, &few));

    gr_state_report report = { 0 };
    gr_state_save(t, first, path, NULL);
    gr_tape_reset(t);
    gr_state_load(t, net, path, &(gr_state_config){ .partial = true, .strip = "model.", .report = &report });
    if (!o.quiet && !gr_failed(t)) printf("%zu tensors from the file, %zu of another shape\n", report.loaded.count, report.misfit.count);

    gr_module *const body = net->child;
    const uint64_t frozen = kit_fingerprint(body);
    gr_requires_grad(body, false);
    gr_optim *const adam = learn(t, net, &few);
    const bool stayed = kit_fingerprint(body) == frozen;
    const double head = accuracy(t, net, &test);

    gr_requires_grad(body, true);
    gr_optim_set_group(t, adam, body, (gr_optim_group){ .lr_scale = 0.1 });
    gr_module_copy(t, ema, net);
    train(t, net, adam, &few, ema);
    const double from_scratch = accuracy(t, scratch, &test), all = accuracy(t, net, &test), average = accuracy(t, ema, &test);
    if (!gr_failed(t) && !kit_interrupted())
        printf("scratch %.1f %%  head only %.1f %%  fine-tuned %.1f %%  average %.1f %%\n", from_scratch, head, all, average);
    kit_run_need(r, stayed, "the frozen body moved");
    gr_optim_free(adam), gr_module_free(first), gr_module_free(second);
}

int main(int argc, char **argv)
{
    kit_run r;
    char name[4200], path[4096];
    const int code = kit_run_start(&r, &flags, &o, argc, argv);
    if (code != KIT_GO_ON) return code;
    kit_data d = kit_data_open(r.tape, o.data);
    snprintf(path, sizeof path, "%s/gradus-transfer-XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    const int fd = mkstemp(path);
    if (fd < 0) gr_fail_as(r.tape, GR_IO_FAILED, "", "%s: cannot make a file there: %s", path, strerror(errno));
    if (kit_run_begin(&r, kit_data_name(&d, name, sizeof name))) work(&r, &d, path);
    if (fd >= 0) close(fd), unlink(path);
    kit_data_free(r.tape, &d);
    return kit_run_end(&r);
}
