/* examples/dive/exact.h - mathematical statements that belong to no other figure. Each is measured in well under a second. */
#ifndef DIVE_EXACT_H
#define DIVE_EXACT_H
#include "examples/dive/dive.h"
#include "gradus.h"
#include <math.h>
#include <string.h>

enum { DIVE_VALUES = 3 };
typedef struct {
    const char *name;              /* the name of its record */
    void (*measure)(gr_tape *t, double v[DIVE_VALUES]); /* t is a new tape */
    const char *statement, *source;
    const char *format, *control;  /* printf format of the measured values; what they are compared with */
    struct { double low, high; bool roundings; } range[DIVE_VALUES]; /* bounds; roundings: high counts roundings (2^-24, in double 2^-53) */
    const char *draws;             /* how many random draws measure an expected value; NULL when the statement is exact */
} dive_exact;
typedef struct { const dive_exact *exact; size_t n; } dive_exact_list;
dive_exact_list dive_exact_layer(void); /* about LayerNorm */
dive_exact_list dive_exact_other(void); /* about other norms and activation functions */
dive_exact_list dive_exact_transformer(void); /* about Transformers before training */

/* |dL/dW2| of block number `block` (from 0) of n, for a cross-entropy of random labels, in the setting of the theorems of Xiong et al. 2020.
 * Resets t. NaN on an error. */
double dive_theorem_gradient(gr_tape *t, int n, int block, bool post);

/* The claims of the papers that the table does not judge, and why. */
enum { DIVE_MISSING = 6 };
extern const char *const dive_missing[DIVE_MISSING][3]; /* code, statement, reason */

/* ---- Numbers of tensors ---- */

static inline double largest(const gr_real *v, size_t n)
{
    double most = 0;
    for (size_t i = 0; v && i < n; i++) most = kit_larger(most, isnan(v[i]) ? HUGE_VAL : fabs((double)v[i]));
    return v ? most : HUGE_VAL;
}

/* max |a - b|, relative to the largest |b|. */
static inline double apart(const gr_real *a, const gr_real *b, size_t n)
{
    double most = 0;
    for (size_t i = 0; a && b && i < n; i++) most = kit_larger(most, isnan(a[i] - b[i]) ? HUGE_VAL : fabs((double)a[i] - (double)b[i]));
    return a && b && n ? most / largest(b, n) : HUGE_VAL;
}

static inline double other_bits(const gr_real *a, const gr_real *b, size_t n)
{
    size_t others = 0;
    for (size_t i = 0; i < n; i++) others += memcmp(a + i, b + i, sizeof *a) != 0;
    return (double)others;
}

static inline double dot(const gr_real *a, const gr_real *b, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += (double)a[i] * (b ? (double)b[i] : 1);
    return sum;
}
static inline double length(const gr_real *a, size_t n) { return sqrt(dot(a, a, n)); }

static inline void moments(const gr_real *v, size_t n, double *mean, double *var)
{
    *mean = dot(v, NULL, n) / (double)n, *var = 0;
    for (size_t i = 0; i < n; i++) *var += ((double)v[i] - *mean) * ((double)v[i] - *mean) / (double)n;
}

static inline gr_tensor *normal(gr_tape *t, size_t rows, size_t N, double mean, double std, const char *stream)
{
    return gr_want_grad(t, gr_randn(t, GR_SHAPE(rows, N), mean, std, stream));
}
static inline gr_tensor *layer_norm(gr_tape *t, gr_tensor *x, double eps) { return gr_layer_norm(t, x, 1, NULL, NULL, eps); }
static inline gr_tensor *batch_norm(gr_tape *t, gr_tensor *x) { return gr_batch_norm(t, x, 1, NULL, NULL, &(gr_batch_norm_config){ .eps = GR_NONE }); }

/* The gradient with respect to x of the sum of y times random numbers. */
static inline const gr_real *grad(gr_tape *t, gr_tensor *y, const gr_tensor *x)
{
    const gr_tensor *dy = y ? gr_randn(t, gr_shape_of(y), 0, 1, "dy") : NULL;
    return dy && gr_backward_from(t, y, dy->data) ? gr_grad(t, x) : NULL;
}

#endif
