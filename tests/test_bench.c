/* The benchmark's list of cells, and the command line of the program behind `make bench`. */
#include "tests/bench/bench.h"
#include "tests/program.h"

FIXTURE(bench_set_up)
{
    const int bad = program_set_up(state);
    char *const end = strstr(program, "/examples/");
    if (!bad && end) strcpy(end, "/tests/bench/bench");
    return bad || !end;
}

/* ---- The list ---- */

TEST(the_list_has_no_mistakes)
{
    assert_null(bench_wrong());
}

TEST(no_two_cells_have_one_name)
{
    static char names[512][64];
    assert_in_range(bench_cells_count, 1, COUNT(names));
    for (int i = 0; i < bench_cells_count; i++) {
        snprintf(names[i], sizeof names[i], "%s", bench_name(i));
        for (int k = 0; k < i; k++) assert_string_not_equal(names[i], names[k]);
    }
}

TEST(a_mistake_in_a_cell_is_named)
{
    static const struct { bench_cell cell; const char *message; } wrong[] = {
        { { "steps", BENCH_TRAIN, "lstn", "LSTM b64", { 64, 28, 28, 128, 1 } }, "no kind \"lstn\"; models.c and operators.c have the kinds" },
        { { "steps", BENCH_TRAIN, "lstm", "LSTM \"b64\"", { 64, 28, 28, 128 } }, "the name has a quotation mark or a backslash: LSTM \"b64\"" },
        { { "step", BENCH_TRAIN, "lstm", "LSTM b64", { 64, 28, 28, 128 } },
          "LSTM b64: no section \"step\"; there are steps|operators|optimizers|inference|growth|memory|start-up" },
        { { "steps memoryy", BENCH_TRAIN, "lstm", "LSTM b64", { 64, 28, 28, 128 } },
          "LSTM b64: no section \"memoryy\"; there are steps|operators|optimizers|inference|growth|memory|start-up" },
        { { "steps", BENCH_TRAIN, "lstm", "LSTM b64", { 64, 28, 28 } },
          "LSTM b64: hidden is 0, and must be 1 or more; lstm needs batch time in hidden norm?" },
        { { "steps", BENCH_TRAIN, "lstm", "LSTM b64", { 64, 28, 28, 128, 0, 1 } },
          "LSTM b64: size 6 is one too many; lstm needs batch time in hidden norm?" },
        { { "operators", BENCH_FORWARD, "gelu", NULL, { 64 } }, "gelu 64x0 f: columns is 0, and must be 1 or more; gelu needs rows columns" },
        { { "operators", BENCH_BACKWARD, "matmul", NULL, { 64, 28, 512, 8 } }, "matmul 64x28x512 fb: size 4 is one too many; matmul needs M K N" },
    };
    for (size_t i = 0; i < COUNT(wrong); i++) {
        const char *said = bench_cell_wrong(&wrong[i].cell);
        assert_non_null(said);
        assert_string_equal(said, wrong[i].message);
    }
    const bench_cell good = { "steps growth", BENCH_TRAIN, "cnn", "CNN", { 64, 32, 64 } };
    assert_null(bench_cell_wrong(&good));
}

/* The cells describe themselves to peers/ours.py without the marks of bench_kind.sizes. */
TEST(a_description_is_json)
{
    assert_string_equal(bench_describe(0), "{\"name\": \"LN-LSTM b64\", \"sections\": \"steps growth memory start-up\", \"kind\": \"lstm\", "
                        "\"mode\": \"train\", \"batch\": 64, \"time\": 28, \"in\": 28, \"hidden\": 128, \"norm\": 1}");
}

/* 200 threads have less than a vector each of the smallest working set. */
TEST(many_threads_have_a_bandwidth)
{
    const double bandwidth = bench_bandwidth(200, 16384);
    assert_true(bandwidth > 0 && isfinite(bandwidth));
}

/* ---- The command line ---- */

TEST(wrong_values_are_named)
{
    char message[128];
    assert_ends(2, "bench: --seconds needs a number from 0 to 3600; got \"-1\"\n", "--seconds", "-1");
    assert_ends(2, "bench: --seconds needs a number from 0 to 3600; got \"nan\"\n", "--seconds", "nan");
    assert_ends(2, "bench: --seconds needs a number from 0 to 3600; got \"inf\"\n", "--seconds", "inf");
    assert_ends(2, "bench: --threads needs a whole number from 1 to 256; got \"0\"\n", "--threads", "0");
    assert_ends(2, "bench: --section needs one of all|steps|operators|optimizers|inference|growth|memory|start-up; got \"foo\"\n", "--section", "foo");
    snprintf(message, sizeof message, "bench: --threads needs at most %d, the processors of this process; got \"256\"\n", kit_cores());
    if (kit_cores() < 256) assert_ends(2, message, "--threads", "256", "--list");
}

TEST(flags_that_do_not_go_together_are_named)
{
    assert_ends(2, "bench: make bench-peers alone measures the section memory; --list shows its cells\n", "--section", "memory");
    assert_ends(2, "bench: make bench-peers alone measures the section start-up; --list shows its cells\n", "--section", "start-up", "--quick");
    assert_ends(2, "bench: --once needs --cells with the full name of a cell; --list shows all\n", "--once");
    assert_ends(2, "bench: --json writes times, and --once measures none\n", "--once", "--cells", "square 1x16 f", "--json", in_dir("json"));
    assert_ends(2, "bench: --json writes times, and --list measures none\n", "--list", "--json", in_dir("json"));
    assert_ends(2, "bench: no cell of the section steps has \"square\" in its name; --list shows all\n", "--section", "steps", "--cells", "square");
}

TEST(once_takes_a_name_in_full)
{
    assert_ends(2, "bench: no cell is called \"square 1x16\"; --list shows all\n", "--once", "--cells", "square 1x16");
    assert_run("--once", "--quick", "--cells", "square 1x16 f");
}

TEST(the_list_has_the_sections)
{
    assert_run("--list", "--section", "start-up", "--cells", "GPT");
    assert_string_equal(out, "GPT 4x128 b12 T64                    steps growth memory start-up\n");
}

TEST(the_table_names_the_limit_of_each_cell)
{
    double us[3], limit;
    int used;
    assert_run("--quick", "--cells", "square 1x16 f");
    const char *const head = strchr(out, '\n') + 1;
    char start[64];
    gr_tape *t = gr_tape_new(1, NULL);
    snprintf(start, sizeof start, "1 thread(s), %s: FMA ", gr_tape_isa(t));
    gr_tape_free(t);
    assert_true(!strncmp(out, start, strlen(start)) && strstr(out, " GFLOP/s; reading x and writing y = c x, in total 32 KB: ") < head);
    assert_int_equal(strncmp(head + 36, "   fastest us    median us  part of the machine's limit\n", 56), 0);
    assert_int_equal(sscanf(strchr(head, '\n') + 37, "%lf %lf %lf %% of %lf %n", &us[0], &us[1], &us[2], &limit, &used), 4);
    assert_true(us[0] <= us[1] && us[2] >= 0 && limit > 0);
    assert_int_equal(strncmp(strchr(head, '\n') + 37 + used, "GB/s\n", 5), 0); /* a square is bound by memory */
}

TEST(an_instruction_set_that_is_not_there_is_named_once)
{
    setenv("GRADUS_ISA", "avx", 1);
    assert_ends(3, "bench: instruction set 'avx': this build or this CPU does not have it\n", "--quick", "--cells", "gelu 64x64");
    unsetenv("GRADUS_ISA");
    assert_string_equal(out, "");
}

TEST(json_is_written_after_all_checks)
{
    static char text[4096];
    char path[128];
    snprintf(path, sizeof path, "%s", in_dir("json"));
    FILE *const f = fopen(path, "w");
    assert_non_null(f);
    fputs("before\n", f), fclose(f);
    assert_ends(2, "bench: no cell has \"no such cell\" in its name; --list shows all\n", "--json", path, "--cells", "no such cell");
    slurp(path, text, sizeof text);
    assert_string_equal(text, "before\n");
    assert_run("--quick", "--cells", "square 1x16", "--json", path);
    slurp(path, text, sizeof text);
    unlink(path);
    assert_ptr_equal(strstr(text, "{\"name\": \"square 1x16 f\", \"threads\": 1, "), text);
    assert_non_null(strstr(text, "{\"name\": \"square 1x16 fb\", \"threads\": 1, "));
    assert_null(strstr(text, "inf"));
    assert_null(strstr(text, "nan"));
}

TEST(files_that_cannot_be_written_are_named)
{
    assert_ends(3, "bench: cannot write /no/folder: No such file or directory\n", "--quick", "--cells", "square 1x16 f", "--json", "/no/folder");
    if (access("/dev/full", W_OK)) {
        printf("not run: a full disk, there is no /dev/full\n");
        return;
    }
    assert_ends(3, "bench: cannot write /dev/full: No space left on device\n", "--quick", "--cells", "square 1x16 f", "--json", "/dev/full");
    assert_int_equal(ended(start(NULL, "/dev/full", ARGV("--list"))), 3);
    assert_string_equal(err, "bench: cannot write the list: No space left on device\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_list_has_no_mistakes),
        cmocka_unit_test(no_two_cells_have_one_name),
        cmocka_unit_test(a_mistake_in_a_cell_is_named),
        cmocka_unit_test(a_description_is_json),
        cmocka_unit_test(many_threads_have_a_bandwidth),
        cmocka_unit_test(wrong_values_are_named),
        cmocka_unit_test(flags_that_do_not_go_together_are_named),
        cmocka_unit_test(once_takes_a_name_in_full),
        cmocka_unit_test(the_list_has_the_sections),
        cmocka_unit_test(the_table_names_the_limit_of_each_cell),
        cmocka_unit_test(an_instruction_set_that_is_not_there_is_named_once),
        cmocka_unit_test(json_is_written_after_all_checks),
        cmocka_unit_test(files_that_cannot_be_written_are_named),
    };
    return cmocka_run_group_tests(tests, bench_set_up, program_tear_down);
}
