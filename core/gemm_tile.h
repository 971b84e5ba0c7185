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

/* Tiles that neither copy nor prefetch have a loop without these questions, of several k. A tile of 12 vectors of 32 bytes has 20 instructions of its own
 * for each k, so the eight of the loop count on a core that decodes four at a time, or whose other thread takes half of them (measured 1.0 to 1.4 times as
 * fast). With 64 bytes there are 34 to 44; an Intel server, whose units for vectors also add integers, is 1.02 to 1.05 times as fast with two k at a time,
 * and 1.01 to 1.03 with four. */
enum { GEMM_ROWS = 14, GEMM_PLAIN = GR_VECTOR_BYTES >= 32 };

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
    bool add;                       /* the sums to C, instead of writing them */
} gemm_tile;

/* Add column k of A times row k of B, which is b. */
INLINE void gemm_add(const int vectors, const int rows, r_vec (*c)[GEMM_VECTORS], const gr_real *const *A, size_t a_row, const r_vec *b)
{
    UNROLL for (int r = 0; r < rows; r++) {
        const r_vec a = v_set(A[r / 4][(size_t)(r % 4) * a_row]);
        UNROLL for (int v = 0; v < vectors; v++) c[r][v] = v_fma(a, b[v], c[r][v]);
    }
}

INLINE void gemm_run_tile(const int vectors, const int rows, gemm_tile t)
{
    r_vec c[GEMM_ROWS][GEMM_VECTORS], b[GEMM_VECTORS];
    UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int v = 0; v < vectors; v++) c[r][v] = (r_vec){ 0 };
    if (t.start)
        UNROLL for (int r = 0; r < rows; r++)
            UNROLL for (int v = 0; v < vectors; v++) {
                const gr_real *start = t.start + (size_t)r * t.start_row + v * R_WIDTH;
                c[r][v] = v < vectors - 1 ? v_load(start) : v_load_part(start, t.last);
            }
    const gr_real *A[(GEMM_ROWS + 3) / 4]; /* A has pointers to every fourth row: a pointer for each would need too many registers */
    UNROLL for (int r = 0; r < rows; r += 4) A[r / 4] = t.A + (size_t)r * t.a_row;
    const size_t plain = GEMM_PLAIN && t.K && !t.panel && !t.next ? t.K - 1 : 0; /* the last k is below, so that no pointer leaves its matrix */
    GEMM_UNROLL for (size_t k = 0; k < plain; k++) {
        UNROLL for (int v = 0; v < vectors; v++) b[v] = v_load(t.B + v * R_WIDTH);
        gemm_add(vectors, rows, c, A, t.a_row, b);
        UNROLL for (int r = 0; r < rows; r += 4) A[r / 4] += t.a_col;
        t.B += t.b_row;
    }
    for (size_t k = plain; k < t.K;) {
        UNROLL for (int v = 0; v < vectors; v++) b[v] = v_load(t.B + v * R_WIDTH);
        if (t.panel) {
            UNROLL for (int v = 0; v < vectors; v++) v_store(t.panel + v * R_WIDTH, b[v]);
            t.panel += vectors * R_WIDTH;
        }
        if (t.next) {
            /* the last byte of each 64: where a row begins within a line, the panel before has read the line of its first byte */
            UNROLL for (int at = 0; at < vectors * GR_VECTOR_BYTES; at += 64) __builtin_prefetch((const void *)(t.next + (size_t)at + 63), 0, 2);
            t.next += t.next_row;
        }
        gemm_add(vectors, rows, c, A, t.a_row, b);
        if (++k == t.K) break;
        UNROLL for (int r = 0; r < rows; r += 4) A[r / 4] += t.a_col;
        t.B += t.b_row;
    }
    UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int v = 0; v < vectors; v++) {
            gr_real *C = t.C + (size_t)r * t.c_row + v * R_WIDTH;
            if (t.add) c[r][v] = (v < vectors - 1 ? v_load(C) : v_load_part(C, t.last)) + c[r][v];
            if (v < vectors - 1) v_store(C, c[r][v]);
            else v_store_part(C, c[r][v], t.last);
        }
}

/* One function per shape, so that the counts are constants and c[][] lives in registers. */
#define GEMM_FUNCTION(v, r) static void GR_NAME(gemm_tile_##v##_##r)(const gemm_tile *t) { gemm_run_tile(v, r, *t); }
#define GEMM_ENTRY(v, r) [v][r] = GR_NAME(gemm_tile_##v##_##r),
GEMM_TILES(GEMM_FUNCTION)
static void (*const gemm_tiles[GEMM_VECTORS + 1][GEMM_ROWS + 1])(const gemm_tile *) = { GEMM_TILES(GEMM_ENTRY) };
#endif
