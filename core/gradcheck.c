/* core/gradcheck.c - compare backward with finite differences, with a random cotangent w.
 *
 * A plain sum as the loss would not see errors: the gradient of sum(softmax(x)) is 0, and so is that of every normalization. So the loss
 * is L = sum over i of w[i] y[i] with random w, computed in double. */
#include "core/gradcheck_pattern.h"
#include "core/internal.h"
#include <math.h>

enum { IN_DOUBLE = sizeof(gr_real) == 8, TRIES = 1000 };
static const double step = IN_DOUBLE ? 1e-3 : 2e-2; /* h, for |x| <= 1 */

static double larger(double a, double b) { return a > b ? a : b; }
/* The steps of distinct values are equal, so that they keep their distance. */
static double step_at(const gr_gradcheck_input *spec, gr_real x) { return spec->distinct ? step : step * larger(1, fabs((double)x)); }

/* ---- The inputs ---- */

static double draw(gr__check *c, const gr_gradcheck_input *spec)
{
    const bool given = spec->low < 0 || spec->low > 0 || spec->high < 0 || spec->high > 0;
    const double low = given ? spec->low : -2, high = given ? spec->high : 2;
    double x = low;
    for (int i = 0; i < TRIES; i++) {
        x = gr_stream_uniform(&c->random, low, high);
        if (!spec->has_kink || fabs(x - spec->kink) >= 10 * step * larger(1, fabs(x))) break;
    }
    return x;
}

/* Values in random order, a little more than ten steps apart, so that a value that moves never passes another. */
static bool draw_distinct(gr__check *c, const gr_gradcheck_input *spec, gr__leaf *l)
{
    size_t *order = gr_save(c->store, l->x->len * sizeof *order);
    if (!order) return false;
    gr_stream_permutation(&c->random, order, l->x->len);
    for (size_t i = 0; i < l->x->len; i++)
        l->values[i] = (gr_real)(spec->low + 12 * step * ((double)order[i] + gr_stream_uniform(&c->random, 0, 0.1)));
    return true;
}

static bool make_leaf(gr__check *c, size_t k)
{
    const gr_gradcheck_input *spec = &c->spec[k];
    gr__leaf *l = &c->leaves[k];
    gr_tensor *x = c->in[k] = l->x = gr_empty(c->store, spec->shape);
    const size_t n = x ? x->len : 0;
    gr_real *const grad = gr_save_reals(c->store, n);
    l->values = gr_save_reals(c->store, n), l->start = gr_save_reals(c->store, n);
    double **const arrays[] = { &l->direction, &l->backward, &l->differences, &l->again };
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) *arrays[i] = gr_save_zeros(c->store, n * sizeof(double));
    if (gr_failed(c->store)) return false;
    x->grad = grad, x->tape = NULL, x->home = gr_tape_allocator(c->store); /* as a parameter */
    if (spec->distinct && !draw_distinct(c, spec, l)) return false;
    for (size_t i = 0; i < n; i++) {
        if (spec->values) l->values[i] = spec->values[i];
        else if (!spec->distinct) l->values[i] = (gr_real)draw(c, spec);
        l->start[i] = spec->start ? spec->start[i] : (gr_real)gr_stream_uniform(&c->random, -1, 1);
    }
    memcpy(x->data, l->values, n * sizeof(gr_real));
    return true;
}

/* ---- The two derivatives ---- */

/* Draw w, and note what f's first result and the tape say. */
static bool note_result(gr__check *c, const gr_tensor *y)
{
    c->w = gr_save_reals(c->store, y->len), c->part = gr_save_reals(c->store, y->len);
    if (gr_failed(c->store)) return false;
    for (size_t i = 0; i < y->len; i++) {
        c->w[i] = (gr_real)gr_stream_uniform(&c->random, -1, 1);
        c->floor = larger(c->floor, (IN_DOUBLE ? 1e-2 : 1) * c->tolerance * fabs((double)c->w[i]));
    }
    c->result = gr_shape_of(y), c->outs = y->len;
    for (const gr_node *n = c->t->now.last; n; n = n->prev)
        for (unsigned i = 0; i < n->ins; i++)
            for (size_t k = 0; k < c->n; k++) c->leaves[k].listed |= n->in[i] && gr__owner(n->in[i]) == c->leaves[k].x;
    return true;
}

/* Run f and backward. Gradients begin `shift` above their starts. If `alone` is not NULL, no other gradient is wanted. */
static bool run_backward(gr__check *c, double shift, const gr__leaf *alone)
{
    gr_tape_recover(c->t);
    gr_tape_set_recording(c->t, true);
    for (size_t k = 0; k < c->n; k++) {
        const gr__leaf *l = &c->leaves[k];
        l->x->flags &= ~(unsigned)(GR__WANTS_GRAD | GR__HAS_GRAD);
        if (!c->spec[k].no_grad && (!alone || alone == l)) l->x->flags |= GR__WANTS_GRAD | GR__HAS_GRAD;
        for (size_t i = 0; i < l->x->len; i++) l->x->grad[i] = (gr_real)((double)l->start[i] + shift);
    }
    gr_tensor *y = c->f(c->t, c->in, c->argument);
    gr_tape_set_recording(c->t, false);
    if (!y) return gr_fail_as(c->t, GR_MISUSE, "", "the function returned NULL without an error");
    if (!c->w && !note_result(c, y)) return false;
    c->recorded |= gr__wants(y);
    if (gr__wants(y) && !gr_backward_from(c->t, y, c->w)) return false;
    for (size_t k = 0; k < c->n; k++)
        for (size_t i = 0; i < c->leaves[k].x->len; i++) c->leaves[k].again[i] = (double)c->leaves[k].x->grad[i] - (double)c->leaves[k].start[i];
    return true;
}

/* L for the cotangent w, with input k moved by s steps along its direction. */
static double loss_at(gr__check *c, size_t k, double s, const gr_real *w)
{
    gr__leaf *l = &c->leaves[k];
    gr_tape_recover(c->t); /* restores random streams and running statistics, so that each run finds them alike */
    for (size_t i = 0; i < l->x->len; i++) l->x->data[i] = (gr_real)((double)l->values[i] + s * l->direction[i]);
    const gr_tensor *y = c->f(c->t, c->in, c->argument);
    double loss = 0;
    for (size_t i = 0; y && i < y->len; i++) loss += (double)w[i] * (double)y->data[i]; /* y may be a view of x */
    memcpy(l->x->data, l->values, l->x->len * sizeof(gr_real));
    return y ? loss : (double)NAN;
}

/* The derivative of L along the direction of input k, divided by scale. */
static double difference_along(gr__check *c, size_t k, double scale, const gr_real *w)
{
    return (loss_at(c, k, -2, w) - 8 * loss_at(c, k, -1, w) + 8 * loss_at(c, k, 1, w) - loss_at(c, k, 2, w)) / 12 / scale;
}

double gr__gradient_difference(gr__check *c, size_t k, size_t i, const gr_real *w)
{
    gr__leaf *l = &c->leaves[k];
    const double h = l->direction[i] = step_at(&c->spec[k], l->values[i]), d = difference_along(c, k, h, w);
    l->direction[i] = 0;
    return d;
}

/* ---- The comparison ---- */

/* The worst of n pairs, with this pattern if it is not allowed. A NaN is the worst of all. */
static gr_gradcheck_result worst_of(const gr__check *c, gr_gradcheck_pattern pattern, const double *a, const double *d, size_t n)
{
    gr_gradcheck_result r = { GR_GRADCHECK_RIGHT };
    for (size_t i = 0; i < n && !isnan(r.excess); i++) {
        const double excess = gr__gradient_excess(c, a[i], d[i]);
        if (!(excess <= r.excess)) r = (gr_gradcheck_result){ excess <= 1 ? GR_GRADCHECK_RIGHT : pattern, i, a[i], d[i], excess };
    }
    return r;
}

/* The double library compares every element. The float library does so only if the derivative along a random direction is wrong. */
static void check_input(gr__check *c, size_t k)
{
    gr__leaf *l = &c->leaves[k];
    double a = 0;
    for (size_t i = 0; i < l->x->len; i++) {
        l->backward[i] = l->again[i];
        l->direction[i] = IN_DOUBLE ? 0 : step_at(&c->spec[k], l->values[i]) * gr_stream_uniform(&c->random, -1, 1);
        a += l->backward[i] * l->direction[i] / step;
    }
    if (!IN_DOUBLE) l->found = worst_of(c, GR_GRADCHECK_UNKNOWN, &a, &(double){ difference_along(c, k, step, c->w) }, 1);
    l->found.element = SIZE_MAX;
    memset(l->direction, 0, l->x->len * sizeof *l->direction);
    if (!IN_DOUBLE && !l->found.pattern && !c->spec[k].differences) return;
    for (size_t i = 0; i < l->x->len; i++) l->differences[i] = gr__gradient_difference(c, k, i, c->w);
    const gr_gradcheck_result worst = worst_of(c, GR_GRADCHECK_UNKNOWN, l->backward, l->differences, l->x->len);
    if (IN_DOUBLE || (l->found.pattern && worst.pattern)) l->found = worst;
}

/* ---- The whole ---- */

/* Print the error of either tape. */
static bool report_error(const gr__check *c)
{
    if (c->out) fprintf(c->out, "%s: %s\n", c->name, gr_message(gr_failed(c->store) ? c->store : c->t));
    return false;
}

static void give(const gr__leaf *l, const gr_gradcheck_input *spec)
{
    if (spec->result) *spec->result = l->found;
    for (size_t i = 0; i < l->x->len; i++) {
        if (spec->first) spec->first[i] = (double)l->start[i];
        if (spec->backward) spec->backward[i] = l->backward[i];
        if (spec->differences) spec->differences[i] = l->differences[i];
    }
}

static bool run(gr__check *c, bool alone)
{
    bool all = true;
    for (size_t k = 0; k < c->n; k++)
        if (!make_leaf(c, k)) return report_error(c);
    if (!run_backward(c, 0, NULL)) return report_error(c);
    for (size_t k = 0; k < c->n; k++)
        if (!c->spec[k].no_grad) check_input(c, k);
    for (size_t k = 0; k < c->n; k++) {
        gr__leaf *l = &c->leaves[k];
        const bool right = !l->found.pattern;
        if (c->spec[k].no_grad) continue;
        if ((!right || alone) && !run_backward(c, right ? 0 : GR__SHIFT, right ? l : NULL)) return report_error(c);
        if (!right) gr__gradient_explain(c, k);
        else if (alone) l->found = worst_of(c, GR_GRADCHECK_ALONE, l->again, l->backward, l->x->len);
        give(l, &c->spec[k]);
        if (l->found.pattern) gr__gradient_say(c, k), all = report_error(c);
    }
    if (all && !c->recorded)
        gr_fail_as(c->t, GR_MISUSE, "", "the result depends on no input whose gradient is checked"), all = report_error(c);
    return all;
}

bool gr_gradcheck(const char *name, gr_gradcheck_function *f, void *argument, const gr_gradcheck_input *in, size_t n,
                  const gr_gradcheck_config *config, FILE *out)
{
    const gr_gradcheck_config g = config ? *config : (gr_gradcheck_config){ 0 };
    const uint64_t seed = g.seed ? g.seed : 1;
    gr__check c = { .out = out, .name = name ? name : "gradcheck", .f = f, .argument = argument, .spec = in, .n = n,
                    .tolerance = g.tolerance > 0 ? g.tolerance : IN_DOUBLE ? 1e-7 : 1e-3 };
    c.store = gr_tape_new(seed, &(gr_tape_config){ .allocator = g.allocator });
    c.t = gr_tape_new(seed, &(gr_tape_config){ .threads = g.threads, .isa = g.isa, .allocator = g.allocator });
    c.random = gr_stream_new(seed, "gradcheck");
    if (!f || (n && !in)) gr_fail_as(c.t, GR_MISUSE, "", "the %s NULL", f ? "list of inputs is" : "function is");
    c.leaves = gr_save_zeros(c.store, n * sizeof *c.leaves);
    c.in = gr_save_zeros(c.store, n * sizeof *c.in);
    gr_tape_set_training(c.t, !g.eval);
    const bool good = gr_failed(c.t) || gr_failed(c.store) ? report_error(&c) : run(&c, g.alone);
    gr_tape_free(c.t), gr_tape_free(c.store);
    return good;
}
