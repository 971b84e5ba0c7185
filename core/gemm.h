/* core/gemm.h - matrix product for the library's operators.
 *
 *     C[i][j] = start[i][j] + sum over k of A[i][k] B[k][j]         C [M, N]   A [M, K]   B [K, N]
 *
 * Every output is one chain in one order: c = start; for k = 0 .. K-1: c = fma(A[i][k], B[k][j], c). So neither blocking,
 * packing, threads, instruction set, nor what else is in the batch can change a bit. (OpenBLAS, when built in, is outside this promise.) */
#ifndef GR_GEMM_H
#define GR_GEMM_H
#include "core/library.h"

/* A matrix by address and strides, in elements: element (i, j) is at data[i * row + j * col]. */
typedef struct { const gr_real *data; size_t row, col; } gr_mat;

/* The start of the chains: zero (data NULL), the old C or any matrix (row = its row stride), or a bias (row 0); column stride is 1. */
typedef struct { const gr_real *data; size_t row; } gr_start;

/* Over all the tape's threads. C has rows of stride ldc and columns of stride 1; it may be start.data, and overlaps nothing else. */
void gr__gemm(gr_tape *t, size_t M, size_t N, size_t K, gr_mat A, gr_mat B, gr_real *C, size_t ldc, gr_start start);

/* On the calling thread, inside a gr_parallel task: work is gr__work(t, thread). */
void gr__gemm_serial(int isa, size_t M, size_t N, size_t K, gr_mat A, gr_mat B, gr_real *C, size_t ldc, gr_start start, void *work);

/* B packed once for many products (the weights of a recurrent layer): gr__gemm_packed_len reals at P, 64-aligned, made by gr__gemm_pack
 * for the same instruction set. */
size_t gr__gemm_packed_len(size_t N, size_t K);
void gr__gemm_pack(int isa, size_t N, size_t K, gr_mat B, gr_real *P);
void gr__gemm_serial_packed(int isa, size_t M, size_t N, size_t K, gr_mat A, const gr_real *P, gr_real *C, size_t ldc, gr_start start,
                            void *work);

#ifdef GR_OPENBLAS
/* The same as gr__gemm by OpenBLAS; false, and nothing done, for strides and sizes that it does not know. */
bool gr__gemm_blas(size_t M, size_t N, size_t K, gr_mat A, gr_mat B, gr_real *C, size_t ldc, gr_start start);
#endif

#endif
