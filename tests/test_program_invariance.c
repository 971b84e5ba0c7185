/* tests/test_program_invariance.c - examples/invariance as its users see it. */
#include "tests/program.h"

TEST(every_cell_agrees_with_theory)
{
    assert_run("--check");
    assert_string_equal(err, "");
    assert_concludes("\nyes, no: whether theory says ", "\nbatch norm ");
    assert_sees("- Each norm ignores some of the 6 changes, so that its output and gradient stay the same: batch norm 4, weight norm 2, layer norm 4 "
                "and RMS norm 3.");
    assert_sees(" apart, so no cell is in doubt.");
    int yes = 0, no = 0, half = 0;
    for (char *line = strtok(out, "\n"); line; line = strtok(NULL, "\n")) {
        const size_t n = strlen(line);
        if (n < 4 || strcmp(line + n - 4, "PASS")) continue;
        yes += strstr(line, "  yes  ") != NULL, no += strstr(line, "  no  ") != NULL, half += strstr(line, "half the gradient") != NULL;
    }
    assert_int_equal(yes, 13), assert_int_equal(no, 11), assert_int_equal(half, 4);
    assert_run("--quiet", "--seed=7", "--threads=4");
    assert_string_equal(out, "28 of 28 agree with theory\n");
}

/* With an epsilon that is not small beside the variances, a norm is not invariant to re-scaling. It is still exactly invariant to
 * re-centring. */
TEST(a_large_epsilon_fails)
{
    assert_int_equal(RUN("--quiet", "--eps=0.5"), 1);
    assert_non_null(strstr(out, "layer norm    weight matrix re-scaled   yes"));
    assert_non_null(strstr(out, "FAIL"));
    assert_null(strstr(out, "28 of 28"));
    assert_null(strstr(out, "re-centred"));
    assert_concludes_nothing();
    assert_int_equal(RUN("--eps=0.5"), 1);
    assert_columns();
    assert_sees(" cells disagree with theory: an epsilon that is not small beside the variance breaks the invariance to scale.");
}

TEST(the_log_has_a_record_of_each_cell)
{
    static char text[1 << 15];
    int cells = 0;
    assert_run("--quiet", "--log", in_dir("log"));
    slurp(in_dir("log"), text, sizeof text);
    for (const char *p = text; (p = strstr(p, "\n{\"kind\": \"cell\", \"method\": \"")); p++) cells++;
    assert_int_equal(cells, 24);
    assert_int_equal(unlink(in_dir("log")), 0);
}

TEST(bad_flags_and_paths_are_refused)
{
    assert_ends(2, "invariance: --eps needs a number from 0 to 1; got \"2\"\n", "--eps=2");
    assert_int_equal(RUN("--log", in_dir("none/log")), 2);
    assert_non_null(strstr(err, "cannot open the log"));
    assert_string_equal(out, "");
    if (access("/dev/full", W_OK) != 0) printf("not run: a full disk, there is no /dev/full\n"), skip();
    assert_ends(3, "invariance: /dev/full: cannot write the log: No space left on device\n", "--log", "/dev/full");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_cell_agrees_with_theory),
        cmocka_unit_test(a_large_epsilon_fails),
        cmocka_unit_test(the_log_has_a_record_of_each_cell),
        cmocka_unit_test(bad_flags_and_paths_are_refused),
    };
    return cmocka_run_group_tests(tests, program_set_up, program_tear_down);
}
