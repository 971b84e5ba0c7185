/* core/gradcheck.c - the gradient check, and which mistake explains a wrong gradient. A pattern predicts every element of backward from other
 * numbers; it explains the gradient if the predictions hold. */
#include "core/gradcheck_numbers.h"
#include "core/internal.h"
#include "core/locale.h"
#include <math.h>

enum { SHIFT = 1000 }; /* how much more the gradients hold before the second backward than before the first */

/* ---- Predictions ---- */

/* For a tensor s as [outer, P, middle, Q, inner]: the element of it that is element i of [outer, Q, middle, P, inner]. */
static size_t transposed(const gr_shape *s, const int *axis, size_t i)
{
    const size_t P = s->dim[axis[0]], Q = s->dim[axis[1]], middle = gr__sizes(s->dim, axis[0] + 1, axis[1]);
    const size_t inner = gr__sizes(s->dim, axis[1] + 1, s->rank), p = i / inner % P, m = i / inner / P % middle, q = i / inner / P / middle;
    return axis[0] == axis[1] ? i : (((q / Q * P + p) * middle + m) * Q + q % Q) * inner + i % inner;
}

/* The element at the first entry of these axes, taken as one, that is like element i along the others. */
static size_t first_along(const gr_shape *s, const int *axis, size_t i)
{
    const size_t inner = gr__sizes(s->dim, axis[1] + 1, s->rank);
    return i - i / inner % gr__sizes(s->dim, axis[0], axis[1] + 1) * inner;
}

/* What backward gives for element i of leaf k, if the pattern is right. */
static double predicted(gr__check *c, size_t k, size_t i)
{
    const gr__leaf *l = &c->leaves[k];
    const double *const d = l->differences;
    double sum = 0;
    switch (l->found.pattern) {
    case GR_GRADCHECK_LOST: return fabs(l->again[i] - l->backward[i]) < SHIFT / 2 ? l->backward[i] : d[i];
    case GR_GRADCHECK_UPSTREAM:
        for (size_t o = i; o < c->outs; o += l->x->len) sum += (double)c->w[o];
        return sum;
    case GR_GRADCHECK_FACTOR: return l->found.factor * d[i];
    case GR_GRADCHECK_TRANSPOSED: return d[transposed(&c->spec[k].shape, l->found.axis, i)];
    case GR_GRADCHECK_CONSTANT:
        return d[i] + l->backward[first_along(&c->spec[k].shape, l->found.axis, i)] - d[first_along(&c->spec[k].shape, l->found.axis, i)];
    case GR_GRADCHECK_NO_UPSTREAM:
    case GR_GRADCHECK_NOT_SUMMED:
        for (size_t o = 0; o < c->outs && i == 0; o++)
            c->part[o] = l->found.pattern == GR_GRADCHECK_NO_UPSTREAM ? 1 : first_along(&c->result, l->found.axis, o) == o ? c->w[o] : 0;
        return gr__gradient_difference(c, k, i, c->part);
    default: return 0;
    }
}

/* ---- Which pattern ---- */

/* True when the predictions hold, and ten times as well as a = d does. An error says nothing by being constant where the right gradient is. */
static bool explains(gr__check *c, size_t k, gr_gradcheck_pattern pattern)
{
    gr__leaf *l = &c->leaves[k];
    const double limit = l->found.excess < 10 ? l->found.excess / 10 : 1, *const d = l->differences;
    bool does = true, varies = pattern != GR_GRADCHECK_CONSTANT;
    l->found.pattern = pattern;
    for (size_t i = 0; i < l->x->len && does; i++) {
        does = gr__gradient_excess(c, l->backward[i], predicted(c, k, i)) <= limit;
        varies = varies || gr__gradient_excess(c, d[i], d[first_along(&c->spec[k].shape, l->found.axis, i)]) > 1;
    }
    return does && varies;
}

/* The same for some axes out of `rank`. */
static bool explains_along(gr__check *c, size_t k, gr_gradcheck_pattern pattern, int rank)
{
    int *const axis = c->leaves[k].found.axis;
    for (axis[0] = rank - 1; axis[0] >= 0; axis[0]--)
        for (axis[1] = axis[0]; axis[1] < rank; axis[1]++)
            if (explains(c, k, pattern)) return true;
    return false;
}

/* The axes whose size is the factor or 1 / factor go to found.axis. Returns whose axes they are; NULL when there are none. */
static const char *axes_of_factor(gr__check *c, size_t k)
{
    const gr_shape *const shape[] = { &c->spec[k].shape, &c->result };
    const double factor = c->leaves[k].found.factor, v = factor > 1 ? factor : 1 / factor;
    int *const axis = c->leaves[k].found.axis;
    for (int s = 0; s < 2 && v > 1; s++)
        for (axis[0] = 0; axis[0] < shape[s]->rank; axis[0]++)
            for (axis[1] = axis[0]; axis[1] < shape[s]->rank; axis[1]++)
                if (fabs(v / (double)gr__sizes(shape[s]->dim, axis[0], axis[1] + 1) - 1) <= 2 * c->tolerance) return s ? "result" : "input";
    return NULL;
}

/* Give leaf k, which is wrong, the pattern that explains it. The newest backward was the second. */
static void explain_gradient(gr__check *c, size_t k)
{
    gr__leaf *l = &c->leaves[k];
    l->found.factor = l->found.backward / l->found.differences;
    const bool known = l->x->len > 1 || fabs(l->found.factor + 1) <= 2 * c->tolerance || axes_of_factor(c, k); /* one value always has a factor */
    if (!l->listed) l->found.pattern = GR_GRADCHECK_NOT_RECORDED;
    else if (l->found.element == SIZE_MAX || !(explains(c, k, GR_GRADCHECK_LOST) || explains(c, k, GR_GRADCHECK_ZERO) ||
        explains_along(c, k, GR_GRADCHECK_CONSTANT, l->x->rank) || (c->outs % l->x->len == 0 && explains(c, k, GR_GRADCHECK_UPSTREAM)) ||
        explains(c, k, GR_GRADCHECK_NO_UPSTREAM) || (known && explains(c, k, GR_GRADCHECK_FACTOR)) || explains_along(c, k, GR_GRADCHECK_TRANSPOSED, l->x->rank) ||
        explains_along(c, k, GR_GRADCHECK_NOT_SUMMED, c->result.rank))) l->found.pattern = GR_GRADCHECK_UNKNOWN;
}

/* ---- Text ---- */

const char *gr_gradcheck_text(gr_gradcheck_pattern pattern)
{
#define TEXT(name, text) text,
    static const char *const texts[] = { GR_GRADCHECK_PATTERNS(TEXT) };
    return (size_t)pattern < sizeof texts / sizeof *texts ? texts[pattern] : "";
}

/* Make the message about leaf k, which is wrong, the error of c->t. */
static void say_gradient(gr__check *c, size_t k)
{
    const gr__leaf *const l = &c->leaves[k];
    const gr_gradcheck_result *const r = &l->found;
    const gr_gradcheck_pattern p = r->pattern;
    const char *const of = p == GR_GRADCHECK_FACTOR ? axes_of_factor(c, k) : p == GR_GRADCHECK_NOT_SUMMED ? "result" :
                           p == GR_GRADCHECK_CONSTANT || p == GR_GRADCHECK_TRANSPOSED ? "input" : NULL;
    const char *const got = p == GR_GRADCHECK_LOST ? "after backward the gradient holds" : "backward gives";
    const char *const right = p == GR_GRADCHECK_LOST ? "but should hold" : p == GR_GRADCHECK_ALONE ? "with the other gradients" : "finite differences";
    const double before = p == GR_GRADCHECK_LOST ? (double)l->start[r->element] : 0;
    const int digits = GR__IN_DOUBLE ? 12 : 7;
    char where[100] = "along a random direction", number[80] = "", axes[60] = "";
    GR__C_LOCALE;
    if (r->element != SIZE_MAX) snprintf(where, sizeof where, "element %zu (%zu of %zu values differ)", r->element, r->wrong, l->x->len);
    if (p == GR_GRADCHECK_LOST) snprintf(number, sizeof number, ": %.*g", digits, before);
    if (p == GR_GRADCHECK_FACTOR)
        snprintf(number, sizeof number, ": %.*g%s", digits / 2, r->factor,
                 !of ? "" : r->factor > 1 ? ", which is also the size of" : ", which is also 1 divided by the size of");
    if (of && r->axis[0] < r->axis[1])
        snprintf(axes, sizeof axes, "%s axes %d %s %d of the %s", *number ? "" : ":", r->axis[0], p == GR_GRADCHECK_TRANSPOSED ? "and" : "to", r->axis[1], of);
    else if (of) snprintf(axes, sizeof axes, "%s axis %d of the %s", *number ? "" : ":", r->axis[0], of);
    gr_fail_as(c->t, GR_MISUSE, "", "input %zu, %s: %s %.*g, %s %.*g (%.4g times the tolerance); %s%s%s", k + 1, where, got, digits, before + r->backward,
               right, digits, before + r->differences, r->excess, gr_gradcheck_text(p), number, axes);
}

/* ---- The whole ---- */

/* Print the error of either tape. */
static bool report_error(const gr__check *c)
{
    if (c->out) fprintf(c->out, "%s: %s\n", c->name, gr_message(gr_failed(c->store) ? c->store : c->t));
    return false;
}

static bool run(gr__check *c, bool alone)
{
    bool all = true;
    for (size_t k = 0; k < c->n; k++)
        if (!gr__gradient_leaf(c, k)) return report_error(c);
    if (!gr__gradient_backward(c, 0, NULL)) return report_error(c);
    for (size_t k = 0; k < c->n; k++)
        if (!c->spec[k].no_grad) gr__gradient_check(c, k);
    for (size_t k = 0; k < c->n; k++) {
        const gr_gradcheck_input *in = &c->spec[k];
        gr__leaf *l = &c->leaves[k];
        bool right = !l->found.pattern;
        if (in->no_grad) continue;
        for (size_t i = 0; i < l->x->len && !l->listed; i++) right = right && l->backward[i] == 0;
        if ((!right || alone) && !gr__gradient_backward(c, right ? 0 : SHIFT, right ? l : NULL)) return report_error(c);
        if (!right) explain_gradient(c, k);
        else if (alone) l->found = gr__gradient_worst(c, GR_GRADCHECK_ALONE, l->again, l->backward, l->x->len);
        if (in->result) *in->result = l->found;
        for (size_t i = 0; in->first && i < l->x->len; i++) in->first[i] = (double)l->start[i];
        if (in->backward) memcpy(in->backward, l->backward, l->x->len * sizeof(double));
        if (in->differences) memcpy(in->differences, l->differences, l->x->len * sizeof(double));
        if (l->found.pattern) say_gradient(c, k), all = report_error(c);
    }
    if (all && !c->recorded) gr_fail_as(c->t, GR_MISUSE, "", "the result depends on no input whose gradient is checked"), all = report_error(c);
    return all;
}

bool gr_gradcheck(const char *name, gr_gradcheck_function *f, void *argument, const gr_gradcheck_input *in, size_t n,
                  const gr_gradcheck_config *config, FILE *out)
{
    const gr_gradcheck_config g = config ? *config : (gr_gradcheck_config){ 0 };
    const uint64_t seed = g.seed ? g.seed : 1;
    gr__check c = { .out = out, .name = name ? name : "gradcheck", .f = f, .argument = argument, .spec = in, .n = n,
                    .tolerance = g.tolerance > 0 ? g.tolerance : GR__IN_DOUBLE ? 1e-7 : 1e-3 };
    c.store = gr_tape_new(seed, &(gr_tape_config){ .allocator = g.allocator });
    c.t = gr_tape_new(seed, &(gr_tape_config){ .threads = g.threads, .isa = g.isa, .allocator = g.allocator });
    c.random = gr_stream_new(seed, "gradcheck");
    if (!f || (n && !in)) gr_fail_as(c.t, GR_MISUSE, "", "the %s NULL", f ? "list of inputs is" : "function is");
    c.leaves = gr_save_zeros(c.store, n * sizeof *c.leaves), c.in = gr_save_zeros(c.store, n * sizeof *c.in);
    gr_tape_set_training(c.t, !g.eval);
    const bool good = gr_failed(c.t) || gr_failed(c.store) ? report_error(&c) : run(&c, g.alone);
    gr_tape_free(c.t), gr_tape_free(c.store);
    return good;
}
