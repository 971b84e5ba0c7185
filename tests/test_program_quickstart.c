/* tests/test_program_quickstart.c - examples/quickstart as its users see it. */
#include "tests/program.h"

TEST(the_network_learns_the_exclusive_or)
{
    double loss;
    assert_run("--check");
    assert_string_equal(err, "");
    const char *const last = strstr(out, "\nstep 1000  loss ");
    assert_non_null(last);
    assert_int_equal(sscanf(last, "\nstep 1000  loss %lf", &loss), 1);
    assert_true(loss < 1e-4);
    char checked[1 << 12];
    strcpy(checked, out);
    assert_int_equal(ended(start(NULL, in_dir("out"), (const char *const[]){ program, NULL })), 0);
    assert_string_equal(out, checked);
}

TEST(other_flags_are_refused)
{
    assert_ends(2, "quickstart: \"--help\" is not --check, the only flag\n", "--help");
    assert_ends(2, "quickstart: \"3\" is not --check, the only flag\n", "--check", "3");
    assert_string_equal(out, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_network_learns_the_exclusive_or),
        cmocka_unit_test(other_flags_are_refused),
    };
    return cmocka_run_group_tests(tests, program_set_up, program_tear_down);
}
