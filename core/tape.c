/* core/tape.c - the tape: making and freeing it, its modes, what it holds, its threads. Errors are in core/error.c, recording in core/record.c, the memory of
 * a step in core/arena.c, the life of tensors in core/life.c, backward in core/backward.c. */
#include "core/internal.h"
#include <stdlib.h>

/* ---- Life ---- */

static void tape_start(gr_tape *t, const gr_tape_config *c)
{
    const char *const isa = c->isa ? c->isa : getenv("GRADUS_ISA");
    t->isa = gr__isa_choose(isa && *isa ? isa : NULL);
    if (t->isa < 0) t->isa = 0, gr_fail(t, NULL, "instruction set '%s': this build or this CPU does not have it", isa);
    if (c->threads < 0 || c->threads > 256) gr_fail(t, NULL, "threads must be 0 .. 256; got %d", c->threads);
    t->pool = c->pool;
    if (gr_failed(t) || c->pool || c->threads < 2) return;
    t->pool = gr_pool_new(c->threads, &t->memory), t->owns_pool = t->pool;
    if (!t->pool) gr_fail_as(t, GR_NO_MEMORY, "", "out of memory: %d threads", c->threads);
}

gr_tape *gr_tape_new_checked(uint64_t seed, const gr_tape_config *config, size_t real_bytes, int version)
{
    if (real_bytes != sizeof(gr_real) || version != GR_VERSION) return NULL;
    const gr_tape_config c = config ? *config : (gr_tape_config){ 0 };
    const gr_allocator memory = c.allocator ? *c.allocator : gr_default_allocator();
    gr_tape *t = gr_memory_new(&memory, sizeof *t);
    if (!t) return NULL;
    t->memory = memory, t->budget.most = c.max_bytes;
    for (int i = 0; i < GR__LEVELS; i++) t->arena[i] = (gr__arena){ .memory = memory, .budget = &t->budget };
    t->resting = t->arena[0], t->seed = seed, t->recording = t->training = true;
    tape_start(t, &c);
    t->work_bytes = (size_t)gr__pool_threads(t->pool) * GR__WORK_BYTES, t->work = memory.alloc(memory.context, t->work_bytes);
    if (t->work) return t;
    gr_tape_free(t);
    return NULL;
}

void gr_tape_free(gr_tape *t)
{
    if (!t) return;
    for (int i = 0; i < GR__LEVELS; i++) gr__arena_free(&t->arena[i]), gr__life_free(t, &t->life[i]);
    gr__arena_free(&t->resting);
    gr__tape_streams_free(t);
    gr_memory_free(&t->memory, t->work, t->work_bytes);
    if (t->owns_pool) gr_pool_free(t->pool);
    gr_memory_free(&t->memory, t, sizeof *t);
}

/* ---- Modes, and what the tape holds ---- */

void gr_tape_set_training(gr_tape *t, bool training) { if (t) t->training = training; }
bool gr_tape_training(const gr_tape *t) { return t && t->training; }
void gr_tape_set_recording(gr_tape *t, bool recording) { if (t) t->recording = recording; }
bool gr_tape_recording(const gr_tape *t) { return t && t->recording; }
static void watch(gr_tape *t, unsigned what, bool on) { if (t) t->watch = on ? t->watch | what : t->watch & ~what; }
void gr_tape_set_anomaly(gr_tape *t, bool on) { watch(t, GR__ANOMALY, on); }
void gr_tape_set_tracing(gr_tape *t, bool on)
{
    if (t && on && !(t->watch & GR__TRACING) && t->operators) t->traced_late = true;
    watch(t, GR__TRACING, on);
}
const char *gr_tape_set_place(gr_tape *t, const char *path)
{
    const char *const before = t ? t->place : NULL;
    if (t) t->place = path;
    return before;
}
uint64_t gr_tape_seed(const gr_tape *t) { return t ? t->seed : 0; }
const gr_allocator *gr_tape_allocator(const gr_tape *t) { return t ? &t->memory : NULL; }
int gr_tape_threads(const gr_tape *t) { return t ? gr__pool_threads(t->pool) : 1; }
const char *gr_tape_isa(const gr_tape *t) { return t ? gr__isa_name(t->isa) : ""; }
size_t gr_tape_bytes(const gr_tape *t) { return t ? t->budget.held : 0; }
size_t gr__tape_resets(const gr_tape *t) { return t->resets; }
size_t gr_tape_nodes(const gr_tape *t) { return t ? t->now.nodes : 0; }
int gr_isa(const gr_tape *t) { return t ? t->isa : 0; }
void *gr__work(gr_tape *t, int thread) { return t->work + (size_t)thread * GR__WORK_BYTES; }

/* ---- Threads ---- */

void gr_parallel(gr_tape *t, size_t chunks, double work, gr_task *f, void *argument)
{
    if (t) gr__pool_run(work >= gr__pool_least(t->pool) ? t->pool : NULL, chunks, f, argument);
}

typedef struct { size_t n, most; gr__rows_task *f; void *argument; } rows_region;
static void rows_chunk(void *argument, size_t chunk, int thread)
{
    const rows_region *r = argument;
    (void)thread;
    r->f(r->argument, gr_chunk(chunk, r->most, r->n));
}
void gr__parallel_rows(gr_tape *t, size_t n, size_t most, double work, gr__rows_task *f, void *argument)
{
    gr_parallel(t, gr_chunks(n, most), work, rows_chunk, &(rows_region){ n, most, f, argument });
}
