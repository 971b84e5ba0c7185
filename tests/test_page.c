/* tests/test_page.c - the evaluator of pages, tests/page.h. */
#include "tests/page.h"
#include "tests/test.h"

static page *p;
FIXTURE(begin) { return !(p = page_new()); }
FIXTURE(end) { return page_free(p), p = NULL, 0; }

#define assert_right(text) \
    do { \
        const char *const error = page_read(p, text); \
        if (error) fail_msg("%s", error); \
    } while (0)
#define assert_wrong(text, message) test_wrong(text, message, __FILE__, __LINE__)

TEST(equations_are_evaluated)
{
    assert_right("    i = 0 .. 1   j = 0 .. 1   k = 0 .. 2\n"
                 "    x = (2, 3)   y = x x + 1 = (5, 10)   s = sum over i of x_i y_i = 2*5 + 3*10 = 40\n"
                 "    a = ((1, 2, 3), (4, 5, 6))   b_kj = [k = j] (k + 1)\n"
                 "    c_ij = sum over k of a_ik b_kj = a_ij b_jj\n"
                 "    c = ((1, 4), (4, 10))\n"
                 "    m = max over k of a_0k = 3   e = exp(-m) = 1/exp(3) = 0.0497..   f = -e = -0.0497..   # a remark\n"
                 "In the text, too: `s/3 = 13.33..`, and `gr_add` is no equation.\n");
    assert_int_equal(page_equations(p), 10);
    assert_true(page_value(p, "c_01") == 4);
}
TEST(derivatives_are_evaluated)
{
    assert_right("    i = 0 .. 1   j = 0 .. 1\n"
                 "    x = (2, 3)   y_i = x_i^2 + x_0   z = sum over i of y_i\n"
                 "    d y_i / d x_j = 2 x_i [i = j] + [j = 0]\n"
                 "    d y / d x = ((5, 0), (1, 6))   d z / d x = (6, 6)\n"
                 "    t = tanh(x_0)   d t / d x_0 = 1 - t^2   d (log(x_1) / x_0) / d x_0 = -log(x_1) / x_0^2\n"
                 "    D z / D y_0 = 1   u = x_0 z   D u / D x_0 = z   d u / d x_0 = z + x_0 (d z / d x_0)   D u / D y_0 = 0   d u / d y_0 = x_0\n"
                 "    d sqrt(x_1) / d x_1 = 1 / (2 sqrt(x_1))   d exp(z) / d y_0 = exp(z)\n");
}
TEST(additions_are_made_in_order)
{
    assert_right("    i = 0 .. 1   x = (2, 3)   g = 0   g += x x = (4, 9)\n"
                 "    h = g g\n"
                 "    g += x = (2, 3)   g = (6, 12)   g_i += 1   g = (7, 13)\n");
}

TEST(definitions_have_parts)
{
    assert_right("    t = 1 .. 3   j = 0 .. 1\n"
                 "    h_0 = (0, 1)   h_tj = 2 h_{t-1,j} + j   h_3 = (0, 15)   h_{1+1} = (0, 7)\n"
                 "    d h_3j / d h_1j = 4   d h_3j / d h_{t-1,0} = [j = 0] * 2^(4 - t)   D h_3j / D h_1j = 0   D h_tj / D h_{t-1,j} = 2\n"
                 "    s = sum over t of [t <= 2] h_t1 = 3 + 7   x_1 = 5   x_2 = 6   x_{2-1} x_2 = 30\n");
    assert_true(page_value(p, "h_{3,1}") == 15);
}
TEST(lists_of_numbers_are_varied)
{
    const char *const text = "    i = 0 .. 1   x = (2, 3)   y_i = x_i^2   y = (4, 9)   s = x_0 + x_1 = x_1 + x_0 = 5\n";
    assert_right(text);
    assert_int_equal(page_equations(p), 3);
    page *const q = page_new();
    page_vary(q, 7);
    assert_null(page_read(q, text));
    assert_int_equal(page_equations(q), 1);
    const double x = page_value(q, "x_0");
    assert_true(x != 2 && fabs(x - 2) <= 0.25 && page_value(q, "y_0") == x * x);
    assert_string_equal(page_read(q, "    y_i = 2 x_i\n") ? "wrong" : "", "wrong");
    page_free(q);
}

/* ---- Messages ---- */

static void test_wrong(const char *text, const char *message, const char *file, int line)
{
    page *const q = page_new();
    const char *const error = page_read(q, text);
    if (!error || strcmp(error, message)) print_error("got: %s\nwant: %s\n", error ? error : "nothing", message), _fail(file, line);
    page_free(q);
}
TEST(wrong_lines_are_named)
{
    assert_wrong("    a = 1/3 = 0.333..\n\n    a = 0.3333333333\n", "line 3: 0.333333333333333 is not 0.3333333333");
    assert_wrong("    a = 2/3 = 0.667..\n", "line 1: 0.666666666666667 is not 0.667");
    assert_wrong("    a = 2/3\n      = 2/3\n      = 3/2\n", "line 3: 0.666666666666667 is not 1.5");
    assert_wrong("    i = 0 .. 1   x = (2, 3)\n    y_i = x_i^2\n    y_i = 2 x_i\n", "line 3: 9 is not 6, i = 1");
    assert_wrong("    i = 0 .. 1   j = 0 .. 1   x = (2, 3)   y_i = x_i^2\n    d y_i / d x_j = 2 x_i\n", "line 2: 0 is not 4, i = 0, j = 1");
    assert_wrong("    i = 0 .. 1   i = 0 .. 2\n", "line 1: the index i has another range");
    assert_wrong("    x = (2, 3)   x = (2, 4)\n", "line 1: 3 is not 4");
    assert_wrong("    x = (2, 3)   x = (2, 3, 4)\n", "line 1: the sides have different shapes");
    assert_wrong("    x = (2, 3)   x_2 = 1\n", "line 1: a vector has no element 2");
    assert_wrong("    a = b\n", "line 1: b is not defined");
    assert_wrong("    x = (2, 3)   y = x_i\n", "line 1: y is defined with an index that it lacks");
    assert_wrong("    a += 1\n", "line 1: a has no value yet: begin with 0");
    assert_wrong("    a = (1 + 2\n", "line 1: ')' is missing before ''");
    assert_wrong("    a + 1\n", "line 1: no equation: a + 1");
    assert_wrong("    t = 1 .. 2   h_0 = 0   h_t = h_{t-1} + 1   a = h_3\n", "line 1: h has no element 3, 0, 0");
    assert_wrong("    t = 1 .. 2   h_0 = (0, 1)   h_t = h_0   a = h\n", "line 1: h is defined in parts: it needs its subscripts");
    assert_wrong("    t = 1 .. 2   h_t = t   h_3 = 3\n", "line 1: h has no element 3");
    assert_wrong("    x = (2, 3)   a = x_{1/2}\n", "line 1: a subscript of x is 0.5");
    assert_wrong("    i = 0 .. 1   y_{i+1} = i\n", "line 1: y cannot be defined like this");
    assert_wrong("    i = 0 .. 1   y_iiii = i\n", "line 1: more than 3 subscripts");
    assert_wrong("    x = (2, 3)   a = x_T\n", "line 1: T is no index");
    assert_wrong("    a = a + 1\n", "line 1: a is defined by itself");
    assert_wrong("    a = 1 # 1\n", "line 1: a digit in a remark");
    assert_wrong("The error is `a` and 0.5.\n", "line 1: a number that no equation computes: 0.5.");
    assert_wrong("The error is `0.5`.\n", "line 1: a number that no equation computes: 0.5");
    assert_wrong("    a = 1/0 = 1\n", "line 1: inf is not 1");
    assert_wrong("So `a = 1 = 2`.\n", "line 1: 1 is not 2");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(equations_are_evaluated, begin, end),
        cmocka_unit_test_setup_teardown(derivatives_are_evaluated, begin, end),
        cmocka_unit_test_setup_teardown(additions_are_made_in_order, begin, end),
        cmocka_unit_test_setup_teardown(definitions_have_parts, begin, end),
        cmocka_unit_test_setup_teardown(lists_of_numbers_are_varied, begin, end),
        cmocka_unit_test(wrong_lines_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
