/* core/io/checksum.c - CRC-64/XZ, 8 bytes at a time: table[k][b] is the effect of byte b on the remainder when k bytes follow it (Kounavis,
 * Berry 2005, "A systematic approach to building high performance, software-based, CRC generators"). */
#include "core/io/checksum.h"
#include <stdio.h>
#include <string.h>

void gr__checksum_start(gr__checksum *c)
{
    c->state = ~UINT64_C(0);
    for (unsigned b = 0; b < 256; b++) {
        uint64_t r = b;
        for (int bit = 0; bit < 8; bit++) r = r & 1 ? r >> 1 ^ UINT64_C(0xC96C5795D7870F42) : r >> 1;
        c->table[0][b] = r;
    }
    for (int k = 1; k < 8; k++)
        for (unsigned b = 0; b < 256; b++) c->table[k][b] = c->table[k - 1][b] >> 8 ^ c->table[0][c->table[k - 1][b] & 255];
}

void gr__checksum_add(gr__checksum *c, const void *p, size_t n)
{
    const unsigned char *byte = p;
    uint64_t s = c->state;
    for (; n >= 8; n -= 8, byte += 8) {
        uint64_t u;
        memcpy(&u, byte, 8);
        s ^= u;
        s = c->table[7][s & 255] ^ c->table[6][s >> 8 & 255] ^ c->table[5][s >> 16 & 255] ^ c->table[4][s >> 24 & 255] ^
            c->table[3][s >> 32 & 255] ^ c->table[2][s >> 40 & 255] ^ c->table[1][s >> 48 & 255] ^ c->table[0][s >> 56];
    }
    for (; n; n--, byte++) s = s >> 8 ^ c->table[0][(s ^ *byte) & 255];
    c->state = s;
}

uint64_t gr__checksum_value(const gr__checksum *c) { return ~c->state; }

void gr__checksum_text(uint64_t value, char *text) { snprintf(text, GR__CHECKSUM_LENGTH + 1, "%s%016llx", GR__CHECKSUM_NAME, (unsigned long long)value); }

bool gr__checksum_is_text(const char *text, size_t length)
{
    const size_t head = sizeof GR__CHECKSUM_NAME - 1;
    return length == GR__CHECKSUM_LENGTH && !memcmp(text, GR__CHECKSUM_NAME, head) && strspn(text + head, "0123456789abcdef") == GR__CHECKSUM_DIGITS;
}
