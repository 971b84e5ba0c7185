/* core/memory.c - the default allocator, growing arrays, and sizes. */
#include "core/base.h"
#include <stdlib.h>
#include <sys/mman.h>

/* ---- The default allocator ---- */

#ifndef aligned_free /* core/windows.h defines it */
#define aligned_free free
#endif
enum { HUGE_FROM = 4 << 20 };

static void *default_alloc(void *context, size_t bytes)
{
    (void)context;
    const size_t align = bytes < HUGE_FROM ? 64 : HUGE_FROM / 2;
    if (bytes > SIZE_MAX - align) return NULL;
    bytes = (bytes + align - 1) & ~(align - 1); /* aligned_alloc wants a multiple of the alignment */
    void *p = aligned_alloc(align, bytes);
#ifdef MADV_HUGEPAGE
    if (p && bytes >= HUGE_FROM) madvise(p, bytes, MADV_HUGEPAGE); /* the first use of a large block is several times as fast */
#endif
    return p;
}
static void default_release(void *context, void *p, size_t bytes)
{
    (void)context, (void)bytes;
    aligned_free(p);
}
gr_allocator gr_default_allocator(void) { return (gr_allocator){ default_alloc, default_release, NULL }; }

void *gr_memory_new(const gr_allocator *a, size_t bytes)
{
    void *p = a->alloc(a->context, bytes ? bytes : 1);
    return p ? memset(p, 0, bytes) : NULL;
}

void gr_memory_free(const gr_allocator *a, void *p, size_t bytes) { if (p) a->release(a->context, p, bytes ? bytes : 1); }

bool gr__grow(const gr_allocator *memory, void *array, size_t count, size_t *room, size_t size)
{
    void *old;
    if (count < *room) return true;
    const size_t more = *room ? *room * 2 : 16;
    void *const wider = gr_memory_new(memory, more * size);
    if (!wider) return false;
    memcpy(&old, array, sizeof old);
    if (old) memcpy(wider, old, count * size);
    gr_memory_free(memory, old, *room * size);
    memcpy(array, &wider, sizeof wider);
    *room = more;
    return true;
}

/* ---- Sizes ---- */

#define SIZE_FUNCTION(op) \
    bool gr_size_##op(size_t a, size_t b, size_t *out) \
    { \
        size_t result; \
        const bool fits = !__builtin_##op##_overflow(a, b, &result); \
        if (out) *out = fits ? result : SIZE_MAX; \
        return fits; \
    }
SIZE_FUNCTION(mul) SIZE_FUNCTION(add)
