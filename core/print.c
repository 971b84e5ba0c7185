/* core/print.c - tensors and graphs as text. */
#include "core/print.h"
#include "core/internal.h"
#include "core/locale.h"
#include <math.h>
#include <stdlib.h>

/* ---- Tensors ---- */

enum { EDGE = 3 }; /* an axis longer than twice this shows this many entries at each end; in a graph, a tensor that is longer shows its first ones */

typedef struct { const int *ints; bool scientific; int width; } number_format; /* ints: print these in place of x->data */

/* Print a value; with out NULL, only choose one format for all values that are shown: four decimals, or scientific notation when a value is too large
 * or too small for that. */
static void print_value(FILE *out, const gr_tensor *x, size_t i, number_format *f)
{
    const double v = f->ints ? 0 : (double)x->data[i], a = v < 0 ? -v : v;
    char text[64];
    if (isfinite(v) && (a >= 1e5 || (a > 0 && a < 1e-4))) f->scientific = true;
    f->width = f->ints ? snprintf(text, sizeof text, "%*d", f->width, f->ints[i]) /* at least the width so far */
                       : snprintf(text, sizeof text, f->scientific ? "%*.4e" : "%*.4f", f->width, v);
    if (out) fputs(text, out);
}

static void print_axis(FILE *out, const gr_tensor *x, int axis, size_t offset, size_t len, number_format *f)
{
    if (axis == x->rank) {
        print_value(out, x, offset, f);
        return;
    }
    const size_t n = x->dim[axis], step = n ? len / n : 0;
    const bool last = axis + 1 == x->rank;
    const int indent = last ? 0 : axis + 1;
    if (out) fputc('[', out);
    for (size_t i = 0; i < n; i++) {
        const bool gap = n > 2 * EDGE && i >= EDGE && i < n - EDGE;
        if (out && gap) fprintf(out, "%s%*s...", last ? ", " : ",\n", indent, "");
        if (gap) i = n - EDGE;
        if (out && i) fprintf(out, "%s%*s", last ? ", " : ",\n", indent, "");
        print_axis(out, x, axis + 1, offset + i * step, step, f);
    }
    if (out) fputc(']', out);
}

void gr__print_shape(FILE *out, const gr_tensor *x)
{
    char text[GR__SHAPE_ROOM];
    fputs(gr__shape_write(text, x->rank, x->dim), out);
}

static void print_values(const gr_tensor *x, const int *ints, FILE *out)
{
    GR__C_LOCALE;
    number_format f = { .ints = ints };
    for (int pass = 0; pass < 2; pass++) print_axis(NULL, x, 0, 0, x->len, &f); /* the second one, for the widths in the format of the first */
    gr__print_shape(out, x);
    fputc('\n', out);
    print_axis(out, x, 0, 0, x->len, &f);
    fputc('\n', out);
}

static const char dead_text[] = "dead: made before gr_tape_reset, or after a mark that gr_tape_rewind went back to\n";

void gr_print(const gr_tensor *x, FILE *out)
{
    if (!out) return;
    if (!x) fputs("NULL\n", out);
    else if (GR__POISONED(x, sizeof *x) || x->stamp == GR__OVERWRITTEN || (x->tape && !gr__alive(x->tape, x))) fputs(dead_text, out);
    else print_values(x, NULL, out);
}

void gr_print_ints(const gr_ints *x, FILE *out)
{
    if (!out) return;
    if (!x) fputs("NULL\n", out);
    else if (GR__POISONED(x, sizeof *x) || x->stamp == GR__OVERWRITTEN || (x->tape ? !gr__lives(x->tape, x->tape, x->stamp) : x->flags)) fputs(dead_text, out);
    else {
        gr_tensor like = { .len = x->len, .rank = x->rank };
        memcpy(like.dim, x->dim, sizeof like.dim);
        print_values(&like, x->data, out);
    }
}

/* ---- Graphs ---- */

typedef struct { const gr_tensor *tensor; size_t node; } producer; /* which node made a tensor */
/* node: oldest first; made, used: sorted by address; used: the owner of each input, whose `node` becomes SIZE_MAX when its values are printed */
typedef struct { gr_node **node; producer *made, *used; size_t nodes, outputs, inputs; } graph;

static int by_address(const void *a, const void *b)
{
    const uintptr_t x = (uintptr_t)((const producer *)a)->tensor, y = (uintptr_t)((const producer *)b)->tensor;
    return (x > y) - (x < y);
}

static size_t graph_bytes(const graph *g) { return (g->outputs + g->inputs) * sizeof *g->made + g->nodes * sizeof *g->node; }

static bool graph_read(const gr_tape *t, graph *g)
{
    *g = (graph){ .nodes = t->now.nodes };
    for (const gr_node *n = t->now.last; n; n = n->prev) g->outputs += n->outs, g->inputs += n->ins;
    g->made = gr_memory_new(&t->memory, graph_bytes(g));
    if (!g->made) return false;
    g->used = g->made + g->outputs, g->node = (gr_node **)(g->used + g->inputs);
    size_t i = g->nodes, k = 0, u = 0;
    for (gr_node *n = t->now.last; n; n = n->prev) {
        g->node[--i] = n;
        for (unsigned o = 0; o < n->outs; o++) g->made[k++] = (producer){ n->out[o], i };
        for (unsigned x = 0; x < n->ins; x++) g->used[u++] = (producer){ n->in[x] ? gr__owner(n->in[x]) : NULL, i };
    }
    gr__sort(g->made, g->outputs, sizeof *g->made, by_address);
    gr__sort(g->used, g->inputs, sizeof *g->used, by_address);
    return true;
}

static void graph_free(const gr_tape *t, graph *g) { gr_memory_free(&t->memory, g->made, graph_bytes(g)); }

/* The number of the node that made x, or of the one that made x's base; SIZE_MAX when no recorded node did. */
static size_t maker(const graph *g, const gr_tensor *x)
{
    const producer *p = NULL;
    for (const gr_tensor *y = x; y && !p; y = y->base)
        p = bsearch(&(producer){ y, 0 }, g->made, g->outputs, sizeof *g->made, by_address);
    return p ? p->node : SIZE_MAX;
}

static const char *leaf_name(const gr_tensor *x)
{
    const char *const path = gr__owner(x)->path;
    return path ? path : "input";
}

static void print_few(const char *before, const gr_real *x, size_t n, FILE *out)
{
    double least = n ? (double)x[0] : 0, most = least, sum = 0;
    fprintf(out, "%s[", before);
    for (size_t i = 0; i < n; i++) {
        const double v = (double)x[i];
        if (n <= 2 * EDGE || i < EDGE) fprintf(out, i ? ", %g" : "%g", v);
        least = isnan(least) || v < least ? v : least, most = isnan(most) || v > most ? v : most;
        sum += v;
    }
    if (n <= 2 * EDGE) fputs("]\n", out);
    else fprintf(out, ", ...] min %g, mean %g, max %g\n", least, sum / (double)n, most);
}

static void print_with_gradient(const char *name, const gr_tensor *x, FILE *out)
{
    const gr_real *const dx = gr__gradient(x);
    fprintf(out, "      %s ", name);
    gr__print_shape(out, x);
    print_few(" = ", x->data, x->len, out);
    if (dx) print_few("        gradient ", dx, x->len, out);
    else fputs("        no gradient\n", out);
}

static void print_node_values(const graph *g, const gr_node *n, FILE *out)
{
    GR__C_LOCALE;
    for (unsigned k = 0; k < n->ins; k++) {
        if (!n->in[k] || !gr__wants(n->in[k]) || maker(g, n->in[k]) != SIZE_MAX) continue;
        producer *const leaf = bsearch(&(producer){ gr__owner(n->in[k]), 0 }, g->used, g->inputs, sizeof *g->used, by_address);
        if (leaf->node != SIZE_MAX) print_with_gradient(leaf_name(leaf->tensor), leaf->tensor, out);
        leaf->node = SIZE_MAX;
    }
    for (unsigned o = 0; o < n->outs; o++)
        if (n->out[o]) print_with_gradient("output", n->out[o], out);
}

static void print_graph(const gr_tape *t, bool values, FILE *out)
{
    graph g;
    if (!out || gr_failed(t) || !graph_read(t, &g)) return;
    for (size_t i = 0; i < g.nodes; i++) {
        const gr_node *n = g.node[i];
        fprintf(out, "%4zu  %-16s ", i, n->op->name);
        for (unsigned o = 0; o < n->outs; o++)
            if (n->out[o]) gr__print_shape(out, n->out[o]);
        for (unsigned k = 0, first = 1; k < n->ins; k++) {
            if (!n->in[k]) continue;
            fputs(first ? "  <- " : ", ", out), first = 0;
            const size_t from = maker(&g, n->in[k]);
            if (from != SIZE_MAX) fprintf(out, "%zu ", from);
            else fprintf(out, "%s ", leaf_name(n->in[k]));
            gr__print_shape(out, n->in[k]);
        }
        fputc('\n', out);
        if (values) print_node_values(&g, n, out);
    }
    graph_free(t, &g);
}

void gr_print_graph(const gr_tape *t, FILE *out) { print_graph(t, false, out); }
void gr_print_graph_values(const gr_tape *t, FILE *out) { print_graph(t, true, out); }

void gr_print_dot(const gr_tape *t, FILE *out)
{
    graph g;
    if (!out || gr_failed(t) || !graph_read(t, &g)) return;
    fputs("digraph tape {\n    node [shape=box, fontname=\"sans-serif\"];\n", out);
    for (size_t i = 0; i < g.nodes; i++) {
        const gr_node *n = g.node[i];
        fprintf(out, "    n%zu [label=\"%s\\n", i, n->op->name);
        if (n->out[0]) gr__print_shape(out, n->out[0]);
        fputs("\"];\n", out);
        for (unsigned k = 0; k < n->ins; k++) {
            if (!n->in[k]) continue;
            const size_t from = maker(&g, n->in[k]);
            if (from != SIZE_MAX) {
                fprintf(out, "    n%zu -> n%zu;\n", from, i);
                continue;
            }
            char input[40]; /* a parameter is one leaf, an input one for each use */
            snprintf(input, sizeof input, "input %zu.%u", i, k);
            const char *const path = gr__owner(n->in[k])->path, *const leaf = path ? path : input;
            fprintf(out, "    \"%s\" [shape=ellipse, label=\"%s\\n", leaf, leaf_name(n->in[k]));
            gr__print_shape(out, n->in[k]);
            fprintf(out, "\"];\n    \"%s\" -> n%zu;\n", leaf, i);
        }
    }
    fputs("}\n", out);
    graph_free(t, &g);
}
