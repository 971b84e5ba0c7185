/* nn/print.c - print a module tree to a FILE of the caller. */
#include "core/locale.h"
#include "nn/internal.h"

static void print_slot(FILE *out, const gr_slot *s)
{
    static const char *const kinds[] = { [GR_PARAMETER] = "", [GR_BUFFER] = " (buffer)", [GR_COUNTER] = " (counter)", [GR_KEPT] = " (kept)" };
    fprintf(out, "  %s", s->name);
    if (s->tensor) fputc(' ', out), gr__print_shape(out, s->tensor);
    if (s->tied) fprintf(out, " (tied to %s)", s->tied->path);
    else fputs(s->frozen ? " (frozen)" : kinds[s->kind], out);
}

void gr__widen(int *width, const char *text)
{
    const size_t length = strlen(text);
    if (length < 60 && (int)length > *width) *width = (int)length;
}

static const char *name_in_summary(const gr_module *m) { return m->parent ? m->path : "(root)"; }

void gr_print_summary(const gr_module *m, FILE *out)
{
    if (out && !m) fputs("NULL\n", out);
    if (!out || !m) return;
    int name = 6, kind = 6;
    for (const gr_module *at = m; at; at = gr_module_next(m, at)) gr__widen(&name, name_in_summary(at)), gr__widen(&kind, at->kind);
    fprintf(out, "%-*s  %-*s  %10s  %13s  %10s  tensors\n", name, "module", kind, "kind", "parameters", "multiply-adds", "bytes");
    size_t work = 0, all_bytes = 0;
    for (const gr_module *at = m; at; at = gr_module_next(m, at)) {
        size_t parameters = 0, bytes = 0;
        for (const gr_slot *s = at->slots; s; s = s->next) {
            if (s->kind == GR_PARAMETER && gr__slot_stands(m, s)) parameters += s->tensor->len;
            if (s->kind == GR_COUNTER) bytes += sizeof s->count;
            else if (s->kind != GR_KEPT && gr__slot_stands(m, s)) bytes += s->tensor->len * sizeof(gr_real);
        }
        work += at->multiply_adds, all_bytes += bytes;
        fprintf(out, "%-*s  %-*s  %10zu  %13zu  %10zu", name, name_in_summary(at), kind, at->kind, parameters, at->multiply_adds, bytes);
        for (const gr_slot *s = at->slots; s; s = s->next) print_slot(out, s);
        fputc('\n', out);
    }
    fprintf(out, "%-*s  %-*s  %10zu  %13zu  %10zu  multiply-adds are for one row of each module's input\n", name, "total", kind, "",
            gr_module_parameters(m), work, all_bytes);
}

static void print_rule(FILE *out, gr_init i)
{
    static const char *const with_gain[] = { "orthogonal", "Xavier uniform", "Xavier normal", "Kaiming uniform", "Kaiming normal" };
    if (i.kind == GR_INIT_CONSTANT) fprintf(out, "constant %g", i.a);
    else if (i.kind == GR_INIT_UNIFORM) fprintf(out, "uniform in [%g, %g)", i.a, i.b);
    else if (i.kind == GR_INIT_NORMAL) fprintf(out, "normal, mean %g, standard deviation %g", i.a, i.b);
    else fprintf(out, "%s, gain %g", with_gain[i.kind - GR_INIT_ORTHOGONAL], i.a);
    fputs(i.kind < GR_INIT_KAIMING_UNIFORM ? "\n" : i.fan == GR_FAN_IN ? ", fan in\n" : ", fan out\n", out);
}

int gr__widest_parameter(const gr_module *m)
{
    int width = 0;
    for (const gr_slot *s = gr_slot_first(m); s; s = gr_slot_next(m, s))
        if (s->kind == GR_PARAMETER) gr__widen(&width, s->path);
    return width;
}

void gr_print_init(const gr_module *m, FILE *out)
{
    const int width = gr__widest_parameter(m);
    if (!out) return;
    GR__C_LOCALE;
    for (const gr_slot *s = gr_slot_first(m); s; s = gr_slot_next(m, s)) {
        if (s->kind != GR_PARAMETER) continue;
        fprintf(out, "%-*s  ", width, s->path);
        gr__print_shape(out, s->tensor);
        fputs("  ", out);
        if (s->tied) fprintf(out, "tied to %s\n", s->tied->path);
        else print_rule(out, s->init);
    }
}
