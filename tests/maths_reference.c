/* tests/maths_reference.c - double references in plain loops. Where it can, the Makefile compiles this file, and no other, so that the C library's
 * vector functions are called (within 4 double ulp): 2^32 values are many. Arguments and results must be finite for that. */
#include "tests/maths.h"

#define MATHS(name, y_of_x, truth, ...) \
    void maths_##name##_reference(double *restrict y, const double *restrict in, size_t n); \
    void maths_##name##_reference(double *restrict y, const double *restrict in, size_t n) \
    { \
        for (size_t i = 0; i < n; i++) { \
            const double x = in[i]; \
            y[i] = truth; \
        } \
    }
#include "tests/maths.def"

void maths_pow_reference(double *restrict z, const double *restrict x, const double *restrict y, size_t n)
{
    for (size_t i = 0; i < n; i++) z[i] = pow(x[i], y[i]);
}
