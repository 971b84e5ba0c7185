/* examples/norms/norm.h - LayerNorm over the last axis in the ways in which it is also written, as operators of their own on the tape, with
 * the idiom of the library's kernels, its chunks, threads and backward, so that only the statistics differ. For comparing: the library has
 * the one that is right. */
#ifndef NORMS_H
#define NORMS_H
#include "core/tensor.h"

typedef enum {
    NORMS_ONE_PASS, /* mean(x^2) - mean(x)^2: one walk over x, and nothing left where the mean is large */
    NORMS_TWO_PASS, /* mean((x - mean)^2) */
    NORMS_WELFORD,  /* Welford 1962: both at once, updated value by value; 16 of them side by side, merged as in Chan et al. 1983 */
    NORMS_RESIDUAL, /* two passes, and what the mean's rounding leaves, mean(x - mean), taken out of both */
    NORMS_STATISTICS,
} norms_statistics;

typedef struct {
    norms_statistics way;
    double eps;
    bool outside;  /* sigma = sqrt(var) + eps instead of sqrt(var + eps) */
    bool unbiased; /* the variance divided by N - 1 instead of N */
} norms_layer_norm_kind;

/* y = gamma * (x - mean) / sigma + beta.   x [.., N], not empty   gamma, beta [N]. config is copied. */
gr_tensor *norms_layer_norm(gr_tape *t, gr_tensor *x, gr_tensor *gamma, gr_tensor *beta, const norms_layer_norm_kind *kind);

/* ---- All ways side by side: the library's two, and those above ---- */

typedef enum {
    NORMS_WAY_FUSED, NORMS_WAY_COMPOSED, NORMS_WAY_ONE_PASS, NORMS_WAY_TWO_PASS, NORMS_WAY_WELFORD, NORMS_WAY_RESIDUAL,
    NORMS_WAYS,
    NORMS_WAY_RMS = NORMS_WAYS, /* not LayerNorm, but RMSNorm, with gamma alone: for its time */
    NORMS_TIMED,
} norms_way;
extern const char *const norms_way_name[NORMS_TIMED];
gr_tensor *norms_way_norm(gr_tape *t, norms_way way, gr_tensor *x, gr_tensor *gamma, gr_tensor *beta, double eps);

/* rows x N values to normalize, and what comes back from above: memory of t's allocator. False with an error on t. */
typedef struct { size_t rows, N; gr_real *x, *dy; } norms_rows;
bool norms_rows_new(gr_tape *t, norms_rows *b, size_t rows, size_t N);
void norms_rows_free(gr_tape *t, norms_rows *b);
void norms_rows_fill(gr_tape *t, norms_rows *b, double mean, double sd); /* normal values; sd 0: equal ones */

/* One forward and one backward with gamma 1 and beta 0; t is reset first. */
typedef struct { const gr_tensor *y; const gr_real *dx; double seconds[2]; } norms_way_run;
norms_way_run norms_way_once(gr_tape *t, norms_way way, const norms_rows *b, double eps);

/* The largest |y - exact| and |dx - exact|, the latter beside the largest |dx|, against one more precision (double; long double in the
 * double build); NaN when a value is not finite. */
typedef struct { double y, dx; } norms_error;
norms_error norms_way_error(gr_tape *t, norms_way way, const norms_rows *b, double eps);

/* Forward and backward: medians over rounds, NORMS_ROUNDS at most, in each of which every way takes its turn, another one first; a turn is
 * the best of some calls. Ratios are to the fused one in the same round. False on an error or Ctrl-C. */
enum { NORMS_ROUNDS = 99 };
typedef struct { double seconds[2], ratio[2]; } norms_way_time;
bool norms_way_times(gr_tape *t, size_t rows, size_t N, size_t rounds, norms_way_time time[NORMS_TIMED]);

#endif
