/* tests/test_program_vae.c - examples/vae as its users see it. */
#include "tests/program.h"

#define TINY "--data", data, "--hidden=32", "--latent=4", "--batch=50", "--lr=5e-3"

TEST(it_learns_and_draws)
{
    put_digits();
    assert_run(TINY, "--steps=300", "--eval-every=300", "--check");
    const char *const last = strstr(out, "\nstep   300  loss ");
    assert_non_null(last);
    assert_int_equal(strlen(strchr(last + 1, '\n') + 1), 14 * (4 * 28 + 1)); /* 14 rows of four digits */
    assert_string_equal(err, "");
}

TEST(the_same_seed_prints_the_same)
{
    put_digits();
    assert_seed_decides(TINY, "--steps=4");
}

TEST(too_few_steps_miss_the_target)
{
    put_digits();
    assert_int_equal(RUN("--check", "--quiet", TINY, "--steps=1"), 1);
    assert_non_null(strstr(err, "vae: --check: the test loss is "));
}

/* With this learning rate the weights overflow: the loss is NaN, and so is the drawing. */
TEST(a_run_that_diverges_ends_well_and_fails_the_check)
{
    put_digits();
    assert_run(TINY, "--steps=3", "--lr=1e6");
    assert_non_null(strstr(out, "\nstep     3  loss "));
    assert_int_equal(RUN("--check", TINY, "--steps=3", "--lr=1e6"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_learns_and_draws),
        cmocka_unit_test(the_same_seed_prints_the_same),
        cmocka_unit_test(a_run_that_diverges_ends_well_and_fails_the_check),
        cmocka_unit_test(too_few_steps_miss_the_target),
    };
    return cmocka_run_group_tests(tests, program_set_up, program_tear_down);
}
