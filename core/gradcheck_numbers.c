/* core/gradcheck_numbers.c - the two gradients of a check, with a random cotangent w, and how far they are apart.
 *
 * A plain sum as the loss would not see errors: the gradient of sum(softmax(x)) is 0, and so is that of every normalization. So the loss
 * is L = sum over i of w[i] y[i] with random w, computed in double. */
#include "core/gradcheck_numbers.h"
#include "core/internal.h"
#include <math.h>

enum { TRIES = 1000 };
static const double step = GR__IN_DOUBLE ? 1e-3 : 2e-2; /* h, for |x| <= 1 */

static double larger(double a, double b) { return a > b ? a : b; }
/* The steps of distinct values are equal, so that they keep their distance. */
static double step_at(const gr_gradcheck_input *spec, gr_real x) { return spec->distinct ? step : step * larger(1, fabs((double)x)); }

/* ---- The inputs ---- */

/* A value that is ten steps away from the kink. */
static bool draw(gr__check *c, const gr_gradcheck_input *spec, double low, double high, gr_real *value)
{
    for (int i = 0; i < TRIES; i++) {
        const double x = *value = (gr_real)gr_stream_uniform(&c->random, low, high);
        if (!spec->has_kink || fabs(x - spec->kink) >= 10 * step * larger(1, fabs(x))) return true;
    }
    return false;
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

bool gr__gradient_leaf(gr__check *c, size_t k)
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
    const bool given = spec->low != 0 || spec->high != 0;
    const double low = given ? spec->low : -2, high = given ? spec->high : 2;
    if (!spec->values && !spec->distinct && !(low < high && isfinite(high - low)))
        return gr_fail_as(c->store, GR_MISUSE, "", "input %zu: low must be below high, and both finite; got %g and %g", k + 1, low, high);
    x->grad = grad, x->tape = NULL, x->home = gr_tape_allocator(c->store); /* as a parameter */
    if (spec->distinct && !draw_distinct(c, spec, l)) return false;
    for (size_t i = 0; i < n; i++) {
        if (spec->values) l->values[i] = spec->values[i];
        else if (!spec->distinct && !draw(c, spec, low, high, &l->values[i]))
            return gr_fail_as(c->store, GR_MISUSE, "", "input %zu: values from %g to %g are too near its kink, %g", k + 1, low, high, spec->kink);
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
        c->floor = larger(c->floor, (GR__IN_DOUBLE ? 1e-2 : 1) * c->tolerance * fabs((double)c->w[i]));
    }
    c->result = gr_shape_of(y), c->outs = y->len;
    for (size_t k = 0; k < c->n; k++) c->leaves[k].listed = gr__owner(y) == c->leaves[k].x;
    for (const gr_node *n = c->t->now.last; n; n = n->prev)
        for (unsigned i = 0; i < n->ins; i++)
            for (size_t k = 0; k < c->n; k++) c->leaves[k].listed |= n->in[i] && gr__owner(n->in[i]) == c->leaves[k].x;
    return true;
}

bool gr__gradient_backward(gr__check *c, double shift, const gr__leaf *alone)
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

double gr__gradient_excess(const gr__check *c, double a, double d)
{
    return a == d ? 0 : fabs(a - d) / (c->tolerance * larger(fabs(a), fabs(d)) + c->floor); /* a function without values allows nothing */
}

gr_gradcheck_result gr__gradient_worst(const gr__check *c, gr_gradcheck_pattern pattern, const double *a, const double *d, size_t n)
{
    gr_gradcheck_result r = { .pattern = GR_GRADCHECK_RIGHT };
    for (size_t i = 0; i < n; i++) {
        const double excess = gr__gradient_excess(c, a[i], d[i]);
        r.wrong += !(excess <= 1);
        if (!isnan(r.excess) && !(excess <= r.excess))
            r = (gr_gradcheck_result){ .element = i, .wrong = r.wrong, .backward = a[i], .differences = d[i], .excess = excess };
    }
    if (r.wrong) r.pattern = pattern;
    return r;
}

void gr__gradient_check(gr__check *c, size_t k)
{
    gr__leaf *l = &c->leaves[k];
    double a = 0;
    for (size_t i = 0; i < l->x->len; i++) {
        l->backward[i] = l->again[i];
        l->direction[i] = GR__IN_DOUBLE ? 0 : step_at(&c->spec[k], l->values[i]) * gr_stream_uniform(&c->random, -1, 1);
        a += l->backward[i] * l->direction[i] / step;
    }
    if (!GR__IN_DOUBLE) l->found = gr__gradient_worst(c, GR_GRADCHECK_UNKNOWN, &a, &(double){ difference_along(c, k, step, c->w) }, 1);
    l->found.element = SIZE_MAX;
    memset(l->direction, 0, l->x->len * sizeof *l->direction);
    if (!GR__IN_DOUBLE && !l->found.pattern && !c->spec[k].differences) return;
    for (size_t i = 0; i < l->x->len; i++) l->differences[i] = gr__gradient_difference(c, k, i, c->w);
    const gr_gradcheck_result worst = gr__gradient_worst(c, GR_GRADCHECK_UNKNOWN, l->backward, l->differences, l->x->len);
    if (GR__IN_DOUBLE || (l->found.pattern && worst.pattern)) l->found = worst;
}
