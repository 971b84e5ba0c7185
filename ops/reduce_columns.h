/* ops/reduce_columns.h - the kernels of ops/reduce.c for leading axes: they read x where it lies, and have the bits of the kernels for rows.
 * y has `count` values, each of n values of x: those of a row of x [count, n] or, in this file, those of a column of x [n, stride]. */
#ifndef GR_REDUCE_COLUMNS_H
#define GR_REDUCE_COLUMNS_H
#include "core/maths.h"
#include "ops/norm_far.h"

#define REDUCE_FORWARD gr_real *restrict y, const gr_real *restrict x, size_t count, size_t n, size_t stride UNUSED, gr_real p UNUSED
#define REDUCE_BACKWARD \
    gr_real *restrict dx, const gr_real *restrict dy, const gr_real *restrict x, const gr_real *restrict y, size_t count, size_t n, size_t stride UNUSED, \
    gr_real p UNUSED, bool first /* dx holds nothing yet */
typedef void reduce_forward(REDUCE_FORWARD);
typedef void reduce_backward(REDUCE_BACKWARD);

enum { EXTREME_COLUMNS = 512, VAR_COLUMNS = 128 }; /* the largest count */

/* p times the largest of p * x; p is 1 or -1 */
KERNEL(void, extreme_columns, REDUCE_FORWARD)
{
    for (size_t i = 0; i < count; i++) y[i] = p * x[i];
    for (size_t r = 1; r < n; r++)
        for (size_t i = 0; i < count; i++) y[i] = r_larger(y[i], p * x[r * stride + i]);
    for (size_t i = 0; i < count; i++) y[i] = p * y[i] + 0;
}
KERNEL(void, extreme_columns_backward, REDUCE_BACKWARD)
{
    gr_real share[EXTREME_COLUMNS];
    int equal[EXTREME_COLUMNS] = { 0 };
    for (size_t r = 0; r < n; r++)
        for (size_t i = 0; i < count; i++) equal[i] += x[r * stride + i] == y[i];
    for (size_t i = 0; i < count; i++) share[i] = dy[i] / (gr_real)equal[i];
    for (size_t r = 0; r < n; r++)
        for (size_t i = 0; i < count; i++) dx[r * stride + i] = (first ? 0 : dx[r * stride + i]) + (x[r * stride + i] == y[i] ? share[i] : 0);
}

/* sum = LONG_SUM(x - m) / N, or that of the square. A lane is a row of sums. */
INLINE void var_sums(gr_real *restrict sum, const gr_real *restrict m, const gr_real *restrict x, size_t count, size_t n, size_t stride, bool square, gr_real N)
{
    gr_real lane[16][VAR_COLUMNS];
    for (size_t i = 0; i < count; i++) sum[i] = 0;
    R_BLOCKS_(n) {
        memset(lane, 0, sizeof lane);
        for (size_t r = first_; r < end_; r++)
            for (size_t i = 0; i < count; i++) lane[r % 16][i] += square ? r_square(x[r * stride + i] - m[i]) : x[r * stride + i] - m[i];
        for (size_t half = 8; half; half /= 2)
            for (size_t l = 0; l < half; l++)
                for (size_t i = 0; i < count; i++) lane[l][i] += lane[l + half][i];
        for (size_t i = 0; i < count; i++) sum[i] += lane[0][i];
    }
    for (size_t i = 0; i < count; i++) sum[i] /= N;
}
KERNEL(void, var_columns, REDUCE_FORWARD)
{
    const gr_real N = (gr_real)n, zero[VAR_COLUMNS] = { 0 };
    gr_real m[VAR_COLUMNS], d[VAR_COLUMNS], dd[VAR_COLUMNS];
    var_sums(m, zero, x, count, n, stride, false, N);
    var_sums(d, m, x, count, n, stride, false, 1), var_sums(dd, m, x, count, n, stride, true, 1);
    for (size_t i = 0; i < count; i++) y[i] = N > p ? (dd[i] - d[i] * d[i] / N) / (N - p) : R(NAN);
    for (size_t i = 0; i < count && N > p; i++)
        if (!(y[i] < R(INFINITY))) y[i] = gr__far_var(y[i], x + i, n, stride, (double)p);
}
KERNEL(void, var_columns_backward, REDUCE_BACKWARD)
{
    const gr_real N = (gr_real)n, zero[VAR_COLUMNS] = { 0 };
    gr_real m[VAR_COLUMNS], d[VAR_COLUMNS], factor[VAR_COLUMNS];
    var_sums(m, zero, x, count, n, stride, false, N), var_sums(d, m, x, count, n, stride, false, N);
    for (size_t i = 0; i < count; i++) m[i] += d[i], factor[i] = 2 * dy[i] / (N - p);
    for (size_t i = 0; i < count; i++) d[i] = N > p && (!(r_abs(m[i]) < R(INFINITY)) || !(y[i] < R(INFINITY))); /* is far */
    for (size_t r = 0; r < n; r++)
        for (size_t i = 0; i < count; i++) dx[r * stride + i] = (first ? 0 : dx[r * stride + i]) + (d[i] > 0 ? 0 : factor[i] * (x[r * stride + i] - m[i]));
    for (size_t i = 0; i < count; i++)
        if (d[i] > 0) gr__far_var_backward(dx + i, x + i, n, stride, (double)factor[i]);
}
#endif
