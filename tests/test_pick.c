/* tests/test_pick.c - masked_fill, tril, triu, pad, slice_step, cumsum, std, argmin, index_select, scatter_add, one_hot. */
#include "tests/compare.h"

#define X(...) gr_zeros(t, GR_SHAPE(__VA_ARGS__))
#define IDS(shape, ...) gr_ints_new(t, (int[]){ __VA_ARGS__ }, shape)
#define V(...) ((gr_real[]){ __VA_ARGS__ })

/* Ids below n, some of them twice. */
static gr_ints *some_ids(gr_tape *t, gr_shape shape, size_t n)
{
    gr_ints *ids = gr_ints_new(t, NULL, shape);
    for (size_t i = 0; ids && i < ids->len; i++) ids->data[i] = (int)((i * i * 3 + i / 2) % n);
    return ids;
}

#define CASE(name) static gr_tensor *name##_of(gr_tape *t, __attribute__((unused)) gr_tensor *const *in, __attribute__((unused)) void *argument)
CASE(masked_fill) { return gr_masked_fill(t, in[0], gr_gt(t, in[1], gr_scalar(t, 0)), 3); }
CASE(tril) { return gr_tril(t, in[0], -1); }
CASE(triu) { return gr_triu(t, in[0], 1); }
CASE(pad) { return gr_pad(t, in[0], (int[]){ 2, 1, 0, -1, -1, 3 }, 6, 0.5); }
CASE(slice_step) { return gr_slice_step(t, in[0], 1, 1, PTRDIFF_MAX, 2); }
CASE(cumsum_last) { return gr_cumsum(t, in[0], -1); }
CASE(cumsum_first) { return gr_cumsum(t, in[0], 0); }
CASE(std_last) { return gr_std(t, in[0], GR_AXES(-1), 1, false); }
CASE(std_outer) { return gr_std(t, in[0], GR_AXES(0, 2), 0, true); }
CASE(index_select_first) { return gr_index_select(t, in[0], 0, some_ids(t, GR_SHAPE(5), in[0]->dim[0])); }
CASE(index_select_middle) { return gr_index_select(t, in[0], 1, some_ids(t, GR_SHAPE(7), in[0]->dim[1])); }
CASE(scatter_add)
{
    gr_tensor *src = gr_slice(t, gr_narrow(t, in[1], 2, 0, in[1]->dim[2] - !!in[1]->dim[2]), 1, in[1]->dim[0] - 1); /* smaller than x */
    return gr_scatter_add(t, in[0], 1, src ? some_ids(t, gr_shape_of(src), in[0]->dim[1]) : NULL, src);
}
#define LIST \
    ROW(masked_fill, "masked_fill", 2) ROW(tril, "tril", 1) ROW(triu, "triu", 1) ROW(pad, "pad", 1) ROW(slice_step, "slice_step", 1) \
    ROW(cumsum_last, "cumsum", 1) ROW(cumsum_first, "cumsum", 1) ROW(std_last, "std", 1) ROW(std_outer, "std", 1) \
    ROW(index_select_first, "index_select", 1) ROW(index_select_middle, "index_select", 1) ROW(scatter_add, "scatter_add", 2)
#define ROW(f, name, n) { name, f##_of, n },
static const struct { const char *name; gr_gradcheck_function *f; size_t n; } calls[] = { LIST };

TEST(gradients_match_finite_differences)
{
    const gr_shape shapes[] = { GR_SHAPE(2, 3, 4), GR_SHAPE(3, 2, 17), GR_SHAPE(2, 9, 2) };
    for (size_t k = 0; k < COUNT(calls); k++)
        for (size_t s = 0; s < COUNT(shapes); s++) {
            const gr_gradcheck_input in[] = { { .shape = shapes[s] }, { .shape = shapes[s], .no_grad = calls[k].f == masked_fill_of } };
            assert_true(test_gradcheck(calls[k].name, calls[k].f, NULL, in, calls[k].n, NULL, stderr));
        }
}

TEST(bits_do_not_depend_on_threads_or_instruction_set)
{
    const gr_gradcheck_input in[] = { { .shape = GR_SHAPE(37, 19, 61) }, { .shape = GR_SHAPE(37, 19, 61) } };
    for (size_t k = 0; k < COUNT(calls); k++) assert_bits_stay(calls[k].f, NULL, in, calls[k].n);
}

TEST(out_of_memory_is_an_error_anywhere)
{
    const gr_gradcheck_input in[] = { { .shape = GR_SHAPE(30, 31, 90) }, { .shape = GR_SHAPE(30, 31, 90) } };
    for (size_t k = 0; k < COUNT(calls); k++) assert_survives_failing_memory(calls[k].f, NULL, in, calls[k].n);
}

TEST(a_tensor_without_values_is_accepted)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *in[] = { gr_want_grad(t, X(2, 3, 0)), X(2, 3, 0) };
    for (size_t k = 0; k < COUNT(calls); k++) {
        gr_tensor *y = calls[k].f(t, in, NULL);
        assert_true(y && gr_backward_from(t, y, (gr_real[100]){ 0 }));
        gr_tape_reset(t), in[0] = gr_want_grad(t, X(2, 3, 0)), in[1] = X(2, 3, 0);
    }
    assert_true(gr_same_shape(gr_one_hot(t, gr_ints_new(t, NULL, GR_SHAPE(0, 2)), 3), X(0, 2, 3)));
    assert_true(gr_same_shape(gr_index_select(t, X(0, 3), 0, gr_ints_new(t, NULL, GR_SHAPE(0))), X(0, 3)));
    assert_true(gr_same_shape(gr_scatter_add(t, X(2, 3), 0, gr_ints_new(t, NULL, GR_SHAPE(0, 3)), X(0, 3)), X(2, 3)));
    assert_true(gr_same_shape(gr_pad(t, X(0, 2), (int[]){ -1, -1, 1, 2 }, 4, 7), X(3, 0)));
    gr_tape_free(t);
}

/* ---- Values, by hand ---- */

static gr_tensor *count_up(gr_tape *t, gr_shape shape)
{
    return gr_add(t, gr_reshape(t, gr_arange(t, shape.dim[0] * shape.dim[1]), shape), gr_scalar(t, 1));
}

TEST(values_go_to_the_documented_places)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *x = count_up(t, GR_SHAPE(2, 3)), *nan = gr_full(t, GR_SHAPE(2, 2), NAN);
    assert_values(gr_masked_fill(t, x, gr_input(t, V(0, 1, 0), GR_SHAPE(3)), -INFINITY), 0, 1, -(gr_real)INFINITY, 3, 4, -(gr_real)INFINITY, 6);
    assert_values(gr_masked_fill(t, gr_scalar(t, 2), gr_input(t, V(0, NAN), GR_SHAPE(2)), 9), 0, 2, 9);
    assert_values(gr_tril(t, x, 0), 0, 1, 0, 0, 4, 5, 0);
    assert_values(gr_tril(t, x, 1), 0, 1, 2, 0, 4, 5, 6);
    assert_values(gr_tril(t, x, -1), 0, 0, 0, 0, 4, 0, 0);
    assert_values(gr_triu(t, x, 0), 0, 1, 2, 3, 0, 5, 6);
    assert_values(gr_triu(t, x, 2), 0, 0, 0, 3, 0, 0, 0);
    assert_values(gr_triu(t, x, -9), 0, 1, 2, 3, 4, 5, 6);
    assert_values(gr_tril(t, nan, 0), 0, NAN, 0, NAN, NAN);
    assert_values(gr_pad(t, x, (int[]){ 1, 2 }, 2, 9), 0, 9, 1, 2, 3, 9, 9, 9, 4, 5, 6, 9, 9);
    assert_values(gr_pad(t, x, (int[]){ -1, 1, 1, -1 }, 4, 9), 0, 9, 9, 9, 2, 3, 9);
    assert_values(gr_pad(t, x, (int[]){ -3, 1 }, 2, 9), 0, 9, 9);
    assert_values(gr_pad(t, x, NULL, 0, 9), 0, 1, 2, 3, 4, 5, 6);
    assert_values(gr_one_hot(t, IDS(GR_SHAPE(2, 1), 2, 0), 3), 0, 0, 0, 1, 1, 0, 0);
    assert_true(gr_same_shape(gr_one_hot(t, IDS(GR_SHAPE(2, 1), 2, 0), 3), X(2, 1, 3)));
    assert_values(gr_index_select(t, x, 1, IDS(GR_SHAPE(4), 2, 0, 2, 1)), 0, 3, 1, 3, 2, 6, 4, 6, 5);
    assert_values(gr_index_select(t, gr_reshape(t, x, GR_SHAPE(1, 3, 2)), 1, IDS(GR_SHAPE(2), 2, 0)), 0, 5, 6, 1, 2);
    assert_values(gr_index_select(t, x, -2, IDS(GR_SHAPE(3), 1, 1, 0)), 0, 4, 5, 6, 4, 5, 6, 1, 2, 3);
    assert_values(gr_scatter_add(t, x, 1, IDS(GR_SHAPE(2, 2), 0, 0, 2, 1), gr_input(t, V(10, 20, 40, 50), GR_SHAPE(2, 2))), 0, 31, 2, 3, 4, 55, 46);
    assert_values(gr_cumsum(t, x, 1), 0, 1, 3, 6, 4, 9, 15);
    assert_values(gr_cumsum(t, x, 0), 0, 1, 2, 3, 5, 7, 9);
    assert_ok(t);
    gr_tape_free(t);
}

TEST(slices_with_a_step_are_those_of_python)
{
    gr_tape *t = gr_tape_new(1, NULL);
    for (ptrdiff_t start = -8; start <= 8; start++)
        for (ptrdiff_t stop = -8; stop <= 8; stop++)
            for (ptrdiff_t step = 1; step < 8; step++) {
                gr_tape_reset(t);
                const gr_tensor *y = gr_slice_step(t, gr_arange(t, 6), 0, start, stop, step);
                const ptrdiff_t first = start < -6 ? 0 : start < 0 ? start + 6 : start, end = stop < 0 ? stop + 6 : stop < 6 ? stop : 6;
                size_t n = 0;
                for (ptrdiff_t i = first; i < end; i += step) assert_true(n < y->len && y->data[n++] == (gr_real)i);
                assert_int_equal(y->len, n);
            }
    gr_tensor *x = count_up(t, GR_SHAPE(2, 3));
    assert_values(gr_slice_step(t, x, 1, 0, 3, 2), 0, 1, 3, 4, 6);
    assert_values(gr_slice_step(t, x, 0, PTRDIFF_MIN, PTRDIFF_MAX, PTRDIFF_MAX), 0, 1, 2, 3);
    assert_ok(t);
    gr_tape_free(t);
}

TEST(a_long_cumsum_is_as_accurate_as_its_first_sums)
{
    gr_tape *t = gr_tape_new(1, NULL);
    enum { N = 100000 };
    const gr_tensor *y = gr_cumsum(t, gr_full(t, GR_SHAPE(N), 0.1), 0);
    for (int i = 0; i < N; i++) assert_true(fabs((double)y->data[i] / ((double)(gr_real)0.1 * (i + 1)) - 1) < (sizeof(gr_real) == 8 ? 1e-11 : 6e-8));
    if (sizeof(gr_real) == 4) assert_values(gr_cumsum(t, gr_input(t, V(3e38f, 3e38f, -3e38f), GR_SHAPE(3)), 0), 0, 3e38f, (gr_real)INFINITY, 3e38f);
    gr_tape_free(t);
}

TEST(std_is_the_root_of_var_and_passes_no_gradient_at_0)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *x = gr_want_grad(t, gr_input(t, V(1, 2, 3, 4, 5, 5, 5, 5), GR_SHAPE(2, 4)));
    gr_tensor *y = gr_std(t, x, GR_AXES(1), 1, false);
    assert_values(y, 1e-6, (gr_real)1.2909944487358056, 0);
    assert_true(gr_backward_from(t, y, V(1, 1)));
    assert_close(gr_grad(t, x), V((gr_real)-0.3872983346207417, (gr_real)-0.1290994448735806, (gr_real)0.1290994448735806, (gr_real)0.3872983346207417, 0, 0, 0, 0), 8,
                 1e-6);
    assert_values(gr_std(t, gr_scalar(t, 2), GR_ALL_AXES, 1, false), 0, NAN);
    assert_fails(t, gr_std(t, X(2, 3), GR_AXES(2), 1, false), "var: x is [2, 3], so an axis must be in -2 .. 1; got 2");
    gr_tape_free(t);
}

TEST(argmin_finds_the_first_smallest)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *x = gr_input(t, V(5, 1, 1, 2, 0, -1, 7, NAN, NAN, INFINITY, INFINITY, INFINITY, 0, -0.0, 1), GR_SHAPE(5, 3));
    assert_memory_equal(gr_argmin(t, x, -1, false)->data, ((int[]){ 1, 2, 1, 0, 0 }), 5 * sizeof(int));
    const gr_ints *columns = gr_argmin(t, x, 0, true);
    assert_true(columns->rank == 2 && columns->dim[0] == 1 && columns->dim[1] == 3);
    assert_memory_equal(columns->data, ((int[]){ 4, 2, 2 }), 3 * sizeof(int));
    assert_fails(t, gr_argmin(t, X(2, 0), 1, false), "argmin: x is [2, 0]: an empty axis has no smallest value");
    assert_fails(t, gr_argmin(t, X(0, (size_t)1 << 31), -1, false), "argmin: x is [0, 2147483648]: an index of axis 1 does not fit into an int");
    gr_tape_free(t);
}

/* ---- Errors ---- */

TEST(arguments_that_do_not_fit_are_named)
{
    gr_tape *t = gr_tape_new(1, NULL);
    assert_fails(t, gr_masked_fill(t, X(2, 3), NULL, 0), "masked_fill: input 2 is NULL");
    assert_fails(t, gr_masked_fill(t, X(2, 3), X(2), 0), "masked_fill: x is [2, 3] and mask is [2], which do not broadcast");
    assert_fails(t, gr_tril(t, X(3), 0), "tril: x must have two axes or more; got [3]");
    assert_fails(t, gr_triu(t, gr_scalar(t, 1), 0), "triu: x must have two axes or more; got []");
    assert_fails(t, gr_pad(t, X(2, 3), (int[]){ 1, 1, 1 }, 3, 0), "pad: x is [2, 3], so sizes must be pairs, for 2 axes at most; got n = 3");
    assert_fails(t, gr_pad(t, X(2, 3), (int[6]){ 0 }, 6, 0), "pad: x is [2, 3], so sizes must be pairs, for 2 axes at most; got n = 6");
    assert_fails(t, gr_pad(t, X(2, 3), NULL, 2, 0), "pad: the list of sizes is NULL");
    assert_fails(t, gr_pad(t, X(2, 3), (int[]){ -2, -2 }, 2, 0), "pad: x is [2, 3], so axis 1 has no 4 indices to remove");
    assert_fails(t, gr_pad(t, X(2, 3), (int[]){ 0, 0, INT32_MIN, 9 }, 4, 0), "pad: x is [2, 3], so axis 0 has no 2147483648 indices to remove");
    assert_fails(t, gr_slice_step(t, X(2, 3), 1, 0, 3, 0), "slice_step: step must be 1 or more; got 0. gr_flip reverses an axis");
    assert_fails(t, gr_slice_step(t, X(2, 3), 0, 2, 0, -1), "slice_step: step must be 1 or more; got -1. gr_flip reverses an axis");
    assert_fails(t, gr_slice_step(t, X(2, 3), 2, 0, 3, 1), "slice_step: x is [2, 3], so an axis must be in -2 .. 1; got 2");
    assert_fails(t, gr_cumsum(t, X(2, 3), 2), "cumsum: x is [2, 3], so an axis must be in -2 .. 1; got 2");
    assert_fails(t, gr_one_hot(t, NULL, 3), "one_hot: ids is NULL");
    assert_fails(t, gr_one_hot(t, IDS(GR_SHAPE(2), 0, 3), 3), "one_hot: ids[1] is 3, but the result is [2, 3]: on axis 1 it must be 0 .. 2");
    assert_fails(t, gr_one_hot(t, IDS(GR_SHAPE(1, 1, 1, 1, 1, 1, 1, 1), 0), 3), "one_hot: ids is [1, 1, 1, 1, 1, 1, 1, 1], so the result would have more than 8 axes");
    assert_fails(t, gr_index_select(t, X(2, 3), 1, NULL), "index_select: ids is NULL");
    assert_fails(t, gr_index_select(t, X(2, 3), 1, IDS(GR_SHAPE(1, 1), 0)), "index_select: ids must have one axis; got [1, 1]");
    assert_fails(t, gr_index_select(t, X(2, 3), 1, IDS(GR_SHAPE(2), 2, -1)), "index_select: ids[1] is -1, but x is [2, 3]: on axis 1 it must be 0 .. 2");
    assert_fails(t, gr_index_select(t, X(2, 3), 3, IDS(GR_SHAPE(1), 0)), "index_select: x is [2, 3], so an axis must be in -2 .. 1; got 3");
    assert_fails(t, gr_scatter_add(t, X(2, 3), 0, IDS(GR_SHAPE(1, 1), 0), NULL), "scatter_add: input 2 is NULL");
    assert_fails(t, gr_scatter_add(t, X(2, 3), 0, IDS(GR_SHAPE(1), 0), X(1)),
                 "scatter_add: x is [2, 3], so ids must have rank 2 and be no larger than x except on axis 0; got [1]");
    assert_fails(t, gr_scatter_add(t, X(2, 3), 0, IDS(GR_SHAPE(1, 1), 2), X(1, 1)), "scatter_add: ids[0, 0] is 2, but x is [2, 3]: on axis 0 it must be 0 .. 1");
    assert_fails(t, gr_scatter_add(t, X(2, 3), 0, IDS(GR_SHAPE(1, 2), 0, 0), X(1, 1)), "scatter_add: ids is [1, 2], so src must have this shape; got [1, 1]");
    gr_tape_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_match_finite_differences),
        cmocka_unit_test(bits_do_not_depend_on_threads_or_instruction_set),
        cmocka_unit_test(out_of_memory_is_an_error_anywhere),
        cmocka_unit_test(a_tensor_without_values_is_accepted),
        cmocka_unit_test(values_go_to_the_documented_places),
        cmocka_unit_test(slices_with_a_step_are_those_of_python),
        cmocka_unit_test(a_long_cumsum_is_as_accurate_as_its_first_sums),
        cmocka_unit_test(std_is_the_root_of_var_and_passes_no_gradient_at_0),
        cmocka_unit_test(argmin_finds_the_first_smallest),
        cmocka_unit_test(arguments_that_do_not_fit_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
