/* ops/reduce_rows.c - reductions that need all n values x of a row at once. When the dropped axes are not the last, x is copied so that they
 * are; backward copies it again, so that only y is saved.
 *
 *     var         m = mean of x       y = sum of (x - m)^2 / (n - c)           dx = dy 2 (x - m) / (n - c)
 *     max, min                                                                 dx = dy / k where x = y, for k such x
 *     prod                                                                     dx = dy times the product of the other x
 *     logsumexp                       y = log(sum of exp(x))                   dx = dy exp(x - y), 0 where y is -inf
 *     norm        p = 1               y = sum of |x|                           dx = dy sign(x)
 *                 p = 2               y = sqrt(sum of x^2)                     dx = dy x / y
 *                 p = inf             y = max of |x|                           dx = dy sign(x) / k where |x| = y
 *                 p                   y = (sum of |x|^p)^(1/p)                 dx = dy sign(x) (|x| / y)^(p - 1)
 * The variance is two-pass; the sum of x - m, which is 0 except for rounding, corrects it. Where squares or sums leave the range of gr_real,
 * var and norm compute the row again, scaled (ops/norm_far.h). A logsumexp(x) above 1024 is too coarse for exp(x - y); there dx is computed as
 * softmax computes it. */
#include "core/maths.h"
#include "ops/norm_far.h"
#include "ops/reduce.h"

/* p is the order of a norm, the correction of a variance; the others do not use it. */
#define ROWS_UNUSED __attribute__((unused))
#define ROWS_FORWARD(op) \
    KERNEL(void, op, gr_real *restrict y, const gr_real *restrict x, size_t rows, size_t n, gr_real p ROWS_UNUSED)
#define ROWS_BACKWARD(op) \
    KERNEL(void, op, gr_real *restrict dx, const gr_real *restrict dy, const gr_real *restrict x, const gr_real *restrict y ROWS_UNUSED, \
           size_t rows, size_t n, gr_real p ROWS_UNUSED)

ROWS_FORWARD(var_forward)
{
    const gr_real count = (gr_real)n;
    for (size_t r = 0; r < rows; r++, x += n) {
        const gr_real m = SUM(i, n, x[i]) / count;
        gr_real d, dd;
        SUM2(i, n, d, x[i] - m, dd, r_square(x[i] - m));
        y[r] = count > p ? (dd - d * d / count) / (count - p) : R(NAN);
        if (!(y[r] < R(INFINITY)) && count > p) gr__far_var(y + r, x, n, (double)p);
    }
}
ROWS_BACKWARD(var_backward)
{
    const gr_real count = (gr_real)n;
    for (size_t r = 0; r < rows; r++, x += n, dx += n) {
        const gr_real m = SUM(i, n, x[i]) / count, mean = m + SUM(i, n, x[i] - m) / count;
        const gr_real factor = 2 * dy[r] / (count - p);
        if (count > p && (!(r_abs(mean) < R(INFINITY)) || !(y[r] < R(INFINITY)))) {
            gr__far_var_backward(dx, x, n, (double)factor);
            continue;
        }
        for (size_t i = 0; i < n; i++) dx[i] += factor * (x[i] - mean);
    }
}

ROWS_FORWARD(max_forward)
{
    for (size_t r = 0; r < rows; r++, x += n) y[r] = MAX(i, n, x[i]);
}
ROWS_FORWARD(min_forward)
{
    for (size_t r = 0; r < rows; r++, x += n) y[r] = MIN(i, n, x[i]);
}
ROWS_BACKWARD(extreme_backward)
{
    for (size_t r = 0; r < rows; r++, x += n, dx += n) {
        const gr_real extreme = y[r], share = dy[r] / SUM(i, n, x[i] == extreme ? 1 : 0);
        for (size_t i = 0; i < n; i++) dx[i] += x[i] == extreme ? share : 0;
    }
}

ROWS_FORWARD(prod_forward)
{
    for (size_t r = 0; r < rows; r++, x += n) y[r] = PRODUCT(i, n, x[i]);
}
ROWS_BACKWARD(prod_backward)
{
    for (size_t r = 0; r < rows; r++, x += n, dx += n) {
        const gr_real zeros = SUM(i, n, x[i] == 0 ? 1 : 0), product = PRODUCT(i, n, x[i] == 0 ? 1 : x[i]);
        const gr_real at_zero = zeros == 1 ? dy[r] * product : 0, elsewhere = zeros == 0 ? dy[r] * product : 0;
        for (size_t i = 0; i < n; i++) dx[i] += x[i] == 0 ? at_zero : elsewhere / x[i];
    }
}

/* An infinite largest value is not subtracted: log(exp(-inf) + ..) and log(exp(inf) + ..) come out right without. */
ROWS_FORWARD(logsumexp_forward)
{
    for (size_t r = 0; r < rows; r++, x += n) {
        const gr_real largest = MAX(i, n, x[i]), shift = r_abs(largest) < R(INFINITY) ? largest : 0;
        y[r] = shift + r_log(SUM(i, n, r_exp(x[i] - shift)));
    }
}
ROWS_BACKWARD(logsumexp_backward)
{
    for (size_t r = 0; r < rows; r++, x += n, dx += n) {
        gr_real shift = y[r] == R(-INFINITY) ? 0 : y[r], g = dy[r];
        if (r_abs(shift) > 1024 && r_abs(shift) < R(INFINITY)) shift = MAX(i, n, x[i]), g /= SUM(i, n, r_exp(x[i] - shift));
        for (size_t i = 0; i < n; i++) dx[i] += g * r_exp(x[i] - shift);
    }
}

ROWS_FORWARD(norm_1_forward)
{
    for (size_t r = 0; r < rows; r++, x += n) y[r] = SUM(i, n, r_abs(x[i]));
}
ROWS_BACKWARD(norm_1_backward)
{
    for (size_t r = 0; r < rows; r++, x += n, dx += n) {
        const gr_real g = dy[r];
        for (size_t i = 0; i < n; i++) dx[i] += x[i] > 0 ? g : x[i] < 0 ? -g : 0;
    }
}

ROWS_FORWARD(norm_2_forward)
{
    for (size_t r = 0; r < rows; r++, x += n) {
        const gr_real sum = SUM(i, n, r_square(x[i]));
        y[r] = r_sqrt(sum);
        if (r_flush(sum) == 0 || !(sum < R(INFINITY))) gr__far_norm_2(y + r, x, n);
    }
}
ROWS_BACKWARD(norm_2_backward)
{
    for (size_t r = 0; r < rows; r++, x += n, dx += n) {
        const gr_real norm = y[r], g = norm == 0 ? 0 : dy[r], factor = norm == 0 ? 0 : g / norm;
        if (r_flush(factor) == 0 || !(r_abs(factor) < R(INFINITY)))
            for (size_t i = 0; i < n; i++) dx[i] += norm == 0 ? 0 : g * (x[i] / norm);
        else
            for (size_t i = 0; i < n; i++) dx[i] += factor * x[i];
    }
}

ROWS_FORWARD(norm_inf_forward)
{
    for (size_t r = 0; r < rows; r++, x += n) y[r] = r_max(0, MAX(i, n, r_abs(x[i])));
}
ROWS_BACKWARD(norm_inf_backward)
{
    for (size_t r = 0; r < rows; r++, x += n, dx += n) {
        const gr_real extreme = y[r], share = extreme == 0 ? 0 : dy[r] / SUM(i, n, r_abs(x[i]) == extreme ? 1 : 0);
        for (size_t i = 0; i < n; i++) dx[i] += x[i] == extreme ? share : x[i] == -extreme ? -share : 0;
    }
}

ROWS_FORWARD(norm_p_forward)
{
    for (size_t r = 0; r < rows; r++, x += n) {
        const gr_real sum = SUM(i, n, r_pow(r_abs(x[i]), p));
        y[r] = r_pow(sum, 1 / p);
        if (r_flush(sum) != 0 && sum < R(INFINITY)) continue;
        const gr_real most = MAX(i, n, r_abs(x[i]));
        if (most > 0 && most < R(INFINITY)) y[r] = most * r_pow(SUM(i, n, r_pow(r_abs(x[i]) / most, p)), 1 / p);
    }
}
ROWS_BACKWARD(norm_p_backward)
{
    for (size_t r = 0; r < rows; r++, x += n, dx += n) {
        const gr_real norm = y[r], g = norm == 0 ? 0 : dy[r];
        for (size_t i = 0; i < n; i++) {
            const gr_real slope = g * r_pow(r_abs(x[i]) / norm, p - 1);
            dx[i] += x[i] > 0 ? slope : x[i] < 0 ? -slope : 0;
        }
    }
}

#if GR_HOST
typedef void rows_forward(gr_real *restrict y, const gr_real *restrict x, size_t rows, size_t n, gr_real p);
typedef void rows_backward(gr_real *restrict dx, const gr_real *restrict dy, const gr_real *restrict x, const gr_real *restrict y,
                           size_t rows, size_t n, gr_real p);

typedef struct { gr__reduction r; rows_backward *backward; gr_real p; } rows_saved;

typedef struct {
    const rows_saved *s;
    rows_forward *forward; /* NULL: backward */
    const gr_real *x, *dy;
    gr_real *y, *dx;
} rows_call;

static void rows_task(void *argument, size_t chunk, int thread)
{
    const rows_call *c = argument;
    const gr__reduction *r = &c->s->r;
    const gr_range rows = gr_chunk(chunk, gr__reduction_chunk(r), r->rows);
    const size_t y = rows.first, x = y * r->n;
    (void)thread;
    if (c->forward) c->forward(c->y + y, c->x + x, rows.count, r->n, c->s->p);
    else c->s->backward(c->dx + x, c->dy + y, c->x + x, c->y + y, rows.count, r->n, c->s->p);
}

static void rows_run(gr_tape *t, rows_call *c)
{
    const gr__reduction *r = &c->s->r;
    gr_parallel(t, gr_chunks(r->rows, gr__reduction_chunk(r)), 0.5 * (double)(r->rows * r->n), rows_task, c);
}

static void rows_node(gr_tape *t, const gr_node *n)
{
    const rows_saved *s = n->saved;
    const gr_tensor *x = n->in[0];
    gr_real *dx = gr_grad(t, x), *scratch = gr_scratch(t);
    if (!dx || !x->len) return;
    rows_call c = { .s = s, .dy = gr_grad(t, n->out[0]), .y = n->out[0]->data, .dx = dx };
    c.x = gr__reduction_rows(t, &s->r, x, scratch);
    if (!s->r.in_rows) c.dx = memset(scratch + x->len, 0, x->len * sizeof *dx);
    rows_run(t, &c);
    if (s->r.in_rows) return;
    gr__layout back = s->r.to_rows;
    memcpy(back.x, s->r.to_rows.y, sizeof back.x);
    memcpy(back.y, s->r.to_rows.x, sizeof back.y);
    gr__strided_add(t, back, dx, c.dx);
}

static size_t rows_scratch(const gr_node *n)
{
    const rows_saved *s = n->saved;
    return s->r.in_rows ? 0 : 2 * n->in[0]->len * sizeof(gr_real);
}

static gr_tensor *reduce_rows(gr_tape *t, const gr_op *op, rows_forward *const *forward, rows_backward *const *backward, gr_tensor *x,
                              gr_axes axes, bool keepdim, double p)
{
    rows_saved s = { .p = (gr_real)p };
    if (!gr_ready(t, op, x) || !gr__reduction_of(t, op, x, axes, keepdim, &s.r)) return NULL;
    if (!s.r.n && (forward == max_forward || forward == min_forward))
        return gr_fail(t, op, "x is %s, and the %s of no values does not exist", gr_shape_text(t, x), op->name);
    gr_tensor *y = gr_empty(t, s.r.shape);
    const gr_mark mark = gr_tape_mark(t);
    const gr_real *rows = gr__reduction_rows(t, &s.r, x, NULL);
    if (!y || !rows) return NULL;
    rows_call c = { .s = &s, .forward = forward[gr_isa(t)], .x = rows, .y = y->data };
    rows_run(t, &c);
    gr_tape_rewind(t, mark);
    s.backward = backward[gr_isa(t)];
    return gr_record(t, op, &s, sizeof s, GR_OUT(y), GR_IN(x));
}

#define ROWS_OP(op) static const gr_op op##_op = { .name = #op, .backward = rows_node, .scratch = rows_scratch };
#define ROWS_REDUCTION(op, backward) \
    ROWS_OP(op) \
    gr_tensor *gr_##op(gr_tape *t, gr_tensor *x, gr_axes axes, bool keepdim) \
    { \
        return reduce_rows(t, &op##_op, op##_forward, backward, x, axes, keepdim, 0); \
    }
ROWS_REDUCTION(max, extreme_backward)
ROWS_REDUCTION(min, extreme_backward)
ROWS_REDUCTION(prod, prod_backward)
ROWS_REDUCTION(logsumexp, logsumexp_backward)

ROWS_OP(var)
gr_tensor *gr_var(gr_tape *t, gr_tensor *x, gr_axes axes, double correction, bool keepdim)
{
    return reduce_rows(t, &var_op, var_forward, var_backward, x, axes, keepdim, correction);
}

ROWS_OP(vector_norm)
gr_tensor *gr_vector_norm(gr_tape *t, gr_tensor *x, double p, gr_axes axes, bool keepdim)
{
    if (p == 1) return reduce_rows(t, &vector_norm_op, norm_1_forward, norm_1_backward, x, axes, keepdim, p);
    if (p == 2) return reduce_rows(t, &vector_norm_op, norm_2_forward, norm_2_backward, x, axes, keepdim, p);
    if (p == (double)INFINITY) return reduce_rows(t, &vector_norm_op, norm_inf_forward, norm_inf_backward, x, axes, keepdim, p);
    if (p > 0) return reduce_rows(t, &vector_norm_op, norm_p_forward, norm_p_backward, x, axes, keepdim, p);
    return gr_ready(t, &vector_norm_op, x) ? gr_fail(t, &vector_norm_op, "p must be above 0; got %g", p) : NULL;
}
#endif
