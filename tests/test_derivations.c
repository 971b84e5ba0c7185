/* tests/test_derivations.c - the pages that derive gradients: each line is evaluated, and the results are those of the library. */
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
    assert_wrong("    x = (2, 3)   a = x_{1/2}\n", "line 1: a subscript of x is 0.5");
    assert_wrong("    i = 0 .. 1   y_{i+1} = i\n", "line 1: y cannot be defined like this");
    assert_wrong("    i = 0 .. 1   y_iiii = i\n", "line 1: more than 3 subscripts");
    assert_wrong("    a = a + 1\n", "line 1: a is defined by itself");
    assert_wrong("    a = 1 # 1\n", "line 1: a digit in a remark");
    assert_wrong("The error is `a` and 0.5.\n", "line 1: a number that no equation computes: 0.5.");
    assert_wrong("The error is `0.5`.\n", "line 1: a number that no equation computes: 0.5");
    assert_wrong("So `a = 1 = 2`.\n", "line 1: 1 is not 2");
}

/* ---- The pages ---- */

static void read_file(const char *path, size_t least) /* and evaluate it: it has at least so many pairs of sides */
{
    static char text[1 << 16];
    FILE *const f = fopen(path, "r");
    if (!f) fail_msg("%s cannot be read", path);
    const size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = 0;
    const char *const error = page_read(p, text);
    if (error) fail_msg("%s, %s", path, error);
    assert_in_range(page_equations(p), least, 100000);
}

/* The values of a name of the page, row by row. */
static const gr_real *values(const char *name, size_t rows, size_t columns)
{
    static gr_real v[64];
    char element[64];
    for (size_t i = 0; i < rows * columns; i++) {
        if (rows > 1) snprintf(element, sizeof element, "%s_%zu%zu", name, i / columns, i % columns);
        else snprintf(element, sizeof element, "%s_%zu", name, i);
        v[i] = (gr_real)page_value(p, element);
        if (isnan(v[i])) fail_msg("%s has no value: %s", element, page_read(p, ""));
    }
    return v;
}
static gr_tensor *input(gr_tape *t, const char *name, size_t rows, size_t columns)
{
    const gr_real *const v = values(name, rows, columns);
    return gr_want_grad(t, gr_input(t, v, rows > 1 ? GR_SHAPE(rows, columns) : GR_SHAPE(columns)));
}
static void same(const gr_real *got, const char *name, size_t rows, size_t columns)
{
    assert_close(got, values(name, rows, columns), rows * columns, sizeof(gr_real) == 8 ? 1e-12 : 1e-6);
}

static gr_tensor *number(gr_tape *t, const char *name) /* [1] */
{
    return gr_want_grad(t, gr_input(t, (gr_real[]){ (gr_real)page_value(p, name) }, GR_SHAPE(1)));
}
static void same_number(const gr_real *got, const char *name)
{
    assert_close(got, (gr_real[]){ (gr_real)page_value(p, name) }, 1, sizeof(gr_real) == 8 ? 1e-12 : 1e-6);
}

/* Backward of the five nodes in this order, in which 0 is the newest. */
static void visit(gr_tape *t, gr_tensor *loss, const int *order)
{
    const gr_node *node[5] = { t->now.last };
    for (int i = 1; i < 5; i++) node[i] = node[i - 1]->prev;
    assert_true(gr__reach(t, loss) && gr__mark_and_allocate(t));
    gr_grad(t, loss)[0] += 1;
    for (int i = 0; i < 5; i++) node[order[i]]->op->backward(t, node[order[i]]);
}
TEST(backward_md_is_right_about_a_wrong_order)
{
    static const int order[][5] = { { 0, 1, 2, 3, 4 }, { 0, 1, 4, 2, 3 } };
    static const char *const dx[] = { "dx", "earlyx" }, *const dw[] = { "dw", "earlyw" };
    read_file("core/backward.md", 60);
    gr_tape *t = gr_tape_new(1, NULL);
    for (size_t k = 0; k < COUNT(order); k++) {
        gr_tensor *x = input(t, "x", 1, 2), *w = input(t, "w", 1, 2), *m = gr_mul(t, x, w), *s = gr_add(t, m, x);
        visit(t, gr_sum(t, gr_mul(t, gr_sqrt(t, s), m), GR_ALL_AXES, false), order[k]);
        same(gr_grad(t, x), dx[k], 1, 2), same(gr_grad(t, w), dw[k], 1, 2);
        gr_tape_reset(t);
    }
    gr_tape_free(t);
}

TEST(backward_md_is_right)
{
    static const char *const order[] = { "sum", "mul", "sqrt", "add", "mul" };
    read_file("core/backward.md", 60);
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *x = input(t, "x", 1, 2), *w = input(t, "w", 1, 2), *m = gr_mul(t, x, w), *s = gr_add(t, m, x), *r = gr_sqrt(t, s), *q = gr_mul(t, r, m);
    gr_tensor *const y[] = { x, w, m, s, r, q };
    static const char *const dy[] = { "dx", "dw", "dp", "ds", "dr", "dq" };
    gr_tensor *loss = gr_sum(t, q, GR_ALL_AXES, false);
    assert_true(gr_backward(t, loss));
    assert_true(loss->data[0] == (gr_real)page_value(p, "loss"));
    for (size_t i = 0; i < COUNT(y); i++) same(y[i]->data, dy[i] + 1, 1, 2), same(gr_grad(t, y[i]), dy[i], 1, 2);
    size_t k = 0;
    for (const gr_node *n = t->now.last; n; n = n->prev) assert_string_equal(n->op->name, order[k++]);
    assert_int_equal(k, COUNT(order));
    gr_tape_reset(t);
    x = input(t, "x", 1, 2), w = input(t, "w", 1, 2), m = gr_mul(t, x, w), s = gr_add(t, m, x), q = gr_mul(t, gr_sqrt(t, s), m);
    assert_true(gr_backward_from(t, q, values("v", 1, 2)));
    same(gr_grad(t, x), "gx", 1, 2), same(gr_grad(t, m), "gp", 1, 2);
    gr_tape_free(t);
}

TEST(derivations_md_is_right)
{
    read_file("ops/derivations.md", 60);
    gr_tape *t = gr_tape_new(1, NULL);

    gr_tensor *a = input(t, "a", 2, 3), *b = input(t, "b", 3, 2), *c = gr_matmul(t, a, b);
    same(c->data, "c", 2, 2);
    assert_true(gr_backward_from(t, c, values("dc", 2, 2)));
    same(gr_grad(t, a), "da", 2, 3), same(gr_grad(t, b), "db", 3, 2);
    gr_tape_reset(t);

    gr_tensor *x = input(t, "x", 2, 3), *v = input(t, "v", 1, 3), *f = input(t, "f", 1, 2), *y = gr_add(t, x, v);
    gr_tensor *h = gr_mul(t, y, gr_reshape(t, f, GR_SHAPE(2, 1)));
    same(h->data, "h", 2, 3);
    assert_true(gr_backward_from(t, h, values("dh", 2, 3)));
    same(gr_grad(t, y), "dy", 2, 3), same(gr_grad(t, v), "dv", 1, 3), same(gr_grad(t, f), "df", 1, 2);
    gr_tape_reset(t);

    gr_tensor *z = input(t, "z", 1, 3), *p_of_z = gr_softmax(t, z, -1);
    same(p_of_z->data, "p", 1, 3);
    assert_true(gr_backward_from(t, p_of_z, values("g", 1, 3)));
    same(gr_grad(t, z), "dz", 1, 3);
    for (int smooth = 0; smooth < 2; smooth++) {
        gr_tape_reset(t);
        z = input(t, "z", 1, 3);
        const gr_cross_entropy_config config = { .label_smoothing = smooth ? page_value(p, "e") : 0 };
        gr_tensor *loss = gr_cross_entropy(t, gr_reshape(t, z, GR_SHAPE(1, 3)), gr_ints_new(t, (int[]){ 1 }, GR_SHAPE(1)), &config);
        assert_true(gr_backward(t, loss));
        assert_true(fabs(gr_item(loss) - page_value(p, smooth ? "smooth" : "loss1")) < 1e-6);
        same(gr_grad(t, z), smooth ? "dsmooth" : "dloss1", 1, 3);
    }
    gr_tape_reset(t);

    gr_tensor *row = input(t, "r", 1, 3), *gamma = input(t, "gamma", 1, 3), *out = gr_rms_norm(t, row, 1, gamma, GR_NONE);
    same(out->data, "out", 1, 3);
    assert_true(gr_backward_from(t, out, values("dout", 1, 3)));
    same(gr_grad(t, row), "dr", 1, 3), same(gr_grad(t, gamma), "dgamma", 1, 3);
    gr_tape_free(t);
}

TEST(layer_norm_md_is_right)
{
    read_file("ops/layer_norm.md", 30);
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *x = input(t, "x", 1, 3), *gamma = input(t, "gamma", 1, 3), *beta = input(t, "beta", 1, 3);
    gr_tensor *y = gr_layer_norm(t, x, 1, gamma, beta, GR_NONE); /* no eps: the page's is 0 */
    assert_true(page_value(p, "eps") == 0);
    same(y->data, "y", 1, 3);
    assert_true(gr_backward_from(t, y, values("dy", 1, 3)));
    same(gr_grad(t, x), "dx", 1, 3), same(gr_grad(t, gamma), "dgamma", 1, 3), same(gr_grad(t, beta), "dbeta", 1, 3);
    gr_tape_free(t);
}

/* A page with its own numbers, and then some times with random ones. The second argument is how many equations have no side of numbers alone. */
enum { ROUNDS = 5 };
static void read_varied(const char *path, size_t least, unsigned round)
{
    page_free(p), p = page_new();
    page_vary(p, round * 2654435761u);
    read_file(path, least);
}

TEST(batch_norm_md_is_right)
{
    for (unsigned round = 0; round < ROUNDS; round++) {
        read_varied("ops/batch_norm.md", 30, round);
        gr_tape *t = gr_tape_new(1, NULL);
        const gr_batch_norm_config training = { .running_mean = number(t, "oldmean"), .running_var = number(t, "oldvar"),
                                                .momentum = page_value(p, "momentum"), .eps = page_value(p, "eps") };
        gr_tensor *x = input(t, "x", 1, 4), *gamma = number(t, "gamma"), *beta = number(t, "beta");
        gr_tensor *y = gr_batch_norm(t, gr_reshape(t, x, GR_SHAPE(4, 1)), 1, gamma, beta, &training);
        same(y->data, "y", 1, 4);
        assert_true(gr_backward_from(t, y, values("dy", 1, 4)));
        same(gr_grad(t, x), "dx", 1, 4), same_number(gr_grad(t, gamma), "dgamma"), same_number(gr_grad(t, beta), "dbeta");
        same_number(training.running_mean->data, "newmean"), same_number(training.running_var->data, "newvar");

        gr_tape_reset(t), gr_tape_set_training(t, false);
        const gr_batch_norm_config evaluation = { .running_mean = number(t, "rmean"), .running_var = number(t, "rvar"), .eps = training.eps };
        x = input(t, "x", 1, 4), gamma = number(t, "gamma"), beta = number(t, "beta");
        y = gr_batch_norm(t, gr_reshape(t, x, GR_SHAPE(4, 1)), 1, gamma, beta, &evaluation);
        same(y->data, "out", 1, 4);
        assert_true(gr_backward_from(t, y, values("dout", 1, 4)));
        same(gr_grad(t, x), "ex", 1, 4), same_number(gr_grad(t, gamma), "egamma"), same_number(gr_grad(t, beta), "ebeta");
        gr_tape_free(t);
    }
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
        cmocka_unit_test_setup_teardown(backward_md_is_right, begin, end),
        cmocka_unit_test_setup_teardown(derivations_md_is_right, begin, end),
        cmocka_unit_test_setup_teardown(layer_norm_md_is_right, begin, end),
        cmocka_unit_test_setup_teardown(batch_norm_md_is_right, begin, end),
        cmocka_unit_test_setup_teardown(backward_md_is_right_about_a_wrong_order, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
