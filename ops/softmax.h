/* ops/softmax.h - what softmax, log_softmax, cross_entropy and attention share: m = max x and the sum of exp(x - m) along an axis.
 *
 * x is seen as [outer, C, inner], and a fibre is the C values x[o][0 .. C-1][i]. If inner is 1, a fibre is a row: its values are neighbours in
 * memory. Otherwise a tile of 16 fibres that lie side by side is computed at once. Term c of a sum goes to lane c % 16 in both cases, so both
 * give the same bits, and the result of a fibre does not depend on what lies beside it. */
#ifndef GR_SOFTMAX_H
#define GR_SOFTMAX_H
#include "core/maths.h"
#include "core/simd.h"

/* v = sixteen values from x on; -inf stands for those beyond n. gcc would copy a result in pieces, and wait for them. */
INLINE void softmax_load(r_lanes *v, const gr_real *x, size_t n)
{
    const r_integer in = (r_integer)size_min(n, 16); /* as wide as a value, so that the comparison needs no shuffles */
    UNROLL for (size_t l = 0; l < 16; l += R_WIDTH) v_store(v->v + l, v_load_most(x + l, n > l ? n - l : 0));
    KEEP_LOOP for (r_integer l = 0; l < 16; l++) v->v[l] = l < in ? v->v[l] : -(gr_real)INFINITY;
}
INLINE void softmax_store(gr_real *y, const r_lanes *v, size_t n)
{
    UNROLL for (size_t l = 0; l < 16; l += R_WIDTH) if (l < n) v_store_part(y + l, v_load(v->v + l), size_min(n - l, R_WIDTH));
}

/* max x. It may miss a NaN, but the sum of exp(x - m) does not. The last block overlaps the one before. */
INLINE gr_real softmax_max(const gr_real *x, size_t C)
{
    r_lanes m;
    softmax_load(&m, x, C);
    for (size_t c = 16; c < C; c += 16) {
        const gr_real *const block = x + (c + 16 < C ? c : C - 16);
        KEEP_LOOP for (size_t l = 0; l < 16; l++) m.v[l] = r_max(m.v[l], block[l]);
    }
    KEEP_LOOP for (int l = 0; l < 8; l++) m.v[l] = r_max(m.v[l], m.v[l + 8]);
    KEEP_LOOP for (int l = 0; l < 4; l++) m.v[l] = r_max(m.v[l], m.v[l + 4]);
    return r_max(r_max(m.v[0], m.v[2]), r_max(m.v[1], m.v[3]));
}

/* Maxima m of n rows of C values, and the sums of exp(x - m). The terms are written to e unless it is NULL. n is 1 or 4: one short row after the
 * other takes up to twice as long as four together, because the processor waits at the end of each row. Vectors add the terms, because clang
 * takes a plain loop apart. */
enum { SOFTMAX_ROWS = 4, SOFTMAX_LONG = 512 }; /* longer rows may come from memory */
INLINE void softmax_rows_of(gr_real *restrict m, gr_real *restrict sum, gr_real *restrict e, const gr_real *restrict x, size_t C, size_t n)
{
    r_lanes s[SOFTMAX_ROWS], v;
    for (size_t j = 0; j < n; j++) m[j] = softmax_max(x + j * C, C), s[j] = r_lanes_of(0);
    size_t c = 0;
    for (; c + 16 <= C; c += 16)
        UNROLL_4 for (size_t j = 0; j < n; j++) { /* the sums of the rows stay in registers */
            const gr_real mj = m[j], *const from = x + j * C + c;
            KEEP_LOOP for (size_t l = 0; l < 16; l++) v.v[l] = r_exp_low(from[l] - mj);
            for (size_t l = 0; l < 16; l += R_WIDTH) v_store(s[j].v + l, v_load(s[j].v + l) + v_load(v.v + l));
            for (size_t l = 0; e && l < 16; l += R_WIDTH) v_store(e + j * C + c + l, v_load(v.v + l));
        }
    for (size_t j = 0; j < n && c < C; j++) {
        const gr_real mj = m[j];
        softmax_load(&v, x + j * C + c, C - c);
        KEEP_LOOP for (size_t l = 0; l < 16; l++) v.v[l] = r_exp_low(v.v[l] - mj);
        KEEP_LOOP for (size_t l = 0; l < 16; l++) s[j].v[l] += v.v[l];
        if (e) softmax_store(e + j * C + c, &v, C - c);
    }
    for (size_t j = 0; j < n; j++) sum[j] = r_tree(s[j]);
}
/* The same for any n. */
INLINE void softmax_rows(gr_real *restrict m, gr_real *restrict sum, gr_real *restrict e, const gr_real *restrict x, size_t C, size_t n)
{
    for (size_t j = 0, rows; j < n; j += rows) {
        rows = C <= SOFTMAX_LONG && n - j >= SOFTMAX_ROWS ? SOFTMAX_ROWS : 1;
        if (rows == 1) softmax_rows_of(m + j, sum + j, e ? e + j * C : NULL, x + j * C, C, 1);
        else softmax_rows_of(m + j, sum + j, e ? e + j * C : NULL, x + j * C, C, SOFTMAX_ROWS);
    }
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
INLINE void softmax_tile(r_lanes *restrict max, r_lanes *restrict sum, gr_real *restrict e, const gr_real *restrict x, size_t C, size_t inner, size_t n)
{
    r_lanes m, s[16] = { { { 0 } } };
    for (int j = 0; j < 16; j++) m.v[j] = -(gr_real)INFINITY;
    for (size_t c = 0; c < C; c++) {
        r_lanes v;
        softmax_load(&v, x + c * inner, n);
        KEEP_LOOP for (int j = 0; j < 16; j++) m.v[j] = r_max(m.v[j], v.v[j]); /* as softmax_max */
    }
    for (size_t c = 0; c < C; c++) {
        r_lanes v, *const lane = s + c % 16;
        softmax_load(&v, x + c * inner, n);
        KEEP_LOOP for (int j = 0; j < 16; j++) v.v[j] = r_exp_low(v.v[j] - m.v[j]);
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
    a.groups = x->len ? gr__sizes(x->dim, 0, axis) * tiles : 0, a.chunk = values && values < 4096 ? 4096 / values : 1;
    return a;
}
#endif
#endif
