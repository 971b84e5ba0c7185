/* optim/print.c - the parameters of an optimizer as text, to a FILE of the caller's. */
#include "optim/internal.h"
#include <string.h>

void gr_optim_print(FILE *out, const gr_optim *o)
{
    if (!o) {
        fputs("NULL\n", out);
        return;
    }
    int width = 9;
    for (size_t i = 0; i < o->entries; i++) {
        const size_t length = strlen(o->entry[i].slot->path);
        if (length < 60 && (int)length > width) width = (int)length;
    }
    fprintf(out, "%s, %zu parameters, step %lld\n", o->rule->name, o->entries, (long long)o->count.steps);
    fprintf(out, "%-*s  %10s  %12s  shape\n", width, "parameter", "lr", "weight decay");
    for (size_t i = 0; i < o->entries; i++) {
        const optim_entry *const e = &o->entry[i];
        fprintf(out, "%-*s  %10.4g  %12.4g  [", width, e->slot->path, gr_optim_lr(o) * e->lr_scale, e->weight_decay);
        for (int k = 0; k < e->x->rank; k++) fprintf(out, k ? ", %zu" : "%zu", e->x->dim[k]);
        fprintf(out, "]%s\n", e->slot->frozen ? "  frozen" : "");
    }
}
