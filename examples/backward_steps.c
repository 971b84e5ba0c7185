/* examples/backward_steps.c - walks backward through a small graph and shows each gradient as it comes together.
 *
 * Shows: the forward values; then node by node which gradient is read, the derivative of the operator, and what each += adds to what; then three
 *        mistakes with their wrong numbers beside the right ones: a wrong order, = in place of +=, and a second backward.
 * Run:   examples/backward_steps                       the graph "branch"; in a terminal, Enter goes on, b goes back, q ends
 *        examples/backward_steps --graph all --html steps.html       a page with the graphs drawn and a slider over the steps
 *        examples/backward_steps --list                the graphs that are built in
 *        examples/backward_steps --graph shared        another one; all means every one
 *        examples/backward_steps --expression "x = 2; y = x * x; L = y + sin(x) / 3"        your own graph, of + - * / and parentheses,
 *                                                      square sqrt exp log tanh sigmoid relu sin cos; the last name is the loss.
 *                                                      A name is one number, or is computed from other names: not x = 1/3
 * See:   a node must come after all nodes that use its result, because only then is the gradient that it reads complete. Where a value is used
 *        twice, += adds two terms and = loses one. A second backward reads what the first one left; a second forward and backward without
 *        zero_grad makes every gradient twice as large.
 * Exit:  0 the walk was shown; 1 a value or gradient is NaN or infinite, or, with --check, a number of the walk differs from that of gradus
 *        (without --check the difference is printed, and the code is 0); 2 a wrong flag, graph or path of --log; 3 out of memory, a
 *        full disk, or the page cannot be written.
 *
 * The values are those of gradus. The walk itself is sums and products in double (examples/steps/walk.c), and the last step compares its gradients
 * with those of gr_backward, and the derivative of each operator with gr_backward through that operator alone.
 */
#include "examples/kit/json.h"
#include "examples/kit/kit.h"
#include "examples/kit/output.h"
#include "examples/steps/page.h"
#include <math.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

enum { AUTO, ON, OFF }; /* keys */
static kit_options common = { .seed = 42, .threads = 1 };
static struct {
    const char *graph, *expression, *html;
    double tolerance;
    int keys;
    bool list;
} o = { .tolerance = sizeof(gr_real) == sizeof(float) ? 1e-5 : 1e-12 };

static const kit_flag flag[] = {
    { "graph", KIT_TEXT, &o.graph, "NAME", "a graph that is built in, or all; default: branch, with --check all", 0, 0 },
    { "list", KIT_SWITCH, &o.list, NULL, "print the graphs that are built in", 0, 0 },
    { "expression", KIT_TEXT, &o.expression, "TEXT",
      "your own graph, of + - * / ( ) square sqrt exp log tanh sigmoid relu sin cos: \"x = 2; L = x / (x + 3)\"", 0, 0 },
    { "html", KIT_TEXT, &o.html, "FILE", "write the steps into a page there, with the graph drawn and a slider", 0, 0 },
    { "keys", KIT_CHOICE, &o.keys, "auto|on|off", "wait for a key after each step; auto: if input and output are a terminal", 0, 0 },
    { "tolerance", KIT_NUMBER, &o.tolerance, "X", "how far the walk may be from gradus, relative to the terms of a sum", 0, 1 },
    KIT_FLAGS_RUN(common, "exit 1 if a number of the walk differs from that of gradus"),
};
static const kit_flags flags = { "backward_steps", "walks backward through a small graph, node by node", flag, sizeof flag / sizeof *flag };

/* ---- Text ---- */

typedef struct {
    kit_run *r;
    const char *name;
    steps_graph g;
    steps_walk right, wrong; /* the walk in the right order; the one of the mistake that is shown */
} show;

static void say(const char *format, ...) __attribute__((format(GR_PRINTF, 1, 2)));
static FILE *page; /* the text goes there as HTML; NULL: to the terminal */
static void say(const char *format, ...)
{
    char text[1024];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    if (page) kit_markup(page, text);
    else if (!common.quiet) fputs(text, stdout);
}

/* Print a text in lines of at most 100 columns, each after `indent` spaces. */
static void print_wrapped(const char *text, int indent)
{
    for (int n; (n = kit_line(&text, KIT_COLUMNS - indent)) > 0; text += n) say("%*s%.*s\n", indent, "", n, text);
}

/* ---- The steps of the walk ---- */

static void show_forward(const show *s)
{
    char text[80];
    const steps_value *unnamed = NULL;
    say("Forward. Each operator becomes a node of the tape, in the order in which it runs.\n\n");
    for (int i = 0; i < s->g.n; i++) {
        const steps_value *const v = &s->g.v[i];
        if (v->op) say("  node %-2d  %-15s  = %-40s  = %.6g\n", v->node, v->name, steps_operation(&s->g, v, text, sizeof text), v->value);
        else if (v->wants) say("  number   %-15s  = %.6g\n", v->name, v->value);
        if (!unnamed && *v->name == '#') unnamed = v;
    }
    say("\nA number with a name is a parameter and gets a gradient. The loss is %s.\n", s->g.v[s->g.n - 1].name);
    say("Below, D is the derivative of one operator, while its other input stays as it is. grad is that of\nthe loss, through all uses.\n");
    if (unnamed) say("A result without a name has the number of its node: %s is the result of node %d.\n", unnamed->name, unnamed->node);
}

static void show_gradients(const show *s, int visits)
{
    char item[64];
    int column = 0;
    say("\n  gradients now; * means complete\n");
    for (int i = 0; i < s->g.n; i++) {
        bool complete;
        if (!s->g.v[i].reached) continue;
        const double now = steps_gradient_after(&s->g, &s->right, visits, i, &complete);
        const int length = snprintf(item, sizeof item, "%s %.5g%s", s->g.v[i].name, now, complete ? "*" : "");
        if (column + length > 92) say("\n"), column = 0;
        say("    %s", item), column += length + 4;
    }
    say("\n");
}

static void show_sum(const show *s, const steps_sum *a)
{
    const steps_value *const v = &s->g.v[a->from], *const to = &s->g.v[a->to];
    char text[80];
    say("  D%s/D%s = %s", v->name, to->name, steps_derivative(&s->g, v, a->input, text, sizeof text));
    if (strpbrk(v->op->slope_text[a->input], "ABY")) say(" = %.5g", a->slope);
    say("\n      grad %s += %.5g * %.5g:  %.5g + %.5g = %.5g\n", to->name, a->slope, a->read, a->before, a->slope * a->read, a->after);
}

static void show_node(const show *s, int visits)
{
    const int i = s->right.visit[visits - 1];
    const steps_value *const v = &s->g.v[i];
    char text[80];
    say("Backward, node %d: %s = %s\n\n  reads grad %s = %.5g\n", v->node, v->name, steps_operation(&s->g, v, text, sizeof text), v->name,
        s->right.grad[i]);
    if (i == s->g.n - 1) say("  The walk begins here: d%s/d%s = 1.\n", v->name, v->name);
    else {
        say("  It is complete. These nodes use %s, and came before:", v->name);
        for (int k = s->g.n - 1; k > i; k--)
            if (steps_uses(&s->g, k, i) && s->g.v[k].reached) say(" %d", s->g.v[k].node);
        say("\n");
    }
    for (int k = 0; k < s->right.sums; k++)
        if (s->right.sum[k].from == i) show_sum(s, &s->right.sum[k]);
    for (int k = 0; k < 2; k++)
        if (v->in[k] >= 0 && !s->g.v[v->in[k]].wants) say("  %s needs no gradient.\n", s->g.v[v->in[k]].name);
    show_gradients(s, visits);
}

/* ---- The mistakes ---- */

static bool is_near(double a, double b, double size, double tolerance) { return fabs(a - b) <= tolerance * size + 1e-30; }
static bool is_wrong(const show *s, int i) { return !is_near(s->wrong.grad[i], s->right.grad[i], s->right.size[i], 1e-9); }

/* Print right and wrong gradients side by side. If none is wrong, say `why`, or, when why is NULL, that the numbers happen to hide it. */
static void show_wrong(const show *s, const char *why)
{
    int wrong = 0, all = 0;
    say("\n  %-15s  %12s  %12s\n", "gradient of", "right", "wrong");
    for (int i = 0; i < s->g.n; i++) {
        if (!s->g.v[i].reached) continue;
        all++, wrong += is_wrong(s, i);
        say("  %-15s  %12.6g  %12.6g%s\n", s->g.v[i].name, s->right.grad[i], s->wrong.grad[i], is_wrong(s, i) ? "  <-" : "");
    }
    if (wrong) say("\nWrong gradients: %d of %d.\n", wrong, all);
    else say("\nNo gradient is wrong here: %s.\n", why ? why : "the numbers of this graph hide the mistake");
}

/* Where a walk in a wrong order first reads a gradient that is not complete. */
static void show_early_read(const show *s)
{
    char text[80];
    for (int k = 0; k < s->wrong.sums; k++) {
        const steps_sum *const a = &s->wrong.sum[k];
        if (is_near(a->read, s->right.grad[a->from], s->right.size[a->from], 1e-9)) continue;
        const steps_value *const v = &s->g.v[a->from];
        say("Node %d, %s, reads %.5g as the gradient of %s.\nThe complete gradient is %.5g.\n", v->node,
            steps_operation(&s->g, v, text, sizeof text), a->read, v->name, s->right.grad[a->from]);
        return;
    }
}

static void show_oldest_first(const show *s)
{
    say("Mistake: a wrong order, oldest node first. A node reads the gradient of its result before the nodes\n"
        "that use the result have added to it.\n");
    show_early_read(s);
    show_wrong(s, s->g.nodes == 1 ? "the graph has one node" : NULL);
}

static void show_depth_first(const show *s)
{
    bool shared = false;
    for (int i = 0; i < s->g.n; i++) shared |= s->g.v[i].op && steps_uses_of(&s->g, i) > 1;
    say("Mistake: a wrong order, depth first. After a node come the nodes of its inputs, each node once.\n"
        "A node whose result is used twice then comes too early: it misses what the second use adds.\n");
    show_early_read(s);
    show_wrong(s, shared ? NULL : "no result of a node is used twice");
}

static void show_assign(const show *s)
{
    bool shared = false;
    for (int i = 0; i < s->g.n; i++) shared |= s->g.v[i].wants && steps_uses_of(&s->g, i) > 1;
    say("Mistake: = in place of +=. A value that is used twice keeps only the term that came last.\n");
    for (int k = 0; k < s->wrong.sums; k++) {
        const steps_sum *const a = &s->wrong.sum[k];
        if (fabs(a->before) <= 0) continue;
        say("Node %d assigns %.5g to grad %s, and the %.5g that it held is lost.\n", s->g.v[a->from].node, a->after, s->g.v[a->to].name,
            a->before);
        break;
    }
    show_wrong(s, shared ? NULL : "no value is used twice");
}

static void show_second(const show *s)
{
    say("Mistake: a second backward, and no gradient was cleared. The second walk also reads what the first\n"
        "one left, and adds to it.\n");
    show_wrong(s, NULL);
    say("\ngr_backward refuses a second call before gr_tape_reset. It says:\n");
    print_wrapped(s->g.refusal, 4);
    say("\nAfter gr_tape_reset, another forward and backward add to the gradients of the parameters. They\n"
        "are twice the right ones if gr_module_zero_grad or gr_optim_zero_grad was not called. By gradus:\n\n"
        "  %-15s  %12s  %12s\n",
        "gradient of", "once", "twice");
    for (int i = 0; i < s->g.n; i++)
        if (!s->g.v[i].op && s->g.v[i].reached) say("  %-15s  %12.6g  %12.6g\n", s->g.v[i].name, s->g.v[i].grad, s->g.v[i].twice);
}

/* ---- The comparison with gradus ---- */

/* Compare a number of the walk with that of gradus, print a number that differs, and add to `differ` then. */
static void compare(double walk, double gradus, double size, const char *what, const char *of, const char *by, size_t *differ)
{
    if (is_near(walk, gradus, size, o.tolerance)) return;
    const int digits = sizeof(gr_real) == sizeof(float) ? 9 : 17;
    say("  DIFFERS: %s %s%s%s: %.*g by the walk, %.*g by gradus\n", what, of, *by ? " by " : "", by, digits, walk, digits, gradus);
    ++*differ;
}

static void show_comparison(const show *s)
{
    FILE *const to = page;
    size_t gradients = 0, twice = 0, slopes = 0, differ = 0;
    page = NULL; /* it is for the terminal */
    say("\nThe walk beside gr_backward. On the right are the numbers with a name after a second forward and\n"
        "backward, which makes their gradients twice as large. The derivatives of the operators, which the\n"
        "steps show, are compared with those of gradus, too.\n\n  %-15s  %14s  %14s  %14s  %14s\n",
        "gradient of", "walk", "gradus", "2 * walk", "gradus, second");
    for (int i = 0; i < s->g.n; i++) {
        const steps_value *const v = &s->g.v[i];
        if (!v->reached && v->wants) say("  %-15s  no gradient reaches it, because %s does not use it\n", v->name, s->g.v[s->g.n - 1].name);
        if (!v->reached) continue;
        gradients++;
        say("  %-15s  %14.8g  %14.8g", v->name, s->right.grad[i], v->grad);
        if (!v->op) twice++, say("  %14.8g  %14.8g", 2 * s->right.grad[i], v->twice);
        say("\n");
        compare(s->right.grad[i], v->grad, s->right.size[i], "gradient of", v->name, "", &differ);
        if (!v->op) compare(2 * s->right.grad[i], v->twice, 2 * s->right.size[i], "twice the gradient of", v->name, "", &differ);
        kit_log_write(s->r->tape, &s->r->log, "gradient", { "graph", .text = s->name }, { "of", .text = v->name },
                      { "walk", s->right.grad[i] }, { "gradus", v->grad });
    }
    for (int k = 0; k < s->right.sums; k++, slopes++) {
        const steps_sum *const a = &s->right.sum[k];
        const steps_value *const v = &s->g.v[a->from];
        compare(a->slope, v->slope[a->input], fabs(a->slope) + v->op->terms, "derivative of", v->name, s->g.v[a->to].name, &differ);
        kit_log_write(s->r->tape, &s->r->log, "sum", { "graph", .text = s->name }, { "node", v->node },
                      { "to", .text = s->g.v[a->to].name }, { "read", a->read }, { "slope", a->slope }, { "before", a->before },
                      { "after", a->after });
    }
    printf("%s%s: %zu of %zu numbers differ from gradus: %zu gradients, %zu after a second backward, %zu derivatives\n",
           common.quiet || o.html ? "" : "\n", s->name, differ, gradients + twice + slopes, gradients, twice, slopes);
    page = to;
    kit_run_need(s->r, !differ, "%s: %zu numbers differ from those of gradus", s->name, differ);
}

/* ---- From step to step ---- */

static const struct {
    const char *heading;
    steps_order order;
    bool assign;
    int walks;
    void (*show)(const show *);
} mistake[] = {
    { "A wrong order: the oldest node first", STEPS_OLDEST_FIRST, false, 1, show_oldest_first },
    { "A wrong order: depth first", STEPS_DEPTH_FIRST, false, 1, show_depth_first },
    { "= in place of +=", STEPS_NEWEST_FIRST, true, 1, show_assign },
    { "A second backward", STEPS_NEWEST_FIRST, false, 2, show_second },
};
enum { MISTAKES = sizeof mistake / sizeof *mistake };

/* Draw the graph of step `at`: the forward values, a node of the right walk, or a mistake. */
static void draw_step(const show *s, int at, int wrong)
{
    steps_mark mark[STEPS_VALUES] = { 0 };
    char heading[80];
    const int active = at && wrong < 0 ? s->right.visit[at - 1] : -1;
    for (int i = 0; i < s->g.n && at; i++) {
        if (!s->g.v[i].reached) continue;
        if (wrong < 0) mark[i].grad = steps_gradient_after(&s->g, &s->right, at, i, &mark[i].complete);
        else mark[i].grad = s->wrong.grad[i], mark[i].wrong = is_wrong(s, i), mark[i].complete = !mark[i].wrong;
        mark[i].shown = true;
    }
    for (int k = 0; k < s->right.sums; k++)
        if (s->right.sum[k].from == active) mark[active].added[s->right.sum[k].input] = s->right.sum[k].slope * s->right.sum[k].read;
    if (active >= 0) snprintf(heading, sizeof heading, "Backward, node %d: %s", s->g.v[active].node, s->g.v[active].name);
    else snprintf(heading, sizeof heading, "%s", at ? mistake[wrong].heading : "Forward");
    steps_page_step(page, &s->g, mark, active, heading);
}

/* Show step number `at`, from 0. Returns false when there is no such step. */
static bool show_step(show *s, int at)
{
    const int wrong = at - 1 - s->right.visits;
    if (wrong >= MISTAKES) return false;
    memset(&s->wrong, 0, sizeof s->wrong);
    for (int k = 0; wrong >= 0 && k < mistake[wrong].walks; k++)
        steps_walk_backward(&s->g, mistake[wrong].order, mistake[wrong].assign, &s->wrong);
    if (page) draw_step(s, at, wrong);
    else say("\n---- %s, step %d of %d ----\n\n", s->name, at + 1, s->right.visits + 1 + MISTAKES);
    if (at == 0) show_forward(s);
    else if (wrong < 0) show_node(s, at);
    else mistake[wrong].show(s);
    if (page) steps_page_step_end(page);
    return true;
}

/* Ask for a key, and return the step that it chooses. */
static int next_step(int at)
{
    char line[64];
    printf("\nEnter: next step   b: back   q: end > ");
    fflush(stdout);
    if (!fgets(line, sizeof line, stdin) || *line == 'q') return -1;
    return *line != 'b' ? at + 1 : at > 0 ? at - 1 : 0;
}

static void walk_graph(kit_run *r, const char *name, const char *text)
{
    static show s;
    const bool keys = !common.quiet && !page && (o.keys == ON || (o.keys == AUTO && !common.check && isatty(0) && isatty(1)));
    gr_module *const m = gr_module_new(r->tape);
    memset(&s, 0, sizeof s), s.r = r, s.name = name;
    if (steps_read(r->tape, text, &s.g)) steps_compute(r->tape, m, &s.g);
    if (!gr_failed(r->tape)) {
        steps_walk_backward(&s.g, STEPS_NEWEST_FIRST, false, &s.right);
        if (page) steps_page_graph(page, name, text, s.right.visits + 1 + MISTAKES);
        else say("\n%s\n", name), print_wrapped(text, 4);
        for (int at = 0; at >= 0 && !kit_interrupted() && show_step(&s, at);) at = keys ? next_step(at) : at + 1;
        if (page) steps_page_graph_end(page);
        if (!kit_interrupted()) show_comparison(&s);
    }
    gr_tape_reset(r->tape), gr_module_free(m);
}

static void walk_graphs(kit_run *r)
{
    const char *const graph = o.graph ? o.graph : common.check ? "all" : "branch";
    if (o.expression) walk_graph(r, "expression", o.expression);
    for (int k = 0; k < STEPS_EXAMPLES && !o.expression && !gr_failed(r->tape) && !kit_interrupted(); k++)
        if (!strcmp(graph, "all") || !strcmp(graph, steps_example[k].name)) walk_graph(r, steps_example[k].name, steps_example[k].text);
}

static void work(kit_run *r)
{
    kit_file file;
    if (o.html && (file = kit_file_begin(r->tape, o.html), !file.out)) return;
    if (o.html) page = file.out, steps_page_begin(page);
    walk_graphs(r);
    if (o.html) steps_page_end(page), page = NULL, kit_file_end(r->tape, &file);
    if (o.html && !gr_failed(r->tape)) printf("wrote %s\n", o.html);
}

static void check_flags(gr_tape *t)
{
    bool found = !o.graph || !strcmp(o.graph, "all");
    for (int k = 0; k < STEPS_EXAMPLES && !found; k++) found = !strcmp(o.graph, steps_example[k].name);
    if (!found) gr_fail_as(t, GR_MISUSE, "", "--graph %s: there is no such graph; --list prints the names", o.graph);
    if (o.graph && o.expression) gr_fail_as(t, GR_MISUSE, "", "--graph and --expression exclude each other");
}

int main(int argc, char **argv)
{
    kit_run r;
    const int code = kit_run_start(&r, &flags, &common, argc, argv);
    if (code != KIT_GO_ON) return code;
    check_flags(r.tape);
    for (int k = 0; k < STEPS_EXAMPLES && o.list; k++)
        printf("%-7s %s\n", steps_example[k].name, steps_example[k].about), print_wrapped(steps_example[k].text, 8);
    if (!o.list && kit_run_begin(&r, o.expression ? "your own graph" : "the graphs of this program")) work(&r);
    return kit_run_end(&r);
}
