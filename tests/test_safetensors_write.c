/* tests/test_safetensors_write.c - writing files of named tensors: the bytes are those of the Python package, and a file is replaced as a
 * whole or not at all. */
#define FAILING_FILES
#include "tests/failing.h"
#include <sys/stat.h>

#define GOLDEN "tests/golden/types.safetensors"

/* Write every tensor and note of file f to path. */
static bool write_again(gr_tape *t, const gr_safetensors *f, const char *path)
{
    gr_safetensors_item item[16];
    const char *note[] = { f->notes ? f->note[0].key : NULL, f->notes ? f->note[0].value : NULL, NULL };
    for (size_t i = 0; i < f->count; i++)
        item[i] = (gr_safetensors_item){ f->entry[i].name, f->entry[i].dtype, f->entry[i].shape, f->entry[i].data };
    return gr_safetensors_write(t, path, item, f->count, note);
}

TEST(writes_the_bytes_that_the_python_package_writes)
{
    gr_tape *t = gr_tape_new(1, NULL);
    size_t n;
    unsigned char *bytes = file_bytes(GOLDEN, &n);
    gr_safetensors *f = gr_safetensors_open(t, GOLDEN);
    assert_true(write_again(t, f, in_folder("again")));
    assert_file_holds(in_folder("again"), bytes, n);
    gr_safetensors_free(f);
    unlink(in_folder("again"));
    free(bytes);
    gr_tape_free(t);
}

TEST(names_are_read_back_as_written)
{
    const char *name = "\x01\x1f\" \\ / \b\f\n\r\t é 😀";
    gr_tape *t = gr_tape_new(1, NULL);
    assert_true(gr_safetensors_write(t, in_folder("names"), &(gr_safetensors_item){ name, GR_I32, GR_SHAPE(1), &(int){ 5 } }, 1,
                                     (const char *[]){ name, name, NULL }));
    gr_safetensors *f = gr_safetensors_open(t, in_folder("names"));
    assert_ok(t);
    assert_non_null(gr_safetensors_find(f, name));
    assert_string_equal(gr_safetensors_note_of(f, name), name);
    gr_safetensors_free(f);
    unlink(in_folder("names"));
    gr_tape_free(t);
}

TEST(names_that_cannot_be_read_again_are_not_written)
{
    const gr_real x = 1;
    const gr_safetensors_item a = { "a", GR_REAL_DTYPE, GR_SCALAR, &x }, whole = { "a", GR_I32, GR_SCALAR, &x }, bad = { "\xff", GR_REAL_DTYPE, GR_SCALAR, &x },
                              meta = { "__metadata__", GR_REAL_DTYPE, GR_SCALAR, &x };
    const struct { gr_safetensors_item item[2]; const char *const *notes; const char *message; } c[] = {
        { { a, whole }, NULL, "cannot write 'never': 'a' appears twice" },
        { { a, meta }, NULL, "cannot write 'never': no tensor may be called __metadata__" },
        { { a, bad }, NULL, "cannot write 'never': '\\xff' is not UTF-8" },
        { { a, a }, (const char *[]){ "k", NULL }, "cannot write 'never': the note 'k' has no value" },
        { { a, a }, (const char *[]){ "k", "1", "l", "2", "k", "3", NULL }, "cannot write 'never': the note 'k' appears twice" },
    };
    gr_tape *t = gr_tape_new(1, NULL);
    for (size_t i = 0; i < COUNT(c); i++) {
        assert_fails(t, gr_safetensors_write(t, "never", c[i].item, 2, c[i].notes), c[i].message);
    }
    assert_fails(t, gr_safetensors_write(t, NULL, NULL, 0, NULL), "the path of a file to write is NULL");
    gr_tape_free(t);
}

/* An item that could not be read again, or whose data cannot exist in memory, is an error, and no file is written. */
TEST(invalid_items_are_not_written)
{
    const gr_real x = 1;
    const size_t half = SIZE_MAX / 2 + 1;
    const gr_safetensors_item good = { "a", GR_REAL_DTYPE, GR_SCALAR, &x };
    const struct { gr_safetensors_item item; const char *message; } c[] = {
        { { NULL, GR_REAL_DTYPE, GR_SCALAR, &x }, "cannot write 'never': item 1 has no name" },
        { { "b", (gr_dtype)77, GR_SCALAR, &x }, "cannot write 'never': 'b' is of type 77; the types are GR_F16 to GR_I64" },
        { { "b", (gr_dtype)-1, GR_SCALAR, &x }, "cannot write 'never': 'b' is of type -1; the types are GR_F16 to GR_I64" },
        { { "b", GR_REAL_DTYPE, { 100, { 1 } }, &x }, "cannot write 'never': 'b' is of rank 100; a rank is 0 .. 8" },
        { { "b", GR_REAL_DTYPE, { -1, { 1 } }, &x }, "cannot write 'never': 'b' is of rank -1; a rank is 0 .. 8" },
        { { "b", GR_I64, { 2, { half, 4 } }, &x }, "cannot write 'never': 'b', [9223372036854775808, 4], is too large for this machine" },
        { { "b", GR_I64, { 1, { half } }, &x }, "cannot write 'never': 'b', [9223372036854775808], is too large for this machine" },
        { { "b", GR_F16, { 1, { half - 1 } }, &x }, "cannot write 'never': 'b', [9223372036854775807], is too large for this machine" }, /* too large only together with item a */
        { { "b", GR_I64, { 3, { half, 2, 0 } }, &x }, "cannot write 'never': 'b', [9223372036854775808, 2, 0], is too large for this machine" },
        { { "b", GR_REAL_DTYPE, GR_SHAPE(4), NULL }, "cannot write 'never': 'b' is [4], but its data is NULL" },
    };
    gr_tape *t = gr_tape_new(1, NULL);
    for (size_t i = 0; i < COUNT(c); i++) {
        assert_false(gr_safetensors_write(t, "never", (gr_safetensors_item[]){ good, c[i].item }, 2, NULL));
        assert_message(t, c[i].message);
        assert_int_equal(gr_error_code(t), GR_MISUSE);
        assert_int_equal(access("never", F_OK), -1);
        gr_tape_recover(t);
    }
    assert_fails(t, gr_safetensors_write(t, "never", NULL, 3, NULL), "cannot write 'never': items is NULL, but n is 3");
    assert_string_equal(gr_dtype_name((gr_dtype)77), "?");
    assert_int_equal(gr_dtype_bytes((gr_dtype)77), 0);
    assert_true(gr_safetensors_write(t, in_folder("empty"), &(gr_safetensors_item){ "b", GR_REAL_DTYPE, GR_SHAPE(0, 4), NULL }, 1, NULL));
    unlink(in_folder("empty"));
    gr_tape_free(t);
}

TEST(a_header_that_is_too_long_to_read_is_not_written)
{
    const size_t n = 100000001;
    char *const name = malloc(n);
    memset(name, 'x', n - 1), name[n - 1] = 0;
    gr_tape *t = gr_tape_new(1, NULL);
    assert_fails(t, gr_safetensors_write(t, "never", NULL, 0, (const char *[]){ "a", name, NULL }),
                 "cannot write 'never': its header would be 100000032 bytes long, and at most 100000000 are read");
    gr_tape_free(t);
    free(name);
}

TEST(a_replaced_file_keeps_its_permissions)
{
    struct stat s;
    gr_tape *t = gr_tape_new(1, NULL);
    assert_true(gr_safetensors_write(t, in_folder("mode"), NULL, 0, NULL));
    chmod(in_folder("mode"), 0640);
    assert_true(gr_safetensors_write(t, in_folder("mode"), NULL, 0, NULL));
    assert_int_equal(stat(in_folder("mode"), &s), 0);
    assert_int_equal(s.st_mode & 07777, 0640);
    unlink(in_folder("mode"));
    assert_false(gr_safetensors_write(t, in_folder("no such folder/x"), NULL, 0, NULL));
    char message[600];
    snprintf(message, sizeof message, "cannot write '%s': No such file or directory", in_folder("no such folder/x"));
    assert_message(t, message);
    gr_tape_free(t);
}

/* ---- Failures ---- */

TEST(every_file_call_may_fail)
{
    size_t n;
    unsigned char *old = file_bytes(GOLDEN, &n);
    char path[512];
    snprintf(path, sizeof path, "%s", in_folder("target"));
    for (int for_ever = 0; for_ever < 2; for_ever++)
        for (int at = 1, failed = 1; failed; at++) {
            gr_tape *t = gr_tape_new(1, NULL);
            gr_safetensors *f = gr_safetensors_open(t, GOLDEN);
            assert_true(write_again(t, f, path));
            failing_files.calls = 0, failing_files.fail_at = at, failing_files.error = ENOSPC, failing_files.for_ever = for_ever;
            const bool written = gr_safetensors_write(t, path, &(gr_safetensors_item){ "x", GR_I32, GR_SHAPE(1), &(int){ 5 } }, 1, NULL);
            failed = failing_files.calls >= at, failing_files.fail_at = 0;
            assert_int_equal(written, !failed);
            const bool in_place = failed && strstr(gr_message(t), "the folder of");
            if (failed) assert_int_equal(gr_error_code(t), GR_IO_FAILED);
            if (failed) assert_non_null(strstr(gr_message(t), "No space left on device"));
            if (failed && !in_place) assert_file_holds(path, old, n);
            gr_safetensors_free(f);
            gr_tape_free(t);
        }
    for (int at = 1, failed = 1; failed; at++) { /* reading */
        gr_tape *t = gr_tape_new(1, NULL);
        failing_files.calls = 0, failing_files.fail_at = at, failing_files.error = EIO, failing_files.for_ever = true;
        gr_safetensors *f = gr_safetensors_open(t, path);
        failed = failing_files.calls >= at, failing_files.fail_at = 0;
        assert_int_equal(!f, failed);
        if (failed) assert_non_null(strstr(gr_message(t), strerror(EIO)));
        gr_safetensors_free(f);
        gr_tape_free(t);
    }
    unlink(path);
    free(old);
}

TEST(short_and_interrupted_calls_are_continued)
{
    size_t n;
    unsigned char *old = file_bytes(GOLDEN, &n);
    gr_tape *t = gr_tape_new(1, NULL);
    failing_files.little = true;
    gr_safetensors *f = gr_safetensors_open(t, GOLDEN);
    assert_ok(t);
    assert_true(write_again(t, f, in_folder("little")));
    failing_files.little = false;
    assert_file_holds(in_folder("little"), old, n);
    unlink(in_folder("little"));
    gr_safetensors_free(f);
    gr_tape_free(t);
    free(old);
}

static bool read_and_write(gr_tape *t, void *path)
{
    gr_safetensors *f = gr_safetensors_open(t, GOLDEN);
    const bool well = f && write_again(t, f, path);
    gr_safetensors_free(f);
    return well;
}

TEST(every_allocation_may_fail)
{
    char path[512];
    snprintf(path, sizeof path, "%s", in_folder("memory"));
    fail_every_allocation(read_and_write, path);
    unlink(path);
}

TEST(out_of_memory_names_what_there_was_no_memory_for)
{
    failing_memory memory = { 0 };
    const gr_allocator allocator = { failing_alloc, failing_release, &memory };
    gr_tape *t = gr_tape_new(1, &(gr_tape_config){ .allocator = &allocator });
    gr_module *net = gr_module_new(t);
    gr_tensor *w = gr_param(t, net, "w", GR_SHAPE(3), gr_init_constant(1)), *y = gr_sum(t, w, GR_ALL_AXES, false);
    const gr_mark mark = gr_tape_mark(t);
    assert_non_null(gr_neg(t, y));
    memory.fail_at = memory.calls + 1, memory.for_ever = true;
    gr_tape_rewind(t, mark);
    assert_message(t, "out of memory: gr_tape_rewind");
    gr_tape_recover(t);
    assert_fails(t, gr_backward(t, gr_sum(t, w, GR_ALL_AXES, false)), "backward: out of memory: a gradient of 3 values");
    assert_fails(t, gr_tape_stream(t, "x"), "out of memory: random stream 'x'");
    assert_fails(t, gr_safetensors_open(t, GOLDEN), "out of memory: reading '" GOLDEN "'");
    assert_fails(t, gr_safetensors_write(t, "never", NULL, 0, NULL), "out of memory: writing 'never'");
    gr_module_free(net), gr_tape_free(t);
    assert_int_equal(memory.live, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_the_bytes_that_the_python_package_writes),
        cmocka_unit_test(names_are_read_back_as_written),
        cmocka_unit_test(names_that_cannot_be_read_again_are_not_written),
        cmocka_unit_test(invalid_items_are_not_written),
        cmocka_unit_test(a_header_that_is_too_long_to_read_is_not_written),
        cmocka_unit_test(a_replaced_file_keeps_its_permissions),
        cmocka_unit_test(every_file_call_may_fail),
        cmocka_unit_test(short_and_interrupted_calls_are_continued),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(out_of_memory_names_what_there_was_no_memory_for),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
