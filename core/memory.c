/* core/memory.c - the allocator, checked sizes, the arena. */
#include "core/internal.h"
#include <stdlib.h>
#include <sys/mman.h>

/* ---- The default allocator ---- */

enum { HUGE = 4 << 20 };

static void *default_alloc(void *context, size_t bytes)
{
    (void)context;
    const size_t align = bytes < HUGE ? 64 : HUGE / 2;
    if (bytes > SIZE_MAX - align) return NULL;
    bytes = (bytes + align - 1) & ~(align - 1); /* aligned_alloc wants a multiple of the alignment */
    void *p = aligned_alloc(align, bytes);
#ifdef MADV_HUGEPAGE
    if (p && bytes >= HUGE) madvise(p, bytes, MADV_HUGEPAGE); /* first touch of large blocks is several times as fast */
#endif
    return p;
}
static void default_release(void *context, void *p, size_t bytes)
{
    (void)context, (void)bytes;
    free(p);
}
gr_allocator gr_default_allocator(void) { return (gr_allocator){ default_alloc, default_release, NULL }; }

void *gr_memory_new(const gr_allocator *a, size_t bytes)
{
    void *p = a->alloc(a->context, bytes ? bytes : 1);
    return p ? memset(p, 0, bytes) : NULL;
}

void gr_memory_free(const gr_allocator *a, void *p, size_t bytes)
{
    if (p) a->release(a->context, p, bytes ? bytes : 1);
}

/* ---- Checked sizes ---- */

bool gr_size_mul(size_t a, size_t b, size_t *out)
{
    size_t product;
    const bool fits = !__builtin_mul_overflow(a, b, &product);
    if (out) *out = fits ? product : SIZE_MAX;
    return fits;
}

bool gr_size_add(size_t a, size_t b, size_t *out)
{
    size_t sum;
    const bool fits = !__builtin_add_overflow(a, b, &sum);
    if (out) *out = fits ? sum : SIZE_MAX;
    return fits;
}

/* ---- The arena ---- */

enum { HEAD = 64, FIRST_BLOCK = 1 << 18, LARGEST_STEP = 1 << 26 };

static char *block_memory(gr__block *b) { return (char *)b + HEAD; }

/* Append a block that holds bytes. Each is twice as large as all before it, up to LARGEST_STEP more. */
static gr__block *block_append(gr__arena *a, size_t bytes)
{
    size_t room = a->total < FIRST_BLOCK ? FIRST_BLOCK : a->total < LARGEST_STEP ? a->total : LARGEST_STEP, whole;
    if (room < bytes) room = bytes;
    if (!gr_size_add(room, HEAD, &whole)) return NULL;
    if (a->budget->most) {
        const size_t left = a->budget->most > a->budget->held ? a->budget->most - a->budget->held : 0;
        if (bytes > left) return NULL;
        if (room > left) room = left & ~(size_t)63, room = room < bytes ? bytes : room, whole = room + HEAD;
    }
    gr__block *b = a->memory.alloc(a->memory.context, whole);
    if (!b) return NULL;
    *b = (gr__block){ NULL, room };
    GR__POISON(block_memory(b), room);
    gr__block **end = &a->first;
    while (*end) end = &(*end)->next;
    *end = b;
    a->total += room, a->budget->held += room;
    return b;
}

void *gr__arena_alloc(gr__arena *a, size_t bytes)
{
    const size_t align = bytes < 64 ? 16 : 64;
    size_t rounded;
    if (!gr_size_add(bytes ? bytes : 1, align - 1, &rounded)) return NULL;
    rounded &= ~(align - 1);
    while (a->now) {
        const size_t start = (a->used + align - 1) & ~(align - 1);
        if (start <= a->now->bytes && rounded <= a->now->bytes - start) {
            a->used = start + rounded;
            GR__UNPOISON(block_memory(a->now) + start, bytes);
            return block_memory(a->now) + start;
        }
        if (!a->now->next) break;
        a->now = a->now->next, a->index++, a->used = 0;
    }
    gr__block *b = block_append(a, rounded);
    if (!b) return NULL;
    if (a->now) a->index++;
    a->now = b, a->used = rounded;
    GR__UNPOISON(block_memory(b), bytes);
    return block_memory(b);
}

bool gr__arena_holds(const gr__arena *a, const void *p)
{
    for (gr__block *b = a->first; b; b = b->next)
        if ((uintptr_t)p - (uintptr_t)block_memory(b) < b->bytes) return true;
    return false;
}

void gr__arena_rewind(gr__arena *a, size_t index, size_t used)
{
    gr__block *b = a->first;
    for (size_t i = 0; i < index && b; i++) b = b->next;
    a->now = b, a->index = index, a->used = used;
    for (size_t from = used; b; b = b->next, from = 0) GR__POISON(block_memory(b) + from, b->bytes - from);
}

void gr__arena_fill(gr__arena *a, size_t index, size_t used)
{
    gr__block *b = a->first;
    for (size_t i = 0; i < index && b; i++) b = b->next;
    for (size_t from = used; b && a->now; b = b->next, from = 0) {
        const size_t end = b == a->now ? a->used : b->bytes;
        GR__UNPOISON(block_memory(b), b->bytes);
        if (end > from) memset(block_memory(b) + from, 0xff, end - from);
        if (b == a->now) return;
    }
}

void gr__arena_free(gr__arena *a)
{
    a->budget->held -= a->total;
    for (gr__block *b = a->first, *next; b; b = next) {
        next = b->next;
        GR__UNPOISON(block_memory(b), b->bytes);
        gr_memory_free(&a->memory, b, b->bytes + HEAD);
    }
    a->first = a->now = NULL;
    a->index = a->used = a->total = 0;
}
