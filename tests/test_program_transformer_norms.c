/* tests/test_program_transformer_norms.c - examples/transformer_norms as its users see it. */
#include "tests/program.h"
#include <math.h>

#define SMALL "--size=8", "--heads=2", "--layers=1", "--context=8", "--batch=4", "--steps=4", "--threads=1"

TEST(two_comparisons_have_a_table_each)
{
    assert_run(SMALL, "--sample=0");
    assert_string_equal(err, "");
    assert_non_null(strstr(out, "1 layers of 8, 2 heads, GELU, windows of 8, Adam, lr 0.02"));
    assert_non_null(strstr(out, "\nwith warm-up, 4 steps\n"));
    assert_non_null(strstr(out, "\nno warm-up, 4 steps\n"));
    static const char *const rows[] = { "\nnone ", "\nBN pre ", "\nLN pre ", "\nRMS pre ", "\nBN post ", "\nLN post ", "\nRMS post " };
    for (size_t i = 0; i < COUNT(rows); i++) assert_non_null(strstr(out, rows[i]));
    assert_null(strstr(out, "written by"));
    assert_concludes("While the arms train: the test accuracy of each; ", "\nwith warm-up, 4 steps\n");
    assert_sees("- with warm-up: nothing can be seen yet. After 4 steps the lowest test loss is ");
    assert_null(strstr(out, "with warm-up and without")), assert_null(strstr(out, "- Warm-up "));
}

TEST(what_to_see_tells_what_warm_up_changes)
{
    char want[200];
    double with, without;
    assert_run("--size=16", "--heads=2", "--layers=1", "--context=16", "--batch=8", "--steps=40", "--eval-every=40", "--threads=1", "--sample=0");
    assert_concludes("While the arms train: ", "\nwith warm-up, 40 steps\n");
    assert_int_equal(sscanf(strstr(strstr(out, "\nwith warm-up, "), "\nLN post ") + 9, "%*f %*f %lf", &with), 1);
    assert_int_equal(sscanf(strstr(strstr(out, "\nno warm-up, "), "\nLN post ") + 9, "%*f %*f %lf", &without), 1);
    snprintf(want, sizeof want, "- LN post with warm-up and without cannot be told apart: %.2f %% against %.2f %% (noise ", with, without);
    if (strstr(what_to_see(), want)) return;
    snprintf(want, sizeof want, "- Warm-up %s the test accuracy of LN post by ", with > without ? "raises" : "lowers");
    assert_sees(want);
    snprintf(want, sizeof want, " points: %.2f %% with it, %.2f %% without (noise ", with, without);
    assert_sees(want);
}

TEST(one_arm_alone_is_not_compared)
{
    assert_run(SMALL, "--arms=LN", "--sample=0");
    assert_columns();
    assert_sees("- LN pre alone has nothing beside it. Its test loss is ");
}

TEST(the_sample_is_the_same_for_any_threads_and_instruction_set)
{
    char want[256];
    assert_run(SMALL, "--arms=LN", "--sample=60", "--quiet");
    const char *const made = strstr(out, "\nwritten by LN pre:\n");
    assert_non_null(made);
    assert_true(strlen(made) < sizeof want);
    strcpy(want, made);
    assert_int_equal(strspn(strchr(made + 1, '\n'), " .\nabcdefghijklmnopqrstuvwxyz"), strlen(strchr(made + 1, '\n')));
    assert_int_equal(strlen(strchr(made + 1, '\n')), 1 + 60 + 1);
    EACH_ISA(isa)
    {
        if (sizeof(gr_real) == sizeof(double)) continue;
        assert_int_equal(ended(start(isa, in_dir("out"), ARGV(SMALL, "--threads=3", "--arms=LN", "--sample=60", "--quiet"))), 0);
        assert_string_equal(strstr(out, "\nwritten by"), want);
    }
    assert_run(SMALL, "--arms=LN", "--sample=60", "--quiet", "--seed=43");
    assert_string_not_equal(strstr(out, "\nwritten by"), want);
    assert_run(SMALL, "--arms=LN", "--sample=60", "--quiet", "--waves");
    assert_string_not_equal(strstr(out, "\nwritten by"), want);
}

TEST(a_file_of_text_is_read_by_its_name_or_its_folder)
{
    char path[160], want[256];
    snprintf(path, sizeof path, "%s/tinyshakespeare.txt", data);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    for (int i = 0; i < 100; i++) fputs("To be, or not to be.\n", f);
    assert_int_equal(fclose(f), 0);
    for (int folder = 0; folder < 2; folder++) {
        assert_run(SMALL, "--data", folder ? data : path, "--arms=LN");
        assert_non_null(strstr(out, ": 1890 characters to train on, 210 to test, 11 letters\n"));
    }
    f = fopen(path, "w");
    assert_non_null(f);
    fputs("too short", f);
    assert_int_equal(fclose(f), 0);
    snprintf(want, sizeof want, "transformer_norms: %s: a tenth of the text must hold more than a window of 8 characters; it has 0\n", path);
    assert_ends(2, want, SMALL, "--data", path);
    assert_int_equal(unlink(path), 0);
    snprintf(want, sizeof want, "transformer_norms: %s: cannot be read: No such file or directory\n", path);
    assert_ends(2, want, SMALL, "--data", path);
    assert_ends(2, want, SMALL, "--data", data);
}

/* The last record of a log: one arm, with its fingerprint, and the bytes of its tape. */
static size_t last_arm(const char *path, char fingerprint[17])
{
    static char text[1 << 14];
    size_t bytes;
    slurp(path, text, sizeof text);
    const char *const last = strstr(text, "\n{\"kind\": \"arm\"");
    assert_non_null(last);
    assert_int_equal(sscanf(strstr(last, "\"tape_bytes\""), "\"tape_bytes\": %zu, \"fingerprint\": \"%16[0-9a-f]", &bytes, fingerprint), 2);
    assert_int_equal(unlink(path), 0);
    return bytes;
}

TEST(layers_that_are_run_again_give_the_same_bits_in_less_memory)
{
    char kept[17], again[17];
    double loss[2], gradient[2];
    size_t tape[2];
#define DEEP "--size=16", "--heads=2", "--layers=8", "--batch=8", "--steps=2", "--dropout=0.1", "--threads=1", "--arms=LN", "--sample=0", "--quiet"
    assert_run(DEEP, "--log", in_dir("log"));
    assert_null(strstr(out, "layers kept"));
    const size_t before = last_arm(in_dir("log"), kept);
    assert_run(DEEP, "--log", in_dir("log"), "--recompute");
    assert_true(last_arm(in_dir("log"), again) < before);
    assert_string_equal(again, kept);
    const char *const first = strstr(out, "layers kept for backward "), *const second = strstr(out, "layers run again in backward ");
    assert_true(first && second);
    assert_int_equal(sscanf(strstr(first, " loss"), " loss %lf gradient %lf tape %zu KiB", &loss[0], &gradient[0], &tape[0]), 3);
    assert_int_equal(sscanf(strstr(second, " loss"), " loss %lf gradient %lf tape %zu KiB", &loss[1], &gradient[1], &tape[1]), 3);
    assert_true(loss[0] == loss[1] && gradient[0] == gradient[1] && 3 * tape[1] < tape[0]);
}

TEST(large_is_short_for_other_flags_and_a_flag_after_it_replaces_its_value)
{
    assert_run("--large", "--size=8", "--context=8", "--steps=1", "--sample=0", "--arms=LN", "--threads=1", "--log", in_dir("log"));
    assert_non_null(strstr(out, "2 layers of 8, 4 heads, GELU, windows of 8, Adam, lr 0.001"));
    slurp(in_dir("log"), err, sizeof err);
    assert_non_null(strstr(err, ", \"arms\": \"LN\", \"size\": 8, "));
    assert_null(strstr(err, "large"));
    assert_int_equal(unlink(in_dir("log")), 0);
}

TEST(heads_must_divide_the_size)
{
    assert_ends(2, "transformer_norms: --heads must divide --size; got 3 and 8\n", SMALL, "--heads=3");
}

TEST(a_missed_target_ends_with_1)
{
    assert_int_equal(RUN(SMALL, "--arms=LN", "--quiet", "--check"), 1);
    assert_non_null(strstr(err, "transformer_norms: --check: LN pre: the test loss is "));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_comparisons_have_a_table_each),
        cmocka_unit_test(what_to_see_tells_what_warm_up_changes),
        cmocka_unit_test(one_arm_alone_is_not_compared),
        cmocka_unit_test(the_sample_is_the_same_for_any_threads_and_instruction_set),
        cmocka_unit_test(a_file_of_text_is_read_by_its_name_or_its_folder),
        cmocka_unit_test(layers_that_are_run_again_give_the_same_bits_in_less_memory),
        cmocka_unit_test(large_is_short_for_other_flags_and_a_flag_after_it_replaces_its_value),
        cmocka_unit_test(heads_must_divide_the_size),
        cmocka_unit_test(a_missed_target_ends_with_1),
    };
    return cmocka_run_group_tests(tests, program_set_up, program_tear_down);
}
