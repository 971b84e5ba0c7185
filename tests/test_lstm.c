/* tests/test_lstm.c - the LSTM sequence operator and its twin. */
#include "core/kernel.h"
#include "ops/composed.h"
#include "tests/test.h"
#include <stdio.h>

/* ---- What is tested: sizes, norms and options, and the inputs that go with them ---- */

typedef gr_lstm_out sequence(gr_tape *t, gr_tensor *x, const gr_lstm_weights *w, const gr_lstm_options *o);
typedef struct {
    unsigned norm;
    bool batch_first, reverse, initial;
    const int *lengths;
    size_t T, B, I, H;
    sequence *f;
    bool only_h;   /* the result is h alone; else y, h and c together */
    double eps;
} lstm_case;

enum { MOST_INPUTS = 15 };

static const unsigned placements[] = {
    0, GR_LSTM_LN_X, GR_LSTM_LN_H, GR_LSTM_LN_X | GR_LSTM_LN_H, GR_LSTM_LN_SUM, GR_LSTM_LN_X | GR_LSTM_LN_SUM, GR_LSTM_LN_H | GR_LSTM_LN_SUM,
    GR_LSTM_LN_X | GR_LSTM_LN_H | GR_LSTM_LN_SUM, GR_LSTM_LN_C, GR_LSTM_LN_BA2016, GR_LSTM_LN_SUM | GR_LSTM_LN_C,
    GR_LSTM_LN_BA2016 | GR_LSTM_LN_SUM, GR_LSTM_LN_BA2016 | GR_LSTM_LN_PER_GATE, GR_LSTM_LN_SUM | GR_LSTM_LN_PER_GATE,
    GR_LSTM_LN_BA2016 | GR_LSTM_LN_SUM | GR_LSTM_LN_PER_GATE,
};

/* x, w_ih, w_hh, b_ih, b_hh, two for each norm, h0 and c0 if initial. Returns how many. */
static size_t inputs_of(const lstm_case *c, gr_gradcheck_input *in)
{
    const size_t G = 4 * c->H;
    size_t n = 0;
    in[n++] = (gr_gradcheck_input){ .shape = c->batch_first ? GR_SHAPE(c->B, c->T, c->I) : GR_SHAPE(c->T, c->B, c->I) };
    in[n++] = (gr_gradcheck_input){ .shape = GR_SHAPE(G, c->I), .low = -1, .high = 1 };
    in[n++] = (gr_gradcheck_input){ .shape = GR_SHAPE(G, c->H), .low = -1, .high = 1 };
    for (int i = 0; i < 2; i++) in[n++] = (gr_gradcheck_input){ .shape = GR_SHAPE(G), .low = -1, .high = 1 };
    for (unsigned bit = GR_LSTM_LN_X; bit <= GR_LSTM_LN_C; bit *= 2) {
        if (!(c->norm & bit)) continue;
        const gr_shape shape = GR_SHAPE(bit == GR_LSTM_LN_C ? c->H : G);
        in[n++] = (gr_gradcheck_input){ .shape = shape, .low = 0.5, .high = 1.5 };
        in[n++] = (gr_gradcheck_input){ .shape = shape, .low = -1, .high = 1 };
    }
    for (int i = 0; i < 2 && c->initial; i++) in[n++] = (gr_gradcheck_input){ .shape = GR_SHAPE(c->B, c->H), .low = -1, .high = 1 };
    return n;
}

static gr_lstm_out run(gr_tape *t, gr_tensor *const *in, const lstm_case *c)
{
    gr_lstm_weights w = { .norm = c->norm, .w_ih = in[1], .w_hh = in[2], .b_ih = in[3], .b_hh = in[4] };
    size_t n = 5;
    gr_lstm_ln *const ln[] = { &w.ln_ih, &w.ln_hh, &w.ln_sum, &w.ln_c };
    for (int k = 0; k < 4; k++)
        if (c->norm >> k & 1) ln[k]->weight = in[n++], ln[k]->bias = in[n++];
    const gr_lstm_options o = { .h0 = c->initial ? in[n] : NULL, .c0 = c->initial ? in[n + 1] : NULL, .batch_first = c->batch_first, .eps = c->eps,
                                .reverse = c->reverse, .lengths = c->lengths ? gr_ints_new(t, c->lengths, GR_SHAPE(c->B)) : NULL };
    return (c->f ? c->f : gr_lstm_sequence)(t, in[0], &w, &o);
}

/* One tensor of y, h and c, in which each has a gradient of its own. */
static gr_tensor *result(gr_tape *t, gr_tensor *const *in, void *argument)
{
    const lstm_case *c = argument;
    const gr_lstm_out s = run(t, in, c);
    if (c->only_h) return s.h;
    gr_tensor *last = gr_add(t, s.h, gr_square(t, s.c));
    return gr_add(t, s.y, c->batch_first ? gr_reshape(t, last, GR_SHAPE(c->B, 1, c->H)) : last);
}

/* With eps 0.1: norms of a few values that happen to be close are too curved for finite differences. */
static void check_gradient(lstm_case c, const gr_gradcheck_config *config)
{
    c.eps = 0.1;
    char name[100];
    gr_gradcheck_input in[MOST_INPUTS];
    snprintf(name, sizeof name, "lstm: norm %u, batch_first %d, reverse %d, initial %d, lengths %d", c.norm, c.batch_first, c.reverse,
             c.initial, c.lengths != NULL);
    assert_true(gr_gradcheck(stderr, name, result, &c, in, inputs_of(&c, in), config));
}

static void gradients_of_every_placement_and_option(void **state)
{
    (void)state;
    const int lengths[] = { 3, 1, 0 };
    for (size_t p = 0; p < COUNT(placements); p++)
        for (int o = 0; o < 16; o++)
            check_gradient((lstm_case){ .norm = placements[p], .batch_first = o & 1, .reverse = o & 2, .initial = o & 4,
                                         .lengths = o & 8 ? lengths : NULL, .T = 3, .B = 3, .I = 2, .H = 3 }, NULL);
}

static void gradients_across_shards_and_vectors(void **state)
{
    (void)state;
    const int lengths[] = { 2, 1, 0, 2, 1, 2, 2, 1, 0, 1, 2, 2, 1, 1, 2, 2, 0 };
    for (size_t p = 0; p < COUNT(placements); p += 3)
        check_gradient((lstm_case){ .norm = placements[p], .reverse = true, .lengths = lengths, .T = 2, .B = 17, .I = 3, .H = 17 },
                       &(gr_gradcheck_config){ .threads = 2 });
}

static void gradient_when_only_the_last_state_is_used(void **state)
{
    (void)state;
    check_gradient((lstm_case){ .norm = GR_LSTM_LN_BA2016, .only_h = true, .T = 4, .B = 2, .I = 1, .H = 5 }, NULL);
    check_gradient((lstm_case){ .only_h = true, .T = 1, .B = 1, .I = 5, .H = 1 }, NULL);
}

/* ---- The twin ---- */

/* Values of the inputs as in test_hash_of, so that two tapes hold the same. */
static void fill(gr_tape *t, const lstm_case *c, gr_tensor **in)
{
    gr_gradcheck_input spec[MOST_INPUTS];
    const size_t n = inputs_of(c, spec);
    gr_stream values = gr_stream_new(1, "values");
    for (size_t k = 0; k < n; k++) {
        in[k] = gr_want_grad(t, gr_empty(t, spec[k].shape));
        for (size_t i = 0; i < in[k]->len; i++)
            in[k]->data[i] = (gr_real)gr_stream_uniform(&values, spec[k].low < spec[k].high ? spec[k].low : -2, spec[k].low < spec[k].high ? spec[k].high : 2);
    }
}

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

static void agrees_with_its_composed_twin(void **state)
{
    (void)state;
    const int lengths[] = { 4, 1, 0, 3, 4, 2, 4, 4, 3 };
    gr_tape *t = gr_tape_new(1), *u = gr_tape_new(1);
    for (size_t p = 0; p < COUNT(placements); p++)
        for (int o = 0; o < 16; o++) {
            lstm_case c = { .norm = placements[p], .batch_first = o & 1, .reverse = o & 2, .initial = o & 4, .lengths = o & 8 ? lengths : NULL,
                            .T = 4, .B = 9, .I = 6, .H = 10 }, d = c;
            d.f = gr_lstm_composed;
            agree(t, c, u, d, sizeof(gr_real) == 4 ? 1e-4 : 1e-11);
            assert_ok(t);
            assert_ok(u);
            gr_tape_reset(t), gr_tape_reset(u);
        }
    gr_tape_free(t), gr_tape_free(u);
}

/* ---- Values ---- */

static gr_tensor *input_of(gr_tape *t, gr_shape shape, const gr_real *values) { return gr_want_grad(t, gr_input(t, values, shape)); }
#define INPUT(shape, ...) input_of(t, shape, (const gr_real[]){ __VA_ARGS__ })

/* One unit, one step, every weight and x, h0, c0 = 1: each gate sees 2. With s = sigmoid(2) and g = tanh(2):
 * c = s + s g, h = s tanh(c); the gradients of h by hand. */
static void one_unit_by_hand(void **state)
{
    (void)state;
    gr_tape *t = gr_tape_new(1);
    const gr_lstm_weights w = { .w_ih = INPUT(GR_SHAPE(4, 1), 1, 1, 1, 1), .w_hh = INPUT(GR_SHAPE(4, 1), 1, 1, 1, 1) };
    gr_tensor *x = INPUT(GR_SHAPE(1, 1, 1), 1), *h0 = INPUT(GR_SHAPE(1, 1), 1), *c0 = INPUT(GR_SHAPE(1, 1), 1);
    const gr_lstm_out s = gr_lstm_sequence(t, x, &w, &(gr_lstm_options){ .h0 = h0, .c0 = c0 });
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

/* W x = 1 2 3 4 is normalized to -1.341635 -0.447212 0.447212 1.341635; a cell of one value to its shift. */
static void norms_by_hand(void **state)
{
    (void)state;
    gr_tape *t = gr_tape_new(1);
    gr_lstm_weights w = { .norm = GR_LSTM_LN_X, .w_ih = INPUT(GR_SHAPE(4, 1), 1, 2, 3, 4), .w_hh = INPUT(GR_SHAPE(4, 1), 1, 1, 1, 1),
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

/* ---- Lengths and directions ---- */

static const int some_lengths[] = { 5, 2, 0, 1, 3, 5, 4, 2, 5, 1 };

static void past_its_end_a_sequence_keeps_its_state_and_y_is_0(void **state)
{
    (void)state;
    gr_tape *t = gr_tape_new(1);
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

/* What the padding holds reaches nothing: neither results nor gradients. */
static void padding_does_not_matter(void **state)
{
    (void)state;
    const gr_real contents[] = { 0, 1e6, NAN, INFINITY };
    uint64_t want = 0;
    for (int reverse = 0; reverse < 2; reverse++)
        for (size_t k = 0; k < COUNT(contents); k++) {
            gr_tape *t = gr_tape_new(1);
            lstm_case c = { .norm = GR_LSTM_LN_BA2016, .reverse = reverse, .lengths = some_lengths, .T = 5, .B = 10, .I = 3, .H = 7 };
            gr_tensor *in[MOST_INPUTS];
            gr_gradcheck_input spec[MOST_INPUTS];
            fill(t, &c, in);
            for (size_t time = 0; time < 5; time++)
                for (size_t b = 0; b < 10; b++)
                    for (size_t i = 0; i < 3 && time >= (size_t)some_lengths[b]; i++) in[0]->data[(time * 10 + b) * 3 + i] = contents[k];
            gr_tensor *y = result(t, in, &c);
            assert_true(gr_backward(t, gr_sum(t, gr_square(t, y), GR_ALL_AXES, false)));
            uint64_t hash = hash_reals(1, y->data, y->len);
            for (size_t n = 0; n < inputs_of(&c, spec); n++) hash = hash_reals(hash, gr_grad(t, in[n]), in[n]->len);
            if (!k) want = hash;
            assert_true(hash == want);
            gr_tape_free(t);
        }
}

/* In reverse, a sequence of length n is its first n steps walked from the last. */
static void reverse_is_forward_on_the_flipped_sequence(void **state)
{
    (void)state;
    gr_tape *t = gr_tape_new(1);
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

static void bits_do_not_depend_on_threads_or_instruction_set(void **state)
{
    (void)state;
    const int lengths[] = { 3, 3, 2, 1, 0, 3, 3, 2, 3, 3, 3, 3, 1, 3, 3, 3, 3, 3, 3, 2, 3, 3, 3 };
    for (size_t p = 0; p < COUNT(placements); p += 3) {
        lstm_case c = { .norm = placements[p], .lengths = lengths, .initial = true, .T = 3, .B = 23, .I = 5, .H = 19 };
        gr_gradcheck_input in[MOST_INPUTS];
        assert_bits_stay(result, &c, in, inputs_of(&c, in));
    }
}

/* Row 0 of the batch, by itself; and with recording off. */
static void a_sequence_gives_the_same_bits_alone(void **state)
{
    (void)state;
    for (size_t p = 0; p < COUNT(placements); p++) {
        gr_tape *t = gr_tape_new(1);
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

/* ---- Decay: nothing subnormal, ever ---- */

static void assert_no_dust(const gr_real *x, size_t n, double least)
{
    for (size_t i = 0; i < n; i++) assert_true(x[i] == 0 || fabs((double)x[i]) >= least);
}

/* Gates closed by their biases, so that state and gradient shrink by 0.12 a step: from 1 to 0 within 784, and nothing between
 * 2^-100 and 0 on the way (the gradient of x: times a weight of 1/4). */
static void state_and_gradient_that_vanish_become_zero(void **state)
{
    (void)state;
    enum { T = 784, H = 4 };
    gr_tape *t = gr_tape_new(1);
    gr_tensor *b = gr_full(t, GR_SHAPE(4 * H), -2), *c0 = gr_want_grad(t, gr_ones(t, GR_SHAPE(1, H)));
    const gr_lstm_weights w = { .w_ih = gr_full(t, GR_SHAPE(4 * H, 1), 0.25), .w_hh = gr_zeros(t, GR_SHAPE(4 * H, H)), .b_ih = b };
    for (int j = 2 * H; j < 3 * H; j++) b->data[j] = 0;
    gr_tensor *x = gr_want_grad(t, gr_zeros(t, GR_SHAPE(T, 1, 1)));
    const gr_lstm_out s = gr_lstm_sequence(t, x, &w, &(gr_lstm_options){ .c0 = c0 });
    assert_true(gr_backward(t, gr_sum(t, gr_add(t, s.h, s.c), GR_ALL_AXES, false)));
    assert_true(s.c->data[0] == 0 && s.h->data[0] == 0 && s.y->data[0] > R(0.01));
    assert_no_dust(s.y->data, s.y->len, 0x1p-100);
    assert_true(gr_grad(t, x)[0] == 0 && gr_grad(t, c0)[0] == 0 && gr_grad(t, x)[T - 1] > 0);
    assert_no_dust(gr_grad(t, x), T, 0x1p-102);
    gr_tape_free(t);
}

/* ---- Edges ---- */

static void sizes_of_zero(void **state)
{
    (void)state;
    gr_tape *t = gr_tape_new(1);
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

static void frozen_weights_and_a_missing_bias(void **state)
{
    (void)state;
    gr_tape *t = gr_tape_new(1);
    gr_tensor *b = gr_want_grad(t, gr_zeros(t, GR_SHAPE(8)));
    const gr_lstm_weights w = { .w_ih = gr_ones(t, GR_SHAPE(8, 3)), .w_hh = gr_ones(t, GR_SHAPE(8, 2)), .b_hh = b };
    const gr_lstm_out s = gr_lstm_sequence(t, gr_ones(t, GR_SHAPE(2, 9, 3)), &w, NULL);
    assert_true(gr_backward(t, gr_sum(t, s.y, GR_ALL_AXES, false)));
    assert_true(gr_grad(t, b)[0] != 0 && !gr_grad(t, w.w_ih));
    gr_tape_free(t);
}

static void refuse(gr_tape *t, gr_tensor *x, const gr_lstm_weights *w, const gr_lstm_options *o, const char *message)
{
    const gr_lstm_out s = gr_lstm_sequence(t, x, w, o);
    assert_true(!s.y && !s.h && !s.c);
    assert_message(t, message);
    t->error = GR_OK, t->message[0] = 0; /* keeps the tensors of the test alive */
}

static void errors_say_what_was_given_and_what_was_needed(void **state)
{
    (void)state;
    gr_tape *t = gr_tape_new(1);
#define ZEROS(...) gr_zeros(t, GR_SHAPE(__VA_ARGS__))
    gr_tensor *x = ZEROS(5, 2, 3);
    const gr_lstm_weights good = { .w_ih = ZEROS(8, 3), .w_hh = ZEROS(8, 2) };
    gr_lstm_weights w = good;
    refuse(t, NULL, &w, NULL, "lstm: argument 1 is NULL");
    refuse(t, x, NULL, NULL, "lstm: weights is NULL");
    refuse(t, ZEROS(2, 3), &w, NULL, "lstm: x must be [T, B, I]; got [2, 3]");
    refuse(t, ZEROS(2, 3), &w, &(gr_lstm_options){ .batch_first = true }, "lstm: x must be [B, T, I]; got [2, 3]");
    w.w_ih = ZEROS(8, 4), refuse(t, x, &w, NULL, "lstm: x is [5, 2, 3], so w_ih must be [4H, 3]; got [8, 4]");
    w.w_ih = ZEROS(0, 3), refuse(t, x, &w, NULL, "lstm: x is [5, 2, 3], so w_ih must be [4H, 3]; got [0, 3]");
    w.w_ih = NULL, refuse(t, x, &w, NULL, "lstm: x is [5, 2, 3], so w_ih must be [4H, 3]; got NULL");
    w = good, w.w_hh = ZEROS(8, 3), refuse(t, x, &w, NULL, "lstm: w_ih is [8, 3], so w_hh must be [8, 2]; got [8, 3]");
    w = good, w.b_hh = ZEROS(4), refuse(t, x, &w, NULL, "lstm: w_ih is [8, 3], so b_hh must be [8]; got [4]");
    w = good, w.norm = 32, refuse(t, x, &w, NULL, "lstm: norm is 32, which is no sum of GR_LSTM_LN_...");
    w.norm = GR_LSTM_LN_C, w.ln_c.weight = ZEROS(2), refuse(t, x, &w, NULL, "lstm: norm has GR_LSTM_LN_C, so ln_c.bias must be [2]; got NULL");
    w.norm = GR_LSTM_LN_X, refuse(t, x, &w, NULL, "lstm: norm has GR_LSTM_LN_X, so ln_ih.weight must be [8]; got NULL");
    w.norm = 0, refuse(t, x, &w, NULL, "lstm: ln_c.weight is given, but norm lacks GR_LSTM_LN_C");
    w = good;
    refuse(t, x, &w, &(gr_lstm_options){ .c0 = ZEROS(1, 2) }, "lstm: x holds 2 sequences and w_ih is [8, 3], so c0 must be [2, 2]; got [1, 2]");
    const gr_ints *lengths = gr_ints_new(t, (int[]){ 5, 6, 0 }, GR_SHAPE(3));
    refuse(t, x, &w, &(gr_lstm_options){ .lengths = lengths }, "lstm: x holds 2 sequences, so lengths must be [2]; got [3]");
    lengths = gr_ints_new(t, (int[]){ 5, 6 }, GR_SHAPE(2));
    refuse(t, x, &w, &(gr_lstm_options){ .lengths = lengths }, "lstm: x holds 5 steps, so lengths[1] must be in 0 .. 5; got 6");
    gr_tape_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_of_every_placement_and_option),
        cmocka_unit_test(gradients_across_shards_and_vectors),
        cmocka_unit_test(gradient_when_only_the_last_state_is_used),
        cmocka_unit_test(agrees_with_its_composed_twin),
        cmocka_unit_test(one_unit_by_hand),
        cmocka_unit_test(norms_by_hand),
        cmocka_unit_test(past_its_end_a_sequence_keeps_its_state_and_y_is_0),
        cmocka_unit_test(padding_does_not_matter),
        cmocka_unit_test(reverse_is_forward_on_the_flipped_sequence),
        cmocka_unit_test(bits_do_not_depend_on_threads_or_instruction_set),
        cmocka_unit_test(a_sequence_gives_the_same_bits_alone),
        cmocka_unit_test(state_and_gradient_that_vanish_become_zero),
        cmocka_unit_test(sizes_of_zero),
        cmocka_unit_test(frozen_weights_and_a_missing_bias),
        cmocka_unit_test(errors_say_what_was_given_and_what_was_needed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
