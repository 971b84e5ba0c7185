/* examples/layernorm_speed.c - LayerNorm written in six ways: how fast each is, and how wrong.
 *
 * Shows: time forward and backward over sizes, as ratios to the library's fused operator of the same round; the error of y and dx against
 *        double where the mean is 1 to 1e6 deviations, and over epsilon; what N - 1, and epsilon outside the root, change.
 * Run:   examples/layernorm_speed                    half a minute
 *        examples/layernorm_speed --full             more sizes, more rounds, the whole grid of errors
 *        examples/layernorm_speed --rows 1792 --cols 512
 * The other ways are in examples/kit/kit_norm_kernels.c, as operators of the same make: only the statistics differ. All run on the same
 * threads and instruction set. --check looks at errors only: times depend on what else the machine does.
 */
#include "examples/kit/kit_norm.h"
#include "examples/kit/kit_program.h"
#include "examples/kit/kit_run.h"
#include "gradus.h"
#include "ops/composed.h"
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

static kit_options common = { .seed = 42 };
static struct {
    uint64_t rows, cols, rounds;
    bool quick, full;
} o;

static const kit_flag flag[] = {
    { "quick", KIT_SWITCH, &o.quick, NULL, "a few sizes (as without it)", 0, 0 },
    { "full", KIT_SWITCH, &o.full, NULL, "more sizes, rounds and rungs: minutes", 0, 0 },
    { "rows", KIT_COUNT, &o.rows, "N", "time this size only; 0: several (with --cols alone 512)", 0, 1 << 20 },
    { "cols", KIT_COUNT, &o.cols, "N", "values in a row; 0: several (with --rows alone 512)", 0, 1 << 20 },
    { "rounds", KIT_COUNT, &o.rounds, "N", "rounds to take the median of; 0: 7, and 25 in full", 0, 99 },
    KIT_FLAGS_RUN(common, "exit 1 unless the errors are as they must be"),
};
static const kit_flags flags = { "layernorm_speed", "LayerNorm in six ways: time and error", flag, sizeof flag / sizeof *flag };

/* ---- The ways ---- */

enum { FUSED, COMPOSED, ONE_PASS, TWO_PASS, WELFORD, RESIDUAL, WAYS };
static const char *const way_name[WAYS] = { "fused", "composed", "one-pass", "two-pass", "Welford", "residual" };

static gr_tensor *norm(gr_tape *t, int way, gr_tensor *x, gr_tensor *gamma, gr_tensor *beta, double eps)
{
    if (way == FUSED) return gr_layer_norm(t, x, 1, gamma, beta, eps);
    if (way == COMPOSED) return gr_layer_norm_composed(t, x, 1, gamma, beta, eps);
    return kit_norm(t, x, gamma, beta, &(kit_norm_kind){ .way = (kit_norm_way)(way - ONE_PASS), .eps = eps });
}

/* rows x N values to normalize, and what comes back from above. */
typedef struct {
    size_t rows, N;
    gr_real *x, *dy;
} batch;

static bool batch_new(gr_tape *t, batch *b, size_t rows, size_t N)
{
    *b = (batch){ rows, N, malloc(rows * N * sizeof *b->x), malloc(rows * N * sizeof *b->x) };
    if (!b->x || !b->dy) gr_fail_as(t, GR_NO_MEMORY, "", "out of memory for %zu x %zu values", rows, N);
    return b->x && b->dy;
}
static void batch_free(batch *b) { free(b->x), free(b->dy); }

/* sd 0: equal values. */
static void batch_fill(gr_tape *t, batch *b, double mean, double sd)
{
    gr_stream values = gr_stream_new(gr_tape_seed(t), "x"), above = gr_stream_new(gr_tape_seed(t), "dy");
    for (size_t i = 0; i < b->rows * b->N; i++) {
        b->x[i] = (gr_real)(sd > 0 ? gr_stream_normal(&values, mean, sd) : mean);
        b->dy[i] = (gr_real)gr_stream_normal(&above, 0, 1);
    }
}

/* One forward and one backward; the seconds of each are put into s. */
static gr_tensor *run(gr_tape *t, int way, const batch *b, double eps, gr_tensor **x, double s[2])
{
    gr_tape_reset(t);
    *x = gr_want_grad(t, gr_input(t, b->x, GR_SHAPE(b->rows, b->N)));
    gr_tensor *gamma = gr_want_grad(t, gr_ones(t, GR_SHAPE(b->N))), *beta = gr_want_grad(t, gr_zeros(t, GR_SHAPE(b->N)));
    const double start = kit_seconds();
    gr_tensor *y = norm(t, way, *x, gamma, beta, eps);
    const double between = kit_seconds();
    gr_backward_from(t, y, b->dy);
    s[0] = between - start, s[1] = kit_seconds() - between;
    return gr_failed(t) ? NULL : y;
}

/* ---- Time ---- */

enum { ROUNDS = 99 };
static const struct {
    size_t rows, N;
} sizes[] = { { 64, 128 }, { 128, 512 }, { 1792, 512 }, { 8192, 64 },  { 256, 4096 }, { 1, 512 },
              { 64, 512 }, { 512, 768 }, { 4096, 256 }, { 16384, 16 }, { 32, 65536 } };
enum { SIZES = sizeof sizes / sizeof *sizes, QUICK_SIZES = 5 };

static int by_size(const void *a, const void *b)
{
    return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}
static double median(const double *v, size_t n)
{
    double sorted[ROUNDS];
    for (size_t i = 0; i < n; i++) sorted[i] = v[i];
    qsort(sorted, n, sizeof *sorted, by_size);
    return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

/* In each round every way takes its turn, the first another one each time; a turn is the best of some calls. Ratios are within a round. */
static void time_size(kit_run *r, size_t rows, size_t N, size_t rounds)
{
    static double s[WAYS][2][ROUNDS], ratio[WAYS][2][ROUNDS];
    const size_t calls = rows * N > 1 << 20 ? 2 : rows * N < 1 << 13 ? 256 : (1 << 21) / (rows * N);
    batch b;
    gr_tensor *x;
    if (batch_new(r->tape, &b, rows, N)) batch_fill(r->tape, &b, 0.5, 1);
    for (size_t round = 0; round < rounds && !gr_failed(r->tape) && !kit_interrupted(); round++) {
        for (size_t turn = 0; turn < WAYS; turn++) {
            const size_t way = (turn + round) % WAYS;
            double best[2] = { HUGE_VAL, HUGE_VAL }, once[2];
            for (size_t call = 0; call <= calls && run(r->tape, (int)way, &b, 1e-5, &x, once); call++)
                for (int back = 0; back < 2 && call; back++) best[back] = fmin(best[back], once[back]);
            s[way][0][round] = best[0], s[way][1][round] = best[1];
        }
        for (int way = 0; way < WAYS; way++)
            for (int back = 0; back < 2; back++) ratio[way][back][round] = s[way][back][round] / s[FUSED][back][round];
    }
    batch_free(&b);
    if (gr_failed(r->tape) || kit_interrupted()) return;

    if (!common.quiet) printf("\n%-16s %10s %9s %6s %12s %9s %6s\n", "", "forward us", "x fused", "GB/s", "backward us", "x fused", "GB/s");
    for (int way = 0; way < WAYS; way++) {
        const double f = median(s[way][0], rounds), k = median(s[way][1], rounds), bytes = (double)(rows * N * sizeof(gr_real));
        const double of_f = median(ratio[way][0], rounds), of_k = median(ratio[way][1], rounds);
        char name[64];
        snprintf(name, sizeof name, "%zu x %zu", rows, N);
        if (!common.quiet)
            printf("%-16s %10.1f %9.2f %6.1f %12.1f %9.2f %6.1f  %s\n", way ? "" : name, 1e6 * f, of_f, 2e-9 * bytes / f, 1e6 * k, of_k,
                   4e-9 * bytes / k, way_name[way]);
        kit_log_write(r->tape, &r->log, "time", { "way", .text = way_name[way] }, { "rows", (double)rows }, { "cols", (double)N },
                      { "rounds", (double)rounds }, { "forward_s", f }, { "forward_ratio", of_f }, { "backward_s", k },
                      { "backward_ratio", of_k });
    }
    fflush(stdout);
}

static void times(kit_run *r)
{
    const size_t rounds = o.rounds ? o.rounds : o.full ? 25 : 7, n = o.full ? SIZES : QUICK_SIZES;
    if (!common.quiet)
        printf("\nTime: medians of %zu rounds, and of the ratios to the fused one in the same round. GB/s: x read and y written; x and dy "
               "read,\n"
               "dx read and written (it is added to).\n",
               rounds);
    if (o.rows || o.cols) time_size(r, o.rows ? o.rows : 512, o.cols ? o.cols : 512, rounds);
    else
        for (size_t k = 0; k < n && !kit_interrupted(); k++) {
            if (!common.quiet && isatty(2)) fprintf(stderr, "\rsize %zu of %zu", k + 1, n);
            time_size(r, sizes[k].rows, sizes[k].N, rounds);
        }
    if (!common.quiet && isatty(2)) fprintf(stderr, "\r%20s\r", "");
}

/* ---- Error ---- */

#ifdef GR_REAL_DOUBLE
typedef long double exact;
#define exact_sqrt sqrtl
#else
typedef double exact;
#define exact_sqrt sqrt
#endif

/* The largest |y - exact| and |dx - exact|, the latter beside the largest |dx|; NaN when a value is not finite. */
typedef struct {
    double y, dx;
} errors;

static errors errors_of(const batch *b, const gr_real *y, const gr_real *dx, double eps)
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
    return finite ? (errors){ of_y, most > 0 ? of_dx / most : of_dx } : (errors){ NAN, NAN };
}

static errors error_of(kit_run *r, int way, const batch *b, double eps)
{
    double s[2];
    gr_tensor *x, *y = run(r->tape, way, b, eps, &x, s);
    return y ? errors_of(b, y->data, gr_grad(r->tape, x), eps) : (errors){ NAN, NAN };
}

typedef struct {
    double ratio, sd, eps;
    errors of[WAYS];
} rung; /* ratio: mean / sd; sd 0: equal values of 0.1 */

static void climb(kit_run *r, batch *b, rung *g)
{
    batch_fill(r->tape, b, g->sd > 0 ? g->ratio * g->sd : 0.1, g->sd);
    for (int way = 0; way < WAYS && !gr_failed(r->tape); way++) {
        g->of[way] = error_of(r, way, b, g->eps);
        kit_log_write(r->tape, &r->log, "error", { "way", .text = way_name[way] }, { "mean_over_sd", g->ratio }, { "sd", g->sd },
                      { "eps", g->eps }, { "y", g->of[way].y }, { "dx", g->of[way].dx });
    }
}

static void print_rungs(const rung *g, size_t n, bool by_eps, bool of_dx)
{
    if (common.quiet) return;
    printf("\n%-6s%12s", of_dx ? "dx" : "y", by_eps ? "eps" : "mean / sd");
    for (int way = 0; way < WAYS; way++) printf(" %10s", way_name[way]);
    for (size_t k = 0; k < n; k++) {
        if (!by_eps && g[k].sd == 0) printf("\n%18s", "equal values");
        else printf("\n%18.0e", by_eps ? g[k].eps : g[k].ratio);
        for (int way = 0; way < WAYS; way++) printf(" %10.1e", of_dx ? g[k].of[way].dx : g[k].of[way].y);
    }
    printf("\n");
}

/* What must hold of the ladder over mean / sd. A float holds 2^-24 of a number, so that x itself is given to ratio * 2^-24 deviations; all
 * ways get the same x. */
static void check_rungs(kit_run *r, const rung *g, size_t n)
{
    const double unit = sizeof(gr_real) == sizeof(float) ? 0x1p-24 : 0x1p-53;
    for (size_t k = 0; k < n; k++) {
        const errors fused = g[k].of[FUSED], two = g[k].of[TWO_PASS];
        kit_run_need(r, fused.y <= 64 * unit, "the fused y is off by %g at mean / sd %g", fused.y, g[k].ratio);
        kit_run_need(r, fused.dx <= 64 * unit, "the fused dx is off by %g at mean / sd %g", fused.dx, g[k].ratio);
        kit_run_need(r, fused.y <= fmax(two.y, 16 * unit), "at mean / sd %g the fused y is off by %g, two-pass by %g", g[k].ratio, fused.y,
                     two.y);
        if (g[k].ratio == 1)
            for (int way = 0; way < WAYS; way++)
                kit_run_need(r, g[k].of[way].y <= 64 * unit, "%s is off by %g at mean / sd 1", way_name[way], g[k].of[way].y);
        if (g[k].ratio == 1e4)
            kit_run_need(r, !(g[k].of[ONE_PASS].y <= 1e4 * fused.y), "one-pass should fail at mean / sd 1e4, and is off by %g",
                         g[k].of[ONE_PASS].y);
    }
}

static void ladders(kit_run *r)
{
    enum { RATIOS = 8, EPS = 12 };
    rung up[RATIOS], over[EPS];
    batch b;
    if (!batch_new(r->tape, &b, 64, 512)) batch_free(&b);
    if (gr_failed(r->tape)) return;
    if (!common.quiet)
        printf("\nError: 64 x 512 values of deviation 1, eps 1e-5; the largest |y - exact|, and of dx beside the largest |dx|. nan: a "
               "variance\n"
               "below 0. What remains of residual's is the rounding of the mean it keeps, where fused keeps two parts of it.\n");
    for (int k = 0; k < RATIOS && !gr_failed(r->tape); k++) {
        up[k] = (rung){ .ratio = k < 7 ? pow(10, k) : 0, .sd = k < 7, .eps = 1e-5 };
        climb(r, &b, &up[k]);
    }
    if (!gr_failed(r->tape)) print_rungs(up, RATIOS, false, false), print_rungs(up, RATIOS, false, true), check_rungs(r, up, RATIOS);

    for (int ratio = 2; ratio <= (o.full ? 6 : 2) && !gr_failed(r->tape) && !kit_interrupted(); ratio++) {
        if (!common.quiet) printf("\nDeviation 2^-10, variance 1e-6, mean %g times the deviation.\n", pow(10, ratio));
        for (int k = 0; k < EPS; k++)
            over[k] = (rung){ .ratio = pow(10, ratio), .sd = 0x1p-10, .eps = pow(10, k - EPS) }, climb(r, &b, &over[k]);
        if (!gr_failed(r->tape)) print_rungs(over, EPS, true, false);
    }
    if (!gr_failed(r->tape))
        printf("%sat mean / sd 1e4 y is off by %.1e fused, %.1e two-pass, %.1e one-pass\n", common.quiet ? "" : "\n", up[4].of[FUSED].y,
               up[4].of[TWO_PASS].y, up[4].of[ONE_PASS].y);
    batch_free(&b);
}

/* ---- Conventions ---- */

/* The largest change of y against N and eps inside. */
static void conventions(kit_run *r)
{
    static const size_t Ns[] = { 4, 16, 128, 1024 };
    static const double sds[] = { 1, 1e-2, 1e-3 };
    static const char *const name[] = { "N - 1, inside", "N, outside", "N - 1, outside" };
    if (!common.quiet)
        printf("\nConventions: the largest change of y, of 256 rows, against N and eps inside the root, eps 1e-5.\n\n%-10s%8s", "deviation",
               "N");
    for (int k = 0; k < 3 && !common.quiet; k++) printf(" %15s", name[k]);
    for (int d = 0; d < 3; d++)
        for (int n = 0; n < 4 && !gr_failed(r->tape); n++) {
            batch b;
            double change[3] = { 0 };
            if (batch_new(r->tape, &b, 256, Ns[n])) batch_fill(r->tape, &b, 0, sds[d]);
            gr_tape_reset(r->tape);
            gr_tensor *x = gr_input(r->tape, b.x, GR_SHAPE(b.rows, b.N)), *one = gr_ones(r->tape, GR_SHAPE(b.N)),
                      *zero = gr_zeros(r->tape, GR_SHAPE(b.N));
            const gr_tensor *ours = norm(r->tape, FUSED, x, one, zero, 1e-5);
            for (int k = 0; k < 3; k++) {
                const kit_norm_kind kind = { .way = KIT_NORM_RESIDUAL, .eps = 1e-5, .unbiased = k != 1, .outside = k > 0 };
                const gr_tensor *y = kit_norm(r->tape, x, one, zero, &kind);
                for (size_t i = 0; y && i < y->len; i++) change[k] = fmax(change[k], fabs((double)(y->data[i] - ours->data[i])));
                kit_log_write(r->tape, &r->log, "convention", { "name", .text = name[k] }, { "sd", sds[d] }, { "cols", (double)b.N },
                              { "change", change[k] });
            }
            if (!common.quiet) printf("\n%-10g%8zu %15.4f %15.4f %15.4f", sds[d], Ns[n], change[0], change[1], change[2]);
            batch_free(&b);
        }
    if (!common.quiet) printf("\n");
}

int main(int argc, char **argv)
{
    kit_run r;
    const int code = kit_run_start(&r, &flags, &common, argc, argv);
    if (code != KIT_GO_ON) return code;
    if (o.quick && o.full) gr_fail_as(r.tape, GR_MISUSE, "", "--quick and --full exclude each other");
    if (kit_run_begin(&r, "normal values")) {
        times(&r);
        if (!kit_interrupted()) ladders(&r);
        if (!kit_interrupted()) conventions(&r);
    }
    return kit_run_end(&r);
}
