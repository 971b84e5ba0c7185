/* tests/bench/gemm_bench.c - one thread's matrix product against OpenBLAS and MKL, on the shapes of small models.
 *
 *     gemm_bench [--peak GFLOPS] [--rounds N] [PART_OF_A_CELL'S_NAME]
 *
 * The libraries are loaded if they exist: $GRADUS_OPENBLAS (libopenblas.so.0), $GRADUS_MKL (libmkl_rt.so.2; PyTorch's libtorch_cpu.so
 * holds MKL too). All run in turn in one process, and the fastest round of each counts. A cell is M x K x N and how A and B are stored: NN
 * by rows, NT: B by columns, TN: A by columns, NP: B packed beforehand. Columns: GFLOP/s of each; ours in percent of the peak, when that is
 * given; ours over the better of the others. */
#include "core/gemm.h"
#include "core/internal.h"
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef void blas_gemm(const char *, const char *, const int *, const int *, const int *, const gr_real *, const gr_real *, const int *,
                       const gr_real *, const int *, const gr_real *, gr_real *, const int *);

enum { GRADUS, OPENBLAS, MKL, CONTENDERS };
typedef struct {
    size_t M, K, N;
    const char *what;
} shape;
typedef struct {
    shape s;
    const char *layout;
    gr_real *A, *B, *C, *P;
} cell;

static const shape shapes[] = {
    { 64, 28, 512, "LSTM x, one step" },
    { 1792, 28, 512, "LSTM x, all steps" },
    { 64, 128, 512, "LSTM h" },
    { 64, 512, 128, "LSTM dh" },
    { 128, 784, 128, "MLP" },
    { 128, 784, 1000, "MLP, layer 1" },
    { 128, 1000, 1000, "MLP, layer 2" },
    { 1024, 128, 384, "q, k, v" },
    { 1024, 128, 512, "feed forward up" },
    { 1024, 512, 128, "feed forward down" },
    { 64, 32, 64, "q k, one head" },
    { 64, 64, 32, "p v, one head" },
    { 63, 127, 129, "odd" },
    { 65, 129, 33, "odd" },
    { 256, 256, 256, "square" },
    { 512, 512, 512, "square" },
    { 1024, 1024, 1024, "square" },
    { 64, 1000, 10, "head" },
    { 4, 784, 1000, "MLP, batch 4" },
    { 4, 1000, 1000, "MLP, batch 4" },
    { 1, 128, 512, "LSTM h, batch 1" },
    { 8, 128, 512, "LSTM h, batch 8" },
};
static const char *const layouts[] = { "NN", "NT", "TN", "NP" };
static blas_gemm *blas[CONTENDERS];
static void *work;
static int isa;

static blas_gemm *load(const char *variable, const char *otherwise)
{
    const char *file = getenv(variable) ? getenv(variable) : otherwise;
    void *library = dlopen(file, RTLD_LAZY | RTLD_LOCAL);
    blas_gemm *f = NULL;
    void *symbol = library ? dlsym(library, sizeof(gr_real) == 4 ? "sgemm_" : "dgemm_") : NULL;
    memcpy(&f, &symbol, sizeof f);
    if (!f) fprintf(stderr, "%s is not here: not compared ($%s says where)\n", file, variable);
    return f;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static gr_real *matrix(size_t n, unsigned seed)
{
    gr_real *x = gr_default_allocator().alloc(NULL, n * sizeof *x);
    if (!x) fprintf(stderr, "out of memory\n"), exit(3);
    for (size_t i = 0; i < n; i++) x[i] = (gr_real)((i * 37 + seed) % 101) / 50 - 1;
    return x;
}

/* To a library that stores by columns, our C, A and B are transposed: C' = B' A'. */
static void multiply(int who, const cell *c)
{
    const size_t M = c->s.M, K = c->s.K, N = c->s.N;
    const bool a_by_columns = c->layout[0] == 'T', b_by_columns = c->layout[1] == 'T';
    const gr_mat A = a_by_columns ? (gr_mat){ c->A, 1, M } : (gr_mat){ c->A, K, 1 };
    const gr_mat B = b_by_columns ? (gr_mat){ c->B, 1, K } : (gr_mat){ c->B, N, 1 };
    if (who == GRADUS) {
        if (c->P) gr__gemm_serial_packed(isa, M, N, K, A, c->P, c->C, N, (gr_start){ NULL, 0 }, work);
        else gr__gemm_serial(isa, M, N, K, A, B, c->C, N, (gr_start){ NULL, 0 }, work);
    } else {
        const int m = (int)M, n = (int)N, k = (int)K, lda = a_by_columns ? m : k, ldb = b_by_columns ? k : n;
        blas[who](b_by_columns ? "T" : "N", a_by_columns ? "T" : "N", &n, &m, &k, &(gr_real){ 1 }, c->B, &ldb, c->A, &lda, &(gr_real){ 0 },
                  c->C, &n);
    }
}

static void fastest(const cell *c, int rounds, double best[CONTENDERS])
{
    const double flop = 2.0 * (double)c->s.M * (double)c->s.K * (double)c->s.N;
    const int times = (int)(4e7 / flop) + 1;
    for (int who = 0; who < CONTENDERS; who++) best[who] = HUGE_VAL;
    for (int round = 0; round < rounds; round++)
        for (int who = 0; who < CONTENDERS; who++) {
            if (who != GRADUS && !blas[who]) continue;
            multiply(who, c);
            const double begin = now();
            for (int i = 0; i < times; i++) multiply(who, c);
            best[who] = fmin(best[who], (now() - begin) / times);
        }
    for (int who = 0; who < CONTENDERS; who++) best[who] = flop / best[who] / 1e9;
}

int main(int argc, char **argv)
{
    double peak = 0, sum[CONTENDERS + 1] = { 0 }, worst = HUGE_VAL;
    int rounds = 9, cells = 0;
    const char *filter = "";
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--peak") && i + 1 < argc) peak = atof(argv[++i]);
        else if (!strcmp(argv[i], "--rounds") && i + 1 < argc) rounds = atoi(argv[++i]);
        else filter = argv[i];
    }
    isa = gr__isa_choose(getenv("GRADUS_ISA"));
    work = gr_default_allocator().alloc(NULL, GR__WORK_BYTES);
    if (isa < 0 || !work || rounds < 1) return fprintf(stderr, "no such instruction set here, no memory, or no rounds\n"), 2;
    setenv("OPENBLAS_NUM_THREADS", "1", 1), setenv("MKL_NUM_THREADS", "1", 1), setenv("OMP_NUM_THREADS", "1", 1);
    blas[OPENBLAS] = load("GRADUS_OPENBLAS", "libopenblas.so.0"), blas[MKL] = load("GRADUS_MKL", "libmkl_rt.so.2");
    printf("%-18s %-18s %9s %9s %9s %6s %7s\n", "M x K x N", "", gr__isa_name(isa), "OpenBLAS", "MKL", "peak", "ratio");
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (size_t l = 0; l < sizeof layouts / sizeof *layouts; l++) {
            char name[64];
            const size_t M = shapes[s].M, K = shapes[s].K, N = shapes[s].N;
            snprintf(name, sizeof name, "%zux%zux%zu-%s", M, K, N, layouts[l]);
            if (!strstr(name, filter)) continue;
            cell c = { shapes[s], layouts[l], matrix(M * K, 1), matrix(K * N, 2), matrix(M * N, 3), NULL };
            if (c.layout[1] == 'P') {
                c.P = matrix(gr__gemm_packed_len(N, K), 0);
                gr__gemm_pack(isa, N, K, (gr_mat){ c.B, N, 1 }, c.P);
            }
            double g[CONTENDERS];
            fastest(&c, rounds, g);
            const double ratio = g[GRADUS] / fmax(g[OPENBLAS], g[MKL]);
            printf("%-18s %-18s %9.1f %9.1f %9.1f %5.0f%% %7.2f\n", name, shapes[s].what, g[GRADUS], g[OPENBLAS], g[MKL],
                   peak > 0 ? 100 * g[GRADUS] / peak : 0, ratio);
            fflush(stdout);
            if (M >= 16 && N >= 16 && c.layout[1] != 'P') {
                for (int who = 0; who < CONTENDERS; who++) sum[who] += log(g[who]);
                sum[CONTENDERS] += log(ratio), worst = fmin(worst, ratio), cells++;
            }
            free(c.A), free(c.B), free(c.C), free(c.P);
        }
    if (cells)
        printf("geometric mean of the %d cells NN, NT, TN with M, N >= 16: %.1f, OpenBLAS %.1f, MKL %.1f; ratio %.2f, worst %.2f\n", cells,
               exp(sum[GRADUS] / cells), exp(sum[OPENBLAS] / cells), exp(sum[MKL] / cells), exp(sum[CONTENDERS] / cells), worst);
    return 0;
}
