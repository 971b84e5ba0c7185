/* tests/test_dive_claims.c - each claim of the papers is judged by a figure, or listed with the reason why it is not. */
#include "examples/dive/exact.h"
#include "tests/test.h"
#include <ctype.h>
#include <glob.h>

static const struct {
    const char *letters;
    int n;
} paper[] = { { "LN", 17 }, { "BN", 11 }, { "RB", 9 }, { "XU", 4 }, { "RM", 5 }, { "PL", 7 }, { "CC", 6 } };

/* All sources of the figures, without the list of what is missing. */
static char *sources(void)
{
    glob_t files;
    static char text[1 << 20];
    size_t n = 0;
    assert_int_equal(glob("examples/dive/*.c", 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        FILE *const f = fopen(files.gl_pathv[i], "r");
        n += fread(text + n, 1, sizeof text - 1 - n, f), fclose(f);
    }
    globfree(&files);
    assert_true(n < sizeof text - 1);
    char *const from = strstr(text, "const char *const dive_missing"), *const to = strstr(from, "\n};");
    memset(from, ' ', (size_t)(to - from));
    return text;
}

/* Whether the source of a claim names the code: "(LN7" or ", LN7" with no digit after it. */
static bool names(const char *text, const char *code)
{
    for (const char *at = text; (at = strstr(at, code)); at++)
        if (!isdigit((unsigned char)at[strlen(code)]) && (at[-1] == '(' || at[-1] == ' ')) return true;
    return false;
}

TEST(every_claim_is_judged_or_has_a_reason)
{
    const char *const text = sources();
    size_t judged = 0;
    for (size_t p = 0; p < COUNT(paper); p++)
        for (int k = 1; k <= paper[p].n; k++) {
            char code[16];
            size_t missing = 0;
            snprintf(code, sizeof code, "%s%d", paper[p].letters, k);
            for (size_t i = 0; i < DIVE_MISSING; i++) missing += !strcmp(dive_missing[i][0], code);
            if (names(text, code) + missing != 1)
                fail_msg("%s is judged: %d, and in the list of what is missing: %zu", code, names(text, code), missing);
            judged += !missing;
        }
    assert_int_equal(judged, 59 - DIVE_MISSING);
    for (size_t i = 0; i < DIVE_MISSING; i++) assert_true(*dive_missing[i][1] && *dive_missing[i][2]);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(every_claim_is_judged_or_has_a_reason) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
