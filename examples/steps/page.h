/* examples/steps/page.h - a walk as a page that opens from disk: a slider over the steps, and beside each step's text the graph with its gradients. */
#ifndef STEPS_PAGE_H
#define STEPS_PAGE_H
#include "examples/steps/steps.h"
#include <stdio.h>

/* What the drawing says of a value in a step. */
typedef struct {
    bool shown, complete, wrong; /* its gradient is shown; all its terms are in it; it differs from the right one */
    double grad;
    double added[2]; /* what the active node adds to the gradient of its inputs */
} steps_mark;

/* The parts of a page, in this order: steps_page_begin; for each graph steps_page_graph, then its steps, then steps_page_graph_end; steps_page_end. A step
 * is steps_page_step, the text of the step as HTML from kit_markup, and steps_page_step_end. */
void steps_page_begin(FILE *out);
void steps_page_graph(FILE *out, const char *name, const char *text, int steps);
/* mark: [g->n]. active: the place of the node that is visited, or -1. heading: a few words. */
void steps_page_step(FILE *out, const steps_graph *g, const steps_mark *mark, int active, const char *heading);
void steps_page_step_end(FILE *out);
void steps_page_graph_end(FILE *out);
void steps_page_end(FILE *out);

#endif
