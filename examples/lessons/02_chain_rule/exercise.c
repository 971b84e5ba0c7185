/* exercise.c - forward and backward over a list of nodes. Write the two parts marked TODO; everything else is there.
 * Check it as often as you like:   make grade N=2                                                                     */
#include <math.h>

typedef enum { LEAF, ADD, MUL, TANH } kind;
typedef struct {
    kind op;
    int a, b; /* the numbers of the nodes that this one was computed from, both smaller than its own; TANH has a alone, a LEAF none */
    double value, grad; /* grad: the derivative of the last node with respect to this one */
} node;

void my_forward(node *list, int n);
void my_backward(node *list, int n);

/* Compute the values of n nodes. The values of the leaves are there. */
void my_forward(node *list, int n)
{
    /* TODO 1. Node i is list[i]. Its value is the sum or the product of list[a].value and list[b].value, or the tanh of list[a].value. */
    (void)list, (void)n; /* remove this line */
}

/* Compute the gradients of n nodes from their values. */
void my_backward(node *list, int n)
{
    /* TODO 2. Set all gradients to 0, and that of the last node to 1. Then visit the nodes in the right order, and let each one add to the
     * gradients of the nodes that it was computed from. */
    (void)list, (void)n; /* remove this line */
}
