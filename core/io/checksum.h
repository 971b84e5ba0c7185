/* core/io/checksum.h - CRC-64/XZ of a file: ECMA-182's polynomial, reflected, as in xz and in 7-Zip. It finds every flipped bit, every two,
 * and every burst of at most 64 bits, in files of any size; of other damage it misses one in 2^64. CRC-32C would find two
 * flipped bits in the first 256 MB only, and miss one in 2^32. */
#ifndef GR_CHECKSUM_H
#define GR_CHECKSUM_H
#include "core/real.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
GR_BEGIN

/* A checksum that is being made: start, add bytes in any portions, and read gr__checksum_value at any time. */
typedef struct { uint64_t state, table[8][256]; } gr__checksum;

void gr__checksum_start(gr__checksum *c);
void gr__checksum_add(gr__checksum *c, const void *p, size_t n);
uint64_t gr__checksum_value(const gr__checksum *c);

/* A file with a checksum has the note "checksum" with this value, X for the 16 hexadecimal digits, in its header. The checksum is that of
 * the whole file with 16 zeros for the digits. */
#define GR__CHECKSUM_KEY "checksum"
#define GR__CHECKSUM_NAME "crc64:"
enum { GR__CHECKSUM_DIGITS = 16, GR__CHECKSUM_LENGTH = sizeof GR__CHECKSUM_NAME - 1 + GR__CHECKSUM_DIGITS };

/* A value to its text of GR__CHECKSUM_LENGTH bytes and a 0, and back: false when the text is none. */
void gr__checksum_text(uint64_t value, char *text);
bool gr__checksum_of_text(const char *text, size_t length, uint64_t *value);

GR_END
#endif
