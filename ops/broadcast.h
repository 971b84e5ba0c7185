/* ops/broadcast.h - what the elementwise operators, matmul and the sums share: broadcasting a small shape to a large one, and the sum that undoes
 * this in backward. Both see the two shapes as runs of axes. */
#ifndef GR_BROADCAST_H
#define GR_BROADCAST_H
#include "core/library.h"

/* The axes of a large shape, from the first to the last, as runs: neighbouring axes that the small shape has too (kept), or does not have.
 * [128] in [64, 28, 128]: a run of 1792 that it lacks, and a run of 128 that it keeps. The two kinds alternate. Axes of size 1 belong to no
 * run; equal shapes are one kept run. */
typedef struct { int n; bool kept[GR_MAX_RANK]; size_t size[GR_MAX_RANK]; } gr__runs;

gr__runs gr__runs_of(gr_shape large, const bool *kept);   /* kept[axis] for each axis of large */
gr__runs gr__runs_in(gr_shape large, gr_shape small);     /* small broadcasts to large */

/* The shape to which a and b broadcast; false when they do not. */
bool gr__broadcast(gr_shape a, gr_shape b, gr_shape *to);

/* The product of the sizes that small keeps, or of those that it lacks. */
size_t gr__runs_count(const gr__runs *r, bool kept);
/* The element of small that element i of large comes from. Unless left is NULL, *left becomes the number of elements of the last run from i on. The
 * reverse: the element of large that comes from element i of small, with number j among the axes that small lacks. */
size_t gr__runs_small(const gr__runs *r, size_t i, size_t *left);
size_t gr__runs_large(const gr__runs *r, size_t i, size_t j);

/* small += large summed over the axes that small lacks. gr_sum is this, and so is every backward of a broadcast. The order of the additions
 * depends on the shapes only. Over the last run, pieces of 1024 values are summed in 16 lanes; over the run before it, blocks of 64 rows. 64
 * such sums make one, and 64 of these again, so that long sums stay accurate. The runs before these are summed one index after the other. */
void gr__runs_sum(gr_tape *t, const gr__runs *r, const gr_real *large, gr_real *small);

/* An elementwise kernel over n elements: it computes out[i] from in[0][i], in[1][i] and so on. p holds the operator's parameters. how:
 *     GR__ONE_A, GR__ONE_B   in[0] or in[1] has one value for all n, which only some kernels know (`ones` of gr__map_to); for others it is copied
 *     GR__FIRST              a kernel that adds to out sets it instead: out holds nothing yet */
enum { GR__ONE_A = 1, GR__ONE_B = 2, GR__FIRST = 4 };
typedef void gr__map(gr_real *restrict out, const gr_real *const *in, size_t n, const gr_real *p, int how);

/* Run a kernel over out, which has the shape of like; the inputs broadcast to it. Unless row is 0, out has one value for each row of that many values,
 * at most 512, to which the sum of what the kernel makes there is added, as gr__runs_sum does. how is GR__FIRST or 0. */
void gr__map_to(gr_tape *t, gr__map *const *kernel, gr_real *out, size_t row, int how, bool ones, const gr_tensor *like, gr_tensor *const *in, size_t ins,
                const gr_real *p);

/* Check and broadcast the inputs, and compute a new tensor from them. Returns NULL on error. */
gr_tensor *gr__map_values(gr_tape *t, const gr_op *op, gr__map *const *kernel, gr_tensor *const *in, size_t ins, const gr_real *p);

/* The same, recorded; the ps parameters are saved for backward. */
gr_tensor *gr__map_op(gr_tape *t, const gr_op *op, gr__map *const *kernel, gr_tensor *const *in, size_t ins, const gr_real *p, size_t ps);

/* Backward of node n for its input number k. The kernel's inputs are dy and then `values`, each broadcast to the shape of dy; it adds to its out.
 * If in[k] was broadcast, out is scratch of dy's shape, which is then summed; with is_dy, what the kernel would add is dy itself, which is
 * summed at once. Does nothing if in[k] needs no gradient. */
void gr__map_backward(gr_tape *t, const gr_node *n, unsigned k, gr__map *const *kernel, bool is_dy, gr_tensor *const *values, size_t count);
size_t gr__map_scratch(const gr_node *n);

#endif
