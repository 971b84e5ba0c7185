/* examples/kit/file.h - read a file once and whole. */
#ifndef KIT_FILE_H
#define KIT_FILE_H
#include "core/tape.h"
#include <stddef.h>

/* The n bytes of a file, followed by a 0. data comes from the tape's allocator; free it with kit_bytes_free. */
typedef struct { char *data; size_t n, room; } kit_bytes;

/* Read a regular file in one pass, so that n and data agree even if the file changes meanwhile. A folder, a pipe, a device, or a file of
 * more than `most` bytes is an error. An error is set on t and names path; data is then NULL. */
kit_bytes kit_file_read(gr_tape *t, const char *path, size_t most);
void kit_bytes_free(gr_tape *t, kit_bytes *b);

#endif
