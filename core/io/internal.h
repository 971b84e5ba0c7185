/* core/io/internal.h - reading and writing safetensors files without a tape. core/files.c offers it to programs. */
#ifndef GR_IO_INTERNAL_H
#define GR_IO_INTERNAL_H
#include "core/base.h"
#include "core/io/safetensors.h"

/* core/files.h says what they do. e must not hold an error yet. */
gr_safetensors *gr__safetensors_open(gr__failure *e, const gr_allocator *memory, const char *path);
gr_safetensors *gr__safetensors_parse(gr__failure *e, const gr_allocator *memory, const char *path, const void *bytes, size_t n);
bool gr__safetensors_write(gr__failure *e, const gr_allocator *memory, const char *path, const gr_safetensors_item *items, size_t n,
                           const char *const *notes);

/* Parse length bytes of header into f, which has memory for its text and knows how many bytes of data follow. *digits: where in json
 * those of the checksum are, or NULL. */
bool gr__safetensors_header(gr__failure *e, gr_safetensors *f, const char *path, const char *json, size_t length, const char **digits);
int gr__entry_by_name(const void *a, const void *b); /* of gr_safetensors_entry: the order of gr_safetensors.entry */
enum { GR__LARGEST_HEADER = 100000000 };

#endif
