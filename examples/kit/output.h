/* examples/kit/output.h - write a file so that it appears complete or not at all. It calls functions that the shared library hides, so `make install`
 * leaves it out of what it installs of this folder. */
#ifndef KIT_OUTPUT_H
#define KIT_OUTPUT_H
#include "core/io/file.h"
#include "core/tape.h"
#include <stdio.h>

/* A file that is being written. The caller writes to out; kit_file_end puts the file at path and replaces an older one in one step. */
typedef struct { FILE *out; gr__file file; } kit_file;
/* An error is set on t and names path and the reason; out is then NULL. */
kit_file kit_file_begin(gr_tape *t, const char *path);
/* Returns false when the file could not be written completely or t is in error: the error is on t, and path is as it was before. */
bool kit_file_end(gr_tape *t, kit_file *file);

/* Whether a file can be written at path: a test before a long run whose result comes at the end. It leaves path as it is. path may be NULL.
 * An error is set on t and names the flag. */
bool kit_can_write(gr_tape *t, const char *flag, const char *path);

#endif
