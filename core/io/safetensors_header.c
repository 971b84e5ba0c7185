/* core/io/safetensors_header.c - parse the header of a file of named tensors: once, from left to right, without recursion. The error names the first
 * thing that is wrong, and its place. No number in the file decides about an allocation before it was compared with the file's size. */
#include "core/io/checksum.h"
#include "core/io/internal.h"
#include <stdlib.h>

/* ---- The JSON of a header ---- */

typedef struct {
    gr__failure *e;
    gr_safetensors *f;
    const char *path, *begin, *at, *end;
    char *text; /* the place of the next decoded string; a decoded string is no longer than its JSON, so there is room for all */
    const char *digits; /* the place of the checksum's digits */
    bool noted;         /* __metadata__ was read */
    gr_safetensors_entry entry; /* the tensor that is read now, */
    size_t offsets[2];
    unsigned seen;              /* with a bit for each of its fields that was read */
} json_cursor;

static void *json_bad(json_cursor *c, const char *what)
{
    return gr__fail(c->e, GR_BAD_FILE, c->path, "header byte %zu: %s", (size_t)(c->at - c->begin), what);
}

static char json_next(json_cursor *c) /* the next character that is not white space, without taking it; 0 at the end */
{
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\n' || *c->at == '\t' || *c->at == '\r')) c->at++;
    return c->at < c->end ? *c->at : 0;
}

static bool json_accept(json_cursor *c, char wanted)
{
    if (json_next(c) != wanted) return false;
    c->at++;
    return true;
}

static bool json_expect(json_cursor *c, char wanted, const char *what)
{
    if (json_accept(c, wanted)) return true;
    if (wanted != '{' && wanted != '[' && (json_next(c) == '{' || json_next(c) == '[')) what = "nested deeper than 2";
    return json_bad(c, what);
}

static int json_hex(json_cursor *c) /* four digits, or -1 */
{
    char digits[5] = "";
    if (c->end - c->at < 4) return -1;
    memcpy(digits, c->at, 4);
    const size_t n = strspn(digits, "0123456789abcdefABCDEF");
    c->at += n;
    return n == 4 ? (int)strtol(digits, NULL, 16) : -1;
}

/* Write the character of a \u escape as UTF-8. Characters above 0xffff are a pair of surrogates. */
static bool json_unicode(json_cursor *c)
{
    int u = json_hex(c);
    if (u >= 0xd800 && u < 0xdc00) {
        const bool pair = c->end - c->at >= 2 && c->at[0] == '\\' && c->at[1] == 'u';
        if (pair) c->at += 2;
        const int low = pair ? json_hex(c) : -1;
        u = low >= 0xdc00 && low < 0xe000 ? 0x10000 + (u - 0xd800) * 1024 + low - 0xdc00 : -1;
    }
    if (u <= 0 || (u >= 0xdc00 && u < 0xe000)) return json_bad(c, "a bad \\u escape");
    if (u < 0x80) *c->text++ = (char)u;
    else {
        const int more = u < 0x800 ? 1 : u < 0x10000 ? 2 : 3;
        *c->text++ = (char)(0xff00 >> (more + 1) | u >> 6 * more);
        for (int i = more - 1; i >= 0; i--) *c->text++ = (char)(0x80 | (u >> 6 * i & 0x3f));
    }
    return true;
}

static bool json_escape(json_cursor *c)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const char *const known = c->at < c->end && *c->at ? strchr(from, *c->at) : NULL;
    if (known) *c->text++ = to[known - from];
    else if (c->at >= c->end || *c->at != 'u') return json_bad(c, "a bad escape");
    c->at++;
    return known || json_unicode(c);
}

static bool json_string(json_cursor *c, const char **out)
{
    if (!json_expect(c, '"', "expected a string")) return false;
    *out = c->text;
    while (c->at < c->end && *c->at != '"') {
        if (*c->at == '\\') {
            c->at++;
            if (!json_escape(c)) return false;
            continue;
        }
        unsigned u;
        const size_t bytes = gr__utf8(c->at, c->end, &u);
        if (!bytes || u < 0x20) return json_bad(c, "a string holds a byte that is neither UTF-8 text nor an escape");
        memcpy(c->text, c->at, bytes);
        c->text += bytes, c->at += bytes;
    }
    if (c->at == c->end) return json_bad(c, "the header ends inside a string");
    c->at++, *c->text++ = 0;
    return true;
}

static bool json_number(json_cursor *c, size_t *out)
{
    const char first = json_next(c);
    if (first == '{' || first == '[') return json_bad(c, "nested deeper than 2");
    if (first < '0' || first > '9') return json_bad(c, "expected a whole number, 0 or more");
    *out = 0;
    const char *const start = c->at;
    for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++)
        if (!gr_size_mul(*out, 10, out) || !gr_size_add(*out, (size_t)(*c->at - '0'), out)) return json_bad(c, "a number too large");
    if (*start == '0' && c->at - start > 1) return json_bad(c, "a number with leading zeros");
    return true;
}

/* [n, n, ...] with at most room numbers */
static bool json_numbers(json_cursor *c, size_t *out, int room, int *count)
{
    *count = 0;
    if (!json_expect(c, '[', "expected a list of numbers")) return false;
    for (bool more = json_next(c) != ']'; more; more = json_accept(c, ',')) {
        if (*count == room) return json_bad(c, "too many numbers in a list (a shape has at most 8, data_offsets 2)");
        if (!json_number(c, &out[(*count)++])) return false;
    }
    return json_expect(c, ']', "expected ',' or ']'");
}

/* {"key": .., "key": .., ..}: call member for each key, with the place after the colon. what: the error when no object begins here */
static bool json_object(json_cursor *c, const char *what, bool (*member)(json_cursor *c, const char *key))
{
    const char *key;
    if (!json_expect(c, '{', what)) return false;
    for (bool more = json_next(c) != '}'; more; more = json_accept(c, ','))
        if (!json_string(c, &key) || !json_expect(c, ':', "expected ':'") || !member(c, key)) return false;
    return json_expect(c, '}', "expected ',' or '}'");
}

/* ---- Entries ---- */

static bool json_grow(json_cursor *c, void *array, size_t count, size_t *room, size_t size)
{
    return gr__grow(&c->f->memory, array, count, room, size) || gr__fail(c->e, GR_NO_MEMORY, "", "out of memory: reading '%s'", c->path);
}

static bool read_note(json_cursor *c, const char *key)
{
    gr_safetensors *const f = c->f;
    gr_safetensors_note note = { .key = key };
    const char *const quote = json_next(c) ? c->at : c->end;
    if (!json_string(c, &note.value)) return false;
    if (!strcmp(key, GR__CHECKSUM_KEY) && gr__checksum_is_text(quote + 1, (size_t)(c->at - quote) - 2)) c->digits = c->at - 1 - GR__CHECKSUM_DIGITS;
    if (!json_grow(c, &f->note, f->notes, &f->note_room, sizeof note)) return false;
    f->note[f->notes++] = note;
    return true;
}

static bool read_dtype(json_cursor *c, gr_safetensors_entry *e)
{
    const char *name;
    if (!json_string(c, &name)) return false;
    int k = 0;
    while (k < GR_DTYPES && strcmp(name, gr_dtype_name((gr_dtype)k)) != 0) k++;
    if (k == GR_DTYPES) return gr__fail(c->e, GR_BAD_FILE, c->path, "'%s' is of type %s; F64, F32, F16, BF16, I64 and I32 can be read", e->name, name);
    e->dtype = (gr_dtype)k;
    return true;
}

static bool sizes_agree(json_cursor *c, gr_safetensors_entry *e, const size_t offsets[2])
{
    bool fits = true;
    e->len = 1;
    for (int i = 0; fits && i < e->shape.rank; i++) fits = gr_size_mul(e->len, e->shape.dim[i], &e->len);
    fits = fits && gr_size_mul(e->len, gr_dtype_bytes(e->dtype), &e->bytes) && offsets[0] <= offsets[1];
    e->offset = offsets[0];
    if (fits && offsets[1] - offsets[0] == e->bytes) return true;
    return gr__fail(c->e, GR_BAD_FILE, c->path, "'%s': its type and shape do not fill its bytes %zu .. %zu", e->name, offsets[0], offsets[1]);
}

/* Read one of dtype, shape and data_offsets. */
static bool read_field(json_cursor *c, const char *key)
{
    static const char *const known[] = { "dtype", "shape", "data_offsets" };
    int k = 0, count = 0;
    while (k < 3 && strcmp(key, known[k]) != 0) k++;
    if (k == 3 || c->seen & 1u << k) return json_bad(c, "a tensor must have dtype, shape and data_offsets, each once");
    c->seen |= 1u << k;
    if (k == 0) return read_dtype(c, &c->entry);
    if (k == 1) return json_numbers(c, c->entry.shape.dim, GR_MAX_RANK, &c->entry.shape.rank);
    if (!json_numbers(c, c->offsets, 2, &count)) return false;
    return count == 2 || json_bad(c, "data_offsets must be two numbers");
}

/* A tensor: {"dtype": .., "shape": [..], "data_offsets": [.., ..]} in any order; or the notes, "__metadata__": {"key": "value", ..} */
static bool read_member(json_cursor *c, const char *key)
{
    gr_safetensors *const f = c->f;
    if (!strcmp(key, "__metadata__")) {
        if (c->noted) return json_bad(c, "__metadata__ appears twice");
        c->noted = true;
        return json_object(c, "expected '{': __metadata__ holds strings", read_note);
    }
    c->entry = (gr_safetensors_entry){ .name = key }, c->seen = 0;
    if (!json_object(c, "expected '{': dtype, shape and data_offsets of a tensor", read_field)) return false;
    if (c->seen != 7) return json_bad(c, "a tensor must have dtype, shape and data_offsets, each once");
    if (!sizes_agree(c, &c->entry, c->offsets) || !json_grow(c, &f->entry, f->count, &f->entry_room, sizeof c->entry)) return false;
    f->entry[f->count++] = c->entry;
    return true;
}

/* ---- The whole ---- */

static int entry_by_offset(const void *a, const void *b)
{
    const gr_safetensors_entry *const x = a, *const y = b;
    if (x->offset != y->offset) return x->offset < y->offset ? -1 : 1;
    if (x->bytes != y->bytes) return x->bytes < y->bytes ? -1 : 1;
    return strcmp(x->name, y->name);
}
int gr__by_name(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

/* Check that the tensors fill the data one after the other, and that no name appears twice. Sorts both lists. */
static bool whole_is_sound(json_cursor *c)
{
    gr_safetensors *const f = c->f;
    size_t end = 0;
    gr__sort(f->entry, f->count, sizeof *f->entry, entry_by_offset);
    for (size_t i = 0; i < f->count; end = f->entry[i].offset + f->entry[i].bytes, i++)
        if (f->entry[i].offset != end)
            return gr__fail(c->e, GR_BAD_FILE, c->path, "'%s' begins at byte %zu, but the data before it ends at %zu", f->entry[i].name,
                              f->entry[i].offset, end);
    if (end != f->data_bytes) return gr__fail(c->e, GR_BAD_FILE, c->path, "the header describes %zu bytes of data, but %zu follow it", end, f->data_bytes);
    gr__sort(f->entry, f->count, sizeof *f->entry, gr__by_name);
    gr__sort(f->note, f->notes, sizeof *f->note, gr__by_name);
    for (size_t i = 1; i < f->count; i++)
        if (!gr__by_name(f->entry + i - 1, f->entry + i)) return gr__fail(c->e, GR_BAD_FILE, c->path, "'%s' appears twice", f->entry[i].name);
    for (size_t i = 1; i < f->notes; i++)
        if (!gr__by_name(f->note + i - 1, f->note + i)) return gr__fail(c->e, GR_BAD_FILE, c->path, "'%s' appears twice in __metadata__", f->note[i].key);
    return true;
}

bool gr__safetensors_header(gr__failure *e, gr_safetensors *f, const char *path, const char *json, size_t length, const char **digits)
{
    json_cursor c = { .e = e, .f = f, .path = path, .begin = json, .at = json, .end = json + length, .text = f->text };
    if (c.at == c.end || *c.at != '{') return json_bad(&c, "a header must begin with '{'");
    if (!json_object(&c, "", read_member)) return false;
    if (json_next(&c) || c.at < c.end) return json_bad(&c, "something follows the header's last '}'");
    if (!whole_is_sound(&c)) return false;
    *digits = c.digits;
    return true;
}
