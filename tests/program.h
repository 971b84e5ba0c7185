/* tests/program.h - run a program as its users do: start it, read its output and its exit code, and check which files it leaves behind.
 * tests/test_program_NAME.c tests examples/NAME, which make builds first. Its group uses program_set_up and program_tear_down. */
#ifndef GR_TEST_PROGRAM_H
#define GR_TEST_PROGRAM_H
#include "examples/kit/kit.h"
#include "tests/test.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* The path of the program, the test's own folder, a folder for data inside it, and the output of the last run. */
static char program[4096], dir[64], data[80], out[1 << 16], err[1 << 16];

/* A path in the test's folder; valid for the next four calls. */
static inline const char *in_dir(const char *name)
{
    static char path[4][128];
    static int next;
    next = (next + 1) % 4;
    snprintf(path[next], sizeof path[next], "%s/%s", dir, name);
    return path[next];
}

static inline void slurp(const char *path, char *text, size_t bytes)
{
    FILE *const f = fopen(path, "r");
    text[f ? fread(text, 1, bytes - 1, f) : 0] = 0;
    if (f) fclose(f);
}

/* Start the program with its output redirected to files. isa is NULL or a value for GRADUS_ISA. */
static inline pid_t start(const char *isa, const char *to, const char *const *argv)
{
    const pid_t child = fork();
    if (child) return child;
    if (isa) setenv("GRADUS_ISA", isa, 1);
    if (!freopen(to, "w", stdout) || !freopen(in_dir("err"), "w", stderr)) _exit(99);
    execv(program, (char *const *)(uintptr_t)argv);
    _exit(99);
}

static inline int ended(pid_t child)
{
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    slurp(in_dir("out"), out, sizeof out), slurp(in_dir("err"), err, sizeof err);
    if (WIFSIGNALED(status)) print_error("%s died of signal %d\n%s", program, WTERMSIG(status), err);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Is the program still running? Tests loop on this while they wait for its output. They set no time limit, so that they pass on a slow
 * machine. */
static inline bool is_running(pid_t child)
{
    siginfo_t info = { 0 };
    usleep(1000);
    return waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0;
}

#define ARGV(...) \
    (const char *const[]) { program, __VA_ARGS__, NULL }
/* RUN("--steps=3", "--quiet") runs the program and returns its exit code. */
#define RUN(...) ended(start(NULL, in_dir("out"), ARGV(__VA_ARGS__)))
#define assert_run(...) \
    do { \
        if (RUN(__VA_ARGS__) != 0) fail_msg("%s", err); \
    } while (0)
/* The program exits with this code and prints this text and nothing else on stderr. */
#define assert_ends(code, text, ...) \
    do { \
        assert_int_equal(RUN(__VA_ARGS__), code); \
        assert_string_equal(err, text); \
    } while (0)

/* The program prints the same for any number of threads, and something else with another seed. */
#define assert_seed_decides(...) \
    do { \
        static char once[sizeof out]; \
        assert_run(__VA_ARGS__, "--threads=1", "--quiet"); \
        strcpy(once, out); \
        assert_run(__VA_ARGS__, "--threads=3", "--quiet"); \
        assert_string_equal(out, once); \
        assert_run(__VA_ARGS__, "--threads=1", "--quiet", "--seed=7"); \
        assert_string_not_equal(out, once); \
    } while (0)

/* No line of the output is longer than 100 columns. The output is ASCII. */
static inline void assert_columns(void)
{
    for (const char *line = out; *line; line += strcspn(line, "\n"), line += *line == '\n')
        if (strcspn(line, "\n") > 100) fail_msg("longer than 100 columns: %.*s", (int)strcspn(line, "\n"), line);
}

/* A comparison has a legend above its first table, "What to see" with at least one paragraph after its last, and lines of 100 columns. With
 * --quiet it has neither. legend and table are the beginnings of the two. */
#define assert_concludes(legend, table) \
    do { \
        const char *const at_ = strstr(out, legend), *const table_ = strstr(out, table), *const see_ = strstr(out, "\nWhat to see\n- "); \
        assert_true(at_ && table_ && see_ && at_ < table_ && table_ < see_); \
        assert_columns(); \
    } while (0)
/* "What to see" of the last run, with one blank between two words and nothing for the ends of lines. */
static inline const char *what_to_see(void)
{
    static char flat[sizeof out];
    char *to = flat;
    const char *text = strstr(out, "\nWhat to see\n");
    assert_non_null(text);
    for (text += 13; *text; text += strspn(text, " \n")) {
        const size_t n = strcspn(text, " \n");
        memcpy(to, text, n), to += n, text += n, *to++ = ' ';
    }
    *to = 0;
    return flat;
}
#define assert_sees(text) \
    do { \
        if (!strstr(what_to_see(), text)) fail_msg("%s\nis not in\n%s", text, what_to_see()); \
    } while (0)
#define assert_concludes_nothing() assert_true(!strstr(out, "What to see") && !strstr(out, "While the arms train"))

static inline void put_idx(const char *name, size_t n, bool images)
{
    uint8_t pixels[KIT_PIXELS], head[16] = { 0, 0, 8, images ? 3 : 1, 0, 0, 0, (uint8_t)n, 0, 0, 0, 28, 0, 0, 0, 28 };
    char path[160];
    snprintf(path, sizeof path, "%s/%s", data, name);
    FILE *const f = fopen(path, "wb");
    assert_non_null(f);
    fwrite(head, 1, images ? 16 : 8, f);
    for (size_t i = 0; i < n; i++) {
        const int label = kit_digit(1, name[1] == 'r' ? "train" : "test", i, pixels);
        if (images) fwrite(pixels, 1, sizeof pixels, f);
        else fputc(label, f);
    }
    assert_int_equal(fclose(f), 0);
}

static const char *const digit_files[] = { "train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte",
                                           "t10k-labels-idx1-ubyte" };

/* Write 200 training and 100 test images in MNIST's format to the data folder. program_tear_down removes them. */
static inline void put_digits(void)
{
    for (int i = 0; i < 4; i++) put_idx(digit_files[i], i < 2 ? 200 : 100, i % 2 == 0);
}

FIXTURE(program_set_up)
{
    char name[64];
    const ssize_t n = readlink("/proc/self/exe", program, sizeof program - 64);
    if (n <= 0) return -1;
    program[n] = 0;
    char *const self = strrchr(program, '/') + 1; /* build/../tests/test_program_NAME */
    snprintf(name, sizeof name, "%s", strncmp(self, "test_program_", 13) ? "seq_mnist_lstm" : self + 13);
    for (int up = 0; up < 2; up++) *strrchr(program, '/') = 0;
    strcat(program, "/examples/"), strcat(program, name);
    unsetenv("GRADUS_ISA");

    strcpy(dir, "/tmp/gradus-main-XXXXXX");
    if (!mkdtemp(dir)) return -1;
    snprintf(data, sizeof data, "%s/some \"digits'", dir);
    return mkdir(data, 0700);
}

FIXTURE(program_tear_down)
{
    char path[160];
    for (size_t i = 0; i < COUNT(digit_files); i++) snprintf(path, sizeof path, "%s/%s", data, digit_files[i]), unlink(path);
    rmdir(data), unlink(in_dir("out")), unlink(in_dir("err"));
    if (rmdir(dir)) print_error("%s is not empty at the end: a run left a file behind\n", dir), exit(1); /* cmocka would exit with 0 */
    return 0;
}
#endif
