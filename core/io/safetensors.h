/* core/io/safetensors.h - files of named tensors, as the Python package safetensors reads and writes them. core/files.h has the
 * functions that read and write a file.
 *     8 bytes    N, the length of the header, little-endian
 *     N bytes    JSON: {"fc1.weight": {"dtype": "F32", "shape": [16, 2], "data_offsets": [0, 128]}, ...}
 *     the rest   the values, row-major, little-endian, without holes */
#ifndef GR_SAFETENSORS_H
#define GR_SAFETENSORS_H
#include "core/memory.h"
#include "core/shape.h"
#include <stdint.h>

typedef enum { GR_F16, GR_BF16, GR_I32, GR_F32, GR_F64, GR_I64, GR_DTYPES } gr_dtype;
#ifdef GR_REAL_DOUBLE
#define GR_REAL_DTYPE GR_F64
#else
#define GR_REAL_DTYPE GR_F32
#endif
GR_API const char *gr_dtype_name(gr_dtype dtype); /* "F16"; "?" when there is no such type */
GR_API size_t gr_dtype_bytes(gr_dtype dtype);     /* 2 for GR_F16; 0 when there is no such type */

/* ---- Reading ---- */

typedef struct {
    const char *name;
    gr_dtype dtype;
    gr_shape shape;
    size_t len, offset, bytes;  /* how many values; the place in the data and the length there, in bytes */
    const unsigned char *data;  /* not aligned: read it with the functions below, or with memcpy */
} gr_safetensors_entry;

typedef struct { const char *key, *value; } gr_safetensors_note;

typedef struct { /* a program reads the first six fields; the other fields are the library's */
    gr_safetensors_entry *entry; /* count entries, sorted by name (bytewise) */
    gr_safetensors_note *note;   /* notes of them: the strings of __metadata__, sorted by key */
    size_t count, notes, data_bytes;
    unsigned char *data;         /* data_bytes bytes: the values of all entries */
    gr_allocator memory;
    char *text;                  /* names, keys and values */
    unsigned char *file;         /* the bytes of the file */
    size_t entry_room, note_room, text_bytes, file_bytes;
} gr_safetensors;

GR_API void gr_safetensors_free(gr_safetensors *f); /* f may be NULL */

/* The entry of that name, and the value of the note with that key, owned by f; NULL when there is none, or when an argument is NULL. */
GR_API const gr_safetensors_entry *gr_safetensors_find(const gr_safetensors *f, const char *name);
GR_API const char *gr_safetensors_note_of(const gr_safetensors *f, const char *key);

/* Write the e->len values of e to out, converted to gr_real (rounded to nearest), or to int64_t (GR_I64 and GR_I32 only: other types write nothing). */
GR_API void gr_safetensors_reals(const gr_safetensors_entry *e, gr_real *out);
GR_API void gr_safetensors_integers(const gr_safetensors_entry *e, int64_t *out);

/* ---- Writing ---- */

typedef struct { /* the caller fills and owns all of it */
    const char *name;
    gr_dtype dtype;
    gr_shape shape;
    const void *data; /* row-major values of that type */
} gr_safetensors_item;

#endif
