/* ops/broadcast.h - what the elementwise operators and the sums share: running a kernel over a broadcast shape, and undoing the
 * broadcast in backward. Both look at a large shape and a small one as runs of axes. */
#ifndef GR_BROADCAST_H
#define GR_BROADCAST_H
#include "core/op.h"

/* The axes of a large shape, from the first to the last, as runs of neighbours that the small shape keeps or lacks. [128] in
 * [64, 28, 128]: lacks 1792, keeps 128. Runs alternate; axes of size 1 belong to none; equal shapes are one kept run. */
typedef struct { int n; bool kept[GR_MAX_RANK]; size_t size[GR_MAX_RANK]; } gr__runs;

gr__runs gr__runs_of(gr_shape large, const bool *kept);                /* kept[axis] for each axis of large */
gr__runs gr__runs_in(gr_shape large, const gr_tensor *small);          /* small broadcasts to large */

/* large[first .. first + count - 1] of small broadcast to the large shape, written to out. */
void gr__runs_spread(const gr__runs *r, const gr_real *small, size_t first, size_t count, gr_real *out);

/* small += large summed over the axes that small lacks: the one place where broadcasting is undone, and gr_sum. The order is a
 * function of the shapes: of a last run, pieces of 1024 in 16 lanes, of another, blocks of 64 rows; 64 such sums make one, and 64 of
 * these again, so that long sums stay accurate. Runs further out: one index after the other. */
void gr__runs_sum(gr_tape *t, const gr__runs *r, const gr_real *large, gr_real *small);

/* An elementwise kernel over n elements: out[i] from in[0][i], in[1][i] ..; p are the operator's parameters. */
typedef void gr__map(gr_real *restrict out, const gr_real *const *in, size_t n, const gr_real *p);

/* Run a kernel over out, which has this shape, with inputs that broadcast to it. */
void gr__map_to(gr_tape *t, gr__map *const *kernel, gr_real *out, gr_shape shape, gr_tensor *const *in, size_t ins, const gr_real *p);

/* The values of an operator whose inputs broadcast: a new tensor, made by the kernel's variant for t. NULL on error. */
gr_tensor *gr__map_values(gr_tape *t, const gr_op *op, gr__map *const *kernel, gr_tensor *const *in, size_t ins, const gr_real *p);

/* The same, recorded; the ps parameters are saved for backward. */
gr_tensor *gr__map_op(gr_tape *t, const gr_op *op, gr__map *const *kernel, gr_tensor *const *in, size_t ins, const gr_real *p,
                      size_t ps);

/* Backward for input number k of n: the kernel adds to its out, from dy and then the given values, each broadcast to dy's
 * shape. Where in[k] was broadcast, the gradient of dy's shape is made in scratch and summed. Does nothing when nobody asked. */
void gr__map_backward(gr_tape *t, const gr_node *n, unsigned k, gr__map *const *kernel, gr_tensor *const *values, size_t count);
size_t gr__map_scratch(const gr_node *n);

#endif
