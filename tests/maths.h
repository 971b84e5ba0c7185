/* tests/maths.h - core/maths.h and the reductions of core/kernel.h as kernels for every instruction set, for test_maths and campaign/ulp. */
#ifndef GR_TEST_MATHS_H
#define GR_TEST_MATHS_H
#include "core/real.h"
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct {
    const char *name;
    void (*const *kernel)(gr_real *restrict y, const gr_real *restrict x, size_t n); /* one for each instruction set */
    void (*reference)(double *restrict y, const double *restrict x, size_t n);       /* fast, but only right where x and the result are finite */
    double (*exact)(double x);
    double ulp;
    bool monotone;
} maths_function;
enum { MATHS_FUNCTIONS = 16 };
extern const maths_function maths_functions[MATHS_FUNCTIONS];

typedef void maths_kernel_2(gr_real *restrict z, const gr_real *restrict x, const gr_real *restrict y, size_t n);
typedef void maths_kernel_3(gr_real *restrict z, const gr_real *restrict a, const gr_real *restrict b, const gr_real *restrict c, size_t n);
extern maths_kernel_2 *const *const maths_pow_kernel;
extern maths_kernel_3 *const *const maths_fma_kernel;
void maths_pow_reference(double *restrict z, const double *restrict x, const double *restrict y, size_t n);

/* sum, dot, sum of x and of y in one pass, maximum, minimum, product of x. */
enum { MATHS_REDUCTIONS = 7 };
extern void (*const *const maths_reduce_kernel)(gr_real out[MATHS_REDUCTIONS], const gr_real *x, const gr_real *y, size_t n);

static inline uint32_t float_bits(float x) { uint32_t u; memcpy(&u, &x, sizeof u); return u; }
static inline float float_of(uint32_t u) { float x; memcpy(&x, &u, sizeof x); return x; }

/* The distance of y from the truth in units in the last place (ulp) of a float near the truth. A value beyond the range of float counts as
 * 2^128. */
static inline double ulps(double y, double truth)
{
    y = y > 0x1p128 ? 0x1p128 : y < -0x1p128 ? -0x1p128 : y;
    truth = truth > 0x1p128 ? 0x1p128 : truth < -0x1p128 ? -0x1p128 : truth;
    uint64_t u;
    memcpy(&u, &truth, sizeof u), u &= 0x7ff0000000000000;
    double power;
    memcpy(&power, &u, sizeof power);
    return fabs(y - truth) / (power > 0x1p-126 ? power : 0x1p-126) * 0x1p23;
}
#endif
