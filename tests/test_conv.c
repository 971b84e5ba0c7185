/* tests/test_conv.c - convolution: gradients, its twin, exact facts, bits, messages. */
#include "tests/conv_case.h"
#include <limits.h>

static const conv_case cases[] = {
    { 2, 1, 5, 5, 1, 3, 3, true, { 0 } },
    { 1, 1, 1, 1, 1, 1, 1, true, { 0 } },
    { 2, 3, 4, 6, 5, 1, 1, true, { 0 } },
    { 3, 2, 7, 6, 4, 3, 3, true, { .padding = 1 } },
    { 2, 2, 8, 9, 3, 3, 2, false, { .stride = 2 } },
    { 2, 3, 9, 7, 2, 3, 3, true, { .stride = 2, .padding = 1 } },
    { 2, 2, 9, 11, 2, 3, 3, true, { .dilation = 2, .padding = 2 } },
    { 1, 2, 11, 10, 3, 3, 3, false, { .stride = 3, .dilation = 2, .padding = 3 } },
    { 2, 4, 6, 5, 6, 3, 3, true, { .groups = 2, .padding = 1 } },
    { 2, 5, 6, 7, 5, 3, 3, true, { .groups = 5, .padding = 1 } },
    { 2, 3, 5, 6, 6, 2, 3, false, { .groups = 3, .stride = 2, .padding = 1 } },
    { 2, 2, 7, 8, 3, 4, 1, true, { .stride = 3, .stride_w = 2, .padding = 2, .padding_w = GR_NONE, .dilation_w = 2 } },
    { 2, 2, 6, 5, 3, 2, 5, true, { .stride = 1, .stride_w = 4, .padding = 1, .padding_w = 3, .dilation = 3, .dilation_w = 1 } },
    { 2, 2, 9, 8, 3, 2, 3, true, { .stride = 1, .stride_w = 2, .dilation = 2, .dilation_w = 1, .padding = 1, .padding_w = 2 } },
    { 1, 2, 8, 11, 2, 3, 2, false, { .stride = 3, .stride_w = 2, .dilation = 1, .dilation_w = 3, .padding_w = 1 } },
    { 2, 3, 9, 7, 3, 2, 3, true, { .groups = 3, .stride = 2, .stride_w = 1, .dilation = 3, .dilation_w = 2, .padding = 3, .padding_w = 1 } },
    { 1, 2, 7, 12, 2, 3, 4, false, { .groups = 2, .stride = 1, .stride_w = 3, .dilation = 1, .dilation_w = 2, .padding = 1, .padding_w = 2 } },
    { 1, 1, 3, 2, 2, 1, 1, true, { .stride = 5, .padding = 1 } },
    { 1, 2, 3, 20, 2, 2, 2, true, { .padding = 5 } },
    { 3, 2, 0, 9, 4, 1, 3, true, { .padding = 1 } },
    { 2, 4, 0, 17, 2, 1, 4, false, { .stride = 2, .dilation = 3, .groups = 2, .padding = 4 } },
    { 2, 3, 0, 33, 3, 1, 5, true, { .groups = 3 } },
    { 2, 2, 0, 6, 3, 1, 1, true, { .stride = 4 } },
};

static const conv_kind kind = { "conv", fused_conv, composed_conv, false };

TEST(gradient_matches_finite_differences) { assert_conv_gradients(&kind, cases, COUNT(cases)); }
TEST(gradient_is_right_when_only_some_inputs_want_it)
{
    assert_conv_gradients_of_some_inputs(&kind, &cases[3]);
}
TEST(agrees_with_its_composed_twin) { assert_conv_twin(&kind, cases, COUNT(cases), IN_DOUBLE ? 1e-13 : 5e-6); }

/* ---- Exact facts ---- */

TEST(values_match_hand_computed_ones)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *x = gr_input(t, (gr_real[]){ 1, 2, 3, 4, 5, 6, 7, 8, 9 }, GR_SHAPE(1, 1, 3, 3));
    gr_tensor *w = gr_input(t, (gr_real[]){ 1, -1, 2, 0 }, GR_SHAPE(1, 1, 2, 2)), *b = gr_full(t, GR_SHAPE(1), 10);
    assert_values(gr_conv2d(t, x, w, NULL, NULL), 0, 7, 9, 13, 15);
    assert_values(gr_conv2d(t, x, w, b, &(gr_conv_config){ .padding = 1, .stride = 2 }), 0, 10, 14, 6, 25);
    assert_values(gr_conv2d(t, x, w, b, &(gr_conv_config){ .dilation = 2 }), 0, 22);
    gr_tensor *line = gr_input(t, (gr_real[]){ 1, 2, 3, 4 }, GR_SHAPE(1, 1, 4)), *k = gr_input(t, (gr_real[]){ 1, 0, -1 }, GR_SHAPE(1, 1, 3));
    assert_values(gr_conv1d(t, line, k, NULL, NULL), 0, -2, -2);
    assert_values(gr_conv1d(t, line, k, NULL, &(gr_conv_config){ .padding = 1 }), 0, -2, -2, -2, 3);
    gr_tensor *pair = gr_input(t, (gr_real[]){ 1, 2, 3, 4 }, GR_SHAPE(1, 2, 2)), *scale = gr_input(t, (gr_real[]){ 10, 100 }, GR_SHAPE(2, 1, 1));
    assert_values(gr_conv1d(t, pair, scale, NULL, &(gr_conv_config){ .groups = 2 }), 0, 10, 20, 300, 400);
    gr_tape_free(t);
}

/* Strides beyond any image. In the first three, the product of the kernel or the dilation with the strides is 2^65 + 1, which is 1 in 64 bits. */
TEST(a_huge_stride_takes_no_memory_and_is_not_taken_for_1)
{
    const gr_conv_config wraps = { .stride = 998724481, .stride_w = 1119412321 };
    const gr_conv_config apart = { .stride = 998724481, .stride_w = 1119412321, .dilation = 3, .dilation_w = 11 };
    gr_tape *t = gr_tape_new(1, NULL);
    gr_real number[7 * 23];
    for (size_t i = 0; i < COUNT(number); i++) number[i] = (gr_real)i;
    gr_tensor *x = gr_want_grad(t, gr_ones(t, GR_SHAPE(1, 1, 3, 11))), *y = gr_conv2d(t, x, gr_ones(t, GR_SHAPE(1, 1, 3, 11)), NULL, &wraps);
    assert_values(y, 0, 33);
    assert_true(gr_backward(t, y));
    for (size_t i = 0; i < x->len; i++) assert_true(gr_grad(t, x)[i] == 1);
    assert_values(gr_conv2d(t, gr_ones(t, GR_SHAPE(1, 3, 3, 11)), gr_ones(t, GR_SHAPE(4, 3, 3, 11)), NULL, &wraps), 0, 99, 99, 99, 99);
    assert_values(gr_conv2d(t, gr_input(t, number, GR_SHAPE(1, 1, 7, 23)), gr_ones(t, GR_SHAPE(1, 1, 3, 3)), NULL, &apart), 0, 720);
    gr_tape_reset(t);
    x = gr_want_grad(t, gr_ones(t, GR_SHAPE(1, 1, 3, 3)));
    y = gr_conv2d(t, x, gr_full(t, GR_SHAPE(1, 1, 2, 2), 5), NULL, &(gr_conv_config){ .stride = INT_MAX });
    assert_values(y, 0, 20);
    assert_true(gr_backward(t, y));
    const gr_real dx[] = { 5, 5, 0, 5, 5, 0, 0, 0, 0 };
    for (size_t i = 0; i < x->len; i++) assert_true(gr_grad(t, x)[i] == dx[i]);
    gr_tensor *w = gr_input(t, (gr_real[]){ 1, 2, 3, 4 }, GR_SHAPE(1, 1, 2, 2));
    assert_values(gr_conv_transpose2d(t, gr_ones(t, GR_SHAPE(1, 1, 1, 1)), w, NULL, &(gr_conv_config){ .stride = INT_MAX }), 0, 1, 2, 3, 4);
    assert_string_equal(gr_message(t), "");
    assert_true(gr_tape_bytes(t) < 2 << 20);
    gr_tape_free(t);
}

/* A kernel that holds a single 1 only shifts x, so no bit changes. */
TEST(a_kernel_of_one_1_shifts)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *x = gr_randn(t, GR_SHAPE(3, 1, 11, 23), 0, 1, "x"), *w = gr_zeros(t, GR_SHAPE(1, 1, 3, 5));
    w->data[2 * 5 + 1] = 1;
    const gr_tensor *y = gr_conv2d(t, x, w, NULL, &(gr_conv_config){ .padding = 1, .padding_w = 2 });
    for (size_t n = 0; n < 3; n++)
        for (size_t i = 0; i < 11; i++)
            for (size_t j = 0; j < 23; j++)
                assert_true(y->data[(n * 11 + i) * 23 + j] == (i == 10 || j == 0 ? 0 : x->data[(n * 11 + i + 1) * 23 + j - 1]));
    gr_tape_free(t);
}

/* ---- Bits: in some cases samples share a chunk; in others an image needs several tiles, of rows or of parts of a row ---- */

static const conv_case large[] = {
    { 37, 3, 28, 28, 16, 3, 3, true, { .padding = 1 } },    { 5, 16, 14, 14, 33, 5, 5, true, { .padding = 2 } },
    { 9, 6, 13, 17, 4, 3, 3, false, { .stride = 2, .groups = 2 } }, { 4, 19, 9, 9, 19, 3, 3, true, { .groups = 19, .padding = 1 } },
    { 3, 24, 40, 41, 5, 3, 3, true, { .padding = 1, .stride = 2, .dilation = 2 } }, { 2, 7, 0, 5003, 6, 1, 9, true, { .padding = 4 } },
    { 40, 2, 6, 5, 2, 3, 3, true, { .padding = 1, .groups = 2 } },  { 3, 1, 90, 89, 1, 3, 3, true, { .padding = 1 } },
    /* lanes over channels, and over places; dx with a stride; one channel of one */
    { 3, 16, 12, 11, 32, 5, 5, true, { .padding = 2 } },    { 3, 32, 13, 12, 48, 3, 3, true, { .stride = 2, .padding = 1 } },
    { 3, 20, 9, 18, 20, 5, 5, true, { .groups = 20, .padding = 2 } }, { 3, 6, 12, 19, 6, 3, 3, true, { .groups = 6, .stride = 2, .padding = 1 } },
    { 2, 64, 9, 10, 3, 3, 3, true, { .padding = 1 } },      { 2, 3, 31, 30, 16, 4, 4, true, { .stride = 4 } },
    /* five columns, a vector of channels: forward; in groups, with 3 rows; not side by side, because of a stride or a dilation */
    { 4, 3, 13, 14, 16, 5, 5, true, { .padding = 2 } },     { 3, 6, 12, 13, 32, 3, 5, true, { .groups = 2, .padding = 1, .padding_w = 2 } },
    { 2, 16, 13, 24, 24, 5, 5, true, { .stride = 2, .padding = 2 } },
    { 2, 16, 15, 14, 16, 3, 5, false, { .dilation = 1, .dilation_w = 2, .padding_w = 4 } },
    /* conv_depthwise.h: more images than a task has; more padding than the kernel has; one row of the result; x of one column */
    { 3, 32, 14, 14, 32, 3, 3, true, { .groups = 32, .padding = 1 } }, { 2, 32, 22, 33, 32, 3, 3, false, { .groups = 32, .padding_w = 2 } },
    { 2, 3, 14, 14, 3, 3, 3, true, { .groups = 3, .padding = 17 } },  { 1, 2, 9, 20, 2, 3, 3, true, { .groups = 2, .padding = 0, .padding_w = 16 } },
    { 3, 5, 19, 27, 5, 3, 3, true, { .groups = 5, .padding = 4 } },    { 2, 3, 3, 40, 3, 3, 3, true, { .groups = 3, .padding = 2, .padding_w = 1 } },
    { 2, 8, 12, 1, 8, 3, 3, true, { .groups = 8, .padding = 2, .padding_w = 7 } },
    /* tiles of rows, and of parts of rows, whose axes differ */
    { 2, 4, 60, 70, 3, 3, 5, true, { .stride_w = 2, .padding = 2, .padding_w = 1, .dilation = 2, .dilation_w = 1 } },
    { 1, 2, 5, 3001, 2, 3, 7, true, { .stride = 2, .stride_w = 1, .padding = 1, .padding_w = GR_NONE, .dilation = 1, .dilation_w = 2 } },
    { 2, 2, 95, 140, 2, 7, 3, false, { .groups = 2, .stride = 1, .stride_w = 2, .padding_w = 1, .dilation = 3, .dilation_w = 2 } },
    { 2, 20, 60, 71, 20, 3, 5, true, { .groups = 20, .stride_w = 2, .padding = 2, .padding_w = 1 } },
    { 1, 18, 0, 4001, 18, 1, 5, true, { .groups = 18, .stride = 2, .padding = 60, .dilation = 3 } },
};

TEST(bits_do_not_depend_on_threads_or_instruction_set) { assert_conv_bits(&kind, large, COUNT(large)); }
TEST(a_sample_has_the_same_bits_alone_and_in_a_batch) { assert_conv_alone_as_in_batch(&kind, large, COUNT(large)); }
TEST(tiles_agree_with_the_twin) { assert_conv_twin(&kind, large, COUNT(large), IN_DOUBLE ? 1e-12 : 1e-5); }

/* ---- Edges ---- */

TEST(no_samples_no_channels_and_no_outputs_are_accepted) { assert_conv_of_nothing(&kind, 16); }

TEST(values_past_the_last_window_do_not_matter)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *x = gr_want_grad(t, gr_full(t, GR_SHAPE(1, 1, 6, 6), 1)), *w = gr_want_grad(t, gr_full(t, GR_SHAPE(1, 1, 2, 2), 1));
    for (size_t i = 0; i < 36; i++)
        if (i % 6 == 5 || i / 6 == 5) x->data[i] = (gr_real)NAN;
    gr_tensor *y = gr_conv2d(t, x, w, NULL, &(gr_conv_config){ .stride = 3 });
    assert_values(y, 0, 4, 4, 4, 4);
    assert_true(gr_backward_from(t, y, (gr_real[]){ 1, 2, 3, 4 }));
    assert_close(gr_grad(t, w), ((gr_real[]){ 10, 10, 10, 10 }), 4, 0);
    for (size_t i = 0; i < 36; i++) assert_true((gr_grad(t, x)[i] == 0) == (i % 6 % 3 == 2 || i / 6 % 3 == 2));
    gr_tape_free(t);
}

TEST(a_call_keeps_only_its_result)
{
    const size_t calls = 40, y = 4 * 16 * 32 * 32 * sizeof(gr_real);
    gr_tape *t = gr_tape_new(1, &(gr_tape_config){ .threads = 4, .max_bytes = 3 * calls * y / 2 });
    gr_tensor *x = gr_ones(t, GR_SHAPE(4, 16, 32, 32)), *w = gr_ones(t, GR_SHAPE(16, 16, 3, 3)), *b = gr_ones(t, GR_SHAPE(16));
    for (size_t i = 0; i < calls; i++) x = gr_conv2d(t, x, w, b, &(gr_conv_config){ .padding = 1 });
    assert_ok(t);
    gr_tape_free(t);
}

TEST(out_of_memory_is_an_error_anywhere)
{
    const conv_case c = { 3, 24, 50, 40, 5, 3, 3, true, { .padding = 1 } };
    gr_gradcheck_input in[3];
    assert_survives_failing_memory(fused_conv, (void *)&c, in, inputs_of(&kind, &c, in));
    gr_tape *t = gr_tape_new(1, NULL);
    const int far = 2000000000;
    assert_fails(t, gr_conv2d(t, gr_zeros(t, GR_SHAPE(1, 1, 1, 1)), gr_zeros(t, GR_SHAPE(1, 1, 1, 1)), NULL, &(gr_conv_config){ .padding = far }),
                 "conv2d: [1, 1, 4000000001, 4000000001] is too large for this machine");
    gr_tape_free(t);
}

TEST(shapes_groups_strides_and_kernels_that_do_not_fit_are_named)
{
    const struct { gr_shape x, w; size_t bias; gr_conv_config c; const char *message; } wrong[] = {
        { { 2, { 3, 4 } }, { 4, { 1, 1, 1, 1 } }, 0, { 0 }, "conv2d: x must be [N, C, H, W]; got [3, 4]" },
        { { 4, { 1, 1, 4, 4 } }, { 4, { 1, 1, 3, 3 } }, 0, { .stride = -1 }, "conv2d: stride must be 1 or more; got -1" },
        { { 4, { 1, 1, 4, 4 } }, { 4, { 1, 1, 3, 3 } }, 0, { .padding = -2 }, "conv2d: padding must be 0 or more; got -2" },
        { { 4, { 1, 1, 4, 4 } }, { 4, { 1, 1, 3, 3 } }, 0, { .dilation = -3 }, "conv2d: dilation must be 1 or more; got -3" },
        { { 4, { 1, 1, 4, 4 } }, { 4, { 1, 1, 3, 3 } }, 0, { .stride_w = -1 }, "conv2d: stride_w must be 1 or more; got -1" },
        { { 4, { 1, 1, 4, 4 } }, { 4, { 1, 1, 3, 3 } }, 0, { .padding_w = -2 }, "conv2d: padding_w must be 0 or more; got -2" },
        { { 4, { 1, 1, 4, 4 } }, { 4, { 1, 1, 3, 3 } }, 0, { .dilation_w = -3 }, "conv2d: dilation_w must be 1 or more; got -3" },
        { { 4, { 1, 1, 4, 4 } }, { 4, { 1, 1, 3, 3 } }, 0, { .groups = -1 }, "conv2d: groups must be 1 or more; got -1" },
        { { 4, { 1, 3, 4, 4 } }, { 4, { 2, 1, 3, 3 } }, 0, { .groups = 2 }, "conv2d: x is [1, 3, 4, 4]: its 3 channels cannot be divided into 2 groups" },
        { { 4, { 1, 4, 4, 4 } }, { 4, { 2, 4, 3, 3 } }, 0, { .groups = 2 },
          "conv2d: weight is [2, 4, 3, 3] and groups is 2, so x must be [N, 8, H, W]; got [1, 4, 4, 4]" },
        { { 4, { 1, 4, 4, 4 } }, { 3, { 2, 4, 3 } }, 0, { 0 },
          "conv2d: weight must be [O, C / groups, kH, kW]; got [2, 4, 3]" },
        { { 4, { 1, 4, 4, 4 } }, { 4, { 3, 2, 3, 3 } }, 0, { .groups = 2 },
          "conv2d: weight is [3, 2, 3, 3]: its 3 outputs cannot be divided into 2 groups" },
        { { 4, { 1, 1, 4, 4 } }, { 4, { 5, 1, 3, 3 } }, 4, { 0 }, "conv2d: weight is [5, 1, 3, 3] and groups is 1, so bias must be [5]; got [4]" },
        { { 4, { 1, 1, 4, 4 } }, { 4, { 5, 1, 3, 0 } }, 5, { 0 }, "conv2d: weight is [5, 1, 3, 0]: the kernel has size 0" },
        { { 4, { 1, 1, 6, 2 } }, { 4, { 1, 1, 3, 3 } }, 0, { .dilation = 2, .padding = 1 },
          "conv2d: x is [1, 1, 6, 2], so with padding 1 axis 3 has 4 values; a kernel of 3 with dilation 2 needs 5" },
        { { 4, { 0, 1, 2, 6 } }, { 4, { 1, 1, 3, 3 } }, 0, { 0 },
          "conv2d: x is [0, 1, 2, 6], so with padding 0 axis 2 has 2 values; a kernel of 3 with dilation 1 needs 3" },
    };
    gr_tape *t = gr_tape_new(1, NULL);
    for (size_t k = 0; k < COUNT(wrong); k++) {
        gr_tensor *bias = wrong[k].bias ? gr_zeros(t, GR_SHAPE(wrong[k].bias)) : NULL;
        assert_fails(t, gr_relu(t, gr_conv2d(t, gr_zeros(t, wrong[k].x), gr_zeros(t, wrong[k].w), bias, &wrong[k].c)), wrong[k].message);
    }
    assert_fails(t, gr_conv1d(t, gr_zeros(t, GR_SHAPE(1, 2)), gr_zeros(t, GR_SHAPE(1, 2, 1)), NULL, NULL),
                 "conv1d: x must be [N, C, L]; got [1, 2]");
    assert_fails(t, gr_conv1d(t, gr_zeros(t, GR_SHAPE(1, 2, 5)), gr_zeros(t, GR_SHAPE(1, 3, 1)), NULL, NULL),
                 "conv1d: weight is [1, 3, 1] and groups is 1, so x must be [N, 3, L]; got [1, 2, 5]");
    assert_fails(t, gr_conv1d(t, gr_zeros(t, GR_SHAPE(1, 2, 5)), gr_zeros(t, GR_SHAPE(1, 2, 6)), NULL, NULL),
                 "conv1d: x is [1, 2, 5], so with padding 0 axis 2 has 5 values; a kernel of 6 with dilation 1 needs 6");
    assert_fails(t, gr_conv1d(t, gr_zeros(t, GR_SHAPE(1, 2, 5)), gr_zeros(t, GR_SHAPE(1, 2, 3)), NULL, &(gr_conv_config){ .stride = 2, .stride_w = 2 }),
                 "conv1d: stride_w is for two axes, and here is one; got 2");
    const gr_conv_config of_module[] = { { .kernel_w = 1 }, { .no_bias = true } };
    for (int k = 0; k < 2; k++)
        assert_fails(t, gr_conv2d(t, gr_zeros(t, GR_SHAPE(1, 1, 1, 1)), gr_zeros(t, GR_SHAPE(1, 1, 1, 1)), NULL, &of_module[k]),
                     "conv2d: kernel_w and no_bias are for a module; here weight has the width of the kernel, and a bias of NULL is none");
    assert_fails(t, gr_conv2d(t, gr_zeros(t, GR_SHAPE(1, 2, 5, 5)), NULL, NULL, NULL), "conv2d: input 2 is NULL");
    gr_tape_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradient_matches_finite_differences),
        cmocka_unit_test(gradient_is_right_when_only_some_inputs_want_it),
        cmocka_unit_test(agrees_with_its_composed_twin),
        cmocka_unit_test(values_match_hand_computed_ones),
        cmocka_unit_test(a_huge_stride_takes_no_memory_and_is_not_taken_for_1),
        cmocka_unit_test(a_kernel_of_one_1_shifts),
        cmocka_unit_test(bits_do_not_depend_on_threads_or_instruction_set),
        cmocka_unit_test(a_sample_has_the_same_bits_alone_and_in_a_batch),
        cmocka_unit_test(tiles_agree_with_the_twin),
        cmocka_unit_test(no_samples_no_channels_and_no_outputs_are_accepted),
        cmocka_unit_test(values_past_the_last_window_do_not_matter),
        cmocka_unit_test(a_call_keeps_only_its_result),
        cmocka_unit_test(out_of_memory_is_an_error_anywhere),
        cmocka_unit_test(shapes_groups_strides_and_kernels_that_do_not_fit_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
