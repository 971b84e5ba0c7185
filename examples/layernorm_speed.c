/* examples/layernorm_speed.c - six ways to write LayerNorm: the time and the error of each.
 *
 * Shows: the time of forward and backward for several sizes, and of RMSNorm, as ratios to the library's fused operator in the same round;
 *        the error of y and dx compared with double, for means of 1 to 1e6 deviations and for several epsilons; how much y changes with a
 *        divisor of N - 1, and with epsilon outside the root.
 * Run:   examples/layernorm_speed                    a few sizes
 *        examples/layernorm_speed --full             more sizes, more rounds, the whole grid of errors
 *        examples/layernorm_speed --rows 1792 --cols 512
 * The other ways are operators like the library's (examples/norms/norm_kernels.c), so that only the statistics differ. All use the same
 * threads and instruction set. --check tests the errors only, because times depend on the load of the machine.
 */
#include "examples/norms/norm.h"
#include "examples/kit/conclude.h"
#include "examples/kit/program.h"
#include "examples/kit/run.h"
#include "gradus.h"
#include <math.h>
#include <string.h>
#include <unistd.h>

static kit_options common = { .seed = 42 };
static struct {
    uint64_t rows, cols, rounds;
    bool quick, full;
} o;

static const kit_flag flag[] = {
    { "quick", KIT_SWITCH, &o.quick, NULL, "a few sizes; this is the default", 0, 0 },
    { "full", KIT_SWITCH, &o.full, NULL, "more sizes, rounds and epsilons; takes minutes", 0, 0 },
    { "rows", KIT_COUNT, &o.rows, "N", "time one size with N rows; 0 means several sizes, or 512 with --cols", 0, 1 << 20 },
    { "cols", KIT_COUNT, &o.cols, "N", "time one size with N values per row; 0 means several sizes, or 512 with --rows", 0, 1 << 20 },
    { "rounds", KIT_COUNT, &o.rounds, "N", "rounds of which the median is taken; 0 means 7, or 25 with --full", 0, 99 },
    KIT_FLAGS_RUN(common, "exit 1 unless the errors are within their limits"),
};
static const kit_flags flags = { "layernorm_speed", "six ways to write LayerNorm: time and error", flag, sizeof flag / sizeof *flag };

/* ---- Time ---- */

static const struct {
    size_t rows, N;
} sizes[] = { { 64, 128 }, { 128, 512 }, { 1792, 512 }, { 8192, 64 },  { 256, 4096 }, { 1, 512 },
              { 64, 512 }, { 512, 768 }, { 4096, 256 }, { 16384, 16 }, { 32, 65536 } };
enum { SIZES = sizeof sizes / sizeof *sizes, QUICK_SIZES = 5 };

static struct { size_t n; double of_fused[NORMS_WAYS][2 * SIZES]; } timed; /* a way's ratios, forward and backward of each size */

static void time_size(kit_run *r, size_t rows, size_t N, size_t rounds)
{
    norms_way_time time[NORMS_TIMED];
    if (!norms_way_times(r->tape, rows, N, rounds, time)) return;
    if (!common.quiet) printf("\n%-16s %10s %9s %6s %12s %9s %6s\n", "", "forward us", "x fused", "GB/s", "backward us", "x fused", "GB/s");
    for (int way = 0; way < NORMS_TIMED; way++) {
        const double f = time[way].seconds[0], k = time[way].seconds[1], bytes = (double)(rows * N * sizeof(gr_real));
        const double of_f = time[way].ratio[0], of_k = time[way].ratio[1];
        if (way < NORMS_WAYS) timed.of_fused[way][timed.n] = of_f, timed.of_fused[way][timed.n + 1] = of_k;
        char name[64];
        snprintf(name, sizeof name, "%zu x %zu", rows, N);
        if (!common.quiet)
            printf("%-16s %10.1f %9.2f %6.1f %12.1f %9.2f %6.1f  %s\n", way ? "" : name, 1e6 * f, of_f, 2e-9 * bytes / f, 1e6 * k, of_k,
                   4e-9 * bytes / k, norms_way_name[way]);
        kit_log_write(r->tape, &r->log, "time", { "way", .text = norms_way_name[way] }, { "rows", (double)rows }, { "cols", (double)N },
                      { "rounds", (double)rounds }, { "forward_s", f }, { "forward_ratio", of_f }, { "backward_s", k },
                      { "backward_ratio", of_k });
    }
    timed.n += 2;
    fflush(stdout);
}

static void times(kit_run *r)
{
    const size_t rounds = o.rounds ? o.rounds : o.full ? 25 : 7, n = o.full ? SIZES : QUICK_SIZES;
    if (!common.quiet) {
        putchar('\n');
        kit_wrap(stdout, 0, "Time: the median of %zu rounds. x fused: the median of the ratios to the fused operator in the same round. GB/s counts "
                 "reading x and writing y in forward; reading x, dy and dx and writing dx in backward, which adds to dx. On a terminal, the progress "
                 "line has the number of the size.", rounds);
    }
    if (o.rows || o.cols) time_size(r, o.rows ? o.rows : 512, o.cols ? o.cols : 512, rounds);
    else
        for (size_t k = 0; k < n && !kit_interrupted(); k++) {
            if (!common.quiet && isatty(2)) fprintf(stderr, "\rsize %zu of %zu", k + 1, n);
            time_size(r, sizes[k].rows, sizes[k].N, rounds);
        }
    if (!common.quiet && isatty(2)) fprintf(stderr, "\r%20s\r", "");
}

/* ---- Error ---- */

typedef struct {
    double ratio, sd, eps;
    norms_error of[NORMS_WAYS];
} rung; /* ratio is mean / sd; with sd 0 all values are 0.1 */

static void climb(kit_run *r, norms_rows *b, rung *g)
{
    norms_rows_fill(r->tape, b, g->sd > 0 ? g->ratio * g->sd : 0.1, g->sd);
    for (int way = 0; way < NORMS_WAYS && !gr_failed(r->tape); way++) {
        g->of[way] = norms_way_error(r->tape, (norms_way)way, b, g->eps);
        kit_log_write(r->tape, &r->log, "error", { "way", .text = norms_way_name[way] }, { "mean_over_sd", g->ratio }, { "sd", g->sd },
                      { "eps", g->eps }, { "y", g->of[way].y }, { "dx", g->of[way].dx });
    }
}

static void print_rungs(const rung *g, size_t n, bool by_eps, bool of_dx)
{
    if (common.quiet) return;
    printf("\n%-6s%12s", of_dx ? "dx" : "y", by_eps ? "eps" : "mean / sd");
    for (int way = 0; way < NORMS_WAYS; way++) printf(" %10s", norms_way_name[way]);
    for (size_t k = 0; k < n; k++) {
        if (!by_eps && g[k].sd == 0) printf("\n%18s", "equal values");
        else printf("\n%18.0e", by_eps ? g[k].eps : g[k].ratio);
        for (int way = 0; way < NORMS_WAYS; way++) printf(" %10.1e", of_dx ? g[k].of[way].dx : g[k].of[way].y);
    }
    printf("\n");
}

/* Check the errors for each mean / sd. x itself is rounded to float, which moves it by up to ratio * 2^-24 deviations; this is no error of a
 * way, because all ways and the exact values use the same rounded x. */
static void check_rungs(kit_run *r, const rung *g, size_t n)
{
    const double unit = sizeof(gr_real) == sizeof(float) ? 0x1p-24 : 0x1p-53;
    for (size_t k = 0; k < n; k++) {
        const norms_error fused = g[k].of[NORMS_WAY_FUSED], two = g[k].of[NORMS_WAY_TWO_PASS];
        kit_run_need(r, fused.y <= 64 * unit, "the fused y is off by %g at mean / sd %g", fused.y, g[k].ratio);
        kit_run_need(r, fused.dx <= 64 * unit, "the fused dx is off by %g at mean / sd %g", fused.dx, g[k].ratio);
        kit_run_need(r, fused.y <= fmax(two.y, 16 * unit), "at mean / sd %g the fused y is off by %g, two-pass by %g", g[k].ratio, fused.y,
                     two.y);
        if (g[k].ratio == 1)
            for (int way = 0; way < NORMS_WAYS; way++)
                kit_run_need(r, g[k].of[way].y <= 64 * unit, "%s is off by %g at mean / sd 1", norms_way_name[way], g[k].of[way].y);
        if (g[k].ratio == 1e4)
            kit_run_need(r, !(g[k].of[NORMS_WAY_ONE_PASS].y <= 1e4 * fused.y), "one-pass should fail at mean / sd 1e4, but its error is %g",
                         g[k].of[NORMS_WAY_ONE_PASS].y);
    }
}

static struct { bool done; rung at_1, at_1e4; double convention[3]; } found; /* for the conclusion */

static void ladders(kit_run *r)
{
    enum { RATIOS = 8, EPS = 12 };
    rung up[RATIOS], over[EPS];
    norms_rows b;
    if (!norms_rows_new(r->tape, &b, 64, 512)) norms_rows_free(r->tape, &b);
    if (gr_failed(r->tape)) return;
    if (!common.quiet) {
        putchar('\n');
        kit_wrap(stdout, 0, "Error: 64 x 512 values of deviation 1, eps 1e-5; the largest |y - exact|, the largest |dx - exact| relative to the largest "
                 "|dx|. nan means that the variance came out negative. The error that residual keeps is the rounding of its mean, which fused stores "
                 "in two parts.");
    }
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
        printf("%sat mean / sd 1e4 the error of y is %.1e fused, %.1e two-pass, %.1e one-pass\n", common.quiet ? "" : "\n",
               up[4].of[NORMS_WAY_FUSED].y, up[4].of[NORMS_WAY_TWO_PASS].y, up[4].of[NORMS_WAY_ONE_PASS].y);
    found.done = !gr_failed(r->tape), found.at_1 = up[0], found.at_1e4 = up[4];
    norms_rows_free(r->tape, &b);
}

/* ---- Conventions ---- */

/* Print the largest change of y for each convention, compared with N and eps inside the root. */
static void conventions(kit_run *r)
{
    static const size_t Ns[] = { 4, 16, 128, 1024 };
    static const double sds[] = { 1, 1e-2, 1e-3 };
    static const char *const name[] = { "N - 1, inside", "N, outside", "N - 1, outside" };
    if (!common.quiet)
        printf("\nConventions: the largest change of y in 256 rows, compared with N and eps inside the root; eps 1e-5.\n\n%-10s%8s",
               "deviation", "N");
    for (int k = 0; k < 3 && !common.quiet; k++) printf(" %15s", name[k]);
    for (int d = 0; d < 3; d++)
        for (int n = 0; n < 4 && !gr_failed(r->tape); n++) {
            norms_rows b;
            double change[3] = { 0 };
            if (norms_rows_new(r->tape, &b, 256, Ns[n])) norms_rows_fill(r->tape, &b, 0, sds[d]);
            gr_tape_reset(r->tape);
            gr_tensor *x = gr_input(r->tape, b.x, GR_SHAPE(b.rows, b.N)), *one = gr_ones(r->tape, GR_SHAPE(b.N)),
                      *zero = gr_zeros(r->tape, GR_SHAPE(b.N));
            const gr_tensor *ours = norms_way_norm(r->tape, NORMS_WAY_FUSED, x, one, zero, 1e-5);
            for (int k = 0; k < 3; k++) {
                const norms_layer_norm_kind kind = { .way = NORMS_RESIDUAL, .eps = 1e-5, .unbiased = k != 1, .outside = k > 0 };
                const gr_tensor *y = norms_layer_norm(r->tape, x, one, zero, &kind);
                for (size_t i = 0; y && i < y->len; i++) change[k] = fmax(change[k], fabs((double)(y->data[i] - ours->data[i])));
                found.convention[k] = fmax(found.convention[k], change[k]);
                kit_log_write(r->tape, &r->log, "convention", { "name", .text = name[k] }, { "sd", sds[d] }, { "cols", (double)b.N },
                              { "change", change[k] });
            }
            if (!common.quiet) printf("\n%-10g%8zu %15.4f %15.4f %15.4f", sds[d], Ns[n], change[0], change[1], change[2]);
            norms_rows_free(r->tape, &b);
        }
    if (!common.quiet) printf("\n");
}

/* ---- What to see ---- */

static void conclude_time(void)
{
    double slowest[NORMS_WAYS] = { 0 };
    size_t ahead = 0, behind = 0;
    kit_list worst = { 0 };
    for (size_t i = 0; i < timed.n; i++) {
        double least = HUGE_VAL;
        for (int way = 1; way < NORMS_WAYS; way++) {
            least = fmin(least, timed.of_fused[way][i]);
            slowest[way] = fmax(slowest[way], timed.of_fused[way][i]);
        }
        ahead += least > KIT_SURE_TIME, behind += least < 1 / KIT_SURE_TIME;
    }
    const size_t last = kit_largest(&worst, slowest, norms_way_name, NORMS_WAYS, 3);
    kit_conclude_say("Time: in %zu measurements (forward and backward of %zu size%s) fused is faster than every other way in %zu, and slower than one in "
                     "%zu; a factor below %g does not count. The longest time is %.3g times that of fused (%s).", timed.n, timed.n / 2,
                     timed.n == 2 ? "" : "s", ahead, behind, KIT_SURE_TIME, slowest[last], worst.text);
}

static void conclude_error(void)
{
    double y[NORMS_WAYS], y1[NORMS_WAYS]; /* negative errors where the mean is 1e4 deviations; errors where it is 1 */
    kit_list best = { 0 }, next = { 0 }, most = { 0 }, lost = { 0 };
    for (int way = 0; way < NORMS_WAYS; way++) {
        y[way] = -found.at_1e4.of[way].y, y1[way] = found.at_1.of[way].y;
        if (isnan(y[way])) kit_list_add(&lost, "%s", norms_way_name[way]);
    }
    const size_t worst = kit_largest(&most, y1, norms_way_name, NORMS_WAYS, 2), first = kit_largest(&best, y, norms_way_name, NORMS_WAYS, 2);
    if (worst < NORMS_WAYS) kit_conclude_say("Error: where the mean is 1 deviation, the largest error of y is %.1e (%s).", y1[worst], most.text);
    if (first == NORMS_WAYS) return;
    const double least = -y[first];
    y[first] = NAN;
    const size_t second = kit_largest(&next, y, norms_way_name, NORMS_WAYS, 2);
    if (second == NORMS_WAYS) return;
    kit_conclude_say("Error: where the mean is 1e4 deviations, the smallest error of y is %.1e (%s), and the next is %.1e (%s), %.0f times as much.%s%s%s",
                     least, best.text, -y[second], next.text, -y[second] / least, lost.n ? " With " : "", lost.text,
                     lost.n ? " the variance is negative, and y is nan." : "");
}

static void conclude(void)
{
    kit_conclude();
    if (timed.n) conclude_time();
    if (!found.done) return;
    conclude_error();
    kit_conclude_say("Conventions: dividing by N - 1 changes y by up to %.2g, epsilon outside the root by up to %.2g, and the two together by up to %.2g. "
                     "So weights that were trained with one convention give other results with another.", found.convention[0], found.convention[1],
                     found.convention[2]);
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
        if (!common.quiet && !kit_interrupted() && !gr_failed(r.tape)) conclude();
    }
    return kit_run_end(&r);
}
