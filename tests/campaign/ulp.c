/* tests/campaign/ulp.c - the promises of core/maths.h on every float: the largest error, monotonicity, special values and bits.
 *
 *     make ulp [ARGS="--step 97 --isa avx2 --bits tanh exp"]
 *
 * Everything takes about 6 minutes on two cores. --step N takes every Nth float, --isa one instruction set instead of all, --bits omits
 * the comparison with the reference; names choose functions. The best instruction set is compared with double references, the others only
 * by their bits, and scalar, which has no fma, only on every 97th float. tests/golden/maths.hash has the bits of steps 1 and 97. The exit
 * status is 1 if a promise is broken. */
#include "core/internal.h"
#include "tests/maths.h"
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { CHUNK = 8192, MAX_THREADS = 64, COARSE = 97 };

typedef struct {
    double worst;
    gr_real x, z;                                      /* the worst argument; z is the exponent of pow */
    uint64_t judged, wrong, over, special, down, hash; /* wrong: not correctly rounded; special: infinities, NaN or the sign of zero differ from C */
} result;

typedef struct {
    const maths_function *f;
    uint64_t step;
    int isa, thread, threads;
    bool compare;
    result result;
    gr_real x[CHUNK + 1], z[CHUNK + 1], y[CHUNK + 1]; /* a chunk and the float after it, so that monotonicity is also checked between chunks */
    double xd[CHUNK], zd[CHUNK], truth[CHUNK];
} task;

/* pow is treated like the other functions, with random pairs. */
static double pow_exact(double x) { return x; }
static const maths_function pow_function = { .name = "pow", .exact = pow_exact, .ulp = 2 };
static bool is_pow(const maths_function *f) { return f == &pow_function; }
static double exact(const maths_function *f, gr_real x, gr_real z) { return is_pow(f) ? pow((double)x, (double)z) : f->exact((double)x); }

static uint32_t scramble(uint64_t n)
{
    n = (n ^ n >> 31) * 0x9e3779b97f4a7c15u;
    n = (n ^ n >> 29) * 0xbf58476d1ce4e5b9u;
    return (uint32_t)(n >> 32);
}

/* Bases and exponents of four kinds: any two floats; a base near 1 and a large exponent; ordinary ones; any base and a multiple of one
 * half. */
static void draw_pair(uint64_t n, gr_real *x, gr_real *z)
{
    const uint32_t a = scramble(2 * n), b = scramble(2 * n + 1);
    const float unit = (float)(int32_t)b * 0x1p-31f;
    *x = float_of(a), *z = float_of(b);
    if (n % 4 == 1) *x = 1 + (float)(int32_t)a * 0x1p-37f, *z = unit * 6000;
    if (n % 4 == 2) *x = (float)a * 0x1p-28f, *z = unit * 32;
    if (n % 4 == 3) *z = (float)(b % 65) / 2 - 16;
}

/* NaN, infinities and zeros must be as in C. */
static void judge(result *r, const maths_function *f, gr_real x, gr_real z, double y, double truth)
{
    const bool sign_kept = y != 0 || !signbit(y) == !signbit(truth);
    r->judged++;
    if (!isfinite(truth) || truth == 0) {
        r->special += !(isnan(truth) ? isnan(y) : y == truth && sign_kept);
        return;
    }
    const double e = ulps(y, truth);
    if (!(e <= r->worst)) r->worst = e, r->x = x, r->z = z;
    r->wrong += e > 0.5, r->over += !(e <= f->ulp), r->special += !sign_kept;
}

static void compare(task *t)
{
    const maths_function *f = t->f;
    result *r = &t->result;
    for (size_t i = 0; i < CHUNK; i++)
        t->xd[i] = isfinite(t->x[i]) ? (double)t->x[i] : 1, t->zd[i] = isfinite(t->z[i]) ? (double)t->z[i] : 1;
    if (is_pow(f)) maths_pow_reference(t->truth, t->xd, t->zd, CHUNK);
    else f->reference(t->truth, t->xd, CHUNK);
    const double limit = r->worst;
    uint64_t wrong = 0, look = 0;
    for (size_t i = 0; i < CHUNK; i++) { /* most chunks need no more than this, and it vectorises */
        const double y = (double)t->y[i], truth = t->truth[i], e = ulps(y, truth), x = fabs((double)t->x[i]), z = fabs((double)t->z[i]);
        const double same_sign = copysign(1, y) * copysign(1, truth);
        const int good = ((e <= limit) & (same_sign > 0)) | ((y != y) & (truth != truth));
        wrong += e > 0.5 ? 1 : 0, look += (x < HUGE_VAL) & (z < HUGE_VAL) & good ? 0 : 1;
    }
    if (!look) r->judged += CHUNK, r->wrong += wrong;
    for (size_t i = 0; look && i < CHUNK; i++) {
        const bool fast = isfinite(t->x[i]) && isfinite(t->z[i]) && isfinite(t->truth[i]) && t->truth[i] != 0;
        judge(r, f, t->x[i], t->z[i], (double)t->y[i], fast ? t->truth[i] : exact(f, t->x[i], t->z[i]));
    }
    if (!f->monotone) return;
    uint32_t down = 0;
    for (size_t i = 0; i < CHUNK; i++) {
        const gr_real dx = t->x[i + 1] - t->x[i], y = t->y[i], next = t->y[i + 1];
        down += dx > 0 ? y > next : dx < 0 ? y < next : 0;
    }
    r->down += down;
}

/* Chunks may come in any order, so their hashes are added. */
static uint64_t hash_of(const gr_real *y, uint64_t number)
{
    uint32_t lane[16] = { 0 };
    for (size_t i = 0; i < CHUNK; i += 16)
        for (size_t l = 0; l < 16; l++) {
            const uint32_t u = isnan(y[i + l]) ? 0x7fc00000 : float_bits((float)y[i + l]);
            lane[l] = (lane[l] ^ u) * 0x9e3779b1u, lane[l] ^= lane[l] >> 15;
        }
    uint64_t hash = number;
    for (size_t l = 0; l < 16; l++) hash = (hash ^ lane[l]) * 0x100000001b3u, hash ^= hash >> 29;
    return hash;
}

static void *run(void *argument)
{
    task *t = argument;
    const uint64_t all = ((uint64_t)1 << 32) / CHUNK / (is_pow(t->f) ? 16 : 1), chunks = (all + t->step - 1) / t->step;
    for (uint64_t c = (uint64_t)t->thread; c < chunks; c += (uint64_t)t->threads) {
        const uint32_t start = (uint32_t)(c * CHUNK * t->step), step = (uint32_t)t->step;
        if (is_pow(t->f)) {
            for (uint64_t i = 0; i <= CHUNK; i++) draw_pair(c * CHUNK + i, t->x + i, t->z + i);
            maths_pow_kernel[t->isa](t->y, t->x, t->z, CHUNK + 1);
        } else {
            for (uint32_t i = 0; i <= CHUNK; i++) t->x[i] = float_of(start + i * step);
            t->f->kernel[t->isa](t->y, t->x, CHUNK + 1);
        }
        t->result.hash += hash_of(t->y, c);
        if (t->compare) compare(t);
    }
    return NULL;
}

static result run_all(const maths_function *f, uint64_t step, int isa, bool with_reference)
{
    const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    const int threads = cpus < 1 ? 1 : cpus < MAX_THREADS ? (int)cpus : MAX_THREADS;
    static task tasks[MAX_THREADS];
    pthread_t id[MAX_THREADS];
    result sum = { 0 };
    for (int i = 0; i < threads; i++) {
        memset(tasks + i, 0, sizeof *tasks);
        tasks[i].f = f, tasks[i].step = step, tasks[i].isa = isa, tasks[i].compare = with_reference;
        tasks[i].thread = i, tasks[i].threads = threads;
        if (pthread_create(id + i, NULL, run, tasks + i)) perror("ulp"), exit(2);
    }
    for (int i = 0; i < threads; i++) {
        pthread_join(id[i], NULL);
        const result *r = &tasks[i].result;
        if (r->worst > sum.worst) sum.worst = r->worst, sum.x = r->x, sum.z = r->z;
        sum.judged += r->judged, sum.wrong += r->wrong, sum.over += r->over, sum.special += r->special;
        sum.down += r->down, sum.hash += r->hash;
    }
    return sum;
}

/* Returns 0 when no hash is recorded for this step. */
static uint64_t recorded(const char *name, uint64_t step)
{
    FILE *file = fopen("tests/golden/maths.hash", "r");
    char line_name[32];
    uint64_t line_step, hash, found = 0;
    while (file && fscanf(file, "%31s %" SCNu64 " %" SCNx64, line_name, &line_step, &hash) == 3)
        if (line_step == step && !strcmp(line_name, name)) found = hash;
    if (file) fclose(file);
    return found;
}

static bool report(const maths_function *f, uint64_t step, int isa, bool with_reference)
{
    const result r = run_all(f, step, isa, with_reference);
    const uint64_t want = recorded(f->name, step);
    printf("%-9s %-7s step %-3" PRIu64 " hash %016" PRIx64 " %s", f->name, gr__isa_name(isa), step, r.hash,
           !want            ? "not recorded"
           : want == r.hash ? "as recorded"
                            : "NOT AS RECORDED");
    if (with_reference) {
        printf("; max %.4f ulp at %a", r.worst, (double)r.x);
        if (is_pow(f)) printf(", %a", (double)r.z);
        printf("; %.3f %% not correctly rounded; %" PRIu64 " over %g ulp; %" PRIu64 " bad specials",
               100 * (double)r.wrong / (double)r.judged, r.over, f->ulp, r.special);
        if (f->monotone) printf("; %" PRIu64 " steps down", r.down);
    }
    puts("");
    fflush(stdout);
    return !r.over && !r.special && !r.down && (!want || want == r.hash);
}

int main(int argc, char **argv)
{
    uint64_t step = 1;
    const char *only = NULL;
    bool bits = false, kept = true;
    int first = 1;
    for (; first < argc && argv[first][0] == '-'; first++) {
        if (!strcmp(argv[first], "--bits")) bits = true;
        else if (!strcmp(argv[first], "--step") && first + 1 < argc) step = strtoull(argv[++first], NULL, 10);
        else if (!strcmp(argv[first], "--isa") && first + 1 < argc) only = argv[++first];
        else step = 0;
    }
    const int best = gr__isa_choose(only);
    if (!step || best < 0) return fprintf(stderr, "usage: ulp [--step N] [--isa NAME] [--bits] [FUNCTION ...]\n"), 2;
    if (sizeof(gr_real) != sizeof(float)) return puts("ulp: not run: the promise is the float library's"), 0;
    for (int k = 0; k <= MATHS_FUNCTIONS; k++) {
        const maths_function *f = k < MATHS_FUNCTIONS ? maths_functions + k : &pow_function;
        bool wanted = first == argc;
        for (int i = first; i < argc; i++) wanted |= !strcmp(argv[i], f->name);
        for (int isa = best; wanted && isa >= (only ? best : 0); isa--) {
            const bool slow = !strcmp(gr__isa_name(isa), "scalar");
            kept &= report(f, slow && step < COARSE ? COARSE : step, isa, isa == best && !bits);
        }
    }
    return !kept;
}
