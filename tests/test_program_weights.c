/* tests/test_program_weights.c - examples/weights as its users see it. */
#include "tests/program.h"

TEST(layers_from_the_file_help_the_second_task)
{
    static const char *const part[] = {
        "\nwhich pairs have the same sign: ",
        "\n\"checksum\": \"crc64:",
        "\n\"task\": \"three pairs, 8 classes\"\n",
        "\nF64  [32]           32 x 8 bytes  \"body.0.b\"  -",
        "\nF64  [32, 6]       192 x 8 bytes  \"body.0.w\"  -",
        "\nI64  []              1 x 8 bytes  \"steps\"  2000\n",
        "\n7 tensors, 12360 bytes\n\ntwo layers of the network for 'three pairs, 8 classes':\n",
        "\nfc1.weight         0.01          0.01  [32, 6]  frozen\n",
        "\nfc2.weight        0.001             0  [32, 32]\n",
        "\nmost pairs have the same sign, learned from 32 points: ",
    };
    const char *at = out;
    assert_run("--check");
    assert_string_equal(err, "");
    for (size_t i = 0; i < COUNT(part); i++) {
        at = strstr(at, part[i]);
        if (!at) fail_msg("\"%s\" is missing, or not in its place", part[i]);
    }
    assert_run("--check", "--quiet", "--seed=7", "--threads=1");
}

TEST(the_same_seed_prints_the_same)
{
    static char once[sizeof out];
    assert_run("--threads=1");
    strcpy(once, strchr(strchr(out, '\n') + 1, '\n')); /* the second line says how many threads there are */
    assert_run("--threads=3");
    assert_string_equal(strchr(strchr(out, '\n') + 1, '\n'), once);
}

TEST(a_saved_file_is_listed)
{
    char last[64];
    assert_run("--save", in_dir("saved"), "--quiet");
    assert_run("--file", in_dir("saved"));
    assert_non_null(strstr(out, "\nF64  [8, 32]       256 x 8 bytes  \"top.w\"  -"));
    snprintf(last, sizeof last, "%s", out + strlen(out) - 24);
    assert_string_equal(last, "\n7 tensors, 12360 bytes\n");
    assert_int_equal(unlink(in_dir("saved")), 0);
}

/* Half precision, an empty tensor, a tensor of NaN, and a name with a control sequence for terminals. */
TEST(odd_files_are_listed)
{
    static const uint16_t half[] = { 0x3c00, 0xc000 };
    static const int32_t whole[] = { -7, 3 };
    const gr_real nan_only = NAN;
    const gr_safetensors_item item[] = { { "half", GR_F16, GR_SHAPE(2), half },
                                         { "whole", GR_I32, GR_SHAPE(1, 2), whole },
                                         { "empty", GR_F32, GR_SHAPE(3, 0), half },
                                         { "nan", GR_REAL_DTYPE, GR_SCALAR, &nan_only },
                                         { "\x1b[31mred", GR_F16, GR_SHAPE(1), half } };
    char want[512];
    gr_tape *const t = gr_tape_new(1, NULL);
    assert_true(gr_safetensors_write(t, in_dir("odd"), item, COUNT(item), NULL));
    gr_tape_free(t);
    assert_run("--file", in_dir("odd"), "--threads=1");
    snprintf(want, sizeof want,
             "F16  [1]             1 x 2 bytes  \"\\u001b[31mred\"  1\n"
             "F32  [3, 0]          0 x 4 bytes  \"empty\"\n"
             "F16  [2]             2 x 2 bytes  \"half\"  -2 .. 1\n"
             "%s  []              1 x %zu bytes  \"nan\"\n"
             "I32  [1, 2]          2 x 4 bytes  \"whole\"  -7 .. 3\n"
             "5 tensors, %zu bytes\n",
             gr_dtype_name(GR_REAL_DTYPE), sizeof(gr_real), 14 + sizeof(gr_real));
    assert_string_equal(strchr(strchr(out, '\n') + 1, '\n') + 1, want);
    assert_int_equal(unlink(in_dir("odd")), 0);
}

TEST(bad_flags_and_paths_are_refused)
{
    char want[256];
    assert_run("--help");
    assert_non_null(strstr(out, "\n  --file FILE "));
    assert_ends(2, "weights: cannot open 'no/file': No such file or directory\n", "--file=no/file");
    assert_ends(2, "weights: --file only looks into a file, and --save keeps the file of a training: give one of them\n", "--file=a", "--save=b");
    snprintf(want, sizeof want, "weights: --save: cannot write '%s': it is not a regular file\n", dir);
    assert_ends(2, want, "--save", dir);
    setenv("TMPDIR", "/no such folder", 1);
    assert_ends(3, "weights: /no such folder: cannot make a file there: No such file or directory\n", "--quiet");
    unsetenv("TMPDIR");
    if (access("/dev/full", W_OK) != 0) printf("not run: a full disk, there is no /dev/full\n"), skip();
    assert_ends(3, "weights: /dev/full: cannot write the log: No space left on device\n", "--log", "/dev/full");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_from_the_file_help_the_second_task),       cmocka_unit_test(the_same_seed_prints_the_same),
        cmocka_unit_test(a_saved_file_is_listed),          cmocka_unit_test(odd_files_are_listed),
        cmocka_unit_test(bad_flags_and_paths_are_refused),
    };
    return cmocka_run_group_tests(tests, program_set_up, program_tear_down);
}
