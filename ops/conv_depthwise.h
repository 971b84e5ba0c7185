/* ops/conv_depthwise.h - the kernel of ops/conv_direct.c for groups of one channel in and one out (depthwise), 3 x 3 kernels, stride 1, dilation 1.
 *
 *     forward     y[i][j]  = bias + sum over a, b of weight[a][b] x[i + a - padding][j + b - padding]
 *     back        dx[i][j] = sum over a, b of weight[a][b] dy[i + padding - a][j + padding - b]
 *
 * The lanes run over a row of the result, and x is read where it lies. The rows of the result are computed in strips: a vector of x is loaded once
 * for each b, for all rows of the strip that see it. Columns of padding are lanes of 0, and rows of padding are left out. So each sum has the terms
 * and the order of the other product, and the same bits.
 * Back, the rows of dx and dy are numbered from the last to the first: then a counts up in dy, too. */
#ifndef GR_CONV_DEPTHWISE_H
#define GR_CONV_DEPTHWISE_H
#include "core/simd.h"
#include "ops/conv_plan.h"

enum { DEPTH_ROWS = 7 }; /* of a strip: more do not fit in 16 registers */
typedef struct { gr_tape *t; const gr__conv_plan *p; const gr__conv_pass *c; int isa; } conv_call;

INLINE size_t depth_lanes(ptrdiff_t n) { return n < 0 ? 0 : n < R_WIDTH ? (size_t)n : R_WIDTH; }

/* It is a gr_task: image number `plane`. */
KERNEL(void, conv_depth, void *argument, size_t plane, int thread UNUSED)
{
    const conv_call call = *(const conv_call *)argument;
    const size_t back = call.c->back, *const from = back ? call.p->out : call.p->H, *const to = back ? call.p->H : call.p->out, g = plane % call.p->G;
    const ptrdiff_t H = (ptrdiff_t)from[0], W = (ptrdiff_t)from[1], last = (ptrdiff_t)to[0], wide = (ptrdiff_t)to[1], step = back ? -1 : 1;
    r_vec sum[DEPTH_ROWS], weight[9];
    r_mask inside[3];
    UNROLL for (int e = 0; e < 9; e++) weight[e] = v_set(call.c->weight[9 * g + (size_t)e]);
    for (ptrdiff_t i = 0; i < last; i += DEPTH_ROWS)
        for (ptrdiff_t j = 0; j < wide; j += R_WIDTH) {
            const ptrdiff_t top = i - step * (ptrdiff_t)call.p->padding[0] - (back ? 2 : 0), left = j - step * (ptrdiff_t)call.p->padding[1];
            const gr_real *in = call.c->x + (plane + back) * from[0] * from[1] + (step * top - (back ? 1 : 0)) * W + left;
            gr_real *out = call.c->y + (plane + back) * to[0] * to[1] + (step * i - (back ? 1 : 0)) * wide + j;
            UNROLL for (int b = 0; b < 3; b++) inside[b] = v_mask(depth_lanes(-left - b * step), depth_lanes(W - left - b * step));
            UNROLL for (int r = 0; r < DEPTH_ROWS; r++)
                sum[r] = call.c->add && i + r < last ? v_load_part(out + r * step * wide, depth_lanes(wide - j)) : v_set(call.c->bias ? call.c->bias[g] : 0);
            UNROLL for (int e = 0; e < DEPTH_ROWS + 2; e++, in += step * W)
                if (top + e >= 0 && top + e < H)
                    UNROLL for (int b = 0; b < 3; b++) {
                        const r_vec v = v_load_mask(in + b * step, inside[b]);
                        UNROLL for (int r = e > 2 ? e - 2 : 0; r <= e && r < DEPTH_ROWS; r++) sum[r] = v_fma(v, weight[3 * (e - r) + b], sum[r]);
                    }
            UNROLL for (int r = 0; r < DEPTH_ROWS; r++, out += step * wide)
                if (i + r < last) v_store_part(out, sum[r], depth_lanes(wide - j));
        }
}
#endif
