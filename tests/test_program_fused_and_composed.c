/* tests/test_program_fused_and_composed.c - examples/fused_and_composed as its users see it. */
#include "tests/program.h"

static const char *const names[] = { "linear", "softmax", "log_softmax", "cross_entropy", "attention", "conv2d", "max_pool2d", "avg_pool2d",
                                     "norm_axes", "layer_norm", "rms_norm", "batch_norm", "group_norm", "instance_norm", "lstm",
                                     "lstm, LayerNorm", "gru", "rnn" };
enum { WIDTH = 16 };

TEST(every_operator_agrees_with_its_twin_keeps_less_and_is_in_the_log)
{
    static char text[1 << 14];
    assert_run("--check", "--repeats=1", "--log", in_dir("log"));
    assert_string_equal(err, "");
    assert_concludes("\ndifference: fused and twin, relative to the largest value,", "\nlinear ");
    assert_sees("- Fused and twin agree up to rounding: the largest relative difference of an output or a gradient is ");
    assert_sees(" times the bytes of the fused operator; the most is for cross_entropy.");
    const char *line = strstr(out, "gradients   fused");
    assert_non_null(line);
    for (size_t i = 0; i < COUNT(names); i++) {
        double y, dx;
        size_t nodes[2], kept[2];
        line = strchr(line, '\n') + 1;
        assert_memory_equal(line, names[i], strlen(names[i]));
        assert_int_equal(sscanf(line + WIDTH, "%lf %lf %zu %zu %zu %zu", &y, &dx, &nodes[0], &nodes[1], &kept[0], &kept[1]), 6);
        assert_true(y < 1e-4 && dx < 1e-4);
        assert_true(nodes[0] == 1 && nodes[1] > 1 && kept[0] < kept[1]);
    }
    assert_int_equal(strncmp(strchr(line, '\n'), "\n\nWhat to see\n", 14), 0);
    slurp(in_dir("log"), text, sizeof text);
    size_t records = 0;
    for (const char *p = text; (p = strstr(p, "\n{\"kind\": \"pair\", \"name\": \"")); p++) records++;
    assert_int_equal(records, COUNT(names));
    assert_int_equal(unlink(in_dir("log")), 0);
}

/* The last run's row without the two times at its end. */
static void read_row(char row[128])
{
    char number[6][16];
    assert_int_equal(sscanf(out + WIDTH, "%15s %15s %15s %15s %15s %15s", number[0], number[1], number[2], number[3], number[4], number[5]), 6);
    row[0] = 0;
    for (int i = 0; i < 6; i++) strcat(strcat(row, number[i]), " ");
}

TEST(only_one_is_compared_with_the_same_numbers_for_any_threads)
{
    char want[128], got[128];
    assert_run("--only=lstm, LayerNorm", "--quiet", "--repeats=1", "--threads=1");
    read_row(want);
    assert_run("--only=lstm, LayerNorm", "--quiet", "--repeats=1", "--threads=3");
    read_row(got);
    assert_string_equal(got, want);
    for (int seed = 1; seed < 9 && strcmp(got, want) == 0; seed++) { /* the differences have one digit, which two seeds may share */
        char flag[24];
        snprintf(flag, sizeof flag, "--seed=%d", seed);
        assert_run("--only=lstm, LayerNorm", "--quiet", "--repeats=1", "--threads=1", flag);
        read_row(got);
    }
    assert_string_not_equal(got, want);
    assert_concludes_nothing();
}

TEST(bad_flags_and_paths_are_refused)
{
    assert_run("--help");
    assert_non_null(strstr(out, "\n  --only "));
    assert_ends(2, "fused_and_composed: --only: there is no operator \"tanh\"; there are \"linear\", \"softmax\", \"log_softmax\", "
                   "\"cross_entropy\", \"attention\", \"conv2d\", \"max_pool2d\", \"avg_pool2d\", \"norm_axes\", \"layer_norm\", \"rms_norm\", "
                   "\"batch_norm\", \"group_norm\", \"instance_norm\", \"lstm\", \"lstm, LayerNorm\", \"gru\", \"rnn\"\n", "--only=tanh");
    assert_ends(2, "fused_and_composed: --repeats needs a whole number from 1 to 1000000; got \"0\"\n", "--repeats=0");
    if (access("/dev/full", W_OK) != 0) printf("not run: a full disk, there is no /dev/full\n"), skip();
    assert_ends(3, "fused_and_composed: /dev/full: cannot write the log: No space left on device\n", "--log", "/dev/full");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operator_agrees_with_its_twin_keeps_less_and_is_in_the_log),
        cmocka_unit_test(only_one_is_compared_with_the_same_numbers_for_any_threads),
        cmocka_unit_test(bad_flags_and_paths_are_refused),
    };
    return cmocka_run_group_tests(tests, program_set_up, program_tear_down);
}
