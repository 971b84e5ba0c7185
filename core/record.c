/* core/record.c - every operator calls gr_ready first, which checks its inputs, and gr_record last, which puts it on the tape. */
#include "core/internal.h"

bool gr_ready_list(gr_tape *t, const gr_op *op, gr_tensor *const *x, size_t n)
{
    if (gr_failed(t)) return false;
    if (n && !x) return gr_fail(t, op, "the list of inputs is NULL");
    for (size_t i = 0; i < n; i++) {
        if (!x[i]) return gr_fail(t, op, "input %zu is NULL", i + 1);
        if (!gr__alive(t, x[i])) return gr__refuse_dead(t, op ? op->name : "", "input", i + 1, x[i]);
    }
    return true;
}

bool gr_will_record(const gr_tape *t, gr_tensor *const *in, size_t ins)
{
    if (gr_failed(t) || !t->recording) return false;
    for (size_t i = 0; in && i < ins; i++)
        if (in[i] && gr__wants(in[i])) return true;
    return false;
}

static gr_node *make_node(gr_tape *t, const gr_op *op, gr_tensor *const *out, size_t outs, gr_tensor *const *in, size_t ins)
{
    gr_node *n = gr_save(t, sizeof *n + (outs + ins) * sizeof(gr_tensor *));
    if (!n) return NULL;
    gr_tensor **links = (gr_tensor **)(n + 1);
    *n = (gr_node){ .op = op, .in = links + outs, .out = links, .ins = (unsigned)ins, .outs = (unsigned)outs, .place = t->place };
    memcpy(links, out, outs * sizeof *out);
    if (ins) memcpy(links + outs, in, ins * sizeof *in);
    return n;
}

gr_tensor *gr_record(gr_tape *t, const gr_op *op, const void *saved, size_t saved_bytes, gr_tensor *const *out, size_t outs, gr_tensor *const *in, size_t ins)
{
    if (gr_failed(t)) return NULL;
    if (!op || !out || !outs || (ins && !in) || (saved_bytes && !saved))
        return gr_fail_as(t, GR_MISUSE, op ? op->name : "record", "gr_record needs an operator and an output, and no list may be NULL");
    t->operators++;
    const bool passes = t->recording && op->backward;
    bool of_modules = false, wants = false;
    for (size_t i = 0; i < ins; i++) {
        if (!in[i]) continue;
        if (!gr__alive(t, in[i])) return gr__refuse_dead(t, op->name, "input", i + 1, in[i]);
        gr_tensor *const x = gr__owner(in[i]);
        of_modules |= x->home != NULL;
        if (x->flags & GR__WANTS_GRAD) wants = true;
        else if (passes && !x->home) x->used = op;
        else if (passes && !gr__frozen_note(t, x, op, t->place)) return NULL;
    }
    const bool recorded = passes && wants, traced = t->watch & GR__TRACING;
    gr_node *n = NULL;
    if ((recorded || traced) && !(n = make_node(t, op, out, outs, in, ins))) return NULL;
    if (traced && !gr__trace_add(t, n, recorded)) return NULL;
    if (t->watch & GR__ANOMALY && !gr__check_outputs(t, op, out, outs, in, ins)) return NULL;
    if (!recorded) return out[0];
    if (saved_bytes && (n->saved = gr_save(t, saved_bytes))) memcpy(n->saved, saved, saved_bytes);
    if ((of_modules && !gr__versions_note(t, n)) || gr_failed(t)) return NULL;
    for (size_t i = 0; i < outs; i++)
        if (out[i]) gr__owner(out[i])->flags |= GR__WANTS_GRAD;
    n->prev = t->now.last, t->now.last = n, t->now.nodes++;
    return out[0];
}
