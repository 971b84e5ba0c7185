/* examples/transfer.c - a network that knows the tones of one instrument learns those of another from 70 examples.
 *     first       Which of 8 tones is it? 2000 noisy sine waves. The weights go into a file.
 *     scratch     Is it low, middle, high or very high? 70 noisy square waves, half a tone higher; all weights begin untrained.
 *     head only   The same 70 waves; the body comes from the file and is frozen, so that only the output layer learns.
 *     fine-tuned  After that the body learns too, with a tenth of the learning rate.
 *     average     An exponential moving average (EMA) of the weights while they are fine-tuned.
 * Shows: a partial load with a prefix and a report, freezing, parameter groups, gr_module_copy and gr_module_lerp, batches of sample numbers.
 * Run:   examples/transfer            (at once)
 * See:   on new square waves, the networks with the body from the file are right much more often; with most seeds fine-tuning helps a little more.
 * Exit:  0, or 1 --check missed its target; 2 wrong flag or path; 3 out of memory or disk full; 130 interrupted. */
#include "examples/kit/kit.h"
#include "gradus.h"
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

enum { TONES = 8, CLASSES = 4, LENGTH = 32, HIDDEN = 64, MANY = 2000, FEW = 70 };
static kit_options o = { .batch = 20, .steps = 500, .lr = 3e-3, .seed = 42 };
static const kit_flag flag[] = {
    { "steps", KIT_COUNT, &o.steps, "N", "training steps of each kind", 1, 1 << 20 },
    KIT_FLAGS_RUN(o, "exit 1 unless the weights from the file help, the frozen ones stay, and the average is as good as what it averages"),
};
static const kit_flags flags = { "transfer", "take a part of an older network, freeze it, fine-tune it, average it", flag, sizeof flag / sizeof *flag };

/* ---- Waves: a tone is a frequency; the phase and the noise are random ---- */

typedef struct { size_t n; int label[MANY]; gr_real x[MANY][LENGTH]; } waves;
static void waves_draw(waves *w, const char *stream, size_t n, bool square)
{
    gr_stream s = gr_stream_new(o.seed, stream);
    w->n = n;
    for (size_t i = 0; i < n; i++) {
        const int tone = (int)gr_stream_below(&s, TONES);
        const double phase = gr_stream_uniform(&s, 0, 2 * acos(-1));
        w->label[i] = square ? tone * CLASSES / TONES : tone;
        for (int k = 0; k < LENGTH; k++) {
            const double y = sin(phase + (tone + (square ? 1.5 : 1)) * 2 * acos(-1) * k / LENGTH);
            w->x[i][k] = (gr_real)((square ? y > 0 ? 1 : -1 : y) + gr_stream_normal(&s, 0, 0.5));
        }
    }
}

/* ---- The network: a body, and a head for the classes ---- */

typedef struct { gr_module *net, *body; } model;
static model network(gr_tape *t, gr_module *root, const char *name, size_t classes)
{
    model m = { .net = gr_sequential_new(t, root, name) };
    m.body = gr_sequential_new(t, m.net, "body");
    gr_linear_new(t, m.body, NULL, LENGTH, HIDDEN, NULL), gr_activation_new(t, m.body, NULL, "ReLU", gr_relu);
    gr_linear_new(t, m.body, NULL, HIDDEN, HIDDEN, NULL), gr_activation_new(t, m.body, NULL, "ReLU", gr_relu);
    gr_linear_new(t, m.net, "head", HIDDEN, classes, NULL);
    return m;
}

/* Train m, and its body with body_scale times the learning rate. ema, if there is one, follows. */
static void train(gr_tape *t, const model *m, const waves *w, double body_scale, gr_module *ema)
{
    gr_batches *const walk = gr_batches_new(t, w->n, o.batch, &(gr_batches_config){ .shuffle = "shuffle" });
    gr_optim *const adam = gr_adam_new(t, m->net, &(gr_adam_config){ .lr = o.lr });
    gr_optim_set_group(t, adam, m->body, (gr_optim_group){ .lr_scale = body_scale });
    for (size_t step = 0; step < o.steps && !gr_failed(t) && !kit_interrupted(); step++) {
        const gr_ints *const ids = gr_batches_next(walk);
        gr_tape_reset(t);
        gr_tensor *const x = gr_index_select(t, gr_input(t, w->x[0], GR_SHAPE(w->n, LENGTH)), 0, ids);
        gr_ints *const y = gr_ints_new(t, NULL, GR_SHAPE(ids->len));
        for (size_t i = 0; y && i < ids->len; i++) y->data[i] = w->label[ids->data[i]];
        gr_module_zero_grad(m->net), gr_backward(t, gr_cross_entropy(t, gr_forward(t, m->net, x), y, NULL)), gr_optim_step(t, adam);
        if (ema) gr_module_lerp(t, ema, m->net, 0.02);
    }
    gr_batches_free(walk), gr_optim_free(adam);
}

/* In percent. */
static double accuracy(gr_tape *t, const model *m, const waves *w)
{
    size_t right = 0;
    gr_tape_reset(t), gr_tape_set_recording(t, false);
    const gr_ints *const guess = gr_argmax(t, gr_forward(t, m->net, gr_input(t, w->x[0], GR_SHAPE(w->n, LENGTH))), 1, false);
    for (size_t i = 0; guess && i < w->n; i++) right += guess->data[i] == w->label[i];
    gr_tape_set_recording(t, true);
    return 100.0 * (double)right / (double)w->n;
}

static void work(kit_run *r, const char *path)
{
    static waves many, few, test;
    gr_tape *const t = r->tape;
    gr_module *const older = gr_module_new(t), *const root = gr_module_new(t);
    const model first = network(t, older, "model", TONES), scratch = network(t, root, "scratch", CLASSES);
    const model m = network(t, root, "net", CLASSES), ema = network(t, root, "ema", CLASSES);
    waves_draw(&many, "sine", MANY, false), waves_draw(&few, "square", FEW, true), waves_draw(&test, "test", MANY, true);
    train(t, &first, &many, 1, NULL), train(t, &scratch, &few, 1, NULL);

    gr_state_report report;
    gr_state_save(t, older, path, NULL); /* model.body.0.weight .. model.head.bias */
    if (gr_state_load(t, m.net, path, &(gr_state_config){ .partial = true, .strip = "model.", .report = &report }) && !o.quiet)
        printf("%zu tensors come from the file; %s has another shape there\n", report.loaded.count, report.misfit.name[0]);

    const uint64_t loaded = kit_fingerprint(m.body);
    gr_requires_grad(m.body, false), train(t, &m, &few, 1, NULL);
    kit_run_need(r, kit_fingerprint(m.body) == loaded, "the frozen body moved");
    const double from_scratch = accuracy(t, &scratch, &test), head_only = accuracy(t, &m, &test);

    gr_requires_grad(m.body, true), gr_module_copy(t, ema.net, m.net);
    kit_run_need(r, accuracy(t, &ema, &test) == head_only, "the copy of the network answers otherwise");
    train(t, &m, &few, 0.1, ema.net);
    const double tuned = accuracy(t, &m, &test), average = accuracy(t, &ema, &test);
    if (!gr_failed(t) && !kit_interrupted())
        printf("scratch %.1f %%  head only %.1f %%  fine-tuned %.1f %%  average %.1f %%\n", from_scratch, head_only, tuned, average);
    kit_log_write(t, &r->log, "result", { "scratch", from_scratch }, { "head_only", head_only }, { "fine_tuned", tuned }, { "average", average });
    kit_run_need(r, head_only > from_scratch && tuned > from_scratch + 3 && tuned > head_only - 3 && fabs(average - tuned) < 2,
                 "%.1f %% from scratch, %.1f %% with a new head, %.1f %% fine-tuned, %.1f %% averaged", from_scratch, head_only, tuned, average);
    gr_module_free(older), gr_module_free(root);
}

int main(int argc, char **argv)
{
    kit_run r;
    char path[4096];
    const int code = kit_run_start(&r, &flags, &o, argc, argv);
    if (code != KIT_GO_ON) return code;
    snprintf(path, sizeof path, "%s/gradus-transfer-%ld", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp", (long)getpid());
    if (kit_run_begin(&r, "noisy tones, drawn")) work(&r, path), unlink(path);
    return kit_run_end(&r);
}
