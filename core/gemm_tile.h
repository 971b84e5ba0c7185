/* core/gemm_tile.h - the inner loop of the matrix product, only for core/gemm.c: the register tile. Packing is in core/gemm_copy.h.
 *
 * The tile is a block of C, rows x vectors, which stays in registers while k runs. Each k loads `vectors` vectors of B and
 * broadcasts one element of A per row, for rows * vectors fused multiply-adds.
 *
 *              B[k]  | b0 | b1 | b2 |          With r rows and v vectors that is r + v loads for r v multiply-adds. A core does
 *          A[0][k] --+----+----+----+          up to two of either in a cycle, but an Ice Lake server was measured at 1.15 loads
 *          A[1][k] --|    c[r][v]   |          of 64 bytes. So a tile must be near square in these counts, large enough to hide the
 *          A[2][k] --+----+----+----+          latency of its chains, and fit the registers with one row of B and one element of A. */
#ifndef GR_GEMM_TILE_H
#define GR_GEMM_TILE_H
#include "core/gemm_copy.h"

/* Most tiles neither copy nor prefetch. They are functions of their own: asking whether to costs 1 to 2 % of the time (measured). Their loop takes several k
 * at a time: a tile of 12 vectors of 32 bytes has 20 instructions of its own for each k, so the eight of the loop count on a core that decodes four at a time,
 * or whose other thread takes half of them (measured 1.0 to 1.4 times as fast). With 64 bytes there are 34 to 44; an Intel server, whose units for vectors
 * also add integers, is 1.02 to 1.05 times as fast with two k at a time, and 1.01 to 1.03 with four.
 *
 * One row of A gives a tile of 2 or 3 vectors so few chains that they wait for their own sums. If B is packed, such a tile takes several panels side by
 * side, and r counts them: then what bounds it is reading B (measured 1.3 to 2.2 times as fast with vectors of 32 bytes, 1.0 to 1.2 with 64). */

typedef struct {
    size_t K, ahead;                /* the first `ahead` of K also copy B, or prefetch: all K if there is a panel, none in a plain tile */
    const gr_real *A, *B;           /* the rows of B are whole vectors */
    size_t a_row, a_col, b_row;
    gr_real *panel;                 /* where to write a dense copy of the rows of B; NULL means nowhere */
    uintptr_t next;                 /* prefetch as many bytes as a row of the panel has from here into L2, then from next + next_row, and so on; 0: nothing. */
    size_t next_row;                /* It is a number, since an address may lie outside the matrix */
    const gr_real *start;           /* of the sums; NULL means zero; start_row 1: one value for each row */
    gr_real *C;
    size_t start_row, c_row, last;  /* how many lanes of the last vector are inside C */
    bool add;                       /* the sums to C, instead of writing them */
} gemm_tile;

/* Addresses of the next column of A and row of B, as numbers, since after the last step they lie outside. A has one for every fourth row: one for each would
 * need too many registers. */
typedef struct { uintptr_t A[(GEMM_ROWS + 3) / 4], B; } gemm_at;

/* Add to c the column of A times the row of B at `at`, leave that row in b, and move on. */
INLINE void gemm_add(const int vectors, const int rows, const bool panels, r_vec (*c)[GEMM_VECTORS], r_vec *b, gemm_at *at, const gemm_tile *t)
{
    UNROLL for (int r = 0; r < rows; r++) {
        for (int v = 0; v < vectors && (r == 0 || panels); v++) b[v] = v_load((const gr_real *)at->B + (size_t)r * t->b_row * t->K + v * R_WIDTH);
        const r_vec a = v_set(((const gr_real *)at->A[r / 4])[(size_t)(r % 4) * t->a_row]);
        UNROLL for (int v = 0; v < vectors; v++) c[r][v] = v_fma(a, b[v], c[r][v]);
    }
    UNROLL for (int r = 0; r < rows; r += 4) at->A[r / 4] += t->a_col * sizeof(gr_real);
    at->B += t->b_row * sizeof(gr_real);
}

INLINE void gemm_run_tile(const int vectors, const int rows, const bool plain, const bool panels, gemm_tile t)
{
    if (panels) t.a_row = 0, t.c_row = t.start_row = t.b_row;
    r_vec c[GEMM_ROWS][GEMM_VECTORS], b[GEMM_VECTORS];
    GEMM_EACH(r, v) c[r][v] = (r_vec){ 0 };
    if (t.start && t.start_row == 1) GEMM_EACH(r, v) c[r][v] = v_set(t.start[r]);
    else if (t.start) GEMM_EACH(r, v) c[r][v] = gemm_load(t.start + (size_t)r * t.start_row + v * R_WIDTH, v == vectors - 1, t.last);
    gemm_at at = { .B = (uintptr_t)t.B };
    UNROLL for (int r = 0; r < rows; r += 4) at.A[r / 4] = (uintptr_t)(t.A + (size_t)r * t.a_row);
    size_t k = 0;
    for (; !plain && k < t.ahead; k++) {
        gemm_add(vectors, rows, panels, c, b, &at, &t);
        if (t.panel) {
            UNROLL for (int v = 0; v < vectors; v++) v_store(t.panel + v * R_WIDTH, b[v]);
            t.panel += vectors * R_WIDTH;
        }
        if (t.next) {
            /* the last byte of each 64: where a row of B begins within a line, the panel before has read that line */
            UNROLL for (int i = 0; i < vectors * GR_VECTOR_BYTES; i += 64) __builtin_prefetch((const void *)(t.next + (size_t)i + 63), 0, 2);
            t.next += t.next_row;
        }
    }
    GEMM_UNROLL for (; k < t.K; k++) gemm_add(vectors, rows, panels, c, b, &at, &t);
    if (t.add) GEMM_EACH(r, v) c[r][v] = gemm_load(t.C + (size_t)r * t.c_row + v * R_WIDTH, v == vectors - 1, t.last) + c[r][v];
    GEMM_EACH(r, v) gemm_store(t.C + (size_t)r * t.c_row + v * R_WIDTH, c[r][v], v == vectors - 1, t.last);
}

/* Functions for each shape, [0] in general, [1] plain and [2] of several panels, so that the counts are constants and c[][] lives in registers. */
#define GEMM_FUNCTION(v, r) \
    static void GR_NAME(gemm_tile_##v##_##r)(const gemm_tile *t) { gemm_run_tile(v, r, false, false, *t); } \
    static void GR_NAME(gemm_tile_##v##_##r##_plain)(const gemm_tile *t) { gemm_run_tile(v, r, true, false, *t); }
#define GEMM_ENTRY(v, r) [v][r] = { GR_NAME(gemm_tile_##v##_##r), GR_NAME(gemm_tile_##v##_##r##_plain) },
#define GEMM_PANELS_FUNCTION(v, p) static void GR_NAME(gemm_tile_##v##_panels_##p)(const gemm_tile *t) { gemm_run_tile(v, p, true, true, *t); }
#define GEMM_PANELS_ENTRY(v, p) [v][p][2] = GR_NAME(gemm_tile_##v##_panels_##p),
GEMM_TILES(GEMM_FUNCTION) GEMM_PANELS(GEMM_PANELS_FUNCTION)
static void (*const gemm_tiles[GEMM_VECTORS + 1][GEMM_ROWS + 1][3])(const gemm_tile *) = { GEMM_TILES(GEMM_ENTRY) GEMM_PANELS(GEMM_PANELS_ENTRY) };
#endif
