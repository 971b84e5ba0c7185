/* core/io/safetensors.c - reading files of named tensors. core/io/safetensors_header.c parses the header, core/io/dtype.c converts numbers,
 * core/io/safetensors_write.c is the writer. */
#include "core/io/checksum.h"
#include "core/io/file.h"
#include "core/io/internal.h"
#include <stdlib.h>
#include <string.h>

void gr_safetensors_free(gr_safetensors *f)
{
    if (!f) return;
    const gr_allocator memory = f->memory;
    gr_memory_free(&memory, f->entry, f->entry_room * sizeof *f->entry);
    gr_memory_free(&memory, f->note, f->note_room * sizeof *f->note);
    gr_memory_free(&memory, f->text, f->text_bytes);
    gr_memory_free(&memory, f->data, f->data_bytes);
    gr_memory_free(&memory, f, sizeof *f);
}

/* What torch.save writes: a zip archive, or in old versions a pickle. As a length, either would be out of all reason. */
static bool is_torch_file(const unsigned char first[8])
{
    static const unsigned char pickle[] = { 0x80, 2, 0x8a, 10, 0x6c, 0xfc, 0x9c, 0x46 };
    return !memcmp(first, "PK\3\4", 4) || !memcmp(first, pickle, sizeof pickle);
}

/* The length of the header from the first 8 bytes of a file; SIZE_MAX when it cannot be. */
static size_t header_length(gr__failure *e, const char *path, const unsigned char first[8], size_t file_bytes)
{
    uint64_t length = 0;
    for (int i = 8; i-- > 0;) length = length << 8 | first[i];
    if (length <= GR__LARGEST_HEADER && length <= file_bytes - 8) return (size_t)length;
    if (is_torch_file(first)) gr__fail(e, GR_BAD_FILE, path, "this is a torch.save file; write it with safetensors.torch.save_file");
    else
        gr__fail(e, GR_BAD_FILE, path, "is no safetensors file, or damaged: its header should be %llu bytes long, but %s", (unsigned long long)length,
                   length > file_bytes - 8 ? "the file ends before" : "100000000 are the most that is read");
    return SIZE_MAX;
}

/* A file on its way in. */
typedef struct {
    const gr_allocator *memory;
    const char *path;
    const unsigned char *first; /* its first 8 bytes */
    const char *json;           /* the length bytes after them */
    size_t length;
    const char *digits;         /* in json: those of the checksum; NULL when there is none */
} incoming;

/* A file whose header is known; its data is still to be filled in. */
static gr_safetensors *from_header(gr__failure *e, incoming *in, size_t data_bytes)
{
    const gr_allocator *const memory = in->memory;
    gr_safetensors *f = gr_memory_new(memory, sizeof *f);
    if (f) f->memory = *memory, f->text_bytes = in->length, f->text = gr_memory_new(memory, in->length);
    if (!f || !f->text) gr__fail(e, GR_NO_MEMORY, "", "out of memory: reading '%s'", in->path);
    else {
        f->data_bytes = data_bytes;
        if (gr__safetensors_header(e, f, in->path, in->json, in->length, &in->digits)) {
            f->data = memory->alloc(memory->context, data_bytes ? data_bytes : 1);
            if (!f->data) gr__fail(e, GR_NO_MEMORY, "", "out of memory: %zu bytes of '%s'", data_bytes, in->path);
        }
    }
    if (gr__has_failed(e)) gr_safetensors_free(f), f = NULL;
    for (size_t i = 0; f && i < f->count; i++) f->entry[i].data = f->data + f->entry[i].offset;
    return f;
}

/* A file of another program need not have a checksum. */
static bool checksum_holds(gr__failure *e, const gr_safetensors *f, const incoming *in)
{
    static const char zeros[GR__CHECKSUM_DIGITS + 1] = "0000000000000000";
    const char *const format = gr_safetensors_note_of(f, "format");
    if (!in->digits && format && !strncmp(format, "gradus ", 7))
        return gr__fail(e, GR_BAD_FILE, in->path, "is a '%s' without a checksum: it is damaged, or written by an older version of gradus", format);
    if (!in->digits) return true;
    gr__checksum sum;
    char found[GR__CHECKSUM_LENGTH + 1];
    const char *const rest = in->digits + GR__CHECKSUM_DIGITS, *const wanted = gr_safetensors_note_of(f, GR__CHECKSUM_KEY);
    gr__checksum_start(&sum);
    gr__checksum_add(&sum, in->first, 8);
    gr__checksum_add(&sum, in->json, (size_t)(in->digits - in->json));
    gr__checksum_add(&sum, zeros, GR__CHECKSUM_DIGITS);
    gr__checksum_add(&sum, rest, (size_t)(in->json + in->length - rest));
    gr__checksum_add(&sum, f->data, f->data_bytes);
    gr__checksum_text(gr__checksum_value(&sum), found);
    if (!strcmp(found, wanted)) return true;
    return gr__fail(e, GR_BAD_FILE, in->path, "is damaged: its checksum is %s and should be %s", found, wanted);
}

/* f, whose data is there now, if its checksum holds. */
static gr_safetensors *verified(gr__failure *e, gr_safetensors *f, const incoming *in)
{
    if (f && !gr__has_failed(e) && checksum_holds(e, f, in)) return f;
    gr_safetensors_free(f);
    return NULL;
}

gr_safetensors *gr__safetensors_parse(gr__failure *e, const gr_allocator *memory, const char *path, const void *bytes, size_t n)
{
    if (gr__has_failed(e)) return NULL;
    if (!path || (!bytes && n)) return gr__fail(e, GR_MISUSE, "safetensors_parse", "%s is NULL", path ? "bytes" : "path");
    if (n < 8) return gr__fail(e, GR_BAD_FILE, path, "%zu bytes are no safetensors file", n);
    incoming in = { memory, path, bytes, (const char *)bytes + 8, header_length(e, path, bytes, n), NULL };
    if (in.length == SIZE_MAX) return NULL;
    gr_safetensors *const f = from_header(e, &in, n - 8 - in.length);
    if (f) memcpy(f->data, in.json + in.length, f->data_bytes);
    return verified(e, f, &in);
}

static gr_safetensors *read_from(gr__failure *e, const gr_allocator *memory, gr__file *file)
{
    unsigned char first[8];
    if (file->bytes < 8) return gr__fail(e, GR_BAD_FILE, file->path, "%zu bytes are no safetensors file", file->bytes);
    if (!gr__file_read(e, file, first, 8)) return NULL;
    incoming in = { memory, file->path, first, NULL, header_length(e, file->path, first, file->bytes), NULL };
    if (in.length == SIZE_MAX) return NULL;
    char *const json = gr_memory_new(memory, in.length);
    if (!json) return gr__fail(e, GR_NO_MEMORY, "", "out of memory: reading '%s'", file->path);
    in.json = json;
    gr_safetensors *f = gr__file_read(e, file, json, in.length) ? from_header(e, &in, file->bytes - 8 - in.length) : NULL;
    if (f) gr__file_read(e, file, f->data, f->data_bytes);
    f = verified(e, f, &in);
    gr_memory_free(memory, json, in.length);
    return f;
}

gr_safetensors *gr__safetensors_open(gr__failure *e, const gr_allocator *memory, const char *path)
{
    gr__file file;
    if (!gr__file_open(e, &file, path)) return NULL;
    gr_safetensors *const f = read_from(e, memory, &file);
    gr__file_close(&file);
    return f;
}

const gr_safetensors_entry *gr_safetensors_find(const gr_safetensors *f, const char *name)
{
    const gr_safetensors_entry key = { .name = name };
    return f && name && f->count ? bsearch(&key, f->entry, f->count, sizeof key, gr__entry_by_name) : NULL;
}

const char *gr_safetensors_note_of(const gr_safetensors *f, const char *key)
{
    for (size_t i = 0; f && key && i < f->notes; i++)
        if (!strcmp(f->note[i].key, key)) return f->note[i].value;
    return NULL;
}
