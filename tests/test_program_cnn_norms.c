/* tests/test_program_cnn_norms.c - examples/cnn_norms as its users see it. */
#include "tests/program.h"

#define TINY "--data", data, "--threads", "1", "--steps", "4", "--eval-every", "4", "--batch", "8", "--smallest", "4", "--factor", "2"

/* The fingerprints of the arms of the log, which is removed. */
static void fingerprints(char *print)
{
    static char text[1 << 15];
    int arms = 0;
    slurp(in_dir("log"), text, sizeof text);
    assert_int_equal(unlink(in_dir("log")), 0);
    for (const char *p = text; (p = strstr(p, "\"fingerprint\": ")); p++) strncat(print, p, 33), arms++;
    assert_int_equal(arms, 8);
}
static char first[512];

TEST(each_batch_size_has_a_table_and_there_is_a_common_one)
{
    put_digits();
    assert_run(TINY, "--quiet", "--log", in_dir("log"));
    assert_string_equal(err, "");
    for (int batch = 4; batch <= 8; batch *= 2) {
        char line[32];
        snprintf(line, sizeof line, "batch %d, 4 steps\n", batch);
        assert_non_null(strstr(out, line));
    }
    assert_non_null(strstr(out, "\nbatch                     none                    BN                    LN                    GN\n4    "));
    assert_non_null(strstr(out, "\n8    "));
    fingerprints(first);
}

TEST(what_to_see_comes_from_the_numbers_of_the_run)
{
    assert_concludes_nothing(); /* of the run before, which was quiet */
    assert_run(TINY);
    assert_concludes("While the arms train: test loss and accuracy of each; ", "\nbatch 4, 4 steps\n");
    assert_sees("- batch 8: nothing can be seen yet. After 4 steps the lowest test loss is ");
    assert_null(strstr(out, "From batch"));
    static const char *const names[] = { "the arm without a norm", "BN", "LN", "GN" };
    double large[4], small[4];
    char want[160];
    assert_run("--data", data, "--threads=1", "--steps=80", "--eval-every=80", "--batch=8", "--smallest=4");
    assert_concludes("While the arms train: ", "\nbatch 4, 80 steps\n");
    const char *const table = strstr(out, "\nbatch                     none");
    assert_int_equal(sscanf(strstr(table, "\n4 ") + 2, "%lf %% %*f %lf %% %*f %lf %% %*f %lf", &small[0], &small[1], &small[2], &small[3]), 4);
    assert_int_equal(sscanf(strstr(table, "\n8 ") + 2, "%lf %% %*f %lf %% %*f %lf %% %*f %lf", &large[0], &large[1], &large[2], &large[3]), 4);
    assert_sees("- From batch 8 to batch 4 the test accuracy changes by these points: ");
    for (size_t i = 0; i < 4; i++) {
        snprintf(want, sizeof want, "%+.2f (%s)", small[i] - large[i], names[i]);
        assert_sees(want);
    }
    assert_sees(" A change of up to ");
}

TEST(a_gradient_of_0_before_a_norm_is_explained)
{
    assert_run("--data", data, "--threads=1", "--steps=4", "--eval-every=4", "--batch=2");
    assert_non_null(strstr(err, "BN:\n")), assert_non_null(strstr(err, "\ncnn.fc1.bias      the gradient is 0 in all 128 values\n"));
    assert_sees("- batch 2: the list on stderr that begins with \"BN:\" has a gradient that is 0 in all values. ");
    assert_columns();
    assert_run(TINY);
    assert_null(strstr(out, "stderr"));
}

TEST(any_number_of_threads_gives_the_same_arms)
{
    char print[sizeof first] = "";
    assert_run(TINY, "--quiet", "--threads=3", "--log", in_dir("log"));
    fingerprints(print);
    assert_string_equal(print, first);
}

TEST(a_residual_block_makes_other_networks)
{
    char print[sizeof first] = "";
    assert_run(TINY, "--quiet", "--residual", "--log", in_dir("log"));
    fingerprints(print);
    assert_string_not_equal(print, first);
}

TEST(a_batch_has_at_most_all_images)
{
    assert_run("--data", data, "--threads=1", "--steps=1", "--eval-every=1", "--batch=1000", "--smallest=100", "--factor=1000", "--quiet");
    assert_non_null(strstr(out, "\nbatch 200, 1 steps\n"));
    assert_null(strstr(out, "1000"));
}

/* After 4 steps nothing is learned, with BatchNorm or GroupNorm. */
TEST(a_missed_target_ends_with_1)
{
    assert_int_equal(RUN(TINY, "--quiet", "--check"), 1);
    assert_non_null(strstr(err, "cnn_norms: --check: batch 4: the test loss of BN, "));
}

TEST(bad_flags_and_paths_are_refused)
{
    assert_ends(2, "cnn_norms: --factor needs a whole number from 2 to 1048576; got \"1\"\n", "--factor=1");
    assert_ends(2, "cnn_norms: --batch: with batches of 199 the last of 200 images is alone in its batch; BatchNorm needs 2 or more\n", "--data", data,
                "--batch=199");
    assert_ends(2, "cnn_norms: --smallest and --factor: with batches of 199 the last of 200 images is alone in its batch; BatchNorm needs 2 or more\n",
                "--data", data, "--batch=200", "--smallest=199");
    assert_ends(2, "cnn_norms: --smallest needs a whole number from 2 to 1048576; got \"1\"\n", "--smallest=1");
    assert_ends(2, "cnn_norms: --smallest is at most --batch, the largest batch; got 16 and 8\n", "--smallest=16", "--batch=8");
    assert_int_equal(RUN("--data", in_dir("none")), 2);
    assert_string_equal(out, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_batch_size_has_a_table_and_there_is_a_common_one),
        cmocka_unit_test(what_to_see_comes_from_the_numbers_of_the_run),
        cmocka_unit_test(a_gradient_of_0_before_a_norm_is_explained),
        cmocka_unit_test(any_number_of_threads_gives_the_same_arms),
        cmocka_unit_test(a_residual_block_makes_other_networks),
        cmocka_unit_test(a_batch_has_at_most_all_images),
        cmocka_unit_test(a_missed_target_ends_with_1),
        cmocka_unit_test(bad_flags_and_paths_are_refused),
    };
    return cmocka_run_group_tests(tests, program_set_up, program_tear_down);
}
