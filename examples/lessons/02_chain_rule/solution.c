/* solution.c - the exercise, solved. Read it after yours passes. */
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
    for (int i = 0; i < n; i++) {
        const int a = list[i].a, b = list[i].b;
        if (list[i].op == ADD) list[i].value = list[a].value + list[b].value;
        if (list[i].op == MUL) list[i].value = list[a].value * list[b].value;
        if (list[i].op == TANH) list[i].value = tanh(list[a].value);
    }
}

/* Compute the gradients of n nodes from their values. */
void my_backward(node *list, int n)
{
    for (int i = 0; i < n; i++) list[i].grad = 0;
    list[n - 1].grad = 1;
    for (int i = n - 1; i >= 0; i--) {
        const int a = list[i].a, b = list[i].b;
        const double g = list[i].grad, y = list[i].value;
        if (list[i].op == ADD) list[a].grad += g, list[b].grad += g;
        if (list[i].op == MUL) list[a].grad += g * list[b].value, list[b].grad += g * list[a].value;
        if (list[i].op == TANH) list[a].grad += g * (1 - y * y);
    }
}
