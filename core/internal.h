/* core/internal.h - what the files of core/ share and nobody else includes: the inside of a tape. */
#ifndef GR_INTERNAL_H
#define GR_INTERNAL_H
#include "core/library.h"
#include <stdio.h>
#include <string.h>

/* A chain of blocks that only grows. Allocation bumps through it and never goes back, reset starts at the first block again: a
 * step no larger than an earlier one finds room at or before the places that the earlier one used, so it allocates nothing. */
typedef struct gr__block { struct gr__block *next; size_t bytes; } gr__block; /* the memory follows, at an offset of 64 */
typedef struct { size_t most, held; } gr__budget; /* bytes that all arenas of a tape may hold, 0: any number; what they hold */
typedef struct { gr_allocator memory; gr__budget *budget; gr__block *first, *now; size_t index, used, total; } gr__arena;

void *gr__arena_alloc(gr__arena *a, size_t bytes); /* aligned to 64, or 16 below 64 bytes; NULL when out of memory */
void gr__arena_rewind(gr__arena *a, size_t index, size_t used);
void gr__arena_fill(gr__arena *a, size_t index, size_t used); /* what is in use from there on: all bits 1, a NaN and no tensor's stamp */
void gr__arena_free(gr__arena *a);

typedef struct gr__undo { struct gr__undo *prev; void *place; size_t bytes; } gr__undo; /* the old bytes follow */
typedef struct { gr_stream stream; size_t number; char name[]; } gr__named_stream; /* number: how many streams the tape had before it */
typedef struct { gr__named_stream **at; size_t count, room; } gr__streams; /* sorted by name */

/* A call of gr_record, kept while tracing; each knows its neighbours in time. */
typedef struct gr__trace {
    struct gr__trace *prev, *next;
    const gr_op *op;
    const char *place;
    gr_tensor **in, **out;
    unsigned ins, outs;
    bool recorded, was_off, leads; /* whether it is on the tape; recording was off; leads to the loss (while gr__cut_of runs) */
} gr__trace;

/* What a run on the tape leaves behind. A segment of gr_recompute has one of its own, in the next arena. */
typedef struct {
    gr_node *last;                /* the newest recorded node; each knows the one before */
    size_t nodes;
    gr__undo *undo;
    gr__trace *first_trace, *last_trace;
    gr_tensor *loss;              /* from which a backward has started */
    void *scratch;                /* of the running backward */
    size_t epoch;                 /* so that an old mark is told from a new one */
    bool walked;
} gr__level;
enum { GR__LEVELS = 8, GR__LEVEL_SHIFT = 56 };
enum { GR__ANOMALY = 1, GR__TRACING = 2 };

/* Of a level, the stamps from first on are alive, and those of the ranges, which are older and in order. core/life.c */
typedef struct { uint64_t first, last; } gr__range;
typedef struct { uint64_t first; gr__range *range; size_t ranges, room; } gr__life;

struct gr_tape {
    gr_allocator memory;
    gr__arena arena[GR__LEVELS];  /* of the run itself, of a segment in it, of a segment in that */
    gr__arena resting;            /* anomaly mode: the memory of the step before */
    gr__budget budget;
    gr__life life[GR__LEVELS];
    uint64_t births, ended;       /* the newest stamp; the newest one that was dead after the last reset */
    const char *ended_by;         /* gr_tape_reset or gr_tape_recover */
    size_t operators;             /* calls of gr_record since then */
    bool traced_late;             /* tracing began after some of them */
    gr__level now;
    int level;                    /* 0, or of the segment that runs */
    bool rehearsing;              /* gr_recompute allocates what the backward of its segment will need */
    gr__streams streams;
    gr_pool *pool;
    bool owns_pool, recording, training;
    unsigned watch;               /* GR__ANOMALY, GR__TRACING */
    const char *place;            /* path of the module that runs; NULL outside */
    int isa;
    uint64_t seed;
    size_t epochs;                /* counts resets, backwards and segments */
    size_t resets;
    char *work;                   /* GR__WORK_BYTES for each thread */
    size_t work_bytes;
    gr__failure failure;
};

enum { /* gr_tensor.flags */
    GR__WANTS_GRAD = 1, /* a gradient is to flow into it */
    GR__HAS_GRAD = 2,   /* a backward has reached it since its gradient was last cleared */
    GR__LEADS = 4,      /* the loss depends on it, and */
    GR__TOUCHED = 8,    /* it depends on the tensor in question: while gr__cut_of runs */
};

uint64_t gr__stamp(gr_tape *t); /* of a new tensor */
#define GR__OVERWRITTEN UINT64_MAX /* the stamp that gr__arena_fill leaves */
bool gr__lives(const gr_tape *t, const gr_tape *owner, uint64_t stamp);
void *gr__refuse_dead(gr_tape *t, const char *op, const char *what, size_t number, const gr_tensor *x); /* the error: "what number [2, 3] was made .." */
void gr__life_enter(gr_tape *t); /* a segment begins, on the next level; and ends */
void gr__life_leave(gr_tape *t);
void gr__life_free(gr_tape *t, gr__life *l);
bool gr__versions_note(gr_tape *t, gr_node *n); /* of the inputs of a new node; false when out of memory */
bool gr__versions_hold(gr_tape *t, const gr_node *n);

bool gr__arena_holds(const gr__arena *a, const void *p);

/* The parts of a backward: give x a gradient; sweep 1, from what has one; sweep 2. */
bool gr__reach(gr_tape *t, gr_tensor *x);
bool gr__reached(const gr_node *n);
bool gr__mark_and_allocate(gr_tape *t);
void gr__compute(gr_tape *t);
bool gr__in_segment(gr_tape *t, const char *call); /* what may not be called there becomes the error */

/* core/anomaly.c: false when a value is not finite, which is then the error */
bool gr__check_outputs(gr_tape *t, const gr_op *op, gr_tensor *const *out, size_t outs, gr_tensor *const *in, size_t ins);
bool gr__check_gradients(gr_tape *t, const gr_node *n);
bool gr__check_before_backward(gr_tape *t, const gr_tensor *y, const gr_real *dy); /* dy NULL: ones */
void gr__tape_streams_free(gr_tape *t);
/* core/trace.c: false when out of memory */
bool gr__trace_add(gr_tape *t, const gr_op *op, gr_tensor *const *out, size_t outs, gr_tensor *const *in, size_t ins, bool recorded);

int gr__isa_choose(const char *wanted); /* NULL: the best; -1: not in this build, or not on this CPU */
const char *gr__isa_name(int isa);
void gr__print_line(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3))); /* nothing when out is NULL */
void gr__append_line(const char *path, const char *line);

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
#define GR__POISONED(p, n) (__asan_region_is_poisoned((void *)(p), n) != NULL)
#else
#define GR__POISON(p, n) ((void)(p), (void)(n))
#define GR__UNPOISON(p, n) ((void)(p), (void)(n))
#define GR__POISONED(p, n) 0
#endif

/* The tensor that holds x's data and gradient: of a view, its base. And the gradient of x, NULL when no backward has reached it. */
static inline gr_tensor *gr__owner(const gr_tensor *x) { return x->base ? x->base : (gr_tensor *)x; }
static inline gr_real *gr__gradient(const gr_tensor *x)
{
    const gr_tensor *const base = gr__owner(x);
    return x->flags & GR__WANTS_GRAD && base->flags & GR__HAS_GRAD ? base->grad + (x->data - base->data) : NULL;
}

/* Whether x may be used on t: made on it and not dead, or a module's. */
static inline bool gr__alive(const gr_tape *t, const gr_tensor *x)
{
    if (GR__POISONED(x, sizeof *x)) return false;
    if (x->tape == t && x->stamp >= t->life[t->level].first && x->stamp <= t->births) return true;
    return x->tape ? gr__lives(t, x->tape, x->stamp) : x->home != NULL;
}
#endif
