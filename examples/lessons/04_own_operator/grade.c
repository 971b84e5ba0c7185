/* grade.c - the grader of lesson 4. */
#include "../grader.h"
#include "gradus.h"
#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

gr_tensor *my_softsign(gr_tape *t, gr_tensor *x, gr_tensor *s);

/* ---- The known mistakes ---- */

#define MISTAKES(M) \
    /* forward */ \
    M(abs_missing, "You divide by s + x. Divide by s + |x|: for x = -s your y would be infinite.") \
    M(width_ignored, "You divide by 1 + |x|. The width is s, which is not always 1: divide by s + |x|.") \
    M(multiplied, "You multiply by s + |x|. y is x divided by it.") \
    M(brackets_missing, "You write x / s + |x|. C divides first, and adds |x| to the quotient. Write x / (s + |x|).") \
    /* forward and backward */ \
    M(abs_of_integers, "You use abs. C's abs is for integers: it takes 0.7 for 0. Use fabs.") \
    M(s_index, "You read s->data[i]. s has one value, s->data[0], and index i is out of bounds. All values of x use the same s.") \
    /* dx and ds */ \
    M(square_brackets, "You write .. / v * v. C computes a / v * v as (a / v) * v, which is a. Write a / (v * v).") \
    M(dy_first, "You use dy[0] for every value of x. y has a gradient dy[i] for each value: *gr_grad(..) is dy[0] alone.") \
    M(dy_is_y, "You multiply by y. dy is the gradient of y: gr_grad(t, n->out[0]), and not n->out[0]->data.") \
    /* dx */ \
    M(dx_missing, "You add nothing to the gradient of x. y moves by s / (s + |x|)^2 when x moves by 1: add that times dy.") \
    M(dx_assigned, "You write dx[i] = .. where += is needed. x has another use here, and its gradient was already in dx.") \
    M(dx_without_dy, \
      "Your dx lacks dy. s / v^2 is the slope of y. The chain rule multiplies it by the gradient of the loss with respect to y.") \
    M(dx_at_y, "Your dx uses |y| in v. The slope of y is taken at x: v = s + |x|.") \
    M(dx_abs_missing, "Your dx uses s + x. Backward needs |x|, as forward does. A test with positive x alone cannot see this.") \
    M(dx_not_squared, \
      "Your dx divides by v once. In the quotient rule the denominator is squared: s / v^2. At x = 1, s = 1 the slope is 1/4.") \
    M(dx_width_missing, "Your dx is 1 / v^2. That is right for s = 1 alone: the numerator is v - |x|, which is s.") \
    M(dx_quotient_sign, "Your dx has a plus in the quotient rule. The numerator is v - x * v', with v' = 1 for positive x: it becomes s.") \
    M(dx_abs_slope, \
      "Your dx takes 1 for the derivative of |x|. For a negative x it is -1: the numerator is v + x there, which is s again.") \
    M(dx_abs_constant, "Your dx treats |x| as a constant, and is 1 / v. If x moves, v moves too: the slope is s / v^2.") \
    M(inputs_exchanged, "Your backward takes s for x, and x for s. n->in has the order of GR_IN: write GR_IN(x, s).") \
    /* ds */ \
    M(ds_missing, "You add nothing to the gradient of s. y moves by -x / (s + |x|)^2 when s moves by 1.") \
    M(ds_assigned, "You write ds[0] = .. where += is needed. All values of x use the same s, and ds is the sum of their parts.") \
    M(ds_sum_assigned, \
      "Your sum over x is right, but you assign it. s has another use here, and its gradient was already in ds: add with +=.") \
    M(ds_sign, "Your ds has the wrong sign. A larger s makes a positive y smaller: the slope is -x / v^2.") \
    M(ds_without_dy, \
      "Your ds lacks dy. -x / v^2 is the slope of y. The chain rule multiplies it by the gradient of the loss with respect to y.") \
    M(ds_without_x, "Your ds lacks the factor x. The derivative of x / v by v is -x / v^2.") \
    M(ds_not_squared, "Your ds divides by v once. The derivative of 1 / v is -1 / v^2.") \
    M(ds_abs, "Your ds uses |x| in the numerator. It is x there: for a negative x, y grows towards 0 when s grows.") \
    M(ds_averaged, "You divide ds by the number of values. The gradient is their sum (lesson 3). If the loss is a mean, dy has been divided already.") \
    M(ds_index, "ds[0] has the part of x's first value only. s has one gradient: add every part to ds[0]. ds[i] is out of bounds.")

GRADER_MISTAKES(MISTAKES);
static const unsigned of_y = square_brackets - 1, of_both = dx_missing - abs_of_integers, of_dx = of_both | (ds_missing - dx_missing),
                      of_ds = of_both | (2 * ds_index - ds_missing);

/* ---- The formula, with a switch for each ---- */

enum { R = 3, N = 4, LEN = R * N };
typedef struct {
    size_t rows, n;
    double s;
    const double *x, *dy,
        *other_x; /* other_x and other_s: what other operators have put into the gradients before; NULL and 0 for nothing */
    double other_s;
} problem;

/* What s->data[i] is: behind s lie numbers of the grader. */
static double behind_s(double s, size_t i) { return s * (1 + 0.3 * (double)i); }

static double width(unsigned m, const problem *p, size_t i) { return m & s_index ? behind_s(p->s, i) : p->s; }
static double absolute(unsigned m, double x) { return m & abs_of_integers ? trunc(fabs(x)) : fabs(x); }

static void formula_y(unsigned m, const void *data, double *y)
{
    const problem *p = data;
    for (size_t i = 0; i < p->rows * p->n; i++) {
        const double x = p->x[i], s = width(m, p, i), size = absolute(m, x), v = (m & width_ignored ? 1 : s) + (m & abs_missing ? x : size);
        y[i] = m & multiplied ? x * v : m & brackets_missing ? x / s + size : x / v;
    }
}

/* What backward takes for dy, for value i of the row that begins with value `first`. */
static double upstream(unsigned m, const problem *p, size_t first, size_t i)
{
    return m & dy_first ? p->dy[first] : m & dy_is_y ? p->x[i] / (p->s + fabs(p->x[i])) : p->dy[i];
}

static void formula_dx(unsigned m, const void *data, double *dx)
{
    const problem *p = data;
    for (size_t i = 0; i < p->rows * p->n; i++) {
        const double x = p->x[i], s = width(m, p, i), y = x / (s + fabs(x));
        const double v = s + (m & dx_at_y ? absolute(m, y) : m & dx_abs_missing ? x : absolute(m, x));
        const double above = m & dx_width_missing   ? 1
                             : m & dx_quotient_sign ? v + absolute(m, x)
                             : m & dx_abs_constant  ? v
                             : m & dx_abs_slope     ? v - x
                                                    : s;
        const double square = m & square_brackets ? 1 : m & dx_not_squared ? v : v * v;
        double part = above / square * (m & dx_without_dy ? 1 : upstream(m, p, 0, i));
        if (m & inputs_exchanged) part = i == 0 ? -p->dy[0] * s / ((x + s) * (x + s)) : 0; /* x[0] for s, and s for all of x */
        dx[i] = (m & dx_assigned || !p->other_x ? 0 : p->other_x[i]) + (m & dx_missing ? 0 : part);
    }
}

/* One ds for each row, as if it were the only one. */
static void formula_ds(unsigned m, const void *data, double *answer)
{
    const problem *p = data;
    for (size_t r = 0; r < p->rows; r++) {
        double ds = m & ds_sum_assigned ? 0 : p->other_s;
        for (size_t i = r * p->n; i < (r + 1) * p->n && !(m & ds_missing); i++) {
            const double x = p->x[i], v = width(m, p, i - r * p->n) + absolute(m, x),
                         above = m & ds_without_x ? 1
                                 : m & ds_abs     ? fabs(x)
                                                  : x;
            const double square = m & square_brackets ? 1 : m & ds_not_squared ? v : v * v;
            double part = (m & ds_without_dy ? 1 : upstream(m, p, r * p->n, i)) * above / square;
            if (m & ds_averaged) part /= (double)p->n;
            if (m & ds_index && i > r * p->n) part = 0;
            ds = (m & ds_assigned ? 0 : ds) + (m & ds_sign ? part : -part);
        }
        answer[r] = ds;
    }
}

/* ---- The learner's numbers ---- */

typedef struct {
    double y[LEN], dx[LEN], ds;
} numbers;
enum { X = 1, S = 2 };

static gr_tensor *put(gr_tape *t, const double *v, gr_shape shape, bool want)
{
    gr_tensor *x = gr_input(t, v, shape); /* gr_real is double here */
    return want ? gr_want_grad(t, x) : x;
}

/* s, one value, and behind it the numbers of behind_s. */
static gr_tensor *put_s(gr_tape *t, double s, bool want)
{
    double all[LEN];
    for (size_t i = 0; i < LEN; i++) all[i] = behind_s(s, i);
    gr_tensor *x = gr_input(t, all, GR_SHAPE(LEN));
    x->rank = 0, x->len = 1;
    return want ? gr_want_grad(t, x) : x;
}

/* How many operators the exercise records if some gradients are wanted. */
static size_t recorded(const problem *p, int want)
{
    gr_tape *t = gr_tape_new(1, NULL);
    my_softsign(t, put(t, p->x, GR_SHAPE(p->rows, p->n), want & X), put_s(t, p->s, want & S));
    const size_t nodes = gr_tape_nodes(t);
    gr_tape_free(t);
    return nodes;
}

/* Run the exercise on p, asking for some gradients. x and s get other_x and other_s from operators recorded later, which backward therefore visits
 * first. */
static numbers run(const problem *p, int want)
{
    numbers r = { 0 };
    gr_tape *t = gr_tape_new(1, NULL);
    const gr_shape whole = GR_SHAPE(p->rows, p->n);
    gr_tensor *x = put(t, p->x, whole, want & X), *s = put_s(t, p->s, want & S), *y = my_softsign(t, x, s);
    if (!y && gr_failed(t)) grader_stop("no_result", "my_softsign returned NULL. The tape says: \"%s\"", gr_message(t));
    if (!y) grader_stop("not_begun", "my_softsign returns NULL. Begin at TODO 1 in exercise.c: forward, about five lines.");
    if (y == x || y == s)
        grader_stop("returns_input",
                    "my_softsign returns %s. gr_record returns the first tensor of GR_OUT: the output y belongs there, and the inputs in\n"
                    "GR_IN.",
                    y == x ? "x" : "s");
    memcpy(r.y, y->data, y->len * sizeof *r.y);
    gr_tensor *loss = gr_sum(t, gr_mul(t, y, gr_input(t, p->dy, whole)), GR_ALL_AXES, false);
    if (p->other_x && want & X) loss = gr_add(t, loss, gr_sum(t, gr_mul(t, x, gr_input(t, p->other_x, whole)), GR_ALL_AXES, false));
    if (p->other_s > 0 && want & S) loss = gr_add(t, loss, gr_mul(t, s, gr_scalar(t, p->other_s)));
    if (want) gr_backward(t, loss);
    if (gr_grad(t, x)) memcpy(r.dx, gr_grad(t, x), x->len * sizeof *r.dx);
    if (gr_grad(t, s)) r.ds = gr_grad(t, s)[0];
    if (memcmp(x->data, p->x, x->len * sizeof(double)) || s->data[0] != p->s)
        grader_stop("input_changed", "Your code writes into an input. An operator never changes its inputs.");
    gr_tape_free(t);
    return r;
}

static const double x[LEN] = { 0.3, -1.2, 2.1, 0.7, -0.4, 1.9, 0.2, -0.6, 1.1, 3, -2.2, 0.9 };
static const double dy[LEN] = { 0.5, -0.3, 0.8, 0.1, -0.9, -0.2, 0.7, 0.4, -0.6, 0.3, 0.9, -0.1 };
static const double other[LEN] = { 0.4, 0.9, -0.2, 0.6, -0.7, 0.35, 0.15, -0.45, 0.55, -0.8, 0.25, 0.65 };
static const problem general = { R, N, 0.7, x, dy, other, 0.8 };
static const problem in_one_row = { 1, LEN, 0.7, x, dy, other, 0.8 };
static const grader_input inputs[] = { { "x", x, R, N }, { "dy", dy, R, N }, { NULL } };
static const problem worked = { 1, 2, 1, (const double[]){ 1, -3 }, (const double[]){ 1, 1 }, NULL, 0 };
static const char *const of = "3 rows of 4 values, s = 0.7", *const of_worked = "x = (1, -3), s = 1, dy = (1, 1)";

static void judge(const char *name, grader_formula *f, unsigned among, size_t rows, size_t n, const double *got, const double *before,
                  size_t small_n, const double *small)
{
    const grader_result whole = { name,  f == formula_ds ? "three times 4 values, s = 0.7" : of, f, &general, among, rows, n, got, before,
                                  inputs },
                        few = { name, of_worked, f, &worked, among, 1, small_n, small, NULL };
    grader_judge(list, &whole, &few);
}

/* ---- Code that may crash, in a process of its own ---- */

/* Whether f comes to an end, and returns true. */
static bool survives(bool (*f)(int), int argument)
{
    int status = 0;
    const pid_t child = fork();
    if (child == 0) {
        const int signals[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT };
        for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) signal(signals[i], SIG_DFL);
        close(STDOUT_FILENO), close(STDERR_FILENO);
        alarm(20); /* the clock of grader_step is not inherited */
        _exit(!f(argument));
    }
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool one_gradient(int want)
{
    const numbers r = run(&in_one_row, want);
    double right[LEN];
    want == X ? formula_dx(0, &in_one_row, right) : formula_ds(0, &in_one_row, right);
    return want == X ? grader_same(r.dx, right, LEN) : grader_same(&r.ds, right, 1);
}

/* An input that is NULL, and a tape that is in error: the operator returns NULL and leaves the first message. */
static bool refuses(int input)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *in[2] = { put(t, x, GR_SHAPE(R, N), true), put(t, &general.s, GR_SCALAR, true) };
    if (input < 2) in[input] = NULL;
    else gr_fail(t, NULL, "an earlier error");
    const bool refused = !my_softsign(t, in[0], in[1]) && gr_failed(t) && (input < 2 || !strcmp(gr_message(t), "an earlier error"));
    gr_tape_free(t);
    return refused;
}

static gr_tensor *checked(gr_tape *t, gr_tensor *const *in, void *argument) { return argument ? NULL : my_softsign(t, in[0], in[1]); }

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "--ambiguous"))
        return grader_ambiguous(list, formula_y, &general, of_y, LEN) + grader_ambiguous(list, formula_dx, &general, of_dx, LEN) +
               grader_ambiguous(list, formula_ds, &general, of_ds, R);
    grader_start("Lesson 4: an operator of your own");

    grader_step("forward");
    const numbers few = run(&worked, 0), all = run(&general, 0);
    double right[LEN];
    formula_y(0, &general, right);
    if (!grader_same(all.y, right, LEN) && grader_same(all.y, right, R))
        grader_stop("first_axis_alone",
                    "Only the first %d values of y are right: you stop at x->dim[0]. x may have any shape; x->len counts its\n"
                    "values.",
                    R);
    judge("y", formula_y, of_y, R, N, all.y, NULL, 2, few.y);

    grader_step("the operator is on the tape");
    if (recorded(&general, X | S) != 1)
        grader_stop("not_recorded",
                    "Forward is right, but the tape holds no node of yours, so that backward never reaches it. Return what\n"
                    "gr_record returns, with a descriptor that has a .backward.");
    const char *const unknown = !recorded(&general, X) ? "x" : !recorded(&general, S) ? "s" : NULL;
    if (unknown) grader_stop("input_not_listed", "The tape does not know that y depends on %s. List all inputs: GR_IN(x, s).", unknown);

    grader_step("backward: the gradient of x");
    const numbers back = run(&worked, X | S), got = run(&general, X | S);
    if (grader_same(got.dx, other, LEN) && got.ds == general.other_s)
        grader_stop("half_done", "Forward is right. Backward adds nothing yet: go on at TODO 2, about seven lines.");
    judge("dx", formula_dx, of_dx, R, N, got.dx, other, 2, back.dx);
    grader_step("backward: the gradient of s");
    double ds[R], before[R];
    for (size_t r = 0; r < R; r++) {
        ds[r] = run(&(problem){ 1, N, general.s, x + r * N, dy + r * N, other + r * N, general.other_s }, X | S).ds;
        before[r] = general.other_s;
    }
    judge("ds", formula_ds, of_ds, 1, R, ds, before, 1, &back.ds);

    grader_step("backward, when only one gradient is wanted");
    if (!survives(one_gradient, X) || !survives(one_gradient, S))
        grader_stop("null_gradient",
                    "When only one of the two gradients is wanted, your backward crashes or gives wrong numbers. gr_grad\n"
                    "returns NULL for an input whose gradient nobody wants. Test each of them alone, and go on with the other.");

    grader_step("an input that is NULL, and a tape in error");
    for (int k = 0; k < 3; k++)
        if (!survives(refuses, k))
            grader_stop("not_checked",
                        "After an error every operator returns NULL, so yours may be given NULL. Begin with gr_ready and all your\n"
                        "inputs. It refuses NULL, and a tape that has an error already. Return NULL then.");

    grader_step("gr_gradcheck: both gradients, by finite differences");
    grader_gradcheck(
        "my_softsign", checked, NULL,
        (gr_gradcheck_input[]){ { .shape = GR_SHAPE(4, 3, 2), .has_kink = true }, { .shape = GR_SCALAR, .low = 0.5, .high = 2 } }, 2);
    return grader_end(
        "All right. ops/unary.def makes an operator of one input from one line: find tanh there, and write softsign with s = 1.");
}
