/* tests/test_dive_verdicts.c - the deep dive's verdicts, from planted numbers: bands and intervals over seeds, ties, and runs that were too short. */
#include "examples/dive/seeds.h"
#include "examples/plot/runs.h"
#include "tests/test.h"

static bool near(double a, double b) { return fabs(a - b) <= 1e-3 * fabs(b); }

TEST(bands_are_means_and_ranges_over_the_seeds)
{
    gr_tape *t = gr_tape_new(1, NULL);
    double curve[] = { 1, 2, (double)NAN, 3, 6, 1 };
    const dive_band b = dive_over_seeds(t, &(plot_record){ .shape = GR_SHAPE(2, 3), .n = 6, .values = curve });
    assert_int_equal(b.n, 3);
    assert_true(b.mean[0] == 2 && b.low[0] == 1 && b.high[0] == 3 && b.mean[1] == 4 && isnan(b.mean[2]) && isnan(b.low[2]) &&
                isnan(b.high[2]));
    assert_int_equal(dive_over_seeds(t, NULL).n, 0);
    assert_true(isnan(dive_mean(NULL)) && dive_mean(&(plot_record){ .n = 2, .values = curve }) == 1.5);
    gr_tape_free(t);
}

TEST(texts_fit_their_numbers)
{
    gr_tape *t = gr_tape_new(1, NULL);
    double values[] = { 1, 2.5, (double)NAN, (double)NAN };
    const plot_record all = { .n = 2, .values = values }, some = { .n = 3, .values = values }, none = { .n = 2, .values = values + 2 };
    assert_string_equal(dive_count(t, 1, "seed", "seeds"), "1 seed"), assert_string_equal(dive_count(t, 0, "seed", "seeds"), "0 seeds");
    assert_string_equal(dive_range(t, 21.6, 22.4, 0), "22"), assert_string_equal(dive_range(t, 21.6, 22.4, 1), "21.6 to 22.4");
    assert_string_equal(dive_range(t, 0.01, 0.3, -6), "0.01 to 0.3"), assert_string_equal(dive_range(t, 0.01, 0.01, -6), "0.01");
    assert_string_equal(dive_number(t, 0.126, 2), "0.13"), assert_string_equal(dive_number(t, (double)NAN, 2), "diverged in a seed");
    assert_string_equal(dive_mean_text(t, &all, 2, "never"), "1.75");
    assert_string_equal(dive_mean_text(t, &some, 2, "never"), "never in 1 of 3 seeds");
    assert_string_equal(dive_mean_text(t, &none, 2, "never"), "never"), assert_string_equal(dive_mean_text(t, NULL, 2, "never"), "never");
    assert_ok(t);
    gr_tape_free(t);
}

enum { MOST = 12 };
/* Compare n values of a and b. */
static dive_pair pair_of(size_t n, const double *a, const double *b, dive_scale scale)
{
    double x[MOST], y[MOST];
    memcpy(x, a, n * sizeof *a), memcpy(y, b, n * sizeof *b);
    return dive_compare(&(plot_record){ .n = n, .values = x }, &(plot_record){ .n = n, .values = y }, scale);
}

/* t.ppf(0.975, n - 1) of SciPy times the standard error of the differences. */
TEST(intervals_are_those_of_student)
{
    static const double zero[MOST] = { 0 }, x[MOST] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 };
    dive_pair p = pair_of(3, x, zero, (dive_scale){ .grid = 0 });
    assert_true(p.a == 2 && p.b == 0 && p.difference == 2 && p.seeds == 3 && p.below == 0);
    assert_true(near(p.half, 4.30265 / sqrt(3)));
    p = pair_of(5, zero, x, (dive_scale){ .grid = 0, .factor = 2 });
    assert_true(p.difference == -6 && p.below == 5 && near(p.half, 2 * 2.77645 * sqrt(2.5 / 5)));
    p = pair_of(12, x, zero, (dive_scale){ .grid = 0 });
    assert_true(near(p.half, 2.20099 * sqrt(13 / 12.0)));
    p = pair_of(1, x, zero, (dive_scale){ .grid = 0 });
    assert_true(isinf(p.half));
    p = pair_of(2, x, zero, (dive_scale){ .grid = 1.5 });
    assert_true(near(p.half, 12.7062 * 0.5) && p.below == 0);
    p = dive_compare(NULL, NULL, (dive_scale){ .grid = 0 });
    assert_true(isnan(p.a) && isnan(p.difference) && !p.seeds);
}

TEST(a_verdict_needs_seeds_a_difference_and_an_interval)
{
    static const struct {
        size_t n;
        double a[4], b[4], grid, factor;
        dive_verdict verdict;
    } planted[] = {
        { 3, { 1.0, 1.1, 0.9 }, { 2.0, 2.1, 2.0 }, 0, 1, DIVE_PASS },
        { 3, { 2.0, 2.1, 2.0 }, { 1.0, 1.1, 0.9 }, 0, 1, DIVE_FAIL },
        { 3, { 1.0, 1.9, 1.6 }, { 2.0, 2.0, 2.0 }, 0, 1, DIVE_DIFFERS },         /* below in all seeds, but the interval includes 0 */
        { 2, { 1.0, 1.0 }, { 2.0, 2.0 }, 0, 1, DIVE_SHORT },                     /* two seeds */
        { 3, { 49, 49, 50 }, { 51, 52, 51 }, 30, 1, DIVE_EQUAL },                /* steps to a mark, with an evaluation each 30 steps */
        { 3, { 4.9, 4.9, 4.9 }, { 5.0, 5.0, 5.0 }, 0.1 + 1e-12, 1, DIVE_EQUAL }, /* one image of 1,000 */
        { 3, { 4.8, 4.8, 4.8 }, { 5.0, 5.0, 5.0 }, 0.1, 1, DIVE_PASS },
        { 3, { 40, 54, 60 }, { 51, 48, 46 }, 17, 1, DIVE_DIFFERS }, /* the mean is a tie, but its interval is not */
        { 3, { 36, 37, 36 }, { 51, 51, 52 }, 17, 1, DIVE_DIFFERS }, /* below in all seeds, but perhaps by less than an evaluation */
        { 3, { 373, 360, 380 }, { 542, 530, 550 }, 30, 1, DIVE_PASS },
        { 3, { 373, 360, 380 }, { 542, 530, 550 }, 10, 0.65, DIVE_FAIL }, /* 0.69 times as many is not below 0.65 times */
        { 3, { 100, NAN, 100 }, { NAN, NAN, NAN }, 10, 1, DIVE_DIFFERS }, /* NaN counts as 600 */
        { 3, { 100, 110, 100 }, { NAN, NAN, NAN }, 10, 1, DIVE_PASS },
        { 3, { NAN, NAN, NAN }, { NAN, NAN, NAN }, 10, 1, DIVE_EQUAL },
        { 4, { 1, 1, 1, 1 }, { 2, 2, 2, 2 }, 0, 1, DIVE_PASS },
    };
    for (size_t i = 0; i < COUNT(planted); i++) {
        const dive_pair p = pair_of(planted[i].n, planted[i].a, planted[i].b,
                                    (dive_scale){ .grid = planted[i].grid, .worst = 600, .factor = planted[i].factor });
        if (dive_is_below(&p) != planted[i].verdict) fail_msg("case %zu is %s", i, dive_verdict_name[dive_is_below(&p)]);
    }
    const dive_pair nobody = dive_compare(NULL, NULL, (dive_scale){ .grid = 0 });
    assert_int_equal(dive_is_below(&nobody), DIVE_SHORT), assert_int_equal(dive_is_at_most(&nobody, 1), DIVE_SHORT);
}

TEST(not_worse_means_that_the_interval_is_below_the_bound)
{
    static const double b[3] = { 5, 5, 5 }, close[3] = { 5.1, 5.0, 4.9 }, far[3] = { 7.1, 7.0, 6.9 }, wide[3] = { 3, 5, 7 };
    const dive_scale scale = { .grid = 0 };
    dive_pair p = pair_of(3, close, b, scale);
    assert_int_equal(dive_is_at_most(&p, 0.3), DIVE_PASS), assert_int_equal(dive_is_at_most(&p, 0.2), DIVE_DIFFERS);
    p = pair_of(3, far, b, scale), assert_int_equal(dive_is_at_most(&p, 0.3), DIVE_FAIL);
    p = pair_of(3, wide, b, scale), assert_int_equal(dive_is_at_most(&p, 0.3), DIVE_DIFFERS);
    p = pair_of(3, b, far, scale), assert_int_equal(dive_is_at_most(&p, 0.3), DIVE_PASS); /* better */
    p = pair_of(2, close, b, scale), assert_int_equal(dive_is_at_most(&p, 0.3), DIVE_SHORT);
}

TEST(verdicts_together)
{
#define TOGETHER(...) dive_together((const dive_verdict[]){ __VA_ARGS__ }, COUNT(((const dive_verdict[]){ __VA_ARGS__ })))
    assert_int_equal(TOGETHER(DIVE_PASS, DIVE_PASS), DIVE_PASS), assert_int_equal(TOGETHER(DIVE_FAIL, DIVE_FAIL), DIVE_FAIL);
    assert_int_equal(TOGETHER(DIVE_EQUAL, DIVE_EQUAL), DIVE_EQUAL), assert_int_equal(TOGETHER(DIVE_PASS, DIVE_EQUAL), DIVE_DIFFERS);
    /* no part holds, and one is refuted */
    assert_int_equal(TOGETHER(DIVE_DIFFERS, DIVE_FAIL, DIVE_FAIL), DIVE_FAIL), assert_int_equal(TOGETHER(DIVE_FAIL, DIVE_EQUAL), DIVE_FAIL);
    assert_int_equal(TOGETHER(DIVE_DIFFERS, DIVE_EQUAL), DIVE_DIFFERS), assert_int_equal(TOGETHER(DIVE_FAIL, DIVE_SHORT), DIVE_SHORT);
    assert_int_equal(TOGETHER(DIVE_PASS, DIVE_FAIL, DIVE_DIFFERS), DIVE_DIFFERS);
    assert_int_equal(TOGETHER(DIVE_PASS, DIVE_FAIL), DIVE_DIFFERS), assert_int_equal(TOGETHER(DIVE_PASS, DIVE_SHORT), DIVE_SHORT);
    assert_int_equal(dive_in_part(DIVE_PASS, DIVE_PASS), DIVE_PASS), assert_int_equal(dive_in_part(DIVE_FAIL, DIVE_PASS), DIVE_DIFFERS);
    assert_int_equal(dive_in_part(DIVE_FAIL, DIVE_DIFFERS), DIVE_FAIL), assert_int_equal(dive_in_part(DIVE_SHORT, DIVE_SHORT), DIVE_SHORT);
    assert_int_equal(dive_together(NULL, 0), DIVE_SHORT);
    assert_int_equal(dive_both(true, true), DIVE_PASS), assert_int_equal(dive_both(false, false), DIVE_FAIL);
    assert_int_equal(dive_both(false, true), DIVE_DIFFERS), assert_int_equal(dive_both(true, false), DIVE_DIFFERS);
}

TEST(nothing_is_judged_before_something_is_learned)
{
    gr_tape *t = gr_tape_new(1, NULL);
    plot_figure *f = plot_figure_new(t, "x", "x");
    assert_string_equal(dive_too_short(f, (dive_budget){ .seeds = 1 }), "1 seed; a verdict needs 3");
    assert_string_equal(dive_too_short(f, (dive_budget){ .seeds = 1, .steps = 24, .least = 150 }),
                        "1 seed and 24 steps; this claim needs 3 and 150");
    assert_string_equal(dive_too_short(f, (dive_budget){ .seeds = 3, .steps = 24, .least = 150 }), "24 steps; this claim needs 150");
    assert_string_equal(dive_too_short(f, (dive_budget){ 3, 150, 150, 2.196, 1.151, "test loss" }),
                        "the networks have learned too little: the best test loss is 2.2, and a verdict needs at most 1.15");
    assert_non_null(dive_too_short(f, (dive_budget){ 3, 150, 150, (double)NAN, 1.151, "test loss" }));
    assert_null(dive_too_short(f, (dive_budget){ 3, 150, 150, 1.1, 1.151, "test loss" }));

    dive_claims c = { .f = f };
    dive_claim claim = { .statement = "s", .seeds = 3, .why = "because", .too_short = "24 steps; this claim needs 150" };
    dive_claim_add(&c, &claim);
    assert_int_equal(c.claim[0]->verdict, DIVE_SHORT), assert_string_equal(c.claim[0]->why, claim.too_short);
    claim.too_short = NULL, claim.verdict = DIVE_EQUAL, dive_claim_add(&c, &claim);
    assert_string_equal(c.claim[1]->why, "a tie: the difference and its interval are within the step of the evaluation");
    claim.verdict = DIVE_FAIL, dive_claim_add(&c, &claim), assert_string_equal(c.claim[2]->why, "because");
    claim.verdict = DIVE_PASS, dive_claim_add(&c, &claim), assert_string_equal(c.claim[3]->why, "");
    static const double three[3] = { -1, -1.5, -0.5 }, zero[3] = { 0 };
    const dive_pair p = pair_of(3, three, zero, (dive_scale){ .grid = 0 }), one = pair_of(1, three, zero, (dive_scale){ .grid = 0 });
    assert_string_equal(dive_interval(f, &p, 2), "-1.00 \xc2\xb1 1.24"), assert_string_equal(dive_interval(f, &one, 2), "no interval");
    static const double close[3] = { -1.1, -1.2, -1 };
    const dive_pair above = pair_of(3, zero, close, (dive_scale){ .grid = 0 }), tie = pair_of(3, close, zero, (dive_scale){ .grid = 1.15 });
    assert_string_equal(dive_why(f, &p, "lower", "higher"), "lower in 3 of 3 seeds, but the interval includes 0");
    assert_string_equal(dive_why(f, &above, "lower", "higher"), "the interval of the difference is on the other side of 0: higher");
    assert_string_equal(dive_why(f, &tie, "lower", "higher"),
                        "lower in 1 of 3 seeds, but the mean difference is within the step of the evaluation");
    assert_string_equal(dive_verdict_text(f, DIVE_DIFFERS, &p, "lower"), "DIFFERS (lower in 3 of 3 seeds)");
    assert_string_equal(dive_verdict_text(f, DIVE_FAIL, &above, "lower"), "FAIL");
    assert_ok(t);
    gr_tape_free(t);
}

/* The table shows seeds and interval, and all five verdicts get their word and sign. */
TEST(the_table_shows_every_kind_of_verdict)
{
    gr_tape *t = gr_tape_new(1, NULL);
    plot_figure *f = plot_figure_new(t, "x", "x");
    plot_panel *const p = plot_panel_new(f, &(plot_panel){ .title = "t" });
    static const char *const head[] = { "Verdict" };
    plot_table_set(p, &(plot_table){ .rows = DIVE_VERDICTS, .columns = 1, .head = head, .text = dive_verdict_name, .verdict = 0 });
    char *text;
    size_t n;
    FILE *const out = open_memstream(&text, &n);
    plot_panel_svg(out, p), fclose(out);
    static const char *const class[] = { "pass", "fail", "differs", "equal", "short" };
    for (size_t k = 0; k < COUNT(class); k++)
        if (!strstr(text, class[k])) fail_msg("%s is not drawn as %s:\n%s", dive_verdict_name[k], class[k], text);
    free(text), gr_tape_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bands_are_means_and_ranges_over_the_seeds),
        cmocka_unit_test(texts_fit_their_numbers),
        cmocka_unit_test(intervals_are_those_of_student),
        cmocka_unit_test(a_verdict_needs_seeds_a_difference_and_an_interval),
        cmocka_unit_test(not_worse_means_that_the_interval_is_below_the_bound),
        cmocka_unit_test(verdicts_together),
        cmocka_unit_test(nothing_is_judged_before_something_is_learned),
        cmocka_unit_test(the_table_shows_every_kind_of_verdict),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
