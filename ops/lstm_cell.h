/* ops/lstm_cell.h - one time step of an LSTM on some rows: between ops/lstm.c, which walks through time, and ops/lstm_cell.c. */
#ifndef GR_LSTM_CELL_H
#define GR_LSTM_CELL_H
#include "core/op.h"

/* A norm of the cell: y = gain (x - mean) rstd + shift, over each group of a row. */
typedef struct {
    gr_real *x;                  /* [R, groups N]; backward leaves its gradient here. NULL: there is no norm in this place */
    gr_real *moments;            /* [R, groups, 2]: mean and rstd */
    const gr_real *gain, *shift; /* [groups N] */
    gr_real *dgain, *dshift;     /* [groups N]: backward adds its rows' parts; dshift NULL: another sum is the same */
} gr__lstm_norm;

typedef struct {
    size_t R, H;                 /* rows, units */
    size_t groups;               /* of the gates' norms: 1 (over 4H) or 4 (each gate over H) */
    gr_real eps;
    size_t time;
    const int *lengths;          /* [R]: a row whose length is at most time is past its end. NULL: none is */
    const gr_real *bias;         /* [4H], or NULL when it is in the gates already */
    gr__lstm_norm ln_x, ln_h, ln_sum, ln_c;
    gr_real *gates;              /* [R, 4H]: sums of what is not normalized; then i, f, g, o; backward: the gradient of their arguments */
    const gr_real *h_prev, *c_prev; /* [R, H] */
    gr_real *h, *c, *tanh_c;     /* [R, H]; c is c_prev of the next step */
    const gr_real *dy;           /* [R, H], rows of stride dy_row: what reaches h from outside */
    size_t dy_row;
    gr_real *dh, *dc;            /* [R, H]: in: of h and c, from later steps; out: dh is 0 (of rows past their end: as it was), dc is of c_prev */
    gr_real *dbias;              /* [4H] */
} gr__lstm_rows;

void gr__lstm_rows_forward(int isa, const gr__lstm_rows *s);
void gr__lstm_rows_backward(int isa, const gr__lstm_rows *s);

/* y += each of S vectors of n values, at x, x + stride and so on, in that order. */
void gr__lstm_add_partials(int isa, gr_real *y, const gr_real *x, size_t S, size_t stride, size_t n);

#endif
