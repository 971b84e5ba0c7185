/* core/files.c - read and write files with the memory and the errors of a tape. */
#include "core/files.h"
#include "core/internal.h"
#include "core/io/internal.h"

gr_safetensors *gr_safetensors_open(gr_tape *t, const char *path)
{
    return gr_failed(t) ? NULL : gr__safetensors_open(&t->failure, &t->memory, path);
}

bool gr_safetensors_write(gr_tape *t, const char *path, const gr_safetensors_item *items, size_t n, const char *const *notes)
{
    return !gr_failed(t) && gr__safetensors_write(&t->failure, &t->memory, path, items, n, notes);
}
