/* tests/test_program_own_layer.c - examples/own_layer as its users see it. */
#include "tests/program.h"

TEST(the_layer_learns_the_units)
{
    static const double unit[3][4] = { { 1, 1, 1, 1 }, { 1000, 0.1, 30, 5 }, { 0.01, 20, 0.3, 200 } };
    char want[64];
    assert_run("--check");
    assert_string_equal(err, "");
    assert_non_null(strstr(out, "\ngradients of rescale: x right, gain right\n"));
    for (int k = 0; k < 3; k++) {
        double rms[4];
        snprintf(want, sizeof want, "\ndevice %d in norm.square:", k);
        const char *const line = strstr(out, want);
        assert_non_null(line);
        assert_int_equal(sscanf(line + strlen(want), "%lf%lf%lf%lf", rms, rms + 1, rms + 2, rms + 3), 4);
        for (int c = 0; c < 4; c++)
            if (!(fabs(rms[c] / unit[k][c] - 1) < 0.25)) fail_msg("device %d, quantity %d: %g, not about %g", k, c, rms[c], unit[k][c]);
    }
}

TEST(a_step_after_recover_is_the_same_step)
{
    char first[16], on[16], again[16];
    assert_run("--steps=20", "--seed=7");
    const char *const line = strstr(out, "\nloss of the next step ");
    assert_non_null(line);
    assert_int_equal(sscanf(line, "\nloss of the next step %15[^,], once more %15[^,], after gr_tape_recover %15s", first, on, again), 3);
    assert_string_equal(first, again);
    assert_string_not_equal(first, on);
}

TEST(threads_change_no_bit)
{
    static char one[1 << 16];
    assert_run("--steps=20", "--threads=1", "--log", in_dir("log"), "--quiet");
    slurp(in_dir("log"), one, sizeof one);
    strcpy(one, strstr(one, "\n{\"kind\": \"result\", "));
    assert_run("--steps=20", "--threads=3", "--log", in_dir("log"), "--quiet");
    slurp(in_dir("log"), out, sizeof out);
    assert_string_equal(strstr(out, "\n{\"kind\": \"result\", "), one);
    assert_int_equal(unlink(in_dir("log")), 0);
}

TEST(too_few_steps_are_noticed)
{
    assert_int_equal(RUN("--steps=1", "--check", "--quiet"), 1);
    assert_int_equal(strncmp(err, "own_layer: --check: the error is ", 33), 0);
    assert_run("--steps=1", "--quiet", "--noise=0");
}

TEST(bad_flags_and_paths_are_refused)
{
    assert_run("--help");
    assert_non_null(strstr(out, "\n  --noise "));
    assert_ends(2, "own_layer: --noise needs a number from 0 to 1; got \"2\"\n", "--noise=2");
    if (access("/dev/full", W_OK) != 0) printf("not run: a full disk, there is no /dev/full\n"), skip();
    assert_ends(3, "own_layer: /dev/full: cannot write the log: No space left on device\n", "--log", "/dev/full");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_layer_learns_the_units),      cmocka_unit_test(a_step_after_recover_is_the_same_step),
        cmocka_unit_test(threads_change_no_bit),           cmocka_unit_test(too_few_steps_are_noticed),
        cmocka_unit_test(bad_flags_and_paths_are_refused),
    };
    return cmocka_run_group_tests(tests, program_set_up, program_tear_down);
}
