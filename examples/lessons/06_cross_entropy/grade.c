/* grade.c - the grader of lesson 6. */
#include "../grader.h"
#include "gradus.h"
#include <math.h>
#include <string.h>

gr_tensor *my_cross_entropy(gr_tape *t, gr_tensor *x, const gr_ints *target);

/* ---- The known mistakes ---- */

#define MISTAKES(M) \
    /* forward */ \
    M(max_not_added_back, \
      "Your loss lacks the largest logit. The sum holds exp(x - largest), so log of the sum is too small by the largest logit:\n" \
      "loss = log(sum) + largest - x of the target.") \
    M(sum_not_begun, \
      "Your sum of exp goes on from one row to the next. Each row has a softmax of its own: start the sum at 0 in each row.") \
    M(not_divided, "Your loss is the sum over the rows. It is the mean: divide by the number of rows.") \
    M(divided_by_all, "You divide by rows * C. The mean is over the rows: each row has one loss, whatever the number of classes.") \
    M(log_missing, "Your loss is -p of the target. It is -log p: that is 0 for p = 1, and grows without a bound when p goes to 0.") \
    M(all_classes, "You add up -log p over all classes. The loss looks at the target's p alone. The others are in it through the sum.") \
    M(log_to_base_10, "You take log10. The loss needs the natural logarithm, the inverse of exp: that is log in C.") \
    /* backward */ \
    M(target_missing, "Your dx is p. Subtract 1 at the target: dx = p - target.\n" \
                      "You can see it without a grader: dx of a row must add up to 0, and yours does not.") \
    M(diagonal_only, \
      "Your dx is right at the target, and 0 elsewhere. Every logit is in the sum of softmax, so each moves p of the target:\n" \
      "for the others dx is p.") \
    M(dx_not_divided, "Your dx is that of the sum of the losses. The loss is their mean: divide dx by the number of rows.") \
    M(dx_assigned, "You write dx[..] = .. where += is needed. x has another use here, and its gradient was already in dx.") \
    M(dy_missing, \
      "Your dx lacks g. p - target is the slope of the loss. The chain rule multiplies it by g, and the loss is not the end here.") \
    M(sum_missing_in_p, "Your dx holds exp(x - largest) in place of p. Divide by the sum before you keep it in s.p.") \
    M(subtracted_from_all, "You subtract 1 for every class. The target alone has p - 1; for the others dx is p.") \
    M(class_number_subtracted, \
      "You subtract s->target[r]. That is a class number, and not 0 or 1. Subtract 1 where c is equal to it, and 0 elsewhere.") \
    M(others_negative, \
      "Your dx is -p for the classes that are not the target. It is p there: a larger logit of theirs makes the loss larger.") \
    M(dx_divided_by_all, "You divide dx by rows * C. The loss is the mean over the rows: divide by the number of rows.") \
    M(slope_again, "You multiply p - target by softmax's slope p (1 - p). It is in p - target already: the -1 / p of the logarithm has\n" \
                   "cancelled the p, and 1 - p is left.")

GRADER_MISTAKES(MISTAKES);
static const unsigned of_loss = target_missing - 1, of_dx = 2 * slope_again - target_missing;

/* ---- The formula, with a switch for each ---- */

enum { R = 3, C = 4, LEN = R * C };
typedef struct {
    size_t rows, n;
    const double *x;
    const int *target;
    double g;              /* the gradient with respect to the loss */
    const double *other_x; /* what another operator has put into dx before; NULL for 0 */
} problem;

/* The loss of row 0, of rows 0 and 1, and so on. */
static void formula_loss(unsigned m, const void *data, double *loss)
{
    const problem *p = data;
    const double natural = m & log_to_base_10 ? 1 / log(10) : 1;
    double all = 0, sum = 0;
    for (size_t r = 0; r < p->rows; r++) {
        const double *x = p->x + r * p->n, count = m & not_divided ? 1 : (double)(r + 1) * (m & divided_by_all ? (double)p->n : 1);
        double max = x[0], one = 0;
        if (!(m & sum_not_begun)) sum = 0;
        for (size_t c = 1; c < p->n; c++) max = fmax(max, x[c]);
        for (size_t c = 0; c < p->n; c++) sum += exp(x[c] - max);
        const double log_sum = natural * log(sum) + (m & max_not_added_back ? 0 : max);
        for (size_t c = 0; c < p->n; c++)
            if (m & all_classes || c == (size_t)p->target[r]) one += m & log_missing ? -exp(x[c] - log_sum) : log_sum - x[c];
        all += one, loss[r] = all / count;
    }
}

static void formula_dx(unsigned m, const void *data, double *dx)
{
    const problem *p = data;
    for (size_t r = 0; r < p->rows; r++) {
        const double *x = p->x + r * p->n;
        const double count = m & dx_not_divided ? 1 : (double)p->rows * (m & dx_divided_by_all ? (double)p->n : 1);
        double sum = 0, max = x[0];
        for (size_t c = 0; c < p->n; c++) sum += exp(x[c]), max = fmax(max, x[c]);
        if (m & sum_missing_in_p) sum = exp(max);
        for (size_t c = 0; c < p->n; c++) {
            const bool target = c == (size_t)p->target[r];
            const double q = exp(x[c]) / sum, slope = m & slope_again ? q * (1 - q) : 1;
            const double less = m & target_missing ? 0 : m & class_number_subtracted ? p->target[r] : target || m & subtracted_from_all;
            double part = (q - less) * slope * (m & dy_missing ? 1 : p->g) / count;
            if (!target) part *= m & diagonal_only ? 0 : m & others_negative ? -1 : 1;
            dx[r * p->n + c] = (m & dx_assigned || !p->other_x ? 0 : p->other_x[r * p->n + c]) + part;
        }
    }
}

/* ---- The learner's numbers ---- */

/* The loss of the first rows of p; backward writes to dx, unless it is NULL. x gets other_x from an operator recorded later, which backward
 * therefore visits first. */
static double run(const problem *p, size_t rows, double *dx)
{
    gr_tape *t = gr_tape_new(1, NULL);
    const gr_shape shape = GR_SHAPE(rows, p->n);
    gr_tensor *in = gr_want_grad(t, gr_input(t, p->x, shape)); /* gr_real is double here */
    gr_tensor *loss = my_cross_entropy(t, in, gr_ints_new(t, p->target, GR_SHAPE(rows)));
    if (!loss) grader_stop("no_result", "my_cross_entropy returned NULL. The tape says: \"%s\"", gr_message(t));
    const double value = loss->data[0];
    gr_tensor *all = gr_mul(t, loss, gr_scalar(t, p->g));
    if (p->other_x) all = gr_add(t, all, gr_sum(t, gr_mul(t, in, gr_input(t, p->other_x, shape)), GR_ALL_AXES, false));
    if (dx) gr_backward(t, all);
    if (dx && gr_grad(t, in)) memcpy(dx, gr_grad(t, in), in->len * sizeof *dx);
    if (memcmp(in->data, p->x, in->len * sizeof *p->x))
        grader_stop("input_changed",
                    "Your code writes into x->data. Subtract the largest logit where you use x, or keep the differences in s.p.");
    if (gr_failed(t)) grader_stop("tape_error", "The tape says: \"%s\"", gr_message(t));
    gr_tape_free(t);
    return value;
}

static const double x[LEN] = { 0.3, -1.2, 2.1, 0.7, -0.4, 1.9, 0.2, -0.6, 1.1, 3.0, -2.2, 0.9 };
static const double other[LEN] = { 0.5, -0.3, 0.8, 0.1, -0.9, -0.2, 0.7, 0.4, -0.6, 0.3, 0.9, -0.1 };
static const int target[R] = { 0, 2, 3 };
static const problem general = { R, C, x, target, 0.7, other };
static const grader_input inputs[] = { { "x", x, R, C }, { NULL } };
static const problem worked = { 1, 3, (const double[]){ 0, 0, 0 }, (const int[]){ 0 }, 1, NULL };

static void judge(const char *name, grader_formula *f, unsigned among, size_t rows, size_t n, const double *got, const double *before,
                  size_t small_n, const double *small)
{
    const char *const of =
        f == formula_loss ? "row 0, rows 0 and 1, rows 0 to 2; targets 0, 2, 3" : "3 rows of 4 logits, targets 0, 2, 3; the gradient of the loss is 0.7";
    const grader_result whole = { name, of, f, &general, among, rows, n, got, before, inputs, .unlike = f == formula_loss },
                        few = { name, "the logits (0, 0, 0), target 0", f, &worked, among, 1, small_n, small, NULL };
    grader_judge(list, &whole, &few);
}

/* ---- Logits for which exp is infinite or 0. Each finds what those before it cannot ---- */

static const struct {
    const char *id, *says;
    size_t rows;
    double x[6], loss;
    int target[2];
} extreme[] = {
    { "no_maximum",
      "Your loss is wrong for (1000, 1001, 999). exp of such logits is infinite. Subtract the row's largest logit, its value and not its\n"
      "index, from all of them before exp: p stays the same, and no exponent is above 0.",
      1,
      { 1000, 1001, 999 },
      1.4076059644443804,
      { 0 } },
    { "maximum_from_zero",
      "Your loss is wrong for the logits (-1000, -1001, -999), which are all negative. Does your search for the largest one begin\n"
      "at 0? Begin it at the first logit of the row.",
      1,
      { -1000, -1001, -999 },
      1.4076059644443804,
      { 0 } },
    { "one_maximum",
      "Your loss is wrong for the rows (1000, 1001, 999) and (-1000, -1001, -999), and right for each alone. Each row has its own\n"
      "largest logit: start the search again in each.",
      2,
      { 1000, 1001, 999, -1000, -1001, -999 },
      1.4076059644443804,
      { 0 } },
    { "not_the_largest",
      "You subtract another logit than the largest one. For (0, 1000, 1000) an exponent is still 1000. Subtract the largest of the row.",
      1,
      { 0, 1000, 1000 },
      0.69314718055994531,
      { 1 } },
    { "log_of_zero",
      "You take the logarithm of p. For the logits (1000, 0, 0), target 1, p of the target is rounded to 0, and the loss is 1000. Put\n"
      "the formula of p into the logarithm: -log p = log(sum) + largest - x of the target.",
      1,
      { 1000, 0, 0 },
      1000,
      { 1 } },
};

static void check_extremes(void)
{
    for (size_t k = 0; k < sizeof extreme / sizeof *extreme; k++) {
        const double loss = run(&(problem){ extreme[k].rows, 3, extreme[k].x, extreme[k].target, 1, NULL }, extreme[k].rows, NULL);
        if (grader_same(&loss, &extreme[k].loss, 1)) continue;
        grader_failed();
        grader_row("yours", &loss, 1), grader_row("right", &extreme[k].loss, 1);
        grader_stop(extreme[k].id, "%s", extreme[k].says);
    }
}

static gr_tensor *checked(gr_tape *t, gr_tensor *const *in, void *argument)
{
    return my_cross_entropy(t, in[0], gr_ints_new(t, argument, GR_SHAPE(5)));
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "--ambiguous"))
        return grader_ambiguous(list, formula_loss, &general, of_loss, R) + grader_ambiguous(list, formula_dx, &general, of_dx, LEN);
    grader_start("Lesson 6: softmax, cross-entropy");

    grader_step("forward");
    double loss[R], dx[LEN] = { 0 }, small_dx[3] = { 0 };
    for (size_t r = 0; r < R; r++) loss[r] = run(&general, r + 1, NULL);
    if (grader_same(loss, (double[R]){ 0 }, R))
        grader_stop("not_begun", "The loss is still 0. Begin at TODO 1 in exercise.c: forward, about nine lines.");
    double small = run(&worked, 1, NULL);
    judge("loss", formula_loss, of_loss, 1, R, loss, NULL, 1, &small);
    grader_step("forward, with logits of 1000");
    check_extremes();

    grader_step("backward");
    run(&general, R, dx), run(&worked, 1, small_dx);
    if (grader_same(dx, other, LEN))
        grader_stop("half_done", "Forward is right. Backward adds nothing yet: go on at TODO 2, about four lines.");
    judge("dx", formula_dx, of_dx, R, C, dx, other, 3, small_dx);

    grader_step("backward, with logits of 1000");
    double sure[3] = { 0 };
    run(&(problem){ 1, 3, (const double[]){ 1000, 0, 0 }, (const int[]){ 1 }, 1, NULL }, 1, sure);
    if (!grader_same(sure, (const double[]){ 1, -1, 0 }, 3)) {
        grader_failed();
        grader_row("yours", sure, 3), grader_row("right", (const double[]){ 1, -1, 0 }, 3);
        grader_stop("p_not_saved",
                    "Forward survives the logits (1000, 0, 0), and backward does not. Does backward call exp again, or is p kept without\n"
                    "the largest logit subtracted? Keep p = exp(x - largest) / sum in forward.");
    }

    grader_step("gr_gradcheck: the gradient, by finite differences");
    grader_gradcheck("my_cross_entropy", checked, (int[]){ 2, 0, 1, 1, 2 }, &(gr_gradcheck_input){ .shape = GR_SHAPE(5, 3) }, 1);
    return grader_end("All right. ops/cross_entropy.c keeps the largest logit and the sum in place of p: compare it with yours.");
}
