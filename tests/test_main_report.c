/* tests/test_main_report.c - the page of examples/seq_mnist_lstm --report. */
#include "tests/program.h"

#define SMALL "--data", data, "--hidden=16", "--batch=32", "--epochs=2", "--threads=1"

FIXTURE(set_up)
{
    if (program_set_up(state) != 0) return -1;
    put_digits();
    return 0;
}

TEST(the_report_is_a_page_with_curves_of_the_run)
{
    static char page[1 << 20];
    char want[1 << 10], flag[160];
    assert_run(SMALL, "--quiet", "--steps=9");
    strcpy(want, out);
    snprintf(flag, sizeof flag, "--report=%s", in_dir("run.html"));
    assert_run(SMALL, "--quiet", "--steps=9", "--eval-every=4", flag);
    assert_string_equal(out, want); /* a report changes no bit */
    slurp(in_dir("run.html"), page, sizeof page);
    static const char *const part[] = { "<h1>seq_mnist_lstm: a training run</h1>", "id=\"loss\"", "id=\"accuracy\"", "id=\"gradient\"", "id=\"weights\"",
                                        "lstm.weight_hh_l0</li>", "id=\"preactivations\"", "85th percentile</li>", "--steps=9 --eval-every=4", "\"x\":[1,2,3,4,5,6,7,8,9]",
                                        "\"x\":[4,7,8,9]", "\"x2\":[", "\"title\":\"seconds, with the tests\"", "</html>\n" };
    for (size_t i = 0; i < COUNT(part); i++)
        if (!strstr(page, part[i])) fail_msg("the report has no %s", part[i]);
    assert_non_null(strstr(page, "In training each point is one step. On the test set each of the 4 points is one evaluation."));
    assert_int_equal(unlink(in_dir("run.html")), 0);
    assert_ends(2, "seq_mnist_lstm: --report needs training, and --eval does not train\n", SMALL, "--eval", "--load=x", flag);
    assert_ends(2, "seq_mnist_lstm: --report: cannot write '/': it is not a regular file\n", SMALL, "--report=/");
}

/* The number of times that text has part. */
static size_t occurrences(const char *text, const char *part)
{
    size_t n = 0;
    for (; (text = strstr(text, part)); text += strlen(part)) n++;
    return n;
}

TEST(the_report_of_one_epoch_has_no_empty_card_and_ends_with_the_settings)
{
    static char page[1 << 20];
    char flag[160], want[64];
    double accuracy;
    snprintf(flag, sizeof flag, "--report=%s", in_dir("run.html"));
    assert_run(SMALL, "--epochs=1", "--quiet", "--seed=5", flag);
    assert_int_equal(sscanf(out, "test accuracy %lf", &accuracy), 1);
    slurp(in_dir("run.html"), page, sizeof page);
    assert_non_null(strstr(page, "<figure class=\"fig\" id=\"rate\""));
    assert_int_equal(occurrences(page, "<div class=\"panel"), 6 + 1 + 10); /* curves, the matrix, the worst images */
    assert_int_equal(occurrences(page, ", image "), 2 * 10);                /* in the drawing's description or Plotly's text, and as a heading */
    assert_int_equal(occurrences(page, "<p class=\"said\">"), 8); /* each figure says a number, and so does its card in the contents */
    assert_int_equal(occurrences(page, "</a></li>"), 0);
    assert_null(strstr(page, "\"x\":[]")), assert_null(strstr(page, "of 1 points"));
    snprintf(want, sizeof want, "%.0f of 100 test images are read wrongly", 100 - accuracy);
    assert_non_null(strstr(page, want));
    assert_non_null(strstr(page, "<dt>seed</dt><dd>5</dd>"));
    assert_non_null(strstr(page, "<dt>version</dt><dd>gradus " GR_VERSION_TEXT ", "));
    assert_non_null(strstr(page, "--epochs 1 "));
    assert_non_null(strstr(page, " --optimizer adam "));
    assert_non_null(strstr(page, "<dt>time</dt><dd>"));
    assert_int_equal(unlink(in_dir("run.html")), 0);
}

TEST(the_report_shows_an_earlier_run_beside_this_one)
{
    static char page[1 << 20];
    char flag[160], with[160], want[200];
    snprintf(flag, sizeof flag, "--report=%s", in_dir("run.html")), snprintf(with, sizeof with, "--with=%s", in_dir("b.jsonl"));
    assert_run(SMALL, "--quiet", "--steps=9", "--log", in_dir("b.jsonl"), "--norm=none");
    assert_run(SMALL, "--quiet", "--steps=4", flag, with);
    slurp(in_dir("run.html"), page, sizeof page);
    assert_non_null(strstr(page, "earlier training</li>")), assert_non_null(strstr(page, "earlier test</li>"));
    assert_non_null(strstr(page, "\"x\":[1,2,3,4,5,6,7,8,9]"));
    assert_non_null(strstr(page, "\"x\":[1,2,3,4]"));
    assert_int_equal(unlink(in_dir("run.html")), 0);
    FILE *const f = fopen(in_dir("b.jsonl"), "w");
    assert_non_null(f);
    fputs("{\"kind\": \"run\"}\nnot a record\n", f);
    assert_int_equal(fclose(f), 0);
    snprintf(want, sizeof want, "seq_mnist_lstm: %s: line 2 is not a record that --log wrote\n", in_dir("b.jsonl"));
    assert_ends(2, want, SMALL, flag, with);
    assert_int_equal(truncate(in_dir("b.jsonl"), 16), 0);
    snprintf(want, sizeof want, "seq_mnist_lstm: %s: has no training step; --with takes a file that --log wrote\n", in_dir("b.jsonl"));
    assert_ends(2, want, SMALL, flag, with);
    assert_int_equal(unlink(in_dir("b.jsonl")), 0);
    snprintf(want, sizeof want, "seq_mnist_lstm: %s: cannot be read: No such file or directory\n", in_dir("b.jsonl"));
    assert_ends(2, want, SMALL, flag, with);
    assert_ends(2, "seq_mnist_lstm: --with needs --report\n", SMALL, with);
}

TEST(the_report_contains_plotly_when_it_is_given)
{
    static char page[1 << 20];
    char flag[160], plotly[160], want[200];
    snprintf(flag, sizeof flag, "--report=%s", in_dir("run.html")), snprintf(plotly, sizeof plotly, "--plotly=%s", in_dir("p.js"));
    FILE *f = fopen(in_dir("p.js"), "w");
    assert_non_null(f);
    fputs("/* plotly.js v0 */ invented_plotly()\n", f);
    assert_int_equal(fclose(f), 0);
    assert_run(SMALL, "--quiet", "--steps=2", flag, plotly);
    slurp(in_dir("run.html"), page, sizeof page);
    assert_non_null(strstr(page, "invented_plotly()")), assert_null(strstr(page, "cdn.plot.ly"));
    assert_int_equal(unlink(in_dir("run.html")), 0);
    f = fopen(in_dir("p.js"), "w");
    assert_non_null(f);
    fputs("this is something else\n", f);
    assert_int_equal(fclose(f), 0);
    snprintf(want, sizeof want, "seq_mnist_lstm: %s: is not a plotly.min.js\n", in_dir("p.js"));
    assert_ends(2, want, SMALL, flag, plotly);
    assert_int_equal(unlink(in_dir("p.js")), 0);
    assert_ends(2, "seq_mnist_lstm: --plotly needs --report\n", SMALL, plotly);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_report_is_a_page_with_curves_of_the_run),
        cmocka_unit_test(the_report_of_one_epoch_has_no_empty_card_and_ends_with_the_settings),
        cmocka_unit_test(the_report_shows_an_earlier_run_beside_this_one),
        cmocka_unit_test(the_report_contains_plotly_when_it_is_given),
    };
    return cmocka_run_group_tests(tests, set_up, program_tear_down);
}
