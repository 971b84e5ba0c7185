/* tests/test_dropout.c - dropout, of values and of whole channels: its mask, gradient, p of 0 and 1, evaluation, rollback, bits, messages. */
#include "tests/compare.h"
#include <stdio.h>

/* Every call draws from the start of the stream, so that it can be repeated. */
typedef struct {
    double p;
    uint64_t counter;
} dropping;
static gr_tensor *dropout(gr_tape *t, gr_tensor *const *in, void *argument)
{
    const dropping *d = argument;
    gr_stream *s = gr_tape_stream(t, "mask");
    if (s) s->counter = d->counter;
    return gr_dropout(t, in[0], d->p, "mask");
}

static gr_tensor *dropout2d(gr_tape *t, gr_tensor *const *in, void *argument)
{
    const dropping *d = argument;
    gr_stream *s = gr_tape_stream(t, "mask");
    if (s) s->counter = d->counter;
    return gr_dropout2d(t, in[0], d->p, "mask");
}

TEST(gradient_matches_finite_differences)
{
    const gr_shape shapes[] = { GR_SCALAR, GR_SHAPE(1), GR_SHAPE(63), GR_SHAPE(5, 27), GR_SHAPE(2, 3, 11), GR_SHAPE(2, 1, 3, 4) };
    for (size_t s = 0; s < COUNT(shapes); s++)
        for (int i = 1; i < 4; i++)
            for (int channels = 0; channels <= (shapes[s].rank > 1); channels++)
                assert_true(test_gradcheck("dropout", channels ? dropout2d : dropout, &(dropping){ i * 0.3, (uint64_t)i },
                                           &(gr_gradcheck_input){ .shape = shapes[s] }, 1, NULL, stderr));
}

/* Element i is dropped if draw counter + i of the stream is below p 2^32, in forward and backward. This holds at every offset in a block
 * and across block 2^32. */
TEST(the_mask_follows_the_draws_of_the_stream)
{
    enum { N = 300 };
    const uint64_t counters[] = { 0, 1, 2, 3, 63, 4 * ((1ull << 32) - 7) + 1 };
    for (size_t c = 0; c < COUNT(counters); c++)
        for (int isa = 0; isa < 2; isa++) {
            gr_tape *t = gr_tape_new(5, (&(gr_tape_config){ .isa = isa ? NULL : test_isa_after(NULL) }));
            gr_tensor *x = gr_want_grad(t, gr_rand(t, GR_SHAPE(N), 1, 2, "x")), *y = dropout(t, &x, &(dropping){ 0.3, counters[c] });
            assert_true(gr_backward_from(t, y, x->data));
            gr_stream s = gr_stream_new(5, "mask");
            s.counter = counters[c];
            for (size_t i = 0; i < N; i++) {
                const bool dropped = gr_stream_bits(&s) < 0.3 * 0x1p32;
                assert_true(y->data[i] == (dropped ? 0 : x->data[i] * (gr_real)(1 / 0.7)));
                assert_true(gr_grad(t, x)[i] == y->data[i]);
            }
            assert_true(gr_tape_stream(t, "mask")->counter == counters[c] + N);
            gr_tape_free(t);
        }
}

/* Channel c of sample n is dropped as a whole, by draw n C + c: the mask is that of gr_dropout for [N, C]. */
TEST(whole_channels_are_dropped)
{
    const gr_shape shapes[] = { GR_SHAPE(5, 7), GR_SHAPE(5, 7, 3), GR_SHAPE(5, 7, 2, 9), GR_SHAPE(5, 7, 2, 1, 3) };
    for (size_t k = 0; k < COUNT(shapes); k++) {
        gr_tape *t = gr_tape_new(5, NULL);
        gr_tensor *x = gr_want_grad(t, gr_rand(t, shapes[k], 1, 2, "x")), *y = dropout2d(t, &x, &(dropping){ 0.4, 3 });
        assert_true(gr_tape_stream(t, "mask")->counter == 3 + 35);
        const gr_tensor *mask = dropout(t, (gr_tensor *[]){ gr_ones(t, GR_SHAPE(5, 7)) }, &(dropping){ 0.4, 3 });
        assert_true(gr_backward_from(t, y, x->data));
        for (size_t i = 0; i < x->len; i++) {
            assert_true(y->data[i] == x->data[i] * mask->data[i / (x->len / 35)]);
            assert_true(gr_grad(t, x)[i] == y->data[i]);
        }
        gr_tape_free(t);
    }
}

TEST(a_share_of_p_is_dropped_and_the_mean_is_kept)
{
    enum { N = 1000000 };
    gr_tape *t = gr_tape_new(1, NULL);
    for (double p = 0.1; p < 1; p += 0.4) {
        gr_tape_reset(t);
        const gr_tensor *y = gr_dropout(t, gr_ones(t, GR_SHAPE(N)), p, "mask");
        double dropped = 0, sum = 0;
        for (size_t i = 0; i < N; i++) dropped += y->data[i] == 0, sum += (double)y->data[i];
        assert_true(fabs(dropped / N - p) < 5 * sqrt(p * (1 - p) / N));
        assert_true(fabs(sum / N - 1) < 5 * sqrt(p / (1 - p) / N));
    }
    gr_tape_free(t);
}

TEST(p_of_0_and_evaluation_change_nothing_and_draw_nothing)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *x = gr_randn(t, GR_SHAPE(40), 0, 1, "x");
    assert_ptr_equal(gr_dropout(t, x, 0, "mask"), x);
    gr_tape_set_training(t, false);
    assert_ptr_equal(gr_dropout(t, x, 0.5, "mask"), x);
    assert_ptr_equal(gr_dropout(t, x, 1, "mask"), x);
    gr_tensor *image = gr_ones(t, GR_SHAPE(2, 3, 4, 4));
    assert_ptr_equal(gr_dropout2d(t, image, 0.5, "mask"), image);
    gr_tape_set_training(t, true);
    assert_true(gr_tape_stream(t, "mask")->counter == 0);
    gr_tape_free(t);
}

TEST(p_of_1_drops_everything_infinities_too)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *x = gr_want_grad(t, gr_full(t, GR_SHAPE(70), INFINITY)), *y = gr_dropout(t, x, 1, "mask");
    assert_true(gr_backward_from(t, y, x->data));
    for (size_t i = 0; i < 70; i++) assert_true(y->data[i] == 0 && gr_grad(t, x)[i] == 0);
    gr_tape_free(t);
}

TEST(a_failed_step_draws_the_same_mask_again)
{
    gr_real first[50];
    gr_tape *t = gr_tape_new(1, NULL);
    for (int step = 0; step < 2; step++) {
        const gr_tensor *y = gr_dropout(t, gr_ones(t, GR_SHAPE(50)), 0.5, "mask");
        if (step) assert_same_bits(y->data, first, 50);
        memcpy(first, y->data, sizeof first);
        assert_null(gr_dropout(t, NULL, 0.5, "mask"));
        gr_tape_recover(t);
    }
    const gr_tensor *y = gr_dropout(t, gr_ones(t, GR_SHAPE(50)), 0.5, "mask"), *z = gr_dropout(t, gr_ones(t, GR_SHAPE(50)), 0.5, "mask");
    assert_same_bits(y->data, first, 50);
    assert_memory_not_equal(z->data, first, sizeof first);
    gr_tape_free(t);
}

TEST(bits_do_not_depend_on_threads_or_instruction_set)
{
    for (uint64_t counter = 0; counter < 5; counter += 2)
        assert_bits_stay(dropout, (&(dropping){ 0.4, counter }), &(gr_gradcheck_input){ .shape = GR_SHAPE(70001) }, 1);
    assert_bits_stay(dropout2d, (&(dropping){ 0.4, 1 }), &(gr_gradcheck_input){ .shape = GR_SHAPE(67, 33, 5, 7) }, 1);
}

TEST(no_values_are_accepted)
{
    compared c = compare_start(dropout, &(dropping){ 0.5, 3 }, &(gr_gradcheck_input){ .shape = GR_SHAPE(3, 0) }, 1);
    assert_true(gr_same_shape(c.y, c.x[0]));
    compare_backward(&c, &(gr_real){ 1 });
    gr_tape_free(c.t);
    c = compare_start(dropout2d, &(dropping){ 0.5, 3 }, &(gr_gradcheck_input){ .shape = GR_SHAPE(3, 2, 0, 4) }, 1);
    assert_true(gr_same_shape(c.y, c.x[0]));
    compare_backward(&c, &(gr_real){ 1 });
    gr_tape_free(c.t);
}

TEST(modules_drop_values_or_channels)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *net = gr_module_new(t);
    gr_dropout_module *d = gr_dropout2d_new(t, net, "drop", 0.5);
    gr_tensor *x = gr_rand(t, GR_SHAPE(4, 5, 3, 3), 1, 2, "x");
    const gr_tensor *y = gr_forward(t, &d->module, x);
    assert_string_equal(d->module.kind, "Dropout2d");
    assert_string_equal(d->stream, "drop/mask");
    assert_int_equal(gr_tape_stream(t, "drop/mask")->counter, 20);
    gr_tape_stream(t, "drop/mask")->counter = 0;
    assert_same_bits(y->data, gr_dropout2d(t, x, 0.5, "drop/mask")->data, y->len);
    assert_fails(t, gr_dropout_forward(t, d, gr_ones(t, GR_SHAPE(3))), "dropout2d in drop: x must be [N, C, ..]; got [3]");
    assert_fails(t, gr_dropout2d_new(t, net, "bad", 2), "bad: the probability must be in [0, 1]; got 2");
    gr_module_free(net), gr_tape_free(t);
}

TEST(out_of_memory_is_an_error_anywhere)
{
    assert_survives_failing_memory(dropout, &(dropping){ 0.5, 3 }, &(gr_gradcheck_input){ .shape = GR_SHAPE(300000) }, 1);
    assert_survives_failing_memory(dropout2d, &(dropping){ 0.5, 3 }, &(gr_gradcheck_input){ .shape = GR_SHAPE(300, 500, 2) }, 1);
}

TEST(a_probability_outside_0_to_1_is_named)
{
    const struct {
        double p;
        const char *text;
    } bad[] = {
        { -0.1, "dropout: p must be in 0 .. 1; got -0.1" },
        { 1.5, "dropout: p must be in 0 .. 1; got 1.5" },
        { NAN, "dropout: p must be in 0 .. 1; got nan" },
    };
    gr_tape *t = gr_tape_new(1, NULL);
    for (size_t k = 0; k < COUNT(bad); k++) {
        assert_fails(t, gr_dropout(t, gr_ones(t, GR_SHAPE(2)), bad[k].p, "mask"), bad[k].text);
    }
    assert_fails(t, gr_dropout(t, gr_ones(t, GR_SHAPE(2)), 0.5, NULL), "dropout: stream is NULL");
    assert_fails(t, gr_dropout(t, NULL, 0.5, "mask"), "dropout: input 1 is NULL");
    assert_fails(t, gr_dropout2d(t, gr_ones(t, GR_SHAPE(2, 2)), 1.5, "mask"), "dropout2d: p must be in 0 .. 1; got 1.5");
    assert_fails(t, gr_dropout2d(t, gr_ones(t, GR_SHAPE(2, 2)), 0.5, NULL), "dropout2d: stream is NULL");
    assert_fails(t, gr_dropout2d(t, gr_ones(t, GR_SHAPE(2)), 0.5, "mask"), "dropout2d: x must be [N, C, ..]; got [2]");
    assert_fails(t, gr_dropout2d(t, NULL, 0.5, "mask"), "dropout2d: input 1 is NULL");
    gr_tape_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradient_matches_finite_differences),
        cmocka_unit_test(the_mask_follows_the_draws_of_the_stream),
        cmocka_unit_test(whole_channels_are_dropped),
        cmocka_unit_test(a_share_of_p_is_dropped_and_the_mean_is_kept),
        cmocka_unit_test(p_of_0_and_evaluation_change_nothing_and_draw_nothing),
        cmocka_unit_test(p_of_1_drops_everything_infinities_too),
        cmocka_unit_test(a_failed_step_draws_the_same_mask_again),
        cmocka_unit_test(bits_do_not_depend_on_threads_or_instruction_set),
        cmocka_unit_test(no_values_are_accepted),
        cmocka_unit_test(modules_drop_values_or_channels),
        cmocka_unit_test(out_of_memory_is_an_error_anywhere),
        cmocka_unit_test(a_probability_outside_0_to_1_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
