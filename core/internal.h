/* core/internal.h - the inside of a tape. Only files of core/ and tests include this header. */
#ifndef GR_INTERNAL_H
#define GR_INTERNAL_H
#include "core/library.h"

/* A chain of blocks that only grows. An allocation takes the next bytes of the chain, and a reset starts again at the first block. So a
 * step that needs no more than an earlier one takes nothing from the allocator. */
typedef struct gr__block { struct gr__block *next; size_t bytes; } gr__block; /* its memory begins a page after it */
typedef struct { size_t most, held; } gr__budget; /* how many bytes all arenas of a tape may hold (0 means any number), and hold now */
typedef struct { gr_allocator memory; gr__budget *budget; gr__block *first, *now; size_t used, total; } gr__arena;

void gr__arena_rewind(gr__arena *a, gr__block *block, size_t used); /* block NULL means the first */
void gr__arena_fill(gr__arena *a, gr__block *block, size_t used); /* set the bits of all used bytes from there on: NaNs, and a stamp that no tensor has */
bool gr__arena_holds(const gr__arena *a, const void *p);
void gr__arena_free(gr__arena *a);

typedef struct gr__undo { struct gr__undo *prev; void *place; size_t bytes; } gr__undo; /* the old bytes follow */
typedef struct { gr_stream stream; size_t number; char name[]; } gr__named_stream; /* number: how many streams the tape had before it */
typedef struct { gr__named_stream **at; size_t count, room; uint64_t start; } gr__streams; /* sorted by name; start: the counter of a new one */

/* A call of gr_record, kept while tracing is on, with the calls before and after it. */
typedef struct gr__trace {
    struct gr__trace *prev, *next;
    const gr_node *node;
    bool recorded, was_off, leads; /* it is on the tape; recording was off; the loss depends on it (valid in gr__cut_of) */
} gr__trace;

/* The use of x, a parameter that wanted no gradient then, by an operator in a module. */
typedef struct gr__frozen_use { struct gr__frozen_use *prev; const gr_tensor *x; const gr_op *op; const char *place; } gr__frozen_use;

/* The memory of a gradient that backward needs no more (gr__inner), which the next gradient of as many values takes. */
typedef struct gr__spare { struct gr__spare *next; size_t len; } gr__spare;

/* What a forward adds to the tape. A segment of gr_recompute has its own, in the next arena. */
typedef struct {
    gr_node *last;                /* the newest recorded node; node->prev is the one before */
    size_t nodes;
    gr__undo *undo;
    gr__frozen_use *frozen;       /* the newest */
    gr__trace *first_trace, *last_trace;
    gr_tensor *loss;              /* where the last backward started */
    void *scratch;                /* for gr_scratch, during backward */
    gr__spare *spare;
    size_t epoch;                 /* a mark with another epoch is too old */
    bool walked;                  /* gr_backward was called */
} gr__level;
enum { GR__LEVELS = 8, GR__LEVEL_SHIFT = 56 };
enum { GR__ANOMALY = 1, GR__TRACING = 2 };

/* The living stamps of a level: all from first on, and those in the ranges, which are older and sorted (core/life.c). */
typedef struct { uint64_t first, last; } gr__stamps;
typedef struct { uint64_t first; gr__stamps *range; size_t ranges, room; } gr__life;

struct gr_tape {
    gr_allocator memory;
    gr__arena arena[GR__LEVELS];  /* of the step, of a segment in it, of a segment in that segment, and so on */
    gr__arena resting;            /* anomaly mode: the memory of the step before, which is not used */
    gr__budget budget;
    gr__life life[GR__LEVELS];
    uint64_t births, ended;       /* the newest stamp; the newest stamp at the last reset, when all of them died */
    bool recovered;               /* gr_tape_recover did that, not gr_tape_reset */
    size_t operators;             /* calls of gr_record since then */
    bool traced_late;             /* tracing was turned on after some of them */
    gr__level now;
    int level;                    /* the depth of the segment that runs; 0 outside */
    bool rehearsing;              /* gr_recompute allocates now what the backward of its segment will need */
    gr__streams streams;
    gr_pool *pool;
    bool owns_pool, recording, training;
    unsigned watch;               /* GR__ANOMALY, GR__TRACING */
    const char *place;            /* the path of the module that runs; NULL outside */
    int isa;
    uint64_t seed;
    size_t epochs;                /* counts resets, backwards and segments */
    size_t resets;
    char *work;                   /* GR__WORK_BYTES for each thread */
    size_t work_bytes;
    gr__failure failure;
};

enum { /* gr_tensor.flags */
    GR__WANTS_GRAD = 1, /* it wants a gradient; a view wants one when its base does (gr__wants) */
    GR__HAS_GRAD = 2,   /* a backward has reached it since its gradient was last cleared */
    GR__LEADS = 4,      /* only in gr__cut_of: the loss depends on it */
    GR__TOUCHED = 8,    /* only in gr__cut_of: it was computed from the tensor that is followed */
    GR__FRESH = 32,     /* with GR__HAS_GRAD: the gradient is 0, but its memory is not cleared yet */
    GR__INNER = 64,     /* no program sees it (gr__inner), so backward gives back its gradient, */
    GR__KEEPS = 128,    /* unless gr_want_grad asked for it, or an operator wrote it in place */
    GR__TENSOR = 16,    /* of every tensor on a tape, so that none is read as a gr_ints of the program whose memory it got */
};

uint64_t gr__stamp(gr_tape *t); /* the stamp of a new tensor */
#define GR__OVERWRITTEN UINT64_MAX /* the stamp that gr__arena_fill leaves */
bool gr__lives(const gr_tape *t, const gr_tape *owner, uint64_t stamp);
void *gr__refuse_dead(gr_tape *t, const char *op, const char *what, size_t number, const gr_tensor *x); /* sets the error "what number [2, 3] was made .." */
void gr__life_enter(gr_tape *t); /* a segment begins, on the next level */
void gr__life_leave(gr_tape *t);
void gr__life_free(gr_tape *t, gr__life *l);
bool gr__versions_note(gr_tape *t, gr_node *n); /* note the versions of a new node's inputs; false when there is not enough memory */
bool gr__versions_hold(gr_tape *t, const gr_node *n); /* false, and an error, when an input has changed since */
bool gr__frozen_note(gr_tape *t, const gr_tensor *x, const gr_op *op, const char *place); /* false when there is not enough memory */
bool gr__frozen_hold(gr_tape *t); /* false, and an error, when a noted parameter wants a gradient now */

/* The parts of gr_backward: give x a gradient; tell whether an output of n has one; sweep 1; sweep 2. */
bool gr__reach(gr_tape *t, gr_tensor *x);
bool gr__reached(const gr_node *n);
bool gr__mark_and_allocate(gr_tape *t);
void gr__compute(gr_tape *t);
bool gr__in_segment(gr_tape *t, const char *call); /* true inside gr_recompute, with the error that call is not allowed there */

/* core/anomaly.c: false, and an error, when a value is not finite */
bool gr__check_outputs(gr_tape *t, const gr_op *op, gr_tensor *const *out, size_t outs, gr_tensor *const *in, size_t ins);
void gr__check_gradients(gr_tape *t, const gr_node *n); /* only the error */
bool gr__check_before_backward(gr_tape *t, const gr_tensor *y, const gr_real *dy); /* dy NULL means ones */
void gr__tape_streams_free(gr_tape *t);
/* core/trace.c: false when there is not enough memory */
bool gr__trace_add(gr_tape *t, const gr_node *n, bool recorded);

int gr__isa_choose(const char *wanted); /* wanted NULL means the best; -1 when this build or this CPU does not have it */
const char *gr__isa_name(int isa);

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

/* The tensor that owns the data and gradient of x: the base of a view, or x itself. */
static inline gr_tensor *gr__owner(const gr_tensor *x) { return x->base ? x->base : (gr_tensor *)x; }
static inline bool gr__wants(const gr_tensor *x) { return gr__owner(x)->flags & GR__WANTS_GRAD; }
/* The gradient of x, cleared if nothing was added to it yet; NULL when no backward has reached it. In the first run of a segment, the leaves of
 * gr_recompute are marked as reached and have no gradient. */
static inline gr_real *gr__gradient(const gr_tensor *x)
{
    gr_tensor *const base = gr__owner(x);
    if (!gr__wants(x) || !(base->flags & GR__HAS_GRAD) || !base->grad) return NULL;
    if (base->flags & GR__FRESH) memset(base->grad, 0, base->len * sizeof(gr_real)), base->flags &= ~(unsigned)GR__FRESH;
    return base->grad + (x->data - base->data);
}

/* Whether x may be used on t: it was made on t and is not dead, or it belongs to a module. */
static inline bool gr__alive(const gr_tape *t, const gr_tensor *x)
{
    if (GR__POISONED(x, sizeof *x)) return false;
    if (x->tape == t && x->stamp >= t->life[t->level].first && x->stamp <= t->births) return true;
    return x->tape ? gr__lives(t, x->tape, x->stamp) : x->home != NULL;
}
#endif
