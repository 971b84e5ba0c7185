/* tests/test_lstm.c - the LSTM sequence operator and its twin. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_of_every_placement_and_option),
        cmocka_unit_test(gradients_across_shards_and_vectors),
        cmocka_unit_test(gradient_when_only_the_last_state_is_used),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
