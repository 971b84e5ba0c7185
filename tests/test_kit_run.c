/* tests/test_kit_run.c - the frame of a program: common flags, exit codes. */
#include "tests/test.h"
#include "examples/kit/kit.h"
#include <stdio.h>
#include <unistd.h>

static kit_options o;
static const kit_flag flag[] = { KIT_FLAG_DIGITS(o), KIT_FLAGS_TRAINING(o), KIT_FLAGS_RUN(o, "exit 1 unless all is well") };
static const kit_flags flags = { "prog", "does things", flag, COUNT(flag) };

/* kit_run_start with this command line, and stderr in text. */
static int start(kit_run *r, char *text, size_t bytes, char **argv)
{
    int argc = 0;
    while (argv[argc]) argc++;
    char path[] = "/tmp/gradus-run-XXXXXX";
    close(mkstemp(path));
    fflush(stderr);
    const int spoken = dup(2);
    assert_non_null(freopen(path, "w", stderr));
    const int code = kit_run_start(r, &flags, &o, argc, argv);
    if (code == KIT_GO_ON) kit_run_need(r, true, "nothing"), kit_run_need(r, false, "%d is not %d", 1, 2);
    fflush(stderr), dup2(spoken, 2), close(spoken);
    FILE *const f = fopen(path, "r");
    text[fread(text, 1, bytes - 1, f)] = 0;
    fclose(f), unlink(path);
    return code;
}
#define START(r, text, ...) start(r, text, sizeof(text), (char *[]){ (char[]){ "prog" }, __VA_ARGS__, NULL })

TEST(the_common_flags_fill_the_options)
{
    kit_run r;
    char text[256];
    o = (kit_options){ .batch = 32, .epochs = 2, .lr = 0.1, .seed = 42 };
    assert_int_equal(START(&r, text, (char[]){ "--epochs=0.25" }, (char[]){ "--steps=7" }, (char[]){ "--quiet" }, (char[]){ "--seed=3" }),
                     KIT_GO_ON);
    assert_true(o.batch == 32 && o.epochs == 0.25 && o.steps == 7 && o.lr == 0.1 && o.quiet && !o.check && !o.data);
    assert_int_equal(gr_tape_seed(r.tape), 3);
    assert_int_equal(o.threads, kit_cores() < 4 ? kit_cores() : 4);
    assert_int_equal(gr_tape_threads(r.tape), gr_pool_threads(r.pool));
    assert_string_equal(text, "");
    assert_int_equal(kit_steps(&o, 0.25, 100), 7);
    o.steps = 0;
    assert_int_equal(kit_steps(&o, 0.25, 100), 25), assert_int_equal(kit_steps(&o, 1e-6, 100), 1);
    assert_int_equal(kit_run_end(&r), 0);
    assert_int_equal(START(&r, text, (char[]){ "--batch=0" }), 2);
    assert_string_equal(text, "prog: --batch needs a whole number from 1 to 1048576; got \"0\"\n");
}

TEST(a_missed_target_ends_with_1_only_with_check)
{
    kit_run r;
    char text[256];
    o = (kit_options){ .seed = 42 };
    assert_int_equal(START(&r, text, (char[]){ "--quiet" }), KIT_GO_ON);
    assert_string_equal(text, "");
    assert_int_equal(kit_run_end(&r), 0);
    assert_int_equal(START(&r, text, (char[]){ "--check" }), KIT_GO_ON);
    assert_string_equal(text, "prog: --check: 1 is not 2\n");
    assert_int_equal(kit_run_end(&r), 1);
}

TEST(a_missing_input_ends_with_2_and_a_later_failure_with_3)
{
    const int spoken = dup(2);
    assert_non_null(freopen("/dev/null", "w", stderr));
    for (int begun = 0; begun < 2; begun++) {
        kit_run r;
        o = (kit_options){ .quiet = true };
        assert_int_equal(kit_run_start(&r, &(kit_flags){ "prog", "", NULL, 0 }, &o, 1, (char *[]){ (char[]){ "prog" }, NULL }), KIT_GO_ON);
        if (begun) assert_true(kit_run_begin(&r, "data"));
        gr_fail_as(r.tape, GR_IO_FAILED, "", "a file");
        if (!begun) assert_false(kit_run_begin(&r, "data"));
        assert_int_equal(kit_run_end(&r), begun ? 3 : 2);
    }
    fflush(stderr), dup2(spoken, 2), close(spoken);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_common_flags_fill_the_options),
        cmocka_unit_test(a_missed_target_ends_with_1_only_with_check),
        cmocka_unit_test(a_missing_input_ends_with_2_and_a_later_failure_with_3),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
