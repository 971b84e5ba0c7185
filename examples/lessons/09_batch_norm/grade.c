/* grade.c - the grader of lesson 9. */
#include "../grader.h"
#include <math.h>
#include <string.h>

typedef struct {
    gr_real *mean, *var;
    double momentum;
} running;
gr_tensor *my_batch_norm(gr_tape *t, gr_tensor *x, gr_tensor *gamma, gr_tensor *beta, const running *run, double eps);

/* ---- The known mistakes ---- */

#define FORWARD(M) \
    M(layer_norm, "Your mean and variance are those of a row: that is LayerNorm. BatchNorm takes each column, over all rows.") \
    M(one_mean, "You use one mean and one variance for all columns. Each column has its own. Do the sums start at 0 for each column?") \
    M(variance_unbiased, "You normalize by the unbiased variance. The batch is normalized by the biased one: divide by rows.") \
    M(eps_outside_root, "You add eps to the standard deviation. It belongs inside the root: 1 / sqrt(var + eps).") \
    M(eps_missing, "You leave eps out: rstd = 1 / sqrt(var + eps).") \
    M(root_missing, "You divide by var + eps. Divide by its square root.") \
    M(other_mode, "You normalize by the statistics of the other mode. Training uses the batch's, evaluation the running ones.") \
    M(running_after_move, "You normalize by the running statistics after you have moved them. Training uses those of the batch alone.") \
    M(integer_division, "Your mean and your variance are 0. Do you multiply by 1 / rows? It is 0 in C, because both are integers: divide by rows.") \
    M(mean_is_0, "Your mean is 0, so that your variance is the mean of x^2. Is nothing added to the mean, or do you multiply by 1 / rows,\n" \
                 "which is 0 for integers? Divide by rows.") \
    M(variance_is_0, "Your variance is 0: only eps is left under the root. Is nothing added to it, or do you multiply by 1 / rows, which is 0\n" \
                     "for integers? Divide by rows.") \
    /* running statistics */ \
    M(running_biased, "You move the running variance by the biased variance. It estimates the variance of all data: use rows - 1 there.\n" \
                      "If you do: rows / (rows - 1) is 1 in C, because both are integers. Multiply by rows first.") \
    M(precedence, "You write / rows - 1. C divides first, and subtracts 1 from the result. Write / (rows - 1).") \
    M(momentum_reversed, \
      "You exchange momentum and 1 - momentum. Momentum is the weight of the new batch: 0.1 keeps 0.9 of the old value.") \
    M(running_replaced, "You write the batch's statistics over the running ones. A part of the old value stays: (1 - momentum) times.") \
    M(running_added, "You add the batch's part and keep all of the old value. The old value shrinks: (1 - momentum) times.") \
    M(running_deviation, "Your running variance takes in a standard deviation. Give it the variance; the root comes after the average.") \
    M(running_with_eps, "Your running variance takes in var + eps. eps is added when the root is taken, in each mode; not here.") \
    /* evaluation */ \
    M(corrected_again, "You multiply the running variance by rows / (rows - 1) in evaluation. It is unbiased already.")

/* backward: dbeta and dgamma */
#define MISTAKES(M) \
    M(row_assigned, "You write = where += is needed. Each row adds its part, and the gradient was not 0 before.") \
    M(assigned, "You write = where += is needed. This input has another use here, and that part of its gradient was there before yours.") \
    M(dgamma_without_xhat, "Your dgamma is the sum of dy. gamma multiplies xhat: dgamma is the sum over rows of dy * xhat.") \
    M(dgamma_raw_x, "Your dgamma is the sum of dy * x. gamma multiplies the normalized value: use xhat.") \
    M(last_column_saved, "Backward uses the mean and rstd of the last column everywhere. Keep them for each: s.mean[c], s.rstd[c].") \
    M(deviation_kept, \
      "Your dgamma has (x - mean) * sqrt(var + eps) where xhat is needed. xhat is (x - mean) * rstd, and s.rstd[c] is 1 / sqrt(..).") \
    /* dx */ \
    M(statistics_constant, "Your dx is rstd * g. That is right in evaluation. In training x also moves the mean and the variance:\n" \
                           "subtract mean(g) and xhat * mean(g * xhat). If you do: 1 / rows is 0 in C, because both are integers.") \
    M(mean_term_missing, "Your dx lacks the mean term: subtract mean(g). Test: in training the dx of a column must add up to 0.\n" \
                         "If you do subtract it: 1 / rows is 0 in C, because both are integers.") \
    M(variance_term_missing, "Your dx lacks the variance term: subtract xhat * mean(g * xhat).\n" \
                             "If you do subtract it: 1 / rows is 0 in C, because both are integers.") \
    M(means_of_a_row, "Your mean(g) and mean(g * xhat) are those of a row. The statistics are a column's, and so are these means.") \
    M(sums_not_divided, "You use the sums of g and of g * xhat. Both are means over the rows: divide by their number.") \
    M(means_unbiased, "You divide the sums of g and of g * xhat by rows - 1. Both are means over the rows: divide by rows.") \
    M(gamma_missing_in_g, "Your dx starts from dy. It starts from the gradient of xhat: g = gamma * dy, inside both means as well.") \
    M(gamma_missing_in_means, "Your two means are those of dy and dy * xhat. g is gamma * dy: gamma belongs inside them, too.") \
    M(rstd_missing, "Your dx lacks the factor rstd. xhat is (x - mean) * rstd, so all three terms are multiplied by rstd.") \
    M(three_terms_in_evaluation, "You subtract the means in evaluation too. Mean and variance are constants there: dx is rstd * g.")

GRADER_MISTAKES_OF(forward, FORWARD);
GRADER_MISTAKES(MISTAKES);

static const unsigned of_statistics = layer_norm | one_mean | variance_unbiased | eps_outside_root | eps_missing | root_missing,
                      of_y = running_biased - 1, of_running = corrected_again - running_biased,
                      of_evaluation = of_statistics | other_mode | corrected_again, of_dbeta = row_assigned | assigned,
                      of_dgamma = statistics_constant - 1, of_dx = (three_terms_in_evaluation - statistics_constant) | assigned,
                      of_dx_in_evaluation = gamma_missing_in_g | assigned | rstd_missing | three_terms_in_evaluation;

/* ---- The formula, with a switch for each ---- */

enum { R = 4, C = 3, LEN = R * C };
typedef struct {
    size_t rows, columns;
    bool training;
    double eps, momentum;
    const double *x, *gamma, *beta, *dy, *mean, *var; /* mean and var: the running statistics before */
    bool other; /* whether other_x, other_gamma and other_beta are in dx, dgamma and dbeta before, from other operators */
} problem;

static const double other_x[LEN] = { 0.4, 0.9, -0.2, 0.6, -0.7, 0.35, 0.15, -0.45, 0.55, -0.8, 0.25, 0.65 };
static const double other_gamma[C] = { 0.7, 0.1, -0.4 }, other_beta[C] = { -0.6, 0.3, 0.95 };

/* The plain mean and biased variance that belong to value c of row r. */
static void moments(unsigned m, const problem *p, size_t r, size_t c, double *mean, double *var)
{
    size_t first = c, step = p->columns, count = p->rows;
    if (m & layer_norm) first = r * p->columns, step = 1, count = p->columns;
    if (m & one_mean) first = 0, step = 1, count = p->rows * p->columns;
    *mean = *var = 0;
    for (size_t k = 0; k < count && !(m & (integer_division | mean_is_0)); k++) *mean += p->x[first + k * step] / (double)count;
    for (size_t k = 0; k < count && !(m & (integer_division | variance_is_0)); k++) {
        const double d = p->x[first + k * step] - *mean;
        *var += d * d / (double)(m & variance_unbiased ? count - 1 : count);
    }
}

/* The running statistics of all columns: means, then variances. precedence: 1 is subtracted from the variance, and not from rows. */
static void formula_running(unsigned m, const void *data, double *answer)
{
    const problem *p = data;
    const double w = m & momentum_reversed ? 1 - p->momentum : m & running_replaced ? 1 : p->momentum, keep = m & running_added ? 1 : 1 - w;
    for (size_t c = 0; c < p->columns; c++) {
        double mean, var;
        moments(0, p, 0, c, &mean, &var);
        if (m & precedence) var -= 1;
        else if (!(m & running_biased)) var *= (double)p->rows / (double)(p->rows - 1);
        if (m & running_with_eps) var += p->eps;
        answer[c] = keep * p->mean[c] + w * mean;
        answer[p->columns + c] = keep * p->var[c] + w * (m & running_deviation ? sqrt(var) : var);
    }
}

static void statistics(unsigned m, const problem *p, size_t r, size_t c, double *mean, double *rstd)
{
    double var, moved[2 * C];
    moments(m, p, r, c, mean, &var);
    if (p->training ? m & other_mode : !(m & other_mode)) *mean = p->mean[c], var = p->var[c];
    if (m & running_after_move) formula_running(0, p, moved), *mean = moved[c], var = moved[p->columns + c];
    if (m & corrected_again) var *= (double)p->rows / (double)(p->rows - 1);
    const double eps = m & eps_missing ? 0 : p->eps;
    *rstd = m & eps_outside_root ? 1 / (sqrt(var) + eps) : 1 / sqrt(var + eps);
    if (m & root_missing) *rstd *= *rstd;
}

static void formula_y(unsigned m, const void *data, double *y)
{
    const problem *p = data;
    for (size_t r = 0; r < p->rows; r++)
        for (size_t c = 0; c < p->columns; c++) {
            double mean, rstd;
            statistics(m, p, r, c, &mean, &rstd);
            y[r * p->columns + c] = p->gamma[c] * (p->x[r * p->columns + c] - mean) * rstd + p->beta[c];
        }
}

static void formula_dbeta(unsigned m, const void *data, double *dbeta)
{
    const problem *p = data;
    for (size_t c = 0; c < p->columns; c++) {
        dbeta[c] = p->other && !(m & (row_assigned | assigned)) ? other_beta[c] : 0;
        for (size_t r = m & row_assigned ? p->rows - 1 : 0; r < p->rows; r++) dbeta[c] += p->dy[r * p->columns + c];
    }
}

static void formula_dgamma(unsigned m, const void *data, double *dgamma)
{
    const problem *p = data;
    for (size_t c = 0; c < p->columns; c++) {
        dgamma[c] = p->other && !(m & (row_assigned | assigned)) ? other_gamma[c] : 0;
        for (size_t r = m & row_assigned ? p->rows - 1 : 0; r < p->rows; r++) {
            const size_t i = r * p->columns + c;
            double mean, rstd;
            statistics(0, p, r, m & last_column_saved ? p->columns - 1 : c, &mean, &rstd);
            if (m & deviation_kept) rstd = 1 / rstd;
            dgamma[c] += p->dy[i] * (m & dgamma_without_xhat ? 1 : m & dgamma_raw_x ? p->x[i] : (p->x[i] - mean) * rstd);
        }
    }
}

static void formula_dx(unsigned m, const void *data, double *dx)
{
    const problem *p = data;
    double g[LEN], xhat[LEN], rstd[LEN], mean;
    for (size_t i = 0; i < p->rows * p->columns; i++) {
        statistics(0, p, i / p->columns, i % p->columns, &mean, &rstd[i]);
        xhat[i] = (p->x[i] - mean) * rstd[i];
        g[i] = p->dy[i] * (m & gamma_missing_in_g ? 1 : p->gamma[i % p->columns]);
    }
    for (size_t i = 0; i < p->rows * p->columns; i++) {
        double mean_g = 0, mean_gx = 0;
        const bool row = m & means_of_a_row;
        const size_t count = row ? p->columns : p->rows;
        for (size_t k = 0; k < count; k++) {
            const size_t j = row ? i / p->columns * p->columns + k : k * p->columns + i % p->columns;
            const double part = m & gamma_missing_in_means ? p->dy[j] : g[j];
            mean_g += part, mean_gx += part * xhat[j];
        }
        const double by = m & sums_not_divided ? 1 : (double)(m & means_unbiased ? count - 1 : count);
        mean_g /= by, mean_gx /= by;
        const bool constant = p->training ? m & statistics_constant : !(m & three_terms_in_evaluation);
        if (m & mean_term_missing || constant) mean_g = 0;
        if (m & variance_term_missing || constant) mean_gx = 0;
        dx[i] = (p->other && !(m & assigned) ? other_x[i] : 0) + (m & rstd_missing ? 1 : rstd[i]) * (g[i] - mean_g - xhat[i] * mean_gx);
    }
}

/* ---- The learner's numbers ---- */

typedef struct {
    double y[LEN], dx[LEN], dgamma[C], dbeta[C], running[2 * C];
} numbers;
enum { X = 1, GAMMA = 2, BETA = 4, ALL = 7 };

static gr_tensor *put(gr_tape *t, const double *v, gr_shape shape, bool want)
{
    gr_tensor *x = gr_input(t, v, shape); /* gr_real is double here */
    return want ? gr_want_grad(t, x) : x;
}
static void take(double *out, const gr_real *v, size_t n)
{
    if (v) memcpy(out, v, n * sizeof *v); /* NULL: no gradient has come */
}

/* Run the exercise on p, asking for some gradients. x, gamma and beta get another part from operators recorded later, which backward visits first. */
static numbers run(const problem *p, int want)
{
    numbers r = { 0 };
    gr_tape *t = gr_tape_new(1, NULL);
    const gr_shape column = GR_SHAPE(p->columns), whole = GR_SHAPE(p->rows, p->columns);
    gr_tensor *in[3] = { put(t, p->x, whole, want & X), put(t, p->gamma, column, want & GAMMA), put(t, p->beta, column, want & BETA) };
    const double *other[3] = { other_x, other_gamma, other_beta };
    memcpy(r.running, p->mean, p->columns * sizeof(double)), memcpy(r.running + p->columns, p->var, p->columns * sizeof(double));
    gr_tape_set_training(t, p->training);
    gr_tensor *y = my_batch_norm(t, in[0], in[1], in[2], &(running){ r.running, r.running + p->columns, p->momentum }, p->eps);
    if (!y) grader_stop("no_result", "my_batch_norm returned NULL. The tape says: \"%s\"", gr_message(t));
    take(r.y, y->data, y->len);
    gr_tensor *loss = gr_sum(t, gr_mul(t, y, gr_input(t, p->dy, whole)), GR_ALL_AXES, false);
    for (int k = 0; k < 3 && p->other; k++)
        if (want & 1 << k)
            loss = gr_add(t, loss, gr_sum(t, gr_mul(t, in[k], gr_input(t, other[k], gr_shape_of(in[k]))), GR_ALL_AXES, false));
    if (want) gr_backward(t, loss);
    take(r.dx, gr_grad(t, in[0]), in[0]->len), take(r.dgamma, gr_grad(t, in[1]), C), take(r.dbeta, gr_grad(t, in[2]), C);
    if (memcmp(in[0]->data, p->x, in[0]->len * sizeof(double)))
        grader_stop("input_changed", "Your code writes into x->data. An operator never changes its inputs.");
    gr_tape_free(t);
    return r;
}

static const double x[LEN] = { 0.3, -1.2, 2.1, 0.7, -0.4, 1.9, 0.2, -0.6, 1.1, 3.0, -2.2, 0.9 };
static const double gamma_[C] = { 1.3, -0.7, 2.1 }, beta[C] = { 0.2, -0.5, 1.1 }, mean_[C] = { 0.4, -0.9, 0.8 },
                    var_[C] = { 1.4, 0.6, 2.3 };
static const double dy[LEN] = { 0.5, -0.3, 0.8, 0.1, -0.9, -0.2, 0.7, 0.4, -0.6, 0.3, 0.9, -0.1 };
static const problem train = { R, C, true, 0.3, 0.2, x, gamma_, beta, dy, mean_, var_, true },
                     evaluate = { R, C, false, 0.3, 0.2, x, gamma_, beta, dy, mean_, var_, true };
static const grader_input inputs[] = { { "x", x, R, C },   { "gamma", gamma_, 1, C },   { "beta", beta, 1, C }, { "dy", dy, R, C },
                                       { "run mean", mean_, 1, C }, { "run var", var_, 1, C }, { NULL } };
static const double column[3] = { 1, 2, 4 }, first[3] = { 1 }, one = 1, zero = 0, moved_mean = 7. / 30, moved_var = 34. / 30;
static const problem worked = { 3, 1, true, 0, 0.1, column, &one, &zero, first, &zero, &one, false },
                     worked_evaluate = { 3, 1, false, 0, 0.1, column, &one, &zero, first, &moved_mean, &moved_var, false };

static const char *const of_train = "4 rows of 3 values, training, eps = 0.3, momentum = 0.2",
                         *const of_worked = "the column (1, 2, 4), gamma = 1, beta = 0, eps = 0, momentum = 0.1, dy = (1, 0, 0); running mean 0, variance 1",
                         *const of_evaluated = "the column (1, 2, 4), gamma = 1, beta = 0, eps = 0, dy = (1, 0, 0); running mean 7/30, variance 34/30";

static void judge(const grader_mistake *known, const char *name, grader_formula *f, unsigned among, bool training, const double *got, size_t rows, size_t n,
                  const double *small, size_t small_n, const double *before)
{
    const grader_result general = { name,  training ? of_train : "4 rows of 3 values, evaluation, eps = 0.3",
                                    f,     training ? &train : &evaluate,
                                    among, rows,
                                    n,     got,
                                    before, inputs },
                        by_hand = { name, training ? of_worked : of_evaluated, f, training ? &worked : &worked_evaluate, among, 1, small_n, small, NULL };
    grader_judge(known, &general, &by_hand);
}

static void judge_running(const double *got, const double *small)
{
    const char *const names[] = { "the running mean", "the running variance" };
    const grader_result general = { "the running mean and variance", of_train, formula_running, &train, of_running, 2, C, got, NULL, inputs },
                        by_hand = { "the running mean and variance", of_worked, formula_running, &worked, of_running, 2, 1, small, NULL };
    double without[2 * C], right[2]; /* without brackets: momentum * var * rows / rows - 1, so that the 1 is subtracted last */
    formula_running(running_biased, &train, without);
    for (size_t c = 0; c < C; c++) without[C + c] -= 1;
    if (grader_same(got, without, 2 * C)) {
        grader_failed(), formula_running(0, &worked, right);
        printf("      the running variance, for %s\n", of_worked), grader_row("yours", small + 1, 1), grader_row("right", right + 1, 1);
        grader_stop_mistakes(forward, precedence);
    }
    grader_judge_each(forward, &general, &by_hand, names);
}

static gr_tensor *checked(gr_tape *t, gr_tensor *const *in, void *argument)
{
    double mean[7] = { 0.1, 0.2 }, var[7] = { 1, 2, 0.5, 1, 3, 1, 1 };
    gr_tape_set_training(t, argument == NULL);
    return my_batch_norm(t, in[0], in[1], in[2], &(running){ mean, var, 0.1 }, 0.3);
}

/* Whether y comes from x[r + c * rows], which is the index of a matrix [C, rows]. */
static bool exchanged(const double *y)
{
    double x_read[LEN], y_read[LEN], right[LEN];
    problem p = train;
    for (int i = 0; i < LEN; i++) x_read[i] = x[i / C + i % C * R], y_read[i] = y[i / C + i % C * R];
    p.x = x_read, formula_y(0, &p, right);
    return grader_same(y_read, right, LEN);
}

static void check_forward(void)
{
    grader_step("forward in training");
    const numbers small = run(&worked, 0), whole = run(&train, 0);
    if (grader_same(whole.y, (double[LEN]){ 0 }, LEN))
        grader_stop("not_begun", "y is still 0 everywhere. Begin at TODO 1 in exercise.c: forward in training.");
    if (exchanged(whole.y)) grader_stop("index_exchanged", "You use the index r + c * rows. x is [rows, C]: its values are x[r * C + c].");
    judge(forward, "y", formula_y, of_y, true, whole.y, R, C, small.y, 3, NULL);
    grader_step("the running statistics after a batch");
    double before[2 * C];
    memcpy(before, mean_, sizeof mean_), memcpy(before + C, var_, sizeof var_);
    if (!memcmp(whole.running, before, sizeof before))
        grader_stop("running_not_moved", "y is right. The running statistics do not move yet: that is the last sentence of TODO 1.");
    judge_running(whole.running, small.running);
    grader_step("forward in evaluation");
    const numbers small_later = run(&worked_evaluate, 0), later = run(&evaluate, 0);
    if (memcmp(later.running, before, sizeof before))
        grader_stop("moved_in_evaluation",
                    "You move the running statistics in evaluation. Then an evaluation changes the network, and the next one differs.");
    if (grader_same(later.y, (double[LEN]){ 0 }, LEN)) grader_stop("evaluation_not_begun", "y is 0 in evaluation. Go on at TODO 2.");
    judge(forward, "y", formula_y, of_evaluation, false, later.y, R, C, small_later.y, 3, NULL);
}

static void check_backward(void)
{
    grader_step("backward: dbeta");
    const numbers small = run(&worked, ALL), whole = run(&train, ALL), small_later = run(&worked_evaluate, ALL),
                  later = run(&evaluate, ALL);
    if (grader_same(whole.dx, other_x, LEN) && grader_same(whole.dgamma, other_gamma, C) && grader_same(whole.dbeta, other_beta, C))
        grader_stop("half_done", "Forward is right. Backward adds nothing yet: go on at TODO 3, about twelve lines.");
    judge(list, "dbeta", formula_dbeta, of_dbeta, true, whole.dbeta, 1, C, small.dbeta, 1, other_beta);
    grader_step("backward: dgamma");
    if (grader_same(whole.dgamma, other_gamma, C))
        grader_stop("statistics_not_kept",
                    "Your dgamma is 0. It needs xhat, and backward finds xhat from s.mean[c] and s.rstd[c]: does forward keep both?");
    judge(list, "dgamma", formula_dgamma, of_dgamma, true, whole.dgamma, 1, C, small.dgamma, 1, other_gamma);
    grader_step("backward: dx in training");
    judge(list, "dx", formula_dx, of_dx, true, whole.dx, R, C, small.dx, 3, other_x);
    grader_step("backward in evaluation");
    if (grader_same(later.dx, other_x, LEN))
        grader_stop("no_gradient_in_evaluation",
                    "Your dx is 0 in evaluation. The statistics are constants there, but y still depends on x: dx is rstd * g.\n"
                    "If you have that: forward must keep s.mean and s.rstd in evaluation, too.");
    judge(list, "dgamma", formula_dgamma, of_dgamma, false, later.dgamma, 1, C, small_later.dgamma, 1, other_gamma);
    judge(list, "dx", formula_dx, of_dx_in_evaluation, false, later.dx, R, C, small_later.dx, 3, other_x);
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "--ambiguous"))
        return grader_ambiguous(forward, formula_y, &train, of_y, LEN) + grader_ambiguous(forward, formula_running, &train, of_running, 2 * C) +
               grader_ambiguous(forward, formula_y, &evaluate, other_mode | corrected_again | eps_missing, LEN) +
               grader_ambiguous(list, formula_dbeta, &train, of_dbeta, C) + grader_ambiguous(list, formula_dgamma, &train, of_dgamma, C) +
               grader_ambiguous(list, formula_dx, &train, of_dx, LEN) +
               grader_ambiguous(list, formula_dx, &evaluate, of_dx_in_evaluation, LEN);
    grader_start("Lesson 9: BatchNorm");
    check_forward();
    check_backward();
    const gr_gradcheck_input in[3] = { { .shape = GR_SHAPE(5, 7) }, { .shape = GR_SHAPE(7) }, { .shape = GR_SHAPE(7) } };
    for (int k = 0; k < 2; k++) {
        grader_step(k ? "gr_gradcheck in evaluation" : "gr_gradcheck in training");
        grader_gradcheck_operator("my_batch_norm", checked, k ? &k : NULL, in, 3, (const char *const[]){ "x", "gamma", "beta" });
    }
    return grader_end("All right. gradus does the same in ops/batch_norm.c: compare it with yours.");
}
