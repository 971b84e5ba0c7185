/* tests/test_kit_conclude.c - text in 100 columns, lists, and the sentences about planted scores. */
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
    assert_true(paper && terminal >= 0 && dup2(fileno(paper), 1) >= 0);
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
        a.arm[i] = (kit_arm){ .name = names[i], .steps = 50, .tested = { loss * 1000, hits[i], 1000 }, .recent = { 100, 0, 1000 },
                              .whole = { 500, 0, 1000 } };
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
        kit_wrap(f, indent, "%s", text), fclose(f);
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
        kit_wrap(f, 0, "%s", text), fclose(f);
        assert_non_null(strstr(printed, "12.50 %;"));
        free(printed);
    }
}

TEST(a_line_of_any_length_ends_at_a_word)
{
    const char *text = "  one two 50 % three ";
    assert_int_equal(kit_line(&text, 7), 7);
    assert_memory_equal(text, "one two", 7), text += 7;
    assert_int_equal(kit_line(&text, 7), 4);
    assert_memory_equal(text, "50 %", 4), text += 4;
    assert_int_equal(kit_line(&text, 3), 5); /* a longer word */
    assert_memory_equal(text, "three", 5), text += 5;
    assert_int_equal(kit_line(&text, 7), 0);
}

TEST(a_list_has_commas_and_one_and)
{
    static const char *const want[] = { "", "a 1", "a 1 and a 2", "a 1, a 2 and a 3", "a 1, a 2, a 3 and a 4" };
    kit_list l = { 0 };
    for (size_t i = 0; i < COUNT(want); kit_list_add(&l, "a %zu", ++i)) assert_string_equal(l.text, want[i]), assert_int_equal(l.n, i);
    kit_list full = { 0 };
    for (int i = 0; i < 500; i++) kit_list_add(&full, "%d", i); /* what does not fit is left out */
    assert_int_equal(strlen(full.text), 10 + 2 * 90 + 3 * (full.n - 100) + 2 * (full.n - 2) + 5);
    assert_in_range(strlen(full.text), sizeof full.text - 9, sizeof full.text - 1);
}

TEST(all_that_print_like_the_largest_are_named_and_nan_never_is)
{
    static const char *const name[] = { "a", "b", "c", "d" };
    kit_list l = { 0 };
    assert_int_equal(kit_largest(&l, (const double[]){ NAN, 1.04, 1.01, 0.9 }, name, 4, 2), 1);
    assert_string_equal(l.text, "b and c");
    l = (kit_list){ 0 };
    assert_int_equal(kit_largest(&l, (const double[]){ -3, -1.26, -1.34, -1.31 }, name, 4, 2), 1);
    assert_string_equal(l.text, "b, c and d");
    l = (kit_list){ 0 };
    assert_int_equal(kit_largest(&l, (const double[]){ NAN, NAN }, name, 2, 2), 2);
    assert_int_equal(kit_largest(&l, NULL, NULL, 0, 2), 0);
    assert_string_equal(l.text, "");
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
    assert_string_equal(heard(), "- run: BN (95.00 %) and LN (95.50 %) have the highest test accuracies and cannot be told apart; the arm without a norm "
                                 "(90.00 %) has the lowest. The highest and the lowest are 5.50 points apart; with 1000 test images a difference of "
                                 "up to 2.32 points is noise.\n"
                                 "- run: BN has a higher test accuracy than the arm without a norm: 95.00 % against 90.00 %, 5.00 points more (noise "
                                 "2.36).\n");
    a = planted(3, (const size_t[]){ 950, 945, 955 }, 0.3);
    listen();
    assert_true(kit_conclude_arms(&a, log(10)));
    kit_conclude_pair(&a, 0, 1);
    assert_string_equal(heard(), "- run: the arms cannot be told apart. Their test accuracies are 94.50 to 95.50 %; with 1000 test images a "
                                 "difference of up to 1.96 points is noise.\n");
}

TEST(equal_arms_are_named_together)
{
    kit_arms a = planted(3, (const size_t[]){ 950, 900, 950 }, 0.3);
    listen();
    assert_true(kit_conclude_arms(&a, log(10)));
    kit_conclude_pair(&a, 0, 2);
    assert_non_null(strstr(heard(), "- run: the arm without a norm (95.00 %) and LN (95.00 %) have the highest test accuracies and cannot be told apart; BN "
                                    "(90.00 %) has the lowest. "));
    assert_null(strstr(said, "- run: LN and"));
    a = planted(3, (const size_t[]){ 900, 950, 900 }, 0.3);
    listen();
    assert_true(kit_conclude_arms(&a, log(10)));
    kit_conclude_pair(&a, 0, 2);
    assert_non_null(strstr(heard(), "- run: BN (95.00 %) has the highest test accuracy; the arm without a norm (90.00 %) and LN (90.00 %) have the lowest and "
                                    "cannot be told apart. "));
    a = planted(3, (const size_t[]){ 930, 955, 943 }, 0.3);
    listen();
    assert_true(kit_conclude_arms(&a, log(10)));
    kit_conclude_pair(&a, 1, 2), kit_conclude_pair(&a, 2, 0);
    assert_string_equal(heard(), "- run: BN (95.50 %) has the highest test accuracy; the arm without a norm (93.00 %) has the lowest. LN (94.30 %) cannot be "
                                 "told apart from the highest or from the lowest. The highest and the lowest are 2.50 points apart; with 1000 test images "
                                 "a difference of up to 2.09 points is noise.\n");
}

TEST(arms_that_have_not_learned_are_not_compared)
{
    kit_arms a = planted(3, (const size_t[]){ 100, 150, 300 }, 2.2);
    a.arm[0].tested.loss = 2100; /* the lowest loss is not that of the best accuracy */
    listen();
    assert_false(kit_conclude_arms(&a, log(10)));
    assert_string_equal(heard(), "- run: nothing can be seen yet. After 50 steps the lowest test loss is 2.10, and equal probabilities have 2.30. Take more "
                                 "steps.\n");
}

TEST(an_arm_that_diverged_is_named_and_left_out)
{
    kit_arms a = planted(2, (const size_t[]){ 990, 900 }, 0.3);
    a.arm[0].diverged = 7;
    listen();
    assert_false(kit_conclude_arms(&a, log(10)));
    kit_conclude_pair(&a, 0, 1), kit_conclude_training(&a), kit_conclude_change(&a, &a);
    assert_string_equal(heard(), "- run: the arm without a norm diverged at step 7.\n"
                                 "- run: fewer than two arms came to the end, so there is nothing to compare.\n"
                                 "- run: the training losses, as the mean over all steps, are 0.5000 (BN).\n"
                                 "- From run to run the test accuracy changes by these points: +0.00 (BN). A change of up to 2.69 is noise.\n");
}

/* What kit_conclude_arms says of marks when the arms none, BN and LN reach 90 % after these steps; 0 for never. Evaluations are 10 steps apart. */
static const char *of_marks(size_t none, size_t bn, size_t ln)
{
    kit_arms a = planted(3, (const size_t[]){ 900, 950, 955 }, 0.3);
    a.every = 10;
    a.arm[0].mark[0].step = none, a.arm[1].mark[0].step = bn, a.arm[2].mark[0].step = ln;
    listen();
    assert_true(kit_conclude_arms(&a, log(10)));
    return strchr(heard(), '\n') + 1;
}

#define FIRST "- run: the first to reach a test accuracy of 90 % "
#define NOBODY "- run: no arm is the first to reach a test accuracy of 90 %: "

TEST(who_is_first_at_a_mark_is_more_than_one_evaluation_ahead)
{
    assert_string_equal(of_marks(0, 0, 10), "");
    assert_string_equal(of_marks(0, 30, 10), FIRST "is LN (step 10); BN (step 30) is later; the arm without a norm does not reach it.\n");
    assert_string_equal(of_marks(30, 40, 10), FIRST "is LN (step 10); the arm without a norm (step 30) and BN (step 40) are later.\n");
    assert_string_equal(of_marks(0, 20, 10), FIRST "are BN (step 20) and LN (step 10); the arm without a norm does not reach it. A lead of one evaluation "
                                             "does not count.\n");
    assert_string_equal(of_marks(20, 20, 10), NOBODY "the arm without a norm (step 20), BN (step 20) and LN (step 10). A lead of one evaluation does not "
                                              "count.\n");
    assert_string_equal(of_marks(10, 10, 10), NOBODY "the arm without a norm (step 10), BN (step 10) and LN (step 10).\n");
}

TEST(losses_gaps_and_changes_have_all_arms)
{
    kit_arms a = planted(3, (const size_t[]){ 900, 950, 955 }, 0.3), b = planted(3, (const size_t[]){ 890, 700, 955 }, 0.3);
    a.arm[1].tested.loss = 900, a.arm[2].tested.loss = 20;
    a.arm[0].whole.loss = 700, b.title = "other";
    for (size_t i = 0; i < 3; i++) b.arm[i].whole.images = 400;
    listen();
    kit_conclude_gap(&a, 1), kit_conclude_gap(&a, 0.5), kit_conclude_gap(&a, 0.075), kit_conclude_training(&a), kit_conclude_change(&a, &b);
    assert_string_equal(heard(), "- run: test loss and last training loss differ by 0.5 or more with BN (0.90 and 0.10, gap +0.80).\n"
                                 "- run: test loss and last training loss differ by 0.075 or more with the arm without a norm (0.30 and 0.10, gap +0.20), BN "
                                 "(0.90 and 0.10, gap +0.80) and LN (0.02 and 0.10, gap -0.08).\n"
                                 "- run: the training losses, as the mean over all steps, are 0.5000 (BN), 0.5000 (LN) and 0.7000 (the arm without a norm).\n"
                                 "- From run to other the test accuracy changes by these points: -25.00 (BN), -1.00 (the arm without a norm) and +0.00 (LN). "
                                 "A change of up to 3.21 is noise. The runs trained on 1000 and 400 images, so "
                                 "compare the arms with each other, not the runs.\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_have_100_columns_and_lose_no_word),
        cmocka_unit_test(a_percent_sign_stays_with_its_number),
        cmocka_unit_test(a_line_of_any_length_ends_at_a_word),
        cmocka_unit_test(a_list_has_commas_and_one_and),
        cmocka_unit_test(all_that_print_like_the_largest_are_named_and_nan_never_is),
        cmocka_unit_test(noise_is_two_standard_errors),
        cmocka_unit_test(a_difference_above_the_noise_is_seen_and_one_below_it_is_not),
        cmocka_unit_test(equal_arms_are_named_together),
        cmocka_unit_test(arms_that_have_not_learned_are_not_compared),
        cmocka_unit_test(an_arm_that_diverged_is_named_and_left_out),
        cmocka_unit_test(who_is_first_at_a_mark_is_more_than_one_evaluation_ahead),
        cmocka_unit_test(losses_gaps_and_changes_have_all_arms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
