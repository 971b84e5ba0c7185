/* tests/test_kit_conclude.c - text in 100 columns, and the sentences about planted scores. */
#include "examples/kit/conclude.h"
#include "tests/test.h"
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

/* What has been printed since listen(). */
static char said[1 << 14];
static int terminal;
static FILE *paper;

static void listen(void)
{
    fflush(stdout);
    paper = tmpfile();
    terminal = dup(1);
    assert_true(paper && terminal >= 0 && dup2(fileno(paper), 1) == 1);
}

static const char *heard(void)
{
    fflush(stdout), dup2(terminal, 1), close(terminal), rewind(paper);
    said[fread(said, 1, sizeof said - 1, paper)] = 0;
    fclose(paper);
    for (char *c = said; *c; c++)
        if (*c == '\n' && c[1] == ' ') *c = ' ', memmove(c + 1, c + 3, strlen(c + 3) + 1); /* a paragraph becomes a line */
    return said;
}

static kit_arms planted(size_t n, const size_t *hits, double loss)
{
    static const char *const names[] = { "none", "BN", "LN" };
    kit_arms a = { .title = "run", .n = n, .steps = 50, .mark = { 90 } };
    for (size_t i = 0; i < n; i++)
        a.arm[i] = (kit_arm){ .name = names[i], .steps = 50, .tested = { loss * 1000, hits[i], 1000 }, .recent = { 100, 0, 1000 } };
    return a;
}

TEST(lines_have_100_columns_and_lose_no_word)
{
    gr_stream s = gr_stream_new(5, "words");
    for (int trial = 0; trial < 300; trial++) {
        char text[1200] = "", *printed = NULL, line[256], got[1200] = "";
        size_t bytes = 0;
        const int indent = trial % 9;
        for (int i = 0; i < 60; i++) {
            const int length = 1 + (int)(18 * gr_stream_uniform(&s, 0, 1));
            snprintf(text + strlen(text), sizeof text - strlen(text), "%s%.*s", i ? " " : "", length, "abcdefghijklmnopqrs");
        }
        FILE *const f = open_memstream(&printed, &bytes);
        kit_wrap(f, text, indent), fclose(f);
        for (const char *p = printed; *p; p += strlen(line)) {
            snprintf(line, sizeof line, "%.*s", (int)strcspn(p, "\n") + 1, p);
            assert_true(strlen(line) - 1 <= 100 && (int)strspn(line, " ") == indent && line[strlen(line) - 2] != ' ');
            snprintf(got + strlen(got), sizeof got - strlen(got), "%s%.*s", *got ? " " : "", (int)strlen(line + indent) - 1, line + indent);
        }
        assert_string_equal(got, text);
        free(printed);
    }
}

TEST(a_percent_sign_stays_with_its_number)
{
    for (size_t n = 80; n < 100; n++) {
        char text[160], *printed = NULL;
        size_t bytes = 0;
        snprintf(text, sizeof text, "%0*d 12.50 %%; x", (int)n, 0);
        FILE *const f = open_memstream(&printed, &bytes);
        kit_wrap(f, text, 0), fclose(f);
        assert_non_null(strstr(printed, "12.50 %;"));
        free(printed);
    }
}

TEST(the_smallest_is_never_nan)
{
    assert_int_equal(kit_smallest((const double[]){ NAN, 3, -1, NAN, 2 }, 5), 2);
    assert_int_equal(kit_smallest((const double[]){ NAN, NAN }, 2), 2);
    assert_int_equal(kit_smallest((const double[]){ 1, 1 }, 2), 0);
    assert_int_equal(kit_smallest(NULL, 0), 0);
}

TEST(noise_is_two_standard_errors)
{
    const kit_score half = { 0, 499, 998 }, all = { 0, 1000, 1000 };
    assert_true(fabs(kit_noise(&half, &half) - 200 * sqrt(2 * 0.25 / 1000)) < 1e-9);
    assert_true(kit_noise(&all, &all) > 0.2 && kit_noise(&all, &all) < 0.4); /* an accuracy of 100 % is not exact */
}

TEST(a_difference_above_the_noise_is_seen_and_one_below_it_is_not)
{
    kit_arms a = planted(3, (const size_t[]){ 900, 950, 955 }, 0.3);
    listen();
    assert_true(kit_conclude_arms(&a, log(10)));
    kit_conclude_pair(&a, 1, 2), kit_conclude_pair(&a, 1, 0), kit_conclude_pair(&a, 0, 2);
    assert_string_equal(heard(), "- run: LN has the highest test accuracy, 95.50 %, and no norm the lowest, 90.00 %. They are 5.50 points apart; with "
                                 "1000 test images chance explains up to 2.32.\n"
                                 "- run: LN and BN cannot be told apart (95.50 % against 95.00 %; noise 1.92 points).\n"
                                 "- run: BN's test accuracy is higher than no norm's by 5.00 points (95.00 % against 90.00 %; noise 2.36).\n");
    a = planted(3, (const size_t[]){ 950, 945, 955 }, 0.3);
    listen();
    assert_true(kit_conclude_arms(&a, log(10)));
    kit_conclude_pair(&a, 0, 1);
    assert_string_equal(heard(), "- run: the arms cannot be told apart. Their test accuracies are 94.50 to 95.50 %, and with 1000 test images chance "
                                 "explains up to 1.96 points.\n");
}

TEST(arms_that_have_not_learned_are_not_compared)
{
    const kit_arms a = planted(3, (const size_t[]){ 100, 150, 300 }, 2.2);
    listen();
    assert_false(kit_conclude_arms(&a, log(10)));
    assert_string_equal(heard(), "- run: nothing can be seen. After 50 steps the test loss of the best arm is 2.20; equal probabilities have 2.30. "
                                 "Take more steps.\n");
}

TEST(an_arm_that_diverged_is_named_and_left_out)
{
    kit_arms a = planted(2, (const size_t[]){ 990, 900 }, 0.3);
    a.arm[0].diverged = 7;
    listen();
    assert_false(kit_conclude_arms(&a, log(10)));
    kit_conclude_pair(&a, 0, 1);
    assert_string_equal(heard(), "- run: no norm diverged at step 7.\n"
                                 "- run: fewer than two arms came to the end, so there is nothing to compare.\n");
}

TEST(the_first_at_the_last_mark_and_the_largest_gap_are_named)
{
    kit_arms a = planted(3, (const size_t[]){ 900, 950, 955 }, 0.3);
    a.arm[1].mark[0].step = 20, a.arm[2].mark[0].step = 10;
    listen();
    assert_true(kit_conclude_arms(&a, log(10)));
    assert_non_null(strstr(heard(), "- run: the first to reach 90 % is LN, at the evaluation after step 10 of 50; 2 of 3 arms reached it.\n"));
    a.arm[0].mark[0].step = a.arm[1].mark[0].step = 10;
    listen();
    assert_true(kit_conclude_arms(&a, log(10)));
    assert_non_null(strstr(heard(), "- run: all arms reached 90 % at the same evaluation, after step 10.\n"));
    a.arm[1].tested.loss = 900;
    listen();
    kit_conclude_gap(&a, 1), kit_conclude_gap(&a, 0.5);
    assert_string_equal(heard(), "- run: BN has the largest gap, +0.80: its test loss is 0.90, and its training loss at the end 0.10.\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_have_100_columns_and_lose_no_word),
        cmocka_unit_test(a_percent_sign_stays_with_its_number),
        cmocka_unit_test(the_smallest_is_never_nan),
        cmocka_unit_test(noise_is_two_standard_errors),
        cmocka_unit_test(a_difference_above_the_noise_is_seen_and_one_below_it_is_not),
        cmocka_unit_test(arms_that_have_not_learned_are_not_compared),
        cmocka_unit_test(an_arm_that_diverged_is_named_and_left_out),
        cmocka_unit_test(the_first_at_the_last_mark_and_the_largest_gap_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
