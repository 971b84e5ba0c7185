/* ops/conv_planes.h - how convolution lays out a part of x, and what it does there: between ops/conv.c and ops/conv_planes.c.
 *
 * The part of x that a tile of outputs sees lies in planes, zeros included: one for each remainder of a position by the strides. In them
 * every kernel position (a, b) is a shift, whatever the stride; rows are plane[1] apart. */
#ifndef GR_CONV_PLANES_H
#define GR_CONV_PLANES_H
#include "core/op.h"

/* All sizes are of one group, and along H and W. */
typedef struct {
    size_t N, G, C, O, H[2], kernel[2], out[2];   /* H: of the input */
    size_t stride[2], padding[2], dilation[2];
    size_t tile[2], tiles[2];                     /* outputs of a tile, and how many tiles; H is cut first */
    size_t plane[2], planes, K1, P, line;         /* a plane's sizes; values of a channel's planes; rows of col, with the ones; outputs of
                                                     a sample; reals from one row of col to the next */
    bool bias;
    size_t threads, chunk; /* chunk: samples to a part of dweight */
} gr__conv_plan;

/* The outputs of a tile. */
typedef struct { size_t at[2], n[2]; } gr__conv_tile;

/* Where kernel position (a, b) of an output is in its channel's planes, counted from the output's own place. */
size_t gr__conv_shift(const gr__conv_plan *p, size_t a, size_t b);

/* Planes [C, planes] from x [C, H, W]; and what they hold added to dx. */
void gr__conv_fill(int isa, gr_real *planes, const gr_real *x, const gr__conv_plan *p, const gr__conv_tile *tile);
void gr__conv_unfill(int isa, gr_real *dx, const gr_real *planes, const gr__conv_plan *p, const gr__conv_tile *tile);

/* col [K1, outputs of the tile], rows p->line apart: first ones, if there is a bias, then what each kernel position sees. */
void gr__conv_columns(int isa, gr_real *col, const gr_real *planes, const gr__conv_plan *p, const gr__conv_tile *tile);

/* dy's rows as far apart as those of the planes, zeros between: [O, n], rows `line` apart. */
void gr__conv_spread(int isa, gr_real *to, const gr_real *dy, const gr__conv_plan *p, const gr__conv_tile *tile, size_t line);

/* One channel in and one out, without a product of matrices. w [K1]: the bias, if there is one, and the kernel. y: the tile's place in
 * it; wide has room for one line; dw [K1]; spread as above, n values. */
void gr__conv_deep_forward(int isa, gr_real *y, gr_real *wide, const gr_real *planes, const gr_real *w, const gr__conv_plan *p,
                           const gr__conv_tile *tile);
void gr__conv_deep_dx(int isa, gr_real *planes, const gr_real *spread, const gr_real *w, const gr__conv_plan *p, size_t n);
void gr__conv_deep_dw(int isa, gr_real *dw, const gr_real *spread, const gr_real *planes, const gr__conv_plan *p, size_t n, bool add);

#endif
