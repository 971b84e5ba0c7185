/* tests/maths_kernels.c - see tests/maths.h. */
#include "core/maths.h"
#include "tests/maths.h"

#define MATHS(name, y_of_x, ...) \
    KERNEL(void, maths_##name, gr_real *restrict y, const gr_real *restrict in, size_t n) \
    { \
        for (size_t i = 0; i < n; i++) { \
            const gr_real x = in[i]; \
            y[i] = (y_of_x); \
        } \
    }
#include "tests/maths.def"
#undef MATHS

KERNEL(void, maths_pow, gr_real *restrict z, const gr_real *restrict x, const gr_real *restrict y, size_t n)
{
    for (size_t i = 0; i < n; i++) z[i] = r_pow(x[i], y[i]);
}

KERNEL(void, maths_fma, gr_real *restrict z, const gr_real *restrict a, const gr_real *restrict b, const gr_real *restrict c, size_t n)
{
    for (size_t i = 0; i < n; i++) z[i] = r_fma(a[i], b[i], c[i]);
}

KERNEL(void, maths_reduce, gr_real out[MATHS_REDUCTIONS], const gr_real *x, const gr_real *y, size_t n)
{
    out[0] = SUM(i, n, x[i]);
    out[1] = DOT(i, n, x[i], y[i]);
    SUM2(i, n, out[2], x[i], out[3], y[i]);
    out[4] = MAX(i, n, x[i]);
    out[5] = MIN(i, n, x[i]);
    out[6] = PRODUCT(i, n, x[i]);
}

#if GR_HOST
#define MATHS(name, y_of_x, truth, ...) \
    void maths_##name##_reference(double *restrict y, const double *restrict x, size_t n); \
    static double maths_##name##_exact(double x) { return truth; }
#include "tests/maths.def"
#undef MATHS

#define MATHS(name, y_of_x, truth, ulp, monotone) { #name, maths_##name, maths_##name##_reference, maths_##name##_exact, ulp, monotone },
const maths_function maths_functions[MATHS_FUNCTIONS] = {
#include "tests/maths.def"
};
maths_kernel_2 *const *const maths_pow_kernel = maths_pow;
maths_kernel_3 *const *const maths_fma_kernel = maths_fma;
void (*const *const maths_reduce_kernel)(gr_real out[MATHS_REDUCTIONS], const gr_real *x, const gr_real *y, size_t n) = maths_reduce;
#endif
