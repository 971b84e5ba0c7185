/* tests/test_program_broken.c - the programs of examples/broken: the symptom, the tool, the repaired program, and the pages about them. */
#include "tests/program.h"
#include <ctype.h>
#include <math.h>

/* better: a program without the fault has the larger last number */
static const struct {
    const char *name;
    bool better;
} programs[] = {
    { "residual", 0 }, { "sensors", 0 }, { "online", 0 }, { "heart", 0 }, { "gains", 0 }, { "blobs", 0 },
    { "export", 0 },   { "denoise", 0 }, { "lookup", 0 }, { "deep", 0 },  { "exam", 0 },  { "floor", 1 },
};
#ifdef GR_OPENBLAS
#define LEAST 1.0 /* times the loss of the repaired program: with other bits it can end in another minimum */
#else
#define LEAST 1.5
#endif
static char folder[4096], printed[1 << 16], page[1 << 16];

static const char *const flags[][3] = { { 0 }, { "--find" }, { "--fixed" }, { "--fixed", "--find" } };
enum { WRONG, WRONG_FOUND, RIGHT, RIGHT_FOUND };
static char output[COUNT(programs)][COUNT(flags)][4096];

static void choose(size_t i) { snprintf(program, sizeof program, "%.4000s/%s", folder, programs[i].name); }

/* The last number of the text that has a decimal point; INFINITY for nan, which no right program prints. */
static double last_number(const char *text)
{
    double found = NAN;
    for (const char *at = text; *at; at++) {
        if (!strncmp(at, "nan", 3)) found = (double)INFINITY;
        const size_t digits = strspn(at, "0123456789");
        if (digits && at[digits] == '.' && isdigit((unsigned char)at[digits + 1]))
            found = strtod(at, NULL), at += digits + strspn(at + digits + 1, "0123456789");
        else if (digits) at += digits - 1;
    }
    assert_false(isnan(found));
    return found;
}

TEST(a_fault_has_its_symptom)
{
    for (size_t i = 0; i < COUNT(programs); i++) {
        choose(i);
        for (size_t f = 0; f < COUNT(flags); f++) {
            assert_run(flags[f][0], flags[f][1]);
            assert_string_equal(err, "");
            assert_true(strlen(out) < sizeof output[i][f]);
            strcpy(output[i][f], out);
        }
        const double wrong = last_number(output[i][WRONG]), right = last_number(output[i][RIGHT]);
        if (programs[i].better ? wrong * 10 > right : wrong < right * LEAST)
            fail_msg("%s prints %g, and repaired %g", programs[i].name, wrong, right);
    }
}

TEST(a_tool_tells_them_apart)
{
    for (size_t i = 0; i < COUNT(programs); i++) assert_string_not_equal(output[i][WRONG_FOUND], output[i][RIGHT_FOUND]);
}

/* Where find trains, it trains as the program does: each line with a loss that --find prints is a line of the program without --find. */
TEST(find_shows_the_same_run)
{
    size_t losses = 0;
    for (size_t i = 0; i < COUNT(programs); i++) {
        for (size_t f = WRONG; f <= RIGHT; f += RIGHT - WRONG) {
            for (const char *line = output[i][f + 1], *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
                char wanted[256];
                snprintf(wanted, sizeof wanted, "%.*s\n", (int)(end - line), line);
                if (!strstr(wanted, "  loss ")) continue;
                losses++;
                if (!strstr(output[i][f], wanted))
                    fail_msg("%s %s prints %s", programs[i].name, f == RIGHT ? "--fixed --find" : "--find", wanted);
            }
        }
    }
    assert_true(losses > 50);
}

/* How many lines of `text` are not lines of `other`. */
static size_t lines_without_twin(const char *text, const char *other)
{
    size_t n = 0;
    for (const char *line = text, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        bool found = false;
        for (const char *at = other; !found && (at = strchr(at, *line)) != NULL; at++)
            found = (at == other || at[-1] == '\n') && !strncmp(at, line, (size_t)(end - line) + 1);
        n += !found;
    }
    return n;
}

/* answers/NAME.c is a copy of NAME.c but for the repair, its first comment, FIXED and the comment of the last line, and it includes nothing of NAME.c:
 * a learner who edits NAME.c cannot break --fixed. */
TEST(the_right_programs_are_files_of_their_own)
{
    for (size_t i = 0; i < COUNT(programs); i++) {
        char path[128], wanted[256];
        snprintf(path, sizeof path, "examples/broken/%s.c", programs[i].name);
        slurp(path, page, sizeof page);
        snprintf(wanted, sizeof wanted, "/* answers/%s.c - %s without its fault; --fixed runs it.\n", programs[i].name, path);
        snprintf(path, sizeof path, "examples/broken/answers/%s.c", programs[i].name);
        slurp(path, printed, sizeof printed);
        if (strncmp(printed, wanted, strlen(wanted)) != 0) fail_msg("%s must begin with %s", path, wanted);
        const size_t added = lines_without_twin(printed, page), lost = lines_without_twin(page, printed);
        if (added < 4 || added > 10 || lost > 7) fail_msg("%s has %zu lines that the program lacks, and lacks %zu", path, added, lost);
        snprintf(wanted, sizeof wanted, "/broken/%s.c\"", programs[i].name);
        assert_null(strstr(printed, wanted));
    }
}

/* What each program prints is in answers/NAME.txt, to the bit: a command after "$ ", and its output. */
TEST(the_records_are_what_is_printed)
{
    if (sizeof(gr_real) == sizeof(double)) printf("not run: the records of examples/broken, they are those of float\n"), skip();
#ifdef GR_OPENBLAS
    printf("not run: the records of examples/broken, they are those of gradus's own products\n"), skip();
#endif
    for (size_t i = 0; i < COUNT(programs); i++) {
        char path[128], *end = printed;
        for (size_t f = 0; f < COUNT(flags); f++) {
            end += sprintf(end, "$ %s", programs[i].name);
            for (size_t k = 0; flags[f][k]; k++) end += sprintf(end, " %s", flags[f][k]);
            end += sprintf(end, "\n%s", output[i][f]);
        }
        snprintf(path, sizeof path, "examples/broken/answers/%s.txt", programs[i].name);
        slurp(path, page, sizeof page);
        assert_string_equal(page, printed);
    }
}

/* Whether the record has this number, or one that is rounded to it; it has three significant digits then. */
static bool is_recorded(const char *record, const char *number, size_t length)
{
    const double x = strtod(number, NULL);
    const char *const point = memchr(number, '.', length);
    const int decimals = (int)(number + length - point) - 1;
    size_t significant = 0;
    for (size_t i = 0; i < length; i++) significant += number[i] != '.' && (significant || number[i] != '0');
    for (const char *at = record; *at; at++) {
        const size_t digits = strspn(at, "0123456789");
        if (!digits) continue;
        if (at[digits] == '.') {
            char *end, rounded[64];
            const double y = strtod(at, &end);
            snprintf(rounded, sizeof rounded, "%.*f", decimals, y);
            if (!(y < x || y > x) || (significant > 2 && strlen(rounded) == length && !strncmp(rounded, number, length))) return true;
            at = end - 1;
        } else at += digits - 1;
    }
    return false;
}

/* Each number of a page with a decimal point, and each line of a block of text, is printed by the program of that row or part. */
static void check_page(const char *path, const char *start, const char *after)
{
    char name[64] = "", *line = page, file[128];
    size_t parts = 0;
    bool inside = false;
    slurp(path, page, sizeof page);
    for (char *next; line && *line; line = next) {
        if ((next = strchr(line, '\n'))) *next++ = 0;
        if (!strncmp(line, start, strlen(start))) {
            const size_t length = strcspn(line + strlen(start), after);
            snprintf(name, sizeof name, "%.*s", (int)length, line + strlen(start));
            snprintf(file, sizeof file, "examples/broken/answers/%s.txt", name);
            slurp(file, printed, sizeof printed);
            if (!*printed) fail_msg("%s: there is no %s", path, file);
            parts++;
        }
        if (!strncmp(line, "```", 3)) inside = !strcmp(line, "```text");
        else if (inside) {
            char *const whole = strstr(printed, line);
            if (!whole || (whole != printed && whole[-1] != '\n') || (whole[strlen(line)] != '\n'))
                fail_msg("%s: %s does not print: %s", path, name, line);
        }
        for (const char *at = line; *at && !inside; at++) {
            const size_t digits = strspn(at, "0123456789"), more = digits && at[digits] == '.' ? strspn(at + digits + 1, "0123456789") : 0;
            if (more && !is_recorded(printed, at, digits + 1 + more))
                fail_msg("%s: %s does not print %.*s", path, name, (int)(digits + 1 + more), at);
            if (digits) at += digits + (more ? more + 1 : 0) - 1;
        }
    }
    assert_int_equal(parts, COUNT(programs));
}

TEST(the_pages_have_the_programs_numbers)
{
    check_page("examples/broken/README.md", "| [", "]");
    check_page("examples/broken/answers/README.md", "## ", " ");
}

/* The lesson that the table names for a program has a link to it. */
TEST(the_lessons_lead_to_the_programs)
{
    slurp("examples/broken/README.md", page, sizeof page);
    for (size_t i = 0; i < COUNT(programs); i++) {
        char row[64], path[128], link[64];
        snprintf(row, sizeof row, "\n| [%s](", programs[i].name);
        snprintf(link, sizeof link, "[%s](../../broken/%s.c)", programs[i].name, programs[i].name);
        const char *const at = strstr(page, row), *const lesson = at ? strstr(at, "](../lessons/") : NULL;
        if (!lesson || lesson > strchr(at + 1, '\n')) fail_msg("examples/broken/README.md names no lesson for %s", programs[i].name);
        snprintf(path, sizeof path, "examples/lessons/%.*s/README.md", (int)strcspn(lesson + 13, ")"), lesson + 13);
        slurp(path, printed, sizeof printed);
        if (!strstr(printed, link)) fail_msg("%s has no link %s", path, link);
    }
}

TEST(bad_flags_are_refused)
{
    choose(0);
    assert_run("--help");
    assert_non_null(strstr(out, "\n  --find "));
    assert_ends(2, "residual: unknown flag --fixe; did you mean --fixed? --help lists all\n", "--fixe");
    if (access("/dev/full", W_OK) != 0) printf("not run: a full disk, there is no /dev/full\n"), skip();
    assert_int_equal(ended(start(NULL, "/dev/full", ARGV(NULL))), 3);
    assert_string_equal(err, "residual: cannot write to stdout: No space left on device\n");
}

FIXTURE(set_up)
{
    const int failed = program_set_up(state);
    strcpy(folder, program); /* examples/broken */
    return failed;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fault_has_its_symptom),          cmocka_unit_test(a_tool_tells_them_apart),
        cmocka_unit_test(find_shows_the_same_run),          cmocka_unit_test(the_right_programs_are_files_of_their_own),
        cmocka_unit_test(the_records_are_what_is_printed),  cmocka_unit_test(the_pages_have_the_programs_numbers),
        cmocka_unit_test(the_lessons_lead_to_the_programs), cmocka_unit_test(bad_flags_are_refused),
    };
    return cmocka_run_group_tests(tests, set_up, program_tear_down);
}
