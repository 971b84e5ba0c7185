/* tests/test_batch_norm.c - batch_norm: gradients, its twin, exact facts, bits, messages. Running statistics and padding
 * have files of their own. */
#include "examples/composed/composed.h"
#include "tests/compare.h"
#include <stdio.h>

enum { IN_DOUBLE = sizeof(gr_real) == 8, LENGTHS = 1, MASK = 2 };

/* The inputs are x, then gamma and beta if the case has them. */
typedef struct {
    int axis, pad; /* pad: LENGTHS, MASK or both */
    bool gamma, beta, running;
    double eps;
} batch;
typedef gr_tensor *batch_norm_function(gr_tape *, gr_tensor *, int, gr_tensor *, gr_tensor *, const gr_batch_norm_config *);

static size_t axis_of(const gr_tensor *x, int axis) { return (size_t)(axis < 0 ? axis + x->rank : axis); }

/* Lengths 3, 10, 17 .. modulo L + 1, and a mask that excludes every third position. */
static gr_ints *some_lengths(gr_tape *t, const gr_tensor *x, int axis)
{
    const size_t L = x->dim[3 - axis_of(x, axis)];
    gr_ints *lengths = gr_ints_new(t, NULL, GR_SHAPE(x->dim[0]));
    for (size_t n = 0; lengths && n < lengths->len; n++) lengths->data[n] = (int)((7 * n + 3) % (L + 1));
    return lengths;
}
static gr_tensor *some_mask(gr_tape *t, const gr_tensor *x, int axis)
{
    gr_shape shape = { .rank = x->rank - 1 };
    for (int i = 0, k = 0; i < x->rank; i++)
        if ((size_t)i != axis_of(x, axis)) shape.dim[k++] = x->dim[i];
    gr_tensor *mask = gr_empty(t, shape);
    for (size_t p = 0; mask && p < mask->len; p++) mask->data[p] = p % 3 != 1;
    return mask;
}

static gr_tensor *call(batch_norm_function *f, gr_tape *t, gr_tensor *const *in, const batch *b)
{
    const size_t C = in[0]->dim[axis_of(in[0], b->axis)];
    gr_batch_norm_config o = { .eps = b->eps };
    if (b->pad & LENGTHS) o.lengths = some_lengths(t, in[0], b->axis);
    if (b->pad & MASK) o.mask = some_mask(t, in[0], b->axis);
    if (b->running) o.running_mean = gr_full(t, GR_SHAPE(C), 0.25), o.running_var = gr_full(t, GR_SHAPE(C), 1.5);
    return f(t, in[0], b->axis, b->gamma ? in[1] : NULL, b->beta ? in[1 + b->gamma] : NULL, &o);
}
static gr_tensor *fused(gr_tape *t, gr_tensor *const *in, void *b) { return call(gr_batch_norm, t, in, b); }
static gr_tensor *composed(gr_tape *t, gr_tensor *const *in, void *b) { return call(composed_batch_norm, t, in, b); }

static size_t inputs_of(const batch *b, gr_shape x, gr_gradcheck_input *in)
{
    const gr_shape C = GR_SHAPE(x.dim[b->axis < 0 ? x.rank + b->axis : b->axis]);
    for (int i = 0; i < 3; i++) in[i] = (gr_gradcheck_input){ .shape = i ? C : x };
    return 1u + b->gamma + b->beta;
}

static const struct {
    gr_shape x;
    int axis;
} cases[] = {
    { { 2, { 2, 1 } }, 1 },       { { 2, { 5, 3 } }, 1 },          { { 2, { 3, 65 } }, 1 },      { { 2, { 70, 2 } }, -1 },
    { { 3, { 4, 3, 5 } }, 1 },    { { 3, { 4, 5, 3 } }, -1 },      { { 3, { 3, 2, 17 } }, 1 },   { { 3, { 2, 1, 33 } }, 1 },
    { { 3, { 67, 2, 2 } }, 1 },   { { 3, { 7, 16, 2 } }, 2 },      { { 4, { 2, 3, 4, 5 } }, 1 }, { { 4, { 2, 3, 4, 5 } }, -1 },
    { { 4, { 3, 2, 1, 1 } }, 1 }, { { 5, { 2, 3, 2, 1, 2 } }, 1 }, { { 3, { 3, 4, 2 } }, 0 },
};

/* ---- Gradients ---- */

static void each_case(void (*f)(gr_shape x, batch b))
{
    for (size_t k = 0; k < COUNT(cases); k++)
        for (int kind = 0; kind < 16; kind++) {
            const batch b = { .axis = cases[k].axis, .pad = kind >> 2, .gamma = kind & 1, .beta = kind & 2, .eps = 0.1 };
            if ((b.pad & LENGTHS && (cases[k].x.rank != 3 || !b.axis)) || (b.pad && cases[k].x.dim[0] == 2)) continue;
            f(cases[k].x, b);
        }
}

static void check_gradient(gr_shape x, batch b)
{
    gr_gradcheck_input in[3];
    const size_t n = inputs_of(&b, x, in);
    for (int mode = 0; mode < 3; mode++) { /* training; evaluation with and without running statistics */
        b.running = mode < 2;
        if (test_gradcheck("batch_norm", fused, &b, in, n, &(gr_gradcheck_config){ .eval = mode > 0 }, stderr)) continue;
        fail_msg("x [%zu, %zu, ..], axis %d, gamma %d, beta %d, padding %d, mode %d", x.dim[0], x.dim[1], b.axis, b.gamma, b.beta, b.pad,
                 mode);
    }
}
TEST(gradient_matches_finite_differences) { each_case(check_gradient); }

TEST(gradient_is_right_when_only_some_inputs_want_it)
{
    batch b = { .axis = 1, .gamma = true, .beta = true, .eps = 0.1 };
    for (int wanted = 1; wanted < 8; wanted++)
        for (int columns = 0; columns < 2; columns++) {
            gr_gradcheck_input in[3];
            inputs_of(&b, columns ? GR_SHAPE(9, 20) : GR_SHAPE(4, 3, 5), in);
            for (int i = 0; i < 3; i++) in[i].no_grad = !(wanted >> i & 1);
            assert_true(test_gradcheck("batch_norm", fused, &b, in, 3, NULL, stderr));
        }
}

static void check_twin(gr_shape x, batch b)
{
    gr_gradcheck_input in[3];
    const size_t n = inputs_of(&b, x, in);
    assert_agree(fused, composed, &b, in, n, IN_DOUBLE ? 1e-11 : 2e-5);
}
TEST(agrees_with_its_composed_twin) { each_case(check_twin); }

TEST(no_samples_and_no_channels_give_an_empty_result)
{
    gr_tape *t = gr_tape_new(1, NULL);
    const gr_shape shapes[] = { GR_SHAPE(0, 3), GR_SHAPE(2, 0), GR_SHAPE(2, 3, 0), GR_SHAPE(0, 3, 4, 4), GR_SHAPE(2, 0, 5) };
    for (size_t k = 0; k < COUNT(shapes); k++)
        for (int training = 0; training < 2; training++) {
            const gr_shape C = GR_SHAPE(shapes[k].dim[1]);
            int64_t batches = 0;
            gr_tape_reset(t), gr_tape_set_training(t, training);
            gr_tensor *x = gr_want_grad(t, gr_zeros(t, shapes[k])), *gamma = gr_want_grad(t, gr_ones(t, C)), *mean = gr_full(t, C, 3);
            gr_tensor *y = gr_batch_norm(t, x, 1, gamma, NULL, &(gr_batch_norm_config){ mean, gr_ones(t, C), &batches });
            assert_ok(t);
            assert_int_equal(y->len, 0);
            assert_int_equal(batches, 0);
            assert_true(gr_backward_from(t, y, (gr_real[]){ 0 }));
            for (size_t i = 0; i < gamma->len; i++) assert_true(gr_grad(t, gamma)[i] == 0 && mean->data[i] == 3);
        }
    gr_tape_free(t);
}

/* ---- Exact facts ---- */

static gr_tensor *plain(gr_tape *t, gr_tensor *x, double eps)
{
    return gr_batch_norm(t, x, 1, NULL, NULL, &(gr_batch_norm_config){ .eps = eps ? eps : GR_NONE });
}

/* PyTorch's issue 60528: the forward divides by N, the buffer by N - 1. */
TEST(the_buffer_gets_the_unbiased_variance)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *x = gr_empty(t, GR_SHAPE(4, 3, 4)), *mean = gr_zeros(t, GR_SHAPE(3)), *var = gr_ones(t, GR_SHAPE(3));
    for (size_t i = 0; i < x->len; i++) x->data[i] = (gr_real)(1 + i / 12 + i % 12);
    gr_tensor *y = gr_batch_norm(t, x, 1, NULL, NULL, &(gr_batch_norm_config){ .running_mean = mean, .running_var = var });
    for (size_t n = 0; n < 4; n++)
        for (size_t c = 0; c < 3; c++)
            for (size_t l = 0; l < 4; l++)
                assert_true(fabs((double)y->data[12 * n + 4 * c + l] - ((double)(n + l) - 3) * 0.6324555) < 1e-5); /* -1.8974 .. 1.8974 */
    assert_values(var, 1e-6, (gr_real)1.1666667, (gr_real)1.1666667, (gr_real)1.1666667);
    assert_values(mean, 1e-6, (gr_real)0.4, (gr_real)0.8, (gr_real)1.2);
    gr_tape_free(t);
}

TEST(two_samples_give_plus_and_minus_1_and_no_gradient)
{
    gr_tape *t = gr_tape_new(1, NULL);
    for (size_t C = 1; C < 70; C += 17) {
        gr_tape_reset(t);
        gr_tensor *x = gr_want_grad(t, gr_randn(t, GR_SHAPE(2, C), 5, 3, "x")), *dy = gr_randn(t, GR_SHAPE(2, C), 0, 1, "dy");
        gr_tensor *y = plain(t, x, 0);
        assert_true(gr_backward_from(t, y, dy->data));
        for (size_t i = 0; i < 2 * C; i++) {
            assert_true(fabs(fabs((double)y->data[i]) - 1) < 1e-6);
            assert_true(fabs((double)gr_grad(t, x)[i]) < 1e-5);
        }
    }
    gr_tape_free(t);
}

TEST(equal_values_give_beta_and_a_finite_gradient)
{
    const double values[] = { 0, 0.1, -1e4 / 3, 3e38, 1e-40 }, eps[] = { 1e-5, GR_NONE };
    gr_tape *t = gr_tape_new(1, NULL);
    for (size_t v = 0; v < COUNT(values); v++)
        for (size_t e = 0; e < 4; e++) {
            gr_tape_reset(t);
            const int axis = e < 2 ? 1 : -1;
            gr_tensor *x = gr_want_grad(t, gr_full(t, GR_SHAPE(3, 37, 37), values[v])), *beta = gr_randn(t, GR_SHAPE(37), 0, 1, "b");
            gr_tensor *gamma = gr_want_grad(t, gr_randn(t, GR_SHAPE(37), 0, 1, "g")), *dy = gr_randn(t, gr_shape_of(x), 0, 1, "dy");
            gr_tensor *y = gr_batch_norm(t, x, axis, gamma, beta, &(gr_batch_norm_config){ .eps = eps[e % 2] });
            for (size_t i = 0; i < y->len; i++) assert_true(y->data[i] == beta->data[axis == 1 ? i / 37 % 37 : i % 37]);
            assert_true(gr_backward_from(t, y, dy->data));
            for (size_t i = 0; i < x->len; i++) assert_true(isfinite(gr_grad(t, x)[i]));
            for (size_t i = 0; i < 37; i++) assert_true(gr_grad(t, gamma)[i] == 0);
        }
    gr_tape_free(t);
}

/* A shift of a channel changes no result, and with eps 0 a scale does not either. So the gradient is orthogonal to 1 and to x. */
TEST(the_gradient_of_a_channel_sums_to_0)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *x = gr_want_grad(t, gr_randn(t, GR_SHAPE(20, 5, 9), 3, 2, "x")), *gamma = gr_randn(t, GR_SHAPE(5), 0, 1, "g");
    gr_tensor *dy = gr_randn(t, gr_shape_of(x), 0, 1, "dy");
    gr_tensor *y = gr_batch_norm(t, x, 1, gamma, NULL, &(gr_batch_norm_config){ .eps = GR_NONE });
    assert_true(gr_backward_from(t, y, dy->data));
    for (size_t c = 0; c < 5; c++) {
        double sum = 0, along = 0, size = 0;
        for (size_t i = 0; i < x->len; i++) {
            const double d = i / 9 % 5 == c ? (double)gr_grad(t, x)[i] : 0;
            sum += d, along += d * (double)x->data[i], size += fabs(d);
        }
        assert_true(fabs(sum) <= (IN_DOUBLE ? 1e-14 : 1e-6) * size && fabs(along) <= (IN_DOUBLE ? 1e-13 : 1e-5) * size);
    }
    gr_tape_free(t);
}

TEST(a_mean_far_above_the_deviation_costs_no_accuracy)
{
    enum { N = 512, C = 3 };
    const double means[] = { 100, 1e4, 1e5, -1e6 };
    for (size_t k = 0; k < 2 * COUNT(means); k++) {
        const bool last = k % 2;
        gr_tape *t = gr_tape_new(1, NULL);
        gr_tensor *x = gr_want_grad(t, gr_randn(t, last ? GR_SHAPE(N, C) : GR_SHAPE(4, C, N / 4), means[k / 2], 1, "x"));
        gr_tensor *y = plain(t, x, 1e-5), *dy = gr_randn(t, gr_shape_of(x), 0, 1, "dy");
        assert_true(gr_backward_from(t, y, dy->data));
        for (size_t c = 0; c < C; c++) {
            long double mean = 0, var = 0, g = 0, gx = 0;
#define OF_CHANNEL(i) \
    for (size_t i = 0; i < x->len; i++) \
        if ((last ? i % C : i / (N / 4) % C) == c)
            OF_CHANNEL(i) mean += (long double)x->data[i] / N;
            OF_CHANNEL(i) var += ((long double)x->data[i] - mean) * ((long double)x->data[i] - mean) / N;
#define XHAT(i) (((long double)x->data[i] - mean) / sqrtl(var + 1e-5L))
            OF_CHANNEL(i) g += (long double)dy->data[i] / N, gx += (long double)dy->data[i] * XHAT(i) / N;
            OF_CHANNEL(i)
            {
                const long double want = ((long double)dy->data[i] - g - XHAT(i) * gx) / sqrtl(var + 1e-5L);
                assert_true(fabsl((long double)y->data[i] - XHAT(i)) <= (IN_DOUBLE ? 1e-10L : 2e-5L));
                assert_true(fabsl((long double)gr_grad(t, x)[i] - want) <= (IN_DOUBLE ? 1e-10L : 2e-5L));
            }
        }
        gr_tape_free(t);
    }
}

/* ---- Bits, memory, messages ---- */

TEST(bits_do_not_depend_on_threads_or_instruction_set)
{
    const gr_shape shapes[] = { GR_SHAPE(33, 19, 7, 5), GR_SHAPE(130, 211), GR_SHAPE(21, 50, 37), GR_SHAPE(70, 40, 3) };
    for (size_t k = 0; k < COUNT(shapes); k++)
        for (int pad = 0; pad < 4; pad++)
            for (int axis = -1; axis < 2; axis += 2) {
                batch b = { .axis = axis, .pad = pad, .gamma = true, .beta = true };
                gr_gradcheck_input in[3];
                if (pad & LENGTHS && shapes[k].rank != 3) continue;
                const size_t n = inputs_of(&b, shapes[k], in);
                assert_bits_stay(fused, &b, in, n);
            }
}

TEST(out_of_memory_is_an_error_anywhere)
{
    for (int pad = 0; pad < 4; pad++) {
        batch b = { .axis = 1, .pad = pad, .gamma = true, .beta = true, .running = true };
        gr_gradcheck_input in[3];
        inputs_of(&b, GR_SHAPE(4, 3, 5), in);
        assert_survives_failing_memory(fused, &b, in, 3);
    }
}

TEST(sizes_statistics_lengths_and_masks_that_do_not_fit_are_named)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *net = gr_module_new(t);
    gr_tensor *x = lasting(t, net, GR_SHAPE(2, 3), 1), *x3 = lasting(t, net, GR_SHAPE(2, 3, 4), 1);
    gr_tensor *three = lasting(t, net, GR_SHAPE(3), 1), *two = lasting(t, net, GR_SHAPE(2), 1);
#define REFUSES(text, ...) assert_fails(t, gr_batch_norm(t, __VA_ARGS__), "batch_norm: " text)
#define OPTIONS(...) &(gr_batch_norm_config){ __VA_ARGS__ }
    REFUSES("input 1 is NULL", NULL, 1, three, three, NULL);
    REFUSES("x is [3], and must have 2 axes or more", three, 0, three, three, NULL);
    REFUSES("x is [2, 3], so an axis must be in -2 .. 1; got 2", x, 2, three, three, NULL);
    REFUSES("x is [2, 3], so gamma and beta must hold 3 values; got [2] and [3]", x, 1, two, three, NULL);
    REFUSES("x is [2, 3, 4], so gamma and beta must hold 4 values; got NULL and [3]", x3, -1, NULL, three, NULL);
    REFUSES("running_mean and running_var go together; got [3] and NULL", x, 1, NULL, NULL, OPTIONS(three));
    REFUSES("x is [2, 3], so running_mean and running_var must hold 3 values; got [2] and [3]", x, 1, NULL, NULL, OPTIONS(two, three));
    REFUSES("momentum must be in 0 .. 1, or GR_NONE; got 1.5", x, 1, NULL, NULL, OPTIONS(.momentum = 1.5));
    REFUSES("momentum must be in 0 .. 1, or GR_NONE; got nan", x, 1, NULL, NULL, OPTIONS(.momentum = NAN));
    REFUSES("cumulative is the average over all batches, so batches must count them; got NULL", x, 1, NULL, NULL,
            OPTIONS(three, three, .cumulative = true));
    REFUSES("eps must be 0 or more, or GR_NONE; got -0.5", x, 1, NULL, NULL, OPTIONS(.eps = -0.5));
    REFUSES("x is [2, 3], and lengths are for 3 axes: use a mask", x, 1, NULL, NULL, OPTIONS(.lengths = gr_ints_new(t, NULL, GR_SHAPE(2))));
    REFUSES("x is [2, 3, 4], and lengths are for samples on axis 0: use a mask", x3, 0, NULL, NULL,
            OPTIONS(.lengths = gr_ints_new(t, NULL, GR_SHAPE(3))));
    REFUSES("x is [2, 3, 4], so lengths must be [2]; got [3]", x3, 1, NULL, NULL, OPTIONS(.lengths = gr_ints_new(t, NULL, GR_SHAPE(3))));
    REFUSES("x is [2, 3, 4], so lengths[1] must be in 0 .. 4; got 5", x3, 1, NULL, NULL,
            OPTIONS(.lengths = gr_ints_new(t, (int[]){ 4, 5 }, GR_SHAPE(2))));
    REFUSES("x is [2, 3, 4], so lengths[0] must be in 0 .. 3; got -1", x3, -1, NULL, NULL,
            OPTIONS(.lengths = gr_ints_new(t, (int[]){ -1, 3 }, GR_SHAPE(2))));
    REFUSES("x is [2, 3, 4] and its channels are axis 1, so mask must be [2, 4]; got [2, 3]", x3, 1, NULL, NULL, OPTIONS(.mask = x));
    REFUSES("x is [2, 3, 4] and its channels are axis 2, so mask must be [2, 3]; got [3]", x3, -1, NULL, NULL, OPTIONS(.mask = three));
    REFUSES("x is [1, 3], and the variance of a channel needs 2 real values or more; got 1: leave out the last, smaller batch, or normalize by "
            "gr_layer_norm",
            gr_ones(t, GR_SHAPE(1, 3)), 1, NULL, NULL, NULL);
    REFUSES("x is [2, 3], and the variance of a channel needs 2 real values or more; got 0: leave out the last, smaller batch, or normalize by "
            "gr_layer_norm",
            x, 1, NULL, NULL, OPTIONS(.mask = gr_zeros(t, GR_SHAPE(2))));
    gr_module_free(net), gr_tape_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradient_matches_finite_differences),
        cmocka_unit_test(gradient_is_right_when_only_some_inputs_want_it),
        cmocka_unit_test(agrees_with_its_composed_twin),
        cmocka_unit_test(no_samples_and_no_channels_give_an_empty_result),
        cmocka_unit_test(the_buffer_gets_the_unbiased_variance),
        cmocka_unit_test(two_samples_give_plus_and_minus_1_and_no_gradient),
        cmocka_unit_test(equal_values_give_beta_and_a_finite_gradient),
        cmocka_unit_test(the_gradient_of_a_channel_sums_to_0),
        cmocka_unit_test(a_mean_far_above_the_deviation_costs_no_accuracy),
        cmocka_unit_test(bits_do_not_depend_on_threads_or_instruction_set),
        cmocka_unit_test(out_of_memory_is_an_error_anywhere),
        cmocka_unit_test(sizes_statistics_lengths_and_masks_that_do_not_fit_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
