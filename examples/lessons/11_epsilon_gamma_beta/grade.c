/* grade.c - the grader of lesson 11. */
#include "../grader.h"
#include <math.h>
#include <string.h>

double my_largest_slope(const double *x, size_t N, double eps);
void my_identity(const double *x, size_t N, double eps, double *gamma, double *beta);
void my_fold(size_t out, size_t in, double *w, double *b, const double *gamma, const double *beta);

/* ---- The known mistakes ---- */

#define MISTAKES(M) \
    /* my_largest_slope */ \
    M(slope_without_eps, \
      "Your slope lacks eps: rstd is 1 / sqrt(var + eps). Test: for a row of equal values the slope is 1 / sqrt(eps), not infinite.") \
    M(slope_inverted, "You return the root of var + eps. The slope is 1 divided by it: a row with a small variance is stretched.") \
    M(slope_root_missing, "You return 1 / (var + eps). The slope is rstd, so the root is missing.") \
    M(slope_unbiased, "You divide the sum of squares by N - 1. LayerNorm divides by N.") \
    M(slope_eps_outside, "You add eps to the standard deviation. It stands inside the root, beside the variance.") \
    M(slope_of_constant_row, \
      "You return 1 / sqrt(eps). That is the largest slope of all rows, and a row of equal values has it. Use the row's variance.") \
    M(slope_not_centred, "Your variance is the mean of x^2. Subtract the mean first.") \
    M(slope_along_xhat, \
      "You return the slope along xhat for every row. With 3 values or more there are steps across it, and they move xhat by more.") \
    M(two_values, "Two values have no direction across (1, 1) and xhat. Only the step along xhat is left: times eps / (var + eps).") \
    M(two_values_still, "Two values give 0 only when eps is 0. With an eps xhat still moves along itself: rstd * eps / (var + eps).") \
    M(two_values_without_rstd, \
      "Your slope for two values is eps / (var + eps). That is the part that is left of rstd: multiply it by rstd.") \
    M(two_values_variance, \
      "Your factor for two values is var / (var + eps). That is the variance of xhat.\n" \
      "1 minus it is what is left of the step along xhat: the factor is eps / (var + eps).") \
    M(one_value, "One value is its own mean, so that xhat is always 0. The slope is 0.") \
    /* my_identity */ \
    M(gamma_is_variance, "Your gamma is the variance. xhat was divided by a root, so gamma is that root: sqrt(var + eps).") \
    M(gamma_inverted, "Your gamma is rstd. xhat was multiplied by rstd already, and gamma must undo it: sqrt(var + eps).") \
    M(gamma_and_beta_exchanged, "You exchange gamma and beta. gamma multiplies: it is the deviation. beta is added: it is the mean.") \
    M(gamma_without_eps, "Your gamma is sqrt(var). LayerNorm divided by sqrt(var + eps), so you get nearly x, but not x.") \
    M(gamma_unbiased, "Your gamma comes from a variance that is divided by N - 1. LayerNorm divides by N.") \
    M(beta_negative, "Your beta is -mean. LayerNorm has subtracted the mean, and beta adds it again.") \
    M(beta_scaled, "Your beta is mean * rstd. beta is added after gamma has multiplied, so it is in the units of x: the mean.") \
    M(gamma_is_quotient, \
      "Your gamma[i] is x_i / xhat_i. It gives this row back, and divides by 0 where x_i is the mean. Undo the two steps of the norm:\n" \
      "gamma is sqrt(var + eps) for all values, and beta is the mean.") \
    /* my_fold */ \
    M(bias_forgotten, "You leave b as it was. The linear layer multiplies beta too: b[o] gets the sum over i of w[o * in + i] * beta[i].") \
    M(bias_replaced, "You write over b. It was added before, and still is: b[o] += ..") \
    M(weights_forgotten, "You leave w as it was. Weight i of each output multiplies gamma[i] * xhat_i, so gamma[i] becomes part of it.") \
    M(gamma_of_outputs, "You use gamma[o]. gamma belongs to the values of the row, the inputs of the layer: gamma[i].") \
    M(scaled_first, "Your b uses the weights after gamma has multiplied them. beta is added after gamma: use the old weights.") \
    M(beta_added, "You add beta[o] to b[o]. beta goes through the weights: b[o] gets the sum over i of w[o * in + i] * beta[i].") \
    M(beta_unweighted, \
      "You add the sum of beta[i] to b[o]. Each beta[i] goes through its weight: the sum is over w[o * in + i] * beta[i].") \
    M(beta_of_outputs, "You use beta[o]. beta belongs to the values of the row, the inputs of the layer: beta[i].") \
    M(index_exchanged, "You use w[i * out + o]. w is [out, in]: weight i of output o is w[o * in + i].") \
    M(gamma_divided, \
      "You divide w by gamma. The layer now gets xhat in place of gamma * xhat, so the weight must do gamma's work: multiply.")

GRADER_MISTAKES(MISTAKES);
static const unsigned of_slope = gamma_is_variance - 1, of_identity = bias_forgotten - gamma_is_variance,
                      of_fold = 2u * gamma_divided - bias_forgotten;

/* ---- The formulas, with a switch for each ---- */

typedef struct {
    size_t n;
    double eps, x[4];
} problem;
enum { ROWS = 5, N = 4, OUT = 3, IN = 4, FOLD = OUT * (IN + 1) };
static const problem rows[ROWS] = {
    { 4, 0.1, { 1, 2, 4, 5 } }, { 3, 0.3, { 0.3, -1.2, 2.1 } }, { 4, 0.02, { 0.7, -0.4, 1.9, 0.2 } }, { 2, 0.5, { 3, 4.5 } },
    { 1, 0.2, { 3 } },
};

static double variance(const problem *p, double mean, size_t count)
{
    double var = 0;
    for (size_t i = 0; i < p->n; i++) var += (p->x[i] - mean) * (p->x[i] - mean) / (double)count;
    return var;
}
static double mean_of(const problem *p)
{
    double mean = 0;
    for (size_t i = 0; i < p->n; i++) mean += p->x[i] / (double)p->n;
    return mean;
}

static void formula_slope(unsigned m, const void *data, double *answer)
{
    const problem *p = data;
    for (int r = 0; r < ROWS; r++, p++) {
        const double var = variance(p, m & slope_not_centred ? 0 : mean_of(p), m & slope_unbiased && p->n > 1 ? p->n - 1 : p->n);
        const double eps = m & slope_without_eps ? 0 : p->eps, inside = m & slope_of_constant_row ? eps : var + eps;
        double slope = m & slope_eps_outside ? 1 / (sqrt(var) + eps) : 1 / sqrt(inside);
        if (m & slope_root_missing) slope *= slope;
        if (m & slope_inverted) slope = 1 / slope;
        if ((p->n == 2 && !(m & two_values)) || (p->n > 2 && m & slope_along_xhat))
            slope *= m & two_values_still && p->n == 2 ? 0 : (m & two_values_variance && p->n == 2 ? var : eps) / inside;
        if (m & two_values_without_rstd && p->n == 2) slope = eps / inside;
        answer[r] = p->n == 1 && !(m & one_value) ? 0 : slope;
    }
}

/* All gamma, then all beta. */
static void formula_identity(unsigned m, const void *data, double *answer)
{
    const problem *p = data;
    const double mean = mean_of(p), inside = variance(p, mean, m & gamma_unbiased ? p->n - 1 : p->n) + (m & gamma_without_eps ? 0 : p->eps);
    const double root = sqrt(inside), gamma = m & gamma_is_variance ? inside : m & gamma_inverted ? 1 / root : root;
    const double beta = (m & beta_negative ? -mean : mean) * (m & beta_scaled ? 1 / root : 1);
    for (size_t i = 0; i < p->n; i++) {
        answer[i] = m & gamma_and_beta_exchanged ? beta : gamma;
        if (m & gamma_is_quotient) answer[i] = p->x[i] * root / (p->x[i] - mean);
        answer[p->n + i] = m & gamma_is_quotient ? 0 : m & gamma_and_beta_exchanged ? gamma : beta;
    }
}

static const double w0[OUT * IN] = { 0.9, -0.4, -1.3, 0.2, 1.6, 0.7, 0.5, -0.3, 0.8, 0.1, -0.9, -0.2 }, b0[OUT] = { 0.25, -0.6, 1.1 };
static const double gamma_[IN] = { 1.3, -0.7, 0.4, 2.1 }, beta_[IN] = { 0.2, -0.5, 1.1, 0.3 };

/* For each output its weights, then its b. */
static void formula_fold(unsigned m, const void *data, double *answer)
{
    (void)data;
    for (size_t o = 0; o < OUT; o++) {
        double b = m & bias_replaced ? 0 : b0[o];
        for (size_t i = 0; i < IN; i++) {
            const size_t at = m & index_exchanged ? i * OUT + o : o * IN + i;
            const double w = w0[at], g = gamma_[m & gamma_of_outputs ? o : i];
            const double scaled = m & weights_forgotten ? w : m & gamma_divided ? w / g : w * g;
            answer[at / IN * (IN + 1) + at % IN] = scaled;
            if (!(m & (bias_forgotten | beta_added))) b += (m & beta_unweighted ? 1 : m & scaled_first ? scaled : w) * beta_[m & beta_of_outputs ? o : i];
        }
        answer[o * (IN + 1) + IN] = m & beta_added ? b + beta_[o] : b;
    }
}

/* ---- The steps ---- */

static void check_slope(void)
{
    double got[ROWS], eps[ROWS];
    bool untouched = true;
    for (int r = 0; r < ROWS; r++) {
        got[r] = my_largest_slope(rows[r].x, rows[r].n, rows[r].eps), eps[r] = rows[r].eps;
        untouched &= got[r] == 0;
    }
    if (untouched) grader_stop("not_begun", "my_largest_slope returns 0. Begin at TODO 1 in exercise.c: about five lines.");
    const char *const of = "rows of 4, 3, 4, 2 and 1 values, with eps = 0.1, 0.3, 0.02, 0.5 and 0.2";
    const grader_input inputs[] = { { "row 0", rows[0].x, 1, rows[0].n }, { "row 1", rows[1].x, 1, rows[1].n }, { "row 2", rows[2].x, 1, rows[2].n },
                                    { "row 3", rows[3].x, 1, rows[3].n }, { "row 4", rows[4].x, 1, rows[4].n }, { "eps", eps, 1, ROWS }, { NULL } };
    const grader_result r = { "the slope", of, formula_slope, rows, of_slope, 1, ROWS, got, NULL, inputs, .unlike = true };
    grader_judge(list, &r, NULL);
    const double constant = my_largest_slope((const double[]){ 5, 5, 5 }, 3, 1e-5);
    if (!(fabs(constant * sqrt(1e-5) - 1) < 1e-9))
        grader_stop("constant_row", "For the row (5, 5, 5) with eps = 1e-5 your slope is %g. var is 0 there, so it is 1 / sqrt(eps).",
                    constant);
}

static void check_identity(void)
{
    double got[2 * N] = { 0 };
    my_identity(rows[2].x, N, rows[2].eps, got, got + N);
    if (grader_same(got, (double[2 * N]){ 0 }, 2 * N))
        grader_stop("identity_not_begun", "The slope is right. Go on at TODO 2: about four lines.");
    const char *const names[] = { "gamma", "beta" }, *const of = "the row (0.7, -0.4, 1.9, 0.2), eps = 0.02";
    const grader_input inputs[] = { { "x", rows[2].x, 1, N }, { NULL } };
    const grader_result r = { "gamma and beta", of, formula_identity, &rows[2], of_identity, 2, N, got, NULL, inputs };
    grader_judge_each(list, &r, NULL, names);
}

static void check_fold(void)
{
    double w[OUT * IN], b[OUT], got[FOLD];
    memcpy(w, w0, sizeof w), memcpy(b, b0, sizeof b);
    my_fold(OUT, IN, w, b, gamma_, beta_);
    if (!memcmp(w, w0, sizeof w) && !memcmp(b, b0, sizeof b))
        grader_stop("fold_not_begun", "my_fold changes nothing yet. Go on at TODO 3: about four lines.");
    for (size_t o = 0; o < OUT; o++) memcpy(got + o * (IN + 1), w + o * IN, IN * sizeof *w), got[o * (IN + 1) + IN] = b[o];
    const grader_input inputs[] = { { "w", w0, OUT, IN }, { "b", b0, 1, OUT }, { "gamma", gamma_, 1, IN }, { "beta", beta_, 1, IN }, { NULL } };
    const grader_result r = { "w and b", "3 outputs: 4 weights, and last b", formula_fold, NULL, of_fold, OUT, IN + 1, got, NULL, inputs };
    grader_judge(list, &r, NULL);
}

/* All three on rows of 7 values, through gradus. Returns what is wrong. */
static const char *check_sizes(void)
{
    enum { LONG = 7, FEW = 2 };
    const double eps = 0.05;
    const char *wrong = NULL;
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *x = gr_randn(t, GR_SHAPE(LONG), 1, 2, "x"), *w = gr_randn(t, GR_SHAPE(FEW, LONG), 0, 1, "w"),
              *b = gr_randn(t, GR_SHAPE(FEW), 0, 1, "b");
    gr_tensor *gamma = gr_zeros(t, GR_SHAPE(LONG)), *beta = gr_zeros(t, GR_SHAPE(LONG));
    gr_tensor *xhat = gr_layer_norm(t, x, 1, NULL, NULL, eps);
    my_identity(x->data, LONG, eps, gamma->data, beta->data);
    if (!grader_same(gr_layer_norm(t, x, 1, gamma, beta, eps)->data, x->data, LONG)) wrong = "my_identity";
    const double slope = my_largest_slope(x->data, LONG, eps);
    if (!(fabs(slope * gamma->data[0] - 1) < 1e-9)) wrong = "my_largest_slope";
    gr_tensor *before = gr_linear(t, gr_reshape(t, gr_add(t, gr_mul(t, xhat, x), x), GR_SHAPE(1, LONG)), w, b); /* gamma and beta are x */
    my_fold(FEW, LONG, w->data, b->data, x->data, x->data);
    if (!grader_same(before->data, gr_linear(t, gr_reshape(t, xhat, GR_SHAPE(1, LONG)), w, b)->data, FEW)) wrong = "my_fold";
    gr_tape_free(t);
    return wrong;
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "--ambiguous"))
        return grader_ambiguous(list, formula_slope, rows, of_slope, ROWS) +
               grader_ambiguous(list, formula_identity, &rows[2], of_identity, 2 * N) +
               grader_ambiguous(list, formula_fold, NULL, of_fold, FOLD);
    grader_start("Lesson 11: epsilon, gamma, beta");
    grader_step("the largest slope");
    check_slope();
    grader_step("gamma and beta that give a row back");
    check_identity();
    grader_step("gamma and beta inside the next linear layer");
    check_fold();
    grader_step("rows of 7 values, through gradus' LayerNorm");
    const char *wrong = check_sizes();
    if (wrong) grader_stop("other_sizes", "%s is right for the sizes before and wrong for 7 values. Is a size written as a number?", wrong);
    return grader_end("All right. What is left of gamma and beta when a linear layer follows? Only that the optimizer sees them.");
}
