/* tests/test_program_layernorm_by_hand.c - the worked calculation, compared word for word with the recorded page, and the code that prints
 * it. */
#include "tests/program.h"
#include "examples/norms/hand.h"
#include <math.h>
#include <stdlib.h>

static char want[1 << 16];

static const char *after_heading(const char *text) /* skip "the vectors ..", and "seed .., instruction set" */
{
    for (int line = 0; line < 2; line++) text = strchr(text, '\n') + 1;
    return text;
}

TEST(every_part_is_printed_as_recorded)
{
    slurp("tests/golden/layernorm_by_hand.txt", want, sizeof want);
    assert_run("--threads=2");
    assert_string_equal(after_heading(out), want);
}

TEST(one_part_alone_is_printed_as_among_all)
{
    static const char *const name[] = { "forward", "backward", "epsilon",    "affine",    "identity",   "small",
                                        "shapes",  "batch",    "batch-norm", "relatives", "conventions" };
    slurp("tests/golden/layernorm_by_hand.txt", want, sizeof want);
    for (size_t k = 0; k < COUNT(name); k++) {
        assert_run("--example", name[k]);
        char *end = strstr(out, " lines checked");
        assert_non_null(end);
        while (end[-1] != '\n') end--;
        end[-1] = 0;
        assert_non_null(strstr(want, after_heading(out)));
    }
}

TEST(published_numbers_are_printed)
{
    static const char *const lines[] = {
        "  xhat = (x - mean) / sigma        -1.2247    0.0000    1.2247   ok\n",
        "  xhat = (x - mean) / sigma        -1.3416   -0.4472    0.4472    1.3416   ok\n",
        "  xhat = (x - mean) / sigma        -1.0690   -0.2673    1.3363   ok\n",
        "  dx = 1 + 2 + 3                    0.2291   -0.3436    0.1145   ok\n",
        "  N, inside                         1.7320   -0.5773   -0.5773   -0.5773   ok\n",
        "  N - 1, outside                    1.5000   -0.5000   -0.5000   -0.5000   ok\n",
        "  y                                 0.8485    1.1314   ok\n",
        "  feature one, masked              -1.5000   -1.0000   -0.5000    0.0000    0.5000    1.0000    1.5000             ok\n",
        "  feature one, padding counted     -1.0911   -0.6547   -0.2182    0.2182    0.6547    1.0911    1.5275   -1.5275   ok\n",
    };
    assert_run("--quiet");
    assert_non_null(strstr(out, " 0 differ\n"));
    assert_null(strchr(strchr(out, '\n') + 1, '\n'));
    assert_run("--threads=1");
    for (size_t k = 0; k < COUNT(lines); k++)
        if (!strstr(out, lines[k])) fail_msg("there is no line %s", lines[k]);
}

TEST(your_own_vector_is_worked_out)
{
    assert_run("--x=3,5", "--gamma=1,2", "--beta", "0,1", "--dy=0,1", "--eps=3");
    assert_string_equal(after_heading(out), "\n"
                                            "  x                                 3.0000    5.0000\n"
                                            "  sum of x                          8.0000             ok\n"
                                            "  mean = sum / 2                    4.0000             ok\n"
                                            "  x - mean                         -1.0000    1.0000   ok\n"
                                            "  (x - mean)^2                      1.0000    1.0000   ok\n"
                                            "  sum of squares                    2.0000             ok\n"
                                            "  var = sum of squares / 2          1.0000             ok\n"
                                            "  var + eps, eps = 3                4.0000             ok\n"
                                            "  sigma = sqrt(var + eps)           2.0000             ok\n"
                                            "  xhat = (x - mean) / sigma        -0.5000    0.5000   ok\n"
                                            "  gamma                             1.0000    2.0000\n"
                                            "  gamma * xhat                     -0.5000    1.0000   ok\n"
                                            "  beta                              0.0000    1.0000\n"
                                            "  y = gamma * xhat + beta          -0.5000    2.0000   ok\n"
                                            "\n"
                                            "  dy = dL/dy, from above            0.0000    1.0000\n"
                                            "  g = gamma * dy                    0.0000    2.0000   ok\n"
                                            "  mean(g)                           1.0000             ok\n"
                                            "  g * xhat                          0.0000    1.0000   ok\n"
                                            "  mean(g * xhat)                    0.5000             ok\n"
                                            "  1: g / sigma                      0.0000    1.0000   ok\n"
                                            "  2: -mean(g) / sigma              -0.5000   -0.5000   ok\n"
                                            "  3: -xhat mean(g xhat) / sigma     0.1250   -0.1250   ok\n"
                                            "  dx = 1 + 2 + 3                   -0.3750    0.3750   ok\n"
                                            "  dgamma = dy * xhat                0.0000    0.5000   ok\n"
                                            "  dbeta = dy                        0.0000    1.0000   ok\n"
                                            "  sum of dx                         0.0000             ok\n"
                                            "  the library's finite differences agree: ok\n"
                                            "\n"
                                            "23 lines checked against the library, 0 differ\n");
    assert_run("--x=7");
    assert_run("--x=999999,1000000,999998", "--eps=0");
    assert_run("--x=1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,"
               "1,1,1,1,-1");
}

TEST(bad_input_is_refused)
{
    const char *const many = "--x=1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,"
                             "1,1,1,1,1,1,1,1,1,1,1,1,1";
    assert_ends(2, "layernorm_by_hand: --x needs numbers from -1e6 to 1e6 with commas between them; got \"1,b\"\n", "--x=1,b");
    assert_ends(2, "layernorm_by_hand: --x needs numbers from -1e6 to 1e6 with commas between them; got \"1,2,\"\n", "--x=1,2,");
    assert_ends(2, "layernorm_by_hand: --x needs numbers from -1e6 to 1e6 with commas between them; got \"nan\"\n", "--x", "nan");
    assert_ends(2, "layernorm_by_hand: --beta needs numbers from -1e6 to 1e6 with commas between them; got \"1;2\"\n", "--x=1,2",
                "--beta=1;2");
    assert_ends(2, "layernorm_by_hand: --x takes up to 64 numbers\n", many);
    assert_ends(2, "layernorm_by_hand: --gamma has 2 numbers, but --x has 3\n", "--x=1,2,3", "--gamma=1,2");
    assert_ends(2, "layernorm_by_hand: --dy has 1 numbers, but --x has 2\n", "--x=1,2", "--dy=1");
    assert_ends(2, "layernorm_by_hand: --gamma, --beta, --dy and --eps need --x\n", "--dy=1");
    assert_ends(2, "layernorm_by_hand: --gamma, --beta, --dy and --eps need --x\n", "--eps=0");
    assert_ends(2, "layernorm_by_hand: --example and --x exclude each other\n", "--x=1", "--example=small");
    assert_ends(2, "layernorm_by_hand: --example smal: there is no such part; --list prints the names\n", "--example=smal");
    assert_ends(2, "layernorm_by_hand: --eps needs a number from 0 to 1000000; got \"-1\"\n", "--eps=-1");
}

TEST(parts_are_listed_and_logged)
{
    assert_run("--list");
    assert_non_null(strstr(out, "batch-norm   rows against columns, and what padding does\n"));
    assert_run("--example=batch", "--quiet", "--log", in_dir("log"));
    slurp(in_dir("log"), want, sizeof want);
    assert_non_null(strstr(want, "{\"kind\": \"part\", \"part\": \"batch\", \"lines\": 5, \"wrong\": 0}\n"));
    unlink(in_dir("log"));
}

/* ---- The paper ---- */

enum { PAGE = 2048 }; /* bytes of text that written() may write */
static size_t written(char *text, size_t n, const double *v, double scale, const gr_real *library)
{
    FILE *const f = fmemopen(text, PAGE, "w");
    assert_non_null(f);
    gr_tape *t = gr_tape_new(1, NULL);
    norms_paper p = { .t = t, .out = f, .columns = n };
    norms_paper_line(&p, "v", v, n, scale, library);
    gr_tape_free(t), fclose(f);
    return p.wrong;
}

TEST(a_line_that_differs_is_marked_and_counted)
{
    char text[PAGE] = "";
    const double v[] = { 1, 2, 1e-5 };
    assert_int_equal(written(text, 3, v, 0, (gr_real[]){ 1, 2, (gr_real)1e-5 }), 0);
    assert_string_equal(text, "  v                                 1.0000    2.0000    0.0000   ok\n");
    assert_int_equal(written(text, 3, v, 0, (gr_real[]){ 1, 2.5, 0 }), 1);
    assert_non_null(strstr(text, "0.0000   DIFFERS: value 2 is 2, the library has 2.5\n"));
    assert_int_equal(written(text, 3, v, 0, (gr_real[]){ 1, 2, (gr_real)NAN }), 1);
    assert_non_null(strstr(text, "DIFFERS: value 3 is 1e-05, the library has nan\n"));
    assert_int_equal(written(text, 3, v, 1e13, (gr_real[]){ 1, (gr_real)2.00001, 0 }), 0);
    assert_int_equal(written(text, 2, (double[]){ 0, 2e-7 }, 0, NULL), 0);
    assert_string_equal(text, "  v                                      0     2e-07\n");
}

/* A value of any size: of a random power of ten, of either sign, sometimes 0, nan or an infinity. */
static double any_value(gr_stream *s, int widest)
{
    static const double special[] = { 0, NAN, INFINITY, -INFINITY, 1e-30, -1e-30, 1e30, -99999.99999, 99999.5, -1e-300, 1.7e308 };
    if (gr_stream_uniform(s, 0, 1) < 0.1) return special[(size_t)gr_stream_uniform(s, 0, (double)COUNT(special))];
    return (gr_stream_uniform(s, 0, 1) < 0.5 ? -1 : 1) * pow(10, gr_stream_uniform(s, -widest, widest));
}

TEST(columns_never_touch)
{
    gr_stream s = gr_stream_new(11, "columns");
    for (int trial = 0; trial < 4000; trial++) {
        char text[PAGE] = "";
        double v[NORMS_HAND], most = 0;
        const size_t n = 1 + (size_t)gr_stream_uniform(&s, 0, NORMS_HAND - 0.5);
        for (size_t i = 0; i < n; i++) {
            v[i] = any_value(&s, 1 + trial % 12);
            if (isfinite(v[i])) most = fmax(most, fabs(v[i]));
        }
        written(text, n, v, trial % 3 ? 0 : pow(10, gr_stream_uniform(&s, -3, 9)), NULL);
        size_t i = 0;
        for (char *word = strtok(text + 32, " \n"); word; word = strtok(NULL, " \n"), i++) {
            char *end;
            const double read = strtod(word, &end);
            assert_true(i < n && *end == 0); /* two that touch are no number, or are one too few */
            assert_true(isfinite(v[i]) ? isfinite(read) : isnan(v[i]) ? isnan(read) : isinf(read) && (read < 0) == (v[i] < 0));
            if (isfinite(v[i]) && trial % 3) assert_true(fabs(read - v[i]) <= fmax(0.051 * fabs(v[i]), 1e-4 * most + 1e-4));
        }
        assert_int_equal(i, n);
    }
}

TEST(lines_of_any_vector_have_columns)
{
    static const char *const x[] = { "--x=-99999.99999,99999.99999,-1e5,1e6,-1e6", "--x=1e-30,-1e-30,0,1e6", "--x=-1e6,1e6,-1e6,1e6,-1e6,1e6,-1e6,1e6,-12345.678" };
    for (size_t k = 0; k < COUNT(x); k++) {
        assert_run(x[k], "--eps=1e-5");
        for (char *word = strtok(strstr(out, "\n  x  "), " \n"); word; word = strtok(NULL, " \n")) {
            char *end;
            if (strtod(word, &end), end == word) continue; /* not a number */
            assert_true(*end == 0 || *end == ':' || *end == ',');
        }
    }
}

TEST(a_hand_that_errs_is_caught)
{
    gr_tape *t = gr_tape_new(1, NULL);
    norms_paper p = { .t = t };
    const double x[] = { 1, 2, 4 }, dy[] = { 1, 0, 0 };
    norms_given a = { .N = 3, .x = x, .dy = dy, .eps = 1e-5 };
    norms_hand_forward(&p, &a), norms_hand_backward(&p, &a, 1);
    assert_int_equal(p.wrong, 0);
    assert_int_equal(p.lines, 9 + 12);
    norms_paper_holds(&p, false, "this");
    assert_int_equal(p.wrong, 1);
    gr_fail(t, NULL, "an error");
    norms_hand_forward(&p, &a), norms_hand_backward(&p, &a, 1), norms_paper_holds(&p, false, "that");
    assert_int_equal(p.lines, 9 + 12 + 1);
    gr_tape_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_part_is_printed_as_recorded),
        cmocka_unit_test(one_part_alone_is_printed_as_among_all),
        cmocka_unit_test(published_numbers_are_printed),
        cmocka_unit_test(your_own_vector_is_worked_out),
        cmocka_unit_test(bad_input_is_refused),
        cmocka_unit_test(parts_are_listed_and_logged),
        cmocka_unit_test(a_line_that_differs_is_marked_and_counted),
        cmocka_unit_test(columns_never_touch),
        cmocka_unit_test(lines_of_any_vector_have_columns),
        cmocka_unit_test(a_hand_that_errs_is_caught),
    };
    return cmocka_run_group_tests(tests, program_set_up, program_tear_down);
}
