/* ops/norm_rows.h - what layer norm and RMS norm share: everything but the maths of a row. x is seen as rows of N values, and the threads
 * normalize chunks of rows. Each chunk adds up its own part of dgamma and dbeta; the parts are added in order.
 * Saved: the statistics of each row. They are all 0 if the row is far: too large or too small for gr_real (ops/norm_far.h). */
#ifndef GR_NORM_ROWS_H
#define GR_NORM_ROWS_H
#include "ops/norm_far.h"

typedef struct { gr_real m, e, rstd; } gr__row_stat; /* mean(x) = m + e; in RMS norm, which has no mean, m = e = 0 */

typedef struct {
    gr__row_stat *stat;           /* [rows] */
    const gr_real *gamma, *beta;  /* [N]: the caller's values, or ones and zeros; beta is NULL in RMS norm */
    size_t rows, N, chunk;        /* chunk: how many rows a chunk has */
    gr_real eps;
    bool rms, *far;               /* far [chunks]: whether a row of the chunk is far */
} gr__norm_rows;

/* The kernels, which work on some rows. forward returns a value other than 0 if one of the rows is far. backward adds to dx, dgamma and dbeta;
 * dx may be NULL, or both of dgamma and dbeta. */
typedef int gr__norm_rows_forward(gr_real *y, gr__row_stat *stat, const gr_real *x, const gr_real *gamma, const gr_real *beta, size_t rows,
                                  size_t N, gr_real eps);
typedef void gr__norm_rows_backward(gr_real *dx, gr_real *dgamma, gr_real *dbeta, const gr_real *dy, const gr__row_stat *stat,
                                    const gr_real *x, const gr_real *gamma, size_t rows, size_t N);

/* Check trailing and fill in the sizes of s. Returns false, with an error, if x has fewer axes. */
bool gr__norm_rows_of(gr_tape *t, const gr_op *op, const gr_tensor *x, int trailing, double eps, gr__norm_rows *s);
/* Allocate, compute, record. work: how many nanoseconds the forward kernel takes for one value. */
gr_tensor *gr__norm_rows_run(gr_tape *t, const gr_op *op, gr__norm_rows *s, gr__norm_rows_forward *f, double work, gr_tensor *x,
                             gr_tensor *gamma, gr_tensor *beta);
/* What the operator's node calls in backward, and the scratch that it needs. */
void gr__norm_rows_back(gr_tape *t, const gr_node *n, gr__norm_rows_backward *f);
size_t gr__norm_rows_scratch(const gr_node *n);

#endif
