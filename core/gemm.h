/* core/gemm.h - the matrix product for the library's operators.
 *
 *     C[i][j] = start[i][j] + sum over k of A[i][k] B[k][j]         C [M, N]   A [M, K]   B [K, N]
 *
 * Every output is computed in the same order: c = start; for k = 0 .. K-1: c = fma(A[i][k], B[k][j], c), or in double A[i][k] B[k][j] + c,
 * rounded twice. A longer sum, K > 2048, is cut into the fewest parts of at most 2048, of equal sizes (rounded up to a multiple of 8, but the
 * last): the second and later ones start from 0 and are added to c, one after the other. To first order, rounding then moves c by at most
 * (2048 + K / 2048) u (|start| + sum |A B|), where u is 2^-24, or 2^-53 in double; one chain would have K for 2048 + K / 2048. So blocking,
 * packing, threads, the instruction set and the rest of the batch cannot change a bit. This promise does not hold for OpenBLAS, if it is built in. */
#ifndef GR_GEMM_H
#define GR_GEMM_H
#include "core/library.h"

/* A matrix by address and strides, in elements: element (i, j) is at data[i * row + j * col]. */
typedef struct { const gr_real *data; size_t row, col; } gr_mat;

/* The start of the sums: zero (data NULL), the old C or any matrix (row is its row stride, and 1 its column stride), or a bias: of the columns (row 0), or of
 * the rows (row 1). */
typedef struct { const gr_real *data; size_t row; } gr_start;

/* C = start + A B on all threads of the tape. C has row stride ldc and column stride 1. It may be start.data, and must not overlap anything else. */
void gr__gemm(gr_tape *t, size_t M, size_t N, size_t K, gr_mat A, gr_mat B, gr_real *C, size_t ldc, gr_start start);

/* A product of K > 0 terms. gr__gemm_part computes one of `parts` parts, some of which may be empty, in a task of gr_parallel: the longer side of C is cut
 * evenly, and each part reads all of the operand of the other side. */
typedef struct { size_t M, N, K; gr_mat A, B; gr_real *C; size_t ldc; gr_start start; } gr__product;
void gr__gemm_part(gr_tape *t, const gr__product *p, size_t part, size_t parts, int thread);

/* A product on the calling thread, in a task of gr_parallel. work is gr__work(t, thread). */
void gr__gemm_serial(int isa, size_t M, size_t N, size_t K, gr_mat A, gr_mat B, gr_real *C, size_t ldc, gr_start start, void *work);

/* Memory that the caller touches next. A product prefetches it into L2, a few lines at each step of k, and takes from the list what it has
 * prefetched. The list ends with an address of 0. */
typedef struct { uintptr_t at; size_t bytes; } gr__fetch;

/* The same with B packed once for many products, such as the weights of a recurrent layer. P has room for gr__gemm_packed_len reals and is
 * aligned to 64 bytes; gr__gemm_pack fills it, for the same instruction set. fetch may be NULL. */
size_t gr__gemm_packed_len(size_t N, size_t K);
void gr__gemm_pack(int isa, size_t N, size_t K, gr_mat B, gr_real *P);
void gr__gemm_serial_packed(int isa, size_t M, size_t N, size_t K, gr_mat A, const gr_real *P, gr_real *C, size_t ldc, gr_start start,
                            gr__fetch *fetch, void *work);

#ifdef GR_OPENBLAS
/* gr__gemm by OpenBLAS. Returns false, and does nothing, for strides and sizes that OpenBLAS does not support. */
bool gr__gemm_blas(size_t M, size_t N, size_t K, gr_mat A, gr_mat B, gr_real *C, size_t ldc, gr_start start);
#endif

#endif
