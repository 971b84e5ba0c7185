/* tests/test_shape.c - permute, transpose, narrow, select, split, flip, expand, cat, stack. */
#include "tests/test.h"

/* A call of an operator, and the shape of its input. */
typedef struct {
    const char *name;
    gr_shape x;
    gr_axes axes;
    int axis, other;
    size_t start, count;
    ptrdiff_t index;
    gr_shape to;
} call;

static gr_tensor *permute_of(gr_tape *t, gr_tensor *const *in, void *a) { return gr_permute(t, in[0], ((call *)a)->axes); }
static gr_tensor *transpose_of(gr_tape *t, gr_tensor *const *in, void *a) { const call *c = a; return gr_transpose(t, in[0], c->axis, c->other); }
static gr_tensor *flip_of(gr_tape *t, gr_tensor *const *in, void *a) { return gr_flip(t, in[0], ((call *)a)->axes); }
static gr_tensor *narrow_of(gr_tape *t, gr_tensor *const *in, void *a)
{
    const call *c = a;
    return gr_narrow(t, in[0], c->axis, c->start, c->count);
}
static gr_tensor *select_of(gr_tape *t, gr_tensor *const *in, void *a) { const call *c = a; return gr_select(t, in[0], c->axis, c->index); }
static gr_tensor *expand_of(gr_tape *t, gr_tensor *const *in, void *a) { return gr_expand(t, in[0], ((call *)a)->to); }
static gr_tensor *cat_of(gr_tape *t, gr_tensor *const *in, void *a) { const call *c = a; return gr_cat(t, in, c->count, c->axis); }
static gr_tensor *stack_of(gr_tape *t, gr_tensor *const *in, void *a) { const call *c = a; return gr_stack(t, in, c->count, c->axis); }

/* Join the pieces again with different weights, without one of them. */
static gr_tensor *split_of(gr_tape *t, gr_tensor *const *in, void *a)
{
    const call *c = a;
    gr_tensor *part[3];
    if (!gr_split(t, in[0], c->axis, (size_t[]){ c->start, 2, gr_size(in[0], c->axis) - c->start - 2 }, 3, part)) return NULL;
    return gr_cat(t, (gr_tensor *[]){ gr_neg(t, part[2]), part[0] }, 2, c->axis);
}

static void check(gr_gradcheck_function *f, call c)
{
    const gr_gradcheck_input in = { .shape = c.x };
    assert_true(test_gradcheck(c.name, f, &c, &in, 1, NULL, stderr));
}

TEST(gradients_match_finite_differences)
{
    check(permute_of, (call){ "permute", GR_SHAPE(3, 5), .axes = GR_AXES(1, 0) });
    check(permute_of, (call){ "permute", GR_SHAPE(17, 33), .axes = GR_AXES(-1, 0) });
    check(permute_of, (call){ "permute", GR_SHAPE(2, 3, 4), .axes = GR_AXES(1, 0, 2) });
    check(permute_of, (call){ "permute", GR_SHAPE(2, 3, 4), .axes = GR_AXES(2, 0, 1) });
    check(permute_of, (call){ "permute", GR_SHAPE(2, 3, 1, 5), .axes = GR_AXES(3, 1, 0, 2) });
    check(permute_of, (call){ "permute", GR_SCALAR, .axes = GR_ALL_AXES });
    check(transpose_of, (call){ "transpose", GR_SHAPE(3, 4, 5), .axis = 0, .other = -1 });
    check(transpose_of, (call){ "transpose", GR_SHAPE(7), .axis = 0, .other = 0 });
    check(flip_of, (call){ "flip", GR_SHAPE(3, 4, 5), .axes = GR_AXES(0, 2) });
    check(flip_of, (call){ "flip", GR_SHAPE(3, 4, 5), .axes = GR_AXES(1) });
    check(flip_of, (call){ "flip", GR_SHAPE(18), .axes = GR_ALL_AXES });
    check(narrow_of, (call){ "narrow", GR_SHAPE(4, 5, 6), .axis = 1, .start = 1, .count = 3 });
    check(narrow_of, (call){ "narrow", GR_SHAPE(4, 21), .axis = -1, .start = 2, .count = 17 });
    check(select_of, (call){ "select", GR_SHAPE(4, 5, 6), .axis = 0, .index = -1 });
    check(select_of, (call){ "select", GR_SHAPE(4, 5, 6), .axis = 1, .index = 2 });
    check(select_of, (call){ "select", GR_SHAPE(4, 5, 6), .axis = -1, .index = -6 });
    check(split_of, (call){ "split", GR_SHAPE(3, 7, 2), .axis = 1, .start = 3 });
    check(split_of, (call){ "split", GR_SHAPE(9), .axis = 0, .start = 0 });
    check(expand_of, (call){ "expand", GR_SHAPE(3, 1, 5), .to = GR_SHAPE(2, 3, 4, 5) });
    check(expand_of, (call){ "expand", GR_SHAPE(3, 1), .to = GR_SHAPE(3, 17) });
    check(expand_of, (call){ "expand", GR_SCALAR, .to = GR_SHAPE(2, 3) });
    check(expand_of, (call){ "expand", GR_SHAPE(2, 3), .to = GR_SHAPE(2, 3) });
}

TEST(gradients_of_joins_match_finite_differences)
{
    const gr_gradcheck_input rows[] = { { .shape = GR_SHAPE(2, 3, 4) }, { .shape = GR_SHAPE(1, 3, 4) }, { .shape = GR_SHAPE(5, 3, 4), .no_grad = true } };
    const gr_gradcheck_input last[] = { { .shape = GR_SHAPE(2, 3, 1) }, { .shape = GR_SHAPE(2, 3, 17) }, { .shape = GR_SHAPE(2, 3, 0) } };
    const gr_gradcheck_input same[] = { { .shape = GR_SHAPE(2, 3) }, { .shape = GR_SHAPE(2, 3) }, { .shape = GR_SHAPE(2, 3) } };
    assert_true(test_gradcheck("cat", cat_of, &(call){ .axis = 0, .count = 3 }, rows, 3, NULL, stderr));
    assert_true(test_gradcheck("cat", cat_of, &(call){ .axis = -1, .count = 3 }, last, 3, NULL, stderr));
    for (int axis = -3; axis < 3; axis++)
        assert_true(test_gradcheck("stack", stack_of, &(call){ .axis = axis, .count = 3 }, same, 3, NULL, stderr));
}

/* ---- Values, by hand ---- */

static gr_tensor *count_up(gr_tape *t, gr_shape shape) { return gr_reshape(t, gr_arange(t, shape.dim[0] * shape.dim[1]), shape); }

TEST(values_move_to_the_documented_places)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *x = count_up(t, GR_SHAPE(2, 3)), *part[2];
    assert_values(gr_permute(t, x, GR_AXES(1, 0)), 0, 0, 3, 1, 4, 2, 5);
    assert_values(gr_transpose(t, x, -1, 0), 0, 0, 3, 1, 4, 2, 5);
    assert_values(gr_transpose(t, x, 1, 1), 0, 0, 1, 2, 3, 4, 5);
    assert_values(gr_flip(t, x, GR_AXES(0)), 0, 3, 4, 5, 0, 1, 2);
    assert_values(gr_flip(t, x, GR_ALL_AXES), 0, 5, 4, 3, 2, 1, 0);
    assert_values(gr_narrow(t, x, 1, 1, 2), 0, 1, 2, 4, 5);
    assert_values(gr_narrow(t, x, 1, -2, 2), 0, 1, 2, 4, 5);
    assert_values(gr_narrow(t, x, 0, -2, 1), 0, 0, 1, 2);
    assert_values(gr_select(t, x, 1, -1), 0, 2, 5);
    assert_values(gr_select(t, x, 0, 1), 0, 3, 4, 5);
    assert_int_equal(gr_select(t, x, 0, 0)->rank, 1);
    assert_values(gr_expand(t, gr_select(t, x, 1, 0), GR_SHAPE(2, 2)), 0, 0, 3, 0, 3);
    assert_values(gr_cat(t, (gr_tensor *[]){ x, gr_narrow(t, x, 1, 0, 1) }, 2, 1), 0, 0, 1, 2, 0, 3, 4, 5, 3);
    assert_values(gr_cat(t, &x, 1, 0), 0, 0, 1, 2, 3, 4, 5);
    gr_tensor *both[] = { x, gr_neg(t, x) };
    assert_values(gr_stack(t, both, 2, -1), 0, 0, -0.0, 1, -1, 2, -2, 3, -3, 4, -4, 5, -5);
    assert_values(gr_stack(t, both, 2, 1), 0, 0, 1, 2, -0.0, -1, -2, 3, 4, 5, -3, -4, -5);
    assert_true(gr_same_shape(gr_stack(t, both, 2, 1), gr_zeros(t, GR_SHAPE(2, 2, 3))));
    assert_true(gr_split(t, x, -1, (size_t[]){ 1, 2 }, 2, part));
    assert_values(part[0], 0, 0, 3);
    assert_values(part[1], 0, 1, 2, 4, 5);
    assert_ok(t);
    gr_tape_free(t);
}

/* Every order of four axes, large enough for tiles, strips and chunks, against indexing. */
TEST(permute_matches_indexing)
{
    gr_tape *t = gr_tape_new(1, NULL);
    const gr_shape shapes[] = { GR_SHAPE(3, 1, 5, 4), GR_SHAPE(7, 20, 33, 17), GR_SHAPE(2, 150, 3, 70) };
    for (size_t s = 0; s < COUNT(shapes); s++)
        for (int code = 0; code < 256; code++) {
            const int order[4] = { code & 3, code >> 2 & 3, code >> 4 & 3, code >> 6 };
            if ((1 << order[0] | 1 << order[1] | 1 << order[2] | 1 << order[3]) != 15) continue;
            gr_tape_reset(t);
            const size_t *dim = shapes[s].dim;
            gr_tensor *x = gr_want_grad(t, gr_rand(t, shapes[s], 0, 1, "x"));
            gr_tensor *y = gr_permute(t, x, GR_AXES(order[0], order[1], order[2], order[3]));
            assert_true(gr_backward_from(t, y, y->data));
            assert_same_bits(gr_grad(t, x), x->data, x->len);
            size_t i[4], at = 0;
            for (i[0] = 0; i[0] < dim[order[0]]; i[0]++)
                for (i[1] = 0; i[1] < dim[order[1]]; i[1]++)
                    for (i[2] = 0; i[2] < dim[order[2]]; i[2]++)
                        for (i[3] = 0; i[3] < dim[order[3]]; i[3]++) {
                            size_t from[4];
                            for (int k = 0; k < 4; k++) from[order[k]] = i[k];
                            if (y->data[at++] != x->data[((from[0] * dim[1] + from[1]) * dim[2] + from[2]) * dim[3] + from[3]])
                                fail_msg("order %d %d %d %d, element %zu", order[0], order[1], order[2], order[3], at - 1);
                        }
        }
    assert_ok(t);
    gr_tape_free(t);
}

TEST(inverse_operators_restore_the_input)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *x = gr_rand(t, GR_SHAPE(70, 33, 90), 0, 1, "x"), *part[3];
    for (int axis = 0; axis < 3; axis++) {
        const size_t n = x->dim[axis];
        assert_true(gr_split(t, x, axis, (size_t[]){ 5, n - 5, 0 }, 3, part));
        assert_tensors_close(gr_cat(t, part, 3, axis), x, 0);
        assert_tensors_close(gr_flip(t, gr_flip(t, x, GR_AXES(axis)), GR_AXES(axis)), x, 0);
        gr_tensor *all[90];
        for (size_t i = 0; i < n; i++) all[i] = gr_select(t, x, axis, (ptrdiff_t)i);
        assert_tensors_close(gr_stack(t, all, n, axis), x, 0);
    }
    assert_tensors_close(gr_permute(t, gr_permute(t, x, GR_AXES(2, 0, 1)), GR_AXES(1, 2, 0)), x, 0);
    gr_tensor *wide = gr_expand(t, gr_slice(t, x, 0, 1), GR_SHAPE(40, 33, 90));
    assert_tensors_close(gr_slice(t, wide, 39, 1), gr_slice(t, x, 0, 1), 0);
    assert_ok(t);
    gr_tape_free(t);
}

TEST(gradients_add_where_parts_overlap)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *x = gr_want_grad(t, gr_arange(t, 4)), *a = gr_narrow(t, x, 0, 0, 3), *b = gr_flip(t, gr_narrow(t, x, 0, 1, 3), GR_AXES(0));
    gr_tensor *y = gr_cat(t, (gr_tensor *[]){ a, b, a }, 3, 0);
    assert_true(gr_backward_from(t, y, (gr_real[]){ 1, 2, 3, 10, 20, 30, 100, 200, 300 }));
    assert_close(gr_grad(t, x), ((gr_real[]){ 101, 232, 323, 10 }), 4, 0);
    gr_tape_free(t);
}

/* Backward moves some rows at a time; and a view of the later rows of x, joined to x, adds to its gradient row by row from the start. */
TEST(large_joins_have_the_gradients_of_all_parts)
{
    enum { R = 600, A = 120, B = 60 };
    for (int views = 0; views < 2; views++) {
        gr_tape *t = gr_tape_new(1, NULL);
        gr_tensor *a = gr_want_grad(t, gr_rand(t, GR_SHAPE(R, A), -1, 1, "a")), *b = gr_want_grad(t, gr_rand(t, GR_SHAPE(R, B), -1, 1, "b"));
        if (views) b = gr_reshape(t, gr_slice(t, a, R / 2, R / 2), GR_SHAPE(R, B));
        gr_tensor *y = gr_cat(t, (gr_tensor *[]){ a, b }, 2, 1), *dy = gr_rand(t, GR_SHAPE(R, A + B), -1, 1, "dy");
        assert_true(gr_backward_from(t, y, dy->data));
        const gr_real *const da = gr_grad(t, a), *const db = gr_grad(t, b);
        for (size_t i = 0; i < R * A; i++) {
            const size_t of_b = i - R / 2 * A;
            const gr_real more = views && i >= R / 2 * A ? dy->data[of_b / B * (A + B) + A + of_b % B] : 0;
            assert_true(da[i] == dy->data[i / A * (A + B) + i % A] + more);
        }
        for (size_t i = 0; !views && i < R * B; i++) assert_true(db[i] == dy->data[i / B * (A + B) + A + i % B]);
        gr_tape_free(t);
    }
}

TEST(bits_do_not_depend_on_threads)
{
    const gr_gradcheck_input in = { .shape = GR_SHAPE(37, 130, 9) }, joined[] = { in, in, in };
    call c = { .axes = GR_AXES(2, 1, 0), .axis = 1, .start = 3, .count = 77, .index = -4, .to = GR_SHAPE(2, 37, 130, 9) };
    assert_bits_stay(permute_of, &c, &in, 1);
    assert_bits_stay(transpose_of, &c, &in, 1);
    assert_bits_stay(flip_of, &c, &in, 1);
    assert_bits_stay(narrow_of, &c, &in, 1);
    assert_bits_stay(select_of, &c, &in, 1);
    assert_bits_stay(split_of, &c, &in, 1);
    assert_bits_stay(expand_of, &c, &in, 1);
    c.count = 3;
    assert_bits_stay(cat_of, &c, joined, 3);
    assert_bits_stay(stack_of, &c, joined, 3);
}

/* ---- Edges and errors ---- */

TEST(every_operator_accepts_tensors_without_values)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *x = gr_want_grad(t, gr_zeros(t, GR_SHAPE(2, 0, 3))), *part[2];
    assert_true(gr_same_shape(gr_permute(t, x, GR_AXES(2, 1, 0)), gr_zeros(t, GR_SHAPE(3, 0, 2))));
    assert_true(gr_same_shape(gr_flip(t, x, GR_ALL_AXES), x));
    assert_true(gr_same_shape(gr_narrow(t, x, 0, 2, 0), gr_zeros(t, GR_SHAPE(0, 0, 3))));
    assert_true(gr_same_shape(gr_select(t, x, 0, -2), gr_zeros(t, GR_SHAPE(0, 3))));
    assert_true(gr_same_shape(gr_expand(t, gr_zeros(t, GR_SHAPE(1)), GR_SHAPE(0, 4)), gr_zeros(t, GR_SHAPE(0, 4))));
    assert_true(gr_same_shape(gr_stack(t, (gr_tensor *[]){ x, x }, 2, 1), gr_zeros(t, GR_SHAPE(2, 2, 0, 3))));
    assert_true(gr_split(t, x, 1, (size_t[]){ 0, 0 }, 2, part) && gr_same_shape(part[1], x) && gr_split(t, x, 1, NULL, 0, part));
    gr_tensor *y = gr_cat(t, (gr_tensor *[]){ x, gr_permute(t, x, GR_AXES(0, 1, 2)), gr_ones(t, GR_SHAPE(2, 1, 3)) }, 3, 1);
    assert_values(y, 0, 1, 1, 1, 1, 1, 1);
    assert_true(gr_backward_from(t, y, (gr_real[6]){ 0 }));
    gr_tape_free(t);
}

static gr_tensor *x23(gr_tape *t) { return gr_zeros(t, GR_SHAPE(2, 3)); }

TEST(bad_axes_indices_and_orders_are_reported)
{
    gr_tape *t = gr_tape_new(1, NULL);
    assert_fails(t, gr_permute(t, x23(t), GR_AXES(1)), "permute: x is [2, 3], so the order must name 2 axes; got 1");
    assert_fails(t, gr_permute(t, x23(t), GR_AXES(1, -1)), "permute: axis 1 is given twice");
    assert_fails(t, gr_permute(t, x23(t), GR_AXES(1, 2)), "permute: x is [2, 3], so an axis must be in -2 .. 1; got 2");
    assert_fails(t, gr_transpose(t, x23(t), 0, 2), "transpose: x is [2, 3], so an axis must be in -2 .. 1; got 2");
    assert_fails(t, gr_transpose(t, x23(t), -3, 0), "transpose: x is [2, 3], so an axis must be in -2 .. 1; got -3");
    assert_fails(t, gr_flip(t, x23(t), GR_AXES(0, 0)), "flip: axis 0 is given twice");
    assert_fails(t, gr_flip(t, gr_scalar(t, 0), GR_AXES(0)), "flip: x is [] and has no axis; got axis 0");
    assert_fails(t, gr_narrow(t, x23(t), 1, 2, 2), "narrow: x is [2, 3], so axis 1 has no 2 indices from 2 on");
    assert_fails(t, gr_narrow(t, x23(t), -1, 4, 0), "narrow: x is [2, 3], so axis 1 has no 0 indices from 4 on");
    assert_fails(t, gr_narrow(t, x23(t), 1, 1, SIZE_MAX), "narrow: x is [2, 3], so axis 1 has no 18446744073709551615 indices from 1 on");
    assert_fails(t, gr_narrow(t, x23(t), 1, -4, 1), "narrow: x is [2, 3], so axis 1 has no 1 indices from -4 on");
    assert_fails(t, gr_narrow(t, x23(t), 1, -2, 3), "narrow: x is [2, 3], so axis 1 has no 3 indices from -2 on");
    assert_fails(t, gr_narrow(t, x23(t), 2, 0, 0), "narrow: x is [2, 3], so an axis must be in -2 .. 1; got 2");
    assert_fails(t, gr_select(t, x23(t), 1, 3), "select: x is [2, 3], so an index of axis 1 must be in -3 .. 2; got 3");
    assert_fails(t, gr_select(t, x23(t), 0, -3), "select: x is [2, 3], so an index of axis 0 must be in -2 .. 1; got -3");
    assert_fails(t, gr_select(t, gr_zeros(t, GR_SHAPE(0)), 0, 0), "select: x is [0], and axis 0 is empty");
    assert_fails(t, gr_select(t, x23(t), 5, 0), "select: x is [2, 3], so an axis must be in -2 .. 1; got 5");
    assert_fails(t, gr_expand(t, x23(t), GR_SHAPE(2, 4)), "expand: x is [2, 3], which does not broadcast to [2, 4]");
    assert_fails(t, gr_expand(t, x23(t), GR_SHAPE(3)), "expand: x is [2, 3], which does not broadcast to [3]");
    assert_fails(t, gr_expand(t, x23(t), (gr_shape){ .rank = 9 }), "expand: x is [2, 3], which does not broadcast to rank 9");
    assert_fails(t, gr_expand(t, x23(t), GR_SHAPE(SIZE_MAX / 2, 2, 3)), "expand: [9223372036854775807, 2, 3] is too large for this machine");
    gr_tape_free(t);
}

TEST(bad_splits_and_joins_are_reported)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *part[2] = { gr_scalar(t, 0), gr_scalar(t, 0) };
    assert_fails(t, gr_split(t, x23(t), 1, (size_t[]){ 2, 2 }, 2, part), "split: x is [2, 3], so the sizes on axis 1 must add up to 3; got 4");
    assert_true(!part[0] && !part[1]);
    assert_fails(t, gr_split(t, x23(t), 1, (size_t[]){ SIZE_MAX, 4 }, 2, part),
                 "split: x is [2, 3], so the sizes on axis 1 must add up to 3; got 18446744073709551615");
    assert_fails(t, gr_split(t, x23(t), 2, (size_t[]){ 2 }, 1, part), "split: x is [2, 3], so an axis must be in -2 .. 1; got 2");
    assert_fails(t, gr_cat(t, NULL, 0, 0), "cat: there is nothing to join: n is 0");
    assert_fails(t, gr_cat(t, (gr_tensor *[]){ x23(t), NULL }, 2, 0), "cat: input 2 is NULL");
    assert_fails(t, gr_cat(t, (gr_tensor *[]){ x23(t) }, 1, 2), "cat: x is [2, 3], so an axis must be in -2 .. 1; got 2");
    assert_fails(t, gr_cat(t, (gr_tensor *[]){ x23(t), gr_zeros(t, GR_SHAPE(2, 4)) }, 2, 0),
                 "cat: x[1] is [2, 4] and x[0] is [2, 3]: all sizes except that of axis 0 must be equal");
    assert_fails(t, gr_cat(t, (gr_tensor *[]){ x23(t), gr_zeros(t, GR_SHAPE(2)) }, 2, -1),
                 "cat: x[1] is [2] and x[0] is [2, 3]: all sizes except that of axis 1 must be equal");
    assert_fails(t, gr_stack(t, NULL, 0, 0), "stack: there is nothing to join: n is 0");
    assert_fails(t, gr_stack(t, (gr_tensor *[]){ x23(t), gr_zeros(t, GR_SHAPE(3, 2)) }, 2, 0),
                 "stack: x[1] is [3, 2] and x[0] is [2, 3]: the shapes must be equal");
    assert_fails(t, gr_stack(t, (gr_tensor *[]){ x23(t) }, 1, 3), "stack: x[0] is [2, 3], so the new axis must be in -3 .. 2; got 3");
    assert_fails(t, gr_stack(t, (gr_tensor *[]){ gr_zeros(t, GR_SHAPE(1, 1, 1, 1, 1, 1, 1, 1)) }, 1, 0),
                 "stack: x[0] is [1, 1, 1, 1, 1, 1, 1, 1], so the result would have more than 8 axes");
    gr_tape_free(t);
}

TEST(null_gives_null_and_is_named)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *none = NULL;
    call c = { .axes = GR_AXES(0), .count = 1 };
    const struct { gr_gradcheck_function *f; const char *message; } all[] = {
        { permute_of, "permute: input 1 is NULL" }, { transpose_of, "transpose: input 1 is NULL" }, { flip_of, "flip: input 1 is NULL" },
        { narrow_of, "narrow: input 1 is NULL" },   { select_of, "select: input 1 is NULL" },       { expand_of, "expand: input 1 is NULL" },
        { cat_of, "cat: input 1 is NULL" },         { stack_of, "stack: input 1 is NULL" },         { split_of, "split: input 1 is NULL" },
    };
    for (size_t k = 0; k < COUNT(all); k++) {
        assert_null(all[k].f(NULL, &none, &c));
        assert_fails(t, all[k].f(t, &none, &c), all[k].message);
    }
    gr_tape_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_match_finite_differences),
        cmocka_unit_test(gradients_of_joins_match_finite_differences),
        cmocka_unit_test(values_move_to_the_documented_places),
        cmocka_unit_test(permute_matches_indexing),
        cmocka_unit_test(inverse_operators_restore_the_input),
        cmocka_unit_test(gradients_add_where_parts_overlap),
        cmocka_unit_test(large_joins_have_the_gradients_of_all_parts),
        cmocka_unit_test(bits_do_not_depend_on_threads),
        cmocka_unit_test(every_operator_accepts_tensors_without_values),
        cmocka_unit_test(bad_axes_indices_and_orders_are_reported),
        cmocka_unit_test(bad_splits_and_joins_are_reported),
        cmocka_unit_test(null_gives_null_and_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
