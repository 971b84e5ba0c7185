/* core/gemm_tile.h - the two inner loops of the matrix product, only for core/gemm.c: the register tile, and packing.
 *
 * The tile is a block of C, rows x vectors, which stays in registers while k runs. Each k loads `vectors` vectors of B and
 * broadcasts one element of A per row, for rows * vectors fused multiply-adds.
 *
 *              B[k]  | b0 | b1 | b2 |          With r rows and v vectors that is r + v loads for r v multiply-adds. A core
 *          A[0][k] --+----+----+----+          does two of either in a cycle (about one load with Intel's AVX-512), so a
 *          A[1][k] --|    c[r][v]   |          tile must be near square in these counts, large enough to hide the latency of
 *          A[2][k] --+----+----+----+          its chains, and fit the registers with one row of B and one element of A. */
#ifndef GR_GEMM_TILE_H
#define GR_GEMM_TILE_H
#include "core/gemm.h"
#include "core/simd.h"

/* The most rows of a tile of 1, 2, 3 or 4 vectors, with 32 registers or 16. GEMM_TILES(X) is X(vectors, rows) for every tile. */
#define GEMM_UP_TO_6(X, v) X(v, 1) X(v, 2) X(v, 3) X(v, 4) X(v, 5) X(v, 6)
#define GEMM_UP_TO_9(X, v) GEMM_UP_TO_6(X, v) X(v, 7) X(v, 8) X(v, 9)
#define GEMM_UP_TO_12(X, v) GEMM_UP_TO_9(X, v) X(v, 10) X(v, 11) X(v, 12)
#if GR_VECTOR_BYTES == 64 || defined __aarch64__
#define GEMM_TILES(X) GEMM_UP_TO_12(X, 1) GEMM_UP_TO_12(X, 2) GEMM_UP_TO_9(X, 3) GEMM_UP_TO_6(X, 4)
enum { GEMM_VECTORS = 4 };
static const unsigned char gemm_rows[] = { 0, 12, 12, 9, 6 };
#else
#define GEMM_TILES(X) GEMM_UP_TO_12(X, 1) GEMM_UP_TO_6(X, 2)
enum { GEMM_VECTORS = 2 };
static const unsigned char gemm_rows[] = { 0, 12, 6 };
#endif
enum { GEMM_ROWS = 12 };

typedef struct {
    size_t K;
    const gr_real *A, *B;           /* the rows of B are whole vectors */
    size_t a_row, a_col, b_row;
    gr_real *panel;                 /* where to write a dense copy of the rows of B; NULL means nowhere */
    uintptr_t next;                 /* prefetch a row of B from this address into L2, then from next + next_row, and so on; 0 means nothing. */
    size_t next_row;                /* It is a number, since an address may lie outside the matrix */
    const gr_real *start;           /* of the sums; NULL means zero */
    gr_real *C;
    size_t start_row, c_row, last;  /* how many lanes of the last vector are inside C */
} gemm_tile;

INLINE void gemm_run_tile(const int vectors, const int rows, const gemm_tile *t)
{
    r_vec c[GEMM_ROWS][GEMM_VECTORS], b[GEMM_VECTORS];
    UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int v = 0; v < vectors; v++) c[r][v] = (r_vec){ 0 };
    if (t->start)
        UNROLL for (int r = 0; r < rows; r++)
            UNROLL for (int v = 0; v < vectors; v++) {
                const gr_real *start = t->start + (size_t)r * t->start_row + v * R_WIDTH;
                c[r][v] = v < vectors - 1 ? v_load(start) : v_load_part(start, t->last);
            }
    const size_t K = t->K, a_row = t->a_row, a_col = t->a_col, b_row = t->b_row, next_row = t->next_row;
    const gr_real *A[GEMM_ROWS / 4], *B = t->B; /* A has pointers to every fourth row: a pointer for each would need too many registers */
    UNROLL for (int r = 0; r < rows; r += 4) A[r / 4] = t->A + (size_t)r * a_row;
    gr_real *panel = t->panel;
    uintptr_t next = t->next;
    for (size_t k = 0; k < K;) {
        UNROLL for (int v = 0; v < vectors; v++) b[v] = v_load(B + v * R_WIDTH);
        if (panel) {
            UNROLL for (int v = 0; v < vectors; v++) v_store(panel + v * R_WIDTH, b[v]);
            panel += vectors * R_WIDTH;
        }
        if (next) {
            UNROLL for (int at = 0; at < vectors * GR_VECTOR_BYTES; at += 64) __builtin_prefetch((const void *)(next + (size_t)at), 0, 2);
            next += next_row;
        }
        UNROLL for (int r = 0; r < rows; r++) {
            const r_vec a = v_set(A[r / 4][(size_t)(r % 4) * a_row]);
            UNROLL for (int v = 0; v < vectors; v++) c[r][v] = v_fma(a, b[v], c[r][v]);
        }
        if (++k == K) break; /* so that no pointer leaves its matrix */
        UNROLL for (int r = 0; r < rows; r += 4) A[r / 4] += a_col;
        B += b_row;
    }
    UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int v = 0; v < vectors; v++) {
            gr_real *C = t->C + (size_t)r * t->c_row + v * R_WIDTH;
            if (v < vectors - 1) v_store(C, c[r][v]);
            else v_store_part(C, c[r][v], t->last);
        }
}

/* One function per shape, so that the counts are constants and c[][] lives in registers. */
#define GEMM_FUNCTION(v, r) static void GR_NAME(gemm_tile_##v##_##r)(const gemm_tile *t) { gemm_run_tile(v, r, t); }
#define GEMM_ENTRY(v, r) [v][r] = GR_NAME(gemm_tile_##v##_##r),
GEMM_TILES(GEMM_FUNCTION)
static void (*const gemm_tiles[GEMM_VECTORS + 1][GEMM_ROWS + 1])(const gemm_tile *) = { GEMM_TILES(GEMM_ENTRY) };

INLINE size_t gemm_min(size_t a, size_t b) { return a < b ? a : b; }

/* P [m, width] = S [m, n], with zeros in columns n .. width-1: a panel of B, or a copy of A. width is n, or n rounded up to whole vectors. */
static void gemm_copy(size_t m, size_t n, size_t width, gr_mat S, gr_real *P, size_t p_row)
{
    for (size_t r = 0; r < m && n < width; r++) v_store(P + r * p_row + width - R_WIDTH, v_set(0));
    const size_t whole = n - n % R_WIDTH;
    if (S.col == 1) {
        for (size_t r = 0; r < m; r++) {
            const gr_real *s = S.data + r * S.row;
            gr_real *p = P + r * p_row;
            for (size_t c = 0; c < whole; c += R_WIDTH) v_store(p + c, v_load(s + c));
            if (whole < n) v_store_part(p + whole, v_load_part(s + whole, n - whole), n - whole);
        }
    } else if (S.row == 1 && m >= 4) { /* stored by columns: four rows at a time; the last four may overlap the four before */
        for (size_t c = 0; c < whole; c += R_WIDTH)
            for (size_t i = 0; i < m; i += 4) {
                const size_t r = gemm_min(i, m - 4);
                r_vec four[4];
                v_turn(four, S.data + c * S.col + r, S.col);
                UNROLL for (size_t k = 0; k < 4; k++) v_store(P + (r + k) * p_row + c, four[k]);
            }
        for (size_t c = whole; c < n; c += c + 4 <= n ? 4 : 1)
            for (size_t i = 0; i < m; i += 4) {
                const size_t r = gemm_min(i, m - 4);
                const gr_real *s = S.data + c * S.col + r;
                gr_real *p = P + r * p_row + c;
                if (c + 4 <= n) v_turn_four(p, p_row, s, S.col);
                else UNROLL for (size_t k = 0; k < 4; k++) p[k * p_row] = s[k];
            }
    } else {
        for (size_t r = 0; r < m; r++)
            for (size_t c = 0; c < n; c++) P[r * p_row + c] = S.data[r * S.row + c * S.col];
    }
}
#endif
