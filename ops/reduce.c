/* ops/reduce.c - reductions over any axes. x is seen as rows of n values, of which each becomes one value y.
 * Shapes: y is x without the axes, or with size 1 there.   Source: none.
 *
 *     sum                             y = sum of x                             dx = dy
 *     mean                            y = sum of x / n                         dx = dy / n
 *     var         m = mean of x       y = sum of (x - m)^2 / (n - c)           dx = dy 2 (x - m) / (n - c)
 *     max, min                                                                 dx = dy / k where x = y, for k such x
 *     prod                                                                     dx = dy times the product of the other x
 *     logsumexp                       y = log(sum of exp(x))                   dx = dy exp(x - y), 0 where y is -inf
 *     norm        p = 1               y = sum of |x|                           dx = dy sign(x)
 *                 p = 2               y = sqrt(sum of x^2)                     dx = dy x / y
 *                 p = inf             y = max of |x|                           dx = dy sign(x) / k where |x| = y
 *                 p                   y = (sum of |x|^p)^(1/p)                 dx = dy sign(x) (|x| / y)^(p - 1)
 *
 * Kinks: equal extremes share dy; logsumexp passes nothing where y is -inf, norm (vector_norm) nothing where y is 0.
 * Saved: the shapes, the copy of x if there is one; backward reads x or its copy, and y.
 *
 * ops/broadcast.c computes sum and mean: its sum is the one that undoes broadcasting, and its broadcast is their backward. The other
 * reductions need a whole row at once. When the reduced axes are not the last ones, x is copied so that they are, and backward reads this copy: to
 * make it again would take a third of backward's time. max and min over leading axes read x where it lies.
 *
 * The variance is computed in two passes; the sum of x - m, which is 0 except for rounding, corrects it. Where squares or sums leave the range
 * of gr_real, var and norm compute the row again, scaled (ops/norm_far.h). A logsumexp(x) above 1024 is too coarse for exp(x - y); there dx is
 * computed as softmax computes it. */
#include "core/maths.h"
#include "ops/broadcast.h"
#include "ops/index.h"
#include "ops/norm_far.h"
#include "ops/ops.h"
#include "ops/strided.h"

/* out = x's gradient, in = { dy }, p = the factor */
KERNEL(void, sum_backward, gr_real *restrict dx, const gr_real *const *in, size_t n, const gr_real *p, int how)
{
    const gr_real *dy = in[0], factor = p[0], of_one = factor * *dy;
    if (how & GR__ONE_A) for (size_t i = 0; i < n; i++) dx[i] = (how & GR__FIRST ? 0 : dx[i]) + of_one;
    else for (size_t i = 0; i < n; i++) dx[i] = (how & GR__FIRST ? 0 : dx[i]) + factor * dy[i];
}

enum { ROWS_CHUNK = 16384, ROWS_COLUMNS = 512 }; /* what a thread takes: values of x; columns where they lie */

/* p is the order of a norm, the correction of a variance, the sign of an extreme; the others do not use it. */
#define ROWS_FORWARD(op) \
    KERNEL(void, op, gr_real *restrict y, const gr_real *restrict x, size_t rows, size_t n, gr_real p UNUSED)
#define ROWS_BACKWARD(op) \
    KERNEL(void, op, gr_real *restrict dx, const gr_real *restrict dy, const gr_real *restrict x, const gr_real *restrict y UNUSED, \
           size_t rows, size_t n, gr_real p UNUSED)

/* For each row: what the formula needs, then y[r] = formula, or dx[i] += formula. */
#define ROWS_Y(op, formula, ...) \
    ROWS_FORWARD(op) \
    { \
        for (size_t r = 0; r < rows; r++, x += n) { \
            __VA_ARGS__; \
            y[r] = formula; \
        } \
    }
#define ROWS_DX(op, formula, ...) \
    ROWS_BACKWARD(op) \
    { \
        for (size_t r = 0; r < rows; r++, x += n, dx += n) { \
            __VA_ARGS__; \
            for (size_t i = 0; i < n; i++) dx[i] += formula; \
        } \
    }
INLINE gr_real with_sign(gr_real a, gr_real x) { return x > 0 ? a : x < 0 ? -a : 0; } /* a sign(x) */

/* clang-format off */
ROWS_Y(max_forward, MAX(i, n, x[i]) + 0, ) /* + 0: of -0 and 0 the order of the comparisons would choose; so the result is 0 */
ROWS_Y(min_forward, MIN(i, n, x[i]) + 0, )
ROWS_DX(extreme_backward, x[i] == extreme ? share : 0,
        const gr_real extreme = y[r], share = dy[r] / SUM(i, n, x[i] == extreme ? 1 : 0))

ROWS_Y(prod_forward, PRODUCT(i, n, x[i]), )
ROWS_DX(prod_backward, x[i] == 0 ? at_zero : elsewhere / x[i],
        const gr_real zeros = SUM(i, n, x[i] == 0 ? 1 : 0), product = dy[r] * PRODUCT(i, n, x[i] == 0 ? 1 : x[i]);
        const gr_real at_zero = zeros == 1 ? product : 0, elsewhere = zeros == 0 ? product : 0)

/* An infinite largest value is not subtracted: log(exp(-inf) + ..) and log(exp(inf) + ..) come out right without. */
ROWS_Y(logsumexp_forward, shift + r_log(LONG_SUM(i, n, r_exp(x[i] - shift))),
       const gr_real largest = MAX(i, n, x[i]), shift = r_abs(largest) < R(INFINITY) ? largest : 0)
ROWS_DX(logsumexp_backward, g * r_exp(x[i] - shift),
        gr_real shift = y[r] == R(-INFINITY) ? 0 : y[r], g = dy[r];
        if (r_abs(shift) > 1024 && r_abs(shift) < R(INFINITY)) shift = MAX(i, n, x[i]), g /= LONG_SUM(i, n, r_exp(x[i] - shift)))

ROWS_Y(norm_1_forward, LONG_SUM(i, n, r_abs(x[i])), ) ROWS_DX(norm_1_backward, with_sign(g, x[i]), const gr_real g = dy[r])
ROWS_Y(norm_inf_forward, r_max(0, MAX(i, n, r_abs(x[i]))), )
ROWS_DX(norm_inf_backward, x[i] == extreme ? share : x[i] == -extreme ? -share : 0,
        const gr_real extreme = y[r], share = extreme == 0 ? 0 : dy[r] / SUM(i, n, r_abs(x[i]) == extreme ? 1 : 0))
ROWS_DX(norm_p_backward, with_sign(g * r_pow(r_abs(x[i]) / norm, p - 1), x[i]), const gr_real norm = y[r], g = norm == 0 ? 0 : dy[r])
/* clang-format on */

ROWS_FORWARD(norm_p_forward)
{
    for (size_t r = 0; r < rows; r++, x += n) {
        const gr_real sum = LONG_SUM(i, n, r_pow(r_abs(x[i]), p));
        y[r] = r_pow(sum, 1 / p);
        if (r_flush(sum) != 0 && sum < R(INFINITY)) continue;
        const gr_real most = MAX(i, n, r_abs(x[i]));
        if (most > 0 && most < R(INFINITY)) y[r] = most * r_pow(LONG_SUM(i, n, r_pow(r_abs(x[i]) / most, p)), 1 / p);
    }
}

ROWS_FORWARD(norm_2_forward)
{
    for (size_t r = 0; r < rows; r++, x += n) {
        const gr_real sum = LONG_SUM(i, n, r_square(x[i]));
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

ROWS_FORWARD(var_forward)
{
    const gr_real count = (gr_real)n;
    for (size_t r = 0; r < rows; r++, x += n) {
        const gr_real m = LONG_SUM(i, n, x[i]) / count;
        gr_real d, dd;
        LONG_SUM2(i, n, d, x[i] - m, dd, r_square(x[i] - m));
        y[r] = count > p ? (dd - d * d / count) / (count - p) : R(NAN);
        if (!(y[r] < R(INFINITY)) && count > p) gr__far_var(y + r, x, n, (double)p);
    }
}
ROWS_BACKWARD(var_backward)
{
    const gr_real count = (gr_real)n;
    for (size_t r = 0; r < rows; r++, x += n, dx += n) {
        const gr_real m = LONG_SUM(i, n, x[i]) / count, mean = m + LONG_SUM(i, n, x[i] - m) / count;
        const gr_real factor = 2 * dy[r] / (count - p);
        if (count > p && (!(r_abs(mean) < R(INFINITY)) || !(y[r] < R(INFINITY)))) gr__far_var_backward(dx, x, n, (double)factor);
        else for (size_t i = 0; i < n; i++) dx[i] += factor * (x[i] - mean);
    }
}

/* sign * the largest of sign * x, over the rows of x [n, stride], of width columns; the same bits */
KERNEL(void, extreme_columns, gr_real *restrict y, const gr_real *restrict x, size_t n, size_t width, size_t stride, gr_real sign)
{
    for (size_t i = 0; i < width; i++) y[i] = sign * x[i];
    for (size_t r = 1; r < n; r++)
        for (size_t i = 0; i < width; i++) y[i] = r_larger(y[i], sign * x[r * stride + i]);
    for (size_t i = 0; i < width; i++) y[i] = sign * y[i] + 0;
}

/* Its backward: width <= ROWS_COLUMNS columns of dx. first: dx holds nothing yet */
KERNEL(void, extreme_columns_backward, gr_real *restrict dx, const gr_real *restrict dy, const gr_real *restrict x, const gr_real *restrict y,
       size_t n, size_t width, size_t stride, bool first)
{
    gr_real share[ROWS_COLUMNS];
    int equal[ROWS_COLUMNS] = { 0 };
    for (size_t r = 0; r < n; r++)
        for (size_t i = 0; i < width; i++) equal[i] += x[r * stride + i] == y[i];
    for (size_t i = 0; i < width; i++) share[i] = dy[i] / (gr_real)equal[i];
    for (size_t r = 0; r < n; r++)
        for (size_t i = 0; i < width; i++) dx[r * stride + i] = (first ? 0 : dx[r * stride + i]) + (x[r * stride + i] == y[i] ? share[i] : 0);
}

/* The first of the largest values of sign * x. */
KERNEL(void, argmax_forward, int *restrict y, const gr_real *restrict x, size_t rows, size_t n, gr_real sign)
{
    for (size_t r = 0; r < rows; r++, x += n) {
        const gr_real largest = MAX(i, n, sign * x[i]); /* NaN if there is one */
        size_t i = 0;
        while (sign * x[i] < largest || (x[i] == x[i] && largest != largest)) i++;
        y[r] = (int)i;
    }
}

#if GR_HOST
typedef struct {
    gr_shape shape, ones;    /* of the result; the same with size 1 for each dropped axis */
    gr__runs runs;           /* of x: kept and dropped axes */
    size_t rows, n;          /* x as [rows, n] */
    bool columns;            /* the rows are the columns of x, for kernels that read these: max and min over leading axes */
    bool in_rows;            /* x is read where it lies: the dropped axes are the last, or columns is true */
    gr__layout to_rows;      /* else: how to copy it */
} reduce_plan;

/* Fill r; false, with the error on the tape, when the axes do not fit x. */
static bool reduce_plan_of(gr_tape *t, const gr_op *op, const gr_tensor *x, gr_axes axes, bool keepdim, reduce_plan *r)
{
    bool dropped[GR_MAX_RANK], kept[GR_MAX_RANK];
    int order[GR_MAX_RANK], at = 0;
    *r = (reduce_plan){ .ones.rank = x->rank };
    if (!gr__axes_marked(t, op, x, axes, dropped)) return false;
    for (int k = 0; k < x->rank; k++) {
        kept[k] = !dropped[k], r->ones.dim[k] = kept[k] ? x->dim[k] : 1;
        if (kept[k] || keepdim) r->shape.dim[r->shape.rank++] = r->ones.dim[k];
        if (kept[k]) order[at++] = k;
    }
    for (int k = 0; k < x->rank; k++)
        if (dropped[k]) order[at++] = k;
    r->runs = gr__runs_of(gr_shape_of(x), kept), r->rows = gr__runs_count(&r->runs, true), r->n = gr__runs_count(&r->runs, false);
    r->in_rows = r->runs.n < 2 || (r->runs.n == 2 && r->runs.kept[0]), r->to_rows = gr__layout_of(gr_shape_of(x), order);
    return true;
}

/* ---- Sum, mean ---- */

typedef struct { gr_shape ones; gr_real factor; } sum_saved;

static void sum_node(gr_tape *t, const gr_node *n)
{
    const sum_saved *s = n->saved;
    const gr_tensor *x = n->in[0];
    gr_tensor dy = { .data = gr_grad(t, n->out[0]), .len = n->out[0]->len, .rank = s->ones.rank };
    memcpy(dy.dim, s->ones.dim, sizeof dy.dim);
    bool fresh;
    gr_real *const dx = gr__grad_to_fill(t, x, &fresh);
    if (dx) gr__map_to(t, sum_backward, dx, 0, fresh ? GR__FIRST : 0, true, x, GR_IN(&dy), &s->factor);
}
static const gr_op sum_op = { .name = "sum", .backward = sum_node };
static const gr_op mean_op = { .name = "mean", .backward = sum_node };

static gr_tensor *sum_over(gr_tape *t, const gr_op *op, gr_tensor *x, gr_axes axes, bool keepdim)
{
    reduce_plan r;
    if (!gr_ready(t, op, x) || !reduce_plan_of(t, op, x, axes, keepdim, &r)) return NULL;
    gr_tensor *y = gr_zeros(t, r.shape);
    if (!y) return NULL;
    gr__runs_sum(t, &r.runs, x->data, y->data);
    sum_saved s = { .ones = r.ones, .factor = 1 };
    if (op == &mean_op) {
        for (size_t i = 0; i < y->len; i++) y->data[i] /= (gr_real)r.n;
        s.factor = 1 / (gr_real)r.n;
    }
    return gr_record(t, op, &s, sizeof s, GR_OUT(y), GR_IN(x));
}

gr_tensor *gr_sum(gr_tape *t, gr_tensor *x, gr_axes axes, bool keepdim) { return sum_over(t, &sum_op, x, axes, keepdim); }
gr_tensor *gr_mean(gr_tape *t, gr_tensor *x, gr_axes axes, bool keepdim) { return sum_over(t, &mean_op, x, axes, keepdim); }

/* ---- Reductions of whole rows ---- */

typedef void rows_forward(gr_real *restrict y, const gr_real *restrict x, size_t rows, size_t n, gr_real p);
typedef void rows_backward(gr_real *restrict dx, const gr_real *restrict dy, const gr_real *restrict x, const gr_real *restrict y,
                           size_t rows, size_t n, gr_real p);

typedef struct { reduce_plan r; rows_backward *backward; gr_real p; const gr_real *rows; } rows_saved; /* rows: what rows_of gave */

typedef struct {
    const rows_saved *s;
    rows_forward *forward; /* NULL: backward, or argmax */
    void (*argmax)(int *restrict y, const gr_real *restrict x, size_t rows, size_t n, gr_real sign);
    const gr_real *x, *dy;
    gr_real *y, *dx;
    int *index; /* argmax's y */
    bool clear; /* dx is not cleared yet */
    int isa;
} rows_call;

static void rows_task(void *argument, gr_range rows)
{
    const rows_call *c = argument;
    const reduce_plan *r = &c->s->r;
    const size_t n = r->n, y = rows.first, x = r->columns ? y : y * n;
    if (c->clear && !r->columns) memset(c->dx + x, 0, rows.count * n * sizeof *c->dx);
    if (r->columns && c->dx) extreme_columns_backward[c->isa](c->dx + x, c->dy + y, c->x + x, c->y + y, n, rows.count, r->rows, c->clear);
    else if (r->columns) extreme_columns[c->isa](c->y + y, c->x + x, n, rows.count, r->rows, c->s->p);
    else if (c->argmax) c->argmax(c->index + y, c->x + x, rows.count, n, c->s->p);
    else if (c->forward) c->forward(c->y + y, c->x + x, rows.count, n, c->s->p);
    else c->s->backward(c->dx + x, c->dy + y, c->x + x, c->y + y, rows.count, n, c->s->p);
}

static void rows_run(gr_tape *t, rows_call *c)
{
    const reduce_plan *r = &c->s->r;
    const size_t to_a_chunk = r->columns ? ROWS_COLUMNS : r->n > ROWS_CHUNK ? 1 : ROWS_CHUNK / (r->n + !r->n);
    gr__parallel_rows(t, r->rows, to_a_chunk, (r->columns ? 0.1 : 0.5) * (double)(r->rows * r->n), rows_task, c);
}

/* x as [rows, n]: x itself, or a copy on the tape. NULL when out of memory. */
static const gr_real *rows_of(gr_tape *t, const reduce_plan *r, const gr_tensor *x)
{
    if (r->in_rows) return x->data;
    gr_real *rows = gr_save_reals(t, x->len);
    if (rows) gr__strided_copy(t, r->to_rows, rows, x->data);
    return rows;
}

static void rows_node(gr_tape *t, const gr_node *n)
{
    const rows_saved *s = n->saved;
    const gr_tensor *x = n->in[0];
    bool fresh;
    gr_real *const scratch = gr_scratch(t), *const dx = x->len ? gr__grad_to_fill(t, x, &fresh) : NULL;
    if (!dx) return;
    rows_call c = { .s = s, .x = s->rows, .dy = gr_grad(t, n->out[0]), .y = n->out[0]->data, .dx = dx, .clear = fresh, .isa = gr_isa(t) };
    if (!s->r.in_rows) c.dx = scratch, c.clear = true;
    rows_run(t, &c);
    if (!s->r.in_rows) gr__strided_back(t, s->r.to_rows, dx, c.dx, fresh);
}

static size_t rows_scratch(const gr_node *n)
{
    const rows_saved *s = n->saved;
    return s->r.in_rows ? 0 : n->in[0]->len * sizeof(gr_real);
}

static gr_tensor *reduce_rows(gr_tape *t, const gr_op *op, rows_forward *const *forward, rows_backward *const *backward, gr_tensor *x,
                              gr_axes axes, bool keepdim, double p)
{
    const bool extreme = backward == extreme_backward;
    rows_saved s = { .p = (gr_real)p };
    if (!gr_ready(t, op, x) || !reduce_plan_of(t, op, x, axes, keepdim, &s.r)) return NULL;
    if (!s.r.n && extreme) return gr_fail(t, op, "x is %s: the %s of no values does not exist", gr_shape_text(t, x), op->name);
    if (extreme && s.r.runs.n == 2 && s.r.runs.kept[1]) s.r.columns = s.r.in_rows = true;
    gr_tensor *y = gr__empty(t, op, s.r.shape);
    if (!y) return NULL;
    const gr_mark mark = gr_tape_mark(t);
    if (!(s.rows = rows_of(t, &s.r, x))) return NULL;
    rows_run(t, &(rows_call){ .s = &s, .forward = forward[gr_isa(t)], .x = s.rows, .y = y->data, .isa = gr_isa(t) });
    if (!gr_will_record(t, GR_IN(x))) gr_tape_rewind(t, mark);
    s.backward = backward[gr_isa(t)];
    return gr_record(t, op, &s, sizeof s, GR_OUT(y), GR_IN(x));
}

#define ROWS_OP(op) static const gr_op op##_op = { .name = #op, .backward = rows_node, .scratch = rows_scratch };
#define ROWS_REDUCTION(op, backward, p) \
    ROWS_OP(op) \
    gr_tensor *gr_##op(gr_tape *t, gr_tensor *x, gr_axes axes, bool keepdim) \
    { \
        return reduce_rows(t, &op##_op, op##_forward, backward, x, axes, keepdim, p); \
    }
ROWS_REDUCTION(max, extreme_backward, 1) ROWS_REDUCTION(min, extreme_backward, -1) ROWS_REDUCTION(prod, prod_backward, 0)
ROWS_REDUCTION(logsumexp, logsumexp_backward, 0)

ROWS_OP(var)
gr_tensor *gr_var(gr_tape *t, gr_tensor *x, gr_axes axes, double correction, bool keepdim)
{
    return reduce_rows(t, &var_op, var_forward, var_backward, x, axes, keepdim, correction);
}

ROWS_OP(vector_norm)
gr_tensor *gr_vector_norm(gr_tape *t, gr_tensor *x, double p, gr_axes axes, bool keepdim)
{
    const gr_real order = (gr_real)p;
    if (order == 1) return reduce_rows(t, &vector_norm_op, norm_1_forward, norm_1_backward, x, axes, keepdim, p);
    if (order == 2) return reduce_rows(t, &vector_norm_op, norm_2_forward, norm_2_backward, x, axes, keepdim, p);
    if (order == R(INFINITY)) return reduce_rows(t, &vector_norm_op, norm_inf_forward, norm_inf_backward, x, axes, keepdim, p);
    if (order > 0) return reduce_rows(t, &vector_norm_op, norm_p_forward, norm_p_backward, x, axes, keepdim, p);
    return gr_ready(t, &vector_norm_op, x) ? gr_fail(t, &vector_norm_op, "p must be above 0; got %g", p) : NULL;
}

static const gr_op argmax_name = { .name = "argmax" }, argmin_name = { .name = "argmin" }; /* no gradient passes: they are never recorded */

/* The index of the largest value of sign * x. */
static gr_ints *index_of_extreme(gr_tape *t, const gr_op *op, const gr_tensor *x, int axis, bool keepdim, gr_real sign)
{
    rows_saved s = { .p = sign };
    if (!gr_ready(t, op, (gr_tensor *)x) || !reduce_plan_of(t, op, x, GR_AXES(axis), keepdim, &s.r)) return NULL;
    if (!s.r.n) return gr_fail(t, op, "x is %s: an empty axis has no %s value", gr_shape_text(t, x), sign > 0 ? "largest" : "smallest");
    if (!index_fits_int(t, op, x, axis)) return NULL;
    gr_ints *y = gr_ints_new(t, NULL, s.r.shape);
    const gr_mark mark = gr_tape_mark(t);
    const gr_real *rows = rows_of(t, &s.r, x);
    if (!y || !rows) return NULL;
    rows_run(t, &(rows_call){ .s = &s, .argmax = argmax_forward[gr_isa(t)], .x = rows, .index = y->data });
    gr_tape_rewind(t, mark);
    gr_record(t, op, NULL, 0, GR_OUT(NULL), GR_IN((gr_tensor *)x));
    return gr_failed(t) ? NULL : y;
}
gr_ints *gr_argmax(gr_tape *t, const gr_tensor *x, int axis, bool keepdim) { return index_of_extreme(t, &argmax_name, x, axis, keepdim, 1); }
gr_ints *gr_argmin(gr_tape *t, const gr_tensor *x, int axis, bool keepdim) { return index_of_extreme(t, &argmin_name, x, axis, keepdim, -1); }
#endif
