/* ops/composed.c - the twins of the fused operators, from plain ones. */
#include "ops/composed.h"

gr_tensor *gr_linear_composed(gr_tape *t, gr_tensor *x, gr_tensor *w, gr_tensor *b)
{
    gr_tensor *y = gr_matmul_t(t, x, false, w, true);
    return b ? gr_add(t, y, b) : y;
}
