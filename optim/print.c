/* optim/print.c - print an optimizer and an audit to a FILE of the caller. */
#include "core/locale.h"
#include "optim/audit.h"
#include "optim/internal.h"

void gr_print_optim(const gr_optim *o, FILE *out)
{
    if (out && !o) fputs("NULL\n", out);
    if (!out || !o) return;
    int width = 9;
    GR__C_LOCALE;
    for (size_t i = 0; i < o->entries; i++)
        if (o->entry[i].held.slot) gr__widen(&width, o->entry[i].held.slot->path);
    fprintf(out, "%s, %zu parameters, step %lld\n", o->rule->name, o->entries, (long long)o->count.steps);
    fprintf(out, "%-*s  %10s  %12s  shape\n", width, "parameter", "lr", "weight decay");
    for (size_t i = 0; i < o->entries; i++) {
        const optim_entry *const e = &o->entry[i];
        const gr_slot *const s = e->held.slot;
        fprintf(out, "%-*s  %10.4g  %12.4g", width, s ? s->path : "(freed)", gr_optim_lr(o) * e->lr_scale, e->weight_decay);
        if (s) fputs("  ", out), gr__print_shape(out, e->x);
        fputs(s && s->frozen ? "  frozen\n" : "\n", out);
    }
}

static void print_cut(FILE *out, gr_cut c)
{
    const char *const in = c.place && *c.place ? " in " : "", *const place = *in ? c.place : "";
    fputs("not reached: ", out);
    switch (c.kind) {
    case GR_CUT_UNKNOWN: fputs("gr_tape_set_tracing(t, true) before the forward will tell why", out); break;
    case GR_CUT_NO_BACKWARD: fputs("there was no backward", out); break;
    case GR_CUT_UNUSED: fputs("unused in this forward", out); break;
    case GR_CUT_ASTRAY: fprintf(out, "its path ends at %s%s%s and does not reach the loss", c.op, in, place); break;
    case GR_CUT_BY_OP: fprintf(out, "%s%s%s lets no gradient pass", c.op, in, place); break;
    case GR_CUT_RECORDING_OFF: fprintf(out, "recording was off while %s%s%s ran", c.op, in, place); break;
    case GR_CUT_NONE: fputs("backward failed, or the gradient was cleared since", out); break;
    }
}

static void print_audit_entry(FILE *out, const gr_audit_entry *e, size_t len)
{
    GR__C_LOCALE;
    switch (e->kind) {
    case GR_AUDIT_REACHED: fprintf(out, "norm %.4g, zeros %zu of %zu", e->norm, e->zeros, len); break;
    case GR_AUDIT_ZERO: fprintf(out, "the gradient is 0 in all %zu values", len); break;
    case GR_AUDIT_FROZEN: fputs("frozen", out); break;
    case GR_AUDIT_NOT_REACHED: print_cut(out, e->cut); break;
    }
    fputs(e->not_held && e->kind != GR_AUDIT_FROZEN ? "; the optimizer does not hold it\n" : "\n", out);
}

size_t gr_print_audit(gr_tape *t, const gr_module *m, const gr_optim *o, FILE *out)
{
    const int width = gr__widest_parameter(m);
    size_t all = 0, frozen = 0, idle = 0;
    for (const gr_slot *s = gr_slot_first(m); s; s = gr_slot_next(m, s)) {
        if (s->kind != GR_PARAMETER || !gr__slot_stands(m, s)) continue;
        const gr_audit_entry e = gr_audit(t, s, o);
        all++;
        if (e.kind == GR_AUDIT_FROZEN) frozen++;
        else idle += e.kind != GR_AUDIT_REACHED || e.not_held;
        if (!out) continue;
        fprintf(out, "%-*s  ", width, s->path);
        print_audit_entry(out, &e, s->tensor->len);
    }
    if (out) fprintf(out, "%zu of %zu parameters learn, %zu frozen\n", all - idle - frozen, all, frozen);
    return idle;
}
