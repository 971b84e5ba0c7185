/* tests/test_conv_winograd.c - convolutions of 3 x 3 kernels with 16 channels or more, which Winograd's algorithm computes, and their neighbours,
 * which it does not. */
#include "tests/conv_case.h"
#include <math.h>

static const conv_case cases[] = {
    { 2, 16, 5, 4, 16, 3, 3, true, { 0 } },                /* one row of tiles and a half */
    { 1, 17, 4, 7, 19, 3, 3, true, { .padding = 1 } },
    { 3, 16, 1, 6, 18, 3, 3, false, { .padding = 2 } },
    { 2, 18, 6, 3, 16, 3, 3, true, { .padding_w = 2 } },
    { 35, 16, 3, 3, 16, 3, 3, true, { 0 } },               /* one output; samples share blocks and parts of dweight */
    { 3, 16, 7, 33, 16, 3, 3, true, { .padding = 1 } },
    { 2, 16, 96, 90, 16, 3, 3, true, { .padding = 1 } },   /* several blocks of tiles in a sample */
    { 1, 16, 94, 90, 16, 3, 3, false, { .padding = 1 } },  /* the last block has fewer rows of tiles */
    { 1, 33, 71, 65, 20, 3, 3, true, { .padding = 2, .padding_w = 1 } },
    /* what just is not taken */
    { 2, 15, 5, 5, 16, 3, 3, true, { .padding = 1 } },
    { 2, 16, 5, 5, 15, 3, 3, true, { .padding = 1 } },
    { 2, 16, 3, 4, 16, 3, 3, true, { .padding = 3 } },
    { 2, 16, 6, 5, 16, 3, 2, true, { .padding = 1 } },
    { 2, 16, 6, 5, 16, 3, 3, true, { .stride_w = 2 } },
    { 2, 16, 7, 5, 16, 3, 3, true, { .dilation = 2, .padding = 1 } },
    { 2, 32, 5, 5, 32, 3, 3, true, { .groups = 2 } },
};

static const conv_kind kind = { "conv", fused_conv, composed_conv, false };

TEST(gradient_matches_finite_differences) { assert_conv_gradients(&kind, cases + IN_DOUBLE, IN_DOUBLE ? 1 : 6); }
TEST(gradient_is_right_when_only_some_inputs_want_it)
{
    if (!IN_DOUBLE) assert_conv_gradients_of_some_inputs(&kind, &cases[1]);
}
TEST(agrees_with_its_composed_twin) { assert_conv_twin(&kind, cases, COUNT(cases), IN_DOUBLE ? 1e-12 : 1e-5); }
TEST(bits_do_not_depend_on_threads_or_instruction_set) { assert_conv_bits(&kind, cases, COUNT(cases)); }
TEST(a_sample_has_the_same_bits_alone_and_in_a_batch) { assert_conv_alone_as_in_batch(&kind, cases, COUNT(cases)); }

TEST(out_of_memory_is_an_error_anywhere)
{
    gr_gradcheck_input in[3];
    assert_survives_failing_memory(fused_conv, (void *)&cases[1], in, inputs_of(&kind, &cases[1], in));
}

/* ---- One NaN: y and dx are NaN where a plain sum is; dweight may be NaN at all nine places of the kernels that see it ---- */

static bool sees(const conv_case *c, size_t i, size_t j, size_t row, size_t column) /* output (i, j) sees x at (row, column) */
{
    const size_t a = row + (size_t)c->c.padding - i, b = column + (size_t)c->c.padding - j;
    return a < 3 && b < 3;
}

TEST(a_nan_reaches_the_values_that_see_it)
{
    static const conv_case some[] = { { 2, 16, 6, 5, 17, 3, 3, true, { 0 } }, { 2, 16, 4, 7, 16, 3, 3, true, { .padding = 1 } }, { 2, 17, 3, 4, 16, 3, 3, true, { .padding = 2 } } };
    for (size_t k = 0; k < COUNT(some); k++) {
        const conv_case *c = &some[k];
        const size_t oH = c->H + 2 * (size_t)c->c.padding - 2, oW = c->W + 2 * (size_t)c->c.padding - 2, in = c->H * c->W, out = oH * oW;
        for (size_t at = 0; at < in + out; at++) {
            gr_gradcheck_input inputs[3];
            gr_tape *t = gr_tape_new(at, NULL);
            gr_tensor *x[3];
            inputs_of(&kind, c, inputs);
            for (int i = 0; i < 3; i++) x[i] = gr_want_grad(t, gr_rand(t, inputs[i].shape, -1, 1, "x"));
            gr_tensor *dy = gr_rand(t, GR_SHAPE(2, c->O, oH, oW), -1, 1, "dy");
            if (at < in) x[0]->data[(c->C + 3) * in + at] = (gr_real)NAN; /* channel 3 of sample 1 */
            else dy->data[(c->O + 5) * out + at - in] = (gr_real)NAN;
            const gr_tensor *y = fused_conv(t, x, (void *)c);
            assert_true(gr_backward_from(t, (gr_tensor *)y, dy->data));
            for (size_t i = 0; i < y->len; i++)
                assert_int_equal(isnan(y->data[i]) != 0, at < in && i / out / c->O == 1 && sees(c, i % out / oW, i % oW, at / c->W, at % c->W));
            for (size_t i = 0; i < x[0]->len; i++)
                assert_int_equal(isnan(gr_grad(t, x[0])[i]) != 0, at >= in && i / in / c->C == 1 && sees(c, (at - in) / oW, (at - in) % oW, i % in / c->W, i % c->W));
            for (size_t i = 0; i < x[1]->len; i++) {
                const bool may = at < in ? i / 9 % c->C == 3 : i / 9 / c->C == 5;
                bool must = false;
                for (size_t o = 0; o < out && at < in; o++) {
                    const size_t row = o / oW + i % 9 / 3 - (size_t)c->c.padding, column = o % oW + i % 3 - (size_t)c->c.padding;
                    must |= row == at / c->W && column == at % c->W;
                }
                assert_true(isnan(gr_grad(t, x[1])[i]) ? may : !(may && (must || at >= in)));
            }
            gr_tape_free(t);
        }
    }
}

/* ---- Accuracy: the error of y and dx is smaller than that of a plain sum, one chain for each value ---- */

typedef struct { double exact; float plain; } summed;
static void add(summed *s, gr_real a, gr_real b) { s->exact += (double)a * (double)b, s->plain = fmaf((float)a, (float)b, s->plain); }

/* The errors of got and of the plain sums: root mean squares, in units of the largest value. */
static void errors_of(const char *what, const gr_real *got, const summed *want, size_t n, double part)
{
    double error = 0, plain = 0, largest = 0;
    for (size_t i = 0; i < n; i++) {
        const double e = (double)got[i] - want[i].exact, p = (double)want[i].plain - want[i].exact;
        error += e * e, plain += p * p, largest = fmax(largest, fabs(want[i].exact));
    }
    print_message("%s: %.2g; a plain sum %.2g\n", what, sqrt(error / (double)n) / largest, sqrt(plain / (double)n) / largest);
    assert_true(sqrt(error) <= part * sqrt(plain));
}

TEST(y_and_dx_are_more_accurate_than_plain_sums)
{
    static const conv_case some[] = { { 1, 16, 14, 14, 32, 3, 3, true, { .padding = 1 } }, { 1, 64, 14, 14, 64, 3, 3, true, { 0 } } };
    for (size_t k = 0; k < COUNT(some) && !IN_DOUBLE; k++) {
        const conv_case *c = &some[k];
        gr_gradcheck_input in[3];
        compared a = compare_start(fused_conv, (void *)c, in, inputs_of(&kind, c, in));
        gr_tensor *dy = gr_rand(a.t, gr_shape_of(a.y), -1, 1, "dy");
        compare_backward(&a, dy->data);
        const size_t pad = (size_t)c->c.padding, oH = c->H + 2 * pad - 2, oW = c->W + 2 * pad - 2;
        summed *y = calloc(a.y->len, sizeof *y), *dx = calloc(a.x[0]->len, sizeof *dx), *dw = calloc(a.x[1]->len, sizeof *dw);
        for (size_t i = 0; i < a.y->len; i++) {
            const size_t o = i / oW / oH;
            y[i].exact = (double)a.x[2]->data[o], y[i].plain = (float)a.x[2]->data[o];
            for (size_t e = 0; e < c->C * 9; e++) {
                const size_t row = i / oW % oH + e % 9 / 3 - pad, column = i % oW + e % 3 - pad, from = (e / 9 * c->H + row) * c->W + column;
                if (row >= c->H || column >= c->W) continue;
                const gr_real x = a.x[0]->data[from], w = a.x[1]->data[o * c->C * 9 + e], d = dy->data[i];
                add(&y[i], x, w), add(&dx[from], d, w), add(&dw[o * c->C * 9 + e], d, x);
            }
        }
        errors_of("y", a.y->data, y, a.y->len, 0.85);
        errors_of("dx", gr_grad(a.t, a.x[0]), dx, a.x[0]->len, 1);
        errors_of("dweight", gr_grad(a.t, a.x[1]), dw, a.x[1]->len, 1.25);
        free(y), free(dx), free(dw), gr_tape_free(a.t);
    }
}

TEST(an_image_without_rows_gives_the_bias)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *x = gr_want_grad(t, gr_zeros(t, GR_SHAPE(2, 16, 0, 5))), *w = gr_want_grad(t, gr_ones(t, GR_SHAPE(16, 16, 3, 3)));
    gr_tensor *b = gr_want_grad(t, gr_ones(t, GR_SHAPE(16)));
    gr_tensor *y = gr_conv2d(t, x, w, b, &(gr_conv_config){ .padding = 2 });
    assert_non_null(y);
    assert_int_equal(y->len, 2 * 16 * 2 * 7);
    for (size_t i = 0; i < y->len; i++) assert_true(y->data[i] == 1);
    assert_true(gr_backward(t, gr_sum(t, y, GR_ALL_AXES, false)));
    for (size_t o = 0; o < 16; o++) assert_true(gr_grad(t, b)[o] == 2 * 2 * 7);
    for (size_t i = 0; i < w->len; i++) assert_true(gr_grad(t, w)[i] == 0);
    gr_tape_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradient_matches_finite_differences),
        cmocka_unit_test(gradient_is_right_when_only_some_inputs_want_it),
        cmocka_unit_test(agrees_with_its_composed_twin),
        cmocka_unit_test(bits_do_not_depend_on_threads_or_instruction_set),
        cmocka_unit_test(a_sample_has_the_same_bits_alone_and_in_a_batch),
        cmocka_unit_test(out_of_memory_is_an_error_anywhere),
        cmocka_unit_test(a_nan_reaches_the_values_that_see_it),
        cmocka_unit_test(y_and_dx_are_more_accurate_than_plain_sums),
        cmocka_unit_test(an_image_without_rows_gives_the_bias),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
