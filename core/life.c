/* core/life.c - which tensors are alive: gr_tape_reset, gr_tape_recover, gr_tape_rewind and the end of a segment of gr_recompute end the life of
 * tensors. An error names a dead tensor that is used.
 *
 * Each tensor has a stamp: the level on which it was made (in the top byte) and its number among all tensors of its tape. Numbers grow, so the
 * living numbers of a level are a few ranges: gr_tape_reset begins a new and only range; gr_tape_rewind ends the newest range at its
 * mark and begins another. The memory of a dead tensor is used again, and then its stamp is lost. Anomaly mode does not use dead memory for
 * one step, fills it with NaN and with stamps that no tensor has, and tells AddressSanitizer. */
#include "core/internal.h"

uint64_t gr__stamp(gr_tape *t) { return ++t->births; }

static bool number_lives(const gr_tape *t, uint64_t number)
{
    const uint64_t count = ((uint64_t)1 << GR__LEVEL_SHIFT) - 1;
    const gr__life *const l = &t->life[number >> GR__LEVEL_SHIFT];
    if ((number & count) > (t->births & count)) return false; /* no tensor ever had this number: a dead tensor was overwritten */
    if (number >= l->first) return true;
    size_t from = 0, end = l->ranges; /* the last range that begins at or before number */
    while (from < end) {
        const size_t middle = from + (end - from) / 2;
        if (l->range[middle].first <= number) from = middle + 1;
        else end = middle;
    }
    return from && number <= l->range[from - 1].last;
}

bool gr__lives(const gr_tape *t, const gr_tape *owner, uint64_t stamp)
{
    return owner == t && stamp >> GR__LEVEL_SHIFT <= (uint64_t)t->level && number_lives(t, stamp);
}

/* The error that x, of that shape, cannot be used, with the remedy. what and number name it, "input" and 2; number 0 means what alone. */
static void *refuse(gr_tape *t, const char *op, const char *what, size_t number, int rank, const size_t *dim, const gr_tape *owner, uint64_t stamp,
                    const char *remedy)
{
    char shape[GR__SHAPE_ROOM], name[80 + GR__SHAPE_ROOM];
    const char *const end = t->recovered ? "gr_tape_recover" : "gr_tape_reset", *const after = t->recovered ? "make it again" : remedy;
    const int n = snprintf(name, 80, number ? "%s %zu" : "%s", what, number);
    if (stamp == GR__OVERWRITTEN) /* and so is the shape */
        return gr_fail_as(t, GR_MISUSE, op, "%s was made before %s, or after a mark that gr_tape_rewind went back to, which ended it; %s", name, end, after);
    snprintf(name + (n < 80 ? n : 79), sizeof shape, " %s", gr__shape_write(shape, rank, dim));
    if (owner != t) return gr_fail_as(t, GR_MISUSE, op, "%s belongs to another tape (copy its values), or to a step that is over: %s", name, remedy);
    if (stamp >> GR__LEVEL_SHIFT)
        return gr_fail_as(t, GR_MISUSE, op, "%s was made inside a function that gr_recompute ran, and ended with it; only what the function "
                          "returns in out outlives it", name);
    if (stamp <= t->ended) return gr_fail_as(t, GR_MISUSE, op, "%s was made before %s, which ended it; %s", name, end, after);
    return gr_fail_as(t, GR_MISUSE, op, "%s was made after the mark that gr_tape_rewind went back to, which ended it; make it before the mark, "
                      "or keep it by gr_detach_keep", name);
}

void *gr__refuse_dead(gr_tape *t, const char *op, const char *what, size_t number, const gr_tensor *x)
{
    GR__UNPOISON(x, sizeof *x);
    return refuse(t, op, what, number, x->rank, x->dim, x->tape, x->stamp, "make inputs again in each step; gr_detach_keep before the "
                  "reset and gr_carried after it keep a state");
}

bool gr_alive(gr_tape *t, const gr_op *op, const char *name, const gr_tensor *x)
{
    if (gr_failed(t)) return false;
    return !x || gr__alive(t, x) || gr__refuse_dead(t, op ? op->name : "", name, 0, x);
}

bool gr_ints_alive(gr_tape *t, const gr_op *op, const char *name, const gr_ints *x)
{
    if (gr_failed(t) || !x) return !gr_failed(t);
    if (GR__POISONED(x, sizeof *x) || (x->tape ? !gr__lives(t, x->tape, x->stamp) : x->flags)) {
        GR__UNPOISON(x, sizeof *x);
        return refuse(t, op ? op->name : "", name, 0, x->rank, x->dim, x->tape, x->flags & GR__TENSOR ? GR__OVERWRITTEN : x->stamp, /* a new tensor lies there */
                      "make it anew in each step");
    }
    char shape[GR__SHAPE_ROOM];
    size_t len = 1;
    for (int i = 0; i < x->rank && i < GR_MAX_RANK; i++) len *= x->dim[i];
    return (x->rank >= 0 && x->rank <= GR_MAX_RANK && len == x->len) ||
           gr_fail(t, op, "%s is %s, which is not the shape of %zu integers", name, gr__shape_write(shape, x->rank, x->dim), x->len);
}

/* ---- The ends of a step ---- */

/* In anomaly mode, the next step gets the memory of the step before this one, and this one's memory rests. */
static void end_step(gr_tape *t, bool recovered)
{
    if (t->watch & GR__ANOMALY) {
        gr__arena_fill(&t->arena[0], NULL, 0);
        gr__arena_rewind(&t->arena[0], NULL, 0);
        const gr__arena dead = t->arena[0];
        t->arena[0] = t->resting, t->resting = dead;
    }
    gr__arena_rewind(&t->arena[0], NULL, 0);
    t->now = (gr__level){ .epoch = ++t->epochs };
    t->resets++;
    t->life[0].first = t->births + 1, t->life[0].ranges = 0;
    t->ended = t->births, t->recovered = recovered, t->operators = 0, t->traced_late = false;
}

void gr_tape_reset(gr_tape *t) { if (t && !gr__in_segment(t, "gr_tape_reset")) end_step(t, false); }

void gr_tape_recover(gr_tape *t)
{
    if (!t || gr__in_segment(t, "gr_tape_recover")) return;
    for (const gr__undo *u = t->now.undo; u; u = u->prev) memcpy(u->place, u + 1, u->bytes);
    t->failure = (gr__failure){ 0 };
    end_step(t, true);
}

bool gr__in_segment(gr_tape *t, const char *call)
{
    if (t->level) gr_fail_as(t, GR_MISUSE, "recompute", "the function must not call %s", call);
    return t->level;
}

/* ---- Segments of gr_recompute ---- */

void gr__life_enter(gr_tape *t)
{
    t->level++, t->births += (uint64_t)1 << GR__LEVEL_SHIFT;
    t->life[t->level].first = t->births + 1, t->life[t->level].ranges = 0;
}

void gr__life_leave(gr_tape *t) { t->level--, t->births -= (uint64_t)1 << GR__LEVEL_SHIFT; }

/* ---- Marks ---- */

/* The newest living number; 0 when none lives. */
static uint64_t newest(const gr_tape *t)
{
    const gr__life *const l = &t->life[t->level];
    return t->births >= l->first ? t->births : l->ranges ? l->range[l->ranges - 1].last : 0;
}

gr_mark gr_tape_mark(const gr_tape *t)
{
    if (!t) return (gr_mark){ 0 };
    const gr__arena *const a = &t->arena[t->level];
    return (gr_mark){ .tape = t, .block = a->now, .used = a->used, .epoch = t->now.epoch, .nodes = t->now.nodes, .newest = newest(t),
                      .node = t->now.last, .undo = t->now.undo, .trace = t->now.last_trace, .frozen = t->now.frozen };
}

static bool life_has_room(gr_tape *t, gr__life *l)
{
    return gr__grow(&t->memory, &l->range, l->ranges, &l->room, sizeof *l->range) || gr_fail_as(t, GR_NO_MEMORY, "", "out of memory: gr_tape_rewind");
}

/* Only tensors that lived at the mark stay alive. */
static void life_rewind(gr_tape *t, uint64_t last)
{
    gr__life *const l = &t->life[t->level];
    while (l->ranges && l->range[l->ranges - 1].first > last) l->ranges--;
    if (l->first <= last && life_has_room(t, l)) l->range[l->ranges++] = (gr__stamps){ l->first, last };
    else if (l->ranges && l->range[l->ranges - 1].last > last) l->range[l->ranges - 1].last = last;
    l->first = t->births + 1;
}

void gr__life_free(gr_tape *t, gr__life *l) { gr_memory_free(&t->memory, l->range, l->room * sizeof *l->range); }

static bool mark_is_valid(gr_tape *t, const gr_mark *mark)
{
    const char *wrong = NULL;
    if (mark->tape != t) wrong = "the mark is of another tape";
    else if (mark->epoch != t->now.epoch) wrong = "the mark is from before the last gr_tape_reset or gr_backward; take a new one";
    else if (mark->newest && !number_lives(t, mark->newest)) wrong = "an earlier gr_tape_rewind went back to a place before this mark";
    return !wrong || gr_fail_as(t, GR_MISUSE, "gr_tape_rewind", "%s", wrong);
}

void gr_tape_rewind(gr_tape *t, gr_mark mark)
{
    if (!t || !mark_is_valid(t, &mark)) return;
    gr__arena *const a = &t->arena[t->level];
    t->now.last = mark.node, t->now.nodes = mark.nodes, t->now.last_trace = mark.trace, t->now.frozen = mark.frozen;
    if (t->now.last_trace) t->now.last_trace->next = NULL;
    else t->now.first_trace = NULL;
    const bool ends_some = newest(t) != mark.newest;
    if (ends_some) life_rewind(t, mark.newest);
    if (t->now.loss && !gr__alive(t, t->now.loss)) t->now.loss = NULL; /* of a backward that failed */
    if (t->now.undo != mark.undo) return; /* the new part of the undo log must outlive the rewind: keep the memory until the reset */
    if (t->watch & GR__ANOMALY) gr__arena_fill(a, mark.block, mark.used);
    if (t->watch & GR__ANOMALY && ends_some) return; /* keep the memory, so that no new tensor takes a dead one's place */
    gr__arena_rewind(a, mark.block, mark.used);
}

/* ---- Parameters: they must not change, nor be thawed, between a forward and its backward ---- */

static uint64_t contents_of(const gr_tensor *x)
{
    uint64_t hash = GR__HASH;
    for (size_t i = 0; i < x->len; i++) {
        uint64_t bits = 0;
        memcpy(&bits, &x->data[i], sizeof x->data[i]);
        hash = gr__hash(hash, bits);
    }
    return hash;
}

static const gr_tensor *of_a_module(const gr_tensor *x)
{
    const gr_tensor *const owner = x ? gr__owner(x) : NULL;
    return owner && owner->home ? owner : NULL;
}

bool gr__versions_note(gr_tape *t, gr_node *n)
{
    const bool by_contents = t->watch & GR__ANOMALY;
    for (unsigned i = 0; i < n->ins; i++) {
        const gr_tensor *const x = of_a_module(n->in[i]);
        if (!x) continue;
        if (!n->versions && !(n->versions = gr_save_zeros(t, n->ins * (by_contents ? 2 : 1) * sizeof *n->versions))) return false;
        n->versions[i] = x->stamp;
        if (by_contents) n->versions[n->ins + i] = contents_of(x);
    }
    n->by_contents = by_contents;
    return true;
}

/* The error that x changed, or was thawed, after an operator in that module used it, and what that does to its gradient. */
static void *refuse_use(gr_tape *t, const gr_tensor *x, const char *what, const gr_op *op, const char *place, const char *then)
{
    char shape[GR__SHAPE_ROOM];
    return gr_fail_as(t, GR_MISUSE, "backward", "%s %s %s after %s%s%s used it, so its gradient would %s", x->path ? x->path : "input",
                      gr__shape_write(shape, x->rank, x->dim), what, op->name, place && *place ? " in " : "", place ? place : "", then);
}

bool gr__versions_hold(gr_tape *t, const gr_node *n)
{
    for (unsigned i = 0; i < n->ins; i++) {
        const gr_tensor *const x = of_a_module(n->in[i]);
        if (!x || (x->stamp == n->versions[i] && (!n->by_contents || contents_of(x) == n->versions[n->ins + i]))) continue;
        return refuse_use(t, x, "changed", n->op, n->place, "be wrong; call gr_optim_step, gr_state_load, gr_module_copy, gr_module_lerp and "
                          "gr_detach_keep after gr_backward");
    }
    return true;
}

bool gr__frozen_note(gr_tape *t, const gr_tensor *x, const gr_op *op, const char *place)
{
    gr__frozen_use *const u = gr_save(t, sizeof *u);
    if (u) *u = (gr__frozen_use){ t->now.frozen, x, op, place }, t->now.frozen = u;
    return u;
}

bool gr__frozen_hold(gr_tape *t)
{
    const gr__frozen_use *u = t->now.frozen;
    while (u && !gr__wants(u->x)) u = u->prev;
    return !u || refuse_use(t, u->x, "was thawed", u->op, u->place, "lack that part; call gr_requires_grad before the forward or after gr_backward");
}
