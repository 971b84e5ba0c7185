/* core/anomaly.c - anomaly mode: which operator made the first value that is not finite, and from which inputs. */
#include "core/internal.h"
#include "core/locale.h"
#include <math.h>

/* The message, cut when it is too long. */
typedef struct { char text[900]; size_t length; } anomaly_text;

static void __attribute__((format(GR_PRINTF, 2, 3))) say(anomaly_text *a, const char *format, ...)
{
    va_list arguments;
    GR__C_LOCALE;
    va_start(arguments, format);
    const int n = vsnprintf(a->text + a->length, sizeof a->text - a->length, format, arguments);
    va_end(arguments);
    if (n > 0) a->length += (size_t)n;
    if (a->length > sizeof a->text - 1) a->length = sizeof a->text - 1;
}

static void say_value(anomaly_text *a, gr_real x)
{
    if (isnan(x)) say(a, "NaN");
    else if (isinf(x)) say(a, x < 0 ? "-inf" : "inf");
    else say(a, "%.4g", (double)x);
}

/* "inf at [2, 0]": value i of those that have the shape of x */
static void say_value_at(anomaly_text *a, const gr_tensor *x, const gr_real *value, size_t i)
{
    char text[GR__SHAPE_ROOM];
    size_t at[GR_MAX_RANK];
    say_value(a, value[i]);
    for (int k = x->rank; k-- > 0; i /= x->dim[k]) at[k] = i % x->dim[k];
    say(a, " at %s", gr__shape_write(text, x->rank, at));
}

static void say_shape(anomaly_text *a, const gr_tensor *x)
{
    char text[GR__SHAPE_ROOM];
    say(a, "%s", gr__shape_write(text, x->rank, x->dim));
}

typedef struct { size_t count, nan, inf; } bad_values; /* how many there are; the first NaN and the first infinity, n without one */
static bad_values look_for_bad(const gr_real *x, size_t n)
{
    bad_values b = { 0, n, n };
    for (size_t i = 0; i < n; i++) {
        if (isfinite(x[i])) continue;
        size_t *const first = isnan(x[i]) ? &b.nan : &b.inf;
        if (*first == n) *first = i;
        b.count++;
    }
    return b;
}
static size_t first_bad(bad_values b) { return b.nan < b.inf ? b.nan : b.inf; }

/* "; input 1 fc.weight [2, 3] is within [0, 3], there 0": `there` is value number at, for an x with the shape of like. */
static void say_values(anomaly_text *a, const char *what, unsigned number, const gr_tensor *x, const gr_real *value, const gr_tensor *like, size_t at)
{
    const bad_values b = look_for_bad(value, x->len);
    const char *const path = gr__owner(x)->path;
    say(a, "; %s %u %s%s", what, number, path ? path : "", path ? " " : "");
    say_shape(a, x);
    if (b.count) {
        say(a, " was not finite before: "), say_value_at(a, x, value, first_bad(b));
    } else if (x->len) {
        gr_real low = value[0], high = value[0];
        for (size_t i = 1; i < x->len; i++) low = value[i] < low ? value[i] : low, high = value[i] > high ? value[i] : high;
        say(a, " is within [%.4g, %.4g]", (double)low, (double)high);
    }
    if (like->len > 1 && gr_same_shape(x, like)) say(a, ", there "), say_value(a, value[at]);
}

/* "backward of log in head made inf at [1] of the gradient of input 1 [4], 1 of 4 values" */
static void say_finding(anomaly_text *a, const char *direction, const gr_op *op, const char *place, const char *what, size_t number,
                        const gr_tensor *x, const gr_real *value, size_t at)
{
    say(a, "%s of %s", direction, op->name);
    if (place && *place) say(a, " in %s", place);
    say(a, " made "), say_value_at(a, x, value, at);
    say(a, " of %s %zu ", what, number), say_shape(a, x);
    say(a, ", %zu of %zu values", look_for_bad(value, x->len).count, x->len);
}

bool gr__check_outputs(gr_tape *t, const gr_op *op, gr_tensor *const *out, size_t outs, gr_tensor *const *in, size_t ins)
{
    bool infinite_input = false;
    for (size_t i = 0; i < ins; i++) infinite_input |= in[i] && look_for_bad(in[i]->data, in[i]->len).inf < in[i]->len;
    for (size_t o = 0; o < outs; o++) {
        const gr_tensor *const y = out[o];
        if (!y) continue;
        const bad_values b = look_for_bad(y->data, y->len);
        const size_t at = b.nan < y->len ? b.nan : infinite_input ? y->len : b.inf;
        if (at == y->len) continue;
        anomaly_text a = { "", 0 };
        say_finding(&a, "forward", op, t->place, "output", o + 1, y, y->data, at);
        for (size_t i = 0; i < ins; i++)
            if (in[i]) say_values(&a, "input", (unsigned)i + 1, in[i], in[i]->data, y, at);
        return gr_fail_as(t, GR_NOT_FINITE, "", "anomaly: %s", a.text);
    }
    return true;
}

void gr__check_gradients(gr_tape *t, const gr_node *n)
{
    for (unsigned k = 0; k < n->ins && !gr_failed(t); k++) {
        const gr_tensor *const x = n->in[k];
        const gr_real *const dx = x ? gr__gradient(x) : NULL;
        const size_t at = dx ? first_bad(look_for_bad(dx, x->len)) : 0;
        if (!dx || at == x->len) continue;
        anomaly_text a = { "", 0 };
        say_finding(&a, "backward", n->op, n->place, "the gradient of input", k + 1, x, dx, at);
        for (unsigned i = 0; i < n->ins; i++)
            if (n->in[i]) say_values(&a, "input", i + 1, n->in[i], n->in[i]->data, x, at);
        for (unsigned o = 0; o < n->outs; o++)
            if (n->out[o]) say_values(&a, "the gradient of output", o + 1, n->out[o], gr__gradient(n->out[o]), x, at);
        gr_fail_as(t, GR_NOT_FINITE, "", "anomaly: %s", a.text);
    }
}

/* False, and an error such as "backward starts from dy [2], which holds NaN at [1]", when the x->len values are not all finite. */
static bool all_finite(gr_tape *t, const char *when, const char *what, const gr_tensor *x, const gr_real *value)
{
    const size_t at = first_bad(look_for_bad(value, x->len));
    if (at == x->len) return true;
    const char *const path = gr__owner(x)->path;
    anomaly_text a = { "", 0 };
    say(&a, "%s %s%s ", when, what, path ? path : ""), say_shape(&a, x);
    say(&a, ", which holds "), say_value_at(&a, x, value, at);
    return gr_fail_as(t, GR_NOT_FINITE, "", "anomaly: %s", a.text);
}

bool gr__check_before_backward(gr_tape *t, const gr_tensor *y, const gr_real *dy)
{
    bool good = !dy || all_finite(t, "backward starts from", "dy", y, dy);
    for (const gr_node *n = t->now.last; n && good; n = n->prev)
        for (unsigned i = 0; i < n->ins && good; i++) {
            const gr_real *const dx = n->in[i] && gr__owner(n->in[i])->home ? gr__gradient(n->in[i]) : NULL;
            if (dx) good = all_finite(t, "backward adds to", "the gradient of ", n->in[i], dx);
        }
    return good;
}
