/* tests/test_npy.c - files of numpy.save, compared with what NumPy wrote (tests/golden/npy.h). */
#define FAILING_FILES
#include "tests/golden/npy.h"
#include "tests/one_file.h"
#include <limits.h>

#define FILES(X) X(float32) X(float64) X(int32) X(int64) X(wide) X(scalar) X(empty) X(one_axis) X(rank_8) X(rank_9) X(large) X(fortran) X(big_endian) \
    X(objects) X(bytes) X(records) X(version_2)
#define FILE_OF(name) { #name, npy_##name, sizeof npy_##name },
static const struct { const char *name; const unsigned char *bytes; size_t n; } files[] = { FILES(FILE_OF) };

static void put(const void *bytes, size_t n)
{
    FILE *const f = fopen(path, "wb");
    assert_true(f && fwrite(bytes, 1, n, f) == n && !fclose(f));
}
static void put_file(const char *name)
{
    for (size_t i = 0; i < COUNT(files); i++)
        if (!strcmp(files[i].name, name)) put(files[i].bytes, files[i].n);
}

static void assert_tensor(const char *name, gr_shape shape, const double *values)
{
    gr_tape *t = gr_tape_new(1, NULL);
    put_file(name);
    const gr_tensor *const x = gr_npy_read(t, path);
    assert_ok(t);
    assert_string_equal(gr_shape_text(t, x), gr_shape_name(t, shape));
    for (size_t i = 0; i < x->len; i++) assert_true(x->data[i] == (gr_real)values[i]);
    gr_tape_free(t);
}

TEST(arrays_of_numpy_become_tensors)
{
    static const double base[] = { 1.5, -2, 0.25, 3, 1e-3, -7 }, wide[] = { 0, 0x1p31 }, counted[] = { 0, 1, 2, 3 }, whole[] = { 1, -2, 3 };
    if (sizeof(gr_real) == sizeof(float)) assert_tensor("float32", GR_SHAPE(2, 3), base);
    assert_tensor("float64", GR_SHAPE(2, 3), base);
    assert_tensor("int32", GR_SHAPE(1, 3), whole);
    assert_tensor("version_2", GR_SHAPE(1, 3), whole);
    assert_tensor("wide", GR_SHAPE(2), wide);
    assert_tensor("scalar", GR_SCALAR, (const double[]){ 2.5 });
    assert_tensor("empty", GR_SHAPE(0, 4), NULL);
    assert_tensor("one_axis", GR_SHAPE(3), counted);
    assert_tensor("rank_8", GR_SHAPE(1, 1, 2, 1, 1, 2, 1, 1), counted);
}

TEST(arrays_of_numpy_become_integers)
{
    gr_tape *t = gr_tape_new(1, NULL);
    put_file("int32");
    const gr_ints *x = gr_npy_read_ints(t, path);
    assert_ok(t);
    assert_true(x->rank == 2 && x->dim[0] == 1 && x->len == 3 && x->data[0] == 1 && x->data[1] == -2 && x->data[2] == 3);
    put_file("int64");
    x = gr_npy_read_ints(t, path);
    assert_ok(t);
    assert_true(x->rank == 1 && x->len == 3 && x->data[0] == 5 && x->data[1] == INT_MIN && x->data[2] == INT_MAX);
    gr_tape_free(t);
}

TEST(the_keys_of_the_header_may_have_any_order)
{
    static const char head[] = "\x93NUMPY\1\0\x40\0{ 'shape' : ( 2 , 1 ),'fortran_order': False , 'descr':'<f4'}";
    char bytes[10 + 64 + 8];
    gr_tape *t = gr_tape_new(1, NULL);
    memset(bytes, ' ', sizeof bytes), memcpy(bytes, head, sizeof head - 1);
    memcpy(bytes + 74, (const float[]){ 1, 2 }, 8), put(bytes, sizeof bytes);
    assert_values(gr_npy_read(t, path), 0, 1, 2);
    gr_tape_free(t);
}

#define NEEDS "must have a type of '<f4', '<f8', '<i4' or '<i8', C order and at most 8 axes, and fit this machine; its "
#define CURE "; numpy.ascontiguousarray(x, '<f4') converts an array"

/* The message with the path before it. */
static void assert_refused(const char *name, gr_tensor *(*f)(gr_tape *t, const char *path), const char *wanted)
{
    gr_tape *t = gr_tape_new(1, NULL);
    char want[1100];
    put_file(name);
    assert_null(f(t, path));
    assert_int_equal(gr_error_code(t), GR_BAD_FILE);
    snprintf(want, sizeof want, "%s: %s", path, wanted);
    assert_message(t, want);
    gr_tape_free(t);
}
static gr_tensor *ints(gr_tape *t, const char *file)
{
    assert_null(gr_npy_read_ints(t, file));
    return NULL;
}

TEST(other_types_and_orders_are_refused_with_what_is_needed)
{
    assert_refused("fortran", gr_npy_read, NEEDS "'fortran_order' is True" CURE);
    assert_refused("big_endian", gr_npy_read, NEEDS "'descr' is '>f8'" CURE);
    assert_refused("objects", gr_npy_read, NEEDS "'descr' is '|O'" CURE);
    assert_refused("bytes", gr_npy_read, NEEDS "'descr' is '|u1'" CURE);
    assert_refused("records", gr_npy_read, NEEDS "'descr' is [('a', '<f4'), ('b', '<i4')]; numpy.save(file, x['a']) saves the field a of a record");
    assert_refused("rank_9", gr_npy_read, NEEDS "'shape' is (1, 1, 1, 1, 1, 1, 1, 1, 1)" CURE);
    assert_refused("float32", ints, "has values of type F32 and needs I32 or I64");
    assert_refused("wide", ints, "value 1 is 2147483648, which is no int");
}

TEST(damaged_files_are_refused)
{
    static const struct { const char *bytes; size_t n; const char *message; } bad[] = {
#define BAD(text, message) { text, sizeof text - 1, message }
        BAD("", "is not a file of numpy.save, version 1.0 or 2.0"),
        BAD("\x93NUMPX\1\0\0\0", "is not a file of numpy.save, version 1.0 or 2.0"),
        BAD("\x93NUMPY\3\0\0\0\0\0", "is not a file of numpy.save, version 1.0 or 2.0"),
        BAD("\x93NUMPY\2\0\0\0\0", "is not a file of numpy.save, version 1.0 or 2.0"),
        BAD("\x93NUMPY\1\0\3\0{}", "is damaged: its header should be 3 bytes long, but the file is shorter"),
        BAD("\x93NUMPY\2\0\0\0\0\1{}", "is damaged: its header should be 16777216 bytes long, but the file is shorter"),
        BAD("\x93NUMPY\1\0\3\0{}\n", NEEDS "'descr' is missing" CURE),
        BAD("\x93NUMPY\1\0\0\0", NEEDS "'descr' is missing" CURE),
        BAD("\x93NUMPY\1\0\x11\0{'descr': '<f4'}\n", NEEDS "'fortran_order' is missing" CURE),
    };
    for (size_t i = 0; i < COUNT(bad); i++) put(bad[i].bytes, bad[i].n), assert_refused("", gr_npy_read, bad[i].message);
    static const struct { const char *header, *values, *message; } odd[] = { /* the headers of arrays, without what goes before them */
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (1000,)}", "", "is damaged: 0 bytes of values do not fill [1000] of type '<f4'" },
        { "{'descr': '<f8', 'fortran_order': False, 'shape': (1,)}", "123456789", "is damaged: 9 bytes of values do not fill [1] of type '<f8'" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296, 0)}", "",
          NEEDS "'shape' is (4294967296, 4294967296, 0)" CURE },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 2305843009213693952)}", "",
          NEEDS "'shape' is (0, 2305843009213693952)" CURE },
        { "{'descr': '<f8', 'fortran_order': False, 'shape': (2305843009213693953,)}", "12345678",
          NEEDS "'shape' is (2305843009213693953,)" CURE },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999999, 1)}", "",
          NEEDS "'shape' is (99999999999999999999999, 1)" CURE },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (-1)}", "", NEEDS "'shape' is (-1)" CURE },
        { "{'descr': '<f4', 'fortran_order': False}", "", NEEDS "'shape' is missing" CURE },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (2)}", "12345678", NEEDS "'shape' is (2)" CURE }, /* numpy refuses these, too */
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (2 1)}", "12345678", NEEDS "'shape' is (2 1)" CURE },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (2,,1)}", "12345678", NEEDS "'shape' is (2,,1)" CURE },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1", "12345678", NEEDS "'shape' is (2, 1" CURE },
        { "{'descr': '<f4', 'fortran_order': 0, 'shape': (1,)}", "", NEEDS "'fortran_order' is 0" CURE },
    };
    for (size_t i = 0; i < COUNT(odd); i++) {
        char bytes[300] = "\x93NUMPY\1";
        const size_t length = strlen(odd[i].header), more = strlen(odd[i].values);
        bytes[8] = (char)(length + 1), memcpy(bytes + 10, odd[i].header, length), bytes[10 + length] = '\n';
        memcpy(bytes + 11 + length, odd[i].values, more);
        put(bytes, 11 + length + more), assert_refused("", gr_npy_read, odd[i].message);
    }
    for (size_t n = 0; n < sizeof npy_float32; n++) { /* every prefix of a file */
        gr_tape *t = gr_tape_new(1, NULL);
        put(npy_float32, n);
        assert_null(gr_npy_read(t, path));
        gr_tape_free(t);
    }
}

static void assert_written_as_numpy(const char *name)
{
    gr_tape *t = gr_tape_new(1, NULL);
    put_file(name);
    const gr_tensor *const x = gr_npy_read(t, path);
    assert_true(gr_npy_write(t, x, path));
    for (size_t i = 0; i < COUNT(files); i++)
        if (!strcmp(files[i].name, name)) assert_file_holds(path, files[i].bytes, files[i].n);
    gr_tape_free(t);
}
TEST(a_file_has_the_bytes_that_numpy_writes)
{
    gr_tape *t = gr_tape_new(1, NULL);
    if (sizeof(gr_real) == sizeof(double)) assert_written_as_numpy("float64");
    else {
        static const char *const names[] = { "float32", "scalar", "empty", "one_axis", "rank_8" };
        for (size_t i = 0; i < COUNT(names); i++) assert_written_as_numpy(names[i]);
    }
    assert_true(gr_npy_write_ints(t, gr_ints_new(t, (const int[]){ 1, -2, 3 }, GR_SHAPE(1, 3)), path));
    assert_file_holds(path, npy_int32, sizeof npy_int32);
    assert_true(gr_npy_write_ints(t, gr_ints_new(t, NULL, GR_SHAPE(1000, 12, 0)), path));
    assert_file_holds(path, npy_large, sizeof npy_large);
    gr_tape_free(t);
}

TEST(a_missing_argument_or_a_dead_tensor_is_an_error)
{
    gr_tape *t = gr_tape_new(1, NULL);
    assert_true(!gr_npy_read(NULL, path) && !gr_npy_read_ints(NULL, path) && !gr_npy_write(NULL, NULL, path) && !gr_npy_write_ints(NULL, NULL, path));
    assert_fails(t, gr_npy_read(t, NULL), "the path of a file to read is NULL");
    assert_fails(t, gr_npy_read_ints(t, NULL), "the path of a file to read is NULL");
    assert_fails(t, gr_npy_write(t, NULL, path), "npy_write: input 1 is NULL");
    assert_fails(t, gr_npy_write_ints(t, NULL, path), "npy_write_ints: x is NULL");
    assert_fails(t, gr_npy_write(t, gr_scalar(t, 1), NULL), "the path of a file to write is NULL");
    const gr_tensor *const x = gr_scalar(t, 1);
    const gr_ints *const i = gr_ints_new(t, NULL, GR_SCALAR);
    gr_tape_reset(t);
    assert_fails(t, gr_npy_write(t, x, path), "npy_write: input 1 [] was made before gr_tape_reset, which ended it; make inputs again in each step; "
                                              "gr_detach_keep before the reset and gr_carried after it keep a state");
    assert_false(gr_npy_write_ints(t, i, path));
    gr_tape_free(t);
}

static bool write_and_read(gr_tape *t, void *unused)
{
    (void)unused;
    return gr_npy_write(t, gr_zeros(t, GR_SHAPE(3, 5)), path) && gr_npy_read(t, path) && gr_npy_write_ints(t, gr_ints_new(t, NULL, GR_SHAPE(4)), path) &&
           gr_npy_read_ints(t, path);
}
TEST(every_allocation_and_every_call_on_a_file_may_fail)
{
    fail_every_allocation(write_and_read, NULL);
    for (int at = 1, failed = 1; failed; at++) {
        gr_tape *t = gr_tape_new(1, NULL);
        failing_files.calls = 0, failing_files.fail_at = at, failing_files.error = EIO;
        const bool well = write_and_read(t, NULL);
        failed = failing_files.calls >= at, failing_files.fail_at = 0;
        assert_int_equal(well, !failed);
        if (failed) assert_int_equal(gr_error_code(t), GR_IO_FAILED);
        gr_tape_free(t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrays_of_numpy_become_tensors),
        cmocka_unit_test(arrays_of_numpy_become_integers),
        cmocka_unit_test(the_keys_of_the_header_may_have_any_order),
        cmocka_unit_test(other_types_and_orders_are_refused_with_what_is_needed),
        cmocka_unit_test(damaged_files_are_refused),
        cmocka_unit_test(a_file_has_the_bytes_that_numpy_writes),
        cmocka_unit_test(a_missing_argument_or_a_dead_tensor_is_an_error),
        cmocka_unit_test(every_allocation_and_every_call_on_a_file_may_fail),
    };
    return cmocka_run_group_tests(tests, make_path, remove_path);
}
