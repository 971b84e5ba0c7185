/* core/gradcheck.c - compare backward with finite differences, with a random cotangent w.
 *
 * A plain sum as the loss would not see errors: the gradient of sum(softmax(x)) is 0, and so is that of every normalization. So the loss
 * is L = sum over i of w[i] y[i] with random w, computed in double. */
#include "core/gradcheck.h"
#include "core/internal.h"
#include <math.h>

enum { IN_DOUBLE = sizeof(gr_real) == 8, TRIES = 1000 };
static const double step = IN_DOUBLE ? 1e-3 : 2e-2; /* h, for |x| <= 1 */

/* One input of the function under test: a leaf of the graph that keeps its gradient, as a parameter does. */
typedef struct {
    gr_tensor *x;
    gr_real *values;    /* what x holds when nothing is moved */
    gr_real *start;     /* what its gradient held before backward */
    double *direction;  /* along which it is moved */
} leaf;

typedef struct {
    FILE *out;
    const char *name;
    gr_gradcheck_function *f;
    void *argument;
    const gr_gradcheck_input *spec;
    size_t n;
    gr_tape *t, *store; /* f runs on t; what the check itself needs is on store, which is never reset */
    gr_stream random;
    leaf *leaves;
    gr_tensor **in;
    gr_real *w;         /* the cotangent */
    double largest_w, tolerance;
} check;

static double larger(double a, double b) { return a > b ? a : b; }
/* The steps of distinct values are equal, so that they keep their distance. */
static double step_at(const gr_gradcheck_input *spec, gr_real x) { return spec->distinct ? step : step * larger(1, fabs((double)x)); }

/* ---- The inputs ---- */

static double draw(check *c, const gr_gradcheck_input *spec)
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
static bool draw_distinct(check *c, const gr_gradcheck_input *spec, leaf *l)
{
    size_t *order = gr_save(c->store, l->x->len * sizeof *order);
    if (!order) return false;
    gr_stream_permutation(&c->random, order, l->x->len);
    for (size_t i = 0; i < l->x->len; i++)
        l->values[i] = (gr_real)(spec->low + 12 * step * ((double)order[i] + gr_stream_uniform(&c->random, 0, 0.1)));
    return true;
}

static bool make_leaf(check *c, size_t k)
{
    const gr_gradcheck_input *spec = &c->spec[k];
    leaf *l = &c->leaves[k];
    gr_tensor *x = c->in[k] = l->x = gr_empty(c->store, spec->shape);
    const size_t n = x ? x->len : 0;
    gr_real *const grad = gr_save_reals(c->store, n);
    l->values = gr_save_reals(c->store, n), l->start = gr_save_reals(c->store, n);
    l->direction = gr_save_zeros(c->store, n * sizeof *l->direction);
    if (gr_failed(c->store)) return false;
    x->grad = grad, x->tape = NULL, x->home = gr_tape_allocator(c->store); /* as a parameter */
    if (!spec->no_grad) x->flags |= GR__WANTS_GRAD | GR__HAS_GRAD;
    if (spec->distinct && !draw_distinct(c, spec, l)) return false;
    for (size_t i = 0; i < n; i++) {
        if (spec->values) l->values[i] = spec->values[i];
        else if (!spec->distinct) l->values[i] = (gr_real)draw(c, spec);
        x->grad[i] = l->start[i] = (gr_real)gr_stream_uniform(&c->random, -1, 1);
    }
    memcpy(x->data, l->values, n * sizeof(gr_real));
    return true;
}

/* ---- The two derivatives ---- */

static bool run_backward(check *c)
{
    gr_tensor *y = c->f(c->t, c->in, c->argument);
    if (!y) return gr_fail_as(c->t, GR_MISUSE, "", "the function returned NULL without an error");
    c->w = gr_save_reals(c->store, y->len);
    if (!c->w) return false;
    for (size_t i = 0; i < y->len; i++) {
        c->w[i] = (gr_real)gr_stream_uniform(&c->random, -1, 1);
        c->largest_w = larger(c->largest_w, fabs((double)c->w[i]));
    }
    return gr_backward_from(c->t, y, c->w);
}

/* L with input k moved by s steps along its direction. */
static double loss_at(check *c, size_t k, double s)
{
    leaf *l = &c->leaves[k];
    gr_tape_recover(c->t); /* restores random streams and running statistics, so that each run finds them alike */
    for (size_t i = 0; i < l->x->len; i++) l->x->data[i] = (gr_real)((double)l->values[i] + s * l->direction[i]);
    const gr_tensor *y = c->f(c->t, c->in, c->argument);
    memcpy(l->x->data, l->values, l->x->len * sizeof(gr_real));
    double loss = 0;
    for (size_t i = 0; y && i < y->len; i++) loss += (double)c->w[i] * (double)y->data[i];
    return y ? loss : (double)NAN;
}

static double analytic(const leaf *l)
{
    double sum = 0;
    for (size_t i = 0; i < l->x->len; i++) sum += ((double)l->x->grad[i] - (double)l->start[i]) * l->direction[i];
    return sum;
}

/* ---- The comparison ---- */

typedef struct { double excess, analytic, numeric; size_t element; } worst;

/* Compare the two derivatives of L along the direction of input k, divided by scale. */
static void compare(check *c, size_t k, size_t element, double scale, worst *w)
{
    const double a = analytic(&c->leaves[k]) / scale;
    const double n = (loss_at(c, k, -2) - 8 * loss_at(c, k, -1) + 8 * loss_at(c, k, 1) - loss_at(c, k, 2)) / 12 / scale;
    if (a == n) return; /* a function without values allows nothing */
    const double floor = (IN_DOUBLE ? 1e-2 : 1) * c->tolerance * c->largest_w;
    const double allowed = c->tolerance * larger(fabs(a), fabs(n)) + floor, excess = fabs(a - n) / allowed;
    if (!(excess <= w->excess)) *w = (worst){ excess, a, n, element }; /* a NaN is the worst of all */
}

static bool check_input(check *c, size_t k)
{
    leaf *l = &c->leaves[k];
    worst w = { 0 };
    for (size_t i = 0; IN_DOUBLE && i < l->x->len && w.excess <= 1; i++) {
        const double h = l->direction[i] = step_at(&c->spec[k], l->values[i]);
        compare(c, k, i, h, &w);
        l->direction[i] = 0;
    }
    if (!IN_DOUBLE) {
        for (size_t i = 0; i < l->x->len; i++) l->direction[i] = step_at(&c->spec[k], l->values[i]) * gr_stream_uniform(&c->random, -1, 1);
        compare(c, k, 0, step, &w);
    }
    if (w.excess <= 1) return true;
    char where[40] = "along a random direction";
    if (IN_DOUBLE) snprintf(where, sizeof where, "element %zu", w.element);
    const int digits = IN_DOUBLE ? 12 : 7;
    return gr_fail_as(c->t, GR_MISUSE, "", "input %zu, %s: backward gives %.*g, finite differences %.*g (%.1f times the tolerance)", k + 1, where,
                      digits, w.analytic, digits, w.numeric, w.excess);
}

/* Print the error of either tape. */
static bool report_error(const check *c)
{
    if (c->out) fprintf(c->out, "%s: %s\n", c->name, gr_message(gr_failed(c->store) ? c->store : c->t));
    return false;
}

static bool run(check *c)
{
    for (size_t k = 0; k < c->n; k++)
        if (!make_leaf(c, k)) return report_error(c);
    if (!run_backward(c)) return report_error(c);
    bool all = true;
    gr_tape_set_recording(c->t, false);
    for (size_t k = 0; k < c->n; k++)
        if (!c->spec[k].no_grad && !check_input(c, k)) all = report_error(c);
    return all;
}

bool gr_gradcheck(const char *name, gr_gradcheck_function *f, void *argument, const gr_gradcheck_input *in, size_t n,
                  const gr_gradcheck_config *config, FILE *out)
{
    const gr_gradcheck_config g = config ? *config : (gr_gradcheck_config){ 0 };
    const uint64_t seed = g.seed ? g.seed : 1;
    check c = { .out = out, .name = name ? name : "gradcheck", .f = f, .argument = argument, .spec = in, .n = n,
                .tolerance = g.tolerance > 0 ? g.tolerance : IN_DOUBLE ? 1e-7 : 1e-3 };
    c.store = gr_tape_new(seed, NULL);
    c.t = gr_tape_new(seed, &(gr_tape_config){ .threads = g.threads, .isa = g.isa });
    c.random = gr_stream_new(seed, "gradcheck");
    if (!f || (n && !in)) gr_fail_as(c.t, GR_MISUSE, "", "the %s NULL", f ? "list of inputs is" : "function is");
    c.leaves = gr_save_zeros(c.store, n * sizeof *c.leaves);
    c.in = gr_save_zeros(c.store, n * sizeof *c.in);
    gr_tape_set_training(c.t, !g.eval);
    const bool good = gr_failed(c.t) || gr_failed(c.store) ? report_error(&c) : run(&c);
    gr_tape_free(c.t), gr_tape_free(c.store);
    return good;
}
