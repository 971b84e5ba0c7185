/* core/internal.h - what the files of core/ share and nobody else includes: the inside of a tape. */
#ifndef GR_INTERNAL_H
#define GR_INTERNAL_H
#include "core/op.h"
#include <stdio.h>
#include <string.h>

/* A chain of blocks that only grows. Allocation bumps through it and never goes back, reset starts at the first block again: a
 * step no larger than an earlier one finds room at or before the places that the earlier one used, so it allocates nothing. */
typedef struct gr__block { struct gr__block *next; size_t bytes; } gr__block; /* the memory follows, at an offset of 64 */
typedef struct { gr_allocator memory; gr__block *first, *now; size_t index, used, total; } gr__arena;

void *gr__arena_alloc(gr__arena *a, size_t bytes); /* aligned to 64, or 16 below 64 bytes; NULL when out of memory */
void gr__arena_rewind(gr__arena *a, size_t index, size_t used);
void gr__arena_free(gr__arena *a);

typedef struct gr__undo { struct gr__undo *prev; void *place; size_t bytes; } gr__undo; /* the old bytes follow */
typedef struct gr__named_stream { struct gr__named_stream *next; gr_stream stream; char name[]; } gr__named_stream;

struct gr_tape {
    gr_allocator memory;
    gr__arena arena;
    gr_node *last;                /* the newest recorded node; each knows the one before */
    size_t nodes;
    gr__undo *undo;
    gr__named_stream *streams;    /* in order of first use */
    gr_pool *pool;
    bool owns_pool, recording, training, walked;
    int isa;
    uint64_t seed;
    size_t epoch;                 /* counts resets and backwards, so that an old mark is told from a new one */
    void *scratch;                /* of the running backward */
    char *work;                   /* gemm's, gr__work_bytes() for each thread */
    size_t work_bytes;
    gr_error error;
    char message[1024];
};

enum { /* gr_tensor.flags */
    GR__WANTS_GRAD = 1, /* a gradient is to flow into it */
    GR__HAS_GRAD = 2,   /* a backward has reached it since its gradient was last cleared */
};

int gr__isa_choose(const char *wanted); /* NULL: the best; -1: not in this build, or not on this CPU */
const char *gr__isa_name(int isa);
void gr__print_line(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3))); /* nothing when out is NULL */
void gr__append_line(const char *path, const char *line);
bool gr__shape_len(gr_shape shape, size_t *len); /* false when the rank is wrong or the product overflows */

#if defined __SANITIZE_ADDRESS__
#define GR__ASAN 1
#elif defined __has_feature
#if __has_feature(address_sanitizer)
#define GR__ASAN 1
#endif
#endif
#ifdef GR__ASAN
#include <sanitizer/asan_interface.h>
#define GR__POISON(p, n) ASAN_POISON_MEMORY_REGION(p, n)
#define GR__UNPOISON(p, n) ASAN_UNPOISON_MEMORY_REGION(p, n)
#else
#define GR__POISON(p, n) ((void)(p), (void)(n))
#define GR__UNPOISON(p, n) ((void)(p), (void)(n))
#endif
#endif
