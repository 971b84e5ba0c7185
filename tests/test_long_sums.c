/* Sums over a long axis: their error stays near that of one rounding, because they are sums of blocks. One sum in 16 lanes, or a chain, is 3 to 400 times
 * as far off. */
#include "tests/test.h"

enum { N = 1 << 20 };

static double mean_of(const gr_real *x, const gr_real *y, double shift)
{
    double sum = 0;
    for (size_t i = 0; i < N; i++) sum += ((double)x[i] - shift) * (y ? (double)y[i] - shift : 1);
    return sum / N;
}

/* Whether a result is as near as some error, relative to its own size. */
static void is_within(double most, const char *what, double got, double want)
{
    const double error = fabs(got / want - 1);
    if (error > most) fail_msg("%s is %.9g and should be %.9g: the error is %.2g", what, got, want, error);
}

static void is_near(const char *what, double got, double want) { is_within(4e-7, what, got, want); }

TEST(sums_over_a_million_values_are_accurate)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *x = gr_rand(t, GR_SHAPE(N), 0, 1, "x"), *y = gr_rand(t, GR_SHAPE(N), 0, 1, "y");
    assert_ok(t);
    const double mean = mean_of(x->data, NULL, 0), var = mean_of(x->data, x->data, mean), square = mean_of(x->data, x->data, 0);
    is_near("the product of two vectors", gr_item(gr_matmul(t, x, y)), mean_of(x->data, y->data, 0) * N);
    double exps = 0, absolute = 0, cubes = 0;
    for (size_t i = 0; i < N; i++) exps += exp((double)x->data[i]), absolute += fabs((double)x->data[i]), cubes += pow((double)x->data[i], 3);
    is_near("the sum", gr_item(gr_sum(t, x, GR_ALL_AXES, false)), mean * N);
    is_near("the mean", gr_item(gr_mean(t, x, GR_ALL_AXES, false)), mean);
    is_near("logsumexp", gr_item(gr_logsumexp(t, x, GR_ALL_AXES, false)), log(exps));
    is_near("the norm with p = 1", gr_item(gr_vector_norm(t, x, 1, GR_ALL_AXES, false)), absolute);
    is_near("the norm with p = 2", gr_item(gr_vector_norm(t, x, 2, GR_ALL_AXES, false)), sqrt(square * N));
    is_near("the norm with p = 3", gr_item(gr_vector_norm(t, x, 3, GR_ALL_AXES, false)), cbrt(cubes));
    is_near("the variance", gr_item(gr_var(t, x, GR_ALL_AXES, 0, false)), var);
    const gr_tensor *rms = gr_rms_norm(t, x, 1, NULL, GR_NONE), *norm = gr_layer_norm(t, x, 1, NULL, NULL, GR_NONE);
    assert_ok(t);
    for (size_t i = 0; i < N; i += N / 64) {
        is_near("rms_norm", (double)rms->data[i], (double)x->data[i] / sqrt(square));
        if (fabs((double)x->data[i] - mean) > 0.25) is_near("layer_norm", (double)norm->data[i], ((double)x->data[i] - mean) / sqrt(var));
    }
    gr_tape_free(t);
}

/* A matrix product is not as accurate as a product of vectors: it adds 2048 products to one number. As one chain it would be off by 1.2e-5, where it is 3.7e-7. */
TEST(a_product_of_matrices_cuts_a_long_k)
{
#ifdef GR_OPENBLAS
    puts("not run: the error of a long sum, OpenBLAS does not promise that of gr_matmul");
    return;
#endif
    enum { ROWS = 16, K = N / ROWS };
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *x = gr_rand(t, GR_SHAPE(ROWS, K), 0, 1, "x"), *y = gr_rand(t, GR_SHAPE(ROWS, K), 0, 1, "y");
    const gr_tensor *z = gr_matmul(t, x, gr_transpose(t, y, 0, 1));
    assert_ok(t);
    for (size_t i = 0; i < ROWS; i++)
        for (size_t j = 0; j < ROWS; j++) {
            double sum = 0;
            for (size_t k = 0; k < K; k++) sum += (double)x->data[i * K + k] * (double)y->data[j * K + k];
            is_within(6e-7, "an element", (double)z->data[i * ROWS + j], sum);
        }
    gr_tape_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(sums_over_a_million_values_are_accurate), cmocka_unit_test(a_product_of_matrices_cuts_a_long_k) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
