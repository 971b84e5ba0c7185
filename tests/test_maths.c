/* tests/test_maths.c - core/maths.h and the reductions of core/kernel.h on samples; campaign/ulp.c checks the functions on every float. */
#include "core/internal.h"
#include "tests/test.h"
#include "tests/maths.h"

enum { MOST = 8192 };
static int isa_index(const char *isa) { return gr__isa_choose(isa); }
static int best_index(void) { return gr__isa_choose(NULL); }

static const maths_function *function_named(const char *name)
{
    for (int k = 0; k < MATHS_FUNCTIONS; k++)
        if (!strcmp(maths_functions[k].name, name)) return maths_functions + k;
    fail_msg("no function is called %s", name);
    return NULL;
}

static void expect(const char *what, double x, gr_real got, double truth, double allowed)
{
    const gr_real want = (gr_real)truth;
    const bool plain = isfinite(truth) && want != 0 && got != 0;
    if (plain ? ulps((double)got, truth) <= allowed : isnan(want) ? isnan(got) : got == want && !signbit(got) == !signbit(want)) return;
    fail_msg("%s(%a) is %a and should be %a", what, x, (double)got, truth);
}

/* x ascends and has one sign. */
static void expect_promise(const maths_function *f, const gr_real *x, size_t n)
{
    gr_real y[MOST];
    assert_true(n <= MOST);
    f->kernel[best_index()](y, x, n);
    for (size_t i = 0; i < n; i++) {
        if (f->monotone && i && y[i] < y[i - 1]) fail_msg("%s falls from %a to %a", f->name, (double)x[i - 1], (double)x[i]);
        expect(f->name, (double)x[i], y[i], f->exact((double)x[i]), f->ulp);
    }
}

TEST(errors_are_within_their_bounds_on_samples)
{
    gr_real x[MOST];
    for (int k = 0; k < MATHS_FUNCTIONS; k++)
        for (uint32_t sign = 0; sign < 2; sign++)
            for (uint32_t offset = 0; offset < 8; offset++) {
                const uint32_t step = 0x7f800000u / MOST; /* 0 to the largest float */
                for (uint32_t i = 0; i < MOST; i++)
                    x[sign ? MOST - 1 - i : i] = float_of((sign << 31) + i * step + offset * (step / 8 + 1));
                expect_promise(maths_functions + k, x, MOST);
            }
}

/* Where the pieces of the functions meet: thresholds, clamps, changes of the power of two, subnormal results, overflow. */
TEST(errors_are_within_their_bounds_where_pieces_meet)
{
    static const float seams[] = { 0,       0x1p-149f,  0x1p-126f, 0.34657359f, 0.5f,     2.0f / 3,  0.70710678f, 0.98f,
                                   1,       1.0397208f, 4.0f / 3,  1.41421356f, 2,        4,         9.1f,        16.635532f,
                                   17,      17.32868f,  18,        80,          87.3365f, 88.02969f, 88.72284f,   89,
                                   103.97f, 104,        105,       0x1p17f,     0x1p24f,  0x1p64f,   0x1p127f };
    gr_real x[2001];
    for (int k = 0; k < MATHS_FUNCTIONS; k++)
        for (size_t j = 0; j < COUNT(seams); j++)
            for (uint32_t sign = 0; sign < 2; sign++) {
                const uint32_t centre = float_bits(seams[j]), first = centre < 1000 ? 0 : centre - 1000;
                for (uint32_t i = 0; i < COUNT(x); i++) x[sign ? COUNT(x) - 1 - i : i] = float_of((sign << 31) + first + i);
                expect_promise(maths_functions + k, x, COUNT(x));
            }
}

static const struct {
    const char *name;
    double x, y;
} special_values[] = {
    { "exp", 0, 1 },
    { "exp", -0.0, 1 },
    { "exp", INFINITY, INFINITY },
    { "exp", -INFINITY, 0 },
    { "expm1", 0, 0 },
    { "expm1", -0.0, -0.0 },
    { "expm1", INFINITY, INFINITY },
    { "expm1", -INFINITY, -1 },
    { "log", 1, 0 },
    { "log", 0, -INFINITY },
    { "log", -0.0, -INFINITY },
    { "log", INFINITY, INFINITY },
    { "log", -1, NAN },
    { "log", -INFINITY, NAN },
    { "log", -0x1p-149, NAN },
    { "log1p", -0.0, -0.0 },
    { "log1p", 0, 0 },
    { "log1p", -1, -INFINITY },
    { "log1p", -2, NAN },
    { "log1p", INFINITY, INFINITY },
    { "tanh", 0, 0 },
    { "tanh", -0.0, -0.0 },
    { "tanh", INFINITY, 1 },
    { "tanh", -INFINITY, -1 },
    { "erf", 0, 0 },
    { "erf", -0.0, -0.0 },
    { "erf", INFINITY, 1 },
    { "erf", -INFINITY, -1 },
    { "sigmoid", 0, 0.5 },
    { "sigmoid", INFINITY, 1 },
    { "sigmoid", -INFINITY, 0 },
    { "softplus", -INFINITY, 0 },
    { "sin", 0, 0 },
    { "sin", -0.0, -0.0 },
    { "sin", INFINITY, NAN },
    { "sin", -INFINITY, NAN },
    { "tan", 0, 0 },
    { "tan", -0.0, -0.0 },
    { "tan", INFINITY, NAN },
    { "tan", -INFINITY, NAN },
    { "round", 0.5, 0 },
    { "round", -0.5, -0.0 },
    { "round", 1.5, 2 },
    { "round", -2.5, -2 },
    { "round", 4194303.5, 4194304 },
    { "round", 4194304.5, 4194304 },
    { "round", -INFINITY, -INFINITY },
    { "floor", -0.0, -0.0 },
    { "floor", -0x1p-149, -1 },
    { "floor", 4194303.5, 4194303 },
    { "floor", INFINITY, INFINITY },
    { "cos", 0, 1 },
    { "cos", INFINITY, NAN },
    { "cos", -INFINITY, NAN },
    { "softplus", INFINITY, INFINITY },
};
TEST(special_values_are_those_of_c)
{
    EACH_ISA(isa)
    {
        gr_real x[32], y[32];
        for (size_t c = 0; c < COUNT(special_values); c++) {
            for (size_t i = 0; i < COUNT(x); i++) x[i] = (gr_real)special_values[c].x;
            function_named(special_values[c].name)->kernel[isa_index(isa)](y, x, COUNT(x));
            for (size_t i = 0; i < COUNT(x); i++) expect(special_values[c].name, special_values[c].x, y[i], special_values[c].y, 0);
        }
        for (int k = 0; k < MATHS_FUNCTIONS; k++) {
            for (size_t i = 0; i < COUNT(x); i++) x[i] = (gr_real)NAN;
            maths_functions[k].kernel[isa_index(isa)](y, x, COUNT(x));
            for (size_t i = 0; i < COUNT(x); i++) expect(maths_functions[k].name, NAN, y[i], NAN, 0);
        }
    }
}

/* The values are from mpmath with 400 bits. */
TEST(sin_cos_and_tan_of_large_arguments_are_right)
{
    static const struct {
        double x, sin, cos, tan;
    } cases[] = {
        { 0x1.00008p+17, -0x1.024168cf6f781p-1, 0x1.ba1859b0d0123p-1, -0x1.2b1761ac9a6d9p-1 },
        { 0x1p100, -0x1.be8ed97ac1f59p-1, 0x1.f4eb3ff66e36dp-2, -0x1.c86fbfa8cecc3p+0 },
        { 0x1.fffffep127, -0x1.0b33665089575p-1, 0x1.b4bf2c79bdfcep-1, -0x1.393d94b4988c2p-1 },
    };
    for (size_t c = 0; c < COUNT(cases); c++) {
        const gr_real x = (gr_real)cases[c].x;
        gr_real y;
        function_named("sin")->kernel[best_index()](&y, &x, 1);
        expect("sin", cases[c].x, y, cases[c].sin, 1);
        function_named("cos")->kernel[best_index()](&y, &x, 1);
        expect("cos", cases[c].x, y, cases[c].cos, 1);
        function_named("tan")->kernel[best_index()](&y, &x, 1);
        expect("tan", cases[c].x, y, cases[c].tan, 1);
    }
}

static gr_real power(gr_real x, gr_real y)
{
    gr_real z;
    maths_pow_kernel[best_index()](&z, &x, &y, 1);
    return z;
}

TEST(pow_is_cs_on_special_pairs)
{
    static const double values[] = {
        0,       0x1p-149, 0x1p-126, 1e-10,          0.25,     0.5,    0x1.fffffep-1, 1,      0x1.000002p0, 1.5,    2,      2.5,    3,
        4,       10,       77,       78.5,           0x1p22,   0x1p23, 8388609,       0x1p24, 16777213,     0x1p30, 0x1p52, 0x1p53, 0x1p104,
        0x1p105, 0x1p106,  0x1p127,  0x1.fffffep127, INFINITY, NAN
    };
    for (size_t i = 0; i < 2 * COUNT(values); i++)
        for (size_t j = 0; j < 2 * COUNT(values); j++) {
            const double x = i % 2 ? -values[i / 2] : values[i / 2], y = j % 2 ? -values[j / 2] : values[j / 2];
            char what[64];
            snprintf(what, sizeof what, "pow to %a", y);
            expect(what, x, power((gr_real)x, (gr_real)y), pow(x, y), 2);
        }
}

TEST(pow_is_exact_where_the_result_is_a_float)
{
    for (int x = -10; x <= 10; x++) {
        double truth = 1;
        for (int n = 0; n < 30 && fabs(truth) <= 0x1p24; n++, truth *= x) assert_true(power((gr_real)x, (gr_real)n) == (gr_real)truth);
    }
    for (int n = -149; n < 128; n++) assert_true(power(2, (gr_real)n) == (gr_real)ldexp(1, n));
    for (int n = 1; n < 4096; n++) {
        assert_true(power((gr_real)n * n, (gr_real)0.5) == (gr_real)n);
        assert_true(power((gr_real)n, 1) == (gr_real)n && power(-(gr_real)n, 2) == (gr_real)n * n);
    }
}

/* Fill x with ordinary values, random bit patterns and special values. */
static void fill(gr_stream *s, gr_real *x, size_t n)
{
    static const float special[] = { 0, -0.0f, 1, -1, INFINITY, -INFINITY, NAN, 0x1p-149f, -0x1p-130f, 0x1.fffffep127f };
    for (size_t i = 0; i < n; i++) {
        const uint32_t kind = gr_stream_bits(s) % 4;
        if (kind == 0) x[i] = (gr_real)float_of(gr_stream_bits(s));
        else if (kind == 1) x[i] = (gr_real)special[gr_stream_below(s, COUNT(special))];
        else x[i] = (gr_real)gr_stream_normal(s, 0, 4);
    }
}

/* Also, no kernel writes past the end. */
TEST(every_instruction_set_gives_the_same_bits)
{
    gr_stream s = gr_stream_new(1, "bits");
    for (size_t n = 0; n <= 70; n++)
        for (int round = 0; round < 20; round++) {
            gr_real x[71], y[71], z[71];
            fill(&s, x, n), fill(&s, y, n), fill(&s, z, n);
            EACH_ISA(isa)
            {
                gr_real want[72], got[72];
                for (int k = 0; k < MATHS_FUNCTIONS + 3; k++) {
                    want[n] = got[n] = 42;
                    const int i = isa_index(isa);
                    const maths_function *f = maths_functions + (k < MATHS_FUNCTIONS ? k : 0);
                    if (k < MATHS_FUNCTIONS) f->kernel[0](want, x, n), f->kernel[i](got, x, n);
                    else if (k == MATHS_FUNCTIONS) maths_pow_kernel[0](want, x, y, n), maths_pow_kernel[i](got, x, y, n);
                    else if (k == MATHS_FUNCTIONS + 1) maths_fma_kernel[0](want, x, y, z, n), maths_fma_kernel[i](got, x, y, z, n);
                    else maths_reduce_kernel[0](want, x, y, n), maths_reduce_kernel[i](got, x, y, n);
                    assert_same_bits(got, want, k == MATHS_FUNCTIONS + 2 ? MATHS_REDUCTIONS : n + 1);
                }
            }
        }
}

/* Cases in which a sum in double, rounded to float, is wrong or may be: strong cancellation, a product near half an ulp of the sum,
 * subnormal results, and sums so close to a tie that double rounds them to it: 2^e (1 + 2^-j)(1 - 2^-j) is 2^-2j below half an ulp of an
 * odd c. */
static void draw_fma(gr_stream *s, gr_real *a, gr_real *b, gr_real *c)
{
    const uint32_t r = gr_stream_bits(s), mantissa = gr_stream_bits(s) & 0xffff, sign = r & 2 ? 0x80000000u : 0;
    const int shift = (int)(r >> 8 & 31), j = 12 + (int)(r >> 16) % 12;
    const float x = (float)(1 + mantissa * (r & 1 ? 1 : 127)), y = (float)(1 + (gr_stream_bits(s) & 0x1ff));
    float fa = x, fb = y, fc = float_of(gr_stream_bits(s));
    if (r % 5 == 0) fc = -x * y * (r & 4 ? 1 : 1 + 0x1p-23f);
    else if (r % 5 == 1) fc = ldexpf(1 + (float)(r >> 16) * 0x1p-16f, 24 + shift);
    else if (r % 5 == 2) fa = ldexpf(x, -80), fb = ldexpf(y, -80 + shift), fc = float_of(gr_stream_bits(s) & 0x80ffffff);
    else if (r % 5 == 3) {
        const bool small = r & 4; /* then c is subnormal and odd, too */
        fa = ldexpf(1 + ldexpf(1, -j), small ? -75 : shift), fb = ldexpf(1 - ldexpf(1, -j), small ? -75 : 0);
        fc = small ? float_of(0x400001 + 2 * mantissa) : ldexpf((float)(0x800001 + 2 * mantissa), shift + 1);
    } else fa = float_of(gr_stream_bits(s)), fb = float_of(gr_stream_bits(s));
    *a = fa, *b = float_of(float_bits(fb) ^ sign), *c = fc;
}

static double bounded(float x) { return isinf(x) ? copysign(0x1p128, (double)x) : (double)x; }

/* a b + c, rounded once; the fmaf of some C libraries rounds twice. The product is exact in double, and the exact sum is s + e (Knuth). s rounds to the same
 * float as the exact sum, unless s is halfway between two floats. */
static float fma_of(float a, float b, float c)
{
    const double p = (double)a * (double)b, s = p + (double)c, v = s - p, e = (p - (s - v)) + ((double)c - v);
    const float near = (float)s, other = nextafterf(near, e > 0 ? INFINITY : -INFINITY); /* other is on the side of e */
    return (e > 0 || e < 0) && s - bounded(near) == bounded(other) - s ? other : near;
}

TEST(fused_multiply_add_rounds_once)
{
    if (sizeof(gr_real) != sizeof(float)) return; /* in the double library r_fma need not be fused */
    gr_stream s = gr_stream_new(1, "fma");
    enum { N = 4096 };
    static gr_real a[N], b[N], c[N], got[N];
    for (int round = 0; round < 64; round++) {
        for (size_t i = 0; i < N; i++) draw_fma(&s, a + i, b + i, c + i);
        EACH_ISA(isa)
        {
            maths_fma_kernel[isa_index(isa)](got, a, b, c, N);
            for (size_t i = 0; i < N; i++) {
                const float want = fma_of((float)a[i], (float)b[i], (float)c[i]);
                if (!memcmp(got + i, &want, sizeof want) || (isnan(got[i]) && isnan(want))) continue;
                fail_msg("%s: fma(%a, %a, %a) is %a and should be %a", isa, (double)a[i], (double)b[i], (double)c[i], (double)got[i],
                         (double)want);
            }
        }
    }
}

static gr_real sum_by_lanes(const gr_real *x, size_t n)
{
    gr_real lane[16] = { 0 };
    for (size_t i = 0; i < n; i++) lane[i % 16] += x[i];
    for (int apart = 8; apart; apart /= 2)
        for (int l = 0; l < apart; l++) lane[l] += lane[l + apart];
    return lane[0];
}

TEST(sums_run_in_sixteen_lanes_and_one_tree)
{
    gr_stream s = gr_stream_new(1, "sum");
    for (size_t n = 0; n <= 70; n++) {
        gr_real x[70], y[70], out[MATHS_REDUCTIONS];
        for (size_t i = 0; i < n; i++) x[i] = (gr_real)gr_stream_normal(&s, 0, 1), y[i] = (gr_real)gr_stream_normal(&s, 0, 1e3);
        maths_reduce_kernel[best_index()](out, x, y, n);
        const gr_real want[] = { sum_by_lanes(x, n), sum_by_lanes(y, n) };
        assert_same_bits(out, want, 1);
        assert_same_bits(out + 2, want, 2);
        double dot = 0, product = 1;
        for (size_t i = 0; i < n; i++) dot += (double)x[i] * (double)y[i], product *= (double)x[i];
        assert_true(fabs((double)out[1] - dot) <= 1e-2 && fabs((double)out[6] - product) <= 1e-5 * fabs(product));
    }
}

TEST(a_maximum_is_exact_and_a_nan_anywhere_shows)
{
    gr_stream s = gr_stream_new(1, "max");
    for (size_t n = 0; n <= 70; n++) {
        gr_real x[70], out[MATHS_REDUCTIONS], largest = (gr_real)-INFINITY, smallest = (gr_real)INFINITY;
        for (size_t i = 0; i < n; i++) {
            x[i] = (gr_real)gr_stream_normal(&s, i % 2 ? 10 : -10, 1);
            largest = x[i] > largest ? x[i] : largest, smallest = x[i] < smallest ? x[i] : smallest;
        }
        maths_reduce_kernel[best_index()](out, x, x, n);
        assert_true(out[4] == largest && out[5] == smallest);
        for (size_t i = 0; i < n; i++) {
            const gr_real kept = x[i];
            x[i] = (gr_real)NAN;
            maths_reduce_kernel[best_index()](out, x, x, n);
            assert_true(isnan(out[4]) && isnan(out[5]));
            x[i] = kept;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_are_within_their_bounds_on_samples),
        cmocka_unit_test(errors_are_within_their_bounds_where_pieces_meet),
        cmocka_unit_test(special_values_are_those_of_c),
        cmocka_unit_test(sin_cos_and_tan_of_large_arguments_are_right),
        cmocka_unit_test(pow_is_cs_on_special_pairs),
        cmocka_unit_test(pow_is_exact_where_the_result_is_a_float),
        cmocka_unit_test(every_instruction_set_gives_the_same_bits),
        cmocka_unit_test(fused_multiply_add_rounds_once),
        cmocka_unit_test(sums_run_in_sixteen_lanes_and_one_tree),
        cmocka_unit_test(a_maximum_is_exact_and_a_nan_anywhere_shows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
