/* examples/kit/resume.h - checkpoints that know the run they belong to. */
#ifndef KIT_RESUME_H
#define KIT_RESUME_H
#include "optim/optim.h"

/* A number that a run must have in common with the one it goes on from: { "--batch", 64 }. */
typedef struct { const char *name; uint64_t value; } kit_fixed;

/* Write weights, optimizer, streams, the n numbers and how many steps were taken to path; path NULL: nothing. See gr_checkpoint_save. */
bool kit_checkpoint_save(gr_tape *t, const char *path, const gr_module *m, const gr_optim *optim, const kit_fixed *fixed, size_t n,
                         size_t taken);
/* Read it back, into a module and an optimizer made alike. A number that differs is an error on t that names it. */
bool kit_checkpoint_load(gr_tape *t, const char *path, gr_module *m, gr_optim *optim, const kit_fixed *fixed, size_t n, size_t *taken);

#endif
