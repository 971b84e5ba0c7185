/* core/tape.c - the tape: making it, errors, recording, the undo log, modes. The life of tensors is in core/life.c, backward in
 * core/backward.c. */
#include "core/gemm.h"
#include "core/internal.h"
#include "core/locale.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- Errors ---- */

static void *fail(gr_tape *t, gr_error code, const char *name, const char *format, va_list arguments)
{
    if (!t || t->error) return NULL;
    GR__C_LOCALE;
    t->error = code;
    const char *const place = name && *name && t->place ? t->place : "";
    char text[sizeof t->message];
    const int head = snprintf(text, sizeof text, "%s%s%s%s", name ? name : "", *place ? " in " : "", place, name && *name ? ": " : "");
    if (head >= 0 && (size_t)head < sizeof text) vsnprintf(text + head, sizeof text - (size_t)head, format, arguments);
    gr__text_for_terminal(t->message, sizeof t->message, text);
    return NULL;
}

void *gr_fail(gr_tape *t, const gr_op *op, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fail(t, GR_MISUSE, op ? op->name : "", format, arguments);
    va_end(arguments);
    return NULL;
}

void *gr_fail_as(gr_tape *t, gr_error code, const char *name, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fail(t, code, name, format, arguments);
    va_end(arguments);
    return NULL;
}

bool gr_failed(const gr_tape *t) { return !t || t->error; }
gr_error gr_error_code(const gr_tape *t) { return t ? t->error : GR_NO_MEMORY; }
const char *gr_message(const gr_tape *t)
{
    return t ? t->message : "there is no tape: gr_tape_new returned NULL, because memory is out or header and library differ (GR_REAL_DOUBLE, GR_VERSION)";
}

/* ---- Life ---- */

static bool tape_start(gr_tape *t, const gr_tape_config *c)
{
    const char *const isa = c->isa ? c->isa : getenv("GRADUS_ISA");
    t->isa = gr__isa_choose(isa && *isa ? isa : NULL);
    if (t->isa < 0) {
        t->isa = 0;
        return gr_fail(t, NULL, "instruction set '%s': this build or this CPU has none of that name", isa);
    }
    if (c->threads < 0 || c->threads > 256) return gr_fail(t, NULL, "threads must be 0 .. 256; got %d", c->threads);
    t->pool = c->pool;
    if (!c->pool && c->threads > 1) {
        t->pool = gr_pool_new(c->threads, &t->memory);
        t->owns_pool = t->pool;
        if (!t->pool) return gr_fail_as(t, GR_NO_MEMORY, "", "out of memory: %d threads", c->threads);
    }
    return true;
}

gr_tape *gr_tape_new_checked(uint64_t seed, const gr_tape_config *config, size_t real_bytes, int version)
{
    if (real_bytes != sizeof(gr_real) || version != GR_VERSION) return NULL;
    const gr_tape_config c = config ? *config : (gr_tape_config){ 0 };
    const gr_allocator memory = c.allocator ? *c.allocator : gr_default_allocator();
    gr_tape *t = gr_memory_new(&memory, sizeof *t);
    if (!t) return NULL;
    t->memory = memory;
    t->budget.most = c.max_bytes;
    for (int i = 0; i < GR__LEVELS; i++) t->arena[i] = (gr__arena){ .memory = memory, .budget = &t->budget };
    t->resting = t->arena[0];
    t->seed = seed, t->recording = t->training = true;
    tape_start(t, &c);
    t->work_bytes = (size_t)gr_pool_threads(t->pool) * gr__work_bytes();
    t->work = memory.alloc(memory.context, t->work_bytes);
    if (t->work) return t;
    gr_tape_free(t);
    return NULL;
}

void gr_tape_free(gr_tape *t)
{
    if (!t) return;
    const gr_allocator memory = t->memory;
    for (int i = 0; i < GR__LEVELS; i++) gr__arena_free(&t->arena[i]), gr__life_free(t, &t->life[i]);
    gr__arena_free(&t->resting);
    gr__tape_streams_free(t);
    gr_memory_free(&memory, t->work, t->work_bytes);
    if (t->owns_pool) gr_pool_free(t->pool);
    gr_memory_free(&memory, t, sizeof *t);
}

/* ---- The undo log ---- */

bool gr_undo_note(gr_tape *t, void *p, size_t bytes)
{
    size_t whole;
    if (!bytes) return !gr_failed(t);
    if (!p) return gr_fail_as(t, GR_MISUSE, "undo_note", "the place is NULL");
    gr__undo *u = gr_size_add(sizeof *u, bytes, &whole) ? gr_save(t, whole) : gr_fail_as(t, GR_NO_MEMORY, "", "out of memory");
    if (!u) return false;
    *u = (gr__undo){ t->now.undo, p, bytes };
    memcpy(u + 1, p, bytes);
    t->now.undo = u;
    return true;
}

void gr__undo_forget(gr_tape *t) { t->now.undo = NULL; }
size_t gr__tape_resets(const gr_tape *t) { return t->resets; }

/* ---- Memory of the step ---- */

static __attribute__((cold, noinline)) void *out_of_memory(gr_tape *t, size_t bytes)
{
    char most[60] = "", since[80] = "";
    if (t->budget.most) snprintf(most, sizeof most, " of max_bytes %zu", t->budget.most);
    if (t->operators) snprintf(since, sizeof since, "; gr_tape_reset was not called since %zu operators", t->operators);
    return gr_fail_as(t, GR_NO_MEMORY, "", "out of memory: %zu bytes for this step, which holds %zu%s%s", bytes, gr_tape_bytes(t), most, since);
}

void *gr_save(gr_tape *t, size_t bytes)
{
    if (gr_failed(t)) return NULL;
    void *p = gr__arena_alloc(&t->arena[t->level], bytes);
    return p ? p : out_of_memory(t, bytes);
}
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

/* ---- Recording ---- */

bool gr_ready_list(gr_tape *t, const gr_op *op, gr_tensor *const *x, size_t n)
{
    if (gr_failed(t)) return false;
    if (n && !x) return gr_fail(t, op, "the list of arguments is NULL");
    for (size_t i = 0; i < n; i++) {
        if (!x[i]) return gr_fail(t, op, "argument %zu is NULL", i + 1);
        if (!gr__alive(t, x[i])) return gr__refuse_dead(t, op ? op->name : "", "argument", i + 1, x[i]);
    }
    return true;
}

bool gr_will_record(const gr_tape *t, gr_tensor *const *in, size_t ins)
{
    if (gr_failed(t) || !t->recording) return false;
    for (size_t i = 0; in && i < ins; i++)
        if (in[i] && in[i]->flags & GR__WANTS_GRAD) return true;
    return false;
}

gr_tensor *gr_record(gr_tape *t, const gr_op *op, const void *saved, size_t saved_bytes, gr_tensor *const *out, size_t outs,
                     gr_tensor *const *in, size_t ins)
{
    if (gr_failed(t)) return NULL;
    if (!op || !out || !outs || (ins && !in) || (saved_bytes && !saved))
        return gr_fail_as(t, GR_MISUSE, op ? op->name : "record", "gr_record needs an operator and an output, and no list may be NULL");
    t->operators++;
    bool of_modules = false;
    for (size_t i = 0; i < ins; i++) {
        if (!in[i]) continue;
        if (!gr__alive(t, in[i])) return gr__refuse_dead(t, op->name, "input", i + 1, in[i]);
        of_modules |= gr__owner(in[i])->home != NULL;
    }
    if (t->watch & GR__TRACING && !gr__trace_add(t, op, out, outs, in, ins)) return NULL;
    if (t->watch & GR__ANOMALY && !gr__check_outputs(t, op, out, outs, in, ins)) return NULL;
    if (!op->backward || !gr_will_record(t, in, ins)) return out[0];
    gr_node *n = gr_save(t, sizeof *n + (outs + ins) * sizeof(gr_tensor *));
    void *copy = saved_bytes ? gr_save(t, saved_bytes) : NULL;
    if (gr_failed(t)) return NULL;
    gr_tensor **links = (gr_tensor **)(n + 1);
    *n = (gr_node){ .op = op, .prev = t->now.last, .saved = copy, .in = links + outs, .out = links, .ins = (unsigned)ins, .outs = (unsigned)outs,
                    .place = t->place };
    memcpy(links, out, outs * sizeof *out);
    if (ins) memcpy(links + outs, in, ins * sizeof *in);
    if (copy) memcpy(copy, saved, saved_bytes);
    if (of_modules && !gr__versions_note(t, n)) return NULL;
    for (size_t i = 0; i < outs; i++)
        if (out[i]) out[i]->flags |= GR__WANTS_GRAD;
    t->now.last = n, t->now.nodes++;
    return out[0];
}

/* ---- Mode and facts ---- */

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
int gr_tape_threads(const gr_tape *t) { return t ? gr_pool_threads(t->pool) : 1; }
const char *gr_tape_isa(const gr_tape *t) { return t ? gr__isa_name(t->isa) : ""; }
size_t gr_tape_bytes(const gr_tape *t)
{
    return t ? t->budget.held : 0;
}
size_t gr_tape_nodes(const gr_tape *t) { return t ? t->now.nodes : 0; }
int gr_isa(const gr_tape *t) { return t ? t->isa : 0; }
void *gr__work(gr_tape *t, int thread) { return t->work + (size_t)thread * gr__work_bytes(); }

/* ---- Threads ---- */

void gr_parallel(gr_tape *t, size_t chunks, double work, gr_task *f, void *argument)
{
    if (!t || !f) return;
    if (chunks > 1 && work >= 5000) gr_pool_run(t->pool, chunks, f, argument);
    else
        for (size_t i = 0; i < chunks; i++) f(argument, i, 0);
}
