/* ops/lstm_check.h - what gr_lstm_sequence is asked to do, once ops/lstm_check.c has found it sound, and what it saves. */
#ifndef GR_LSTM_CHECK_H
#define GR_LSTM_CHECK_H
#include "core/op.h"
#include "ops/ops.h"

enum { /* the operator's inputs, as its node has them; those from LSTM_B_IH on may be missing */
    LSTM_X, LSTM_W_IH, LSTM_W_HH, LSTM_B_IH, LSTM_B_HH, LSTM_LN_IH, LSTM_LN_IH_SHIFT, LSTM_LN_HH, LSTM_LN_HH_SHIFT,
    LSTM_LN_SUM, LSTM_LN_SUM_SHIFT, LSTM_LN_C, LSTM_LN_C_SHIFT, LSTM_H0, LSTM_C0, LSTM_INPUTS
};
enum { LSTM_NORM_X, LSTM_NORM_H, LSTM_NORM_SUM, LSTM_NORM_C, LSTM_NORMS }; /* n has bit 1 << n; its gain is input LSTM_LN_IH + 2n */

typedef struct {
    size_t T, B, I, H, shards, groups;
    size_t of_time, of_row;                     /* in x and y: time t of sequence b is row t of_time + b of_row */
    size_t kept;                                /* steps that are kept: all when recording, else 1 */
    bool reverse;
    unsigned norm;
    gr_real eps;
    const int *lengths;
    gr_lstm_bn bn[LSTM_NORMS];                  /* X, H, C; their gains and shifts are in[] too, in the places of the layer norms' */
    double momentum;
    gr_tensor *in[LSTM_INPUTS], *y, *h_n, *c_n;
    gr_real *x, *gates, *tanh_c;                /* [shards][kept][rows of the shard][I], [4H], [H] */
    gr_real *h, *c;                             /* [shards][kept + 1]..: step k makes number k + 1 from number k */
    gr_real *normed[LSTM_NORMS], *moments[LSTM_NORMS];    /* as gates, and as the moments of ops/lstm_cell.h; the cell is in c */
} gr__lstm;

static inline bool gr__lstm_has(const gr__lstm *s, int norm) { return s->norm >> norm & 1; }
static inline bool gr__lstm_past_end(const int *lengths, size_t r, size_t time) { return lengths && (size_t)lengths[r] <= time; }

/* Fill in all of s but what the operator saves, from s->in, s->norm and the options. False, with an error, when something does
 * not fit. */
bool gr__lstm_understand(gr_tape *t, const gr_op *op, gr__lstm *s, const gr_lstm_options *o);

/* What ops/lstm_bn.c does: the rest of gr_lstm_sequence with GR_LSTM_BN. */
gr_lstm_out gr__lstm_bn(gr_tape *t, gr__lstm *s, bool batch_first);

#endif
