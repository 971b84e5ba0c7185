/* tests/test_program_tagger.c - examples/tagger as its users see it. */
#include "tests/program.h"

TEST(two_ways_are_right_and_one_way_is_not)
{
    assert_run("--check", "--quiet");
#ifdef GR_OPENBLAS
    printf("not run: a sample's bits in any batch, OpenBLAS does not promise them\n");
#else
    assert_non_null(strstr(out, "; padding changed 0 of 500 answers\n"));
#endif
    assert_int_equal(RUN("--check", "--quiet", "--one-way"), 1);
    assert_non_null(strstr(err, " % is not more than 99 %, or padding changed "));
}

TEST(the_same_seed_prints_the_same)
{
    assert_seed_decides("--steps=5");
}

TEST(bad_flags_are_refused)
{
    assert_ends(2, "tagger: --steps needs a whole number from 1 to 1000000000; got \"0\"\n", "--steps=0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_ways_are_right_and_one_way_is_not),
        cmocka_unit_test(the_same_seed_prints_the_same),
        cmocka_unit_test(bad_flags_are_refused),
    };
    return cmocka_run_group_tests(tests, program_set_up, program_tear_down);
}
