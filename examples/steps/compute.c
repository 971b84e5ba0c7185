/* examples/steps/compute.c - what gradus computes of a graph: values, gradients, the derivative of each operator alone. */
#include "examples/steps/steps.h"
#include <math.h>
#include <string.h>

/* ---- Operators: derivatives are those of ops/unary.def and ops/binary.def ---- */

static double sum_slope(int k, double a, double b, double y) { return (void)k, (void)a, (void)b, (void)y, 1; }
static double sub_slope(int k, double a, double b, double y) { return (void)a, (void)b, (void)y, k ? -1 : 1; }
static double mul_slope(int k, double a, double b, double y) { return (void)y, k ? a : b; }
static double div_slope(int k, double a, double b, double y) { return (void)a, k ? -y / b : 1 / b; }
static double neg_slope(int k, double a, double b, double y) { return (void)k, (void)a, (void)b, (void)y, -1; }
static double square_slope(int k, double a, double b, double y) { return (void)k, (void)b, (void)y, 2 * a; }
static double sqrt_slope(int k, double a, double b, double y) { return (void)k, (void)a, (void)b, 1 / (2 * y); }
static double exp_slope(int k, double a, double b, double y) { return (void)k, (void)a, (void)b, y; }
static double log_slope(int k, double a, double b, double y) { return (void)k, (void)b, (void)y, 1 / a; }
static double tanh_slope(int k, double a, double b, double y) { return (void)k, (void)a, (void)b, 1 - y * y; }
static double sigmoid_slope(int k, double a, double b, double y) { return (void)k, (void)a, (void)b, y * (1 - y); }
static double relu_slope(int k, double a, double b, double y) { return (void)k, (void)b, (void)y, a > 0; }
static double sin_slope(int k, double a, double b, double y) { return (void)k, (void)b, (void)y, cos(a); }
static double cos_slope(int k, double a, double b, double y) { return (void)k, (void)b, (void)y, -sin(a); }

static const steps_op infix[] = { { "+", NULL, gr_add, { "1", "1" }, sum_slope, 0 },
                                  { "-", NULL, gr_sub, { "1", "-1" }, sub_slope, 0 },
                                  { "*", NULL, gr_mul, { "B", "A" }, mul_slope, 0 },
                                  { "/", NULL, gr_div, { "1 / B", "-Y / B" }, div_slope, 0 } };
static const steps_op function[] = { { "-", gr_neg, NULL, { "-1", "" }, neg_slope, 0 },
                                     { "square", gr_square, NULL, { "2 A", "" }, square_slope, 0 },
                                     { "sqrt", gr_sqrt, NULL, { "1 / (2 Y)", "" }, sqrt_slope, 0 },
                                     { "exp", gr_exp, NULL, { "Y", "" }, exp_slope, 0 },
                                     { "log", gr_log, NULL, { "1 / A", "" }, log_slope, 0 },
                                     { "tanh", gr_tanh, NULL, { "1 - Y^2", "" }, tanh_slope, 1 },
                                     { "sigmoid", gr_sigmoid, NULL, { "Y (1 - Y)", "" }, sigmoid_slope, 0 },
                                     { "relu", gr_relu, NULL, { "1 if A > 0, else 0", "" }, relu_slope, 0 },
                                     { "sin", gr_sin, NULL, { "cos(A)", "" }, sin_slope, 1 },
                                     { "cos", gr_cos, NULL, { "-sin(A)", "" }, cos_slope, 1 } };
enum { FUNCTIONS = sizeof function / sizeof *function };

const steps_op *steps_infix(char c) { return &infix[c == '+' ? 0 : c == '-' ? 1 : c == '*' ? 2 : 3]; }

const steps_op *steps_function(const char *name, size_t length)
{
    for (int f = 0; f < FUNCTIONS; f++)
        if (strlen(function[f].name) == length && !strncmp(function[f].name, name, length)) return &function[f];
    return NULL;
}

/* ---- The graph in gradus ---- */

static gr_tensor *run(gr_tape *t, const steps_op *op, gr_tensor *a, gr_tensor *b) { return op->two ? op->two(t, a, b) : op->one(t, a); }

/* Compute all values, and then the gradients with gr_backward. Gradients of parameters are added to those of the last call. */
static void forward_and_backward(gr_tape *t, steps_graph *g)
{
    gr_tape_reset(t);
    for (int i = 0; i < g->n; i++) {
        steps_value *const v = &g->v[i];
        gr_tape_set_place(t, v->name);
        if (v->op) v->tensor = run(t, v->op, g->v[v->in[0]].tensor, v->in[1] < 0 ? NULL : g->v[v->in[1]].tensor);
        else if (!v->wants) v->tensor = gr_scalar(t, v->value);
    }
    gr_tape_set_place(t, NULL);
    gr_backward(t, g->v[g->n - 1].tensor);
}

/* The derivative of v's operator alone: gradus runs it on the values of its inputs, and walks back from its result. */
static void compute_slope(gr_tape *t, const steps_graph *g, steps_value *v)
{
    gr_tensor *x[2] = { NULL, NULL };
    gr_tape_reset(t);
    for (int k = 0; k < 2; k++)
        if (v->in[k] >= 0) x[k] = gr_want_grad(t, gr_scalar(t, g->v[v->in[k]].value));
    if (!gr_backward(t, run(t, v->op, x[0], x[1]))) return;
    for (int k = 0; k < 2; k++)
        if (x[k]) v->slope[k] = (double)*gr_grad(t, x[k]);
}

static double gradient(gr_tape *t, const steps_value *v)
{
    const gr_real *const g = gr_grad(t, v->tensor);
    return g ? (double)*g : 0;
}

void steps_compute(gr_tape *t, gr_module *m, steps_graph *g)
{
    gr_tape_set_anomaly(t, true);
    for (int i = 0; i < g->n; i++)
        if (!g->v[i].op && g->v[i].wants) g->v[i].tensor = gr_param(t, m, g->v[i].name, GR_SHAPE(1), gr_init_constant(g->v[i].value));

    forward_and_backward(t, g);
    if (gr_failed(t)) return;
    for (int i = 0; i < g->n; i++) {
        steps_value *const v = &g->v[i];
        v->value = gr_item(v->tensor), v->reached = gr_grad(t, v->tensor) != NULL, v->grad = gradient(t, v);
    }
    gr_backward(t, g->v[g->n - 1].tensor); /* it refuses: once between two resets */
    snprintf(g->refusal, sizeof g->refusal, "%s", gr_message(t));
    gr_tape_recover(t);

    gr_module_zero_grad(m);
    forward_and_backward(t, g), forward_and_backward(t, g); /* without gr_module_zero_grad between them */
    for (int i = 0; i < g->n && !gr_failed(t); i++)
        if (!g->v[i].op) g->v[i].twice = gradient(t, &g->v[i]);
    for (int i = 0; i < g->n && !gr_failed(t); i++)
        if (g->v[i].op && g->v[i].wants) compute_slope(t, g, &g->v[i]);
}
