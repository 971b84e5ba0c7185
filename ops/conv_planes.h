/* ops/conv_planes.h - how convolution lays out a part of x, and the kernels that work on that layout: ops/conv.c calls ops/conv_planes.c.
 *
 * A tile is a rectangle of outputs. The part of x that a tile sees is copied, with its zero padding, into planes: one plane for each
 * remainder of a row or column number by its stride. In these planes every kernel position (a, b) is a shift, whatever the stride is. The
 * rows of a plane are plane[1] apart. */
#ifndef GR_CONV_PLANES_H
#define GR_CONV_PLANES_H
#include "core/kernel.h"
#include "core/op.h"

/* The sizes of one group. An array of two holds a size along H and one along W. */
typedef struct {
    size_t N, G, C, O, H[2], kernel[2], out[2];   /* H: of the input */
    size_t stride[2], padding[2], dilation[2], extra[2]; /* extra: output_padding */
    size_t tile[2], tiles[2];                     /* the outputs of a tile; the number of tiles */
    size_t plane[2], planes;                      /* the size of a plane; the values in all planes of a channel */
    size_t K1, P, line;                           /* rows of col, the ones included; outputs of a sample; values from a row of col to the next */
    bool bias, transposed;                        /* bias: a row of ones in col; false when transposed */
    size_t threads, chunk;                        /* chunk: samples to a part of dweight */
} gr__conv_plan;

/* The outputs of a tile. */
typedef struct { size_t at[2], n[2]; } gr__conv_tile;

/* Where kernel position (a, b) lies in the planes of a channel, counted from the output's own place. */
INLINE size_t conv_shift(const gr__conv_plan *p, size_t a, size_t b)
{
    const size_t i = a * p->dilation[0], j = b * p->dilation[1], s = p->stride[0], r = p->stride[1];
    return ((i % s * r + j % r) * p->plane[0] + i / s) * p->plane[1] + j / r;
}

/* The kernels, for one instruction set. */
typedef struct {
    /* Planes [C, planes] from x [C, H, W]. Its backward: dx += planes. */
    void (*fill)(gr_real *restrict planes, const gr_real *restrict x, const gr__conv_plan *p, const gr__conv_tile *tile);
    void (*unfill)(gr_real *restrict dx, const gr_real *restrict planes, const gr__conv_plan *p, const gr__conv_tile *tile);
    /* col [K1, outputs of the tile], rows p->line apart: a row of ones if there is a bias, then what each kernel position sees. */
    void (*columns)(gr_real *restrict col, const gr_real *restrict planes, const gr__conv_plan *p, const gr__conv_tile *tile);
    /* dy [O, outputs of the tile] with its rows as far apart as those of the planes, and zeros between: [O, n], rows `line` apart. */
    void (*spread)(gr_real *restrict to, const gr_real *restrict dy, const gr__conv_plan *p, const gr__conv_tile *tile, size_t line);
    /* A group of one channel in and one out, without a matrix product. w and dw [K1]: the bias, if there is one, then the kernel. y: where
     * the tile begins; wide has room for one line; spread: n values, as above; add: y += or dw +=, not y = or dw =. */
    void (*deep_forward)(gr_real *restrict y, gr_real *restrict wide, const gr_real *restrict planes, const gr_real *restrict w,
                         const gr__conv_plan *p, const gr__conv_tile *tile, bool add);
    void (*deep_dx)(gr_real *restrict planes, const gr_real *restrict spread, const gr_real *restrict w, const gr__conv_plan *p, size_t n);
    void (*deep_dw)(gr_real *restrict dw, const gr_real *restrict spread, const gr_real *restrict planes, const gr__conv_plan *p, size_t n,
                    bool add);
} gr__conv_kernels;
#if GR_HOST
gr__conv_kernels gr__conv_kernels_of(int isa);
#endif

#endif
