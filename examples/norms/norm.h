/* examples/norms/norm.h - other ways to write LayerNorm over the last axis, for comparison with the library's. Each is an operator with
 * kernels, chunks, threads and a backward like the library's, so that only the statistics differ. */
#ifndef NORMS_H
#define NORMS_H
#include "core/tape.h"
#include "core/tensor.h"

/* The library's word for an epsilon: these programs take 0 as no epsilon, the operators as the default. */
static inline double norms_eps(double eps) { return eps > 0 ? eps : GR_NONE; }

typedef enum {
    NORMS_ONE_PASS, /* mean(x^2) - mean(x)^2: reads x once, but loses all digits where the mean is large */
    NORMS_TWO_PASS, /* mean((x - mean)^2) */
    NORMS_WELFORD,  /* Welford 1962: updates mean and variance with each value; 16 lanes, merged as in Chan et al. 1983 */
    NORMS_RESIDUAL, /* two passes, then the mean's rounding error, mean(x - mean), is subtracted from both */
    NORMS_STATISTICS,
} norms_statistics;

typedef struct {
    norms_statistics way;
    double eps;
    bool outside;  /* sigma = sqrt(var) + eps instead of sqrt(var + eps) */
    bool unbiased; /* divide the variance by N - 1 instead of N */
} norms_layer_norm_kind;

/* y = gamma * (x - mean) / sigma + beta.   x [.., N], not empty   gamma, beta [N]. config is copied. */
gr_tensor *norms_layer_norm(gr_tape *t, gr_tensor *x, gr_tensor *gamma, gr_tensor *beta, const norms_layer_norm_kind *kind);

/* ---- All ways side by side: the library's fused operator, its composition from operators, and the ways above ---- */

typedef enum {
    NORMS_WAY_FUSED, NORMS_WAY_COMPOSED, NORMS_WAY_ONE_PASS, NORMS_WAY_TWO_PASS, NORMS_WAY_WELFORD, NORMS_WAY_RESIDUAL,
    NORMS_WAYS,
    NORMS_WAY_RMS = NORMS_WAYS, /* RMSNorm with gamma, to compare its time */
    NORMS_TIMED,
} norms_way;
extern const char *const norms_way_name[NORMS_TIMED];
gr_tensor *norms_way_norm(gr_tape *t, norms_way way, gr_tensor *x, gr_tensor *gamma, gr_tensor *beta, double eps);

/* rows x N values to normalize, and the gradient dy with respect to the output. norms_rows_new takes memory from t's allocator, and returns
 * false after an error, which is on t. */
typedef struct { size_t rows, N; gr_real *x, *dy; } norms_rows;
bool norms_rows_new(gr_tape *t, norms_rows *b, size_t rows, size_t N);
void norms_rows_free(gr_tape *t, norms_rows *b);
void norms_rows_fill(gr_tape *t, norms_rows *b, double mean, double sd); /* normal values; with sd 0 all values are equal */

/* Run one forward and one backward with gamma 1 and beta 0. It resets t first. */
typedef struct { const gr_tensor *y; const gr_real *dx; double seconds[2]; } norms_way_run;
norms_way_run norms_way_once(gr_tape *t, norms_way way, const norms_rows *b, double eps);

/* The largest |y - exact|, and the largest |dx - exact| relative to the largest |dx|. The exact values are calculated in double, or in long
 * double in the double build. NaN when a value is NaN or infinite. */
typedef struct { double y, dx; } norms_error;
norms_error norms_way_error(gr_tape *t, norms_way way, const norms_rows *b, double eps);

/* Time forward and backward of all ways. In each round every way has its turn, and another way goes first; a turn is the best of some calls.
 * The results are medians over the rounds (at most NORMS_ROUNDS); a ratio is to the fused operator's time in the same round. Returns false
 * after an error or Ctrl-C. */
enum { NORMS_ROUNDS = 99 };
typedef struct { double seconds[2], ratio[2]; } norms_way_time;
bool norms_way_times(gr_tape *t, size_t rows, size_t N, size_t rounds, norms_way_time time[NORMS_TIMED]);

#endif
