/* core/blas.c - in a library built with BLAS=openblas, the products that gr__gemm leaves to OpenBLAS. Those inside a parallel region
 * and those with packed weights stay with core/gemm.c. */
#include "core/gemm.h"
#ifdef GR_OPENBLAS
#include <cblas.h>
#include <limits.h>
#include <string.h>
#ifdef GR_REAL_DOUBLE
#define BLAS_GEMM cblas_dgemm
#else
#define BLAS_GEMM cblas_sgemm
#endif

/* Whether X [rows, columns] is stored by rows or by columns, with a stride that BLAS takes. */
static bool blas_layout(gr_mat X, size_t rows, size_t columns, CBLAS_TRANSPOSE *transposed, int *stride)
{
    const bool by_rows = X.col == 1 && X.row >= columns;
    const size_t step = by_rows ? X.row : X.col;
    *transposed = by_rows ? CblasNoTrans : CblasTrans, *stride = (int)step;
    return (by_rows || (X.row == 1 && X.col >= rows)) && step <= INT_MAX && rows <= INT_MAX && columns <= INT_MAX;
}

bool gr__gemm_blas(size_t M, size_t N, size_t K, gr_mat A, gr_mat B, gr_real *C, size_t ldc, gr_start start)
{
    CBLAS_TRANSPOSE ta, tb;
    int lda, ldb;
    if (!K || start.row == 1 || ldc > INT_MAX || !blas_layout(A, M, K, &ta, &lda) || !blas_layout(B, K, N, &tb, &ldb)) return false;
    const bool adds = start.data == C && start.row == ldc;
    for (size_t i = 0; i < M && start.data && !adds; i++) memmove(C + i * ldc, start.data + i * start.row, N * sizeof *C);
    BLAS_GEMM(CblasRowMajor, ta, tb, (int)M, (int)N, (int)K, 1, A.data, lda, B.data, ldb, start.data ? 1 : 0, C, (int)ldc);
    return true;
}
#endif
