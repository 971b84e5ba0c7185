/* tests/test_dive_numbers.c - correlations, ranks, principal axes and percentiles against values by hand and from NumPy.
 *
 * NumPy's values for x[k, j] = (37 (k + 1) (j + 2)^2 + 11 k^2) mod 101: np.corrcoef(x.T), p = w / w.sum() with w =
 * np.linalg.eigvalsh(r), np.exp(-(p * np.log(p)).sum()), np.linalg.eigh(np.cov(x.T, bias=True)), np.percentile(x, q). */
#include "tests/test.h"
#include "examples/dive/numbers.h"
#include "core/op.h"

enum { N = 7, H = 4 };
static void fill_sample(double x[N * H])
{
    for (int k = 0; k < N; k++)
        for (int j = 0; j < H; j++) x[k * H + j] = (37 * (k + 1) * (j + 2) * (j + 2) + 11 * k * k) % 101;
}

static void assert_near(const double *got, const double *want, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!(fabs(got[i] - want[i]) <= 1e-13 * fmax(1, fabs(want[i])))) fail_msg("element %zu is %.17g and should be %.17g", i, got[i], want[i]);
}
#define NEAR(got, ...) assert_near(got, (const double[]){ __VA_ARGS__ }, COUNT(((const double[]){ __VA_ARGS__ })))

TEST(correlations_are_those_of_numpy)
{
    gr_tape *t = gr_tape_new(1, NULL);
    double x[N * H], r[H * H];
    fill_sample(x);
    assert_int_equal(dive_correlate(t, x, N, H, r), 0);
    NEAR(r, 1, -0.173540668468042, -0.306103780489927, 0.565519907533802, -0.173540668468042, 1, 0.17388862239281, 0.344767948679529,
         -0.306103780489927, 0.17388862239281, 1, -0.676492115899539, 0.565519907533802, 0.344767948679529, -0.676492115899539, 1);
    NEAR(&(double){ dive_mean_abs_r(r, H) }, 0.373385507243942);
    NEAR(&(double){ dive_mean_r(r, H) }, -0.0119933477085611);
    NEAR(&(double){ dive_effective_rank(t, r, H) }, 2.92942961710474);
    assert_ok(t);
    gr_tape_free(t);
}

TEST(correlation_ignores_scale_and_shift_but_not_sign)
{
    gr_tape *t = gr_tape_new(1, NULL);
    double x[5 * 3], r[9];
    for (int i = 0; i < 5; i++) x[i * 3] = i * i, x[i * 3 + 1] = 1e6 + 3.0 * i * i, x[i * 3 + 2] = 7 - 0.25 * i * i;
    assert_int_equal(dive_correlate(t, x, 5, 3, r), 0);
    NEAR(r, 1, 1, -1, 1, 1, -1, -1, -1, 1);
    NEAR(&(double){ dive_effective_rank(t, r, 3) }, 1);
    gr_tape_free(t);
}

TEST(columns_without_variance_have_no_correlation)
{
    gr_tape *t = gr_tape_new(1, NULL);
    double r[9];
    assert_int_equal(dive_correlate(t, (const double[]){ 1, 5, 2, 2, 5, 1, 3, 5, 3, 4, 5, 4 }, 4, 3, r), 1);
    for (int k = 0; k < 3; k++) assert_true(isnan(r[3 + k]) && isnan(r[3 * k + 1]));
    NEAR(&(double){ r[2] }, 0.8); /* deviations -1.5 -0.5 0.5 1.5 and -0.5 -1.5 0.5 1.5: 4 / 5 */
    NEAR(&(double){ dive_mean_abs_r(r, 3) }, 0.8);
    NEAR(&(double){ dive_effective_rank(t, r, 3) }, exp(-0.9 * log(0.9) - 0.1 * log(0.1))); /* eigenvalues 1.8 and 0.2 */
    assert_int_equal(dive_correlate(t, (const double[]){ 3, 3, 3, 3 }, 2, 2, r), 2);
    assert_true(isnan(dive_mean_abs_r(r, 2)) && isnan(dive_mean_r(r, 2)) && isnan(dive_effective_rank(t, r, 2)));
    assert_ok(t);
    gr_tape_free(t);
}

TEST(eigenvalues_fall_and_vectors_turn_the_matrix_diagonal)
{
    gr_tape *t = gr_tape_new(1, NULL);
    double a[] = { 2, 1, 0, 1, 2, 0, 0, 0, 5 }, value[3], vector[9];
    assert_true(dive_eigen(t, a, 3, value, vector));
    NEAR(value, 5, 3, 1);
    NEAR(vector + 3, sqrt(0.5), sqrt(0.5), 0);
    enum { M = 40 };
    double *const s = malloc(sizeof(double[M * M])), *const b = malloc(sizeof(double[M * M])), *const v = malloc(sizeof(double[M * M]));
    double w[M];
    gr_stream stream = gr_stream_new(7, "eigen");
    for (int i = 0; i < M; i++)
        for (int j = 0; j <= i; j++) s[i * M + j] = s[j * M + i] = gr_stream_normal(&stream, 0, 1);
    memcpy(b, s, sizeof(double[M * M]));
    assert_true(dive_eigen(t, b, M, w, v));
    for (int k = 0; k < M; k++)
        for (int i = 0; i < M; i++) { /* s v = w v, and v_k v_i = 0 or 1 */
            double sv = 0, vv = 0;
            for (int j = 0; j < M; j++) sv += s[i * M + j] * v[k * M + j], vv += v[k * M + j] * v[i * M + j];
            assert_true(fabs(sv - w[k] * v[k * M + i]) < 1e-12 && fabs(vv - (i == k)) < 1e-13);
        }
    for (int k = 1; k < M; k++) assert_true(w[k] <= w[k - 1]);
    free(s), free(b), free(v);
    gr_tape_free(t);
}

TEST(principal_axes_are_those_of_numpy)
{
    gr_tape *t = gr_tape_new(1, NULL);
    double x[N * H], mean[H], axes[2 * H], share[2], y[N * 2];
    fill_sample(x);
    assert_true(dive_principal(t, x, N, H, 2, mean, axes, share));
    assert_true(fabs(share[0] - 0.59682049) < 1e-8 && fabs(share[1] - 0.21538713) < 1e-8);
    NEAR(axes, -0.441456420267876, 0.024665368302462, 0.723444019970624, -0.530223159225924, 0.814307020452272, 0.020043810798953,
         0.571035720706751, 0.102080986318315);
    dive_project(x, N, H, mean, axes, 2, y);
    assert_true(fabs(y[0] - 35.92422001) < 1e-8 && fabs(y[1] - 16.86229717) < 1e-8);
    gr_tape_free(t);
}

TEST(percentiles_are_those_of_numpy)
{
    double x[N * H];
    static const double at[] = { 0, 15, 50, 85, 100 }, want[] = { 0, 5.1, 45, 84.95, 96 };
    for (size_t k = 0; k < COUNT(at); k++) fill_sample(x), NEAR(&(double){ dive_percentile(x, N * H, at[k]) }, want[k]);
    assert_true(isnan(dive_percentile(x, 0, 50)));
    NEAR(&(double){ dive_percentile((double[]){ 3 }, 1, 85) }, 3);
    NEAR(&(double){ dive_percentile((double[]){ 2, 2, 2, 2 }, 4, 15) }, 2);
    for (size_t n = 1; n < 60; n++) { /* for the values 0 .. n-1 in any order the p-th percentile is p (n - 1) / 100 */
        double some[60];
        size_t order[60];
        gr_stream stream = gr_stream_new(n, "order");
        gr_stream_permutation(&stream, order, n);
        for (size_t i = 0; i < n; i++) some[i] = (double)order[i];
        NEAR(&(double){ dive_percentile(some, n, 37) }, 0.37 * (double)(n - 1));
    }
}

TEST(helmert_keeps_lengths_and_removes_the_mean)
{
    double y[3];
    dive_helmert((const double[]){ 1, 2, 3, 4 }, 4, y);
    NEAR(y, -1 / sqrt(2), -3 / sqrt(6), -6 / sqrt(12));
    NEAR(&(double){ y[0] * y[0] + y[1] * y[1] + y[2] * y[2] }, 5); /* sum of (x - 2.5)^2 */
    dive_helmert((const double[]){ 7, 7, 7, 7 }, 4, y);
    NEAR(y, 0, 0, 0);
}

TEST(rows_have_mean_0_and_variance_1)
{
    double y[4] = { 1, 2, 3, 4 };
    const dive_moments m = dive_moments_of(y, 4);
    NEAR(&m.mean, 2.5), NEAR(&m.var, 1.25);
    dive_normalize_rows(y, 1, 4, 0, y);
    NEAR(y, -1.5 / sqrt(1.25), -0.5 / sqrt(1.25), 0.5 / sqrt(1.25), 1.5 / sqrt(1.25));
    dive_normalize_rows((const double[]){ 2, 2 }, 1, 2, 1e-5, y);
    NEAR(y, 0, 0);
}

TEST(columns_of_a_tensor_are_taken_out)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *x = gr_reshape(t, gr_arange(t, 12), GR_SHAPE(2, 6));
    NEAR(dive_columns(t, x, 2, 3), 2, 3, 4, 8, 9, 10);
    NEAR(dive_doubles(t, x), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11);
    assert_null(dive_columns(t, NULL, 0, 1));
    assert_fails(t, dive_columns(t, x, 4, 3), "columns 4 to 7 of a matrix of 6");
    gr_tape_free(t);
}

TEST(without_memory_there_are_no_numbers)
{
    double x[N * H], r[H * H];
    fill_sample(x);
    gr_tape *t = gr_tape_new(1, NULL);
    gr_fail_as(t, GR_NO_MEMORY, "", "out of memory");
    assert_int_equal(dive_correlate(t, x, N, H, r), H);
    assert_true(isnan(r[0]) && isnan(dive_effective_rank(t, (const double[]){ 1 }, 1)));
    assert_false(dive_eigen(t, NULL, 1, NULL, NULL));
    assert_false(dive_principal(t, x, N, H, 2, r, r, r));
    gr_tape_free(t);
}

/* Computed by numpy with 2000 Gauss-Legendre nodes. Three digits are in Cooijmans et al. 2016, figure 1b. */
TEST(the_mean_slope_of_tanh_is_the_papers)
{
    assert_true(fabs(dive_tanh_slope(0.1) - 0.990) < 1e-3 && fabs(dive_tanh_slope(0.5) - 0.827) < 1e-3);
    assert_true(fabs(dive_tanh_slope(1) - 0.606) < 1e-3);
    assert_true(fabs(dive_tanh_slope(1) - 0.60570550960209) < 1e-12);
    assert_true(fabs(dive_tanh_slope(4) - 0.19460072053625) < 1e-11);
    assert_true(fabs(dive_tanh_slope(0) - 1) < 1e-12);
}

TEST(the_exponent_is_that_of_a_power)
{
    const double x[] = { 2, 4, 8, 16, 31 };
    double y[5];
    for (int k = 0; k < 5; k++) y[k] = 7 * pow(x[k], -0.5);
    assert_true(fabs(dive_exponent(x, y, 5) + 0.5) < 1e-12);
    assert_true(isnan(dive_exponent(x, y, 1)));
    /* numpy.polyfit(log(x), log([1, 2, 2, 3, 3]), 1)[0] */
    assert_true(fabs(dive_exponent(x, (const double[]){ 1, 2, 2, 3, 3 }, 5) - 0.379860927595) < 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(correlations_are_those_of_numpy),
        cmocka_unit_test(correlation_ignores_scale_and_shift_but_not_sign),
        cmocka_unit_test(columns_without_variance_have_no_correlation),
        cmocka_unit_test(eigenvalues_fall_and_vectors_turn_the_matrix_diagonal),
        cmocka_unit_test(principal_axes_are_those_of_numpy),
        cmocka_unit_test(percentiles_are_those_of_numpy),
        cmocka_unit_test(helmert_keeps_lengths_and_removes_the_mean),
        cmocka_unit_test(rows_have_mean_0_and_variance_1),
        cmocka_unit_test(columns_of_a_tensor_are_taken_out),
        cmocka_unit_test(the_mean_slope_of_tanh_is_the_papers),
        cmocka_unit_test(the_exponent_is_that_of_a_power),
        cmocka_unit_test(without_memory_there_are_no_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
