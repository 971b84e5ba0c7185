/* examples/kit/arms.h - a comparison: arms that differ in one thing train in lockstep on the same batches.
 *
 * Each arm has its own tape, and all these tapes have the same seed. Random streams are named after modules, so a weight, mask or shuffle
 * that two arms have in common has the same bits in both. The arms share the threads. An arm's clock counts only its own training steps,
 * and the arms take turns in going first. An arm whose loss becomes NaN or infinite stops and keeps its last finite weights; the others go on.
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

/* A source of batches. batch returns training batch `number` (0, 1, .. without end) or test batch `number` (0 .. test-1), and writes the
 * number of its samples to *samples. The result is passed to every arm's loss and is valid until the next call. Errors are set on the
 * program's tape. */
typedef struct {
    size_t train, test; /* batches per epoch; batches in the test set */
    const void *(*batch)(void *data, bool training, size_t number, size_t *samples);
    void *data;
    const char *unit;   /* what a sample is called in the progress line; NULL means "images" */
    const char *scored; /* what a score counts, in the conclusion; NULL means the same as unit */
} kit_source;

typedef struct kit_arm {
    const char *name;
    int kind;          /* the difference between the arms, in the program's own numbering */
    void *model;       /* the program's: set by build, used by loss */
    void *user;        /* kit_arms.user, unless the program sets another */
    gr_tape *tape;     /* the arm owns its tape, its root module net, and the optimizer, which build makes */
    gr_module *net;
    gr_optim *optim;
    kit_score recent, whole, tested; /* training since the last evaluation; training since the start; the last evaluation */
    size_t steps, diverged;          /* steps taken; the step whose loss was NaN or infinite, 0 if there was none */
    size_t idle;                     /* parameters that do not learn, by the audit of the first step; 0 if there was no audit */
    double seconds;                  /* spent in this arm's steps */
    struct { size_t step; double seconds; } mark[KIT_MARKS]; /* the first evaluation that reached the mark; step 0 means none did */
} kit_arm;

typedef struct kit_arms {
    const char *title; /* the name of this comparison in tables and in the log */
    kit_source source;
    /* Make the modules under arm->net, and arm->optim. Errors are set on arm->tape. */
    void (*build)(kit_arm *arm);
    /* Return the mean loss of a batch on arm->tape, which has just been reset, and add to score. Return NULL when the tape is in error.
     * It runs for training batches, and for test batches with the tape in evaluation mode and recording off. */
    gr_tensor *(*loss)(kit_arm *arm, const void *batch, kit_score *score);
    void *user;
    size_t steps, every;         /* training steps, default from --steps or --epochs; steps between evaluations, default from --eval-every */
    double clip;                 /* largest norm of the gradient; 0 means no limit */
    double mark[KIT_MARKS];      /* test accuracies in percent, rising: the table shows the step that reaches each; 0 ends the list */
    bool marks_are_losses;       /* the marks are test losses, falling */
    uint64_t seed;               /* of the arms' tapes, default from --seed */
    bool unaudited;              /* skip the audit of the first step, because the audit keeps tensors that gr_recompute would free */
    /* When watch is set, nothing is printed. It is called after each step (evaluated false), while the arms' tapes still hold the step's
     * tensors, and after each evaluation (evaluated true); the first evaluation then comes before the first step. It returns false to stop. */
    bool (*watch)(struct kit_arms *a, size_t step, bool evaluated);
    kit_arm arm[KIT_ARMS];
    size_t n;
} kit_arms;

/* Add an arm; there are at most KIT_ARMS. */
void kit_arms_add(kit_arms *a, const char *name, int kind);

/* Build the arms, train them to the end or until Ctrl-C, and evaluate them after the last step. Without --quiet, print a line per
 * evaluation, show progress where stderr is a terminal, and print to stderr the audit of an arm's first step when it has parameters that
 * do not learn. Write the records "step", "eval" and "arm" to the log. Returns false after an error, which is then on r->tape. */
bool kit_arms_run(kit_run *r, kit_arms *a);

/* The number of steps: --steps, or else the steps in that many epochs, at least one. */
size_t kit_steps(const kit_options *o, double epochs, size_t per_epoch);

/* Print a line per arm: losses, accuracy, the gap (test loss minus the training loss since the evaluation before it), the steps to each mark,
 * milliseconds per step, seconds. Three marks and names of 9 characters fit into 100 columns. */
void kit_arms_table(FILE *out, const kit_arms *a);
void kit_arms_free(kit_arms *a); /* optimizers, modules and tapes of all arms */

/* The mean cross-entropy of logits [n, classes]; adds the loss and the right answers to score. NULL when logits is NULL or on an error. */
gr_tensor *kit_classify(gr_tape *t, gr_tensor *logits, const int *labels, kit_score *score);

/* A source of images. Its batches are kit_batch. The caller frees it before the data and the tape. */
typedef struct { kit_batches train, test; kit_batch batch; gr_tape *tape; } kit_images;
kit_images kit_images_new(gr_tape *t, const kit_data *d, size_t batch);
/* Whether every training batch has the two images that BatchNorm needs: a test before a long run. An error is set on t and names the flags. */
bool kit_images_have_two(gr_tape *t, const kit_data *d, const char *flags, size_t batch);
void kit_images_free(kit_images *i);
kit_source kit_images_source(kit_images *i);

#endif
