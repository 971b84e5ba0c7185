/* tests/bench/library.c - what peers/ours.py calls in the shared library. */
#include "tests/bench/bench.h"
#include <stdio.h>
#include <string.h>

int bench_count(void) { return bench_cells_count; }

/* The modes have the order of bench_mode. */
const char *bench_describe(int i)
{
    static const char *const modes[] = { "train", "infer", "forward", "backward" };
    static char text[512];
    const bench_cell *c = &bench_cells[i];
    size_t at = (size_t)snprintf(text, sizeof text, "{\"name\": \"%s\", \"sections\": \"%s\", \"kind\": \"%s\", \"mode\": \"%s\"", bench_name(i),
                                 c->sections, c->kind, modes[c->mode]);
    const char *sizes = bench_kind_find(c->kind)->sizes;
    for (int k = 0; *sizes; k++) {
        const size_t n = strcspn(sizes, "? ");
        at += (size_t)snprintf(text + at, sizeof text - at, ", \"%.*s\": %zu", (int)n, sizes, c->size[k]);
        sizes += n + strspn(sizes + n, "? ");
    }
    snprintf(text + at, sizeof text - at, "}");
    return text;
}

const char *bench_message(const bench_work *w) { return gr_message(w->t); }
double bench_loss(const bench_work *w) { return w->loss; }
const char *bench_version(void) { return GR_VERSION_TEXT; }
int bench_real_bytes(void) { return sizeof(gr_real); }

static bool fill(bench_array *out, const char *name, void *data, gr_shape shape)
{
    *out = (bench_array){ name, data, false, shape };
    return data;
}

bool bench_look(bench_work *w, char what, int i, bench_array *out)
{
    int leaves = 0;
    if (what == 'p')
        for (gr_slot *s = gr_slot_first(w->net); s; s = gr_slot_next(w->net, s))
            if (s->kind == GR_PARAMETER && i-- == 0) return fill(out, s->path, s->tensor->data, gr_shape_of(s->tensor));
    if (what == 'i' && i < w->ins) return *out = w->in[i], true;
    if (what == 'y' && i == 0 && w->y) return fill(out, "y", w->y->data, gr_shape_of(w->y));
    if (what == 'd' && i == 0 && w->dy) return fill(out, "dy", w->dy, gr_shape_of(w->y));
    for (int k = 0; what == 'g' && k < w->ins; k++)
        if (!w->in[k].ints && leaves++ == i) return fill(out, "dx", gr_grad(w->t, w->leaf[i]), gr_shape_of(w->leaf[i]));
    return false;
}
