/* core/io/checksum.h - CRC-64/XZ of a file: the reflected polynomial of ECMA-182, as in xz and 7-Zip. It detects every one or two flipped bits
 * and every burst of at most 64 bits, in files of any size; it misses other damage with a probability of 2^-64. CRC-32C would detect two
 * flipped bits only in the first 256 MB, and misses other damage with a probability of 2^-32. */
#ifndef GR_CHECKSUM_H
#define GR_CHECKSUM_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A checksum: start it, add bytes in pieces of any size, and read gr__checksum_value at any time. */
typedef struct { uint64_t state, table[8][256]; } gr__checksum;

void gr__checksum_start(gr__checksum *c);
void gr__checksum_add(gr__checksum *c, const void *p, size_t n);
uint64_t gr__checksum_value(const gr__checksum *c);

/* A file with a checksum has the note "checksum" in its header, with the text of the checksum: crc64: and 16 hexadecimal digits. The checksum is
 * that of the whole file with zeros for these digits. */
#define GR__CHECKSUM_KEY "checksum"
#define GR__CHECKSUM_NAME "crc64:"
#define GR__CHECKSUM_ZEROS "0000000000000000"
enum { GR__CHECKSUM_DIGITS = 16, GR__CHECKSUM_LENGTH = sizeof GR__CHECKSUM_NAME - 1 + GR__CHECKSUM_DIGITS };

void gr__checksum_text(uint64_t value, char *text); /* text has room for GR__CHECKSUM_LENGTH bytes and a 0 */
bool gr__checksum_is_text(const char *text, size_t length); /* behind the length bytes there is something else than a digit */

#endif
