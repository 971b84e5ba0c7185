/* ops/lstm_bn.h - an LSTM with batch norms: the loop over time (ops/lstm_bn.c), and one time step of some units (ops/lstm_bn_step.c). */
#ifndef GR_LSTM_BN_H
#define GR_LSTM_BN_H
#include "ops/sequence.h"

enum { LSTM_BN_UNITS = 32 }; /* the most units of a chunk */

/* For gr__lstm_kind: fill in what differs from the other layers (op, run, parts, kept), and save what only batch norms need. */
void gr__lstm_bn_begin(gr_tape *t, gr__sequence *s);

/* A step of s->units units, all rows. */
void gr__lstm_bn_forward(int isa, const gr__cell *s);
void gr__lstm_bn_backward(int isa, const gr__cell *s);

#endif
