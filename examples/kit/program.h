/* examples/kit/program.h - exit codes, standard streams, Ctrl-C, the clock, and facts about the machine. */
#ifndef KIT_PROGRAM_H
#define KIT_PROGRAM_H
#include "nn/module.h"

enum {
    KIT_DONE = 0,
    KIT_MISSED = 1,        /* --check missed its target, or a number became NaN or infinite */
    KIT_BAD_INPUT = 2,     /* a wrong flag, path or data file */
    KIT_NO_ROOM = 3,       /* out of memory, or the disk was full during the run */
    KIT_INTERRUPTED = 130, /* Ctrl-C; shells use this number */
};

/* Return the exit code for the state of t, and print its message, if it has one, to stderr after the program's name. When the run had
 * started, a file that cannot be read or written is a failure of the machine (3), no longer a wrong input (2). */
int kit_exit_code(const gr_tape *t, const char *program, bool started);

/* Call this first in main. It opens a closed stdin, stdout or stderr as one that refuses reads and writes: otherwise a file that is opened
 * later would get that number, and printed text would go into it. It also turns the signals of a broken pipe and of a file that may not
 * grow into errors of the write (EPIPE, EFBIG), so that the run can still keep its files. */
void kit_program_start(void);

/* Returns true if everything printed to stdout has arrived, and sets an error on t otherwise. After an interrupt, lost output is not an error. */
bool kit_check_stdout(gr_tape *t);

/* From now on the first Ctrl-C or SIGTERM only sets kit_interrupted; a second one ends the program at once. The first one also ends a write
 * to stdout, stderr or the watched fd that waits for the reader of a pipe, and later output to that pipe is lost. */
void kit_catch_interrupts(void);
void kit_watch_fd(int fd); /* the log's; -1 means none */
bool kit_interrupted(void);

/* The larger of the two. Used instead of fmax, because gcc 12 for ARM64 crashes (internal error) on fmax over floats in a loop. */
static inline double kit_larger(double most, double x) { return x > most ? x : most; }

double kit_seconds(void);                     /* a clock that never goes back */
int kit_cores(void);                          /* cores that this process may use */
const char *kit_cpu(char *name, size_t bytes); /* the model name in /proc/cpuinfo, or "unknown" */
#ifdef GR_OPENBLAS
#define KIT_BLAS "openblas"
#else
#define KIT_BLAS "own"
#endif

/* Continue `hash` over n bytes (FNV-1a, 64 bits). A new hash starts with KIT_HASH. */
#define KIT_HASH UINT64_C(0xcbf29ce484222325)
uint64_t kit_hash(uint64_t hash, const void *data, size_t n);
/* A hash of all names and values under m: equal bits give equal fingerprints. */
uint64_t kit_fingerprint(const gr_module *m);

#endif
