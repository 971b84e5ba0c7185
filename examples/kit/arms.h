/* examples/kit/arms.h - a comparison: arms that differ in one thing train in lockstep on the same batches.
 *
 * Each arm has a tape of its own, all of one seed: streams have the names of modules, so weights, masks and shuffles that two arms both
 * have are the same bits. The threads are shared. An arm's clock counts its own training steps only, and the arms take turns in going
 * first. One whose loss leaves the finite numbers stops, with the weights from before, and the others go on.
 *
 *     kit_arms a = { .title = "batch 128", .source = kit_images_source(&images), .build = build, .loss = loss, .mark = { 90, 95, 97 } };
 *     kit_arms_add(&a, "none", GR_NORM_NONE), kit_arms_add(&a, "LN", GR_NORM_LAYER);
 *     kit_arms_run(&r, &a);
 *     kit_arms_table(stdout, &a);
 *     kit_run_need(&r, kit_accuracy(&a.arm[1].tested) > 90, ..);
 *     kit_arms_free(&a);                                                                                                   */
#ifndef KIT_ARMS_H
#define KIT_ARMS_H
#include "examples/kit/data.h"
#include "examples/kit/run.h"
#include "optim/optim.h"

enum { KIT_ARMS = 8, KIT_MARKS = 3 };

/* Where batches come from. batch gives training batch `number` (0, 1, .. without end), or test batch 0 .. test-1, and how many samples it
 * holds; what it returns goes to every arm's loss and stays valid until the next call. Errors go to the program's tape. */
typedef struct {
    size_t train, test; /* batches in an epoch, and in the test set */
    const void *(*batch)(void *data, bool training, size_t number, size_t *samples);
    void *data;
    const char *unit;   /* what samples are, for the line of progress; NULL: images */
} kit_source;

typedef struct kit_arm {
    const char *name;
    int kind;          /* the program's: in what this arm differs */
    void *model;       /* the program's: set by build, used by loss */
    void *user;        /* that of the comparison */
    gr_tape *tape;     /* its own; so are net, a root module, and optim, which build makes */
    gr_module *net;
    gr_optim *optim;
    kit_score recent, whole, tested; /* in training since the last evaluation, and since the start; the last evaluation */
    size_t steps, diverged;          /* taken; the step at which the loss left the finite numbers, 0: it did not */
    double seconds;                  /* in its own steps */
    struct { size_t step; double seconds; } mark[KIT_MARKS]; /* the first evaluation that passed it; step 0: none did */
} kit_arm;

typedef struct kit_arms {
    const char *title; /* which comparison of the program's this is, for tables and the log */
    kit_source source;
    /* Make the modules under arm->net, and arm->optim. Errors are arm->tape's. */
    void (*build)(kit_arm *arm);
    /* The mean loss of a batch on arm->tape, which has just been reset; adds to score. NULL when the tape is in error. Called in training
     * and, with the tape in evaluation mode and recording off, for the test set. */
    gr_tensor *(*loss)(kit_arm *arm, const void *batch, kit_score *score);
    void *user;
    size_t steps, every;         /* in all; between evaluations. 0: as --steps or --epochs, and --eval-every say */
    double clip;                 /* largest norm of the gradient; 0: any */
    double mark[KIT_MARKS];      /* test accuracies in percent that are worth noting, in rising order; 0: none */
    bool marks_are_losses;       /* or test losses, in falling order */
    uint64_t seed;               /* of the arms' tapes; 0: as --seed says */
    bool unaudited;              /* no audit of the first step: it keeps what gr_recompute would run again */
    /* If there is one, nothing is printed, and it is called after each step, when the arms' tapes still hold it, and then after each
     * evaluation (evaluated), of which one more comes before the first step. Returns false to stop. */
    bool (*watch)(struct kit_arms *a, size_t step, bool evaluated);
    kit_arm arm[KIT_ARMS];
    size_t n;
} kit_arms;

/* One more arm, KIT_ARMS at most. */
void kit_arms_add(kit_arms *a, const char *name, int kind);

/* Build the arms and train them to the end or to Ctrl-C; the test set comes last, too. Unless --quiet, prints a line an evaluation, progress
 * where stderr is a terminal, and to stderr the audit of the first step of an arm that has parameters which do not learn; writes records "step", "eval" and "arm" to the log. Returns false on an error, which is then on
 * r->tape. */
bool kit_arms_run(kit_run *r, kit_arms *a);

/* What --steps says, else so many epochs in steps, at least one. */
size_t kit_steps(const kit_options *o, double epochs, size_t per_epoch);

/* A line an arm: losses, accuracy, the gap (test loss less the training loss since the evaluation before), steps and seconds to the
 * marks, time of a step. */
void kit_arms_table(FILE *out, const kit_arms *a);
void kit_arms_free(kit_arms *a);

/* The usual loss: cross-entropy of logits [n, classes], which are also scored. */
gr_tensor *kit_classify(gr_tape *t, gr_tensor *logits, const int *labels, kit_score *score);

/* Images as a source, whose batches are kit_batch. Free before the data and the tape. */
typedef struct { kit_batches train, test; kit_batch batch; gr_tape *tape; } kit_images;
kit_images kit_images_new(gr_tape *t, const kit_data *d, size_t batch);
void kit_images_free(kit_images *i);
kit_source kit_images_source(kit_images *i);

#endif
