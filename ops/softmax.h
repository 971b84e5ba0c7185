/* ops/softmax.h - what softmax, log_softmax, cross_entropy and attention share: m = max x and the sum of exp(x - m) along an axis.
 *
 * x is seen as [outer, C, inner], and a fibre is the C values x[o][0 .. C-1][i]. If inner is 1, a fibre is a row: its values are neighbours in
 * memory. Otherwise a tile of 16 fibres that lie side by side is computed at once. Term c of a sum goes to lane c % 16 in both cases, so both
 * give the same bits, and the result of a fibre does not depend on what lies beside it. */
#ifndef GR_SOFTMAX_H
#define GR_SOFTMAX_H
#include "core/maths.h"

/* Stands before a loop over 16 lanes of which some may be missing. The compiler turns that loop into one masked load or store. */
#ifdef __clang__
#define MASK_LOOP _Pragma("clang loop unroll(disable)")
#else
#define MASK_LOOP KEEP_LOOP
#endif

/* Sixteen values from x on; -inf stands for those beyond n. */
INLINE r_lanes softmax_load(const gr_real *x, size_t n)
{
    r_lanes v;
    MASK_LOOP for (size_t l = 0; l < 16; l++) v.v[l] = l < n ? x[l] : -(gr_real)INFINITY;
    return v;
}
INLINE void softmax_store(gr_real *y, const r_lanes *v, size_t n)
{
    MASK_LOOP for (size_t l = 0; l < 16; l++) if (l < n) y[l] = v->v[l];
}

/* max x. It may miss a NaN, but the sum of exp(x - m) does not. The last block overlaps the one before. */
INLINE gr_real softmax_max(const gr_real *x, size_t C)
{
    r_lanes m = softmax_load(x, C);
    for (size_t c = 16; c < C; c += 16) {
        const gr_real *const block = x + (c + 16 < C ? c : C - 16);
        KEEP_LOOP for (size_t l = 0; l < 16; l++) m.v[l] = r_max(m.v[l], block[l]);
    }
    for (int half = 8; half; half /= 2)
        KEEP_LOOP for (int l = 0; l < half; l++) m.v[l] = r_max(m.v[l], m.v[l + half]);
    return m.v[0];
}

/* The sum of exp(x[i] - m), i < C. The terms are written to e unless it is NULL. */
INLINE gr_real softmax_sum(gr_real *restrict e, const gr_real *restrict x, gr_real m, size_t C)
{
    gr_real block[256];
    r_lanes s = { { 0 } };
    size_t c = 0;
    for (const size_t full = C - C % 16; c < full;) {
        const size_t n = full - c < 256 ? full - c : 256;
        gr_real *b = block;
        if (e) b = e + c;
        for (size_t i = 0; i < n; i++) b[i] = r_exp(x[c + i] - m);
        for (size_t i = 0; i < n; i += 16)
            KEEP_LOOP for (size_t l = 0; l < 16; l++) s.v[l] += b[i + l];
        c += n;
    }
    if (c < C) {
        r_lanes v = softmax_load(x + c, C - c);
        KEEP_LOOP for (size_t l = 0; l < 16; l++) v.v[l] = r_exp(v.v[l] - m);
        KEEP_LOOP for (size_t l = 0; l < 16; l++) s.v[l] += v.v[l];
        if (e) softmax_store(e + c, &v, C - c);
    }
    return r_tree(s);
}

/* Column sums of s in r_tree's order. */
INLINE r_lanes softmax_tree(r_lanes s[16])
{
    for (int half = 8; half; half /= 2)
        for (int l = 0; l < half; l++)
            KEEP_LOOP for (int j = 0; j < 16; j++) s[l].v[j] += s[l + half].v[j];
    return s[0];
}

/* Maxima and sums of a tile: fibre j < n, n <= 16, has the values x[j], x[inner + j], x[2 inner + j] and so on. */
INLINE void softmax_tile(r_lanes *restrict max, r_lanes *restrict sum, gr_real *restrict e, const gr_real *restrict x, size_t C, size_t inner,
                         size_t n)
{
    r_lanes m, s[16] = { { { 0 } } };
    for (int j = 0; j < 16; j++) m.v[j] = -(gr_real)INFINITY;
    for (size_t c = 0; c < C; c++) {
        const r_lanes v = softmax_load(x + c * inner, n);
        KEEP_LOOP for (int j = 0; j < 16; j++) m.v[j] = r_max(m.v[j], v.v[j]); /* as softmax_max */
    }
    for (size_t c = 0; c < C; c++) {
        r_lanes v = softmax_load(x + c * inner, n), *const lane = s + c % 16;
        KEEP_LOOP for (int j = 0; j < 16; j++) v.v[j] = r_exp(v.v[j] - m.v[j]);
        KEEP_LOOP for (int j = 0; j < 16; j++) lane->v[j] += v.v[j];
        if (e) softmax_store(e + c * inner, &v, n);
    }
    *max = m, *sum = softmax_tree(s);
}

/* A group is a row or a tile. chunk: how many groups a chunk has. */
typedef struct { size_t C, inner, groups, chunk; } softmax_axis;
/* Where the first value of group g lies, and how many fibres it has. */
INLINE size_t softmax_group(const softmax_axis *a, size_t g, size_t *fibres)
{
    if (a->inner == 1) return *fibres = 1, g * a->C;
    const size_t tiles = (a->inner + 15) / 16, j = g % tiles * 16;
    *fibres = a->inner - j < 16 ? a->inner - j : 16;
    return g / tiles * a->C * a->inner + j;
}

#if GR_HOST
#include "core/library.h"
static inline softmax_axis softmax_axis_of(const gr_tensor *x, int axis)
{
    softmax_axis a = { .C = x->dim[axis], .inner = gr__sizes(x->dim, axis + 1, x->rank) };
    const size_t tiles = a.inner == 1 ? 1 : (a.inner + 15) / 16, values = a.C * (a.inner == 1 ? 1 : 16);
    a.groups = x->len ? gr__sizes(x->dim, 0, axis) * tiles : 0;
    a.chunk = values && values < 4096 ? 4096 / values : 1;
    return a;
}
static inline size_t softmax_chunks(const softmax_axis *a) { return gr_chunks(a->groups, a->chunk); }
#endif
#endif
