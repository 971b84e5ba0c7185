/* grade.c - the grader of lesson 10. It runs in double, so that every known mistake can be told from every other to nine digits. */
#include "../grader.h"
#include <math.h>
#include <string.h>

gr_tensor *my_layer_norm(gr_tape *t, gr_tensor *x, gr_tensor *gamma, gr_tensor *beta, double eps);

/* ---- The known mistakes ---- */

#define FORWARD(M) \
    M(variance_n_minus_1, "You divide the sum of squares by N - 1. LayerNorm uses the biased variance: divide by N.") \
    M(eps_outside_root, "You add eps to the standard deviation. It belongs inside the root: rstd = 1 / sqrt(var + eps).") \
    M(eps_missing, "You leave eps out: rstd = 1 / sqrt(var + eps). Without it a row of equal values gives 0 / 0.") \
    M(mean_not_subtracted, "Your xhat is x * rstd. Subtract the mean first: xhat = (x - mean) * rstd.") \
    M(variance_not_centred, "Your variance is the mean of x^2. It is the mean of (x - mean)^2.") \
    M(root_missing, "You divide by var + eps. Divide by its square root: rstd = 1 / sqrt(var + eps).") \
    M(not_divided, "You subtract the mean, but you do not multiply by rstd: xhat = (x - mean) * rstd.") \
    M(gamma_missing_in_y, "Your y does not contain gamma: y = gamma * xhat + beta.") \
    M(beta_missing_in_y, "Your y does not contain beta: y = gamma * xhat + beta.") \
    M(rows_transposed, "You exchange rows and columns: value i of row r is x->data[r * N + i], not x->data[i * rows + r].") \
    M(batch_norm, "Your mean and variance are those of a column, over all rows: that is BatchNorm. LayerNorm takes each row alone.") \
    M(one_mean, "You use one mean and one variance for all rows. Each row has its own. Do the sums start at 0 in each row?") \
    M(mean_not_divided, "Your mean is the sum of the row. Divide it by N.") \
    M(variance_not_divided, "Your variance is the sum of the squares. Divide it by N.") \
    M(integer_division, "Your mean and your variance are 0. Do you multiply by 1 / N? It is 0 in C, because both are integers: divide by N.") \
    M(mean_is_0, "Your mean is 0, so that your variance is the mean of x^2. Is nothing added to the mean, or do you multiply by 1 / N,\n" \
                 "which is 0 for integers? Divide by N.") \
    M(variance_is_0, "Your variance is 0: only eps is left under the root. Is nothing added to it, or do you multiply by 1 / N, which is 0\n" \
                     "for integers? Divide by N.") \
    M(rstd_is_deviation, "You multiply x - mean by the standard deviation. Divide by it: rstd = 1 / sqrt(var + eps).") \
    M(beta_before_gamma, "You add beta before gamma multiplies. gamma multiplies xhat alone: y = gamma * xhat + beta.") \
    M(gamma_of_row, "You use gamma[r]. gamma has one value for each column: gamma[i].") \
    M(beta_of_row, "You use beta[r]. beta has one value for each column: beta[i].")

#define BACKWARD(M) \
    /* dbeta and dgamma */ \
    M(dbeta_with_gamma, "Your dbeta contains gamma. beta is added after gamma: dbeta_i is the sum over rows of dy_i.") \
    M(dbeta_assigned, "You write dbeta[i] = .. where += is needed. Each row adds its part, and dbeta was not 0 before.") \
    M(dgamma_without_xhat, "Your dgamma is the sum of dy. gamma multiplies xhat: dgamma_i is the sum over rows of dy_i * xhat_i.") \
    M(dgamma_with_gamma, "Your dgamma uses g = gamma * dy. The derivative of gamma * xhat by gamma is xhat: use dy.") \
    M(dgamma_raw_x, "Your dgamma is the sum of dy * x. gamma multiplies the normalized value: use xhat.") \
    M(dgamma_assigned, "You write dgamma[i] = .. where += is needed. Each row adds its part, and dgamma was not 0 before.") \
    M(averaged_over_rows, "You divide dgamma or dbeta by the number of rows. They are sums: a mean is the loss's affair.") \
    M(sum_assigned, "You write = where += is needed. Another operator may have put its part into the gradient before yours.") \
    M(backward_transposed, "Forward is right, but backward exchanges rows and columns: dy_i of row r is dy[r * N + i].") \
    M(last_row_saved, "Every row uses the mean and rstd of the last row. Keep them for each row: s.mean[r], s.rstd[r].") \
    M(mean_not_saved, "s.mean[r] holds what was in that memory before: forward must write the mean of each row r there.") \
    M(rstd_not_saved, "s.rstd[r] holds what was in that memory before: forward must write the rstd of each row r there.") \
    M(deviation_saved, "Your s.rstd[r] holds the standard deviation. Keep rstd = 1 / sqrt(var + eps), or divide by it in backward.") \
    M(variance_saved, "Your s.rstd[r] holds the variance. Keep rstd = 1 / sqrt(var + eps).") \
    M(xhat_not_scaled, "You use x - mean in backward where xhat is needed: xhat = (x - mean) * rstd, in dgamma, in mean(g * xhat) and\n" \
                       "in front of it.") \
    /* dx */ \
    M(mean_term_missing, "Your dx lacks the mean term. x_j also moves the mean, which stands in every xhat: subtract mean(g).\n" \
                         "You can see it without a grader: the dx of a row must add up to 0, and yours does not.\n" \
                         "If you do subtract it: 1 / N is 0 in C, because both are integers.") \
    M(variance_term_missing, "Your dx lacks the variance term. x_j also moves the variance: subtract xhat_j * mean(g * xhat).\n" \
                             "That the dx of a row add up to 0 does not test this term. sum(dx * xhat) does, when eps is 0.\n" \
                             "If you do subtract it: 1 / N is 0 in C, because both are integers.") \
    M(variance_term_sign, "You add the variance term. It is subtracted: dx_j = rstd * (g_j - mean(g) - xhat_j * mean(g * xhat)).") \
    M(backward_n_minus_1, "You divide the sums in backward by N - 1. Both are means over the N values of the row.") \
    M(sums_not_divided, "You use the sums of g and of g * xhat. Both are means: divide by N.") \
    M(mean_g_not_divided, "You use the sum of g. It is a mean, as that of g * xhat: divide by N.") \
    M(mean_gx_not_divided, "You use the sum of g * xhat. It is a mean, as that of g: divide by N.") \
    M(variance_raw_x, "Your variance term contains x. It contains xhat = (x - mean) * rstd, in front of the mean and inside it.") \
    M(gamma_missing_in_g, "Your dx starts from dy. It starts from the gradient of xhat: g = gamma * dy, inside both means as well.") \
    M(gamma_missing_in_direct, "Your direct term contains dy. It contains g = gamma * dy, as the two means do.") \
    M(gamma_missing_in_mean_g, "Your mean term contains the mean of dy. It is the mean of g = gamma * dy.") \
    M(gamma_missing_in_mean_gx, "Your variance term contains the mean of dy * xhat. It is the mean of g * xhat, with g = gamma * dy.") \
    M(gamma_in_front, "You multiply the whole bracket by gamma_j. The two means need the gamma of each value i: use g = gamma * dy in all three terms.") \
    M(rstd_on_direct_alone, "You multiply the direct term alone by rstd. It multiplies the whole bracket.") \
    M(rstd_missing, "Your dx lacks the factor rstd. xhat is (x - mean) * rstd, so every term of dx carries it.") \
    M(dx_assigned, "You write dx[..] = .. where += is needed. x has another use here, and its gradient was already in dx.")

GRADER_MISTAKES_OF(forward, FORWARD);
GRADER_MISTAKES_OF(backward, BACKWARD);

static const unsigned of_y = 2 * beta_of_row - 1,
                      of_dbeta = dbeta_with_gamma | dbeta_assigned | averaged_over_rows | sum_assigned | backward_transposed,
                      of_dgamma = dgamma_without_xhat | dgamma_with_gamma | dgamma_raw_x | dgamma_assigned | averaged_over_rows |
                                  sum_assigned | backward_transposed | last_row_saved | mean_not_saved | rstd_not_saved | deviation_saved |
                                  variance_saved | xhat_not_scaled,
                      of_dx = backward_transposed | last_row_saved | xhat_not_scaled | (2u * dx_assigned - mean_term_missing);

/* ---- The formula, with a switch for each ---- */

enum { R = 3, N = 5, LEN = R * N };
typedef struct {
    size_t rows, n;
    double eps;
    const double *x, *gamma, *beta, *dy;
    const double *other_x, *other_gamma, *other_beta; /* what other operators have put into the gradients before; NULL for 0 */
} problem;

static double at(const double *v, size_t i) { return v ? v[i] : 0; }

/* Forward's mean and rstd that belong to value i of row r, whose values lie `step` apart from `first`. */
static void moments(unsigned m, const problem *p, size_t r, size_t i, double *mean, double *rstd)
{
    size_t first = r * p->n, step = 1, count = p->n;
    if (m & rows_transposed) first = r, step = p->rows;
    if (m & batch_norm) first = i, step = p->n, count = p->rows;
    if (m & one_mean) first = 0, step = 1, count = p->rows * p->n;
    double var = 0;
    *mean = 0;
    for (size_t k = 0; k < count && !(m & (integer_division | mean_is_0)); k++) *mean += p->x[first + k * step] / (m & mean_not_divided ? 1 : (double)count);
    for (size_t k = 0; k < count && !(m & (integer_division | variance_is_0)); k++) {
        const double d = p->x[first + k * step] - (m & variance_not_centred ? 0 : *mean);
        var += d * d / (double)(m & variance_n_minus_1 ? count - 1 : m & variance_not_divided ? 1 : count);
    }
    const double eps = m & eps_missing ? 0 : p->eps;
    *rstd = m & eps_outside_root ? 1 / (sqrt(var) + eps) : 1 / sqrt(var + eps);
    if (m & root_missing) *rstd *= *rstd;
    if (m & rstd_is_deviation) *rstd = 1 / *rstd;
    if (m & not_divided) *rstd = 1;
}

static void formula_y(unsigned m, const void *data, double *y)
{
    const problem *p = data;
    for (size_t r = 0; r < p->rows; r++)
        for (size_t i = 0; i < p->n; i++) {
            const size_t at_i = m & rows_transposed ? i * p->rows + r : r * p->n + i;
            double mean, rstd;
            moments(m, p, r, i, &mean, &rstd);
            const double xhat = (p->x[at_i] - (m & mean_not_subtracted ? 0 : mean)) * rstd;
            const double gamma = m & gamma_missing_in_y ? 1 : p->gamma[m & gamma_of_row ? r : i];
            const double beta = m & beta_missing_in_y ? 0 : p->beta[m & beta_of_row ? r : i];
            y[at_i] = m & beta_before_gamma ? gamma * (xhat + beta) : gamma * xhat + beta;
        }
}

/* What backward finds in s.mean[r] and s.rstd[r]. The memory that forward gets is filled with FILL. */
enum { FILL = 7 };
static void saved_moments(unsigned m, const problem *p, size_t r, double *mean, double *rstd)
{
    moments(0, p, m & last_row_saved ? p->rows - 1 : r, 0, mean, rstd);
    if (m & deviation_saved) *rstd = 1 / *rstd;
    if (m & variance_saved) *rstd = 1 / (*rstd * *rstd) - p->eps;
    if (m & mean_not_saved) *mean = FILL;
    if (m & rstd_not_saved) *rstd = FILL;
}

static void formula_dbeta(unsigned m, const void *data, double *dbeta)
{
    const problem *p = data;
    for (size_t i = 0; i < p->n; i++) {
        double sum = m & (dbeta_assigned | sum_assigned) ? 0 : at(p->other_beta, i);
        for (size_t r = m & dbeta_assigned ? p->rows - 1 : 0; r < p->rows; r++)
            sum += p->dy[m & backward_transposed ? i * p->rows + r : r * p->n + i] * (m & dbeta_with_gamma ? p->gamma[i] : 1) /
                   (m & averaged_over_rows ? (double)p->rows : 1);
        dbeta[i] = sum;
    }
}

static void formula_dgamma(unsigned m, const void *data, double *dgamma)
{
    const problem *p = data;
    for (size_t i = 0; i < p->n; i++) {
        double sum = m & (dgamma_assigned | sum_assigned) ? 0 : at(p->other_gamma, i);
        for (size_t r = m & dgamma_assigned ? p->rows - 1 : 0; r < p->rows; r++) {
            const size_t at_i = m & backward_transposed ? i * p->rows + r : r * p->n + i;
            double mean, rstd;
            saved_moments(m, p, r, &mean, &rstd);
            const double xhat = (p->x[at_i] - mean) * (m & xhat_not_scaled ? 1 : rstd);
            const double factor = m & dgamma_without_xhat ? 1 : m & dgamma_raw_x ? p->x[at_i] : xhat;
            sum += p->dy[at_i] * factor * (m & dgamma_with_gamma ? p->gamma[i] : 1) / (m & averaged_over_rows ? (double)p->rows : 1);
        }
        dgamma[i] = sum;
    }
}

static void formula_dx(unsigned m, const void *data, double *dx)
{
    const problem *p = data;
    const double count = m & sums_not_divided ? 1 : (double)p->n - (m & backward_n_minus_1 ? 1 : 0);
    for (size_t r = 0; r < p->rows; r++) {
        double mean, rstd, direct[N], third[N], mean_g = 0, mean_gx = 0;
        saved_moments(m, p, r, &mean, &rstd);
        for (size_t i = 0; i < p->n; i++) {
            const size_t at_i = m & backward_transposed ? i * p->rows + r : r * p->n + i;
            const double d = p->dy[at_i], g = (m & (gamma_missing_in_g | gamma_in_front) ? 1 : p->gamma[i]) * d;
            direct[i] = m & gamma_missing_in_direct ? d : g;
            third[i] = m & variance_raw_x ? p->x[at_i] : (p->x[at_i] - mean) * (m & xhat_not_scaled ? 1 : rstd);
            mean_g += (m & gamma_missing_in_mean_g ? d : g) / (m & mean_g_not_divided ? 1 : count);
            mean_gx += (m & gamma_missing_in_mean_gx ? d : g) * third[i] / (m & mean_gx_not_divided ? 1 : count);
        }
        if (m & mean_term_missing) mean_g = 0;
        if (m & variance_term_missing) mean_gx = 0;
        if (m & variance_term_sign) mean_gx = -mean_gx;
        for (size_t i = 0; i < p->n; i++) {
            const size_t at_i = m & backward_transposed ? i * p->rows + r : r * p->n + i;
            const double all = m & rstd_missing ? 1 : rstd, rest = mean_g + third[i] * mean_gx;
            const double part = m & rstd_on_direct_alone ? all * direct[i] - rest : all * (direct[i] - rest);
            dx[at_i] = (m & dx_assigned ? 0 : at(p->other_x, at_i)) + (m & gamma_in_front ? p->gamma[i] : 1) * part;
        }
    }
}

/* ---- The learner's numbers ---- */

typedef struct {
    double y[LEN], dx[LEN], dgamma[N], dbeta[N];
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

/* Run the exercise on p, asking for some gradients. x, gamma and beta get other_x, other_gamma and other_beta from operators recorded
 * later, which backward therefore visits first. */
static numbers run(const problem *p, int want)
{
    numbers r = { 0 };
    gr_tape *t = gr_tape_new(1, NULL);
    gr_full(t, GR_SHAPE(4096), FILL), gr_tape_reset(t); /* what gr_save_reals gives is not cleared */
    const gr_shape row = GR_SHAPE(p->n), whole = GR_SHAPE(p->rows, p->n);
    gr_tensor *in[3] = { put(t, p->x, whole, want & X), put(t, p->gamma, row, want & GAMMA), put(t, p->beta, row, want & BETA) };
    const double *other[3] = { p->other_x, p->other_gamma, p->other_beta };
    gr_tensor *y = my_layer_norm(t, in[0], in[1], in[2], p->eps);
    if (!y) grader_stop("no_result", "my_layer_norm returned NULL. The tape says: \"%s\"", gr_message(t));
    if (!gr_same_shape(y, in[0]))
        grader_stop("wrong_shape", "x is %s and y is %s. LayerNorm keeps the shape.", gr_shape_text(t, in[0]), gr_shape_text(t, y));
    take(r.y, y->data, y->len);
    gr_tensor *loss = gr_sum(t, gr_mul(t, y, gr_input(t, p->dy, whole)), GR_ALL_AXES, false);
    for (int k = 0; k < 3; k++)
        if (other[k] && want & 1 << k)
            loss = gr_add(t, loss, gr_sum(t, gr_mul(t, in[k], gr_input(t, other[k], gr_shape_of(in[k]))), GR_ALL_AXES, false));
    if (want) gr_backward(t, loss);
    take(r.dx, gr_grad(t, in[0]), in[0]->len), take(r.dgamma, gr_grad(t, in[1]), p->n), take(r.dbeta, gr_grad(t, in[2]), p->n);
    if (memcmp(in[0]->data, p->x, in[0]->len * sizeof(double)))
        grader_stop("input_changed", "Your code writes into x->data. An operator never changes its inputs.");
    if (gr_failed(t)) grader_stop("tape_error", "The tape says: \"%s\"", gr_message(t));
    gr_tape_free(t);
    return r;
}

/* Numbers that no mistake leaves as they are: eps is large, no gamma is 1, no sum is 0. */
static const double x[LEN] = { 0.3, -1.2, 2.1, 0.7, -0.4, 1.9, 0.2, -0.6, 1.1, 3.0, -2.2, 0.9, 0.1, -0.8, 1.6 };
static const double gamma_[N] = { 1.3, -0.7, 0.4, 2.1, 0.6 }, beta[N] = { 0.2, -0.5, 1.1, 0.3, -0.9 };
static const double dy[LEN] = { 0.5, -0.3, 0.8, 0.1, -0.9, -0.2, 0.7, 0.4, -0.6, 0.3, 0.9, -0.1, -0.5, 0.2, 0.6 };
static const double other_x[LEN] = { 0.4, 0.9, -0.2, 0.6, -0.7, 0.35, 0.15, -0.45, 0.55, -0.8, 0.25, 0.65, -0.3, 0.75, 0.1 };
static const double other_gamma[N] = { 0.7, 0.1, -0.4, 0.8, 0.45 }, other_beta[N] = { -0.6, 0.3, 0.95, -0.15, 0.5 };
static const problem general = { R, N, 0.3, x, gamma_, beta, dy, other_x, other_gamma, other_beta };
static const grader_input inputs[] = { { "x", x, R, N }, { "gamma", gamma_, 1, N }, { "beta", beta, 1, N }, { "dy", dy, R, N }, { NULL } };
static const double ones[N] = { 1, 1, 1, 1, 1 }, zeros[N], first[N] = { 1 };
static const problem worked = { 1, 3, 0, (const double[]){ 1, 2, 4 }, ones, zeros, first, NULL, NULL, NULL };

/* The README works some of these by hand; the last one shows N: with N - 1 it would be 1.5000, -0.5000. */
static const struct {
    size_t n;
    double eps, x[4], y[4];
} by_hand[] = {
    { 3, 0, { 1, 2, 4 }, { -1.06904, -0.26726, 1.33631 } },
    { 4, 1e-5, { 1, 2, 3, 4 }, { -1.34164, -0.44721, 0.44721, 1.34164 } },
    { 4, 1e-5, { 1, 0, 0, 0 }, { 1.73200, -0.57733, -0.57733, -0.57733 } },
};

static void judge(const grader_mistake *known, const char *name, grader_formula *f, unsigned among, const double *got, const double *small,
                  size_t rows, const double *before)
{
    const grader_result general_result = { name, "3 rows of 5 values, eps = 0.3", f, &general, among, rows, N, got, before, inputs };
    const grader_result worked_result = {
        name, "x = (1, 2, 4), gamma = 1, beta = 0, eps = 0, dy = (1, 0, 0)", f, &worked, among, 1, 3, small, NULL
    };
    grader_judge(known, &general_result, &worked_result);
}

static gr_tensor *checked(gr_tape *t, gr_tensor *const *in, void *argument)
{
    (void)argument;
    return my_layer_norm(t, in[0], in[1], in[2], 0.3);
}

static void check_forward(void)
{
    grader_step("forward, three rows worked by hand");
    const numbers small = run(&worked, 0), whole = run(&general, 0);
    if (grader_same(whole.y, (double[LEN]){ 0 }, LEN))
        grader_stop("not_begun", "y is still 0 everywhere. Begin at TODO 1 in exercise.c: forward, about six lines.");
    judge(forward, "y", formula_y, of_y, whole.y, small.y, R, NULL);
    for (size_t k = 0; k < sizeof by_hand / sizeof *by_hand; k++) {
        const size_t n = by_hand[k].n;
        const numbers r = run(&(problem){ 1, n, by_hand[k].eps, by_hand[k].x, ones, zeros, zeros, NULL, NULL, NULL }, 0);
        for (size_t i = 0; i < n; i++)
            if (!(fabs(r.y[i] - by_hand[k].y[i]) < 6e-6)) {
                grader_failed();
                grader_row("yours", r.y, n), grader_row("right", by_hand[k].y, n);
                grader_stop("worked_numbers", "Your y is right for one shape and wrong for another. Is a size or eps written as a number?");
            }
    }
}

static void check_backward(void)
{
    grader_step("backward: dbeta");
    const numbers small = run(&worked, ALL), whole = run(&general, ALL);
    if (grader_same(whole.dx, other_x, LEN) && grader_same(whole.dgamma, other_gamma, N) && grader_same(whole.dbeta, other_beta, N))
        grader_stop("half_done", "Forward is right. Backward adds nothing yet: go on at TODO 2, about twelve lines.");
    judge(backward, "dbeta", formula_dbeta, of_dbeta, whole.dbeta, small.dbeta, 1, other_beta);
    grader_step("backward: dgamma");
    judge(backward, "dgamma", formula_dgamma, of_dgamma, whole.dgamma, small.dgamma, 1, other_gamma);
    grader_step("backward: dx");
    judge(backward, "dx", formula_dx, of_dx, whole.dx, small.dx, R, other_x);
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "--ambiguous"))
        return grader_ambiguous(forward, formula_y, &general, of_y, LEN) +
               grader_ambiguous(backward, formula_dbeta, &general, of_dbeta, N) +
               grader_ambiguous(backward, formula_dgamma, &general, of_dgamma, N) +
               grader_ambiguous(backward, formula_dx, &general, of_dx, LEN);
    grader_start("Lesson 10: LayerNorm");
    check_forward();
    check_backward();
    grader_step("gr_gradcheck: every gradient, by finite differences");
    grader_gradcheck_operator("my_layer_norm", checked, NULL,
                              (gr_gradcheck_input[]){ { .shape = GR_SHAPE(4, 7) }, { .shape = GR_SHAPE(7) }, { .shape = GR_SHAPE(7) } }, 3,
                              (const char *const[]){ "x", "gamma", "beta" });
    return grader_end("All right. gradus does the same in ops/layer_norm.c: compare it with yours.");
}
