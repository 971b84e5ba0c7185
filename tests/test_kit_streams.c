/* tests/test_kit_streams.c - a program whose standard streams or log are closed or are pipes. Printed text never gets into a file, the
 * program never waits for ever, and it keeps its checkpoint and its weights. */
#include "tests/program.h"
#include <sys/ioctl.h>

FIXTURE(set_up)
{
    if (program_set_up(state) != 0) return -1;
    put_digits();
    setenv("FLAGS", "--hidden=2 --batch=32 --threads=1 --checkpoint=checkpoint", 1);
    return 0;
}

/* Start `sh -c command` in the folder. $0 is the program, $D the data folder; stdout and stderr go to files. */
static pid_t begin(const char *command)
{
    const pid_t child = fork();
    if (child) return child;
    if (!freopen(in_dir("out"), "w", stdout) || !freopen(in_dir("err"), "w", stderr) || chdir(dir) != 0) _exit(99);
    setenv("D", data, 1);
    execl("/bin/sh", "sh", "-c", command, program, (char *)NULL);
    _exit(99);
}
static int run(const char *command) { return ended(begin(command)); }

static const char *text_of(const char *name)
{
    static char text[1 << 16];
    slurp(in_dir(name), text, sizeof text);
    return text;
}

static void remove_files(void)
{
    static const char *const name[] = { "checkpoint", "log", "weights", "copy", "pipe" };
    for (size_t i = 0; i < COUNT(name); i++) unlink(in_dir(name[i]));
}

/* Every line must be a record. */
static void assert_is_log(const char *text)
{
    assert_int_equal(strncmp(text, "{\"kind\": \"run\"", 14), 0);
    for (const char *line = text; *line; line = strchr(line, '\n') + 1) {
        assert_int_equal(strncmp(line, "{\"kind\": ", 9), 0);
        assert_non_null(strstr(line, "}\n"));
    }
}

TEST(closed_streams_let_no_printed_text_into_files)
{
    static const char closed[] = "seq_mnist_lstm: cannot write to stdout: Bad file descriptor\n";
    assert_int_equal(run("\"$0\" $FLAGS --data \"$D\" --epochs 2 --log log --save weights --quiet >&-"), 3);
    assert_string_equal(err, closed);
    assert_is_log(text_of("log"));
    assert_int_equal(access(in_dir("weights"), F_OK), 0); /* the trained weights are kept */
    remove_files();
    assert_int_equal(run("\"$0\" $FLAGS --data \"$D\" --log log >&-"), 3); /* immediately */
    assert_string_equal(err, closed);
    assert_is_log(text_of("log"));
    assert_int_not_equal(access(in_dir("checkpoint"), F_OK), 0);
    assert_int_equal(run("exec \"$0\" $FLAGS --data \"$D\" --epochs 2 --log log <&- >&- 2>&-"), 3);
    assert_is_log(text_of("log"));
    remove_files();
    assert_int_equal(run("exec \"$0\" $FLAGS --data \"$D\" --epochs 2 --log log <&- 2>&-"), 0);
    assert_is_log(text_of("log"));
    assert_non_null(strstr(out, "\nepoch 2/2  train loss ")), assert_null(strstr(text_of("log"), "7 steps"));
    if (access("/dev/full", W_OK) == 0) {
        assert_int_equal(run("\"$0\" --help > /dev/full"), 3);
        assert_string_equal(err, "seq_mnist_lstm: --help cannot be written: No space left on device\n");
    }
    remove_files();
}

TEST(a_log_goes_into_a_pipe_that_somebody_reads)
{
    char want[200];
    assert_int_equal(mkfifo(in_dir("pipe"), 0600), 0);
    assert_int_equal(run("cat pipe > copy & exec 3> pipe; \"$0\" $FLAGS --data \"$D\" --epochs 2 --log pipe && exec 3>&- && wait"), 0);
    assert_is_log(text_of("copy"));
    assert_int_equal(run("\"$0\" $FLAGS --data \"$D\" --epochs 2 --quiet --log /dev/stdout | cat > copy"), 0);
    assert_non_null(strstr(text_of("copy"), "{\"kind\": \"run\"")), assert_non_null(strstr(text_of("copy"), "\ntest accuracy "));
    assert_int_equal(run("\"$0\" $FLAGS --data \"$D\" --epochs 2 --log /dev/null"), 0);
    for (int same = 0; same < 2; same++) { /* if stdout goes to the same file, it gets both */
        assert_int_equal(run(same ? "\"$0\" $FLAGS --data \"$D\" --epochs 2 --log copy > copy"
                                  : "\"$0\" $FLAGS --data \"$D\" --epochs 2 --log /dev/stdout > copy"), 0);
        assert_int_equal(strncmp(text_of("copy"), "{\"kind\": \"run\"", 14), 0);
        assert_non_null(strstr(text_of("copy"), "}\nepoch 2/2  train loss ")), assert_non_null(strstr(text_of("copy"), "\ntest accuracy "));
    }
    assert_int_equal(run("\"$0\" $FLAGS --data \"$D\" --epochs 2 --log pipe"), 2);
    snprintf(want, sizeof want, "seq_mnist_lstm: pipe: cannot open the log: nobody reads this pipe\n");
    assert_string_equal(err, want);
    remove_files();
}

/* A pipe of one page. This process holds it open as its reader. */
static int reader_of(const char *name)
{
    unlink(in_dir(name));
    assert_int_equal(mkfifo(in_dir(name), 0600), 0);
    const int fd = open(in_dir(name), O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_true(fcntl(fd, F_SETPIPE_SZ, 4096) >= 4096);
    return fd;
}
/* The pipe counts as full when less than a quarter of a page is left, because no line is longer. poll cannot tell: it reports a one-page
 * pipe as full once it holds a byte. */
static void wait_until_full(int fd, pid_t child)
{
    for (int bytes = 0; is_running(child) && bytes < 3072;) assert_int_equal(ioctl(fd, FIONREAD, &bytes), 0);
}
static void read_a_line(int fd)
{
    for (char c = 0; c != '\n';) assert_int_equal(read(fd, &c, 1), 1);
}

TEST(a_run_ends_although_nobody_empties_its_pipe)
{
    static const char *const command[] = { "exec \"$0\" $FLAGS --data \"$D\" --epochs 3000 --quiet --log pipe",
                                           "exec \"$0\" $FLAGS --data \"$D\" --epochs 3000 > pipe",
                                           "exec \"$0\" $FLAGS --data \"$D\" --epochs 3000 2> pipe" };
    for (size_t i = 0; i < COUNT(command); i++)
        for (int signal_number = SIGINT; signal_number; signal_number = signal_number == SIGINT ? SIGTERM : 0) {
            const int fd = reader_of("pipe");
            const pid_t child = begin(command[i]);
            wait_until_full(fd, child), kill(child, signal_number);
            assert_int_equal(ended(child), 130);
            if (i < 2) assert_non_null(strstr(err, "seq_mnist_lstm: interrupted after step "));
            assert_int_equal(access(in_dir("checkpoint"), F_OK), 0);
            close(fd), remove_files();
        }
}

TEST(a_log_that_breaks_stops_the_run_with_its_checkpoint)
{
    char want[1 << 10];
    size_t step = 0;
    const int fd = reader_of("pipe");
    const pid_t child = begin("exec \"$0\" $FLAGS --data \"$D\" --epochs 3000 --quiet --log pipe");
    read_a_line(fd), read_a_line(fd), close(fd);
    assert_int_equal(ended(child), 3);
    assert_string_equal(err, "seq_mnist_lstm: pipe: cannot write the log: Broken pipe\n");
    assert_int_equal(run("\"$0\" $FLAGS --data \"$D\" --epochs 3000 --quiet --resume --steps 2 --log log"), 0);
    strcpy(want, strstr(out, "fingerprint")); /* the checkpoint is that of some step, so no work was lost */
    for (bool same = false; !same; step++) {
        char command[200];
        assert_true(step < 300);
        snprintf(command, sizeof command, "\"$0\" --hidden=2 --batch=32 --threads=1 --data \"$D\" --epochs 3000 --quiet --steps %zu", step + 1);
        assert_int_equal(run(command), 0);
        same = !strcmp(strstr(out, "fingerprint"), want);
    }
    remove_files();
}

TEST(files_are_complete_although_the_reader_of_stdout_leaves)
{
    const int fd = reader_of("pipe");
    const pid_t child = begin("exec \"$0\" $FLAGS --data \"$D\" --epochs 100 --save weights > pipe");
    read_a_line(fd), wait_until_full(fd, child), close(fd); /* 100 lines of 90 characters are more than the pipe holds */
    assert_int_equal(ended(child), 3);
    assert_non_null(strstr(err, "\nseq_mnist_lstm: cannot write to stdout: Broken pipe\n"));
    assert_int_equal(access(in_dir("weights"), F_OK), 0);
    remove_files();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(closed_streams_let_no_printed_text_into_files),
        cmocka_unit_test(a_log_goes_into_a_pipe_that_somebody_reads),
        cmocka_unit_test(a_run_ends_although_nobody_empties_its_pipe),
        cmocka_unit_test(a_log_that_breaks_stops_the_run_with_its_checkpoint),
        cmocka_unit_test(files_are_complete_although_the_reader_of_stdout_leaves),
    };
    return cmocka_run_group_tests(tests, set_up, program_tear_down);
}
