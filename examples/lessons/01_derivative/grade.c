/* grade.c - the grader of lesson 1. */
#include "../grader.h"
#include "gradus.h"
#include <math.h>
#include <string.h>

typedef double function(double x);
typedef double loss(const double *w, size_t n);
double my_slope(function *f, double x, double h);
double my_step(double x);
void my_gradient(loss *f, double *w, size_t n, double *gradient);

/* ---- The known mistakes ---- */

#define MISTAKES(M) \
    /* my_slope */ \
    M(one_sided, "You take the slope from the right, (f(x + h) - f(x)) / h. Its error is proportional to h. A central difference\n" \
                 "goes from x - h to x + h; then this error cancels.") \
    M(left_sided, "You take the slope from the left, (f(x) - f(x - h)) / h. Its error is proportional to h. A central difference\n" \
                  "goes from x - h to x + h; then this error cancels.") \
    M(not_halved, "You divide by h. The points x - h and x + h are 2h apart: divide by 2h. Test: the slope of f(x) = x must be 1.") \
    M(one_sided_halved, \
      "You divide f(x + h) - f(x) by 2h. These two points are only h apart. A central difference takes f(x - h), not f(x).") \
    M(sign, "You subtract the right value from the left one. A function that grows must have a positive slope: f(x + h) - f(x - h).") \
    M(not_divided, "Your result is how far f moves. A slope is that movement divided by the distance of the points, 2h.") \
    M(precedence, "You write / 2 * h. C works from left to right, so this divides by 2 and multiplies by h. Write / (2 * h).") \
    M(parentheses, "You divide f(x - h) alone. Put brackets around the difference: the whole of it is divided by 2h.") \
    M(half_step, "You go h / 2 to each side. That is a central difference too, but here h is the move to each side: use x + h and x - h.") \
    /* my_gradient */ \
    M(not_restored, "You do not put w[i] back. Then the next weight is nudged at another place, and the caller's w has changed.") \
    M(all_nudged, "You nudge all weights at once. The loss then moves by the sum of all their effects. Nudge one weight at a time.") \
    M(first_nudged, "You nudge w[0] for every i. Derivative i needs a nudge of w[i] alone.") \
    M(gradient_one_sided, "my_gradient takes the slope from the right. Take the loss at w[i] + h and at w[i] - h, as my_slope does.") \
    M(gradient_one_sided_halved, "my_gradient divides by 2h, but its two losses belong to w[i] and w[i] + h, which are h apart. Take the loss at\n" \
                                 "w[i] - h, not at w[i].") \
    M(gradient_not_halved, "my_gradient divides by h. The two losses belong to weights that are 2h apart: divide by 2h.") \
    M(gradient_not_divided, "my_gradient writes how far the loss moves. Divide by 2h, as my_slope does.") \
    M(gradient_float, \
      "You keep a loss in a float, which has 7 digits. The two losses agree in nearly all of them, so that their difference is mostly\n" \
      "rounding. Use double.") \
    M(gradient_added, "You write gradient[i] += .. where = is needed. This function makes the gradient, and what was there has no " \
                      "meaning.")

GRADER_MISTAKES(MISTAKES);
static const unsigned of_slope = not_restored - 1, of_gradient = 2 * gradient_added - not_restored;

/* ---- The formulas, with a switch for each ---- */

static double cube(double x) { return x * x * x; }
static double bump(double x) { return x / (1 + x * x); }
static const struct {
    function *f;
    const char *name;
    double x, h;
} slopes[] = {
    { cube, "x^3", 2, 0.1 },
    { tanh, "tanh(x)", 0.7, 0.2 },
    { bump, "x / (1 + x^2)", -0.4, 0.3 },
    { cube, "x^3", -1.3, 0.05 },
};
static const int one = 1, all_of_them = sizeof slopes / sizeof *slopes;
enum { SLOPES = sizeof slopes / sizeof *slopes, WEIGHTS = 5 };

static void formula_slope(unsigned m, const void *data, double *answer)
{
    const int count = *(const int *)data;
    for (int i = 0; i < count; i++) {
        function *const f = slopes[i].f;
        const double x = slopes[i].x, h = slopes[i].h, move = m & half_step ? h / 2 : h;
        const double right = f(m & left_sided ? x : x + move), left = f(m & (one_sided | one_sided_halved) ? x : x - move);
        double apart = m & (one_sided | left_sided) ? move : 2 * move;
        if (m & not_halved) apart /= 2;
        answer[i] = m & parentheses ? right - left / apart : (right - left) / (m & precedence ? 2 / h : m & not_divided ? 1 : apart);
        if (m & sign) answer[i] = -answer[i];
    }
}

/* Every weight changes the slope of every other. */
static double general(const double *w, size_t n)
{
    double sum = 0, product = 1;
    for (size_t i = 0; i < n; i++) sum += (double)(i + 1) * w[i] * w[i] * w[i], product *= tanh(w[i]) + 1.5;
    return sum / 4 + product;
}
static const double place[WEIGHTS] = { 2.5, -1.2, 0.8, 0.3, -0.4 }, before[WEIGHTS] = { 1, -2, 3, 0.5, -1.5 };

static void formula_gradient(unsigned m, const void *data, double *answer)
{
    (void)data;
    double w[WEIGHTS];
    memcpy(w, place, sizeof w);
    for (size_t i = 0; i < WEIGHTS; i++) {
        const size_t k = m & first_nudged ? 0 : i, first = m & all_nudged ? 0 : k, last = m & all_nudged ? WEIGHTS - 1 : k;
        double old[WEIGHTS];
        memcpy(old, w, sizeof w);
        const double h = my_step(old[k]); /* the learner's, which has passed */
        for (size_t j = first; j <= last; j++) w[j] = old[j] + my_step(old[j]);
        const double above = general(w, WEIGHTS);
        for (size_t j = first; j <= last; j++)
            w[j] = m & (gradient_one_sided | gradient_one_sided_halved) ? old[j] : old[j] - my_step(old[j]);
        const double below = general(w, WEIGHTS), apart = m & (gradient_one_sided | gradient_not_halved) ? h : 2 * h;
        const double moved = m & gradient_float ? (double)(float)above - (double)(float)below : above - below;
        if (!(m & not_restored)) memcpy(w, old, sizeof w);
        answer[i] = (m & gradient_added ? before[i] : 0) + moved / (m & gradient_not_divided ? 1 : apart);
    }
}

/* ---- The steps ---- */

static void check_slopes(void)
{
    double got[SLOPES], other[SLOPES];
    bool untouched = true, same = true;
    for (int i = 0; i < SLOPES; i++) {
        got[i] = my_slope(slopes[i].f, slopes[i].x, slopes[i].h), other[i] = my_slope(slopes[i].f, slopes[i].x, 2 * slopes[i].h);
        untouched &= got[i] == 0, same &= got[i] == other[i];
    }
    if (untouched)
        grader_stop("not_begun", "my_slope returns 0. Begin at TODO 1 in exercise.c: one line.\n"
                                 "If you did write it: do you divide two integers? 1 / 2 is 0 in C.");
    if (same) grader_stop("h_ignored", "Your slope does not depend on h. Use the h that my_slope is given: my_step chooses it, at TODO 2.");
    double x[SLOPES], h[SLOPES];
    for (int i = 0; i < SLOPES; i++) x[i] = slopes[i].x, h[i] = slopes[i].h;
    const grader_input inputs[] = { { "x", x, 1, SLOPES }, { "h", h, 1, SLOPES }, { NULL } };
    const grader_result all = { "the slope", "x^3, tanh(x), x / (1 + x^2), x^3", formula_slope, &all_of_them, of_slope, 1, SLOPES, got,
                                NULL, inputs, .unlike = true },
                        worked = { "the slope", "x^3 at x = 2 with h = 0.1", formula_slope, &one, of_slope, 1, 1, got, NULL };
    grader_judge(list, &all, &worked);
}

static void check_steps(void)
{
    const double x[] = { 0, 1, -3, 200, 1e6, -300 };
    for (int i = 0; i < 6; i++) {
        const double size = fmax(1, fabs(x[i])), h = my_step(x[i]), at = 1.1 * size,
                     error = fabs(my_slope(cube, at, h) / (3 * at * at) - 1);
        if (h >= 0.99e-6 * size && h <= 1.01e-4 * size) continue;
        grader_failed(), printf("      my_step(%g) is %g\n\n", x[i], h);
        if (!isfinite(h)) grader_stop("not_finite", "The step is no number. Look for a division by 0.");
        if (h < 0) grader_stop("step_negative", "Your step is negative for a negative x. The size of x counts, not its sign: use fabs(x).");
        if (i == 0 && h < 1e-3 * my_step(1))
            grader_stop("step_zero", "Your step is 0, or nearly 0, at x = 0: then a slope is 0 / 0. A step that is a fraction of x\n"
                                     "needs a lower limit: use 1e-5 when x lies between -1 and 1.");
        if (x[i] < 0 && my_step(-x[i]) > 10 * h)
            grader_stop("step_of_negative",
                        "Your step does not grow for a large negative x. The size of x counts, not its sign: use fabs(x).");
        if (i > 1 && fabs(h / my_step(1) - 1) < 1e-9)
            grader_stop("step_fixed",
                        "Your step is the same for x = 1 and x = %g. Large numbers have larger rounding errors, so they need\n"
                        "larger steps: 1e-5 times the size of x.",
                        x[i]);
        if (size > 1)
            grader_stop("step_not_proportional", "my_step(%g) must be 1e-5 * |x|, which is %g: the step grows in proportion to |x|.", x[i], 1e-5 * size);
        if (h < 1e-6)
            grader_stop("step_too_small",
                        "Your step is too small for double. The two values of f agree in almost all of their 16 digits, and the\n"
                        "difference keeps few: the slope of x^3 at x = %g has a relative error of %.0e. Use 1e-5.",
                        at, error);
        grader_stop("step_too_large",
                    "Your step is too large: the error of a central difference grows with h^2. The slope of x^3 at x = %g has a relative\n"
                    "error of %.0e. Use 1e-5.%s",
                    at, error, h > 1 ? "\nIf you use abs: it takes an int, and fabs takes a double." : "");
    }
}

static double moved[WEIGHTS]; /* by how much my_gradient has moved each weight: by my_step of it, if it ever has */
static double watched(const double *w, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const double move = fabs(w[i] - place[i]);
        if (move > 1e-9 && !(fabs(moved[i] / my_step(place[i]) - 1) < 1e-3)) moved[i] = move;
    }
    return general(w, n);
}

static void check_moves(void)
{
    int wrong = WEIGHTS;
    bool first = true;
    for (int i = WEIGHTS - 1; i >= 0; i--) {
        if (moved[i] == 0) return; /* another mistake */
        first &= fabs(moved[i] / my_step(place[0]) - 1) < 1e-3;
        if (!(fabs(moved[i] / my_step(place[i]) - 1) < 1e-3)) wrong = i;
    }
    if (wrong == WEIGHTS) return;
    if (first)
        grader_stop("step_of_first",
                    "You nudge every weight by %g, which is my_step(w[0]). The step depends on the size of the weight that is nudged: take\n"
                    "my_step(w[i]).",
                    moved[0]);
    grader_stop("step_ignored",
                "You nudge w[%d], which is %g, by %g. Nudge it by my_step(w[%d]), which is %g: that step keeps the error of the formula\n"
                "and the error of rounding small.",
                wrong, place[wrong], moved[wrong], wrong, my_step(place[wrong]));
}

static void check_gradient(void)
{
    double w[WEIGHTS], got[WEIGHTS], right[WEIGHTS];
    memcpy(w, place, sizeof w), memcpy(got, before, sizeof got);
    my_gradient(watched, w, WEIGHTS, got);
    formula_gradient(0, NULL, right);
    if (!memcmp(got, before, sizeof got))
        grader_stop("gradient_not_begun", "my_gradient writes nothing yet. Go on at TODO 3: about eight lines.");
    bool good = true;
    for (int i = 0; i < WEIGHTS; i++) good &= fabs(got[i] - right[i]) < 1e-7;
    if (good || !grader_explain(formula_gradient, NULL, of_gradient, got, WEIGHTS)) check_moves();
    const grader_input inputs[] = { { "w", place, 1, WEIGHTS }, { NULL } };
    const grader_result all = { "the gradient", "the loss sum of (i + 1) w[i]^3 / 4 + product of (tanh(w[i]) + 1.5)", formula_gradient,
                                NULL, of_gradient, 1, WEIGHTS, got, NULL, inputs };
    if (!good) grader_judge(list, &all, NULL);
    for (int i = 0; i < WEIGHTS; i++)
        if (fabs(w[i] - place[i]) > 1e-12) grader_failed(), grader_stop_mistakes(list, not_restored);
    if (memcmp(w, place, sizeof w))
        grader_stop("rounded_back", "The gradient is right, but a weight has changed in its last digit: w + h - 2h + h is not always w,\n"
                                    "because each addition rounds. Keep the old value in a variable, and put that back.");
}

/* The loss of a small model, computed by gradus: mean of (c tanh(a x + b) - y)^2. Returns its value; gradient NULL means that none is wanted. */
static double model(const double *w, double *gradient)
{
    const double x[] = { -1, 0.2, 0.7, 1.5 }, y[] = { 0.3, -0.2, 0.8, 1.1 };
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *v[3];
    for (int i = 0; i < 3; i++) v[i] = gr_want_grad(t, gr_scalar(t, w[i]));
    gr_tensor *out = gr_mul(t, v[2], gr_tanh(t, gr_add(t, gr_mul(t, v[0], gr_input(t, x, GR_SHAPE(4))), v[1])));
    gr_tensor *l = gr_mse(t, out, gr_input(t, y, GR_SHAPE(4)), GR_REDUCE_MEAN);
    const double value = gr_item(l);
    if (gradient && gr_backward(t, l))
        for (int i = 0; i < 3; i++) gradient[i] = *gr_grad(t, v[i]);
    gr_tape_free(t);
    return value;
}
static double model_loss(const double *w, size_t n) { return n == 3 ? model(w, NULL) + w[3] + w[4] : 0; } /* both are 0 */

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "--ambiguous"))
        return grader_ambiguous(list, formula_slope, &all_of_them, of_slope, SLOPES) +
               grader_ambiguous(list, formula_gradient, NULL, of_gradient, WEIGHTS);
    grader_start("Lesson 1: a derivative by nudging");
    grader_step("slopes of x^3, tanh(x) and x / (1 + x^2)");
    check_slopes();
    grader_step("the step h");
    check_steps();
    grader_step("the gradient of a loss with 5 weights");
    check_gradient();

    grader_step("the gradient of a model, against gradus' backward");
    double w[WEIGHTS] = { 0.8, -0.3, 1.2 }, got[WEIGHTS] = { 0 }, right[WEIGHTS] = { 0 }; /* three weights; the others may not change */
    model(w, right);
    my_gradient(model_loss, w, 3, got);
    for (int i = 0; i < WEIGHTS; i++)
        if (!(fabs(got[i] - right[i]) < 1e-7)) {
            grader_failed(), grader_row("yours", got, WEIGHTS), grader_row("right", right, WEIGHTS);
            grader_stop("model",
                        "Your gradient is right for 5 weights and wrong for 3. Use n: a size must not stand in the code as a number.");
        }
    return grader_end("All right. gr_gradcheck does the same with four points, in core/gradcheck_numbers.c: compare it with yours.");
}
