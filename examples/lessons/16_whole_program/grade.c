/* grade.c - the grader of lesson 16. The formula is a run of its own, which is not interrupted: a switch takes away what a mistake loses. */
#include "../grader.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
    const gr_real *x;
    const int *label;
    size_t n;
} samples;
typedef struct {
    gr_tape *t;
    gr_module *net;
    gr_linear_module *fc1, *fc2;
    gr_norm *norm;
    gr_optim *adam;
    samples train, valid;
    gr_batches *order, *valid_order;
    double best;
} run;

gr_tensor *loss_of(run *r, const samples *s, const gr_ints *ids);
double my_step(run *r);
double my_validate(run *r);
bool my_save(run *r, const char *path);
bool my_load(run *r, const char *path);
bool my_train(run *r, int64_t steps, int64_t every, const char *best_path);

/* ---- The known mistakes ---- */

#define MISTAKES(M) \
    /* a step */ \
    M(not_cleared, \
      "Your gradients are never cleared. gr_backward adds to them, so each step moves along the sum of all gradients so far.\n" \
      "Call gr_optim_zero_grad before gr_backward. The loss can fall nevertheless, for a while.") \
    M(not_moved, "Your step moves nothing: the losses are those of the first weights. gr_optim_step comes after gr_backward.") \
    M(not_shuffled, "You train with batches of r->valid_order, which belongs to the validation and is not shuffled. Take r->order.") \
    M(trained_on_validation, "You train on r->valid. Its loss then says nothing about samples that the network has not seen.") \
    /* validation */ \
    M(in_training_mode, \
      "You validate in training mode. Dropout draws random numbers, BatchNorm uses the statistics of the batch, and its\n" \
      "running statistics move. So the loss depends on chance and on the batch, and later steps change.\n" \
      "Test it yourself: validate twice in a row. The two numbers must be equal.") \
    M(last_batch_missing, "You leave out the last batch. It has fewer samples than the others, but the loss is that of all samples.") \
    M(mean_of_batches, \
      "You take the mean over the batches. The last batch is smaller, so each of its samples weighs more than the others.\n" \
      "Multiply the loss of each batch by its ids->len, add them up, and divide by the number of samples.") \
    M(not_divided, "You add up the losses of all samples, and do not divide by their number. A larger set then has a larger loss.") \
    M(divided_by_training, "You divide by the number of training samples. The sum is over those of r->valid.") \
    M(divided_by_batches, \
      "You have multiplied each loss by ids->len. Then divide by the number of samples, r->valid.n, not by that of batches.") \
    M(first_batch_only, "You validate with one batch. r->valid_order->per_epoch batches hold all samples of r->valid.") \
    M(not_weighted, "You add up the means of the batches, and divide by the number of samples. First multiply each mean by ids->len.") \
    M(validated_on_training, "You validate on r->train. That loss also falls when the network learns its samples by heart. Use r->valid.") \
    M(training_order_used, "You validate with batches of r->order. They belong to r->train, which then misses them. Take r->valid_order.") \
    /* checkpoint */ \
    M(optimizer_lost, \
      "You resume without the optimizer. Its m and v begin at 0 again, so its steps have other sizes. gr_checkpoint_save\n" \
      "and gr_checkpoint_load both take it. The loss of the first step after the resume is still right.") \
    M(place_lost, "You resume at the beginning of the first epoch. The place in the epoch is r->order->taken: save it as a value.") \
    M(epoch_begun_again, "You resume at the beginning of an epoch, so the run sees some samples twice. Save r->order->taken itself.") \
    M(best_lost, \
      "You resume without r->best. Then the next validation is the best one, even if it is bad, and replaces a better network.") \
    M(weights_only, "Your file has the weights only: gr_state_save writes a network, not a run. The optimizer, the place in the epoch,\n" \
                    "r->best and the random streams are lost, so dropout repeats its first masks. gr_checkpoint_save writes a run.") \
    M(nothing_loaded, "You resume with a new network. my_load reads nothing.")

#define LOOP(M) \
    M(best_reset, "You set r->best in my_train. A resumed run has one already: whoever makes the run sets it.") \
    M(asked_before, "You ask for a multiple of every before the step. taken grows in my_step: ask after it.") \
    M(training_loss_only, "You keep the network with the smallest training loss, and validate nothing. Use what my_validate returns.") \
    M(steps_again, "After a resume you do `steps` more steps. steps counts them all: go on until r->order->taken is steps.") \
    M(last_kept, "You keep the network of the last validation. Keep the best one: write it only if the loss is below r->best.") \
    M(best_not_updated, "You compare with r->best, but you never change it. So each validation is the best one.") \
    M(worst_kept, "You keep a network if its loss is above r->best. A smaller loss is better.") \
    M(best_of_training, "You keep the network with the smallest training loss. Keep the one with the smallest validation loss.") \
    M(every_ignored, "You validate after each step. Validate when r->order->taken is a multiple of every.") \
    M(every_from_resume, \
      "You count to every from the beginning of my_train. A resumed run then validates after other steps than a run that\n" \
      "was not interrupted. r->order->taken counts all steps.") \
    M(validated_before, \
      "You validate before the step in place of after it: once before there is anything to see, and not after the last step.") \
    M(not_written, "You update r->best, but the network of that moment is written nowhere. Call gr_state_save.") \
    M(best_is_local, "Your best loss is a variable of my_train, so a resumed run forgets it. Use r->best, which my_save keeps.")

GRADER_MISTAKES(MISTAKES);
GRADER_MISTAKES_OF(loop, LOOP);
static const unsigned of_step = in_training_mode - 1, of_validate = optimizer_lost - in_training_mode,
                      of_resume = (1u << list_count) - optimizer_lost, of_train = (1u << loop_count) - 1;

/* ---- A run ---- */

enum { SIZE = 6, CLASSES = 3, TRAIN = 22, VALID = 17, ROOM = 24, STOP = 7, STEPS = 12, EVERY = 3, LATER = 5 };
static gr_real x[2][ROOM * SIZE];
static int label[2][ROOM], looked, validations; /* how often loss_of was called, and how often it saw sample 0 of valid */

static void draw(void)
{
    gr_stream s = gr_stream_new(16, "samples");
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < ROOM * SIZE; i++) {
            label[k][i / SIZE] = i / SIZE % CLASSES;
            x[k][i] = gr_stream_normal(&s, i % CLASSES == label[k][i / SIZE], 1.5);
        }
}

static run start(void)
{
    run r = { .t = gr_tape_new(1, NULL), .train = { x[0], label[0], TRAIN }, .valid = { x[1], label[1], VALID }, .best = 1000 };
    r.net = gr_module_new(r.t), r.fc1 = gr_linear_new(r.t, r.net, "fc1", SIZE, 8, NULL),
    r.norm = gr_batch_norm_new(r.t, r.net, "norm", 8, NULL);
    r.fc2 = gr_linear_new(r.t, r.net, "fc2", 8, CLASSES, NULL), r.adam = gr_adam_new(r.t, r.net, &(gr_adam_config){ .lr = 0.1 });
    r.order = gr_batches_new(r.t, TRAIN, 6, &(gr_batches_config){ .shuffle = "order" }),
    r.valid_order = gr_batches_new(r.t, VALID, 5, NULL);
    return r;
}
static void end(run *r)
{
    gr_batches_free(r->order), gr_batches_free(r->valid_order), gr_optim_free(r->adam), gr_module_free(r->net), gr_tape_free(r->t);
}

gr_tensor *loss_of(run *r, const samples *s, const gr_ints *ids)
{
    gr_tensor *in = ids ? gr_empty(r->t, GR_SHAPE(ids->len, SIZE)) : NULL;
    gr_ints *right = ids ? gr_ints_new(r->t, NULL, GR_SHAPE(ids->len)) : NULL;
    looked++;
    for (size_t k = 0; in && right && k < ids->len; k++) {
        memcpy(in->data + k * SIZE, s->x + ids->data[k] * SIZE, SIZE * sizeof *in->data);
        right->data[k] = s->label[ids->data[k]], validations += s->x == x[1] && ids->data[k] == 0;
    }
    gr_tensor *h = gr_tanh(r->t, gr_norm_forward(r->t, r->norm, gr_linear_forward(r->t, r->fc1, in), NULL));
    return gr_cross_entropy(r->t, gr_linear_forward(r->t, r->fc2, gr_dropout(r->t, h, 0.2, "dropout")), right, NULL);
}

/* ---- The formula, with a switch for each mistake ---- */

static double step(run *r, unsigned m)
{
    gr_tape_reset(r->t);
    gr_tensor *loss =
        loss_of(r, m & trained_on_validation ? &r->valid : &r->train, gr_batches_next(m & not_shuffled ? r->valid_order : r->order));
    if (!(m & not_cleared)) gr_optim_zero_grad(r->adam);
    gr_backward(r->t, loss);
    if (!(m & not_moved)) gr_optim_step(r->t, r->adam);
    return gr_item(loss);
}

static double validate(run *r, unsigned m)
{
    const size_t all = r->valid_order->per_epoch, batches = m & first_batch_only ? 1 : all - (m & last_batch_missing ? 1 : 0);
    double sum = 0;
    gr_tape_set_training(r->t, m & in_training_mode), gr_tape_set_recording(r->t, false);
    for (size_t k = 0; k < batches; k++) {
        const gr_ints *ids = gr_batches_next(m & training_order_used ? r->order : r->valid_order);
        gr_tape_reset(r->t);
        const double mean = gr_item(loss_of(r, m & validated_on_training ? &r->train : &r->valid, ids));
        sum += m & (mean_of_batches | not_weighted | first_batch_only) ? mean : mean * (double)ids->len;
    }
    gr_tape_set_training(r->t, true), gr_tape_set_recording(r->t, true);
    if (m & (mean_of_batches | divided_by_batches)) return sum / (double)batches;
    return sum / (m & (not_divided | first_batch_only) ? 1 : m & divided_by_training ? TRAIN : VALID);
}

/* What is left of a run after a checkpoint. */
static void resume(run *r, unsigned m)
{
    const double best = r->best;
    if (m & nothing_loaded) end(r), *r = start();
    if (m & (optimizer_lost | weights_only)) gr_optim_free(r->adam), r->adam = gr_adam_new(r->t, r->net, &(gr_adam_config){ .lr = 0.1 });
    if (m & epoch_begun_again) r->order->taken -= r->order->taken % (int64_t)r->order->per_epoch;
    if (m & (place_lost | weights_only)) r->order->taken = 0;
    if (m & weights_only) gr_tape_seek_streams(r->t, 0);
    r->best = m & (best_lost | weights_only | nothing_loaded) ? 1000 : best;
}

/* *file is the validation loss of the network that the best file holds; -1 without one. m are mistakes of `loop`. */
static void train(run *r, unsigned m, int64_t steps, double *file)
{
    double local = 1000, *best = m & best_is_local ? &local : &r->best;
    if (m & best_reset) r->best = 1000;
    for (int64_t k = 1, until = m & steps_again ? r->order->taken + steps : steps; r->order->taken < until; k++) {
        const bool asked = r->order->taken % EVERY == 0;
        const double last = m & validated_before ? 0 : step(r, 0);
        const bool now = m & every_ignored || (m & asked_before ? asked : (m & every_from_resume ? k : r->order->taken) % EVERY == 0);
        if (now) {
            const int counted = validations;
            const double valid = validate(r, 0), loss = m & (best_of_training | training_loss_only) ? last : valid;
            const bool keep = m & last_kept || (m & worst_kept ? loss > *best : loss < *best);
            if (m & training_loss_only) validations = counted;
            if (keep && !(m & best_not_updated)) *best = loss;
            if (keep && !(m & not_written)) *file = valid;
        }
        if (m & validated_before) step(r, 0);
    }
}

enum { OF_STEP = 5, OF_VALIDATE = 5, OF_RESUME = 6, OF_TRAIN = 8 };
static void formula_step(unsigned m, const void *data, double *answer)
{
    run r = start();
    (void)data;
    for (int k = 0; k < OF_STEP; k++) answer[k] = step(&r, m);
    end(&r);
}
static void formula_validate(unsigned m, const void *data, double *answer)
{
    run r = start();
    (void)data;
    for (int k = 0; k < 3; k++) step(&r, 0);
    answer[0] = validate(&r, m), answer[1] = validate(&r, m), answer[2] = step(&r, 0), answer[3] = step(&r, 0), answer[4] = validate(&r, m);
    end(&r);
}
static void formula_resume(unsigned m, const void *data, double *answer)
{
    run r = start();
    (void)data;
    for (int k = 0; k < STOP; k++) step(&r, 0);
    r.best = 0.7, resume(&r, m), answer[0] = r.best;
    for (int k = 1; k < OF_RESUME; k++) answer[k] = step(&r, 0);
    end(&r);
}
static const double UNBEATEN = 0.001; /* a best loss that no later validation beats */
static void formula_train(unsigned m, const void *data, double *answer)
{
    run r = start();
    (void)data;
    double file = -1;
    validations = 0, train(&r, m, STOP, &file), answer[4] = validations;
    validations = 0, train(&r, m, STEPS, &file), answer[5] = validations;
    answer[0] = (double)r.order->taken, answer[1] = r.best, answer[2] = file, answer[3] = step(&r, 0), end(&r);
    r = start(), r.best = UNBEATEN, file = -1, train(&r, m, STOP, &file), answer[6] = r.best, answer[7] = file, end(&r);
}

/* ---- The learner's numbers ---- */

static char path[2][32] = { "/tmp/lesson16-XXXXXX", "/tmp/lesson16-XXXXXX" };
static void remove_files(void) { remove(path[0]), remove(path[1]); }

static void judge(const grader_mistake *known, const char *name, const char *of, grader_formula *f, unsigned among, const double *got,
                  size_t n)
{
    grader_judge(known, &(grader_result){ name, of, f, NULL, among, 1, n, got, NULL, .unlike = true }, NULL);
}

static void fine(const run *r)
{
    if (!gr_failed(r->t)) return;
    if (strstr(gr_message(r->t), "no gradient reached"))
        grader_stop("no_gradient",
                    "gr_optim_step finds no gradient. Is gr_backward missing or later, or is gr_optim_zero_grad between the two?");
    if (strstr(gr_message(r->t), "already"))
        grader_stop("not_reset", "Your step does not begin with gr_tape_reset, so the tape still holds the last step and its backward.");
    grader_stop("tape_error", "The tape says: \"%s\"", gr_message(r->t));
}

static void check_step(void)
{
    double loss[OF_STEP];
    grader_step("the losses of five steps");
    run r = start();
    for (int k = 0; k < OF_STEP; k++) {
        loss[k] = my_step(&r), fine(&r);
        if (loss[k] == 0)
            grader_stop("not_begun", "my_step returns 0. Begin at TODO 1 in exercise.c: a step of training, about six lines.");
    }
    judge(list, "loss", "five steps", formula_step, of_step, loss, OF_STEP), end(&r);
}

static void check_validate(void)
{
    double v[OF_VALIDATE];
    grader_step("validation");
    run r = start();
    for (int k = 0; k < 3; k++) my_step(&r);
    gr_tape_reset(r.t), v[0] = my_validate(&r), fine(&r);
    if (v[0] == 0) grader_stop("step_done", "Your step is right. my_validate returns 0: go on at TODO 2, about nine lines.");
    if (gr_tape_nodes(r.t) > 0)
        grader_stop("recorded",
                    "You validate with recording on. The tape keeps what a backward would need, and none comes: gr_tape_set_recording.");
    if (!gr_tape_training(r.t))
        grader_stop("stays_in_evaluation",
                    "The run stays in evaluation mode. The steps that follow train without dropout, and BatchNorm learns no statistics.");
    if (!gr_tape_recording(r.t)) grader_stop("stays_off", "Recording stays off, so the next gr_backward finds nothing to differentiate.");
    v[1] = my_validate(&r), v[2] = my_step(&r), v[3] = my_step(&r), v[4] = my_validate(&r), fine(&r);
    judge(list, "values", "validation, the same again, two steps, validation", formula_validate, of_validate, v, OF_VALIDATE);
    const size_t before = gr_tape_bytes(r.t);
    for (int k = 0; k < 300; k++) my_validate(&r);
    if (gr_tape_bytes(r.t) > before)
        grader_stop("memory_grows",
                    "Each validation makes the tape larger. End the life of the old tensors: gr_tape_reset before each batch.");
    end(&r);
}

static void check_resume(void)
{
    double v[OF_RESUME];
    grader_step("save, and resume in a new run");
    run old = start(), r = start();
    for (int k = 0; k < STOP; k++) my_step(&old);
    old.best = 0.7;
    if (!my_save(&old, path[0])) {
        fine(&old);
        grader_stop("half_done", "Your validation is right. my_save returns false: go on at TODO 3, about two lines each.");
    }
    run other = start();
    other.order->taken = -1, my_load(&other, path[0]);
    if (other.order->taken < -1 && (int32_t)other.order->taken == STOP)
        grader_stop("taken_halved", "taken is an int64_t: GR_I64. GR_I32 writes half of it.");
    end(&other);
    const bool loaded = my_load(&r, path[0]);
    fine(&old), fine(&r);
    if (!loaded) grader_stop("load_refused", "my_load returns false, and the tape has no error. Return what gr_checkpoint_load returns.");
    if (r.best > 1000) /* where it began: half of its bytes are of the file */
        grader_stop("best_halved", "r->best is a double: GR_F64. GR_F32 writes half of it.");
    v[0] = r.best;
    for (int k = 1; k < OF_RESUME; k++) v[k] = my_step(&r);
    fine(&r), judge(list, "values", "r->best, and the losses of five steps after the resume", formula_resume, of_resume, v, OF_RESUME);
    end(&old), end(&r), old = start(), r = start();
    if (my_save(&old, "/nowhere/at/all") || my_load(&r, "/nowhere/at/all"))
        grader_stop("false_success", "my_save or my_load returns true for a file that cannot be there. Return what gradus returns.");
    end(&old), end(&r);
}

static double of_file(void)
{
    run r = start();
    const double v = access(path[1], R_OK) == 0 && gr_state_load(r.t, r.net, path[1], NULL) ? validate(&r, 0) : -1;
    return end(&r), v;
}

static void check_train(void)
{
    double v[OF_TRAIN], weights[2][8 * SIZE];
    for (int interrupted = 0; interrupted < 2; interrupted++) {
        grader_step(interrupted ? "the loop, interrupted after 7 steps" : "the loop");
        run r = start();
        remove(path[1]), validations = 0;
        const bool trained = my_train(&r, STOP, EVERY, path[1]);
        fine(&r), v[4] = validations, validations = 0;
        if (!trained) grader_stop("loop_missing", "Saving is right. my_train returns false: go on at TODO 4, about seven lines.");
        if (interrupted) my_save(&r, path[0]), end(&r), r = start(), my_load(&r, path[0]);
        my_train(&r, STEPS, EVERY, path[1]), fine(&r), v[5] = validations;
        memcpy(weights[interrupted], r.fc1->weight->data, sizeof weights[0]);
        v[0] = (double)r.order->taken, v[1] = r.best, v[2] = of_file(), v[3] = my_step(&r);
        run kept = start();
        remove(path[1]), kept.best = UNBEATEN, my_train(&kept, STOP, EVERY, path[1]), v[6] = kept.best, v[7] = of_file(), end(&kept);
        judge(loop, "values",
              "7 steps and 5: r->order->taken, r->best, loss of the best network, next loss, validations in 7, in 5; then\n"
              "      7 steps of a run whose r->best is 0.001: r->best, loss of the best network (-1: none is written)",
              formula_train, of_train, v, OF_TRAIN);
        end(&r);
    }
    if (memcmp(weights[0], weights[1], sizeof weights[0]))
        grader_stop(
            "not_to_the_bit",
            "After a resume, the weights are nearly those of the run that was not interrupted, and not to the bit. Are numbers rounded\n"
            "in the file? Then a test cannot tell a small mistake from rounding.");
}

static void check_failure(void)
{
    grader_step("the loop, when a step or a file fails");
    run r = start();
    label[0][3] = CLASSES, looked = 0; /* no such class */
    const bool good = my_train(&r, 1000, 1000, path[1]);
    if (looked > 20) grader_stop("goes_on", "A step has failed, and your loop goes on. Ask gr_failed(r->t) before each step.");
    if (good) grader_stop("failure_hidden", "A step has failed, and my_train returns true. Return !gr_failed(r->t).");
    label[0][3] = 3 % CLASSES, end(&r), r = start();
    if (my_train(&r, EVERY, EVERY, "/nowhere/at/all"))
        grader_stop(
            "save_failed",
            "gr_state_save could not write the best network, and my_train returns true. Ask for its result, or for gr_failed(r->t),\n"
            "also after the last step.");
    end(&r);
}

int main(int argc, char **argv)
{
    draw();
    if (argc > 1 && !strcmp(argv[1], "--ambiguous"))
        return grader_ambiguous(list, formula_step, NULL, of_step, OF_STEP) +
               grader_ambiguous(list, formula_validate, NULL, of_validate, OF_VALIDATE) +
               grader_ambiguous(list, formula_resume, NULL, of_resume, OF_RESUME) +
               grader_ambiguous(loop, formula_train, NULL, of_train, OF_TRAIN);
    grader_start("Lesson 16: a whole program");
    for (int k = 0; k < 2; k++)
        if (close(mkstemp(path[k])) || remove(path[k])) return perror(path[k]), 2; /* the names remain */
    atexit(remove_files);
    check_step(), check_validate(), check_resume(), check_train(), check_failure();
    return grader_end("All right. examples/seq_mnist_lstm.c has the same loop: compare it with yours.");
}
