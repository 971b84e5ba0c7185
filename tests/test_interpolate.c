/* tests/test_interpolate.c - interpolation: gradients, its twin, exact facts, bits, messages. */
#include "tests/cases.h"

#define NEAREST GR_INTERPOLATE_NEAREST
#define LINEAR GR_INTERPOLATE_LINEAR

typedef struct { size_t N, C, H, W; gr_interpolate_config c; } interpolate_case; /* H 0: one axis */

static const interpolate_case cases[] = {
    { 2, 3, 4, 6, { .scale_factor = 2 } },
    { 2, 3, 4, 6, { .scale_factor = 2, .mode = LINEAR } },
    { 2, 3, 4, 6, { .scale_factor = 2, .mode = LINEAR, .align_corners = true } },
    { 1, 2, 5, 7, { .size = 3, .size_w = 11 } },
    { 1, 2, 5, 7, { .size = 3, .size_w = 11, .mode = LINEAR } },
    { 1, 2, 5, 7, { .size = 3, .size_w = 11, .mode = LINEAR, .align_corners = true } },
    { 1, 2, 3, 5, { .size = 4 } },
    { 2, 1, 7, 3, { .size = 7, .size_w = 8, .mode = LINEAR } }, /* one axis keeps its size */
    { 1, 3, 5, 4, { .scale_factor = 1.7, .scale_factor_w = 0.6 } },
    { 1, 3, 5, 4, { .scale_factor = 1.7, .scale_factor_w = 0.6, .mode = LINEAR } },
    { 1, 2, 1, 3, { .size = 4, .mode = LINEAR } },
    { 1, 2, 6, 5, { .size = 1, .mode = LINEAR } },
    { 1, 2, 6, 5, { .size = 1, .size_w = 2, .mode = LINEAR, .align_corners = true } },
    { 2, 3, 0, 5, { .size = 13 } },
    { 2, 3, 0, 5, { .size = 13, .mode = LINEAR } },
    { 2, 3, 0, 5, { .scale_factor = 2.5, .mode = LINEAR, .align_corners = true } },
    { 1, 1, 0, 33, { .size = 17, .mode = LINEAR } },
};

static gr_tensor *fused(gr_tape *t, gr_tensor *const *in, void *argument)
{
    return gr_interpolate(t, in[0], &((interpolate_case *)argument)->c);
}

/* The twin of one axis: a product with a matrix [size of the result, size of x] that holds the shares. */
static gr_tensor *composed_axis(gr_tape *t, gr_tensor *x, int axis, const gr_interpolate_config *c, bool of_w)
{
    const size_t n = x->dim[axis], size = of_w && c->size_w ? c->size_w : c->size;
    const double factor = of_w && c->scale_factor_w > 0 ? c->scale_factor_w : c->scale_factor;
    const size_t out = size ? size : (size_t)floor((double)n * factor);
    gr_tensor *shares = gr_zeros(t, GR_SHAPE(out, n));
    for (size_t i = 0; i < out; i++) {
        const double step = size ? (double)n / (double)out : 1 / factor;
        double p = c->mode == NEAREST ? floor((double)i * step) : ((double)i + 0.5) * step - 0.5;
        if (c->align_corners) p = out == 1 ? 0 : (double)(i * (n - 1)) / (double)(out - 1);
        p = fmin(fmax(p, 0), (double)(n - 1));
        const size_t first = (size_t)p;
        shares->data[i * n + first] = (gr_real)(1 - (p - (double)first));
        if (first + 1 < n) shares->data[i * n + first + 1] = (gr_real)(p - (double)first);
    }
    return gr_transpose(t, gr_matmul_t(t, gr_transpose(t, x, axis, -1), false, shares, true), axis, -1);
}

static gr_tensor *composed(gr_tape *t, gr_tensor *const *in, void *argument)
{
    const interpolate_case *c = argument;
    if (!c->H) return composed_axis(t, in[0], 2, &c->c, false);
    return composed_axis(t, composed_axis(t, in[0], 3, &c->c, true), 2, &c->c, false);
}

static gr_gradcheck_input input_of(const void *of)
{
    const interpolate_case *c = of;
    return (gr_gradcheck_input){ .shape = c->H ? GR_SHAPE(c->N, c->C, c->H, c->W) : GR_SHAPE(c->N, c->C, c->W) };
}

static const case_kind interpolate = { "interpolate", fused, composed, input_of, sizeof(interpolate_case) };

TEST(gradient_matches_finite_differences) { assert_cases_gradients(&interpolate, cases, COUNT(cases)); }

TEST(agrees_with_its_composed_twin) { assert_cases_twin(&interpolate, cases, COUNT(cases)); }

/* ---- Exact facts ---- */

TEST(values_match_hand_computed_ones)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *x = gr_input(t, (gr_real[]){ 1, 2, 3, 4 }, GR_SHAPE(1, 1, 2, 2)), *line = gr_input(t, (gr_real[]){ 0, 4, 8 }, GR_SHAPE(1, 1, 3));
    assert_values(gr_interpolate(t, x, &(gr_interpolate_config){ .scale_factor = 2 }), 0, 1, 1, 2, 2, 1, 1, 2, 2, 3, 3, 4, 4, 3, 3, 4, 4);
    assert_values(gr_interpolate(t, x, &(gr_interpolate_config){ .size = 2, .size_w = 4, .mode = LINEAR }), 0, 1, 1.25, 1.75, 2, 3, 3.25, 3.75, 4);
    assert_values(gr_interpolate(t, x, &(gr_interpolate_config){ .size = 3, .mode = LINEAR, .align_corners = true }), 0, 1, 1.5, 2, 2, 2.5, 3, 3, 3.5, 4);
    assert_values(gr_interpolate(t, line, &(gr_interpolate_config){ .scale_factor = 2, .mode = LINEAR }), 0, 0, 1, 3, 5, 7, 8);
    assert_values(gr_interpolate(t, line, &(gr_interpolate_config){ .size = 5, .mode = LINEAR, .align_corners = true }), 0, 0, 2, 4, 6, 8);
    assert_values(gr_interpolate(t, line, &(gr_interpolate_config){ .size = 2 }), 0, 0, 4);
    assert_values(gr_interpolate(t, line, &(gr_interpolate_config){ .size = 1, .mode = LINEAR }), 0, 4);
    assert_values(gr_interpolate(t, line, &(gr_interpolate_config){ .size = 1, .mode = LINEAR, .align_corners = true }), 0, 0);
    gr_tape_free(t);
}

/* The size follows from the factor, but the positions from its inverse: 3 outputs are 1 / 1.2 apart, not 1. */
TEST(a_scale_factor_gives_the_distance_of_the_outputs)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *line = gr_input(t, (gr_real[]){ 0, 4, 8 }, GR_SHAPE(1, 1, 3));
    assert_values(gr_interpolate(t, line, &(gr_interpolate_config){ .scale_factor = 1.2 }), 0, 0, 0, 4);
    assert_values(gr_interpolate(t, line, &(gr_interpolate_config){ .scale_factor = 1.2, .mode = LINEAR }), 0, 0, 4, 8); /* equal sizes: a copy */
    assert_values(gr_interpolate(t, line, &(gr_interpolate_config){ .scale_factor = 1.6, .mode = LINEAR }), 1e-6, 0, 1.75, 4.25, 6.75);
    gr_tape_free(t);
}

/* As in PyTorch. In double some positions would fall just below an index that they reach in float. */
TEST(nearest_rounds_positions_in_float)
{
    gr_tape *t = gr_tape_new(1, NULL);
    for (size_t n = 1; n < 40; n += 2)
        for (size_t out = 1; out < 140; out += 3) {
            const gr_tensor *y = gr_interpolate(t, gr_reshape(t, gr_arange(t, n), GR_SHAPE(1, 1, n)), &(gr_interpolate_config){ .size = out });
            assert_ok(t);
            for (size_t i = 0; i < out; i++) {
                volatile const float step = (float)n / (float)out, at = (float)i * step;
                assert_true(y->data[i] == (gr_real)fmin(floor((double)at), (double)(n - 1)));
            }
            gr_tape_reset(t);
        }
    gr_tape_free(t);
}

/* A value that has the whole share is copied, sign of zero and infinity included; no other value reaches the result. */
TEST(a_copy_has_the_same_bits)
{
    gr_tape *t = gr_tape_new(1, NULL);
    const gr_real values[] = { -0.0, INFINITY, -1, NAN, 3, -INFINITY };
    gr_tensor *x = gr_want_grad(t, gr_input(t, values, GR_SHAPE(1, 1, 2, 3)));
    const gr_tensor *same = gr_interpolate(t, x, &(gr_interpolate_config){ .size = 2, .size_w = 3, .mode = LINEAR });
    assert_same_bits(same->data, values, 6);
    gr_tensor *wide = gr_interpolate(t, x, &(gr_interpolate_config){ .size = 2, .size_w = 6 });
    for (size_t i = 0; i < 12; i++) assert_same_bits(&wide->data[i], &values[i / 2], 1);
    assert_true(gr_backward_from(t, wide, (gr_real[]){ 1, 2, INFINITY, 4, 5, 6, 7, 8, 9, 10, 11, 12 }));
    assert_close(gr_grad(t, x), ((gr_real[]){ 3, INFINITY, 11, 15, 19, 23 }), 6, 0);
    gr_tape_free(t);
}

TEST(a_module_calls_the_operator)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *net = gr_sequential_new(t, gr_module_new(t), "net");
    const gr_interpolate_config c = { .scale_factor = 1.5, .mode = LINEAR };
    gr_module *up = gr_upsample_new(t, net, "up", &c);
    gr_tensor *x = gr_randn(t, GR_SHAPE(2, 3, 4, 6), 0, 1, "x");
    assert_tensors_close(gr_forward(t, net, x), gr_interpolate(t, x, &c), 0);
    assert_string_equal(up->kind, "Upsample");
    assert_fails(t, gr_forward(t, up, gr_zeros(t, GR_SHAPE(2, 3))), "interpolate in net.up: x must be [N, C, L] or [N, C, H, W]; got [2, 3]");
    assert_fails(t, gr_upsample_new(t, net, "bad", NULL), "net.bad: config is NULL: it holds the size or the scale_factor");
    assert_fails(t, gr_upsample_new(t, net, "bad", &(gr_interpolate_config){ .size = 2, .scale_factor = 2 }),
                 "net.bad: only one of size and scale_factor can be given");
    assert_ptr_equal(gr_module_next(net, up), NULL); /* bad left nothing behind */
    gr_module_free(net->parent), gr_tape_free(t);
}

/* ---- Bits ---- */

static const interpolate_case large[] = {
    { 17, 5, 14, 13, { .scale_factor = 2 } },
    { 9, 3, 31, 45, { .size = 40, .size_w = 91, .mode = LINEAR } },
    { 3, 2, 0, 9001, { .size = 4000, .mode = LINEAR, .align_corners = true } },
};

TEST(bits_do_not_depend_on_threads_or_instruction_set) { assert_cases_bits(&interpolate, large, COUNT(large)); }

TEST(a_sample_has_the_same_bits_alone_and_in_a_batch) { assert_cases_alone_as_in_batch(&interpolate, large, COUNT(large)); }

/* ---- Edges ---- */

TEST(a_batch_of_size_0_is_accepted) { assert_cases_of_nothing(&interpolate, cases, COUNT(cases)); }

TEST(out_of_memory_is_an_error_anywhere)
{
    assert_survives_failing_memory(fused, (void *)&large[0], (gr_gradcheck_input[]){ input_of(&large[0]) }, 1);
    gr_tape *t = gr_tape_new(1, NULL);
    const gr_interpolate_config far[] = { { .size = SIZE_MAX / 2 }, { .scale_factor = 1e300 }, { .size = 3, .size_w = SIZE_MAX } };
    for (size_t k = 0; k < COUNT(far); k++) {
        assert_null(gr_interpolate(t, gr_zeros(t, GR_SHAPE(1, 1, 3, 3)), &far[k]));
        assert_int_equal(gr_error_code(t), GR_NO_MEMORY);
        char message[120];
        snprintf(message, sizeof message, "interpolate: out of memory: %zu bytes for this step, which holds %zu", SIZE_MAX, gr_tape_bytes(t));
        assert_message(t, message);
        gr_tape_recover(t);
    }
    gr_tape_free(t);
}

TEST(sizes_factors_and_modes_that_do_not_fit_are_named)
{
    const struct { gr_shape x; gr_interpolate_config c; const char *message; } wrong[] = {
        { { 2, { 3, 4 } }, { .size = 2 }, "interpolate: x must be [N, C, L] or [N, C, H, W]; got [3, 4]" },
        { { 5, { 1, 1, 1, 1, 1 } }, { .size = 2 }, "interpolate: x must be [N, C, L] or [N, C, H, W]; got [1, 1, 1, 1, 1]" },
        { { 4, { 1, 1, 4, 0 } }, { .size = 2 }, "interpolate: x is [1, 1, 4, 0]: axis 3 is empty" },
        { { 3, { 1, 1, 0 } }, { .size = 2 }, "interpolate: x is [1, 1, 0]: axis 2 is empty" },
        { { 3, { 1, 1, 4 } }, { .size = 2, .size_w = 3 }, "interpolate: size_w and scale_factor_w are for two axes; x is [1, 1, 4]" },
        { { 3, { 1, 1, 4 } }, { .scale_factor = 2, .scale_factor_w = 2 }, "interpolate: size_w and scale_factor_w are for two axes; x is [1, 1, 4]" },
        { { 4, { 1, 1, 4, 4 } }, { 0 }, "interpolate: a size or a scale_factor is needed" },
        { { 4, { 1, 1, 4, 4 } }, { .size_w = 3 }, "interpolate: a size or a scale_factor is needed" },
        { { 4, { 1, 1, 4, 4 } }, { .scale_factor_w = 3 }, "interpolate: a size or a scale_factor is needed" },
        { { 4, { 1, 1, 4, 4 } }, { .size = 3, .scale_factor_w = 2 }, "interpolate: only one of size and scale_factor can be given" },
        { { 4, { 1, 1, 4, 4 } }, { .size_w = 3, .scale_factor = 2 }, "interpolate: only one of size and scale_factor can be given" },
        { { 4, { 1, 1, 4, 4 } }, { .scale_factor = -0.5 }, "interpolate: scale_factor must be above 0; got -0.5" },
        { { 4, { 1, 1, 4, 4 } }, { .scale_factor = 2, .scale_factor_w = (double)NAN }, "interpolate: scale_factor must be above 0; got nan" },
        { { 4, { 1, 1, 4, 4 } }, { .scale_factor = (double)INFINITY }, "interpolate: scale_factor must be above 0; got inf" },
        { { 4, { 1, 1, 9, 4 } }, { .scale_factor = 0.2 }, "interpolate: x is [1, 1, 9, 4]: a scale_factor of 0.2 leaves nothing of axis 3" },
        { { 4, { 1, 1, 4, 4 } }, { .size = 2, .mode = (gr_interpolate_mode)7 },
          "interpolate: mode must be GR_INTERPOLATE_NEAREST or GR_INTERPOLATE_LINEAR; got 7" },
        { { 4, { 1, 1, 4, 4 } }, { .size = 2, .align_corners = true }, "interpolate: align_corners needs GR_INTERPOLATE_LINEAR" },
    };
    gr_tape *t = gr_tape_new(1, NULL);
    for (size_t k = 0; k < COUNT(wrong); k++)
        assert_fails(t, gr_relu(t, gr_interpolate(t, gr_zeros(t, wrong[k].x), &wrong[k].c)), wrong[k].message);
    assert_fails(t, gr_interpolate(t, gr_zeros(t, GR_SHAPE(1, 1, 2)), NULL), "interpolate: config is NULL: it holds the size or the scale_factor");
    assert_fails(t, gr_interpolate(t, NULL, NULL), "interpolate: input 1 is NULL");
    gr_tape_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradient_matches_finite_differences),
        cmocka_unit_test(agrees_with_its_composed_twin),
        cmocka_unit_test(values_match_hand_computed_ones),
        cmocka_unit_test(a_scale_factor_gives_the_distance_of_the_outputs),
        cmocka_unit_test(nearest_rounds_positions_in_float),
        cmocka_unit_test(a_copy_has_the_same_bits),
        cmocka_unit_test(a_module_calls_the_operator),
        cmocka_unit_test(bits_do_not_depend_on_threads_or_instruction_set),
        cmocka_unit_test(a_sample_has_the_same_bits_alone_and_in_a_batch),
        cmocka_unit_test(a_batch_of_size_0_is_accepted),
        cmocka_unit_test(out_of_memory_is_an_error_anywhere),
        cmocka_unit_test(sizes_factors_and_modes_that_do_not_fit_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
