/* ops/sequence.h - what a call of a recurrent operator is given, after ops/sequence_check.c has accepted it, and what it saves for backward.
 * ops/lstm.c, ops/gru.c and ops/rnn.c have one time step; ops/sequence.c and ops/lstm_bn.c have the loop over time. */
#ifndef GR_SEQUENCE_H
#define GR_SEQUENCE_H
#include "ops/cell.h"
#include "ops/ops.h"
#include <string.h>

enum { /* the inputs of the node, in order; those from SEQ_B_IH on may be NULL */
    SEQ_X, SEQ_W_IH, SEQ_W_HH, SEQ_B_IH, SEQ_B_HH, SEQ_LN_IH, SEQ_LN_IH_SHIFT, SEQ_LN_HH, SEQ_LN_HH_SHIFT,
    SEQ_LN_SUM, SEQ_LN_SUM_SHIFT, SEQ_LN_C, SEQ_LN_C_SHIFT, SEQ_H0, SEQ_C0, SEQ_INPUTS };
enum { SEQ_NORM_X, SEQ_NORM_H, SEQ_NORM_SUM, SEQ_NORM_C, SEQ_NORMS }; /* norm n has bit 1 << n; its gain is input SEQ_LN_IH + 2n */

typedef struct gr__sequence gr__sequence;

/* A kind of recurrent layer. */
typedef struct {
    const gr_op *op;
    const char *prefix;                         /* "GR_LSTM": how the names of its norms begin */
    size_t gates;                               /* blocks of H rows in its weights */
    unsigned norms;                             /* the bits of norm that it accepts */
    bool has_c;                                 /* a cell beside h */
    bool apart;                                 /* W h + b_hh is not added to W x, because a gate multiplies a part of it */
    double nanoseconds;                         /* about the time of one unit's step without matrix products */
    void (*const *forward)(const gr__cell *s), (*const *backward)(const gr__cell *s); /* kernels, one for each instruction set */
    void (*batch_norms)(gr_tape *t, gr__sequence *s); /* prepare s for batch norms: other steps; NULL if the kind has none */
} gr__kind;
extern const gr__kind gr__lstm_kind, gr__gru_kind, gr__rnn_kind;

struct gr__sequence {
    const gr__kind *kind;
    const gr_op *op;                            /* of the node */
    void (*run)(gr_tape *t, const gr__sequence *s); /* forward, all steps */
    size_t T, B, I, H, G, shards;               /* G: the width of W x, gates H */
    size_t of_time, of_row;                     /* in x and y: time t of sequence b is row t of_time + b of_row */
    size_t kept;                                /* how many steps are kept for backward: all when recording, else 1 */
    size_t groups, first, rest;                 /* of the gates' norms: how many, the size of the first, the size of each other one */
    bool batch_first, reverse, relu;
    unsigned norm;
    gr_real eps;
    const int *lengths;
    gr_lstm_bn bn[SEQ_NORMS];                   /* X, H, C; `in` has their gains and shifts too, in the places of those of layer norms */
    double momentum;
    gr_tensor *in[SEQ_INPUTS], *y, *h_n, *c_n;
    gr_real *x, *gates, *more;                  /* [kept][B][I], [G], [H] */
    gr_real *h, *c;                             /* [kept + 1][B][H]: step k computes number k + 1 from number k */
    gr_real *normed[SEQ_NORMS], *moments[SEQ_NORMS]; /* as gates, and as the moments of ops/cell.h; the argument of LN_c is in c */
    bool of_batch;                              /* for batch norms: statistics of the batch (true), or the running ones */
    gr_real *weights;                           /* for batch norms: the weights in another order (lstm_bn_together) */
    double *dh_norm, *dc_norm, *squares;        /* the caller's, [T], or NULL; squares [parts][2][T]: the sums of squares */
    size_t parts;                               /* shards, or for batch norms chunks of units */
};

static inline bool gr__sequence_has(const gr__sequence *s, int norm) { return s->norm >> norm & 1; }
static inline void gr__sequence_add(gr_real *to, const gr_real *from, size_t n) /* to may be NULL */ { for (size_t i = 0; to && i < n; i++) to[i] += from[i]; }
static inline size_t gr__sequence_time(const gr__sequence *s, size_t k) { return s->reverse ? s->T - 1 - k : k; }

/* Check the norms that a layer of this kind is asked for. False, with an error that begins with the name of op, if it has no such norms. */
bool gr__sequence_check_norm(gr_tape *t, const gr_op *op, const gr__kind *kind, unsigned norm);

/* Check the arguments and fill in all of s except what the operator saves. config may be NULL. Returns false, with an error on t, if something
 * does not fit. */
bool gr__sequence_understand(gr_tape *t, gr__sequence *s, const gr__kind *kind, gr_tensor *x, const gr_recurrent_weights *w, const gr_sequence_config *config);

/* The whole operator: what the public function of a kind calls, and the backward and the scratch of its node. */
gr_recurrent_out gr__sequence_run(gr_tape *t, const gr__kind *kind, gr_tensor *x, const gr_recurrent_weights *w, const gr_sequence_config *config);
void gr__sequence_backward(gr_tape *t, const gr_node *n);
size_t gr__sequence_scratch(const gr_node *n);

/* The node of a kind, what the library knows about it, and its public function. The settings are fields of gr__kind. */
#define SEQUENCE_KIND(called, ...) \
    static const gr_op called##_op = { .name = #called, .backward = gr__sequence_backward, .scratch = gr__sequence_scratch }; \
    const gr__kind gr__##called##_kind = { .op = &called##_op, .forward = called##_forward, .backward = called##_backward, __VA_ARGS__ }; \
    gr_recurrent_out gr_##called##_sequence(gr_tape *t, gr_tensor *x, const gr_recurrent_weights *w, const gr_sequence_config *config) \
    { \
        return gr__sequence_run(t, &gr__##called##_kind, x, w, config); \
    }

/* Room for [steps, B, width] values on the tape; NULL, with an error, if there is no such room. */
gr_real *gr__sequence_save(gr_tape *t, const gr__sequence *s, size_t steps, size_t width);

/* What step k of some sequences is given, in forward and in backward: fills in everything that s knows, and leaves the rest of p. */
void gr__sequence_step(const gr__sequence *s, gr_range rows, size_t k, gr__cell *p);

/* Where the gradient of an input is among gr__sequence_partials sums. Those of W_ih and W_hh come last. */
size_t gr__sequence_partial(const gr__sequence *s, int input);
size_t gr__sequence_partials(const gr__sequence *s);

/* For some sequences: make h0 and c0, or zeros, entry 0 of h and c; make their last entries h_n and c_n. */
void gr__sequence_start(const gr__sequence *s, gr_range rows);
void gr__sequence_finish(const gr__sequence *s, gr_range rows);
/* For step k of some sequences: copy x to its place in s->x and return this place; copy h to y. Past the end of a sequence: zeros. */
gr_real *gr__sequence_read(const gr__sequence *s, gr_range rows, size_t k);
void gr__sequence_write(const gr__sequence *s, gr_range rows, size_t k);

/* At the end of backward: compute dh_norm and dc_norm from the sums of squares. */
void gr__sequence_norms(const gr__sequence *s);

#endif
