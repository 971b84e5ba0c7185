/* grade.c - the grader of lesson 13. */
#include "../grader.h"
#include <math.h>
#include <string.h>

typedef struct {
    double w, u, b;
} unit;
void my_forward(const unit *p, int T, const double *x, double *h);
double my_backward(const unit *p, int T, const double *x, const double *h, const double *dy, unit *grad, double *dx);

/* ---- The known mistakes ---- */

#define MISTAKES(M) \
    /* forward */ \
    M(tanh_missing, "Your state is the sum itself. Take its tanh: h[t] = tanh(w h[t-1] + u x[t] + b).") \
    M(bias_missing, "Your sum lacks b: h[t] = tanh(w h[t-1] + u x[t] + b).") \
    M(state_not_carried, \
      "Every step of yours begins with h[0]. Step t reads the state that step t - 1 has written, h[t-1]: that is what makes the\n" \
      "net recurrent.") \
    M(own_state, "Step t reads h[t], which is not there yet. It reads the state of the step before, h[t-1].") \
    M(last_step_missing, "Your loop stops before step T. The steps are 1 .. T, so that h[T] is the last state.") \
    M(weights_exchanged, "You multiply the state by u and x by w. It is the reverse: w h[t-1] + u x[t].") \
    M(input_early, "Step t reads x[t-1]. It reads x[t]: x[0] is not used.") \
    /* backward */ \
    M(last_loss_only, \
      "You begin with dy[T] and never add the other dy[t]. The loss looks at every state: in each step, add dy[t] to what comes\n" \
      "from the later steps.") \
    M(dh_not_carried, \
      "Your gradient of h[t] is dy[t] alone. h[t] moves h[t+1] as well, and so all later states: add what step t + 1 hands back.") \
    M(w_not_carried, "You hand da back to the step before. h[t-1] stands in the sum with the factor w, so hand back da * w.") \
    M(u_carried, "You hand da * u back to the step before. u is the factor of x[t]; h[t-1] has the factor w: hand back da * w.") \
    M(slope_not_carried, "You hand back w times the gradient of h[t]. On its way to h[t-1] it passes the tanh, too: hand back da * w.") \
    M(dh_piles_up, \
      "You add da * w to the gradient of h[t] and go on with the sum. h[t] is another state than h[t-1]: what step t hands back\n" \
      "takes the place of dh.") \
    M(first_step_skipped, "You stop before step 1. It has a part in every gradient: go on while t >= 1.") \
    M(slope_missing, "Your da is the gradient of h[t] itself. The sum goes through a tanh: multiply by its slope, 1 - h[t]^2.") \
    M(slope_at_previous, \
      "Your slope is 1 - h[t-1]^2. It is that of this step's tanh, whose value is h[t]: 1 - h[t]^2. You can see it with T = 1\n" \
      "and h[0] = 0: a nudge of b moves h[1] by less than the nudge.") \
    M(slope_not_squared, "Your slope is 1 - h[t]. The slope of tanh is 1 - h[t]^2.") \
    M(forward_in_time, \
      "You go from step 1 to step T. The gradient of h[t] needs what step t + 1 hands back, so go from step T to step 1, as\n" \
      "backward over a list of nodes does.") \
    M(first_step_only, \
      "You write = where += is needed, so that only the part of step 1 is left, which comes last. All steps use the same three\n" \
      "numbers w, u and b: their gradients are sums over the steps.") \
    M(last_step_only, \
      "Your gradients of w, u and b have the part of step T alone. Every step uses the same w, u and b: add a part in each.") \
    M(parts_without_slope, "Your dw, du and db use the gradient of h[t]. w, u and b are inside the tanh: use da, which has its slope.") \
    M(dw_new_state, "Your dw is the sum of da * h[t]. w multiplies the state before the step: add da * h[t-1].") \
    M(du_with_w, "Your du is the sum of da * w. u multiplies x[t]: add da * x[t].") \
    M(db_missing, "Your db gets nothing. b is added in every step, so a nudge of b moves each sum by the nudge: add da.") \
    M(averaged_over_steps, \
      "You divide the gradients of w, u and b by T. They are sums over the steps: a nudge of w moves every step at once.") \
    M(sum_assigned, "You write your sum over grad. Something was there before, from another use of the unit: add with +=.") \
    M(dx_with_w, "Your dx is da * w. That is the gradient of h[t-1]; x[t] has the factor u: add da * u.") \
    M(dx_without_slope, "Your dx uses the gradient of h[t]. x[t] is inside the tanh: use da, which has its slope.") \
    M(dx_assigned, "You write dx[t] = .. where += is needed. x has another use here, and its gradient was already in dx.") \
    M(dy0_used, "You add dy[0]. It is not used: the loss looks at h[1] .. h[T]. Return what step 1 hands back, and no more.") \
    M(one_step_short, "You return the gradient of h[1]. One step more leads to h[0]: da of step 1 times w.")

GRADER_MISTAKES(MISTAKES);

static const unsigned of_h = last_loss_only - 1,
                      of_time = last_loss_only | dh_not_carried | w_not_carried | u_carried | slope_not_carried | dh_piles_up |
                                first_step_skipped | slope_missing | slope_at_previous | slope_not_squared | forward_in_time,
                      of_grad = of_time | db_missing | first_step_only | last_step_only | dw_new_state | du_with_w | averaged_over_steps |
                                sum_assigned | parts_without_slope,
                      of_dx = of_time | dx_without_slope | dx_with_w | dx_assigned,
                      of_dh0 = (of_time & ~(unsigned)slope_not_carried) | dy0_used | one_step_short;

/* ---- The formula, with a switch for each ---- */

enum { MOST = 8 };
typedef struct {
    int T;
    unit p, before;
    double h0, x[MOST], dy[MOST], dx_before[MOST];
} problem;

static void formula_h(unsigned m, const void *data, double *h)
{
    const problem *q = data;
    h[0] = q->h0;
    for (int t = 1; t <= q->T; t++) {
        const double state = m & own_state ? 0 : m & state_not_carried ? h[0] : h[t - 1], input = q->x[m & input_early ? t - 1 : t];
        const double a =
            (m & weights_exchanged ? q->p.u * state + q->p.w * input : q->p.w * state + q->p.u * input) + (m & bias_missing ? 0 : q->p.b);
        h[t] = m & last_step_missing && t == q->T ? 0 : m & tanh_missing ? a : tanh(a);
    }
}

/* grad is dw, du, db; dx has T values. */
static void backward(unsigned m, const problem *q, double *grad, double *dx, double *dh0)
{
    double h[MOST], dh = 0, sum[3] = { 0 };
    formula_h(0, q, h);
    for (int t = 1; t <= q->T; t++) dx[t - 1] = q->dx_before[t];
    const int steps = m & first_step_skipped ? q->T - 1 : q->T;
    for (int k = 1; k <= steps; k++) {
        const int t = m & forward_in_time ? k : q->T + 1 - k;
        if (!(m & last_loss_only) || t == q->T) dh += q->dy[t];
        if (m & one_step_short) *dh0 = dh;
        const double at = h[m & slope_at_previous ? t - 1 : t];
        const double da = dh * (m & slope_missing ? 1 : m & slope_not_squared ? 1 - at : 1 - at * at);
        const double from = m & parts_without_slope ? dh : da;
        const double part[3] = { from * h[m & dw_new_state ? t : t - 1], from * (m & du_with_w ? q->p.w : q->x[t]),
                                 m & db_missing ? 0 : from };
        for (int i = 0; i < 3; i++) {
            if (m & first_step_only) sum[i] = 0;
            if (!(m & last_step_only) || t == q->T) sum[i] += part[i] / (m & averaged_over_steps ? q->T : 1);
        }
        dx[t - 1] = (m & dx_assigned ? 0 : q->dx_before[t]) + (m & dx_without_slope ? dh : da) * (m & dx_with_w ? q->p.w : q->p.u);
        const double back = (m & slope_not_carried ? dh : da) * (m & w_not_carried ? 1 : m & u_carried ? q->p.u : q->p.w);
        dh = m & dh_not_carried ? 0 : m & dh_piles_up ? dh + back : back;
        if (m & dh_not_carried && k == q->T) dh = da * q->p.w;
    }
    const double before[3] = { q->before.w, q->before.u, q->before.b };
    for (int i = 0; i < 3; i++) grad[i] = (m & (sum_assigned | first_step_only) ? 0 : before[i]) + sum[i];
    if (!(m & one_step_short)) *dh0 = dh + (m & dy0_used ? q->dy[0] : 0);
}
static void formula_grad(unsigned m, const void *data, double *grad)
{
    double dx[MOST], dh0;
    backward(m, data, grad, dx, &dh0);
}
static void formula_dx(unsigned m, const void *data, double *dx)
{
    double grad[3], dh0;
    backward(m, data, grad, dx, &dh0);
}
/* One number cannot tell the mistakes apart, so it is that of three problems: T, T - 1 and T - 2 steps. */
static void formula_dh0(unsigned m, const void *data, double *dh0)
{
    double grad[3], dx[MOST];
    problem q = *(const problem *)data;
    for (int k = 0; k < 3; k++, q.T--) backward(m, &q, grad, dx, dh0 + k);
}

/* ---- The learner's numbers ---- */

typedef struct {
    double h[MOST], grad[3], dx[MOST], dh0;
} numbers;

static numbers run(const problem *q, bool back)
{
    numbers r = { .h = { q->h0 } };
    problem copy = *q;
    my_forward(&copy.p, q->T, copy.x, r.h);
    if (back) {
        double h[MOST], right[MOST];
        formula_h(0, q, right), memcpy(h, right, sizeof h); /* backward starts from the right states */
        r.dh0 = my_backward(&copy.p, q->T, copy.x, h, copy.dy, &copy.before, copy.dx_before);
        memcpy(r.dx, copy.dx_before + 1, (size_t)q->T * sizeof(double));
        r.grad[0] = copy.before.w, r.grad[1] = copy.before.u, r.grad[2] = copy.before.b;
        if (memcmp(h, right, (size_t)(q->T + 1) * sizeof *h))
            grader_stop("input_changed", "Your backward writes into h. It only reads it.");
    }
    if (memcmp(copy.x, q->x, sizeof q->x) || memcmp(&copy.p, &q->p, sizeof q->p) || memcmp(copy.dy, q->dy, sizeof q->dy))
        grader_stop("input_changed", "Your code writes into the unit, x or dy. It only reads them.");
    return r;
}

static const problem general = { 5,
                                 { 0.8, -0.6, 0.3 },
                                 { 0.4, -1.3, 0.9 },
                                 0.7,
                                 { 1.7, 0.5, -1.1, 0.9, 1.4, -0.3 },
                                 { 0.45, 0.6, -0.4, 1.2, 0.3, -0.8 },
                                 { 0, 0.2, -0.5, 0.7, 0.1, 1.1 } };
static const problem worked = { 2, { 0.5, 0, 0 }, { 0, 0, 0 }, 0.5, { 0 }, { 0, 0, 1 }, { 0 } };

static void judge(const char *name, grader_formula *f, unsigned among, const double *got, size_t n, const double *before,
                  const double *small, size_t small_n)
{
    const grader_result whole = {
        name, f == formula_dh0 ? "5, 4 and 3 steps" : "5 steps, w = 0.8, u = -0.6, b = 0.3", f, &general, among, 1, n, got, before
    };
    const grader_result by_hand = { name, "2 steps, w = 0.5, h[0] = 0.5, u = b = x = 0, dy = (0, 1)", f, &worked, among, 1, small_n, small,
                                    NULL };
    grader_judge(list, &whole, small ? &by_hand : NULL);
}

/* ---- The exercise as an operator, for gr_gradcheck ---- */

enum { STEPS = 7 };
typedef struct {
    unit p;
    double h[STEPS + 1];
} kept;

static void unit_backward(gr_tape *t, const gr_node *n)
{
    const kept *k = n->saved;
    double x[STEPS + 1] = { 0 }, dy[STEPS + 1] = { 0 }, dx[STEPS + 1] = { 0 };
    unit grad = { 0 };
    memcpy(x + 1, n->in[0]->data, STEPS * sizeof *x), memcpy(dy + 1, gr_grad(t, n->out[0]), STEPS * sizeof *dy);
    const double dh0 = my_backward(&k->p, STEPS, x, k->h, dy, &grad, dx), part[4] = { grad.w, grad.u, grad.b, dh0 };
    for (int i = 0; i < STEPS; i++) gr_grad(t, n->in[0])[i] += dx[i + 1];
    for (int i = 0; i < 4; i++) gr_grad(t, n->in[1])[i] += part[i];
}
static const gr_op unit_op = { .name = "my_backward", .backward = unit_backward };

/* in: x [7], and w, u, b, h[0]. */
static gr_tensor *checked(gr_tape *t, gr_tensor *const *in, void *argument)
{
    (void)argument;
    const double *v = in[1]->data;
    kept k = { { v[0], v[1], v[2] }, { v[3] } };
    double x[STEPS + 1] = { 0 };
    memcpy(x + 1, in[0]->data, STEPS * sizeof *x);
    my_forward(&k.p, STEPS, x, k.h);
    gr_tensor *y = gr_input(t, k.h + 1, GR_SHAPE(STEPS));
    return gr_record(t, &unit_op, &k, sizeof k, GR_OUT(y), GR_IN(in[0], in[1]));
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "--ambiguous"))
        return grader_ambiguous(list, formula_h, &general, of_h, (size_t)general.T + 1) +
               grader_ambiguous(list, formula_grad, &general, of_grad, 3) +
               grader_ambiguous(list, formula_dx, &general, of_dx, (size_t)general.T) +
               grader_ambiguous(list, formula_dh0, &general, of_dh0, 3);
    grader_start("Lesson 13: a recurrent net");

    grader_step("forward");
    const numbers small = run(&worked, false), whole = run(&general, false);
    if (grader_same(whole.h + 1, (double[MOST]){ 0 }, (size_t)general.T))
        grader_stop("not_begun", "my_forward writes nothing yet. Begin at TODO 1 in exercise.c: a loop of one line.");
    judge("h", formula_h, of_h, whole.h, (size_t)general.T + 1, NULL, small.h, 3);

    grader_step("backward: w, u and b");
    const numbers few = run(&worked, true), all = run(&general, true);
    const double before[] = { general.before.w, general.before.u, general.before.b };
    if (grader_same(all.grad, before, 3) && grader_same(all.dx, general.dx_before + 1, (size_t)general.T) && all.dh0 == 0)
        grader_stop("half_done", "Forward is right. my_backward adds nothing yet: go on at TODO 2, about ten lines.");
    judge("(dw, du, db)", formula_grad, of_grad, all.grad, 3, before, few.grad, 3);
    grader_step("backward: x");
    judge("dx", formula_dx, of_dx, all.dx, (size_t)general.T, general.dx_before + 1, NULL, 0);
    grader_step("backward: h[0]");
    problem shorter = general;
    double dh0[3] = { all.dh0 };
    shorter.T--, dh0[1] = run(&shorter, true).dh0, shorter.T--, dh0[2] = run(&shorter, true).dh0;
    judge("the gradient of h[0]", formula_dh0, of_dh0, dh0, 3, NULL, NULL, 0);

    grader_step("gr_gradcheck: every gradient, by finite differences");
    grader_gradcheck("my_backward", checked, NULL, (gr_gradcheck_input[]){ { .shape = GR_SHAPE(STEPS) }, { .shape = GR_SHAPE(4) } }, 2);
    return grader_end("All right. gradus does the same for many units in ops/rnn.c: find your slope there.");
}
