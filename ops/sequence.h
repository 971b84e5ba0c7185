/* ops/sequence.h - what a recurrent operator is asked to do, once ops/sequence_check.c has found it sound, and what it saves: between the
 * cells (ops/lstm.c, ops/gru.c, ops/rnn.c), of which each knows one time step, and ops/sequence.c, which walks through time. */
#ifndef GR_SEQUENCE_H
#define GR_SEQUENCE_H
#include "ops/cell.h"
#include "ops/ops.h"

enum { /* an operator's inputs, as its node has them; those from SEQ_B_IH on may be missing */
    SEQ_X, SEQ_W_IH, SEQ_W_HH, SEQ_B_IH, SEQ_B_HH, SEQ_LN_IH, SEQ_LN_IH_SHIFT, SEQ_LN_HH, SEQ_LN_HH_SHIFT,
    SEQ_LN_SUM, SEQ_LN_SUM_SHIFT, SEQ_LN_C, SEQ_LN_C_SHIFT, SEQ_H0, SEQ_C0, SEQ_INPUTS
};
enum { SEQ_NORM_X, SEQ_NORM_H, SEQ_NORM_SUM, SEQ_NORM_C, SEQ_NORMS }; /* n has bit 1 << n; its gain is input SEQ_LN_IH + 2n */

/* A kind of recurrent layer. */
typedef struct {
    const gr_op *op;
    const char *prefix;                         /* "GR_LSTM", of the names of its norms */
    size_t gates;                               /* blocks of H rows in its weights */
    unsigned norms;                             /* all bits that it knows */
    bool has_c;                                 /* a cell beside h */
    bool apart;                                 /* W h stays apart from W x, and b_hh with it: a gate multiplies a part of it */
    double nanoseconds;                         /* of a unit's step without products, about */
    void (*const *forward)(const gr__cell *s), (*const *backward)(const gr__cell *s); /* kernels, one for each instruction set */
} gr__kind;

typedef struct {
    const gr__kind *kind;
    size_t T, B, I, H, G, shards;               /* G: the width of W x, gates H */
    size_t of_time, of_row;                     /* in x and y: time t of sequence b is row t of_time + b of_row */
    size_t kept;                                /* steps that are kept: all when recording, else 1 */
    size_t groups, first, rest;                 /* of the gates' norms: how many, values of the first, of each other */
    bool batch_first, reverse, relu;
    unsigned norm;
    gr_real eps;
    const int *lengths;
    gr_lstm_bn bn[SEQ_NORMS];                   /* X, H, C; their gains and shifts are in[] too, in the places of the layer norms' */
    double momentum;
    gr_tensor *in[SEQ_INPUTS], *y, *h_n, *c_n;
    gr_real *x, *gates, *more;                  /* [shards][kept][rows of the shard][I], [G], [H] */
    gr_real *h, *c;                             /* [shards][kept + 1]..: step k makes number k + 1 from number k */
    gr_real *normed[SEQ_NORMS], *moments[SEQ_NORMS]; /* as gates, and as the moments of ops/cell.h; the cell is in c */
    double *dh_norm, *dc_norm, *squares;        /* where the caller wants norms, [T]; squares [parts][2][T]: sums of each shard or chunk */
} gr__sequence;

static inline bool gr__sequence_has(const gr__sequence *s, int norm) { return s->norm >> norm & 1; }
static inline size_t gr__sequence_time(const gr__sequence *s, size_t k) { return s->reverse ? s->T - 1 - k : k; }

/* Check the arguments and fill in all of s except what the operator saves. options may be NULL. Returns false, with an error on t, when
 * something does not fit. */
bool gr__sequence_understand(gr_tape *t, gr__sequence *s, const gr__kind *kind, gr_tensor *x, const gr_recurrent_weights *w,
                             const gr_sequence_config *options);

/* The whole operator: what a kind's public function does, and its node's backward and scratch. */
gr_recurrent_out gr__sequence_run(gr_tape *t, const gr__kind *kind, gr_tensor *x, const gr_recurrent_weights *w,
                                  const gr_sequence_config *options);
void gr__sequence_backward(gr_tape *t, const gr_node *n);
size_t gr__sequence_scratch(const gr_node *n);

/* [steps, B, width] on the tape; an error when that does not fit this machine. */
gr_real *gr__sequence_save(gr_tape *t, const gr__sequence *s, size_t steps, size_t width);

/* Allocate y, h_n and c_n, and room for `parts` sums of squares if the caller asks for norms. At the end of backward, gr__sequence_norms
 * makes the norms from these sums. */
void gr__sequence_outputs(gr_tape *t, gr__sequence *s, size_t parts);
void gr__sequence_norms(const gr__sequence *s, size_t parts);

#endif
