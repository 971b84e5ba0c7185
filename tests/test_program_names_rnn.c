/* tests/test_program_names_rnn.c - examples/names_rnn as its users see it. */
#include "tests/program.h"
#include <math.h>

#define SMALL "--hidden=8", "--embedding=6", "--steps=4", "--eval-every=60", "--threads=1"
enum { ARMS = 4, ROWS = 7 };

/* Read the table of the effect of padding. Its columns are the arms none, poisoned, masked and LN. */
static void read_padding(double p[ROWS][ARMS])
{
    const char *line = strstr(out, "of a training batch is padding.");
    assert_non_null(line);
    line = strchr(strchr(line, '\n') + 1, '\n') + 1;
    for (int k = 0; k < ROWS; k++, line = strchr(line, '\n') + 1)
        assert_int_equal(sscanf(line + 38, "%lf %lf %lf %lf", &p[k][0], &p[k][1], &p[k][2], &p[k][3]), ARMS);
}

TEST(padding_changes_the_poisoned_norm_alone)
{
    double p[ROWS][ARMS];
    assert_run(SMALL, "--steps=60");
    assert_string_equal(err, "");
    assert_concludes("While the arms train: test loss and accuracy of each; ", "\nnames, 60 steps\n");
    read_padding(p);
    char want[200];
    const double training = fmax(fabs(p[1][1] - p[0][1]), fabs(p[2][1] - p[0][1]));
    snprintf(want, sizeof want, "- BN poisoned: more padding changes the log-probability of the name by up to %.2g in training and 0 in evaluation.", training);
    assert_sees(want);
    assert_sees("- Padding changes no bit of the log-probability of the name for the arm without a norm, BN masked and LN.");
    snprintf(want, sizeof want, "changes the log-probability by %.2g with BN masked, whose statistics include all names of the batch, and by 0 with LN.",
             fabs(p[3][2] - p[0][2]));
    assert_sees(want);
    assert_null(strstr(out, "test names"));
    for (int k = 1; k < ROWS; k++) assert_true(p[k][0] == p[0][0] && p[k][3] == p[0][3]);
    assert_true(p[1][1] != p[0][1] && p[2][1] != p[1][1]);                              /* poisoned: changes with the amount of padding */
    assert_true(p[1][2] == p[0][2] && p[2][2] == p[0][2] && p[3][2] != p[0][2]);        /* masked: changes only with the other names of the batch */
    for (int a = 1; a <= 2; a++) assert_true(p[5][a] == p[4][a] && p[6][a] == p[4][a]); /* evaluation: changes with neither */
}

TEST(names_are_made_up_from_letters_that_occur)
{
    assert_run(SMALL, "--quiet", "--samples=5");
    const char *const made = strstr(out, "\nsampled from ");
    assert_non_null(made);
    assert_int_equal(strspn(strchr(made, ':') + 1, " \nabcdefghijklmnopqrstuvwxyz"), strlen(strchr(made, ':') + 1));
    assert_columns(), assert_concludes_nothing();
    assert_run(SMALL, "--quiet", "--samples=0");
    assert_null(strstr(out, "sampled from"));
}

TEST(the_same_seed_gives_the_same_text_for_any_threads)
{
    static char want[1 << 14];
    assert_run(SMALL, "--quiet");
    strcpy(want, strstr(out, "% of a training batch"));
    assert_run(SMALL, "--threads=2", "--quiet");
    assert_string_equal(strstr(out, "% of a training batch"), want);
}

TEST(every_cell_trains)
{
    static const char *const cells[] = { "--cell=lstm", "--cell=gru", "--cell=rnn" };
    double p[3][ROWS][ARMS];
    for (int i = 0; i < 3; i++) {
        assert_run(SMALL, "--quiet", cells[i]);
        assert_string_equal(err, "");
        read_padding(p[i]);
        for (int k = 0; k < i; k++) assert_true(p[i][0][0] != p[k][0][0]);
        assert_true(p[i][2][2] == p[i][0][2] && p[i][2][1] != p[i][0][1]);
    }
}

TEST(a_file_of_names_is_read)
{
    FILE *const f = fopen(in_dir("names"), "w");
    assert_non_null(f);
    for (int i = 0; i < 200; i++) fprintf(f, "%.*s\n", i % 9 + 1, "Jean-Luc.");
    assert_int_equal(fclose(f), 0);
    assert_run(SMALL, "--data", in_dir("names"));
    assert_non_null(strstr(out, "180 names to train on, 20 to test, 9 characters: "));
    assert_int_equal(unlink(in_dir("names")), 0);
    char want[256];
    snprintf(want, sizeof want, "names_rnn: %s: cannot be read: No such file or directory\n", in_dir("names"));
    assert_ends(2, want, "--data", in_dir("names"));
}

TEST(a_missed_target_ends_with_1)
{
    assert_int_equal(RUN(SMALL, "--quiet", "--check"), 1);
    assert_non_null(strstr(err, "names_rnn: --check: none: the test loss is "));
    assert_null(strstr(err, "running statistics"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(padding_changes_the_poisoned_norm_alone),
        cmocka_unit_test(names_are_made_up_from_letters_that_occur),
        cmocka_unit_test(the_same_seed_gives_the_same_text_for_any_threads),
        cmocka_unit_test(every_cell_trains),
        cmocka_unit_test(a_file_of_names_is_read),
        cmocka_unit_test(a_missed_target_ends_with_1),
    };
    return cmocka_run_group_tests(tests, program_set_up, program_tear_down);
}
