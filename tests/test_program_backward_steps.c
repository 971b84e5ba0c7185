/* tests/test_program_backward_steps.c - examples/backward_steps as its users see it. */
#include "tests/program.h"

static int count(const char *text, const char *part)
{
    int n = 0;
    for (const char *p = text; (p = strstr(p, part)) != NULL; p += strlen(part)) n++;
    return n;
}
#define assert_printed(text) assert_non_null(strstr(out, text))
#define own(text) RUN("--quiet", "--check", "--expression", text)

TEST(the_right_walk_shows_each_sum)
{
    assert_run("--graph=branch");
    assert_printed("  node 2   b                = a + x                                     = 8\n");
    assert_printed("Backward, node 3: L = a * b\n\n  reads grad L = 1\n  The walk begins here: dL/dL = 1.\n");
    assert_printed("  DL/Da = b = 8\n      grad a += 8 * 1:  0 + 8 = 8\n");
    assert_printed("    x 0    y 0    a 8    b 6*    L 1*\n");
    assert_printed("  Db/Da = 1\n      grad a += 1 * 6:  8 + 6 = 14\n  Db/Dx = 1\n      grad x += 1 * 6:  0 + 6 = 6\n");
    assert_printed("    x 6    y 0    a 14*    b 6*    L 1*\n");
    assert_printed("  reads grad a = 14\n  It is complete. These nodes use a, and came before: 3 2\n");
    assert_printed("      grad x += 3 * 14:  6 + 42 = 48\n");
    assert_printed("    x 48*    y 28*    a 14*    b 6*    L 1*\n");
}

/* x, y, a, b and L of "branch": by hand, L = (x y) (x y + x). */
TEST(each_mistake_has_its_wrong_numbers)
{
    static const struct { const char *heading; double wrong[5]; int count; } mistake[] = {
        { "Mistake: a wrong order, oldest node first", { 0, 0, 8, 6, 1 }, 3 },
        { "Mistake: a wrong order, depth first", { 30, 16, 14, 6, 1 }, 2 },
        { "Mistake: = in place of +=", { 18, 12, 6, 6, 1 }, 3 },
        { "Mistake: a second backward", { 210, 124, 48, 18, 2 }, 5 },
    };
    static const double right[] = { 48, 28, 14, 6, 1 };
    char line[80];
    assert_run("--graph=branch");
    for (size_t m = 0; m < COUNT(mistake); m++) {
        const char *const part = strstr(out, mistake[m].heading);
        assert_non_null(part);
        for (int i = 0; i < 5; i++) {
            const bool differs = mistake[m].wrong[i] != right[i];
            snprintf(line, sizeof line, "  %-15c  %12g  %12g%s\n", "xyabL"[i], right[i], mistake[m].wrong[i], differs ? "  <-" : "");
            const char *const found = strstr(part, line), *const end = strstr(part, "Wrong gradients: ");
            if (!found || found > end) fail_msg("%s lacks the line %s", mistake[m].heading, line);
        }
        snprintf(line, sizeof line, "Wrong gradients: %d of 5.\n", mistake[m].count);
        assert_int_equal(strncmp(strstr(part, "Wrong gradients: "), line, strlen(line)), 0);
    }
    assert_printed("Node 1, x * y, reads 0 as the gradient of a.\nThe complete gradient is 14.\n");
    assert_printed("Node 1, x * y, reads 8 as the gradient of a.\nThe complete gradient is 14.\n");
    assert_printed("Node 2 assigns 6 to grad a, and the 8 that it held is lost.\n");
    assert_printed("    backward: gr_backward was already called since the last gr_tape_reset. A second call would start\n"
                   "    from the gradients that the first one left, and add wrong ones.");
    assert_printed("By gradus:\n\n  gradient of              once         twice\n  x                          48            96\n");
}

TEST(a_mistake_without_effect_says_why)
{
    assert_run("--graph=chain");
    assert_printed("No gradient is wrong here: no result of a node is used twice.\n");
    assert_printed("No gradient is wrong here: no value is used twice.\n");
    assert_run("--graph=square");
    assert_printed("No gradient is wrong here: the graph has one node.\n");
    assert_printed("  x                           6             3  <-\n");
    assert_run("--expression=x = 3; y = x * x; z = 0 * x; L = y * z");
    assert_printed("No gradient is wrong here: the numbers of this graph hide the mistake.\n");
}

TEST(every_graph_agrees_with_gradus)
{
    static const char *const name[] = { "branch", "chain", "square", "neuron", "shared", "norm" };
    assert_run("--check");
    assert_string_equal(err, "");
    assert_int_equal(count(out, ": 0 of "), 6), assert_int_equal(count(out, " numbers differ from gradus: "), 6);
    for (const char *line = out, *end; (end = strchr(line, '\n')) != NULL; line = end + 1)
        if (end - line > 100) fail_msg("a line has more than 100 columns: %.*s", (int)(end - line), line);
    assert_run("--check", "--quiet", "--threads=3", "--graph=all");
    assert_int_equal(count(out, "\n"), 6);
    assert_run("--list");
    for (size_t k = 0; k < COUNT(name); k++) {
        char start_of_line[16];
        snprintf(start_of_line, sizeof start_of_line, "%s%-8s", k ? "\n" : "", name[k]);
        assert_printed(start_of_line);
    }
    for (size_t k = 0; k < COUNT(name); k++) {
        assert_run("--check", "--quiet", "--graph", name[k]);
        assert_int_equal(strncmp(out, name[k], strlen(name[k])), 0);
        assert_int_equal(count(out, "\n"), 1);
    }
}

TEST(your_own_graph_has_every_operator)
{
    assert_int_equal(own("x = 0.7; y = -1.3; L = square(x) + sqrt(x) - exp(y) * log(x) / tanh(y) + sigmoid(x * y) * relu(x) - -sin(y) + cos(y - x)"), 0);
    assert_string_equal(out, "expression: 0 of 54 numbers differ from gradus: 22 gradients, 2 after a second backward, 30 derivatives\n");
    assert_run("--expression", "a = 2; unused = 5; e = a * 3; u = unused * 2; L = (e + 1e-1) * -(2)");
    assert_printed("  3 needs no gradient.\n");
    assert_printed("  unused           no gradient reaches it, because L does not use it\n");
    assert_printed("  node 4   #4               = -2 ");
    assert_printed("\nA result without a name has the number of its node: #3 is the result of node 3.\n");
    assert_int_equal(own("fifteen_letters = 1; L = fifteen_letters / 3"), 0);
    assert_int_equal(own(" x=1;L=x*x;\n"), 0);
    assert_int_equal(own("x = 2; L = x * ((((((((((((((((((((x))))))))))))))))))))"), 0); /* 20 */
}

TEST(a_wrong_text_is_refused)
{
#define NEITHER " one number, as in a = 0.25, nor computed from a name, as in b = a / 3; "
#define ONE_OF_TWO " must be one of the two"
#define KNOWN "; the functions are square sqrt exp log tanh sigmoid relu sin cos"
#define assert_refused(text, at, why) \
    do { \
        assert_int_equal(own(text), 2); \
        assert_string_equal(err, "backward_steps: --expression, character " #at ": " why "\n"); \
        assert_string_equal(out, ""); \
    } while (0)
    assert_refused("3", 1, "a name was expected");
    assert_refused("x = 2;; L = x * x", 7, "a name was expected");
    assert_refused("x 2", 3, "'=' was expected after x");
    assert_refused("x = 2", 6, "the last name is the loss and must be computed from another name; x is only a number");
    assert_refused("L = 2 * 3", 5, "2 * 3 is neither" NEITHER "L" ONE_OF_TWO);
    assert_refused("x =  1/3 ; L = x * x", 6, "1/3 is neither" NEITHER "x" ONE_OF_TWO);
    assert_refused("y = 2; x = sqrt(2); L = x * y", 12, "sqrt(2) is neither" NEITHER "x" ONE_OF_TWO);
    assert_refused("x = 2; c = -(1.25 + 2.25 + 3.25 + 4.25 + 5.25 + 6.25 + 7.25 + 8.25 + 9.25); L = c * x", 12,
                   "-(1.25 + 2.25 + 3.25 + 4.25 + 5.25 + 6.25 + 7.25 + 8.25 + 9. is neither" NEITHER "c" ONE_OF_TWO);
    assert_refused("x = 2; y = x; L = y * y", 14, "the right side was only a name: write a number or an operator");
    assert_refused("x = 2; x = x * x", 8, "there is a number or result already with the name x");
    assert_refused("x = 2; L = q * x", 12, "no number, result or function has the name q" KNOWN);
    assert_refused("exp = 2", 1, "a function has the name exp");
    assert_refused("abcdefghijklmnop = 2", 1, "a name has at most 15 characters; this one is abcdefghijklmnop");
    assert_refused("x = 2; L = tanh x", 17, "'(' was expected after tanh");
    assert_refused("x = 2; L = (x * x", 18, "')' was expected");
    assert_refused("x = 2; L = x *", 15, "a number, a name or '(' was expected");
    assert_refused("x = 2; L = x x", 14, "+ - * / or ';' was expected, not x" KNOWN);
    assert_refused("x = 2; L = x^2", 13, "+ - * / or ';' was expected, not ^" KNOWN);
    assert_refused("x = 2; L = x \u00d7 x", 14, "+ - * / or ';' was expected, not \u00d7" KNOWN);
    assert_refused("x = 1e7", 5, "a number must be from -1e6 to 1e6");
    assert_refused("x = .", 5, "a number is decimal, as in 0.25 or 1e-3");
    assert_refused("x = 0x10; L = x * x", 5, "a number is decimal, as in 0.25 or 1e-3");
    assert_refused("x = 2; L = (((((((((((((((((((((x", 33, "more than 20 parentheses and signs are open");
    assert_refused("x = 2; L = x" "*x*x*x*x*x*x*x*x*x*x*x*x*x*x*x*x*x*x*x*x*x*x*x*x*x" "*x*x*x*x*x*x*x*x*x*x*x*x*x*x*x*x*x*x*x*x*x*x*x*x*x", 109,
                   "a graph has at most 48 numbers and results");
}

TEST(values_that_are_not_finite_are_named)
{
    assert_int_equal(own("x = 0; L = log(x)"), 1);
    assert_int_equal(strncmp(err, "backward_steps: anomaly: forward of log in L made -inf ", 55), 0);
    assert_int_equal(RUN("--quiet", "--expression", "x = 0; L = log(x)"), 1); /* without --check, too */
    assert_int_equal(own("x = 0; L = sqrt(x)"), 1);
    assert_int_equal(strncmp(err, "backward_steps: anomaly: backward of sqrt in L made inf ", 56), 0);
}

TEST(a_difference_is_noticed)
{
    int differ = 0;
    for (int x = 2; x < 40; x++) { /* gradus divides 3 by 2 y where the walk multiplies 3 by 1 / (2 y): for some x they round differently */
        char text[64], want[128];
        snprintf(text, sizeof text, "--expression=x = %d; L = 3 * sqrt(x)", x);
        if (RUN("--check", "--tolerance=0", text) != 1) continue;
        differ += strstr(out, "  DIFFERS: gradient of x: 0.") && strstr(out, "  DIFFERS: twice the gradient of x: ");
        const int n = count(out, "  DIFFERS: ");
        snprintf(want, sizeof want, "backward_steps: --check: expression: %d numbers differ from those of gradus\n", n);
        assert_string_equal(err, want);
        snprintf(want, sizeof want, "expression: %d of 6 numbers differ from gradus: 3 gradients, 1 after a second backward, 2 derivatives\n",
                 n);
        assert_printed(want);
        assert_run("--tolerance=0", text); /* without --check a difference is only printed */
    }
    assert_true(differ > 0);
    assert_run("--check", "--expression=x = 7; L = 3 * sqrt(x)");
    if (sizeof(gr_real) == sizeof(double)) return;
    assert_int_equal(RUN("--check", "--tolerance=0", "--expression=x = 1; L = x / 3"), 1);
    assert_printed("  DIFFERS: derivative of L by x: 0.333333333 by the walk, 0.333333343 by gradus\n");
}

/* The program reads keys from a file in place of a terminal. */
static const char *with_keys(const char *keys)
{
    FILE *const f = fopen(in_dir("keys"), "w");
    assert_non_null(f);
    fputs(keys, f), fclose(f);
    const int before = dup(0);
    assert_non_null(freopen(in_dir("keys"), "r", stdin));
    assert_run("--keys=on");
    dup2(before, 0), close(before), unlink(in_dir("keys"));
    return out;
}

TEST(keys_go_on_and_back)
{
    const char *const text = with_keys("\n\nb\n\nq\n");
    int step[8] = { 0 };
    for (int k = 0; k < 8; k++) {
        char heading[32];
        snprintf(heading, sizeof heading, "step %d of 8 ----", k + 1), step[k] = count(text, heading);
    }
    assert_int_equal(step[0], 1), assert_int_equal(step[1], 2), assert_int_equal(step[2], 2), assert_int_equal(step[3], 0);
    assert_int_equal(count(text, "Enter: next step   b: back   q: end > "), 5);
    assert_printed("\n  gradient of                walk          gradus        2 * walk  gradus, second\n"
                   "  x                            48              48              96              96\n");
    assert_printed("\n  a                            14              14\n");
    assert_printed("\nThe walk beside gr_backward. On the right are the numbers with a name after a second forward and\n"
                   "backward, which makes their gradients twice as large. The derivatives of the operators, which the\n"
                   "steps show, are compared with those of gradus, too.\n\n");
    assert_null(strstr(out, "A result without a name"));
    assert_printed("branch: 0 of 13 numbers differ from gradus: 5 gradients, 2 after a second backward, 6 derivatives\n");
    assert_int_equal(count(with_keys("b\n"), "step 1 of 8 ----"), 2);
    assert_int_equal(count(with_keys("\n\n\n\n\n\n\n\n"), " > "), 8);
}

/* The page has the steps of the terminal, as HTML, and beside each the drawing of its gradients. */
TEST(a_page_has_a_drawing_for_each_step)
{
    static char page[1 << 19], wide[1 << 19];
    assert_run("--graph=branch", "--html", in_dir("page"));
    slurp(in_dir("page"), page, sizeof page);
    assert_int_equal(count(page, "<div class=\"step\">"), 8);
    assert_non_null(strstr(page, "min=\"1\" max=\"8\" value=\"1\""));
    assert_int_equal(count(page, "<svg "), count(page, "</svg>")), assert_int_equal(count(page, "<div "), count(page, "</div>"));
    assert_int_equal(count(page, "<rect "), 8 * 5), assert_int_equal(count(page, "class=\"edge"), 8 * 6);
    assert_int_equal(count(page, "class=\"edge hot\""), 6);
    static const char *const mark[] = { "A result without a name has the number of its node: #5 is the result of node 5.",
                                        "grad 48 *<", "grad 28 *<", "grad 30, wrong<", "grad 210, wrong<", "+= 42<", NULL };
    for (int k = 0; mark[k]; k++)
        if (!strstr(page, mark[k])) fail_msg("the page lacks %s", mark[k]);
    assert_int_equal(count(page, ", wrong<"), 3 + 2 + 3 + 5);
    assert_non_null(strstr(page, "  DL/Da = b = 8\n      grad a += 8 * 1:  0 + 8 = 8\n"));
    assert_non_null(strstr(page, "gradient of           "));
    assert_non_null(strstr(page, "  y                          28            16  &lt;-\n"));
    assert_null(strstr(out, "---- branch"));
    assert_printed(" 6 derivatives\nwrote ");
    assert_run("--quiet", "--graph=all", "--html", in_dir("page"));
    slurp(in_dir("page"), wide, sizeof wide);
    assert_int_equal(count(wide, "<section>"), 6), assert_int_equal(count(wide, "</section>"), 6);
    unlink(in_dir("page"));
    assert_int_equal(RUN("--html", "/nowhere/page"), 3);
    assert_string_equal(err, "backward_steps: cannot write '/nowhere/page': No such file or directory\n");
    assert_int_equal(RUN("--html", in_dir("page"), "--expression", "x = 2; L = q"), 2);
    assert_int_equal(access(in_dir("page"), F_OK), -1);
}

TEST(the_log_has_each_sum_and_gradient)
{
    static char text[1 << 15];
    assert_run("--quiet", "--log", in_dir("log"));
    slurp(in_dir("log"), text, sizeof text);
    assert_int_equal(count(text, "\n{\"kind\": \"gradient\", \"graph\": \"branch\", "), 5);
    assert_int_equal(count(text, "\n{\"kind\": \"sum\", \"graph\": \"branch\", "), 6);
    assert_non_null(strstr(text, "\"of\": \"x\", \"walk\": 48, \"gradus\": 48}"));
    assert_non_null(strstr(text, "\"node\": 1, \"to\": \"x\", \"read\": 14, \"slope\": 3, \"before\": 6, \"after\": 48}"));
    assert_int_equal(unlink(in_dir("log")), 0);
}

TEST(bad_flags_and_paths_are_refused)
{
    assert_run("--help");
    assert_printed("\n  --expression TEXT ");
    assert_ends(2, "backward_steps: --graph tree: there is no such graph; --list prints the names\n", "--graph=tree");
    assert_ends(2, "backward_steps: --graph and --expression exclude each other\n", "--graph=branch", "--expression=x = 2; L = x * x");
    assert_ends(2, "backward_steps: --keys needs one of auto|on|off; got \"yes\"\n", "--keys=yes");
    assert_ends(2, "backward_steps: --tolerance needs a number from 0 to 1; got \"2\"\n", "--tolerance=2");
    if (access("/dev/full", W_OK) != 0) printf("not run: a full disk, there is no /dev/full\n"), skip();
    assert_ends(3, "backward_steps: /dev/full: cannot write the log: No space left on device\n", "--log", "/dev/full");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_right_walk_shows_each_sum),
        cmocka_unit_test(each_mistake_has_its_wrong_numbers),
        cmocka_unit_test(a_mistake_without_effect_says_why),
        cmocka_unit_test(every_graph_agrees_with_gradus),
        cmocka_unit_test(your_own_graph_has_every_operator),
        cmocka_unit_test(a_wrong_text_is_refused),
        cmocka_unit_test(values_that_are_not_finite_are_named),
        cmocka_unit_test(a_difference_is_noticed),
        cmocka_unit_test(keys_go_on_and_back),
        cmocka_unit_test(a_page_has_a_drawing_for_each_step),
        cmocka_unit_test(the_log_has_each_sum_and_gradient),
        cmocka_unit_test(bad_flags_and_paths_are_refused),
    };
    return cmocka_run_group_tests(tests, program_set_up, program_tear_down);
}
