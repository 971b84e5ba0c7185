/* examples/kit/file.h - files: read whole and once, or written so that they appear whole or not at all. */
#ifndef KIT_FILE_H
#define KIT_FILE_H
#include "core/io/file.h"
#include "core/tape.h"
#include <stdio.h>

/* What a regular file held, and a 0 behind it. data: memory of the tape's allocator, freed with kit_bytes_free. */
typedef struct { char *data; size_t n, room; } kit_bytes;

/* Read a file to its end in one pass, so that a file that changes meanwhile gives what was read and no more. A folder, a pipe or a device is
 * refused, and so is a file of more than `most` bytes. An error, on t, names path; data is NULL then. */
kit_bytes kit_file_read(gr_tape *t, const char *path, size_t most);
void kit_bytes_free(gr_tape *t, kit_bytes *b);

/* A file in the making: what is written to out comes to path only by kit_file_end, and replaces what was there at once. */
typedef struct { FILE *out; gr__file file; } kit_file;
/* Errors, on t, name path and why; out is NULL then. */
kit_file kit_file_begin(gr_tape *t, const char *path);
/* False, with an error on t and path as it was, when not all of it could be written. On a tape in error, gives up. */
bool kit_file_end(gr_tape *t, kit_file *file);

/* Whether a file can be made at path, for a result that comes only at the end: begins to write it, and gives it up. path may be NULL.
 * An error on t names the flag. */
bool kit_can_write(gr_tape *t, const char *flag, const char *path);

#endif
