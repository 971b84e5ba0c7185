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
        assert_non_null(strstr(said, broken == ASSIGNS ? ": after backward the gradient holds " : ": backward gives "));
        assert_non_null(strstr(said, broken == ASSIGNS ? ", but should hold " : ", finite differences "));
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

/* y = x s, where backward finds s in what it saved. gr_record gets s only if `listed`, although s has a gradient. */
typedef struct { gr_tensor *s; bool listed; } kept_input;
static void kept_backward(gr_tape *t, const gr_node *n)
{
    const gr_tensor *s = ((const kept_input *)n->saved)->s, *x = n->in[0];
    const gr_real *dy = gr_grad(t, n->out[0]);
    gr_real *dx = gr_grad(t, x), *ds = gr_grad(t, s);
    for (size_t i = 0; dx && i < x->len; i++) dx[i] += s->data[i] * dy[i];
    for (size_t i = 0; ds && i < x->len; i++) ds[i] += x->data[i] * dy[i];
}
static gr_tensor *keeps_an_input(gr_tape *t, gr_tensor *const *in, void *listed)
{
    static const gr_op op = { .name = "keeps", .backward = kept_backward };
    gr_tensor *x = in[0], *s = in[1], *y = gr_empty_like(t, x);
    if (!gr_ready(t, &op, x, s, y)) return NULL;
    for (size_t i = 0; i < x->len; i++) y->data[i] = x->data[i] * s->data[i];
    const kept_input kept = { s, *(bool *)listed };
    return gr_record(t, &op, &kept, sizeof kept, GR_OUT(y), GR_IN(x, kept.listed ? s : NULL));
}
TEST(an_input_that_gr_record_did_not_get_fails_even_with_a_right_gradient)
{
    bool good;
    double differences[4];
    gr_gradcheck_result of_s;
    gr_gradcheck_input in[2] = { { .shape = GR_SHAPE(4) }, { .shape = GR_SHAPE(4), .result = &of_s, .differences = differences } };
    char *said = check(keeps_an_input, &(bool){ true }, in, 2, &good);
    assert_true(good);
    assert_string_equal(said, "");
    free(said);
    said = check(keeps_an_input, &(bool){ false }, in, 2, &good);
    assert_false(good);
    assert_int_equal(of_s.pattern, GR_GRADCHECK_NOT_RECORDED);
    assert_true(of_s.wrong == 0 && of_s.excess <= 1);
    const char *const where = sizeof(gr_real) == 8 ? "(0 of 4 values differ): backward gives" : "along a random direction: backward gives";
    assert_int_equal(strncmp(said, "it: input 2, ", strlen("it: input 2, ")), 0);
    assert_non_null(strstr(said, where));
    assert_non_null(strstr(said, " times the tolerance); no recorded operator has this input: gr_record needs every input, and its gr_op a .backward\n"));
    free(said);
    in[1].no_grad = true;
    free(check(keeps_an_input, &(bool){ false }, in, 2, &good));
    assert_true(good);
}

static gr_tensor *constant(gr_tape *t, gr_tensor *const *in, void *argument) { return argument ? in[0] : gr_ones(t, GR_SHAPE(2)); }
TEST(a_function_without_a_gradient_is_no_success)
{
    bool good;
    gr_gradcheck_input in = { .shape = GR_SHAPE(3) };
    char *said = check(constant, NULL, &in, 1, &good);
    assert_false(good);
    assert_string_equal(said, "it: the result depends on no input whose gradient is checked\n");
    free(said);
    assert_true(gr_gradcheck("it", constant, &in, &in, 1, NULL, stderr)); /* the result is the input, and needs no operator */
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

static gr_tensor *adds(gr_tape *t, gr_tensor *const *in, void *argument) { return argument ? NULL : gr_add(t, in[0], in[1]); }
TEST(a_range_without_values_is_refused)
{
    static const struct { double low, high; const char *got; } ranges[] = {
        { 3, 1, "3 and 1" }, { 2, 2, "2 and 2" }, { 0.5, 0, "0.5 and 0" }, { -INFINITY, 1, "-inf and 1" }, { 0, INFINITY, "0 and inf" },
    };
    for (size_t k = 0; k < COUNT(ranges); k++) {
        bool good;
        char needed[100];
        gr_gradcheck_input in[2] = { { .shape = GR_SHAPE(3) }, { .shape = GR_SHAPE(3), .low = ranges[k].low, .high = ranges[k].high } };
        char *said = check(adds, NULL, in, 2, &good);
        assert_false(good);
        snprintf(needed, sizeof needed, "it: input 2: low must be below high, and both finite; got %s\n", ranges[k].got);
        assert_string_equal(said, needed);
        free(said);
        in[1].values = (const gr_real[]){ 1, 2, 3 };
        free(check(adds, NULL, in, 2, &good));
        assert_true(good);
    }
    const double kinks[] = { 0, 2 };
    for (size_t k = 0; k < COUNT(kinks); k++) {
        bool good;
        const double near = sizeof(gr_real) == sizeof(double) ? 0.009 : 0.19;
        gr_gradcheck_input in[2] = { { .shape = GR_SHAPE(3) },
                                     { .shape = GR_SHAPE(3), .low = kinks[k] - near, .high = kinks[k] + near, .kink = kinks[k], .has_kink = true } };
        char *said = check(adds, NULL, in, 2, &good), needed[100];
        assert_false(good);
        snprintf(needed, sizeof needed, "it: input 2: values from %g to %g are too near its kink, %g\n", in[1].low, in[1].high, kinks[k]);
        assert_string_equal(said, needed);
        free(said);
        in[1].high += 4 * near;
        assert_true(gr_gradcheck("kink", adds, NULL, in, 2, NULL, stderr));
    }
    const gr_gradcheck_input upwards[2] = { { .shape = GR_SHAPE(3) }, { .shape = GR_SHAPE(3), .low = 1, .distinct = true } };
    assert_true(gr_gradcheck("distinct", adds, NULL, upwards, 2, NULL, stderr));
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

TEST(every_pattern_has_a_text)
{
    static const char *const texts[] = {
        [GR_GRADCHECK_RIGHT] = "right",
        [GR_GRADCHECK_NOT_RECORDED] = "no recorded operator has this input: gr_record needs every input, and its gr_op a .backward",
        [GR_GRADCHECK_LOST] = "backward assigned with = in place of +=, and so lost what the gradient held before",
        [GR_GRADCHECK_ZERO] = "backward added nothing",
        [GR_GRADCHECK_CONSTANT] = "the error is constant along an axis, as if the term of a mean were missing",
        [GR_GRADCHECK_UPSTREAM] = "backward added the upstream gradient alone: it must multiply it by the derivative",
        [GR_GRADCHECK_NO_UPSTREAM] = "backward added the derivative alone: it must multiply it by the upstream gradient",
        [GR_GRADCHECK_FACTOR] = "every value is the right one times a factor",
        [GR_GRADCHECK_TRANSPOSED] = "the values are right, but transposed",
        [GR_GRADCHECK_NOT_SUMMED] = "backward added only the first entry of a broadcast axis, not the sum along it",
        [GR_GRADCHECK_ALONE] = "wrong when no other gradient is wanted: backward must work where gr_grad returns NULL, and gr_record needs every input",
        [GR_GRADCHECK_UNKNOWN] = "no known mistake explains every value",
    };
    for (int k = GR_GRADCHECK_RIGHT; k <= GR_GRADCHECK_UNKNOWN; k++) assert_string_equal(gr_gradcheck_text((gr_gradcheck_pattern)k), texts[k]);
    assert_string_equal(gr_gradcheck_text((gr_gradcheck_pattern)(GR_GRADCHECK_UNKNOWN + 1)), "");
    assert_string_equal(gr_gradcheck_text((gr_gradcheck_pattern)-1), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_right_gradient_passes_silently),
        cmocka_unit_test(every_kind_of_wrong_gradient_fails_and_is_reported),
        cmocka_unit_test(an_input_that_no_gradient_reaches_fails),
        cmocka_unit_test(an_input_that_gr_record_did_not_get_fails_even_with_a_right_gradient),
        cmocka_unit_test(a_function_without_a_gradient_is_no_success),
        cmocka_unit_test(an_error_of_the_function_is_reported),
        cmocka_unit_test(values_are_drawn_as_asked),
        cmocka_unit_test(a_range_without_values_is_refused),
        cmocka_unit_test(random_operators_get_the_same_draws_in_each_evaluation),
        cmocka_unit_test(the_graph_that_was_checked_is_written_to_a_file),
        cmocka_unit_test(every_pattern_has_a_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
