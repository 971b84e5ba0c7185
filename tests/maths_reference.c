/* tests/maths_reference.c - double references in plain loops. There are 2^32 floats to check, so the Makefile compiles this file, and no
 * other, to call the C library's vector functions where it can. Their error is at most 4 double ulp, and they need finite arguments and
 * results. */
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
