/* tests/test_gemm.c - every output of a matrix product is one chain of fused multiply-adds, or a sum of chains for a long K, independent of tiles,
 * packing, threads and instruction set. */
#include "core/gemm.h"
#include "core/internal.h"
#include "tests/test.h"

/* a b + c, rounded once in float as fmaf would: all values here are multiples of 2^-23 below 1, so products and sums are multiples of
 * 2^-46, which double holds exactly below 2^7. */
static gr_real reference_fma(gr_real a, gr_real b, gr_real c) { return (gr_real)((double)a * (double)b + (double)c); }

static uint32_t random_state;
static size_t below(size_t n)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (random_state >> 8) % n;
}

/* n values in exactly n * sizeof bytes, so that AddressSanitizer reports a read past the end. */
static gr_real *random_values(size_t n)
{
    gr_real *x = malloc(n * sizeof *x + !n);
    assert_non_null(x);
    for (size_t i = 0; i < n; i++) x[i] = below(50) ? (gr_real)below(1u << 24) / (1 << 23) - 1 : (gr_real)(below(2) ? -0.0 : 0.0);
    return x;
}

/* A product: its operands, C before the call, and the result that C must have. C's rows are c_row apart; the values between them must not
 * change. */
typedef struct {
    size_t M, N, K, c_row;
    gr_mat A, B;
    enum { ZERO, OLD_C, BIAS, OTHER, BIAS_OF_ROWS } kind;
    gr_real *a, *b, *other, *before, *want, *C;
} product;

/* A matrix with random strides: kind 0 is stored by rows, 1 by columns, 2 with gaps between elements. Its memory is just large enough. */
static gr_real *random_matrix(gr_mat *X, size_t rows, size_t columns, size_t kind)
{
    const size_t hole = below(3);
    *X = kind == 0   ? (gr_mat){ NULL, columns + hole, 1 }
         : kind == 1 ? (gr_mat){ NULL, 1, rows + hole }
                     : (gr_mat){ NULL, 2 * columns + hole, 2 };
    gr_real *x = random_values(rows && columns ? (rows - 1) * X->row + (columns - 1) * X->col + 1 : 0);
    X->data = x;
    return x;
}

static gr_start start_of(const product *p)
{
    const gr_start starts[] = { { NULL, 0 }, { p->C, p->c_row }, { p->other, 0 }, { p->other, p->N + 1 }, { p->other, 1 } };
    return starts[p->kind];
}

static gr_real term(const product *p, size_t i, size_t j, size_t k, gr_real sum)
{
    return reference_fma(p->A.data[i * p->A.row + k * p->A.col], p->B.data[k * p->B.row + j * p->B.col], sum);
}

static void make_product(product *p, size_t M, size_t N, size_t K)
{
    *p = (product){ .M = M, .N = N, .K = K, .c_row = N + below(4), .kind = below(5) };
    const size_t held = M * p->c_row;
    p->a = random_matrix(&p->A, M, K, below(5) % 3), p->b = random_matrix(&p->B, K, N, below(5) % 3);
    p->before = random_values(held), p->want = random_values(held), p->C = random_values(held), p->other = random_values(M * (N + 1));
    for (size_t i = 0; i < held; i++)
        if (p->kind != OLD_C) p->before[i] = (gr_real)NAN; /* must not be read */
    memcpy(p->C, p->before, held * sizeof *p->C), memcpy(p->want, p->before, held * sizeof *p->C);
    const gr_start start = start_of(p);
    const size_t parts = (K + 2047) / 2048, part = parts ? ((K + parts - 1) / parts + 7) / 8 * 8 : 1;
    for (size_t i = 0; i < M; i++) {
        gr_real *c = p->want + i * p->c_row;
        for (size_t j = 0; j < N; j++) {
            gr_real sum = start.data ? start.data[i * start.row + (start.row == 1 ? 0 : j)] : 0;
            for (size_t k = 0; k < part && k < K; k++) sum = term(p, i, j, k, sum);
            for (size_t first = part; first < K; first += part) {
                gr_real more = 0;
                for (size_t k = first; k < first + part && k < K; k++) more = term(p, i, j, k, more);
                sum += more;
            }
            c[j] = sum;
        }
    }
}

static void free_product(product *p) { free(p->a), free(p->b), free(p->other), free(p->before), free(p->want), free(p->C); }

/* Check that C has the wanted values, exactly or within `far`, and restore C. */
static void check_near(product *p, double far, const char *how)
{
    for (size_t i = 0; i < p->M * p->c_row; i++)
        if (memcmp(p->C + i, p->want + i, sizeof *p->C) && !(isnan(p->C[i]) && isnan(p->want[i])) &&
            !(far > 0 && fabs((double)(p->C[i] - p->want[i])) < far))
            fail_msg("%s: M %zu N %zu K %zu, start %d, A strides %zu %zu, B strides %zu %zu: row %zu column %zu is %a and should be %a",
                     how, p->M, p->N, p->K, (int)p->kind, p->A.row, p->A.col, p->B.row, p->B.col, i / p->c_row, i % p->c_row,
                     (double)p->C[i], (double)p->want[i]);
    memcpy(p->C, p->before, p->M * p->c_row * sizeof *p->C);
}

static void check(product *p, const char *how) { check_near(p, 0, how); }

/* Rows i .. i+M-1 and columns j .. j+N-1 of p. */
static void run_part(const product *p, int isa, size_t i, size_t j, size_t M, size_t N, void *work)
{
    gr_start start = start_of(p);
    if (start.data) start.data += i * start.row + (start.row == 1 ? 0 : j);
    const gr_mat A = { p->A.data + i * p->A.row, p->A.row, p->A.col }, B = { p->B.data + j * p->B.col, p->B.row, p->B.col };
    gr__gemm_serial(isa, M, N, p->K, A, B, p->C + i * p->c_row + j, p->c_row, start, work);
}

static void run_everyhow(product *p, int isa, void *work)
{
    const size_t M = p->M, N = p->N, m = M / 2, n = N / 2;
    run_part(p, isa, 0, 0, M, N, work), check(p, "whole");
    run_part(p, isa, 0, 0, m, N, work), run_part(p, isa, m, 0, M - m, N, work), check(p, "rows in two parts");
    run_part(p, isa, 0, 0, M, n, work), run_part(p, isa, 0, n, M, N - n, work), check(p, "columns in two parts");
    gr_real *packed = gr_default_allocator().alloc(NULL, (gr__gemm_packed_len(N, p->K) + 1) * sizeof *packed);
    assert_non_null(packed);
    gr__gemm_pack(isa, N, p->K, p->B, packed);
    gr__gemm_serial_packed(isa, M, N, p->K, p->A, packed, p->C, p->c_row, start_of(p), NULL, work), check(p, "packed");
    gr__fetch fetch[] = { { (uintptr_t)packed, 64 }, { (uintptr_t)packed, 100 }, { 0 } };
    gr__gemm_serial_packed(isa, M, N, p->K, p->A, packed, p->C, p->c_row, start_of(p), fetch, work), check(p, "packed, with a list to prefetch");
    assert_true(fetch[0].at + fetch[0].bytes == (uintptr_t)packed + 64 && fetch[1].at + fetch[1].bytes == (uintptr_t)packed + 100);
    if (M > 14 && N >= 16 && p->K > 1) assert_true(fetch[0].bytes == 0 && fetch[1].bytes == 0); /* two tiles, at least */
    free(packed);
}

static void *new_work(void)
{
    void *work = gr_default_allocator().alloc(NULL, GR__WORK_BYTES);
    assert_non_null(work);
    memset(work, 0xff, GR__WORK_BYTES); /* NaNs show a read of memory that was not written */
    return work;
}

TEST(every_output_is_one_chain)
{
    static const size_t shapes[][3] = {
        /* M, N, K */
        { 64, 512, 28 },   { 64, 512, 128 },   { 4, 1000, 784 },  { 64, 10, 1000 }, { 64, 64, 32 }, { 63, 129, 127 }, { 65, 33, 129 },
        { 300, 520, 300 }, { 140, 1100, 400 }, { 270, 130, 300 }, { 17, 40, 4100 }, { 1, 1, 1 },    { 1, 1, 1000 },   { 1000, 1, 3 },
        { 2100, 7, 5 },    { 5, 7, 0 },        { 40, 3, 0 },      { 0, 5, 3 },      { 5, 0, 3 },    { 1, 512, 128 },  { 128, 24, 40 },
        { 1, 70, 6004 },   { 2, 40, 2056 },    { 3, 33, 4100 },   { 4, 64, 2052 },  { 7, 5, 2100 }, { 40, 3, 2500 },  { 130, 20, 2300 },
        { 48, 301, 300 },  { 112, 640, 600 },  { 64, 250, 2100 }, { 96, 600, 1024 }, { 25, 300, 200 }, { 31, 301, 512 }, /* a transposed C */
        { 3, 100, 512 },   { 4, 70, 1536 },    { 24, 130, 2063 }, { 9, 96, 64 },     { 8, 33, 13 },    { 5, 200, 300 },  /* few rows */
        { 6, 64, 7 },      { 7, 100, 4109 },   { 13, 100, 75 },   { 40, 70, 6 },     { 100, 5, 60 },   { 1, 64, 2 },
        { 1, 160, 90 },    { 1, 420, 300 },    { 1, 247, 2060 }, /* one row: panels of two widths */
    };
#ifdef __SANITIZE_THREAD__
    enum { CASES = 12 }; /* in one thread it has nothing to see, and 800 take it two minutes */
#else
    enum { CASES = 800 };
#endif
    void *work = new_work();
    random_state = 1;
    for (size_t i = 0; i < CASES; i++) {
        const bool big = !below(10), fixed = i < 3 * COUNT(shapes);
        const size_t M = 1 + below(big ? 400 : 70), N = 1 + below(big ? 300 : 140), K = 1 + below(big ? 600 : 150),
                     *s = shapes[i / 3 % COUNT(shapes)];
        product p;
        if (fixed) make_product(&p, s[0], s[1], s[2]);
        else make_product(&p, M, N, K);
        EACH_ISA(isa)
        {
            const int index = gr__isa_choose(isa);
            if (index == 0 && gr__isa_choose(NULL) > 0 && p.M * p.N * p.K > 2000000) continue; /* the scalar variant is slow */
            run_everyhow(&p, index, work);
        }
        free_product(&p);
    }
    free(work);
}

TEST(threads_change_no_bit)
{
    random_state = 2;
    for (int threads = 1; threads <= 4; threads++) {
        gr_tape *t = gr_tape_new(1, (&(gr_tape_config){ .threads = threads }));
        assert_ok(t);
        for (int i = 0; i < 40; i++) {
            product p;
            make_product(&p, 1 + below(300), 1 + below(300), 1 + below(200));
            gr__gemm(t, p.M, p.N, p.K, p.A, p.B, p.C, p.c_row, start_of(&p));
#ifdef GR_OPENBLAS
            check_near(&p, 1e-4, "OpenBLAS");
#else
            check(&p, "threads");
#endif
            free_product(&p);
        }
        gr_tape_free(t);
    }
}

TEST(an_infinity_reaches_its_own_row_and_column_only)
{
    enum { M = 70, N = 45, K = 130 };
    gr_real *A = random_values(M * K), *B = random_values(K * N), *C = random_values(M * N);
    void *work = new_work();
    A[20 * K + 7] = (gr_real)INFINITY, B[9 * N + 44] = (gr_real)NAN;
    EACH_ISA(isa)
    {
        gr__gemm_serial(gr__isa_choose(isa), M, N, K, (gr_mat){ A, K, 1 }, (gr_mat){ B, N, 1 }, C, N, (gr_start){ NULL, 0 }, work);
        for (size_t i = 0; i < M; i++)
            for (size_t j = 0; j < N; j++) assert_int_equal(!isfinite(C[i * N + j]), i == 20 || j == 44);
    }
    free(A), free(B), free(C), free(work);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_output_is_one_chain),
        cmocka_unit_test(threads_change_no_bit),
        cmocka_unit_test(an_infinity_reaches_its_own_row_and_column_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
