/* core/base.h - helpers for the whole library that know no tape: errors, text, memory, sorting, hashes. */
#ifndef GR_BASE_H
#define GR_BASE_H
#include "core/error.h"
#include "core/memory.h"
#include "core/shape.h"
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* ---- core/failure.c: the first error and its message. A tape holds one; core/io knows no tape, and takes a pointer to one. ---- */

typedef struct { gr_error code; char message[1024]; } gr__failure;

static inline bool gr__has_failed(const gr__failure *e) { return !e || e->code; }

/* Set e to "name: message", or with a place to "name in place: message", unless e is NULL or holds an error already. The format is printf's. When
 * name is NULL or "", e gets the message alone. Both functions always return NULL. */
void *gr__fail(gr__failure *e, gr_error code, const char *name, const char *format, ...) __attribute__((format(GR_PRINTF, 4, 5)));
void *gr__fail_with(gr__failure *e, gr_error code, const char *name, const char *place, const char *format, va_list arguments)
    __attribute__((format(GR_PRINTF, 5, 0)));

/* ---- core/text.c ---- */

/* How many bytes the UTF-8 character at s takes, and the character in *u; 0 when the bytes before end are not valid UTF-8. */
size_t gr__utf8(const char *s, const char *end, unsigned *u);
/* Whether s can be a name in a file: UTF-8 text that is not empty and holds no character of `without`. */
bool gr__is_name(const char *s, const char *without);
/* Copy text to out, which has room bytes, so that a terminal can show it safely: control characters, characters that change the direction of
 * writing, and bytes that are not UTF-8 become escapes, \x1b or \u202e. */
void gr__text_for_terminal(char *out, size_t room, const char *text);
/* Write "[64, 28]" to text, which has GR__SHAPE_ROOM bytes, or "rank 9" when the rank is not 0 .. 8. Returns text. */
enum { GR__SHAPE_ROOM = GR_MAX_RANK * 24 };
const char *gr__shape_write(char *text, int rank, const size_t *dim);

/* ---- core/memory.c ---- */

/* Make room for one more element in an array that has `count` of them and room for *room. array is the address of the pointer to it, size the
 * size of an element. False, with nothing changed, when there is not enough memory. */
bool gr__grow(const gr_allocator *memory, void *array, size_t count, size_t *room, size_t size);

/* ---- core/sort.c ---- */

/* Sort n elements of size bytes by compare, in place and without memory. Equal elements may change places. */
void gr__sort(void *base, size_t n, size_t size, int (*compare)(const void *a, const void *b));

/* ---- Hashes: FNV-1a with 64 bits (Fowler, Noll, Vo). The first word is hashed onto GR__HASH, the next onto the result. ---- */

#define GR__HASH UINT64_C(0xcbf29ce484222325)
static inline uint64_t gr__hash(uint64_t hash, uint64_t word) { return (hash ^ word) * UINT64_C(0x100000001b3); }
static inline uint64_t gr__hash_text(uint64_t hash, const char *text)
{
    for (; *text; text++) hash = gr__hash(hash, (uint8_t)*text);
    return hash;
}

#endif
