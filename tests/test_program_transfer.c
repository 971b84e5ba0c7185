/* tests/test_program_transfer.c - examples/transfer as its users see it. */
#include "tests/program.h"

TEST(the_file_helps)
{
    assert_run("--check", "--threads=1");
    assert_non_null(strstr(out, "\n4 tensors come from the file; head.weight has another shape there\n"));
    assert_string_equal(err, "");
}

TEST(the_same_seed_prints_the_same)
{
    assert_seed_decides("--steps=20");
}

TEST(too_few_steps_miss_the_target)
{
    assert_int_equal(RUN("--check", "--quiet", "--steps=1"), 1);
    assert_non_null(strstr(err, "transfer: --check: "));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_file_helps),
        cmocka_unit_test(the_same_seed_prints_the_same),
        cmocka_unit_test(too_few_steps_miss_the_target),
    };
    return cmocka_run_group_tests(tests, program_set_up, program_tear_down);
}
