/* core/io/internal.h - read and write files of tensors without a tape. core/files.h has the same functions for programs. */
#ifndef GR_IO_INTERNAL_H
#define GR_IO_INTERNAL_H
#include "core/io/file.h"
#include "core/io/safetensors.h"

/* See core/files.h. e must not hold an error yet. file is open; it is read and closed. */
gr_safetensors *gr__safetensors_read(gr__failure *e, const gr_allocator *memory, gr__file *file);
bool gr__safetensors_write(gr__failure *e, const gr_allocator *memory, const char *path, const gr_safetensors_item *items, size_t n, const char *const *notes);

/* Parse the header json of length bytes into f, which has f->data_bytes and memory for its text. *digits is the place of the checksum's digits
 * in json, or NULL. */
bool gr__safetensors_header(gr__failure *e, gr_safetensors *f, const char *path, const char *json, size_t length, const char **digits);
int gr__by_name(const void *a, const void *b); /* compares two structs that begin with their name: gr_safetensors_entry or _note */
enum { GR__LARGEST_HEADER = 100000000 };

/* Read what the bytes of a file of numpy.save say about its array. v has no name, and its data lie among these bytes. The end of the header becomes 0. */
bool gr__npy_parse(gr__failure *e, const char *path, unsigned char *file, size_t bytes, gr_safetensors_entry *v);
bool gr__npy_write(gr__failure *e, const char *path, gr_dtype dtype, int rank, const size_t *dim, const void *data);

#endif
