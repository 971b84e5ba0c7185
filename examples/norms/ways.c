/* examples/norms/ways.c - time and error of LayerNorm in six ways, and the time of RMSNorm. */
#include "examples/composed/composed.h"
#include "examples/norms/norm.h"
#include "examples/kit/program.h"
#include <math.h>
#include <stdlib.h>

const char *const norms_way_name[NORMS_TIMED] = { "fused", "composed", "one-pass", "two-pass", "Welford", "residual", "RMSNorm" };

gr_tensor *norms_way_norm(gr_tape *t, norms_way way, gr_tensor *x, gr_tensor *gamma, gr_tensor *beta, double eps)
{
    if (way == NORMS_WAY_FUSED) return gr_layer_norm(t, x, 1, gamma, beta, norms_eps(eps));
    if (way == NORMS_WAY_RMS) return gr_rms_norm(t, x, 1, gamma, norms_eps(eps));
    if (way == NORMS_WAY_COMPOSED) return composed_layer_norm(t, x, 1, gamma, beta, norms_eps(eps));
    return norms_layer_norm(t, x, gamma, beta, &(norms_layer_norm_kind){ .way = (norms_statistics)(way - NORMS_WAY_ONE_PASS), .eps = eps });
}

bool norms_rows_new(gr_tape *t, norms_rows *b, size_t rows, size_t N)
{
    const gr_allocator *const memory = gr_tape_allocator(t);
    *b = (norms_rows){ .rows = rows, .N = N };
    if (gr_failed(t)) return false;
    b->x = gr_memory_new(memory, rows * N * sizeof *b->x), b->dy = gr_memory_new(memory, rows * N * sizeof *b->dy);
    if (!b->x || !b->dy) gr_fail_as(t, GR_NO_MEMORY, "", "out of memory for %zu x %zu values", rows, N);
    return b->x && b->dy;
}

void norms_rows_free(gr_tape *t, norms_rows *b)
{
    gr_memory_free(gr_tape_allocator(t), b->x, b->rows * b->N * sizeof *b->x);
    gr_memory_free(gr_tape_allocator(t), b->dy, b->rows * b->N * sizeof *b->dy);
}

void norms_rows_fill(gr_tape *t, norms_rows *b, double mean, double sd)
{
    gr_stream values = gr_stream_new(gr_tape_seed(t), "x"), above = gr_stream_new(gr_tape_seed(t), "dy");
    for (size_t i = 0; i < b->rows * b->N; i++) {
        b->x[i] = (gr_real)(sd > 0 ? gr_stream_normal(&values, mean, sd) : mean);
        b->dy[i] = (gr_real)gr_stream_normal(&above, 0, 1);
    }
}

norms_way_run norms_way_once(gr_tape *t, norms_way way, const norms_rows *b, double eps)
{
    gr_tape_reset(t);
    gr_tensor *x = gr_want_grad(t, gr_input(t, b->x, GR_SHAPE(b->rows, b->N)));
    gr_tensor *gamma = gr_want_grad(t, gr_ones(t, GR_SHAPE(b->N))), *beta = gr_want_grad(t, gr_zeros(t, GR_SHAPE(b->N)));
    const double start = kit_seconds();
    gr_tensor *y = norms_way_norm(t, way, x, gamma, beta, eps);
    const double between = kit_seconds();
    if (!gr_backward_from(t, y, b->dy)) return (norms_way_run){ 0 };
    return (norms_way_run){ y, gr_grad(t, x), { between - start, kit_seconds() - between } };
}

/* ---- Error ---- */

#ifdef GR_REAL_DOUBLE
typedef long double exact;
#define exact_sqrt sqrtl
#else
typedef double exact;
#define exact_sqrt sqrt
#endif

static norms_error error_of(const norms_rows *b, const gr_real *y, const gr_real *dx, double eps)
{
    const exact n = (exact)b->N;
    double of_y = 0, of_dx = 0, most = 0;
    bool finite = true;
    for (size_t r = 0; r < b->rows; r++) {
        const gr_real *const x = b->x + r * b->N, *const dy = b->dy + r * b->N;
        exact mean = 0, var = 0, g = 0, gx = 0;
        for (size_t i = 0; i < b->N; i++) mean += ((exact)x[i] - (exact)x[0]) / n, g += (exact)dy[i] / n;
        mean += (exact)x[0];
        for (size_t i = 0; i < b->N; i++) var += ((exact)x[i] - mean) * ((exact)x[i] - mean) / n;
        const exact rstd = var + (exact)eps > 0 ? 1 / exact_sqrt(var + (exact)eps) : 0;
        for (size_t i = 0; i < b->N; i++) gx += (exact)dy[i] * ((exact)x[i] - mean) * rstd / n;
        for (size_t i = 0; i < b->N; i++) {
            const exact xhat = ((exact)x[i] - mean) * rstd, d = rstd * ((exact)dy[i] - g - xhat * gx);
            of_y = fmax(of_y, fabs((double)((exact)y[r * b->N + i] - xhat)));
            of_dx = fmax(of_dx, fabs((double)((exact)dx[r * b->N + i] - d))), most = fmax(most, fabs((double)d));
            finite &= isfinite(y[r * b->N + i]) && isfinite(dx[r * b->N + i]);
        }
    }
    return finite ? (norms_error){ of_y, most > 0 ? of_dx / most : of_dx } : (norms_error){ (double)NAN, (double)NAN };
}

norms_error norms_way_error(gr_tape *t, norms_way way, const norms_rows *b, double eps)
{
    const norms_way_run run = norms_way_once(t, way, b, eps);
    return run.y ? error_of(b, run.y->data, run.dx, eps) : (norms_error){ (double)NAN, (double)NAN };
}

/* ---- Time ---- */

static int by_size(const void *a, const void *b)
{
    return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}
static double median(const double *v, size_t n)
{
    double sorted[NORMS_ROUNDS];
    for (size_t i = 0; i < n; i++) sorted[i] = v[i];
    qsort(sorted, n, sizeof *sorted, by_size);
    return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

bool norms_way_times(gr_tape *t, size_t rows, size_t N, size_t rounds, norms_way_time time[NORMS_TIMED])
{
    double s[NORMS_TIMED][2][NORMS_ROUNDS], ratio[NORMS_TIMED][2][NORMS_ROUNDS];
    const size_t calls = rows * N > 1 << 20 ? 2 : rows * N < 1 << 13 ? 256 : (1 << 21) / (rows * N);
    norms_rows b;
    if (norms_rows_new(t, &b, rows, N)) norms_rows_fill(t, &b, 0.5, 1);
    for (size_t round = 0; round < rounds && !gr_failed(t) && !kit_interrupted(); round++) {
        for (size_t turn = 0; turn < NORMS_TIMED; turn++) {
            const size_t way = (turn + round) % NORMS_TIMED;
            double best[2] = { HUGE_VAL, HUGE_VAL };
            for (size_t call = 0; call <= calls && !gr_failed(t); call++) {
                const norms_way_run once = norms_way_once(t, (norms_way)way, &b, 1e-5);
                for (int back = 0; back < 2 && call; back++) best[back] = fmin(best[back], once.seconds[back]);
            }
            s[way][0][round] = best[0], s[way][1][round] = best[1];
        }
        for (int way = 0; way < NORMS_TIMED; way++)
            for (int back = 0; back < 2; back++) ratio[way][back][round] = s[way][back][round] / s[NORMS_WAY_FUSED][back][round];
    }
    norms_rows_free(t, &b);
    if (gr_failed(t) || kit_interrupted()) return false;
    for (int way = 0; way < NORMS_TIMED; way++)
        for (int back = 0; back < 2; back++)
            time[way].seconds[back] = median(s[way][back], rounds), time[way].ratio[back] = median(ratio[way][back], rounds);
    return true;
}
