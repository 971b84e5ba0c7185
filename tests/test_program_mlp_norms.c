/* tests/test_program_mlp_norms.c - examples/mlp_norms as its users see it, on a small folder of drawn digits. */
#include "tests/program.h"
#include <math.h>

#define SMALL "--data", data, "--hidden=16", "--batch=32", "--steps=6", "--threads=1"

FIXTURE(set_up)
{
    if (program_set_up(state) != 0) return -1;
    put_digits();
    return 0;
}

/* The rows of the tables that begin with an arm's name, without their times. */
static void arms_of(char *text, size_t bytes)
{
    text[0] = 0;
    for (char *line = strtok(out, "\n"); line; line = strtok(NULL, "\n"))
        if (!strncmp(line, "none ", 5) || !strncmp(line, "BN ", 3) || !strncmp(line, "LN ", 3))
            snprintf(text + strlen(text), bytes - strlen(text), "%.50s\n", line);
}

TEST(two_comparisons_of_four_arms_have_a_table_each)
{
    assert_run(SMALL);
    assert_string_equal(err, "");
    assert_non_null(strstr(out, "784-16-16-10, ReLU, weights as He et al., biases 0, Adam, lr 0.001 constant, pixels 0 to 1"));
    assert_non_null(strstr(out, "\n                                  none           BN all        BN hidden        LN hidden\nbatch 32  step      1  "));
    assert_non_null(strstr(out, "\nbatch 32, 6 steps\n"));
    assert_non_null(strstr(out, "\nbatch 4, 6 steps\n"));
    static const char *const rows[] = { "\nnone ", "\nBN all ", "\nBN hidden ", "\nLN hidden " };
    for (size_t i = 0; i < COUNT(rows); i++) {
        const char *const first = strstr(out, rows[i]);
        assert_non_null(first);
        assert_non_null(strstr(first + 1, rows[i]));
    }
}

/* An arm's row in the first table after `from`: training loss, test loss, accuracy. */
static void read_arm(const char *from, const char *arm, double value[3])
{
    const char *const row = strstr(from, arm);
    assert_non_null(row);
    assert_int_equal(sscanf(row + strlen(arm), "%lf %lf %lf", &value[0], &value[1], &value[2]), 3);
}

TEST(what_to_see_has_the_numbers_of_the_tables)
{
    static const char *const arms[] = { "\nnone ", "\nBN all ", "\nBN hidden ", "\nLN hidden " },
                            *const names[] = { "the arm without a norm", "BN all", "BN hidden", "LN hidden" };
    char want[256];
    assert_run("--data", data, "--hidden=64", "--batch=20", "--epochs=8", "--small-epochs=4", "--threads=1");
    assert_concludes("While the arms train: test loss and accuracy of each; ", "\nbatch 20, 80 steps\n");
    double last[4] = { 0 };
    for (int size = 20; size >= 4; size -= 16) {
        double v[4][3], best = 0, worst = 100;
        snprintf(want, sizeof want, "\nbatch %d, ", size);
        for (size_t i = 0; i < 4; i++) read_arm(strstr(out, want), arms[i], v[i]), best = fmax(best, v[i][2]), worst = fmin(worst, v[i][2]);
        for (size_t i = 0; i < 4; i++) {
            snprintf(want, sizeof want, "%+.2f (%s)", v[i][2] - last[i], names[i]); /* of 100 images, so the numbers are exact */
            if (size == 4) assert_sees(want);
            snprintf(want, sizeof want, "%.4f (%s)", v[i][0], names[i]);
            assert_sees(want);
            last[i] = v[i][2];
            if (v[i][2] < best && v[i][2] > worst) continue;
            snprintf(want, sizeof want, "%s (%.2f %%)", names[i], v[i][2]);
            if (best - worst > 20) assert_sees(want); /* far above the noise of 100 images */
        }
        snprintf(want, sizeof want, "- batch %d: BN all is BN hidden with one more BatchNorm, that of the logits, which changes the training loss by %c", size,
                 v[1][0] > v[2][0] ? '+' : '-');
        assert_sees(want);
    }
    assert_sees("- From batch 20 to batch 4 the test accuracy changes by these points: ");
    assert_sees("so compare the arms with each other, not the runs. - All this is one run with seed 42. ");
}

TEST(a_run_that_is_too_short_says_that_nothing_can_be_seen)
{
    assert_run(SMALL, "--steps=1");
    assert_sees("- batch 32: nothing can be seen yet. After 1 step the lowest test loss is ");
    assert_null(strstr(out, "cannot be told apart")), assert_null(strstr(out, "From batch"));
    assert_run(SMALL, "--quiet");
    assert_concludes_nothing();
    assert_columns();
}

TEST(the_same_seed_gives_the_same_losses_for_any_threads_and_instruction_set)
{
    char want[1024], got[1024];
    assert_run(SMALL, "--quiet");
    arms_of(want, sizeof want);
    assert_int_equal(strlen(want), 8 * 51);
    assert_run("--data", data, "--hidden=16", "--batch=32", "--steps=6", "--threads=3", "--quiet");
    arms_of(got, sizeof got);
    assert_string_equal(got, want);
    EACH_ISA(isa)
    {
        if (sizeof(gr_real) == sizeof(double)) continue;
        assert_int_equal(ended(start(isa, in_dir("out"), ARGV(SMALL, "--quiet"))), 0);
        arms_of(got, sizeof got);
        assert_string_equal(got, want);
    }
    assert_run(SMALL, "--quiet", "--seed=43");
    arms_of(got, sizeof got);
    assert_string_not_equal(got, want);
}

TEST(the_log_has_steps_evaluations_and_arms)
{
    static char text[1 << 16];
    int steps = 0, evaluations = 0, arms = 0;
    assert_run(SMALL, "--quiet", "--eval-every=3", "--log", in_dir("log"));
    slurp(in_dir("log"), text, sizeof text);
    assert_int_equal(strncmp(text, "{\"kind\": \"run\", \"program\": \"mlp_norms\"", 38), 0);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        steps += !strncmp(line, "{\"kind\": \"step\", \"run\": \"batch 4\", \"arm\": \"LN hidden\", ", 55);
        evaluations += !strncmp(line, "{\"kind\": \"eval\", \"run\": \"batch 32\", \"arm\": \"BN all\", ", 53);
        arms += !strncmp(line, "{\"kind\": \"arm\", ", 16) && strstr(line, "\"fingerprint\": \"");
    }
    assert_int_equal(steps, 6), assert_int_equal(evaluations, 2), assert_int_equal(arms, 8);
    assert_int_equal(unlink(in_dir("log")), 0);
}

TEST(a_flag_after_paper_replaces_its_value)
{
    assert_run("--data", data, "--paper", "--hidden=16", "--steps=1", "--small-batch=0", "--threads=1");
    assert_non_null(strstr(out, "784-16-16-10, ReLU"));
}

TEST(a_missed_target_ends_with_1_and_says_which)
{
    assert_int_equal(RUN(SMALL, "--quiet", "--steps=1", "--check"), 1);
    assert_non_null(strstr(err, "mlp_norms: --check: batch 4: the training loss of LN hidden, "));
}

TEST(bad_flags_and_paths_are_refused)
{
    char want[256];
    assert_ends(2, "mlp_norms: --batch: with batches of 1 the last of 200 images is alone in its batch; BatchNorm needs 2 or more\n", "--data", data,
                "--batch=1");
    assert_ends(2, "mlp_norms: --small-batch and --cases: with batches of 3 the last of 100 images is alone in its batch; BatchNorm "
                "needs 2 or more\n", "--data", data, "--cases=100", "--small-batch=3");
    assert_ends(2, "mlp_norms: --hidden needs a whole number from 1 to 65536; got \"0\"\n", "--hidden=0");
    snprintf(want, sizeof want,
             "mlp_norms: %s/train-images-idx3-ubyte: no such file, plain or .gz (examples/fetch_mnist.sh fetches MNIST)\n", dir);
    assert_ends(2, want, "--data", dir);
    assert_string_equal(out, "");
}

TEST(an_interrupted_run_ends_with_130)
{
    const pid_t child = start(NULL, in_dir("out"), ARGV("--data", data, "--hidden=16", "--steps=1000000", "--eval-every=1", "--threads=1"));
    while (is_running(child) && (slurp(in_dir("out"), out, sizeof out), !strstr(out, "step "))) continue;
    kill(child, SIGINT);
    assert_int_equal(ended(child), 130);
    assert_string_equal(err, "mlp_norms: interrupted\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_comparisons_of_four_arms_have_a_table_each),
        cmocka_unit_test(what_to_see_has_the_numbers_of_the_tables),
        cmocka_unit_test(a_run_that_is_too_short_says_that_nothing_can_be_seen),
        cmocka_unit_test(the_same_seed_gives_the_same_losses_for_any_threads_and_instruction_set),
        cmocka_unit_test(the_log_has_steps_evaluations_and_arms),
        cmocka_unit_test(a_flag_after_paper_replaces_its_value),
        cmocka_unit_test(a_missed_target_ends_with_1_and_says_which),
        cmocka_unit_test(bad_flags_and_paths_are_refused),
        cmocka_unit_test(an_interrupted_run_ends_with_130),
    };
    return cmocka_run_group_tests(tests, set_up, program_tear_down);
}
