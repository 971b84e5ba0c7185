/* tests/test_gru_rnn.c - the GRU and plain RNN operators: gradients, twins, values, lengths, bits, decay, messages. */
#include "examples/composed/composed.h"
#include "tests/lstm_case.h"

/* A kind and one of its placements of norms. */
static const struct {
    size_t gates;
    unsigned norm;
    bool relu;
} kinds[] = {
    { 3, 0, false },
    { 3, GR_GRU_LN_X, false },
    { 3, GR_GRU_LN_H, false },
    { 3, GR_GRU_LN_BA2016, false },
    { 1, 0, false },
    { 1, GR_RNN_LN_SUM, false },
    { 1, 0, true },
    { 1, GR_RNN_LN_X, false },
    { 1, GR_RNN_LN_X | GR_RNN_LN_H | GR_RNN_LN_SUM, true },
};

static lstm_case case_of(size_t kind, int options, const int *lengths, size_t T, size_t B, size_t I, size_t H)
{
    return (lstm_case){ .gates = kinds[kind].gates,
                        .norm = kinds[kind].norm,
                        .relu = kinds[kind].relu,
                        .batch_first = options & 1,
                        .reverse = options & 2,
                        .initial = options & 4,
                        .lengths = options & 8 ? lengths : NULL,
                        .T = T,
                        .B = B,
                        .I = I,
                        .H = H };
}

/* ---- Gradients and the twin ---- */

/* relu has a kink: these cases need another seed, because finite differences would cross it. */
static void check_gradient(lstm_case c, const gr_gradcheck_config *config)
{
    gr_gradcheck_config g = config ? *config : (gr_gradcheck_config){ 0 };
    gr_gradcheck_input in[MOST_INPUTS];
    char name[100];
    c.eps = 0.1;
    snprintf(name, sizeof name, "gates %zu: norm %u, relu %d, batch_first %d, reverse %d, initial %d, lengths %d", c.gates, c.norm, c.relu,
             c.batch_first, c.reverse, c.initial, c.lengths != NULL);
    const size_t n = inputs_of(&c, in);
    bool good = false;
    for (g.seed = 1; !good && g.seed < (c.relu ? 6 : 2); g.seed++)
        good = test_gradcheck(name, result, &c, in, n, &g, g.seed < 5 && c.relu ? NULL : stderr);
    if (!good) fail_msg("%s", name);
}

TEST(gradients_are_right_with_every_placement_and_option)
{
    const int lengths[] = { 3, 1, 0 };
    for (size_t k = 0; k < COUNT(kinds); k++)
        for (int o = 0; o < 16; o++) check_gradient(case_of(k, o, lengths, 3, 3, 2, 3), NULL);
}

TEST(gradients_are_right_across_shards_and_vectors)
{
    const int lengths[] = { 2, 1, 0, 2, 1, 2, 2, 1, 0, 1, 2, 2, 1, 1, 2, 2, 0 };
    for (size_t k = 0; k < COUNT(kinds); k++)
        if (!kinds[k].relu) check_gradient(case_of(k, 10, lengths, 2, 17, 3, 17), &(gr_gradcheck_config){ .threads = 2 });
    check_gradient((lstm_case){ .gates = 3, .only_h = true, .T = 1, .B = 1, .I = 5, .H = 1 }, NULL);
    check_gradient((lstm_case){ .gates = 1, .only_h = true, .T = 2, .B = 1, .I = 1, .H = 1 }, NULL);
}

TEST(agree_with_their_composed_twins)
{
    const int lengths[] = { 4, 1, 0, 3, 4, 2, 4, 4, 3 };
    const double tolerance = sizeof(gr_real) == 4 ? 1e-4 : 1e-11;
    for (size_t k = 0; k < COUNT(kinds); k++)
        for (int o = 0; o < 16; o++) {
            gr_tape *t = gr_tape_new(1, NULL);
            lstm_case c = case_of(k, o, lengths, 4, 9, 6, 10), d = c;
            gr_tensor *a[MOST_INPUTS], *b[MOST_INPUTS];
            gr_gradcheck_input spec[MOST_INPUTS];
            d.f = c.gates == 3 ? composed_gru : composed_rnn;
            fill(t, &c, a), fill(t, &d, b);
            gr_tensor *x = result(t, a, &c), *y = result(t, b, &d);
            assert_ok(t);
            assert_tensors_close(x, y, tolerance);
            gr_tensor *w = gr_randn(t, gr_shape_of(x), 0, 1, "cotangent");
            assert_true(gr_backward(t, gr_sum(t, gr_mul(t, w, gr_add(t, x, y)), GR_ALL_AXES, false)));
            for (size_t i = 0; i < inputs_of(&c, spec); i++) assert_close(gr_grad(t, a[i]), gr_grad(t, b[i]), a[i]->len, tolerance);
            gr_tape_free(t);
        }
}

/* ---- Values ---- */

static gr_tensor *input_of(gr_tape *t, gr_shape shape, const gr_real *values) { return gr_want_grad(t, gr_input(t, values, shape)); }
#define INPUT(shape, ...) input_of(t, shape, (const gr_real[]){ __VA_ARGS__ })

/* One unit, x = 1, h0 = 2: r = sigmoid(1 + 2 + 1), z = sigmoid(-1 + 2), n = tanh(1 + r (2 * 0.5 + 3)), by PyTorch's formula. */
TEST(a_gru_unit_has_the_values_computed_by_hand)
{
    gr_tape *t = gr_tape_new(1, NULL);
    const gr_recurrent_weights w = { .w_ih = INPUT(GR_SHAPE(3, 1), 1, -1, 1),
                                     .w_hh = INPUT(GR_SHAPE(3, 1), 1, 1, 0.5),
                                     .b_hh = INPUT(GR_SHAPE(3), 1, 0, 3) };
    gr_tensor *x = INPUT(GR_SHAPE(1, 1, 1), 1), *h0 = INPUT(GR_SHAPE(1, 1), 2);
    const gr_recurrent_out s = gr_gru_sequence(t, x, &w, &(gr_sequence_config){ .h0 = h0 });
    const double r = 1 / (1 + exp(-4)), z = 1 / (1 + exp(-1)), n = tanh(1 + 4 * r);
    assert_values(s.h, 1e-6, (gr_real)((1 - z) * n + z * 2));
    assert_null(s.c);
    assert_true(gr_backward(t, s.h));
    const double dn = (1 - z) * (1 - n * n), dr = dn * 4 * r * (1 - r), dz = (2 - n) * z * (1 - z);
    const gr_real db[] = { (gr_real)dr, (gr_real)dz, (gr_real)(dn * r) }, dh = (gr_real)(z + dr + dz + dn * r / 2);
    assert_close(gr_grad(t, w.b_hh), db, 3, 1e-5);
    assert_close(gr_grad(t, h0), &dh, 1, 1e-5);
    gr_tape_free(t);
}

/* W x = 1 3, W h = 0: normalized to -1 and 1, then tanh or relu. */
TEST(an_rnn_step_has_the_values_computed_by_hand)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_recurrent_weights w = { .norm = GR_RNN_LN_SUM,
                               .w_ih = INPUT(GR_SHAPE(2, 1), 1, 3),
                               .w_hh = INPUT(GR_SHAPE(2, 2), 1, 2, 3, 4),
                               .ln_sum = { INPUT(GR_SHAPE(2), 1, 2), INPUT(GR_SHAPE(2), 0, 0.5) } };
    gr_tensor *x = INPUT(GR_SHAPE(1, 1, 1), 1);
    gr_sequence_config o = { .eps = GR_NONE };
    assert_values(gr_rnn_sequence(t, x, &w, &o).h, 1e-6, (gr_real)tanh(-1), (gr_real)tanh(2.5));
    o.relu = true;
    assert_values(gr_rnn_sequence(t, x, &w, &o).h, 1e-6, 0, 2.5);
    gr_tape_free(t);
}

/* ---- Lengths, bits, sizes ---- */

TEST(padding_changes_no_result_and_no_gradient)
{
    for (size_t kind = 0; kind < COUNT(kinds); kind++)
        for (int reverse = 0; reverse < 2; reverse++) assert_padding_is_ignored(case_of(kind, 8 + 2 * reverse, some_lengths, 5, 10, 3, 7));
}

TEST(beyond_its_length_a_sequence_keeps_its_state_and_y_is_0)
{
    const gr_real zeros[7] = { 0 };
    for (size_t kind = 0; kind < COUNT(kinds); kind++) {
        gr_tape *t = gr_tape_new(1, NULL);
        lstm_case c = case_of(kind, 12, some_lengths, 5, 10, 3, 7);
        gr_tensor *in[MOST_INPUTS];
        gr_gradcheck_input spec[MOST_INPUTS];
        fill(t, &c, in);
        const gr_recurrent_out s = run(t, in, &c);
        const gr_real *h0 = in[inputs_of(&c, spec) - 1]->data;
        for (size_t b = 0; b < 10; b++) {
            const size_t n = (size_t)some_lengths[b];
            assert_same_bits(s.h->data + b * 7, n ? s.y->data + ((n - 1) * 10 + b) * 7 : h0 + b * 7, 7);
            for (size_t time = n; time < 5; time++) assert_same_bits(s.y->data + (time * 10 + b) * 7, zeros, 7);
        }
        gr_tape_free(t);
    }
}

TEST(bits_do_not_depend_on_threads_or_instruction_set)
{
    const int lengths[] = { 3, 3, 2, 1, 0, 3, 3, 2, 3, 3, 3, 3, 1, 3, 3, 3, 3, 3, 3, 2, 3, 3, 3 };
    for (size_t k = 0; k < COUNT(kinds); k++)
        for (size_t B = 11; B <= 23; B += 12) {
            lstm_case c = case_of(k, 12, lengths, 3, B, 5, 19);
            gr_gradcheck_input in[MOST_INPUTS];
            assert_bits_stay(result, &c, in, inputs_of(&c, in));
        }
}

TEST(a_sequence_gives_the_same_bits_alone)
{
    for (size_t k = 0; k < COUNT(kinds); k++) {
        gr_tape *t = gr_tape_new(1, NULL);
        lstm_case c = case_of(k, 1, NULL, 3, 20, 5, 19);
        gr_tensor *in[MOST_INPUTS];
        fill(t, &c, in);
        const gr_recurrent_out all = run(t, in, &c);
        in[0] = gr_slice(t, in[0], 19, 1), c.B = 1;
        gr_tape_set_recording(t, false);
        const gr_recurrent_out one = run(t, in, &c);
        assert_same_bits(one.y->data, all.y->data + (size_t)19 * 3 * 19, 3 * 19);
        assert_same_bits(one.h->data, all.h->data + (size_t)19 * 19, 19);
        gr_tape_free(t);
    }
}

TEST(no_steps_no_sequences_and_no_inputs_are_accepted)
{
    const size_t sizes[][3] = { { 0, 2, 3 }, { 4, 0, 3 }, { 4, 2, 0 }, { 0, 0, 0 } };
    for (size_t k = 0; k < COUNT(sizes) * COUNT(kinds); k++) {
        gr_tape *t = gr_tape_new(1, NULL);
        gr_tensor *in[MOST_INPUTS];
        lstm_case c =
            case_of(k % COUNT(kinds), 4, NULL, sizes[k / COUNT(kinds)][0], sizes[k / COUNT(kinds)][1], sizes[k / COUNT(kinds)][2], 5);
        double norms[4] = { -1, -1, -1, -1 };
        c.dh_norm = norms;
        fill(t, &c, in);
        const gr_recurrent_out s = run(t, in, &c);
        assert_true(s.y && s.y->len == c.T * c.B * 5 && gr_backward(t, gr_sum(t, s.h, GR_ALL_AXES, false)));
        for (size_t time = 0; time < 4; time++) assert_true((norms[time] < 0) == (time >= c.T) && (c.B || norms[time] <= 0));
        gr_tape_free(t);
    }
}

/* A state that only decays becomes 0, as does the gradient with respect to the first step. Neither is ever below 2^-100 but not 0. */
TEST(states_and_gradients_that_vanish_become_0)
{
    enum { T = 300 };
    for (size_t k = 0; k < COUNT(kinds); k++) {
        if (kinds[k].norm) continue;
        gr_tape *t = gr_tape_new(1, NULL);
        const size_t G = kinds[k].gates;
        const gr_recurrent_weights w = { .w_ih = gr_zeros(t, GR_SHAPE(G, 1)), .w_hh = gr_full(t, GR_SHAPE(G, 1), G == 1 ? 0.5 : 0) };
        gr_tensor *h0 = gr_want_grad(t, gr_ones(t, GR_SHAPE(1, 1))), *x = gr_want_grad(t, gr_zeros(t, GR_SHAPE(T, 1, 1)));
        const gr_sequence_config o = { .h0 = h0, .relu = kinds[k].relu };
        const gr_recurrent_out s = (G == 3 ? gr_gru_sequence : gr_rnn_sequence)(t, x, &w, &o);
        assert_true(gr_backward(t, gr_sum(t, s.h, GR_ALL_AXES, false)));
        assert_true(s.h->data[0] == 0 && s.y->data[0] > R(0.1) && gr_grad(t, h0)[0] == 0);
        for (size_t i = 0; i < T; i++) assert_true(s.y->data[i] == 0 || s.y->data[i] >= R(0x1p-100));
        gr_tape_free(t);
    }
}

/* ---- Messages ---- */

TEST(weights_and_options_that_do_not_fit_are_named)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *net = gr_module_new(t);
#define ZEROS(...) lasting(t, net, GR_SHAPE(__VA_ARGS__), 0)
    gr_tensor *x = ZEROS(5, 2, 3);
    gr_recurrent_weights w = { .w_ih = ZEROS(6, 3), .w_hh = ZEROS(6, 2) };
    assert_no_sequence(t, gr_gru_sequence(t, NULL, &w, NULL), "gru: input 1 is NULL");
    assert_no_sequence(t, gr_rnn_sequence(t, x, NULL, NULL), "rnn: weights is NULL");
    assert_no_sequence(t, gr_gru_sequence(t, x, &w, &(gr_sequence_config){ .c0 = ZEROS(2, 2) }), "gru: c0 is given, but only an LSTM has a cell");
    assert_no_sequence(t, gr_rnn_sequence(t, x, &w, NULL), "rnn: w_ih is [6, 3], so w_hh must be [6, 6]; got [6, 2]");
    w.w_ih = ZEROS(8, 3), assert_no_sequence(t, gr_gru_sequence(t, x, &w, NULL), "gru: x is [5, 2, 3], so w_ih must be [3H, 3]; got [8, 3]");
    w.w_ih = ZEROS(8, 4), assert_no_sequence(t, gr_rnn_sequence(t, x, &w, NULL), "rnn: x is [5, 2, 3], so w_ih must be [H, 3]; got [8, 4]");
    w.w_ih = ZEROS(6, 3), w.norm = GR_LSTM_LN_SUM;
    assert_no_sequence(t, gr_gru_sequence(t, x, &w, NULL), "gru: norm is 4, which is no sum of GR_GRU_LN_...");
    w.norm = GR_LSTM_BN, assert_no_sequence(t, gr_gru_sequence(t, x, &w, NULL), "gru: norm is 32, which is no sum of GR_GRU_LN_...");
    w.norm = GR_GRU_LN_X, assert_no_sequence(t, gr_gru_sequence(t, x, &w, NULL), "gru: norm has GR_GRU_LN_X, so ln_ih.weight must be [6]; got NULL");
    w.norm = 0, w.ln_hh.bias = x, assert_no_sequence(t, gr_gru_sequence(t, x, &w, NULL), "gru: ln_hh.bias is given, but norm lacks GR_GRU_LN_H");
    gr_module_free(net), gr_tape_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_are_right_with_every_placement_and_option),
        cmocka_unit_test(gradients_are_right_across_shards_and_vectors),
        cmocka_unit_test(agree_with_their_composed_twins),
        cmocka_unit_test(a_gru_unit_has_the_values_computed_by_hand),
        cmocka_unit_test(an_rnn_step_has_the_values_computed_by_hand),
        cmocka_unit_test(padding_changes_no_result_and_no_gradient),
        cmocka_unit_test(beyond_its_length_a_sequence_keeps_its_state_and_y_is_0),
        cmocka_unit_test(bits_do_not_depend_on_threads_or_instruction_set),
        cmocka_unit_test(a_sequence_gives_the_same_bits_alone),
        cmocka_unit_test(no_steps_no_sequences_and_no_inputs_are_accepted),
        cmocka_unit_test(states_and_gradients_that_vanish_become_0),
        cmocka_unit_test(weights_and_options_that_do_not_fit_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
