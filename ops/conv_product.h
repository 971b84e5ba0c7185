/* ops/conv_product.h - the product of ops/conv_direct.c, whose factors lie where tables of offsets say:
 *
 *     C[r][n] = start[r][n] + sum over k of A[r, k] B[k][n]        C at row[r].b, A at row[r].a + k.a, B at k.b */
#ifndef GR_CONV_PRODUCT_H
#define GR_CONV_PRODUCT_H
#include "core/gemm_copy.h"

/* Of a tile: a pointer to each of its rows must stay in a register, too, so that 8 are faster than 9; rows that are neighbours in A need one pointer. */
enum { CONV_ROWS = 14, CONV_FAST_ROWS = 8 };

typedef struct { size_t a, b, i; } conv_at; /* offsets in A, and in B or C; which row of what is read, or which bias */
typedef struct {
    const gr_real *A, *B, *bias, *start; /* sums begin with the bias of their row; or with start, lane by lane, which is C, or the same for all rows */
    gr_real *C;
    const conv_at *row, *k;
    size_t M, N, K, run, last;           /* run: rows i run .. i run + run - 1 are neighbours in A; last: lanes of the last vector that are inside C */
    bool each;                           /* A has lanes, too: A[r, k][n] */
    int five;                            /* of a kernel with rows of 5 columns: how far its terms lie apart in A, 1 or -1; else 0 */
} conv_product;

/* One vector, rows that are neighbours, and a kernel with rows of 5 columns, whose five terms see nearly the same values: each is loaded once. */
INLINE void conv_run_five(const int rows, conv_product t)
{
    const int first = t.five < 0 ? rows - 1 : 0;
    r_vec c[CONV_ROWS], b[5];
    UNROLL for (int r = 0; r < rows; r++)
        c[r] = t.start ? v_load_part(t.start + (t.start == t.C ? t.row[first + r * t.five].b : 0), t.last) : v_set(0);
    for (const conv_at *k = t.k, *const end = k + t.K; k < end; k += 5) {
        const gr_real *const A = t.A + t.row[first].a + k->a;
        UNROLL for (int e = 0; e < 5; e++) b[e] = v_load(t.B + k[e].b);
        UNROLL for (int i = 0; i < rows + 4; i++) {
            const r_vec a = v_set(A[i * t.five]);
            UNROLL for (int e = 0; e < 5; e++)
                if (i >= e && i < rows + e) c[i - e] = v_fma(a, b[e], c[i - e]);
        }
    }
    UNROLL for (int r = 0; r < rows; r++) v_store_part(t.C + t.row[first + r * t.five].b, c[r], t.last);
}
INLINE void conv_run_tile(const int vectors, const int rows, const bool each, const bool near, conv_product t)
{
    r_vec c[CONV_ROWS][GEMM_VECTORS], b[GEMM_VECTORS];
    const gr_real *a[CONV_ROWS], *const B = t.B;
    if (vectors == 1 && GEMM_VECTORS == 4 && near && t.five) { conv_run_five(rows, t); return; }
    UNROLL for (int r = 0; r < rows; r++) {
        a[r] = t.A + t.row[r].a;
        UNROLL for (int v = 0; v < vectors; v++) c[r][v] = v_set(t.bias ? t.bias[t.row[r].i] : 0);
    }
    if (t.start) GEMM_EACH(r, v) c[r][v] = gemm_load(t.start + (t.start == t.C ? t.row[r].b : 0) + v * R_WIDTH, v == vectors - 1, t.last);
    for (const conv_at *k = t.k, *const end = k + t.K; k < end; k++) {
        UNROLL for (int v = 0; v < vectors; v++) b[v] = v_load(B + k->b + v * R_WIDTH);
        UNROLL for (int r = 0; r < rows; r++) {
            const gr_real *const at = (near ? a[0] + r : a[r]) + k->a;
            UNROLL for (int v = 0; v < vectors; v++) c[r][v] = v_fma(each ? v_load(at + v * R_WIDTH) : v_set(*at), b[v], c[r][v]);
        }
    }
    GEMM_EACH(r, v) gemm_store(t.C + t.row[r].b + v * R_WIDTH, c[r][v], v == vectors - 1, t.last);
}
#define CONV_FUNCTION(v, r) \
    static void GR_NAME(conv_tile_##v##_##r)(const conv_product *t) { conv_run_tile(v, r, false, false, *t); } \
    static void GR_NAME(conv_each_##v##_##r)(const conv_product *t) { conv_run_tile(v, r, true, false, *t); } \
    static void GR_NAME(conv_near_##v##_##r)(const conv_product *t) { conv_run_tile(v, r, false, true, *t); }
/* The compiler drops those that the table does not name. Tiles of neighbours have as many rows as they may, of which there are 4, 6, or 8 and more. */
#define CONV_FAR(r, f) ((r) <= CONV_FAST_ROWS ? GR_NAME(f) : NULL)
#define CONV_NEAR(r, f) ((r) >= CONV_FAST_ROWS || (r) == 6 || ((r) == 4 && GR_VECTOR_BYTES == 16) ? GR_NAME(f) : NULL)
#define CONV_ENTRY(v, r) [v][r] = { CONV_FAR(r, conv_tile_##v##_##r), CONV_FAR(r, conv_each_##v##_##r), CONV_NEAR(r, conv_near_##v##_##r) },
GEMM_TILES(CONV_FUNCTION)
static void (*const conv_tiles[GEMM_VECTORS + 1][CONV_ROWS + 1][3])(const conv_product *) = { GEMM_TILES(CONV_ENTRY) };
#endif
