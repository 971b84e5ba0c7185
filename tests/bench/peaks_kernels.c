/* tests/bench/peaks_kernels.c - what the machine can do: FMA arithmetic, and bandwidth by the size of the working set. */
#include "core/kernel.h"
#include "core/op.h"
#include "core/simd.h"
#include "tests/bench/bench.h"
#include <stdlib.h>

enum { ACCUMULATORS = 12 };

/* times rounds of ACCUMULATORS independent multiply-adds of R_WIDTH lanes each; returns the flop done */
KERNEL(double, peak_fma, size_t times, gr_real *out)
{
    r_vec sum[ACCUMULATORS];
    const r_vec a = v_set(R(0.999)), b = v_set(R(0.001));
    for (int k = 0; k < ACCUMULATORS; k++) sum[k] = v_set((gr_real)k);
    for (size_t i = 0; i < times; i++) {
        UNROLL
        for (int k = 0; k < ACCUMULATORS; k++) sum[k] = v_fma(sum[k], a, b);
    }
    for (int k = 1; k < ACCUMULATORS; k++) sum[0] += sum[k];
    v_store(out, sum[0]);
    return 2.0 * (double)times * ACCUMULATORS * R_WIDTH;
}

KERNEL(void, peak_scale, gr_real *restrict y, const gr_real *restrict x, size_t n)
{
    for (size_t i = 0; i < n; i++) y[i] = R(1.5) * x[i];
}

#if GR_HOST
enum { ROUNDS = 7, MOST_THREADS = 256, SIZES = 15 };
static const double most_seconds = 0.3; /* rounds go on so long, because other programs disturb some of them */
static const double smallest = 16384; /* bytes; each size is twice the one before */

typedef struct {
    int isa;
    size_t times, n;
    gr_real *memory;
    double flop[MOST_THREADS];
} task;

static void arithmetic(void *argument, size_t chunk, int thread)
{
    task *s = argument;
    gr_real out[16];
    (void)thread;
    s->flop[chunk] = peak_fma[s->isa](s->times, out);
}
static void traffic(void *argument, size_t chunk, int thread)
{
    task *s = argument;
    gr_real *x = s->memory + chunk * 2 * s->n;
    (void)thread;
    for (size_t i = 0; i < s->times; i++) peak_scale[s->isa](x + s->n, x, s->n);
}

static double fastest(gr_tape *t, int threads, gr_task *f, task *s)
{
    double best = 1e9;
    const double end = bench_now() + most_seconds;
    for (int r = 0; r < ROUNDS || bench_now() < end; r++) {
        const double begin = bench_now();
        gr_parallel(t, (size_t)threads, 1e9, f, s);
        const double took = bench_now() - begin;
        if (took < best) best = took;
    }
    return best;
}

double bench_peak(int threads)
{
    static double known[MOST_THREADS];
    if (known[threads - 1] > 0) return known[threads - 1];
    gr_tape *t = gr_tape_new(1, (&(gr_tape_config){ .threads = threads }));
    task s = { .isa = gr_isa(t), .times = 100000 };
    const double took = fastest(t, threads, arithmetic, &s);
    double flop = 0;
    for (int i = 0; i < threads; i++) flop += s.flop[i];
    gr_tape_free(t);
    return known[threads - 1] = flop / took;
}

/* The working set of one thread is half x and half y; both count, reading x and writing y. */
static double measure(gr_tape *t, int threads, double bytes)
{
    task s = { .isa = gr_isa(t), .n = (size_t)(bytes / threads / 2 / sizeof(gr_real)) & ~(size_t)15 };
    if (!s.n) s.n = 16; /* many threads share a small working set */
    const size_t all = 2 * s.n * (size_t)threads;
    s.memory = gr_default_allocator().alloc(NULL, (all + 16) * sizeof(gr_real));
    if (!s.memory) return 0;
    for (size_t i = 0; i < all; i++) s.memory[i] = 1;
    s.times = (size_t)(2e7 / (double)all / sizeof(gr_real)) + 1;
    const double took = fastest(t, threads, traffic, &s);
    free(s.memory);
    return (double)s.times * (double)all * sizeof(gr_real) / took;
}

double bench_bandwidth(int threads, double bytes)
{
    static double known[MOST_THREADS][SIZES];
    int at = 0;
    for (double size = smallest; at < SIZES - 1 && size < bytes; size *= 2) at++;
    double *const found = &known[threads - 1][at];
    if (*found > 0) return *found;
    gr_tape *t = gr_tape_new(1, (&(gr_tape_config){ .threads = threads }));
    *found = !t ? 0 : measure(t, threads, smallest * (double)((size_t)1 << at));
    gr_tape_free(t);
    return *found;
}
#endif
