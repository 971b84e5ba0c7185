/* examples/steps/walk.c - walks backward through a graph, in double. The values are those of gradus; the rest is sums and products. */
#include "examples/steps/steps.h"
#include <math.h>
#include <string.h>

/* Visit the node at place i: read the gradient of its result, and add slope times that to the gradient of each input. */
static void visit(const steps_graph *g, int i, bool assign, steps_walk *w)
{
    const steps_value *const v = &g->v[i];
    w->visit[w->visits++] = i;
    for (int k = 0; k < 2; k++) {
        const int to = v->in[k];
        if (to < 0 || !g->v[to].wants) continue;
        const double slope = v->op->slope(k, g->v[v->in[0]].value, v->in[1] < 0 ? 0 : g->v[v->in[1]].value, v->value);
        steps_sum *const s = &w->sum[w->sums++];
        *s = (steps_sum){ i, k, to, w->grad[i], slope, w->grad[to], 0 };
        w->grad[to] = s->after = (assign ? 0 : s->before) + slope * s->read;
        w->size[to] += (fabs(slope) + v->op->terms) * w->size[i];
    }
}

static void visit_depth_first(const steps_graph *g, int i, bool assign, steps_walk *w, bool *visited)
{
    if (visited[i] || !g->v[i].op || !g->v[i].wants) return;
    visited[i] = true;
    visit(g, i, assign, w);
    for (int k = 0; k < 2; k++)
        if (g->v[i].in[k] >= 0) visit_depth_first(g, g->v[i].in[k], assign, w, visited);
}

void steps_walk_backward(const steps_graph *g, steps_order order, bool assign, steps_walk *w)
{
    bool visited[STEPS_VALUES] = { false };
    const int loss = g->n - 1;
    w->visits = w->sums = 0;
    w->grad[loss] = 1 + (assign ? 0 : w->grad[loss]), w->size[loss] += 1;
    if (order == STEPS_DEPTH_FIRST) visit_depth_first(g, loss, assign, w, visited);
    for (int k = 0; k < g->n && order != STEPS_DEPTH_FIRST; k++) {
        const int i = order == STEPS_OLDEST_FIRST ? k : g->n - 1 - k;
        if (g->v[i].op && g->v[i].reached) visit(g, i, assign, w);
    }
}

double steps_gradient_after(const steps_graph *g, const steps_walk *w, int visits, int i, bool *complete)
{
    double now = i == g->n - 1;
    *complete = true;
    for (int k = 0; k < g->n; k++) *complete &= !(steps_uses(g, k, i) && g->v[k].reached && w->visit[visits - 1] > k);
    for (int k = 0; k < w->sums; k++)
        if (w->sum[k].to == i && w->sum[k].from >= w->visit[visits - 1]) now = w->sum[k].after;
    return now;
}
