/* tests/test_gradcheck.c - gr_gradcheck itself: a right gradient passes, and each kind of wrong gradient fails with a line that says
 * where. */
#include "tests/test.h"
#include <stdio.h>
#include <unistd.h>

/* y = softmax of two values, y0 = 1 / (1 + exp(x1 - x0)), with a backward that can be broken in several ways. */
enum { RIGHT, ASSIGNS, ZERO, NO_CROSS_TERM, WRONG_SIGN, NOT_A_NUMBER, HALF };
static void pair_backward(gr_tape *t, const gr_node *n)
{
    const int broken = *(const int *)n->saved;
    const gr_real *dy = gr_grad(t, n->out[0]), *y = n->out[0]->data;
    gr_real *dx = gr_grad(t, n->in[0]);
    const gr_real dot = broken == NO_CROSS_TERM ? 0 : dy[0] * y[0] + dy[1] * y[1];
    for (int i = 0; i < 2; i++) {
        gr_real g = y[i] * (dy[i] - dot);
        if (broken == ZERO) g = 0;
        if (broken == WRONG_SIGN) g = -g;
        if (broken == HALF) g /= 2;
        if (broken == NOT_A_NUMBER) g = (gr_real)NAN;
        dx[i] = broken == ASSIGNS ? g : dx[i] + g;
    }
}
static const gr_op pair_op = { .name = "pair", .backward = pair_backward };
static gr_tensor *pair(gr_tape *t, gr_tensor *const *in, void *broken)
{
    gr_tensor *x = in[0], *y = gr_empty(t, GR_SHAPE(2));
    if (!gr_ready(t, &pair_op, x, y)) return NULL;
    y->data[0] = (gr_real)(1 / (1 + exp((double)(x->data[1] - x->data[0]))));
    y->data[1] = 1 - y->data[0];
    return gr_record(t, &pair_op, broken, sizeof(int), GR_OUT(y), GR_IN(x));
}

static char *check(gr_gradcheck_function *f, void *argument, const gr_gradcheck_input *in, size_t n, bool *good)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    *good = gr_gradcheck("it", f, argument, in, n, NULL, out);
    fclose(out);
    return text;
}

TEST(a_right_gradient_passes_silently)
{
    bool good;
    char *said = check(pair, &(int){ RIGHT }, &(gr_gradcheck_input){ .shape = GR_SHAPE(2) }, 1, &good);
    assert_true(good);
    assert_string_equal(said, "");
    free(said);
}

TEST(every_kind_of_wrong_gradient_fails_and_is_reported)
{
    for (int broken = ASSIGNS; broken <= HALF; broken++) {
        bool good;
        char *said = check(pair, &broken, &(gr_gradcheck_input){ .shape = GR_SHAPE(2) }, 1, &good);
        assert_false(good);
        assert_non_null(strstr(said, "it: input 1, "));
        assert_non_null(strstr(said, "backward gives "));
        assert_non_null(strstr(said, "finite differences "));
        free(said);
    }
}

static gr_tensor *forgets_its_second_input(gr_tape *t, gr_tensor *const *in, void *argument)
{
    (void)argument;
    return gr_add(t, in[0], gr_detach(t, in[1]));
}
TEST(an_input_that_no_gradient_reaches_fails)
{
    bool good;
    gr_gradcheck_input in[2] = { { .shape = GR_SHAPE(3) }, { .shape = GR_SHAPE(3) } };
    free(check(forgets_its_second_input, NULL, in, 2, &good));
    assert_false(good);
    in[1].no_grad = true;
    free(check(forgets_its_second_input, NULL, in, 2, &good));
    assert_true(good);
}

static gr_tensor *misuse(gr_tape *t, gr_tensor *const *in, void *argument)
{
    return argument ? NULL : gr_reshape(t, in[0], GR_SHAPE(7));
}
TEST(an_error_of_the_function_is_reported)
{
    bool good;
    char *said = check(misuse, NULL, &(gr_gradcheck_input){ .shape = GR_SHAPE(3) }, 1, &good);
    assert_false(good);
    assert_string_equal(said, "it: reshape: x is [3] and holds 3 values, which do not fill [7]\n");
    free(said);
    said = check(misuse, &good, &(gr_gradcheck_input){ .shape = GR_SHAPE(3) }, 1, &good);
    assert_string_equal(said, "it: the function returned NULL without an error\n");
    free(said);
}

typedef struct { double low, high, kink; bool kinked, apart; } wanted;
static gr_tensor *looks_at_its_values(gr_tape *t, gr_tensor *const *in, void *argument)
{
    const wanted *w = argument;
    const gr_tensor *x = in[0];
    const double step = sizeof(gr_real) == 8 ? 1e-3 : 2e-2, moved = 2.5 * step * 3;
    for (size_t i = 0; i < x->len; i++) {
        const double v = (double)x->data[i];
        assert_true(v >= w->low - moved && v <= w->high + moved);
        if (w->kinked) assert_true(fabs(v - w->kink) > 7 * step);
        for (size_t j = 0; w->apart && j < i; j++) assert_true(fabs(v - (double)x->data[j]) > 7 * step);
    }
    return gr_add(t, in[0], in[0]);
}
TEST(values_are_drawn_as_asked)
{
    gr_gradcheck_input in = { .shape = GR_SHAPE(40), .low = 0.5, .high = 3 };
    assert_true(gr_gradcheck("range", looks_at_its_values, &(wanted){ 0.5, 3, 0, false, false }, &in, 1, NULL, stderr));
    in = (gr_gradcheck_input){ .shape = GR_SHAPE(40), .kink = 1, .has_kink = true };
    assert_true(gr_gradcheck("kink", looks_at_its_values, &(wanted){ -2, 2, 1, true, false }, &in, 1, NULL, stderr));
    in = (gr_gradcheck_input){ .shape = GR_SHAPE(20), .low = -1, .high = 1, .distinct = true };
    assert_true(gr_gradcheck("distinct", looks_at_its_values, &(wanted){ -1, 10, 0, false, true }, &in, 1, NULL, stderr));
}

static gr_tensor *adds_noise(gr_tape *t, gr_tensor *const *in, void *argument)
{
    (void)argument;
    return gr_mul(t, in[0], gr_rand(t, gr_shape_of(in[0]), 0, 1, "noise"));
}
TEST(random_operators_get_the_same_draws_in_each_evaluation)
{
    assert_true(gr_gradcheck("noise", adds_noise, NULL, &(gr_gradcheck_input){ .shape = GR_SHAPE(5) }, 1, NULL, stderr));
}

TEST(the_graph_that_was_checked_is_written_to_a_file)
{
    char path[] = "/tmp/gradus-checked-XXXXXX", text[256] = { 0 };
    char *before = getenv("GRADUS_CHECKED") ? strdup(getenv("GRADUS_CHECKED")) : NULL;
    const int fd = mkstemp(path);
    assert_true(fd >= 0 && !close(fd));
    setenv("GRADUS_CHECKED", path, 1);
    const bool good = test_gradcheck("noise", adds_noise, NULL, &(gr_gradcheck_input){ .shape = GR_SHAPE(5) }, 1, NULL, stderr);
    if (before) setenv("GRADUS_CHECKED", before, 1);
    else unsetenv("GRADUS_CHECKED");
    FILE *const f = fopen(path, "r");
    assert_true(good && f && fread(text, 1, sizeof text - 1, f) > 0);
    fclose(f), unlink(path), free(before);
    assert_string_equal(text, "   0  mul              [5]  <- input [5], input [5]\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_right_gradient_passes_silently),
        cmocka_unit_test(every_kind_of_wrong_gradient_fails_and_is_reported),
        cmocka_unit_test(an_input_that_no_gradient_reaches_fails),
        cmocka_unit_test(an_error_of_the_function_is_reported),
        cmocka_unit_test(values_are_drawn_as_asked),
        cmocka_unit_test(random_operators_get_the_same_draws_in_each_evaluation),
        cmocka_unit_test(the_graph_that_was_checked_is_written_to_a_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
