/* tests/test_pooling.c - pooling: gradients, twins, exact facts, bits, messages. */
#include "examples/composed/composed.h"
#include "tests/cases.h"

typedef enum { MAX, AVG } kind;
typedef struct {
    size_t N, C, H, W; /* H 0: one axis */
    gr_pool_config c;
    kind kind;
    size_t h, w;       /* the number of windows of adaptive pooling */
} pool_case;

#define BOTH(...) { __VA_ARGS__, .kind = MAX }, { __VA_ARGS__, .kind = AVG }
static const pool_case cases[] = {
    BOTH(1, 1, 2, 2, { .kernel = 2 }),
    BOTH(2, 3, 4, 6, { .kernel = 2 }),
    BOTH(1, 2, 7, 37, { .kernel = 2 }),
    BOTH(2, 2, 6, 5, { .kernel = 1 }),
    BOTH(2, 1, 7, 8, { .kernel = 3, .stride = 2, .padding = 1 }),
    BOTH(2, 2, 6, 7, { .kernel = 3, .stride = 1, .exclude_padding = true, .padding = 1 }),
    BOTH(1, 2, 9, 8, { .kernel = 4, .kernel_w = 3, .stride = 3, .stride_w = 1, .padding = 2, .padding_w = GR_NONE }),
    BOTH(1, 2, 5, 9, { .kernel = 2, .kernel_w = 5, .padding = 1, .padding_w = 2 }),
    BOTH(2, 2, 3, 3, { .kernel = 3 }),
    /* Each of these differs in one way from windows of 2 x 2 side by side, which have their own loops. */
    BOTH(2, 2, 7, 8, { .kernel = 3, .kernel_w = 2 }),
    BOTH(2, 2, 8, 7, { .kernel = 2, .kernel_w = 3 }),
    BOTH(1, 2, 8, 6, { .kernel = 3, .kernel_w = 2, .stride = 2 }),
    BOTH(1, 2, 6, 8, { .kernel = 2, .kernel_w = 3, .stride = 2 }),
    BOTH(1, 2, 6, 8, { .kernel = 2, .kernel_w = 1, .stride = 2 }),
    BOTH(2, 1, 9, 8, { .kernel = 2, .stride = 3, .stride_w = 2 }),
    BOTH(2, 1, 8, 9, { .kernel = 2, .stride = 2, .stride_w = 3 }),
    BOTH(1, 2, 5, 6, { .kernel = 2, .stride = 1, .stride_w = 2 }),
    BOTH(1, 2, 6, 5, { .kernel = 2, .stride = 2, .stride_w = 1 }),
    BOTH(1, 2, 5, 6, { .kernel = 2, .padding = 1, .padding_w = GR_NONE }),
    BOTH(1, 2, 6, 5, { .kernel = 2, .padding_w = 1 }),
    BOTH(2, 2, 7, 9, { .kernel = 2, .kernel_w = 4, .stride = 3, .stride_w = 2, .padding = 1, .padding_w = 2, .exclude_padding = true }),
    BOTH(1, 2, 9, 7, { .kernel = 5, .kernel_w = 3, .stride = 1, .stride_w = 4, .padding_w = 1, .exclude_padding = true }),
    BOTH(2, 3, 0, 9, { .kernel = 2 }),
    BOTH(3, 2, 0, 11, { .kernel = 4, .stride = 3, .padding = 2 }),
    BOTH(2, 1, 0, 5, { .kernel = 3, .padding = 1, .exclude_padding = true }),
    BOTH(2, 3, 5, 7, { 0 }, .h = 1, .w = 1),
    BOTH(2, 2, 5, 7, { 0 }, .h = 3, .w = 2),
    BOTH(1, 2, 3, 4, { 0 }, .h = 5, .w = 4),
    BOTH(1, 2, 9, 4, { 0 }, .h = 2, .w = 5),
    /* windows that cover whole rows, so that each is one run of memory */
    BOTH(1, 2, 8, 3, { .kernel = 2, .kernel_w = 3 }),
    BOTH(2, 2, 7, 4, { 0 }, .h = 3, .w = 1),
    BOTH(2, 3, 0, 33, { 0 }, .w = 1),
    BOTH(2, 3, 0, 10, { 0 }, .w = 4),
};

static gr_tensor *fused(gr_tape *t, gr_tensor *const *in, void *argument)
{
    const pool_case *c = argument;
    if (c->h) return (c->kind == MAX ? gr_adaptive_max_pool2d : gr_adaptive_avg_pool2d)(t, in[0], c->h, c->w);
    if (c->w) return (c->kind == MAX ? gr_adaptive_max_pool1d : gr_adaptive_avg_pool1d)(t, in[0], c->w);
    if (c->H) return (c->kind == MAX ? gr_max_pool2d : gr_avg_pool2d)(t, in[0], &c->c);
    return (c->kind == MAX ? gr_max_pool1d : gr_avg_pool1d)(t, in[0], &c->c);
}

/* Adaptive pooling, one window at a time. */
static gr_tensor *composed_adaptive(gr_tape *t, gr_tensor *x, const pool_case *c)
{
    gr_tensor *y[32];
    const size_t h = c->h ? c->h : 1, H = x->dim[2], W = x->dim[3];
    for (size_t i = 0; i < h * c->w; i++) {
        const size_t r = i / c->w, q = i % c->w, top = r * H / h, left = q * W / c->w;
        gr_tensor *window = gr_narrow(t, gr_narrow(t, x, 2, top, ((r + 1) * H + h - 1) / h - top), 3, left, ((q + 1) * W + c->w - 1) / c->w - left);
        y[i] = (c->kind == MAX ? gr_max : gr_mean)(t, window, GR_AXES(2, 3), false);
    }
    return gr_reshape(t, gr_stack(t, y, h * c->w, 2), GR_SHAPE(c->N, c->C, h, c->w));
}

static gr_tensor *composed(gr_tape *t, gr_tensor *const *in, void *argument)
{
    const pool_case *c = argument;
    gr_pool_config config = c->c;
    gr_tensor *x = in[0], *y;
    if (!c->H) {
        x = gr_reshape(t, x, GR_SHAPE(c->N, c->C, 1, c->W)), config.padding_w = config.padding ? config.padding : GR_NONE;
        config.kernel_w = config.kernel, config.stride_w = config.stride, config.kernel = config.stride = 1, config.padding = 0;
        if (!config.stride_w) config.stride_w = config.kernel_w;
    }
    if (c->w) y = composed_adaptive(t, x, c);
    else y = (c->kind == MAX ? composed_max_pool2d : composed_avg_pool2d)(t, x, &config);
    return c->H || !y ? y : gr_reshape(t, y, GR_SHAPE(c->N, c->C, GR_INFER));
}

static gr_gradcheck_input input_of(const void *of)
{
    const pool_case *c = of;
    return (gr_gradcheck_input){ .shape = c->H ? GR_SHAPE(c->N, c->C, c->H, c->W) : GR_SHAPE(c->N, c->C, c->W), .distinct = c->kind == MAX };
}

static const case_kind pool = { "pool", fused, composed, input_of, sizeof(pool_case) };

TEST(gradient_matches_finite_differences) { assert_cases_gradients(&pool, cases, COUNT(cases)); }

TEST(agrees_with_its_composed_twin) { assert_cases_twin(&pool, cases, COUNT(cases)); }

/* ---- Exact facts ---- */

TEST(values_match_hand_computed_ones)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *x = gr_input(t, (gr_real[]){ 1, 5, 2, 0, 3, -4, 7, 8, 9 }, GR_SHAPE(1, 1, 3, 3));
    assert_values(gr_max_pool2d(t, x, &(gr_pool_config){ .kernel = 2 }), 0, 5);
    assert_values(gr_max_pool2d(t, x, &(gr_pool_config){ .kernel = 2, .stride = 1 }), 0, 5, 5, 8, 9);
    assert_values(gr_max_pool2d(t, x, &(gr_pool_config){ .kernel = 2, .padding = 1 }), 0, 1, 5, 7, 9);
    assert_values(gr_avg_pool2d(t, x, &(gr_pool_config){ .kernel = 2 }), 0, 2.25);
    assert_values(gr_avg_pool2d(t, x, &(gr_pool_config){ .kernel = 2, .padding = 1 }), 1e-7, 0.25, 1.75, 1.75, 4);
    assert_values(gr_avg_pool2d(t, x, &(gr_pool_config){ .kernel = 2, .padding = 1, .exclude_padding = true }), 1e-7, 1, 3.5, 3.5, 4);
    assert_values(gr_adaptive_avg_pool2d(t, x, 1, 1), 1e-7, 31.0 / 9);
    assert_values(gr_adaptive_max_pool2d(t, x, 2, 1), 0, 5, 9);
    gr_tensor *line = gr_input(t, (gr_real[]){ 1, -2, 3, -1 }, GR_SHAPE(1, 1, 4));
    assert_values(gr_max_pool1d(t, line, &(gr_pool_config){ .kernel = 3, .stride = 1, .padding = 1 }), 0, 1, 3, 3, 3);
    assert_values(gr_avg_pool1d(t, line, &(gr_pool_config){ .kernel = 2 }), 0, -0.5, 1);
    assert_values(gr_adaptive_avg_pool1d(t, line, 3), 0, -0.5, 0.5, 1);
    gr_tape_free(t);
}

/* The padding around x counts as -inf, so that values below 0 still win. A window that holds only -inf gives -inf, and its first value gets
 * the gradient. */
TEST(padding_is_never_the_maximum)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *x = gr_want_grad(t, gr_full(t, GR_SHAPE(1, 1, 2, 2), -INFINITY));
    x->data[3] = -5;
    gr_tensor *y = gr_max_pool2d(t, x, &(gr_pool_config){ .kernel = 2, .padding = 1, .stride = 1 });
    const gr_real low = -INFINITY;
    assert_values(y, 0, low, low, low, low, -5, -5, low, -5, -5);
    assert_true(gr_backward_from(t, y, (gr_real[]){ 1, 2, 4, 8, 16, 32, 64, 128, 256 }));
    assert_close(gr_grad(t, x), ((gr_real[]){ 1 + 2 + 8, 4, 64, 16 + 32 + 128 + 256 }), 4, 0);
    gr_tape_free(t);
}

TEST(the_first_of_equal_values_gets_the_gradient)
{
    const gr_real nan = (gr_real)NAN;
    const struct { int stride; gr_real x[4]; size_t winner; } c[] = {
        { 2, { 3, 3, 3, 3 }, 0 }, { 2, { 1, 3, 3, 3 }, 1 }, { 2, { 1, 2, 3, 3 }, 2 }, { 2, { 1, 2, 0, 3 }, 3 }, { 2, { -0.0, 0, 0, 0 }, 0 },
        { 2, { 1, nan, 9, nan }, 1 }, { 2, { 1, 2, 9, nan }, 3 }, { 2, { nan, 1, 9, nan }, 0 }, { 2, { 9, 1, nan, 9 }, 2 },
        { 1, { 3, 3, 3, 3 }, 0 }, { 1, { 1, 2, 3, 3 }, 2 }, { 1, { 1, nan, 9, nan }, 1 }, { 1, { 1, 2, 9, nan }, 3 },
    };
    for (size_t k = 0; k < COUNT(c); k++) {
        gr_tape *t = gr_tape_new(1, NULL);
        gr_tensor *x = gr_want_grad(t, gr_input(t, c[k].x, GR_SHAPE(1, 1, 2, 2)));
        gr_tensor *y = gr_max_pool2d(t, x, &(gr_pool_config){ .kernel = 2, .stride = c[k].stride });
        assert_same_bits(y->data, &c[k].x[c[k].winner], 1);
        assert_true(gr_backward_from(t, y, (gr_real[]){ 7 }));
        for (size_t i = 0; i < 4; i++) assert_true(gr_grad(t, x)[i] == (i == c[k].winner ? 7 : 0));
        gr_tape_free(t);
    }
}

/* Windows of 2 x 2 are looked at in blocks: many rows, rows longer than a block, a row and a column that no window covers. */
TEST(every_block_of_windows_gives_the_gradient_to_its_maximum)
{
    const size_t size[][2] = { { 47, 30 }, { 2, 1100 }, { 5, 1031 }, { 6, 512 }, { 130, 7 } };
    for (size_t k = 0; k < COUNT(size); k++) {
        const size_t H = size[k][0], W = size[k][1], n = W / 2;
        gr_tape *t = gr_tape_new(1, NULL);
        gr_tensor *x = gr_want_grad(t, gr_rand(t, GR_SHAPE(2, 1, H, W), -1, 1, "x")), *y = gr_max_pool2d(t, x, &(gr_pool_config){ .kernel = 2 });
        gr_tensor *dy = gr_rand(t, gr_shape_of(y), 1, 2, "dy");
        assert_true(gr_backward_from(t, y, dy->data));
        for (size_t i = 0; i < x->len; i++) {
            const size_t plane = i / (H * W), r = i / W % H / 2, c = i % W / 2, at = (plane * (H / 2) + r) * n + c;
            const bool covered = r < H / 2 && c < n;
            assert_true(gr_grad(t, x)[i] == (covered && x->data[i] == y->data[at] ? dy->data[at] : 0));
        }
        gr_tape_free(t);
    }
}

TEST(a_nan_reaches_its_own_windows_only)
{
    for (size_t k = 0; k < COUNT(cases); k++) {
        gr_tape *t = gr_tape_new(1, NULL);
        gr_tensor *x = gr_randn(t, input_of(&cases[k]).shape, 0, 1, "x");
        x->data[x->len / 2] = 1e9;
        const gr_tensor *clean = fused(t, &x, (void *)&cases[k]);
        gr_tensor *spoilt = gr_input(t, x->data, gr_shape_of(x));
        spoilt->data[x->len / 2] = (gr_real)NAN;
        const gr_tensor *y = fused(t, &spoilt, (void *)&cases[k]);
        assert_ok(t);
        for (size_t i = 0; i < y->len; i++) assert_true(!!isnan(y->data[i]) == (clean->data[i] > 1000000)); /* the windows that contain it */
        gr_tape_free(t);
    }
}

/* ---- Bits ---- */

static const pool_case large[] = {
    BOTH(17, 5, 28, 28, { .kernel = 2 }),
    BOTH(9, 3, 15, 14, { .kernel = 2 }), BOTH(3, 2, 14, 67, { .kernel = 2 }),
    BOTH(9, 3, 31, 45, { .kernel = 3, .stride = 2, .padding = 1 }),
    BOTH(3, 2, 0, 9001, { .kernel = 5, .stride = 3 }),
    BOTH(9, 16, 19, 21, { 0 }, .h = 1, .w = 1),
};

TEST(bits_do_not_depend_on_threads_or_instruction_set) { assert_cases_bits(&pool, large, COUNT(large)); }

TEST(a_sample_has_the_same_bits_alone_and_in_a_batch) { assert_cases_alone_as_in_batch(&pool, large, COUNT(large)); }

/* ---- Edges ---- */

TEST(a_batch_of_size_0_is_accepted) { assert_cases_of_nothing(&pool, cases, COUNT(cases)); }

TEST(out_of_memory_is_an_error_anywhere)
{
    assert_survives_failing_memory(fused, (void *)&large[0], (gr_gradcheck_input[]){ input_of(&large[0]) }, 1);
    gr_tape *t = gr_tape_new(1, NULL);
    assert_null(gr_adaptive_avg_pool1d(t, gr_zeros(t, GR_SHAPE(1, 1, 3)), SIZE_MAX / 2));
    assert_int_equal(gr_error_code(t), GR_NO_MEMORY);
    gr_tape_free(t);
}

TEST(kernels_strides_and_paddings_that_do_not_fit_are_named)
{
    const struct { gr_shape x; gr_pool_config c; const char *message; } wrong[] = {
        { { 2, { 3, 4 } }, { .kernel = 2 }, "max_pool2d: x must be [N, C, H, W]; got [3, 4]" },
        { { 4, { 1, 1, 4, 0 } }, { .kernel = 2 }, "max_pool2d: x is [1, 1, 4, 0]: axis 3 is empty" },
        { { 4, { 1, 1, 4, 4 } }, { 0 }, "max_pool2d: kernel must be 1 or more; got 0" },
        { { 4, { 1, 1, 4, 4 } }, { .kernel = 2, .stride = -1 }, "max_pool2d: stride must be 1 or more; got -1" },
        { { 4, { 1, 1, 4, 4 } }, { .kernel = 2, .padding = -1 }, "max_pool2d: padding must be 0 or more; got -1" },
        { { 4, { 1, 1, 4, 4 } }, { .kernel = 2, .kernel_w = -3 }, "max_pool2d: kernel_w must be 1 or more; got -3" },
        { { 4, { 1, 1, 4, 4 } }, { .kernel = 2, .stride_w = -2 }, "max_pool2d: stride_w must be 1 or more; got -2" },
        { { 4, { 1, 1, 4, 4 } }, { .kernel = 2, .padding_w = -2 }, "max_pool2d: padding_w must be 0 or more; got -2" },
        { { 4, { 1, 1, 4, 4 } }, { .kernel = 3, .padding = 2 }, "max_pool2d: padding can be at most half of the kernel; got 2 for a kernel of 3" },
        { { 4, { 1, 1, 9, 4 } }, { .kernel = 4, .kernel_w = 7, .padding = 1 },
          "max_pool2d: x is [1, 1, 9, 4], so with padding 1 axis 3 has 6 values; a kernel of 7 is larger" },
        { { 4, { 0, 1, 2, 4 } }, { .kernel = 3 }, "max_pool2d: x is [0, 1, 2, 4], so with padding 0 axis 2 has 2 values; a kernel of 3 is larger" },
    };
    gr_tape *t = gr_tape_new(1, NULL);
    for (size_t k = 0; k < COUNT(wrong); k++) {
        assert_fails(t, gr_relu(t, gr_max_pool2d(t, gr_zeros(t, wrong[k].x), &wrong[k].c)), wrong[k].message);
    }
    assert_fails(t, gr_avg_pool1d(t, gr_zeros(t, GR_SHAPE(1, 2)), &(gr_pool_config){ .kernel = 2 }),
                 "avg_pool1d: x must be [N, C, L]; got [1, 2]");
    assert_fails(t, gr_avg_pool1d(t, gr_zeros(t, GR_SHAPE(1, 1, 2)), &(gr_pool_config){ .kernel = 2, .kernel_w = 2 }),
                 "avg_pool1d: kernel_w is for two axes, and here is one; got 2");
    assert_fails(t, gr_avg_pool2d(t, gr_zeros(t, GR_SHAPE(1, 1, 2, 2)), NULL),
                 "avg_pool2d: config is NULL: it holds the size of the kernel");
    assert_fails(t, gr_max_pool1d(t, NULL, &(gr_pool_config){ .kernel = 2 }), "max_pool1d: input 1 is NULL");
    assert_fails(t, gr_adaptive_avg_pool2d(t, gr_zeros(t, GR_SHAPE(1, 1, 2, 2)), 1, 0),
                 "adaptive_avg_pool2d: width must be 1 or more; got 0");
    assert_fails(t, gr_adaptive_max_pool2d(t, gr_zeros(t, GR_SHAPE(1, 1, 2, 2)), 0, 1),
                 "adaptive_max_pool2d: height must be 1 or more; got 0");
    assert_fails(t, gr_adaptive_max_pool1d(t, gr_zeros(t, GR_SHAPE(1, 1, 2)), 0), "adaptive_max_pool1d: length must be 1 or more; got 0");
    assert_fails(t, gr_adaptive_avg_pool1d(t, gr_zeros(t, GR_SHAPE(1, 1, 0)), 1),
                 "adaptive_avg_pool1d: x is [1, 1, 0]: axis 2 is empty");
    gr_tape_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradient_matches_finite_differences),
        cmocka_unit_test(agrees_with_its_composed_twin),
        cmocka_unit_test(values_match_hand_computed_ones),
        cmocka_unit_test(padding_is_never_the_maximum),
        cmocka_unit_test(the_first_of_equal_values_gets_the_gradient),
        cmocka_unit_test(every_block_of_windows_gives_the_gradient_to_its_maximum),
        cmocka_unit_test(a_nan_reaches_its_own_windows_only),
        cmocka_unit_test(bits_do_not_depend_on_threads_or_instruction_set),
        cmocka_unit_test(a_sample_has_the_same_bits_alone_and_in_a_batch),
        cmocka_unit_test(a_batch_of_size_0_is_accepted),
        cmocka_unit_test(out_of_memory_is_an_error_anywhere),
        cmocka_unit_test(kernels_strides_and_paddings_that_do_not_fit_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
