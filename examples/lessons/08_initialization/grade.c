/* grade.c - the grader of lesson 8. */
#include "../grader.h"
#include <math.h>
#include <string.h>

double my_std(size_t out, size_t in, bool relu, bool backward);
void my_uniform(double std, const double *u, size_t n, gr_real *w);
void my_fit(gr_real *w, size_t out, size_t in, bool relu, const gr_real *x, size_t rows);

/* ---- The known mistakes ---- */

#define WEIGHTS_MISTAKES(M) \
    /* my_std */ \
    M(std_is_variance, "You return the variance. A standard deviation is its root. Test: 100 inputs need weights of about 0.1, not 0.01.") \
    M(std_inverted, \
      "Your standard deviation grows with the fan. More inputs make a larger sum, so they need smaller weights: 1 / sqrt(fan).") \
    M(fan_exchanged, "You exchange the two fans. y adds one value for each input, so forward needs fan in; dx adds one for each output.") \
    M(fan_in_always, "You use fan in for backward too. dx_i adds up what all outputs send back, so backward needs fan out.") \
    M(fan_averaged, \
      "You use the mean of both fans. That is Xavier's compromise; here the caller says which of the two directions counts.") \
    M(fan_multiplied, "You divide by the number of weights, in times out. One y is a sum over the inputs alone.") \
    M(relu_ignored, \
      "You ignore relu. ReLU sets the negative half of y to 0, and with it half of the mean square: the variance needs a 2.") \
    M(relu_halved, "You halve the variance for ReLU. ReLU takes half of the mean square away, so the weights must be larger: 2 / fan.") \
    M(relu_outside_root, \
      "You double the standard deviation for ReLU, and so make the variance 4 times as large. The 2 belongs inside the root.") \
    M(relu_forward_alone, \
      "You use the 2 in forward alone. ReLU stops the gradients of the values that it sets to 0, so backward needs the 2, too.") \
    M(relu_reversed, "You double the variance without a ReLU, and not with one. ReLU takes half of the mean square: 2 / fan with it.") \
    M(relu_always, "You double the variance without a ReLU too. A linear layer loses nothing, and needs 1 / fan.") \
    /* my_uniform */ \
    M(a_is_std, \
      "Your a is the standard deviation. A number spread evenly from -a to a is often near 0: its variance is a^2 / 3, not a^2.") \
    M(a_is_3_std, "Your a is 3 times the standard deviation. The variance is a^2 / 3, so a^2 is 3 std^2: a is sqrt(3) std.") \
    M(a_root_of_std, "Your a is the root of 3 std. The variance is a^2 / 3, so a^2 is 3 std^2: the standard deviation is squared, too.") \
    M(a_is_square, "Your a is 3 std^2. That is a^2, because the variance is a^2 / 3: a is its root, sqrt(3) std.") \
    M(a_divided, "You divide by sqrt(3). The variance a^2 / 3 is less than a^2, so a must be larger than std: multiply.") \
    M(a_is_width, "Your weights spread over a width of a, from -a / 2 to a / 2. From -a to a is a width of 2 a.") \
    M(only_positive, "All your weights are positive. Their mean must be 0: 2 u - 1 goes from -1 to 1.") \
    M(one_number, "You use u[0] for every weight. Then all units of the layer are equal, and stay equal.")

#define FIT_MISTAKES(M) \
    M(fit_root_missing, \
      "You divide the weights by the mean square. A weight twice as large makes y^2 four times as large: divide by the root.") \
    M(fit_multiplied, "You multiply by the root of the mean square. If y is too large, the weights must become smaller: divide.") \
    M(fit_relu_ignored, "With relu, your mean square is that of W x. Measure max(W x, 0).") \
    M(fit_centred, "You subtract the mean of y. The mean square is wanted: after a ReLU the mean is not 0, and it counts.") \
    M(fit_summed, "You use the sum of y^2. Divide it by the number of values of y, rows times out.") \
    M(fit_over_rows, "You divide the sum of y^2 by the number of rows. y has rows times out values.") \
    M(fit_over_columns, "You divide the sum of y^2 by the number of outputs. y has rows times out values.") \
    M(fit_over_weights, \
      "You divide the sum of y^2 by rows times out times in. The inputs are summed up in y, which has rows times out values.") \
    M(fit_over_positive, "You divide by the number of positive y. The zeros behind a ReLU are values, too: divide by rows times out.") \
    M(fit_halved, "With a ReLU you take half of the mean square of W x. ReLU takes half of it on average only: measure max(W x, 0).") \
    M(fit_relu_always, "You set negative y to 0 without a ReLU, too. Look at relu.") \
    M(fit_y_continued, "Your y goes on from one output and row to the next. Every y is a sum of its own: start at 0 for each.") \
    M(fit_transposed, "You exchange rows and columns of W: weight i of output o is w[o * in + i].")

GRADER_MISTAKES_OF(list, WEIGHTS_MISTAKES);
GRADER_MISTAKES_OF(fit_list, FIT_MISTAKES);
static const unsigned of_std = a_is_std - 1, of_uniform = 2 * one_number - a_is_std, of_fit = 2 * fit_transposed - 1;

/* ---- The formulas, with a switch for each ---- */

enum { SIZES = 2, STDS = 4 * SIZES, WEIGHTS = 6, R = 4, IN = 3, OUT = 2 };
static const size_t sizes[SIZES][2] = { { 30, 70 }, { 12, 5 } };

/* For each size: linear, ReLU, linear backward, ReLU backward. */
static void formula_std(unsigned m, const void *data, double *answer)
{
    (void)data;
    for (int k = 0; k < STDS; k++) {
        const bool relu = k & 1, backward = k & 2;
        const double out = (double)sizes[k / 4][0], in = (double)sizes[k / 4][1];
        double fan = backward && !(m & fan_in_always) ? out : in, factor = relu ? 2 : 1;
        if (m & fan_exchanged) fan = backward ? in : out;
        if (m & fan_averaged) fan = (in + out) / 2;
        if (m & fan_multiplied) fan = in * out;
        if (m & relu_ignored) factor = 1;
        if (m & relu_halved) factor = 1 / factor;
        if (m & relu_outside_root) factor *= factor;
        if (m & relu_forward_alone && backward) factor = 1;
        if (m & relu_reversed) factor = relu ? 1 : 2;
        if (m & relu_always) factor = 2;
        const double variance = m & std_inverted ? factor * fan : factor / fan;
        answer[k] = m & std_is_variance ? variance : sqrt(variance);
    }
}

static const double u[WEIGHTS] = { 0.1, 0.85, 0.4, 0.62, 0.97, 0.23 }, std_of_u = 0.7;

static void formula_uniform(unsigned m, const void *data, double *w)
{
    const double std = *(const double *)data, ratio = m & a_is_std ? 1 : m & a_is_3_std ? 3 : m & a_divided ? 1 / sqrt(3) : sqrt(3);
    const double a = m & a_root_of_std ? sqrt(3 * std) : m & a_is_square ? 3 * std * std : ratio * std;
    for (int i = 0; i < WEIGHTS; i++) {
        const double v = u[m & one_number ? 0 : i];
        w[i] = (m & a_is_width ? a / 2 : a) * (m & only_positive ? v : 2 * v - 1);
    }
}

/* W first, as it was; then fitted for a linear layer and for one with a ReLU. */
static const double w0[OUT * IN] = { 0.9, -0.4, -1.3, 0.2, 1.6, 0.7 };
static const double batch[R * IN] = { 0.3, -1.2, 2.1, 0.7, -0.4, 1.9, 0.2, -0.6, 1.1, 3, -2.2, 0.9 };

static void formula_fit(unsigned m, const void *data, double *answer)
{
    const double *const x = data;
    for (int relu = 0; relu < 2; relu++) {
        double sum = 0, squares = 0, count = R * OUT, positive = 0, y = 0;
        for (int r = 0; r < R; r++)
            for (int o = 0; o < OUT; o++) {
                if (!(m & fit_y_continued)) y = 0;
                for (int i = 0; i < IN; i++) y += w0[m & fit_transposed ? i * OUT + o : o * IN + i] * x[r * IN + i];
                if (relu ? !(m & (fit_relu_ignored | fit_halved)) : m & fit_relu_always) y = fmax(y, 0);
                sum += y, squares += y * y, positive += y > 0;
            }
        if (m & fit_centred) squares -= sum * sum / count;
        if (m & fit_summed) count = 1;
        if (m & fit_over_rows) count = R;
        if (m & fit_over_columns) count = OUT;
        if (m & fit_over_weights) count = R * OUT * IN;
        if (m & fit_over_positive && relu) count = positive;
        if (m & fit_halved && relu) count *= 2;
        const double ms = squares / count, root = m & fit_root_missing ? ms : sqrt(ms);
        for (int k = 0; k < OUT * IN; k++) answer[relu * OUT * IN + k] = m & fit_multiplied ? w0[k] * root : w0[k] / root;
    }
}

/* ---- The steps ---- */

static void check_std(void)
{
    double got[STDS];
    bool untouched = true;
    for (int k = 0; k < STDS; k++) got[k] = my_std(sizes[k / 4][0], sizes[k / 4][1], k & 1, k & 2), untouched &= got[k] == 0;
    if (untouched)
        grader_stop("not_begun",
                    "my_std returns 0. Begin at TODO 1 in exercise.c: two lines. If you have begun: 1 / in is 0 in C, because both\n"
                    "are integers.");
    double fans[2][SIZES];
    for (int k = 0; k < SIZES; k++) fans[0][k] = (double)sizes[k][1], fans[1][k] = (double)sizes[k][0];
    const grader_input inputs[] = { { "in", fans[0], 1, SIZES }, { "out", fans[1], 1, SIZES }, { NULL } };
    const char *const of = "70 inputs, 30 outputs (row 0), 5 inputs, 12 outputs (row 1); forward: linear, ReLU; backward: linear, ReLU";
    const grader_result all = { "the standard deviation", of, formula_std, NULL, of_std, SIZES, 4, got, NULL, inputs, .unlike = true };
    grader_judge(list, &all, NULL);
}

static void check_uniform(void)
{
    double got[WEIGHTS] = { 0 };
    my_uniform(std_of_u, u, WEIGHTS, got);
    if (grader_same(got, (double[WEIGHTS]){ 0 }, WEIGHTS))
        grader_stop("uniform_not_begun",
                    "my_std is right. Go on at TODO 2: two lines. If you have begun: all your w are 0. 1 / 3 is 0 in C.");
    const grader_input inputs[] = { { "u", u, 1, WEIGHTS }, { NULL } };
    grader_judge(list, &(grader_result){ "w", "std = 0.7", formula_uniform, &std_of_u, of_uniform, 1, WEIGHTS, got, NULL, inputs }, NULL);
}

static void check_fit(void)
{
    double got[2 * OUT * IN], x[R * IN];
    memcpy(x, batch, sizeof x);
    for (int relu = 0; relu < 2; relu++) {
        memcpy(got + relu * OUT * IN, w0, sizeof w0);
        my_fit(got + relu * OUT * IN, OUT, IN, relu, x, R);
    }
    if (!memcmp(got, w0, sizeof w0) && !memcmp(got + OUT * IN, w0, sizeof w0))
        grader_stop("fit_not_begun", "my_fit changes nothing yet. Go on at TODO 3: about ten lines.");
    if (memcmp(x, batch, sizeof x)) grader_stop("batch_changed", "Your code writes into x. my_fit changes the weights alone.");
    const grader_input inputs[] = { { "w", w0, OUT, IN }, { "x", batch, R, IN }, { NULL } };
    grader_judge_each(fit_list,
                      &(grader_result){ "w", "2 outputs, 3 inputs, 4 rows", formula_fit, batch, of_fit, 2, OUT * IN, got, NULL, inputs },
                      NULL, (const char *const[]){ "w without ReLU", "w with ReLU" });
}

/* The root mean square after ten layers of width 100 with a ReLU. */
static double deep(bool fit)
{
    enum { WIDTH = 100, ROWS = 32 };
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *x = gr_randn(t, GR_SHAPE(ROWS, WIDTH), 0, 1, "x");
    for (int k = 0; k < 10; k++) {
        gr_tensor *w = gr_zeros(t, GR_SHAPE(WIDTH, WIDTH)), *random = gr_rand(t, GR_SHAPE(WIDTH, WIDTH), 0, 1, k % 2 ? "odd" : "even");
        my_uniform(my_std(WIDTH, WIDTH, true, false), random->data, random->len, w->data);
        if (fit) my_fit(w->data, WIDTH, WIDTH, true, x->data, ROWS);
        x = gr_relu(t, gr_linear(t, x, w, NULL));
    }
    double sum = 0;
    for (size_t i = 0; i < x->len; i++) sum += x->data[i] * x->data[i] / (double)x->len;
    gr_tape_free(t);
    return sqrt(sum);
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "--ambiguous"))
        return grader_ambiguous(list, formula_std, NULL, of_std, STDS) +
               grader_ambiguous(list, formula_uniform, &std_of_u, of_uniform, WEIGHTS) +
               grader_ambiguous(fit_list, formula_fit, batch, of_fit, 2 * OUT * IN);
    grader_start("Lesson 8: initialization");
    grader_step("the standard deviation of the weights");
    check_std();
    grader_step("weights that are spread evenly");
    check_uniform();
    grader_step("weights that fit a batch");
    check_fit();
    grader_step("ten layers of width 100 with ReLU");
    const double plain = deep(false), fitted = deep(true);
    if (!(plain > 0.2 && plain < 5) || !(fabs(fitted - 1) < 1e-9))
        grader_stop("ten_layers",
                    "After ten layers the root mean square is %.3g, and %.3g with my_fit; about 1, and exactly 1, are right. Your\n"
                    "functions are right for small layers. Is a size written as a number?",
                    plain, fitted);
    return grader_end("All right. gradus does the same in nn/init.c, but for my_fit: compare it with yours.");
}
