/* core/io/safetensors.h - files of named tensors, as the Python package safetensors reads and writes them:
 *     8 bytes    N, the length of the header, little-endian
 *     N bytes    JSON: {"fc1.weight": {"dtype": "F32", "shape": [16, 2], "data_offsets": [0, 128]}, ...}
 *     the rest   the values, row-major, little-endian, without holes */
#ifndef GR_SAFETENSORS_H
#define GR_SAFETENSORS_H
#include "core/tensor.h"
GR_BEGIN

typedef enum { GR_F16, GR_BF16, GR_I32, GR_F32, GR_F64, GR_I64, GR_DTYPES } gr_dtype;
#ifdef GR_REAL_DOUBLE
#define GR_REAL_DTYPE GR_F64
#else
#define GR_REAL_DTYPE GR_F32
#endif
GR_API const char *gr_dtype_name(gr_dtype dtype); /* "F16"; "?" when there is no such type */
GR_API size_t gr_dtype_bytes(gr_dtype dtype);     /* likewise 0 */

/* ---- Reading ---- */

typedef struct {
    const char *name;
    gr_dtype dtype;
    gr_shape shape;
    size_t len, offset, bytes;  /* values; where in the data; how many bytes there */
    const unsigned char *data;  /* not aligned: read it with the functions below, or memcpy */
} gr_safetensors_entry;

typedef struct { const char *key, *value; } gr_safetensors_note;

typedef struct {
    gr_safetensors_entry *entry; /* count of them, sorted by name (bytewise) */
    gr_safetensors_note *note;   /* notes of them: the strings of __metadata__, sorted by key */
    size_t count, notes;
    gr_allocator memory;
    char *text;                  /* names, keys and values */
    unsigned char *data;
    size_t entry_room, note_room, text_bytes, data_bytes;
} gr_safetensors;

/* Read a file and check all of it: no holes, overlaps, duplicate names, sizes that do not fit; rank at most 8; a header of at most
 * 100,000,000 bytes, nested no deeper than 2; and the checksum, when the file has one. No more memory is asked for than the file is
 * long, a small factor aside. NULL on an error. Free with gr_safetensors_free.
 *
 * The checksum is a note of __metadata__, "checksum": "crc64:" and 16 hexadecimal digits: the CRC-64/XZ of the whole file, in which
 * these digits stand as zeros. It covers the length, the header and the data, so that a damaged file is an error and not another
 * model. Every file of gr_state_save and gr_checkpoint_save has one, and a note "format" that begins with "gradus ": without the
 * checksum, a file with such a note is an error too. Files of other programs load without one. */
GR_API gr_safetensors *gr_safetensors_open(gr_tape *t, const char *path);
/* The same from memory, which is copied; path only names it in messages. */
GR_API gr_safetensors *gr_safetensors_parse(gr_tape *t, const char *path, const void *bytes, size_t n);
GR_API void gr_safetensors_free(gr_safetensors *f);

GR_API const gr_safetensors_entry *gr_safetensors_find(const gr_safetensors *f, const char *name); /* NULL when there is none, or for NULL */
GR_API const char *gr_safetensors_note_of(const gr_safetensors *f, const char *key);              /* likewise */

/* The values of e, converted to gr_real (rounded to nearest) or to int64_t (of I64 and I32 alone). */
GR_API void gr_safetensors_reals(const gr_safetensors_entry *e, gr_real *out);
GR_API void gr_safetensors_integers(const gr_safetensors_entry *e, int64_t *out);

/* ---- Writing ---- */

typedef struct {
    const char *name;
    gr_dtype dtype;
    gr_shape shape;
    const void *data;
} gr_safetensors_item;

/* Write n tensors to path, which is replaced as a whole or not at all. The order in the file is that of the Python package, and
 * so is each byte: larger types first, then by name; the header is padded with spaces to a multiple of 8 bytes. notes: key, value,
 * key, value, ... NULL, or NULL. Names and notes are UTF-8, each name and each key is there once. No checksum is added, unless notes
 * has the key "checksum": then the file's checksum is the value that is written, whatever value was given.
 * Where path is a symbolic link, the file that it leads to is written, and the link stays. Replacing asks for the permission to write in the
 * folder; the file's own permissions are kept, and do not protect it.
 * While a file is written it is called path.gradus-0.tmp, or -1 and so on to -31 (a short name where that is too long for the folder),
 * and locked by flock. What a killed program left there is removed by the next save of the same path; what is locked never is. On a
 * network file system whose locks other machines do not see, only one machine may save to a path at a time. */
GR_API bool gr_safetensors_write(gr_tape *t, const char *path, const gr_safetensors_item *items, size_t n, const char *const *notes);

/* Bytes of the character of valid UTF-8 at s, 0 when there is none before end. */
size_t gr__utf8(const char *s, const char *end);
/* Parse length bytes of header into f, which has memory for its text and knows how many bytes of data follow. *digits: where in json
 * those of the checksum are, or NULL. */
bool gr__safetensors_header(gr_tape *t, gr_safetensors *f, const char *path, const char *json, size_t length, const char **digits);
enum { GR__LARGEST_HEADER = 100000000 };
/* In place and without memory: size bytes each, ordered by compare. */
void gr__sort(void *base, size_t n, size_t size, int (*compare)(const void *a, const void *b));

GR_END
#endif
