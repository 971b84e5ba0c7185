/* tests/test_integers.c - gr_ints that the program makes itself, and those that a reset ended. */
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
    gr_tensor *zeros = gr_zeros(t, GR_SHAPE(2));
    assert_ptr_equal(zeros, y);
    assert_fails(t, gr_cross_entropy(t, gr_ones(t, GR_SHAPE(2, 3)), y, NULL),
                 "cross_entropy: target [2] belongs to another tape (copy its values), or to a step that is over: make it anew in each step");
    gr_tape_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_of_the_caller_need_no_tape),
        cmocka_unit_test(integers_whose_shape_does_not_fit_them_are_an_error),
        cmocka_unit_test(a_tensor_where_dead_integers_were_is_not_read_as_integers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
