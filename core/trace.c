/* core/trace.c - why no gradient reached a tensor: while tracing is on, every call of gr_record is kept, recorded or not. */
#include "core/internal.h"

bool gr__trace_add(gr_tape *t, const gr_node *n, bool recorded)
{
    gr__trace *e = gr_save(t, sizeof *e);
    if (!e) return false;
    *e = (gr__trace){ .prev = t->now.last_trace, .node = n, .recorded = recorded, .was_off = !t->recording };
    *(t->now.last_trace ? &t->now.last_trace->next : &t->now.first_trace) = e;
    t->now.last_trace = e;
    return true;
}

static bool trace_has(gr_tensor *const *x, unsigned n, unsigned flag)
{
    for (unsigned i = 0; i < n; i++)
        if (x[i] && gr__owner(x[i])->flags & flag) return true;
    return false;
}
static const unsigned TRACE_MARKS = GR__LEADS | GR__TOUCHED;
static void trace_mark(gr_tensor *const *x, unsigned n, unsigned cleared, unsigned set)
{
    for (unsigned i = 0; i < n; i++)
        if (x[i]) gr__owner(x[i])->flags = (gr__owner(x[i])->flags & ~cleared) | set;
}

gr_cut gr__cut_of(gr_tape *t, gr_tensor *x)
{
    gr_cut cut = { GR_CUT_UNKNOWN, NULL, NULL };
    if (!t || !x || !gr__alive(t, x) || !t->now.first_trace) return cut;
    if (!t->now.loss) return cut.kind = GR_CUT_NO_BACKWARD, cut;
    gr__owner(t->now.loss)->flags |= GR__LEADS;
    for (gr__trace *e = t->now.last_trace; e; e = e->prev) {
        e->leads = trace_has(e->node->out, e->node->outs, GR__LEADS);
        if (e->leads) trace_mark(e->node->in, e->node->ins, 0, GR__LEADS);
    }
    cut.kind = GR_CUT_UNUSED;
    gr__owner(x)->flags |= GR__TOUCHED;
    for (const gr__trace *e = t->now.first_trace; e; e = e->next) {
        const gr_node *const n = e->node;
        if (!trace_has(n->in, n->ins, GR__TOUCHED)) continue;
        trace_mark(n->out, n->outs, 0, GR__TOUCHED);
        const gr_cut_kind passed = e->recorded ? GR_CUT_NONE : e->was_off && n->op->backward ? GR_CUT_RECORDING_OFF : GR_CUT_BY_OP;
        const gr_cut_kind here = e->leads ? passed : GR_CUT_ASTRAY;
        const bool found = cut.kind == GR_CUT_BY_OP || cut.kind == GR_CUT_RECORDING_OFF;
        if (!found && (here != GR_CUT_ASTRAY || cut.kind != GR_CUT_NONE)) cut = (gr_cut){ here, n->op->name, n->place };
    }
    if (cut.kind == GR_CUT_UNUSED && t->traced_late) cut.kind = GR_CUT_UNKNOWN;
    if (cut.kind == GR_CUT_NONE) cut.op = cut.place = NULL;
    gr__owner(x)->flags &= ~TRACE_MARKS, gr__owner(t->now.loss)->flags &= ~TRACE_MARKS;
    for (const gr__trace *e = t->now.first_trace; e; e = e->next)
        trace_mark(e->node->in, e->node->ins, TRACE_MARKS, 0), trace_mark(e->node->out, e->node->outs, TRACE_MARKS, 0);
    return cut;
}

gr_tensor *gr__traced_input(const gr_tape *t, const char *op, const char *place)
{
    for (const gr__trace *e = t && op && place ? t->now.last_trace : NULL; e; e = e->prev)
        if (e->node->place && e->node->ins && !strcmp(e->node->op->name, op) && !strcmp(e->node->place, place)) return e->node->in[0];
    return NULL;
}
