/* tests/test_integers.c - gr_ints that the program makes itself, those that a reset ended; reshape, slice, printing. */
#include "tests/test.h"

TEST(integers_of_the_caller_need_no_tape)
{
    gr_tape *t = gr_tape_new(1, NULL);
    const gr_ints own = { .data = (int[]){ 1, 0 }, .len = 2, .dim = { 2 }, .rank = 1 };
    assert_non_null(gr_embedding(t, gr_ones(t, GR_SHAPE(3, 2)), &own, GR_NONE));
    gr_tape_free(t);
}

TEST(integers_whose_shape_does_not_fit_them_are_an_error)
{
    gr_tape *t = gr_tape_new(1, NULL);
    int k[9] = { 0 };
    assert_fails(t, gr_embedding(t, gr_ones(t, GR_SHAPE(3, 2)), &(gr_ints){ .data = k, .len = 9, .rank = 9 }, GR_NONE),
                 "embedding: ids is rank 9, which is not the shape of 9 integers");
    assert_fails(t, gr_cross_entropy(t, gr_ones(t, GR_SHAPE(3, 2)), &(gr_ints){ .data = k, .len = 2, .dim = { 3 }, .rank = 1 }, NULL),
                 "cross_entropy: target is [3], which is not the shape of 2 integers");
    gr_tape_free(t);
}

TEST(a_tensor_where_dead_integers_were_is_not_read_as_integers)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_ints *y = gr_ints_new(t, (int[]){ 1, 2 }, GR_SHAPE(2));
    gr_tape_reset(t);
    gr_tensor *zeros = gr_zeros(t, GR_SHAPE(5, 7)); /* the message must not give its shape to y */
    assert_ptr_equal(zeros, y);
    assert_fails(t, gr_cross_entropy(t, gr_ones(t, GR_SHAPE(2, 3)), y, NULL),
                 "cross_entropy: target was made before gr_tape_reset, or after a mark that gr_tape_rewind went back to, which ended it; make it anew in each step");
    gr_tape_free(t);
}

TEST(reshape_and_slice_copy)
{
    gr_tape *t = gr_tape_new(1, NULL);
    const gr_ints own = { .data = (int[]){ 1, 2, 3, 4, 5, 6 }, .len = 6, .dim = { 6 }, .rank = 1 };
    const gr_ints *rows = gr_ints_reshape(t, &own, GR_SHAPE(3, GR_INFER)), *last = gr_ints_slice(t, rows, -2, 2);
    assert_true(rows->rank == 2 && rows->dim[0] == 3 && rows->dim[1] == 2 && rows->tape == t && rows->data != own.data);
    assert_memory_equal(rows->data, own.data, 6 * sizeof(int));
    assert_true(last->rank == 2 && last->dim[0] == 2 && last->dim[1] == 2 && last->len == 4);
    assert_memory_equal(last->data, ((int[]){ 3, 4, 5, 6 }), 4 * sizeof(int));
    assert_int_equal(gr_ints_slice(t, gr_ints_new(t, NULL, GR_SHAPE(0, 2)), 0, 0)->len, 0);
    assert_int_equal(gr_ints_reshape(t, gr_ints_slice(t, &own, 3, 1), GR_SCALAR)->data[0], 4);
    assert_ok(t);
    assert_fails(t, gr_ints_reshape(t, &own, GR_SHAPE(4)), "ints_reshape: x is [6] and holds 6 values, which do not fill [4]");
    assert_fails(t, gr_ints_reshape(t, &own, GR_SHAPE(GR_INFER, GR_INFER)), "ints_reshape: at most one size may be GR_INFER; got [GR_INFER, GR_INFER]");
    assert_fails(t, gr_ints_reshape(t, NULL, GR_SHAPE(4)), "ints_reshape: x is NULL");
    assert_fails(t, gr_ints_slice(t, NULL, 0, 1), "ints_slice: x is NULL");
    assert_fails(t, gr_ints_slice(t, &own, 5, 2), "ints_slice: x is [6], so it does not have 2 rows from row 5 on");
    assert_fails(t, gr_ints_slice(t, gr_ints_new(t, NULL, GR_SCALAR), 0, 1), "ints_slice: x is [] and has no leading axis");
    gr_ints *dead = gr_ints_new(t, NULL, GR_SHAPE(2));
    gr_tape_reset(t);
    assert_fails(t, gr_ints_slice(t, dead, 0, 1), "ints_slice: x [2] was made before gr_tape_reset, which ended it; make it anew in each step");
    gr_tape_free(t);
}

static void assert_printed(const gr_ints *x, const char *want)
{
    char text[256] = { 0 };
    FILE *f = tmpfile();
    assert_non_null(f);
    gr_print_ints(x, f), rewind(f);
    assert_true(fread(text, 1, sizeof text - 1, f) > 0);
    assert_string_equal(text, want);
    fclose(f);
}

TEST(integers_print_as_tensors_do)
{
    gr_tape *t = gr_tape_new(1, NULL);
    assert_printed(NULL, "NULL\n");
    assert_printed(gr_ints_new(t, (int[]){ -2147483647 - 1 }, GR_SCALAR), "[]\n-2147483648\n");
    assert_printed(gr_ints_new(t, (int[]){ 1, -20, 3, 400000 }, GR_SHAPE(2, 2)), "[2, 2]\n[[     1,    -20],\n [     3, 400000]]\n");
    assert_printed(gr_ints_new(t, (int[]){ 0, 1, 2, 3, 4, 5, 6 }, GR_SHAPE(7)), "[7]\n[0, 1, 2, ..., 4, 5, 6]\n");
    assert_printed(&(gr_ints){ .data = (int[]){ 7 }, .len = 1, .dim = { 1 }, .rank = 1 }, "[1]\n[7]\n");
    const gr_ints *dead = gr_ints_new(t, NULL, GR_SHAPE(2));
    gr_tape_reset(t);
    assert_printed(dead, "dead: made before gr_tape_reset, or after a mark that gr_tape_rewind went back to\n");
    gr_print_ints(dead, NULL);
    gr_tape_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_of_the_caller_need_no_tape),
        cmocka_unit_test(integers_whose_shape_does_not_fit_them_are_an_error),
        cmocka_unit_test(a_tensor_where_dead_integers_were_is_not_read_as_integers),
        cmocka_unit_test(reshape_and_slice_copy),
        cmocka_unit_test(integers_print_as_tensors_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
