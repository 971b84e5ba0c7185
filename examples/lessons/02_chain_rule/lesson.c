/* lesson.c - the chain rule on a graph of seven numbers, in several orders.
 *
 * Shows: gradients that are handed back, node by node; what a wrong order and what = for += give; that a nudge and gradus' tape agree; why one
 *        visit to each node is enough, where a walk over all paths needs a million.
 * Run:   make lesson N=2         expected.txt is its output; make quiz N=2 prints the answers to the quiz                                 */
#include "gradus.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static void row(const char *label, const double *v, size_t n)
{
    printf("  %-34s", label);
    for (size_t i = 0; i < n; i++) printf("%9.3f", fabs(v[i]) < 5e-4 ? 0 : v[i]);
    printf("\n");
}
static void number(const char *label, double v) { row(label, &v, 1); }

/* y = (a + b) + ab + (a + b)ab, as the program computes it. */
enum { A, B, S, P, Q, U, Y, NODES };
static void forward(double *v, double a, double b)
{
    v[A] = a, v[B] = b;
    v[S] = v[A] + v[B];
    v[P] = v[A] * v[B];
    v[Q] = v[S] * v[P];
    v[U] = v[S] + v[P];
    v[Y] = v[U] + v[Q];
}

/* Hand the gradient of one node back to the two nodes that it was computed from. */
static void visit(const double *v, double *g, int node)
{
    switch (node) {
    case S: g[A] += g[S], g[B] += g[S]; break;
    case P: g[A] += g[P] * v[B], g[B] += g[P] * v[A]; break;
    case Q: g[S] += g[Q] * v[P], g[P] += g[Q] * v[S]; break;
    case U: g[S] += g[U], g[P] += g[U]; break;
    case Y: g[U] += g[Y], g[Q] += g[Y]; break;
    default: break;
    }
}

static const char *const name[NODES] = { "a", "b", "s = a + b", "p = a b", "q = s p", "u = s + p", "y = u + q" };

static void in_order(const double *v, const char *label, const int *order, bool print)
{
    double g[NODES] = { 0 };
    g[Y] = 1;
    for (int i = 0; i < 5; i++) {
        char text[40];
        snprintf(text, sizeof text, "after %s", name[order[i]]);
        visit(v, g, order[i]);
        if (print) row(text, g, NODES);
    }
    if (!print) row(label, g, 2);
}

static const int right[] = { Y, U, Q, P, S }, also_right[] = { Y, Q, U, S, P }, s_too_early[] = { Y, U, S, Q, P },
                 both_too_early[] = { Y, U, S, P, Q }, recorded[] = { S, P, Q, U, Y };

static void by_hand(const double *v)
{
    printf("1. By hand: y = (a + b) + ab + (a + b)ab at a = 2, b = 3\n\n");
    for (int i = 0; i < NODES; i++) number(name[i], v[i]);
    printf("\n   backward: the gradient of each node, after each visit\n\n");
    printf("  %-34s%9s%9s%9s%9s%9s%9s%9s\n", "", "a", "b", "s", "p", "q", "u", "y");
    in_order(v, "", right, true);
}

static void orders(const double *v)
{
    printf("\n2. In other orders: dy/da and dy/db\n\n");
    in_order(v, "y, u, q, p, s", right, false), in_order(v, "y, q, u, s, p", also_right, false);
    in_order(v, "y, u, s, q, p: s before q", s_too_early, false), in_order(v, "y, u, s, p, q: s and p before q", both_too_early, false);
    in_order(v, "s, p, q, u, y: as computed", recorded, false);
}

static void assigned(const double *v)
{
    double g[NODES] = { 0 };
    printf("\n3. With = for +=: the last use wins\n\n");
    g[Y] = 1;
    g[U] = g[Y], g[Q] = g[Y];
    g[S] = g[U], g[P] = g[U];
    g[S] = g[Q] * v[P], g[P] = g[Q] * v[S];
    g[A] = g[P] * v[B], g[B] = g[P] * v[A];
    g[A] = g[S], g[B] = g[S];
    printf("  %-34s%9s%9s%9s%9s\n", "", "a", "b", "s", "p");
    row("with =", g, 4);
}

static double y_at(double a, double b)
{
    double v[NODES];
    forward(v, a, b);
    return v[Y];
}

/* The same on gradus' tape. Returns y, dy/da and dy/db. */
static void on_a_tape(double a_value, double b_value, double *result)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *a = gr_want_grad(t, gr_scalar(t, a_value)), *b = gr_want_grad(t, gr_scalar(t, b_value));
    gr_tensor *s = gr_add(t, a, b), *p = gr_mul(t, a, b), *q = gr_mul(t, s, p), *u = gr_add(t, s, p), *y = gr_add(t, u, q);
    gr_backward(t, y);
    result[0] = gr_item(y), result[1] = gr_grad(t, a)[0], result[2] = gr_grad(t, b)[0];
    gr_tape_free(t);
}

static void agree(void)
{
    const double h = 1e-5;
    double tape[3];
    printf("\n4. Three ways to dy/da and dy/db\n\n");
    row("a nudge of a, a nudge of b",
        (double[]){ (y_at(2 + h, 3) - y_at(2 - h, 3)) / (2 * h), (y_at(2, 3 + h) - y_at(2, 3 - h)) / (2 * h) }, 2);
    on_a_tape(2, 3, tape), row("gradus' tape", tape + 1, 2);
    row("the formula, differentiated", (double[]){ 1 + 3 + 2 * 2 * 3 + 3 * 3, 1 + 2 + 2 * 2 + 2 * 2 * 3 }, 2);
}

/* x is doubled by x + x, n times. Walking each path from the end to the beginning counts them. */
static double paths(int n) { return n ? paths(n - 1) + paths(n - 1) : 1; }

static void doubled(int n)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *x = gr_want_grad(t, gr_scalar(t, 1)), *y = x;
    for (int i = 0; i < n; i++) y = gr_add(t, y, y);
    gr_backward(t, y);
    printf("  %-34d%9zu%11.0f%11.0f\n", n, gr_tape_nodes(t), paths(n), (double)gr_grad(t, x)[0]);
    gr_tape_free(t);
}

static void work(void)
{
    printf("\n5. x + x, again and again: how many nodes backward visits, and how many paths lead to x\n\n");
    printf("  %-34s%9s%11s%11s\n", "doublings", "nodes", "paths", "dy/dx");
    doubled(1), doubled(3), doubled(10), doubled(20);
}

static void squashed(void)
{
    const double y = tanh(0.5), h = 1e-5;
    printf("\n6. y = tanh(x) at x = 0.5: its slope from y\n\n");
    number("y", y), number("1 - y^2", 1 - y * y), number("by a nudge", (tanh(0.5 + h) - tanh(0.5 - h)) / (2 * h));
}

/* The answers to the quiz: answer it first. */
static void quiz(void)
{
    double tape[3];
    printf("1. y = a a at a = 3: each of the two inputs adds the other's value, 3. With =, only one of them counts.\n");
    number("with +=", 3 + 3), number("with =", 3);
    printf("2. a = 1, b = 2: y and its derivatives.\n");
    on_a_tape(1, 2, tape), row("y, dy/da, dy/db", tape, 3);
    printf("3. The leaves are not set to 0 before the second backward: += adds the same once more.\n");
    on_a_tape(2, 3, tape), row("dy/da, dy/db", (double[]){ 2 * tape[1], 2 * tape[2] }, 2);
    printf("4. Thirty doublings: 30 nodes, 2^30 paths. The derivative is the number of paths, because each path gives 1.\n");
    printf("  %-34s%9d%11.0f\n", "nodes, paths", 30, ldexp(1, 30));
    printf("5. y = tanh(x) for a large x: y is nearly 1, so 1 - y^2 is nearly 0, and so is every gradient that comes through.\n");
    number("1 - y^2 at x = 3", 1 - tanh(3) * tanh(3));
}

int main(int argc, char **argv)
{
    double v[NODES];
    if (argc > 1 && !strcmp(argv[1], "--quiz")) return quiz(), 0;
    forward(v, 2, 3);
    by_hand(v), orders(v), assigned(v), agree(), work(), squashed();
}
