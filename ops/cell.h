/* ops/cell.h - what one time step of a recurrent layer is given, for some rows (sequences) of the batch. ops/sequence.c fills it in for each
 * step; the kernels of ops/lstm.c, ops/gru.c and ops/rnn.c use it. With batch norms a step is given all rows, but only some units:
 * ops/lstm_bn.c lets its pointers begin at the first of these units, and ops/lstm_bn_step.c has its kernels. */
#ifndef GR_CELL_H
#define GR_CELL_H
#include "core/op.h"

/* A norm in a cell: y = gain (x - mean) rstd + shift. A layer norm cuts a row into groups, each with a mean of its own; a batch norm has a mean
 * for each column. */
typedef struct {
    gr_real *x;                  /* [R, G]; of a batch norm, backward writes its gradient here. NULL: this place has no norm */
    gr_real *moments;            /* [R, groups, 2]: mean and rstd; of a batch norm [3, G]: mean, rstd and variance */
    const gr_real *gain, *shift; /* [G] */
    gr_real *dgain, *dshift;     /* [G]: backward adds to them. dshift is NULL when it equals a gradient that is already summed
                                    (see gr__sequence_partial), or there is no shift */
} gr__cell_norm;

typedef struct {
    size_t R, H, G;              /* rows, units, width of W x */
    size_t groups, first, rest;  /* of the gates' norms: how many, the size of the first, the size of each other one */
    gr_real eps;
    bool relu;
    size_t time;
    const int *lengths;          /* [R]; NULL: no row has ended */
    size_t units, live;          /* for batch norms: how many units, and how many sequences have not ended */
    bool of_batch;               /* for batch norms: statistics of the batch (true), or the running ones */
    const gr_real *bias, *bias_h; /* [G], added to W x (or to the sum) and to W h; NULL when the products contain them */
    gr__cell_norm ln_x, ln_h, ln_sum, ln_c;
    gr_real *gates;              /* [R, G]: W x + W h, or what of them has no norm; then the gates */
    gr_real *wh;                 /* [R, G]: W h in a GRU, which keeps it apart from W x */
    const gr_real *h_prev, *c_prev; /* [R, H] */
    gr_real *h, *c, *more;       /* [R, H]; more: tanh(LN_c(c)) in an LSTM, u_n in a GRU */
    const gr_real *dy;           /* [R, H], rows of stride dy_row: the gradient with respect to h from the output */
    size_t dy_row;
    gr_real *dh, *dc;            /* [R, H]. Before: the gradients with respect to h and c from later steps. After: those with respect to
                                    c_prev, and to h_prev without the part through W h. A row that has ended leaves them unchanged */
    gr_real *dwx, *dwh;          /* [R, G]: the gradients of W x and W h; one place if they are equal */
    gr_real *dbias, *dbias_h;    /* [G] */
    double *dh_squares, *dc_squares; /* backward adds the squares of the gradients of h and c; NULL: nobody asked for them */
} gr__cell;

/* Whether the sequence of row r has ended: its length is at most time. lengths NULL: no sequence has. */
static inline bool gr__past_end(const int *lengths, size_t r, size_t time) { return lengths && (size_t)lengths[r] <= time; }

#endif
