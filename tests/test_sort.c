/* tests/test_sort.c - sort, argsort, topk; multinomial, categorical, and the sampling of ops/ops.h's first comment. */
#include "tests/compare.h"

#define X(...) gr_zeros(t, GR_SHAPE(__VA_ARGS__))
#define V(...) ((gr_real[]){ __VA_ARGS__ })
#define assert_ids(got, ...) \
    do { \
        const gr_ints *const ids_ = got; \
        assert_non_null(ids_); \
        assert_int_equal(ids_->len, COUNT(((int[]){ __VA_ARGS__ }))); \
        assert_memory_equal(ids_->data, ((int[]){ __VA_ARGS__ }), sizeof((int[]){ __VA_ARGS__ })); \
    } while (0)

typedef struct { int axis; size_t k; bool flag; } how;
static gr_tensor *sort_of(gr_tape *t, gr_tensor *const *in, void *a) { const how *h = a; return gr_sort(t, in[0], h->axis, h->flag).values; }
static gr_tensor *topk_of(gr_tape *t, gr_tensor *const *in, void *a) { const how *h = a; return gr_topk(t, in[0], h->axis, h->k, h->flag).values; }

/* ---- Sorting ---- */

TEST(gradients_match_finite_differences)
{
    gr_real far_apart[60]; /* a step of the finite differences changes no order */
    for (int i = 0; i < 60; i++) far_apart[i] = (gr_real)(i * 37 % 60 - 30) / 8;
    const gr_gradcheck_input in = { .shape = GR_SHAPE(3, 5, 4), .values = far_apart };
    for (int axis = 0; axis < 3; axis++)
        for (int flag = 0; flag < 2; flag++) {
            assert_true(test_gradcheck("sort", sort_of, &(how){ axis, 0, flag }, &in, 1, NULL, stderr));
            assert_true(test_gradcheck("topk", topk_of, &(how){ axis - 3, 2, flag }, &in, 1, NULL, stderr));
        }
}

/* Against an insertion sort, for all lengths near those at which runs end, with many equal values. */
TEST(equal_values_keep_their_order)
{
    gr_tape *t = gr_tape_new(1, NULL);
    for (size_t n = 0; n < 70; n++)
        for (int descending = 0; descending < 2; descending++) {
            gr_tape_reset(t);
            gr_tensor *x = gr_empty(t, GR_SHAPE(n, 3));
            for (size_t i = 0; i < x->len; i++) x->data[i] = (gr_real)(i * i * 7 % 11);
            for (size_t column = 0; column < 3; column++) {
                int want[70];
                for (size_t i = 0; i < n; i++) {
                    size_t at = i;
#define VALUE(k) (x->data[(size_t)(k) * 3 + column] * (descending ? -1 : 1))
                    for (; at && VALUE(i) < VALUE(want[at - 1]); at--) want[at] = want[at - 1];
                    want[at] = (int)i;
                }
                const gr_ints *ids = gr_argsort(t, x, 0, descending);
                for (size_t i = 0; i < n; i++) assert_int_equal(ids->data[i * 3 + column], want[i]);
                for (size_t k = 0; k <= n; k += 1 + k / 4) {
                    const gr_sort_out top = gr_topk(t, x, 0, k, descending);
                    for (size_t i = 0; i < k; i++) {
                        assert_int_equal(top.ids->data[i * 3 + column], want[i]);
                        assert_true(top.values->data[i * 3 + column] == x->data[(size_t)want[i] * 3 + column]);
                    }
                }
            }
        }
    assert_ok(t);
    gr_tape_free(t);
}

TEST(a_nan_is_larger_than_every_number)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *x = gr_input(t, V(3, NAN, -INFINITY, INFINITY, NAN, 0, -0.0), GR_SHAPE(7));
    assert_ids(gr_argsort(t, x, 0, false), 2, 5, 6, 0, 3, 1, 4);
    assert_ids(gr_argsort(t, x, -1, true), 1, 4, 3, 0, 5, 6, 2);
    assert_ids(gr_topk(t, x, 0, 3, true).ids, 1, 4, 3);
    assert_values(gr_topk(t, x, 0, 3, false).values, 0, -(gr_real)INFINITY, 0, 0);
    assert_values(gr_sort(t, x, 0, false).values, 0, -(gr_real)INFINITY, 0, 0, 3, INFINITY, NAN, NAN);
    assert_ok(t);
    gr_tape_free(t);
}

TEST(bits_do_not_depend_on_threads)
{
    const gr_gradcheck_input in = { .shape = GR_SHAPE(37, 101, 5) };
    assert_bits_stay(sort_of, (&(how){ 1, 0, true }), &in, 1);
    assert_bits_stay(topk_of, (&(how){ 0, 7, true }), &in, 1);
}

TEST(no_values_and_no_results_are_accepted)
{
    gr_tape *t = gr_tape_new(1, NULL);
    const size_t H = (size_t)1 << 40;
    assert_true(gr_same_shape(gr_sort(t, X(2, 0, 3), 1, false).values, X(2, 0, 3)));
    assert_true(gr_same_shape(gr_sort(t, X(2, 0, H), 0, true).values, X(2, 0, H)));
    assert_true(gr_same_shape(gr_topk(t, X(2, 4), 1, 0, true).values, X(2, 0)));
    assert_true(gr_multinomial(t, X(0, 3), 2, true, "s")->len == 0 && gr_categorical(t, X(0, 3), "s")->len == 0);
    assert_ok(t);
    gr_tape_free(t);
}

/* ---- Sampling ---- */

/* The first comment of ops/ops.h. */
static gr_ints *next_token(gr_tape *t, gr_tensor *logits, double temperature, size_t k)
{
    gr_tensor *z = gr_div(t, logits, gr_scalar(t, temperature));
    gr_tensor *least = gr_narrow(t, gr_topk(t, z, -1, k, true).values, -1, -1, 1);
    z = gr_masked_fill(t, z, gr_lt(t, z, least), (double)-INFINITY);
    return gr_categorical(t, z, "sample");
}

static void assert_frequencies(const gr_ints *ids, const double *p, int V)
{
    double count[8] = { 0 };
    for (size_t i = 0; i < ids->len; i++) assert_true(ids->data[i] >= 0 && ids->data[i] < V), count[ids->data[i]]++;
    for (int i = 0; i < V; i++) assert_true(fabs(count[i] / (double)ids->len - p[i]) <= 4 * sqrt(p[i] * (1 - p[i]) / (double)ids->len));
}

TEST(frequencies_are_the_probabilities)
{
    gr_tape *t = gr_tape_new(1, NULL);
    const double p[] = { 0, 0.1, 0, 0.2, 0.7, 0 };
    gr_tensor *x = gr_input(t, V(0, 1, -0.0, 2, 7, 0), GR_SHAPE(6));
    assert_frequencies(gr_multinomial(t, x, 20000, true, "s"), p, 6);
    gr_tensor *logits = gr_expand(t, gr_add(t, gr_log(t, x), gr_scalar(t, 300)), GR_SHAPE(20000, 6));
    const gr_ints *ids = gr_categorical(t, logits, "s");
    assert_true(ids->rank == 1 && ids->len == 20000);
    assert_frequencies(ids, p, 6);
    /* The second of two draws without replacement: sum over the first of p(first) p(second) / (1 - p(first)). */
    const gr_ints *pairs = gr_multinomial(t, gr_expand(t, x, GR_SHAPE(20000, 6)), 2, false, "s");
    gr_ints *second = gr_ints_new(t, NULL, GR_SHAPE(20000));
    for (size_t i = 0; i < 20000; i++) assert_true(pairs->data[2 * i] != pairs->data[2 * i + 1]), second->data[i] = pairs->data[2 * i + 1];
    assert_frequencies(second, (double[]){ 0, 0.2 * 0.1 / 0.8 + 0.7 * 0.1 / 0.3, 0, 0.1 * 0.2 / 0.9 + 0.7 * 0.2 / 0.3, 0.1 * 0.7 / 0.9 + 0.2 * 0.7 / 0.8, 0 }, 6);
    /* A probability that does not change the sums is drawn when no other is left; the smallest numbers never lead to one that is 0. */
    const gr_ints *tiny = gr_multinomial(t, gr_input(t, V(0, 1, (gr_real)1e-30, 0), GR_SHAPE(4)), 2, false, "s");
    assert_true(tiny->data[0] == 1 && tiny->data[1] == 2);
    const gr_real least = sizeof(gr_real) == 8 ? (gr_real)5e-324 : (gr_real)1e-45;
    tiny = gr_multinomial(t, gr_input(t, V(0, least, 0), GR_SHAPE(3)), 100, true, "s");
    for (size_t i = 0; i < 100; i++) assert_int_equal(tiny->data[i], 1);
    gr_ints *all = gr_multinomial(t, x, 3, false, "s");
    assert_int_equal((1 << all->data[0]) + (1 << all->data[1]) + (1 << all->data[2]), 2 + 8 + 16);
    assert_ok(t);
    gr_tape_free(t);
}

TEST(each_index_takes_one_uniform_number_of_the_stream)
{
    gr_tape *t = gr_tape_new(5, NULL);
    gr_tensor *x = gr_rand(t, GR_SHAPE(2, 3, 40), 0, 1, "x");
    gr_stream by_hand = gr_stream_new(5, "s");
    const gr_ints *ids = gr_multinomial(t, x, 4, true, "s");
    assert_true(ids->rank == 3 && ids->dim[0] == 2 && ids->dim[1] == 3 && ids->dim[2] == 4);
    for (size_t k = 0; k < ids->len; k++) {
        double sum = 0, before = 0;
        for (size_t i = 0; i < 40; i++) sum += (double)x->data[k / 4 * 40 + i];
        const double u = gr_stream_uniform(&by_hand, 0, sum);
        int i = 0;
        for (; (before += (double)x->data[k / 4 * 40 + (size_t)i]) <= u;) i++;
        assert_int_equal(ids->data[k], i);
    }
    assert_int_equal(gr_tape_stream(t, "s")->counter, by_hand.counter);
    gr_categorical(t, x, "s");
    assert_int_equal(gr_tape_stream(t, "s")->counter, by_hand.counter + 2 * 6);
    const gr_stream *const s = gr_tape_stream(t, "s");
    assert_null(gr_multinomial(t, gr_input(t, V(1, 1, 0, -1), GR_SHAPE(2, 2)), 1, true, "s"));
    assert_message(t, "multinomial: probabilities is [2, 2]: value 1 of row 1 must be 0 or more, and finite; got -1");
    assert_int_equal(s->counter, by_hand.counter + 2 * 6); /* a call that fails draws nothing */
    gr_tape_recover(t);
    assert_int_equal(s->counter, 0); /* the step is undone */
    gr_tape_free(t);
}

TEST(the_next_token_is_one_of_the_k_largest)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *z = gr_want_grad(t, gr_expand(t, gr_input(t, V(0, 3, -1, 1, 2), GR_SHAPE(5)), GR_SHAPE(4000, 5)));
    const gr_ints *first = next_token(t, z, 1, 1), *three = next_token(t, z, 2, 3);
    for (size_t i = 0; i < first->len; i++) assert_int_equal(first->data[i], 1);
    const double e[] = { 0, exp(1.5), 0, exp(0.5), exp(1) }, sum = e[1] + e[3] + e[4];
    assert_frequencies(three, (double[]){ 0, e[1] / sum, 0, e[3] / sum, e[4] / sum }, 5);
    assert_ok(t);
    gr_tape_free(t);
}

static bool samples(gr_tape *t, void *argument)
{
    (void)argument;
    gr_tensor *x = gr_rand(t, GR_SHAPE(70, 900), 0, 1, "x");
    return next_token(t, x, 1, 9) && gr_multinomial(t, x, 900, false, "s") && gr_argsort(t, x, 0, true);
}
TEST(out_of_memory_is_an_error_anywhere)
{
    fail_every_allocation(samples, NULL);
    assert_survives_failing_memory(topk_of, &(how){ 1, 50, true }, &(gr_gradcheck_input){ .shape = GR_SHAPE(300, 100) }, 1);
}

/* ---- Errors ---- */

TEST(arguments_that_do_not_fit_are_named)
{
    gr_tape *t = gr_tape_new(1, NULL);
    const gr_real big = sizeof(gr_real) == 8 ? (gr_real)1e308 : 1;
    assert_fails(t, gr_argsort(t, X(2, 3), 2, false), "argsort: x is [2, 3], so an axis must be in -2 .. 1; got 2");
    assert_fails(t, gr_argsort(t, X(0, (size_t)1 << 31), -1, false), "argsort: x is [0, 2147483648]: an index of axis 1 does not fit into an int");
    assert_fails(t, gr_sort(t, NULL, 0, false).values, "sort: input 1 is NULL");
    const gr_sort_out out = gr_topk(t, X(2, 3), 1, 4, true);
    assert_true(!out.values && !out.ids);
    assert_fails(t, out.values, "topk: x is [2, 3], so k must be 0 .. 3; got 4");
    assert_fails(t, gr_topk(t, X(2, 3), 1, SIZE_MAX, true).ids, "topk: x is [2, 3], so k must be 0 .. 3; got 18446744073709551615");
    assert_fails(t, gr_multinomial(t, gr_scalar(t, 1), 1, true, "s"), "multinomial: x is [] and has no axis; got axis -1");
    assert_fails(t, gr_multinomial(t, gr_ones(t, GR_SHAPE(3)), 0, true, "s"), "multinomial: n must be 1 or more; got 0");
    assert_fails(t, gr_multinomial(t, gr_ones(t, GR_SHAPE(3)), 1, true, NULL), "multinomial: stream is NULL");
    assert_fails(t, gr_multinomial(t, gr_ones(t, GR_SHAPE(3)), 4, false, "s"), "multinomial: probabilities is [3]: row 0 must have 4 values above 0; got 3");
    assert_fails(t, gr_multinomial(t, X(2, 0), 1, true, "s"), "multinomial: probabilities is [2, 0]: row 0 must have 1 values above 0; got 0");
    assert_fails(t, gr_multinomial(t, gr_input(t, V(1, NAN), GR_SHAPE(2)), 1, true, "s"),
                 "multinomial: probabilities is [2]: value 1 of row 0 must be 0 or more, and finite; got nan");
    assert_fails(t, gr_multinomial(t, gr_input(t, V(INFINITY), GR_SHAPE(1)), 1, true, "s"),
                 "multinomial: probabilities is [1]: value 0 of row 0 must be 0 or more, and finite; got inf");
    if (big > 1)
        assert_fails(t, gr_multinomial(t, gr_full(t, GR_SHAPE(2), (double)big), 1, true, "s"), "multinomial: probabilities is [2]: value 0 of row 0 must be 0 or more, and finite; got 1e+308");
    assert_fails(t, gr_categorical(t, gr_full(t, GR_SHAPE(2, 2), (double)-INFINITY), "s"),
                 "multinomial: probabilities is [2, 2]: value 0 of row 0 must be 0 or more, and finite; got nan");
    assert_fails(t, gr_categorical(t, NULL, "s"), "detach: input 1 is NULL");
    assert_fails(t, gr_categorical(t, X(3), NULL), "multinomial: stream is NULL");
    gr_tape_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_match_finite_differences),
        cmocka_unit_test(equal_values_keep_their_order),
        cmocka_unit_test(a_nan_is_larger_than_every_number),
        cmocka_unit_test(bits_do_not_depend_on_threads),
        cmocka_unit_test(no_values_and_no_results_are_accepted),
        cmocka_unit_test(frequencies_are_the_probabilities),
        cmocka_unit_test(each_index_takes_one_uniform_number_of_the_stream),
        cmocka_unit_test(the_next_token_is_one_of_the_k_largest),
        cmocka_unit_test(out_of_memory_is_an_error_anywhere),
        cmocka_unit_test(arguments_that_do_not_fit_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
