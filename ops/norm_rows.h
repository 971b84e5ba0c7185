/* ops/norm_rows.h - what layer norm and RMS norm share: all but the maths of a row. x is seen as rows of N values, which are normalized in
 * chunks of rows; each chunk adds up its own part of dgamma and dbeta, and the parts are added in order.
 * Saved: the statistics of each row, all 0 where the row is far (ops/norm_far.h). */
#ifndef GR_NORM_ROWS_H
#define GR_NORM_ROWS_H
#include "ops/norm_far.h"

typedef struct { gr_real m, e, rstd; } gr__row_stat; /* mean(x) = m + e; RMS norm has no mean, and m = e = 0 */

typedef struct {
    gr__row_stat *stat;           /* [rows] */
    const gr_real *gamma, *beta;  /* [N]: the caller's values, or ones and zeros; beta is NULL in RMS norm */
    size_t rows, N, chunk;        /* chunk: rows to a chunk */
    gr_real eps;
    bool rms, *far;               /* far [chunks]: whether one of its rows is */
} gr__norm_rows;

/* The kernels, for some rows. forward returns not 0 when one of them is far. In backward dx, or both of dgamma and dbeta, may be NULL. */
typedef int gr__norm_rows_forward(gr_real *y, gr__row_stat *stat, const gr_real *x, const gr_real *gamma, const gr_real *beta, size_t rows,
                                  size_t N, gr_real eps);
typedef void gr__norm_rows_backward(gr_real *dx, gr_real *dgamma, gr_real *dbeta, const gr_real *dy, const gr__row_stat *stat,
                                    const gr_real *x, const gr_real *gamma, size_t rows, size_t N);

/* s for x over its last axes; false, with an error, when there are no such axes. */
bool gr__norm_rows_of(gr_tape *t, const gr_op *op, const gr_tensor *x, int dims, double eps, gr__norm_rows *s);
/* Allocate, compute, record. work: the forward's nanoseconds for one value. */
gr_tensor *gr__norm_rows_run(gr_tape *t, const gr_op *op, gr__norm_rows *s, gr__norm_rows_forward *f, double work, gr_tensor *x,
                             gr_tensor *gamma, gr_tensor *beta);
void gr__norm_rows_back(gr_tape *t, const gr_node *n, gr__norm_rows_backward *f);
size_t gr__norm_rows_scratch(const gr_node *n);

#endif
