/* ops/conv_planes.c - the layout of ops/conv_planes.h, and the convolution of one channel in it. */
#include "ops/conv_planes.h"

/* Copies in steps of 16, 8 or 4 values; the last step overlaps the one before. */
INLINE void conv_copy(gr_real *restrict y, const gr_real *restrict x, size_t n)
{
#define STEPS(m) \
    { \
        for (size_t i = 0; i + m <= n; i += m) memcpy(y + i, x + i, m * sizeof *y); \
        if (n % m) memcpy(y + n - m, x + n - m, m * sizeof *y); \
    }
    if (n >= 16) STEPS(16)
    else if (n >= 8) STEPS(8)
    else if (n >= 4) STEPS(4)
    else for (size_t i = 0; i < n; i++) y[i] = x[i];
#undef STEPS
}

/* Row i of plane (r, q) holds row (at + i) stride + r - padding of x. Its columns first .. end - 1 are inside x, the others are padding. */
typedef struct { ptrdiff_t row, start; size_t first, end; } conv_row;
INLINE conv_row conv_row_of(const gr__conv_plan *p, const gr__conv_tile *tile, size_t r, size_t q, size_t i)
{
    const ptrdiff_t s = (ptrdiff_t)p->stride[1], W = (ptrdiff_t)p->H[1];
    conv_row c = { .row = (ptrdiff_t)((tile->at[0] + i) * p->stride[0] + r) - (ptrdiff_t)p->padding[0],
                   .start = (ptrdiff_t)(tile->at[1] * p->stride[1] + q) - (ptrdiff_t)p->padding[1] };
    const ptrdiff_t first = c.start < 0 ? (-c.start + s - 1) / s : 0, end = c.start < W ? (W - c.start + s - 1) / s : 0;
    const size_t width = p->plane[1];
    c.first = (size_t)first < width ? (size_t)first : width, c.end = (size_t)end < width ? (size_t)end : width;
    if (c.end < c.first || c.row < 0 || c.row >= (ptrdiff_t)p->H[0]) c.row = -1, c.end = c.first;
    return c;
}

/* scalar kernel conv_fill: it copies. */
KERNEL(void, conv_fill, gr_real *restrict to, const gr_real *restrict x, const gr__conv_plan *p, const gr__conv_tile *tile)
{
    const size_t width = p->plane[1], s = p->stride[1];
    for (size_t c = 0; c < p->C; c++, x += p->H[0] * p->H[1])
        for (size_t r = 0; r < p->stride[0]; r++)
            for (size_t q = 0; q < s; q++)
                for (size_t i = 0; i < p->plane[0]; i++, to += width) {
                    const conv_row w = conv_row_of(p, tile, r, q, i);
                    const gr_real *from = x + w.row * (ptrdiff_t)p->H[1] + w.start;
                    for (size_t j = 0; j < w.first; j++) to[j] = 0;
                    if (s == 1) conv_copy(to + w.first, from + w.first, w.end - w.first);
                    else for (size_t j = w.first; j < w.end; j++) to[j] = from[j * s];
                    for (size_t j = w.end; j < width; j++) to[j] = 0;
                }
}

KERNEL(void, conv_unfill, gr_real *restrict dx, const gr_real *restrict from, const gr__conv_plan *p, const gr__conv_tile *tile)
{
    const size_t s = p->stride[1];
    for (size_t c = 0; c < p->C; c++, dx += p->H[0] * p->H[1])
        for (size_t r = 0; r < p->stride[0]; r++)
            for (size_t q = 0; q < s; q++)
                for (size_t i = 0; i < p->plane[0]; i++, from += p->plane[1]) {
                    const conv_row w = conv_row_of(p, tile, r, q, i);
                    gr_real *to = dx + w.row * (ptrdiff_t)p->H[1] + w.start;
                    if (s == 1) for (size_t j = w.first; j < w.end; j++) to[j] += from[j];
                    else for (size_t j = w.first; j < w.end; j++) to[j * s] += from[j];
                }
}

/* scalar kernel conv_columns: it copies. */
KERNEL(void, conv_columns, gr_real *restrict col, const gr_real *restrict from, const gr__conv_plan *p, const gr__conv_tile *tile)
{
    const size_t rows = tile->n[0], n = tile->n[1], width = p->plane[1];
    if (p->bias) {
        for (size_t i = 0; i < rows * n; i++) col[i] = 1;
        col += p->line;
    }
    for (size_t c = 0; c < p->C; c++, from += p->planes)
        for (size_t a = 0; a < p->kernel[0]; a++)
            for (size_t b = 0; b < p->kernel[1]; b++, col += p->line) {
                const gr_real *x = from + conv_shift(p, a, b);
                for (size_t i = 0; i < rows; i++) conv_copy(col + i * n, x + i * width, n);
            }
}

/* scalar kernel conv_spread: it copies. */
KERNEL(void, conv_spread, gr_real *restrict to, const gr_real *restrict dy, const gr__conv_plan *p, const gr__conv_tile *tile, size_t line)
{
    const size_t n = tile->n[1], width = p->plane[1];
    for (size_t o = 0; o < p->O; o++, to += line, dy += p->P)
        for (size_t i = 0; i < tile->n[0]; i++) {
            conv_copy(to + i * width, dy + i * p->out[1], n);
            for (size_t j = n; i + 1 < tile->n[0] && j < width; j++) to[i * width + j] = 0;
        }
}

/* All rows of the tile at once: what falls between the rows of y is computed too, and is not copied. */
KERNEL(void, conv_deep_forward, gr_real *restrict y, gr_real *restrict wide, const gr_real *restrict planes, const gr_real *restrict w,
       const gr__conv_plan *p, const gr__conv_tile *tile, bool add)
{
    const size_t width = p->plane[1], n = (tile->n[0] - 1) * width + tile->n[1];
    const gr_real bias = p->bias ? *w++ : 0;
    for (size_t q = 0; q < n; q++) wide[q] = bias;
    for (size_t a = 0; a < p->kernel[0]; a++)
        for (size_t b = 0; b < p->kernel[1]; b++) {
            const gr_real *const x = planes + conv_shift(p, a, b), weight = *w++;
            for (size_t q = 0; q < n; q++) wide[q] = r_fma(weight, x[q], wide[q]);
        }
    for (size_t i = 0; i < tile->n[0]; i++, y += p->out[1], wide += width) {
        if (add) for (size_t j = 0; j < tile->n[1]; j++) y[j] += wide[j];
        else conv_copy(y, wide, tile->n[1]);
    }
}

KERNEL(void, conv_deep_dx, gr_real *restrict planes, const gr_real *restrict spread, const gr_real *restrict w, const gr__conv_plan *p, size_t n)
{
    for (size_t a = 0; a < p->kernel[0]; a++)
        for (size_t b = 0; b < p->kernel[1]; b++, w++) {
            gr_real *const to = planes + conv_shift(p, a, b);
            for (size_t q = 0; q < n; q++) to[q] = r_fma(*w, spread[q], to[q]);
        }
}

KERNEL(void, conv_deep_dw, gr_real *restrict dw, const gr_real *restrict spread, const gr_real *restrict planes, const gr__conv_plan *p, size_t n,
       bool add)
{
    if (p->bias) *dw = (add ? *dw : 0) + SUM(q, n, spread[q]), dw++;
    for (size_t a = 0; a < p->kernel[0]; a++)
        for (size_t b = 0; b < p->kernel[1]; b++, dw++) {
            const gr_real *const x = planes + conv_shift(p, a, b);
            *dw = (add ? *dw : 0) + DOT(q, n, spread[q], x[q]);
        }
}

#if GR_HOST
gr__conv_kernels gr__conv_kernels_of(int isa)
{
    return (gr__conv_kernels){ conv_fill[isa],         conv_unfill[isa],  conv_columns[isa], conv_spread[isa],
                               conv_deep_forward[isa], conv_deep_dx[isa], conv_deep_dw[isa] };
}
#endif
