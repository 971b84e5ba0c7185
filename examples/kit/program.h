/* examples/kit/program.h - what a program as a whole needs: exit codes, its standard streams, Ctrl-C, the machine. */
#ifndef KIT_PROGRAM_H
#define KIT_PROGRAM_H
#include "core/base.h"
#include "nn/module.h"

enum {
    KIT_DONE = 0,
    KIT_MISSED = 1,        /* --check missed its target, or the numbers left the finite */
    KIT_BAD_INPUT = 2,     /* a flag, a path or a file of data */
    KIT_NO_ROOM = 3,       /* out of memory, or a disk full, on the way */
    KIT_INTERRUPTED = 130, /* by Ctrl-C, as shells count it */
};

/* The exit code for the state of t, whose message goes to stderr after the program's name. started: the run was under way, so that a file
 * that cannot be read or written is no longer an input of the user's but a failure of the machine. */
int kit_exit_code(const gr_tape *t, const char *program, bool started);

/* The first thing that a program does. A closed stdin, stdout or stderr becomes one that cannot be read or written, because a file that is
 * opened later would get its number, and what is printed would go into that file. A pipe that nobody reads any more, and a file that may not
 * grow, become errors of the write (EPIPE, EFBIG) instead of signals that end the program, so that a run can keep its files. */
void kit_program_start(void);

/* Whether all that was printed has arrived: an error on t when not. Of a run that was interrupted, what did not arrive is no error. */
bool kit_check_stdout(gr_tape *t);

/* From now on Ctrl-C and SIGTERM only set kit_interrupted: a second one ends the program at once. They also end a write to stdout, stderr
 * or fd that waits for the reader of a pipe; what would wait is lost from then on. */
void kit_catch_interrupts(void);
void kit_watch_fd(int fd); /* that of the log; -1: none */
bool kit_interrupted(void);

/* The larger one. Over floats gcc 12 for ARM64 has an internal error where fmax stands in a loop. */
static inline double kit_larger(double most, double x) { return x > most ? x : most; }

double kit_seconds(void);                     /* a clock that only runs forward */
int kit_cores(void);                          /* that this process may use */
const char *kit_cpu(char *name, size_t bytes); /* as /proc/cpuinfo has it, else "unknown" */
#ifdef GR_OPENBLAS
#define KIT_BLAS "openblas"
#else
#define KIT_BLAS "own"
#endif

/* A hash that goes on from hash over n bytes (FNV-1a, 64 bits); the first goes on from KIT_HASH. */
#define KIT_HASH GR__HASH
uint64_t kit_hash(uint64_t hash, const void *data, size_t n);
/* Of all names and values under m: the same bits, the same fingerprint. */
uint64_t kit_fingerprint(const gr_module *m);

#endif
