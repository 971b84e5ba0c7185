/* examples/kit/arms.c - arms in lockstep. */
#include "examples/kit/arms.h"
#include "core/op.h"
#include "examples/kit/program.h"
#include "examples/kit/progress.h"
#include "optim/audit.h"
#include <assert.h>
#include <math.h>
#include <string.h>

void kit_arms_add(kit_arms *a, const char *name, int kind)
{
    assert(a->n < KIT_ARMS);
    a->arm[a->n++] = (kit_arm){ .name = name, .kind = kind, .user = a->user };
}

void kit_arms_free(kit_arms *a)
{
    for (size_t i = 0; i < a->n; i++) gr_optim_free(a->arm[i].optim), gr_module_free(a->arm[i].net), gr_tape_free(a->arm[i].tape);
    a->n = 0;
}

/* An error on an arm's tape becomes an error of the run, except for NaN and infinity, which stop only that arm. */
static bool arm_is_well(kit_run *r, kit_arm *arm)
{
    if (gr_error_code(arm->tape) != GR_NOT_FINITE) kit_run_fail(r, arm->name, arm->tape);
    return !gr_failed(r->tape);
}

/* Print the audit after the first backward, if a parameter does not learn. */
static void audit(kit_arm *arm)
{
    if (gr_failed(arm->tape) || !(arm->idle = gr_print_audit(arm->tape, arm->net, arm->optim, NULL))) return;
    fprintf(stderr, "%s:\n", arm->name);
    gr_print_audit(arm->tape, arm->net, arm->optim, stderr);
}

static void train(kit_run *r, kit_arms *a, kit_arm *arm, const void *batch)
{
    gr_tape *const t = arm->tape;
    kit_score score = { 0 };
    double began = kit_seconds();
    const double lr = gr_optim_lr(arm->optim);
    const bool audited = arm->steps == 0 && !r->o->quiet && !a->watch && !a->unaudited;
    gr_tape_reset(t), gr_tape_set_tracing(t, audited);
    gr_tensor *loss = a->loss(arm, batch, &score);
    if (loss && !isfinite(gr_item(loss))) gr_fail_as(t, GR_NOT_FINITE, "", "the loss is %g", gr_item(loss));
    gr_optim_zero_grad(arm->optim);
    gr_backward(t, loss);
    if (audited) {
        const double before = kit_seconds();
        audit(arm);
        gr_tape_set_tracing(t, false);
        began += kit_seconds() - before;
    }
    if (a->clip > 0) gr_clip_grad_norm(t, arm->optim, a->clip);
    gr_optim_step(t, arm->optim);
    arm->seconds += kit_seconds() - began;
    arm->steps++;
    if (!arm_is_well(r, arm)) return;
    if (gr_failed(t)) arm->diverged = arm->steps;
    else kit_score_sum(&arm->recent, &score), kit_score_sum(&arm->whole, &score);
    kit_log_write(r->tape, &r->log, "step", { "run", .text = a->title }, { "arm", .text = arm->name }, { "step", (double)arm->steps },
                  { "loss", gr_item(loss) }, { "lr", lr }, { "seconds", arm->seconds });
}

static void note_marks(const kit_arms *a, kit_arm *arm)
{
    for (size_t k = 0; k < KIT_MARKS; k++) {
        const bool passed = a->marks_are_losses ? kit_loss(&arm->tested) <= a->mark[k] : kit_accuracy(&arm->tested) >= a->mark[k];
        if (a->mark[k] != 0 && passed && !arm->mark[k].step) arm->mark[k].step = arm->steps, arm->mark[k].seconds = arm->seconds;
    }
}

/* Evaluate all arms on the test set, batch by batch, so that a batch is made once. */
static void evaluate(kit_run *r, kit_arms *a)
{
    for (size_t i = 0; i < a->n; i++) a->arm[i].tested = (kit_score){ 0 };
    for (size_t b = 0; b < a->source.test && !gr_failed(r->tape); b++) {
        size_t samples;
        const void *const batch = a->source.batch(a->source.data, false, b, &samples);
        for (size_t i = 0; i < a->n && !gr_failed(r->tape); i++) {
            kit_arm *const arm = &a->arm[i];
            if (arm->diverged) continue;
            gr_tape_set_training(arm->tape, false), gr_tape_set_recording(arm->tape, false);
            gr_tape_reset(arm->tape);
            a->loss(arm, batch, &arm->tested);
            gr_tape_set_training(arm->tape, true), gr_tape_set_recording(arm->tape, true);
            arm_is_well(r, arm);
        }
    }
    for (size_t i = 0; i < a->n && !gr_failed(r->tape); i++) {
        kit_arm *const arm = &a->arm[i];
        if (arm->diverged) continue;
        note_marks(a, arm);
        kit_log_write(r->tape, &r->log, "eval", { "run", .text = a->title }, { "arm", .text = arm->name }, { "step", (double)arm->steps },
                      { "train_loss", kit_loss(&arm->recent) }, { "test_loss", kit_loss(&arm->tested) },
                      { "test_accuracy", kit_accuracy(&arm->tested) }, { "seconds", arm->seconds });
    }
}

/* Print the evaluations as a table, whose head comes before the first line. Losses are left out when there are many arms, so that a line has at
 * most 100 columns. */
static void print_evaluation(const kit_arms *a, size_t step, bool first)
{
    const bool losses = a->n <= 4;
    if (first) {
        printf("\n%*s", (int)strlen(a->title) + 13, "");
        for (size_t i = 0; i < a->n; i++) printf("  %*s", losses ? 15 : 8, a->arm[i].name);
        putchar('\n');
    }
    printf("%s  step %6zu", a->title, step);
    for (size_t i = 0; i < a->n; i++) {
        const kit_score *const s = &a->arm[i].tested;
        if (a->arm[i].diverged) printf("  %*s", losses ? 15 : 8, "diverged");
        else if (losses) printf("  %6.4f %6.2f %%", kit_loss(s), kit_accuracy(s));
        else printf("  %6.2f %%", kit_accuracy(s));
    }
    putchar('\n'), fflush(stdout);
}

/* The text of the progress line: the recent training loss of each arm. */
static const char *standing(const kit_arms *a, size_t step, char *text, size_t bytes)
{
    int used = snprintf(text, bytes, "%s  step %zu/%zu", a->title, step, a->steps);
    for (size_t i = 0; i < a->n && used >= 0 && (size_t)used < bytes; i++)
        used += snprintf(text + used, bytes - (size_t)used, "  %s %.4f", a->arm[i].name, kit_loss(&a->arm[i].recent));
    return text;
}

size_t kit_steps(const kit_options *o, double epochs, size_t per_epoch)
{
    return o->steps ? o->steps : (size_t)fmax(1, floor(epochs * (double)per_epoch + 0.5));
}

static bool build(kit_run *r, kit_arms *a)
{
    const kit_options *const o = r->o;
    if (!a->steps) a->steps = kit_steps(o, o->epochs, a->source.train);
    if (!a->every) a->every = o->eval_every ? o->eval_every : (a->steps + 9) / 10;
    for (size_t i = 0; i < a->n && !gr_failed(r->tape); i++) {
        kit_arm *const arm = &a->arm[i];
        arm->tape = gr_tape_new(a->seed ? a->seed : o->seed, (&(gr_tape_config){ .pool = r->pool }));
        arm->net = gr_module_new(arm->tape);
        a->build(arm);
        arm_is_well(r, arm);
    }
    return !gr_failed(r->tape);
}

/* Take one step with every arm that has not diverged; another arm goes first each time. Returns how many arms have still not diverged. */
static size_t take_step(kit_run *r, kit_arms *a, size_t step, size_t *samples)
{
    const void *const batch = a->source.batch(a->source.data, true, step, samples);
    size_t living = 0;
    for (size_t k = 0; k < a->n && !gr_failed(r->tape); k++) {
        kit_arm *const arm = &a->arm[(step + k) % a->n];
        if (!arm->diverged) train(r, a, arm, batch);
        living += !arm->diverged;
    }
    return living;
}

static void log_arms(kit_run *r, const kit_arms *a)
{
    for (size_t i = 0; i < a->n; i++) {
        char fingerprint[32];
        const kit_arm *const arm = &a->arm[i];
        snprintf(fingerprint, sizeof fingerprint, "%016llx", (unsigned long long)kit_fingerprint(arm->net));
        kit_log_write(r->tape, &r->log, "arm", { "run", .text = a->title }, { "arm", .text = arm->name }, { "steps", (double)arm->steps },
                      { "diverged", (double)arm->diverged }, { "train_loss", kit_loss(&arm->whole) },
                      { "test_loss", kit_loss(&arm->tested) }, { "test_accuracy", kit_accuracy(&arm->tested) }, { "seconds", arm->seconds },
                      { "tape_bytes", (double)gr_tape_bytes(arm->tape) }, { "fingerprint", .text = fingerprint });
    }
}

bool kit_arms_run(kit_run *r, kit_arms *a)
{
    char text[512];
    size_t step = 0, living = a->n;
    if (gr_failed(r->tape) || !build(r, a)) return false;
    const bool prints = !r->o->quiet && !a->watch;
    kit_progress progress = kit_progress_new(prints ? stderr : NULL, 1, a->steps);
    if (a->source.unit) progress.unit = a->source.unit;
    if (a->watch) evaluate(r, a), living = a->watch(a, 0, true) ? living : 0;
    while (step < a->steps && living && !kit_interrupted() && !gr_failed(r->tape)) {
        size_t samples;
        living = take_step(r, a, step++, &samples);
        kit_progress_show(&progress, samples, progress.live ? standing(a, step, text, sizeof text) : "");
        if (a->watch && !gr_failed(r->tape) && !a->watch(a, step, false)) break;
        if (step % a->every && step < a->steps && living) continue;
        evaluate(r, a);
        kit_progress_wipe(&progress);
        if (prints && !gr_failed(r->tape)) print_evaluation(a, step, step <= a->every), kit_check_stdout(r->tape);
        if (a->watch && !gr_failed(r->tape) && !a->watch(a, step, true)) break;
        for (size_t i = 0; i < a->n && step < a->steps; i++) a->arm[i].recent = (kit_score){ 0 };
        kit_progress_go_on(&progress);
    }
    kit_progress_wipe(&progress);
    log_arms(r, a);
    return !gr_failed(r->tape);
}

/* ---- The table ---- */

/* The head of a mark's column when step is NULL; its cell otherwise. */
static void print_mark(FILE *out, const kit_arms *a, size_t k, const size_t *step)
{
    char cell[48] = "-";
    if (!step) snprintf(cell, sizeof cell, "to %g%s", a->mark[k], a->marks_are_losses ? "" : " %");
    else if (*step) snprintf(cell, sizeof cell, "%zu", *step);
    fprintf(out, "  %7s", cell);
}

void kit_arms_table(FILE *out, const kit_arms *a)
{
    int width = 0;
    for (size_t i = 0; i < a->n; i++) width = (int)fmax(width, snprintf(NULL, 0, "%s", a->arm[i].name));
    fprintf(out, "%s, %zu steps\n%-*s  train loss  test loss  accuracy      gap", a->title, a->steps, width, "");
    for (size_t k = 0; k < KIT_MARKS && a->mark[k] != 0; k++) print_mark(out, a, k, NULL);
    fprintf(out, "   ms/step  seconds\n");
    for (size_t i = 0; i < a->n; i++) {
        const kit_arm *const arm = &a->arm[i];
        if (arm->diverged) {
            fprintf(out, "%-*s  diverged at step %zu\n", width, arm->name, arm->diverged);
            continue;
        }
        fprintf(out, "%-*s  %10.4f %10.4f  %6.2f %%  %+7.4f", width, arm->name, kit_loss(&arm->whole), kit_loss(&arm->tested),
                kit_accuracy(&arm->tested), kit_loss(&arm->tested) - kit_loss(&arm->recent));
        for (size_t k = 0; k < KIT_MARKS && a->mark[k] != 0; k++) print_mark(out, a, k, &arm->mark[k].step);
        fprintf(out, "  %8.2f  %7.1f\n", arm->steps ? 1e3 * arm->seconds / (double)arm->steps : 0, arm->seconds);
    }
}

/* ---- Classification of images ---- */

gr_tensor *kit_classify(gr_tape *t, gr_tensor *logits, const int *labels, kit_score *score)
{
    if (!logits) return NULL;
    gr_tensor *loss = gr_cross_entropy(t, logits, gr_ints_new(t, labels, GR_SHAPE(gr_size(logits, 0))), NULL);
    if (loss) kit_score_add(score, loss, logits, labels);
    return loss;
}

enum { TEST_BATCH = 200 };

kit_images kit_images_new(gr_tape *t, const kit_data *d, size_t batch)
{
    return (kit_images){ .train = kit_batches_new(t, &d->train, batch, true),
                         .test = kit_batches_new(t, &d->test, TEST_BATCH, false),
                         .tape = t };
}

bool kit_images_have_two(gr_tape *t, const kit_data *d, const char *flags, size_t batch)
{
    const size_t n = d->train.images.n;
    if (gr_failed(t)) return false;
    if (n > 1 && (batch > n || (batch > 1 && n % batch != 1))) return true;
    return gr_fail_as(t, GR_MISUSE, "", "%s: with batches of %zu the last of %zu images is alone in its batch; BatchNorm needs 2 or more",
                      flags, batch, n);
}

void kit_images_free(kit_images *i) { kit_batches_free(i->tape, &i->train), kit_batches_free(i->tape, &i->test); }

static const void *image_batch(void *data, bool training, size_t number, size_t *samples)
{
    kit_images *const i = data;
    kit_batches *const b = training ? &i->train : &i->test;
    b->taken = number;
    i->batch = kit_next(b);
    *samples = i->batch.n;
    return &i->batch;
}

kit_source kit_images_source(kit_images *i) { return (kit_source){ i->train.per_epoch, i->test.per_epoch, image_batch, i, NULL }; }
