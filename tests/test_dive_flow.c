/* tests/test_dive_flow.c - how the gradients of a row of layers or time steps are summarized by one number. */
#include "tests/test.h"
#include "examples/dive/gradient_flow.h"

static bool near(double a, double b, double tolerance) { return fabs(a - b) <= tolerance; }

TEST(decades_go_from_the_last_to_the_first)
{
    assert_true(near(flow_decades((const double[]){ 1e-12, 5, 1 }, 3), -12, 1e-12)); /* the gradient vanishes */
    assert_true(near(flow_decades((const double[]){ 1000, 0.1, 10 }, 3), 2, 1e-12)); /* explodes */
    assert_true(flow_decades((const double[]){ 0.7 }, 1) == 0);
    assert_true(isnan(flow_decades(NULL, 0)));
    assert_true(isinf(flow_decades((const double[]){ 0, 1 }, 2)));
}

TEST(growth_is_the_factor_of_the_squared_norm_per_layer)
{
    double g[12];
    for (int k = 0; k < 12; k++) g[k] = 3 * pow(1.5, 0.5 * (11 - k)); /* towards the input the squared norm grows by 1.5 per layer */
    g[0] = 99, g[11] = 1e-9;                                          /* the first and the last layer do not count */
    assert_true(near(flow_growth(g, 12, 1), 1.5, 1e-12));
    assert_true(near(flow_growth(g, 12, 3), 1.5, 1e-12));
    assert_true(near(flow_growth((const double[]){ 2, 1 }, 2, 0), 4, 1e-12));
    assert_true(isnan(flow_growth(g, 3, 1)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decades_go_from_the_last_to_the_first),
        cmocka_unit_test(growth_is_the_factor_of_the_squared_norm_per_layer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
