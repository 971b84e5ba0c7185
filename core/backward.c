/* core/backward.c - two sweeps over the tape, from the newest node to the oldest. They need no recursion and no set of visited nodes: the tape
 * is in the order of execution, so a sweep meets every node that uses an output before the node that made it. Derivation: core/backward.md */
#include "core/internal.h"

gr_real *gr_grad(gr_tape *t, const gr_tensor *x)
{
    if (!x || (t && !gr__alive(t, x) && !gr__refuse_dead(t, "gr_grad", "x", 0, x))) return NULL;
    return gr__gradient(x);
}

static const gr_op want_grad_call = { .name = "gr_want_grad" };
gr_tensor *gr_want_grad(gr_tape *t, gr_tensor *x)
{
    if (gr_failed(t) || !x || !gr_alive(t, &want_grad_call, "x", x)) return NULL;
    gr_tensor *const owner = gr__owner(x);
    if (owner->used)
        return gr_fail(t, &want_grad_call, "x %s was already used by %s, so its gradient would lack that part; call gr_want_grad before the first operator "
                       "that reads it", gr_shape_text(t, x), owner->used->name);
    owner->flags |= GR__WANTS_GRAD | GR__KEEPS;
    return x;
}

gr_real *gr__grad_to_fill(gr_tape *t, const gr_tensor *x, bool *fresh)
{
    gr_tensor *const owner = x ? gr__owner(x) : NULL;
    *fresh = owner && gr__wants(x) && owner->flags & GR__FRESH && owner->len == x->len;
    if (*fresh) owner->flags &= ~(unsigned)GR__FRESH;
    return gr_grad(t, x);
}

gr_tensor *gr__inner(gr_tape *t, gr_mark start, gr_tensor *y)
{
    for (gr_node *n = t->now.last; y && n != start.node; n = n->prev)
        for (unsigned i = 0; i < n->outs; i++) {
            gr_tensor *const x = n->out[i];
            /* an operator in place: the one that made x needs the gradient, too */
            for (unsigned k = 0; x && k < n->ins; k++) x->flags |= n->in[k] == x ? GR__KEEPS : 0;
            if (x && x != gr__owner(y) && !x->base && !x->home && x->len * sizeof(gr_real) >= sizeof(gr__spare)) x->flags |= GR__INNER;
        }
    return y;
}

/* Whether the gradient of x is needed no more when the operator that made x is done. */
static bool gives_back(const gr_tensor *x) { return x && (x->flags & (GR__INNER | GR__KEEPS)) == GR__INNER; }

bool gr__grad_prepare(gr_tape *t, gr_tensor *x, const char *who)
{
    const size_t bytes = x->len * sizeof(gr_real);
    if (x->home && !gr_undo_note(t, &x->flags, sizeof x->flags)) return false;
    gr__spare **spare = &t->now.spare;
    while (*spare && (*spare)->len != x->len) spare = &(*spare)->next;
    if (!x->grad && !x->home && *spare) x->grad = (gr_real *)*spare, *spare = (*spare)->next;
    if (!x->grad) x->grad = x->home ? x->home->alloc(x->home->context, bytes ? bytes : 1) : gr_save(t, bytes);
    return x->grad || gr_fail_as(t, GR_NO_MEMORY, who, "out of memory: a gradient of %zu values", x->len);
}

void gr__grad_clear(gr_tensor *x) { x->flags &= ~(unsigned)(GR__HAS_GRAD | GR__FRESH); }
void gr__grad_put(gr_tensor *x, const gr_real *dx)
{
    gr__grad_clear(x);
    if (dx) memcpy(x->grad, dx, x->len * sizeof *dx), x->flags |= GR__HAS_GRAD;
}

/* Give x a gradient of zeros, which the first operator that adds to it clears (GR__FRESH); a parameter keeps the gradient of an earlier
 * backward. gr_tape_recover undoes that a parameter was reached. A rehearsal skips tensors outside of the segment,
 * because the backward around it reaches them. */
bool gr__reach(gr_tape *t, gr_tensor *view)
{
    gr_tensor *x = gr__owner(view);
    if (x->flags & GR__HAS_GRAD || (t->rehearsing && !gr__arena_holds(&t->arena[t->level], x))) return true;
    if (!gr__grad_prepare(t, x, "backward")) return false;
    x->flags |= GR__HAS_GRAD | GR__FRESH;
    return true;
}

bool gr__reached(const gr_node *n)
{
    for (unsigned i = 0; i < n->outs; i++)
        if (n->out[i] && gr__owner(n->out[i])->flags & GR__HAS_GRAD) return true;
    return false;
}

/* Sweep 1: mark and allocate. When a gradient reaches one output of a node, its other outputs get gradients of zeros. Sweep 2 visits the nodes in the
 * same order, so an older node may use the memory of an inner gradient again. */
bool gr__mark_and_allocate(gr_tape *t)
{
    size_t scratch = 0;
    for (gr_node *n = t->now.last; n; n = n->prev) {
        if (!gr__reached(n)) continue;
        for (unsigned i = 0; i < n->outs; i++)
            if (n->out[i] && !gr__reach(t, n->out[i])) return false;
        for (unsigned i = 0; i < n->ins; i++)
            if (n->in[i] && gr__wants(n->in[i]) && !gr__reach(t, n->in[i])) return false;
        for (unsigned i = 0; i < n->outs; i++)
            if (gives_back(n->out[i])) t->now.spare = memcpy(n->out[i]->grad, &(gr__spare){ t->now.spare, n->out[i]->len }, sizeof(gr__spare));
        if (n->versions && !gr__versions_hold(t, n)) return false;
        const size_t wanted = n->op->scratch ? n->op->scratch(n) : 0;
        if (wanted > scratch) scratch = wanted;
    }
    t->now.scratch = scratch ? gr_save(t, scratch) : NULL;
    return !gr_failed(t);
}

/* Sweep 2: compute. Only two errors can occur here: an anomaly, and a segment whose second run differs from the first. */
void gr__compute(gr_tape *t)
{
    for (gr_node *n = t->now.last; n && !gr_failed(t); n = n->prev) {
        if (!gr__reached(n)) continue;
        n->op->backward(t, n);
        if (t->watch & GR__ANOMALY) gr__check_gradients(t, n);
        for (unsigned i = 0; i < n->outs; i++)
            if (gives_back(n->out[i])) gr__grad_clear(n->out[i]);
    }
}

void *gr_scratch(gr_tape *t) { return t->now.scratch; }

static bool walk(gr_tape *t, gr_tensor *y, const gr_real *dy) /* dy NULL means ones */
{
    if (gr_failed(t) || gr__in_segment(t, "gr_backward")) return false;
    if (!y) return gr_fail_as(t, GR_MISUSE, "backward", "the tensor is NULL");
    if (!gr__alive(t, y)) return gr__refuse_dead(t, "backward", "the tensor", 0, y);
    if (t->now.walked)
        return gr_fail_as(t, GR_MISUSE, "backward", "gr_backward was already called since the last gr_tape_reset. A second call would start from the gradients "
                          "that the first one left, and add wrong ones. Sum the losses before one gr_backward, or call gr_tape_reset and run forward again");
    t->now.loss = y;
    if (!gr__frozen_hold(t)) return false;
    if (!gr__wants(y))
        return gr_fail_as(t, GR_MISUSE, "backward", "%s depends on nothing that wants a gradient (recording off, everything frozen or "
                                "detached, or no parameter involved). gr_want_grad asks for the gradient of an input", gr_shape_text(t, y));
    if (!gr__reach(t, y) || !gr__mark_and_allocate(t)) return false;
    if (t->watch & GR__ANOMALY && !gr__check_before_backward(t, y, dy)) return false;
    gr_real *g = gr_grad(t, y);
    for (size_t i = 0; i < y->len; i++) g[i] += dy ? dy[i] : 1;
    t->now.walked = true;
    t->now.epoch = ++t->epochs; /* gr_tape_rewind to an older mark would free the gradients */
    gr__compute(t);
    return !gr_failed(t);
}

bool gr_backward_from(gr_tape *t, gr_tensor *y, const gr_real *dy)
{
    if (y && !dy) return gr_fail_as(t, GR_MISUSE, "backward", "dy is NULL");
    return walk(t, y, dy);
}

bool gr_backward(gr_tape *t, gr_tensor *loss)
{
    if (!gr_failed(t) && loss && gr__alive(t, loss) && loss->len != 1)
        return gr_fail_as(t, GR_MISUSE, "backward", "the loss must hold one value; got %s. Reduce it with gr_mean or gr_sum, or use "
                                "gr_backward_from", gr_shape_text(t, loss));
    return walk(t, loss, NULL);
}
