/* examples/steps/steps.h - small graphs of single numbers: their text, what gradus computes of them, and walks backward through them. */
#ifndef STEPS_H
#define STEPS_H
#include "gradus.h"

enum { STEPS_VALUES = 48, STEPS_NAME = 16 }; /* the most values of a graph; the bytes of a name */

typedef struct {
    const char *name;                          /* as it is written: "*", "tanh" */
    gr_tensor *(*one)(gr_tape *, gr_tensor *); /* the operator of gradus, of one input or of two */
    gr_tensor *(*two)(gr_tape *, gr_tensor *, gr_tensor *);
    const char *slope_text[2];                 /* the derivative with respect to each input; A and B stand for the inputs, Y for the result */
    double (*slope)(int k, double a, double b, double y);
    double terms;                              /* where the derivative is a difference: the size of its terms, which its rounding error follows */
} steps_op;

/* A number of the text or the result of an operator. A node is a result: node 1 is the operator that runs first. */
typedef struct {
    char name[STEPS_NAME];       /* "x"; "#3" for the result of node 3 if the text gives it no name; "2" for a number without a name */
    const steps_op *op;          /* NULL for a number */
    int in[2], node;             /* the places of its inputs in steps_graph, -1 for none; 0 for a number */
    bool wants;                  /* a gradient: it is a number with a name, or was computed from one */
    double value;
    bool reached;                /* by the gradient of the loss. What follows is from gradus: */
    double grad, twice;          /* d loss / d value; the gradient of a named number after two backwards */
    double slope[2];             /* the derivative of one operator alone with respect to each input */
    gr_tensor *tensor;           /* dead after steps_compute, unless it is a parameter */
} steps_value;

typedef struct {
    steps_value v[STEPS_VALUES]; /* in the order of execution; the last one is the loss */
    int n, nodes;
    char refusal[400];           /* what gr_backward says when it is called a second time */
} steps_graph;

/* Read a text such as "x = 2; y = 3; a = x * y; L = a + exp(-x)" into g. A statement whose right side is a number makes a named number, which
 * wants a gradient; any other right side must use a name, and the last statement makes the loss. There are + - * / and parentheses, and the functions
 * square, sqrt, exp, log, tanh, sigmoid, relu, sin and cos. Returns false when the text is wrong: an error on t then says at which character and why. */
bool steps_read(gr_tape *t, const char *text, steps_graph *g);

/* The graphs that are built in, with what each shows. */
enum { STEPS_EXAMPLES = 6 };
typedef struct { const char *name, *about, *text; } steps_example_graph;
extern const steps_example_graph steps_example[STEPS_EXAMPLES];

/* The operator that is written as c, one of + - * /; the function of that name, "-" included, or NULL. */
const steps_op *steps_infix(char c);
const steps_op *steps_function(const char *name, size_t length);

/* Compute values, gradients, slopes, twice and refusal with gradus. It resets t, and turns on anomaly mode: a value or gradient that is not finite
 * is an error on t. The named numbers become parameters under m, which must outlive t's next reset. */
void steps_compute(gr_tape *t, gr_module *m, steps_graph *g);

/* ---- Text ---- */

/* What node v computes: "a * b", "tanh(a)", "-a"; its derivative with respect to input k, with the names of the values: "1 - y^2". Both return text. */
const char *steps_operation(const steps_graph *g, const steps_value *v, char *text, size_t bytes);
const char *steps_derivative(const steps_graph *g, const steps_value *v, int k, char *text, size_t bytes);

/* Whether that node has value i as an input; how many times the nodes that the gradient reaches have it. */
bool steps_uses(const steps_graph *g, int node, int i);
int steps_uses_of(const steps_graph *g, int i);

/* ---- Walks: the same gradients from sums and products in double ---- */

typedef enum {
    STEPS_NEWEST_FIRST, /* the right order */
    STEPS_OLDEST_FIRST,
    STEPS_DEPTH_FIRST,  /* a node, then the nodes of its inputs; none twice */
} steps_order;

/* A node adds to the gradient of an input. from, to: places in steps_graph; input: 0 or 1. */
typedef struct { int from, input, to; double read, slope, before, after; } steps_sum;

typedef struct {
    double grad[STEPS_VALUES], size[STEPS_VALUES]; /* size: the sum of the absolute terms, which the rounding error of grad follows */
    int visit[STEPS_VALUES], visits;               /* the places of the nodes, in the order of the last walk */
    steps_sum sum[2 * STEPS_VALUES];
    int sums;
} steps_walk;

/* Walk over the nodes in that order. With assign, a node assigns to the gradient of an input (=) instead of adding to it (+=). The caller clears w
 * before the first call; a second call goes on with the gradients of the first. */
void steps_walk_backward(const steps_graph *g, steps_order order, bool assign, steps_walk *w);

/* The gradient of value i after the first `visits` nodes of a walk in the right order. It is complete when every node that uses the value was visited. */
double steps_gradient_after(const steps_graph *g, const steps_walk *w, int visits, int i, bool *complete);

#endif
