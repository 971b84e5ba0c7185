/* core/io/safetensors.c - read files of named tensors. core/io/safetensors_header.c parses the header, core/io/dtype.c converts numbers,
 * core/io/safetensors_write.c writes files. */
#include "core/io/checksum.h"
#include "core/io/internal.h"
#include <stdlib.h>

void gr_safetensors_free(gr_safetensors *f)
{
    if (!f) return;
    gr_memory_free(&f->memory, f->entry, f->entry_room * sizeof *f->entry);
    gr_memory_free(&f->memory, f->note, f->note_room * sizeof *f->note);
    gr_memory_free(&f->memory, f->text, f->text_bytes);
    gr_memory_free(&f->memory, f->file, f->file_bytes);
    gr_memory_free(&f->memory, f, sizeof *f);
}

/* torch.save writes a zip archive, and old versions a pickle. Either gives a length that no header has. */
static bool is_torch_file(const unsigned char first[8])
{
    static const unsigned char pickle[] = { 0x80, 2, 0x8a, 10, 0x6c, 0xfc, 0x9c, 0x46 };
    return !memcmp(first, "PK\3\4", 4) || !memcmp(first, pickle, sizeof pickle);
}

/* The length of the header, from the first 8 bytes of a file; SIZE_MAX when it cannot be right. */
static size_t header_length(gr__failure *e, const gr__file *file, const unsigned char first[8])
{
    uint64_t length; /* little-endian, as the machine */
    memcpy(&length, first, sizeof length);
    if (length <= GR__LARGEST_HEADER && length <= file->bytes - 8) return (size_t)length;
    if (!memcmp(first, "\x93NUMPY", 6)) gr__fail(e, GR_BAD_FILE, file->path, "this is a file of numpy.save; gr_npy_read reads it");
    else if (is_torch_file(first)) gr__fail(e, GR_BAD_FILE, file->path, "this is a torch.save file; write it with safetensors.torch.save_file");
    else
        gr__fail(e, GR_BAD_FILE, file->path, "is not a safetensors file, or it is damaged: its header should be %llu bytes long, but %s",
                 (unsigned long long)length, length > file->bytes - 8 ? "the file is shorter" : "at most 100000000 are read");
    return SIZE_MAX;
}

/* The whole file, in one piece of memory. Nothing is allocated before the length of the header is known to be possible. An error is in e. */
static gr_safetensors *read_all(gr__failure *e, const gr_allocator *memory, gr__file *file)
{
    unsigned char first[8];
    if (file->bytes < sizeof first) return gr__fail(e, GR_BAD_FILE, file->path, "%zu bytes are not a safetensors file", file->bytes);
    if (!gr__file_read(e, file, first, sizeof first)) return NULL;
    const size_t length = header_length(e, file, first);
    gr_safetensors *const f = length < SIZE_MAX ? gr_memory_new(memory, sizeof *f) : NULL;
    if (f) {
        f->memory = *memory, f->file_bytes = file->bytes, f->text_bytes = length, f->data_bytes = file->bytes - sizeof first - length;
        f->file = memory->alloc(memory->context, f->file_bytes), f->text = gr_memory_new(memory, f->text_bytes);
    }
    if (!f || !f->file || !f->text) return gr__fail(e, GR_NO_MEMORY, "", "out of memory: reading '%s'", file->path), f;
    memcpy(f->file, first, sizeof first);
    f->data = f->file + sizeof first + length;
    gr__file_read(e, file, f->file + sizeof first, f->file_bytes - sizeof first);
    return f;
}

/* digits: where in the file those of the checksum are; NULL when it has none, which files of other programs need not have. */
static bool checksum_holds(gr__failure *e, const gr_safetensors *f, const char *path, const char *digits)
{
    const char *const format = gr_safetensors_note_of(f, "format");
    if (!digits && format && !strncmp(format, "gradus ", 7))
        return gr__fail(e, GR_BAD_FILE, path, "is a '%s' without a checksum: it is damaged, or written by an older version of gradus", format);
    if (!digits) return true;
    gr__checksum sum;
    char found[GR__CHECKSUM_LENGTH + 1];
    const size_t before = (size_t)(digits - (const char *)f->file), end = before + GR__CHECKSUM_DIGITS;
    gr__checksum_start(&sum);
    gr__checksum_add(&sum, f->file, before);
    gr__checksum_add(&sum, GR__CHECKSUM_ZEROS, GR__CHECKSUM_DIGITS);
    gr__checksum_add(&sum, f->file + end, f->file_bytes - end);
    gr__checksum_text(gr__checksum_value(&sum), found);
    const char *const wanted = gr_safetensors_note_of(f, GR__CHECKSUM_KEY);
    return !strcmp(found, wanted) || gr__fail(e, GR_BAD_FILE, path, "is damaged: its checksum is %s and should be %s", found, wanted);
}

gr_safetensors *gr__safetensors_read(gr__failure *e, const gr_allocator *memory, gr__file *file)
{
    gr_safetensors *const f = read_all(e, memory, file);
    const char *digits = NULL;
    gr__file_close(file);
    const bool read = !gr__has_failed(e) && gr__safetensors_header(e, f, file->path, (const char *)f->file + 8, f->text_bytes, &digits);
    for (size_t i = 0; read && i < f->count; i++) f->entry[i].data = f->data + f->entry[i].offset;
    if (read && checksum_holds(e, f, file->path, digits)) return f;
    gr_safetensors_free(f);
    return NULL;
}

const gr_safetensors_entry *gr_safetensors_find(const gr_safetensors *f, const char *name)
{
    const gr_safetensors_entry key = { .name = name };
    return f && name && f->count ? bsearch(&key, f->entry, f->count, sizeof key, gr__by_name) : NULL;
}

const char *gr_safetensors_note_of(const gr_safetensors *f, const char *key)
{
    for (size_t i = 0; f && key && i < f->notes; i++)
        if (!strcmp(f->note[i].key, key)) return f->note[i].value;
    return NULL;
}
