/* examples/kit/run.h - the frame of a program: the common flags, one tape for data and errors, the log, the exit code.
 *
 *     static kit_options o = { .batch = 128, .epochs = 1, .lr = 1e-3, .seed = 42 };
 *     static const kit_flag flag[] = { KIT_FLAG_DIGITS(o), KIT_FLAGS_TRAINING(o), KIT_FLAGS_RUN(o, "exit 1 unless ..") };
 *     static const kit_flags flags = { "name", "what it does", flag, sizeof flag / sizeof *flag };
 *     int main(int argc, char **argv)
 *     {
 *         kit_run r;
 *         int code = kit_run_start(&r, &flags, &o, argc, argv);
 *         if (code != KIT_GO_ON) return code;
 *         ... open the files that the user named; errors go to r.tape
 *         if (kit_run_begin(&r, "which data")) { ... work ...; kit_run_need(&r, loss < 1, "the loss is %g, not below 1", loss); }
 *         ... free what was opened
 *         return kit_run_end(&r);
 *     }                                                                                                                    */
#ifndef KIT_RUN_H
#define KIT_RUN_H
#include "examples/kit/flags.h"
#include "examples/kit/log.h"

/* The values of the common flags. A program sets the defaults. threads 0 means one per core, at most 4. */
typedef struct {
    const char *data, *log;
    uint64_t batch, steps, eval_every, seed, threads;
    double epochs, lr;
    bool quiet, check;
    bool resume; /* append to the log instead of emptying it */
} kit_options;

#define KIT_FLAG_DIGITS(o) \
    { "data", KIT_TEXT, &(o).data, "DIR|none", "folder of the four MNIST files, or none for drawn digits; default: data/mnist if it exists", 0, 0 }
#define KIT_FLAGS_TRAINING(o) \
    { "batch", KIT_COUNT, &(o).batch, "N", "samples per step", 1, 1 << 20 }, \
    { "epochs", KIT_NUMBER, &(o).epochs, "X", "passes over the training set; may be a fraction", 1e-6, 1e6 }, \
    { "steps", KIT_COUNT, &(o).steps, "N", "training steps; 0 means as many as --epochs gives", 0, 1e12 }, \
    { "lr", KIT_NUMBER, &(o).lr, "X", "learning rate", 1e-12, 1e6 }, \
    { "eval-every", KIT_COUNT, &(o).eval_every, "N", "steps between evaluations; 0 means 5 or 10 evaluations in all", 0, 1e12 }
#define KIT_FLAGS_RUN(o, check_does) \
    { "seed", KIT_COUNT, &(o).seed, "N", "seed of all random numbers", 0, 0 }, \
    { "threads", KIT_COUNT, &(o).threads, "N", "threads; any number gives the same bits; 0 means one per core, at most 4", 0, 256 }, \
    { "log", KIT_TEXT, &(o).log, "FILE", "write a record of each step and evaluation (JSON lines)", 0, 0 }, \
    { "quiet", KIT_SWITCH, &(o).quiet, NULL, "print only the result", 0, 0 }, \
    { "check", KIT_SWITCH, &(o).check, NULL, check_does, 0, 0 }

typedef struct {
    const kit_flags *flags;
    const kit_options *o;
    gr_tape *tape; /* holds the program's data, random streams and errors */
    gr_pool *pool; /* the threads; the program's other tapes use them too */
    kit_log log;
    bool started, missed;
    char stopped[80]; /* the end of the message after Ctrl-C: " after step 7" */
} kit_run;

/* Read the command line, and make the pool and the tape. Returns KIT_GO_ON, or the exit code that the program ends with at once. */
int kit_run_start(kit_run *r, const kit_flags *flags, kit_options *o, int argc, char **argv);

/* Call this when every file that the user named is open: it opens the log and writes its first record, prints the name of the data, and
 * catches Ctrl-C. Returns false if r->tape is in error; the program then frees what it has and calls kit_run_end. */
bool kit_run_begin(kit_run *r, const char *data);

/* With --check, unless ok: print the text to stderr, and make kit_run_end return 1. Returns ok. */
bool kit_run_need(kit_run *r, bool ok, const char *format, ...) __attribute__((format(GR_PRINTF, 3, 4)));

/* If t, another tape of the program, is in error, make that an error of the run, with name before the message. */
void kit_run_fail(kit_run *r, const char *name, const gr_tape *t);

/* Close the log, print the error if there is one, and free tape and pool. All other tapes on the pool must be freed before. Returns the
 * exit code. */
int kit_run_end(kit_run *r);

#endif
