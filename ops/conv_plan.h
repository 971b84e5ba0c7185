/* ops/conv_plan.h - what the ways to compute a convolution share: ops/conv.c chooses ops/conv_direct.c or ops/conv_winograd.c. */
#ifndef GR_CONV_PLAN_H
#define GR_CONV_PLAN_H
#include "core/kernel.h"
#include "core/op.h"

/* The sizes of one group. An array of two holds a size along H and one along W. A transposed convolution is the gradient of a convolution with
 * respect to its x; its plan is that convolution's: C and H are sizes of its result, O and out those of its x. */
typedef struct {
    size_t N, G, C, O, H[2], kernel[2], out[2];
    size_t stride[2], padding[2], dilation[2], extra[2]; /* extra: output_padding */
    size_t threads, chunk;                               /* chunk: samples to a part of dweight */
    bool transposed;
} gr__conv_plan;

/* A part of an image [C, H, W], padded, lies in planes: one for each remainder of a row or column number by `split`. So what steps of `split`
 * through the image see are neighbours: value (i, j) of plane (r, q) is x[i split + r - padding][j split + q - padding], or 0 outside. */
typedef struct {
    size_t C, H[2], split[2], rows, width; /* rows and width of a plane */
    size_t plane, planes;                  /* from a plane to the next, with room for a vector; the values of a channel */
    ptrdiff_t padding[2];                  /* negative where the part begins inside the image */
} gr__conv_image;

/* The convolution, y [O, out] of x [C, H], or back: what the values of y hand to those of x. The result is y, and begins as bias; or add: y += it. */
typedef struct {
    const gr_real *x, *weight, *bias; /* bias NULL: 0 */
    gr_real *y, *scratch;
    bool back, add;
} gr__conv_pass;

/* A way. len: reals of scratch, for forward or for all of backward; SIZE_MAX: too many. */
typedef struct {
    size_t (*len)(const gr__conv_plan *p, bool backward);
    void (*convolve)(gr_tape *t, const gr__conv_plan *p, const gr__conv_pass *c);
    void (*dweight)(gr_tape *t, const gr__conv_plan *p, const gr_real *x, const gr_real *dy, gr_real *dweight, gr_real *scratch); /* dweight += */
} gr__conv_way;

/* Where a step of (i, j) leads in the planes of a channel. */
INLINE size_t conv_shift(const gr__conv_image *m, size_t i, size_t j)
{
    return (i % m->split[0] * m->split[1] + j % m->split[1]) * m->plane + i / m->split[0] * m->width + j / m->split[1];
}

#if GR_HOST
extern const gr__conv_way gr__conv_direct, gr__conv_winograd;
/* Whether Winograd's algorithm computes it: by the shape only, since the sums have another order. */
bool gr__winograd_fits(const gr__conv_plan *p);
/* Planes from x (in ops/conv_winograd.c). */
void gr__conv_fill(int isa, gr_real *planes, const gr_real *x, const gr__conv_image *m);

/* Sizes that do not fit become SIZE_MAX, which no allocation gives. */
static inline size_t conv_times(size_t a, size_t b) { return gr_size_mul(a, b, &a), a; }
static inline size_t conv_plus(size_t a, size_t b) { return gr_size_add(a, b, &a), a; }
static inline size_t conv_round(size_t n) { return conv_times(gr_chunks(n, 16), 16); }
/* The rest of the planes of a channel, after the sizes. */
static inline gr__conv_image conv_planes_of(gr__conv_image m)
{
    m.plane = conv_plus(conv_times(m.rows, m.width), 16), m.planes = conv_times(conv_times(m.plane, m.split[0]), m.split[1]);
    return m;
}
static inline size_t conv_taps(const gr__conv_plan *p) { return conv_times(p->kernel[0], p->kernel[1]); }
static inline size_t conv_weight_len(const gr__conv_plan *p) { return conv_times(conv_times(p->G, p->O), conv_times(p->C, conv_taps(p))); }
/* Nanoseconds, at 50 multiply-adds each. */
static inline double conv_work(const gr__conv_plan *p) { return (double)p->N * (double)(p->out[0] * p->out[1]) * (double)conv_weight_len(p) / 50; }
#endif
#endif
