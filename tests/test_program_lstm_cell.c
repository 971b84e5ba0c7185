/* tests/test_program_lstm_cell.c - examples/lstm_cell as its users see it. */
#include "tests/program.h"

TEST(the_cell_agrees_with_gr_lstm)
{
    char want[1 << 12];
    int rows = 0;
    assert_run("--check");
    assert_string_equal(err, "");
    assert_concludes("\ndiffer by: the largest difference of any value.", "\nthe cell and gr_lstm ");
    assert_sees("- The two agree: the largest difference is ");
    strcpy(want, out);
    for (char *line = strtok(out, "\n"); line; line = strtok(NULL, "\n")) {
        double off;
        if (strncmp(line, "output", 6) && strncmp(line, "gradient of", 11)) continue;
        assert_int_equal(sscanf(line + 32, "%lf", &off), 1);
        assert_true(off < 1e-3), rows++;
    }
    assert_int_equal(rows, 11);
    assert_non_null(strstr(want, "\nthe cell recorded 106 operators, gr_lstm 1\n"));
    assert_run("--check", "--quiet", "--seed=7", "--threads=1");
    assert_string_equal(out, "the cell recorded 106 operators, gr_lstm 1\n");
}

TEST(another_epsilon_is_noticed_in_every_row)
{
    int missed = 0;
    assert_int_equal(RUN("--eps=0.1", "--check", "--quiet"), 1);
    assert_int_equal(strncmp(err, "lstm_cell: --check: output h: the cell and gr_lstm differ by ", 61), 0);
    for (const char *p = err; (p = strstr(p, "lstm_cell: --check: ")); p++) missed++;
    assert_int_equal(missed, 11);
    assert_run("--eps=0.1", "--quiet");
    assert_concludes_nothing();
    assert_run("--eps=0.1");
    assert_sees("- The two do not agree: they differ by ");
    assert_sees("; the cell has another epsilon.");
}

/* Without an epsilon the cell differs by more than rounding; 1e-30 is as good as none. */
TEST(an_epsilon_of_0_means_none)
{
    char none[1 << 12], same[1 << 12];
    assert_run("--threads=1");
    strcpy(same, out);
    assert_run("--eps=0", "--threads=1");
    strcpy(none, out);
    assert_string_not_equal(none, same);
    assert_run("--eps=1e-30", "--threads=1");
    assert_string_equal(out, none);
}

TEST(the_log_has_a_record_of_each_row)
{
    static char text[1 << 14];
    int rows = 0;
    assert_run("--quiet", "--log", in_dir("log"));
    slurp(in_dir("log"), text, sizeof text);
    for (const char *p = text; (p = strstr(p, "\n{\"kind\": \"difference\", \"what\": \"")); p++) rows++;
    assert_int_equal(rows, 11);
    assert_int_equal(unlink(in_dir("log")), 0);
}

TEST(bad_flags_and_paths_are_refused)
{
    assert_run("--help");
    assert_non_null(strstr(out, "\n  --eps "));
    assert_ends(2, "lstm_cell: --eps needs a number from 0 to 1; got \"-1\"\n", "--eps=-1");
    if (access("/dev/full", W_OK) != 0) printf("not run: a full disk, there is no /dev/full\n"), skip();
    assert_ends(3, "lstm_cell: /dev/full: cannot write the log: No space left on device\n", "--log", "/dev/full");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_cell_agrees_with_gr_lstm),    cmocka_unit_test(another_epsilon_is_noticed_in_every_row),
        cmocka_unit_test(an_epsilon_of_0_means_none),      cmocka_unit_test(the_log_has_a_record_of_each_row),
        cmocka_unit_test(bad_flags_and_paths_are_refused),
    };
    return cmocka_run_group_tests(tests, program_set_up, program_tear_down);
}
