/* lesson.c - one bias for many rows, and the gradient that it gets.
 *
 * Shows: where a tensor keeps its values; a bias that is added to two rows, forward and backward; the same with one copy of the bias for each row;
 *        other shapes on gradus' tape; 64 rows; shapes that do not fit, and one that fits where it should not.
 * Run:   make lesson N=3         expected.txt is its output; make quiz N=3 prints the answers to the quiz                                 */
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

static const double x[6] = { 1, 2, 3, 4, 5, 6 }, bias[3] = { 10, 20, 30 }, dy[9] = { 1, 2, 3, 4, 5, 6, 7, 8, 9 };

static void layout(void)
{
    printf("1. A tensor [2, 3]: value (r, c) is number 3 r + c\n\n");
    for (int r = 0; r < 2; r++)
        for (int c = 0; c < 3; c++) printf("  (%d, %d) is number %d and holds %g\n", r, c, 3 * r + c, x[3 * r + c]);
}

static void by_hand(void)
{
    double y[6];
    for (int i = 0; i < 6; i++) y[i] = x[i] + bias[i % 3];
    printf("\n2. By hand: y = x + bias, [2, 3] + [3]\n\n");
    row("x, row 0", x, 3), row("x, row 1", x + 3, 3), row("bias", bias, 3), row("y, row 0", y, 3), row("y, row 1", y + 3, 3);
    printf("\n   backward, for the gradients 1 to 6 of y\n\n");
    row("dy, row 0", dy, 3), row("dy, row 1", dy + 3, 3);
    row("dbias, their sum", (double[]){ dy[0] + dy[3], dy[1] + dy[4], dy[2] + dy[5] }, 3);
}

/* Two tensors become one: by gr_add or gr_mul. */
typedef gr_tensor *operator(gr_tape *t, gr_tensor *a, gr_tensor *b);

/* The gradients of a and b for y = a op b with the gradient dy of y; ones if dy is NULL. Prints the shape of y, or why there is none. */
static void gradients(const char *label, operator* op, const double *a, gr_shape a_shape, const double *b, gr_shape b_shape,
                      const double *from, double *da, double *db)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *p = gr_want_grad(t, gr_input(t, a, a_shape)), *q = gr_want_grad(t, gr_input(t, b, b_shape)), *y = op(t, p, q);
    if (from) gr_backward_from(t, y, from);
    else gr_backward(t, gr_sum(t, y, GR_ALL_AXES, false));
    if (label) printf("  %-34s  %s\n", label, gr_failed(t) ? gr_message(t) : gr_shape_text(t, y));
    if (!gr_failed(t)) memcpy(da, gr_grad(t, p), p->len * sizeof *da), memcpy(db, gr_grad(t, q), q->len * sizeof *db);
    gr_tape_free(t);
}

static double weighed(const double *b)
{
    double sum = 0;
    for (int i = 0; i < 6; i++) sum += dy[i] * (x[i] + b[i % 3]);
    return sum;
}

static void two_other_ways(void)
{
    const double copies[6] = { 10, 20, 30, 10, 20, 30 };
    double dx[6], db[6], slope[3];
    printf("\n3. Two other ways to dbias\n\n");
    for (int i = 0; i < 3; i++) {
        double more[3], fewer[3];
        memcpy(more, bias, sizeof more), memcpy(fewer, bias, sizeof fewer);
        more[i] += 0.5, fewer[i] -= 0.5;
        slope[i] = weighed(more) - weighed(fewer);
    }
    row("a nudge of each bias", slope, 3);
    gradients(NULL, gr_add, x, GR_SHAPE(2, 3), copies, GR_SHAPE(2, 3), dy, dx, db);
    row("a copy for row 0, its gradient", db, 3), row("a copy for row 1, its gradient", db + 3, 3);
}

static void shapes(void)
{
    double dx[6], db[6];
    printf("\n4. On gradus' tape: x [2, 3] + b, for b of several shapes, and the gradient of b\n\n");
    gradients(NULL, gr_add, x, GR_SHAPE(2, 3), bias, GR_SHAPE(3), dy, dx, db), row("b [3]: for each column", db, 3);
    gradients(NULL, gr_add, x, GR_SHAPE(2, 3), bias, GR_SHAPE(1, 3), dy, dx, db), row("b [1, 3]: the same", db, 3);
    gradients(NULL, gr_add, x, GR_SHAPE(2, 3), bias, GR_SHAPE(2, 1), dy, dx, db), row("b [2, 1]: for each row", db, 2);
    gradients(NULL, gr_add, x, GR_SHAPE(2, 3), bias, GR_SCALAR, dy, dx, db), row("b []: one for all", db, 1);
    gradients(NULL, gr_mul, x, GR_SHAPE(2, 3), bias, GR_SHAPE(3), dy, dx, db), row("x * b, b [3]: sums of dy * x", db, 3);
}

static void many_rows(void)
{
    double sum[3], mean[3];
    for (int k = 0; k < 2; k++) {
        gr_tape *t = gr_tape_new(1, NULL);
        gr_tensor *b = gr_want_grad(t, gr_input(t, bias, GR_SHAPE(3))), *y = gr_add(t, gr_zeros(t, GR_SHAPE(64, 3)), b);
        gr_backward(t, k ? gr_mean(t, y, GR_ALL_AXES, false) : gr_sum(t, y, GR_ALL_AXES, false));
        memcpy(k ? mean : sum, gr_grad(t, b), sizeof sum);
        gr_tape_free(t);
    }
    printf("\n5. A bias [3] for 64 rows: its gradient\n\n");
    row("the loss is the sum of all y", sum, 3), row("the loss is the mean of all y", mean, 3);
}

static void that_do_not_fit(void)
{
    double dx[9], db[3];
    printf("\n6. Which shapes fit?\n\n");
    gradients("[2, 3] + [2]", gr_add, x, GR_SHAPE(2, 3), bias, GR_SHAPE(2), NULL, dx, db);
    gradients("[2, 3] + [2, 1]", gr_add, x, GR_SHAPE(2, 3), bias, GR_SHAPE(2, 1), NULL, dx, db);
    gradients("[2, 1] + [1, 3]", gr_add, x, GR_SHAPE(2, 1), bias, GR_SHAPE(1, 3), NULL, dx, db);
    gradients("[3, 3] + [3]", gr_add, dy, GR_SHAPE(3, 3), bias, GR_SHAPE(3), dy, dx, db), row("  gradient, dy = 1 to 9", db, 3);
    gradients("[3, 3] + [3, 1]", gr_add, dy, GR_SHAPE(3, 3), bias, GR_SHAPE(3, 1), dy, dx, db), row("  gradient, dy = 1 to 9", db, 3);
}

/* The answers to the quiz: answer it first. */
static void quiz(void)
{
    const double many[48] = { 0 };
    double da[48], db[48];
    printf("1. [4, 1] + [1, 3]: each value of a is used in three columns, each value of b in four rows.\n");
    gradients("shape", gr_add, many, GR_SHAPE(4, 1), bias, GR_SHAPE(1, 3), NULL, da, db), row("da", da, 4), row("db", db, 3);
    printf("2. [4, 2] + b with one b for each row: b is [4, 1]. [4] does not fit, because shapes are compared from their last axes.\n");
    gradients("shape", gr_add, many, GR_SHAPE(4, 2), many, GR_SHAPE(4, 1), dy, da, db), row("db", db, 4);
    printf("3. y = x * b: b_r multiplies x_rc, so db_r is the sum over c of dy_rc * x_rc.\n");
    gradients("shape", gr_mul, x, GR_SHAPE(2, 3), bias, GR_SHAPE(2, 1), dy, da, db), row("db", db, 2);
    printf("4. [8, 1, 6] + [7, 1]:\n");
    gradients("shape", gr_add, many, GR_SHAPE(8, 1, 6), many, GR_SHAPE(7, 1), NULL, da, db);
    row("values of y", (double[]){ 8 * 7 * 6 }, 1), row("gradient of each value of a", da, 1), row("gradient of each value of b", db, 1);
    printf("5. The mean over 64 rows and 5 columns gives 1/320 to each y. A value of the bias is in 64 of them.\n");
    row("gradient of each bias", (double[]){ 64.0 / 320 }, 1);
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "--quiz")) return quiz(), 0;
    layout(), by_hand(), two_other_ways(), shapes(), many_rows(), that_do_not_fit();
}
