/* In the style of another hand: a switch, and pointers. */
#include <math.h>

typedef enum { LEAF, ADD, MUL, TANH } kind;
typedef struct { kind op; int a, b; double value, grad; } node;

void my_forward(node *list, int n)
{
    for (node *x = list; x < list + n; x++) {
        switch (x->op) {
        case ADD: x->value = list[x->a].value + list[x->b].value; break;
        case MUL: x->value = list[x->a].value * list[x->b].value; break;
        case TANH: x->value = tanh(list[x->a].value); break;
        default: break;
        }
    }
}

void my_backward(node *list, int n)
{
    for (int i = 0; i < n; i++) list[i].grad = i == n - 1;
    while (n--) {
        const node *x = list + n;
        node *a = list + x->a, *b = list + x->b;
        switch (x->op) {
        case ADD: a->grad = x->grad, b->grad = x->grad; break;
        case MUL: a->grad += x->grad * b->value, b->grad += x->grad * a->value; break;
        case TANH: a->grad += x->grad * (1 - x->value * x->value); break;
        default: break;
        }
    }
}
