/* tests/test_files.c - where a saved file goes: through links, beside files of other programs, and under long names. */
#include "core/io/file.h"
#include "core/library.h"
#define FAILING_FILES
#include "tests/saved.h"
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>

static void assert_link(const char *path, const char *to)
{
    char text[300] = "";
    assert_true(readlink(path, text, sizeof text - 1) > 0);
    assert_string_equal(text, to);
}

/* ---- Links ---- */

TEST(a_link_stays_and_its_target_is_replaced)
{
    gr_tape *t = gr_tape_new(1, NULL);
    char absolute[300];
    snprintf(absolute, sizeof absolute, "%s/deep/target", test_folder);
    assert_int_equal(mkdir("deep", 0700) | mkdir("other", 0700), 0);
    assert_true(save(t, "deep/target", 1));
    const struct { const char *link, *to; } c[] = {
        { "relative", "deep/target" }, { "other/up", "../deep/target" }, { "absolute", absolute }, { "chain", "other/up" }, { "folder", "deep" },
    };
    for (size_t i = 0; i < COUNT(c); i++) assert_int_equal(symlink(c[i].to, c[i].link), 0);
    for (size_t i = 0; i < COUNT(c); i++) {
        const int value = 10 + (int)i;
        assert_true(save(t, i < 4 ? c[i].link : "folder/target", value));
        assert_holds("deep/target", value);
        for (size_t k = 0; k < COUNT(c); k++) assert_link(c[k].link, c[k].to);
        assert_int_equal(files("deep"), 1);
        assert_int_equal(files("other"), 1);
    }
    chmod("deep/target", 04640);
    struct stat s;
    assert_true(save(t, "chain", 20));
    assert_true(!stat("deep/target", &s) && (s.st_mode & 07777) == 04640);
    for (size_t i = 0; i < COUNT(c); i++) unlink(c[i].link);
    unlink("deep/target");
    assert_int_equal(rmdir("deep") | rmdir("other"), 0);
    gr_tape_free(t);
}

TEST(a_link_to_nothing_makes_the_file_there)
{
    gr_tape *t = gr_tape_new(1, NULL);
    assert_int_equal(mkdir("deep", 0700) | symlink("deep/new", "dangling") | symlink("none/new", "lost") | symlink("loop", "loop"), 0);
    assert_true(save(t, "dangling", 3));
    assert_link("dangling", "deep/new");
    assert_holds("deep/new", 3);
    assert_fails(t, save(t, "lost", 4), "cannot write 'lost': No such file or directory");
    assert_false(save(t, "loop", 4));
    char message[200];
    snprintf(message, sizeof message, "cannot write 'loop': %s", strerror(ELOOP)); /* each C library has a text of its own */
    assert_message(t, message);
    assert_int_equal(gr_error_code(t), GR_IO_FAILED);
    unlink("dangling"), unlink("lost"), unlink("loop"), unlink("deep/new");
    assert_int_equal(rmdir("deep"), 0);
    gr_tape_free(t);
}

/* ---- Other writers, and leftovers of killed ones ---- */

/* A writer in another process, which is killed in the middle of its file. */
TEST(the_unfinished_file_of_a_living_writer_stays)
{
    for (int form = 0; form < 2; form++) {
        char name[256] = "x";
        if (form) memset(name, 'n', 255);
        gr_tape *t = gr_tape_new(1, NULL);
        int ready[2], parent[2];
        assert_int_equal(pipe(ready) | pipe(parent), 0);
        const pid_t child = fork();
        if (!child) {
            static gr__file f;
            if (gr__file_create(gr__tape_failure(t), &f, name) && gr__file_write(gr__tape_failure(t), &f, "half", 4)) (void)!write(ready[1], "", 1);
            close(parent[1]);
            (void)!read(parent[0], name, 1); /* until it is killed, or this program ends */
            _exit(1);
        }
        char byte;
        assert_int_equal(read(ready[0], &byte, 1), 1);
        assert_int_equal(files("."), 1);
        assert_true(save(t, name, 7));
        assert_holds(name, 7);
        assert_int_equal(files("."), 2); /* the child's is still there */
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        assert_int_equal(files("."), 2);
        assert_true(save(t, name, 8));
        assert_holds(name, 8);
        assert_int_equal(files("."), 1);
        unlink(name);
        close(ready[0]), close(ready[1]), close(parent[0]), close(parent[1]);
        gr_tape_free(t);
    }
}

/* Another program removes the unfinished file, or replaces it: this is an error, and the other program's file stays. */
TEST(a_stolen_file_is_an_error)
{
    static gr__file f;
    gr_tape *t = gr_tape_new(1, NULL);
    assert_true(save(t, "x", 9));
    for (int replaced = 0; replaced < 2; replaced++) {
        assert_true(gr__file_create(gr__tape_failure(t), &f, "x") && gr__file_write(gr__tape_failure(t), &f, "half", 4));
        unlink("x.gradus-0.tmp");
        if (replaced) put("x.gradus-0.tmp", "foreign");
        assert_false(gr__file_commit(gr__tape_failure(t), &f));
        assert_message(t, "cannot replace 'x': No such file or directory");
        assert_holds("x", 9);
        if (replaced) assert_file_holds("x.gradus-0.tmp", "foreign", 7);
        gr_tape_recover(t);
    }
    unlink("x"), unlink("x.gradus-0.tmp");
    gr_tape_free(t);
}

/* A folder or a link with the name of an unfinished file is not a leftover. */
TEST(only_regular_files_are_removed_as_leftovers)
{
    gr_tape *t = gr_tape_new(1, NULL);
    put("precious", "data");
    assert_int_equal(mkdir("x.gradus-0.tmp", 0700) | symlink("precious", "x.gradus-1.tmp"), 0);
    assert_true(save(t, "x", 5));
    assert_holds("x", 5);
    assert_link("x.gradus-1.tmp", "precious");
    assert_file_holds("precious", "data", 4);
    unlink("x"), unlink("precious"), unlink("x.gradus-1.tmp");
    assert_int_equal(rmdir("x.gradus-0.tmp"), 0);
    gr_tape_free(t);
}

/* ---- Names and errors ---- */

TEST(a_name_of_the_greatest_length_can_be_written)
{
    char name[300], message[600];
    gr_tape *t = gr_tape_new(1, NULL);
    for (size_t length = 230; length <= 255; length++) {
        memset(name, 'n', length), name[length] = 0;
        assert_true(save(t, name, (int)length));
        assert_true(save(t, name, (int)length));
        assert_holds(name, (int)length);
        assert_int_equal(files("."), 1);
        unlink(name);
    }
    for (size_t length = 256; length < 260; length++) {
        memset(name, 'n', length), name[length] = 0;
        assert_false(save(t, name, 1));
        snprintf(message, sizeof message, "cannot write '%s': %s", name, strerror(ENAMETOOLONG));
        assert_message(t, message);
        gr_tape_recover(t);
    }
    assert_int_equal(files("."), 0);
    char *const deep = malloc(6000);
    memset(deep, 0, 6000);
    for (size_t i = 0; i < 5000; i += 2) memcpy(deep + i, "./", 2);
    deep[5000] = 'x';
    assert_false(save(t, deep, 1));
    assert_int_equal(gr_error_code(t), GR_IO_FAILED);
    gr_tape_recover(t);
    memset(deep, 0, 6000);
    for (size_t i = 0; i < 4090; i += 2) memcpy(deep + i, "./", 2); /* the path is allowed, but the longer path of the unfinished file is not */
    strcpy(deep + 4090, "abc");
    assert_false(save(t, deep, 1));
    assert_int_equal(gr_error_code(t), GR_IO_FAILED);
    gr_tape_recover(t);
    assert_false(save(t, "", 1));
    assert_message(t, "cannot write '': No such file or directory");
    assert_int_equal(files("."), 0);
    free(deep);
    gr_tape_free(t);
}

/* The message gives the reason of the call that failed, for example a read-only file system. */
TEST(the_message_has_the_reason_of_the_failed_call)
{
    static const int error[] = { EROFS, ENOSPC, EDQUOT, EIO };
    gr_tape *t = gr_tape_new(1, NULL);
    for (size_t k = 0; k < COUNT(error); k++)
        for (int at = 1, failed = 1; failed; at++) {
            char end[100];
            failing_files.calls = 0, failing_files.fail_at = at, failing_files.error = error[k];
            const bool saved = save(t, "x", 1);
            failed = failing_files.calls >= at, failing_files.fail_at = 0;
            assert_int_equal(saved, !failed);
            snprintf(end, sizeof end, " 'x': %s", strerror(error[k]));
            if (failed) assert_non_null(strstr(gr_message(t), end));
            gr_tape_recover(t);
        }
    unlink("x");
    assert_int_equal(files("."), 0);
    gr_tape_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_link_stays_and_its_target_is_replaced),
        cmocka_unit_test(a_link_to_nothing_makes_the_file_there),
        cmocka_unit_test(the_unfinished_file_of_a_living_writer_stays),
        cmocka_unit_test(a_stolen_file_is_an_error),
        cmocka_unit_test(only_regular_files_are_removed_as_leftovers),
        cmocka_unit_test(a_name_of_the_greatest_length_can_be_written),
        cmocka_unit_test(the_message_has_the_reason_of_the_failed_call),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
