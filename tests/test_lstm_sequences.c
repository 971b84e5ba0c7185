/* tests/test_lstm_sequences.c - the LSTM operator over time: lengths, directions, bits, decay. */
#include "tests/lstm_case.h"

/* ---- Lengths and directions ---- */

TEST(beyond_its_length_a_sequence_keeps_its_state_and_y_is_0)
{
    gr_tape *t = gr_tape_new(1, NULL);
    lstm_case c = { .norm = GR_LSTM_LN_BA2016, .initial = true, .lengths = some_lengths, .T = 5, .B = 10, .I = 3, .H = 7 };
    gr_tensor *in[MOST_INPUTS];
    fill(t, &c, in);
    const gr_lstm_out s = run(t, in, &c);
    gr_gradcheck_input spec[MOST_INPUTS];
    const gr_real *h0 = in[inputs_of(&c, spec) - 2]->data;
    const gr_real zeros[7] = { 0 };
    for (size_t b = 0; b < 10; b++) {
        const size_t n = (size_t)some_lengths[b];
        assert_same_bits(s.h->data + b * 7, n ? s.y->data + ((n - 1) * 10 + b) * 7 : h0 + b * 7, 7);
        for (size_t time = n; time < 5; time++) assert_same_bits(s.y->data + (time * 10 + b) * 7, zeros, 7);
    }
    gr_tape_free(t);
}

TEST(padding_changes_no_result_and_no_gradient)
{
    for (int reverse = 0; reverse < 2; reverse++)
        assert_padding_is_ignored((lstm_case){ .norm = GR_LSTM_LN_BA2016, .reverse = reverse, .lengths = some_lengths, .T = 5, .B = 10, .I = 3, .H = 7 });
}

/* In reverse, a sequence of length n is processed from step n-1 to step 0. */
TEST(reverse_is_forward_on_the_flipped_sequence)
{
    gr_tape *t = gr_tape_new(1, NULL);
    lstm_case c = { .norm = GR_LSTM_LN_BA2016, .initial = true, .lengths = some_lengths, .T = 5, .B = 10, .I = 3, .H = 7 };
    gr_tensor *in[MOST_INPUTS];
    fill(t, &c, in);
    c.reverse = true;
    const gr_lstm_out r = run(t, in, &c);
    gr_tensor *flipped = gr_zeros(t, GR_SHAPE(5, 10, 3));
    for (size_t b = 0; b < 10; b++)
        for (size_t n = (size_t)some_lengths[b], k = 0; k < n; k++)
            memcpy(flipped->data + (k * 10 + b) * 3, in[0]->data + ((n - 1 - k) * 10 + b) * 3, 3 * sizeof(gr_real));
    in[0] = flipped, c.reverse = false;
    const gr_lstm_out f = run(t, in, &c);
    assert_same_bits(r.h->data, f.h->data, 70);
    assert_same_bits(r.c->data, f.c->data, 70);
    for (size_t b = 0; b < 10; b++)
        for (size_t n = (size_t)some_lengths[b], k = 0; k < n; k++)
            assert_same_bits(r.y->data + ((n - 1 - k) * 10 + b) * 7, f.y->data + (k * 10 + b) * 7, 7);
    gr_tape_free(t);
}

/* ---- Bits ---- */

TEST(bits_do_not_depend_on_threads_or_instruction_set)
{
    const int lengths[] = { 3, 3, 2, 1, 0, 3, 3, 2, 3, 3, 3, 3, 1, 3, 3, 3, 3, 3, 3, 2, 3, 3, 3 };
    for (size_t p = 0; p < COUNT(placements); p += 3)
        for (size_t B = 11; B <= 23; B += 12) { /* with 11, one thread computes W x of two steps at once */
            lstm_case c = { .norm = placements[p], .lengths = lengths, .initial = true, .T = 3, .B = B, .I = 5, .H = 19 };
            gr_gradcheck_input in[MOST_INPUTS];
            assert_bits_stay(result, &c, in, inputs_of(&c, in));
        }
}

/* Row 0 of the batch alone, also with recording off. */
TEST(a_sequence_gives_the_same_bits_alone)
{
    for (size_t p = 0; p < COUNT(placements); p++) {
        gr_tape *t = gr_tape_new(1, NULL);
        lstm_case c = { .norm = placements[p], .batch_first = true, .T = 3, .B = 20, .I = 5, .H = 19 };
        gr_tensor *in[MOST_INPUTS];
        fill(t, &c, in);
        const gr_lstm_out all = run(t, in, &c);
        const size_t bytes = gr_tape_nodes(t);
        in[0] = gr_slice(t, in[0], 19, 1), c.B = 1;
        gr_tape_set_recording(t, false);
        const gr_lstm_out one = run(t, in, &c);
        assert_int_equal(gr_tape_nodes(t), bytes);
        assert_same_bits(one.y->data, all.y->data + (size_t)19 * 3 * 19, 3 * 19);
        assert_same_bits(one.h->data, all.h->data + (size_t)19 * 19, 19);
        assert_same_bits(one.c->data, all.c->data + (size_t)19 * 19, 19);
        gr_tape_free(t);
    }
}

/* ---- Decay: no value is ever subnormal ---- */

static void assert_no_dust(const gr_real *x, size_t n, double least)
{
    for (size_t i = 0; i < n; i++) assert_true(x[i] == 0 || fabs((double)x[i]) >= least);
}

/* The biases close the gates, so that state and gradient shrink by a factor of 0.12 per step. After 33 steps they are below 2^-100 and must
 * become 0. No value but 0 may be below 2^-100, or 2^-102 for the gradient of x, because of a weight of 1/4. */
TEST(states_and_gradients_that_vanish_become_0)
{
    enum { H = 4 };
    const size_t steps[] = { 36, 40, 784 };
    for (size_t k = 0; k < COUNT(steps); k++) {
        const size_t T = steps[k];
        gr_tape *t = gr_tape_new(1, NULL);
        gr_tensor *b = gr_full(t, GR_SHAPE(4 * H), -2), *c0 = gr_want_grad(t, gr_ones(t, GR_SHAPE(1, H)));
        const gr_lstm_weights w = { .w_ih = gr_full(t, GR_SHAPE(4 * H, 1), 0.25), .w_hh = gr_zeros(t, GR_SHAPE(4 * H, H)), .b_ih = b };
        for (int j = 2 * H; j < 3 * H; j++) b->data[j] = 0;
        gr_tensor *x = gr_want_grad(t, gr_zeros(t, GR_SHAPE(T, 1, 1)));
        const gr_lstm_out s = gr_lstm_sequence(t, x, &w, &(gr_sequence_config){ .c0 = c0 });
        assert_true(gr_backward(t, gr_sum(t, gr_add(t, s.h, s.c), GR_ALL_AXES, false)));
        assert_true(s.c->data[0] == 0 && s.h->data[0] == 0 && s.y->data[0] > R(0.01));
        assert_no_dust(s.y->data, s.y->len, 0x1p-100);
        assert_true(gr_grad(t, x)[0] == 0 && gr_grad(t, c0)[0] == 0 && gr_grad(t, x)[T - 1] > 0);
        assert_no_dust(gr_grad(t, x), T, 0x1p-102);
        gr_tape_free(t);
    }
}

/* x reaches one gate alone, so that its gradient is that of the gate. Small factors or a small gain must not make tiny values either. */
TEST(the_gradient_of_a_gate_becomes_0)
{
    enum { T = 60, H = 1 };
    for (unsigned norm = 0; norm <= GR_LSTM_LN_SUM; norm += GR_LSTM_LN_SUM)
        for (int gate = 0; gate < 3; gate++) {
            gr_tape *t = gr_tape_new(1, NULL);
            gr_tensor *w_ih = gr_zeros(t, GR_SHAPE(4 * H, 1)), *b = gr_full(t, GR_SHAPE(4 * H), -2),
                      *gain = gr_full(t, GR_SHAPE(4 * H), 0x1p-20);
            for (int j = 0; j < H; j++) w_ih->data[gate * H + j] = R(0.25), b->data[2 * H + j] = R(0.5);
            gr_lstm_weights w = { .norm = norm, .w_ih = w_ih, .w_hh = gr_zeros(t, GR_SHAPE(4 * H, H)), .b_ih = b };
            if (norm) w.ln_sum = (gr_lstm_ln){ gain, gr_zeros(t, GR_SHAPE(4 * H)) };
            gr_tensor *x = gr_want_grad(t, gr_zeros(t, GR_SHAPE(T, 1, 1)));
            const gr_lstm_out s = gr_lstm_sequence(t, x, &w, NULL);
            assert_true(gr_backward(t, gr_sum(t, s.h, GR_ALL_AXES, false)));
            assert_true(gr_grad(t, x)[0] == 0 && gr_grad(t, x)[T - 2] != 0);
            assert_no_dust(gr_grad(t, x), T, 0x1p-102);
            gr_tape_free(t);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(beyond_its_length_a_sequence_keeps_its_state_and_y_is_0),
        cmocka_unit_test(padding_changes_no_result_and_no_gradient),
        cmocka_unit_test(reverse_is_forward_on_the_flipped_sequence),
        cmocka_unit_test(bits_do_not_depend_on_threads_or_instruction_set),
        cmocka_unit_test(a_sequence_gives_the_same_bits_alone),
        cmocka_unit_test(states_and_gradients_that_vanish_become_0),
        cmocka_unit_test(the_gradient_of_a_gate_becomes_0),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
