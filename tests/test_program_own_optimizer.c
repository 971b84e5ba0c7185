/* tests/test_program_own_optimizer.c - examples/own_optimizer as its users see it. */
#include "tests/program.h"

TEST(both_optimizers_learn)
{
    assert_run("--check");
    assert_string_equal(err, "");
    assert_non_null(strstr(out, "\nlion, 4 parameters, step 0\n"));
    assert_non_null(strstr(out, "\nfc1.bias        0.0002             0  [64]\n")); /* 5e-3 / 25, and a bias does not decay */
    assert_non_null(strstr(out, "\nfc2.weight      0.0001          0.01  [1, 64]\n"));
    assert_non_null(strstr(out, "\nlion: mean square error 0.000"));
    assert_non_null(strstr(out, "\nadam: mean square error 0.000"));
}

TEST(threads_change_no_bit)
{
    static char one[1 << 16];
    assert_run("--steps=20", "--threads=1", "--quiet");
    strcpy(one, out);
    assert_run("--steps=20", "--threads=3", "--quiet");
    assert_string_equal(out, one);
}

TEST(a_rate_that_is_too_high_is_noticed)
{
    assert_int_equal(RUN("--lr=1", "--steps=100", "--check", "--quiet"), 1);
    assert_int_equal(strncmp(err, "own_optimizer: --check: the errors are ", 39), 0);
}

TEST(bad_flags_are_refused)
{
    assert_run("--help");
    assert_non_null(strstr(out, "\n  --lr "));
    assert_ends(2, "own_optimizer: --lr needs a number from 1e-12 to 1000000; got \"0\"\n", "--lr=0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_optimizers_learn),
        cmocka_unit_test(threads_change_no_bit),
        cmocka_unit_test(a_rate_that_is_too_high_is_noticed),
        cmocka_unit_test(bad_flags_are_refused),
    };
    return cmocka_run_group_tests(tests, program_set_up, program_tear_down);
}
