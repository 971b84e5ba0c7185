/* tests/test_program_char_lstm.c - examples/char_lstm as its users see it. */
#include "tests/program.h"

#define SMALL "--hidden=8", "--window=8", "--batch=4", "--steps=6", "--eval-every=3", "--sample=40", "--threads=1"

/* The numbers of a network in the table at the end: bits per character in training and test, and the largest value of the cell. */
static void read_result(const char *norm, double result[3])
{
    const char *line = strstr(out, "\nbits per character ");
    assert_non_null(line);
    line = strstr(line, norm);
    assert_non_null(line);
    assert_int_equal(sscanf(line + 19, "%lf %lf %lf", &result[0], &result[1], &result[2]), 3);
}

TEST(both_networks_learn_and_write)
{
    double none[3], layer[3];
    assert_run(SMALL, "--steps=60");
    assert_string_equal(err, "");
    assert_non_null(strstr(out, "made-up sentences: 67910 characters to train on, 7545 to test, 27 letters\n"));
    assert_non_null(strstr(out, "\n4 streams, chunks of 8, AdamW, lr 0.02\n"));
    assert_non_null(strstr(out, "\nnone, 819 parameters, "));
    assert_non_null(strstr(out, "\nLayerNorm, 931 parameters, "));
    assert_non_null(strstr(out, " KiB; bits per character:\nstep     3  training "));
    const char *const made = strstr(out, "\nwritten by it:\n");
    assert_non_null(made);
    assert_true(strspn(made + 16, " .\nabcdefghijklmnopqrstuvwxyz") >= 40);
    assert_memory_equal(made + 16 + 40, "\n\nbits per character ", 21);
    read_result("\nnone ", none), read_result("\nLayerNorm ", layer);
    assert_concludes("\nbits per character: the mean loss divided by log 2;", "\nnone, 819 parameters, ");
    char want[128];
    snprintf(want, sizeof want, " bits per character less in the test (%.4f against %.4f).", layer[1], none[1]);
    assert_sees("- The network with LayerNorm needs ");
    assert_sees(want);
    for (int i = 0; i < 2; i++) assert_true(none[i] > 1 && none[i] < 4.7 && layer[i] > 1 && layer[i] < none[i]);
}

TEST(a_network_has_the_same_numbers_alone_and_for_any_threads_and_instruction_set)
{
    double both[3], alone[3];
    assert_run(SMALL, "--quiet");
    read_result("\nLayerNorm ", both);
    EACH_ISA(isa)
    {
        assert_int_equal(ended(start(isa, in_dir("out"), ARGV(SMALL, "--threads=2", "--norm=layer", "--quiet"))), 0);
        assert_null(strstr(out, "\nnone "));
        read_result("\nLayerNorm ", alone);
        for (int i = 0; i < 3; i++) assert_true(alone[i] == both[i]);
    }
    assert_run(SMALL, "--norm=none", "--quiet");
    assert_null(strstr(out, "\nLayerNorm ")), assert_concludes_nothing();
    assert_run(SMALL, "--norm=none");
    assert_columns();
    assert_sees("- One network has nothing beside it. It needs ");
    assert_run(SMALL, "--steps=1");
    assert_sees("- Nothing can be seen: the better network needs ");
}

TEST(the_state_and_the_settings_matter)
{
    static const char *const other[] = { "--forget", "--schedule=step", "--schedule=plateau", "--clip=0.001",
                                         "--decay=10", "--dropout=0.5", "--layers=2" };
    double plain[3], result[3];
    assert_run(SMALL, "--norm=layer", "--quiet");
    read_result("\nLayerNorm ", plain);
    for (size_t i = 0; i < COUNT(other); i++) {
        assert_run(SMALL, "--norm=layer", "--quiet", other[i]);
        read_result("\nLayerNorm ", result);
        assert_true(result[1] != plain[1]);
    }
}

TEST(the_embeddings_have_no_weight_decay)
{
    assert_run(SMALL, "--parameters", "--norm=layer", "--quiet");
    assert_non_null(strstr(out, "adamw, 11 parameters, step 0\nparameter"));
    assert_non_null(strstr(out, "\ntoken.weight                0.02             0  [27, 8]\n"));
    assert_non_null(strstr(out, "\nlstm.weight_hh_l0           0.02          0.01  [32, 8]\n"));
    assert_null(strstr(out, "head.weight"));
}

TEST(a_clip_or_a_decay_of_0_means_none)
{
    double free[3], wide[3];
    assert_run(SMALL, "--norm=layer", "--quiet", "--clip=0");
    read_result("\nLayerNorm ", free);
    assert_run(SMALL, "--norm=layer", "--quiet", "--clip=1e12");
    read_result("\nLayerNorm ", wide);
    for (int i = 0; i < 3; i++) assert_true(free[i] == wide[i]);
    assert_run(SMALL, "--parameters", "--norm=layer", "--quiet", "--decay=0");
    assert_non_null(strstr(out, "\nlstm.weight_hh_l0           0.02             0  [32, 8]\n"));
}

TEST(the_log_has_steps_and_evaluations)
{
    static char text[1 << 14];
    size_t steps = 0, evaluations = 0;
    assert_run(SMALL, "--quiet", "--log", in_dir("log"));
    slurp(in_dir("log"), text, sizeof text);
    for (const char *p = text; (p = strstr(p, "\n{\"kind\": \"step\", \"norm\": \"")); p++) steps++;
    for (const char *p = text; (p = strstr(p, "\n{\"kind\": \"eval\", \"norm\": \"")); p++) evaluations++;
    assert_true(steps == 12 && evaluations == 4);
    assert_int_equal(unlink(in_dir("log")), 0);
}

TEST(a_file_of_text_is_read_and_a_short_one_is_refused)
{
    char want[256];
    FILE *const f = fopen(in_dir("text"), "w");
    assert_non_null(f);
    for (int i = 0; i < 100; i++) fputs("To be, or not to be.\n", f);
    assert_int_equal(fclose(f), 0);
    assert_run(SMALL, "--data", in_dir("text"));
    assert_non_null(strstr(out, ": 1890 characters to train on, 210 to test, 11 letters\n"));
    assert_ends(2, "char_lstm: 32 streams of 8 characters and one more do not fit into 210 characters: --batch or --window is too large\n", SMALL, "--batch=32",
                "--data", in_dir("text"));
    assert_int_equal(unlink(in_dir("text")), 0);
    snprintf(want, sizeof want, "char_lstm: %s: cannot be read: No such file or directory\n", in_dir("text"));
    assert_ends(2, want, SMALL, "--data", in_dir("text"));
}

TEST(a_missed_target_ends_with_1)
{
    assert_int_equal(RUN(SMALL, "--quiet", "--check", "--norm=layer"), 1);
    assert_non_null(strstr(err, "char_lstm: --check: LayerNorm: "));
    assert_non_null(strstr(err, " bits per character, not below 1\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_networks_learn_and_write),
        cmocka_unit_test(a_network_has_the_same_numbers_alone_and_for_any_threads_and_instruction_set),
        cmocka_unit_test(the_state_and_the_settings_matter),
        cmocka_unit_test(the_embeddings_have_no_weight_decay),
        cmocka_unit_test(a_clip_or_a_decay_of_0_means_none),
        cmocka_unit_test(the_log_has_steps_and_evaluations),
        cmocka_unit_test(a_file_of_text_is_read_and_a_short_one_is_refused),
        cmocka_unit_test(a_missed_target_ends_with_1),
    };
    return cmocka_run_group_tests(tests, program_set_up, program_tear_down);
}
