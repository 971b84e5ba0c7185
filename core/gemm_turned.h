/* core/gemm_turned.h - the tile of the matrix product for few rows and a B that is stored by columns, such as the weights of a linear layer; only for
 * core/gemm.c. V_TURN rows of B at a time are turned in registers and used at once, so nothing is copied. Where a tile has two vectors, both are turned
 * before their products, which hides the latency of the sums, and loads a value of A once for both; more are taken one after the other. The time goes into
 * reading B: its lines are fetched two ahead (in double every second one), some at each step, unless the products take longer. */
#ifndef GR_GEMM_TURNED_H
#define GR_GEMM_TURNED_H
#include "core/gemm_copy.h"

enum { GEMM_TURNED = GEMM_VECTORS == 2 && GR_VECTOR_BYTES == 16 ? 2 : 128 / GR_VECTOR_BYTES }; /* vectors, at most */
/* X(vectors, rows) for every tile */
#if V_TURN == 8
#define GEMM_TURNED_TILES(X) GEMM_UP_TO_6(X, 2) X(2, 7) X(2, 8) X(1, 3) X(1, 4)
#else
#define GEMM_TURNED_TILES(X) X(GEMM_TURNED, 1) X(GEMM_TURNED, 2) X(GEMM_TURNED / 2, 3) X(GEMM_TURNED / 2, 4)
#endif

/* C += A B for n of K. steps counts down. */
INLINE void gemm_turned_step(const int vectors, const int rows, size_t steps, size_t n, gr_mat A, const gr_real **B, size_t b_col, r_vec (*C)[GEMM_TURNED])
{
    const bool two = vectors == 2;
    const size_t lines = rows <= 2 || V_TURN == 8 ? (1 + two) * R_WIDTH * V_TURN / 16 : 0;
    UNROLL for (int v = 0; v < vectors; v += 1 + two) {
        const uintptr_t ahead = (uintptr_t)(B[v] + steps % (16 / V_TURN) * lines * b_col) + 128;
        r_vec b[V_TURN], next[V_TURN];
        UNROLL for (size_t l = 0; l < lines; l++) __builtin_prefetch((const void *)(ahead + l * b_col * sizeof(gr_real)));
        v_turn(b, B[v], b_col, n), B[v] += n;
        if (two) v_turn(next, B[v + 1], b_col, n), B[v + 1] += n;
        UNROLL for (size_t k = 0; k < V_TURN; k++)
            if (!V_TURN_PART || k < n)
                UNROLL for (size_t r = 0; r < (size_t)rows; r++) {
                    const r_vec a = v_set(A.data[r * A.row + k * A.col]);
                    C[r][v] = v_fma(a, b[k], C[r][v]);
                    if (two) C[r][v + 1] = v_fma(a, next[k], C[r][v + 1]);
                }
    }
}

/* C = start + A B, where the sums over K have parts of `deep`. */
INLINE void gemm_turned_tile(const int vectors, const int rows, size_t K, size_t deep, gr_mat A, gr_mat B, gr_start start, gr_real *C, size_t c_row)
{
    const gr_real *b[GEMM_TURNED];
    r_vec c[V_TURN][GEMM_TURNED];
    UNROLL for (int v = 0; v < vectors; v++) b[v] = B.data + (size_t)v * R_WIDTH * B.col;
    UNROLL for (size_t r = 0; r < (size_t)rows; r++)
        UNROLL for (int v = 0; v < vectors; v++) c[r][v] = start.data ? v_load(start.data + r * start.row + v * R_WIDTH) : v_set(0);
    uintptr_t a = (uintptr_t)A.data; /* in the end it is outside of A */
    for (size_t done = 0; done < K; done += deep) {
        size_t n = size_min(deep, K - done);
        for (; n >= V_TURN; n -= V_TURN, a += V_TURN * A.col * sizeof(gr_real))
            gemm_turned_step(vectors, rows, n / V_TURN, V_TURN, (gr_mat){ (const gr_real *)a, A.row, A.col }, b, B.col, c);
        if (V_TURN_PART && n) gemm_turned_step(vectors, rows, 0, n, (gr_mat){ (const gr_real *)a, A.row, A.col }, b, B.col, c);
        UNROLL for (size_t r = 0; r < (size_t)rows; r++)
            UNROLL for (int v = 0; v < vectors; v++) {
                gr_real *const y = C + r * c_row + v * R_WIDTH;
                v_store(y, done ? v_load(y) + c[r][v] : c[r][v]), c[r][v] = v_set(0);
            }
    }
}
#endif
