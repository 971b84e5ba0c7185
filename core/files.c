/* core/files.c - read and write files with the memory and the errors of a tape. */
#include "core/files.h"
#include "core/internal.h"
#include "core/io/internal.h"

gr_safetensors *gr_safetensors_open(gr_tape *t, const char *path)
{
    gr__file file;
    if (gr_failed(t) || !gr__file_open(&t->failure, &file, path)) return NULL;
    return gr__safetensors_read(&t->failure, &t->memory, &file);
}

gr_safetensors *gr_safetensors_open_memory(gr_tape *t, const void *bytes, size_t length)
{
    gr__file file = { .fd = -1, .path = "memory", .bytes = length, .memory = bytes };
    if (gr_failed(t)) return NULL;
    return bytes ? gr__safetensors_read(&t->failure, &t->memory, &file) : gr_fail_as(t, GR_MISUSE, "safetensors_open_memory", "bytes is NULL");
}

bool gr_safetensors_write(gr_tape *t, const char *path, const gr_safetensors_item *items, size_t n, const char *const *notes)
{
    return !gr_failed(t) && gr__safetensors_write(&t->failure, &t->memory, path, items, n, notes);
}

/* Read a whole file into memory of the step, and find the array in it. */
static bool npy_open(gr_tape *t, const char *path, gr_safetensors_entry *v)
{
    gr__file file;
    if (gr_failed(t) || !gr__file_open(&t->failure, &file, path)) return false;
    unsigned char *const bytes = gr_save(t, file.bytes);
    gr__file_read(&t->failure, &file, bytes, file.bytes);
    gr__file_close(&file);
    return !gr_failed(t) && gr__npy_parse(&t->failure, path, bytes, file.bytes, v);
}

gr_tensor *gr_npy_read(gr_tape *t, const char *path)
{
    gr_safetensors_entry v;
    gr_tensor *const x = npy_open(t, path, &v) ? gr_empty(t, v.shape) : NULL;
    if (x) gr_safetensors_reals(&v, x->data);
    return x;
}

gr_ints *gr_npy_read_ints(gr_tape *t, const char *path)
{
    gr_safetensors_entry v;
    if (!npy_open(t, path, &v)) return NULL;
    if (v.dtype != GR_I32 && v.dtype != GR_I64) return gr_fail_as(t, GR_BAD_FILE, path, "has values of type %s and needs I32 or I64", gr_dtype_name(v.dtype));
    gr_ints *const x = gr_ints_new(t, NULL, v.shape);
    int64_t *const wide = x ? gr_save(t, v.len * sizeof *wide) : NULL;
    if (wide) gr_safetensors_integers(&v, wide);
    for (size_t i = 0; wide && i < v.len; i++) {
        x->data[i] = (int)wide[i];
        if (wide[i] != x->data[i]) return gr_fail_as(t, GR_BAD_FILE, path, "value %zu is %lld, which is no int", i, (long long)wide[i]);
    }
    return wide ? x : NULL;
}

bool gr_npy_write(gr_tape *t, const gr_tensor *x, const char *path)
{
    static const gr_op op = { .name = "npy_write" };
    return gr_ready(t, &op, (gr_tensor *)x) && gr__npy_write(&t->failure, path, GR_REAL_DTYPE, x->rank, x->dim, x->data);
}

bool gr_npy_write_ints(gr_tape *t, const gr_ints *x, const char *path)
{
    static const gr_op op = { .name = "npy_write_ints" };
    return gr__ints_ready(t, &op, "x", x) && gr__npy_write(&t->failure, path, GR_I32, x->rank, x->dim, x->data);
}
