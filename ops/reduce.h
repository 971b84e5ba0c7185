/* ops/reduce.h - what the reductions share: which axes they drop, and x as rows of which each becomes one value. */
#ifndef GR_REDUCE_H
#define GR_REDUCE_H
#include "ops/broadcast.h"
#include "ops/strided.h"

typedef struct {
    gr_shape shape, ones;    /* of the result; the same with size 1 for each dropped axis */
    gr__runs runs;           /* of x: kept and dropped axes */
    size_t rows, n;          /* x as [rows, n] */
    bool in_rows;            /* x has this layout already, because the dropped axes are the last */
    gr__layout to_rows;      /* else: how to copy it */
} gr__reduction;

bool gr__reduction_of(gr_tape *t, const gr_op *op, const gr_tensor *x, gr_axes axes, bool keepdim, gr__reduction *r);

/* x as [rows, n]: x itself, or a copy in buffer (buffer NULL: in new memory of the tape). Returns NULL when out of memory. */
const gr_real *gr__reduction_rows(gr_tape *t, const gr__reduction *r, const gr_tensor *x, gr_real *buffer);

/* How many rows make a chunk of work. */
size_t gr__reduction_chunk(const gr__reduction *r);

#endif
