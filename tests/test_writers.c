/* tests/test_writers.c - several writers of one path, dead ones, and a reader, in one process and on every system. */
#include "core/io/file.h"
#include "core/library.h"
#include "tests/saved.h"

TEST(leftovers_of_a_dead_writer_are_removed)
{
    gr_tape *t = gr_tape_new(1, NULL);
    put("x.gradus-0.tmp", "half"), put("x.gradus-3.tmp", "half"), put("x.gradus-31.tmp", "half");
    put("y.gradus-0.tmp", "another path's"), put("x.gradus-32.tmp", "no name of ours"), put("x.0.tmp", "nor this");
    assert_true(save(t, "x", 5));
    assert_holds("x", 5);
    assert_int_equal(files("."), 4);
    assert_true(save(t, "y", 6));
    assert_int_equal(files("."), 4);
    unlink("x"), unlink("y"), unlink("x.gradus-32.tmp"), unlink("x.0.tmp");
    gr_tape_free(t);
}

TEST(two_writers_of_one_path_do_not_disturb_each_other)
{
    static gr__file a, b;
    gr_tape *t = gr_tape_new(1, NULL);
    assert_true(gr__file_create(gr__tape_failure(t), &a, "x") && gr__file_create(gr__tape_failure(t), &b, "x"));
    assert_true(gr__file_write(gr__tape_failure(t), &a, "first", 5) && gr__file_write(gr__tape_failure(t), &b, "second", 6));
    assert_int_equal(files("."), 2);
    assert_true(gr__file_commit(gr__tape_failure(t), &b));
    assert_file_holds("x", "second", 6);
    assert_true(gr__file_commit(gr__tape_failure(t), &a));
    assert_file_holds("x", "first", 5);
    assert_true(gr__file_create(gr__tape_failure(t), &a, "x"));
    gr__file_abandon(&a);
    gr__file_abandon(&a);
    assert_int_equal(files("."), 1);
    unlink("x");
    gr_tape_free(t);
}

TEST(the_33rd_writer_of_a_path_is_refused)
{
    static gr__file f[33];
    gr_tape *t = gr_tape_new(1, NULL);
    for (int i = 0; i < 32; i++) assert_true(gr__file_create(gr__tape_failure(t), &f[i], "x"));
    assert_false(gr__file_create(gr__tape_failure(t), &f[32], "x"));
    assert_message(t, "cannot write 'x': 32 others are writing it");
    for (int i = 0; i < 33; i++) gr__file_abandon(&f[i]);
    gr_tape_free(t);
}

/* Windows may refuse to replace a file that is being read. Then the old file stays as it was. */
TEST(a_reader_keeps_the_file_that_it_opened)
{
    static gr__file reader, writer;
    char bytes[6] = "";
    gr_tape *t = gr_tape_new(1, NULL);
    put("x", "older");
    assert_true(gr__file_open(gr__tape_failure(t), &reader, "x") && gr__file_create(gr__tape_failure(t), &writer, "x"));
    assert_true(gr__file_write(gr__tape_failure(t), &writer, "newer", 5));
    const bool replaced = gr__file_commit(gr__tape_failure(t), &writer);
    if (!replaced) assert_message(t, "cannot replace 'x': Permission denied"), gr_tape_recover(t);
    assert_true(gr__file_read(gr__tape_failure(t), &reader, bytes, 5));
    assert_string_equal(bytes, "older");
    gr__file_close(&reader);
    assert_file_holds("x", replaced ? "newer" : "older", 5);
    assert_int_equal(files("."), 1);
    unlink("x");
    gr_tape_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leftovers_of_a_dead_writer_are_removed),
        cmocka_unit_test(two_writers_of_one_path_do_not_disturb_each_other),
        cmocka_unit_test(the_33rd_writer_of_a_path_is_refused),
        cmocka_unit_test(a_reader_keeps_the_file_that_it_opened),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
