/* core/record.c - what every operator calls first and last: its inputs are checked, and it is put on the tape. */
#include "core/internal.h"

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
    const bool recorded = op->backward && gr_will_record(t, in, ins);
    if (t->watch & GR__TRACING && !gr__trace_add(t, op, out, outs, in, ins, recorded)) return NULL;
    if (t->watch & GR__ANOMALY && !gr__check_outputs(t, op, out, outs, in, ins)) return NULL;
    if (!recorded) return out[0];
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
