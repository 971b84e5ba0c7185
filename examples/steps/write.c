/* examples/steps/write.c - operators and derivatives as text, and who uses a value. */
#include "examples/steps/steps.h"
#include <stdio.h>

const char *steps_operation(const steps_graph *g, const steps_value *v, char *text, size_t bytes)
{
    const char *const a = g->v[v->in[0]].name, *const name = v->op->name;
    if (v->in[1] >= 0) snprintf(text, bytes, "%s %s %s", a, name, g->v[v->in[1]].name);
    else snprintf(text, bytes, *name == '-' ? "%s%s" : "%s(%s)", name, a);
    return text;
}

const char *steps_derivative(const steps_graph *g, const steps_value *v, int k, char *text, size_t bytes)
{
    size_t n = 0;
    for (const char *p = v->op->slope_text[k]; *p; p++) {
        const char *const name = *p == 'A' ? g->v[v->in[0]].name : *p == 'B' ? g->v[v->in[1]].name : *p == 'Y' ? v->name : NULL;
        const int length = snprintf(text + n, bytes - n, name ? "%s" : "%.1s", name ? name : p);
        n = n + (size_t)length < bytes ? n + (size_t)length : bytes - 1;
    }
    text[n] = 0;
    return text;
}

bool steps_uses(const steps_graph *g, int node, int i) { return g->v[node].op && (g->v[node].in[0] == i || g->v[node].in[1] == i); }

int steps_uses_of(const steps_graph *g, int i)
{
    int n = 0;
    for (int k = 0; k < g->n; k++)
        if (g->v[k].op && g->v[k].reached) n += (g->v[k].in[0] == i) + (g->v[k].in[1] == i);
    return n;
}
