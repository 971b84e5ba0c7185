/* lesson.c - an operator of your own, and the tests that see its mistakes.
 *
 * Shows: softsign by hand and from plain operators; x^3 as an operator, once with the right backward and four times with a wrong one; which tests tell
 *        them apart; what gr_gradcheck says.
 * Run:   make lesson N=4         expected.txt is its output; make quiz N=4 prints the answers to the quiz                                 */
#include "gradus.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static void row(const char *label, const double *v, size_t n)
{
    printf("  %-34s", label);
    for (size_t i = 0; i < n; i++) printf("%11.5f", fabs(v[i]) < 5e-6 ? 0 : v[i]);
    printf("\n");
}
static void number(const char *label, double v) { row(label, &v, 1); }

/* ---- Softsign with a width s: y = x / (s + |x|) ---- */

static double softsign(double x, double s) { return x / (s + fabs(x)); }

static void by_hand(void)
{
    const double x = 1, s = 1, v = s + fabs(x), h = 1e-5;
    printf("1. By hand: y = x / (s + |x|) at x = 1, s = 1\n\n");
    number("v = s + |x|", v), number("y = x / v", x / v);
    number("dy/dx = s / v^2", s / (v * v)), number("  by a nudge of x", (softsign(x + h, s) - softsign(x - h, s)) / (2 * h));
    number("dy/ds = -x / v^2", -x / (v * v)), number("  by a nudge of s", (softsign(x, s + h) - softsign(x, s - h)) / (2 * h));
}

/* From plain operators: y and the gradients of x [n] and s for the gradient dy of y. */
static void from_plain(const double *x, size_t n, double s, const double *dy, double *y, double *dx, double *ds)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *in = gr_want_grad(t, gr_input(t, x, GR_SHAPE(n))), *width = gr_want_grad(t, gr_scalar(t, s));
    gr_tensor *out = gr_div(t, in, gr_add(t, width, gr_abs(t, in)));
    gr_backward_from(t, out, dy);
    memcpy(y, out->data, n * sizeof *y), memcpy(dx, gr_grad(t, in), n * sizeof *dx), *ds = gr_grad(t, width)[0];
    gr_tape_free(t);
}

static void plain(void)
{
    const double x[] = { -3, -1, 0, 1, 2 }, dy[] = { 1, 1, 1, 1, 1 };
    double y[5], dx[5], ds;
    printf("\n2. From plain operators: gr_abs, gr_add, gr_div, with s = 1\n\n");
    from_plain(x, 5, 1, dy, y, dx, &ds);
    row("x", x, 5), row("y", y, 5), row("dx for dy = 1", dx, 5), number("ds, over all five", ds);
}

/* ---- x^3 as an operator ---- */

typedef enum { RIGHT, AT_Y, WITHOUT_DY, ASSIGNED, SIGN_LOST, WAYS } way;
static const char *const name[WAYS] = { "right: 3 x^2 dy", "y for x: 3 y^2 dy", "without dy: 3 x^2", "= for +=", "3 x |x| dy" };

static void cube_backward(gr_tape *t, const gr_node *n)
{
    const way w = *(const way *)n->saved; /* for this lesson only: which mistake to make */
    const gr_real *x = n->in[0]->data, *y = n->out[0]->data, *dy = gr_grad(t, n->out[0]);
    gr_real *dx = gr_grad(t, n->in[0]);
    for (size_t i = 0; dx && i < n->in[0]->len; i++) {
        if (w == RIGHT) dx[i] += 3 * x[i] * x[i] * dy[i];
        if (w == AT_Y) dx[i] += 3 * y[i] * y[i] * dy[i];
        if (w == WITHOUT_DY) dx[i] += 3 * x[i] * x[i];
        if (w == ASSIGNED) dx[i] = 3 * x[i] * x[i] * dy[i];
        if (w == SIGN_LOST) dx[i] += 3 * x[i] * fabs(x[i]) * dy[i];
    }
}
static const gr_op cube_op = { .name = "cube", .backward = cube_backward };

static gr_tensor *cube(gr_tape *t, gr_tensor *x, way w)
{
    if (!gr_ready(t, &cube_op, x)) return NULL;
    gr_tensor *y = gr_empty_like(t, x);
    if (!y) return NULL;
    for (size_t i = 0; i < x->len; i++) y->data[i] = x->data[i] * x->data[i] * x->data[i];
    return gr_record(t, &cube_op, &w, sizeof w, GR_OUT(y), GR_IN(x));
}

/* The derivative of a cube(x) + b x with respect to x. */
static double slope(way w, double x, double a, double b)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *in = gr_want_grad(t, gr_scalar(t, x)), *loss = cube(t, in, w);
    if (a != 1) loss = gr_mul(t, loss, gr_scalar(t, a));
    if (b > 0) loss = gr_add(t, loss, gr_mul(t, in, gr_scalar(t, b)));
    gr_backward(t, loss);
    const double g = gr_grad(t, in)[0];
    gr_tape_free(t);
    return g;
}

static void tests(void)
{
    printf("\n3. y = x^3 with five backwards, and five tests: the gradient of x\n\n");
    printf("  %-34s%11s%11s%11s%11s%11s\n", "the loss", "y", "y", "2 y", "y + 5 x", "y");
    printf("  %-34s%11s%11s%11s%11s%11s\n\n", "x", "1", "2", "1", "1", "-1");
    for (way w = RIGHT; w < WAYS; w++) {
        const double g[] = { slope(w, 1, 1, 0), slope(w, 2, 1, 0), slope(w, 1, 2, 0), slope(w, 1, 1, 5), slope(w, -1, 1, 0) };
        row(name[w], g, 5);
    }
}

static gr_tensor *checked(gr_tape *t, gr_tensor *const *in, void *argument) { return cube(t, in[0], *(way *)argument); }

/* Check the operator with values from [low, high); 0, 0 means from [-2, 2). */
static void check_all(double low, double high)
{
    const gr_gradcheck_input in = { .shape = GR_SHAPE(2, 3), .low = low, .high = high };
    for (way w = RIGHT; w < WAYS; w++)
        printf("  %-34s%11s\n", name[w], gr_gradcheck("cube", checked, &w, &in, 1, NULL, NULL) ? "right" : "wrong");
}

static void gradcheck(void)
{
    printf("\n4. gr_gradcheck: random values, a random dy, gradients that are not 0 before\n\n");
    check_all(0, 0);
    printf("\n   the same with values from 1 to 2\n\n");
    check_all(1, 2);
}

static gr_tensor *absolute(gr_tape *t, gr_tensor *const *in, void *argument) { return argument ? NULL : gr_abs(t, in[0]); }

static void check_abs(const char *label, double x)
{
    const gr_gradcheck_input in = { .shape = GR_SHAPE(1), .values = &x };
    printf("  %-34s%11s\n", label, gr_gradcheck("abs", absolute, NULL, &in, 1, NULL, NULL) ? "right" : "wrong");
}

/* The answers to the quiz: answer it first. */
static void quiz(void)
{
    double y[2], dx[2], ds;
    printf("1. x = -4, s = 1: v = 5, so dy/dx = 1/25 and dy/ds = 4/25.\n");
    from_plain((const double[]){ -4 }, 1, 1, (const double[]){ 1 }, y, dx, &ds), row("y, dx, ds", (double[]){ y[0], dx[0], ds }, 3);
    printf("2. x = (1, 1), s = 1, dy = (2, 4): s is used twice, so ds is the sum of both parts.\n");
    from_plain((const double[]){ 1, 1 }, 2, 1, (const double[]){ 2, 4 }, y, dx, &ds), row("dx", dx, 2), number("ds", ds);
    printf("3. 3 x^2 + 2. Backward visits 2 x first, because it is newer, and = overwrites what that added.\n");
    number("with +=", slope(RIGHT, 2, 1, 2)), number("with =", slope(ASSIGNED, 2, 1, 2));
    printf("4. The first one, yes. Not the second one: -x |x| = x^2 for a negative x. The test needs values of both signs.\n");
    row("right, 3 x |x|, -3 x |x| at x = -2", (double[]){ slope(RIGHT, -2, 1, 0), slope(SIGN_LOST, -2, 1, 0), -slope(SIGN_LOST, -2, 1, 0) },
        3);
    printf("5. |x| at 0.0001: a nudge by 0.001 crosses the kink, so gr_gradcheck finds another slope, although backward is right.\n");
    check_abs("x = 0.0001", 0.0001), check_abs("x = 0.1", 0.1);
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "--quiz")) return quiz(), 0;
    by_hand(), plain(), tests(), gradcheck();
}
