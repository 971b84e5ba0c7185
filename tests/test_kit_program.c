/* tests/test_kit_program.c - exit codes, output files, interruption, the fingerprint; the log; progress. */
#include "tests/test.h"
#include "examples/kit/kit.h"
#include "examples/kit/output.h"
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[64];

FIXTURE(make_dir)
{
    strcpy(dir, "/tmp/gradus-program-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

FIXTURE(remove_dir)
{
    if (rmdir(dir)) exit(1); /* cmocka would exit with 0 */
    return 0;
}

static const char *in_dir(const char *name)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

/* The contents of a file. */
static const char *text_of(const char *path)
{
    static char text[4096];
    FILE *const f = fopen(path, "r");
    assert_non_null(f);
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    fclose(f);
    return text;
}

TEST(the_exit_code_follows_the_error)
{
    static const struct {
        gr_error error;
        int before, after;
    } cases[] = {
        { GR_MISUSE, 2, 2 }, { GR_NO_MEMORY, 3, 3 }, { GR_BAD_FILE, 2, 2 }, { GR_IO_FAILED, 2, 3 }, { GR_NOT_FINITE, 1, 1 },
    };
    const int spoken = dup(2);
    assert_non_null(freopen(in_dir("stderr"), "w", stderr));
    gr_tape *t = gr_tape_new(1, NULL);
    assert_int_equal(kit_exit_code(t, "prog", true), 0);
    assert_int_equal(kit_exit_code(NULL, "prog", false), 3);
    for (size_t i = 0; i < COUNT(cases); i++) {
        gr_fail_as(t, cases[i].error, "", "an error");
        assert_int_equal(kit_exit_code(t, "prog", false), cases[i].before);
        assert_int_equal(kit_exit_code(t, "prog", true), cases[i].after);
        gr_tape_recover(t);
    }
    gr_tape_free(t);
    fflush(stderr), dup2(spoken, 2), close(spoken);
    assert_int_equal(strncmp(text_of(in_dir("stderr")), "prog: out of memory\nprog: an error\n", 35), 0);
    assert_int_equal(unlink(in_dir("stderr")), 0);
}

TEST(the_trial_of_an_output_file_leaves_no_trace)
{
    char want[256], path[128];
    gr_tape *t = gr_tape_new(1, NULL);
    assert_true(kit_can_write(t, "save", NULL));
    assert_true(kit_can_write(t, "save", in_dir("weights"))); /* remove_dir checks that the folder is empty */
    assert_false(kit_can_write(t, "save", dir));
    snprintf(want, sizeof want, "--save: cannot write '%s': it is not a regular file", dir);
    assert_message(t, want);
    gr_tape_recover(t);
    snprintf(path, sizeof path, "%s", in_dir("none/weights"));
    assert_false(kit_can_write(t, "save", path));
    snprintf(want, sizeof want, "--save: cannot write '%s': No such file or directory", path);
    assert_message(t, want);
    assert_false(kit_can_write(t, "log", in_dir("log"))); /* the tape is already in error */
    assert_message(t, want);
    gr_tape_free(t);
}

/* The trial of a name succeeds exactly when the write at the end succeeds, for names of any length. */
TEST(the_trial_of_a_name_has_the_same_result_as_the_write)
{
    char path[512];
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *net = gr_module_new(t);
    gr_param(t, net, "w", GR_SHAPE(2), gr_init_constant(1));
    for (size_t length = 200; length < 270; length++) {
        snprintf(path, sizeof path, "%s/%0*d", dir, (int)length, 0);
        const bool can = kit_can_write(t, "save", path);
        gr_tape_recover(t);
        for (int how = 0; how < 2; how++) {
            kit_file f = { 0 };
            const bool did = how ? gr_state_save(t, net, path, NULL) : (f = kit_file_begin(t, path), kit_file_end(t, &f));
            if (did != can) fail_msg("a name of %zu characters: the trial says %d, the write %d: %s", length, can, did, gr_message(t));
            if (did) assert_int_equal(unlink(path), 0);
            gr_tape_recover(t);
        }
    }
    gr_module_free(net), gr_tape_free(t);
}

TEST(an_interrupt_is_noted)
{
    kit_catch_interrupts();
    assert_false(kit_interrupted());
    raise(SIGINT);
    assert_true(kit_interrupted());
    struct sigaction now;
    sigaction(SIGINT, NULL, &now);
    assert_true(now.sa_handler == SIG_DFL);
    signal(SIGTERM, SIG_DFL);
}

TEST(the_machine_has_a_core_and_a_name)
{
    char name[128];
    const double before = kit_seconds();
    assert_true(kit_cores() >= 1);
    assert_true(strlen(kit_cpu(name, sizeof name)) > 0);
    assert_int_equal(strlen(kit_cpu(name, 4)), 3);
    assert_true(kit_seconds() >= before);
}

TEST(the_fingerprint_sees_every_bit_and_name)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *a = gr_module_new(t), *b = gr_module_new(t);
    gr_tensor *x = gr_param(t, a, "x", GR_SHAPE(2), gr_init_constant(1));
    gr_param(t, b, "y", GR_SHAPE(2), gr_init_constant(1));
    assert_ok(t);
    const uint64_t whole = kit_fingerprint(a);
    assert_int_equal(kit_fingerprint(a), whole);
    assert_int_not_equal(kit_fingerprint(b), whole);
    if (sizeof(gr_real) == sizeof(float)) assert_int_equal(whole, 0x3057a14ce178af35u); /* FNV-1a of "x", 0, 1.0f, 1.0f */
    x->data[1] = -x->data[1];
    assert_int_not_equal(kit_fingerprint(a), whole);
    gr_module_free(a), gr_module_free(b), gr_tape_free(t);
}

TEST(the_log_is_one_json_object_a_line)
{
    gr_tape *t = gr_tape_new(1, NULL);
    kit_log log = kit_log_open(t, in_dir("log"), false);
    kit_log_write(t, &log, "step", { "step", 7 }, { "loss", 0.25 }, { "lr", 2e-3 }, { "big", 4294967296 });
    kit_log_write(t, &log, "odd", { "nan", (double)NAN }, { "inf", -HUGE_VAL });
    kit_log_close(t, &log);
    assert_ok(t);
    assert_string_equal(text_of(in_dir("log")), "{\"kind\": \"step\", \"step\": 7, \"loss\": 0.25, \"lr\": 0.002, \"big\": 4294967296}\n"
                                                "{\"kind\": \"odd\", \"nan\": null, \"inf\": null}\n");
    log = kit_log_open(t, in_dir("log"), true);
    kit_log_write(t, &log, "last", { "a", 1 });
    kit_log_close(t, &log);
    assert_non_null(strstr(text_of(in_dir("log")), "null}\n{\"kind\": \"last\", \"a\": 1}\n"));
    log = kit_log_open(t, in_dir("log"), false);
    assert_non_null(strstr(text_of(in_dir("log")), "null}\n{\"kind\": \"last\"")); /* a run that does not start keeps the old log */
    kit_log_header(t, &log, &(kit_flags){ "prog", "", NULL, 0 }, "");
    kit_log_close(t, &log);
    assert_non_null(strstr(text_of(in_dir("log")), "{\"kind\": \"run\"")), assert_null(strstr(text_of(in_dir("log")), "null}"));
    assert_int_equal(unlink(in_dir("log")), 0);
    gr_tape_free(t);
}

TEST(the_log_begins_with_what_the_run_was)
{
    bool quiet = true;
    const char *save = "a \"b\"", *load = NULL;
    uint64_t seed = UINT64_MAX;
    double lr = 2e-3;
    int norm = 1;
    const kit_flag flag[] = {
        { "quiet", KIT_SWITCH, &quiet, NULL, "", 0, 0 }, { "save", KIT_TEXT, &save, "FILE", "", 0, 0 },
        { "load", KIT_TEXT, &load, "FILE", "", 0, 0 },   { "seed", KIT_COUNT, &seed, "N", "", 0, 0 },
        { "lr", KIT_NUMBER, &lr, "X", "", 0, 0 },        { "norm", KIT_CHOICE, &norm, "none|layer", "", 0, 0 },
    };
    gr_tape *t = gr_tape_new(1, NULL);
    kit_log log = kit_log_open(t, in_dir("log"), false);
    kit_log_header(t, &log, &(kit_flags){ "prog", "", flag, COUNT(flag) },
                   "\n\x01 \xc3\xa9 \xe2\x82\xac \xf0\x9f\x99\x82 \xff\xc3 \xc0\xaf \xed\xa0\x80\\");
    kit_log_close(t, &log);
    assert_ok(t);
    char cpu[128], want[1024];
    snprintf(want, sizeof want,
             "{\"kind\": \"run\", \"program\": \"prog\", \"version\": \"" GR_VERSION_TEXT "\", \"flags\": {\"quiet\": true, \"save\": \"a "
             "\\\"b\\\"\", \"load\": null, \"seed\": 18446744073709551615, \"lr\": 0.002, \"norm\": \"layer\"}, "
             "\"data\": \"\\u000a\\u0001 \\u00e9 \\u20ac \\ud83d\\ude42 \\u00ff\\u00c3 \\u00c0\\u00af \\u00ed\\u00a0\\u0080\\\\\", "
             "\"cpu\": \"%s\", \"isa\": \"%s\", \"threads\": 1, \"blas\": \"%s\"}\n",
             kit_cpu(cpu, sizeof cpu), gr_tape_isa(t), KIT_BLAS);
    assert_string_equal(text_of(in_dir("log")), want);
    assert_int_equal(unlink(in_dir("log")), 0);
    gr_tape_free(t);
}

TEST(a_log_without_a_path_keeps_nothing_and_one_that_fails_says_so)
{
    char want[256];
    gr_tape *t = gr_tape_new(1, NULL);
    kit_log log = kit_log_open(t, NULL, false);
    kit_log_header(t, &log, &(kit_flags){ "prog", "", NULL, 0 }, "");
    kit_log_write(t, &log, "a", { "a", 1 });
    kit_log_close(t, &log);
    assert_ok(t);
    log = kit_log_open(t, in_dir("none/log"), false);
    snprintf(want, sizeof want, "%s/none/log: cannot open the log: No such file or directory", dir);
    assert_message(t, want);
    kit_log_close(t, &log);
    gr_tape_recover(t);
    if (access("/dev/full", W_OK) == 0) {
        log = kit_log_open(t, "/dev/full", false);
        kit_log_write(t, &log, "a", { "a", 1 });
        assert_message(t, "/dev/full: cannot write the log: No space left on device");
        assert_int_equal(gr_error_code(t), GR_IO_FAILED);
        kit_log_close(t, &log);
    } else printf("not run: a log on a full disk, there is no /dev/full\n");
    gr_tape_free(t);
}

TEST(without_a_terminal_progress_is_one_line_per_epoch)
{
    FILE *const f = fopen(in_dir("progress"), "w");
    assert_non_null(f);
    kit_progress p = kit_progress_new(f, 5, 10);
    assert_false(p.live);
    p.since -= 1; /* started one second ago, so that the step has a measurable time */
    assert_true(kit_progress_step(&p, 0, 64, &(kit_score){ 1, 32, 64 }) > 0);
    kit_progress_step(&p, 0, 64, &(kit_score){ 1, 32, 64 });
    kit_progress_wipe(&p);
    p.busy = 0.5;
    kit_progress_epoch(&p, 0);
    fclose(f);
    assert_int_equal(p.left, 8);
    assert_string_equal(text_of(in_dir("progress")), "epoch 1/5  2 steps  0.5 s  256 images/s\n");
    assert_int_equal(unlink(in_dir("progress")), 0);
    p = kit_progress_new(NULL, 5, 10);
    kit_progress_step(&p, 0, 64, &(kit_score){ 0 });
    kit_progress_wipe(&p), kit_progress_epoch(&p, 0);
}

TEST(on_a_terminal_progress_is_one_line_that_changes)
{
    FILE *const f = fopen(in_dir("progress"), "w");
    assert_non_null(f);
    kit_progress p = kit_progress_new(f, 5, 1); /* the last step: no time is left, however long it took */
    p.live = true;
    kit_progress_step(&p, 1, 64, &(kit_score){ 16, 48, 64 });
    p.drawn += 1e6;
    kit_progress_step(&p, 1, 64, &(kit_score){ 0 }); /* too soon to draw again */
    kit_progress_epoch(&p, 1), kit_progress_go_on(&p);
    fclose(f);
    const char *const text = text_of(in_dir("progress"));
    assert_int_equal(strncmp(text, "\repoch 2/5  loss 0.2500  accuracy 75.00 %  ", 43), 0);
    assert_non_null(strstr(text, " images/s  0:00 left\033[K\r\033[K"));
    assert_int_equal(unlink(in_dir("progress")), 0);
}

/* --steps goes up to 1e12, so the time left may have more seconds than an int can hold. */
TEST(a_very_long_run_has_much_time_left)
{
    char text[256] = "";
    unsigned long long minutes = 0;
    FILE *const f = fmemopen(text, sizeof text, "w");
    assert_non_null(f);
    kit_progress p = kit_progress_new(NULL, 1, 1000000000001);
    p.to = f, p.live = true, p.busy = 60;
    kit_progress_show(&p, 64, "x");
    fclose(f);
    assert_int_equal(sscanf(strstr(text, "/s  "), "/s  %llu:", &minutes), 1);
    assert_true(minutes >= 1000000000000 && minutes < 2000000000000);
}

TEST(a_narrow_terminal_gets_a_shorter_line)
{
    char got[256] = "", name[64];
    const int master = posix_openpt(O_RDWR | O_NOCTTY);
    if (master < 0 || grantpt(master) || unlockpt(master) || ptsname_r(master, name, sizeof name))
        printf("not run: progress on a terminal, there is no pseudo-terminal\n"), skip();
    FILE *const terminal = fopen(name, "w");
    assert_non_null(terminal);
    assert_int_equal(ioctl(master, TIOCSWINSZ, &(struct winsize){ .ws_row = 24, .ws_col = 40 }), 0);
    kit_progress p = kit_progress_new(terminal, 1, 1);
    assert_true(p.live);
    p.unit = "names";
    kit_progress_show(&p, 64, "a line that is far too long for so small a terminal");
    const ssize_t n = read(master, got, sizeof got - 1);
    assert_true(n > 0);
    assert_int_equal(strncmp(got, "\ra line", 7), 0);
    const char *const end = strstr(got, " names/s  0:00 left\033[K");
    assert_non_null(end);
    assert_int_equal(strchr(end, 27) - got, 40); /* a carriage return and 39 of 40 columns */
    fclose(terminal), close(master);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_exit_code_follows_the_error),
        cmocka_unit_test(the_trial_of_an_output_file_leaves_no_trace),
        cmocka_unit_test(the_trial_of_a_name_has_the_same_result_as_the_write),
        cmocka_unit_test(an_interrupt_is_noted),
        cmocka_unit_test(the_machine_has_a_core_and_a_name),
        cmocka_unit_test(the_fingerprint_sees_every_bit_and_name),
        cmocka_unit_test(the_log_is_one_json_object_a_line),
        cmocka_unit_test(the_log_begins_with_what_the_run_was),
        cmocka_unit_test(a_log_without_a_path_keeps_nothing_and_one_that_fails_says_so),
        cmocka_unit_test(without_a_terminal_progress_is_one_line_per_epoch),
        cmocka_unit_test(on_a_terminal_progress_is_one_line_that_changes),
        cmocka_unit_test(a_very_long_run_has_much_time_left),
        cmocka_unit_test(a_narrow_terminal_gets_a_shorter_line),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
