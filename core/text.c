/* core/text.c - UTF-8, text that a terminal shows without obeying it, and shapes as text. */
#include "core/base.h"
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

size_t gr__utf8(const char *s, const char *end)
{
    const unsigned char *const u = (const unsigned char *)s;
    const size_t left = (size_t)(end - s);
    const size_t n = u[0] < 0x80 ? 1 : u[0] < 0xc2 ? 0 : u[0] < 0xe0 ? 2 : u[0] < 0xf0 ? 3 : u[0] < 0xf5 ? 4 : 0;
    if (!n || n > left) return 0;
    for (size_t i = 1; i < n; i++)
        if ((u[i] & 0xc0) != 0x80) return 0;
    const bool too_long = (u[0] == 0xe0 && u[1] < 0xa0) || (u[0] == 0xf0 && u[1] < 0x90);
    const bool surrogate = u[0] == 0xed && u[1] > 0x9f, too_high = u[0] == 0xf4 && u[1] > 0x8f;
    return too_long || surrogate || too_high ? 0 : n;
}

/* Whether a terminal or a reader would be led astray by character u: controls (C0, DEL, C1), line separators, and marks that change
 * the direction of writing. */
static bool is_misleading(unsigned u)
{
    return u < 0x20 || (u >= 0x7f && u < 0xa0) || u == 0x61c || u == 0x200e || u == 0x200f || (u >= 0x2028 && u <= 0x202e) ||
           (u >= 0x2066 && u <= 0x2069);
}

static unsigned utf8_character(const char *s, size_t bytes)
{
    unsigned u = bytes == 1 ? (unsigned char)*s : (unsigned char)*s & (0xffu >> (bytes + 1));
    for (size_t i = 1; i < bytes; i++) u = u << 6 | ((unsigned char)s[i] & 0x3f);
    return u;
}

void gr__text_for_terminal(char *out, size_t room, const char *text)
{
    const size_t length = strlen(text);
    size_t n = 0;
    for (const char *s = text, *const end = text + length; s < end;) {
        const size_t bytes = gr__utf8(s, end);
        if (!bytes && length + 1 >= room && end - s < 4) break; /* the character that a full buffer has cut */
        const unsigned u = bytes ? utf8_character(s, bytes) : (unsigned char)*s;
        char escape[8];
        const bool escapes = !bytes || is_misleading(u);
        const size_t wide = escapes ? (size_t)snprintf(escape, sizeof escape, u < 0x80 || !bytes ? "\\x%02x" : "\\u%04x", u) : bytes;
        if (n + wide >= room) break;
        memcpy(out + n, escapes ? escape : s, wide);
        n += wide, s += bytes ? bytes : 1;
    }
    out[n] = 0;
}

const char *gr__shape_write(char *text, int rank, const size_t *dim)
{
    char *end = text;
    if (rank < 0 || rank > GR_MAX_RANK) {
        snprintf(text, GR__SHAPE_ROOM, "rank %d", rank);
        return text;
    }
    *end++ = '[';
    for (int i = 0; i < rank; i++) {
        const char *const comma = i ? ", " : "";
        end += dim[i] == GR_INFER ? snprintf(end, 24, "%sGR_INFER", comma) : snprintf(end, 24, "%s%zu", comma, dim[i]);
    }
    *end++ = ']', *end = 0;
    return text;
}
