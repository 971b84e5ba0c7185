/* tests/test_tensor.c - shapes, creation, views, reading, printing. */
#include "core/library.h"
#include "tests/test.h"
#include <stdio.h>

TEST(shapes_may_have_any_rank_and_sizes_of_zero)
{
    gr_tape *t = gr_tape_new(1, NULL);
    assert_string_equal(gr_shape_text(t, gr_scalar(t, 3)), "[]");
    assert_string_equal(gr_shape_text(t, gr_zeros(t, GR_SHAPE(2, 0, 3))), "[2, 0, 3]");
    assert_string_equal(gr_shape_text(t, gr_zeros(t, GR_SHAPE(1, 2, 1, 2, 1, 2, 1, 2))), "[1, 2, 1, 2, 1, 2, 1, 2]");
    assert_string_equal(gr_shape_text(t, NULL), "NULL");
    assert_string_equal(gr_shape_name(t, (gr_shape){ .rank = 9 }), "rank 9");
    const gr_tensor *x = gr_zeros(t, GR_SHAPE(2, 3, 5));
    assert_int_equal(x->len, 30);
    assert_true(gr_size(x, 0) == 2 && gr_size(x, -1) == 5 && gr_size(x, 3) == 0 && gr_size(x, -4) == 0 && gr_size(NULL, 0) == 0);
    assert_true(gr_same_shape(x, gr_ones(t, gr_shape_of(x))) && !gr_same_shape(x, NULL) && !gr_same_shape(x, gr_zeros(t, GR_SHAPE(2, 3))));
    assert_ok(t);
    gr_tape_free(t);
}

TEST(constructors_fill_with_the_documented_values)
{
    gr_tape *t = gr_tape_new(1, NULL);
    assert_values(gr_ones(t, GR_SHAPE(2)), 0, 1, 1);
    assert_values(gr_full(t, GR_SHAPE(1, 2), 2.5), 0, 2.5, 2.5);
    assert_values(gr_arange(t, 4), 0, 0, 1, 2, 3);
    gr_real values[] = { 7, 8 };
    const gr_tensor *x = gr_input(t, values, GR_SHAPE(2));
    values[0] = 0;
    assert_values(x, 0, 7, 8);
    const gr_ints *n = gr_ints_new(t, (int[]){ 3, -100 }, GR_SHAPE(2, 1));
    assert_true(n->data[1] == -100 && n->len == 2 && n->rank == 2 && gr_ints_new(t, NULL, GR_SHAPE(1))->data[0] == 0);
    const gr_tensor *u = gr_rand(t, GR_SHAPE(1000), -1, 3, "u");
    double sum = 0;
    for (size_t i = 0; i < u->len; i++) {
        assert_true(u->data[i] >= -1 && u->data[i] <= 3);
        sum += (double)u->data[i] / 1000;
    }
    assert_true(fabs(sum - 1) < 0.15);
    assert_true((uintptr_t)u->data % 64 == 0);
    assert_ok(t);
    gr_tape_free(t);
}

TEST(bad_shapes_are_refused)
{
    gr_tape *t = gr_tape_new(1, NULL);
    assert_fails(t, gr_zeros(t, (gr_shape){ .rank = 9 }), "zeros: the rank must be 0 .. 8; got 9");
    assert_fails(t, gr_empty(t, (gr_shape){ .rank = -1 }), "empty: the rank must be 0 .. 8; got -1");
    assert_fails(t, gr_zeros(t, GR_SHAPE(5, (size_t)-3)), "zeros: sizes must be 0 or more; size 1 is -3");
    assert_fails(t, gr_empty(t, GR_SHAPE(SIZE_MAX / 2, 3)), "empty: [9223372036854775807, 3] is too large for this machine");
    assert_fails(t, gr_empty(t, GR_SHAPE(0, SIZE_MAX / 2, 3)), "empty: [0, 9223372036854775807, 3] is too large for this machine");
    assert_fails(t, gr_input(t, NULL, GR_SHAPE(1)), "input: values is NULL");
    assert_fails(t, gr_rand(t, GR_SHAPE(1), 0, 1, NULL), "rand: the stream's name is NULL");
    assert_fails(t, gr_ints_new(t, NULL, (gr_shape){ .rank = 12 }), "ints: the rank must be 0 .. 8; got 12");
    assert_fails(t, gr_ints_new(t, NULL, GR_SHAPE(5, (size_t)-3)), "ints: sizes must be 0 or more; size 1 is -3");
    assert_fails(t, gr_ints_new(t, NULL, GR_SHAPE(SIZE_MAX / 2, 3)), "ints: [9223372036854775807, 3] is too large for this machine");
    assert_fails(t, gr_empty_like(t, NULL), "empty_like: x is NULL");
    assert_null(gr_empty(t, GR_SHAPE((size_t)1 << 58)));
    assert_int_equal(gr_error_code(t), GR_NO_MEMORY);
    gr_tape_free(t);
}

TEST(views_share_their_values)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *x = gr_arange(t, 24), *y = gr_reshape(t, x, GR_SHAPE(2, GR_INFER, 4));
    assert_string_equal(gr_shape_text(t, y), "[2, 3, 4]");
    assert_ptr_equal(y->data, x->data);
    assert_ptr_equal(y->base, x);
    const gr_tensor *s = gr_slice(t, gr_slice(t, gr_reshape(t, x, GR_SHAPE(6, 4)), 1, 4), 2, 1);
    assert_values(s, 0, 12, 13, 14, 15);
    assert_ptr_equal(s->base, x);
    assert_string_equal(gr_shape_text(t, gr_slice(t, y, 2, 0)), "[0, 3, 4]");
    assert_string_equal(gr_shape_text(t, gr_flatten(t, y, 1)), "[2, 12]");
    assert_string_equal(gr_shape_text(t, gr_flatten(t, y, -1)), "[2, 3, 4]");
    assert_string_equal(gr_shape_text(t, gr_flatten(t, gr_scalar(t, 1), 0)), "[1]");
    assert_string_equal(gr_shape_text(t, gr_reshape(t, gr_zeros(t, GR_SHAPE(0, 3)), GR_SHAPE(3, GR_INFER))), "[3, 0]");
    assert_ptr_equal(gr_detach(t, x)->data, x->data);
    assert_ok(t);
    gr_tape_free(t);
}

TEST(views_that_do_not_fit_are_refused)
{
    gr_tape *t = gr_tape_new(1, NULL);
    assert_fails(t, gr_reshape(t, gr_arange(t, 6), GR_SHAPE(4, 2)), "reshape: x is [6] and holds 6 values, which do not fill [4, 2]");
    assert_fails(t, gr_reshape(t, gr_arange(t, 6), GR_SHAPE(4, GR_INFER)), "reshape: x is [6] and holds 6 values, which do not fill [4, GR_INFER]");
    assert_fails(t, gr_reshape(t, gr_arange(t, 6), GR_SHAPE(GR_INFER, GR_INFER)), "reshape: at most one size may be GR_INFER; got [GR_INFER, GR_INFER]");
    assert_fails(t, gr_reshape(t, gr_zeros(t, GR_SHAPE(0)), GR_SHAPE(0, GR_INFER)), "reshape: x is [0] and holds 0 values, which do not fill [0, GR_INFER]");
    assert_fails(t, gr_slice(t, gr_arange(t, 6), 4, 3), "slice: x is [6], so it does not have 3 rows from row 4 on");
    assert_fails(t, gr_slice(t, gr_arange(t, 6), 4, SIZE_MAX), "slice: x is [6], so it does not have 18446744073709551615 rows from row 4 on");
    assert_fails(t, gr_slice(t, gr_arange(t, 6), -7, 1), "slice: x is [6], so it does not have 1 rows from row -7 on");
    assert_values(gr_slice(t, gr_arange(t, 6), -2, 2), 0, 4, 5);
    assert_fails(t, gr_slice(t, gr_scalar(t, 1), 0, 1), "slice: x is [] and has no leading axis");
    assert_fails(t, gr_flatten(t, gr_arange(t, 6), 1), "flatten: x is [6], so an axis must be in -1 .. 0; got 1");
    gr_tape_free(t);
}

TEST(item_reads_one_value_or_nan)
{
    gr_tape *t = gr_tape_new(1, NULL);
    assert_true(gr_item(gr_full(t, GR_SHAPE(1, 1), 2)) == 2);
    assert_true(isnan(gr_item(gr_ones(t, GR_SHAPE(2)))) && isnan(gr_item(NULL)));
    gr_tape_free(t);
}

/* ---- Printing ---- */

static void assert_printed(void (*print)(FILE *, gr_tape *, gr_tensor *), gr_tape *t, gr_tensor *x, const char *want)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    print(f, t, x);
    fclose(f);
    assert_string_equal(text, want);
    free(text);
}
static void print_tensor(FILE *f, gr_tape *t, gr_tensor *x) { (void)t, gr_print(x, f); }
static void print_graph(FILE *f, gr_tape *t, gr_tensor *x) { (void)x, gr_print_graph(t, f); }
static void print_dot(FILE *f, gr_tape *t, gr_tensor *x) { (void)x, gr_print_dot(t, f); }

TEST(tensors_print_shape_and_values)
{
    gr_tape *t = gr_tape_new(1, NULL);
    assert_printed(print_tensor, t, NULL, "NULL\n");
    assert_printed(print_tensor, t, gr_scalar(t, -2), "[]\n-2.0000\n");
    assert_printed(print_tensor, t, gr_zeros(t, GR_SHAPE(0, 2)), "[0, 2]\n[]\n");
    assert_printed(print_tensor, t, gr_input(t, (gr_real[]){ 1, -20, 3, 4 }, GR_SHAPE(2, 2)),
                   "[2, 2]\n[[  1.0000, -20.0000],\n [  3.0000,   4.0000]]\n");
    assert_printed(print_tensor, t, gr_input(t, (gr_real[]){ 1e-6f, 1 }, GR_SHAPE(2)), "[2]\n[1.0000e-06, 1.0000e+00]\n");
    assert_printed(print_tensor, t, gr_input(t, (gr_real[]){ (gr_real)NAN, (gr_real)INFINITY, 1 }, GR_SHAPE(3)), "[3]\n[   nan,    inf, 1.0000]\n");
    const bool is_double = sizeof(gr_real) == sizeof(double);
    assert_printed(print_tensor, t, gr_scalar(t, is_double ? 1e305 : 1e35), is_double ? "[]\n1.0000e+305\n" : "[]\n1.0000e+35\n");
    assert_printed(print_tensor, t, gr_arange(t, 9), "[9]\n[0.0000, 1.0000, 2.0000, ..., 6.0000, 7.0000, 8.0000]\n");
    assert_printed(print_tensor, t, gr_reshape(t, gr_arange(t, 7), GR_SHAPE(7, 1)),
                   "[7, 1]\n[[0.0000],\n [1.0000],\n [2.0000],\n ...,\n [4.0000],\n [5.0000],\n [6.0000]]\n");
    gr_tape_free(t);
}

TEST(graphs_print_as_text_and_dot)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *w = gr__tensor_new_home(gr_tape_allocator(t), GR_SHAPE(2));
    gr__wants_grad(w, true), w->path = "fc.weight";
    gr_tensor *h = gr_mul(t, w, gr_ones(t, GR_SHAPE(3, 2)));
    gr_add(t, gr_reshape(t, h, GR_SHAPE(2, 3)), gr_scalar(t, 1));
    assert_printed(print_graph, t, NULL, "   0  mul              [3, 2]  <- fc.weight [2], input [3, 2]\n"
                                         "   1  add              [2, 3]  <- 0 [2, 3], input []\n");
    assert_printed(print_dot, t, NULL,
                   "digraph tape {\n    node [shape=box, fontname=\"sans-serif\"];\n    n0 [label=\"mul\\n[3, 2]\"];\n"
                   "    \"fc.weight\" [shape=ellipse, label=\"fc.weight\\n[2]\"];\n    \"fc.weight\" -> n0;\n"
                   "    \"input 0.1\" [shape=ellipse, label=\"input\\n[3, 2]\"];\n    \"input 0.1\" -> n0;\n    n1 [label=\"add\\n[2, 3]\"];\n"
                   "    n0 -> n1;\n    \"input 1.1\" [shape=ellipse, label=\"input\\n[]\"];\n    \"input 1.1\" -> n1;\n}\n");
    gr__tensor_free_home(w);
    gr_tape_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_may_have_any_rank_and_sizes_of_zero),
        cmocka_unit_test(constructors_fill_with_the_documented_values),
        cmocka_unit_test(bad_shapes_are_refused),
        cmocka_unit_test(views_share_their_values),
        cmocka_unit_test(views_that_do_not_fit_are_refused),
        cmocka_unit_test(item_reads_one_value_or_nan),
        cmocka_unit_test(tensors_print_shape_and_values),
        cmocka_unit_test(graphs_print_as_text_and_dot),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
