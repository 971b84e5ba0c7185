/* tests/test_lstm_bn.c - batch norms in the LSTM: gradients, the twin, running statistics, lengths, bits, messages. */
#include "core/kernel.h"
#include "examples/composed/composed.h"
#include "tests/test.h"

/* ---- A case: sizes and options, and the inputs that go with them ---- */

typedef struct {
    size_t T, B, I, H, steps;
    bool batch_first, reverse, initial, eval;
    const int *lengths;
    gr_lstm_out (*f)(gr_tape *, gr_tensor *, const gr_lstm_weights *, const gr_sequence_config *);
    double eps, momentum;
    gr_tensor *running[6]; /* of the last run */
} bn_case;

enum { INPUTS = 11 }; /* x, w_ih, w_hh, b_ih, b_hh, the gains, the cell's shift, h0 and c0 */

static size_t inputs_of(const bn_case *c, gr_gradcheck_input *in)
{
    const size_t G = 4 * c->H;
    in[0] = (gr_gradcheck_input){ .shape = c->batch_first ? GR_SHAPE(c->B, c->T, c->I) : GR_SHAPE(c->T, c->B, c->I) };
    in[1] = (gr_gradcheck_input){ .shape = GR_SHAPE(G, c->I), .low = -1, .high = 1 };
    in[2] = (gr_gradcheck_input){ .shape = GR_SHAPE(G, c->H), .low = -1, .high = 1 };
    for (int i = 3; i < 5; i++) in[i] = (gr_gradcheck_input){ .shape = GR_SHAPE(G), .low = -1, .high = 1 };
    for (int i = 5; i < 8; i++) in[i] = (gr_gradcheck_input){ .shape = GR_SHAPE(i < 7 ? G : c->H), .low = 0.5, .high = 1.5 };
    in[8] = (gr_gradcheck_input){ .shape = GR_SHAPE(c->H), .low = -1, .high = 1 };
    for (int i = 9; i < 11; i++) in[i] = (gr_gradcheck_input){ .shape = GR_SHAPE(c->B, c->H), .low = -1, .high = 1 };
    return c->initial ? 11 : 9;
}

static gr_tensor *buffer(gr_tape *t, size_t steps, size_t n, double mean, double range)
{
    gr_stream s = gr_stream_new(3, "buffers");
    gr_tensor *x = gr_empty(t, GR_SHAPE(steps, n));
    for (size_t i = 0; x && i < x->len; i++) x->data[i] = (gr_real)gr_stream_uniform(&s, mean - range, mean + range);
    return x;
}

static gr_lstm_out run(gr_tape *t, gr_tensor *const *in, bn_case *c)
{
    const size_t G = 4 * c->H, S = c->steps ? c->steps : 2;
    for (int i = 0; i < 6; i++) c->running[i] = buffer(t, S, i < 4 ? G : c->H, i % 2 ? 1 : 0, 0.5);
    gr_tensor **r = c->running;
    const gr_lstm_weights w = { .norm = GR_LSTM_BN,
                                .w_ih = in[1],
                                .w_hh = in[2],
                                .b_ih = in[3],
                                .b_hh = in[4],
                                .bn_ih = { in[5], NULL, r[0], r[1] },
                                .bn_hh = { in[6], NULL, r[2], r[3] },
                                .bn_c = { in[7], in[8], r[4], r[5] } };
    const gr_sequence_config o = { .h0 = c->initial ? in[9] : NULL,
                                   .c0 = c->initial ? in[10] : NULL,
                                   .batch_first = c->batch_first,
                                   .reverse = c->reverse,
                                   .eps = c->eps,
                                   .momentum = c->momentum,
                                   .lengths = c->lengths ? gr_ints_new(t, c->lengths, GR_SHAPE(c->B)) : NULL };
    return (c->f ? c->f : gr_lstm_sequence)(t, in[0], &w, &o);
}

static gr_tensor *result(gr_tape *t, gr_tensor *const *in, void *argument)
{
    bn_case *c = argument;
    const bool training = gr_tape_training(t);
    gr_tape_set_training(t, !c->eval);
    const gr_lstm_out s = run(t, in, c);
    gr_tape_set_training(t, training);
    gr_tensor *last = gr_add(t, s.h, gr_square(t, s.c));
    return gr_add(t, s.y, c->batch_first ? gr_reshape(t, last, GR_SHAPE(c->B, 1, c->H)) : last);
}

static void fill(gr_tape *t, const bn_case *c, gr_tensor **in)
{
    gr_gradcheck_input spec[INPUTS];
    const size_t n = inputs_of(c, spec);
    gr_stream values = gr_stream_new(1, "values");
    for (size_t k = 0; k < n; k++) {
        const bool given = spec[k].low < spec[k].high;
        in[k] = gr_want_grad(t, gr_empty(t, spec[k].shape));
        for (size_t i = 0; i < in[k]->len; i++)
            in[k]->data[i] = (gr_real)gr_stream_uniform(&values, given ? spec[k].low : -2, given ? spec[k].high : 2);
    }
}

/* ---- Gradients and the twin ---- */

/* eps is 0.5, because with a smaller one the variance of a few values has too much curvature after some steps for finite differences. */
static void check_gradient(bn_case c, const gr_gradcheck_config *config)
{
    char name[100];
    gr_gradcheck_input in[INPUTS];
    c.eps = 0.5;
    snprintf(name, sizeof name, "lstm_bn: batch_first %d, reverse %d, initial %d, lengths %d, eval %d", c.batch_first, c.reverse, c.initial,
             c.lengths != NULL, c.eval);
    assert_true(test_gradcheck(name, result, &c, in, inputs_of(&c, in), config, stderr));
}

TEST(gradients_match_finite_differences)
{
    const int lengths[] = { 3, 1, 0, 3, 2 };
    for (int o = 0; o < 32; o++)
        check_gradient((bn_case){ .batch_first = o & 1,
                                  .reverse = o & 2,
                                  .initial = o & 4,
                                  .lengths = o & 8 ? lengths : NULL,
                                  .eval = o & 16,
                                  .T = 3,
                                  .B = 5,
                                  .I = 2,
                                  .H = 3 },
                       NULL);
}

TEST(gradients_are_right_across_chunks_and_in_small_sizes)
{
    const int lengths[] = { 2, 1, 0 };
    check_gradient((bn_case){ .lengths = lengths, .initial = true, .T = 2, .B = 3, .I = 2, .H = 33 },
                   &(gr_gradcheck_config){ .threads = 2 });
    check_gradient((bn_case){ .T = 2, .B = 1, .I = 2, .H = 2 }, NULL);
    check_gradient((bn_case){ .T = 1, .B = 2, .I = 1, .H = 1 }, NULL);
    check_gradient((bn_case){ .T = 2, .B = 17, .I = 17, .H = 1, .reverse = true }, NULL);
}

TEST(agrees_with_its_composed_twin)
{
    const int lengths[] = { 4, 1, 0, 3, 4, 2, 4, 4, 3 };
    const double tolerance = sizeof(gr_real) == 4 ? 2e-4 : 1e-10;
    for (int o = 0; o < 32; o++) {
        gr_tape *t = gr_tape_new(1, NULL);
        bn_case c = { .batch_first = o & 1,
                      .reverse = o & 2,
                      .initial = o & 4,
                      .lengths = o & 8 ? lengths : NULL,
                      .eval = o & 16,
                      .T = 4,
                      .B = 9,
                      .I = 6,
                      .H = 35 },
                d = c;
        gr_tensor *a[INPUTS], *b[INPUTS];
        gr_gradcheck_input spec[INPUTS];
        d.f = composed_lstm;
        fill(t, &c, a), fill(t, &d, b);
        gr_tensor *x = result(t, a, &c), *y = result(t, b, &d);
        assert_tensors_close(x, y, tolerance);
        gr_tensor *w = gr_randn(t, gr_shape_of(x), 0, 1, "cotangent");
        assert_true(gr_backward(t, gr_sum(t, gr_mul(t, w, gr_add(t, x, y)), GR_ALL_AXES, false)));
        for (size_t k = 0; k < inputs_of(&c, spec); k++) assert_close(gr_grad(t, a[k]), gr_grad(t, b[k]), a[k]->len, tolerance);
        gr_tape_free(t);
    }
}

/* ---- Running statistics ---- */

static gr_tensor *input_of(gr_tape *t, gr_shape shape, const gr_real *values) { return gr_want_grad(t, gr_input(t, values, shape)); }
#define INPUT(shape, ...) input_of(t, shape, (const gr_real[]){ __VA_ARGS__ })

/* W x of one unit is 1 3 | 5 in its first column and 0 in the others. Step 0 has mean 2, biased variance 1, unbiased variance 2. At step 1
 * one sequence is left. Step 2 is beyond the buffers, and no sequence is left. */
TEST(statistics_are_those_computed_by_hand)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *x = INPUT(GR_SHAPE(3, 2, 1), 1, 3, 5, NAN, NAN, NAN);
    gr_tensor *mean = gr_zeros(t, GR_SHAPE(2, 4)), *var = gr_ones(t, GR_SHAPE(2, 4)), *rest[4];
    for (int i = 0; i < 4; i++) rest[i] = gr_full(t, GR_SHAPE(2, i < 2 ? 4 : 1), i % 2);
    const gr_lstm_weights w = { .norm = GR_LSTM_BN,
                                .w_ih = INPUT(GR_SHAPE(4, 1), 1, 0, 0, 0),
                                .w_hh = gr_zeros(t, GR_SHAPE(4, 1)),
                                .b_ih = INPUT(GR_SHAPE(4), 0, 0, 1, 0),
                                .bn_ih = { gr_ones(t, GR_SHAPE(4)), NULL, mean, var },
                                .bn_hh = { gr_ones(t, GR_SHAPE(4)), NULL, rest[0], rest[1] },
                                .bn_c = { gr_ones(t, GR_SHAPE(1)), gr_zeros(t, GR_SHAPE(1)), rest[2], rest[3] } };
    gr_sequence_config o = { .lengths = gr_ints_new(t, (int[]){ 2, 1 }, GR_SHAPE(2)), .eps = GR_NONE };
    const gr_lstm_out s = gr_lstm_sequence(t, x, &w, &o);
    const double g = tanh(1), i0 = 1 / (1 + exp(1)), i1 = 1 / (1 + exp(-1)), c = i0 * g / 2 + g / 2;
    assert_values(s.y, 1e-6, (gr_real)(tanh(-1) / 2), (gr_real)(tanh(1) / 2), 0, 0, 0, 0); /* then one sequence is left, and BN(c) is the shift */
    assert_values(s.c, 1e-6, (gr_real)c, (gr_real)(i1 * g));
    assert_values(mean, 1e-6, R(0.2), 0, 0, 0, 0, 0, 0, 0);
    assert_values(var, 1e-6, R(1.1), R(0.9), R(0.9), R(0.9), 1, 1, 1, 1);
    assert_true(gr_backward(t, gr_sum(t, s.y, GR_ALL_AXES, false)));
    for (int i = 0; i < 4; i++) assert_true(isfinite(gr_grad(t, w.w_ih)[i]));

    o.momentum = 1, gr_lstm_sequence(t, x, &w, &o);
    assert_values(mean, 1e-6, 2, 0, 0, 0, 0, 0, 0, 0);
    assert_values(var, 1e-6, 2, 0, 0, 0, 1, 1, 1, 1);
    o.momentum = GR_NONE, mean->data[0] = 7, gr_lstm_sequence(t, x, &w, &o);
    assert_true(mean->data[0] == 7);
    gr_tape_set_training(t, false), o.momentum = 0, gr_lstm_sequence(t, x, &w, &o);
    assert_true(mean->data[0] == 7);
    assert_ok(t);
    gr_tape_free(t);
}

/* Steps beyond the buffers use the last row of the buffers. */
TEST(evaluation_beyond_the_buffers_uses_the_last_statistics)
{
    gr_tape *t = gr_tape_new(1, NULL);
    bn_case c = { .T = 5, .B = 4, .I = 3, .H = 6, .steps = 2, .eval = true };
    gr_tensor *in[INPUTS];
    fill(t, &c, in);
    gr_tensor *y = result(t, in, &c);
    gr_tape_set_training(t, false);
    gr_lstm_weights w = { .norm = GR_LSTM_BN,
                          .w_ih = in[1],
                          .w_hh = in[2],
                          .b_ih = in[3],
                          .b_hh = in[4],
                          .bn_ih = { in[5] },
                          .bn_hh = { in[6] },
                          .bn_c = { in[7], in[8] } };
    gr_tensor **place[] = { &w.bn_ih.running_mean, &w.bn_ih.running_var, &w.bn_hh.running_mean,
                            &w.bn_hh.running_var,  &w.bn_c.running_mean, &w.bn_c.running_var };
    for (int i = 0; i < 6; i++) {
        gr_tensor *last = gr_slice(t, c.running[i], 1, 1), *rows[] = { c.running[i], last, last, last };
        *place[i] = gr_cat(t, rows, 4, 0);
    }
    const gr_lstm_out s = gr_lstm_sequence(t, in[0], &w, NULL);
    assert_tensors_close(gr_add(t, s.y, gr_add(t, s.h, gr_square(t, s.c))), y, 0);
    gr_tape_free(t);
}

/* ---- Lengths and bits ---- */

static const int some_lengths[] = { 5, 2, 0, 1, 3, 5, 4, 2, 5, 1 };

TEST(padding_changes_no_result_and_no_gradient)
{
    const gr_real contents[] = { 0, 1e6, NAN, INFINITY };
    for (int reverse = 0; reverse < 2; reverse++) {
        uint64_t want = 0;
        for (size_t k = 0; k < COUNT(contents) + 1; k++) { /* in the last case, three more steps of padding */
            gr_tape *t = gr_tape_new(1, NULL);
            bn_case c = { .reverse = reverse, .lengths = some_lengths, .T = 5, .B = 10, .I = 3, .H = 7, .steps = 5 };
            gr_tensor *in[INPUTS];
            gr_gradcheck_input spec[INPUTS];
            fill(t, &c, in);
            for (size_t time = 0; time < 5; time++)
                for (size_t b = 0; b < 10; b++)
                    for (size_t i = 0; i < 3 && time >= (size_t)some_lengths[b]; i++)
                        in[0]->data[(time * 10 + b) * 3 + i] = k < 4 ? contents[k] : 0;
            if (k == 4) {
                gr_tensor *longer = gr_want_grad(t, gr_full(t, GR_SHAPE(8, 10, 3), NAN));
                memcpy(longer->data, in[0]->data, in[0]->len * sizeof(gr_real));
                in[0] = longer, c.T = 8;
            }
            gr_tensor *y = gr_slice(t, run(t, in, &c).y, 0, 5);
            assert_true(gr_backward(t, gr_sum(t, gr_square(t, y), GR_ALL_AXES, false)));
            uint64_t hash = hash_reals(1, y->data, y->len);
            for (size_t n = 0; n < inputs_of(&c, spec); n++) hash = hash_reals(hash, gr_grad(t, in[n]), n ? in[n]->len : 150);
            for (size_t n = 0; n < 6; n++) hash = hash_reals(hash, c.running[n]->data, c.running[n]->len);
            if (!k) want = hash;
            assert_true(hash == want);
            gr_tape_free(t);
        }
    }
}

TEST(bits_do_not_depend_on_threads_or_instruction_set)
{
    const int lengths[] = { 3, 3, 2, 1, 0, 3, 3, 2, 3, 3, 3, 3, 1, 3, 3, 3, 3, 3, 3, 2, 3, 3, 3 };
    gr_gradcheck_input in[INPUTS];
    for (int eval = 0; eval < 2; eval++) {
        bn_case c = { .lengths = lengths, .initial = true, .eval = eval, .T = 3, .B = 23, .I = 5, .H = 83 };
        assert_bits_stay(result, &c, in, inputs_of(&c, in));
    }
}

TEST(no_steps_no_sequences_and_no_inputs_are_accepted)
{
    const size_t sizes[][3] = { { 0, 2, 3 }, { 4, 0, 3 }, { 4, 2, 0 }, { 0, 0, 0 } };
    for (size_t k = 0; k < 2 * COUNT(sizes); k++) {
        gr_tape *t = gr_tape_new(1, NULL);
        gr_tensor *in[INPUTS];
        bn_case c = { .initial = true, .eval = k % 2, .T = sizes[k / 2][0], .B = sizes[k / 2][1], .I = sizes[k / 2][2], .H = 5 };
        fill(t, &c, in);
        gr_tensor *y = result(t, in, &c);
        assert_true(y && y->len == c.T * c.B * 5 && gr_backward(t, gr_sum(t, y, GR_ALL_AXES, false)));
        assert_ok(t);
        gr_tape_free(t);
    }
}

/* ---- Messages ---- */

TEST(batch_norms_that_do_not_fit_are_named)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *net = gr_module_new(t);
#define ZEROS(...) lasting(t, net, GR_SHAPE(__VA_ARGS__), 0)
    gr_tensor *x = ZEROS(5, 2, 3);
    const gr_lstm_weights good = { .norm = GR_LSTM_BN,
                                   .w_ih = ZEROS(8, 3),
                                   .w_hh = ZEROS(8, 2),
                                   .bn_ih = { ZEROS(8), NULL, ZEROS(5, 8), ZEROS(5, 8) },
                                   .bn_hh = { ZEROS(8), NULL, ZEROS(5, 8), ZEROS(5, 8) },
                                   .bn_c = { ZEROS(2), ZEROS(2), ZEROS(5, 2), ZEROS(5, 2) } };
    gr_lstm_weights w = good;
    w.norm |= GR_LSTM_LN_X, assert_no_sequence(t, gr_lstm_sequence(t, x, &w, NULL), "lstm: norm is 33, which is neither a sum of GR_LSTM_LN_... nor GR_LSTM_BN");
    w = good, w.bn_ih.bias = ZEROS(8), assert_no_sequence(t, gr_lstm_sequence(t, x, &w, NULL), "lstm: bn_ih.bias is given, but only bn_c has one");
    w = good, w.bn_hh.weight = NULL, assert_no_sequence(t, gr_lstm_sequence(t, x, &w, NULL), "lstm: norm is GR_LSTM_BN, so bn_hh.weight must be [8]; got NULL");
    w = good, w.bn_ih.running_mean = ZEROS(0, 8),
    assert_no_sequence(t, gr_lstm_sequence(t, x, &w, NULL), "lstm: norm is GR_LSTM_BN, so bn_ih.running_mean must be [1, 8]; got [0, 8]");
    w = good, w.bn_c.running_var = ZEROS(4, 2),
    assert_no_sequence(t, gr_lstm_sequence(t, x, &w, NULL), "lstm: norm is GR_LSTM_BN, so bn_c.running_var must be [5, 2]; got [4, 2]");
    w = good, w.ln_c.weight = ZEROS(2), assert_no_sequence(t, gr_lstm_sequence(t, x, &w, NULL), "lstm: ln_c.weight is given, but norm lacks GR_LSTM_LN_C");
    w = good, w.norm = 0, assert_no_sequence(t, gr_lstm_sequence(t, x, &w, NULL), "lstm: bn_ih.weight is given, but norm lacks GR_LSTM_BN");
    assert_no_sequence(t, gr_lstm_sequence(t, x, &good, &(gr_sequence_config){ .momentum = 1.5 }), "lstm: momentum must be in 0 .. 1, or GR_NONE; got 1.5");
    gr_module_free(net), gr_tape_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_match_finite_differences),
        cmocka_unit_test(gradients_are_right_across_chunks_and_in_small_sizes),
        cmocka_unit_test(agrees_with_its_composed_twin),
        cmocka_unit_test(statistics_are_those_computed_by_hand),
        cmocka_unit_test(evaluation_beyond_the_buffers_uses_the_last_statistics),
        cmocka_unit_test(padding_changes_no_result_and_no_gradient),
        cmocka_unit_test(bits_do_not_depend_on_threads_or_instruction_set),
        cmocka_unit_test(no_steps_no_sequences_and_no_inputs_are_accepted),
        cmocka_unit_test(batch_norms_that_do_not_fit_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
