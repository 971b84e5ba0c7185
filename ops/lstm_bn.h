/* ops/lstm_bn.h - an LSTM with batch norms: the loop over time (ops/lstm_bn.c), and what one time step of some units is given
 * (ops/lstm_bn_step.c). */
#ifndef GR_LSTM_BN_H
#define GR_LSTM_BN_H
#include "ops/sequence.h"

enum { LSTM_BN_UNITS = 32 }; /* the most units of a chunk */

/* N columns of all rows, and their norm. Entry j of each array below belongs to column j. */
typedef struct {
    gr_real *x;                  /* rows of stride `row`; backward replaces x by its gradient */
    size_t row, N;
    gr_real *mean, *rstd, *var;
    const gr_real *gain, *shift;
    gr_real *dgain, *dshift;     /* backward adds to them; dshift is NULL where the norm has no shift */
} gr__lstm_bn_norm;

/* A step of a chunk: u units, all B rows. */
typedef struct {
    size_t B, u, H, time, live;  /* live: how many sequences have not ended */
    gr_real eps;
    bool of_batch;               /* true: statistics of the batch; false: the running ones */
    const int *lengths;
    gr__lstm_bn_norm x, h_norm, cell; /* of W x, W h [B, 4u], of the cell [B, u] */
    const gr_real *bias;         /* [4u] */
    gr_real *gates;              /* [B, 4u] in rows of 4H */
    const gr_real *h_prev, *c_prev; /* [B, u] in rows of H; so are the others */
    gr_real *h, *tanh_c;
    const gr_real *dy;
    size_t dy_row;
    gr_real *dh, *dc, *dbias;
    double *dh_squares, *dc_squares; /* backward writes the sums of squares of the gradients of h and c; NULL: nobody asked for them */
} gr__lstm_bn_step;

/* gr_lstm_sequence with GR_LSTM_BN. */
gr_recurrent_out gr__lstm_bn(gr_tape *t, const gr__kind *kind, gr_tensor *x, const gr_recurrent_weights *w,
                             const gr_sequence_config *config);

void gr__lstm_bn_forward(int isa, const gr__lstm_bn_step *s);
void gr__lstm_bn_backward(int isa, const gr__lstm_bn_step *s);

#endif
