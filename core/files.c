/* core/files.c - read and write files with the memory and the errors of a tape. */
#include "core/files.h"
#include "core/internal.h"
#include "core/io/internal.h"
#include "core/op.h"

gr_safetensors *gr_safetensors_open(gr_tape *t, const char *path)
{
    return gr_failed(t) ? NULL : gr__safetensors_open(&t->failure, &t->memory, path);
}

gr_safetensors *gr_safetensors_open_memory(gr_tape *t, const void *bytes, size_t length)
{
    return gr_failed(t) ? NULL : gr__safetensors_open_memory(&t->failure, &t->memory, bytes, length);
}

bool gr_safetensors_write(gr_tape *t, const char *path, const gr_safetensors_item *items, size_t n, const char *const *notes)
{
    return !gr_failed(t) && gr__safetensors_write(&t->failure, &t->memory, path, items, n, notes);
}

gr_tensor *gr_npy_read(gr_tape *t, const char *path)
{
    gr__npy a;
    if (gr_failed(t)) return NULL;
    gr_tensor *const x = gr__npy_read(&t->failure, &t->memory, path, &a) ? gr_empty(t, a.values.shape) : NULL;
    if (x) gr_safetensors_reals(&a.values, x->data);
    gr_memory_free(&t->memory, a.file, a.bytes);
    return x;
}

gr_ints *gr_npy_read_ints(gr_tape *t, const char *path)
{
    gr__npy a;
    if (gr_failed(t)) return NULL;
    gr_ints *const x = gr__npy_read(&t->failure, &t->memory, path, &a) ? gr_ints_new(t, NULL, a.values.shape) : NULL;
    const bool whole = a.values.dtype == GR_I32 || a.values.dtype == GR_I64;
    int64_t *const wide = x ? gr_save(t, x->len * sizeof *wide) : NULL;
    if (wide && !whole) gr_fail_as(t, GR_BAD_FILE, path, "has values of type %s and needs I32 or I64", gr_dtype_name(a.values.dtype));
    if (wide) gr_safetensors_integers(&a.values, wide);
    for (size_t i = 0; wide && whole && i < x->len; i++) {
        x->data[i] = (int)wide[i];
        if (wide[i] != x->data[i]) gr_fail_as(t, GR_BAD_FILE, path, "value %zu is %lld, which is no int", i, (long long)wide[i]);
    }
    gr_memory_free(&t->memory, a.file, a.bytes);
    return gr_failed(t) ? NULL : x;
}

bool gr_npy_write(gr_tape *t, const gr_tensor *x, const char *path)
{
    if (!gr_alive(t, NULL, "npy_write: x", x)) return false;
    if (!x) return gr_fail_as(t, GR_MISUSE, "npy_write", "x is NULL");
    return gr__npy_write(&t->failure, path, GR_REAL_DTYPE, x->rank, x->dim, x->data);
}

bool gr_npy_write_ints(gr_tape *t, const gr_ints *x, const char *path)
{
    if (!gr_ints_alive(t, NULL, "npy_write_ints: x", x)) return false;
    if (!x) return gr_fail_as(t, GR_MISUSE, "npy_write_ints", "x is NULL");
    return gr__npy_write(&t->failure, path, GR_I32, x->rank, x->dim, x->data);
}
