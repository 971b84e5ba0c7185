/* tests/test_program_deep_dive.c - examples/deep_dive as its users see it: messages, files, resuming, and results that do not depend on
 * threads. */
#include "examples/dive/dive.h"
#include "tests/failing.h"
#include "tests/program.h"
#include <errno.h>
#include <glob.h>

#define NAME(name, seconds, what) #name,
static const char *const figures[] = { DIVE_FIGURES(NAME) };
#define CHEAP "epsilon,invariance"

/* Remove the files of a report and their folder NAME. */
static void remove_report(const char *name)
{
    char path[256];
    for (size_t i = 0; i < COUNT(figures); i++) {
        snprintf(path, sizeof path, "%s/figures/%s.json", in_dir(name), figures[i]), unlink(path);
        snprintf(path, sizeof path, "%s/figures/%s.svg", in_dir(name), figures[i]), unlink(path);
    }
    snprintf(path, sizeof path, "%s/figures", in_dir(name)), rmdir(path);
    snprintf(path, sizeof path, "%s/runs.jsonl", in_dir(name)), unlink(path);
    snprintf(path, sizeof path, "%s/report.html", in_dir(name)), unlink(path);
    assert_int_equal(rmdir(in_dir(name)), 0); /* no half-written file, no leftover */
}

/* A file of the report as text in malloc'ed memory. From runs.jsonl the lines with times are left out. */
static char *text_of(const char *report, const char *file)
{
    char path[256];
    size_t n;
    snprintf(path, sizeof path, "%s/%s", in_dir(report), file);
    char *const text = (char *)file_bytes(path, &n);
    if (!text) fail_msg("there is no %s", path);
    text[n] = 0;
    for (char *at = text; (at = strstr(at, "\"done\": {"));) {
        char *const end = strchr(at, '\n');
        memmove(at, end, strlen(end) + 1);
    }
    return text;
}

static void assert_same_text(const char *a, const char *b, const char *file)
{
    char *const of_a = text_of(a, file), *const of_b = text_of(b, file);
    if (strcmp(of_a, of_b)) fail_msg("%s differs between %s and %s", file, a, b);
    free(of_a), free(of_b);
}

/* The drawings and numbers of these figures are the same in both folders. */
static void assert_same_report(const char *a, const char *b, const char *only)
{
    char file[64];
    assert_same_text(a, b, "runs.jsonl");
    for (size_t i = 0; i < COUNT(figures); i++)
        for (int svg = 0; svg < 2 && strstr(only, figures[i]); svg++)
            snprintf(file, sizeof file, "figures/%s.%s", figures[i], svg ? "svg" : "json"), assert_same_text(a, b, file);
}

static void holds(const char *report, const char *file, const char *what)
{
    char *const text = text_of(report, file);
    if (!strstr(text, what)) fail_msg("%s does not hold %s", file, what);
    free(text);
}

TEST(list_prints_the_figures)
{
    put_digits();
    assert_run("--list");
    assert_string_equal(err, "");
    for (size_t i = 0; i < COUNT(figures); i++) assert_non_null(strstr(out, figures[i]));
    assert_non_null(strstr(out, "\nclaims              4 s  the table of all statements"));
}

TEST(bad_flags_and_folders_are_refused)
{
    char text[1024], all[512] = "";
    for (size_t i = 0; i < COUNT(figures); i++) sprintf(all + strlen(all), "%s%s", i ? ", " : "", figures[i]);
    snprintf(text, sizeof text, "deep_dive: --only: there is no figure \"epsilo\"; there are %s\n", all);
    assert_ends(2, text, "--only", "claims,epsilo");
    snprintf(text, sizeof text, "deep_dive: --only: there is no figure \"\"; there are %s\n", all);
    assert_ends(2, text, "--only", "claims,");
    assert_ends(2, "deep_dive: --quick and --full exclude each other\n", "--quick", "--full");
    assert_ends(2, "deep_dive: --seeds needs a whole number from 0 to 100; got \"101\"\n", "--seeds", "101");
    assert_ends(2, "deep_dive: /no/plotly.js: cannot be read: No such file or directory\n", "--plotly", "/no/plotly.js", "--data", data);
    assert_ends(2, "deep_dive: /dev/zero: is not a regular file\n", "--plotly", "/dev/zero", "--data", data);
    assert_ends(2, "deep_dive: /dev/zero: is not a regular file\n", "--text", "/dev/zero", "--data", data);
    snprintf(text, sizeof text, "deep_dive: %s: is not a plotly.min.js\n", in_dir("err"));
    assert_ends(2, text, "--plotly", in_dir("err"), "--data", data); /* found before anything is measured */
    snprintf(text, sizeof text, "deep_dive: --out %s: cannot make this folder: Not a directory\n", in_dir("out"));
    assert_ends(2, text, "--out", in_dir("out"), "--data", data);
    if (mkdir("/sys/gradus-test", 0777) && errno != ENOENT) { /* no folder can be made there, for another reason than a missing parent */
        snprintf(text, sizeof text, "deep_dive: --out /sys/gradus-test: cannot make this folder: %s\n", strerror(errno));
        assert_ends(2, text, "--out", "/sys/gradus-test", "--data", data);
    } else puts("not run: the reason why a folder cannot be made, /sys is not as usual");
    snprintf(text, sizeof text, "deep_dive: --out %s/a/b: cannot make this folder: Not a directory\n", in_dir("out"));
    char path[200];
    snprintf(path, sizeof path, "%s/a/b", in_dir("out"));
    assert_ends(2, text, "--out", path, "--data", data);
    char far[4091] = "";
    memset(far, '/', 4090);
    assert_ends(2, "deep_dive: --out: a path of 4090 characters is too long\n", "--out", far, "--data", data);
    assert_int_equal(RUN("--text", "/no/text", "--data", data), 2);
    assert_int_equal(RUN("--data", "/no/data"), 2);
}

TEST(a_check_alone_writes_no_file)
{
    setenv("TMPDIR", dir, 1);
    assert_run("--check", "--quiet", "--data", data, "--only=claims," CHEAP);
    unsetenv("TMPDIR");
    assert_string_equal(out, ""), assert_string_equal(err, "");
    glob_t left;
    assert_int_equal(glob(in_dir("gradus-deep_dive-*"), 0, NULL, &left), GLOB_NOMATCH);
    globfree(&left);
}

TEST(figures_are_drawn_again_without_measuring)
{
    char copy[200], drawn[200], path[256];
    assert_run("--check", "--data", data, "--out", in_dir("a"), "--only=" CHEAP);
    holds("a", "report.html", "The effect of epsilon"), holds("a", "report.html", "learning_rate");
    holds("a", "figures/epsilon.json", "\"data\":"), holds("a", "figures/epsilon.svg", "</svg>");
    char *const json = text_of("a", "figures/epsilon.json"), *const svg = text_of("a", "figures/invariance.svg");
    snprintf(drawn, sizeof drawn, "%s/figures/epsilon.json", in_dir("a")), unlink(drawn);
    snprintf(path, sizeof path, "%s/runs.jsonl", in_dir("a"));
    snprintf(copy, sizeof copy, "%s", in_dir("runs"));
    assert_int_equal(link(path, copy), 0); /* a file that is written again has another inode */

    assert_run("--check", "--data", data, "--out", in_dir("a"), "--only=epsilon");
    assert_non_null(strstr(out, "epsilon           measured before\n")), assert_null(strstr(out, "invariance"));
    struct stat was, is;
    assert_int_equal(stat(copy, &was), 0), assert_int_equal(stat(path, &is), 0), assert_int_equal(was.st_ino, is.st_ino);
    char *const again = text_of("a", "figures/epsilon.json"), *const svg_again = text_of("a", "figures/invariance.svg");
    assert_string_equal(json, again), assert_string_equal(svg, svg_again);

    assert_run("--check", "--data", data, "--out", in_dir("a"), "--only=epsilon", "--seed=43"); /* other settings, other numbers */
    assert_null(strstr(out, "measured before"));
    free(json), free(again), free(svg), free(svg_again), unlink(copy), remove_report("a");
}

TEST(an_invalid_runs_file_is_refused_and_kept)
{
    char path[200], text[600];
    assert_int_equal(mkdir(in_dir("a"), 0700), 0);
    snprintf(path, sizeof path, "%s/runs.jsonl", in_dir("a"));
    FILE *const f = fopen(path, "w");
    fputs("hello\n", f), fclose(f);
    snprintf(text, sizeof text, "deep_dive: %s: line 1, column 1: expected {; delete the file to measure everything again\n", path);
    assert_ends(2, text, "--check", "--data", data, "--out", in_dir("a"), "--only=epsilon");
    holds("a", "runs.jsonl", "hello\n");
    remove_report("a");
}

TEST(threads_change_nothing_but_times)
{
    static const char only[] = "--only=correlation,gradient_flow," CHEAP;
    assert_run("--check", "--quiet", "--data=none", "--threads=1", "--out", in_dir("a"), only);
    assert_run("--check", "--quiet", "--data=none", "--threads=2", "--out", in_dir("b"), only);
    assert_same_report("a", "b", only);
    remove_report("a"), remove_report("b");
}

/* After loss, variants takes the results of two networks from it. */
TEST(a_training_that_two_figures_share_gives_the_same_as_two)
{
    assert_run("--check", "--quiet", "--data=none", "--out", in_dir("a"), "--only=variants");
    assert_run("--check", "--quiet", "--data=none", "--out", in_dir("b"), "--only=loss,variants");
    assert_same_text("a", "b", "figures/variants.json");
    remove_report("a"), remove_report("b");
}

/* The figure that is being measured is lost, the earlier ones are drawn, and the next run continues. */
TEST(an_interrupted_run_can_be_continued)
{
    char path[200];
    snprintf(path, sizeof path, "%s/runs.jsonl", in_dir("a"));
    const pid_t child = start(NULL, in_dir("out"), ARGV("--quick", "--data", data, "--out", in_dir("a"), "--only=epsilon,learning_rate"));
    while (is_running(child) && access(path, R_OK) != 0) continue;
    kill(child, SIGINT);
    assert_int_equal(ended(child), 130);
    assert_string_equal(err, "deep_dive: interrupted\n");
    holds("a", "report.html", "The effect of epsilon");
    char *const runs = text_of("a", "runs.jsonl");
    assert_null(strstr(runs, "learning_rate"));
    free(runs);
    assert_run("--quick", "--data", data, "--out", in_dir("a"), "--only=epsilon,invariance");
    assert_non_null(strstr(out, "epsilon           measured before\ninvariance "));
    holds("a", "report.html", "24 of 24 cells");
    remove_report("a");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(list_prints_the_figures),
        cmocka_unit_test(bad_flags_and_folders_are_refused),
        cmocka_unit_test(a_check_alone_writes_no_file),
        cmocka_unit_test(figures_are_drawn_again_without_measuring),
        cmocka_unit_test(an_invalid_runs_file_is_refused_and_kept),
        cmocka_unit_test(threads_change_nothing_but_times),
        cmocka_unit_test(a_training_that_two_figures_share_gives_the_same_as_two),
        cmocka_unit_test(an_interrupted_run_can_be_continued),
    };
    return cmocka_run_group_tests(tests, program_set_up, program_tear_down);
}
