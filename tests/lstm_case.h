/* tests/lstm_case.h - what the tests of the recurrent operators share: sizes, norms and options, and the inputs that go with them. */
#ifndef LSTM_CASE_H
#define LSTM_CASE_H
#include "core/kernel.h"
#include "tests/test.h"

typedef gr_lstm_out sequence(gr_tape *t, gr_tensor *x, const gr_lstm_weights *w, const gr_sequence_config *o);
typedef struct {
    unsigned norm;
    bool batch_first, reverse, initial;
    const int *lengths;
    size_t T, B, I, H;
    sequence *f;
    bool only_h;   /* the result is h alone; default y, h and c together */
    double eps;
    size_t gates;  /* 3 for a GRU, 1 for an RNN; default 4, an LSTM */
    bool relu;
    double *dh_norm, *dc_norm;
} lstm_case;

enum { MOST_INPUTS = 15 };

static const unsigned placements[] = {
    0, GR_LSTM_LN_X, GR_LSTM_LN_H, GR_LSTM_LN_X | GR_LSTM_LN_H, GR_LSTM_LN_SUM, GR_LSTM_LN_X | GR_LSTM_LN_SUM, GR_LSTM_LN_H | GR_LSTM_LN_SUM,
    GR_LSTM_LN_X | GR_LSTM_LN_H | GR_LSTM_LN_SUM, GR_LSTM_LN_C, GR_LSTM_LN_BA2016, GR_LSTM_LN_SUM | GR_LSTM_LN_C,
    GR_LSTM_LN_BA2016 | GR_LSTM_LN_SUM, GR_LSTM_LN_BA2016 | GR_LSTM_LN_PER_GATE, GR_LSTM_LN_SUM | GR_LSTM_LN_PER_GATE,
    GR_LSTM_LN_BA2016 | GR_LSTM_LN_SUM | GR_LSTM_LN_PER_GATE,
};

/* The inputs are x, w_ih, w_hh, b_ih, b_hh, two for each norm, and h0 and c0 if initial. Returns how many there are. */
static inline bool is_lstm(const lstm_case *c) { return !c->gates || c->gates == 4; }
static inline size_t inputs_of(const lstm_case *c, gr_gradcheck_input *in)
{
    const size_t G = (c->gates ? c->gates : 4) * c->H;
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
    for (int i = 0; i < 1 + is_lstm(c) && c->initial; i++) in[n++] = (gr_gradcheck_input){ .shape = GR_SHAPE(c->B, c->H), .low = -1, .high = 1 };
    return n;
}

static inline gr_lstm_out run(gr_tape *t, gr_tensor *const *in, const lstm_case *c)
{
    gr_lstm_weights w = { .norm = c->norm, .w_ih = in[1], .w_hh = in[2], .b_ih = in[3], .b_hh = in[4] };
    size_t n = 5;
    gr_lstm_ln *const ln[] = { &w.ln_ih, &w.ln_hh, &w.ln_sum, &w.ln_c };
    for (int k = 0; k < 4; k++)
        if (c->norm >> k & 1) ln[k]->weight = in[n++], ln[k]->bias = in[n++];
    const gr_sequence_config o = { .h0 = c->initial ? in[n] : NULL, .c0 = c->initial && is_lstm(c) ? in[n + 1] : NULL, .batch_first = c->batch_first, .eps = c->eps,
                                .reverse = c->reverse, .relu = c->relu, .dh_norm = c->dh_norm, .dc_norm = c->dc_norm, .lengths = c->lengths ? gr_ints_new(t, c->lengths, GR_SHAPE(c->B)) : NULL };
    return (c->f ? c->f : is_lstm(c) ? gr_lstm_sequence : c->gates == 3 ? gr_gru_sequence : gr_rnn_sequence)(t, in[0], &w, &o);
}

/* Combine y, h and c into one tensor, so that each of them gets a different gradient. */
static inline gr_tensor *result(gr_tape *t, gr_tensor *const *in, void *argument)
{
    const lstm_case *c = argument;
    const gr_lstm_out s = run(t, in, c);
    if (c->only_h) return s.h;
    gr_tensor *last = s.c ? gr_add(t, s.h, gr_square(t, s.c)) : s.h;
    return gr_add(t, s.y, c->batch_first ? gr_reshape(t, last, GR_SHAPE(c->B, 1, c->H)) : last);
}

/* Draw the inputs from one stream, so that two tapes hold the same values. */
static inline void fill(gr_tape *t, const lstm_case *c, gr_tensor **in)
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

/* The values of the padding reach no result and no gradient. The inputs are [5, 10, 3]. */
static const int some_lengths[] = { 5, 2, 0, 1, 3, 5, 4, 2, 5, 1 };
static inline void assert_padding_is_ignored(lstm_case c)
{
    const gr_real contents[] = { 0, 1e6, NAN, INFINITY };
    uint64_t want = 0;
    for (size_t k = 0; k < COUNT(contents); k++) {
        gr_tape *t = gr_tape_new(1, NULL);
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

#endif
