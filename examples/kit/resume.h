/* examples/kit/resume.h - checkpoints that remember the settings of their run. */
#ifndef KIT_RESUME_H
#define KIT_RESUME_H
#include "optim/optim.h"

/* A setting that must be the same when a run is resumed: { "--batch", 64 }. */
typedef struct { const char *name; uint64_t value; } kit_fixed;

/* Write weights, optimizer, streams, the n settings and the number of steps taken to path; with path NULL do nothing. See gr_checkpoint_save.
 * Returns false after an error, which is on t. */
bool kit_checkpoint_save(gr_tape *t, const char *path, const gr_module *m, const gr_optim *optim, const kit_fixed *fixed, size_t n,
                         size_t taken);
/* Read a checkpoint into a module and an optimizer with the same structure. A setting that differs is an error on t that names it. */
bool kit_checkpoint_load(gr_tape *t, const char *path, gr_module *m, gr_optim *optim, const kit_fixed *fixed, size_t n, size_t *taken);

#endif
