/* tests/test_lstm.c - the LSTM operator: gradients, its twin, values, edges, messages. */
#include "examples/composed/composed.h"
#include "tests/lstm_case.h"
#include <stdio.h>

/* ---- Gradients ---- */

/* eps is 0.1, because with a smaller one norms of a few close values have too much curvature for finite differences. */
static void check_gradient(lstm_case c, const gr_gradcheck_config *config)
{
    c.eps = 0.1;
    char name[100];
    gr_gradcheck_input in[MOST_INPUTS];
    snprintf(name, sizeof name, "lstm: norm %u, batch_first %d, reverse %d, initial %d, lengths %d", c.norm, c.batch_first, c.reverse,
             c.initial, c.lengths != NULL);
    assert_true(test_gradcheck(name, result, &c, in, inputs_of(&c, in), config, stderr));
}

TEST(gradients_are_right_with_every_placement_and_option)
{
    const int lengths[] = { 3, 1, 0 };
    for (size_t p = 0; p < COUNT(placements); p++)
        for (int o = 0; o < 16; o++)
            check_gradient((lstm_case){ .norm = placements[p],
                                        .batch_first = o & 1,
                                        .reverse = o & 2,
                                        .initial = o & 4,
                                        .lengths = o & 8 ? lengths : NULL,
                                        .T = 3,
                                        .B = 3,
                                        .I = 2,
                                        .H = 3 },
                           NULL);
}

TEST(gradients_are_right_across_shards_and_vectors)
{
    const int lengths[] = { 2, 1, 0, 2, 1, 2, 2, 1, 0, 1, 2, 2, 1, 1, 2, 2, 0 };
    for (size_t p = 0; p < COUNT(placements); p += 3)
        check_gradient((lstm_case){ .norm = placements[p], .reverse = true, .lengths = lengths, .T = 2, .B = 17, .I = 3, .H = 17 },
                       &(gr_gradcheck_config){ .threads = 2 });
}

TEST(gradient_is_right_when_only_the_last_state_is_used)
{
    check_gradient((lstm_case){ .norm = GR_LSTM_LN_BA2016, .only_h = true, .T = 4, .B = 2, .I = 1, .H = 5 }, NULL);
    check_gradient((lstm_case){ .only_h = true, .T = 1, .B = 1, .I = 5, .H = 1 }, NULL);
}

/* ---- The twin ---- */

static void agree(gr_tape *t, lstm_case c, gr_tape *u, lstm_case d, double tolerance)
{
    gr_tensor *a[MOST_INPUTS], *b[MOST_INPUTS];
    gr_gradcheck_input spec[MOST_INPUTS];
    fill(t, &c, a), fill(u, &d, b);
    gr_tensor *x = result(t, a, &c), *y = result(u, b, &d);
    assert_tensors_close(x, y, tolerance);
    gr_real *dy = calloc(y->len, sizeof *dy);
    for (size_t i = 0; i < y->len; i++) dy[i] = (gr_real)(i * 37 % 101) / 50 - 1;
    assert_true(gr_backward_from(t, x, dy) && gr_backward_from(u, y, dy));
    for (size_t k = 0; k < inputs_of(&c, spec); k++) assert_close(gr_grad(t, a[k]), gr_grad(u, b[k]), a[k]->len, tolerance);
    free(dy);
}

TEST(agrees_with_its_composed_twin)
{
    const int lengths[] = { 4, 1, 0, 3, 4, 2, 4, 4, 3 };
    gr_tape *t = gr_tape_new(1, NULL), *u = gr_tape_new(1, NULL);
    for (size_t p = 0; p < COUNT(placements); p++)
        for (int o = 0; o < 16; o++) {
            lstm_case c = { .norm = placements[p],
                            .batch_first = o & 1,
                            .reverse = o & 2,
                            .initial = o & 4,
                            .lengths = o & 8 ? lengths : NULL,
                            .T = 4,
                            .B = 9,
                            .I = 6,
                            .H = 10 },
                      d = c;
            d.f = composed_lstm;
            agree(t, c, u, d, sizeof(gr_real) == 4 ? 1e-4 : 1e-11);
            assert_ok(t);
            assert_ok(u);
            gr_tape_reset(t), gr_tape_reset(u);
        }
    gr_tape_free(t), gr_tape_free(u);
}

/* A module with norms has one bias. */
TEST(its_composed_twin_takes_one_bias)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *net = gr_module_new(t);
    const gr_lstm *l = gr_lstm_new(t, net, "l", 3, 5, &(gr_lstm_config){ .norm = GR_LSTM_LN_BA2016 });
    gr_lstm_weights w = l->recurrent.weights[0];
    gr_tensor *x = gr_randn(t, GR_SHAPE(4, 2, 3), 0, 1, "x"), *y = composed_lstm(t, x, &w, NULL).y;
    assert_tensors_close(y, gr_lstm_sequence(t, x, &w, NULL).y, sizeof(gr_real) == 4 ? 1e-5 : 1e-12);
    w.b_hh = gr_zeros(t, GR_SHAPE(20));
    assert_same_bits(composed_lstm(t, x, &w, NULL).y->data, y->data, y->len);
    gr_module_free(net), gr_tape_free(t);
}

/* ---- Values ---- */

static gr_tensor *input_of(gr_tape *t, gr_shape shape, const gr_real *values) { return gr_want_grad(t, gr_input(t, values, shape)); }
#define INPUT(shape, ...) input_of(t, shape, (const gr_real[]){ __VA_ARGS__ })

/* One unit, one step, and every weight, x, h0 and c0 is 1, so each gate has the input 2. With s = sigmoid(2) and g = tanh(2): c = s + s g,
 * h = s tanh(c). The gradients of h are by hand, too. */
TEST(one_unit_has_the_values_computed_by_hand)
{
    gr_tape *t = gr_tape_new(1, NULL);
    const gr_lstm_weights w = { .w_ih = INPUT(GR_SHAPE(4, 1), 1, 1, 1, 1), .w_hh = INPUT(GR_SHAPE(4, 1), 1, 1, 1, 1) };
    gr_tensor *x = INPUT(GR_SHAPE(1, 1, 1), 1), *h0 = INPUT(GR_SHAPE(1, 1), 1), *c0 = INPUT(GR_SHAPE(1, 1), 1);
    const gr_lstm_out s = gr_lstm_sequence(t, x, &w, &(gr_sequence_config){ .h0 = h0, .c0 = c0 });
    assert_values(s.h, 1e-6, R(0.8271083280));
    assert_values(s.c, 1e-6, R(1.7299097536));
    assert_same_bits(s.y->data, s.h->data, 1);
    assert_true(gr_backward(t, s.h));
    const gr_real da[] = { R(0.0105371574), R(0.0109303485), R(0.0064783490), R(0.0985937295) }, dx = R(0.1265395844), dc = R(0.0916953064);
    assert_close(gr_grad(t, w.w_ih), da, 4, 1e-6);
    assert_close(gr_grad(t, w.w_hh), da, 4, 1e-6);
    assert_close(gr_grad(t, x), &dx, 1, 1e-6);
    assert_close(gr_grad(t, h0), &dx, 1, 1e-6);
    assert_close(gr_grad(t, c0), &dc, 1, 1e-6);
    gr_tape_free(t);
}

/* W x = 1 2 3 4 is normalized to -1.341635 -0.447212 0.447212 1.341635. The norm of a cell of one value gives its shift. */
TEST(a_unit_with_norms_has_the_values_computed_by_hand)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_lstm_weights w = { .norm = GR_LSTM_LN_X,
                          .w_ih = INPUT(GR_SHAPE(4, 1), 1, 2, 3, 4),
                          .w_hh = INPUT(GR_SHAPE(4, 1), 1, 1, 1, 1),
                          .ln_ih = { INPUT(GR_SHAPE(4), 1, 1, 1, 1), INPUT(GR_SHAPE(4), 0, 0, 0, 0) } };
    gr_tensor *x = INPUT(GR_SHAPE(1, 1, 1), 1);
    const double c = tanh(0.4472118) / (1 + exp(1.3416354)), o = 1 / (1 + exp(-1.3416354));
    assert_values(gr_lstm_sequence(t, x, &w, NULL).c, 1e-6, (gr_real)c);
    assert_values(gr_lstm_sequence(t, x, &w, NULL).h, 1e-6, (gr_real)(o * tanh(c)));
    w.norm |= GR_LSTM_LN_C, w.ln_c = (gr_lstm_ln){ INPUT(GR_SHAPE(1), 7), INPUT(GR_SHAPE(1), 0.5) };
    assert_values(gr_lstm_sequence(t, x, &w, NULL).h, 1e-6, (gr_real)(o * tanh(0.5)));
    assert_values(gr_lstm_sequence(t, x, &w, NULL).c, 1e-6, (gr_real)c);
    assert_ok(t);
    gr_tape_free(t);
}

/* ---- Edges ---- */

TEST(no_steps_no_sequences_and_no_inputs_are_accepted)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *in[MOST_INPUTS];
    const size_t sizes[][3] = { { 0, 2, 3 }, { 4, 0, 3 }, { 4, 2, 0 }, { 0, 0, 0 } };
    for (size_t k = 0; k < COUNT(sizes); k++)
        for (size_t p = 0; p < COUNT(placements); p++) {
            lstm_case c = { .norm = placements[p], .initial = true, .T = sizes[k][0], .B = sizes[k][1], .I = sizes[k][2], .H = 5 };
            fill(t, &c, in);
            const gr_lstm_out s = run(t, in, &c);
            assert_true(s.y && s.y->len == c.T * c.B * 5 && s.h->len == c.B * 5);
            assert_true(gr_backward(t, gr_sum(t, gr_add(t, s.h, s.c), GR_ALL_AXES, false)));
            for (size_t i = 0; i < in[1]->len; i++) assert_true(isfinite(gr_grad(t, in[1])[i]));
            gr_gradcheck_input spec[MOST_INPUTS];
            const gr_tensor *h0 = in[inputs_of(&c, spec) - 2];
            if (!c.T) assert_same_bits(s.h->data, h0->data, h0->len);
            for (size_t i = 0; !c.T && i < h0->len; i++) assert_true(gr_grad(t, h0)[i] == 1);
            gr_tape_reset(t);
        }
    assert_ok(t);
    gr_tape_free(t);
}

/* Under a norm without eps, equal values give the shift and no gradient. */
TEST(equal_values_under_a_norm_without_eps_give_the_shift)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_lstm_weights w = { .norm = GR_LSTM_LN_X, .w_ih = INPUT(GR_SHAPE(4, 1), 3, 3, 3, 3), .w_hh = INPUT(GR_SHAPE(4, 1), 0, 0, 0, 0) };
    w.ln_ih = (gr_lstm_ln){ INPUT(GR_SHAPE(4), 5, 5, 5, 5), INPUT(GR_SHAPE(4), 0, 0, 1, 0) };
    gr_tensor *x = INPUT(GR_SHAPE(1, 1, 1), 1);
    const gr_lstm_out s = gr_lstm_sequence(t, x, &w, &(gr_sequence_config){ .eps = GR_NONE });
    assert_values(s.c, 1e-6, R(0.3807970780)); /* sigmoid(0) tanh(1) */
    assert_true(gr_backward(t, s.h) && gr_grad(t, x)[0] == 0 && gr_grad(t, w.ln_ih.bias)[2] > 0);
    gr_tape_free(t);
}

TEST(frozen_weights_get_no_gradient_and_the_bias_may_be_missing)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *b = gr_want_grad(t, gr_zeros(t, GR_SHAPE(8)));
    const gr_lstm_weights w = { .w_ih = gr_ones(t, GR_SHAPE(8, 3)), .w_hh = gr_ones(t, GR_SHAPE(8, 2)), .b_hh = b };
    const gr_lstm_out s = gr_lstm_sequence(t, gr_ones(t, GR_SHAPE(2, 9, 3)), &w, NULL);
    assert_true(gr_backward(t, gr_sum(t, s.y, GR_ALL_AXES, false)));
    assert_true(gr_grad(t, b)[0] != 0 && !gr_grad(t, w.w_ih));
    gr_tape_free(t);
}

TEST(weights_and_options_that_do_not_fit_are_named)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *net = gr_module_new(t);
#define ZEROS(...) lasting(t, net, GR_SHAPE(__VA_ARGS__), 0)
    gr_tensor *x = ZEROS(5, 2, 3);
    const gr_lstm_weights good = { .w_ih = ZEROS(8, 3), .w_hh = ZEROS(8, 2) };
    gr_lstm_weights w = good;
    assert_no_sequence(t, gr_lstm_sequence(t, NULL, &w, NULL), "lstm: input 1 is NULL");
    assert_no_sequence(t, gr_lstm_sequence(t, x, NULL, NULL), "lstm: weights is NULL");
    assert_no_sequence(t, gr_lstm_sequence(t, ZEROS(2, 3), &w, NULL), "lstm: x must be [T, B, I]; got [2, 3]");
    assert_no_sequence(t, gr_lstm_sequence(t, ZEROS(2, 3), &w, &(gr_sequence_config){ .batch_first = true }), "lstm: x must be [B, T, I]; got [2, 3]");
    w.w_ih = ZEROS(8, 4), assert_no_sequence(t, gr_lstm_sequence(t, x, &w, NULL), "lstm: x is [5, 2, 3], so w_ih must be [4H, 3]; got [8, 4]");
    w.w_ih = ZEROS(0, 3), assert_no_sequence(t, gr_lstm_sequence(t, x, &w, NULL), "lstm: x is [5, 2, 3], so w_ih must be [4H, 3]; got [0, 3]");
    w.w_ih = NULL, assert_no_sequence(t, gr_lstm_sequence(t, x, &w, NULL), "lstm: x is [5, 2, 3], so w_ih must be [4H, 3]; got NULL");
    w = good, w.w_hh = ZEROS(8, 3), assert_no_sequence(t, gr_lstm_sequence(t, x, &w, NULL), "lstm: w_ih is [8, 3], so w_hh must be [8, 2]; got [8, 3]");
    w = good, w.b_hh = ZEROS(4), assert_no_sequence(t, gr_lstm_sequence(t, x, &w, NULL), "lstm: w_ih is [8, 3], so b_hh must be [8]; got [4]");
    w = good, w.norm = 64, assert_no_sequence(t, gr_lstm_sequence(t, x, &w, NULL), "lstm: norm is 64, which is neither a sum of GR_LSTM_LN_... nor GR_LSTM_BN");
    w.norm = GR_LSTM_LN_PER_GATE, assert_no_sequence(t, gr_lstm_sequence(t, x, &w, NULL), "lstm: GR_LSTM_LN_PER_GATE needs GR_LSTM_LN_X, GR_LSTM_LN_H or GR_LSTM_LN_SUM");
    w.norm = GR_LSTM_LN_C, w.ln_c.weight = ZEROS(2),
    assert_no_sequence(t, gr_lstm_sequence(t, x, &w, NULL), "lstm: norm has GR_LSTM_LN_C, so ln_c.bias must be [2]; got NULL");
    w.norm = GR_LSTM_LN_X, assert_no_sequence(t, gr_lstm_sequence(t, x, &w, NULL), "lstm: norm has GR_LSTM_LN_X, so ln_ih.weight must be [8]; got NULL");
    w.norm = 0, assert_no_sequence(t, gr_lstm_sequence(t, x, &w, NULL), "lstm: ln_c.weight is given, but norm lacks GR_LSTM_LN_C");
    w = good;
    assert_no_sequence(t, gr_lstm_sequence(t, x, &w, &(gr_sequence_config){ .c0 = ZEROS(1, 2) }),
           "lstm: x holds 2 sequences and w_ih is [8, 3], so c0 must be [2, 2]; got [1, 2]");
    const gr_ints *lengths = gr_ints_new(t, (int[]){ 5, 6, 0 }, GR_SHAPE(3));
    assert_no_sequence(t, gr_lstm_sequence(t, x, &w, &(gr_sequence_config){ .lengths = lengths }), "lstm: x is [5, 2, 3], so lengths must be [2]; got [3]");
    lengths = gr_ints_new(t, (int[]){ 5, 6 }, GR_SHAPE(2));
    assert_no_sequence(t, gr_lstm_sequence(t, x, &w, &(gr_sequence_config){ .lengths = lengths }), "lstm: x is [5, 2, 3], so lengths[1] must be in 0 .. 5; got 6");
    assert_no_sequence(t, gr_lstm_sequence(t, x, &w, &(gr_sequence_config){ .eps = -0.5 }), "lstm: eps must be 0 or more, or GR_NONE; got -0.5");
    gr_module_free(net), gr_tape_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_are_right_with_every_placement_and_option),
        cmocka_unit_test(gradients_are_right_across_shards_and_vectors),
        cmocka_unit_test(gradient_is_right_when_only_the_last_state_is_used),
        cmocka_unit_test(agrees_with_its_composed_twin),
        cmocka_unit_test(its_composed_twin_takes_one_bias),
        cmocka_unit_test(one_unit_has_the_values_computed_by_hand),
        cmocka_unit_test(a_unit_with_norms_has_the_values_computed_by_hand),
        cmocka_unit_test(no_steps_no_sequences_and_no_inputs_are_accepted),
        cmocka_unit_test(equal_values_under_a_norm_without_eps_give_the_shift),
        cmocka_unit_test(frozen_weights_get_no_gradient_and_the_bias_may_be_missing),
        cmocka_unit_test(weights_and_options_that_do_not_fit_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
