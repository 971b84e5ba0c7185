/* examples/kit/run.h - the frame of a program: the flags that all share, one tape for its data and errors, the log, the exit code.
 *
 *     static kit_options o = { .batch = 128, .epochs = 1, .lr = 1e-3, .seed = 42 };
 *     static const kit_flag flag[] = { KIT_FLAG_DIGITS(o), KIT_FLAGS_TRAINING(o), KIT_FLAGS_RUN(o, "exit 1 unless ..") };
 *     static const kit_flags flags = { "name", "what it does", flag, sizeof flag / sizeof *flag };
 *     int main(int argc, char **argv)
 *     {
 *         kit_run r;
 *         int code = kit_run_start(&r, &flags, &o, argc, argv);
 *         if (code != KIT_GO_ON) return code;
 *         ... open what may be missing; errors go to r.tape
 *         if (kit_run_begin(&r, "which data")) { ... work ...; kit_run_need(&r, loss < 1, "the loss is %g, not below 1", loss); }
 *         ... free what was opened
 *         return kit_run_end(&r);
 *     }                                                                                                                    */
#ifndef KIT_RUN_H
#define KIT_RUN_H
#include "examples/kit/flags.h"
#include "examples/kit/log.h"

/* What the common flags fill; a program sets its defaults. threads: 0 is one for each core, four at most. */
typedef struct {
    const char *data, *log;
    uint64_t batch, steps, eval_every, seed, threads;
    double epochs, lr;
    bool quiet, check;
    bool resume; /* the log goes on at its end instead of starting anew */
} kit_options;

#define KIT_FLAG_DIGITS(o) \
    { "data", KIT_TEXT, &(o).data, "DIR|none", "folder of the four MNIST files; none: drawn digits (data/mnist, else none)", 0, 0 }
#define KIT_FLAGS_TRAINING(o) \
    { "batch", KIT_COUNT, &(o).batch, "N", "samples in a step", 1, 1 << 20 }, \
    { "epochs", KIT_NUMBER, &(o).epochs, "X", "times through the training set, or a part of it", 1e-6, 1e6 }, \
    { "steps", KIT_COUNT, &(o).steps, "N", "so many steps instead of --epochs; 0: as --epochs says", 0, 1e12 }, \
    { "lr", KIT_NUMBER, &(o).lr, "X", "learning rate", 1e-12, 1e6 }, \
    { "eval-every", KIT_COUNT, &(o).eval_every, "N", "evaluate every so many steps; 0: ten times in all", 0, 1e12 }
#define KIT_FLAGS_RUN(o, check_does) \
    { "seed", KIT_COUNT, &(o).seed, "N", "of all random numbers", 0, 0 }, \
    { "threads", KIT_COUNT, &(o).threads, "N", "any number gives the same bits; 0: one a core, 4 at most", 0, 256 }, \
    { "log", KIT_TEXT, &(o).log, "FILE", "write a record of each step and evaluation (JSON lines)", 0, 0 }, \
    { "quiet", KIT_SWITCH, &(o).quiet, NULL, "print the result only", 0, 0 }, \
    { "check", KIT_SWITCH, &(o).check, NULL, check_does, 0, 0 }

typedef struct {
    const kit_flags *flags;
    const kit_options *o;
    gr_tape *tape; /* for data, random streams and errors of the program as a whole */
    gr_pool *pool; /* the threads, for tapes of its own */
    kit_log log;
    bool started, missed;
    char stopped[80]; /* what the message after Ctrl-C adds: " after step 7" */
} kit_run;

/* Read the command line, make pool and tape. Returns KIT_GO_ON, or the exit code to end with at once. */
int kit_run_start(kit_run *r, const kit_flags *flags, kit_options *o, int argc, char **argv);

/* Everything that the user named is there: open the log and write its first record, print which data these are, catch Ctrl-C. Returns false
 * if r->tape is in error; then only freeing and kit_run_end are left to do. */
bool kit_run_begin(kit_run *r, const char *data);

/* With --check: unless ok, print this text to stderr and end with 1. Returns ok. */
bool kit_run_need(kit_run *r, bool ok, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Close the log, print the error if there is one, free tape and pool (all other tapes on the pool must be gone). Returns the exit code. */
int kit_run_end(kit_run *r);

#endif
