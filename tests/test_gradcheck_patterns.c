/* tests/test_gradcheck_patterns.c - gr_gradcheck names the mistake in a backward. Each pattern is planted, and found for several seeds. */
#include "tests/failing.h"

/* ---- Operators with a mistake ---- */

typedef enum {
    /* of square */
    RIGHT, ASSIGNED, PARTLY_ASSIGNED, NOTHING, UPSTREAM, WITHOUT_DY, SIGN, OTHER_FACTOR, HALF, TIMES_LAST, OVER_ALL, EXCHANGED, ONE_ELEMENT, NOT_A_NUMBER,
    MEAN_MISSING, /* of centre; what follows, of scaled */
    FIRST_ALONE, AVERAGED, SUM_OF_UPSTREAM, ONLY_TOGETHER, NOT_LISTED, NOT_RECORDED, NO_BACKWARD
} mistake;
typedef struct { mistake m; int p, q; gr_real factor; } plan; /* p, q: axes; factor: of the values */

/* Element i of a tensor whose axes p and q are exchanged, as an element of x. */
static size_t exchanged(const gr_tensor *x, int p, int q, size_t i)
{
    size_t at[GR_MAX_RANK], dim[GR_MAX_RANK], to = 0;
    memcpy(dim, x->dim, sizeof dim);
    dim[p] = x->dim[q], dim[q] = x->dim[p];
    for (int k = x->rank; k-- > 0; i /= dim[k]) at[k] = i % dim[k];
    const size_t kept = at[p];
    at[p] = at[q], at[q] = kept;
    for (int k = 0; k < x->rank; k++) to = to * x->dim[k] + at[k];
    return to;
}

/* y = factor x^2, elementwise. */
static void square_backward(gr_tape *t, const gr_node *n)
{
    const plan *p = n->saved;
    const gr_tensor *x = n->in[0];
    const gr_real *dy = gr_grad(t, n->out[0]), N = (gr_real)x->dim[x->rank - 1];
    gr_real *dx = gr_grad(t, x);
    for (size_t i = 0; dx && i < x->len; i++) {
        const size_t k = p->m == EXCHANGED ? exchanged(x, p->p, p->q, i) : i;
        const gr_real right = 2 * p->factor * x->data[k] * dy[k];
        if (p->m == ASSIGNED || (p->m == PARTLY_ASSIGNED && i % 2)) dx[i] = 0;
        dx[i] += p->m == NOTHING                        ? 0
                 : p->m == UPSTREAM                     ? dy[i]
                 : p->m == WITHOUT_DY                   ? 2 * p->factor * x->data[k]
                 : p->m == SIGN                         ? -right
                 : p->m == OTHER_FACTOR                 ? right * (gr_real)1.5
                 : p->m == HALF                         ? right / 2
                 : p->m == TIMES_LAST                   ? right * N
                 : p->m == OVER_ALL                     ? right / (gr_real)x->len
                 : p->m == ONE_ELEMENT && i == 3        ? right + p->factor
                 : p->m == NOT_A_NUMBER && i == 2       ? (gr_real)NAN
                                                        : right;
    }
}
static const gr_op square_op = { .name = "square", .backward = square_backward };
static gr_tensor *square(gr_tape *t, gr_tensor *const *in, void *argument)
{
    const plan *p = argument;
    gr_tensor *x = in[0], *y = gr_empty_like(t, x);
    if (!gr_ready(t, &square_op, x, y)) return NULL;
    for (size_t i = 0; i < x->len; i++) y->data[i] = p->factor * x->data[i] * x->data[i];
    return gr_record(t, &square_op, p, sizeof *p, GR_OUT(y), GR_IN(x));
}

/* y = factor (x - mean), with the mean over axes p .. q; without its term in backward, if the mistake is MEAN_MISSING. */
static void centre_of(const gr_tensor *like, const plan *p, const gr_real *from, bool with_mean, gr_real *to)
{
    size_t count = 1, inner = 1;
    for (int k = p->p; k < like->rank; k++) *(k <= p->q ? &count : &inner) *= like->dim[k];
    for (size_t i = 0; i < like->len; i++) {
        const size_t first = i - i / inner % count * inner;
        double mean = 0;
        for (size_t k = 0; k < count; k++) mean += (double)from[first + k * inner] / (double)count;
        to[i] += p->factor * (from[i] - (gr_real)(with_mean ? mean : 0));
    }
}
static void centre_backward(gr_tape *t, const gr_node *n)
{
    const plan *p = n->saved;
    if (gr_grad(t, n->in[0])) centre_of(n->in[0], p, gr_grad(t, n->out[0]), p->m != MEAN_MISSING, gr_grad(t, n->in[0]));
}
static const gr_op centre_op = { .name = "centre", .backward = centre_backward };
static gr_tensor *centre(gr_tape *t, gr_tensor *const *in, void *argument)
{
    gr_tensor *x = in[0], *y = x ? gr_zeros(t, gr_shape_of(x)) : NULL;
    if (!gr_ready(t, &centre_op, x, y)) return NULL;
    centre_of(x, argument, x->data, true, y->data);
    return gr_record(t, &centre_op, argument, sizeof(plan), GR_OUT(y), GR_IN(x));
}

/* y = x s^2, where axes p .. q of x are broadcast: s has the other axes. */
static size_t of_s(const gr_tensor *x, const plan *p, size_t i, bool *first)
{
    size_t count = 1, inner = 1;
    for (int k = p->p; k < x->rank; k++) *(k <= p->q ? &count : &inner) *= x->dim[k];
    *first = i / inner % count == 0;
    return i / inner / count * inner + i % inner;
}
static void scaled_backward(gr_tape *t, const gr_node *n)
{
    const plan *p = n->saved;
    const gr_tensor *x = n->in[0];
    const gr_real *s = n->in[1] ? n->in[1]->data : NULL, *dy = gr_grad(t, n->out[0]);
    gr_real *dx = gr_grad(t, x), *ds = gr_grad(t, n->in[1]);
    for (size_t i = 0; i < x->len; i++) {
        bool first;
        const size_t k = of_s(x, p, i, &first);
        const gr_real part = 2 * x->data[i] * dy[i];
        if (dx) dx[i] += s ? s[k] * s[k] * dy[i] : dy[i];
        if (!ds || (p->m == FIRST_ALONE && !first) || (p->m == ONLY_TOGETHER && !dx)) continue;
        ds[k] += p->m == SUM_OF_UPSTREAM ? dy[i] : p->m == AVERAGED ? part * s[k] * (gr_real)n->in[1]->len / (gr_real)x->len : part * s[k];
    }
}
static const gr_op scaled_op = { .name = "scaled", .backward = scaled_backward }, silent_op = { .name = "silent" };
static gr_tensor *scaled(gr_tape *t, gr_tensor *const *in, void *argument)
{
    const plan *p = argument;
    gr_tensor *x = in[0], *s = in[1], *y = gr_empty_like(t, x);
    bool first;
    if (!gr_ready(t, &scaled_op, x, s, y)) return NULL;
    for (size_t i = 0; i < x->len; i++) {
        const gr_real v = s->data[of_s(x, p, i, &first)];
        y->data[i] = x->data[i] * v * v;
    }
    if (p->m == NOT_RECORDED) return y;
    return gr_record(t, p->m == NO_BACKWARD ? &silent_op : &scaled_op, p, sizeof *p, GR_OUT(y), GR_IN(x, p->m == NOT_LISTED ? NULL : s));
}

/* ---- Finding them ---- */

enum { SEEDS = 25, MOST = 128 };
static gr_gradcheck_result result;
static double held[MOST]; /* what the gradient of the last input held */

/* gr_gradcheck's verdict; what it printed goes to said. `result` is that of the last input. */
static bool verdict(gr_gradcheck_function *f, const plan *p, gr_gradcheck_input *in, size_t n, uint64_t seed, char *said, size_t room)
{
    FILE *const out = fmemopen(said, room, "w");
    memset(said, 0, room);
    in[n - 1].result = &result, in[n - 1].first = held;
    const bool right = gr_gradcheck("it", f, (void *)(uintptr_t)p, in, n, &(gr_gradcheck_config){ .seed = seed, .alone = p->m == ONLY_TOGETHER }, out);
    fclose(out);
    return right;
}

/* All seeds give this pattern, and a message with the numbers of the result that ends with the text of the pattern and the details; for LOST, these
 * are what the gradient held. */
static void assert_pattern(gr_gradcheck_function *f, plan p, gr_gradcheck_input *in, size_t n, gr_gradcheck_pattern pattern, const char *details)
{
    char said[900], end[600], numbers[300];
    const bool lost = pattern == GR_GRADCHECK_LOST;
    const char *const got = lost ? "after backward the gradient holds" : "backward gives";
    const char *const other = lost ? "but should hold" : pattern == GR_GRADCHECK_ALONE ? "with the other gradients" : "finite differences";
    size_t len = 1;
    for (int k = 0; k < in[n - 1].shape.rank; k++) len *= in[n - 1].shape.dim[k];
    const int digits = sizeof(gr_real) == 8 ? 12 : 7;
    for (uint64_t seed = 1, unseen = 0; seed <= SEEDS; seed++) {
        const bool right = verdict(f, &p, in, n, seed, said, sizeof said);
        unseen += right;
        if (right && sizeof(gr_real) == 4 && unseen <= 3) continue; /* a random direction can miss it */
        if (right) fail_msg("seed %d: the mistake was not seen", (int)seed);
        const double before = lost ? held[result.element] : 0;
        snprintf(numbers, sizeof numbers, "it: input %zu, element %zu (%zu of %zu values differ): %s %.*g, %s %.*g (%.4g times the tolerance); ", n,
                 result.element, result.wrong, len, got, digits, before + result.backward, other, digits, before + result.differences, result.excess);
        int at = snprintf(end, sizeof end, "%s%s%s", numbers, gr_gradcheck_text(pattern), details);
        if (lost) at += snprintf(end + at, sizeof end - (size_t)at, ": %.*g", digits, before);
        snprintf(end + at, sizeof end - (size_t)at, "\n");
        if (result.pattern != pattern || !strstr(said, numbers) || !strstr(said, end)) fail_msg("seed %d: %sneeded: %s", (int)seed, said, end);
        assert_true(!(result.excess <= 1));
    }
}

static gr_gradcheck_input of_shape(gr_shape shape) { return (gr_gradcheck_input){ .shape = shape, .kink = 0, .has_kink = true }; }
static void assert_square(mistake m, gr_shape shape, gr_gradcheck_pattern pattern, const char *details)
{
    assert_pattern(square, (plan){ m, 0, 1, (gr_real)0.75 }, &(gr_gradcheck_input){ .shape = shape }, 1, pattern, details);
}

TEST(a_start_that_is_lost)
{
    assert_square(ASSIGNED, GR_SHAPE(3, 4), GR_GRADCHECK_LOST, "");
    assert_square(PARTLY_ASSIGNED, GR_SHAPE(3, 4), GR_GRADCHECK_LOST, "");
    assert_int_equal(result.wrong, 6);
    assert_square(ASSIGNED, GR_SHAPE(1), GR_GRADCHECK_LOST, "");
}

TEST(nothing_and_the_upstream_gradient)
{
    assert_square(NOTHING, GR_SHAPE(3, 4), GR_GRADCHECK_ZERO, "");
    assert_square(UPSTREAM, GR_SHAPE(3, 4), GR_GRADCHECK_UPSTREAM, "");
    assert_square(WITHOUT_DY, GR_SHAPE(3, 4), GR_GRADCHECK_NO_UPSTREAM, "");
    gr_gradcheck_input in[] = { of_shape(GR_SHAPE(5, 4)), of_shape(GR_SHAPE(4)) };
    assert_pattern(scaled, (plan){ SUM_OF_UPSTREAM, 0, 0, 0 }, in, 2, GR_GRADCHECK_UPSTREAM, "");
}

TEST(a_factor)
{
    assert_square(SIGN, GR_SHAPE(3, 4), GR_GRADCHECK_FACTOR, ": -1");
    assert_int_equal(result.wrong, 12);
    assert_square(HALF, GR_SHAPE(3, 4), GR_GRADCHECK_FACTOR, ": 0.5");
    assert_square(HALF, GR_SHAPE(2, 3), GR_GRADCHECK_FACTOR, ": 0.5, which is also 1 divided by the size of axis 0 of the input");
    assert_square(OTHER_FACTOR, GR_SHAPE(3, 4), GR_GRADCHECK_FACTOR, ": 1.5");
    assert_square(TIMES_LAST, GR_SHAPE(3, 7), GR_GRADCHECK_FACTOR, ": 7, which is also the size of axis 1 of the input");
    assert_square(OVER_ALL, GR_SHAPE(2, 4), GR_GRADCHECK_FACTOR, ": 0.125, which is also 1 divided by the size of axes 0 to 1 of the input");
    gr_gradcheck_input in[] = { of_shape(GR_SHAPE(4, 5, 3)), of_shape(GR_SHAPE(3)) };
    assert_pattern(scaled, (plan){ AVERAGED, 0, 1, 0 }, in, 2, GR_GRADCHECK_FACTOR, ": 0.05, which is also 1 divided by the size of axes 0 to 1 of the result");
}

TEST(one_value_has_a_factor_only_if_it_is_a_known_one)
{
    gr_gradcheck_input one = { .shape = GR_SHAPE(1) };
    assert_square(SIGN, GR_SHAPE(1), GR_GRADCHECK_FACTOR, ": -1");
    assert_pattern(square, (plan){ OTHER_FACTOR, 0, 1, (gr_real)0.75 }, &one, 1, GR_GRADCHECK_UNKNOWN, "");
}

TEST(axes_that_are_exchanged)
{
    for (int p = 0; p < 3; p++)
        for (int q = p + 1; q < 3; q++) {
            const gr_shape shapes[] = { GR_SHAPE(3, 3, 3), GR_SHAPE(2, 3, 4) };
            char axes[80];
            snprintf(axes, sizeof axes, ": axes %d and %d of the input", p, q);
            for (size_t k = 0; k < COUNT(shapes); k++)
                assert_pattern(square, (plan){ EXCHANGED, p, q, 1 }, &(gr_gradcheck_input){ .shape = shapes[k] }, 1, GR_GRADCHECK_TRANSPOSED, axes);
        }
    assert_square(EXCHANGED, GR_SHAPE(2, 5), GR_GRADCHECK_TRANSPOSED, ": axes 0 and 1 of the input");
}

TEST(an_error_that_is_constant_along_axes)
{
    for (int p = 0; p < 3; p++)
        for (int q = p; q < 3; q++) {
            gr_gradcheck_input in = { .shape = GR_SHAPE(4, 3, 2) };
            char axes[80];
            snprintf(axes, sizeof axes, ": axis %d of the input", q);
            assert_pattern(centre, (plan){ MEAN_MISSING, p, q, 3 }, &in, 1, GR_GRADCHECK_CONSTANT, axes);
            assert_pattern(centre, (plan){ MEAN_MISSING, p, q, 1 }, &in, 1, GR_GRADCHECK_CONSTANT, axes); /* also the upstream gradient itself */
        }
}

TEST(a_broadcast_axis_that_is_not_summed)
{
    const gr_shape of_s_alone[3][3] = { { GR_SHAPE(3, 2), GR_SHAPE(2), GR_SCALAR }, { GR_SCALAR, GR_SHAPE(4, 2), GR_SHAPE(4) }, { GR_SCALAR, GR_SCALAR, GR_SHAPE(4, 3) } };
    for (int p = 0; p < 3; p++)
        for (int q = p; q < 3; q++) {
            gr_gradcheck_input in[] = { of_shape(GR_SHAPE(4, 3, 2)), of_shape(of_s_alone[p][q]) };
            char axes[80];
            if (p < q) snprintf(axes, sizeof axes, ": axes %d to %d of the result", p, q);
            else snprintf(axes, sizeof axes, ": axis %d of the result", p);
            assert_pattern(scaled, (plan){ FIRST_ALONE, p, q, 0 }, in, 2, GR_GRADCHECK_NOT_SUMMED, axes);
        }
}

TEST(an_operator_that_was_not_recorded)
{
    const mistake m[] = { NOT_LISTED, NOT_RECORDED, NO_BACKWARD };
    for (size_t k = 0; k < COUNT(m); k++) {
        gr_gradcheck_input in[] = { of_shape(GR_SHAPE(3, 4)), of_shape(GR_SHAPE(4)) };
        assert_pattern(scaled, (plan){ m[k], 0, 0, 0 }, in, 2, GR_GRADCHECK_NOT_RECORDED, "");
    }
}

TEST(a_gradient_that_is_wrong_alone)
{
    gr_gradcheck_input in[] = { of_shape(GR_SHAPE(3, 4)), of_shape(GR_SHAPE(4)) };
    assert_pattern(scaled, (plan){ ONLY_TOGETHER, 0, 0, 0 }, in, 2, GR_GRADCHECK_ALONE, "");
    assert_true(gr_gradcheck("it", scaled, &(plan){ ONLY_TOGETHER, 0, 0, 0 }, in, 2, NULL, stderr));
    in[0].no_grad = true;
    assert_pattern(scaled, (plan){ ONLY_TOGETHER, 0, 0, 0 }, in, 2, GR_GRADCHECK_ZERO, "");
}

TEST(the_worst_element_when_no_pattern_fits)
{
    assert_square(ONE_ELEMENT, GR_SHAPE(2, 3), GR_GRADCHECK_UNKNOWN, "");
    assert_true(result.element == 3 && result.wrong == 1);
    assert_true(fabs(result.backward - result.differences - 0.75) < 1e-3);
    assert_square(NOT_A_NUMBER, GR_SHAPE(2, 3), GR_GRADCHECK_UNKNOWN, "");
    assert_true(result.element == 2 && result.wrong == 1);
    assert_true(isnan(result.backward) && !isnan(result.differences));
}

/* x, and 2 x in calls number 2 to 5, in which the float library takes its random direction. */
static gr_tensor *changes(gr_tape *t, gr_tensor *const *in, void *argument)
{
    int *const calls = argument;
    const bool twice = ++*calls >= 2 && *calls <= 5;
    return gr_scale(t, in[0], twice ? 2 : 1);
}
TEST(only_a_random_direction_shows_it)
{
    char said[300] = "";
    FILE *const out = fmemopen(said, sizeof said, "w");
    gr_gradcheck_input in = { .shape = GR_SHAPE(5), .result = &result };
    assert_false(gr_gradcheck("it", changes, &(int){ 0 }, &in, 1, NULL, out));
    fclose(out);
    if (sizeof(gr_real) == 8) return;
    assert_non_null(strstr(said, "it: input 1, along a random direction: backward gives "));
    assert_non_null(strstr(said, "times the tolerance); no known mistake explains every value\n"));
    assert_true(result.element == SIZE_MAX && result.pattern == GR_GRADCHECK_UNKNOWN);
}

TEST(a_right_gradient_has_no_pattern)
{
    char said[100];
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        gr_gradcheck_input x = { .shape = GR_SHAPE(3, 4) }, in[] = { of_shape(GR_SHAPE(4, 3)), of_shape(GR_SHAPE(3)) };
        assert_true(verdict(square, &(plan){ RIGHT, 0, 1, 1 }, &x, 1, seed, said, sizeof said));
        assert_true(verdict(centre, &(plan){ RIGHT, 0, 1, 3 }, &x, 1, seed, said, sizeof said));
        assert_true(verdict(scaled, &(plan){ RIGHT, 0, 0, 0 }, in, 2, seed, said, sizeof said));
        assert_int_equal(result.pattern, GR_GRADCHECK_RIGHT);
        assert_true(result.excess <= 1);
        assert_string_equal(said, "");
    }
}

/* ---- The numbers ---- */

TEST(the_check_returns_its_numbers)
{
    const gr_real values[] = { 1, -2, 3 }, start[] = { 10, 20, 30 };
    double first[3], backward[3], differences[3];
    gr_gradcheck_input in = { .shape = GR_SHAPE(3), .values = values, .start = start, .first = first, .backward = backward, .differences = differences };
    assert_true(gr_gradcheck("it", square, &(plan){ RIGHT, 0, 1, 1 }, &in, 1, NULL, stderr));
    for (size_t i = 0; i < 3; i++) {
        assert_true(first[i] == (double)start[i]);
        assert_true(fabs(backward[i]) > 1e-3 && fabs(backward[i] - differences[i]) < (sizeof(gr_real) == 8 ? 1e-8 : 2e-4));
    }
    assert_false(gr_gradcheck("it", square, &(plan){ ASSIGNED, 0, 1, 1 }, &in, 1, NULL, NULL));
    for (size_t i = 0; i < 3; i++) assert_true(fabs(backward[i] + (double)start[i] - differences[i]) < (sizeof(gr_real) == 8 ? 1e-8 : 2e-4));
}

TEST(a_gradient_that_starts_at_zero_hides_an_assignment)
{
    const gr_real zeros[3] = { 0 };
    gr_gradcheck_input in = { .shape = GR_SHAPE(3), .start = zeros };
    assert_true(gr_gradcheck("it", square, &(plan){ ASSIGNED, 0, 1, 1 }, &in, 1, NULL, stderr));
}

TEST(every_allocation_can_fail)
{
    const mistake m[] = { RIGHT, FIRST_ALONE, ONLY_TOGETHER };
    for (size_t k = 0; k < COUNT(m); k++)
        for (int for_ever = 0; for_ever < 2; for_ever++)
            for (size_t at = 1;; at++) {
                failing_memory memory = { .fail_at = at, .for_ever = for_ever };
                const gr_allocator allocator = { failing_alloc, failing_release, &memory };
                gr_gradcheck_input in[] = { of_shape(GR_SHAPE(3, 4)), of_shape(GR_SHAPE(4)) };
                char said[300] = "";
                FILE *const out = fmemopen(said, sizeof said, "w");
                const bool right = gr_gradcheck("it", scaled, &(plan){ m[k], 0, 0, 0 }, in, 2, &(gr_gradcheck_config){ .alone = true, .allocator = &allocator }, out);
                fclose(out);
                assert_int_equal(memory.live, 0);
                if (memory.calls < at) {
                    assert_int_equal(right, m[k] == RIGHT);
                    break;
                }
                assert_false(right);
                assert_non_null(strstr(said, "memory"));
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_start_that_is_lost),
        cmocka_unit_test(nothing_and_the_upstream_gradient),
        cmocka_unit_test(a_factor),
        cmocka_unit_test(one_value_has_a_factor_only_if_it_is_a_known_one),
        cmocka_unit_test(axes_that_are_exchanged),
        cmocka_unit_test(an_error_that_is_constant_along_axes),
        cmocka_unit_test(a_broadcast_axis_that_is_not_summed),
        cmocka_unit_test(an_operator_that_was_not_recorded),
        cmocka_unit_test(a_gradient_that_is_wrong_alone),
        cmocka_unit_test(the_worst_element_when_no_pattern_fits),
        cmocka_unit_test(only_a_random_direction_shows_it),
        cmocka_unit_test(a_right_gradient_has_no_pattern),
        cmocka_unit_test(the_check_returns_its_numbers),
        cmocka_unit_test(a_gradient_that_starts_at_zero_hides_an_assignment),
        cmocka_unit_test(every_allocation_can_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
