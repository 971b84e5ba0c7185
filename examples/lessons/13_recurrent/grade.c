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

#define FORWARD(M) \
    M(tanh_missing, "Your state is the sum itself. Take its tanh: h[t] = tanh(w h[t-1] + u x[t] + b).") \
    M(bias_missing, "Your sum lacks b: h[t] = tanh(w h[t-1] + u x[t] + b).") \
    M(state_not_carried, \
      "Every step of yours begins with h[0]. Step t reads the state that step t - 1 has written, h[t-1]: that is what makes the\n" \
      "net recurrent.") \
    M(own_state, "Step t reads h[t], which is not there yet. It reads the state of the step before, h[t-1].") \
    M(last_step_missing, "Your loop stops before step T. The steps are 1 .. T, so that h[T] is the last state.") \
    M(weights_exchanged, "You multiply the state by u and x by w. It is the reverse: w h[t-1] + u x[t].") \
    M(input_early, "Step t reads x[t-1]. It reads x[t]: x[0] is not used.") \
    M(state_missing, "Your sum lacks w h[t-1]: h[t] = tanh(w h[t-1] + u x[t] + b).") \
    M(w_missing, "Your sum has h[t-1] without w: h[t] = tanh(w h[t-1] + u x[t] + b).") \
    M(u_missing, "Your sum has x[t] without u: h[t] = tanh(w h[t-1] + u x[t] + b).") \
    M(b_outside, "Your b stands outside of the tanh. The tanh takes the whole sum: h[t] = tanh(w h[t-1] + u x[t] + b).") \
    M(input_outside, "Your tanh takes w h[t-1] alone. It takes the whole sum: h[t] = tanh(w h[t-1] + u x[t] + b).")

/* What reaches dw, du and db, and with them all other gradients. */
#define MISTAKES(M) \
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
    M(later_piles_up, \
      "You add da * w to what came from the later steps. h[t] is another state than h[t-1]: what step t hands back takes the place\n" \
      "of dh.") \
    M(first_step_skipped, "You stop before step 1. It has a part in every gradient: go on while t >= 1.") \
    M(slope_missing, "Your da is the gradient of h[t] itself. The sum goes through a tanh: multiply by its slope, 1 - h[t]^2.") \
    M(slope_at_previous, \
      "Your slope is 1 - h[t-1]^2. It is that of this step's tanh, whose value is h[t]: 1 - h[t]^2. You can see it with T = 1\n" \
      "and h[0] = 0: a nudge of b moves h[1] by less than the nudge.") \
    M(slope_not_squared, "Your slope is 1 - h[t]. The slope of tanh is 1 - h[t]^2.") \
    M(slope_of_the_state, \
      "Your slope is 1 - tanh(h[t])^2. h[t] is the tanh already: its slope is 1 - h[t]^2.") \
    M(slope_on_later_part, "Your slope multiplies dh alone. It multiplies the whole gradient of h[t]: (dy[t] + dh) * (1 - h[t]^2).") \
    M(slope_on_dy, "Your slope multiplies dy[t] alone. It multiplies the whole gradient of h[t]: (dy[t] + dh) * (1 - h[t]^2).") \
    M(slope_without_parentheses, \
      "You subtract h[t]^2 from the gradient of h[t]. It multiplies the slope, which needs parentheses: dh * (1 - h[t]^2).") \
    M(dy_twice, "You count dy[T] twice. dh begins with 0; each step, the last one too, adds its own dy[t].") \
    M(step_0, "Your backward goes down to t = 0. There is no step 0: it would read h[-1]. Go on while t >= 1.") \
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
    M(du_old_input, "Your du is the sum of da * x[t-1]. Step t reads x[t]: add da * x[t].") \
    M(du_with_state, "Your du is the sum of da * h[t-1], as dw is. u multiplies x[t]: add da * x[t].") \
    M(db_missing, "Your db gets nothing. b is added in every step, so a nudge of b moves each sum by the nudge: add da.") \
    M(averaged_over_steps, \
      "You divide the gradients of w, u and b by T. They are sums over the steps: a nudge of w moves every step at once.") \
    M(w_assigned, "You write grad->w = .. where += is needed. Each step adds its part, and grad->w was not 0 before.") \
    M(u_assigned, "You write grad->u = .. where += is needed. Each step adds its part, and grad->u was not 0 before.") \
    M(b_assigned, "You write grad->b = .. where += is needed. Each step adds its part, and grad->b was not 0 before.") \
    M(sum_assigned, "You write your sum over grad. Something was there before, from another use of the unit: add with +=.")

/* What reaches dx or the gradient of h[0] alone: dw, du and db are right. */
#define LAST(M) \
    M(dx_with_w, "Your dx is da * w. That is the gradient of h[t-1]; x[t] has the factor u: add da * u.") \
    M(dx_without_slope, "Your dx uses the gradient of h[t]. x[t] is inside the tanh: use da, which has its slope.") \
    M(dx_without_u, "You add da to dx[t]. x[t] stands in the sum with the factor u: add da * u.") \
    M(dx_assigned, "You write dx[t] = .. where += is needed. x has another use here, and its gradient was already in dx.") \
    M(dy0_used, "You add dy[0]. It is not used: the loss looks at h[1] .. h[T]. Return what step 1 hands back, and no more.") \
    M(one_step_short, "You return the gradient of h[1]. One step more leads to h[0]: da of step 1 times w.") \
    M(returns_zero, "You return 0. Return the dh that is left after step 1: it is the gradient of h[0].")

GRADER_MISTAKES_OF(forward, FORWARD);
GRADER_MISTAKES(MISTAKES);
GRADER_MISTAKES_OF(last, LAST);

static const unsigned of_h = (1u << forward_count) - 1, of_grad = (1u << list_count) - 1,
                      of_dx = dx_without_slope | dx_with_w | dx_without_u | dx_assigned, of_dh0 = dy0_used | one_step_short | returns_zero;

/* ---- The formula, with a switch for each ---- */

enum { MOST = 8 };
typedef struct {
    int T;
    unit p, before;
    double h0, x[MOST], dy[MOST], dx_before[MOST];
} problem;

static const double UNWRITTEN = 0.53; /* what a step finds that reads a state which no step has written */

static void formula_h(unsigned m, const void *data, double *h)
{
    const problem *q = data;
    h[0] = q->h0;
    for (int t = 1; t <= q->T; t++) {
        const double state = m & state_missing ? 0 : m & own_state ? UNWRITTEN : m & state_not_carried ? h[0] : h[t - 1], input = q->x[m & input_early ? t - 1 : t];
        const double w = m & w_missing ? 1 : m & weights_exchanged ? q->p.u : q->p.w, u = m & u_missing ? 1 : m & weights_exchanged ? q->p.w : q->p.u;
        const double b = m & bias_missing ? 0 : q->p.b, outside = (m & input_outside ? u * input + b : 0) + (m & b_outside ? b : 0);
        const double a = w * state + (m & input_outside ? 0 : u * input + (m & b_outside ? 0 : b));
        h[t] = m & last_step_missing && t == q->T ? UNWRITTEN : (m & tanh_missing ? a : tanh(a)) + outside;
    }
}

static const double FRONT = 0.37; /* what a loop that goes down to step 0 finds in h[-1] */

/* The gradient of what is inside the tanh, from the part of dy[t], that of the later steps, and the state. */
static double inside(unsigned m, double dy, double later, double at)
{
    const double y = m & slope_of_the_state ? tanh(at) : at, slope = m & slope_missing ? 1 : 1 - y * (m & slope_not_squared ? 1 : y);
    if (m & slope_on_later_part) return dy + later * slope;
    if (m & slope_on_dy) return dy * slope + later;
    if (m & slope_without_parentheses) return dy + later - at * at;
    return (dy + later) * slope;
}

/* grad is dw, du, db; dx has T values. m are mistakes of `list`, l of `last`. */
static void backward(unsigned m, unsigned l, const problem *q, double *grad, double *dx, double *dh0)
{
    double states[MOST + 1] = { FRONT }, *h = states + 1, dh = 0, sum[3] = { 0 };
    formula_h(0, q, h);
    for (int t = 1; t <= q->T; t++) dx[t - 1] = q->dx_before[t];
    const int steps = m & first_step_skipped ? q->T - 1 : m & step_0 ? q->T + 1 : q->T;
    for (int k = 1; k <= steps; k++) {
        const int t = m & forward_in_time ? k : q->T + 1 - k;
        const double later = dh, dy = (m & last_loss_only && t != q->T ? 0 : q->dy[t]) * (m & dy_twice && t == q->T ? 2 : 1);
        dh += dy;
        if (l & one_step_short) *dh0 = dh;
        const double da = inside(m, dy, later, h[m & slope_at_previous ? t - 1 : t]), from = m & parts_without_slope ? dh : da;
        const double by_u = m & du_with_w ? q->p.w : m & du_with_state ? h[t - 1] : m & du_old_input ? q->x[t ? t - 1 : 0] : q->x[t];
        const double part[3] = { from * h[m & dw_new_state ? t : t - 1], from * by_u, m & db_missing ? 0 : from };
        const unsigned assigned[3] = { w_assigned | first_step_only, u_assigned | first_step_only, b_assigned | first_step_only };
        for (int i = 0; i < 3; i++) {
            if (m & assigned[i]) sum[i] = 0;
            if (!(m & last_step_only) || t == q->T) sum[i] += part[i] / (m & averaged_over_steps ? q->T : 1);
        }
        if (t > 0)
            dx[t - 1] = (l & dx_assigned ? 0 : q->dx_before[t]) + (l & dx_without_slope ? dh : da) * (l & dx_with_w      ? q->p.w
                                                                                                      : l & dx_without_u ? 1
                                                                                                                         : q->p.u);
        const double back = (m & slope_not_carried ? dh : da) * (m & w_not_carried ? 1 : m & u_carried ? q->p.u : q->p.w);
        dh = m & dh_not_carried ? 0 : m & dh_piles_up ? dh + back : m & later_piles_up ? later + back : back;
        if (m & dh_not_carried && k == q->T) dh = da * q->p.w;
    }
    const double before[3] = { q->before.w, q->before.u, q->before.b };
    const unsigned lost[3] = { w_assigned, u_assigned, b_assigned };
    for (int i = 0; i < 3; i++) grad[i] = (m & (sum_assigned | first_step_only | lost[i]) ? 0 : before[i]) + sum[i];
    if (!(l & one_step_short)) *dh0 = l & returns_zero ? 0 : dh + (l & dy0_used ? q->dy[0] : 0);
}
static void formula_grad(unsigned m, const void *data, double *grad)
{
    double dx[MOST], dh0;
    backward(m, 0, data, grad, dx, &dh0);
}
static void formula_dx(unsigned l, const void *data, double *dx)
{
    double grad[3], dh0;
    backward(0, l, data, grad, dx, &dh0);
}
/* One number cannot tell the mistakes apart, so it is that of three problems: T, T - 1 and T - 2 steps. */
static void formula_dh0(unsigned l, const void *data, double *dh0)
{
    double grad[3], dx[MOST];
    problem q = *(const problem *)data;
    for (int k = 0; k < 3; k++, q.T--) backward(0, l, &q, grad, dx, dh0 + k);
}

/* ---- The learner's numbers ---- */

typedef struct {
    double h[MOST], grad[3], dx[MOST], dh0;
} numbers;

static numbers run(const problem *q, bool back)
{
    numbers r = { 0 };
    problem copy = *q;
    double states[MOST + 1] = { FRONT, q->h0 }, *h = states + 1, right[MOST] = { 0 };
    for (int t = 1; t < MOST; t++) h[t] = UNWRITTEN;
    my_forward(&copy.p, q->T, copy.x, h), memcpy(r.h, h, sizeof r.h);
    if (h[0] != q->h0) grader_stop("begins_at_0", "You write into h[0]. It is there: your loop begins with t = 1.");
    if (back) {
        formula_h(0, q, right), memcpy(h, right, sizeof right); /* backward starts from the right states */
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

static const grader_input inputs[] = { { "h[0]", &general.h0, 1, 1 }, { "x[1] ..", general.x + 1, 1, 5 }, { "dy[1] ..", general.dy + 1, 1, 5 },
                                       { NULL } };

/* Whether a set of mistakes in dw, du and db is seen in dx, if dx is written, and in the gradient of h[0]: alone, or with one mistake of their own. */
static numbers got;
static bool seen_later(unsigned m)
{
    const size_t T = (size_t)general.T;
    double grad[3], dx[MOST], dh0;
    bool in_dx = grader_same(got.dx, general.dx_before + 1, T), in_dh0 = false;
    for (unsigned l = 0; l <= (of_dx | of_dh0); l = l ? 2 * l : 1) {
        backward(m, l, &general, grad, dx, &dh0);
        in_dx |= !(l & of_dh0) && grader_same(got.dx, dx, T);
        in_dh0 |= !(l & of_dx) && grader_same(&got.dh0, &dh0, 1);
    }
    return in_dx && in_dh0;
}

static void judge(const grader_mistake *known, const char *name, grader_formula *f, unsigned among, const double *v, size_t n,
                  const double *before, const double *small, size_t small_n)
{
    const char *const of = f == formula_dh0 ? "5, 4 and 3 steps, w = 0.8, u = -0.6, b = 0.3" : "5 steps, w = 0.8, u = -0.6, b = 0.3";
    const grader_result whole = { name, of, f, &general, among, 1, n, v, before, inputs, .unlike = true,
                                  .confirm = f == formula_grad ? seen_later : NULL };
    const grader_result by_hand = { name, "2 steps, w = 0.5, h[0] = 0.5, u = b = x = 0, dy = (0, 1)", f, &worked, among, 1, small_n, small,
                                    NULL };
    grader_judge(known, &whole, small ? &by_hand : NULL);
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
        return grader_ambiguous(forward, formula_h, &general, of_h, (size_t)general.T + 1) +
               grader_ambiguous(list, formula_grad, &general, of_grad, 3) +
               grader_ambiguous(last, formula_dx, &general, of_dx, (size_t)general.T) +
               grader_ambiguous(last, formula_dh0, &general, of_dh0, 3);
    grader_start("Lesson 13: a recurrent net");

    grader_step("forward");
    const numbers small = run(&worked, false), whole = run(&general, false);
    bool begun = false;
    for (int t = 1; t <= general.T; t++) begun |= whole.h[t] != UNWRITTEN;
    if (!begun)
        grader_stop("not_begun", "my_forward writes nothing yet. Begin at TODO 1 in exercise.c: a loop of one line.");
    judge(forward, "h", formula_h, of_h, whole.h, (size_t)general.T + 1, NULL, small.h, 3);

    grader_step("backward: w, u and b");
    const numbers few = run(&worked, true), all = run(&general, true);
    const double before[] = { general.before.w, general.before.u, general.before.b };
    if (grader_same(all.grad, before, 3) && grader_same(all.dx, general.dx_before + 1, (size_t)general.T) && all.dh0 == 0)
        grader_stop("half_done",
                    "Forward is right. All gradients are 0: either my_backward is not written yet (TODO 2, about ten lines), or dh\n"
                    "never gets dy[t].");
    got = all;
    judge(list, "(dw, du, db)", formula_grad, of_grad, all.grad, 3, before, few.grad, 3);
    grader_step("backward: x");
    judge(last, "dx", formula_dx, of_dx, all.dx, (size_t)general.T, general.dx_before + 1, NULL, 0);
    grader_step("backward: h[0]");
    problem shorter = general;
    double dh0[3] = { all.dh0 };
    shorter.T--, dh0[1] = run(&shorter, true).dh0, shorter.T--, dh0[2] = run(&shorter, true).dh0;
    judge(last, "the gradient of h[0]", formula_dh0, of_dh0, dh0, 3, NULL, NULL, 0);

    grader_step("gr_gradcheck: every gradient, by finite differences");
    grader_gradcheck("my_backward", checked, NULL, (gr_gradcheck_input[]){ { .shape = GR_SHAPE(STEPS) }, { .shape = GR_SHAPE(4) } }, 2);
    return grader_end("All right. gradus does the same for many units in ops/rnn.c: find your slope there.");
}
