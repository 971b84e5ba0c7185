/* grade.c - the grader of lesson 2. */
#include "../grader.h"
#include "gradus.h"
#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

typedef enum { LEAF, ADD, MUL, TANH } kind;
typedef struct {
    kind op;
    int a, b;
    double value, grad;
} node;
void my_forward(node *list, int n);
void my_backward(node *list, int n);

/* ---- The known mistakes ---- */

#define MISTAKES(M) \
    /* forward */ \
    M(indices_added, \
      "You add a and b, which are the numbers of two nodes. Add the values of these nodes, list[a].value and list[b].value.") \
    M(from_the_end, \
      "You compute the last node first, from values that are not there yet. A node comes after the nodes that it needs, so\n" \
      "forward goes from the first node to the last.") \
    M(product_summed, "Your MUL adds the two values. It multiplies them.") \
    M(tanh_skipped, "Your TANH copies the value of node a. Take its tanh.") \
    M(add_multiplied, "Your ADD multiplies the two values. It adds them. If you use a switch, each case needs a break at its end.") \
    M(leaves_changed, "Your forward changes the leaves: it gives them a tanh. A LEAF keeps its value.") \
    /* backward, order and beginning */ \
    M(as_recorded, \
      "You visit the nodes in the order in which they were computed. Then a node hands back its gradient before its uses have\n" \
      "added to it. A node's uses come after it in the list, so go from the last node to the first.") \
    M(counted_twice, \
      "A node that has several uses hands on its whole gradient once for each. What the first use had added then counts again.\n" \
      "Visit each node once, after all of its uses: from the last node of the list to the first.") \
    M(not_cleared, "You do not set the gradients to 0 at first. They hold the numbers of an earlier call, and += adds to them.") \
    M(value_for_one, \
      "You begin with the value of the last node. Its gradient is the derivative of the last node with respect to itself: 1.") \
    M(no_beginning, \
      "No gradient is set to 1 at the beginning. Every gradient is a sum of products that contain the last node's, which is 1.") \
    M(last_not_visited, \
      "You do not visit the last node, number n - 1. It hands its gradient to the nodes that it was computed from, too.") \
    M(beyond_the_end, "You use list[n]. The n nodes are list[0] to list[n - 1].") \
    /* ADD */ \
    M(add_assigned, \
      "Your ADD writes = where += is needed. A node with two uses, such as a in (a + b) + a, gets a part of its gradient from each,\n" \
      "and = keeps only one of them.") \
    M(add_without_g, \
      "Your ADD adds 1. That is the derivative of the sum alone. The chain rule multiplies it by the gradient of the sum: add g.") \
    M(added_and_multiplied, \
      "Your ADD hands back g, and then also what MUL hands back. If you use a switch, each case needs a break at its end.") \
    M(second_forgotten, "You hand nothing to node b. A change of b moves the result as well.") \
    /* MUL */ \
    M(mul_missing, \
      "Your MUL hands nothing back. The product a b moves by b when a moves by 1: add g * b to a's gradient, and g * a to b's.") \
    M(mul_assigned, \
      "Your MUL writes = where += is needed. A node with two uses gets a part of its gradient from each, and = keeps only one.") \
    M(mul_without_g, \
      "Your MUL adds the other factor alone. The chain rule multiplies it by the gradient of the product: add g * b to a's gradient.") \
    M(own_factor, "Your MUL gives each factor its own value. The product a b moves by b when a moves by 1: a's gradient gets g * b.") \
    /* TANH */ \
    M(tanh_missing, \
      "Your TANH hands nothing back. Its derivative is 1 - y^2, where y is its own value: add g * (1 - y * y) to a's gradient.") \
    M(tanh_assigned, \
      "Your TANH writes = where += is needed. A node with two uses gets a part of its gradient from each, and = keeps only one.") \
    M(tanh_without_g, "Your TANH adds 1 - y^2 alone. The chain rule multiplies it by the gradient of y: add g * (1 - y * y).") \
    M(tanh_at_x, \
      "Your TANH uses 1 - x^2 with its input x. The derivative is 1 - y^2, with its output y: at x = 2, 1 - x^2 would be negative.") \
    M(tanh_passed_on, "Your TANH hands g on unchanged, as ADD does. Multiply it by the derivative, 1 - y^2.") \
    M(tanh_not_squared, "Your TANH uses 1 - y. The derivative is 1 - y^2: at x = 0 both are 1, but tanh is symmetric, and so is its " \
                        "slope.")

GRADER_MISTAKES(MISTAKES);
static const unsigned of_values = as_recorded - 1,
                      of_tanh = tanh_missing | tanh_assigned | tanh_without_g | tanh_at_x | tanh_passed_on | tanh_not_squared,
                      of_mul = mul_missing | mul_assigned | mul_without_g | own_factor,
                      of_add = add_assigned | add_without_g | added_and_multiplied | second_forgotten,
                      of_all = as_recorded | counted_twice | not_cleared | value_for_one | no_beginning | last_not_visited | beyond_the_end;

/* ---- The formulas, with a switch for each ---- */

enum { MOST = 300 };
typedef struct {
    int n;
    node list[MOST + 1];
} graph;                                            /* with the gradients of an earlier call */
static const node beyond = { ADD, 0, 0, 2.5, 3.5 }; /* list[n], which the learner may neither read nor write */

static void formula_values(unsigned m, const void *data, double *v)
{
    const graph *g = data;
    for (int i = 0; i < g->n; i++) v[i] = g->list[i].value;
    for (int k = 0; k < g->n; k++) {
        const int i = m & from_the_end ? g->n - 1 - k : k, a = g->list[i].a, b = g->list[i].b;
        const kind op = g->list[i].op;
        if (op == LEAF && m & leaves_changed) v[i] = tanh(v[a]);
        if (op == ADD) v[i] = m & indices_added ? a + b : m & add_multiplied ? v[a] * v[b] : v[a] + v[b];
        if (op == MUL) v[i] = m & product_summed ? v[a] + v[b] : v[a] * v[b];
        if (op == TANH) v[i] = m & tanh_skipped ? v[a] : tanh(v[a]);
    }
}

static void hand(double *to, double part, bool assign) { *to = assign ? part : *to + part; }

static void visit(unsigned m, const node *nodes, const double *v, double *grad, int i)
{
    const int a = nodes[i].a, b = nodes[i].b;
    const double g = grad[i];
    if (nodes[i].op == ADD) {
        hand(grad + a, m & add_without_g ? 1 : g, m & add_assigned);
        if (!(m & second_forgotten)) hand(grad + b, m & add_without_g ? 1 : g, m & add_assigned);
    }
    if (nodes[i].op == ADD ? m & added_and_multiplied : nodes[i].op == MUL && !(m & mul_missing)) {
        hand(grad + a, (m & mul_without_g ? 1 : g) * v[m & own_factor ? a : b], m & mul_assigned);
        if (!(m & second_forgotten)) hand(grad + b, (m & mul_without_g ? 1 : g) * v[m & own_factor ? b : a], m & mul_assigned);
    }
    if (nodes[i].op == TANH && !(m & tanh_missing)) {
        const double y = v[m & tanh_at_x ? a : i], slope = m & tanh_passed_on ? 1 : m & tanh_not_squared ? 1 - y : 1 - y * y;
        hand(grad + a, (m & tanh_without_g ? 1 : g) * slope, m & tanh_assigned);
    }
    if (m & counted_twice && nodes[i].op != LEAF) {
        visit(m, nodes, v, grad, a);
        if (nodes[i].op != TANH) visit(m, nodes, v, grad, b);
    }
}

static void formula_gradients(unsigned m, const void *data, double *grad)
{
    const graph *g = data;
    double v[MOST];
    formula_values(0, g, v);
    for (int i = 0; i < g->n; i++) grad[i] = m & not_cleared ? g->list[i].grad : 0;
    if (!(m & no_beginning)) grad[g->n - 1] = m & value_for_one ? v[g->n - 1] : 1;
    if (m & beyond_the_end) grad[beyond.a] += beyond.grad, grad[beyond.b] += beyond.grad;
    if (m & counted_twice) {
        visit(m, g->list, v, grad, g->n - 1);
        return;
    }
    for (int k = m & last_not_visited ? 1 : 0; k < g->n; k++) visit(m, g->list, v, grad, m & as_recorded ? k : g->n - 1 - k);
}

/* ---- The graphs: each node has uses that differ, and one leads nowhere ---- */

static const graph hand_made = { 7,
                                 { { LEAF, 0, 0, 2, 0 },
                                   { LEAF, 0, 0, 3, 0 },
                                   { ADD, 0, 1, 0, 0 },
                                   { MUL, 0, 1, 0, 0 },
                                   { MUL, 2, 3, 0, 0 },
                                   { ADD, 2, 3, 0, 0 },
                                   { ADD, 5, 4, 0, 0 } } };
static const graph sums_small = { 4, { { LEAF, 0, 0, 2, 0 }, { LEAF, 0, 0, 3, 0 }, { ADD, 0, 1, 0, 0 }, { ADD, 2, 0, 0, 0 } } };
static const graph tanh_small = { 2, { { LEAF, 0, 0, 0.5, 0 }, { TANH, 0, 0, 0, 0 } } };
static const graph sums = { 9,
                            { { LEAF, 0, 0, 0.7, 0.3 },
                              { LEAF, 0, 0, -1.2, 1.1 },
                              { ADD, 0, 1, 0, -0.6 },
                              { ADD, 2, 0, 0, 0.9 },
                              { ADD, 3, 2, 0, 2.1 },
                              { ADD, 3, 3, 0, 0.2 },
                              { ADD, 1, 5, 0, -0.7 },
                              { ADD, 4, 5, 0, 1.7 },
                              { ADD, 7, 0, 0, 0.4 } } };
static const graph products = { 10,
                                { { LEAF, 0, 0, 0.7, 0.3 },
                                  { LEAF, 0, 0, -1.2, 1.1 },
                                  { MUL, 0, 1, 0, -0.6 },
                                  { ADD, 2, 0, 0, 0.9 },
                                  { MUL, 3, 2, 0, 2.1 },
                                  { MUL, 3, 3, 0, 0.2 },
                                  { ADD, 1, 5, 0, -0.7 },
                                  { MUL, 6, 5, 0, 1.7 },
                                  { ADD, 7, 4, 0, 0.4 },
                                  { ADD, 8, 0, 0, 0.5 } } };
static const graph general = { 12,
                               { { LEAF, 0, 0, 0.7, 0.3 },
                                 { LEAF, 0, 0, -1.2, 1.1 },
                                 { MUL, 0, 1, 0, -0.6 },
                                 { TANH, 2, 0, 0, 0.9 },
                                 { ADD, 3, 2, 0, 2.1 },
                                 { MUL, 3, 4, 0, 0.2 },
                                 { TANH, 3, 0, 0, -0.7 },
                                 { MUL, 6, 5, 0, 1.7 },
                                 { ADD, 7, 4, 0, 0.4 },
                                 { TANH, 4, 0, 0, -1.4 },
                                 { MUL, 8, 1, 0, 0.5 },
                                 { ADD, 10, 9, 0, 0.8 } } };

/* A long list in which a node is computed from earlier ones, most of them near; the last node needs many of them. */
static graph long_graph(void)
{
    graph g = { .n = MOST };
    unsigned random = 1;
    for (int i = 0; i < MOST; i++) {
        int from[2];
        for (int k = 0; k < 2; k++)
            random = random * 1664525 + 1013904223, from[k] = i ? i - 1 - (int)(random >> 16) % (i < 20 ? i : 20) : 0;
        g.list[i] = (node){ i < 5 ? LEAF : i % 3 == 0 ? ADD : i % 3 == 1 ? MUL : TANH, from[0], from[1], i < 5 ? 0.3 * i - 0.5 : 0, 0.1 };
    }
    return g;
}

static const char by_hand[] = "y = (a + b) + ab + (a + b)ab, the nodes a, b, s, p, q, u, y",
                  in_general[] = "a list of 12 nodes (general in grade.c)";

/* ---- The learner's numbers ---- */

typedef struct {
    double value[MOST], grad[MOST];
} numbers;

static void check_beyond(const graph *g)
{
    const node *n = g->list + g->n;
    if (n->value != beyond.value || n->grad != beyond.grad) grader_failed(), grader_stop_mistakes(list, beyond_the_end);
}

static numbers run(const graph *g, bool backward)
{
    numbers r = { 0 };
    graph copy = *g;
    copy.list[g->n] = beyond;
    my_forward(copy.list, copy.n);
    check_beyond(&copy);
    for (int i = 0; i < g->n; i++) r.value[i] = copy.list[i].value;
    if (!backward) return r;
    formula_values(0, g, r.grad); /* backward starts from the right values */
    for (int i = 0; i < g->n; i++) copy.list[i].value = r.grad[i];
    my_backward(copy.list, copy.n);
    check_beyond(&copy);
    for (int i = 0; i < g->n; i++) {
        if (copy.list[i].value != r.grad[i] || copy.list[i].a != g->list[i].a || copy.list[i].b != g->list[i].b)
            grader_stop("value_changed", "my_backward changes a node's value, a or b. It writes gradients alone.");
        r.grad[i] = copy.list[i].grad;
    }
    return r;
}

static void judge_gradients(const graph *g, const graph *small, const char *of, const char *of_small, unsigned among)
{
    const numbers all = run(g, true), few = run(small, true);
    const grader_result whole = { "the gradients", of, formula_gradients, g, among, 1, (size_t)g->n, all.grad, NULL, .unlike = true },
                        worked = { "the gradients", of_small, formula_gradients, small, among, 1, (size_t)small->n, few.grad, NULL };
    grader_judge(list, &whole, &worked);
}

/* The same list on gradus' tape. */
static void on_a_tape(const graph *g, double *grad)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *x[MOST];
    for (int i = 0; i < g->n; i++) {
        const node *o = g->list + i;
        x[i] = o->op == ADD    ? gr_add(t, x[o->a], x[o->b])
               : o->op == MUL  ? gr_mul(t, x[o->a], x[o->b])
               : o->op == TANH ? gr_tanh(t, x[o->a])
                               : gr_want_grad(t, gr_scalar(t, o->value));
    }
    gr_backward(t, x[g->n - 1]);
    for (int i = 0; i < g->n; i++) grad[i] = gr_grad(t, x[i]) ? gr_grad(t, x[i])[0] : 0;
    gr_tape_free(t);
}

/* Whether backward comes to an end for x + x, forty times, which has 2^40 paths. It runs in a process of its own, for half a second at most. */
static bool visits_nodes(void)
{
    int status = 0;
    const pid_t child = fork();
    if (child == 0) {
        graph g = { 41, { { LEAF, 0, 0, 1, 0 } } };
        for (int i = 1; i < g.n; i++) g.list[i] = (node){ ADD, i - 1, i - 1, 0, 0 };
        signal(SIGPROF, SIG_DFL);
        setitimer(ITIMER_PROF, &(struct itimerval){ .it_value.tv_usec = 500000 }, NULL);
        my_backward(g.list, g.n);
        _exit(0);
    }
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status)) _exit(1); /* the child has said why */
    return WIFEXITED(status);
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "--ambiguous"))
        return grader_ambiguous(list, formula_values, &general, of_values, (size_t)general.n) +
               grader_ambiguous(list, formula_gradients, &sums, of_add | of_all, (size_t)sums.n) +
               grader_ambiguous(list, formula_gradients, &products, of_mul | of_add | of_all, (size_t)products.n) +
               grader_ambiguous(list, formula_gradients, &general, of_tanh | of_mul | of_add | of_all, (size_t)general.n);
    grader_start("Lesson 2: the chain rule");

    grader_step("forward");
    graph untouched = general, begun = general;
    my_forward(begun.list, begun.n);
    if (!memcmp(&begun, &untouched, sizeof begun))
        grader_stop("not_begun", "my_forward writes nothing yet. Begin at TODO 1 in exercise.c: about six lines.");
    const numbers small = run(&hand_made, false), all = run(&general, false);
    const grader_result values = { "the values", in_general, formula_values, &general, of_values, 1, (size_t)general.n, all.value, NULL, .unlike = true },
                        worked = { "the values", by_hand, formula_values, &hand_made, of_values, 1, 7, small.value, NULL };
    grader_judge(list, &values, &worked);

    grader_step("backward over sums");
    bool any = false;
    my_backward(begun.list, begun.n);
    for (int i = 0; i < general.n; i++) any |= begun.list[i].grad != untouched.list[i].grad;
    if (!any) grader_stop("half_done", "Forward is right. my_backward writes nothing yet: go on at TODO 2, about nine lines.");
    judge_gradients(&sums, &sums_small, "a list of 9 nodes (sums in grade.c)", "y = (a + b) + a, the nodes a, b, a + b, y",
                    of_add | of_all);
    grader_step("backward over sums and products");
    judge_gradients(&products, &hand_made, "a list of 10 nodes (products in grade.c)", by_hand, of_mul | of_add | of_all);
    grader_step("backward over sums, products and tanh");
    judge_gradients(&general, &tanh_small, in_general, "y = tanh(0.5), the nodes x, y", of_tanh | of_mul | of_add | of_all);

    grader_step("x + x, forty times");
    if (!visits_nodes())
        grader_stop(
            "every_path",
            "Your backward follows every path from the end to a leaf, and here there are 2^40. Visit each node once, after all of its\n"
            "uses, from the last node of the list to the first: then it hands back the sum over all paths at once.");

    grader_step("a list of 300 nodes, against gradus' tape");
    const graph big = long_graph();
    double right[MOST];
    const numbers got = run(&big, true);
    on_a_tape(&big, right);
    for (int i = 0; i < MOST; i++) {
        if (fabs(got.grad[i] - right[i]) <= 1e-9 * fmax(1, fabs(right[i]))) continue;
        grader_failed(), grader_row("yours", got.grad + i, 1), grader_row("right", right + i, 1);
        grader_stop("long_list", "Your gradients are right for short lists. Of 300 nodes, the one of node %d is wrong. Is a size written as a number? Or do you\n"
                                 "divide by a value, which may be 0 or very small?", i);
    }
    return grader_end("All right. gradus does the same with a list of operators, in core/backward.c: compare gr__compute with yours.");
}
