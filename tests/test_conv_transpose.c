/* tests/test_conv_transpose.c - transposed convolution: gradients, its twin, exact facts, bits, messages. */
#include "ops/window.h"
#include "tests/conv_case.h"

static const conv_case cases[] = {
    { 2, 1, 3, 4, 1, 3, 3, true, { 0 } },
    { 1, 1, 1, 1, 1, 1, 1, true, { 0 } },
    { 2, 3, 3, 4, 5, 2, 2, true, { .stride = 2 } },
    { 3, 2, 4, 3, 4, 4, 4, true, { .stride = 2, .padding = 1 } },
    { 2, 2, 3, 4, 3, 3, 2, false, { .stride = 2, .padding = 1, .output_padding = 1 } },
    { 2, 2, 4, 3, 2, 3, 3, true, { .dilation = 2, .padding = 2 } },
    { 1, 2, 3, 4, 3, 2, 3, false, { .dilation = 3, .output_padding = 2, .padding = 1 } }, /* output_padding above the stride */
    { 2, 4, 3, 3, 6, 3, 3, true, { .groups = 2, .padding = 1, .stride = 2, .output_padding = 1 } },
    { 2, 5, 3, 4, 5, 3, 3, true, { .groups = 5, .padding = 1, .stride = 2 } },
    { 2, 3, 3, 4, 6, 2, 3, false, { .groups = 3, .stride = 3 } },
    { 2, 6, 3, 2, 3, 2, 3, true, { .groups = 3, .stride = 2 } },
    { 2, 2, 3, 4, 3, 4, 1, true, { .stride = 3, .stride_w = 2, .padding = 2, .padding_w = GR_NONE, .output_padding = 2, .output_padding_w = GR_NONE } },
    { 1, 2, 4, 3, 2, 2, 5, false, { .stride_w = 4, .padding = 1, .padding_w = 3, .dilation = 3, .dilation_w = 1, .output_padding_w = 2 } },
    { 3, 2, 0, 5, 4, 1, 3, true, { .padding = 1 } },
    { 2, 4, 0, 6, 2, 1, 4, false, { .stride = 2, .dilation = 3, .groups = 2, .padding = 4, .output_padding = 1 } },
    { 2, 3, 0, 33, 3, 1, 5, true, { .groups = 3, .stride = 2 } },
    { 2, 2, 0, 4, 3, 1, 1, true, { .stride = 4, .output_padding = 3 } }, /* some values of the result see no x */
    { 2, 2, 3, 4, 3, 1, 1, true, { .dilation = 2, .output_padding = 1 } }, /* here too, with stride 1 */
};

static gr_tensor *fused(gr_tape *t, gr_tensor *const *in, void *argument)
{
    const conv_case *c = argument;
    return (c->H ? gr_conv_transpose2d : gr_conv_transpose1d)(t, in[0], in[1], c->bias ? in[2] : NULL, &c->c);
}

/* n zeros behind x along an axis, or -n values less. */
static gr_tensor *longer(gr_tape *t, gr_tensor *x, int axis, ptrdiff_t n)
{
    if (!x || !n) return x;
    if (n < 0) return gr_narrow(t, x, axis, 0, x->dim[axis] - (size_t)-n);
    gr_shape zeros = gr_shape_of(x);
    zeros.dim[axis] = (size_t)n;
    return gr_cat(t, (gr_tensor *[]){ x, gr_zeros(t, zeros) }, 2, axis);
}

/* The twin: put stride - 1 zeros between the values of x and enough zeros around them, and convolve with the kernel turned by half a turn. */
static gr_tensor *composed(gr_tape *t, gr_tensor *const *in, void *argument)
{
    const conv_case *c = argument;
    const size_t G = c->c.groups ? (size_t)c->c.groups : 1, H = c->H ? c->H : 1, kH = c->H ? c->kH : 1, size[2] = { H, c->W }, k[2] = { kH, c->kW };
    gr_tensor *x = gr_reshape(t, in[0], GR_SHAPE(c->N, c->C, H, c->W));
    size_t dilation[2];
    for (int i = 0; i < 2; i++) {
        const bool w = c->H && i;
        const size_t stride = c->H || i ? window_setting(c->c.stride, w ? c->c.stride_w : 0, 1) : 1;
        const size_t padding = c->H || i ? window_setting(c->c.padding, w ? c->c.padding_w : 0, 0) : 0;
        const size_t more = c->H || i ? window_setting(c->c.output_padding, w ? c->c.output_padding_w : 0, 0) : 0;
        dilation[i] = window_setting(c->c.dilation, w ? c->c.dilation_w : 0, 1);
        const ptrdiff_t reach = (ptrdiff_t)(dilation[i] * (k[i] - 1)), before = reach - (ptrdiff_t)padding;
        gr_shape apart = gr_shape_of(x), joined = apart;
        apart.rank = 5, apart.dim[2 + i + 1] = 1, joined.dim[2 + i] *= stride;
        if (!i) apart.dim[4] = x->dim[3];
        x = gr_reshape(t, longer(t, gr_reshape(t, x, apart), 3 + i, (ptrdiff_t)stride - 1), joined);
        x = longer(t, x, 2 + i, 1 - (ptrdiff_t)stride); /* no zeros behind the last value */
        assert_int_equal(x->dim[2 + i], (size[i] - 1) * stride + 1);
        x = longer(t, x, 2 + i, before + (ptrdiff_t)more);
        x = gr_flip(t, longer(t, gr_flip(t, x, GR_AXES(2 + i)), 2 + i, before), GR_AXES(2 + i));
    }
    gr_tensor *w = gr_transpose(t, gr_reshape(t, in[1], GR_SHAPE(G, c->C / G, c->O / G, kH, c->kW)), 1, 2);
    w = gr_flip(t, gr_reshape(t, w, GR_SHAPE(c->O, c->C / G, kH, c->kW)), GR_AXES(2, 3));
    gr_tensor *y = composed_conv2d(t, x, w, c->bias ? in[2] : NULL,
                                      &(gr_conv_config){ .groups = (int)G, .dilation = (int)dilation[0], .dilation_w = (int)dilation[1] });
    return c->H || !y ? y : gr_reshape(t, y, GR_SHAPE(c->N, c->O, GR_INFER));
}

static const conv_kind kind = { "conv_transpose", fused, composed, true };

TEST(gradient_matches_finite_differences) { assert_conv_gradients(&kind, cases, COUNT(cases)); }
TEST(gradient_is_right_when_only_some_inputs_want_it)
{
    assert_conv_gradients_of_some_inputs(&kind, &cases[3]);
    assert_conv_gradients_of_some_inputs(&kind, &cases[8]); /* depthwise */
}
TEST(agrees_with_its_composed_twin) { assert_conv_twin(&kind, cases, COUNT(cases), IN_DOUBLE ? 1e-13 : 5e-6); }

/* ---- Exact facts ---- */

TEST(values_match_hand_computed_ones)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *x = gr_input(t, (gr_real[]){ 1, 2, 3, 4 }, GR_SHAPE(1, 1, 2, 2)), *w = gr_input(t, (gr_real[]){ 1, 10, 100, 1000 }, GR_SHAPE(1, 1, 2, 2));
    gr_tensor *b = gr_full(t, GR_SHAPE(1), 5);
    assert_values(gr_conv_transpose2d(t, x, w, NULL, NULL), 0, 1, 12, 20, 103, 1234, 2040, 300, 3400, 4000);
    assert_values(gr_conv_transpose2d(t, x, w, b, &(gr_conv_config){ .stride = 2 }), 0, 6, 15, 7, 25, 105, 1005, 205, 2005, 8, 35, 9, 45, 305, 3005, 405,
                  4005);
    assert_values(gr_conv_transpose2d(t, x, w, b, &(gr_conv_config){ .padding = 1 }), 0, 1239);
    gr_tensor *line = gr_input(t, (gr_real[]){ 1, 2 }, GR_SHAPE(1, 1, 2)), *k = gr_input(t, (gr_real[]){ 1, 0, -1 }, GR_SHAPE(1, 1, 3));
    assert_values(gr_conv_transpose1d(t, line, k, NULL, NULL), 0, 1, 2, -1, -2);
    assert_values(gr_conv_transpose1d(t, line, k, NULL, &(gr_conv_config){ .stride = 2, .padding = 1, .output_padding = 1 }), 0, 0, 1, 0, -2);
    gr_tensor *pair = gr_input(t, (gr_real[]){ 1, 2, 3, 4 }, GR_SHAPE(1, 2, 2)), *scale = gr_input(t, (gr_real[]){ 10, 100 }, GR_SHAPE(2, 1, 1));
    assert_values(gr_conv_transpose1d(t, pair, scale, NULL, NULL), 0, 310, 420);
    assert_values(gr_conv_transpose1d(t, pair, scale, NULL, &(gr_conv_config){ .groups = 2 }), 0, 10, 20, 300, 400);
    gr_tape_free(t);
}

/* It is the gradient of a convolution with respect to its x, to the last bit. */
TEST(equals_the_gradient_of_a_convolution)
{
    for (int groups = 1; groups <= 4; groups *= 2) {
        gr_tape *t = gr_tape_new(1, NULL);
        gr_tensor *x = gr_want_grad(t, gr_randn(t, GR_SHAPE(3, 4, 13, 11), 0, 1, "x"));
        gr_tensor *w = gr_randn(t, GR_SHAPE(4, 4 / (size_t)groups, 3, 5), 0, 1, "w");
        const gr_conv_config c = { .stride = 2, .padding = 1, .groups = groups };
        gr_tensor *y = gr_conv2d(t, x, w, NULL, &c), *dy = gr_randn(t, gr_shape_of(y), 0, 1, "dy");
        const gr_tensor *back = gr_conv_transpose2d(t, dy, w, NULL, &c);
        assert_true(gr_backward_from(t, y, dy->data));
        assert_int_equal(back->len, x->len);
        assert_same_bits(back->data, gr_grad(t, x), x->len);
        gr_tape_free(t);
    }
}

/* ---- Bits: in some cases samples share a chunk; in others an image needs several tiles, of rows or of parts of a row ---- */

static const conv_case large[] = {
    { 37, 3, 9, 10, 8, 4, 4, true, { .stride = 2, .padding = 1 } },
    { 9, 6, 11, 9, 4, 3, 3, false, { .stride = 2, .groups = 2, .output_padding = 1 } },
    { 4, 19, 9, 9, 19, 3, 3, true, { .groups = 19, .padding = 1 } },
    { 2, 5, 40, 41, 24, 3, 3, true, { .padding = 1, .stride = 2, .dilation = 2 } },
    { 2, 7, 0, 3003, 6, 1, 9, true, { .padding = 4 } },
    { 3, 1, 90, 89, 1, 3, 3, true, { .padding = 1 } },
    { 3, 16, 9, 8, 18, 3, 3, true, { .padding = 1 } }, /* Winograd's */
    { 3, 20, 12, 17, 20, 3, 3, true, { .groups = 20, .padding = 1 } }, /* conv_depthwise.h */
    { 3, 16, 9, 8, 17, 2, 2, true, { .stride = 2 } },
    { 3, 16, 9, 8, 17, 1, 1, true, { 0 } },
    { 2, 32, 40, 49, 3, 4, 4, true, { .stride = 2, .padding = 1 } },
    { 2, 20, 31, 33, 20, 3, 4, true, { .groups = 20, .stride = 2, .padding = 1 } },
};

TEST(bits_do_not_depend_on_threads_or_instruction_set) { assert_conv_bits(&kind, large, COUNT(large)); }
TEST(a_sample_has_the_same_bits_alone_and_in_a_batch) { assert_conv_alone_as_in_batch(&kind, large, COUNT(large)); }
TEST(tiles_agree_with_the_twin) { assert_conv_twin(&kind, large, COUNT(large), IN_DOUBLE ? 1e-12 : 1e-5); }

/* ---- Edges ---- */

TEST(no_samples_no_channels_and_no_outputs_are_accepted) { assert_conv_of_nothing(&kind, 36); }

TEST(out_of_memory_is_an_error_anywhere)
{
    const conv_case c = { 3, 5, 20, 20, 24, 3, 3, true, { .padding = 1, .stride = 2 } };
    gr_gradcheck_input in[3];
    assert_survives_failing_memory(fused, (void *)&c, in, inputs_of(&kind, &c, in));
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *x = gr_zeros(t, GR_SHAPE(1, 1, 3, 3)), *w = gr_zeros(t, GR_SHAPE(1, 1, 1, 1));
    assert_fails(t, gr_conv_transpose2d(t, x, w, NULL, &(gr_conv_config){ .stride = 2000000000 }),
                 "conv_transpose2d: [1, 1, 4000000001, 4000000001] is too large for this machine");
    gr_tape_free(t);
}

TEST(shapes_groups_and_paddings_that_do_not_fit_are_named)
{
    const struct { gr_shape x, w; size_t bias; gr_conv_config c; const char *message; } wrong[] = {
        { { 2, { 3, 4 } }, { 4, { 1, 1, 1, 1 } }, 0, { 0 }, "conv_transpose2d: x must be [N, C, H, W]; got [3, 4]" },
        { { 4, { 1, 1, 4, 4 } }, { 4, { 1, 1, 3, 3 } }, 0, { .stride = -1 }, "conv_transpose2d: stride must be 1 or more; got -1" },
        { { 4, { 1, 1, 4, 4 } }, { 4, { 1, 1, 3, 3 } }, 0, { .output_padding = -1 }, "conv_transpose2d: output_padding must be 0 or more; got -1" },
        { { 4, { 1, 1, 4, 4 } }, { 4, { 1, 1, 3, 3 } }, 0, { .output_padding_w = -2 }, "conv_transpose2d: output_padding_w must be 0 or more; got -2" },
        { { 4, { 1, 4, 4, 4 } }, { 3, { 4, 2, 3 } }, 0, { 0 }, "conv_transpose2d: weight must be [C, O / groups, kH, kW]; got [4, 2, 3]" },
        { { 4, { 1, 3, 4, 4 } }, { 4, { 3, 1, 3, 3 } }, 0, { .groups = 2 },
          "conv_transpose2d: x is [1, 3, 4, 4]: its 3 channels cannot be divided into 2 groups" },
        { { 4, { 1, 4, 4, 4 } }, { 4, { 2, 4, 3, 3 } }, 0, { .groups = 2 },
          "conv_transpose2d: weight is [2, 4, 3, 3] and groups is 2, so x must be [N, 2, H, W]; got [1, 4, 4, 4]" },
        { { 4, { 1, 4, 4, 4 } }, { 4, { 4, 3, 3, 3 } }, 3, { .groups = 2 },
          "conv_transpose2d: weight is [4, 3, 3, 3] and groups is 2, so bias must be [6]; got [3]" },
        { { 4, { 1, 1, 4, 4 } }, { 4, { 1, 5, 3, 0 } }, 5, { 0 }, "conv_transpose2d: weight is [1, 5, 3, 0]: the kernel has size 0" },
        { { 4, { 1, 1, 4, 0 } }, { 4, { 1, 1, 3, 3 } }, 0, { 0 }, "conv_transpose2d: x is [1, 1, 4, 0]: axis 3 is empty" },
        { { 4, { 1, 1, 4, 4 } }, { 4, { 1, 1, 3, 3 } }, 0, { .stride = 2, .stride_w = 3, .output_padding = 2 },
          "conv_transpose2d: output_padding must be smaller than the stride or the dilation; got 2 with stride 2 and dilation 1" },
        { { 4, { 1, 1, 4, 4 } }, { 4, { 1, 1, 3, 3 } }, 0, { .stride = 2, .dilation_w = 3, .output_padding_w = 3 },
          "conv_transpose2d: output_padding must be smaller than the stride or the dilation; got 3 with stride 2 and dilation 3" },
        { { 4, { 0, 1, 5, 2 } }, { 4, { 1, 1, 3, 3 } }, 0, { .padding = 2 },
          "conv_transpose2d: x is [0, 1, 5, 2]: padding 2 takes 4 values from axis 3 of the result, which has 4" },
    };
    gr_tape *t = gr_tape_new(1, NULL);
    for (size_t k = 0; k < COUNT(wrong); k++) {
        gr_tensor *bias = wrong[k].bias ? gr_zeros(t, GR_SHAPE(wrong[k].bias)) : NULL;
        assert_fails(t, gr_relu(t, gr_conv_transpose2d(t, gr_zeros(t, wrong[k].x), gr_zeros(t, wrong[k].w), bias, &wrong[k].c)), wrong[k].message);
    }
    assert_fails(t, gr_conv_transpose1d(t, gr_zeros(t, GR_SHAPE(1, 2)), gr_zeros(t, GR_SHAPE(2, 1, 1)), NULL, NULL),
                 "conv_transpose1d: x must be [N, C, L]; got [1, 2]");
    assert_fails(t, gr_conv_transpose1d(t, gr_zeros(t, GR_SHAPE(1, 2, 5)), gr_zeros(t, GR_SHAPE(2, 1)), NULL, NULL),
                 "conv_transpose1d: weight must be [C, O / groups, kL]; got [2, 1]");
    assert_fails(t, gr_conv_transpose1d(t, gr_zeros(t, GR_SHAPE(1, 2, 5)), gr_zeros(t, GR_SHAPE(3, 1, 1)), NULL, NULL),
                 "conv_transpose1d: weight is [3, 1, 1] and groups is 1, so x must be [N, 3, L]; got [1, 2, 5]");
    assert_fails(t, gr_conv_transpose2d(t, gr_zeros(t, GR_SHAPE(1, 2, 5, 5)), NULL, NULL, NULL), "conv_transpose2d: input 2 is NULL");
    gr_tape_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradient_matches_finite_differences),
        cmocka_unit_test(gradient_is_right_when_only_some_inputs_want_it),
        cmocka_unit_test(agrees_with_its_composed_twin),
        cmocka_unit_test(values_match_hand_computed_ones),
        cmocka_unit_test(equals_the_gradient_of_a_convolution),
        cmocka_unit_test(bits_do_not_depend_on_threads_or_instruction_set),
        cmocka_unit_test(a_sample_has_the_same_bits_alone_and_in_a_batch),
        cmocka_unit_test(tiles_agree_with_the_twin),
        cmocka_unit_test(no_samples_no_channels_and_no_outputs_are_accepted),
        cmocka_unit_test(out_of_memory_is_an_error_anywhere),
        cmocka_unit_test(shapes_groups_and_paddings_that_do_not_fit_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
