/* grade.c - the grader of lesson 5. */
#include "../grader.h"
#include "gradus.h"
#include <string.h>

gr_tensor *my_linear(gr_tape *t, gr_tensor *x, gr_tensor *w, gr_tensor *b);

/* ---- The known mistakes ---- */

#define MISTAKES(M) \
    /* forward */ \
    M(w_not_transposed, "You read W as if it were [I, O]. It is [O, I]: row o holds the weights of output o, side by side.") \
    M(bias_missing, "Your y does not contain the bias: y_o = b_o + sum over i of x_i W(o, i).") \
    M(bias_each_term, "You add the bias once for each input. Every y_o contains b_o once.") \
    M(sum_not_begun, "Your sum goes on from one output and row to the next. Every y_o is a sum of its own: start again for each.") \
    M(sum_for_a_row, "Your sum starts again in each row, but not for each output: y_1 contains the products of y_0.") \
    M(sum_overwritten, "You write = in the sum over i, so that only the last product is left: neither the others nor the bias.") \
    M(sum_overwritten_before_bias, "You write = in the sum over i, so that only the last product is left, and the bias.") \
    M(bias_of_row, "You use b[r]. b has one value for each output: b[o].") \
    /* forward and dW */ \
    M(x_row_missing, "You use x[i], which is in row 0 for every r. Value i of row r is x[r * I + i].") \
    /* backward */ \
    M(db_assigned, "You write db[o] = .. where += is needed. Every row uses the same bias, and db is the sum over the rows.") \
    M(dw_assigned, "You write dw[..] = .. where += is needed. Every row uses the same weights, and dW is the sum over the rows.") \
    M(dx_assigned, "You write dx[..] = .. where += is needed. Every output uses x_i, and dx_i is the sum over the outputs.") \
    M(sum_assigned, "Your sum is right, but you assign it. The tensor has another use, whose gradient was there before: add with +=.") \
    M(db_each_input, \
      "You add dy once for each input. Every y_o contains b_o once, so db_o gets dy_o once for each row: move the line out of\n" \
      "the loop over i.") \
    M(db_of_row, "You add to db[r]. db has one value for each output: db[o].") \
    M(dy_row_missing, "You use dy[o], which is in row 0 for every r. Value o of row r is dy[r * O + o].") \
    M(dy_width, "You use dy[r * I + o]. A row of dy has O values: dy[r * O + o].") \
    M(dy_transposed, "You use dy[o * rows + r]. dy is [rows, O]: value o of row r is dy[r * O + o].") \
    M(dx_row_missing, "You add to dx[i], which is in row 0 for every r. Value i of row r is dx[r * I + i].") \
    M(slopes_exchanged, "You multiply dy by the wrong slope. The slope of y_o in x_i is W(o, i), and in W(o, i) it is x_i.") \
    M(averaged, "You divide dW or db by the number of rows. They are sums (lesson 3). If the loss is a mean, dy has been divided already.") \
    M(dw_transposed, \
      "Your dW has its two axes exchanged: it is x^T dy. dW has the shape of W, [O, I], and is dy^T x: value (o, i) is the sum\n" \
      "over rows of dy_o x_i. If I = O, no shape and no index tells you.") \
    M(dx_w_transposed, "Your dx is dy W^T. dx_i is the sum over o of dy_o W(o, i), which is dy W: forward has transposed W already.\n" \
                       "In the calculation by hand, dy W gives dx = (1, 1), and dy W^T gives (1, 0).") \
    M(dy_missing, "Your gradient lacks dy. W(o, i) and x_i are slopes of y_o. The chain rule multiplies them by the gradient of y_o.")

GRADER_MISTAKES(MISTAKES);
static const unsigned of_y = db_assigned - 1, of_dy = dy_row_missing | dy_width | dy_transposed,
                      of_db = of_dy | db_assigned | sum_assigned | averaged | db_each_input | db_of_row,
                      of_dw = of_dy | dw_assigned | sum_assigned | averaged | dw_transposed | dy_missing | x_row_missing | slopes_exchanged,
                      of_dx = of_dy | dx_assigned | sum_assigned | dx_w_transposed | dy_missing | dx_row_missing | slopes_exchanged;

/* ---- The formula, with a switch for each ---- */

enum { R = 3, I = 4, O = 5 }; /* I below O, so that dy[r * I + o] is a value of dy */
typedef struct {
    size_t rows, in, out;
    const double *x, *w, *b, *dy;
    const double *other_x, *other_w, *other_b; /* what other operators have put into the gradients before; NULL for 0 */
} problem;

static double at(const double *v, size_t i) { return v ? v[i] : 0; }

static void formula_y(unsigned m, const void *data, double *y)
{
    const problem *p = data;
    double sum = 0;
    for (size_t r = 0; r < p->rows; r++)
        for (size_t o = 0; o < p->out; o++) {
            if (m & sum_for_a_row ? o == 0 : !(m & sum_not_begun)) sum = 0;
            for (size_t i = 0; i < p->in; i++) {
                if (m & (sum_overwritten | sum_overwritten_before_bias)) sum = 0;
                sum += p->x[m & x_row_missing ? i : r * p->in + i] * p->w[m & w_not_transposed ? i * p->out + o : o * p->in + i];
            }
            const double times = m & (bias_missing | sum_overwritten) ? 0 : m & bias_each_term ? (double)p->in : 1;
            y[r * p->out + o] = sum + p->b[m & bias_of_row ? r : o] * times;
        }
}

static double dy_at(unsigned m, const problem *p, size_t r, size_t o)
{
    return p->dy[m & dy_row_missing ? o : m & dy_width ? r * p->in + o : m & dy_transposed ? o * p->rows + r : r * p->out + o];
}

static void formula_db(unsigned m, const void *data, double *db)
{
    const problem *p = data;
    for (size_t o = 0; o < p->out; o++) {
        db[o] = m & (db_assigned | sum_assigned) ? 0 : at(p->other_b, o);
        for (size_t r = m & db_assigned ? p->rows - 1 : 0; r < p->rows && !(m & db_of_row); r++)
            db[o] += dy_at(m, p, r, o) * (m & db_each_input ? (double)p->in : 1) / (m & averaged ? (double)p->rows : 1);
    }
    for (size_t r = 0; r < p->rows && m & db_of_row; r++)
        for (size_t o = 0; o < p->out; o++) db[r] = (m & db_assigned ? 0 : db[r]) + dy_at(m, p, r, o);
}

static void formula_dw(unsigned m, const void *data, double *dw)
{
    const problem *p = data;
    for (size_t k = 0; k < p->out * p->in; k++) {
        const size_t o = m & dw_transposed ? k % p->out : k / p->in, i = m & dw_transposed ? k / p->out : k % p->in;
        dw[k] = m & (dw_assigned | sum_assigned) ? 0 : at(p->other_w, k);
        for (size_t r = m & dw_assigned ? p->rows - 1 : 0; r < p->rows; r++)
            dw[k] += (m & dy_missing ? 1 : dy_at(m, p, r, o)) *
                     (m & slopes_exchanged ? p->w[o * p->in + i] : p->x[m & x_row_missing ? i : r * p->in + i]) /
                     (m & averaged ? (double)p->rows : 1);
    }
}

static void formula_dx(unsigned m, const void *data, double *dx)
{
    const problem *p = data;
    for (size_t k = 0; k < p->rows * p->in; k++) dx[k] = m & sum_assigned ? 0 : at(p->other_x, k);
    for (size_t r = 0; r < p->rows; r++)
        for (size_t o = 0; o < p->out; o++)
            for (size_t i = 0; i < p->in; i++) {
                const size_t at_i = r * p->in + i, to = m & dx_row_missing ? i : at_i;
                const double slope = m & slopes_exchanged ? p->x[at_i] : p->w[m & dx_w_transposed ? i * p->out + o : o * p->in + i];
                dx[to] = (m & dx_assigned ? 0 : dx[to]) + (m & dy_missing ? 1 : dy_at(m, p, r, o)) * slope;
            }
}

/* ---- The learner's numbers ---- */

typedef struct {
    double y[R * O], dx[R * I], dw[O * I], db[O];
} numbers;
enum { X = 1, W = 2, B = 4, ALL = 7 };

/* Run the exercise on p, asking for some gradients. x, W and b get other_x, other_w and other_b from operators recorded later, which backward
 * therefore visits first. */
static numbers run(const problem *p, int want)
{
    numbers r = { 0 };
    gr_tape *t = gr_tape_new(1, NULL);
    const gr_shape shape[3] = { GR_SHAPE(p->rows, p->in), GR_SHAPE(p->out, p->in), GR_SHAPE(p->out) };
    const double *const value[3] = { p->x, p->w, p->b }, *const other[3] = { p->other_x, p->other_w, p->other_b };
    double *const gradient[3] = { r.dx, r.dw, r.db };
    gr_tensor *in[3];
    for (int k = 0; k < 3; k++) {
        in[k] = gr_input(t, value[k], shape[k]); /* gr_real is double here */
        if (want & 1 << k) gr_want_grad(t, in[k]);
    }
    gr_tensor *y = my_linear(t, in[0], in[1], in[2]);
    if (!y) grader_stop("no_result", "my_linear returned NULL. The tape says: \"%s\"", gr_message(t));
    memcpy(r.y, y->data, p->rows * p->out * sizeof *r.y);
    gr_tensor *loss = gr_sum(t, gr_mul(t, y, gr_input(t, p->dy, GR_SHAPE(p->rows, p->out))), GR_ALL_AXES, false);
    for (int k = 0; k < 3; k++)
        if (other[k] && want & 1 << k)
            loss = gr_add(t, loss, gr_sum(t, gr_mul(t, in[k], gr_input(t, other[k], shape[k])), GR_ALL_AXES, false));
    if (want) gr_backward(t, loss);
    for (int k = 0; k < 3; k++) {
        if (gr_grad(t, in[k])) memcpy(gradient[k], gr_grad(t, in[k]), in[k]->len * sizeof(double));
        if (memcmp(in[k]->data, value[k], in[k]->len * sizeof(double)))
            grader_stop("input_changed", "Your code writes into %s. An operator never changes its inputs.",
                        k == 0   ? "x"
                        : k == 1 ? "W"
                                 : "b");
    }
    if (gr_failed(t)) grader_stop("tape_error", "The tape says: \"%s\"", gr_message(t));
    gr_tape_free(t);
    return r;
}

static const double x[R * I] = { 0.3, -1.2, 2.1, 0.7, -0.4, 1.9, 0.2, -0.6, 1.1, 3.0, -2.2, 0.9 };
static const double w[O * I] = { 1.3, -0.7, 0.4,  2.1, 0.6,  -1.1, 0.9,  0.25, -0.3, 1.7,
                                 0.8, 0.15, -1.9, 0.5, -0.2, 2.3,  -0.6, 1.2,  0.35, -0.9 };
static const double b[O] = { 0.2, -0.5, 1.1, 0.3, -0.9 };
static const double dy[R * O] = { 0.5, -0.3, 0.8, 0.1, -0.9, -0.2, 0.7, 0.4, -0.6, 0.3, 0.9, -0.1, 0.35, -0.75, 0.6 };
static const double other_x[R * I] = { 0.4, 0.9, -0.2, 0.6, -0.7, 0.35, 0.15, -0.45, 0.55, -0.8, 0.25, 0.65 },
                                other_b[O] = { 0.7, 0.1, -0.4, 0.8, 0.45 };
static const double other_w[O * I] = { -0.3, 0.5, 0.2,  -0.65, 0.75, 0.1,   -0.9, 0.4,  0.85, -0.15,
                                       0.6,  0.3, -0.5, 0.95,  0.05, -0.25, 0.7,  -0.1, 0.45, 0.55 };
static const problem general = { R, I, O, x, w, b, dy, other_x, other_w, other_b };
static const grader_input inputs[] = { { "x", x, R, I }, { "W", w, O, I }, { "b", b, 1, O }, { "dy", dy, R, O }, { NULL } };
static const double zeros[2];
static const problem worked = { 1,    2,    2,   (const double[]){ 1, 2 }, (const double[]){ 1, 1, 0, 1 }, zeros, (const double[]){ 1, 0 },
                                NULL, NULL, NULL };

static void judge(const char *name, grader_formula *f, unsigned among, size_t rows, size_t n, const double *got, const double *before,
                  size_t small_rows, const double *small)
{
    const grader_result whole = { name, "3 rows, 4 inputs, 5 outputs", f, &general, among, rows, n, got, before, inputs };
    const grader_result few = {
        name, "x = (1, 2), W with the rows (1, 1) and (0, 1), b = 0, dy = (1, 0)", f, &worked, among, small_rows, 2, small, NULL
    };
    grader_judge(list, &whole, &few);
}

static gr_tensor *checked(gr_tape *t, gr_tensor *const *in, void *argument) { return argument ? NULL : my_linear(t, in[0], in[1], in[2]); }

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "--ambiguous"))
        return grader_ambiguous(list, formula_y, &general, of_y, R * O) + grader_ambiguous(list, formula_db, &general, of_db, O) +
               grader_ambiguous(list, formula_dw, &general, of_dw, O * I) + grader_ambiguous(list, formula_dx, &general, of_dx, R * I);
    grader_start("Lesson 5: matmul, a linear layer");

    grader_step("forward");
    numbers small = run(&worked, 0), all = run(&general, 0);
    if (grader_same(all.y, (double[R * O]){ 0 }, R * O))
        grader_stop("not_begun", "y is still 0 everywhere. Begin at TODO 1 in exercise.c: forward, about six lines.");
    judge("y", formula_y, of_y, R, O, all.y, NULL, 1, small.y);

    grader_step("backward: db");
    small = run(&worked, ALL), all = run(&general, ALL);
    if (grader_same(all.db, other_b, O) && grader_same(all.dw, other_w, O * I) && grader_same(all.dx, other_x, R * I))
        grader_stop("half_done", "Forward is right. Backward adds nothing yet: go on at TODO 2, about nine lines.");
    judge("db", formula_db, of_db, 1, O, all.db, other_b, 1, small.db);
    grader_step("backward: dW");
    judge("dW", formula_dw, of_dw, O, I, all.dw, other_w, 2, small.dw);
    grader_step("backward: dx");
    judge("dx", formula_dx, of_dx, R, I, all.dx, other_x, 1, small.dx);

    grader_step("gr_gradcheck: every gradient, by finite differences");
    grader_gradcheck_operator("my_linear", checked, NULL,
                              (gr_gradcheck_input[]){ { .shape = GR_SHAPE(2, 3) }, { .shape = GR_SHAPE(6, 3) }, { .shape = GR_SHAPE(6) } },
                              3, (const char *const[]){ "x", "W", "b" });
    return grader_end("All right. gradus does the same in ops/matmul.c, with faster loops: compare it with yours.");
}
