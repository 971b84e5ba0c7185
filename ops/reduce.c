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
 * Saved: the sizes; backward reads x and y.
 *
 * ops/broadcast.c computes sum and mean: its sum is the one that undoes broadcasting, and its broadcast is their backward. The other reductions need a
 * whole row at once: when the reduced axes are not the last ones, gr_permute brings them there. Over leading axes max, min and var have kernels that
 * read x where it lies (ops/reduce_columns.h), in half of the time.
 *
 * The variance is computed in two passes; the sum of x - m, which is 0 except for rounding, corrects it. Where squares or sums leave the range
 * of gr_real, var and norm compute the row again, scaled (ops/norm_far.h). A logsumexp(x) above 1024 is too coarse for exp(x - y); there dx is
 * computed as softmax computes it. */
#include "core/maths.h"
#include "ops/broadcast.h"
#include "ops/index.h"
#include "ops/norm_far.h"
#include "ops/ops.h"
#include "ops/reduce_columns.h"
#include "ops/strided.h"

/* out = x's gradient, in = { dy }, p = the factor */
KERNEL(void, sum_backward, gr_real *restrict dx, const gr_real *const *in, size_t n, const gr_real *p, int how)
{
    const gr_real *dy = in[0], factor = p[0], of_one = factor * *dy;
    if (how & GR__ONE_A) for (size_t i = 0; i < n; i++) dx[i] = (how & GR__FIRST ? 0 : dx[i]) + of_one;
    else for (size_t i = 0; i < n; i++) dx[i] = (how & GR__FIRST ? 0 : dx[i]) + factor * dy[i];
}

/* A kernel of rows computes each by a function of a row, whose body follows: it returns y, or adds to dx. p is the order of a norm, the correction of a
 * variance, the sign of an extreme; the others do not use it. */
#define ROWS_Y(op) \
    INLINE gr_real GR_NAME(op##_row)(const gr_real *restrict x, size_t n, gr_real p); \
    KERNEL(void, op, REDUCE_FORWARD) { for (size_t r = 0; r < count; r++) y[r] = GR_NAME(op##_row)(x + r * n, n, p); } \
    INLINE gr_real GR_NAME(op##_row)(const gr_real *restrict x, size_t n, gr_real p UNUSED)
#define ROWS_DX(op) \
    INLINE void GR_NAME(op##_row)(gr_real *restrict dx, gr_real dy, const gr_real *restrict x, gr_real y, size_t n, gr_real p); \
    KERNEL(void, op, REDUCE_BACKWARD) \
    { \
        if (first) memset(dx, 0, count * n * sizeof *dx); \
        for (size_t r = 0; r < count; r++) GR_NAME(op##_row)(dx + r * n, dy[r], x + r * n, y[r], n, p); \
    } \
    INLINE void GR_NAME(op##_row)(gr_real *restrict dx, gr_real dy, const gr_real *restrict x, gr_real y UNUSED, size_t n, gr_real p UNUSED)
#define EACH_DX(formula) for (size_t i = 0; i < n; i++) dx[i] += formula
INLINE gr_real with_sign(gr_real a, gr_real x) { return x > 0 ? a : x < 0 ? -a : 0; } /* a sign(x) */

ROWS_Y(max_forward) { return MAX(i, n, x[i]) + 0; } /* + 0: of -0 and 0 the order of the comparisons would choose; so the result is 0 */
ROWS_Y(min_forward) { return MIN(i, n, x[i]) + 0; }
ROWS_DX(extreme_backward)
{
    const gr_real share = dy / SUM(i, n, x[i] == y ? 1 : 0);
    EACH_DX(x[i] == y ? share : 0);
}

ROWS_Y(prod_forward) { return PRODUCT(i, n, x[i]); }
ROWS_DX(prod_backward)
{
    const gr_real zeros = SUM(i, n, x[i] == 0 ? 1 : 0), product = dy * PRODUCT(i, n, x[i] == 0 ? 1 : x[i]);
    const gr_real at_zero = zeros == 1 ? product : 0, elsewhere = zeros == 0 ? product : 0;
    EACH_DX(x[i] == 0 ? at_zero : elsewhere / x[i]);
}

/* An infinite largest value is not subtracted: log(exp(-inf) + ..) and log(exp(inf) + ..) come out right without. */
ROWS_Y(logsumexp_forward)
{
    const gr_real largest = MAX(i, n, x[i]), shift = r_abs(largest) < R(INFINITY) ? largest : 0;
    return shift + r_log(LONG_SUM(i, n, r_exp(x[i] - shift)));
}
ROWS_DX(logsumexp_backward)
{
    gr_real shift = y == R(-INFINITY) ? 0 : y;
    if (r_abs(shift) > 1024 && r_abs(shift) < R(INFINITY)) shift = MAX(i, n, x[i]), dy /= LONG_SUM(i, n, r_exp(x[i] - shift));
    EACH_DX(dy * r_exp(x[i] - shift));
}

ROWS_Y(norm_1_forward) { return LONG_SUM(i, n, r_abs(x[i])); }
ROWS_DX(norm_1_backward) { EACH_DX(with_sign(dy, x[i])); }

ROWS_Y(norm_inf_forward) { return r_max(0, MAX(i, n, r_abs(x[i]))); }
ROWS_DX(norm_inf_backward)
{
    const gr_real share = y == 0 ? 0 : dy / SUM(i, n, r_abs(x[i]) == y ? 1 : 0);
    EACH_DX(x[i] == y ? share : x[i] == -y ? -share : 0);
}

ROWS_Y(norm_p_forward)
{
    const gr_real sum = LONG_SUM(i, n, r_pow(r_abs(x[i]), p)), most = MAX(i, n, r_abs(x[i]));
    if ((r_flush(sum) != 0 && sum < R(INFINITY)) || !(most > 0 && most < R(INFINITY))) return r_pow(sum, 1 / p);
    return most * r_pow(LONG_SUM(i, n, r_pow(r_abs(x[i]) / most, p)), 1 / p);
}
ROWS_DX(norm_p_backward)
{
    const gr_real g = y == 0 ? 0 : dy;
    EACH_DX(with_sign(g * r_pow(r_abs(x[i]) / y, p - 1), x[i]));
}

ROWS_Y(norm_2_forward)
{
    const gr_real sum = LONG_SUM(i, n, r_square(x[i])), y = r_sqrt(sum);
    return r_flush(sum) == 0 || !(sum < R(INFINITY)) ? gr__far_norm_2(y, x, n) : y;
}
ROWS_DX(norm_2_backward)
{
    const gr_real g = y == 0 ? 0 : dy, factor = y == 0 ? 0 : g / y;
    if (r_flush(factor) == 0 || !(r_abs(factor) < R(INFINITY))) EACH_DX(y == 0 ? 0 : g * (x[i] / y));
    else EACH_DX(factor * x[i]);
}

ROWS_Y(var_forward)
{
    const gr_real N = (gr_real)n, m = LONG_SUM(i, n, x[i]) / N;
    gr_real d, dd;
    LONG_SUM2(i, n, d, x[i] - m, dd, r_square(x[i] - m));
    const gr_real y = N > p ? (dd - d * d / N) / (N - p) : R(NAN);
    return N > p && !(y < R(INFINITY)) ? gr__far_var(y, x, n, 1, (double)p) : y;
}
ROWS_DX(var_backward)
{
    const gr_real N = (gr_real)n, m = LONG_SUM(i, n, x[i]) / N, mean = m + LONG_SUM(i, n, x[i] - m) / N, factor = 2 * dy / (N - p);
    if (N > p && (!(r_abs(mean) < R(INFINITY)) || !(y < R(INFINITY)))) gr__far_var_backward(dx, x, n, 1, (double)factor);
    else EACH_DX(factor * (x[i] - mean));
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
    gr_shape shape, ones;  /* of the result; the same with size 1 for each dropped axis */
    gr__runs runs;         /* of x: kept and dropped axes */
    size_t rows, n;        /* x as [rows, n] */
    bool in_rows, columns; /* the dropped axes are the last; the first */
    gr_axes order;         /* of the axes as rows: kept ones, dropped ones */
} reduce_plan;

/* Fill r; false, with the error on the tape, when the axes do not fit x. */
static bool reduce_plan_of(gr_tape *t, const gr_op *op, const gr_tensor *x, gr_axes axes, bool keepdim, reduce_plan *r)
{
    bool dropped[GR_MAX_RANK], kept[GR_MAX_RANK];
    *r = (reduce_plan){ .ones.rank = x->rank };
    if (!gr__axes_marked(t, op, x, axes, dropped)) return false;
    for (int k = 0; k < x->rank; k++) {
        kept[k] = !dropped[k], r->ones.dim[k] = kept[k] ? x->dim[k] : 1;
        if (kept[k] || keepdim) r->shape.dim[r->shape.rank++] = r->ones.dim[k];
        if (kept[k]) r->order.axis[r->order.count++] = k;
    }
    for (int k = 0; k < x->rank; k++)
        if (dropped[k]) r->order.axis[r->order.count++] = k;
    r->runs = gr__runs_of(gr_shape_of(x), kept), r->rows = gr__runs_count(&r->runs, true), r->n = gr__runs_count(&r->runs, false);
    r->columns = r->n && r->runs.n == 2 && r->runs.kept[1], r->in_rows = r->runs.n < 2 || (r->runs.n == 2 && r->runs.kept[0]);
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
    for (size_t i = 0; op == &mean_op && i < y->len; i++) y->data[i] /= (gr_real)r.n;
    const sum_saved s = { r.ones, op == &mean_op ? 1 / (gr_real)r.n : 1 };
    return gr_record(t, op, &s, sizeof s, GR_OUT(y), GR_IN(x));
}

gr_tensor *gr_sum(gr_tape *t, gr_tensor *x, gr_axes axes, bool keepdim) { return sum_over(t, &sum_op, x, axes, keepdim); }
gr_tensor *gr_mean(gr_tape *t, gr_tensor *x, gr_axes axes, bool keepdim) { return sum_over(t, &mean_op, x, axes, keepdim); }

/* ---- Reductions of whole rows ---- */

enum { ROWS_CHUNK = 16384 }; /* the values of x that a thread takes */

typedef struct { reduce_forward *const *forward; reduce_backward *const *backward; size_t columns; } reduce_kernels; /* columns: 0, or how many at a time */
typedef struct { size_t rows, n; const reduce_kernels *k; gr_real p; } rows_saved;

typedef struct {
    const rows_saved *s;
    const gr_real *x, *dy;
    gr_real *y, *dx; /* dx: NULL in forward */
    int *index;      /* argmax's y, else NULL */
    bool fresh;      /* dx is not cleared yet */
    int isa;
} rows_call;

static void rows_task(void *argument, gr_range rows)
{
    const rows_call *c = argument;
    const rows_saved *s = c->s;
    const size_t n = s->n, y = rows.first, x = s->k->columns ? y : y * n;
    if (c->index) argmax_forward[c->isa](c->index + y, c->x + x, rows.count, n, s->p);
    else if (c->dx) s->k->backward[c->isa](c->dx + x, c->dy + y, c->x + x, c->y + y, rows.count, n, s->rows, s->p, c->fresh);
    else s->k->forward[c->isa](c->y + y, c->x + x, rows.count, n, s->rows, s->p);
}

static void rows_run(gr_tape *t, rows_call *c)
{
    const size_t rows = c->s->rows, n = c->s->n, columns = c->s->k->columns;
    c->isa = gr_isa(t);
    gr__parallel_rows(t, rows, columns ? columns : n > ROWS_CHUNK ? 1 : ROWS_CHUNK / (n + !n), (columns ? 0.1 : 0.5) * (double)(rows * n), rows_task, c);
}

static void rows_node(gr_tape *t, const gr_node *n)
{
    const gr_tensor *x = n->in[0];
    rows_call c = { .s = n->saved, .x = x->data, .dy = gr_grad(t, n->out[0]), .y = n->out[0]->data };
    c.dx = x->len ? gr__grad_to_fill(t, x, &c.fresh) : NULL;
    if (c.dx) rows_run(t, &c);
}

/* kernels: for rows, for columns */
static gr_tensor *reduce_rows(gr_tape *t, const gr_op *op, const reduce_kernels *kernels, gr_tensor *x, gr_axes axes, bool keepdim, double p)
{
    reduce_plan r;
    if (!gr_ready(t, op, x) || !reduce_plan_of(t, op, x, axes, keepdim, &r)) return NULL;
    if (!r.n && kernels->backward == extreme_backward) return gr_fail(t, op, "x is %s: the %s of no values does not exist", gr_shape_text(t, x), op->name);
    const bool columns = r.columns && kernels[1].columns;
    const rows_saved s = { r.rows, r.n, kernels + columns, (gr_real)p };
    gr_tensor *y = gr__empty(t, op, r.shape), *rows = x;
    const gr_mark mark = gr_tape_mark(t);
    if (y && !columns && !r.in_rows) rows = gr_permute(t, x, r.order);
    if (!y || !rows) return NULL;
    rows_run(t, &(rows_call){ .s = &s, .x = rows->data, .y = y->data });
    if (!gr_will_record(t, GR_IN(x))) gr_tape_rewind(t, mark), rows = x;
    return gr__inner(t, mark, gr_record(t, op, &s, sizeof s, GR_OUT(y), GR_IN(rows)));
}

#define ROWS_OP(op) static const gr_op op##_op = { .name = #op, .backward = rows_node };
#define ROWS_REDUCTION(op, p, ...) \
    ROWS_OP(op) \
    gr_tensor *gr_##op(gr_tape *t, gr_tensor *x, gr_axes axes, bool keepdim) \
    { \
        static const reduce_kernels kernels[2] = { __VA_ARGS__ }; \
        return reduce_rows(t, &op##_op, kernels, x, axes, keepdim, p); \
    }
ROWS_REDUCTION(max, 1, { max_forward, extreme_backward, 0 }, { extreme_columns, extreme_columns_backward, EXTREME_COLUMNS })
ROWS_REDUCTION(min, -1, { min_forward, extreme_backward, 0 }, { extreme_columns, extreme_columns_backward, EXTREME_COLUMNS })
ROWS_REDUCTION(prod, 0, { prod_forward, prod_backward, 0 })
ROWS_REDUCTION(logsumexp, 0, { logsumexp_forward, logsumexp_backward, 0 })

ROWS_OP(var)
gr_tensor *gr_var(gr_tape *t, gr_tensor *x, gr_axes axes, double correction, bool keepdim)
{
    static const reduce_kernels kernels[2] = { { var_forward, var_backward, 0 }, { var_columns, var_columns_backward, VAR_COLUMNS } };
    return reduce_rows(t, &var_op, kernels, x, axes, keepdim, correction);
}

ROWS_OP(vector_norm)
gr_tensor *gr_vector_norm(gr_tape *t, gr_tensor *x, double p, gr_axes axes, bool keepdim)
{
    const gr_real order = (gr_real)p;
    static const reduce_kernels kernels[4][2] = { { { norm_1_forward, norm_1_backward, 0 } }, { { norm_2_forward, norm_2_backward, 0 } },
                                                  { { norm_inf_forward, norm_inf_backward, 0 } }, { { norm_p_forward, norm_p_backward, 0 } } };
    if (order > 0) return reduce_rows(t, &vector_norm_op, kernels[order == 1 ? 0 : order == 2 ? 1 : order == R(INFINITY) ? 2 : 3], x, axes, keepdim, p);
    return gr_ready(t, &vector_norm_op, x) ? gr_fail(t, &vector_norm_op, "p must be above 0; got %g", p) : NULL;
}

static const gr_op argmax_name = { .name = "argmax" }, argmin_name = { .name = "argmin" }; /* no gradient passes: they are never recorded */

/* The index of the largest value of sign * x. */
static gr_ints *index_of_extreme(gr_tape *t, const gr_op *op, gr_tensor *x, int axis, bool keepdim, gr_real sign)
{
    reduce_plan r;
    if (!gr_ready(t, op, x) || !reduce_plan_of(t, op, x, GR_AXES(axis), keepdim, &r)) return NULL;
    if (!r.n) return gr_fail(t, op, "x is %s: an empty axis has no %s value", gr_shape_text(t, x), sign > 0 ? "largest" : "smallest");
    if (!index_fits_int(t, op, x, axis)) return NULL;
    gr_ints *y = gr_ints_new(t, NULL, r.shape);
    const gr_mark mark = gr_tape_mark(t);
    const gr_tensor *const rows = y && !r.in_rows ? gr_permute(t, gr_detach(t, x), r.order) : x;
    if (!y || !rows) return NULL;
    rows_run(t, &(rows_call){ .s = &(rows_saved){ r.rows, r.n, &(reduce_kernels){ 0 }, sign }, .x = rows->data, .index = y->data });
    gr_tape_rewind(t, mark);
    gr_record(t, op, NULL, 0, GR_OUT(NULL), GR_IN(x));
    return gr_failed(t) ? NULL : y;
}
gr_ints *gr_argmax(gr_tape *t, const gr_tensor *x, int axis, bool keepdim) { return index_of_extreme(t, &argmax_name, (gr_tensor *)x, axis, keepdim, 1); }
gr_ints *gr_argmin(gr_tape *t, const gr_tensor *x, int axis, bool keepdim) { return index_of_extreme(t, &argmin_name, (gr_tensor *)x, axis, keepdim, -1); }
#endif
