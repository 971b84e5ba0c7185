/* tests/test_program_char_gpt.c - examples/char_gpt as its users see it. */
#include "tests/program.h"

#define SMALL "--size=8", "--heads=2", "--layers=1", "--context=8", "--batch=4", "--steps=6", "--sample=40", "--threads=1"

/* The last 40 characters that the program wrote, and the loss behind them. */
static const char *sample_of(double *loss)
{
    double fast, slow;
    const char *const end = strstr(out, "\nloss ");
    assert_non_null(end);
    assert_int_equal(sscanf(end, "\nloss %lf; characters per second: %lf with the cache, %lf without", loss, &fast, &slow), 3);
    assert_true(fast > 0 && slow > 0 && end - out >= 40);
    return end - 40;
}

TEST(a_network_learns_and_writes)
{
    double early, late;
    assert_run(SMALL);
    assert_string_equal(err, "");
    assert_non_null(strstr(out, "made-up sentences\nseed 42, 1 threads, "));
    assert_non_null(strstr(out, "\nstep     2  loss 3."));
    const char *const text = sample_of(&early);
    assert_true(strspn(text, " .\nabcdefghijklmnopqrstuvwxyz") >= 40);
    assert_run(SMALL, "--steps=60", "--quiet");
    sample_of(&late);
    assert_true(late < early && late < 3.5);
}

TEST(the_text_is_the_same_for_any_threads_and_instruction_set)
{
    double loss, other;
    char text[41] = "";
    assert_run(SMALL, "--quiet");
    memcpy(text, sample_of(&loss), 40);
    EACH_ISA(isa)
    {
        assert_int_equal(ended(start(isa, in_dir("out"), ARGV(SMALL, "--threads=2", "--quiet"))), 0);
        assert_memory_equal(sample_of(&other), text, 40);
        assert_true(loss == other);
    }
}

TEST(the_settings_matter)
{
    static const char *const other[] = { "--seed=2", "--waves", "--top-k=1", "--temperature=5", "--layers=2" };
    double loss;
    char text[41] = "";
    assert_run(SMALL, "--quiet");
    memcpy(text, sample_of(&loss), 40);
    for (size_t i = 0; i < COUNT(other); i++) {
        assert_run(SMALL, "--quiet", other[i]);
        assert_memory_not_equal(sample_of(&loss), text, 40);
    }
}

TEST(a_file_of_text_is_read_and_its_log_has_the_steps)
{
    static char text[1 << 14];
    size_t steps = 0;
    char want[256];
    FILE *const f = fopen(in_dir("text"), "w");
    assert_non_null(f);
    for (int i = 0; i < 100; i++) fputs("To be, or not to be.\n", f);
    assert_int_equal(fclose(f), 0);
    assert_run(SMALL, "--quiet", "--text", in_dir("text"), "--log", in_dir("log"));
    slurp(in_dir("log"), text, sizeof text);
    for (const char *p = text; (p = strstr(p, "\n{\"kind\": \"step\", \"step\": ")); p++) steps++;
    assert_int_equal(steps, 6);
    assert_int_equal(unlink(in_dir("text")) | unlink(in_dir("log")), 0);
    snprintf(want, sizeof want, "char_gpt: %s: cannot be read: No such file or directory\n", in_dir("text"));
    assert_ends(2, want, SMALL, "--text", in_dir("text"));
}

TEST(heads_must_divide_the_size)
{
    assert_ends(2, "char_gpt: body.layers.0.self_attn: the size must be a multiple of the heads; got 8 and 3\n", SMALL, "--quiet", "--heads=3");
}

TEST(a_missed_target_ends_with_1)
{
    assert_int_equal(RUN(SMALL, "--quiet", "--check"), 1);
    assert_non_null(strstr(err, "char_gpt: --check: the loss is "));
    assert_null(strstr(err, "the cache"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_network_learns_and_writes),
        cmocka_unit_test(the_text_is_the_same_for_any_threads_and_instruction_set),
        cmocka_unit_test(the_settings_matter),
        cmocka_unit_test(a_file_of_text_is_read_and_its_log_has_the_steps),
        cmocka_unit_test(heads_must_divide_the_size),
        cmocka_unit_test(a_missed_target_ends_with_1),
    };
    return cmocka_run_group_tests(tests, program_set_up, program_tear_down);
}
