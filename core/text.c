/* core/text.c - UTF-8, text that a terminal can show safely, and shapes as text. */
#include "core/base.h"

size_t gr__utf8(const char *s, const char *end, unsigned *u)
{
    static const unsigned least[] = { 0, 0, 0x80, 0x800, 0x10000 }; /* a character of n bytes is no smaller: it would fit fewer */
    const unsigned char first = (unsigned char)*s;
    const size_t n = first < 0x80 ? 1 : first < 0xc0 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf8 ? 4 : 0;
    if (!n || n > (size_t)(end - s)) return 0;
    *u = n == 1 ? first : first & (0xffu >> (n + 1));
    for (size_t i = 1; i < n; i++) {
        if (((unsigned char)s[i] & 0xc0) != 0x80) return 0;
        *u = *u << 6 | ((unsigned char)s[i] & 0x3f);
    }
    const bool surrogate = *u >= 0xd800 && *u < 0xe000;
    return *u < least[n] || surrogate || *u > 0x10ffff ? 0 : n;
}

bool gr__is_name(const char *s, const char *without)
{
    unsigned u;
    const char *at = s, *const end = s + strlen(s);
    for (size_t n; at < end && !strchr(without, *at) && (n = gr__utf8(at, end, &u)); at += n) {}
    return *s && at == end;
}

/* Whether character u could mislead a terminal or a reader: controls (C0, DEL, C1), line separators, and marks that change
 * the direction of writing. */
static bool is_misleading(unsigned u)
{
    return u < 0x20 || (u >= 0x7f && u < 0xa0) || u == 0x61c || u == 0x200e || u == 0x200f || (u >= 0x2028 && u <= 0x202e) || (u >= 0x2066 && u <= 0x2069);
}

void gr__text_for_terminal(char *out, size_t room, const char *text)
{
    const size_t length = strlen(text);
    size_t n = 0;
    for (const char *s = text, *const end = text + length; s < end;) {
        unsigned u;
        const size_t bytes = gr__utf8(s, end, &u);
        if (!bytes && length + 1 >= room && end - s < 4) break; /* a full buffer has cut this character */
        if (!bytes) u = (unsigned char)*s;
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
    if (rank < 0 || rank > GR_MAX_RANK) return snprintf(text, GR__SHAPE_ROOM, "rank %d", rank), text;
    *end++ = '[';
    for (int i = 0; i < rank; i++) {
        const char *const comma = i ? ", " : "";
        end += dim[i] == GR_INFER ? snprintf(end, 24, "%sGR_INFER", comma) : snprintf(end, 24, "%s%zu", comma, dim[i]);
    }
    *end++ = ']', *end = 0;
    return text;
}
