/* grade.c - the grader of lesson 7. */
#include "../grader.h"
#include "gradus.h"
#include <math.h>
#include <string.h>

void my_momentum(double *x, const double *g, double *b, size_t n, double lr, double mu);
void my_adam(double *x, const double *g, double *m, double *v, int *k, size_t n, double lr, double beta1, double beta2, double eps);

/* ---- The known mistakes ---- */

#define MISTAKES(M) \
    /* momentum */ \
    M(momentum_ignored, \
      "You move x by lr * g: that is plain descent. Move it by lr * b, where b keeps mu times its old value: b = mu b + g.") \
    M(momentum_damped, \
      "Your b is mu b + (1 - mu) g, an average. Here the gradient is added whole: b = mu b + g. If the gradient stays, b grows to\n" \
      "1 / (1 - mu) times it, and your steps are smaller than those by the factor 1 - mu.") \
    M(lr_in_b, "Your b contains lr. As long as lr stays, the steps are the same. If lr becomes smaller, your b still holds steps of the\n" \
               "old size: b = mu b + g, and lr multiplies b when x moves.") \
    M(b_too_late, \
      "You move x before you compute the new b, so every gradient arrives one step too late. In the first step x stands still.") \
    M(b_doubled, "You write b += mu b + g. += keeps the old b a second time: b = mu b + g.") \
    /* both */ \
    M(x_overwritten, "You write the step over x. Subtract it from x: x[i] -= ..") \
    /* Adam */ \
    M(m_uncorrected, \
      "You do not correct m. It starts at 0, so after k steps it holds the part 1 - beta1^k of the gradients: divide by that.\n" \
      "With g = 4, the first m is 0.4.") \
    M(v_uncorrected, \
      "You do not correct v. It starts at 0, so after k steps it holds the part 1 - beta2^k of the squares: divide by that.\n" \
      "With g = 4, the first v is 0.016, and its root 0.126.") \
    M(corrected_in_place, \
      "You write the corrected values back into m and v, and the next step corrects them again. Keep m and v as they are.") \
    M(eps_inside, "You add eps inside the root. Adam adds it to the root: sqrt(v_hat) + eps. (LayerNorm's eps is inside.)") \
    M(eps_uncorrected, \
      "You add eps to the root of v before you correct v, so eps is corrected, too. In the first step it is then 1 / sqrt(1 - beta2)\n" \
      "times as large. Correct v first: sqrt(v_hat) + eps.") \
    M(eps_outside_quotient, "You add eps to lr * m_hat / sqrt(v_hat). C divides first: put brackets around sqrt(v_hat) + eps.") \
    M(eps_in_step, "You add eps to m_hat / sqrt(v_hat). C divides first: put brackets around sqrt(v_hat) + eps.") \
    M(eps_missing, "You do not add eps. The denominator is sqrt(v_hat) + eps, so that it is not 0 where all gradients have been 0.") \
    M(betas_exchanged, "You exchange beta1 and beta2. beta1 belongs to m, the mean of g; beta2 belongs to v, the mean of g^2.") \
    M(betas_reversed, \
      "You multiply the old mean by 1 - beta, and the new gradient by beta. It is the other way round: beta is near 1, and keeps\n" \
      "the old mean. In the first step this makes no difference.") \
    M(v_of_g, "Your v is the mean of g or of |g|. It is the mean of g^2.") \
    M(root_missing, \
      "You divide by v_hat. Divide by its root: sqrt(v_hat) + eps. The root of a mean of squares is as large as a gradient.") \
    M(m_unused, "You move x by the gradient g of this step. The numerator is m_hat, the mean of all gradients.") \
    M(g_whole, "Your m adds the whole g, as momentum does. In Adam g is multiplied by 1 - beta1.") \
    M(v_corrected_by_beta1, "You correct v with beta1. v was made with beta2, so divide it by 1 - beta2^k.") \
    M(betas_are_numbers, "You write 0.9 and 0.999 as numbers. The caller chooses them: use beta1 and beta2.") \
    M(pointer_moved, "*k++ moves the pointer k and leaves what it points to as it was. Write (*k)++ or ++*k.") \
    M(step_stays_1, "Your k is 1 in every step, so you correct later steps too much. Count in *k: it is kept from step to step.") \
    M(step_each_value, "Your k grows with each value of x. It counts steps: add 1 once, before the loop.")

GRADER_MISTAKES(MISTAKES);
static const unsigned of_momentum = m_uncorrected - 1, of_adam = x_overwritten | (2 * step_each_value - m_uncorrected);

/* ---- The formula, with a switch for each. The answer is x after each step ---- */

enum { STEPS = 5, N = 3 };
typedef struct {
    size_t steps, n;
    const double *x, *g, *lr; /* [n], [steps, n], [steps] */
    double beta1, beta2, eps; /* beta1 is momentum's mu */
} problem;

static void formula_momentum(unsigned m, const void *data, double *answer)
{
    const problem *p = data;
    double x[N], b[N] = { 0 };
    memcpy(x, p->x, p->n * sizeof *x);
    for (size_t s = 0; s < p->steps; s++)
        for (size_t i = 0; i < p->n; i++) {
            const double g = p->g[s * p->n + i], old = b[i];
            b[i] = (m & b_doubled ? 1 + p->beta1 : p->beta1) * b[i] +
                   g * (m & momentum_damped ? 1 - p->beta1 : 1) * (m & lr_in_b ? p->lr[s] : 1);
            if (m & x_overwritten) x[i] = 0;
            x[i] -= (m & lr_in_b && !(m & momentum_ignored) ? 1 : p->lr[s]) * (m & momentum_ignored ? g : m & b_too_late ? old : b[i]);
            answer[s * p->n + i] = x[i];
        }
}

enum { BEHIND_K = 23 }; /* the number behind *k in memory */

static void formula_adam(unsigned mistakes, const void *data, double *answer)
{
    const problem *p = data;
    const bool numbers = mistakes & betas_are_numbers;
    const double first = numbers ? 0.9 : p->beta1, second = numbers ? 0.999 : p->beta2;
    const double beta1 = mistakes & betas_exchanged ? second : first, beta2 = mistakes & betas_exchanged ? first : second;
    const double keep1 = mistakes & betas_reversed ? 1 - beta1 : beta1, keep2 = mistakes & betas_reversed ? 1 - beta2 : beta2;
    double x[N], m[N] = { 0 }, v[N] = { 0 };
    int k = 0;
    memcpy(x, p->x, p->n * sizeof *x);
    for (size_t s = 0; s < p->steps; s++) {
        if (!(mistakes & (step_stays_1 | step_each_value)) || (mistakes & step_stays_1 && k == 0)) k++;
        for (size_t i = 0; i < p->n; i++) {
            const double g = p->g[s * p->n + i];
            if (mistakes & step_each_value) k++;
            if (mistakes & pointer_moved) k = BEHIND_K;
            m[i] = keep1 * m[i] + (mistakes & g_whole ? 1 : 1 - keep1) * g,
            v[i] = keep2 * v[i] + (1 - keep2) * (mistakes & v_of_g ? g : g * g);
            const double m_hat = m[i] / (mistakes & m_uncorrected ? 1 : 1 - pow(beta1, k));
            const double v_hat = v[i] / (mistakes & v_uncorrected ? 1 : 1 - pow(mistakes & v_corrected_by_beta1 ? beta1 : beta2, k));
            if (mistakes & corrected_in_place) m[i] = m_hat, v[i] = v_hat;
            const double eps = mistakes & eps_missing ? 0 : p->eps;
            const double extra = mistakes & eps_uncorrected ? eps / sqrt(1 - pow(beta2, k)) - eps : 0;
            const double root = mistakes & root_missing ? v_hat : sqrt(v_hat), above = mistakes & m_unused ? g : m_hat;
            const double below = mistakes & eps_inside                             ? sqrt(v_hat + eps)
                                 : mistakes & (eps_outside_quotient | eps_in_step) ? root
                                                                                   : root + eps + extra;
            if (mistakes & x_overwritten) x[i] = 0;
            x[i] -= p->lr[s] * above / below + (mistakes & eps_outside_quotient ? eps : mistakes & eps_in_step ? p->lr[s] * eps : 0);
            answer[s * p->n + i] = x[i];
        }
    }
}

/* ---- The learner's numbers ---- */

static void run(const problem *p, bool adam, double *answer)
{
    double x[N], g[N], m[N] = { 0 }, v[N] = { 0 };
    int k[2] = { 0, BEHIND_K };
    memcpy(x, p->x, p->n * sizeof *x);
    for (size_t s = 0; s < p->steps; s++) {
        const double *const right = p->g + s * p->n;
        memcpy(g, right, p->n * sizeof *g);
        if (adam) my_adam(x, g, m, v, k, p->n, p->lr[s], p->beta1, p->beta2, p->eps);
        else my_momentum(x, g, m, p->n, p->lr[s], p->beta1);
        if (memcmp(g, right, p->n * sizeof *g))
            grader_stop("gradient_changed", "Your code writes into g. The gradient belongs to the caller.");
        memcpy(answer + s * p->n, x, p->n * sizeof *x);
    }
}

/* All gradients are positive, so that the root of a mean of g exists. lr changes, and eps is large. */
static const double x0[N] = { 0.4, -1.1, 0.8 }, lr[STEPS] = { 0.1, 0.1, 0.1, 0.05, 0.05 };
static const double g[STEPS * N] = { 0.5, 1.3, 0.8, 0.1, 0.9, 2.2, 0.7, 0.4, 1.6, 0.3, 1.9, 0.2, 1.5, 0.6, 1.1 };
static const problem general = { STEPS, N, x0, g, lr, 0.9, 0.97, 0.05 };
static const double zero[1], worked_g[2] = { 4, -2 };
static const grader_input inputs[] = { { "x", x0, 1, N }, { "g", g, STEPS, N }, { "lr", lr, 1, STEPS }, { NULL } };
static const problem worked = { 2, 1, zero, worked_g, lr, 0.9, 0.999, 1e-8 };

static void judge(const char *name, grader_formula *f, unsigned among, bool adam)
{
    double all[STEPS * N], few[2], before[STEPS * N];
    for (size_t i = 0; i < STEPS * N; i++) before[i] = x0[i % N];
    run(&general, adam, all), run(&worked, adam, few);
    const char *const of =
        adam ? "3 values, 5 steps (a row for each), beta1 = 0.9, beta2 = 0.97, eps = 0.05" : "3 values, 5 steps (a row for each), mu = 0.9";
    const grader_result whole = { name, of, f, &general, among, STEPS, N, all, before, inputs, true };
    const grader_result small = {
        name, "g = 4 and then -2, lr = 0.1: how far x has moved after 1 and after 2 steps", f, &worked, among, 1, 2, few, NULL
    };
    grader_judge(list, &whole, &small);
}

/* ---- 40 steps beside gradus: the loss is half the sum of c x^2 ---- */

static void beside_gradus(bool adam)
{
    enum { FIVE = 5, MANY = 40 };
    const double c[FIVE] = { 1, 5, 0.2, 0, 3 };
    double x[FIVE] = { 1, 1, 1, 1, 1 }, m[FIVE] = { 0 }, v[FIVE] = { 0 }, cx[FIVE];
    int k = 0;
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *net = gr_module_new(t);
    gr_tensor *right = gr_param(t, net, "x", GR_SHAPE(FIVE), gr_init_constant(1));
    gr_optim *o =
        adam ? gr_adam_new(t, net, &(gr_adam_config){ .lr = 0.05 }) : gr_sgd_new(t, net, &(gr_sgd_config){ .lr = 0.05, .momentum = 0.8 });
    for (int s = 0; s < MANY; s++) {
        gr_tape_reset(t), gr_optim_zero_grad(o);
        gr_backward(t, gr_scale(t, gr_sum(t, gr_mul(t, gr_square(t, right), gr_input(t, c, GR_SHAPE(FIVE))), GR_ALL_AXES, false), 0.5));
        gr_optim_step(t, o);
        for (int i = 0; i < FIVE; i++) cx[i] = c[i] * x[i];
        if (adam) my_adam(x, cx, m, v, &k, FIVE, 0.05, 0.9, 0.999, 1e-8);
        else my_momentum(x, cx, m, FIVE, 0.05, 0.8);
        if (grader_same(x, right->data, FIVE)) continue;
        grader_failed();
        grader_row("yours", x, FIVE), grader_row("right", right->data, FIVE);
        grader_stop("unlike_gradus", "Your %s is right for 5 steps of 3 values, and differs from gradus' in step %d of 5 values.",
                    adam ? "Adam" : "momentum", s + 1);
    }
    gr_optim_free(o), gr_module_free(net), gr_tape_free(t);
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "--ambiguous"))
        return grader_ambiguous(list, formula_momentum, &general, of_momentum, STEPS * N) +
               grader_ambiguous(list, formula_adam, &general, of_adam, STEPS * N);
    grader_start("Lesson 7: momentum, Adam");

    double x[2], all[STEPS * N];
    grader_step("momentum");
    run(&worked, false, x);
    if (x[0] == 0 && x[1] == 0) grader_stop("not_begun", "x does not move. Begin at TODO 1 in exercise.c: momentum, about four lines.");
    judge("the move of x", formula_momentum, of_momentum, false);

    grader_step("Adam");
    run(&general, true, all);
    if (!memcmp(all + (STEPS - 1) * N, x0, sizeof x0))
        grader_stop("half_done", "Momentum is right. Adam moves nothing yet: go on at TODO 2, about seven lines.");
    if (!isfinite(all[0]))
        grader_stop(
            "step_from_zero",
            "Your first step is not a number. Is k still 0 there? 1 - beta^0 is 0, and you divide by it. The first step has k = 1:\n"
            "count before you correct. Or are the arguments of pow exchanged? pow(a, b) is a to the power of b.");
    judge("the move of x", formula_adam, of_adam, true);

    grader_step("40 steps beside gradus: momentum");
    beside_gradus(false);
    grader_step("40 steps beside gradus: Adam");
    beside_gradus(true);
    return grader_end("All right. optim/sgd.c and optim/adam.c do the same: compare them with yours.");
}
