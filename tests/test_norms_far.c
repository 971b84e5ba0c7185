/* tests/test_norms_far.c - norms of values whose squares or sums overflow gr_real, next to ordinary ones. Without eps, multiplying a group
 * of values by a power of two does not change its norm, and divides its gradient by that power. */
#include "tests/test.h"
#include <float.h>

#ifdef GR_REAL_DOUBLE
#define TOP 1022
#define HIGH 520
#else
#define TOP 126
#define HIGH 64
#endif
static const int exponents[] = { 0, HIGH, -TOP, TOP, 3, TOP - 20, -HIGH, -TOP + 10 };

typedef gr_tensor *norm_function(gr_tape *t, gr_tensor *x, gr_tensor *gamma, gr_tensor *beta, const gr_tensor *mask);
#define NORM(name, call) \
    static gr_tensor *name(gr_tape *t, gr_tensor *x, gr_tensor *gamma, gr_tensor *beta, const gr_tensor *mask) { return (void)beta, (void)mask, call; }
NORM(layer, gr_layer_norm(t, x, 1, gamma, beta, GR_NONE))
NORM(rms, gr_rms_norm(t, x, 1, gamma, GR_NONE))
NORM(batch, gr_batch_norm(t, x, 1, gamma, beta, (&(gr_batch_norm_config){ .eps = GR_NONE })))
NORM(batch_last, gr_batch_norm(t, x, -1, gamma, beta, (&(gr_batch_norm_config){ .eps = GR_NONE })))
NORM(batch_masked, gr_batch_norm(t, x, 1, gamma, beta, (&(gr_batch_norm_config){ .eps = GR_NONE, .mask = mask })))
NORM(group, gr_group_norm(t, x, 3, gamma, beta, GR_NONE))
NORM(instance, gr_instance_norm(t, x, 1, gamma, beta, GR_NONE))
NORM(instance_last, gr_instance_norm(t, x, -1, gamma, beta, GR_NONE))
NORM(channel, gr_norm_axes(t, x, GR_AXES(1), GR_AXES(1), gamma, beta, GR_NONE))

/* A norm and how x is divided into groups: `axis` marks the axes that distinguish groups, and the channels are divided into `parts` if that
 * is not 0. */
typedef struct { norm_function *f; gr_shape shape; bool axis[4]; size_t gammas, parts; bool masked; } norm_case;
#define DIMS(...) { GR_COUNT(__VA_ARGS__), { __VA_ARGS__ } }
static const norm_case cases[] = {
    { layer, DIMS(37, 19), { true }, 19, 0, false },
    { layer, DIMS(9, 1), { true }, 1, 0, false },
    { rms, DIMS(37, 19), { true }, 19, 0, false },
    { batch, DIMS(5, 11, 3, 7), { false, true }, 11, 0, false },
    { batch, DIMS(70, 45), { false, true }, 45, 0, false },
    { batch_last, DIMS(5, 17, 45), { false, false, true }, 45, 0, false },
    { batch_masked, DIMS(5, 11, 13), { false, true }, 11, 0, true },
    { batch_masked, DIMS(70, 45), { false, true }, 45, 0, true },
    { group, DIMS(7, 12, 2, 9), { true, true }, 12, 3, false },
    { group, DIMS(7, 12), { true, true }, 12, 3, false },
    { instance, DIMS(7, 5, 2, 9), { true, true }, 5, 0, false },
    { instance_last, DIMS(7, 18, 35), { true, false, true }, 35, 0, false },
    { channel, DIMS(3, 12, 5, 7), { true, false, true, true }, 12, 0, false },
};

static size_t group_of(const norm_case *c, size_t i)
{
    size_t g = 0, unit = 1;
    for (int k = c->shape.rank - 1; k >= 0; k--) {
        size_t index = i % c->shape.dim[k], n = c->shape.dim[k];
        i /= n;
        if (k == 1 && c->parts) index /= n / c->parts, n = c->parts;
        if (c->axis[k]) g += index * unit, unit *= n;
    }
    return g;
}

static double factor_of(const norm_case *c, size_t i) { return ldexp(1, exponents[group_of(c, i) % COUNT(exponents)]); }

typedef struct { gr_tape *t; gr_tensor *x, *gamma, *beta, *y; } norm_run;

static norm_run run(const norm_case *c, bool far, int threads)
{
    norm_run r = { .t = gr_tape_new(1, (&(gr_tape_config){ .threads = threads })) };
    gr_stream s = gr_stream_new(1, "values");
    r.x = gr_empty(r.t, c->shape);
    gr_shape positions = c->shape; /* the shape of a mask: x without axis 1 */
    for (int k = 1; k + 1 < positions.rank; k++) positions.dim[k] = positions.dim[k + 1];
    positions.rank--;
    gr_tensor *mask = c->masked ? gr_empty(r.t, positions) : NULL, *dy = gr_rand(r.t, c->shape, -1, 1, "dy");
    for (size_t i = 0; mask && i < mask->len; i++) mask->data[i] = i % 3 != 1;
    for (size_t i = 0; i < r.x->len; i++) {
        const double base = floor(gr_stream_uniform(&s, -250, 250)) / 64;
        r.x->data[i] = (gr_real)(base * (far ? factor_of(c, i) : 1));
    }
    r.gamma = gr_want_grad(r.t, gr_rand(r.t, GR_SHAPE(c->gammas), 0.5, 2, "gamma"));
    r.beta = gr_want_grad(r.t, gr_rand(r.t, GR_SHAPE(c->gammas), -1, 1, "beta"));
    r.y = c->f(r.t, gr_want_grad(r.t, r.x), r.gamma, r.beta, mask);
    assert_ok(r.t);
    assert_true(gr_backward_from(r.t, r.y, dy->data));
    for (size_t i = 0; i < r.x->len; i++) /* the gradient is 2^126 times as large */
        if (far) gr_grad(r.t, r.x)[i] *= (gr_real)factor_of(c, i);
    return r;
}

TEST(a_group_of_any_size_has_the_values_and_gradients_of_an_ordinary_one)
{
    const double tolerance = sizeof(gr_real) == 4 ? 4e-6 : 1e-13;
    for (size_t k = 0; k < COUNT(cases); k++) {
        norm_run want = run(&cases[k], false, 1), got = run(&cases[k], true, 2);
        assert_tensors_close(got.y, want.y, tolerance);
        assert_close(gr_grad(got.t, got.x), gr_grad(want.t, want.x), got.x->len, 2 * tolerance);
        assert_close(gr_grad(got.t, got.gamma), gr_grad(want.t, want.gamma), got.gamma->len, tolerance);
        if (gr_grad(want.t, want.beta)) assert_close(gr_grad(got.t, got.beta), gr_grad(want.t, want.beta), got.beta->len, tolerance);
        gr_tape_free(want.t), gr_tape_free(got.t);
    }
}

/* Also with the default eps, which is negligible beside such a variance. All values have one sign, so their sum overflows, but their mean
 * does not. */
TEST(near_the_largest_number_the_mean_does_not_overflow)
{
    const gr_real top = (gr_real)ldexp(1, TOP), x[] = { 3 * top, 3 * top, 3 * top, -3 * top, 3 * top, 3 * top, 2 * top, 3 * top };
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *rows = gr_input(t, x, GR_SHAPE(2, 4)), *columns = gr_transpose(t, rows, 0, 1);
    const double a = 1 / sqrt(3), b = -3 / sqrt(3);
    assert_values(gr_layer_norm(t, rows, 1, NULL, NULL, 1e-5), 2e-6, a, a, a, b, a, a, b, a);
    assert_values(gr_batch_norm(t, columns, 1, NULL, NULL, NULL), 2e-6, a, a, a, a, a, b, b, a);
    assert_values(gr_batch_norm(t, gr_reshape(t, rows, GR_SHAPE(1, 2, 4)), 1, NULL, NULL, NULL), 2e-6, a, a, a, b, a, a, b, a);
    assert_values(gr_rms_norm(t, gr_input(t, x, GR_SHAPE(1, 4)), 1, NULL, 1e-5), 2e-6, 1, 1, 1, -1);
    gr_tensor *same = gr_want_grad(t, gr_full(t, GR_SHAPE(2, 3), 3 * (double)top)), *y = gr_layer_norm(t, same, 1, NULL, NULL, 1e-5);
    assert_values(y, 0, 0, 0, 0, 0, 0, 0);
    assert_true(gr_backward_from(t, y, (gr_real[]){ 1, 0, 0, 0, 0, 0 }));
    assert_close(gr_grad(t, same), ((gr_real[]){ (gr_real)210.81851, (gr_real)-105.40926, (gr_real)-105.40926, 0, 0, 0 }), 6, 1e-6);
    gr_tape_free(t);
}

TEST(running_statistics_follow_until_the_variance_is_infinite)
{
    const gr_real one = 1, far = (gr_real)ldexp(1, TOP / 2 - 4), top = (gr_real)ldexp(1, TOP);
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *mean = gr_zeros(t, GR_SHAPE(3)), *var = gr_ones(t, GR_SHAPE(3));
    gr_tensor *x = gr_input(t, (gr_real[]){ 1 * one, 1 * far, 2 * top, 3 * one, 3 * far, 3 * top }, GR_SHAPE(2, 3));
    gr_tensor *y = gr_batch_norm(t, x, 1, NULL, NULL, &(gr_batch_norm_config){ .running_mean = mean, .running_var = var, .momentum = 0.5 });
    assert_close(y->data, ((gr_real[]){ -1, -1, -1, 1, 1, 1 }), 6, 1e-5);
    assert_values(mean, 1e-6, 1, far, (gr_real)(1.25 * (double)top));
    for (int i = 0; i < 2; i++) assert_close(mean->data + i, ((gr_real[]){ one, far } + i), 1, 1e-6);
    assert_close(var->data, ((gr_real[]){ (gr_real)1.5, far * far }), 1, 1e-6);
    assert_close(var->data + 1, ((gr_real[]){ far * far }), 1, 1e-6);
    assert_true(isinf(var->data[2]) && var->data[2] > 0);
    gr_tape_set_training(t, false);
    y = gr_batch_norm(t, x, 1, NULL, NULL, &(gr_batch_norm_config){ .running_mean = mean, .running_var = var });
    assert_true(y->data[2] == 0 && y->data[5] == 0); /* (x - mean) / infinity */
    gr_tape_free(t);
}

TEST(inputs_that_are_not_finite_give_nan)
{
    const gr_real bad[] = { (gr_real)NAN, (gr_real)INFINITY, -(gr_real)INFINITY };
    gr_tape *t = gr_tape_new(1, NULL);
    for (int k = 0; k < 3; k++) {
        gr_tensor *x = gr_want_grad(t, gr_input(t, (gr_real[]){ 1, 2, bad[k], 4, 5, 6, 7, 9 }, GR_SHAPE(2, 4)));
        gr_tensor *y = gr_layer_norm(t, x, 1, NULL, NULL, 1e-5), *z = gr_batch_norm(t, x, 1, NULL, NULL, NULL);
        gr_tensor *p = gr_batch_norm(t, gr_reshape(t, x, GR_SHAPE(1, 2, 4)), 1, NULL, NULL, NULL);
        for (int i = 0; i < 8; i++) assert_true(!isfinite(y->data[i]) == (i < 4) && !isfinite(z->data[i]) == (i % 4 == 2) && !isfinite(p->data[i]) == (i < 4));
    }
    assert_ok(t);
    gr_tape_free(t);
}

/* W x is normalized, so the scale of x does not matter, and the gradient with respect to x is divided by it. */
typedef gr_recurrent_out sequence(gr_tape *t, gr_tensor *x, const gr_recurrent_weights *weights, const gr_sequence_config *options);
static void recurrent(sequence *f, size_t gates, unsigned norm, double factor, gr_real *y, gr_real *dx)
{
    enum { T = 3, B = 5, I = 4, H = 9 };
    const size_t G = gates * H;
    const int lengths[B] = { 3, 2, 3, 3, 2 };
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *x = gr_rand(t, GR_SHAPE(T, B, I), -1, 1, "x"), *dy = gr_rand(t, GR_SHAPE(T, B, H), -1, 1, "dy");
    for (size_t i = 0; i < x->len; i++) x->data[i] *= (gr_real)factor;
    gr_recurrent_weights w = { .norm = norm, .w_ih = gr_rand(t, GR_SHAPE(G, I), -1, 1, "w"), .w_hh = gr_rand(t, GR_SHAPE(G, H), -1, 1, "u") };
    if (norm == GR_LSTM_BN) {
        w.bn_ih = w.bn_hh = (gr_lstm_bn){ gr_ones(t, GR_SHAPE(G)), NULL, gr_zeros(t, GR_SHAPE(T, G)), gr_ones(t, GR_SHAPE(T, G)) };
        w.bn_c = (gr_lstm_bn){ gr_ones(t, GR_SHAPE(H)), gr_zeros(t, GR_SHAPE(H)), gr_zeros(t, GR_SHAPE(T, H)), gr_ones(t, GR_SHAPE(T, H)) };
        w.bn_hh.running_mean = gr_zeros(t, GR_SHAPE(T, G)), w.bn_hh.running_var = gr_ones(t, GR_SHAPE(T, G));
    } else {
        w.ln_ih = (gr_lstm_ln){ gr_ones(t, GR_SHAPE(G)), gr_zeros(t, GR_SHAPE(G)) };
    }
    gr_tensor *h0 = gr_rand(t, GR_SHAPE(B, H), -1, 1, "h"); /* without eps, equal values of W h would get no gradient */
    const gr_sequence_config o = { .eps = GR_NONE, .h0 = h0, .lengths = gr_ints_new(t, lengths, GR_SHAPE(B)) };
    const gr_recurrent_out out = f(t, gr_want_grad(t, x), &w, &o);
    assert_ok(t);
    assert_true(gr_backward_from(t, out.y, dy->data));
    memcpy(y, out.y->data, out.y->len * sizeof *y);
    for (size_t i = 0; i < x->len; i++) dx[i] = gr_grad(t, x)[i] * (gr_real)factor;
    gr_tape_free(t);
}

TEST(a_cell_with_a_norm_of_its_input_ignores_the_scale_of_the_input)
{
    const struct { sequence *f; size_t gates; unsigned norm; } kinds[] = {
        { gr_lstm_sequence, 4, GR_LSTM_LN_X }, { gr_lstm_sequence, 4, GR_LSTM_LN_X | GR_LSTM_LN_PER_GATE }, { gr_lstm_sequence, 4, GR_LSTM_BN },
        { gr_gru_sequence, 3, GR_GRU_LN_X }, { gr_rnn_sequence, 1, GR_RNN_LN_X },
    };
    const int exponent = sizeof(gr_real) == 4 ? 70 : 540;
    for (size_t k = 0; k < COUNT(kinds); k++) {
        gr_real want[135], got[135], dwant[60], dgot[60];
        recurrent(kinds[k].f, kinds[k].gates, kinds[k].norm, 1, want, dwant);
        recurrent(kinds[k].f, kinds[k].gates, kinds[k].norm, ldexp(1, exponent), got, dgot);
        assert_close(got, want, 135, 1e-5);
        if (sizeof(gr_real) == 4) assert_close(dgot, dwant, 60, 1e-5); /* in double the gradient is below 2^-100, which a cell sets to 0 */
    }
}

static gr_tensor *bits_layer(gr_tape *t, gr_tensor *const *in, void *argument) { return (void)argument, gr_layer_norm(t, in[0], 1, in[1], in[2], 1e-5); }
static gr_tensor *bits_batch(gr_tape *t, gr_tensor *const *in, void *argument)
{
    return (void)argument, gr_batch_norm(t, in[0], 1, in[1], in[2], NULL);
}
TEST(bits_do_not_depend_on_threads_or_instruction_set)
{
    const double high = ldexp(3.9, TOP);
    gr_gradcheck_input in[] = { { .shape = GR_SHAPE(301, 67), .low = -high, .high = high }, { .shape = GR_SHAPE(67) }, { .shape = GR_SHAPE(67) } };
    assert_bits_stay(bits_layer, NULL, in, 3);
    assert_bits_stay(bits_batch, NULL, in, 3);
    in[0].shape = GR_SHAPE(5, 67, 41);
    assert_bits_stay(bits_batch, NULL, in, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_group_of_any_size_has_the_values_and_gradients_of_an_ordinary_one),
        cmocka_unit_test(near_the_largest_number_the_mean_does_not_overflow),
        cmocka_unit_test(running_statistics_follow_until_the_variance_is_infinite),
        cmocka_unit_test(inputs_that_are_not_finite_give_nan),
        cmocka_unit_test(a_cell_with_a_norm_of_its_input_ignores_the_scale_of_the_input),
        cmocka_unit_test(bits_do_not_depend_on_threads_or_instruction_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
