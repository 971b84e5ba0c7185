/* core/recompute.c - a segment of the forward: its intermediate results are freed, and computed again in backward (recompute).
 *
 *     y = f(x)        dx = the backward of f, which runs again for it
 * Shapes: what f makes of them.   Kinks: those of f.   Chen et al. 2016
 *
 * A segment runs on its own level: another arena, another list of nodes, another undo log; mode, streams and threads are the
 * tape's. Its inputs are leaves there with the same values. In the second run these leaves share the gradients of the inputs, so that
 * every sum is added in the same order as without gr_recompute, and the bits are the same.
 * The forward also rehearses sweep 1 of the segment's backward. The second run asks for the same memory in the same order, so the blocks of the
 * arena suffice for it, and sweep 2 cannot run out of memory here either.
 * Saved: the function and its argument, and the old bytes of all state that the function changed. */
#include "core/recompute.h"
#include "core/internal.h"

typedef struct {
    gr_segment *f;
    void *argument;
    size_t ins, outs; /* of f; the node has more inputs: whatever else f uses */
    bool training;
    const gr__undo *state, *state_end; /* what f noted, newest first; after its old bytes each has room for the same number of bytes */
} segment;

static void recompute_node(gr_tape *t, const gr_node *n);
static const gr_op recompute_op = { .name = "recompute", .backward = recompute_node };

static void segment_clear(gr_tape *t, int level)
{
    if (t->watch & GR__ANOMALY) gr__arena_fill(&t->arena[level], NULL, 0);
    gr__arena_rewind(&t->arena[level], NULL, 0);
}
static gr__level segment_enter(gr_tape *t)
{
    const gr__level outer = t->now;
    gr__life_enter(t);
    t->now = (gr__level){ .epoch = ++t->epochs };
    return outer;
}

static bool segment_call(gr_tape *t, const segment *s, gr_tensor *const *in, gr_tensor **out)
{
    s->f(t, in, out, s->argument);
    for (size_t o = 0; o < s->outs && !gr_failed(t); o++)
        if (!out[o]) gr_fail(t, &recompute_op, "the function left output %zu of %zu NULL", o + 1, s->outs);
    return !gr_failed(t);
}

/* Run f on the segment's level. Returns its outputs; NULL on an error. */
static gr_tensor **segment_run(gr_tape *t, const segment *s, gr_tensor *const *in)
{
    gr_tensor **const leaf = gr_save_zeros(t, s->ins * sizeof *leaf), **const out = gr_save_zeros(t, s->outs * sizeof *out);
    for (size_t i = 0; i < s->ins && !gr_failed(t); i++) {
        gr_tensor *const x = in[i] ? gr_save(t, sizeof *x) : NULL;
        if (!x) continue;
        *x = *in[i];
        x->base = NULL, x->path = gr__owner(in[i])->path, x->home = NULL, x->tape = t, x->stamp = gr__stamp(t), x->used = NULL;
        x->flags = gr__wants(in[i]) ? GR__WANTS_GRAD | GR__HAS_GRAD : 0, x->grad = gr_grad(t, in[i]), leaf[i] = x;
    }
    return !gr_failed(t) && segment_call(t, s, leaf, out) ? out : NULL;
}

static bool segment_reach(gr_tape *t, const segment *s, gr_tensor **out)
{
    for (size_t o = 0; o < s->outs; o++)
        if (gr__wants(out[o]) && !gr__reach(t, out[o])) return false;
    return gr__mark_and_allocate(t);
}

/* ---- Backward ---- */

static bool segment_is_as_before(gr_tape *t, const gr_node *n, gr_tensor **out)
{
    const segment *s = n->saved;
    for (size_t o = 0; out && o < s->outs; o++) {
        if (gr_same_shape(out[o], n->out[o]) && !memcmp(out[o]->data, n->out[o]->data, out[o]->len * sizeof(gr_real))) continue;
        return gr_fail(t, &recompute_op, "output %zu, %s, differs from that of the first run, %s; the function must depend on its inputs and "
                       "its argument alone", o + 1, gr_shape_text(t, out[o]), gr_shape_text(t, n->out[o]));
    }
    return out;
}

static void recompute_node(gr_tape *t, const gr_node *n)
{
    const segment *s = n->saved;
    const bool training = t->training, recording = t->recording;
    const char *const place = t->place;
    for (const gr__undo *u = s->state; u != s->state_end; u = u->prev) memcpy((char *)(u + 1) + u->bytes, u->place, u->bytes);
    for (const gr__undo *u = s->state; u != s->state_end; u = u->prev) memcpy(u->place, u + 1, u->bytes);

    const gr__level outer = segment_enter(t);
    t->training = s->training, t->recording = true, t->place = n->place;
    gr_tensor **const out = segment_run(t, s, n->in);
    for (const gr__undo *u = s->state; u != s->state_end; u = u->prev) memcpy(u->place, (char *)(u + 1) + u->bytes, u->bytes);
    if (segment_is_as_before(t, n, out) && segment_reach(t, s, out)) {
        for (size_t o = 0; o < s->outs; o++) {
            gr_real *const dx = gr_grad(t, out[o]);
            const gr_real *const dy = gr_grad(t, n->out[o]);
            for (size_t i = 0; dx && i < out[o]->len; i++) dx[i] += dy[i];
        }
        gr__compute(t);
    }
    t->training = training, t->recording = recording, t->place = place;
    segment_clear(t, t->level), gr__life_leave(t);
    t->now = outer;
}

/* ---- Forward ---- */

static gr__undo *log_turned(gr__undo *log)
{
    gr__undo *turned = NULL;
    for (gr__undo *u = log, *next; u; u = next) next = u->prev, u->prev = turned, turned = u;
    return turned;
}

/* Copy the undo log of the segment to the level around it, oldest entry first, each with room for as many bytes again. When that fails, or f
 * has failed, undo the changes. */
static bool segment_state(gr_tape *t, gr__undo *log)
{
    gr__undo *const oldest = log_turned(log);
    for (const gr__undo *u = oldest; u && !gr_failed(t); u = u->prev) {
        size_t bytes;
        const bool fits = gr_size_mul(u->bytes, 2, &bytes) && gr_size_add(bytes, sizeof *u, &bytes);
        gr__undo *const copy = gr_save(t, fits ? bytes : SIZE_MAX);
        if (!copy) break;
        *copy = (gr__undo){ t->now.undo, u->place, u->bytes };
        memcpy(copy + 1, u + 1, u->bytes);
        t->now.undo = copy;
    }
    if (!gr_failed(t)) return true;
    for (const gr__undo *u = log_turned(oldest); u; u = u->prev) memcpy(u->place, u + 1, u->bytes);
    return false;
}

typedef struct { gr_tensor **x; size_t n; } tensor_list;

static void list_outside(gr_tape *t, tensor_list *list, gr_tensor *x)
{
    if (!x || !gr__wants(x) || gr__arena_holds(&t->arena[t->level], gr__owner(x))) return;
    for (size_t i = 0; i < list->n; i++)
        if (list->x[i] == gr__owner(x)) return;
    list->x[list->n++] = gr__owner(x);
}

/* The inputs of f, and then all other tensors outside the segment that its backward reaches. The list lies at the end of the segment's arena. */
static tensor_list segment_inputs(gr_tape *t, const segment *s, gr_tensor *const *in, gr_tensor *const *out)
{
    size_t most = s->ins + s->outs;
    for (const gr_node *m = t->now.last; m; m = m->prev) most += m->ins;
    tensor_list list = { gr_save(t, most * sizeof *list.x), s->ins };
    if (!list.x) return list;
    for (size_t i = 0; i < s->ins; i++) list.x[i] = in[i];
    for (const gr_node *m = t->now.last; m; m = m->prev)
        for (unsigned i = 0; i < m->ins && gr__reached(m); i++) list_outside(t, &list, m->in[i]);
    for (size_t o = 0; o < s->outs; o++) list_outside(t, &list, out[o]);
    return list;
}

bool gr_recompute(gr_tape *t, gr_segment *f, void *argument, size_t argument_bytes, gr_tensor *const *in, size_t ins, gr_tensor **out, size_t outs)
{
    for (size_t o = 0; out && o < outs; o++) out[o] = NULL;
    if (gr_failed(t)) return false;
    if (!f) return gr_fail(t, &recompute_op, "the function is NULL");
    if (!out || !outs) return gr_fail(t, &recompute_op, "the function must have an output");
    if (ins && !in) return gr_fail(t, &recompute_op, "the list of inputs is NULL");
    if (argument_bytes && !argument) return gr_fail(t, &recompute_op, "the argument is NULL, and %zu bytes of it are to be copied", argument_bytes);
    for (size_t i = 0; i < ins; i++)
        if (in[i] && !gr__alive(t, in[i])) return gr__refuse_dead(t, recompute_op.name, "input", i + 1, in[i]);
    segment s = { .f = f, .argument = argument, .ins = ins, .outs = outs, .training = t->training, .state_end = t->now.undo };
    if (argument_bytes && (s.argument = gr_save(t, argument_bytes))) memcpy(s.argument, argument, argument_bytes);
    if (gr_failed(t)) return false;
    if (!t->recording || t->watch & GR__TRACING || t->level + 1 == GR__LEVELS) return segment_call(t, &s, in, out);

    const gr__level outer = segment_enter(t);
    gr_tensor **const made = segment_run(t, &s, in);
    t->rehearsing = true;
    if (made) segment_reach(t, &s, made);
    t->rehearsing = false;
    const tensor_list all = made ? segment_inputs(t, &s, in, made) : (tensor_list){ NULL, 0 };
    gr__undo *const log = t->now.undo;
    const gr__frozen_use *const uses = t->now.frozen;
    t->now = outer, gr__life_leave(t); /* the segment's arena is still needed below */
    gr_tensor **const kept = gr_save(t, outs * sizeof *kept);
    for (size_t o = 0; o < outs && !gr_failed(t); o++)
        if ((kept[o] = gr_empty_like(t, made[o]))) memcpy(kept[o]->data, made[o]->data, made[o]->len * sizeof(gr_real));
    const bool good = segment_state(t, log);
    for (const gr__frozen_use *u = uses; u && !gr_failed(t); u = u->prev) gr__frozen_note(t, u->x, u->op, u->place);
    s.state = t->now.undo;
    if (good && gr_record(t, &recompute_op, &s, sizeof s, kept, outs, all.x, all.n)) memcpy(out, kept, outs * sizeof *kept);
    segment_clear(t, t->level + 1);
    return !gr_failed(t);
}
