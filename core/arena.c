/* core/arena.c - the memory of a step: a chain of blocks, what operators take from it, and the undo log, which lies in it too. */
#include "core/internal.h"

/* ---- Blocks ---- */

enum { HEAD = 4096, FIRST_BLOCK = 1 << 18, LARGEST_STEP = 1 << 26, PAGED_FROM = 1 << 16 };

static char *block_memory(gr__block *b) { return (char *)b + HEAD; }

/* Append a block of at least `bytes` bytes, as large as all blocks before it together, but within FIRST_BLOCK .. LARGEST_STEP unless more is asked for. */
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

static void *arena_alloc(gr__arena *a, size_t bytes)
{
    /* Large tensors start at the same place of a page. A load waits for an earlier store if their addresses differ in a multiple of 4096, and so it
     * would in a loop that reads x and writes y, if y started a few lines after x. */
    const size_t align = bytes < 64 ? 16 : bytes < PAGED_FROM ? 64 : 4096;
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
        a->now = a->now->next, a->used = 0;
    }
    gr__block *b = block_append(a, rounded);
    if (!b) return NULL;
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

void gr__arena_rewind(gr__arena *a, gr__block *block, size_t used)
{
    gr__block *b = block ? block : a->first;
    a->now = b, a->used = used;
    for (size_t from = used; b; b = b->next, from = 0) GR__POISON(block_memory(b) + from, b->bytes - from);
}

void gr__arena_fill(gr__arena *a, gr__block *block, size_t used)
{
    gr__block *b = block ? block : a->first;
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
    a->first = a->now = NULL, a->used = a->total = 0;
}

/* ---- Memory of the step ---- */

static __attribute__((cold, noinline)) void *out_of_memory(gr_tape *t, const char *who, size_t bytes)
{
    char most[60] = "", since[80] = "";
    if (t->budget.most) snprintf(most, sizeof most, " of max_bytes %zu", t->budget.most);
    if (t->operators) snprintf(since, sizeof since, "; %zu operators ran since the last gr_tape_reset", t->operators);
    return gr_fail_as(t, GR_NO_MEMORY, who, "out of memory: %zu bytes for this step, which holds %zu%s%s", bytes, t->budget.held, most, since);
}

void *gr__save(gr_tape *t, const char *who, size_t bytes)
{
    if (gr_failed(t)) return NULL;
    void *p = arena_alloc(&t->arena[t->level], bytes);
    return p ? p : out_of_memory(t, who, bytes);
}
void *gr_save(gr_tape *t, size_t bytes) { return gr__save(t, "", bytes); }
void *gr_save_zeros(gr_tape *t, size_t bytes)
{
    void *p = gr_save(t, bytes);
    return p ? memset(p, 0, bytes) : NULL;
}
gr_real *gr_save_reals(gr_tape *t, size_t n)
{
    size_t bytes;
    if (gr_failed(t)) return NULL;
    return gr_size_mul(n, sizeof(gr_real), &bytes) ? gr_save(t, bytes) : gr_fail_as(t, GR_NO_MEMORY, "", "out of memory: %zu values", n);
}

/* ---- The undo log ---- */

bool gr_undo_note(gr_tape *t, void *p, size_t bytes)
{
    size_t whole;
    if (!bytes) return !gr_failed(t);
    if (!p) return gr_fail_as(t, GR_MISUSE, "undo_note", "p is NULL");
    gr__undo *u = gr_size_add(sizeof *u, bytes, &whole) ? gr_save(t, whole) : gr_fail_as(t, GR_NO_MEMORY, "", "out of memory");
    if (!u) return false;
    *u = (gr__undo){ t->now.undo, p, bytes };
    memcpy(u + 1, p, bytes);
    t->now.undo = u;
    return true;
}

void gr__undo_forget(gr_tape *t) { t->now.undo = NULL; }
