/* ops/cell.h - what one time step of a recurrent layer is given, for some rows (sequences) of the batch. ops/sequence.c fills it in for every
 * step; the kernels of ops/lstm.c, ops/gru.c and ops/rnn.c read and write it. */
#ifndef GR_CELL_H
#define GR_CELL_H
#include "core/op.h"

/* A norm in a cell: y = gain (x - mean) rstd + shift, over each group of a row. */
typedef struct {
    gr_real *x;                  /* [R, G]; backward writes its gradient here. NULL: there is no norm in this place */
    gr_real *moments;            /* [R, groups, 2]: mean and rstd */
    const gr_real *gain, *shift; /* [G] */
    gr_real *dgain, *dshift;     /* [G]: backward adds to them. dshift is NULL when it equals a gradient that is already summed
                                    (see sequence_partial) */
} gr__cell_norm;

typedef struct {
    size_t R, H, G;              /* rows, units, width of W x */
    size_t groups, first, rest;  /* of the gates' norms: how many, values of the first, values of each other */
    gr_real eps;
    bool relu;
    size_t time;
    const int *lengths;          /* [R]; NULL: no row has ended */
    const gr_real *bias, *bias_h; /* [G], of W x (or of the sum) and of W h; NULL when the products already contain it */
    gr__cell_norm ln_x, ln_h, ln_sum, ln_c;
    gr_real *gates;              /* [R, G]: the sum of what is not normalized, then the gates, in backward the gradients of their arguments */
    gr_real *wh;                 /* [R, G]: W h, where the kind keeps it apart; in backward its gradient */
    const gr_real *h_prev, *c_prev; /* [R, H] */
    gr_real *h, *c, *more;       /* [R, H]; c is c_prev of the next step; more: what else the cell saves */
    const gr_real *dy;           /* [R, H], rows of stride dy_row: what reaches h from outside */
    size_t dy_row;
    gr_real *dh, *dc;            /* [R, H], before: the gradients of h and c from later steps; after: of c_prev, and of h_prev the part that
                                    does not pass through W h. A row that has ended leaves them unchanged */
    gr_real *dbias, *dbias_h;    /* [G] */
    double *dh_squares, *dc_squares; /* backward adds the squares of the gradients of h and c; NULL: the caller did not ask */
} gr__cell;

/* Whether the sequence of row r has ended: its length is at most time. lengths NULL: no sequence has. */
static inline bool gr__past_end(const int *lengths, size_t r, size_t time) { return lengths && (size_t)lengths[r] <= time; }

#endif
