/* core/gemm_copy.h - what the kernels of the matrix product and of convolution share: shapes of tiles, access to their C, and dense copies of matrices. */
#ifndef GR_GEMM_COPY_H
#define GR_GEMM_COPY_H
#include "core/gemm.h"
#include "core/simd.h"

/* The most rows of a tile of 1, 2, 3 or 4 vectors, with 32 registers or 16. GEMM_TILES(X) is X(vectors, rows) for every tile, and GEMM_PANELS(X) is
 * X(vectors, panels) for those of one row and several panels. */
#define GEMM_UP_TO_6(X, v) X(v, 1) X(v, 2) X(v, 3) X(v, 4) X(v, 5) X(v, 6)
#define GEMM_UP_TO_12(X, v) GEMM_UP_TO_6(X, v) X(v, 7) X(v, 8) X(v, 9) X(v, 10) X(v, 11) X(v, 12)
#if GR_VECTOR_BYTES == 64 || defined __aarch64__
static const unsigned char gemm_rows[] = { 0, 14, 14, 9, 6 };
#define GEMM_UNROLL UNROLL_2
#define GEMM_PANELS(X) X(2, 2) X(2, 3) X(2, 4) X(3, 2) X(3, 3)
#define GEMM_TILES(X) GEMM_UP_TO_12(X, 1) X(1, 13) X(1, 14) GEMM_UP_TO_12(X, 2) X(2, 13) X(2, 14) GEMM_UP_TO_6(X, 3) X(3, 7) X(3, 8) X(3, 9) GEMM_UP_TO_6(X, 4)
#elif GR_VECTOR_BYTES == 32
static const unsigned char gemm_rows[] = { 0, 12, 6 };
#define GEMM_UNROLL UNROLL_4
#define GEMM_PANELS(X) X(2, 2) X(2, 3) X(2, 4)
#define GEMM_TILES(X) GEMM_UP_TO_12(X, 1) GEMM_UP_TO_6(X, 2)
#else /* a multiply-add is many instructions: larger tiles are not faster, and take seconds to compile */
static const unsigned char gemm_rows[] = { 0, 4, 4 };
#define GEMM_UNROLL
#define GEMM_PANELS(X) X(2, 2) X(2, 3) X(2, 4)
#define GEMM_TILES(X) X(1, 1) X(1, 2) X(1, 3) X(1, 4) X(2, 1) X(2, 2) X(2, 3) X(2, 4)
#endif
enum { GEMM_VECTORS = sizeof gemm_rows - 1, GEMM_ROWS = 14 };

/* For each vector v of each row r of a tile's C, of which there are `rows` and `vectors`. Of the last vector of a row, only some lanes are inside C. */
#define GEMM_EACH(r, v) UNROLL for (int r = 0; r < rows; r++) UNROLL for (int v = 0; v < vectors; v++)
INLINE r_vec gemm_load(const gr_real *p, bool is_last, size_t lanes) { return is_last ? v_load_part(p, lanes) : v_load(p); }
INLINE void gemm_store(gr_real *p, r_vec c, bool is_last, size_t lanes)
{
    if (is_last) v_store_part(p, c, lanes);
    else v_store(p, c);
}

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
    } else if (S.row == 1 && m >= 4) { /* stored by columns: V_TURN or four rows at a time; the last ones may overlap those before */
        const size_t turned = m < V_TURN ? 0 : whole;
        for (size_t c = 0; c < turned; c += R_WIDTH)
            for (size_t i = 0; i < m; i += V_TURN) {
                const size_t r = size_min(i, m - V_TURN);
                r_vec rows[V_TURN];
                v_turn(rows, S.data + c * S.col + r, S.col, V_TURN);
                UNROLL for (size_t k = 0; k < V_TURN; k++) v_store(P + (r + k) * p_row + c, rows[k]);
            }
        for (size_t c = turned; c < n; c += c + 4 <= n ? 4 : 1)
            for (size_t i = 0; i < m; i += 4) {
                const size_t r = size_min(i, m - 4);
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
