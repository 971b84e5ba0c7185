/* ops/conv_depthwise.h - the kernel of ops/conv_direct.c for groups of one channel in and one out (depthwise), 3 x 3 kernels, stride 1, dilation 1.
 *
 *     forward     y[i][j]  = bias + sum over a, b of weight[a][b] x[i + a - padding][j + b - padding]
 *     back        dx[i][j] = sum over a, b of weight[a][b] dy[i + padding - a][j + padding - b]
 *
 * The lanes run over a row of the result, and x is read where it lies, row by row. A vector of x is loaded once for each b, and is added to the sums of
 * the three rows that see it: sum[a] is that of row i - a, and sum[2] is whole after it. Columns of padding are lanes of 0, and rows of padding are left
 * out. So each sum has the terms and the order of the other product, and the same bits. Back, the rows of dx and dy are numbered from the last to the
 * first: then a counts up in dy, too. Parts 0 and 2 are the ends of an image, where rows of x can be padding and sums those of no row; part 1, between
 * them, asks neither. */
#ifndef GR_CONV_DEPTHWISE_H
#define GR_CONV_DEPTHWISE_H
#include "core/simd.h"
#include "ops/conv_plan.h"

enum { DEPTH_IMAGES = 8 }; /* of a task: they share what depends on the column */
typedef struct { gr_tape *t; const gr__conv_plan *p; const gr__conv_pass *c; int isa; } conv_call;

INLINE size_t depth_lanes(ptrdiff_t n) { return n < 0 ? 0 : n < R_WIDTH ? (size_t)n : R_WIDTH; }

/* It is a gr__rows_task: images number planes.first and the following. */
KERNEL(void, conv_depth, void *argument, gr_range planes)
{
    const conv_call call = *(const conv_call *)argument;
    const gr__conv_pass c = *call.c;
    const size_t back = c.back, *const from = back ? call.p->out : call.p->H, *const to = back ? call.p->H : call.p->out;
    const ptrdiff_t H = (ptrdiff_t)from[0], W = (ptrdiff_t)from[1], last = (ptrdiff_t)to[0], wide = (ptrdiff_t)to[1], step = back ? -1 : 1;
    const ptrdiff_t top = step * (ptrdiff_t)call.p->padding[0] + (back ? 2 : 0), head = top > 2 ? top : 2, tail = H + top < last ? H + top : last;
    for (ptrdiff_t j = 0; j < wide; j += R_WIDTH) {
        const ptrdiff_t left = j - step * (ptrdiff_t)call.p->padding[1];
        const size_t lanes = depth_lanes(wide - j);
        const gr_real *x = c.x + (planes.first + back) * from[0] * from[1] - (step * top + (back ? 1 : 0)) * W + left;
        gr_real *y = c.y + (planes.first + back) * to[0] * to[1] - (back ? wide : 0) + j;
        r_mask inside[3];
        UNROLL for (int b = 0; b < 3; b++) inside[b] = v_mask(depth_lanes(-left - b * step), depth_lanes(W - left - b * step));
        for (size_t plane = planes.first; plane < planes.first + planes.count; plane++, x += H * W, y += last * wide) {
            const size_t g = plane % call.p->G;
            const r_vec bias = v_set(c.bias ? c.bias[g] : 0);
            r_vec weight[9], sum[3] = { bias, bias, bias };
            ptrdiff_t i = 0;
            UNROLL for (int e = 0; e < 9; e++) weight[e] = v_set(c.weight[9 * g + (size_t)e]);
            UNROLL for (int part = 0; part < 3; part++)
                for (const ptrdiff_t end = part == 0 ? head : part == 1 ? tail : last + 2; i < end; i++) {
                    sum[2] = sum[1], sum[1] = sum[0], sum[0] = c.add && (part == 1 || i < last) ? v_load_part(y + i * step * wide, lanes) : bias;
                    if (part == 1 || (i - top >= 0 && i - top < H))
                        UNROLL for (int b = 0; b < 3; b++) {
                            const r_vec v = v_load_mask(x + i * step * W + b * step, inside[b]);
                            UNROLL for (int a = 0; a < 3; a++) sum[a] = v_fma(v, weight[3 * a + b], sum[a]);
                        }
                    if (part == 1 || i >= 2) v_store_part(y + (i - 2) * step * wide, sum[2], lanes);
                }
        }
    }
}
#endif
