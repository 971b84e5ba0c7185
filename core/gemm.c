/* core/gemm.c - matrix product: every output is one chain of fused multiply-adds over k, in ascending order. */
#include "core/gemm.h"
#include "core/kernel.h"

enum { LANES = 16 };

KERNEL(void, gemm_run, size_t M, size_t N, size_t K, gr_mat A, gr_mat B, gr_real *C, size_t ldc, gr_start start)
{
    for (size_t i = 0; i < M; i++)
        for (size_t j = 0; j < N; j += LANES) {
            const size_t w = N - j < LANES ? N - j : LANES;
            gr_real c[LANES] = { 0 };
            if (start.data) memcpy(c, start.data + i * start.row + j, w * sizeof *c);
            for (size_t k = 0; k < K; k++) {
                const gr_real a = A.data[i * A.row + k * A.col], *b = B.data + k * B.row + j * B.col;
                if (B.col == 1 && w == LANES)
                    KEEP_LOOP for (size_t l = 0; l < LANES; l++) c[l] = r_fma(a, b[l], c[l]);
                else
                    for (size_t l = 0; l < w; l++) c[l] = r_fma(a, b[l * B.col], c[l]);
            }
            memcpy(C + i * ldc + j, c, w * sizeof *c);
        }
}

#if GR_HOST
size_t gr__work_bytes(void) { return 64; }

void gr__gemm_serial(int isa, size_t M, size_t N, size_t K, gr_mat A, gr_mat B, gr_real *C, size_t ldc, gr_start start, void *work)
{
    (void)work;
    gemm_run[isa](M, N, K, A, B, C, ldc, start);
}

static size_t padded(size_t N) { return (N + LANES - 1) / LANES * LANES; }

size_t gr__gemm_packed_len(size_t N, size_t K) { return padded(N) * K; }

void gr__gemm_pack(int isa, size_t N, size_t K, gr_mat B, gr_real *P)
{
    (void)isa;
    for (size_t k = 0; k < K; k++)
        for (size_t j = 0; j < padded(N); j++) P[k * padded(N) + j] = j < N ? B.data[k * B.row + j * B.col] : 0;
}

void gr__gemm_serial_packed(int isa, size_t M, size_t N, size_t K, gr_mat A, const gr_real *P, gr_real *C, size_t ldc, gr_start start,
                            void *work)
{
    gr__gemm_serial(isa, M, N, K, A, (gr_mat){ P, padded(N), 1 }, C, ldc, start, work);
}

typedef struct { int isa; gr_tape *t; size_t M, N, K, rows, ldc; gr_mat A, B; gr_real *C; gr_start start; } job;

static void rows_of_c(void *argument, size_t chunk, int thread)
{
    const job *g = argument;
    const size_t i = chunk * g->rows, m = g->M - i < g->rows ? g->M - i : g->rows;
    const gr_mat A = { g->A.data + i * g->A.row, g->A.row, g->A.col };
    const gr_start start = { g->start.data ? g->start.data + i * g->start.row : NULL, g->start.row };
    gr__gemm_serial(g->isa, m, g->N, g->K, A, g->B, g->C + i * g->ldc, g->ldc, start, gr__work(g->t, thread));
}

void gr__gemm(gr_tape *t, size_t M, size_t N, size_t K, gr_mat A, gr_mat B, gr_real *C, size_t ldc, gr_start start)
{
    if (!M || !N) return;
    job g = { gr_isa(t), t, M, N, K, 32, ldc, A, B, C, start };
    gr_parallel(t, (M + g.rows - 1) / g.rows, (double)M * (double)N * (double)K / 50, rows_of_c, &g);
}
#endif
