/* core/io/safetensors_write.c - write files of named tensors, with the same bytes as the Python package. */
#include "core/io/checksum.h"
#include "core/io/internal.h"

/* ---- The header: it is written twice, the first time to count its bytes ---- */

typedef struct { char *p; size_t n, checksum; } header_text; /* checksum: the place of its text, 0 without one */

static void header_put(header_text *out, const char *s, size_t n)
{
    if (out->p) memcpy(out->p + out->n, s, n);
    out->n += n;
}
static void header_put_text(header_text *out, const char *s) { header_put(out, s, strlen(s)); }
static void header_put_number(header_text *out, size_t number)
{
    char digits[24];
    header_put(out, digits, (size_t)snprintf(digits, sizeof digits, "%zu", number));
}

/* Put s in quotes, with the escapes of the Python package; false when s is not UTF-8. */
static bool header_put_string(header_text *out, const char *s)
{
    static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";
    header_put(out, "\"", 1);
    for (const char *const end = s + strlen(s); s < end;) {
        unsigned u;
        const size_t bytes = gr__utf8(s, end, &u);
        const char *const known = strchr(from, *s);
        char escape[8] = { '\\', known ? to[known - from] : 0 };
        if (!bytes) return false;
        if (known) header_put(out, escape, 2);
        else if (u < 0x20) header_put(out, escape, (size_t)snprintf(escape, sizeof escape, "\\u%04x", u));
        else header_put(out, s, bytes);
        s += bytes;
    }
    header_put(out, "\"", 1);
    return true;
}

static size_t item_bytes(const gr_safetensors_item *item)
{
    size_t bytes = gr_dtype_bytes(item->dtype);
    for (int i = 0; i < item->shape.rank; i++) bytes *= item->shape.dim[i];
    return bytes;
}

static bool header_put_item(header_text *out, const gr_safetensors_item *item, size_t *offset)
{
    if (!header_put_string(out, item->name)) return false;
    header_put_text(out, ":{\"dtype\":\""), header_put_text(out, gr_dtype_name(item->dtype)), header_put_text(out, "\",\"shape\":[");
    for (int i = 0; i < item->shape.rank; i++) header_put(out, ",", i > 0), header_put_number(out, item->shape.dim[i]);
    header_put_text(out, "],\"data_offsets\":["), header_put_number(out, *offset), header_put(out, ",", 1);
    *offset += item_bytes(item);
    header_put_number(out, *offset), header_put_text(out, "]}");
    return true;
}

/* False, with *culprit, when a string is not UTF-8. */
static bool header_put_all(header_text *out, const gr_safetensors_item *const *items, size_t n, const char *const *notes, const char **culprit)
{
    size_t offset = 0;
    out->n = 0;
    header_put(out, "{", 1);
    if (notes) {
        header_put_text(out, "\"__metadata__\":{");
        for (size_t i = 0; notes[i]; i++) {
            const bool is_checksum = i % 2 && !strcmp(notes[i - 1], GR__CHECKSUM_KEY);
            header_put(out, i % 2 ? ":" : ",", i > 0);
            *culprit = notes[i];
            if (is_checksum) out->checksum = out->n + 1;
            if (!header_put_string(out, is_checksum ? GR__CHECKSUM_NAME GR__CHECKSUM_ZEROS : notes[i])) return false;
        }
        header_put(out, "}", 1);
    }
    for (size_t i = 0; i < n; i++) {
        header_put(out, ",", i || notes);
        *culprit = items[i]->name;
        if (!header_put_item(out, items[i], &offset)) return false;
    }
    header_put(out, "}", 1);
    while (out->n % 8) header_put(out, " ", 1);
    return true;
}

/* ---- The file ---- */

static int item_by_name(const void *a, const void *b)
{
    return strcmp((*(const gr_safetensors_item *const *)a)->name, (*(const gr_safetensors_item *const *)b)->name);
}
static int item_by_type_and_name(const void *a, const void *b)
{
    const gr_safetensors_item *const x = *(const gr_safetensors_item *const *)a, *const y = *(const gr_safetensors_item *const *)b;
    return x->dtype != y->dtype ? (x->dtype < y->dtype ? 1 : -1) : item_by_name(a, b);
}

/* Replace the zeros in the header by the checksum. */
static void seal(header_text *head, uint64_t length, const gr_safetensors_item *const *items, size_t n)
{
    gr__checksum sum;
    char text[GR__CHECKSUM_LENGTH + 1];
    gr__checksum_start(&sum);
    gr__checksum_add(&sum, &length, sizeof length);
    gr__checksum_add(&sum, head->p, head->n);
    for (size_t i = 0; i < n; i++) gr__checksum_add(&sum, items[i]->data, item_bytes(items[i]));
    gr__checksum_text(gr__checksum_value(&sum), text);
    memcpy(head->p + head->checksum, text, GR__CHECKSUM_LENGTH);
}

static bool names_are_new(gr__failure *e, const char *path, const gr_safetensors_item *const *items, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (i && !strcmp(items[i - 1]->name, items[i]->name)) return gr__fail(e, GR_MISUSE, "", "cannot write '%s': '%s' appears twice", path, items[i]->name);
        if (!strcmp(items[i]->name, "__metadata__")) return gr__fail(e, GR_MISUSE, "", "cannot write '%s': no tensor may be called __metadata__", path);
    }
    return true;
}

static bool write_sorted(gr__failure *e, const gr_allocator *memory, const char *path, const gr_safetensors_item *const *items, size_t n,
                         const char *const *notes)
{
    header_text head = { 0 };
    const char *culprit = NULL;
    if (!header_put_all(&head, items, n, notes, &culprit)) return gr__fail(e, GR_MISUSE, "", "cannot write '%s': '%s' is not UTF-8", path, culprit);
    if (head.n > GR__LARGEST_HEADER)
        return gr__fail(e, GR_MISUSE, "", "cannot write '%s': its header would be %zu bytes long, and at most %d are read", path, head.n, GR__LARGEST_HEADER);
    const size_t bytes = head.n;
    head.p = gr_memory_new(memory, bytes);
    if (!head.p) return gr__fail(e, GR_NO_MEMORY, "", "out of memory: writing '%s'", path);
    header_put_all(&head, items, n, notes, &culprit);
    const uint64_t length = head.n; /* little-endian, as the machine */
    if (head.checksum) seal(&head, length, items, n);
    gr__file file;
    bool written = gr__file_create(e, &file, path);
    if (written) {
        gr__file_write(e, &file, &length, sizeof length), gr__file_write(e, &file, head.p, head.n);
        for (size_t i = 0; i < n; i++) gr__file_write(e, &file, items[i]->data, item_bytes(items[i]));
        written = gr__file_commit(e, &file);
    }
    gr_memory_free(memory, head.p, bytes);
    return written;
}

/* Refuse what the reader would refuse, and data that is NULL. */
static bool item_is_sound(gr__failure *e, const char *path, const gr_safetensors_item *item, size_t i, size_t *sum)
{
    if (!item->name) return gr__fail(e, GR_MISUSE, "", "cannot write '%s': item %zu has no name", path, i);
    if ((unsigned)item->dtype >= GR_DTYPES)
        return gr__fail(e, GR_MISUSE, "", "cannot write '%s': '%s' is of type %d; the types are GR_F16 to GR_I64", path, item->name, (int)item->dtype);
    if (item->shape.rank < 0 || item->shape.rank > GR_MAX_RANK)
        return gr__fail(e, GR_MISUSE, "", "cannot write '%s': '%s' is of rank %d; a rank is 0 .. %d", path, item->name, item->shape.rank, GR_MAX_RANK);
    char shape[GR__SHAPE_ROOM];
    gr__shape_write(shape, item->shape.rank, item->shape.dim);
    size_t bytes = 1;
    bool fits = true;
    for (int k = 0; fits && k < item->shape.rank; k++) fits = gr_size_mul(bytes, item->shape.dim[k], &bytes);
    if (!fits || !gr_size_mul(bytes, gr_dtype_bytes(item->dtype), &bytes) || !gr_size_add(*sum, bytes, sum))
        return gr__fail(e, GR_MISUSE, "", "cannot write '%s': '%s', %s, is too large for this machine", path, item->name, shape);
    if (!item->data && bytes) return gr__fail(e, GR_MISUSE, "", "cannot write '%s': '%s' is %s, but its data is NULL", path, item->name, shape);
    return true;
}

static bool notes_are_sound(gr__failure *e, const char *path, const char *const *notes)
{
    for (size_t i = 0; notes && notes[i]; i += 2) {
        if (!notes[i + 1]) return gr__fail(e, GR_MISUSE, "", "cannot write '%s': the note '%s' has no value", path, notes[i]);
        for (size_t k = 0; k < i; k += 2)
            if (!strcmp(notes[k], notes[i])) return gr__fail(e, GR_MISUSE, "", "cannot write '%s': the note '%s' appears twice", path, notes[i]);
    }
    return true;
}

bool gr__safetensors_write(gr__failure *e, const gr_allocator *memory, const char *path, const gr_safetensors_item *items, size_t n, const char *const *notes)
{
    if (!path) return gr__fail(e, GR_MISUSE, "", "the path of a file to write is NULL");
    if (!items && n) return gr__fail(e, GR_MISUSE, "", "cannot write '%s': items is NULL, but n is %zu", path, n);
    size_t bytes, sum = 0;
    for (size_t i = 0; i < n; i++)
        if (!item_is_sound(e, path, &items[i], i, &sum)) return false;
    if (!notes_are_sound(e, path, notes)) return false;
    const gr_safetensors_item **const sorted = gr_size_mul(n, sizeof *sorted, &bytes) ? gr_memory_new(memory, bytes) : NULL;
    if (!sorted) return gr__fail(e, GR_NO_MEMORY, "", "out of memory: writing '%s'", path);
    for (size_t i = 0; i < n; i++) sorted[i] = &items[i];
    gr__sort(sorted, n, sizeof *sorted, item_by_name);
    bool written = names_are_new(e, path, sorted, n);
    gr__sort(sorted, n, sizeof *sorted, item_by_type_and_name);
    written = written && write_sorted(e, memory, path, sorted, n, notes);
    gr_memory_free(memory, sorted, bytes);
    return written;
}
