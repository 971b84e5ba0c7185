/* ops/cell.h - one time step of a recurrent layer on some rows: between ops/sequence.c, which walks through time, and the cells. */
#ifndef GR_CELL_H
#define GR_CELL_H
#include "core/op.h"

/* A norm in a cell: y = gain (x - mean) rstd + shift, over each group of a row. */
typedef struct {
    gr_real *x;                  /* [R, G]; backward leaves its gradient here. NULL: there is no norm in this place */
    gr_real *moments;            /* [R, groups, 2]: mean and rstd */
    const gr_real *gain, *shift; /* [G] */
    gr_real *dgain, *dshift;     /* [G]: backward adds its rows' parts; dshift NULL: another sum is the same */
} gr__cell_norm;

typedef struct {
    size_t R, H, G;              /* rows, units, width of W x */
    size_t groups, first, rest;  /* of the gates' norms: how many, values of the first, of each other */
    gr_real eps;
    bool relu;
    size_t time;
    const int *lengths;          /* [R]: a row whose length is at most time is past its end. NULL: none is */
    const gr_real *bias, *bias_h; /* [G], of W x (or all) and of W h apart; NULL when it is in the products already */
    gr__cell_norm ln_x, ln_h, ln_sum, ln_c;
    gr_real *gates;              /* [R, G]: sums of what is not normalized; then the gates; backward: the gradient of their arguments */
    gr_real *wh;                 /* [R, G]: W h, where it is apart; backward: its gradient */
    const gr_real *h_prev, *c_prev; /* [R, H] */
    gr_real *h, *c, *more;       /* [R, H]; c is c_prev of the next step; more: what else the cell saves */
    const gr_real *dy;           /* [R, H], rows of stride dy_row: what reaches h from outside */
    size_t dy_row;
    gr_real *dh, *dc;            /* [R, H]: in: of h and c, from later steps; out: of c_prev, and of h_prev what does not pass through W h
                                    (of rows past their end: as it was) */
    gr_real *dbias, *dbias_h;    /* [G] */
    double *dh_squares, *dc_squares; /* add the squares of the gradients of h and c; NULL: not asked for */
} gr__cell;

/* Whether row r has no value at this time. lengths NULL: every row has one. */
static inline bool gr__past_end(const int *lengths, size_t r, size_t time) { return lengths && (size_t)lengths[r] <= time; }

#endif
