/* core/io/internal.h - read and write safetensors files without a tape. core/files.h has the same functions for programs. */
#ifndef GR_IO_INTERNAL_H
#define GR_IO_INTERNAL_H
#include "core/base.h"
#include "core/io/safetensors.h"

/* See core/files.h. e must not hold an error yet. */
gr_safetensors *gr__safetensors_open(gr__failure *e, const gr_allocator *memory, const char *path);
gr_safetensors *gr__safetensors_open_memory(gr__failure *e, const gr_allocator *memory, const void *bytes, size_t length);
bool gr__safetensors_write(gr__failure *e, const gr_allocator *memory, const char *path, const gr_safetensors_item *items, size_t n,
                           const char *const *notes);

/* Parse the header json of length bytes into f, which has f->data_bytes and memory for its text. *digits is the place of the checksum's digits
 * in json, or NULL. */
bool gr__safetensors_header(gr__failure *e, gr_safetensors *f, const char *path, const char *json, size_t length, const char **digits);
int gr__by_name(const void *a, const void *b); /* compares two structs that begin with their name: gr_safetensors_entry or _note */
enum { GR__LARGEST_HEADER = 100000000 };

/* An array in a file of numpy.save: the values, which have no name, and the bytes of the file, in which they lie. After an error, too, the caller
 * frees the `bytes` bytes at file. */
typedef struct { gr_safetensors_entry values; unsigned char *file; size_t bytes; } gr__npy;
bool gr__npy_read(gr__failure *e, const gr_allocator *memory, const char *path, gr__npy *a);
bool gr__npy_write(gr__failure *e, const char *path, gr_dtype dtype, int rank, const size_t *dim, const void *data);

#endif
